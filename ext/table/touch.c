/* SPDX-License-Identifier: MIT */
#include "touch.h"

#include "../sqlite/sql.h"

#include <string.h>

/* cf_touch(schema, table, log, rowid): a row was written to this log. Its rowid there is also the number
** of rows, since a drain empties the log. */
void cuckoo_touch_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    cuckoo_registry *registry = cuckoo_function_shared(context);
    registry->touches++;
    const char *schema = (const char *)sqlite3_value_text(argv[0]),
               *name = (const char *)sqlite3_value_text(argv[1]);
    int64_t log = sqlite3_value_int64(argv[2]);
    if (schema == NULL || name == NULL)
        return;
    cuckoo_table *table = cuckoo_registry_of_log(registry, log, schema, name);
    if (table == NULL || !table->joined) {
        int rc = cuckoo_registry_join(registry, schema, name);
        if (cuckoo_sql_rolls_back(rc)) /* the row that fired this is gone, too */
            sqlite3_result_error_code(context, rc);
        table = cuckoo_registry_of_log(registry, log, schema, name);
    }
    if (table)
        table->wrote = sqlite3_value_int64(argv[3]);
}

/* ---- the TEMP trigger ---- */

int cuckoo_touch_unwatch(const cuckoo_table *table)
{
    const cuckoo_shadow *shadow = &table->paged.shadow;
    return cuckoo_sql_run(shadow->db, "DROP TRIGGER IF EXISTS temp.\"" CUCKOO_TOUCH_NAME "\"",
                          shadow->log);
}

/* Without the trigger nothing goes wrong. So an error counts only if it has rolled back more than
** itself, or there is no memory. */
static int harm_of(int rc, bool within)
{
    return rc == SQLITE_NOMEM || (cuckoo_sql_rolls_back(rc) && within) ? rc : SQLITE_OK;
}

static int make_trigger(const cuckoo_table *table, const char *filter)
{
    char *had = NULL;
    const cuckoo_shadow *shadow = &table->paged.shadow;
    char *text =
        sqlite3_mprintf("CREATE TRIGGER \"" CUCKOO_TOUCH_NAME "\" AFTER INSERT ON "
                        "\"%w\".\"" CUCKOO_LOG "\" BEGIN SELECT cf_touch(%Q, %Q, %lld, "
                        "new.rowid); END",
                        shadow->log, shadow->schema, shadow->log, shadow->schema, filter, shadow->log);
    int rc =
        text ? cuckoo_sql_text(shadow->db, &had,
                               "SELECT sql FROM sqlite_temp_master WHERE name = '" CUCKOO_TOUCH_NAME "'",
                               shadow->log)
             : SQLITE_NOMEM;
    if (rc == SQLITE_OK && !(had && strcmp(had, text) == 0)) {
        rc = had ? cuckoo_touch_unwatch(table) : SQLITE_OK;
        if (rc == SQLITE_OK && cuckoo_registry_hears(table->registry))
            rc = cuckoo_sql_run(shadow->db, "CREATE TEMP %s", text + strlen("CREATE "));
    }
    sqlite3_free(had);
    sqlite3_free(text);
    return rc;
}

int cuckoo_touch_watch(cuckoo_table *table, const char *filter, int running)
{
    cuckoo_paged *paged = &table->paged;
    sqlite3 *db = paged->shadow.db;
    bool within = running > 0 || !sqlite3_get_autocommit(db);
    if (cuckoo_sql_running(db, false) > running)
        return SQLITE_OK;
    int rc = cuckoo_paged_load(paged);
    if (rc == SQLITE_OK && cuckoo_log_may_be_watched(&paged->shadow))
        rc = make_trigger(table, filter);
    return harm_of(rc, within);
}

/* ---- when the extension is loaded ---- */

void cuckoo_touch_all(sqlite3 *db)
{
    int rc;
    char *name = NULL;
    bool within = !sqlite3_get_autocommit(db);
    if (cuckoo_sql_running(db, false) > 0)
        return;
    do {
        sqlite3_stmt *statement;
        char *last = name;
        rc = cuckoo_sql_text(
            db, &name,
            "SELECT min(name) FROM main.sqlite_master WHERE type = 'table' AND name > %Q AND "
            "lower(sql) GLOB 'create virtual table*cuckoo_filter*content*'",
            last ? last : "");
        sqlite3_free(last);
        if (rc == SQLITE_OK && name) {
            rc = cuckoo_sql_prepare(db, &statement, "SELECT 1 FROM main.\"%w\" LIMIT 0", name);
            sqlite3_finalize(statement);
        }
    } while (name && harm_of(rc, within) == SQLITE_OK);
    sqlite3_free(name);
    cuckoo_sql_run(db, " "); /* clears the message of a failure */
}
