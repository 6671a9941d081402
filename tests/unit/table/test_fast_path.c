/* SPDX-License-Identifier: MIT */
/* The quick ways do what the general ones do, to the byte: every operation is made in two equal
** filters, of which one has been told that it has no quick ways. */
#include "../test.h"

#include "../paged.h"

#include "../../../src/table/fast_path.h"

typedef struct twins {
    test_filter quick, general;
} twins;

/* How keys are hashed. */
static const cf_geometry seeded = {.seed = 7};

static void use_general_ways(cf_filter *filter)
{
    filter->view.lookup = CF_FAST_NONE;
    filter->view.change = CF_FAST_NONE;
}

static twins new_twins(cf_geometry shape)
{
    twins both = {new_filter(shape), new_filter(shape)};
    use_general_ways(&both.general.filter);
    return both;
}

static void free_twins(twins *both)
{
    free_filter(&both->quick);
    free_filter(&both->general);
}

static void assert_twins(const twins *both)
{
    const cf_filter *quick = &both->quick.filter, *general = &both->general.filter;
    assert_int_equal(quick->items, general->items);
    assert_int_equal(quick->occupied, general->occupied);
    assert_int_equal(quick->length, general->length);
    assert_memory_equal(quick->bytes + CF_HEADER_BYTES, general->bytes + CF_HEADER_BYTES,
                        quick->length - CF_HEADER_BYTES);
}

/* Few different keys: copies, sticky keys, keys that share fingerprints, full buckets. */
static void work(twins *both, unsigned operations, uint64_t keys)
{
    cf_filter *quick = &both->quick.filter, *general = &both->general.filter;
    for (unsigned i = 0; i < operations; i++) {
        uint64_t hash = cf_hash_words(&seeded, random_below(keys), 1);
        hash = i % 16 == 0 ? hash & ~quick->view.fingerprint_mask : hash;
        if (random_below(3) > 0)
            assert_int_equal(cf_add(quick, hash), cf_add(general, hash));
        else
            assert_int_equal(cf_delete(quick, hash), cf_delete(general, hash));
        assert_int_equal(cf_contains(quick, hash), cf_contains(general, hash));
        assert_twins(both);
    }
    assert_sound(quick);
}

static void assert_kind(const cf_filter *filter, cf_fast lookup, cf_fast change)
{
    assert_int_equal(filter->view.lookup, lookup);
    assert_int_equal(filter->view.change, change);
}

static void work_in(cf_geometry shape, cf_fast kind)
{
    twins both = new_twins(shape);
    uint64_t slots = shape.buckets * shape.bucket_size;
    assert_kind(&both.quick.filter, kind, kind);
    work(&both, 1500, slots / 2);
    work(&both, 1500, 4 * slots);
    free_twins(&both);
}

static void plain_buckets_of_whole_bytes(void **state)
{
    (void)state;
    work_in(shape_of(24, 4, 12), CF_FAST_WHOLE);
    work_in(shape_of(24, 4, 16), CF_FAST_WHOLE);
    work_in(shape_of(24, 4, 4), CF_FAST_WHOLE);
    work_in(shape_of(24, 2, 8), CF_FAST_WHOLE);
    work_in(shape_of(12, 8, 8), CF_FAST_WHOLE);
}

static void plain_buckets_that_start_anywhere(void **state)
{
    (void)state;
    work_in(shape_of(24, 4, 13), CF_FAST_PLAIN);
    work_in(shape_of(24, 4, 5), CF_FAST_PLAIN);
    work_in(shape_of(24, 2, 25), CF_FAST_PLAIN);
    work_in(shape_of(24, 4, 15), CF_FAST_PLAIN); /* all 64 bits of a load */
}

/* 65 to 128 bits, which start anywhere; and 62 that do, alone and as half of 124. */
static void plain_buckets_of_two_words(void **state)
{
    (void)state;
    for (unsigned f = 17; f <= CF_FINGERPRINT_MAX; f++)
        work_in(shape_of(24, 4, f), f % 2 == 0 ? CF_FAST_WIDE_WHOLE
                                    : f == 31  ? CF_FAST_WIDE_LONG
                                               : CF_FAST_WIDE);
    for (unsigned f = 9; f <= 16; f++)
        work_in(shape_of(12, 8, f), CF_FAST_WIDE_WHOLE);
    work_in(shape_of(24, 2, 31), CF_FAST_WIDE);
    work_in(shape_of(24, 8, 17), CF_FAST_NONE);
}

static void semisorted_buckets(void **state)
{
    (void)state;
    for (unsigned f = 6; f <= 17; f++)
        work_in(semisorted(shape_of(24, 4, f)), CF_FAST_SEMISORTED);
    for (unsigned f = 18; f <= CF_FINGERPRINT_MAX; f++)
        work_in(semisorted(shape_of(24, 4, f)), CF_FAST_WIDE_SEMISORTED);
}

