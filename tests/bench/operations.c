/* SPDX-License-Identifier: MIT */
/*
** operations.c - instructions and cache misses of one operation, of each filter that is compared.
**
**      python3 tests/bench/operations.py build/bench/operations full|quick FOLDER    counts, and writes operations.tsv
**      build/bench/operations full|quick FOLDER [SEED]                  counts nothing by itself
**
** Runs under callgrind with a simulated cache. Each filter of kinds.h is made with a table six times
** as large as the last cache of the simulation, filled to half of its load, to nearly all of it, asked
** and emptied in part. What is counted is SOME operations each, after as many lookups that fill the
** simulated caches. Every operation is called through a pointer, all kinds alike; "loop" is what the
** loop and an empty call take, and is taken off by operations.py.
**
** Counts do not flicker: equal programs and seeds on equal machines give equal figures.
*/
#include "kinds.h"

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#error "the header valgrind/callgrind.h is missing: install valgrind (make deps)"
#endif

typedef struct lab {
    uint64_t bytes;
    unsigned some, warm; /* operations */
} lab;

/* ---- counting ---- */

static void count_begin(void)
{
    CALLGRIND_ZERO_STATS;
}

static void count_end(const bench_kind *kind, const char *operation, unsigned times)
{
    char label[200];
    snprintf(label, sizeof label, "%s|%s|%u", kind->name, operation, times);
    CALLGRIND_DUMP_STATS_AT(label);
}

/* ---- what is counted ---- */

static bool nothing(const void *filter, uint64_t hash)
{
    (void)filter;
    return hash == 1;
}

static void ask(const void *state, bool (*contains)(const void *, uint64_t), uint64_t first,
                unsigned times)
{
    for (uint64_t i = first; i < first + times; i++)
        bench_use(contains(state, bench_random(i)));
}

static void count_loop(const lab *in, const bench_kind *kind)
{
    bool (*volatile empty)(const void *, uint64_t) = nothing;
    count_begin();
    ask(NULL, empty, 0, in->some);
    count_end(kind, "loop", in->some);
}

static void count_lookups(const lab *in, const bench_filter *filter)
{
    const bench_kind *kind = filter->kind;
    count_begin();
    ask(filter->state, kind->contains, 0, in->some);
    count_end(kind, "hit", in->some);
    count_begin();
    ask(filter->state, kind->contains, BENCH_ABSENT, in->some);
    count_end(kind, "miss", in->some);
}

static void warm(const lab *in, const bench_filter *filter)
{
    CALLGRIND_START_INSTRUMENTATION;
    ask(filter->state, filter->kind->contains, BENCH_ABSENT * 2, in->warm);
}

/* Fills without counting, but for the last few keys before `load`. */
static void count_adds(const lab *in, bench_filter *filter, double load, const char *operation)
{
    const bench_kind *kind = filter->kind;
    double some = (double)in->some / (double)kind->slots(filter->state);
    bench_fill(filter, load - some);
    warm(in, filter);
    count_begin();
    for (unsigned i = 0; i < in->some; i++)
        filter->refused |= !kind->add(filter->state, bench_random(filter->keys++));
    count_end(kind, operation, in->some);
    CALLGRIND_STOP_INSTRUMENTATION;
    if (filter->refused)
        bench_fail("full before it should be");
}

static void count_deletes(const lab *in, bench_filter *filter)
{
    count_begin();
    for (unsigned i = 0; i < in->some; i++)
        bench_use(filter->kind->remove(filter->state, bench_random(filter->removed++)));
    count_end(filter->kind, "delete", in->some);
}

static void count_kind(const lab *in, const bench_kind *kind)
{
    bench_filter filter = bench_make(kind, in->bytes, kind->bits);
    double full = kind->full < 0.95 ? kind->full : 0.95;
    bench_progress("%s", kind->name);
    count_adds(in, &filter, full / 2, "add, half full");
    count_adds(in, &filter, full, "add, full");
    warm(in, &filter);
    count_loop(in, kind);
    count_lookups(in, &filter);
    if (kind->remove)
        count_deletes(in, &filter);
    CALLGRIND_STOP_INSTRUMENTATION;
    bench_drop(&filter);
}

int main(int argc, char **argv)
{
    bench_call call = bench_read_call(argc, argv);
    lab in = {.bytes = (uint64_t)(call.quick ? 384 : 12288) << 10,
              .some = call.quick ? 1000 : 20000,
              .warm = call.quick ? 2000 : 50000};
    for (unsigned i = 0; i < BENCH_KINDS; i++)
        count_kind(&in, bench_kinds[i]);
    return 0;
}
