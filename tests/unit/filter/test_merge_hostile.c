/* SPDX-License-Identifier: MIT */
/*
** Filters that nobody made by adding keys: their headers have right checksums, and what they hold is as bad as can
** be. Whatever is done with them takes bounded work, and merges of filters that hold keys come nowhere near the
** bound. Work is counted, not timed: a watch is asked every few microseconds (cf_watch).
*/
#include "../../probe.h"
#include "../test.h"

enum { TOO_MANY = 100000 };

static bool one_in(unsigned n)
{
    return random_below(n) == 0;
}

static uint64_t most_of(uint64_t most)
{
    return random_below(most) + 1;
}

/* Counts questions, and says stop when there are far too many. */
static asked counting(void)
{
    return (asked){{answer, NULL}, 0, TOO_MANY};
}

static cf_status merge_watched(cf_filter *into, const cf_filter *from, const char **why)
{
    asked by = counting();
    by.watch.context = &by;
    into->watch = &by.watch;
    cf_status status = cf_merge(into, from, why);
    into->watch = NULL;
    assert_true(status != CF_INTERRUPTED);
    return status;
}

/* ---- a filter that was found ---- */

/* Merged with a copy of itself it took a minute, when adds grew in vain as far as they could: all of its entries
** match all others: f = 8, s = 4, b = 2. */
static const char found[] =
    "cf636b0201020804040d00000100000000000e000000000000000000000000000e0000000000ffffffffffff32000000"
    "000000000000000008000000c5433fab1fe0032801364000a003100138001e4002000136000020023001224017c00304"
    "010000100003380132c0194003740120c0190000600120c000000338010040156002d401360017400290012440150002"
    "9c012ec0140002980132401c00034c0134400000000000000000";

/* Its entries know nothing: each is 2^12 items in a table that has doubled so often (f = 28, s = 27, b = 8). */
static const char doubling[] =
    "cf636b0201081c1b101c00004900000000000600000000000500000000000000000000000000ffffffffffff30000000"
    "000000000000000164000000c4afe679366d96f9df985986477fd81c0db207e691665fdc7965eb9ec5b04fda366d96f9"
    "df985986477fd81c0db207e691665fdc7965eb9ec5b04fda366d96f9df985986477fd81c0db207e691665fdc7965eb9e"
    "c5b04fda366d96f9df985986477fd81c0db207e691665fdc7965eb9ec5b04fda366d96f9df985986477fd81c0db207e6"
    "91665fdc7965eb9ec5b04fda366d96f9df985986477fd81c0db207e691665fdc7965eb9ec5b04fda";

/* The bytes in `hex`, with zeros behind them. */
static test_filter filter_that_was_found(const char *hex, size_t length)
{
    const char *why = "";
    test_filter made = {.bytes = calloc(length, 1)};
    for (size_t i = 0; hex[2 * i] != 0; i++) {
        unsigned byte;
        assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
        made.bytes[i] = (uint8_t)byte;
    }
    assert_int_equal(cf_open_writable(&made.filter, made.bytes, length, &why), CF_OK);
    made.filter.memory = (cf_memory){test_resize, UINT64_C(1) << 30, NULL};
    return made;
}

/* Entries that know nothing double with the table: splitting makes no room, however often. */
static const struct {
    const char *hex;
    size_t length;
} vain[] = {{found, 170},
            {doubling, 332},
            {"cf636b020102080803080009230000000000020000000000ffffffffffffffff000000000000ffffffffffff"
             "0200000000000000000000010800000025433e16ffffffffffffffff0f",
             81},
            {"cf636b0201020b0b030b00004900000000000400000000000000000000000000000000000000ffffffffffff"
             "04000000000000000000000008000000c828da57000000000028",
             83}};

enum { VAIN = sizeof vain / sizeof vain[0], MOST_LENGTH = 1 << 16 };

TEST(merges_do_not_grow_in_vain)
{
    for (unsigned i = 0; i < VAIN; i++) {
        test_filter one = filter_that_was_found(vain[i].hex, vain[i].length);
        test_filter two = filter_that_was_found(vain[i].hex, vain[i].length);
        for (unsigned n = 0; n < 5; n++) {
            const char *why = NULL;
            snapshot then = remember(&one.filter);
            if (merge_watched(&one.filter, &two.filter, &why) != CF_OK)
                assert_unchanged(&one.filter, &then);
            assert_true(one.filter.length <= MOST_LENGTH);
            free(then.bytes);
        }
        free_filter(&one);
        free_filter(&two);
    }
}

TEST(adds_do_not_grow_in_vain)
{
    for (unsigned i = 0; i < VAIN; i++) {
        test_filter one = filter_that_was_found(vain[i].hex, vain[i].length);
        for (unsigned key = 0; key < 300; key++)
            cf_add_value(&one.filter, random64(), 0);
        assert_true(one.filter.length <= 2 * MOST_LENGTH); /* one seed in sixty exceeds the half */
        free_filter(&one);
    }
}

