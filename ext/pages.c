#include "pages.h"

#include "block.h"

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

/* Where a page is in the image, and how many of its bytes. */
static uint8_t *page_bytes_at(const cuckoo_paged *paged, uint64_t page, uint64_t *bytes)
{
    uint64_t from = CF_HEADER_BYTES + (page - 1) * paged->page_bytes;
    *bytes = paged->length - from < paged->page_bytes ? paged->length - from : paged->page_bytes;
    return paged->image + from;
}

/* Memory for an image of so many bytes. New pages are stale. */
static int make_room(cuckoo_paged *paged, uint64_t length)
{
    uint64_t pages = pages_of(paged, length), had = paged->page_room;
    paged->has_reader = false;
    if (pages > had) {
        if (!cuckoo_block_enlarge((void **)&paged->read_in, had, pages, sizeof *paged->read_in) ||
            !cuckoo_block_enlarge((void **)&paged->is_dirty, had, pages, sizeof *paged->is_dirty))
            return SQLITE_NOMEM;
        paged->page_room = pages;
    }
    /* Last: when it fails the old one is still there, as src expects. */
    uint8_t *larger = cuckoo_block_resize(paged->image, length, paged);
    if (larger == NULL)
        return SQLITE_NOMEM;
    paged->image = larger;
    memset(paged->image + length, 0, CUCKOO_BEYOND);
    paged->length = length;
    return SQLITE_OK;
}

static void fail(cuckoo_paged *paged, int rc)
{
    if (paged->rc == SQLITE_OK)
        paged->rc = rc;
}

static void read_page(cuckoo_paged *paged, uint64_t page)
{
    uint64_t bytes, have;
    uint8_t *at = page_bytes_at(paged, page, &bytes);
    uint32_t epoch = paged->epoch; /* an error may roll back the transaction, and all is forgotten */
    int rc = cuckoo_shadow_read(&paged->shadow, (int64_t)page, at, bytes, &have);
    memset(at + have, 0, bytes - have);
    paged->read_in[page] = epoch;
    paged->loaded++;
    if (rc != SQLITE_OK)
        fail(paged, rc);
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
    if (paged->is_dirty[page])
        return;
    if (paged->dirty_count == paged->dirty_room) {
        uint64_t room = 2 * paged->dirty_room + 16;
        if (!cuckoo_block_enlarge((void **)&paged->dirty, paged->dirty_room, room,
                                  sizeof *paged->dirty)) {
            fail(paged, SQLITE_NOMEM);
            return;
        }
        paged->dirty_room = room;
    }
    paged->is_dirty[page] = 1;
    paged->dirty[paged->dirty_count++] = page;
}

static void change(void *context, uint64_t from, uint64_t to)
{
    cuckoo_paged *paged = context;
    need(context, from, to);
    for (uint64_t page = page_at(paged, from); from < to && page <= page_at(paged, to - 1); page++)
        if (page > 0)
            mark(paged, page);
}

/* The first dirty page from `page` on, before `end`; else end. */
static uint64_t next_dirty(const cuckoo_paged *paged, uint64_t page, uint64_t end)
{
    if (end - page < paged->dirty_count) {
        while (page < end && !paged->is_dirty[page])
            page++;
        return page;
    }
    for (uint64_t i = 0; i < paged->dirty_count; i++)
        if (paged->dirty[i] >= page && paged->dirty[i] < end)
            end = paged->dirty[i];
    return end;
}

/* The first page from `page` on that has a row; `end`: none has. */
static uint64_t next_row(cuckoo_paged *paged, uint64_t page, uint64_t end)
{
    sqlite3_stmt *next;
    int rc = cuckoo_shadow_query(&paged->shadow, CUCKOO_NEXT_PAGE, &next);
    if (rc == SQLITE_OK) {
        sqlite3_bind_int64(next, 1, (sqlite3_int64)page);
        if (cuckoo_shadow_step(&paged->shadow, next) == SQLITE_ROW) {
            uint64_t row = (uint64_t)sqlite3_column_int64(next, 0);
            end = row < end ? row : end;
        }
        rc = cuckoo_shadow_end(&paged->shadow, next);
    }
    if (rc != SQLITE_OK)
        fail(paged, rc);
    return end;
}

