/* SPDX-License-Identifier: MIT */
/*
** cuckoo_filter.h - the filter library: cuckoo filters in memory of the caller.
**
** A cuckoo filter (Fan, Andersen, Kaminsky, Mitzenmacher: "Cuckoo Filter: Practically Better Than
** Bloom", CoNEXT 2014) is a set of fingerprints. It answers "certainly not there" or "perhaps
** there", takes keys one by one, and can delete them again.
**
**                     hash (64 bits)
**      +---------------------------------+--------------+-----------+
**      |  high bits: base bucket         | remainder    | pair bits |
**      +---------------------------------+--------------+-----------+
**                                         \__ fingerprint, f bits __/
**
**      bucket 0   [tag][tag][tag][tag]        A key lies in its base bucket or in its alternate
**      bucket 1   [tag][   ][tag][   ]        bucket. That one follows from the base bucket and
**      ...                                    the fingerprint alone: an entry can move between the
**      bucket m-1 [tag][tag][   ][tag]        two without its key (paper, section 3.1).
**
** The whole filter is one string of bytes: a 64-byte header and the bit-packed buckets (format.h).
** cuckoo_inspect.h looks inside.
**
**      cf_geometry shape;                          what to build: how many keys, which error rate
**      cf_plan(1000000, 0.01, &options, &shape, &why);
**      uint8_t *bytes = malloc(cf_geometry_bytes(&shape));
**      cf_filter filter;
**      cf_create(&filter, &shape, bytes);
**      cf_add(&filter, cf_hash(&shape, "key", 3));
**      cf_seal(&filter);                           now `bytes` may be stored or sent
**
**      cf_open(&other, bytes, length, &why);       opening validates: hostile bytes are refused
**      cf_contains(&other, cf_hash(&other.geometry, "key", 3));
**
** The library allocates only through cf_memory, does no I/O, and draws no random numbers. Equal
** calls give equal bytes on every machine.
**
** Small machines. Code for a Cortex-M4, by clang 14 -Os of the one file: 305 KB; with CUCKOO_SMALL
** 86 KB; with CUCKOO_READ_ONLY, too, 42 KB. There is no data and no bss. A cf_filter takes 0.5 KB, a
** cf_exact 25 KB. No call takes 8 KB of stack, as measured on x86-64 (tests/unit/filter/test_stack.c).
**
** Threads. There are no globals, no locks and no memory barriers. A call that takes a
** `const cf_filter *` changes neither the view nor the bytes: any number of threads may make such
** calls at the same time, as long as nobody changes the filter. (cf_merge and cf_shrink only read
** `from`.) A thread that changes a filter must be the only one that uses its bytes and its view; other
** views of the same bytes are out of date then: open them anew. Callbacks (cf_memory, cf_watch,
** cf_pages) run in the thread that called. With cf_pages a lookup may bring in bytes, and so counts as
** a change. A cf_reader belongs to one thread.
**
** Errors. A call that does not answer CF_OK has changed nothing, unless its description says
** otherwise. `*why` is a constant text that names what is wrong; it is set only when the call
** fails. Through a view for reading only nothing changes: statuses are CF_BAD_ARGUMENT, cf_delete says
** CF_STICKY. What else callers owe (a bucket in range) assert checks, with CUCKOO_DEBUG in cuckoo.c.
**
** Copies. Adding a key again stores another copy, up to `cap` copies: 3 to 6 in most filters, more
** where fingerprints are short (cf_turnovers). Below cap the number of copies is exact. At cap the
** key is *sticky*: further adds are absorbed, and deletes change nothing. So one key takes no more than
** cap slots, and deleting a key that was added never hides a key that is still there. With
** counters of c bits a key is sticky at 2^c copies (copies.h). Deleting a key that was never added may
** remove the fingerprint of another: no filter can know.
**
** Growth. A filter that may grow, and whose memory may (cf_memory), takes more keys than it was planned
** for: buckets are split one at a time, without the keys (growth.h). The first split writes the whole
** table anew, with wider slots: some 15 ms for a million keys, and no add takes so long again: others
** split a hundred buckets at most; with values, more. Keys that were chosen to crowd one place are
** refused, and leave half of the slots occupied; with values, an eighth. After k doublings a filter
** errs up to 1 + k / 16 times as often as when it was first full: within three times the error rate
** asked for up to 2^13 times the keys planned for. One that ages stops growing while most of its entries
** know no bit by which they could be split; adds are refused until these have died.
**
** Layouts. Buckets of four slots can be kept sorted by four bits of each fingerprint. That saves
** one bit per slot, and costs a little when it is written (semisort.h).
**
** Bounded insertion. A filter with a spill list looks at a few buckets for a new key; then the key
** goes to an exact list, which lookups ask when a bit in their buckets says so (spill.h). Such a filter
** does not grow: both bound what an insertion takes.
**
** Ageing. A filter with epochs forgets what was added long ago. An entry carries the epoch in which its
** key was added last; cf_advance begins the next one, and drops those that are too old. There are no
** copies: adding a key again makes its entry young. Nothing is deleted by key: cf_delete answers
** CF_STICKY.
**
** Values. A filter may keep a value of up to 32 bits with every copy of a key: an approximate map
** (paper, section 6).
*/
#ifndef CUCKOO_FILTER_H
#define CUCKOO_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "cuckoo_plan.h"
#include "shape/filter_private.h"
#include "version.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------
** A filter in use
*/

