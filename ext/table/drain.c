/* SPDX-License-Identifier: MIT */
/*
** drain.c - logs changes of keys; merges the logs into the pages, and decides when.
**
** A drain changes no answer, so it is right at any time. The function cf_drain does all of its writes,
** within one statement that writes no row of its own: INSERT INTO seen_page .. WHERE cf_drain(?). So
** SQLite rolls back a failed drain as a whole, and COMMIT does not fail with it. The one exception: an
** error that makes SQLite roll back the whole transaction.
*/
#include "../pages/ageing.h"
#include "../sqlite/errors.h"
#include "../sqlite/sql.h"
#include "../sqlite/watch.h"
#include "table.h"

#include <assert.h>

/* ---- in memory ---- */

static bool fits(const cuckoo_paged *paged, int64_t row)
{
    return row >= 0 && (paged->shadow.rowids ? row >> paged->filter.geometry.value_bits : row) == 0;
}

typedef struct drain {
    cuckoo_table *table;
    bool all; /* all keys are tried, however many do not fit */
    cuckoo_counts *left;
    int misses; /* keys that did not fit */
} drain;

/* With rowids=on a key is deleted with its row, and a row that is too large for a value is in no page.
** If one copy is saturated or absent, so are the others. */
static void delete_copies(cuckoo_table *table, uint64_t hash, int64_t row, int64_t copies)
{
    cuckoo_paged *paged = &table->paged;
    cf_deleted deleted = CF_REMOVED;
    while (copies-- > 0 && deleted == CF_REMOVED && paged->rc == SQLITE_OK)
        deleted = fits(paged, row) ? cf_delete_value(&paged->filter, hash, (uint64_t)row) : CF_ABSENT;
    paged->unmatched += deleted == CF_ABSENT && paged->rc == SQLITE_OK && cuckoo_table_follows(table);
}

/* A row has one key: if the pair exists already, REPLACE removed its key, or it is a false positive. */
static cf_status add_pair(cuckoo_paged *paged, uint64_t hash, int64_t row)
{
    if (cuckoo_rows_in(&paged->filter, hash, row))
        return CF_OK;
    return fits(paged, row) ? cuckoo_watched_add(paged->shadow.db, &paged->filter, hash, (uint64_t)row)
                            : CF_FULL;
}

/* *n: the copies of a key, which are counted down; or a time. */
static cf_status add_key(cuckoo_paged *paged, uint64_t hash, int64_t row, int64_t *n)
{
    enum { MOST_COPIES = 1 << 17 /* above any counter */ };
    cf_status status = CF_OK;
    if (paged->filter.geometry.epochs)
        return cuckoo_ageing_add(paged, hash, *n);
    if (paged->shadow.rowids)
        return add_pair(paged, hash, row);
    if (*n > MOST_COPIES)
        *n = MOST_COPIES;
    for (; *n > 0 && status == CF_OK && paged->rc == SQLITE_OK; *n -= status == CF_OK)
        status = cuckoo_watched_add(paged->shadow.db, &paged->filter, hash, 0);
    return status;
}

/* Adds a key, or counts it in `left`. In a full filter each key takes long, so only some are tried. */
static int bring(drain *into, uint64_t hash, int64_t row, int64_t n)
{
    enum { TRIED = 64 };
    cf_status status =
        into->all || into->misses < TRIED ? add_key(&into->table->paged, hash, row, &n) : CF_FULL;
    if (status == CF_OK)
        return SQLITE_OK;
    if (status == CF_NO_MEMORY || status == CF_INTERRUPTED)
        return cuckoo_error_code(status);
    into->misses++;
    return cuckoo_counts_put(into->left, into->table->paged.filter.geometry.epochs != 0, hash, row, n);
}

/* Deletes copies, first from the copies that did not fit. */
static int take_away(drain *into, uint64_t hash, int64_t row, int64_t copies)
{
    int64_t wait = cuckoo_counts_get(into->left, hash, row);
    if (wait > copies)
        wait = copies;
    delete_copies(into->table, hash, row, copies - wait);
    return wait ? cuckoo_counts_put(into->left, false, hash, row, -wait) : SQLITE_OK;
}

static int change(void *context, uint64_t hash, int64_t row, int64_t n)
{
    drain *into = context;
    int rc = n < 0 ? take_away(into, hash, row, -n) : bring(into, hash, row, n);
    return cuckoo_first_error(rc, into->table->paged.rc);
}

