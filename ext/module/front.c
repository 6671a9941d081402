/* SPDX-License-Identifier: MIT */
#include "front.h"

#include "../keys/column_rule.h"
#include "../sqlite/errors.h"
#include "../sqlite/sql.h"

#include <string.h>

/* ---- the columns of the content ---- */

int cuckoo_front_find(const cuckoo_front *front, const char *name)
{
    int i = 0;
    while (i < front->columns && sqlite3_stricmp(cuckoo_front_shown(front, i)->name, name) != 0)
        i++;
    return i < front->columns ? i : CUCKOO_NO_ROWS;
}

/* True if there is a rowid, or a column, of this name. */
static int has_column(sqlite3 *db, const cuckoo_front *front, const char *name, bool *has)
{
    int rc = cuckoo_column_look(db, front->schema, front->content, name, NULL, NULL);
    *has = rc == SQLITE_OK;
    return rc == SQLITE_ERROR ? SQLITE_OK : rc;
}

static int add_column(cuckoo_front *front, const char *name, cuckoo_shown like)
{
    uint64_t n = 1 + (uint64_t)front->columns; /* with the rowid */
    cuckoo_shown *more = sqlite3_realloc64(front->shown, (n + 1) * sizeof *more);
    if (more == NULL)
        return SQLITE_NOMEM;
    more[0] = (cuckoo_shown){.numeric = true, .finds = 1};
    more[n] = like;
    more[n].name = sqlite3_mprintf("%s", name);
    front->shown = more;
    front->columns++;
    return more[n].name ? SQLITE_OK : SQLITE_NOMEM;
}

/* Reads the columns, and declares them in `sql`; a type with the word HIDDEN, which would hide the
** column, is replaced by one with its affinity. A primary key of one column is unique, with an index of
** its own or as the rowid; but that index may have another collation. */
static int read_columns(sqlite3 *db, cuckoo_front *front, sqlite3_str *sql)
{
    enum { NAME = 1, TYPE = 2, KEY = 5 /* columns of the PRAGMA */ };
    sqlite3_stmt *all;
    int first = 0, last = 0; /* of the primary key: its column, the number of columns */
    const char *s = front->schema, *t = front->content, *affinity, *collation;
    int rc = cuckoo_sql_prepare(db, &all, "PRAGMA \"%w\".table_xinfo(\"%w\")", s, t);
    while (rc == SQLITE_OK && sqlite3_step(all) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(all, NAME),
                   *type = (const char *)sqlite3_column_text(all, TYPE);
        int key = sqlite3_column_int(all, KEY);
        rc = name && type ? cuckoo_column_affinity(db, s, t, type, &affinity, NULL) : SQLITE_NOMEM;
        if (rc == SQLITE_OK)
            rc = (front->columns ? cuckoo_column_look_on : cuckoo_column_look)(db, s, t, name, NULL,
                                                                               &collation);
        if (rc != SQLITE_OK)
            break;
        bool text = strcmp(affinity, "TEXT") == 0, any = sqlite3_stricmp(type, "ANY") == 0,
             hides = sqlite3_strlike("%hidden%", type, 0) == 0;
        sqlite3_str_appendf(sql, "%s\"%w\" %s COLLATE \"%w\", ", front->columns ? "" : "CREATE TABLE x(",
                            name, hides || (any && !*affinity) ? affinity : type, collation);
        rc = add_column(front, name,
                        (cuckoo_shown){.collation = cuckoo_collation_named(collation),
                                       .numeric = *affinity && !text,
                                       .text = text,
                                       .real = strcmp(affinity, "REAL") == 0,
                                       .key = key > 0});
        first = key == 1 ? front->columns : first;
        last = key > last ? key : last;
    }
    if (rc == SQLITE_OK && first > 0)
        front->shown[first].finds =
            last == 1 && front->shown[first].collation == CF_COLLATION_BINARY ? 1 : 10;
    return cuckoo_sql_end(all, rc);
}

/* Finds a name of the rowid, if there is one. */
static int read_rowid(sqlite3 *db, cuckoo_front *front)
{
    static const char *const names[] = {"rowid", "_rowid_", "oid", NULL};
    const char *const *name = names;
    while (*name && cuckoo_front_find(front, *name) >= 0)
        name++;
    if (*name == NULL)
        return SQLITE_OK;
    bool has;
    int rc = has_column(db, front, *name, &has);
    front->keyed = !has;
    if (rc != SQLITE_OK || !has)
        return rc;
    front->shown[0].name = sqlite3_mprintf("%s", *name);
    return front->shown[0].name ? SQLITE_OK : SQLITE_NOMEM;
}

