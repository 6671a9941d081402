#!/bin/sh
# SPDX-License-Identifier: MIT
# libFuzzer on each target, FUZZ_SECONDS seconds (180) each, from the seeds that replay writes. Needs clang.
# Inputs that break something are kept in build/fuzz/.
set -eu
command -v clang > /dev/null || sh tests/deps.sh clang
mkdir -p build/fuzz
for target in blob ops sql; do
    glue=
    [ "$target" = sql ] && glue="$(echo ext/*.c) -lsqlite3"
    clang -std=c11 -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -DLIBFUZZER \
        -DSQLITE_CORE -o "build/fuzz/$target" "tests/fuzz/fuzz_$target.c" src/*.c $glue -lm
    mkdir -p "build/fuzz/corpus_$target"
    build/asan/replay --seeds "build/fuzz/corpus_$target" "$target"
    echo "=== $target"
    "build/fuzz/$target" -max_len=1500 -max_total_time="${FUZZ_SECONDS:-180}" -print_final_stats=1 \
        -artifact_prefix="build/fuzz/$target-" "build/fuzz/corpus_$target" 2>&1 | tail -12
done
