/*
** build.c - preparing many keys for one filter: hashes sorted, each once.
**
** Sorted hashes are sorted base buckets, so a build walks through the table from front to back, and
** what it writes depends on the set of keys alone. The sort is a radix sort in place (most significant
** byte first, "American flag"): it allocates nothing, its time is bounded for any input, and it is
** several times faster than qsort with a comparison function (tests/bench/bench_core.c has both).
*/
#include "cuckoo_filter.h"

enum {
    DIGIT_BITS = 8,
    DIGITS = 1 << DIGIT_BITS,
    SMALL = 48 /* hashes; below this, insertion is faster than counting digits */
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
static void find_ranges(const uint64_t *a, size_t n, unsigned shift, size_t *start, size_t *end)
{
    size_t count[DIGITS] = {0}, sum = 0;
    for (size_t i = 0; i < n; i++)
        count[digit(a[i], shift)]++;
    for (unsigned d = 0; d < DIGITS; d++) {
        start[d] = sum;
        end[d] = sum += count[d];
    }
}

/* Carries each hash to the range of its digit, and the one found there onwards, until all are home. */
static void distribute(uint64_t *a, unsigned shift, size_t *next, const size_t *end)
{
    for (unsigned d = 0; d < DIGITS; d++) {
        while (next[d] < end[d]) {
            uint64_t x = a[next[d]];
            for (unsigned home = digit(x, shift); home != d; home = digit(x, shift)) {
                uint64_t displaced = a[next[home]];
                a[next[home]++] = x;
                x = displaced;
            }
            a[next[d]++] = x;
        }
    }
}

static void sort(uint64_t *a, size_t n, unsigned shift)
{
    if (n <= SMALL) {
        insertion_sort(a, n);
        return;
    }
    size_t next[DIGITS], end[DIGITS];
    find_ranges(a, n, shift, next, end);
    distribute(a, shift, next, end);
    if (shift == 0)
        return;
    for (size_t start = 0, d = 0; d < DIGITS; start = end[d], d++)
        sort(a + start, end[d] - start, shift - DIGIT_BITS);
}

void cf_sort(uint64_t *hashes, size_t n)
{
    sort(hashes, n, 64 - DIGIT_BITS);
}

size_t cf_sort_distinct(uint64_t *hashes, size_t n)
{
    size_t kept = 0;
    cf_sort(hashes, n);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || hashes[kept - 1] != hashes[i])
            hashes[kept++] = hashes[i];
    return kept;
}
