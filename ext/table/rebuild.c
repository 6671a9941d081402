/* SPDX-License-Identifier: MIT */
#include "../functions/filters.h"
#include "../keys/column_rule.h"
#include "../keys/key.h"
#include "../sqlite/errors.h"
#include "../sqlite/sql.h"
#include "../sqlite/watch.h"
#include "maintenance.h"

/* With rowids=on a key with more rows than its buckets have slots takes long, and much memory. */
static bool has_too_many(uint64_t rows, uint64_t keys, const cuckoo_counts *aside)
{
    enum { MOST = 8 /* rows a key */, FEW = 1000 };
    return rows > FEW && (rows >= MOST * keys || aside->used > rows / 2);
}

static int say_index(const cuckoo_table *table, char **message)
{
    const char *t = table->follow.table, *k = table->follow.column;
    return cuckoo_say(message, SQLITE_ERROR,
                      "rowids=on is for columns with fewer than 8 rows a key, and rowids that are not "
                      "negative: use CREATE INDEX ON %s(%s)",
                      t, k);
}

enum { BATCH = 64 /* keys whose cache misses overlap */ };

/* Keys that were read and are not yet added, with their rows. */
typedef struct batch {
    uint64_t hash[BATCH], row[BATCH];
    size_t n;
    uint64_t keys, distinct; /* of all that were read; `distinct`: only with rowids=on */
    bool rowids;
} batch;

/* Adds the keys of the batch, with the cache misses of all of them overlapped. */
static int add_batch(sqlite3 *db, batch *from, cf_filter *filter, cuckoo_counts *aside, char **message)
{
    bool known[BATCH];
    cf_contains_many(filter, from->hash, from->n, known);
    for (size_t i = 0; i < from->n; i++) {
        uint64_t hash = from->hash[i];
        bool first = from->rowids && !known[i] && !cf_contains(filter, hash);
        cf_status status = cuckoo_watched_add(db, filter, hash, from->row[i]);
        from->distinct += first && status == CF_OK;
        if (status == CF_NO_MEMORY || status == CF_INTERRUPTED)
            return cuckoo_error_code(status);
        if (status != CF_OK && aside == NULL) {
            *message = cuckoo_full_message(status, filter);
            return *message ? SQLITE_ERROR : SQLITE_NOMEM;
        }
        if (status != CF_OK &&
            cuckoo_counts_put(aside, false, hash, (int64_t)from->row[i], 1) != SQLITE_OK)
            return SQLITE_NOMEM;
    }
    from->keys += from->n;
    from->n = 0;
    return SQLITE_OK;
}

/* Adds all keys of the statement. Those that do not fit go to `aside`; NULL: an error. */
static int add_keys(const cuckoo_table *table, sqlite3_stmt *keys, cf_filter *filter,
                    cuckoo_counts *aside, char **message)
{
    enum { SOME = 1 << 20 /* a multiple of BATCH */ };
    int rc;
    sqlite3 *db = sqlite3_db_handle(keys);
    batch read = {.n = 0, .rowids = table->paged.shadow.rowids};
    while ((rc = sqlite3_step(keys)) == SQLITE_ROW) {
        sqlite3_value *value = sqlite3_column_value(keys, 0);
        cuckoo_key kind = cuckoo_key_hash(value, &filter->geometry, &read.hash[read.n]);
        if (kind == CUCKOO_KEY_NOMEM)
            return SQLITE_NOMEM;
        if (kind != CUCKOO_KEY_OK)
            continue;
        cf_note_types(filter, cuckoo_key_type(value, &filter->geometry));
        read.row[read.n++] = read.rowids ? (uint64_t)sqlite3_column_int64(keys, 1) : 0;
        if (read.n < BATCH)
            continue;
        if ((rc = add_batch(db, &read, filter, aside, message)) != SQLITE_OK)
            return rc;
        if (read.rowids && read.keys % SOME == 0 && has_too_many(read.keys, read.distinct, aside))
            return say_index(table, message);
    }
    if (rc != SQLITE_DONE)
        return cuckoo_sql_code(db, rc);
    rc = add_batch(db, &read, filter, aside, message);
    if (rc == SQLITE_OK && read.rowids && has_too_many(read.keys, read.distinct, aside))
        return say_index(table, message);
    cf_settle(filter);
    return rc;
}

