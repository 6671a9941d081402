/*
** options.h - capacity, fpr and the options text: 'bucket_size=4 seed=7, growth=off'.
**
** name=value, separated by blanks or commas; names and words in lower case; each name at most once:
**
**      bucket_size=1|2|4|8      fingerprint_bits=4..32      layout=auto|plain|semisort
**      counter_bits=0..16       value_bits=0..32            seed=any 64-bit integer
**      growth=on|off            overflow=on|off             capacity=keys
**      overflow_budget=0..255   spill_bound=1..4096         (with overflow=on)
*/
#ifndef CUCKOO_OPTIONS_H
#define CUCKOO_OPTIONS_H

#include "api.h"

typedef struct cuckoo_options {
    cf_options filter;
    uint64_t capacity; /* 0 when not given */
    double fpr;        /* as cf_plan takes it */
    bool has_seed;     /* it was given */
} cuckoo_options;

#define CUCKOO_DEFAULT_FPR 0.01
enum { CUCKOO_DEFAULT_BUDGET = 10 }; /* buckets */

/* What no arguments mean. */
void cuckoo_options_default(cuckoo_options *options);

bool cuckoo_options_equal(const cuckoo_options *a, const cuckoo_options *b);

/* Reads an options text on top of what is in *options. False: *why says what is wrong, in memory of sqlite3_malloc; NULL
** when there is none. */
bool cuckoo_options_parse(const char *text, size_t length, cuckoo_options *options, char **why);

/* Reads the SQL arguments [fpr [, options]] (count 0, 1 or 2; each may be NULL: the default). False: the
** function has failed, with its message. */
bool cuckoo_options_read(sqlite3_context *context, int count, sqlite3_value **values,
                         cuckoo_options *options);

/* Reads the SQL argument `capacity`: a whole number of keys. False: the function has failed. */
bool cuckoo_capacity_read(sqlite3_context *context, sqlite3_value *value, uint64_t *capacity);

#endif
