/* SPDX-License-Identifier: MIT */
/*
** sim.c - the program.
**
**      sim [SEED] [--seconds N] [--runs N] [--steps N] [--all N] [--each N] [--first] [--counts] [--known NAME] [--list]
**          [--verbose]
**
** A seed and a commit are a run. Without --seconds, --runs and --all (steps of all runs) there is one run of the seed,
** which is 1, or CUCKOO_TEST_SEED, unless given; --first ends with the first that fails. --each 1: a step that is to fail
** does so at each call that it makes; --each N: at every Nth. SIM_KNOWN=NAME,NAME is as --known.
*/
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct order {
    uint64_t seed;
    long runs;
    double seconds;
    long all;
    int steps, each;
    bool verbose, lists, first, counts;
} order;

static double now(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool choose_all(char *names)
{
    bool all = true;
    for (char *name = names ? strtok(names, ",") : NULL; name; name = strtok(NULL, ","))
        all = known_choose(name) && all;
    return all;
}

/* False: that cannot be understood. */
static bool read_order(int argc, char **argv, order *o)
{
    for (int i = 1; i < argc; i++) {
        char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--verbose") == 0)
            o->verbose = true;
        else if (strcmp(argv[i], "--first") == 0)
            o->first = true;
        else if (strcmp(argv[i], "--counts") == 0)
            o->counts = true;
        else if (strcmp(argv[i], "--list") == 0)
            o->lists = true;
        else if (argv[i][0] != '-')
            o->seed = strtoull(argv[i], NULL, 0);
        else if (value == NULL)
            return false;
        else if (strcmp(argv[i], "--seconds") == 0)
            o->seconds = atof(argv[++i]);
        else if (strcmp(argv[i], "--runs") == 0)
            o->runs = atol(argv[++i]);
        else if (strcmp(argv[i], "--all") == 0)
            o->all = atol(argv[++i]);
        else if (strcmp(argv[i], "--each") == 0)
            o->each = atoi(argv[++i]);
        else if (strcmp(argv[i], "--steps") == 0)
            o->steps = atoi(argv[++i]);
        else if (strcmp(argv[i], "--known") != 0 || !known_choose(argv[++i]))
            return false;
    }
    fault_always = o->each > 0;
    return o->steps > 0 && o->steps <= 1000 && o->each >= 0;
}

static int run_all(const order *o)
{
    sim_counts c = {0};
    double begin = now();
    for (long i = 0; (o->seconds > 0 ? now() - begin < o->seconds
                      : o->all > 0   ? (long)c.steps < o->all
                                     : i < o->runs) &&
                     !(o->first && c.failed);
         i++)
        run_seed(i ? mix(o->seed, (uint64_t)i) : o->seed, o->steps, o->each, o->verbose, &c);
    double seconds = now() - begin;
    printf("# %llu steps, %.0f a second; %llu questions, %llu refused, %llu faults, %llu crashes, %llu "
           "out of step\n",
           (unsigned long long)c.steps, (double)c.steps / seconds, (unsigned long long)c.questions,
           (unsigned long long)c.refused, (unsigned long long)c.faults, (unsigned long long)c.crashes,
           (unsigned long long)c.resynced);
    if (o->counts)
        print_counts(&c);
    if (c.each)
        printf("# %llu faults, one by one\n", (unsigned long long)c.each);
    printf("%llu passed, %llu failed\n", (unsigned long long)(c.runs - c.failed),
           (unsigned long long)c.failed);
    return c.failed > 0 || c.runs == 0;
}

int main(int argc, char **argv)
{
    const char *seed = getenv("CUCKOO_TEST_SEED");
    order o = {.seed = seed ? strtoull(seed, NULL, 0) : 1, .runs = 1, .steps = 200};
    char *given = getenv("SIM_KNOWN"), *names = given ? say("%s", given) : NULL;
    bool understood = choose_all(names) && read_order(argc, argv, &o);
    free(names);
    if (!understood) {
        fputs("sim [SEED] [--seconds N] [--runs N] [--steps N] [--all N] [--each N] [--first] "
              "[--counts] [--known NAME] "
              "[--list] [--verbose]\n",
              stderr);
        return 2;
    }
    if (o.lists) {
        known_list();
        return 0;
    }
    if (!fault_install()) {
        fputs("the disk and the memory that fail could not be installed\n", stderr);
        return 1;
    }
    return run_all(&o);
}
