/*
** buckets_vtab.c - the table-valued functions that look inside a filter.
**
**      cf_buckets(filter)        one row per slot, in order of bucket and slot
**      cf_explain(filter, key)   one row per slot of the one or two buckets of the key
**
** Both are eponymous virtual tables of one kind: a plan from xBestIndex, a cursor that walks over the
** slots from one place to another. They differ in their columns, and in that cf_explain walks over the
** buckets of a pair instead of a range.
**
** What xBestIndex decides stands in buckets_plan.c, the columns in buckets_columns.c.
*/
#include "buckets_columns.h"
#include "errors.h"
#include "handle.h"
#include "key.h"

/* What a module knows: its kind, and the tables of the connection. */
typedef struct inside_aux {
    const table_kind *kind;
    cuckoo_registry *registry;
} inside_aux;

static const table_kind *kind_of(sqlite3_vtab_cursor *base)
{
    return ((inside_table *)base->pVtab)->kind;
}

/* ---- connecting ---- */

static int inside_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
                          sqlite3_vtab **result, char **message)
{
    const inside_aux *known = aux;
    (void)argc, (void)argv, (void)message;
    int rc = sqlite3_declare_vtab(db, known->kind->schema);
    if (rc == SQLITE_OK && !known->kind->by_name)
        rc = sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
    if (rc != SQLITE_OK)
        return rc;
    inside_table *table = sqlite3_malloc64(sizeof *table);
    if (table == NULL)
        return SQLITE_NOMEM;
    *table = (inside_table){.kind = known->kind, .registry = known->registry};
    *result = &table->base;
    return SQLITE_OK;
}

static int inside_disconnect(sqlite3_vtab *table)
{
    sqlite3_free(table);
    return SQLITE_OK;
}

/* ---- walking ---- */

static int inside_open(sqlite3_vtab *table, sqlite3_vtab_cursor **result)
{
    (void)table;
    inside_cursor *cursor = sqlite3_malloc64(sizeof *cursor);
    if (cursor == NULL)
        return SQLITE_NOMEM;
    *cursor = (inside_cursor){.handle = NULL};
    *result = &cursor->base;
    return SQLITE_OK;
}

static void let_go(inside_cursor *cursor)
{
    cuckoo_handle_release(cursor->handle);
    sqlite3_value_free(cursor->key);
    cursor->handle = NULL;
    cursor->key = NULL;
    cursor->at = cursor->end = 0;
    cursor->slot = 0;
}

static int inside_close(sqlite3_vtab_cursor *base)
{
    let_go(cursor_of(base));
    sqlite3_free(base);
    return SQLITE_OK;
}

/* A copy of a persistent filter as it is now. */
static int take_table(sqlite3_vtab_cursor *base, sqlite3_value *name)
{
    inside_table *table = (inside_table *)base->pVtab;
    char *message = NULL;
    int rc = cuckoo_table_snapshot(table->registry, name, &cursor_of(base)->handle, &message);
    if (rc == SQLITE_OK || rc == SQLITE_NOMEM) {
        sqlite3_free(message);
        return rc;
    }
    char *whole = message ? sqlite3_mprintf("%s: %s", kind_of(base)->name, message) : NULL;
    sqlite3_free(message);
    return cuckoo_inside_fail(base->pVtab, rc, whole);
}

static int take_filter(sqlite3_vtab_cursor *base, sqlite3_value *value)
{
    if (kind_of(base)->by_name)
        return take_table(base, value);
    const char *why;
    const cf_filter *filter;
    cf_reader reader = {0};
    cf_status status = cuckoo_filter_read(value, &reader, &filter, &why);
    if (status != CF_OK) {
        char *reason = cuckoo_filter_message(status, why);
        char *message = reason ? sqlite3_mprintf("%s: %s", kind_of(base)->name, reason) : NULL;
        sqlite3_free(reason);
        return cuckoo_inside_fail(base->pVtab, cuckoo_error_code(status), message);
    }
    cursor_of(base)->handle = filter ? cuckoo_handle_keep(value, filter) : NULL;
    return cursor_of(base)->handle ? SQLITE_OK : SQLITE_NOMEM;
}

/* A NULL key is nowhere: no rows. */
static int take_key(inside_cursor *cursor, sqlite3_value *value)
{
    uint64_t hash;
    const cf_filter *filter = &cursor->handle->filter;
    cuckoo_key kind = cuckoo_key_hash(value, &filter->geometry, &hash);
    cursor->key = sqlite3_value_dup(value);
    if (kind == CUCKOO_KEY_NOMEM || cursor->key == NULL)
        return SQLITE_NOMEM;
    if (kind == CUCKOO_KEY_OK) {
        cursor->pair = cf_candidates(filter, hash);
        cursor->end = cursor->pair.sides + (filter->spilled != 0);
    }
    return SQLITE_OK;
}

