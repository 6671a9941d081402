/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L

#include "bench.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

uint64_t bench_first = 0;

bench_call bench_read_call(int argc, char **argv)
{
    const char *size = argc > 1 ? argv[1] : "";
    bench_call call = {.quick = strcmp(size, "quick") == 0};
    if ((!call.quick && strcmp(size, "full") != 0) || argc < 3 || argc > 4) {
        fprintf(stderr, "usage: %s full|quick FOLDER [SEED]\n", argv[0]);
        exit(2);
    }
    call.folder = argv[2];
    call.seed = argc == 4 ? strtoull(argv[3], NULL, 10) : 0;
    bench_first = call.seed << 57;
    return call;
}

double bench_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double bench_ns_since(double start, uint64_t operations)
{
    return (bench_seconds() - start) * 1e9 / (double)operations;
}

void bench_note(bench_series *series, double value)
{
    if (series->rounds < BENCH_ROUNDS_MAX)
        series->value[series->rounds++] = value;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void bench_sort(double *values, size_t n)
{
    qsort(values, n, sizeof *values, compare);
}

double bench_median(const bench_series *series)
{
    bench_series sorted = *series;
    size_t n = sorted.rounds;
    if (n == 0)
        return NAN;
    bench_sort(sorted.value, n);
    return (sorted.value[(n - 1) / 2] + sorted.value[n / 2]) / 2;
}

double bench_median_ratio(const bench_series *one, const bench_series *other)
{
    bench_series ratio = {.rounds = 0};
    for (size_t i = 0; i < one->rounds && i < other->rounds; i++)
        bench_note(&ratio, one->value[i] / other->value[i]);
    return bench_median(&ratio);
}

void *bench_allocate(size_t bytes)
{
    void *memory = malloc(bytes);
    if (memory == NULL)
        bench_fail("out of memory");
    return memory;
}

cf_geometry bench_plan(uint64_t keys, double rate, const cf_options *options)
{
    cf_geometry shape;
    const char *why;
    if (cf_plan(keys, rate, options, &shape, &why) != CF_OK)
        bench_fail(why);
    return shape;
}

cf_filter bench_make(const cf_geometry *shape)
{
    cf_filter filter;
    cf_create(&filter, shape, bench_allocate(cf_geometry_bytes(shape)));
    return filter;
}

void bench_drop(cf_filter *filter)
{
    free((void *)(uintptr_t)filter->bytes);
}

uint8_t *bench_resize(void *context, uint8_t *bytes, uint64_t size)
{
    (void)context;
    if (size > 0)
        return realloc(bytes, size);
    free(bytes);
    return NULL;
}

FILE *bench_table(const char *folder, const char *name, const char *columns)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s.tsv", folder, name);
    FILE *table = fopen(path, "w");
    if (table == NULL)
        bench_fail("a table cannot be written");
    fprintf(table, "%s\n", columns);
    return table;
}

void bench_field(FILE *table, const char *format, double value)
{
    fputc('\t', table);
    fprintf(table, isnan(value) ? "-" : format, value);
}

void bench_progress(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

void bench_fail(const char *message)
{
    fflush(stdout);
    fprintf(stderr, "%s\n", message);
    exit(1);
}
