/* SPDX-License-Identifier: MIT */
/*
** cuckoo_view.h - the second part of the public header: an open filter, and the rules for all calls.
**
** Errors. A call that does not answer CF_OK has changed nothing, unless its description says
** otherwise. `*why` is a constant text that names what is wrong, set whenever the call fails; `why` may
** be NULL. What is out of its range is CF_BAD_ARGUMENT, a change through a view for reading only
** CF_READ_ONLY. Pointers must be valid: NULL is checked only where memory may come from malloc.
** After CF_NEWER, do not rebuild the filter: it would lose its keys.
**
** Threads. There are no globals, no locks and no memory barriers. Any number of threads may make calls
** that take a `const cf_filter *` at the same time, as long as nobody changes the filter. A thread that
** changes a filter must be the only one that uses its bytes and its view; other views of the same bytes
** are out of date then: open them again. Callbacks (cf_memory, cf_watch, cf_pages) run in the thread
** that called. With cf_pages a lookup counts as a change. A cf_reader belongs to one thread.
**
** Memory. The library allocates only through cf_memory, does no I/O, and draws no random numbers.
** Equal calls give equal bytes on every machine. Calls that sort hashes may ask for room, 8 bytes for
** each and 16 KB, whatever memory.most is, or sort in place. cf_merge copies `into` first.
**
** Small machines. Code for a Cortex-M4, by clang 14 -Os of the one file: 350 KB; with CUCKOO_SMALL
** 87 KB; with CUCKOO_READ_ONLY, too, 43 KB. There is no data and no bss. What READ_ONLY leaves calls
** memcpy and its like, strtod for texts that are numbers, and of libm (-lm) expm1, log1p and ldexp for
** shares. A cf_filter takes 0.5 KB, a cf_exact 25 KB. No call takes 10 KB of stack, as measured on
** x86-64 (tests/unit/filter/test_stack.c).
*/
#ifndef CF_CUCKOO_VIEW_H
#define CF_CUCKOO_VIEW_H

#include "cuckoo_inline.h"
#include "cuckoo_plan.h"

/* Memory that can become longer: what a filter needs to grow. */
typedef struct cf_memory {
    /* Like realloc: bytes == NULL allocates, size == 0 frees; blocks are aligned for a uint64_t. NULL:
    ** no memory, the old block stays, or freed. */
    uint8_t *(*resize)(void *context, uint8_t *bytes, uint64_t size);
    uint64_t most; /* bytes; no filter becomes longer. 0: no limit */
    void *context;
} cf_memory;

#if defined(__STDC_HOSTED__) && __STDC_HOSTED__ && !defined(__cplusplus)
#include <stdlib.h>

/* The memory of malloc, in C: filter.memory = (cf_memory){cf_realloc, most, NULL}. */
static inline uint8_t *cf_realloc(void *context, uint8_t *bytes, uint64_t size)
{
    (void)context;
    if (size > 0)
        return size <= SIZE_MAX ? (uint8_t *)realloc(bytes, (size_t)size) : NULL;
    free(bytes);
    return NULL;
}
#endif

/* For filters of which only a part is in memory. Offsets are bytes from the start of the blob.
**
** `need` and `change` get the bytes that are going to be read or changed, possibly again: from `from`
** to before `to`, at most the length of the filter. Its `bytes` and `length` are up to date then. A
** caller that cannot provide the bytes leaves zeros, and discards what the current operation has done.
** Bytes that a longer filter has behind the old end are set to 0 in memory, without a call.
**
** `skip`: the first offset at or behind `from` that may hold anything but zeros, or any offset behind
** the blob. Walks over the whole filter (cf_check, cf_take_census, cf_merge, cf_shrink) do not need what
** it skips. NULL: everything may hold something. */
typedef struct cf_pages {
    void (*need)(void *context, uint64_t from, uint64_t to);
    void (*change)(void *context, uint64_t from, uint64_t to); /* implies need */
    uint64_t (*skip)(void *context, uint64_t from);            /* may be NULL */
    void *context;
} cf_pages;

/* Asked from time to time in long work, every few microseconds: is it to stop? */
typedef struct cf_watch {
    bool (*stop)(void *context);
    void *context;
} cf_watch;

/*
** An open filter: a view of bytes that the caller owns and keeps in place; a copy is a second view of
** the same bytes. Read the first part; set the second; leave `view` to the library.
**
** With `memory` set, cf_add, cf_add_many and cf_merge may replace `bytes` by longer ones, whatever
** they return: take them, and `length`, from here afterwards. Growth needs both options.growth and this;
** without it such a filter, when full, answers CF_NEEDS_MEMORY. cf_create and cf_open set all fields:
** set `memory` and `watch` after them, and before cf_build.
**
** The watch is asked by cf_add and cf_add_value while the filter grows, and by cf_add_many, cf_merge,
** cf_shrink, cf_settle, cf_take_census and cf_check: CF_INTERRUPTED when it says stop.
*/
typedef struct cf_filter {
    cf_geometry geometry;
    uint64_t items;       /* adds minus the deletes that took effect; stops counting at 2^48 - 1. In a
                             filter that ages: entries */
    uint64_t occupied;    /* slots in use; absorbed adds use none */
    uint64_t split;       /* split pointer: so many buckets of this level are split; 0 .. m0 * 2^level */
    unsigned level;       /* of growth: remainder bits that all bucket numbers stand for */
    uint64_t buckets;     /* in use: m0 * 2^level + split */
    uint64_t length;      /* of the blob, bytes */
    unsigned stashed;     /* entries in the stash */
    uint64_t epoch;       /* the present one, 0 .. 2^48 - 1; adds belong to it. Without epochs 0 */
    const uint8_t *bytes; /* the blob */
    uint8_t *writable;    /* the same, when it may be changed; else NULL */

    cf_memory memory;      /* {NULL, 0, NULL}: it cannot grow. Set it after cf_create, before cf_build */
    const cf_watch *watch; /* NULL: nobody is asked */
    const cf_pages *pages; /* NULL: all of it is in memory; cf_attach_pages sets it */
    uint32_t live;         /* of one that ages: bit e % 16 for each live epoch e (cuckoo_filter.h) */

    cf_view view;
} cf_filter;

/* Opens one filter after another for reading; equal headers cost a comparison. Start with {0}. */
typedef struct cf_reader {
    cf_filter filter;
    uint8_t header[CF_HEADER_BYTES]; /* its header, as it was read */
} cf_reader;

/* Lets a view go on with a copy of its bytes. `writable` is `bytes`, or NULL for reading only. Memory,
** watch and pages stay as they are. */
cf_status cf_rebase(cf_filter *filter, const uint8_t *bytes, uint8_t *writable);

/* From now on the filter tells of the bytes it touches; NULL: no more. `pages` must live as long. */
cf_status cf_attach_pages(cf_filter *filter, const cf_pages *pages);

/* A key with a value: below 2^value_bits. */
typedef struct cf_valued {
    uint64_t hash, value;
} cf_valued;

/* What a delete did: CF_REMOVED, CF_ABSENT or CF_SATURATED; or why it did nothing. */
typedef cf_status cf_deleted;

#endif
