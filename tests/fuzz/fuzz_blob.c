/* SPDX-License-Identifier: MIT */
/*
** fuzz_blob.c - hostile bytes in the place of a filter.
**
** The input is taken as a filter in four ways: as it is; with magic, version and checksum made
** right, so that the fields of the header are reached; with a header that fits its length, at some
** stage of growth, so that the buckets are whatever the input says; and with buckets made sound,
** too. When it opens, every function of the library is called on it, in memory of exactly its
** length, which may become longer or may not. Whatever the contents: no step outside the bytes, and
**
**      - an add that succeeds makes the key found; one that fails changes nothing (nothing that counts,
**        when the filter was not sound and has tried to grow);
**      - deleting an absent or a sticky key changes nothing;
**      - a filter that was sound (cf_check) stays sound.
**
** A spill list that lies (not sorted, without its overflow bits) may lose its entries, or gain
** them, with every change: of such a filter only the first and the last are asked.
**
** To run: see fuzz.h.
*/
#include "../../src/entry/entry.h"
#include "../../src/growth/growth.h"
#include "../../src/table/bucket.h"
#include "fuzz.h"
#include "hostile.h"
#include "tally.h"

enum { KEYS = 16 };

/* A filter under test, and a copy of its bytes and counts from before the last call. */
typedef struct subject {
    cf_filter filter;
    cf_filter was;
    uint8_t *before;
    bool sound;
    bool exact; /* sound, or with an empty list: what is there is found, and nothing else */
} subject;

static uint8_t *bytes_of(const cf_filter *filter)
{
    return filter->view.writable - CF_HEADER_BYTES;
}

static bool sound(const cf_filter *filter)
{
    const char *why = NULL;
    return cf_check(filter, &why) == CF_OK;
}

static bool subject_open(subject *s, const uint8_t *bytes, size_t length, bool may_grow)
{
    const char *why = NULL;
    uint8_t *copy = fuzz_copy(bytes, length);
    s->before = fuzz_copy(bytes, length);
    if (cf_open_writable(&s->filter, copy, length, &why) == CF_OK) {
        if (may_grow)
            s->filter.memory = (cf_memory){fuzz_resize, 4 * (uint64_t)length + 4096, NULL};
        s->was = s->filter;
        s->sound = sound(&s->filter);
        s->exact = s->sound || s->filter.spilled == 0;
        return true;
    }
    REQUIRE(why != NULL && *why != 0);
    free(copy);
    free(s->before);
    return false;
}

static void subject_close(subject *s)
{
    free(bytes_of(&s->filter));
    free(s->before);
}

static void remember(subject *s)
{
    free(s->before);
    s->was = s->filter;
    s->before = fuzz_copy(s->filter.bytes, s->filter.length);
}

static bool unchanged(const subject *s)
{
    const cf_filter *now = &s->filter, *was = &s->was;
    bool same_bytes = now->length == was->length && memcmp(s->before, now->bytes, was->length) == 0;
    bool could_grow = now->memory.resize != NULL && now->geometry.growth;
    return (same_bytes || (could_grow && !s->sound)) && now->items == was->items &&
           now->occupied == was->occupied && now->spilled == was->spilled && now->level == was->level &&
           now->split == was->split && now->view.grown == was->view.grown;
}

/* A key that an entry matches, the other bits of which are those of `hash`. */
static uint64_t hash_of(const cf_filter *filter, const cf_entry *entry, uint64_t hash)
{
    uint64_t m0 = filter->geometry.buckets,
             known = cf_low_bits(filter->geometry.pair_bits + entry->side.length);
    hash = UINT64_MAX / m0 * entry->side.base + (hash >> 8) / m0;
    return (hash & ~known) | (entry->side.bits & known);
}

/* Keys to ask for: hashes anywhere, and keys of entries that are there, in slots or in the list. */
static uint64_t key_number(const subject *s, unsigned i)
{
    uint64_t hash = cf_hash(&(cf_geometry){.seed = (int64_t)i}, s->filter.bytes + CF_HEADER_BYTES,
                            s->filter.length - CF_HEADER_BYTES);
    unsigned spilled = s->filter.spilled;
    cf_entry entry;
    bool there = false;
    if (i % 4 == 1)
        hash &= ~s->filter.view.fingerprint_mask; /* the zero fingerprint, that is fixed up */
    if (i % 4 == 2)
        there = cf_entry_at(&s->filter, hash % s->filter.buckets, 0, &entry);
    if (i % 4 == 3 && spilled > 0)
        there = cf_spilled_at(&s->filter, (unsigned)(hash % spilled), &entry);
    return there ? hash_of(&s->filter, &entry, hash) : hash;
}

