/* SPDX-License-Identifier: MIT */
/*
** instructions.c - how many instructions the hot paths take: what make bench-check counts.
**
**      make bench-check                  compares them with tests/bench/instructions.txt
**      valgrind --tool=callgrind --instr-atstart=no --callgrind-out-file=out build/bench/instructions build/cuckoo.so
**                                        leaves a file for each path; its line "desc: Trigger" has the
**                                        name, the number of operations, and what to take off
**
**      build/bench/instructions          says the version of SQLite
**
** Instructions do not flicker as times do: equal programs on equal machines take equally many. They
** say nothing about the cache. The objects counted are those of build/cuckoo.so. Calls go through
** pointers, since the compiler would otherwise build the library into the loops.
**
** Tables are of 65,536 slots, filled to 0.95; operations are counted with ready hashes. To count
** another path, put it between count_begin and count_end, and run make bench-accept.
*/
#include "instructions.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#error "the header valgrind/callgrind.h is missing: install valgrind (make deps)"
#endif

#include "../../src/include/cuckoo_filter.h"
#include "bench.h"

enum { SLOTS = 65536, KEYS = SLOTS / 100 * 95, SOME = 10000, GROWN_FROM = 1000, GROWN_TO = 20000 };

void count_begin(void)
{
    CALLGRIND_START_INSTRUMENTATION;
    CALLGRIND_ZERO_STATS;
}

void count_end_less(const char *name, uint64_t operations, const char *less)
{
    char label[200];
    CALLGRIND_STOP_INSTRUMENTATION;
    snprintf(label, sizeof label, "%s|%llu|%s", name, (unsigned long long)operations, less);
    CALLGRIND_DUMP_STATS_AT(label);
}

void count_end(const char *name, uint64_t operations)
{
    count_end_less(name, operations, "");
}

/* ---- the library, without inlining ---- */

static uint64_t (*volatile hash)(const cf_geometry *, const void *, size_t) = cf_hash;
static cf_status (*volatile add)(cf_filter *, uint64_t) = cf_add;
static cf_deleted (*volatile take_away)(cf_filter *, uint64_t) = cf_delete;
static bool (*volatile contains)(const cf_filter *, uint64_t) = cf_contains;
static size_t (*volatile contains_many)(const cf_filter *, const uint64_t *, size_t,
                                        bool *) = cf_contains_many;
static cf_status (*volatile open_blob)(cf_filter *, const uint8_t *, size_t, const char **) = cf_open;
static cf_status (*volatile open_next)(cf_reader *, const uint8_t *, size_t,
                                       const char **) = cf_reader_open;

typedef struct kind {
    const char *name;
    cf_options options;
} kind;

static const kind kinds[] = {
    {"plain", {.bucket_size = 4, .fingerprint_bits = 12, .layout = CF_LAYOUT_PLAIN}},
    {"semi-sorted", {.bucket_size = 4, .fingerprint_bits = 13, .layout = CF_LAYOUT_SEMISORT}},
    {"8 slots", {.bucket_size = 8, .fingerprint_bits = 13, .layout = CF_LAYOUT_PLAIN}},
    {"counters", {.bucket_size = 4, .fingerprint_bits = 12, .counter_bits = 4}},
    {"stash", {.bucket_size = 4, .fingerprint_bits = 12, .stash = true}},
};
static const kind grown = {"grown", {.bucket_size = 4, .fingerprint_bits = 12, .growth = true}};

/* The hashes of keys that are added, and of others. */
static uint64_t present[KEYS], absent[SOME];

static cf_filter make(const kind *one, uint64_t keys)
{
    const char *why;
    cf_geometry shape;
    cf_filter filter;
    if (cf_plan(keys, 0, &one->options, &shape, &why) != CF_OK)
        bench_fail(why);
    if (!shape.growth)
        shape.buckets = SLOTS / shape.bucket_size;
    cf_create(&filter, &shape, bench_allocate(cf_geometry_bytes(&shape)));
    filter.memory = (cf_memory){bench_resize, UINT64_C(1) << 32, NULL};
    return filter;
}

static void drop(cf_filter *filter)
{
    free((void *)(uintptr_t)filter->bytes);
}

static void note(const kind *one, const char *operation, uint64_t operations)
{
    char name[100];
    snprintf(name, sizeof name, "%s, %s", one->name, operation);
    count_end(name, operations);
}

