/*
** fuzz_blob.c - hostile bytes in the place of a filter.
**
** The input is taken as a filter in three ways: as it is; with magic, version and checksum made right,
** so that the fields of the header are reached; and with a header that fits its length, so that the
** buckets are whatever the input says. When it opens, every function of the library is called on it, in
** memory of exactly its length. Whatever the contents: no step outside the bytes, and
**
**      - an add that succeeds makes the key found; one that fails changes nothing;
**      - deleting an absent or a sticky key changes nothing;
**      - a filter that was sound (cf_check) stays sound.
**
** To run: see fuzz.h.
*/
#include "fuzz.h"

enum { KEYS = 16 };

/* A filter under test, and a copy of its bytes and counts from before the last call. */
typedef struct subject {
    cf_filter filter;
    uint8_t *bytes, *before;
    size_t length;
    uint64_t items, occupied;
} subject;

static bool subject_open(subject *s, const uint8_t *bytes, size_t length)
{
    const char *why = NULL;
    s->bytes = fuzz_copy(bytes, length);
    s->before = fuzz_copy(bytes, length);
    s->length = length;
    if (cf_open_writable(&s->filter, s->bytes, length, &why) == CF_OK)
        return true;
    REQUIRE(why != NULL && *why != 0);
    return false;
}

static void subject_close(subject *s)
{
    free(s->bytes);
    free(s->before);
}

static void remember(subject *s)
{
    memcpy(s->before, s->bytes, s->length);
    s->items = s->filter.items;
    s->occupied = s->filter.occupied;
}

static bool unchanged(const subject *s)
{
    return memcmp(s->before, s->bytes, s->length) == 0 && s->items == s->filter.items &&
           s->occupied == s->filter.occupied;
}

/* Keys to ask for: hashes anywhere, and keys of entries that are there. */
static uint64_t key_number(const subject *s, unsigned i)
{
    uint64_t hash = cf_hash(s->bytes, s->length, (int64_t)i);
    if (i % 4 == 1)
        hash &= ~s->filter.tag_mask; /* the zero tag, that is fixed up */
    if (i % 4 == 2)
        hash =
            (hash & ~s->filter.tag_mask) | cf_tag_at(&s->filter, hash % s->filter.geometry.buckets, 0);
    return hash;
}

static void look(const cf_filter *filter, uint64_t bucket, unsigned slot)
{
    cf_side entry = {bucket, cf_tag_at(filter, bucket, slot)};
    REQUIRE(entry.tag <= filter->tag_mask);
    cf_side other = cf_other_side(filter, entry);
    REQUIRE(other.bucket < filter->geometry.buckets);
    REQUIRE((other.tag == 0) == (entry.tag == 0));
    cf_side back = cf_other_side(filter, other);
    REQUIRE(back.bucket == entry.bucket && back.tag == entry.tag);
}

static void look_everywhere(const cf_filter *filter)
{
    for (uint64_t bucket = 0; bucket < filter->geometry.buckets; bucket++)
        for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++)
            look(filter, bucket, slot);
    cf_census census = cf_take_census(filter);
    REQUIRE(census.occupied <= cf_geometry_slots(&filter->geometry));
    REQUIRE(census.sticky <= census.occupied);
    double fpr = cf_expected_fpr(&filter->geometry, filter->occupied);
    REQUIRE(fpr >= 0 && fpr <= 1);
}

static bool sound(const cf_filter *filter)
{
    const char *why = NULL;
    return cf_check(filter, &why) == CF_OK;
}

static void ask(const cf_filter *filter, uint64_t hash)
{
    unsigned copies = cf_count(filter, hash);
    REQUIRE(cf_contains(filter, hash) == (copies > 0));
    REQUIRE(copies <= 2u * filter->geometry.bucket_size);
    cf_pair pair = cf_candidates(filter, hash);
    REQUIRE(pair.sides == 1 || pair.sides == 2);
    for (unsigned i = 0; i < pair.sides; i++)
        REQUIRE(pair.side[i].bucket < filter->geometry.buckets && pair.side[i].tag != 0);
}

static void add(subject *s, uint64_t hash)
{
    unsigned copies = cf_count(&s->filter, hash);
    remember(s);
    if (cf_add(&s->filter, hash) != CF_OK) {
        REQUIRE(unchanged(s));
        return;
    }
    REQUIRE(cf_contains(&s->filter, hash));
    REQUIRE(cf_count(&s->filter, hash) == copies + (copies < s->filter.geometry.cap));
}

static void delete (subject *s, uint64_t hash)
{
    unsigned copies = cf_count(&s->filter, hash);
    remember(s);
    cf_deleted result = cf_delete(&s->filter, hash);
    REQUIRE((result == CF_ABSENT) == (copies == 0));
    REQUIRE((result == CF_STICKY) == (copies >= s->filter.geometry.cap));
    REQUIRE((result == CF_REMOVED) != unchanged(s));
    REQUIRE(cf_count(&s->filter, hash) == copies - (result == CF_REMOVED));
}

/* All of `from` is in the sum: what was found in either is found. CF_FULL leaves a part of it there. */
static bool merge(subject *s, const cf_filter *from, int64_t keys)
{
    const char *why = NULL;
    bool found[KEYS];
    for (unsigned i = 0; i < KEYS; i++) {
        uint64_t hash = cf_hash(s->before, s->length, keys + i);
        found[i] = cf_contains(&s->filter, hash) || cf_contains(from, hash);
    }
    cf_status status = cf_merge(&s->filter, from, &why);
    REQUIRE(status == CF_OK || status == CF_FULL);
    for (unsigned i = 0; i < KEYS && status == CF_OK; i++)
        REQUIRE(!found[i] || cf_contains(&s->filter, cf_hash(s->before, s->length, keys + i)));
    return status == CF_OK;
}

