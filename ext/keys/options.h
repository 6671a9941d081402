/* SPDX-License-Identifier: MIT */
/*
** options.h - capacity, fpr, spans of time, and the options text: 'bucket_size=4 seed=7, growth=off'.
**
** The text is a list of name=value (options.c has all names), separated by blanks or commas, with each
** name at most once. Names and words may be in any case. Numbers may be written with a point or an
** exponent (1e6). Affinity and collation are the key rule (cf_affinity): blob means text, integer means
** numeric.
*/
#ifndef CUCKOO_OPTIONS_H
#define CUCKOO_OPTIONS_H

#include "../sqlite/api.h"

enum cuckoo_option {
    CUCKOO_OPTION_BUCKET_SIZE,
    CUCKOO_OPTION_FINGERPRINT_BITS,
    CUCKOO_OPTION_LAYOUT,
    CUCKOO_OPTION_COUNTER_BITS,
    CUCKOO_OPTION_VALUE_BITS,
    CUCKOO_OPTION_SEED,
    CUCKOO_OPTION_HASH,
    CUCKOO_OPTION_GROWTH,
    CUCKOO_OPTION_STASH,
    CUCKOO_OPTION_MAX_KICKS,
    CUCKOO_OPTION_STASH_SIZE,
    CUCKOO_OPTION_AFFINITY,
    CUCKOO_OPTION_COLLATION,
    CUCKOO_OPTION_EPOCHS,
    CUCKOO_OPTION_CAPACITY,
    CUCKOO_OPTION_COUNT
};

typedef struct cuckoo_options {
    cf_options filter;
    uint64_t capacity;         /* 0 when not given */
    double fpr;                /* as cf_plan takes it */
    unsigned given;            /* bits of the options that are in the text: 1 << cuckoo_option */
    const char *const *beside; /* "name=value" that may stand beside them; ends with NULL. NULL: none */
} cuckoo_options;

#define CUCKOO_DEFAULT_FPR 0.01
enum { CUCKOO_DEFAULT_BUDGET = 10 }; /* buckets */

static inline bool cuckoo_has(const cuckoo_options *options, int option)
{
    return options->given >> option & 1;
}

/* The options that hold when nothing is given. */
void cuckoo_options_default(cuckoo_options *options);

/* The words for a hash and a key rule in options and in cf_info. */
const char *cuckoo_hash_word(const cf_geometry *shape);
const char *cuckoo_affinity_word(unsigned affinity);
const char *cuckoo_collation_word(unsigned collation);

/* The collation of this name, in any case; -1: hashes do not follow it. */
int cuckoo_collation_named(const char *name);

/* Reads an options text on top of what is in *options. Returns CF_OK, CF_BAD_ARGUMENT, CF_TOO_BIG,
** or CF_NO_MEMORY. *why (sqlite3_malloc) says what is wrong first, and from "; " on what would be
** right; NULL: out of memory. */
cf_status cuckoo_options_parse(const char *text, size_t length, cuckoo_options *options, char **why);

/* An option that means nothing without another one is a mistake. The result is as above. */
cf_status cuckoo_options_check(const cuckoo_options *options, char **why);

/* ---- as arguments of an SQL function; false: the function has failed, with its message ---- */

/* [fpr [, options]]: `count` is 0, 1 or 2. Each may be NULL, which means the default; for a call
** without fpr, values[0] is no value at all. */
bool cuckoo_options_read(sqlite3_context *context, int count, sqlite3_value **values,
                         cuckoo_options *options);

/* capacity: a whole number of keys. CF_OK, or an error and a message. */
cf_status cuckoo_capacity_take(sqlite3_value *value, uint64_t *capacity, char **why);
bool cuckoo_capacity_read(sqlite3_context *context, sqlite3_value *value, uint64_t *capacity);

/* A span of time: a number, blanks, and seconds, minutes, hours, days or weeks, in any case, with or
** without the last letter. False: it is no such text, or it says less than a second or more than a
** century. */
bool cuckoo_duration_read(const char *text, size_t length, uint64_t *milliseconds);

#define CUCKOO_BAD_DURATION                                                                             \
    "must be a number and seconds, minutes, hours, days or weeks, such as '24 hours', from 1 second "   \
    "to 36525 days"
#define CUCKOO_VALID_FPR "fpr must be a number above 0 and below 1, such as 0.01"

#endif
