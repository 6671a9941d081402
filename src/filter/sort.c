/* SPDX-License-Identifier: MIT */
/*
** sort.c - preparing many keys for one filter: hashes sorted, each once.
**
** Sorted hashes are sorted base buckets, so a build walks through the table from front to back, and
** what it writes depends on the set of keys alone. This is a radix sort, most significant digit
** first, whose time is bounded for any input. A range of hashes is parted by its next digit, then
** each part is sorted so, until few hashes are left. The last digit of a range has nearly as many
** values as there are hashes: insertion has little to do then.
**
** Hashes move to their parts in two ways. With room for a copy each goes to its place there, and all
** come back. In place ("American flag") each goes to its place, and the one found there goes on.
*/
#include "sort.h"

#include <string.h>

#include "../base/bits.h"

enum {
    DIGIT_BITS = 8,  /* of most digits: more parts at a time would need more of the cache */
    LAST_BITS = 11,  /* of the last one, at most, with room */
    SMALL = 48,      /* hashes; below this, insertion is faster than counting digits */
    PIECE = 4096,    /* hashes that are handled before the watch may be asked */
    COST_OF_HASH = 5 /* of one hash, nanoseconds */
};

/* Of each part, where the next hash goes: behind the room, or for fewer parts, since stacks are small,
** here, with where it ends. */
typedef struct cf_sorter {
    cf_ticker *ticker;
    uint64_t *room; /* for as many hashes; NULL: none */
    size_t *place;
    size_t place_here[1 << DIGIT_BITS], end[1 << DIGIT_BITS];
} cf_sorter;

/* A digit of a hash is hash >> shift & mask. */
typedef struct cf_digit {
    unsigned shift;
    size_t mask;
} cf_digit;

static inline size_t digit_of(cf_digit digit, uint64_t hash)
{
    return (size_t)(hash >> digit.shift) & digit.mask;
}

/* That of n hashes which may differ in their last `left` bits. */
static cf_digit next_digit(const cf_sorter *sorter, size_t n, unsigned left)
{
    unsigned bits = cf_bits_for(n), last = sorter->room ? LAST_BITS : DIGIT_BITS;
    if (bits > last) /* insertion has little to do for eight hashes of a part, too */
        bits = bits > last + 3 ? DIGIT_BITS : last;
    if (bits > left)
        bits = left;
    return (cf_digit){left - bits, ((size_t)1 << bits) - 1};
}

static size_t end_of_piece(size_t from, size_t n)
{
    return n - from < PIECE ? n : from + PIECE;
}

static void insertion_sort(uint64_t *a, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        uint64_t x = a[i];
        size_t j = i;
        for (; j > 0 && a[j - 1] > x; j--)
            a[j] = a[j - 1];
        a[j] = x;
    }
}

/* Finds where each part starts and ends. Returns the hashes of the largest one. */
static size_t find_parts(cf_sorter *sorter, const uint64_t *a, size_t n, cf_digit digit)
{
    size_t sum = 0, most = 0;
    memset(sorter->place, 0, (digit.mask + 1) * sizeof *sorter->place);
    for (size_t i = 0; i < n && !sorter->ticker->stopped; cf_tick(sorter->ticker, PIECE))
        for (size_t end = end_of_piece(i, n); i < end; i++)
            sorter->place[digit_of(digit, a[i])]++;
    for (size_t d = 0; d <= digit.mask; d++) {
        size_t hashes = sorter->place[d];
        most = hashes > most ? hashes : most;
        sorter->place[d] = sum;
        sum += hashes;
        if (!sorter->room)
            sorter->end[d] = sum;
    }
    return most;
}

static void move_by_room(cf_sorter *sorter, uint64_t *a, size_t n, cf_digit digit)
{
    for (size_t i = 0; i < n && !sorter->ticker->stopped; cf_tick(sorter->ticker, COST_OF_HASH * PIECE))
        for (size_t end = end_of_piece(i, n); i < end; i++)
            sorter->room[sorter->place[digit_of(digit, a[i])]++] = a[i];
    if (!sorter->ticker->stopped)
        memcpy(a, sorter->room, n * sizeof *a);
}

