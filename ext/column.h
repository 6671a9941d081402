/*
** column.h - the key rule of a column: how SQLite compares what is in it.
*/
#ifndef CUCKOO_COLUMN_H
#define CUCKOO_COLUMN_H

#include "api.h"

/*
** Sets affinity and collation of *into to those of a column of a table, or of its rowid. SQLITE_OK; or an error, with
** *message (sqlite3_malloc; NULL when there was no memory) and *into unchanged, when
**
** - there is no such table or column; a view is no table;
** - its collation is not BINARY, NOCASE or RTRIM;
** - the application has put another collation under one of these names.
*/
int cuckoo_column_rule(sqlite3 *db, const char *schema, const char *table, const char *column,
                       cf_options *into, char **message);

/* The affinity of a declared type (NULL: none is declared), as the type to declare for it; "": none. (Not that of ANY in a
** STRICT table, which has none.) */
const char *cuckoo_column_affinity(const char *type);

#endif
