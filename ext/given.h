/* SPDX-License-Identifier: MIT */
/*
** given.h - fpr and options of an aggregate, which SQLite hands over with every row.
**
** They must not change from row to row. Reading options costs more than all else in a row, so a row
** that gives the same values as the one before is recognised by them.
*/
#ifndef CUCKOO_GIVEN_H
#define CUCKOO_GIVEN_H

#include "options.h"

/* Starts as zeros. */
typedef struct cuckoo_given {
    bool started;           /* a row was read */
    cuckoo_options options; /* of the first row */
    /* The values of the last row that was read in full. */
    int fpr_type, text_bytes; /* of the options; -1 when they were no text, or a longer one */
    double fpr;
    char text[120];
} cuckoo_given;

/* cuckoo_given_read when there is something to look at. */
bool cuckoo_given_look(sqlite3_context *context, int count, sqlite3_value **values, cuckoo_given *given);

/* Reads [fpr [, options]] of one row, as cuckoo_options_read does. `count` is the same for all rows.
** False: the function has failed. */
static inline bool cuckoo_given_read(sqlite3_context *context, int count, sqlite3_value **values,
                                     cuckoo_given *given)
{
    return (given->started && count == 0) || cuckoo_given_look(context, count, values, given);
}

#endif
