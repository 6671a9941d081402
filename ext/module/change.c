/* SPDX-License-Identifier: MIT */
/*
** change.c - INSERT and DELETE on the virtual table cuckoo_filter; and its commands: INSERT INTO
** seen(seen [, key]) VALUES(command [, argument]). A synced filter is changed only by its log (drain.c).
*/
#include "../follow/sql_text.h"
#include "../keys/options.h"
#include "../pages/ageing.h"
#include "../sqlite/errors.h"
#include "../sqlite/sql.h"
#include "../table/maintenance.h"
#include "front.h"

#include <string.h>

/* ---- rows ---- */

/* True if a running statement is an INSERT INTO this table ... RETURNING. In a trigger RETURNING belongs
** to another table. The only column of PRAGMA count_changes is named by SQLite. */
static bool returns_rows(sqlite3_stmt *statement, const char *table)
{
    const char *column = sqlite3_stmt_busy(statement) && !sqlite3_stmt_readonly(statement)
                             ? sqlite3_column_name(statement, 0)
                             : NULL;
    const char *sql = column && strcmp(column, "rows inserted") != 0 ? sqlite3_sql(statement) : NULL;
    return sql && cuckoo_sql_names(sql, "into", table);
}

/* SQLite runs RETURNING even for a key that is skipped, and a virtual table cannot prevent that. A
** statement with RETURNING opens a savepoint, or the transaction, so later rows need no second check. */
static int refuse_returning(cuckoo_table *table)
{
    const char *name = table->paged.shadow.table;
    sqlite3_stmt *at = table->returns_nothing ? NULL : sqlite3_next_stmt(table->registry->db, NULL);
    for (; at; at = sqlite3_next_stmt(table->registry->db, at))
        if (returns_rows(at, name))
            return cuckoo_table_fail(table, SQLITE_ERROR,
                                     "RETURNING would also return the keys that OR IGNORE skips; leave "
                                     "it out and use changes(), or first select the new keys by NOT "
                                     "cf_table_contains('%q', key)",
                                     name);
    table->returns_nothing = true;
    return SQLITE_OK;
}

/* INSERT OR IGNORE skips NULL, and a key that is probably there, before anything is changed. */
static int insert_row(cuckoo_table *table, sqlite3_value *key, bool *skips)
{
    uint64_t hash;
    cf_status status = CF_OK;
    bool asks = table->once && sqlite3_vtab_on_conflict(table->registry->db) == SQLITE_IGNORE;
    int rc = asks ? refuse_returning(table) : SQLITE_OK;
    if (rc != SQLITE_OK)
        return rc;
    cuckoo_key kind = cuckoo_key_hash(key, &table->paged.filter.geometry, &hash);
    *skips = asks && kind == CUCKOO_KEY_NULL;
    if (kind != CUCKOO_KEY_OK)
        return kind == CUCKOO_KEY_NOMEM ? SQLITE_NOMEM : SQLITE_OK;
    rc = asks ? cuckoo_table_has(table, hash, skips) : SQLITE_OK;
    if (rc == SQLITE_OK && !*skips)
        rc = cuckoo_table_add(table, hash, cuckoo_key_type(key, &table->paged.filter.geometry), &status);
    if (rc != SQLITE_OK || status == CF_OK)
        return rc;
    char *message = cuckoo_full_message(status, &table->paged.filter);
    /* Not SQLITE_CONSTRAINT, which OR IGNORE would hide. */
    rc = message ? cuckoo_table_fail(table, SQLITE_ERROR, "%s", message) : SQLITE_NOMEM;
    sqlite3_free(message);
    return rc;
}

/* `id` is cuckoo_id, as the cursor returned it. Rows that were only counted have none. */
static int delete_row(cuckoo_table *table, sqlite3_value *id)
{
    if (sqlite3_value_type(id) == SQLITE_INTEGER)
        return cuckoo_table_delete(table, (uint64_t)sqlite3_value_int64(id));
    return cuckoo_table_fail(
        table, SQLITE_ERROR,
        "a filter cannot list its keys, to delete them all; use WHERE key = ..., or "
        "INSERT INTO %s(%s) VALUES('clear')",
        table->paged.shadow.table, table->paged.shadow.table);
}

