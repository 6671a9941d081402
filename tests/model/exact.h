/* SPDX-License-Identifier: MIT */
/*
** exact.h - exact filters: built of any universe, and hostile bytes in the place of one.
**
** Whatever the universe: no wrong answer, cf_exact_check has nothing to say, and the bytes follow from
** the two sets alone. Whatever the bytes: no step outside of them, an end, and what opens is what a
** second reader of the format (exact.c) opens, too.
*/
#ifndef CUCKOO_MODEL_EXACT_H
#define CUCKOO_MODEL_EXACT_H

#include "../../src/include/cuckoo_exact.h"
#include "hostile.h"

/* ---- building ---- */

typedef struct universe {
    uint64_t *hash; /* the members first */
    size_t n, members;
    cf_options options;
    double fpr;
    bool crowded; /* chosen so that they may crowd one place */
} universe;

static const double exact_rates[] = {0, 0, 0.5, 0.2, 0.01, 1e-6};

static cf_options any_rule(void)
{
    return (cf_options){.seed = one_in(2) ? 0 : (int64_t)random64(),
                        .hash = (cf_hash_choice)random_below(3),
                        .affinity = (cf_affinity)random_below(4),
                        .collation = (cf_collation)random_below(3),
                        .key_types = (unsigned)random_below(16)};
}

static cf_status make_exact(const universe *u, const cf_watch *watch, uint64_t most,
                            cf_exact_build *build)
{
    const char *why = "unset";
    size_t count[2] = {u->n - u->members, u->members};
    *build = (cf_exact_build){.options = u->options,
                              .fpr = u->fpr,
                              .count = {count[0], count[1]},
                              .memory = {world_resize, most, NULL},
                              .watch = watch};
    for (unsigned side = 0; side < 2; side++) {
        build->hashes[side] = model_need(malloc((2 * count[side] + 1) * sizeof(uint64_t)));
        for (size_t i = 0; i < count[side]; i++)
            build->hashes[side][i] = u->hash[i + (side ? 0 : u->members)];
        for (uint64_t twice = random_below(3); twice > 0 && count[side] > 0; twice--)
            build->hashes[side][build->count[side]++] = build->hashes[side][random_below(count[side])];
    }
    cf_status status = cf_exact_make(build, &why);
    free(build->hashes[0]);
    free(build->hashes[1]);
    REQUIRE((build->bytes != NULL) == (status == CF_OK));
    REQUIRE((why == NULL) == (status == CF_OK));
    return status;
}

static void check_right(const universe *u, const cf_exact_build *build)
{
    const char *why = "";
    cf_filter other;
    cf_exact *exact = model_need(malloc(sizeof *exact));
    REQUIRE(cf_is_exact(build->bytes, build->length));
    REQUIRE(cf_open(&other, build->bytes, build->length, &why) == CF_DAMAGED);
    if (cf_exact_open(exact, build->bytes, build->length, &why) != CF_OK) {
        model_fail("cf_exact_open: %s", why);
        free(exact);
        return;
    }
    for (size_t i = 0; i < u->n; i++)
        if (cf_exact_contains(exact, u->hash[i]) != (i < u->members))
            model_fail("WRONG: key %zu of %zu, %zu members", i, u->n, u->members);
    REQUIRE(cf_exact_check(exact, NULL, &why) == CF_OK);
    REQUIRE(exact->keys == u->n && exact->members == u->members && exact->length == build->length);
    REQUIRE((exact->levels > 0) == (u->members > CF_EXACT_LIST));
    REQUIRE(exact->rule.seed == u->options.seed && exact->rule.affinity == u->options.affinity);
    double fpr = cf_exact_fpr(exact);
    REQUIRE(u->fpr == 0 || fpr <= u->fpr * 1.0001);
    REQUIRE(u->fpr == 0 || u->members < 1000 || u->fpr > 0.1 || fpr > u->fpr / 4);
    free(exact);
}

