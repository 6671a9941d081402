/*
** registry.c - the persistent filters of a connection, by name.
*/
#include "filter_table.h"

#include <string.h>

cuckoo_registry *cuckoo_registry_new(sqlite3 *db)
{
    cuckoo_registry *registry = sqlite3_malloc64(sizeof *registry);
    if (registry)
        *registry = (cuckoo_registry){.db = db, .references = 1};
    return registry;
}

void cuckoo_registry_release(void *pointer)
{
    cuckoo_registry *registry = pointer;
    if (registry && --registry->references == 0)
        sqlite3_free(registry);
}

cuckoo_table *cuckoo_table_of_id(const cuckoo_registry *registry, uintptr_t id)
{
    cuckoo_table *at = registry->first;
    while (at && at->id != id)
        at = at->next;
    return at;
}

/* Is there a table of this name in the schema? */
static int exists(const cuckoo_registry *registry, const char *schema, const char *name, bool *there)
{
    sqlite3_stmt *statement = NULL;
    char *sql =
        sqlite3_mprintf("SELECT 1 FROM \"%w\".sqlite_master WHERE name = %Q COLLATE NOCASE AND type IN "
                        "('table', 'view')",
                        schema, name);
    int rc = sql ? sqlite3_prepare_v2(registry->db, sql, -1, &statement, NULL) : SQLITE_NOMEM;
    sqlite3_free(sql);
    if (rc == SQLITE_OK) {
        *there = sqlite3_step(statement) == SQLITE_ROW;
        rc = sqlite3_finalize(statement);
    }
    return rc;
}

/* Compiling a statement on a virtual table connects it, and asks it for a plan: so it tells which of the tables of this name is
** SQLite's. There may be others: statements that were compiled before the schema changed keep theirs. */
static cuckoo_table *connect_table(cuckoo_registry *registry, const char *schema, const char *name,
                                   int *rc)
{
    sqlite3_stmt *statement = NULL;
    char *sql = sqlite3_mprintf("SELECT 1 FROM \"%w\".\"%w\" LIMIT 0", schema, name);
    registry->planned = NULL;
    *rc = sql ? sqlite3_prepare_v2(registry->db, sql, -1, &statement, NULL) : SQLITE_NOMEM;
    sqlite3_free(sql);
    sqlite3_finalize(statement);
    cuckoo_table *table = registry->planned;
    bool found = *rc == SQLITE_OK && table && sqlite3_stricmp(table->paged.shadow.table, name) == 0 &&
                 sqlite3_stricmp(table->paged.shadow.schema, schema) == 0;
    return found ? table : NULL;
}

static cuckoo_table *find_in(cuckoo_registry *registry, const char *schema, const char *name, bool *stop,
                             int *rc)
{
    bool there = false;
    *rc = exists(registry, schema, name, &there);
    *stop = there;
    if (*rc != SQLITE_OK || !there)
        return NULL;
    return connect_table(registry, schema, name, rc);
}

/* The name behind "schema.", when it begins so; else NULL. */
static const char *name_in(const char *schema, const char *name)
{
    int n = (int)strlen(schema);
    return sqlite3_strnicmp(name, schema, n) == 0 && name[n] == '.' ? name + n + 1 : NULL;
}

/* Looks in one schema, for a name with or without it. *stop: there is something of this name. */
static cuckoo_table *look_in(cuckoo_registry *registry, const char *schema, const char *name, bool *stop,
                             int *rc)
{
    const char *rest = name_in(schema, name);
    cuckoo_table *table = find_in(registry, schema, name, stop, rc);
    if (table == NULL && !*stop && *rc == SQLITE_OK && rest)
        table = find_in(registry, schema, rest, stop, rc);
    return table;
}

/* As SQLite looks for an unqualified name: temp, main, then the attached ones in order. */
cuckoo_table *cuckoo_table_find(cuckoo_registry *registry, const char *name, int *rc)
{
    bool stop = false;
    cuckoo_table *table = look_in(registry, "temp", name, &stop, rc);
    sqlite3_stmt *schemas = NULL;
    if (stop || *rc != SQLITE_OK)
        return table;
    *rc = sqlite3_prepare_v2(registry->db,
                             "SELECT name FROM pragma_database_list WHERE name <> 'temp' ORDER BY seq",
                             -1, &schemas, NULL);
    while (*rc == SQLITE_OK && !stop && sqlite3_step(schemas) == SQLITE_ROW)
        table = look_in(registry, (const char *)sqlite3_column_text(schemas, 0), name, &stop, rc);
    int rc2 = sqlite3_finalize(schemas);
    *rc = *rc == SQLITE_OK ? rc2 : *rc;
    return table;
}
