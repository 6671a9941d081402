/* SPDX-License-Identifier: MIT */
/*
** table_command.c - INSERT INTO seen(seen [, key]) VALUES(command [, argument]).
*/
#include "errors.h"
#include "nearest.h"
#include "table.h"
#include "upkeep.h"

/* In a trigger the table may be ahead of its triggers: what they tell later would count twice. */
static int rebuild(cuckoo_table *table, char **message)
{
    bool is = false;
    int rc = table->registry->rebuilds
                 ? SQLITE_OK
                 : cuckoo_follow_is_written_by_triggers(&table->store->paged.shadow, &is);
    if (rc != SQLITE_OK || !is)
        return rc == SQLITE_OK ? cuckoo_upkeep_rebuild(table->store, message) : rc;
    return cuckoo_say(
        message, SQLITE_ERROR,
        "a trigger writes to it, and may run this command when it must not run; use SELECT "
        "cf_table_rebuild('%q')",
        table->name);
}

enum { CHECK, CLEAR, DRAIN, IMPORT, OPTIMIZE, REBUILD, COMMANDS };

static const struct command {
    const char *name;
    cuckoo_use use;
    bool follows; /* it is also for a filter that follows a table */
} commands[COMMANDS] = {
    [CHECK] = {"check", CUCKOO_ASK, true},          [CLEAR] = {"clear", CUCKOO_CHANGE, false},
    [DRAIN] = {"drain", CUCKOO_CHANGE, true},       [IMPORT] = {"import", CUCKOO_CHANGE, false},
    [OPTIMIZE] = {"optimize", CUCKOO_CHANGE, true}, [REBUILD] = {"rebuild", CUCKOO_REPAIR, true}};

static int run(cuckoo_table *table, int which, sqlite3_value *argument, char **message)
{
    cuckoo_store *store = table->store;
    switch (which) {
    case CHECK:
        return cuckoo_upkeep_check(store, message);
    case CLEAR:
        return cuckoo_store_clear(store);
    case DRAIN:
        store->drains = CUCKOO_DRAIN_ASKED; /* in the last step of the transaction (transaction.c) */
        return SQLITE_OK;
    case IMPORT:
        return cuckoo_upkeep_import(store, argument, message);
    case OPTIMIZE:
        return cuckoo_upkeep_optimize(store);
    default:
        return rebuild(table, message);
    }
}

static int run_if_allowed(cuckoo_table *table, int which, sqlite3_value *argument, char **message)
{
    if (table->content == NULL || commands[which].follows)
        return run(table, which, argument, message);
    return cuckoo_say(message, SQLITE_ERROR,
                      "it follows %s(%s), and %s would make it miss rows; use rebuild",
                      table->store->follow.table, table->store->follow.column, commands[which].name);
}

static int run_command(cuckoo_table *table, int which, sqlite3_value *argument)
{
    char *why = NULL;
    int rc = cuckoo_table_begin(table, commands[which].use);
    if (rc != SQLITE_OK)
        return rc;
    rc = cuckoo_store_changed(table->store, run_if_allowed(table, which, argument, &why));
    rc = why ? cuckoo_table_fail(table, rc, "%s", why)
             : cuckoo_table_explain(table, rc, cuckoo_store_damage(table->store));
    sqlite3_free(why);
    return rc;
}

static int unknown_command(cuckoo_table *table, const char *name)
{
    cuckoo_nearest nearest = {.word = name};
    for (int i = 0; i < COMMANDS; i++)
        cuckoo_nearest_offer(&nearest, commands[i].name);
    return cuckoo_table_fail(
        table, SQLITE_ERROR,
        "unknown command %s%s; there are check, clear, drain, import, optimize, rebuild", name,
        cuckoo_nearest_hint(&nearest));
}

int cuckoo_table_command(cuckoo_table *table, sqlite3_value *command, sqlite3_value *argument)
{
    const char *name = (const char *)sqlite3_value_text(command);
    int which = 0;
    if (name == NULL)
        return SQLITE_NOMEM;
    while (which < COMMANDS && sqlite3_stricmp(name, commands[which].name) != 0)
        which++;
    return which < COMMANDS ? run_command(table, which, argument) : unknown_command(table, name);
}
