/* SPDX-License-Identifier: MIT */
/*
** fuzz.h - what the fuzz targets share.
**
** A target is a function that takes any bytes, turns them into work, and stops the program when a
** promise is broken. It runs in two ways:
**
**      replay.c     made-up inputs, the same each time; any compiler; part of the tests
**      libFuzzer    looks for inputs that reach new code; needs clang. For each target T:
**
**          clang -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -DLIBFUZZER
**              -DSQLITE_CORE tests/fuzz/fuzz_T.c src/[a-z]*.c [ext/[a-z]*.c -lsqlite3] -lm -o fuzz_T
**          mkdir corpus_T && ./replay --seeds corpus_T T && ./fuzz_T -max_total_time=180 corpus_T
*/
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/base/bits.h"
#include "../../src/shape/format.h"

int fuzz_blob(const uint8_t *data, size_t size);
int fuzz_ops(const uint8_t *data, size_t size);
int fuzz_sql(const uint8_t *data, size_t size);
int fuzz_exact(const uint8_t *data, size_t size);

#ifdef LIBFUZZER
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
#define FUZZ_ENTRY(target)                                                                              \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)                                        \
    {                                                                                                   \
        return target(data, size);                                                                      \
    }
#else
#define FUZZ_ENTRY(target)
#endif

/* A promise; stays in builds without assert. */
#define REQUIRE(condition)                                                                              \
    do {                                                                                                \
        if (!(condition)) {                                                                             \
            fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #condition);                     \
            abort();                                                                                    \
        }                                                                                               \
    } while (0)

/* The input, read byte by byte; zeros when it is used up. */
typedef struct fuzz_input {
    const uint8_t *at, *end;
} fuzz_input;

static inline unsigned fuzz_byte(fuzz_input *in)
{
    return in->at < in->end ? *in->at++ : 0;
}

static inline uint64_t fuzz_number(fuzz_input *in, unsigned bytes)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < bytes; i++)
        n = n << 8 | fuzz_byte(in);
    return n;
}

/* splitmix64: a sequence of numbers that is the same on every machine. */
static inline uint64_t fuzz_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static inline void *fuzz_malloc(size_t n)
{
    void *p = malloc(n ? n : 1);
    if (p == NULL)
        abort();
    return p;
}

/* A copy in memory of exactly n bytes: a sanitizer sees every step beyond it. */
static inline uint8_t *fuzz_copy(const uint8_t *bytes, size_t n)
{
    uint8_t *copy = fuzz_malloc(n);
    if (n > 0)
        memcpy(copy, bytes, n);
    return copy;
}

/* For cf_memory. */
static inline uint8_t *fuzz_resize(void *context, uint8_t *bytes, uint64_t size)
{
    (void)context;
    if (size > 0)
        return realloc(bytes, size);
    free(bytes);
    return NULL;
}

enum { FUZZ_AT_BUCKETS = 18, FUZZ_AT_RESERVED = 56, FUZZ_AT_CHECKSUM = 60 }; /* see format.h */

/* Makes the checksum of a header right again. */
static inline void fuzz_reseal(uint8_t *bytes)
{
    uint64_t hash = cf_checksum(bytes);
    for (unsigned i = 0; i < 4; i++)
        bytes[FUZZ_AT_CHECKSUM + i] = (uint8_t)(hash >> (8 * i));
}

#endif
