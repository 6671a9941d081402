/* SPDX-License-Identifier: MIT */
/*
** inspect.h - the table-valued functions: eponymous virtual tables.
**
**      cf_buckets(filter)         one row per slot, in order of bucket and slot; also for a
**                                 filter table, by its name
**      cf_explain(filter, key)    one row per slot of the key's two buckets, then one per
**                                 stashed entry of these buckets; for an exact filter, for
**                                 each level in which the key is looked up
**      cf_values(filter, key)     one row per value of the key
**      cf_lines(text)             one row per line
*/
#ifndef CUCKOO_INSPECT_H
#define CUCKOO_INSPECT_H

#include "../table/registry.h"

/* Methods of all four. The data of their modules is the registry. */
int cuckoo_inspect_connect(sqlite3 *db, void *registry, int argc, const char *const *argv,
                           sqlite3_vtab **result, char **message);
int cuckoo_inspect_best_index(sqlite3_vtab *table, sqlite3_index_info *info);
int cuckoo_inspect_disconnect(sqlite3_vtab *table);

extern const sqlite3_module cuckoo_inspect_module;
extern const sqlite3_module cuckoo_lines_module;

#endif
