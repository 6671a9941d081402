/* SPDX-License-Identifier: MIT */
#include "walk.h"

#include "../table/bucket.h"

static uint64_t skip_zeros(const cf_filter *filter, uint64_t from)
{
    const cf_pages *pages = filter->pages;
    return pages && pages->skip ? pages->skip(pages->context, from) : from;
}

uint64_t cf_first_set(const cf_filter *filter, uint64_t from, uint64_t to, cf_ticker *ticker)
{
    enum { PIECE = 4096, COST = 500 }; /* bytes, nanoseconds for each piece */
    for (from = skip_zeros(filter, from); from < to; from = skip_zeros(filter, from)) {
        uint64_t end = to - from < PIECE ? to : from + PIECE;
        cf_need(filter, from, end);
        while (end - from >= 8 && cf_load64(filter->bytes + from) == 0)
            from += 8;
        while (from < end && filter->bytes[from] == 0)
            from++;
        if (from < end)
            return from;
        if (cf_tick(ticker, COST))
            break;
    }
    return to;
}

cf_walk cf_walk_begin(const cf_filter *filter, const cf_watch *watch, unsigned cost)
{
    return (cf_walk){.filter = filter,
                     .bucket = UINT64_MAX, /* before the first bucket */
                     .slot = filter->geometry.bucket_size,
                     .cost = cost,
                     .ticker = cf_ticker_of(watch)};
}

bool cf_walk_next(cf_walk *walk)
{
    const cf_filter *filter = walk->filter;
    uint64_t bits = filter->view.form.bucket_bits, table = CF_HEADER_BYTES, next = walk->bucket + 1;
    uint64_t all = filter->buckets, end = table + (all * bits + 7) / 8;
    uint64_t set = next < all ? cf_first_set(filter, table + next * bits / 8, end, &walk->ticker) : end;
    walk->slot = 0;
    walk->bucket = all;
    if (set < end && !cf_tick(&walk->ticker, walk->cost)) {
        uint64_t found = (set - table) * 8 / bits; /* the first bucket with a bit in this byte */
        walk->bucket = found > next ? found : next;
    }
    walk->status = walk->ticker.stopped ? CF_INTERRUPTED : CF_OK;
    return walk->bucket < all;
}

bool cf_walk_entry(cf_walk *walk, cf_entry *entry)
{
    enum { LINE = 10 }; /* nanoseconds; for each entry of the stash all may be searched */
    const cf_filter *filter = walk->filter;
    while (walk->bucket != filter->buckets) {
        while (walk->slot < filter->geometry.bucket_size)
            if (cf_entry_at(filter, walk->bucket, walk->slot++, entry))
                return true;
        cf_walk_next(walk);
    }
    while (walk->status == CF_OK && walk->slot < filter->stashed) {
        if (cf_tick(&walk->ticker, walk->cost + LINE * filter->stashed))
            walk->status = CF_INTERRUPTED;
        else if (cf_stashed_at(filter, walk->slot++, entry))
            return true;
    }
    return false;
}
