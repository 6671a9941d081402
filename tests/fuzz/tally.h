/* SPDX-License-Identifier: MIT */
/*
** tally.h - looking for a key slowly: a walk over its buckets and the whole spill list, whatever
** the overflow bits say.
*/
#ifndef TALLY_H
#define TALLY_H

#include "../../src/base/bits.h"
#include "../../src/cuckoo_inspect.h"

/* What the walk finds of a key. */
typedef struct tally {
    uint64_t entries; /* of all values */
    uint64_t copies;  /* that they stand for */
    uint64_t matches; /* of the value asked for */
    uint64_t weight;  /* of these, as copies.h has it: cap or more, and the key is sticky */
} tally;

static inline void count_entry(const cf_filter *filter, const cf_entry *entry, uint64_t value,
                               tally *found)
{
    found->entries++;
    found->copies += cf_entry_copies(filter, entry);
    if (filter->geometry.value_bits && entry->payload != value)
        return;
    found->matches++;
    found->weight += entry->sticky ? filter->geometry.cap : !filter->geometry.counter_bits;
}

/* What cf_count says of a key when a walk finds so many copies. */
static inline uint64_t copies_told(const cf_filter *filter, uint64_t copies)
{
    bool exact = filter->geometry.counter_bits || filter->geometry.value_bits;
    return exact || copies < filter->geometry.cap ? copies : filter->geometry.cap;
}

static inline tally tally_of(const cf_filter *filter, uint64_t hash, uint64_t value)
{
    cf_pair pair = cf_candidates(filter, hash);
    tally found = {0, 0, 0, 0};
    cf_entry entry;
    for (unsigned i = 0; i < pair.sides; i++) {
        for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++)
            if (cf_entry_at(filter, pair.place[i].bucket, slot, &entry) &&
                cf_entry_matches(filter, &entry, &pair.side[i]))
                count_entry(filter, &entry, value, &found);
        for (unsigned at = 0; at < filter->spilled; at++)
            if (cf_spilled_at(filter, at, &entry) && entry.bucket == pair.place[i].bucket &&
                cf_entry_matches(filter, &entry, &pair.side[i]))
                count_entry(filter, &entry, value, &found);
    }
    return found;
}

#endif
