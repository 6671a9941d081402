/* SPDX-License-Identifier: MIT */
/*
** format.h - the bytes of a filter.
**
**      +------------------+---------------------+---------------------+-----------------------+
**      | header, 64 bytes | buckets, bit-packed | reserved zero bytes | stash, if any         |
**      +------------------+---------------------+---------------------+-----------------------+
**
** All integers are little-endian, and unsigned unless marked.
**
**   offset  bytes  field
**        0      3  magic: cf 63 6b
**        3      1  format version: 2
**        4      1  bits 0-3 hash identity of the keys: 1 = XXH3, 64 bits; 2 = SipHash-1-3 (hash.c);
**                  bits 4-7 types of the keys that were added (cf_key_types): bit 4 numbers,
**                  bit 5 texts, bit 6 blobs, bit 7 texts that are inexact numbers
**        5      1  bucket size b: 1, 2, 4 or 8 slots
**        6      1  fingerprint bits f: 4 .. 32
**        7      1  pair bits s: 4 .. f
**        8      1  max_copies: 1 .. 2b
**        9      1  slot bits: the width of a slot; f before growth, then f + 5
**       10      1  level of growth: 0 .. 39
**       11      1  payload bits of a slot: 0; a counter 1 .. 16; a value 1 .. 32; 4 with epochs
**       12      1  flags: bit 0 growth, bit 1 the payload is a value, bit 2 semi-sorted;
**                  bits 3-4 affinity of keys: 0 none, 1 text, 2 numeric, 3 real;
**                  bits 5-6 collation of keys: 0 binary, 1 nocase, 2 rtrim; 3 is unknown;
**                  bit 7 epochs: the payload is the number of an epoch, max_copies is 1, no stash
**       13      1  budget: buckets that an insertion examines before it stashes; 0 without a stash;
**                  with epochs: the number of epochs in which an add is found, 1 .. 15
**       14      2  bound of the stash, entries: 0 .. 4,096; 0: no stash, no overflow bits; 0 with
**                  growth
**       16      2  entries in the stash: 0 .. its bound
**       18      6  m0, the number of base buckets: even, at least 2
**       24      8  seed of the hash (signed)
**       32      6  split pointer of growth: 0 .. m0 * 2^level
**       38      6  items: adds minus deletes that took effect; at most 2^48 - 1. With epochs: the
**                  current epoch; an entry of epoch e has the payload e mod 16 (epochs.h)
**       44      6  occupied: slots in use
**       50      6  capacity: distinct keys it was planned for; 0: built over zero rows, or with epochs
**       56      4  reserved: number of zero bytes between buckets and stash, at least 8
**       60      4  checksum: the low 32 bits of XXH3 (unseeded) of bytes 0 .. 59
**       64         buckets
**
** A filter has grown if its level or its split pointer is not 0, which needs flag 0. It has
** m0 * 2^level + split pointer buckets (address.h).
**
** Let r = b * (slot bits + payload bits). Bucket i is the r bits from bit i * r of the table on; bit k
** of the table is bit k % 8 of byte k / 8. The slots come first, slot 0 first, their tags least
** significant bit first (address.h), 0 if empty; then, if there is a stash, the overflow bit (one more
** bit per bucket); then the payloads in the same order. Once the filter has grown, a tag has a
** terminator (tag.h), and the payload of a slot without a counter has one more bit above the value, the
** saturated bit (copies.h). Semi-sorted buckets take 4 bits less (semisort.h). The stash takes 16 bytes
** for each entry of its bound (stash.h). Spare bits of the last byte of the buckets are zero.
**
** The reserved bytes are room to grow into; 8 of them let a reader load 64 bits anywhere in the table.
**
** In a file a label may follow, which describes the keys: 1 to 255 bytes of text, their number in one
** byte, and cf 6c 62. It is not part of the filter. Functions ignore it, and return filters without one.
**
** Limits that follow: log2(m0) + f <= 64, so that base bucket and fingerprint share no hash bit;
** once grown log2(m0) + s + level + 2 <= 64. New entries never know more bits than this leaves.
*/
#ifndef CF_FORMAT_H
#define CF_FORMAT_H

#include "geometry.h"

#define CF_EXACT_MAGIC 0xcf, 0x65, 0x78 /* the first bytes of an exact filter (exact.c) */

/* The message for CF_NEWER: no other remedy may be named. */
#define CF_LATER(what) "made by a later version (" what "); use the version that wrote it"

#define CF_ITEMS_MAX (((uint64_t)1 << 48) - 1)

/* Counts items, up to the largest number that a header can have. */
static inline void cf_count_items(cf_filter *filter, uint64_t more)
{
    filter->items = more < CF_ITEMS_MAX - filter->items ? filter->items + more : CF_ITEMS_MAX;
}

/* Writes the 64 header bytes of a filter, checksum included. */
void cf_header_encode(const cf_filter *filter, uint8_t *bytes);

/* Reads and validates the header of a filter of `length` bytes. CF_OK: *filter has its geometry, counts,
** level, split pointer and epoch. CF_DAMAGED or CF_NEWER: sets *why; *filter is unspecified. */
cf_status cf_header_decode(cf_filter *filter, const uint8_t *bytes, uint64_t length, const char **why);

#endif
