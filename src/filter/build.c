/* SPDX-License-Identifier: MIT */
#include "../base/bits.h"
#include "../entry/stash.h"
#include "../insert/growth.h"
#include "../shape/format.h"
#include "bulk_add.h"

/* How many different ones there are among n sorted hashes. */
static size_t count_distinct(const uint64_t *sorted, size_t n)
{
    size_t distinct = 0;
    for (size_t i = 0; i < n; i++)
        distinct += i == 0 || sorted[i] != sorted[i - 1];
    return distinct;
}

/* An empty filter of this shape takes the keys. It may grow for it only when `grow` says so. */
static cf_status fill(cf_filter *filter, const cf_geometry *shape, bool grow, const cf_many *keys)
{
    const cf_memory memory = filter->memory;
    const cf_watch *watch = filter->watch;
    uint64_t length = cf_geometry_bytes(shape);
    filter->geometry = *shape;
    if (length > cf_most(&memory))
        return CF_TOO_BIG;
    uint8_t *bytes = memory.resize(memory.context, NULL, length);
    if (bytes == NULL)
        return CF_NO_MEMORY;
    cf_create(filter, shape, bytes);
    filter->watch = watch;
    filter->memory = memory;
    if (!grow)
        filter->memory.most = length;
    cf_status status = cf_add_all(filter, keys, NULL);
    filter->memory.most = memory.most;
    if (status == CF_OK)
        return status;
    memory.resize(memory.context, filter->writable, 0);
    filter->bytes = filter->writable = NULL; /* the rest is left for messages */
    filter->view = (cf_view){0};
    return status == CF_TOO_BIG && !grow ? CF_FULL : status;
}

/* The planned table is full in a few of a million builds, or when many keys have several values. Then
** wider ones are tried, for values faster so: a table that grows would be larger by a third or more. */
static cf_status fill_wider(cf_filter *filter, cf_geometry shape, const cf_many *keys)
{
    cf_status status = fill(filter, &shape, false, keys);
    for (int i = 1; i < CF_TRIES && status == CF_FULL; i++) {
        for (int steps = keys->words > 1 ? i : 1; steps > 0; steps--)
            if (cf_plan_wider(&shape) != CF_OK)
                return status;
        status = fill(filter, &shape, false, keys);
    }
    return status;
}

/* Has a pair a value of more bits? */
static bool is_too_wide(const cf_many *keys, unsigned bits)
{
    uint64_t all = 0;
    for (size_t i = 1; keys->words > 1 && i < 2 * keys->n; i += 2)
        all |= keys->at[i];
    return all > cf_low_bits(bits);
}

/* What is wrong with the arguments of a build; NULL: nothing. */
static const char *build_fault(const cf_filter *filter, const cf_many *keys, const cf_options *options)
{
    return filter->memory.resize == NULL            ? "filter->memory is not set: give it resize"
           : keys->at == NULL && keys->n > 0        ? "there are no hashes: the pointer is NULL"
           : is_too_wide(keys, options->value_bits) ? "a value has more than value_bits bits"
                                                    : NULL;
}

/* Can the entries of no key be more than are found? */
static bool can_hold(const cf_geometry *shape, const cf_many *keys)
{
    size_t most = 2u * shape->bucket_size + (shape->stash_size ? CF_STASH_COPIES : 0);
    for (size_t i = most; keys->words > 1 && i < keys->n; i++)
        if (keys->at[2 * (i - most)] == keys->at[2 * i])
            return false;
    return true;
}

static cf_status plan_and_fill(cf_filter *filter, cf_many keys, uint64_t capacity, double fpr,
                               const cf_options *options, const char **why)
{
    cf_geometry shape;
    cf_ticker ticker = cf_ticker_of(filter->watch);
    if (!cf_sort_many(&keys, &filter->memory, &ticker))
        return CF_INTERRUPTED;
    size_t entries;
    if (keys.words == 1 && options->counter_bits > 0)
        entries = count_distinct(keys.at, keys.n);
    else if (keys.words == 1)
        entries = keys.n = cf_drop_repeated(keys.at, keys.n);
    else
        entries = keys.n = cf_drop_repeated_pairs((cf_valued *)keys.at, keys.n);
    bool mergeable = entries <= capacity;
    cf_status status = cf_plan(mergeable ? capacity : entries, fpr, options, &shape, why);
    if (status != CF_OK)
        return status;
    if (!can_hold(&shape, &keys))
        return CF_FULL;
    status = CF_FULL;
    if (!mergeable || !shape.growth)
        status = fill_wider(filter, shape, &keys);
    if (status == CF_FULL && shape.growth)
        status = fill(filter, &shape, true, &keys);
    return status;
}

static cf_status build(cf_filter *filter, cf_many keys, uint64_t capacity, double fpr,
                       const cf_options *options, const char **why)
{
    static const cf_options none = {0};
    const char *said = NULL;
    options = options ? options : &none;
    filter->bytes = filter->writable = NULL;
    const char *fault = build_fault(filter, &keys, options);
    cf_status status = fault ? cf_refuse(CF_BAD_ARGUMENT, &said, fault)
                             : plan_and_fill(filter, keys, capacity, fpr, options, &said);
    return cf_explained(status, why, said);
}

cf_status cf_build(cf_filter *filter, uint64_t *hashes, size_t n, uint64_t capacity, double fpr,
                   const cf_options *options, const char **why)
{
    return build(filter, (cf_many){hashes, n, 1}, capacity, fpr, options, why);
}

cf_status cf_build_values(cf_filter *filter, cf_valued *pairs, size_t n, uint64_t capacity, double fpr,
                          const cf_options *options, const char **why)
{
    return build(filter, (cf_many){(uint64_t *)pairs, n, 2}, capacity, fpr, options, why);
}
