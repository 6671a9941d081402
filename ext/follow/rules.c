/* SPDX-License-Identifier: MIT */
#include "rules.h"

#include "../sqlite/sql.h"
#include "follow.h"
#include "sql_text.h"

#include <string.h>

/* What the rules need to know about other triggers. */
typedef struct others {
    const char *schema, *table, *column; /* of the content */
    char *sql;                           /* of the table, if the column is generated; else NULL */
    char *counts; /* the column, the columns it is computed from, and the primary key, each with a NUL */
    const char *end;      /* of `counts` */
    sqlite3_int64 hidden; /* the order of the TEMP table of this name */
    sqlite3_int64 ours;   /* the order of our oldest trigger */
    char *before;         /* a BEFORE trigger on the table that writes; NULL: none */
    char *changes;        /* a trigger that may change a key; NULL: none */
    char *newer;          /* a trigger that breaks rule B; NULL: none */
    bool temporary;       /* `newer` is TEMP */
    bool preceded;        /* some trigger fires after the change of a row and before ours */
} others;

/* One trigger. */
typedef struct other {
    const char *name, *table, *sql;
    int64_t order; /* the newer of two triggers has the higher one */
    bool temporary;
    bool after, inserts;       /* AFTER ..; .. INSERT */
    bool writes, breaks, hits; /* any row; by RAISE(IGNORE) or RAISE(FAIL); a key of the content */
} other;

/* True for our own triggers: they are named cuckoo_4a3f.._inserted, and write to cuckoo_log_4a3f... */
static bool is_ours(const char *name, const char *sql)
{
    enum { DIGITS = 16 };
    static const char opening[] = "cuckoo_", digits[] = "0123456789abcdef",
                      tail[] = "; SELECT RAISE(ABORT, '') WHERE 0; END";
    char log[64];
    const char *at = name + sizeof opening - 1;
    if (strncmp(name, opening, sizeof opening - 1) != 0 || strspn(at, digits) != DIGITS)
        return false;
    sqlite3_snprintf(sizeof log, log, "BEGIN INSERT INTO \"cuckoo_log_%.16s\"", at);
    size_t n = strlen(sql), end = sizeof tail - 1;
    return strstr(sql, log) && n > end && strcmp(sql + n - end, tail) == 0;
}

/* True if a token names a column that counts. A row with the primary key of another one replaces it. */
static bool names_key(const others *all, cuckoo_token token)
{
    bool names = cuckoo_token_is(token, "rowid") || cuckoo_token_is(token, "_rowid_") ||
                 cuckoo_token_is(token, "oid");
    for (const char *at = all->counts; at < all->end && !names; at += strlen(at) + 1)
        names = cuckoo_token_names(token, at);
    return names;
}

/* The state while the text of a trigger is read: its body, or all of it for RAISE. */
typedef struct reading {
    cuckoo_token last, before;                       /* the last token, and the one before it */
    enum { NOTHING, TARGET, UPDATE_TARGET } expects; /* the next name is a table that is written */
    bool sets; /* inside the SET list of an UPDATE of the content */
    int depth; /* of parentheses there */
} reading;

/* Reads a name, or the schema before it, after INTO, DELETE FROM or UPDATE. */
static void read_target(const others *all, other *trigger, reading *at, cuckoo_token token,
                        const char *rest)
{
    bool is_part = cuckoo_token_is(token, "or") || cuckoo_token_is(at->last, "or") ||
                   cuckoo_token_is(token, ".") || cuckoo_token_is(cuckoo_sql_token(&rest), ".");
    if (is_part)
        return;
    bool hit = cuckoo_token_names(token, all->table);
    trigger->hits |= hit && at->expects == TARGET;
    at->sets = hit && at->expects == UPDATE_TARGET;
    at->depth = 0;
    at->expects = NOTHING;
}

