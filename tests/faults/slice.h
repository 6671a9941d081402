/* SPDX-License-Identifier: MIT */
/*
** slice.h - a test that would take hours takes every n-th step of its work, from another one in
** each run.
**
** CUCKOO_SLICE=n in the environment says from which; tests/run.sh sets it and prints it. Without it
** the first step is number 0. The seeds that filter tables choose for themselves depend on it, too.
*/
#ifndef FAULT_SLICE_H
#define FAULT_SLICE_H

#include <sqlite3.h>
#include <stdint.h>
#include <stdlib.h>

/* SQLite gives the same random numbers from here on as after the last call. */
static inline void slice_random(void)
{
    const char *given = getenv("CUCKOO_SLICE");
    unsigned seed = 1 + (given ? (unsigned)strtoul(given, NULL, 0) : 0); /* 0: SQLite takes its own */
    sqlite3_test_control(SQLITE_TESTCTRL_PRNG_SEED, seed, (sqlite3 *)NULL);
}

/* The first step of test number `which`: 0 .. stride - 1. Consecutive runs and tests get scattered
** ones. */
static inline long slice_first(long stride, unsigned which)
{
    const char *given = getenv("CUCKOO_SLICE");
    if (given == NULL || stride <= 1)
        return 0;
    uint64_t mix = (strtoull(given, NULL, 0) * 1000 + which) * UINT64_C(0x9e3779b97f4a7c15);
    return (long)((mix >> 33) % (uint64_t)stride);
}

#endif
