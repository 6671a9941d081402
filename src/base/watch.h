/* SPDX-License-Identifier: MIT */
/*
** watch.h - asks a cf_watch from time to time whether long work should stop. Loops over a whole filter
** or over many keys report what each round costs: an estimate, right within a small factor.
*/
#ifndef CF_WATCH_H
#define CF_WATCH_H

#include "../include/cuckoo_filter.h"

enum { CF_WATCH_NANOSECONDS = 1 << 14 }; /* of work between two calls of the watch */

typedef struct cf_ticker {
    const cf_watch *watch; /* NULL: never stops */
    unsigned spent;        /* nanoseconds since the last call */
    bool stopped;          /* the watch said stop; it is not called again */
} cf_ticker;

static inline cf_ticker cf_ticker_of(const cf_watch *watch)
{
    return (cf_ticker){watch, 0, false};
}

/* Counts this much work. True: stop. */
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
