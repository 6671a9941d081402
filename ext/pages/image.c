/* SPDX-License-Identifier: MIT */
#include "image.h"

#include "../sqlite/block.h"
#include "../sqlite/errors.h"
#include "../sqlite/sql.h"

#include "../../src/base/bits.h"
#include "../../src/shape/format.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- pages ---- */

uint64_t cuckoo_image_pages(const cuckoo_paged *paged, uint64_t length)
{
    return 1 + (length - CF_HEADER_BYTES + paged->page_bytes - 1) / paged->page_bytes;
}

/* An insertion asks this a hundred times: hence a multiplication by the reciprocal. */
static inline uint64_t page_behind(const cuckoo_paged *paged, uint64_t bytes)
{
    uint64_t page = cf_scale(bytes, paged->reciprocal); /* which may be one too few */
    return page + 1 + (bytes - page * paged->page_bytes >= paged->page_bytes);
}

uint64_t cuckoo_image_page_at(const cuckoo_paged *paged, uint64_t offset)
{
    return offset < CF_HEADER_BYTES ? 0 : page_behind(paged, offset - CF_HEADER_BYTES);
}

uint8_t *cuckoo_image_page(const cuckoo_paged *paged, uint64_t page, uint64_t *bytes)
{
    assert(page > 0);
    uint64_t from = CF_HEADER_BYTES + (page - 1) * paged->page_bytes;
    *bytes = paged->length - from < paged->page_bytes ? paged->length - from : paged->page_bytes;
    return paged->image + from;
}

/* ---- room ---- */

/* To what is enlarged again and again some room is added, so that it is not copied each time. */
static uint64_t with_spare(uint64_t had, uint64_t wanted)
{
    enum { SMALL = 4096 };
    return had < SMALL ? wanted : wanted + wanted / 8;
}

static bool enlarge_pages(cuckoo_paged *paged, uint64_t pages)
{
    uint64_t room = with_spare(paged->page_room, pages);
    if (pages <= paged->page_room)
        return true;
    if (!cuckoo_block_enlarge((void **)&paged->page, paged->page_room, room, sizeof *paged->page))
        return false;
    paged->page_room = room;
    return true;
}

static bool enlarge_image(cuckoo_paged *paged, uint64_t length)
{
    enum { SMALL = 1 << 20 /* bytes */ };
    uint64_t room = paged->room < SMALL ? length : with_spare(paged->room, length);
    if (length <= paged->room)
        return true;
    uint8_t *larger = cuckoo_block_resize(NULL, paged->image, room);
    if (larger == NULL)
        return false;
    paged->image = larger;
    paged->room = room;
    return true;
}

static void set_length(cuckoo_paged *paged, uint64_t length)
{
    assert(length >= CF_HEADER_BYTES && length <= paged->room);
    memset(paged->image + length, 0, CUCKOO_BEYOND);
    paged->length = length;
    paged->has_reader = false;
}

int cuckoo_image_resize(cuckoo_paged *paged, uint64_t length)
{
    assert(paged->page_bytes > 0);
    paged->reciprocal = UINT64_MAX / paged->page_bytes;
    /* The image comes last: if that fails, the old one is still there, as src expects. */
    if (!enlarge_pages(paged, cuckoo_image_pages(paged, length)) || !enlarge_image(paged, length))
        return SQLITE_NOMEM;
    set_length(paged, length);
    return SQLITE_OK;
}

int cuckoo_image_put(cuckoo_paged *paged, uint8_t *block, uint64_t length)
{
    bool enough = enlarge_pages(paged, cuckoo_image_pages(paged, length));
    cuckoo_block_resize(NULL, enough ? paged->image : block, 0);
    if (!enough)
        return SQLITE_NOMEM;
    paged->image = block;
    paged->room = length;
    set_length(paged, length);
    return SQLITE_OK;
}

/* The cf_memory of the filter, which also asks for other blocks than the image. */
static uint8_t *resize_image(void *context, uint8_t *bytes, uint64_t size)
{
    cuckoo_paged *paged = context;
    if (bytes == NULL || bytes != paged->image)
        return cuckoo_block_resize(NULL, bytes, size);
    assert(size >= paged->filter.length); /* paged->length may be longer: growth was taken back */
    return cuckoo_image_resize(paged, size) == SQLITE_OK ? paged->image : NULL;
}

