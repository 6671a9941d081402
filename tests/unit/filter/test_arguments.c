/* SPDX-License-Identifier: MIT */
/* Every public call with each argument out of its range: a status, and not a byte of filter or arguments changed.
** Release builds check as well: run with -DNDEBUG, too (make test). */
#include "../../../src/include/cuckoo_exact.h"
#include "../../../src/include/cuckoo_key.h"
#include "../test.h"

enum { KEYS = 300 };

/* ---- plans ---- */

static cf_status plan(cf_options options, double fpr)
{
    const cf_geometry was = shape_of(10, 4, 8);
    cf_geometry shape = was;
    const char *why = NULL;
    cf_status status = cf_plan(100, fpr, &options, &shape, &why);
    assert_int_equal(cf_plan(100, fpr, &options, &shape, NULL), status);
    assert_true((status == CF_OK) == (why == NULL));
    assert_true(status == CF_OK || memcmp(&shape, &was, sizeof shape) == 0);
    return status;
}

TEST(plans_check_their_arguments)
{
    const unsigned many = 1u << 31;
    const cf_options wrong[] = {{.bucket_size = 3},
                                {.bucket_size = many},
                                {.fingerprint_bits = 3},
                                {.fingerprint_bits = many | 8},
                                {.counter_bits = many | 1},
                                {.value_bits = many | 1},
                                {.counter_bits = 1, .value_bits = 1},
                                {.epochs = many},
                                {.epochs = 2, .value_bits = 3},
                                {.growth = true, .bucket_size = 1},
                                {.growth = true, .stash = true},
                                {.stash = true, .max_kicks = 256},
                                {.stash = true, .stash_size = many},
                                {.hash = (cf_hash_choice)3},
                                {.layout = (cf_layout)3},
                                {.layout = CF_LAYOUT_SEMISORT, .bucket_size = 8},
                                {.affinity = (cf_affinity)4},
                                {.collation = (cf_collation)3}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (plan(wrong[i], 0.01) != CF_BAD_ARGUMENT)
            fail_msg("options %u", (unsigned)i);
    const double rates[] = {0, -1, 1, 2, 0.0 / 0.0, 1e-30};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        assert_int_equal(plan((cf_options){0}, rates[i]), CF_BAD_ARGUMENT);
    cf_geometry shape, other;
    assert_int_equal(cf_plan(CF_CAPACITY_MAX + 1, 0.01, NULL, &shape, NULL), CF_TOO_BIG);
    assert_int_equal(cf_plan(100, 0.01, NULL, &shape, NULL), CF_OK);
    assert_int_equal(cf_plan(100, 0.01, &(cf_options){0}, &other, NULL), CF_OK);
    assert_memory_equal(&shape, &other, sizeof shape);
    assert_string_equal(cf_status_text((cf_status)99), "unknown status");
    assert_string_equal(cf_status_text((cf_status)-1), "unknown status");
}

/* Shapes of which one field is out of its range. */
static unsigned wrong_shapes(cf_geometry *shape)
{
    unsigned n = 0;
    const cf_geometry sound = shape_of(64, 4, 8);
#define WRONG(field, value)                                                                             \
    shape[n] = sound;                                                                                   \
    shape[n++].field = (value)
    WRONG(buckets, 0);
    WRONG(buckets, 63);
    WRONG(buckets, UINT64_MAX);
    WRONG(buckets, UINT64_MAX - 1);
    WRONG(bucket_size, 0);
    WRONG(bucket_size, 3);
    WRONG(bucket_size, 255);
    WRONG(fingerprint_bits, 0);
    WRONG(fingerprint_bits, 33);
    WRONG(fingerprint_bits, 255);
    WRONG(pair_bits, 0);
    WRONG(pair_bits, 9);
    WRONG(max_copies, 0);
    WRONG(max_copies, 255);
    WRONG(counter_bits, 255);
    WRONG(value_bits, 255);
    WRONG(epochs, 255);
    WRONG(stash_size, 65535);
    WRONG(budget, 1);
    WRONG(affinity, 4);
    WRONG(collation, 255);
    return n;
}

TEST(shapes_are_checked_before_a_filter_is_made)
{
    cf_geometry shape[40];
    uint8_t bytes[4096], was[4096];
    cf_filter filter, before;
    unsigned n = wrong_shapes(shape);
    memset(bytes, 0xa5, sizeof bytes);
    memcpy(was, bytes, sizeof bytes);
    memset(&filter, 0xa5, sizeof filter);
    memcpy(&before, &filter, sizeof filter);
    for (unsigned i = 0; i < n; i++) {
        cf_geometry wider = shape[i];
        cf_status status = cf_create(&filter, &shape[i], bytes);
        assert_true(status == CF_BAD_ARGUMENT || status == CF_TOO_BIG);
        assert_int_equal(cf_create_in_zeros(&filter, &shape[i], bytes), status);
        assert_int_equal(cf_plan_wider(&wider), status);
        assert_memory_equal(&wider, &shape[i], sizeof wider);
        cf_turnovers(&shape[i]);
        cf_geometry_bytes(&shape[i]);
        cf_expected_fpr(&shape[i], UINT64_MAX);
    }
    assert_int_equal(cf_create(&filter, &(cf_geometry){0}, bytes), CF_BAD_ARGUMENT);
    shape[0] = shape_of(64, 4, 8);
    assert_int_equal(cf_create(&filter, &shape[0], NULL), CF_NO_MEMORY);
    assert_int_equal(cf_create_in_zeros(&filter, &shape[0], NULL), CF_NO_MEMORY);
    assert_memory_equal(bytes, was, sizeof was);
    assert_memory_equal(&filter, &before, sizeof filter);
}

/* ---- filters ---- */

/* One of each kind, half full: without payload, that grows, with counters, values, a list, epochs. */
enum { KINDS = 8 };

static uint64_t key(uint64_t i)
{
    return (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

static test_filter of_kind(unsigned kind)
{
    cf_geometry shape = shape_of(128, 4, 12);
    if (kind == 1)
        shape = growing_shape(128, 4, 12);
    shape.counter_bits = kind == 2 ? 3 : 0;
    shape.value_bits = kind == 3 ? 5 : kind == 7 ? 32 : 0;
    if (kind == 4)
        shape = stashing(shape, 4, 64);
    if (kind == 5)
        shape.epochs = 3, shape.max_copies = 1;
    test_filter made = new_filter(kind == 6 ? semisorted(shape) : shape);
    for (uint64_t i = 0; i < KEYS; i++)
        assert_int_equal(cf_add(&made.filter, key(i)), CF_OK);
    cf_seal(&made.filter);
    return made;
}

/* The call has this status, and the filter is as it was. */
#define REFUSED(it, call, status)                                                                       \
    do {                                                                                                \
        snapshot then = remember(it);                                                                   \
        assert_int_equal(call, status);                                                                 \
        assert_unchanged(it, &then);                                                                    \
        assert_true((it)->epoch == then.filter.epoch);                                                  \
        free(then.bytes);                                                                               \
    } while (0)

TEST(a_value_that_is_too_wide_is_refused)
{
    for (unsigned kind = 0; kind < KINDS; kind++) {
        test_filter made = of_kind(kind);
        cf_filter *f = &made.filter;
        for (unsigned bit = f->geometry.value_bits; bit < 64; bit++) {
            REFUSED(f, cf_add_value(f, 7, (uint64_t)1 << bit), CF_BAD_ARGUMENT);
            REFUSED(f, cf_delete_value(f, key(0), (uint64_t)1 << bit), CF_BAD_ARGUMENT);
        }
        for (uint64_t i = 0; i < KEYS; i++)
            assert_true(cf_contains(f, key(i)));
        assert_sound(f);
        uint64_t value = 77, all[CF_VALUES_MAX];
        assert_int_equal(cf_get(f, key(0), &value), f->geometry.value_bits != 0);
        assert_int_equal(value, f->geometry.value_bits != 0 ? 0 : 77);
        assert_int_equal(cf_get_all(f, key(0), all), f->geometry.value_bits != 0);
        free_filter(&made);
    }
}

TEST(only_what_ages_has_epochs)
{
    const uint64_t last = ((uint64_t)1 << 48) - 1;
    for (unsigned kind = 0; kind < KINDS; kind++) {
        test_filter made = of_kind(kind);
        cf_filter *f = &made.filter;
        if (f->geometry.epochs == 0) {
            REFUSED(f, cf_sweep(f), CF_BAD_ARGUMENT);
            REFUSED(f, cf_renew(f), CF_BAD_ARGUMENT);
            REFUSED(f, cf_advance(f), CF_BAD_ARGUMENT);
            REFUSED(f, cf_age_to(f, 0), CF_BAD_ARGUMENT);
            REFUSED(f, cf_age_to(f, 7), CF_BAD_ARGUMENT);
            REFUSED(f, cf_add_epoch(f, 7, 0), CF_BAD_ARGUMENT);
            assert_false(cf_epoch_is_live(f, 0));
        } else {
            assert_int_equal(cf_advance(f), CF_OK);
            REFUSED(f, cf_age_to(f, 0), CF_BAD_ARGUMENT); /* time does not go back */
            REFUSED(f, cf_age_to(f, last + 1), CF_BAD_ARGUMENT);
            REFUSED(f, cf_age_to(f, UINT64_MAX), CF_BAD_ARGUMENT);
            REFUSED(f, cf_add_epoch(f, 7, 2), CF_BAD_ARGUMENT);
            assert_int_equal(cf_sweep(f), CF_OK);
            assert_int_equal(cf_renew(f), CF_OK);
            assert_int_equal(cf_age_to(f, 20), CF_OK);
            REFUSED(f, cf_add_epoch(f, 7, 4), CF_BAD_ARGUMENT);
            assert_int_equal(cf_add_epoch(f, 7, 19), CF_OK);
            assert_false(cf_epoch_is_live(f, 21));
            assert_int_equal(cf_age_to(f, last), CF_OK);
            assert_int_equal(cf_advance(f), CF_OK);
            assert_int_equal(f->epoch, 0);
        }
        free_filter(&made);
    }
}

TEST(a_view_for_reading_changes_nothing)
{
    for (unsigned kind = 0; kind < KINDS; kind++) {
        test_filter made = of_kind(kind), other = of_kind(kind);
        cf_filter view, *f = &view;
        const char *why = NULL;
        bool ages = made.filter.geometry.epochs != 0;
        uint64_t hashes[] = {3, 2, 1};
        size_t added = 9;
        assert_int_equal(cf_open(f, made.bytes, made.filter.length, &why), CF_OK);
        REFUSED(f, cf_add(f, 7), CF_READ_ONLY);
        REFUSED(f, cf_add_value(f, 0, 0), CF_READ_ONLY);
        REFUSED(f, cf_delete(f, key(0)), CF_READ_ONLY);
        REFUSED(f, cf_delete(f, 12345), CF_READ_ONLY);
        REFUSED(f, cf_add_many(f, hashes, 3, &added), CF_READ_ONLY);
        assert_true(hashes[0] == 3 && added == 0);
        REFUSED(f, cf_merge(f, &other.filter, &why), CF_READ_ONLY);
        assert_non_null(why);
        REFUSED(f, cf_shrink(f, &other.filter), CF_READ_ONLY);
        REFUSED(f, cf_settle(f), CF_READ_ONLY);
        REFUSED(f, cf_clear(f), CF_READ_ONLY);
        REFUSED(f, cf_seal(f), CF_READ_ONLY);
        REFUSED(f, cf_sweep(f), ages ? CF_READ_ONLY : CF_BAD_ARGUMENT);
        REFUSED(f, cf_renew(f), ages ? CF_READ_ONLY : CF_BAD_ARGUMENT);
        REFUSED(f, cf_advance(f), ages ? CF_READ_ONLY : CF_BAD_ARGUMENT);
        REFUSED(f, cf_age_to(f, 5), ages ? CF_READ_ONLY : CF_BAD_ARGUMENT);
        REFUSED(f, cf_add_epoch(f, 7, 0), ages ? CF_READ_ONLY : CF_BAD_ARGUMENT);
        free_filter(&made);
        free_filter(&other);
    }
}

static void no_need(void *context, uint64_t from, uint64_t to)
{
    (void)context, (void)from, (void)to;
}

TEST(numbers_of_buckets_slots_and_lines_are_checked)
{
    for (unsigned kind = 0; kind < KINDS; kind++) {
        test_filter made = of_kind(kind);
        cf_filter *f = &made.filter;
        cf_entry entry;
        const cf_pages nothing = {0}, reads = {.need = no_need};
        uint8_t elsewhere[64];
        const uint64_t beyond[] = {f->buckets, f->buckets + 1, UINT64_MAX / 8, UINT64_MAX};
        for (unsigned i = 0; i < 4; i++) {
            assert_false(cf_entry_at(f, beyond[i], 0, &entry));
            assert_false(cf_overflows(f, beyond[i]));
            assert_false(cf_stashed_at(f, f->stashed + (unsigned)(beyond[i] - f->buckets), &entry));
        }
        assert_false(cf_entry_at(f, 0, f->geometry.bucket_size, &entry));
        assert_false(cf_entry_at(f, 0, UINT32_MAX, &entry));
        REFUSED(f, cf_rebase(f, NULL, NULL), CF_BAD_ARGUMENT);
        REFUSED(f, cf_rebase(f, made.bytes, elsewhere), CF_BAD_ARGUMENT);
        REFUSED(f, cf_attach_pages(f, &nothing), CF_BAD_ARGUMENT);
        REFUSED(f, cf_attach_pages(f, &reads), CF_BAD_ARGUMENT);
        assert_true(f->bytes == made.bytes && f->pages == NULL);
        unsigned at = UINT32_MAX;
        assert_null(cf_difference(f, f, &at));
        free_filter(&made);
    }
}

TEST(merging_and_shrinking_check_their_filters)
{
    for (unsigned kind = 0; kind < KINDS; kind++)
        for (unsigned other = 0; other < KINDS; other++) {
            test_filter into = of_kind(kind), from = of_kind(other);
            const char *why = NULL;
            unsigned at = 0;
            bool differ = cf_difference(&into.filter, &from.filter, &at) != NULL;
            REFUSED(&into.filter, cf_shrink(&into.filter, &from.filter),
                    differ ? CF_MISMATCH : CF_BAD_ARGUMENT);
            if (differ)
                REFUSED(&into.filter, cf_merge(&into.filter, &from.filter, &why), CF_MISMATCH);
            REFUSED(&into.filter, cf_merge(&into.filter, &into.filter, &why), CF_MISMATCH);
            why = NULL;
            REFUSED(&into.filter, cf_merge(&into.filter, &(cf_filter){0}, &why), CF_MISMATCH);
            assert_non_null(why);
            free_filter(&into);
            free_filter(&from);
        }
}

/* ---- opening ---- */

TEST(what_is_no_filter_is_not_opened)
{
    cf_filter filter;
    cf_reader reader = {.filter = {.length = 0}};
    static cf_exact exact;
    const char *why = NULL;
    assert_int_equal(cf_open(&filter, NULL, 100, &why), CF_DAMAGED);
    assert_int_equal(cf_open_writable(&filter, NULL, 100, NULL), CF_DAMAGED);
    assert_int_equal(cf_open(&filter, (const uint8_t *)"", 0, NULL), CF_DAMAGED);
    assert_int_equal(cf_reader_open(&reader, NULL, 0, NULL), CF_DAMAGED);
    assert_int_equal(cf_exact_open(&exact, NULL, 100, NULL), CF_DAMAGED);
    assert_int_equal(cf_exact_open(&exact, (const uint8_t *)"", 0, &why), CF_DAMAGED);
    assert_false(cf_is_exact(NULL, 0));
}

/* What changes a sealed filter by one call. */
typedef cf_status change(cf_filter *filter);

static cf_status by_add(cf_filter *f)
{
    return cf_add(f, 0x123456789abcdef);
}

static cf_status by_delete(cf_filter *f)
{
    return cf_delete(f, key(1));
}

static cf_status by_add_many(cf_filter *f)
{
    uint64_t hashes[] = {0x123456789abcdef, 5};
    return cf_add_many(f, hashes, 2, NULL);
}

static cf_status by_merge(cf_filter *f)
{
    test_filter other = new_filter(f->geometry);
    assert_int_equal(cf_add(&other.filter, 0x123456789abcdef), CF_OK);
    cf_status status = cf_merge(f, &other.filter, NULL);
    free_filter(&other);
    return status;
}

static cf_status by_advance(cf_filter *f)
{
    return cf_advance(f);
}

TEST(opening_notices_that_the_seal_is_missing)
{
    change *const all[] = {by_add, by_delete, by_add_many, by_merge, by_advance};
    for (unsigned kind = 0; kind < KINDS; kind++)
        for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
            test_filter made = of_kind(kind);
            cf_filter *f = &made.filter, view;
            const char *why = "";
            assert_int_equal(cf_open_writable(f, made.bytes, f->length, &why), CF_OK);
            if (all[i](f) == CF_OK) {
                assert_int_equal(cf_open(&view, f->bytes, f->length, &why), CF_DAMAGED);
                assert_non_null(strstr(why, "cf_seal"));
            }
            assert_int_equal(cf_seal(f), CF_OK);
            assert_int_equal(cf_open(&view, f->bytes, f->length, &why), CF_OK);
            assert_true(view.items == f->items && view.epoch == f->epoch && view.stashed == f->stashed);
            assert_sound(&view);
            snapshot then = remember(f);
            all[i](f); /* nothing may have changed: of what ages the same key, in the same epoch */
            bool same = memcmp(f->bytes, then.bytes, f->length) == 0;
            assert_int_equal(cf_open(&view, f->bytes, f->length, &why), same ? CF_OK : CF_DAMAGED);
            free(then.bytes);
            assert_int_equal(cf_clear(f), CF_OK);
            assert_int_equal(cf_open(&view, f->bytes, f->length, &why), CF_OK);
            free_filter(&made);
        }
    test_filter made = new_filter(shape_of(128, 4, 12));
    cf_filter view;
    assert_int_equal(cf_open(&view, made.bytes, made.filter.length, NULL), CF_OK);
    assert_int_equal(cf_add(&made.filter, 5), CF_OK);
    assert_int_equal(cf_open(&view, made.bytes, made.filter.length, NULL), CF_DAMAGED);
    free_filter(&made);
}

/* ---- building ---- */

static cf_status built(cf_filter *filter, cf_valued *pairs, size_t n, const cf_options *options,
                       cf_memory memory)
{
    const char *why = NULL;
    *filter = (cf_filter){.memory = memory};
    cf_status status = cf_build_values(filter, pairs, n, 10, 0.01, options, &why);
    assert_true((status != CF_OK) == (why != NULL) && (status != CF_OK) == (filter->bytes == NULL));
    return status;
}

TEST(builds_check_their_arguments)
{
    const cf_memory memory = {cf_realloc, 0, NULL}, small = {cf_realloc, 100, NULL};
    cf_valued pairs[] = {{3, 7}, {2, 8}, {1, 0}};
    uint64_t hashes[] = {3, 2, 1};
    cf_filter filter;
    const char *why = NULL;
    assert_int_equal(built(&filter, pairs, 3, &(cf_options){.value_bits = 3}, memory), CF_BAD_ARGUMENT);
    assert_true(pairs[0].hash == 3 && pairs[0].value == 7);
    assert_int_equal(built(&filter, pairs, 3, &(cf_options){.counter_bits = 3}, memory),
                     CF_BAD_ARGUMENT);
    assert_int_equal(built(&filter, pairs, 3, NULL, memory), CF_BAD_ARGUMENT);
    assert_int_equal(built(&filter, NULL, 3, &(cf_options){.value_bits = 4}, memory), CF_BAD_ARGUMENT);
    assert_int_equal(built(&filter, pairs, 3, &(cf_options){.value_bits = 99}, memory), CF_BAD_ARGUMENT);
    assert_int_equal(built(&filter, pairs, 3, &(cf_options){.value_bits = 4}, (cf_memory){0}),
                     CF_BAD_ARGUMENT);
    assert_int_equal(built(&filter, pairs, 3, &(cf_options){.value_bits = 4}, small), CF_TOO_BIG);
    assert_true(pairs[0].value + pairs[1].value + pairs[2].value == 15);
    assert_int_equal(cf_add(&filter, 7), CF_READ_ONLY); /* after an error there is no filter */
    assert_int_equal(cf_delete(&filter, 7), CF_READ_ONLY);
    assert_int_equal(built(&filter, pairs, 3, &(cf_options){.value_bits = 4}, memory), CF_OK);
    uint64_t value;
    assert_true(cf_get(&filter, 3, &value) && value == 7);
    free(filter.writable);
    filter = (cf_filter){.memory = {0}};
    assert_int_equal(cf_build(&filter, hashes, 3, 10, 0.01, NULL, &why), CF_BAD_ARGUMENT);
    filter.memory = memory;
    assert_int_equal(cf_build(&filter, NULL, 3, 10, 0.01, NULL, NULL), CF_BAD_ARGUMENT);
    assert_int_equal(cf_build(&filter, hashes, 3, 10, 2, NULL, NULL), CF_BAD_ARGUMENT);
    assert_int_equal(cf_build(&filter, hashes, 3, 10, 0.01, NULL, NULL), CF_OK);
    assert_int_equal(cf_add_many(&filter, NULL, 3, NULL), CF_BAD_ARGUMENT);
    free(filter.writable);
    assert_int_equal(cf_sort(NULL, 3, NULL), CF_BAD_ARGUMENT);
    assert_int_equal(cf_sort_pairs(NULL, 3, NULL), CF_BAD_ARGUMENT);
    assert_int_equal(cf_sort(NULL, 0, NULL), CF_OK);
}

TEST(exact_filters_check_what_they_are_built_of)
{
    uint64_t others[] = {1, 2}, members[] = {3};
    const cf_exact_build sound = {
        .hashes = {others, members}, .count = {2, 1}, .memory = {cf_realloc, 0, NULL}};
    cf_exact_build wrong[40];
    unsigned n = 0;
#define SPOILED(field, value)                                                                           \
    wrong[n] = sound;                                                                                   \
    wrong[n++].field = (value)
    SPOILED(memory.resize, NULL);
    SPOILED(hashes[0], NULL);
    SPOILED(hashes[1], NULL);
    SPOILED(fpr, -1);
    SPOILED(fpr, 1);
    SPOILED(fpr, 2);
    SPOILED(fpr, 0.0 / 0.0);
    SPOILED(options.affinity, (cf_affinity)9);
    SPOILED(options.collation, (cf_collation)9);
    SPOILED(options.hash, (cf_hash_choice)9);
    SPOILED(options.bucket_size, 4);
    SPOILED(options.fingerprint_bits, 8);
    SPOILED(options.counter_bits, 1);
    SPOILED(options.value_bits, 1);
    SPOILED(options.epochs, 1);
    SPOILED(options.growth, true);
    SPOILED(options.stash, true);
    SPOILED(options.layout, CF_LAYOUT_PLAIN);
    cf_collected valued = {.valued = true}, counted = {.counts = true};
    SPOILED(collected[0], &valued);
    SPOILED(collected[1], &counted);
    for (unsigned i = 0; i < n; i++) {
        const char *why = NULL;
        if (cf_exact_make(&wrong[i], &why) != CF_BAD_ARGUMENT || wrong[i].bytes != NULL || why == NULL)
            fail_msg("argument %u", i);
        assert_int_equal(cf_exact_make(&wrong[i], NULL), CF_BAD_ARGUMENT);
    }
    cf_exact_build right = sound;
    static cf_exact exact;
    assert_int_equal(cf_exact_make(&right, NULL), CF_OK);
    assert_int_equal(cf_exact_open(&exact, right.bytes, right.length, NULL), CF_OK);
    assert_true(cf_exact_contains(&exact, 3) && !cf_exact_contains(&exact, 1));
    free(right.bytes);
}

/* ---- growing ---- */

TEST(no_limit_of_memory_is_none)
{
    test_filter made = growing_filter(growing_shape(8, 4, 12), 0);
    uint64_t hash = 1;
    for (unsigned i = 0; i < 5000; i++)
        assert_int_equal(cf_add(&made.filter, hash = hash * 6364136223846793005u + 1442695040888963407u),
                         CF_OK);
    test_filter other = growing_filter(made.filter.geometry, 0);
    assert_int_equal(cf_merge(&other.filter, &made.filter, NULL), CF_OK);
    assert_sound(&other.filter);
    assert_int_equal(made.filter.memory.most, 0);
    free_filter(&made);
    free_filter(&other);
}

TEST(a_filter_that_should_grow_says_that_it_has_no_memory)
{
    test_filter made = new_filter(growing_shape(8, 4, 12));
    cf_status status = CF_OK;
    for (uint64_t i = 1; i < 100 && status == CF_OK; i++)
        status = cf_add(&made.filter, i * UINT64_C(0x9e3779b97f4a7c15));
    REFUSED(&made.filter, cf_add(&made.filter, 0x123456789abcdef), CF_NEEDS_MEMORY);
    assert_int_equal(status, CF_NEEDS_MEMORY);
    made.filter.memory = (cf_memory){cf_realloc, 0, NULL};
    assert_int_equal(cf_add(&made.filter, 0x123456789abcdef), CF_OK);
    free_filter(&made);
}

static uint8_t *never(void *context, uint8_t *bytes, uint64_t size)
{
    (void)context, (void)bytes, (void)size;
    return NULL;
}

TEST(every_error_says_why)
{
    test_filter made = new_filter(growing_shape(8, 4, 12)), same = new_filter(made.filter.geometry);
    const cf_memory none = {never, 0, NULL};
    const char *why = NULL;
    uint64_t hashes[] = {3, 2, 1};
    made.filter.memory = none;
    REFUSED(&made.filter, cf_merge(&made.filter, &same.filter, &why), CF_NO_MEMORY);
    assert_string_equal(why, "out of memory");
    cf_filter filter = {.memory = none};
    why = NULL;
    assert_int_equal(cf_build(&filter, hashes, 3, 10, 0.01, NULL, &why), CF_NO_MEMORY);
    assert_string_equal(why, "out of memory");
    cf_exact_build exact = {.hashes = {hashes, hashes}, .count = {1, 0}, .memory = none};
    why = NULL;
    assert_int_equal(cf_exact_make(&exact, &why), CF_NO_MEMORY);
    assert_string_equal(why, "out of memory");
    free_filter(&made);
    free_filter(&same);
}
