#!/bin/sh
# SPDX-License-Identifier: MIT
# libFuzzer on each target, FUZZ_SECONDS seconds (180) each, from the seeds that replay writes. The last line is
# "N passed, N failed", of targets. Inputs that break something are kept in build/fuzz/, and what libFuzzer said.
#   run.sh [TARGET...]    blob, ops, sql, exact unless some are named
#
# Comparisons are not traced: keys are hashes, and what else an input chooses is a remainder of one of its bytes. They would
# take most of the time. Long inputs of ops find no more than short ones.
set -u
. tests/ending.sh
: "${CLANG:=clang}" "${FUZZ_SECONDS:=180}"
options='-std=c11 -g -O2 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -fno-sanitize-coverage=trace-cmp'
out=build/fuzz
passed=0 failed=0
mkdir -p $out

# fuzz TARGET LONGEST: one target, with inputs of so many bytes.
fuzz() {
    glue=
    [ "$1" = sql ] && glue="$(find ext -name "*.c") -lsqlite3"
    # shellcheck disable=SC2086 # options and files are words
    $CLANG $options -DLIBFUZZER -DSQLITE_CORE -o "$out/$1" "tests/fuzz/fuzz_$1.c" $(find src -name "*.c") $glue -lm || return
    mkdir -p "$out/corpus_$1"
    build/asan/replay --seeds "$out/corpus_$1" "$1" || return
    "$out/$1" -max_len="$2" -max_total_time="$FUZZ_SECONDS" -print_final_stats=1 -artifact_prefix="$out/$1-" \
        "$out/corpus_$1" > "$out/$1.log" 2>&1
}

# executions TARGET: of the last run.
executions() {
    sed -n 's/^stat::number_of_executed_units: *//p' "$out/$1.log" 2> /dev/null
}

# try TARGET LONGEST: one verdict. A run without an execution proves nothing.
try() {
    echo "=== $1"
    rm -f "$out/$1.log"
    if fuzz "$1" "$2" && [ "$(executions "$1")" -gt 0 ] 2> /dev/null; then
        passed=$((passed + 1))
        tail -8 "$out/$1.log"
    else
        failed=$((failed + 1))
        tail -40 "$out/$1.log"
        echo "failed: $1: $out/$1.log"
    fi
}

[ "$FUZZ_SECONDS" -gt 0 ] 2> /dev/null || { echo "FUZZ_SECONDS is a number above 0, not: $FUZZ_SECONDS"; exit 1; }
for target; do
    case $target in
    blob|ops|sql|exact) ;;
    *) echo "failed: there is no target $target"; ending 0 1 ;;
    esac
done
echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' > $out/probe.c
$CLANG -fsanitize=fuzzer,address,undefined -o $out/probe $out/probe.c > $out/probe.log 2>&1 ||
    missing "clang with libFuzzer; on Debian: make deps-fuzz, or apt-get install clang"
for target in ${*:-blob ops sql exact}; do
    case $target in
    ops) try ops 200 ;;
    sql) try sql 500 ;;
    *)   try "$target" 400 ;;
    esac
done
ending $passed $failed
