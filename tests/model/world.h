/* SPDX-License-Identifier: MIT */
/*
** world.h - what all drivers share: numbers that are drawn, what is tried, memory and time that end, and
** how a failure is told.
**
** A life is drawn from a seed, or from bytes (then the bytes are all there is: when they end, it ends).
** CUCKOO_TEST_SEED=n in the environment repeats a run; each life has a seed of its own, made
** of that one and its number, so that it can be lived again alone.
*/
#ifndef CUCKOO_MODEL_WORLD_H
#define CUCKOO_MODEL_WORLD_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

/* ---- numbers ---- */

typedef struct source {
    uint64_t state;
    const uint8_t *at, *end; /* NULL: they come from the state */
    bool over;               /* the bytes are used up */
} source;

static source draws;

static inline uint64_t mixed(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static inline unsigned next_byte(void)
{
    draws.over |= draws.at == draws.end;
    return draws.over ? 0 : *draws.at++;
}

static inline uint64_t next_number(unsigned bytes)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < bytes; i++)
        n = n << 8 | next_byte();
    return n;
}

/* splitmix64: the numbers of a seed are the same on every machine. Two bytes name one of 65,536. */
static inline uint64_t random64(void)
{
    uint64_t pair = draws.at ? next_byte() << 8 : 0;
    if (draws.at)
        return mixed((pair | next_byte()) * UINT64_C(0x9e3779b97f4a7c15));
    return mixed(draws.state += UINT64_C(0x9e3779b97f4a7c15));
}

/* For what bytes should not be used up for: the same numbers each time, made of a few of them. */
static inline source draw_aside(uint64_t number)
{
    source then = draws;
    if (draws.at)
        draws = (source){.state = number};
    return then;
}

static inline void draw_on(source then)
{
    if (then.at)
        draws = then;
}

static inline uint64_t random_below(uint64_t n)
{
    return (draws.at && n <= 256 ? next_byte() : random64()) % n;
}

static inline uint64_t random_between(uint64_t first, uint64_t last)
{
    return first + random_below(last - first + 1);
}

static inline bool one_in(uint64_t n)
{
    return random_below(n) == 0;
}

/* ---- what is tried ---- */

/* How the hashes of a universe are drawn. */
typedef enum style {
    SCATTERED, /* at random */
    TWINNED,   /* every second one agrees with another in many bits, as seen from either side */
    CLUMPED,   /* any number may agree */
    NARROW,    /* all are near to one of a few, on either side */
    STYLES
} style;

typedef struct setup {
    cf_geometry shape;
    style style;
    uint32_t keys;
    uint32_t values; /* that are used of each key */
    bool scarce;     /* memory is refused now and then */
    bool planned;    /* a shape of the planner, scattered hashes, memory enough */
} setup;

/* ---- memory ---- */

static bool memory_is_scarce;
static uint64_t requests_left = UINT64_MAX; /* until one is refused */

/* As realloc; when memory is scarce, it refuses now and then. */
static inline uint8_t *world_resize(void *context, uint8_t *bytes, uint64_t size)
{
    (void)context;
    if (size == 0) {
        free(bytes);
        return NULL;
    }
    if (requests_left == 0 || (memory_is_scarce && one_in(3)))
        return NULL;
    requests_left -= requests_left != UINT64_MAX;
    return realloc(bytes, size);
}

/* A copy in memory of exactly n bytes: a sanitizer sees every step beyond it. */
static inline uint8_t *copy_of_bytes(const uint8_t *bytes, size_t n)
{
    uint8_t *copy = model_need(calloc(n ? n : 1, 1));
    return n ? memcpy(copy, bytes, n) : copy;
}

/* ---- work that is interrupted ---- */

static uint64_t questions_left;

/* A watch that says stop when it has been asked so often. */
static inline bool stops(void *context)
{
    (void)context;
    return questions_left-- == 0;
}

static const cf_watch impatient = {stops, NULL};

/* ---- failures ---- */

static bool failed; /* in the life that runs: nothing more of it is lived */
static const setup *running;
static const char *last_step = "none";

static inline void describe(const setup *with)
{
    const cf_geometry *g = &with->shape;
    fprintf(
        stderr,
        "  b=%u f=%u s=%u m0=%llu max_copies=%u counter_bits=%u value_bits=%u epochs=%u capacity=%llu",
        g->bucket_size, g->fingerprint_bits, g->pair_bits, (unsigned long long)g->buckets, g->max_copies,
        g->counter_bits, g->value_bits, g->epochs, (unsigned long long)g->capacity);
    fprintf(stderr, "%s%s stash_size=%u budget=%u style=%d keys=%u%s%s, step: %s\n",
            g->growth ? " growth" : "", g->semisorted ? " semisorted" : "", g->stash_size, g->budget,
            (int)with->style, with->keys, with->scarce ? " scarce memory" : "",
            with->planned ? " planned" : "", last_step);
}

static inline void world_failed(const char *text)
{
    if (failed)
        return;
    failed = true;
    fprintf(stderr, "failed: %s\n", text);
    if (running)
        describe(running);
}

static void (*tell_where)(void); /* how to repeat what runs, when the program dies in it */

static inline void tell_signal(int number)
{
    tell_where();
    signal(number, SIG_DFL);
    raise(number);
}

/* AddressSanitizer calls it. */
void __asan_on_error(void);
void __asan_on_error(void)
{
    if (tell_where)
        tell_where();
}

static inline void begin_world(void (*on_failure)(const char *), void (*tell)(void))
{
    model_on_failure = on_failure;
    tell_where = tell;
    signal(SIGABRT, tell_signal);
#ifndef __SANITIZE_ADDRESS__
    signal(SIGSEGV, tell_signal);
#endif
}

static inline uint64_t seed_of_run(void)
{
    const char *given = getenv("CUCKOO_TEST_SEED");
    uint64_t seed = given && *given ? strtoull(given, NULL, 0) : 20140214;
    fprintf(stderr, "random seed %llu\n", (unsigned long long)seed);
    return seed;
}

/* A promise of the world around a filter. */
#define REQUIRE(condition)                                                                              \
    do {                                                                                                \
        if (!(condition))                                                                               \
            model_fail("%s:%d: broken: %s", __FILE__, __LINE__, #condition);                            \
    } while (0)

#endif
