/* SPDX-License-Identifier: MIT */
/*
** fuzz_exact.c - exact filters: any universe, and hostile bytes in the place of a filter.
**
** The input is taken in three ways: as a filter as it is; with its beginning and its checksums made
** right, so that whatever stands in header, levels and list is reached; and as a universe, of which a
** filter is built, and then as changes to that filter, with checksums made right again, those of the
** levels, too. Whatever the bytes: no step outside of them, and an end. Whatever the universe: no wrong
** answer, and cf_check has nothing to say.
**
** To run: see fuzz.h.
*/
#include "../../src/cuckoo_exact.h"
#include "fuzz.h"

enum { AT_LEVELS = 32, AT_CONTENT = 48, MOST_KEYS = 700 };

/* Makes the checksum right again. */
static void reseal_exact(uint8_t *bytes, size_t length)
{
    static const cf_geometry unseeded = {0};
    cf_store64(bytes + AT_CONTENT,
               cf_hash(&unseeded, bytes + CF_HEADER_BYTES, length - CF_HEADER_BYTES));
    fuzz_reseal(bytes);
}

/* Those of the levels, as far as the lengths lead to some. */
static void reseal_levels(uint8_t *bytes, size_t length)
{
    uint64_t at = CF_HEADER_BYTES + 8 * (uint64_t)bytes[AT_LEVELS];
    for (unsigned i = 0; i < bytes[AT_LEVELS] && at + CF_HEADER_BYTES < length; i++) {
        fuzz_reseal(bytes + at);
        at += cf_load64(bytes + CF_HEADER_BYTES + 8 * i) % (length + 1);
    }
}

static void try_exact(const uint8_t *data, size_t length)
{
    const char *why = NULL, *found = NULL;
    uint64_t state = length;
    uint8_t *bytes = fuzz_copy(data, length);
    cf_exact *exact = fuzz_malloc(sizeof *exact);
    if (cf_exact_open(exact, bytes, length, &why) == CF_OK) {
        REQUIRE(exact->levels <= CF_EXACT_LEVELS && exact->listed <= CF_EXACT_LIST);
        REQUIRE(exact->members <= exact->keys && exact->length == length);
        for (unsigned i = 0; i < 40; i++) {
            uint64_t hash = fuzz_random(&state);
            REQUIRE(cf_exact_depth(exact, hash) <= exact->levels + 1);
            REQUIRE(cf_exact_contains(exact, hash) == (cf_exact_depth(exact, hash) % 2 == 1));
        }
        cf_exact_check(exact, NULL, &found);
        REQUIRE(cf_exact_fpr(exact) >= 0 && cf_exact_fpr(exact) <= 1);
    } else {
        REQUIRE(why != NULL && *why != 0);
    }
    free(exact);
    free(bytes);
}

/* What was built is right for each hash: the even ones are members. */
static void require_right(const cf_exact_build *build, uint64_t first, size_t n)
{
    const char *why;
    cf_exact *exact = fuzz_malloc(sizeof *exact);
    REQUIRE(cf_exact_open(exact, build->bytes, build->length, &why) == CF_OK);
    for (size_t i = 0; i < n; i++)
        REQUIRE(cf_exact_contains(exact, fuzz_random(&first)) == (i % 3 == 0));
    REQUIRE(cf_exact_check(exact, NULL, &why) == CF_OK);
    free(exact);
}

/* Of up to MOST_KEYS hashes, every third of them a member. */
static void build_exact(fuzz_input *in, cf_exact_build *build)
{
    static const double rates[] = {0, 0.5, 0.01, 1e-8};
    const char *why;
    size_t n = fuzz_number(in, 2) % MOST_KEYS;
    *build = (cf_exact_build){.options = {.seed = (int64_t)fuzz_byte(in)},
                              .fpr = rates[fuzz_byte(in) % 4],
                              .memory = {fuzz_resize, UINT64_MAX, NULL}};
    uint64_t first = fuzz_number(in, 4), state = first;
    for (unsigned side = 0; side < 2; side++)
        build->hashes[side] = fuzz_malloc(MOST_KEYS * sizeof(uint64_t));
    for (size_t i = 0; i < n; i++)
        build->hashes[i % 3 == 0][build->count[i % 3 == 0]++] = fuzz_random(&state);
    REQUIRE(cf_exact_make(build, &why) == CF_OK);
    require_right(build, first, n);
    free(build->hashes[0]);
    free(build->hashes[1]);
}

int fuzz_exact(const uint8_t *data, size_t size)
{
    fuzz_input in = {data, data + size};
    cf_exact_build build;
    try_exact(data, size);
    if (size > CF_HEADER_BYTES) {
        uint8_t *bytes = fuzz_copy(data, size);
        memcpy(bytes, "\xcf\x65\x78\1\1\0\0\0", 8);
        bytes[AT_LEVELS] %= CF_EXACT_LEVELS + 1;
        bytes[AT_LEVELS + 1] %= CF_EXACT_LIST + 1;
        memset(bytes + AT_LEVELS + 2, 0, AT_CONTENT - AT_LEVELS - 2);
        memset(bytes + AT_CONTENT + 8, 0, 4);
        reseal_exact(bytes, size);
        try_exact(bytes, size);
        free(bytes);
    }
    build_exact(&in, &build);
    while (in.at < in.end) {
        for (unsigned changes = fuzz_byte(&in) % 4; changes > 0; changes--)
            build.bytes[fuzz_number(&in, 2) % build.length] = (uint8_t)fuzz_byte(&in);
        reseal_levels(build.bytes, build.length);
        reseal_exact(build.bytes, build.length);
        try_exact(build.bytes, build.length);
    }
    fuzz_resize(NULL, build.bytes, 0);
    return 0;
}

FUZZ_ENTRY(fuzz_exact)