/* Tags that two keys share, above all their nibbles: the answers "cannot tell". */
static void few_fingerprints(void **state)
{
    (void)state;
    work_in(shape_of(2, 4, 4), CF_FAST_WHOLE);
    work_in(semisorted(shape_of(2, 4, 6)), CF_FAST_SEMISORTED);
}

/* Part of the fingerprint is remainder bits, which differ on the other side. */
static void filters_that_may_grow(void **state)
{
    (void)state;
    work_in(growing_shape(24, 4, 12), CF_FAST_WHOLE);
    work_in(growing_shape(24, 4, 13), CF_FAST_PLAIN);
    work_in(semisorted(growing_shape(24, 4, 13)), CF_FAST_SEMISORTED);
    work_in(growing_shape(24, 4, 19), CF_FAST_WIDE);
    work_in(semisorted(growing_shape(24, 4, 20)), CF_FAST_WIDE_SEMISORTED);
}

/* ---- those without quick ways ---- */

/* Beyond its capacity a large one is prepared for growth, a few buckets with each add. */
static void filters_that_are_about_to_grow(void **state)
{
    enum { BUCKETS = 1100, SLOTS = 2, ROUNDS = 20 };
    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        cf_geometry shape = growing_shape(BUCKETS, SLOTS, 16);
        shape.capacity = BUCKETS * SLOTS * 82 / 100;
        twins both = new_twins(shape);
        both.quick.filter.memory = both.general.filter.memory =
            (cf_memory){test_resize, UINT64_MAX, NULL};
        while (!both.general.filter.view.grown) {
            uint64_t hash = random64();
            assert_int_equal(cf_add(&both.quick.filter, hash), cf_add(&both.general.filter, hash));
            use_general_ways(&both.general.filter);
            assert_int_equal(both.quick.filter.length, both.general.filter.length);
        }
        assert_twins(&both);
        free_twins(&both);
    }
}

static void other_filters_have_none(void **state)
{
    cf_geometry counts = shape_of(24, 4, 12), lists = counts, sticky = counts;
    (void)state;
    counts.counter_bits = 4;
    lists.spill_bound = 8;
    sticky.cap = 1;
    cf_geometry shapes[] = {counts, lists, sticky, shape_of(24, 8, 17)};
    cf_fast lookup[] = {CF_FAST_WHOLE, CF_FAST_NONE, CF_FAST_WHOLE, CF_FAST_NONE};
    for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        twins both = new_twins(shapes[i]);
        assert_kind(&both.quick.filter, lookup[i], CF_FAST_NONE);
        work(&both, 500, 60);
        free_twins(&both);
    }
}

/* ---- pages ---- */

/* What is in memory is as the other filter has it, and the rest is as it was. */
static void assert_pages(const paged *p, const cf_filter *general)
{
    assert_int_equal(p->outside, 0);
    assert_int_equal(paged_untold(p), 0);
    assert_int_equal(p->filter.items, general->items);
    assert_int_equal(p->filter.occupied, general->occupied);
    for (uint64_t at = CF_HEADER_BYTES; at < p->length; at++)
        assert_int_equal(p->here[at] ? p->image[at] : p->source[at], general->bytes[at]);
}

static void work_in_pages(cf_geometry shape, cf_fast change)
{
    paged p;
    test_filter source = new_filter(shape), general = new_filter(shape);
    use_general_ways(&general.filter);
    paged_open(&p, source.filter.bytes, source.filter.length, 1 + random_below(20));
    assert_kind(&p.filter, CF_FAST_NONE, change);
    for (unsigned i = 0; i < 500; i++) {
        uint64_t hash = cf_hash_words(&seeded, random_below(90), 1);
        if (random_below(3) > 0)
            assert_int_equal(cf_add(&p.filter, hash), cf_add(&general.filter, hash));
        else
            assert_int_equal(cf_delete(&p.filter, hash), cf_delete(&general.filter, hash));
        assert_int_equal(cf_contains(&p.filter, hash), cf_contains(&general.filter, hash));
        assert_pages(&p, &general.filter);
    }
    paged_close(&p);
    free_filter(&source);
    free_filter(&general);
}

