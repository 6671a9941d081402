/*
** place.h - one entry and its copies, whether it comes from a key or from a bucket.
*/
#ifndef CF_PLACE_H
#define CF_PLACE_H

#include "cuckoo_filter.h"

/* Copies stored at the sides of `pair`. */
unsigned cf_copies(const cf_filter *filter, const cf_pair *pair);

/* Stores one more copy of the entry that may lie at either side of `pair`, moving others when it must.
** CF_OK: stored, or absorbed because cap copies are there; CF_FULL: nothing has changed. Counts
** `occupied`, not `items`. */
cf_status cf_place(cf_filter *filter, const cf_pair *pair);

#endif
