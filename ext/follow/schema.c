/* SPDX-License-Identifier: MIT */
#include "schema.h"

#include "../sqlite/sql.h"
#include "sql_text.h"

#include <string.h>

/* ---- one trigger ---- */

/* The text behind this word; "": there is none. */
static const char *behind(const char *sql, const char *word)
{
    cuckoo_token token;
    do
        token = cuckoo_sql_token(&sql);
    while (token.kind != CUCKOO_TOKEN_END && !cuckoo_token_is(token, word));
    return sql;
}

#define OPENING " INSERT INTO \"cuckoo_log_"

/* Does the text go on with these tokens? "*" is any token. *sql is then behind them. */
static bool goes_on(const char **sql, const char *tokens)
{
    bool does = true;
    cuckoo_token want = cuckoo_sql_token(&tokens);
    for (; does && want.kind != CUCKOO_TOKEN_END; want = cuckoo_sql_token(&tokens)) {
        cuckoo_token token = cuckoo_sql_token(sql);
        does = *want.at == '*' ? token.kind != CUCKOO_TOKEN_END
                               : token.kind == want.kind && token.n == want.n &&
                                     sqlite3_strnicmp(token.at, want.at, (int)want.n) == 0;
    }
    return does;
}

/* Ours are: CREATE TRIGGER name AFTER event ON table WHEN .. BEGIN INSERT INTO "cuckoo_log_.." ..;
** SELECT RAISE(ABORT, '') WHERE 0; END (follow.c). Before the log they were: .. BEGIN INSERT INTO
** name(cuckoo_change, .. ) ..; END. */
bool cuckoo_schema_is_ours(const char *sql)
{
    if (!goes_on(&sql, "create trigger * after * on *"))
        return false;
    const char *body = behind(sql, "begin"), *end = behind(body, ";");
    bool logs = strncmp(body, OPENING, sizeof OPENING - 1) == 0;
    if (!logs && (!goes_on(&body, "insert into * (cuckoo_change") || cuckoo_sql_says(body, "raise") ||
                  cuckoo_sql_says(body, "select")))
        return false;
    return goes_on(&end, logs ? "select raise(abort, *) where 0; end" : "end") &&
           cuckoo_sql_token(&end).kind == CUCKOO_TOKEN_END;
}

/* Reads what stands behind CREATE TRIGGER name, where SQLite keeps nothing else in front of it.
** REPLACE deletes other rows in the midst of a change. */
static void read_timing(cuckoo_object *trigger)
{
    const char *rest = behind(trigger->sql, "trigger");
    cuckoo_sql_token(&rest);
    cuckoo_token token = cuckoo_sql_token(&rest);
    trigger->after = cuckoo_token_is(token, "after");
    while (cuckoo_token_is(token, "before") || cuckoo_token_is(token, "after") ||
           cuckoo_token_is(token, "instead") || cuckoo_token_is(token, "of"))
        token = cuckoo_sql_token(&rest);
    trigger->event = cuckoo_token_is(token, "insert")   ? CUCKOO_INSERT
                     : cuckoo_token_is(token, "update") ? CUCKOO_UPDATE
                                                        : CUCKOO_DELETE;
    trigger->early = !trigger->after || trigger->event == CUCKOO_DELETE;
}

/* ---- reading ---- */

static int append(cuckoo_schema *all, sqlite3_stmt *row, bool temporary)
{
    enum { STEP = 64 };
    if (all->n % STEP == 0) {
        cuckoo_object *more =
            sqlite3_realloc64(all->object, (uint64_t)(all->n + STEP) * sizeof *all->object);
        if (more == NULL)
            return SQLITE_NOMEM;
        all->object = more;
    }
    cuckoo_object *object = &all->object[all->n++];
    *object = (cuckoo_object){.name = sqlite3_mprintf("%s", sqlite3_column_text(row, 0)),
                              .table = sqlite3_mprintf("%s", sqlite3_column_text(row, 1)),
                              .sql = sqlite3_mprintf("%s", sqlite3_column_text(row, 2)),
                              .order = sqlite3_column_int64(row, 3),
                              .temporary = temporary};
    if (!object->name || !object->table || !object->sql)
        return SQLITE_NOMEM;
    object->breaks = cuckoo_sql_breaks(object->sql);
    if (sqlite3_column_int(row, 4)) {
        object->body = behind(object->sql, "begin");
        object->ours = cuckoo_schema_is_ours(object->sql);
        read_timing(object);
    }
    return SQLITE_OK;
}