/* ---- reading ---- */

/* Reads the row of a page. A row that is there has all bytes of a page, also that of the last one.
** False: there is no row, or an error. */
static bool read_row(cuckoo_paged *paged, uint64_t page, uint8_t *at, uint64_t bytes, cuckoo_row *row)
{
    int rc = cuckoo_shadow_read(&paged->shadow, (int64_t)page, at, bytes, row);
    if (rc == SQLITE_OK && row->length != 0 && row->length != paged->page_bytes)
        rc = cuckoo_shadow_bad_row(&paged->shadow, (int64_t)page);
    paged->rc = cuckoo_first_error(paged->rc, rc);
    return rc == SQLITE_OK && row->length != 0;
}

/* A page that no row can hold is all zeros: those that growth adds are not asked for. */
static void read_page(cuckoo_paged *paged, uint64_t page)
{
    assert(page < paged->page_room && paged->page[page].next == 0);
    uint64_t bytes;
    cuckoo_row row = {0, 0};
    uint8_t *at = cuckoo_image_page(paged, page, &bytes);
    uint32_t epoch = paged->epoch; /* an error may roll back the transaction: a new epoch begins */
    if (page >= paged->stored || !read_row(paged, page, at, bytes, &row))
        memset(at, 0, cf_in_memory(bytes));
    paged->page[page].checksum = row.checksum;
    paged->page[page].read_in = epoch;
    paged->unread -= row.checksum;
    paged->loaded++;
}

static inline void need_page(cuckoo_paged *paged, uint64_t page)
{
    assert(page > 0 && page < paged->page_room);
    if (paged->page[page].read_in != paged->epoch)
        read_page(paged, page);
}

/* Reads the pages of these bytes; they are going to be changed (`changes`). */
static void bring_pages(cuckoo_paged *paged, uint64_t from, uint64_t to, bool changes)
{
    if (from >= to)
        return;
    uint64_t page = cuckoo_image_page_at(paged, from), last = cuckoo_image_page_at(paged, to - 1);
    for (page += page == 0; page <= last; page++) {
        need_page(paged, page);
        if (changes)
            cuckoo_image_mark(paged, page);
    }
}

void cuckoo_image_need(cuckoo_paged *paged, uint64_t from, uint64_t to)
{
    bring_pages(paged, from, to, false);
}

bool cuckoo_image_complete(cuckoo_paged *paged)
{
    enum { MOST = 256 };
    uint64_t pages = cuckoo_image_pages(paged, paged->length), read = paged->loaded;
    for (; paged->whole < pages && paged->loaded - read < MOST; paged->whole++)
        need_page(paged, paged->whole);
    if (paged->whole >= pages)
        cuckoo_image_compare(paged);
    return paged->whole >= pages;
}

void cuckoo_image_compare(cuckoo_paged *paged)
{
    cuckoo_shadow *shadow = &paged->shadow;
    if (paged->rc == SQLITE_OK && paged->unread != 0)
        paged->rc = cuckoo_say(&shadow->damage, SQLITE_CORRUPT_VTAB,
                               "rows of %s_page are missing, or older than others", shadow->table);
}

/* The first page from `page` on that has a row, before `end`; none: `end`. */
static uint64_t next_stored(cuckoo_paged *paged, uint64_t page, uint64_t end)
{
    int64_t from = (int64_t)page, row = (int64_t)end;
    int rc = cuckoo_shadow_integer(&paged->shadow, CUCKOO_NEXT_PAGE, &from, &row);
    if (rc == SQLITE_OK && row < from) /* the number is a text */
        rc = cuckoo_shadow_bad_row(&paged->shadow, row);
    paged->rc = cuckoo_first_error(paged->rc, rc);
    return rc == SQLITE_OK && (uint64_t)row < end ? (uint64_t)row : end;
}

/* The next page of the list behind this one; 0: there is none. */
static uint64_t next_in_list(const cuckoo_paged *paged, uint64_t page)
{
    return paged->page[page].next == page ? 0 : paged->page[page].next;
}

