/* SPDX-License-Identifier: MIT */
/*
** sort.c - preparing many keys for one filter: hashes sorted, each once.
**
** Sorted hashes are sorted base buckets, so a build walks through the table from front to back, and
** what it writes depends on the set of keys alone. This is a radix sort, most significant digit
** first, whose time is bounded for any input:
**
**      [ any order                                 ]     n hashes that may differ in `left` bits
**      [ digit 0 | digit 1 | digit 2 | ...         ]     each goes to the part of its next digit
**      [ sorted  | next    |         |             ]     each part is sorted so by the bits left
**
** until few hashes are left in a part. With room for a copy, digits have 8 bits or more: hashes go to
** their parts there, and all come back. The last digit of a range has nearly as many values as there are
** hashes: insertion has little to do then. Without room a digit is one bit: hashes change places.
*/
#include "sort.h"

#include <string.h>

#include "../base/bits.h"

enum {
    DIGIT_BITS = 8,  /* of most digits: more parts at a time would need more of the cache */
    LAST_BITS = 11,  /* of the last one, at most */
    SMALL = 48,      /* hashes; below this, insertion is faster than counting digits */
    PIECE = 4096,    /* hashes that are handled before the watch may be asked */
    COST_OF_HASH = 2 /* of one hash in one pass over many, nanoseconds */
};

/* Is the work on many hashes to stop, of which so many are done? */
static inline bool stops(cf_ticker *ticker, size_t done)
{
    return done % PIECE == 0 && cf_tick(ticker, COST_OF_HASH * PIECE);
}

/* Where the next piece of n hashes ends, whose cost is counted; `from`: there is none, or the work is to
** stop. */
static inline size_t next_piece(cf_ticker *ticker, size_t from, size_t n)
{
    size_t end = n - from < PIECE ? n : from + PIECE;
    return cf_tick(ticker, COST_OF_HASH * (unsigned)(end - from)) ? from : end;
}

static void insertion_sort(cf_ticker *ticker, uint64_t *a, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        uint64_t x = a[i];
        size_t j = i;
        for (; j > 0 && a[j - 1] > x; j--)
            a[j] = a[j - 1];
        a[j] = x;
    }
    cf_tick(ticker, 4 * COST_OF_HASH * (unsigned)n);
}

/* ---- in place ---- */

/* Those below a limit come first: how many. There is no branch that cannot be foretold. */
static size_t split(cf_ticker *ticker, uint64_t *a, size_t n, uint64_t limit)
{
    size_t below = 0;
    for (size_t i = 0, end; (end = next_piece(ticker, i, n)) > i;)
        for (; i < end; i++) {
            uint64_t x = a[i];
            a[i] = a[below];
            a[below] = x;
            below += x < limit;
        }
    return below;
}

/* Sorts hashes that may differ in their last `left` bits. The smaller part comes first, so that the
** stack stays small. */
static void sort_in_place(cf_ticker *ticker, uint64_t *a, size_t n, unsigned left)
{
    while (n > SMALL && left > 0 && !ticker->stopped) {
        left--;
        size_t below = split(ticker, a, n, (a[0] >> left | 1) << left);
        bool first = below <= n / 2;
        size_t few = first ? below : n - below;
        sort_in_place(ticker, first ? a : a + below, few, left);
        a += first ? below : 0;
        n -= few;
    }
    if (n <= SMALL)
        insertion_sort(ticker, a, n);
}

/* ---- with room ---- */

typedef struct cf_sorter {
    cf_ticker *ticker;
    uint64_t *room; /* for as many hashes */
    size_t *place;  /* behind it; of each part, where the next hash goes */
} cf_sorter;

/* Parts hashes by the bits from `shift` on. Returns how many the largest part has. */
static size_t part(const cf_sorter *sorter, uint64_t *a, size_t n, unsigned shift, size_t mask)
{
    size_t *place = sorter->place, sum = 0, most = 0;
    memset(place, 0, (mask + 1) * sizeof *place);
    for (size_t i = 0, end; (end = next_piece(sorter->ticker, i, n)) > i;)
        for (; i < end; i++)
            place[a[i] >> shift & mask]++;
    for (size_t d = 0; d <= mask; d++) {
        size_t hashes = place[d];
        most = hashes > most ? hashes : most;
        place[d] = sum;
        sum += hashes;
    }
    for (size_t i = 0, end; (end = next_piece(sorter->ticker, i, n)) > i;)
        for (; i < end; i++)
            sorter->room[place[a[i] >> shift & mask]++] = a[i];
    if (sorter->ticker->stopped)
        return n;
    memcpy(a, sorter->room, n * sizeof *a);
    return most;
}

/* Where the part ends that starts with a[from]. */
static size_t end_of_part(const cf_sorter *sorter, const uint64_t *a, size_t from, size_t n,
                          unsigned shift)
{
    uint64_t first = a[from];
    while (++from < n && (a[from] ^ first) >> shift == 0 && !stops(sorter->ticker, from))
        ;
    return from;
}

