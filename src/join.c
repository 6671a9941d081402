#include "join.h"

#include "eviction.h"

/* The entries in the slots of one pair, of one value, as its first bucket sees them; and behind them the item that needs
** room, if it is one of this pair. */
typedef struct pair_entries {
    cf_pair pair;
    cf_matches all;
    unsigned stored;                    /* of them are in slots */
    uint64_t remainder[CF_MATCHES_MAX]; /* the bits each one knows */
    unsigned weight
        [CF_MATCHES_MAX]; /* entries at their maximum that it stands for: 0, 1, or cap when folded */
    bool rounds_up;       /* all count as being at their maximum, and are set to it */
    unsigned least;       /* remainder bits that the pair stands for */
} pair_entries;

/* The first remainder bits of an entry. */
typedef struct prefix {
    unsigned of, length;
} prefix;

static unsigned in_common(const pair_entries *entries, unsigned i, unsigned j)
{
    const cf_match *match = entries->all.match;
    unsigned known = match[i].length < match[j].length ? match[i].length : match[j].length;
    uint64_t difference = (entries->remainder[i] ^ entries->remainder[j]) & cf_low_bits(known);
    return difference ? (unsigned)__builtin_ctzll(difference) : known;
}

static bool begins_with(const pair_entries *entries, unsigned i, prefix common)
{
    return in_common(entries, i, common.of) >= common.length;
}

/* ---- the entries of a pair ---- */

static uint64_t remainder_of(const cf_filter *filter, const cf_pair *pair, const cf_match *match)
{
    cf_side side = cf_side_of(filter, cf_home_of(filter, match->bucket), match->tag);
    if (match->bucket != pair->place[0].bucket)
        side = cf_alternate(filter, side);
    return side.bits >> filter->geometry.pair_bits;
}

static void drop_listed(cf_matches *all)
{
    unsigned n = 0;
    for (unsigned i = 0; i < all->n; i++)
        if (all->match[i].slot < CF_IN_LIST)
            all->match[n++] = all->match[i];
    all->n = n;
}

/* The entries that lie where this one may, and agree with it in what that place says. False: none may. */
static bool gather(const cf_filter *filter, const cf_entry *entry, bool rounds_up, pair_entries *entries)
{
    cf_pair pair = cf_pair_from(filter, entry->side);
    if (pair.sides == 0)
        return false;
    entries->least = 0;
    for (unsigned i = 0; i < pair.sides; i++)
        if (pair.place[i].extension > entries->least)
            entries->least = pair.place[i].extension;
    cf_side side = pair.side[0];
    side.length = entries->least;
    side.bits &= cf_low_bits(filter->geometry.pair_bits + side.length);
    entries->pair = cf_pair_from(filter, side);
    cf_find_agreeing(filter, &entries->pair, entry->payload, &entries->all);
    drop_listed(&entries->all);
    entries->stored = entries->all.n;
    entries->rounds_up = rounds_up;
    for (unsigned i = 0; i < entries->all.n; i++) {
        const cf_match *match = &entries->all.match[i];
        entries->remainder[i] = remainder_of(filter, &entries->pair, match);
        entries->weight[i] =
            rounds_up || cf_at_maximum(filter, match) ? cf_entries_of(filter, match->tag) : 0;
    }
    return true;
}

/* Adds the item, as the one entry more that it would be. */
static void add_item(const cf_filter *filter, const cf_pair *pair, const cf_item *item,
                     pair_entries *entries)
{
    unsigned n = entries->all.n, side = pair->place[0].bucket == entries->pair.place[0].bucket ? 0 : 1;
    uint64_t differences = pair->side[side].bits ^ entries->pair.side[0].bits;
    if (n == CF_MATCHES_MAX || pair->sides != entries->pair.sides || side >= pair->sides ||
        pair->place[side].bucket != entries->pair.place[0].bucket ||
        (differences & filter->pair_mask) != 0)
        return;
    cf_match *last = &entries->all.match[entries->all.n++];
    *last =
        (cf_match){.length = item->side.length, .payload = item->payload, .tag = filter->pair_mask + 1};
    if (last->length > filter->new_length)
        last->length = filter->new_length;
    entries->remainder[n] = pair->side[side].bits >> filter->geometry.pair_bits;
    entries->weight[n] = entries->rounds_up || cf_at_maximum(filter, last);
}