/* Once more with the hashes in another order, and once with something missing. */
static void make_again(universe *u, const cf_exact_build *first)
{
    cf_exact_build again;
    for (size_t i = 1; i < u->members; i++) {
        size_t j = random_below(i);
        uint64_t other = u->hash[i];
        u->hash[i] = u->hash[j], u->hash[j] = other;
    }
    REQUIRE(make_exact(u, NULL, UINT64_MAX, &again) == CF_OK && again.length == first->length);
    REQUIRE(again.bytes && memcmp(again.bytes, first->bytes, first->length) == 0);
    if (first->length > 64 && (u->fpr == 0 || u->fpr == 0.5)) { /* a rate that the fewest bytes keep */
        double asked = u->fpr;
        free(again.bytes);
        u->fpr = asked == 0 ? 0.5 : 0;
        REQUIRE(make_exact(u, NULL, UINT64_MAX, &again) == CF_OK && again.length == first->length);
        u->fpr = asked;
    }
    free(again.bytes);
    requests_left = random_below(30);
    cf_status status = make_exact(u, NULL, UINT64_MAX, &again);
    requests_left = UINT64_MAX;
    REQUIRE(status == CF_NO_MEMORY || status == CF_OK);
    free(again.bytes);
    status = make_exact(u, NULL, 1 + random_below(first->length - 1), &again);
    REQUIRE(status == CF_TOO_BIG);
    questions_left = random_below(8);
    status = make_exact(u, &impatient, UINT64_MAX, &again);
    REQUIRE(status == CF_INTERRUPTED || status == CF_OK);
    free(again.bytes);
    if (u->members > 0 && u->members < u->n) {
        u->hash[u->members + random_below(u->n - u->members)] = u->hash[random_below(u->members)];
        REQUIRE(make_exact(u, NULL, UINT64_MAX, &again) == CF_BAD_ARGUMENT);
    }
}

/* Builds, asks, builds again; the bytes are the caller's. NULL: the keys belong to the same few buckets. */
static cf_exact_build try_universe(universe *u)
{
    cf_exact_build build;
    cf_status status = make_exact(u, NULL, UINT64_MAX, &build);
    REQUIRE(status == CF_OK || (u->crowded && status == CF_FULL));
    if (status == CF_OK) {
        check_right(u, &build);
        make_again(u, &build);
    }
    return build;
}

/* ---- a second reader of the format ---- */

static bool same_rule(const uint8_t *bytes, const cf_geometry *g)
{
    return g->seed == (int64_t)number_at(bytes + 8, 8) && g->keyed == ((bytes[4] & 15) == 2) &&
           g->affinity == bytes[5] && g->collation == bytes[6] && !g->growth &&
           g->stash_size + g->counter_bits + g->value_bits + g->epochs == 0;
}

/* Levels, then list, in the order in which they lie. */
static bool reads_levels(const uint8_t *bytes, size_t length)
{
    const char *why;
    cf_filter level;
    uint64_t levels = bytes[32], listed = bytes[33], items = listed, at = 64 + 8 * levels;
    for (uint64_t i = 0; i < levels; i++) {
        uint64_t size = number_at(bytes + 64 + 8 * i, 8);
        if (size > length - 8 * listed - at ||
            cf_open(&level, bytes + at, (size_t)size, &why) != CF_OK ||
            !same_rule(bytes, &level.geometry))
            return false;
        items = i == 0 ? level.items : items;
        at += size;
    }
    for (uint64_t i = 1; i < listed; i++)
        if (number_at(bytes + at + 8 * i, 8) <= number_at(bytes + at + 8 * i - 8, 8))
            return false;
    return at + 8 * listed == length && number_at(bytes + 24, 8) == items &&
           items <= number_at(bytes + 16, 8);
}

