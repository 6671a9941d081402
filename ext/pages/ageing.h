/* SPDX-License-Identifier: MIT */
/*
** ageing.h - a filter table that forgets: keep='24 hours', or epochs=n.
**
** An entry carries the number of the epoch in which its key was added last (src/table/epochs.h). For
** each of the 16 numbers the table knows when it was last written. A number is live while that is at
** most the window ago, and an eighth of keep= more, because the clocks of processes may differ so much,
** whatever window is asked for. A time is that of SQLite's VFS, but never before the last add: the clock
** of a table does not go back.
**
** **Times are compared, not numbers.** By the clock a new epoch begins at an add, when a twelfth of the
** window has passed *and* no entry carries the next number any more. Else the present one is stretched:
** its keys are kept for longer, and none is missed. If the present one itself is dead, all is, and the
** table is cleared rather than stretched. That add writes all pages (6 ms for a million keys); it takes
** a rest after an import, or after weeks with so few adds that no sweep came to its end.
**
** Dead entries are taken out by a *sweep*, a few buckets with each add. Which numbers it takes out is
** fixed when it begins; when it has come to the last bucket, they are clean. Buckets that a split
** appends come last, and hold nothing dead; nor does any entry that is dead move (epochs.h). Keys
** without a place carry their epoch, not its number (unplaced.h), and need no sweep.
*/
#ifndef CUCKOO_AGEING_H
#define CUCKOO_AGEING_H

#include "pages.h"

enum { CUCKOO_EPOCHS = 12 /* in a window; 15 numbers at most are live, and one is needed next */ };

/* For tables that age. At the beginning of a use: looks at the clock, and says what is live. */
void cuckoo_ageing_look(cuckoo_paged *paged);

/* Until the next look only what was added within so many milliseconds is live, by any clock as above. */
void cuckoo_ageing_narrow(cuckoo_paged *paged, uint64_t window);

/* Before a key is added: begins an epoch, if it is due, and goes on sweeping. */
int cuckoo_ageing_write(cuckoo_paged *paged);

/* Takes out all that is dead. */
int cuckoo_ageing_sweep(cuckoo_paged *paged);

/* The commands: begins the next epoch; sets the clock of the table back to that of the VFS, with all
** ages as they are. Only one of them is for a table. */
int cuckoo_ageing_advance(cuckoo_paged *paged, char **message);
int cuckoo_ageing_set_clock(cuckoo_paged *paged, char **message);

/* The filter in `image` is about to be put in the place of this one: all of it is as young as can be. */
void cuckoo_ageing_adopt(cuckoo_paged *paged, const cf_filter *image);

/* Appends members of cf_table_info. */
void cuckoo_ageing_tell(const cuckoo_paged *paged, sqlite3_str *json);

#endif
