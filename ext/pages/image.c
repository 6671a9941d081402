/* SPDX-License-Identifier: MIT */
#include "image.h"

#include "../sqlite/block.h"
#include "../sqlite/sql.h"

#include "../../src/base/bits.h"
#include "../../src/shape/format.h"

#include <assert.h>
#include <string.h>

enum { ABSENT = CUCKOO_PAGE_ABSENT, READ = CUCKOO_PAGE_READ, DIRTY = CUCKOO_PAGE_DIRTY };

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

/* The first page in this state from `page` on, or the end of all states. */
static uint64_t find(const cuckoo_paged *paged, int state, uint64_t page)
{
    const uint8_t *at = memchr(paged->state + page, state, cf_in_memory(paged->states - page));
    return at ? (uint64_t)(at - paged->state) : paged->states;
}

uint64_t cuckoo_image_dirty(const cuckoo_paged *paged, uint64_t page)
{
    return find(paged, DIRTY, page);
}

void cuckoo_image_clean(cuckoo_paged *paged)
{
    for (uint64_t page = find(paged, DIRTY, 1); page < paged->states;
         page = find(paged, DIRTY, page + 1))
        paged->state[page] = READ;
    paged->dirty = false;
}

/* ---- room ---- */

/* New states: all pages are absent. A header may claim any number of pages: zeros that nobody uses cost
** nothing. */
static bool renew_states(cuckoo_paged *paged, uint64_t pages)
{
    uint8_t *state = cuckoo_block_zeros(pages);
    if (state == NULL)
        return false;
    cuckoo_block_resize(NULL, paged->state, 0);
    paged->state = state;
    paged->states = pages;
    paged->absent = pages - 1;
    return true;
}

/* Pages that growth adds are zeros in memory (cf_pages). */
static bool add_states(cuckoo_paged *paged, uint64_t pages)
{
    if (pages <= paged->states)
        return true;
    uint8_t *longer = cuckoo_block_resize(NULL, paged->state, pages);
    if (longer == NULL)
        return false;
    memset(longer + paged->states, READ, cf_in_memory(pages - paged->states));
    paged->state = longer;
    paged->states = pages;
    return true;
}

/* A large image gets an eighth more than it needs, so that it is not copied each time. */
static bool enlarge_image(cuckoo_paged *paged, uint64_t length)
{
    enum { SMALL = 1 << 20 /* bytes */ };
    uint64_t room = paged->room < SMALL ? length : length + length / 8;
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

int cuckoo_image_begin(cuckoo_paged *paged, uint64_t length)
{
    assert(paged->page_bytes > 0);
    paged->reciprocal = UINT64_MAX / paged->page_bytes;
    if (!enlarge_image(paged, length) || !renew_states(paged, cuckoo_image_pages(paged, length)))
        return SQLITE_NOMEM;
    set_length(paged, length);
    return SQLITE_OK;
}

int cuckoo_image_put(cuckoo_paged *paged, uint8_t *block, uint64_t length)
{
    bool enough = renew_states(paged, cuckoo_image_pages(paged, length));
    cuckoo_block_resize(NULL, enough ? paged->image : block, 0);
    if (!enough)
        return SQLITE_NOMEM;
    memset(paged->state, READ, cf_in_memory(paged->states));
    paged->absent = 0;
    paged->image = block;
    paged->room = length;
    set_length(paged, length);
    return SQLITE_OK;
}

/* The cf_memory of the filter, which also asks for other blocks than the image. The image comes last: if
** that fails, the old one is still there. */
static uint8_t *resize_image(void *context, uint8_t *bytes, uint64_t size)
{
    cuckoo_paged *paged = context;
    if (bytes == NULL || bytes != paged->image)
        return cuckoo_block_resize(NULL, bytes, size);
    assert(size >= paged->filter.length);
    if (!add_states(paged, cuckoo_image_pages(paged, size)) || !enlarge_image(paged, size))
        return NULL;
    set_length(paged, size);
    return paged->image;
}

void cuckoo_image_free(cuckoo_paged *paged)
{
    cuckoo_block_resize(NULL, paged->image, 0);
    cuckoo_block_resize(NULL, paged->state, 0);
}

/* ---- reading ---- */

/* A row that is there has all bytes of a page, also that of the last one. A page that is not there, or
** cannot be read, is zeros. */
static void read_page(cuckoo_paged *paged, uint64_t page)
{
    uint64_t bytes, length;
    uint8_t *at = cuckoo_image_page(paged, page, &bytes);
    int rc = cuckoo_shadow_read(&paged->shadow, (int64_t)page, at, bytes, &length);
    if (rc == SQLITE_OK && length != 0 && length != paged->page_bytes)
        rc = cuckoo_shadow_bad_row(&paged->shadow, (int64_t)page);
    if (rc != SQLITE_OK || length == 0)
        memset(at, 0, cf_in_memory(bytes));
    paged->rc = cuckoo_first_error(paged->rc, rc);
    paged->state[page] = READ;
    paged->absent--;
}

/* Reads the pages of these bytes; they are going to be changed (`changes`). */
static void bring_pages(cuckoo_paged *paged, uint64_t from, uint64_t to, bool changes)
{
    if (from >= to)
        return;
    uint64_t page = cuckoo_image_page_at(paged, from), last = cuckoo_image_page_at(paged, to - 1);
    for (page += page == 0; page <= last; page++) {
        assert(page < paged->states);
        if (paged->state[page] == ABSENT)
            read_page(paged, page);
        if (changes) {
            paged->state[page] = DIRTY;
            paged->dirty = true;
        }
    }
}

bool cuckoo_image_complete(cuckoo_paged *paged)
{
    enum { MOST = 256 };
    uint64_t page = 1;
    for (int i = 0; i < MOST && paged->absent > 0; i++) {
        page = find(paged, ABSENT, page);
        read_page(paged, page);
    }
    return paged->absent == 0;
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
    if (page == 0 || paged->state[page] == ABSENT)
        bring_pages(paged, from, to, false);
}

static void change(void *context, uint64_t from, uint64_t to)
{
    cuckoo_paged *paged = context;
    uint64_t page = one_page(paged, from, to);
    if (page == 0 || paged->state[page] != DIRTY)
        bring_pages(paged, from, to, true);
    paged->has_reader = false;
}

/* Pages that have no row and are not in memory are zeros, however many they are. */
static uint64_t skip(void *context, uint64_t from)
{
    cuckoo_paged *paged = context;
    uint64_t page = cuckoo_image_page_at(paged, from), end = cuckoo_image_pages(paged, paged->length);
    if (page == 0 || page >= end || paged->state[page] != ABSENT)
        return from;
    uint64_t stored = next_stored(paged, page, end), found = page;
    while (found < stored && paged->state[found] == ABSENT)
        found++;
    if (found == page)
        return from;
    return found == end ? paged->length : CF_HEADER_BYTES + (found - 1) * paged->page_bytes;
}

cf_status cuckoo_image_open(cuckoo_paged *paged, const char **why)
{
    cf_status status = cf_open_writable(&paged->filter, paged->image, cf_in_memory(paged->length), why);
    if (status != CF_OK)
        return status;
    paged->hooks = (cf_pages){.need = need, .change = change, .skip = skip, .context = paged};
    paged->filter.memory = (cf_memory){resize_image, INT64_MAX, paged};
    cf_attach_pages(&paged->filter, &paged->hooks);
    return status;
}