/* True if a token after UPDATE and the name of the content is a counting column that is set. */
static bool is_set(const others *all, reading *at, cuckoo_token token)
{
    bool begins = cuckoo_token_is(at->last, "set") || cuckoo_token_is(at->last, ",") ||
                  cuckoo_token_is(at->last, "(");
    at->depth += cuckoo_token_is(token, "(") - cuckoo_token_is(token, ")");
    bool ends = cuckoo_token_is(token, "where") ||
                (cuckoo_token_is(token, "from") && !cuckoo_token_is(at->last, "distinct"));
    at->sets &= !cuckoo_token_is(token, ";") && !(ends && at->depth == 0);
    return begins && names_key(all, token);
}

static void read_token(const others *all, other *trigger, reading *at, cuckoo_token token,
                       const char *rest)
{
    bool into = cuckoo_token_is(token, "into"), update = cuckoo_token_is(token, "update");
    if (at->expects != NOTHING) {
        read_target(all, trigger, at, token, rest);
    } else if (into || (cuckoo_token_is(token, "from") && cuckoo_token_is(at->last, "delete"))) {
        at->expects = TARGET;
    } else if (update && !cuckoo_token_is(at->last, "do")) {
        at->expects = UPDATE_TARGET;
    } else if (at->sets) {
        trigger->hits |= is_set(all, at, token);
    }
    trigger->writes |= into || update || cuckoo_token_is(token, "delete");
}

static bool is_raise(const reading *at, cuckoo_token token)
{
    return cuckoo_token_is(at->last, "(") && cuckoo_token_is(at->before, "raise") &&
           (cuckoo_token_is(token, "ignore") || cuckoo_token_is(token, "fail"));
}

/* SQLite stores CREATE TRIGGER name, and then the original text. A trigger without BEFORE, AFTER or
** INSTEAD is a BEFORE trigger. */
static void read_trigger(const others *all, other *trigger)
{
    const char *sql = trigger->sql;
    reading at = {.expects = NOTHING};
    bool body = false, event = false;
    for (int n = 0;; n++) {
        cuckoo_token token = cuckoo_sql_token(&sql);
        if (token.kind == CUCKOO_TOKEN_END)
            return;
        trigger->breaks |= is_raise(&at, token);
        if (body)
            read_token(all, trigger, &at, token, sql);
        else if (n > 2 && !event) {
            trigger->after |= cuckoo_token_is(token, "after");
            trigger->inserts = cuckoo_token_is(token, "insert");
            event =
                trigger->inserts || cuckoo_token_is(token, "update") || cuckoo_token_is(token, "delete");
        }
        body |= event && cuckoo_token_is(token, "begin");
        at.before = at.last;
        at.last = token;
    }
}

/* True if a trigger is on this table. A TEMP trigger is not if a TEMP table had that name when it was
** created, and it does not name the schema. */
static bool is_on(const others *all, const other *trigger)
{
    return sqlite3_stricmp(trigger->table, all->table) == 0 &&
           (!trigger->temporary || trigger->order < all->hidden ||
            cuckoo_sql_names(trigger->sql, "on", all->schema));
}

static int keep_name(char **kept, const other *trigger)
{
    if (*kept == NULL)
        *kept = sqlite3_mprintf("%s", trigger->name);
    return *kept ? SQLITE_OK : SQLITE_NOMEM;
}

static int judge(others *all, other *trigger)
{
    int rc = SQLITE_OK;
    read_trigger(all, trigger);
    if (trigger->hits)
        rc = keep_name(&all->changes, trigger);
    if (rc != SQLITE_OK || !is_on(all, trigger))
        return rc;
    if (!trigger->after && !trigger->inserts && trigger->writes)
        return keep_name(&all->before, trigger);
    bool first = trigger->after && (trigger->temporary || trigger->order > all->ours);
    all->preceded |= first;
    if (!first || all->newer || !(trigger->writes || trigger->breaks))
        return rc;
    all->temporary = trigger->temporary;
    return keep_name(&all->newer, trigger);
}

