/*
** functions.h - pieces that scalar functions, aggregates and cf_info share.
**
** Those that return false or NULL have made the running function fail, with its message.
*/
#ifndef CUCKOO_FUNCTIONS_H
#define CUCKOO_FUNCTIONS_H

#include "options.h"

/* Plans a filter for `capacity` keys. */
bool cuckoo_plan(sqlite3_context *context, uint64_t capacity, const cuckoo_options *options,
                 cf_geometry *shape);

/* Plans from the SQL arguments (capacity [, fpr [, options]]). */
bool cuckoo_plan_arguments(sqlite3_context *context, int argc, sqlite3_value **argv, cf_geometry *shape);

/* An empty filter in memory of sqlite3_malloc64, within the connection's length limit. */
uint8_t *cuckoo_new_filter(sqlite3_context *context, const cf_geometry *shape, cf_filter *filter);

/* Adds all of `filter` to `sum`. */
bool cuckoo_merge_into(sqlite3_context *context, cf_filter *sum, const cf_filter *filter);

#endif
