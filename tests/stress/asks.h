/* SPDX-License-Identifier: MIT */
/*
** asks.h - all the ways to ask a filter, beside each other and beside the model.
**
** cf_contains, cf_contains_many, cf_count, cf_get and cf_get_all must agree with a look at each slot
** and each line of the list, for every hash, stored or not. They must do so in the filter itself, in
** its bytes opened anew, and in one whose pages come when it asks for them. And none of them may deny
** what the model holds.
*/
#ifndef CUCKOO_STRESS_ASKS_H
#define CUCKOO_STRESS_ASKS_H

#include "../unit/paged.h"
#include "model.h"

enum { STRANGERS = 32, SAMPLE = 48, CLASSES = 6, MOST_LOOKED = 2 * CF_BUCKET_MAX + CF_SPILL_MAX };

/* What a look at each slot and line finds for a key. */
typedef struct looked {
    unsigned n;
    uint64_t copies;
    uint64_t value[MOST_LOOKED];
} looked;

static void keep_looked(const cf_filter *filter, const cf_entry *entry, looked *found)
{
    found->value[found->n++] = entry->payload;
    found->copies += cf_entry_copies(filter, entry);
}

static void look(const cf_filter *filter, uint64_t hash, looked *found)
{
    cf_pair pair = cf_candidates(filter, hash);
    cf_entry entry;
    found->n = 0;
    found->copies = 0;
    for (unsigned i = 0; i < pair.sides; i++) {
        for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++)
            if (cf_entry_at(filter, pair.place[i].bucket, slot, &entry) &&
                cf_entry_matches(filter, &entry, &pair.side[i]))
                keep_looked(filter, &entry, found);
        for (unsigned at = 0; at < filter->spilled; at++)
            if (cf_spilled_at(filter, at, &entry) && entry.bucket == pair.place[i].bucket &&
                cf_entry_matches(filter, &entry, &pair.side[i]))
                keep_looked(filter, &entry, found);
    }
}

static bool is_among(const uint64_t *value, unsigned n, uint64_t wanted)
{
    while (n > 0 && value[n - 1] != wanted)
        n--;
    return n > 0;
}

/* What cf_count makes of so many copies. */
static uint64_t told(const cf_geometry *shape, uint64_t copies)
{
    return shape->counter_bits || shape->value_bits ? copies : least(copies, shape->cap);
}

/* All ways to ask for one key say what a look finds. */
static void check_agreement(const cf_filter *filter, uint64_t hash, bool among_many)
{
    looked found;
    uint64_t value[CF_VALUES_MAX], first = 0, count = cf_count(filter, hash);
    bool contained = cf_contains(filter, hash), got = cf_get(filter, hash, &first);
    unsigned values = cf_get_all(filter, hash, value);
    look(filter, hash, &found);
    if (contained != (found.n > 0) || among_many != contained || got != contained ||
        (values > 0) != contained)
        FAIL("%u entries match %llx, but contains %d, contains_many %d, get %d, get_all %u", found.n,
             (unsigned long long)hash, contained, among_many, got, values);
    if (count != told(&filter->geometry, found.copies))
        FAIL("the entries that match stand for %llu copies, but %llu are counted",
             (unsigned long long)found.copies, (unsigned long long)count);
    for (unsigned i = 0; i < values; i++)
        if (!is_among(found.value, found.n, value[i]) || is_among(value, i, value[i]))
            FAIL("get_all tells a value that is not there, or tells it twice");
    for (unsigned i = 0; i < found.n; i++)
        if (!is_among(value, values, found.value[i]))
            FAIL("get_all does not tell a value that is there");
    if (got && first != value[0])
        FAIL("get and get_all begin with different values");
    total.asked++;
}

/* ---- how many copies there are, exactly ---- */

static bool same_class(const cf_filter *filter, uint64_t a, uint64_t b)
{
    cf_pair one = cf_candidates(filter, a), two = cf_candidates(filter, b);
    for (unsigned i = 0; i < one.sides; i++)
        if (one.place[i].bucket == two.place[0].bucket && one.place[i].tag == two.place[0].tag)
            return true;
    return false;
}

