#include "spill.h"

#include "bucket.h"
#include "format.h"
#include "walk.h"

/* ---- the list ---- */

static uint64_t offset_of(const cf_filter *filter, unsigned index)
{
    return filter->length - (uint64_t)(filter->geometry.spill_bound - index) * CF_SPILL_ENTRY;
}

cf_spilled cf_spill_get(const cf_filter *filter, unsigned index)
{
    uint64_t offset = offset_of(filter, index);
    const uint8_t *at = filter->bytes + offset;
    cf_need(filter, offset, offset + CF_SPILL_ENTRY);
    uint64_t first = cf_load64(at), second = cf_load64(at + 8);
    return (cf_spilled){first & cf_low_bits(48),
                        (first >> 48 | second << 16) & cf_low_bits(48) & filter->slot_mask,
                        second >> 32 & cf_low_bits(filter->payload_bits)};
}

static void encode(const cf_spilled *entry, uint8_t *at)
{
    cf_store64(at, entry->bucket | entry->tag << 48);
    cf_store64(at + 8, entry->tag >> 16 | entry->payload << 32);
}

static void put(cf_filter *filter, unsigned index, const cf_spilled *entry)
{
    uint64_t offset = offset_of(filter, index);
    cf_change(filter, offset, offset + CF_SPILL_ENTRY);
    encode(entry, filter->writable - CF_HEADER_BYTES + offset);
}

static bool comes_before(const cf_spilled *a, const cf_spilled *b)
{
    if (a->bucket != b->bucket)
        return a->bucket < b->bucket;
    return a->tag != b->tag ? a->tag < b->tag : a->payload < b->payload;
}

/* Moves entry `index` down to where it belongs among those before it. */
static void sink(cf_filter *filter, unsigned index)
{
    cf_spilled entry = cf_spill_get(filter, index);
    for (; index > 0; index--) {
        cf_spilled before = cf_spill_get(filter, index - 1);
        if (!comes_before(&entry, &before))
            break;
        put(filter, index, &before);
    }
    put(filter, index, &entry);
}

static void sort(cf_filter *filter)
{
    for (unsigned i = 1; i < filter->spilled; i++)
        sink(filter, i);
}

