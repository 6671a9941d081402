/* SPDX-License-Identifier: MIT */
/*
** inspect.c - the table-valued functions that look inside a filter: plans, cursors, modules.
**
** The arguments of a table-valued function are equality constraints on its hidden columns.
** xBestIndex picks them, and the constraints on the bucket number that narrow the walk. It tells
** xFilter in idxNum which values follow in argv, in the order of the plan bits. Without the
** arguments xFilter fails.
*/
#include "../store/maintenance.h"
#include "inspect_columns.h"

#include "../keys/key.h"
#include "../sqlite/errors.h"
#include "../sqlite/sql.h"

/* What a module carries along: the kind of its table, and the tables of the connection. */
typedef struct inspect_aux {
    const inspect_kind *kind;
    cuckoo_registry *registry;
} inspect_aux;

static const inspect_kind *kind_of(sqlite3_vtab_cursor *base)
{
    return ((inspect_table *)base->pVtab)->kind;
}

/* ---- plans ---- */

/* What a constraint says. Bit 1 << role of idxNum: the value of one is passed on. */
enum role { THE_FILTER, THE_KEY, BUCKET_IS, BUCKET_FROM, BUCKET_TO, ROLES, NO_ROLE = ROLES };

/* SQLite checks constraints on the bucket again, so that xFilter may take them loosely; not these. */
static bool is_argument(enum role role)
{
    return role == THE_FILTER || role == THE_KEY;
}

static enum role role_of(const inspect_kind *kind, const struct sqlite3_index_constraint *c)
{
    bool equal = c->op == SQLITE_INDEX_CONSTRAINT_EQ;
    if (c->iColumn < 0)
        return NO_ROLE;
    if (c->iColumn == kind->filter_column || c->iColumn == kind->key_column)
        return !equal ? NO_ROLE : c->iColumn == kind->key_column ? THE_KEY : THE_FILTER;
    if (c->iColumn != kind->bucket_column)
        return NO_ROLE;
    if (c->op == SQLITE_INDEX_CONSTRAINT_GT || c->op == SQLITE_INDEX_CONSTRAINT_GE)
        return BUCKET_FROM;
    if (c->op == SQLITE_INDEX_CONSTRAINT_LT || c->op == SQLITE_INDEX_CONSTRAINT_LE)
        return BUCKET_TO;
    return equal ? BUCKET_IS : NO_ROLE;
}

static bool misses_arguments(const inspect_kind *kind, int plan)
{
    return !(plan & 1 << THE_FILTER) || (kind->key_column >= 0 && !(plan & 1 << THE_KEY));
}

/* A plan without the arguments is an error when it runs (xFilter). It is not refused here: SQLite
** asks for plans of the parts of an OR, too, and gives up on the query when one is refused. */
static void set_cost(sqlite3_index_info *info, const inspect_kind *kind)
{
    int rows = 1000000;
    if (kind->key_column >= 0 || info->idxNum & 1 << BUCKET_IS)
        rows = 8;
    else if (info->idxNum & (1 << BUCKET_FROM | 1 << BUCKET_TO))
        rows = 100000;
    info->estimatedRows = rows;
    info->estimatedCost = misses_arguments(kind, info->idxNum) ? 1e99 : rows + 1000.0;
}

static bool walks_in_order(const sqlite3_index_info *info, const inspect_kind *kind)
{
    if (kind->bucket_column < 0 || info->nOrderBy < 1 || info->nOrderBy > 2)
        return false;
    for (int i = 0; i < info->nOrderBy; i++)
        if (info->aOrderBy[i].iColumn != kind->bucket_column + i || info->aOrderBy[i].desc)
            return false;
    return true;
}

