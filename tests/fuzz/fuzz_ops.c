/* SPDX-License-Identifier: MIT */
/*
** fuzz_ops.c - any sequence of operations, beside a reference.
**
** The first bytes of the input choose the shape, sound but otherwise arbitrary, with counters, values,
** epochs or none of these, the layout of buckets, a spill list or none, whether it grows, and how alike
** the hashes of the 32 keys are; the rest are operations on two filters of that shape. The
** reference knows
**
**      - of each key and value, how many copies were added and not deleted (only such are deleted, or
**        keys that no filter could confuse with another): the key is found. No false negative, ever;
**      - as long as the filter does not grow, of each class of keys that share fingerprint and pair, the
**        copies by the rule of the library: exact below cap, or a full counter, and sticky there.
**        cf_count, cf_delete and the counts in the header agree exactly;
**      - once it grows, that a delete of a key that is there finds something;
**      - of a filter that ages, in which epoch each key and class was added last: it is found until that is
**        too old, and not after that. There is no delete: keys are added if they are new. Half of the
**        epochs begin as in a filter table, which takes out the dead later.
**
** After each operation the key that it named is asked for. All keys are asked for after a few
** operations, after each that touches more than one key, and at the end. A failed add changes
** nothing; at the end both filters pass cf_check. To run: see fuzz.h.
*/
#include "../../src/filter/ageing.h"
#include "../../src/growth/growth.h"
#include "fuzz.h"
#include "tally.h"

#include <limits.h>

enum {
    KEYS = 32,
    VALUES = 4,
    FILTERS = 2,
    OPERATIONS = 4000,
    LONGEST = 100000,  /* bytes */
    ASK_ALL_EVERY = 16 /* operations */
};

typedef struct model {
    cf_filter filter;
    unsigned copies[KEYS][VALUES]; /* of each key and value: added and not deleted */
    uint64_t stored[KEYS][VALUES]; /* of each class, at its first key: by the rule of the library */
    /* When it ages both are instead 1 + the epoch of the last add; 0: there is none. */
    uint64_t items;
} model;

typedef struct world {
    cf_geometry shape;
    unsigned values; /* that are used: 1 without values */
    uint64_t most;   /* copies of a class and value that can be told */
    bool exact;      /* does not grow */
    uint64_t hash[KEYS];
    unsigned class[KEYS]; /* the first key with the same fingerprint and pair */
    model model[FILTERS];
} world;

/* ---- making a world ---- */

static void choose_payload(fuzz_input *in, cf_geometry *shape)
{
    unsigned kind = fuzz_byte(in) % 4, bits = fuzz_byte(in);
    if (kind == 1)
        shape->counter_bits = (uint8_t)(1 + bits % 4); /* small, so that they get full */
    if (kind == 2)
        shape->value_bits = (uint8_t)(2 + bits % (CF_VALUE_MAX - 1));
    if (kind == 3 && bits % 4) {
        shape->epochs = (uint8_t)(1 + bits / 4 % CF_EPOCHS_MAX);
        shape->cap = 1;
    }
}

/* Semi-sorted where that can be; a spill list, so short that it gets full, or none. */
static void choose_layout(fuzz_input *in, cf_geometry *shape)
{
    unsigned code = fuzz_byte(in);
    shape->semisorted = shape->bucket_size == 4 && shape->fingerprint_bits > 4 && code % 2;
    if (code / 2 % 2 && !shape->epochs) {
        shape->spill_bound = (uint16_t)(1 + code / 4 % 8);
        shape->budget = (uint8_t)(code / 32);
    }
}

static bool choose_shape(fuzz_input *in, cf_geometry *shape)
{
    const char *why = NULL;
    unsigned f = CF_FINGERPRINT_MIN + fuzz_byte(in) % 29;
    unsigned b = 1u << fuzz_byte(in) % 4;
    unsigned s = CF_PAIR_BITS_MIN + fuzz_byte(in) % (f - 3);
    *shape = (cf_geometry){.buckets = 2 + 2 * (fuzz_byte(in) % 32),
                           .seed = (int64_t)fuzz_byte(in),
                           .bucket_size = (uint8_t)b,
                           .fingerprint_bits = (uint8_t)f,
                           .pair_bits = (uint8_t)s,
                           .cap = (uint8_t)(1 + fuzz_byte(in) % (2 * b))};
    if (fuzz_byte(in) % 8 == 0)
        shape->buckets = 2 + 2 * (fuzz_number(in, 2) % 250);
    choose_payload(in, shape);
    shape->growth = fuzz_byte(in) % 2;
    shape->keyed = shape->seed % 2 != 0;
    if (shape->growth || shape->epochs)
        shape->buckets = 2 + shape->buckets % 16;
    choose_layout(in, shape);
    return cf_geometry_check(shape, &why) == CF_OK;
}

