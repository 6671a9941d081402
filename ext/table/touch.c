/* SPDX-License-Identifier: MIT */
#include "touch.h"

#include "../sqlite/sql.h"

#include <string.h>

/* ---- the filter of a log ---- */

/* A copy of the database, with the same log, may be attached: only one that is being written counts. */
static bool has_log(const cuckoo_table *table, int64_t log)
{
    return table->paged.shadow.log == log && cuckoo_table_follows(table) &&
           cuckoo_shadow_in_transaction(&table->paged.shadow, true);
}

static cuckoo_table *connected(const cuckoo_registry *registry, int64_t log)
{
    cuckoo_table *at = registry->first;
    while (at && !has_log(at, log))
        at = at->listed.next;
    return at;
}

/* Connects the first table of a list of names whose header has this log. */
static cuckoo_table *connect_one(cuckoo_registry *registry, int64_t log, const char *schema,
                                 sqlite3_stmt *names, int *rc)
{
    cuckoo_table *table = NULL;
    while (*rc == SQLITE_OK && !table && sqlite3_step(names) == SQLITE_ROW) {
        bool has = false;
        const char *name = (const char *)sqlite3_column_text(names, 0);
        *rc = name ? cuckoo_paged_has_log(registry->db, schema, name, log, &has) : SQLITE_NOMEM;
        if (*rc == SQLITE_OK && has)
            cuckoo_registry_connect(registry, schema, name, rc);
        *rc = cuckoo_sql_rolls_back(*rc) ? *rc : SQLITE_OK;
        table = has ? connected(registry, log) : NULL;
    }
    *rc = cuckoo_sql_end(names, *rc);
    return table;
}

/* Tries the name that the filter had when the log was created first; it may have been renamed. */
static cuckoo_table *connect_in(cuckoo_registry *registry, int64_t log, const char *schema,
                                const char *name, int *rc)
{
    sqlite3_stmt *names;
    if (sqlite3_txn_state(registry->db, schema) != SQLITE_TXN_WRITE)
        return NULL;
    *rc = cuckoo_sql_prepare(registry->db, &names,
                             "SELECT name FROM \"%w\".sqlite_master WHERE type = 'table' AND lower(sql) "
                             "GLOB 'create virtual table*cuckoo_filter*content*' ORDER BY name <> %Q",
                             schema, name);
    return *rc == SQLITE_OK ? connect_one(registry, log, schema, names, rc) : NULL;
}

static cuckoo_table *connect(cuckoo_registry *registry, int64_t log, const char *name, int *rc)
{
    sqlite3_stmt *schemas;
    cuckoo_table *table = NULL;
    *rc = cuckoo_sql_prepare(registry->db, &schemas, "PRAGMA database_list");
    while (*rc == SQLITE_OK && !table && sqlite3_step(schemas) == SQLITE_ROW) {
        const char *schema = (const char *)sqlite3_column_text(schemas, 1);
        table = schema ? connect_in(registry, log, schema, name, rc) : NULL;
    }
    *rc = cuckoo_sql_end(schemas, *rc);
    return table;
}

/* ---- joining the transaction ---- */

/* True if the table need not join yet. The row that is about to be written is not counted yet. Reading
** the length of the log takes longer than writing a row, so it is read again only when half of the rows
** that it had room for may have been written. */
static bool may_wait(cuckoo_table *table, int64_t *spare)
{
    int64_t rows = 0;
    if (!cuckoo_table_is_seen(table))
        return false;
    if (*spare > 0)
        return (*spare)-- > 0;
    if (cuckoo_shadow_integer(&table->paged.shadow, CUCKOO_LAST_LOGGED, NULL, &rows) != SQLITE_OK)
        return false;
    *spare = (cuckoo_table_due(table) - rows) / 2;
    return rows + 1 < cuckoo_table_due(table);
}

static int join_one(cuckoo_registry *registry, int64_t log, cuckoo_table **table)
{
    int rc = cuckoo_registry_join(*table);
    *table = connected(registry, log);
    return rc;
}

