/*
** fresh.h - is what a connection holds in memory of a persistent filter still what the database says?
**
**      event                                                  how it is noticed
**      another connection has committed                       the data version of the database
**      this connection has changed the shadow tables itself   sqlite3_total_changes: rows that are not ours
**      ROLLBACK, ROLLBACK TO of a transaction we take part in xRollback, xRollbackTo (store.h)
**      ROLLBACK of one we take no part in                     while that one has uncommitted writes, nothing is
**                                                             kept from one use to the next
**
** The data version is looked at before every use, inside a read transaction: outside of one SQLite does not know yet.
** Not noticed, all forbidden by SQLite's defensive mode: the incremental blob API on the shadow tables, another table put
** in their place, writes to them by SQL within a transaction in which the filter was changed, too.
*/
#ifndef CUCKOO_FRESH_H
#define CUCKOO_FRESH_H

#include "shadow.h"

typedef struct cuckoo_fresh {
    unsigned file_version; /* as SQLITE_FCNTL_DATA_VERSION has it: changes with any commit */
    int64_t other_version; /* as PRAGMA data_version has it: with those of others */
    int changes;           /* sqlite3_total_changes, as far as it is accounted for */
    int settled_changes;   /* the same when nothing could be rolled back unnoticed */
    bool keeps_nothing;    /* what is read is stale at the next use */
    bool known;            /* the versions were looked at */
} cuckoo_fresh;

/* To be asked before a use, when no change of ours is pending. *stale: what is in memory must be forgotten. `joined`: the
** filter was changed in this transaction, so that we are told of its end. An SQLite code; not SQLITE_OK: ask again. */
int cuckoo_fresh_look(cuckoo_fresh *fresh, cuckoo_shadow *shadow, bool joined, bool *stale);

/* Our own writes are in the database: all that was changed until now is accounted for. */
void cuckoo_fresh_committed(cuckoo_fresh *fresh, const cuckoo_shadow *shadow);

#endif
