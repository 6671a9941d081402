/* SPDX-License-Identifier: MIT */
/*
** look.h - looking for a key slowly: at each slot of its buckets and each line of the list, whatever
** overflow bits and quick ways say.
*/
#ifndef CUCKOO_MODEL_LOOK_H
#define CUCKOO_MODEL_LOOK_H

#include "../../src/include/cuckoo_inspect.h"

enum { MODEL_LOOKED = 2 * CF_BUCKET_MAX + 64 };

typedef struct model_look {
    unsigned entries;
    uint64_t copies;             /* that they stand for */
    uint64_t matches, copies_of; /* of them, those with the value asked for */
    uint64_t weight;             /* of these: max_copies or more, and it is saturated */
    uint64_t value[MODEL_LOOKED];
} model_look;

static inline void model_see(const cf_filter *filter, const cf_entry *entry, uint64_t value,
                             model_look *seen)
{
    const cf_geometry *shape = &filter->geometry;
    uint64_t copies = cf_entry_copies(filter, entry);
    if (seen->entries < MODEL_LOOKED)
        seen->value[seen->entries] = entry->payload;
    seen->entries++;
    seen->copies += copies;
    if (shape->value_bits && entry->payload != value)
        return;
    seen->matches++;
    seen->copies_of += copies;
    seen->weight += entry->saturated ? shape->max_copies : !shape->counter_bits;
}

/* Whatever overflow bits say: all that matches a key. */
static inline model_look model_look_for(const cf_filter *filter, uint64_t hash, uint64_t value)
{
    cf_pair pair = cf_candidates(filter, hash);
    model_look seen = {0};
    cf_entry entry;
    for (unsigned i = 0; i < pair.sides; i++) {
        for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++)
            if (cf_entry_at(filter, pair.place[i].bucket, slot, &entry) &&
                cf_entry_matches(filter, &entry, &pair.side[i]))
                model_see(filter, &entry, value, &seen);
        for (unsigned at = 0; at < filter->stashed; at++)
            if (cf_stashed_at(filter, at, &entry) && entry.bucket == pair.place[i].bucket &&
                cf_entry_matches(filter, &entry, &pair.side[i]))
                model_see(filter, &entry, value, &seen);
    }
    return seen;
}

#endif