/* ---- commands ---- */

/* Runs 'rebuild'. In a trigger the table may already have changes that its triggers log later, which
** would count twice. The capacity may be NULL. */
static int rebuild(cuckoo_table *table, sqlite3_value *argument, char **message)
{
    if (table->registry->rebuilds)
        return cuckoo_maintenance_rebuild(table, true, table->registry->capacity, message);
    bool is = false, given = sqlite3_value_numeric_type(argument) != SQLITE_NULL;
    uint64_t capacity;
    int rc = given ? cuckoo_capacity_take(argument, &capacity, message) : SQLITE_OK;
    if (rc != SQLITE_OK)
        return rc;
    rc = cuckoo_follow_is_written_by_triggers(&table->paged.shadow, &is);
    if (!is)
        return rc ? rc : cuckoo_maintenance_rebuild(table, true, given ? &capacity : NULL, message);
    return cuckoo_say(
        message, SQLITE_ERROR,
        "a trigger writes to it, and may run this command when it must not run; use SELECT "
        "cf_table_rebuild('%q')",
        table->paged.shadow.table);
}

enum { ADVANCE, CHECK, CLEAR, CLOCK, DRAIN, IMPORT, OPTIMIZE, REBUILD, COMMANDS };

/* CUCKOO_CHANGE: changes keys, which is an error for a synced filter. CUCKOO_REPAIR also works while the
** filter is not trusted. */
static const struct command {
    const char *name;
    cuckoo_use use;
} commands[COMMANDS] = {
    [ADVANCE] = {"advance", CUCKOO_CHANGE},   [CHECK] = {"check", CUCKOO_INSPECT},
    [CLEAR] = {"clear", CUCKOO_CHANGE},       [CLOCK] = {"clock", CUCKOO_CHANGE},
    [DRAIN] = {"drain", CUCKOO_REPAIR},       [IMPORT] = {"import", CUCKOO_CHANGE},
    [OPTIMIZE] = {"optimize", CUCKOO_REPAIR}, [REBUILD] = {"rebuild", CUCKOO_REPAIR}};

static int run_one(cuckoo_table *table, int which, sqlite3_value *argument, char **message)
{
    if (cuckoo_table_follows(table) && commands[which].use == CUCKOO_CHANGE)
        return cuckoo_say(message, SQLITE_ERROR,
                          "it stays in sync with %s(%s), and %s would make it miss rows; use rebuild",
                          table->follow.table, table->follow.column, commands[which].name);
    return which == ADVANCE    ? cuckoo_maintenance_age(table, cuckoo_ageing_advance, message)
           : which == CLOCK    ? cuckoo_maintenance_age(table, cuckoo_ageing_set_clock, message)
           : which == CHECK    ? cuckoo_maintenance_check(table, message)
           : which == CLEAR    ? cuckoo_maintenance_clear(table)
           : which == DRAIN    ? cuckoo_table_drain(table, false)
           : which == IMPORT   ? cuckoo_maintenance_import(table, argument, message)
           : which == OPTIMIZE ? cuckoo_maintenance_optimize(table)
                               : rebuild(table, argument, message);
}

static int fail_unknown(cuckoo_table *table, const char *name)
{
    sqlite3_str *known = sqlite3_str_new(NULL);
    for (int i = 0; i < COMMANDS; i++)
        sqlite3_str_appendf(known, "%s%s", i ? ", " : "", commands[i].name);
    char *names = sqlite3_str_finish(known);
    int rc =
        names ? cuckoo_table_fail(table, SQLITE_ERROR,
                                  "unknown command '" CUCKOO_PART "'; the commands are %s", name, names)
              : SQLITE_NOMEM;
    sqlite3_free(names);
    return rc;
}

