/* SPDX-License-Identifier: MIT */
/*
** stored.h - cf_open(table, column, rowid): a handle of the filter that is stored in this row.
**
** A single question need not read the whole blob: the handles of the rows that were opened last are
** kept. One is given again only if the row cannot have changed: no transaction of this connection writes
** to the database, its data version is that of when the blob was read, and neither schemas nor
** authorizer have changed (cuckoo_shadow_hold). Otherwise the blob is read, and checked as
** cf_open(filter) checks it: the header with its checksum, and all sizes.
**
** What is kept belongs to the tables of inspect.c, which SQLite connects once and disconnects in
** sqlite3_close: that fails while statements are left.
*/
#ifndef CUCKOO_STORED_H
#define CUCKOO_STORED_H

#include "registry.h"

/* So many more such tables are connected (1, -1). */
void cuckoo_stored_connected(cuckoo_registry *registry, int more);

/* Registers the function, or takes it back (registry NULL). */
int cuckoo_register_stored(sqlite3 *db, cuckoo_registry *registry);

#endif
