/* SPDX-License-Identifier: MIT */
/*
** hostile.h - any bytes made into what opens as a filter, step by step: its identity, its shape,
** its contents.
*/
#ifndef HOSTILE_H
#define HOSTILE_H

#include "../../src/entry/spill.h"
#include "../../src/growth/growth.h"
#include "../../src/table/bucket.h"
#include "fuzz.h"

/* The right magic, version and checksum; the other fields are the input's. */
static inline void make_identity(uint8_t *bytes)
{
    uint8_t hash = bytes[4] % 2 ? CF_IDENTITY_KEYED : CF_IDENTITY_XXH3;
    const uint8_t identity[] = {0xcf, 0x63, 0x6b, CF_FORMAT_VERSION, hash};
    memcpy(bytes, identity, sizeof identity);
    fuzz_reseal(bytes);
}

/* As many base buckets as there is room for, an even number, and after that as many split ones. */
static inline void make_stage(cf_header *header, uint64_t table_bytes, unsigned level, bool grown)
{
    cf_geometry *g = &header->geometry;
    unsigned payload = cf_payload_bits(g, false);
    uint64_t bits = g->bucket_size * (uint64_t)(cf_slot_bits(g, level + 1, grown) + payload);
    bits += g->spill_bound != 0;
    bits -= g->semisorted ? CF_SEMISORT_SAVES : 0;
    uint64_t buckets = table_bytes * 8 / bits;
    g->buckets = (buckets >> level) & ~(uint64_t)1;
    header->level = level;
    if (grown && level == 0)
        g->buckets = (buckets - buckets / 3) & ~(uint64_t)1;
    header->split = grown ? buckets - (g->buckets << level) : 0;
    if (header->split > g->buckets << level)
        header->split = g->buckets << level;
}

/* A spill list of up to half of the length, or none. */
static inline void make_list(const uint8_t *bytes, size_t length, cf_header *header)
{
    uint64_t most = (length - CF_HEADER_BYTES) / 2 / CF_SPILL_ENTRY;
    if (most == 0 || bytes[14] % 2)
        return;
    most = most < CF_SPILL_MAX ? most : CF_SPILL_MAX;
    header->geometry.spill_bound = (uint16_t)(1 + (bytes[14] + 256u * bytes[15]) / 2 % most);
    header->geometry.budget = bytes[9] % 12;
    header->spilled = bytes[16] % (header->geometry.spill_bound + 1u);
}

/* Header fields in their ranges, and as many buckets as the length has room for. */
static inline void make_shape(uint8_t *bytes, size_t length)
{
    cf_header header = {.reserved = CF_RESERVED_MIN};
    cf_geometry *g = &header.geometry;
    g->bucket_size = (uint8_t)(1 << bytes[5] % 4);
    g->fingerprint_bits = (uint8_t)(CF_FINGERPRINT_MIN + bytes[6] % 29);
    g->pair_bits = (uint8_t)(CF_PAIR_BITS_MIN + bytes[7] % (g->fingerprint_bits - 3));
    g->cap = (uint8_t)(1 + bytes[8] % g->bucket_size);
    g->counter_bits = bytes[11] % 4 == 1 ? (uint8_t)(1 + bytes[13] % CF_COUNTER_MAX) : 0;
    g->value_bits = bytes[11] % 4 == 2 ? (uint8_t)(1 + bytes[13] % CF_VALUE_MAX) : 0;
    g->growth = bytes[12] % 4 > 0;
    g->semisorted = g->bucket_size == 4 && g->fingerprint_bits > 4 && bytes[12] / 4 % 2;
    make_list(bytes, length, &header);
    if (bytes[11] % 4 == 3) { /* it ages */
        g->epochs = (uint8_t)(1 + bytes[13] % CF_EPOCHS_MAX);
        g->cap = 1;
        g->spill_bound = g->budget = 0;
        header.spilled = 0;
        header.epoch = cf_load64(bytes + 40) >> 16 >> bytes[12] / 8;
    }
    g->seed = (int64_t)cf_load64(bytes + 24);
    g->keyed = bytes[4] == CF_IDENTITY_KEYED;
    g->capacity = cf_load64(bytes + 32) >> 16;
    header.items = cf_load64(bytes + 40) >> 16;
    uint64_t list = (uint64_t)g->spill_bound * CF_SPILL_ENTRY;
    make_stage(&header, length - CF_HEADER_BYTES - CF_RESERVED_MIN - list,
               g->growth ? bytes[10] % 10 : 0, bytes[12] % 4 > 1);
    if (g->buckets == 0)
        return;
    if (header.level == 0 && g->spill_bound == 0 && bytes[17] % 4 == 0) {
        header.prepared = header.split;
        header.split = 0;
    }
    bool grown = header.prepared > 0 || cf_is_grown(header.level, header.split);
    header.reserved += (uint32_t)(length - cf_bytes_at(g, header.level, header.split, grown));
    uint64_t slots = cf_buckets_at(g, header.level, header.split) * g->bucket_size;
    header.occupied = bytes[48] % 8 ? slots / 8 * (bytes[48] % 8) : 0;
    cf_header_encode(&header, bytes);
}

