/* SPDX-License-Identifier: MIT */
/*
** lanes.h - the slots of a bucket, compared all at once.
**
** *Lanes* are tags, or what the code leaves of them: up to four in one word, or four or eight in halves:
**
**      word     [ lane 3 ][ lane 2 ][ lane 1 ][ lane 0 ]
**      wanted   [   t    ][   t    ][   t    ][   t    ]   = t * ones
**      XOR      a lane is zero exactly where the lane is t
**
** With terminators (tag.h) a lane agrees with t when the lowest bit of the XOR is not below its highest
** bit. What fits in neither (of eight lanes more than 16 bits, a few widths above 20) is `any`.
**
** The form of a bucket (open.c) is asked once for each operation, and is then a constant, its *kind*, in
** code of its own. Nothing here can fail, whatever the bytes are; buckets and slots are in range.
*/
#ifndef CF_LANES_H
#define CF_LANES_H

#include "address.h"
#include "semisort.h"

/* `any`: lanes are loaded one at a time, and there may be a pager to be told. `whole`: buckets of whole
** bytes, in one word, without payloads, before growth. `one`: and a key has one tag, because all of the
** fingerprint is pair bits. */
typedef struct cf_kind {
    bool any, semi, two, grown, whole, one;
} cf_kind;

#define CF_KIND(semi, two, grown) ((cf_kind){false, semi, two, grown, false, false})
#define CF_KIND_WHOLE(semi, one)  ((cf_kind){false, semi, false, false, true, one})
#define CF_KIND_ANY(form)         ((cf_kind){true, (form)->semi, false, (form)->grown, false, false})

/* CF_BY_FORM: f(kind, ...) by the form of a filter; CF_BY_NEW_FORM: by that of one which has not grown.
**
** For what is done to one key CF_OWN(type, f, (parameters), arguments) makes functions of f(kind,
** arguments), with a `filter` among the parameters: one for each kind without a pager, so that none
** saves registers for what others do, and one for all the rest. CF_OF_KIND is that for a filter. */
#define CF_OF_KIND(f, filter) f##_by_kind[(filter)->view.kind]
#define CF_OWN_ONE(type, name, parameters, call)                                                        \
    static CF_NEVER_INLINE type name parameters                                                         \
    {                                                                                                   \
        return call;                                                                                    \
    }
