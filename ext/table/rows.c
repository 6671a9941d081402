/* SPDX-License-Identifier: MIT */
#include "rows.h"

#include "../sqlite/block.h"
#include "../sqlite/errors.h"
#include "../sqlite/sql.h"

#include <assert.h>

bool cuckoo_rows_in(const cf_filter *filter, uint64_t hash, int64_t row)
{
    uint64_t values[CF_VALUES_MAX];
    unsigned i = cf_get_all(filter, hash, values);
    while (i > 0 && values[i - 1] != (uint64_t)row)
        i--;
    return i > 0;
}

static int sum_logs(cuckoo_net *net, cuckoo_paged *paged)
{
    int rc = cuckoo_net_read(net, paged, true);
    return rc ? rc : cuckoo_changes_sum(&net->changes, false);
}

int cuckoo_rows_have(cuckoo_net *net, cuckoo_paged *paged, uint64_t hash, int64_t row, bool *has)
{
    int rc = sum_logs(net, paged);
    *has = rc == SQLITE_OK && cuckoo_counts_get(&net->changes.counts, hash, row) +
                                      cuckoo_rows_in(&paged->filter, hash, row) >
                                  0;
    return cuckoo_first_error(rc, paged->rc);
}

typedef struct deleted {
    const cuckoo_paged *paged;
    bool lacks;
} deleted;

static int look_for_deleted(void *context, uint64_t hash, int64_t row, int64_t n)
{
    deleted *at = context;
    at->lacks |= n < -1 || (n < 0 && !cuckoo_rows_in(&at->paged->filter, hash, row));
    return at->paged->rc;
}

int cuckoo_rows_lack(cuckoo_net *net, cuckoo_paged *paged, bool *lack)
{
    deleted at = {paged, false};
    int rc = sum_logs(net, paged);
    rc = rc ? rc : cuckoo_counts_walk(&net->changes.counts, look_for_deleted, &at);
    *lack = at.lacks;
    return rc;
}

/* ---- lookups ---- */

int cuckoo_rows_push(cuckoo_rows *rows, uint64_t row, int64_t value)
{
    if (rows->n == rows->room) {
        size_t room = 2 * rows->room + CF_VALUES_MAX;
        cf_valued *more = sqlite3_realloc64(rows->at, room * sizeof *more);
        if (more == NULL)
            return SQLITE_NOMEM;
        rows->at = more;
        rows->room = room;
    }
    rows->at[rows->n++] = (cf_valued){row, (uint64_t)value};
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
        rc = cuckoo_rows_push(rows, (uint64_t)changes->change[i - 1].row, changes->change[i - 1].n);
    return rc ? rc : sum_up(rows);
}

int cuckoo_rows_find(cuckoo_net *net, cuckoo_paged *paged, uint64_t hash, cuckoo_rows *rows)
{
    assert(paged->loaded);
    int rc = SQLITE_OK;
    uint64_t values[CF_VALUES_MAX];
    rows->n = 0;
    if (!net->current || !cuckoo_net_is_empty(net)) {
        rc = cuckoo_net_read(net, paged, true);
        rc = rc ? rc : cuckoo_changes_link(&net->changes);
    }
    const cf_filter *reader = cuckoo_paged_reader(paged);
    unsigned n = rc == SQLITE_OK && cf_contains(reader, hash) ? cf_get_all(reader, hash, values) : 0;
    for (unsigned i = 0; rc == SQLITE_OK && i < n; i++)
        rc = cuckoo_rows_push(rows, values[i], 1);
    if (rc == SQLITE_OK && net->changes.n > 0)
        rc = add_logged(&net->changes, hash, rows);
    return cuckoo_first_error(rc, paged->rc);
}

/* ---- wider values ---- */

int cuckoo_rows_widen(const cuckoo_net *net, cuckoo_paged *paged)
{
    const cuckoo_changes *changes = &net->changes;
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
    if (many <= cuckoo_rows_odd(paged->filter.items))
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