/* Hashes that agree in some bits: in the low ones (fingerprint), in the high ones (bucket), or
** not. */
static void choose_keys(fuzz_input *in, world *w)
{
    uint64_t low = cf_low_bits(fuzz_byte(in) % 40), high = ~cf_low_bits(64 - fuzz_byte(in) % 24);
    uint64_t common = cf_hash(&(cf_geometry){.seed = 1}, &w->shape.seed, sizeof w->shape.seed);
    if (fuzz_byte(in) % 4 == 0)
        common = 0;
    for (unsigned i = 0; i < KEYS; i++) {
        uint64_t hash = cf_hash(&w->shape, &i, sizeof i);
        w->hash[i] = (hash & ~low & ~high) | (common & (low | high));
    }
}

static bool same_place(cf_place a, cf_place b)
{
    return a.bucket == b.bucket && a.tag == b.tag;
}

static bool same_class(const cf_filter *filter, uint64_t one, uint64_t other)
{
    cf_pair a = cf_candidates(filter, one), b = cf_candidates(filter, other);
    return same_place(a.place[0], b.place[0]) || (b.sides == 2 && same_place(a.place[0], b.place[1]));
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

static void start_filters(world *w)
{
    for (unsigned i = 0; i < FILTERS; i++) {
        cf_create(&w->model[i].filter, &w->shape, fuzz_malloc((size_t)cf_geometry_bytes(&w->shape)));
        if (!w->exact)
            w->model[i].filter.memory = (cf_memory){fuzz_resize, LONGEST, NULL};
    }
}

static uint8_t *bytes_of(const cf_filter *filter)
{
    return filter->view.writable - CF_HEADER_BYTES;
}

/* ---- comparing ---- */

static uint64_t at_most(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The copies that a number of the reference stands for. */
static uint64_t known(const model *m, uint64_t number)
{
    unsigned epochs = m->filter.geometry.epochs;
    return epochs ? number != 0 && number + epochs > m->filter.epoch + 1 : number;
}

static uint64_t items_of(const model *m)
{
    return m->filter.geometry.epochs ? m->filter.occupied : m->items;
}

/* Entries of this value that match the key. */
static uint64_t matches(const cf_filter *filter, uint64_t hash, uint64_t value)
{
    return tally_of(filter, hash, value).matches;
}

static void ask_promised(const world *w, const model *m, unsigned key)
{
    for (unsigned v = 0; v < w->values; v++)
        if (known(m, m->copies[key][v]) > 0) {
            REQUIRE(cf_contains(&m->filter, w->hash[key]));
            REQUIRE(matches(&m->filter, w->hash[key], v) > 0);
        }
}

/* Copies of the key, of all values. */
static uint64_t ask_exactly(const world *w, const model *m, unsigned key)
{
    const uint64_t *stored = m->stored[w->class[key]];
    uint64_t sum = 0, value = VALUES;
    for (unsigned v = 0; v < w->values; v++) {
        REQUIRE(known(m, stored[v]) >= at_most(known(m, m->copies[key][v]), w->most));
        sum += known(m, stored[v]);
    }
    REQUIRE(cf_count(&m->filter, w->hash[key]) == sum);
    REQUIRE(cf_contains(&m->filter, w->hash[key]) == (sum > 0));
    REQUIRE(w->shape.counter_bits || matches(&m->filter, w->hash[key], 0) == known(m, stored[0]));
    REQUIRE(w->shape.epochs || cf_get(&m->filter, w->hash[key], &value) == (sum > 0));
    REQUIRE(sum == 0 || !w->shape.value_bits || stored[value] > 0);
    return sum;
}

/* After an operation that named one key. */
static void compare_key(const world *w, const model *m, unsigned key)
{
    ask_promised(w, m, key);
    if (w->exact)
        ask_exactly(w, m, key);
    REQUIRE(m->filter.items == items_of(m));
}

static void compare(const world *w, const model *m)
{
    uint64_t copies = 0;
    for (unsigned i = 0; i < KEYS; i++) {
        ask_promised(w, m, i);
        uint64_t sum = w->exact ? ask_exactly(w, m, i) : 0;
        copies += w->class[i] == i ? sum : 0;
    }
    REQUIRE(m->filter.items == items_of(m));
    if (!w->exact)
        return;
    REQUIRE(cf_take_census(&m->filter).copies == copies);
    REQUIRE(w->shape.counter_bits || w->shape.epochs ||
            m->filter.occupied + m->filter.spilled == copies);
    REQUIRE(!w->shape.epochs || m->filter.occupied >= copies); /* some are dead */
}

static void open_again(cf_filter *filter, uint8_t *bytes, uint64_t length, cf_memory memory)
{
    const char *why = NULL;
    REQUIRE(cf_open_writable(filter, bytes, length, &why) == CF_OK);
    filter->memory = memory;
}

/* The header written, the bytes opened anew, and checked from end to end. */
static void reopen(const world *w, model *m)
{
    const char *why = NULL;
    cf_seal(&m->filter);
    open_again(&m->filter, bytes_of(&m->filter), m->filter.length, m->filter.memory);
    REQUIRE(cf_check(&m->filter, &why) == CF_OK);
    compare(w, m);
}

/* ---- operations ---- */

static void require_same(const cf_filter *now, const cf_filter *was, const uint8_t *before)
{
    REQUIRE(now->length == was->length && memcmp(before, now->bytes, was->length) == 0);
    REQUIRE(now->items == was->items && now->occupied == was->occupied);
    REQUIRE(now->spilled == was->spilled);
    REQUIRE(now->level == was->level && now->split == was->split && now->view.grown == was->view.grown);
}

static void add(const world *w, model *m, unsigned key, unsigned value)
{
    cf_filter was = m->filter;
    uint8_t *before = fuzz_copy(was.bytes, was.length);
    uint64_t *stored = &m->stored[w->class[key]][value];
    if (cf_add_value(&m->filter, w->hash[key], value) == CF_OK) {
        m->items++;
        m->copies[key][value]++;
        *stored += *stored < w->most;
        if (w->shape.epochs)
            *stored = m->copies[key][value] = (unsigned)m->filter.epoch + 1;
    } else {
        REQUIRE(!w->exact || known(m, *stored) < w->most);
        require_same(&m->filter, &was, before);
    }
    free(before);
}

static void add_if_new(const world *w, model *m, unsigned key, unsigned value)
{
    if (!cf_contains(&m->filter, w->hash[key]))
        add(w, m, key, value);
}

static void delete_exactly(const world *w, model *m, unsigned key, unsigned value)
{
    uint64_t *stored = &m->stored[w->class[key]][value];
    if (m->copies[key][value] == 0 && *stored > 0)
        return; /* never added, but the filter cannot know */
    cf_deleted expected = *stored == 0 ? CF_ABSENT : *stored < w->most ? CF_REMOVED : CF_STICKY;
    REQUIRE(cf_delete_value(&m->filter, w->hash[key], value) == expected);
    m->copies[key][value] -= m->copies[key][value] > 0;
    m->items -= expected == CF_REMOVED;
    *stored -= expected == CF_REMOVED;
}

static void delete_promised(const world *w, model *m, unsigned key, unsigned value)
{
    if (m->copies[key][value] == 0)
        return;
    cf_deleted result = cf_delete_value(&m->filter, w->hash[key], value);
    REQUIRE(result != CF_ABSENT);
    m->copies[key][value]--;
    m->items -= result == CF_REMOVED;
}

static void clear(model *m)
{
    cf_clear(&m->filter);
    memset(m->copies, 0, sizeof m->copies);
    memset(m->stored, 0, sizeof m->stored);
    m->items = 0;
}

/* Steps that no add asked for. */
static void grow(model *m, unsigned steps)
{
    for (; steps > 0; steps--)
        cf_grow(&m->filter);
    if (m->filter.geometry.epochs)
        m->filter.items = m->filter.occupied; /* as whoever adds does: splits drop the dead */
}

/* Some epochs begin, often one: as in a blob, or as in a filter table. */
static void advance(model *m, unsigned steps)
{
    unsigned epochs = steps / 2 % 4 ? 1 : steps / 2 + 5;
    for (; m->filter.geometry.epochs && epochs > 0; epochs--)
        if (steps % 2) {
            cf_advance(&m->filter);
        } else {
            cf_sweep(&m->filter, ~m->filter.view.live, 0, m->filter.buckets);
            cf_begin_epoch(&m->filter);
        }
}

/* Of copies, or of epochs. */
static uint64_t sum_of(const world *w, uint64_t one, uint64_t other, uint64_t most)
{
    return w->shape.epochs ? one > other ? one : other : at_most(one + other, most);
}

/* Into a copy that is thrown away when the sum does not fit. */
static void merge(const world *w, model *into, const model *from)
{
    const char *why = NULL;
    cf_filter sum;
    if (into->items > UINT32_MAX)
        return;
    cf_seal(&into->filter);
    uint8_t *other = fuzz_copy(from->filter.bytes, from->filter.length); /* from may be into */
    cf_filter source = from->filter;
    cf_rebase(&source, other, NULL);
    open_again(&sum, fuzz_copy(into->filter.bytes, into->filter.length), into->filter.length,
               into->filter.memory);
    cf_status status = cf_merge(&sum, &source, &why);
    REQUIRE(status == CF_OK || status == CF_FULL || status == CF_TOO_BIG);
    free(other);
    free(bytes_of(status == CF_OK ? &into->filter : &sum));
    if (status != CF_OK)
        return;
    into->filter = sum;
    into->items += from->items;
    for (unsigned i = 0; i < KEYS; i++)
        for (unsigned v = 0; v < w->values; v++) {
            into->copies[i][v] = (unsigned)sum_of(w, into->copies[i][v], from->copies[i][v], UINT_MAX);
            into->stored[i][v] = sum_of(w, into->stored[i][v], from->stored[i][v], w->most);
        }
}

/* Operations on more than one key; false: `code` is none of them. */
static bool operate_on_all(const world *w, model *m, const model *other, unsigned code, unsigned steps)
{
    if (code == 0)
        clear(m);
    else if (code == 1)
        reopen(w, m);
    else if (code == 2)
        merge(w, m, other);
    else if (code == 3)
        grow(m, steps);
    else if (code == 4)
        cf_settle(&m->filter);
    else if (code == 5)
        advance(m, steps);
    return code <= 5;
}

static void operate(world *w, fuzz_input *in, unsigned number)
{
    unsigned code = fuzz_byte(in), byte = fuzz_byte(in), key = byte % KEYS;
    unsigned value = byte / KEYS % w->values;
    model *m = &w->model[code >> 7];
    bool all = operate_on_all(w, m, &w->model[key % FILTERS], code & 63, key);
    if (!all && code & 64)
        (w->shape.epochs ? add_if_new : w->exact ? delete_exactly : delete_promised)(w, m, key, value);
    else if (!all)
        add(w, m, key, value);
    if (all || number % ASK_ALL_EVERY == 0)
        compare(w, m);
    else
        compare_key(w, m, key);
}

int fuzz_ops(const uint8_t *data, size_t size)
{
    world w = {.values = 1};
    fuzz_input in = {data, data + size};
    if (size == 0 || !choose_shape(&in, &w.shape))
        return 0;
    w.values = w.shape.value_bits ? VALUES : 1;
    w.most = w.shape.counter_bits ? (uint64_t)1 << w.shape.counter_bits : w.shape.cap;
    w.exact = !w.shape.growth;
    start_filters(&w);
    choose_keys(&in, &w);
    find_classes(&w);
    for (unsigned n = 0; n < OPERATIONS && in.at < in.end; n++)
        operate(&w, &in, n);
    for (unsigned i = 0; i < FILTERS; i++) {
        reopen(&w, &w.model[i]);
        free(bytes_of(&w.model[i].filter));
    }
    return 0;
}

FUZZ_ENTRY(fuzz_ops)
