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

/* For functions that answer a status: says why not. `why` may be NULL. */
static inline cf_status cf_refuse(cf_status status, const char **why, const char *reason)
{
    if (why != NULL)
        *why = reason;
    return status;
}

/* The same, of a call that has said why, or nothing: then the status is all there is to say. */
static inline cf_status cf_explained(cf_status status, const char **why, const char *said)
{
    return cf_refuse(status, why, status == CF_OK || said ? said : cf_status_text(status));
}

/* What is wrong with the sizes that a user or a header names; NULL: nothing. */
const char *cf_sizes_fault(unsigned b, unsigned f, unsigned counter_bits, unsigned value_bits);

/* Bits of the number of an epoch, which is the payload of an entry that ages (ageing.h). */
enum { CF_EPOCH_BITS = 4, CF_EPOCH_NUMBERS = 1 << CF_EPOCH_BITS };

/* Does a filter of this stage have terminators, and wider slots for them? */
static inline bool cf_is_grown(unsigned level, uint64_t split)
{
    return level > 0 || split > 0;
}

/* Remainder bits that a new entry knows. */
unsigned cf_new_length(const cf_geometry *shape, unsigned level, bool grown);

/* Bits of the payload of a slot, and of a bucket. */
unsigned cf_payload_bits(const cf_geometry *shape, bool grown);
unsigned cf_bucket_bits(const cf_geometry *shape, bool grown);

/* Buckets in use. */
uint64_t cf_buckets_at(const cf_geometry *shape, unsigned level, uint64_t split);

/* Length in bytes without room to spare. */
uint64_t cf_bytes_at(const cf_geometry *shape, unsigned level, uint64_t split);

/* Can this (checked) shape be at this stage? CF_OK; CF_TOO_BIG or CF_BAD_ARGUMENT, and *why. */
cf_status cf_stage_check(const cf_geometry *shape, unsigned level, uint64_t split, const char **why);

#endif
