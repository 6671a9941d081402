/* SPDX-License-Identifier: MIT */
/*
** sort.c - sorts many hashes or pairs for one filter, and drops repeated ones.
**
** Sorted hashes have sorted base buckets: a build walks through the table from front to back, and its
** bytes depend on the set of keys alone. This is a radix sort, most significant digit first:
**
**      [ any order                                 ]     n hashes that may differ in `left` bits
**      [ digit 0 | digit 1 | digit 2 | ...         ]     each goes to the part of its next digit
**      [ sorted  | next    |         |             ]     each part is sorted by its remaining bits
**
** until a part has few hashes, so its time is bounded for any input. With a block for a copy, digits
** have 8 bits or more: hashes are distributed to the block and copied back. The last digit of a range
** has nearly as many values as there are hashes, which leaves little to insertion sort. Without a block
** a digit is one bit, and hashes are swapped. Pairs are sorted as 128-bit numbers.
*/
#include "many.h"

#include <string.h>

#include "bits.h"

enum {
    DIGIT_BITS = 8,  /* of most digits: more parts would not fit into the cache */
    LAST_BITS = 11,  /* of the last digit, at most */
    SMALL = 48,      /* hashes: up to here insertion sort is faster */
    PIECE = 4096,    /* hashes between two calls of cf_tick */
    COST_OF_HASH = 2 /* nanoseconds for a hash in one pass */
};

/* Counts the cost of the next piece of n hashes. Returns its end; `from` at the end or if stopped. */
static inline size_t next_piece(cf_ticker *ticker, size_t from, size_t n)
{
    size_t end = n - from < PIECE ? n : from + PIECE;
    return cf_tick(ticker, COST_OF_HASH * (unsigned)(end - from)) ? from : end;
}

/* ---- keys of one or two words: `words` is a constant wherever time matters ---- */

CF_FORCED bool is_less(const uint64_t *one, const uint64_t *other, unsigned words)
{
    return one[0] != other[0] ? one[0] < other[0] : one[words - 1] < other[words - 1];
}

CF_FORCED void copy(uint64_t *to, const uint64_t *from, unsigned words)
{
    to[0] = from[0];
    to[words - 1] = from[words - 1];
}

CF_FORCED void insertion_sort(cf_ticker *ticker, uint64_t *a, size_t n, unsigned words)
{
    for (size_t i = 1; i < n; i++) {
        uint64_t x[2];
        size_t j = i;
        copy(x, a + i * words, words);
        for (; j > 0 && is_less(x, a + (j - 1) * words, words); j--)
            copy(a + j * words, a + (j - 1) * words, words);
        copy(a + j * words, x, words);
    }
    cf_tick(ticker, 4 * COST_OF_HASH * (unsigned)n);
}

CF_FORCED size_t drop_repeated(uint64_t *a, size_t n, unsigned words)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || is_less(a + (kept - 1) * words, a + i * words, words))
            copy(a + kept++ * words, a + i * words, words);
    return kept;
}

size_t cf_drop_repeated(uint64_t *hashes, size_t n)
{
    return drop_repeated(hashes, n, 1);
}

size_t cf_drop_repeated_pairs(cf_valued *pairs, size_t n)
{
    return drop_repeated((uint64_t *)pairs, n, 2);
}

/* ---- in place ---- */

/* Moves keys with a word below a limit to the front, without a branch on it. Returns their number. */
CF_FORCED size_t split(cf_ticker *ticker, uint64_t *a, size_t n, unsigned words, unsigned word,
                       uint64_t limit)
{
    size_t below = 0;
    for (size_t i = 0, end; (end = next_piece(ticker, i, n)) > i;)
        for (; i < end; i++) {
            uint64_t x[2];
            copy(x, a + i * words, words);
            copy(a + i * words, a + below * words, words);
            copy(a + below * words, x, words);
            below += x[word] < limit;
        }
    return below;
}

/* Sorts keys that may differ in their last `left` bits. Recurses into the smaller part. */
static void sort_in_place(cf_ticker *ticker, uint64_t *a, size_t n, unsigned words, unsigned left)
{
    while (n > SMALL && left > 0 && !ticker->stopped) {
        left--;
        unsigned word = words - 1 - left / 64, bit = left % 64;
        uint64_t limit = (a[word] >> bit | 1) << bit;
        size_t below =
            words == 1 ? split(ticker, a, n, 1, 0, limit) : split(ticker, a, n, 2, word, limit);
        bool first = below <= n / 2;
        size_t few = first ? below : n - below;
        sort_in_place(ticker, first ? a : a + below * words, few, words, left);
        a += first ? below * words : 0;
        n -= few;
    }
    if (n <= SMALL && words == 1)
        insertion_sort(ticker, a, n, 1);
    else if (n <= SMALL)
        insertion_sort(ticker, a, n, 2);
}