static int read_schema(others *all, sqlite3 *db, const char *schema, bool temporary)
{
    sqlite3_stmt *rows;
    int rc =
        cuckoo_sql_prepare(db, &rows,
                           "SELECT name, tbl_name, sql, rowid FROM \"%w\".sqlite_master WHERE type = "
                           "'trigger'",
                           schema);
    while (rc == SQLITE_OK && sqlite3_step(rows) == SQLITE_ROW) {
        other trigger = {.name = (const char *)sqlite3_column_text(rows, 0),
                         .table = (const char *)sqlite3_column_text(rows, 1),
                         .sql = (const char *)sqlite3_column_text(rows, 2),
                         .order = sqlite3_column_int64(rows, 3),
                         .temporary = temporary};
        if (!trigger.name || !trigger.table || !trigger.sql) /* or an authorizer says SQLITE_IGNORE */
            rc = sqlite3_errcode(db) == SQLITE_NOMEM ? SQLITE_NOMEM : SQLITE_AUTH;
        else if (!is_ours(trigger.name, trigger.sql))
            rc = judge(all, &trigger);
    }
    return cuckoo_sql_end(rows, rc);
}

/* True if the key changes with this column. */
static bool makes_key(const others *all, const char *column)
{
    return sqlite3_stricmp(column, all->column) == 0 ||
           (all->sql && cuckoo_sql_computes(all->sql, column));
}

/* Lists the columns that count. */
static int read_columns(sqlite3 *db, others *all)
{
    enum { NAME = 1, KEY = 5, HIDDEN = 6 /* columns; HIDDEN is 2 or 3 if it is generated */ };
    sqlite3_stmt *rows;
    bool generated = false;
    sqlite3_str *counts = sqlite3_str_new(db);
    int rc = cuckoo_sql_prepare(db, &rows, "PRAGMA \"%w\".table_xinfo(\"%w\")", all->schema, all->table);
    while (rc == SQLITE_OK && sqlite3_step(rows) == SQLITE_ROW)
        generated |= sqlite3_column_int(rows, HIDDEN) > 1 &&
                     sqlite3_stricmp((const char *)sqlite3_column_text(rows, NAME), all->column) == 0;
    rc = rc ? rc : sqlite3_reset(rows);
    if (rc == SQLITE_OK && generated)
        rc = cuckoo_sql_text(db, &all->sql,
                             "SELECT sql FROM \"%w\".sqlite_master WHERE type = 'table' AND name = %Q "
                             "COLLATE NOCASE",
                             all->schema, all->table);
    while (rc == SQLITE_OK && sqlite3_step(rows) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(rows, NAME);
        if (name && (sqlite3_column_int(rows, KEY) || makes_key(all, name)))
            sqlite3_str_append(counts, name, (int)strlen(name) + 1);
    }
    int length = sqlite3_str_length(counts);
    sqlite3_str_append(counts, "", 1); /* an empty sqlite3_str has no text */
    all->counts = sqlite3_str_finish(counts);
    all->end = all->counts + length;
    rc = cuckoo_sql_end(rows, rc);
    return rc == SQLITE_OK && all->counts == NULL ? SQLITE_NOMEM : rc;
}

/* Reads all other triggers in the schema of the table and in temp. */
static int read_others(const cuckoo_shadow *shadow, others *all)
{
    sqlite3 *db = shadow->db;
    bool temp = sqlite3_stricmp(shadow->schema, "temp") == 0;
    all->ours = INT64_MAX;
    all->hidden = INT64_MAX;
    /* inserted, deleted, updated */
    int rc = cuckoo_sql_integer(db, &all->ours,
                                "SELECT rowid FROM \"%w\".sqlite_master WHERE name GLOB "
                                "'cuckoo_%016llx_*ted' ORDER BY rowid LIMIT 1",
                                shadow->schema, shadow->log);
    rc = rc ? rc
            : cuckoo_sql_integer(db, &all->hidden,
                                 "SELECT rowid FROM sqlite_temp_master WHERE type IN ('table', 'view') "
                                 "AND name = %Q COLLATE NOCASE",
                                 all->table);
    rc = rc ? rc : read_columns(db, all);
    rc = rc ? rc : read_schema(all, db, shadow->schema, false);
    return rc == SQLITE_OK && !temp ? read_schema(all, db, "temp", true) : rc;
}

