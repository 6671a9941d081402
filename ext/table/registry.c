/* SPDX-License-Identifier: MIT */
#include "registry.h"

#include "../keys/column_rule.h"
#include "../sqlite/errors.h"
#include "../sqlite/sql.h"

#include <assert.h>
#include <string.h>

/* ---- the list ---- */

cuckoo_registry *cuckoo_registry_new(sqlite3 *db)
{
    cuckoo_registry *registry = sqlite3_malloc64(sizeof *registry);
    if (registry)
        *registry = (cuckoo_registry){.shared = {1, cuckoo_registry_release}, .db = db, .refused = -1};
    return registry;
}

void cuckoo_registry_release(void *pointer)
{
    cuckoo_registry *registry = pointer;
    assert(registry == NULL || registry->shared.references > 0);
    if (registry == NULL || --registry->shared.references > 0)
        return;
    sqlite3_free(registry->why);
    sqlite3_free(registry);
}

bool cuckoo_list_is_named(const cuckoo_table *table, const char *schema, const char *name)
{
    return sqlite3_stricmp(table->paged.shadow.table, name) == 0 &&
           sqlite3_stricmp(table->paged.shadow.schema, schema) == 0;
}

void cuckoo_list_add(cuckoo_registry *registry, cuckoo_table *table)
{
    table->registry = registry;
    table->listed.next = registry->first;
    registry->first = table;
    registry->shared.references++;
    registry->changes++;
}

static void free_table(cuckoo_table *table)
{
    cuckoo_paged_free(&table->paged);
    cuckoo_follow_free(&table->follow);
    cuckoo_net_forget(&table->net);
    sqlite3_free(table->later);
    sqlite3_free(table->called);
    sqlite3_free(table->base.zErrMsg);
    cuckoo_registry_release(table->registry);
    sqlite3_free(table);
}

void cuckoo_list_remove(cuckoo_table *table)
{
    cuckoo_table **at = &table->registry->first;
    for (; *at != table; at = &(*at)->listed.next)
        assert(*at != NULL);
    *at = table->listed.next;
    table->registry->changes++;
    table->listed.released = true;
    if (table->listed.uses == 0)
        free_table(table);
}

void cuckoo_list_keep(cuckoo_table *table)
{
    table->listed.uses++;
}

void cuckoo_list_give(cuckoo_table *table)
{
    assert(table->listed.uses > 0);
    if (--table->listed.uses == 0 && table->listed.released)
        free_table(table);
}

/* ---- finding a table ---- */

/* When SQLite compiles a statement on a virtual table, it connects the table and calls its xBestIndex.
** This shows which table of this name SQLite uses now. There may be others: statements that were
** compiled before the schema changed keep theirs. */
cuckoo_table *cuckoo_registry_connect(cuckoo_registry *registry, const char *schema, const char *name,
                                      int *rc)
{
    sqlite3_stmt *statement;
    registry->planned = NULL;
    *rc = cuckoo_sql_prepare(registry->db, &statement, "SELECT 1 FROM \"%w\".\"%w\" LIMIT 0", schema,
                             name);
    if (*rc == SQLITE_ERROR && registry->planned)
        *rc = SQLITE_OK; /* it cannot show the rows of its content (front.c) */
    else if (*rc == SQLITE_ERROR && strstr(sqlite3_errmsg(registry->db), "no such table"))
        *rc = SQLITE_SCHEMA; /* it is in the schema, but SQLite has not read it */
    sqlite3_finalize(statement);
    cuckoo_table *table = registry->planned;
    return *rc == SQLITE_OK && table && cuckoo_list_is_named(table, schema, name) ? table : NULL;
}

/* Looks in one schema for a name that may begin with the schema. *stop: something has this name. */
static cuckoo_table *look_in(cuckoo_registry *registry, const char *schema, const char *name, bool *stop,
                             int *rc)
{
    char *found;
    *rc =
        cuckoo_sql_text(registry->db, &found,
                        "SELECT CASE type WHEN 'table' THEN name ELSE '' END FROM \"%w\".sqlite_master "
                        "WHERE type IN ('table', 'view') AND (name = %Q COLLATE NOCASE OR "
                        "'%q.' || name = %Q COLLATE NOCASE) ORDER BY length(name) DESC",
                        schema, name, schema, name);
    *stop = found != NULL;
    cuckoo_table *table = found && *found ? cuckoo_registry_connect(registry, schema, found, rc) : NULL;
    sqlite3_free(found);
    return table;
}