static cf_status read_exact(const uint8_t *bytes, size_t length)
{
    static const cf_geometry unseeded = {0};
    static const uint8_t zeros[14] = {0};
    if (length < 64 || memcmp(bytes, "\xcf\x65\x78", 3) != 0)
        return CF_DAMAGED;
    if (bytes[3] != 1)
        return CF_NEWER;
    if (number_at(bytes + AT_CHECKSUM, 4) != checksum_of(bytes) || number_at(bytes + 56, 4) != 0)
        return CF_DAMAGED;
    if ((bytes[4] & 15) < 1 || (bytes[4] & 15) > 2 || bytes[5] > 3 || bytes[6] > 2 || bytes[7] != 0)
        return CF_NEWER;
    if (number_at(bytes + 48, 8) != cf_hash(&unseeded, bytes + 64, length - 64) ||
        memcmp(bytes + 34, zeros, 14) != 0 || bytes[32] > 32 || bytes[33] > 32 ||
        length < 64 + 8 * ((size_t)bytes[32] + bytes[33]))
        return CF_DAMAGED;
    return reads_levels(bytes, length) ? CF_OK : CF_DAMAGED;
}

/* ---- hostile bytes ---- */

static void reseal_exact(uint8_t *bytes, size_t length)
{
    static const cf_geometry unseeded = {0};
    store(bytes + 48, 8, cf_hash(&unseeded, bytes + 64, length - 64));
    reseal(bytes);
}

/* True: it opens. */
static bool try_exact(const uint8_t *data, size_t length)
{
    const char *why = NULL, *found = NULL;
    uint8_t *bytes = copy_of_bytes(data, length);
    cf_exact *exact = model_need(malloc(sizeof *exact));
    cf_status status = cf_exact_open(exact, bytes, length, &why), expected = read_exact(bytes, length);
    bool opens = status == CF_OK;
    if (opens != (expected == CF_OK) || (expected == CF_NEWER && status != CF_NEWER))
        model_fail("cf_exact_open: status %d, %d by another reader", (int)status, (int)expected);
    REQUIRE(opens == (why == NULL));
    for (unsigned i = 0; i < 30 && opens; i++) {
        uint64_t hash = random64();
        REQUIRE(cf_exact_depth(exact, hash) <= exact->levels + 1);
        REQUIRE(cf_exact_contains(exact, hash) == (cf_exact_depth(exact, hash) % 2 == 1));
    }
    if (opens) {
        cf_exact_check(exact, NULL, &found);
        REQUIRE(cf_exact_fpr(exact) >= 0 && cf_exact_fpr(exact) <= 1);
    }
    free(exact);
    free(bytes);
    return opens;
}

/* Some bytes changed, of the header more often than not, and checksums made right again, or not. */
static void tamper(const cf_exact_build *build)
{
    uint8_t *bytes = copy_of_bytes(build->bytes, build->length);
    size_t length = build->length, level = 64 + 8 * (size_t)bytes[32];
    bool in_level = bytes[32] > 0 && one_in(2);
    for (uint64_t changes = 1 + random_below(2); changes > 0; changes--) {
        size_t at = in_level ? level : 0;
        at += random_below(one_in(4) ? length - at : 64);
        bytes[at] = (uint8_t)(one_in(2) ? random_below(34) : random_below(256));
    }
    if (!one_in(6)) {
        if (in_level)
            reseal(bytes + level);
        reseal_exact(bytes, length);
    }
    try_exact(bytes, one_in(8) ? random_below(length) : length);
    free(bytes);
}

