/* SPDX-License-Identifier: MIT */
#include "stash.h"

#include "../table/bucket.h"

/* ---- the list ---- */

static uint64_t offset_of(const cf_filter *filter, unsigned index)
{
    return filter->length - (uint64_t)(filter->geometry.stash_size - index) * CF_STASH_ENTRY;
}

cf_record cf_stash_get(const cf_filter *filter, unsigned index)
{
    assert(index < filter->geometry.stash_size);
    uint64_t offset = offset_of(filter, index);
    const uint8_t *at = filter->bytes + offset;
    cf_need(filter, offset, offset + CF_STASH_ENTRY);
    uint64_t first = cf_load64(at), second = cf_load64(at + 8), tag = first >> 48 | second << 16;
    const cf_form *form = &filter->view.form;
    return (cf_record){first & cf_low_bits(48), tag & form->slot_mask,
                       second >> 32 & cf_low_bits(form->payload_bits)};
}

static void encode(const cf_record *entry, uint8_t *at)
{
    cf_store64(at, entry->bucket | entry->tag << 48);
    cf_store64(at + 8, entry->tag >> 16 | entry->payload << 32);
}

static bool comes_before(const cf_record *a, const cf_record *b)
{
    if (a->bucket != b->bucket)
        return a->bucket < b->bucket;
    return a->tag != b->tag ? a->tag < b->tag : a->payload < b->payload;
}

unsigned cf_stash_position(const cf_filter *filter, const cf_record *entry)
{
    unsigned low = 0, high = filter->stashed;
    while (low < high) {
        unsigned middle = low + (high - low) / 2;
        cf_record there = cf_stash_get(filter, middle);
        if (comes_before(&there, entry))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- overflow bits ---- */

/* The two buckets of the keys that an entry may match. False: there are none (corrupt input only). */
static bool buckets_of(const cf_filter *filter, const cf_record *entry, uint64_t *bucket)
{
    if (entry->bucket >= filter->buckets || entry->tag == 0)
        return false;
    uint64_t mix = cf_pair_mix(entry->tag & filter->view.pair_mask);
    bucket[0] = entry->bucket;
    bucket[1] = cf_alternate_base(filter->geometry.buckets, entry->bucket, mix);
    return true;
}

unsigned cf_stash_of_bucket(const cf_filter *filter, uint64_t bucket)
{
    unsigned i = 0;
    for (; i < filter->stashed; i++) {
        cf_record entry = cf_stash_get(filter, i);
        uint64_t its[2];
        if (buckets_of(filter, &entry, its) && (its[0] == bucket || its[1] == bucket))
            break;
    }
    return i;
}

/* ---- entries ---- */

void cf_stash_add(cf_filter *filter, const cf_record *entry)
{
    assert(filter->stashed < filter->geometry.stash_size);
    uint64_t from = offset_of(filter, cf_stash_position(filter, entry)), bucket[2];
    uint64_t to = offset_of(filter, ++filter->stashed);
    uint8_t *at = filter->writable + from;
    cf_change(filter, from, to);
    memmove(at + CF_STASH_ENTRY, at, cf_in_memory(to - from - CF_STASH_ENTRY));
    encode(entry, at);
    filter->view.quick_add = false;
    for (unsigned i = 0; i < 2 && buckets_of(filter, entry, bucket); i++)
        cf_overflow_set(filter, bucket[i], true);
}

void cf_stash_remove(cf_filter *filter, unsigned index)
{
    cf_record entry = cf_stash_get(filter, index);
    uint64_t from = offset_of(filter, index), bucket[2];
    uint64_t last = offset_of(filter, --filter->stashed);
    uint8_t *at = filter->writable + from;
    cf_change(filter, from, last + CF_STASH_ENTRY);
    memmove(at, at + CF_STASH_ENTRY, cf_in_memory(last - from));
    memset(filter->writable + last, 0, CF_STASH_ENTRY);
    filter->view.quick_add = filter->stashed == 0;
    for (unsigned i = 0; i < 2 && buckets_of(filter, &entry, bucket); i++)
        /* RULE: an overflow bit stays while another entry needs it */
        cf_overflow_set(filter, bucket[i], cf_stash_of_bucket(filter, bucket[i]) < filter->stashed);
}

const char *cf_stash_fault(const cf_filter *filter)
{
    cf_record entry, before = {0, 0, 0};
    for (unsigned i = 0; i < filter->stashed; i++, before = entry) {
        uint64_t bucket[2];
        uint8_t bytes[CF_STASH_ENTRY];
        entry = cf_stash_get(filter, i);
        encode(&entry, bytes);
        if (memcmp(bytes, filter->bytes + offset_of(filter, i), sizeof bytes) != 0)
            return "an entry of the stash has bits that mean nothing";
        if (!buckets_of(filter, &entry, bucket))
            return "the stash names a bucket that does not exist, or nothing";
        if (comes_before(&entry, &before))
            return "the stash is not sorted";
        if (!cf_overflow_get(filter, bucket[0]) || !cf_overflow_get(filter, bucket[1]))
            return "an entry of the stash has no overflow bits";
    }
    return NULL;
}
