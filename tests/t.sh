#!/bin/sh
# SPDX-License-Identifier: MIT
# make t T=word: builds and runs what has this word in its name: C tests, Python tests, SQL scripts. With tests of
# filters the model runs, with those of tables the simulator, each for some seconds.
#   T=merge          the word: of a file, or of a test in it
#   T=path           a file or a folder with tests; T=tests/python/keys/test_hash.py::test_x one of them; of src/x/y.c: as
#                    T=y, with the model, and without such a test all of tests/unit/x; of ext/x/y.c: as T=y, or those
#                    of its folder
#   LIMIT=120        a test that takes more than so many seconds fails, and is named; what runs is said every ten seconds
#   SEED=n           the seed of all random tests (they print theirs when they fail)
#   ASAN=1           with sanitizers
#   GDB=1            the C tests in gdb, stopped where they fail
# The last line is "N passed, N failed".
set -u
: "${MAKE:=make}"
if [ -z "${T:-}" ]; then
    cat << 'END'
make t T=merge                  C tests, Python tests and SQL scripts with "merge" in their names
make t T=tests/python/keys      a folder or a file with tests, or FILE::TEST; T=src/shape/plan.c: the tests of that file
make t T=merge SEED=7           the seed of all random tests; a test that fails prints its own
make t T=merge ASAN=1           with address and undefined behaviour sanitizers
make t T=merge GDB=1            the C tests in gdb, stopped where they fail
make t T=merge LIMIT=600        the seconds that a test may take; 120
make t T=sim, T=model, T=fuzz   random tables; random filters; hostile bytes
END
    exit 1
fi
[ -z "${SEED:-}" ] || export CUCKOO_TEST_SEED="$SEED"
kind=plain extension=build/cuckoo.so
[ -z "${ASAN:-}" ] || kind=asan extension=build/asan/cuckoo.so
[ -z "${GDB:-}" ] || kind=gdb

# of_path: the tests in a file or a folder; -k then chooses none of them.
of_path() {
    folder=${T%%::*} WORD=
    case $folder in
    src/*) folder=tests/unit/${folder#src/} ;;
    esac
    programs=$(find "$folder" -path 'tests/unit/*/*.c' -exec basename -s .c {} + -o -path 'tests/faults/*.c' -exec basename -s .c {} +)
    FILES=$(find "$folder" -name 'test_*.py')
    case $T in *.py::*) FILES=$T ;; esac
    SCRIPTS=$(find "$folder" -name '*.sql')
    case $folder/ in tests/sim/*) programs=sim ;; tests/model/*) programs='model fuzz' ;; esac
}

of_word() {
    WORD=$T
    programs=$(find tests/unit tests/faults -name "*$T*.c" -exec basename -s .c {} +)
    FILES=$(find tests/python tests/bench -name 'test_*.py' | while read -r file; do
        case $file in *"$T"*) echo "$file" ;; *) ! grep -qE "def test_[a-z0-9_]*$T" "$file" || echo "$file" ;; esac
    done)
    SCRIPTS=$(find tests/sql sql -name "*$T*.sql")
    case "$T $programs" in fuzz*) programs="$programs fuzz" ;; model* | *test_*) programs="$programs model" ;; esac
    case "$T $FILES" in sim* | */follow/* | */front/* | */tables/*) programs="$programs sim" ;; esac
}

T=${T#"$PWD/"}
T=${T#./}
T=${T%/}
[ -e "$T" ] || [ ! -e "$T.py" ] || T=$T.py
of_room=
case $T in
src/*.[ch])
    of_room=tests/unit/$(basename "$(dirname "$T")") T=$(basename "${T%.*}")
    case $T in epochs) T=ageing ;; esac
    ;;
ext/*.[ch])
    room=$(basename "$(dirname "$T")") T=$(basename "${T%.*}")
    if ! find tests/unit tests/python -name "*$T*" | grep -q .; then
        case $room in follow | keys) T=tests/python/$room ;; functions | inspect) T=tests/python/blobs ;; *) T=tests/python/tables ;; esac
    fi
    ;;
*/* | *.*) [ -e "${T%%::*}" ] || { echo "There is no file or folder ${T%%::*}"; exit 1; } ;;
esac
if [ -e "${T%%::*}" ] && [ "$T" != "${T#*[/.]}" ]; then of_path; else of_word; fi
if [ -n "$of_room" ]; then
    case " $programs" in *" test_"*) ;; *) programs="$programs $(find "$of_room" -name 'test_*.c' -exec basename -s .c {} +)" ;; esac
    programs=$(printf '%s\n' $programs model | sort -u)
fi
groups=$(for program in $programs; do echo "$kind:$program"; done; echo ${SCRIPTS:+t_sql} ${FILES:+t_python})
if [ -z "$groups" ]; then
    echo "No test $([ -n "$WORD" ] && echo "has \"$T\" in its name" || echo "is in $T"): see tests/unit, tests/python, tests/sql."
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
export T WORD FILES SCRIPTS ASAN CUCKOO_TEST_LIMIT="${LIMIT:-120}"
# shellcheck disable=SC2086 # the groups are words
TEST_FOLDER=build/t exec sh tests/run.sh groups $groups
