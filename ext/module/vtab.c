/* SPDX-License-Identifier: MIT */
/*
** vtab.c - the module cuckoo_filter: creating, connecting, renaming, transactions.
*/
#include "../inspect/inspect.h"
#include "../sqlite/errors.h"
#include "../sqlite/register.h"
#include "../sqlite/sql.h"
#include "../table/maintenance.h"
#include "../table/touch.h"
#include "front.h"

#include <string.h>

/* ---- creating, connecting ---- */

/* INSERT INTO key(key) VALUES('check') would add a key, and not be a command. */
static int refuse_name(bool rows, bool rowids, const char *name, char **message)
{
    static const char *const own[] = {"cuckoo_id", "key", "row"};
    for (int i = 0; i < (rows ? 1 : rowids ? 3 : 2); i++)
        if (sqlite3_stricmp(name, own[i]) == 0)
            return cuckoo_say(message, SQLITE_ERROR,
                              "%s is a column of filter tables: choose another name", name);
    return SQLITE_OK;
}

/* `shape`: of a new filter. NULL: it exists, and has its own, unless it is corrupt. */
static int declare_columns(cuckoo_table *table, bool rows, const cf_geometry *shape, char **message)
{
    sqlite3 *db = table->registry->db;
    const char *t = table->follow.given_table, *k = table->follow.given_column;
    bool creates = shape != NULL;
    int rc = creates ? SQLITE_OK : cuckoo_table_load(table);
    if (rc == SQLITE_OK && !creates)
        shape = &table->paged.filter.geometry;
    table->affinity = shape ? (cf_affinity)shape->affinity : CF_AFFINITY_NONE;
    table->collation = shape ? (cf_collation)shape->collation : CF_COLLATION_BINARY;
    if (!cuckoo_sql_rolls_back(rc) && t && !creates)
        rc = cuckoo_follow_find(&table->follow, &table->paged.shadow);
    if (cuckoo_sql_rolls_back(rc)) /* the transaction may have been rolled back */
        return rc;
    if (rc == SQLITE_OK && t && !creates) {
        t = table->follow.table; /* these may have been renamed */
        k = table->follow.column;
    }
    rc = t && rows ? cuckoo_front_declare(table, t, k, creates ? message : NULL)
                   : cuckoo_table_declare(table, t, k);
    if (rc == SQLITE_ERROR && strcmp(sqlite3_errmsg(db), sqlite3_errstr(SQLITE_INTERRUPT)) == 0)
        return SQLITE_INTERRUPT; /* sqlite3_declare_vtab has one code for all */
    return rc == SQLITE_OK ? sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS) : rc;
}

/* A use by its name may not have ended. */
static void free_table(cuckoo_table *table)
{
    cuckoo_front_free(table->front);
    table->front = NULL;
    cuckoo_list_remove(table);
}

static int make_table(cuckoo_registry *registry, const char *const *argv, cuckoo_table_plan *plan,
                      cuckoo_table **made)
{
    cuckoo_table *table = sqlite3_malloc64(sizeof *table);
    if (table == NULL)
        return SQLITE_NOMEM;
    memset(table, 0, sizeof *table);
    *made = table;
    int rc = cuckoo_shadow_init(&table->paged.shadow, registry->db, argv[1], argv[2]);
    table->paged.shadow.rowids = plan->rowids;
    table->version = -1;
    table->options = plan->options;
    table->once = plan->once;
    table->follow = (cuckoo_follow){.given_table = plan->content,
                                    .given_column = plan->column,
                                    .sample = CUCKOO_SAMPLE,
                                    .prepared = -1};
    table->later = plan->later;
    plan->content = plan->column = plan->later = NULL;
    cuckoo_list_add(registry, table);
    return rc;
}

/* Creates the shadow tables, and the triggers of a synced filter. */
static int create(cuckoo_table *table, const cf_geometry *shape, uint64_t keep, char **message)
{
    int rc = cuckoo_paged_create(&table->paged, shape, keep);
    bool given = cuckoo_has(&table->options, CUCKOO_OPTION_CAPACITY);
    table->joined = true;
    if (rc == SQLITE_OK && table->follow.given_table)
        rc = cuckoo_maintenance_rebuild(table, table->paged.shadow.rowids,
                                        given ? &shape->capacity : NULL, message);
    if (rc == SQLITE_OK)
        return rc;
    const char *why = table->paged.shadow.damage;
    why = why ? why : cuckoo_sql_message(table->registry->db, rc);
    return *message ? rc : cuckoo_say(message, rc, "%s", why);
}

