#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs groups of tests, as many at a time as there are cores. The last line is "N passed, N failed".
#   run.sh            make test: everything
#   run.sh check      make check: some of everything, in seconds
#   run.sh valgrind   make valgrind: all unit tests under valgrind
#   run.sh damage     make fuzz-rows: damaged rows of filter tables, with what they say on the screen
#   run.sh coverage   make coverage: what has a build that counts
#   run.sh groups GROUP...    the groups named
# Each group prints one line, in a fixed order, with the processor time that it took. What the groups wrote stands in build/test.log.
# A group that has tested nothing has failed, unless it says what it lacks (ending.sh). So has a run of such groups only.
set -u
: "${TEST_FOLDER:=build/test}"
log=$TEST_FOLDER.log
dir=$TEST_FOLDER
cores=${TEST_JOBS:-$(getconf _NPROCESSORS_ONLN)}
: "${PYTHON:=/usr/bin/python3}" "${VALGRIND:=}" "${PORTABLE:=}"

# Python tests with hostile bytes, damage and odd ends; what tables do has the simulator.
asan_python='hostile python_filter handles key_lists loading migrations damage log triggers'

# The same commit runs the same cases: what is random has its seed from the commit. CUCKOO_SLICE=n says where the slices of long
# tests start, CUCKOO_TEST_SEED=n is the seed of random tests; FRESH=1 draws new ones, as the long targets do.
commit=$([ -n "${FRESH:-}" ] || git rev-parse HEAD 2> /dev/null)
seed=$(printf '%d' "0x$(printf '%.7s' "${commit:-$(od -An -N4 -tx4 /dev/urandom | tr -d ' ')}")")
: "${CUCKOO_SLICE:=$((seed % 65536))}" "${CUCKOO_TEST_SEED:=$seed}"
export CUCKOO_SLICE CUCKOO_TEST_SEED TEST_FOLDER

units() {
    find tests/unit -name 'test_*.c' -exec basename -s .c {} + | sort | sed "s/^/$1:/"
}

# The groups in the order in which they start and are printed, long ones first. Python uses all cores, hence last.
groups_of() {
    case ${1:-} in
    check)
        echo quick:tables,follow plain:sim quick:blobs,extension,fixtures,front,keys sql_quick plain:model rooms plain:fuzz
        units plain
        ;;
    valgrind)
        units valgrind
        ;;
    coverage)
        echo coverage:sim coverage:oom coverage:fuzz
        units coverage
        echo coverage:linked coverage:shared_cache
        echo coverage:model coverage:loading sql
        ;;
    groups)
        shift
        echo "$@"
        ;;
    *)
        echo mutants one_file
        for program in $VALGRIND; do
            echo "valgrind:$program"
        done
        echo asan:oom asan:sim sim_each asan:fuzz asan:model threads installed sql
        units asan
        echo rooms runners bench_check bench_scripts asan:linked asan:shared_cache loading clients versions
        for program in $PORTABLE; do
            echo "portable:$(basename "$program")"
        done
        ;;
    esac
}

# every N: in make test, of many cases every N-th (tests/unit/test.h, tests/faults/oom.c).
every() {
    [ -z "${SLICED:-}" ] || echo "CUCKOO_EVERY=$1"
}

under_valgrind() {
    # shellcheck disable=SC2046 # nothing, or a variable
    env $(every 5) valgrind -q --error-exitcode=99 --leak-check=full "$@"
}

# Reads only: the fuzz targets keep their connection to the end, and the sanitizer looks for leaks.
under_valgrind_reads() {
    valgrind -q --error-exitcode=99 --leak-check=no "$@"
}

# A short memory of freed blocks and of call stacks: a fifth less time where blocks are many.
cheap_asan() {
    ASAN_OPTIONS=quarantine_size_mb=16:malloc_context_size=6 "$@"
}

