/* SPDX-License-Identifier: MIT */
#include "../test.h"

#include "../../../src/table/address.h"

/* ---- small steps ---- */

static void empty_filter_holds_nothing(void **state)
{
    test_filter made = new_filter(shape_of(10, 4, 12));
    (void)state;
    for (int i = 0; i < 1000; i++)
        assert_false(cf_contains(&made.filter, random64()));
    assert_int_equal(made.filter.items, 0);
    free_filter(&made);
}

/* Copies are exact below cap, sticky at cap. */
static void copies_count_up_to_cap(void **state)
{
    (void)state;
    for (unsigned b = 1; b <= 8; b *= 2) {
        test_filter made = new_filter(shape_of(50, b, 16));
        uint64_t hash = random64();
        unsigned cap = made.filter.geometry.cap;
        for (unsigned copies = 1; copies <= 3 * cap; copies++) {
            assert_int_equal(cf_add(&made.filter, hash), CF_OK);
            assert_int_equal(cf_count(&made.filter, hash), copies < cap ? copies : cap);
            assert_int_equal(made.filter.items, copies);
        }
        assert_int_equal(made.filter.occupied, cap);
        assert_int_equal(cf_take_census(&made.filter).sticky, 1);
        for (int i = 0; i < 100; i++)
            assert_int_equal(cf_delete(&made.filter, hash), CF_STICKY);
        assert_true(cf_contains(&made.filter, hash));
        assert_sound(&made.filter);
        free_filter(&made);
    }
}

static void deletes_take_one_copy_each(void **state)
{
    test_filter made = new_filter(shape_of(50, 8, 16));
    uint64_t hash = random64();
    (void)state;
    for (unsigned copies = 1; copies < 4; copies++) {
        for (unsigned i = 0; i < copies; i++)
            cf_add(&made.filter, hash);
        for (unsigned left = copies; left-- > 0;) {
            assert_int_equal(cf_delete(&made.filter, hash), CF_REMOVED);
            assert_int_equal(cf_count(&made.filter, hash), left);
        }
        assert_int_equal(cf_delete(&made.filter, hash), CF_ABSENT);
        assert_int_equal(made.filter.items, 0);
        assert_int_equal(made.filter.occupied, 0);
    }
    free_filter(&made);
}

/* Each value of a key once, also when it has several copies; those of a key that shares the
** fingerprint are its values, too. */
static void all_values_of_a_key(void **state)
{
    cf_geometry shape = shape_of(50, 8, 16);
    uint64_t values[CF_VALUES_MAX], hash = random64(), value;
    (void)state;
    shape.value_bits = 8;
    test_filter made = new_filter(shape);
    assert_int_equal(cf_get_all(&made.filter, hash, values), 0);
    for (unsigned i = 1; i <= 3; i++)
        for (unsigned copies = 0; copies < 2; copies++)
            assert_int_equal(cf_add_value(&made.filter, hash, 10 * i), CF_OK);
    assert_int_equal(cf_get_all(&made.filter, hash, values), 3);
    assert_int_equal(values[0] + values[1] + values[2], 60);
    assert_true(cf_get(&made.filter, hash, &value));
    assert_int_equal(value, values[0]);
    assert_int_equal(cf_delete_value(&made.filter, hash, 20), CF_REMOVED);
    assert_int_equal(cf_get_all(&made.filter, hash, values), 3);
    assert_int_equal(cf_delete_value(&made.filter, hash, 20), CF_REMOVED);
    assert_int_equal(cf_get_all(&made.filter, hash, values), 2);
    free_filter(&made);
}

/* The smallest table is one pair of buckets. */
static void small_tables_count_each_copy_once(void **state)
{
    (void)state;
    for (uint64_t buckets = 2; buckets <= 8; buckets += 2) {
        test_filter made = new_filter(shape_of(buckets, 4, 16));
        for (int round = 0; round < 200; round++) {
            uint64_t hash = random64();
            cf_clear(&made.filter);
            cf_add(&made.filter, hash);
            cf_add(&made.filter, hash);
            assert_int_equal(cf_count(&made.filter, hash), 2);
            assert_int_equal(made.filter.occupied, 2);
        }
        free_filter(&made);
    }
}

static void failed_add_changes_nothing(void **state)
{
    (void)state;
    for (unsigned b = 1; b <= 8; b *= 2) {
        test_filter made = new_filter(shape_of(20, b, 12));
        uint8_t *before = malloc(made.filter.length);
        unsigned failures = 0;
        for (int i = 0; i < 2000; i++) {
            uint64_t hash = random64(), items = made.filter.items, used = made.filter.occupied;
            memcpy(before, made.bytes, made.filter.length);
            if (cf_add(&made.filter, hash) != CF_FULL)
                continue;
            failures++;
            assert_memory_equal(before, made.bytes, made.filter.length);
            assert_true(items == made.filter.items && used == made.filter.occupied);
        }
        assert_true(failures > 100);
        assert_sound(&made.filter);
        free(before);
        free_filter(&made);
    }
}

