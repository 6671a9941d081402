/* SPDX-License-Identifier: MIT */
/*
** trigger_check.c - can the triggers of a filter table be relied on?
*/
#include "follow.h"

#include "../keys/column_rule.h"
#include "../sqlite/errors.h"
#include "../sqlite/sql.h"
#include "schema.h"
#include "sql_text.h"

#include <stdarg.h>
#include <string.h>

int cuckoo_follow_fail(cuckoo_follow *follow, const cuckoo_shadow *shadow, const char *format, ...)
{
    va_list arguments;
    char *other = NULL;
    va_start(arguments, format);
    const char *schema = shadow->schema, *name = shadow->table, *t = follow->table, *k = follow->column;
    bool gone = sqlite3_table_column_metadata(shadow->db, schema, t, k, NULL, NULL, NULL, NULL, NULL) ==
                SQLITE_ERROR; /* then triggers cannot be made */
    gone |= cuckoo_column_table(shadow->db, schema, t, &other) == SQLITE_ERROR;
    char *what = other  ? sqlite3_mprintf("the followed table %s(%s) is gone (%s)", t, k, other)
                 : gone ? sqlite3_mprintf("the followed table %s(%s) is gone", t, k)
                        : sqlite3_vmprintf(format, arguments);
    va_end(arguments);
    sqlite3_free(other);
    int rc =
        what
            ? cuckoo_say(
                  &follow->fault, SQLITE_OK,
                  gone
                      ? "%s: create it and SELECT cf_table_rebuild('%q.%q'), or DROP TABLE \"%w\".\"%w\""
                      : "%s; SELECT cf_table_rebuild('%q.%q') makes its triggers anew and reads "
                        "the table again",
                  what, schema, name, schema, name)
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
    bool same = text && want ? strncmp(text, prefix, sizeof prefix - 1) == 0 &&
                                   strcmp(text + sizeof prefix - 1, want) == 0
                             : text == want;
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

/* Is it a trigger of others on this table? A TEMP trigger is, unless there is a TEMP table
** of that name, and the trigger does not name the schema. */
static bool is_on(const cuckoo_schema *all, const cuckoo_object *trigger, const cuckoo_shadow *shadow,
                  const char *table)
{
    if (trigger->body == NULL || trigger->ours)
        return false;
    if (sqlite3_stricmp(trigger->table, table) != 0 || !trigger->temporary ||
        sqlite3_stricmp(shadow->schema, "temp") == 0)
        return sqlite3_stricmp(trigger->table, table) == 0;
    bool another = false;
    for (int i = 0; !another && i < all->n; i++)
        another = all->object[i].temporary && all->object[i].body == NULL &&
                  sqlite3_stricmp(all->object[i].table, table) == 0;
    return !another || cuckoo_sql_names(trigger->sql, "on", shadow->schema);
}

/* The number of that trigger of the filter which was made first. */
static int64_t oldest_of_ours(const cuckoo_schema *all, const cuckoo_shadow *shadow)
{
    int64_t oldest = INT64_MAX;
    for (int i = 0; i < all->n; i++) {
        const cuckoo_object *object = &all->object[i];
        if (object->ours && object->order < oldest && !object->temporary &&
            cuckoo_log_in(object->sql) == shadow->log)
            oldest = object->order;
    }
    return oldest;
}

/* Does the trigger change any row? */
static bool writes(const cuckoo_object *trigger)
{
    return cuckoo_sql_says(trigger->body, "into") || cuckoo_sql_says(trigger->body, "update") ||
           cuckoo_sql_says(trigger->body, "delete");
}

/* The trigger fires before ours. May it keep the row and skip ours: by what it says itself, by what it
** sets off, or when the statement says OR FAIL? */
static bool is_harmful(cuckoo_schema *all, const cuckoo_object *trigger)
{
    enum { FAILS = CUCKOO_SQL_OR_FAIL | CUCKOO_SQL_FAILS };
    return trigger->breaks != 0 ||
           (writes(trigger) &&
            (cuckoo_schema_reach(all, trigger->body) & FAILS || cuckoo_schema_may_fail(all, trigger)));
}

static int blame(cuckoo_follow *follow, const cuckoo_shadow *shadow, const cuckoo_object *trigger)
{
    follow->sample = CUCKOO_ALL_ROWS; /* rows may have been kept without ours until it has gone */
    return cuckoo_follow_fail(
        follow, shadow,
        trigger->temporary ? "the TEMP trigger %s on %s fires before its triggers, and may keep a "
                             "row without them (RAISE or FAIL): drop it"
                           : "the trigger %s on %s is newer than its own, fires before them, and "
                             "may keep a row without them (RAISE or FAIL)",
        trigger->name, follow->table);
}

/* Does it fire after the change of a row, but before ours? */
static bool fires_first(const cuckoo_object *trigger, int64_t ours)
{
    return trigger->after && (trigger->temporary || trigger->order > ours);
}

static bool in_name(char c)
{
    return c != '$' && cuckoo_sql_is_name_char(c);
}

/* Is the name a word of the text, be it in a text that a function runs? */
static bool mentions(const char *text, const char *name)
{
    int length = (int)strlen(name);
    bool is = false;
    for (const char *at = text; *at && !is; at++)
        is = sqlite3_strnicmp(at, name, length) == 0 && !in_name(at[length]) &&
             (at == text || !in_name(at[-1]));
    return is;
}

/* May SQL that names this one change rows of the other table? */
static bool leads_to(cuckoo_schema *all, const char *name, const char *table)
{
    char *changes = sqlite3_mprintf("INTO \"%w\" UPDATE DELETE", name);
    if (changes == NULL)
        return true;
    bool leads = cuckoo_schema_may_change(all, changes, table);
    sqlite3_free(changes);
    return leads;
}

/* May this body of a trigger change rows of the table, be it by SQL that a function runs? */
static bool may_change(cuckoo_schema *all, const char *body, const char *table)
{
    bool may = cuckoo_schema_may_change(all, body, table);
    for (int i = 0; i < all->n && !may; i++)
        may = all->object[i].body == NULL && mentions(body, all->object[i].name) &&
              leads_to(all, all->object[i].name, table);
    return may;
}

/* May such a trigger change rows of the table? No, if SQL that a function runs may make others lie. */
static bool is_nested(cuckoo_schema *all, const cuckoo_shadow *shadow, const char *table)
{
    int64_t ours = oldest_of_ours(all, shadow);
    bool is = false;
    for (int i = 0; i < all->n && table; i++) {
        const cuckoo_object *object = &all->object[i];
        if (!is_on(all, object, shadow, table))
            continue;
        if (object->early && may_change(all, object->body, table))
            return false;
        is |= fires_first(object, ours) && may_change(all, object->body, table);
    }
    return is;
}

/* Looks at the triggers that fire after the change of a row but before ours: TEMP ones, and newer
** ones. Where old values may lie, the first `old` of a row in the log counts (log_net.h): then none of
** them may change rows of the table before ours has written its step. */
static int check_others(cuckoo_follow *follow, const cuckoo_shadow *shadow, cuckoo_schema *all,
                        bool lies)
{
    int64_t ours = oldest_of_ours(all, shadow);
    bool before = false;
    for (int i = 0; i < all->n; i++) {
        const cuckoo_object *object = &all->object[i];
        if (!is_on(all, object, shadow, follow->table))
            continue;
        before |= !object->after;
        follow->preceded |= fires_first(object, ours);
        if (fires_first(object, ours) &&
            (is_harmful(all, object) || (lies && may_change(all, object->body, follow->table))))
            return blame(follow, shadow, object);
    }
    if (!before || follow->rowid || !lies)
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
    int prepared, rc = cuckoo_shadow_schema(shadow, &prepared);
    if (rc != SQLITE_OK)
        return rc;
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

/* Finds the first fault, if there is one. `lies`: old values may lie. */
static int check_all(cuckoo_follow *follow, cuckoo_shadow *shadow, cuckoo_schema *all, bool lies)
{
    int rc = SQLITE_OK;
    for (int i = 0; rc == SQLITE_OK && follow->fault == NULL && i < CUCKOO_FOLLOWERS; i++)
        rc = check_trigger(follow, shadow, i);
    if (rc == SQLITE_OK && follow->fault == NULL)
        rc = check_log(follow, shadow);
    return rc == SQLITE_OK && follow->fault == NULL ? check_others(follow, shadow, all, lies) : rc;
}

static int look_again(cuckoo_follow *follow, cuckoo_shadow *shadow)
{
    cuckoo_schema all;
    sqlite3_free(follow->fault);
    follow->fault = NULL;
    follow->trust = CUCKOO_UNKNOWN;
    follow->preceded = false;
    int rc = cuckoo_schema_read(shadow->db, shadow->schema, &all);
    rc = rc ? rc : cuckoo_follow_find(follow, shadow);
    bool lies = rc == SQLITE_OK && cuckoo_schema_may_lie(&all, follow->table);
    rc = rc ? rc
            : cuckoo_follow_find_belief(follow, shadow, lies, is_nested(&all, shadow, follow->table));
    rc = rc ? rc : check_all(follow, shadow, &all, lies);
    if (rc == SQLITE_OK)
        follow->trust = follow->fault ? CUCKOO_FAULT : CUCKOO_TRIGGERS;
    cuckoo_schema_free(&all);
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
