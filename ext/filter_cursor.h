/*
** filter_cursor.h - asking the virtual table cuckoo_filter: its methods from xBestIndex to xRowid.
*/
#ifndef CUCKOO_FILTER_CURSOR_H
#define CUCKOO_FILTER_CURSOR_H

#include "api.h"

int cuckoo_cursor_best_index(sqlite3_vtab *base, sqlite3_index_info *info);
int cuckoo_cursor_open(sqlite3_vtab *base, sqlite3_vtab_cursor **result);
int cuckoo_cursor_close(sqlite3_vtab_cursor *base);
int cuckoo_cursor_filter(sqlite3_vtab_cursor *base, int plan, const char *text, int argc,
                         sqlite3_value **argv);
int cuckoo_cursor_next(sqlite3_vtab_cursor *base);
int cuckoo_cursor_eof(sqlite3_vtab_cursor *base);
int cuckoo_cursor_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column);
int cuckoo_cursor_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid);

#endif
