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
**      cf_plan(1000000, 0.01, &options, &shape, &why);         keys, false-positive rate
**      uint8_t *bytes = malloc(cf_geometry_bytes(&shape));
**      cf_create(&filter, &shape, bytes);
**      cf_add(&filter, cf_hash(&shape, "key", 3));
**      cf_seal(&filter);                                       now `bytes` may be stored or sent
**
**      cf_open(&other, bytes, length, &why);                   hostile bytes are refused
**      cf_contains(&other, cf_hash(&other.geometry, "key", 3));
**
** cuckoo_plan.h: what filters can do, and their shapes. cuckoo_view.h: the rules for all calls.
** base/hash.h: keys; cuckoo_key.h: those of SQL. cuckoo_exact.h: exact answers. The bytes:
** shape/format.h.
*/
#ifndef CUCKOO_FILTER_H
#define CUCKOO_FILTER_H

#include "../base/hash.h"
#include "cuckoo_contains.h"
#include "cuckoo_plan.h"
#include "cuckoo_view.h"
#include "version.h"

/* ---- opening and asking ---- */

/* Opens `length` bytes for reading. Reads the header alone, in constant time: whatever the bytes are,
** after CF_OK no call reads or writes outside them. CF_DAMAGED, or CF_NEWER: only the version that
** wrote it can read it; *why says what is wrong, *filter is unchanged. The contents have no checksum:
** a changed bit of a fingerprint nearly always loses a key. Store one with each blob that you send. */
cf_status cf_open(cf_filter *filter, const uint8_t *bytes, size_t length, const char **why);

/* The same for reader->filter, of one blob after another. `bytes` may be NULL when length is 0. */
cf_status cf_reader_open(cf_reader *reader, const uint8_t *bytes, size_t length, const char **why);

/* A file may have a label behind its filter (shape/format.h), which no filter has in memory. How long the
** filter is without it: what to pass to cf_open; `length`, if there is no label. */
size_t cf_without_label(const uint8_t *bytes, size_t length);

/* Probably in the set (true) or definitely not (false). Two memory reads. Paper, algorithm 2. */
CF_INLINE bool cf_contains(const cf_filter *filter, uint64_t hash);

/* The same for n hashes, with their cache misses overlapped. Returns how many answers are true. */
size_t cf_contains_many(const cf_filter *filter, const uint64_t *hashes, size_t n, bool *answers);

/* The copies of a key, and of those that share its fingerprint and its pair. max_copies means "at least
** max_copies"; with counters of c bits 2^c or more means "at least that". */
uint64_t cf_count(const cf_filter *filter, uint64_t hash);

/* The value of a key: that of the longest match, of equally long ones the first. False: the key is
** definitely not in the set, or the filter has no values, and *value is unchanged. */
bool cf_get(const cf_filter *filter, uint64_t hash, uint64_t *value);

/* All its values, each once, in that order, in room for CF_VALUES_MAX: how many. Without values none. */
unsigned cf_get_all(const cf_filter *filter, uint64_t hash, uint64_t *values);

/* True if keys added in `epoch` are still found. Any number is allowed. */
bool cf_epoch_is_live(const cf_filter *filter, uint64_t epoch);

/* ---- making and changing. CUCKOO_READ_ONLY leaves all of it out of cuckoo.c ---- */
#ifndef CUCKOO_READ_ONLY

/* Makes an empty filter in cf_geometry_bytes(shape) bytes, sealed and open for writing. Sets all of
** *filter, `memory` included. In zeros, as of calloc, only the header is written. Errors are those of
** cf_geometry_check; CF_NO_MEMORY: bytes is NULL. */
cf_status cf_create(cf_filter *filter, const cf_geometry *shape, uint8_t *bytes);
cf_status cf_create_in_zeros(cf_filter *filter, const cf_geometry *shape, uint8_t *bytes);

/* cf_open for reading and writing. */
cf_status cf_open_writable(cf_filter *filter, uint8_t *bytes, size_t length, const char **why);

/* Writes the counts into the header: after the last change, before the bytes are stored or sent. The
** first change breaks the seal: cf_open is CF_DAMAGED then, and says so. */
cf_status cf_seal(cf_filter *filter);

/* Adds one copy of a key. In a filter with values, `value` (< 2^value_bits) is stored with it;
** otherwise pass 0. Paper, algorithm 1, but the shortest eviction path is searched before anything is
** written (eviction.h). CF_OK: stored, counted, or absorbed because the key is saturated. CF_FULL: no
** free slot, and growth is off or does not help. CF_TOO_BIG: longer than memory.most.
** CF_NEEDS_MEMORY: growing would, but `memory` is not set. CF_NO_MEMORY, CF_INTERRUPTED: while it
** grew. CF_BAD_ARGUMENT: a value of more than value_bits bits. On error every answer is as it was
** (growth: cuckoo_plan.h). */
cf_status cf_add(cf_filter *filter, uint64_t hash);
cf_status cf_add_value(cf_filter *filter, uint64_t hash, uint64_t value);

/* Deletes one copy of a key, or one with this value. Paper, algorithm 3. */
cf_deleted cf_delete(cf_filter *filter, uint64_t hash);
cf_deleted cf_delete_value(cf_filter *filter, uint64_t hash, uint64_t value);

