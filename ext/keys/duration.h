/* SPDX-License-Identifier: MIT */
/*
** duration.h - '24 hours', '1.5 days': a span of time as a text.
*/
#ifndef CUCKOO_DURATION_H
#define CUCKOO_DURATION_H

#include "../sqlite/api.h"

/* Reads a number, blanks, and seconds, minutes, hours, days or weeks, in any case, with or without the
** last letter. False: it is no such text, or it says less than a second or more than a century. */
bool cuckoo_duration_read(const char *text, size_t length, uint64_t *milliseconds);

#define CUCKOO_BAD_DURATION                                                                             \
    "must be a number and seconds, minutes, hours, days or weeks, such as '24 hours', from 1 second "   \
    "to 36525 days"

#endif
