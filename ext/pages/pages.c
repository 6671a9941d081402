/* SPDX-License-Identifier: MIT */
#include "pages.h"

#include "../sqlite/block.h"
#include "../sqlite/sql.h"

#include "../../src/base/bits.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    AT_LENGTH = CF_HEADER_BYTES,
    AT_PAGE_BYTES = AT_LENGTH + 8,
    AT_LEFT = AT_PAGE_BYTES + 4,
    AT_UNMATCHED = AT_LEFT + 8,
    AT_RANDOM = AT_UNMATCHED + 8,
    AT_LOG = AT_RANDOM + 8,
    AT_FLAGS = AT_LOG + 8,
    HEADER_ROW = AT_FLAGS + 1,
    FLAG_AGES = 1,
    AT_KEEP = HEADER_ROW,
    AT_SHIFT = AT_KEEP + 8,
    AT_PRESENT = AT_SHIFT + 8,
    AGEING_ROW = AT_PRESENT + 8,
    LEAST_PAGE = 64, /* bytes */
    MOST_PAGE = 1 << 16
};

/* ---- the header ---- */

/* Did a later version write the row? It has more in it, other flags, or another header of the filter. */
static bool is_newer(const uint8_t *row, uint64_t length, cf_status status)
{
    return status == CF_NEWER ||
           (status == CF_OK &&
            (row[AT_FLAGS] > FLAG_AGES || length > (row[AT_FLAGS] ? AGEING_ROW : HEADER_ROW)));
}

static bool is_sound(const uint8_t *row, uint64_t length, const cf_geometry *geometry)
{
    uint32_t page_bytes = (uint32_t)cf_load64(row + AT_PAGE_BYTES);
    const uint64_t most = cf_low_bits(48); /* of times and counts, as in the header of a filter */
    return length == (row[AT_FLAGS] ? AGEING_ROW : HEADER_ROW) &&
           (geometry->epochs != 0) == row[AT_FLAGS] && geometry->value_bits == 0 &&
           cf_load64(row + AT_LEFT) <= most && cf_load64(row + AT_KEEP) <= most &&
           cf_load64(row + AT_PRESENT) <= most && page_bytes >= LEAST_PAGE && page_bytes <= MOST_PAGE;
}

static int open_image(cuckoo_paged *paged, const uint8_t *row)
{
    const char *why;
    uint64_t length = cf_load64(row + AT_LENGTH);
    paged->page_bytes = (uint32_t)cf_load64(row + AT_PAGE_BYTES);
    int rc = cuckoo_image_begin(paged, NULL, length);
    if (rc != SQLITE_OK)
        return rc;
    memcpy(paged->image, row, CF_HEADER_BYTES);
    if (cuckoo_image_open(paged, length, &why) != CF_OK)
        return cuckoo_say(&paged->shadow.damage, SQLITE_CORRUPT_VTAB, "%s", why);
    paged->left = cf_load64(row + AT_LEFT);
    paged->unmatched = cf_load64(row + AT_UNMATCHED);
    paged->generation = cf_load64(row + AT_RANDOM);
    cuckoo_shadow_set_log(&paged->shadow, (int64_t)cf_load64(row + AT_LOG));
    paged->age.keep = cf_load64(row + AT_KEEP);
    paged->age.shift = cf_load64(row + AT_SHIFT);
    paged->age.present = cf_load64(row + AT_PRESENT);
    paged->loaded = true;
    return SQLITE_OK;
}

