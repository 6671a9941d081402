#include "filter_cursor.h"

#include "filter_table.h"
#include "key.h"

#include <string.h>

enum plan_bits {
    PLAN_KEY = 1,      /* key = argv[0] */
    PLAN_WANT_KEY = 2, /* the key column is read */
    PLAN_COUNT = 4,    /* no column is read: as many rows as items */
    PLAN_LIST = 8      /* key IN (argv[0]), all at once */
};

/* A key that is perhaps there. Its column is one of these: an integer, or another value; neither when it is not read. */
typedef struct found_key {
    bool is_integer, has_value;
    sqlite3_int64 integer;
    sqlite3_value *key;
    uint64_t hash, value;
} found_key;

/* EXISTS opens a cursor for every row: the first key found has its place in it. */
typedef struct table_cursor {
    sqlite3_vtab_cursor base;
    found_key first, *more; /* more: NULL, or the array of all of them */
    uint64_t rows, at, room;
    bool counts; /* rows are only counted */
} table_cursor;

static cuckoo_table *table_of(sqlite3_vtab *base)
{
    return (cuckoo_table *)base;
}

static table_cursor *cursor_of(sqlite3_vtab_cursor *base)
{
    return (table_cursor *)base;
}

/* key = value under a collation other than BINARY is not what a hash can answer. */
static bool is_key_constraint(sqlite3_index_info *info, int i)
{
    const struct sqlite3_index_constraint *c = &info->aConstraint[i];
    return c->iColumn == COLUMN_KEY && c->op == SQLITE_INDEX_CONSTRAINT_EQ &&
           sqlite3_stricmp(sqlite3_vtab_collation(info, i), "BINARY") == 0;
}

#if SQLITE_VERSION_NUMBER >= 3038000
static bool takes_lists(void)
{
    enum { HAS_VTAB_IN = 3038000 };
    return sqlite3_libversion_number() >= HAS_VTAB_IN;
}
#endif

int cuckoo_cursor_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    bool unusable = false;
    table_of(base)->registry->planned = table_of(base);
    info->idxNum = info->colUsed == 0 ? PLAN_COUNT : info->colUsed & 1 ? PLAN_WANT_KEY : 0;
    info->estimatedCost = 1e12;
    info->estimatedRows = 1000000;
    for (int i = 0; i < info->nConstraint; i++) {
        if (!is_key_constraint(info, i))
            continue;
        if (!info->aConstraint[i].usable) {
            unusable = true;
            continue;
        }
        info->aConstraintUsage[i].argvIndex = 1;
        info->aConstraintUsage[i].omit = 1;
        info->idxNum = (info->idxNum & PLAN_WANT_KEY) | PLAN_KEY;
#if SQLITE_VERSION_NUMBER >= 3038000
        if (takes_lists() && sqlite3_vtab_in(info, i, 1))
            info->idxNum |= PLAN_LIST;
#endif
        info->estimatedCost = 1;
        info->estimatedRows = 1;
        return SQLITE_OK;
    }
    return unusable ? SQLITE_CONSTRAINT : SQLITE_OK;
}

int cuckoo_cursor_open(sqlite3_vtab *base, sqlite3_vtab_cursor **result)
{
    (void)base;
    table_cursor *cursor = sqlite3_malloc64(sizeof *cursor);
    if (cursor == NULL)
        return SQLITE_NOMEM;
    memset(cursor, 0, sizeof *cursor);
    *result = &cursor->base;
    return SQLITE_OK;
}

static found_key *found_at(table_cursor *cursor, uint64_t i)
{
    return cursor->more ? &cursor->more[i] : &cursor->first;
}

static void let_go(table_cursor *cursor)
{
    for (uint64_t i = 0; !cursor->counts && i < cursor->rows; i++)
        sqlite3_value_free(found_at(cursor, i)->key);
    sqlite3_free(cursor->more);
    cursor->more = NULL;
    cursor->rows = cursor->at = cursor->room = 0;
    cursor->counts = false;
}

int cuckoo_cursor_close(sqlite3_vtab_cursor *base)
{
    let_go(cursor_of(base));
    sqlite3_free(base);
    return SQLITE_OK;
}

/* Moves the first key, too, to an array, for the second. */
static bool make_room(table_cursor *cursor)
{
    uint64_t room = cursor->more ? 2 * cursor->room : 4;
    found_key *larger = sqlite3_realloc64(cursor->more, room * sizeof *larger);
    if (larger == NULL)
        return false;
    if (cursor->more == NULL)
        larger[0] = cursor->first;
    cursor->more = larger;
    cursor->room = room;
    return true;
}

/* Another row; NULL: out of memory. */
static found_key *append(table_cursor *cursor)
{
    bool full = cursor->more ? cursor->rows == cursor->room : cursor->rows == 1;
    if (full && !make_room(cursor))
        return NULL;
    found_key *found = found_at(cursor, cursor->rows++);
    *found = (found_key){.key = NULL};
    return found;
}

