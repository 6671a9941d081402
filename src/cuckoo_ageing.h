/* SPDX-License-Identifier: MIT */
/*
** cuckoo_ageing.h - filters that age by the clock of their owner.
**
** Epochs are counted from 0. An entry carries the number, epoch % 16, of the epoch in which its key
** was added last. It is *live*, and found, when filter->live has the bit of that number. cf_open,
** cf_advance, cf_age_to and cf_clear set the bits of the last `epochs` epochs. An owner that knows
** better, as one who knows at what time each epoch was, may set others in a view; it is for that view
** alone.
**
** Errors: as in cuckoo_view.h. The filter has epochs, and is open for writing.
*/
#ifndef CF_CUCKOO_AGEING_H
#define CF_CUCKOO_AGEING_H

#include "cuckoo_filter.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Would what was added in this epoch be found? It may be any number. */
bool cf_epoch_is_live(const cf_filter *filter, uint64_t epoch);

#ifndef CUCKOO_READ_ONLY

/* cf_add for an earlier epoch, one of the last 16. */
cf_status cf_add_epoch(cf_filter *filter, uint64_t hash, uint64_t epoch);

/* Comes to a later epoch; what is too old then is gone. Time proportional to the table. */
void cf_age_to(cf_filter *filter, uint64_t epoch);

/* Takes out what is not live. */
void cf_sweep(cf_filter *filter);

/* All that is live is as if it was added in the present epoch. */
void cf_renew(cf_filter *filter);

#endif /* CUCKOO_READ_ONLY */

#ifdef __cplusplus
}
#endif

#endif
