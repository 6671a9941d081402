/* SPDX-License-Identifier: MIT */
/*
** space.c - bits per key against error rate: figures 3 and 4 and table 2 of the paper, section 5.1.
**
** Fills a table of a million slots (quick: 16,384) of each kind and each number of bits, the cuckoo
** filters until an add is refused, the others up to the load they are made for (kinds.h). For table 2:
** the fewest fingerprint bits, f = ceil(log2(2b / e)), and bits per key by the formulas of the paper
** at the loads it reaches (0.84, 0.955, 0.98 for b = 2, 4, 8).
*/
#include "kinds.h"

#include <math.h>

typedef struct lab {
    uint64_t slots;
    uint64_t errors, probes; /* how many errors to wait for, and for how long */
    unsigned step;           /* bits from point to point */
    const char *folder;
} lab;

/* A filled filter, measured. */
typedef struct point {
    double load, bits_per_key, expected, measured;
} point;

/* Bytes for the wanted number of slots: filters that need a power of two take it as it is. Bloom
** filters count keys as slots, and their tables follow from that. */
static uint64_t bytes_for(const lab *in, const bench_kind *kind, unsigned bits)
{
    bench_filter trial = bench_make(kind, in->slots * bits, bits);
    double bytes_per_slot = (double)trial.bytes / (double)trial.slots;
    bench_drop(&trial);
    return (uint64_t)(bytes_per_slot * (double)in->slots + 1);
}

static point measure(const lab *in, const bench_kind *kind, unsigned bits)
{
    bench_filter filter = bench_make(kind, bytes_for(in, kind, bits), bits);
    bench_fill(&filter, kind->full);
    point at = {.load = bench_load(&filter),
                .bits_per_key = bench_bits_per_key(&filter),
                .expected = kind->expected(filter.state, filter.keys),
                .measured = bench_error_rate(&filter, in->errors, in->probes)};
    bench_drop(&filter);
    return at;
}

/* ---- figures 3 and 4 ---- */

static void write_point(FILE *out, const bench_kind *kind, unsigned bits, const point *at)
{
    double bound = -log2(at->measured);
    fprintf(out, "%s\t%u\t%.4f\t%.3f\t%.4g\t%.4g\t%.3f\t%.3f\n", kind->name, bits, at->load,
            at->bits_per_key, at->expected, at->measured, bound, bound / log(2));
}

static void write_curve(const lab *in, FILE *out, const bench_kind *kind, unsigned from, unsigned to)
{
    bench_progress("  %s, %u to %u bits", kind->name, from, to);
    for (unsigned bits = from; bits <= to; bits += in->step) {
        point at = measure(in, kind, bits);
        if (at.measured > 0) /* else it was too rare for so few probes */
            write_point(out, kind, bits, &at);
    }
}

static const char columns[] = "filter\tbits\tload\tbits per key\texpected error\tmeasured "
                              "error\tlower bound\t1.44 log2(1/e)";

static void write_figure3(const lab *in, unsigned most)
{
    FILE *out = bench_table(in->folder, "figure3", columns);
    bench_progress("figure 3");
    write_curve(in, out, &bench_plain2, 4, most - 1);
    write_curve(in, out, &bench_plain4, 4, most);
    write_curve(in, out, &bench_plain8, 4, most + 1);
    write_curve(in, out, &bench_semisorted, 5, most);
    fclose(out);
}

static void write_figure4(const lab *in, unsigned most)
{
    FILE *out = bench_table(in->folder, "figure4", columns);
    bench_progress("figure 4");
    write_curve(in, out, &bench_bloom, 3, most + 5);
    write_curve(in, out, &bench_blocked_bloom, 3, most + 7);
    write_curve(in, out, &bench_quotient, 2, most - 3);
    write_curve(in, out, &bench_dleft, 4, most + 1);
    fclose(out);
}

/* ---- table 2 ---- */

/* `bits` are those of the fingerprint, or per key for a Bloom filter, which has no buckets. */
static void write_row(const lab *in, FILE *out, double rate, const bench_kind *kind, unsigned bits,
                      double formula)
{
    point at = measure(in, kind, bits);
    fprintf(out, "%g\t%s", rate, kind->name);
    bench_field(out, "%.0f", kind->b > 0 ? (double)kind->b : (double)NAN);
    fprintf(out, "\t%u\t%.2f\t%.4f\t%.2f\t%.3g\n", bits, formula, at.load, at.bits_per_key, at.measured);
}

static void write_rate(const lab *in, FILE *out, double rate)
{
    static const struct row {
        const bench_kind *kind;
        double extra; /* bits beyond log2(1/e): log2(2b); one less when semi-sorted */
        double load;  /* the paper reaches */
    } rows[] = {{&bench_plain2, 2, 0.84},
                {&bench_plain4, 3, 0.955},
                {&bench_plain8, 4, 0.98},
                {&bench_semisorted, 2, 0.955}};
    double bound = -log2(rate);
    write_row(in, out, rate, &bench_bloom, (unsigned)ceil(bound / log(2)), bound / log(2));
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        unsigned f = (unsigned)ceil(log2(2 * rows[i].kind->b / rate));
        write_row(in, out, rate, rows[i].kind, f, (bound + rows[i].extra) / rows[i].load);
    }
}

static void write_table2(const lab *in)
{
    static const double rates[] = {0.03, 0.01, 0.003, 0.001, 0.0003, 0.0001};
    FILE *out = bench_table(in->folder, "table2",
                            "error rate\tfilter\tb\tbits\tbits per key, formula\tload\tbits per "
                            "key\tmeasured error");
    bench_progress("table 2");
    for (unsigned i = 0; i < sizeof rates / sizeof rates[0]; i++)
        write_rate(in, out, rates[i]);
    fclose(out);
}

int main(int argc, char **argv)
{
    bench_call call = bench_read_call(argc, argv);
    lab in = {.slots = (uint64_t)1 << (call.quick ? 14 : 20),
              .errors = call.quick ? 300 : 2500,
              .probes = call.quick ? 100000 : 20000000,
              .step = call.quick ? 2 : 1,
              .folder = call.folder};
    unsigned most = call.quick ? 12 : 18;
    write_table2(&in);
    write_figure3(&in, most);
    write_figure4(&in, most);
    return 0;
}
