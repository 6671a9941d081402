#include "pages.h"

#include "block.h"
#include "sql.h"

#include "../src/bits.h"
#include "../src/format.h"

#include <stdlib.h>
#include <string.h>

enum {
    AT_LENGTH = CF_HEADER_BYTES,
    AT_PAGE_BYTES = AT_LENGTH + 8,
    AT_ADDS = AT_PAGE_BYTES + 4,
    AT_DELETES = AT_ADDS + 8,
    AT_DOUBT = AT_DELETES + 8,
    HEADER_ROW = AT_DOUBT + 1
};

/* ---- the image ---- */

static uint64_t pages_of(const cuckoo_paged *paged, uint64_t length)
{
    return 1 + (length - CF_HEADER_BYTES + paged->page_bytes - 1) / paged->page_bytes;
}

static uint64_t page_at(const cuckoo_paged *paged, uint64_t offset)
{
    return offset < CF_HEADER_BYTES ? 0 : 1 + (offset - CF_HEADER_BYTES) / paged->page_bytes;
}

/* Where a page begins in the image, and how many bytes it has there. */
static uint8_t *page_bytes_at(const cuckoo_paged *paged, uint64_t page, uint64_t *bytes)
{
    uint64_t from = CF_HEADER_BYTES + (page - 1) * paged->page_bytes;
    *bytes = paged->length - from < paged->page_bytes ? paged->length - from : paged->page_bytes;
    return paged->image + from;
}

/* Makes room for an image of so many bytes. New pages are stale. */
static int make_room(cuckoo_paged *paged, uint64_t length)
{
    uint64_t pages = pages_of(paged, length), had = paged->page_room;
    paged->has_reader = false;
    if (pages > had) {
        if (!cuckoo_block_enlarge((void **)&paged->read_in, had, pages, sizeof *paged->read_in) ||
            !cuckoo_dirty_enlarge(&paged->dirty, had, pages))
            return SQLITE_NOMEM;
        paged->page_room = pages;
    }
    /* This comes last: if it fails, the old image is still there, as src expects. */
    uint8_t *larger = cuckoo_block_resize(paged->image, length, paged);
    if (larger == NULL)
        return SQLITE_NOMEM;
    paged->image = larger;
    memset(paged->image + length, 0, CUCKOO_BEYOND);
    paged->length = length;
    return SQLITE_OK;
}

static void read_page(cuckoo_paged *paged, uint64_t page)
{
    uint64_t bytes, have;
    uint8_t *at = page_bytes_at(paged, page, &bytes);
    uint32_t epoch = paged->epoch; /* an error may roll back the transaction: a new epoch begins */
    int rc = cuckoo_shadow_read(&paged->shadow, (int64_t)page, at, bytes, &have);
    paged->rc = cuckoo_first_error(paged->rc, rc);
    memset(at + have, 0, bytes - have);
    paged->read_in[page] = epoch;
    paged->loaded++;
}

static void need(void *context, uint64_t from, uint64_t to)
{
    cuckoo_paged *paged = context;
    for (uint64_t page = page_at(paged, from); from < to && page <= page_at(paged, to - 1); page++)
        if (page > 0 && paged->read_in[page] != paged->epoch)
            read_page(paged, page);
}

static void mark(cuckoo_paged *paged, uint64_t page)
{
    paged->has_reader = false;
    if (!cuckoo_dirty_mark(&paged->dirty, page))
        paged->rc = cuckoo_first_error(paged->rc, SQLITE_NOMEM);
}

static void change(void *context, uint64_t from, uint64_t to)
{
    cuckoo_paged *paged = context;
    need(context, from, to);
    for (uint64_t page = page_at(paged, from); from < to && page <= page_at(paged, to - 1); page++)
        if (page > 0)
            mark(paged, page);
}

/* The first page from `page` on that has a row, before `end`; none: `end`. */
static uint64_t next_row(cuckoo_paged *paged, uint64_t page, uint64_t end)
{
    int64_t from = (int64_t)page, row = (int64_t)end;
    int rc = cuckoo_shadow_integer(&paged->shadow, CUCKOO_NEXT_PAGE, &from, &row);
    paged->rc = cuckoo_first_error(paged->rc, rc);
    return (uint64_t)row < end ? (uint64_t)row : end;
}

/* Pages without a row are all zeros, however many they are. The page that was found last is not
** looked for again. */
static uint64_t skip(void *context, uint64_t from)
{
    cuckoo_paged *paged = context;
    uint64_t page = page_at(paged, from), end = pages_of(paged, paged->length);
    if (page == 0 || page == paged->present || page >= end || paged->dirty.is[page])
        return from;
    uint64_t found = cuckoo_dirty_next(&paged->dirty, page, next_row(paged, page, end));
    paged->present = found;
    if (found == page)
        return from;
    return found == end ? paged->length : CF_HEADER_BYTES + (found - 1) * paged->page_bytes;
}

