/* SPDX-License-Identifier: MIT */
/*
** table_change.c - INSERT, DELETE and UPDATE on the virtual table cuckoo_filter.
**
** A filter that follows a table is changed by its triggers alone. They only tell what has happened:
** nothing is looked up, and deletes wait (store.h). Any other filter is changed at once.
*/
#include "errors.h"
#include "key.h"
#include "table.h"

#include "../src/bits.h"

/* ---- what a row says ---- */

static const cf_geometry *geometry_of(const cuckoo_table *table)
{
    return &table->store->paged.filter.geometry;
}

/* A key, and the value that goes with it. */
typedef struct row_key {
    bool is_null; /* NULL is no key, and never stored */
    uint64_t hash, value;
} row_key;

static int read_key(cuckoo_table *table, sqlite3_value *column, row_key *key)
{
    cuckoo_key kind = cuckoo_key_hash(column, geometry_of(table), &key->hash);
    key->value = 0;
    key->is_null = kind == CUCKOO_KEY_NULL;
    return kind == CUCKOO_KEY_NOMEM ? SQLITE_NOMEM : SQLITE_OK;
}

/* Reads the columns of an INSERT or UPDATE. */
static int read_row(cuckoo_table *table, sqlite3_value **columns, row_key *key)
{
    unsigned bits = geometry_of(table)->value_bits;
    int rc = read_key(table, columns[COLUMN_KEY], key);
    if (rc != SQLITE_OK || !table->values || cuckoo_key_value(columns[COLUMN_VALUE], bits, &key->value))
        return rc;
    return cuckoo_table_fail(table, SQLITE_ERROR, CUCKOO_BAD_VALUE(bits));
}

/* Reads cuckoo_id, as the cursor gave it: the row that a DELETE
** or UPDATE means. Rows that were only counted have none. */
static int read_id(cuckoo_table *table, sqlite3_value *value, cuckoo_row_id *id)
{
    const char *name = table->name;
    const uint8_t *bytes = sqlite3_value_blob(value);
    if (bytes == NULL || sqlite3_value_bytes(value) != CUCKOO_ID_BYTES)
        return cuckoo_table_fail(table, SQLITE_ERROR,
                                 "a filter cannot list its keys, to delete or to change them all; use "
                                 "WHERE key = ..., or INSERT INTO %s(%s) VALUES('clear')",
                                 name, name);
    *id = (cuckoo_row_id){cf_load64(bytes), cf_load64(bytes + 8), bytes[16] != 0};
    return SQLITE_OK;
}

/* ---- rows of a filter that follows nothing ---- */

/* The code is not SQLITE_CONSTRAINT, which OR IGNORE would hide. */
static int refuse_key(cuckoo_table *table, cf_status status)
{
    char *message = cuckoo_full_message(status, &table->store->paged.filter);
    int rc = message ? cuckoo_table_fail(table, SQLITE_ERROR, "%s", message) : SQLITE_NOMEM;
    sqlite3_free(message);
    return rc;
}

/* `owed`: so many deletes follow. */
static int add_told(cuckoo_table *table, uint64_t hash, uint64_t value, unsigned owed)
{
    cf_status status;
    int rc = cuckoo_store_add(table->store, hash, value, owed, &status);
    return rc == SQLITE_OK && status != CF_OK ? refuse_key(table, status) : rc;
}

static int add_key(cuckoo_table *table, const row_key *key)
{
    return key->is_null ? SQLITE_OK : add_told(table, key->hash, key->value, 0);
}

static int insert_row(cuckoo_table *table, sqlite3_value **columns)
{
    row_key new;
    int rc = read_row(table, columns, &new);
    return rc == SQLITE_OK ? add_key(table, &new) : rc;
}

static int delete_row(cuckoo_table *table, sqlite3_value *id)
{
    cuckoo_row_id old = {0};
    int rc = read_id(table, id, &old);
    return rc == SQLITE_OK && !old.other ? cuckoo_store_delete(table->store, old.hash, old.value) : rc;
}

