/* SPDX-License-Identifier: MIT */
/*
** merge.c - adds the entries of one filter to another: the multiset sum of two, or a smaller filter.
**
** An entry knows its two possible places (address.h), so the entries of one filter can be added to
** another one of the same shape without their keys. Copies add up, to max_copies or to the maximum of
** their counters; a key that is saturated in one filter is saturated in the sum.
**
** The filters may have grown differently. The sum first grows as far as the other one has, so that its
** entries may know as many bits. If the sum has grown further, an entry of the other may know too few
** bits for its bucket there: it becomes two, with one bit more each, as if the other had been split too.
*/
#include "../entry/entry.h"
#include "../entry/walk.h"
#include "../include/cuckoo_key.h"
#include "../insert/growth.h"
#include "../shape/format.h"
#include "../table/epochs.h"

const char *cf_difference(const cf_filter *one, const cf_filter *other, unsigned *at)
{
    const cf_geometry *a = &one->geometry, *b = &other->geometry;
    const struct {
        const char *name;
        uint64_t one, other;
    } same[] = {{"seed", (uint64_t)a->seed, (uint64_t)b->seed},
                {"hash", a->keyed, b->keyed},
                {"affinity", a->affinity, b->affinity},
                {"collation", a->collation, b->collation},
                {"buckets", a->buckets, b->buckets},
                {"bucket_size", a->bucket_size, b->bucket_size},
                {"fingerprint_bits", a->fingerprint_bits, b->fingerprint_bits},
                {"pair_bits", a->pair_bits, b->pair_bits},
                {"max_copies", a->max_copies, b->max_copies},
                {"counter_bits", a->counter_bits, b->counter_bits},
                {"value_bits", a->value_bits, b->value_bits},
                {"epochs", a->epochs, b->epochs},
                {"growth", other->view.form.grown && !a->growth, 0}};
    while (*at < sizeof same / sizeof same[0] && same[*at].one == same[*at].other)
        ++*at;
    return *at < sizeof same / sizeof same[0] ? same[(*at)++].name : NULL;
}

/* The last remainder bit that an entry knows, as a mask of its bits. */
static uint64_t last_bit(const cf_filter *filter, const cf_entry *entry)
{
    return (uint64_t)1 << (filter->geometry.pair_bits + entry->side.length - 1);
}

/* Stores an item of `from`. Where an add would stop after splitting a few buckets, a merge continues,
** because it takes long anyway; half of the slots need not be in use before all of `from` is stored. An
** entry may become many items, and the ticker counts each. */
static cf_status insert_growing(cf_filter *into, const cf_filter *from, const cf_entry *item,
                                cf_ticker *ticker)
{
    enum { UNIT = 200 }; /* nanoseconds that a unit of work takes */
    uint64_t coming = 2 * from->occupied;
    cf_status status = CF_FULL, grown = CF_OK;
    while (status == CF_FULL && grown == CF_OK) {
        uint64_t left = *into->view.left;
        status = ticker->stopped || cf_work(into, 1) ? CF_INTERRUPTED : cf_insert(into, item);
        cf_tick(ticker, UNIT * (unsigned)(left - *into->view.left));
        if (status == CF_FULL)
            grown = (cf_may_split(into) || cf_slots(into) <= coming) &&
                            !cf_key_is_full(into, &item->side, true)
                        ? cf_grow_to(into, into->buckets + into->buckets / 8 + 1)
                        : CF_FULL;
    }
    return status == CF_FULL ? grown : status;
}

/* Stores an entry, or all of the items that it becomes: the ones with the further bit set come first. */
static cf_status merge_entry(cf_filter *into, const cf_filter *from, const cf_entry *entry,
                             cf_ticker *ticker, const char **why)
{
    cf_entry next = *entry;
    cf_status status;
    next.side = cf_new_fingerprint(into, &entry->side);
    const unsigned length = next.side.length;
    while ((status = insert_growing(into, from, &next, ticker)) == CF_OK || status == CF_BAD_ARGUMENT) {
        if (status == CF_BAD_ARGUMENT) { /* RULE: an item that knows too few bits becomes two */
            next.side.length++;
            next.side.bits |= last_bit(into, &next);
            continue;
        }
        while (next.side.length > length && !(next.side.bits & last_bit(into, &next)))
            next.side.length--;
        if (next.side.length == length) {
            cf_count_items(into, cf_entry_copies(into, entry));
            return CF_OK;
        }
        next.side.bits ^= last_bit(into, &next);
    }
    if (status == CF_FULL && cf_key_is_full(into, &next.side, true))
        *why = "a key would have more entries than can be found: two buckets full, and some stashed";
    return status;
}