/* As many changes as pages change most of them. */
static int change_all(drain *into, bool sums)
{
    cuckoo_paged *paged = &into->table->paged;
    const cuckoo_changes *logged = &into->table->net.changes;
    bool all = (sums ? logged->counts.used : logged->n) >= paged->pages && cuckoo_paged_detach(paged);
    int rc = paged->rc ? paged->rc
             : sums    ? cuckoo_counts_walk(&logged->counts, change, into)
                       : cuckoo_changes_walk(logged, change, into);
    if (all)
        cuckoo_paged_attach(paged);
    return rc;
}

/* Changes of keys are repeated in order: a key that is deleted as a false positive and then added must
** be found. Changes by triggers are right as a sum. */
int cuckoo_table_take_in(cuckoo_table *table, bool all, cuckoo_counts *left)
{
    cuckoo_paged *paged = &table->paged;
    drain into = {table, all || paged->shadow.rowids, left, 0}; /* misses are found fast */
    cuckoo_changes *logged = &table->net.changes;
    bool ages = paged->filter.geometry.epochs != 0, sums = ages || cuckoo_table_follows(table);
    int rc = cuckoo_net_read(&table->net, paged, cuckoo_table_follows(table));
    if (rc == SQLITE_OK)
        cf_note_types(&paged->filter, logged->types);
    if (rc == SQLITE_OK && ages)
        cuckoo_ageing_begin_adds(paged, table->net.more, all);
    if (rc == SQLITE_OK && paged->shadow.rowids)
        rc = cuckoo_rows_widen(&table->net, paged);
    rc = cuckoo_first_error(rc, paged->rc);
    rc = rc || !sums ? rc : cuckoo_changes_sum(logged, ages);
    if (rc == SQLITE_OK)
        rc = change_all(&into, sums);
    if (!cuckoo_counts_any(left))
        cf_drop_types(&paged->filter);
    paged->dirty = true;
    return rc;
}

/* ---- in the database ---- */

typedef struct writing {
    cuckoo_table *table;
    const cuckoo_counts *left; /* NULL: the logs stay */
    bool done;
} writing;

#define POINTER "cuckoo_drain"

static int write_left(void *context, uint64_t hash, int64_t row, int64_t n)
{
    cuckoo_paged *paged = context;
    int rc = cuckoo_log_write(&paged->shadow, hash, paged->shadow.rowids ? row : n, 0);
    paged->left += rc == SQLITE_OK;
    return rc;
}

/* Empties the logs before pages are written, which may reuse their space. Only drains write to the log
** of hashed keys of a synced filter. */
static int change_logs(cuckoo_table *table, const cuckoo_counts *left)
{
    cuckoo_paged *paged = &table->paged;
    bool follows = cuckoo_table_follows(table), own = !follows || paged->left > 0;
    int rc = own ? cuckoo_log_empty_own(&paged->shadow) : SQLITE_OK;
    if (rc == SQLITE_OK && follows)
        rc = cuckoo_shadow_run(&paged->shadow, CUCKOO_EMPTY_LOG);
    paged->left = 0;
    return rc ? rc : cuckoo_counts_walk(left, write_left, paged);
}

static int write_all(writing *w)
{
    cuckoo_table *table = w->table;
    cuckoo_paged *paged = &table->paged;
    int rc = w->left ? change_logs(table, w->left) : SQLITE_OK;
    if (rc == SQLITE_OK && cuckoo_table_follows(table) && !table->follow.saved &&
        table->follow.fault == NULL)
        rc = cuckoo_follow_save(&table->follow, &paged->shadow);
    return rc == SQLITE_OK && paged->dirty ? cuckoo_paged_write(paged) : rc;
}

/* cf_drain(pointer): false, so that the statement writes no row of its own. */
void cuckoo_drain_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    writing *w = sqlite3_value_pointer(argv[0], POINTER);
    int rc = w ? write_all(w) : SQLITE_MISUSE;
    if (w)
        w->done = rc == SQLITE_OK;
    if (rc == SQLITE_OK)
        sqlite3_result_int(context, 0);
    else if (w)
        sqlite3_result_error_code(context, rc);
    else
        sqlite3_result_error(context, "cf_drain: only a drain calls it", -1);
}

