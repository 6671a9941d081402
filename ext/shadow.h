/*
** shadow.h - the shadow table of a persistent filter: rows of bytes, by number.
**
**      CREATE TABLE "seen_page"(no INTEGER PRIMARY KEY, data BLOB)
**
** Functions answer SQLite codes. Statements are kept, and always reset, so that nothing is blocked.
*/
#ifndef CUCKOO_SHADOW_H
#define CUCKOO_SHADOW_H

#include "api.h"

typedef struct cuckoo_shadow {
    sqlite3 *db;
    char *schema, *table; /* of the virtual table */
    sqlite3_stmt *read, *write, *version;
    bool busy; /* a row is being read or written: a trigger or a view there must not use the filter */
} cuckoo_shadow;

/* `schema` and `table` are copied. To be freed in any case. */
int cuckoo_shadow_init(cuckoo_shadow *shadow, sqlite3 *db, const char *schema, const char *table);
void cuckoo_shadow_free(cuckoo_shadow *shadow);

/* Creates the table. *page_bytes is how many bytes of data a row may have, so that it fits on one database page. */
int cuckoo_shadow_create(cuckoo_shadow *shadow, uint32_t *page_bytes);

/* Drops it, if it is there; renames it with its virtual table; deletes all rows. */
int cuckoo_shadow_drop(cuckoo_shadow *shadow);
int cuckoo_shadow_rename(cuckoo_shadow *shadow, const char *table);
int cuckoo_shadow_empty(cuckoo_shadow *shadow);

/* Reads up to `bytes` bytes of a row; *length of them were there, 0 when there is no such row. */
int cuckoo_shadow_read(cuckoo_shadow *shadow, uint64_t no, uint8_t *into, uint64_t bytes,
                       uint64_t *length);

/* Writes a row. sqlite3_last_insert_rowid stays as it is. */
int cuckoo_shadow_write(cuckoo_shadow *shadow, uint64_t no, const uint8_t *bytes, uint64_t length);

/* The transaction that this connection has open on the database of the table. */
typedef enum cuckoo_transaction { CUCKOO_NONE, CUCKOO_READING, CUCKOO_WRITING } cuckoo_transaction;

cuckoo_transaction cuckoo_shadow_transaction(const cuckoo_shadow *shadow);

/* PRAGMA data_version: changes when other connections have committed. */
int cuckoo_shadow_version(cuckoo_shadow *shadow, int64_t *version);

#endif
