/* SPDX-License-Identifier: MIT */
#include "chain.h"

#include <stdlib.h>

#include "../../src/base/bits.h"
#include "bench.h"

static void new_part(chain *of, unsigned log2_buckets, unsigned f)
{
    if (of->parts == CHAIN_PARTS || f > 32)
        bench_fail("a chain has become too long");
    uint32_t *tag = bench_allocate_zeroed(sizeof *tag * of->b << log2_buckets);
    of->part[of->parts++] = (chain_part){log2_buckets, f, tag};
}

chain *chain_make(unsigned log2_buckets, unsigned b, unsigned f, unsigned kicks, unsigned tighten)
{
    chain *of = bench_allocate_zeroed(sizeof *of);
    of->b = b;
    of->kicks = kicks;
    of->tighten = tighten;
    new_part(of, log2_buckets, f);
    return of;
}

void chain_drop(chain *of)
{
    for (unsigned i = 0; i < of->parts; i++)
        free(of->part[i].tag);
    free(of);
}

uint64_t chain_bits(const chain *of)
{
    uint64_t bits = 0;
    for (unsigned i = 0; i < of->parts; i++)
        bits += (uint64_t)of->b * of->part[i].f << of->part[i].log2_buckets;
    return bits;
}

/* ---- one part ---- */

static uint32_t tag_of(const chain_part *in, uint64_t hash)
{
    uint32_t tag = (uint32_t)(hash & cf_low_bits(in->f));
    return tag ? tag : 1;
}

/* Low bits of one number, so that buckets of a small part and of a large one correspond. */
static uint64_t bucket_of(const chain_part *in, uint64_t hash)
{
    return hash >> 32 & cf_low_bits(in->log2_buckets);
}

static uint64_t other_bucket(const chain_part *in, uint64_t bucket, uint32_t tag)
{
    return bucket ^ (bench_random(tag) & cf_low_bits(in->log2_buckets));
}

static uint32_t *find(const chain *of, const chain_part *in, uint64_t bucket, uint32_t tag)
{
    uint32_t *slot = in->tag + bucket * of->b;
    for (unsigned i = 0; i < of->b; i++)
        if (slot[i] == tag)
            return slot + i;
    return NULL;
}

/* A slot with the key's tag (or an empty one) in either of its buckets. */
static uint32_t *find_in_pair(const chain *of, const chain_part *in, uint64_t hash, bool empty)
{
    uint32_t tag = tag_of(in, hash), want = empty ? 0 : tag;
    uint64_t bucket = bucket_of(in, hash);
    uint32_t *slot = find(of, in, bucket, want);
    return slot ? slot : find(of, in, other_bucket(in, bucket, tag), want);
}

typedef struct kick {
    uint32_t *slot, tag;
} kick;

static void take_back(const kick *done, unsigned kicks)
{
    while (kicks-- > 0)
        *done[kicks].slot = done[kicks].tag;
}

static bool walk(chain *of, const chain_part *in, uint64_t hash)
{
    enum { KICKS_MAX = 500 };
    kick done[KICKS_MAX];
    uint32_t tag = tag_of(in, hash);
    uint64_t bucket = bucket_of(in, hash);
    for (unsigned i = 0; i < of->kicks && i < KICKS_MAX; i++) {
        uint32_t *slot = in->tag + bucket * of->b + bench_random(of->draws++) % of->b;
        done[i] = (kick){slot, *slot};
        *slot = tag;
        tag = done[i].tag;
        bucket = other_bucket(in, bucket, tag);
        uint32_t *empty = find(of, in, bucket, 0);
        if (empty) {
            *empty = tag;
            return true;
        }
    }
    take_back(done, of->kicks < KICKS_MAX ? of->kicks : KICKS_MAX);
    return false;
}

/* ---- all of them ---- */

void chain_add(chain *of, uint64_t hash)
{
    for (unsigned i = of->parts; i-- > 0;) {
        uint32_t *empty = find_in_pair(of, &of->part[i], hash, true);
        if (empty) {
            *empty = tag_of(&of->part[i], hash);
            return;
        }
    }
    const chain_part *newest = &of->part[of->parts - 1];
    if (walk(of, newest, hash))
        return;
    new_part(of, newest->log2_buckets + 1, newest->f + of->tighten);
    chain_add(of, hash);
}

bool chain_contains(chain *of, uint64_t hash)
{
    for (unsigned i = of->parts; i-- > 0;) {
        of->looked += 2;
        if (find_in_pair(of, &of->part[i], hash, false))
            return true;
    }
    return false;
}
