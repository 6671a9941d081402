/*
** fuzz_ops.c - any sequence of operations, beside an exact reference.
**
** The first bytes of the input choose the shape, sound but otherwise arbitrary, and how alike the hashes
** of the 32 keys are; the rest are operations on two filters of that shape. The reference knows
**
**      - of each key, how many copies were added and not deleted (only keys with a copy are deleted, or
**        such that no filter could confuse with another): the key is found, and counts at least
**        min(copies, cap). No false negative, ever;
**      - of each class of keys that share fingerprint and pair, the copies by the rule of the library:
**        exact below cap, sticky at cap. cf_count, cf_delete and the counts in the header agree exactly.
**
** A failed add changes nothing; at the end both filters pass cf_check. To run: see fuzz.h.
*/
#include "fuzz.h"

enum { KEYS = 32, FILTERS = 2, OPERATIONS = 4000 };

typedef struct model {
    cf_filter filter;
    uint8_t *bytes;
    unsigned copies[KEYS]; /* of each key: added and not deleted */
    unsigned stored[KEYS]; /* of each class, at its first key: by the rule of the library */
    uint64_t items;
} model;

typedef struct world {
    cf_geometry shape;
    size_t length;
    uint64_t hash[KEYS];
    unsigned class[KEYS]; /* the first key with the same fingerprint and pair */
    model model[FILTERS];
} world;

/* ---- making a world ---- */

static bool choose_shape(fuzz_input *in, cf_geometry *shape)
{
    const char *why = NULL;
    unsigned f = CF_FINGERPRINT_MIN + fuzz_byte(in) % 29;
    unsigned b = 1u << fuzz_byte(in) % 4;
    unsigned s = CF_PAIR_BITS_MIN + fuzz_byte(in) % (f - 3);
    *shape = (cf_geometry){.buckets = 1 + fuzz_byte(in) % 64,
                           .seed = (int64_t)fuzz_byte(in),
                           .bucket_size = (uint8_t)b,
                           .fingerprint_bits = (uint8_t)f,
                           .pair_bits = (uint8_t)s,
                           .cap = (uint8_t)(1 + fuzz_byte(in) % b)};
    if (fuzz_byte(in) % 8 == 0)
        shape->buckets = 1 + fuzz_number(in, 2) % 5000;
    return cf_geometry_check(shape, &why) == CF_OK;
}

/* Hashes that agree in some bits: in the low ones (fingerprint), in the high ones (bucket), or not. */
static void choose_keys(fuzz_input *in, world *w)
{
    uint64_t low = cf_low_bits(fuzz_byte(in) % 40), high = ~cf_low_bits(64 - fuzz_byte(in) % 24);
    uint64_t common = cf_hash(&w->shape.seed, sizeof w->shape.seed, 1);
    if (fuzz_byte(in) % 4 == 0)
        common = 0;
    for (unsigned i = 0; i < KEYS; i++) {
        uint64_t hash = cf_hash(&i, sizeof i, w->shape.seed);
        w->hash[i] = (hash & ~low & ~high) | (common & (low | high));
    }
}

static bool same_side(cf_side a, cf_side b)
{
    return a.bucket == b.bucket && a.tag == b.tag;
}

static bool same_class(const cf_filter *filter, uint64_t one, uint64_t other)
{
    cf_pair a = cf_candidates(filter, one), b = cf_candidates(filter, other);
    return same_side(a.side[0], b.side[0]) || (b.sides == 2 && same_side(a.side[0], b.side[1]));
}

static void find_classes(world *w)
{
    const cf_filter *filter = &w->model[0].filter;
    for (unsigned i = 0; i < KEYS; i++) {
        unsigned first = 0;
        while (!same_class(filter, w->hash[first], w->hash[i]))
            first++;
        w->class[i] = first;
    }
}

/* ---- comparing ---- */