/* The cf_memory of the filter. Blocks other than the image have no owner. */
static uint8_t *resize(uint8_t *bytes, uint64_t size)
{
    cuckoo_paged *owner = bytes ? cuckoo_block_owner(bytes) : NULL;
    if (owner == NULL)
        return cuckoo_block_resize(bytes, size, NULL);
    return make_room(owner, size) == SQLITE_OK ? owner->image : NULL;
}

/* ---- what is stale ---- */

void cuckoo_paged_forget(cuckoo_paged *paged)
{
    cuckoo_dirty_clear(&paged->dirty);
    paged->header_dirty = paged->rows_ahead = false;
    paged->present = 0;
    paged->epoch++;
    if (paged->epoch == 0) { /* all numbers were used: no old one may pass for a new one */
        memset(paged->read_in, 0, paged->page_room * sizeof *paged->read_in);
        paged->header_in = 0;
        paged->epoch = 1;
    }
    paged->loaded = 0;
    paged->has_reader = false;
}

/* ---- the header ---- */

/* Opens the image for writing, with the hooks. */
static cf_status open_writable(cuckoo_paged *paged, const char **why)
{
    cf_status status = cf_open_writable(&paged->filter, paged->image, paged->length, why);
    if (status != CF_OK)
        return status;
    paged->filter.memory = (cf_memory){resize, INT64_MAX};
    cf_attach_pages(&paged->filter, &paged->hooks);
    return status;
}

static int open_image(cuckoo_paged *paged, const uint8_t *row, const char **why)
{
    cf_header header;
    uint64_t length = cf_load64(row + AT_LENGTH);
    paged->page_bytes = (uint32_t)cf_load64(row + AT_PAGE_BYTES);
    paged->adds = cf_load64(row + AT_ADDS);
    paged->deletes = cf_load64(row + AT_DELETES);
    paged->doubt = row[AT_DOUBT] != 0;
    *why = "its header has been changed";
    if (paged->page_bytes < 64 || cf_header_decode(row, length, &header, why) != CF_OK)
        return SQLITE_CORRUPT_VTAB;
    int rc = make_room(paged, length);
    if (rc != SQLITE_OK)
        return rc;
    memcpy(paged->image, row, CF_HEADER_BYTES);
    if (open_writable(paged, why) != CF_OK)
        return SQLITE_CORRUPT_VTAB;
    paged->header_in = paged->epoch;
    return SQLITE_OK;
}

static int read_header(cuckoo_paged *paged, const char **why)
{
    uint8_t row[HEADER_ROW];
    uint64_t length;
    int rc = cuckoo_shadow_read(&paged->shadow, 0, row, sizeof row, &length);
    if (rc != SQLITE_OK)
        return rc;
    *why = "its header is missing";
    return length == sizeof row ? open_image(paged, row, why) : SQLITE_CORRUPT_VTAB;
}

static int write_header_row(cuckoo_paged *paged, const uint8_t *header, uint64_t length)
{
    uint8_t row[HEADER_ROW];
    memcpy(row, header, CF_HEADER_BYTES);
    cf_store64(row + AT_LENGTH, length);
    cf_store64(row + AT_PAGE_BYTES, paged->page_bytes); /* the next line overwrites half of it */
    cf_store64(row + AT_ADDS, paged->adds);
    cf_store64(row + AT_DELETES, paged->deletes);
    row[AT_DOUBT] = paged->doubt;
    return cuckoo_shadow_write(&paged->shadow, 0, row, HEADER_ROW);
}

/* Writes an empty filter. Its pages are all zeros and need no rows. */
static int write_empty(cuckoo_paged *paged, const cf_geometry *shape)
{
    uint8_t encoded[CF_HEADER_BYTES];
    cf_header header = {.geometry = *shape, .reserved = CF_RESERVED_MIN};
    cf_header_encode(&header, encoded);
    return write_header_row(paged, encoded, cf_geometry_bytes(shape));
}

/* ---- using it ---- */

int cuckoo_paged_load(cuckoo_paged *paged, const char **why)
{
    *why = "its shadow table is missing, or not as it was created";
    return paged->header_in == paged->epoch ? SQLITE_OK : read_header(paged, why);
}

/* When nearly all pages have been read, the others are read, too. */
const cf_filter *cuckoo_paged_reader(cuckoo_paged *paged)
{
    if (paged->has_reader)
        return &paged->reader;
    uint64_t pages = pages_of(paged, paged->length);
    if (paged->loaded < pages - pages / 8 - 1)
        return &paged->filter;
    need(paged, 0, paged->length);
    if (paged->rc != SQLITE_OK)
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

/* ---- writing ---- */

bool cuckoo_paged_pending(const cuckoo_paged *paged)
{
    return paged->dirty.count > 0 || paged->header_dirty;
}

static int write_pages(cuckoo_paged *paged)
{
    int rc = SQLITE_OK;
    for (uint64_t i = 0; rc == SQLITE_OK && i < paged->dirty.count; i++) {
        uint64_t bytes, page = paged->dirty.pages[i];
        if (page >= pages_of(paged, paged->length))
            continue; /* growth that was taken back */
        uint8_t *at = page_bytes_at(paged, page, &bytes);
        paged->has_written = true;
        rc = cuckoo_shadow_write(&paged->shadow, (int64_t)page, at, bytes);
    }
    return rc;
}

int cuckoo_paged_write(cuckoo_paged *paged)
{
    paged->length = paged->filter.length;
    int rc = write_pages(paged);
    paged->has_written = true;
    if (rc != SQLITE_OK)
        return rc;
    cf_seal(&paged->filter);
    rc = write_header_row(paged, paged->image, paged->length);
    if (rc != SQLITE_OK)
        return rc;
    paged->header_dirty = paged->rows_ahead = false;
    cuckoo_dirty_clear(&paged->dirty);
    return rc;
}

static bool is_zero(const uint8_t *bytes, uint64_t length)
{
    return length == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, length - 1) == 0);
}

