/* SPDX-License-Identifier: MIT */
/*
** references.c - table1.tsv: what one lookup reads, memory references and cache lines, and space
** beside a Bloom filter of 1.44 log2(1/e) bits. Tables 1 and 2 of the paper.
**
** The kinds say themselves what they read (touch.h; they are compiled for this program once more):
** each bit, counter, slot or bucket is a reference, and what lies in one line of 64 bytes is one line.
** So this does not depend on the machine. Each filter is filled as far as it goes, and asked for keys
** that are there and for keys that are not: means, and the most lines of any lookup.
*/
#include <math.h>

#include "kinds.h"
#include "touch.h"

enum { LINE = 64, LINES_MAX = 4096 };

/* What the lookup under way has read. */
static struct {
    uintptr_t line[LINES_MAX];
    unsigned lines, references;
    bool counts;
} seen;

static void touch_line(uintptr_t line)
{
    for (unsigned i = 0; i < seen.lines; i++)
        if (seen.line[i] == line)
            return;
    if (seen.lines < LINES_MAX)
        seen.line[seen.lines++] = line;
}

void bench_touch(const void *at, size_t bytes)
{
    if (!seen.counts)
        return;
    seen.references++;
    for (uintptr_t line = (uintptr_t)at / LINE; line <= ((uintptr_t)at + bytes - 1) / LINE; line++)
        touch_line(line);
}

typedef struct reads {
    double references, lines;
    unsigned most; /* lines */
} reads;

/* Asks for `n` keys that come one after the other from `from`. */
static reads ask(const bench_filter *filter, uint64_t from, unsigned n, bool there)
{
    reads sum = {0, 0, 0};
    seen.counts = true;
    for (uint64_t i = from; i < from + n; i++) {
        seen.lines = seen.references = 0;
        bool found = filter->kind->contains(filter->state, bench_random(i));
        if (there && !found)
            bench_fail("a key is not found");
        sum.references += (double)seen.references / n;
        sum.lines += (double)seen.lines / n;
        sum.most = seen.lines > sum.most ? seen.lines : sum.most;
    }
    seen.counts = false;
    if (sum.references == 0)
        bench_fail("a kind does not say what it reads");
    return sum;
}

static void write_reads(FILE *out, const reads *of)
{
    fprintf(out, "\t%.3f\t%.3f\t%u", of->references, of->lines, of->most);
}

static void measure(FILE *out, const bench_kind *kind, uint64_t bytes, unsigned n)
{
    bench_filter filter = bench_make(kind, bytes, kind->bits);
    bench_fill(&filter, kind->full);
    double bits = bench_bits_per_key(&filter), error = bench_error_rate(&filter, UINT64_MAX, 20 * n);
    double of_bloom = -log2(error) / log(2);
    reads hits = ask(&filter, 0, n, true), misses = ask(&filter, BENCH_ABSENT, n, false);
    fprintf(out, "%s\t%s\t%.2f\t%.4f\t%.2f", kind->name, kind->remove ? "yes" : "no", bits, 100 * error,
            bits / of_bloom);
    write_reads(out, &hits);
    write_reads(out, &misses);
    fprintf(out, "\n");
    bench_drop(&filter);
}

int main(int argc, char **argv)
{
    bench_call call = bench_read_call(argc, argv);
    FILE *out = bench_table(call.folder, "table1",
                            "filter\tdeletes\tbits per key\terror %\tspace / Bloom\thit: "
                            "references\thit: lines\thit: most lines\tmiss: references\tmiss: "
                            "lines\tmiss: most lines");
    for (unsigned i = 0; i < BENCH_KINDS; i++) {
        bench_progress("  %s", bench_kinds[i]->name);
        measure(out, bench_kinds[i], (uint64_t)(call.quick ? 3 << 17 : 3 << 21),
                call.quick ? 5000 : 100000);
    }
    fclose(out);
    return 0;
}
