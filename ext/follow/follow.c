/* SPDX-License-Identifier: MIT */
/*
** follow.c - the triggers of a synced filter table: creating them, finding them.
*/
#include "follow.h"

#include "../keys/column_rule.h"
#include "../sqlite/sql.h"
#include "log.h"
#include "sql_text.h"

#include "../../src/base/bits.h"

#include <assert.h>
#include <string.h>

enum { INSERTED, DELETED, UPDATED };

static void forget_names(cuckoo_follow *follow)
{
    sqlite3_free(follow->table);
    sqlite3_free(follow->column);
    follow->table = follow->column = NULL;
}

void cuckoo_follow_free(cuckoo_follow *follow)
{
    cuckoo_content_close(&follow->content);
    forget_names(follow);
    sqlite3_free(follow->fault);
    sqlite3_free(follow->given_table);
    sqlite3_free(follow->given_column);
}

/* ---- the triggers ---- */

const char *const cuckoo_trigger_events[CUCKOO_FOLLOWERS] = {"inserted", "deleted", "updated"};

/* The arguments of each: log, event (both in the name of the trigger), table; then its body. The texts
** are a format (ext/COMPATIBILITY.md): a filter whose triggers have another text is not trusted, so a
** new text must leave those of earlier versions valid. */
#define HEAD(event)         "CREATE TRIGGER \"" CUCKOO_TRIGGER "\" AFTER " event " ON \"%w\" WHEN "
#define BODY(columns, keys) " BEGIN INSERT INTO \"" CUCKOO_LOG "\"(" columns ") VALUES (" keys ")"
#define TAIL                "; SELECT RAISE(ABORT, '') WHERE 0; END"
#define OLD                 "old.\"%w\""
#define NEW                 "new.\"%w\""
#define PAIRS               "(\"old\", \"new\", \"old_row\", \"new_row\") VALUES ("

/* The trigger with rowids=on. The rowid may change without the key. */
static char *text_with_rowids(const cuckoo_follow *follow, const cuckoo_shadow *shadow, int which)
{
    static const char *const head[] = {"INSERT", "DELETE", "UPDATE"};
    const char *k = follow->column, *r = follow->rowid ? follow->rowid : "rowid";
    char *old = sqlite3_mprintf(OLD, k), *new = sqlite3_mprintf(NEW, k),
         *when = which < UPDATED ? sqlite3_mprintf("%s IS NOT NULL", which == INSERTED ? new : old)
                                 : sqlite3_mprintf("%s COLLATE BINARY IS NOT %s OR old.%s <> new.%s",
                                                   old, new, r, r),
         *text =
             old &&new &&when
                 ? sqlite3_mprintf(
                       "CREATE TRIGGER \"" CUCKOO_TRIGGER "\" AFTER %s ON \"%w\" WHEN %s "
                       "BEGIN INSERT INTO \"" CUCKOO_LOG "\"" PAIRS "%s, %s, %s%s, %s%s)" TAIL,
                       shadow->log, cuckoo_trigger_events[which], head[which], follow->table, when,
                       shadow->log, which == INSERTED ? "NULL" : old, which == DELETED ? "NULL" : new,
                       which == INSERTED ? "NULL" : "old.", which == INSERTED ? "" : r,
                       which == DELETED ? "NULL" : "new.", which == DELETED ? "" : r)
                 : NULL;
    sqlite3_free(old);
    sqlite3_free(new);
    sqlite3_free(when);
    return text;
}

