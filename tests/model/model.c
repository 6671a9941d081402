/* SPDX-License-Identifier: MIT */
/*
** model.c - random lives of filters beside an exact model, with collisions made likely.
**
**      model [LIVES]           so many; the last line: N passed, N failed
**      model for SECONDS       for so long
**      model life SEED         one of them again
** A life is a filter of any shape (life.h), hostile bytes in its place (blobs.h), an exact filter
** (exact.h), or sequences that were thought of (directed.h).
*/
#include <time.h>

#include "blobs.h"
#include "directed.h"

enum { SHORT_RUN = 800, MOST_SHOWN = 10, EXACT_LOG = 12, LONGEST_NOISE = 600 };

static uint64_t life_seed;

static void tell_life(void)
{
    fprintf(stderr, "  to repeat it: model life %llu\n", (unsigned long long)life_seed);
}

static void live_hostile(void)
{
    uint8_t noise[LONGEST_NOISE];
    size_t length = random_below(one_in(2) ? 150 : LONGEST_NOISE);
    uint64_t values = one_in(2) ? 256 : 1 + random_below(8);
    for (unsigned i = 0; i < 12 && !failed; i++)
        try_filter();
    try_each_bit();
    for (size_t i = 0; i < length; i++)
        noise[i] = (uint8_t)random_below(values);
    try_noise(noise, length);
}

static void live_any(void)
{
    uint64_t kind = random_below(20);
    if (kind < 2) {
        live_hostile();
    } else if (kind < 3) {
        live_exactly(EXACT_LOG);
    } else if (kind < 4) {
        live_directed();
    } else {
        setup with = any_setup();
        live(&with, random_between(1, MOST_STEPS));
    }
}

static bool run_life_of(uint64_t seed)
{
    draws = (source){.state = seed};
    life_seed = seed;
    failed = false;
    live_any();
    if (failed)
        tell_life();
    return !failed;
}

/* Lives with seeds made of one, until there were so many, or so long. */
static int run_lives(uint64_t seed, uint64_t lives, double seconds)
{
    struct timespec now, begin;
    uint64_t lived = 0, bad = 0;
    timespec_get(&begin, TIME_UTC);
    for (now = begin; bad < MOST_SHOWN && lived < lives && difftime(now.tv_sec, begin.tv_sec) < seconds;
         timespec_get(&now, TIME_UTC))
        bad += !run_life_of(seed + lived++ * UINT64_C(0xd1342543de82ef95));
    printf("%llu passed, %llu failed\n", (unsigned long long)(lived - bad), (unsigned long long)bad);
    return bad > 0 || lived == 0;
}

int main(int n, char **argument)
{
    const char *what = n > 1 ? argument[1] : "";
    bool seconds = n > 2 && strcmp(what, "for") == 0, life = n > 2 && strcmp(what, "life") == 0;
    uint64_t number = n > 1 ? strtoull(argument[n - 1], NULL, 0) : SHORT_RUN;
    begin_world(world_failed, tell_life);
    if (life)
        return !run_life_of(number);
    if (number == 0) {
        fputs("model [LIVES | for SECONDS | life SEED]: nothing was tested\n", stderr);
        return 2;
    }
    return run_lives(seed_of_run(), seconds ? UINT64_MAX : number, seconds ? (double)number : 1e9);
}
