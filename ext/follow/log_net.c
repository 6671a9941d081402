/* SPDX-License-Identifier: MIT */
#include "log_net.h"

#include "../sqlite/sql.h"

int cuckoo_net_size(cuckoo_shadow *shadow, cuckoo_log_size *size)
{
    const int64_t none = INT64_MIN, most = INT64_C(1) << 62; /* SQLite counts from 1 up to there */
    int64_t last = none;
    int rc = cuckoo_shadow_integer(shadow, CUCKOO_LAST_LOGGED, NULL, &last);
    bool counted = last >= 1 && last <= most; /* else somebody has written a number by hand */
    *size = (cuckoo_log_size){counted ? last : last == none ? 0 : INT64_MAX, counted};
    return rc;
}

/* ---- what has come and gone ---- */

static bool same(cuckoo_row_key a, cuckoo_row_key b)
{
    return a.is == b.is && (!a.is || a.hash == b.hash);
}

static int push(cuckoo_net *net, uint64_t hash)
{
    if (net->n == net->room) {
        size_t room = 2 * net->room + 16;
        uint64_t *larger = sqlite3_realloc64(net->came, room * sizeof *larger);
        if (larger == NULL)
            return SQLITE_TOOBIG;
        net->came = larger;
        net->room = room;
    }
    net->came[net->n++] = hash;
    return SQLITE_OK;
}

static int add(cuckoo_net *net, uint64_t hash, int32_t more)
{
    return cuckoo_sums_add(&net->sums, hash, more) == SQLITE_OK ? SQLITE_OK : SQLITE_TOOBIG;
}

/* The first key that has gone: from now on there are sums. */
static int begin_sums(cuckoo_net *net)
{
    int rc = SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < net->n; i++)
        rc = add(net, net->came[i], 1);
    net->n = 0;
    return rc;
}

/* A key comes, or goes (`more` -1). */
static int count(cuckoo_net *net, cuckoo_row_key key, int32_t more)
{
    if (!key.is)
        return SQLITE_OK;
    net->more += more;
    if (net->parts > 1 && key.hash % net->parts != net->part)
        return SQLITE_OK;
    bool sums = net->sums.used > 0;
    if (!sums && more > 0)
        return push(net, key.hash);
    int rc = sums ? SQLITE_OK : begin_sums(net);
    return rc == SQLITE_OK ? add(net, key.hash, more) : rc;
}

static int count_step(cuckoo_net *net, cuckoo_row_key from, cuckoo_row_key to)
{
    if (same(from, to))
        return SQLITE_OK;
    int rc = count(net, from, -1);
    return rc == SQLITE_OK ? count(net, to, 1) : rc;
}

static void clear(cuckoo_net *net)
{
    cuckoo_sums_clear(&net->sums);
    net->n = 0;
    net->more = 0;
    net->doubts = 0;
}

void cuckoo_net_free(cuckoo_net *net)
{
    sqlite3_free(net->came);
    cuckoo_sums_free(&net->sums);
    *net = (cuckoo_net){.parts = 1};
}

int cuckoo_net_walk(const cuckoo_net *net, int (*change)(void *context, uint64_t hash, int64_t more),
                    void *context)
{
    int rc = SQLITE_OK;
    const cuckoo_sums *sums = &net->sums;
    for (int sign = -1; sign <= 1; sign += 2)
        for (size_t i = 0; rc == SQLITE_OK && i < sums->places; i++)
            if (sign * (int64_t)sums->place[i].sum > 0)
                rc = change(context, sums->place[i].hash, sums->place[i].sum);
    for (size_t i = 0; rc == SQLITE_OK && i < net->n; i++)
        rc = change(context, net->came[i], 1);
    return rc;
}

/* ---- pairs: each row of the statement is a step ---- */

/* What is read of each row of the log. */
typedef enum net_pairs {
    PAIRS_ALL,    /* its keys */
    PAIRS_NEW,    /* only the key that came */
    PAIRS_TO_OLD, /* its keys, up to the first row with an old one */
} net_pairs;

