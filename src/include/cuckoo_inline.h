/* SPDX-License-Identifier: MIT */
/*
** cuckoo_inline.h - inlined parts of cuckoo_filter.h. Not for direct use, and not a stable interface.
*/
#ifndef CF_INLINE_H
#define CF_INLINE_H

#include <string.h>

#if defined(_MSC_VER)
#include <intrin.h>
#endif

/* Hints for the compiler. */
#if defined(__GNUC__) && !defined(CF_PLAIN_C)
#define CF_LIKELY(condition)   __builtin_expect(condition, 1)
#define CF_UNLIKELY(condition) __builtin_expect(condition, 0)
#else
#define CF_LIKELY(condition)   (condition)
#define CF_UNLIKELY(condition) (condition)
#endif

/* How the compiler multiplies to 128 bits, if it can. */
#if defined(__SIZEOF_INT128__) && !defined(__wasm__) && !defined(CF_PLAIN_C)
#define CF_HAS_WIDE
#elif defined(_MSC_VER) && !defined(CF_PLAIN_C) && (defined(_M_X64) || defined(_M_ARM64)) &&            \
    !defined(_M_ARM64EC)
#define CF_HAS_UMULH
#endif

/* The 8 bytes of x in reverse order; compilers have an instruction for it. */
CF_INLINE uint64_t cf_swapped(uint64_t x)
{
    x = (x & UINT64_C(0x00ff00ff00ff00ff)) << 8 | (x >> 8 & UINT64_C(0x00ff00ff00ff00ff));
    x = (x & UINT64_C(0x0000ffff0000ffff)) << 16 | (x >> 16 & UINT64_C(0x0000ffff0000ffff));
    return x << 32 | x >> 32;
}

/* Converts x to or from little-endian. Compilers know the order: no test at run time. */
CF_INLINE uint64_t cf_little_endian(uint64_t x)
{
    const uint16_t one = 1;
    uint8_t first;
    memcpy(&first, &one, sizeof first);
    return first != 0 ? x : cf_swapped(x);
}

/* The 8 bytes at p as an integer, least significant byte first. */
CF_INLINE uint64_t cf_load64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return cf_little_endian(v);
}

CF_INLINE void cf_store64(uint8_t *p, uint64_t v)
{
    v = cf_little_endian(v);
    memcpy(p, &v, sizeof v);
}

/* floor(a * b / 2^64). If a is uniform, this is a uniform number below b (multiply-shift). */
#ifdef CF_HAS_WIDE
CF_INLINE uint64_t cf_high_product(uint64_t a, uint64_t b)
{
    __extension__ unsigned __int128 product = a;
    uint64_t half[2];
    product *= b;
    memcpy(half, &product, sizeof half); /* a shift by 64 costs two more instructions in GCC */
    return half[__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__];
}
#elif defined(CF_HAS_UMULH)
CF_INLINE uint64_t cf_high_product(uint64_t a, uint64_t b)
{
    return __umulh(a, b);
}
#else
CF_INLINE uint64_t cf_high_product(uint64_t a, uint64_t b)
{
    const uint64_t half = 0xffffffff;
    uint64_t a0 = a & half, a1 = a >> 32, b0 = b & half, b1 = b >> 32;
    uint64_t middle = a1 * b0 + (a0 * b0 >> 32);
    return a1 * b1 + (middle >> 32) + ((a0 * b1 + (middle & half)) >> 32);
}
#endif

/* The form of a bucket (lanes.h): four flags choose the code, the rest are its constants. */
typedef struct cf_form {
    bool any;                    /* lanes are loaded one at a time */
    bool semi;                   /* semi-sorted */
    bool two;                    /* lanes are two halves; otherwise, unless `any`, one word */
    bool grown;                  /* tags have terminators */
    unsigned kind;               /* the number of the kind (kind.h) */
    unsigned lane;               /* bits of a lane: a tag, or the part that follows the code */
    unsigned lane_of;            /* bit n of a word is in lane n * lane_of >> 16 */
    unsigned second, second_bit; /* the byte from which the second half is loaded, its first bit there */
    unsigned slot_bits;          /* of a tag */
    unsigned tag_bits;           /* of all tags of a bucket */
    unsigned payload_bits;       /* of a slot, saturated bit included */
    unsigned payloads_at;        /* bits before the payloads: tags and overflow bit */
    uint64_t bucket_bits;
    uint64_t ones, highs, known; /* in a word, or in both halves: the lowest bit of each lane, the top
                                    one, the lowest that can be a terminator */
    uint64_t slot_mask;          /* the bits of a tag */
    uint64_t lane_mask;          /* the bits of a lane */
    uint64_t stored;             /* the bits of one half, or of the tags and the code in a word */
} cf_form;