/* An update that does not seem to change the key writes nothing. If a BEFORE trigger has changed the
** key, the log already has that step. */
char *cuckoo_follow_text(const cuckoo_follow *follow, const cuckoo_shadow *shadow, int which)
{
    const char *t = follow->table, *k = follow->column, *event = cuckoo_trigger_events[which];
    int64_t log = shadow->log;
    if (shadow->rowids)
        return text_with_rowids(follow, shadow, which);
    if (which == INSERTED)
        return sqlite3_mprintf(HEAD("INSERT") NEW " IS NOT NULL" BODY("\"new\"", NEW) TAIL, log, event,
                               t, k, log, k);
    if (which == DELETED)
        return sqlite3_mprintf(HEAD("DELETE") OLD " IS NOT NULL" BODY("\"old\"", OLD) TAIL, log, event,
                               t, k, log, k);
    return sqlite3_mprintf(HEAD("UPDATE") OLD
                           " COLLATE BINARY IS NOT " NEW BODY("\"old\", \"new\"", OLD ", " NEW) TAIL,
                           log, event, t, k, k, log, k, k);
}

/* Drops triggers of other filters on this table whose log is gone: every write would fail. */
static int drop_orphans(const cuckoo_follow *follow, const cuckoo_shadow *shadow)
{
    int rc;
    char *name;
    do {
        rc = cuckoo_sql_text(
            shadow->db, &name,
            "SELECT name FROM \"%w\".sqlite_master AS t WHERE type = 'trigger' AND "
            "tbl_name = %Q COLLATE NOCASE AND name GLOB 'cuckoo_????????????????_*ed' AND "
            "instr(sql, 'cuckoo_log_' || substr(name, 8, 16)) AND NOT EXISTS (SELECT 1 "
            "FROM \"%w\".sqlite_master WHERE name = 'cuckoo_log_' || substr(t.name, 8, 16)) "
            "LIMIT 1",
            shadow->schema, follow->table, shadow->schema);
        if (rc == SQLITE_OK && name)
            rc = cuckoo_sql_run(shadow->db, "DROP TRIGGER \"%w\".\"%w\"", shadow->schema, name);
        sqlite3_free(name);
    } while (rc == SQLITE_OK && name);
    return rc;
}

int cuckoo_follow_create(cuckoo_follow *follow, const cuckoo_shadow *shadow)
{
    assert(follow->table != NULL && follow->column != NULL);
    int rc = drop_orphans(follow, shadow);
    follow->trust = CUCKOO_UNKNOWN;
    for (int i = 0; rc == SQLITE_OK && i < CUCKOO_FOLLOWERS; i++) {
        char *text = cuckoo_follow_text(follow, shadow, i);
        rc = text ? cuckoo_sql_run(shadow->db, "CREATE TRIGGER \"%w\".%s", shadow->schema,
                                   text + strlen("CREATE TRIGGER "))
                  : SQLITE_NOMEM;
        sqlite3_free(text);
    }
    return rc;
}

int cuckoo_follow_drop(const cuckoo_shadow *shadow)
{
    int rc = SQLITE_OK;
    for (int i = 0; rc == SQLITE_OK && i < CUCKOO_FOLLOWERS; i++)
        rc = cuckoo_sql_run(shadow->db, "DROP TRIGGER IF EXISTS \"%w\".\"" CUCKOO_TRIGGER "\"",
                            shadow->schema, shadow->log, cuckoo_trigger_events[i]);
    return rc;
}

/* ---- reading the schema ---- */

int cuckoo_follow_read(const cuckoo_shadow *shadow, const char *column, int which, char **text)
{
    return cuckoo_sql_text(shadow->db, text,
                           "SELECT %s FROM \"%w\".sqlite_master WHERE type = 'trigger' AND name = "
                           "'" CUCKOO_TRIGGER "'",
                           column, shadow->schema, shadow->log, cuckoo_trigger_events[which]);
}

char *cuckoo_follow_column(const char *trigger, int which, int *rc)
{
    static const char *const before[CUCKOO_FOLLOWERS] = {" WHEN new.", " WHEN old.", " WHEN old."};
    const char *quoted = strstr(trigger, before[which]);
    quoted = quoted ? quoted + strlen(before[which]) : "";
    cuckoo_token token = cuckoo_sql_token(&quoted);
    if (*token.at != '"')
        return NULL;
    char *column = cuckoo_sql_unquoted(token.at, token.n);
    if (column == NULL)
        *rc = SQLITE_NOMEM;
    return column;
}

