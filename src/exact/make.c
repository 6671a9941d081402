/* SPDX-License-Identifier: MIT */
/*
** make.c - builds exact filters: level by level, from lists of keys in memory or in files.
*/
#include "exact.h"

#include "../base/bits.h"
#include "../filter/collect.h"
#include "../insert/growth.h"

/* Levels store the two sides in turn; each separates what it stores from the other side. */
typedef struct cf_exact_work {
    cf_exact_build *build;
    cf_ticker ticker;
    cf_collected array[2], *side[2]; /* keys still to be separated, sorted: members, other keys */
    unsigned levels;
    const char *why;
} cf_exact_work;

/* Walks through the keys of a side in order. */
typedef struct cf_side_reader {
    cf_collected *side;
    cf_many keys; /* of the part that was read last */
    size_t i;     /* of the next key in it */
    unsigned part;
    bool failed; /* to read a part */
} cf_side_reader;

/* False: there are no more keys, or a part cannot be read. */
static bool read_next(cf_side_reader *reader, uint64_t *hash)
{
    while (reader->i == reader->keys.n) {
        if (reader->failed || reader->part == reader->side->parts)
            return false;
        reader->failed = !cf_collected_part(reader->side, reader->part++, 0, &reader->keys);
        reader->i = 0;
        reader->keys.n = reader->failed ? 0 : reader->keys.n;
    }
    *hash = reader->keys.at[reader->i++];
    return true;
}

/* While levels are added, the result has room for the lengths of CF_EXACT_LEVELS levels. */
enum { LEVELS_AT = CF_HEADER_BYTES + 8 * CF_EXACT_LEVELS };

static cf_status lengthen(cf_exact_build *build, uint64_t bytes)
{
    const cf_memory *memory = &build->memory;
    uint64_t most = cf_most(memory);
    if (bytes > most || build->length > most - bytes)
        return CF_TOO_BIG;
    uint8_t *longer = memory->resize(memory->context, build->bytes, build->length + bytes);
    if (longer == NULL)
        return CF_NO_MEMORY;
    build->bytes = longer;
    build->length += bytes;
    return CF_OK;
}

/* The levels take the fewest bytes if the false positives of each are a third of what it stores, or less
** if one more level costs more (found by trying: on average within 1 % of the best). With buckets of
** four at most 8.5 slots out of 2^bits match. */
static double rate_of_level(const cf_exact_work *work, uint64_t held, uint64_t others)
{
    enum { SHARE = 3, OVERHEAD = 2000, MOST_SHARE = 20, LEAST_BITS = 5, COMPARED = 8 };
    uint64_t share = SHARE + OVERHEAD / held;
    uint64_t wrong = COMPARED * (share < MOST_SHARE ? share : MOST_SHARE) * others;
    unsigned bits = LEAST_BITS;
    while (bits < CF_FINGERPRINT_MAX && wrong >> bits > held)
        bits++;
    double rate = 8.5 / (double)((uint64_t)1 << bits), asked = work->build->fpr;
    /* RULE: the first level has at most the requested rate; equivalent >= to >: both are equal */
    return work->levels == 0 && asked != 0 && !(asked >= rate) ? asked : rate;
}

/* Builds the next level, a filter with bytes of its own. Buckets of four slots take the fewest. */
static CF_NEVER_INLINE cf_status build_level(cf_exact_work *work, cf_collected *held, double rate,
                                             cf_filter *level)
{
    const cf_exact_build *build = work->build;
    uint64_t hash;
    cf_status status = CF_OK;
    cf_options options = build->options;
    cf_side_reader reader = {.side = held};
    cf_collected mixed = {.memory = build->memory, .watch = build->watch};
    mixed.memory.most = 0;
    mixed.file = CF_MAY_USE_FILE ? build->file : NULL;
    if (mixed.file == NULL) { /* as long as it must be */
        mixed.room = held->n;
        mixed.array = (void *)build->memory.resize(build->memory.context, NULL, (uint64_t)held->n * 8);
        status = mixed.array ? CF_OK : CF_NO_MEMORY;
    }
    while (status == CF_OK && read_next(&reader, &hash)) {
        if (CF_MAY_USE_FILE && mixed.used == mixed.room)
            status = cf_collect_more(&mixed);
        if (status == CF_OK)
            mixed.array[mixed.used++] = cf_exact_hash(hash, work->levels);
    }
    options.bucket_size = 4;
    *level = (cf_filter){.memory = build->memory, .watch = build->watch};
    if (status == CF_OK)
        status = reader.failed ? CF_NO_MEMORY
                               : cf_build_collected(level, &mixed, held->n, rate, &options, &work->why);
    cf_collected_free(&mixed);
    return status;
}

