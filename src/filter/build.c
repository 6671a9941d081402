/* SPDX-License-Identifier: MIT */
#include "../shape/format.h"
#include "sort.h"

/* How many different ones there are among n sorted hashes. */
static size_t count_distinct(const uint64_t *sorted, size_t n)
{
    size_t distinct = 0;
    for (size_t i = 0; i < n; i++)
        distinct += i == 0 || sorted[i] != sorted[i - 1];
    return distinct;
}

/* An empty filter of this shape takes the hashes. It may grow for them only when `grow` says so. */
static cf_status fill(cf_filter *filter, const cf_geometry *shape, bool grow, uint64_t *hashes, size_t n)
{
    const cf_memory memory = filter->memory;
    const cf_watch *watch = filter->watch;
    uint64_t length = cf_geometry_bytes(shape);
    filter->geometry = *shape;
    if (length > memory.most)
        return CF_TOO_BIG;
    uint8_t *bytes = memory.resize(memory.context, NULL, length);
    if (bytes == NULL)
        return CF_NO_MEMORY;
    cf_create(filter, shape, bytes);
    filter->watch = watch;
    filter->memory = memory;
    if (!grow)
        filter->memory.most = length;
    cf_status status = cf_add_many(filter, hashes, n, NULL);
    filter->memory.most = memory.most;
    if (status == CF_OK)
        return status;
    memory.resize(memory.context, filter->writable, 0);
    filter->bytes = filter->writable = NULL; /* the rest is left for messages */
    return status == CF_TOO_BIG && !grow ? CF_FULL : status;
}

/* The planned table is full in a few of a million builds. Then slightly wider ones are tried: a table
** that grows would be larger by a third or more. */
static cf_status fill_wider(cf_filter *filter, cf_geometry shape, uint64_t *hashes, size_t n)
{
    cf_status status = fill(filter, &shape, false, hashes, n);
    for (int i = 1; i < CF_TRIES && status == CF_FULL && cf_plan_wider(&shape) == CF_OK; i++)
        status = fill(filter, &shape, false, hashes, n);
    return status;
}

cf_status cf_build(cf_filter *filter, uint64_t *hashes, size_t n, uint64_t capacity, double fpr,
                   const cf_options *options, const char **why)
{
    cf_geometry shape;
    cf_ticker ticker = cf_ticker_of(filter->watch);
    *why = NULL;
    filter->bytes = filter->writable = NULL;
    if (!cf_sort_with(hashes, n, &filter->memory, &ticker))
        return CF_INTERRUPTED;
    if (options->counter_bits == 0)
        n = cf_drop_repeated(hashes, n);
    size_t distinct = count_distinct(hashes, n);
    bool mergeable = distinct <= capacity;
    cf_status status = cf_plan(mergeable ? capacity : distinct, fpr, options, &shape, why);
    if (status != CF_OK)
        return status;
    status = CF_FULL;
    if (!mergeable || !shape.growth)
        status = fill_wider(filter, shape, hashes, n);
    if (status == CF_FULL && shape.growth)
        status = fill(filter, &shape, true, hashes, n);
    return status;
}
