/* SPDX-License-Identifier: MIT */
#include "canonical.h"

#include "number.h"

#include "../src/compiler.h"

#include <string.h>

enum {
    EXACT_MAGNITUDE = 15, /* digits before the point; larger doubles are coarser */
    TINY_MAGNITUDE = -300 /* smaller doubles may be zero: here all of them are */
};

static void set_number(cuckoo_canonical *form, uint8_t type, uint64_t number)
{
    form->type = type;
    form->places = 0;
    form->number = number;
}

static void set_integer(cuckoo_canonical *form, int64_t integer)
{
    set_number(form, TYPE_INTEGER, (uint64_t)integer);
}

static double real_of(sqlite3_value *value)
{
    return cf_rounded(sqlite3_value_double(value));
}

/* No integer equals the real 2^63: all are below it. */
static bool is_integer(double real)
{
    return real >= -9223372036854775808.0 && real < 9223372036854775808.0 &&
           real == (double)(int64_t)real;
}

static void set_real(cuckoo_canonical *form, double real)
{
    uint64_t bits;
    if (is_integer(real)) {
        set_integer(form, (int64_t)real);
        return;
    }
    memcpy(&bits, &real, sizeof bits);
    set_number(form, TYPE_REAL, bits);
}

/* The text must be asked for before its bytes are counted: it may be converted to UTF-8. */
static cuckoo_key set_text(cuckoo_canonical *form, sqlite3_value *value)
{
    form->type = TYPE_TEXT;
    form->content = sqlite3_value_text(value);
    form->length = (size_t)sqlite3_value_bytes(value);
    return form->content ? CUCKOO_KEY_OK : CUCKOO_KEY_NOMEM;
}

static cuckoo_key set_blob(cuckoo_canonical *form, sqlite3_value *value)
{
    form->type = TYPE_BLOB;
    form->content = sqlite3_value_blob(value);
    form->length = (size_t)sqlite3_value_bytes(value);
    return form->content || form->length == 0 ? CUCKOO_KEY_OK : CUCKOO_KEY_NOMEM;
}

cuckoo_key cuckoo_canonical_form(sqlite3_value *value, cuckoo_canonical *form)
{
    switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
        set_integer(form, sqlite3_value_int64(value));
        return CUCKOO_KEY_OK;
    case SQLITE_FLOAT:
        set_real(form, real_of(value));
        return CUCKOO_KEY_OK;
    case SQLITE_TEXT:
        return set_text(form, value);
    case SQLITE_BLOB:
        return set_blob(form, value);
    default:
        return CUCKOO_KEY_NULL;
    }
}

/* ---- affinity ---- */

static bool looks_like_number(const cuckoo_canonical *form, cuckoo_number *number)
{
    return form->type == TYPE_TEXT &&
           cuckoo_number_read((const char *)form->content, form->length, number);
}

/* The form of a number below 10^15, rounded to 15 digits: an
** integer if it is whole, else a decimal. */
static void set_decimal(cuckoo_canonical *form, cuckoo_number *number)
{
    int64_t whole;
    cuckoo_number_round(number);
    if (cuckoo_number_whole(number, &whole)) {
        set_integer(form, whole);
    } else if (cuckoo_number_magnitude(number) < TINY_MAGNITUDE) {
        set_integer(form, 0);
    } else {
        set_number(form, TYPE_DECIMAL, number->negative ? 0 - number->digits : number->digits);
        form->places = (uint16_t)-number->exponent;
    }
}

/* A large number that was not written as a 64-bit integer is what SQLite reads: an integer, or a
** double that only vague values equal; then the form stays that of the text. */
static void decimal_of_text(sqlite3_value *value, cuckoo_number *number, cuckoo_canonical *form)
{
    int64_t integer;
    if (cuckoo_number_integer(number, &integer)) {
        set_integer(form, integer);
    } else if (cuckoo_number_magnitude(number) <= EXACT_MAGNITUDE) {
        set_decimal(form, number);
    } else {
        double real = real_of(value);
        if (is_integer(real))
            set_integer(form, (int64_t)real);
    }
}

/* The form of the number that a text stands for when it is compared with numbers. */
static void number_of_text(sqlite3_value *value, const cuckoo_number *number, cuckoo_canonical *form)
{
    int64_t integer;
    if (cuckoo_number_integer(number, &integer))
        set_integer(form, integer);
    else
        set_real(form, real_of(value));
}

void cuckoo_canonical_apply(cf_affinity affinity, sqlite3_value *value, cuckoo_canonical *form)
{
    cuckoo_number number;
    bool textual = affinity == CF_AFFINITY_TEXT;
    if (looks_like_number(form, &number)) {
        if (textual)
            decimal_of_text(value, &number, form);
        else
            number_of_text(value, &number, form);
    } else if (textual && form->type == TYPE_REAL && cuckoo_number_of_real(real_of(value), &number)) {
        set_decimal(form, &number);
    }
    if (affinity == CF_AFFINITY_REAL && form->type == TYPE_INTEGER)
        set_real(form, cf_rounded((double)(int64_t)form->number));
}

bool cuckoo_canonical_vague(sqlite3_value *value)
{
    cuckoo_number number;
    return sqlite3_value_type(value) == SQLITE_FLOAT && !cuckoo_number_of_real(real_of(value), &number);
}