unsigned cf_spill_first(const cf_filter *filter, uint64_t bucket)
{
    unsigned low = 0, high = filter->spilled;
    while (low < high) {
        unsigned middle = low + (high - low) / 2;
        if (cf_spill_get(filter, middle).bucket < bucket)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- overflow bits ---- */

/* The buckets where keys look that an entry may match: its own, and its other one; both children of that when the
** entry knows too little to tell which. */
typedef struct look_set {
    uint64_t bucket[3];
    unsigned n;
} look_set;

static void add_look(const cf_filter *filter, const cf_side *side, look_set *looks)
{
    looks->bucket[looks->n++] = cf_locate(filter, side).bucket;
}

static look_set looks_of(const cf_filter *filter, const cf_spilled *entry)
{
    look_set looks = {.n = 0};
    if (entry->bucket >= filter->buckets || entry->tag == 0)
        return looks;
    cf_side side = cf_side_of(filter, cf_home_of(filter, entry->bucket), entry->tag);
    cf_side other = cf_alternate(filter, side);
    looks.bucket[looks.n++] = entry->bucket;
    add_look(filter, &other, &looks);
    if (cf_locate(filter, &other).extension > other.length) {
        other.bits |= (uint64_t)1 << (filter->geometry.pair_bits + other.length);
        add_look(filter, &other, &looks);
    }
    return looks;
}

static bool looks_at(const look_set *looks, uint64_t bucket)
{
    for (unsigned i = 0; i < looks->n; i++)
        if (looks->bucket[i] == bucket)
            return true;
    return false;
}

/* Clears the bits of these buckets, but those that other entries have in their pairs. */
static void clear_unless_named(cf_filter *filter, const look_set *looks)
{
    unsigned named = 0, all = (1u << looks->n) - 1;
    for (unsigned i = 0; i < filter->spilled && named != all; i++) {
        cf_spilled entry = cf_spill_get(filter, i);
        look_set its = looks_of(filter, &entry);
        for (unsigned j = 0; j < looks->n; j++)
            named |= (unsigned)looks_at(&its, looks->bucket[j]) << j;
    }
    for (unsigned j = 0; j < looks->n; j++)
        cf_overflow_set(filter, looks->bucket[j], named >> j & 1);
}

/* Has any spilled entry this bucket in its pair? */
static bool is_named(const cf_filter *filter, uint64_t bucket)
{
    for (unsigned i = 0; i < filter->spilled; i++) {
        cf_spilled entry = cf_spill_get(filter, i);
        look_set looks = looks_of(filter, &entry);
        if (looks_at(&looks, bucket))
            return true;
    }
    return false;
}

static void set_bits_of(cf_filter *filter, unsigned index, bool on)
{
    cf_spilled entry = cf_spill_get(filter, index);
    look_set looks = looks_of(filter, &entry);
    for (unsigned i = 0; i < looks.n; i++)
        cf_overflow_set(filter, looks.bucket[i], on);
}

void cf_spill_clear_bits(cf_filter *filter)
{
    for (unsigned i = 0; i < filter->spilled; i++)
        set_bits_of(filter, i, false);
}

void cf_spill_set_bits(cf_filter *filter)
{
    for (unsigned i = 0; i < filter->spilled; i++)
        set_bits_of(filter, i, true);
}

bool cf_may_be_spilled(const cf_filter *filter, const cf_pair *pair)
{
    if (filter->spilled == 0)
        return false;
    for (unsigned i = 0; i < pair->sides; i++)
        if (!cf_overflow_get(filter, pair->place[i].bucket))
            return false;
    return true;
}

/* ---- entries ---- */

unsigned cf_spill_matching(const cf_filter *filter, const cf_pair *pair)
{
    unsigned found = 0;
    if (!cf_may_be_spilled(filter, pair))
        return 0;
    for (unsigned i = 0; i < pair->sides; i++)
        for (unsigned at = cf_spill_first(filter, pair->place[i].bucket); at < filter->spilled; at++) {
            cf_spilled entry = cf_spill_get(filter, at);
            if (entry.bucket != pair->place[i].bucket)
                break;
            found += entry.tag != 0 && cf_tag_agrees(filter, entry.tag, pair->place[i].tag);
        }
    return found;
}

static void append(cf_filter *filter, const cf_spilled *entry)
{
    put(filter, filter->spilled++, entry);
    set_bits_of(filter, filter->spilled - 1, true);
    sink(filter, filter->spilled - 1);
}

bool cf_spill_add(cf_filter *filter, const cf_pair *pair, unsigned length, uint64_t payload)
{
    cf_place place = pair->place[0];
    if (filter->spilled >= filter->geometry.spill_bound ||
        cf_spill_matching(filter, pair) >= CF_SPILL_COPIES)
        return false;
    append(filter, &(cf_spilled){place.bucket, cf_tag_of(filter, place, length), payload});
    return true;
}

/* Takes an entry out of the list; its bits stay. */
static void take_out(cf_filter *filter, unsigned index)
{
    cf_spilled none = {0, 0, 0};
    for (unsigned i = index + 1; i < filter->spilled; i++) {
        cf_spilled next = cf_spill_get(filter, i);
        put(filter, i - 1, &next);
    }
    put(filter, --filter->spilled, &none);
}

void cf_spill_remove(cf_filter *filter, unsigned index)
{
    cf_spilled entry = cf_spill_get(filter, index);
    take_out(filter, index);
    look_set looks = looks_of(filter, &entry);
    clear_unless_named(filter, &looks);
}

void cf_spill_change(cf_filter *filter, unsigned index, uint64_t tag, uint64_t payload)
{
    cf_spilled entry = cf_spill_get(filter, index);
    cf_spill_remove(filter, index);
    append(filter, &(cf_spilled){entry.bucket, tag, payload});
}

/* Moves entry `index` to the slot, when it can lie in that bucket. */
static bool take_home(cf_filter *filter, unsigned index, uint64_t bucket, unsigned slot)
{
    cf_spilled entry = cf_spill_get(filter, index);
    if (entry.bucket >= filter->buckets || entry.tag == 0)
        return false;
    cf_side side = cf_side_of(filter, cf_home_of(filter, entry.bucket), entry.tag);
    cf_pair pair = cf_pair_from(filter, side);
    for (unsigned i = 0; i < pair.sides; i++)
        if (pair.place[i].bucket == bucket) {
            cf_slot_set(filter, bucket, slot, cf_tag_of(filter, pair.place[i], side.length),
                        entry.payload);
            filter->occupied += filter->occupied < filter->buckets * filter->geometry.bucket_size;
            cf_spill_remove(filter, index);
            return true;
        }
    return false;
}

void cf_spill_drain(cf_filter *filter, uint64_t bucket)
{
    unsigned index = 0;
    while (index < filter->spilled && cf_overflow_get(filter, bucket)) {
        int slot = cf_bucket_free_slot(filter, bucket);
        if (slot < 0)
            return;
        if (!take_home(filter, index, bucket, (unsigned)slot))
            index++;
    }
}

/* ---- growth ---- */

static uint64_t with_terminator(const cf_filter *filter, uint64_t tag)
{
    return filter->grown || tag == 0 ? tag : tag | (uint64_t)1 << filter->geometry.fingerprint_bits;
}

/* How many of some entries of a bucket go to either child when it is split; void ones go to both. */
typedef struct children {
    unsigned low, high;
} children;

static void count_child(const cf_filter *filter, uint64_t tag, children *count)
{
    bool both = cf_is_void(filter, with_terminator(filter, tag));
    count->low += both || !cf_next_bit(filter, tag);
    count->high += both || cf_next_bit(filter, tag);
}

static children count_slots(const cf_filter *filter, uint64_t bucket)
{
    children count = {0, 0};
    uint64_t tag[CF_BUCKET_MAX];
    cf_tags_read(filter, bucket, tag);
    for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++)
        if (tag[slot] != 0)
            count_child(filter, tag[slot], &count);
    return count;
}

static unsigned beyond(unsigned entries, unsigned slots)
{
    return entries > slots ? entries - slots : 0;
}

bool cf_spill_can_split(const cf_filter *filter, uint64_t low)
{
    if (filter->spilled == 0 || !cf_overflow_get(filter, low))
        return true;
    children in_slots = count_slots(filter, low), all = in_slots;
    unsigned before = 0, b = filter->geometry.bucket_size;
    for (unsigned i = cf_spill_first(filter, low); i < filter->spilled; i++, before++) {
        cf_spilled entry = cf_spill_get(filter, i);
        if (entry.bucket != low)
            break;
        count_child(filter, entry.tag, &all);
    }
    unsigned after = beyond(all.low, b) + beyond(all.high, b);
    return filter->spilled - before + after <= filter->geometry.spill_bound;
}

/* Entries that have followed stand at the end of the list, under a number that no bucket has, until all have. */
#define FOLLOWED ((uint64_t)1 << 47)

/* Gives a spilled entry an empty slot of the child, or a place at the end of the list. */
static void give(cf_filter *filter, uint64_t child, uint64_t tag, uint64_t payload)
{
    int slot = cf_bucket_free_slot(filter, child);
    if (slot < 0) {
        append(filter, &(cf_spilled){child | FOLLOWED, tag, payload});
        return;
    }
    cf_slot_set(filter, child, (unsigned)slot, tag, payload);
    filter->occupied += filter->occupied < filter->buckets * filter->geometry.bucket_size;
}

/* An entry of the bucket that was split goes where its next bit says; a void one to both children. */
static void follow(cf_filter *filter, uint64_t low, uint64_t high, const cf_spilled *entry)
{
    bool both = cf_is_void(filter, entry->tag), up = cf_next_bit(filter, entry->tag);
    uint64_t tag = both ? entry->tag : cf_without_next_bit(filter, entry->tag);
    if (both || !up)
        give(filter, low, tag, entry->payload);
    if (both || up)
        give(filter, high, tag, entry->payload);
}

static void unmark_followed(cf_filter *filter)
{
    for (unsigned i = 0; i < filter->spilled; i++) {
        cf_spilled entry = cf_spill_get(filter, i);
        entry.bucket &= ~FOLLOWED;
        put(filter, i, &entry);
    }
    sort(filter);
}

/* Is entry `index` one of this bucket? */
static bool lies_in(const cf_filter *filter, unsigned index, uint64_t bucket)
{
    return index < filter->spilled && cf_spill_get(filter, index).bucket == bucket;
}

bool cf_spill_prepare_split(cf_filter *filter, uint64_t low)
{
    if (filter->spilled == 0 || !cf_overflow_get(filter, low))
        return false;
    for (unsigned i = cf_spill_first(filter, low); lies_in(filter, i, low); i++)
        set_bits_of(filter, i, false);
    return true;
}

void cf_spill_split(cf_filter *filter, uint64_t low, uint64_t high)
{
    unsigned first = cf_spill_first(filter, low);
    while (lies_in(filter, first, low)) {
        cf_spilled entry = cf_spill_get(filter, first);
        take_out(filter, first);
        follow(filter, low, high, &entry);
    }
    unmark_followed(filter);
    clear_unless_named(filter, &(look_set){{low, high}, 2});
    cf_spill_set_bits(filter);
    cf_spill_drain(filter, low);
    cf_spill_drain(filter, high);
}

void cf_spill_recode(cf_filter *filter)
{
    for (unsigned i = 0; i < filter->spilled; i++) {
        cf_spilled entry = cf_spill_get(filter, i);
        if (entry.tag != 0)
            entry.tag |= (uint64_t)1 << filter->geometry.fingerprint_bits;
        put(filter, i, &entry);
    }
}

/* ---- looking inside ---- */

static bool is_written_so(const cf_filter *filter, unsigned index, const cf_spilled *entry)
{
    uint8_t bytes[CF_SPILL_ENTRY];
    encode(entry, bytes);
    return memcmp(bytes, filter->bytes + offset_of(filter, index), sizeof bytes) == 0;
}

static const char *entry_fault(const cf_filter *filter, unsigned index)
{
    cf_spilled entry = cf_spill_get(filter, index);
    look_set looks = looks_of(filter, &entry);
    if (!is_written_so(filter, index, &entry))
        return "an entry of the spill list has bits that mean nothing";
    if (looks.n == 0)
        return "the spill list names a bucket that does not exist, or nothing";
    if (index > 0) {
        cf_spilled before = cf_spill_get(filter, index - 1);
        if (comes_before(&entry, &before))
            return "the spill list is not sorted";
    }
    for (unsigned i = 0; i < looks.n; i++)
        if (!cf_overflow_get(filter, looks.bucket[i]))
            return "an entry of the spill list has no overflow bits";
    return NULL;
}

static cf_status damaged(const char **why, const char *reason)
{
    *why = reason;
    return CF_DAMAGED;
}

/* Overflow bits are set for entries of the list, and for nothing else. */
static cf_status check_bits(const cf_filter *filter, const char **why)
{
    enum { COST = 10, LOOK = 20 }; /* nanoseconds */
    uint64_t set = 0;
    cf_walk walk = cf_walk_begin(filter, COST);
    while (cf_walk_next(&walk)) {
        if (!cf_overflow_get(filter, walk.bucket))
            continue;
        if (++set > 3 * (uint64_t)filter->spilled || !is_named(filter, walk.bucket))
            return damaged(why, "an overflow bit is set for nothing");
        cf_tick(&walk.ticker, LOOK * filter->spilled);
    }
    return walk.status;
}

cf_status cf_spill_check(const cf_filter *filter, const char **why)
{
    const char *fault = NULL;
    for (unsigned i = 0; fault == NULL && i < filter->spilled; i++)
        fault = entry_fault(filter, i);
    if (fault != NULL)
        return damaged(why, fault);
    return filter->geometry.spill_bound == 0 ? CF_OK : check_bits(filter, why);
}
