/* SPDX-License-Identifier: MIT */
/*
** sort.c - preparing many keys for one filter: hashes sorted, each once.
**
** Sorted hashes are sorted base buckets, so a build walks through the table from front to back, and
** what it writes depends on the set of keys alone. There are two radix sorts:
**
** - In place, most significant byte first ("American flag"): it allocates nothing, its time is
**   bounded for any input, and it is several times faster than qsort with a comparison function
**   (tests/bench/bench_core.c has both).
** - With room for a copy, in two passes. The first one copies each hash to its part: the hashes
**   that begin with the same bits, which fit into a cache. The second one sorts each part back, by
**   as many further bits as give each hash about one place; the few that meet there are compared.
**   Where hashes are not spread evenly a part is sorted in place.
*/
#include "sort.h"

#include <string.h>

#include "bits.h"

/* ---- in place ---- */

enum {
    DIGIT_BITS = 8,
    DIGITS = 1 << DIGIT_BITS,
    SMALL = 48,      /* hashes; below this, insertion is faster than counting digits */
    PIECE = 4096,    /* hashes that are handled before the watch may be asked */
    COST_OF_HASH = 5 /* of one hash, nanoseconds */
};

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

static unsigned digit(uint64_t x, unsigned shift)
{
    return (unsigned)(x >> shift) & (DIGITS - 1);
}

/* Where the hashes of each digit start; end[d] is where digit d ends. */
static void find_ranges(const uint64_t *a, size_t n, unsigned shift, size_t *start, size_t *end,
                        cf_ticker *ticker)
{
    size_t count[DIGITS] = {0}, sum = 0;
    for (size_t i = 0; i < n; i++) {
        count[digit(a[i], shift)]++;
        if (i % PIECE == PIECE - 1 && cf_tick(ticker, PIECE))
            break;
    }
    for (unsigned d = 0; d < DIGITS; d++) {
        start[d] = sum;
        end[d] = sum += count[d];
    }
}

/* Carries each hash to the range of its digit, and the one found there onwards, until all are home.
** A round of that which is long is cut short: then the hash in hand goes where the round began, and
** the next round begins with it. */
static void distribute(uint64_t *a, unsigned shift, size_t *next, const size_t *end, cf_ticker *ticker)
{
    for (unsigned d = 0; d < DIGITS; d++) {
        while (next[d] < end[d] && !ticker->stopped) {
            uint64_t x = a[next[d]];
            unsigned steps = 0, home = digit(x, shift);
            for (; home != d && steps < PIECE; home = digit(x, shift), steps++) {
                uint64_t displaced = a[next[home]];
                a[next[home]++] = x;
                x = displaced;
            }
            a[next[d]] = x;
            next[d] += home == d;
            cf_tick(ticker, COST_OF_HASH * (steps + 1));
        }
    }
}

static void sort_digit(uint64_t *a, size_t n, unsigned shift, cf_ticker *ticker)
{
    if (n <= SMALL) {
        insertion_sort(a, n);
        cf_tick(ticker, COST_OF_HASH * (unsigned)n);
        return;
    }
    size_t next[DIGITS], end[DIGITS];
    find_ranges(a, n, shift, next, end, ticker);
    if (!ticker->stopped)
        distribute(a, shift, next, end, ticker);
    if (shift == 0)
        return;
    for (size_t start = 0, d = 0; d < DIGITS && !ticker->stopped; start = end[d], d++)
        sort_digit(a + start, end[d] - start, shift - DIGIT_BITS, ticker);
}

static void sort_in_place(uint64_t *a, size_t n, cf_ticker *ticker)
{
    sort_digit(a, n, 64 - DIGIT_BITS, ticker);
}

/* ---- with room ---- */

enum {
    PART_BITS_MAX = 13,
    PLACE_BITS = 12,     /* hashes of a part, as long as that does not make too many parts */
    PLACE_BITS_MAX = 16, /* else */
    LINE = 8,            /* hashes that are copied to a part together */
    SPREAD = 8           /* standard deviations by which a part may be larger than the mean */
};

/* What the sort needs besides the hashes. */
typedef struct cf_parts {
    unsigned bits, place_bits; /* of the number of a part; of a place in it */
    size_t size;               /* hashes for which a part has room: a multiple of LINE */
    size_t used[1 << PART_BITS_MAX];
    uint64_t line[1 << PART_BITS_MAX][LINE]; /* the last few of them, which are not in the room yet */
    uint16_t place[1 << PLACE_BITS_MAX];
    uint64_t room[];
} cf_parts;

static unsigned at_most(unsigned n, unsigned most)
{
    return n < most ? n : most;
}

static unsigned bits_of_parts(size_t n)
{
    unsigned all = cf_bits_for(n);
    return at_most(all > PLACE_BITS ? all - PLACE_BITS : 0, PART_BITS_MAX);
}

/* Hashes of the largest part, when they are spread evenly. */
static size_t part_size(size_t n)
{
    size_t mean = (n >> bits_of_parts(n)) + 1;
    size_t most = mean + ((size_t)SPREAD << (cf_bits_for(mean) + 1) / 2);
    return (most + LINE - 1) / LINE * LINE;
}

