/* SPDX-License-Identifier: MIT */
/*
** inspect_columns.c - what the rows of cf_buckets and cf_explain say.
*/
#include "inspect_columns.h"

#include "../../src/shape/geometry.h"

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
#define BUCKETS_SCHEMA                                                                                  \
    "CREATE TABLE x(bucket INTEGER, slot INTEGER, fingerprint INTEGER, alternate INTEGER, "             \
    "length INTEGER, overflow INTEGER, payload INTEGER, copies INTEGER, filter HIDDEN)"

static const uint8_t of_explain[] = {FACT_SIDE,    FACT_BUCKET, FACT_SLOT,   FACT_FINGERPRINT,
                                     FACT_WANTED,  FACT_MATCH,  FACT_SOURCE, FACT_LENGTH,
                                     FACT_PAYLOAD, FACT_COPIES, FACT_FILTER, FACT_KEY};
#define EXPLAIN_SCHEMA                                                                                  \
    "CREATE TABLE x(side TEXT, bucket INTEGER, slot INTEGER, fingerprint INTEGER, wanted INTEGER, "     \
    "match INTEGER, source TEXT, length INTEGER, payload INTEGER, copies INTEGER, filter HIDDEN, "      \
    "key HIDDEN)"

const inspect_kind cuckoo_inspect_kinds[CUCKOO_INSPECT_KINDS] = {
    {.name = "cf_buckets",
     .schema = BUCKETS_SCHEMA,
     .columns = of_buckets,
     .filter_column = 8,
     .key_column = -1,
     .bucket_column = 0,
     .takes_names = true},
    {.name = "cf_explain",
     .schema = EXPLAIN_SCHEMA,
     .columns = of_explain,
     .filter_column = 10,
     .key_column = 11,
     .bucket_column = -1},
};

/* ---- the spill list ---- */

bool cuckoo_inspect_in_list(const inspect_cursor *cursor)
{
    return cursor->key != NULL && cursor->at == cursor->pair.sides && !cursor->handle->exact;
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
    const cf_filter *filter = cursor->filter;
    *found = (found_entry){.bucket = cursor->at, .spilled = cuckoo_inspect_in_list(cursor)};
    if (cursor->key) {
        found->side = (unsigned)cursor->at % 2;
        if (found->spilled)
            found->there = cuckoo_inspect_spilled(cursor, &found->entry, &found->side);
        found->key = &cursor->pair.side[found->side];
        found->bucket = cursor->pair.place[found->side].bucket;
    }
    if (!found->spilled)
        found->there = cf_entry_at(filter, found->bucket, cursor->slot, &found->entry);
}

static bool has_payload(const cf_filter *filter)
{
    return cf_payload_bits(&filter->geometry, false) != 0;
}

/* What a column says that is a number. False: it says NULL. */
static bool number_of(const inspect_cursor *cursor, const found_entry *found, enum fact fact,
                      uint64_t *number)
{
    const cf_filter *filter = cursor->filter;
    const cf_entry *entry = &found->entry;
    bool there = found->there;
    switch (fact) {
    case FACT_BUCKET:
        *number = found->bucket;
        return true;
    case FACT_SLOT:
        *number = cursor->slot;
        return !found->spilled;
    case FACT_FINGERPRINT:
        *number = entry->side.bits;
        return there;
    case FACT_WANTED:
        *number = cf_new_fingerprint(filter, found->key).bits;
        return true;
    case FACT_MATCH:
        *number = there && cf_entry_matches(filter, entry, found->key);
        return true;
    case FACT_ALTERNATE: /* only if the entry can lie there, too */
        *number = there ? cf_entry_alternate(filter, entry, &there) : 0;
        return there;
    case FACT_LENGTH: /* pair bits and remainder bits, wherever they are kept */
        *number = filter->geometry.pair_bits + entry->side.length;
        return there;
    case FACT_OVERFLOW:
        *number = cf_overflows(filter, found->bucket);
        return true;
    case FACT_PAYLOAD:
        *number = entry->payload;
        return there && has_payload(filter);
    default:
        assert(fact == FACT_COPIES);
        *number = there ? cf_entry_copies(filter, entry) : 0;
        return there;
    }
}

static void result_level(sqlite3_context *context, int level)
{
    char text[20];
    sqlite3_snprintf(sizeof text, text, "level %d", level);
    sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
}

int cuckoo_inspect_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    const inspect_cursor *cursor = cuckoo_inspect_cursor_of(base);
    const cf_filter *filter = &cursor->handle->filter;
    enum fact fact = ((inspect_table *)base->pVtab)->kind->columns[column];
    found_entry found;
    uint64_t number;
    assert(column >= 0 && cursor->at < cursor->end);
    find_entry(cursor, &found);
    if (fact == FACT_SIDE)
        sqlite3_result_text(context, found.side == 0 ? "base" : "alternate", -1, SQLITE_STATIC);
    else if (fact == FACT_SOURCE && cursor->handle->exact)
        result_level(context, (int)cursor->at / 2);
    else if (fact == FACT_SOURCE)
        sqlite3_result_text(context, found.spilled ? "spill list" : "bucket", -1, SQLITE_STATIC);
    else if (fact == FACT_FILTER)
        sqlite3_result_blob64(context, filter->bytes, filter->length, SQLITE_TRANSIENT);
    else if (fact == FACT_KEY)
        sqlite3_result_value(context, cursor->key);
    else if (number_of(cursor, &found, fact, &number))
        sqlite3_result_int64(context, (sqlite3_int64)number);
    return SQLITE_OK;
}
