/* SPDX-License-Identifier: MIT */
/*
** fuzz.c - the model as fuzz targets: what a life draws, it draws from an input.
**
**      ops      a life of a filter (life.h); when the bytes end, it ends
**      blob     hostile bytes in the place of a filter: the input itself, and what it draws (blobs.h)
**      exact    the same of exact filters, and a universe to build one of (exact.h)
**      sql      any use of the functions in SQL, with any values (sql.h)
** With libFuzzer (fuzz.sh; CUCKOO_FUZZ_TARGET names the target) the inputs are those that reach new code.
** Without it they are made up:
**      fuzz [COUNT [TARGET]]           so many for each target; the last line: N passed, N failed
**      fuzz seed SEED TARGET           one of them again
*/
#include "blobs.h"
#include "life.h"
#include "sql.h"

static void fuzz_ops(const uint8_t *data, size_t size)
{
    (void)data, (void)size;
    setup with = any_setup();
    live(&with, UINT64_MAX);
}

static void fuzz_blob(const uint8_t *data, size_t size)
{
    source then = draw_aside(size);
    try_noise(data, size);
    draw_on(then);
    while (!draws.over)
        try_filter();
}

static void fuzz_exact(const uint8_t *data, size_t size)
{
    enum { MOST_LOG = 9 };
    source then = draw_aside(size);
    try_exact(data, size);
    if (size >= MODEL_HEADER) {
        uint8_t *bytes = copy_of_bytes(data, size);
        memcpy(bytes, "\xcf\x65\x78\1\1\0\0\0", 8);
        bytes[32] %= CF_EXACT_LEVELS + 1, bytes[33] %= CF_EXACT_LIST + 1;
        memset(bytes + 34, 0, 14);
        memset(bytes + 56, 0, 4);
        reseal_exact(bytes, size);
        try_exact(bytes, size);
        free(bytes);
    }
    draw_on(then);
    while (!draws.over)
        live_exactly(MOST_LOG);
}

struct target {
    const char *name;
    void (*run)(const uint8_t *data, size_t size);
    size_t longest; /* longer inputs find no more, where they are made up */
};

static const struct target targets[] = {{"ops", fuzz_ops, 200},
                                        {"blob", fuzz_blob, 1500},
                                        {"exact", fuzz_exact, 500},
                                        {"sql", fuzz_sql, 500}};

enum { TARGETS = sizeof targets / sizeof *targets };

static void stop(const char *text)
{
    world_failed(text);
    abort();
}

static void run_input(const struct target *target, const uint8_t *data, size_t size)
{
    static const uint8_t none;
    draws = (source){.at = size ? data : &none, .end = size ? data + size : &none};
    failed = false;
    target->run(data, size);
}

static const struct target *target_of(const char *name)
{
    for (unsigned i = 0; i < TARGETS && name; i++)
        if (strcmp(name, targets[i].name) == 0)
            return &targets[i];
    fprintf(stderr, "fuzz: there is no target %s\n", name ? name : "without a name");
    exit(2);
}

#ifdef LIBFUZZER

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct target *target;
    if (target == NULL)
        target = target_of(getenv("CUCKOO_FUZZ_TARGET"));
    model_on_failure = stop;
    run_input(target, data, size);
    return 0;
}

#else

enum { LONGEST = 1500, USUAL = 300 };

static const struct target *target_now;
static uint64_t seed_now;

static void tell_input(void)
{
    fprintf(stderr, "  to repeat it: fuzz seed %llu %s\n", (unsigned long long)seed_now,
            target_now->name);
}

/* Noise of few or many different values. */
static size_t make_input(const struct target *target, uint64_t seed, uint8_t *bytes)
{
    draws = (source){.state = seed};
    size_t length = random_below(one_in(2) ? target->longest : 200);
    uint64_t values = one_in(3) ? 1 + random_below(8) : 256;
    for (size_t i = 0; i < length; i++)
        bytes[i] = (uint8_t)random_below(values);
    return length;
}

static void run_seed(const struct target *target, uint64_t seed)
{
    uint8_t bytes[LONGEST];
    size_t length = make_input(target, seed, bytes);
    uint8_t *exact = copy_of_bytes(bytes, length);
    target_now = target, seed_now = seed;
    run_input(target, exact, length);
    free(exact);
}

int main(int n, char **argument)
{
    uint64_t count = n > 1 ? strtoull(argument[1], NULL, 0) : USUAL, passed = 0;
    const struct target *only = n > 2 ? target_of(argument[n - 1]) : NULL;
    begin_world(stop, tell_input);
    if (n > 3 && strcmp(argument[1], "seed") == 0) {
        run_seed(only, strtoull(argument[2], NULL, 0));
        return 0;
    }
    uint64_t seed = seed_of_run();
    for (unsigned i = 0; i < TARGETS; i++)
        for (uint64_t at = 0; at < count && (only == NULL || only == &targets[i]); at++, passed++)
            run_seed(&targets[i], mixed(seed + i) + at);
    printf("%llu passed, 0 failed\n", (unsigned long long)passed);
    return passed == 0;
}

#endif
