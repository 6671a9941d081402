/* SPDX-License-Identifier: MIT */
/*
** follow_look.c - can the triggers of a filter table be relied on?
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
    char *want;
    rc = cuckoo_follow_text(follow, shadow, which, f, &want);
    bool same = text == want; /* both are NULL */
    if (text && want)
        same =
            strncmp(text, prefix, sizeof prefix - 1) == 0 && strcmp(text + sizeof prefix - 1, want) == 0;
    if (rc == SQLITE_OK && !same)
        rc = cuckoo_follow_fail(follow, shadow,
                                "its trigger %s_%s on %s(%s) is %s: rows may have changed without it", f,
                                cuckoo_follow_suffixes[which], follow->table, follow->column,
                                text ? "not as it was made" : "missing");
    sqlite3_free(text);
    sqlite3_free(want);
    return rc;
}

/* ---- the log ---- */

static int check_log(cuckoo_follow *follow, cuckoo_shadow *shadow)
{
    static const char *const words[] = {[CUCKOO_LOG_MISSING] = "was dropped",
                                        [CUCKOO_LOG_CHANGED] = "is not as it was made",
                                        [CUCKOO_LOG_WATCHED] =
                                            "has a trigger, which may take rows out: drop it"};
    cuckoo_log_fault fault;
    char log[CUCKOO_LOG_NAME];
    int rc = cuckoo_log_look(shadow, &fault);
    cuckoo_log_name(shadow->log, log);
    return rc != SQLITE_OK || fault == CUCKOO_LOG_SOUND
               ? rc
               : cuckoo_follow_fail(follow, shadow, "its log %s %s", log, words[fault]);
}

/* ---- triggers of others ---- */

/* What is found of them so far. */
typedef struct other_triggers {
    char *name; /* of a harmful one; NULL: none */
    bool temporary, before;
} other_triggers;

static bool changes_rows(const char *sql)
{
    return cuckoo_sql_has_word(sql, "insert") || cuckoo_sql_has_word(sql, "update") ||
           cuckoo_sql_has_word(sql, "delete") || cuckoo_sql_has_word(sql, "replace");
}

/* What a trigger does, behind its first BEGIN. */
static const char *body_of(const char *trigger)
{
    const char *at = trigger;
    while (*at && sqlite3_strnicmp(at, "begin", 5) != 0)
        at++;
    return at;
}

/* May a change that the trigger makes violate a constraint? Only tables that it names matter. */
static int may_violate(const cuckoo_shadow *shadow, const char *trigger, bool *may)
{
    const char *body = body_of(trigger);
    static const char *const words[] = {"unique", "primary", "check",  "not",
                                        "view",   "virtual", "trigger"};
    sqlite3_stmt *all;
    int rc = cuckoo_sql_prepare(shadow->db, &all,
                                "SELECT tbl_name, sql FROM \"%w\".sqlite_master UNION ALL SELECT "
                                "tbl_name, sql FROM sqlite_temp_master",
                                shadow->schema);
    while (rc == SQLITE_OK && !*may && sqlite3_step(all) == SQLITE_ROW) {
        const char *table = (const char *)sqlite3_column_text(all, 0),
                   *sql = (const char *)sqlite3_column_text(all, 1);
        bool named = table && cuckoo_sql_has_word(body, table);
        *may = named && sql == NULL; /* an index that a constraint made */
        for (size_t i = 0; named && !*may && i < sizeof words / sizeof *words; i++)
            *may = strcmp(sql, trigger) != 0 && cuckoo_sql_has_word(sql, words[i]);
    }
    return cuckoo_sql_end(all, rc);
}

/* Can it keep a row for which later triggers do not fire? */
static int is_harmful(const cuckoo_shadow *shadow, const char *sql, bool *is)
{
    *is = cuckoo_sql_has_word(sql, "fail") ||
          (cuckoo_sql_has_word(sql, "raise") && cuckoo_sql_has_word(sql, "ignore"));
    return *is || !changes_rows(sql) ? SQLITE_OK : may_violate(shadow, sql, is);
}

static int look_at_one(const cuckoo_shadow *shadow, sqlite3_stmt *row, bool temporary,
                       other_triggers *found)
{
    const char *name = (const char *)sqlite3_column_text(row, 0),
               *sql = (const char *)sqlite3_column_text(row, 1);
    bool harmful = false, newer = temporary || sqlite3_column_int(row, 2);
    if (!sql || !name || cuckoo_follow_is_ours(sql))
        return SQLITE_OK;
    found->before |= !cuckoo_sql_has_word(sql, "after") || cuckoo_sql_has_word(sql, "before");
    if (!newer || !cuckoo_sql_has_word(sql, "after"))
        return SQLITE_OK;
    int rc = is_harmful(shadow, sql, &harmful);
    if (rc != SQLITE_OK || !harmful)
        return rc;
    found->temporary = temporary;
    found->name = sqlite3_mprintf("%s", name);
    return found->name ? SQLITE_OK : SQLITE_NOMEM;
}

/* Looks through the rows (name, sql, newer than ours) of a statement. Finalizes it. */
static int look_through(const cuckoo_shadow *shadow, sqlite3_stmt *triggers, bool temporary,
                        other_triggers *found)
{
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK && !found->name && sqlite3_step(triggers) == SQLITE_ROW)
        rc = look_at_one(shadow, triggers, temporary, found);
    return cuckoo_sql_end(triggers, rc);
}