/* Before any growth, keys of one fingerprint and pair are one key to the filter. As long as no delete
** has met a sticky one, all copies are counted, up to cap (of each value), or to what counters hold. */
static void check_exact(const subject *s, uint32_t key)
{
    uint32_t values = values_of(s->with);
    uint64_t copies[8] = {0}, expected = 0, count = cf_count(&s->filter, s->hash[key]);
    uint64_t most = s->with->shape.counter_bits ? UINT64_MAX : s->with->shape.cap;
    for (uint32_t i = 0; i < s->with->keys; i++)
        if (same_class(&s->filter, s->hash[key], s->hash[i]))
            for (uint32_t v = 0; v < values; v++)
                copies[v] += s->copies[i * values + v];
    for (uint32_t v = 0; v < values; v++)
        expected += least(copies[v], most);
    bool full = s->with->shape.counter_bits && expected >= sticky_from(s->with);
    if (full ? count < sticky_from(s->with) : count != expected)
        FAIL("%llu copies before growth, but %llu are counted", (unsigned long long)expected,
             (unsigned long long)count);
}

/* ---- one view of the bytes ---- */

/* A key of the universe, or a stranger. */
static uint64_t some_hash(const subject *s, uint32_t i, uint32_t keys)
{
    return i < keys ? s->hash[i] : random64();
}

/* Asks for all keys and some strangers at once, and in detail for some of them. */
static void check_view(const subject *s, const cf_filter *filter)
{
    uint32_t keys = s->with->keys, n = keys + STRANGERS, values = values_of(s->with);
    uint64_t *hash = need(calloc(n, sizeof *hash));
    bool *answer = need(malloc(n));
    size_t sum = 0;
    for (uint32_t i = 0; i < n; i++)
        hash[i] = some_hash(s, i, keys);
    size_t found = cf_contains_many(filter, hash, n, answer);
    for (uint32_t i = 0; i < n; i++)
        sum += answer[i];
    if (sum != found)
        FAIL("contains_many finds %zu of %zu", found, sum);
    for (uint32_t id = 0; id < keys * values; id++)
        if (s->copies[id] > 0 && !answer[id / values])
            fail(&total.false_negatives, "key %u is denied by contains_many", id / values);
    for (uint32_t i = 0; i < SAMPLE + STRANGERS && !failed; i++) {
        uint32_t at = i < STRANGERS ? keys + i : (uint32_t)random_below(keys);
        check_agreement(filter, hash[at], answer[at]);
    }
    free(hash);
    free(answer);
}

/* All values of a key that is present are told. */
static void check_values(const subject *s)
{
    uint64_t value[CF_VALUES_MAX];
    for (uint32_t i = 0; i < SAMPLE && s->n > 0; i++) {
        pair_id id = s->present[random_below(s->n)];
        unsigned n = cf_get_all(&s->filter, hash_of(s, id), value);
        if (s->with->shape.value_bits && !is_among(value, n, value_of(s, id)))
            fail(&total.false_negatives, "value %llu of key %u is not told",
                 (unsigned long long)value_of(s, id), id / values_of(s->with));
    }
}

static void check_opened(const subject *s)
{
    cf_filter copy;
    cf_reader reader = {0};
    const char *why = "";
    open_copy(&s->filter, &copy);
    if (cf_reader_open(&reader, copy.bytes, copy.length, &why) != CF_OK ||
        cf_reader_open(&reader, copy.bytes, copy.length, &why) != CF_OK)
        FAIL("cf_reader_open: %s", why);
    else
        check_view(s, &reader.filter);
    free(copy.view.writable - 64);
}

static void check_told(const paged *p)
{
    if (p->outside > 0)
        FAIL("the pager is told of bytes that are not the filter's");
    if (paged_untold(p) > 0)
        FAIL("%llu bytes changed without a word", (unsigned long long)paged_untold(p));
}

static void check_paged(const subject *s)
{
    cf_filter copy;
    paged p;
    const char *why = "";
    open_copy(&s->filter, &copy);
    paged_open(&p, copy.bytes, copy.length, (uint64_t)16 << random_below(5));
    check_view(s, &p.filter);
    if (cf_check(&p.filter, &why) != CF_OK)
        FAIL("cf_check by pages: %s", why);
    check_told(&p);
    paged_close(&p);
    free(copy.view.writable - 64);
}

/* ---- all of it ---- */

static void check_asking(const subject *s)
{
    check_sound(s);
    check_all_present(s);
    check_view(s, &s->filter);
    check_values(s);
    if (one_in(4))
        check_opened(s);
    if (one_in(4))
        check_paged(s);
    bool exact = !s->filter.view.grown && !s->orphans && !s->has_grown;
    for (uint32_t i = 0; i < CLASSES && exact && !failed; i++)
        check_exact(s, (uint32_t)random_below(s->with->keys));
}

#endif
