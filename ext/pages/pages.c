/* SPDX-License-Identifier: MIT */
/*
** pages.c - the image in memory: a byte for each page says whether it has been read, and whether it must
** be written. Loading the header starts a new image, so nothing stale survives.
*/
#include "pages.h"

#include "../sqlite/block.h"
#include "../sqlite/sql.h"

#include "../../src/base/bits.h"

#include <assert.h>
#include <string.h>

enum { ABSENT, READ, DIRTY, BLANK /* read, but has no row */ }; /* states of pages */

/* ---- the page of an offset ---- */

/* The number of pages of a blob, header included. */
static uint64_t pages_of(const cuckoo_paged *paged, uint64_t length)
{
    return 1 + (length - CF_HEADER_BYTES + paged->page_bytes - 1) / paged->page_bytes;
}

/* An insertion calls this a hundred times, so it multiplies by the reciprocal. */
static inline uint64_t page_behind(const cuckoo_paged *paged, uint64_t bytes)
{
    uint64_t page = cf_high_product(bytes, paged->reciprocal); /* which may be one too low */
    return page + 1 + (bytes - page * paged->page_bytes >= paged->page_bytes);
}

static uint64_t page_at(const cuckoo_paged *paged, uint64_t offset)
{
    return offset < CF_HEADER_BYTES ? 0 : page_behind(paged, offset - CF_HEADER_BYTES);
}

static uint8_t *start_of(const cuckoo_paged *paged, uint64_t page)
{
    assert(page > 0);
    return paged->image + CF_HEADER_BYTES + (page - 1) * paged->page_bytes;
}

/* The first page in this state from `page` on, or the number of states. */
static uint64_t find(const cuckoo_paged *paged, int state, uint64_t page)
{
    const uint8_t *at = memchr(paged->state + page, state, cf_in_memory(paged->pages - page));
    return at ? (uint64_t)(at - paged->state) : paged->pages;
}

/* ---- memory ---- */

/* Resizes an image to this number of pages. After NULL it is unchanged. */
static uint8_t *resize(const cuckoo_paged *paged, uint8_t *image, uint64_t pages)
{
    uint64_t bytes = CF_HEADER_BYTES + (pages - 1) * paged->page_bytes;
    uint8_t *other = cuckoo_block_resize(NULL, image, bytes);
    if (other)
        memset(other + bytes, 0, CUCKOO_BEYOND);
    return other;
}

/* Zeros the rest of the last page behind a blob. */
static void clear_rest(cuckoo_paged *paged, uint64_t length)
{
    const uint8_t *end = start_of(paged, pages_of(paged, length));
    memset(paged->image + length, 0, (size_t)(end - (paged->image + length)));
}

static bool is_all_zeros(const cuckoo_paged *paged, uint64_t page)
{
    const uint8_t *at = start_of(paged, page);
    return at[0] == 0 && memcmp(at, at + 1, paged->page_bytes - 1) == 0;
}

/* Marks all pages dirty that are not all zeros. */
static void mark_all(cuckoo_paged *paged)
{
    for (uint64_t page = 1; page < paged->pages; page++)
        paged->state[page] = is_all_zeros(paged, page) ? READ : DIRTY;
}

/* ABSENT is zero. A corrupt header may claim any number of pages: unused zeros cost nothing. */
int cuckoo_paged_make_room(cuckoo_paged *paged, uint8_t *block, uint64_t length)
{
    assert(paged->page_bytes > 0);
    uint64_t pages = pages_of(paged, length);
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
        clear_rest(paged, length);
        mark_all(paged);
    }
    return SQLITE_OK;
}

