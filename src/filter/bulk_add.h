/* SPDX-License-Identifier: MIT */
/*
** bulk_add.h - adding hashes, or hashes with values.
*/
#ifndef CF_BULK_ADD_H
#define CF_BULK_ADD_H

#include "../base/many.h"

/* cf_add_many for both kinds. Pairs are sorted already, and added in this order. */
cf_status cf_add_all(cf_filter *filter, const cf_many *keys, size_t *added);

#endif
