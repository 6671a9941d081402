/*
** number.h - decimal numbers in text, read without the locale and without losing digits.
**
** What looks like a number is what SQLite takes for one when it applies numeric affinity to a text: blanks, a sign,
** digits with at most one point among or around them, an exponent, blanks. A text ends at its first NUL here: late
** versions of SQLite do not look further, while early ones take no text with a NUL for a number.
*/
#ifndef CUCKOO_NUMBER_H
#define CUCKOO_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cuckoo_number {
    bool negative;
    bool point;      /* it was written with a decimal point */
    bool power;      /* it was written with an exponent, or with a NUL behind it: SQLite reads a real */
    uint64_t digits; /* its first significant digits, at most 19: below 10^19 */
    int exponent;    /* the number is digits * 10^exponent, or a little more when it has more digits */
} cuckoo_number;

/* Reads the whole text, up to its first NUL. False: it does not look like a number, and *number is unspecified. */
bool cuckoo_number_read(const char *text, size_t length, cuckoo_number *number);

/* The integer that it was written as, without point and exponent. False: it was not, or does not fit. */
bool cuckoo_number_integer(const cuckoo_number *number, int64_t *value);

/* The same for any number that is whole: 1e6, 1000.0. */
bool cuckoo_number_whole(const cuckoo_number *number, int64_t *value);

/* The nearest double, exactly so for up to 15 digits and exponents from -22 to 22. */
double cuckoo_number_real(const cuckoo_number *number);

/* Digits before the point: 1 for 9.5, 0 for 0.95, -1 for 0.095; 0 for the number 0. */
int cuckoo_number_magnitude(const cuckoo_number *number);

/* Rounds to 15 significant digits, halves upwards, and drops zeros at the end. */
void cuckoo_number_round(cuckoo_number *number);

/* The number of at most 15 digits and 22 decimals that reads as `real`. False: there is none. */
bool cuckoo_number_of_real(double real, cuckoo_number *number);

#endif
