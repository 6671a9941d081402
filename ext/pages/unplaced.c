/* SPDX-License-Identifier: MIT */
#include "unplaced.h"

#include "../sqlite/sql.h"

#include "../../src/filter/ageing.h"

#include <assert.h>

/* ---- rows ---- */

/* A row of CUCKOO_WAITING or CUCKOO_SOME_WAITING. */
typedef struct waiting_row {
    uint64_t hash, value, adds;
} waiting_row;

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
    const cf_filter *filter = &paged->filter;
    uint64_t most = filter->geometry.epochs ? filter->epoch : 0;
    if (are_integers(at) && row->value <= most && row->adds <= paged->waits && row->adds > 0)
        return SQLITE_OK;
    return cuckoo_say(&paged->shadow.damage, SQLITE_CORRUPT_VTAB, "a row of %s_wait has been changed",
                      paged->shadow.table);
}

typedef int waiter(void *context, uint64_t hash, uint64_t value, uint64_t copies);

/* Calls `found`, of which an error ends the walk, for each row of a statement. */
static int walk(cuckoo_paged *paged, cuckoo_query query, const int64_t *values, waiter *found,
                void *context)
{
    sqlite3_stmt *rows;
    waiting_row row;
    int rc = cuckoo_shadow_query(&paged->shadow, query, values, &rows);
    while (rc == SQLITE_OK && cuckoo_shadow_step(&paged->shadow, rows) == SQLITE_ROW) {
        rc = read_row(paged, rows, &row);
        rc = rc ? rc : found(context, row.hash, row.value, row.adds);
    }
    return cuckoo_shadow_end(&paged->shadow, rows, rc);
}

/* Is a row that was too old when the filter last looked at its clock? */
static bool is_dead(const cf_filter *filter, uint64_t value)
{
    return filter->geometry.epochs && !cf_epoch_is_live(filter, value);
}

typedef struct copies_of {
    const cf_filter *filter;
    const uint64_t *value;
    int64_t *copies;
} copies_of;

static int count_copies(void *context, uint64_t hash, uint64_t value, uint64_t copies)
{
    const copies_of *of = context;
    (void)hash;
    if (of->value ? *of->value == value : !is_dead(of->filter, value))
        *of->copies += (int64_t)copies;
    return SQLITE_OK;
}

int cuckoo_unplaced_copies(cuckoo_paged *paged, uint64_t hash, const uint64_t *value, int64_t *copies)
{
    copies_of of = {&paged->filter, value, copies};
    int64_t key = (int64_t)hash;
    *copies = 0;
    return paged->waits ? walk(paged, CUCKOO_WAITING, &key, count_copies, &of) : SQLITE_OK;
}

/* A row of which nothing is left is taken out. */
int cuckoo_unplaced_count(cuckoo_paged *paged, uint64_t hash, uint64_t value, int64_t adds)
{
    int64_t had = 0;
    sqlite3_stmt *write;
    int rc = adds < 0 ? cuckoo_unplaced_copies(paged, hash, &value, &had) : SQLITE_OK;
    cuckoo_query query = adds < 0 && had + adds <= 0 ? CUCKOO_WAIT_NO_MORE : CUCKOO_WAIT;
    const int64_t values[] = {(int64_t)hash, (int64_t)value, adds};
    rc = rc ? rc : cuckoo_shadow_query(&paged->shadow, query, values, &write);
    rc = rc ? rc : cuckoo_shadow_write_one(&paged->shadow, write);
    if (rc != SQLITE_OK)
        return rc;
    paged->dirty = paged->has_written = true;
    paged->waits += (uint64_t)adds;
    return rc;
}

/* ---- all rows ---- */

static cf_status add_row(cf_filter *filter, uint64_t hash, uint64_t value)
{
    return filter->geometry.epochs ? cf_add_epoch(filter, hash, value) : cf_add(filter, hash);
}

typedef struct all_rows {
    uint64_t copies;   /* of the rows so far */
    cf_filter *filter; /* to which they are added; NULL: to none */
} all_rows;

