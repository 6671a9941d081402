/* SPDX-License-Identifier: MIT */
/*
** inspect_columns.c - what the rows of cf_buckets, cf_table_buckets and cf_explain say.
*/
#include "inspect.h"

#include <assert.h>

/* What a column can say. */
enum fact {
    FACT_SIDE,
    FACT_BUCKET,
    FACT_SLOT,
    FACT_FINGERPRINT,
    FACT_WANTED,
    FACT_MATCH,
    FACT_SOURCE,
    FACT_ALTERNATE,
    FACT_LENGTH,
    FACT_OVERFLOW,
    FACT_PAYLOAD,
    FACT_COPIES,
    FACT_FILTER,
    FACT_KEY
};

static const uint8_t of_buckets[] = {FACT_BUCKET,    FACT_SLOT,   FACT_FINGERPRINT,
                                     FACT_ALTERNATE, FACT_LENGTH, FACT_OVERFLOW,
                                     FACT_PAYLOAD,   FACT_COPIES, FACT_FILTER};
#define BUCKETS_SCHEMA(hidden)                                                                          \
    "CREATE TABLE x(bucket INTEGER, slot INTEGER, fingerprint INTEGER, alternate INTEGER, "             \
    "length INTEGER, overflow INTEGER, payload INTEGER, copies INTEGER, " hidden " HIDDEN)"

static const uint8_t of_explain[] = {FACT_SIDE,    FACT_BUCKET, FACT_SLOT,   FACT_FINGERPRINT,
                                     FACT_WANTED,  FACT_MATCH,  FACT_SOURCE, FACT_LENGTH,
                                     FACT_PAYLOAD, FACT_COPIES, FACT_FILTER, FACT_KEY};
#define EXPLAIN_SCHEMA                                                                                  \
    "CREATE TABLE x(side TEXT, bucket INTEGER, slot INTEGER, fingerprint INTEGER, wanted INTEGER, "     \
    "match INTEGER, source TEXT, length INTEGER, payload INTEGER, copies INTEGER, filter HIDDEN, "      \
    "key HIDDEN)"

const inspect_kind cuckoo_inspect_kinds[CUCKOO_INSPECT_KINDS] = {
    {.name = "cf_buckets",
     .schema = BUCKETS_SCHEMA("filter"),
     .columns = of_buckets,
     .filter_column = 8,
     .key_column = -1,
     .bucket_column = 0},
    {.name = "cf_explain",
     .schema = EXPLAIN_SCHEMA,
     .columns = of_explain,
     .filter_column = 10,
     .key_column = 11,
     .bucket_column = -1},
    {.name = "cf_table_buckets",
     .schema = BUCKETS_SCHEMA("name"),
     .columns = of_buckets,
     .filter_column = 8,
     .key_column = -1,
     .bucket_column = 0,
     .by_name = true},
};

/* ---- the spill list ---- */

bool cuckoo_inspect_in_list(const inspect_cursor *cursor)
{
    return cursor->key != NULL && cursor->at == cursor->pair.sides;
}

bool cuckoo_inspect_spilled(const inspect_cursor *cursor, cf_entry *entry, unsigned *side)
{
    if (!cf_spilled_at(&cursor->handle->filter, cursor->slot, entry))
        return false;
    for (*side = 0; *side < cursor->pair.sides; ++*side)
        if (cursor->pair.place[*side].bucket == entry->bucket)
            return true;
    return false;
}

/* ---- columns ---- */

/* What is at the cursor. */
typedef struct found_entry {
    uint64_t bucket;
    cf_entry entry;
    bool there;   /* the slot is not empty */
    bool spilled; /* the entry is in the spill list */
    unsigned side;
    const cf_side *key; /* of cf_explain: the key, as seen from this side */
} found_entry;

static void find_entry(const inspect_cursor *cursor, found_entry *found)
{
    const cf_filter *filter = &cursor->handle->filter;
    *found = (found_entry){.bucket = cursor->at, .spilled = cuckoo_inspect_in_list(cursor)};
    if (cursor->key) {
        found->side = (unsigned)cursor->at;
        if (found->spilled)
            found->there = cuckoo_inspect_spilled(cursor, &found->entry, &found->side);
        found->key = &cursor->pair.side[found->side];
        found->bucket = cursor->pair.place[found->side].bucket;
    }
    if (!found->spilled)
        found->there = cf_entry_at(filter, found->bucket, cursor->slot, &found->entry);
}

/* The result is NULL unless the number is there. */
static void result_number(sqlite3_context *context, bool there, uint64_t number)
{
    if (there)
        sqlite3_result_int64(context, (sqlite3_int64)number);
}

/* The other bucket of an entry, if it can lie there, too. */
static void result_alternate(sqlite3_context *context, const cf_filter *filter, const found_entry *found)
{
    bool movable = false;
    uint64_t bucket = found->there ? cf_entry_alternate(filter, &found->entry, &movable) : 0;
    result_number(context, movable, bucket);
}

static bool has_payload(const cf_filter *filter)
{
    return filter->geometry.counter_bits != 0 || filter->geometry.value_bits != 0;
}

static void result_text(sqlite3_context *context, const char *text)
{
    sqlite3_result_text(context, text, -1, SQLITE_STATIC);
}

int cuckoo_inspect_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    const inspect_cursor *cursor = cuckoo_inspect_cursor_of(base);
    const cf_filter *filter = &cursor->handle->filter;
    found_entry found;
    assert(column >= 0 && cursor->at < cursor->end);
    find_entry(cursor, &found);
    const cf_entry *entry = &found.entry;
    switch (((inspect_table *)base->pVtab)->kind->columns[column]) {
    case FACT_SIDE:
        result_text(context, found.side == 0 ? "base" : "alternate");
        break;
    case FACT_BUCKET:
        result_number(context, true, found.bucket);
        break;
    case FACT_SLOT:
        result_number(context, !found.spilled, cursor->slot);
        break;
    case FACT_FINGERPRINT:
        result_number(context, found.there, entry->side.bits);
        break;
    case FACT_WANTED:
        result_number(context, true, cf_new_fingerprint(filter, found.key).bits);
        break;
    case FACT_MATCH:
        sqlite3_result_int(context, found.there && cf_entry_matches(filter, entry, found.key));
        break;
    case FACT_SOURCE:
        result_text(context, found.spilled ? "spill list" : "bucket");
        break;
    case FACT_ALTERNATE:
        result_alternate(context, filter, &found);
        break;
    case FACT_LENGTH: /* pair bits and remainder bits, wherever they are kept */
        result_number(context, found.there, filter->geometry.pair_bits + entry->side.length);
        break;
    case FACT_OVERFLOW:
        sqlite3_result_int(context, cf_overflows(filter, found.bucket));
        break;
    case FACT_PAYLOAD:
        result_number(context, found.there && has_payload(filter), entry->payload);
        break;
    case FACT_COPIES:
        result_number(context, found.there, found.there ? cf_entry_copies(filter, entry) : 0);
        break;
    case FACT_FILTER:
        sqlite3_result_blob64(context, filter->bytes, filter->length, SQLITE_TRANSIENT);
        break;
    default:
        sqlite3_result_value(context, cursor->key);
        break;
    }
    return SQLITE_OK;
}
