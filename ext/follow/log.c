/* SPDX-License-Identifier: MIT */
#include "log.h"

#include "../keys/key.h"
#include "../sqlite/sql.h"

#include <string.h>

#define COLUMNS "(\"old\", \"new\", \"tag\" DEFAULT (random()))"

int cuckoo_row_key_read(sqlite3_value *value, const cf_geometry *geometry, cuckoo_row_key *key)
{
    *key = (cuckoo_row_key){false, 0};
    if (sqlite3_value_type(value) == SQLITE_NULL)
        return SQLITE_OK;
    cuckoo_key kind = cuckoo_key_hash(value, geometry, &key->hash);
    key->is = kind == CUCKOO_KEY_OK;
    return kind == CUCKOO_KEY_NOMEM ? SQLITE_NOMEM : SQLITE_OK;
}

/* ---- the table ---- */

int cuckoo_log_create(const cuckoo_shadow *shadow)
{
    char log[CUCKOO_LOG_NAME];
    cuckoo_log_name(shadow->log, log);
    return cuckoo_sql_run(shadow->db, "CREATE TABLE \"%w\".\"%w\"" COLUMNS, shadow->schema, log);
}

int cuckoo_log_drop(const cuckoo_shadow *shadow, int64_t log)
{
    char name[CUCKOO_LOG_NAME];
    cuckoo_log_name(log, name);
    return cuckoo_sql_run(shadow->db, "DROP TABLE IF EXISTS \"%w\".\"%w\"", shadow->schema, name);
}

/* Is there a trigger on the log in this schema, except the TEMP one of this extension? */
static int look_for_triggers(const cuckoo_shadow *shadow, const char *schema, const char *log,
                             cuckoo_log_fault *fault)
{
    sqlite3_int64 found = 0;
    int rc =
        cuckoo_sql_integer(shadow->db, &found,
                           "SELECT 1 FROM \"%w\".sqlite_master WHERE type = 'trigger' AND tbl_name = "
                           "%Q COLLATE NOCASE AND name <> '" CUCKOO_TOUCH_NAME "'",
                           schema, log, log);
    if (found)
        *fault = CUCKOO_LOG_WATCHED;
    return rc;
}

int cuckoo_log_look(const cuckoo_shadow *shadow, cuckoo_log_fault *fault)
{
    char log[CUCKOO_LOG_NAME], *sql, want[CUCKOO_LOG_NAME + 64];
    cuckoo_log_name(shadow->log, log);
    sqlite3_snprintf(sizeof want, want, "CREATE TABLE \"%w\"" COLUMNS, log);
    int rc = cuckoo_sql_text(shadow->db, &sql,
                             "SELECT sql FROM \"%w\".sqlite_master WHERE type = 'table' AND name = %Q",
                             shadow->schema, log);
    *fault = sql == NULL              ? CUCKOO_LOG_MISSING
             : strcmp(sql, want) != 0 ? CUCKOO_LOG_CHANGED
                                      : CUCKOO_LOG_SOUND;
    sqlite3_free(sql);
    if (rc != SQLITE_OK || *fault != CUCKOO_LOG_SOUND)
        return rc;
    rc = look_for_triggers(shadow, shadow->schema, log, fault);
    return rc ? rc : look_for_triggers(shadow, "temp", log, fault);
}

int cuckoo_log_rows(cuckoo_shadow *shadow, int64_t *rows)
{
    *rows = 0;
    return cuckoo_shadow_integer(shadow, CUCKOO_LAST_LOGGED, NULL, rows);
}

/* ---- the net ---- */

/* Row numbers that SQLite does not count up: somebody has written one by hand, and later rows may lie
** below it. */
#define LARGEST_MARK (INT64_C(1) << 62)

void cuckoo_net_forget(cuckoo_net *net)
{
    cuckoo_sums sums = net->sums;
    cuckoo_sums_clear(&sums);
    *net = (cuckoo_net){.sums = sums};
}

void cuckoo_net_free(cuckoo_net *net)
{
    cuckoo_sums_free(&net->sums);
}

static int add(cuckoo_net *net, sqlite3_stmt *row, int column, const cf_geometry *geometry, int more)
{
    cuckoo_row_key key;
    int rc = cuckoo_row_key_read(sqlite3_column_value(row, column), geometry, &key);
    if (rc != SQLITE_OK || !key.is)
        return rc;
    net->more += more;
    return cuckoo_sums_add(&net->sums, key.hash, more);
}

/* After an error the net is forgotten. */
static int take_row(cuckoo_net *net, sqlite3_stmt *row, const cf_geometry *geometry)
{
    enum { ROWID, TAG, OLD, NEW };
    net->rows++;
    net->mark = sqlite3_column_int64(row, ROWID);
    net->tag = sqlite3_column_int64(row, TAG);
    int rc = add(net, row, OLD, geometry, -1);
    return rc ? rc : add(net, row, NEW, geometry, 1);
}

/* Reads from the mark on. *same: the row there is still the one that was read. */
static int read_on(cuckoo_net *net, cuckoo_paged *paged, bool *same)
{
    sqlite3_stmt *rows;
    int64_t from = net->rows ? net->mark : INT64_MIN;
    int rc = cuckoo_shadow_query(&paged->shadow, CUCKOO_READ_LOG, &from, &rows);
    *same = net->rows == 0;
    while (rc == SQLITE_OK && cuckoo_shadow_step(&paged->shadow, rows) == SQLITE_ROW) {
        bool at_mark = !*same && sqlite3_column_int64(rows, 0) == net->mark;
        if (*same)
            rc = take_row(net, rows, &paged->filter.geometry);
        else if (at_mark && sqlite3_column_int64(rows, 1) == net->tag)
            *same = true;
        else
            break;
    }
    return cuckoo_shadow_end(&paged->shadow, rows, rc);
}

int cuckoo_net_read(cuckoo_net *net, cuckoo_paged *paged)
{
    bool same;
    if (net->current)
        return SQLITE_OK;
    if (net->generation != paged->generation || net->mark > LARGEST_MARK)
        cuckoo_net_forget(net);
    int rc = read_on(net, paged, &same);
    if (rc == SQLITE_OK && !same) {
        cuckoo_net_forget(net);
        rc = read_on(net, paged, &same);
    }
    if (rc != SQLITE_OK)
        cuckoo_net_forget(net);
    net->generation = paged->generation;
    net->current = rc == SQLITE_OK;
    return rc;
}

int cuckoo_net_walk(const cuckoo_net *net, int (*change)(void *context, uint64_t hash, int64_t more),
                    void *context)
{
    int rc = SQLITE_OK;
    for (int come = 0; come < 2; come++)
        for (size_t i = 0; rc == SQLITE_OK && i < net->sums.places; i++) {
            const cuckoo_sum *at = &net->sums.place[i];
            if (at->sum != 0 && (at->sum > 0) == (come == 1))
                rc = change(context, at->hash, at->sum);
        }
    return rc;
}
