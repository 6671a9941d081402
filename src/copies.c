#include "copies.h"

#include "bucket.h"

uint64_t cf_most_further_copies(const cf_geometry *shape)
{
    return cf_low_bits(shape->counter_bits);
}

/* ---- adding ---- */

bool cf_at_maximum(const cf_filter *filter, const cf_match *match)
{
    return filter->geometry.value_bits || cf_is_folded(filter, match->tag) ||
           match->payload == cf_most_further_copies(&filter->geometry);
}

bool cf_matches_sticky(const cf_filter *filter, const cf_matches *found)
{
    unsigned full = 0;
    for (unsigned i = 0; i < found->n; i++)
        if (cf_at_maximum(filter, &found->match[i]))
            full += cf_entries_of(filter, found->match[i].tag);
    return full >= filter->geometry.cap;
}

/* Entries that are to say the same: the first `length` remainder bits that they know. */
typedef struct sticky_class {
    cf_match member[CF_MATCHES_MAX];
    unsigned n, length;
} sticky_class;

/* The longest cap matches at their maximum that lie in `bucket`, or anywhere, cut to the shortest of them and to
** `most` bits; false when there are not so many. */
static bool choose_class(const cf_filter *filter, const cf_matches *found, const uint64_t *bucket,
                         unsigned most, sticky_class *class)
{
    class->n = 0;
    class->length = most;
    for (unsigned i = 0; i < found->n && class->n < filter->geometry.cap; i++) {
        const cf_match *match = &found->match[i];
        if (!cf_at_maximum(filter, match) || (bucket && match->bucket != *bucket))
            continue;
        class->member[class->n++] = *match;
        if (match->length < class->length)
            class->length = match->length;
    }
    return class->n == filter->geometry.cap;
}

/* Can all of them be cut to one length? */
static bool can_be_equal(const sticky_class *class)
{
    for (unsigned i = 0; i < class->n; i++)
        if (class->member[i].extension > class->length)
            return false;
    return true;
}

static void make_equal(cf_filter *filter, const sticky_class *class)
{
    for (unsigned i = 0; filter->grown && i < class->n; i++)
        cf_match_cut(filter, &class->member[i], class->length, class->member[i].payload);
}

static bool any_folded(const cf_filter *filter, const cf_matches *found)
{
    for (unsigned i = 0; i < found->n; i++)
        if (cf_is_folded(filter, found->match[i].tag))
            return true;
    return false;
}

/* Makes cap of the entries found a class that says the same, and no more than the item knows, so that one more copy
** need not be stored. */
static bool absorb(cf_filter *filter, const cf_pair *pair, const cf_item *item, const cf_matches *found)
{
    sticky_class class;
    if (any_folded(filter, found))
        return true;
    if (!choose_class(filter, found, NULL, item->side.length, &class))
        return false;
    bool equal = can_be_equal(&class);
    for (unsigned i = 0; i < pair->sides && !equal; i++)
        equal = choose_class(filter, found, &pair->place[i].bucket, item->side.length, &class) &&
                can_be_equal(&class);
    if (equal)
        make_equal(filter, &class);
    return equal;
}

/* Cuts an entry that can count more copies to what the item knows, when there are so many that the key should not take
** one more slot. */
static bool cut_to_count(cf_filter *filter, const cf_item *item, const cf_matches *found)
{
    unsigned length = item->side.length;
    for (unsigned i = 0; i < found->n && found->n >= filter->geometry.cap; i++) {
        const cf_match *match = &found->match[i];
        if (!cf_at_maximum(filter, match) && match->length > length && match->extension <= length) {
            cf_match_cut(filter, match, length, match->payload);
            return true;
        }
    }
    return false;
}

