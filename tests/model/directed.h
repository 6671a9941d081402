/* SPDX-License-Identifier: MIT */
/*
** directed.h - single sequences that random ones seldom come to, with hashes made for them.
*/
#ifndef CUCKOO_MODEL_DIRECTED_H
#define CUCKOO_MODEL_DIRECTED_H

#include "life.h"

/* Four remainder bits known before growth. */
static setup directed_setup(unsigned b, uint64_t m0, uint32_t keys)
{
    setup with = {.keys = keys, .values = 1};
    with.shape = (cf_geometry){.buckets = m0,
                               .capacity = m0 * b,
                               .bucket_size = (uint8_t)b,
                               .fingerprint_bits = 8,
                               .pair_bits = 4,
                               .max_copies = (uint8_t)(b == 8 ? 4 : b / 2 + 1),
                               .growth = true};
    return with;
}

/* A filter of these hashes. */
static subject directed_subject(const setup *with, const uint64_t *hash)
{
    cf_filter unborn;
    cf_create(&unborn, &with->shape, model_need(malloc(cf_geometry_bytes(&with->shape))));
    model items = model_new(&unborn);
    for (uint32_t i = 0; i < with->keys; i++)
        model_new_item(&items, &unborn, hash[i], 0);
    subject s = new_subject(with, &items);
    model_free(&items);
    free(model_bytes(&unborn));
    s.m.filter->memory.most = 1 << 20;
    return s;
}

static void split_to(subject *s, uint64_t buckets)
{
    while (!failed && s->m.filter->buckets < buckets) {
        REQUIRE(probe_split(s->m.filter));
        model_note_stage(&s->m);
    }
}

static cf_side alternate_of(const cf_geometry *shape, uint64_t hash)
{
    cf_filter unborn;
    cf_create(&unborn, shape, model_need(malloc(cf_geometry_bytes(shape))));
    cf_pair pair = cf_candidates(&unborn, hash);
    free(model_bytes(&unborn));
    return pair.side[1];
}

/*
** A key that is saturated in one filter is so in the sum, even when the sum has entries that match it
** and cannot be made equal: with counters, the copies of its entries must not be counted in those
** of others, who take them away again when they are deleted. b = 2, m0 = 2, level 4 half way:
**
**      base 0, extensions of 5 bits: an entry of key 2, which agrees with key 0 in 10 bits, of 10
**      base 1, extensions of 4 bits: an entry of key 1, which agrees with key 0 in 4 bits, of 4: void
*/
static void merge_saturated_beside_others(void)
{
    setup with = directed_setup(2, 2, 3);
    with.shape.counter_bits = 1;
    uint64_t hash[3], low = random64() | 1, half = (2 << 4) + 16;
    hash[0] = hash_in_base(1, low, 2);
    hash[1] = hash_in_base(1, low ^ ~model_ones(4 + 4), 2);
    cf_side other = alternate_of(&with.shape, hash[0]);
    hash[2] = hash_in_base(other.base, other.bits ^ ~model_ones(4 + 10), 2);
    subject into = directed_subject(&with, hash), from = directed_subject(&with, hash);
    add(&into, 1);
    split_to(&into, 2 << 2);
    add(&into, 2);
    split_to(&into, half);
    split_to(&from, half);
    for (unsigned i = 0; i < 10; i++)
        add(&from, 0);
    model_merge(&into.m, &from.m);
    take(&into, 1);
    take(&into, 2);
    take_all(&into);
    free_subject(&into);
    free_subject(&from);
}

/* A table full to the last slot, all of its entries void: a split doubles those of one bucket. */
static void split_full_of_exhausted(void)
{
    setup with = directed_setup(2, 2, 2);
    uint64_t hash[2] = {random64() << 4 | 1, random64() << 4 | 2};
    with.shape.fingerprint_bits = 4;
    subject s = directed_subject(&with, hash);
    for (uint32_t i = 0; i < 4; i++)
        add(&s, i / 2);
    split_to(&s, 8);
    model_check_all(&s.m);
    free_subject(&s);
}

