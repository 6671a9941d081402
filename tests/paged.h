/* SPDX-License-Identifier: MIT */
/*
** paged.h - a filter of which pages are in memory only when it has asked for them (cf_pages).
**
** What is not in memory reads as 0xa5, so that a filter that does not ask answers wrongly. What goes
** wrong is counted: the test looks at `outside` and `untold`.
*/
#ifndef CUCKOO_TEST_PAGED_H
#define CUCKOO_TEST_PAGED_H

#include <stdlib.h>
#include <string.h>

#include "../src/include/cuckoo_filter.h"

typedef struct paged {
    cf_filter filter; /* in `image` */
    cf_pages hooks;
    const uint8_t *source; /* the blob; it stays as it is */
    uint64_t length;       /* of the source */
    uint64_t page;         /* bytes */
    uint64_t room;         /* of the image, and of the marks: bytes */
    uint8_t *image;
    uint8_t *here, *told; /* by byte: it is in memory; the filter said that it changes it */
    uint64_t outside;     /* calls with bytes that are none of the filter's, or with a stale view */
} paged;

/* Gives an image of this length its marks. Bytes that growth adds are there. */
static inline void paged_set_room(paged *p, uint64_t room)
{
    p->here = realloc(p->here, room);
    p->told = realloc(p->told, room);
    if (p->here == NULL || p->told == NULL)
        abort();
    for (; p->room < room; p->room++)
        p->here[p->room] = p->told[p->room] = p->room >= p->length;
}

static inline uint8_t *paged_resize(void *context, uint8_t *bytes, uint64_t size)
{
    paged *p = context;
    if (size == 0) {
        free(bytes);
        return NULL;
    }
    uint8_t *longer = realloc(bytes, size);
    if (longer == NULL)
        abort();
    if (bytes != NULL && bytes == p->image) {
        p->image = longer;
        if (size > p->room)
            paged_set_room(p, size);
    }
    return longer;
}

static inline bool paged_bring(paged *p, uint64_t from, uint64_t to)
{
    bool sound = from <= to && to <= p->filter.length && p->filter.bytes == p->image;
    p->outside += !sound;
    if (!sound)
        return false;
    uint64_t end = (to + p->page - 1) / p->page * p->page;
    for (uint64_t at = from / p->page * p->page; at < end && at < p->length && from < to; at++) {
        if (!p->here[at])
            p->image[at] = p->source[at];
        p->here[at] = 1;
    }
    return true;
}

static inline void paged_need(void *context, uint64_t from, uint64_t to)
{
    paged_bring(context, from, to);
}

static inline void paged_change(void *context, uint64_t from, uint64_t to)
{
    paged *p = context;
    if (paged_bring(p, from, to))
        memset(p->told + from, 1, (size_t)(to - from));
}

/* Opens a sealed blob by pages of so many bytes; only the header is read. `p` stays where it is until
** paged_close. */
static inline void paged_open(paged *p, const uint8_t *source, uint64_t length, uint64_t page)
{
    enum { HEADER = 64 };
    const char *why = "";
    *p = (paged){.source = source, .length = length, .page = page};
    p->image = malloc(length);
    if (p->image == NULL)
        abort();
    paged_set_room(p, length);
    memset(p->image, 0xa5, length);
    memcpy(p->image, source, HEADER);
    memset(p->here, 1, HEADER);
    if (cf_open_writable(&p->filter, p->image, length, &why) != CF_OK)
        abort();
    p->hooks = (cf_pages){paged_need, paged_change, NULL, p};
    cf_attach_pages(&p->filter, &p->hooks);
    p->filter.memory = (cf_memory){paged_resize, UINT64_MAX, p};
}

/* Bytes of the source that have become others without a word. */
static inline uint64_t paged_untold(const paged *p)
{
    uint64_t untold = 0;
    for (uint64_t at = 0; at < p->length && at < p->filter.length; at++)
        untold += p->here[at] ? !p->told[at] && p->image[at] != p->source[at] : p->image[at] != 0xa5;
    return untold;
}

/* Has it come to the bytes of a filter in memory? Both are sealed. */
static inline bool paged_equals(paged *p, cf_filter *other)
{
    paged_need(p, 0, p->filter.length);
    cf_seal(&p->filter);
    cf_seal(other);
    return p->filter.length == other->length &&
           memcmp(p->filter.bytes, other->bytes, other->length) == 0;
}

static inline void paged_close(paged *p)
{
    free(p->image);
    free(p->here);
    free(p->told);
}

#endif