static bool merge_with_itself(subject *s)
{
    const char *why = NULL;
    cf_filter from;
    cf_seal(&s->filter);
    uint8_t *bytes = fuzz_copy(s->bytes, s->length);
    bool all = cf_open(&from, bytes, s->length, &why) != CF_OK || merge(s, &from, 0);
    free(bytes);
    return all;
}

/* Another filter of the same shape, with keys of its own. */
static bool merge_with_another(subject *s)
{
    cf_filter from;
    uint8_t *bytes = fuzz_malloc((size_t)cf_geometry_bytes(&s->filter.geometry));
    cf_create(&from, &s->filter.geometry, bytes);
    for (unsigned i = 0; i < KEYS; i++)
        cf_add(&from, cf_hash(s->before, s->length, KEYS + (int64_t)i));
    bool all = merge(s, &from, KEYS);
    free(bytes);
    return all;
}

/* Sealed, a filter that was sound opens again with the counts it had. */
static void reopen(subject *s)
{
    const char *why = NULL;
    cf_filter again;
    cf_seal(&s->filter);
    REQUIRE(cf_open(&again, s->bytes, s->length, &why) == CF_OK);
    REQUIRE(again.items == s->filter.items && again.occupied == s->filter.occupied);
    REQUIRE(sound(&again));
}

static void clear(subject *s)
{
    const char *why = NULL;
    cf_filter again;
    cf_clear(&s->filter);
    REQUIRE(cf_open(&again, s->bytes, s->filter.length, &why) == CF_OK);
    REQUIRE(again.items == 0 && again.occupied == 0 && sound(&again));
}

static void try_filter(const uint8_t *bytes, size_t length)
{
    subject s;
    if (subject_open(&s, bytes, length)) {
        bool was_sound = sound(&s.filter);
        look_everywhere(&s.filter);
        for (unsigned i = 0; i < KEYS; i++)
            ask(&s.filter, key_number(&s, i));
        for (unsigned i = 0; i < KEYS; i++)
            add(&s, key_number(&s, i));
        for (unsigned i = 0; i < KEYS; i++)
            delete (&s, key_number(&s, i));
        if (was_sound)
            reopen(&s);
        bool all = merge_with_itself(&s) && merge_with_another(&s);
        look_everywhere(&s.filter);
        if (was_sound && all)
            reopen(&s);
        clear(&s);
    }
    subject_close(&s);
}

/* ---- the three ways to take the input ---- */

/* The right magic, version and checksum; the other fields are the input's. */
static void make_identity(uint8_t *bytes)
{
    static const uint8_t identity[] = {0xcf, 0x63, 0x6b, CF_FORMAT_VERSION, CF_HASH_XXH3};
    memcpy(bytes, identity, sizeof identity);
    fuzz_reseal(bytes);
}

/* Header fields in their ranges, and as many buckets as the length has room for. */
static void make_shape(uint8_t *bytes, size_t length)
{
    cf_header header = {.reserved = CF_RESERVED_MIN};
    cf_geometry *g = &header.geometry;
    g->bucket_size = (uint8_t)(1 << bytes[5] % 4);
    g->fingerprint_bits = (uint8_t)(CF_FINGERPRINT_MIN + bytes[6] % 29);
    g->pair_bits = (uint8_t)(CF_PAIR_BITS_MIN + bytes[7] % (g->fingerprint_bits - 3));
    g->cap = (uint8_t)(1 + bytes[8] % g->bucket_size);
    g->growth = bytes[12] & 1;
    g->seed = (int64_t)cf_load64(bytes + 24);
    g->capacity = cf_load64(bytes + 32) >> 16;
    header.items = cf_load64(bytes + 40) >> 16;
    g->buckets = (length - CF_HEADER_BYTES - CF_RESERVED_MIN) * 8 /
                 ((unsigned)g->bucket_size * g->fingerprint_bits);
    if (g->buckets == 0)
        return;
    header.reserved += (uint32_t)(length - cf_geometry_bytes(g));
    header.occupied = bytes[48] % 8 ? cf_geometry_slots(g) / 8 * (bytes[48] % 8) : 0;
    cf_header_encode(&header, bytes);
}

/* The count that the buckets show: then cf_check finds nothing else to say of many inputs. */
static void make_counts(uint8_t *bytes, size_t length)
{
    const char *why = NULL;
    cf_filter filter;
    if (cf_open_writable(&filter, bytes, length, &why) != CF_OK)
        return;
    filter.occupied = cf_take_census(&filter).occupied;
    if (filter.items < filter.occupied)
        filter.items = filter.occupied;
    cf_seal(&filter);
}

int fuzz_blob(const uint8_t *data, size_t size)
{
    try_filter(data, size);
    if (size > 0)
        REQUIRE(cf_hash_prefixed(data[0], data + 1, size - 1, -1) == cf_hash(data, size, -1));
    if (size < CF_HEADER_BYTES + CF_RESERVED_MIN)
        return 0;
    uint8_t *bytes = fuzz_copy(data, size);
    make_identity(bytes);
    try_filter(bytes, size);
    make_shape(bytes, size);
    try_filter(bytes, size);
    make_counts(bytes, size);
    try_filter(bytes, size);
    free(bytes);
    return 0;
}

FUZZ_ENTRY(fuzz_blob)
