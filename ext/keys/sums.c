/* SPDX-License-Identifier: MIT */
#include "sums.h"

#include <string.h>

enum { FEWEST_PLACES = 64 };

/* The place of a hash, or the empty one where it belongs. There is an empty one. */
static cuckoo_sum *place_of(const cuckoo_sums *sums, uint64_t hash)
{
    size_t mask = sums->places - 1, at = (size_t)((hash * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & mask;
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

int cuckoo_sums_add(cuckoo_sums *sums, uint64_t hash, int32_t more)
{
    int rc = sums->used + 1 > sums->places / 4 * 3 ? enlarge(sums) : SQLITE_OK;
    if (rc != SQLITE_OK)
        return rc;
    cuckoo_sum *place = place_of(sums, hash);
    sums->used += !place->taken;
    *place = (cuckoo_sum){hash, place->sum + more, true};
    return rc;
}

int32_t cuckoo_sums_of(const cuckoo_sums *sums, uint64_t hash)
{
    return sums->used ? place_of(sums, hash)->sum : 0;
}

/* A table that has become large is given back: clearing it would cost more than filling it. */
void cuckoo_sums_clear(cuckoo_sums *sums)
{
    enum { LARGE = 1 << 16 /* places */ };
    if (sums->places > LARGE)
        cuckoo_sums_free(sums);
    else if (sums->used)
        memset(sums->place, 0, sums->places * sizeof *sums->place);
    sums->used = 0;
}

void cuckoo_sums_free(cuckoo_sums *sums)
{
    sqlite3_free(sums->place);
    *sums = (cuckoo_sums){NULL, 0, 0};
}
