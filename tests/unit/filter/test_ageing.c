/* SPDX-License-Identifier: MIT */
/* Filters that forget: what was added within so many epochs is found, and nothing older. An owner that keeps time
** itself, as a filter table does, is in tests/model/ages.h. */
#include "../../probe.h"
#include "../test.h"

/* Keys, and the epoch in which each was added last. */
enum { KEYS = 3000, NEVER = 1 << 30 };

typedef struct stream {
    test_filter made;
    uint64_t hash[KEYS], added[KEYS];
} stream;

static cf_geometry ageing(cf_geometry shape, unsigned epochs)
{
    shape.epochs = (uint8_t)epochs;
    shape.max_copies = 1;
    return shape;
}

static stream *new_stream(cf_geometry shape)
{
    stream *made = calloc(1, sizeof *made);
    made->made = growing_filter(shape, UINT64_MAX);
    for (unsigned i = 0; i < KEYS; i++) {
        made->hash[i] = random64();
        made->added[i] = NEVER;
    }
    return made;
}

static void free_stream(stream *made)
{
    free_filter(&made->made);
    free(made);
}

/* What was added within so many epochs is found, whatever else happened; what is older is found as seldom as what
** was never added. */
static void assert_remembers(const stream *now, uint64_t epochs)
{
    const cf_filter *filter = &now->made.filter;
    unsigned found = 0, old = 0;
    for (unsigned i = 0; i < KEYS; i++) {
        bool has = cf_contains(filter, now->hash[i]);
        bool young = now->added[i] != NEVER && filter->epoch - now->added[i] < epochs;
        if (young && !has)
            fail_msg("a key of %u epochs ago is missing", (unsigned)(filter->epoch - now->added[i]));
        old += !young;
        found += !young && has;
    }
    if (found > 5 + old / 300)
        fail_msg("%u of %u are found, though they are too old", found, old);
    assert_true(filter->items == filter->occupied);
    assert_sound(filter);
}

static void add_some(stream *to, unsigned n, unsigned among)
{
    for (unsigned i = 0; i < n; i++) {
        unsigned key = (unsigned)random_below(among);
        if (cf_add(&to->made.filter, to->hash[key]) == CF_OK)
            to->added[key] = to->made.filter.epoch;
        else
            assert_false(to->made.filter.geometry.growth);
    }
}

/* No entry is older than the filter remembers. */
static void assert_clean(const cf_filter *filter, unsigned epochs)
{
    cf_entry entry;
    uint32_t live = probe_epochs(filter, epochs);
    for (uint64_t bucket = 0; bucket < filter->buckets; bucket++)
        for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++)
            assert_true(!cf_entry_at(filter, bucket, slot, &entry) || live >> entry.payload & 1);
}

static cf_geometry shape_number(unsigned i)
{
    unsigned b = 2u << i % 3;
    cf_geometry shape = i < 3   ? growing_shape(40, b, 16)
                        : i < 6 ? growing_shape(2400 / b, b, 16)
                                : shape_of(1000, 4, 16);
    return i == 1 || i == 4 ? semisorted(shape) : shape;
}
enum { SHAPES = 7 };

TEST(keys_are_found_for_so_many_epochs)
{
    for (unsigned i = 0; i < SHAPES; i++)
        for (unsigned epochs = 1; epochs <= CF_EPOCHS_MAX; epochs += 1 + epochs / 2) {
            stream *now = new_stream(ageing(shape_number(i), epochs));
            for (unsigned step = 0; step < 20; step++) {
                add_some(now, 400, step % 10 < 5 ? KEYS : 300);
                assert_remembers(now, epochs);
                for (uint64_t more = random_below(3); more > 0; more--)
                    cf_advance(&now->made.filter);
                assert_clean(&now->made.filter, epochs);
            }
            for (unsigned step = 0; step < epochs; step++)
                cf_advance(&now->made.filter);
            assert_int_equal(now->made.filter.occupied, 0);
            free_stream(now);
        }
}

