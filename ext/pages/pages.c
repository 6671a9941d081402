/* SPDX-License-Identifier: MIT */
#include "pages.h"

#include "../sqlite/block.h"
#include "../sqlite/sql.h"

#include "../../src/base/bits.h"
#include "../../src/shape/format.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    AT_LENGTH = CF_HEADER_BYTES,
    AT_PAGE_BYTES = AT_LENGTH + 8,
    AT_ADDS = AT_PAGE_BYTES + 4,
    AT_UNMATCHED = AT_ADDS + 16, /* and the doubts, in the higher half */
    AT_CHECKSUMS = AT_UNMATCHED + 8,
    AT_RANDOM = AT_CHECKSUMS + 8,
    AT_LOG = AT_RANDOM + 8,
    AT_FLAGS = AT_LOG + 8,
    HEADER_ROW = AT_FLAGS + 1,
    FLAG_AGES = 1,
    AT_KEEP = HEADER_ROW,
    AT_BEGAN = AT_KEEP + 8,
    AT_LAST = AT_BEGAN + 8,
    AT_SWEPT = AT_LAST + 8 * CUCKOO_NUMBERS,
    AT_NUMBERS = AT_SWEPT + 8, /* the clean ones, and the dead behind */
    AGEING_ROW = AT_NUMBERS + 8,
    LEAST_PAGE = 64 /* bytes */
};

/* ---- what is stale ---- */

void cuckoo_paged_forget(cuckoo_paged *paged)
{
    cuckoo_image_forget(paged);
    paged->header_dirty = false;
}

/* ---- the header ---- */

/* A number that is only told has 4 bytes. */
static uint64_t half(uint64_t number)
{
    return number < UINT32_MAX ? number : UINT32_MAX;
}

/* Takes what stands behind the header of the filter. */
static void take_numbers(cuckoo_paged *paged, const uint8_t *row)
{
    paged->adds = (cuckoo_count){cf_load64(row + AT_ADDS), cf_load64(row + AT_ADDS + 8)};
    paged->unmatched = (uint32_t)cf_load64(row + AT_UNMATCHED);
    paged->doubts = cf_load64(row + AT_UNMATCHED) >> 32;
    paged->checksums = paged->unread = cf_load64(row + AT_CHECKSUMS);
    cuckoo_shadow_set_log(&paged->shadow, (int64_t)cf_load64(row + AT_LOG));
}

static void take_age(cuckoo_age *age, const uint8_t *row)
{
    age->keep = cf_load64(row + AT_KEEP);
    age->began = cf_load64(row + AT_BEGAN);
    for (unsigned i = 0; i < CUCKOO_NUMBERS; i++)
        age->last[i] = cf_load64(row + AT_LAST + 8 * i);
    age->swept = cf_load64(row + AT_SWEPT);
    age->clean = (uint16_t)cf_load64(row + AT_NUMBERS);
    age->dead = (uint16_t)(cf_load64(row + AT_NUMBERS) >> 16);
}

static void put_age(const cuckoo_age *age, uint8_t *row)
{
    row[AT_FLAGS] = FLAG_AGES;
    cf_store64(row + AT_KEEP, age->keep);
    cf_store64(row + AT_BEGAN, age->began);
    for (unsigned i = 0; i < CUCKOO_NUMBERS; i++)
        cf_store64(row + AT_LAST + 8 * i, age->last[i]);
    cf_store64(row + AT_SWEPT, age->swept);
    cf_store64(row + AT_NUMBERS, age->clean | (uint64_t)age->dead << 16);
}