/* Copies a piece of the hashes to their parts, in whole lines: else each hash would touch another
** page. What has just been stored is not loaded, for it could not be loaded together with what is
** older. False: a part has no room. */
static bool fill_piece(cf_parts *parts, const uint64_t *a, size_t n)
{
    unsigned shift = 63 - parts->bits;
    for (size_t i = 0; i < n; i++) {
        size_t part = (size_t)(a[i] >> 1 >> shift), used = parts->used[part]++;
        uint64_t *line = parts->line[part], *to = parts->room + part * parts->size + used;
        if (used % LINE < LINE - 1) {
            line[used % LINE] = a[i];
            continue;
        }
        if (used >= parts->size)
            return false;
        memcpy(to - (LINE - 1), line, (LINE - 2) * sizeof *to);
        to[-1] = line[LINE - 2];
        to[0] = a[i];
    }
    return true;
}

/* False: a part has no room. */
static bool fill_rest(cf_parts *parts)
{
    for (size_t part = 0; part >> parts->bits == 0; part++) {
        size_t used = parts->used[part], left = used % LINE;
        if (used > parts->size)
            return false;
        memcpy(parts->room + part * parts->size + used - left, parts->line[part],
               left * sizeof parts->room[0]);
    }
    return true;
}

/* False: the hashes are not spread evenly, or the ticker has stopped; they are as they were. */
static bool fill_parts(cf_parts *parts, const uint64_t *a, size_t n, cf_ticker *ticker)
{
    memset(parts->used, 0, sizeof parts->used[0] << parts->bits);
    for (size_t i = 0; i < n; i += PIECE) {
        size_t piece = n - i < PIECE ? n - i : PIECE;
        if (!fill_piece(parts, a + i, piece) || cf_tick(ticker, COST_OF_HASH * (unsigned)piece))
            return false;
    }
    return fill_rest(parts);
}

/* The number of a place, from the bits behind those of the part. */
static size_t place_of(const cf_parts *parts, uint64_t hash)
{
    return (size_t)(hash << parts->bits >> (64 - parts->place_bits));
}

/* Where each place of a part starts. False: so many hashes meet in one that they should not be
** compared. */
static bool find_places(cf_parts *parts, const uint64_t *from, size_t n)
{
    unsigned sum = 0, most = 0;
    memset(parts->place, 0, sizeof parts->place[0] << parts->place_bits);
    for (size_t i = 0; i < n; i++)
        parts->place[place_of(parts, from[i])]++;
    for (size_t place = 0; place >> parts->place_bits == 0; place++) {
        unsigned hashes = parts->place[place];
        most = hashes > most ? hashes : most;
        parts->place[place] = (uint16_t)sum;
        sum += hashes;
    }
    return most <= SMALL;
}

static void sort_part(cf_parts *parts, const uint64_t *from, size_t n, uint64_t *to, cf_ticker *ticker)
{
    if (n > UINT16_MAX || !find_places(parts, from, n)) {
        memcpy(to, from, n * sizeof *to);
        sort_in_place(to, n, ticker);
        return;
    }
    for (size_t i = 0; i < n; i++)
        to[parts->place[place_of(parts, from[i])]++] = from[i];
    insertion_sort(to, n);
    cf_tick(ticker, COST_OF_HASH * (unsigned)n);
}

static void sort_parts(cf_parts *parts, uint64_t *to, cf_ticker *ticker)
{
    for (size_t part = 0; part >> parts->bits == 0; part++) {
        const uint64_t *from = parts->room + part * parts->size;
        if (ticker->stopped)
            memcpy(to, from, parts->used[part] * sizeof *to);
        else
            sort_part(parts, from, parts->used[part], to, ticker);
        to += parts->used[part];
    }
}

/* ---- the one or the other ---- */

static bool is_sorted(const uint64_t *a, size_t n, cf_ticker *ticker)
{
    for (size_t i = 1; i < n; i++)
        if (a[i - 1] > a[i] || (i % PIECE == 0 && cf_tick(ticker, PIECE)))
            return false;
    return true;
}

/* NULL: there is none, or it does not pay. */
static cf_parts *room_for(size_t n, const cf_memory *memory)
{
    enum { WORTH = 2048 }; /* hashes from which on it pays */
    if (memory->resize == NULL || n < WORTH)
        return NULL;
    unsigned bits = bits_of_parts(n);
    cf_parts *parts = (void *)memory->resize(
        memory->context, NULL, sizeof *parts + (uint64_t)(part_size(n) << bits) * sizeof(uint64_t));
    if (parts == NULL)
        return NULL;
    parts->bits = bits;
    parts->place_bits = at_most(cf_bits_for(n) - bits, PLACE_BITS_MAX);
    parts->size = part_size(n);
    return parts;
}

bool cf_sort_with(uint64_t *hashes, size_t n, const cf_memory *memory, cf_ticker *ticker)
{
    if (is_sorted(hashes, n, ticker))
        return true;
    cf_parts *parts = ticker->stopped ? NULL : room_for(n, memory);
    if (parts && fill_parts(parts, hashes, n, ticker))
        sort_parts(parts, hashes, ticker);
    else if (!ticker->stopped)
        sort_in_place(hashes, n, ticker);
    if (parts)
        memory->resize(memory->context, (uint8_t *)parts, 0);
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
