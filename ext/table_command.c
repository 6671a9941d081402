/*
** table_command.c - INSERT INTO seen(seen [, key]) VALUES(command [, argument]).
*/
#include "filter_table.h"
#include "upkeep.h"

#include <string.h>

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
    (void)unused;
    return cuckoo_upkeep_clear(table->store, message);
}

static int optimize(cuckoo_table *table, sqlite3_value *unused, char **message)
{
    (void)unused;
    return cuckoo_upkeep_optimize(table->store, message);
}

/* In a trigger the table may be ahead of its triggers: what they tell of it later would count twice. */
static int rebuild(cuckoo_table *table, sqlite3_value *unused, char **message)
{
    bool is = false;
    (void)unused;
    int rc = table->registry->rebuilds
                 ? SQLITE_OK
                 : cuckoo_follow_is_written_by_triggers(&table->store->paged.shadow, &is);
    if (rc != SQLITE_OK || !is)
        return rc == SQLITE_OK ? cuckoo_upkeep_rebuild(table->store, message) : rc;
    *message = sqlite3_mprintf("a trigger writes to it, and may run this command when it must not run; "
                               "use SELECT cf_table_rebuild('%q')",
                               table->name);
    return SQLITE_ERROR;
}

static const struct {
    const char *name;
    int (*run)(cuckoo_table *table, sqlite3_value *argument, char **message);
    cuckoo_use use;
    bool follows; /* also for a filter that follows a table */
} commands[] = {{"check", check, CUCKOO_ASK, true},
                {"clear", clear, CUCKOO_CHANGE, false},
                {"import", import, CUCKOO_CHANGE, false},
                {"optimize", optimize, CUCKOO_CHANGE, true},
                {"rebuild", rebuild, CUCKOO_REPAIR, true}};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

static int run(cuckoo_table *table, int which, sqlite3_value *argument)
{
    char *why = NULL;
    int rc = cuckoo_table_begin(table, commands[which].use);
    if (rc != SQLITE_OK)
        return rc;
    rc = cuckoo_store_changed(table->store, commands[which].run(table, argument, &why));
    if (why)
        rc = cuckoo_table_fail(table, rc, sqlite3_mprintf("%s: %s", table->name, why));
    sqlite3_free(why);
    return table->base.zErrMsg ? rc : cuckoo_table_explain(table, rc, "a page cannot be read");
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
        return cuckoo_table_fail(
            table, SQLITE_ERROR,
            sqlite3_mprintf("%s: unknown command %s; there are check, clear, import, optimize, rebuild",
                            table->name, name));
    if (table->content && !commands[which].follows)
        return cuckoo_table_fail(
            table, SQLITE_ERROR,
            sqlite3_mprintf("%s: it follows %s(%s), and %s would make it miss rows; use "
                            "rebuild",
                            table->name, table->content, table->column, name));
    return run(table, which, argument);
}
