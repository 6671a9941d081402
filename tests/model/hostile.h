/* SPDX-License-Identifier: MIT */
/*
** hostile.h - hostile bytes in the place of a filter.
**
** The bytes are noise; or a filter of any shape, at any stage of growth, of which the slots are whatever
** comes; or a sound one whose entries know as much or as little as there can be; then a few bytes may be
** changed, and the checksum made right again or not. When it opens, every call is made on it, in memory
** of exactly its length, which may become longer or may not. Whatever the contents: no step outside the
** bytes, and
**      - an add that is done makes the key found; one that is refused changes nothing
**      - deleting an absent or a saturated key changes nothing
**      - a filter that was sound (cf_check) stays sound
**
** A stash that lies (not sorted, without its overflow bits) may lose its entries, or gain them,
** with every change: of such a filter less is asked.
*/
#ifndef CUCKOO_MODEL_HOSTILE_H
#define CUCKOO_MODEL_HOSTILE_H

#include "ages.h"

enum { HOSTILE_KEYS = 16, AT_COUNTS = 38, AT_CHECKSUM = 60 };

/* The low 32 bits of the unseeded hash of what stands before it. */
static uint32_t checksum_of(const uint8_t *bytes)
{
    static const cf_geometry unseeded = {0};
    return (uint32_t)cf_hash(&unseeded, bytes, AT_CHECKSUM);
}

static uint64_t number_at(const uint8_t *at, unsigned bytes)
{
    uint64_t n = 0;
    while (bytes > 0)
        n = n << 8 | at[--bytes];
    return n;
}

static void store(uint8_t *at, unsigned bytes, uint64_t n)
{
    for (unsigned i = 0; i < bytes; i++, n >>= 8)
        at[i] = (uint8_t)n;
}

/* Makes the checksum of a header right again. */
static void reseal(uint8_t *bytes)
{
    store(bytes + AT_CHECKSUM, 4, checksum_of(bytes));
}

/* ---- a filter under test ---- */

typedef struct victim {
    cf_filter filter;
    model_then was; /* before the last call */
    bool sound;
    bool exact; /* sound, or with an empty list: what is there is found, and nothing else */
} victim;

static bool is_sound(const cf_filter *filter)
{
    const char *why = NULL;
    return cf_check(filter, &why) == CF_OK;
}

/* What another reader says of the first fields of a header. */
static cf_status read_identity(const uint8_t *bytes, size_t length)
{
    if (length < 64 || memcmp(bytes, "\xcf\x63\x6b", 3) != 0)
        return CF_DAMAGED;
    if (bytes[3] != 2)
        return bytes[3] < 2 ? CF_DAMAGED : CF_NEWER;
    if (number_at(bytes + AT_CHECKSUM, 4) != checksum_of(bytes))
        return CF_DAMAGED;
    unsigned hash = bytes[4] & 15;
    return hash == 1 || hash == 2 ? (bytes[12] >> 5 & 3) < 3 ? CF_OK : CF_NEWER : CF_NEWER;
}

static bool open_victim(victim *v, const uint8_t *bytes, size_t length, bool may_grow)
{
    const char *why = NULL;
    uint8_t *copy = copy_of_bytes(bytes, length);
    cf_status status = cf_open_writable(&v->filter, copy, length, &why);
    cf_status expected = read_identity(bytes, length);
    REQUIRE(expected == CF_OK || status == expected);
    if (status != CF_OK) {
        REQUIRE((status == CF_DAMAGED || status == CF_NEWER) && why != NULL && *why != 0);
        free(copy);
        return false;
    }
    REQUIRE(v->filter.occupied <= v->filter.buckets * v->filter.geometry.bucket_size);
    REQUIRE(v->filter.items == 0 || v->filter.occupied + v->filter.stashed > 0);
    cf_seal(&v->filter); /* a header that opens is one that would be written */
    REQUIRE(memcmp(copy, bytes, MODEL_HEADER) == 0);
    if (may_grow)
        v->filter.memory = (cf_memory){world_resize, 4 * (uint64_t)length + 4096, NULL};
    v->sound = is_sound(&v->filter);
    v->exact = v->sound || v->filter.stashed == 0;
    v->was.bytes = NULL;
    return true;
}

