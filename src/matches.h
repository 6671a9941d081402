/*
** matches.h - the entries of a pair, in slots and in the spill list, that match a key.
**
** An entry matches when it lies in the pair and agrees with the key in every bit it knows.
*/
#ifndef CF_MATCHES_H
#define CF_MATCHES_H

#include "cuckoo_filter.h"

/* An entry that matches. */
typedef struct cf_match {
    uint64_t bucket;
    unsigned slot; /* or CF_IN_LIST + its number in the spill list, when it was found */
    uint64_t tag;
    unsigned length;    /* remainder bits it knows, those of the extension included */
    unsigned extension; /* remainder bits that the number of its bucket stands for */
    uint64_t payload;
} cf_match;

enum {
    CF_IN_LIST = CF_BUCKET_MAX,
    CF_MATCHES_MAX = CF_VALUES_MAX /* 2 * CF_BUCKET_MAX + 8: no more are spilled of one key (spill.h) */
};

typedef struct cf_matches {
    cf_match match[CF_MATCHES_MAX]; /* longest first; of equal ones, base side and lower slots first */
    unsigned n;
} cf_matches;

/* How many entries match, as below, and where the first of them is, when it is in a slot. */
unsigned cf_scan_matches(const cf_filter *filter, const cf_pair *pair, uint64_t *bucket, unsigned *slot);

/* How many entries match, of whatever payload. Does not look at lengths: for keys, not for entries. */
unsigned cf_entries_matching(const cf_filter *filter, const cf_pair *pair);

/* The entries that match a key, or that know no more than `pair` and agree with it; with values, those of this
** value, unless it is CF_ANY_VALUE. */
void cf_find_matches(const cf_filter *filter, const cf_pair *pair, uint64_t value, cf_matches *found);
#define CF_ANY_VALUE UINT64_MAX

/* The entries that agree with an entry of another filter in all the bits that both know, also those that know more. */
void cf_find_agreeing(const cf_filter *filter, const cf_pair *pair, uint64_t value, cf_matches *found);

/* Makes an entry that was found say something else. The others stay valid: an entry that has got another slot, or
** another number in the list, is found again by what it says. */
void cf_match_change(cf_filter *filter, const cf_match *match, uint64_t tag, uint64_t payload);

/* Makes an entry forget all but `length` remainder bits, those of its extension at least; and its payload. */
void cf_match_cut(cf_filter *filter, const cf_match *match, unsigned length, uint64_t payload);

/* Takes an entry out. */
void cf_match_take_out(cf_filter *filter, const cf_match *match);

/* Takes an entry out; one of the spill list may take its place. */
void cf_match_remove(cf_filter *filter, const cf_match *match);

#endif
