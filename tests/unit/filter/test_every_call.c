/* SPDX-License-Identifier: MIT */
/*
** Every call of the C library on every kind of filter, through every kind of view. Afterwards no key is
** missing that was added and not deleted; after CF_OK cf_check says so, too; a call that is refused has
** changed no answer and no count; through a view for reading only nothing is written.
*/
#include "../worlds.h"

/* ---- calls ---- */

/* Another filter of the shape, with keys of its own; as much memory, and the watch. */
static cf_filter *make_other(world *w, unsigned n)
{
    w->other = growing_filter(w->filter->geometry, UINT64_MAX);
    cf_filter *other = &w->other.filter;
    uint64_t ahead = (const uint64_t[]){0, 0, 1, 9}[random_below(4)];
    while (other->geometry.epochs && other->epoch < w->filter->epoch + ahead)
        cf_advance(other);
    for (unsigned i = 0; i < n; i++)
        add_key(w, other, i % 4 ? random64() : w->n ? w->key[0].hash : 1);
    if (w->look != PAGED && w->look != READ_ONLY)
        other->memory = w->filter->memory;
    if (w->look == TIGHT)
        other->memory.most = other->length;
    other->watch = w->filter->watch;
    return other;
}

static cf_status call_add(world *w)
{
    return add_key(w, w->filter, random64());
}

static cf_status call_add_plain(world *w)
{
    cf_status status = cf_add(w->filter, 77);
    if (status == CF_OK)
        note_key(w, w->filter, 77, 0);
    return status;
}

static cf_status call_add_many(world *w)
{
    enum { N = 100 };
    uint64_t hashes[N];
    size_t added = 0;
    for (unsigned i = 0; i < N; i++)
        hashes[i] = i % 9 ? random64() : i;
    cf_status status = cf_add_many(w->filter, hashes, N, &added);
    assert_true(status != CF_OK || added == N);
    for (unsigned i = 0; i < added; i++)
        note_key(w, w->filter, hashes[i], 0);
    w->partly = added > 0;
    return status;
}

static cf_status call_delete(world *w)
{
    if (w->n > 0)
        return delete_key(w, (unsigned)random_below(w->n));
    assert_int_equal(cf_delete(w->filter, 5), w->look == READ_ONLY ? CF_STICKY : CF_ABSENT);
    return w->look == READ_ONLY ? CF_BAD_ARGUMENT : CF_OK;
}

static cf_status call_merge_into(world *w)
{
    const char *why;
    const cf_filter *other = make_other(w, 30);
    begin_poverty(w->look);
    cf_status status = cf_merge(w->filter, other, &why);
    w->partly = w->look == FIXED;
    if (status != CF_OK)
        w->n = w->before;
    return status;
}

static cf_status call_merge_from(world *w)
{
    const char *why;
    cf_filter *into = make_other(w, 30);
    snapshot then = remember(into);
    begin_poverty(w->look);
    cf_status status = cf_merge(into, w->filter, &why);
    if (status == CF_OK)
        w->filter = into;
    else {
        w->n = w->before;
        if (w->look != FIXED)
            assert_unchanged(into, &then);
        if (into->geometry.epochs && into->items != into->occupied)
            w->wrong = "items, though refused";
    }
    free(then.bytes);
    return status;
}

static cf_status call_merge_alike(world *w)
{
    const char *why;
    cf_filter again = *w->filter;
    assert_int_equal(cf_merge(w->filter, &again, &why),
                     w->look == READ_ONLY ? CF_BAD_ARGUMENT : CF_MISMATCH);
    test_filter unlike = new_filter(shape_of(62, 4, 16));
    assert_int_equal(cf_mergeable(w->filter, &unlike.filter, &why), CF_MISMATCH);
    cf_status status = cf_merge(w->filter, &unlike.filter, &why);
    free_filter(&unlike);
    return status;
}

static cf_status call_shrink_from(world *w)
{
    w->other = growing_filter(w->filter->geometry, UINT64_MAX);
    if (w->look != PAGED && w->look != READ_ONLY)
        w->other.filter.memory = w->filter->memory;
    w->other.filter.watch = w->filter->watch;
    begin_poverty(w->look);
    cf_status status = cf_shrink(&w->other.filter, w->filter);
    if (status != CF_OK)
        return status;
    if (w->other.filter.epoch != w->filter->epoch)
        w->wrong = "epoch";
    else if (!w->filter->geometry.epochs && w->other.filter.items != w->filter->items)
        w->wrong = "items";
    w->filter = &w->other.filter;
    return status;
}