static int inspect_best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
    const inspect_kind *kind = ((inspect_table *)table)->kind;
    int found[ROLES] = {-1, -1, -1, -1, -1}, count = 0;
    bool unusable = false; /* an argument is there, but not in this join order */
    for (int i = 0; i < info->nConstraint; i++) {
        enum role role = role_of(kind, &info->aConstraint[i]);
        if (role != NO_ROLE && info->aConstraint[i].usable)
            found[role] = i;
        else
            unusable |= is_argument(role);
    }
    info->idxNum = 0;
    for (enum role role = THE_FILTER; role < ROLES; role++)
        if (found[role] >= 0) {
            info->aConstraintUsage[found[role]].argvIndex = ++count;
            info->aConstraintUsage[found[role]].omit = is_argument(role);
            info->idxNum |= 1 << role;
        }
    if (unusable && misses_arguments(kind, info->idxNum))
        return SQLITE_CONSTRAINT;
    set_cost(info, kind);
    info->orderByConsumed = walks_in_order(info, kind);
    return SQLITE_OK;
}

/* ---- connecting ---- */

static int inspect_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
                           sqlite3_vtab **result, char **message)
{
    const inspect_aux *known = aux;
    (void)argc, (void)argv, (void)message;
    int rc = sqlite3_declare_vtab(db, known->kind->schema);
    if (rc == SQLITE_OK && !known->kind->takes_names)
        rc = sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
    if (rc != SQLITE_OK)
        return rc;
    inspect_table *table = sqlite3_malloc64(sizeof *table);
    if (table == NULL)
        return SQLITE_NOMEM;
    *table = (inspect_table){.kind = known->kind, .registry = known->registry};
    *result = &table->base;
    return SQLITE_OK;
}

static int inspect_disconnect(sqlite3_vtab *table)
{
    sqlite3_free(table);
    return SQLITE_OK;
}

/* ---- walking ---- */

static int inspect_open(sqlite3_vtab *table, sqlite3_vtab_cursor **result)
{
    (void)table;
    inspect_cursor *cursor = sqlite3_malloc64(sizeof *cursor);
    if (cursor == NULL)
        return SQLITE_NOMEM;
    *cursor = (inspect_cursor){.handle = NULL};
    *result = &cursor->base;
    return SQLITE_OK;
}

static void empty_cursor(inspect_cursor *cursor)
{
    cuckoo_handle_release(cursor->handle);
    sqlite3_value_free(cursor->key);
    cursor->handle = NULL;
    cursor->key = NULL;
    cursor->at = cursor->end = 0;
    cursor->slot = 0;
}

static int inspect_close(sqlite3_vtab_cursor *base)
{
    empty_cursor(cuckoo_inspect_cursor_of(base));
    sqlite3_free(base);
    return SQLITE_OK;
}

/* Makes "name of the table: why" the error of the table. Returns the code. */
static int fail(sqlite3_vtab_cursor *base, int code, const char *why)
{
    return cuckoo_say(&base->pVtab->zErrMsg, code, "%s: %s", kind_of(base)->name, why);
}

/* The same for a filter table that cannot be used. */
static int fail_table(sqlite3_vtab_cursor *base, int code, const char *why)
{
    char *message = NULL;
    if (code == SQLITE_NOMEM)
        return code;
    code = cuckoo_explain(&message, code, why);
    if (message)
        code = fail(base, code, message);
    sqlite3_free(message);
    return code;
}

/* Takes a copy of a filter table as it is now, with what is in its logs. */
static int take_table(sqlite3_vtab_cursor *base, sqlite3_value *name)
{
    bool left;
    const char *why;
    cuckoo_store *store;
    cuckoo_known known = {NULL, 0};
    inspect_cursor *cursor = cuckoo_inspect_cursor_of(base);
    cuckoo_registry *registry = ((inspect_table *)base->pVtab)->registry;
    int rc = cuckoo_registry_begin(registry, name, &known, CUCKOO_INSPECT, &store, &why);
    if (rc == SQLITE_OK) {
        cuckoo_paged *paged = &store->paged;
        rc = cuckoo_maintenance_begin_view(store, &left);
        if (rc == SQLITE_OK) {
            paged->hooks.need(paged, 0, paged->filter.length);
            cursor->handle = cuckoo_handle_keep(name, &paged->filter);
        }
        cuckoo_maintenance_end_view(store);
        rc = cuckoo_first_error(rc, cuckoo_store_end(store));
        why = cuckoo_store_damage(store);
    }
    if (rc != SQLITE_OK)
        rc = fail_table(base, rc, why);
    else if (cursor->handle == NULL)
        rc = SQLITE_NOMEM;
    if (store)
        cuckoo_registry_let_go(store);
    return rc;
}

