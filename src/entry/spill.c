/* SPDX-License-Identifier: MIT */
#include "spill.h"

#include "../table/bucket.h"

/* ---- the list ---- */

static uint64_t offset_of(const cf_filter *filter, unsigned index)
{
    return filter->length - (uint64_t)(filter->geometry.spill_bound - index) * CF_SPILL_ENTRY;
}

/* A sticky bit of a payload of 33 bits has no room in four bytes: it is the last one of the tag. */
#define STICKY_AT_TAG ((uint64_t)1 << 47)

cf_spilled cf_spill_get(const cf_filter *filter, unsigned index)
{
    assert(index < filter->geometry.spill_bound);
    uint64_t offset = offset_of(filter, index);
    const uint8_t *at = filter->bytes + offset;
    cf_need(filter, offset, offset + CF_SPILL_ENTRY);
    uint64_t first = cf_load64(at), second = cf_load64(at + 8), tag = first >> 48 | second << 16;
    const cf_form *form = &filter->view.form;
    uint64_t sticky = tag & STICKY_AT_TAG ? filter->view.sticky_bit : 0; /* RULE: the list keeps marks */
    uint64_t values = cf_low_bits(form->payload_bits) & ~filter->view.sticky_bit;
    return (cf_spilled){first & cf_low_bits(48), tag & form->slot_mask,
                        (second >> 32 & values) | sticky};
}

static void encode(const cf_filter *filter, const cf_spilled *entry, uint8_t *at)
{
    uint64_t sticky = filter->view.sticky_bit;
    uint64_t tag = entry->tag | (entry->payload & sticky ? STICKY_AT_TAG : 0);
    cf_store64(at, entry->bucket | tag << 48);
    cf_store64(at + 8, (tag >> 16 & cf_low_bits(32)) | (entry->payload & ~sticky) << 32);
}

void cf_spill_put(cf_filter *filter, unsigned index, const cf_spilled *entry)
{
    assert(filter->view.writable != NULL && index < filter->geometry.spill_bound);
    uint64_t offset = offset_of(filter, index);
    cf_change(filter, offset, offset + CF_SPILL_ENTRY);
    encode(filter, entry, filter->view.writable - CF_HEADER_BYTES + offset);
}

static bool comes_before(const cf_spilled *a, const cf_spilled *b)
{
    if (a->bucket != b->bucket)
        return a->bucket < b->bucket;
    return a->tag != b->tag ? a->tag < b->tag : a->payload < b->payload;
}

