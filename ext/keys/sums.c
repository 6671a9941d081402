/* SPDX-License-Identifier: MIT */
#include "sums.h"

#include <string.h>

enum { FEWEST_PLACES = 64 };

/* The place of a hash, or the empty one where it belongs. There is an empty one. Tables of two sizes
** have two orders: else a small table that takes over the sums of a larger one, in its order, would
** fill from one end, and look through all of that for each. */
static cuckoo_sum *place_of(const cuckoo_sums *sums, uint64_t hash)
{
    uint64_t mixed = hash * UINT64_C(0x9E3779B97F4A7C15) * (sums->places + 1);
    size_t mask = sums->places - 1, at = (size_t)(mixed >> 32) & mask;
    while (sums->place[at].taken && sums->place[at].hash != hash)
        at = (at + 1) & mask;
    return &sums->place[at];
}

static int enlarge(cuckoo_sums *sums)
{
    cuckoo_sums larger = {.places = sums->places ? 2 * sums->places : FEWEST_PLACES, .used = sums->used};
    larger.place = sqlite3_malloc64(larger.places * sizeof *larger.place);
    if (larger.place == NULL)
        return SQLITE_NOMEM;
    memset(larger.place, 0, larger.places * sizeof *larger.place);
    for (size_t i = 0; i < sums->places; i++)
        if (sums->place[i].taken)
            *place_of(&larger, sums->place[i].hash) = sums->place[i];
    sqlite3_free(sums->place);
    *sums = larger;
    return SQLITE_OK;
}

int cuckoo_sums_take(cuckoo_sums *sums, bool times, uint64_t hash, int64_t n)
{
    if (sums->used + 1 > sums->places / 4 * 3 && enlarge(sums) != SQLITE_OK)
        return SQLITE_NOMEM;
    cuckoo_sum *place = place_of(sums, hash);
    sums->used += !place->taken;
    *place = (cuckoo_sum){hash, place->sum, true};
    if (!times)
        place->sum = (int64_t)((uint64_t)place->sum + (uint64_t)n); /* rows may have any numbers */
    else if (n > place->sum)
        place->sum = n;
    return SQLITE_OK;
}

int64_t cuckoo_sums_of(const cuckoo_sums *sums, uint64_t hash)
{
    return sums->used ? place_of(sums, hash)->sum : 0;
}

int cuckoo_sums_walk(const cuckoo_sums *sums, cuckoo_changer change, void *context)
{
    int rc = SQLITE_OK;
    for (int come = 0; come < 2; come++)
        for (size_t i = 0; rc == SQLITE_OK && i < sums->places; i++) {
            const cuckoo_sum *at = &sums->place[i];
            if (at->sum != 0 && (at->sum > 0) == (come == 1))
                rc = change(context, at->hash, at->sum);
        }
    return rc;
}

bool cuckoo_sums_any(const cuckoo_sums *sums)
{
    size_t i = 0;
    while (i < sums->places && sums->place[i].sum == 0)
        i++;
    return i < sums->places;
}

void cuckoo_sums_free(cuckoo_sums *sums)
{
    sqlite3_free(sums->place);
    *sums = (cuckoo_sums){NULL, 0, 0};
}
