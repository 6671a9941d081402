/* SPDX-License-Identifier: MIT */
/*
** load.h - how many distinct keys a table takes.
**
** Large tables fill to a threshold that depends on the bucket size (paper, section 4, figure 2).
** Small ones fail earlier now and then, when a few keys crowd a few buckets. How early was measured,
** and is a table of loads by shape and number of buckets (load_table.h; tests/bench/calibrate.c and
** load_table.awk of commit 4ae9d76 made it), such that at most one filling in a million fails. So
** rare a failure was never seen: the line through the rarest ones seen is carried on, which errs on
** the safe side.
**
**      buckets         trials for each row
**      2 .. 1024       1,000,000 / buckets / b for each even number, at least 125,000 up to 256
**                      slots; keys in random order (in sorted order as many fail)
**      2048 .. 8192    the same, at least 9; and the line of the larger ones
**      16384           some 200 to 900 at each of several loads, with keys in sorted order; for
**                      b = 4, s = 6 from 1,500 to 9,400
**      above           the line for 16,384 buckets, with more failures in proportion to the buckets
**
** Not tried by themselves: s = 5 and s = 7 in small tables, which take the loads of s = 6 (s = 5
** less 0.001). Large tables were tried at 250,000 to 2^20 buckets (tests/bench/capacity.c). What is too
** rare for any trial is computed: pairs of buckets that are named by several pair bits (calibrate.c),
** or by more than 2b keys that agree in few pair bits (load.c).
*/
#ifndef CF_LOAD_H
#define CF_LOAD_H

#include "../cuckoo_filter.h"

/* The number of distinct keys that a filter of this shape (one that cf_plan makes) takes, with at
** most one failure in a million fillings. From CF_LOAD_RISES buckets on it never falls when only
** the buckets get more; below, some sizes are worse than the one before. */
enum { CF_LOAD_RISES = 128 };

uint64_t cf_load_keys(const cf_geometry *shape);

/* The same as keys <= cf_load_keys(shape), and quicker. */
bool cf_load_takes(const cf_geometry *shape, uint64_t keys);

/* The largest cap with which a shape, that has its capacity, takes so many keys: copies of one key,
** or keys that name the same fingerprint, must not crowd those of another out of their buckets.
** From b to 2b. */
unsigned cf_load_copies(const cf_geometry *shape);

/* log2(x) in units of 2^-CF_LOG_BITS, rounded down, for x of 1 or more: by squaring, in
** integers. */
enum { CF_LOG_BITS = 8 };

uint64_t cf_log2_units(uint64_t x);

#endif