/* ---- the names of table and column ---- */

/* The row has the identity of the log, table and column, each with a NUL. */
enum { SAVED_ROW = -1, SAVED_MAX = 2000 /* bytes */, AT_NAMES = 8 };

/* The cookie of the schema, which every change of the schema increases, VACUUM included. */
static int read_cookie(const cuckoo_shadow *shadow, int64_t *cookie)
{
    sqlite3_int64 now = 0;
    int rc = cuckoo_sql_integer(shadow->db, &now, "PRAGMA \"%w\".schema_version", shadow->schema);
    *cookie = now;
    return rc;
}

int cuckoo_follow_rowids_seen(cuckoo_follow *follow, const cuckoo_shadow *shadow)
{
    bool kept = true;
    int rc = cuckoo_column_keeps_rowids(shadow->db, shadow->schema, follow->table, &kept);
    if (rc != SQLITE_OK || kept)
        return rc;
    follow->saved = false;
    return read_cookie(shadow, &follow->cookie);
}

/* Stamps the log if the rowids are still those that were seen. */
static int save_stamp(const cuckoo_follow *follow, cuckoo_shadow *shadow)
{
    int64_t now = 0;
    int rc = shadow->rowids && follow->cookie ? read_cookie(shadow, &now) : SQLITE_OK;
    return rc == SQLITE_OK && now && now == follow->cookie
               ? cuckoo_shadow_run(shadow, CUCKOO_WRITE_STAMP)
               : rc;
}

int cuckoo_follow_save(cuckoo_follow *follow, cuckoo_shadow *shadow)
{
    assert(follow->table != NULL && follow->column != NULL);
    size_t table = strlen(follow->table) + 1, column = strlen(follow->column) + 1;
    uint8_t row[SAVED_MAX], had[SAVED_MAX];
    uint64_t length = AT_NAMES + table + column, read = 0;
    int rc = save_stamp(follow, shadow);
    if (rc == SQLITE_OK && length <= sizeof row) { /* otherwise the names in content= have to do */
        cf_store64(row, (uint64_t)shadow->log);
        memcpy(row + AT_NAMES, follow->table, table);
        memcpy(row + AT_NAMES + table, follow->column, column);
        rc = cuckoo_shadow_read(shadow, SAVED_ROW, had, sizeof had, &read);
        bool same = rc == SQLITE_OK && read == length && memcmp(row, had, length) == 0;
        if (!same && (rc == SQLITE_OK || rc == SQLITE_CORRUPT_VTAB))
            rc = cuckoo_shadow_write(shadow, SAVED_ROW, row, length);
    }
    follow->saved = rc == SQLITE_OK;
    return rc;
}

/* Prefers the table name in content= if a table or view has it, and the column name if the table has it.
** When a table or column is renamed, SQLite's triggers go with it; but if a program uses the name again,
** it means the new one. Replaces the texts. */
static int prefer_given(const cuckoo_follow *follow, const cuckoo_shadow *shadow, char **table,
                        char **column)
{
    sqlite3_int64 is = 0;
    const char *schema = shadow->schema, *t = follow->given_table, *k = follow->given_column;
    int rc = SQLITE_OK;
    if (sqlite3_stricmp(*table, t) != 0)
        rc = cuckoo_sql_integer(shadow->db, &is,
                                "SELECT 1 FROM \"%w\".sqlite_master WHERE type IN ('table', 'view') AND "
                                "name = %Q COLLATE NOCASE",
                                schema, t);
    if (is) {
        sqlite3_free(*table);
        *table = sqlite3_mprintf("%s", t);
    }
    if (rc != SQLITE_OK || *table == NULL || sqlite3_stricmp(*column, k) == 0)
        return *table ? rc : SQLITE_NOMEM;
    is = 0;
    rc = cuckoo_sql_integer(shadow->db, &is,
                            "SELECT 1 FROM pragma_table_xinfo(%Q, %Q) WHERE name = %Q COLLATE NOCASE",
                            *table, schema, k);
    if (rc == SQLITE_OK && !is)
        rc = cuckoo_column_look(shadow->db, schema, *table, *column, NULL, NULL);
    if (is || rc == SQLITE_ERROR) {
        sqlite3_free(*column);
        *column = sqlite3_mprintf("%s", k);
        rc = *column ? SQLITE_OK : SQLITE_NOMEM;
    }
    return rc;
}

