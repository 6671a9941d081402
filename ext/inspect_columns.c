/*
** inspect_columns.c - what the rows of cf_buckets, cf_table_buckets and cf_explain say.
*/
#include "inspect.h"

enum bucket_column {
    BUCKETS_BUCKET,
    BUCKETS_SLOT,
    BUCKETS_FINGERPRINT,
    BUCKETS_ALTERNATE,
    BUCKETS_LENGTH,
    BUCKETS_OVERFLOW,
    BUCKETS_PAYLOAD,
    BUCKETS_COPIES,
    BUCKETS_FILTER
};

enum explain_column {
    EXPLAIN_SIDE,
    EXPLAIN_BUCKET,
    EXPLAIN_SLOT,
    EXPLAIN_FINGERPRINT,
    EXPLAIN_WANTED,
    EXPLAIN_MATCH,
    EXPLAIN_SOURCE,
    EXPLAIN_LENGTH,
    EXPLAIN_PAYLOAD,
    EXPLAIN_COPIES,
    EXPLAIN_FILTER,
    EXPLAIN_KEY
};

#define BUCKETS_SCHEMA(hidden)                                                                          \
    "CREATE TABLE x(bucket INTEGER, slot INTEGER, fingerprint INTEGER, alternate INTEGER, "             \
    "length INTEGER, overflow INTEGER, payload INTEGER, copies INTEGER, " hidden " HIDDEN)"

const inspect_kind cuckoo_inspect_buckets = {"cf_buckets", BUCKETS_SCHEMA("filter"), BUCKETS_FILTER,
                                             -1,           BUCKETS_BUCKET,           false};

const inspect_kind cuckoo_inspect_table_buckets = {
    "cf_table_buckets", BUCKETS_SCHEMA("name"), BUCKETS_FILTER, -1, BUCKETS_BUCKET, true};

const inspect_kind cuckoo_inspect_explain = {
    "cf_explain",
    "CREATE TABLE x(side TEXT, bucket INTEGER, slot INTEGER, fingerprint INTEGER, wanted INTEGER, "
    "match INTEGER, source TEXT, length INTEGER, payload INTEGER, copies INTEGER, filter HIDDEN, key "
    "HIDDEN)",
    EXPLAIN_FILTER,
    EXPLAIN_KEY,
    -1,
    false};

/* ---- the spill list ---- */

bool cuckoo_inspect_in_list(const inspect_cursor *cursor)
{
    return cursor->key != NULL && cursor->at == cursor->pair.sides;
}

bool cuckoo_inspect_spilled(const inspect_cursor *cursor, cf_entry *entry, unsigned *side)
{
    uint64_t bucket;
    if (!cf_spilled_at(&cursor->handle->filter, cursor->slot, &bucket, entry))
        return false;
    for (*side = 0; *side < cursor->pair.sides; ++*side)
        if (cursor->pair.place[*side].bucket == bucket)
            return true;
    return false;
}

/* ---- columns ---- */

static void result_filter(sqlite3_context *context, const inspect_cursor *cursor)
{
    const cf_filter *filter = &cursor->handle->filter;
    sqlite3_result_blob64(context, filter->bytes, filter->length, SQLITE_TRANSIENT);
}

/* The result is NULL unless the number is there. */
static void result_number(sqlite3_context *context, bool there, uint64_t number)
{
    if (there)
        sqlite3_result_int64(context, (sqlite3_int64)number);
}

/* How many bits of a fingerprint are known: pair bits and
** remainder bits, wherever they are kept. */
static unsigned length_of(const cf_filter *filter, const cf_side *side)
{
    return filter->geometry.pair_bits + side->length;
}

int cuckoo_inspect_buckets_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    const inspect_cursor *cursor = cursor_of(base);
    const cf_filter *filter = &cursor->handle->filter;
    cf_entry entry;
    bool there = cf_entry_at(filter, cursor->at, cursor->slot, &entry);
    switch (column) {
    case BUCKETS_BUCKET:
        sqlite3_result_int64(context, (sqlite3_int64)cursor->at);
        break;
    case BUCKETS_SLOT:
        sqlite3_result_int64(context, cursor->slot);
        break;
    case BUCKETS_FINGERPRINT:
        result_number(context, there, entry.side.bits);
        break;
    case BUCKETS_ALTERNATE:
        result_number(context, there && entry.movable, entry.alternate);
        break;
    case BUCKETS_LENGTH:
        result_number(context, there, length_of(filter, &entry.side));
        break;
    case BUCKETS_OVERFLOW:
        sqlite3_result_int(context, cf_overflows(filter, cursor->at));
        break;
    case BUCKETS_PAYLOAD:
        result_number(context, there && filter->payload_bits, entry.payload);
        break;
    case BUCKETS_COPIES:
        result_number(context, there, entry.copies);
        break;
    default:
        result_filter(context, cursor);
        break;
    }
    return SQLITE_OK;
}

int cuckoo_inspect_explain_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    const inspect_cursor *cursor = cursor_of(base);
    const cf_filter *filter = &cursor->handle->filter;
    unsigned side = (unsigned)cursor->at;
    cf_entry entry;
    bool spilled = cuckoo_inspect_in_list(cursor),
         there = spilled ? cuckoo_inspect_spilled(cursor, &entry, &side)
                         : cf_entry_at(filter, cursor->pair.place[side].bucket, cursor->slot, &entry);
    const cf_side *key = &cursor->pair.side[side];
    switch (column) {
    case EXPLAIN_SIDE:
        sqlite3_result_text(context, side == 0 ? "base" : "alternate", -1, SQLITE_STATIC);
        break;
    case EXPLAIN_BUCKET:
        sqlite3_result_int64(context, (sqlite3_int64)cursor->pair.place[side].bucket);
        break;
    case EXPLAIN_SLOT:
        result_number(context, !spilled, cursor->slot);
        break;
    case EXPLAIN_FINGERPRINT:
        result_number(context, there, entry.side.bits);
        break;
    case EXPLAIN_WANTED:
        sqlite3_result_int64(context, (sqlite3_int64)cf_new_fingerprint(filter, key).bits);
        break;
    case EXPLAIN_MATCH:
        sqlite3_result_int(context, there && cf_entry_matches(filter, &entry, key));
        break;
    case EXPLAIN_SOURCE:
        sqlite3_result_text(context, spilled ? "spill list" : "bucket", -1, SQLITE_STATIC);
        break;
    case EXPLAIN_LENGTH:
        result_number(context, there, length_of(filter, &entry.side));
        break;
    case EXPLAIN_PAYLOAD:
        result_number(context, there && filter->payload_bits, entry.payload);
        break;
    case EXPLAIN_COPIES:
        result_number(context, there, entry.copies);
        break;
    case EXPLAIN_FILTER:
        result_filter(context, cursor);
        break;
    default:
        sqlite3_result_value(context, cursor->key);
        break;
    }
    return SQLITE_OK;
}
