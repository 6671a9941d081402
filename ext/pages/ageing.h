/* SPDX-License-Identifier: MIT */
/*
** ageing.h - a filter table that forgets: keep='24 hours', or epochs=n.
**
** An add is logged with its time (log.h): that of SQLite's VFS, but never before the latest add in the
** pages and in the log. So the clock of a table does not go back. In the pages an entry carries the
** number of the epoch in which its key was added last (src/table/epochs.h). **Times are divided into
** epochs by a fixed grid**, a twelfth of keep= each, so that a drain puts a key into the epoch of its
** own time, however late it comes. Of the 16 numbers 15 are those of the last epochs; what is older is
** taken out when an epoch begins.
**
** A key is found while its time is at most the window ago, and an eighth of keep= more, because the
** clocks of processes may differ so much, whatever window is asked for. In the pages its time is the
** end of its epoch. So a key is found for at most 1.21 times keep=.
**
** Of epochs that begin by command, the time is the number of the epoch, counted from 1.
*/
#ifndef CUCKOO_AGEING_H
#define CUCKOO_AGEING_H

#include "pages.h"

/* For tables that age. At the beginning of a use: looks at the clock, and says what is live. `logged`:
** the latest time in the log, or 0. */
void cuckoo_ageing_look(cuckoo_paged *paged, int64_t logged);

/* Until the next look only what was added within so many milliseconds is live, by any clock as above. */
void cuckoo_ageing_narrow(cuckoo_paged *paged, uint64_t window);

/* Is what was added at this time live? */
bool cuckoo_ageing_is_live(const cuckoo_paged *paged, int64_t time);

/* Before keys are added, of which the latest time is this one: begins its epoch, and takes out what is
** too old for a number. What is dead takes no place: by the latest add, since other clocks may be
** behind; or by the clock of this connection (`now`). The second one adds a key to the epoch of its
** time. */
void cuckoo_ageing_begin(cuckoo_paged *paged, int64_t latest, bool now);
cf_status cuckoo_ageing_add(cuckoo_paged *paged, uint64_t hash, int64_t time);

/* Takes out all that is dead. */
void cuckoo_ageing_sweep(cuckoo_paged *paged);

/* The commands, when nothing waits in the log: begins the next epoch; sets the clock of the table back
** to that of the VFS, with all ages as they are. Only one of them is for a table. */
int cuckoo_ageing_advance(cuckoo_paged *paged, char **message);
int cuckoo_ageing_set_clock(cuckoo_paged *paged, char **message);

/* The filter was put in the place of another one: all of it is as young as can be. */
void cuckoo_ageing_adopt(cuckoo_paged *paged);

/* Appends members of cf_table_info. `latest`: the latest time in the log, or 0. */
void cuckoo_ageing_tell(const cuckoo_paged *paged, int64_t latest, sqlite3_str *json);

#endif