/* A renamed table stays while statements that use it do, and cannot join. After a failure this is tried
** again some rows later. An error that rolls back ends the statement. */
static int join(cuckoo_registry *registry, int64_t log, const char *name, cuckoo_table **table)
{
    int rc = SQLITE_OK;
    if (!cuckoo_registry_may_join(registry))
        return SQLITE_OK;
    if (*table)
        rc = join_one(registry, log, table);
    if (*table == NULL && !cuckoo_sql_rolls_back(rc)) {
        cuckoo_registry_refuse(registry);
        *table = connect(registry, log, name, &rc);
        rc = *table && rc == SQLITE_OK ? join_one(registry, log, table) : rc;
    }
    return cuckoo_sql_rolls_back(rc) ? rc : SQLITE_OK;
}

static int touch(cuckoo_registry *registry, int64_t log, const char *name)
{
    int rc = SQLITE_OK;
    cuckoo_known *last = &registry->touched;
    cuckoo_table *table = last->changes == registry->changes ? last->table : NULL;
    if (table == NULL || !has_log(table, log))
        table = connected(registry, log);
    if (table != last->table)
        registry->spare = 0;
    if (table == NULL || !(table->joined || may_wait(table, &registry->spare)))
        rc = join(registry, log, name, &table);
    if (table && table->joined && table->wrote == 0)
        table->wrote = 1;
    *last = (cuckoo_known){table, registry->changes};
    return rc;
}

/* ---- randomblob ---- */

static void give_blob(sqlite3_context *context, int64_t n)
{
    char few[16];
    n = n < 1 ? 1 : n;
    bool fits = n <= sqlite3_limit(sqlite3_context_db_handle(context), SQLITE_LIMIT_LENGTH, -1),
         is_small = n <= (int64_t)sizeof few;
    void *bytes = is_small ? few : fits ? sqlite3_malloc64((uint64_t)n) : NULL;
    if (bytes)
        sqlite3_randomness((int)n, bytes);
    if (bytes && fits)
        sqlite3_result_blob64(context, bytes, (uint64_t)n, is_small ? SQLITE_TRANSIENT : sqlite3_free);
    else if (fits)
        sqlite3_result_error_nomem(context);
    else
        sqlite3_result_error_toobig(context);
}

enum { TAG = 8 /* the number in CUCKOO_TAG_BYTES */ };

/* Reads the identity of a log, before a space and the name of the filter. NULL: it names no log. */
static const char *read_log(const char *text, int64_t *log)
{
    enum { DIGITS = 16 };
    static const char opening[] = CUCKOO_TAG_BYTES "cuckoo_log_";
    const char *at = text + sizeof opening - 1, *end = at + DIGITS;
    uint64_t id = 0;
    if (strncmp(text, opening, sizeof opening - 1) != 0)
        return NULL;
    for (; at < end; at++) {
        unsigned decimal = (unsigned)(*at - '0'), letter = (unsigned)(*at - 'a');
        if (decimal > 9 && letter > 5)
            return NULL;
        id = id << 4 | (decimal > 9 ? letter + 10 : decimal);
    }
    *log = (int64_t)id;
    return *end == ' ' ? end + 1 : NULL;
}

static void random_blob(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    int64_t log;
    int rc = SQLITE_OK;
    if (argc != 1) {
        sqlite3_result_error(context, "wrong number of arguments to function randomblob()", -1);
        return;
    }
    bool is_text = sqlite3_value_type(argv[0]) == SQLITE_TEXT;
    const char *text = is_text ? (const char *)sqlite3_value_text(argv[0]) : NULL,
               *name = text ? read_log(text, &log) : NULL;
    if (name)
        rc = touch(sqlite3_user_data(context), log, name);
    if (rc == SQLITE_OK)
        give_blob(context, name ? TAG : sqlite3_value_int64(argv[0]));
    else
        sqlite3_result_error_code(context, rc);
}

/* Registering it twice makes SQLite prepare again the statements that use its own randomblob; while a
** statement is running, SQLite does not allow that. */
int cuckoo_touch_register(cuckoo_registry *registry)
{
    int rc = SQLITE_OK;
    for (int i = 0; i < 2 && rc == SQLITE_OK; i++) {
        registry->shared.references++;
        int one =
            sqlite3_create_function_v2(registry->db, "randomblob", -1, SQLITE_UTF8 | SQLITE_INNOCUOUS,
                                       registry, random_blob, NULL, NULL, cuckoo_registry_release);
        rc = i == 0 ? one : SQLITE_OK;
    }
    return rc;
}
