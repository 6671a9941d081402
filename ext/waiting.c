/* SPDX-License-Identifier: MIT */
#include "waiting.h"

#include "sql.h"

enum { MOST_COPIES = 1 << 20 /* of a key; no counter counts as far */ };

/* ---- rows ---- */

/* A number of copies, whatever the row says. */
static int64_t copies_in(sqlite3_stmt *row, int column)
{
    sqlite3_int64 copies = sqlite3_column_int64(row, column);
    return copies < 0 ? 0 : copies > MOST_COPIES ? MOST_COPIES : copies;
}

int cuckoo_waiting_count(cuckoo_paged *paged, uint64_t hash, uint64_t value, int64_t adds)
{
    sqlite3_stmt *wait;
    int64_t key = (int64_t)hash;
    int rc =
        cuckoo_shadow_query(&paged->shadow, CUCKOO_WAIT, (int64_t[]){key, (int64_t)value, adds}, &wait);
    if (rc != SQLITE_OK)
        return rc;
    cuckoo_shadow_step(&paged->shadow, wait);
    rc = cuckoo_shadow_end(wait, rc);
    if (rc != SQLITE_OK)
        return rc;
    paged->header_dirty = paged->has_written = true;
    paged->adds += (uint64_t)adds;
    return adds < 0 ? cuckoo_shadow_run(&paged->shadow, CUCKOO_WAIT_NO_MORE, &key) : rc;
}

int cuckoo_waiting_values(cuckoo_paged *paged, uint64_t hash,
                          int (*found)(void *context, uint64_t value), void *context)
{
    sqlite3_stmt *waiting;
    int64_t key = (int64_t)hash;
    if (paged->adds == 0)
        return SQLITE_OK;
    int rc = cuckoo_shadow_query(&paged->shadow, CUCKOO_WAITING, &key, &waiting);
    while (rc == SQLITE_OK && cuckoo_shadow_step(&paged->shadow, waiting) == SQLITE_ROW)
        if (sqlite3_column_int64(waiting, 1) > 0)
            rc = found(context, (uint64_t)sqlite3_column_int64(waiting, 0));
    return cuckoo_shadow_end(waiting, rc);
}

static int note_value(void *context, uint64_t value)
{
    (void)value;
    *(bool *)context = true;
    return SQLITE_OK;
}

int cuckoo_waiting_has(cuckoo_paged *paged, uint64_t hash, bool *has)
{
    *has = false;
    return cuckoo_waiting_values(paged, hash, note_value, has);
}

int cuckoo_waiting_copies(cuckoo_paged *paged, uint64_t hash, uint64_t value, int64_t *copies)
{
    sqlite3_stmt *waiting;
    int64_t key = (int64_t)hash;
    *copies = 0;
    if (paged->adds == 0)
        return SQLITE_OK;
    int rc = cuckoo_shadow_query(&paged->shadow, CUCKOO_WAITING, &key, &waiting);
    while (rc == SQLITE_OK && cuckoo_shadow_step(&paged->shadow, waiting) == SQLITE_ROW)
        if ((uint64_t)sqlite3_column_int64(waiting, 0) == value)
            *copies = copies_in(waiting, 1);
    return cuckoo_shadow_end(waiting, rc);
}

/* ---- finding places ---- */

/* A filter without memory does not grow. */
cf_status cuckoo_waiting_place(cf_filter *filter, uint64_t hash, uint64_t value)
{
    cf_memory memory = filter->memory;
    filter->memory = (cf_memory){NULL, 0};
    cf_status status = cf_add_value(filter, hash, value);
    filter->memory = memory;
    return status;
}

/* A key that waits; they are read before any is tried, which changes the list. */
typedef struct waiting_key {
    uint64_t hash, value;
} waiting_key;

typedef struct waiting_keys {
    waiting_key *key; /* sqlite3_malloc64 */
    uint64_t n, room;
} waiting_keys;

static int push(waiting_keys *keys, waiting_key key)
{
    if (keys->n == keys->room) {
        uint64_t room = 2 * keys->room + 16;
        waiting_key *larger = sqlite3_realloc64(keys->key, room * sizeof *larger);
        if (larger == NULL)
            return SQLITE_NOMEM;
        keys->key = larger;
        keys->room = room;
    }
    keys->key[keys->n++] = key;
    return SQLITE_OK;
}

/* Reads keys that wait, from a random hash on: some may never
** find a place, and must not keep others from being tried. */
static int read_some(cuckoo_paged *paged, uint64_t most, waiting_keys *keys)
{
    sqlite3_stmt *waiting;
    int64_t from, limit = most < INT64_MAX ? (int64_t)most : -1;
    sqlite3_randomness(sizeof from, &from);
    if (most >= paged->adds)
        from = INT64_MIN;
    int rc =
        cuckoo_shadow_query(&paged->shadow, CUCKOO_SOME_WAITING, (int64_t[]){from, limit}, &waiting);
    while (rc == SQLITE_OK && cuckoo_shadow_step(&paged->shadow, waiting) == SQLITE_ROW)
        rc = push(keys, (waiting_key){(uint64_t)sqlite3_column_int64(waiting, 0),
                                      (uint64_t)sqlite3_column_int64(waiting, 1)});
    return cuckoo_shadow_end(waiting, rc);
}

/* Tries to place one copy of each of them. */
static int place_some(cuckoo_paged *paged, const waiting_keys *keys, cuckoo_placer *place)
{
    int rc = SQLITE_OK;
    for (uint64_t i = 0; rc == SQLITE_OK && i < keys->n; i++)
        if (place(&paged->filter, keys->key[i].hash, keys->key[i].value) == CF_OK)
            rc = cuckoo_waiting_count(paged, keys->key[i].hash, keys->key[i].value, -1);
    return rc;
}

int cuckoo_waiting_try(cuckoo_paged *paged, uint64_t most, cuckoo_placer *place)
{
    waiting_keys keys = {NULL, 0, 0};
    int rc = paged->adds > 0 ? read_some(paged, most, &keys) : SQLITE_OK;
    if (rc == SQLITE_OK)
        rc = place_some(paged, &keys, place);
    sqlite3_free(keys.key);
    return cuckoo_first_error(rc, cuckoo_paged_error(paged));
}

int cuckoo_waiting_add_to(cuckoo_paged *paged, cf_filter *filter, cf_status *status)
{
    sqlite3_stmt *all;
    *status = CF_OK;
    if (paged->adds == 0)
        return SQLITE_OK;
    int rc = cuckoo_shadow_query(&paged->shadow, CUCKOO_ALL_WAITING, NULL, &all);
    while (rc == SQLITE_OK && *status == CF_OK && cuckoo_shadow_step(&paged->shadow, all) == SQLITE_ROW)
        for (int64_t i = copies_in(all, 2); *status == CF_OK && i > 0; i--)
            *status = cf_add_value(filter, (uint64_t)sqlite3_column_int64(all, 0),
                                   (uint64_t)sqlite3_column_int64(all, 1));
    return cuckoo_shadow_end(all, rc);
}