/* Memory that can become longer: what a filter needs to grow. */
typedef struct cf_memory {
    /* Like realloc: bytes == NULL allocates, size == 0 frees. Returning NULL means failure; the old
    ** block stays valid. */
    uint8_t *(*resize)(void *context, uint8_t *bytes, uint64_t size);
    uint64_t most; /* bytes; no filter becomes longer */
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
** `need` and `change` are told which bytes are going to be read or changed: from `from` to before
** `to`, which is at most the length of the filter. `bytes` and `length` of the filter are up to date
** then. Both may be called again with the same range. A caller that cannot provide the bytes leaves
** zeros, and forgets what the operation under way has done. Bytes that a longer filter has behind
** the old end are set to 0 in memory, and not told of.
**
** `skip`: the first offset at or behind `from` that may hold anything but zeros, or any offset behind
** the blob. Walks over the whole filter (cf_check, cf_take_census, cf_merge, cf_shrink) do not need
** what it skips: a filter that is nearly empty costs what it holds, not what its header claims. NULL:
** everything may hold something. */
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
** An open filter: a view of bytes that the caller owns and keeps in place. There is nothing to free;
** a copy is a second view of the same bytes. Read the first part; set the second; leave `view` to the
** library.
**
** With `memory` set, cf_add, cf_add_many and cf_merge may replace `bytes` by longer ones, whatever
** they return: take them, and `length`, from here afterwards. Without it a filter does not grow.
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
    unsigned spilled;     /* entries in the spill list */
    uint64_t epoch;       /* the present one, 0 .. 2^48 - 1; adds belong to it. Without epochs 0 */
    const uint8_t *bytes; /* the blob */

    cf_memory memory;      /* {NULL, 0, NULL}: it cannot grow */
    const cf_watch *watch; /* NULL: nobody is asked */
    const cf_pages *pages; /* NULL: all of it is in memory; cf_attach_pages sets it */

    cf_view view;
} cf_filter;

/* Opens `length` bytes for reading, and validates their header, in constant time: whatever the bytes
** are, after CF_OK no call reads or writes outside them. The contents have no checksum: a changed bit
** of a fingerprint is noticed by no call, and nearly always loses a key. Keep a checksum of your own
** beside a blob that travels. CF_DAMAGED or CF_NEWER: *why says what is wrong; *filter is unchanged.
** After CF_NEWER the only remedy is the version that wrote it: building it anew would lose its keys. */
cf_status cf_open(cf_filter *filter, const uint8_t *bytes, size_t length, const char **why);