/* Narrows the walk by a bound on the bucket number. Only integers narrow it: SQLite compares again. */
static void narrow(inside_cursor *cursor, sqlite3_value *value, int bit)
{
    if (sqlite3_value_type(value) != SQLITE_INTEGER)
        return;
    sqlite3_int64 bound = sqlite3_value_int64(value);
    if (bit & (PLAN_EQUAL | PLAN_LEAST) && bound > (sqlite3_int64)cursor->at)
        cursor->at = (uint64_t)bound;
    if (bit & (PLAN_EQUAL | PLAN_MOST) && bound < (sqlite3_int64)cursor->end)
        cursor->end = bound < 0 ? 0 : (uint64_t)bound + 1;
}

static int arguments_missing(sqlite3_vtab_cursor *base)
{
    const table_kind *kind = kind_of(base);
    const char *key = kind->key_column >= 0 ? ", key" : "";
    return cuckoo_inside_fail(
        base->pVtab, SQLITE_ERROR,
        sqlite3_mprintf("%s: needs its arguments: %s(filter%s)", kind->name, kind->name, key));
}

static int inside_filter(sqlite3_vtab_cursor *base, int plan, const char *text, int argc,
                         sqlite3_value **argv)
{
    inside_cursor *cursor = cursor_of(base);
    int next = 1;
    (void)text, (void)argc;
    let_go(cursor);
    if (!(plan & PLAN_FILTER) || (kind_of(base)->key_column >= 0 && !(plan & PLAN_KEY)))
        return arguments_missing(base);
    int rc = take_filter(base, argv[0]);
    if (rc != SQLITE_OK || plan & PLAN_KEY)
        return rc != SQLITE_OK ? rc : take_key(cursor, argv[next]);
    cursor->end = cursor->handle->filter.buckets;
    for (int bit = PLAN_EQUAL; bit <= PLAN_MOST; bit *= 2)
        if (plan & bit)
            narrow(cursor, argv[next++], bit);
    return SQLITE_OK;
}

/* To the next spilled entry of the key's buckets, from this one on; or to the end. */
static void seek_spilled(inside_cursor *cursor)
{
    cf_entry entry;
    unsigned side;
    while (cursor->slot < cursor->handle->filter.spilled && !cuckoo_spilled_here(cursor, &entry, &side))
        cursor->slot++;
    cursor->at += cursor->slot == cursor->handle->filter.spilled;
}

static int inside_next(sqlite3_vtab_cursor *base)
{
    inside_cursor *cursor = cursor_of(base);
    cursor->slot++;
    if (!cuckoo_in_list(cursor)) {
        if (cursor->slot < cursor->handle->filter.geometry.bucket_size)
            return SQLITE_OK;
        cursor->slot = 0;
        cursor->at++;
    }
    if (cuckoo_in_list(cursor) && cursor->at < cursor->end)
        seek_spilled(cursor);
    return SQLITE_OK;
}

static int inside_eof(sqlite3_vtab_cursor *base)
{
    return cursor_of(base)->at >= cursor_of(base)->end;
}

static int inside_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid)
{
    const inside_cursor *cursor = cursor_of(base);
    *rowid = (sqlite3_int64)(cursor->at * CF_BUCKET_MAX + cursor->slot);
    return SQLITE_OK;
}

/* ---- the modules ---- */

#define INSIDE_MODULE(column)                                                                           \
    {                                                                                                   \
        .xConnect = inside_connect, .xBestIndex = cuckoo_inside_best_index,                             \
        .xDisconnect = inside_disconnect, .xOpen = inside_open, .xClose = inside_close,                 \
        .xFilter = inside_filter, .xNext = inside_next, .xEof = inside_eof, .xColumn = (column),        \
        .xRowid = inside_rowid                                                                          \
    }

static void free_aux(void *aux)
{
    cuckoo_registry_release(((inside_aux *)aux)->registry);
    sqlite3_free(aux);
}

static int register_table(sqlite3 *db, const table_kind *kind, const sqlite3_module *module,
                          cuckoo_registry *registry)
{
    if (registry == NULL)
        return sqlite3_create_module_v2(db, kind->name, NULL, NULL, NULL);
    inside_aux *aux = sqlite3_malloc64(sizeof *aux);
    if (aux == NULL)
        return SQLITE_NOMEM;
    *aux = (inside_aux){kind, registry};
    registry->references++;
    return sqlite3_create_module_v2(db, kind->name, module, aux, free_aux);
}

/* Stops at an error: once memory has run out in a running statement, sqlite3_create_module_v2 may
** destroy the data of a module that it has registered. */
int cuckoo_register_inside(sqlite3 *db, cuckoo_registry *registry)
{
    static const sqlite3_module buckets_module = INSIDE_MODULE(cuckoo_buckets_column);
    static const sqlite3_module explain_module = INSIDE_MODULE(cuckoo_explain_column);
    int rc = register_table(db, &cuckoo_buckets_kind, &buckets_module, registry);
    if (rc == SQLITE_OK || !registry)
        rc = register_table(db, &cuckoo_explain_kind, &explain_module, registry);
    if (rc == SQLITE_OK || !registry)
        rc = register_table(db, &cuckoo_table_buckets_kind, &buckets_module, registry);
    return rc;
}