/* Only the false positives of the level are left of the other side. */
static cf_status keep_found(cf_exact_work *work, const cf_filter *level, cf_collected *other)
{
    enum { COST = 20 };
    cf_many keys;
    for (unsigned part = 0; part < other->parts; part++) {
        size_t wrong = 0;
        if (!cf_collected_part(other, part, 0, &keys))
            return CF_NO_MEMORY;
        for (size_t i = 0; i < keys.n && !cf_tick(&work->ticker, COST); i++) {
            keys.at[wrong] = keys.at[i];
            /* RULE: the false positives of a level go to the next one */
            wrong += cf_contains(level, cf_exact_hash(keys.at[i], work->levels));
        }
        if (work->ticker.stopped)
            return CF_INTERRUPTED;
        if (!cf_collected_keep(other, part, wrong))
            return CF_NO_MEMORY;
    }
    return CF_OK;
}

static cf_status append_level(cf_exact_work *work, cf_filter *level, cf_collected *other)
{
    cf_exact_build *build = work->build;
    cf_status status = lengthen(build, level->length);
    if (status != CF_OK)
        return status;
    cf_seal(level);
    memcpy(build->bytes + build->length - level->length, level->bytes, cf_in_memory(level->length));
    cf_store64(build->bytes + CF_HEADER_BYTES + 8 * work->levels, level->length);
    status = keep_found(work, level, other);
    work->levels++;
    return status;
}

static cf_status add_level(cf_exact_work *work)
{
    const cf_memory *memory = &work->build->memory;
    /* RULE: a level stores the false positives of the one before it */
    cf_collected *held = work->side[work->levels % 2], *other = work->side[!(work->levels % 2)];
    cf_filter level;
    cf_status status = build_level(work, held, rate_of_level(work, held->n, other->n), &level);
    if (status != CF_OK)
        return status;
    status = append_level(work, &level, other);
    memory->resize(memory->context, level.writable, 0);
    return status;
}

/* Appends the list, closes the gap after the lengths, and writes the header. */
static cf_status finish(cf_exact_work *work, uint64_t keys, uint64_t members)
{
    cf_exact_build *build = work->build;
    const cf_options *rule = &build->options;
    cf_side_reader list = {.side = work->side[work->levels % 2]};
    uint64_t listed = list.side->n, hash, at = build->length, gap = 8 * (CF_EXACT_LEVELS - work->levels);
    cf_status status = lengthen(build, 8 * listed);
    if (status != CF_OK)
        return status;
    uint8_t *header = build->bytes;
    for (; read_next(&list, &hash); at += 8)
        cf_store64(header + at, hash);
    if (list.failed)
        return CF_NO_MEMORY;
    memmove(header + LEVELS_AT - gap, header + LEVELS_AT, cf_in_memory(at - LEVELS_AT));
    build->length = at - gap;
    memset(header, 0, CF_HEADER_BYTES);
    memcpy(header, cf_exact_magic, sizeof cf_exact_magic);
    header[AT_RULE] = (uint8_t)((cf_is_keyed(rule) ? CF_IDENTITY_KEYED : CF_IDENTITY_XXH3) |
                                cf_types_under(rule->affinity, rule->key_types) << CF_TYPES_SHIFT);
    header[AT_RULE + 1] = (uint8_t)rule->affinity;
    header[AT_RULE + 2] = (uint8_t)rule->collation;
    cf_store64(header + 8, (uint64_t)rule->seed);
    cf_store64(header + AT_KEYS, keys);
    cf_store64(header + AT_MEMBERS, members);
    cf_store64(header + AT_LEVELS, work->levels | listed << 8);
    cf_store64(header + CF_EXACT_CONTENT, cf_exact_sum(header, build->length));
    cf_store64(header + AT_END, (uint64_t)cf_checksum(header) << 32);
    return CF_OK;
}

