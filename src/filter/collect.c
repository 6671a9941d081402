/* SPDX-License-Identifier: MIT */
/*
** collect.c - collects keys one by one, for one build.
**
** They are kept in an array. If it is as large as a *run*, and full even after repeated keys were
** dropped, it is sorted, and becomes the next run of the file:
**
**      file    [ run 0: part 0 | part 1 | ... | part 255 ][ run 1: part 0 | ... ] ...
**
** A part has the keys whose hashes begin with one byte. At the end each part is read from its pieces,
** sorted, freed of repeated keys, and written back over its pieces. So a build, which walks through all
** keys in order twice, has one part in memory.
*/
#include "collect.h"

#include "../base/bits.h"

#include <string.h>

enum {
    PARTS = 256,
    RUN = 1 << 19,     /* words, 4 MB: its 256 pieces are long enough for a disk */
    FEWEST = 256,      /* words */
    UNSORTED = 1 << 16 /* words; smaller arrays grow without being sorted */
};

static inline bool is_in_file(const cf_collected *list)
{
    return CF_MAY_USE_FILE && list->runs > 0;
}

static inline unsigned words_of(const cf_collected *list)
{
    return list->valued ? 2 : 1;
}

static uint64_t *resize(const cf_collected *list, void *block, uint64_t words)
{
    return (uint64_t *)(void *)list->memory.resize(list->memory.context, block, 8 * words);
}

cf_collected cf_collected_of(const cf_many *keys)
{
    uint64_t values = 0;
    for (size_t i = 1; keys->words == 2 && i < 2 * keys->n; i += 2)
        values |= keys->at[i];
    return (cf_collected){.valued = keys->words == 2,
                          .array = keys->at,
                          .used = keys->n * keys->words,
                          .values = values,
                          .n = keys->n,
                          .parts = 1};
}

void cf_collected_free(cf_collected *list)
{
    if (list->memory.resize && list->array)
        resize(list, list->array, 0);
    if (list->memory.resize && list->ends)
        resize(list, list->ends, 0);
    list->array = NULL;
    list->ends = NULL;
}

/* ---- sorting, and dropping repeated keys ---- */

/* Counts what cf_collected_sort reports about sorted keys. */
static void describe(cf_collected *list, const cf_many *keys)
{
    const unsigned words = keys->words;
    size_t alike = 0;
    for (size_t i = 0; i < keys->n; i++) {
        const uint64_t *key = keys->at + i * words;
        bool same = i > 0 && key[0] == key[-(int)words];
        list->distinct += !same || (words == 2 && key[1] != key[-1]);
        alike = same ? alike + 1 : 1;
        list->most_alike = alike > list->most_alike ? alike : list->most_alike;
    }
}

static bool sort(const cf_collected *list, cf_many *keys)
{
    cf_ticker ticker = cf_ticker_of(list->watch);
    if (!cf_sort_many(keys, &list->memory, &ticker))
        return false;
    if (!list->counts && list->valued)
        keys->n = cf_drop_repeated_pairs((cf_valued *)keys->at, keys->n);
    else if (!list->counts)
        keys->n = cf_drop_repeated(keys->at, keys->n);
    return true;
}

/* ---- runs ---- */

/* The offset of the piece of a part in a run, in words. ends[0] has the length of each part. */
static inline size_t piece(const cf_collected *list, size_t run, unsigned part, uint32_t *length)
{
    const uint32_t *ends = list->ends + (run + 1) * PARTS;
    uint32_t from = part ? ends[part - 1] : 0;
    *length = ends[part] - from;
    return run * RUN + from;
}

static bool has_file(cf_collected *list)
{
    if (!CF_MAY_USE_FILE ||
        (list->file && list->runs == 0 && !list->file->move(list->file->context, 0, NULL, 0, true)))
        list->file = NULL;
    return list->file != NULL;
}

/* Writes the array, which is sorted, as the next run. */
static cf_status write_run(cf_collected *list)
{
    const unsigned words = words_of(list);
    if ((list->runs & (list->runs - 1)) == 0) { /* twice as many rows; the first one is ends[0] */
        uint32_t *larger =
            (uint32_t *)(void *)resize(list, list->ends, (2 * list->runs + 2) * PARTS / 2);
        if (larger == NULL)
            return CF_NO_MEMORY;
        list->ends = larger;
    }
    uint32_t *ends = list->ends + (list->runs + 1) * PARTS;
    memset(ends, 0, PARTS * sizeof *ends);
    for (size_t i = 0; i < list->used; i += words)
        ends[list->array[i] >> 56] += words;
    for (unsigned part = 1; part < PARTS; part++)
        ends[part] += ends[part - 1];
    if (!list->file->move(list->file->context, list->runs * (uint64_t)RUN * 8, list->array,
                          list->used * 8, true))
        return CF_NO_MEMORY;
    list->runs++;
    list->used = 0;
    return CF_OK;
}

