/* SPDX-License-Identifier: MIT */
/*
** inspect.h - the table-valued functions that look inside a filter.
**
**      cf_buckets(filter)         one row per slot, in order of bucket and slot; also of a
**                                 filter table, by its name
**      cf_explain(filter, key)    one row per slot of the two buckets of the key, then one
**                                 per stashed entry of these buckets. Of an exact filter the
**                                 same for each level that the key is looked for in
**      cf_values(filter, key)     one row per value of the key
**
** They are eponymous virtual tables. They differ in their columns, and in what the cursor walks over: a
** range of buckets, the sides of a pair, or values.
*/
#ifndef CUCKOO_INSPECT_H
#define CUCKOO_INSPECT_H

#include "../table/registry.h"

/* Of all three. Its data are the registry. */
extern const sqlite3_module cuckoo_inspect_module;

/* cf_lines(text): one row per line. */
extern const sqlite3_module cuckoo_lines_module;

#endif