/* The cf_memory of the filter, which also allocates other blocks than the image. Pages that growth adds
** are zeros in memory (cf_pages). A large image gets an eighth more than it needs, so that it is not
** copied each time. The image is resized last: if that fails, the old one is still there. */
static uint8_t *grow(void *context, uint8_t *bytes, uint64_t size)
{
    enum { SMALL = 1 << 20 /* bytes */ };
    cuckoo_paged *paged = context;
    if (bytes == NULL || bytes != paged->image)
        return cuckoo_block_resize(NULL, bytes, size);
    uint64_t pages = pages_of(paged, size < SMALL ? size : size + size / 8);
    assert(size >= paged->filter.length);
    paged->has_reader = false;
    if (pages_of(paged, size) <= paged->pages)
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

/* A page without a row is zeros, and so is one that cannot be read. */
static void read_page(cuckoo_paged *paged, uint64_t page)
{
    uint64_t length;
    uint8_t *at = start_of(paged, page);
    int rc = cuckoo_shadow_read(&paged->shadow, (int64_t)page, at, paged->page_bytes, &length);
    if (rc == SQLITE_OK && length != 0 && length != paged->page_bytes)
        rc = cuckoo_shadow_bad_row(&paged->shadow, (int64_t)page);
    if (rc != SQLITE_OK || length == 0)
        memset(at, 0, paged->page_bytes);
    paged->rc = cuckoo_first_error(paged->rc, rc);
    paged->state[page] = rc == SQLITE_OK && length == 0 ? BLANK : READ;
    paged->absent--;
}

/* Reads the pages of these bytes. `changes`: they will be changed. */
static void read_range(cuckoo_paged *paged, uint64_t from, uint64_t to, bool changes)
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

/* Reads absent pages, at most `most`. False: some are still absent, or there was an error. */
static bool read_absent(cuckoo_paged *paged, uint64_t most)
{
    for (uint64_t page = 1; most > 0 && paged->absent > 0 && paged->rc == SQLITE_OK; most--) {
        page = find(paged, ABSENT, page);
        read_page(paged, page);
    }
    return paged->absent == 0 && paged->rc == SQLITE_OK;
}

/* ---- the hooks ---- */

/* The page that contains all of these bytes; 0: the header, or more than one page. */
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
        read_range(paged, from, to, false);
}

static void change(void *context, uint64_t from, uint64_t to)
{
    cuckoo_paged *paged = context;
    uint64_t page = one_page(paged, from, to);
    if (page == 0 || paged->state[page] != DIRTY)
        read_range(paged, from, to, true);
    paged->has_reader = false;
}

static bool is_zeros(const cuckoo_paged *paged, uint64_t page)
{
    return paged->state[page] == ABSENT || paged->state[page] == BLANK;
}

/* Skips pages without a row that are not in memory: they are zeros, and there may be any number of them.
** A read across the end of a page makes the next page BLANK, which must not stop the skipping. */
static uint64_t skip(void *context, uint64_t from)
{
    cuckoo_paged *paged = context;
    uint64_t page = page_at(paged, from), found = page;
    if (page == 0 || page >= paged->pages || !is_zeros(paged, page))
        return from;
    int64_t first = (int64_t)page, row = (int64_t)paged->pages;
    int rc = cuckoo_shadow_integer(&paged->shadow, CUCKOO_NEXT_PAGE, &first, &row);
    if (rc == SQLITE_OK && row < first) /* the number is a text */
        rc = cuckoo_shadow_bad_row(&paged->shadow, row);
    paged->rc = cuckoo_first_error(paged->rc, rc);
    uint64_t stored = rc == SQLITE_OK && (uint64_t)row < paged->pages ? (uint64_t)row : paged->pages;
    while (found < stored && is_zeros(paged, found))
        found++;
    return found == page ? from : CF_HEADER_BYTES + (found - 1) * paged->page_bytes;
}

int cuckoo_paged_open(cuckoo_paged *paged, uint64_t length)
{
    const char *why;
    if (cf_open_writable(&paged->filter, paged->image, cf_in_memory(length), &why) != CF_OK)
        return cuckoo_say(&paged->shadow.damage, SQLITE_CORRUPT_VTAB, "%s", why);
    paged->hooks = (cf_pages){.need = need, .change = change, .skip = skip, .context = paged};
    paged->filter.memory = (cf_memory){grow, INT64_MAX, paged};
    cf_attach_pages(&paged->filter, &paged->hooks);
    return SQLITE_OK;
}

/* ---- use ---- */

void cuckoo_paged_forget(cuckoo_paged *paged)
{
    paged->loaded = paged->dirty = paged->replaced = paged->has_reader = false;
}

