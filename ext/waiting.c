/* SPDX-License-Identifier: MIT */
#include "waiting.h"

#include "sql.h"

#include "../src/bits.h"
#include "../src/hash.h"
#include <assert.h>

enum { MOST_COPIES = 1 << 17 /* of a key; no counter counts as far */ };

/* ---- rows ---- */

/* A row of CUCKOO_WAITING, CUCKOO_SOME_WAITING or CUCKOO_ALL_WAITING. */
typedef struct waiting_row {
    uint64_t hash, value;
    uint64_t adds, deletes;
} waiting_row;

/* Adds so many copies of a key, modulo 2^64: so many less when `copies` is negative. */
static void add_copies(cuckoo_count *count, uint64_t hash, uint64_t value, uint64_t copies)
{
    static const cf_geometry unseeded = {.seed = 0};
    count->copies += copies;
    count->digest += copies * cf_hash_words(&unseeded, hash, value);
}

static bool are_integers(sqlite3_stmt *row)
{
    for (int i = 0; i < 4; i++)
        if (sqlite3_column_type(row, i) != SQLITE_INTEGER)
            return false;
    return true;
}

/* Reads the row on which a statement stands. */
static int read_row(cuckoo_paged *paged, sqlite3_stmt *at, waiting_row *row)
{
    *row = (waiting_row){(uint64_t)sqlite3_column_int64(at, 0), (uint64_t)sqlite3_column_int64(at, 1),
                         (uint64_t)sqlite3_column_int64(at, 2), (uint64_t)sqlite3_column_int64(at, 3)};
    if (are_integers(at) && row->value <= cf_low_bits(paged->filter.geometry.value_bits) &&
        row->adds <= paged->adds.copies && row->deletes <= paged->deletes.copies &&
        row->adds + row->deletes > 0)
        return SQLITE_OK;
    return cuckoo_shadow_damaged(&paged->shadow, "a row of %s_wait has been changed",
                                 paged->shadow.table);
}

/* A walk over all rows. */
typedef struct waiting_walk {
    sqlite3_stmt *all;
    waiting_row row;
    cuckoo_count adds, deletes; /* of the rows so far */
    int rc;
} waiting_walk;

static void begin_walk(cuckoo_paged *paged, waiting_walk *walk)
{
    *walk = (waiting_walk){.all = NULL};
    walk->rc = cuckoo_shadow_query(&paged->shadow, CUCKOO_ALL_WAITING, NULL, &walk->all);
}

/* Goes to the next row. False: there is none, or an error, which end_walk reports. */
static bool next_waiting(cuckoo_paged *paged, waiting_walk *walk)
{
    if (walk->rc != SQLITE_OK || cuckoo_shadow_step(&paged->shadow, walk->all) != SQLITE_ROW)
        return false;
    const waiting_row *row = &walk->row;
    walk->rc = read_row(paged, walk->all, &walk->row);
    add_copies(&walk->adds, row->hash, row->value, row->adds);
    add_copies(&walk->deletes, row->hash, row->value, row->deletes);
    return walk->rc == SQLITE_OK;
}

static bool equal(cuckoo_count a, cuckoo_count b)
{
    return a.copies == b.copies && a.digest == b.digest;
}

/* `whole`: it has seen all rows, which must be those that the header counts. */
static int end_walk(cuckoo_paged *paged, waiting_walk *walk, bool whole)
{
    int rc = cuckoo_shadow_end(&paged->shadow, walk->all, walk->rc);
    if (rc != SQLITE_OK || !whole ||
        (equal(walk->adds, paged->adds) && equal(walk->deletes, paged->deletes)))
        return rc;
    return cuckoo_shadow_damaged(&paged->shadow, "rows of %s_wait have been added, changed or taken out",
                                 paged->shadow.table);
}