/* The first dirty page from `page` on, before `end`; none: `end`. Goes through the pages or through
** the list, whichever is shorter. */
static uint64_t next_dirty(const cuckoo_paged *paged, uint64_t page, uint64_t end)
{
    if (end - page < paged->dirty) {
        while (page < end && paged->page[page].next == 0)
            page++;
        return page;
    }
    for (uint64_t at = paged->first_dirty; at != 0; at = next_in_list(paged, at))
        end = at >= page && at < end ? at : end;
    return end;
}

/* Pages without a row are all zeros, however many they are. The page that was found last is not
** looked for again. */
uint64_t cuckoo_image_skip(cuckoo_paged *paged, uint64_t from)
{
    uint64_t page = cuckoo_image_page_at(paged, from), end = cuckoo_image_pages(paged, paged->length);
    if (page == 0 || page == paged->present || page >= end || paged->page[page].next != 0)
        return from;
    uint64_t found = next_dirty(paged, page, next_stored(paged, page, end));
    paged->present = found;
    if (found == page)
        return from;
    return found == end ? paged->length : CF_HEADER_BYTES + (found - 1) * paged->page_bytes;
}

/* ---- changing ---- */

void cuckoo_image_mark(cuckoo_paged *paged, uint64_t page)
{
    assert(page > 0 && page < paged->page_room);
    paged->has_reader = false;
    if (paged->page[page].next != 0)
        return;
    *(paged->dirty ? &paged->page[paged->last_dirty].next : &paged->first_dirty) = page;
    paged->last_dirty = paged->page[page].next = page;
    paged->dirty++;
}

void cuckoo_image_clean(cuckoo_paged *paged)
{
    for (uint64_t next, page = paged->first_dirty; page != 0; page = next) {
        next = next_in_list(paged, page);
        paged->page[page].next = 0;
        paged->dirty--;
    }
    assert(paged->dirty == 0);
    paged->first_dirty = paged->last_dirty = 0;
}

/* ---- the hooks ---- */

/* The page that holds all of these bytes. 0: no single one, or the header does. */
static inline uint64_t one_page(const cuckoo_paged *paged, uint64_t from, uint64_t to)
{
    if (from < CF_HEADER_BYTES || from >= to)
        return 0;
    uint64_t page = page_behind(paged, from - CF_HEADER_BYTES);
    return to - CF_HEADER_BYTES <= page * paged->page_bytes ? page : 0;
}

static void need(void *context, uint64_t from, uint64_t to)
{
    cuckoo_paged *paged = context;
    uint64_t page = one_page(paged, from, to);
    if (page == 0 || paged->page[page].read_in != paged->epoch)
        bring_pages(paged, from, to, false);
}

/* A page that is dirty is in memory. */
static void change(void *context, uint64_t from, uint64_t to)
{
    cuckoo_paged *paged = context;
    uint64_t page = one_page(paged, from, to);
    if (page == 0 || paged->page[page].next == 0)
        bring_pages(paged, from, to, true);
    paged->has_reader = false;
}

static uint64_t skip(void *context, uint64_t from)
{
    return cuckoo_image_skip(context, from);
}

cf_status cuckoo_image_open(cuckoo_paged *paged, const char **why)
{
    cf_status status = cf_open_writable(&paged->filter, paged->image, cf_in_memory(paged->length), why);
    if (status != CF_OK)
        return status;
    paged->hooks = (cf_pages){.need = need, .change = change, .skip = skip, .context = paged};
    paged->shadow.seed = (uint64_t)paged->filter.geometry.seed;
    paged->filter.memory = (cf_memory){resize_image, INT64_MAX, paged};
    cf_attach_pages(&paged->filter, &paged->hooks);
    return status;
}

void cuckoo_image_free(cuckoo_paged *paged)
{
    cuckoo_block_resize(NULL, paged->image, 0);
    free(paged->page);
}

void cuckoo_image_forget(cuckoo_paged *paged)
{
    cuckoo_image_clean(paged);
    paged->present = paged->loaded = 0;
    paged->whole = 1;
    paged->has_reader = false;
    paged->epoch++;
    if (paged->epoch == 0) { /* all numbers were used: no old one may pass for a new one */
        for (uint64_t page = 0; page < paged->page_room; page++)
            paged->page[page].read_in = 0;
        paged->header_in = 0;
        paged->epoch = 1;
    }
}
