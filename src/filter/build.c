/* SPDX-License-Identifier: MIT */
#include "../base/bits.h"
#include "../entry/stash.h"
#include "../insert/growth.h"
#include "../shape/format.h"
#include "bulk_add.h"
#include "collect.h"

/* Adds the keys to a new filter of this shape, which may grow only if `grow` is set. */
static cf_status fill(cf_filter *filter, const cf_geometry *shape, bool grow, cf_collected *keys)
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
    cf_status status = cf_add_sorted(filter, keys, NULL);
    filter->memory.most = memory.most;
    if (status == CF_OK)
        return status;
    memory.resize(memory.context, filter->writable, 0);
    filter->bytes = filter->writable = NULL; /* the rest stays, for messages */
    filter->view = (cf_view){0};
    return status == CF_TOO_BIG && !grow ? CF_FULL : status;
}

/* The planned table is full in a few of a million builds, or if many keys have several values. Then
** wider ones are tried, in larger steps with values: a grown table would be a third larger. */
static cf_status fill_wider(cf_filter *filter, cf_geometry shape, cf_collected *keys)
{
    cf_status status = fill(filter, &shape, false, keys);
    for (int i = 1; i < CF_TRIES && status == CF_FULL; i++) {
        for (int steps = keys->valued ? i : 1; steps > 0; steps--)
            if (cf_plan_wider(&shape) != CF_OK)
                return status;
        status = fill(filter, &shape, false, keys);
    }
    return status;
}

static cf_status plan_and_fill(cf_filter *filter, cf_collected *keys, uint64_t capacity, double fpr,
                               const cf_options *options, const char **why)
{
    cf_geometry shape;
    cf_status status = cf_collected_sort(keys);
    if (status != CF_OK)
        return status;
    bool mergeable = keys->distinct <= capacity;
    status = cf_plan(mergeable ? capacity : keys->distinct, fpr, options, &shape, why);
    if (status != CF_OK)
        return status;
    if (keys->valued &&
        keys->most_alike > 2u * shape.bucket_size + (shape.stash_size ? CF_STASH_COPIES : 0))
        return CF_FULL; /* a lookup could not find so many entries of a key */
    status = CF_FULL;
    if (!mergeable || !shape.growth)
        status = fill_wider(filter, shape, keys);
    if (status == CF_FULL && shape.growth)
        status = fill(filter, &shape, true, keys);
    return status;
}

cf_status cf_build_collected(cf_filter *filter, cf_collected *list, uint64_t capacity, double fpr,
                             const cf_options *options, const char **why)
{
    static const cf_options none = {0};
    const char *said = NULL;
    options = options ? options : &none;
    filter->bytes = filter->writable = NULL;
    cf_status status =
        filter->memory.resize == NULL
            ? cf_refuse(CF_BAD_ARGUMENT, &said, "filter->memory is not set: give it resize")
        : list->values > cf_low_bits(options->value_bits)
            ? cf_refuse(CF_BAD_ARGUMENT, &said, "a value has more than value_bits bits")
            : plan_and_fill(filter, list, capacity, fpr, options, &said);
    return cf_explained(status, why, said);
}

static cf_status build(cf_filter *filter, cf_many keys, uint64_t capacity, double fpr,
                       const cf_options *options, const char **why)
{
    filter->bytes = filter->writable = NULL;
    if (keys.at == NULL && keys.n > 0)
        return cf_refuse(CF_BAD_ARGUMENT, why, "there are no hashes: the pointer is NULL");
    cf_collected list = cf_collected_of(&keys);
    list.memory = filter->memory;
    list.watch = filter->watch;
    list.counts = options && options->counter_bits > 0;
    return cf_build_collected(filter, &list, capacity, fpr, options, why);
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