/* Builds a filter of this shape from the rows of the table. Keys that do not fit go to `aside`. */
static int read_table(cuckoo_table *table, const cf_geometry *shape, cf_filter *filter,
                      cuckoo_counts *aside, char **message)
{
    sqlite3_stmt *keys;
    const cuckoo_shadow *shadow = &table->paged.shadow;
    if (!cuckoo_maintenance_blank(shape, filter))
        return SQLITE_NOMEM;
    int rc = cuckoo_follow_keys(&table->follow, shadow, -1, &keys);
    rc = rc ? rc : add_keys(table, keys, filter, aside, message);
    sqlite3_finalize(keys);
    if (rc != SQLITE_OK)
        cuckoo_maintenance_free(filter);
    if (rc == SQLITE_OK || rc == SQLITE_NOMEM || *message)
        return rc;
    return rc == SQLITE_INTERRUPT ? cuckoo_say(message, rc, "interrupted")
                                  : cuckoo_maintenance_unreadable(table, rc, message);
}

/* The shape for the column, with its key rule. It stays as it is, unless another capacity is given, or
** `replan` is set and there are more keys: then it is planned with the options of CREATE. */
static int plan_shape(const cuckoo_table *table, bool replan, const uint64_t *given, cf_geometry *shape,
                      char **message)
{
    const char *why, *schema = table->paged.shadow.schema, *t = table->follow.table,
                     *k = table->follow.column;
    cf_options options = table->options.filter;
    sqlite3 *db = table->paged.shadow.db;
    *shape = table->paged.filter.geometry;
    unsigned bits = shape->value_bits;
    uint64_t rows = 0, capacity = given ? *given : shape->capacity;
    int rc = cuckoo_column_table(db, schema, t, message);
    rc = rc ? rc : cuckoo_column_rule(db, schema, t, k, &options, message);
    if (rc != SQLITE_OK && *message)
        rc = cuckoo_say(message, rc, "%s; if the table is gone for good, drop the filter", *message);
    else if (rc == SQLITE_OK && replan && shape->value_bits)
        rc = cuckoo_column_rowid_bits(db, schema, t, k, &rows, &options.value_bits, message);
    else if (rc == SQLITE_OK && replan && !given)
        rc = cuckoo_column_capacity(db, schema, t, k, &options, shape->counter_bits != 0, &capacity,
                                    message);
    if (!given)
        capacity = cuckoo_column_room(rows, capacity);
    shape->affinity = (uint8_t)options.affinity;
    shape->collation = (uint8_t)options.collation;
    shape->value_bits = (uint8_t)options.value_bits;
    if (rc != SQLITE_OK || (capacity == shape->capacity && bits == shape->value_bits))
        return rc;
    options.counter_bits = shape->counter_bits;
    options.key_types = shape->key_types;
    options.seed = shape->seed;
    options.hash = shape->keyed ? CF_HASH_KEYED : CF_HASH_XXH3;
    cf_status status = cf_plan(capacity, table->options.fpr, &options, shape, &why);
    if (status != CF_OK)
        return cuckoo_say(message, cuckoo_error_code(status), "%s", why);
    return cuckoo_memory_for(shape, message);
}

/* With rowids=on a filter is planned for all rows. If many of them have no key, this is too large. */
static bool fits_in_less(const cf_filter *filter, uint64_t aside, uint64_t least, uint64_t *capacity)
{
    *capacity = cuckoo_column_room(filter->items + aside, least);
    return *capacity < filter->geometry.capacity - filter->geometry.capacity / 8;
}

/* Makes an empty log. While a statement runs, SQLite does not drop tables: if another table has the name
** of the log, that table stays, and the log gets another name. */
static int make_log(cuckoo_shadow *shadow)
{
    char *watcher;
    cuckoo_log_fault fault;
    int rc = cuckoo_log_look(shadow, &fault, &watcher);
    sqlite3_free(watcher);
    if (rc == SQLITE_OK && fault == CUCKOO_LOG_CHANGED) {
        cuckoo_shadow_new_log(shadow);
        fault = CUCKOO_LOG_MISSING;
    }
    if (rc != SQLITE_OK || fault == CUCKOO_LOG_MISSING)
        return rc ? rc : cuckoo_log_create(shadow);
    return cuckoo_shadow_run(shadow, CUCKOO_EMPTY_LOG);
}