/* Takes over both texts, unless a name in content= is preferred. *found is false if they name no column
** of a table of this schema, unless `any` is set; then they are freed. */
static int take_names(cuckoo_follow *follow, const cuckoo_shadow *shadow, char *table, char *column,
                      bool any, bool *found)
{
    int rc = !table || !column ? SQLITE_ERROR
             : any             ? SQLITE_OK
                   : cuckoo_column_look(shadow->db, shadow->schema, table, column, NULL, NULL);
    rc = rc ? rc : prefer_given(follow, shadow, &table, &column);
    *found = rc == SQLITE_OK;
    bool same = *found && follow->table && strcmp(table, follow->table) == 0 &&
                strcmp(column, follow->column) == 0;
    if (!*found || same) { /* keep the old texts: connecting tables may nest calls of this */
        sqlite3_free(table);
        sqlite3_free(column);
        return cuckoo_sql_rolls_back(rc) ? rc : SQLITE_OK;
    }
    follow->saved = false;
    forget_names(follow);
    follow->table = table;
    follow->column = column;
    return SQLITE_OK;
}

/* Takes the names from a trigger. *found: true if they could be taken. */
static int names_in_trigger(cuckoo_follow *follow, const cuckoo_shadow *shadow, int which, bool *found)
{
    char *sql = NULL, *table = NULL, *column = NULL;
    int rc = cuckoo_follow_read(shadow, "tbl_name", which, &table);
    rc = rc ? rc : cuckoo_follow_read(shadow, "sql", which, &sql);
    if (rc == SQLITE_OK && sql)
        column = cuckoo_follow_column(sql, which, &rc);
    sqlite3_free(sql);
    return cuckoo_first_error(rc, take_names(follow, shadow, table, column, false, found));
}

/* The same with the saved names. */
static int saved_names(cuckoo_follow *follow, cuckoo_shadow *shadow, bool *found)
{
    uint8_t row[SAVED_MAX + 2] = {0};
    uint64_t length;
    const char *table = (const char *)row + AT_NAMES;
    int rc = cuckoo_shadow_read(shadow, SAVED_ROW, row, SAVED_MAX, &length);
    return rc ? rc
              : take_names(follow, shadow, sqlite3_mprintf("%s", table),
                           sqlite3_mprintf("%s", table + strlen(table) + 1), false, found);
}

int cuckoo_follow_check_saved(cuckoo_shadow *shadow, int64_t *log)
{
    uint64_t length;
    uint8_t bytes[AT_NAMES] = {0};
    int rc = cuckoo_shadow_read(shadow, SAVED_ROW, bytes, sizeof bytes, &length);
    *log = (int64_t)cf_load64(bytes);
    return rc;
}

/* VACUUM, and a restored dump, may change rowids that are not an INTEGER PRIMARY KEY. Then the log has
** lost its stamp (log.h). */
static int look_at_rowids(cuckoo_follow *follow, cuckoo_shadow *shadow)
{
    bool kept = true, stamped = false;
    int64_t now = 0;
    const char *s = shadow->schema, *t = follow->table;
    int rc = cuckoo_column_rowid(shadow->db, s, t, &follow->rowid);
    rc = rc ? rc : cuckoo_column_keeps_rowids(shadow->db, s, t, &kept);
    if (rc != SQLITE_OK || kept)
        return rc;
    rc = read_cookie(shadow, &now);
    if (rc != SQLITE_OK || now == follow->cookie)
        return rc;
    rc = cuckoo_log_is_stamped(shadow, &stamped);
    if (stamped)
        follow->cookie = now;
    else
        follow->sample = CUCKOO_ALL_ROWS;
    return rc;
}

