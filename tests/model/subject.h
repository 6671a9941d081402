/* SPDX-License-Identifier: MIT */
/*
** subject.h - a filter of a life, in memory of its own, its model, and a universe of keys that collide:
** hashes that agree in many bits, and in those that matter.
**
** What an entry says is base bucket, pair bits and the first remainder bits. A twin of a key agrees
** with it in base and in a random number of low bits; or it does so on the other side: its base is
** the alternate of the key's, its remainder the key's turned round. And some keys have low bits that are
** all zero, as many as fingerprints of one level or another have.
*/
#ifndef CUCKOO_MODEL_SUBJECT_H
#define CUCKOO_MODEL_SUBJECT_H

#include "calls.h"
#include "shapes.h"

/* Hash bits below this are pair and remainder bits, those above name the base bucket. */
enum { REMAINDER_END = 44 };

/* A hash with these low bits in this base, of m0 < 2^18: that is hash times m0 without its low 64 bits. */
static uint64_t hash_in_base(uint64_t base, uint64_t low, uint64_t m0)
{
    uint64_t step = UINT64_MAX / m0, end = UINT64_C(1) << REMAINDER_END;
    uint64_t high = base * step + base + random_below(step - base - 2 * end);
    return ((high & ~(end - 1)) + end) | (low & (end - 1));
}

/* One of the two sides of a key. */
static cf_side any_side(const cf_filter *filter, uint64_t hash)
{
    cf_pair pair = cf_candidates(filter, hash);
    return pair.side[random_below(pair.sides)];
}

/* A hash that a filter can hardly tell from this one. */
static uint64_t twin_of(const cf_filter *filter, uint64_t hash)
{
    unsigned shared = (unsigned)random_between(4, filter->geometry.fingerprint_bits + 14u);
    cf_side side = any_side(filter, hash);
    uint64_t low = (side.bits & model_ones(shared)) | (random64() & ~model_ones(shared));
    return hash_in_base(side.base, low, filter->geometry.buckets);
}

/* A hash near to a given one: on either side, with a few bits turned round. */
static uint64_t neighbour_of(const cf_filter *filter, uint64_t hash)
{
    cf_side side = any_side(filter, hash);
    for (uint64_t flips = random_below(4); flips > 0; flips--)
        side.bits ^= UINT64_C(1) << random_below(filter->geometry.fingerprint_bits + 10u);
    return hash_in_base(side.base, side.bits, filter->geometry.buckets);
}

static uint64_t with_low_zeros(const cf_filter *filter, uint64_t hash)
{
    return hash & ~model_ones((unsigned)random_between(4, filter->geometry.fingerprint_bits + 8u));
}

/* Number i, with those before it drawn. The first few of a narrow universe are at random. */
static uint64_t draw_hash(const setup *with, const cf_filter *filter, const uint64_t *hash, uint32_t i,
                          uint32_t few)
{
    bool clumped = with->style == CLUMPED, twin = with->style == TWINNED ? i % 2 == 1 : clumped && i > 0;
    uint64_t made = random64();
    if (with->style == NARROW && i >= few)
        made = neighbour_of(filter, hash[random_below(few)]);
    else if (twin && !(clumped && one_in(4)))
        made = twin_of(filter, hash[clumped ? random_below(i) : i - 1]);
    /* keys that end in zeros are one clump: a few, unless clumps are wanted */
    bool zeros = with->style == NARROW ? i == 0 && one_in(4) : i < 2 || (clumped && one_in(16));
    return zeros && !with->planned ? with_low_zeros(filter, made) : made;
}

/* The items of a life, in a model without a filter. */
static model new_universe(const setup *with)
{
    cf_filter unborn;
    uint8_t *bytes = model_need(malloc(cf_geometry_bytes(&with->shape)));
    uint64_t *hash = model_need(malloc(with->keys * sizeof *hash));
    uint32_t few = (uint32_t)random_between(1, 4);
    source then = draw_aside(draws.at ? random64() : 0);
    cf_create(&unborn, &with->shape, bytes);
    model made = model_new(&unborn);
    for (uint32_t i = 0; i < with->keys; i++) {
        hash[i] = draw_hash(with, &unborn, hash, i, few);
        for (uint32_t v = 0; v < with->values; v++) {
            uint64_t largest = model_ones(with->shape.value_bits);
            model_new_item(&made, &unborn, hash[i],
                           with->values == 1 ? 0 : v * (largest / (with->values - 1)));
        }
    }
    draw_on(then);
    free(hash);
    free(bytes);
    return made;
}

typedef struct subject {
    model m;
    const setup *with;
} subject;

/* Bytes that no filter of a life becomes longer than. */
static uint64_t most_bytes(const setup *with)
{
    return (1 << 15) + 4 * cf_geometry_bytes(&with->shape);
}

static void give_memory(subject *s)
{
    cf_filter *filter = s->m.filter;
    bool bounded = s->with->scarce && one_in(2);
    uint64_t most = bounded ? filter->length + random_below(2 * filter->length) : most_bytes(s->with);
    filter->memory = (cf_memory){world_resize, most, NULL};
}

/* The same items for another filter. */
static model model_for(const model *of, cf_filter *filter)
{
    model m = *of;
    m.filter = filter;
    m.item = model_need(malloc(of->room * sizeof *m.item));
    m.first = model_need(malloc(of->room * sizeof *m.first));
    memcpy(m.item, of->item, of->n * sizeof *m.item);
    memcpy(m.first, of->first, of->room * sizeof *m.first);
    return m;
}

static subject new_subject(const setup *with, const model *universe)
{
    cf_filter *filter = model_need(malloc(sizeof *filter));
    cf_create(filter, &with->shape, model_need(malloc(cf_geometry_bytes(&with->shape))));
    subject s = {model_for(universe, filter), with};
    model_forget(&s.m);
    give_memory(&s);
    return s;
}

static void free_subject(subject *s)
{
    free(model_bytes(s->m.filter));
    free(s->m.filter);
    model_free(&s->m);
}

/* One whose universe is drawn; failures tell its setup. */
static subject begin_life(const setup *with)
{
    running = with;
    model items = new_universe(with);
    subject s = new_subject(with, &items);
    model_free(&items);
    return s;
}

static void end_life(subject *s)
{
    free_subject(s);
    running = NULL;
}

/* Sealed, copied to memory of exactly its length, and opened there. */
static void open_copy(const cf_filter *filter, cf_filter *copy)
{
    const char *why = "";
    cf_filter sealed = *filter;
    cf_seal(&sealed);
    if (cf_open_writable(copy, copy_of_bytes(filter->bytes, filter->length), filter->length, &why) !=
        CF_OK)
        model_fail("cf_open_writable: %s", why);
}

static subject copy_of(const subject *s)
{
    cf_filter *filter = model_need(malloc(sizeof *filter));
    open_copy(s->m.filter, filter);
    subject made = {model_for(&s->m, filter), s->with};
    give_memory(&made);
    return made;
}

static uint64_t slots_of(const subject *s)
{
    return s->m.filter->buckets * s->m.filter->geometry.bucket_size;
}

/* Any item; one that is present, if there is one. */
static uint32_t any_item(const subject *s)
{
    return (uint32_t)random_below(s->m.n);
}

static uint32_t any_present(const subject *s)
{
    uint32_t first = any_item(s);
    for (uint32_t i = 0; i < s->m.n; i++)
        if (model_copies(&s->m, (first + i) % s->m.n) > 0)
            return (first + i) % s->m.n;
    return first;
}

#endif