static unsigned at_most(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static void compare(const world *w, const model *m)
{
    unsigned occupied = 0;
    for (unsigned i = 0; i < KEYS; i++) {
        unsigned count = cf_count(&m->filter, w->hash[i]);
        REQUIRE(count == m->stored[w->class[i]]);
        REQUIRE(count >= at_most(m->copies[i], w->shape.cap));
        REQUIRE(cf_contains(&m->filter, w->hash[i]) == (count > 0));
        if (w->class[i] == i)
            occupied += count;
    }
    REQUIRE(m->filter.items == m->items);
    REQUIRE(m->filter.occupied == occupied);
}

/* The header written, the bytes opened anew, and checked from end to end. */
static void reopen(const world *w, model *m)
{
    const char *why = NULL;
    cf_seal(&m->filter);
    REQUIRE(cf_open_writable(&m->filter, m->bytes, w->length, &why) == CF_OK);
    REQUIRE(cf_check(&m->filter, &why) == CF_OK);
    compare(w, m);
}

/* ---- operations ---- */

static void add(const world *w, model *m, unsigned key)
{
    uint8_t *before = fuzz_copy(m->bytes, w->length);
    unsigned *stored = &m->stored[w->class[key]];
    if (cf_add(&m->filter, w->hash[key]) == CF_OK) {
        m->items++;
        m->copies[key]++;
        *stored += *stored < w->shape.cap;
    } else {
        REQUIRE(*stored < w->shape.cap);
        REQUIRE(memcmp(before, m->bytes, w->length) == 0);
    }
    free(before);
}

static void delete (const world *w, model *m, unsigned key)
{
    unsigned *stored = &m->stored[w->class[key]];
    if (m->copies[key] == 0 && *stored > 0)
        return; /* never added, but the filter cannot know */
    cf_deleted expected = *stored == 0 ? CF_ABSENT : *stored < w->shape.cap ? CF_REMOVED : CF_STICKY;
    REQUIRE(cf_delete(&m->filter, w->hash[key]) == expected);
    m->copies[key] -= m->copies[key] > 0;
    m->items -= expected == CF_REMOVED;
    *stored -= expected == CF_REMOVED;
}

static void clear(model *m)
{
    cf_clear(&m->filter);
    memset(m->copies, 0, sizeof m->copies);
    memset(m->stored, 0, sizeof m->stored);
    m->items = 0;
}

/* Into a copy that is thrown away when the sum does not fit. */
static void merge(const world *w, model *into, const model *from)
{
    const char *why = NULL;
    cf_filter sum;
    if (into->items > UINT32_MAX)
        return;
    cf_seal(&into->filter);
    uint8_t *bytes = fuzz_copy(into->bytes, w->length);
    REQUIRE(cf_open_writable(&sum, bytes, w->length, &why) == CF_OK);
    cf_status status = cf_merge(&sum, &from->filter, &why);
    REQUIRE(status == CF_OK || status == CF_FULL);
    if (status == CF_OK) {
        cf_seal(&sum);
        memcpy(into->bytes, bytes, w->length);
        REQUIRE(cf_open_writable(&into->filter, into->bytes, w->length, &why) == CF_OK);
        into->items += from->items;
        for (unsigned i = 0; i < KEYS; i++) {
            into->copies[i] += from->copies[i];
            into->stored[i] = at_most(into->stored[i] + from->stored[i], w->shape.cap);
        }
    }
    free(bytes);
}

static void operate(world *w, fuzz_input *in)
{
    unsigned code = fuzz_byte(in), key = fuzz_byte(in) % KEYS;
    model *m = &w->model[code >> 7];
    if ((code & 63) == 0)
        clear(m);
    else if ((code & 63) == 1)
        reopen(w, m);
    else if ((code & 63) == 2)
        merge(w, m, &w->model[key % FILTERS]);
    else if (code & 64)
        delete (w, m, key);
    else
        add(w, m, key);
    compare(w, m);
}

int fuzz_ops(const uint8_t *data, size_t size)
{
    world w = {.length = 0};
    fuzz_input in = {data, data + size};
    if (size == 0 || !choose_shape(&in, &w.shape))
        return 0;
    w.length = (size_t)cf_geometry_bytes(&w.shape);
    for (unsigned i = 0; i < FILTERS; i++) {
        w.model[i].bytes = fuzz_malloc(w.length);
        cf_create(&w.model[i].filter, &w.shape, w.model[i].bytes);
    }
    choose_keys(&in, &w);
    find_classes(&w);
    for (unsigned n = 0; n < OPERATIONS && in.at < in.end; n++)
        operate(&w, &in);
    for (unsigned i = 0; i < FILTERS; i++) {
        reopen(&w, &w.model[i]);
        free(w.model[i].bytes);
    }
    return 0;
}

FUZZ_ENTRY(fuzz_ops)