/* Reads which columns an index begins with, and which are unique. This only estimates the cost of a
** query, so an error is ignored. */
static int read_indexes(sqlite3 *db, cuckoo_front *front)
{
    sqlite3_stmt *all;
    const char *s = front->schema;
    int rc = cuckoo_sql_prepare(
        db, &all,
        "SELECT 1 + x.cid, x.coll, l.\"unique\" AND NOT EXISTS (SELECT 1 FROM "
        "pragma_index_xinfo(l.name, "
        "%Q) AS y WHERE y.seqno = 1 AND y.key) FROM pragma_index_list(%Q, %Q) AS l "
        "JOIN pragma_index_xinfo(l.name, %Q) AS x ON x.seqno = 0 WHERE x.cid >= 0 AND NOT l.partial",
        s, front->content, s, s);
    while (rc == SQLITE_OK && sqlite3_step(all) == SQLITE_ROW) {
        int i = sqlite3_column_int(all, 0);
        int collation = cuckoo_collation_named((const char *)sqlite3_column_text(all, 1));
        if (i <= front->columns && collation == front->shown[i].collation && front->shown[i].finds != 1)
            front->shown[i].finds = sqlite3_column_int(all, 2) ? 1 : 10;
    }
    rc = cuckoo_sql_end(all, rc);
    return cuckoo_sql_rolls_back(rc) ? rc : SQLITE_OK;
}

/* ---- declaring ---- */

/* The suffix that makes the name of a hidden column different from every column. */
static const char *apart(const cuckoo_front *front, const char *name)
{
    return cuckoo_front_find(front, name) >= 0 ? " (hidden)" : "";
}

/* Declares the columns in `sql`, and the hidden ones; frees `sql`. Without `sql` there is only the
** synced column. NULL: out of memory. */
static char *declaration(const cuckoo_front *front, sqlite3_str *sql, const char *t, const char *k)
{
    bool taken = sqlite3_stricmp(k, t) == 0;
    if (front->columns == 0)
        sqlite3_str_appendf(sql, "CREATE TABLE x(\"%w%s\", ", k, taken ? " (shown)" : "");
    sqlite3_str_appendf(sql, "\"%w%s\" HIDDEN", t, apart(front, t));
    if (front->keyed)
        sqlite3_str_appendf(sql, ", \"cuckoo_id%s\" HIDDEN PRIMARY KEY) WITHOUT ROWID",
                            apart(front, "cuckoo_id"));
    else
        sqlite3_str_appendall(sql, ")");
    return sqlite3_str_finish(sql);
}

static void free_columns(cuckoo_front *front)
{
    for (int i = 0; front->shown && i <= front->columns; i++)
        sqlite3_free(front->shown[i].name);
    sqlite3_free(front->shown);
    sqlite3_free(front->declared);
}

/* Reads the columns of the content, and how to declare them. */
static int read_content(const cuckoo_table *table, cuckoo_front *front, const char *k)
{
    sqlite3 *db = table->registry->db;
    sqlite3_str *sql = sqlite3_str_new(db);
    int rc = read_columns(db, front, sql);
    if (rc == SQLITE_OK && front->columns)
        rc = read_rowid(db, front);
    rc = rc ? rc : read_indexes(db, front);
    front->declared = declaration(front, sql, table->paged.shadow.table, k);
    front->followed = cuckoo_front_find(front, k);
    bool has = false;
    if (rc == SQLITE_OK && front->followed < 0 && front->columns && front->shown[0].name)
        rc = has_column(db, front, k, &has);
    if (has)
        front->followed = CUCKOO_ROWID;
    if (table->paged.shadow.rowids && front->followed >= 0 &&
        front->shown[1 + front->followed].finds == 0)
        front->shown[1 + front->followed].finds = 10; /* as by an index */
    return rc == SQLITE_OK && front->declared == NULL ? SQLITE_NOMEM : rc;
}

/* The reason why its columns cannot be declared. SQLite limits their number, hidden ones included. */
static int cannot_show(sqlite3 *db, const cuckoo_front *front, int columns, char **message)
{
    int hidden = 1 + front->keyed, most = sqlite3_limit(db, SQLITE_LIMIT_COLUMN, -1);
    if (columns + hidden > most)
        return cuckoo_say(message, SQLITE_ERROR,
                          "%s has %d columns, and rows=on adds %d hidden ones: SQLITE_LIMIT_COLUMN "
                          "allows %d; create the filter without rows=on",
                          front->content, columns, hidden, most);
    return cuckoo_say(message, SQLITE_ERROR,
                      "the columns of %s could not be read: it did not exist, or this connection lacks "
                      "a collation of it; once that exists, run PRAGMA writable_schema = RESET; or open "
                      "a new connection, and create the collation before the extension is loaded",
                      front->content);
}

