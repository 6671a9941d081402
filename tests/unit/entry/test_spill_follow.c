/* SPDX-License-Identifier: MIT */
/* Long spill lists: a list follows many splits as it follows one; a hostile one costs no more than it
** is long; and whoever works long on one can be interrupted, with nothing changed. */
#include "../../../src/growth/insert.h"
#include "../spill_model.h"

/* ---- hostile filters ---- */

enum { LONGEST = 4096 };

static int by_bucket_and_tag(const void *a, const void *b)
{
    return spilled_before(a, b) ? -1 : spilled_before(b, a);
}

static void put_line(cf_filter *filter, unsigned index, const cf_spilled *line)
{
    uint8_t *at = filter->view.writable - CF_HEADER_BYTES + filter->length -
                  (filter->geometry.spill_bound - index) * CF_SPILL_ENTRY;
    cf_store64(at, line->bucket | line->tag << 48);
    cf_store64(at + 8, line->tag >> 16 | line->payload << 32);
}

/* Tags of one kind: any bits, void, all the same, as long as slots are. */
static uint64_t tag_of_kind(const cf_filter *filter, uint64_t kind, uint64_t same, uint64_t mask)
{
    uint64_t tag = random64() & mask, voids = UINT64_C(1) << filter->geometry.pair_bits;
    switch (kind) {
    case 0:
        return tag;
    case 1:
        return filter->view.grown ? (tag & filter->view.pair_mask) | voids : tag;
    case 2:
        return same & mask;
    default:
        return tag | (mask ^ mask >> 1);
    }
}

static void fill_slots(cf_filter *filter, uint64_t same)
{
    uint64_t kind = random_below(4), some = 1 + random_below(30);
    for (uint64_t bucket = 0; bucket < filter->buckets; bucket++)
        for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++)
            if (random_below(some) > 0 || some == 1)
                cf_slot_set(filter, bucket, slot,
                            tag_of_kind(filter, kind, same, cf_form_of(filter, bucket)->slot_mask), 0);
}

/* As long as it can be as a rule, sorted or not, in many buckets or in few, or in none. */
static void fill_list(cf_filter *filter, uint64_t same)
{
    static cf_spilled line[LONGEST];
    uint64_t kind = random_below(4), mask = filter->view.form.slot_mask;
    uint64_t buckets = random_below(3) ? filter->buckets + random_below(2) : 1 + random_below(2);
    unsigned bound = filter->geometry.spill_bound;
    filter->spilled = random_below(4) ? bound : (unsigned)random_below(bound + 1);
    for (unsigned i = 0; i < filter->spilled; i++)
        line[i] = (cf_spilled){random_below(buckets), tag_of_kind(filter, kind, same, mask), 0};
    if (random_below(4))
        qsort(line, filter->spilled, sizeof *line, by_bucket_and_tag);
    for (unsigned i = 0; i < filter->spilled; i++)
        put_line(filter, i, &line[i]);
    if (random_below(4) == 0)
        cf_spill_mark_all(filter, true);
    else
        for (uint64_t bucket = 0; bucket < filter->buckets; bucket++)
            cf_overflow_set(filter, bucket, true);
}

static cf_geometry hostile_shape(void)
{
    unsigned f = 6 + (unsigned)random_below(13);
    cf_geometry shape =
        growing_shape(2 * (1 + random_below(random_below(2) ? 300 : 3)), 1u << random_below(4), f);
    shape.pair_bits = (uint8_t)(4 + random_below(f - 3));
    shape.cap = (uint8_t)(1 + random_below(2 * shape.bucket_size));
    shape.value_bits = random_below(3) ? 0 : 5;
    shape.counter_bits = shape.value_bits || random_below(3) ? 0 : 2;
    shape.semisorted = shape.bucket_size == 4 && random_below(2);
    shape.growth = random_below(8) > 0;
    return spilling(shape, (unsigned)random_below(4), 1 + (unsigned)random_below(LONGEST));
}

static test_filter hostile_filter(cf_geometry shape)
{
    uint64_t same = random64() | 1, level = shape.growth ? random_below(4) : 0;
    uint64_t split = shape.growth ? random_below((shape.buckets << level) + 1) : 0;
    test_filter made = filter_at_stage(shape, (unsigned)level, split);
    cf_filter *filter = &made.filter;
    fill_slots(filter, same);
    fill_list(filter, same);
    filter->occupied = filter->buckets * shape.bucket_size * (1 + random_below(8)) / 8;
    filter->items = random_below(2) ? (uint64_t)1 << 40 : random_below(5000);
    filter->memory = (cf_memory){test_resize, 1 << 22, NULL};
    return made;
}

