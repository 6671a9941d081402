/* SPDX-License-Identifier: MIT */
/*
** inspect.c - plans, cursors, columns. Arguments are equality constraints on hidden columns.
*/
#include "inspect.h"

#include "../functions/filters.h"
#include "../keys/key.h"
#include "../sqlite/errors.h"
#include "../sqlite/sql.h"
#include "../table/maintenance.h"

#include <string.h>

/* The columns of all three tables: arguments and texts; numbers; numbers of the entry in the slot. */
enum { FACT_FILTER, FACT_KEY, FACT_SIDE, FACT_SOURCE, FACT_VALUE, FACT_BUCKET, FACT_SLOT, FACT_WANTED };
enum { FACT_NUMBERS = FACT_VALUE, FACT_MATCH = FACT_WANTED + 1, FACT_STASHED, FACT_ENTRY };
enum { FACT_FINGERPRINT = FACT_ENTRY, FACT_ALTERNATE, FACT_LENGTH, FACT_PAYLOAD, FACT_COPIES };

typedef struct inspect_kind {
    const char *name, *schema;
    enum { NAMES, KEYS, TEXTS } takes; /* names of filter tables as well, a key, a text alone */
    uint8_t facts[12];                 /* its columns */
} inspect_kind;

static const inspect_kind kinds[] = {
    {"cf_buckets",
     "CREATE TABLE x(bucket INTEGER, slot INTEGER, fingerprint INTEGER, alternate INTEGER, "
     "length INTEGER, stashed INTEGER, payload INTEGER, copies INTEGER, cuckoo_filter HIDDEN)",
     NAMES,
     {FACT_BUCKET, FACT_SLOT, FACT_FINGERPRINT, FACT_ALTERNATE, FACT_LENGTH, FACT_STASHED, FACT_PAYLOAD,
      FACT_COPIES, FACT_FILTER}},
    {"cf_explain",
     "CREATE TABLE x(side TEXT, bucket INTEGER, slot INTEGER, fingerprint INTEGER, wanted INTEGER, "
     "match INTEGER, source TEXT, length INTEGER, payload INTEGER, copies INTEGER, "
     "cuckoo_filter HIDDEN, cuckoo_key HIDDEN)",
     KEYS,
     {FACT_SIDE, FACT_BUCKET, FACT_SLOT, FACT_FINGERPRINT, FACT_WANTED, FACT_MATCH, FACT_SOURCE,
      FACT_LENGTH, FACT_PAYLOAD, FACT_COPIES, FACT_FILTER, FACT_KEY}},
    {"cf_values",
     "CREATE TABLE x(value INTEGER, cuckoo_filter HIDDEN, cuckoo_key HIDDEN)",
     KEYS,
     {FACT_VALUE, FACT_FILTER, FACT_KEY}},
    {"cf_lines", "CREATE TABLE x(line TEXT, cuckoo_text HIDDEN)", TEXTS, {FACT_SOURCE, FACT_FILTER}}};

typedef struct inspect_table {
    sqlite3_vtab base;
    const inspect_kind *kind;
    cuckoo_registry *registry; /* of the connection */
} inspect_table;

/* A cursor goes through the slots of buckets `at` to `end` - 1; or of the sides of a key's pair, with
** the stash as another side (each level of an exact filter has two sides); or through values. */
typedef struct inspect_cursor {
    sqlite3_vtab_cursor base;
    cuckoo_handle *handle;   /* keeps the bytes while the cursor is open */
    sqlite3_value *key;      /* cf_explain and cf_values */
    uint64_t hash;           /* of the key */
    const cf_filter *filter; /* or a level of an exact filter */
    cf_pair pair;            /* of the key, in `filter` */
    uint64_t at, end;
    unsigned slot; /* or position in the stash */
    bool stashed;  /* the entry of the row is in the stash */
    bool there;    /* the slot is not empty */
    unsigned side;
    uint64_t bucket;
    cf_entry entry;
    uint64_t value[CF_VALUES_MAX]; /* cf_values */
} inspect_cursor;

static inspect_table *table_of(sqlite3_vtab_cursor *base)
{
    return (inspect_table *)base->pVtab;
}

static bool lists_values(const inspect_kind *kind)
{
    return kind->facts[0] == FACT_VALUE;
}

