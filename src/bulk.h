/* SPDX-License-Identifier: MIT */
/*
** bulk.h - filling an empty table with many keys in one walk.
**
** A key whose base bucket has room is put there. That walks through the table from front to back,
** and writes each bucket once. Else the key goes to its alternate bucket, which may be anywhere: it
** is *in flight* until the line of memory has come, while the walk goes on. Where it lands in a
** full bucket it takes the slot of an entry, which flies on to its own alternate:
**
**      walk    -> [ j ][ j+1 ][ j+2 ] ...                  one bucket after the other
**                   |            ^ full: what it holds flies on
**                   v full       |
**      flights    ( item ) ... ( item )                    some at a time; first in, first out
**
** So the misses of many keys overlap. At a load of 0.95 (f = 12, b = 4) a key needs 1.1 flights in
** the mean, as with any order of evictions; few need so many that an ordinary search ends them.
** There are no random numbers: the slots of full buckets take turns. The bytes follow from the
** sorted keys alone.
**
** Semi-sorted tables. A bucket would be sorted anew with each item that lands in it, and that would
** take most of the time. So with memory.resize the walk fills a plain table of the same shape, a
** tenth larger, and each of its buckets is sorted once. A filter without memory.resize is filled
** directly. Full buckets then have their slots in another order, so other entries fly on: the bytes
** are not the same, but they hold the same keys. When memory is refused that is an error, for the
** bytes must not depend on it.
**
** Copies. No two entries of one bucket that this puts there say the same: an item that meets its
** like is stored as cf_insert does, which counts or absorbs it, or stores it when there are fewer
** than cap. The other bucket is not looked at, nor what is in flight. So a key that many copies, or
** many keys alike, have crowded may have a few entries more than cap. Each of them is one copy:
** none below cap is lost. At the end one look at all buckets takes out what is beyond cap. With
** counters a key may have two entries, one in each bucket, and its copies are the sum.
*/
#ifndef CF_BULK_H
#define CF_BULK_H

#include "cuckoo_filter.h"
#include "watch.h"

/* Adds n sorted hashes to a filter whose table is all zeros, that has not grown and is in memory, with
** b and cap of 2 or more. It does not grow. CF_OK. CF_FULL: some key finds no room; the filter is
** empty again, and *added is 0. CF_NO_MEMORY: the same. CF_INTERRUPTED: the first *added hashes are
** in. */
cf_status cf_bulk_fill(cf_filter *filter, const uint64_t *hashes, size_t n, size_t *added,
                       cf_ticker *ticker);

#endif
