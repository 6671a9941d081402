/* SPDX-License-Identifier: MIT */
/*
** trigger_check.c - decides whether the triggers of a filter table can be trusted (follow.h).
*/
#include "follow.h"

#include "../keys/column_rule.h"
#include "../sqlite/errors.h"
#include "../sqlite/sql.h"
#include "rules.h"

#include <stdarg.h>
#include <string.h>

int cuckoo_follow_fail(cuckoo_follow *follow, const cuckoo_shadow *shadow, const char *format, ...)
{
    va_list arguments;
    char *other = NULL;
    const char *schema = shadow->schema, *name = shadow->table, *t = follow->table, *k = follow->column;
    int column = cuckoo_column_look(shadow->db, schema, t, k, NULL, NULL);
    int table = cuckoo_column_table(shadow->db, schema, t, &other);
    int first = cuckoo_sql_rolls_back(column) ? column : table;
    if (cuckoo_sql_rolls_back(first)) { /* the transaction may have been rolled back */
        sqlite3_free(other);
        return first;
    }
    bool gone = column == SQLITE_ERROR || table == SQLITE_ERROR; /* then triggers cannot be created */
    va_start(arguments, format);
    char *what = other  ? sqlite3_mprintf("the content table %s(%s) is gone (%s)", t, k, other)
                 : gone ? sqlite3_mprintf("the content table %s(%s) is gone", t, k)
                        : sqlite3_vmprintf(format, arguments);
    va_end(arguments);
    sqlite3_free(other);
    int rc =
        what
            ? cuckoo_say(
                  &follow->fault, SQLITE_OK,
                  gone
                      ? "%s: create it and SELECT cf_table_rebuild('%q.%q'), or DROP TABLE \"%w\".\"%w\""
                      : "%s; SELECT cf_table_rebuild('%q.%q') recreates its triggers and reads the "
                        "table again",
                  what, schema, name, schema, name)
            : SQLITE_NOMEM;
    follow->trust = rc == SQLITE_OK ? CUCKOO_FAULT : CUCKOO_UNKNOWN;
    sqlite3_free(what);
    return rc;
}

/* ---- the triggers themselves ---- */

/* The name in content= now names something other than the table with the triggers, t(k). */
static int fail_moved(cuckoo_follow *follow, const cuckoo_shadow *shadow, const char *t, const char *k)
{
    const char *schema = shadow->schema, *name = shadow->table;
    char *remedy = NULL;
    int rc = cuckoo_column_look(shadow->db, schema, follow->table, follow->column, NULL, NULL);
    if (cuckoo_sql_rolls_back(rc))
        return rc;
    remedy = rc == SQLITE_OK ? sqlite3_mprintf("SELECT cf_table_rebuild('%q.%q') moves it to %s(%s)",
                                               schema, name, follow->table, follow->column)
                             : sqlite3_mprintf("rename %s, which is not a table with a column %s",
                                               follow->table, follow->column);
    rc = remedy
             ? cuckoo_say(&follow->fault, SQLITE_OK,
                          "content='%q(%q)' now names another table, view or column than the one with "
                          "its triggers, %s(%s): %s; or DROP TABLE \"%w\".\"%w\", and create it with "
                          "content='%q(%q)'",
                          follow->given_table, follow->given_column, t, k, remedy, schema, name, t, k)
             : SQLITE_NOMEM;
    sqlite3_free(remedy);
    follow->trust = rc == SQLITE_OK ? CUCKOO_FAULT : CUCKOO_UNKNOWN;
    return rc;
}

/* The trigger is not as it was created. It may be on another table or column. */
static int fail_changed(cuckoo_follow *follow, const cuckoo_shadow *shadow, int which, const char *text)
{
    char *table = NULL, *column = NULL;
    int rc = cuckoo_follow_read(shadow, "tbl_name", which, &table);
    if (rc == SQLITE_OK)
        column = cuckoo_follow_column(text, which, &rc);
    if (rc == SQLITE_OK && table && column &&
        (sqlite3_stricmp(table, follow->table) != 0 || sqlite3_stricmp(column, follow->column) != 0))
        rc = fail_moved(follow, shadow, table, column);
    sqlite3_free(table);
    sqlite3_free(column);
    return rc;
}

/* Checks that trigger `which` is as it was created. */
static int check_trigger(cuckoo_follow *follow, const cuckoo_shadow *shadow, int which)
{
    char *text;
    int rc = cuckoo_follow_read(shadow, "sql", which, &text);
    if (rc != SQLITE_OK)
        return rc;
    char *want = cuckoo_follow_text(follow, shadow, which);
    rc = want ? SQLITE_OK : SQLITE_NOMEM;
    bool same = rc == SQLITE_OK && text && strcmp(text, want) == 0;
    if (rc == SQLITE_OK && text && !same)
        rc = fail_changed(follow, shadow, which, text);
    if (rc == SQLITE_OK && !same && follow->fault == NULL)
        rc = cuckoo_follow_fail(follow, shadow,
                                "its trigger " CUCKOO_TRIGGER
                                " on %s(%s) is %s: rows may have changed without it",
                                shadow->log, cuckoo_trigger_events[which], follow->table, follow->column,
                                text ? "not as it was created" : "missing");
    sqlite3_free(text);
    sqlite3_free(want);
    return rc;
}