/* Reads the pieces of a part to `words`, or writes n words over them. */
static bool move_part(const cf_collected *list, unsigned part, uint64_t *words, size_t n, bool writes)
{
    for (size_t run = 0; run < list->runs && n > 0; run++) {
        uint32_t length;
        size_t at = piece(list, run, part, &length);
        length = length < n ? length : (uint32_t)n;
        if (length &&
            !list->file->move(list->file->context, 8 * (uint64_t)at, words, 8 * (size_t)length, writes))
            return false;
        words += length;
        n -= length;
    }
    return true;
}

/* ---- adding ---- */

static cf_status drop_repeated(cf_collected *list)
{
    cf_many keys = {list->array, list->used / words_of(list), words_of(list)};
    if (!sort(list, &keys))
        return CF_INTERRUPTED;
    list->used = keys.n * keys.words;
    return CF_OK;
}

/* Sorting each time would cost as much as the build, so repeated keys are dropped when the array has
** become 16 times as large, when it becomes a run, and when it cannot grow. */
cf_status cf_collect_more(cf_collected *list)
{
    enum { TIMES = 16 };
    uint64_t most = list->memory.most ? list->memory.most / 8 : UINT64_MAX / 8;
    bool runs = list->room >= RUN && has_file(list), last = runs || list->room == most;
    bool sorts = last || (!list->counts && list->room >= UNSORTED && list->room / TIMES >= list->sorted);
    cf_status status = sorts ? drop_repeated(list) : CF_OK;
    if (status != CF_OK || list->used < list->room / 4 * 3)
        return status;
    list->sorted = sorts ? list->room : list->sorted; /* sorting has freed too little */
    if (runs)
        return write_run(list);
    if (last)
        return list->used < list->room ? CF_OK : CF_TOO_BIG;
    uint64_t room = list->room ? 2 * (uint64_t)list->room : FEWEST;
    room = room < most ? room : most;
    uint64_t *larger = resize(list, list->array, room);
    if (larger == NULL)
        return CF_NO_MEMORY;
    list->array = larger;
    list->room = (size_t)room;
    return CF_OK;
}

/* ---- reading ---- */

/* Writes the last run, and makes the array large enough for any part and for keys carried over. */
static cf_status end_runs(cf_collected *list)
{
    size_t most = 0;
    cf_status status = list->used ? drop_repeated(list) : CF_OK;
    status = status == CF_OK && list->used ? write_run(list) : status;
    if (status != CF_OK)
        return status;
    list->parts = PARTS;
    for (unsigned part = 0; part < PARTS; part++) {
        size_t all = 0;
        for (size_t run = 0; run < list->runs; run++) {
            uint32_t length;
            piece(list, run, part, &length);
            all += length;
        }
        list->ends[part] = (uint32_t)all;
        most = all > most ? all : most;
    }
    resize(list, list->array, 0);
    list->array = most > UINT32_MAX ? NULL : resize(list, NULL, 2 * most);
    list->room = most;
    return list->array ? CF_OK : CF_NO_MEMORY;
}

static cf_status sort_parts(cf_collected *list)
{
    const unsigned words = words_of(list);
    cf_status status = end_runs(list);
    for (unsigned part = 0; part < PARTS && status == CF_OK; part++) {
        cf_many keys = {list->array, list->ends[part] / words, words};
        if (!move_part(list, part, keys.at, list->ends[part], false))
            return CF_NO_MEMORY;
        status = sort(list, &keys) ? CF_OK : CF_INTERRUPTED;
        list->ends[part] = (uint32_t)(keys.n * words);
        if (status == CF_OK && !move_part(list, part, keys.at, list->ends[part], true))
            return CF_NO_MEMORY;
        list->n += keys.n;
        describe(list, &keys);
    }
    list->used = 0;
    return status;
}

cf_status cf_collected_sort(cf_collected *list)
{
    list->n = list->distinct = list->most_alike = 0;
    if (is_in_file(list))
        return sort_parts(list);
    list->parts = 1;
    cf_many keys = {list->array, list->used / words_of(list), words_of(list)};
    if (!sort(list, &keys))
        return CF_INTERRUPTED;
    list->n = keys.n;
    describe(list, &keys);
    return CF_OK;
}

bool cf_collected_keep(cf_collected *list, unsigned part, size_t n)
{
    const size_t words = n * words_of(list);
    if (!is_in_file(list)) {
        list->n = n;
        return true;
    }
    list->n -= list->ends[part] / words_of(list) - n;
    list->ends[part] = (uint32_t)words;
    return move_part(list, part, list->array, words, true);
}

cf_status cf_collected_count(cf_collected *list, size_t *different)
{
    cf_status status = cf_collected_sort(list);
    *different = list->distinct;
    return status;
}

bool cf_collected_part(cf_collected *list, unsigned part, size_t carried, cf_many *keys)
{
    const unsigned words = words_of(list);
    *keys = (cf_many){list->array, list->n, words};
    if (!is_in_file(list))
        return true;
    size_t before = carried * words, more = list->ends[part];
    memmove(list->array, list->array + list->used - before, before * 8);
    list->used = before + more;
    keys->n = list->used / words;
    return move_part(list, part, list->array + before, more, false);
}