/* Looks in temp, main, then the attached schemas in order, as SQLite does. The PRAGMA is used as a
** statement, because its table-valued function may keep a freed schema before SQLite 3.54. */
cuckoo_table *cuckoo_registry_find(cuckoo_registry *registry, const char *name, int *rc)
{
    assert(name != NULL);
    bool stop = false;
    *rc = SQLITE_OK;
    cuckoo_table *table = look_in(registry, "temp", name, &stop, rc);
    sqlite3_stmt *schemas;
    if (stop || *rc != SQLITE_OK)
        return table;
    *rc = cuckoo_sql_prepare(registry->db, &schemas, "PRAGMA database_list");
    while (*rc == SQLITE_OK && !stop && sqlite3_step(schemas) == SQLITE_ROW) {
        const char *schema = (const char *)sqlite3_column_text(schemas, 1);
        if (schema && sqlite3_stricmp(schema, "temp") != 0)
            table = look_in(registry, schema, name, &stop, rc);
    }
    *rc = cuckoo_sql_end(schemas, *rc);
    return table;
}

/* ---- joining a transaction ---- */

/* After a failure some rows of a statement must pass before the next attempt. */
bool cuckoo_registry_may_join(const cuckoo_registry *registry)
{
    enum { MORE = 64 /* rows */ };
    unsigned since = (unsigned)sqlite3_total_changes(registry->db) - (unsigned)registry->refused;
    return registry->refused < 0 || since >= MORE;
}

void cuckoo_registry_refuse(cuckoo_registry *registry)
{
    registry->refused = sqlite3_total_changes(registry->db);
}

/* The table must outlive the statement. */
int cuckoo_registry_join(cuckoo_table *table)
{
    cuckoo_registry *registry = table->registry;
    const cuckoo_shadow *shadow = &table->paged.shadow;
    sqlite3_int64 rowid = sqlite3_last_insert_rowid(registry->db);
    cuckoo_list_keep(table);
    int rc = cuckoo_sql_run(registry->db, "INSERT INTO \"%w\".\"%w\"(\"%w\") SELECT 1 WHERE 0",
                            shadow->schema, shadow->table, shadow->table);
    if (rc == SQLITE_ERROR) { /* for SQLite the name may belong to another table */
        cuckoo_table_forget(table);
        cuckoo_shadow_set_log(&table->paged.shadow, 0);
    }
    cuckoo_list_give(table);
    sqlite3_set_last_insert_rowid(registry->db, rowid);
    registry->refused = -1;
    if (rc != SQLITE_OK)
        cuckoo_registry_refuse(registry);
    return rc;
}

static int join_writer(cuckoo_table *table)
{
    const cuckoo_shadow *shadow = &table->paged.shadow;
    if (!cuckoo_table_follows(table) || table->joined || !cuckoo_registry_may_join(table->registry) ||
        sqlite3_txn_state(shadow->db, shadow->schema) != SQLITE_TXN_WRITE)
        return SQLITE_OK;
    int rc = cuckoo_registry_join(table);
    return cuckoo_sql_rolls_back(rc) ? rc : SQLITE_OK;
}

int cuckoo_registry_use(cuckoo_table *table, cuckoo_use use)
{
    int rc = use < CUCKOO_TELL ? join_writer(table) : SQLITE_OK;
    return rc == SQLITE_OK ? cuckoo_table_begin(table, use) : rc;
}

/* ---- using a table by its name ---- */

void cuckoo_registry_let_go(cuckoo_table *table)
{
    cuckoo_shadow_release(&table->paged.shadow);
    cuckoo_list_give(table);
}

