/*
** filter_vtab.c - the methods of the virtual table cuckoo_filter.
**
** Its columns: key, without affinity; value, when the filter keeps values; and hidden, of the name of the table, for
** commands. A row is a key that was asked for and is perhaps there, once, however many copies there are; its rowid is the
** hash of the key, by which DELETE finds it again. Keys cannot be listed: without "key =" only count(*) works.
*/
#include "errors.h"
#include "filter_table.h"
#include "key.h"

#include <string.h>

enum plan_bits {
    PLAN_KEY = 1,      /* key = argv[0] */
    PLAN_WANT_KEY = 2, /* the key column is read */
    PLAN_COUNT = 4     /* no column is read: as many rows as items */
};

typedef struct table_cursor {
    sqlite3_vtab_cursor base;
    sqlite3_value *key; /* that was asked for; NULL when its column is not read */
    uint64_t hash, value;
    bool has_value;
    uint64_t left; /* rows */
} table_cursor;

static cuckoo_table *table_of(sqlite3_vtab *base)
{
    return (cuckoo_table *)base;
}

static table_cursor *cursor_of(sqlite3_vtab_cursor *base)
{
    return (table_cursor *)base;
}

/* ---- creating, connecting ---- */

static int declare(sqlite3 *db, const char *table, bool values)
{
    char *sql = sqlite3_mprintf("CREATE TABLE x(key, %s\"%w\" HIDDEN)",
                                values ? "value, " : "value HIDDEN, ", table);
    int rc = sql ? sqlite3_declare_vtab(db, sql) : SQLITE_NOMEM;
    sqlite3_free(sql);
    if (rc == SQLITE_OK)
        rc = sqlite3_vtab_config(db, SQLITE_VTAB_CONSTRAINT_SUPPORT, 1);
    return rc == SQLITE_OK ? sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS) : rc;
}

static void enter(cuckoo_table *table, cuckoo_registry *registry)
{
    table->registry = registry;
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

static int create_shadow(cuckoo_table *table, const cuckoo_table_plan *plan, char **message)
{
    const char *why;
    cf_geometry shape;
    cf_status status =
        cf_plan(plan->options.capacity, plan->options.fpr, &plan->options.filter, &shape, &why);
    if (status != CF_OK) {
        *message = sqlite3_mprintf("cuckoo_filter: %s", why);
        return cuckoo_error_code(status);
    }
    int rc = cuckoo_paged_create(&table->paged, &shape);
    if (rc == SQLITE_OK && table->content)
        rc = cuckoo_content_follow(table);
    if (rc == SQLITE_OK && table->content)
        rc = cuckoo_content_rebuild(table, message);
    if (rc != SQLITE_OK && *message == NULL)
        *message = sqlite3_mprintf("cuckoo_filter: %s", sqlite3_errmsg(table->paged.shadow.db));
    return rc;
}

static int attach(sqlite3 *db, void *registry, int argc, const char *const *argv, bool create,
                  sqlite3_vtab **result, char **message)
{
    cuckoo_table_plan plan;
    cuckoo_table *table = NULL;
    if (!cuckoo_table_plan_read(argc, argv, &plan, message))
        return *message ? SQLITE_ERROR : SQLITE_NOMEM;
    int rc = make_table(db, registry, argv, &plan, &table);
    if (rc == SQLITE_OK)
        rc = declare(db, argv[2], plan.options.filter.value_bits != 0);
    if (rc == SQLITE_OK && create)
        rc = create_shadow(table, &plan, message);
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
    if (rc == SQLITE_OK && table->content)
        rc = cuckoo_content_follow(table);
    return rc;
}

static int shadow_name(const char *suffix)
{
    return sqlite3_stricmp(suffix, "page") == 0;
}

/* ---- asking ---- */

/* key = value under a collation other than BINARY is not what a hash can answer. */
static bool is_key_constraint(sqlite3_index_info *info, int i)
{
    const struct sqlite3_index_constraint *c = &info->aConstraint[i];
    return c->iColumn == COLUMN_KEY && c->op == SQLITE_INDEX_CONSTRAINT_EQ &&
           sqlite3_stricmp(sqlite3_vtab_collation(info, i), "BINARY") == 0;
}

static int table_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    bool unusable = false;
    (void)base;
    info->idxNum = info->colUsed == 0 ? PLAN_COUNT : info->colUsed & 1 ? PLAN_WANT_KEY : 0;
    info->estimatedCost = 1e12;
    info->estimatedRows = 1000000;
    for (int i = 0; i < info->nConstraint; i++) {
        if (!is_key_constraint(info, i))
            continue;
        if (!info->aConstraint[i].usable) {
            unusable = true;
            continue;
        }
        info->aConstraintUsage[i].argvIndex = 1;
        info->aConstraintUsage[i].omit = 1;
        info->idxNum = (info->idxNum & PLAN_WANT_KEY) | PLAN_KEY;
        info->estimatedCost = 1;
        info->estimatedRows = 1;
        return SQLITE_OK;
    }
    return unusable ? SQLITE_CONSTRAINT : SQLITE_OK;
}