/* True if an interrupt came after the end of the statement: it undid nothing, and interrupts the next
** one. */
static bool is_done(const writing *w, int rc)
{
    return rc == SQLITE_INTERRUPT && w->done &&
           cuckoo_shadow_in_transaction(&w->table->paged.shadow, true);
}

/* Within COMMIT SQLite prepares for the rollback of a statement only if another one is reading. The
** statement is not kept: after a change of the schema SQLite would prepare it again, possibly with a
** savepoint open for it, and without memory to end that it would roll back the whole transaction without
** an error. After an error nothing was written, and nothing is in memory. */
static int write_changes(cuckoo_table *table, const cuckoo_counts *left)
{
    int prepared;
    unsigned events = table->registry->events;
    sqlite3_stmt *statement = NULL;
    cuckoo_shadow *shadow = &table->paged.shadow;
    writing w = {table, left, false};
    sqlite3_int64 rowid = sqlite3_last_insert_rowid(shadow->db);
    int rc = cuckoo_shadow_hold(shadow, &prepared);
    if (rc == SQLITE_OK) {
        rc = cuckoo_shadow_query(shadow, CUCKOO_DRAIN, NULL, &statement);
        rc = rc ? rc : sqlite3_bind_pointer(statement, 1, &w, POINTER, NULL);
        while (rc == SQLITE_OK && cuckoo_shadow_step(shadow, statement) == SQLITE_ROW)
            ; /* PRAGMA count_changes returns a row */
        rc = statement ? cuckoo_shadow_end(shadow, statement, rc) : rc;
        rc = is_done(&w, rc) ? SQLITE_OK : rc;
        if (rc == SQLITE_OK && table->registry->events != events)
            rc = SQLITE_ABORT; /* without memory SQLite may roll back without an error */
        cuckoo_shadow_let_go(shadow, CUCKOO_DRAIN);
        cuckoo_shadow_release(shadow);
    }
    sqlite3_set_last_insert_rowid(shadow->db, rowid);
    cuckoo_net_forget(&table->net);
    table->registry->events++;
    if (rc != SQLITE_OK) {
        table->follow.saved = false;
        cuckoo_paged_forget(&table->paged);
    }
    return rc;
}

int cuckoo_table_finish(cuckoo_table *table, const cuckoo_counts *left, int rc)
{
    rc = cuckoo_first_error(rc, cuckoo_paged_error(&table->paged));
    if (rc != SQLITE_OK)
        cuckoo_table_forget(table);
    else
        rc = write_changes(table, left);
    if (rc == SQLITE_OK && left)
        table->wrote = table->wrote > 0; /* the log is empty; a rollback may restore its rows */
    return rc;
}

/* ---- a whole drain ---- */

/* Checks the triggers before rows are saved. Rows that this connection wrote while another trigger
** breaks the rules count as one unmatched delete, because others may not see a TEMP trigger. */
static int prepare(cuckoo_table *table)
{
    cuckoo_paged *paged = &table->paged;
    int rc = cuckoo_table_load(table);
    if (rc != SQLITE_OK || !cuckoo_table_follows(table))
        return rc;
    rc = cuckoo_follow_look(&table->follow, &paged->shadow);
    if (rc == SQLITE_OK && table->follow.lossy && paged->unmatched == 0)
        paged->unmatched = paged->dirty = true;
    return rc;
}

int cuckoo_table_drain(cuckoo_table *table, bool all)
{
    cuckoo_counts left = CUCKOO_COUNTS_BESIDE;
    int rc = prepare(table);
    rc = rc ? rc : cuckoo_table_take_in(table, all, &left);
    rc = cuckoo_table_finish(table, &left, rc);
    cuckoo_counts_free(&left);
    return rc;
}

int cuckoo_table_note_rows(cuckoo_table *table)
{
    int rc = prepare(table);
    bool saves = table->follow.fault == NULL && !table->follow.saved;
    if (rc == SQLITE_OK && (saves || table->paged.dirty))
        rc = write_changes(table, NULL);
    return cuckoo_table_gave_up(table, rc);
}

int cuckoo_table_gave_up(const cuckoo_table *table, int rc)
{
    bool goes_on = rc != SQLITE_NOMEM && cuckoo_shadow_in_transaction(&table->paged.shadow, true);
    return rc == SQLITE_OK || goes_on ? SQLITE_OK : rc;
}

