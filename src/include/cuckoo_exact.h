/* SPDX-License-Identifier: MIT */
/*
** cuckoo_exact.h - exact filters: no wrong answer for any key of a known universe.
**
** If all keys that will be looked up are known, so are the false positives of a filter: they go into a
** second filter, whose false positives go into a third:
**
**      level 0   holds the members
**      level 1   holds the other keys that level 0 reports (its false positives)
**      level 2   holds the members that level 1 reports (its false positives); and so on
**      list      the last few hashes themselves
**
** A key is a member if the number of levels that report it, before the first that does not, is odd. A
** key from outside the universe may get either answer. Keys cannot be added or deleted: that would make
** other answers wrong. Threads and errors: as in cuckoo_filter.h.
*/
#ifndef CF_CUCKOO_EXACT_H
#define CF_CUCKOO_EXACT_H

#include "cuckoo_inspect.h"

enum {
    CF_EXACT_VERSION = 1,  /* of the format */
    CF_EXACT_CONTENT = 48, /* offset in the header of the 64-bit checksum of the bytes behind it */
    CF_EXACT_LEVELS = 32,  /* at most */
    CF_EXACT_LIST = 32     /* hashes in the list, at most */
};

/* An open exact filter: a view of bytes that the caller owns and keeps in place. */
typedef struct cf_exact {
    cf_geometry rule;     /* hash, seed and key rule, for cf_hash; the rest is 0 */
    uint64_t keys;        /* distinct hashes of the universe */
    uint64_t members;     /* members among them */
    uint64_t length;      /* of the blob, bytes */
    unsigned levels;      /* 0 .. CF_EXACT_LEVELS */
    unsigned listed;      /* hashes in the list: 0 .. CF_EXACT_LIST */
    const uint8_t *bytes; /* the blob */
    const uint8_t *list;  /* the list in it, 8 bytes each, in ascending order */
    cf_filter level[CF_EXACT_LEVELS];
} cf_exact;

/* True if the bytes begin like an exact filter. `bytes` may be NULL if length is 0. */
bool cf_is_exact(const uint8_t *bytes, size_t length);

/* Opens `length` bytes, and verifies their checksum. After CF_OK no call reads outside them, no matter
** who made them. CF_DAMAGED or CF_NEWER: *why says what is wrong; *exact is unspecified. */
cf_status cf_exact_open(cf_exact *exact, const uint8_t *bytes, size_t length, const char **why);

/* True if the key is a member; right for every key of the universe. Hash it with exact->rule. */
bool cf_exact_contains(const cf_exact *exact, uint64_t hash);

/* How many levels (the list is one) report a key before the first that does not: odd for members. */
unsigned cf_exact_depth(const cf_exact *exact, uint64_t hash);

/* The hash of a key in a level. */
uint64_t cf_exact_hash(uint64_t hash, unsigned level);

/* The expected share of keys from outside the universe that are reported as members. For display. */
double cf_exact_fpr(const cf_exact *exact);

/* cf_check of each level. `watch` may be NULL. */
cf_status cf_exact_check(const cf_exact *exact, const cf_watch *watch, const char **why);

/* The input of cf_exact_make, and then its result. */
typedef struct cf_exact_build {
    cf_options options; /* hash, seed, key rule and key_types; all else is 0 */
    double fpr; /* upper limit, for keys outside the universe; 0: the rate with the fewest bytes */
    uint64_t *hashes[2];        /* other keys, then members; in any order */
    size_t count[2];            /* lengths of hashes */
    cf_collected *collected[2]; /* in place of hashes, or NULL: without values, counts = false */
    const cf_temporary *file;   /* for the work, or NULL */
    cf_memory memory;           /* with resize; memory.most limits the filter */
    const cf_watch *watch;      /* NULL: it cannot be stopped */
    uint8_t *bytes;             /* the filter, to be freed by memory.resize; NULL: none */
    uint64_t length;            /* of the filter, bytes */
} cf_exact_build;

#ifndef CUCKOO_READ_ONLY

/*
** Builds the filter; its bytes depend only on the two sets of hashes, fpr and options. The order and
** number of the hashes are lost. A copy of the members is allocated, and one of the others if possible;
** with lists in files, and a file for the work, no more than for cf_build_collected.
**
** If most of the keys are members, a filter of the others is smaller: swap the two, and negate the
** answers. Then keys outside the universe count as members.
**
** CF_OK; CF_BAD_ARGUMENT: a hash is on both sides, or fpr or an option is invalid; CF_FULL: the keys
** were chosen to share buckets; CF_TOO_BIG; CF_NO_MEMORY; CF_INTERRUPTED. *why says more.
*/
cf_status cf_exact_make(cf_exact_build *build, const char **why);

#endif /* CUCKOO_READ_ONLY */

#endif