/* Can this match count copies of the item? It can when it knows as much as an entry of the item's own would; when it
** knows so much beyond its bucket that it is hardly of another key; or when there are so many matches that the key should
** not take one more slot. But an item at its maximum may stand for more copies than it says, as one of cap that are
** sticky: where the sum has counted it, there must be an entry of its bits at its maximum. What is left of it after
** that is not at its maximum any more. */
static bool can_count(const cf_filter *filter, const cf_match *match, unsigned matches,
                      const cf_item *item)
{
    enum { TRUSTED = 4 }; /* remainder bits in the slot: strangers match one entry in 2^(s + 4) */
    unsigned own = item->side.length < filter->new_length ? item->side.length : filter->new_length;
    bool whole = item->payload == cf_most_further_copies(&filter->geometry);
    if (cf_at_maximum(filter, match))
        return false;
    if (match->length >= own)
        return true;
    return !whole && (matches >= filter->geometry.cap || match->length >= match->extension + TRUSTED);
}

/* The longest match that can. */
static const cf_match *counting_match(const cf_filter *filter, const cf_matches *found,
                                      const cf_item *item)
{
    for (unsigned i = 0; i < found->n; i++)
        if (can_count(filter, &found->match[i], found->n, item))
            return &found->match[i];
    return NULL;
}

/* Counts as many of the item's copies as this entry can; true when none is left. */
static bool count_copies(cf_filter *filter, const cf_match *match, cf_item *item)
{
    uint64_t room = cf_most_further_copies(&filter->geometry) - match->payload;
    uint64_t copies = item->payload + 1, taken = copies < room ? copies : room;
    cf_match_change(filter, match, match->tag, match->payload + taken);
    item->payload = copies - taken - 1; /* meaningless when nothing is left */
    return taken == copies;
}

/* The entries that match the item: all that its copies can be counted on. */
static bool absorb_matching(cf_filter *filter, const cf_pair *pair, cf_item *item, bool *progress)
{
    cf_matches found;
    cf_find_matches(filter, pair, item->payload, &found);
    if (absorb(filter, pair, item, &found))
        return true;
    const cf_match *match = counting_match(filter, &found, item);
    *progress = match != NULL;
    return match != NULL && count_copies(filter, match, item);
}

/* An item from a filter that has grown less, with entries that know more: without it the copies of one key would be
** stored anew for each length at which it comes, until its pair is full of them. */
static bool absorb_shorter(cf_filter *filter, const cf_pair *pair, const cf_item *item, bool *progress)
{
    cf_matches found;
    if (!filter->grown || item->side.length == CF_WHOLE)
        return false;
    cf_find_agreeing(filter, pair, item->payload, &found);
    if (absorb(filter, pair, item, &found))
        return true;
    *progress = cut_to_count(filter, item, &found);
    return false;
}

bool cf_copies_absorb(cf_filter *filter, const cf_pair *pair, cf_item *item)
{
    for (bool progress = true; progress;) {
        if (absorb_matching(filter, pair, item, &progress))
            return true;
        if (!progress && absorb_shorter(filter, pair, item, &progress))
            return true;
    }
    return false;
}

/* ---- deleting ---- */

/* In simple filters without payloads all matches are alike: the first one goes. */
static cf_deleted remove_plain(cf_filter *filter, const cf_pair *pair)
{
    uint64_t bucket;
    unsigned slot, copies = cf_scan_matches(filter, pair, &bucket, &slot);
    if (copies == 0 || copies >= filter->geometry.cap)
        return copies == 0 ? CF_ABSENT : CF_STICKY;
    cf_slot_set(filter, bucket, slot, 0, 0);
    filter->occupied -= filter->occupied > 0;
    return CF_REMOVED;
}

cf_deleted cf_copies_remove(cf_filter *filter, const cf_pair *pair, uint64_t value)
{
    cf_matches found;
    if (filter->simple && filter->payload_bits == 0)
        return remove_plain(filter, pair);
    cf_find_matches(filter, pair, value, &found);
    if (found.n == 0)
        return CF_ABSENT;
    if (cf_matches_sticky(filter, &found))
        return CF_STICKY;
    const cf_match *match = &found.match[0];
    if (filter->geometry.counter_bits && match->payload > 0)
        cf_match_change(filter, match, match->tag, match->payload - 1);
    else
        cf_match_remove(filter, match);
    return CF_REMOVED;
}