TEST(one_entry_that_is_many_items_is_interrupted)
{
    cf_geometry shape = shape_of(2, 4, 8);
    shape.growth = true;
    test_filter one = growing_filter(shape, 1 << 30), two = growing_filter(shape, 1 << 30);
    const char *why = NULL;
    asked by = {{answer, &by}, 0, 3};
    for (unsigned i = 0; i < 4000; i++)
        assert_true(probe_split(&one.filter));
    probe_write(&two.filter, 0, 0, 5, 0);
    two.filter.occupied = two.filter.items = 1;
    one.filter.watch = &by.watch;
    assert_int_equal(cf_merge(&one.filter, &two.filter, &why), CF_INTERRUPTED);
    free_filter(&one);
    free_filter(&two);
}

/* All lines of a list say the same: each line of the other list looks at all of them. */
TEST(far_more_work_than_keys_do_is_refused)
{
    cf_geometry shape = stashing(shape_of(40, 4, 12), 0, CF_STASH_MAX);
    test_filter one = growing_filter(shape, UINT64_MAX), two = growing_filter(shape, UINT64_MAX);
    const char *why = NULL;
    for (unsigned i = 0; i < CF_STASH_MAX; i++) {
        probe_stash(&one.filter, 0, 5);
        probe_stash(&two.filter, 0, 5);
    }
    snapshot then = remember(&one.filter);
    assert_int_equal(merge_watched(&one.filter, &two.filter, &why), CF_FULL);
    assert_non_null(strstr(why, "take far too long"));
    assert_unchanged(&one.filter, &then);
    free(then.bytes);
    free_filter(&one);
    free_filter(&two);
}

/* ---- invented filters ---- */

/* Few remainder bits, or none, are the worst: entries double when buckets are split. */
static cf_geometry invent_shape(void)
{
    cf_geometry g = {.buckets = 2 * most_of(one_in(4) ? 500 : 20),
                     .bucket_size = (uint8_t)(1u << random_below(4)),
                     .fingerprint_bits = (uint8_t)(4 + random_below(29)),
                     .growth = !one_in(8)};
    unsigned remainder = (unsigned)random_below(one_in(2) ? 2 : g.fingerprint_bits - 3u);
    g.pair_bits = (uint8_t)(remainder > g.fingerprint_bits - 4u ? 4 : g.fingerprint_bits - remainder);
    g.max_copies = (uint8_t)most_of(2u * g.bucket_size);
    g.semisorted = g.bucket_size == 4 && g.fingerprint_bits > 4 && one_in(2);
    unsigned payload = (unsigned)random_below(4);
    g.counter_bits = (uint8_t)(payload == 1 ? most_of(CF_COUNTER_MAX) : 0);
    g.value_bits = (uint8_t)(payload == 2 ? most_of(CF_VALUE_MAX) : 0);
    if (payload == 3 && one_in(2)) {
        g.epochs = (uint8_t)most_of(CF_EPOCHS_MAX);
        g.max_copies = 1;
    } else if (one_in(3)) {
        g = stashing(g, (unsigned)random_below(30), (unsigned)most_of(one_in(2) ? 8 : CF_STASH_MAX));
    }
    return g;
}

/* Any tags; such as know nothing; or a few that differ in little. */
static uint64_t invent_tag(const cf_filter *filter, unsigned kind, uint64_t few)
{
    unsigned s = filter->geometry.pair_bits;
    uint64_t low = ((uint64_t)1 << s) - 1;
    return kind == 0   ? random64()
           : kind == 1 ? (uint64_t)1 << s | (random64() & low)
                       : few ^ random_below(4);
}

static test_filter invent(cf_geometry shape, uint64_t steps)
{
    test_filter made = growing_filter(shape, UINT64_C(1) << 30);
    cf_filter *filter = &made.filter;
    unsigned kind = (unsigned)random_below(3), full = one_in(3) ? 100 : (unsigned)random_below(101);
    uint64_t few = random64(), slots;
    while (steps-- > 0 && filter->length < 20000 && probe_split(filter))
        continue;
    for (uint64_t bucket = 0; bucket < filter->buckets; bucket++)
        for (unsigned slot = 0; slot < shape.bucket_size; slot++)
            if (random_below(100) < full) {
                probe_write(filter, bucket, slot, invent_tag(filter, kind, few), random64());
                filter->occupied++;
            }
    uint8_t *list = bytes_of(filter) + filter->length - 16 * shape.stash_size;
    filter->stashed = (unsigned)random_below(shape.stash_size + 1u);
    for (unsigned i = 0; i < filter->stashed; i++)
        for (unsigned k = 0; k < 16; k++)
            list[16 * i + k] =
                (uint8_t)(k < 8 ? (k == 0 ? random_below(filter->buckets) : 0) : random64());
    slots = filter->buckets * shape.bucket_size;
    if (one_in(4))
        filter->occupied = random_below(slots + 1);
    filter->items = one_in(2) ? filter->occupied : random_below(slots + 1);
    filter->items = filter->occupied + filter->stashed == 0 ? 0 : filter->items;
    for (uint64_t n = shape.epochs ? random_below(40) : 0; n > 0; n--)
        probe_begin_epoch(filter);
    cf_seal(filter);
    return made;
}

