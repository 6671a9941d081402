/* SPDX-License-Identifier: MIT */
/*
** follow.c - the triggers of a filter table that follows a table: making them, finding them.
*/
#include "follow.h"

#include "../sqlite/sql.h"
#include "schema.h"
#include "sql_text.h"

#include <assert.h>
#include <string.h>

enum { INSERTED, DELETED, UPDATED, MOVED };
const char *const cuckoo_follow_suffixes[CUCKOO_FOLLOWERS] = {"inserted", "deleted", "updated", "moved"};

static void forget_names(cuckoo_follow *follow)
{
    sqlite3_free(follow->table);
    sqlite3_free(follow->column);
    follow->table = follow->column = NULL;
}

void cuckoo_follow_free(cuckoo_follow *follow)
{
    sqlite3_finalize(follow->steps);
    forget_names(follow);
    sqlite3_free(follow->rowid);
    sqlite3_free(follow->fault);
    sqlite3_free(follow->given_table);
    sqlite3_free(follow->given_column);
}

/* ---- the triggers ---- */

/* Does an index keep the primary key? */
static int has_key_index(const cuckoo_follow *follow, const cuckoo_shadow *shadow, bool *has)
{
    enum { ORIGIN = 3 /* column of the list */ };
    sqlite3_stmt *all;
    int rc = cuckoo_sql_prepare(shadow->db, &all, "PRAGMA \"%w\".index_list(\"%w\")", shadow->schema,
                                follow->table);
    for (*has = false; rc == SQLITE_OK && !*has && sqlite3_step(all) == SQLITE_ROW;)
        *has = sqlite3_stricmp((const char *)sqlite3_column_text(all, ORIGIN), "pk") == 0;
    return cuckoo_sql_end(all, rc);
}

enum { ROWID_NAMES = 3 };
static const char *const rowid_names[ROWID_NAMES] = {"rowid", "_rowid_", "oid"};

/* Which names of the rowid are those of columns? *key: a column of the primary key, in quotes. */
static int read_names(const cuckoo_follow *follow, const cuckoo_shadow *shadow, bool *taken, char **key)
{
    enum { NAME = 1, KEY = 5 /* columns of the list */ };
    sqlite3_stmt *all;
    int rc = cuckoo_sql_prepare(shadow->db, &all, "PRAGMA \"%w\".table_xinfo(\"%w\")", shadow->schema,
                                follow->table);
    while (rc == SQLITE_OK && sqlite3_step(all) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(all, NAME);
        for (int i = 0; name && i < ROWID_NAMES; i++)
            taken[i] |= sqlite3_stricmp(name, rowid_names[i]) == 0;
        if (name && sqlite3_column_int(all, KEY) && sqlite3_stricmp(name, "rowid") != 0) {
            sqlite3_free(*key);
            *key = sqlite3_mprintf("\"%w\"", name);
            name = *key;
        }
        rc = name ? SQLITE_OK : SQLITE_NOMEM;
    }
    return cuckoo_sql_end(all, rc);
}

/* Finds what triggers call the rowid, for follow->rowid: an INTEGER PRIMARY KEY, which no index keeps,
** by its name in quotes, as SQLite has it after the column was renamed; else by the first of its names
** that is no column. NULL: there is no rowid, no free name, or no table. */
static int find_rowid(cuckoo_follow *follow, const cuckoo_shadow *shadow)
{
    sqlite3_stmt *one = NULL;
    bool taken[ROWID_NAMES] = {false}, indexed = false;
    char *key = NULL, *name = NULL;
    int which = 0, rc = read_names(follow, shadow, taken, &key);
    rc = rc ? rc : has_key_index(follow, shadow, &indexed);
    while (which < ROWID_NAMES && taken[which])
        which++;
    if (rc == SQLITE_OK && which < ROWID_NAMES) {
        name = sqlite3_mprintf("%s", key && !indexed ? key : rowid_names[which]);
        rc = name ? cuckoo_sql_prepare(shadow->db, &one, "SELECT c.%s FROM \"%w\".\"%w\" AS c", name,
                                       shadow->schema, follow->table)
                  : SQLITE_NOMEM;
    }
    sqlite3_finalize(one);
    sqlite3_free(key);
    sqlite3_free(follow->rowid);
    follow->rowid = rc == SQLITE_OK ? name : NULL;
    if (rc != SQLITE_OK)
        sqlite3_free(name);
    return rc == SQLITE_ERROR ? SQLITE_OK : rc;
}

