/*
** follow_look.c - can the triggers of a persistent filter be relied on?
*/
#include "follow.h"
#include "late.h"

#include <string.h>

#define REMEDY "; SELECT cf_table_rebuild('%q.%q') makes its triggers anew and reads the table again"

/* ---- the triggers themselves ---- */

/* Trigger `which` must be as it was made. */
static int check_trigger(cuckoo_follow *follow, cuckoo_shadow *shadow, int which)
{
    static const char prefix[] = "CREATE TRIGGER ";
    char *text;
    int rc = cuckoo_follow_read(shadow, "sql", which, &text);
    if (rc != SQLITE_OK)
        return rc;
    const char *f = shadow->table;
    char *want = NULL;
    if (text) /* then there is its table */
        rc = cuckoo_follow_text(follow, shadow, which, f, &want);
    bool same = text && want && strncmp(text, prefix, sizeof prefix - 1) == 0 &&
                strcmp(text + sizeof prefix - 1, want) == 0;
    if (rc == SQLITE_OK && !same)
        rc = cuckoo_follow_fail(
            follow,
            sqlite3_mprintf("its trigger %s_%s on %s(%s) is %s: rows may have changed without it" REMEDY,
                            f, cuckoo_follow_suffixes[which], follow->table, follow->column,
                            text ? "not as it was made" : "missing", shadow->schema, f));
    sqlite3_free(text);
    sqlite3_free(want);
    return rc;
}

/* ---- triggers of others ---- */

/* Triggers that fire before ours, once the row has changed: TEMP ones, and those that are newer. Those of other filters do
** no harm. */
#define FIRES_BEFORE                                                                                    \
    "WITH before(name, sql, temporary) AS (SELECT name, sql, 1 FROM sqlite_temp_master WHERE type = "   \
    "'trigger' AND tbl_name = %Q COLLATE NOCASE UNION ALL SELECT name, sql, 0 FROM "                    \
    "\"%w\".sqlite_master "                                                                             \
    "WHERE type = 'trigger' AND tbl_name = %Q COLLATE NOCASE AND rowid > (SELECT min(rowid) FROM "      \
    "\"%w\".sqlite_master WHERE type = 'trigger' AND name IN ('%q_inserted', '%q_deleted', "            \
    "'%q_updated'))), harmful(name) AS (SELECT name FROM before WHERE sql LIKE '%%fail%%' OR sql LIKE " \
    "'%%raise%%ignore%%' UNION ALL SELECT name FROM before WHERE EXISTS (SELECT 1 FROM "                \
    "\"%w\".sqlite_master WHERE type = 'trigger' AND sql LIKE '%%fail%%') OR EXISTS (SELECT 1 FROM "    \
    "sqlite_temp_master WHERE type = 'trigger' AND sql LIKE '%%fail%%')) "

/* The name of a trigger among them, by a condition on `before`; NULL: none. */
static int find_before(const cuckoo_follow *follow, const cuckoo_shadow *shadow, const char *condition,
                       char **name)
{
    const char *s = shadow->schema, *f = shadow->table, *t = follow->table;
    char *with = sqlite3_mprintf(FIRES_BEFORE, t, s, t, s, f, f, f, s);
    char *sql =
        with ? sqlite3_mprintf("%s SELECT name FROM before WHERE sql LIKE '%%after%%' AND sql NOT "
                               "LIKE '%%cuckoo_change%%' AND %s LIMIT 1",
                               with, condition)
             : NULL;
    sqlite3_free(with);
    return cuckoo_shadow_text(shadow, sql, name);
}

static int check_others(cuckoo_follow *follow, cuckoo_shadow *shadow)
{
    char *name, *temporary = NULL;
    int rc = find_before(follow, shadow, "1", &name);
    follow->newer = name != NULL;
    sqlite3_free(name);
    if (rc != SQLITE_OK || !follow->newer)
        return rc;
    rc = find_before(follow, shadow, "name IN (SELECT name FROM harmful)", &name);
    if (rc == SQLITE_OK && name)
        rc = find_before(follow, shadow, "temporary AND name IN (SELECT name FROM harmful)", &temporary);
    if (rc == SQLITE_OK && temporary)
        rc = cuckoo_follow_fail(
            follow,
            sqlite3_mprintf(
                "the TEMP trigger %s on %s fires before its triggers, and may keep a row "
                "without them (RAISE or OR FAIL); drop it, then SELECT cf_table_rebuild('%q.%q')",
                temporary, follow->table, shadow->schema, shadow->table));
    else if (rc == SQLITE_OK && name)
        rc = cuckoo_follow_fail(
            follow,
            sqlite3_mprintf("the trigger %s on %s is newer than its own, fires before them, and may "
                            "keep a row without them (RAISE or OR FAIL)" REMEDY,
                            name, follow->table, shadow->schema, shadow->table));
    sqlite3_free(name);
    sqlite3_free(temporary);
    return rc;
}

