/* SPDX-License-Identifier: MIT */
#include "counts.h"

#include <string.h>

enum { FEWEST_SLOTS = 64, MANY_SLOTS = 1 << 16 };
#define EMPTY INT64_MIN /* never a count */
#define ORDER UINT64_C(0x9E3779B97F4A7C15)

static int64_t row_at(const cuckoo_counts *counts, size_t at)
{
    return counts->row ? counts->row[at] : 0;
}

/* The slot of an entry, or the empty slot where it belongs; there always is one. A larger map has the
** same order, so enlarging reads and writes both sequentially. */
static size_t slot_of(const cuckoo_counts *counts, uint64_t hash, int64_t row)
{
    uint64_t mixed = (hash + (uint64_t)row * UINT64_C(0xA0761D6478BD642F)) * counts->order;
    size_t at = (size_t)((mixed >> 32) * counts->slots >> 32);
    while (counts->slot[at].n != EMPTY && (counts->slot[at].hash != hash || row_at(counts, at) != row))
        at = at + 1 < counts->slots ? at + 1 : 0;
    return at;
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
    if (counts->row && (larger.row = sqlite3_malloc64(slots * sizeof *larger.row)) == NULL) {
        sqlite3_free(larger.slot);
        return SQLITE_NOMEM;
    }
    for (size_t i = 0; i < slots; i++)
        larger.slot[i] = (cuckoo_count){0, EMPTY};
    for (size_t i = 0; i < counts->slots; i++) {
        if (counts->slot[i].n == EMPTY)
            continue;
        size_t at = slot_of(&larger, counts->slot[i].hash, row_at(counts, i));
        larger.slot[at] = counts->slot[i];
        if (larger.row)
            larger.row[at] = counts->row[i];
    }
    cuckoo_counts_free(counts);
    *counts = larger;
    return SQLITE_OK;
}

static int add_rows(cuckoo_counts *counts)
{
    counts->row = sqlite3_malloc64(counts->slots * sizeof *counts->row);
    if (counts->row == NULL)
        return SQLITE_NOMEM;
    memset(counts->row, 0, counts->slots * sizeof *counts->row);
    return SQLITE_OK;
}

int cuckoo_counts_put(cuckoo_counts *counts, bool times, uint64_t hash, int64_t row, int64_t n)
{
    if (counts->used + 1 > most_in(counts->slots) && enlarge(counts) != SQLITE_OK)
        return SQLITE_NOMEM;
    if (row != 0 && counts->row == NULL && add_rows(counts) != SQLITE_OK)
        return SQLITE_NOMEM;
    size_t at = slot_of(counts, hash, row);
    cuckoo_count *slot = &counts->slot[at];
    int64_t before = slot->n == EMPTY ? 0 : slot->n;
    int64_t now = times ? (n > before ? n : before)
                        : (int64_t)((uint64_t)before + (uint64_t)n); /* corrupt rows may overflow */
    counts->used += slot->n == EMPTY;
    *slot = (cuckoo_count){hash, now == EMPTY ? now + 1 : now};
    if (counts->row)
        counts->row[at] = row;
    return SQLITE_OK;
}

int64_t cuckoo_counts_get(const cuckoo_counts *counts, uint64_t hash, int64_t row)
{
    const cuckoo_count *slot = counts->used ? &counts->slot[slot_of(counts, hash, row)] : NULL;
    return slot && slot->n != EMPTY ? slot->n : 0;
}

int cuckoo_counts_walk(const cuckoo_counts *counts, cuckoo_changer change, void *context)
{
    int rc = SQLITE_OK;
    for (int positive = 0; positive < 2; positive++)
        for (size_t i = 0; rc == SQLITE_OK && i < counts->slots; i++) {
            const cuckoo_count *at = &counts->slot[i];
            if (at->n != 0 && at->n != EMPTY && (at->n > 0) == positive)
                rc = change(context, at->hash, row_at(counts, i), at->n);
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
    sqlite3_free(counts->row);
    *counts = (cuckoo_counts){.slot = NULL};
}