/* Holds a read transaction on the database of the table (shadow.h): outside of one SQLite does not know
** about commits by other connections. This may load a new schema, after which any table may have been
** freed. NULL: this table was, or *rc is an error. */
static cuckoo_table *hold(cuckoo_table *table, int *prepared, int *rc)
{
    cuckoo_list_keep(table);
    *rc = cuckoo_shadow_hold(&table->paged.shadow, prepared);
    if (*rc == SQLITE_OK && !table->listed.released)
        return table;
    if (*rc == SQLITE_OK)
        cuckoo_shadow_release(&table->paged.shadow);
    cuckoo_list_give(table);
    return NULL;
}

/* In attached schemas names are looked up each time: their meaning also depends on main. */
void cuckoo_registry_remember(cuckoo_table *table, const char *name, int prepared)
{
    const char *schema = table->paged.shadow.schema;
    bool may = sqlite3_stricmp(schema, "main") == 0 || sqlite3_stricmp(schema, "temp") == 0;
    sqlite3_free(table->called);
    table->called = name && may ? sqlite3_mprintf("%s", name) : NULL;
    table->called_at = prepared;
}

/* Finds the table and holds it. Within the transaction nobody can change the result. */
static cuckoo_table *find_anew(cuckoo_registry *registry, const char *name, int *rc)
{
    int prepared;
    cuckoo_table *held = NULL, *found = cuckoo_registry_find(registry, name, rc);
    while (found && found != held) {
        if (held)
            cuckoo_registry_let_go(held);
        held = hold(found, &prepared, rc);
        found = *rc == SQLITE_OK ? cuckoo_registry_find(registry, name, rc) : NULL;
    }
    if (held && found)
        cuckoo_registry_remember(held, name, prepared);
    else if (held)
        cuckoo_registry_let_go(held);
    return found;
}

static cuckoo_table *table_called(const cuckoo_registry *registry, const char *name)
{
    cuckoo_table *at = registry->first;
    while (at && (!at->called || strcmp(at->called, name) != 0))
        at = at->listed.next;
    return at;
}

/* Holds the table that had this name before, if it still has it because no schema has changed. */
static cuckoo_table *find_again(cuckoo_registry *registry, const char *name, int *rc)
{
    int prepared, at;
    cuckoo_table *table;
    while (*rc == SQLITE_OK && (table = table_called(registry, name)) != NULL) {
        at = table->called_at;
        table = hold(table, &prepared, rc);
        if (table == NULL || prepared == at)
            return table;
        cuckoo_registry_remember(table, NULL, 0);
        cuckoo_registry_let_go(table);
    }
    return NULL;
}

/* The table that a value names, in a read transaction. NULL: there is none, or *rc is an error. */
static cuckoo_table *find_held(cuckoo_registry *registry, sqlite3_value *value,
                               const cuckoo_known *known, int *rc)
{
    cuckoo_table *table = known->changes == registry->changes ? known->table : NULL;
    *rc = SQLITE_OK;
    if (table && cuckoo_shadow_in_transaction(&table->paged.shadow, false)) {
        table->paged.shadow.holds++;
        cuckoo_list_keep(table);
        return table;
    }
    const char *text =
        sqlite3_value_type(value) == SQLITE_TEXT ? (const char *)sqlite3_value_text(value) : NULL;
    if (text == NULL || strlen(text) != (size_t)sqlite3_value_bytes(value))
        return NULL;
    table = find_again(registry, text, rc);
    return table || *rc != SQLITE_OK ? table : find_anew(registry, text, rc);
}

/* A table or view in the TEMP schema, where SQLite looks first, may have the name of a filter. */
static bool is_hidden(cuckoo_registry *registry, const char *name)
{
    sqlite3_int64 has = 0;
    cuckoo_sql_integer(registry->db, &has,
                       "SELECT count(*) FROM main.sqlite_master WHERE name = %Q COLLATE NOCASE AND "
                       "lower(sql) GLOB 'create virtual table*cuckoo_filter*'",
                       name);
    return has != 0;
}

static void append_tables(sqlite3 *db, const char *schema, sqlite3_str *list, int *more)
{
    sqlite3_stmt *names;
    bool plain = sqlite3_stricmp(schema, "main") == 0;
    int rc = cuckoo_sql_prepare(db, &names,
                                "SELECT name FROM \"%w\".sqlite_master WHERE lower(sql) GLOB "
                                "'create virtual table*cuckoo_filter*' LIMIT %d",
                                schema, *more);
    for (; rc == SQLITE_OK && sqlite3_step(names) == SQLITE_ROW; --*more)
        sqlite3_str_appendf(list, "%s%s%s%s", sqlite3_str_length(list) ? ", " : "; the tables are ",
                            plain ? "" : schema, plain ? "" : ".", sqlite3_column_text(names, 0));
    sqlite3_finalize(names);
}

