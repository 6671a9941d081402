/*
** pages.h - a filter in the database: one row of a shadow table for each page, and what of it is in memory.
**
**      no = 0       the header of the filter (format.h); its length (8 bytes), the bytes of a page (4), adds and deletes
**                   that wait (8 each, waiting.h), little-endian; 1 when there is doubt (1)
**      no = 1, ..   the bytes behind the header, so many to a row that a row fits on one database page;
**                   a row that is not there is all zeros
**
** Strung together, header and pages are a filter blob: src works on that image, in memory. Pages are read when they are
** first needed (cf_pages). Pages that an operation has changed are dirty until they are written, in the order in which
** they were changed: the bucket to which an entry moves comes before the one it leaves, so that whatever is cut off
** holds it twice rather than not at all. When they are written: store.h.
**
** The image can be forgotten at any time, cheaply: each page knows the epoch it was read in.
*/
#ifndef CUCKOO_PAGES_H
#define CUCKOO_PAGES_H

#include "shadow.h"

typedef struct cuckoo_paged {
    cuckoo_shadow shadow;

    cf_filter filter;       /* a view of the image */
    cf_filter reader;       /* the same without hooks, when all pages are in memory */
    bool has_reader;        /* it is as `filter` is */
    uint64_t loaded;        /* pages read in this epoch, about */
    cf_pages hooks;         /* of the filter, with this as context */
    uint8_t *image;         /* the blob, as far as it was read */
    uint64_t length;        /* of the blob */
    uint32_t page_bytes;    /* of a page */
    uint64_t adds, deletes; /* copies that wait, in the shadow table */
    bool doubt;             /* a key was deleted that was not there: the table has changed unheard */

    uint32_t *read_in; /* by page: the epoch in which it was read */
    uint8_t *is_dirty; /* by page */
    uint64_t *dirty;   /* pages that were changed, in that order */
    uint64_t dirty_count, dirty_room, page_room;
    bool header_dirty;  /* the header, or the numbers behind it, were changed */
    bool has_written;   /* it was tried, at least, since this was last set to false */
    uint64_t present;   /* a page that is known to have a row, or to be dirty */
    uint32_t epoch;     /* from 1; 0 is never */
    uint32_t header_in; /* the epoch in which the header was read */
    int rc;             /* the first error since it was last asked for */
} cuckoo_paged;

/* Nothing is read yet. `schema` and `table` are copied. SQLITE_OK or SQLITE_NOMEM. */
int cuckoo_paged_init(cuckoo_paged *paged, sqlite3 *db, const char *schema, const char *table);

/* Frees what is in memory. */
void cuckoo_paged_free(cuckoo_paged *paged);

/* Creates the shadow tables with an empty filter of this shape. SQLITE_TOOBIG: there is no memory for one. */
int cuckoo_paged_create(cuckoo_paged *paged, const cf_geometry *shape);

/* Reads the header, if it is not in memory: afterwards paged->filter is as the database has it. An SQLite code;
** SQLITE_CORRUPT_VTAB: *why (static text) says what is wrong. */
int cuckoo_paged_load(cuckoo_paged *paged, const char **why);

/* The filter for lookups, after cuckoo_paged_load: faster than paged->filter when all of its pages are in memory. */
const cf_filter *cuckoo_paged_reader(cuckoo_paged *paged);

/* The first error of reading pages since it was last asked for: what was answered may be wrong. */
int cuckoo_paged_error(cuckoo_paged *paged);

/* Is something dirty? */
bool cuckoo_paged_pending(const cuckoo_paged *paged);

/* Writes what is dirty. On an error all of it stays dirty, and may be written once more. */
int cuckoo_paged_write(cuckoo_paged *paged);

/* Everything in memory is stale; what is dirty is lost. */
void cuckoo_paged_forget(cuckoo_paged *paged);

/* Puts another filter in the place of this one, of which nothing is left, waiting ones included: `length` bytes of a sound
** blob, in a block (block.h), which is taken over in any case. On an error the image is forgotten, and
** has_written says if the database was changed. */
int cuckoo_paged_replace(cuckoo_paged *paged, uint8_t *bytes, uint64_t length);

/* The same with an empty filter of its base geometry. */
int cuckoo_paged_clear(cuckoo_paged *paged);

/* The whole filter, as paged->filter.length bytes. What cannot be read: cuckoo_paged_error. */
void cuckoo_paged_copy(cuckoo_paged *paged, uint8_t *zeros);

#endif
