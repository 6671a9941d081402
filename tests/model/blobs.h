/* SPDX-License-Identifier: MIT */
/*
** blobs.h - what hostile.h is given: bytes that are a filter, nearly one, or none.
*/
#ifndef CUCKOO_MODEL_BLOBS_H
#define CUCKOO_MODEL_BLOBS_H

#include "hostile.h"

/* A small filter of any shape, grown by some steps if it may, with some keys. */
static cf_filter make_filter(void)
{
    cf_filter filter;
    cf_geometry shape = any_shape();
    while (shape.buckets > 200)
        shape.buckets = 2 + 2 * random_below(60);
    cf_create(&filter, &shape, model_need(malloc(cf_geometry_bytes(&shape))));
    filter.memory = (cf_memory){world_resize, 6000 + cf_geometry_bytes(&shape), NULL};
    for (uint64_t n = random_below(20); n > 0 && probe_split(&filter) && one_in(2); n--)
        continue;
    for (uint64_t n = random_below(40); n > 0 && one_in(40) == false; n--) {
        cf_add_value(&filter, random64(), random64() & model_ones(shape.value_bits));
        if (one_in(4))
            probe_split(&filter);
    }
    cf_seal(&filter);
    return filter;
}

/* Any bytes in the place of its slots, and of its counts now and then. */
static void scatter(cf_filter *filter)
{
    uint8_t *bytes = model_bytes(filter);
    uint64_t end = filter->length - (one_in(2) ? 0 : 16 * (uint64_t)filter->geometry.stash_size);
    uint64_t values = one_in(3) ? 2 + random_below(6) : 256;
    for (uint64_t at = 64; at < end; at++)
        bytes[at] = (uint8_t)random_below(values);
    if (one_in(3))
        for (unsigned at = AT_COUNTS; at < AT_COUNTS + 12; at += 6)
            bytes[at] = (uint8_t)random64();
}

/* Entries of any length that may be there; then it is sound. */
static void fill_soundly(cf_filter *filter)
{
    uint64_t slots = filter->buckets * filter->geometry.bucket_size;
    for (uint64_t n = random_below(slots + slots / 4); n > 0; n--) {
        uint64_t hash = random64(), payload = filter->geometry.epochs ? filter->epoch : random64();
        if (model_look_for(filter, hash, 0).entries < filter->geometry.max_copies)
            probe_put(filter, hash, (unsigned)random_below(64), payload);
    }
    if (filter->geometry.epochs)
        filter->items = filter->occupied;
    cf_seal(filter);
    REQUIRE(model_has_grown(filter) || is_sound(filter));
}

static void mutate(uint8_t *bytes, size_t length)
{
    for (uint64_t changes = random_below(4); changes > 0; changes--)
        bytes[random_below(one_in(3) ? length : 64)] ^= (uint8_t)(1u << random_below(8));
    if (one_in(2))
        bytes[random_below(64)] = (uint8_t)random64();
    if (one_in(20))
        bytes[12] |= 0x60; /* a collation that there is not */
    if (!one_in(8))
        reseal(bytes);
}

/* As it is in memory that grows or not. */
static void try_both(const uint8_t *bytes, size_t length)
{
    try_blob(bytes, length, false);
    try_blob(bytes, length, true);
}

static void try_filter(void)
{
    cf_filter filter = make_filter();
    uint64_t kind = random_below(4);
    last_step = "hostile bytes";
    if (kind == 0)
        scatter(&filter);
    if (kind == 1)
        fill_soundly(&filter);
    uint8_t *bytes = model_bytes(&filter);
    if (kind == 0)
        reseal(bytes);
    if (kind > 1 || one_in(4))
        mutate(bytes, filter.length);
    uint8_t *copy = copy_of_bytes(bytes, filter.length);
    try_both(copy, one_in(8) ? random_below(filter.length) : filter.length);
    free(copy);
    free(bytes);
}

/* Each bit of a header turned round: it is refused, or a header that would be written. */
static inline void try_each_bit(void)
{
    cf_filter filter = make_filter();
    uint8_t *bytes = model_bytes(&filter);
    last_step = "each bit of a header";
    for (unsigned bit = 0; bit < 8 * AT_CHECKSUM && !failed; bit++) {
        victim v;
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        reseal(bytes);
        if (open_victim(&v, bytes, filter.length, false)) {
            ask(&v, some_key(&v));
            close_victim(&v);
        }
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    free(bytes);
}

/* Noise, as it is, and with magic, version and checksum made right. */
static void try_noise(const uint8_t *bytes, size_t length)
{
    uint8_t *copy = copy_of_bytes(bytes, length);
    last_step = "noise";
    try_both(copy, length);
    if (length > 72) {
        memcpy(copy, "\xcf\x63\x6b\1", 4);
        copy[4] = (uint8_t)(1 + copy[4] % 2 + (copy[4] & 0xf0));
        reseal(copy);
        try_both(copy, length);
    }
    free(copy);
}

#endif
