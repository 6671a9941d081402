/* SPDX-License-Identifier: MIT */
/*
** exact.c - exact.tsv: exact filters (cuckoo_exact.h), beside the fewest bytes that any structure can
** have which tells members from others. Full: 1 and 10 million keys, 400 MB of memory; quick: 100,000.
**
** Builds one for each share of members, without a rate for unknown keys and with some, and asks all
** keys of the universe in an order of chance: a wrong answer ends the program. Then it asks as many
** unknown keys.
*/
#include <math.h>
#include <stdlib.h>

#include "../../src/include/cuckoo_exact.h"
#include "../../src/include/cuckoo_key.h"
#include "bench.h"

typedef struct exact_lab {
    FILE *out;
    uint64_t keys;
} exact_lab;

/* Key i of the universe; the members come first. */
static uint64_t key_of(uint64_t i)
{
    static const cf_geometry rule = {0};
    return cf_hash_words(&rule, bench_first, i);
}

static void build(const exact_lab *in, uint64_t members, double fpr, cf_exact_build *made)
{
    const char *why = NULL;
    *made = (cf_exact_build){
        .fpr = fpr, .count = {(size_t)(in->keys - members), (size_t)members}, .memory = bench_memory};
    for (unsigned side = 0; side < 2; side++)
        made->hashes[side] = bench_allocate((made->count[side] + 1) * sizeof(uint64_t));
    for (uint64_t i = 0; i < in->keys; i++)
        made->hashes[i < members][i < members ? i : i - members] = key_of(i);
    if (cf_exact_make(made, &why) != CF_OK)
        bench_fail(why ? why : "an exact filter could not be built");
    free(made->hashes[0]);
    free(made->hashes[1]);
}

/* Asks for every key once. An odd step goes through them in another order than they were made. */
static double ask(const exact_lab *in, const cf_exact *exact, uint64_t members)
{
    uint64_t wrong = 0, *hashes = bench_allocate(in->keys * sizeof *hashes);
    const uint64_t step = UINT64_C(7368787); /* a prime: the numbers of keys are not divided by it */
    for (uint64_t i = 0, at = 0; i < in->keys; i++, at = (at + step) % in->keys)
        hashes[i] = key_of(at);
    double start = bench_seconds();
    for (uint64_t i = 0, at = 0; i < in->keys; i++) {
        wrong += cf_exact_contains(exact, hashes[i]) != (at < members);
        at += step % in->keys;
        at -= at >= in->keys ? in->keys : 0;
    }
    double ns = bench_ns_since(start, in->keys);
    free(hashes);
    if (wrong != 0)
        bench_fail("an exact filter is wrong for a key of its universe");
    return ns;
}

static double ask_unknown(const exact_lab *in, const cf_exact *exact)
{
    uint64_t yes = 0;
    for (uint64_t i = 0; i < in->keys; i++)
        yes += cf_exact_contains(exact, key_of(in->keys + i));
    return 100 * (double)yes / (double)in->keys;
}

static double bound_of(uint64_t keys, double share)
{
    return (double)keys * -(share * log2(share) + (1 - share) * log2(1 - share)) / 8;
}

static void measure(const exact_lab *in, double share, double fpr)
{
    static cf_exact exact;
    const char *why;
    cf_exact_build made;
    uint64_t members = (uint64_t)((double)in->keys * share + 0.5);
    bench_progress("%g %% of %g million keys", 100 * share, (double)in->keys / 1e6);
    double start = bench_seconds();
    build(in, members, fpr, &made);
    double seconds = bench_seconds() - start, bound = bound_of(in->keys, share);
    if (cf_exact_open(&exact, made.bytes, made.length, &why) != CF_OK)
        bench_fail(why);
    fprintf(in->out, "%g\t%g\t%g\t%llu\t%.0f\t%.3f\t%u\t%.0f\t%.1f\t%.4f\n", (double)in->keys / 1e6,
            100 * share, 100 * fpr, (unsigned long long)made.length, bound, (double)made.length / bound,
            exact.levels, 1e3 * seconds, ask(in, &exact, members), ask_unknown(in, &exact));
    free(made.bytes);
}

static void measure_all(FILE *out, uint64_t keys)
{
    static const double shares[] = {0.001, 0.01, 0.1, 0.2, 0.5}, rates[] = {0, 0.01, 0.001};
    for (unsigned i = 0; i < sizeof shares / sizeof *shares; i++)
        for (unsigned j = 0; j < sizeof rates / sizeof *rates; j++)
            measure(&(exact_lab){out, keys}, shares[i], rates[j]);
}

int main(int argc, char **argv)
{
    bench_call call = bench_read_call(argc, argv);
    FILE *out = bench_table(call.folder, "exact",
                            "million keys\tmembers %\tasked rate %\tbytes\tbound\ttimes\tlevels\tbuild, "
                            "ms\tlookup, ns\tunknown keys %");
    if (call.quick)
        measure_all(out, 100000);
    for (uint64_t keys = 1000000; !call.quick && keys <= 10000000; keys *= 10)
        measure_all(out, keys);
    fclose(out);
    return 0;
}
