/* SPDX-License-Identifier: MIT */
/*
** Invented filters: their headers have right checksums, and what they say is as bad as can be. Merging
** them, and all else, takes bounded work, and merges of filters that hold keys come nowhere near the
** bound. Work is counted, not timed: calls of cf_pages here, units (watch.h) there.
**
** CUCKOO_MERGES=n invents n filters of up to 300 KB, without counting, and prints which calls took
** longest, by the clock of the processor. CUCKOO_MERGE=i: number i alone. CUCKOO_LIVES=n: n pairs of
** filters that hold keys.
*/
#include "../test.h"

#include <time.h>

#include "../../../src/cuckoo_inspect.h"
#include "../../../src/entry/spill.h"
#include "../../../src/table/bucket.h"

/* Of this program, whatever else the machine does. */
static double now_ms(void)
{
    return (double)clock() * 1e3 / CLOCKS_PER_SEC;
}

/* ---- inventing ---- */

static bool one_in(unsigned n)
{
    return random_below(n) == 0;
}

static uint64_t most_of(uint64_t most)
{
    return random_below(most) + 1;
}

/* Few remainder bits, or none, are the worst: entries double when buckets are split. */
static cf_geometry invent_shape(void)
{
    cf_geometry g = {.bucket_size = (uint8_t)(1u << random_below(4)), .growth = !one_in(8)};
    g.fingerprint_bits = (uint8_t)(4 + random_below(29));
    unsigned remainder = (unsigned)random_below(one_in(2) ? 2 : g.fingerprint_bits - 3u);
    g.pair_bits = (uint8_t)(remainder > g.fingerprint_bits - 4u ? 4 : g.fingerprint_bits - remainder);
    g.cap = (uint8_t)most_of(2u * g.bucket_size);
    g.semisorted = g.bucket_size == 4 && g.fingerprint_bits > 4 && one_in(2);
    unsigned payload = (unsigned)random_below(4);
    g.counter_bits = (uint8_t)(payload == 1 ? most_of(CF_COUNTER_MAX) : 0);
    g.value_bits = (uint8_t)(payload == 2 ? most_of(CF_VALUE_MAX) : 0);
    if (payload == 3 && one_in(2)) {
        g.epochs = (uint8_t)most_of(CF_EPOCHS_MAX);
        g.cap = 1;
    } else if (one_in(3)) {
        g.spill_bound = (uint16_t)most_of(one_in(2) ? 8 : CF_SPILL_MAX);
        g.budget = (uint8_t)random_below(30);
    }
    return g;
}

/* As many buckets as about so many bytes have room for, at a stage. */
static void invent_stage(cf_header *header, uint64_t bytes)
{
    cf_geometry *g = &header->geometry;
    header->level = g->growth && !one_in(3) ? (unsigned)random_below(one_in(4) ? 20 : 6) : 0;
    uint64_t buckets = bytes * 8 / cf_record_bits(g, header->level + 1, true);
    if (g->buckets == 0)
        g->buckets = ((buckets >> header->level) & ~(uint64_t)1) + 2;
    while (header->level > 0 && g->buckets << header->level > 2 * buckets + 2)
        header->level--;
    header->split = g->growth && !one_in(3) ? random_below((g->buckets << header->level) + 1) : 0;
}

static uint64_t invent_tag(const cf_filter *filter, uint64_t bucket, unsigned kind, uint64_t few)
{
    unsigned s = filter->geometry.pair_bits, f = filter->geometry.fingerprint_bits;
    uint64_t tag = kind == 2 ? few ^ random_below(4) : random64(), mask = cf_low_bits(f);
    if (kind == 1) /* void where there are terminators */
        return (cf_form_of(filter, bucket)->grown ? (uint64_t)1 << s : 0) | (tag & cf_low_bits(s));
    if (cf_form_of(filter, bucket)->grown)
        mask = slot_mask_of(filter, bucket);
    return tag & mask;
}

static void invent_list(cf_filter *filter, unsigned kind, uint64_t few)
{
    unsigned n = (unsigned)random_below(filter->geometry.spill_bound + 1u);
    bool one_bucket = one_in(2);
    for (unsigned i = 0; i < n; i++) {
        uint64_t bucket = (one_bucket ? few : random64()) % filter->buckets;
        cf_spilled line = {bucket, invent_tag(filter, bucket, kind, few), random64()};
        line.tag = line.tag ? line.tag : 1;
        line.payload &= cf_low_bits(cf_form_of(filter, bucket)->payload_bits);
        cf_spill_put(filter, i, &line);
    }
    filter->spilled = n;
    if (one_in(2))
        cf_spill_sort(filter);
}

