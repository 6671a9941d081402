/* SPDX-License-Identifier: MIT */
#include "column_rule.h"

#include "../sqlite/block.h"
#include "../sqlite/errors.h"
#include "../sqlite/sql.h"
#include "../sqlite/temporary.h"
#include "key.h"
#include "options.h"

#include <string.h>

/* SQLite's rules for declared types, in its order ("Datatypes In SQLite", 3.1). */
typedef struct type_rule {
    const char *pattern, *name; /* a LIKE pattern; a type with the affinity */
    cf_affinity affinity;
} type_rule;

static const type_rule *rule_of(const char *type)
{
    static const type_rule rules[] = {
        {"%INT%", "INTEGER", CF_AFFINITY_NUMERIC}, {"%CHAR%", "TEXT", CF_AFFINITY_TEXT},
        {"%CLOB%", "TEXT", CF_AFFINITY_TEXT},      {"%TEXT%", "TEXT", CF_AFFINITY_TEXT},
        {"%BLOB%", "", CF_AFFINITY_TEXT},          {"%REAL%", "REAL", CF_AFFINITY_REAL},
        {"%FLOA%", "REAL", CF_AFFINITY_REAL},      {"%DOUB%", "REAL", CF_AFFINITY_REAL},
        {"%", "NUMERIC", CF_AFFINITY_NUMERIC}};
    const type_rule *rule = rules;
    if (type == NULL || *type == 0)
        type = "BLOB";
    while (sqlite3_strlike(rule->pattern, type, 0) != 0)
        rule++;
    return rule;
}

int cuckoo_column_look(sqlite3 *db, const char *schema, const char *table, const char *column,
                       const char **type, const char **collation)
{
    sqlite3_int64 is_virtual = 0;
    int rc = cuckoo_sql_integer(db, &is_virtual,
                                "SELECT rootpage = 0 FROM \"%w\".sqlite_master WHERE type = 'table' "
                                "AND name = %Q COLLATE NOCASE",
                                schema, table);
    if (rc == SQLITE_OK && is_virtual)
        return SQLITE_ERROR;
    return rc ? rc : cuckoo_column_look_on(db, schema, table, column, type, collation);
}

int cuckoo_column_look_on(sqlite3 *db, const char *schema, const char *table, const char *column,
                          const char **type, const char **collation)
{
    return sqlite3_table_column_metadata(db, schema, table, column, type, collation, NULL, NULL, NULL);
}

/* Reads a column of PRAGMA table_list for this table (sqlite3_malloc); NULL if there is no such table,
** and before SQLite 3.37. */
static int read_list(sqlite3 *db, const char *schema, const char *table, int column, char **text)
{
    sqlite3_stmt *list;
    *text = NULL;
    int rc = cuckoo_sql_prepare(db, &list, "PRAGMA \"%w\".table_list(\"%w\")", schema, table);
    if (rc == SQLITE_OK && sqlite3_step(list) == SQLITE_ROW) {
        *text = sqlite3_mprintf("%s", sqlite3_column_text(list, column));
        rc = *text ? SQLITE_OK : SQLITE_NOMEM;
    }
    return cuckoo_sql_end(list, rc);
}

/* In a STRICT table the type ANY has no affinity. In other tables it is unknown, so NUMERIC. */
int cuckoo_column_affinity(sqlite3 *db, const char *schema, const char *table, const char *type,
                           const char **name, cf_affinity *affinity)
{
    enum { STRICT = 5 };
    int rc = SQLITE_OK;
    char *strict = NULL;
    if (type && sqlite3_stricmp(type, "ANY") == 0)
        rc = read_list(db, schema, table, STRICT, &strict);
    const type_rule *rule = rule_of(strict && *strict == '1' ? NULL : type);
    *name = rule->name;
    if (affinity)
        *affinity = rule->affinity;
    sqlite3_free(strict);
    return rc;
}

/* ---- collation ---- */