# With sanitizers in a program that has none. Python and the shell keep memory to their ends.
sanitized() {
    LD_PRELOAD="$(${CC:-cc} -print-file-name=libasan.so) $(${CC:-cc} -print-file-name=libubsan.so)" \
    ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc CUCKOO_SO=build/asan/cuckoo.so "$@"
}

python_tests() {
    "$PYTHON" -m pytest -q -n "$cores" -p no:cacheprovider --hypothesis-seed="$CUCKOO_TEST_SEED" "$@"
}

# run GROUP: one group; its name in build/test is the group's. What stands before a colon is the build.
run() {
    program=build/${1%%:*}/${1#*:}
    case $1 in
    quick:*)
        # shellcheck disable=SC2046 # the folders are words
        pytest "Python: ${1#*:}" "$PYTHON" -m pytest -q -p no:cacheprovider --hypothesis-seed="$CUCKOO_TEST_SEED" --quick \
            $(echo "${1#*:}" | tr , '\n' | sed 's|^|tests/python/|')
        ;;
    portable:model)   last 'random filters, plain C11' "$program" 200 ;;
    portable:*)       tap "${1#*:}, plain C11" "$program" ;;
    valgrind:model)   last 'valgrind: random filters, short' under_valgrind build/plain/model 20 ;;
    valgrind:fuzz)    last 'valgrind: fuzz targets, short' under_valgrind_reads build/plain/fuzz 20 ;;
    valgrind:*)       tap "valgrind: ${1#*:}" under_valgrind "build/plain/${1#*:}" ;;
    try:*.sh)         last "$1" sh "build/runners/${1#*:}" ;;
    try:*.py)         pytest "$1" "$PYTHON" -m pytest -q -p no:cacheprovider "build/runners/${1#*:}" ;;
    try:*)            tap "$1" sh "build/runners/${1#*:}" ;;
    coverage:loading) tap 'loading without memory' env CUCKOO_SO=build/coverage_so/cuckoo.so build/plain/loading ;;
    *:linked)         tap 'linked into a program, SQLITE_CORE' "$program" ;;
    *:shared_cache)   tap 'threads in between: shared cache' "$program" ;;
    # shellcheck disable=SC2046 # nothing, or a variable
    *:oom)            tap 'each allocation fails once' cheap_asan env $(every 32) "$program" ;;
    plain:model)      last 'random filters beside a model' "$program" 400 ;;
    plain:sim)        last 'sim: filter tables, short' "$program" --all 6000 ;;
    plain:fuzz)       last 'fuzz targets, short' "$program" ;;
    *:model)          last 'random filters beside a model' "$program" 700 ;;
    *:sim)            last 'sim: filter tables beside a twin' cheap_asan "$program" --all 4000 ;;
    sim_each)         last 'sim: each call fails, a slice' build/plain/sim --runs 8 --each 61 ;;
    *:fuzz)           last 'fuzz targets, a slice' "$program" 1000 ;;
    *:*)              tap "${1#*:}" "$program" ;;
    threads)          last 'threads, under ThreadSanitizer' sh tests/ship/threads.sh ;;
    rooms)            last 'rooms: no arrow upwards' "$PYTHON" tests/rooms.py build/plain ;;
    sql)              last 'SQL scripts, README examples' sh tests/sql/run.sh ;;
    sql_quick)        last 'SQL scripts, README examples' sh tests/sql/run.sh quick ;;
    runners)          last 'runners: nothing is no success' sh tests/runners.sh ;;
    one_file)         last 'one file, every compiler at hand' sh tests/ship/one_file.sh ;;
    installed)        last 'make install, what make asks for' sh tests/ship/installed.sh ;;
    versions)         last 'another SQLite: a slice' sh tests/ship/versions.sh slice ;;
    clients)          last 'clients that are installed' sh tests/ship/clients.sh ;;
    bench_check)      last 'bench-check compares rightly' sh tests/bench/check.sh test ;;
    bench_scripts)    pytest 'figures: joined, shown, quoted' "$PYTHON" -m pytest -q -p no:cacheprovider tests/bench ;;
    loading)          tap 'loading without memory' build/plain/loading ;;
    mutants)          last 'rules dropped: a slice' "$PYTHON" tests/mutants/mutants.py --slice 2 --jobs 1 ;;
    t_sql)            last "SQL scripts: $T" ${ASAN:+sanitized} sh tests/sql/run.sh $SCRIPTS ;;
    t_python)
        set -f # the name of a case may have brackets
        # shellcheck disable=SC2086 # the files are words
        pytest "Python: $T" ${ASAN:+sanitized} "$PYTHON" -m pytest -v -p no:cacheprovider -p no:warnings --tb=short \
            --hypothesis-seed="$CUCKOO_TEST_SEED" ${WORD:+-k "$WORD"} $FILES
        ;;
    python)           pytest 'Python: properties and models' python_tests ${SLICED:+--slice} tests/python ;;
    python_asan)
        # shellcheck disable=SC2046 # the names are words
        pytest 'Python: hostile, under ASan' sanitized python_tests ${SLICED:+--slice} \
            $(for test in $asan_python; do echo tests/python/*/test_$test.py; done)
        ;;
    esac
}

# begin NAME: where the group keeps what it writes.
begin() {
    name=$1 out=$dir/$group.log
}

# judge: sets bad for a group that ended with an error, or tested nothing. One that lacks what it needs says so and ends with 77.
judge() {
    skipped=$(sed -n 's/^skipped: /   skipped: /p' "$out" | tail -1)
    [ "$bad" -eq 0 ] || return
    if [ "$good" -eq 0 ] && [ "$status" -eq 77 ] && [ "$skipped" ]; then
        return
    elif [ "$good" -eq 0 ] && [ "$status" -eq 0 ]; then
        echo 'failed: nothing was tested' >> "$out"
        bad=1
    elif [ "$status" -ne 0 ]; then
        bad=1
    fi
}

# finish PASSED FAILED: the line of the group, with the seconds of processor time. It appears at once and whole.
finish() {
    good=$1 bad=$2
    judge
    times > "$dir/$group.times"
    seconds=$(awk 'NR == 2 { split($1, user, "m"); print int(60 * user[1] + user[2] + 0.5) }' "$dir/$group.times")
    printf '%-34s %5d passed, %d failed %4d s%s\n' "$name" "$good" "$bad" "$seconds" "$skipped" > "$dir/$group.part"
    mv "$dir/$group.part" "$dir/$group.line"
}

# tap NAME COMMAND...: a cmocka program; each test prints ok or not ok. One that dies counts as failed.
tap() {
    begin "$1"
    shift
    CMOCKA_MESSAGE_OUTPUT=tap "$@" > "$out" 2>&1
    status=$?
    finish "$(grep -c '^ok ' "$out")" "$(grep -c '^not ok ' "$out")"
}

# last NAME COMMAND...: a program whose last line is "N passed, N failed".
last() {
    begin "$1"
    shift
    "$@" > "$out" 2>&1
    status=$?
    good=$(sed -n 's/^\([0-9]*\) passed, [0-9]* failed$/\1/p' "$out" | tail -1)
    bad=$(sed -n 's/^[0-9]* passed, \([0-9]*\) failed$/\1/p' "$out" | tail -1)
    finish "${good:-0}" "${bad:-0}"
}

# pytest NAME COMMAND...: counts from its closing line.
pytest() {
    begin "$1"
    shift
    "$@" > "$out" 2>&1
    status=$?
    line=$(tail -1 "$out")
    good=$(printf '%s' "$line" | sed -n 's/.*[^0-9]*\b\([0-9][0-9]*\) passed.*/\1/p')
    bad=$(printf '%s' "$line" | grep -oE '[0-9]+ (failed|error)' | awk '{ n += $1 } END { print n + 0 }')
    finish "${good:-0}" "$bad"
}