/* ---- looking ---- */

/* Where an entry can move to it can come back from. */
static void look_at_entry(const cf_filter *filter, uint64_t bucket, cf_entry entry)
{
    cf_side other = cf_alternate(filter, entry.side), back = cf_alternate(filter, other);
    cf_place here = cf_locate(filter, &entry.side), there = cf_locate(filter, &other);
    REQUIRE(entry.side.base < filter->geometry.buckets && other.base < filter->geometry.buckets);
    REQUIRE(back.base == entry.side.base && back.bits == entry.side.bits);
    REQUIRE(here.bucket == bucket && entry.side.length >= here.extension);
    bool movable;
    REQUIRE(cf_entry_alternate(filter, &entry, &movable) == there.bucket);
    REQUIRE(there.bucket < filter->buckets && movable == (other.length >= there.extension));
    REQUIRE(entry.bucket == bucket && entry.payload <= cf_payload_max(&filter->geometry));
    REQUIRE(!entry.sticky || filter->view.grown || filter->geometry.counter_bits);
}

static void look(const cf_filter *filter, uint64_t bucket, unsigned slot)
{
    cf_entry entry;
    bool there = cf_entry_at(filter, bucket, slot, &entry);
    REQUIRE(there == cf_is_entry(cf_form_of(filter, bucket), cf_slot_get(filter, bucket, slot)));
    if (there)
        look_at_entry(filter, bucket, entry);
}

static void look_at_list(const cf_filter *filter)
{
    cf_entry entry;
    REQUIRE(filter->spilled <= filter->geometry.spill_bound);
    for (unsigned i = 0; i < filter->spilled; i++)
        if (cf_spilled_at(filter, i, &entry))
            look_at_entry(filter, entry.bucket, entry);
}

static void look_everywhere(const cf_filter *filter)
{
    for (uint64_t bucket = 0; bucket < filter->buckets; bucket++)
        for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++)
            look(filter, bucket, slot);
    look_at_list(filter);
    cf_census census = cf_take_census(filter);
    REQUIRE(census.occupied <= filter->buckets * filter->geometry.bucket_size);
    uint64_t entries = census.occupied + filter->spilled;
    REQUIRE(census.sticky <= entries && census.voids <= entries);
    REQUIRE(census.copies >= census.occupied);
    REQUIRE(census.fpr >= 0 && census.fpr <= 1.000001);
    double fpr = cf_expected_fpr(&filter->geometry, filter->occupied);
    REQUIRE(fpr >= 0 && fpr <= 1);
}

/* Can the filter tell as much as a walk finds? More matches than there can be of one key are not
** counted. */
static bool can_tell(const subject *s, const tally *found)
{
    return s->exact && !s->filter.geometry.epochs && found->entries <= CF_MATCHES_MAX;
}

static void ask(const subject *s, uint64_t hash)
{
    const cf_filter *filter = &s->filter;
    uint64_t copies = cf_count(filter, hash), value = 0;
    tally found = tally_of(filter, hash, 0);
    REQUIRE(cf_contains(filter, hash) == (copies > 0));
    REQUIRE(cf_get(filter, hash, &value) == (copies > 0) || filter->geometry.epochs);
    REQUIRE(value <= cf_low_bits(filter->view.form.payload_bits));
    REQUIRE(copies <= found.copies);
    REQUIRE(!can_tell(s, &found) || copies == copies_told(filter, found.copies));
    cf_pair pair = cf_candidates(filter, hash);
    REQUIRE(pair.sides == 1 || pair.sides == 2);
    for (unsigned i = 0; i < pair.sides; i++) {
        REQUIRE(pair.side[i].base < filter->geometry.buckets && pair.place[i].bucket < filter->buckets);
        REQUIRE(pair.place[i].tag <= filter->view.form.slot_mask);
        REQUIRE(filter->view.grown || pair.place[i].tag != 0);
    }
}

/* ---- changing ---- */

