/* SPDX-License-Identifier: MIT */
/*
** quotient.c - a quotient filter (Bender et al., 2012) with three metadata bits in every slot.
**
** A fingerprint is a quotient, which names a slot, and a remainder, which is stored there or, when
** others are in the way, further right. The remainders of one quotient are neighbours, a *run*,
** sorted; runs come in the order of their quotients; a *cluster* is a row of slots in use of which
** the first lies where its quotient says:
**
**      slot           0   1   2   3   4   5
**      remainder      -   a   b   c   d   -        a, b of quotient 1; c of quotient 2; d of quotient 4
**      occupied       0   1   1   0   1   0        some fingerprint has this slot for its quotient
**      continuation   0   0   1   0   0   0        not the first of its run
**      shifted        0   0   1   1   0   0        not where its quotient says
**
** The table is a ring.
*/
#include <math.h>

#include "kinds.h"
#include "packed.h"

enum { OCCUPIED = 1, CONTINUATION = 2, SHIFTED = 4, METADATA = 3 /* bits */ };

typedef struct quotient_filter {
    unsigned quotient_bits, remainder_bits;
    uint64_t mask; /* of slot numbers */
    uint64_t used;
    uint8_t table[];
} quotient_filter;

typedef struct fingerprint {
    uint64_t quotient, remainder;
} fingerprint;

/* ---- slots ---- */

static uint64_t get(const quotient_filter *filter, uint64_t slot)
{
    return packed_get(filter->table, filter->remainder_bits + METADATA, slot);
}

static void set(quotient_filter *filter, uint64_t slot, uint64_t content)
{
    packed_set(filter->table, filter->remainder_bits + METADATA, slot, content);
}

/* What a slot stores, which can move; whether its number is some quotient cannot. */
static void put(quotient_filter *filter, uint64_t slot, uint64_t content)
{
    set(filter, slot, (content & ~(uint64_t)OCCUPIED) | (get(filter, slot) & OCCUPIED));
}

static void mark_occupied(quotient_filter *filter, uint64_t slot, bool on)
{
    uint64_t rest = get(filter, slot) & ~(uint64_t)OCCUPIED;
    set(filter, slot, rest | (on ? OCCUPIED : 0));
}

static bool is_empty(uint64_t content)
{
    return (content & (OCCUPIED | CONTINUATION | SHIFTED)) == 0;
}

static uint64_t next(const quotient_filter *filter, uint64_t slot)
{
    return (slot + 1) & filter->mask;
}

static uint64_t next_run(const quotient_filter *filter, uint64_t slot)
{
    do
        slot = next(filter, slot);
    while (get(filter, slot) & CONTINUATION);
    return slot;
}

static uint64_t next_quotient(const quotient_filter *filter, uint64_t quotient)
{
    do
        quotient = next(filter, quotient);
    while (!(get(filter, quotient) & OCCUPIED));
    return quotient;
}

/* Where the run of an occupied quotient begins: from the start of the cluster one run for each
** quotient. */
static uint64_t run_of(const quotient_filter *filter, uint64_t quotient)
{
    uint64_t at = quotient;
    while (get(filter, at) & SHIFTED)
        at = (at - 1) & filter->mask;
    uint64_t run = at;
    while (at != quotient) {
        run = next_run(filter, run);
        at = next_quotient(filter, at);
    }
    return run;
}

/* ---- finding ---- */

static fingerprint split(const quotient_filter *filter, uint64_t hash)
{
    uint64_t quotient = hash >> (64 - filter->quotient_bits);
    uint64_t remainder = hash << filter->quotient_bits >> (64 - filter->remainder_bits);
    return (fingerprint){quotient, remainder};
}

/* The first slot, from the start of a run, whose remainder is not less; false: the run ends
** before. */
static bool seek(const quotient_filter *filter, uint64_t *slot, uint64_t remainder)
{
    uint64_t content = get(filter, *slot);
    while (content >> METADATA < remainder) {
        *slot = next(filter, *slot);
        content = get(filter, *slot);
        if (!(content & CONTINUATION))
            return false;
    }
    return true;
}

static bool find(const quotient_filter *filter, fingerprint want, uint64_t *slot)
{
    if (!(get(filter, want.quotient) & OCCUPIED))
        return false;
    *slot = run_of(filter, want.quotient);
    return seek(filter, slot, want.remainder) && get(filter, *slot) >> METADATA == want.remainder;
}

