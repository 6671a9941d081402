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

/* An empty filter in memory of its own (handle.h), within the connection's length limit. */
bool cuckoo_new_filter(sqlite3_context *context, const cf_geometry *shape, cf_filter *filter);

/* Reads the value that goes with a key, when the filter keeps values and the call has one (`value` is not NULL);
** both or neither. Without values *number is 0. */
bool cuckoo_value_read(sqlite3_context *context, const cf_filter *filter, sqlite3_value *value,
                       uint64_t *number);

/* What cf_info says of a filter. */
void cuckoo_result_info(sqlite3_context *context, const cf_filter *filter);

/* Adds all of `filter` to `sum`. */
bool cuckoo_merge_into(sqlite3_context *context, cf_filter *sum, const cf_filter *filter);

#endif