int cuckoo_follow_find_belief(cuckoo_follow *follow, const cuckoo_shadow *shadow, bool lies, bool nested)
{
    enum { NO_ROWID, ROWID, KEY /* an INTEGER PRIMARY KEY: VACUUM does not change it */ };
    static const cuckoo_belief beliefs[][2][2] = {
        /* old values lie; then: changes are nested */
        [NO_ROWID] = {{CUCKOO_BELIEVE_ALL, CUCKOO_BELIEVE_ALL},
                      {CUCKOO_BELIEVE_NEW, CUCKOO_BELIEVE_NEW}},
        [ROWID] = {{CUCKOO_BELIEVE_FITS, CUCKOO_BELIEVE_ALL},
                   {CUCKOO_BELIEVE_CHAINS, CUCKOO_BELIEVE_CHAINS}},
        [KEY] = {{CUCKOO_BELIEVE_MANY, CUCKOO_BELIEVE_NESTED},
                 {CUCKOO_BELIEVE_ENDS, CUCKOO_BELIEVE_MANY}}};
    sqlite3_finalize(follow->steps);
    follow->steps = NULL;
    int rc = find_rowid(follow, shadow);
    int kind = follow->rowid == NULL ? NO_ROWID : *follow->rowid == '"' ? KEY : ROWID;
    follow->belief = beliefs[kind][lies][nested];
    return rc;
}

/* "%w" of each: the name of the filter, the table; then what the trigger says. */
#define HEAD(name, event) "\"%w_" name "\" AFTER " event " ON \"%w\" WHEN "
#define BODY              " BEGIN INSERT INTO \"%w\"(\"row\", \"old\", \"new\") VALUES "
#define TAIL              "; SELECT RAISE(ABORT, '') WHERE 0; END"

/* r: the name of the rowid; NULL: there is none. An update that seems to leave the key as it was writes
** nothing. If a BEFORE trigger has changed the key, the log has that step already. */
static char *make_text(int which, const char *f, const char *t, const char *k, const char *r,
                       const char *log)
{
    const char *of_new = r ? "new." : "", *of_old = r ? "old." : "", *row = r ? r : "NULL";
    switch (which) {
    case INSERTED:
        return sqlite3_mprintf(HEAD("inserted", "INSERT") "new.\"%w\" IS NOT NULL" BODY
                                                          "(%s%s, NULL, new.\"%w\")" TAIL,
                               f, t, k, log, of_new, row, k);
    case DELETED:
        return sqlite3_mprintf(HEAD("deleted", "DELETE") "old.\"%w\" IS NOT NULL" BODY
                                                         "(%s%s, old.\"%w\", NULL)" TAIL,
                               f, t, k, log, of_old, row, k);
    case UPDATED:
        return sqlite3_mprintf(HEAD("updated", "UPDATE") "old.\"%w\" COLLATE BINARY IS NOT new.\"%w\""
                                                         "%s%s%s%s" BODY
                                                         "(%s%s, old.\"%w\", new.\"%w\")" TAIL,
                               f, t, k, k, r ? " AND old." : "", r ? r : "", r ? " IS new." : "",
                               r ? r : "", log, of_new, row, k, k);
    default:
        return sqlite3_mprintf(
            HEAD("moved", "UPDATE") "old.%s IS NOT new.%s" BODY
                                    "(old.%s, old.\"%w\", NULL), (new.%s, NULL, new.\"%w\")" TAIL,
            f, t, r, r, log, r, k, r, k);
    }
}