/* Entries at their maximum that begin so. */
static unsigned weight_of(const pair_entries *entries, prefix common)
{
    unsigned weight = 0;
    for (unsigned i = 0; i < entries->all.n; i++)
        weight += begins_with(entries, i, common) ? entries->weight[i] : 0;
    return weight;
}

/* The buckets as they are, before they change. */
static void remember(const cf_filter *filter, const cf_pair *pair, cf_joined *joined)
{
    joined->occupied = filter->occupied;
    joined->buckets = pair->sides;
    for (unsigned i = 0; i < pair->sides; i++) {
        joined->bucket[i] = pair->place[i].bucket;
        cf_record_read(filter, joined->bucket[i], &joined->record[i]);
    }
}

/* Takes out those that begin so, but some. */
static void take_out(cf_filter *filter, const pair_entries *entries, prefix common, const bool *stays)
{
    for (unsigned i = 0; i < entries->stored; i++)
        if (!stays[i] && begins_with(entries, i, common))
            cf_match_take_out(filter, &entries->all.match[i]);
}

/* Is whoever matches it sticky? */
static bool is_sticky(const cf_filter *filter, const pair_entries *entries, unsigned i)
{
    unsigned weight = 0;
    for (unsigned j = 0; j < entries->all.n; j++)
        if (begins_with(entries, i, (prefix){j, entries->all.match[j].length}))
            weight += entries->weight[j];
    return weight >= filter->geometry.cap;
}

/* The payload of entries of a class: at their maximum. */
static uint64_t class_payload(const cf_filter *filter, const cf_match *match)
{
    return filter->geometry.value_bits ? match->payload : cf_most_further_copies(&filter->geometry);
}

/* ---- folding ---- */

/* All that is known of the bucket it lies in. */
static prefix of_bucket(const pair_entries *entries, unsigned i)
{
    return (prefix){i, entries->all.match[i].extension};
}

/* Can it stand for a class that has more entries, forgetting up to so many bits? */
static bool can_fold(const cf_filter *filter, const pair_entries *entries, unsigned i, unsigned bits)
{
    const cf_match *match = &entries->all.match[i];
    unsigned others = 0;
    if (match->length > match->extension + bits || (match->tag & filter->pair_mask) == 0 ||
        entries->weight[i] == 0 || !is_sticky(filter, entries, i))
        return false;
    for (unsigned j = 0; j < entries->stored; j++)
        others += j != i && begins_with(entries, j, of_bucket(entries, i));
    return others > 0;
}

/* Rather not in the bucket that the search has reached: slots become empty there. */
static bool fold(cf_filter *filter, const pair_entries *entries, uint64_t reached, unsigned bits,
                 cf_joined *joined)
{
    bool stays[CF_MATCHES_MAX] = {false};
    unsigned chosen = CF_MATCHES_MAX;
    for (unsigned i = 0; i < entries->stored; i++)
        if ((chosen == CF_MATCHES_MAX || entries->all.match[i].bucket != reached) &&
            can_fold(filter, entries, i, bits))
            chosen = i;
    if (chosen == CF_MATCHES_MAX)
        return false;
    const cf_match *match = &entries->all.match[chosen];
    stays[chosen] = true;
    remember(filter, &entries->pair, joined);
    take_out(filter, entries, of_bucket(entries, chosen), stays);
    cf_match_change(filter, match, match->tag & filter->pair_mask, class_payload(filter, match));
    return true;
}

/* ---- joining ---- */

/* The longest prefix of two sticky entries of which there are more entries than a class needs. */
static bool choose(const cf_filter *filter, const pair_entries *entries, prefix *best)
{
    bool chosen = false;
    for (unsigned i = 0; i < entries->all.n; i++)
        for (unsigned j = i + 1; j < entries->all.n && is_sticky(filter, entries, i); j++) {
            prefix common = {i, in_common(entries, i, j)};
            if (common.length < entries->least || (chosen && common.length <= best->length))
                continue;
            if (is_sticky(filter, entries, j) && weight_of(entries, common) > filter->geometry.cap) {
                *best = common;
                chosen = true;
            }
        }
    return chosen;
}

