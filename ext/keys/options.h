/* SPDX-License-Identifier: MIT */
/*
** options.h - capacity, fpr, durations, and options such as 'bucket_size=4 seed=7, growth=off'.
**
** Options are a list of name=value (names: options.c), separated by spaces or commas. A name occurs at
** most once. Names and words may be in any case. Numbers may have a decimal point or an exponent (1e6).
** Affinity and collation are the key rule (cf_affinity): blob means text, integer means numeric.
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
    uint64_t capacity;         /* 0: not given */
    double fpr;                /* as for cf_plan */
    unsigned given;            /* the options in the text, as bits: 1 << cuckoo_option */
    const char *const *beside; /* "name=value" of other arguments, NULL at the end; NULL: none */
} cuckoo_options;

static inline bool cuckoo_has(const cuckoo_options *options, int option)
{
    return options->given >> option & 1;
}

/* Sets the defaults. */
void cuckoo_options_default(cuckoo_options *options);

/* The words of options and cf_info for `keyed`, cf_affinity and cf_collation. */
extern const char *const cuckoo_hash_words[3], *const cuckoo_affinity_words[7];
extern const char *const cuckoo_collation_words[4];

/* The collation of this name, in any case; -1 if filters do not support it. */
int cuckoo_collation_named(const char *name);

/* ---- SQLITE_OK, or an error with a message in *why (sqlite3_malloc) ---- */

/* Adds the options of a text to *options. The message has the error up to "; ", and then a remedy. */
int cuckoo_options_parse(const char *text, size_t length, cuckoo_options *options, char **why);

/* An option without the other one that it needs is an error. */
int cuckoo_options_check(const cuckoo_options *options, char **why);

/* Reads a capacity, which is a whole number of keys. */
int cuckoo_capacity_take(sqlite3_value *value, uint64_t *capacity, char **why);

/* ---- arguments of the running function; false: it has failed, and its message is set ---- */

/* [fpr [, options]]: `count` is 0, 1 or 2. NULL: the default. values[0] == NULL: no fpr. */
bool cuckoo_options_read(sqlite3_context *context, int count, sqlite3_value **values,
                         cuckoo_options *options);
bool cuckoo_capacity_read(sqlite3_context *context, sqlite3_value *value, uint64_t *capacity);

/* ---- durations ---- */

/* A duration: a number and seconds, minutes, hours, days or weeks, in any case, singular or plural.
** False for any other text, and below a second or above a century. */
bool cuckoo_duration_read(const char *text, size_t length, uint64_t *milliseconds);

#define CUCKOO_BAD_DURATION                                                                             \
    "must be a number and seconds, minutes, hours, days or weeks, such as '24 hours', from 1 second "   \
    "to 36525 days"
#define CUCKOO_VALID_FPR "fpr must be a number above 0 and below 1, such as 0.01"

#endif