# running GROUP: the test in which it is; the program, where it does not say.
running() {
    test=$(sed -n 's/^# running: //p; s/ \(PASSED\|FAILED\|SKIPPED\|Timeout\) .*//; s/^tests[^ ]*::/&/p' "$dir/$1.log" 2> /dev/null | tail -1)
    echo "$1${test:+: $test}"
}

# report GROUP: waits for it, prints its line, and its end when something failed. One that died without a line failed.
report() {
    waited=0
    until [ -f "$dir/$1.line" ] || ! kill -0 "$pool" 2> /dev/null; do
        sleep 0.1
        waited=$((waited + 1))
        [ -z "${CUCKOO_TEST_LIMIT:-}" ] || [ $((waited % 100)) != 0 ] || echo "$((waited / 10)) s, running $(running "$1")"
    done
    [ -f "$dir/$1.line" ] || printf '%-34s %5d passed, %d failed (it died)\n' "$1" 0 1 > "$dir/$1.line"
    [ -f "$dir/$1.log" ] || : > "$dir/$1.log"
    cat "$dir/$1.line"
    sed -n 's/^skipped: /    skipped: /p' "$dir/$1.log"
    { echo "=== $(cat "$dir/$1.line")"; cat "$dir/$1.log"; } >> "$log"
    passed "$1" || tail -60 "$dir/$1.log"
}