static int table_open(sqlite3_vtab *base, sqlite3_vtab_cursor **result)
{
    (void)base;
    table_cursor *cursor = sqlite3_malloc64(sizeof *cursor);
    if (cursor == NULL)
        return SQLITE_NOMEM;
    memset(cursor, 0, sizeof *cursor);
    *result = &cursor->base;
    return SQLITE_OK;
}

static void let_go(table_cursor *cursor)
{
    sqlite3_value_free(cursor->key);
    cursor->key = NULL;
    cursor->left = 0;
    cursor->has_value = false;
}

static int table_close(sqlite3_vtab_cursor *base)
{
    let_go(cursor_of(base));
    sqlite3_free(base);
    return SQLITE_OK;
}

static int find_key(cuckoo_table *table, table_cursor *cursor, sqlite3_value *key)
{
    const cf_filter *filter = &table->paged.filter;
    cuckoo_key kind = cuckoo_key_hash(key, filter->geometry.seed, &cursor->hash);
    if (kind == CUCKOO_KEY_NOMEM)
        return SQLITE_NOMEM;
    if (kind == CUCKOO_KEY_NULL)
        return SQLITE_OK;
    cursor->left = cf_contains(filter, cursor->hash);
    if (cursor->left && filter->geometry.value_bits)
        cursor->has_value = cf_get(filter, cursor->hash, &cursor->value);
    return SQLITE_OK;
}

static int table_filter(sqlite3_vtab_cursor *base, int plan, const char *text, int argc,
                        sqlite3_value **argv)
{
    cuckoo_table *table = table_of(base->pVtab);
    table_cursor *cursor = cursor_of(base);
    (void)text, (void)argc;
    let_go(cursor);
    if (!(plan & (PLAN_KEY | PLAN_COUNT)))
        return cuckoo_table_fail(
            table, SQLITE_ERROR,
            sqlite3_mprintf(
                "%s: a filter cannot list its keys; use WHERE key = ..., EXISTS or a join on "
                "key, count(*), or INSERT INTO %s(%s) VALUES('clear')",
                table->paged.shadow.table, table->paged.shadow.table, table->paged.shadow.table));
    int rc = cuckoo_table_begin(table);
    if (rc != SQLITE_OK)
        return rc;
    if (plan & PLAN_COUNT)
        cursor->left = table->paged.filter.items;
    else
        rc = find_key(table, cursor, argv[0]);
    if (rc == SQLITE_OK && cursor->left && plan & PLAN_WANT_KEY) {
        cursor->key = sqlite3_value_dup(argv[0]);
        rc = cursor->key ? SQLITE_OK : SQLITE_NOMEM;
    }
    int rc2 = cuckoo_table_end(table);
    return rc == SQLITE_OK ? rc2 : rc;
}

static int table_next(sqlite3_vtab_cursor *base)
{
    cursor_of(base)->left--;
    return SQLITE_OK;
}

static int table_eof(sqlite3_vtab_cursor *base)
{
    return cursor_of(base)->left == 0;
}

static int table_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    const table_cursor *cursor = cursor_of(base);
    if (column == COLUMN_KEY && cursor->key)
        sqlite3_result_value(context, cursor->key);
    else if (column == COLUMN_VALUE && cursor->has_value)
        sqlite3_result_int64(context, (sqlite3_int64)cursor->value);
    return SQLITE_OK;
}

static int table_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid)
{
    *rowid = (sqlite3_int64)cursor_of(base)->hash;
    return SQLITE_OK;
}

/* ---- transactions ---- */

static int table_begin(sqlite3_vtab *base)
{
    (void)base;
    return SQLITE_OK;
}

static int table_rollback(sqlite3_vtab *base)
{
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
    return table_rollback(base);
}

static const sqlite3_module filter_module = {
    .iVersion = 3,
    .xCreate = table_create,
    .xConnect = table_connect,
    .xBestIndex = table_best_index,
    .xDisconnect = table_disconnect,
    .xDestroy = table_destroy,
    .xOpen = table_open,
    .xClose = table_close,
    .xFilter = table_filter,
    .xNext = table_next,
    .xEof = table_eof,
    .xColumn = table_column,
    .xRowid = table_rowid,
    .xUpdate = cuckoo_table_update,
    .xBegin = table_begin,
    .xRollback = table_rollback,
    .xRename = table_rename,
    .xSavepoint = table_savepoint,
    .xRelease = table_savepoint,
    .xRollbackTo = table_rollback_to,
    .xShadowName = shadow_name,
};

int cuckoo_register_filter_table(sqlite3 *db, bool on)
{
    cuckoo_registry *registry = on ? cuckoo_registry_new(db) : NULL;
    if (on && registry == NULL)
        return SQLITE_NOMEM;
    int rc = sqlite3_create_module_v2(db, "cuckoo_filter", on ? &filter_module : NULL, registry,
                                      cuckoo_registry_release);
    return rc == SQLITE_OK ? cuckoo_register_table_functions(db, registry) : rc;
}
