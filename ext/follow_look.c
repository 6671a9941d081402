/* SPDX-License-Identifier: MIT */
/*
** follow_look.c - can the triggers of a persistent filter be relied on?
*/
#include "follow.h"

#include "errors.h"
#include "late.h"
#include "sql.h"
#include "sql_text.h"
#include "statements.h"

#include <stdarg.h>
#include <string.h>

int cuckoo_follow_fail(cuckoo_follow *follow, const cuckoo_shadow *shadow, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *what = sqlite3_vmprintf(format, arguments);
    va_end(arguments);
    int rc = what ? cuckoo_say(&follow->fault, SQLITE_OK,
                               "%s; SELECT cf_table_rebuild('%q.%q') makes its triggers anew and reads "
                               "the table again",
                               what, shadow->schema, shadow->table)
                  : SQLITE_NOMEM;
    sqlite3_free(what);
    return rc;
}

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
    if (text) /* then its table is there, too */
        rc = cuckoo_follow_text(follow, shadow, which, f, &want);
    bool same = text && want && strncmp(text, prefix, sizeof prefix - 1) == 0 &&
                strcmp(text + sizeof prefix - 1, want) == 0;
    if (rc == SQLITE_OK && !same)
        rc = cuckoo_follow_fail(follow, shadow,
                                "its trigger %s_%s on %s(%s) is %s: rows may have changed without it", f,
                                cuckoo_follow_suffixes[which], follow->table, follow->column,
                                text ? "not as it was made" : "missing");
    sqlite3_free(text);
    sqlite3_free(want);
    return rc;
}

/* ---- triggers of others ---- */

/* A trigger that fires after the change of a row but before ours: a TEMP one, or a newer one. */
typedef struct earlier_trigger {
    char *name; /* NULL: none */
    bool harmful, temporary;
} earlier_trigger;

static bool is_harmful(const char *sql)
{
    return cuckoo_sql_has_word(sql, "fail") ||
           (cuckoo_sql_has_word(sql, "raise") && cuckoo_sql_has_word(sql, "ignore"));
}

/* Looks through the rows (name, sql) of a statement for a
** harmful trigger, or else for any. Finalizes the statement. */
static int look_through(sqlite3_stmt *triggers, bool temporary, earlier_trigger *found)
{
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK && !found->harmful && sqlite3_step(triggers) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(triggers, 0),
                   *sql = (const char *)sqlite3_column_text(triggers, 1);
        bool harmful = sql && is_harmful(sql);
        if (!sql || !name || !cuckoo_sql_has_word(sql, "after") || cuckoo_follow_is_ours(sql) ||
            (found->name && !harmful))
            continue;
        sqlite3_free(found->name);
        *found = (earlier_trigger){sqlite3_mprintf("%s", name), harmful, temporary};
        rc = found->name ? SQLITE_OK : SQLITE_NOMEM;
    }
    return cuckoo_sql_end(triggers, rc);
}

/* A TEMP trigger is on this table, unless there is a TEMP table
** of that name, and the trigger does not name the schema. */
static int look_for_temporary(const cuckoo_follow *follow, const cuckoo_shadow *shadow,
                              earlier_trigger *found)
{
    sqlite3_stmt *triggers;
    int rc = cuckoo_sql_prepare(
        shadow->db, &triggers,
        "SELECT name, sql FROM sqlite_temp_master WHERE type = 'trigger' AND tbl_name = %Q "
        "COLLATE NOCASE AND (NOT EXISTS (SELECT 1 FROM sqlite_temp_master WHERE type = 'table' "
        "AND name = %Q COLLATE NOCASE) OR instr(sql, %Q) OR %Q = 'temp')",
        follow->table, follow->table, shadow->schema, shadow->schema);
    return rc == SQLITE_OK ? look_through(triggers, true, found) : rc;
}

