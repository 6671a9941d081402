/*
** filter_vtab.c - the methods of the virtual table cuckoo_filter.
**
** Its columns: key, without affinity; value, when the filter keeps values; and hidden, of the name of the table, for
** commands. A row is a key that was asked for and is perhaps there, once, however many copies there are; its rowid is the
** hash of the key, by which DELETE finds it again. Keys cannot be listed: without "key =" only count(*) works.
*/
#include "errors.h"
#include "filter_cursor.h"
#include "filter_table.h"

#include <string.h>

static cuckoo_table *table_of(sqlite3_vtab *base)
{
    return (cuckoo_table *)base;
}

/* ---- creating, connecting ---- */

static int declare(sqlite3 *db, const char *table, bool values)
{
    char *sql = sqlite3_mprintf("CREATE TABLE x(key, %s\"%w\" HIDDEN)", values ? "value, " : "", table);
    int rc = sql ? sqlite3_declare_vtab(db, sql) : SQLITE_NOMEM;
    sqlite3_free(sql);
    if (rc == SQLITE_OK)
        rc = sqlite3_vtab_config(db, SQLITE_VTAB_CONSTRAINT_SUPPORT, 1);
    return rc == SQLITE_OK ? sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS) : rc;
}

static void enter(cuckoo_table *table, cuckoo_registry *registry)
{
    table->registry = registry;
    table->id = ++registry->last_id;
    table->next = registry->first;
    registry->first = table;
}

static void leave(cuckoo_table *table)
{
    cuckoo_table **at = &table->registry->first;
    while (*at != table)
        at = &(*at)->next;
    *at = table->next;
}

static int make_table(sqlite3 *db, cuckoo_registry *registry, const char *const *argv,
                      cuckoo_table_plan *plan, cuckoo_table **made)
{
    cuckoo_table *table = sqlite3_malloc64(sizeof *table);
    if (table == NULL)
        return SQLITE_NOMEM;
    memset(table, 0, sizeof *table);
    int rc = cuckoo_paged_init(&table->paged, db, argv[1], argv[2]);
    table->values = plan->options.filter.value_bits != 0;
    table->content = plan->content;
    table->column = plan->column;
    plan->content = plan->column = NULL;
    enter(table, registry);
    *made = table;
    return rc;
}

static void free_table(cuckoo_table *table)
{
    leave(table);
    cuckoo_paged_free(&table->paged);
    sqlite3_free(table->content);
    sqlite3_free(table->column);
    sqlite3_free(table);
}

static int create_shadow(cuckoo_table *table, const cf_geometry *shape, char **message)
{
    int rc = cuckoo_paged_create(&table->paged, shape);
    if (rc == SQLITE_OK && table->content)
        rc = cuckoo_content_follow(table);
    if (rc == SQLITE_OK && table->content)
        rc = cuckoo_content_rebuild(table, message);
    if (rc != SQLITE_OK) {
        char *reason = *message;
        *message = sqlite3_mprintf("cuckoo_filter: %s",
                                   reason ? reason : sqlite3_errmsg(table->paged.shadow.db));
        sqlite3_free(reason);
    }
    return rc;
}

static int attach(sqlite3 *db, void *registry, int argc, const char *const *argv, bool create,
                  sqlite3_vtab **result, char **message)
{
    cuckoo_table_plan plan;
    cuckoo_table *table = NULL;
    cf_geometry shape;
    int rc = cuckoo_table_plan_read(argc, argv, &plan, message);
    if (rc != SQLITE_OK)
        return rc;
    if (create)
        rc = cuckoo_table_plan_shape(db, argv[1], &plan, &shape, message);
    if (rc == SQLITE_OK)
        rc = make_table(db, registry, argv, &plan, &table);
    if (rc == SQLITE_OK)
        rc = declare(db, argv[2], plan.options.filter.value_bits != 0);
    if (rc == SQLITE_OK && create)
        rc = create_shadow(table, &shape, message);
    cuckoo_table_plan_free(&plan);
    if (rc != SQLITE_OK && table) {
        free_table(table);
        table = NULL;
    }
    *result = table ? &table->base : NULL;
    return rc;
}

static int table_create(sqlite3 *db, void *registry, int argc, const char *const *argv,
                        sqlite3_vtab **result, char **message)
{
    return attach(db, registry, argc, argv, true, result, message);
}

/* Only reads its arguments, so that a damaged table can still be dropped. */
static int table_connect(sqlite3 *db, void *registry, int argc, const char *const *argv,
                         sqlite3_vtab **result, char **message)
{
    return attach(db, registry, argc, argv, false, result, message);
}

static int table_disconnect(sqlite3_vtab *base)
{
    free_table(table_of(base));
    return SQLITE_OK;
}

