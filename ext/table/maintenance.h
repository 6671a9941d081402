/* SPDX-License-Identifier: MIT */
/*
** maintenance.h - operations on a whole filter table: check, clear, import, optimize, rebuild, export.
**
** The use must have begun (table.h), and is not ended here. Functions return SQLite codes. After an
** error *message (sqlite3_malloc; NULL before) is the reason, without the name of the table; or NULL.
*/
#ifndef CUCKOO_MAINTENANCE_H
#define CUCKOO_MAINTENANCE_H

#include "table.h"

/* SQLITE_CORRUPT_VTAB: it is corrupt, or lacks the key of a row of the synced table. */
int cuckoo_maintenance_check(cuckoo_table *table, char **message);

/* Drains the logs, moves stashed entries to slots, and then the filter to fewer pages, if possible. */
int cuckoo_maintenance_optimize(cuckoo_table *table);

/* Deletes all keys. */
int cuckoo_maintenance_clear(cuckoo_table *table);

/* Drains the log of a table with epochs, and changes its clock by one of the commands of ageing.h. */
int cuckoo_maintenance_age(cuckoo_table *table, int (*how)(cuckoo_paged *paged, char **message),
                           char **message);

/* Builds the filter from all keys of the table, and recreates the log and the triggers, so that they are
** the newest. It is planned for `capacity` keys, as by CREATE; NULL: for the current keys, if these are
** more than it was planned for. If `replan` is false, a filter that was just created keeps its plan; if
** it may not grow, keys that do not fit are an error. */
int cuckoo_maintenance_rebuild(cuckoo_table *table, bool replan, const uint64_t *capacity,
                               char **message);

/* Replaces the filter by a filter in a blob, which must have no values. */
int cuckoo_maintenance_import(cuckoo_table *table, sqlite3_value *blob, char **message);

/* Merges the logs into the pages, in memory only, until the use ends. *left: some keys did not fit. */
int cuckoo_maintenance_view(cuckoo_table *table, bool *left);

/* The same with all pages, and without expired entries: table->paged.image is the blob. */
int cuckoo_maintenance_export(cuckoo_table *table, char **message);

/* ---- for rebuild.c: filters in memory, and a message ---- */

/* Makes an empty filter of this shape, which may grow. False: out of memory. */
bool cuckoo_maintenance_blank(const cf_geometry *shape, cf_filter *blank);
void cuckoo_maintenance_free(cf_filter *filter);

/* Replaces the filter of the table, in memory. If rc is an error, frees the new one instead. */
int cuckoo_maintenance_put(cuckoo_table *table, cf_filter *filter, int rc);

/* Returns rc, with the message that the synced table cannot be read. */
int cuckoo_maintenance_unreadable(const cuckoo_table *table, int rc, char **message);

#endif
