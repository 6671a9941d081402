/* SPDX-License-Identifier: MIT */
#include "duration.h"

#include <string.h>

static const struct unit {
    const char *name;
    double milliseconds;
} units[] = {{"second", 1e3}, {"minute", 6e4}, {"hour", 36e5}, {"day", 864e5}, {"week", 6048e5}};

/* The milliseconds of a unit; 0: there is no such unit. */
static double unit_of(const char *text, size_t length)
{
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        size_t n = strlen(units[i].name);
        bool plural = length == n + 1 && (text[n] == 's' || text[n] == 'S');
        if ((length == n || plural) && sqlite3_strnicmp(text, units[i].name, (int)n) == 0)
            return units[i].milliseconds;
    }
    return 0;
}

bool cuckoo_duration_read(const char *text, size_t length, uint64_t *milliseconds)
{
    const double least = 1e3, most = 36525 * 864e5;
    cf_number number;
    size_t n = 0, unit;
    while (length > 0 && text[length - 1] == ' ')
        length--;
    while (n < length && strchr("0123456789.+- ", text[n]) && text[n] != 0)
        n++;
    unit = n;
    while (n > 0 && text[n - 1] == ' ')
        n--;
    if (!cf_number_read(text, n, &number))
        return false;
    double span = cf_number_real(&number) * unit_of(text + unit, length - unit);
    if (!(span >= least && span <= most))
        return false;
    *milliseconds = (uint64_t)span;
    return true;
}
