/* SPDX-License-Identifier: MIT */
#include "geometry.h"

#include <math.h>

#include "../base/bits.h"
#include "../include/cuckoo_key.h"

const char *cf_sizes_fault(unsigned b, unsigned f, unsigned counter_bits, unsigned value_bits)
{
    return b != 1 && b != 2 && b != 4 && b != 8               ? "bucket_size must be 1, 2, 4 or 8"
           : f < CF_FINGERPRINT_MIN || f > CF_FINGERPRINT_MAX ? "fingerprint_bits must be from 4 to 32"
           : counter_bits > CF_COUNTER_MAX                    ? "counter_bits must be from 0 to 16"
           : value_bits > CF_WIDE_VALUE_MAX                   ? "value_bits must be from 0 to 62"
           : counter_bits && value_bits
               ? "counter_bits and value_bits exclude each other: leave one of them out"
               : NULL;
}

cf_status cf_geometry_check(const cf_geometry *g, const char **why)
{
    const char *sizes =
        cf_sizes_fault(g->bucket_size, g->fingerprint_bits, g->counter_bits, g->value_bits);
    const char *fault =
        sizes ? sizes
        : g->pair_bits < CF_PAIR_BITS_MIN || g->pair_bits > g->fingerprint_bits
            ? "pair_bits must be from 4 to fingerprint_bits"
        : g->max_copies < 1 || g->max_copies > 2 * g->bucket_size
            ? "max_copies must be from 1 to twice bucket_size"
        : g->semisorted && (g->bucket_size != 4 || g->fingerprint_bits < 5)
            ? "semi-sorted buckets have 4 slots of 5 bits or more"
        : g->epochs > CF_EPOCHS_MAX ||
                (g->epochs && (g->counter_bits | g->value_bits | g->stash_size || g->max_copies != 1))
            ? "epochs are from 1 to 15, without counters, values and stash"
        : g->stash_size > CF_STASH_MAX || (g->budget && !g->stash_size)
            ? "a stash has from 1 to 4096 entries"
        : g->stash_size && g->value_bits > CF_VALUE_MAX ? "with a stash value_bits are at most 32"
        : g->growth && g->stash_size                    ? "a filter with a stash does not grow"
        : g->affinity > CF_AFFINITY_REAL || g->collation > CF_COLLATION_RTRIM
            ? "the key rule has an unknown affinity or collation"
        : g->key_types > CF_TYPES_MIXED ? "key_types has unknown bits"
                                        : NULL;
    if (fault)
        return cf_refuse(CF_BAD_ARGUMENT, why, fault);
    /* RULE: the number of base buckets is even */
    if (g->buckets < 2 || g->buckets % 2 != 0)
        return cf_refuse(CF_BAD_ARGUMENT, why,
                         "the number of base buckets must be even, and at least 2");
    if (g->buckets > CF_CAPACITY_MAX || cf_bits_for(g->buckets) + g->fingerprint_bits > 64)
        return cf_refuse(CF_TOO_BIG, why, "more buckets than the hash has bits for");
    return CF_OK;
}

/* ---- stages ---- */

/* Remainder bits of a new entry beyond the bits of a slot before growth and of its level (growth.h). */
enum { GROWTH_BITS = 4 };

bool cf_same_rule(const cf_geometry *one, const cf_geometry *other)
{
    return one->seed == other->seed && one->keyed == other->keyed && one->affinity == other->affinity &&
           one->collation == other->collation;
}

unsigned cf_slot_bits(const cf_geometry *shape, bool grown)
{
    return grown ? shape->fingerprint_bits + GROWTH_BITS + 1u : shape->fingerprint_bits;
}

unsigned cf_payload_bits(const cf_geometry *shape, bool grown)
{
    return shape->counter_bits ? shape->counter_bits
           : shape->epochs     ? CF_EPOCH_BITS
                               : shape->value_bits + grown;
}

unsigned cf_bucket_bits(const cf_geometry *shape, bool grown)
{
    unsigned slot = cf_slot_bits(shape, grown) + cf_payload_bits(shape, grown);
    return shape->bucket_size * slot + (shape->stash_size != 0) -
           (shape->semisorted ? CF_SEMISORT_SAVES : 0);
}

uint64_t cf_buckets_at(const cf_geometry *shape, unsigned level, uint64_t split)
{
    return (shape->buckets << level) + split;
}

