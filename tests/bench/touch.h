/* SPDX-License-Identifier: MIT */
/*
** touch.h - which memory a lookup reads. Only in the program that counts (references.c); elsewhere
** bench_touch is nothing.
*/
#ifndef CF_BENCH_TOUCH_H
#define CF_BENCH_TOUCH_H

#include <stddef.h>

#ifdef BENCH_COUNT_LINES
/* So many bytes are read there, at once. */
void bench_touch(const void *at, size_t bytes);
#else
static inline void bench_touch(const void *at, size_t bytes)
{
    (void)at;
    (void)bytes;
}
#endif

#endif
