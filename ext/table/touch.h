/* SPDX-License-Identifier: MIT */
/*
** touch.h - how a synced filter table is notified that its log is written to.
**
** The log is an ordinary table, so SQLite does not notify the filter of writes to it. But each row that
** a trigger writes there gets its tag from a DEFAULT that calls randomblob (log.h). In connections that
** have the extension this is our function. It returns the same as SQLite's; and if its argument names a
** log, the filter of that log joins the transaction, to drain the log at COMMIT. A filter joins by a
** nested INSERT of zero rows. It need not join while COMMIT would have nothing to do.
**
** The function is registered for any number of arguments, and SQLite's is not. So SQLite registers it
** even while statements are running, and prefers a randomblob of the application. Where ours is not
** called, no answer is wrong: a later COMMIT, perhaps of another connection, drains the log.
*/
#ifndef CUCKOO_TOUCH_H
#define CUCKOO_TOUCH_H

#include "registry.h"

/* Registers randomblob. This cannot be undone: SQLite would have none. Not registered after an error. */
int cuckoo_touch_register(cuckoo_registry *registry);

#endif
