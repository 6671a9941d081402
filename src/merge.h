/* SPDX-License-Identifier: MIT */
/*
** merge.h - the entries of one filter go into another.
*/
#ifndef CF_MERGE_H
#define CF_MERGE_H

#include "cuckoo_filter.h"

/* Stores all entries of `from`, also spilled ones, in `into`, which agrees with it in all that
** cf_merge asks for. Where slots have no room for all that an entry knows, it forgets the rest.
** Counts items as far as it comes; errors, and *why, as cf_merge. */
cf_status cf_merge_entries(cf_filter *into, const cf_filter *from, const char **why);

#endif
