/* SPDX-License-Identifier: MIT */
/*
** number.h - decimal numbers in text, read without the locale and without losing digits.
**
** A text looks like a number when SQLite takes it for one as it applies numeric affinity: blanks, a
** sign, digits with at most one point before, between or behind them, an exponent, blanks. A text
** ends at its first NUL here: recent versions of SQLite do not look further. (Early versions take
** no text with a NUL for a number.)
*/
#ifndef CUCKOO_NUMBER_H
#define CUCKOO_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cuckoo_number {
    bool negative;
    bool point;      /* it was written with a decimal point */
    bool power;      /* it was written with an exponent, or a NUL follows: SQLite reads a real */
    uint64_t digits; /* its first significant digits, at most 19 of them */
    int exponent;    /* the number is digits * 10^exponent, or more if it has more than 19 digits */
} cuckoo_number;

/* Reads the whole text, up to its first NUL. False: it does not look like a number, and *number is
** unspecified. */
bool cuckoo_number_read(const char *text, size_t length, cuckoo_number *number);

/* The integer that the text says, when it was written without point and exponent and fits into 64
** bits. False: it was not, or does not. */
bool cuckoo_number_integer(const cuckoo_number *number, int64_t *value);

/* The same, however a whole number was written: 1e6, 1000.0. */
bool cuckoo_number_whole(const cuckoo_number *number, int64_t *value);

/* The nearest double. It is exact for up to 15 digits with exponents from -22 to 22. */
double cuckoo_number_real(const cuckoo_number *number);

/* The same for the number rounded to 15 significant digits, halves upwards. Numbers below 1e-300 are
** 0. */
bool cuckoo_number_rounded(const cuckoo_number *number, int64_t *value);

#endif