static bool contains(const void *state, uint64_t hash)
{
    uint64_t slot;
    return find(state, split(state, hash), &slot);
}

/* ---- adding ---- */

/* Puts `content` into a slot; what was there and behind it moves on by one, up to the first empty
** slot. */
static void push(quotient_filter *filter, uint64_t slot, uint64_t content)
{
    for (;;) {
        uint64_t old = get(filter, slot);
        put(filter, slot, content);
        if (is_empty(old))
            return;
        content = old | SHIFTED;
        slot = next(filter, slot);
    }
}

static void add_first(quotient_filter *filter, fingerprint fresh)
{
    mark_occupied(filter, fresh.quotient, true);
    uint64_t run = run_of(filter, fresh.quotient);
    push(filter, run, fresh.remainder << METADATA | (run != fresh.quotient ? SHIFTED : 0));
}

static void add_to_run(quotient_filter *filter, fingerprint fresh)
{
    uint64_t run = run_of(filter, fresh.quotient), slot = run;
    bool last = !seek(filter, &slot, fresh.remainder);
    bool first = slot == run && !last;
    if (first)
        put(filter, run, get(filter, run) | CONTINUATION);
    push(filter, slot,
         fresh.remainder << METADATA | (first ? 0 : CONTINUATION) |
             (slot != fresh.quotient ? SHIFTED : 0));
}

static bool add(void *state, uint64_t hash)
{
    quotient_filter *filter = state;
    fingerprint fresh = split(filter, hash);
    if (filter->used == filter->mask)
        return false;
    uint64_t home = get(filter, fresh.quotient);
    if (is_empty(home))
        set(filter, fresh.quotient, fresh.remainder << METADATA | OCCUPIED);
    else if (home & OCCUPIED)
        add_to_run(filter, fresh);
    else
        add_first(filter, fresh);
    filter->used++;
    return true;
}

/* ---- deleting ---- */

/* Closes the gap at `slot`: what follows in the cluster moves back by one. The run in the gap has
** quotient `quotient`. The first of a run may come home. */
static void pull(quotient_filter *filter, uint64_t slot, uint64_t quotient)
{
    uint64_t from = next(filter, slot), content = get(filter, from);
    while (content & SHIFTED) {
        if (!(content & CONTINUATION)) {
            quotient = next_quotient(filter, quotient);
            if (quotient == slot)
                content &= ~(uint64_t)SHIFTED;
        }
        put(filter, slot, content);
        slot = from;
        from = next(filter, slot);
        content = get(filter, from);
    }
    put(filter, slot, 0);
}

static bool take_away(void *state, uint64_t hash)
{
    quotient_filter *filter = state;
    fingerprint old = split(filter, hash);
    uint64_t slot;
    if (!find(filter, old, &slot))
        return false;
    bool first = !(get(filter, slot) & CONTINUATION);
    bool more = get(filter, next(filter, slot)) & CONTINUATION;
    if (first && !more)
        mark_occupied(filter, old.quotient, false);
    pull(filter, slot, old.quotient);
    if (first && more) /* the second of the run is the first now */
        put(filter, slot,
            (get(filter, slot) & ~(uint64_t)(CONTINUATION | SHIFTED)) |
                (slot != old.quotient ? SHIFTED : 0));
    filter->used--;
    return true;
}

/* ---- the kind ---- */

/* bits: 1 .. 30 */
static void make(bench_filter *made, uint64_t bytes, unsigned bits)
{
    quotient_filter *filter = bench_allocate_zeroed(sizeof *filter + bytes + PACKED_SPARE);
    filter->quotient_bits = cf_floor_log2(8 * bytes / (bits + METADATA));
    filter->remainder_bits = bits;
    filter->mask = cf_low_bits(filter->quotient_bits);
    made->state = filter;
    made->slots = filter->mask + 1;
    made->bytes = made->slots * (bits + METADATA) / 8;
}

static double expected(const void *state, uint64_t keys)
{
    const quotient_filter *filter = state;
    return -expm1(-ldexp((double)keys, -(int)(filter->quotient_bits + filter->remainder_bits)));
}

const bench_kind bench_quotient = {
    .name = "quotient",
    .bits = 9,
    .full = 0.9,
    .make = make,
    .add = add,
    .contains = contains,
    .remove = take_away,
    .expected = expected,
};
