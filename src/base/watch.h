/* SPDX-License-Identifier: MIT */
/*
** watch.h - asking, now and then in long work, whether it is to stop. Loops over a whole filter, or over
** many keys, say what each round has cost: an estimate, right within a factor of a few.
*/
#ifndef CF_WATCH_H
#define CF_WATCH_H

#include "../include/cuckoo_filter.h"

enum { CF_WATCH_NANOSECONDS = 1 << 14 }; /* of work between two questions */

typedef struct cf_ticker {
    const cf_watch *watch; /* NULL: nobody is asked */
    unsigned spent;        /* nanoseconds since the last question */
    bool stopped;          /* the answer was to stop, and nothing is asked any more */
} cf_ticker;

static inline cf_ticker cf_ticker_of(const cf_watch *watch)
{
    return (cf_ticker){watch, 0, false};
}

/* Counts work of so many nanoseconds. True: the work is to stop. */
static inline bool cf_tick(cf_ticker *ticker, unsigned nanoseconds)
{
    ticker->spent += nanoseconds;
    if (ticker->spent < CF_WATCH_NANOSECONDS || ticker->stopped)
        return ticker->stopped;
    ticker->spent = 0;
    ticker->stopped = ticker->watch != NULL && ticker->watch->stop(ticker->watch->context);
    return ticker->stopped;
}

#endif
