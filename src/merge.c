/* SPDX-License-Identifier: MIT */
/*
** merge.c - the multiset sum of two filters.
**
** An entry knows the two places where it may lie (address.h), so the entries of one filter are
** added to another of the same shape without their keys. Copies add up, up to cap, or to what
** counters hold; a key that is sticky in one is sticky in the sum.
**
** The filters may have grown differently. The sum first grows as far as the other one has, so that
** slots are wide enough for all its entries know. Where the sum has grown further, an entry of the
** other may know too little for its bucket there: it becomes two, each with one bit more, as if the
** other had been split as well.
*/
#include "merge.h"

#include "entry.h"
#include "format.h"
#include "growth.h"
#include "insert.h"
#include "table.h"
#include "walk.h"

cf_status cf_mergeable(const cf_filter *one, const cf_filter *other, const char **why)
{
    const cf_geometry *a = &one->geometry, *b = &other->geometry;
    if (a->seed != b->seed)
        return cf_refuse(CF_MISMATCH, why, "seed");
    if (a->keyed != b->keyed)
        return cf_refuse(CF_MISMATCH, why, "hash");
    if (a->affinity != b->affinity)
        return cf_refuse(CF_MISMATCH, why, "affinity");
    if (a->collation != b->collation)
        return cf_refuse(CF_MISMATCH, why, "collation");
    if (a->buckets != b->buckets)
        return cf_refuse(CF_MISMATCH, why, "buckets");
    if (a->bucket_size != b->bucket_size)
        return cf_refuse(CF_MISMATCH, why, "bucket_size");
    if (a->fingerprint_bits != b->fingerprint_bits)
        return cf_refuse(CF_MISMATCH, why, "fingerprint_bits");
    if (a->pair_bits != b->pair_bits)
        return cf_refuse(CF_MISMATCH, why, "pair_bits");
    if (a->cap != b->cap)
        return cf_refuse(CF_MISMATCH, why, "cap");
    if (a->counter_bits != b->counter_bits)
        return cf_refuse(CF_MISMATCH, why, "counter_bits");
    if (a->value_bits != b->value_bits)
        return cf_refuse(CF_MISMATCH, why, "value_bits");
    if (other->view.grown && !a->growth)
        return cf_refuse(CF_MISMATCH, why, "growth");
    return CF_OK;
}

/* An entry that knows one remainder bit more. */
static cf_entry with_bit(const cf_filter *filter, const cf_entry *item, uint64_t bit)
{
    cf_entry longer = *item;
    longer.side.bits |= bit << (filter->geometry.pair_bits + item->side.length);
    longer.side.length++;
    return longer;
}

/* There is no room for an item. Is its pair full of entries that may be of the same key? */
static bool key_is_full(const cf_filter *into, const cf_entry *item)
{
    cf_matches found;
    cf_pair pair = cf_pair_from(into, item->side);
    cf_find_agreeing(into, &pair, CF_ANY_VALUE, &found);
    return found.n >= pair.sides * into->geometry.bucket_size;
}

/* Stores an entry, or all of the entries that it becomes. */
static cf_status merge_item(cf_filter *into, const cf_entry *item, const char **why)
{
    cf_entry left[64] = {*item}; /* of each length one or two; lengths end below 64 */
    unsigned n = 1;
    cf_status status = CF_OK;
    while (n > 0 && status == CF_OK) {
        cf_entry next = left[--n];
        status = cf_insert(into, &next);
        if (status == CF_BAD_ARGUMENT) {
            left[n++] = with_bit(into, &next, 0);
            left[n++] = with_bit(into, &next, 1); /* RULE: an item that knows too little becomes two */
            status = CF_OK;
        } else if (status == CF_FULL && key_is_full(into, &next)) {
            *why = "a key would have more entries than can be found";
        }
    }
    return status;
}

/* In a filter that has grown less, an entry knows no more than that one's slots hold. */
static cf_status merge_entry(cf_filter *into, const cf_entry *entry, const char **why)
{
    cf_entry item = *entry;
    if (item.side.length > into->view.new_length)
        item.side.length = into->view.new_length;
    item.side.bits &= cf_low_bits(into->geometry.pair_bits + item.side.length);
    cf_status status = merge_item(into, &item, why);
    if (status == CF_OK)
        cf_count_items(into, cf_entry_copies(into, entry));
    return status;
}

