/* SPDX-License-Identifier: MIT */
#include "front.h"

#include "../keys/column_rule.h"
#include "../keys/key.h"
#include "../sqlite/errors.h"
#include "../sqlite/sql.h"

#include <string.h>

/* ---- the columns of the content ---- */

static void free_columns(cuckoo_front *front)
{
    for (int i = 0; i < front->columns; i++) {
        sqlite3_free(front->column[i].name);
        sqlite3_free(front->column[i].collation);
    }
    sqlite3_free(front->column);
    front->column = NULL;
    front->columns = 0;
}

int cuckoo_front_find(const cuckoo_front *front, const char *name)
{
    int i = 0;
    while (i < front->columns && sqlite3_stricmp(front->column[i].name, name) != 0)
        i++;
    return i < front->columns ? i : CUCKOO_NO_ROWS;
}

/* Adds a column. `primary`: it is in the primary key. */
static int add_column(cuckoo_front *front, const char *name, const char *collation, const char *affinity,
                      bool primary)
{
    enum { STEP = 16 };
    if (front->columns % STEP == 0) {
        cuckoo_shown *more =
            sqlite3_realloc64(front->column, (uint64_t)(front->columns + STEP) * sizeof *more);
        if (more == NULL)
            return SQLITE_NOMEM;
        front->column = more;
    }
    cuckoo_shown *column = &front->column[front->columns++];
    *column = (cuckoo_shown){.name = sqlite3_mprintf("%s", name),
                             .collation = sqlite3_mprintf("%s", collation),
                             .numeric = *affinity && strcmp(affinity, "TEXT") != 0,
                             .text = strcmp(affinity, "TEXT") == 0,
                             .key = primary};
    return column->name && column->collation ? SQLITE_OK : SQLITE_NOMEM;
}

/* Appends a declared type without the word HIDDEN, which would hide the column. */
static void append_type(sqlite3_str *sql, const char *type)
{
    enum { WORD = sizeof "hidden" - 1 };
    for (const char *at = type; *at; at++) {
        bool begins = at == type || at[-1] == ' ';
        if (begins && sqlite3_strnicmp(at, "hidden", WORD) == 0 && (at[WORD] == ' ' || at[WORD] == 0))
            at += WORD - 1;
        else
            sqlite3_str_append(sql, at, 1);
    }
}

/* Reads the columns, and declares them in `sql`. */
static int read_columns(sqlite3 *db, cuckoo_front *front, sqlite3_str *sql)
{
    enum { NAME = 1, TYPE = 2, KEY = 5 /* columns of the list */ };
    sqlite3_stmt *all;
    bool any;
    const char *s = front->schema, *t = front->content, *collation;
    int rc = cuckoo_sql_prepare(db, &all, "PRAGMA \"%w\".table_xinfo(\"%w\")", s, t);
    while (rc == SQLITE_OK && sqlite3_step(all) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(all, NAME),
                   *type = (const char *)sqlite3_column_text(all, TYPE);
        if (name == NULL || type == NULL) {
            rc = SQLITE_NOMEM;
            break;
        }
        rc = cuckoo_column_is_any(db, s, t, type, &any);
        type = any ? "" : type;
        rc = rc ? rc : sqlite3_table_column_metadata(db, s, t, name, NULL, &collation, NULL, NULL, NULL);
        if (rc != SQLITE_OK)
            break;
        const char *affinity = cuckoo_column_affinity(type);
        sqlite3_str_appendf(sql, "\"%w\" ", name);
        append_type(sql, sqlite3_stricmp(type, "hidden") == 0 ? "NUMERIC" : type);
        sqlite3_str_appendf(sql, " COLLATE \"%w\", ", collation);
        rc = add_column(front, name, collation, affinity, sqlite3_column_int(all, KEY) > 0);
    }
    return cuckoo_sql_end(all, rc);
}

/* Finds a name of the rowid, and whether there is one. */
static int read_rowid(sqlite3 *db, cuckoo_front *front)
{
    static const char *const names[] = {"rowid", "_rowid_", "oid", NULL};
    sqlite3_stmt *one;
    int which = 0;
    while (names[which] && cuckoo_front_find(front, names[which]) >= 0)
        which++;
    front->rowid = names[which];
    front->keyed = false;
    if (front->rowid == NULL)
        return SQLITE_OK;
    int rc = cuckoo_sql_prepare(db, &one, "SELECT c.%s FROM \"%w\".\"%w\" AS c", front->rowid,
                                front->schema, front->content);
    sqlite3_finalize(one);
    front->keyed = rc == SQLITE_ERROR;
    if (front->keyed)
        front->rowid = NULL;
    return front->keyed ? SQLITE_OK : rc;
}