/* The key, for its column. False: out of memory. */
static bool keep_key(found_key *found, sqlite3_value *key)
{
    found->is_integer = sqlite3_value_type(key) == SQLITE_INTEGER;
    if (found->is_integer)
        found->integer = sqlite3_value_int64(key);
    else
        found->key = sqlite3_value_dup(key);
    return found->is_integer || found->key != NULL;
}

static int find_key(cuckoo_table *table, table_cursor *cursor, sqlite3_value *key, bool want_key)
{
    const cf_filter *filter = cuckoo_paged_reader(&table->paged);
    uint64_t hash;
    cuckoo_key kind = cuckoo_key_hash(key, &filter->geometry, &hash);
    if (kind != CUCKOO_KEY_OK)
        return kind == CUCKOO_KEY_NOMEM ? SQLITE_NOMEM : SQLITE_OK;
    if (!cuckoo_key_found(filter, key, hash))
        return SQLITE_OK;
    found_key *found = append(cursor);
    if (found == NULL)
        return SQLITE_NOMEM;
    found->hash = hash;
    found->has_value = filter->geometry.value_bits && cf_get(filter, hash, &found->value);
    return want_key && !keep_key(found, key) ? SQLITE_NOMEM : SQLITE_OK;
}

#if SQLITE_VERSION_NUMBER >= 3038000
static int find_list(cuckoo_table *table, table_cursor *cursor, sqlite3_value *list, bool want_key)
{
    sqlite3_value *key = NULL;
    int rc = sqlite3_vtab_in_first(list, &key);
    while (rc == SQLITE_OK && key) {
        rc = find_key(table, cursor, key, want_key);
        if (rc == SQLITE_OK)
            rc = sqlite3_vtab_in_next(list, &key);
    }
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}
#endif

static int find_keys(cuckoo_table *table, table_cursor *cursor, int plan, sqlite3_value *keys)
{
    bool want_key = plan & PLAN_WANT_KEY;
#if SQLITE_VERSION_NUMBER >= 3038000
    if (plan & PLAN_LIST)
        return find_list(table, cursor, keys, want_key);
#endif
    return find_key(table, cursor, keys, want_key);
}

static int cannot_list(cuckoo_table *table)
{
    const char *name = table->paged.shadow.table;
    return cuckoo_table_fail(
        table, SQLITE_ERROR,
        sqlite3_mprintf(
            "%s: a filter cannot list its keys; use WHERE key = ..., EXISTS or a join on key, count(*), "
            "or INSERT INTO %s(%s) VALUES('clear')",
            name, name, name));
}

int cuckoo_cursor_filter(sqlite3_vtab_cursor *base, int plan, const char *text, int argc,
                         sqlite3_value **argv)
{
    cuckoo_table *table = table_of(base->pVtab);
    table_cursor *cursor = cursor_of(base);
    (void)text, (void)argc;
    let_go(cursor);
    if (!(plan & (PLAN_KEY | PLAN_COUNT)))
        return cannot_list(table);
    int rc = cuckoo_table_begin(table);
    if (rc != SQLITE_OK)
        return rc;
    cursor->counts = plan & PLAN_COUNT;
    if (cursor->counts)
        cursor->rows = table->paged.filter.items;
    else
        rc = find_keys(table, cursor, plan, argv[0]);
    int rc2 = cuckoo_table_end(table);
    return rc == SQLITE_OK ? rc2 : rc;
}

int cuckoo_cursor_next(sqlite3_vtab_cursor *base)
{
    cursor_of(base)->at++;
    return SQLITE_OK;
}

int cuckoo_cursor_eof(sqlite3_vtab_cursor *base)
{
    return cursor_of(base)->at >= cursor_of(base)->rows;
}

int cuckoo_cursor_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    table_cursor *cursor = cursor_of(base);
    const found_key *found = cursor->counts ? NULL : found_at(cursor, cursor->at);
    if (found && column == COLUMN_KEY && found->is_integer)
        sqlite3_result_int64(context, found->integer);
    else if (found && column == COLUMN_KEY && found->key)
        sqlite3_result_value(context, found->key);
    else if (found && column == COLUMN_VALUE && found->has_value)
        sqlite3_result_int64(context, (sqlite3_int64)found->value);
    return SQLITE_OK;
}

/* Rows that are only counted have none: DELETE without "key =" must not take them for hashes. */
int cuckoo_cursor_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid)
{
    table_cursor *cursor = cursor_of(base);
    if (cursor->counts)
        return cannot_list(table_of(base->pVtab));
    *rowid = (sqlite3_int64)found_at(cursor, cursor->at)->hash;
    return SQLITE_OK;
}