/* Cuts cap of the entries that begin with the prefix to it, and takes the others out. */
static bool join(cf_filter *filter, const pair_entries *entries, cf_joined *joined)
{
    bool stays[CF_MATCHES_MAX] = {false};
    prefix common = {0, 0};
    if (!choose(filter, entries, &common))
        return false;
    unsigned n = 0;
    for (unsigned i = 0; i < entries->stored && n < filter->geometry.cap; i++)
        if (entries->weight[i] == 1 && begins_with(entries, i, common)) {
            stays[i] = true;
            n++;
        }
    if (n < filter->geometry.cap)
        return false; /* a folded one is among them, which must not be cut */
    remember(filter, &entries->pair, joined);
    take_out(filter, entries, common, stays);
    for (unsigned i = 0; i < entries->stored; i++)
        if (stays[i]) {
            const cf_match *member = &entries->all.match[i];
            cf_match_cut(filter, member, common.length, class_payload(filter, member));
        }
    return true;
}

/* ---- where ---- */

void cf_join_back(cf_filter *filter, const cf_joined *joined)
{
    for (unsigned i = 0; i < joined->buckets; i++)
        cf_record_write(filter, joined->bucket[i], &joined->record[i]);
    filter->occupied = joined->occupied;
}

/* What is tried, the cheapest first. */
enum { FOLD, JOIN, ROUND_UP_AND_JOIN, CUT_AND_FOLD };

/* For whom room is made, and how. */
typedef struct wanted_room {
    const cf_pair *pair;
    const cf_item *item;
    int remedy;
} wanted_room;

/* Does a slot hold half a class at least that could be folded here as it is? Seldom, which saves time. */
static bool is_promising(const cf_filter *filter, const uint64_t *tag, unsigned slot)
{
    unsigned alike = 0;
    if (tag[slot] == 0 || !cf_is_void(filter, tag[slot]))
        return false;
    for (unsigned i = 0; i < filter->geometry.bucket_size; i++)
        if (tag[i] != 0 && cf_is_void(filter, tag[i]) && ((tag[i] ^ tag[slot]) & filter->pair_mask) == 0)
            alike += cf_entries_of(filter, tag[i]);
    return 2 * alike >= filter->geometry.cap;
}

/* Folds or joins a class of which one entry lies in this slot. */
static bool relieve_slot(cf_filter *filter, uint64_t bucket, unsigned slot, const wanted_room *want,
                         cf_joined *joined)
{
    pair_entries entries;
    cf_entry entry;
    if (!cf_entry_at(filter, bucket, slot, &entry) ||
        !gather(filter, &entry, want->remedy >= ROUND_UP_AND_JOIN, &entries))
        return false;
    if (want->remedy == FOLD || want->remedy == CUT_AND_FOLD)
        return fold(filter, &entries, bucket, want->remedy == FOLD ? 0 : CF_WHOLE, joined);
    if (entry.payload == want->item->payload || !filter->geometry.value_bits)
        add_item(filter, want->pair, want->item, &entries);
    return join(filter, &entries, joined);
}

static bool relieve_bucket(cf_filter *filter, uint64_t bucket, const wanted_room *want,
                           cf_joined *joined)
{
    uint64_t tag[CF_BUCKET_MAX];
    cf_tags_read(filter, bucket, tag);
    for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++)
        if ((want->remedy != FOLD || is_promising(filter, tag, slot)) &&
            relieve_slot(filter, bucket, slot, want, joined))
            return true;
    return false;
}

bool cf_join_classes(cf_filter *filter, const cf_pair *pair, const cf_item *item, bool at_any_price,
                     cf_joined *joined)
{
    static const cf_search_budget few = {.nodes = 32, .examined = CF_ANY_NUMBER};
    cf_search search;
    if (!filter->grown || cf_eviction_search(filter, pair, few, &search))
        return false;
    bool shut = search.left.nodes > 0; /* all that can be reached is full */
    int last = !shut ? FOLD : at_any_price ? CUT_AND_FOLD : JOIN;
    for (int remedy = FOLD; remedy <= last; remedy++)
        for (unsigned i = 0; i < search.nodes; i++)
            if (relieve_bucket(filter, search.node[i].bucket, &(wanted_room){pair, item, remedy},
                               joined))
                return true;
    return false;
}