/* True if an entry of `from` is live in the sum, whose epoch is not earlier. Its number is the same. */
static bool is_live_in(const cf_filter *into, const cf_filter *from, const cf_entry *entry)
{
    if (!from->geometry.epochs)
        return true;
    uint64_t age = cf_epoch_age(from, entry->payload) + (into->epoch - from->epoch);
    /* RULE: epochs are compared, not numbers */
    return age < CF_EPOCH_NUMBERS && cf_is_live(from, entry->payload) &&
           cf_is_live(into, entry->payload);
}

/* Stores all entries of `from`, stashed ones included, and counts their items. Bits that slots have no
** room for are dropped. Errors, and *why, as cf_merge. */
static cf_status merge_entries(cf_filter *into, const cf_filter *from, const char **why)
{
    enum { COST = 800, SOME = 16 }; /* nanoseconds, entries */
    cf_status status = CF_OK;
    cf_entry some[SOME];
    cf_walk walk = cf_walk_begin(from, into->watch, COST);
    for (unsigned n = SOME; status == CF_OK && n == SOME;) {
        /* The other buckets may be anywhere, so several are fetched together */
        for (n = 0; n < SOME && cf_walk_entry(&walk, &some[n]); n++) {
            cf_side other = cf_alternate(into, some[n].side);
            if (into->pages == NULL)
                cf_bucket_fetch(into, cf_locate(into, &other).bucket);
        }
        for (unsigned i = 0; i < n && status == CF_OK; i++)
            if (is_live_in(into, from, &some[i]))
                status = merge_entry(into, from, &some[i], &walk.ticker, why);
    }
    return walk.status == CF_OK ? status : walk.status;
}

/* Moves to the epoch of `from`, grows to `buckets` buckets, then stores the entries, in at most `most`
** bytes and with bounded work (cf_work): each corrupt entry might split half of the table in vain, or
** double when buckets are split. Real filters take at most a third of the limit (test_merge_hostile.c).
** CF_FULL: bytes or work do not suffice. Other errors, and *why, as cf_merge. */
static cf_status grow_and_merge(cf_filter *into, const cf_filter *from, uint64_t buckets, uint64_t most,
                                const char **why)
{
    uint64_t items = into->items, limit = into->memory.most, allowed = cf_most(&into->memory);
    uint64_t left = 24 * (into->length + from->length) + (1 << 17);
    into->view.left = &left;
    uint8_t noted = from->geometry.key_types;
    cf_note_types(into, noted == 0 && from->occupied > 0 ? CF_TYPE_ANY : noted);
    into->memory.most = most < allowed ? most : allowed;
    if (into->epoch < from->epoch)
        cf_age_to(into, from->epoch);
    cf_status status = cf_grow_to(into, buckets);
    if (status == CF_OK)
        status = merge_entries(into, from, why);
    into->memory.most = limit;
    if (cf_work(into, 0)) {
        status = CF_FULL;
        *why = "merging would take far too long, because too many entries belong to the same buckets";
    }
    into->view.left = NULL;
    if (status == CF_OK) {
        into->items = items;
        cf_count_items(into, from->items); /* all adds, absorbed ones included */
    }
    if (into->geometry.epochs)
        into->items = into->occupied;
    if (status != CF_OK)
        return status == CF_TOO_BIG && most < allowed ? CF_FULL : status;
    return cf_settle(into);
}

/* ---- the sum of two ---- */

static cf_status merge(cf_filter *into, const cf_filter *from, const char **why)
{
    const cf_filter was = *into;
    const cf_memory *memory = &was.memory;
    uint8_t *copy = NULL;
    unsigned at = 0;
    if (into->writable == NULL)
        return cf_refuse(CF_READ_ONLY, why, "into: it is read-only");
    if (into->bytes == from->bytes)
        return cf_refuse(CF_MISMATCH, why, "bytes: both filters have the same");
    const char *field = cf_difference(into, from, &at);
    if (field)
        return cf_refuse(CF_MISMATCH, why, field);
    if (memory->resize) {
        copy = memory->resize(memory->context, NULL, into->length);
        if (copy == NULL)
            return CF_NO_MEMORY;
        cf_need(into, 0, into->length);
        memcpy(copy, into->bytes, cf_in_memory(into->length));
    }
    uint64_t most = 16 * (into->length + from->length) + (1 << 18);
    cf_status status = grow_and_merge(into, from, from->buckets, most, why);
    if (copy && status != CF_OK) { /* its bytes may have moved or grown */
        uint8_t *bytes = into->writable;
        cf_change(into, 0, was.length); /* before the seal of `was` is restored */
        *into = was;
        cf_rebase(into, bytes, bytes);
        memcpy(bytes, copy, cf_in_memory(into->length));
    }
    if (copy)
        memory->resize(memory->context, copy, 0);
    return status;
}