/* One key alone, below what can be counted: as many deletes take effect as there were adds. Or any
** number of adds: never refused. Whatever is split in between. */
static void one_key(void)
{
    static const unsigned sizes[] = {2, 4, 8};
    setup with = directed_setup(sizes[random_below(3)], 2 * random_between(1, 4), 1);
    with.shape.counter_bits = (uint8_t)random_below(5);
    uint64_t hash = random64();
    subject s = directed_subject(&with, &hash);
    bool exact = one_in(2);
    uint64_t most = model_most(&s.m), copies = exact ? random_below(most) : one_in(2) ? most : 500;
    for (uint64_t i = 0; i < copies && !failed; i++) {
        REQUIRE(model_add(&s.m, 0) == CF_OK);
        if (one_in(exact ? 4 : 40) && s.m.filter->buckets < 64)
            split_to(&s, s.m.filter->buckets + random_below(6));
    }
    model_check_all(&s.m);
    if (!exact && with.shape.counter_bits == 0) {
        REQUIRE(model_add(&s.m, 0) == CF_OK && model_delete(&s.m, 0) == CF_SATURATED);
        bool grown = model_has_grown(s.m.filter) && s.m.filter->buckets <= 8 * with.shape.buckets;
        REQUIRE(!grown || s.m.filter->occupied <= with.shape.max_copies); /* they become one */
    }
    take_all(&s);
    REQUIRE(!exact || !cf_contains(s.m.filter, hash));
    free_subject(&s);
}

/* Adds keys until one is refused: no sooner than with so many of thousand slots in use, unless there is no way
** to an empty one. Why it is. */
static cf_status fill(cf_filter *filter, unsigned least)
{
    cf_status status = CF_OK;
    uint64_t hash = 0, slots = filter->buckets * filter->geometry.bucket_size;
    while (status == CF_OK)
        status = cf_add(filter, hash = random64());
    if (filter->occupied * 1000 < least * slots && has_room(filter, hash))
        model_fail("full with %u of %u slots in use", (unsigned)filter->occupied, (unsigned)slots);
    return status;
}

/* A filter that has grown and finds no more memory is filled as far as one that does not grow: where
** growth does not help, a longer search for room may. */
static void full_when_memory_ends(void)
{
    enum { SLOTS = 1024 };
    static const unsigned least[] = {0, 0, 780, 0, 870, 0, 0, 0, 950}; /* by b */
    unsigned b = 2u << random_below(3);
    setup with = directed_setup(b, SLOTS / b, 1);
    with.shape.fingerprint_bits = 16;
    with.shape.pair_bits = 8;
    if (one_in(2))
        with.shape.epochs = 3, with.shape.max_copies = 1;
    uint64_t hash = 1;
    subject s = directed_subject(&with, &hash);
    cf_filter *filter = s.m.filter;
    split_to(&s, SLOTS / b + SLOTS / 16);
    filter->memory.most = filter->length;
    while (filter->length + 64 > filter->memory.most && probe_split(filter))
        continue; /* into the room that it has */
    REQUIRE(fill(filter, least[b]) == CF_TOO_BIG);
    free_subject(&s);
}

/* Few keys in few buckets, at different levels: each of the two sums, and then all is deleted. */
static void merge_both_ways(void)
{
    setup with = {.shape = small_shape(one_in(2)), .style = CLUMPED};
    with.values = UINT32_C(1) << (with.shape.value_bits < 3 ? with.shape.value_bits : 3);
    with.keys = (uint32_t)random_between(3, one_in(3) ? 40 : 8);
    with.shape.buckets = one_in(2) ? 2 : 4;
    subject one = begin_life(&with), other = new_subject(&with, &one.m);
    for (unsigned i = 0; i < 4 && !failed; i++) {
        mixed_ops(i % 2 ? &one : &other);
        split_some(one_in(3) ? &one : &other);
    }
    for (unsigned way = 0; way < 2 && !failed; way++) {
        subject sum = copy_of(way ? &one : &other);
        model_merge(&sum.m, way ? &other.m : &one.m);
        model_check_all(&sum.m);
        die(&sum);
        free_subject(&sum);
    }
    free_subject(&other);
    end_life(&one);
}

