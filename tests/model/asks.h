/* SPDX-License-Identifier: MIT */
/*
** asks.h - all the ways to ask a filter, beside each other and beside the model.
**
** cf_contains, cf_contains_many, cf_count, cf_get and cf_get_all must agree with a look at each slot
** and each line of the list, for every hash, stored or not. They must do so in the filter itself, in
** its bytes opened anew, and in one whose pages come when it asks for them.
*/
#ifndef CUCKOO_MODEL_ASKS_H
#define CUCKOO_MODEL_ASKS_H

#include "../paged.h"
#include "subject.h"

enum { STRANGERS = 24, SAMPLE = 40, ALONE = 6 };

/* ---- one key ---- */

static bool is_among(const uint64_t *value, unsigned n, uint64_t wanted)
{
    while (n > 0 && value[n - 1] != wanted)
        n--;
    return n > 0;
}

/* What cf_count makes of so many copies. */
static uint64_t told(const cf_geometry *shape, uint64_t copies)
{
    return shape->counter_bits || shape->value_bits ? copies : model_least(copies, shape->max_copies);
}

static void check_values(const model_look *seen, const uint64_t *value, unsigned values)
{
    for (unsigned i = 0; i < values; i++)
        if (!is_among(seen->value, seen->entries, value[i]) || is_among(value, i, value[i]))
            model_fail("get_all tells a value that is not there, or tells it twice");
    for (unsigned i = 0; i < seen->entries; i++)
        if (!is_among(value, values, seen->value[i]))
            model_fail("get_all does not tell a value that is there");
}

/* All ways to ask for one key say what a look finds. */
static void check_agreement(const cf_filter *filter, uint64_t hash, bool among_many)
{
    model_look seen = model_look_for(filter, hash, 0);
    uint64_t value[CF_VALUES_MAX], first = 0, count = cf_count(filter, hash);
    bool contained = cf_contains(filter, hash), got = cf_get(filter, hash, &first);
    unsigned values = cf_get_all(filter, hash, value);
    if (filter->geometry.value_bits == 0) {
        if (got || values > 0)
            model_fail("get tells a value of a filter without values");
        got = contained, values = contained, value[0] = first = seen.value[0];
    }
    if (filter->geometry.epochs)
        seen.entries = contained;
    if (contained != (seen.entries > 0) || among_many != contained || got != contained ||
        (values > 0) != contained)
        model_fail("%u entries match, but contains %d, contains_many %d, get %d, get_all %u",
                   seen.entries, contained, among_many, got, values);
    if (count != told(&filter->geometry, seen.copies))
        model_fail("entries of %llu copies match, but %llu are counted", (unsigned long long)seen.copies,
                   (unsigned long long)count);
    if (filter->geometry.value_bits != 0)
        check_values(&seen, value, values);
    if (got && first != value[0])
        model_fail("get and get_all begin with different values");
}

/* ---- one view of the bytes ---- */

/* Asks for all keys and some strangers at once, and in detail for some of them. */
static void check_view(const subject *s, const cf_filter *filter)
{
    uint32_t keys = s->m.n, n = keys + STRANGERS;
    uint64_t *hash = model_need(calloc(n, sizeof *hash));
    bool *answer = model_need(malloc(n));
    size_t sum = 0;
    for (uint32_t i = 0; i < n; i++)
        hash[i] = i < keys ? s->m.item[i].hash : random64();
    size_t found = cf_contains_many(filter, hash, n, answer);
    for (uint32_t i = 0; i < n; i++) {
        sum += answer[i];
        if (i < keys && !answer[i] && model_copies(&s->m, i) > 0)
            model_fail("FALSE NEGATIVE: key %u is denied by contains_many", i);
    }
    if (sum != found)
        model_fail("contains_many finds %zu of %zu", found, sum);
    for (uint32_t i = 0; i < SAMPLE + STRANGERS && !failed; i++) {
        uint32_t at = i < STRANGERS ? keys + i : (uint32_t)random_below(keys);
        check_agreement(filter, hash[at], answer[at]);
    }
    free(hash);
    free(answer);
}