#ifdef CUCKOO_SMALL
#define CF_BY_FORM(form, f, ...)     f(CF_KIND_ANY(form), __VA_ARGS__)
#define CF_BY_NEW_FORM(form, f, ...) f(CF_KIND_ANY(form), __VA_ARGS__)
#define CF_OWN(type, f, parameters, ...)                                                                \
    CF_OWN_ONE(type, f##_any, parameters, f(CF_KIND_ANY(&filter->view.form), __VA_ARGS__))              \
    static type(*const f##_by_kind[]) parameters = {f##_any}
#else
#define CF_BY_NEW_FORM(form, f, ...)                                                                    \
    ((form)->any ? f(CF_KIND_ANY(form), __VA_ARGS__) : CF_BY_LANES(form, false, f, __VA_ARGS__))
#define CF_BY_FORM(form, f, ...)                                                                        \
    (!(form)->any && (form)->grown ? CF_BY_LANES(form, true, f, __VA_ARGS__)                            \
                                   : CF_BY_NEW_FORM(form, f, __VA_ARGS__))
#define CF_BY_LANES(form, grown, f, ...)                                                                \
    ((form)->semi  ? (form)->two ? f(CF_KIND(true, true, grown), __VA_ARGS__)                           \
                                 : f(CF_KIND(true, false, grown), __VA_ARGS__)                          \
      : (form)->two ? f(CF_KIND(false, true, grown), __VA_ARGS__)                                       \
                   : f(CF_KIND(false, false, grown), __VA_ARGS__))
#define CF_OWN(type, f, parameters, ...)                                                                \
    CF_OWN_ONE(type, f##_any, parameters, f(CF_KIND_ANY(&filter->view.form), __VA_ARGS__))              \
    CF_OWN_ONE(type, f##_1, parameters, f(CF_KIND_WHOLE(false, true), __VA_ARGS__))                     \
    CF_OWN_ONE(type, f##_2, parameters, f(CF_KIND_WHOLE(true, true), __VA_ARGS__))                      \
    CF_OWN_ONE(type, f##_3, parameters, f(CF_KIND_WHOLE(false, false), __VA_ARGS__))                    \
    CF_OWN_ONE(type, f##_4, parameters, f(CF_KIND_WHOLE(true, false), __VA_ARGS__))                     \
    CF_OWN_ONE(type, f##_5, parameters, f(CF_KIND(false, false, false), __VA_ARGS__))                   \
    CF_OWN_ONE(type, f##_6, parameters, f(CF_KIND(false, true, false), __VA_ARGS__))                    \
    CF_OWN_ONE(type, f##_7, parameters, f(CF_KIND(true, false, false), __VA_ARGS__))                    \
    CF_OWN_ONE(type, f##_8, parameters, f(CF_KIND(true, true, false), __VA_ARGS__))                     \
    CF_OWN_ONE(type, f##_9, parameters, f(CF_KIND(false, false, true), __VA_ARGS__))                    \
    CF_OWN_ONE(type, f##_10, parameters, f(CF_KIND(false, true, true), __VA_ARGS__))                    \
    CF_OWN_ONE(type, f##_11, parameters, f(CF_KIND(true, false, true), __VA_ARGS__))                    \
    CF_OWN_ONE(type, f##_12, parameters, f(CF_KIND(true, true, true), __VA_ARGS__))                     \
    static type(*const f##_by_kind[]) parameters = {                                                    \
        f##_any, f##_1, f##_2, f##_3, f##_4, f##_5, f##_6, f##_7, f##_8, f##_9, f##_10, f##_11, f##_12}
#endif

enum { CF_KIND_OF_WHOLE = 1 };

/* Sets level and split pointer, and all of the view that follows from them and from the geometry. */
void cf_set_stage(cf_filter *filter, unsigned level, uint64_t split, bool grown);

/* ---- bits of the table ---- */

/* For what follows from the contents of the table: from pages that read as zeros nothing (cf_pages). */
#define CF_ASSERT_CONTENT(filter, condition) assert((filter)->pages != NULL || (condition))

/* The table, to be changed: view.table is for reading. */
static inline uint8_t *cf_writable_table(const cf_filter *filter)
{
    return filter->writable + CF_HEADER_BYTES;
}

/* The bits from bit `at` of the table on: 57 at least, and more where `at` is early in a byte. Reads at
** most 8 bytes beyond the table (CF_RESERVED_MIN). */
static inline uint64_t cf_load_bits(const uint8_t *table, uint64_t at)
{
    return cf_load64(table + (at >> 3)) >> (at & 7);
}

/* Overwrites the bits under `mask` at bit `at`: low bits, one at least, within the 8 bytes they start
** in, as 57 always are. The pager has been told (cf_tell_change). */
static inline void cf_store_bits(uint8_t *table, uint64_t at, uint64_t mask, uint64_t bits)
{
    uint8_t *p = table + (at >> 3);
    unsigned shift = at & 7;
    assert(mask != 0 && mask << shift >> shift == mask && (bits & ~mask) == 0);
    cf_store64(p, (cf_load64(p) & ~(mask << shift)) | (bits << shift));
}

/* Tells the pager of bytes of the blob that are going to be read, or changed. */
static CF_ALWAYS_INLINE void cf_need(const cf_filter *filter, uint64_t from, uint64_t to)
{
    if (CF_UNLIKELY(filter->pages != NULL))
        filter->pages->need(filter->pages->context, from, to);
}

/* Breaks the seal of the header. Whatever changes bytes says cf_change first, or calls this; and takes
** it back when nothing else has changed. */
void cf_unseal(cf_filter *filter);
void cf_reseal(cf_filter *filter);

static CF_ALWAYS_INLINE void cf_change(cf_filter *filter, uint64_t from, uint64_t to)
{
    if (CF_UNLIKELY(filter->view.sealed))
        cf_unseal(filter);
    if (CF_UNLIKELY(filter->pages != NULL))
        filter->pages->change(filter->pages->context, from, to);
}

/* ---- where ---- */

/* Where a bucket starts, in bits of the table. */
static CF_ALWAYS_INLINE uint64_t cf_bucket_at(const cf_filter *filter, uint64_t bucket)
{
    uint64_t bits = filter->view.form.bucket_bits, at = bucket * bits;
    cf_need(filter, CF_HEADER_BYTES + at / 8, CF_HEADER_BYTES + (at + bits + 7) / 8);
    return at;
}

/* The same in code for one kind. */
static CF_ALWAYS_INLINE uint64_t cf_at_by(cf_kind kind, const cf_filter *filter, uint64_t bucket)
{
    return kind.any ? cf_bucket_at(filter, bucket) : bucket * filter->view.form.bucket_bits;
}

/* Tells the pager that the bucket which starts there is going to be changed. */
static CF_ALWAYS_INLINE void cf_tell_change(cf_kind kind, cf_filter *filter, uint64_t at)
{
    uint64_t bits = filter->view.form.bucket_bits;
    assert(filter->writable != NULL);
    if (kind.any)
        cf_change(filter, CF_HEADER_BYTES + at / 8, CF_HEADER_BYTES + (at + bits + 7) / 8);
}

/* The same by its number: where it starts. */
static inline uint64_t cf_bucket_to_change(cf_filter *filter, uint64_t bucket)
{
    uint64_t at = bucket * filter->view.form.bucket_bits;
    cf_tell_change(CF_KIND_ANY(&filter->view.form), filter, at);
    return at;
}

/* Starts to load a bucket into the cache; for filters that are all in memory. */
static inline void cf_bucket_fetch(const cf_filter *filter, uint64_t bucket)
{
    cf_prefetch(filter->view.table + bucket * filter->view.form.bucket_bits / 8);
}

/* The same for the buckets of a key. */
static inline void cf_key_fetch(const cf_filter *filter, uint64_t hash)
{
    cf_side base = cf_base(filter, hash), other = cf_alternate(filter, base);
    cf_bucket_fetch(filter, cf_locate(filter, &base).bucket);
    cf_bucket_fetch(filter, cf_locate(filter, &other).bucket);
}

/* ---- lanes ---- */

/* The halves of the lanes, and above them whatever follows; `low` has all where they are one word. */
typedef struct cf_halves {
    uint64_t low, high;
} cf_halves;

/* Where in its first byte a bucket starts. */
static CF_ALWAYS_INLINE unsigned cf_shift_of(cf_kind kind, uint64_t at)
{
    return kind.whole ? 0 : at & 7;
}

/* What lies in a bucket, from its first bit on. */
static CF_ALWAYS_INLINE uint64_t cf_bits_at(const cf_filter *filter, cf_kind kind, uint64_t at)
{
    return cf_load64(filter->view.table + (at >> 3)) >> cf_shift_of(kind, at);
}

static CF_ALWAYS_INLINE cf_halves cf_halves_at(const cf_filter *filter, cf_kind kind, uint64_t at)
{
    const cf_form *form = &filter->view.form;
    const uint8_t *p = filter->view.table + (at >> 3);
    unsigned shift = at & 7, first = kind.semi ? CF_CODE_BITS : 0;
    if (kind.two)
        return (cf_halves){cf_load64(p + first / 8) >> (shift + first % 8),
                           cf_load64(p + form->second) >> (shift + form->second_bit)};
    return (cf_halves){cf_bits_at(filter, kind, at) >> first, 0};
}

/* As cf_zeros of lanes with terminators that agree with `wanted` in all that they know, or are empty. */
static inline uint64_t cf_compatible(const cf_form *form, uint64_t x, uint64_t wanted)
{
    uint64_t difference = x ^ wanted, below = ~(difference ^ (difference - form->ones));
    return cf_zeros(form, (x | form->known) & below);
}

/* Top bits of lanes that may be those of a tag: all others are 0. */
static CF_ALWAYS_INLINE cf_halves cf_alike(const cf_form *form, cf_kind kind, cf_halves x, uint64_t tag)
{
    uint64_t t = (kind.semi ? tag >> CF_NIBBLE_BITS : tag) * form->ones;
    if (kind.grown)
        return (cf_halves){cf_compatible(form, x.low, t), kind.two ? cf_compatible(form, x.high, t) : 0};
    return (cf_halves){cf_zeros(form, x.low ^ t), kind.two ? cf_zeros(form, x.high ^ t) : 0};
}

/* Where the lane of the lowest top bit that is set begins, in bits behind the first lane; only one
** half has any. No branch: it cannot be predicted. */
static CF_ALWAYS_INLINE unsigned cf_lane_of(const cf_form *form, cf_kind kind, cf_halves set)
{
    unsigned half = (form->tag_bits - (kind.semi ? CF_CODE_BITS : 0u)) / 2, second = set.high != 0;
    return cf_lowest_bit(set.low | set.high) - (form->lane - 1) + (half & (0 - second));
}

/* The slot of a lane that begins there. */
static inline unsigned cf_slot_of(const cf_form *form, unsigned lane)
{
    enum { SHIFT = 16 };
    return lane * form->lane_of >> SHIFT;
}

/* Eight lanes that are halves are compared all at once, but loaded and stored one at a time. */
static CF_ALWAYS_INLINE bool cf_in_turn(cf_kind kind, const cf_filter *filter)
{
    return kind.any || (kind.two && !kind.semi && filter->geometry.bucket_size > CF_SEMISORT_SLOTS);
}

/* All lanes of a bucket, or four where they are one word. */
static CF_ALWAYS_INLINE void cf_lanes_by(cf_kind kind, const cf_filter *filter, uint64_t at,
                                         uint64_t *lane)
{
    const cf_form *form = &filter->view.form;
    unsigned w = form->lane, b = filter->geometry.bucket_size, first = kind.semi ? CF_CODE_BITS : 0;
    uint64_t mask = kind.semi ? form->slot_mask >> CF_NIBBLE_BITS : form->slot_mask;
    bool in_turn = cf_in_turn(kind, filter);
    for (unsigned i = 0; in_turn && i < b; i++)
        lane[i] = cf_load_bits(filter->view.table, at + first + i * w) & mask;
    if (in_turn)
        return;
    cf_halves x = cf_halves_at(filter, kind, at);
    uint64_t high = kind.two ? x.high : x.low >> 2 * w;
    lane[0] = x.low & mask;
    lane[1] = x.low >> w & mask;
    lane[2] = high & mask;
    lane[3] = high >> w & mask;
}

static CF_ALWAYS_INLINE uint64_t cf_nibbles_at(const cf_filter *filter, cf_kind kind, uint64_t at)
{
    return cf_nibbles_of(cf_bits_at(filter, kind, at));
}

/* All tags of a bucket. */
static CF_ALWAYS_INLINE void cf_tags_by(cf_kind kind, const cf_filter *filter, uint64_t at,
                                        uint64_t *tag)
{
    cf_lanes_by(kind, filter, at, tag);
    if (kind.semi)
        cf_tops_to_tags(cf_nibbles_at(filter, kind, at), tag);
}

#endif
