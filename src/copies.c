#include "copies.h"

#include "bucket.h"

uint64_t cf_most_further_copies(const cf_geometry *shape)
{
    return cf_low_bits(shape->counter_bits);
}

/* ---- finding ---- */

/* The entries that match, and the first of them when there is one. */
static unsigned scan(const cf_filter *filter, const cf_pair *pair, uint64_t *bucket, unsigned *slot)
{
    unsigned found = 0;
    for (unsigned i = 0; i < pair->sides; i++)
        for (unsigned word = 0; word < filter->lanes.words; word++) {
            uint64_t bits = cf_word(filter, pair->place[i].bucket, word);
            uint64_t lanes = cf_matching_lanes(filter, bits, pair->place[i].tag);
            if (lanes != 0 && found == 0) {
                *bucket = pair->place[i].bucket;
                *slot = cf_first_slot(&filter->lanes, lanes, word);
            }
            for (; lanes != 0; lanes &= lanes - 1)
                found++;
        }
    return found;
}

unsigned cf_entries_matching(const cf_filter *filter, const cf_pair *pair)
{
    uint64_t bucket;
    unsigned slot;
    return scan(filter, pair, &bucket, &slot);
}

/* Keeps the longest first. */
static void insert_match(cf_matches *found, cf_match match)
{
    unsigned at = found->n++;
    for (; at > 0 && found->match[at - 1].length < match.length; at--)
        found->match[at] = found->match[at - 1];
    found->match[at] = match;
}

static void take_slot(const cf_filter *filter, const cf_side *side, const cf_place *place, unsigned slot,
                      uint64_t value, cf_matches *found)
{
    cf_match match = {.bucket = place->bucket, .slot = slot, .extension = place->extension};
    cf_home home = {side->base, 0, place->extension}; /* only the length is asked for */
    match.length = cf_side_of(filter, home, cf_slot_get(filter, place->bucket, slot)).length;
    match.payload = cf_payload_get(filter, place->bucket, slot);
    bool other_value = filter->geometry.value_bits && value != CF_ANY_VALUE && match.payload != value;
    if (match.length <= side->length && !other_value)
        insert_match(found, match);
}

void cf_find_matches(const cf_filter *filter, const cf_pair *pair, uint64_t value, cf_matches *found)
{
    found->n = 0;
    for (unsigned i = 0; i < pair->sides; i++)
        for (unsigned word = 0; word < filter->lanes.words; word++) {
            const cf_place *place = &pair->place[i];
            uint64_t bits = cf_word(filter, place->bucket, word);
            uint64_t lanes = cf_matching_lanes(filter, bits, place->tag);
            for (; lanes != 0; lanes &= lanes - 1)
                take_slot(filter, &pair->side[i], place, cf_first_slot(&filter->lanes, lanes, word),
                          value, found);
        }
}

/* ---- adding ---- */

static bool at_maximum(const cf_filter *filter, const cf_match *match)
{
    return filter->geometry.value_bits || match->payload == cf_most_further_copies(&filter->geometry);
}

bool cf_matches_sticky(const cf_filter *filter, const cf_matches *found)
{
    unsigned full = 0;
    for (unsigned i = 0; i < found->n; i++)
        full += at_maximum(filter, &found->match[i]);
    return full >= filter->geometry.cap;
}

/* The longest cap matches at their maximum that lie in `bucket`, or anywhere; false when there are not so many. */
static bool choose_class(const cf_filter *filter, const cf_matches *found, const uint64_t *bucket,
                         cf_matches *class)
{
    class->n = 0;
    for (unsigned i = 0; i < found->n && class->n < filter->geometry.cap; i++) {
        const cf_match *match = &found->match[i];
        if (at_maximum(filter, match) && (bucket == NULL || match->bucket == *bucket))
            class->match[class->n++] = *match;
    }
    return class->n == filter->geometry.cap;
}

/* Can all of them be cut to the shortest? */
static bool can_be_equal(const cf_matches *class)
{
    unsigned shortest = class->match[class->n - 1].length;
    for (unsigned i = 0; i < class->n; i++)
        if (class->match[i].extension > shortest)
            return false;
    return true;
}