static int open_image(cuckoo_paged *paged, const uint8_t *row, const char **why)
{
    cf_header header;
    uint64_t length = cf_load64(row + AT_LENGTH);
    uint32_t page_bytes = (uint32_t)cf_load64(row + AT_PAGE_BYTES);
    *why = "its header has been changed";
    if (page_bytes < LEAST_PAGE || cf_load64(row + AT_ADDS) > CF_ITEMS_MAX ||
        cf_header_decode(row, length, &header, why) != CF_OK ||
        (header.geometry.epochs != 0) != row[AT_FLAGS] || header.geometry.value_bits != 0)
        return SQLITE_CORRUPT_VTAB;
    paged->page_bytes = page_bytes;
    int rc = cuckoo_image_resize(paged, length);
    if (rc != SQLITE_OK)
        return rc;
    memcpy(paged->image, row, CF_HEADER_BYTES);
    if (cuckoo_image_open(paged, why) != CF_OK)
        return SQLITE_CORRUPT_VTAB;
    take_numbers(paged, row);
    take_age(&paged->age, row);
    paged->stored = cuckoo_image_pages(paged, length);
    paged->header_in = paged->epoch;
    return SQLITE_OK;
}

/* Did a later version write the row? It may have another form; a sound row may have more in it. */
static bool is_newer(const uint8_t *row, uint64_t bytes, bool sound, const char **why)
{
    cf_header header;
    const char *what = CF_LATER("unknown parts of the header row");
    bool is =
        (sound && (bytes > (row[AT_FLAGS] ? AGEING_ROW : HEADER_ROW) || row[AT_FLAGS] > FLAG_AGES)) ||
        cf_header_decode(row, CF_HEADER_BYTES, &header, &what) == CF_NEWER;
    *why = is ? what : *why;
    return is;
}

static int read_header(cuckoo_paged *paged, const char **why)
{
    uint8_t bytes[AGEING_ROW] = {0};
    cuckoo_row row;
    int rc = cuckoo_shadow_read(&paged->shadow, 0, bytes, sizeof bytes, &row);
    if (rc == SQLITE_OK && row.length == 0)
        rc = cuckoo_say(&paged->shadow.damage, SQLITE_CORRUPT_VTAB, "its header is missing");
    else if (rc == SQLITE_OK && row.length < (bytes[AT_FLAGS] == FLAG_AGES ? AGEING_ROW : HEADER_ROW))
        rc = cuckoo_shadow_bad_row(&paged->shadow, 0);
    if (rc == SQLITE_CORRUPT_VTAB)
        *why = cuckoo_shadow_why(&paged->shadow);
    if ((rc == SQLITE_OK || (rc == SQLITE_CORRUPT_VTAB && row.length >= CF_HEADER_BYTES)) &&
        is_newer(bytes, row.length, rc == SQLITE_OK, why))
        return CUCKOO_NEWER;
    paged->generation = row.checksum;
    return rc == SQLITE_OK ? open_image(paged, bytes, why) : rc;
}

static int write_header_row(cuckoo_paged *paged, const uint8_t *header, uint64_t length, bool ages)
{
    uint8_t row[AGEING_ROW] = {0};
    uint64_t random;
    sqlite3_randomness(sizeof random, &random);
    memcpy(row, header, CF_HEADER_BYTES);
    cf_store64(row + AT_LENGTH, length);
    cf_store64(row + AT_PAGE_BYTES, paged->page_bytes); /* the next line overwrites half of it */
    cf_store64(row + AT_ADDS, paged->adds.copies);
    cf_store64(row + AT_ADDS + 8, paged->adds.digest);
    cf_store64(row + AT_UNMATCHED, half(paged->unmatched) | half(paged->doubts) << 32);
    cf_store64(row + AT_CHECKSUMS, paged->checksums);
    cf_store64(row + AT_RANDOM, random);
    cf_store64(row + AT_LOG, (uint64_t)paged->shadow.log);
    if (ages)
        put_age(&paged->age, row);
    length = ages ? AGEING_ROW : HEADER_ROW;
    return cuckoo_shadow_write(&paged->shadow, 0, row, length, length, &paged->generation);
}

/* Writes an empty filter. Its pages are all zeros and need no rows. */
static int write_empty(cuckoo_paged *paged, const cf_geometry *shape)
{
    uint8_t encoded[CF_HEADER_BYTES];
    cf_header header = {.geometry = *shape, .reserved = CF_RESERVED_MIN};
    cf_header_encode(&header, encoded);
    paged->age = (cuckoo_age){.keep = paged->age.keep, .clean = 0xfffe};
    return write_header_row(paged, encoded, cf_geometry_bytes(shape), shape->epochs != 0);
}

