/* SPDX-License-Identifier: MIT */
/*
** cursor.c - asking the virtual table cuckoo_filter: its methods from xBestIndex to xRowid.
*/
#include "../sqlite/sql.h"
#include "module.h"

enum table_plan {
    ROWS_KEY = 1,      /* key = argv[0], or key IS argv[0] */
    ROWS_WANT_KEY = 2, /* the key column is read */
    ROWS_COUNT = 4,    /* no column is read: as many rows as items */
    ROWS_LIST = 8,     /* key IN (argv[0]), all at once */
    ROWS_NOCASE = 16,  /* keys are compared by NOCASE; without this bit and the next: by BINARY */
    ROWS_RTRIM = 32    /* keys are compared by RTRIM */
};

/* A key that is perhaps there. */
typedef struct found_key {
    bool is_integer;
    sqlite3_int64 integer;
    sqlite3_value *key; /* unless it is an integer; NULL also when the column is not read */
    uint64_t hash;
} found_key;

/* The first key has its place in the cursor itself, because EXISTS opens a cursor for every row. */
typedef struct table_cursor {
    sqlite3_vtab_cursor base;
    found_key first, *found; /* found: all keys, in `first` or in memory of sqlite3_malloc64 */
    uint64_t rows, at, room;
    bool counts; /* rows are only counted */
    bool again;  /* keys were looked for before: EXISTS opens a cursor for each row, and asks once */
    cuckoo_calm calm;   /* from the second time on */
    sqlite3_stmt *keys; /* the rows are all keys of the table that the filter follows */
} table_cursor;

static table_cursor *table_cursor_of(sqlite3_vtab_cursor *base)
{
    return (table_cursor *)base;
}

static bool is_key_constraint(sqlite3_index_info *info, int i)
{
    const struct sqlite3_index_constraint *c = &info->aConstraint[i];
    return c->iColumn == COLUMN_KEY &&
           (c->op == SQLITE_INDEX_CONSTRAINT_EQ || c->op == SQLITE_INDEX_CONSTRAINT_IS);
}

/* The plan bits for the collation by which a constraint compares; -1: hashes do not follow it. */
static int collation_of(sqlite3_index_info *info, int i)
{
    const char *name = sqlite3_vtab_collation(info, i);
    return sqlite3_stricmp(name, "BINARY") == 0   ? 0
           : sqlite3_stricmp(name, "NOCASE") == 0 ? ROWS_NOCASE
           : sqlite3_stricmp(name, "RTRIM") == 0  ? ROWS_RTRIM
                                                  : -1;
}

/* Constraint i is key = ... */
static void plan_key(sqlite3_index_info *info, int i, int collation)
{
    info->aConstraintUsage[i].argvIndex = 1;
    info->aConstraintUsage[i].omit = 1;
    info->idxNum = (info->idxNum & ROWS_WANT_KEY) | ROWS_KEY | collation;
    if (cuckoo_late_vtab_in(info, i, 1))
        info->idxNum |= ROWS_LIST;
    else
        info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE; /* a DELETE of one row opens no savepoint */
    info->estimatedCost = 1;
    info->estimatedRows = 1;
}

int cuckoo_cursor_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    cuckoo_table *table = cuckoo_table_of(base);
    /* From 3.54 on SQLite always counts the primary key among the columns that are read. */
    uint64_t read = info->colUsed & ~((uint64_t)1 << COLUMN_ID);
    table->registry->planned = table;
    info->idxNum = read == 0 ? ROWS_COUNT : info->colUsed & 1 << COLUMN_KEY ? ROWS_WANT_KEY : 0;
    info->estimatedCost = 1e12; /* of all keys, if they can be listed: the last resort */
    info->estimatedRows = 1000000;
    for (int i = 0; i < info->nConstraint; i++) {
        int collation = is_key_constraint(info, i) ? collation_of(info, i) : -1;
        if (collation >= 0 && info->aConstraint[i].usable) {
            plan_key(info, i, collation);
            return SQLITE_OK;
        }
    }
    return SQLITE_OK;
}

