/* SPDX-License-Identifier: MIT */
/*
** slice.h - a test that would take hours takes every n-th step of its work, from another one in
** each run.
**
** CUCKOO_SLICE=n in the environment says from which; tests/run.sh sets it and prints it. Without it
** the first step is number 0.
*/
#ifndef FAULT_SLICE_H
#define FAULT_SLICE_H

#include <stdint.h>
#include <stdlib.h>

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
