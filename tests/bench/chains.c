/* SPDX-License-Identifier: MIT */
/*
** chains.c - chains.tsv: growing far beyond what was planned, ours beside chains of filters.
**
** Asked for is an error rate of 1 %. Systems:
**   ours                     growth on (growth.h); also asked for 5 % and 0.1 %
**   ours, planned            made for the last number of keys: what knowing it is worth
**   chain, as RedisBloom     fingerprints of 8 bits, buckets of 2, 20 kicks, as its defaults
**                            are; expansion 2
**   chain, equal rates       fingerprints of 10 bits, buckets of 4, 500 kicks: every part errs as often
**                            as was asked for
**   chain, tightened         11 bits in the first part, then one more each: the rates add up to 1 %
**   scalable Bloom           Almeida, Baquero, Preguica, Hutchison 2007: Bloom filters, each for twice
**                            as many keys and half the error rate as the one before, from 0.5 %
** The tags of chains lie in words of 32 bits: not packed.
*/
#include <math.h>
#include <stdlib.h>

#include "../../src/base/bits.h"
#include "../../src/cuckoo_inspect.h"
#include "cuckoo.h"
#include "kinds.h"

enum { PLANNED = 4096, STEPS = 9, BLOOMS = 24 };
static const double asked = 0.01;

/* ---- chains ----
**
** Each part is a cuckoo filter as published, with a power of two of buckets, and has twice as many as
** the one before. A key goes to a free slot of any part, the newest first; when there is none, it makes
** room in the newest by a random walk; when that fails, which changes nothing, a new part is made.
** Lookups ask all parts. */

enum { CHAIN_PARTS = 40 };

typedef struct chain_part {
    unsigned log2_buckets, f;
    uint32_t *tag; /* 0: empty */
} chain_part;

typedef struct chain {
    unsigned b, kicks;
    unsigned
        tighten; /* bits by which the fingerprints of a part are longer than those of the one before */
    unsigned parts;
    uint64_t draws;
    uint64_t looked; /* at so many buckets, in lookups */
    chain_part part[CHAIN_PARTS];
} chain;

static void new_part(chain *of, unsigned log2_buckets, unsigned f)
{
    if (of->parts == CHAIN_PARTS || f > 32)
        bench_fail("a chain has become too long");
    uint32_t *tag = bench_allocate_zeroed(sizeof *tag * of->b << log2_buckets);
    of->part[of->parts++] = (chain_part){log2_buckets, f, tag};
}

/* The first part has so many buckets, and fingerprints of f bits. */
static chain *chain_make(unsigned log2_buckets, unsigned b, unsigned f, unsigned kicks, unsigned tighten)
{
    chain *of = bench_allocate_zeroed(sizeof *of);
    of->b = b;
    of->kicks = kicks;
    of->tighten = tighten;
    new_part(of, log2_buckets, f);
    return of;
}

static void chain_drop(chain *of)
{
    for (unsigned i = 0; i < of->parts; i++)
        free(of->part[i].tag);
    free(of);
}

static uint64_t chain_bits(const chain *of)
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

static void chain_add(chain *of, uint64_t hash)
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

static bool chain_contains(chain *of, uint64_t hash)
{
    for (unsigned i = of->parts; i-- > 0;) {
        of->looked += 2;
        if (find_in_pair(of, &of->part[i], hash, false))
            return true;
    }
    return false;
}

/* ---- the systems ---- */

/* A system under test: one of these. */
typedef struct subject {
    cf_filter filter;
    chain *chain;
    bench_filter bloom[BLOOMS];
    unsigned blooms;
    uint64_t in_bloom; /* keys in the last one */
    double seconds;    /* that its adds took */
} subject;

enum { OURS, OURS_5, OURS_01, PLANNED_WELL, REDIS, EQUAL, TIGHTENED, SCALABLE, SYSTEMS };
static const char *const names[SYSTEMS] = {
    "ours",
    "ours, asked for 5 %",
    "ours, asked for 0.1 %",
    "ours, planned",
    "chain, as RedisBloom",
    "chain, equal rates",
    "chain, tightened",
    "scalable Bloom",
};

static void new_bloom(subject *of)
{
    unsigned i = of->blooms++;
    double rate = asked / 2 * ldexp(1, -(int)i);
    unsigned bits = (unsigned)ceil(-log2(rate) / log(2));
    of->bloom[i] = bench_make(&bench_bloom, ((uint64_t)PLANNED << i) * bits / 8, bits);
    of->in_bloom = 0;
}

static subject make(unsigned system, uint64_t last)
{
    subject of = {.chain = NULL};
    if (system <= PLANNED_WELL) {
        cf_options options = {.growth = true};
        double rate = system == OURS_5 ? 0.05 : system == OURS_01 ? 0.001 : asked;
        cf_geometry shape = cuckoo_plan(system == PLANNED_WELL ? last : PLANNED, rate, &options);
        of.filter = cuckoo_make(&shape);
        of.filter.memory = cuckoo_memory;
    } else if (system == REDIS) {
        of.chain = chain_make(11, 2, 8, 20, 0);
    } else if (system == EQUAL) {
        of.chain = chain_make(10, 4, 10, 500, 0);
    } else if (system == TIGHTENED) {
        of.chain = chain_make(10, 4, 11, 500, 1);
    } else {
        new_bloom(&of);
    }
    return of;
}

