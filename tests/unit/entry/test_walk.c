/* SPDX-License-Identifier: MIT */
#include "../test.h"

#include "../../../src/entry/spill.h"
#include "../../../src/entry/walk.h"
#include "../../../src/table/bucket.h"

/* ---- buckets ---- */

static uint64_t walk_over(const cf_filter *filter, uint64_t *buckets)
{
    uint64_t n = 0;
    cf_walk walk = cf_walk_begin(filter, 1);
    while (cf_walk_next(&walk))
        buckets[n++] = walk.bucket;
    assert_int_equal(walk.status, CF_OK);
    return n;
}

/* By slots, payloads and overflow bits, one after the other. */
static bool holds_anything(const cf_filter *filter, uint64_t bucket)
{
    bool any = cf_overflow_get(filter, bucket);
    for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++)
        any |= cf_slot_get(filter, bucket, slot) != 0 || cf_payload_get(filter, bucket, slot) != 0;
    return any;
}

static void assert_walk_is_complete(const cf_filter *filter)
{
    uint64_t *found = malloc((filter->buckets + 1) * sizeof *found), at = 0;
    uint64_t n = walk_over(filter, found);
    for (uint64_t bucket = 0; bucket < filter->buckets; bucket++)
        if (holds_anything(filter, bucket)) {
            assert_true(at < n);
            assert_int_equal(found[at++], bucket);
        }
    assert_int_equal(at, n);
    free(found);
}

static cf_geometry some_shape(void)
{
    static const unsigned sizes[] = {1, 2, 4, 8};
    unsigned f = 4 + (unsigned)random_below(29);
    cf_geometry shape = shape_of(2 + 2 * random_below(150), sizes[random_below(4)], f);
    shape.semisorted = shape.bucket_size == 4 && f > 4 && random_below(2);
    shape.counter_bits = (uint8_t)(random_below(3) ? 0 : 1 + random_below(16));
    return random_below(2) ? spilling(shape, 1, 5) : shape;
}

/* Records of four bits to more than four hundred, several to a byte or several bytes long. */
static void every_bucket_that_holds_anything_is_found(void **state)
{
    (void)state;
    for (int round = 0; round < 400; round++) {
        test_filter made = new_filter(some_shape());
        uint64_t *none = calloc(made.filter.buckets, sizeof *none);
        assert_int_equal(walk_over(&made.filter, none), 0);
        free(none);
        for (uint64_t n = random_below(1 + made.filter.buckets / 2); n > 0; n--)
            cf_add(&made.filter, random64());
        assert_walk_is_complete(&made.filter);
        for (uint64_t bits = made.filter.buckets * made.filter.view.form.bucket_bits, n = 0; n < 20;
             n++) {
            uint64_t at = random_below(bits); /* any single bit, of tags, payloads or overflow bits */
            made.filter.view.writable[at / 8] ^= (uint8_t)(1 << at % 8);
        }
        if (!made.filter.geometry.semisorted)
            assert_walk_is_complete(&made.filter);
        free_filter(&made);
    }
}

/* ---- pages ---- */

enum { PAGE = 4096 };

/* A blob of which some pages are known to be zero. */
typedef struct sparse {
    cf_pages hooks;
    uint64_t length;
    uint8_t *is_there;      /* by page */
    uint64_t asked, needed; /* calls of skip; pages asked for that are not there */
    uint64_t last;          /* the page that was asked for last */
} sparse;

static void need_sparse(void *context, uint64_t from, uint64_t to)
{
    sparse *pages = context;
    assert_true(from < to && to <= pages->length);
    for (uint64_t page = from / PAGE; page <= (to - 1) / PAGE; page++) {
        pages->needed += !pages->is_there[page] && page != pages->last;
        pages->last = page;
    }
}

static uint64_t skip_sparse(void *context, uint64_t from)
{
    sparse *pages = context;
    uint64_t page = from / PAGE;
    pages->asked++;
    if (from >= pages->length || pages->is_there[page])
        return from;
    while (page * PAGE < pages->length && !pages->is_there[page])
        page++;
    return page * PAGE < pages->length ? page * PAGE : pages->length;
}