static void add(subject *s, uint64_t hash)
{
    uint64_t copies = cf_count(&s->filter, hash);
    uint64_t value = hash >> 20 & cf_low_bits(s->filter.geometry.value_bits);
    tally found = tally_of(&s->filter, hash, value);
    bool sticky = found.weight >= s->filter.geometry.cap;
    remember(s);
    if (cf_add_value(&s->filter, hash, value) != CF_OK) {
        REQUIRE(unchanged(s));
        return;
    }
    if (!can_tell(s, &found) || found.entries == CF_MATCHES_MAX)
        return;
    REQUIRE(cf_contains(&s->filter, hash));
    uint64_t now = cf_count(&s->filter, hash);
    /* Of a sticky key one entry with the mark may be left. Counters of several entries, each below the mark,
    ** may come to more copies than make a key sticky: then this add has made it so. */
    unsigned bits = s->filter.geometry.counter_bits;
    bool marks = s->filter.view.grown || bits;
    uint64_t enough = bits ? (uint64_t)1 << bits : s->filter.geometry.cap;
    REQUIRE(now >= copies + !sticky || (marks && (sticky || copies >= enough) && now >= enough));
    if (!marks)
        REQUIRE(now == copies + !sticky);
}

static void delete (subject *s, uint64_t hash)
{
    uint64_t copies = cf_count(&s->filter, hash), value = 0;
    cf_get(&s->filter, hash, &value);
    value &= cf_low_bits(s->filter.geometry.value_bits);
    tally found = tally_of(&s->filter, hash, value);
    remember(s);
    cf_deleted result = cf_delete_value(&s->filter, hash, value);
    REQUIRE(result == CF_REMOVED || unchanged(s));
    if (!can_tell(s, &found))
        return;
    REQUIRE((result == CF_ABSENT) == (found.matches == 0));
    REQUIRE((result == CF_STICKY) == (found.matches > 0 && found.weight >= s->filter.geometry.cap));
    bool same = memcmp(s->before, s->filter.bytes, s->filter.length) == 0;
    REQUIRE((result == CF_REMOVED) != same);
    REQUIRE(cf_count(&s->filter, hash) == copies - (result == CF_REMOVED));
}

/* A single step of growth; one that fails changes nothing. No key finds more or less than before; but what
** is no entry in a bucket that is prepared for growth is one when it has grown. */
static void grow(subject *s)
{
    bool same = s->sound || s->filter.view.grown || !s->filter.view.form.grown;
    bool found[KEYS];
    uint64_t keys[KEYS];
    for (unsigned i = 0; i < KEYS; i++) {
        keys[i] = key_number(s, i);
        found[i] = cf_contains(&s->filter, keys[i]);
    }
    remember(s);
    if (cf_grow(&s->filter) != CF_OK)
        REQUIRE(unchanged(s));
    for (unsigned i = 0; i < KEYS && s->exact && same; i++)
        REQUIRE(found[i] == cf_contains(&s->filter, keys[i]));
    REQUIRE(!s->sound || sound(&s->filter));
}

/* All of `from` is in the sum: what was found in either is found. CF_FULL leaves a part of it
** there. */
static bool merge(subject *s, const cf_filter *from, const uint64_t *keys)
{
    const char *why = NULL;
    bool found[KEYS];
    for (unsigned i = 0; i < KEYS; i++)
        found[i] = cf_contains(&s->filter, keys[i]) || cf_contains(from, keys[i]);
    bool same_epoch = s->filter.epoch == from->epoch;
    cf_status status = cf_merge(&s->filter, from, &why);
    REQUIRE(status == CF_OK || status == CF_FULL || status == CF_TOO_BIG);
    for (unsigned i = 0; i < KEYS && status == CF_OK && s->exact && same_epoch; i++)
        REQUIRE(!found[i] || cf_contains(&s->filter, keys[i]));
    return status == CF_OK;
}

static bool merge_with_itself(subject *s)
{
    const char *why = NULL;
    cf_filter from;
    uint64_t keys[KEYS];
    cf_seal(&s->filter);
    uint8_t *bytes = fuzz_copy(s->filter.bytes, s->filter.length);
    for (unsigned i = 0; i < KEYS; i++)
        keys[i] = key_number(s, i);
    bool all = cf_open(&from, bytes, s->filter.length, &why) != CF_OK || merge(s, &from, keys);
    free(bytes);
    return all;
}