int cuckoo_paged_load(cuckoo_paged *paged)
{
    uint8_t row[AGEING_ROW] = {0};
    uint64_t length;
    cf_filter header;
    const char *why;
    char **damage = &paged->shadow.damage;
    if (paged->loaded)
        return SQLITE_OK;
    int rc = cuckoo_shadow_read(&paged->shadow, 0, row, sizeof row, &length);
    if (rc != SQLITE_OK)
        return rc;
    if (length == 0)
        return cuckoo_say(damage, SQLITE_CORRUPT_VTAB, "its header is missing");
    uint64_t bytes = cf_load64(row + AT_LENGTH);
    if (bytes > SIZE_MAX)
        return SQLITE_NOMEM;
    cf_status status = cf_open(&header, row, (size_t)bytes, &why); /* it reads no more than the header */
    if (is_newer(row, length, status))
        return cuckoo_say(damage, CUCKOO_NEWER, "%s",
                          status == CF_NEWER ? why : CUCKOO_LATER("unknown parts of the header row"));
    return status == CF_OK && is_sound(row, length, &header.geometry)
               ? open_image(paged, row)
               : cuckoo_shadow_bad_row(&paged->shadow, 0);
}

static int write_header_row(cuckoo_paged *paged)
{
    uint8_t row[AGEING_ROW] = {0};
    bool ages = paged->filter.geometry.epochs != 0;
    sqlite3_randomness(sizeof paged->generation, &paged->generation);
    cf_seal(&paged->filter);
    memcpy(row, paged->image, CF_HEADER_BYTES);
    cf_store64(row + AT_LENGTH, paged->filter.length);
    cf_store64(row + AT_PAGE_BYTES, paged->page_bytes); /* the next line overwrites half of it */
    cf_store64(row + AT_LEFT, paged->left);
    cf_store64(row + AT_UNMATCHED, paged->unmatched);
    cf_store64(row + AT_RANDOM, paged->generation);
    cf_store64(row + AT_LOG, (uint64_t)paged->shadow.log);
    row[AT_FLAGS] = ages ? FLAG_AGES : 0;
    cf_store64(row + AT_KEEP, paged->age.keep);
    cf_store64(row + AT_SHIFT, paged->age.shift);
    cf_store64(row + AT_PRESENT, paged->age.present);
    return cuckoo_shadow_write(&paged->shadow, 0, row, ages ? AGEING_ROW : HEADER_ROW);
}

/* ---- using it ---- */

void cuckoo_paged_forget(cuckoo_paged *paged)
{
    paged->loaded = paged->dirty = paged->replaced = paged->has_reader = false;
}

int cuckoo_paged_compare(cuckoo_paged *paged)
{
    uint8_t row[AT_RANDOM + 8] = {0};
    uint64_t length;
    if (!paged->loaded)
        return SQLITE_OK;
    int rc = cuckoo_shadow_read(&paged->shadow, 0, row, sizeof row, &length);
    if (rc != SQLITE_OK || cf_load64(row + AT_RANDOM) != paged->generation)
        cuckoo_paged_forget(paged);
    return rc == SQLITE_CORRUPT_VTAB ? SQLITE_OK : rc; /* reading the header tells more */
}

int cuckoo_paged_has_log(sqlite3 *db, const char *schema, const char *table, int64_t log, bool *has)
{
    uint8_t bytes[8];
    sqlite3_stmt *row;
    cf_store64(bytes, (uint64_t)log);
    int rc = cuckoo_sql_prepare(
        db, &row, "SELECT 1 FROM \"%w\".\"%w_page\" WHERE no = 0 AND substr(data, %d, 8) = ?1", schema,
        table, AT_LOG + 1);
    rc = rc ? rc : sqlite3_bind_blob(row, 1, bytes, sizeof bytes, SQLITE_STATIC);
    *has = rc == SQLITE_OK && sqlite3_step(row) == SQLITE_ROW;
    return cuckoo_sql_end(row, rc);
}

