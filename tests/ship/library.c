/* SPDX-License-Identifier: MIT */
/*
** library.c - a program that uses the C library, as C and as C++: what make install and cuckoo_filter.h give it.
*/
#include <cuckoo_filter.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS = 3000 };

static uint64_t hashes[2][KEYS]; /* of others, of members */

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

/* An exact filter, of which half of the keys are members. */
static int exact_filter(void)
{
    static cf_exact exact;
    cf_exact_build build;
    const char *why = "";
    memset(&build, 0, sizeof build);
    build.memory.resize = resize;
    build.memory.most = UINT64_MAX;
    for (int side = 0; side < 2; side++)
        build.hashes[side] = hashes[side], build.count[side] = KEYS;
    if (cf_exact_make(&build, &why) != CF_OK ||
        cf_exact_open(&exact, build.bytes, (size_t)build.length, &why) != CF_OK)
        return fail(why);
    for (int i = 0; i < KEYS; i++)
        if (cf_exact_contains(&exact, hashes[0][i]) || !cf_exact_contains(&exact, hashes[1][i]))
            return fail("an exact filter is wrong");
    free(build.bytes);
    return 0;
}

/* The calls of cuckoo_simple.h: a filter for a tenth of its keys. */
static int simple_filter(void)
{
    char text[32];
    const char *why = "";
    cf_filter seen, other;
    size_t length;
    if (cf_make(&seen, KEYS / 10, 0.01, NULL, &why) != CF_OK)
        return fail(why);
    for (int i = 0; i < KEYS; i++)
        if (cf_add_key(&seen, text, (size_t)sprintf(text, "key %d", i)) != CF_OK)
            return fail("cf_add_key");
    if (cf_delete_key(&seen, "key 0", 5) != CF_REMOVED)
        return fail("cf_delete_key");
    const uint8_t *bytes = cf_finish(&seen, &length);
    if (cf_open(&other, bytes, length, &why) != CF_OK)
        return fail(why);
    for (int i = 1; i < KEYS; i++)
        if (!cf_contains_key(&other, text, (size_t)sprintf(text, "key %d", i)))
            return fail("a text is missing");
    cf_free(&seen);
    return 0;
}

int main(void)
{
    cf_options options;
    cf_geometry shape;
    cf_filter filter, other;
    const char *why = "";
    memset(&options, 0, sizeof options);
    if (cf_plan(KEYS, 0.01, &options, &shape, &why) != CF_OK)
        return fail(why);
    uint8_t *bytes = (uint8_t *)malloc((size_t)cf_geometry_bytes(&shape));
    cf_create(&filter, &shape, bytes);
    for (uint64_t i = 0; i < 2 * KEYS; i++)
        hashes[i % 2][i / 2] = cf_hash(&shape, &i, sizeof i);
    for (int i = 0; i < KEYS; i++)
        if (cf_add(&filter, hashes[1][i]) != CF_OK)
            return fail("cf_add");
    cf_seal(&filter);
    if (cf_open(&other, bytes, (size_t)filter.length, &why) != CF_OK || cf_check(&other, &why) != CF_OK)
        return fail(why);
    for (int i = 0; i < KEYS; i++)
        if (!cf_contains(&other, hashes[1][i]))
            return fail("a key is missing");
    free(bytes);
    if (exact_filter() != 0 || simple_filter() != 0)
        return 1;
    printf("ok: version %s, %s\n", CUCKOO_VERSION, cf_status_text(CF_OK));
    return 0;
}