/* Another filter of the same shape, not grown, with keys of its own: into this one, or the other
** way round. */
static bool merge_with_another(subject *s)
{
    subject other = {.before = fuzz_malloc(0), .exact = true};
    uint64_t keys[KEYS];
    uint8_t *bytes = fuzz_malloc((size_t)cf_geometry_bytes(&s->filter.geometry));
    cf_create(&other.filter, &s->filter.geometry, bytes);
    for (unsigned i = 0; i < KEYS; i++)
        cf_add(&other.filter,
               keys[i] = cf_hash(&(cf_geometry){.seed = KEYS + (int64_t)i}, s->before, 8));
    other.filter.memory = s->filter.memory;
    bool all = merge(s, &other.filter, keys);
    if (s->filter.geometry.growth)
        merge(&other, &s->filter, keys);
    subject_close(&other);
    return all;
}

/* Sealed, a filter that was sound opens again with the counts it had. */
static void reopen(subject *s)
{
    const char *why = NULL;
    cf_filter again;
    cf_seal(&s->filter);
    REQUIRE(cf_open(&again, s->filter.bytes, s->filter.length, &why) == CF_OK);
    REQUIRE(again.items == s->filter.items && again.occupied == s->filter.occupied);
    REQUIRE(again.spilled == s->filter.spilled);
    REQUIRE(again.buckets == s->filter.buckets && again.view.new_length == s->filter.view.new_length);
    REQUIRE(sound(&again));
}

/* What is found afterwards was found before; in the end all that was there is gone. */
static void advance(subject *s)
{
    for (unsigned n = 0; s->filter.geometry.epochs && n < CF_EPOCHS_MAX; n++) {
        bool found[KEYS];
        uint64_t keys[KEYS];
        for (unsigned i = 0; i < KEYS; i++) {
            keys[i] = key_number(s, i);
            found[i] = cf_contains(&s->filter, keys[i]);
        }
        cf_advance(&s->filter);
        for (unsigned i = 0; i < KEYS; i++)
            REQUIRE(found[i] || !s->sound || !cf_contains(&s->filter, keys[i]));
        REQUIRE(!s->sound || sound(&s->filter));
    }
    REQUIRE(!s->sound || !s->filter.geometry.epochs || s->filter.occupied == 0);
}

static void clear(subject *s)
{
    const char *why = NULL;
    cf_filter again;
    cf_clear(&s->filter);
    REQUIRE(s->filter.length == cf_geometry_bytes(&s->filter.geometry));
    REQUIRE(cf_open(&again, s->filter.bytes, s->filter.length, &why) == CF_OK);
    REQUIRE(again.items == 0 && again.occupied == 0 && again.spilled == 0 && !again.view.grown &&
            sound(&again));
}

static void try_filter(const uint8_t *bytes, size_t length, bool may_grow)
{
    subject s;
    if (!subject_open(&s, bytes, length, may_grow))
        return;
    look_everywhere(&s.filter);
    for (unsigned i = 0; i < KEYS; i++)
        ask(&s, key_number(&s, i));
    for (unsigned i = 0; i < KEYS; i++)
        add(&s, key_number(&s, i));
    for (unsigned i = 0; i < KEYS; i++)
        delete (&s, key_number(&s, i));
    for (unsigned i = 0; i < KEYS && may_grow; i++)
        grow(&s);
    if (s.sound)
        reopen(&s);
    bool all = merge_with_itself(&s) && merge_with_another(&s);
    look_everywhere(&s.filter);
    if (s.sound && all)
        reopen(&s);
    advance(&s);
    clear(&s);
    add(&s, 12345);
    subject_close(&s);
}

/* ---- the four ways to take the input ---- */

static void try_both(const uint8_t *bytes, size_t length)
{
    try_filter(bytes, length, false);
    try_filter(bytes, length, true);
}

int fuzz_blob(const uint8_t *data, size_t size)
{
    try_both(data, size);
    for (int keyed = 0; keyed < 2 && size > 0; keyed++) {
        cf_geometry shape = {.seed = -1, .keyed = keyed};
        REQUIRE(cf_hash_prefixed(&shape, data[0], data + 1, size - 1) == cf_hash(&shape, data, size));
    }
    if (size < CF_HEADER_BYTES + CF_RESERVED_MIN)
        return 0;
    uint8_t *bytes = fuzz_copy(data, size);
    make_identity(bytes);
    try_both(bytes, size);
    make_shape(bytes, size);
    try_both(bytes, size);
    make_sound(bytes, size);
    try_both(bytes, size);
    free(bytes);
    return 0;
}

FUZZ_ENTRY(fuzz_blob)
