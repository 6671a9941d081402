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

/* Keys without a place go first. `waits`: what is to be changed in their list, when all is known. */
static int take_away(cuckoo_paged *paged, uint64_t hash, int64_t copies, cuckoo_sums *waits)
{
    int64_t wait = 0;
    int rc = cuckoo_waiting_copies(paged, hash, 0, &wait);
    if (wait > copies)
        wait = copies;
    delete_copies(paged, hash, copies - wait);
    return rc == SQLITE_OK && wait > 0 ? note_wait(waits, hash, -wait) : rc;
}

static int bring(cuckoo_paged *paged, uint64_t hash, int64_t copies, cuckoo_sums *waits)
{
    cf_status status = CF_OK;
    for (; copies > 0 && status == CF_OK && paged->rc == SQLITE_OK; copies--)
        status = cf_add_value(&paged->filter, hash, 0);
    if (status == CF_NO_MEMORY)
        return SQLITE_TOOBIG;
    return status == CF_OK ? SQLITE_OK : note_wait(waits, hash, copies + 1);
}

/* What has gone makes room for what has come. (A key of which more have gone than have come was there
** before: the order does not matter otherwise.) */
static int apply(cuckoo_paged *paged, const cuckoo_net *net, cuckoo_sums *waits)
{
    int rc = SQLITE_OK;
    const cuckoo_sums *sums = &net->sums;
    for (size_t i = 0; rc == SQLITE_OK && paged->rc == SQLITE_OK && i < sums->places; i++)
        if (sums->place[i].sum < 0)
            rc = take_away(paged, sums->place[i].hash, -(int64_t)sums->place[i].sum, waits);
    for (size_t i = 0; rc == SQLITE_OK && paged->rc == SQLITE_OK && i < sums->places; i++)
        if (sums->place[i].sum > 0)
            rc = bring(paged, sums->place[i].hash, sums->place[i].sum, waits);
    return cuckoo_first_error(rc, paged->rc);
}

/* A large log is added up in parts, so that the sums need no more than some hundred megabytes. */
static int apply_log(cuckoo_paged *paged, const cuckoo_follow *follow, const cuckoo_log_size *size,
                     cuckoo_sums *waits)
{
    enum { AT_ONCE = 4000000 };
    cuckoo_net net = {.parts = 1 + (uint64_t)size->rows / AT_ONCE};
    int rc = SQLITE_OK;
    paged->header_dirty = true;
    for (; rc == SQLITE_OK && net.part < net.parts; net.part++) {
        net.doubts = 0;
        cuckoo_sums_clear(&net.sums);
        rc = cuckoo_net_read(&net, follow, &paged->shadow, size, &paged->filter.geometry);
        if (rc == SQLITE_OK)
            rc = apply(paged, &net, waits);
    }
    paged->doubts += net.doubts;
    cuckoo_sums_free(&net.sums);
    return rc;
}

/* ---- in the database ---- */

/* When keys have gone, some keys without a place are tried: a few, whatever number waits. */
static int write_waits(cuckoo_paged *paged, const cuckoo_sums *waits, bool room)
{
    enum { FEW = 16 };
    int rc = SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < waits->places; i++)
        if (waits->place[i].sum != 0)
            rc = cuckoo_waiting_count(paged, waits->place[i].hash, 0, waits->place[i].sum);
    return rc == SQLITE_OK && room ? cuckoo_waiting_try(paged, FEW, cf_add_value) : rc;
}

static int write_all(cuckoo_paged *paged, const cuckoo_sums *waits, bool room)
{
    int rc = write_waits(paged, waits, room);
    if (rc == SQLITE_OK)
        rc = cuckoo_paged_write(paged);
    return rc == SQLITE_OK ? cuckoo_shadow_run(&paged->shadow, CUCKOO_EMPTY_LOG, NULL) : rc;
}

/* After the first write only codes will do after which SQLite rolls back; and where SQLite has rolled
** back of its own accord, COMMIT must not succeed. It has not when something was only read. */
static int end_drain(cuckoo_paged *paged, int rc, bool read_only)
{
    cuckoo_paged_forget(paged);
    cuckoo_paged_error(paged);
    if (cuckoo_sql_rolls_back(rc) && !(read_only && (rc & 0xff) == SQLITE_INTERRUPT))
        return rc;
    return paged->has_written ? SQLITE_IOERR : SQLITE_OK;
}

int cuckoo_drain(cuckoo_paged *paged, const cuckoo_follow *follow, cuckoo_undrained *undrained)
{
    cuckoo_log_size size;
    cuckoo_sums waits = {NULL, 0, 0};
    paged->has_written = false;
    int rc = cuckoo_net_size(&paged->shadow, &size);
    if (rc == SQLITE_OK && size.rows == 0)
        return rc;
    if (rc == SQLITE_OK)
        rc = apply_log(paged, follow, &size, &waits);
    bool read_only = rc != SQLITE_OK;
    if (rc == SQLITE_OK)
        rc = write_all(paged, &waits, size.olds > 0);
    cuckoo_sums_free(&waits);
    if (rc != SQLITE_OK)
        return end_drain(paged, rc, read_only);
    cuckoo_undrained_forget(undrained);
    return rc;
}
