/* SPDX-License-Identifier: MIT */
/*
** replay.c - the fuzz targets over made-up inputs, for machines without libFuzzer.
**
**      replay [count [target]]       count inputs (2,000) for each target, or the one named
**      replay --seeds DIR TARGET     writes inputs to DIR, for libFuzzer to start from
**
** Inputs are the same each time on every machine; FUZZ_SEED in the environment gives others. Half
** are sound filters with a few bytes changed, half are noise of few or many different values. The
** inputs are run in a child process: one that dies is reported with its number (and written to the
** directory FUZZ_KEEP, if given), and the rest goes on in a new child. Last line: "N passed, N
** failed"; a run of nothing fails.
**
**      cc -std=c11 -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all -DSQLITE_CORE
**          tests/fuzz/[a-z]*.c $(find src ext -name '*.c') -lsqlite3 -lm -o replay && ./replay 2000
*/
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../src/growth/growth.h"
#include "fuzz.h"

enum { LONGEST = 1500, ENOUGH_FAILURES = 10 };

typedef struct target {
    const char *name;
    int (*run)(const uint8_t *data, size_t size);
} target;

static const target targets[] = {
    {"blob", fuzz_blob}, {"ops", fuzz_ops}, {"sql", fuzz_sql}, {"exact", fuzz_exact}};

enum { TARGETS = sizeof targets / sizeof targets[0] };

static uint64_t seed = 20140214;

/* ---- inputs ---- */

/* A shape with counters or values or neither, that may grow or not, in any layout, with a spill
** list or without. */
static cf_geometry make_shape(uint64_t *state)
{
    cf_geometry g = {.buckets = 2 + 2 * (fuzz_random(state) % 30), .seed = (int64_t)fuzz_random(state)};
    g.bucket_size = (uint8_t)(1u << fuzz_random(state) % 4);
    g.fingerprint_bits = (uint8_t)(4 + fuzz_random(state) % 29);
    g.pair_bits = (uint8_t)(4 + fuzz_random(state) % 5);
    g.cap = (uint8_t)(1 + fuzz_random(state) % (2u * g.bucket_size));
    g.capacity = cf_geometry_slots(&g);
    g.growth = fuzz_random(state) % 2;
    g.keyed = g.seed % 2 != 0;
    if (fuzz_random(state) % 4 == 0)
        g.counter_bits = (uint8_t)(1 + fuzz_random(state) % CF_COUNTER_MAX);
    else if (fuzz_random(state) % 3 == 0)
        g.value_bits = (uint8_t)(1 + fuzz_random(state) % CF_VALUE_MAX);
    g.semisorted = g.bucket_size == 4 && g.fingerprint_bits > 4 && fuzz_random(state) % 2;
    if (fuzz_random(state) % 3 == 0) {
        g.spill_bound = (uint16_t)(1 + fuzz_random(state) % 12);
        g.budget = (uint8_t)(fuzz_random(state) % 4);
    }
    return g;
}

/* The bytes stay where they are: there is room for the longest. */
static uint8_t *stay(void *context, uint8_t *bytes, uint64_t size)
{
    (void)context;
    (void)size;
    return bytes;
}

/* A small sound filter, grown by some steps if it may; its length. */
static size_t make_filter(uint8_t *bytes, uint64_t *state)
{
    const char *why;
    cf_filter filter;
    cf_geometry g = make_shape(state);
    if (cf_geometry_check(&g, &why) != CF_OK || cf_geometry_bytes(&g) > LONGEST)
        return 0;
    cf_create(&filter, &g, bytes);
    filter.memory = (cf_memory){stay, LONGEST, NULL};
    for (uint64_t n = fuzz_random(state) % (g.capacity + 1); n > 0; n--) {
        cf_add_value(&filter, fuzz_random(state), fuzz_random(state) & cf_low_bits(g.value_bits));
        if (fuzz_random(state) % 4 == 0)
            cf_grow(&filter);
    }
    cf_seal(&filter);
    return (size_t)filter.length;
}

static size_t make_noise(uint8_t *bytes, uint64_t *state)
{
    size_t n = fuzz_random(state) % LONGEST;
    if (fuzz_random(state) % 2)
        n %= 200;
    uint64_t values = fuzz_random(state) % 3 ? UINT8_MAX + 1 : 1 + fuzz_random(state) % 8;
    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)(fuzz_random(state) % values);
    return n;
}