static void add_keys(cf_filter *filter, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++)
        if (add(filter, present[i]) != CF_OK)
            bench_fail("a key was refused");
}

/* ---- the paths ---- */

static void count_hash(const cf_geometry *shape, const char *eight_bytes, const char *a_uuid)
{
    static const char text[] = "6ba7b810-9dad-11d1-80b4-00c04fd430c8";
    count_begin();
    for (uint64_t i = 0; i < SOME; i++)
        bench_use(hash(shape, &i, sizeof i));
    count_end(eight_bytes, SOME);
    count_begin();
    for (uint64_t i = 0; i < SOME; i++)
        bench_use(hash(shape, text, sizeof text - 1));
    count_end(a_uuid, SOME);
}

static void count_lookups(const kind *one, const cf_filter *filter)
{
    static bool answers[SOME];
    count_begin();
    for (uint64_t i = 0; i < SOME; i++)
        bench_use(contains(filter, present[i]));
    note(one, "hit", SOME);
    count_begin();
    for (uint64_t i = 0; i < SOME; i++)
        bench_use(contains(filter, absent[i]));
    note(one, "miss", SOME);
    count_begin();
    bench_use(contains_many(filter, absent, SOME, answers));
    note(one, "miss, in a batch", SOME);
}

static void count_deletes(const kind *one, cf_filter *filter)
{
    count_begin();
    for (uint64_t i = 0; i < SOME; i++)
        bench_use(take_away(filter, present[i]));
    note(one, "delete", SOME);
}

static void count_bulk(const kind *one)
{
    uint64_t *hashes = bench_allocate(sizeof present);
    cf_filter filter = make(one, KEYS);
    memcpy(hashes, present, sizeof present);
    count_begin();
    if (cf_add_many(&filter, hashes, KEYS, NULL) != CF_OK)
        bench_fail("a key was refused");
    note(one, "bulk build", KEYS);
    drop(&filter);
    free(hashes);
}

static void count_opening(const kind *one, const cf_filter *filter)
{
    const char *why;
    cf_filter opened;
    cf_reader reader = {0};
    count_begin();
    for (int i = 0; i < SOME; i++)
        bench_use(open_blob(&opened, filter->bytes, filter->length, &why));
    note(one, "cf_open", SOME);
    count_begin();
    for (int i = 0; i < SOME; i++)
        bench_use(open_next(&reader, filter->bytes, filter->length, &why));
    note(one, "cf_reader_open", SOME);
}

static void count_kind(const kind *one)
{
    const uint64_t few = SLOTS / 20, late = SLOTS / 10 * 9;
    cf_filter filter = make(one, KEYS);
    count_begin();
    add_keys(&filter, 0, few);
    note(one, "add to a nearly empty table", few);
    add_keys(&filter, few, late);
    count_begin();
    add_keys(&filter, late, KEYS);
    note(one, "add, load 0.90 to 0.95", KEYS - late);
    cf_seal(&filter);
    count_lookups(one, &filter);
    count_opening(one, &filter);
    count_deletes(one, &filter);
    drop(&filter);
    count_bulk(one);
}

static void count_grown(void)
{
    cf_filter filter = make(&grown, GROWN_FROM);
    add_keys(&filter, 0, GROWN_FROM);
    count_begin();
    add_keys(&filter, GROWN_FROM, GROWN_TO);
    note(&grown, "growing from 1,000 to 20,000 keys", GROWN_TO - GROWN_FROM);
    cf_seal(&filter);
    count_lookups(&grown, &filter);
    count_opening(&grown, &filter);
    count_deletes(&grown, &filter);
    drop(&filter);
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return puts(sqlite3_libversion()) < 0;
    for (uint64_t i = 0; i < KEYS; i++)
        present[i] = bench_random(i);
    for (uint64_t i = 0; i < SOME; i++)
        absent[i] = bench_random(KEYS + i);
    count_hash(&(cf_geometry){.seed = 0}, "cf_hash, 8 bytes", "cf_hash, 36 bytes");
    count_hash(&(cf_geometry){.keyed = true}, "cf_hash, keyed, 8 bytes", "cf_hash, keyed, 36 bytes");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        count_kind(&kinds[i]);
    count_grown();
    count_sql(argv[1]);
    return 0;
}