/* The old row goes first, and makes room. If that is not enough, it comes back. */
static int update_row(cuckoo_table *table, sqlite3_value *id, sqlite3_value **columns)
{
    cuckoo_row_id old = {0};
    row_key new;
    int rc = read_id(table, id, &old);
    if (rc == SQLITE_OK)
        rc = read_row(table, columns, &new);
    if (rc != SQLITE_OK || old.other)
        return rc;
    if (!new.is_null &&new.hash == old.hash &&new.value == old.value)
        return rc;
    rc = cuckoo_store_delete(table->store, old.hash, old.value);
    if (rc == SQLITE_OK)
        rc = add_key(table, &new);
    if (rc == SQLITE_ERROR) /* full; other errors may have rolled back the transaction */
        add_told(table, old.hash, old.value, 0);
    return rc;
}

/* ---- what triggers tell ---- */

enum change { ROW_INSERTED = 1, ROW_DELETED = 2, ROW_UPDATED = ROW_INSERTED | ROW_DELETED };

/* A row had the key `from`, and has the key `to`; its rowid may have changed, too. */
typedef struct row_told {
    row_key from, to;
    sqlite3_value *from_row, *to_row;
} row_told;

static int read_told(cuckoo_table *table, sqlite3_value **columns, int change, row_told *told)
{
    int rc = SQLITE_OK;
    told->from.is_null = told->to.is_null = true;
    told->from_row = columns[COLUMN_OLD_ROW];
    told->to_row = columns[COLUMN_ROW];
    if (change & ROW_INSERTED)
        rc = read_key(table, columns[COLUMN_KEY], &told->to);
    if (rc == SQLITE_OK && change & ROW_DELETED)
        rc = read_key(table, columns[COLUMN_OLD], &told->from);
    return rc;
}

/* Does the row hold the key to which the way has led? */
static int check_row(cuckoo_table *table, sqlite3_int64 row, const cuckoo_step *way, bool *fits)
{
    sqlite3_value *key;
    row_key now = {.is_null = true};
    cuckoo_store *store = table->store;
    int rc = cuckoo_follow_row(&store->follow, &store->paged.shadow, row, &key);
    if (rc == SQLITE_OK && key)
        rc = read_key(table, key, &now);
    *fits = way->to_is == (key != NULL) && (!key || way->to == (now.is_null ? 0 : now.hash));
    sqlite3_reset(store->follow.row);
    return rc;
}

static int ask_witness(cuckoo_table *table, sqlite3_int64 row, const cuckoo_step *step, bool *fits)
{
    cuckoo_fit fit;
    cuckoo_step *way;
    int rc = cuckoo_witness_tell(&table->store->witness, row, step, &way, &fit);
    *fits = fit == CUCKOO_FITS;
    if (rc != SQLITE_OK || *fits || fit == CUCKOO_MISFITS)
        return rc;
    rc = check_row(table, row, way, fits);
    if (rc != SQLITE_OK || *fits || fit != CUCKOO_FITS_EITHER)
        return rc;
    way->from_is = way->to_is = step->from_is; /* told late */
    way->from = way->to = step->from;
    return check_row(table, row, way, fits);
}

/* Where a row has no rowid, and old values may be wrong, no old value is believed. */
static int witness(cuckoo_table *table, sqlite3_value *row, cuckoo_step step)
{
    bool fits = !step.from_is;
    int rc = sqlite3_value_type(row) == SQLITE_INTEGER
                 ? ask_witness(table, sqlite3_value_int64(row), &step, &fits)
                 : SQLITE_OK;
    if (rc == SQLITE_OK && !fits)
        cuckoo_store_note_doubt(table->store);
    return rc;
}