passed() {
    grep -q ' 0 failed' "$dir/$1.line"
}

# what_failed GROUP...: once more at the end, in a few lines, for those who see the end only.
what_failed() {
    for group; do
        passed "$group" && continue
        echo "failed: $(cat "$dir/$group.line")"
        if grep -qE 'Timeout \(|^not ok - took longer|CPU time limit' "$dir/$group.log"; then
            echo "took longer than $CUCKOO_TEST_LIMIT s: $(running "$group")"
            continue
        fi
        lines=$(grep -E '^not ok|: error:|^(FAIL|ERROR|E  )|SURVIVED|Sanitizer|^failed| fails ' "$dir/$group.log" | head -8)
        echo "${lines:-$(tail -8 "$dir/$group.log")}"
    done
}

if [ "${1:-}" = damage ]; then
    sanitized "$PYTHON" -m pytest -q -s -p no:cacheprovider --tb=short -k random_damage tests/python/tables/test_damage.py
    exit
fi
if [ "${1:-}" = group ]; then
    group=$2
    # C tests, and those in Python, have a limit of their own, for each test.
    case $2 in t_python | *:test_*) ;; *) [ -z "${CUCKOO_TEST_LIMIT:-}" ] || ulimit -S -t "$CUCKOO_TEST_LIMIT" ;; esac
    run "$2"
    exit 0
fi

mode=${1:-}
after=
case $mode in
'')       after='python python_asan' SLICED=yes; export SLICED ;;
coverage) after=python CUCKOO_SO=build/coverage/cuckoo.so; export CUCKOO_SO ;;
esac
rm -rf "$dir"
mkdir -p "$dir"
: > "$log"
all=$(groups_of "$@")
# shellcheck disable=SC2086 # the groups are words
printf '%s\n' $all | xargs -P "$cores" -I{} sh "$0" group {} &
pool=$!
for group in $all; do
    report "$group"
done
wait
for group in $after; do
    sh "$0" group "$group"
    report "$group"
done
# shellcheck disable=SC2086 # the groups are words
what_failed $all $after
echo "details: $log; repeat it with CUCKOO_SLICE=$CUCKOO_SLICE CUCKOO_TEST_SEED=$CUCKOO_TEST_SEED"
cat "$dir"/*.line 2> /dev/null | awk '{ for (i = 2; i <= NF; i++) if ($i == "passed,") passed += $(i - 1); else if ($i == "failed") failed += $(i - 1) }
    END { if (!passed && !failed) print "failed: nothing was tested"
          printf "%d passed, %d failed\n", passed, failed; exit failed > 0 || passed == 0 }'
