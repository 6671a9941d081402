/*
** check.c - walking over all the buckets: what opening, in constant time, cannot see.
*/
#include "address.h"
#include "bucket.h"
#include "format.h"
#include "place.h"

static cf_status damaged(const char **why, const char *reason)
{
    *why = reason;
    return CF_DAMAGED;
}

/* Copies of a stored entry in its two buckets. */
static unsigned copies_of(const cf_filter *filter, cf_side entry)
{
    cf_pair pair = cf_pair_from(filter, entry);
    return cf_copies(filter, &pair);
}

cf_census cf_take_census(const cf_filter *filter)
{
    cf_census census = {0, 0};
    for (uint64_t bucket = 0; bucket < filter->geometry.buckets; bucket++)
        for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++) {
            cf_side entry = {bucket, cf_slot_get(filter, bucket, slot)};
            if (entry.tag == 0)
                continue;
            census.occupied++;
            census.sticky += copies_of(filter, entry) >= filter->geometry.cap;
        }
    return census;
}

static cf_status check_bucket(const cf_filter *filter, uint64_t bucket, uint64_t *occupied,
                              const char **why)
{
    for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++) {
        cf_side entry = {bucket, cf_slot_get(filter, bucket, slot)};
        if (entry.tag == 0)
            continue;
        (*occupied)++;
        if (copies_of(filter, entry) > filter->geometry.cap)
            return damaged(why, "a key has more copies than cap allows");
    }
    return CF_OK;
}

/* The bits behind the last bucket, and the reserved bytes. */
static cf_status check_rest(const cf_filter *filter, const char **why)
{
    uint64_t table_bits = filter->geometry.buckets * filter->bucket_bits;
    const uint8_t *end = filter->bytes + filter->length;
    const uint8_t *p = filter->table + table_bits / 8;
    if (table_bits % 8 != 0 && *p++ >> (table_bits % 8) != 0)
        return damaged(why, "the bits behind the last bucket are not zero");
    for (; p < end; p++)
        if (*p != 0)
            return damaged(why, "the reserved bytes are not zero");
    return CF_OK;
}

cf_status cf_check(const cf_filter *filter, const char **why)
{
    uint64_t occupied = 0;
    cf_status status = check_rest(filter, why);
    for (uint64_t bucket = 0; status == CF_OK && bucket < filter->geometry.buckets; bucket++)
        status = check_bucket(filter, bucket, &occupied, why);
    if (status != CF_OK)
        return status;
    if (occupied != filter->occupied)
        return damaged(why, "the header does not count the occupied slots right");
    if (filter->items < occupied)
        return damaged(why, "the header counts fewer items than slots are occupied");
    return CF_OK;
}