/* A TEMP trigger is on this table, unless there is a TEMP table
** of that name, and the trigger does not name the schema. */
static int look_at_temporary(const cuckoo_follow *follow, const cuckoo_shadow *shadow,
                             other_triggers *found)
{
    sqlite3_stmt *triggers;
    int rc = cuckoo_sql_prepare(
        shadow->db, &triggers,
        "SELECT name, sql, 1 FROM sqlite_temp_master WHERE type = 'trigger' AND tbl_name = %Q "
        "COLLATE NOCASE AND (NOT EXISTS (SELECT 1 FROM sqlite_temp_master WHERE type = 'table' "
        "AND name = %Q COLLATE NOCASE) OR instr(sql, %Q) OR %Q = 'temp')",
        follow->table, follow->table, shadow->schema, shadow->schema);
    return rc == SQLITE_OK ? look_through(shadow, triggers, true, found) : rc;
}

static int look_at_others(const cuckoo_follow *follow, const cuckoo_shadow *shadow,
                          other_triggers *found)
{
    sqlite3_stmt *triggers;
    const char *s = shadow->schema, *f = shadow->table;
    int rc = cuckoo_sql_prepare(
        shadow->db, &triggers,
        "SELECT name, sql, rowid > (SELECT min(rowid) FROM \"%w\".sqlite_master WHERE type = "
        "'trigger' AND name IN ('%q_inserted', '%q_deleted', '%q_updated', '%q_moved')) FROM "
        "\"%w\".sqlite_master WHERE type = 'trigger' AND tbl_name = %Q COLLATE NOCASE",
        s, f, f, f, f, s, follow->table);
    return rc == SQLITE_OK ? look_through(shadow, triggers, false, found) : rc;
}

static int blame(cuckoo_follow *follow, const cuckoo_shadow *shadow, const other_triggers *found)
{
    return cuckoo_follow_fail(
        follow, shadow,
        found->temporary ? "the TEMP trigger %s on %s fires before its triggers, and may keep a row "
                           "without them (RAISE or FAIL): drop it"
                         : "the trigger %s on %s is newer than its own, fires before them, and may keep "
                           "a row without them (RAISE or FAIL)",
        found->name, follow->table);
}

static int look_at_triggers(const cuckoo_follow *follow, const cuckoo_shadow *shadow,
                            other_triggers *found)
{
    int rc = look_at_temporary(follow, shadow, found);
    return rc == SQLITE_OK && !found->name ? look_at_others(follow, shadow, found) : rc;
}

static int check_others(cuckoo_follow *follow, const cuckoo_shadow *shadow, const other_triggers *found)
{
    if (found->name)
        return blame(follow, shadow, found);
    if (!found->before || follow->rowid)
        return SQLITE_OK;
    return cuckoo_follow_fail(
        follow, shadow,
        "%s has a BEFORE trigger and no rowid: what such a trigger does to its own "
        "row cannot be followed; drop that trigger",
        follow->table);
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
    rc = cuckoo_shadow_end(watch, rc);
    int prepared = sqlite3_stmt_status(watch, SQLITE_STMTSTATUS_REPREPARE, 0);
    *changed = follow->trust == CUCKOO_UNKNOWN || prepared != follow->prepared;
    follow->prepared = prepared;
    return rc;
}

static bool triggers_are_off(const cuckoo_shadow *shadow)
{
    int on = 1;
    sqlite3_db_config(shadow->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, -1, &on);
    return !on;
}

/* Finds the first fault, if there is one. */
static int check_all(cuckoo_follow *follow, cuckoo_shadow *shadow, const other_triggers *found)
{
    int rc = SQLITE_OK;
    for (int i = 0; rc == SQLITE_OK && follow->fault == NULL && i < CUCKOO_FOLLOWERS; i++)
        rc = check_trigger(follow, shadow, i);
    if (rc == SQLITE_OK && follow->fault == NULL)
        rc = check_log(follow, shadow);
    return rc == SQLITE_OK && follow->fault == NULL ? check_others(follow, shadow, found) : rc;
}

static int look_again(cuckoo_follow *follow, cuckoo_shadow *shadow)
{
    other_triggers found = {NULL, false, false};
    sqlite3_free(follow->fault);
    follow->fault = NULL;
    follow->trust = CUCKOO_UNKNOWN;
    int rc = cuckoo_follow_find(follow, shadow);
    if (rc == SQLITE_OK)
        rc = look_at_triggers(follow, shadow, &found);
    if (rc == SQLITE_OK)
        rc = cuckoo_follow_find_belief(follow, shadow, found.before);
    if (rc == SQLITE_OK)
        rc = check_all(follow, shadow, &found);
    if (rc == SQLITE_OK)
        follow->trust = follow->fault ? CUCKOO_FAULT : CUCKOO_TRIGGERS;
    sqlite3_free(found.name);
    return rc;
}

int cuckoo_follow_look(cuckoo_follow *follow, cuckoo_shadow *shadow)
{
    bool changed;
    int rc = schema_changed(follow, shadow, &changed);
    if (rc == SQLITE_OK && changed)
        rc = look_again(follow, shadow);
    if (rc == SQLITE_OK && follow->fault == NULL && triggers_are_off(shadow)) {
        rc = cuckoo_follow_fail(follow, shadow,
                                "triggers are off in this connection (SQLITE_DBCONFIG_ENABLE_TRIGGER), "
                                "and rows change without it; switch them on");
        follow->trust = CUCKOO_UNKNOWN;
    }
    return rc;
}

int cuckoo_follow_look_quickly(cuckoo_follow *follow, cuckoo_shadow *shadow, unsigned version)
{
    if (follow->trust != CUCKOO_UNKNOWN && follow->version == version &&
        !cuckoo_late_expired(shadow->statement[CUCKOO_WATCH_SCHEMA]))
        return SQLITE_OK;
    follow->version = version;
    return cuckoo_follow_look(follow, shadow);
}
