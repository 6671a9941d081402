/* SPDX-License-Identifier: MIT */
/*
** stream_model.h - what `fading` must remember, a filter table with keep='24 hours', and the clock it reads.
**
** A table's clock does not go back. Keys below CROWD stand for numbers that are aimed at one pair of buckets:
** see table_workload.h. A key that was added no longer than KEEP ago must be found; of older ones nothing is
** promised.
*/
#ifndef STREAM_MODEL_H
#define STREAM_MODEL_H

#include <limits.h>
#include <sqlite3.h>
#include <stdbool.h>

enum {
    UNIVERSE = 1600,
    CROWD = 40,
    KEEP = 24 * 60 /* minutes */,
    NEVER = INT_MIN,
    UNKNOWN = INT_MIN + 1
};

typedef struct stream {
    int last;            /* the latest add */
    int added[UNIVERSE]; /* minutes; NEVER, or UNKNOWN */
} stream;

static int stream_minutes; /* what all clocks show: so many since a day in the year 2430 */

static int stream_read_clock(sqlite3_vfs *vfs, sqlite3_int64 *now)
{
    (void)vfs;
    *now = 212000000000000 + (sqlite3_int64)60000 * stream_minutes;
    return SQLITE_OK;
}

/* Column i of a table of numbers, as a key. */
#define STREAM_KEY "coalesce((SELECT k FROM aims WHERE aims.i = n.i AND n.i < 40), n.i)"

static void stream_begin(stream *s)
{
    stream_minutes = s->last = 0;
    for (int i = 0; i < UNIVERSE; i++)
        s->added[i] = NEVER;
}

static int stream_now(const stream *s)
{
    return s->last > stream_minutes ? s->last : stream_minutes;
}

static bool stream_must_have(const stream *s, int key)
{
    return s->added[key] > UNKNOWN && stream_now(s) - s->added[key] <= KEEP;
}

/* `ignore`: those that are there stay as they are; older ones may be there. */
static void stream_add(stream *s, int from, int to, bool ignore)
{
    int now = stream_now(s);
    for (int i = from; i <= to; i++)
        if (!ignore || !stream_must_have(s, i))
            s->added[i] = ignore ? UNKNOWN : now;
    s->last = ignore ? s->last : now;
}

/* A key was added unless it was there (INSERT OR IGNORE). False: that cannot be. */
static bool stream_settle(const stream *before, stream *after, int key, bool is_new)
{
    bool wrong = is_new ? stream_must_have(before, key) : before->added[key] == NEVER;
    after->added[key] = before->added[key];
    if (is_new)
        stream_add(after, key, key, false);
    return !wrong;
}

/* The clock of the table is set back; what was added stays as old as it is. */
static void stream_set_clock(stream *s)
{
    int ahead = stream_now(s) - stream_minutes;
    s->last -= ahead;
    for (int i = 0; i < UNIVERSE; i++)
        if (s->added[i] > UNKNOWN)
            s->added[i] -= ahead;
}

#endif
