/* SPDX-License-Identifier: MIT */
/*
** pages.h - a filter in the database, page by page, and the part of it that is in memory.
**
** Each page is a row of a shadow table:
**
**      no = 0       the header (header.c): the header of the filter (format.h); its length (8 bytes);
**                   page_bytes (4); the keys that the last drain left in the log of hashed keys (8,
**                   log.h); unmatched deletes (8); the generation (8); the identity of the log of
**                   triggers (8); flags (1): 1 if keys expire. With that flag: keep (8), offset (8),
**                   latest (8) of cuckoo_age
**      no = 1, ..   the bytes behind the header of the filter, page_bytes in a row, so that a row fits
**                   on one page of the database; zeros behind the last bytes; a missing row is all zeros
**
** Numbers are little-endian. Header and pages, joined, are a filter blob, the *image*. src works on the
** image in memory, which can be discarded at any time. A page is read when it is first needed
** (cf_pages). Only drains and commands change pages (drain.c), and they write dirty pages at their end.
**
** Reading a row of another type or length is an error. Any other corrupt row has the same effect as in a
** blob: src never reads or writes outside the image, and a changed fingerprint, which nearly always
** loses one key, is not noticed. A missing row loses all keys of the page. The command `check` finds
** structural corruption, and for a synced table missing rows of the table.
**
** A later version that adds to these rows makes the header row longer, or sets another flag. This
** version then reads no more of the filter, and writes nothing.
**
** Each write changes the *generation*, a random number. Memory of the same one is valid.
**
** An *unmatched* delete is a delete of an absent key: the synced table was changed without its triggers.
** Rows written while another trigger breaks the rules count as one (rules.h).
*/
#ifndef CUCKOO_PAGES_H
#define CUCKOO_PAGES_H

#include "../sqlite/errors.h"
#include "shadow.h"

/* Times of a table with keep= (ageing.h), in milliseconds. */
typedef struct cuckoo_age {
    uint64_t keep;   /* 0: commands begin epochs */
    uint64_t offset; /* added to a time before it is divided into epochs */
    uint64_t latest; /* the time of the latest add in the pages, or 0 */
} cuckoo_age;

/* After cuckoo_shadow_init, all other members are zeros: nothing has been read. */
typedef struct cuckoo_paged {
    cuckoo_shadow shadow;

    bool loaded;         /* the header is in memory */
    bool dirty;          /* memory has changes that are not written */
    bool replaced;       /* the image is another filter than that in the database */
    bool has_reader;     /* `reader` is equal to `filter` */
    cf_filter filter;    /* a view of the image */
    cf_filter reader;    /* the same without hooks, when all pages are in memory */
    cf_pages hooks;      /* of the filter, with this struct as context */
    uint8_t *image;      /* the header of the filter, and pages */
    uint8_t *state;      /* of each page, by number; [0] is not used */
    uint64_t pages;      /* the number of states; the filter may have fewer */
    uint64_t absent;     /* pages that are not in memory */
    uint32_t page_bytes; /* bytes of a page */
    uint64_t reciprocal; /* of page_bytes */
    int rc;              /* the first error of reading pages since cuckoo_paged_error */

    uint64_t left;       /* keys that did not fit in the last drain, in the log (log.h) */
    uint64_t unmatched;  /* deletes of absent keys */
    uint64_t generation; /* of the pages in memory */
    cuckoo_age age;
    uint64_t now, window; /* the time of this use, and the window of its lookups (ageing.h) */
} cuckoo_paged;

/* Frees the memory of the pages and the shadow tables. */
void cuckoo_paged_free(cuckoo_paged *paged);

/* Creates the shadow tables with an empty filter of this shape, and chooses the identity of a log.
** `keep`: in milliseconds, or 0. The caller has made sure that there is memory (arguments.c). */
int cuckoo_paged_create(cuckoo_paged *paged, const cf_geometry *shape, uint64_t keep);

/* Reads the header, if it is not in memory. Returns an SQLite code, or CUCKOO_NEWER (errors.h), after
** which cuckoo_shadow_why has a message as well. */
int cuckoo_paged_load(cuckoo_paged *paged);

/* True in *has if the header of the filter table of this name says that this is its log. */
int cuckoo_paged_has_log(sqlite3 *db, const char *schema, const char *table, int64_t log, bool *has);

/* Reads the generation, and discards memory that is of another one. */
int cuckoo_paged_compare(cuckoo_paged *paged);

/* The filter for lookups, which is faster than paged->filter when all pages are in memory. */
const cf_filter *cuckoo_paged_reader(cuckoo_paged *paged);

/* Returns and clears the first error of reading pages. After an error an answer may have been wrong. */
int cuckoo_paged_error(cuckoo_paged *paged);

/* Writes dirty pages and the header. After an error the caller discards the image. */
int cuckoo_paged_write(cuckoo_paged *paged);

/* Discards the pages in memory, changes included. */
void cuckoo_paged_forget(cuckoo_paged *paged);

/* Replaces the filter in memory, by a blob of `length` bytes in a block (block.h), which it takes over
** in any case; or by an empty filter of this shape. SQLITE_CORRUPT_VTAB: not a sound blob. After an
** error the caller discards the image. */
int cuckoo_paged_replace(cuckoo_paged *paged, uint8_t *bytes, uint64_t length);
int cuckoo_paged_clear(cuckoo_paged *paged, const cf_geometry *shape);

/* SQLITE_CORRUPT_VTAB if a row has a type, length or number that no page of the filter has. */
int cuckoo_paged_check(cuckoo_paged *paged);

/* Reads all pages, after which the blob is paged->image. */
int cuckoo_paged_complete(cuckoo_paged *paged);

/* For changes of nearly all pages. Detach reads all pages, and then paged->filter has no hooks, which
** makes changes faster. Attach ends that: all pages are dirty. False: a page cannot be read. */
bool cuckoo_paged_detach(cuckoo_paged *paged);
void cuckoo_paged_attach(cuckoo_paged *paged);

/* ---- for header.c ---- */

/* Makes room for the image of a blob of `length` bytes, with no page in memory; or takes over a block
** with that blob, whose pages are dirty unless they are all zeros. On SQLITE_NOMEM the old one stays. */
int cuckoo_paged_make_room(cuckoo_paged *paged, uint8_t *block, uint64_t length);

/* Opens the filter in the image, with the hooks that read pages and mark them dirty. */
int cuckoo_paged_open(cuckoo_paged *paged, uint64_t length);

/* Writes the dirty pages. */
int cuckoo_paged_write_pages(cuckoo_paged *paged);

#endif