/* Opens one filter after another for reading, as a query does for each row. Bytes with the header of
** the last ones, which is the rule, cost a comparison. Start with {0}. */
typedef struct cf_reader {
    cf_filter filter;   /* the open filter */
    uint8_t header[64]; /* its header, as it was read */
} cf_reader;

/* cf_open for reader->filter, with its errors. `bytes` may be NULL when length is 0. */
cf_status cf_reader_open(cf_reader *reader, const uint8_t *bytes, size_t length, const char **why);

/* Lets a view go on with a copy of its bytes. `writable` is `bytes`, or NULL for reading only. Cheaper
** than opening the copy. Memory, watch and pages stay as they are. */
void cf_rebase(cf_filter *filter, const uint8_t *bytes, uint8_t *writable);

/* From now on the filter tells of the bytes it touches; NULL: no more. `pages` must live as long. */
void cf_attach_pages(cf_filter *filter, const cf_pages *pages);

/* cf_contains for every filter. */
bool cf_contains_any(const cf_filter *filter, uint64_t hash);

/* Perhaps (true) or certainly not (false). Two memory reads. Paper, algorithm 2. Here are the lookups in
** filters that cannot grow, in memory, with buckets of whole bytes that fit a word: f = 8, 10, 12, 14 or
** 16 in four slots that are not semi-sorted (lanes.h). A call would cost half as much again. */
CF_INLINE bool cf_contains(const cf_filter *filter, uint64_t hash)
{
#ifdef CF_HAS_INLINE
    const cf_view *view = &filter->view;
    if (__builtin_expect(view->whole != 0, 1)) {
        uint64_t m0 = filter->geometry.buckets, fingerprint = view->fingerprint_mask, here, there;
        if (__builtin_expect((hash & fingerprint) == 0, 0))
            hash++;
        uint64_t mix = cf_pair_mix(hash & fingerprint), base = cf_high_product(hash, m0);
        uint64_t other = (cf_high_product(mix, m0) | 1) - base;
        other = other >> 63 != 0 ? other + m0 : other;
        memcpy(&here, view->table + base * view->whole, sizeof here);
        memcpy(&there, view->table + other * view->whole, sizeof there);
        here ^= (hash & fingerprint) * view->form.ones;
        there ^= (hash & fingerprint) * view->form.ones;
        here = (here - view->form.ones) & ~here;
        there = (there - view->form.ones) & ~there;
        return ((here | there) & view->form.highs) != 0;
    }
#endif
    return cf_contains_any(filter, hash);
}

/* cf_contains for n hashes, with their cache misses overlapped. answers[i] is that for hashes[i].
** Returns how many are true. */
size_t cf_contains_many(const cf_filter *filter, const uint64_t *hashes, size_t n, bool *answers);

/* The number of copies of this key, and of those that share its fingerprint and its pair. cap means
** "at least cap"; with counters of c bits, 2^c or more means "at least that". */
uint64_t cf_count(const cf_filter *filter, uint64_t hash);

/* The value of a key in a filter with values: that of the longest match, of equally long ones the
** first. False: the key is certainly not there, and *value is unchanged. */
bool cf_get(const cf_filter *filter, uint64_t hash, uint64_t *value);

/* All values of a key, each once, in that order: how many. `values` has room for CF_VALUES_MAX. */
unsigned cf_get_all(const cf_filter *filter, uint64_t hash, uint64_t *values);

/* ---------------------------------------------------------------------------------------------
** Making and changing filters. With CUCKOO_READ_ONLY cuckoo.c leaves all of it out: what is left calls
** memcpy and its like, and of libm (-lm) expm1, log1p and ldexp for shares; it allocates nothing.
*/
/* What a delete did. */
typedef enum cf_deleted {
    CF_ABSENT,  /* the key is certainly not there: nothing has changed */
    CF_REMOVED, /* one copy is gone */
    CF_STICKY   /* the number of copies is unknown: nothing has changed */
} cf_deleted;