/* A key that entries of the list match, or any. */
static uint64_t a_key(const cf_filter *filter)
{
    cf_entry entry;
    uint64_t hash = random64();
    if (filter->spilled == 0 || random_below(3) == 0 ||
        !cf_spilled_at(filter, (unsigned)random_below(filter->spilled), &entry))
        return hash;
    unsigned known = filter->geometry.pair_bits + entry.side.length;
    return hash ^ ((hash ^ entry.side.bits) & cf_low_bits(known < 40 ? known : 40));
}

/* ---- what there is to do ---- */

typedef struct work {
    cf_filter *filter, *other; /* of the same shape */
    uint64_t hash[16];
} work;

enum { HASHES = 16 };

static cf_status add(work *w)
{
    return cf_add(w->filter, w->hash[0]);
}

static cf_status add_many(work *w)
{
    return cf_add_many(w->filter, w->hash, HASHES, NULL);
}

static cf_status take_out(work *w)
{
    cf_delete(w->filter, w->hash[0]);
    return CF_OK;
}

static cf_status merge_into(work *w)
{
    const char *why;
    return cf_merge(w->filter, w->other, &why);
}

static cf_status merge_from(work *w)
{
    const char *why;
    return cf_merge(w->other, w->filter, &why);
}

static cf_status grow(work *w)
{
    return cf_grow_to(w->filter, 2 * w->filter->buckets);
}

static cf_status settle(work *w)
{
    return cf_settle(w->filter);
}

static cf_status shrink(work *w)
{
    cf_clear(w->other);
    return cf_shrink(w->other, w->filter);
}

static cf_status check(work *w)
{
    const char *why;
    return cf_check(w->filter, &why);
}

static cf_status census(work *w)
{
    return cf_take_census(w->filter).status;
}

static cf_status ask(work *w)
{
    uint64_t values[CF_VALUES_MAX];
    cf_get_all(w->filter, w->hash[0], values);
    cf_get(w->filter, w->hash[0], values);
    cf_count(w->filter, w->hash[0]);
    cf_contains(w->filter, w->hash[0]);
    return CF_OK;
}

/* `most`: looks at a bucket or a line of the list for each byte of both filters. One change, and one
** question, look at each line a few times. What goes through the entries of the list asks for each how
** many others are like it: for lines of one bucket that is the square of them, 4,096 at most. */
typedef struct hostile_work {
    const char *name;
    cf_status (*run)(work *);
    double most;
} hostile_work;

static const hostile_work operations[] = {
    {"add", add, 40},         {"delete", take_out, 4},          {"ask", ask, 4},
    {"grow", grow, 40},       {"check", check, 1000},           {"settle", settle, 1000},
    {"census", census, 3000}, {"add_many", add_many, 1000},     {"merge", merge_into, 3000},
    {"shrink", shrink, 3000}, {"merge from", merge_from, 3000},
};

enum { OPERATIONS = sizeof operations / sizeof operations[0] };

/* ---- counting looks at buckets and at lines of the list ---- */

static uint64_t looks;

static void look(void *context, uint64_t from, uint64_t to)
{
    (void)context;
    (void)from;
    (void)to;
    looks++;
}

static const cf_pages counting = {look, look, NULL, NULL};
static void count_work(const hostile_work *operation)
{
    cf_geometry shape = hostile_shape();
    test_filter made = hostile_filter(shape), other = new_filter(shape);
    work w = {&made.filter, &other.filter, {0}};
    other.filter.memory = made.filter.memory;
    for (unsigned i = 0; i < HASHES; i++) {
        w.hash[i] = a_key(&made.filter);
        cf_add(&other.filter, w.hash[i]);
    }
    uint64_t bytes = made.filter.length + other.filter.length;
    cf_attach_pages(&made.filter, &counting);
    cf_attach_pages(&other.filter, &counting);
    looks = 0;
    operation->run(&w);
    if ((double)looks > operation->most * (double)bytes)
        fail_msg("%s looks %llu times at %llu bytes", operation->name, (unsigned long long)looks,
                 (unsigned long long)bytes);
    free_filter(&made);
    free_filter(&other);
}

static void a_hostile_list_costs_no_more_than_it_is_long(void **state)
{
    (void)state;
    for (unsigned number = 0; number < OPERATIONS; number++)
        for (int round = 0; round < 16; round++)
            count_work(&operations[number]);
}

/* ---- many splits at once ---- */

/* What was found before a row of splits is found after it, in a sound filter. */
static void a_list_follows_many_splits(void **state)
{
    uint64_t listed = 0;
    (void)state;
    for (int round = 0; round < 200; round++) {
        uint64_t hash[600];
        unsigned b = 2u << random_below(3), keys = 0;
        cf_geometry shape = spilling(growing_shape(2 * (1 + random_below(8)), b, 14), 0, 64);
        shape.semisorted = b == 4 && round % 2;
        test_filter made = growing_filter(shape, UINT64_MAX);
        uint64_t crowd = random_below(2) ? UINT64_MAX : ~(UINT64_C(7) << 61);
        while (keys < 600 && made.filter.spilled < 12)
            if (cf_add(&made.filter, hash[keys] = random64() & crowd) == CF_OK)
                keys++;
        listed += made.filter.spilled;
        cf_grow_to(&made.filter, made.filter.buckets + 1 + random_below(3 * made.filter.buckets));
        assert_list(&made.filter);
        assert_sound(&made.filter);
        for (unsigned i = 0; i < keys; i++)
            assert_true(cf_contains(&made.filter, hash[i]));
        free_filter(&made);
    }
    assert_true(listed > 500);
}