static void drop_rows(table_cursor *cursor)
{
    bool listed = !cursor->counts && cursor->keys == NULL;
    for (uint64_t i = 0; listed && i < cursor->rows; i++)
        sqlite3_value_free(cursor->found[i].key);
    if (cursor->found != &cursor->first)
        sqlite3_free(cursor->found);
    sqlite3_finalize(cursor->keys);
    *cursor = (table_cursor){
        .base = cursor->base, .found = &cursor->first, .room = 1, .again = true, .calm = cursor->calm};
}

int cuckoo_cursor_open(sqlite3_vtab *base, sqlite3_vtab_cursor **result)
{
    (void)base;
    table_cursor *cursor = sqlite3_malloc64(sizeof *cursor);
    if (cursor == NULL)
        return SQLITE_NOMEM;
    *cursor = (table_cursor){.found = &cursor->first, .room = 1};
    *result = &cursor->base;
    return SQLITE_OK;
}

int cuckoo_cursor_close(sqlite3_vtab_cursor *base)
{
    drop_rows(table_cursor_of(base));
    sqlite3_free(base);
    return SQLITE_OK;
}

/* Adds a row. NULL: out of memory. */
static found_key *append(table_cursor *cursor)
{
    if (cursor->rows == cursor->room) {
        bool moves = cursor->found == &cursor->first;
        uint64_t room = 4 * cursor->room;
        found_key *larger = sqlite3_realloc64(moves ? NULL : cursor->found, room * sizeof *larger);
        if (larger == NULL)
            return NULL;
        if (moves)
            *larger = cursor->first;
        cursor->found = larger;
        cursor->room = room;
    }
    found_key *found = &cursor->found[cursor->rows++];
    *found = (found_key){.key = NULL};
    return found;
}

/* Keeps the key for its column. False: out of memory. */
static bool keep_key(found_key *found, sqlite3_value *key)
{
    found->is_integer = sqlite3_value_type(key) == SQLITE_INTEGER;
    if (found->is_integer)
        found->integer = sqlite3_value_int64(key);
    else
        found->key = sqlite3_value_dup(key);
    return found->is_integer || found->key != NULL;
}

/* Adds a row for a key that is perhaps there: in the filter, or beside it (table.h). */
static int find_key(cuckoo_table *table, table_cursor *cursor, int plan, sqlite3_value *key)
{
    bool has;
    uint64_t hash;
    int rc = cuckoo_table_has_value(table, key, &hash, &has);
    if (rc != SQLITE_OK || !has)
        return rc;
    found_key *found = append(cursor);
    if (found == NULL)
        return SQLITE_NOMEM;
    found->hash = hash;
    return (plan & ROWS_WANT_KEY) && !keep_key(found, key) ? SQLITE_NOMEM : SQLITE_OK;
}