static void invent_content(cf_filter *filter)
{
    unsigned kind = (unsigned)random_below(4), full = (unsigned)random_below(101);
    uint64_t few = random64();
    full = one_in(3) ? 100 : full;
    for (uint64_t bucket = 0; bucket < filter->buckets; bucket++) {
        cf_record record = {{0}, {0}};
        for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++) {
            bool any = random_below(100) < full;
            record.tag[slot] = any ? invent_tag(filter, bucket, kind, few) : 0;
            record.payload[slot] =
                any ? random64() & cf_low_bits(cf_form_of(filter, bucket)->payload_bits) : 0;
            if (record.tag[slot] == 0)
                record.payload[slot] = 0;
            filter->occupied += record.tag[slot] != 0;
        }
        cf_record_write(filter, bucket, &record);
        if (filter->geometry.spill_bound && one_in(2))
            cf_overflow_set(filter, bucket, true);
    }
    if (filter->geometry.spill_bound > 0)
        invent_list(filter, kind, few);
}

/* A filter of this shape; with no buckets yet: of about so many bytes. */
static test_filter invent(cf_geometry *shape, uint64_t bytes)
{
    cf_header header = {.geometry = *shape};
    const char *why;
    do
        invent_stage(&header, bytes);
    while (cf_stage_check(&header.geometry, header.level, header.split, &why) != CF_OK);
    *shape = header.geometry;
    test_filter made = filter_at_stage(*shape, header.level, header.split);
    cf_filter *filter = &made.filter;
    if (shape->epochs)
        filter->epoch = random_below(40);
    invent_content(filter);
    uint64_t slots = filter->buckets * shape->bucket_size;
    if (one_in(4))
        filter->occupied = random_below(slots + 1);
    filter->items = one_in(2) ? filter->occupied : one_in(2) ? CF_ITEMS_MAX : random_below(slots + 1);
    if (filter->occupied == 0 && filter->spilled == 0)
        filter->items = 0;
    cf_seal(filter);
    return made;
}

/* ---- what is done with them ---- */

static const char *const names[] = {"with itself", "with another", "another with it", "shrink",
                                    "20 adds",     "check",        "census",          "settle"};
enum { CALLS = sizeof names / sizeof names[0], TOO_LONG = 10000 /* milliseconds */ };

/* Calls of cf_pages, which come with each bucket that is looked at; or time, when that is asked for. */
static uint64_t touched, allowed;
static double begun;
static bool timed;

static void touch(void *context, uint64_t from, uint64_t to)
{
    (void)context, (void)from, (void)to;
    touched++;
}

static bool too_much(void *context)
{
    (void)context;
    return timed ? now_ms() - begun > TOO_LONG : touched > allowed;
}

static const cf_pages all_here = {touch, touch, NULL, NULL};
static const cf_watch patience = {too_much, NULL};

typedef struct slowest {
    double ms;
    unsigned number, slow[3]; /* that took more than 10, 100, 1000 milliseconds */
    uint64_t bytes;
    char text[200];
} slowest;

static slowest worst[CALLS];

static cf_status call(unsigned what, cf_filter *one, cf_filter *other)
{
    const char *why = NULL;
    cf_status status = CF_OK;
    switch (what) {
    case 3:
        return cf_shrink(other, one);
    case 4:
        for (unsigned i = 0; i < 20; i++)
            status = cf_add_value(one, random64(), 0);
        return status;
    case 5:
        return cf_check(one, &why);
    case 6:
        return cf_take_census(one).status;
    case 7:
        return cf_settle(one);
    default:
        return cf_merge(one, other, &why);
    }
}

static void watch_it(cf_filter *filter)
{
    filter->memory = (cf_memory){test_resize, 1000000000, NULL};
    filter->watch = &patience;
    if (!timed)
        cf_attach_pages(filter, &all_here);
}

static test_filter copy_of(const cf_filter *filter)
{
    const char *why = "";
    test_filter made = {.bytes = malloc(filter->length)};
    memcpy(made.bytes, filter->bytes, filter->length);
    if (cf_open_writable(&made.filter, made.bytes, filter->length, &why) != CF_OK)
        fail_msg("cf_open_writable: %s", why);
    watch_it(&made.filter);
    return made;
}

