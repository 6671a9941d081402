#include "waiting.h"

/* ---- in memory ---- */

enum {
    MANY_DELETES = 1 << 16, /* 1 MB */
    MOST_COPIES = 1 << 20   /* of a key; no counter counts as far */
};

int cuckoo_deletes_push(cuckoo_deletes *deletes, uint64_t hash, uint64_t value)
{
    if (deletes->n == deletes->room) {
        size_t room = 2 * deletes->room + 16;
        cuckoo_delete *larger = sqlite3_realloc64(deletes->item, room * sizeof *larger);
        if (larger == NULL)
            return SQLITE_NOMEM;
        deletes->item = larger;
        deletes->room = room;
    }
    deletes->item[deletes->n++] = (cuckoo_delete){hash, value};
    return SQLITE_OK;
}

void cuckoo_deletes_free(cuckoo_deletes *deletes)
{
    sqlite3_free(deletes->item);
    *deletes = (cuckoo_deletes){.item = NULL};
}

bool cuckoo_deletes_many(const cuckoo_deletes *deletes)
{
    return deletes->n >= MANY_DELETES;
}

/* ---- rows ---- */

static int count(cuckoo_paged *paged, uint64_t hash, uint64_t value, int adds, int deletes)
{
    sqlite3_stmt *wait;
    int rc = cuckoo_shadow_query(&paged->shadow, CUCKOO_WAIT, &wait);
    if (rc != SQLITE_OK)
        return rc;
    sqlite3_bind_int64(wait, 1, (sqlite3_int64)hash);
    sqlite3_bind_int64(wait, 2, (sqlite3_int64)value);
    sqlite3_bind_int(wait, 3, adds);
    sqlite3_bind_int(wait, 4, deletes);
    cuckoo_shadow_step(&paged->shadow, wait);
    rc = cuckoo_shadow_end(&paged->shadow, wait);
    if (rc != SQLITE_OK)
        return rc;
    paged->has_written = paged->header_dirty = true;
    paged->adds += (uint64_t)(int64_t)adds;
    paged->deletes += (uint64_t)(int64_t)deletes;
    return rc;
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

int cuckoo_waiting_values(cuckoo_paged *paged, uint64_t hash, int (*found)(void *context, uint64_t value),
                          void *context)
{
    sqlite3_stmt *waiting;
    int rc = paged->adds > 0 ? ask(paged, hash, &waiting) : SQLITE_DONE;
    if (rc != SQLITE_OK)
        return rc == SQLITE_DONE ? SQLITE_OK : rc;
    while (rc == SQLITE_OK && cuckoo_shadow_step(&paged->shadow, waiting) == SQLITE_ROW)
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

typedef struct sought_value {
    uint64_t value;
    bool found;
} sought_value;

static int compare_value(void *context, uint64_t value)
{
    sought_value *sought = context;
    sought->found |= sought->value == value;
    return SQLITE_OK;
}

int cuckoo_waiting_remove(cuckoo_paged *paged, uint64_t hash, uint64_t value, bool *was)
{
    sought_value sought = {value, false};
    int rc = cuckoo_waiting_values(paged, hash, compare_value, &sought);
    *was = sought.found;
    if (rc == SQLITE_OK && sought.found)
        rc = count(paged, hash, value, -1, 0);
    return rc == SQLITE_OK && sought.found ? cuckoo_shadow_run(&paged->shadow, CUCKOO_WAIT_NO_MORE) : rc;
}

int cuckoo_waiting_flush(cuckoo_paged *paged, cuckoo_deletes *deletes)
{
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK && deletes->n > 0) {
        const cuckoo_delete *last = &deletes->item[deletes->n - 1];
        rc = count(paged, last->hash, last->value, 0, 1);
        if (rc == SQLITE_OK)
            deletes->n--;
    }
    return rc;
}

/* ---- doing it ---- */

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
        sqlite3_int64 adds = sqlite3_column_int64(all, 2), deletes = sqlite3_column_int64(all, 3);
        cancelled += (uint64_t)(adds < deletes ? adds : deletes);
        for (sqlite3_int64 i = adds; i < deletes; i++)
            if (cf_delete_value(&paged->filter, hash, value) != CF_REMOVED)
                break; /* sticky, or nothing left: the others change nothing, either */
    }
    if (rc == SQLITE_OK)
        rc = cuckoo_shadow_end(shadow, all);
    if (rc == SQLITE_OK)
        rc = cuckoo_paged_error(paged);
    if (rc == SQLITE_OK)
        rc = cuckoo_shadow_run(shadow, CUCKOO_DELETES_DONE);
    if (rc == SQLITE_OK)
        rc = cuckoo_shadow_run(shadow, CUCKOO_WAIT_NO_MORE);
    if (rc != SQLITE_OK)
        return rc;
    paged->has_written = paged->header_dirty = true;
    paged->adds -= cancelled;
    paged->deletes = 0;
    return rc;
}

/* Up to `room` keys that wait, from some hash on. */
static int read_some(cuckoo_paged *paged, cuckoo_deletes *some, int most)
{
    sqlite3_stmt *waiting;
    uint64_t from = 0;
    int rc = cuckoo_shadow_query(&paged->shadow, CUCKOO_SOME_WAITING, &waiting);
    if (rc != SQLITE_OK)
        return rc;
    if (most >= 0) /* not always the same ones, should they have no place for ever */
        sqlite3_randomness(sizeof from, &from);
    sqlite3_bind_int64(waiting, 1, most >= 0 ? (sqlite3_int64)from : INT64_MIN);
    sqlite3_bind_int(waiting, 2, most);
    while (rc == SQLITE_OK && cuckoo_shadow_step(&paged->shadow, waiting) == SQLITE_ROW)
        rc = cuckoo_deletes_push(some, (uint64_t)sqlite3_column_int64(waiting, 0),
                                 (uint64_t)sqlite3_column_int64(waiting, 1));
    int rc2 = cuckoo_shadow_end(&paged->shadow, waiting);
    return rc == SQLITE_OK ? rc2 : rc;
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

int cuckoo_waiting_try(cuckoo_paged *paged, bool all)
{
    enum { SOME = 16, ALL = -1 };
    cuckoo_deletes some = {.item = NULL};
    int rc = paged->adds > 0 ? read_some(paged, &some, all ? ALL : SOME) : SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < some.n; i++) {
        bool was;
        uint64_t hash = some.item[i].hash, value = some.item[i].value;
        if (cuckoo_waiting_place(&paged->filter, hash, value) == CF_OK)
            rc = cuckoo_waiting_remove(paged, hash, value, &was);
    }
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
        sqlite3_int64 adds = sqlite3_column_int64(all, 2);
        for (int i = 0; *status == CF_OK && i < adds && i < MOST_COPIES; i++)
            *status = cf_add_value(filter, (uint64_t)sqlite3_column_int64(all, 0),
                                   (uint64_t)sqlite3_column_int64(all, 1));
    }
    return cuckoo_shadow_end(&paged->shadow, all);
}
