#include "quick.h"

/* ---- plain buckets ---- */

/* Changes one lane of a bucket by XOR: the one whose top bit is the lowest of `lanes`. */
static inline void change_lane(cf_filter *filter, uint64_t byte, unsigned shift, uint64_t lanes,
                               uint64_t difference)
{
    uint8_t *p = filter->view.writable + byte;
    unsigned top = (unsigned)__builtin_ctzll(lanes);
    cf_store64(p, cf_load64(p) ^ difference << (top + 1 - filter->view.lanes.width + shift));
}

/* The choice between two buckets cannot be predicted: no branch. */
static inline void change_first(cf_filter *filter, const cf_spots *spots, cf_words lanes)
{
    bool first = lanes.word != 0; /* RULE: the base bucket comes first */
    change_lane(filter, first ? spots->byte : spots->byte2, first ? spots->shift : spots->shift2,
                first ? lanes.word : lanes.word2, first ? spots->tag : spots->tag2);
}

static inline __attribute__((always_inline)) bool add_plain(cf_filter *filter, const cf_spots *spots)
{
    const cf_lanes *lanes = &filter->view.lanes;
    cf_words words = cf_words_at(filter, spots), same = cf_plain_same(filter, spots, words);
    cf_words empty = {cf_any_zero_lane(lanes, words.word), cf_any_zero_lane(lanes, words.word2)};
    if ((same.word | same.word2) != 0 || (empty.word | empty.word2) == 0)
        return false;
    change_first(filter, spots, empty);
    cf_count_occupied(filter);
    return true;
}

/* Is exactly one bit set in two words? */
static inline bool is_single(uint64_t one, uint64_t other)
{
    uint64_t any = one | other;
    return ((any & (any - 1)) | (one & other)) == 0;
}

static inline __attribute__((always_inline)) bool delete_plain(cf_filter *filter, const cf_spots *spots,
                                                               cf_deleted *deleted)
{
    cf_words words = cf_words_at(filter, spots), same = cf_plain_same(filter, spots, words);
    bool has = (same.word | same.word2) != 0;
    *deleted = has ? CF_REMOVED : CF_ABSENT;
    if (!has || !is_single(same.word, same.word2))
        return !has;
    change_first(filter, spots, same);
    cf_count_emptied(filter);
    return true;
}

/* ---- semi-sorted buckets ---- */

/* Empty slots come first, with tag 0. */
static inline bool has_empty_slot(const cf_filter *filter, uint64_t bits)
{
    uint64_t tops = bits >> CF_CODE_BITS & cf_low_bits(filter->view.tops.width);
    uint64_t nibbles = cf_semisort_nibbles[bits & cf_low_bits(CF_CODE_BITS)];
    return (tops | (nibbles & cf_low_bits(CF_NIBBLE_BITS))) == 0;
}

static void change_slot(cf_filter *filter, const cf_spots *spots, bool second, unsigned slot,
                        uint64_t tag)
{
    uint64_t at = second ? spots->byte2 * 8 + spots->shift2 : spots->byte * 8 + spots->shift;
    cf_semisort_set(filter, at, slot, tag, 0);
}

static bool add_semisorted(cf_filter *filter, const cf_spots *spots)
{
    cf_words words = cf_words_at(filter, spots);
    bool first = has_empty_slot(filter, words.word);
    if (!first && !has_empty_slot(filter, words.word2))
        return false;
    if (cf_semisort_find(filter, words.word, spots->tag, words.word2, spots->tag2).has != 0)
        return false;
    change_slot(filter, spots, !first, 0, first ? spots->tag : spots->tag2);
    cf_count_occupied(filter);
    return true;
}

static bool delete_semisorted(cf_filter *filter, const cf_spots *spots, cf_deleted *deleted)
{
    cf_words words = cf_words_at(filter, spots);
    cf_semisort_found found = cf_semisort_find(filter, words.word, spots->tag, words.word2, spots->tag2);
    *deleted = found.has ? CF_REMOVED : CF_ABSENT;
    if (found.has != 1)
        return found.has == 0;
    change_slot(filter, spots, found.second, found.slot, 0);
    cf_count_emptied(filter);
    return true;
}

/* ---- all of them ---- */

bool cf_quick_add(cf_filter *filter, uint64_t hash)
{
    assert(filter->view.writable != NULL && filter->view.change != CF_QUICK_NONE);
    if (filter->view.change == CF_QUICK_WHOLE) {
        cf_spots spots = cf_spots_of(filter, hash, true);
        return add_plain(filter, &spots);
    }
    cf_spots spots = cf_spots_of(filter, hash, false);
    return filter->view.change == CF_QUICK_PLAIN ? add_plain(filter, &spots)
                                                 : add_semisorted(filter, &spots);
}

bool cf_quick_delete(cf_filter *filter, uint64_t hash, cf_deleted *deleted)
{
    assert(filter->view.writable != NULL && filter->view.change != CF_QUICK_NONE);
    if (filter->view.change == CF_QUICK_WHOLE) {
        cf_spots spots = cf_spots_of(filter, hash, true);
        return delete_plain(filter, &spots, deleted);
    }
    cf_spots spots = cf_spots_of(filter, hash, false);
    return filter->view.change == CF_QUICK_PLAIN ? delete_plain(filter, &spots, deleted)
                                                 : delete_semisorted(filter, &spots, deleted);
}
