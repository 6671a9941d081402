/* SPDX-License-Identifier: MIT */
#include "key_table.h"

#include <stdlib.h>
#include <string.h>

#include "../../src/base/bits.h"
#include "bench.h"

enum { KICKS = 500, AHEAD = 16 };

key_table *key_table_make(key_address address, unsigned log2_buckets, unsigned b, unsigned f)
{
    key_table *table = bench_allocate_zeroed(sizeof *table);
    *table = (key_table){.address = address, .log2_buckets = log2_buckets, .b = b, .f = f};
    table->slot = bench_allocate_zeroed(sizeof *table->slot * b << log2_buckets);
    return table;
}

void key_table_drop(key_table *table)
{
    free(table->slot);
    free(table);
}

/* ---- addresses ---- */

static const uint64_t second_hash = UINT64_C(1) << 50, draws_from = UINT64_C(1) << 51,
                      fingerprints_from = UINT64_C(1) << 52;

key_place key_place_of(const key_table *table, uint64_t key)
{
    uint64_t mask = cf_low_bits(table->log2_buckets), hash = bench_random(key);
    uint64_t first = hash >> 32 & mask, fingerprint = hash & cf_low_bits(table->f);
    fingerprint |= fingerprint == 0 && table->address != KEY_HASHED_ALL;
    if (table->address == KEY_INDEPENDENT)
        return (key_place){{first, bench_random(second_hash + key) & mask}, 0};
    uint64_t step =
        table->address == KEY_UNHASHED ? fingerprint : bench_random(fingerprints_from + fingerprint);
    return (key_place){{first, first ^ (step & mask)}, fingerprint};
}

static uint32_t *slots_of(const key_table *table, uint64_t bucket)
{
    return table->slot + bucket * table->b;
}

static uint64_t other_bucket(const key_table *table, uint32_t content, uint64_t bucket)
{
    key_place place = key_place_of(table, table->first + content - 1);
    return place.bucket[place.bucket[0] == bucket];
}

static uint32_t *find(const key_table *table, uint64_t bucket, uint32_t content)
{
    uint32_t *slot = slots_of(table, bucket);
    for (unsigned i = 0; i < table->b; i++)
        if (slot[i] == content)
            return slot + i;
    return NULL;
}

static bool place(const key_table *table, uint64_t bucket, uint32_t content)
{
    uint32_t *empty = find(table, bucket, 0);
    if (empty)
        *empty = content;
    return empty != NULL;
}

/* ---- at random ---- */

static bool walk(key_table *table, const key_place *from, uint32_t content)
{
    uint64_t bucket = from->bucket[bench_random(draws_from + table->draws++) % 2];
    for (unsigned kick = 0; kick < KICKS; kick++) {
        uint32_t *slot = slots_of(table, bucket) + bench_random(draws_from + table->draws++) % table->b;
        uint32_t out = *slot;
        *slot = content;
        content = out;
        bucket = other_bucket(table, content, bucket);
        if (place(table, bucket, content))
            return true;
    }
    return false;
}

/* ---- filling ---- */

static bool add(key_table *table, uint64_t key)
{
    key_place places = key_place_of(table, table->first + key);
    uint32_t content = (uint32_t)key + 1;
    return place(table, places.bucket[0], content) || place(table, places.bucket[1], content) ||
           walk(table, &places, content);
}

/* Nothing is lost but what a walk that failed has kicked out. */
static void look_for_all(const key_table *table)
{
    uint64_t missed = 0;
    for (uint64_t key = 0; key < table->keys; key++) {
        key_place at = key_place_of(table, table->first + key);
        uint32_t content = (uint32_t)key + 1;
        missed += !find(table, at.bucket[0], content) && !find(table, at.bucket[1], content);
    }
    if (missed > 1)
        bench_fail("a key is not found");
}

uint64_t key_table_fill_to(key_table *table, uint64_t keys)
{
    while (table->keys < keys && add(table, table->keys)) {
        key_place later = key_place_of(table, table->first + ++table->keys + AHEAD);
        __builtin_prefetch(slots_of(table, later.bucket[0]));
        __builtin_prefetch(slots_of(table, later.bucket[1]));
    }
    look_for_all(table);
    return table->keys;
}

double key_table_fill(key_table *table)
{
    double slots = (double)((uint64_t)table->b << table->log2_buckets);
    return (double)key_table_fill_to(table, UINT32_MAX - 1) / slots;
}
