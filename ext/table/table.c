/* SPDX-License-Identifier: MIT */
#include "table.h"

#include "../keys/column_rule.h"
#include "../keys/key.h"
#include "../sqlite/errors.h"
#include "../sqlite/sql.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

/* ---- its filter ---- */

void cuckoo_table_free(cuckoo_table *table)
{
    if (table->store)
        cuckoo_registry_give(table->registry, table->store);
    cuckoo_registry_release(table->registry);
    sqlite3_free(table->schema);
    sqlite3_free(table->name);
    sqlite3_free(table->content);
    sqlite3_free(table->column);
    sqlite3_free(table->later);
    sqlite3_free(table->base.zErrMsg);
    sqlite3_free(table);
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* A store of this name that was made for something else belonged to another table. */
static bool is_for(const cuckoo_table *table, const cuckoo_store *store)
{
    return same_text(table->content, store->follow.given_table) &&
           same_text(table->column, store->follow.given_column) && same_text(table->later, store->later);
}

static int begin_store(cuckoo_table *table)
{
    table->store->later = table->later ? sqlite3_mprintf("%s", table->later) : NULL;
    if (table->later && table->store->later == NULL)
        return SQLITE_NOMEM;
    table->store->told = table->content == NULL;
    if (table->content == NULL)
        return SQLITE_OK;
    char *content = sqlite3_mprintf("%s", table->content),
         *column = sqlite3_mprintf("%s", table->column);
    table->store->follow =
        (cuckoo_follow){.given_table = content, .given_column = column, .sample = CUCKOO_SAMPLE};
    return content && column ? SQLITE_OK : SQLITE_NOMEM;
}

int cuckoo_table_take(cuckoo_table *table, bool create)
{
    assert(table->name != NULL && table->schema != NULL);
    bool made;
    int rc =
        cuckoo_registry_take(table->registry, table->schema, table->name, create, &table->store, &made);
    if (rc == SQLITE_OK && !made && !is_for(table, table->store)) {
        cuckoo_registry_give(table->registry, table->store);
        rc = cuckoo_registry_take(table->registry, table->schema, table->name, true, &table->store,
                                  &made);
    }
    if (rc == SQLITE_OK)
        table->store->options = table->options;
    return rc == SQLITE_OK && made ? begin_store(table) : rc;
}

cuckoo_store *cuckoo_table_store(cuckoo_table *table)
{
    if (!table->store->dead)
        return table->store;
    cuckoo_store *dead = table->store;
    if (cuckoo_table_take(table, false) != SQLITE_OK) {
        if (table->store)
            cuckoo_registry_give(table->registry, table->store);
        table->store = dead;
        return NULL;
    }
    cuckoo_registry_give(table->registry, dead);
    return table->store;
}

/* ---- its columns ---- */

/* The type of the column that the filter follows, as a word of SQL, so that "x IN seen" compares
** like x IN that column. Without one, that of the filter, which says less of texts. "": none. */
static const char *type_of_key(const cuckoo_table *table, const char *t, const char *k)
{
    const char *type = NULL;
    int rc = t ? sqlite3_table_column_metadata(table->registry->db, table->schema, t, k, &type, NULL,
                                               NULL, NULL, NULL)
               : SQLITE_ERROR;
    return rc == SQLITE_OK                          ? cuckoo_column_affinity(type)
           : table->affinity == CF_AFFINITY_NUMERIC ? "NUMERIC"
           : table->affinity == CF_AFFINITY_REAL    ? "REAL"
                                                    : "";
}

/* SQLite obeys OR IGNORE only where it is told so. */
int cuckoo_table_declare(cuckoo_table *table, const char *t, const char *k)
{
    sqlite3 *db = table->registry->db;
    char *sql =
        sqlite3_mprintf("CREATE TABLE x(key %s COLLATE %s, \"%w\" HIDDEN, cuckoo_touch HIDDEN, "
                        "cuckoo_id HIDDEN PRIMARY KEY) WITHOUT ROWID",
                        type_of_key(table, t, k), cuckoo_collation_word(table->collation), table->name);
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
    int rc = what ? cuckoo_say(&table->base.zErrMsg, code, "%s: %s", table->name, what) : SQLITE_NOMEM;
    sqlite3_free(what);
    return rc;
}

int cuckoo_table_explain(cuckoo_table *table, int rc, const char *why)
{
    char *what = NULL;
    if (rc != SQLITE_ERROR && rc != SQLITE_IOERR && rc != SQLITE_CORRUPT_VTAB && rc != CUCKOO_NEWER)
        return rc;
    /* After something was written, damage is an error that rolls back. */
    bool damaged = rc == SQLITE_IOERR && table->store->paged.shadow.damage;
    int code = cuckoo_explain(&what, damaged ? SQLITE_CORRUPT_VTAB : rc, why);
    if (what)
        code = cuckoo_table_fail(table, damaged ? rc : code, "%s", what);
    sqlite3_free(what);
    return code;
}

/* ---- beginning and ending a use ---- */

int cuckoo_table_begin(cuckoo_table *table, cuckoo_use use)
{
    const char *why = "";
    sqlite3_free(
        table->base.zErrMsg); /* SQLite does not take over what xSavepoint and xIntegrity said */
    table->base.zErrMsg = NULL;
    cuckoo_store *store = cuckoo_table_store(table);
    if (store && use < CUCKOO_TELL)
        cuckoo_registry_join_writer(table->registry, store);
    int rc = store ? cuckoo_store_begin(store, use, &why) : SQLITE_NOMEM;
    return rc == SQLITE_OK ? rc : cuckoo_table_explain(table, rc, why);
}

static int explain_end(cuckoo_table *table, int rc)
{
    return table->base.zErrMsg ? rc : cuckoo_table_explain(table, rc, cuckoo_store_damage(table->store));
}

int cuckoo_table_end(cuckoo_table *table, int rc)
{
    assert(table->store != NULL);
    int rc2 = cuckoo_store_end(table->store);
    return explain_end(table, rc == SQLITE_OK ? rc2 : rc);
}

int cuckoo_table_blame(sqlite3_vtab *base, int rc)
{
    bool untold = rc == SQLITE_ERROR && base->zErrMsg == NULL;
    if (untold && cuckoo_table_begin(cuckoo_table_of(base), CUCKOO_INSPECT) == SQLITE_OK)
        cuckoo_table_end(cuckoo_table_of(base), SQLITE_OK);
    return rc;
}

int cuckoo_table_count(cuckoo_table *table, uint64_t *rows)
{
    const cuckoo_follow *follow = &table->store->follow;
    if (table->store->asks_content) {
        sqlite3_int64 all = 0;
        int asked = cuckoo_sql_integer(table->registry->db, &all,
                                       "SELECT count(t.\"%w\") FROM \"%w\".\"%w\" AS t", follow->column,
                                       table->schema, follow->table);
        *rows = (uint64_t)all;
        return asked;
    }
    int rc = cuckoo_store_items(table->store, rows);
    if (rc != SQLITE_OK || *rows <= UINT32_MAX)
        return rc;
    sqlite3_int64 n = (sqlite3_int64)*rows;
    *rows = 0;
    return cuckoo_table_fail(table, SQLITE_ERROR,
                             "it counts %lld keys, too many for rows; see items in cf_table_info('%q')",
                             n, table->name);
}

int cuckoo_table_most(cuckoo_store *store, sqlite3_value *key, uint64_t *most)
{
    uint64_t hash;
    int64_t copies;
    const cf_geometry *geometry = &store->paged.filter.geometry;
    *most = UINT64_MAX;
    if (cuckoo_key_vague(key) || cuckoo_key_hash(key, geometry, &hash) != CUCKOO_KEY_OK)
        return SQLITE_OK;
    int rc = cuckoo_store_most(store, hash, &copies);
    *most = copies > 0 ? (uint64_t)copies : 0;
    return rc;
}
