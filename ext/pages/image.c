/* SPDX-License-Identifier: MIT */
#include "image.h"

#include "../sqlite/block.h"
#include "../sqlite/sql.h"

#include "../../src/base/bits.h"

#include <assert.h>
#include <string.h>

enum { ABSENT, READ, DIRTY, BLANK /* read, and there is no row */ }; /* states of pages */

/* ---- pages ---- */

uint64_t cuckoo_image_pages(const cuckoo_paged *paged, uint64_t length)
{
    return 1 + (length - CF_HEADER_BYTES + paged->page_bytes - 1) / paged->page_bytes;
}

/* An insertion asks this a hundred times: hence a multiplication by the reciprocal. */
static inline uint64_t page_behind(const cuckoo_paged *paged, uint64_t bytes)
{
    uint64_t page = cf_high_product(bytes, paged->reciprocal); /* which may be one too few */
    return page + 1 + (bytes - page * paged->page_bytes >= paged->page_bytes);
}

static uint64_t page_at(const cuckoo_paged *paged, uint64_t offset)
{
    return offset < CF_HEADER_BYTES ? 0 : page_behind(paged, offset - CF_HEADER_BYTES);
}

uint8_t *cuckoo_image_page(const cuckoo_paged *paged, uint64_t page)
{
    assert(page > 0);
    return paged->image + CF_HEADER_BYTES + (page - 1) * paged->page_bytes;
}

/* The first page in this state from `page` on, or the end of all states. */
static uint64_t find(const cuckoo_paged *paged, int state, uint64_t page)
{
    const uint8_t *at = memchr(paged->state + page, state, cf_in_memory(paged->pages - page));
    return at ? (uint64_t)(at - paged->state) : paged->pages;
}

uint64_t cuckoo_image_clean(cuckoo_paged *paged, uint64_t page)
{
    page = find(paged, DIRTY, page);
    if (page < paged->pages)
        paged->state[page] = READ;
    return page;
}

/* ---- room ---- */

/* Makes the image one of so many pages. NULL: it is as it was. */
static uint8_t *resize(const cuckoo_paged *paged, uint8_t *image, uint64_t pages)
{
    uint64_t bytes = CF_HEADER_BYTES + (pages - 1) * paged->page_bytes;
    uint8_t *other = cuckoo_block_resize(NULL, image, bytes);
    if (other)
        memset(other + bytes, 0, CUCKOO_BEYOND);
    return other;
}

/* The image is that of another filter: pages that are not all zeros are dirty. */
static void mark_all(cuckoo_paged *paged)
{
    for (uint64_t page = 1; page < paged->pages; page++) {
        const uint8_t *at = cuckoo_image_page(paged, page);
        bool zeros = at[0] == 0 && memcmp(at, at + 1, paged->page_bytes - 1) == 0;
        paged->state[page] = zeros ? READ : DIRTY;
    }
}

/* States that are zeros are those of absent pages. A header may claim any number of pages: zeros that
** nobody uses cost nothing. */
int cuckoo_image_begin(cuckoo_paged *paged, uint8_t *block, uint64_t length)
{
    assert(paged->page_bytes > 0);
    uint64_t pages = cuckoo_image_pages(paged, length);
    uint8_t *state = cuckoo_block_zeros(pages),
            *image = state ? resize(paged, block ? block : paged->image, pages) : NULL;
    cuckoo_block_resize(NULL, image ? paged->state : state, 0);
    if (block)
        cuckoo_block_resize(NULL, image ? paged->image : block, 0);
    if (image == NULL)
        return SQLITE_NOMEM;
    paged->image = image;
    paged->state = state;
    paged->pages = pages;
    paged->absent = block ? 0 : pages - 1;
    paged->reciprocal = UINT64_MAX / paged->page_bytes;
    paged->has_reader = false;
    if (block) {
        cuckoo_image_end(paged, length);
        mark_all(paged);
    }
    return SQLITE_OK;
}

void cuckoo_image_end(cuckoo_paged *paged, uint64_t length)
{
    const uint8_t *end = cuckoo_image_page(paged, cuckoo_image_pages(paged, length));
    memset(paged->image + length, 0, (size_t)(end - (paged->image + length)));
}

