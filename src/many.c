/* SPDX-License-Identifier: MIT */
/*
** many.c - adding many keys: sorted, then all at once or in turn.
**
** An empty filter that was planned for as many keys is filled in one walk (bulk.h). One that is not
** empty, or has to grow, takes them one by one; their buckets are fetched some keys ahead. So does
** one in which the walk has found no room, after it was emptied again: then the keys before the
** first that has no room are in.
*/
#include "bucket.h"
#include "bulk.h"
#include "sort.h"
#include "walk.h"

/* Is the table empty, whatever its header says? No, too, when the ticker has ended the look: what was
** not seen may be there. */
static bool is_empty(const cf_filter *filter, cf_ticker *ticker)
{
    return filter->items == 0 && filter->occupied == 0 && filter->spilled == 0 &&
           cf_first_set(filter, CF_HEADER_BYTES, filter->length, ticker) == filter->length &&
           !ticker->stopped;
}

/* Was the filter planned for these hashes? With counters those that repeat are one. */
static bool has_room(const cf_filter *filter, const uint64_t *hashes, size_t n)
{
    uint64_t capacity = filter->geometry.capacity, distinct = n > 0;
    if (n <= capacity || filter->geometry.counter_bits == 0)
        return n <= capacity;
    for (size_t i = 1; i < n; i++)
        distinct += hashes[i - 1] != hashes[i];
    return distinct <= capacity;
}

/* Can a table be filled, and does it pay? All of its buckets have to be as they were when it was
** made. It does not pay when most of the table stays empty. In short fingerprints keys meet their likes
** too often. */
static bool can_fill(const cf_filter *filter, const uint64_t *hashes, size_t n, cf_ticker *ticker)
{
    enum { LEAST_BITS = 8, LEAST_SHARE = 16 };
    const cf_geometry *shape = &filter->geometry;
    /* RULE: a table that is prepared for growth, or has bytes to spare for it, is not filled */
    if (filter->length > cf_geometry_bytes(shape))
        return false;
    return filter->pages == NULL && shape->bucket_size > 1 && shape->cap > 1 &&
           shape->fingerprint_bits >= LEAST_BITS && n >= cf_slots(filter) / LEAST_SHARE &&
           has_room(filter, hashes, n) && is_empty(filter, ticker);
}

/* ---- in turn ---- */

static cf_status add_in_turn(cf_filter *filter, const uint64_t *hashes, size_t n, size_t *added,
                             cf_ticker *ticker)
{
    enum { AHEAD = 16, LARGE = 1 << 18, SLOW = 100 };
    cf_status status = CF_OK;
    size_t i = 0;
    while (i < n && status == CF_OK) {
        if (n - i > AHEAD && filter->length > LARGE && filter->pages == NULL)
            cf_key_fetch(filter, hashes[i + AHEAD]);
        status = cf_tick(ticker, SLOW) ? CF_INTERRUPTED : cf_add(filter, hashes[i]);
        i += status == CF_OK;
    }
    *added = i;
    return status;
}

/* ---- the one or the other ---- */

static cf_status add_sorted(cf_filter *filter, const uint64_t *hashes, size_t n, size_t *added,
                            cf_ticker *ticker)
{
    cf_status status = CF_FULL;
    if (can_fill(filter, hashes, n, ticker))
        status = cf_bulk_fill(filter, hashes, n, added, ticker);
    if (status == CF_FULL && !ticker->stopped)
        status = add_in_turn(filter, hashes, n, added, ticker);
    return ticker->stopped ? CF_INTERRUPTED : status;
}

cf_status cf_add_many(cf_filter *filter, uint64_t *hashes, size_t n, size_t *added)
{
    cf_ticker ticker = cf_ticker_of(filter->watch);
    size_t in = 0;
    cf_status status = CF_INTERRUPTED, settled = CF_OK;
    if (cf_sort_with(hashes, n, &filter->memory, &ticker))
        status = add_sorted(filter, hashes, n, &in, &ticker);
    if (added)
        *added = in;
    if (status == CF_OK || (status != CF_INTERRUPTED && in > 0))
        settled = cf_settle(filter);
    return status == CF_OK ? settled : status;
}
