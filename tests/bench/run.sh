#!/bin/sh
# Runs the benchmarks one after the other; tables go to the screen and to build/bench/results.txt.
#   run.sh             everything (about ten minutes)
#   run.sh bench-quick smaller sizes, fewer rounds
set -eu
size=full
[ "${1:-}" = bench-quick ] && size=quick
results=build/bench/results.txt
: > "$results"
run() {
    printf '\n=== %s\n' "$1" | tee -a "$results"
    shift
    "$@" | tee -a "$results"
}
run 'The library, by hash'                 build/bench/bench_core "$size"
run 'SQL, per row'                         build/bench/bench_sql build/cuckoo.so
run 'Load at the first failure'            build/bench/load_at_failure
run 'Bytes per key and error rate'         build/bench/size_table "$size"
run 'Growth'                               build/bench/growth_table "$size"
printf '\nAll of it: %s\n' "$results"