TEST(adding_again_makes_young)
{
    test_filter made = new_filter(ageing(shape_of(100, 4, 16), 3));
    for (unsigned i = 0; i < 20; i++) {
        assert_int_equal(cf_add(&made.filter, 7), CF_OK);
        assert_int_equal(cf_add(&made.filter, 7), CF_OK);
        assert_int_equal(made.filter.occupied, 1);
        assert_int_equal(cf_count(&made.filter, 7), 1);
        assert_int_equal(cf_delete(&made.filter, 7), CF_SATURATED);
        cf_advance(&made.filter);
    }
    cf_advance(&made.filter);
    assert_true(cf_contains(&made.filter, 7));
    cf_advance(&made.filter);
    assert_false(cf_contains(&made.filter, 7));
    assert_int_equal(cf_delete(&made.filter, 7), CF_ABSENT);
    free_filter(&made);
}

/* A split takes nothing along that is dead, and one that ages does not grow because of what is dead. */
TEST(splits_drop_the_dead)
{
    for (unsigned b = 2; b <= 8; b *= 2) {
        stream *now = new_stream(ageing(growing_shape(2000 / b, b, 16), 3));
        cf_filter *filter = &now->made.filter;
        uint64_t buckets = filter->buckets;
        for (unsigned epoch = 0; epoch < 30; epoch++) {
            add_some(now, 450, KEYS);
            probe_sweep_next(filter);
            probe_begin_epoch(filter);
        }
        assert_true(filter->buckets == buckets && filter->occupied > 1000);
        for (uint64_t steps = buckets; steps > 0; steps--)
            assert_true(probe_split(filter));
        assert_clean(filter, 3);
        filter->items = filter->occupied;
        assert_remembers(now, 3);
        free_stream(now);
    }
}

/* ---- merges ---- */

TEST(sums_keep_the_later_epoch)
{
    const char *why;
    for (unsigned i = 0; i < SHAPES; i++)
        for (unsigned ahead = 0; ahead < 40; ahead += 1 + ahead / 4) {
            cf_geometry shape = ageing(shape_number(i), 5);
            stream *one = new_stream(shape), *two = new_stream(shape);
            memcpy(two->hash, one->hash, sizeof one->hash);
            bool first = random_below(2);
            for (unsigned step = 0; step < 12; step++) {
                add_some(one, 50, 1500), add_some(two, 50, 1500);
                cf_advance(&one->made.filter), cf_advance(&two->made.filter);
            }
            for (unsigned step = 0; step < ahead; step++)
                cf_advance(first ? &one->made.filter : &two->made.filter);
            unsigned lives =
                random_below(2) ? 5
                                : 2; /* what an owner that keeps time has forgotten does not come back */
            probe_live(&two->made.filter, lives);
            assert_int_equal(cf_merge(&one->made.filter, &two->made.filter, &why), CF_OK);
            for (unsigned key = 0; key < KEYS; key++)
                if (two->added[key] != NEVER && two->made.filter.epoch - two->added[key] < lives &&
                    (one->added[key] == NEVER || one->added[key] < two->added[key]))
                    one->added[key] = two->added[key];
            assert_int_equal(one->made.filter.epoch, 12 + ahead);
            assert_remembers(one, 5);
            assert_clean(&one->made.filter, 5);
            cf_advance(&one->made.filter);
            assert_remembers(one, 5);
            free_stream(one), free_stream(two);
        }
}

TEST(shrinking_leaves_the_dead_behind)
{
    for (unsigned b = 2; b <= 8; b *= 2) {
        cf_geometry shape = ageing(growing_shape(40, b, 16), 6);
        stream *now = new_stream(shape);
        test_filter smaller = growing_filter(shape, UINT64_MAX);
        add_some(now, 8000, KEYS);
        for (unsigned i = 0; i < 6; i++) {
            cf_advance(&now->made.filter);
            add_some(now, i == 2 ? 50 : 0, KEYS);
            cf_advance(&smaller.filter);
        }
        assert_int_equal(cf_shrink(&smaller.filter, &now->made.filter), CF_OK);
        assert_true(smaller.filter.length < now->made.filter.length / 8);
        free_filter(&now->made);
        now->made = smaller;
        assert_clean(&smaller.filter, 6);
        assert_remembers(now, 6);
        free_stream(now);
    }
}

/* ---- limits ---- */