/* ---- its indexes ---- */

/* An index of the content that is not partial. */
static int read_index(sqlite3 *db, cuckoo_front *front, const char *name, bool unique)
{
    enum { COLUMN = 1, COLLATION = 4, IN_KEY = 5 /* columns of the list */ };
    sqlite3_stmt *parts;
    int rc = cuckoo_sql_prepare(db, &parts, "PRAGMA \"%w\".index_xinfo(\"%w\")", front->schema, name);
    if (rc == SQLITE_OK && sqlite3_step(parts) == SQLITE_ROW) {
        int i = sqlite3_column_int(parts, COLUMN);
        const char *collation = (const char *)sqlite3_column_text(parts, COLLATION);
        bool serves = i >= 0 && i < front->columns && collation &&
                      sqlite3_stricmp(collation, front->column[i].collation) == 0;
        bool alone = sqlite3_step(parts) != SQLITE_ROW || !sqlite3_column_int(parts, IN_KEY);
        if (serves)
            front->column[i].indexed = true;
        if (serves && unique && alone)
            front->column[i].unique = true;
    }
    return cuckoo_sql_end(parts, rc);
}

/* A primary key that no index keeps is an INTEGER PRIMARY KEY, which is the rowid. */
static int read_indexes(sqlite3 *db, cuckoo_front *front)
{
    enum { NAME = 1, UNIQUE = 2, ORIGIN = 3, PARTIAL = 4 /* columns of the list */ };
    sqlite3_stmt *all;
    bool is_rowid = true;
    int rc =
        cuckoo_sql_prepare(db, &all, "PRAGMA \"%w\".index_list(\"%w\")", front->schema, front->content);
    while (rc == SQLITE_OK && sqlite3_step(all) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(all, NAME),
                   *origin = (const char *)sqlite3_column_text(all, ORIGIN);
        is_rowid &= origin && strcmp(origin, "pk") != 0;
        if (name && !sqlite3_column_int(all, PARTIAL))
            rc = read_index(db, front, name, sqlite3_column_int(all, UNIQUE));
    }
    rc = cuckoo_sql_end(all, rc);
    for (int i = 0; rc == SQLITE_OK && is_rowid && i < front->columns; i++)
        if (front->column[i].key)
            front->column[i].indexed = front->column[i].unique = true;
    return rc;
}

/* ---- declaring ---- */

/* The hidden columns must not have the name of another one. */
static void append_hidden(const cuckoo_front *front, sqlite3_str *sql, const char *name,
                          const char *more)
{
    const char *other = cuckoo_front_find(front, name) >= 0 ? " (hidden)" : "";
    sqlite3_str_appendf(sql, "\"%w%s\" HIDDEN%s", name, other, more);
}

/* Reads all of the content. *declared is to be freed. Without a content there is only the column that
** was followed. */
static int read_content(sqlite3 *db, cuckoo_front *front, const char *table, const char *column,
                        char **declared)
{
    sqlite3_str *sql = sqlite3_str_new(db);
    free_columns(front);
    sqlite3_str_appendall(sql, "CREATE TABLE x(");
    int rc = read_columns(db, front, sql);
    rc = rc ? rc : read_rowid(db, front);
    rc = rc ? rc : read_indexes(db, front);
    if (front->columns == 0)
        sqlite3_str_appendf(sql, "\"%w\", ", column);
    append_hidden(front, sql, table, ", ");
    append_hidden(front, sql, "cuckoo_touch", front->keyed ? ", " : ")");
    if (front->keyed)
        append_hidden(front, sql, "cuckoo_id", " PRIMARY KEY) WITHOUT ROWID");
    front->followed = cuckoo_front_find(front, column);
    if (front->followed < 0 && front->rowid &&
        sqlite3_table_column_metadata(db, front->schema, front->content, column, NULL, NULL, NULL, NULL,
                                      NULL) == SQLITE_OK)
        front->followed = CUCKOO_ROWID;
    *declared = sqlite3_str_finish(sql);
    return rc == SQLITE_OK && *declared == NULL ? SQLITE_NOMEM : rc;
}