cf_status cf_merge(cf_filter *into, const cf_filter *from, const char **why)
{
    const char *said = NULL;
    cf_status status = merge(into, from, &said);
    status = said ? status : cf_full_or(into, status);
    return cf_explained(status, why, said);
}

/* ---- making smaller ----
**
** The entries of a filter that has lost keys are added, as in a merge, to an empty one of the same
** geometry that has grown only as far as they need. Bits beyond the length of new entries there are
** dropped. That is sound (growth.h): the rest is a prefix of the same keys. */

/* True if the result may be one that has not grown: its slots have no saturated bit, its entries know as
** many bits as new ones, and doubled exhausted entries would be too many copies. */
static bool is_as_before_growth(const cf_filter *filter, const cf_census *census)
{
    unsigned whole = filter->geometry.fingerprint_bits - filter->geometry.pair_bits;
    /* RULE: marks need a grown filter; equivalent without: it only shrinks less */
    bool marks = census->saturated > 0 && filter->geometry.counter_bits == 0;
    return census->shortest >= whole && census->copies <= filter->items && !marks;
}

/* The buckets for its entries, counted because a corrupt header may have another number, with a tenth to
** spare beyond the load factor of a table that grows. */
static uint64_t buckets_needed(const cf_filter *filter, const cf_census *census)
{
    uint64_t b = filter->geometry.bucket_size, percent = b <= 2 ? 65 : 80;
    uint64_t needed = census->occupied * 100 / (percent * b) + 1;
    uint64_t least = filter->geometry.buckets;
    if (needed > least)
        return needed;
    return is_as_before_growth(filter, census) ? least : least + 1;
}

/* Clustered entries may make it grow further than was planned: then shrinking is not worth it. */
cf_status cf_shrink(cf_filter *into, const cf_filter *from)
{
    const char *why;
    unsigned at = 0;
    cf_filter watched = *from;
    watched.watch = into->watch;
    if (into->writable == NULL)
        return CF_READ_ONLY;
    if (cf_difference(into, from, &at))
        return CF_MISMATCH;
    if (into->occupied + into->stashed + into->level + into->split != 0)
        return CF_BAD_ARGUMENT;
    if (!from->view.form.grown)
        return CF_FULL;
    cf_census census = cf_take_census(&watched);
    if (census.status != CF_OK)
        return census.status;
    uint64_t buckets = buckets_needed(from, &census);
    if (buckets >= from->buckets - from->buckets / 8)
        return CF_FULL;
    cf_status status = grow_and_merge(into, from, buckets, from->length - from->length / 8, &why);
    return status == CF_TOO_BIG ? CF_FULL : status;
}

/* A saturated entry has the bit above its value. */
cf_status cf_widen(cf_filter *into, const cf_filter *from)
{
    unsigned at = 0;
    cf_geometry *wide = &into->geometry, shape = *wide;
    wide->value_bits = from->geometry.value_bits;
    const char *differs = cf_difference(into, from, &at);
    wide->value_bits = shape.value_bits;
    if (differs || wide->value_bits < from->geometry.value_bits || into->occupied + into->stashed)
        return CF_MISMATCH;
    cf_status status = cf_make_longer(into, cf_bytes_at(wide, from->level, from->split));
    if (status != CF_OK)
        return status;
    cf_set_stage(into, from->level, from->split, from->view.form.grown);
    for (uint64_t bucket = 0; bucket < from->buckets; bucket++) {
        cf_contents contents;
        cf_bucket_read(from, bucket, &contents);
        for (unsigned i = 0; i < wide->bucket_size; i++)
            if (contents.payload[i] & from->view.saturated)
                contents.payload[i] ^= from->view.saturated ^ into->view.saturated;
        cf_bucket_write(into, bucket, &contents);
    }
    into->occupied = from->occupied;
    into->items = from->items;
    return CF_OK;
}