/* The first entry from `low` to before `high` that does not come before this one. */
static unsigned position(const cf_filter *filter, const cf_spilled *entry, unsigned low, unsigned high)
{
    while (low < high) {
        unsigned middle = low + (high - low) / 2;
        cf_spilled there = cf_spill_get(filter, middle);
        if (comes_before(&there, entry))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

unsigned cf_spill_first(const cf_filter *filter, uint64_t bucket)
{
    return position(filter, &(cf_spilled){bucket, 0, 0}, 0, filter->spilled);
}

/* Moves n entries to where the first of them is number `to`. */
static void move_entries(cf_filter *filter, unsigned to, unsigned from, unsigned n)
{
    uint8_t *blob = filter->view.writable - CF_HEADER_BYTES;
    uint64_t there = offset_of(filter, to), here = offset_of(filter, from);
    uint64_t bytes = (uint64_t)n * CF_SPILL_ENTRY;
    assert(to + n <= filter->geometry.spill_bound && from + n <= filter->geometry.spill_bound);
    if (n == 0)
        return;
    cf_need(filter, here, here + bytes);
    cf_change(filter, there, there + bytes);
    memmove(blob + there, blob + here, cf_in_memory(bytes));
}

/* From the end: an entry that comes too early moves all that it passes at once. */
void cf_spill_sort(cf_filter *filter)
{
    for (unsigned i = filter->spilled; i-- > 1;) {
        cf_spilled entry = cf_spill_get(filter, i - 1), next = cf_spill_get(filter, i);
        if (!comes_before(&next, &entry))
            continue;
        unsigned to = position(filter, &entry, i + 1, filter->spilled) - 1;
        move_entries(filter, i - 1, i, to - (i - 1));
        cf_spill_put(filter, to, &entry);
    }
}

/* ---- overflow bits ---- */

/* The buckets where keys look that an entry may match: its own, and its other one; both children of
** that when the entry knows too little to tell which. */
typedef struct look_set {
    uint64_t bucket[3];
    unsigned n;
} look_set;

static void add_look(const cf_filter *filter, const cf_side *side, look_set *looks)
{
    looks->bucket[looks->n++] = cf_locate(filter, side).bucket;
}

static look_set looks_of(const cf_filter *filter, const cf_spilled *entry)
{
    look_set looks = {.n = 0};
    if (entry->bucket >= filter->buckets || entry->tag == 0)
        return looks;
    cf_side side = cf_side_of(filter, cf_home_of(filter, entry->bucket), entry->tag);
    cf_side other = cf_alternate(filter, side);
    looks.bucket[looks.n++] = entry->bucket;
    add_look(filter, &other, &looks);
    /* RULE: void entries are looked for in two children; equivalent always, > to >=: a bit more */
    if (cf_locate(filter, &other).extension > other.length) {
        other.bits |= (uint64_t)1 << (filter->geometry.pair_bits + other.length);
        add_look(filter, &other, &looks);
    }
    return looks;
}

static bool looks_at(const look_set *looks, uint64_t bucket)
{
    for (unsigned i = 0; i < looks->n; i++)
        if (looks->bucket[i] == bucket)
            return true;
    return false;
}

/* Clears the bits of these buckets, but those that other entries have in their pairs. */
static void clear_unless_named(cf_filter *filter, const look_set *looks)
{
    unsigned named = 0, all = (1u << looks->n) - 1;
    for (unsigned i = 0; i < filter->spilled && named != all; i++) {
        cf_spilled entry = cf_spill_get(filter, i);
        look_set its = looks_of(filter, &entry);
        for (unsigned j = 0; j < looks->n; j++)
            named |= (unsigned)looks_at(&its, looks->bucket[j]) << j;
    }
    for (unsigned j = 0; j < looks->n; j++)
        cf_overflow_set(filter, looks->bucket[j],
                        named >> j & 1); /* RULE: a bit stays while an entry needs it */
}

bool cf_spill_names(const cf_filter *filter, uint64_t bucket)
{
    for (unsigned i = 0; i < filter->spilled; i++) {
        cf_spilled entry = cf_spill_get(filter, i);
        look_set looks = looks_of(filter, &entry);
        if (looks_at(&looks, bucket))
            return true;
    }
    return false;
}

void cf_spill_mark(cf_filter *filter, const cf_spilled *entry, bool on)
{
    look_set looks = looks_of(filter, entry);
    for (unsigned i = 0; i < looks.n; i++)
        cf_overflow_set(filter, looks.bucket[i], on);
}

bool cf_may_be_spilled(const cf_filter *filter, const cf_pair *pair)
{
    if (filter->spilled == 0)
        return false;
    for (unsigned i = 0; i < pair->sides; i++)
        if (!cf_overflow_get(filter, pair->place[i].bucket))
            return false;
    return true;
}

/* ---- entries ---- */

void cf_spill_add(cf_filter *filter, const cf_spilled *entry)
{
    assert(filter->spilled < filter->geometry.spill_bound);
    unsigned at = position(filter, entry, 0, filter->spilled);
    move_entries(filter, at + 1, at, filter->spilled - at);
    cf_spill_put(filter, at, entry);
    filter->spilled++;
    cf_spill_mark(filter, entry, true);
}

void cf_spill_take_out(cf_filter *filter, unsigned index)
{
    assert(index < filter->spilled);
    cf_spilled none = {0, 0, 0};
    move_entries(filter, index, index + 1, filter->spilled - index - 1);
    cf_spill_put(filter, --filter->spilled, &none);
}

void cf_spill_remove(cf_filter *filter, unsigned index)
{
    cf_spilled entry = cf_spill_get(filter, index);
    cf_spill_take_out(filter, index);
    look_set looks = looks_of(filter, &entry);
    clear_unless_named(filter, &looks);
}

bool cf_spill_lies_in(const cf_filter *filter, unsigned index, uint64_t bucket)
{
    return index < filter->spilled && cf_spill_get(filter, index).bucket == bucket;
}

/* ---- looking inside ---- */

static const char *entry_fault(const cf_filter *filter, unsigned index)
{
    cf_spilled entry = cf_spill_get(filter, index);
    look_set looks = looks_of(filter, &entry);
    uint8_t bytes[CF_SPILL_ENTRY];
    encode(filter, &entry, bytes);
    if (memcmp(bytes, filter->bytes + offset_of(filter, index), sizeof bytes) != 0)
        return "an entry of the spill list has bits that mean nothing";
    if (looks.n == 0)
        return "the spill list names a bucket that does not exist, or nothing";
    if (index > 0) {
        cf_spilled before = cf_spill_get(filter, index - 1);
        if (comes_before(&entry, &before))
            return "the spill list is not sorted";
    }
    for (unsigned i = 0; i < looks.n; i++)
        if (!cf_overflow_get(filter, looks.bucket[i]))
            return "an entry of the spill list has no overflow bits";
    return NULL;
}

cf_status cf_spill_check(const cf_filter *filter, const char **why)
{
    const char *fault = NULL;
    for (unsigned i = 0; fault == NULL && i < filter->spilled; i++)
        fault = entry_fault(filter, i);
    return fault == NULL ? CF_OK : cf_refuse(CF_DAMAGED, why, fault);
}