/* A few bytes changed, of the header more often than not; the end may be cut off. */
static size_t mutate(uint8_t *bytes, size_t n, uint64_t *state)
{
    for (uint64_t changes = fuzz_random(state) % 5; n > 0 && changes > 0; changes--) {
        size_t range = n > CF_HEADER_BYTES && fuzz_random(state) % 3 ? CF_HEADER_BYTES : n;
        bytes[fuzz_random(state) % range] = (uint8_t)fuzz_random(state);
    }
    if (n > 0 && fuzz_random(state) % 8 == 0)
        n = fuzz_random(state) % n;
    return n;
}

static size_t make_input(unsigned which, uint64_t number, uint8_t *bytes)
{
    uint64_t state = seed + (number * TARGETS + which) * UINT64_C(0x100000001);
    size_t n = fuzz_random(&state) % 2 ? make_filter(bytes, &state) : 0;
    return n > 0 ? mutate(bytes, n, &state) : make_noise(bytes, &state);
}

/* ---- running ---- */

static void run_from(unsigned which, uint64_t first, uint64_t count, volatile uint64_t *at)
{
    uint8_t bytes[LONGEST];
    for (*at = first; *at < count; ++*at) {
        size_t n = make_input(which, *at, bytes);
        uint8_t *exact = fuzz_copy(bytes, n);
        targets[which].run(exact, n);
        free(exact);
    }
}

static void write_input(const char *path, unsigned which, uint64_t number)
{
    uint8_t bytes[LONGEST];
    size_t n = make_input(which, number, bytes);
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(bytes, 1, n, file) != n)
        perror(path);
    if (file)
        fclose(file);
}

/* One child, from input `first` to the end or to its death. */
static bool child_survives(unsigned which, uint64_t first, uint64_t count, volatile uint64_t *at)
{
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) {
        perror("fork");
        exit(2);
    }
    if (child == 0) {
        run_from(which, first, count, at);
        exit(0); /* here a leak is found */
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void report(unsigned which, uint64_t number, uint64_t count)
{
    const char *name = targets[which].name, *folder = getenv("FUZZ_KEEP");
    char path[512];
    if (number >= count) {
        printf("%s: failed at the end of a run (a leak?)\n", name);
        return;
    }
    printf("%s: input %llu failed\n", name, (unsigned long long)number);
    snprintf(path, sizeof path, "%s/failed-%s-%llu", folder ? folder : ".", name,
             (unsigned long long)number);
    if (folder)
        write_input(path, which, number);
}

/* How many of the inputs failed; gives up after ENOUGH_FAILURES, counting the rest as not run. */
static uint64_t run_target(unsigned which, uint64_t count, uint64_t *passed)
{
    uint64_t failed = 0, first = 0;
    volatile uint64_t *at =
        mmap(NULL, sizeof *at, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) {
        perror("mmap");
        exit(2);
    }
    while (first < count && failed < ENOUGH_FAILURES) {
        bool good = child_survives(which, first, count, at);
        *passed += *at - first;
        first = *at + 1;
        if (!good) {
            failed++;
            report(which, *at, count);
        }
    }
    munmap((void *)(uintptr_t)at, sizeof *at);
    return failed;
}

static int write_seeds(const char *folder, const char *name)
{
    char path[512];
    for (unsigned i = 0; i < TARGETS; i++)
        for (uint64_t n = 0; strcmp(name, targets[i].name) == 0 && n < 500; n++) {
            snprintf(path, sizeof path, "%s/seed-%llu", folder, (unsigned long long)n);
            write_input(path, i, n);
        }
    return 0;
}

int main(int argc, char **argv)
{
    uint64_t count = 2000, passed = 0, failed = 0;
    if (getenv("FUZZ_SEED"))
        seed = strtoull(getenv("FUZZ_SEED"), NULL, 0);
    if (argc == 4 && strcmp(argv[1], "--seeds") == 0)
        return write_seeds(argv[2], argv[3]);
    if (argc > 1)
        count = strtoull(argv[1], NULL, 0);
    printf("%llu inputs for each target, seed %llu\n", (unsigned long long)count,
           (unsigned long long)seed);
    for (unsigned i = 0; i < TARGETS; i++)
        if (argc < 3 || strcmp(argv[2], targets[i].name) == 0)
            failed += run_target(i, count, &passed);
    printf("%llu passed, %llu failed\n", (unsigned long long)passed, (unsigned long long)failed);
    return failed > 0 || passed == 0;
}