/* ---- room ---- */

/* With one slot in a bucket the search for room is two walks, which anybody can follow. The steps from a
** bucket to an empty one; UINT_MAX: it comes back, or takes more than `most`. */
static unsigned walk_to_room(const cf_filter *filter, uint64_t bucket, unsigned most)
{
    cf_entry entry;
    bool movable;
    for (unsigned steps = 0; steps < most; steps++) {
        if (!cf_entry_at(filter, bucket, 0, &entry))
            return steps;
        bucket = cf_entry_alternate(filter, &entry, &movable);
    }
    return UINT_MAX;
}

/* Nearly full: some walks are short, some find nothing. */
static void walks_with_one_slot(void)
{
    enum { BUCKETS = 1500, NEAR = 50, EVERY = 60 };
    cf_filter f;
    cf_geometry shape = {
        .buckets = BUCKETS, .bucket_size = 1, .fingerprint_bits = 16, .pair_bits = 16, .max_copies = 2};
    cf_create(&f, &shape, model_need(malloc(cf_geometry_bytes(&shape))));
    for (uint64_t base = 0; base < BUCKETS; base++)
        if (!one_in(EVERY))
            probe_put(&f, hash_in_base(base, random64(), BUCKETS), 0, 0);
    for (unsigned i = 0; i < 20; i++) {
        uint64_t hash = random64();
        cf_pair pair = cf_candidates(&f, hash);
        unsigned one = walk_to_room(&f, pair.place[0].bucket, BUCKETS);
        unsigned other = walk_to_room(&f, pair.place[1].bucket, BUCKETS);
        cf_status status = cf_add(&f, hash);
        REQUIRE(status == CF_OK || (status == CF_FULL && one > NEAR && other > NEAR));
        REQUIRE(status == CF_FULL || one != UINT_MAX || other != UINT_MAX);
    }
    free(model_bytes(&f));
}

/* A full table in which what lies in a bucket can move to the next one only: no tree of paths, but a
** line, as long as a search can be. */
static void longest_line(void)
{
    enum { BUCKETS = 2000 };
    cf_filter f;
    cf_geometry shape = {
        .buckets = BUCKETS, .bucket_size = 2, .fingerprint_bits = 16, .pair_bits = 16, .max_copies = 2};
    uint64_t low_of[BUCKETS] = {0}; /* low bits of a key with this sum of its two buckets */
    cf_create(&f, &shape, model_need(malloc(cf_geometry_bytes(&shape))));
    for (uint64_t low = 1; low < 1 << 15; low++) {
        cf_pair pair = cf_candidates(&f, low);
        low_of[(pair.side[0].base + pair.side[1].base) % BUCKETS] = low;
    }
    for (uint64_t base = 0; base < BUCKETS; base++)
        for (unsigned slot = 0; slot < 2; slot++)
            probe_put(&f, hash_in_base(base, low_of[(2 * base + 1) % BUCKETS], BUCKETS), 0, 0);
    REQUIRE(f.occupied == 2 * BUCKETS);
    for (unsigned i = 0; i < 8; i++) {
        uint64_t hash = random64();
        REQUIRE(cf_contains(&f, hash) || cf_add(&f, hash) == CF_FULL);
    }
    free(model_bytes(&f));
}