/* ---- interrupts ---- */

static unsigned questions, last_question;

static bool stop_at_last(void *context)
{
    (void)context;
    return ++questions >= last_question;
}

static const cf_watch watch = {stop_at_last, NULL};

static cf_status add_until(cf_filter *filter, uint64_t hash, unsigned last)
{
    questions = 0;
    last_question = last;
    filter->watch = &watch;
    cf_status status = cf_add(filter, hash);
    filter->watch = NULL;
    return status;
}

/* Interrupts an add at any of its questions: nothing has changed, and the next one does what the first
** would have done. How often it was interrupted. */
static unsigned interrupt_one(cf_filter *filter, uint64_t hash)
{
    unsigned interrupted = 0;
    for (unsigned last = 1; interrupted < 8; last += 1 + last / 2) {
        snapshot then = remember(filter);
        cf_status status = add_until(filter, hash, last);
        if (status == CF_INTERRUPTED)
            assert_unchanged(filter, &then);
        free(then.bytes);
        if (status != CF_INTERRUPTED)
            break;
        interrupted++;
    }
    assert_list(filter);
    assert_sound(filter);
    return interrupted;
}

/* Keys of one pair of buckets that differ in few bits: the table grows far for them, or in vain. */
static unsigned interrupt_a_crowd(cf_geometry shape, unsigned apart)
{
    unsigned interrupted = 0;
    test_filter made = growing_filter(shape, UINT64_MAX);
    uint64_t first = random64();
    for (unsigned i = 0; i < 60; i++) {
        uint64_t others = (random64() & 0xff) << (shape.pair_bits + apart);
        interrupted += interrupt_one(&made.filter, first ^ others);
    }
    free_filter(&made);
    return interrupted;
}

static void an_interrupted_add_changes_nothing(void **state)
{
    unsigned interrupted = 0;
    (void)state;
    for (int round = 0; round < 12; round++) {
        unsigned b = 2u << random_below(3);
        cf_geometry shape = growing_shape(2 * (1 + random_below(100)), b, 14);
        shape.semisorted = b == 4 && round % 2;
        shape.value_bits = random_below(2) ? 3 : 0;
        interrupted += interrupt_a_crowd(round % 3 ? spilling(shape, 0, 9) : shape, (unsigned)round % 6);
    }
    assert_true(interrupted > 20);
}

/* With a list all buckets are widened in the first step. */
static void a_first_step_that_is_interrupted_changes_nothing(void **state)
{
    (void)state;
    for (unsigned list = 0; list < 2; list++) {
        cf_geometry shape = growing_shape(20000, 4, 14);
        unsigned interrupted = interrupt_a_crowd(list ? spilling(shape, 0, 2) : shape, 0);
        assert_true(interrupted > 1);
    }
}

/* What cf_add_many has added is found, the rest is not lost: the caller knows where to go on. */
static void an_interrupted_row_of_adds_says_how_far_it_came(void **state)
{
    enum { N = 400 };
    unsigned interrupted = 0;
    (void)state;
    for (int round = 0; round < 40; round++) {
        uint64_t hash[N], first = random64();
        size_t added, all = 0;
        cf_status status = CF_INTERRUPTED;
        test_filter made = growing_filter(spilling(growing_shape(8, 4, 14), 0, 40), UINT64_MAX);
        made.filter.watch = &watch;
        for (unsigned i = 0; i < N; i++)
            hash[i] = first ^ (random64() & 0xfffff) << made.filter.geometry.pair_bits;
        for (last_question = 1; status == CF_INTERRUPTED; last_question *= 2) {
            questions = 0;
            status = cf_add_many(&made.filter, hash + all, N - all, &added);
            interrupted += status == CF_INTERRUPTED && added < N - all;
            all += added;
        }
        assert_true(status == CF_FULL || all == N);
        for (size_t i = 0; i < all; i++)
            assert_true(cf_contains(&made.filter, hash[i]));
        assert_list(&made.filter);
        assert_sound(&made.filter);
        free_filter(&made);
    }
    assert_true(interrupted > 20);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_hostile_list_costs_no_more_than_it_is_long),
    cmocka_unit_test(a_list_follows_many_splits),
    cmocka_unit_test(an_interrupted_add_changes_nothing),
    cmocka_unit_test(a_first_step_that_is_interrupted_changes_nothing),
    cmocka_unit_test(an_interrupted_row_of_adds_says_how_far_it_came),
};

RUN_TESTS(tests)
