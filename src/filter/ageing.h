/* SPDX-License-Identifier: MIT */
/*
** ageing.h - filters that age, for owners that keep time themselves (epochs.h).
*/
#ifndef CF_AGEING_H
#define CF_AGEING_H

#include "../cuckoo_filter.h"

/* From now on entries with these numbers, a bit for each, are live. The next view of the bytes, cf_clear
** and cf_advance go by the present epoch again. */
void cf_set_live(cf_filter *filter, uint32_t numbers);

/* Comes to a later epoch; what is too old then is gone. */
void cf_age_to(cf_filter *filter, uint64_t epoch);

/* All that is live is as if it was added in the present epoch. */
void cf_renew(cf_filter *filter);

/* Takes out the entries with these numbers. */
void cf_sweep(cf_filter *filter, uint32_t numbers);

/* cf_contains, when only these numbers are live. */
bool cf_contains_live(const cf_filter *filter, uint64_t hash, uint32_t numbers);

/* Is what was added in this epoch found? It may be any number. */
bool cf_epoch_is_live(const cf_filter *filter, uint64_t epoch);

/* cf_add for an earlier epoch, one of the last 16. */
cf_status cf_add_epoch(cf_filter *filter, uint64_t hash, uint64_t epoch);

#endif
