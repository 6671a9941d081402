/* SPDX-License-Identifier: MIT */
#include "../include/cuckoo_key.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    EXACT_POWER = 22,     /* 10^22 is the last power of ten that a double holds exactly */
    MOST_POWER = 1000000, /* larger exponents are read as this one, far out of range */
    KEPT = 19,            /* digits in cf_number */
    ENOUGH = 800          /* a half between two doubles has at most 767 digits */
};
#define MOST_DIGITS UINT64_C(1000000000000000000) /* below this one more digit fits */
#define ROUND_LIMIT UINT64_C(1000000000000000) /* 10^15: every double of moderate size keeps 15 digits */
#define TINY        1e-300                     /* smaller doubles are treated as zero */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Reads the digits and the point. Returns their end; NULL if there is no digit. */
static const char *read_digits(const char *at, const char *end, cf_number *number)
{
    bool any = false;
    number->first = at;
    /* RULE: a number has at most one point */
    for (; at < end && (is_digit(*at) || (*at == '.' && !number->point)); at++) {
        if (*at == '.') {
            number->point = true;
            continue;
        }
        bool room = number->digits < MOST_DIGITS; /* RULE: a digit that does not fit only counts */
        if (room)
            number->digits = number->digits * 10 + (unsigned)(*at - '0');
        number->more |= !room && *at != '0';
        number->exponent += !room - number->point; /* RULE: digits after the point lower the exponent */
        any = true;
    }
    number->last = at;
    return any ? at : NULL; /* RULE: a number has a digit */
}

/* Reads the exponent, if there is one. Returns its end; NULL if there is an e without digits. */
static const char *read_power(const char *at, const char *end, cf_number *number)
{
    /* RULE: an exponent begins with e or E */
    if (at == end || (*at != 'e' && *at != 'E'))
        return at;
    number->power = true;
    at++;
    /* RULE: an exponent may be negative; equivalent without 2, < to <=: then it has no digits */
    bool negative = at < end && *at == '-';
    /* RULE: an exponent may have a sign; equivalent without 4, < to <=: as above */
    at += negative || (at < end && *at == '+');
    const char *first = at;
    int power = 0;
    for (; at < end && is_digit(*at); at++)
        power = power < MOST_POWER / 10 ? power * 10 + (*at - '0') : MOST_POWER;
    number->exponent += negative ? -power : power;
    return at > first ? at : NULL; /* RULE: an exponent has a digit */
}

bool cf_number_read(const char *text, size_t length, cf_number *number)
{
    const char *at = text, *end;
    /* RULE: whitespace may precede a number; equivalent without 2, without 3, < to <=: alone it is no
    ** number, and only sanitizers notice that more is read */
    while (at < text + length && is_blank(*at))
        at++;
    if (at == text + length || !(is_digit(*at) || *at == '-' || *at == '+' || *at == '.'))
        return false;
    for (end = at; end < text + length && *end != 0;) /* RULE: a number ends at the first NUL */
        end++;
    *number = (cf_number){.negative = *at == '-', .power = end < text + length};
    if (*at == '-' || *at == '+')
        at++;
    at = read_digits(at, end, number);
    if (at != NULL)
        at = read_power(at, end, number);
    while (at != NULL && at < end && is_blank(*at)) /* RULE: whitespace may follow a number */
        at++;
    return at == end; /* RULE: nothing else may follow a number */
}

bool cf_number_whole(const cf_number *number, int64_t *value)
{
    uint64_t digits = number->digits, most = (uint64_t)INT64_MAX + number->negative;
    int exponent = number->exponent;
    for (; digits != 0 && exponent < 0 && digits % 10 == 0; exponent++)
        digits /= 10;
    for (; digits != 0 && exponent > 0 && digits < MOST_DIGITS; exponent--)
        digits *= 10;
    /* RULE: a whole number has no digit after the point, and fits into 64 bits */
    if ((digits != 0 && exponent != 0) || digits > most)
        return false;
    *value = number->negative ? (int64_t)(0 - digits) : (int64_t)digits;
    return true;
}

bool cf_number_integer(const cf_number *number, int64_t *value)
{
    /* RULE: an integer was written without point and exponent */
    return !number->point && !number->power && cf_number_whole(number, value);
}

static const double power_of_ten[EXACT_POWER + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                     1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                     1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* Writes the number as digits and an exponent, which strtod reads in the same way under every locale. */
static void write_plainly(const cf_number *number, char *to)
{
    int n = 0;
    bool more = false;
    for (const char *at = number->first; at < number->last; at++) {
        if (*at == '.' || (n == 0 && *at == '0'))
            continue;
        if (n++ < ENOUGH)
            *to++ = *at;
        else
            more |= *at != '0'; /* RULE: a nonzero digit after the kept ones counts */
    }
    if (more)
        *to++ = '1';
    int power = number->exponent - (n > KEPT ? n - KEPT : 0) + (n > ENOUGH ? n - ENOUGH : 0) - more;
    *to++ = 'e';
    *to++ = power < 0 ? '-' : '+';
    for (int unit = 1000000000; unit > 0; unit /= 10)
        *to++ = (char)('0' + abs(power / unit % 10));
    *to = 0;
}

double cf_number_real(const cf_number *number)
{
    char plain[ENOUGH + 14];
    int exponent = number->exponent;
    double real = (double)number->digits;
    /* A short number needs a single rounding of two exact doubles. */
    /* RULE: else strtod; equivalent < to <=, never, without, without 2, without 4, == to != 2, <= to <:
    ** strtod reads the same, but slowly, and 10^15 is exact as well */
    if (number->digits == 0 ||
        (FLT_EVAL_METHOD == 0 && number->digits < ROUND_LIMIT && abs(exponent) <= EXACT_POWER)) {
        exponent = number->digits ? exponent : 0;
        real = exponent < 0 ? real / power_of_ten[-exponent] : real * power_of_ten[exponent];
    } else {
        write_plainly(number, plain);
        real = strtod(plain, NULL);
    }
    return number->negative ? -real : real;
}

bool cf_number_sure(const cf_number *number, double *real)
{
    /* 5^4 * 2^54 < 2^64: no long double is halfway between two doubles */
    enum { SURE_DECIMALS = 4 };
    cf_number least = *number;
    int64_t whole;
    for (; least.digits != 0 && least.digits % 10 == 0; least.exponent++)
        least.digits /= 10;
    *real = cf_number_real(number);
    /* RULE: numbers of up to 15 digits with few decimals are sure; equivalent < to <=, < to <= 2: 10^15
    ** ends in a zero; a number without decimals is whole */
    return least.digits < ROUND_LIMIT && !least.more &&
           (cf_number_whole(&least, &whole) || (least.exponent < 0 && least.exponent >= -SURE_DECIMALS));
}

bool cf_number_rounded(const cf_number *number, int64_t *value)
{
    cf_number rounded = *number;
    uint64_t unit = 1, rest;
    /* RULE: tiny numbers are 0; equivalent < to <=: any limit of this size would do */
    if (fabs(cf_number_real(number)) < TINY)
        rounded.digits = 0;
    for (; rounded.digits / unit >= ROUND_LIMIT; unit *= 10) /* RULE: 15 digits are kept */
        rounded.exponent++;
    rest = rounded.digits % unit;
    /* RULE: halves are rounded upwards */
    rounded.digits = rounded.digits / unit + (unit > 1 && rest >= unit / 2);
    return cf_number_whole(&rounded, value);
}