static int take_row(void *context, uint64_t hash, uint64_t value, uint64_t copies)
{
    enum { MOST_COPIES = 1 << 17 /* of a key; no counter counts as far */ };
    all_rows *all = context;
    cf_status status = CF_OK;
    all->copies += copies;
    if (all->filter && all->filter->geometry.epochs)
        copies = !is_dead(all->filter, value); /* one entry stands for all */
    for (uint64_t i = 0; all->filter && status == CF_OK && i < copies && i < MOST_COPIES; i++)
        status = add_row(all->filter, hash, value);
    return status == CF_OK ? SQLITE_OK : status == CF_NO_MEMORY ? SQLITE_NOMEM : SQLITE_FULL;
}

int cuckoo_unplaced_add_to(cuckoo_paged *paged, cf_filter *filter)
{
    assert(cuckoo_paged_is_loaded(paged));
    all_rows all = {.filter = filter};
    int rc = walk(paged, CUCKOO_SOME_WAITING, (int64_t[]){INT64_MIN, -1}, take_row, &all);
    if (rc != SQLITE_OK || all.copies == paged->waits)
        return rc;
    return cuckoo_say(&paged->shadow.damage, SQLITE_CORRUPT_VTAB,
                      "rows of %s_wait have been added, changed or taken out", paged->shadow.table);
}

int cuckoo_unplaced_check(cuckoo_paged *paged)
{
    return cuckoo_unplaced_add_to(paged, NULL);
}

/* ---- finding places ---- */

/* Rows that are read before any is tried, which changes the list. */
typedef struct waiting_rows {
    waiting_row *row; /* sqlite3_malloc64 */
    uint64_t n, room;
} waiting_rows;

static int push_row(void *context, uint64_t hash, uint64_t value, uint64_t copies)
{
    waiting_rows *rows = context;
    if (rows->n == rows->room) {
        uint64_t room = 2 * rows->room + 16;
        waiting_row *larger = sqlite3_realloc64(rows->row, room * sizeof *larger);
        if (larger == NULL)
            return SQLITE_NOMEM;
        rows->row = larger;
        rows->room = room;
    }
    rows->row[rows->n++] = (waiting_row){hash, value, copies};
    return SQLITE_OK;
}

/* Reads from a random hash on: some keys may never find a place, and must not keep others from being
** tried. */
static int read_some(cuckoo_paged *paged, bool all, waiting_rows *rows)
{
    enum { FEW = 16 };
    int64_t from;
    sqlite3_randomness(sizeof from, &from);
    if (all || paged->waits <= FEW)
        from = INT64_MIN;
    return walk(paged, CUCKOO_SOME_WAITING, (int64_t[]){from, all ? -1 : FEW}, push_row, rows);
}

/* Tries to place one copy of each of them, or the only entry of one that ages. A filter without memory
** does not grow. */
static int place_some(cuckoo_paged *paged, const waiting_rows *rows, cf_memory memory)
{
    int rc = SQLITE_OK;
    for (uint64_t i = 0; rc == SQLITE_OK && i < rows->n; i++) {
        cf_memory had = paged->filter.memory;
        const waiting_row *row = &rows->row[i];
        paged->filter.memory = memory;
        bool ages = paged->filter.geometry.epochs != 0, dead = is_dead(&paged->filter, row->value);
        cf_status status = dead ? CF_OK : add_row(&paged->filter, row->hash, row->value);
        paged->filter.memory = had;
        rc = paged->rc; /* after an error of a page the answer may be wrong */
        if (rc == SQLITE_OK && status == CF_OK)
            rc = cuckoo_unplaced_count(paged, row->hash, row->value, ages ? -(int64_t)row->adds : -1);
    }
    return rc;
}

int cuckoo_unplaced_try(cuckoo_paged *paged, bool all)
{
    waiting_rows rows = {NULL, 0, 0};
    int rc = paged->waits > 0 ? read_some(paged, all, &rows) : SQLITE_OK;
    rc = rc ? rc : place_some(paged, &rows, all ? (cf_memory){NULL, 0, NULL} : paged->filter.memory);
    sqlite3_free(rows.row);
    return cuckoo_first_error(rc, cuckoo_paged_error(paged));
}
