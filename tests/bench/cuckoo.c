/* SPDX-License-Identifier: MIT */
/*
** cuckoo.c - the filters of the library among the kinds that are compared.
*/
#include "cuckoo.h"

#include <stdlib.h>

#include "kinds.h"
#include "touch.h"

#include "../../src/cuckoo_inspect.h"
#include "../../src/shape/format.h"

cf_geometry cuckoo_plan(uint64_t keys, double rate, const cf_options *options)
{
    cf_geometry shape;
    const char *why;
    if (cf_plan(keys, rate, options, &shape, &why) != CF_OK)
        bench_fail(why);
    return shape;
}

static void check_shape(const cf_geometry *shape)
{
    const char *why;
    if (cf_geometry_check(shape, &why) != CF_OK)
        bench_fail(why);
}

cf_filter cuckoo_make(const cf_geometry *shape)
{
    cf_filter filter;
    check_shape(shape);
    cf_create(&filter, shape, bench_allocate(cf_geometry_bytes(shape)));
    return filter;
}

void cuckoo_drop(cf_filter *filter)
{
    free(filter->view.writable - CF_HEADER_BYTES);
}

cf_geometry cuckoo_shape(uint64_t m, unsigned b, unsigned f)
{
    cf_options options = {.bucket_size = (uint8_t)b, .fingerprint_bits = (uint8_t)f};
    return (cf_geometry){.buckets = m,
                         .bucket_size = (uint8_t)b,
                         .fingerprint_bits = (uint8_t)f,
                         .pair_bits = (uint8_t)f,
                         .cap = cuckoo_plan(1000, 0, &options).cap};
}

uint64_t cuckoo_planned(uint64_t bytes, const cf_options *options, cf_geometry *shape)
{
    uint64_t fits = 0, beyond = 8 * bytes;
    while (beyond - fits > 1) {
        uint64_t keys = fits + (beyond - fits) / 2;
        *shape = cuckoo_plan(keys, 0, options);
        if (cf_geometry_bytes(shape) <= bytes)
            fits = keys;
        else
            beyond = keys;
    }
    *shape = cuckoo_plan(fits, 0, options);
    return fits;
}

/* ---- the kinds ---- */

typedef struct cuckoo {
    cf_filter filter;
    uint8_t bytes[];
} cuckoo;

/* An even number of buckets. Semi-sorting saves one bit of every slot. */
static void make(bench_filter *made, uint64_t bytes, unsigned bits)
{
    bool semisorted = made->kind == &bench_semisorted;
    unsigned b = made->kind->b;
    cf_geometry shape = cuckoo_shape(8 * bytes / (b * (bits - semisorted)) / 2 * 2, b, bits);
    shape.semisorted = semisorted;
    check_shape(&shape);
    made->slots = cf_geometry_slots(&shape);
    made->bytes = cf_geometry_bytes(&shape);
    cuckoo *filter = made->state = bench_allocate_zeroed(sizeof *filter + made->bytes);
    cf_create(&filter->filter, &shape, filter->bytes);
}

static bool add(void *state, uint64_t hash)
{
    return cf_add(&((cuckoo *)state)->filter, hash) == CF_OK;
}

/* A lookup reads a word of each of its buckets, whatever it finds in the first one. */
static inline void touch(const cf_filter *filter, uint64_t hash)
{
#ifdef BENCH_COUNT_LINES
    cf_pair pair = cf_candidates(filter, hash);
    for (unsigned i = 0; i < pair.sides; i++)
        bench_touch(filter->view.table + pair.place[i].bucket * filter->view.form.bucket_bits / 8,
                    sizeof(uint64_t));
#else
    (void)filter;
    (void)hash;
#endif
}

static bool contains(const void *state, uint64_t hash)
{
    touch(&((const cuckoo *)state)->filter, hash);
    return cf_contains(&((const cuckoo *)state)->filter, hash);
}

static bool take_away(void *state, uint64_t hash)
{
    return cf_delete(&((cuckoo *)state)->filter, hash) != CF_ABSENT;
}

static double expected(const void *state, uint64_t keys)
{
    return cf_expected_fpr(&((const cuckoo *)state)->filter.geometry, keys);
}

/* What all of them share. */
#define LIBRARY                                                                                         \
    .full = 1, .make = make, .add = add, .contains = contains, .remove = take_away, .expected = expected

const bench_kind bench_plain2 = {.name = "cuckoo b=2", .bits = 11, .b = 2, LIBRARY};
const bench_kind bench_plain4 = {.name = "cuckoo", .bits = 12, .b = 4, LIBRARY};
const bench_kind bench_plain8 = {.name = "cuckoo b=8", .bits = 13, .b = 8, LIBRARY};
const bench_kind bench_semisorted = {.name = "semi-sorted cuckoo", .bits = 13, .b = 4, LIBRARY};