static int find_list(cuckoo_table *table, table_cursor *cursor, int plan, sqlite3_value *list)
{
    sqlite3_value *key = NULL;
    int rc = cuckoo_late_vtab_in_first(list, &key);
    while (rc == SQLITE_OK && key) {
        rc = find_key(table, cursor, plan, key);
        rc = rc ? rc : cuckoo_late_vtab_in_next(list, &key);
    }
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int cannot_list(cuckoo_table *table)
{
    const char *name = table->paged.shadow.table;
    return cuckoo_table_fail(table, SQLITE_ERROR,
                             "a filter cannot list its keys; use WHERE key = ..., EXISTS or a join on "
                             "key, or count(*); for x IN %s: cf_table_contains('%q', x); to delete all: "
                             "INSERT INTO %s(%s) VALUES('clear')",
                             name, name, name, name);
}

/* Are all keys that this comparison finds equal one key for the filter? SQLite compares, and converts,
** as it was told when it read the schema. An import has a rule of its own, and so has a rebuild after
** the column was made anew. */
static bool compares_so(const cuckoo_table *table, int plan)
{
    const cf_geometry *geometry = &table->paged.filter.geometry;
    bool converts = table->affinity > CF_AFFINITY_TEXT && geometry->affinity == CF_AFFINITY_NONE;
    bool differs = table->affinity != geometry->affinity || table->collation != geometry->collation;
    if (converts || (differs && !(plan & ROWS_KEY)))
        return false;
    return plan & ROWS_NOCASE  ? geometry->collation == CF_COLLATION_NOCASE
           : plan & ROWS_RTRIM ? geometry->collation == CF_COLLATION_RTRIM
                               : true;
}

static int cannot_compare(cuckoo_table *table)
{
    return cuckoo_table_fail(table, SQLITE_ERROR,
                             "keys are compared by another affinity or collation here than in the "
                             "filter (collation=%s); compare by BINARY, or connect anew",
                             cuckoo_collation_word(table->paged.filter.geometry.collation));
}

/* The next row is the next key that is not NULL. */
static int read_keys(cuckoo_table *table, table_cursor *cursor)
{
    int rc;
    do
        rc = sqlite3_step(cursor->keys);
    while (rc == SQLITE_ROW && sqlite3_column_type(cursor->keys, 0) == SQLITE_NULL);
    if (rc == SQLITE_ROW || rc == SQLITE_DONE) {
        cursor->rows = cursor->at + (rc == SQLITE_ROW);
        return SQLITE_OK;
    }
    cursor->rows = cursor->at;
    return cuckoo_table_fail(table, cuckoo_sql_code(table->registry->db, rc),
                             "%s(%s) cannot be read: %s", table->follow.table, table->follow.column,
                             sqlite3_errmsg(table->registry->db));
}

/* The table that the filter follows knows the keys. */
static int list_keys(cuckoo_table *table, table_cursor *cursor)
{
    int rc = cuckoo_follow_keys(&table->follow, &table->paged.shadow, -1, &cursor->keys);
    return rc == SQLITE_OK ? read_keys(table, cursor) : rc;
}

static int find_rows(cuckoo_table *table, table_cursor *cursor, int plan, sqlite3_value **argv)
{
    cursor->counts = plan & ROWS_COUNT;
    if (cursor->counts)
        return cuckoo_table_count(table, &cursor->rows);
    if (!compares_so(table, plan))
        return cannot_compare(table);
    if (plan & ROWS_KEY)
        return (plan & ROWS_LIST ? find_list : find_key)(table, cursor, plan, argv[0]);
    return table->follow.given_table ? list_keys(table, cursor) : cannot_list(table);
}

int cuckoo_cursor_filter(sqlite3_vtab_cursor *base, int plan, const char *text, int argc,
                         sqlite3_value **argv)
{
    cuckoo_table *table = cuckoo_table_of(base->pVtab);
    table_cursor *cursor = table_cursor_of(base);
    (void)text, (void)argc;
    bool again = cursor->again;
    drop_rows(cursor);
    if (!cuckoo_table_is_calm(table, &cursor->calm)) {
        int rc = cuckoo_module_begin(table, CUCKOO_ASK);
        if (rc != SQLITE_OK)
            return rc;
        if (again)
            cuckoo_table_calm(table, &cursor->calm);
    }
    return cuckoo_module_end(table, find_rows(table, cursor, plan, argv));
}

int cuckoo_cursor_next(sqlite3_vtab_cursor *base)
{
    table_cursor *cursor = table_cursor_of(base);
    cursor->at++;
    return cursor->keys ? read_keys(cuckoo_table_of(base->pVtab), cursor) : SQLITE_OK;
}

int cuckoo_cursor_eof(sqlite3_vtab_cursor *base)
{
    return table_cursor_of(base)->at >= table_cursor_of(base)->rows;
}

static void result_key(sqlite3_context *context, const found_key *found)
{
    if (found->is_integer)
        sqlite3_result_int64(context, found->integer);
    else if (found->key)
        sqlite3_result_value(context, found->key);
}

int cuckoo_cursor_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    table_cursor *cursor = table_cursor_of(base);
    if (cursor->keys) {
        if (column == COLUMN_KEY)
            sqlite3_result_value(context, sqlite3_column_value(cursor->keys, 0));
        return SQLITE_OK;
    }
    const found_key *found = cursor->counts ? NULL : &cursor->found[cursor->at];
    if (found && column == COLUMN_KEY)
        result_key(context, found);
    else if (found && column == COLUMN_ID)
        sqlite3_result_int64(context, (sqlite3_int64)found->hash);
    return SQLITE_OK;
}

/* SQLite does not call this: the table is WITHOUT ROWID. */
int cuckoo_cursor_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid)
{
    *rowid = 0;
    return cannot_list(cuckoo_table_of(base->pVtab));
}
