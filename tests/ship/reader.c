/* SPDX-License-Identifier: MIT */
/* With CUCKOO_READ_ONLY: what example.c wrote, in memory of its own. Prints how many of "user0", "user1" .. are there. */
#include "cuckoo_filter.h"

#include <stdio.h>

int main(int n, char **argument)
{
    static uint8_t bytes[1 << 16];
    const char *why = "no file";
    FILE *file = n > 1 ? fopen(argument[1], "rb") : NULL;
    size_t length = file ? fread(bytes, 1, sizeof bytes, file) : 0;
    cf_filter filter;
    char key[32];
    int there = 0;
    if (cf_open(&filter, bytes, length, &why) != CF_OK || cf_check(&filter, &why) != CF_OK)
        return puts(why), 1;
    for (int i = 0; i < 2000; i++) {
        size_t bytes_of_key = (size_t)snprintf(key, sizeof key, "user%d", i);
        there += cf_contains(&filter, cf_hash(&filter.geometry, key, bytes_of_key));
        if (i == 999)
            printf("%d of 1000", there);
    }
    printf(", %s others\n", there < 1010 ? "hardly any" : "many");
    return fclose(file);
}
