/* SPDX-License-Identifier: MIT */
/*
** drain.h - taking the rows of the log into the pages.
**
** A drain is right at any time, but happens at the end of a transaction only: in the middle of one
** more steps of a row may follow, whose first key would no longer be in the log (net.h). It adds up
** the log, changes the filter in memory, writes what has changed, and empties the log. What fails
** before the first write is forgotten: the log stays, and the next drain takes it. So COMMIT does not
** fail when the database cannot be written just now (locks, PRAGMA query_only, an authorizer), nor
** when the filter is damaged.
*/
#ifndef CUCKOO_DRAIN_H
#define CUCKOO_DRAIN_H

#include "net.h"
#include "log.h"
#include "waiting.h"

/* In the last step of a transaction, with the header loaded, and without dirty pages. Returns
** SQLITE_OK also when nothing could be done; then paged->has_written is false. Any other code is one
** after which SQLite rolls back. */
int cuckoo_drain(cuckoo_paged *paged, cuckoo_follow *follow, cuckoo_undrained *undrained);

#endif