/* ---- with a block ---- */

/* The block has, for each part, the place of its next hash; then n hashes. */
enum { PLACES = 1 << LAST_BITS, PLACE_BYTES = PLACES * sizeof(size_t) };

/* Distributes hashes to parts by the bits from `shift` on. Returns the size of the largest part. */
static size_t part(cf_ticker *ticker, size_t *place, uint64_t *a, size_t n, unsigned shift, size_t mask)
{
    uint64_t *room = (uint64_t *)(place + PLACES);
    size_t sum = 0, most = 0;
    memset(place, 0, (mask + 1) * sizeof *place);
    for (size_t i = 0, end; (end = next_piece(ticker, i, n)) > i;)
        for (; i < end; i++)
            place[a[i] >> shift & mask]++;
    for (size_t d = 0; d <= mask; d++) {
        size_t hashes = place[d];
        most = hashes > most ? hashes : most;
        place[d] = sum;
        sum += hashes;
    }
    for (size_t i = 0, end; (end = next_piece(ticker, i, n)) > i;)
        for (; i < end; i++)
            room[place[a[i] >> shift & mask]++] = a[i];
    if (ticker->stopped)
        return n;
    memcpy(a, room, n * sizeof *a);
    return most;
}

/* The end of the part that starts with a[from]. */
static size_t end_of_part(const uint64_t *a, size_t from, size_t n, unsigned shift)
{
    uint64_t digit = a[from] >> shift;
    while (n - from > 1) {
        size_t middle = from + (n - from) / 2;
        bool inside = a[middle] >> shift == digit;
        from = inside ? middle : from;
        n = inside ? n : middle;
    }
    return n;
}

static unsigned digit_bits(size_t n, unsigned left)
{
    unsigned bits = cf_bits_for(n);
    if (bits > LAST_BITS) /* parts of eight hashes are fast to sort by insertion */
        bits = bits > LAST_BITS + 3 ? DIGIT_BITS : LAST_BITS;
    return bits < left ? bits : left;
}

/* Sorts hashes that may differ in their last `left` bits. */
static void sort_by_room(cf_ticker *ticker, size_t *place, uint64_t *a, size_t n, unsigned left)
{
    unsigned bits = digit_bits(n, left), shift = left - bits;
    if (left == 0)
        return;
    if (n <= SMALL || part(ticker, place, a, n, shift, ((size_t)1 << bits) - 1) <= SMALL) {
        insertion_sort(ticker, a, n, 1);
        return;
    }
    for (size_t from = 0, to; from < n && !ticker->stopped; from = to) {
        to = end_of_part(a, from, n, shift);
        sort_by_room(ticker, place, a + from, to - from, shift);
    }
}

/* ---- both kinds ---- */

static bool is_sorted(const uint64_t *a, size_t n, cf_ticker *ticker)
{
    for (size_t i = n > 0, end; (end = next_piece(ticker, i, n)) > i;)
        for (; i < end; i++)
            if (a[i - 1] > a[i])
                return false;
    return !ticker->stopped;
}

bool cf_sort_many(const cf_many *keys, const cf_memory *memory, cf_ticker *ticker)
{
    enum { WORTH = 1024 }; /* hashes: from here on a block is worth it */
    uint8_t *block = NULL;
    uint64_t *a = keys->at;
    size_t n = keys->n;
    if (keys->words == 1 && (is_sorted(a, n, ticker) || ticker->stopped))
        return !ticker->stopped;
    if (keys->words == 1 && memory->resize && n >= WORTH)
        block = memory->resize(memory->context, NULL, PLACE_BYTES + (uint64_t)n * sizeof *a);
    if (block == NULL) {
        sort_in_place(ticker, a, n, keys->words, 64 * keys->words);
    } else {
        sort_by_room(ticker, (void *)block, a, n, 64);
        memory->resize(memory->context, block, 0);
    }
    return !ticker->stopped;
}

static cf_status sort_alone(const cf_many *keys, const cf_watch *watch)
{
    cf_ticker ticker = cf_ticker_of(watch);
    if (keys->at == NULL && keys->n > 0)
        return CF_BAD_ARGUMENT;
    return cf_sort_many(keys, &(cf_memory){NULL, 0, NULL}, &ticker) ? CF_OK : CF_INTERRUPTED;
}

cf_status cf_sort(uint64_t *hashes, size_t n, const cf_watch *watch)
{
    return sort_alone(&(cf_many){hashes, n, 1}, watch);
}

cf_status cf_sort_pairs(cf_valued *pairs, size_t n, const cf_watch *watch)
{
    return sort_alone(&(cf_many){(uint64_t *)pairs, n, 2}, watch);
}
