/* SPDX-License-Identifier: MIT */
#include "waiting.h"

#include "sql.h"

#include <assert.h>

enum { MOST_COPIES = 1 << 20 /* of a key; no counter counts as far */ };

/* ---- rows ---- */

/* A row of CUCKOO_ALL_WAITING. */
typedef struct waiting_row {
    uint64_t hash, value;
    int64_t adds, deletes;
} waiting_row;

/* A number of copies, whatever the row says. */
static int64_t copies_in(sqlite3_stmt *row, int column)
{
    sqlite3_int64 copies = sqlite3_column_int64(row, column);
    return copies < 0 ? 0 : copies > INT32_MAX ? INT32_MAX : copies;
}

/* Steps to the next row. False: there is none, or an error, which cuckoo_shadow_end reports. */
static bool next_waiting(cuckoo_paged *paged, sqlite3_stmt *all, waiting_row *row)
{
    if (cuckoo_shadow_step(&paged->shadow, all) != SQLITE_ROW)
        return false;
    *row = (waiting_row){(uint64_t)sqlite3_column_int64(all, 0), (uint64_t)sqlite3_column_int64(all, 1),
                         copies_in(all, 2), copies_in(all, 3)};
    return true;
}

/* Counts so many adds and deletes more, or less. */
static int count(cuckoo_paged *paged, uint64_t hash, uint64_t value, int64_t adds, int64_t deletes)
{
    sqlite3_stmt *wait;
    int64_t key = (int64_t)hash;
    int rc = cuckoo_shadow_query(&paged->shadow, CUCKOO_WAIT,
                                 (int64_t[]){key, (int64_t)value, adds, deletes}, &wait);
    if (rc != SQLITE_OK)
        return rc;
    paged->has_written = true;
    cuckoo_shadow_step(&paged->shadow, wait);
    rc = cuckoo_shadow_end(wait, rc);
    if (rc != SQLITE_OK)
        return rc;
    paged->header_dirty = paged->rows_ahead = true;
    paged->adds += (uint64_t)adds;
    paged->deletes += (uint64_t)deletes;
    return adds < 0 || deletes < 0 ? cuckoo_shadow_run(&paged->shadow, CUCKOO_WAIT_NO_MORE, &key) : rc;
}

int cuckoo_waiting_add(cuckoo_paged *paged, uint64_t hash, uint64_t value)
{
    return count(paged, hash, value, 1, 0);
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

/* Does a row have adds (column 1) or deletes (column 2) of this key with this value? */
static int has_copies(cuckoo_paged *paged, uint64_t hash, uint64_t value, int column, bool *has)
{
    sqlite3_stmt *waiting;
    int64_t key = (int64_t)hash;
    *has = false;
    int rc = cuckoo_shadow_query(&paged->shadow, CUCKOO_WAITING, &key, &waiting);
    while (rc == SQLITE_OK && cuckoo_shadow_step(&paged->shadow, waiting) == SQLITE_ROW)
        if ((uint64_t)sqlite3_column_int64(waiting, 0) == value)
            *has = copies_in(waiting, column) > 0;
    rc = cuckoo_shadow_end(waiting, rc);
    *has &= rc == SQLITE_OK;
    return rc;
}

int cuckoo_waiting_remove(cuckoo_paged *paged, uint64_t hash, uint64_t value, bool *was)
{
    *was = false;
    int rc = paged->adds > 0 ? has_copies(paged, hash, value, 1, was) : SQLITE_OK;
    return *was ? count(paged, hash, value, -1, 0) : rc;
}

int cuckoo_waiting_cancel(cuckoo_paged *paged, uint64_t hash, uint64_t value, bool *was)
{
    *was = false;
    int rc = paged->deletes > 0 ? has_copies(paged, hash, value, 2, was) : SQLITE_OK;
    return *was ? count(paged, hash, value, 0, -1) : rc;
}

int cuckoo_waiting_flush(cuckoo_paged *paged, cuckoo_deletes *deletes)
{
    cuckoo_delete some;
    uint32_t epoch = paged->epoch; /* changes when an error has rolled back the transaction */
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK && cuckoo_deletes_pop(deletes, &some)) {
        rc = count(paged, some.hash, some.value, 0, (int64_t)some.copies);
        for (uint64_t i = 0; rc != SQLITE_OK && paged->epoch == epoch && i < some.copies; i++)
            cuckoo_deletes_push(deletes, some.hash, some.value); /* its place is still there */
    }
    return rc;
}

/* ---- doing it ---- */

/* When one copy is sticky, or not there, so are the others. */
void cuckoo_waiting_delete(cuckoo_paged *paged, uint64_t hash, uint64_t value, uint64_t copies)
{
    cf_deleted deleted = CF_REMOVED;
    while (copies-- > 0 && deleted == CF_REMOVED)
        deleted = cf_delete_value(&paged->filter, hash, value);
    paged->doubt |= deleted == CF_ABSENT && paged->rc == SQLITE_OK;
    paged->header_dirty = true;
}

