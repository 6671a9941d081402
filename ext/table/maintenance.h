/* SPDX-License-Identifier: MIT */
/*
** maintenance.h - what is done to a filter table as a whole: check, clear, import, optimize,
** rebuild, export.
**
** The use has begun (table.h), and is not ended here. Functions return SQLite codes. After an error
** *message (sqlite3_malloc; NULL before) says why, without the name of the table; NULL: the code
** says it.
*/
#ifndef CUCKOO_MAINTENANCE_H
#define CUCKOO_MAINTENANCE_H

#include "table.h"

/* SQLITE_CORRUPT_VTAB: it is damaged, or the key of a row of the table that it follows is missing. */
int cuckoo_maintenance_check(cuckoo_table *table, char **message);

/* Drains the logs, moves stashed entries to slots, and then the filter to fewer pages, if it can. */
int cuckoo_maintenance_optimize(cuckoo_table *table);

/* Takes all keys out. */
int cuckoo_maintenance_clear(cuckoo_table *table);

/* Drains the log of a table that ages, and changes its clock by one of the commands of ageing.h. */
int cuckoo_maintenance_age(cuckoo_table *table, int (*how)(cuckoo_paged *paged, char **message),
                           char **message);

/* Makes a filter of all keys of the table, and the log and the triggers anew, as the newest ones. It is
** planned for `capacity` keys, as CREATE would; NULL: for those of today, if they are more than it was
** planned for. Not `anew`: a filter that was just created keeps its plan; if it may not grow, keys
** without a place are an error. */
int cuckoo_maintenance_rebuild(cuckoo_table *table, bool anew, const uint64_t *capacity, char **message);

/* Puts the filter in a blob in the place of this one. It must keep no values. */
int cuckoo_maintenance_import(cuckoo_table *table, sqlite3_value *blob, char **message);

/* Takes the logs into the pages, in memory only, until the use ends. *left: some keys have no place. */
int cuckoo_maintenance_view(cuckoo_table *table, bool *left);

/* The same with all pages, and without what is dead: table->paged.image is the blob. */
int cuckoo_maintenance_export(cuckoo_table *table, char **message);

#endif
