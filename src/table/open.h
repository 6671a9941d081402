/* SPDX-License-Identifier: MIT */
/*
** open.h - the view of a filter follows from its header, and from where its bytes are.
*/
#ifndef CF_OPEN_H
#define CF_OPEN_H

#include "../cuckoo_filter.h"

/* Sets level and split pointer, and all of the view that follows from them and from the
** geometry. */
void cf_set_stage(cf_filter *filter, unsigned level, uint64_t split, bool grown);

/* The present epoch of a filter that ages; live are the numbers of the last `epochs` epochs. */
void cf_set_epoch(cf_filter *filter, uint64_t epoch);

#endif