uint64_t cf_bytes_at(const cf_geometry *shape, unsigned level, uint64_t split)
{
    uint64_t table =
        cf_buckets_at(shape, level, split) * cf_bucket_bits(shape, cf_is_grown(level, split));
    return CF_HEADER_BYTES + (table + 7) / 8 + CF_RESERVED_MIN +
           (uint64_t)shape->stash_size * CF_STASH_ENTRY;
}

/* Remainder bits of the hash, besides base bucket and pair bits. */
static unsigned remainder_bits(const cf_geometry *shape)
{
    return 64 - shape->pair_bits - cf_bits_for(shape->buckets);
}

unsigned cf_new_length(const cf_geometry *shape, unsigned level, bool grown)
{
    unsigned length = shape->fingerprint_bits - shape->pair_bits, most = remainder_bits(shape);
    length += grown ? level + GROWTH_BITS : 0;
    return grown && length > most ? most : length;
}

cf_status cf_stage_check(const cf_geometry *shape, unsigned level, uint64_t split, const char **why)
{
    if (!shape->growth && cf_is_grown(level, split))
        return cf_refuse(CF_BAD_ARGUMENT, why, "it has grown, although growth is off");
    if (level >= 40 || shape->buckets > CF_CAPACITY_MAX >> level)
        return cf_refuse(CF_TOO_BIG, why, "more buckets than the format has numbers for");
    if (level + 1 >= remainder_bits(shape) && cf_is_grown(level, split))
        return cf_refuse(CF_TOO_BIG, why, "more buckets than the hash has bits for");
    if (split > shape->buckets << level)
        return cf_refuse(CF_BAD_ARGUMENT, why, "the split pointer is beyond the level");
    return CF_OK;
}

/* ---- a new filter ---- */

uint64_t cf_geometry_slots(const cf_geometry *g)
{
    return g->buckets * g->bucket_size;
}

uint64_t cf_geometry_bytes(const cf_geometry *g)
{
    return cf_bytes_at(g, 0, 0);
}

double cf_expected_fpr(const cf_geometry *g, uint64_t entries)
{
    double match = (ldexp(1, g->fingerprint_bits) + 2) * ldexp(1, -2 * g->fingerprint_bits);
    double compared = 2 * (double)entries / (double)g->buckets;
    return compared < 1 ? compared * match : -expm1(compared * log1p(-match));
}

/* Distinct keys with the same fingerprint and pair are copies to the filter: `copies` of them are
** saturated, and cannot be deleted. While n keys are replaced by n others, this happens
** n * lambda^(copies - 1) / (copies - 1)! times, where lambda = 2b / 2^f is the false-positive rate of a
** full table. */
uint64_t cf_turnovers(const cf_geometry *shape)
{
    enum { SLOTS_PER_LOSS = 200 };
    if (shape->max_copies == 0 || cf_sizes_fault(shape->bucket_size, shape->fingerprint_bits,
                                                 shape->counter_bits, shape->value_bits) != NULL)
        return 0;
    unsigned rate_bits = shape->fingerprint_bits - 1 - cf_floor_log2(shape->bucket_size);
    uint32_t copies = shape->counter_bits ? (uint32_t)1 << shape->counter_bits : shape->max_copies;
    uint64_t lost = SLOTS_PER_LOSS * (uint64_t)(shape->counter_bits ? 1 : shape->max_copies);
    uint64_t most = CF_TURNOVERS_MAX * lost, keys = 1; /* keys that are added for each saturated class */
    if (shape->epochs)
        return CF_TURNOVERS_MAX; /* nothing is saturated */
    for (uint64_t i = 1; i < copies; i++) {
        if (!cf_product_at_most(keys, i << rate_bits, most, 1))
            return CF_TURNOVERS_MAX;
        keys *= i << rate_bits;
    }
    return keys / lost;
}

cf_status cf_plan_wider(cf_geometry *shape)
{
    const char *why;
    cf_geometry wider = *shape;
    cf_status status = cf_geometry_check(shape, &why);
    wider.buckets = (shape->buckets + shape->buckets / 32 + 2) & ~(uint64_t)1;
    status = status ? status : cf_geometry_check(&wider, &why);
    if (status == CF_OK)
        *shape = wider;
    return status;
}