typedef struct cf_view {
    const uint8_t *table;         /* the buckets */
    bool quick;                   /* neither a stash nor epochs: the buckets alone decide lookups */
    bool quick_add, quick_delete; /* the quick way to add, or delete, is allowed (quick.h) */
    bool sealed;                  /* nothing has changed since the header was written (cf_seal) */
    unsigned kind;                /* form.kind; 0 with a pager */
    unsigned new_length;          /* remainder bits that a new entry knows */
    uint64_t payload_max;         /* the maximum, without the saturated bit */
    uint64_t saturated;           /* the bits that mark a payload as saturated; 0: none (copies.h) */
    uint64_t *left;               /* units of work that a merge may still do (entry.h); NULL: no limit */
    uint64_t fingerprint_mask, level_mask, pair_mask; /* f, level and s low bits */
    cf_form form;                                     /* of the buckets */
    uint64_t whole;         /* bytes of a bucket, if cf_contains itself does the lookup; or 0 */
    uint64_t most, most_of; /* a table of most_of buckets splits above `most` occupied slots */
} cf_view;

/* The bits of a key: its hash, except that a zero fingerprint becomes 1. */
CF_INLINE uint64_t cf_key_bits(uint64_t hash, uint64_t fingerprint_mask)
{
    return CF_UNLIKELY((hash & fingerprint_mask) == 0) ? hash + 1 : hash;
}

/* One strong mix of the pair bits; zero becomes zero. The multipliers come from MurmurHash3's 64-bit
** finalizer, whose first shift is omitted: there are at most 32 pair bits. g (address.h) is computed
** from the high bits, x from the low ones after the last shift. */
CF_INLINE uint64_t cf_pair_mix(uint64_t pair_bits)
{
    uint64_t x = pair_bits * UINT64_C(0xff51afd7ed558ccd);
    return (x ^ (x >> 32)) * UINT64_C(0xc4ceb9fe1a85ec53);
}

/* x (address.h) of such a mix: the bits that are XORed with the remainder. */
CF_INLINE uint64_t cf_turn_of(uint64_t mix)
{
    return mix ^ (mix >> 29);
}

/* The base bucket on the other side, of m0. `mix` is the mix of the pair bits. */
CF_INLINE uint64_t cf_alternate_base(uint64_t m0, uint64_t base, uint64_t mix)
{
    /* RULE: the buckets of a pair differ in parity */
    uint64_t difference = (cf_high_product(mix, m0) | 1) - base;
    return difference >> 63 != 0 ? difference + m0 : difference;
}

/* The top bits of lanes that are zero. Only the lowest is exact: zeros borrow from above. */
CF_INLINE uint64_t cf_zeros(const cf_form *form, uint64_t x)
{
    return (x - form->ones) & ~x & form->highs;
}

/* True if one of the two buckets of a key, of view->whole bytes each, has its fingerprint. */
CF_INLINE bool cf_view_contains(const cf_view *view, uint64_t m0, uint64_t hash)
{
    uint64_t bits = cf_key_bits(hash, view->fingerprint_mask), tag = bits & view->fingerprint_mask;
    uint64_t mix = cf_pair_mix(tag), base = cf_high_product(bits, m0);
    uint64_t other = cf_alternate_base(m0, base, mix), wanted = tag * view->form.ones;
    uint64_t here = cf_load64(view->table + base * view->whole);
    uint64_t there = cf_load64(view->table + other * view->whole);
    return (cf_zeros(&view->form, here ^ wanted) | cf_zeros(&view->form, there ^ wanted)) != 0;
}

#endif