static void note_time(unsigned number, unsigned what, double ms, const cf_filter *one,
                      const cf_filter *two, cf_status status)
{
    const cf_geometry *g = &one->geometry;
    slowest *most = &worst[what];
    for (unsigned i = 0, limit = 10; i < 3; i++, limit *= 10)
        most->slow[i] += ms > limit;
    if (ms <= most->ms)
        return;
    most->ms = ms;
    most->number = number;
    most->bytes = one->length + two->length;
    snprintf(
        most->text, sizeof most->text,
        "b %u f %u s %u cap %u counter %u value %u epochs %u list %u/%u m0 %llu level %u split %llu "
        "and %u %llu: %s",
        g->bucket_size, g->fingerprint_bits, g->pair_bits, g->cap, g->counter_bits, g->value_bits,
        g->epochs, one->spilled, g->spill_bound, (unsigned long long)g->buckets, one->level,
        (unsigned long long)one->split, two->level, (unsigned long long)two->split,
        cf_status_text(status));
}

static void run_call(unsigned number, unsigned what, const cf_filter *one, const cf_filter *two)
{
    enum { TIMES = 1 << 10, AT_LEAST = 1 << 28 }; /* 32 calls for a unit of work */
    test_filter a = copy_of(what == 2 ? two : one),
                b = what == 3 ? new_filter(one->geometry) : copy_of(what == 1 ? two : one);
    watch_it(&b.filter);
    touched = 0;
    allowed = TIMES * (a.filter.length + b.filter.length) + AT_LEAST;
    begun = now_ms();
    cf_status status = call(what, &a.filter, &b.filter);
    if (timed)
        note_time(number, what, now_ms() - begun, one, two, status);
    else if (touched > allowed || status == CF_INTERRUPTED)
        fail_msg("number %u, %s: %llu calls", number, names[what], (unsigned long long)touched);
    free_filter(&a);
    free_filter(&b);
}

/* Of up to 20 * 2^sizes bytes. */
static void invent_and_merge(unsigned number, uint64_t seed, unsigned sizes, unsigned calls)
{
    uint64_t was = random_state;
    random_state = seed + number * UINT64_C(0x100000001);
    cf_geometry shape = invent_shape();
    uint64_t bytes = (uint64_t)20 << random_below(sizes);
    test_filter one = invent(&shape, bytes + random_below(bytes)), two = invent(&shape, bytes);
    for (unsigned what = 0; what < calls; what++)
        run_call(number, what, &one.filter, &two.filter);
    random_state = was;
    free_filter(&one);
    free_filter(&two);
}

static void invented_filters_take_bounded_work(void **state)
{
    enum { LARGE = 14, SMALL = 8 };
    const char *many = getenv("CUCKOO_MERGES"), *only = getenv("CUCKOO_MERGE");
    unsigned n = many ? (unsigned)strtoul(many, NULL, 0) : 120;
    uint64_t seed = random_state;
    (void)state;
    timed = many != NULL;
    for (unsigned i = only ? (unsigned)strtoul(only, NULL, 0) : 0; i < n; i = only ? n : i + 1)
        invent_and_merge(i, seed, timed ? LARGE : SMALL, CALLS);
    for (unsigned what = 0; what < CALLS && timed; what++)
        fprintf(stderr,
                "%-15s slowest %8.1f ms, %7llu bytes; above 10, 100, 1000 ms: %u, %u, %u; %u: %s\n",
                names[what], worst[what].ms, (unsigned long long)worst[what].bytes, worst[what].slow[0],
                worst[what].slow[1], worst[what].slow[2], worst[what].number, worst[what].text);
}

/* Merges that took from ten seconds to a minute. */
static void what_took_a_minute_does_not(void **state)
{
    static const struct {
        unsigned number, seed, sizes;
    } known[] = {{1404, 2, 14},       /* 528 bytes: b = 8, values of 14 bits, s = 9 */
                 {945, 1, 14},        /* 326 bytes: f = 8, s = 4, b = 2 */
                 {274, 20140214, 14}, /* 262,002 bytes: f = 31, b = 1 */
                 {1432, 1, 14}};      /* 129,556 bytes: f = s = 4, b = 8 */
    (void)state;
    timed = false;
    for (unsigned i = 0; i < sizeof known / sizeof known[0]; i++)
        invent_and_merge(known[i].number, known[i].seed, known[i].sizes, 3);
}