static sparse *make_sparse(cf_filter *filter)
{
    sparse *pages = calloc(1, sizeof *pages);
    pages->hooks = (cf_pages){need_sparse, need_sparse, skip_sparse, pages};
    pages->length = filter->length;
    pages->is_there = calloc(filter->length / PAGE + 1, 1);
    for (uint64_t at = 0; at < filter->length; at++)
        pages->is_there[at / PAGE] |= filter->bytes[at] != 0;
    cf_attach_pages(filter, &pages->hooks);
    return pages;
}

static void free_sparse(sparse *pages)
{
    free(pages->is_there);
    free(pages);
}

/* A filter for two million keys that holds a few. */
static test_filter nearly_empty(unsigned keys, bool grown)
{
    cf_geometry shape = spilling(growing_shape(500000, 4, 12), 1, 9);
    test_filter made = grown ? filter_at_stage(shape, 1, 333333) : new_filter(shape);
    for (unsigned i = 0; i < keys; i++)
        assert_int_equal(cf_add(&made.filter, random64()), CF_OK);
    return made;
}

/* For each key: its other bucket, and in each walk the page behind its own. */
static void assert_cheap(sparse *pages, unsigned keys)
{
    assert_true(pages->needed <= 8 * (keys + 1) && pages->asked <= 40 * (keys + 1));
    pages->needed = pages->asked = 0;
}

static void what_is_not_there_is_not_asked_for(void **state)
{
    (void)state;
    for (unsigned keys = 0; keys <= 40; keys += 20)
        for (int grown = 0; grown < 2; grown++) {
            test_filter made = nearly_empty(keys, grown), sum = new_filter(made.filter.geometry);
            const char *why = "";
            sparse *pages = make_sparse(&made.filter);
            assert_sound(&made.filter);
            assert_cheap(pages, keys);
            assert_int_equal(cf_take_census(&made.filter).occupied, keys);
            assert_cheap(pages, keys);
            assert_int_equal(cf_settle(&made.filter), CF_OK);
            assert_cheap(pages, keys);
            sum.filter.memory = (cf_memory){test_resize, UINT64_MAX, NULL};
            if (grown)
                assert_int_equal(cf_shrink(&sum.filter, &made.filter), CF_OK);
            else
                assert_int_equal(cf_merge(&sum.filter, &made.filter, &why), CF_OK);
            assert_int_equal(sum.filter.items, keys);
            assert_cheap(pages, keys);
            free_filter(&sum);
            free_filter(&made);
            free_sparse(pages);
        }
}

/* Wherever a byte is that should not be, it is seen. */
static void what_is_there_is_seen(void **state)
{
    (void)state;
    test_filter made = nearly_empty(3, false);
    const char *why;
    for (int i = 0; i < 300; i++) {
        uint64_t at = i == 0 ? made.filter.length - 1
                             : CF_HEADER_BYTES + random_below(made.filter.length - CF_HEADER_BYTES);
        uint8_t before = made.filter.bytes[at];
        made.filter.view.writable[at - CF_HEADER_BYTES] ^= 0x40;
        sparse *pages = make_sparse(&made.filter);
        assert_int_equal(cf_check(&made.filter, &why), CF_DAMAGED);
        made.filter.view.writable[at - CF_HEADER_BYTES] = before;
        cf_attach_pages(&made.filter, NULL);
        free_sparse(pages);
    }
    assert_sound(&made.filter);
    free_filter(&made);
}

/* A header that counts entries that are not there does not make the smaller filter a large one. */
static void shrinking_counts_for_itself(void **state)
{
    (void)state;
    test_filter made = nearly_empty(10, true), smaller = new_filter(made.filter.geometry);
    smaller.filter.memory = (cf_memory){test_resize, UINT64_MAX, NULL};
    made.filter.occupied = made.filter.buckets * 2;
    assert_int_equal(cf_shrink(&smaller.filter, &made.filter), CF_OK);
    assert_int_equal(smaller.filter.buckets, 500000);
    free_filter(&smaller);
    free_filter(&made);
}

/* ---- entries ---- */

static bool same_entry(const cf_entry *a, const cf_entry *b)
{
    return a->bucket == b->bucket && a->slot == b->slot && a->extension == b->extension &&
           a->side.base == b->side.base && a->side.bits == b->side.bits &&
           a->side.length == b->side.length && a->payload == b->payload && a->sticky == b->sticky;
}