/* Nothing of the former filter is left to do. */
static void nothing_left(cuckoo_paged *paged)
{
    paged->adds = paged->deletes = 0;
    paged->doubt = false;
    cuckoo_dirty_clear(&paged->dirty);
}

/* The image is that of another filter: its pages are in
** memory, and those that are not all zeros are dirty. */
static void mark_all(cuckoo_paged *paged)
{
    uint64_t pages = pages_of(paged, paged->length);
    paged->header_in = paged->epoch;
    paged->loaded = pages - 1;
    nothing_left(paged);
    for (uint64_t page = 1; page < pages; page++) {
        uint64_t bytes;
        const uint8_t *at = page_bytes_at(paged, page, &bytes);
        paged->read_in[page] = paged->epoch;
        if (!is_zero(at, bytes))
            mark(paged, page);
    }
}

/* Empties the shadow tables, then writes what is dirty. */
static int write_anew(cuckoo_paged *paged)
{
    int rc = cuckoo_paged_error(paged);
    paged->has_written |= rc == SQLITE_OK;
    if (rc == SQLITE_OK)
        rc = cuckoo_shadow_empty(&paged->shadow);
    if (rc == SQLITE_OK)
        rc = cuckoo_paged_write(paged);
    if (rc != SQLITE_OK)
        cuckoo_paged_forget(paged);
    return rc;
}

int cuckoo_paged_replace(cuckoo_paged *paged, uint8_t *bytes, uint64_t length)
{
    const char *why;
    paged->has_written = false;
    int rc = make_room(paged, length);
    if (rc != SQLITE_OK) {
        cuckoo_block_resize(bytes, 0, NULL);
        return rc;
    }
    cuckoo_block_resize(paged->image, 0, NULL);
    cuckoo_block_own(bytes, paged);
    paged->image = bytes;
    open_writable(paged, &why); /* is sound */
    mark_all(paged);
    return write_anew(paged);
}

int cuckoo_paged_clear(cuckoo_paged *paged)
{
    cf_geometry shape = paged->filter.geometry;
    nothing_left(paged);
    paged->has_written = true;
    int rc = cuckoo_shadow_empty(&paged->shadow);
    if (rc == SQLITE_OK)
        rc = write_empty(paged, &shape);
    cuckoo_paged_forget(paged);
    return rc;
}

/* Only pages that are not zeros are copied: most of a large filter may be zeros. */
void cuckoo_paged_copy(cuckoo_paged *paged, uint8_t *zeros)
{
    uint64_t from = CF_HEADER_BYTES, length = paged->filter.length;
    cf_seal(&paged->filter);
    memcpy(zeros, paged->image, CF_HEADER_BYTES);
    while ((from = skip(paged, from)) < length && paged->rc == SQLITE_OK) {
        uint64_t bytes, page = page_at(paged, from);
        need(paged, from, from + 1);
        const uint8_t *at = page_bytes_at(paged, page, &bytes);
        memcpy(zeros + (at - paged->image), at, bytes);
        from = (uint64_t)(at - paged->image) + bytes;
    }
}

/* ---- coming and going ---- */

int cuckoo_paged_init(cuckoo_paged *paged, sqlite3 *db, const char *schema, const char *table)
{
    *paged = (cuckoo_paged){.epoch = 1};
    paged->hooks = (cf_pages){.need = need, .change = change, .skip = skip, .context = paged};
    return cuckoo_shadow_init(&paged->shadow, db, schema, table);
}

void cuckoo_paged_free(cuckoo_paged *paged)
{
    cuckoo_shadow_free(&paged->shadow);
    cuckoo_block_resize(paged->image, 0, NULL);
    free(paged->read_in);
    cuckoo_dirty_free(&paged->dirty);
}

int cuckoo_paged_create(cuckoo_paged *paged, const cf_geometry *shape)
{
    uint8_t *image = cuckoo_block_zeros(cf_geometry_bytes(shape));
    if (image == NULL)
        return SQLITE_TOOBIG; /* it could never be used */
    cuckoo_block_plain(image, 0);
    int rc = cuckoo_shadow_create(&paged->shadow, &paged->page_bytes);
    return rc == SQLITE_OK ? write_empty(paged, shape) : rc;
}
