/* SPDX-License-Identifier: MIT */
/*
** libc.h - what the C library needs of C where there is none: for <assert.h>, <math.h>, <stdlib.h> and
** <string.h>. Blocks of bytes are moved by instructions of WebAssembly; JavaScript has the mathematics.
*/
#ifndef CUCKOO_LIBC_H
#define CUCKOO_LIBC_H

#include <stddef.h>

#define assert(condition) ((void)0)
#define static_assert _Static_assert
#define memcpy        __builtin_memcpy
#define memmove       __builtin_memmove
#define memset        __builtin_memset
#define fabs          __builtin_fabs
#define FROM_JS(name) __attribute__((import_module("js"), import_name(name)))

FROM_JS("expm1") double expm1(double x);
FROM_JS("log1p") double log1p(double x);
FROM_JS("number") double js_number(const char *text);

/* Of a text that is a number to its end. */
static inline double strtod(const char *text, char **end)
{
    (void)end;
    return js_number(text);
}

static inline int abs(int x)
{
    return x < 0 ? -x : x;
}

/* Nobody calls them. */
void *malloc(size_t size);
void free(void *block);

/* x * 2^exponent, for results that are normal numbers. */
static inline double ldexp(double x, int exponent)
{
    for (; exponent > 0; exponent--)
        x *= 2;
    for (; exponent < 0; exponent++)
        x /= 2;
    return x;
}

static inline int memcmp(const void *one, const void *other, size_t n)
{
    const unsigned char *a = one, *b = other;
    for (; n > 0; n--, a++, b++)
        if (*a != *b)
            return *a < *b ? -1 : 1;
    return 0;
}

static inline void *memchr(const void *bytes, int c, size_t n)
{
    const unsigned char *at = bytes;
    for (; n > 0; n--, at++)
        if (*at == (unsigned char)c)
            return (void *)at;
    return NULL;
}

#endif