/* Changes tell of what they read and change; lookups have no quick ways there. */
static void filters_with_pages(void **state)
{
    (void)state;
    work_in_pages(shape_of(24, 4, 12), CF_FAST_PLAIN);
    work_in_pages(shape_of(24, 4, 13), CF_FAST_PLAIN);
    work_in_pages(semisorted(shape_of(24, 4, 12)), CF_FAST_SEMISORTED);
    work_in_pages(semisorted(shape_of(24, 4, 16)), CF_FAST_SEMISORTED);
    work_in_pages(shape_of(24, 8, 12), CF_FAST_WIDE_PAGED);
    work_in_pages(shape_of(24, 4, 29), CF_FAST_WIDE_PAGED);
    work_in_pages(shape_of(24, 4, 31), CF_FAST_WIDE_LONG);
    work_in_pages(semisorted(shape_of(24, 4, 17)), CF_FAST_SEMISORTED);
    work_in_pages(semisorted(shape_of(24, 4, 23)), CF_FAST_WIDE_SEMISORTED);
    work_in_pages(shape_of(24, 8, 17), CF_FAST_NONE);
}

/* They come and go with the pages. */
static void attaching_pages_changes_the_ways(void **state)
{
    paged p;
    test_filter made = new_filter(shape_of(24, 4, 12));
    (void)state;
    paged_open(&p, made.filter.bytes, made.filter.length, 8);
    cf_attach_pages(&p.filter, NULL);
    assert_kind(&p.filter, CF_FAST_WHOLE, CF_FAST_WHOLE);
    cf_attach_pages(&p.filter, &p.hooks);
    assert_kind(&p.filter, CF_FAST_NONE, CF_FAST_PLAIN);
    paged_close(&p);
    free_filter(&made);
}

/* A header that lies about its counts stays within their bounds. */
static void check_counts_that_lie(test_filter made)
{
    cf_filter *filter = &made.filter;
    uint64_t hash = cf_hash_words(&seeded, 1, 1);
    filter->occupied = cf_slots(filter);
    assert_int_equal(cf_add(filter, hash), CF_OK);
    assert_int_equal(filter->occupied, cf_slots(filter));
    filter->occupied = filter->items = 0;
    assert_int_equal(cf_delete(filter, hash), CF_REMOVED);
    assert_true(filter->occupied == 0 && filter->items == 0);
    free_filter(&made);
}

static void counts_that_lie(void **state)
{
    (void)state;
    for (unsigned f = 12; f <= 20; f += 4) {
        twins both = new_twins(shape_of(24, 4, f));
        check_counts_that_lie(both.quick);
        check_counts_that_lie(both.general);
    }
}

/* ---- many lookups ---- */

static void fill(cf_filter *filter, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        cf_add(filter, cf_hash_words(&seeded, i, 1));
}

static void assert_many(const cf_filter *filter, size_t n)
{
    uint64_t *hash = calloc(n + 1, sizeof *hash);
    bool *answer = malloc(n + 1);
    size_t expected = 0;
    for (size_t i = 0; i < n; i++)
        hash[i] = cf_hash_words(&seeded, random_below(200), 1);
    answer[n] = true; /* what lies behind stays */
    size_t found = cf_contains_many(filter, hash, n, answer);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(answer[i], cf_contains(filter, hash[i]));
        expected += answer[i];
    }
    assert_int_equal(found, expected);
    assert_true(answer[n]);
    free(hash);
    free(answer);
}

static void many_lookups_are_many_lookups(void **state)
{
    cf_geometry lists = growing_shape(8, 4, 10);
    (void)state;
    lists.spill_bound = 8;
    cf_geometry shapes[] = {shape_of(32, 4, 12),
                            shape_of(32, 4, 13),
                            semisorted(shape_of(32, 4, 6)),
                            shape_of(32, 8, 12),
                            shape_of(32, 4, 19),
                            shape_of(32, 4, 24),
                            shape_of(32, 4, 31),
                            semisorted(shape_of(32, 4, 21)),
                            shape_of(32, 8, 20),
                            growing_shape(8, 4, 10),
                            semisorted(growing_shape(8, 4, 10)),
                            lists};
    for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        test_filter made = growing_filter(shapes[i], 1 << 20);
        fill(&made.filter, 100);
        for (size_t n = 0; n <= 3 * CF_BATCH; n++)
            assert_many(&made.filter, n);
        assert_many(&made.filter, 1000);
        free_filter(&made);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_buckets_of_whole_bytes),
        cmocka_unit_test(plain_buckets_that_start_anywhere),
        cmocka_unit_test(plain_buckets_of_two_words),
        cmocka_unit_test(semisorted_buckets),
        cmocka_unit_test(few_fingerprints),
        cmocka_unit_test(filters_that_may_grow),
        cmocka_unit_test(filters_that_are_about_to_grow),
        cmocka_unit_test(other_filters_have_none),
        cmocka_unit_test(filters_with_pages),
        cmocka_unit_test(attaching_pages_changes_the_ways),
        cmocka_unit_test(counts_that_lie),
        cmocka_unit_test(many_lookups_are_many_lookups),
    };
    seed_random();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