static void free_others(others *all)
{
    sqlite3_free(all->sql);
    sqlite3_free(all->counts);
    sqlite3_free(all->before);
    sqlite3_free(all->changes);
    sqlite3_free(all->newer);
}

/* ---- rule A ---- */

/* Sets *acts if a foreign key of a counting column has an action, *self if it refers to this table. */
static int look_at_keys(const others *all, sqlite3 *db, bool *acts, bool *self)
{
    enum { TABLE = 2, FROM = 3, ON_UPDATE = 5, ON_DELETE = 6 /* columns of the list */ };
    sqlite3_stmt *rows;
    int rc =
        cuckoo_sql_prepare(db, &rows, "PRAGMA \"%w\".foreign_key_list(\"%w\")", all->schema, all->table);
    while (rc == SQLITE_OK && sqlite3_step(rows) == SQLITE_ROW) {
        const char *from = (const char *)sqlite3_column_text(rows, FROM);
        bool own = from && makes_key(all, from), counts = false;
        for (const char *at = all->counts; at < all->end; at += strlen(at) + 1)
            counts |= sqlite3_stricmp(from, at) == 0;
        for (int i = ON_UPDATE; counts && i <= ON_DELETE; i++) {
            const char *action = (const char *)sqlite3_column_text(rows, i);
            bool has = action && strcmp(action, "NO ACTION") != 0 && strcmp(action, "RESTRICT") != 0;
            *acts |= has;
            *self |= has && own &&
                     sqlite3_stricmp((const char *)sqlite3_column_text(rows, TABLE), all->table) == 0;
        }
    }
    return cuckoo_sql_end(rows, rc);
}

/* Describes the violation of rule A or, if there is none, of rule B. */
static int say(const others *all, bool acts, bool self, cuckoo_rules *rules)
{
    const char *t = all->table, *k = all->column;
    rules->refuses = self || (all->before && (all->changes || acts));
    if (self)
        rules->why =
            sqlite3_mprintf("%s refers to %s itself with an action (ON DELETE, ON UPDATE), which "
                            "changes keys during a change, so a filter cannot stay in sync",
                            k, t);
    else if (all->before && all->changes)
        rules->why =
            sqlite3_mprintf("the BEFORE trigger %s on %s writes, and the trigger %s may change %s(%s) "
                            "during a change, so a filter cannot stay in sync: make %s an AFTER trigger",
                            all->before, t, all->changes, t, k, all->before);
    else if (all->before && acts)
        rules->why =
            sqlite3_mprintf("the BEFORE trigger %s on %s writes, and a foreign key may change %s during "
                            "a change, so a filter cannot stay in sync: make it an AFTER trigger",
                            all->before, t, k);
    else if (all->newer)
        rules->why =
            sqlite3_mprintf(all->temporary ? "the TEMP trigger %s on %s fires before the filter's "
                                             "triggers, and may skip them for a row: drop it"
                                           : "the trigger %s on %s is newer than the filter's triggers, "
                                             "fires before them, and may skip them for a row",
                            all->newer, t);
    return (rules->refuses || all->newer) && !rules->why ? SQLITE_NOMEM : SQLITE_OK;
}

int cuckoo_rules_look(cuckoo_rules *rules, const cuckoo_shadow *shadow, const char *table,
                      const char *column)
{
    others all = {.schema = shadow->schema, .table = table, .column = column};
    bool acts = false, self = false;
    *rules = (cuckoo_rules){.why = NULL};
    int rc = read_others(shadow, &all);
    rc = rc ? rc : look_at_keys(&all, shadow->db, &acts, &self);
    rc = rc ? rc : say(&all, acts, self, rules);
    rules->preceded = all.preceded;
    free_others(&all);
    return rc;
}
