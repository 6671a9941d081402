/* SPDX-License-Identifier: MIT */
/*
** bulk_add.h - adds many hashes, or hashes with values.
*/
#ifndef CF_BULK_ADD_H
#define CF_BULK_ADD_H

#include "collect.h"

/* cf_add_many of sorted hashes, or cf_add_value of sorted pairs, in this order. *added may be NULL. */
cf_status cf_add_sorted(cf_filter *filter, cf_collected *keys, size_t *added);

#endif
