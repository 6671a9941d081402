/* SPDX-License-Identifier: MIT */
#include "counts.h"

#include <string.h>

enum { FEWEST_SLOTS = 64 };

/* The slot of an entry, or the empty slot where it belongs. There is always an empty one. The order depends
** on the size: otherwise a map that is filled in the order of a larger one would fill from one end, and
** look through all of that for each hash. */
static cuckoo_count *slot_of(const cuckoo_counts *counts, uint64_t hash, int64_t row)
{
    uint64_t mixed = (hash + (uint64_t)row * UINT64_C(0xD6E8FEB86659FD93)) *
                     UINT64_C(0x9E3779B97F4A7C15) * (counts->slots + 1);
    size_t mask = counts->slots - 1, at = (size_t)(mixed >> 32) & mask;
    while (counts->slot[at].used && (counts->slot[at].hash != hash || counts->slot[at].row != row))
        at = (at + 1) & mask;
    return &counts->slot[at];
}

static int enlarge(cuckoo_counts *counts)
{
    cuckoo_counts larger = {.slots = counts->slots ? 2 * counts->slots : FEWEST_SLOTS,
                            .used = counts->used};
    larger.slot = sqlite3_malloc64(larger.slots * sizeof *larger.slot);
    if (larger.slot == NULL)
        return SQLITE_NOMEM;
    memset(larger.slot, 0, larger.slots * sizeof *larger.slot);
    for (size_t i = 0; i < counts->slots; i++)
        if (counts->slot[i].used)
            *slot_of(&larger, counts->slot[i].hash, counts->slot[i].row) = counts->slot[i];
    sqlite3_free(counts->slot);
    *counts = larger;
    return SQLITE_OK;
}

int cuckoo_counts_put(cuckoo_counts *counts, bool times, uint64_t hash, int64_t row, int64_t n)
{
    if (counts->used + 1 > counts->slots / 4 * 3 && enlarge(counts) != SQLITE_OK)
        return SQLITE_NOMEM;
    cuckoo_count *slot = slot_of(counts, hash, row);
    counts->used += !slot->used;
    *slot = (cuckoo_count){hash, row, slot->n, true};
    if (!times)
        slot->n = (int64_t)((uint64_t)slot->n + (uint64_t)n); /* corrupt rows may overflow */
    else if (n > slot->n)
        slot->n = n;
    return SQLITE_OK;
}

int64_t cuckoo_counts_get(const cuckoo_counts *counts, uint64_t hash, int64_t row)
{
    return counts->used ? slot_of(counts, hash, row)->n : 0;
}

int cuckoo_counts_walk(const cuckoo_counts *counts, cuckoo_changer change, void *context)
{
    int rc = SQLITE_OK;
    for (int positive = 0; positive < 2; positive++)
        for (size_t i = 0; rc == SQLITE_OK && i < counts->slots; i++) {
            const cuckoo_count *at = &counts->slot[i];
            if (at->n != 0 && (at->n > 0) == positive)
                rc = change(context, at->hash, at->row, at->n);
        }
    return rc;
}

bool cuckoo_counts_any(const cuckoo_counts *counts)
{
    size_t i = 0;
    while (i < counts->slots && counts->slot[i].n == 0)
        i++;
    return i < counts->slots;
}

void cuckoo_counts_free(cuckoo_counts *counts)
{
    sqlite3_free(counts->slot);
    *counts = (cuckoo_counts){NULL, 0, 0};
}
