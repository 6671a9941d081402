/* SPDX-License-Identifier: MIT */
/*
** unplaced.h - keys of a filter table that have no place: one list, in a shadow table.
**
**      seen_wait     hash    value   adds
**                    4711    0       1      as good as stored
**
** `value` is the epoch of the last add in a filter that ages, else 0. A key that finds no place in a
** filter that may grow waits here, and is tried again later. So no key is ever refused. Lookups ask this
** list, too.
**
** The header of the filter has the number of copies (pages.h). A row is believed when all of its columns
** are integers that may stand there. Functions return SQLite codes; SQLITE_CORRUPT_VTAB: it is not.
*/
#ifndef CUCKOO_UNPLACED_H
#define CUCKOO_UNPLACED_H

#include "pages.h"

/* So many copies of a key more wait for a place, or less: at most as many as wait. */
int cuckoo_unplaced_count(cuckoo_paged *paged, uint64_t hash, uint64_t value, int64_t adds);

/* How many copies of a key with this value wait; `value` NULL: with any value that is not too old. */
int cuckoo_unplaced_copies(cuckoo_paged *paged, uint64_t hash, const uint64_t *value, int64_t *copies);

/* Reads all rows. SQLITE_CORRUPT_VTAB: one is damaged, or they are not those that the header counts. */
int cuckoo_unplaced_check(cuckoo_paged *paged);

/* Tries to find places: for a few keys, whatever number waits, and the filter may grow; or for all
** keys (`all`), where they fit without that. After an error the image, or the list, may have changed. */
int cuckoo_unplaced_try(cuckoo_paged *paged, bool all);

/* Adds all keys that wait to another filter, which may grow. SQLITE_FULL: there is no room. */
int cuckoo_unplaced_add_to(cuckoo_paged *paged, cf_filter *filter);

#endif