int cuckoo_follow_text(const cuckoo_follow *follow, const cuckoo_shadow *shadow, int which,
                       const char *filter, char **text)
{
    char log[CUCKOO_LOG_NAME];
    cuckoo_log_name(shadow->log, log);
    *text = NULL;
    if (which == MOVED && follow->rowid == NULL)
        return SQLITE_OK;
    *text = make_text(which, filter, follow->table, follow->column, follow->rowid, log);
    return *text ? SQLITE_OK : SQLITE_NOMEM;
}

int cuckoo_follow_create(cuckoo_follow *follow, cuckoo_shadow *shadow, const char *filter)
{
    assert(follow->table != NULL && follow->column != NULL);
    int rc = find_rowid(follow, shadow);
    follow->trust = CUCKOO_UNKNOWN;
    for (int i = 0; rc == SQLITE_OK && i < CUCKOO_FOLLOWERS; i++) {
        char *text;
        rc = cuckoo_follow_text(follow, shadow, i, filter, &text);
        if (rc == SQLITE_OK && text)
            rc = cuckoo_sql_run(shadow->db, "CREATE TRIGGER \"%w\".%s", shadow->schema, text);
        sqlite3_free(text);
    }
    return rc;
}

int cuckoo_follow_shares_log(const cuckoo_shadow *shadow, int64_t log, bool *is)
{
    char name[CUCKOO_LOG_NAME];
    sqlite3_int64 found = 0;
    const char *f = shadow->table;
    cuckoo_log_name(log, name);
    int rc =
        cuckoo_sql_integer(shadow->db, &found,
                           "SELECT 1 FROM \"%w\".sqlite_master WHERE type = 'trigger' AND instr(sql, "
                           "%Q) AND name NOT IN ('%q_inserted', '%q_deleted', '%q_updated', "
                           "'%q_moved')",
                           shadow->schema, name, f, f, f, f);
    *is = found != 0;
    return rc;
}

/* A trigger that names the filter in its text could not fire without the filter. *log: it is a trigger
** of this filter alone, and writes to this one; else 0. */
static int is_to_go(const cuckoo_shadow *shadow, const char *sql, cuckoo_which which, bool *is,
                    int64_t *log)
{
    bool another = false, ours = cuckoo_schema_is_ours(sql),
         names = cuckoo_sql_names(sql, NULL, shadow->table);
    *log = ours ? cuckoo_log_in(sql) : 0;
    int rc = *log ? cuckoo_follow_shares_log(shadow, *log, &another) : SQLITE_OK;
    bool own = ours && (*log ? !another : names);
    *log = own ? *log : 0;
    *is = which == CUCKOO_ANY || own || (which == CUCKOO_OWN && (ours || names));
    return rc;
}

static int drop_one(cuckoo_shadow *shadow, int trigger, cuckoo_which which, bool logs)
{
    char *sql;
    int64_t log = 0;
    bool goes = false;
    int rc = cuckoo_follow_read(shadow, "sql", trigger, &sql);
    if (rc == SQLITE_OK && sql)
        rc = is_to_go(shadow, sql, which, &goes, &log);
    if (rc == SQLITE_OK && goes) {
        rc = cuckoo_sql_run(shadow->db, "DROP TRIGGER IF EXISTS \"%w\".\"%w_%s\"", shadow->schema,
                            shadow->table, cuckoo_follow_suffixes[trigger]);
        if (rc == SQLITE_OK && logs && cuckoo_log_in(sql))
            rc = cuckoo_log_drop(shadow, cuckoo_log_in(sql));
        else if (rc == SQLITE_OK && log && !logs)
            cuckoo_shadow_set_log(shadow, log);
    }
    sqlite3_free(sql);
    return rc;
}