static void bytes_follow_from_the_calls(void **state)
{
    test_filter one = new_filter(shape_of(102, 4, 12)), two = new_filter(shape_of(102, 4, 12));
    (void)state;
    for (int i = 0; i < 500; i++) {
        uint64_t hash = random_below(300) * UINT64_C(0x9e3779b97f4a7c15);
        bool add = random_below(3) > 0;
        for (int k = 0; k < 2; k++) {
            cf_filter *filter = k ? &two.filter : &one.filter;
            if (add)
                cf_add(filter, hash);
            else if (cf_count(filter, hash) > 0)
                cf_delete(filter, hash);
        }
    }
    cf_seal(&one.filter);
    cf_seal(&two.filter);
    assert_memory_equal(one.bytes, two.bytes, one.filter.length);
    cf_clear(&one.filter);
    test_filter fresh = new_filter(shape_of(102, 4, 12));
    assert_memory_equal(one.bytes, fresh.bytes, fresh.filter.length);
    free_filter(&one);
    free_filter(&two);
    free_filter(&fresh);
}

/* A header that says "all slots occupied" of an empty table opens; what is made of it opens,
** too. */
static void lying_count_stays_in_range(void **state)
{
    test_filter made = new_filter(shape_of(10, 4, 12));
    cf_filter opened;
    const char *why = "";
    (void)state;
    made.filter.occupied = 40;
    assert_int_equal(cf_add(&made.filter, 5), CF_OK);
    cf_seal(&made.filter);
    assert_int_equal(cf_open(&opened, made.bytes, made.filter.length, &why), CF_OK);
    free_filter(&made);
}

/* ---- looking inside ---- */

/* Every entry is where the places of its key are, and matches it; no other entry there does. */
static void check_entries(const cf_filter *filter, uint64_t hash)
{
    cf_pair pair = cf_candidates(filter, hash);
    uint64_t matches = 0;
    for (unsigned i = 0; i < pair.sides; i++)
        for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++) {
            cf_entry entry;
            if (!cf_entry_at(filter, pair.place[i].bucket, slot, &entry))
                continue;
            assert_true(entry.side.base == pair.side[i].base);
            if (cf_entry_matches(filter, &entry, &pair.side[i])) {
                matches += cf_entry_copies(filter, &entry);
                assert_true(!can_move(filter, &entry) || pair.sides == 1 ||
                            other_bucket(filter, &entry) == pair.place[1 - i].bucket);
            }
        }
    assert_int_equal(copies_told(filter, matches), cf_count(filter, hash));
    assert_int_equal(matches > 0, cf_contains(filter, hash));
}

static void entries_are_seen_as_they_match(void **state)
{
    (void)state;
    for (unsigned b = 2; b <= 8; b *= 2)
        for (uint64_t m = 4; m < 16; m += 2) {
            test_filter made = growing_filter(growing_shape(m, b, 12), UINT64_MAX);
            uint64_t hash[200];
            for (int i = 0; i < 200; i++)
                cf_add(&made.filter, hash[i] = random64() >> random_below(2) * 30);
            for (int i = 0; i < 200; i++) {
                check_entries(&made.filter, hash[i]);
                check_entries(&made.filter, random64());
            }
            free_filter(&made);
        }
}

/* What a key is stored as, before growth and after. */
static void new_fingerprints_are_cut(void **state)
{
    test_filter made = filter_at_stage(growing_shape(10, 4, 12), 0, 0);
    uint64_t hash = UINT64_MAX;
    (void)state;
    cf_side key = cf_candidates(&made.filter, hash).side[0];
    cf_side cut = cf_new_fingerprint(&made.filter, &key);
    assert_true(cut.length == 6 && cut.bits == 0xfff && cut.base == key.base);
    free_filter(&made);
    made = filter_at_stage(growing_shape(10, 4, 12), 2, 7);
    cut = cf_new_fingerprint(&made.filter, &key);
    assert_int_equal(cut.length, 2 + 6 + 1 + 2);
    assert_true(cut.bits == cf_low_bits(6 + 11));
    free_filter(&made);
}

/* ---- against an exact multiset ---- */

enum { UNIVERSE = 400 };

/* True copies of each key, and whether its class has ever been at cap: keys that share fingerprint
** and pair are one class, for the filter cannot tell them apart. */
typedef struct model {
    uint64_t hash[UNIVERSE];
    unsigned class_of[UNIVERSE];
    unsigned copies[UNIVERSE];
    unsigned in_class[UNIVERSE];
    bool sticky[UNIVERSE];
} model;

