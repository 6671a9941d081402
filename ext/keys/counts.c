/* SPDX-License-Identifier: MIT */
#include "counts.h"

enum { FEWEST_SLOTS = 64, MANY_SLOTS = 1 << 16 };
#define EMPTY INT64_MIN /* no count is this */
#define ORDER UINT64_C(0x9E3779B97F4A7C15)

/* The slot of a hash, or the empty slot where it belongs. There is always an empty one. A larger map has
** the same order, so enlarging goes straight through both. */
static cuckoo_count *slot_of(const cuckoo_counts *counts, uint64_t hash)
{
    uint64_t mixed = hash * counts->order;
    size_t at = (size_t)((mixed >> 32) * counts->slots >> 32);
    while (counts->slot[at].n != EMPTY && counts->slot[at].hash != hash)
        at = at + 1 < counts->slots ? at + 1 : 0;
    return &counts->slot[at];
}

/* Lookups in a small map are fast; a large one takes 18 to 23 bytes for each count. */
static size_t most_in(size_t slots)
{
    return slots < MANY_SLOTS ? slots / 4 * 3 : slots / 8 * 7;
}

static int enlarge(cuckoo_counts *counts)
{
    uint64_t slots = counts->slots == 0           ? FEWEST_SLOTS
                     : counts->slots < MANY_SLOTS ? 2 * counts->slots
                                                  : counts->slots / 4 * 5;
    cuckoo_counts larger = {
        .slots = (size_t)slots, .used = counts->used, .order = counts->order ? counts->order : ORDER};
    if (slots > UINT32_MAX || (larger.slot = sqlite3_malloc64(slots * sizeof *larger.slot)) == NULL)
        return SQLITE_NOMEM;
    for (size_t i = 0; i < slots; i++)
        larger.slot[i] = (cuckoo_count){0, EMPTY};
    for (size_t i = 0; i < counts->slots; i++)
        if (counts->slot[i].n != EMPTY)
            *slot_of(&larger, counts->slot[i].hash) = counts->slot[i];
    sqlite3_free(counts->slot);
    *counts = larger;
    return SQLITE_OK;
}

int cuckoo_counts_put(cuckoo_counts *counts, bool times, uint64_t hash, int64_t n)
{
    if (counts->used + 1 > most_in(counts->slots) && enlarge(counts) != SQLITE_OK)
        return SQLITE_NOMEM;
    cuckoo_count *slot = slot_of(counts, hash);
    int64_t before = slot->n == EMPTY ? 0 : slot->n;
    int64_t now = times ? (n > before ? n : before)
                        : (int64_t)((uint64_t)before + (uint64_t)n); /* corrupt rows may overflow */
    counts->used += slot->n == EMPTY;
    *slot = (cuckoo_count){hash, now == EMPTY ? now + 1 : now};
    return SQLITE_OK;
}

int64_t cuckoo_counts_get(const cuckoo_counts *counts, uint64_t hash)
{
    const cuckoo_count *slot = counts->used ? slot_of(counts, hash) : NULL;
    return slot && slot->n != EMPTY ? slot->n : 0;
}

int cuckoo_counts_walk(const cuckoo_counts *counts, cuckoo_changer change, void *context)
{
    int rc = SQLITE_OK;
    for (int positive = 0; positive < 2; positive++)
        for (size_t i = 0; rc == SQLITE_OK && i < counts->slots; i++) {
            const cuckoo_count *at = &counts->slot[i];
            if (at->n != 0 && at->n != EMPTY && (at->n > 0) == positive)
                rc = change(context, at->hash, at->n);
        }
    return rc;
}

bool cuckoo_counts_any(const cuckoo_counts *counts)
{
    size_t i = 0;
    while (i < counts->slots && (counts->slot[i].n == 0 || counts->slot[i].n == EMPTY))
        i++;
    return i < counts->slots;
}

void cuckoo_counts_free(cuckoo_counts *counts)
{
    sqlite3_free(counts->slot);
    *counts = (cuckoo_counts){.slot = NULL};
}
