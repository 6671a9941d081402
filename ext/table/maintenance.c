/* SPDX-License-Identifier: MIT */
#include "maintenance.h"

#include "../pages/ageing.h"
#include "../sqlite/block.h"
#include "../sqlite/errors.h"
#include "../sqlite/sql.h"
#include "../sqlite/watch.h"

#include <assert.h>

/* ---- filters in memory ---- */

bool cuckoo_maintenance_blank(const cf_geometry *shape, cf_filter *blank)
{
    uint8_t *bytes = cuckoo_block_zeros(cf_geometry_bytes(shape));
    if (bytes == NULL)
        return false;
    cf_create_in_zeros(blank, shape, bytes);
    blank->memory = cuckoo_block_memory;
    return true;
}

void cuckoo_maintenance_free(cf_filter *filter)
{
    cuckoo_block_resize(NULL, filter->writable, 0);
}

int cuckoo_maintenance_put(cuckoo_table *table, cf_filter *filter, int rc)
{
    cf_seal(filter);
    if (rc == SQLITE_OK)
        return cuckoo_paged_replace(&table->paged, filter->writable, filter->length);
    cuckoo_maintenance_free(filter);
    return rc;
}

/* ---- check ---- */

static int check_rows(cuckoo_table *table, char **message)
{
    int64_t log;
    int rc = cuckoo_shadow_check(&table->paged.shadow);
    rc = rc ? rc : cuckoo_paged_check(&table->paged);
    if (rc == SQLITE_OK && table->follow.given_table)
        rc = cuckoo_follow_check_saved(&table->paged.shadow, &log);
    rc = rc ? rc : cuckoo_table_net(table);
    if (rc == SQLITE_OK && table->net.own.rows < table->paged.left)
        rc = cuckoo_say(&table->paged.shadow.damage, SQLITE_CORRUPT_VTAB,
                        "rows of %s_log have been removed", table->paged.shadow.table);
    return rc == SQLITE_CORRUPT_VTAB
               ? cuckoo_say(message, rc, "corrupt: %s", cuckoo_table_damage(table, rc))
               : rc;
}

/* The message if a row of the synced table cannot be read. */
int cuckoo_maintenance_unreadable(const cuckoo_table *table, int rc, char **message)
{
    return cuckoo_say(message, rc, "%s(%s) cannot be read: %s", table->follow.table,
                      table->follow.column, cuckoo_sql_message(table->paged.shadow.db, rc));
}

int cuckoo_maintenance_check(cuckoo_table *table, char **message)
{
    assert(*message == NULL);
    const char *why;
    bool misses = false;
    cuckoo_table_forget(table); /* SQL of this connection may have changed what is in memory */
    int rc = cuckoo_paged_load(&table->paged);
    rc = rc ? rc : check_rows(table, message);
    if (rc != SQLITE_OK)
        return rc;
    cf_status status = cuckoo_watched_check(table->paged.shadow.db, &table->paged.filter, &why);
    if (status == CF_INTERRUPTED)
        return SQLITE_INTERRUPT;
    if (table->paged.rc != SQLITE_OK)
        return table->paged.rc; /* a page that cannot be read is not corruption */
    if (status != CF_OK)
        return cuckoo_say(message, SQLITE_CORRUPT_VTAB, "corrupt: %s", why);
    rc = table->follow.given_table ? cuckoo_table_misses(table, CUCKOO_ALL_ROWS, &misses) : SQLITE_OK;
    if (rc == SQLITE_ERROR)
        return cuckoo_maintenance_unreadable(table, rc, message);
    if (rc == SQLITE_OK && misses)
        rc = cuckoo_say(message, SQLITE_CORRUPT_VTAB,
                        "rows of %s are missing in it; rebuild reads them again", table->follow.table);
    return rc;
}

/* ---- optimize ---- */

/* If the result is not smaller, or there is none, the filter stays as it is. */
static int shrink(cuckoo_table *table)
{
    cf_filter smaller;
    cf_filter *filter = &table->paged.filter;
    cuckoo_watch watch;
    if (filter->length <= cf_geometry_bytes(&filter->geometry)) /* it has not grown */
        return SQLITE_OK;
    if (!cuckoo_maintenance_blank(&filter->geometry, &smaller))
        return SQLITE_NOMEM;
    cuckoo_watch_filter(&watch, table->paged.shadow.db, &smaller);
    cf_status status = cf_shrink(&smaller, filter);
    cuckoo_watch_end(&watch);
    if (status == CF_OK && smaller.length < filter->length && table->paged.rc == SQLITE_OK)
        return cuckoo_maintenance_put(table, &smaller, SQLITE_OK);
    cuckoo_maintenance_free(&smaller);
    return status == CF_NO_MEMORY || status == CF_INTERRUPTED ? cuckoo_error_code(status) : SQLITE_OK;
}

static int settle(cuckoo_table *table)
{
    cuckoo_watch watch;
    cuckoo_watch_filter(&watch, table->paged.shadow.db, &table->paged.filter);
    cf_status status = cf_settle(&table->paged.filter);
    cuckoo_watch_end(&watch);
    table->paged.dirty = true;
    return status == CF_INTERRUPTED ? SQLITE_INTERRUPT : table->paged.rc;
}

int cuckoo_maintenance_optimize(cuckoo_table *table)
{
    assert(table->paged.loaded);
    int rc = cuckoo_table_drain(table, true);
    rc = rc ? rc : cuckoo_table_load(table);
    if (rc != SQLITE_OK)
        return rc;
    if (table->paged.filter.geometry.epochs)
        cuckoo_ageing_sweep(&table->paged);
    rc = settle(table);
    if (rc == SQLITE_OK && table->paged.left == 0)
        rc = shrink(table);
    return cuckoo_table_finish(table, NULL, rc);
}

int cuckoo_maintenance_clear(cuckoo_table *table)
{
    cf_geometry shape = table->paged.filter.geometry;
    shape.key_types = (uint8_t)cf_types_cleared(&shape);
    int rc = cuckoo_shadow_check(&table->paged.shadow);
    return cuckoo_table_finish(table, &(cuckoo_counts){0},
                               rc ? rc : cuckoo_paged_clear(&table->paged, &shape));
}

int cuckoo_maintenance_age(cuckoo_table *table, int (*how)(cuckoo_paged *paged, char **message),
                           char **message)
{
    bool ages = table->paged.filter.geometry.epochs != 0;
    int rc = ages ? cuckoo_table_drain(table, false) : SQLITE_OK;
    rc = rc ? rc : cuckoo_table_load(table);
    if (rc == SQLITE_OK && ages)
        cuckoo_ageing_read_clock(&table->paged, 0);
    rc = rc ? rc : how(&table->paged, message);
    return rc == SQLITE_OK && table->paged.dirty ? cuckoo_table_finish(table, NULL, rc) : rc;
}