static int look_for_newer(const cuckoo_follow *follow, const cuckoo_shadow *shadow,
                          earlier_trigger *found)
{
    sqlite3_stmt *triggers;
    const char *s = shadow->schema, *f = shadow->table;
    int rc = cuckoo_sql_prepare(
        shadow->db, &triggers,
        "SELECT name, sql FROM \"%w\".sqlite_master WHERE type = 'trigger' AND tbl_name = %Q "
        "COLLATE NOCASE AND rowid > (SELECT min(rowid) FROM \"%w\".sqlite_master WHERE type = "
        "'trigger' AND name IN ('%q_inserted', '%q_deleted', '%q_updated'))",
        s, follow->table, s, f, f, f);
    return rc == SQLITE_OK ? look_through(triggers, false, found) : rc;
}

/* Does anything in the schema say FAIL: a trigger that an
** earlier one may set off, or the constraint of a table? */
static int something_fails(const cuckoo_shadow *shadow, bool *fails)
{
    sqlite3_stmt *all;
    int rc = cuckoo_sql_prepare(
        shadow->db, &all,
        "SELECT sql FROM \"%w\".sqlite_master UNION ALL SELECT sql FROM sqlite_temp_master",
        shadow->schema);
    *fails = false;
    while (rc == SQLITE_OK && !*fails && sqlite3_step(all) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(all, 0);
        *fails = text && cuckoo_sql_has_word(text, "fail");
    }
    return cuckoo_sql_end(all, rc);
}

static int blame(cuckoo_follow *follow, const cuckoo_shadow *shadow, const earlier_trigger *trigger)
{
    return cuckoo_follow_fail(
        follow, shadow,
        trigger->temporary ? "the TEMP trigger %s on %s fires before its triggers, and may keep a "
                             "row without them (RAISE or FAIL): drop it"
                           : "the trigger %s on %s is newer than its own, fires before them, and "
                             "may keep a row without them (RAISE or FAIL)",
        trigger->name, follow->table);
}

static int check_others(cuckoo_follow *follow, cuckoo_shadow *shadow)
{
    earlier_trigger found = {NULL, false, false};
    int rc = look_for_temporary(follow, shadow, &found);
    if (rc == SQLITE_OK && !found.harmful)
        rc = look_for_newer(follow, shadow, &found);
    follow->newer = found.name != NULL;
    if (rc == SQLITE_OK && follow->newer && !found.harmful)
        rc = something_fails(shadow, &found.harmful);
    if (rc == SQLITE_OK && found.harmful)
        rc = blame(follow, shadow, &found);
    sqlite3_free(found.name);
    return rc;
}

/* ---- looking ---- */

/* Has the kept statement been prepared anew? */
static int schema_changed(cuckoo_follow *follow, cuckoo_shadow *shadow, bool *changed)
{
    sqlite3_stmt *watch;
    int rc = cuckoo_shadow_query(shadow, CUCKOO_WATCH_SCHEMA, NULL, &watch);
    if (rc != SQLITE_OK)
        return rc;
    sqlite3_step(watch);
    rc = cuckoo_shadow_end(shadow, watch, rc);
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
    sqlite3_free(follow->fault);
    follow->fault = NULL;
    cuckoo_follow_end_row(follow);
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
        rc = cuckoo_follow_fail(follow, shadow,
                                "triggers are off in this connection (SQLITE_DBCONFIG_ENABLE_TRIGGER), "
                                "and rows change without it; switch them on");
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

int cuckoo_follow_look_at_statement(cuckoo_follow *follow, cuckoo_shadow *shadow, bool *refuse)
{
    *refuse = false;
    int rc = cuckoo_follow_look(follow, shadow);
    follow->current = rc == SQLITE_OK && follow->looked;
    if (rc != SQLITE_OK || follow->fault || !follow->newer)
        return rc;
    sqlite3_stmt *at = NULL;
    while (!*refuse && (at = cuckoo_statements_next(shadow->db, at)) != NULL)
        *refuse = sqlite3_sql(at) && cuckoo_sql_has_word(sqlite3_sql(at), "fail");
    if (!*refuse)
        return rc;
    follow->looked = false;
    return cuckoo_follow_fail(follow, shadow,
                              "a trigger on %s is newer than its own, and OR FAIL may keep a row for "
                              "which only that one has fired",
                              follow->table);
}