/* Indexes of unique keys that are not part of the text of their table. */
static int read_indexes(sqlite3 *db, const char *schema, cuckoo_schema *all)
{
    sqlite3_stmt *rows;
    int rc = cuckoo_sql_prepare(db, &rows,
                                "SELECT tbl_name FROM \"%w\".sqlite_master WHERE type = 'index' AND sql "
                                "GLOB 'CREATE UNIQUE *'",
                                schema);
    while (rc == SQLITE_OK && sqlite3_step(rows) == SQLITE_ROW)
        for (int i = 0; i < all->n; i++)
            all->object[i].indexed |=
                all->object[i].body == NULL &&
                sqlite3_stricmp(all->object[i].table, (const char *)sqlite3_column_text(rows, 0)) == 0;
    return cuckoo_sql_end(rows, rc);
}

static int read_one(sqlite3 *db, const char *schema, cuckoo_schema *all)
{
    sqlite3_stmt *rows;
    bool temporary = sqlite3_stricmp(schema, "temp") == 0;
    int rc =
        cuckoo_sql_prepare(db, &rows,
                           "SELECT name, tbl_name, sql, rowid, type = 'trigger' FROM "
                           "\"%w\".sqlite_master WHERE type IN ('table', 'trigger') AND sql NOT NULL "
                           "AND name NOT GLOB 'cuckoo_log_*" CUCKOO_TOUCH_SUFFIX "'",
                           schema);
    while (rc == SQLITE_OK && sqlite3_step(rows) == SQLITE_ROW)
        rc = append(all, rows, temporary);
    rc = cuckoo_sql_end(rows, rc);
    return rc == SQLITE_OK ? read_indexes(db, schema, all) : rc;
}

static bool has_trigger_of_others(const cuckoo_schema *all)
{
    int i = 0;
    while (i < all->n && (all->object[i].body == NULL || all->object[i].ours))
        i++;
    return i < all->n;
}

int cuckoo_schema_read(sqlite3 *db, const char *schema, cuckoo_schema *all)
{
    sqlite3_stmt *schemas = NULL;
    sqlite3_int64 recursive = 0;
    *all = (cuckoo_schema){.object = NULL};
    int rc = cuckoo_sql_integer(db, &recursive, "PRAGMA recursive_triggers");
    all->replaces = recursive != 0;
    rc = rc ? rc : read_one(db, "temp", all);
    bool others = has_trigger_of_others(all);
    if (rc == SQLITE_OK && sqlite3_stricmp(schema, "temp") != 0)
        rc = read_one(db, schema, all);
    if (rc == SQLITE_OK && others)
        rc = cuckoo_sql_prepare(db, &schemas, "PRAGMA database_list");
    while (rc == SQLITE_OK && others && sqlite3_step(schemas) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(schemas, 1);
        if (name && sqlite3_stricmp(name, schema) != 0 && sqlite3_stricmp(name, "temp") != 0)
            rc = read_one(db, name, all);
    }
    return cuckoo_sql_end(schemas, rc);
}

void cuckoo_schema_free(cuckoo_schema *all)
{
    for (int i = 0; i < all->n; i++) {
        sqlite3_free(all->object[i].name);
        sqlite3_free(all->object[i].table);
        sqlite3_free(all->object[i].sql);
    }
    sqlite3_free(all->object);
    *all = (cuckoo_schema){.object = NULL};
}

/* ---- what a statement reaches ---- */

