/*
** filter_change.c - INSERT, DELETE and UPDATE on the virtual table cuckoo_filter.
**
** A filter that follows a table is changed by its triggers alone. They only tell what has happened: nothing is looked
** for, and deletes wait (store.h). Any other filter is changed at once.
*/
#include "../src/bits.h"
#include "errors.h"
#include "filter_table.h"
#include "key.h"

#include <string.h>

/* ---- what a row says ---- */

static const cf_geometry *geometry_of(const cuckoo_table *table)
{
    return &table->store->paged.filter.geometry;
}

/* A key and the value that goes with it. */
typedef struct entry_name {
    bool is_null; /* NULL is no key, and never stored */
    bool other;   /* perhaps of another key: to be left alone */
    uint64_t hash, value;
} entry_name;

static int read_key(cuckoo_table *table, sqlite3_value *key, entry_name *name)
{
    cuckoo_key kind = cuckoo_key_hash(key, geometry_of(table), &name->hash);
    name->value = 0;
    name->is_null = kind == CUCKOO_KEY_NULL;
    return kind == CUCKOO_KEY_NOMEM ? SQLITE_NOMEM : SQLITE_OK;
}

static int read_value(cuckoo_table *table, sqlite3_value *given, entry_name *name)
{
    unsigned bits = geometry_of(table)->value_bits;
    sqlite3_int64 number = sqlite3_value_int64(given);
    if (bits == 0 || sqlite3_value_type(given) != SQLITE_INTEGER || number < 0 || number >> bits)
        return cuckoo_table_fail(
            table, SQLITE_ERROR,
            sqlite3_mprintf("%s: value must be a whole number below 2^%d (value_bits)", table->name,
                            bits));
    name->value = (uint64_t)number;
    return SQLITE_OK;
}

/* The columns of an INSERT or UPDATE. */
static int read_row(cuckoo_table *table, sqlite3_value **columns, entry_name *name)
{
    int rc = read_key(table, columns[COLUMN_KEY], name);
    return rc == SQLITE_OK && table->values ? read_value(table, columns[COLUMN_VALUE], name) : rc;
}

/* The row that a DELETE or UPDATE means: cuckoo_id, as the cursor gave it. */
static int read_id(cuckoo_table *table, sqlite3_value *id, entry_name *name)
{
    const uint8_t *bytes = sqlite3_value_blob(id);
    if (bytes == NULL || sqlite3_value_bytes(id) != CUCKOO_ID_BYTES) /* rows that were only counted */
        return cuckoo_table_fail(
            table, SQLITE_ERROR,
            sqlite3_mprintf("%s: a filter cannot list its keys, to delete or to change them "
                            "all; use WHERE key = ..., or INSERT INTO %s(%s) VALUES('clear')",
                            table->name, table->name, table->name));
    *name = (entry_name){false, bytes[16] != 0, cf_load64(bytes), cf_load64(bytes + 8)};
    return SQLITE_OK;
}

/* ---- rows of a filter that follows nothing ---- */

static int fail_add(cuckoo_table *table, cf_status status)
{
    const cf_filter *filter = &table->store->paged.filter;
    if (status == CF_OK)
        return SQLITE_OK;
    return cuckoo_table_fail(
        table, SQLITE_ERROR, /* not SQLITE_CONSTRAINT, which OR IGNORE may hide */
        sqlite3_mprintf("%s: the filter is full: planned for %lld keys, %lld slots in use; nothing has "
                        "changed; create a larger one, or one with growth=on",
                        table->name, (sqlite3_int64)filter->geometry.capacity,
                        (sqlite3_int64)filter->occupied));
}

static int add(cuckoo_table *table, const entry_name *name, unsigned owed)
{
    cf_status status = CF_OK;
    int rc = name->is_null ? SQLITE_OK
                           : cuckoo_store_add(table->store, name->hash, name->value, owed, &status);
    return rc == SQLITE_OK ? fail_add(table, status) : rc;
}