#ifndef CUCKOO_READ_ONLY

/* Makes an empty filter in the cf_geometry_bytes(shape) bytes at `bytes`, sealed and open for writing.
** `shape` has passed cf_plan or cf_geometry_check. */
void cf_create(cf_filter *filter, const cf_geometry *shape, uint8_t *bytes);

/* The same in bytes that are all zeros, as calloc gives them: only the header is written. */
void cf_create_in_zeros(cf_filter *filter, const cf_geometry *shape, uint8_t *bytes);

/* cf_open for reading and writing: what changes a filter needs one opened so, or made by cf_create. */
cf_status cf_open_writable(cf_filter *filter, uint8_t *bytes, size_t length, const char **why);

/* Writes the counts of an open filter into its header, with the checksum. Until then the bytes hold
** the counts of before: seal once, after the last change, before the bytes are stored or sent. */
void cf_seal(cf_filter *filter);

/* Adds one copy of a key. Paper, algorithm 1, except that the shortest eviction path is searched breadth
** first before anything is written (eviction.h). CF_OK: stored, counted, or absorbed because the key is
** sticky; the filter may have grown. CF_FULL: there is no room, and growing is not allowed or does not
** help. CF_TOO_BIG: it would be longer than memory.most. CF_NO_MEMORY. CF_INTERRUPTED: while the filter
** grew. Then every answer stays as it was, but for the one that cf_get gives of several values of a key,
** and the order of cf_get_all. A filter that may not grow is the same to the byte; one that may has
** perhaps split some buckets, and is longer: seal it before you keep its bytes. */
cf_status cf_add(cf_filter *filter, uint64_t hash);

/* The same with a value below 2^value_bits, for filters with values; in others, value is 0. */
cf_status cf_add_value(cf_filter *filter, uint64_t hash, uint64_t value);

/* Deletes one copy of a key. Paper, algorithm 3. */
cf_deleted cf_delete(cf_filter *filter, uint64_t hash);

/* The same for one copy with this value. */
cf_deleted cf_delete_value(cf_filter *filter, uint64_t hash, uint64_t value);

/* Begins the next epoch of a filter that ages: what was added `epochs` epochs ago is gone. Time
** proportional to the table. */
void cf_advance(cf_filter *filter);

/* Moves spilled entries to slots where an ordinary search finds some, so that the list is empty when it
** is needed. cf_add_many and cf_merge end with it, and each delete does it for one entry. CF_OK;
** CF_INTERRUPTED: some entries have not been looked at; the filter is sound. */
cf_status cf_settle(cf_filter *filter);

/* Makes the filter as it was when it was new: empty, not grown, in epoch 0, sealed. */
void cf_clear(cf_filter *filter);

/* ---------------------------------------------------------------------------------------------
** Many keys at once
*/

/* Sorts n hashes in place: for cf_drop_repeated. `watch` may be NULL. CF_OK; CF_INTERRUPTED: they
** are all there, in some order. */
cf_status cf_sort(uint64_t *hashes, size_t n, const cf_watch *watch);

/* Drops repeated hashes of n sorted ones; returns how many are left. For filters that do not count
** copies. */
size_t cf_drop_repeated(uint64_t *hashes, size_t n);