static int attach(sqlite3 *db, void *registry, int argc, const char *const *argv, bool creates,
                  sqlite3_vtab **result, char **message)
{
    cuckoo_table_plan plan;
    cf_geometry shape;
    cuckoo_table *table = NULL;
    int rc = cuckoo_table_plan_read(argc, argv, !creates, &plan, message);
    if (!cuckoo_has(&plan.options, CUCKOO_OPTION_SEED)) /* keys cannot be aimed at an unknown seed */
        sqlite3_randomness(sizeof plan.options.filter.seed, &plan.options.filter.seed);
    if (rc == SQLITE_OK && creates)
        rc = cuckoo_table_plan_shape(db, argv, &plan, &shape, message);
    rc = rc ? rc : make_table(registry, argv, &plan, &table);
    if (rc == SQLITE_OK && creates)
        rc = refuse_name(plan.rows, plan.rowids, argv[2], message);
    rc = rc ? rc : declare_columns(table, plan.rows, creates ? &shape : NULL, message);
    if (rc == SQLITE_OK && creates)
        rc = create(table, &shape, plan.keep, message);
    cuckoo_table_plan_free(&plan);
    if (rc != SQLITE_OK && table)
        free_table(table);
    *result = rc == SQLITE_OK ? &table->base : NULL;
    if (rc == SQLITE_INTERRUPT) /* for which SQLite has another message */
        return cuckoo_say(message, rc, "interrupted");
    if (*message == NULL && (rc == SQLITE_OK || rc == SQLITE_NOMEM))
        return rc;
    return cuckoo_say(message, rc, "cuckoo_filter: %s", *message ? *message : sqlite3_errstr(rc));
}

static int table_create(sqlite3 *db, void *registry, int argc, const char *const *argv,
                        sqlite3_vtab **result, char **message)
{
    return attach(db, registry, argc, argv, true, result, message);
}

/* Connecting needs only the arguments, so corrupt or later tables can be dropped. */
static int table_connect(sqlite3 *db, void *registry, int argc, const char *const *argv,
                         sqlite3_vtab **result, char **message)
{
    return attach(db, registry, argc, argv, false, result, message);
}

static int table_disconnect(sqlite3_vtab *base)
{
    free_table(cuckoo_table_of(base));
    return SQLITE_OK;
}

/* Drops triggers and log. If the header cannot be read, another row names the log. */
static int stop_following(cuckoo_table *table)
{
    int64_t log;
    cuckoo_shadow *shadow = &table->paged.shadow;
    int rc = cuckoo_paged_load(&table->paged);
    if (rc != SQLITE_OK && !cuckoo_sql_rolls_back(rc)) {
        rc = cuckoo_follow_check_saved(shadow, &log);
        if (rc != SQLITE_OK || log == 0)
            return cuckoo_sql_rolls_back(rc) ? rc : SQLITE_OK;
        cuckoo_shadow_set_log(shadow, log);
    }
    rc = cuckoo_sql_rolls_back(rc) ? rc : cuckoo_follow_drop(shadow);
    cuckoo_shadow_finalize(shadow);
    return rc ? rc : cuckoo_log_drop(shadow);
}

static int table_destroy(sqlite3_vtab *base)
{
    cuckoo_table *table = cuckoo_table_of(base);
    bool follows = table->follow.given_table ||
                   table->later; /* a later version may name its content in another way */
    int rc = follows ? stop_following(table) : SQLITE_OK;
    rc = rc ? rc : cuckoo_shadow_drop(&table->paged.shadow);
    if (rc == SQLITE_OK)
        free_table(table);
    return rc;
}

/* ---- renaming ---- */

/* Triggers and log are named by the identity of the log, and stay. A later version may have more to
** rename than this one knows. SQLite connects the table under its new name, so this object has nothing
** more to do, and no log. */
static int table_rename(sqlite3_vtab *base, const char *name)
{
    cuckoo_table *table = cuckoo_table_of(base);
    int rc = cuckoo_table_load(table);
    if (rc == CUCKOO_NEWER)
        return cuckoo_table_explain(table, rc, cuckoo_table_damage(table, rc));
    rc = cuckoo_sql_rolls_back(rc)
             ? rc
             : refuse_name(table->front != NULL, table->paged.shadow.rowids, name, &base->zErrMsg);
    if (rc != SQLITE_OK)
        return rc;
    rc = cuckoo_shadow_rename(&table->paged.shadow, name);
    if (rc == SQLITE_CORRUPT_VTAB)
        return cuckoo_table_explain(table, rc, cuckoo_table_damage(table, rc));
    if (rc != SQLITE_OK)
        return rc == SQLITE_NOMEM
                   ? rc
                   : cuckoo_say(&base->zErrMsg, rc, "%s", cuckoo_sql_message(table->registry->db, rc));
    cuckoo_table_forget(table);
    cuckoo_shadow_set_log(&table->paged.shadow, 0);
    cuckoo_registry_remember(table, NULL, 0);
    table->wrote = 0;
    return SQLITE_OK;
}

static int shadow_name(const char *suffix)
{
    return sqlite3_stricmp(suffix, "page") == 0 || sqlite3_stricmp(suffix, "log") == 0;
}

/* ---- transactions ---- */

static int explain_write(cuckoo_table *table, int rc)
{
    if (rc == SQLITE_OK)
        return rc;
    char *why = sqlite3_mprintf("its changes cannot be written: %s", cuckoo_table_damage(table, rc));
    rc = why ? cuckoo_table_explain(table, rc, why) : SQLITE_NOMEM;
    sqlite3_free(why);
    return rc;
}

static int table_sync(sqlite3_vtab *base)
{
    cuckoo_table *table = cuckoo_table_of(base);
    return explain_write(table, cuckoo_table_sync(table));
}