int cuckoo_front_declare(cuckoo_table *table, const char *content, const char *column, char **message)
{
    sqlite3 *db = table->registry->db;
    cuckoo_front *front = table->front = sqlite3_malloc64(sizeof *front);
    if (front == NULL)
        return SQLITE_NOMEM;
    *front = (cuckoo_front){.prepared = -1};
    front->schema = table->paged.shadow.schema;
    front->content = sqlite3_mprintf("%s", content);
    if (front->content == NULL)
        return SQLITE_NOMEM;
    if (cuckoo_shadow_schema(&table->paged.shadow, &front->prepared) != SQLITE_OK)
        front->prepared = -1;
    char *encoding;
    int rc = cuckoo_sql_text(db, &encoding, "PRAGMA encoding");
    front->utf8 = encoding && strcmp(encoding, "UTF-8") == 0;
    sqlite3_free(encoding);
    rc = cuckoo_sql_rolls_back(rc) ? rc : read_content(table, front, column);
    rc = rc ? rc : sqlite3_declare_vtab(db, front->declared);
    if (rc == SQLITE_ERROR && message)
        return cannot_show(db, front, front->columns, message);
    if (rc == SQLITE_ERROR) { /* for example a missing collation: DROP TABLE must still work */
        free_columns(front);
        front->shown = NULL;
        front->columns = front->keyed = 0;
        front->declared = declaration(front, sqlite3_str_new(db), table->paged.shadow.table, column);
        rc = front->declared ? sqlite3_declare_vtab(db, front->declared) : SQLITE_NOMEM;
    }
    return rc;
}

void cuckoo_front_free(cuckoo_front *front)
{
    if (front == NULL)
        return;
    for (int i = 0; i < CUCKOO_IDLE; i++)
        sqlite3_finalize(front->idle[i]);
    sqlite3_free(front->spare);
    free_columns(front);
    cuckoo_counts_free(&front->others.numbers);
    sqlite3_free(front->content);
    sqlite3_free(front);
}

/* ---- values ---- */

int cuckoo_values_add(cuckoo_values *values, sqlite3_value *value)
{
    int n = values->n;
    if ((n & (n - 1)) == 0) {
        sqlite3_value **more = sqlite3_realloc64(values->all, (n ? 2 * (uint64_t)n : 1) * sizeof *more);
        if (more == NULL)
            return SQLITE_NOMEM;
        values->all = more;
    }
    values->all[n] = sqlite3_value_dup(value);
    values->n += values->all[n] != NULL;
    return values->all[n] ? SQLITE_OK : SQLITE_NOMEM;
}

void cuckoo_values_free(cuckoo_values *values)
{
    for (int i = 0; i < values->n; i++)
        sqlite3_value_free(values->all[i]);
    sqlite3_free(values->all);
    *values = (cuckoo_values){.n = 0};
}

/* ---- whether the content has changed ---- */

/* Another table may now have the name of the content. Statements on the old one are useless: before
** SQLite 3.38 xFilter puts the new name into statements. */
static int move_content(cuckoo_front *front, const char *content, int followed)
{
    char *copy = sqlite3_mprintf("%s", content);
    if (copy == NULL)
        return SQLITE_NOMEM;
    front->others.read = false;
    sqlite3_free(front->content);
    front->content = copy;
    front->followed = followed;
    front->moved = CUCKOO_LOOKS_LATE;
    return SQLITE_OK;
}

/* Reads the current names; keeps the old ones if they cannot be read. */
static int find_content(cuckoo_table *table, cuckoo_front *now)
{
    int rc = cuckoo_follow_find(&table->follow, &table->paged.shadow);
    now->schema = table->front->schema;
    now->content = table->follow.table ? table->follow.table : table->front->content;
    return cuckoo_sql_rolls_back(rc) ? rc : SQLITE_OK;
}

/* Indexes may have been created or dropped. If the schema cannot be read, SQLite will read it again. */
int cuckoo_front_look(cuckoo_table *table)
{
    int prepared;
    cuckoo_front *front = table->front, now = {.prepared = -1};
    if (cuckoo_shadow_schema(&table->paged.shadow, &prepared) != SQLITE_OK ||
        (prepared == front->prepared && front->columns > 0))
        return SQLITE_OK;
    int rc = find_content(table, &now);
    const char *k = table->follow.column ? table->follow.column : table->follow.given_column;
    rc = rc ? rc : read_content(table, &now, k);
    if (rc == SQLITE_ERROR) { /* a use reports the reason */
        if (cuckoo_module_begin(table, CUCKOO_INSPECT) == SQLITE_OK)
            cuckoo_module_end(table, SQLITE_OK);
    } else if (rc == SQLITE_OK && now.columns == 0) {
        rc = cuckoo_say(&table->base.zErrMsg, SQLITE_ERROR, "no such table: %s.%s", now.schema,
                        now.content);
    } else if (rc == SQLITE_OK && strcmp(now.declared, front->declared) != 0) {
        char *why = NULL;
        if (front->columns == 0)
            rc = cannot_show(table->registry->db, &now, now.columns, &why);
        rc = cuckoo_table_fail(
            table, SQLITE_ERROR,
            why ? "%s"
                : "the columns of %s are not those that this connection has read (of %s); run PRAGMA "
                  "writable_schema = RESET (before SQLite 3.38: connect again)",
            why ? why : now.content, front->content);
        sqlite3_free(why);
    } else if (rc == SQLITE_OK) {
        if (strcmp(now.content, front->content) != 0 || now.followed != front->followed)
            rc = move_content(front, now.content, now.followed);
        cuckoo_shown *shown = front->shown;
        front->shown = now.shown;
        now.shown = shown;
        front->prepared = rc == SQLITE_OK ? prepared : -1;
    }
    free_columns(&now);
    return rc;
}