static void close_victim(victim *v)
{
    free(model_bytes(&v->filter));
    free(v->was.bytes);
}

static void remember(victim *v)
{
    free(v->was.bytes);
    v->was = (model_then){v->filter, copy_of_bytes(v->filter.bytes, v->filter.length)};
}

/* The bytes may have changed where growth was tried; of one that ages the number of entries, too. */
static bool unchanged(const victim *v)
{
    const cf_filter *now = &v->filter, *was = &v->was.filter;
    if (now->memory.resize != NULL && now->geometry.growth)
        return now->items == was->items || now->geometry.epochs;
    return now->items == was->items && model_same_bytes(now, &v->was) &&
           now->occupied == was->occupied && now->stashed == was->stashed && now->split == was->split;
}

/* A key that an entry matches, the other bits of which are those of `hash`. */
static uint64_t key_of(const cf_filter *filter, const cf_entry *entry, uint64_t hash)
{
    uint64_t m0 = filter->geometry.buckets;
    uint64_t known = model_ones(filter->geometry.pair_bits + entry->side.length);
    hash = UINT64_MAX / m0 * entry->side.base + (hash >> 8) / m0;
    return (hash & ~known) | (entry->side.bits & known);
}

/* Keys to ask for: hashes anywhere, and keys of entries that are there, in slots or in the list. */
static uint64_t some_key(const victim *v)
{
    const cf_filter *filter = &v->filter;
    uint64_t hash = random64(), kind = random_below(4);
    cf_entry entry;
    bool there = false;
    if (kind == 1)
        hash &= ~model_ones(filter->geometry.fingerprint_bits);
    if (kind == 2)
        there = cf_entry_at(filter, hash % filter->buckets, 0, &entry);
    if (kind == 3 && filter->stashed > 0)
        there = cf_stashed_at(filter, (unsigned)(hash % filter->stashed), &entry);
    return there ? key_of(filter, &entry, hash) : hash;
}

/* ---- looking ---- */

static void look_at(const cf_filter *filter, const cf_entry *entry, uint64_t bucket)
{
    const cf_geometry *g = &filter->geometry;
    unsigned payload = g->epochs ? 4u : 0u + g->counter_bits + g->value_bits;
    bool movable;
    REQUIRE(entry->side.base < g->buckets && entry->bucket == bucket);
    REQUIRE(cf_entry_alternate(filter, entry, &movable) < filter->buckets);
    REQUIRE(entry->payload <= model_ones(payload) && entry->side.length >= entry->extension);
    REQUIRE(!entry->saturated || model_has_grown(filter) || g->counter_bits);
    REQUIRE(cf_entry_copies(filter, entry) > 0);
}

static void look_everywhere(const cf_filter *filter)
{
    cf_entry entry;
    for (uint64_t bucket = 0; bucket < filter->buckets; bucket++)
        for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++)
            if (cf_entry_at(filter, bucket, slot, &entry))
                look_at(filter, &entry, bucket);
    REQUIRE(filter->stashed <= filter->geometry.stash_size);
    for (unsigned i = 0; i < filter->stashed; i++)
        if (cf_stashed_at(filter, i, &entry) && entry.bucket < filter->buckets)
            look_at(filter, &entry, entry.bucket);
    cf_census census = cf_take_census(filter);
    uint64_t entries = census.occupied + filter->stashed;
    REQUIRE(census.occupied <= filter->buckets * filter->geometry.bucket_size);
    REQUIRE(census.saturated <= entries && census.exhausted <= entries && census.fpr >= 0);
    REQUIRE(census.copies >= census.occupied && census.fpr <= 1.000001);
    double fpr = cf_expected_fpr(&filter->geometry, filter->occupied);
    REQUIRE(fpr >= 0 && fpr <= 1);
}

/* Can the filter tell as much as a look finds? More matches than one key can have are not counted. */
static bool can_tell(const victim *v, const model_look *seen)
{
    return v->exact && !v->filter.geometry.epochs && seen->entries <= CF_VALUES_MAX;
}

