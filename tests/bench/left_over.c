/* SPDX-License-Identifier: MIT */
/*
** left_over.c - left_over.tsv: what is left after all keys have been deleted, for distinct keys share
** fingerprints (section 3.3 of the paper: deleting leaves the error rate as it was).
**
** The paper's filter keeps one copy of a fingerprint for each key, up to 2b in a pair of buckets, and
** refuses the next one. Ours counts copies to a cap; at the cap the fingerprint is sticky, and stays
** (copies.h). Distinct keys that share a fingerprint and a pair are copies of one key to the filter:
** the shorter the fingerprint and the lower the cap, the more of them become sticky.
**
** Tables of 131,072 slots (quick: 4,096) take the keys that the planner promises for their shape: with
** the cap that it chooses, with 3, and with 2b. Then all are deleted, in another order. That is
** repeated nine times with other keys. "left" is in % of the slots, "refused" of all adds.
*/

#include "../../src/cuckoo_inspect.h"
#include "bench.h"
#include "cuckoo.h"

enum { ROUNDS = 10 };

typedef struct lab {
    uint64_t slots;
    uint64_t round; /* of keys: each has others */
    uint64_t added, refused;
    FILE *out;
} lab;

typedef struct state {
    double load, errors;
} state;

static uint64_t key(const lab *in, uint64_t i)
{
    return bench_random(in->round << 32 | i);
}

static state look(const lab *in, const cf_filter *filter)
{
    return (state){(double)filter->occupied / (double)in->slots, cf_take_census(filter).fpr};
}

/* Fills it with new keys. */
static void fill(lab *in, cf_filter *filter, uint64_t keys)
{
    for (uint64_t i = 0; i < keys; i++)
        in->refused += cf_add(filter, key(in, i)) != CF_OK;
    in->added += keys;
}

/* Deletes all keys of this round; false for one of them would be an error. Keys that were refused are
** asked for as well. */
static void empty(const lab *in, cf_filter *filter, uint64_t keys)
{
    for (uint64_t i = keys; i-- > 0;)
        if (cf_delete(filter, key(in, i)) == CF_ABSENT && in->refused == 0)
            bench_fail("a key that is there cannot be deleted");
}

static void look_for_all(const lab *in, const cf_filter *filter, uint64_t keys)
{
    for (uint64_t i = 0; i < keys && in->refused == 0; i++)
        if (!cf_contains(filter, key(in, i)))
            bench_fail("a key is not found");
}

static void measure(lab *in, cf_filter *filter, uint64_t keys)
{
    state full = {0}, first = {0}, last = {0};
    for (unsigned round = 0; round < ROUNDS; round++, in->round++) {
        fill(in, filter, keys);
        look_for_all(in, filter, keys);
        full = round == 0 ? look(in, filter) : full;
        empty(in, filter, keys);
        first = round == 0 ? look(in, filter) : first;
    }
    last = look(in, filter);
    fprintf(in->out, "\t%.4f\t%.4g\t%.4g\t%.4g\t%.4g\t%.4g\t%.4g\n", full.load, 100 * full.errors,
            100 * first.load, 100 * first.errors, 100 * last.load, 100 * last.errors,
            100 * (double)in->refused / (double)in->added);
}

static void measure_ours(lab *in, const char *name, cf_geometry shape, uint64_t keys, unsigned cap)
{
    shape.cap = (uint8_t)cap;
    cf_filter filter = cuckoo_make(&shape);
    in->added = in->refused = 0;
    in->slots = cf_geometry_slots(&shape);
    fprintf(in->out, "%s\t%u\t%u\t%u", name, shape.bucket_size, shape.fingerprint_bits, cap);
    measure(in, &filter, keys);
    cuckoo_drop(&filter);
}

static void measure_shape(lab *in, uint64_t slots, unsigned b, unsigned f)
{
    cf_options options = {.bucket_size = b, .fingerprint_bits = f, .layout = CF_LAYOUT_PLAIN};
    cf_geometry shape;
    bench_progress("  b = %u, f = %u", b, f);
    uint64_t keys = cuckoo_planned(slots * f / 8, &options, &shape);
    measure_ours(in, "ours", shape, keys, shape.cap);
    measure_ours(in, "ours, cap 3", shape, keys, 3);
    measure_ours(in, "ours, cap 2b", shape, keys, 2 * b);
}

int main(int argc, char **argv)
{
    static const unsigned shapes[][2] = {{2, 8}, {2, 12}, {4, 4},  {4, 6},
                                         {4, 8}, {4, 10}, {4, 12}, {8, 8}};
    bench_call call = bench_read_call(argc, argv);
    lab in = {.out = bench_table(call.folder, "left_over",
                                 "filter\tb\tf\tcap\tload\terror %\tleft %\terror % after\tleft % "
                                 "after ten\terror % after ten\trefused %")};
    for (unsigned i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        measure_shape(&in, call.quick ? 1 << 12 : 1 << 17, shapes[i][0], shapes[i][1]);
    fclose(in.out);
    return 0;
}
