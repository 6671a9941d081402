/* SPDX-License-Identifier: MIT */
#include "../entry/spill.h"
#include "../shape/format.h"
#include "../table/lanes.h"
#include "sort.h"

/* What a filter is built of: hashes, or pairs. The others are NULL. */
typedef struct cf_content {
    uint64_t *hashes;
    const cf_valued *pairs;
    size_t n;
} cf_content;

/* How many different ones there are among n sorted hashes. */
static size_t count_distinct(const uint64_t *sorted, size_t n)
{
    size_t distinct = 0;
    for (size_t i = 0; i < n; i++)
        distinct += i == 0 || sorted[i] != sorted[i - 1];
    return distinct;
}

static cf_status add_pairs(cf_filter *filter, const cf_valued *pairs, size_t n)
{
    enum { AHEAD = 16, COST = 100 };
    cf_ticker ticker = cf_ticker_of(filter->watch);
    cf_status status = CF_OK;
    for (size_t i = 0; i < n && status == CF_OK; i++) {
        cf_key_fetch(filter, pairs[n - i > AHEAD ? i + AHEAD : i].hash);
        status = cf_tick(&ticker, COST) ? CF_INTERRUPTED
                                        : cf_add_value(filter, pairs[i].hash, pairs[i].value);
    }
    return status == CF_OK ? cf_settle(filter) : status;
}

/* An empty filter of this shape takes the content. It may grow for it only when `grow` says so. */
static cf_status fill(cf_filter *filter, const cf_geometry *shape, bool grow, const cf_content *content)
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
    cf_status status = content->pairs ? add_pairs(filter, content->pairs, content->n)
                                      : cf_add_many(filter, content->hashes, content->n, NULL);
    filter->memory.most = memory.most;
    if (status == CF_OK)
        return status;
    memory.resize(memory.context, filter->writable, 0);
    filter->bytes = filter->writable = NULL; /* the rest is left for messages */
    return status == CF_TOO_BIG && !grow ? CF_FULL : status;
}

/* The planned table is full in a few of a million builds, or when many keys have several values. Then
** wider ones are tried, for values faster so: a table that grows would be larger by a third or more. */
static cf_status fill_wider(cf_filter *filter, cf_geometry shape, const cf_content *content)
{
    cf_status status = fill(filter, &shape, false, content);
    for (int i = 1; i < CF_TRIES && status == CF_FULL; i++) {
        for (int steps = content->pairs ? i : 1; steps > 0 && status == CF_FULL; steps--)
            if (cf_plan_wider(&shape) != CF_OK)
                return status;
        status = fill(filter, &shape, false, content);
    }
    return status;
}

/* Can the entries of no key be more than are found? Pairs are sorted. */
static bool can_hold(const cf_geometry *shape, const cf_content *content)
{
    size_t most = 2u * shape->bucket_size + (shape->spill_bound ? CF_SPILL_COPIES : 0);
    for (size_t i = most; content->pairs && i < content->n; i++)
        if (content->pairs[i - most].hash == content->pairs[i].hash)
            return false;
    return true;
}

/* Of a sorted content, in which `entries` are different. */
static cf_status build(cf_filter *filter, const cf_content *content, size_t entries, uint64_t capacity,
                       double fpr, const cf_options *options, const char **why)
{
    cf_geometry shape;
    bool mergeable = entries <= capacity;
    cf_status status = cf_plan(mergeable ? capacity : entries, fpr, options, &shape, why);
    if (status != CF_OK)
        return status;
    if (!can_hold(&shape, content))
        return CF_FULL;
    status = CF_FULL;
    if (!mergeable || !shape.growth)
        status = fill_wider(filter, shape, content);
    if (status == CF_FULL && shape.growth)
        status = fill(filter, &shape, true, content);
    return status;
}

cf_status cf_build(cf_filter *filter, uint64_t *hashes, size_t n, uint64_t capacity, double fpr,
                   const cf_options *options, const char **why)
{
    cf_ticker ticker = cf_ticker_of(filter->watch);
    *why = NULL;
    filter->bytes = filter->writable = NULL;
    if (!cf_sort_with(hashes, n, &filter->memory, &ticker))
        return CF_INTERRUPTED;
    if (options->counter_bits == 0)
        n = cf_drop_repeated(hashes, n);
    cf_content content = {hashes, NULL, n};
    return build(filter, &content, count_distinct(hashes, n), capacity, fpr, options, why);
}

cf_status cf_build_values(cf_filter *filter, cf_valued *pairs, size_t n, uint64_t capacity, double fpr,
                          const cf_options *options, const char **why)
{
    *why = NULL;
    filter->bytes = filter->writable = NULL;
    cf_status status = cf_sort_pairs(pairs, n, &filter->memory, filter->watch);
    if (status != CF_OK)
        return status;
    n = cf_drop_repeated_pairs(pairs, n);
    cf_content content = {NULL, pairs, n};
    return build(filter, &content, n, capacity, fpr, options, why);
}
