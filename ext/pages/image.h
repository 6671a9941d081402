/* SPDX-License-Identifier: MIT */
/*
** image.h - the part of a filter table that is in memory: for pages.c alone.
**
** A byte for each page says if it is in memory, and if it is to be written. To load the header is to
** begin with new bytes; so nothing of an earlier time stays.
*/
#ifndef CUCKOO_IMAGE_H
#define CUCKOO_IMAGE_H

#include "shadow.h"

/* What a table that ages by the clock knows of times (ageing.h), in milliseconds. */
typedef struct cuckoo_age {
    uint64_t keep;    /* 0: epochs begin by command */
    uint64_t shift;   /* what is added to a time before it is divided into epochs */
    uint64_t present; /* the time of the latest add in the pages; 0: there is none */
} cuckoo_age;

typedef struct cuckoo_paged {
    cuckoo_shadow shadow;

    bool loaded;         /* the header is in memory, as the database had it */
    bool dirty;          /* the database does not have all that is in memory */
    bool replaced;       /* it is another filter than that in the database, of which no row stays */
    bool has_reader;     /* `reader` is as `filter` is */
    cf_filter filter;    /* a view of the image */
    cf_filter reader;    /* the same without hooks, for when all pages are in memory */
    cf_pages hooks;      /* of the filter, with this struct as context */
    uint8_t *image;      /* the header, and whole pages, as far as they were read */
    uint8_t *state;      /* of pages, by number; [0], the header, is not used */
    uint64_t pages;      /* so many states, and so much of an image; may be more than the filter has */
    uint64_t absent;     /* pages that are not in memory */
    uint32_t page_bytes; /* of a page */
    uint64_t reciprocal; /* of page_bytes */
    int rc;              /* the first error since it was last asked for */

    uint64_t left;       /* keys for which the last drain has found no place, in the log (log.h) */
    uint64_t unmatched;  /* deletes of keys that were not there */
    uint64_t generation; /* to which what is in memory belongs (pages.h) */
    cuckoo_age age;
    uint64_t now,
        window; /* of a table that ages: the time of this use, and what is asked for (ageing.h) */
} cuckoo_paged;

/* Pages of a blob of this length, with the header. */
uint64_t cuckoo_image_pages(const cuckoo_paged *paged, uint64_t length);

/* Where a page begins in the image. */
uint8_t *cuckoo_image_page(const cuckoo_paged *paged, uint64_t page);

/* Makes room for a blob of this length, of which no page is in memory. Or takes over a block (block.h)
** of this length, in any case, of which all are, and are to be written, if they are not all zeros.
** SQLITE_OK, or SQLITE_NOMEM: the old image is still there. */
int cuckoo_image_begin(cuckoo_paged *paged, uint8_t *block, uint64_t length);

/* Zeros behind a blob of this length, in its last page. */
void cuckoo_image_end(cuckoo_paged *paged, uint64_t length);

/* Opens the image for writing, with the hooks (cf_pages), whose errors go to paged->rc. */
cf_status cuckoo_image_open(cuckoo_paged *paged, uint64_t length, const char **why);

/* The first dirty page from `page` on, which is dirty no more; or the end of all pages. */
uint64_t cuckoo_image_clean(cuckoo_paged *paged, uint64_t page);

/* Reads pages, at most so many. False: others are still absent, or there was an error. */
bool cuckoo_image_complete(cuckoo_paged *paged, uint64_t most);

#endif
