/* SPDX-License-Identifier: MIT */
/*
** header.c - the header row of a filter table, which pages.h describes.
*/
#include "../sqlite/sql.h"
#include "pages.h"

#include "../../src/base/bits.h"

#include <assert.h>
#include <string.h>

enum {
    AT_LENGTH = CF_HEADER_BYTES,
    AT_PAGE_BYTES = AT_LENGTH + 8,
    AT_LEFT = AT_PAGE_BYTES + 4,
    AT_UNMATCHED = AT_LEFT + 8,
    AT_GENERATION = AT_UNMATCHED + 8,
    AT_LOG = AT_GENERATION + 8,
    AT_FLAGS = AT_LOG + 8,
    HEADER_ROW = AT_FLAGS + 1,
    FLAG_EXPIRES = 1,
    AT_KEEP = HEADER_ROW,
    AT_OFFSET = AT_KEEP + 8,
    AT_LATEST = AT_OFFSET + 8,
    EXPIRING_ROW = AT_LATEST + 8,
    LEAST_PAGE = 64, /* bytes */
    MOST_PAGE = 1 << 16
};

/* True if a later version wrote the row: it has another filter header, other flags or more bytes. */
static bool is_newer(const uint8_t *row, uint64_t length, cf_status status)
{
    return status == CF_NEWER ||
           (status == CF_OK &&
            (row[AT_FLAGS] > FLAG_EXPIRES || length > (row[AT_FLAGS] ? EXPIRING_ROW : HEADER_ROW)));
}

static bool is_sound(const uint8_t *row, uint64_t length, const cf_geometry *geometry, bool rowids)
{
    uint32_t page_bytes = (uint32_t)cf_load64(row + AT_PAGE_BYTES);
    const uint64_t most = cf_low_bits(48); /* of times and counts, as in the header of a filter */
    return length == (row[AT_FLAGS] ? EXPIRING_ROW : HEADER_ROW) &&
           (geometry->epochs != 0) == row[AT_FLAGS] && (geometry->value_bits != 0) == rowids &&
           cf_load64(row + AT_LEFT) <= most && cf_load64(row + AT_KEEP) <= most &&
           cf_load64(row + AT_LATEST) <= most && page_bytes >= LEAST_PAGE && page_bytes <= MOST_PAGE;
}

static int load_row(cuckoo_paged *paged, const uint8_t *row)
{
    uint64_t length = cf_load64(row + AT_LENGTH);
    paged->page_bytes = (uint32_t)cf_load64(row + AT_PAGE_BYTES);
    int rc = cuckoo_paged_make_room(paged, NULL, length);
    if (rc != SQLITE_OK)
        return rc;
    memcpy(paged->image, row, CF_HEADER_BYTES);
    rc = cuckoo_paged_open(paged, length);
    if (rc != SQLITE_OK)
        return rc;
    paged->left = cf_load64(row + AT_LEFT);
    paged->unmatched = cf_load64(row + AT_UNMATCHED);
    paged->generation = cf_load64(row + AT_GENERATION);
    cuckoo_shadow_set_log(&paged->shadow, (int64_t)cf_load64(row + AT_LOG));
    paged->age.keep = cf_load64(row + AT_KEEP);
    paged->age.offset = cf_load64(row + AT_OFFSET);
    paged->age.latest = cf_load64(row + AT_LATEST);
    paged->loaded = true;
    return SQLITE_OK;
}

int cuckoo_paged_load(cuckoo_paged *paged)
{
    uint8_t row[EXPIRING_ROW] = {0};
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
    cf_status status = cf_open(&header, row, (size_t)bytes, &why); /* it reads the header alone */
    if (is_newer(row, length, status))
        return cuckoo_say(damage, CUCKOO_NEWER, "%s",
                          status == CF_NEWER ? why : CUCKOO_LATER("unknown parts of the header row"));
    return status == CF_OK && is_sound(row, length, &header.geometry, paged->shadow.rowids)
               ? load_row(paged, row)
               : cuckoo_shadow_bad_row(&paged->shadow, 0);
}

static int write_header(cuckoo_paged *paged)
{
    uint8_t row[EXPIRING_ROW] = {0};
    bool expires = paged->filter.geometry.epochs != 0;
    sqlite3_randomness(sizeof paged->generation, &paged->generation);
    cf_seal(&paged->filter);
    memcpy(row, paged->image, CF_HEADER_BYTES);
    cf_store64(row + AT_LENGTH, paged->filter.length);
    cf_store64(row + AT_PAGE_BYTES, paged->page_bytes); /* the next line overwrites half of it */
    cf_store64(row + AT_LEFT, paged->left);
    cf_store64(row + AT_UNMATCHED, paged->unmatched);
    cf_store64(row + AT_GENERATION, paged->generation);
    cf_store64(row + AT_LOG, (uint64_t)paged->shadow.log);
    row[AT_FLAGS] = expires ? FLAG_EXPIRES : 0;
    cf_store64(row + AT_KEEP, paged->age.keep);
    cf_store64(row + AT_OFFSET, paged->age.offset);
    cf_store64(row + AT_LATEST, paged->age.latest);
    return cuckoo_shadow_write(&paged->shadow, 0, row, expires ? EXPIRING_ROW : HEADER_ROW);
}

int cuckoo_paged_write(cuckoo_paged *paged)
{
    assert(paged->loaded);
    int rc = cuckoo_paged_write_pages(paged);
    rc = rc ? rc : write_header(paged);
    if (rc == SQLITE_OK)
        paged->replaced = paged->dirty = false;
    return rc;
}

int cuckoo_paged_create(cuckoo_paged *paged, const cf_geometry *shape, uint64_t keep)
{
    paged->age.keep = keep;
    cuckoo_shadow_new_log(&paged->shadow);
    int rc = cuckoo_shadow_create(&paged->shadow, &paged->page_bytes);
    rc = rc ? rc : cuckoo_paged_clear(paged, shape);
    return rc ? rc : cuckoo_paged_write(paged);
}

int cuckoo_paged_compare(cuckoo_paged *paged)
{
    uint8_t row[AT_GENERATION + 8] = {0};
    uint64_t length;
    if (!paged->loaded)
        return SQLITE_OK;
    int rc = cuckoo_shadow_read(&paged->shadow, 0, row, sizeof row, &length);
    if (rc != SQLITE_OK || cf_load64(row + AT_GENERATION) != paged->generation)
        cuckoo_paged_forget(paged);
    return rc == SQLITE_CORRUPT_VTAB ? SQLITE_OK : rc; /* cuckoo_paged_load reports it */
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
