/* SPDX-License-Identifier: MIT */
/*
** ageing.h - filter tables whose keys expire: keep='24 hours', or epochs=n.
**
** An add is logged with its time (log.h): the time of SQLite's VFS, but never earlier than the latest
** add in the pages and in the log, so the clock of a table does not go back. In the pages an entry has
** the number of the epoch in which its key was last added (src/table/epochs.h). **Epochs are a fixed
** division of time**, a twelfth of keep= each, so that a drain puts a key into the epoch of its own
** time, no matter how late the drain is. Of the 16 numbers 15 are for the last epochs; older entries are
** removed when an epoch begins.
**
** A key is found while its time is within the window, plus an eighth of keep=, because the clocks of
** processes may differ by that much. In the pages its time is the end of its epoch. So a key is found
** for at most 1.21 times keep=.
**
** With epochs=n commands begin the epochs, and a time is the number of an epoch, counted from 1.
*/
#ifndef CUCKOO_AGEING_H
#define CUCKOO_AGEING_H

#include "pages.h"

/* Reads the clock at the beginning of a use, and decides which epochs are live. `logged`: the latest
** time in the log, or 0. */
void cuckoo_ageing_read_clock(cuckoo_paged *paged, int64_t logged);

/* Restricts lookups to keys added within this many milliseconds, until the clock is read again. */
void cuckoo_ageing_set_window(cuckoo_paged *paged, uint64_t window);

/* True if a key added at this time is live. */
bool cuckoo_ageing_is_live(const cuckoo_paged *paged, int64_t time);

/* Before keys are added, the latest of them at time `latest`: begins its epoch, and removes entries that
** are too old for a number. `now`: entries that have expired by the clock of this connection count as
** free slots; otherwise by the latest add, because other clocks may be behind. The second function adds
** a key in the epoch of its time. */
void cuckoo_ageing_begin_adds(cuckoo_paged *paged, int64_t latest, bool now);
cf_status cuckoo_ageing_add(cuckoo_paged *paged, uint64_t hash, int64_t time);

/* Removes all expired entries. */
void cuckoo_ageing_sweep(cuckoo_paged *paged);

/* The commands `advance`, which begins the next epoch, and `clock`, which sets the clock of the table
** back to the clock of the VFS and keeps all ages. Nothing may be pending in the log. */
int cuckoo_ageing_advance(cuckoo_paged *paged, char **message);
int cuckoo_ageing_set_clock(cuckoo_paged *paged, char **message);

/* After the filter was replaced: all keys were added now. */
void cuckoo_ageing_renew(cuckoo_paged *paged);

/* Appends members of cf_table_info. `latest`: the latest time in the log, or 0. */
void cuckoo_ageing_append_info(const cuckoo_paged *paged, int64_t latest, sqlite3_str *json);

#endif
