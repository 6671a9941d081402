/* SPDX-License-Identifier: MIT */
/* The whole way of a key through filters of every width: added, asked for in all ways, grown, deleted; beside
** the model, in memory, from bytes opened anew, and by pages. */
#include "../../model/checked.h"
#include "../../paged.h"

enum { KEYS = 40, STRANGERS = 30 };

static uint64_t hash_of[KEYS];

static uint64_t value_of(const cf_filter *filter, unsigned i)
{
    return hash_of[i % 7] & model_ones(filter->geometry.value_bits);
}

static bool is_among(const uint64_t *value, unsigned n, uint64_t wanted)
{
    while (n > 0 && value[n - 1] != wanted)
        n--;
    return n > 0;
}

/* All ways to ask say what a look at each slot finds. */
static void assert_asks(const cf_filter *filter, uint64_t hash, bool among_many)
{
    const cf_geometry *shape = &filter->geometry;
    model_look seen = model_look_for(filter, hash, 0);
    uint64_t values[CF_VALUES_MAX], value = 0, copies = seen.copies;
    if (!shape->counter_bits && !shape->value_bits)
        copies = model_least(copies, shape->cap);
    assert_int_equal(cf_contains(filter, hash), seen.entries > 0);
    assert_int_equal(among_many, seen.entries > 0);
    assert_int_equal(cf_count(filter, hash), copies);
    if (shape->epochs)
        return;
    unsigned n = cf_get_all(filter, hash, values);
    assert_int_equal(cf_get(filter, hash, &value), seen.entries > 0);
    for (unsigned i = 0; i < n; i++)
        assert_true(is_among(seen.value, seen.entries, values[i]) && !is_among(values, i, values[i]));
    for (unsigned i = 0; i < seen.entries; i++)
        assert_true(is_among(values, n, seen.value[i]));
    assert_true(n == 0 || value == values[0]);
}

/* Keys, and strangers of the same and of other buckets. */
static void assert_view(const cf_filter *filter)
{
    uint64_t hashes[KEYS + STRANGERS];
    bool answers[KEYS + STRANGERS];
    for (unsigned i = 0; i < KEYS + STRANGERS; i++)
        hashes[i] = i < KEYS ? hash_of[i] : i % 2 ? random64() : hash_of[i % KEYS] ^ random_below(256);
    cf_contains_many(filter, hashes, KEYS + STRANGERS, answers);
    for (unsigned i = 0; i < KEYS + STRANGERS; i++)
        assert_asks(filter, hashes[i], answers[i]);
}

static void assert_views(cf_filter *filter)
{
    cf_filter opened;
    paged pages;
    const char *why = "";
    check_all_checked(filter);
    assert_view(filter);
    cf_seal(filter);
    snapshot then = remember(filter);
    assert_int_equal(cf_open(&opened, then.bytes, then.filter.length, &why), CF_OK);
    assert_view(&opened);
    paged_open(&pages, then.bytes, then.filter.length, 16);
    assert_view(&pages.filter);
    assert_true(pages.outside == 0 && paged_untold(&pages) == 0);
    paged_close(&pages);
    free(then.bytes);
}

static void delete_some(cf_filter *filter, unsigned step)
{
    for (unsigned i = 0; i < KEYS && !filter->geometry.epochs; i += step)
        if (model_may_delete(&checked_of(filter)->m,
                             item_checked(filter, hash_of[i], value_of(filter, i))))
            cf_delete_value_checked(filter, hash_of[i], value_of(filter, i));
}

static void live(cf_geometry shape)
{
    test_filter made = growing_filter(shape, UINT64_MAX);
    cf_filter *filter = begin_checked(&made.filter);
    for (unsigned i = 0; i < KEYS; i++) {
        hash_of[i] = i % 8 == 7 ? hash_of[i - 3]
                     : i < 4    ? random64() >> (20 + i) << (20 + i)
                                : random64();
        cf_add_value_checked(filter, hash_of[i], value_of(filter, i));
    }
    assert_views(filter);
    delete_some(filter, 3);
    for (unsigned i = 0; i < 40 && shape.growth && probe_split(filter); i++) {
        model_note_stage(&checked_of(filter)->m);
        filter->items = shape.epochs ? filter->occupied : filter->items; /* splits drop the dead */
        if (i % 13 == 0)
            assert_views(filter);
    }
    for (unsigned i = 0; i < KEYS; i += 5)
        cf_add_value_checked(filter, hash_of[i], value_of(filter, i));
    assert_views(filter);
    delete_some(filter, 1);
    end_checked(filter);
    free_filter(&made);
}

/* Nothing, a counter, a value, an epoch, an overflow bit. */
static cf_geometry with_payload(cf_geometry shape, unsigned kind)
{
    if (kind == 1)
        shape.counter_bits = (uint8_t)(1 + random_below(random_below(2) ? 4 : CF_COUNTER_MAX));
    if (kind == 2)
        shape.value_bits = (uint8_t)(1 + random_below(random_below(2) ? 8 : CF_VALUE_MAX));
    if (kind == 3)
        shape.epochs = (uint8_t)(1 + random_below(CF_EPOCHS_MAX)), shape.cap = 1;
    return kind == 4 ? spilling(shape, (unsigned)random_below(4), 20) : shape;
}

TEST(keys_go_their_way_at_every_width)
{
    unsigned n = 0;
    for (unsigned b = 1; b <= 8; b *= 2)
        for (unsigned f = CF_FINGERPRINT_MIN; f <= CF_FINGERPRINT_MAX; f++)
            for (unsigned i = 0; i < 10; i++) {
                cf_geometry shape = shape_of(2 + (KEYS / b & ~1u), b, f);
                shape.growth = i % 2;
                shape.pair_bits = (uint8_t)(i % 4 < 2 ? f : 4 + random_below(f - 3));
                shape.semisorted = b == 4 && f > 4 && random_below(2);
                shape = with_payload(shape, i / 2);
                if (is_asked_for(n++))
                    live(shape);
            }
}
