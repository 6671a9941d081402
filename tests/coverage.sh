#!/bin/sh
# SPDX-License-Identifier: MIT
# Coverage of src/ and ext/ by unit tests, fault loops, model, fuzz targets, SQL scripts and Python tests together: run.sh with
# builds that count (gcc --coverage), as programs and as the extension. coverage.py adds up what gcov says: a line per
# file, those that miss most first, then src and ext. build/coverage/missing.txt names lines and branches that nothing reaches.
# A process that is killed does not tell what it has reached. Fails when a test fails.
set -u
: "${CC:=cc}" "${PYTHON:=/usr/bin/python3}" "${GCOV:=$($CC -print-prog-name=gcov)}"
. tests/ending.sh
command -v "$GCOV" > /dev/null || missing "gcov, which comes with gcc: make coverage CC=gcc, or GCOV=program"

programs='oom sim linked shared_cache fuzz model cuckoo.so'
# shellcheck disable=SC2046,SC2086 # the names are words
SKIP_DEPS=1 ${MAKE:-make} -s -j"$(getconf _NPROCESSORS_ONLN)" build/cuckoo.so build/plain/loading build/coverage_so/cuckoo.so \
    $(printf 'build/coverage/%s ' $programs $(find tests/unit -name "test_*.c" -exec basename -s .c {} +)) || exit 1
find build/coverage build/coverage_so -name '*.gcda' -delete
sh tests/run.sh coverage
status=$?
"$PYTHON" tests/coverage.py "$GCOV" build/coverage build/coverage_so || status=1
exit $status
