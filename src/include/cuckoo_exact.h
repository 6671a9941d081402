/* SPDX-License-Identifier: MIT */
/*
** cuckoo_exact.h - exact filters: no wrong answer for any key of a known universe.
**
** When all the keys that will be asked for are known, so are those for which a filter is wrong: they go
** into a second filter, and what that one gets wrong goes into a third:
**
**      level 0   holds the members
**      level 1   holds those of the other keys for which level 0 says "perhaps"
**      level 2   holds those of the members for which level 1 says "perhaps"; and so on
**      list      the last few hashes themselves
**
** A key is a member when the number of levels that say "perhaps", up to the first "no", is odd. A key
** from outside the universe may get either answer. Nothing can be added or deleted: it would make other
** answers wrong. Threads and errors: as in cuckoo_view.h.
*/
#ifndef CF_CUCKOO_EXACT_H
#define CF_CUCKOO_EXACT_H

#include "cuckoo_inspect.h"

enum {
    CF_EXACT_VERSION = 1,  /* of the format */
    CF_EXACT_CONTENT = 48, /* offset in the header of 64 bits that differ when the bytes behind it do */
    CF_EXACT_LEVELS = 32,  /* the most there are */
    CF_EXACT_LIST = 32     /* hashes in the list, at most */
};

/* An open exact filter: a view of bytes that the caller owns and keeps in place. */
typedef struct cf_exact {
    cf_geometry rule;     /* hash, seed and key rule, for cf_hash; the rest is 0 */
    uint64_t keys;        /* distinct hashes that it was built of */
    uint64_t members;     /* of them */
    uint64_t length;      /* of the blob, bytes */
    unsigned levels;      /* 0 .. CF_EXACT_LEVELS */
    unsigned listed;      /* hashes in the list: 0 .. CF_EXACT_LIST */
    const uint8_t *bytes; /* the blob */
    const uint8_t *list;  /* the list in it, 8 bytes each, in ascending order */
    cf_filter level[CF_EXACT_LEVELS];
} cf_exact;

/* Do the bytes begin as an exact filter does? `bytes` may be NULL when length is 0. */
bool cf_is_exact(const uint8_t *bytes, size_t length);

/* Opens `length` bytes, and compares them all with their checksum. After CF_OK no call reads outside of
** them, no matter who made that. CF_DAMAGED or CF_NEWER: *why says what is wrong; *exact is
** unspecified. */
cf_status cf_exact_open(cf_exact *exact, const uint8_t *bytes, size_t length, const char **why);

/* Is the key a member? `hash` is cf_hash(&exact->rule, ...). Never wrong for a key of the universe. */
bool cf_exact_contains(const cf_exact *exact, uint64_t hash);

/* How many levels, the list counted as one, say "perhaps" before the first "no": odd for members. */
unsigned cf_exact_depth(const cf_exact *exact, uint64_t hash);

/* What a level knows a hash as. */
uint64_t cf_exact_hash(uint64_t hash, unsigned level);

/* The expected share of unknown keys that are answered "member". For display. */
double cf_exact_fpr(const cf_exact *exact);

/* cf_check of each level, by the watch, which may be NULL. */
cf_status cf_exact_check(const cf_exact *exact, const cf_watch *watch, const char **why);

/* What an exact filter is built of, and how; then the filter. */
typedef struct cf_exact_build {
    cf_options options;    /* hash, seed, key rule and key_types; all else is 0 */
    double fpr;            /* of unknown keys, at most; 0: what comes with the fewest bytes */
    uint64_t *hashes[2];   /* of the other keys, and of the members; in any order */
    size_t count[2];       /* of them */
    cf_memory memory;      /* with resize; the filter has memory.most bytes at most; 0: any number */
    const cf_watch *watch; /* NULL: nobody is asked */
    uint8_t *bytes;        /* the filter, to be freed by memory.resize; NULL: none */
    uint64_t length;       /* of it */
} cf_exact_build;

#ifndef CUCKOO_READ_ONLY

/*
** Builds the filter; its bytes follow from the two sets of hashes, fpr and options alone. The hashes and
** their numbers are lost. Memory for a copy of the members is needed; for one of the others it helps.
**
** When most of the keys are members, a filter of the others is smaller: exchange the two, and the
** answers. Then unknown keys count as members.
**
** CF_OK; CF_BAD_ARGUMENT: a hash is on both sides, or fpr or an option is not as it must be; CF_FULL:
** the keys were chosen to belong to the same buckets; CF_TOO_BIG; CF_NO_MEMORY; CF_INTERRUPTED. *why
** says more.
*/
cf_status cf_exact_make(cf_exact_build *build, const char **why);

#endif /* CUCKOO_READ_ONLY */

#endif