static int run_command(cuckoo_table *table, sqlite3_value *command, sqlite3_value *argument)
{
    const char *name = (const char *)sqlite3_value_text(command);
    char *why = NULL;
    int which = 0;
    if (name == NULL)
        return SQLITE_NOMEM;
    while (which < COMMANDS && sqlite3_stricmp(name, commands[which].name) != 0)
        which++;
    if (which == COMMANDS)
        return fail_unknown(table, name);
    int rc = cuckoo_module_begin(table, commands[which].use);
    if (rc != SQLITE_OK)
        return rc;
    rc = run_one(table, which, argument, &why);
    rc = why ? cuckoo_table_fail(table, rc, "%s", why) : rc;
    sqlite3_free(why);
    return cuckoo_module_end(table, rc);
}

/* ---- dispatch ---- */

static bool is_given(sqlite3_value **columns, enum cuckoo_column column)
{
    return sqlite3_value_type(columns[column]) != SQLITE_NULL;
}

static int change_row(cuckoo_table *table, int argc, sqlite3_value **argv, bool inserts, bool *skips)
{
    const char *name = table->paged.shadow.table;
    const cuckoo_follow *follow = &table->follow;
    if (cuckoo_table_follows(table))
        return cuckoo_table_fail(
            table, SQLITE_ERROR,
            "it stays in sync with %s(%s): change that table, and the filter changes with it",
            follow->table ? follow->table : follow->given_table,
            follow->column ? follow->column : follow->given_column);
    if (inserts)
        return insert_row(table, argv[2 + COLUMN_KEY], skips);
    if (table->once)
        return cuckoo_table_fail(
            table, SQLITE_ERROR,
            "a key that INSERT OR IGNORE has skipped may rely on this one, so DELETE and UPDATE are not "
            "possible; use INSERT INTO %s(%s) VALUES('clear')",
            name, name);
    if (argc == 1)
        return delete_row(table, argv[0]);
    return cuckoo_table_fail(table, SQLITE_ERROR,
                             "UPDATE is refused: a filter keeps no keys that could change; use DELETE "
                             "FROM %s WHERE key = ... and INSERT INTO %s(key) VALUES(...)",
                             name, name);
}

/* A front has no INSERT of rows, so a column of its content with the name of the table takes commands.
** NULL: there is no such column, or it is NULL. */
static sqlite3_value *command_in_content(const cuckoo_table *table, sqlite3_value **shown)
{
    int i = table->front ? cuckoo_front_find(table->front, table->paged.shadow.table) : CUCKOO_NO_ROWS;
    return i >= 0 && sqlite3_value_type(shown[i]) != SQLITE_NULL ? shown[i] : NULL;
}

static int update(cuckoo_table *table, int argc, sqlite3_value **argv, bool *skips)
{
    int shift = table->front && table->front->columns > 0 ? table->front->columns - 1 : 0;
    sqlite3_value **columns = argv + 2 + shift, *other;
    bool inserts = argc > 1 && sqlite3_value_type(argv[0]) == SQLITE_NULL;
    if (inserts && (other = command_in_content(table, argv + 2)) != NULL)
        return run_command(table, other, columns[COLUMN_COMMAND]);
    if (inserts && is_given(columns, COLUMN_COMMAND))
        return run_command(table, columns[COLUMN_COMMAND], columns[COLUMN_KEY]);
    int rc = cuckoo_module_begin(table, cuckoo_table_follows(table) ? CUCKOO_REPAIR : CUCKOO_CHANGE);
    if (rc == SQLITE_OK)
        rc = cuckoo_module_end(table, change_row(table, argc, argv, inserts, skips));
    return rc;
}

/* Where OR IGNORE is supported (vtab.c), SQLITE_CONSTRAINT means that a row was skipped, and it is not
** counted. As the code of a statement on a shadow table it would hide an error. */
int cuckoo_table_update(sqlite3_vtab *base, int argc, sqlite3_value **argv, sqlite3_int64 *rowid)
{
    cuckoo_table *table = cuckoo_table_of(base);
    bool skips = false;
    *rowid = sqlite3_last_insert_rowid(table->registry->db);
    int rc = update(table, argc, argv, &skips);
    if (table->once && (rc & 0xff) == SQLITE_CONSTRAINT)
        rc = cuckoo_table_fail(table, SQLITE_ERROR, "a constraint on its shadow tables is in the way");
    return rc == SQLITE_OK && skips ? SQLITE_CONSTRAINT : rc;
}