static int take_filter(sqlite3_vtab_cursor *base, sqlite3_value *value)
{
    const char *why = NULL;
    const cf_filter *filter;
    cf_reader reader = {0};
    cuckoo_handle **handle = &cuckoo_inspect_cursor_of(base)->handle;
    if (kind_of(base)->takes_names && sqlite3_value_type(value) == SQLITE_TEXT)
        return take_table(base, value);
    cf_status status = cuckoo_filter_read(value, &reader, &filter, &why);
    if (why == cuckoo_is_exact && kind_of(base)->key_column >= 0)
        status = cuckoo_exact_read(NULL, value, handle, &why);
    else if (filter)
        *handle = cuckoo_handle_keep(value, filter);
    if (status == CF_OK)
        return *handle ? SQLITE_OK : SQLITE_NOMEM;
    char *message = cuckoo_filter_message(status, why, kind_of(base)->name, value);
    int rc = message ? fail(base, cuckoo_error_code(status), message) : SQLITE_NOMEM;
    sqlite3_free(message);
    return rc;
}

/* Looks for the key in the level at the cursor, if it is looked for in another one. */
static void enter_level(inspect_cursor *cursor)
{
    unsigned level = (unsigned)cursor->at / 2;
    if (cursor->at == cursor->end)
        return;
    cursor->filter = &cursor->handle->exact->level[level];
    cursor->pair = cf_candidates(cursor->filter, cf_exact_hash(cursor->hash, level));
}

/* For a NULL key, which is in no bucket, there are no rows. The list of an exact filter has none. */
static int take_key(inspect_cursor *cursor, sqlite3_value *value)
{
    const cf_filter *filter = cursor->filter;
    const cf_exact *exact = cursor->handle->exact;
    cuckoo_key kind = cuckoo_key_hash(value, &filter->geometry, &cursor->hash);
    cursor->key = sqlite3_value_dup(value);
    if (kind == CUCKOO_KEY_NOMEM || cursor->key == NULL)
        return SQLITE_NOMEM;
    if (kind == CUCKOO_KEY_OK && exact) {
        unsigned yes = cf_exact_depth(exact, cursor->hash);
        cursor->end = 2 * (uint64_t)(yes < exact->levels ? yes + 1 : exact->levels);
        enter_level(cursor);
    } else if (kind == CUCKOO_KEY_OK) {
        cursor->pair = cf_candidates(filter, cursor->hash);
        cursor->end = cursor->pair.sides + (filter->spilled != 0);
    }
    return SQLITE_OK;
}

/* Narrows the walk by a bound on the bucket number. Only integers narrow it. (SQLite compares again.) */
static void narrow(inspect_cursor *cursor, sqlite3_value *value, enum role role)
{
    if (sqlite3_value_type(value) != SQLITE_INTEGER)
        return;
    sqlite3_int64 bound = sqlite3_value_int64(value);
    if (role != BUCKET_TO && bound > (sqlite3_int64)cursor->at)
        cursor->at = (uint64_t)bound;
    if (role != BUCKET_FROM && bound < (sqlite3_int64)cursor->end)
        cursor->end = bound < 0 ? 0 : (uint64_t)bound + 1;
}

static int arguments_missing(sqlite3_vtab_cursor *base)
{
    const inspect_kind *kind = kind_of(base);
    return cuckoo_say(&base->pVtab->zErrMsg, SQLITE_ERROR, "%s: needs its arguments: %s(%s)", kind->name,
                      kind->name, kind->key_column >= 0 ? "filter, key" : "filter");
}