/* CF_BAD_ARGUMENT if the sides have a hash in common: levels would never end. */
static CF_NEVER_INLINE cf_status compare_sides(cf_exact_work *work)
{
    uint64_t a = 0, b = 0;
    cf_side_reader members = {.side = work->side[0]}, others = {.side = work->side[1]};
    bool more = read_next(&members, &a) && read_next(&others, &b);
    while (more && !cf_tick(&work->ticker, 2)) {
        /* RULE: no key is both member and not */
        if (a == b)
            return cf_refuse(
                CF_BAD_ARGUMENT, &work->why,
                "a key is both member and not; if none is, leave the affinity out, or try another seed");
        /* RULE: the lesser of two hashes is skipped; equivalent < to <=: equal ones have returned */
        more = a < b ? read_next(&members, &a) : read_next(&others, &b);
    }
    return work->ticker.stopped              ? CF_INTERRUPTED
           : members.failed || others.failed ? CF_NO_MEMORY
                                             : CF_OK;
}

static cf_status make_all(cf_exact_work *work)
{
    cf_exact_build *build = work->build;
    cf_status status = CF_OK;
    for (unsigned i = 0; i < 2 && status == CF_OK; i++) {
        cf_collected *array = &work->array[i];
        *array = cf_collected_of(&(cf_many){build->hashes[!i], build->count[!i], 1});
        array->memory = build->memory;
        array->watch = build->watch;
        work->side[i] = build->collected[!i] ? build->collected[!i] : array;
        status = cf_collected_sort(work->side[i]);
    }
    status = status == CF_OK ? compare_sides(work) : status;
    if (status != CF_OK)
        return status;
    uint64_t members = work->side[0]->n, keys = members + work->side[1]->n;
    status = lengthen(build, LEVELS_AT);
    /* RULE: there are no more levels once the rest fits into the list */
    while (status == CF_OK && work->side[work->levels % 2]->n > CF_EXACT_LIST)
        status = work->levels < CF_EXACT_LEVELS ? add_level(work) : CF_FULL;
    return status == CF_OK ? finish(work, keys, members) : status;
}

/* What is wrong with the input of a build; NULL: nothing. Not inlined: less stack. */
static CF_NEVER_INLINE const char *make_fault(const cf_exact_build *build)
{
    const cf_options *o = &build->options;
    const char *why = NULL;
    cf_geometry shape;
    for (unsigned i = 0; i < 2; i++)
        if (build->memory.resize == NULL || (build->hashes[i] == NULL && build->count[i] > 0))
            return "memory is not set, or hashes is NULL";
        else if (build->collected[i] && (build->collected[i]->valued || build->collected[i]->counts))
            return "keys of an exact filter have no values and no copies";
    if ((o->bucket_size | o->fingerprint_bits | o->counter_bits | o->value_bits | o->epochs |
         (unsigned)o->layout) != 0 ||
        o->growth || o->stash)
        return "only the options hash, seed, affinity and collation apply to an exact filter";
    cf_plan(1, build->fpr != 0 ? build->fpr : 0.5, o, &shape, &why);
    return why;
}

cf_status cf_exact_make(cf_exact_build *build, const char **why)
{
    cf_exact_work work = {.build = build, .ticker = cf_ticker_of(build->watch)};
    build->bytes = NULL;
    build->length = 0;
    const char *fault = make_fault(build);
    if (fault)
        return cf_refuse(CF_BAD_ARGUMENT, why, fault);
    cf_status status = make_all(&work);
    work.why = status == CF_FULL ? "too many keys belong to the same few buckets, as if chosen to; try "
                                   "another seed in the options"
               : status == CF_TOO_BIG ? "the filter is longer than allowed; split the keys over several"
                                      : work.why;
    if (status != CF_OK && build->bytes)
        build->bytes = build->memory.resize(build->memory.context, build->bytes, 0);
    return cf_explained(status, why, work.why);
}