/* ---- the log ---- */

static int check_log(cuckoo_follow *follow, const cuckoo_shadow *shadow)
{
    char *watcher;
    cuckoo_log_fault fault;
    int rc = cuckoo_log_look(shadow, &fault, &watcher);
    if (fault == CUCKOO_LOG_WATCHED) { /* rows may be removed until the trigger is dropped */
        follow->lossy = true;
        follow->sample = CUCKOO_ALL_ROWS;
        rc = cuckoo_follow_fail(follow, shadow,
                                "the %s on its log " CUCKOO_LOG " may remove rows: drop it", watcher,
                                shadow->log);
    } else if (rc == SQLITE_OK && fault != CUCKOO_LOG_SOUND) {
        rc =
            cuckoo_follow_fail(follow, shadow, "its log " CUCKOO_LOG " %s", shadow->log,
                               fault == CUCKOO_LOG_MISSING ? "was dropped" : "is not as it was created");
    }
    sqlite3_free(watcher);
    return rc;
}

/* ---- other triggers ---- */

int cuckoo_follow_refuse(const cuckoo_follow *follow, const cuckoo_shadow *shadow, char **message)
{
    cuckoo_rules rules;
    int rc = cuckoo_rules_look(&rules, shadow, follow->table, follow->column);
    if (rc == SQLITE_OK && rules.refuses)
        rc = cuckoo_say(message, SQLITE_ERROR, "%s", rules.why);
    sqlite3_free(rules.why);
    return rc;
}

static int check_others(cuckoo_follow *follow, const cuckoo_shadow *shadow)
{
    cuckoo_rules rules;
    int rc = cuckoo_rules_look(&rules, shadow, follow->table, follow->column);
    follow->preceded = rules.preceded;
    follow->lossy = rules.why != NULL;
    if (rules.why) {
        follow->sample = CUCKOO_ALL_ROWS; /* rows may change without our triggers until it is dropped */
        rc = cuckoo_follow_fail(follow, shadow, "%s", rules.why);
    }
    sqlite3_free(rules.why);
    return rc;
}

/* ---- checking ---- */

static bool triggers_are_off(const cuckoo_shadow *shadow)
{
    int on = 1;
    sqlite3_db_config(shadow->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, -1, &on);
    return !on;
}

/* Finds the first fault, if there is one. */
static int check_all(cuckoo_follow *follow, cuckoo_shadow *shadow)
{
    int rc = SQLITE_OK;
    for (int i = 0; rc == SQLITE_OK && follow->fault == NULL && i < CUCKOO_FOLLOWERS; i++)
        rc = check_trigger(follow, shadow, i);
    if (rc == SQLITE_OK && follow->fault == NULL)
        rc = check_log(follow, shadow);
    if (rc == SQLITE_OK && follow->fault == NULL)
        rc = check_others(follow, shadow);
    if (rc == SQLITE_OK && follow->fault == NULL)
        follow->trust = CUCKOO_TRIGGERS;
    return rc;
}

static int look_again(cuckoo_follow *follow, cuckoo_shadow *shadow)
{
    sqlite3_free(follow->fault);
    follow->fault = NULL;
    follow->trust = CUCKOO_UNKNOWN;
    follow->preceded = follow->lossy = false;
    cuckoo_content_close(&follow->content);
    int rc = cuckoo_follow_find(follow, shadow);
    return rc ? rc : check_all(follow, shadow);
}

int cuckoo_follow_look(cuckoo_follow *follow, cuckoo_shadow *shadow)
{
    int prepared, rc = cuckoo_shadow_schema(shadow, &prepared);
    if (rc != SQLITE_OK)
        return rc;
    if (follow->trust == CUCKOO_UNKNOWN || prepared != follow->prepared) {
        follow->prepared = prepared;
        rc = look_again(follow, shadow);
    }
    if (rc == SQLITE_OK && follow->fault == NULL && triggers_are_off(shadow)) {
        rc = cuckoo_follow_fail(follow, shadow,
                                "triggers are off in this connection (SQLITE_DBCONFIG_ENABLE_TRIGGER), "
                                "so it would miss changes; turn them on");
        follow->trust = CUCKOO_UNKNOWN;
        follow->sample = CUCKOO_ALL_ROWS; /* when they are on again */
    }
    return rc;
}
