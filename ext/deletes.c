/* SPDX-License-Identifier: MIT */
#include "deletes.h"

#include <string.h>

enum { FEWEST_PLACES = 16, FEW_PLACES = 1024, MANY = 1 << 15 /* keys; 1.5 MB */ };

/* The place of a key, or the empty place where it would be. */
static cuckoo_delete *find(const cuckoo_deletes *deletes, uint64_t hash, uint64_t value)
{
    size_t mask = deletes->places - 1, i = (size_t)(hash ^ hash >> 32 ^ value) & mask;
    while (deletes->place[i].copies > 0 &&
           (deletes->place[i].hash != hash || deletes->place[i].value != value))
        i = (i + 1) & mask;
    return &deletes->place[i];
}

static void move(cuckoo_deletes *into, const cuckoo_deletes *from)
{
    for (size_t i = 0; i < from->places; i++)
        if (from->place[i].copies > 0)
            *find(into, from->place[i].hash, from->place[i].value) = from->place[i];
}

/* At least half of the places stay empty. */
static int make_places(cuckoo_deletes *deletes)
{
    cuckoo_deletes larger = *deletes;
    if (2 * (deletes->used + 1) <= deletes->places)
        return SQLITE_OK;
    larger.places = deletes->places ? 2 * deletes->places : FEWEST_PLACES;
    larger.place = sqlite3_malloc64((uint64_t)larger.places * sizeof *larger.place);
    if (larger.place == NULL)
        return SQLITE_NOMEM;
    memset(larger.place, 0, larger.places * sizeof *larger.place);
    move(&larger, deletes);
    sqlite3_free(deletes->place);
    *deletes = larger;
    return SQLITE_OK;
}

int cuckoo_deletes_push(cuckoo_deletes *deletes, uint64_t hash, uint64_t value)
{
    int rc = make_places(deletes);
    if (rc != SQLITE_OK)
        return rc;
    cuckoo_delete *at = find(deletes, hash, value);
    deletes->used += at->copies == 0;
    *at = (cuckoo_delete){hash, value, at->copies + 1};
    deletes->n++;
    return SQLITE_OK;
}

/* Empties a place, and moves keys behind it that would otherwise not be found any more. */
static void empty(cuckoo_deletes *deletes, cuckoo_delete *at)
{
    size_t mask = deletes->places - 1, i = (size_t)(at - deletes->place);
    at->copies = 0;
    deletes->used--;
    for (i = (i + 1) & mask; deletes->place[i].copies > 0; i = (i + 1) & mask) {
        cuckoo_delete moved = deletes->place[i];
        deletes->place[i].copies = 0;
        *find(deletes, moved.hash, moved.value) = moved;
    }
}

bool cuckoo_deletes_cancel(cuckoo_deletes *deletes, uint64_t hash, uint64_t value)
{
    cuckoo_delete *at = deletes->n > 0 ? find(deletes, hash, value) : NULL;
    if (at == NULL || at->copies == 0)
        return false;
    deletes->n--;
    if (at->copies == 1)
        empty(deletes, at);
    else
        at->copies--;
    return true;
}

/* From the end, so that the next one is found without looking at the empty places again. */
bool cuckoo_deletes_pop(cuckoo_deletes *deletes, cuckoo_delete *some)
{
    if (deletes->n == 0)
        return false;
    while (deletes->last == 0 || deletes->place[deletes->last - 1].copies == 0)
        deletes->last = deletes->last == 0 ? deletes->places : deletes->last - 1;
    *some = deletes->place[deletes->last - 1];
    deletes->n -= some->copies;
    empty(deletes, &deletes->place[deletes->last - 1]);
    if (deletes->n == 0 && deletes->places > FEW_PLACES)
        cuckoo_deletes_free(deletes); /* else the next pops would look through all of its places */
    return true;
}

void cuckoo_deletes_clear(cuckoo_deletes *deletes)
{
    if (deletes->used > 0)
        memset(deletes->place, 0, deletes->places * sizeof *deletes->place);
    deletes->used = deletes->last = 0;
    deletes->n = 0;
}

void cuckoo_deletes_free(cuckoo_deletes *deletes)
{
    sqlite3_free(deletes->place);
    memset(deletes, 0, sizeof *deletes);
}

bool cuckoo_deletes_many(const cuckoo_deletes *deletes)
{
    return deletes->used >= MANY;
}
