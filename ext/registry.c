/*
** registry.c - the persistent filters of a connection, by name.
*/
#include "registry.h"

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

static bool is_named(const cuckoo_store *store, const char *schema, const char *name)
{
    return !store->dead && sqlite3_stricmp(store->paged.shadow.table, name) == 0 &&
           sqlite3_stricmp(store->paged.shadow.schema, schema) == 0;
}

static cuckoo_store *store_named(const cuckoo_registry *registry, const char *schema, const char *name)
{
    cuckoo_store *at = registry->first;
    while (at && !is_named(at, schema, name))
        at = at->next;
    return at;
}

static int make_store(cuckoo_registry *registry, const char *schema, const char *name,
                      cuckoo_store **store)
{
    int rc = cuckoo_store_new(registry->db, schema, name, store);
    if (*store == NULL)
        return rc;
    (*store)->id = ++registry->last_id;
    (*store)->next = registry->first;
    registry->first = *store;
    return rc;
}

int cuckoo_registry_take(cuckoo_registry *registry, const char *schema, const char *name, bool fresh,
                         cuckoo_store **store, bool *made)
{
    *store = store_named(registry, schema, name);
    for (; fresh && *store; *store = store_named(registry, schema, name))
        (*store)->dead = true;
    *made = *store == NULL;
    if (*made)
        return make_store(registry, schema, name, store);
    (*store)->references++;
    cuckoo_store_doubt(*store); /* the name may be that of another table now */
    return SQLITE_OK;
}

void cuckoo_registry_give(cuckoo_registry *registry, cuckoo_store *store)
{
    if (--store->references > 0)
        return;
    cuckoo_store **at = &registry->first;
    while (*at != store)
        at = &(*at)->next;
    *at = store->next;
    cuckoo_store_free(store);
}

cuckoo_store *cuckoo_registry_of_id(const cuckoo_registry *registry, uintptr_t id)
{
    cuckoo_store *at = registry->first;
    while (at && (at->id != id || at->dead))
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
static cuckoo_store *connect_table(cuckoo_registry *registry, const char *schema, const char *name,
                                   int *rc)
{
    sqlite3_stmt *statement = NULL;
    char *sql = sqlite3_mprintf("SELECT 1 FROM \"%w\".\"%w\" LIMIT 0", schema, name);
    registry->planned = NULL;
    *rc = sql ? sqlite3_prepare_v2(registry->db, sql, -1, &statement, NULL) : SQLITE_NOMEM;
    sqlite3_free(sql);
    sqlite3_finalize(statement);
    cuckoo_store *store = registry->planned;
    return *rc == SQLITE_OK && store && is_named(store, schema, name) ? store : NULL;
}

static cuckoo_store *find_in(cuckoo_registry *registry, const char *schema, const char *name, bool *stop,
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
static cuckoo_store *look_in(cuckoo_registry *registry, const char *schema, const char *name, bool *stop,
                             int *rc)
{
    const char *rest = name_in(schema, name);
    cuckoo_store *store = find_in(registry, schema, name, stop, rc);
    if (store == NULL && !*stop && *rc == SQLITE_OK && rest)
        store = find_in(registry, schema, rest, stop, rc);
    return store;
}

/* As SQLite looks for an unqualified name: temp, main, then the attached ones in order. */
cuckoo_store *cuckoo_registry_find(cuckoo_registry *registry, const char *name, int *rc)
{
    bool stop = false;
    cuckoo_store *store = look_in(registry, "temp", name, &stop, rc);
    sqlite3_stmt *schemas = NULL;
    if (stop || *rc != SQLITE_OK)
        return store;
    /* The statement, not the table-valued function: SQLite before 3.54 may keep a freed schema for that one. */
    *rc = sqlite3_prepare_v2(registry->db, "PRAGMA database_list", -1, &schemas, NULL);
    while (*rc == SQLITE_OK && !stop && sqlite3_step(schemas) == SQLITE_ROW) {
        const char *schema = (const char *)sqlite3_column_text(schemas, 1);
        if (schema && sqlite3_stricmp(schema, "temp") != 0)
            store = look_in(registry, schema, name, &stop, rc);
    }
    int rc2 = sqlite3_finalize(schemas);
    *rc = *rc == SQLITE_OK ? rc2 : *rc;
    return store;
}