/* ---- what keys do ---- */

/* Any shape that the planner makes, with keys that repeat, or have many values. */
static cf_geometry plan_some(void)
{
    static const double rates[] = {0.1, 0.03, 0.01, 0.001, 0.00001};
    cf_options options = {.growth = !one_in(4),
                          .bucket_size = (unsigned[]){0, 2, 4, 8}[random_below(4)]};
    unsigned payload = (unsigned)random_below(6);
    options.counter_bits = payload == 0 ? (unsigned)most_of(4) : 0;
    options.value_bits = payload == 1 ? (unsigned)most_of(CF_VALUE_MAX) : 0;
    options.epochs = payload == 2 ? (unsigned)most_of(CF_EPOCHS_MAX) : 0;
    options.overflow = payload != 2 && one_in(4);
    if (one_in(5) && options.bucket_size > 2) {
        options.fingerprint_bits = 8;
        options.growth = true;
    }
    cf_geometry shape;
    const char *why = "";
    uint64_t capacity = most_of((uint64_t)4 << random_below(13));
    while (cf_plan(capacity, options.fingerprint_bits ? 0 : rates[random_below(5)], &options, &shape,
                   &why) != CF_OK)
        options.growth = false;
    return shape;
}

/* Keys of which there are so many; one in `repeats` is one of four. */
typedef struct crowd {
    uint64_t keys;
    unsigned repeats; /* 0: none */
} crowd;

static uint64_t key_of(const crowd *of)
{
    uint64_t n = of->repeats && one_in(of->repeats) ? random_below(4) : random_below(of->keys);
    n = (n + 1) * UINT64_C(0x9e3779b97f4a7c15);
    return n ^ n >> 29;
}

static test_filter live(cf_geometry shape, const crowd *of, uint64_t adds)
{
    test_filter made = growing_filter(shape, 1 << 26);
    for (uint64_t i = 0; i < adds; i++) {
        if (shape.epochs && i % (adds / 20 + 1) == 0)
            cf_advance(&made.filter);
        if (cf_add_value(&made.filter, key_of(of), random64() & cf_low_bits(shape.value_bits)) != CF_OK)
            break;
    }
    for (uint64_t i = shape.value_bits || !one_in(3) ? adds : 0; i < adds; i++)
        cf_delete(&made.filter, key_of(of));
    return made;
}

/* The share of the work that is allowed (merge.c) that a merge takes. */
static double share_of(cf_filter *into, const cf_filter *from, unsigned *refused)
{
    enum { TIMES = 24, AT_LEAST = 1 << 23 };
    const char *why;
    uint64_t most = TIMES * (into->length + from->length) + AT_LEAST;
    uint64_t left[] = {UINT64_MAX, UINT64_MAX - most / 8};
    into->view.left = left;
    *refused += cf_merge(into, from, &why) != CF_OK;
    into->view.left = NULL;
    return (double)(UINT64_MAX - left[0]) / (double)most;
}

static void merges_of_keys_take_far_less(void **state)
{
    const char *many = getenv("CUCKOO_LIVES");
    unsigned n = many ? (unsigned)strtoul(many, NULL, 0) : 150, refused = 0;
    double most = 0;
    (void)state;
    for (unsigned i = 0; i < n; i++) {
        cf_geometry shape = plan_some();
        uint64_t c = shape.capacity + 1, far = shape.growth ? (uint64_t)1 << random_below(8) : 1;
        crowd of = {most_of(one_in(2) ? c : 8 * c), one_in(3) ? (unsigned)most_of(4) : 0};
        test_filter one = live(shape, &of, random_below(c * far)),
                    two = live(shape, &of, random_below(one_in(2) ? c : c * far));
        for (unsigned turn = 0; turn < 2; turn++) {
            double share = turn ? share_of(&two.filter, &one.filter, &refused)
                                : share_of(&one.filter, &two.filter, &refused);
            most = share > most ? share : most;
        }
        free_filter(&one);
        free_filter(&two);
    }
    fprintf(stderr, "%u merges, %u refused; at most %.3f of the work that is allowed\n", 2 * n, refused,
            most);
    assert_true(most < 0.3);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(invented_filters_take_bounded_work),
    cmocka_unit_test(what_took_a_minute_does_not),
    cmocka_unit_test(merges_of_keys_take_far_less),
};

RUN_TESTS(tests)