/* Pages without a row are all zeros, however many there are. The one that was found last is not asked for again. */
static uint64_t skip(void *context, uint64_t from)
{
    cuckoo_paged *paged = context;
    uint64_t page = page_at(paged, from), end = pages_of(paged, paged->length);
    if (page == 0 || page == paged->present || page >= end || paged->is_dirty[page])
        return from;
    uint64_t found = next_dirty(paged, page, next_row(paged, page, end));
    paged->present = found;
    if (found == page)
        return from;
    return found == end ? paged->length : CF_HEADER_BYTES + (found - 1) * paged->page_bytes;
}

/* What src grows with. */
static uint8_t *resize(uint8_t *bytes, uint64_t size)
{
    cuckoo_paged *owner = bytes ? cuckoo_block_owner(bytes) : NULL;
    if (owner == NULL)
        return cuckoo_block_resize(bytes, size, NULL);
    return make_room(owner, size) == SQLITE_OK ? owner->image : NULL;
}

/* ---- what is stale ---- */

static void clear_dirty(cuckoo_paged *paged)
{
    for (uint64_t i = 0; i < paged->dirty_count; i++)
        paged->is_dirty[paged->dirty[i]] = 0;
    paged->dirty_count = 0;
}

void cuckoo_paged_forget(cuckoo_paged *paged)
{
    clear_dirty(paged);
    paged->header_dirty = false;
    paged->present = 0;
    paged->epoch++;
    if (paged->epoch == 0) { /* it has gone round: none of the old ones may be taken for a new one */
        memset(paged->read_in, 0, paged->page_room * sizeof *paged->read_in);
        paged->header_in = 0;
        paged->epoch = 1;
    }
    paged->loaded = 0;
    paged->has_reader = false;
}

/* ---- the header ---- */

static int damaged(const char **why, const char *reason)
{
    *why = reason;
    return SQLITE_CORRUPT_VTAB;
}

static int open_image(cuckoo_paged *paged, const uint8_t *row, const char **why)
{
    cf_header header;
    uint64_t length = cf_load64(row + AT_LENGTH);
    paged->page_bytes = (uint32_t)(cf_load64(row + AT_PAGE_BYTES - 4) >> 32);
    paged->adds = cf_load64(row + AT_ADDS);
    paged->deletes = cf_load64(row + AT_DELETES);
    paged->doubt = row[AT_DOUBT] != 0;
    if (paged->page_bytes < 64)
        return damaged(why, "its header has been changed");
    if (cf_header_decode(row, length, &header, why) != CF_OK)
        return SQLITE_CORRUPT_VTAB;
    int rc = make_room(paged, length);
    if (rc != SQLITE_OK)
        return rc;
    memcpy(paged->image, row, CF_HEADER_BYTES);
    paged->has_reader = false;
    if (cf_open_writable(&paged->filter, paged->image, length, why) != CF_OK)
        return SQLITE_CORRUPT_VTAB;
    paged->filter.memory = (cf_memory){resize, INT64_MAX};
    cf_attach_pages(&paged->filter, &paged->hooks);
    paged->header_in = paged->epoch;
    return SQLITE_OK;
}

static int read_header(cuckoo_paged *paged, const char **why)
{
    uint8_t row[HEADER_ROW];
    uint64_t length;
    int rc = cuckoo_shadow_read(&paged->shadow, 0, row, sizeof row, &length);
    if (rc == SQLITE_OK && length != sizeof row)
        return damaged(why, "its header is missing");
    return rc == SQLITE_OK ? open_image(paged, row, why) : rc;
}

static int write_header_row(cuckoo_paged *paged, const uint8_t *header, uint64_t length)
{
    uint8_t row[HEADER_ROW];
    memcpy(row, header, CF_HEADER_BYTES);
    cf_store64(row + AT_LENGTH, length);
    for (unsigned i = 0; i < 4; i++)
        row[AT_PAGE_BYTES + i] = (uint8_t)(paged->page_bytes >> (8 * i));
    cf_store64(row + AT_ADDS, paged->adds);
    cf_store64(row + AT_DELETES, paged->deletes);
    row[AT_DOUBT] = paged->doubt;
    return cuckoo_shadow_write(&paged->shadow, 0, row, HEADER_ROW);
}

