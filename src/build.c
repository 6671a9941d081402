/*
** build.c - preparing many keys for one filter: hashes sorted, each once.
**
** Sorted hashes are sorted base buckets, so a build walks through the table from front to back, and
** what it writes depends on the set of keys alone. The sort is a radix sort in place (most
** significant byte first, "American flag"): it allocates nothing, its time is bounded for any
** input, and it is several times faster than qsort with a comparison function
** (tests/bench/bench_core.c has both).
*/
#include "watch.h"

enum {
    DIGIT_BITS = 8,
    DIGITS = 1 << DIGIT_BITS,
    SMALL = 48,   /* hashes; below this, insertion is faster than counting digits */
    PIECE = 4096, /* hashes that are handled before the watch may be asked */
    COST = 5      /* of one hash, nanoseconds */
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
            cf_tick(ticker, COST * (steps + 1));
        }
    }
}

static void sort(uint64_t *a, size_t n, unsigned shift, cf_ticker *ticker)
{
    if (n <= SMALL) {
        insertion_sort(a, n);
        cf_tick(ticker, COST * (unsigned)n);
        return;
    }
    size_t next[DIGITS], end[DIGITS];
    find_ranges(a, n, shift, next, end, ticker);
    if (!ticker->stopped)
        distribute(a, shift, next, end, ticker);
    if (shift == 0)
        return;
    for (size_t start = 0, d = 0; d < DIGITS && !ticker->stopped; start = end[d], d++)
        sort(a + start, end[d] - start, shift - DIGIT_BITS, ticker);
}

cf_status cf_sort(uint64_t *hashes, size_t n, const cf_watch *watch)
{
    cf_ticker ticker = cf_ticker_of(watch);
    sort(hashes, n, 64 - DIGIT_BITS, &ticker);
    return ticker.stopped ? CF_INTERRUPTED : CF_OK;
}

size_t cf_drop_repeated(uint64_t *hashes, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || hashes[kept - 1] != hashes[i])
            hashes[kept++] = hashes[i];
    return kept;
}
