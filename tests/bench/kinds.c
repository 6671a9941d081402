/* SPDX-License-Identifier: MIT */
#include "kinds.h"

#include <stdlib.h>

const bench_kind *const bench_kinds[BENCH_KINDS] = {
    &bench_plain4,         &bench_semisorted, &bench_bloom, &bench_blocked_bloom,
    &bench_counting_bloom, &bench_quotient,   &bench_dleft,
};

bench_filter bench_make(const bench_kind *kind, uint64_t bytes, unsigned bits)
{
    bench_filter made = {.kind = kind};
    kind->make(&made, bytes, bits);
    return made;
}

void bench_drop(bench_filter *filter)
{
    free(filter->state);
    filter->state = NULL;
}

void bench_fill(bench_filter *filter, double load)
{
    uint64_t end = (uint64_t)(load * (double)filter->slots);
    /* A branch, which is predicted: so no key waits for the answer of the one before. */
    while (filter->keys < end && !filter->refused)
        if (filter->kind->add(filter->state, bench_random(filter->keys)))
            filter->keys++;
        else
            filter->refused = true;
}

double bench_load(const bench_filter *filter)
{
    return (double)(filter->keys - filter->removed) / (double)filter->slots;
}

double bench_bits_per_key(const bench_filter *filter)
{
    return 8 * (double)filter->bytes / (double)(filter->keys - filter->removed);
}

double bench_error_rate(const bench_filter *filter, uint64_t wanted, uint64_t most)
{
    enum { BATCH = 10000 };
    uint64_t probes = 0, errors = 0;
    while (errors < wanted && probes < most)
        for (unsigned i = 0; i < BATCH; i++)
            errors += filter->kind->contains(filter->state, bench_random(BENCH_ABSENT + probes++));
    return (double)errors / (double)probes;
}
