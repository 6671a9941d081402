#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests the runners of tests: a run that tests nothing is no success, and says what it lacks. The last line is "N passed, N failed".
set -u
. tests/ending.sh
passed=0 failed=0
dir=build/runners
: "${PYTHON:=/usr/bin/python3}"
export PYTHON
rm -rf $dir
mkdir -p $dir

# verdict NAME GOOD: counts it; GOOD is empty when the run was not as expected.
verdict() {
    if [ "$2" ]; then
        passed=$((passed + 1))
        echo "ok   $1"
    else
        failed=$((failed + 1))
        echo "FAIL $1"
        tail -20 $dir/said
    fi
}

# ends STATUS PATTERN NAME COMMAND...: the status, 0, 1 or 77, or "bad" for any but 0, and what the answer matches.
ends() {
    wanted=$1 pattern=$2 name=$3
    shift 3
    "$@" > $dir/said 2>&1
    status=$?
    good=
    [ "$status" = "$wanted" ] || { [ "$wanted" = bad ] && [ "$status" -ne 0 ]; } && grep -qE -- "$pattern" $dir/said && good=yes
    verdict "$name" "$good"
}

# groups GROUP...: run.sh on them, out of the way of a run that this is a part of.
groups() {
    TEST_FOLDER=$dir/test sh tests/run.sh groups "$@"
}


# ---- run.sh ----

echo 'echo ok 1' > $dir/good
echo 'echo "1..0"' > $dir/empty
echo 'echo ok 1; exit 3' > $dir/dies
echo 'echo not ok 1' > $dir/bad
echo 'echo "2 passed, 0 failed"' > $dir/good.sh
echo 'echo "0 passed, 0 failed"' > $dir/empty.sh
echo '. tests/ending.sh; missing "a tool; apt-get install tool"' > $dir/lacks.sh
echo 'exit 77' > $dir/silent.sh
echo 'echo "skipped: a part"; exit 1' > $dir/dies.sh
echo 'def test_it(): pass' > $dir/test_good.py
echo '"no tests"' > $dir/test_empty.py
printf 'import pytest\n@pytest.mark.skip(reason="no tool")\ndef test_it(): pass\n' > $dir/test_skips.py

# line GROUP PATTERN: what the last run said of a group.
line() {
    good=$(grep -E "$2" $dir/test/$1.line)
    verdict "$1: $2" "$good"
}

ends 0   '^3 passed, 0 failed$'    'groups that pass, and one that lacks its tool'  groups try:good try:good.sh try:lacks.sh
ends 1   '^0 passed, 0 failed$'    'a run that lacks all its tools'                 groups try:lacks.sh
ends 1   'nothing was tested'      'no group'                                       groups
ends 1   'it died'                 'a group that there is not'                      groups nobody
ends 1   '^5 passed, 8 failed$'    'groups that test nothing' \
    groups try:good try:good.sh try:empty try:dies try:bad try:empty.sh try:lacks.sh try:silent.sh try:dies.sh \
    try:test_good.py try:test_empty.py try:test_skips.py
line try:good           ' 1 passed, 0 failed'
line try:empty          ' 0 passed, 1 failed'
line try:dies           ' 1 passed, 1 failed'
line try:empty.sh       ' 0 passed, 1 failed'
line try:lacks.sh       ' 0 passed, 0 failed .*skipped: a tool; apt-get'
line try:silent.sh      ' 0 passed, 1 failed'
line try:dies.sh        ' 0 passed, 1 failed'
line try:test_good.py   ' 1 passed, 0 failed'
line try:test_empty.py  ' 0 passed, 1 failed'
line try:test_skips.py  ' 0 passed, 1 failed'

# ---- a test that hangs ----

limited() {
    CUCKOO_TEST_LIMIT=1 "$@"
}
echo 'echo "# running: a_loop"; while :; do :; done' > $dir/hangs.sh
printf 'import threading\n\ndef test_it(): lock = threading.Lock(); lock.acquire(); lock.acquire()\n' > $dir/test_hangs.py
ends 1   'longer than 1 s: try:hangs.sh: a_loop' 'a loop without end'           limited groups try:hangs.sh
ends bad 'test_hangs.py::test_it .*Timeout'      'a lock that nobody gives back' \
    limited env PYTHONPATH=tests/python "$PYTHON" -m pytest -v -p no:cacheprovider -p quick $dir/test_hangs.py

# ---- the others, without what they need ----

ends 77  'deps-fuzz'                      'fuzz.sh without clang'           env CLANG=/nowhere/clang sh tests/model/fuzz.sh
ends 1   'FUZZ_SECONDS'                   'fuzz.sh for no time'             env FUZZ_SECONDS=0 sh tests/model/fuzz.sh
ends 77  'skipped: .*nowhere'             'threads.sh without a compiler'   env CC=/nowhere/cc sh tests/ship/threads.sh
ends 77  'gcov'                           'coverage.sh without gcov'        env GCOV=/nowhere/gcov sh tests/coverage.sh
ends 1   'no SQLite to build'             'versions.sh: no such folder'     sh tests/ship/versions.sh $dir/nowhere
ends bad 'none of: native'                'platforms.sh: another platform'  sh tests/ship/platforms.sh nobody
ends 1   'nobody.: nothing was tested'    'mutants.py: no such rule'        "$PYTHON" tests/mutants/mutants.py nobody
ends 1   'SEED=7'                         'make t without a word'           sh tests/t.sh
ends 1   'No test has "no_such_word"'     'make t for another word'         env T=no_such_word sh tests/t.sh
ends 1   'no file or folder tests/no.py'  'make t for another file'         env T=tests/no.py::test_it sh tests/t.sh
# Those that were built since.
for build in asan plain; do
    [ ! build/$build/fuzz -nt tests/model/fuzz.c ] || ends 1 '^0 passed'           "fuzz of nothing, $build"    build/$build/fuzz 0
    [ ! build/$build/model -nt tests/model/model.c ] || ends 2 'nothing was tested' "model of nothing, $build"  build/$build/model 0
done
ending $passed $failed