/* ---- looking ---- */

/* Has the kept statement been prepared anew? */
static int schema_changed(cuckoo_follow *follow, cuckoo_shadow *shadow, bool *changed)
{
    sqlite3_stmt *watch;
    int rc = cuckoo_shadow_query(shadow, CUCKOO_WATCH_SCHEMA, &watch);
    if (rc != SQLITE_OK)
        return rc;
    sqlite3_step(watch);
    rc = cuckoo_shadow_end(shadow, watch);
    int prepared = sqlite3_stmt_status(watch, SQLITE_STMTSTATUS_REPREPARE, 0);
    *changed = !follow->looked || prepared != follow->prepared;
    follow->prepared = prepared;
    return rc;
}

static bool triggers_are_off(const cuckoo_shadow *shadow)
{
    int on = 1;
    sqlite3_db_config(shadow->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, -1, &on);
    return !on;
}

static int look_again(cuckoo_follow *follow, cuckoo_shadow *shadow)
{
    cuckoo_follow_fail(follow, NULL);
    sqlite3_finalize(follow->row);
    follow->row = NULL;
    int rc = cuckoo_follow_find(follow, shadow);
    for (int i = 0; rc == SQLITE_OK && follow->fault == NULL && i < CUCKOO_TRIGGERS; i++)
        rc = check_trigger(follow, shadow, i);
    if (rc == SQLITE_OK && follow->fault == NULL)
        rc = check_others(follow, shadow);
    follow->looked = rc == SQLITE_OK;
    follow->sampled = follow->ruled = false;
    return rc;
}

int cuckoo_follow_look(cuckoo_follow *follow, cuckoo_shadow *shadow)
{
    bool changed;
    int rc = schema_changed(follow, shadow, &changed);
    if (rc == SQLITE_OK && changed)
        rc = look_again(follow, shadow);
    if (rc == SQLITE_OK && follow->fault == NULL && triggers_are_off(shadow)) {
        follow->looked = false;
        rc = cuckoo_follow_fail(
            follow,
            sqlite3_mprintf("triggers are off in this connection (SQLITE_DBCONFIG_ENABLE_TRIGGER), and "
                            "rows change without it; switch them on" REMEDY,
                            shadow->schema, shadow->table));
    }
    return rc;
}

int cuckoo_follow_look_quickly(cuckoo_follow *follow, cuckoo_shadow *shadow, unsigned version)
{
    if (follow->looked && follow->version == version &&
        !cuckoo_late_expired(shadow->statement[CUCKOO_WATCH_SCHEMA]))
        return SQLITE_OK;
    follow->version = version;
    return cuckoo_follow_look(follow, shadow);
}

/* ---- statements ---- */

/* The next statement that runs and writes, after `at`. */
static sqlite3_stmt *next_writer(const cuckoo_shadow *shadow, sqlite3_stmt *at)
{
    do
        at = sqlite3_next_stmt(shadow->db, at);
    while (at && (!sqlite3_stmt_busy(at) || sqlite3_stmt_readonly(at)));
    return at;
}

bool cuckoo_follow_writing(const cuckoo_shadow *shadow)
{
    return next_writer(shadow, NULL) != NULL;
}

static bool says_fail(const char *sql)
{
    for (; sql && *sql; sql++)
        if (sqlite3_strnicmp(sql, "fail", 4) == 0)
            return true;
    return false;
}