static int declare_only(sqlite3 *db, cuckoo_front *front, const char *table, const char *column)
{
    free_columns(front);
    front->rowid = NULL;
    front->keyed = false;
    front->followed = CUCKOO_NO_ROWS;
    sqlite3_free(front->declared);
    bool taken = sqlite3_stricmp(column, table) == 0 || sqlite3_stricmp(column, "cuckoo_touch") == 0;
    front->declared = sqlite3_mprintf("CREATE TABLE x(\"%w%s\", \"%w\" HIDDEN, \"cuckoo_touch\" HIDDEN)",
                                      column, taken ? " (shown)" : "", table);
    return front->declared ? sqlite3_declare_vtab(db, front->declared) : SQLITE_NOMEM;
}

int cuckoo_front_declare(cuckoo_table *table, const char *content, const char *column)
{
    sqlite3 *db = table->registry->db;
    cuckoo_front *front = table->front = sqlite3_malloc64(sizeof *front);
    if (front == NULL)
        return SQLITE_NOMEM;
    *front = (cuckoo_front){.rows = 1000000, .prepared = -1};
    front->schema = sqlite3_mprintf("%s", table->schema);
    front->content = sqlite3_mprintf("%s", content);
    if (front->schema == NULL || front->content == NULL)
        return SQLITE_NOMEM;
    if (cuckoo_shadow_schema(&table->store->paged.shadow, &front->prepared) != SQLITE_OK)
        front->prepared = -1;
    int rc = read_content(db, front, table->name, column, &front->declared);
    rc = rc ? rc : sqlite3_declare_vtab(db, front->declared);
    if (rc == SQLITE_ERROR) /* a collation is missing, say: DROP TABLE has to work all the same */
        rc = declare_only(db, front, table->name, column);
    table->shift = cuckoo_front_columns(front) - 1;
    return rc;
}

int cuckoo_front_result_key(const cuckoo_front *front, const cuckoo_way *plan, sqlite3_stmt *rows,
                            sqlite3_context *context)
{
    sqlite3_str *id = sqlite3_str_new(NULL);
    cuckoo_key kind = CUCKOO_KEY_OK;
    for (int i = 0; i < front->columns && kind != CUCKOO_KEY_NOMEM; i++)
        if (front->column[i].key)
            kind = cuckoo_key_append(id, sqlite3_column_value(rows, plan->place[i]));
    int n = sqlite3_str_length(id);
    char *bytes = sqlite3_str_finish(id);
    if (bytes && kind != CUCKOO_KEY_NOMEM)
        sqlite3_result_blob(context, bytes, n, SQLITE_TRANSIENT);
    else
        sqlite3_result_error_nomem(context);
    sqlite3_free(bytes);
    return SQLITE_OK;
}

void cuckoo_front_free(cuckoo_front *front)
{
    if (front == NULL)
        return;
    free_columns(front);
    for (int i = 0; i < front->plans; i++) {
        sqlite3_finalize(front->plan[i]->idle);
        sqlite3_free(front->plan[i]->text);
        sqlite3_free(front->plan[i]);
    }
    sqlite3_free(front->plan);
    cuckoo_spellings_forget(&front->spellings);
    sqlite3_free(front->schema);
    sqlite3_free(front->content);
    sqlite3_free(front->declared);
    sqlite3_free(front);
}

/* ---- is it as it was? ---- */

/* Indexes may have come or gone. */
static void take_columns(cuckoo_front *front, cuckoo_front *now)
{
    cuckoo_shown *column = front->column;
    front->column = now->column;
    now->column = column;
}

int cuckoo_front_look(cuckoo_table *table)
{
    int prepared;
    char *declared = NULL;
    cuckoo_front *front = table->front;
    sqlite3 *db = table->registry->db;
    /* If this fails, SQLite is about to read the schema anew. */
    if (cuckoo_shadow_schema(&table->store->paged.shadow, &prepared) != SQLITE_OK ||
        (prepared == front->prepared && front->columns > 0))
        return SQLITE_OK;
    cuckoo_front now = {.schema = front->schema, .content = front->content};
    int rc = read_content(db, &now, table->name, table->column, &declared);
    bool same = rc == SQLITE_OK && strcmp(declared, front->declared) == 0 && now.columns > 0;
    if (same) {
        take_columns(front, &now);
        front->prepared = prepared;
    } else if (rc == SQLITE_OK && now.columns == 0) {
        rc = cuckoo_say(&table->base.zErrMsg, SQLITE_ERROR, "no such table: %s.%s", front->schema,
                        front->content);
    } else if (rc == SQLITE_OK) {
        rc = cuckoo_table_fail(table, SQLITE_ERROR,
                               "the columns of %s are not those that this connection has read; run "
                               "PRAGMA writable_schema = RESET, or connect anew",
                               front->content);
    }
    free_columns(&now);
    sqlite3_free(declared);
    return rc;
}
