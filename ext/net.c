/* SPDX-License-Identifier: MIT */
#include "net.h"

#include "key.h"
#include "sql.h"

int cuckoo_net_size(cuckoo_shadow *shadow, cuckoo_log_size *size)
{
    const int64_t last = INT64_C(1) << 62; /* SQLite counts up to here */
    int64_t rows = 0;
    int rc = cuckoo_shadow_integer(shadow, CUCKOO_LAST_LOGGED, NULL, &rows);
    *size = (cuckoo_log_size){rows, rows <= last};
    return rc;
}

/* ---- keys ---- */

typedef struct net_key {
    bool is; /* false: NULL, which is no key */
    uint64_t hash;
} net_key;

static int read_key(sqlite3_stmt *row, int column, const cf_geometry *geometry, net_key *key)
{
    cuckoo_key kind = cuckoo_key_hash(sqlite3_column_value(row, column), geometry, &key->hash);
    key->is = kind == CUCKOO_KEY_OK;
    return kind == CUCKOO_KEY_NOMEM ? SQLITE_NOMEM : SQLITE_OK;
}

static bool same(net_key a, net_key b)
{
    return a.is == b.is && (!a.is || a.hash == b.hash);
}

/* ---- what has come and gone ---- */

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
static int count(cuckoo_net *net, net_key key, int32_t more)
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

static int count_step(cuckoo_net *net, net_key from, net_key to)
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
    for (size_t i = 0; rc == SQLITE_OK && i < sums->places; i++)
        if (sums->place[i].sum < 0)
            rc = change(context, sums->place[i].hash, sums->place[i].sum);
    for (size_t i = 0; rc == SQLITE_OK && i < sums->places; i++)
        if (sums->place[i].sum > 0)
            rc = change(context, sums->place[i].hash, sums->place[i].sum);
    for (size_t i = 0; rc == SQLITE_OK && i < net->n; i++)
        rc = change(context, net->came[i], 1);
    return rc;
}

/* ---- pairs: each row of the statement is a step ---- */

/* *old: a key has gone. `stops`: nothing more is read then. */
static int read_pairs(cuckoo_net *net, sqlite3_stmt *pairs, const cf_geometry *geometry, bool stops,
                      bool *old)
{
    int rc = SQLITE_OK;
    *old = false;
    while (rc == SQLITE_OK && !(stops && *old) && sqlite3_step(pairs) == SQLITE_ROW) {
        net_key from, to;
        rc = read_key(pairs, 0, geometry, &from);
        if (rc == SQLITE_OK)
            rc = read_key(pairs, 1, geometry, &to);
        if (rc == SQLITE_OK)
            rc = count_step(net, from, to);
        *old |= from.is;
    }
    return cuckoo_first_error(rc, sqlite3_reset(pairs));
}

/* ---- chains: the steps of each row, one after the other ---- */

typedef struct chain {
    int64_t row;
    net_key first, last, now; /* its first key, the one where the chain ends, and that of the row */
    cuckoo_sums told;         /* each `new` */
    bool any, fits;
} chain;

/* Counts a chain that has ended. */
static int end_chain(cuckoo_net *net, chain *at)
{
    if (!at->any)
        return SQLITE_OK;
    if (at->fits && same(at->last, at->now))
        return count_step(net, at->first, at->now);
    net->doubts++;
    int rc = count(net, at->now, 1);
    for (size_t i = 0; rc == SQLITE_OK && i < at->told.places; i++)
        for (int32_t n = at->told.place[i].sum; rc == SQLITE_OK && n > 0; n--)
            rc = count(net, (net_key){true, at->told.place[i].hash}, 1);
    return rc;
}

static int take_step(cuckoo_net *net, chain *at, int64_t row, const net_key *key, bool ordered)
{
    int rc = SQLITE_OK;
    if (!at->any || row != at->row) {
        rc = end_chain(net, at);
        cuckoo_sums_clear(&at->told);
        *at = (chain){row, key[0], key[0], key[2], at->told, true, ordered};
    }
    at->fits &= same(at->last, key[0]);
    at->last = key[1];
    if (rc != SQLITE_OK || !key[1].is)
        return rc;
    return cuckoo_sums_add(&at->told, key[1].hash, 1) == SQLITE_OK ? SQLITE_OK : SQLITE_TOOBIG;
}