/* Counts so many adds and deletes more, or less. `last`: nothing of the row is left then. */
static int count(cuckoo_paged *paged, uint64_t hash, uint64_t value, int64_t adds, int64_t deletes,
                 bool last)
{
    sqlite3_stmt *write;
    int rc = cuckoo_shadow_query(&paged->shadow, last ? CUCKOO_WAIT_NO_MORE : CUCKOO_WAIT,
                                 (int64_t[]){(int64_t)hash, (int64_t)value, adds, deletes}, &write);
    if (rc != SQLITE_OK)
        return rc;
    paged->has_written = true;
    rc = cuckoo_shadow_write_one(&paged->shadow, write);
    if (rc != SQLITE_OK)
        return rc;
    paged->header_dirty = paged->rows_ahead = true;
    add_copies(&paged->adds, hash, value, (uint64_t)adds);
    add_copies(&paged->deletes, hash, value, (uint64_t)deletes);
    return rc;
}

int cuckoo_waiting_add(cuckoo_paged *paged, uint64_t hash, uint64_t value)
{
    return count(paged, hash, value, 1, 0, false);
}

int cuckoo_waiting_values(cuckoo_paged *paged, uint64_t hash,
                          int (*found)(void *context, uint64_t value), void *context)
{
    sqlite3_stmt *waiting;
    waiting_row row;
    int64_t key = (int64_t)hash;
    if (paged->adds.copies == 0)
        return SQLITE_OK;
    int rc = cuckoo_shadow_query(&paged->shadow, CUCKOO_WAITING, &key, &waiting);
    while (rc == SQLITE_OK && cuckoo_shadow_step(&paged->shadow, waiting) == SQLITE_ROW) {
        rc = read_row(paged, waiting, &row);
        if (rc == SQLITE_OK && row.adds > 0)
            rc = found(context, row.value);
    }
    return cuckoo_shadow_end(&paged->shadow, waiting, rc);
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

/* Finds the row of a key with this value. No copies: there is none. */
static int find_row(cuckoo_paged *paged, uint64_t hash, uint64_t value, waiting_row *found)
{
    sqlite3_stmt *waiting;
    waiting_row row;
    int64_t key = (int64_t)hash;
    *found = (waiting_row){hash, value, 0, 0};
    int rc = cuckoo_shadow_query(&paged->shadow, CUCKOO_WAITING, &key, &waiting);
    while (rc == SQLITE_OK && cuckoo_shadow_step(&paged->shadow, waiting) == SQLITE_ROW) {
        rc = read_row(paged, waiting, &row);
        if (rc == SQLITE_OK && row.value == value)
            *found = row;
    }
    return cuckoo_shadow_end(&paged->shadow, waiting, rc);
}

int cuckoo_waiting_remove(cuckoo_paged *paged, uint64_t hash, uint64_t value, bool *was)
{
    waiting_row row;
    int rc = paged->adds.copies > 0 ? find_row(paged, hash, value, &row) : SQLITE_DONE;
    *was = rc == SQLITE_OK && row.adds > 0;
    if (*was)
        return count(paged, hash, value, -1, 0, row.adds + row.deletes == 1);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int cuckoo_waiting_cancel(cuckoo_paged *paged, uint64_t hash, uint64_t value, bool *was)
{
    waiting_row row;
    int rc = paged->deletes.copies > 0 ? find_row(paged, hash, value, &row) : SQLITE_DONE;
    *was = rc == SQLITE_OK && row.deletes > 0;
    if (*was)
        return count(paged, hash, value, 0, -1, row.adds + row.deletes == 1);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int cuckoo_waiting_flush(cuckoo_paged *paged, cuckoo_deletes *deletes)
{
    cuckoo_delete some;
    uint32_t epoch = paged->epoch; /* changes when an error has rolled back the transaction */
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK && cuckoo_deletes_pop(deletes, &some)) {
        rc = count(paged, some.hash, some.value, 0, (int64_t)some.copies, false);
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

/* Applies the deletes to the image. *cancelled: the adds that deletes of the same keys cancel. */
static int apply_all_deletes(cuckoo_paged *paged, cuckoo_count *cancelled)
{
    waiting_walk walk;
    *cancelled = (cuckoo_count){0, 0};
    begin_walk(paged, &walk);
    while (paged->rc == SQLITE_OK && next_waiting(paged, &walk)) {
        const waiting_row *row = &walk.row;
        add_copies(cancelled, row->hash, row->value,
                   row->adds < row->deletes ? row->adds : row->deletes);
        if (row->adds < row->deletes)
            cuckoo_waiting_delete(paged, row->hash, row->value, row->deletes - row->adds);
    }
    int rc = end_walk(paged, &walk, paged->rc == SQLITE_OK);
    return rc == SQLITE_OK ? cuckoo_paged_error(paged) : rc;
}

int cuckoo_waiting_apply_deletes(cuckoo_paged *paged)
{
    cuckoo_count cancelled;
    if (paged->deletes.copies == 0)
        return SQLITE_OK;
    int rc = apply_all_deletes(paged, &cancelled);
    paged->has_written |= rc == SQLITE_OK;
    if (rc == SQLITE_OK)
        rc = cuckoo_shadow_run(&paged->shadow, CUCKOO_DELETES_DONE, NULL);
    if (rc == SQLITE_OK)
        rc = cuckoo_shadow_run(&paged->shadow, CUCKOO_NOTHING_WAITS, NULL);
    if (rc != SQLITE_OK)
        return rc;
    paged->adds.copies -= cancelled.copies;
    paged->adds.digest -= cancelled.digest;
    paged->deletes = (cuckoo_count){0, 0};
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
    waiting_row row;
    int64_t from, limit = most < INT64_MAX ? (int64_t)most : -1;
    sqlite3_randomness(sizeof from, &from);
    if (most >= paged->adds.copies)
        from = INT64_MIN;
    int rc =
        cuckoo_shadow_query(&paged->shadow, CUCKOO_SOME_WAITING, (int64_t[]){from, limit}, &waiting);
    while (rc == SQLITE_OK && cuckoo_shadow_step(&paged->shadow, waiting) == SQLITE_ROW) {
        rc = read_row(paged, waiting, &row);
        if (rc == SQLITE_OK)
            rc = cuckoo_deletes_push(some, row.hash, row.value);
    }
    return cuckoo_shadow_end(&paged->shadow, waiting, rc);
}

/* Tries to place one copy of each of them. */
static int place_some(cuckoo_paged *paged, cuckoo_deletes *some, cuckoo_placer *place)
{
    bool was;
    int rc = SQLITE_OK;
    cuckoo_delete key;
    while (rc == SQLITE_OK && cuckoo_deletes_pop(some, &key))
        if (place(&paged->filter, key.hash, key.value) == CF_OK)
            rc = cuckoo_waiting_remove(paged, key.hash, key.value, &was);
    return rc;
}

int cuckoo_waiting_try(cuckoo_paged *paged, uint64_t most, cuckoo_placer *place)
{
    cuckoo_deletes some = {.place = NULL};
    int rc = paged->adds.copies > 0 ? read_some(paged, most, &some) : SQLITE_OK;
    if (rc == SQLITE_OK)
        rc = place_some(paged, &some, place);
    cuckoo_deletes_free(&some);
    return cuckoo_first_error(rc, cuckoo_paged_error(paged));
}

int cuckoo_waiting_add_to(cuckoo_paged *paged, cf_filter *filter, cf_status *status)
{
    assert(cuckoo_paged_is_loaded(paged));
    waiting_walk walk;
    *status = CF_OK;
    if (paged->adds.copies == 0)
        return SQLITE_OK;
    begin_walk(paged, &walk);
    while (*status == CF_OK && next_waiting(paged, &walk))
        for (uint64_t i = 0; *status == CF_OK && i < walk.row.adds && i < MOST_COPIES; i++)
            *status = cf_add_value(filter, walk.row.hash, walk.row.value);
    return end_walk(paged, &walk, *status == CF_OK);
}

int cuckoo_waiting_check(cuckoo_paged *paged)
{
    waiting_walk walk;
    begin_walk(paged, &walk);
    while (next_waiting(paged, &walk))
        continue;
    return end_walk(paged, &walk, true);
}
