/* SPDX-License-Identifier: MIT */
/* With CUCKOO_READ_ONLY: reads what the program of ext/packages/archives/library.md stored: 5000 users. */
#include "cuckoo_filter.h"

#include <stdio.h>

int main(int n, char **argument)
{
    static uint8_t bytes[1 << 16];
    const char *why = "no file";
    FILE *file = n > 1 ? fopen(argument[1], "rb") : NULL;
    size_t length = file ? fread(bytes, 1, sizeof bytes, file) : 0;
    int there[2] = {0, 0};
    cf_filter filter;
    if (cf_open(&filter, bytes, length, &why) != CF_OK || cf_check(&filter, &why) != CF_OK)
        return puts(why), 1;
    for (int i = 0; i < 10000; i++) {
        char user[32];
        uint64_t hash =
            cf_hash_prefixed(&filter.geometry, CF_KEY_TEXT, user, (size_t)sprintf(user, "user %d", i));
        there[i / 5000] += cf_contains(&filter, hash);
    }
    printf("%d of 5000, %s others\n", there[0], there[1] < 200 ? "hardly any" : "many");
    return fclose(file);
}