/* xFilter gets the filter, and then the key or the number of a bucket, if they are given. A missing
** argument is an error there. Here it is an error only in this join order: SQLite plans the parts of an
** OR as well, and if one of these plans fails, the query fails. */
int cuckoo_inspect_best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
    const inspect_kind *kind = ((inspect_table *)table)->kind;
    int filter = -1, second = -1; /* their constraints */
    bool unusable = false;        /* an argument is not usable in this join order */
    for (int i = 0; i < info->nConstraint; i++) {
        const struct sqlite3_index_constraint *c = &info->aConstraint[i];
        unsigned fact = c->iColumn < 0 ? FACT_SLOT : kind->facts[c->iColumn];
        bool is_second = fact == (kind->takes == KEYS ? FACT_KEY : FACT_BUCKET);
        if (c->op != SQLITE_INDEX_CONSTRAINT_EQ || (fact != FACT_FILTER && !is_second))
            continue;
        unusable |= !c->usable && fact != FACT_BUCKET;
        if (c->usable)
            *(is_second ? &second : &filter) = i;
    }
    bool misses = filter < 0 || (kind->takes == KEYS && second < 0);
    if (filter >= 0)
        info->aConstraintUsage[filter] = (struct sqlite3_index_constraint_usage){1, 1};
    if (filter >= 0 && second >= 0)
        info->aConstraintUsage[second] = (struct sqlite3_index_constraint_usage){2, kind->takes == KEYS};
    info->estimatedRows = second >= 0 ? 8 : 1000000;
    info->estimatedCost = misses ? 1e99 : (double)info->estimatedRows + 1000.0;
    return unusable && misses ? SQLITE_CONSTRAINT : SQLITE_OK;
}

int cuckoo_inspect_connect(sqlite3 *db, void *registry, int argc, const char *const *argv,
                           sqlite3_vtab **result, char **message)
{
    const inspect_kind *kind = kinds;
    while (strcmp(argv[0], kind->name) != 0)
        kind++;
    (void)argc, (void)message;
    int rc = sqlite3_declare_vtab(db, kind->schema);
    if (rc == SQLITE_OK && kind->takes != NAMES) /* names read the database */
        rc = sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
    inspect_table *table = rc == SQLITE_OK ? sqlite3_malloc64(sizeof *table) : NULL;
    if (table == NULL)
        return rc == SQLITE_OK ? SQLITE_NOMEM : rc;
    *table = (inspect_table){.kind = kind, .registry = registry};
    *result = &table->base;
    return SQLITE_OK;
}

int cuckoo_inspect_disconnect(sqlite3_vtab *table)
{
    sqlite3_free(table);
    return SQLITE_OK;
}

static int inspect_open(sqlite3_vtab *table, sqlite3_vtab_cursor **result)
{
    (void)table;
    inspect_cursor *cursor = sqlite3_malloc64(sizeof *cursor);
    if (cursor == NULL)
        return SQLITE_NOMEM;
    *cursor = (inspect_cursor){.handle = NULL};
    *result = &cursor->base;
    return SQLITE_OK;
}

static void empty_cursor(inspect_cursor *cursor)
{
    cuckoo_handle_release(cursor->handle);
    sqlite3_value_free(cursor->key);
    *cursor = (inspect_cursor){.base = cursor->base};
}

static int inspect_close(sqlite3_vtab_cursor *base)
{
    empty_cursor((inspect_cursor *)base);
    sqlite3_free(base);
    return SQLITE_OK;
}

/* ---- the arguments ---- */

/* Sets the error "name of the function: why", and frees `why`; NULL: out of memory. */
static int fail(sqlite3_vtab_cursor *base, int code, char *why)
{
    if (why)
        code = cuckoo_say(&base->pVtab->zErrMsg, code, "%s: %s", table_of(base)->kind->name, why);
    sqlite3_free(why);
    return why ? code : SQLITE_NOMEM;
}

/* Copies the filter of a filter table, with the changes in its logs. */
static int copy_table(cuckoo_table *table, void *handle, char **why)
{
    bool left;
    cuckoo_paged *paged = &table->paged;
    (void)why;
    int rc = cuckoo_maintenance_view(table, &left);
    rc = rc ? rc : cuckoo_paged_complete(paged);
    *(cuckoo_handle **)handle = rc == SQLITE_OK ? cuckoo_handle_new(&paged->filter) : NULL;
    return rc;
}

static int take_table(sqlite3_vtab_cursor *base, sqlite3_value *name, cuckoo_handle **handle)
{
    char *why, *message = NULL;
    int rc = cuckoo_registry_with(table_of(base)->registry, name, copy_table, handle, &why);
    if (rc != SQLITE_OK && rc != SQLITE_NOMEM)
        rc = cuckoo_explain(&message, rc, why);
    sqlite3_free(why);
    return rc != SQLITE_OK ? fail(base, rc, message) : *handle ? SQLITE_OK : SQLITE_NOMEM;
}