/* Entries come bucket by bucket: their base side is where the last one's was, as a rule, but their
** other one may be anywhere. It is fetched some entries ahead. */
typedef struct queue {
    cf_entry entry[16];
    unsigned first, n;
} queue;

enum { QUEUE = sizeof((queue *)0)->entry / sizeof((queue *)0)->entry[0] };

static void push_entry(queue *ahead, const cf_filter *into, const cf_entry *entry)
{
    cf_side other = cf_alternate(into, entry->side);
    if (into->pages == NULL)
        cf_bucket_fetch(into, cf_locate(into, &other).bucket);
    ahead->entry[(ahead->first + ahead->n++) % QUEUE] = *entry;
}

static cf_status merge_first(cf_filter *into, queue *ahead, const char **why)
{
    const cf_entry *entry = &ahead->entry[ahead->first];
    ahead->first = (ahead->first + 1) % QUEUE;
    ahead->n--;
    return merge_entry(into, entry, why);
}

cf_status cf_merge_entries(cf_filter *into, const cf_filter *from, const char **why)
{
    enum { COST = 800 }; /* nanoseconds */
    cf_status status = CF_OK;
    queue ahead = {.n = 0};
    cf_entry entry;
    cf_walk walk = cf_walk_begin(from, COST);
    walk.ticker.watch = into->watch;
    while (status == CF_OK && cf_walk_entry(&walk, &entry)) {
        push_entry(&ahead, into, &entry);
        if (ahead.n == QUEUE)
            status = merge_first(into, &ahead, why);
    }
    while (status == CF_OK && walk.status == CF_OK && ahead.n > 0)
        status = merge_first(into, &ahead, why);
    return walk.status == CF_OK ? status : walk.status;
}

/* The sum of two filters is never much longer than both: their entries can be hostile, of kinds
** that double when buckets are split, and the number of items in a header a lie. */
static uint64_t most_bytes(const cf_filter *into, const cf_filter *from)
{
    enum { TIMES = 16, AT_LEAST = 1 << 18 };
    uint64_t most = TIMES * (into->length + from->length) + AT_LEAST;
    return most < into->memory.most ? most : into->memory.most;
}

/* What `into` was, if there is memory for a copy. */
typedef struct before {
    cf_filter filter;
    uint8_t *bytes; /* NULL: there is no copy */
} before;

static cf_status remember(const cf_filter *into, before *then)
{
    *then = (before){*into, NULL};
    if (into->memory.resize == NULL)
        return CF_OK;
    then->bytes = into->memory.resize(into->memory.context, NULL, into->length);
    if (then->bytes == NULL)
        return CF_NO_MEMORY;
    cf_need(into, 0, into->length);
    memcpy(then->bytes, into->bytes, cf_in_memory(into->length));
    return CF_OK;
}

/* The bytes may have moved, and may have become longer. */
static void restore(cf_filter *into, const before *then)
{
    uint8_t *bytes = into->view.writable - CF_HEADER_BYTES;
    *into = then->filter;
    cf_rebase(into, bytes, bytes);
    cf_change(into, 0, into->length);
    memcpy(bytes, then->bytes, cf_in_memory(into->length));
}

static cf_status grow_and_merge(cf_filter *into, const cf_filter *from, const char **why)
{
    uint64_t items = into->items;
    cf_status status = cf_grow_to(into, from->buckets);
    if (status == CF_OK)
        status = cf_merge_entries(into, from, why);
    if (status != CF_OK)
        return status;
    into->items = items;
    cf_count_items(into, from->items); /* all adds, also those that sticky keys absorbed */
    return cf_settle(into);
}

cf_status cf_merge(cf_filter *into, const cf_filter *from, const char **why)
{
    assert(into->view.writable != NULL);
    uint64_t allowed = into->memory.most, most = most_bytes(into, from);
    before then;
    *why = NULL;
    if (into->bytes == from->bytes)
        return cf_refuse(CF_MISMATCH, why, "bytes: they are one and the same");
    cf_status status = cf_mergeable(into, from, why);
    if (status == CF_OK)
        status = remember(into, &then);
    if (status != CF_OK)
        return status;
    into->memory.most = most;
    status = grow_and_merge(into, from, why);
    into->memory.most = allowed;
    then.filter.memory.most = allowed;
    if (status != CF_OK && then.bytes != NULL)
        restore(into, &then);
    if (then.bytes != NULL)
        into->memory.resize(into->memory.context, then.bytes, 0);
    return status == CF_TOO_BIG && most < allowed ? CF_FULL : status;
}