static int insert_row(cuckoo_table *table, sqlite3_value **columns)
{
    entry_name new;
    int rc = read_row(table, columns, &new);
    return rc == SQLITE_OK ? add(table, &new, 0) : rc;
}

static int delete_row(cuckoo_table *table, sqlite3_value *id)
{
    entry_name old;
    int rc = read_id(table, id, &old);
    return rc == SQLITE_OK && !old.other ? cuckoo_store_delete(table->store, old.hash, old.value) : rc;
}

/* The old row goes first, and makes room. When that is not enough it comes back. */
static int update_row(cuckoo_table *table, sqlite3_value *id, sqlite3_value **columns)
{
    entry_name old, new;
    int rc = read_id(table, id, &old);
    if (rc == SQLITE_OK)
        rc = read_row(table, columns, &new);
    bool same = !new.is_null &&new.hash == old.hash &&new.value == old.value;
    if (rc != SQLITE_OK || same || old.other)
        return rc;
    rc = cuckoo_store_delete(table->store, old.hash, old.value);
    if (rc == SQLITE_OK)
        rc = add(table, &new, 0);
    if (rc == SQLITE_ERROR) /* full; other errors may have rolled back the transaction */
        add(table, &old, 0);
    return rc;
}

/* ---- what triggers tell ---- */

enum change { ROW_INSERTED = 1, ROW_DELETED = 2, ROW_UPDATED = ROW_INSERTED | ROW_DELETED };

/* A row was here, and is there; `from` and `to` may be the same row. */
typedef struct row_told {
    entry_name from, to;
    sqlite3_value *from_row, *to_row;
} row_told;

static int read_told(cuckoo_table *table, sqlite3_value **columns, int change, row_told *told)
{
    int rc = SQLITE_OK;
    told->from.is_null = told->to.is_null = true;
    told->from_row = columns[cuckoo_table_column(table, HIDDEN_OLD_ROW)];
    told->to_row = columns[cuckoo_table_column(table, HIDDEN_ROW)];
    if (change & ROW_INSERTED)
        rc = read_key(table, columns[COLUMN_KEY], &told->to);
    if (rc == SQLITE_OK && change & ROW_DELETED)
        rc = read_key(table, columns[cuckoo_table_column(table, HIDDEN_OLD)], &told->from);
    return rc;
}

/* Is the row where the step has led? */
static int check_row(cuckoo_table *table, sqlite3_int64 row, const cuckoo_step *step, bool *fits)
{
    sqlite3_value *key;
    entry_name now = {.is_null = true};
    cuckoo_store *store = table->store;
    int rc = cuckoo_follow_row(&store->follow, &store->paged.shadow, row, &key);
    if (rc == SQLITE_OK && key)
        rc = read_key(table, key, &now);
    *fits = step->to_is == (key != NULL) && (!key || step->to == (now.is_null ? 0 : now.hash));
    sqlite3_reset(store->follow.row);
    return rc;
}

static int witness(cuckoo_table *table, sqlite3_value *row, cuckoo_step step)
{
    cuckoo_fit fit;
    cuckoo_store *store = table->store;
    if (sqlite3_value_type(row) != SQLITE_INTEGER)
        return SQLITE_OK; /* the table has no rowid */
    int rc = cuckoo_witness_tell(&store->witness, sqlite3_value_int64(row), &step, &fit);
    bool fits = fit == CUCKOO_FITS;
    if (rc == SQLITE_OK && fit == CUCKOO_FITS_BEFORE)
        rc = check_row(table, sqlite3_value_int64(row), &step, &fits);
    if (rc == SQLITE_OK && !fits)
        store->paged.doubt = store->paged.header_dirty = true;
    return rc;
}

