#!/bin/sh
# SPDX-License-Identifier: MIT
# libFuzzer on each target of fuzz.c, FUZZ_SECONDS seconds (180) each. The last line is "N passed, N failed", of targets. Inputs
# that break something are kept in build/fuzz/, and what libFuzzer said.
#   fuzz.sh [TARGET...]    ops, blob, exact, sql unless some are named
#
# Comparisons are not traced (KIND_fuzz): keys are hashes, and what else an input chooses is a remainder of one of its bytes.
set -u
. tests/ending.sh
: "${CLANG:=clang}" "${FUZZ_SECONDS:=180}" "${MAKE:=make}"
out=build/fuzz
passed=0 failed=0
mkdir -p $out

# try TARGET: one verdict. A run without an execution proves nothing.
try() {
    echo "=== $1"
    longest=400
    [ "$1" != ops ] || longest=200
    mkdir -p "$out/corpus_$1"
    if CUCKOO_FUZZ_TARGET=$1 $out/fuzz -max_len=$longest -max_total_time="$FUZZ_SECONDS" -print_final_stats=1 \
        -artifact_prefix="$out/$1-" "$out/corpus_$1" > "$out/$1.log" 2>&1 &&
        grep -q '^stat::number_of_executed_units: *[1-9]' "$out/$1.log"; then
        passed=$((passed + 1))
        tail -8 "$out/$1.log"
    else
        failed=$((failed + 1))
        tail -40 "$out/$1.log"
        echo "failed: $1: $out/$1.log; CUCKOO_FUZZ_TARGET=$1 $out/fuzz FILE repeats it"
    fi
}

[ "$FUZZ_SECONDS" -gt 0 ] 2> /dev/null || { echo "FUZZ_SECONDS is a number above 0, not: $FUZZ_SECONDS"; exit 1; }
echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' > $out/probe.c
$CLANG -fsanitize=fuzzer,address,undefined -o $out/probe $out/probe.c > $out/probe.log 2>&1 ||
    missing "clang with libFuzzer; on Debian: make deps-fuzz, or apt-get install clang"
"$MAKE" -s SKIP_DEPS=1 -j"$(getconf _NPROCESSORS_ONLN)" $out/fuzz || ending 0 1
[ $# -gt 0 ] || set -- ops blob exact sql
for target; do
    try "$target"
done
ending $passed $failed
