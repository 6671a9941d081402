/* SPDX-License-Identifier: MIT */
/*
** rows.c - rowids=on: a key is stored with the rowid of each row that has it, as a value.
**
** A lookup returns the rows of the image and those that the logs add, without those that they delete. A
** caller compares each row with the table: one too many does no harm. Each pair of a key and a row is
** summed up by itself, so deletes are exact. A row has one key at a time. So where the image has a pair
** twice, or has one of another key with the same fingerprint, one of them is left of a change that no
** trigger reported (INSERT OR REPLACE), and a sum above 0 is never too small.
**
** Rowids that are negative, or too large for the values of the image, stay in the log of hashed keys, as
** pairs do that find no slot. When they are many, the image gets wider values.
*/
#include "../sqlite/block.h"
#include "../sqlite/errors.h"
#include "../sqlite/sql.h"
#include "table.h"

#include <assert.h>

bool cuckoo_pair_is_in(const cf_filter *filter, uint64_t hash, int64_t row)
{
    uint64_t values[CF_VALUES_MAX];
    unsigned i = cf_get_all(filter, hash, values);
    while (i > 0 && values[i - 1] != (uint64_t)row)
        i--;
    return i > 0;
}

static int sum_logs(cuckoo_table *table)
{
    int rc = cuckoo_net_read(&table->net, &table->paged, true);
    return rc ? rc : cuckoo_changes_sum(&table->net.changes, false);
}

int cuckoo_table_has_row(cuckoo_table *table, uint64_t hash, int64_t row, bool *has)
{
    int rc = sum_logs(table);
    *has = rc == SQLITE_OK && cuckoo_counts_get(&table->net.changes.counts, hash, row) +
                                      cuckoo_pair_is_in(&table->paged.filter, hash, row) >
                                  0;
    return cuckoo_first_error(rc, table->paged.rc);
}

typedef struct deleted {
    cuckoo_table *table;
    bool lacks;
} deleted;

static int look_for_deleted(void *context, uint64_t hash, int64_t row, int64_t n)
{
    deleted *at = context;
    at->lacks |= n < -1 || (n < 0 && !cuckoo_pair_is_in(&at->table->paged.filter, hash, row));
    return at->table->paged.rc;
}

int cuckoo_table_lacks_deleted(cuckoo_table *table, bool *lacks)
{
    deleted at = {table, false};
    int rc = sum_logs(table);
    rc = rc ? rc : cuckoo_counts_walk(&table->net.changes.counts, look_for_deleted, &at);
    *lacks = at.lacks;
    return rc;
}

/* ---- lookups ---- */

static int push(cuckoo_rows *rows, uint64_t row, int64_t n)
{
    if (rows->n == rows->room) {
        size_t room = 2 * rows->room + CF_VALUES_MAX;
        cf_valued *more = sqlite3_realloc64(rows->at, room * sizeof *more);
        if (more == NULL)
            return SQLITE_NOMEM;
        rows->at = more;
        rows->room = room;
    }
    rows->at[rows->n++] = (cf_valued){row, (uint64_t)n};
    return SQLITE_OK;
}

/* Keeps the rows whose sum is above 0. */
static int sum_up(cuckoo_rows *rows)
{
    size_t kept = 0;
    if (cf_sort_pairs(rows->at, rows->n, NULL) != CF_OK)
        return SQLITE_NOMEM;
    for (size_t i = 0, end; i < rows->n; i = end) {
        int64_t sum = 0;
        for (end = i; end < rows->n && rows->at[end].hash == rows->at[i].hash; end++)
            sum += (int64_t)rows->at[end].value;
        rows->at[kept] = rows->at[i];
        kept += sum > 0;
    }
    rows->n = kept;
    return SQLITE_OK;
}

static int add_logged(const cuckoo_changes *changes, uint64_t hash, cuckoo_rows *rows)
{
    int rc = SQLITE_OK;
    size_t i = (size_t)cuckoo_counts_get(&changes->last, hash, 0);
    if (i == 0)
        return rc;
    for (; rc == SQLITE_OK && i > 0; i = changes->before[i - 1])
        rc = push(rows, (uint64_t)changes->change[i - 1].row, changes->change[i - 1].n);
    return rc ? rc : sum_up(rows);
}

int cuckoo_table_rows(cuckoo_table *table, uint64_t hash, cuckoo_rows *rows)
{
    assert(table->paged.loaded);
    int rc = SQLITE_OK;
    uint64_t values[CF_VALUES_MAX];
    rows->n = 0;
    if (!cuckoo_table_is_at_hand(table)) {
        rc = cuckoo_net_read(&table->net, &table->paged, true);
        rc = rc ? rc : cuckoo_changes_link(&table->net.changes);
    }
    const cf_filter *reader = cuckoo_paged_reader(&table->paged);
    unsigned n = rc == SQLITE_OK && cf_contains(reader, hash) ? cf_get_all(reader, hash, values) : 0;
    for (unsigned i = 0; rc == SQLITE_OK && i < n; i++)
        rc = push(rows, values[i], 1);
    if (rc == SQLITE_OK && table->net.changes.n > 0)
        rc = add_logged(&table->net.changes, hash, rows);
    return cuckoo_first_error(rc, table->paged.rc);
}

/* ---- wider values ---- */

int cuckoo_table_widen(cuckoo_table *table)
{
    cuckoo_paged *paged = &table->paged;
    const cuckoo_changes *changes = &table->net.changes;
    cf_geometry shape = paged->filter.geometry;
    unsigned bits = shape.value_bits;
    uint64_t many = 0;
    for (size_t i = 0; i < changes->n; i++) {
        int64_t row = changes->change[i].row;
        if (changes->change[i].n <= 0 || row < 0 || row >> shape.value_bits == 0)
            continue;
        many++;
        while (bits < CF_WIDE_VALUE_MAX && row >> bits > 0)
            bits++;
    }
    if (many <= cuckoo_odd_rows(paged->filter.items))
        return SQLITE_OK;
    cf_filter wide;
    shape.value_bits = (uint8_t)(bits < CF_WIDE_VALUE_MAX ? bits + 1 : bits);
    uint8_t *bytes = cuckoo_block_zeros(cf_geometry_bytes(&shape));
    if (cf_create_in_zeros(&wide, &shape, bytes) != CF_OK)
        return SQLITE_NOMEM;
    wide.memory = cuckoo_block_memory;
    cf_status status = cf_widen(&wide, &paged->filter);
    cf_seal(&wide);
    if (status == CF_OK && paged->rc == SQLITE_OK)
        return cuckoo_paged_replace(paged, wide.writable, wide.length);
    cuckoo_block_resize(NULL, wide.writable, 0);
    return paged->rc ? paged->rc : cuckoo_error_code(status);
}