/* Does it fit to what was told of these rows before? (NULL is no key, but a row with it is there all the same.) */
static int call_witness(cuckoo_table *table, int change, const row_told *told)
{
    const entry_name *from = &told->from, *to = &told->to;
    cuckoo_step step = {(change & ROW_DELETED) != 0, (change & ROW_INSERTED) != 0,
                        from->is_null ? 0 : from->hash, to->is_null ? 0 : to->hash};
    bool moved = change == ROW_UPDATED &&
                 sqlite3_value_int64(told->from_row) != sqlite3_value_int64(told->to_row);
    if (!moved)
        return witness(table, change & ROW_DELETED ? told->from_row : told->to_row, step);
    int rc = witness(table, told->from_row, (cuckoo_step){true, false, step.from, 0});
    return rc == SQLITE_OK ? witness(table, told->to_row, (cuckoo_step){false, true, 0, step.to}) : rc;
}

static int note_change(cuckoo_table *table, sqlite3_value **columns)
{
    row_told told;
    int change = sqlite3_value_int(columns[cuckoo_table_column(table, HIDDEN_CHANGE)]);
    if (change < ROW_INSERTED || change > ROW_UPDATED)
        return cuckoo_table_fail(table, SQLITE_ERROR,
                                 sqlite3_mprintf("%s: cuckoo_change must be 1, 2 or 3", table->name));
    int rc = read_told(table, columns, change, &told);
    if (rc == SQLITE_OK)
        rc = call_witness(table, change, &told);
    if (rc != SQLITE_OK || (!told.from.is_null && !told.to.is_null && told.from.hash == told.to.hash))
        return rc;
    if (!told.to.is_null)
        rc = add(table, &told.to, !told.from.is_null);
    if (rc == SQLITE_OK && !told.from.is_null)
        rc = cuckoo_store_delete_later(table->store, told.from.hash, 0);
    return rc;
}

static int refuse_direct(cuckoo_table *table)
{
    return cuckoo_table_fail(table, SQLITE_ERROR,
                             sqlite3_mprintf("%s: it follows %s(%s): change that table, and the filter "
                                             "changes with it",
                                             table->name, table->content, table->column));
}

static int refuse_change(cuckoo_table *table)
{
    return cuckoo_table_fail(
        table, SQLITE_ERROR,
        sqlite3_mprintf("%s: cuckoo_change and cuckoo_old are for the triggers of a "
                        "filter with content='table(column)'",
                        table->name));
}

/* ---- */

static bool is_given(const cuckoo_table *table, sqlite3_value **columns, enum cuckoo_hidden column)
{
    return sqlite3_value_type(columns[cuckoo_table_column(table, column)]) != SQLITE_NULL;
}

static int change_row(cuckoo_table *table, int argc, sqlite3_value **argv)
{
    sqlite3_value **columns = argv + 2;
    bool told = argc > 1 && is_given(table, columns, HIDDEN_CHANGE);
    bool inserts = argc > 1 && sqlite3_value_type(argv[0]) == SQLITE_NULL;
    if (told)
        return table->content && inserts ? note_change(table, columns) : refuse_change(table);
    if (table->content)
        return refuse_direct(table);
    return argc == 1 ? delete_row(table, argv[0])
           : inserts ? insert_row(table, columns)
                     : update_row(table, argv[0], columns);
}

int cuckoo_table_update(sqlite3_vtab *base, int argc, sqlite3_value **argv, sqlite3_int64 *rowid)
{
    cuckoo_table *table = (cuckoo_table *)base;
    (void)rowid;
    if (argc > 1 && is_given(table, argv + 2, HIDDEN_COMMAND)) {
        if (sqlite3_value_type(argv[0]) != SQLITE_NULL)
            return cuckoo_table_fail(
                table, SQLITE_ERROR,
                sqlite3_mprintf("%s: commands are given by INSERT INTO %s(%s) VALUES(...)", table->name,
                                table->name, table->name));
        return cuckoo_table_command(table, argv[2 + cuckoo_table_column(table, HIDDEN_COMMAND)],
                                    argv[2 + COLUMN_KEY]);
    }
    int rc = cuckoo_table_begin(table, CUCKOO_CHANGE);
    if (rc != SQLITE_OK)
        return rc;
    rc = cuckoo_store_changed(table->store, change_row(table, argc, argv));
    return table->base.zErrMsg ? rc : cuckoo_table_explain(table, rc, "a page cannot be read");
}
