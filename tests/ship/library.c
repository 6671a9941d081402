/* SPDX-License-Identifier: MIT */
/*
** library.c - a program that uses the C library, as C and as C++: what make install and cuckoo_filter.h give it.
*/
#include <cuckoo_filter.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t hash_of(const cf_filter *filter, unsigned key)
{
    return cf_hash(&filter->geometry, &key, sizeof key);
}

static int fail(const char *what)
{
    printf("not ok: %s\n", what);
    return 1;
}

static uint8_t *resize(void *context, uint8_t *bytes, uint64_t size)
{
    (void)context;
    if (size > 0)
        return (uint8_t *)realloc(bytes, (size_t)size);
    free(bytes);
    return NULL;
}

/* Of the first keys every third one is a member. */
static int exact_filter(void)
{
    enum { KEYS = 3000 };
    static uint64_t others[KEYS], members[KEYS];
    static cf_exact exact;
    cf_exact_build build;
    const char *why = "";
    cf_geometry rule;
    memset(&rule, 0, sizeof rule);
    memset(&build, 0, sizeof build);
    build.hashes[0] = others;
    build.hashes[1] = members;
    build.memory.resize = resize;
    build.memory.most = UINT64_MAX;
    for (unsigned key = 0; key < KEYS; key++) {
        unsigned side = key % 3 == 0;
        build.hashes[side][build.count[side]++] = cf_hash(&rule, &key, sizeof key);
    }
    if (cf_exact_make(&build, &why) != CF_OK ||
        cf_exact_open(&exact, build.bytes, (size_t)build.length, &why) != CF_OK)
        return fail(why);
    for (unsigned key = 0; key < KEYS; key++)
        if (cf_exact_contains(&exact, cf_hash(&exact.rule, &key, sizeof key)) != (key % 3 == 0))
            return fail("an exact filter is wrong");
    free(build.bytes);
    return 0;
}

int main(void)
{
    enum { KEYS = 1000 };
    cf_options options;
    cf_geometry shape;
    cf_filter filter, other;
    const char *why = "";
    memset(&options, 0, sizeof options);
    if (cf_plan(KEYS, 0.01, &options, &shape, &why) != CF_OK)
        return fail(why);
    uint8_t *bytes = (uint8_t *)malloc((size_t)cf_geometry_bytes(&shape));
    if (bytes == NULL)
        return fail("memory");
    cf_create(&filter, &shape, bytes);
    for (unsigned key = 0; key < KEYS; key++)
        if (cf_add(&filter, hash_of(&filter, key)) != CF_OK)
            return fail("cf_add");
    cf_seal(&filter);
    if (cf_open(&other, bytes, (size_t)filter.length, &why) != CF_OK || cf_check(&other, &why) != CF_OK)
        return fail(why);
    for (unsigned key = 0; key < KEYS; key++)
        if (!cf_contains(&other, hash_of(&other, key)))
            return fail("a key is missing");
    free(bytes);
    if (exact_filter() != 0)
        return 1;
    printf("ok: version %s, %s\n", CUCKOO_VERSION, cf_status_text(CF_OK));
    return 0;
}