/* `into` may not be written. */
static cf_status call_shrink_into(world *w)
{
    cf_filter into = *w->filter;
    cf_rebase(&into, into.bytes, NULL);
    assert_int_equal(cf_shrink(&into, make_other(w, 5)), CF_BAD_ARGUMENT);
    w->n = w->before;
    return CF_OK;
}

static cf_status call_settle(world *w)
{
    w->partly = true; /* interrupted */
    return cf_settle(w->filter);
}

static cf_status only_if_writable(const world *w)
{
    return w->look != READ_ONLY ? CF_OK : CF_BAD_ARGUMENT;
}

static cf_status call_seal(world *w)
{
    cf_filter again;
    const char *why;
    cf_seal(w->filter);
    assert_int_equal(cf_open(&again, w->filter->bytes, w->filter->length, &why), CF_OK);
    assert_true(again.items == w->filter->items && again.epoch == w->filter->epoch);
    assert_int_equal(again.occupied, w->filter->occupied);
    return only_if_writable(w);
}

static cf_status call_clear(world *w)
{
    cf_clear(w->filter);
    if (w->look != READ_ONLY)
        w->n = 0;
    return only_if_writable(w);
}

static cf_status call_advance(world *w)
{
    if (w->filter->geometry.epochs)
        cf_advance(w->filter);
    return only_if_writable(w);
}

static cf_status call_grow(world *w)
{
    bool may = w->look != READ_ONLY && w->filter->memory.resize, done = may && probe_split(w->filter);
    cf_seal(w->filter); /* which counts the items of one that ages */
    return done ? CF_OK : CF_BAD_ARGUMENT;
}

static cf_status call_rebase(world *w)
{
    cf_filter *filter = w->filter;
    cf_rebase(filter, filter->bytes, NULL);
    assert_int_equal(cf_add(filter, 5), CF_BAD_ARGUMENT);
    cf_rebase(filter, filter->bytes, w->look != READ_ONLY ? bytes_of(filter) : NULL);
    return CF_OK;
}

static cf_status call_build(world *w)
{
    const cf_geometry *g = &w->filter->geometry;
    const char *why;
    uint64_t hashes[MOST];
    cf_options options = {.bucket_size = g->bucket_size,
                          .fingerprint_bits = g->fingerprint_bits,
                          .growth = g->growth,
                          .epochs = g->epochs,
                          .counter_bits = g->counter_bits,
                          .overflow = g->spill_bound > 0};
    for (unsigned i = 0; i < w->n; i++)
        hashes[i] = w->key[i].hash;
    cf_filter made = {.memory = {test_resize, w->look == TIGHT ? 64 : UINT64_MAX, NULL},
                      .watch = w->filter->watch};
    begin_poverty(w->look);
    cf_status status = cf_build(&made, hashes, w->n, 0, 0, &options, &why);
    assert_true((status == CF_OK) == (made.bytes != NULL));
    for (unsigned i = 0; i < w->n && status == CF_OK; i++)
        assert_true(cf_contains(&made, w->key[i].hash));
    made.watch = NULL;
    if (status == CF_OK) {
        assert_sound(&made);
        test_resize(NULL, bytes_of(&made), 0);
    }
    return CF_OK;
}

/* All that only looks, in one. */
static cf_status call_look(world *w)
{
    const cf_filter *filter = w->filter;
    cf_census census = cf_take_census(filter);
    cf_entry entry;
    bool movable;
    uint64_t entries = 0;
    unsigned at = 0;
    assert_null(cf_difference(filter, filter, &at));
    for (uint64_t bucket = 0; bucket < filter->buckets; bucket++)
        for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++)
            if (cf_entry_at(filter, bucket, slot, &entry)) {
                entries++;
                assert_true(cf_entry_matches(filter, &entry, &entry.side) || filter->geometry.epochs);
                assert_true(cf_entry_copies(filter, &entry) > 0);
                assert_true(cf_entry_alternate(filter, &entry, &movable) < filter->buckets);
            }
    assert_true(entries == filter->occupied);
    assert_true(census.occupied == entries || census.status != CF_OK || filter->geometry.epochs);
    for (unsigned i = 0; i < filter->spilled; i++)
        assert_true(cf_spilled_at(filter, i, &entry) && cf_overflows(filter, entry.bucket));
    return CF_OK;
}

