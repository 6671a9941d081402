/* SPDX-License-Identifier: MIT */
/*
** table_command.c - INSERT INTO seen(seen [, key]) VALUES(command [, argument]).
*/
#include "errors.h"
#include "table.h"
#include "upkeep.h"

static int import(cuckoo_table *table, sqlite3_value *blob, char **message)
{
    return cuckoo_upkeep_import(table->store, blob, message);
}

static int check(cuckoo_table *table, sqlite3_value *unused, char **message)
{
    (void)unused;
    return cuckoo_upkeep_check(table->store, message);
}

static int clear(cuckoo_table *table, sqlite3_value *unused, char **message)
{
    (void)unused, (void)message;
    return cuckoo_store_clear(table->store);
}

static int optimize(cuckoo_table *table, sqlite3_value *unused, char **message)
{
    (void)unused;
    return cuckoo_upkeep_optimize(table->store, message);
}

/* In a trigger the table may be ahead of its triggers: what they tell later would count twice. */
static int rebuild(cuckoo_table *table, sqlite3_value *unused, char **message)
{
    bool is = false;
    (void)unused;
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

/* It is done in the last step of the transaction (drain.h). */
static int drain(cuckoo_table *table, sqlite3_value *unused, char **message)
{
    (void)unused, (void)message;
    table->store->drains = CUCKOO_DRAIN_ASKED;
    return SQLITE_OK;
}

static const struct command {
    const char *name;
    int (*run)(cuckoo_table *table, sqlite3_value *argument, char **message);
    cuckoo_use use;
    bool follows; /* it is also for a filter that follows a table */
} commands[] = {{"check", check, CUCKOO_ASK, true},          {"clear", clear, CUCKOO_CHANGE, false},
                {"drain", drain, CUCKOO_CHANGE, true},       {"import", import, CUCKOO_CHANGE, false},
                {"optimize", optimize, CUCKOO_CHANGE, true}, {"rebuild", rebuild, CUCKOO_REPAIR, true}};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

static int run_if_allowed(cuckoo_table *table, const struct command *command, sqlite3_value *argument,
                          char **message)
{
    if (table->content && !command->follows)
        return cuckoo_say(message, SQLITE_ERROR,
                          "it follows %s(%s), and %s would make it miss rows; use rebuild",
                          table->store->follow.table, table->store->follow.column, command->name);
    return command->run(table, argument, message);
}

static int run_command(cuckoo_table *table, const struct command *command, sqlite3_value *argument)
{
    char *why = NULL;
    int rc = cuckoo_table_begin(table, command->use);
    if (rc != SQLITE_OK)
        return rc;
    rc = cuckoo_store_changed(table->store, run_if_allowed(table, command, argument, &why));
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
    if (which == COMMANDS)
        return unknown_command(table, name);
    return run_command(table, &commands[which], argument);
}
