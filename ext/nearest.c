/* SPDX-License-Identifier: MIT */
#include "nearest.h"

#include <assert.h>
#include <string.h>

static int lower(char c)
{
    return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* The number of letters that differ, as nearest.h counts them. Row i of the table says what leads
** from the first i letters of one word to the first letters of the other. */
static unsigned distance_of(const char *one, size_t m, const char *other, size_t n)
{
    unsigned rows[3][CUCKOO_NEAREST_MAX + 1], *before = rows[0], *last = rows[1], *now = rows[2];
    for (unsigned j = 0; j <= n; j++)
        last[j] = j;
    for (size_t i = 1; i <= m; i++) {
        now[0] = (unsigned)i;
        for (size_t j = 1; j <= n; j++) {
            bool same = lower(one[i - 1]) == lower(other[j - 1]);
            now[j] = least(last[j - 1] + !same, least(last[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && lower(one[i - 1]) == lower(other[j - 2]) &&
                lower(one[i - 2]) == lower(other[j - 1]))
                now[j] = least(now[j], before[j - 2] + 1);
        }
        unsigned *oldest = before;
        before = last;
        last = now;
        now = oldest;
    }
    return last[n];
}

void cuckoo_nearest_offer(cuckoo_nearest *nearest, const char *name)
{
    assert(nearest->word != NULL && name != NULL);
    enum { SHORTEST = 3, A_LETTER = 3 /* letters that one may be wrong for */ };
    size_t m = strlen(nearest->word), n = strlen(name);
    if (m > CUCKOO_NEAREST_MAX || n > CUCKOO_NEAREST_MAX || n == 0)
        return;
    bool begins = m >= SHORTEST && m < n && sqlite3_strnicmp(nearest->word, name, (int)m) == 0;
    unsigned distance = begins ? 1 : distance_of(nearest->word, m, name, n);
    if (distance > (m + 1) / A_LETTER || (nearest->found[0] && distance >= nearest->distance))
        return;
    nearest->distance = distance;
    memcpy(nearest->found, name, n + 1);
}

void cuckoo_nearest_offer_all(cuckoo_nearest *nearest, const char *const *names)
{
    for (; names && *names; names++)
        cuckoo_nearest_offer(nearest, *names);
}

const char *cuckoo_nearest_hint(cuckoo_nearest *nearest)
{
    nearest->hint[0] = 0;
    if (nearest->found[0])
        sqlite3_snprintf(sizeof nearest->hint, nearest->hint, "; did you mean %s", nearest->found);
    return nearest->hint;
}