static const struct {
    const char *name;
    bool writes;
    cf_status (*run)(world *w);
} calls[] = {{"cf_add_value", true, call_add},
             {"cf_add", true, call_add_plain},
             {"cf_add_many", true, call_add_many},
             {"cf_delete", true, call_delete},
             {"cf_merge into it", true, call_merge_into},
             {"cf_merge from it", false, call_merge_from},
             {"cf_merge with others", true, call_merge_alike},
             {"cf_shrink", false, call_shrink_from},
             {"cf_shrink into it", false, call_shrink_into},
             {"cf_settle", true, call_settle},
             {"cf_seal", true, call_seal},
             {"cf_clear", true, call_clear},
             {"cf_advance", true, call_advance},
             {"a split", true, call_grow},
             {"cf_rebase", false, call_rebase},
             {"cf_build", false, call_build},
             {"looking", false, call_look}};
enum { CALLS = sizeof calls / sizeof calls[0] };

/* ---- what must be so ---- */

/* All ways to ask say the same. */
static void ask(const cf_filter *filter, const uint64_t *hashes, unsigned n, bool *answers)
{
    uint64_t values[CF_VALUES_MAX], value;
    cf_contains_many(filter, hashes, n, answers);
    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(cf_contains(filter, hashes[i]), answers[i]);
        assert_int_equal(cf_count(filter, hashes[i]) > 0, answers[i]);
        if (filter->geometry.epochs)
            continue;
        assert_int_equal(cf_get(filter, hashes[i], &value), answers[i]);
        assert_int_equal(cf_get_all(filter, hashes[i], values) > 0, answers[i]);
    }
}

/* What is wrong is told of all cases, and counted. */
static unsigned broken;

static void require(bool is_so, const world *w, const filter_kind *kind, unsigned call, const char *what)
{
    broken += !is_so;
    if (!is_so)
        fprintf(stderr, "%s, %s, %s: %s\n", calls[call].name, kind->name, views[w->look], what);
}

static bool has_key(const cf_filter *filter, uint64_t hash, uint64_t value)
{
    uint64_t values[CF_VALUES_MAX];
    unsigned n = cf_get_all(filter, hash, values), at = 0;
    while (filter->geometry.value_bits && at < n && values[at] != value)
        at++;
    return cf_contains(filter, hash) && (at < n || !filter->geometry.value_bits);
}

static bool has_all(const world *w)
{
    unsigned found = 0;
    for (unsigned i = 0; i < w->n; i++)
        found += has_key(w->filter, w->key[i].hash, w->key[i].value);
    return found == w->n;
}

static void run_case(const filter_kind *kind, unsigned call, way view)
{
    bool before[STRANGERS + MOST], after[STRANGERS + MOST];
    uint64_t hashes[STRANGERS + MOST];
    world *w = new_world(kind, view);
    unsigned n = w->before = w->n;
    for (unsigned i = 0; i < n + STRANGERS; i++)
        hashes[i] = i < n ? w->key[i].hash : random64();
    ask(w->filter, hashes, n + STRANGERS, before);
    require(has_all(w), w, kind, call, "a key is missing before");
    snapshot then = remember(w->filter);
    begin_poverty(view);
    cf_status status = calls[call].run(w);
    resizes_left = UINT64_MAX;
    cf_filter *filter = w->filter;
    forget_old(w);
    filter->watch = NULL;
    if (view == READ_ONLY) {
        require(status == CF_BAD_ARGUMENT || !calls[call].writes, w, kind, call, "is not refused");
        require(memcmp(w->made.bytes, then.bytes, then.filter.length) == 0, w, kind, call, "writes");
    }
    require(w->wrong == NULL, w, kind, call, w->wrong);
    require(has_all(w), w, kind, call, "a key is missing");
    const char *why = "";
    require(cf_check(filter, &why) == CF_OK, w, kind, call, why);
    require(!filter->geometry.epochs || filter->items == filter->occupied, w, kind, call, "items");
    if (status != CF_OK && !w->partly) {
        ask(filter, hashes, n + STRANGERS, after);
        require(memcmp(before, after, n + STRANGERS) == 0, w, kind, call, "refused, answers change");
        require(filter->items == then.filter.items && filter->epoch == then.filter.epoch &&
                    filter->occupied == then.filter.occupied,
                w, kind, call, "refused, counts change");
    }
    if (view == PAGED)
        require(w->pages.outside == 0 && paged_untold(&w->pages) == 0, w, kind, call, "untold");
    free(then.bytes);
    free_world(w);
}

TEST(every_call_keeps_its_promises)
{
    unsigned cases = 0;
    const filter_kind *all = kinds();
    for (unsigned kind = 0; kind < KINDS; kind++)
        for (unsigned call = 0; call < CALLS; call++)
            for (way view = WRITABLE; view < VIEWS; view++, cases++)
                run_case(&all[kind], call, view);
    fprintf(stderr, "%u cases: %u calls, %u kinds, %u views\n", cases, CALLS, KINDS, VIEWS);
    assert_int_equal(broken, 0);
}