/* ---- changes of keys ---- */

/* Writes a change of a key to the log. The rowid is also the number of rows, since a drain empties the
** log. A statement that writes many rows drains the log from time to time, so that no log becomes too
** long for a drain; if a drain fails, the rows stay in the log. */
static int note(cuckoo_table *table, uint64_t hash, int64_t n, unsigned types)
{
    cuckoo_shadow *shadow = &table->paged.shadow;
    const cf_geometry *geometry = &table->paged.filter.geometry;
    sqlite3_int64 rowid = sqlite3_last_insert_rowid(shadow->db);
    types = cf_types_under(geometry->affinity, types) & ~(unsigned)geometry->key_types;
    table->net.current = false;
    int rc = cuckoo_log_write(shadow, hash, n, types);
    if (rc == SQLITE_OK)
        table->wrote = sqlite3_last_insert_rowid(shadow->db);
    sqlite3_set_last_insert_rowid(shadow->db, rowid);
    return rc == SQLITE_OK && table->wrote % CUCKOO_LONG_LOG == 0
               ? cuckoo_table_gave_up(table, cuckoo_table_drain(table, false))
               : rc;
}

/* Sets *room to true if a filter that may not grow has fewer keys than slots. */
static int count_room(cuckoo_table *table, bool *room)
{
    const cf_filter *filter = &table->paged.filter;
    uint64_t slots = cf_geometry_slots(&filter->geometry) + filter->geometry.stash_size;
    int rc = cuckoo_table_net(table);
    *room = filter->occupied + table->net.changes.counts.used < slots;
    return rc;
}

/* The same after a drain, if necessary: it shows how many slots the keys need. */
static int look_for_room(cuckoo_table *table, bool *room)
{
    int rc = count_room(table, room);
    if (rc != SQLITE_OK || *room)
        return rc;
    rc = cuckoo_table_gave_up(table, cuckoo_table_drain(table, false));
    return rc ? rc : count_room(table, room);
}

int cuckoo_table_add(cuckoo_table *table, uint64_t hash, unsigned types, cf_status *status)
{
    bool room = true;
    const cuckoo_paged *paged = &table->paged;
    assert(paged->loaded);
    int rc = paged->filter.geometry.growth ? SQLITE_OK : look_for_room(table, &room);
    *status = room ? CF_OK : CF_FULL;
    return rc != SQLITE_OK || !room
               ? rc
               : note(table, hash, paged->filter.geometry.epochs ? (int64_t)paged->now : 1, types);
}

int cuckoo_table_delete(cuckoo_table *table, uint64_t hash)
{
    return note(table, hash, -1, 0);
}

/* ---- at COMMIT ---- */

int64_t cuckoo_table_due(const cuckoo_table *table)
{
    const cuckoo_paged *paged = &table->paged;
    uint64_t more = paged->loaded ? paged->filter.occupied / 256 + paged->left / 4 : 0;
    more = more < CUCKOO_SHORT_LOG ? CUCKOO_SHORT_LOG : more < CUCKOO_LONG_LOG ? more : CUCKOO_LONG_LOG;
    return (int64_t)(paged->left + more);
}

/* A transaction that has written no row of a log must not write to the database: other connections could
** then not write after what they have read. */
static bool is_due(const cuckoo_table *table)
{
    int64_t read = (int64_t)(table->net.own.rows + table->net.followed.rows);
    int64_t rows = table->wrote > read ? table->wrote : read;
    return table->wrote > 0 && rows >= cuckoo_table_due(table) && rows <= CUCKOO_MOST_LOGGED;
}

/* The rowid of the last row is the length of a log. */
int cuckoo_table_sync(cuckoo_table *table)
{
    int rc = SQLITE_OK;
    bool follows = cuckoo_table_follows(table);
    if (table->later || table->wrote == 0)
        return rc;
    if (follows)
        rc = cuckoo_shadow_integer(&table->paged.shadow, CUCKOO_LAST_LOGGED, NULL, &table->wrote);
    if (rc == SQLITE_OK && is_due(table))
        rc = cuckoo_table_drain(table, false);
    else if (rc == SQLITE_OK && follows)
        rc = cuckoo_table_note_rows(table);
    return cuckoo_table_gave_up(table, rc);
}