static int table_destroy(sqlite3_vtab *base)
{
    cuckoo_table *table = table_of(base);
    int rc = table->content ? cuckoo_content_leave(table) : SQLITE_OK;
    if (rc == SQLITE_OK)
        rc = cuckoo_shadow_drop(&table->paged.shadow);
    if (rc == SQLITE_OK)
        free_table(table);
    return rc;
}

static int table_rename(sqlite3_vtab *base, const char *name)
{
    cuckoo_table *table = table_of(base);
    int rc = table->content ? cuckoo_content_leave(table) : SQLITE_OK;
    if (rc == SQLITE_OK)
        rc = cuckoo_shadow_rename(&table->paged.shadow, name);
    table->id = ++table->registry->last_id;
    if (rc == SQLITE_OK && table->content)
        rc = cuckoo_content_follow(table);
    if (rc != SQLITE_OK && rc != SQLITE_NOMEM)
        rc = cuckoo_table_fail(table, rc, sqlite3_mprintf("%s", sqlite3_errmsg(table->paged.shadow.db)));
    return rc;
}

static int shadow_name(const char *suffix)
{
    return sqlite3_stricmp(suffix, "page") == 0;
}

/* ---- transactions ---- */

static int table_begin(sqlite3_vtab *base)
{
    table_of(base)->paged.joined = true;
    return SQLITE_OK;
}

static int table_commit(sqlite3_vtab *base)
{
    table_of(base)->paged.joined = false;
    return SQLITE_OK;
}

static int table_rollback(sqlite3_vtab *base)
{
    table_of(base)->paged.joined = false;
    cuckoo_paged_forget(&table_of(base)->paged);
    return SQLITE_OK;
}

static int table_savepoint(sqlite3_vtab *base, int number)
{
    (void)base, (void)number;
    return SQLITE_OK;
}

static int table_rollback_to(sqlite3_vtab *base, int number)
{
    (void)number;
    cuckoo_paged_forget(&table_of(base)->paged);
    return SQLITE_OK;
}

#if SQLITE_VERSION_NUMBER >= 3044000
/* PRAGMA integrity_check; the quick one does not read all of it. */
static int table_integrity(sqlite3_vtab *base, const char *schema, const char *name, int flags,
                           char **message)
{
    const char *why;
    cuckoo_table *table = table_of(base);
    (void)schema;
    int rc = cuckoo_paged_begin(&table->paged, &why);
    if (rc == SQLITE_OK && !(flags & 1) && cf_check(&table->paged.filter, &why) != CF_OK)
        rc = SQLITE_CORRUPT_VTAB;
    int rc2 = cuckoo_paged_end(&table->paged);
    rc = rc == SQLITE_OK ? rc2 : rc;
    if (rc == SQLITE_CORRUPT_VTAB) {
        *message = sqlite3_mprintf("%s: damaged: %s", name, why);
        return *message ? SQLITE_OK : SQLITE_NOMEM;
    }
    return rc;
}
#endif

static const sqlite3_module filter_module = {
#if SQLITE_VERSION_NUMBER >= 3044000
    .iVersion = 4,
    .xIntegrity = table_integrity,
#else
    .iVersion = 3,
#endif
    .xCreate = table_create,
    .xConnect = table_connect,
    .xBestIndex = cuckoo_cursor_best_index,
    .xDisconnect = table_disconnect,
    .xDestroy = table_destroy,
    .xOpen = cuckoo_cursor_open,
    .xClose = cuckoo_cursor_close,
    .xFilter = cuckoo_cursor_filter,
    .xNext = cuckoo_cursor_next,
    .xEof = cuckoo_cursor_eof,
    .xColumn = cuckoo_cursor_column,
    .xRowid = cuckoo_cursor_rowid,
    .xUpdate = cuckoo_table_update,
    .xBegin = table_begin,
    .xCommit = table_commit,
    .xRollback = table_rollback,
    .xRename = table_rename,
    .xSavepoint = table_savepoint,
    .xRelease = table_savepoint,
    .xRollbackTo = table_rollback_to,
    .xShadowName = shadow_name,
};

int cuckoo_register_tables(sqlite3 *db, bool on)
{
    cuckoo_registry *registry = on ? cuckoo_registry_new(db) : NULL;
    if (on && registry == NULL)
        return SQLITE_NOMEM;
    int rc = sqlite3_create_module_v2(db, "cuckoo_filter", on ? &filter_module : NULL, registry,
                                      on ? cuckoo_registry_release : NULL);
    if (rc != SQLITE_OK && on)
        return rc; /* the registry is gone */
    int rc2 = cuckoo_register_table_functions(db, registry);
    int rc3 = cuckoo_register_inside(db, registry);
    return rc != SQLITE_OK ? rc : rc2 != SQLITE_OK ? rc2 : rc3;
}
