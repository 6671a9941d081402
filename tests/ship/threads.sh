#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the programs of tests/ship/threads with ThreadSanitizer and runs them. The last line is "N passed, N failed".
#   SQLITE_SOURCE=folder tests/ship/threads.sh    with the sqlite3.c of that folder, which is watched as well (not older than
#                                            the headers)
#
# Otherwise SQLite is the system's, which was compiled without the sanitizer. That is enough for races of the
# extension: its own accesses are seen, and so are the mutexes of SQLite, by which they are ordered. Nothing is
# suppressed.
set -u
cc=${CC:-cc}
out=build/tsan
passed=0 failed=0
mkdir -p $out

. tests/ending.sh

# The sanitizer refuses some layouts of addresses; then it gets one that is not random.
run=
echo 'int main(void) { return 0; }' > $out/probe.c
$cc -fsanitize=thread -o $out/probe $out/probe.c 2> $out/probe.log ||
    missing "$cc has no ThreadSanitizer here (-fsanitize=thread; it comes with gcc and clang, not with musl)"
if ! $out/probe 2>> $out/probe.log; then
    run='setarch -R'
    $run $out/probe 2>> $out/probe.log || missing "ThreadSanitizer does not run here: $(tail -1 $out/probe.log)"
fi

if [ -n "${SQLITE_SOURCE:-}" ]; then
    watched=$out/libsqlite3.a
    $cc -O1 -g -w -fsanitize=thread -DSQLITE_THREADSAFE=1 -c -o $out/sqlite3.o "$SQLITE_SOURCE/sqlite3.c" &&
        ar rcs $watched $out/sqlite3.o || exit 1
    rm -f $out/connections
fi
SKIP_DEPS=1 ${MAKE:-make} -s $out/library $out/connections ${watched:+SQLITE_LIBRARY="$watched -lpthread -ldl"} || exit 1
[ -n "${watched:-}" ] && trap 'rm -f $out/connections' EXIT

for program in library connections; do
    log=$out/$program.log
    CMOCKA_MESSAGE_OUTPUT=tap $run $out/$program > $log 2>&1
    status=$?
    good=$(grep -c '^ok ' $log) bad=$(grep -c '^not ok ' $log)
    [ "$status" -ne 0 ] && [ "$bad" -eq 0 ] && bad=1
    passed=$((passed + good)) failed=$((failed + bad))
    [ "$bad" -eq 0 ] || cat $log
done
ending "$passed" "$failed"