/* ---- using it ---- */

int cuckoo_paged_load(cuckoo_paged *paged, const char **why)
{
    *why = "its header cannot be read";
    return cuckoo_paged_is_loaded(paged) ? SQLITE_OK : read_header(paged, why);
}

int cuckoo_paged_compare(cuckoo_paged *paged)
{
    uint8_t nothing[1];
    cuckoo_row row;
    if (!cuckoo_paged_is_loaded(paged))
        return SQLITE_OK;
    int rc = cuckoo_shadow_read(&paged->shadow, 0, nothing, 0, &row);
    if (rc != SQLITE_OK || row.checksum != paged->generation)
        cuckoo_paged_forget(paged);
    return rc == SQLITE_CORRUPT_VTAB ? SQLITE_OK : rc; /* reading the header tells more */
}

/* When nearly all pages have been read, the others are read, too. */
const cf_filter *cuckoo_paged_reader(cuckoo_paged *paged)
{
    assert(cuckoo_paged_is_loaded(paged));
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

static bool all_zeros(const uint8_t *bytes, uint64_t length)
{
    return length == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, cf_in_memory(length - 1)) == 0);
}

/* A page that growth has added and that is all zeros needs no row. `stored`: as it was before. */
static int write_page(cuckoo_paged *paged, uint64_t page, uint64_t stored)
{
    uint64_t bytes, checksum;
    const uint8_t *at = cuckoo_image_page(paged, page, &bytes);
    if (page >= stored && all_zeros(at, bytes))
        return SQLITE_OK;
    int rc = cuckoo_shadow_write(&paged->shadow, (int64_t)page, at, bytes, paged->page_bytes, &checksum);
    if (rc != SQLITE_OK)
        return rc;
    paged->has_written = true;
    paged->checksums += checksum - paged->page[page].checksum;
    paged->page[page].checksum = checksum;
    return rc;
}

/* Dirty pages behind the end are of growth that was taken back. After an error, too, any page may
** have a row. */
static int write_pages(cuckoo_paged *paged)
{
    int rc = SQLITE_OK;
    uint64_t pages = cuckoo_image_pages(paged, paged->length), stored = paged->stored;
    paged->stored = pages > stored ? pages : stored;
    for (uint64_t page = paged->first_dirty; rc == SQLITE_OK && page != 0;) {
        uint64_t next = paged->page[page].next;
        if (page < pages)
            rc = write_page(paged, page, stored);
        page = next == page ? 0 : next;
    }
    return rc;
}

int cuckoo_paged_write(cuckoo_paged *paged)
{
    assert(cuckoo_paged_is_loaded(paged));
    paged->length = paged->filter.length;
    int rc = write_pages(paged);
    if (rc != SQLITE_OK)
        return rc;
    cf_seal(&paged->filter);
    rc = write_header_row(paged, paged->image, paged->length, paged->filter.geometry.epochs != 0);
    if (rc != SQLITE_OK)
        return rc;
    paged->has_written = true;
    paged->header_dirty = false;
    cuckoo_image_clean(paged);
    return rc;
}

/* Nothing of the former filter is left to do. */
static void nothing_left(cuckoo_paged *paged)
{
    paged->adds = (cuckoo_count){0, 0};
    paged->unmatched = paged->doubts = 0;
    paged->checksums = paged->unread = 0;
    cuckoo_image_clean(paged);
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
        paged->page[page] = (cuckoo_page){.read_in = paged->epoch};
        if (!all_zeros(at, bytes))
            cuckoo_image_mark(paged, page);
    }
    /* What is known of pages behind the end was of the former filter. */
    for (uint64_t page = pages; page < paged->page_room; page++)
        paged->page[page] = (cuckoo_page){.read_in = 0};
}

/* Empties the shadow tables, then writes what is dirty. */
static int write_anew(cuckoo_paged *paged)
{
    int rc = cuckoo_paged_error(paged);
    paged->has_written |= rc == SQLITE_OK;
    rc = rc ? rc : cuckoo_shadow_empty(&paged->shadow);
    rc = rc ? rc : cuckoo_paged_write(paged);
    if (rc != SQLITE_OK)
        cuckoo_paged_forget(paged);
    return rc;
}