int cuckoo_follow_look_at_statement(cuckoo_follow *follow, cuckoo_shadow *shadow, bool *refuse)
{
    *refuse = false;
    int rc = cuckoo_follow_look(follow, shadow);
    if (rc != SQLITE_OK || follow->fault || !follow->newer)
        return rc;
    for (sqlite3_stmt *at = next_writer(shadow, NULL); at && !*refuse; at = next_writer(shadow, at))
        *refuse = says_fail(sqlite3_sql(at));
    if (!*refuse)
        return rc;
    follow->looked = false;
    return cuckoo_follow_fail(
        follow,
        sqlite3_mprintf("a trigger on %s is newer than its own, and OR FAIL may keep a row for which "
                        "only that one has fired" REMEDY,
                        follow->table, shadow->schema, shadow->table));
}

int cuckoo_follow_keys(const cuckoo_follow *follow, const cuckoo_shadow *shadow, int most,
                       sqlite3_stmt **keys)
{
    static const char *const orders[] = {"ORDER BY c.rowid", "ORDER BY c.rowid DESC", ""};
    const char *s = shadow->schema, *t = follow->table, *k = follow->column;
    int rc = SQLITE_ERROR;
    /* Tables without rowid have neither first nor last rows. */
    for (int i = most < 0 ? 2 : 0; rc == SQLITE_ERROR && i < 3; i += 2) {
        char *sql =
            i == 0 ? sqlite3_mprintf(
                         "SELECT * FROM (SELECT c.\"%w\" FROM \"%w\".\"%w\" AS c %s LIMIT %d) UNION "
                         "ALL SELECT * FROM (SELECT c.\"%w\" FROM \"%w\".\"%w\" AS c %s LIMIT %d)",
                         k, s, t, orders[0], most, k, s, t, orders[1], most)
                   : sqlite3_mprintf("SELECT c.\"%w\" FROM \"%w\".\"%w\" AS c LIMIT %d", k, s, t, most);
        rc = sql ? sqlite3_prepare_v2(shadow->db, sql, -1, keys, NULL) : SQLITE_NOMEM;
        sqlite3_free(sql);
    }
    return rc;
}

/* ---- triggers that write to the filter ---- */

static bool is_name_char(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' ||
           c == '$' || (c & 0x80);
}

static const char *skip_blanks(const char *at)
{
    while (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r')
        at++;
    return at;
}

/* The end of the name at `at`, quoted or not; *same: it is this one. */
static const char *read_name(const char *at, const char *name, bool *same)
{
    int n = (int)strlen(name);
    bool quoted = *at && strchr("\"'`[", *at);
    at += quoted;
    *same = sqlite3_strnicmp(at, name, n) == 0 && !is_name_char(at[n]);
    while (*at && (quoted ? !strchr("\"'`]", *at) : is_name_char(*at)))
        at++;
    return *at && quoted ? at + 1 : at;
}

/* Does it say INTO this table? What cannot be read, a comment for one, is taken for a yes. */
static bool writes_into(const char *sql, const char *name)
{
    for (; *sql; sql++) {
        bool same;
        if (sqlite3_strnicmp(sql, "into", 4) != 0 || is_name_char(sql[4]))
            continue;
        const char *at = skip_blanks(sql + 4);
        if (*at == '/' || *at == '-')
            return true;
        at = skip_blanks(read_name(at, name, &same));
        if (*at == '.')
            read_name(skip_blanks(at + 1), name, &same);
        if (same)
            return true;
    }
    return false;
}

int cuckoo_follow_is_written_by_triggers(const cuckoo_shadow *shadow, bool *is)
{
    sqlite3_stmt *triggers = NULL;
    char *sql = sqlite3_mprintf(
        "SELECT sql FROM \"%w\".sqlite_master WHERE type = 'trigger' AND sql NOT LIKE "
        "'%%cuckoo_change%%' UNION ALL SELECT sql FROM sqlite_temp_master WHERE type = 'trigger' "
        "AND sql NOT LIKE '%%cuckoo_change%%'",
        shadow->schema);
    int rc = sql ? sqlite3_prepare_v2(shadow->db, sql, -1, &triggers, NULL) : SQLITE_NOMEM;
    sqlite3_free(sql);
    *is = false;
    while (rc == SQLITE_OK && !*is && sqlite3_step(triggers) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(triggers, 0);
        *is = text && writes_into(text, shadow->table);
    }
    int rc2 = sqlite3_finalize(triggers);
    return rc == SQLITE_OK ? rc2 : rc;
}