/* Before an add is refused the stash is full: keys that find no slot in their budget go there, and
** when it is small they do so early. */
static void the_list_is_used(void)
{
    uint64_t hash = 1;
    setup with = directed_setup(4, 2 * random_between(100, 200), 1);
    with.shape.budget = (uint8_t)random_below(3);
    with.shape.growth = false;
    with.shape.fingerprint_bits = with.shape.pair_bits = 16;
    with.shape.stash_size = (uint16_t)random_between(1, 12);
    subject s = directed_subject(&with, &hash);
    cf_filter *filter = s.m.filter;
    uint64_t slots = slots_of(&s), first = 0;
    while (cf_add(filter, random64()) == CF_OK)
        first = first == 0 && filter->stashed > 0 ? filter->occupied : first;
    REQUIRE(filter->stashed == with.shape.stash_size);
    REQUIRE(first > slots / 16 && first < slots * 95 / 100);
    free_subject(&s);
}

/* Without a budget a key goes to the list when both of its buckets are full, and never before. */
static void the_list_without_budget(void)
{
    cf_filter f;
    cf_entry entry;
    cf_geometry shape = directed_setup(4, 2 * random_between(10, 40), 1).shape;
    shape.growth = false;
    shape.fingerprint_bits = shape.pair_bits = 16;
    shape.stash_size = 12;
    cf_create(&f, &shape, model_need(malloc(cf_geometry_bytes(&shape))));
    for (cf_status status = CF_OK; status == CF_OK && !failed;) {
        uint64_t hash = random64();
        cf_pair pair = cf_candidates(&f, hash);
        unsigned stashed = f.stashed;
        bool room = false;
        for (unsigned i = 0; i < 2; i++)
            for (unsigned slot = 0; slot < shape.bucket_size; slot++)
                room |= !cf_entry_at(&f, pair.place[i].bucket, slot, &entry);
        status = cf_add(&f, hash);
        if (stashed < shape.stash_size) /* else it searches longer */
            REQUIRE(status == CF_OK && f.stashed == stashed + !room);
    }
    free(model_bytes(&f));
}

/* Some of these steps, with a few keys. */
static void live_with_few(void (*const step[])(subject *s), unsigned steps, setup with)
{
    with.keys = (uint32_t)random_between(3, 40);
    with.values = 1;
    subject s = begin_life(&with);
    if (one_in(2))
        s.m.filter->memory.most = s.m.filter->length + random_below(s.m.filter->length);
    for (unsigned i = 0; i < 12 && !failed; i++) {
        step[random_below(steps)](&s);
        check_asking(&s);
    }
    end_life(&s);
}

/* Entries of several epochs that say the same, and become one. */
static void ages_that_fold(void)
{
    static void (*const step[])(subject * s) = {add_some,   mixed_ops, advance,
                                                split_some, merge_one, owner};
    setup with = {.shape = small_shape(one_in(2)), .style = one_in(2) ? NARROW : CLUMPED};
    make_ageing(&with.shape);
    live_with_few(step, sizeof step / sizeof *step, with);
}

/* Entries in the list of a few buckets, which know next to nothing, or enough to be told apart. */
static void a_crowded_list(void)
{
    static void (*const step[])(subject * s) = {add_some, mixed_ops, take_some, merge_one, settle};
    bool apart = one_in(2);
    setup with = {.shape = small_shape(false),
                  .style = apart       ? SCATTERED
                           : one_in(2) ? NARROW
                                       : CLUMPED};
    with.shape.epochs = 0;
    with.shape.fingerprint_bits = (uint8_t)(apart ? random_between(9, 13) : random_between(5, 7));
    with.shape.pair_bits = (uint8_t)random_between(4, 5);
    with.shape.max_copies = apart ? (uint8_t)(2 * with.shape.bucket_size) : with.shape.max_copies;
    with.shape.buckets = one_in(2) ? 2 : 4;
    with.shape.growth = false;
    with.shape.stash_size = (uint16_t)random_between(1, 10);
    with.shape.budget = (uint8_t)random_below(3);
    live_with_few(step, sizeof step / sizeof *step, with);
}