static int read_chains(cuckoo_net *net, sqlite3_stmt *steps, const cf_geometry *geometry, bool ordered)
{
    enum { KEYS = 3 /* old, new, now */ };
    chain at = {.any = false};
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK && sqlite3_step(steps) == SQLITE_ROW) {
        net_key key[KEYS];
        for (int i = 0; rc == SQLITE_OK && i < KEYS; i++)
            rc = read_key(steps, i, geometry, &key[i]);
        if (rc == SQLITE_OK)
            rc = take_step(net, &at, sqlite3_column_int64(steps, KEYS), key, ordered);
    }
    rc = cuckoo_first_error(rc, sqlite3_reset(steps));
    if (rc == SQLITE_OK)
        rc = end_chain(net, &at);
    cuckoo_sums_free(&at.told);
    return rc;
}

/* ---- what is believed ---- */

/* Numbers of rows that were written by hand say nothing of their order. */
static cuckoo_belief belief_in(const cuckoo_follow *follow, const cuckoo_log_size *size)
{
    enum { FEW = 64, MANY = 65536 };
    cuckoo_belief belief = follow->belief;
    if (belief == CUCKOO_BELIEVE_MANY && (size->rows <= FEW || size->rows > MANY))
        belief = size->rows <= FEW ? CUCKOO_BELIEVE_ENDS : CUCKOO_BELIEVE_ALL;
    return belief == CUCKOO_BELIEVE_ENDS && !size->ordered ? CUCKOO_BELIEVE_CHAINS : belief;
}

static int prepare(const cuckoo_follow *follow, const cuckoo_shadow *shadow, cuckoo_belief belief,
                   sqlite3_stmt **statement)
{
    char log[CUCKOO_LOG_NAME];
    const char *s = shadow->schema, *t = follow->table, *k = follow->column;
    cuckoo_log_name(shadow->log, log);
    if (belief == CUCKOO_BELIEVE_ALL || belief == CUCKOO_BELIEVE_MANY)
        return cuckoo_sql_prepare(shadow->db, statement, "SELECT old, new FROM \"%w\".\"%w\"", s, log);
    if (belief == CUCKOO_BELIEVE_NEW)
        return cuckoo_sql_prepare(shadow->db, statement, "SELECT NULL, new FROM \"%w\".\"%w\"", s, log);
    if (belief == CUCKOO_BELIEVE_CHAINS)
        return cuckoo_sql_prepare(
            shadow->db, statement,
            "SELECT l.old, l.new, c.\"%w\", l.\"row\" FROM \"%w\".\"%w\" AS l LEFT "
            "JOIN \"%w\".\"%w\" AS c ON c.%s = l.\"row\" ORDER BY l.\"row\", l.rowid",
            k, s, log, s, t, follow->rowid);
    /* beside min(rowid) SQLite takes the other columns from the same row */
    return cuckoo_sql_prepare(
        shadow->db, statement,
        "SELECT l.old, c.\"%w\" FROM (SELECT \"row\", old, min(rowid) FROM "
        "\"%w\".\"%w\" GROUP BY \"row\") AS l LEFT JOIN \"%w\".\"%w\" AS c ON c.%s = "
        "l.\"row\"",
        k, s, log, s, t, follow->rowid);
}

static int read_as(cuckoo_net *net, cuckoo_follow *follow, const cuckoo_shadow *shadow,
                   cuckoo_belief belief, const cf_geometry *geometry, bool ordered)
{
    bool old;
    int rc = follow->steps[belief] ? SQLITE_OK : prepare(follow, shadow, belief, &follow->steps[belief]);
    sqlite3_stmt *steps = follow->steps[belief];
    clear(net);
    if (rc != SQLITE_OK)
        return rc;
    if (belief == CUCKOO_BELIEVE_CHAINS)
        return read_chains(net, steps, geometry, ordered);
    bool stops = belief == CUCKOO_BELIEVE_MANY;
    rc = read_pairs(net, steps, geometry, stops, &old);
    return rc == SQLITE_OK && stops && old
               ? read_as(net, follow, shadow, CUCKOO_BELIEVE_ENDS, geometry, ordered)
               : rc;
}

int cuckoo_net_read(cuckoo_net *net, cuckoo_follow *follow, cuckoo_shadow *shadow,
                    const cuckoo_log_size *size, const cf_geometry *geometry)
{
    return read_as(net, follow, shadow, belief_in(follow, size), geometry, size->ordered);
}