/* The remedy (sqlite3_malloc; NULL: out of memory): the filter tables, or how to create one. */
static char *remedy_for(cuckoo_registry *registry, const char *text)
{
    int more = 20; /* tables */
    sqlite3_stmt *schemas;
    if (strchr(text, '.') == NULL && is_hidden(registry, text))
        return sqlite3_mprintf("; a TEMP table or view of this name hides it: write 'main.%q'", text);
    sqlite3_str *list = sqlite3_str_new(NULL);
    int rc = cuckoo_sql_prepare(registry->db, &schemas, "PRAGMA database_list");
    while (rc == SQLITE_OK && sqlite3_step(schemas) == SQLITE_ROW)
        append_tables(registry->db, (const char *)sqlite3_column_text(schemas, 1), list, &more);
    sqlite3_finalize(schemas);
    if (sqlite3_str_length(list) == 0)
        sqlite3_str_appendall(list, "; create one: CREATE VIRTUAL TABLE known USING "
                                    "cuckoo_filter(content='users(email)')");
    return sqlite3_str_finish(list);
}

const char *cuckoo_registry_no_table(cuckoo_registry *registry, sqlite3_value *name)
{
    int type = sqlite3_value_type(name);
    const char *text = type == SQLITE_TEXT ? (const char *)sqlite3_value_text(name) : NULL;
    char *remedy = text ? remedy_for(registry, text) : NULL;
    sqlite3_free(registry->why);
    registry->why =
        text ? sqlite3_mprintf("no such cuckoo_filter table: " CUCKOO_PART "%s", text,
                               remedy ? remedy : "")
             : sqlite3_mprintf(
                   "the first argument must be the name of a cuckoo_filter table, got %s%s",
                   cuckoo_show(name).text,
                   type == SQLITE_BLOB ? "; functions without table in their name take a blob" : "");
    sqlite3_free(remedy);
    return registry->why ? registry->why : "no such cuckoo_filter table";
}

int cuckoo_registry_begin(cuckoo_registry *registry, sqlite3_value *name, cuckoo_known *known,
                          cuckoo_use use, cuckoo_table **table, const char **why)
{
    int rc;
    *table = find_held(registry, name, known, &rc);
    *known = (cuckoo_known){*table, registry->changes};
    if (*table) {
        rc = cuckoo_registry_use(*table, use);
        *why = cuckoo_table_damage(*table, rc);
        return rc;
    }
    *why = rc == SQLITE_OK       ? cuckoo_registry_no_table(registry, name)
           : rc == SQLITE_SCHEMA ? CUCKOO_UNREAD_TABLE
           : rc == SQLITE_ERROR  ? CUCKOO_BARRED_TABLE
                                 : sqlite3_errstr(rc);
    return rc == SQLITE_OK || rc == SQLITE_SCHEMA || rc == SQLITE_ERROR ? CUCKOO_NO_TABLE : rc;
}

int cuckoo_registry_with(cuckoo_registry *registry, sqlite3_value *name, cuckoo_work work, void *data,
                         char **why)
{
    const char *wrong;
    cuckoo_table *table;
    cuckoo_known known = {NULL, 0};
    int rc = cuckoo_registry_begin(registry, name, &known, CUCKOO_INSPECT, &table, &wrong);
    *why = NULL;
    if (rc == SQLITE_OK) {
        rc = cuckoo_table_end_work(table, work(table, data, why), why);
        wrong = table->paged.shadow.damage ? table->paged.shadow.damage : cuckoo_table_damage(table, rc);
    }
    if (rc != SQLITE_OK && *why == NULL)
        *why = sqlite3_mprintf("%s", wrong);
    if (table)
        cuckoo_registry_let_go(table);
    return rc != SQLITE_OK && *why == NULL ? SQLITE_NOMEM : rc;
}