/* *old: a key has gone. */
static int read_pairs(cuckoo_net *net, cuckoo_shadow *shadow, net_pairs which,
                      const cf_geometry *geometry, bool *old)
{
    sqlite3_stmt *rows;
    int64_t from = INT64_MIN;
    int rc = cuckoo_shadow_query(shadow, CUCKOO_READ_LOG, &from, &rows);
    *old = false;
    while (rc == SQLITE_OK && !(which == PAIRS_TO_OLD && *old) && sqlite3_step(rows) == SQLITE_ROW) {
        cuckoo_row_key key[2] = {{false, 0}};
        for (int i = which == PAIRS_NEW; rc == SQLITE_OK && i < 2; i++)
            rc = cuckoo_row_key_read(sqlite3_column_value(rows, i + 1), geometry, &key[i]);
        rc = rc ? rc : count_step(net, key[0], key[1]);
        *old |= key[0].is;
    }
    return cuckoo_shadow_end(shadow, rows, rc);
}

/* ---- ways: the steps of each row, one after the other ---- */

typedef struct way {
    int64_t row;
    cuckoo_row_key first, last,
        now;               /* its first key, the one where the steps end, and that of the row */
    cuckoo_sums told, sum; /* each `new`; and each step: what it takes away counts -1 */
    bool any, fits;        /* fits: each step begins where the one before it has ended */
    bool stale;            /* a step begins with a key that the row has had before, and had no more */
} way;

static int count_times(cuckoo_net *net, cuckoo_row_key key, int32_t n)
{
    int rc = SQLITE_OK;
    for (; rc == SQLITE_OK && n != 0; n += n > 0 ? -1 : 1)
        rc = count(net, key, n > 0 ? 1 : -1);
    return rc;
}

static int add_all(cuckoo_net *net, const cuckoo_sums *sums)
{
    int rc = SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < sums->places; i++)
        rc = count_times(net, (cuckoo_row_key){true, sums->place[i].hash}, sums->place[i].sum);
    return rc;
}

/* Nothing has gone for sure. */
static int doubt(cuckoo_net *net, const way *at)
{
    net->doubts++;
    int rc = count(net, at->now, 1);
    return rc == SQLITE_OK ? add_all(net, &at->told) : rc;
}

/* Do the steps, in any order, lead from one key, or from none, to that of now? */
static bool adds_up(const way *at)
{
    int64_t before = at->now.is, least = 0;
    for (size_t i = 0; i < at->sum.places; i++) {
        bool is_now = at->now.is && at->sum.place[i].taken && at->sum.place[i].hash == at->now.hash;
        int64_t had = is_now - (int64_t)at->sum.place[i].sum;
        before -= at->sum.place[i].sum;
        least = had < least ? had : least;
    }
    return least == 0 && (before == 0 || before == 1);
}

/* What both the sum of the steps and the ends of the way say. A trigger may have been told what was not
** true, and be gone by now. So a key has gone only as often as both say so. */
static int take_both(cuckoo_net *net, const way *at)
{
    int rc = SQLITE_OK;
    bool now = at->now.is, differs = false;
    const cuckoo_sums *sums = &at->sum;
    for (size_t i = 0; rc == SQLITE_OK && i < sums->places; i++) {
        cuckoo_row_key key = {true, sums->place[i].hash};
        if (!sums->place[i].taken)
            continue;
        int32_t sum = sums->place[i].sum, ends = same(key, at->now) - same(key, at->first);
        now &= !same(key, at->now);
        differs |= sum != ends;
        rc = count_times(net, key, sum > ends ? sum : ends);
    }
    net->doubts += differs || now;
    return rc == SQLITE_OK && now ? count(net, at->now, 1) : rc;
}

/* Is it a key of the steps so far? */
static bool knows(const way *at, cuckoo_row_key key)
{
    return key.is && cuckoo_sums_has(&at->sum, key.hash);
}

static int end_way(cuckoo_net *net, const way *at, cuckoo_belief belief, bool ordered)
{
    if (!at->any)
        return SQLITE_OK;
    if (belief == CUCKOO_BELIEVE_NESTED && adds_up(at))
        return add_all(net, &at->sum);
    if (belief == CUCKOO_BELIEVE_MANY && adds_up(at))
        return take_both(net, at);
    bool ends = same(at->last, at->now);
    if (!ordered || (belief == CUCKOO_BELIEVE_CHAINS && !(at->fits && ends)))
        return doubt(net, at);
    if (belief == CUCKOO_BELIEVE_FITS)
        return at->stale || (!ends && knows(at, at->now)) ? doubt(net, at) : add_all(net, &at->sum);
    return count_step(net, at->first, at->now);
}