/* Tries the triggers first, then the names that this connection used last, then the saved ones. */
int cuckoo_follow_find(cuckoo_follow *follow, cuckoo_shadow *shadow)
{
    bool found = false;
    int rc = SQLITE_OK;
    for (int i = 0; rc == SQLITE_OK && !found && i < CUCKOO_FOLLOWERS; i++)
        rc = names_in_trigger(follow, shadow, i, &found);
    const char *t = follow->table ? follow->table : follow->given_table,
               *k = follow->table ? follow->column : follow->given_column;
    if (rc == SQLITE_OK && !found && follow->table)
        rc = take_names(follow, shadow, sqlite3_mprintf("%s", t), sqlite3_mprintf("%s", k), false,
                        &found);
    if (rc == SQLITE_OK && !found)
        rc = saved_names(follow, shadow, &found);
    if (rc == SQLITE_OK && !found) /* they may name nothing while a program recreates the table */
        rc =
            take_names(follow, shadow, sqlite3_mprintf("%s", t), sqlite3_mprintf("%s", k), true, &found);
    rc = rc == SQLITE_OK && !found ? SQLITE_NOMEM : rc;
    return rc == SQLITE_OK && shadow->rowids ? look_at_rowids(follow, shadow) : rc;
}

/* ---- rows of the table ---- */

/* Tables without rowid have no first and last rows: any rows will do. */
int cuckoo_follow_keys(const cuckoo_follow *follow, const cuckoo_shadow *shadow, int most,
                       sqlite3_stmt **keys)
{
    assert(follow->table != NULL && follow->column != NULL);
    const char *s = shadow->schema, *t = follow->table, *k = follow->column,
               *r = shadow->rowids && follow->rowid ? follow->rowid : "", *dot = *r ? ", c." : "";
    int rc = SQLITE_ERROR;
    if (most >= 0)
        rc = cuckoo_sql_prepare(
            shadow->db, keys,
            "SELECT * FROM (SELECT c.\"%w\"%s%s FROM \"%w\".\"%w\" AS c ORDER BY c.rowid LIMIT %d) "
            "UNION "
            "ALL SELECT * FROM (SELECT c.\"%w\"%s%s FROM \"%w\".\"%w\" AS c ORDER BY c.rowid DESC LIMIT "
            "%d)",
            k, dot, r, s, t, most, k, dot, r, s, t, most);
    if (rc == SQLITE_ERROR)
        rc = cuckoo_sql_prepare(shadow->db, keys, "SELECT c.\"%w\"%s%s FROM \"%w\".\"%w\" AS c LIMIT %d",
                                k, dot, r, s, t, most);
    return rc;
}

/* ---- triggers that write to the filter ---- */

int cuckoo_follow_is_written_by_triggers(const cuckoo_shadow *shadow, bool *is)
{
    int rc = SQLITE_OK;
    *is = false;
    for (int temp = 0; rc == SQLITE_OK && !*is && temp < 2; temp++) {
        sqlite3_stmt *triggers;
        rc = cuckoo_sql_prepare(shadow->db, &triggers,
                                "SELECT sql FROM \"%w\".sqlite_master WHERE type = 'trigger'",
                                temp ? "temp" : shadow->schema);
        while (rc == SQLITE_OK && !*is && sqlite3_step(triggers) == SQLITE_ROW) {
            const char *text = (const char *)sqlite3_column_text(triggers, 0);
            *is = text && cuckoo_sql_names(text, "into", shadow->table);
        }
        rc = cuckoo_sql_end(triggers, rc);
    }
    return rc;
}