int cuckoo_paged_replace(cuckoo_paged *paged, uint8_t *bytes, uint64_t length)
{
    const char *why;
    paged->has_written = false;
    int rc = cuckoo_image_put(paged, bytes, length);
    if (rc != SQLITE_OK)
        return rc;
    if (cuckoo_image_open(paged, &why) != CF_OK) {
        paged->has_written = true; /* what was dirty is lost */
        cuckoo_paged_forget(paged);
        return cuckoo_say(&paged->shadow.damage, SQLITE_CORRUPT_VTAB, "%s", why);
    }
    mark_all(paged);
    return write_anew(paged);
}

int cuckoo_paged_clear(cuckoo_paged *paged)
{
    cf_geometry shape = paged->filter.geometry;
    nothing_left(paged);
    paged->has_written = true;
    int rc = cuckoo_shadow_empty(&paged->shadow);
    rc = rc ? rc : write_empty(paged, &shape);
    cuckoo_paged_forget(paged);
    return rc;
}

/* ---- checking it ---- */

/* Rows that nothing would read would be in the way of a filter that grows. */
static int check_end(cuckoo_paged *paged)
{
    int64_t end = (int64_t)cuckoo_image_pages(paged, paged->length), row = -1;
    int rc = cuckoo_shadow_integer(&paged->shadow, CUCKOO_NEXT_PAGE, &end, &row);
    if (rc == SQLITE_OK && row >= 0)
        rc = cuckoo_say(&paged->shadow.damage, SQLITE_CORRUPT_VTAB,
                        "row %lld of %s_page is no part of it", (sqlite3_int64)row, paged->shadow.table);
    return rc;
}

/* Reads all pages that have rows or are dirty, however few of them there are, and copies them to `into`
** (NULL: nowhere). */
static void read_all(cuckoo_paged *paged, uint8_t *into)
{
    uint64_t from = CF_HEADER_BYTES, length = paged->filter.length;
    while ((from = cuckoo_image_skip(paged, from)) < length && paged->rc == SQLITE_OK) {
        uint64_t bytes, page = cuckoo_image_page_at(paged, from);
        cuckoo_image_need(paged, from, from + 1);
        const uint8_t *at = cuckoo_image_page(paged, page, &bytes);
        if (into)
            memcpy(into + (at - paged->image), at, cf_in_memory(bytes));
        from = (uint64_t)(at - paged->image) + bytes;
    }
    cuckoo_image_compare(paged);
}

int cuckoo_paged_check(cuckoo_paged *paged)
{
    read_all(paged, NULL);
    int rc = paged->rc; /* the end of the use asks for it, and forgets what was read */
    return rc == SQLITE_OK ? check_end(paged) : rc;
}

void cuckoo_paged_copy(cuckoo_paged *paged, uint8_t *zeros)
{
    assert(cuckoo_paged_is_loaded(paged));
    cf_seal(&paged->filter);
    memcpy(zeros, paged->image, CF_HEADER_BYTES);
    read_all(paged, zeros);
}

/* ---- coming and going ---- */

int cuckoo_paged_init(cuckoo_paged *paged, sqlite3 *db, const char *schema, const char *table)
{
    *paged = (cuckoo_paged){.epoch = 1, .whole = 1};
    return cuckoo_shadow_init(&paged->shadow, db, schema, table);
}

void cuckoo_paged_free(cuckoo_paged *paged)
{
    cuckoo_shadow_free(&paged->shadow);
    cuckoo_image_free(paged);
}

int cuckoo_paged_create(cuckoo_paged *paged, const cf_geometry *shape, uint64_t keep)
{
    paged->age.keep = keep;
    cuckoo_shadow_new_log(&paged->shadow);
    int rc = cuckoo_shadow_create(&paged->shadow, &paged->page_bytes);
    return rc == SQLITE_OK ? write_empty(paged, shape) : rc;
}
