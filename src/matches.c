#include "matches.h"

#include "bucket.h"
#include "spill.h"

/* ---- finding ---- */

/* The top bit of every lane of a word that matches. */
static inline uint64_t lanes_at(const cf_filter *filter, const cf_place *place, unsigned word)
{
    if (filter->geometry.semisorted && filter->tops.words == 1 &&
        !cf_tops_allow(filter, cf_record_at(filter, place->bucket), place->tag))
        return 0;
    return cf_matching_lanes(filter, cf_word(filter, place->bucket, word), place->tag);
}

unsigned cf_scan_matches(const cf_filter *filter, const cf_pair *pair, uint64_t *bucket, unsigned *slot)
{
    unsigned found = 0;
    for (unsigned i = 0; i < pair->sides; i++)
        for (unsigned word = 0; word < filter->lanes.words; word++) {
            uint64_t lanes = lanes_at(filter, &pair->place[i], word);
            if (lanes != 0 && found == 0) {
                *bucket = pair->place[i].bucket;
                *slot = cf_first_slot(&filter->lanes, lanes, word);
            }
            for (; lanes != 0; lanes &= lanes - 1)
                found++;
        }
    return found + cf_spill_matching(filter, pair);
}

unsigned cf_entries_matching(const cf_filter *filter, const cf_pair *pair)
{
    uint64_t bucket;
    unsigned slot;
    return cf_scan_matches(filter, pair, &bucket, &slot);
}

/* Keeps the longest first. */
static void insert_match(cf_matches *found, cf_match match)
{
    if (found->n == CF_MATCHES_MAX)
        return; /* bytes that lie */
    unsigned at = found->n++;
    for (; at > 0 && found->match[at - 1].length < match.length; at--)
        found->match[at] = found->match[at - 1];
    found->match[at] = match;
}

/* What an entry at `place` says, as a match. */
static cf_match match_at(const cf_filter *filter, const cf_place *place, unsigned slot, uint64_t tag,
                         uint64_t payload)
{
    cf_home home = {0, 0, place->extension}; /* only the length is asked for */
    return (cf_match){.bucket = place->bucket,
                      .slot = slot,
                      .tag = tag,
                      .length = cf_side_of(filter, home, tag).length,
                      .extension = place->extension,
                      .payload = payload};
}

static cf_match match_in_slot(const cf_filter *filter, const cf_place *place, unsigned slot)
{
    return match_at(filter, place, slot, cf_slot_get(filter, place->bucket, slot),
                    cf_payload_get(filter, place->bucket, slot));
}

static void take_match(const cf_filter *filter, const cf_match *match, uint64_t value, cf_matches *found)
{
    if (!filter->geometry.value_bits || value == CF_ANY_VALUE || match->payload == value)
        insert_match(found, *match);
}

static void find_in_bucket(const cf_filter *filter, const cf_side *side, const cf_place *place,
                           uint64_t value, cf_matches *found)
{
    for (unsigned word = 0; word < filter->lanes.words; word++) {
        uint64_t lanes = lanes_at(filter, place, word);
        for (; lanes != 0; lanes &= lanes - 1) {
            cf_match match = match_in_slot(filter, place, cf_first_slot(&filter->lanes, lanes, word));
            if (match.length <= side->length)
                take_match(filter, &match, value, found);
        }
    }
}

/* Do an entry at `place` and the side there agree in all the bits that both know? */
static bool agrees(const cf_filter *filter, const cf_side *side, const cf_place *place, uint64_t tag,
                   unsigned length)
{
    unsigned least = length < side->length ? length : side->length;
    unsigned known = filter->geometry.pair_bits + least - place->extension; /* of the bits in the slot */
    return ((tag ^ place->tag) & cf_low_bits(known)) == 0;
}

