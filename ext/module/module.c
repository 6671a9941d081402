/* SPDX-License-Identifier: MIT */
#include "module.h"

#include "../keys/column_rule.h"
#include "../keys/key.h"
#include "../sqlite/errors.h"
#include "../sqlite/sql.h"

#include <stdarg.h>
#include <string.h>

/* ---- its columns ---- */

/* The type of the synced column, as a word of SQL, so that "x IN seen" compares like x IN that column.
** If it is unknown, a type from the key rule of the filter, which is less exact. "": none. */
static const char *type_of_key(cuckoo_table *table, const char *t, const char *k)
{
    const char *type, *word = "", *schema = table->paged.shadow.schema;
    sqlite3 *db = table->registry->db;
    if (t && cuckoo_column_look(db, schema, t, k, &type, NULL) == SQLITE_OK &&
        cuckoo_column_affinity(db, schema, t, type, &word, NULL) == SQLITE_OK) {
        bool rounds = table->paged.shadow.rowids && strcmp(word, "REAL") == 0; /* large integers */
        return rounds ? "NUMERIC" : word;
    }
    return table->affinity == CF_AFFINITY_NUMERIC ? "NUMERIC"
           : table->affinity == CF_AFFINITY_REAL  ? "REAL"
                                                  : "";
}

/* SQLite supports OR IGNORE only if it is enabled. */
int cuckoo_table_declare(cuckoo_table *table, const char *t, const char *k)
{
    sqlite3 *db = table->registry->db;
    char *sql =
        sqlite3_mprintf("CREATE TABLE x(key %s COLLATE %s, \"%w\" HIDDEN, "
                        "cuckoo_id HIDDEN PRIMARY KEY%s) WITHOUT ROWID",
                        type_of_key(table, t, k), cuckoo_collation_words[table->collation],
                        table->paged.shadow.table, table->paged.shadow.rowids ? ", row INTEGER" : "");
    int rc = sql ? sqlite3_declare_vtab(db, sql) : SQLITE_NOMEM;
    sqlite3_free(sql);
    return rc ? rc : sqlite3_vtab_config(db, SQLITE_VTAB_CONSTRAINT_SUPPORT, (int)table->once);
}

/* ---- errors ---- */

int cuckoo_table_fail(cuckoo_table *table, int code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *what = sqlite3_vmprintf(format, arguments);
    va_end(arguments);
    int rc = what ? cuckoo_say(&table->base.zErrMsg, code, "%s: %s", table->paged.shadow.table, what)
                  : SQLITE_NOMEM;
    sqlite3_free(what);
    return rc;
}

int cuckoo_table_explain(cuckoo_table *table, int rc, const char *why)
{
    char *what = NULL;
    if (!cuckoo_table_is_told(rc) && rc != SQLITE_TOOBIG && rc != SQLITE_IOERR)
        return rc;
    /* After something was written, corruption is an error that rolls back. */
    bool damaged = rc == SQLITE_IOERR && table->paged.shadow.damage;
    int code = cuckoo_explain(&what, damaged ? SQLITE_CORRUPT_VTAB : rc, why);
    if (what)
        code = cuckoo_table_fail(table, damaged ? rc : code, "%s", what);
    sqlite3_free(what);
    return code;
}

/* ---- keys whose type was never added ---- */

int cuckoo_table_has_inexact(cuckoo_table *table, sqlite3_value *key, bool *has)
{
    cf_geometry rule;
    int rc = cuckoo_table_rule(table, &rule);
    *has = rc == SQLITE_OK && cuckoo_key_always(&rule, key);
    return rc;
}

int cuckoo_table_ask_anew(cuckoo_table *table, sqlite3_value *key, uint64_t *hash)
{
    cf_geometry rule;
    char **why = &table->paged.shadow.damage;
    int rc = cuckoo_table_rule(table, &rule);
    cuckoo_key kind = rc == SQLITE_OK ? cuckoo_key_read(key, &rule, true, hash) : CUCKOO_KEY_OK;
    if (kind != CUCKOO_KEY_UNFIT)
        return kind == CUCKOO_KEY_NOMEM ? SQLITE_NOMEM : rc;
    sqlite3_free(*why);
    *why = cuckoo_key_unfit_value(&rule, key);
    return *why ? SQLITE_MISMATCH : SQLITE_NOMEM;
}

/* ---- beginning and ending a use ---- */

int cuckoo_module_begin(cuckoo_table *table, cuckoo_use use)
{
    sqlite3_free(
        table->base.zErrMsg); /* SQLite does not free the messages of xSavepoint and xIntegrity */
    table->base.zErrMsg = NULL;
    int rc = cuckoo_registry_use(table, use);
    return rc == SQLITE_OK ? rc : cuckoo_table_explain(table, rc, cuckoo_table_damage(table, rc));
}

int cuckoo_module_end(cuckoo_table *table, int rc)
{
    rc = cuckoo_table_end_work(table, rc, &table->base.zErrMsg);
    return table->base.zErrMsg ? rc : cuckoo_table_explain(table, rc, cuckoo_table_damage(table, rc));
}