static void ask(const victim *v, uint64_t hash)
{
    const cf_filter *filter = &v->filter;
    uint64_t copies = cf_count(filter, hash), value = 0;
    model_look seen = model_look_for(filter, hash, 0);
    REQUIRE(cf_contains(filter, hash) == (copies > 0) && copies <= seen.copies);
    REQUIRE(cf_get(filter, hash, &value) == (copies > 0 && filter->geometry.value_bits != 0));
    REQUIRE(!can_tell(v, &seen) || copies == told(&filter->geometry, seen.copies));
    cf_pair pair = cf_candidates(filter, hash);
    for (unsigned i = 0; i < pair.sides; i++)
        REQUIRE(pair.side[i].base < filter->geometry.buckets && pair.place[i].bucket < filter->buckets);
}

/* ---- changing ---- */

/* Asks for the same keys before and after. */
static void find_keys(const victim *v, const uint64_t *keys, bool *found)
{
    for (unsigned i = 0; i < HOSTILE_KEYS; i++)
        found[i] = cf_contains(&v->filter, keys[i]);
}

static void some_keys(const victim *v, uint64_t *keys)
{
    for (unsigned i = 0; i < HOSTILE_KEYS; i++)
        keys[i] = some_key(v);
}

static void add_to(victim *v, uint64_t hash)
{
    cf_filter *filter = &v->filter;
    const cf_geometry *g = &filter->geometry;
    uint64_t copies = cf_count(filter, hash), value = hash >> 20 & model_ones(g->value_bits);
    model_look seen = model_look_for(filter, hash, value);
    bool saturated = seen.weight >= g->max_copies, before[HOSTILE_KEYS], after[HOSTILE_KEYS];
    uint64_t keys[HOSTILE_KEYS];
    some_keys(v, keys);
    find_keys(v, keys, before);
    remember(v);
    if (cf_add_value(filter, hash, value) != CF_OK) {
        find_keys(v, keys, after);
        REQUIRE(unchanged(v) && (!v->sound || memcmp(before, after, sizeof before) == 0));
        REQUIRE(!v->sound || (cf_count(filter, hash) == copies && is_sound(filter)));
        return;
    }
    if (!can_tell(v, &seen) || seen.entries == CF_VALUES_MAX)
        return;
    uint64_t now = cf_count(filter, hash);
    /* Of a saturated key one entry with the mark may be left. Counters of several entries, each below the
    ** mark, may come to more copies than make a key saturated: then this add has made it so. */
    bool marks = model_has_grown(filter) || g->counter_bits;
    uint64_t enough = g->counter_bits ? UINT64_C(1) << g->counter_bits : g->max_copies;
    REQUIRE(cf_contains(filter, hash));
    REQUIRE(now >= copies + !saturated || (marks && (saturated || copies >= enough) && now >= enough));
    REQUIRE(marks || now == copies + !saturated);
}

static void delete_from(victim *v, uint64_t hash)
{
    cf_filter *filter = &v->filter;
    uint64_t copies = cf_count(filter, hash), value = 0;
    cf_get(filter, hash, &value);
    value &= model_ones(filter->geometry.value_bits);
    model_look seen = model_look_for(filter, hash, value);
    remember(v);
    cf_deleted answer = cf_delete_value(filter, hash, value);
    REQUIRE(answer == CF_REMOVED ||
            (model_same_bytes(filter, &v->was) && filter->items == v->was.filter.items));
    if (!can_tell(v, &seen))
        return;
    REQUIRE((answer == CF_ABSENT) == (seen.matches == 0));
    REQUIRE((answer == CF_SATURATED) ==
            (seen.matches > 0 && seen.weight >= filter->geometry.max_copies));
    REQUIRE((answer == CF_REMOVED) != model_same_bytes(filter, &v->was));
    REQUIRE(cf_count(filter, hash) == copies - (answer == CF_REMOVED));
}

/* A single step of growth: no key finds more or less than before. */
static void split_one(victim *v)
{
    bool before[HOSTILE_KEYS], after[HOSTILE_KEYS], same = v->sound || model_has_grown(&v->filter);
    uint64_t keys[HOSTILE_KEYS];
    some_keys(v, keys);
    find_keys(v, keys, before);
    remember(v);
    if (!probe_split(&v->filter))
        REQUIRE(v->filter.items == v->was.filter.items && v->filter.split == v->was.filter.split);
    find_keys(v, keys, after);
    REQUIRE(!v->exact || !same || memcmp(before, after, sizeof before) == 0);
    REQUIRE(!v->sound || is_sound(&v->filter));
}