/* A refused key changes no answer, also where the table has grown for it. */
TEST(a_refused_key_changes_no_answer)
{
    unsigned refused = 0;
    for (unsigned b = 2; b <= 8; b *= 2) {
        cf_geometry shape = ageing(growing_shape(1100, b, 16), 4);
        shape.capacity = 1100 * b * 7 / 10; /* so it is about to grow soon */
        test_filter made = growing_filter(shape, UINT64_MAX);
        for (unsigned i = 0; i < 2200 * b; i++) {
            if (i % (900 * b) == 0)
                probe_begin_epoch(&made.filter);
            snapshot before = remember(&made.filter);
            resizes_left = random_below(3);
            cf_status status = cf_add(&made.filter, random64());
            resizes_left = UINT64_MAX;
            if (status != CF_OK) {
                assert_same_answers(&made.filter, &before);
                refused++;
            }
            free(before.bytes);
        }
        assert_sound(&made.filter);
        free_filter(&made);
    }
    assert_true(refused > 0);
}

/* With half of the table dead, it is refused because of 2b live keys of one pair. */
TEST(too_many_of_one_pair_are_refused)
{
    test_filter made = new_filter(ageing(shape_of(64, 2, 8), 3));
    unsigned taken = 0;
    for (uint64_t i = 1; i <= 20; i++)
        taken += cf_add(&made.filter, i) == CF_OK; /* base bucket 0 */
    assert_true(taken > 2 && made.filter.occupied == taken);
    for (unsigned i = 0; i < 3; i++)
        probe_begin_epoch(&made.filter);
    for (uint64_t i = 1; i <= taken; i++)
        assert_int_equal(cf_add(&made.filter, i), CF_OK);
    assert_int_equal(made.filter.occupied, taken);
    assert_sound(&made.filter);
    free_filter(&made);
}

/* Entries that know no bit to be split by double with their buckets: a table full of them took all memory. */
TEST(a_table_of_exhausted_entries_grows_no_further)
{
    for (unsigned b = 2; b <= 4; b *= 2) {
        cf_geometry shape = ageing(shape_of(64, b, 12), 3);
        shape.growth = true;
        shape.pair_bits = 12;
        test_filter made = growing_filter(shape, UINT64_C(1) << 24);
        unsigned refused = 0;
        for (unsigned i = 0; i < 100 * 64 * b; i++)
            refused += cf_add(&made.filter, random64()) != CF_OK;
        assert_true(refused > 0 && made.filter.buckets <= 100 * shape.buckets);
        assert_sound(&made.filter);
        free_filter(&made);
    }
}

/* What is live is as young as can be; what is dead stays dead. */
TEST(all_is_renewed)
{
    test_filter made = new_filter(ageing(shape_of(30, 4, 16), 3));
    cf_add(&made.filter, 1);
    for (uint64_t key = 2; key < 6; key++)
        probe_begin_epoch(&made.filter), cf_add(&made.filter, key);
    cf_renew(&made.filter);
    for (unsigned age = 0; age < 4; age++, cf_advance(&made.filter))
        for (uint64_t key = 1; key < 6; key++)
            assert_int_equal(cf_contains(&made.filter, key), key > 2 && age < 3);
    assert_int_equal(made.filter.occupied, 0);
    free_filter(&made);
}

/* The header says all of it; the last epoch is followed by the first. */
TEST(epochs_are_kept)
{
    const char *why = "";
    cf_filter again;
    test_filter made = new_filter(ageing(shape_of(30, 4, 16), 2));
    memset(made.bytes + 38, 0xff, 6);
    for (unsigned i = 0, sum = cf_checksum(made.bytes); i < 4; i++)
        made.bytes[60 + i] = (uint8_t)(sum >> (8 * i));
    assert_int_equal(cf_open_writable(&made.filter, made.bytes, made.filter.length, &why), CF_OK);
    assert_true(made.filter.epoch == ((uint64_t)1 << 48) - 1);
    cf_add(&made.filter, 5);
    cf_reader reader = {.filter = {.length = 0}};
    for (unsigned i = 0; i < 3; i++) {
        cf_seal(&made.filter);
        assert_int_equal(cf_open(&again, made.filter.bytes, made.filter.length, &why), CF_OK);
        assert_int_equal(cf_reader_open(&reader, made.filter.bytes, made.filter.length, &why), CF_OK);
        assert_true(again.geometry.epochs == 2 && again.items == again.occupied);
        assert_true(again.epoch == made.filter.epoch && reader.filter.epoch == again.epoch);
        assert_int_equal(cf_contains(&again, 5), i < 2);
        assert_int_equal(cf_contains(&reader.filter, 5), i < 2);
        cf_advance(&made.filter);
    }
    assert_int_equal(made.filter.epoch, 2);
    free_filter(&made);
}