static int take_filter(sqlite3_vtab_cursor *base, sqlite3_value *value, cuckoo_handle **handle)
{
    const char *why;
    const cf_filter *filter;
    cf_reader reader = {0};
    const inspect_kind *kind = table_of(base)->kind;
    if (kind->takes == NAMES && sqlite3_value_type(value) == SQLITE_TEXT)
        return take_table(base, value, handle);
    bool explains = kind->takes == KEYS && !lists_values(kind);
    cf_status status = cuckoo_filter_read(NULL, value, &reader, &filter, explains ? handle : NULL, &why);
    if (filter)
        *handle = cuckoo_handle_keep(value, filter);
    if (status != CF_OK)
        return fail(base, cuckoo_error_code(status),
                    cuckoo_filter_message(status, why, kind->name, value));
    if (lists_values(kind) && filter->geometry.value_bits == 0 && !cuckoo_is_from_zero_rows(filter))
        return fail(base, SQLITE_ERROR, sqlite3_mprintf(CUCKOO_NO_VALUES));
    return *handle ? SQLITE_OK : SQLITE_NOMEM;
}

/* A NULL key has no rows. The list of an exact filter has none either. */
static int take_key(inspect_cursor *cursor, sqlite3_value *value)
{
    const cf_filter *filter = &cursor->handle->filter;
    const cf_exact *exact = cursor->handle->exact;
    cuckoo_key kind = cuckoo_key_read(value, &filter->geometry, true, &cursor->hash);
    if (kind == CUCKOO_KEY_UNFIT)
        return fail(&cursor->base, SQLITE_MISMATCH, cuckoo_key_unfit_value(&filter->geometry, value));
    cursor->key = sqlite3_value_dup(value);
    if (kind == CUCKOO_KEY_NOMEM || cursor->key == NULL)
        return SQLITE_NOMEM;
    unsigned sides = 2 + (filter->stashed != 0), yes = exact ? cf_exact_depth(exact, cursor->hash) : 0;
    if (exact)
        sides = 2 * (yes < exact->levels ? yes + 1 : exact->levels);
    if (lists_values(table_of(&cursor->base)->kind))
        sides = cf_get_all(filter, cursor->hash, cursor->value);
    cursor->end = kind == CUCKOO_KEY_OK ? sides : 0;
    return SQLITE_OK;
}

/* ---- walking ---- */

/* Reads the row at the cursor. False: the stashed entry belongs to other buckets. */
static bool read_row(inspect_cursor *cursor)
{
    unsigned level = (unsigned)cursor->at / 2;
    if (lists_values(table_of(&cursor->base)->kind))
        return true;
    const cf_exact *exact = cursor->handle->exact;
    uint64_t hash = exact ? cf_exact_hash(cursor->hash, level) : cursor->hash;
    cursor->bucket = cursor->at;
    cursor->side = (unsigned)cursor->at % 2;
    if (exact)
        cursor->filter = &exact->level[level];
    if (cursor->key) {
        cursor->pair = cf_candidates(cursor->filter, hash);
        cursor->stashed = !exact && cursor->at == cursor->pair.sides;
        cursor->bucket = cursor->pair.place[cursor->side].bucket;
    }
    if (!cursor->stashed) {
        cursor->there = cf_entry_at(cursor->filter, cursor->bucket, cursor->slot, &cursor->entry);
        return true;
    }
    cursor->there = cf_stashed_at(cursor->filter, cursor->slot, &cursor->entry);
    cursor->bucket = cursor->entry.bucket;
    cursor->side = cursor->pair.place[0].bucket != cursor->bucket;
    return cursor->there && cursor->pair.place[cursor->side].bucket == cursor->bucket;
}

static int inspect_next(sqlite3_vtab_cursor *base)
{
    inspect_cursor *cursor = (inspect_cursor *)base;
    do {
        const cf_filter *filter = cursor->filter;
        if (lists_values(table_of(base)->kind) ||
            ++cursor->slot == (cursor->stashed ? filter->stashed : filter->geometry.bucket_size)) {
            cursor->slot = 0;
            cursor->at++;
        }
    } while (cursor->at < cursor->end && !read_row(cursor));
    return SQLITE_OK;
}

