/* SPDX-License-Identifier: MIT */
/*
** image.h - the part of a filter table that is in memory: for pages.c alone.
**
** Forgetting costs nothing: each page knows the *epoch* in which it was read, and forgetting begins
** a new epoch. What a change costs does not depend on how long the image is, either: changed pages
** are in a list.
*/
#ifndef CUCKOO_IMAGE_H
#define CUCKOO_IMAGE_H

#include "shadow.h"

/* Copies that rows of the list stand for (unplaced.h). */
typedef struct cuckoo_count {
    uint64_t copies;
    uint64_t digest; /* for each copy a hash of key and value, added up: says which copies these are */
} cuckoo_count;

/* What is known of a page. */
typedef struct cuckoo_page {
    uint64_t checksum; /* of its row, if it was read; 0: it has none */
    uint64_t next;     /* if it is dirty: the next page of the list, or itself at the end; else 0 */
    uint32_t read_in;  /* the epoch in which it was read */
} cuckoo_page;

/* What a table that ages knows of the 16 numbers of epochs (ageing.h). Times are those of SQLite's VFS,
** in milliseconds. */
enum { CUCKOO_NUMBERS = 16 };
typedef struct cuckoo_age {
    uint64_t keep;                 /* milliseconds; 0: epochs begin by command */
    uint64_t began;                /* when the present epoch began */
    uint64_t last[CUCKOO_NUMBERS]; /* when a key was added last in the epoch of each number */
    uint64_t swept;                /* buckets that the sweep has gone through */
    uint16_t clean;                /* a bit for each number that no entry carries */
    uint16_t dead;                 /* for each number that the sweep takes out; 0: there is no sweep */
} cuckoo_age;

typedef struct cuckoo_paged {
    cuckoo_shadow shadow;

    cf_filter filter;    /* a view of the image */
    cf_filter reader;    /* the same without hooks, for when all pages are in memory */
    bool has_reader;     /* `reader` is as `filter` is */
    uint64_t loaded;     /* pages read in this epoch, about */
    uint64_t whole;      /* pages in front of this one are in memory: at least 1, the header */
    cf_pages hooks;      /* of the filter, with this struct as context */
    uint8_t *image;      /* the blob, as far as it was read */
    uint64_t length;     /* of the blob, bytes */
    uint64_t room;       /* for so many of them */
    uint32_t page_bytes; /* of a page */
    uint64_t reciprocal; /* of page_bytes */
    cuckoo_count adds;   /* copies that wait for a place, in the shadow table */
    uint64_t unmatched;  /* deletes of keys that were not there */
    uint64_t doubts;     /* rows whose steps in the log did not fit together */
    cuckoo_age age;
    uint64_t now;        /* of a table that ages by the clock: the time of this use (ageing.h) */
    uint64_t generation; /* the checksum of the header row, to which what is in memory belongs */

    uint64_t checksums;                      /* of all pages that have rows, added up */
    uint64_t unread;                         /* of those that were not read yet */
    cuckoo_page *page;                       /* by number; [0], the header, is not used */
    uint64_t page_room;                      /* of them */
    uint64_t first_dirty, last_dirty, dirty; /* the list, in the order of the changes; how many */
    uint64_t stored;                         /* only pages in front of this one can have rows */
    bool header_dirty;                       /* the header, or the numbers behind it, were changed */
    bool has_written;                        /* something was written since this was last set to false */
    uint64_t present;                        /* a page that is known to have a row, or to be dirty */
    uint32_t epoch;                          /* from 1; 0 is never */
    uint32_t header_in;                      /* the epoch in which the header was read */
    int rc;                                  /* the first error since it was last asked for */
} cuckoo_paged;

void cuckoo_image_free(cuckoo_paged *paged);

/* Pages of a blob of this length, with the header; the page at an offset. */
uint64_t cuckoo_image_pages(const cuckoo_paged *paged, uint64_t length);
uint64_t cuckoo_image_page_at(const cuckoo_paged *paged, uint64_t offset);

/* Where a page begins in the image, and how many bytes it has there. */
uint8_t *cuckoo_image_page(const cuckoo_paged *paged, uint64_t page, uint64_t *bytes);

/* Makes the image so long. New pages are stale. SQLITE_OK, or
** SQLITE_NOMEM when the old image is still there. */
int cuckoo_image_resize(cuckoo_paged *paged, uint64_t length);

/* The same by a block (block.h) of this length, which takes the place of the image. */
int cuckoo_image_put(cuckoo_paged *paged, uint8_t *block, uint64_t length);

/* Opens the image for writing, with the hooks (cf_pages). */
cf_status cuckoo_image_open(cuckoo_paged *paged, const char **why);

/* All pages are stale. No page is dirty, which is all that the second one says. */
void cuckoo_image_forget(cuckoo_paged *paged);
void cuckoo_image_clean(cuckoo_paged *paged);

/* The hooks themselves. Errors go to paged->rc. */
void cuckoo_image_need(cuckoo_paged *paged, uint64_t from, uint64_t to);
uint64_t cuckoo_image_skip(cuckoo_paged *paged, uint64_t from);

/* Reads pages in order until all are in memory. False: some are still missing. One call reads only
** so many that it does not take long. When all are there, cuckoo_image_compare is called. */
bool cuckoo_image_complete(cuckoo_paged *paged);

/* All rows of pages were read. Are they those that the header counts? If not, that is an error. */
void cuckoo_image_compare(cuckoo_paged *paged);

/* A page, in memory as it is, is to be written. */
void cuckoo_image_mark(cuckoo_paged *paged, uint64_t page);

#endif