/* Adds n hashes in an order of its own, in which it leaves them: the bytes depend on the filter and on
** the set. An empty filter planned for as many is filled several times as fast as by cf_add
** (bulk_add.c). Errors as cf_add: then those before *added (may be NULL) are in, the rest is not. */
cf_status cf_add_many(cf_filter *filter, uint64_t *hashes, size_t n, size_t *added);

/* Makes a filter of n hashes, which it sorts: for the distinct ones, or for `capacity` if there are no
** more, so that filters of equal capacity can be merged. A repeated hash counts once, or with counters
** as a copy. filter->memory (with resize) and ->watch are the caller's. The bytes, a block of that
** memory, are not sealed yet. On error filter->bytes is NULL. CF_FULL: keys belong to the same buckets,
** try another seed. CF_BAD_ARGUMENT: as cf_plan, or filter->memory is not set. CF_TOO_BIG: as cf_plan,
** or memory.most; then *why is cf_status_text. Else as cf_add. options may be NULL: as {0}. */
cf_status cf_build(cf_filter *filter, uint64_t *hashes, size_t n, uint64_t capacity, double fpr,
                   const cf_options *options, const char **why);

/* The same for a filter with values, of n pairs, for the different ones. Where many keys have several
** values it is up to 2.3 times as large. CF_BAD_ARGUMENT, too: a value has more than options->value_bits
** bits. CF_FULL, too: a key has more values than two buckets have
** slots, and with a stash eight more. */
cf_status cf_build_values(cf_filter *filter, cf_valued *pairs, size_t n, uint64_t capacity, double fpr,
                          const cf_options *options, const char **why);

/* Adds every copy in `from`, which has bytes of its own. Both must agree in hash, seed, key rule, m0, b,
** f, s, max_copies, payload and epochs; CF_MISMATCH: *why names the first field in which they differ.
** Filters that age come to the later one of their two epochs; what was added keeps its own, and a key
** the later one of its two. When `from` has grown more, `into` grows as much first. CF_FULL: no room;
** or a key would have more entries than can be found, two buckets full and, with a stash, eight more; or
** hostile bytes would take far more work than keys do. On error nothing has changed, with memory.resize;
** without it `into` has perhaps a part of `from`, too. */
cf_status cf_merge(cf_filter *into, const cf_filter *from, const char **why);

/* Names the next field that keeps two filters from being merged; NULL: no more. *at is 0 first. */
const char *cf_difference(const cf_filter *one, const cf_filter *other, unsigned *at);

/* Takes all of `from` into an empty filter of the same shape that may grow: smaller, if `from` has lost
** keys. CF_FULL: by less than an eighth. CF_MISMATCH: another shape. CF_BAD_ARGUMENT: `into` is not
** empty. On other errors `into` may hold a part. */
cf_status cf_shrink(cf_filter *into, const cf_filter *from);

/* Moves stashed entries to slots, where an ordinary search finds some; cf_add_many and cf_merge end
** with it, each delete does it for one. CF_OK; CF_INTERRUPTED: some were not looked at. */
cf_status cf_settle(cf_filter *filter);

/* The key types of a filter to which keys of these types (cf_key_types) are added. One that has keys
** whose types nobody has noted may have any. */
unsigned cf_types_with(const cf_filter *filter, unsigned types);

/* Notes the types of keys that are going to be added. Merges do so themselves. CF_BAD_ARGUMENT: there is
** no such type, and nothing has changed. */
cf_status cf_note_types(cf_filter *filter, unsigned types);

/* The types of a filter that is made empty: none, unless it is for keys of all types. */
unsigned cf_types_cleared(const cf_geometry *shape);

/* Drops the types of keys if all keys have been deleted. */
void cf_drop_types(cf_filter *filter);

/* Makes the filter as it was when it was new: empty, not grown, in epoch 0, sealed. */
cf_status cf_clear(cf_filter *filter);

/* Sorts n hashes in place; drops the repeated ones of n sorted, and returns how many are left. `watch`
** may be NULL; CF_INTERRUPTED: they are all there, in some order. */
cf_status cf_sort(uint64_t *hashes, size_t n, const cf_watch *watch);
size_t cf_drop_repeated(uint64_t *hashes, size_t n);

/* The same of pairs, by hash and value. */
cf_status cf_sort_pairs(cf_valued *pairs, size_t n, const cf_watch *watch);
size_t cf_drop_repeated_pairs(cf_valued *pairs, size_t n);

/* ---- filters that age ----
**
** An entry carries the number, epoch % 16, of the epoch in which its key was added last. It is *live*,
** and found, when filter->live has the bit of that number. Opening and a new epoch set those of the last
** `epochs` epochs. An owner who knows at what time each epoch was may set others. */

/* Begins the next epoch, or a later one: what is too old then is gone. Time as of a walk over all. All
** of these are CF_BAD_ARGUMENT for a filter without epochs, and for an epoch before the present one. */
cf_status cf_advance(cf_filter *filter);
cf_status cf_age_to(cf_filter *filter, uint64_t epoch);

/* cf_add for an earlier epoch, one of the last 16. */
cf_status cf_add_epoch(cf_filter *filter, uint64_t hash, uint64_t epoch);

/* Takes out what is not live. */
cf_status cf_sweep(cf_filter *filter);

/* All that is live is as if it was added in the present epoch. */
cf_status cf_renew(cf_filter *filter);

#endif /* CUCKOO_READ_ONLY */

#endif