/* The cf_memory of the filter, which also asks for other blocks than the image. Pages that growth adds
** are zeros in memory (cf_pages). A large image gets an eighth more than it needs, so that it is not
** copied each time. The image comes last: if that fails, the old one is still there. */
static uint8_t *grow(void *context, uint8_t *bytes, uint64_t size)
{
    enum { SMALL = 1 << 20 /* bytes */ };
    cuckoo_paged *paged = context;
    if (bytes == NULL || bytes != paged->image)
        return cuckoo_block_resize(NULL, bytes, size);
    uint64_t pages = cuckoo_image_pages(paged, size < SMALL ? size : size + size / 8);
    assert(size >= paged->filter.length);
    paged->has_reader = false;
    if (cuckoo_image_pages(paged, size) <= paged->pages)
        return paged->image;
    uint8_t *state = cuckoo_block_resize(NULL, paged->state, pages), *image;
    if (state == NULL)
        return NULL;
    paged->state = state;
    if ((image = resize(paged, paged->image, pages)) == NULL)
        return NULL;
    memset(state + paged->pages, READ, cf_in_memory(pages - paged->pages));
    paged->image = image;
    paged->pages = pages;
    return image;
}

/* ---- reading ---- */

/* A page that is not there, or cannot be read, is zeros. */
static void read_page(cuckoo_paged *paged, uint64_t page)
{
    uint64_t length;
    uint8_t *at = cuckoo_image_page(paged, page);
    int rc = cuckoo_shadow_read(&paged->shadow, (int64_t)page, at, paged->page_bytes, &length);
    if (rc == SQLITE_OK && length != 0 && length != paged->page_bytes)
        rc = cuckoo_shadow_bad_row(&paged->shadow, (int64_t)page);
    if (rc != SQLITE_OK || length == 0)
        memset(at, 0, paged->page_bytes);
    paged->rc = cuckoo_first_error(paged->rc, rc);
    paged->state[page] = rc == SQLITE_OK && length == 0 ? BLANK : READ;
    paged->absent--;
}

/* Reads the pages of these bytes; they are going to be changed (`changes`). */
static void bring_pages(cuckoo_paged *paged, uint64_t from, uint64_t to, bool changes)
{
    if (from >= to)
        return;
    uint64_t page = page_at(paged, from), last = page_at(paged, to - 1);
    for (page += page == 0; page <= last; page++) {
        assert(page < paged->pages);
        if (paged->state[page] == ABSENT)
            read_page(paged, page);
        if (changes) {
            paged->state[page] = DIRTY;
            paged->dirty = true;
        }
    }
}

bool cuckoo_image_complete(cuckoo_paged *paged, uint64_t most)
{
    for (uint64_t page = 1; most > 0 && paged->absent > 0 && paged->rc == SQLITE_OK; most--) {
        page = find(paged, ABSENT, page);
        read_page(paged, page);
    }
    return paged->absent == 0 && paged->rc == SQLITE_OK;
}

/* The first page from `page` on that has a row; none: the end of all pages. */
static uint64_t next_stored(cuckoo_paged *paged, uint64_t page)
{
    int64_t from = (int64_t)page, end = (int64_t)paged->pages, row = end;
    int rc = cuckoo_shadow_integer(&paged->shadow, CUCKOO_NEXT_PAGE, &from, &row);
    if (rc == SQLITE_OK && row < from) /* the number is a text */
        rc = cuckoo_shadow_bad_row(&paged->shadow, row);
    paged->rc = cuckoo_first_error(paged->rc, rc);
    return (uint64_t)(rc == SQLITE_OK && row < end ? row : end);
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

static bool is_zeros(const cuckoo_paged *paged, uint64_t page)
{
    return paged->state[page] == ABSENT || paged->state[page] == BLANK;
}

/* Pages that have no row and are not in memory are zeros, however many they are. Who reads on behind the
** end of a page brings the next one, which must not end that. */
static uint64_t skip(void *context, uint64_t from)
{
    cuckoo_paged *paged = context;
    uint64_t page = page_at(paged, from), found = page;
    if (page == 0 || page >= paged->pages || !is_zeros(paged, page))
        return from;
    uint64_t stored = next_stored(paged, page);
    while (found < stored && is_zeros(paged, found))
        found++;
    return found == page ? from : CF_HEADER_BYTES + (found - 1) * paged->page_bytes;
}

cf_status cuckoo_image_open(cuckoo_paged *paged, uint64_t length, const char **why)
{
    cf_status status = cf_open_writable(&paged->filter, paged->image, cf_in_memory(length), why);
    if (status != CF_OK)
        return status;
    paged->hooks = (cf_pages){.need = need, .change = change, .skip = skip, .context = paged};
    paged->filter.memory = (cf_memory){grow, INT64_MAX, paged};
    cf_attach_pages(&paged->filter, &paged->hooks);
    return status;
}