static test_filter copy_of(const cf_filter *filter)
{
    const char *why = "";
    snapshot then = remember(filter);
    test_filter made = {.bytes = then.bytes};
    if (cf_open_writable(&made.filter, then.bytes, filter->length, &why) != CF_OK)
        fail_msg("cf_open_writable: %s", why);
    made.filter.memory = filter->memory;
    return made;
}

/* Each call that takes long: merges both ways, and with itself; what is left when the filter is asked to shrink,
** to take keys, to be looked at. */
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

TEST(invented_filters_take_bounded_work)
{
    enum { ROUNDS = 15, CALLS = 8 };
    for (unsigned round = 0; round < ROUNDS; round++) {
        cf_geometry shape = invent_shape();
        test_filter one = invent(shape, random_below(200)), two = invent(shape, random_below(200));
        for (unsigned what = 0; what < CALLS; what++) {
            asked by = counting();
            by.watch.context = &by;
            test_filter a = copy_of(what == 2 ? &two.filter : &one.filter);
            test_filter b = what == 3 ? growing_filter(shape, UINT64_C(1) << 30)
                                      : copy_of(what == 1 ? &two.filter : &one.filter);
            a.filter.watch = b.filter.watch = &by.watch;
            cf_status status = call(what, &a.filter, &b.filter);
            if (status == CF_INTERRUPTED)
                fail_msg("round %u, call %u: too much work", round, what);
            free_filter(&a);
            free_filter(&b);
        }
        free_filter(&one);
        free_filter(&two);
    }
}

/* ---- what keys do ---- */

/* Any shape that the planner makes, with keys that repeat, or have many values: no merge is refused for its
** work. */
static cf_geometry plan_some(void)
{
    static const double rates[] = {0.1, 0.03, 0.01, 0.001, 0.00001};
    static const unsigned sizes[] = {0, 2, 4, 8};
    unsigned payload = (unsigned)random_below(6);
    cf_options options = {.growth = !one_in(4),
                          .bucket_size = sizes[random_below(4)],
                          .counter_bits = payload == 0 ? (unsigned)most_of(4) : 0,
                          .value_bits = payload == 1 ? (unsigned)most_of(CF_VALUE_MAX) : 0,
                          .epochs = payload == 2 ? (unsigned)most_of(CF_EPOCHS_MAX) : 0};
    options.stash = payload != 2 && !options.growth && !one_in(4);
    uint64_t capacity = most_of((uint64_t)4 << random_below(11));
    const char *why = "";
    cf_geometry shape;
    while (cf_plan(capacity, rates[random_below(5)], &options, &shape, &why) != CF_OK)
        options.growth = false;
    return shape;
}

/* One key in `repeats` is one of four. */
static uint64_t key_of(uint64_t n, unsigned repeats)
{
    n = repeats && one_in(repeats) ? random_below(4) : random_below(n);
    n = (n + 1) * UINT64_C(0x9e3779b97f4a7c15);
    return n ^ n >> 29;
}

static test_filter live(cf_geometry shape, uint64_t n, unsigned repeats, uint64_t adds)
{
    test_filter made = growing_filter(shape, 1 << 26);
    for (uint64_t i = 0; i < adds; i++) {
        if (shape.epochs && i % (adds / 20 + 1) == 0)
            cf_advance(&made.filter);
        uint64_t value = random64() & (((uint64_t)1 << shape.value_bits) - 1);
        if (cf_add_value(&made.filter, key_of(n, repeats), value) != CF_OK)
            break;
    }
    for (uint64_t i = shape.value_bits || !one_in(3) ? adds : 0; i < adds; i++)
        cf_delete(&made.filter, key_of(n, repeats));
    return made;
}

TEST(merges_of_keys_are_not_refused_for_their_work)
{
    for (unsigned i = 0; i < 100; i++) {
        const char *why = NULL;
        cf_geometry shape = plan_some();
        uint64_t c = shape.capacity + 1, far = shape.growth ? (uint64_t)1 << random_below(6) : 1;
        uint64_t n = most_of(one_in(2) ? c : 8 * c);
        unsigned repeats = one_in(3) ? (unsigned)most_of(4) : 0;
        test_filter one = live(shape, n, repeats, random_below(c * far));
        test_filter two = live(shape, n, repeats, random_below(one_in(2) ? c : c * far));
        cf_status status = merge_watched(&one.filter, &two.filter, &why);
        if (status == CF_FULL && why && strstr(why, "take far too long"))
            fail_msg("number %u: %s", i, why);
        free_filter(&one);
        free_filter(&two);
    }
}