/* When nearly all pages have been read, the others are read, too. */
const cf_filter *cuckoo_paged_reader(cuckoo_paged *paged)
{
    enum { MOST = 256 /* pages at a time, so that it does not take long */ };
    assert(paged->loaded);
    if (paged->has_reader)
        return &paged->reader;
    if (paged->absent > paged->pages / 8 || !cuckoo_image_complete(paged, MOST))
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

/* The image may have more pages than the filter. */
static int write_pages(cuckoo_paged *paged)
{
    int rc = SQLITE_OK;
    uint64_t pages = cuckoo_image_pages(paged, paged->filter.length), page = 0;
    cuckoo_image_end(paged, paged->filter.length);
    while (rc == SQLITE_OK && (page = cuckoo_image_clean(paged, page + 1)) < pages)
        rc = cuckoo_shadow_write(&paged->shadow, (int64_t)page, cuckoo_image_page(paged, page),
                                 paged->page_bytes);
    return rc;
}

int cuckoo_paged_write(cuckoo_paged *paged)
{
    assert(paged->loaded);
    int rc = paged->replaced ? cuckoo_shadow_run(&paged->shadow, CUCKOO_EMPTY_PAGES) : SQLITE_OK;
    rc = rc ? rc : write_pages(paged);
    rc = rc ? rc : write_header_row(paged);
    if (rc == SQLITE_OK)
        paged->replaced = paged->dirty = false;
    return rc;
}

/* The filter in the image is opened, and has nothing of the former one. */
static int begin_anew(cuckoo_paged *paged, uint64_t length)
{
    const char *why;
    paged->unmatched = 0;
    paged->loaded = paged->dirty = paged->replaced = true;
    return cuckoo_image_open(paged, length, &why) == CF_OK
               ? SQLITE_OK
               : cuckoo_say(&paged->shadow.damage, SQLITE_CORRUPT_VTAB, "%s", why);
}

int cuckoo_paged_replace(cuckoo_paged *paged, uint8_t *bytes, uint64_t length)
{
    int rc = cuckoo_image_begin(paged, bytes, length);
    return rc ? rc : begin_anew(paged, length);
}

/* Its pages are all zeros and need no rows. */
int cuckoo_paged_clear(cuckoo_paged *paged, const cf_geometry *shape)
{
    cf_filter blank;
    uint64_t length = cf_geometry_bytes(shape);
    int rc = cuckoo_image_begin(paged, NULL, length);
    if (rc != SQLITE_OK)
        return rc;
    cf_create_in_zeros(&blank, shape, paged->image);
    paged->age = (cuckoo_age){.keep = paged->age.keep};
    return begin_anew(paged, length);
}

/* ---- all of it ---- */

int cuckoo_paged_check(cuckoo_paged *paged)
{
    int64_t odd = -1, pages = (int64_t)cuckoo_image_pages(paged, paged->filter.length);
    cuckoo_shadow *shadow = &paged->shadow;
    int rc = cuckoo_shadow_integer(shadow, CUCKOO_ODD_PAGE, (int64_t[]){pages, paged->page_bytes}, &odd);
    if (rc == SQLITE_OK && odd > 0 && odd < pages)
        return cuckoo_shadow_bad_row(shadow, odd);
    if (rc == SQLITE_OK && odd != -1)
        rc = cuckoo_say(&shadow->damage, SQLITE_CORRUPT_VTAB,
                        "row %lld of %s_page does not belong to it", (sqlite3_int64)odd, shadow->table);
    return rc;
}

int cuckoo_paged_complete(cuckoo_paged *paged)
{
    assert(paged->loaded);
    cf_seal(&paged->filter);
    return cuckoo_image_complete(paged, UINT64_MAX) ? SQLITE_OK : paged->rc;
}

/* ---- coming and going ---- */

void cuckoo_paged_free(cuckoo_paged *paged)
{
    cuckoo_shadow_free(&paged->shadow);
    cuckoo_block_resize(NULL, paged->image, 0);
    cuckoo_block_resize(NULL, paged->state, 0);
}

int cuckoo_paged_create(cuckoo_paged *paged, const cf_geometry *shape, uint64_t keep)
{
    paged->age.keep = keep;
    cuckoo_shadow_new_log(&paged->shadow);
    int rc = cuckoo_shadow_create(&paged->shadow, &paged->page_bytes);
    rc = rc ? rc : cuckoo_paged_clear(paged, shape);
    return rc ? rc : cuckoo_paged_write(paged);
}
