/* SPDX-License-Identifier: MIT */
/*
** open.h - the view of a filter follows from its header, and from where its bytes are.
*/
#ifndef CF_OPEN_H
#define CF_OPEN_H

#include "bits.h"
#include "cuckoo_filter.h"

/* Sets level and split pointer, and all of the view that follows from them and from the
** geometry. */
void cf_set_stage(cf_filter *filter, unsigned level, uint64_t split, bool grown);

/* Is what the reader has open the filter of these bytes? All that a view says but where the bytes
** are follows from the header and the length. A reader that has not opened anything has length 0. */
static inline bool cf_reader_has(const cf_reader *reader, const uint8_t *bytes, size_t length)
{
    uint64_t differ = 0;
    if (length != reader->filter.length || length == 0)
        return false;
    for (unsigned i = 0; i < sizeof reader->header; i += 8)
        differ |= cf_load64(bytes + i) ^ cf_load64(reader->header + i);
    return differ == 0;
}

/* The same for a filter that is being prepared for growth (growth.h): all buckets but the first so
** many have their new form. */
void cf_set_preparing(cf_filter *filter, uint64_t narrow_buckets);

#endif