/*
** Adds n hashes, in an order of its own, in which it leaves them: sorted, or scattered for a filter
** that has to grow for them. An empty filter that was planned for as many is filled several times as
** fast as by cf_add (bulk_add.c); others take them in turn. The bytes depend on the filter and the
** hashes, not on their order before. Errors as cf_add, or CF_INTERRUPTED: of the hashes those before
** *added (may be NULL) are in, the rest is not. After CF_INTERRUPTED they may be in any order, when
** *added is 0.
**
** With memory.resize it sorts with room for a copy of the hashes, 8 bytes each and 16 KB, which it gives
** back; memory.most does not limit that. Without it, or when it gives none, it sorts in place, with the
** same result.
*/
cf_status cf_add_many(cf_filter *filter, uint64_t *hashes, size_t n, size_t *added);

/*
** Makes a filter of n hashes, which it sorts, sized for exactly the distinct ones; or for `capacity`
** keys when there are no more of them than that, so that filters of equal capacity can be merged. fpr
** and options: as cf_plan takes them. The bytes depend on these and on the set of hashes. With counters
** a repeated hash is a copy, otherwise it counts once. Values are 0.
**
** filter->memory and filter->watch are the caller's; memory.resize is set. After CF_OK the bytes are a
** block of that memory, to be given back by it, and not yet sealed. CF_FULL: the keys crowd one place,
** as if chosen to; try another seed. CF_TOO_BIG, CF_BAD_ARGUMENT: of cf_plan when *why is not NULL.
** CF_TOO_BIG: else longer than memory.most; filter->geometry is what was planned. CF_NO_MEMORY.
** CF_INTERRUPTED. Then filter->bytes is NULL.
*/
cf_status cf_build(cf_filter *filter, uint64_t *hashes, size_t n, uint64_t capacity, double fpr,
                   const cf_options *options, const char **why);

/* A key with a value. */
typedef struct cf_valued {
    uint64_t hash, value;
} cf_valued;

/*
** The same for a filter with values: of n pairs, each of which counts once. All values are below
** 2^options->value_bits. It is sized for as many different pairs; where many keys have several values,
** up to 2.3 times as large: then fewer slots can be used. Memory for a copy of the pairs is asked for,
** and given back. CF_FULL, too: a key has more values than two buckets have slots, and with a spill
** list eight more.
*/
cf_status cf_build_values(cf_filter *filter, cf_valued *pairs, size_t n, uint64_t capacity, double fpr,
                          const cf_options *options, const char **why);

/*
** Adds every copy in `from` to `into`: afterwards `into` answers for the keys of both. Both must agree
** in hash, seed, key rule, m0, b, f, s, cap, payload and epochs, and have bytes of their own: else
** CF_MISMATCH, and *why names the field. Filters that age come to the later one of their two epochs;
** what was added keeps its own, and a key the later one of its two. When `from` has grown more, `into`
** grows as much first. Other errors as cf_add, by the memory and the watch of `into`. After CF_FULL *why
** is NULL, or says why: a key would have more entries than can be found, two buckets full and, with a
** spill list, eight more; or it would take far more work than keys do, as hostile bytes can. With
** memory.resize nothing has changed then: `into` is copied first. Without it, `into` holds all it held,
** and perhaps a part of `from`.
*/
cf_status cf_merge(cf_filter *into, const cf_filter *from, const char **why);

/* CF_OK when cf_merge would not answer CF_MISMATCH; else that, and *why names the field. */
cf_status cf_mergeable(const cf_filter *one, const cf_filter *other, const char **why);

/* Each call names the next such field. *at is 0 first. NULL: there are no more. */
const char *cf_difference(const cf_filter *one, const cf_filter *other, unsigned *at);

/*
** Makes a filter that has grown, and lost keys since, smaller. `into` is an empty filter of the
** same geometry that may grow. It takes all that `from` holds, its items too, after growing as far as
** that needs. Entries forget what new keys of a filter of that size do not know, and err as often as
** these do. CF_FULL: it would not be an eighth smaller. Other errors as cf_merge. Then
** `into` may hold a part.
*/
cf_status cf_shrink(cf_filter *into, const cf_filter *from);

#endif /* CUCKOO_READ_ONLY */

#ifdef __cplusplus
}
#endif

#endif
