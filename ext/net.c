/* SPDX-License-Identifier: MIT */
#include "net.h"

#include "key.h"
#include "sql.h"

int cuckoo_net_size(cuckoo_shadow *shadow, cuckoo_log_size *size)
{
    const int64_t last = INT64_C(1) << 62; /* SQLite counts up to here */
    sqlite3_stmt *count;
    *size = (cuckoo_log_size){0, 0, true};
    int rc = cuckoo_shadow_query(shadow, CUCKOO_COUNT_LOG, NULL, &count);
    if (rc == SQLITE_OK && cuckoo_shadow_step(shadow, count) == SQLITE_ROW)
        *size = (cuckoo_log_size){sqlite3_column_int64(count, 0), sqlite3_column_int64(count, 1),
                                  sqlite3_column_int64(count, 2) <= last};
    return cuckoo_shadow_end(count, rc);
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

/* A key comes, or goes (`more` -1). */
static int count(cuckoo_net *net, net_key key, int32_t more)
{
    if (!key.is)
        return SQLITE_OK;
    net->more += more;
    if (net->parts > 1 && key.hash % net->parts != net->part)
        return SQLITE_OK;
    return cuckoo_sums_add(&net->sums, key.hash, more) == SQLITE_OK ? SQLITE_OK : SQLITE_TOOBIG;
}

static int count_step(cuckoo_net *net, net_key from, net_key to)
{
    if (same(from, to))
        return SQLITE_OK;
    int rc = count(net, from, -1);
    return rc == SQLITE_OK ? count(net, to, 1) : rc;
}

/* ---- pairs: each row of the statement is a step ---- */

static int read_pairs(cuckoo_net *net, sqlite3_stmt *pairs, const cf_geometry *geometry)
{
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK && sqlite3_step(pairs) == SQLITE_ROW) {
        net_key from, to;
        rc = read_key(pairs, 0, geometry, &from);
        if (rc == SQLITE_OK)
            rc = read_key(pairs, 1, geometry, &to);
        if (rc == SQLITE_OK)
            rc = count_step(net, from, to);
    }
    return cuckoo_sql_end(pairs, rc);
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
    rc = cuckoo_sql_end(steps, rc);
    if (rc == SQLITE_OK)
        rc = end_chain(net, &at);
    cuckoo_sums_free(&at.told);
    return rc;
}

/* ---- what is believed ---- */

static cuckoo_belief belief_in(const cuckoo_follow *follow, const cuckoo_log_size *size)
{
    enum { MANY = 65536 };
    cuckoo_belief belief = follow->belief;
    if (belief == CUCKOO_BELIEVE_MANY)
        belief = size->rows > MANY || size->olds == 0 ? CUCKOO_BELIEVE_ALL : CUCKOO_BELIEVE_ENDS;
    return belief == CUCKOO_BELIEVE_ENDS && !size->ordered ? CUCKOO_BELIEVE_CHAINS : belief;
}

static int prepare(const cuckoo_follow *follow, const cuckoo_shadow *shadow, cuckoo_belief belief,
                   sqlite3_stmt **statement)
{
    char log[CUCKOO_LOG_NAME];
    const char *s = shadow->schema, *t = follow->table, *k = follow->column;
    cuckoo_log_name(shadow->log, log);
    if (belief == CUCKOO_BELIEVE_ALL)
        return cuckoo_sql_prepare(shadow->db, statement, "SELECT old, new FROM \"%w\".\"%w\"", s, log);
    if (belief == CUCKOO_BELIEVE_CHAINS)
        return cuckoo_sql_prepare(shadow->db, statement,
                                  "SELECT l.old, l.new, c.\"%w\", l.\"row\" FROM \"%w\".\"%w\" AS l LEFT "
                                  "JOIN \"%w\".\"%w\" AS c ON c.%s = l.\"row\" ORDER BY l.\"row\", l.rowid",
                                  k, s, log, s, t, follow->rowid);
    /* beside min(rowid) SQLite takes the other columns from the same row */
    return cuckoo_sql_prepare(shadow->db, statement,
                              "SELECT l.old, c.\"%w\" FROM (SELECT \"row\", old, min(rowid) FROM "
                              "\"%w\".\"%w\" GROUP BY \"row\") AS l LEFT JOIN \"%w\".\"%w\" AS c ON c.%s = "
                              "l.\"row\"",
                              k, s, log, s, t, follow->rowid);
}

int cuckoo_net_read(cuckoo_net *net, const cuckoo_follow *follow, const cuckoo_shadow *shadow,
                    const cuckoo_log_size *size, const cf_geometry *geometry)
{
    sqlite3_stmt *steps;
    cuckoo_belief belief = belief_in(follow, size);
    int rc = prepare(follow, shadow, belief, &steps);
    if (rc != SQLITE_OK)
        return rc;
    return belief == CUCKOO_BELIEVE_CHAINS ? read_chains(net, steps, geometry, size->ordered)
                                           : read_pairs(net, steps, geometry);
}

cf_status cuckoo_net_apply(const cuckoo_net *net, cf_filter *filter)
{
    const cuckoo_sums *sums = &net->sums;
    cf_status status = CF_OK;
    for (size_t i = 0; i < sums->places; i++)
        for (int32_t n = sums->place[i].sum; n < 0; n++)
            cf_delete(filter, sums->place[i].hash);
    for (size_t i = 0; i < sums->places; i++)
        for (int32_t n = sums->place[i].sum; n > 0 && status == CF_OK; n--)
            status = cf_add(filter, sums->place[i].hash);
    return status;
}