/* Entries of the spill list that agree with a side; those that know more only on request. */
static void find_in_list(const cf_filter *filter, const cf_side *side, const cf_place *place,
                         uint64_t value, bool longer, cf_matches *found)
{
    for (unsigned i = cf_spill_first(filter, place->bucket); i < filter->spilled; i++) {
        cf_spilled entry = cf_spill_get(filter, i);
        if (entry.bucket != place->bucket)
            return;
        if (entry.tag == 0)
            continue;
        cf_match match = match_at(filter, place, CF_IN_LIST + i, entry.tag, entry.payload);
        if (agrees(filter, side, place, entry.tag, match.length) &&
            (longer || match.length <= side->length))
            take_match(filter, &match, value, found);
    }
}

static void find_spilled(const cf_filter *filter, const cf_pair *pair, uint64_t value, bool longer,
                         cf_matches *found)
{
    if (cf_may_be_spilled(filter, pair))
        for (unsigned i = 0; i < pair->sides; i++)
            find_in_list(filter, &pair->side[i], &pair->place[i], value, longer, found);
}

void cf_find_matches(const cf_filter *filter, const cf_pair *pair, uint64_t value, cf_matches *found)
{
    found->n = 0;
    for (unsigned i = 0; i < pair->sides; i++)
        find_in_bucket(filter, &pair->side[i], &pair->place[i], value, found);
    find_spilled(filter, pair, value, false, found);
}

void cf_find_agreeing(const cf_filter *filter, const cf_pair *pair, uint64_t value, cf_matches *found)
{
    found->n = 0;
    for (unsigned i = 0; i < pair->sides; i++)
        for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++) {
            const cf_place *place = &pair->place[i];
            uint64_t tag = cf_slot_get(filter, place->bucket, slot);
            if (tag == 0)
                continue;
            cf_match match = match_in_slot(filter, place, slot);
            if (agrees(filter, &pair->side[i], place, tag, match.length))
                take_match(filter, &match, value, found);
        }
    find_spilled(filter, pair, value, true, found);
}

/* ---- changing ---- */

static bool says(const cf_match *match, uint64_t tag, uint64_t payload)
{
    return match->tag == tag && match->payload == payload;
}

/* Where the entry is now, in its bucket or among the spilled entries of it. */
static unsigned slot_of(const cf_filter *filter, const cf_match *match)
{
    unsigned slot = match->slot;
    if (!says(match, cf_slot_get(filter, match->bucket, slot),
              cf_payload_get(filter, match->bucket, slot)))
        for (slot = 0; slot + 1 < filter->geometry.bucket_size; slot++)
            if (says(match, cf_slot_get(filter, match->bucket, slot),
                     cf_payload_get(filter, match->bucket, slot)))
                break;
    return slot;
}

static unsigned index_of(const cf_filter *filter, const cf_match *match)
{
    unsigned i = cf_spill_first(filter, match->bucket);
    for (; i + 1 < filter->spilled; i++) {
        cf_spilled entry = cf_spill_get(filter, i);
        if (says(match, entry.tag, entry.payload))
            break;
    }
    return i;
}

void cf_match_change(cf_filter *filter, const cf_match *match, uint64_t tag, uint64_t payload)
{
    if (match->slot >= CF_IN_LIST)
        cf_spill_change(filter, index_of(filter, match), tag, payload);
    else
        cf_slot_set(filter, match->bucket, slot_of(filter, match), tag, payload);
}

void cf_match_cut(cf_filter *filter, const cf_match *match, unsigned length, uint64_t payload)
{
    cf_place place = {match->bucket, match->tag, match->extension};
    cf_match_change(filter, match, cf_tag_of(filter, place, length), payload);
}

void cf_match_take_out(cf_filter *filter, const cf_match *match)
{
    if (match->slot >= CF_IN_LIST) {
        cf_spill_remove(filter, index_of(filter, match));
        return;
    }
    cf_slot_set(filter, match->bucket, slot_of(filter, match), 0, 0);
    filter->occupied -= filter->occupied > 0;
}

void cf_match_remove(cf_filter *filter, const cf_match *match)
{
    cf_match_take_out(filter, match);
    if (match->slot < CF_IN_LIST)
        cf_spill_drain(filter, match->bucket);
}
