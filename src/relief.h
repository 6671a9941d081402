/* SPDX-License-Identifier: MIT */
/*
** relief.h - can growth make room in a crowded place?
**
** Keys that agree in more bits than a level of growth tells apart crowd the same buckets after it:
** splitting all the table would not help, and would have to be taken back. The bits of the entries
** there tell it before.
*/
#ifndef CF_RELIEF_H
#define CF_RELIEF_H

#include "cuckoo_inspect.h"

/* A search from this pair has found no empty slot. May there be one when each bucket is split up to
** `levels` times? False is certain, as far as the spill list is not asked. Looks at no more than
** some hundred buckets a level. */
bool cf_splitting_helps(const cf_filter *filter, const cf_pair *pair, unsigned levels);

#endif
