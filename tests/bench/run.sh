#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the benchmarks one after the other. Tables go to the screen and to build/bench/results.txt; most of
# them also to build/bench/*.tsv, and from there to the figures build/bench/*.svg.
#   run.sh             everything (an hour and a quarter, 2 GB of disk)
#   run.sh bench-quick smaller sizes, fewer rounds (three minutes)
# fill_results.sh copies the tables to RESULTS.md, which explains them.
set -eu
size=full
[ "${1:-}" = bench-quick ] && size=quick
here=tests/bench
out=build/bench
results=$out/results.txt
: > "$results"
rm -f "$out/failed"
start=$(date +%s)

title() {
    printf '\n=== %s   [%d s]\n' "$1" $(($(date +%s) - start)) | tee -a "$results"
}

# A program that prints its results. A pipe answers for its last command only; so a failure leaves a mark.
run() {
    title "$1"
    shift
    { "$@" || touch "$out/failed"; } | tee -a "$results"
    [ ! -e "$out/failed" ]
}

# evaluate title program [table ...]: a program that writes tables; those that are short enough are shown.
evaluate() {
    title "$1"
    "$out/$2" "$size" "$out"
    shift 2
    for table in "$@"; do
        printf '\n%s\n' "$table"
        awk -f $here/align.awk "$out/$table.tsv" "$out/$table.tsv"
    done | tee -a "$results"
}

run 'Are the filters that are compared sound?' $out/test_kinds
run 'The library, by hash'                 $out/bench_core "$size"
run 'SQL, per row'                         $out/bench_sql build/cuckoo.so "$size"
run 'The persistent table'                 $out/bench_table build/cuckoo.so "$size"
run 'Load at the first failure'            $out/load_at_failure
run 'Bytes per key and error rate'         $out/size_table "$size"
run 'Growth'                               $out/growth_table "$size"
evaluate 'Load against fingerprint bits: figure 2' load_factor
evaluate 'Bits per key against error rate: table 2, figures 3 and 4' space table2
evaluate 'Bounded insertion'               bursts steady bursts
evaluate 'As many keys as planned: table 3, second part' planned table3_planned
evaluate 'Do the keys fit, and for how long?' capacity builds turnovers
evaluate 'Filled, asked, emptied: table 3, figures 5 to 8' lifecycle table3 figure5
evaluate 'Real queries, with and without a filter' real_queries real_queries real_pages real_bytes
if command -v gnuplot > /dev/null; then
    gnuplot -e "folder='$out'" $here/plots.gp
else
    echo 'No figures: gnuplot is missing. make deps-bench, or apt-get install gnuplot-nox.' >&2
fi
printf '\nAll of it, in %d s: %s; tables %s/*.tsv, figures %s/*.svg\n' $(($(date +%s) - start)) \
    "$results" "$out" "$out"