/* Without this method SQLite would not report that a savepoint is rolled back. */
static int table_savepoint(sqlite3_vtab *base, int number)
{
    (void)number;
    cuckoo_table_of(base)->returns_nothing = false;
    return SQLITE_OK;
}

/* PRAGMA integrity_check. The quick one does not read the whole filter. */
static int table_integrity(sqlite3_vtab *base, const char *schema, const char *name, int flags,
                           char **message)
{
    cuckoo_table *table = cuckoo_table_of(base);
    char *why = NULL;
    (void)schema;
    int rc = cuckoo_module_begin(table, CUCKOO_INSPECT);
    if (rc == SQLITE_ERROR && table->follow.fault)
        return SQLITE_OK; /* a filter that is not trusted is not corrupt */
    rc = rc ? rc
            : cuckoo_module_end(table, flags & 1 ? SQLITE_OK : cuckoo_maintenance_check(table, &why));
    if (rc == SQLITE_CORRUPT_VTAB || rc == SQLITE_ERROR) {
        rc = why ? cuckoo_say(message, SQLITE_OK, "%s: %s", name, why)
                 : cuckoo_say(message, SQLITE_OK, "%s", base->zErrMsg);
    }
    sqlite3_free(why);
    return rc;
}

/* ---- methods that differ for tables with rows=on ---- */

#define EITHER(name, parameters, base, arguments)                                                       \
    static int either_##name parameters                                                                 \
    {                                                                                                   \
        return cuckoo_table_of(base)->front ? cuckoo_front_##name arguments                             \
                                            : cuckoo_cursor_##name arguments;                           \
    }

EITHER(best_index, (sqlite3_vtab * base, sqlite3_index_info *info), base, (base, info))
EITHER(filter, (sqlite3_vtab_cursor * at, int plan, const char *text, int argc, sqlite3_value **argv),
       at->pVtab, (at, plan, text, argc, argv))
EITHER(open, (sqlite3_vtab * base, sqlite3_vtab_cursor **result), base, (base, result))
EITHER(close, (sqlite3_vtab_cursor * at), at->pVtab, (at))
EITHER(next, (sqlite3_vtab_cursor * at), at->pVtab, (at))
EITHER(eof, (sqlite3_vtab_cursor * at), at->pVtab, (at))
EITHER(column, (sqlite3_vtab_cursor * at, sqlite3_context *context, int column), at->pVtab,
       (at, context, column))

static const cuckoo_module table_module = {
    .base.iVersion = 4,
    .CUCKOO_XINTEGRITY = table_integrity,
    .base.xCreate = table_create,
    .base.xConnect = table_connect,
    .base.xBestIndex = either_best_index,
    .base.xDisconnect = table_disconnect,
    .base.xDestroy = table_destroy,
    .base.xOpen = either_open,
    .base.xClose = either_close,
    .base.xFilter = either_filter,
    .base.xNext = either_next,
    .base.xEof = either_eof,
    .base.xColumn = either_column,
    .base.xRowid = cuckoo_front_rowid, /* the other tables have none, and it is not called */
    .base.xUpdate = cuckoo_table_update,
    .base.xBegin = cuckoo_table_joined,
    .base.xSync = table_sync,
    .base.xCommit = cuckoo_table_committed,
    .base.xRollback = cuckoo_table_rolled_back,
    .base.xRename = table_rename,
    .base.xSavepoint = table_savepoint,
    .base.xRollbackTo = cuckoo_table_rolled_back_to,
    .base.xShadowName = shadow_name,
};

/* Stops at the first error: if memory runs out in a running statement, sqlite3_create_module_v2 may
** destroy the data of a module that it has registered. */
int cuckoo_register_tables(sqlite3 *db, bool on)
{
    static const char *const names[] = {"cuckoo_filter", "cuckoo_feed", "cf_lines",
                                        "cf_buckets",    "cf_explain",  "cf_values"};
    static const sqlite3_module *const modules[] = {&table_module.base, &cuckoo_feed_module,
                                                    &cuckoo_lines_module};
    cuckoo_registry *registry = on ? cuckoo_registry_new(db) : NULL;
    int rc = on && registry == NULL ? SQLITE_NOMEM : SQLITE_OK;
    for (int i = 0; i < 6 && (rc == SQLITE_OK || !on); i++) {
        const sqlite3_module *module = i < 3 ? modules[i] : &cuckoo_inspect_module;
        if (on)
            registry->shared.references++;
        int one = sqlite3_create_module_v2(db, names[i], on ? module : NULL, registry,
                                           cuckoo_registry_release);
        rc = cuckoo_first_error(rc, one);
    }
    cuckoo_shared *shared = registry ? &registry->shared : NULL;
    if (rc == SQLITE_OK || !on)
        rc = cuckoo_first_error(rc, cuckoo_register(db, cuckoo_table_functions, shared, on));
    if (rc == SQLITE_OK && on)
        rc = cuckoo_touch_register(registry); /* this is the last one: it stays */
    cuckoo_registry_release(registry);
    return rc;
}
