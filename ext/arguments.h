/* SPDX-License-Identifier: MIT */
/*
** arguments.h - capacity, fpr and options as arguments of an SQL function.
**
** False: the function has failed, with its message.
*/
#ifndef CUCKOO_ARGUMENTS_H
#define CUCKOO_ARGUMENTS_H

#include "options.h"

/* [fpr [, options]]: `count` is 0, 1 or 2. Each may be NULL, which means the default; for a call
** without fpr, values[0] is no value at all. */
bool cuckoo_options_read(sqlite3_context *context, int count, sqlite3_value **values,
                         cuckoo_options *options);

/* capacity: a whole number of keys. */
bool cuckoo_capacity_read(sqlite3_context *context, sqlite3_value *value, uint64_t *capacity);

#endif
