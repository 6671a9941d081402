#include "waiting.h"

enum { MOST_COPIES = 1 << 20 /* of a key; no counter counts as far */ };

/* ---- rows ---- */

/* A number of copies in a row, whatever is there. */
static sqlite3_int64 copies_in(sqlite3_stmt *row, int column)
{
    sqlite3_int64 copies = sqlite3_column_int64(row, column);
    return copies < 0 ? 0 : copies > INT32_MAX ? INT32_MAX : copies;
}

static int tidy(cuckoo_paged *paged, uint64_t hash)
{
    sqlite3_stmt *statement;
    int rc = cuckoo_shadow_query(&paged->shadow, CUCKOO_WAIT_NO_MORE, &statement);
    if (rc != SQLITE_OK)
        return rc;
    sqlite3_bind_int64(statement, 1, (sqlite3_int64)hash);
    cuckoo_shadow_step(&paged->shadow, statement);
    return cuckoo_shadow_end(&paged->shadow, statement);
}

/* So many adds and deletes more, or less. */
static int count(cuckoo_paged *paged, uint64_t hash, uint64_t value, sqlite3_int64 adds,
                 sqlite3_int64 deletes)
{
    sqlite3_stmt *wait;
    int rc = cuckoo_shadow_query(&paged->shadow, CUCKOO_WAIT, &wait);
    if (rc != SQLITE_OK)
        return rc;
    sqlite3_bind_int64(wait, 1, (sqlite3_int64)hash);
    sqlite3_bind_int64(wait, 2, (sqlite3_int64)value);
    sqlite3_bind_int64(wait, 3, adds);
    sqlite3_bind_int64(wait, 4, deletes);
    paged->has_written = true;
    cuckoo_shadow_step(&paged->shadow, wait);
    rc = cuckoo_shadow_end(&paged->shadow, wait);
    if (rc != SQLITE_OK)
        return rc;
    paged->header_dirty = true;
    paged->adds += (uint64_t)adds;
    paged->deletes += (uint64_t)deletes;
    return adds < 0 || deletes < 0 ? tidy(paged, hash) : rc;
}

int cuckoo_waiting_add(cuckoo_paged *paged, uint64_t hash, uint64_t value)
{
    return count(paged, hash, value, 1, 0);
}

/* Begins a walk over the adds of one key. */
static int ask(cuckoo_paged *paged, uint64_t hash, sqlite3_stmt **waiting)
{
    int rc = cuckoo_shadow_query(&paged->shadow, CUCKOO_WAITING, waiting);
    if (rc == SQLITE_OK)
        sqlite3_bind_int64(*waiting, 1, (sqlite3_int64)hash);
    return rc;
}

int cuckoo_waiting_values(cuckoo_paged *paged, uint64_t hash,
                          int (*found)(void *context, uint64_t value), void *context)
{
    sqlite3_stmt *waiting;
    int rc = paged->adds > 0 ? ask(paged, hash, &waiting) : SQLITE_DONE;
    if (rc != SQLITE_OK)
        return rc == SQLITE_DONE ? SQLITE_OK : rc;
    while (rc == SQLITE_OK && cuckoo_shadow_step(&paged->shadow, waiting) == SQLITE_ROW)
        if (sqlite3_column_int64(waiting, 1) > 0)
            rc = found(context, (uint64_t)sqlite3_column_int64(waiting, 0));
    int rc2 = cuckoo_shadow_end(&paged->shadow, waiting);
    return rc == SQLITE_OK ? rc2 : rc;
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

/* How many adds (column 1) or deletes (2) of a key with this value wait in the rows. */
static int waiting_copies(cuckoo_paged *paged, uint64_t hash, uint64_t value, int column,
                          sqlite3_int64 *copies)
{
    sqlite3_stmt *waiting;
    int rc = ask(paged, hash, &waiting);
    *copies = 0;
    if (rc != SQLITE_OK)
        return rc;
    while (cuckoo_shadow_step(&paged->shadow, waiting) == SQLITE_ROW)
        if ((uint64_t)sqlite3_column_int64(waiting, 0) == value)
            *copies = copies_in(waiting, column);
    return cuckoo_shadow_end(&paged->shadow, waiting);
}

int cuckoo_waiting_remove(cuckoo_paged *paged, uint64_t hash, uint64_t value, bool *was)
{
    sqlite3_int64 adds = 0;
    int rc = paged->adds > 0 ? waiting_copies(paged, hash, value, 1, &adds) : SQLITE_OK;
    *was = rc == SQLITE_OK && adds > 0;
    return *was ? count(paged, hash, value, -1, 0) : rc;
}

int cuckoo_waiting_cancel(cuckoo_paged *paged, uint64_t hash, uint64_t value, bool *was)
{
    sqlite3_int64 deletes = 0;
    int rc = paged->deletes > 0 ? waiting_copies(paged, hash, value, 2, &deletes) : SQLITE_OK;
    *was = rc == SQLITE_OK && deletes > 0;
    return *was ? count(paged, hash, value, 0, -1) : rc;
}

int cuckoo_waiting_flush(cuckoo_paged *paged, cuckoo_deletes *deletes)
{
    cuckoo_delete some;
    uint32_t epoch = paged->epoch; /* an error may roll back the transaction, and all is forgotten */
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK && cuckoo_deletes_pop(deletes, &some)) {
        rc = count(paged, some.hash, some.value, 0, (sqlite3_int64)some.copies);
        for (uint64_t i = 0; rc != SQLITE_OK && paged->epoch == epoch && i < some.copies; i++)
            cuckoo_deletes_push(deletes, some.hash, some.value); /* its place is still there */
    }
    return rc;
}