int cuckoo_follow_drop(cuckoo_shadow *shadow, cuckoo_which which, bool logs)
{
    int rc = SQLITE_OK;
    for (int i = 0; rc == SQLITE_OK && i < CUCKOO_FOLLOWERS; i++)
        rc = drop_one(shadow, i, which, logs);
    return rc;
}

/* ---- reading the schema ---- */

int cuckoo_follow_read(const cuckoo_shadow *shadow, const char *column, int which, char **text)
{
    assert(which >= 0 && which < CUCKOO_FOLLOWERS);
    return cuckoo_sql_text(shadow->db, text,
                           "SELECT %s FROM \"%w\".sqlite_master WHERE type = 'trigger' AND name = "
                           "'%q_%s' COLLATE NOCASE",
                           column, shadow->schema, shadow->table, cuckoo_follow_suffixes[which]);
}

/* The column that a trigger names, in quotes behind one of these texts (sqlite3_malloc).
** NULL: it names none, or *rc is SQLITE_NOMEM. */
static char *column_in(const char *trigger, int which, int *rc)
{
    static const char *const before[CUCKOO_FOLLOWERS] = {" WHEN new.", " WHEN old.", " WHEN old.",
                                                         ", NULL, new."};
    const char *quoted = strstr(trigger, before[which]);
    quoted = quoted ? quoted + strlen(before[which]) : "";
    cuckoo_token token = cuckoo_sql_token(&quoted);
    if (*token.at != '"')
        return NULL;
    char *column = cuckoo_sql_unquoted(token.at, token.n);
    if (column == NULL)
        *rc = SQLITE_NOMEM;
    return column;
}

/* ---- the names of table and column ---- */

enum { NAMES_ROW = -1, NAMES_MAX = 2000 /* bytes */ };

int cuckoo_follow_save(cuckoo_follow *follow, cuckoo_shadow *shadow)
{
    assert(follow->table != NULL && follow->column != NULL);
    size_t table = strlen(follow->table) + 1, column = strlen(follow->column) + 1;
    uint8_t row[NAMES_MAX];
    int rc = SQLITE_OK;
    if (table + column <= sizeof row) { /* else the names that were given must serve */
        memcpy(row, follow->table, table);
        memcpy(row + table, follow->column, column);
        rc = cuckoo_shadow_write(shadow, NAMES_ROW, row, table + column, table + column);
    }
    follow->saved = rc == SQLITE_OK;
    return rc;
}

/* Takes over both texts. False: they name no column of a table of this schema, and are freed. */
static bool take_names(cuckoo_follow *follow, const cuckoo_shadow *shadow, char *table, char *column)
{
    bool there = table && column &&
                 sqlite3_table_column_metadata(shadow->db, shadow->schema, table, column, NULL, NULL,
                                               NULL, NULL, NULL) == SQLITE_OK;
    bool same = there && follow->table && strcmp(table, follow->table) == 0 &&
                strcmp(column, follow->column) == 0;
    if (!there || same) { /* what is there stays: a look may begin another, as SQLite connects tables */
        sqlite3_free(table);
        sqlite3_free(column);
        return there;
    }
    follow->saved = false;
    forget_names(follow);
    follow->table = table;
    follow->column = column;
    return true;
}

/* Takes the names from a trigger. *found: it was there, and they could be taken. */
static int names_in_trigger(cuckoo_follow *follow, const cuckoo_shadow *shadow, int which, bool *found)
{
    char *sql = NULL, *table = NULL, *column = NULL;
    int rc = cuckoo_follow_read(shadow, "tbl_name", which, &table);
    rc = rc ? rc : cuckoo_follow_read(shadow, "sql", which, &sql);
    if (rc == SQLITE_OK && sql)
        column = column_in(sql, which, &rc);
    sqlite3_free(sql);
    *found = take_names(follow, shadow, table, column);
    return rc;
}

