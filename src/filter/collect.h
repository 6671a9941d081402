/* SPDX-License-Identifier: MIT */
/*
** collect.h - the keys of one build, sorted: all of them in memory, or part by part from a file.
*/
#ifndef CF_COLLECT_H
#define CF_COLLECT_H

#include "../base/many.h"

#ifdef CUCKOO_SMALL
#define CF_MAY_USE_FILE false
#else
#define CF_MAY_USE_FILE true
#endif

/* n sorted keys in an array of the caller. */
cf_collected cf_collected_of(const cf_many *keys);

/* Sorts the keys, and drops repeated ones unless copies count. Sets `n` to the number of keys,
** `distinct` to the number of different keys or pairs, and `most_alike` to the largest number of keys
** with one hash. CF_INTERRUPTED; CF_NO_MEMORY, also if the file has failed. */
cf_status cf_collected_sort(cf_collected *list);

/* Reads one of list->parts parts, whose keys are all smaller than the keys of the next part. The last
** `carried` keys of the previous part come first. Valid until the next call. False: a file error. */
bool cf_collected_part(cf_collected *list, unsigned part, size_t carried, cf_many *keys);

/* Replaces this part, which was read last and without carried keys, by the first n keys of the array. */
bool cf_collected_keep(cf_collected *list, unsigned part, size_t n);

#endif
