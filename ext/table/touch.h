/* SPDX-License-Identifier: MIT */
/*
** touch.h - how the table of a filter that follows a table comes to take part in a transaction.
**
** The log is an ordinary table, so SQLite does not tell the filter that somebody writes to it. So a
** table joins in two ways, to drain the log when the transaction ends: when something is looked up in a
** transaction that writes; and by a TEMP trigger on the log, which calls cf_touch for each row and tells
** whether a drain is due. SQLite lets a virtual table join when a statement writes to it: so a nested
** INSERT into its hidden column cuckoo_touch runs, which changes nothing.
**
** A change of the schema makes SQLite expire the statements that are running. So the TEMP trigger is
** made when the extension is loaded, when the table is connected and no statement runs, and when it is
** created. It is made for filters of main and temp; a filter of another schema could be detached and
** leave it behind. Where there is no trigger nothing goes wrong: the log is drained later, by others.
** So all failures are ignored.
*/
#ifndef CUCKOO_TOUCH_H
#define CUCKOO_TOUCH_H

#include "registry.h"

/* Makes the TEMP trigger for a filter that has, or will have, this name, if no more than `running`
** statements run. */
int cuckoo_touch_watch(cuckoo_table *table, const char *filter, int running);

/* Drops the trigger. */
int cuckoo_touch_unwatch(const cuckoo_table *table);

/* Connects all filters of main that follow a table, so that their triggers are made. When this fails,
** the connection keeps no error message. */
void cuckoo_touch_all(sqlite3 *db);

/* cf_touch, which shares the registry. */
void cuckoo_touch_function(sqlite3_context *context, int argc, sqlite3_value **argv);

#endif
