/* SPDX-License-Identifier: MIT */
#include "drain.h"

#include "sql.h"

/* ---- in memory ---- */

/* Deletes so many copies. When one copy is sticky, or not there, so are the others. */
static void delete_copies(cuckoo_paged *paged, uint64_t hash, int64_t copies)
{
    cf_deleted deleted = CF_REMOVED;
    while (copies-- > 0 && deleted == CF_REMOVED)
        deleted = cf_delete_value(&paged->filter, hash, 0);
    paged->unmatched += deleted == CF_ABSENT && paged->rc == SQLITE_OK;
}

/* Notes a change of the list of keys without a place. */
static int note_wait(cuckoo_sums *waits, uint64_t hash, int64_t more)
{
    return cuckoo_sums_add(waits, hash, (int32_t)more) == SQLITE_OK ? SQLITE_OK : SQLITE_TOOBIG;
}

/* Where the changes go. */
typedef struct drain_into {
    cuckoo_paged *paged;
    cuckoo_sums waits; /* what is to be changed in the list of keys without a place, when all is known */
    bool room;         /* keys have gone */
} drain_into;

/* Keys without a place go first. */
static int take_away(drain_into *into, uint64_t hash, int64_t copies)
{
    int64_t wait = 0;
    int rc = cuckoo_waiting_copies(into->paged, hash, NULL, &wait);
    if (wait > copies)
        wait = copies;
    delete_copies(into->paged, hash, copies - wait);
    into->room = true;
    return rc == SQLITE_OK && wait > 0 ? note_wait(&into->waits, hash, -wait) : rc;
}

static int bring(drain_into *into, uint64_t hash, int64_t copies)
{
    cf_status status = CF_OK;
    for (; copies > 0 && status == CF_OK && into->paged->rc == SQLITE_OK; copies--)
        status = cf_add_value(&into->paged->filter, hash, 0);
    if (status == CF_NO_MEMORY)
        return SQLITE_TOOBIG;
    return status == CF_OK ? SQLITE_OK : note_wait(&into->waits, hash, copies + 1);
}

static int change(void *context, uint64_t hash, int64_t more)
{
    drain_into *into = context;
    int rc = more < 0 ? take_away(into, hash, -more) : bring(into, hash, more);
    return cuckoo_first_error(rc, into->paged->rc);
}

/* A large log is added up in parts, so that the sums need no more than some hundred megabytes. */
static int apply_log(drain_into *into, cuckoo_follow *follow, const cuckoo_log_size *size)
{
    enum { AT_ONCE = 4000000 };
    cuckoo_paged *paged = into->paged;
    cuckoo_net net = {.parts = size->ordered && size->rows > 0 ? 1 + (uint64_t)size->rows / AT_ONCE : 1};
    int rc = SQLITE_OK;
    paged->header_dirty = true;
    for (; rc == SQLITE_OK && net.part < net.parts; net.part++) {
        rc = cuckoo_net_read(&net, follow, &paged->shadow, size, &paged->filter.geometry);
        rc = rc ? rc : cuckoo_net_walk(&net, change, into);
    }
    paged->doubts += net.doubts;
    cuckoo_net_free(&net);
    return rc;
}

/* ---- in the database ---- */

/* When keys have gone, some keys without a place are tried. */
static int write_waits(const drain_into *into)
{
    int rc = SQLITE_OK;
    const cuckoo_sums *waits = &into->waits;
    for (size_t i = 0; rc == SQLITE_OK && i < waits->places; i++)
        if (waits->place[i].sum != 0)
            rc = cuckoo_waiting_count(into->paged, waits->place[i].hash, 0, waits->place[i].sum);
    return rc == SQLITE_OK && into->room ? cuckoo_waiting_try(into->paged, false) : rc;
}

/* A log that cannot be emptied has to be noticed before the first write. */
static int write_all(const drain_into *into)
{
    int rc = cuckoo_shadow_run(&into->paged->shadow, CUCKOO_CLAIM_LOG, NULL);
    rc = rc ? rc : write_waits(into);
    rc = rc ? rc : cuckoo_paged_write(into->paged);
    return rc == SQLITE_OK ? cuckoo_shadow_run(&into->paged->shadow, CUCKOO_EMPTY_LOG, NULL) : rc;
}

/* The code for an error. After the first write it must be one after which SQLite rolls back. If SQLite
** has rolled back already, COMMIT must not succeed. An interrupt does that to writes only. */
static int end_drain(cuckoo_paged *paged, int rc, bool read_only)
{
    cuckoo_paged_forget(paged);
    cuckoo_paged_error(paged);
    if (cuckoo_sql_rolls_back(rc) && !(read_only && (rc & 0xff) == SQLITE_INTERRUPT))
        return rc;
    return paged->has_written ? SQLITE_IOERR : SQLITE_OK;
}

int cuckoo_drain(cuckoo_paged *paged, cuckoo_follow *follow, cuckoo_undrained *undrained)
{
    cuckoo_log_size size;
    drain_into into = {.paged = paged};
    paged->has_written = false;
    int rc = cuckoo_net_size(&paged->shadow, &size);
    if (rc == SQLITE_OK && size.rows == 0) {
        cuckoo_undrained_forget(undrained); /* others have drained it */
        return rc;
    }
    rc = rc ? rc : apply_log(&into, follow, &size);
    bool read_only = rc != SQLITE_OK;
    rc = rc ? rc : write_all(&into);
    cuckoo_sums_free(&into.waits);
    if (rc != SQLITE_OK)
        return end_drain(paged, rc, read_only);
    cuckoo_undrained_forget(undrained);
    return rc;
}