/* All of `from` is in the sum. CF_FULL leaves a part of it there. */
static bool merge_from(victim *v, const cf_filter *from)
{
    const char *why = NULL;
    bool before[HOSTILE_KEYS], after[HOSTILE_KEYS];
    uint64_t keys[HOSTILE_KEYS];
    some_keys(v, keys);
    find_keys(v, keys, before);
    for (unsigned i = 0; i < HOSTILE_KEYS; i++)
        before[i] |= cf_contains(from, keys[i]);
    bool same_epoch = v->filter.epoch == from->epoch;
    cf_status status = cf_merge(&v->filter, from, &why);
    REQUIRE(status == CF_OK || status == CF_FULL || status == CF_NEEDS_MEMORY || status == CF_TOO_BIG);
    find_keys(v, keys, after);
    for (unsigned i = 0; i < HOSTILE_KEYS && status == CF_OK && v->exact && same_epoch; i++)
        REQUIRE(!before[i] || after[i]);
    return status == CF_OK;
}

/* With itself; and with another one of its shape that is not grown, in both ways. */
static bool merge_some(victim *v)
{
    const char *why = NULL;
    cf_filter from;
    cf_seal(&v->filter);
    uint8_t *bytes = copy_of_bytes(v->filter.bytes, v->filter.length);
    bool all = cf_open(&from, bytes, v->filter.length, &why) != CF_OK || merge_from(v, &from);
    free(bytes);
    victim other = {.exact = true};
    uint64_t length = cf_geometry_bytes(&v->filter.geometry);
    cf_create(&other.filter, &v->filter.geometry, model_need(malloc(length)));
    for (unsigned i = 0; i < HOSTILE_KEYS; i++)
        cf_add(&other.filter, random64());
    other.filter.memory = v->filter.memory;
    all &= merge_from(v, &other.filter);
    if (v->filter.geometry.growth)
        merge_from(&other, &v->filter);
    close_victim(&other);
    return all;
}

/* Sealed, a filter that was sound opens again with the counts it had. */
static void open_again(const victim *v)
{
    const char *why = NULL;
    cf_filter again;
    cf_seal((cf_filter *)(uintptr_t)&v->filter);
    REQUIRE(cf_open(&again, v->filter.bytes, v->filter.length, &why) == CF_OK);
    check_same_counts(&again, &v->filter);
    REQUIRE(is_sound(&again));
}

/* What is found afterwards was found before; in the end all that was there is gone. */
static void age(victim *v)
{
    for (unsigned n = 0; v->filter.geometry.epochs && n < CF_EPOCHS_MAX; n++) {
        bool before[HOSTILE_KEYS], after[HOSTILE_KEYS];
        uint64_t keys[HOSTILE_KEYS];
        some_keys(v, keys);
        find_keys(v, keys, before);
        cf_advance(&v->filter);
        find_keys(v, keys, after);
        for (unsigned i = 0; i < HOSTILE_KEYS; i++)
            REQUIRE(before[i] || !v->sound || !after[i]);
        REQUIRE(!v->sound || is_sound(&v->filter));
    }
    REQUIRE(!v->sound || !v->filter.geometry.epochs || v->filter.occupied == 0);
}

static void try_blob(const uint8_t *bytes, size_t length, bool may_grow)
{
    victim v;
    if (!open_victim(&v, bytes, length, may_grow))
        return;
    look_everywhere(&v.filter);
    for (unsigned i = 0; i < 3 * HOSTILE_KEYS && !failed; i++)
        (i < HOSTILE_KEYS ? (void)ask(&v, some_key(&v))
                          : (i % 2 ? add_to : delete_from)(&v, some_key(&v)));
    for (unsigned i = 0; i < HOSTILE_KEYS && may_grow && !failed; i++)
        split_one(&v);
    if (v.sound)
        open_again(&v);
    bool all = merge_some(&v);
    look_everywhere(&v.filter);
    if (v.sound && all)
        open_again(&v);
    age(&v);
    cf_clear(&v.filter);
    REQUIRE(v.filter.length == cf_geometry_bytes(&v.filter.geometry) && v.filter.items == 0);
    v.sound = true;
    open_again(&v);
    add_to(&v, 12345);
    close_victim(&v);
}

#endif