static int inspect_filter(sqlite3_vtab_cursor *base, int plan, const char *text, int argc,
                          sqlite3_value **argv)
{
    inspect_cursor *cursor = cuckoo_inspect_cursor_of(base);
    (void)text, (void)argc;
    empty_cursor(cursor);
    if (misses_arguments(kind_of(base), plan))
        return arguments_missing(base);
    int rc = take_filter(base, *argv++);
    cursor->filter = rc == SQLITE_OK ? &cursor->handle->filter : NULL;
    if (rc != SQLITE_OK || plan & 1 << THE_KEY)
        return rc != SQLITE_OK ? rc : take_key(cursor, *argv);
    cursor->end = cursor->handle->filter.buckets;
    for (enum role role = BUCKET_IS; role < ROLES; role++)
        if (plan & 1 << role)
            narrow(cursor, *argv++, role);
    return SQLITE_OK;
}

/* Goes to the next spilled entry of the buckets of the key, from this one on; or to the end. */
static void seek_spilled(inspect_cursor *cursor)
{
    cf_entry entry;
    unsigned side;
    while (cursor->slot < cursor->handle->filter.spilled &&
           !cuckoo_inspect_spilled(cursor, &entry, &side))
        cursor->slot++;
    cursor->at += cursor->slot == cursor->handle->filter.spilled;
}

static int inspect_next(sqlite3_vtab_cursor *base)
{
    inspect_cursor *cursor = cuckoo_inspect_cursor_of(base);
    cursor->slot++;
    if (!cuckoo_inspect_in_list(cursor)) {
        if (cursor->slot < cursor->filter->geometry.bucket_size)
            return SQLITE_OK;
        cursor->slot = 0;
        cursor->at++;
        if (cursor->handle->exact)
            enter_level(cursor);
    }
    if (cuckoo_inspect_in_list(cursor) && cursor->at < cursor->end)
        seek_spilled(cursor);
    return SQLITE_OK;
}

static int inspect_eof(sqlite3_vtab_cursor *base)
{
    return cuckoo_inspect_cursor_of(base)->at >= cuckoo_inspect_cursor_of(base)->end;
}

static int inspect_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid)
{
    const inspect_cursor *cursor = cuckoo_inspect_cursor_of(base);
    *rowid = (sqlite3_int64)(cursor->at * CF_BUCKET_MAX + cursor->slot);
    return SQLITE_OK;
}

/* ---- the modules ---- */

static const sqlite3_module inspect_module = {
    .xConnect = inspect_connect,
    .xBestIndex = inspect_best_index,
    .xDisconnect = inspect_disconnect,
    .xOpen = inspect_open,
    .xClose = inspect_close,
    .xFilter = inspect_filter,
    .xNext = inspect_next,
    .xEof = inspect_eof,
    .xColumn = cuckoo_inspect_column,
    .xRowid = inspect_rowid,
};

static void free_aux(void *aux)
{
    cuckoo_registry_release(((inspect_aux *)aux)->registry);
    sqlite3_free(aux);
}

static int register_table(sqlite3 *db, const inspect_kind *kind, cuckoo_registry *registry)
{
    if (registry == NULL)
        return sqlite3_create_module_v2(db, kind->name, NULL, NULL, NULL);
    inspect_aux *aux = sqlite3_malloc64(sizeof *aux);
    if (aux == NULL)
        return SQLITE_NOMEM;
    *aux = (inspect_aux){kind, registry};
    registry->references++;
    return sqlite3_create_module_v2(db, kind->name, &inspect_module, aux, free_aux);
}

/* This stops at an error: once memory has run out in a running statement, sqlite3_create_module_v2
** may destroy the data of a module that it has registered. */
int cuckoo_register_inspect(sqlite3 *db, cuckoo_registry *registry)
{
    int rc = SQLITE_OK;
    for (int i = 0; i < CUCKOO_INSPECT_KINDS && (rc == SQLITE_OK || !registry); i++)
        rc = register_table(db, &cuckoo_inspect_kinds[i], registry);
    return rc;
}