static int take_step(way *at, const cuckoo_row_key *key)
{
    int rc = SQLITE_OK;
    bool follows = same(at->last, key[0]);
    at->fits &= follows;
    at->stale |= !follows && knows(at, key[0]);
    at->last = key[1];
    if (key[0].is)
        rc = cuckoo_sums_add(&at->sum, key[0].hash, -1);
    if (rc == SQLITE_OK && key[1].is)
        rc = cuckoo_sums_add(&at->sum, key[1].hash, 1);
    if (rc == SQLITE_OK && key[1].is)
        rc = cuckoo_sums_add(&at->told, key[1].hash, 1);
    return rc == SQLITE_OK ? rc : SQLITE_TOOBIG;
}

/* The first step of a row. The tables of sums serve again. */
static void begin_way(way *at, int64_t row, const cuckoo_row_key *key)
{
    cuckoo_sums_clear(&at->told);
    cuckoo_sums_clear(&at->sum);
    *at = (way){row, key[0], key[0], key[2], at->told, at->sum, true, true, false};
}

static int read_ways(cuckoo_net *net, sqlite3_stmt *steps, const cf_geometry *geometry,
                     cuckoo_belief belief, bool ordered)
{
    enum { KEYS = 3 /* old, new, now */ };
    way at = {.any = false};
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK && sqlite3_step(steps) == SQLITE_ROW) {
        cuckoo_row_key key[KEYS];
        int64_t row = sqlite3_column_int64(steps, KEYS);
        for (int i = 0; rc == SQLITE_OK && i < KEYS; i++)
            rc = cuckoo_row_key_read(sqlite3_column_value(steps, i), geometry, &key[i]);
        bool next = rc == SQLITE_OK && (!at.any || row != at.row);
        if (next) {
            rc = end_way(net, &at, belief, ordered);
            begin_way(&at, row, key);
        }
        rc = rc ? rc : take_step(&at, key);
    }
    rc = cuckoo_first_error(rc, sqlite3_reset(steps));
    rc = rc ? rc : end_way(net, &at, belief, ordered);
    cuckoo_sums_free(&at.told);
    cuckoo_sums_free(&at.sum);
    return rc;
}

/* ---- what is believed ---- */

/* The statement is kept until the next look (follow.h). */
static int read_by_row(cuckoo_net *net, cuckoo_follow *follow, const cuckoo_shadow *shadow, bool ordered,
                       const cf_geometry *geometry)
{
    char log[CUCKOO_LOG_NAME];
    const char *s = shadow->schema;
    int rc = SQLITE_OK;
    cuckoo_log_name(shadow->log, log);
    if (follow->steps == NULL)
        rc = cuckoo_sql_prepare(
            shadow->db, &follow->steps,
            "SELECT l.old, l.new, c.\"%w\", l.\"row\" FROM \"%w\".\"%w\" AS l LEFT JOIN "
            "\"%w\".\"%w\" AS c ON c.%s = l.\"row\" ORDER BY l.\"row\", l.rowid",
            follow->column, s, log, s, follow->table, follow->rowid);
    return rc ? rc : read_ways(net, follow->steps, geometry, follow->belief, ordered);
}

/* As long as no key has gone there is nothing to doubt, and pairs will do. In a log of a few rows it
** costs more to look for that first. */
int cuckoo_net_read(cuckoo_net *net, cuckoo_follow *follow, cuckoo_shadow *shadow,
                    const cuckoo_log_size *size, const cf_geometry *geometry)
{
    enum { FEW = 64 };
    bool old = true;
    int rc = SQLITE_OK;
    cuckoo_belief belief = follow->belief;
    clear(net);
    if (belief == CUCKOO_BELIEVE_ALL || belief == CUCKOO_BELIEVE_NEW)
        return read_pairs(net, shadow, belief == CUCKOO_BELIEVE_ALL ? PAIRS_ALL : PAIRS_NEW, geometry,
                          &old);
    bool many = belief == CUCKOO_BELIEVE_MANY || belief == CUCKOO_BELIEVE_NESTED ||
                belief == CUCKOO_BELIEVE_FITS;
    if (many && size->rows > FEW)
        rc = read_pairs(net, shadow, PAIRS_TO_OLD, geometry, &old);
    if (rc != SQLITE_OK || !old)
        return rc;
    clear(net);
    return read_by_row(net, follow, shadow, size->ordered, geometry);
}
