/* SPDX-License-Identifier: MIT */
/*
** transfer.c - import and export: the filter of a table as a blob.
*/
#include "maintenance.h"

#include "../../src/include/cuckoo_exact.h"

#include "../functions/filters.h"
#include "../pages/ageing.h"
#include "../sqlite/block.h"
#include "../sqlite/errors.h"
#include "../sqlite/watch.h"

#include <assert.h>
#include <string.h>

int cuckoo_maintenance_import(cuckoo_table *table, sqlite3_value *blob, char **message)
{
    assert(table->paged.loaded && *message == NULL);
    const char *why = "it is not a blob; give one that cf_new, cf_build or cf_export returned";
    cf_filter filter;
    const uint8_t *bytes = sqlite3_value_blob(blob);
    size_t length = cf_without_label(bytes, (size_t)sqlite3_value_bytes(blob));
    bool is_blob = sqlite3_value_type(blob) == SQLITE_BLOB;
    cf_status status = is_blob ? cf_open(&filter, bytes, length, &why) : CF_BAD_ARGUMENT;
    if (is_blob && cf_is_exact(bytes, length))
        why = cuckoo_is_exact;
    if (status == CF_OK)
        status = cuckoo_watched_check(table->paged.shadow.db, &filter, &why);
    if (status == CF_INTERRUPTED)
        return SQLITE_INTERRUPT;
    if (status != CF_OK)
        return cuckoo_say(message, SQLITE_ERROR, "key is not a valid filter to import: %s", why);
    if (cuckoo_is_from_zero_rows(&filter))
        return cuckoo_say(message, SQLITE_ERROR, "key " CUCKOO_FROM_ZERO_ROWS);
    if (filter.geometry.epochs != table->paged.filter.geometry.epochs)
        return cuckoo_say(message, SQLITE_ERROR,
                          "a filter with epochs=%d goes only into a table with as many (keep= has 15)",
                          filter.geometry.epochs);
    if (filter.geometry.value_bits != 0)
        return cuckoo_say(message, SQLITE_ERROR,
                          "key is a filter with values (value_bits), and a table stores none: keep it "
                          "as a blob, and query it with cf_get");
    int rc = cuckoo_shadow_check(&table->paged.shadow);
    uint8_t *copy = rc == SQLITE_OK ? cuckoo_block_resize(NULL, NULL, length) : NULL;
    if (copy == NULL)
        return rc ? rc : SQLITE_NOMEM;
    memcpy(copy, bytes, length);
    rc = cuckoo_paged_replace(&table->paged, copy, length);
    if (rc == SQLITE_OK && filter.geometry.epochs)
        cuckoo_ageing_renew(&table->paged);
    return cuckoo_table_finish(table, &(cuckoo_counts){0}, rc);
}

/* A drain in memory. */
int cuckoo_maintenance_view(cuckoo_table *table, bool *left)
{
    cuckoo_counts without_place = CUCKOO_COUNTS_BESIDE;
    int rc = cuckoo_table_net(table);
    if (rc == SQLITE_OK && !cuckoo_net_is_empty(&table->net))
        rc = cuckoo_table_take_in(table, true, &without_place);
    *left = cuckoo_counts_any(&without_place);
    cuckoo_counts_free(&without_place);
    cf_seal(&table->paged.filter);
    return rc;
}

/* Expired entries are removed in memory only, like everything here. */
int cuckoo_maintenance_export(cuckoo_table *table, char **message)
{
    assert(table->paged.loaded && *message == NULL);
    bool left;
    int rc = cuckoo_maintenance_view(table, &left);
    if (rc == SQLITE_OK && left)
        rc = cuckoo_say(message, SQLITE_ERROR,
                        "some keys did not fit in it and are in its log, which a blob does not have; "
                        "create a larger filter");
    if (rc == SQLITE_OK && table->paged.filter.geometry.epochs)
        cuckoo_ageing_sweep(&table->paged);
    return rc ? rc : cuckoo_paged_complete(&table->paged);
}