static bool same_class(const cf_filter *filter, uint64_t a, uint64_t b)
{
    cf_pair one = cf_pair_of(filter, a), two = cf_pair_of(filter, b);
    for (unsigned i = 0; i < one.sides; i++)
        if (one.place[i].bucket == two.place[0].bucket && one.place[i].tag == two.place[0].tag)
            return true;
    return false;
}

static void start_model(model *m, const cf_filter *filter)
{
    memset(m, 0, sizeof *m);
    for (unsigned i = 0; i < UNIVERSE; i++) {
        m->hash[i] = random64();
        m->class_of[i] = i;
        for (unsigned k = 0; k < i; k++)
            if (same_class(filter, m->hash[i], m->hash[k])) {
                m->class_of[i] = m->class_of[k];
                break;
            }
    }
}

static void model_add(model *m, cf_filter *filter, unsigned key)
{
    unsigned class = m->class_of[key];
    cf_status status = cf_add(filter, m->hash[key]);
    if (m->sticky[class])
        assert_int_equal(status, CF_OK);
    if (status != CF_OK)
        return;
    m->copies[key]++;
    m->in_class[class]++;
    if (m->in_class[class] >= filter->geometry.cap)
        m->sticky[class] = true;
}

static void model_delete(model *m, cf_filter *filter, unsigned key)
{
    unsigned class = m->class_of[key];
    if (m->copies[key] == 0)
        return;
    cf_deleted result = cf_delete(filter, m->hash[key]);
    assert_int_equal(result, m->sticky[class] ? CF_STICKY : CF_REMOVED);
    m->copies[key]--;
    m->in_class[class] -= !m->sticky[class];
}

static void check_model(const model *m, const cf_filter *filter)
{
    for (unsigned i = 0; i < UNIVERSE; i++) {
        unsigned class = m->class_of[i];
        unsigned expected = m->sticky[class] ? filter->geometry.cap : m->in_class[class];
        assert_int_equal(cf_count(filter, m->hash[i]), expected);
        assert_int_equal(cf_contains(filter, m->hash[i]), expected > 0);
    }
    assert_sound(filter);
}

/* With the classes known, the filter is exact: counts, deletes, and no false negative ever. */
static void behaves_as_the_multiset_of_classes(void **state)
{
    static const unsigned widths[] = {4, 5, 8, 12, 32};
    static model m;
    (void)state;
    for (unsigned b = 1; b <= 8; b *= 2)
        for (unsigned w = 0; w < 5; w++) {
            uint64_t buckets = (UNIVERSE / b / 2 + random_below(20)) & ~UINT64_C(1);
            test_filter made = new_filter(shape_of(buckets, b, widths[w]));
            start_model(&m, &made.filter);
            for (int i = 0; i < 4000; i++) {
                unsigned key = (unsigned)random_below(UNIVERSE);
                if (random_below(20) < 11)
                    model_add(&m, &made.filter, key);
                else
                    model_delete(&m, &made.filter, key);
                if (i % 500 == 0)
                    check_model(&m, &made.filter);
            }
            check_model(&m, &made.filter);
            free_filter(&made);
        }
}

/* The measured error rate is the expected one, within five standard deviations. */
static void error_rate_is_as_expected(void **state)
{
    (void)state;
    for (unsigned b = 2; b <= 8; b *= 2)
        for (unsigned f = 5; f <= 12; f += 7) {
            enum { PROBES = 400000 };
            test_filter made = new_filter(shape_of(4002, b, f));
            while (made.filter.occupied < 4001 * b * 8 / 10)
                cf_add(&made.filter, random64());
            double expected = cf_expected_fpr(&made.filter.geometry, made.filter.occupied);
            unsigned found = 0;
            for (int i = 0; i < PROBES; i++)
                found += cf_contains(&made.filter, random64());
            double mean = expected * PROBES, off = found - mean;
            /* binomial, and the table itself is one of many: 1 % more */
            assert_true(off * off <= 25 * (mean + mean * mean * 1e-4));
            free_filter(&made);
        }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(empty_filter_holds_nothing), cmocka_unit_test(copies_count_up_to_cap),
    cmocka_unit_test(deletes_take_one_copy_each), cmocka_unit_test(small_tables_count_each_copy_once),
    cmocka_unit_test(failed_add_changes_nothing), cmocka_unit_test(bytes_follow_from_the_calls),
    cmocka_unit_test(lying_count_stays_in_range), cmocka_unit_test(entries_are_seen_as_they_match),
    cmocka_unit_test(new_fingerprints_are_cut),   cmocka_unit_test(behaves_as_the_multiset_of_classes),
    cmocka_unit_test(error_rate_is_as_expected),  cmocka_unit_test(all_values_of_a_key),
};

RUN_TESTS(tests)
