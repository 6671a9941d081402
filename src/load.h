/*
** load.h - how many distinct keys a table takes.
**
** Large tables fill to a threshold that depends on the bucket size (paper, section 4, figure 2). Small
** ones fail earlier now and then, when a few keys crowd a few buckets; how early was measured over
** millions of fillings. What is too rare to measure is computed: pairs of buckets that are named by several
** pair bits, or by keys that agree in few pair bits, and get more than 2b entries. Both are done by
** tests/bench/calibrate.c and load_table.awk, and stand in load_table.h as loads by shape and number of buckets,
** such that at most one filling in a million fails.
*/
#ifndef CF_LOAD_H
#define CF_LOAD_H

#include "cuckoo_filter.h"

/* The number of distinct keys that a filter of this shape (one that cf_plan makes) takes, with at most
** one failure in a million fillings. From CF_LOAD_RISES buckets on it never falls when only the buckets get
** more; below, some sizes are worse than the one before. Odd numbers above 1 count as the even number below: odd
** tables have pairs of one bucket (address.h) and were not measured. */
enum { CF_LOAD_RISES = 128 };

uint64_t cf_load_keys(const cf_geometry *shape);

#endif
