/* SPDX-License-Identifier: MIT */
/*
** probe.h - the only C file of the tests that knows the insides of the library: what no public call does,
** and what must be done so that rare states come often.
*/
#ifndef CUCKOO_PROBE_H
#define CUCKOO_PROBE_H

#include "../src/entry/entry.h"
#include "../src/entry/stash.h"
#include "../src/insert/growth.h"
#include "../src/table/address.h"
#include "../src/table/epochs.h"

/* Splits one bucket before there is need. False: the filter does not grow. */
static inline bool probe_split(cf_filter *filter)
{
    return cf_grow_to(filter, filter->buckets + 1) == CF_OK;
}

/* The numbers of the last so many epochs, a bit for each. */
static inline uint32_t probe_epochs(const cf_filter *filter, unsigned epochs)
{
    uint32_t numbers = 0;
    for (unsigned age = 0; age < epochs; age++)
        numbers |= UINT32_C(1) << ((filter->epoch - age) & 15);
    return numbers;
}

/* From now on what was added in the last so many epochs is found, and nothing else. */
static inline void probe_live(cf_filter *filter, unsigned epochs)
{
    filter->live = probe_epochs(filter, epochs);
}

/* Takes all out that has none of these numbers. */
static inline void probe_keep(cf_filter *filter, uint32_t numbers)
{
    uint32_t live = filter->live;
    filter->live = numbers;
    cf_sweep(filter);
    filter->live = live;
}

/* Takes all out that is older than so many epochs. */
static inline void probe_sweep(cf_filter *filter, unsigned epochs)
{
    probe_keep(filter, probe_epochs(filter, epochs));
}

/* Takes out what has the number of the next epoch, which is older than any that is live. */
static inline void probe_sweep_next(cf_filter *filter)
{
    probe_keep(filter, ~(UINT32_C(1) << ((filter->epoch + 1) & 15)));
}

/* Begins an epoch of which nothing can be there, and takes nothing out. */
static inline void probe_begin_epoch(cf_filter *filter)
{
    cf_set_epoch(filter, (filter->epoch + 1) & cf_low_bits(48));
}

static inline cf_status probe_add_epoch(cf_filter *filter, uint64_t hash, uint64_t epoch)
{
    return cf_add_epoch(filter, hash, epoch);
}

/* Writes any bits into a slot, and counts nothing. */
static inline void probe_write(cf_filter *filter, uint64_t bucket, unsigned slot, uint64_t tag,
                               uint64_t payload)
{
    cf_bucket_set(filter, bucket, slot, tag & filter->view.form.slot_mask,
                  payload & cf_low_bits(filter->view.form.payload_bits));
}

/* Puts a line into the list, which has room, whatever there is in slots. */
static inline void probe_stash(cf_filter *filter, uint64_t bucket, uint64_t tag)
{
    cf_stash_add(filter, &(cf_record){bucket, tag & filter->view.form.slot_mask, 0});
    filter->items++;
}

/* Writes an overflow bit, whatever there is in the list. */
static inline void probe_overflow(cf_filter *filter, uint64_t bucket, bool on)
{
    cf_overflow_set(filter, bucket, on);
}

/* The bits of the widest slot of a bucket. */
static inline unsigned probe_slot_bits(const cf_filter *filter)
{
    return filter->view.form.slot_bits;
}

/* The first slot of a bucket that is empty, or -1. */
static inline int probe_free_slot(const cf_filter *filter, uint64_t bucket)
{
    for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++)
        if (cf_slot_get(filter, bucket, slot) == 0)
            return (int)slot;
    return -1;
}

/* Puts an entry into place `i` of its pair that knows so many of the remainder bits that an entry of this hash may know
** now, at least those of its bucket; into the list when there is no slot. False: there is no room. */
static inline bool probe_put_in(cf_filter *filter, uint64_t hash, unsigned i, unsigned more,
                                uint64_t payload)
{
    cf_pair pair = cf_pair_of(filter, hash);
    cf_place place = pair.place[i];
    unsigned span = filter->view.new_length - place.extension;
    unsigned length =
        filter->view.form.grown ? place.extension + more % (span + 1) : filter->view.new_length;
    int slot = probe_free_slot(filter, place.bucket);
    payload &= cf_low_bits(filter->view.form.payload_bits);
    uint64_t tag = cf_tag_of(filter, place, length);
    if (slot >= 0) {
        cf_bucket_set(filter, place.bucket, (unsigned)slot, tag, payload);
    } else {
        bool full = pair.sides == 1 || probe_free_slot(filter, pair.place[!i].bucket) < 0;
        if (!full || filter->stashed >= filter->geometry.stash_size ||
            cf_stashed_matches(filter, &pair) >= CF_STASH_COPIES)
            return false;
        cf_stash_add(filter, &(cf_record){place.bucket, tag, payload});
    }
    filter->occupied += slot >= 0;
    filter->items += 1 + (filter->geometry.counter_bits ? payload : 0);
    return true;
}

static inline bool probe_put(cf_filter *filter, uint64_t hash, unsigned more, uint64_t payload)
{
    return probe_put_in(filter, hash, 0, more, payload);
}

#endif
