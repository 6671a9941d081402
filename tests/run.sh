#!/bin/sh
# Runs all the tests, group by group; the last line is "N passed, N failed".
#   run.sh            everything
#   run.sh valgrind   the unit tests under valgrind
set -u
passed=0 failed=0
log=build/test.log
: > "$log"

# count GROUP PASSED FAILED: adds up, and prints the line of the group.
count() {
    passed=$((passed + $2)) failed=$((failed + $3))
    printf '%-34s %5d passed, %d failed\n' "$1" "$2" "$3"
}

# tap GROUP COMMAND...: a cmocka program; each test prints ok or not ok. One that dies counts as failed.
tap() {
    group=$1
    shift
    CMOCKA_MESSAGE_OUTPUT=tap "$@" > build/group.log 2>&1
    status=$?
    good=$(grep -c '^ok ' build/group.log) bad=$(grep -c '^not ok ' build/group.log)
    [ "$status" -ne 0 ] && [ "$bad" -eq 0 ] && bad=1
    finish "$group" "$good" "$bad"
}

# plain GROUP COMMAND...: a program whose last line is "N passed, N failed".
plain() {
    group=$1
    shift
    "$@" > build/group.log 2>&1
    status=$?
    good=$(sed -n 's/^\([0-9]*\) passed, [0-9]* failed$/\1/p' build/group.log | tail -1)
    bad=$(sed -n 's/^[0-9]* passed, \([0-9]*\) failed$/\1/p' build/group.log | tail -1)
    [ "$status" -ne 0 ] && [ "${bad:-0}" -eq 0 ] && bad=1
    finish "$group" "${good:-0}" "${bad:-0}"
}

# pytest GROUP COMMAND...: counts from its closing line.
pytest() {
    group=$1
    shift
    "$@" > build/group.log 2>&1
    status=$?
    line=$(tail -1 build/group.log)
    good=$(printf '%s' "$line" | sed -n 's/.*[^0-9]*\b\([0-9][0-9]*\) passed.*/\1/p')
    bad=$(printf '%s' "$line" | grep -oE '[0-9]+ (failed|error)' | awk '{ n += $1 } END { print n + 0 }')
    [ "$status" -ne 0 ] && [ "$bad" -eq 0 ] && bad=1
    finish "$group" "${good:-0}" "$bad"
}

# finish GROUP PASSED FAILED: keeps the log, shows it when something failed.
finish() {
    { echo "=== $1"; cat build/group.log; } >> "$log"
    count "$1" "$2" "$3"
    [ "$3" -eq 0 ] || tail -60 build/group.log
}

sanitized_python() {
    LD_PRELOAD="$(${CC:-cc} -print-file-name=libasan.so) $(${CC:-cc} -print-file-name=libubsan.so)" \
    ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc CUCKOO_SO=build/asan/cuckoo.so "$@"
}

units() {
    for test in tests/test_*.c; do
        name=$(basename "$test" .c)
        if [ "$1" = valgrind ]; then
            # shellcheck disable=SC2016 # $0 is of the inner shell
            tap "valgrind: $name" sh -c 'cat "$0.log"; exit "$(cat "$0.status")"' "build/valgrind/$name"
        else
            tap "$name" "build/asan/$name"
        fi
    done
}

# All unit tests under valgrind, as many at a time as there are cores; units reports them.
run_valgrind() {
    mkdir -p build/valgrind
    export CMOCKA_MESSAGE_OUTPUT=tap
    for test in tests/test_*.c; do basename "$test" .c; done | xargs -P "$cores" -I{} sh -c \
        'valgrind -q --error-exitcode=99 --leak-check=full build/plain/{} > build/valgrind/{}.log 2>&1
         echo $? > build/valgrind/{}.status'
}

cores=$(getconf _NPROCESSORS_ONLN)

# The rules of growth that deletes depend on; make stress drops all there are.
rules='shortest match\|most bits in the slot\|any entries can be equal\|not cut\|width of slots\|longer extensions'

if [ "${1:-}" = valgrind ]; then
    run_valgrind
    units valgrind
else
    units asan
    tap   'test_bits without 128-bit integers' build/plain/bits_portable
    plain 'SQL scripts, README examples' sh tests/sql/run.sh
    tap   'static build, SQLITE_CORE' build/asan/static_build
    tap   'bugs found, each a test' build/asan/regressions
    tap   'parts of ext without a table' build/asan/ext_units
    tap   'each allocation fails once' build/asan/oom
    tap   'persistent: allocations fail' build/asan/oom_table 397
    tap   'disk fails, power goes: a slice' build/asan/vfs_faults 800
    tap   'loading without memory' build/plain/loading
    plain 'stress: collisions made likely' build/asan/stress
    plain 'rules dropped, six of all' sh tests/stress/mutants.sh "$rules"
    plain 'fuzz targets, a slice' build/asan/replay 2000
    pytest 'Python: properties and models' "$PYTHON" -m pytest -q -n "$cores" -p no:cacheprovider tests/python
    pytest 'Python: hostile, under ASan' sanitized_python "$PYTHON" -m pytest -q -n "$cores" \
        -p no:cacheprovider tests/python/test_hostile.py tests/python/test_tables.py tests/python/test_handles.py \
        tests/python/test_loading.py tests/python/test_missed_rows.py tests/python/test_pending_log.py \
        tests/python/test_pending_log_ends.py tests/python/test_migrations.py tests/python/test_random_statements.py
    run_valgrind
    units valgrind
fi
echo "details: $log"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