/* Bits of the next digit of n hashes. */
static unsigned digit_bits(size_t n, unsigned left)
{
    unsigned bits = cf_bits_for(n);
    if (bits > LAST_BITS) /* insertion has little to do for eight hashes of a part, too */
        bits = bits > LAST_BITS + 3 ? DIGIT_BITS : LAST_BITS;
    return bits < left ? bits : left;
}

/* Sorts hashes that may differ in their last `left` bits. */
static void sort_by_room(const cf_sorter *sorter, uint64_t *a, size_t n, unsigned left)
{
    unsigned bits = digit_bits(n, left), shift = left - bits;
    if (left == 0)
        return;
    if (n <= SMALL || part(sorter, a, n, shift, ((size_t)1 << bits) - 1) <= SMALL) {
        insertion_sort(sorter->ticker, a, n);
        return;
    }
    for (size_t from = 0, to; from < n && !sorter->ticker->stopped; from = to) {
        to = end_of_part(sorter, a, from, n, shift);
        sort_by_room(sorter, a + from, to - from, shift);
    }
}

/* ---- the one or the other ---- */

static bool is_sorted(const uint64_t *a, size_t n, cf_ticker *ticker)
{
    for (size_t i = 1; i < n; i++)
        if (a[i - 1] > a[i] || stops(ticker, i))
            return false;
    return true;
}

bool cf_sort_with(uint64_t *hashes, size_t n, const cf_memory *memory, cf_ticker *ticker)
{
    enum { WORTH = 1024 };                         /* hashes from which on room pays */
    enum { PLACES = sizeof(size_t) << LAST_BITS }; /* bytes */
    uint64_t *room = NULL;
    if (is_sorted(hashes, n, ticker) || ticker->stopped)
        return !ticker->stopped;
    if (memory->resize && n >= WORTH)
        room = (void *)memory->resize(memory->context, NULL, (uint64_t)n * sizeof *hashes + PLACES);
    if (room == NULL) {
        sort_in_place(ticker, hashes, n, 64);
    } else {
        sort_by_room(&(cf_sorter){ticker, room, (size_t *)(room + n)}, hashes, n, 64);
        memory->resize(memory->context, (uint8_t *)room, 0);
    }
    return !ticker->stopped;
}

cf_status cf_sort(uint64_t *hashes, size_t n, const cf_watch *watch)
{
    cf_ticker ticker = cf_ticker_of(watch);
    const cf_memory none = {NULL, 0, NULL};
    return cf_sort_with(hashes, n, &none, &ticker) ? CF_OK : CF_INTERRUPTED;
}

size_t cf_drop_repeated(uint64_t *hashes, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || hashes[kept - 1] != hashes[i])
            hashes[kept++] = hashes[i];
    return kept;
}

/* ---- pairs ---- */

static bool is_before(const cf_valued *one, const cf_valued *other)
{
    return one->hash != other->hash ? one->hash < other->hash : one->value < other->value;
}

/* Merges from[at .. middle-1] and from[middle .. end-1], both sorted, into `to`. */
static void merge_pairs(const cf_valued *from, size_t at, size_t middle, size_t end, cf_valued *to,
                        cf_ticker *ticker)
{
    size_t second = middle;
    for (size_t i = at; i < end && !cf_tick(ticker, COST_OF_HASH); i++)
        to[i] = second == end || (at < middle && !is_before(&from[second], &from[at])) ? from[at++]
                                                                                       : from[second++];
}

/* Sorted runs of 1, 2, 4 pairs and so on become runs of twice as many. */
cf_status cf_sort_pairs(cf_valued *pairs, size_t n, const cf_memory *memory, const cf_watch *watch)
{
    cf_ticker ticker = cf_ticker_of(watch);
    cf_valued *room = (void *)memory->resize(memory->context, NULL, (uint64_t)n * sizeof *room + 1);
    cf_valued *from = pairs, *to = room;
    if (room == NULL)
        return CF_NO_MEMORY;
    for (size_t run = 1; run < n && !ticker.stopped; run *= 2) {
        for (size_t at = 0; at < n; at += 2 * run) {
            size_t middle = n - at < run ? n : at + run;
            merge_pairs(from, at, middle, n - middle < run ? n : middle + run, to, &ticker);
        }
        cf_valued *merged = to;
        to = from;
        from = merged;
    }
    if (from != pairs)
        memcpy(pairs, from, n * sizeof *pairs);
    memory->resize(memory->context, (uint8_t *)room, 0);
    return ticker.stopped ? CF_INTERRUPTED : CF_OK;
}

size_t cf_drop_repeated_pairs(cf_valued *pairs, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || is_before(&pairs[kept - 1], &pairs[i]))
            pairs[kept++] = pairs[i];
    return kept;
}
