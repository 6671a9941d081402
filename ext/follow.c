/* SPDX-License-Identifier: MIT */
/*
** follow.c - the triggers of a filter table that follows a table: making them, finding them.
*/
#include "follow.h"

#include "schema.h"
#include "sql.h"
#include "sql_text.h"

#include <assert.h>
#include <string.h>

const char *const cuckoo_follow_suffixes[CUCKOO_TRIGGERS] = {"inserted", "deleted", "updated"};

void cuckoo_follow_init(cuckoo_follow *follow, char *table, char *column)
{
    *follow = (cuckoo_follow){.given_table = table, .given_column = column};
}

static void forget_names(cuckoo_follow *follow)
{
    sqlite3_free(follow->table);
    sqlite3_free(follow->column);
    follow->table = follow->column = NULL;
}

void cuckoo_follow_end_row(cuckoo_follow *follow)
{
    sqlite3_finalize(follow->row);
    follow->row = NULL;
}

void cuckoo_follow_free(cuckoo_follow *follow)
{
    cuckoo_follow_end_row(follow);
    forget_names(follow);
    sqlite3_free(follow->fault);
    sqlite3_free(follow->given_table);
    sqlite3_free(follow->given_column);
}

/* ---- the triggers ---- */

static int prepare_on(const cuckoo_follow *follow, const cuckoo_shadow *shadow, const char *column,
                      sqlite3_stmt **statement)
{
    return cuckoo_sql_prepare(shadow->db, statement, "SELECT c.%s FROM \"%w\".\"%w\" AS c", column,
                              shadow->schema, follow->table);
}

static bool has_column(sqlite3_stmt *all, const char *name)
{
    for (int i = 0; i < sqlite3_column_count(all); i++)
        if (sqlite3_stricmp(sqlite3_column_name(all, i), name) == 0)
            return true;
    return false;
}

/* A name of the rowid of the table. NULL: it has no rowid, or its columns take all of the names. No
** statement is stepped, so that no database is locked. */
static int find_rowid(const cuckoo_follow *follow, const cuckoo_shadow *shadow, const char **rowid)
{
    static const char *const names[] = {"rowid", "_rowid_", "oid", NULL};
    sqlite3_stmt *all = NULL, *one = NULL;
    int which = 0;
    int rc = prepare_on(follow, shadow, "*", &all);
    while (rc == SQLITE_OK && names[which] && has_column(all, names[which]))
        which++;
    *rowid = names[which];
    sqlite3_finalize(all);
    if (rc != SQLITE_OK || *rowid == NULL)
        return rc;
    rc = prepare_on(follow, shadow, *rowid, &one);
    sqlite3_finalize(one);
    if (rc == SQLITE_ERROR)
        *rowid = NULL; /* WITHOUT ROWID */
    return rc == SQLITE_ERROR ? SQLITE_OK : rc;
}

/* An update tells both keys at once. The trigger fires for every update, not only for UPDATE OF the
** column. A generated column changes with others; and after a BEFORE trigger has changed the key,
** an update that seems to leave the key as it was brings the old one back. */
static char *make_text(int which, const char *f, const char *t, const char *k, const char *rowid)
{
    const char *new = rowid ? "new." : "", *old = rowid ? "old." : "", *r = rowid ? rowid : "NULL";
    switch (which) {
    case 0:
        return sqlite3_mprintf("\"%w_inserted\" AFTER INSERT ON \"%w\" BEGIN INSERT INTO \"%w\""
                               "(cuckoo_change, key, cuckoo_row) VALUES (1, new.\"%w\", %s%s); END",
                               f, t, f, k, new, r);
    case 1:
        return sqlite3_mprintf(
            "\"%w_deleted\" AFTER DELETE ON \"%w\" BEGIN INSERT INTO \"%w\""
            "(cuckoo_change, cuckoo_old, cuckoo_old_row) VALUES (2, old.\"%w\", %s%s); END",
            f, t, f, k, old, r);
    default:
        return sqlite3_mprintf(
            "\"%w_updated\" AFTER UPDATE ON \"%w\" BEGIN INSERT INTO \"%w\"(cuckoo_change, key, "
            "cuckoo_old, cuckoo_row, cuckoo_old_row) VALUES (3, new.\"%w\", old.\"%w\", %s%s, "
            "%s%s); END",
            f, t, f, k, k, new, r, old, r);
    }
}

int cuckoo_follow_text(const cuckoo_follow *follow, const cuckoo_shadow *shadow, int which,
                       const char *filter, char **text)
{
    const char *rowid;
    int rc = find_rowid(follow, shadow, &rowid);
    *text = rc == SQLITE_OK ? make_text(which, filter, follow->table, follow->column, rowid) : NULL;
    return rc == SQLITE_OK && *text == NULL ? SQLITE_NOMEM : rc;
}