/* Does the change fit what was told of the row before? If not, there is a doubt (pages.h). A NULL
** key counts as a key of hash 0 here, because the row is there. */
static int call_witness(cuckoo_table *table, int change, const row_told *told)
{
    const row_key *from = &told->from, *to = &told->to;
    cuckoo_step step = {.from_is = (change & ROW_DELETED) != 0,
                        .to_is = (change & ROW_INSERTED) != 0,
                        .from = from->is_null ? 0 : from->hash,
                        .to = to->is_null ? 0 : to->hash};
    bool moved = change == ROW_UPDATED &&
                 sqlite3_value_int64(told->from_row) != sqlite3_value_int64(told->to_row);
    if (!moved)
        return witness(table, change & ROW_DELETED ? told->from_row : told->to_row, step);
    cuckoo_step out = {.from_is = true, .from = step.from}, in = {.to_is = true, .to = step.to};
    int rc = witness(table, told->from_row, out);
    return rc == SQLITE_OK ? witness(table, told->to_row, in) : rc;
}

static int note_change(cuckoo_table *table, sqlite3_value **columns)
{
    row_told told;
    int change = sqlite3_value_int(columns[COLUMN_CHANGE]);
    if (change < ROW_INSERTED || change > ROW_UPDATED)
        return cuckoo_table_fail(table, SQLITE_ERROR, "cuckoo_change must be 1, 2 or 3");
    int rc = read_told(table, columns, change, &told);
    if (rc == SQLITE_OK && (table->store->follow.may_lie || table->store->witness.nested))
        rc = call_witness(table, change, &told);
    if (rc != SQLITE_OK || (!told.from.is_null && !told.to.is_null && told.from.hash == told.to.hash))
        return rc;
    if (!told.to.is_null)
        rc = add_told(table, told.to.hash, 0, !told.from.is_null);
    if (rc == SQLITE_OK && !told.from.is_null)
        rc = cuckoo_store_delete_later(table->store, told.from.hash, 0);
    return rc;
}

/* ---- which of these it is ---- */

static bool is_given(sqlite3_value **columns, enum cuckoo_column column)
{
    return sqlite3_value_type(columns[column]) != SQLITE_NULL;
}

static int change_as_told(cuckoo_table *table, int argc, sqlite3_value **argv)
{
    sqlite3_value **columns = argv + 2;
    bool told = argc > 1 && is_given(columns, COLUMN_CHANGE);
    bool inserts = argc > 1 && sqlite3_value_type(argv[0]) == SQLITE_NULL;
    if (told && table->content && inserts)
        return note_change(table, columns);
    if (told)
        return cuckoo_table_fail(table, SQLITE_ERROR,
                                 "cuckoo_change and cuckoo_old are for the triggers of a filter with "
                                 "content='table(column)'");
    if (table->content)
        return cuckoo_table_fail(table, SQLITE_ERROR,
                                 "it follows %s(%s): change that table, and the filter changes with it",
                                 table->content, table->column);
    return argc == 1 ? delete_row(table, argv[0])
           : inserts ? insert_row(table, columns)
                     : update_row(table, argv[0], columns);
}

int cuckoo_table_update(sqlite3_vtab *base, int argc, sqlite3_value **argv, sqlite3_int64 *rowid)
{
    cuckoo_table *table = cuckoo_table_of(base);
    const char *name = table->name;
    sqlite3_value **columns = argv + 2;
    (void)rowid;
    if (argc > 1 && is_given(columns, COLUMN_COMMAND)) {
        if (sqlite3_value_type(argv[0]) == SQLITE_NULL)
            return cuckoo_table_command(table, columns[COLUMN_COMMAND], columns[COLUMN_KEY]);
        return cuckoo_table_fail(table, SQLITE_ERROR,
                                 "commands are given by INSERT INTO %s(%s) VALUES(...)", name, name);
    }
    int rc = cuckoo_table_begin(table, CUCKOO_CHANGE);
    return rc == SQLITE_OK ? cuckoo_table_changed(table, change_as_told(table, argc, argv)) : rc;
}
