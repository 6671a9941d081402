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
    uint64_t hash, value, adds;
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
    for (int i = 0; i < 3; i++)
        if (sqlite3_column_type(row, i) != SQLITE_INTEGER)
            return false;
    return true;
}

/* Reads the row on which a statement stands. */
static int read_row(cuckoo_paged *paged, sqlite3_stmt *at, waiting_row *row)
{
    *row = (waiting_row){(uint64_t)sqlite3_column_int64(at, 0), (uint64_t)sqlite3_column_int64(at, 1),
                         (uint64_t)sqlite3_column_int64(at, 2)};
    if (are_integers(at) && row->value <= cf_low_bits(paged->filter.geometry.value_bits) &&
        row->adds <= paged->adds.copies && row->adds > 0)
        return SQLITE_OK;
    return cuckoo_shadow_damaged(&paged->shadow, "a row of %s_wait has been changed",
                                 paged->shadow.table);
}

/* A walk over all rows. */
typedef struct waiting_walk {
    sqlite3_stmt *all;
    waiting_row row;
    cuckoo_count adds; /* of the rows so far */
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
    if (rc != SQLITE_OK || !whole || equal(walk->adds, paged->adds))
        return rc;
    return cuckoo_shadow_damaged(&paged->shadow, "rows of %s_wait have been added, changed or taken out",
                                 paged->shadow.table);
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
        if (rc == SQLITE_OK)
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

int cuckoo_waiting_copies(cuckoo_paged *paged, uint64_t hash, uint64_t value, int64_t *copies)
{
    sqlite3_stmt *waiting;
    waiting_row row;
    int64_t key = (int64_t)hash;
    *copies = 0;
    if (paged->adds.copies == 0)
        return SQLITE_OK;
    int rc = cuckoo_shadow_query(&paged->shadow, CUCKOO_WAITING, &key, &waiting);
    while (rc == SQLITE_OK && cuckoo_shadow_step(&paged->shadow, waiting) == SQLITE_ROW) {
        rc = read_row(paged, waiting, &row);
        if (rc == SQLITE_OK && row.value == value)
            *copies = (int64_t)row.adds;
    }
    return cuckoo_shadow_end(&paged->shadow, waiting, rc);
}

/* A row of which nothing is left is taken out. */
int cuckoo_waiting_count(cuckoo_paged *paged, uint64_t hash, uint64_t value, int64_t adds)
{
    int64_t had = 0;
    sqlite3_stmt *write;
    int rc = adds < 0 ? cuckoo_waiting_copies(paged, hash, value, &had) : SQLITE_OK;
    cuckoo_query query = adds < 0 && had + adds <= 0 ? CUCKOO_WAIT_NO_MORE : CUCKOO_WAIT;
    if (rc == SQLITE_OK)
        rc = cuckoo_shadow_query(&paged->shadow, query, (int64_t[]){(int64_t)hash, (int64_t)value, adds},
                                 &write);
    if (rc != SQLITE_OK)
        return rc;
    rc = cuckoo_shadow_write_one(&paged->shadow, write);
    if (rc != SQLITE_OK)
        return rc;
    paged->header_dirty = paged->has_written = true;
    add_copies(&paged->adds, hash, value, (uint64_t)adds);
    return rc;
}

/* ---- finding places ---- */

/* A filter without memory does not grow. */
cf_status cuckoo_waiting_place(cf_filter *filter, uint64_t hash, uint64_t value)
{
    cf_memory memory = filter->memory;
    filter->memory = (cf_memory){NULL, 0, NULL};
    cf_status status = cf_add_value(filter, hash, value);
    filter->memory = memory;
    return status;
}

/* Rows that are read before any is tried, which changes the list. */
typedef struct waiting_rows {
    waiting_row *row; /* sqlite3_malloc64 */
    uint64_t n, room;
} waiting_rows;

static int push(waiting_rows *rows, waiting_row row)
{
    if (rows->n == rows->room) {
        uint64_t room = 2 * rows->room + 16;
        waiting_row *larger = sqlite3_realloc64(rows->row, room * sizeof *larger);
        if (larger == NULL)
            return SQLITE_NOMEM;
        rows->row = larger;
        rows->room = room;
    }
    rows->row[rows->n++] = row;
    return SQLITE_OK;
}

/* Reads keys that wait, from a random hash on: some may never
** find a place, and must not keep others from being tried. */
static int read_some(cuckoo_paged *paged, uint64_t most, waiting_rows *rows)
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
            rc = push(rows, row);
    }
    return cuckoo_shadow_end(&paged->shadow, waiting, rc);
}

/* Tries to place one copy of each of them. */
static int place_some(cuckoo_paged *paged, const waiting_rows *rows, cuckoo_placer *place)
{
    int rc = SQLITE_OK;
    for (uint64_t i = 0; rc == SQLITE_OK && i < rows->n; i++)
        if (place(&paged->filter, rows->row[i].hash, rows->row[i].value) == CF_OK)
            rc = cuckoo_waiting_count(paged, rows->row[i].hash, rows->row[i].value, -1);
    return rc;
}

int cuckoo_waiting_try(cuckoo_paged *paged, uint64_t most, cuckoo_placer *place)
{
    waiting_rows rows = {NULL, 0, 0};
    int rc = paged->adds.copies > 0 ? read_some(paged, most, &rows) : SQLITE_OK;
    if (rc == SQLITE_OK)
        rc = place_some(paged, &rows, place);
    sqlite3_free(rows.row);
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