/* A file of so many empty levels of a shape and a list of 1, 2 and so on, with few things wrong. */
static void craft(void)
{
    enum { LONGER = 1 << 13 };
    cf_geometry shape = any_shape();
    bool plain = !one_in(4), ascending = !one_in(8);
    unsigned levels = (unsigned)random_below(one_in(4) ? 35 : 3);
    unsigned listed = (unsigned)random_below(one_in(4) ? 35 : 3);
    shape.buckets = 2;
    shape.seed = one_in(2) ? 0 : 7;
    if (plain) {
        shape.growth = false;
        shape.stash_size = shape.budget = shape.counter_bits = shape.value_bits = shape.epochs = 0;
    }
    size_t of_one = cf_geometry_bytes(&shape), at = 64 + 8 * (size_t)levels, gap = one_in(8) ? 8 : 0;
    size_t length = at + levels * of_one + gap + 8 * listed;
    uint8_t *bytes = model_need(calloc(1, length));
    memcpy(bytes, "\xcf\x65\x78\1", 4);
    bytes[4] = (uint8_t)((shape.keyed ? 2 : 1) | shape.key_types << 4);
    bytes[5] = shape.affinity, bytes[6] = shape.collation;
    store(bytes + 8, 8, (uint64_t)shape.seed);
    store(bytes + 16, 8, listed + random_below(2));
    store(bytes + 24, 8, levels ? 0 : listed);
    bytes[32] = (uint8_t)levels, bytes[33] = (uint8_t)listed;
    for (unsigned i = 0; i < levels; i++, at += of_one) {
        cf_filter level;
        cf_create(&level, &shape, bytes + at);
        store(bytes + 64 + 8 * i, 8, of_one + (one_in(64) ? 8 : 0));
    }
    if (levels > 1 && one_in(4)) { /* the first one says to be longer than all of it */
        uint8_t *first = bytes + 64 + 8 * (size_t)levels;
        store(first + 56, 4, number_at(first + 56, 4) + LONGER);
        reseal(first);
        store(bytes + 64, 8, of_one + LONGER);
    }
    for (unsigned i = 0; i < listed; i++)
        store(bytes + length - 8 * (listed - i), 8, ascending || i < listed / 2 ? i + 1 : i);
    if (one_in(2))
        bytes[random_below(48)] ^= (uint8_t)(1u << random_below(8));
    if (one_in(6))
        length = 64 + random_below(length - 63);
    reseal_exact(bytes, length);
    try_exact(bytes, length);
    free(bytes);
}

/* ---- steps ---- */

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Of what is present, among all keys of the life. */
static void exact_of(subject *s)
{
    universe u = {.options = any_rule(), .fpr = exact_rates[random_below(6)], .crowded = true};
    size_t others = 0;
    bool common = false;
    u.hash = model_need(malloc((s->m.n + 1) * sizeof *u.hash));
    uint64_t *other = model_need(malloc((s->m.n + 1) * sizeof *other));
    for (uint32_t id = 0; id < s->m.n; id += s->with->values)
        if (model_copies(&s->m, id) > 0)
            u.hash[u.members++] = s->m.item[id].hash;
        else
            other[others++] = s->m.item[id].hash;
    REQUIRE(cf_sort(u.hash, u.members, NULL) == CF_OK && cf_sort(other, others, NULL) == CF_OK);
    u.members = cf_drop_repeated(u.hash, u.members);
    others = cf_drop_repeated(other, others);
    for (size_t i = 0; i < others; i++)
        common |= bsearch(&other[i], u.hash, u.members, sizeof *other, by_number) != NULL;
    memcpy(u.hash + u.members, other, others * sizeof *other);
    u.n = u.members + others;
    free(other);
    cf_exact_build build = {.bytes = NULL};
    if (!common)
        build = try_universe(&u);
    for (unsigned i = 0; i < 4 && build.bytes; i++)
        tamper(&build);
    free(build.bytes);
    free(u.hash);
}

/* Of hashes at random, of any number and share. */
static void live_exactly(uint64_t most)
{
    size_t n = random_below(UINT64_C(1) << random_below(most));
    universe u = {.n = n, .members = n ? random_below(n + 1) : 0, .options = any_rule()};
    if (one_in(4))
        u.members = model_least(n, 31 + random_below(4)), u.n = one_in(2) ? u.members : n;
    u.fpr = exact_rates[random_below(6)];
    u.hash = model_need(malloc((n + 1) * sizeof *u.hash));
    for (size_t i = 0; i < n; i++)
        u.hash[i] = draws.at ? mixed(draws.state + i) : random64();
    last_step = "exact";
    cf_exact_build build = try_universe(&u);
    for (unsigned i = 0; i < 30 && build.bytes && !failed; i++)
        tamper(&build);
    for (unsigned i = 0; i < 20 && !failed; i++)
        craft();
    free(build.bytes);
    free(u.hash);
}

#endif
