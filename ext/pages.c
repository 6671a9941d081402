/* SPDX-License-Identifier: MIT */
#include "pages.h"

#include "block.h"
#include "sql.h"

#include "../src/bits.h"
#include "../src/format.h"

#include <assert.h>
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

/* ---- what is stale ---- */

void cuckoo_paged_forget(cuckoo_paged *paged)
{
    cuckoo_image_forget(paged);
    paged->header_dirty = paged->rows_ahead = false;
}

/* ---- the header ---- */

/* Does this version know all that a row of so many bytes says? SQLITE_OK: its parts may be read. */
static int check_row(const uint8_t *row, uint64_t bytes, const char **why)
{
    cf_header header;
    *why = "its header is missing";
    if (bytes < HEADER_ROW)
        return SQLITE_CORRUPT_VTAB;
    *why = "its header has been changed";
    cf_status status = cf_header_decode(row, cf_load64(row + AT_LENGTH), &header, why);
    if (status != CF_OK)
        return status == CF_NEWER ? CUCKOO_NEWER : SQLITE_CORRUPT_VTAB;
    *why = "made by a later version (unknown parts of the header row); use the version that wrote it";
    return bytes > HEADER_ROW || row[AT_DOUBT] > 1 ? CUCKOO_NEWER : SQLITE_OK;
}

static int open_image(cuckoo_paged *paged, const uint8_t *row, const char **why)
{
    uint64_t length = cf_load64(row + AT_LENGTH);
    uint32_t page_bytes = (uint32_t)cf_load64(row + AT_PAGE_BYTES);
    *why = "its header has been changed";
    if (page_bytes < 64)
        return SQLITE_CORRUPT_VTAB;
    paged->adds = cf_load64(row + AT_ADDS);
    paged->deletes = cf_load64(row + AT_DELETES);
    paged->doubt = row[AT_DOUBT] != 0;
    cuckoo_image_set_pages(paged, page_bytes);
    int rc = cuckoo_image_resize(paged, length);
    if (rc != SQLITE_OK)
        return rc;
    memcpy(paged->image, row, CF_HEADER_BYTES);
    if (cuckoo_image_open(paged, why) != CF_OK)
        return SQLITE_CORRUPT_VTAB;
    paged->stored = cuckoo_image_pages(paged, length);
    paged->header_in = paged->epoch;
    return SQLITE_OK;
}

static int read_header(cuckoo_paged *paged, const char **why)
{
    uint8_t row[HEADER_ROW + 1]; /* one byte more tells a longer row */
    uint64_t bytes;
    int rc = cuckoo_shadow_read(&paged->shadow, 0, row, sizeof row, &bytes);
    if (rc == SQLITE_OK)
        rc = check_row(row, bytes, why);
    return rc == SQLITE_OK ? open_image(paged, row, why) : rc;
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
    return cuckoo_paged_loaded(paged) ? SQLITE_OK : read_header(paged, why);
}

/* When nearly all pages have been read, the others are read, too. */
const cf_filter *cuckoo_paged_reader(cuckoo_paged *paged)
{
    assert(cuckoo_paged_loaded(paged));
    if (paged->has_reader)
        return &paged->reader;
    uint64_t pages = cuckoo_image_pages(paged, paged->length);
    if (paged->loaded < pages - pages / 8 - 1 || !cuckoo_image_complete(paged) || paged->rc != SQLITE_OK)
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

static bool all_zeros(const uint8_t *bytes, uint64_t length)
{
    return length == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, cf_in_memory(length - 1)) == 0);
}

/* A page that growth has added and that is all zeros needs no row. `stored`: as it was before. */
static int write_page(cuckoo_paged *paged, uint64_t page, uint64_t stored)
{
    uint64_t bytes;
    const uint8_t *at = cuckoo_image_page(paged, page, &bytes);
    if (page >= stored && all_zeros(at, bytes))
        return SQLITE_OK;
    paged->has_written = true;
    return cuckoo_shadow_write(&paged->shadow, (int64_t)page, at, bytes);
}

/* Dirty pages behind the end are of growth that was taken back. After an error, too, any page may
** have a row. */
static int write_pages(cuckoo_paged *paged)
{
    int rc = SQLITE_OK;
    uint64_t pages = cuckoo_image_pages(paged, paged->length), stored = paged->stored;
    paged->stored = pages > stored ? pages : stored;
    for (uint64_t i = 0; rc == SQLITE_OK && i < paged->dirty.count; i++)
        if (paged->dirty.pages[i] < pages)
            rc = write_page(paged, paged->dirty.pages[i], stored);
    return rc;
}

int cuckoo_paged_write(cuckoo_paged *paged)
{
    assert(cuckoo_paged_loaded(paged));
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
    uint64_t pages = cuckoo_image_pages(paged, paged->length);
    paged->header_in = paged->epoch;
    paged->loaded = pages - 1;
    paged->whole = pages;
    paged->stored = 0;
    nothing_left(paged);
    for (uint64_t page = 1; page < pages; page++) {
        uint64_t bytes;
        const uint8_t *at = cuckoo_image_page(paged, page, &bytes);
        paged->read_in[page] = paged->epoch;
        if (!all_zeros(at, bytes))
            cuckoo_image_mark(paged, page);
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
    int rc = cuckoo_image_resize(paged, length);
    if (rc != SQLITE_OK) {
        cuckoo_block_resize(bytes, 0, NULL);
        return rc;
    }
    cuckoo_image_put(paged, bytes);
    cuckoo_image_open(paged, &why); /* is sound */
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
    assert(cuckoo_paged_loaded(paged));
    uint64_t from = CF_HEADER_BYTES, length = paged->filter.length;
    cf_seal(&paged->filter);
    memcpy(zeros, paged->image, CF_HEADER_BYTES);
    while ((from = cuckoo_image_skip(paged, from)) < length && paged->rc == SQLITE_OK) {
        uint64_t bytes, page = cuckoo_image_page_at(paged, from);
        cuckoo_image_need(paged, from, from + 1);
        const uint8_t *at = cuckoo_image_page(paged, page, &bytes);
        memcpy(zeros + (at - paged->image), at, cf_in_memory(bytes));
        from = (uint64_t)(at - paged->image) + bytes;
    }
}

/* ---- coming and going ---- */

int cuckoo_paged_init(cuckoo_paged *paged, sqlite3 *db, const char *schema, const char *table)
{
    cuckoo_image_init(paged);
    return cuckoo_shadow_init(&paged->shadow, db, schema, table);
}

void cuckoo_paged_free(cuckoo_paged *paged)
{
    cuckoo_shadow_free(&paged->shadow);
    cuckoo_image_free(paged);
}

int cuckoo_paged_create(cuckoo_paged *paged, const cf_geometry *shape)
{
    enum { LARGE = 1 << 20 }; /* a shorter one is refused only where all memory is used up */
    uint64_t bytes = cf_geometry_bytes(shape);
    uint8_t *image = cuckoo_block_zeros(bytes);
    if (image == NULL)
        return bytes < LARGE ? SQLITE_NOMEM : SQLITE_TOOBIG; /* it could never be used */
    cuckoo_block_plain(image, 0);
    int rc = cuckoo_shadow_create(&paged->shadow, &paged->page_bytes);
    return rc == SQLITE_OK ? write_empty(paged, shape) : rc;
}
