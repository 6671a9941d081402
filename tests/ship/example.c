/* SPDX-License-Identifier: MIT */
/*
** A filter in a file:  cc -DCUCKOO_LIBRARY_ONLY example.c cuckoo.c -lm && ./a.out FILE
*/
#include "cuckoo_filter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t hash(const cf_filter *filter, const char *key)
{
    return cf_hash(&filter->geometry, key, strlen(key));
}

static bool save(cf_filter *filter, const char *path)
{
    FILE *file = fopen(path, "wb");
    cf_seal(filter);
    bool written = file && fwrite(filter->bytes, 1, (size_t)filter->length, file) == filter->length;
    return file && fclose(file) == 0 && written;
}

/* The bytes of a file, to be freed; NULL: it cannot be read. */
static uint8_t *load(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return NULL;
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    uint8_t *bytes = size > 0 ? malloc((size_t)size) : NULL;
    rewind(file);
    *length = bytes ? fread(bytes, 1, (size_t)size, file) : 0;
    fclose(file);
    return bytes;
}

int main(int n, char **argument)
{
    const char *path = n > 1 ? argument[1] : "known.cuckoo", *why = NULL;
    cf_options options = {.growth = true}; /* 100 keys are the plan; it takes more */
    cf_geometry shape;
    cf_filter filter, loaded;
    char key[32];
    size_t length;
    if (cf_plan(100, 0.001, &options, &shape, &why) != CF_OK)
        return puts(why), 1;
    cf_create(&filter, &shape, malloc((size_t)cf_geometry_bytes(&shape)));
    filter.memory = (cf_memory){cf_realloc, 1 << 20, NULL}; /* at most 1 MB */
    for (int i = 0; i < 1000; i++) {
        snprintf(key, sizeof key, "user%d", i);
        if (cf_add(&filter, hash(&filter, key)) != CF_OK)
            return puts("the filter is full, or there is no memory"), 1;
    }
    uint8_t *bytes = save(&filter, path) ? load(path, &length) : NULL;
    if (bytes == NULL || cf_open_writable(&loaded, bytes, length, &why) != CF_OK)
        return puts(why ? why : "the file cannot be written, or read"), 1;
    printf("user7: %s\n", cf_contains(&loaded, hash(&loaded, "user7")) ? "perhaps" : "no");
    cf_delete(&loaded, hash(&loaded, "user7"));
    printf("user7: %s\n", cf_contains(&loaded, hash(&loaded, "user7")) ? "perhaps" : "no");
    free(bytes);
    free((void *)filter.bytes);
    return 0;
}