/* Applies the deletes to the image. *cancelled: how many adds and deletes of one key cancel out. */
static int apply_all_deletes(cuckoo_paged *paged, uint64_t *cancelled)
{
    sqlite3_stmt *all;
    waiting_row row;
    int rc = cuckoo_shadow_query(&paged->shadow, CUCKOO_ALL_WAITING, NULL, &all);
    *cancelled = 0;
    while (rc == SQLITE_OK && paged->rc == SQLITE_OK && next_waiting(paged, all, &row)) {
        *cancelled += (uint64_t)(row.adds < row.deletes ? row.adds : row.deletes);
        if (row.adds < row.deletes)
            cuckoo_waiting_delete(paged, row.hash, row.value, (uint64_t)(row.deletes - row.adds));
    }
    rc = cuckoo_shadow_end(all, rc);
    return rc == SQLITE_OK ? cuckoo_paged_error(paged) : rc;
}

int cuckoo_waiting_apply_deletes(cuckoo_paged *paged)
{
    uint64_t cancelled;
    if (paged->deletes == 0)
        return SQLITE_OK;
    int rc = apply_all_deletes(paged, &cancelled);
    paged->has_written |= rc == SQLITE_OK;
    if (rc == SQLITE_OK)
        rc = cuckoo_shadow_run(&paged->shadow, CUCKOO_DELETES_DONE, NULL);
    if (rc == SQLITE_OK)
        rc = cuckoo_shadow_run(&paged->shadow, CUCKOO_NOTHING_WAITS, NULL);
    if (rc != SQLITE_OK)
        return rc;
    paged->adds -= cancelled;
    paged->deletes = 0;
    paged->header_dirty = paged->rows_ahead = true;
    return rc;
}

/* A filter without memory does not grow. */
cf_status cuckoo_waiting_place(cf_filter *filter, uint64_t hash, uint64_t value)
{
    cf_memory memory = filter->memory;
    filter->memory = (cf_memory){NULL, 0};
    cf_status status = cf_add_value(filter, hash, value);
    filter->memory = memory;
    return status;
}

/* Reads keys that wait, from a random hash on: some may never
** find a place, and must not keep others from being tried. */
static int read_some(cuckoo_paged *paged, uint64_t most, cuckoo_deletes *some)
{
    sqlite3_stmt *waiting;
    int64_t from, limit = most < INT64_MAX ? (int64_t)most : -1;
    sqlite3_randomness(sizeof from, &from);
    if (most >= paged->adds)
        from = INT64_MIN;
    int rc =
        cuckoo_shadow_query(&paged->shadow, CUCKOO_SOME_WAITING, (int64_t[]){from, limit}, &waiting);
    while (rc == SQLITE_OK && cuckoo_shadow_step(&paged->shadow, waiting) == SQLITE_ROW)
        rc = cuckoo_deletes_push(some, (uint64_t)sqlite3_column_int64(waiting, 0),
                                 (uint64_t)sqlite3_column_int64(waiting, 1));
    return cuckoo_shadow_end(waiting, rc);
}

/* Tries to place one copy of each of them. */
static int place_some(cuckoo_paged *paged, cuckoo_deletes *some, cuckoo_placer *place)
{
    int rc = SQLITE_OK;
    cuckoo_delete key;
    while (rc == SQLITE_OK && cuckoo_deletes_pop(some, &key))
        if (place(&paged->filter, key.hash, key.value) == CF_OK)
            rc = count(paged, key.hash, key.value, -1, 0);
    return rc;
}

int cuckoo_waiting_try(cuckoo_paged *paged, uint64_t most, cuckoo_placer *place)
{
    cuckoo_deletes some = {.place = NULL};
    int rc = paged->adds > 0 ? read_some(paged, most, &some) : SQLITE_OK;
    if (rc == SQLITE_OK)
        rc = place_some(paged, &some, place);
    cuckoo_deletes_free(&some);
    return cuckoo_first_error(rc, cuckoo_paged_error(paged));
}

int cuckoo_waiting_add_to(cuckoo_paged *paged, cf_filter *filter, cf_status *status)
{
    assert(cuckoo_paged_loaded(paged));
    sqlite3_stmt *all;
    waiting_row row;
    *status = CF_OK;
    if (paged->adds == 0)
        return SQLITE_OK;
    int rc = cuckoo_shadow_query(&paged->shadow, CUCKOO_ALL_WAITING, NULL, &all);
    while (rc == SQLITE_OK && *status == CF_OK && next_waiting(paged, all, &row))
        for (int i = 0; *status == CF_OK && i < row.adds && i < MOST_COPIES; i++)
            *status = cf_add_value(filter, row.hash, row.value);
    return cuckoo_shadow_end(all, rc);
}
