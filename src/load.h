/*
** load.h - how many distinct keys a table takes.
**
** Large tables fill to a threshold that depends on the bucket size (paper, section 4, figure 2). Small
** ones fail earlier now and then, when a few keys crowd a few buckets; how early was measured over
** millions of fillings (tests/bench/calibrate.c), and stands in load_table.h as loads by bucket size,
** pair bits and number of buckets, such that at most one filling in a million fails.
*/
#ifndef CF_LOAD_H
#define CF_LOAD_H

#include <stdint.h>

/* The number of distinct keys that `buckets` buckets of b slots take, pair bits s, with at most one
** failure in a million fillings. Rises with the number of buckets. Odd numbers above 1 count as the
** even number below: odd tables have pairs of one bucket (address.h) and were not measured. */
uint64_t cf_load_keys(unsigned b, unsigned s, uint64_t buckets);

#endif