static void cut_to_shortest(cf_filter *filter, const cf_matches *class)
{
    unsigned shortest = class->match[class->n - 1].length;
    for (unsigned i = 0; filter->grown && i < class->n; i++) {
        const cf_match *match = &class->match[i];
        uint64_t tag = cf_slot_get(filter, match->bucket, match->slot);
        cf_place place = {match->bucket, tag, match->extension};
        cf_slot_set(filter, match->bucket, match->slot, cf_tag_of(filter, place, shortest),
                    match->payload);
    }
}

/* Makes cap of the matches a class that says the same, so that one more copy need not be stored. */
static bool absorb(cf_filter *filter, const cf_pair *pair, const cf_matches *found)
{
    cf_matches class;
    if (!choose_class(filter, found, NULL, &class))
        return false;
    bool equal = can_be_equal(&class);
    for (unsigned i = 0; i < pair->sides && !equal; i++)
        equal = choose_class(filter, found, &pair->place[i].bucket, &class) && can_be_equal(&class);
    if (equal)
        cut_to_shortest(filter, &class);
    return equal;
}

/* The longest match that can count more copies and knows `least` bits. */
static const cf_match *counting_match(const cf_filter *filter, const cf_matches *found, unsigned least)
{
    for (unsigned i = 0; i < found->n && found->match[i].length >= least; i++)
        if (!at_maximum(filter, &found->match[i]))
            return &found->match[i];
    return NULL;
}

/* Bits that a match must know to count copies of this item. As a rule as many as an entry of its own would; any, when
** there are so many matches that the key should not take one more slot. But an item at its maximum may stand for more
** copies than it says, as one of cap that are sticky: where the sum has counted it, there must be an entry of its bits at
** its maximum. */
static unsigned least_to_count(const cf_filter *filter, const cf_matches *found, const cf_item *item,
                               bool whole)
{
    if (found->n >= filter->geometry.cap && !whole)
        return 0;
    return item->side.length < filter->new_length ? item->side.length : filter->new_length;
}

/* Counts as many of the item's copies as this entry can; true when none is left. */
static bool count_copies(cf_filter *filter, const cf_match *match, cf_item *item)
{
    uint64_t room = cf_most_further_copies(&filter->geometry) - match->payload;
    uint64_t copies = item->payload + 1, taken = copies < room ? copies : room;
    cf_payload_set(filter, match->bucket, match->slot, match->payload + taken);
    item->payload = copies - taken - 1; /* meaningless when nothing is left */
    return taken == copies;
}

bool cf_copies_absorb(cf_filter *filter, const cf_pair *pair, cf_item *item)
{
    bool whole =
        filter->geometry.counter_bits != 0 && item->payload == cf_most_further_copies(&filter->geometry);
    for (;; whole = false) {
        cf_matches found;
        cf_find_matches(filter, pair, item->payload, &found);
        if (absorb(filter, pair, &found))
            return true;
        const cf_match *match =
            counting_match(filter, &found, least_to_count(filter, &found, item, whole));
        if (match == NULL)
            return false;
        if (count_copies(filter, match, item))
            return true;
    }
}

/* ---- deleting ---- */

/* Without growth and payloads all matches are alike: the first one goes. */
static cf_deleted remove_plain(cf_filter *filter, const cf_pair *pair)
{
    uint64_t bucket;
    unsigned slot, copies = scan(filter, pair, &bucket, &slot);
    if (copies == 0 || copies >= filter->geometry.cap)
        return copies == 0 ? CF_ABSENT : CF_STICKY;
    cf_slot_set(filter, bucket, slot, 0, 0);
    filter->occupied -= filter->occupied > 0;
    return CF_REMOVED;
}

cf_deleted cf_copies_remove(cf_filter *filter, const cf_pair *pair, uint64_t value)
{
    cf_matches found;
    if (!filter->grown && filter->payload_bits == 0)
        return remove_plain(filter, pair);
    cf_find_matches(filter, pair, value, &found);
    if (found.n == 0)
        return CF_ABSENT;
    if (cf_matches_sticky(filter, &found))
        return CF_STICKY;
    const cf_match *match = &found.match[0];
    if (filter->geometry.counter_bits && match->payload > 0) {
        cf_payload_set(filter, match->bucket, match->slot, match->payload - 1);
    } else {
        cf_slot_set(filter, match->bucket, match->slot, 0, 0);
        filter->occupied -= filter->occupied > 0;
    }
    return CF_REMOVED;
}