int cuckoo_follow_create(cuckoo_follow *follow, cuckoo_shadow *shadow, const char *filter)
{
    int rc = SQLITE_OK;
    assert(follow->table != NULL && follow->column != NULL);
    follow->looked = false;
    for (int i = 0; rc == SQLITE_OK && i < CUCKOO_TRIGGERS; i++) {
        char *text;
        rc = cuckoo_follow_text(follow, shadow, i, filter, &text);
        if (rc == SQLITE_OK)
            rc = cuckoo_sql_run(shadow->db, "CREATE TRIGGER \"%w\".%s", shadow->schema, text);
        sqlite3_free(text);
    }
    return rc;
}

static bool is_to_go(const char *sql, const char *filter, cuckoo_which which)
{
    bool ours = cuckoo_schema_is_ours(sql), names = cuckoo_sql_names(sql, NULL, filter);
    return which == CUCKOO_ANY || (which == CUCKOO_OWN ? ours || names : ours && names);
}

int cuckoo_follow_drop(const cuckoo_shadow *shadow, cuckoo_which which)
{
    int rc = SQLITE_OK;
    for (int i = 0; rc == SQLITE_OK && i < CUCKOO_TRIGGERS; i++) {
        char *sql;
        rc = cuckoo_follow_read(shadow, "sql", i, &sql);
        if (rc == SQLITE_OK && sql && is_to_go(sql, shadow->table, which))
            rc = cuckoo_sql_run(shadow->db, "DROP TRIGGER IF EXISTS \"%w\".\"%w_%s\"", shadow->schema,
                                shadow->table, cuckoo_follow_suffixes[i]);
        sqlite3_free(sql);
    }
    return rc;
}

/* ---- reading the schema ---- */

int cuckoo_follow_read(const cuckoo_shadow *shadow, const char *column, int which, char **text)
{
    assert(which >= 0 && which < CUCKOO_TRIGGERS);
    return cuckoo_sql_text(shadow->db, text,
                           "SELECT %s FROM \"%w\".sqlite_master WHERE type = 'trigger' AND name = "
                           "'%q_%s' COLLATE NOCASE",
                           column, shadow->schema, shadow->table, cuckoo_follow_suffixes[which]);
}

/* The column that a trigger names, in quotes behind "(1, new." or the like (sqlite3_malloc). NULL:
** it names none, or *rc is SQLITE_NOMEM. */
static char *column_in(const char *trigger, int which, int *rc)
{
    static const char *const before[CUCKOO_TRIGGERS] = {"(1, new.", "(2, old.", "(3, new."};
    const char *quoted = strstr(trigger, before[which]);
    if (quoted == NULL || quoted[strlen(before[which])] != '"')
        return NULL;
    quoted += strlen(before[which]);
    const char *end = quoted + 1;
    while (*end && (*end != '"' || end[1] == '"'))
        end += *end == '"' ? 2 : 1;
    char *column = cuckoo_sql_unquoted(quoted, (size_t)(end - quoted) + (*end == '"'));
    if (column == NULL)
        *rc = SQLITE_NOMEM;
    return column;
}

/* ---- the names of table and column ---- */

enum { NAMES_ROW = -1, NAMES_MAX = 2000 /* bytes */ };

int cuckoo_follow_save(cuckoo_follow *follow, cuckoo_shadow *shadow)
{
    assert(follow->table != NULL && follow->column != NULL);
    size_t table = strlen(follow->table) + 1, column = strlen(follow->column) + 1;
    uint8_t row[NAMES_MAX];
    uint64_t checksum;
    follow->saved = true;
    if (table + column > sizeof row)
        return SQLITE_OK; /* then the names that were given must serve */
    memcpy(row, follow->table, table);
    memcpy(row + table, follow->column, column);
    return cuckoo_shadow_write(shadow, NAMES_ROW, row, table + column, table + column, &checksum);
}

/* Takes over both texts. False: they name no column of a table of this schema, and are freed. */
static bool take_names(cuckoo_follow *follow, const cuckoo_shadow *shadow, char *table, char *column)
{
    bool there = table && column &&
                 sqlite3_table_column_metadata(shadow->db, shadow->schema, table, column, NULL, NULL,
                                               NULL, NULL, NULL) == SQLITE_OK;
    if (!there) {
        sqlite3_free(table);
        sqlite3_free(column);
        return false;
    }
    bool same =
        follow->table && strcmp(table, follow->table) == 0 && strcmp(column, follow->column) == 0;
    follow->saved &= same;
    forget_names(follow);
    follow->table = table;
    follow->column = column;
    return true;
}

/* Takes the names from a trigger. *found: it was there, and they could be taken. */
static int names_in_trigger(cuckoo_follow *follow, const cuckoo_shadow *shadow, int which, bool *found)
{
    char *sql = NULL, *table = NULL, *column = NULL;
    int rc = cuckoo_follow_read(shadow, "tbl_name", which, &table);
    if (rc == SQLITE_OK)
        rc = cuckoo_follow_read(shadow, "sql", which, &sql);
    if (rc == SQLITE_OK && sql)
        column = column_in(sql, which, &rc);
    sqlite3_free(sql);
    *found = take_names(follow, shadow, table, column);
    return rc;
}

