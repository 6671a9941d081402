/* SPDX-License-Identifier: MIT */
/*
** log_net.h - what the rows of a log add up to: which keys have come to the table, and which have gone.
**
** Each row of the log is a step: it takes away the key `old` and brings the key `new`. A key that is
** brought and taken away cancels out. But when something changes a row while SQLite is changing it, as
** a BEFORE trigger can, or SQL that a function runs, the log has an `old` that is not true: the key
** that the row had before. So which steps are believed depends on the table (follow.h):
**
**      ALL      every step
**      ENDS     of each rowid: the first `old` in the log has gone, and what the row holds now has come.
**               What lies between does not matter
**      NESTED   of each rowid: its steps, if in some order they lead from one key, or from none, to
**               what the row holds now; otherwise as ENDS. Old values are untrue here only by
**               SQL that functions run
**      MANY     the same. But where the steps say something else than ENDS does, a key has gone only as
**               often as both say so: a doubt. A trigger that lied may have been dropped since then
**      FITS     of each rowid: its steps, unless one begins with a key that the row has had before and
**               has no more, or the row holds such a key now. Then every `new` has come, and nothing has
**               gone: a doubt. (Other keys are those of another row, to which VACUUM gave the number.)
**      CHAINS   of each rowid: as ENDS, if each row of the log begins where the one before it has ended,
**               and the last one ends at what the row holds now. Otherwise every `new`, and what the
**               row holds now, has come, and nothing has gone: a doubt. Keys may be stale then
**      NEW      every `new` has come, and nothing has gone
*/
#ifndef CUCKOO_LOG_NET_H
#define CUCKOO_LOG_NET_H

#include "../keys/sums.h"
#include "follow.h"

typedef struct cuckoo_net {
    uint64_t *came; /* as long as nothing has gone: the keys that have come (sqlite3_malloc64) */
    size_t n, room;
    cuckoo_sums sums;     /* then: by key, how many more there are; less than 0: so many have gone */
    int64_t more;         /* the total of them */
    uint64_t doubts;      /* rows whose steps did not fit */
    uint64_t part, parts; /* which hashes count: those that are `part` modulo `parts` */
} cuckoo_net;

/* How the log is, before it is read. */
typedef struct cuckoo_log_size {
    int64_t rows; /* at most so many; 0: none */
    bool ordered; /* row numbers tell which was written first */
} cuckoo_log_size;

/* Notices when the statement is interrupted. Returns an SQLite code. */
int cuckoo_net_size(cuckoo_shadow *shadow, cuckoo_log_size *size);

/* Adds up the log, for the part that is asked for. Returns an SQLite code; SQLITE_TOOBIG: no memory for
** the sums, and nothing was rolled back. */
int cuckoo_net_read(cuckoo_net *net, cuckoo_follow *follow, cuckoo_shadow *shadow,
                    const cuckoo_log_size *size, const cf_geometry *geometry);

/* Calls `change` for each key of which copies have come (more than 0) or gone (less); those that have
** gone first, which makes room. `change` returns an SQLite code, and an error ends the walk. */
int cuckoo_net_walk(const cuckoo_net *net, int (*change)(void *context, uint64_t hash, int64_t more),
                    void *context);

/* Frees its memory, and makes it empty. */
void cuckoo_net_free(cuckoo_net *net);

#endif