/* ---- doing it ---- */

/* When one copy is sticky, or not there, the others are so, too. */
void cuckoo_waiting_delete(cuckoo_paged *paged, uint64_t hash, uint64_t value, uint64_t copies)
{
    cf_deleted deleted = CF_REMOVED;
    while (copies-- > 0 && deleted == CF_REMOVED)
        deleted = cf_delete_value(&paged->filter, hash, value);
    paged->doubt |= deleted == CF_ABSENT && paged->rc == SQLITE_OK;
    paged->header_dirty = true;
}

int cuckoo_waiting_apply_deletes(cuckoo_paged *paged)
{
    sqlite3_stmt *all;
    cuckoo_shadow *shadow = &paged->shadow;
    uint64_t cancelled = 0;
    if (paged->deletes == 0)
        return SQLITE_OK;
    int rc = cuckoo_shadow_query(shadow, CUCKOO_ALL_WAITING, &all);
    while (rc == SQLITE_OK && paged->rc == SQLITE_OK && cuckoo_shadow_step(shadow, all) == SQLITE_ROW) {
        uint64_t hash = (uint64_t)sqlite3_column_int64(all, 0),
                 value = (uint64_t)sqlite3_column_int64(all, 1);
        sqlite3_int64 adds = copies_in(all, 2), deletes = copies_in(all, 3);
        cancelled += (uint64_t)(adds < deletes ? adds : deletes);
        if (adds < deletes)
            cuckoo_waiting_delete(paged, hash, value, (uint64_t)(deletes - adds));
    }
    if (rc == SQLITE_OK)
        rc = cuckoo_shadow_end(shadow, all);
    if (rc == SQLITE_OK)
        rc = cuckoo_paged_error(paged);
    paged->has_written |= rc == SQLITE_OK;
    if (rc == SQLITE_OK)
        rc = cuckoo_shadow_run(shadow, CUCKOO_DELETES_DONE);
    if (rc == SQLITE_OK)
        rc = cuckoo_shadow_run(shadow, CUCKOO_NOTHING_WAITS);
    if (rc != SQLITE_OK)
        return rc;
    paged->adds -= cancelled;
    paged->deletes = 0;
    paged->header_dirty = true;
    return rc;
}

/* Without memory a filter does not grow. */
cf_status cuckoo_waiting_place(cf_filter *filter, uint64_t hash, uint64_t value)
{
    cf_memory memory = filter->memory;
    filter->memory = (cf_memory){NULL, 0};
    cf_status status = cf_add_value(filter, hash, value);
    filter->memory = memory;
    return status;
}

/* Keys that wait, from some hash on: not always the same ones, should they have no place for ever. */
static int read_some(cuckoo_paged *paged, uint64_t most, cuckoo_deletes *some)
{
    sqlite3_stmt *waiting;
    uint64_t from;
    int rc = cuckoo_shadow_query(&paged->shadow, CUCKOO_SOME_WAITING, &waiting);
    if (rc != SQLITE_OK)
        return rc;
    sqlite3_randomness(sizeof from, &from);
    sqlite3_bind_int64(waiting, 1, most >= paged->adds ? INT64_MIN : (sqlite3_int64)from);
    sqlite3_bind_int64(waiting, 2, most < INT64_MAX ? (sqlite3_int64)most : -1);
    while (rc == SQLITE_OK && cuckoo_shadow_step(&paged->shadow, waiting) == SQLITE_ROW)
        rc = cuckoo_deletes_push(some, (uint64_t)sqlite3_column_int64(waiting, 0),
                                 (uint64_t)sqlite3_column_int64(waiting, 1));
    int rc2 = cuckoo_shadow_end(&paged->shadow, waiting);
    return rc == SQLITE_OK ? rc2 : rc;
}

/* One copy of each of them. */
static int place_some(cuckoo_paged *paged, cuckoo_deletes *some, cuckoo_placer *place, void *context)
{
    int rc = SQLITE_OK;
    cuckoo_delete key;
    while (rc == SQLITE_OK && cuckoo_deletes_pop(some, &key))
        if (place(context, key.hash, key.value) == CF_OK)
            rc = count(paged, key.hash, key.value, -1, 0);
    return rc;
}

int cuckoo_waiting_try(cuckoo_paged *paged, uint64_t most, cuckoo_placer *place, void *context)
{
    cuckoo_deletes some = {.place = NULL};
    int rc = paged->adds > 0 ? read_some(paged, most, &some) : SQLITE_OK;
    if (rc == SQLITE_OK && some.n > 0)
        rc = place_some(paged, &some, place, context);
    cuckoo_deletes_free(&some);
    int rc2 = cuckoo_paged_error(paged);
    return rc == SQLITE_OK ? rc2 : rc;
}

int cuckoo_waiting_add_to(cuckoo_paged *paged, cf_filter *filter, cf_status *status)
{
    sqlite3_stmt *all;
    *status = CF_OK;
    if (paged->adds == 0)
        return SQLITE_OK;
    int rc = cuckoo_shadow_query(&paged->shadow, CUCKOO_ALL_WAITING, &all);
    if (rc != SQLITE_OK)
        return rc;
    while (*status == CF_OK && cuckoo_shadow_step(&paged->shadow, all) == SQLITE_ROW) {
        sqlite3_int64 adds = copies_in(all, 2);
        for (int i = 0; *status == CF_OK && i < adds && i < MOST_COPIES; i++)
            *status = cf_add_value(filter, (uint64_t)sqlite3_column_int64(all, 0),
                                   (uint64_t)sqlite3_column_int64(all, 1));
    }
    return cuckoo_shadow_end(&paged->shadow, all);
}