/* The same with the names that were saved. */
static int saved_names(cuckoo_follow *follow, cuckoo_shadow *shadow, bool *found)
{
    uint8_t names[NAMES_MAX + 2] = {0};
    cuckoo_row row;
    const char *table = (const char *)names;
    int rc = cuckoo_shadow_read(shadow, NAMES_ROW, names, NAMES_MAX, &row);
    *found = rc == SQLITE_OK && take_names(follow, shadow, sqlite3_mprintf("%s", table),
                                           sqlite3_mprintf("%s", table + strlen(table) + 1));
    return rc;
}

int cuckoo_follow_check_names(cuckoo_shadow *shadow)
{
    cuckoo_row row;
    uint8_t nothing[1];
    return cuckoo_shadow_read(shadow, NAMES_ROW, nothing, 0, &row);
}

/* The triggers know best; then what this connection has seen last; then what was saved. */
int cuckoo_follow_find(cuckoo_follow *follow, cuckoo_shadow *shadow)
{
    bool found = false;
    int rc = SQLITE_OK;
    for (int i = 0; rc == SQLITE_OK && !found && i < CUCKOO_TRIGGERS; i++)
        rc = names_in_trigger(follow, shadow, i, &found);
    if (rc == SQLITE_OK && !found && follow->table)
        found = take_names(follow, shadow, sqlite3_mprintf("%s", follow->table),
                           sqlite3_mprintf("%s", follow->column));
    if (rc == SQLITE_OK && !found)
        rc = saved_names(follow, shadow, &found);
    if (rc != SQLITE_OK || found || follow->table)
        return rc; /* the names may name nothing, while the table is being made anew */
    follow->saved = false;
    follow->table = sqlite3_mprintf("%s", follow->given_table);
    follow->column = sqlite3_mprintf("%s", follow->given_column);
    return follow->table && follow->column ? SQLITE_OK : SQLITE_NOMEM;
}

/* ---- rows of the table ---- */

int cuckoo_follow_row(cuckoo_follow *follow, const cuckoo_shadow *shadow, int64_t row,
                      sqlite3_value **key)
{
    const char *rowid;
    int rc = follow->row ? SQLITE_OK : find_rowid(follow, shadow, &rowid);
    *key = NULL;
    if (rc == SQLITE_OK && follow->row == NULL && rowid)
        rc = cuckoo_sql_prepare(shadow->db, &follow->row,
                                "SELECT c.\"%w\" FROM \"%w\".\"%w\" AS c WHERE c.%s = ?1",
                                follow->column, shadow->schema, follow->table, rowid);
    if (rc != SQLITE_OK || follow->row == NULL)
        return rc;
    sqlite3_bind_int64(follow->row, 1, row);
    rc = sqlite3_step(follow->row);
    if (rc == SQLITE_ROW)
        *key = sqlite3_column_value(follow->row, 0);
    return rc == SQLITE_ROW ? SQLITE_OK : cuckoo_sql_code(shadow->db, sqlite3_reset(follow->row));
}

/* Tables without rowid have neither first nor last rows: then any of them serve. */
int cuckoo_follow_keys(const cuckoo_follow *follow, const cuckoo_shadow *shadow, int most,
                       sqlite3_stmt **keys)
{
    assert(follow->table != NULL && follow->column != NULL);
    const char *s = shadow->schema, *t = follow->table, *k = follow->column;
    int rc = SQLITE_ERROR;
    if (most >= 0)
        rc = cuckoo_sql_prepare(
            shadow->db, keys,
            "SELECT * FROM (SELECT c.\"%w\" FROM \"%w\".\"%w\" AS c ORDER BY c.rowid LIMIT %d) UNION "
            "ALL "
            "SELECT * FROM (SELECT c.\"%w\" FROM \"%w\".\"%w\" AS c ORDER BY c.rowid DESC LIMIT %d)",
            k, s, t, most, k, s, t, most);
    if (rc == SQLITE_ERROR)
        rc = cuckoo_sql_prepare(shadow->db, keys, "SELECT c.\"%w\" FROM \"%w\".\"%w\" AS c LIMIT %d", k,
                                s, t, most);
    return rc;
}

/* ---- triggers that write to the filter ---- */

int cuckoo_follow_is_written_by_triggers(const cuckoo_shadow *shadow, bool *is)
{
    sqlite3_stmt *triggers;
    const char *f = shadow->table;
    /* Triggers of its own names are left out: rebuild drops them,
    ** whatever they say, before it reads the table. */
    int rc = cuckoo_sql_prepare(
        shadow->db, &triggers,
        "SELECT sql FROM (SELECT name, sql FROM \"%w\".sqlite_master WHERE type = 'trigger' UNION ALL "
        "SELECT name, sql FROM sqlite_temp_master WHERE type = 'trigger') WHERE name NOT IN "
        "('%q_inserted', '%q_deleted', '%q_updated')",
        shadow->schema, f, f, f);
    *is = false;
    while (rc == SQLITE_OK && !*is && sqlite3_step(triggers) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(triggers, 0);
        *is = text && !cuckoo_schema_is_ours(text) && cuckoo_sql_names(text, "into", f);
    }
    return cuckoo_sql_end(triggers, rc);
}
