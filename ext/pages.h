/*
** pages.h - a filter in the database: one row of a shadow table for each page, and what of it is in memory.
**
**      no = 0       the header of the filter (format.h), its length (8 bytes) and the bytes of a page (4), little-endian
**      no = 1, ..   the bytes behind the header, so many to a row that a row fits on one database page;
**                   a row that is not there is all zeros
**
** Strung together, header and pages are a filter blob: src works on that image, in memory. Pages are read when they are
** first needed (cf_pages), and those that an operation has changed are written when it has succeeded, in the order in
** which they were changed: the bucket to which an entry moves comes before the one it leaves, so that whatever is cut
** off holds it twice rather than not at all. The header is written with them: nothing is ever pending.
**
** **What makes pages in memory stale.** All of them at once, and cheaply, for each page knows the epoch it was read in:
** - a commit of another connection: the data version of the database has changed. It is looked at before every use, inside
**   a read transaction, for outside of one SQLite does not know yet.
** - ROLLBACK and ROLLBACK TO: xRollback, xRollbackTo.
** - an operation that failed after it had changed the image.
** - writes of this connection to the shadow table by SQL: the count of changed rows (sqlite3_total_changes) is not what our
**   own writes account for. (Writes to other tables look the same, and cost a page read or two as well.)
** Not noticed: in the same connection, the incremental blob API on the shadow table, another table put in its place, and what a
** statement reads of it that changes it directly and fails. SQLite's defensive mode forbids all of these.
*/
#ifndef CUCKOO_PAGES_H
#define CUCKOO_PAGES_H

#include "shadow.h"

typedef struct cuckoo_paged {
    cuckoo_shadow shadow;

    cf_filter filter;    /* a view of the image */
    cf_filter reader;    /* the same without hooks, when all pages are in memory */
    bool has_reader;     /* it is as `filter` is */
    uint64_t loaded;     /* pages read in this epoch, about */
    cf_pages hooks;      /* of the filter, with this as context */
    uint8_t *image;      /* the blob, as far as it was read */
    uint64_t length;     /* of the blob */
    uint32_t page_bytes; /* of a page */
    uint32_t *read_in;   /* by page: the epoch in which it was read */
    uint8_t *is_dirty;   /* by page */
    uint64_t *dirty;     /* pages that were changed, in that order */
    bool has_written;    /* a row of the change under way */
    uint64_t dirty_count, dirty_room, page_room;
    uint32_t epoch;     /* from 1; 0 is never */
    uint32_t header_in; /* the epoch in which the header was read */

    unsigned
        file_version; /* of the database file, as SQLITE_FCNTL_DATA_VERSION has it: changes with any commit */
    int64_t other_version; /* as PRAGMA data_version has it: with those of others */
    int changes;           /* sqlite3_total_changes, as far as it is accounted for */
    int own_changes; /* rows that statements under way have changed through us, not yet counted there */
    bool joined;     /* this table has written in the transaction: it is told of its end */
    bool keeps_nothing;  /* what is read is forgotten at the next use */
    int settled_changes; /* sqlite3_total_changes when nothing could be rolled back unnoticed */
    int rc;              /* the first error since it was last asked for */
} cuckoo_paged;

/* Nothing is read yet. `schema` and `table` are copied. SQLITE_OK or SQLITE_NOMEM. */
int cuckoo_paged_init(cuckoo_paged *paged, sqlite3 *db, const char *schema, const char *table);

/* Frees what is in memory. */
void cuckoo_paged_free(cuckoo_paged *paged);

/* Creates the shadow table with an empty filter of this shape. */
int cuckoo_paged_create(cuckoo_paged *paged, const cf_geometry *shape);

/* To be called before each use, within a statement: afterwards paged->filter is as the database has it, until
** cuckoo_paged_end. An SQLite code, and then it has ended; SQLITE_CORRUPT_VTAB: *why (static text) says what is wrong. */
int cuckoo_paged_begin(cuckoo_paged *paged, const char **why);

/* The filter for lookups, after cuckoo_paged_begin: faster than paged->filter when all of its pages are in memory. */
const cf_filter *cuckoo_paged_reader(cuckoo_paged *paged);

/* The use is over. The first error of reading pages since it began: what was answered may be wrong. */
int cuckoo_paged_end(cuckoo_paged *paged);

/* The same after the filter was changed: writes what has changed. When it fails the image is forgotten. */
int cuckoo_paged_write(cuckoo_paged *paged);

/* Everything in memory is stale. */
void cuckoo_paged_forget(cuckoo_paged *paged);

/* One row was changed through the virtual table: sqlite3_total_changes will count it. */
void cuckoo_paged_count(cuckoo_paged *paged);

/* Puts another filter in the place of this one: `length` bytes of a sound blob. Ends the use. */
int cuckoo_paged_replace(cuckoo_paged *paged, const uint8_t *bytes, uint64_t length);

#endif