static int write_header(cuckoo_paged *paged)
{
    cf_seal(&paged->filter);
    return write_header_row(paged, paged->image, paged->length);
}

/* An empty filter: pages that are all zeros need no rows. */
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

/* When nearly all pages have been read, the others are, too. */
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
    return paged->dirty_count > 0 || paged->header_dirty;
}

static int write_pages(cuckoo_paged *paged)
{
    int rc = SQLITE_OK;
    for (uint64_t i = 0; rc == SQLITE_OK && i < paged->dirty_count; i++) {
        uint64_t bytes;
        if (paged->dirty[i] >= pages_of(paged, paged->length))
            continue; /* growth that was taken back */
        uint8_t *at = page_bytes_at(paged, paged->dirty[i], &bytes);
        paged->has_written = true;
        rc = cuckoo_shadow_write(&paged->shadow, (int64_t)paged->dirty[i], at, bytes);
    }
    return rc;
}

int cuckoo_paged_write(cuckoo_paged *paged)
{
    paged->length = paged->filter.length;
    int rc = write_pages(paged);
    paged->has_written = true;
    if (rc == SQLITE_OK)
        rc = write_header(paged);
    if (rc != SQLITE_OK)
        return rc;
    paged->header_dirty = false;
    clear_dirty(paged);
    return rc;
}

static bool is_zero(const uint8_t *bytes, uint64_t length)
{
    return length == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, length - 1) == 0);
}

/* The image is another one: pages that are all zeros need no rows. */
static void mark_all(cuckoo_paged *paged)
{
    uint64_t pages = pages_of(paged, paged->length);
    paged->header_in = paged->epoch;
    paged->loaded = pages - 1;
    paged->adds = paged->deletes = 0;
    paged->doubt = false;
    clear_dirty(paged);
    for (uint64_t page = 1; page < pages; page++) {
        uint64_t bytes;
        const uint8_t *at = page_bytes_at(paged, page, &bytes);
        paged->read_in[page] = paged->epoch;
        if (!is_zero(at, bytes))
            mark(paged, page);
    }
}

static void open_for_writing(cuckoo_paged *paged)
{
    const char *why;
    cf_open_writable(&paged->filter, paged->image, paged->length, &why); /* was sound */
    paged->filter.memory = (cf_memory){resize, INT64_MAX};
    cf_attach_pages(&paged->filter, &paged->hooks);
}

/* Everything in the shadow tables goes; then what is dirty is written. */
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
    paged->has_written = false;
    int rc = make_room(paged, length);
    if (rc != SQLITE_OK) {
        cuckoo_block_resize(bytes, 0, NULL);
        return rc;
    }
    cuckoo_block_resize(paged->image, 0, NULL);
    cuckoo_block_own(bytes, paged);
    paged->image = bytes;
    open_for_writing(paged);
    mark_all(paged);
    return write_anew(paged);
}

int cuckoo_paged_clear(cuckoo_paged *paged)
{
    cf_geometry shape = paged->filter.geometry;
    paged->has_written = false;
    clear_dirty(paged);
    paged->adds = paged->deletes = 0;
    paged->doubt = false;
    paged->has_written = true;
    int rc = cuckoo_shadow_empty(&paged->shadow);
    if (rc == SQLITE_OK)
        rc = write_empty(paged, &shape);
    cuckoo_paged_forget(paged);
    return rc;
}

/* Page by page, for most of a large filter may be zeros. */
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
    free(paged->is_dirty);
    free(paged->dirty);
}

int cuckoo_paged_create(cuckoo_paged *paged, const cf_geometry *shape)
{
    uint8_t *image = cuckoo_block_zeros(cf_geometry_bytes(shape));
    if (image == NULL)
        return SQLITE_TOOBIG; /* it could never be used */
    cuckoo_block_plain(image, 0);
    int rc = cuckoo_shadow_create(&paged->shadow, &paged->page_bytes);
    if (rc != SQLITE_OK)
        return rc;
    return write_empty(paged, shape);
}