/* For a built-in collation this is its cf_collation: a bit for each pair that is equal. */
#define PAIRS                                                                                           \
    "('a' = 'A' COLLATE %s) + 2 * ('a' = 'a ' COLLATE %s) + 4 * (char(233) = char(201) COLLATE %s) + "  \
    "8 * (char(228) = 'a' COLLATE %s) + 16 * ('ab' = 'a-b' COLLATE %s) + 32 * ('1' = '01' COLLATE %s)"

/* An application may have replaced a built-in collation. */
static int read_collation(sqlite3 *db, const char *column, const char *name, cf_collation *collation,
                          char **message)
{
    int which = cuckoo_collation_named(name);
    sqlite3_int64 equal = -1;
    if (which < 0)
        return cuckoo_say(message, SQLITE_ERROR,
                          "column %s has the collation %s, and filters support only binary, nocase and "
                          "rtrim: choose another column",
                          column, name);
    int rc = cuckoo_sql_integer(db, &equal, "SELECT " PAIRS, name, name, name, name, name, name);
    if (rc == SQLITE_OK && equal != which)
        return cuckoo_say(message, SQLITE_ERROR,
                          "the collation %s of column %s is not SQLite's: the application has replaced "
                          "it, and a filter cannot reproduce it; choose another column",
                          name, column);
    *collation = (cf_collation)which;
    return rc;
}

/* Reports the columns of the table, or that it does not exist. */
static int no_column(sqlite3 *db, const char *schema, const char *table, const char *column,
                     char **message)
{
    char *list;
    int rc = cuckoo_sql_text(db, &list,
                             "SELECT group_concat(name, ', ') FROM (SELECT name FROM "
                             "pragma_table_xinfo(%Q, %Q) LIMIT 20)",
                             table, schema);
    if (rc == SQLITE_OK && list == NULL)
        return cuckoo_say(
            message, SQLITE_ERROR, "there is no table %s in %s, the schema of the filter; %s", table,
            schema, strchr(table, '.') ? "give the name alone, of a table there" : "create it first");
    if (rc == SQLITE_OK)
        rc = cuckoo_say(message, SQLITE_ERROR, "table %s has no column %s%s; it has %s", table, column,
                        strcspn(column, ",(") < strlen(column) ? "; give the name of one" : "", list);
    sqlite3_free(list);
    return rc;
}

/* ---- the key rule ---- */

int cuckoo_column_rule(sqlite3 *db, const char *schema, const char *table, const char *column,
                       cf_options *into, char **message)
{
    const char *type, *name, *unused;
    cf_affinity affinity;
    cf_collation collation = CF_COLLATION_BINARY;
    int rc = cuckoo_column_look(db, schema, table, column, &type, &name);
    if (rc == SQLITE_ERROR)
        return no_column(db, schema, table, column, message);
    if (rc != SQLITE_OK)
        return rc;
    char *copy = sqlite3_mprintf("%s", name); /* the next statement may reload the schema */
    rc = copy ? cuckoo_column_affinity(db, schema, table, type, &unused, &affinity) : SQLITE_NOMEM;
    rc = rc ? rc : read_collation(db, column, copy, &collation, message);
    sqlite3_free(copy);
    if (rc != SQLITE_OK)
        return rc;
    into->affinity = affinity;
    into->collation = collation;
    return SQLITE_OK;
}

/* SQLite compiles ON CONFLICT only for a unique column. Texts that differ in NOCASE or RTRIM differ in
** BINARY. The INSERT sets the rowid, because the column may be generated, or the column, because the
** table may have no rowid. */
int cuckoo_column_is_unique(sqlite3 *db, const char *schema, const char *table, const char *column,
                            const char *collation, bool *is)
{
    const char *const into[] = {"rowid", column};
    const char *collate = sqlite3_stricmp(collation, "binary") == 0 ? "" : " COLLATE ";
    int rc = SQLITE_ERROR;
    for (int i = 0; rc == SQLITE_ERROR && i < 2; i++) {
        sqlite3_stmt *insert;
        rc = cuckoo_sql_prepare(
            db, &insert,
            "INSERT INTO \"%w\".\"%w\"(\"%w\") VALUES(NULL) ON CONFLICT(\"%w\"%s%s) DO NOTHING", schema,
            table, into[i], column, collate, *collate ? collation : "");
        sqlite3_finalize(insert);
    }
    *is = rc == SQLITE_OK;
    return rc == SQLITE_NOMEM || rc == SQLITE_INTERRUPT ? rc : SQLITE_OK;
}