/* When nearly all pages have been read, this reads the others. */
const cf_filter *cuckoo_paged_reader(cuckoo_paged *paged)
{
    enum { MOST = 256 /* pages in one call, so that it does not take long */ };
    assert(paged->loaded);
    if (paged->has_reader)
        return &paged->reader;
    if (paged->absent > paged->pages / 8 || !read_absent(paged, MOST))
        return &paged->filter;
    paged->reader = paged->filter;
    cf_attach_pages(&paged->reader, NULL);
    paged->has_reader = true;
    return &paged->reader;
}

int cuckoo_paged_error(cuckoo_paged *paged)
{
    int rc = paged->rc;
    paged->rc = SQLITE_OK;
    return rc;
}

int cuckoo_paged_complete(cuckoo_paged *paged)
{
    assert(paged->loaded);
    cf_seal(&paged->filter);
    return read_absent(paged, UINT64_MAX) ? SQLITE_OK : paged->rc;
}

bool cuckoo_paged_detach(cuckoo_paged *paged)
{
    assert(paged->loaded);
    if (!read_absent(paged, UINT64_MAX))
        return false;
    cf_attach_pages(&paged->filter, NULL);
    return true;
}

void cuckoo_paged_attach(cuckoo_paged *paged)
{
    cf_attach_pages(&paged->filter, &paged->hooks);
    for (uint64_t page = 1; page < paged->pages; page++)
        if (paged->state[page] != BLANK || !is_all_zeros(paged, page))
            paged->state[page] = DIRTY;
    paged->dirty = true;
    paged->has_reader = false;
}

int cuckoo_paged_check(cuckoo_paged *paged)
{
    int64_t odd = -1, pages = (int64_t)pages_of(paged, paged->filter.length);
    cuckoo_shadow *shadow = &paged->shadow;
    int rc = cuckoo_shadow_integer(shadow, CUCKOO_ODD_PAGE, (int64_t[]){pages, paged->page_bytes}, &odd);
    if (rc == SQLITE_OK && odd > 0 && odd < pages)
        return cuckoo_shadow_bad_row(shadow, odd);
    if (rc == SQLITE_OK && odd != -1)
        rc = cuckoo_say(&shadow->damage, SQLITE_CORRUPT_VTAB,
                        "row %lld of %s_page does not belong to it", (sqlite3_int64)odd, shadow->table);
    return rc;
}

/* ---- writing ---- */

/* The image may have more pages than the filter. */
int cuckoo_paged_write_pages(cuckoo_paged *paged)
{
    int rc = paged->replaced ? cuckoo_shadow_run(&paged->shadow, CUCKOO_EMPTY_PAGES) : SQLITE_OK;
    uint64_t pages = pages_of(paged, paged->filter.length), page = 0;
    clear_rest(paged, paged->filter.length);
    while (rc == SQLITE_OK && (page = find(paged, DIRTY, page + 1)) < pages) {
        paged->state[page] = READ;
        rc =
            cuckoo_shadow_write(&paged->shadow, (int64_t)page, start_of(paged, page), paged->page_bytes);
    }
    return rc;
}

/* Opens another filter, which is now in the image. */
static int open_other(cuckoo_paged *paged, uint64_t length)
{
    paged->unmatched = 0;
    paged->loaded = paged->dirty = paged->replaced = true;
    return cuckoo_paged_open(paged, length);
}

int cuckoo_paged_replace(cuckoo_paged *paged, uint8_t *bytes, uint64_t length)
{
    int rc = cuckoo_paged_make_room(paged, bytes, length);
    return rc ? rc : open_other(paged, length);
}

/* All pages are zeros and need no rows. */
int cuckoo_paged_clear(cuckoo_paged *paged, const cf_geometry *shape)
{
    cf_filter blank;
    uint64_t length = cf_geometry_bytes(shape);
    int rc = cuckoo_paged_make_room(paged, NULL, length);
    if (rc != SQLITE_OK)
        return rc;
    cf_create_in_zeros(&blank, shape, paged->image);
    paged->age = (cuckoo_age){.keep = paged->age.keep};
    return open_other(paged, length);
}

void cuckoo_paged_free(cuckoo_paged *paged)
{
    cuckoo_shadow_free(&paged->shadow);
    cuckoo_block_resize(NULL, paged->image, 0);
    cuckoo_block_resize(NULL, paged->state, 0);
}
