/* SPDX-License-Identifier: MIT */
/*
** info.h - what a filter says of itself.
*/
#ifndef CUCKOO_INFO_H
#define CUCKOO_INFO_H

#include "../sqlite/api.h"

/* What cf_info says of a filter becomes the result; or the running function fails. `more`: further
** members, each with a comma in front; NULL: none. */
void cuckoo_result_info(sqlite3_context *context, const cf_filter *filter, const char *more);

#endif