/* Sets the message, unless there is no error, memory has failed, or `damage` is the message. */
static int say_no_triggers(const cuckoo_table *table, int rc, char **message)
{
    return rc == SQLITE_OK || rc == SQLITE_NOMEM || table->paged.shadow.damage
               ? rc
               : cuckoo_say(message, rc, "its triggers on %s(%s) cannot be created: %s",
                            table->follow.table, table->follow.column,
                            cuckoo_sql_message(table->paged.shadow.db, rc));
}

static int make_triggers(cuckoo_table *table, char **message)
{
    cuckoo_shadow *shadow = &table->paged.shadow;
    int rc = make_log(shadow);
    rc = rc ? rc : cuckoo_follow_save(&table->follow, shadow);
    if (rc == SQLITE_CORRUPT_VTAB)
        return rc; /* shadow->damage says why */
    rc = rc ? rc : cuckoo_follow_create(&table->follow, shadow);
    if (rc == SQLITE_OK && shadow->rowids) {
        rc = cuckoo_follow_rowids_seen(&table->follow, shadow);
        rc = rc ? rc : cuckoo_follow_save(&table->follow, shadow);
    }
    return say_no_triggers(table, rc, message);
}

/* Within a transaction SQLite does not undo the effects of an INSERT of a single row, so the table is
** read before anything changes. Triggers with these names may exist, with any text. If they cannot be
** dropped, the log stays; if only some of them are created, that is a fault. */
int cuckoo_maintenance_rebuild(cuckoo_table *table, bool replan, const uint64_t *capacity,
                               char **message)
{
    cf_geometry shape;
    cf_filter filter;
    uint64_t keys;
    cuckoo_counts aside = {0};
    if (!cuckoo_table_follows(table))
        return cuckoo_say(
            message, SQLITE_ERROR,
            "nothing to rebuild from: it is not in sync with a table; create another one, and fill "
            "it: CREATE VIRTUAL TABLE \"%w_2\" USING cuckoo_filter(capacity=1000000)",
            table->paged.shadow.table);
    if (cuckoo_sql_running(table->paged.shadow.db, true) > 1)
        return cuckoo_say(message, SQLITE_ERROR,
                          "a statement that writes is running, and would not fire its triggers: do this "
                          "after it has ended");
    int rc = cuckoo_paged_load(&table->paged);
    rc = rc ? rc : cuckoo_shadow_check(&table->paged.shadow);
    rc = rc ? rc : cuckoo_shadow_fits(&table->paged.shadow, table->paged.page_bytes);
    rc = rc ? rc : cuckoo_follow_find(&table->follow, &table->paged.shadow);
    rc = rc ? rc : plan_shape(table, replan, capacity, &shape, message);
    rc = rc ? rc : cuckoo_follow_refuse(&table->follow, &table->paged.shadow, message);
    bool may_leave = replan || shape.growth || shape.value_bits;
    rc = rc ? rc : read_table(table, &shape, &filter, may_leave ? &aside : NULL, message);
    if (rc == SQLITE_OK && shape.value_bits && !capacity &&
        fits_in_less(&filter, aside.used, table->paged.filter.geometry.capacity, &keys)) {
        cuckoo_maintenance_free(&filter);
        cuckoo_counts_free(&aside);
        rc = plan_shape(table, replan, &keys, &shape, message);
        rc = rc ? rc : read_table(table, &shape, &filter, &aside, message);
    }
    if (rc == SQLITE_OK && (rc = cuckoo_follow_drop(&table->paged.shadow)) != SQLITE_OK) {
        cuckoo_maintenance_free(&filter);
        rc = say_no_triggers(table, rc, message);
    } else if (rc == SQLITE_OK) {
        rc = make_triggers(table, message);
        cuckoo_net_forget(&table->net);
        rc = cuckoo_table_finish(table, &aside, cuckoo_maintenance_put(table, &filter, rc));
        if (rc != SQLITE_OK && !cuckoo_sql_rolls_back(rc))
            rc = SQLITE_IOERR; /* the log is empty: the old filter must not stay */
    }
    cuckoo_counts_free(&aside);
    return rc;
}