/* May this SQL, which names the table of the trigger, set it off? */
static bool sets_off(const cuckoo_schema *all, const char *sql, const cuckoo_object *trigger)
{
    bool replaces = all->replaces && (cuckoo_sql_says(sql, "into") || cuckoo_sql_says(sql, "update"));
    return trigger->event == CUCKOO_INSERT   ? cuckoo_sql_says(sql, "into")
           : trigger->event == CUCKOO_UPDATE ? cuckoo_sql_says(sql, "update")
                                             : cuckoo_sql_says(sql, "delete") || replaces;
}

/* Marks what this SQL names. */
static void mark_named(cuckoo_schema *all, const char *sql)
{
    bool deletes = all->replaces || cuckoo_sql_says(sql, "update") || cuckoo_sql_says(sql, "delete");
    for (int i = 0; i < all->n; i++) {
        cuckoo_object *to = &all->object[i];
        if ((to->reached && (to->body || to->keyed)) || !cuckoo_sql_names(sql, NULL, to->table))
            continue;
        to->keyed |= to->body == NULL && deletes;
        to->reached |= to->body == NULL || sets_off(all, sql, to);
    }
}

/* Marks what deletes and updates of this table reach by foreign keys. */
static void mark_keyed(cuckoo_schema *all, const cuckoo_object *table)
{
    for (int i = 0; i < all->n; i++) {
        cuckoo_object *to = &all->object[i];
        if (to->body)
            to->reached |= sqlite3_stricmp(table->table, to->table) == 0 && to->event != CUCKOO_INSERT;
        else if (!to->keyed && cuckoo_sql_names(to->sql, "references", table->table))
            to->reached = to->keyed = true;
    }
}

/* Does what has not been done yet for a marked object. */
static bool go_on(cuckoo_schema *all, cuckoo_object *from)
{
    bool todo = from->reached && (from->body || from->keyed) && !from->followed;
    from->followed |= todo;
    if (todo && from->body)
        mark_named(all, from->body);
    else if (todo)
        mark_keyed(all, from);
    return todo;
}

unsigned cuckoo_schema_reach(cuckoo_schema *all, const char *sql)
{
    unsigned breaks = cuckoo_sql_breaks(sql);
    for (int i = 0; i < all->n; i++)
        all->object[i].reached = all->object[i].keyed = all->object[i].followed = false;
    mark_named(all, sql);
    for (bool more = true; more;) {
        more = false;
        for (int i = 0; i < all->n; i++)
            more |= go_on(all, &all->object[i]);
    }
    for (int i = 0; i < all->n; i++)
        breaks |= all->object[i].reached ? all->object[i].breaks : 0;
    return breaks;
}

bool cuckoo_schema_may_change(cuckoo_schema *all, const char *sql, const char *table)
{
    bool does = false;
    cuckoo_schema_reach(all, sql);
    for (int i = 0; !does && i < all->n; i++)
        does = all->object[i].reached && sqlite3_stricmp(all->object[i].table, table) == 0;
    return does;
}

/* ---- old values ---- */

/* May the trigger change rows of the table, and fires it in the midst of a change of another one? */
static bool is_in_the_way(cuckoo_schema *all, const cuckoo_object *trigger, const char *table)
{
    if (trigger->ours || sqlite3_stricmp(trigger->table, table) != 0 || !trigger->early)
        return false;
    return cuckoo_schema_may_change(all, trigger->body, table);
}

/* A trigger, or the action of a foreign key, must run between reading and writing, and change rows of
** the table. */
bool cuckoo_schema_may_lie(cuckoo_schema *all, const char *table)
{
    bool lies = false, acts = false, changes = false;
    for (int i = 0; i < all->n && !lies; i++) {
        const cuckoo_object *object = &all->object[i];
        if (object->body) {
            lies = is_in_the_way(all, object, table);
            changes |= !object->ours && cuckoo_sql_names(object->body, NULL, table);
        } else {
            acts |= cuckoo_sql_names(object->sql, "references", table);
            changes |=
                sqlite3_stricmp(object->table, table) == 0 && cuckoo_sql_says(object->sql, "references");
        }
    }
    return lies || (acts && changes);
}