/* Sorts the hashes of the keys, in a temporary file when there are many: this takes less than half of
** the time of count(DISTINCT). */
static int count_different(sqlite3_stmt *rows, const cf_options *options, sqlite3_int64 *keys,
                           char **message)
{
    cuckoo_temporary temporary;
    cf_geometry rule = {.affinity = (uint8_t)options->affinity,
                        .collation = (uint8_t)options->collation};
    cf_collected list = {.memory = cuckoo_block_memory, .file = &temporary.file};
    cf_status status = CF_OK;
    size_t different = 0;
    cuckoo_temporary_begin(&temporary, sqlite3_db_handle(rows));
    while (status == CF_OK && sqlite3_step(rows) == SQLITE_ROW) {
        uint64_t hash;
        cuckoo_key kind = cuckoo_key_hash(sqlite3_column_value(rows, 0), &rule, &hash);
        if (kind == CUCKOO_KEY_OK)
            status = cf_collect(&list, hash, 0);
        else if (kind == CUCKOO_KEY_NOMEM)
            status = CF_NO_MEMORY;
    }
    status = status == CF_OK ? cf_collected_count(&list, &different) : status;
    *keys = (sqlite3_int64)different;
    cf_collected_free(&list);
    cuckoo_temporary_close(&temporary);
    if (temporary.rc)
        return cuckoo_say(message, SQLITE_ERROR /* others would end the transaction */,
                          CUCKOO_TEMPORARY_FAILED, sqlite3_errstr(temporary.rc));
    return status == CF_OK ? SQLITE_OK : cuckoo_error_code(status);
}

int cuckoo_column_capacity(sqlite3 *db, const char *schema, const char *table, const char *column,
                           const cf_options *rule, bool repeats, uint64_t *capacity, char **message)
{
    sqlite3_int64 keys = 0;
    sqlite3_stmt *rows = NULL;
    int rc = repeats ? cuckoo_sql_prepare(db, &rows, "SELECT c.\"%w\" FROM \"%w\".\"%w\" AS c", column,
                                          schema, table)
                     : cuckoo_sql_integer(db, &keys, "SELECT count(c.\"%w\") FROM \"%w\".\"%w\" AS c",
                                          column, schema, table);
    if (rows)
        rc = cuckoo_sql_end(rows, count_different(rows, rule, &keys, message));
    *capacity = cuckoo_column_room((uint64_t)keys, *capacity);
    return rc == SQLITE_ERROR && *message == NULL ? cuckoo_say(message, rc, "%s(%s) cannot be read: %s",
                                                               table, column, cuckoo_sql_message(db, rc))
                                                  : rc;
}

/* ---- rowids ---- */

int cuckoo_column_rowid(sqlite3 *db, const char *schema, const char *table, const char **name)
{
    static const char *const names[] = {"rowid", "_rowid_", "oid", NULL};
    const char *const *at = names;
    sqlite3_int64 taken = 1;
    int rc = SQLITE_OK;
    for (; rc == SQLITE_OK && *at; at += taken) {
        rc = cuckoo_sql_integer(db, &taken,
                                "SELECT count(*) FROM pragma_table_xinfo(%Q, %Q) WHERE name = %Q "
                                "COLLATE NOCASE",
                                table, schema, *at);
        if (!taken)
            break;
    }
    rc = rc == SQLITE_OK && *at ? cuckoo_column_look(db, schema, table, *at, NULL, NULL) : rc;
    if (rc != SQLITE_OK && rc != SQLITE_ERROR)
        return rc;
    *name = rc == SQLITE_OK ? *at : NULL;
    return SQLITE_OK;
}