/* The same with the names that were saved. */
static int saved_names(cuckoo_follow *follow, cuckoo_shadow *shadow, bool *found)
{
    uint8_t names[NAMES_MAX + 2] = {0};
    uint64_t length;
    const char *table = (const char *)names;
    int rc = cuckoo_shadow_read(shadow, NAMES_ROW, names, NAMES_MAX, &length);
    *found = rc == SQLITE_OK && take_names(follow, shadow, sqlite3_mprintf("%s", table),
                                           sqlite3_mprintf("%s", table + strlen(table) + 1));
    return rc;
}

int cuckoo_follow_check_names(cuckoo_shadow *shadow)
{
    uint64_t length;
    uint8_t nothing[1];
    return cuckoo_shadow_read(shadow, NAMES_ROW, nothing, 0, &length);
}

/* The triggers know best; then what this connection has seen last; then what was saved. */
int cuckoo_follow_find(cuckoo_follow *follow, cuckoo_shadow *shadow)
{
    bool found = false;
    int rc = SQLITE_OK;
    for (int i = 0; rc == SQLITE_OK && !found && i < CUCKOO_FOLLOWERS; i++)
        rc = names_in_trigger(follow, shadow, i, &found);
    if (rc == SQLITE_OK && !found && follow->table)
        found = take_names(follow, shadow, sqlite3_mprintf("%s", follow->table),
                           sqlite3_mprintf("%s", follow->column));
    if (rc == SQLITE_OK && !found)
        rc = saved_names(follow, shadow, &found);
    if (rc != SQLITE_OK || found || follow->table)
        return rc; /* the names may name nothing, while the table is being made anew */
    follow->saved = false;
    follow->table = sqlite3_mprintf("%s", follow->given_table);
    follow->column = sqlite3_mprintf("%s", follow->given_column);
    return follow->table && follow->column ? SQLITE_OK : SQLITE_NOMEM;
}

/* ---- rows of the table ---- */

/* Tables without rowid have neither first nor last rows: then any of them serve. */
int cuckoo_follow_keys(const cuckoo_follow *follow, const cuckoo_shadow *shadow, int most,
                       sqlite3_stmt **keys)
{
    assert(follow->table != NULL && follow->column != NULL);
    const char *s = shadow->schema, *t = follow->table, *k = follow->column;
    int rc = SQLITE_ERROR;
    if (most >= 0)
        rc = cuckoo_sql_prepare(
            shadow->db, keys,
            "SELECT * FROM (SELECT c.\"%w\" FROM \"%w\".\"%w\" AS c ORDER BY c.rowid LIMIT %d) UNION "
            "ALL "
            "SELECT * FROM (SELECT c.\"%w\" FROM \"%w\".\"%w\" AS c ORDER BY c.rowid DESC LIMIT %d)",
            k, s, t, most, k, s, t, most);
    if (rc == SQLITE_ERROR)
        rc = cuckoo_sql_prepare(shadow->db, keys, "SELECT c.\"%w\" FROM \"%w\".\"%w\" AS c LIMIT %d", k,
                                s, t, most);
    return rc;
}

/* ---- triggers that write to the filter ---- */

int cuckoo_follow_is_written_by_triggers(const cuckoo_shadow *shadow, bool *is)
{
    sqlite3_stmt *triggers;
    const char *f = shadow->table;
    /* Triggers of its own names are left out: rebuild drops them,
    ** whatever they say, before it reads the table. */
    int rc = cuckoo_sql_prepare(
        shadow->db, &triggers,
        "SELECT sql FROM (SELECT name, sql FROM \"%w\".sqlite_master WHERE type = 'trigger' UNION ALL "
        "SELECT name, sql FROM sqlite_temp_master WHERE type = 'trigger') WHERE name NOT IN "
        "('%q_inserted', '%q_deleted', '%q_updated', '%q_moved')",
        shadow->schema, f, f, f, f);
    *is = false;
    while (rc == SQLITE_OK && !*is && sqlite3_step(triggers) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(triggers, 0);
        *is = text && !cuckoo_schema_is_ours(text) && cuckoo_sql_names(text, "into", f);
    }
    return cuckoo_sql_end(triggers, rc);
}