/* Carries each hash to its part, and the one found there onwards, until all are home. A round of that
** which is long is cut short: then the hash in hand goes where the round began, and the next round
** begins with it. */
static void move_in_place(cf_sorter *sorter, uint64_t *a, cf_digit digit)
{
    size_t *next = sorter->place;
    for (size_t d = 0; d <= digit.mask; d++) {
        while (next[d] < sorter->end[d] && !sorter->ticker->stopped) {
            uint64_t x = a[next[d]];
            unsigned steps = 0;
            size_t home = digit_of(digit, x);
            for (; home != d && steps < PIECE; home = digit_of(digit, x), steps++) {
                uint64_t displaced = a[next[home]];
                a[next[home]++] = x;
                x = displaced;
            }
            a[next[d]] = x;
            next[d] += home == d;
            cf_tick(sorter->ticker, COST_OF_HASH * (steps + 1));
        }
    }
}

/* Parts hashes by a digit. Returns how many the largest part has. */
static size_t part(cf_sorter *sorter, uint64_t *a, size_t n, cf_digit digit)
{
    size_t most = find_parts(sorter, a, n, digit);
    if (sorter->ticker->stopped)
        return n;
    if (sorter->room)
        move_by_room(sorter, a, n, digit);
    else
        move_in_place(sorter, a, digit);
    return most;
}

/* Where the part ends that starts with a[from]. */
static size_t end_of_part(cf_sorter *sorter, const uint64_t *a, size_t from, size_t n, cf_digit digit)
{
    uint64_t first = a[from];
    while (++from < n && (a[from] ^ first) >> digit.shift == 0)
        if (from % PIECE == 0)
            cf_tick(sorter->ticker, PIECE);
    return from;
}

/* Sorts hashes that may differ in their last `left` bits. */
static void sort_range(cf_sorter *sorter, uint64_t *a, size_t n, unsigned left)
{
    cf_digit digit = next_digit(sorter, n, left);
    if (left == 0)
        return;
    if (n <= SMALL || part(sorter, a, n, digit) <= SMALL) {
        insertion_sort(a, n);
        cf_tick(sorter->ticker, COST_OF_HASH * (unsigned)n);
        return;
    }
    for (size_t from = 0, to; from < n && !sorter->ticker->stopped; from = to) {
        to = end_of_part(sorter, a, from, n, digit);
        sort_range(sorter, a + from, to - from, digit.shift);
    }
}

static bool is_sorted(const uint64_t *a, size_t n, cf_ticker *ticker)
{
    for (size_t i = 1; i < n; i++)
        if (a[i - 1] > a[i] || (i % PIECE == 0 && cf_tick(ticker, PIECE)))
            return false;
    return true;
}

bool cf_sort_with(uint64_t *hashes, size_t n, const cf_memory *memory, cf_ticker *ticker)
{
    enum { WORTH = 1024 };                         /* hashes from which on room pays */
    enum { PLACES = sizeof(size_t) << LAST_BITS }; /* bytes */
    cf_sorter sorter;
    if (is_sorted(hashes, n, ticker) || ticker->stopped)
        return !ticker->stopped;
    sorter.ticker = ticker;
    sorter.room = NULL;
    if (memory->resize && n >= WORTH)
        sorter.room =
            (void *)memory->resize(memory->context, NULL, (uint64_t)n * sizeof *hashes + PLACES);
    sorter.place = sorter.room ? (size_t *)(sorter.room + n) : sorter.place_here;
    sort_range(&sorter, hashes, n, 64);
    if (sorter.room)
        memory->resize(memory->context, (uint8_t *)sorter.room, 0);
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

size_t cf_count_distinct(const uint64_t *sorted, size_t n)
{
    size_t distinct = 0;
    for (size_t i = 0; i < n; i++)
        distinct += i == 0 || sorted[i] != sorted[i - 1];
    return distinct;
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
cf_status cf_sort_pairs(cf_valued *pairs, size_t n, const cf_memory *memory, cf_ticker *ticker)
{
    cf_valued *room = (void *)memory->resize(memory->context, NULL, (uint64_t)n * sizeof *room + 1);
    cf_valued *from = pairs, *to = room;
    if (room == NULL)
        return CF_NO_MEMORY;
    for (size_t run = 1; run < n && !ticker->stopped; run *= 2) {
        for (size_t at = 0; at < n; at += 2 * run) {
            size_t middle = n - at < run ? n : at + run;
            merge_pairs(from, at, middle, n - middle < run ? n : middle + run, to, ticker);
        }
        cf_valued *merged = to;
        to = from;
        from = merged;
    }
    if (from != pairs)
        memcpy(pairs, from, n * sizeof *pairs);
    memory->resize(memory->context, (uint8_t *)room, 0);
    return ticker->stopped ? CF_INTERRUPTED : CF_OK;
}

size_t cf_drop_repeated_pairs(cf_valued *pairs, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || is_before(&pairs[kept - 1], &pairs[i]))
            pairs[kept++] = pairs[i];
    return kept;
}
