/* SPDX-License-Identifier: MIT */
/*
** waiting.h - what a filter table has still to do: one list, in a shadow table.
**
**      seen_wait     hash    value   adds   deletes
**                    4711    0       1      0         a key without a place: as good as stored
**                    4712    0       0      2         two deletes that wait
**
** A key that finds no place in a filter that may grow waits here, and is tried again later. So no
** key is ever refused. Lookups ask this list, too.
**
** Deletes of a filter that follows a table wait for the end of the transaction, because triggers do
** not fire in the order of the changes: a delete that is applied before its add would take away the
** fingerprint of another key. Lookups ignore deletes that wait. They are kept in memory first
** (deletes.h), and become rows when a savepoint opens (cuckoo_waiting_flush). So SQLite rolls them
** back with everything else.
**
** How many adds and deletes the rows stand for, and a digest of which ones, is kept with the header
** of the filter (pages.h). A row is believed when all of its columns are integers that may stand
** there: else reading it is SQLITE_CORRUPT_VTAB. Reading all rows compares them with the header, so
** that one that was added, changed or taken out is noticed.
**
** Functions return SQLite codes.
*/
#ifndef CUCKOO_WAITING_H
#define CUCKOO_WAITING_H

#include "deletes.h"
#include "pages.h"

/* A key waits for a place. */
int cuckoo_waiting_add(cuckoo_paged *paged, uint64_t hash, uint64_t value);

/* Takes one copy that waits for a place out of the list. *was: there was one. */
int cuckoo_waiting_remove(cuckoo_paged *paged, uint64_t hash, uint64_t value, bool *was);

/* Takes one delete out of the list. *was: there was one. */
int cuckoo_waiting_cancel(cuckoo_paged *paged, uint64_t hash, uint64_t value, bool *was);

/* Calls `found` for each value of a key that waits for a place. `found` returns an SQLite code, and
** an error ends the walk. */
int cuckoo_waiting_values(cuckoo_paged *paged, uint64_t hash,
                          int (*found)(void *context, uint64_t value), void *context);

/* Does a key wait for a place? */
int cuckoo_waiting_has(cuckoo_paged *paged, uint64_t hash, bool *has);

/* Turns the deletes in memory into rows. After an error some are rows, and no longer in memory. */
int cuckoo_waiting_flush(cuckoo_paged *paged, cuckoo_deletes *deletes);

/* Deletes so many copies of a key from the image. A key that
** is not there leaves a doubt (pages.h). */
void cuckoo_waiting_delete(cuckoo_paged *paged, uint64_t hash, uint64_t value, uint64_t copies);

/* Applies the deletes of the list to the image, and takes them out of the list. Adds and deletes of
** one key cancel out. After an error the image, or the list, may have changed. */
int cuckoo_waiting_apply_deletes(cuckoo_paged *paged);

/* Like cf_add_value, but the filter does not grow: one search, of bounded cost. */
cf_status cuckoo_waiting_place(cf_filter *filter, uint64_t hash, uint64_t value);

/* Puts a key into the filter, if it can. */
typedef cf_status cuckoo_placer(cf_filter *filter, uint64_t hash, uint64_t value);

/* Reads all rows. SQLITE_CORRUPT_VTAB: one is damaged, or they are not those that the header counts. */
int cuckoo_waiting_check(cuckoo_paged *paged);

/* Tries to find a place for up to `most` of the keys that wait.
** After an error the image, or the list, may have changed. */
int cuckoo_waiting_try(cuckoo_paged *paged, uint64_t most, cuckoo_placer *place);

/* Adds all keys that wait to another filter, which may grow. *status says if there was room. */
int cuckoo_waiting_add_to(cuckoo_paged *paged, cf_filter *filter, cf_status *status);

#endif
