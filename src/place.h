/*
** place.h - storing one entry, from a key or from another filter.
*/
#ifndef CF_PLACE_H
#define CF_PLACE_H

#include "cuckoo_filter.h"

/* Stores one more copy of the entry that may lie at either side of `pair`, moving others when it must.
** CF_OK: stored, or absorbed because cap copies are there; CF_FULL: nothing has changed. Counts
** `occupied`, not `items`. */
cf_status cf_place(cf_filter *filter, const cf_pair *pair);

#endif
