/* SPDX-License-Identifier: MIT */
/*
** fast_path.h - lookups, adds and deletes in the filters that are met most: not grown, without a spill
** list, the tags of a bucket in one word, or wide, in two (set_quick in open.c). Lookups only where all
** is in memory. `kind` is a constant, so that each has code of its own.
**
** Both buckets are read before anything is decided, so that their cache misses overlap. What these
** ways cannot do the general ones do, which take every filter: nothing has changed then. Bytes and
** answers are the same either way. Nothing here can fail.
*/
#ifndef CF_FAST_PATH_H
#define CF_FAST_PATH_H

#include "bucket.h"

static CF_ALWAYS_INLINE bool cf_is_wide(cf_fast kind)
{
    return kind >= CF_FAST_WIDE;
}

static CF_ALWAYS_INLINE bool cf_is_whole(cf_fast kind)
{
    return kind == CF_FAST_WHOLE || kind == CF_FAST_WIDE_WHOLE;
}

static CF_ALWAYS_INLINE bool cf_is_semisorted(cf_fast kind)
{
    return kind == CF_FAST_SEMISORTED || kind == CF_FAST_WIDE_SEMISORTED;
}

/* The places of a key on its base side. `whole`: buckets are whole bytes, and shifts 0; a constant, so
** that nothing is left of it. */
static CF_ALWAYS_INLINE cf_spots cf_spots_by(const cf_filter *filter, cf_side base, uint64_t mix,
                                             bool whole)
{
    const cf_view *view = &filter->view;
    cf_side other = cf_alternate_by(filter, base, mix);
    cf_spots spots = {.tag = base.bits & view->form.slot_mask,
                      .tag2 = other.bits & view->form.slot_mask};
    uint64_t unit = whole ? view->form.bucket_bytes : view->form.bucket_bits;
    spots.byte = base.base * unit;
    spots.byte2 = other.base * unit;
    if (!whole) {
        spots.shift = spots.byte & 7;
        spots.shift2 = spots.byte2 & 7;
        spots.byte >>= 3;
        spots.byte2 >>= 3;
    }
    return spots;
}

static CF_ALWAYS_INLINE cf_spots cf_spots_of(const cf_filter *filter, uint64_t hash, bool whole)
{
    cf_side base = cf_base(filter, hash);
    return cf_spots_by(filter, base, cf_pair_mix(base.bits & filter->view.pair_mask), whole);
}

/* The lanes of both buckets. */
typedef struct cf_words {
    cf_laid word, word2;
} cf_words;

static CF_ALWAYS_INLINE cf_words cf_words_at(const cf_filter *filter, cf_fast kind,
                                             const cf_spots *spots)
{
    const cf_form *form = &filter->view.form;
    const uint8_t *p = filter->view.table + spots->byte, *p2 = filter->view.table + spots->byte2;
    if (kind == CF_FAST_WIDE_LONG)
        return (cf_words){cf_load_long_lanes(form, p, spots->shift),
                          cf_load_long_lanes(form, p2, spots->shift2)};
    return (cf_words){cf_load_lanes(form, cf_is_wide(kind), p, 0, spots->shift),
                      cf_load_lanes(form, cf_is_wide(kind), p2, 0, spots->shift2)};
}

/* Both plain buckets without their tags: cf_without. */
static CF_ALWAYS_INLINE cf_words cf_words_without(const cf_form *form, bool wide, cf_words words,
                                                  uint64_t tag, uint64_t tag2)
{
    return (cf_words){cf_without(form, &form->lanes, wide, words.word, tag),
                      cf_without(form, &form->lanes, wide, words.word2, tag2)};
}

static CF_ALWAYS_INLINE bool cf_plain_has(const cf_filter *filter, cf_fast kind, const cf_spots *spots)
{
    bool wide = cf_is_wide(kind);
    const cf_form *form = &filter->view.form;
    cf_words left =
        cf_words_without(form, wide, cf_words_at(filter, kind, spots), spots->tag, spots->tag2);
    return cf_either_has(form, &form->lanes, wide, left.word, left.word2);
}

/* Which lanes of plain buckets hold the tag. */
typedef struct cf_same {
    uint64_t lanes, lanes2;
} cf_same;

static CF_ALWAYS_INLINE cf_same cf_plain_same(const cf_filter *filter, bool wide, cf_words words,
                                              uint64_t tag, uint64_t tag2)
{
    const cf_form *form = &filter->view.form;
    cf_words left = cf_words_without(form, wide, words, tag, tag2);
    return (cf_same){cf_same_lanes(form, &form->lanes, wide, 0, left.word),
                     cf_same_lanes(form, &form->lanes, wide, 0, left.word2)};
}

/* Is a key there, after decoding both of its semi-sorted buckets? */
bool cf_semisorted_has_for_sure(const cf_filter *filter, uint64_t hash);

/* Is a key there? The spots are those of its hash. */
static CF_ALWAYS_INLINE bool cf_spots_have(const cf_filter *filter, cf_fast kind, const cf_spots *spots,
                                           uint64_t hash)
{
    bool wide = cf_is_wide(kind);
    if (!cf_is_semisorted(kind))
        return cf_plain_has(filter, kind, spots);
    unsigned has = cf_semisort_find(filter, wide, false, spots).has;
    return has < 2 ? has : cf_semisorted_has_for_sure(filter, hash);
}

static CF_ALWAYS_INLINE bool cf_has(const cf_filter *filter, cf_fast kind, uint64_t hash)
{
    cf_spots spots = cf_spots_of(filter, hash, cf_is_whole(kind));
    return cf_spots_have(filter, kind, &spots, hash);
}

/* A small library has no quick ways. */
#ifdef CUCKOO_SMALL
#define CF_QUICK(kind) CF_FAST_NONE
#else
#define CF_QUICK(kind) (kind)
#endif

/* For filters with view.lookup: which of up to CF_BATCH keys are there. Returns how many. */
enum { CF_BATCH = 32 };
size_t cf_fast_contains(const cf_filter *filter, const uint64_t *hashes, size_t n, bool *answers);

/* For filters with view.change. Adds the first copy of a key that has an empty slot; false: it is not
** such a key, and nothing has changed. Counts `occupied`. */
bool cf_fast_add(cf_filter *filter, uint64_t hash);

/* Deletes the only copy of a key, or says that it has none. What it is not sure of is for
** `otherwise`. */
typedef cf_deleted cf_deleter(cf_filter *filter, uint64_t hash, uint64_t value);
cf_deleted cf_fast_delete(cf_filter *filter, uint64_t hash, uint64_t value, cf_deleter *otherwise);

#endif