int cuckoo_column_keeps_rowids(sqlite3 *db, const char *schema, const char *table, bool *kept)
{
    sqlite3_int64 is = 0;
    int rc =
        cuckoo_sql_integer(db, &is,
                           "SELECT EXISTS (SELECT 1 FROM pragma_table_xinfo(%Q, %Q) WHERE pk) AND NOT "
                           "EXISTS (SELECT 1 FROM pragma_index_list(%Q, %Q) WHERE origin = 'pk')",
                           table, schema, table, schema);
    *kept = is;
    return rc;
}

/* Ignores the largest 1/64 of the rowids: a few far larger ones do not widen all values. */
int cuckoo_column_rowid_bits(sqlite3 *db, const char *schema, const char *table, const char *column,
                             uint64_t *rows, unsigned *bits, char **message)
{
    const char *r;
    sqlite3_int64 most = 0, n = 0;
    int rc = cuckoo_column_rowid(db, schema, table, &r);
    if (rc == SQLITE_OK && r == NULL)
        return cuckoo_say(
            message, SQLITE_ERROR,
            "rowids=on: %s has no rowids, or columns named rowid, _rowid_ and oid hide them; "
            "use CREATE INDEX ON %s(%s)",
            table, table, column);
    rc = rc ? rc : cuckoo_sql_integer(db, &n, "SELECT count(*) FROM \"%w\".\"%w\"", schema, table);
    rc = rc ? rc
            : cuckoo_sql_integer(db, &most,
                                 "SELECT c.%s FROM \"%w\".\"%w\" AS c ORDER BY c.%s DESC LIMIT 1 OFFSET "
                                 "%lld",
                                 r, schema, table, r, n / 64);
    *rows = (uint64_t)n;
    for (*bits = 16; *bits < CF_WIDE_VALUE_MAX && most >> (*bits - 1) > 0;)
        ++*bits;
    return rc;
}

/* Reads "table", "view", "virtual" or "shadow" (sqlite3_malloc); NULL if there is no such table. No list
** has virtual tables that need no CREATE, such as json_each. Before 3.37 a shadow table is a table. */
static int read_kind(sqlite3 *db, const char *schema, const char *table, char **kind)
{
    enum { TYPE = 2 };
    int rc = read_list(db, schema, table, TYPE, kind);
    if (rc != SQLITE_OK || *kind)
        return rc;
    return cuckoo_sql_text(
        db, kind,
        "SELECT iif(type = 'table' AND rootpage = 0, 'virtual', type) FROM "
        "\"%w\".sqlite_master WHERE name = %Q COLLATE NOCASE AND type IN ('table', 'view') UNION ALL "
        "SELECT * FROM (SELECT 'virtual' FROM pragma_table_xinfo(%Q, %Q) LIMIT 1)",
        schema, table, table, schema);
}

int cuckoo_column_table(sqlite3 *db, const char *schema, const char *table, char **message)
{
    char *kind = NULL;
    bool is_log = sqlite3_strglob("cuckoo_log_????????????????", table) == 0,
         is_system = sqlite3_strnicmp(table, "sqlite_", 7) == 0;
    int rc = is_log || is_system ? SQLITE_OK : read_kind(db, schema, table, &kind);
    if (is_log || is_system || (kind && strcmp(kind, "table") != 0))
        rc = cuckoo_say(message, SQLITE_ERROR, "content: %s is a %s: give an ordinary table", table,
                        is_log                        ? "log of a filter"
                        : is_system                   ? "table of SQLite itself"
                        : strcmp(kind, "view") == 0   ? "view"
                        : strcmp(kind, "shadow") == 0 ? "shadow table of a virtual table"
                                                      : "virtual table, which has no triggers");
    sqlite3_free(kind);
    return rc;
}
