/* SPDX-License-Identifier: MIT */
#include "undrained.h"

#include "key.h"

/* Row numbers that SQLite does not count up: somebody has written one by hand, and later rows may lie
** below it. */
#define LARGEST_MARK (INT64_C(1) << 62)

void cuckoo_undrained_forget(cuckoo_undrained *undrained)
{
    cuckoo_sums_clear(&undrained->keys);
    undrained->rows = undrained->olds = 0;
    undrained->mark = 0;
    undrained->current = false;
}

void cuckoo_undrained_free(cuckoo_undrained *undrained)
{
    cuckoo_sums_free(&undrained->keys);
}

/* What is read of a row. */
typedef struct log_row {
    int64_t rowid;
    bool has_old, has_new;
    uint64_t old, new;
} log_row;

static int read_key(sqlite3_value *value, const cf_geometry *geometry, bool *is, uint64_t *hash)
{
    *hash = 0;
    cuckoo_key kind = cuckoo_key_hash(value, geometry, hash);
    *is = kind == CUCKOO_KEY_OK;
    return kind == CUCKOO_KEY_NOMEM ? SQLITE_NOMEM : SQLITE_OK;
}

static int read_row(sqlite3_stmt *at, const cf_geometry *geometry, log_row *row)
{
    row->rowid = sqlite3_column_int64(at, 0);
    int rc = read_key(sqlite3_column_value(at, 1), geometry, &row->has_old, &row->old);
    return rc == SQLITE_OK ? read_key(sqlite3_column_value(at, 2), geometry, &row->has_new, &row->new)
                           : rc;
}

static uint64_t digest_of(const log_row *row)
{
    uint64_t kind = (uint64_t)row->has_old + 2 * (uint64_t)row->has_new;
    return (row->old * 31 + row->new) * 31 + kind;
}

static int take_row(cuckoo_undrained *undrained, const log_row *row)
{
    int rc = row->has_new ? cuckoo_sums_add(&undrained->keys, row->new, 1) : SQLITE_OK;
    if (rc != SQLITE_OK)
        return rc;
    undrained->rows++;
    undrained->olds += row->has_old;
    undrained->mark = row->rowid;
    undrained->digest = digest_of(row);
    return rc;
}

/* Reads from the watermark on. *same: the row there is still the one that was read. */
static int read_on(cuckoo_undrained *undrained, cuckoo_paged *paged, bool *same)
{
    log_row row;
    sqlite3_stmt *rows;
    int64_t from = undrained->rows ? undrained->mark : INT64_MIN;
    int rc = cuckoo_shadow_query(&paged->shadow, CUCKOO_READ_LOG, &from, &rows);
    *same = undrained->rows == 0;
    while (rc == SQLITE_OK && cuckoo_shadow_step(&paged->shadow, rows) == SQLITE_ROW) {
        rc = read_row(rows, &paged->filter.geometry, &row);
        if (rc == SQLITE_OK && *same)
            rc = take_row(undrained, &row);
        else if (rc == SQLITE_OK && row.rowid == undrained->mark && digest_of(&row) == undrained->digest)
            *same = true;
        else
            break;
    }
    return cuckoo_shadow_end(&paged->shadow, rows, rc);
}

int cuckoo_undrained_read(cuckoo_undrained *undrained, cuckoo_paged *paged)
{
    bool same;
    if (undrained->current)
        return SQLITE_OK;
    if (undrained->generation != paged->generation || undrained->mark > LARGEST_MARK)
        cuckoo_undrained_forget(undrained);
    undrained->generation = paged->generation;
    int rc = read_on(undrained, paged, &same);
    if (rc == SQLITE_OK && !same) {
        cuckoo_undrained_forget(undrained);
        rc = read_on(undrained, paged, &same);
    }
    if (rc != SQLITE_OK)
        cuckoo_undrained_forget(undrained);
    undrained->current = rc == SQLITE_OK;
    return rc;
}

int cuckoo_undrained_has(cuckoo_undrained *undrained, cuckoo_paged *paged, uint64_t hash, bool *has)
{
    int rc = cuckoo_undrained_read(undrained, paged);
    *has = rc == SQLITE_OK && cuckoo_sums_of(&undrained->keys, hash) > 0;
    return rc;
}
