/* SPDX-License-Identifier: MIT */
/*
** inspect.h - the table-valued functions that look inside a filter.
**
**      cf_buckets(filter)         one row per slot, in order of bucket and slot; also of a
**                                 filter table, by its name
**      cf_explain(filter, key)    one row per slot of the two buckets of the key, then one
**                                 per spilled entry of these buckets. Of an exact filter the
**                                 same for each level that the key is looked for in
**
** They are eponymous virtual tables. They differ in their columns, and in what the cursor walks over: a
** range of buckets, or the sides of a pair.
*/
#ifndef CUCKOO_INSPECT_H
#define CUCKOO_INSPECT_H

#include "../table/registry.h"

/* Registers cf_buckets and cf_explain, or takes them back (registry NULL). Returns an SQLite code. */
int cuckoo_register_inspect(sqlite3 *db, cuckoo_registry *registry);

#endif
