/* SPDX-License-Identifier: MIT */
/*
** picture.c - the load factor of a filter as a text to look at: three lines of figures, then its buckets
** in order, region by region, and a scale. In a large filter some buckets of each region are counted, so
** that this takes milliseconds.
*/
#include "../../src/include/cuckoo_inspect.h"

#include "filters.h"

#include <stdlib.h>

enum { WIDE = 64, REGIONS = 16 * WIDE, COUNTED = 64 };

static unsigned slots_in_use(const cf_filter *filter, uint64_t bucket)
{
    cf_entry entry;
    unsigned n = 0;
    for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++)
        n += cf_entry_at(filter, bucket, slot, &entry);
    return n;
}

/* Where a region begins. In a filter with fewer buckets than regions a bucket has several. */
static uint64_t start_of(const cf_filter *filter, uint64_t region)
{
    return region * filter->buckets / REGIONS;
}

/* Counts the slots in use of a region. Returns its load factor in per cent. */
static int8_t look_at(const cf_filter *filter, uint64_t region, char *shade)
{
    unsigned used = 0, slots = 0;
    uint64_t bucket = start_of(filter, region), end = start_of(filter, region + 1);
    do {
        used += slots_in_use(filter, bucket);
        slots += filter->geometry.bucket_size;
    } while (++bucket < end && slots < COUNTED * filter->geometry.bucket_size);
    *shade = used == 0 ? ' ' : used == slots ? '@' : ".:-=+*#%"[8 * used / slots];
    return (int8_t)(100 * used / slots);
}

static int compare_loads(const void *a, const void *b)
{
    return *(const int8_t *)a - *(const int8_t *)b;
}

static void append_figures(sqlite3_str *text, const cf_filter *filter)
{
    const cf_geometry *g = &filter->geometry;
    double slots = (double)filter->buckets * g->bucket_size;
    sqlite3_str_appendf(text, "%,lld keys, planned for %,lld, in %,lld bytes\n", filter->items,
                        g->capacity, filter->length);
    sqlite3_str_appendf(text, "%,lld buckets of %d slots of %d bits, %.1f %% in use\n", filter->buckets,
                        g->bucket_size, cf_slot_bits(g, filter->level > 0 || filter->split > 0),
                        100 * (double)filter->occupied / slots);
    sqlite3_str_appendf(text, "grown: level %d, %,lld buckets split; %d entries in the stash\n\n",
                        filter->level, filter->split, filter->stashed);
}

void cuckoo_result_picture(sqlite3_context *context, const cf_filter *filter)
{
    double buckets = (double)filter->buckets / (double)REGIONS;
    sqlite3_str *text = sqlite3_str_new(sqlite3_context_db_handle(context));
    int8_t load[REGIONS];
    char shade;
    append_figures(text, filter);
    sqlite3_str_appendf(text, "      bucket +%.*c+", WIDE, '-');
    for (uint64_t region = 0; region < REGIONS; region++) {
        if (region % WIDE == 0)
            sqlite3_str_appendf(text, "\n%12lld |", start_of(filter, region));
        load[region] = look_at(filter, region, &shade);
        sqlite3_str_appendchar(text, 1, shade);
        sqlite3_str_appendall(text, region % WIDE == WIDE - 1 ? "|" : "");
    }
    sqlite3_str_appendf(text, "\n%14c%.*c+\na character: %.*f buckets%s\n", '+', WIDE, '-',
                        buckets < 10 ? 3 : 0, buckets,
                        buckets > (double)COUNTED ? ", of which the first 64 are counted" : "");
    qsort(load, REGIONS, sizeof *load, compare_loads);
    sqlite3_str_appendf(text, "load factor of the regions: least %d %%, median %d %%, most %d %%\n",
                        load[0], load[REGIONS / 2], load[REGIONS - 1]);
    cuckoo_result_built(context, text,
                        "slots in use: blank none, then . : - = + * # % by eighths, @ all");
}
