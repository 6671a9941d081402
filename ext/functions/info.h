/* SPDX-License-Identifier: MIT */
/*
** info.h - what a filter says of itself, for SQL functions.
*/
#ifndef CUCKOO_INFO_H
#define CUCKOO_INFO_H

#include "../sqlite/api.h"

/* Appends the members of cf_info to an object, or begins one. `all`: those, too, that need a walk over
** the filter. False: the walk was interrupted. */
bool cuckoo_append_info(sqlite3 *db, sqlite3_str *json, const cf_filter *filter, bool all);

/* The result is a picture: 24 lines of at most 80 characters (picture.c). */
void cuckoo_result_picture(sqlite3_context *context, const cf_filter *filter);

/* Appends a member to a JSON object, behind others. `text` NULL: null. */
void cuckoo_append_member(sqlite3_str *json, const char *name, const char *text);

#endif