/* A filter planned for the keys of its epochs takes them, epoch after epoch: the dead take up no room,
** whether they are taken out at once or only when their number comes again. */
static void a_stream(void)
{
    const char *why = "";
    cf_filter f;
    cf_geometry shape;
    cf_options options = {.epochs = (unsigned)random_between(1, CF_EPOCHS_MAX), .growth = one_in(2)};
    uint64_t each = random_between(1, 600 / options.epochs);
    bool late = one_in(2);
    REQUIRE(cf_plan(each * options.epochs, 0.001, &options, &shape, &why) == CF_OK);
    cf_create(&f, &shape, model_need(malloc(cf_geometry_bytes(&shape))));
    if (options.growth)
        f.memory = (cf_memory){world_resize, UINT64_MAX, NULL};
    for (unsigned epoch = 0; epoch < 40 && !failed; epoch++) {
        for (uint64_t i = 0; i < each; i++)
            REQUIRE(cf_add(&f, random64()) == CF_OK);
        if (late)
            probe_sweep_next(&f), probe_begin_epoch(&f);
        else
            cf_advance(&f);
    }
    REQUIRE(f.buckets == shape.buckets && cf_check(&f, &why) == CF_OK);
    free(model_bytes(&f));
}

/* A large filter that grows while keys are added beyond its capacity, opened anew now and then. */
static void a_large_one(void)
{
    setup with = {.shape = any_shape(), .values = 1, .style = SCATTERED};
    with.shape.bucket_size = one_in(2) ? 2 : 4;
    with.shape.semisorted = with.shape.semisorted && with.shape.bucket_size == 4;
    make_large(&with.shape);
    with.shape.max_copies = with.shape.epochs ? 1 : with.shape.max_copies;
    with.shape.growth = true;
    checked_shape(with.shape);
    with.keys = (uint32_t)(cf_geometry_slots(&with.shape) + 200);
    subject s = begin_life(&with);
    s.m.filter->memory.most = UINT64_MAX;
    uint64_t first = cf_geometry_slots(&with.shape) * 85 / 100;
    for (uint32_t i = 0; i < with.keys && !failed; i++) {
        add(&s, i * with.values);
        if (i > first && one_in(20))
            reopen(&s);
    }
    check_asking(&s);
    end_life(&s);
}

/* The load at the first failure is that of a search from as many buckets as eviction.h says. */
static void full_without_growth(void)
{
    enum { SLOTS = 8192 };
    static const unsigned least[] = {0, 0, 870, 0, 966, 0, 0, 0, 994}; /* by b */
    cf_filter f;
    unsigned b = 2u << random_below(3);
    cf_geometry shape = {.buckets = SLOTS / b,
                         .bucket_size = (uint8_t)b,
                         .fingerprint_bits = 16,
                         .pair_bits = 16,
                         .max_copies = (uint8_t)b};
    cf_create(&f, &shape, model_need(malloc(cf_geometry_bytes(&shape))));
    REQUIRE(fill(&f, least[b]) == CF_FULL);
    free(model_bytes(&f));
}

static void (*const directed[])(void) = {merge_both_ways,
                                         merge_saturated_beside_others,
                                         split_full_of_exhausted,
                                         one_key,
                                         full_when_memory_ends,
                                         walks_with_one_slot,
                                         longest_line,
                                         the_list_is_used,
                                         the_list_without_budget,
                                         ages_that_fold,
                                         a_crowded_list,
                                         full_without_growth,
                                         a_stream};

static void live_directed(void)
{
    last_step = "directed";
    for (unsigned i = 0; i < sizeof directed / sizeof *directed && !failed; i++)
        for (unsigned times = i < 4 ? 3 : 1; times > 0 && !failed; times--)
            directed[i]();
    if (one_in(8))
        a_large_one();
}

#endif
