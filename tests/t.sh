#!/bin/sh
# SPDX-License-Identifier: MIT
# make t T=word: builds and runs what has this word in its name: C tests, Python tests, SQL scripts; and the short model.
#   T=merge          the word: of a file, or of a test in it
#   SEED=n           the seed of all random tests (they print theirs when they fail)
#   ASAN=1           with sanitizers
#   GDB=1            the C tests under gdb, stopped where they fail
# The last line is "N passed, N failed".
set -u
. tests/ending.sh
: "${T:?make t T=word: a word in the names of tests, as merge, ageing, front}" "${PYTHON:=/usr/bin/python3}" "${MAKE:=make}"
[ -z "${SEED:-}" ] || export CUCKOO_TEST_SEED="$SEED"
kind=plain extension=build/cuckoo.so preload='' passed=0 failed=0
if [ -n "${ASAN:-}" ]; then
    kind=asan extension=build/asan/cuckoo.so
    preload="$(${CC:-cc} -print-file-name=libasan.so) $(${CC:-cc} -print-file-name=libubsan.so)"
fi

units=$(find tests/unit -name "test_*$T*.c" -exec basename -s .c {} + | sed "s|^|build/$kind/|")
python=$(find tests/python -name 'test_*.py' | while read -r file; do
    case $file in *"$T"*) echo "$file" ;; *) ! grep -qE "def test_[a-z0-9_]*$T" "$file" || echo "$file" ;; esac
done)
scripts=$(find tests/sql sql -name "*$T*.sql")

[ -z "$python$scripts" ] || need=$extension
# shellcheck disable=SC2086 # the programs are words
"$MAKE" -s SKIP_DEPS=1 -j"$(getconf _NPROCESSORS_ONLN)" $units "build/$kind/model" ${need:-} || exit 1

count() {
    good=$(grep -cE "$1" "$log") bad=$(grep -cE "$2" "$log")
    [ "$status" -eq 0 ] || [ "$bad" -gt 0 ] || bad=1
    passed=$((passed + good)) failed=$((failed + bad))
    printf '%-52s %d passed, %d failed\n' "$name" "$good" "$bad"
    [ "$bad" -eq 0 ] || grep -vE '^(ok|#) ' "$log" | tail -40
}

log=$(mktemp)
trap 'rm -f "$log"' EXIT
for name in $units; do
    if [ -n "${GDB:-}" ]; then
        CMOCKA_TEST_ABORT=1 gdb -q -ex run --args "$name"
        continue
    fi
    CMOCKA_MESSAGE_OUTPUT=tap "$name" > "$log" 2>&1
    status=$?
    count '^ok ' '^not ok '
done
[ -z "${GDB:-}" ] || exit 0
name="build/$kind/model"
"$name" > "$log" 2>&1
status=$?
good=$(sed -n 's/^\([0-9]*\) passed, .*/\1/p' "$log" | tail -1) passed=$((passed + ${good:-0}))
[ "$status" -eq 0 ] || { failed=$((failed + 1)); tail -20 "$log"; }
printf '%-52s %s\n' "$name" "$(tail -1 "$log")"
if [ -n "$scripts" ]; then
    name="$(echo "$scripts" | wc -l) SQL scripts"
    # shellcheck disable=SC2086 # the scripts are words
    CUCKOO_SO=$extension LD_PRELOAD=$preload ASAN_OPTIONS=detect_leaks=0 sh tests/sql/run.sh $scripts > "$log" 2>&1
    status=$?
    count '^ok ' '^FAIL '
fi
if [ -n "$python" ]; then
    # shellcheck disable=SC2086 # the files are words
    LD_PRELOAD=$preload ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc CUCKOO_SO=$extension \
        "$PYTHON" -m pytest -q -p no:cacheprovider -p no:warnings --tb=short -k "$T" $python > "$log" 2>&1
    status=$?
    line=$(tail -1 "$log") name="Python: $(echo "$python" | wc -l) files"
    good=$(printf '%s' "$line" | grep -oE '[0-9]+ passed' | cut -d' ' -f1)
    bad=$(printf '%s' "$line" | grep -oE '[0-9]+ (failed|error)' | awk '{ n += $1 } END { print n + 0 }')
    [ "$status" -eq 0 ] || [ "$bad" -gt 0 ] || bad=1
    passed=$((passed + ${good:-0})) failed=$((failed + bad))
    printf '%-52s %s\n' "$name" "$line"
    [ "$bad" -eq 0 ] || tail -60 "$log"
fi
ending "$passed" "$failed"