/* A slot that cf_check has nothing to say of, or empty. */
static inline uint64_t sound_slot(const cf_filter *filter, uint64_t bucket, uint64_t tag)
{
    uint64_t mark = (uint64_t)1 << filter->geometry.fingerprint_bits;
    if (!filter->view.grown && cf_form_of(filter, bucket)->grown)
        return tag & filter->view.fingerprint_mask ? (tag & filter->view.fingerprint_mask) | mark : 0;
    if (!filter->view.grown || tag == 0)
        return tag;
    unsigned most =
        filter->geometry.pair_bits + filter->view.new_length - cf_home_of(filter, bucket).bits;
    tag &= cf_low_bits(most + 1) & cf_form_of(filter, bucket)->slot_mask;
    return tag >> filter->geometry.pair_bits ? tag : 0;
}

/* Puts a spilled entry back: into its bucket when there is room, into the list when both its
** buckets are full. */
static inline void put_spilled(cf_filter *filter, const cf_spilled *entry)
{
    uint64_t bucket = entry->bucket % filter->buckets, tag = sound_slot(filter, bucket, entry->tag);
    if (tag == 0)
        return;
    int slot = cf_bucket_free_slot(filter, bucket);
    if (slot >= 0) {
        cf_slot_set(filter, bucket, (unsigned)slot, tag, entry->payload);
        return;
    }
    cf_side side = cf_side_of(filter, cf_home_of(filter, bucket), tag);
    cf_pair pair = cf_pair_from(filter, side);
    if (filter->view.grown || cf_bucket_free_slot(filter, pair.place[pair.sides - 1].bucket) < 0)
        cf_spill_add(filter, &(cf_spilled){bucket, tag, entry->payload});
}

static inline void make_sound_table(cf_filter *filter)
{
    for (uint64_t bucket = 0; bucket < filter->buckets; bucket++) {
        cf_record record;
        cf_record_read(filter, bucket, &record);
        for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++) {
            record.tag[slot] = sound_slot(filter, bucket, record.tag[slot]);
            record.payload[slot] = record.tag[slot] ? record.payload[slot] : 0;
        }
        cf_record_write(filter, bucket, &record);
        if (filter->geometry.spill_bound)
            cf_overflow_set(filter, bucket, false);
    }
}

static inline void clear_bits(cf_filter *filter, uint64_t from, uint64_t to)
{
    for (; from < to; from++)
        filter->view.writable[from / 8] &= (uint8_t) ~(1u << from % 8);
}

/* What is not in buckets: between narrow ones and others, and at the end. */
static inline void clear_rest(cf_filter *filter)
{
    uint64_t narrow = filter->view.narrow_buckets;
    uint64_t end =
        cf_table_bits(&filter->geometry, filter->level, filter->split, filter->view.form.grown);
    if (narrow < filter->buckets)
        clear_bits(filter, narrow * filter->view.narrow.bucket_bits,
                   narrow * filter->view.form.bucket_bits);
    clear_bits(filter, end, (filter->length - CF_HEADER_BYTES) * 8);
}

/* Slots, list, counts and the bytes at the end as they should be: then cf_check finds nothing else
** to say of many inputs. */
static inline void make_sound(uint8_t *bytes, size_t length)
{
    const char *why = NULL;
    cf_filter filter;
    if (cf_open_writable(&filter, bytes, length, &why) != CF_OK)
        return;
    unsigned spilled = filter.spilled;
    cf_spilled *list = fuzz_malloc(spilled * sizeof *list);
    for (unsigned i = 0; i < spilled; i++)
        list[i] = cf_spill_get(&filter, i);
    make_sound_table(&filter);
    clear_rest(&filter);
    filter.spilled = 0;
    for (unsigned i = 0; i < spilled; i++)
        put_spilled(&filter, &list[i]);
    free(list);
    cf_census census = cf_take_census(&filter);
    filter.occupied = census.occupied;
    if (filter.items < census.copies || census.sticky == 0)
        filter.items = census.copies;
    cf_seal(&filter);
}

#endif