static int inspect_filter(sqlite3_vtab_cursor *base, int plan, const char *text, int argc,
                          sqlite3_value **argv)
{
    inspect_cursor *cursor = (inspect_cursor *)base;
    const inspect_kind *kind = table_of(base)->kind;
    bool keyed = kind->takes == KEYS;
    uint64_t bucket;
    (void)plan, (void)text;
    empty_cursor(cursor);
    if (argc < 1 + keyed)
        return fail(
            base, SQLITE_ERROR,
            sqlite3_mprintf("needs its arguments: %s(filter%s)", kind->name, keyed ? ", key" : ""));
    int rc = take_filter(base, argv[0], &cursor->handle);
    if (rc != SQLITE_OK)
        return rc;
    cursor->filter = &cursor->handle->filter;
    cursor->end = cursor->filter->buckets;
    if (keyed)
        rc = take_key(cursor, argv[1]);
    else if (argc > 1 && cuckoo_key_value(argv[1], 63, &bucket)) {
        cursor->at = bucket < cursor->end ? bucket : cursor->end;
        cursor->end = bucket < cursor->end ? bucket + 1 : cursor->end;
    }
    if (cursor->at < cursor->end) /* the first row is in a bucket */
        read_row(cursor);
    return rc;
}

static int inspect_eof(sqlite3_vtab_cursor *base)
{
    return ((inspect_cursor *)base)->at >= ((inspect_cursor *)base)->end;
}

static int inspect_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid)
{
    const inspect_cursor *cursor = (inspect_cursor *)base;
    *rowid = (sqlite3_int64)(cursor->at * CF_BUCKET_MAX + cursor->slot);
    return SQLITE_OK;
}

/* ---- columns ---- */

/* The number in a column; NO_NUMBER is NULL. */
#define NO_NUMBER UINT64_MAX
static uint64_t number_of(const inspect_cursor *cursor, unsigned fact)
{
    const cf_filter *filter = cursor->filter;
    const cf_entry *entry = &cursor->entry;
    const cf_side *key = &cursor->pair.side[cursor->side];
    uint64_t alternate;
    bool movable;
    if (fact >= FACT_ENTRY && !cursor->there)
        return NO_NUMBER;
    switch (fact) {
    case FACT_BUCKET:
        return cursor->bucket;
    case FACT_SLOT:
        return cursor->stashed ? NO_NUMBER : cursor->slot;
    case FACT_WANTED:
        return cf_new_fingerprint(filter, key).bits;
    case FACT_MATCH:
        return cursor->there && cf_entry_matches(filter, entry, key);
    case FACT_STASHED:
        return cf_overflows(filter, cursor->bucket);
    case FACT_VALUE:
        return cursor->value[cursor->at];
    case FACT_FINGERPRINT:
        return entry->side.bits;
    case FACT_LENGTH: /* pair bits and remainder bits */
        return filter->geometry.pair_bits + entry->side.length;
    case FACT_PAYLOAD:
        return filter->geometry.counter_bits || filter->geometry.value_bits || filter->geometry.epochs
                   ? entry->payload
                   : NO_NUMBER;
    case FACT_COPIES:
        return cf_entry_copies(filter, entry);
    default: /* FACT_ALTERNATE: NULL if the entry cannot move */
        alternate = cf_entry_alternate(filter, entry, &movable);
        return movable ? alternate : NO_NUMBER;
    }
}

static int inspect_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    const inspect_cursor *cursor = (const inspect_cursor *)base;
    const cf_filter *filter = &cursor->handle->filter;
    unsigned fact = table_of(base)->kind->facts[column];
    uint64_t number = fact >= FACT_NUMBERS ? number_of(cursor, fact) : NO_NUMBER;
    char level[20];
    sqlite3_snprintf(sizeof level, level, "level %d", (int)cursor->at / 2);
    if (fact == FACT_FILTER)
        sqlite3_result_blob64(context, filter->bytes, filter->length, SQLITE_TRANSIENT);
    else if (fact == FACT_KEY)
        sqlite3_result_value(context, cursor->key);
    else if (fact == FACT_SIDE)
        sqlite3_result_text(context, cursor->side == 0 ? "base" : "alternate", -1, SQLITE_STATIC);
    else if (fact == FACT_SOURCE)
        sqlite3_result_text(context,
                            cursor->handle->exact ? level
                            : cursor->stashed     ? "stash"
                                                  : "bucket",
                            -1, SQLITE_TRANSIENT);
    else if (number != NO_NUMBER)
        sqlite3_result_int64(context, (sqlite3_int64)number);
    return SQLITE_OK;
}

const sqlite3_module cuckoo_inspect_module = {
    .xConnect = cuckoo_inspect_connect,
    .xBestIndex = cuckoo_inspect_best_index,
    .xDisconnect = cuckoo_inspect_disconnect,
    .xOpen = inspect_open,
    .xClose = inspect_close,
    .xFilter = inspect_filter,
    .xNext = inspect_next,
    .xEof = inspect_eof,
    .xColumn = inspect_column,
    .xRowid = inspect_rowid,
};