/* A view for reading only: nothing that is done through it does anything. */
static void check_read_only(const subject *s, const cf_filter *copy)
{
    const char *why = NULL;
    cf_filter view;
    uint64_t hash = s->m.item[any_item(s)].hash, count, sorted[2] = {hash, 5};
    uint8_t *before = copy_of_bytes(copy->bytes, copy->length);
    REQUIRE(cf_open(&view, copy->bytes, copy->length, &why) == CF_OK && why == NULL);
    if (one_in(2))
        cf_rebase(&view, copy->bytes, NULL);
    view.memory = (cf_memory){world_resize, UINT64_MAX, NULL};
    count = cf_count(&view, hash);
    REQUIRE(cf_add(&view, hash) == CF_READ_ONLY);
    REQUIRE(cf_add_many(&view, sorted, 2, NULL) == CF_READ_ONLY);
    REQUIRE(cf_merge(&view, s->m.filter, &why) == CF_READ_ONLY);
    cf_deleted answer = cf_delete(&view, hash);
    REQUIRE(answer == CF_READ_ONLY || (answer == CF_ABSENT && count == 0));
    cf_clear(&view);
    if (view.geometry.epochs)
        cf_advance(&view);
    cf_seal(&view);
    REQUIRE(memcmp(before, copy->bytes, copy->length) == 0 && cf_count(&view, hash) == count);
    REQUIRE(view.items == copy->items && view.epoch == copy->epoch);
    free(before);
}

/* Counts and stage of bytes opened anew are those of the filter. */
static void check_same_counts(const cf_filter *a, const cf_filter *b)
{
    REQUIRE(a->items == b->items && a->occupied == b->occupied && a->stashed == b->stashed);
    REQUIRE(a->level == b->level && a->split == b->split && a->buckets == b->buckets);
    REQUIRE(a->epoch == b->epoch && a->length == b->length);
}

static void check_opened(const subject *s)
{
    cf_filter copy;
    cf_reader reader = {0};
    const char *why = "";
    open_copy(s->m.filter, &copy);
    check_same_counts(&copy, s->m.filter);
    if (cf_reader_open(&reader, copy.bytes, copy.length, &why) != CF_OK ||
        cf_reader_open(&reader, copy.bytes, copy.length, &why) != CF_OK)
        model_fail("cf_reader_open: %s", why);
    else
        check_view(s, &reader.filter);
    check_read_only(s, &copy);
    free(model_bytes(&copy));
}

/* ---- by pages ---- */

static void check_told(const paged *p)
{
    if (p->outside > 0)
        model_fail("the pager is told of bytes that are not the filter's");
    if (paged_untold(p) > 0)
        model_fail("%llu bytes changed without a word", (unsigned long long)paged_untold(p));
}

static void check_paged(const subject *s)
{
    cf_filter copy;
    paged p;
    const char *why = "";
    open_copy(s->m.filter, &copy);
    paged_open(&p, copy.bytes, copy.length, UINT64_C(16) << random_below(5));
    check_view(s, &p.filter);
    if (cf_check(&p.filter, &why) != CF_OK)
        model_fail("cf_check by pages: %s", why);
    check_told(&p);
    paged_close(&p);
    free(model_bytes(&copy));
}

/* Semi-sorted entries that say the same are in the order of what goes with them. */
static void check_order(const cf_filter *filter)
{
    cf_entry one, next;
    uint64_t buckets = filter->geometry.semisorted ? filter->buckets : 0;
    for (uint64_t at = 0; at < buckets; at++)
        for (unsigned slot = 1; slot < filter->geometry.bucket_size; slot++)
            if (cf_entry_at(filter, at, slot - 1, &one) && cf_entry_at(filter, at, slot, &next) &&
                one.side.bits == next.side.bits && one.side.length == next.side.length)
                REQUIRE(one.saturated < next.saturated || one.payload <= next.payload);
}

static void check_asking(subject *s)
{
    source then = draw_aside(s->m.items);
    model_check_all(&s->m);
    check_order(s->m.filter);
    check_view(s, s->m.filter);
    if (one_in(4))
        check_opened(s);
    if (one_in(4))
        check_paged(s);
    bool known = !s->m.exact && !s->m.unsure && cf_take_census(s->m.filter).saturated == 0;
    for (uint32_t i = 0; i < ALONE && known && !failed; i++)
        model_check_alone(&s->m, any_item(s));
    draw_on(then);
}

#endif
