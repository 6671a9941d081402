/* SPDX-License-Identifier: MIT */
/*
** pages.h - a filter in the database, page by page, and what of it is in memory.
**
** Each page is a row of a shadow table:
**
**      no = 0       the header of the filter (format.h); its length (8 bytes); the bytes of a page
**                   (4); keys that the last drain has left in the log of hashed keys (8, log.h);
**                   unmatched deletes (8); a random number (8); the identity of the log of triggers (8);
**                   flags (1): 1 if it ages, else 0. When it ages: keep (8), shift (8), present (8), as
**                   in cuckoo_age (image.h)
**      no = 1, ..   the bytes behind the header, so many to a row that it fits on one page of the
**                   database, with zeros behind the last ones; a row that is not there is all zeros
**
** Numbers are little-endian. Header and pages, strung together, are a filter blob, the *image*. The
** library works on the image in memory, which can be forgotten at any time. A page is read when it is
** first needed (cf_pages). Only drains and commands change pages (drain.c): a page that is changed is
** dirty until it is written, which they do before they end.
**
** A row of another type or length than these is an error when it is read. Otherwise a damaged row does
** what it does in a blob: no byte makes the library read or write outside of the image, and no call
** notices a fingerprint that has changed, which nearly always loses one key. A lost row loses all keys
** of the page. The command `check` finds what no filter can look like, and for a filter that follows a
** table whether a row of that is missing.
**
** A later version that adds to these rows makes the row of the header longer, or sets another bit of
** the flags. This version then reads no more of the filter, and writes nothing.
**
** The random number is new with each write. This is the *generation*: as long as it stays, what is in
** memory is as the database has it.
**
** An *unmatched* delete is that of a key that was not there: the table that the filter follows has
** changed without its triggers. Rows that were written beside triggers of others that break the rules
** count as one (rules.h).
*/
#ifndef CUCKOO_PAGES_H
#define CUCKOO_PAGES_H

#include "../sqlite/errors.h"
#include "image.h"

/* All zeros, with a shadow (cuckoo_shadow_init): nothing is read yet. */
void cuckoo_paged_free(cuckoo_paged *paged);

/* Creates the shadow tables with an empty filter of this shape, and chooses the identity of a log.
** `keep`: in milliseconds, for a table that ages by the clock; else 0. Whoever chose the shape has asked
** whether there is memory for it (arguments.c). */
int cuckoo_paged_create(cuckoo_paged *paged, const cf_geometry *shape, uint64_t keep);

/* Reads the header, if it is not in memory. Afterwards paged->filter is as the database has it.
** Returns an SQLite code, or CUCKOO_NEWER (errors.h), after which cuckoo_shadow_why says more, too. */
int cuckoo_paged_load(cuckoo_paged *paged);

/* True if the header of the filter table of this name says that this is its log. */
int cuckoo_paged_has_log(sqlite3 *db, const char *schema, const char *table, int64_t log, bool *has);

/* Reads the generation. If it is not that of what is in memory, everything there is stale. */
int cuckoo_paged_compare(cuckoo_paged *paged);

/* The filter for lookups. It is faster than paged->filter when all pages are in memory. */
const cf_filter *cuckoo_paged_reader(cuckoo_paged *paged);

/* The first error of reading pages since it was last asked for. After one, an answer of the filter
** may be wrong. */
int cuckoo_paged_error(cuckoo_paged *paged);

/* Writes what is dirty, and a header row with another generation. After an error the image is to be
** forgotten. */
int cuckoo_paged_write(cuckoo_paged *paged);

/* Everything in memory is stale; what is dirty is lost. */
void cuckoo_paged_forget(cuckoo_paged *paged);

/* Puts another filter in the place of this one, in memory: `length` bytes of a blob, in a block
** (block.h), which is taken over in any case. SQLITE_CORRUPT_VTAB: the blob is not sound. After an
** error the image is to be forgotten. */
int cuckoo_paged_replace(cuckoo_paged *paged, uint8_t *bytes, uint64_t length);

/* The same with an empty filter of this shape. */
int cuckoo_paged_clear(cuckoo_paged *paged, const cf_geometry *shape);

/* Looks at all rows that the database has. SQLITE_CORRUPT_VTAB: one of them has another type or length
** than that of a page, or is no part of the filter. */
int cuckoo_paged_check(cuckoo_paged *paged);

/* Reads all pages: the blob is paged->image. Returns the first error of reading pages. */
int cuckoo_paged_complete(cuckoo_paged *paged);

#endif
