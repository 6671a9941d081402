#!/bin/sh
# SPDX-License-Identifier: MIT
# make t T=word: builds and runs what has this word in its name: C tests, Python tests, SQL scripts. With tests of
# filters the model runs, with those of tables the simulator, each for some seconds.
#   T=merge          the word: of a file, or of a test in it
#   SEED=n           the seed of all random tests (they print theirs when they fail)
#   ASAN=1           with sanitizers
#   GDB=1            the C tests in gdb, stopped where they fail
# The last line is "N passed, N failed".
set -u
: "${MAKE:=make}"
if [ -z "${T:-}" ]; then
    cat << 'END'
make t T=merge                  C tests, Python tests and SQL scripts with "merge" in their names
make t T=merge SEED=7           the seed of all random tests; a test that fails prints its own
make t T=merge ASAN=1           with address and undefined behaviour sanitizers
make t T=merge GDB=1            the C tests in gdb, stopped where they fail
make t T=sim, T=model, T=fuzz   random tables; random filters; hostile bytes
END
    exit 1
fi
[ -z "${SEED:-}" ] || export CUCKOO_TEST_SEED="$SEED"
kind=plain extension=build/cuckoo.so
[ -z "${ASAN:-}" ] || kind=asan extension=build/asan/cuckoo.so
[ -z "${GDB:-}" ] || kind=gdb

programs=$(find tests/unit tests/faults -name "*$T*.c" -exec basename -s .c {} +)
FILES=$(find tests/python tests/bench -name 'test_*.py' | while read -r file; do
    case $file in *"$T"*) echo "$file" ;; *) ! grep -qE "def test_[a-z0-9_]*$T" "$file" || echo "$file" ;; esac
done)
SCRIPTS=$(find tests/sql sql -name "*$T*.sql")
case "$T $programs" in fuzz*) programs="$programs fuzz" ;; model* | *test_*) programs="$programs model" ;; esac
case "$T $FILES" in sim* | */follow/* | */front/* | */tables/*) programs="$programs sim" ;; esac
groups=$(for program in $programs; do echo "$kind:$program"; done; echo ${SCRIPTS:+t_sql} ${FILES:+t_python})
if [ -z "$groups" ]; then
    echo "No test has \"$T\" in its name: see tests/unit, tests/python, tests/sql."
    exit 1
fi

# shellcheck disable=SC2046,SC2086 # the programs are words
"$MAKE" -s SKIP_DEPS=1 -j"${TEST_JOBS:-$(getconf _NPROCESSORS_ONLN)}" \
    $(for program in $programs; do echo "build/$kind/$program"; done) ${SCRIPTS:+$extension} ${FILES:+$extension} || exit 1
if [ -n "${GDB:-}" ]; then
    for program in $programs; do
        CMOCKA_TEST_ABORT=1 gdb -q -ex run --args "build/$kind/$program"
    done
    exit 0
fi
export T FILES SCRIPTS ASAN
# shellcheck disable=SC2086 # the groups are words
TEST_FOLDER=build/t exec sh tests/run.sh groups $groups
