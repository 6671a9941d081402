/* SPDX-License-Identifier: MIT */
/*
** instructions.h - counting the instructions of a piece of a program that runs under callgrind.
*/
#ifndef CF_BENCH_INSTRUCTIONS_H
#define CF_BENCH_INSTRUCTIONS_H

#include <stdint.h>

/* What runs between the two is counted, and noted under `name` as so many operations. Nothing is
** counted when the program does not run under callgrind. */
void count_begin(void);
void count_end(const char *name, uint64_t operations);

/* The same, less what an operation of `less` took, which has been counted before. */
void count_end_less(const char *name, uint64_t operations, const char *less);

/* The paths through SQL, with the extension `build/cuckoo.so`. */
void count_sql(const char *extension);

#endif