static void add(subject *of, uint64_t hash)
{
    if (of->chain) {
        chain_add(of->chain, hash);
    } else if (of->blooms) {
        if (of->in_bloom++ == (uint64_t)PLANNED << (of->blooms - 1)) {
            new_bloom(of);
            of->in_bloom = 1;
        }
        bench_bloom.add(of->bloom[of->blooms - 1].state, hash);
    } else if (cf_add(&of->filter, hash) != CF_OK) {
        bench_fail("a filter that may grow is full");
    }
}

static bool contains(subject *of, uint64_t hash)
{
    if (of->chain)
        return chain_contains(of->chain, hash);
    for (unsigned i = of->blooms; i-- > 0;)
        if (bench_bloom.contains(of->bloom[i].state, hash))
            return true;
    return of->blooms == 0 && cf_contains(&of->filter, hash);
}

static uint64_t bits_of(const subject *of)
{
    uint64_t bits = 0;
    for (unsigned i = 0; i < of->blooms; i++)
        bits += 8 * of->bloom[i].bytes;
    return of->chain ? chain_bits(of->chain) : of->blooms ? bits : 8 * of->filter.length;
}

static void drop(subject *of)
{
    for (unsigned i = 0; i < of->blooms; i++)
        bench_drop(&of->bloom[i]);
    if (of->chain)
        chain_drop(of->chain);
    else if (of->blooms == 0)
        cuckoo_drop(&of->filter);
}

/* ---- measuring ---- */

typedef struct lab {
    uint64_t last, probes;
    FILE *growth;
} lab;

typedef struct asking {
    double share, ns; /* of "perhaps"; of one lookup */
    double buckets;   /* read by one; NaN: it has none */
} asking;

/* Asks for n keys, every step-th from `from`, in an order without pattern. */
static asking ask(subject *of, uint64_t from, uint64_t keys, uint64_t n)
{
    uint64_t found = 0, before = of->chain ? of->chain->looked : 0;
    double start = bench_seconds();
    for (uint64_t i = 0; i < n; i++)
        found +=
            contains(of, bench_random(from + cf_scale(bench_random((UINT64_C(1) << 55) + i), keys)));
    double ns = bench_ns_since(start, n);
    double looked = of->chain ? (double)(of->chain->looked - before) / (double)n : of->blooms ? NAN : 2;
    return (asking){(double)found / (double)n, ns, looked};
}

static unsigned parts_of(const subject *of)
{
    return of->chain ? of->chain->parts : of->blooms ? of->blooms : 1;
}

static void look(const lab *in, const char *name, subject *of, uint64_t keys)
{
    asking hits = ask(of, 0, keys, in->probes);
    asking misses = ask(of, BENCH_ABSENT, UINT64_C(1) << 40, in->probes);
    if (hits.share < 1)
        bench_fail("a key is not found");
    fprintf(in->growth, "%s\t%llu\t%.4f\t%.2f\t%u", name, (unsigned long long)(keys / PLANNED),
            100 * misses.share, (double)bits_of(of) / (double)keys, parts_of(of));
    bench_field(in->growth, "%.2f", hits.buckets);
    bench_field(in->growth, "%.2f", misses.buckets);
    fprintf(in->growth, "\t%.1f\t%.1f\t%.1f\n", hits.ns, misses.ns, 1e9 * of->seconds / (double)keys);
    const char *why;
    if (of->chain == NULL && of->blooms == 0 && cf_check(&of->filter, &why) != CF_OK)
        bench_fail(why);
}

/* Parts of 1, 2, 4, ... times the planned keys are full at 2^k - 1 times as many. So 6, 29, 120 and 960
** times are just before a chain gets another part; the others are after that. */
static const unsigned times_planned[STEPS] = {1, 6, 8, 29, 32, 120, 128, 960, 1000};

static void measure(const lab *in, unsigned system)
{
    subject of = make(system, in->last);
    uint64_t keys = 0;
    bench_progress("  %s", names[system]);
    for (unsigned step = 0; step < STEPS && times_planned[step] * (uint64_t)PLANNED <= in->last;
         step++) {
        double start = bench_seconds();
        while (keys < times_planned[step] * (uint64_t)PLANNED)
            add(&of, bench_random(keys++));
        of.seconds += bench_seconds() - start;
        if (system != PLANNED_WELL || keys == in->last)
            look(in, names[system], &of, keys);
    }
    drop(&of);
}

int main(int argc, char **argv)
{
    bench_call call = bench_read_call(argc, argv);
    lab in = {.last = (uint64_t)PLANNED * (call.quick ? 32 : 1000),
              .probes = call.quick ? 20000 : 1000000,
              .growth = bench_table(call.folder, "chains",
                                    "system\ttimes planned\terror %\tbits per key\tparts\thit: "
                                    "buckets\tmiss: buckets\thit ns\tmiss ns\tadd ns")};
    for (unsigned system = 0; system < SYSTEMS; system++)
        measure(&in, system);
    fclose(in.growth);
    return 0;
}
