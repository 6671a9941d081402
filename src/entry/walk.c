/* SPDX-License-Identifier: MIT */
#include "walk.h"

#include "../table/bucket.h"

/* ---- bytes ---- */

static uint64_t first_set_in_memory(const uint8_t *bytes, uint64_t from, uint64_t to)
{
    while (to - from >= 8 && cf_load64(bytes + from) == 0)
        from += 8;
    while (from < to && bytes[from] == 0)
        from++;
    return from;
}

/* Skips what is known to be zero without looking. */
static uint64_t skip_zeros(const cf_filter *filter, uint64_t from)
{
    const cf_pages *pages = filter->pages;
    return pages && pages->skip ? pages->skip(pages->context, from) : from;
}

uint64_t cf_first_set(const cf_filter *filter, uint64_t from, uint64_t to, cf_ticker *ticker)
{
    enum { PIECE = 4096, COST = 500 }; /* bytes looked at together, nanoseconds */
    for (from = skip_zeros(filter, from); from < to; from = skip_zeros(filter, from)) {
        uint64_t end = to - from < PIECE ? to : from + PIECE;
        cf_need(filter, from, end);
        from = first_set_in_memory(filter->bytes, from, end);
        if (from < end)
            return from;
        if (cf_tick(ticker, COST))
            break;
    }
    return to;
}

/* ---- buckets ---- */

cf_walk cf_walk_begin(const cf_filter *filter, unsigned cost)
{
    unsigned b = filter->geometry.bucket_size; /* no bucket is under way */
    return (cf_walk){.filter = filter, .slot = b, .cost = cost, .ticker = cf_ticker_of(filter->watch)};
}

/* The first bucket from `from` on that has bits in the first byte that is not zero. filter->buckets:
** there is none. */
static uint64_t seek(cf_walk *walk, uint64_t from)
{
    const cf_filter *filter = walk->filter;
    uint64_t table = CF_HEADER_BYTES, bits = filter->view.form.bucket_bits, to = filter->buckets;
    uint64_t at = table + from * bits / 8, end = table + (to * bits + 7) / 8;
    uint64_t set = cf_first_set(filter, at, end, &walk->ticker), found = (set - table) * 8 / bits;
    if (set == end || found >= to)
        return to;
    return found > from ? found : from;
}

bool cf_walk_next(cf_walk *walk)
{
    const cf_filter *filter = walk->filter;
    while (walk->next < filter->buckets && !walk->ticker.stopped) {
        walk->bucket = seek(walk, walk->next);
        walk->next = walk->bucket + 1;
        if (walk->bucket < filter->buckets && !cf_tick(&walk->ticker, walk->cost))
            return true;
    }
    if (walk->ticker.stopped)
        walk->status = CF_INTERRUPTED;
    return false;
}

bool cf_walk_entry(cf_walk *walk, cf_entry *entry)
{
    enum { LINE = 10 }; /* nanoseconds; all lines of the list may have to be looked at for each */
    const cf_filter *filter = walk->filter;
    while (!walk->in_list) {
        while (walk->slot < filter->geometry.bucket_size)
            if (cf_entry_at(filter, walk->bucket, walk->slot++, entry))
                return true;
        walk->in_list = !cf_walk_next(walk);
        walk->slot = 0;
    }
    while (walk->status == CF_OK && walk->slot < filter->spilled) {
        if (cf_tick(&walk->ticker, walk->cost + LINE * filter->spilled))
            walk->status = CF_INTERRUPTED;
        else if (cf_spilled_at(filter, walk->slot++, entry))
            return true;
    }
    return false;
}
