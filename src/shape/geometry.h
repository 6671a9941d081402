/* SPDX-License-Identifier: MIT */
/*
** geometry.h - the shape of a filter at every stage of its growth: widths, counts, lengths, limits. A
** stage is (level, split pointer): growth.h.
*/
#ifndef CF_GEOMETRY_H
#define CF_GEOMETRY_H

#include "../include/cuckoo_filter.h"

enum {
    CF_RESERVED_MIN = 8,  /* bytes behind the last bucket: format.h */
    CF_STASH_ENTRY = 16,  /* bytes of an entry in the stash */
    CF_SEMISORT_SAVES = 4 /* bits per bucket */
};

/* Returns a status and sets *why to its reason. `why` may be NULL. */
static inline cf_status cf_refuse(cf_status status, const char **why, const char *reason)
{
    if (why != NULL)
        *why = reason;
    return status;
}

/* The same after a call that may have set `said`; if it is NULL, *why is the text of the status. */
static inline cf_status cf_explained(cf_status status, const char **why, const char *said)
{
    return cf_refuse(status, why, status == CF_OK || said ? said : cf_status_text(status));
}

/* What is wrong with the sizes that a user or a header gives; NULL: nothing. */
const char *cf_sizes_fault(unsigned b, unsigned f, unsigned counter_bits, unsigned value_bits);

/* Bits of an epoch number, which is the payload of entries in a filter with epochs (epochs.h). */
enum { CF_EPOCH_BITS = 4, CF_EPOCH_NUMBERS = 1 << CF_EPOCH_BITS };

/* True if a filter at this stage has grown: it has terminators, and wider slots for them. */
static inline bool cf_is_grown(unsigned level, uint64_t split)
{
    return level > 0 || split > 0;
}

/* The remainder bits of a new entry. */
unsigned cf_new_length(const cf_geometry *shape, unsigned level, bool grown);

/* The bits of the payload of a slot, and of a bucket. */
unsigned cf_payload_bits(const cf_geometry *shape, bool grown);
unsigned cf_bucket_bits(const cf_geometry *shape, bool grown);

/* The number of buckets in use. */
uint64_t cf_buckets_at(const cf_geometry *shape, unsigned level, uint64_t split);

/* The length in bytes, without spare bytes. */
uint64_t cf_bytes_at(const cf_geometry *shape, unsigned level, uint64_t split);

/* CF_OK if this (valid) shape can be at this stage; else CF_TOO_BIG or CF_BAD_ARGUMENT, and *why. */
cf_status cf_stage_check(const cf_geometry *shape, unsigned level, uint64_t split, const char **why);

#endif