/* Those in slots by bucket and slot, then those of the list. */
static void assert_entries_are_walked(const cf_filter *filter)
{
    cf_entry entry, expected;
    cf_walk walk = cf_walk_begin(filter, 1);
    for (uint64_t bucket = 0; bucket < filter->buckets; bucket++)
        for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++)
            if (cf_entry_at(filter, bucket, slot, &expected)) {
                assert_true(cf_walk_entry(&walk, &entry));
                assert_true(same_entry(&entry, &expected));
            }
    for (unsigned i = 0; i < filter->spilled; i++)
        if (cf_spilled_at(filter, i, &expected)) {
            assert_true(cf_walk_entry(&walk, &entry));
            assert_true(same_entry(&entry, &expected));
        }
    assert_false(cf_walk_entry(&walk, &entry));
    assert_int_equal(walk.status, CF_OK);
}

static void every_entry_is_walked_over(void **state)
{
    unsigned spilled = 0;
    (void)state;
    for (int round = 0; round < 300; round++) {
        cf_geometry shape = growing_shape(2 + 2 * random_below(20), 2u << random_below(3), 12);
        shape.semisorted = shape.bucket_size == 4 && random_below(2);
        shape.value_bits = random_below(2) ? 5 : 0;
        test_filter made = growing_filter(random_below(2) ? spilling(shape, 0, 30) : shape,
                                          random_below(2) ? UINT64_MAX : 0);
        for (uint64_t keys = random_below(300); keys > 0; keys--)
            cf_add_value(&made.filter, random64(), random64() & cf_low_bits(shape.value_bits));
        assert_entries_are_walked(&made.filter);
        spilled += made.filter.spilled;
        free_filter(&made);
    }
    assert_true(spilled > 100);
}

/* Lines of the list that lie are passed over. */
static void lines_that_lie_are_no_entries(void **state)
{
    test_filter made = new_filter(spilling(growing_shape(10, 4, 12), 0, 8));
    cf_entry entry;
    (void)state;
    for (unsigned i = 0; i < 6; i++)
        cf_spill_put(&made.filter, i, &(cf_spilled){i % 2 ? 3 : 10, i == 3 ? 0 : 77, 0});
    made.filter.spilled = 6;
    cf_walk walk = cf_walk_begin(&made.filter, 1);
    assert_true(cf_walk_entry(&walk, &entry) && entry.slot == CF_IN_LIST + 1);
    assert_true(cf_walk_entry(&walk, &entry) && entry.slot == CF_IN_LIST + 5);
    assert_false(cf_walk_entry(&walk, &entry));
    free_filter(&made);
}

static bool stop_in_time(void *context)
{
    unsigned *questions = context;
    return --*questions == 0;
}

/* A walk that was ended gives no entry any more, neither of buckets nor of the list, whenever it is
** ended: true for one that was not. */
static bool walk_ends(cf_filter *filter, unsigned questions, unsigned *n)
{
    cf_entry entry;
    cf_watch watch = {stop_in_time, &questions};
    filter->watch = &watch;
    cf_walk walk = cf_walk_begin(filter, 1 << 15);
    for (*n = 0; cf_walk_entry(&walk, &entry); ++*n)
        assert_true(*n < filter->occupied ? entry.slot < CF_IN_LIST : entry.slot >= CF_IN_LIST);
    assert_false(cf_walk_entry(&walk, &entry));
    filter->watch = NULL;
    return walk.status == CF_OK;
}

static void ended_walks_give_no_entries(void **state)
{
    test_filter made = new_filter(spilling(shape_of(100, 4, 12), 0, 30));
    unsigned n, last = 0, in_list = 0, questions = 1;
    (void)state;
    while (made.filter.spilled < 5)
        cf_add(&made.filter, random64());
    for (; !walk_ends(&made.filter, questions, &n); questions++) {
        assert_true(n >= last && n < made.filter.occupied + made.filter.spilled);
        in_list += n > made.filter.occupied;
        last = n;
    }
    assert_true(n == made.filter.occupied + made.filter.spilled && in_list > 2);
    free_filter(&made);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_bucket_that_holds_anything_is_found),
    cmocka_unit_test(what_is_not_there_is_not_asked_for),
    cmocka_unit_test(what_is_there_is_seen),
    cmocka_unit_test(shrinking_counts_for_itself),
    cmocka_unit_test(every_entry_is_walked_over),
    cmocka_unit_test(lines_that_lie_are_no_entries),
    cmocka_unit_test(ended_walks_give_no_entries),
};

RUN_TESTS(tests)
