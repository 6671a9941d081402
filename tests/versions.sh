#!/bin/sh
# Runs Python tests on other versions of SQLite; the last line is "N passed, N failed".
#   versions.sh FOLDER...   each folder holds a sqlite3.c and a sqlite3.h
# VERSION_TESTS names the test files; the default is those of the persistent table and of the keys.
# VERSION_BUILD_ONLY=1 stops after the libraries.
#
# Python's sqlite3 module is linked with libsqlite3.so.0, so a library of that name in
# LD_LIBRARY_PATH is the SQLite that it runs on. Each is built once, in build/versions/<version>/.
set -u
python=${PYTHON:-/usr/bin/python3}
passed=0 failed=0

[ $# -gt 0 ] || { echo "usage: make test-versions VERSIONS=\"folder ...\", each with sqlite3.c and sqlite3.h"; exit 2; }

version_in() {
    sed -n 's/^#define SQLITE_VERSION  *"\(.*\)".*/\1/p' "$1/sqlite3.h"
}

# Debian's options, as far as its python3 module, these tests or the order of things depend on them.
OPTIONS="-DSQLITE_THREADSAFE=1 -DSQLITE_ENABLE_LOAD_EXTENSION -DSQLITE_ENABLE_COLUMN_METADATA
    -DSQLITE_ENABLE_DESERIALIZE -DSQLITE_ENABLE_UNLOCK_NOTIFY -DSQLITE_ENABLE_DBSTAT_VTAB
    -DSQLITE_ENABLE_FTS5 -DSQLITE_ENABLE_RTREE -DSQLITE_ENABLE_SESSION -DSQLITE_ENABLE_PREUPDATE_HOOK
    -DSQLITE_ENABLE_STMTVTAB -DSQLITE_ENABLE_MATH_FUNCTIONS -DSQLITE_ENABLE_JSON1
    -DSQLITE_SECURE_DELETE -DSQLITE_USE_URI=1 -DSQLITE_MAX_VARIABLE_NUMBER=250000"

# library FOLDER VERSION: builds it unless it is newer than its source.
library() {
    made=build/versions/$2/libsqlite3.so.0
    [ "$made" -nt "$1/sqlite3.c" ] && return
    mkdir -p "build/versions/$2"
    # shellcheck disable=SC2086 # the options are words
    ${CC:-cc} -O1 -w -fPIC -shared $OPTIONS -Wl,-soname,libsqlite3.so.0 -o "$made" "$1/sqlite3.c" \
        -lpthread -ldl -lm
}

# The shell was made for the SQLite of the system, and refuses any other.
mkdir -p build/versions
shell=$PWD/build/versions/sqlite3
printf '#!/bin/sh\nexec env -u LD_LIBRARY_PATH %s "$@"\n' "${SQLITE3:-/usr/bin/sqlite3}" > "$shell"
chmod +x "$shell"

# on VERSION COMMAND...: runs a command on that version.
on() {
    folder=$PWD/build/versions/$1
    shift
    LD_LIBRARY_PATH=$folder SQLITE3=$shell "$@"
}

number() {
    printf '%s' "$2" | grep -oE "[0-9]+ $1" | awk '{ n += $1 } END { print n + 0 }'
}

# group VERSION FILE: one line of the answer.
group() {
    name=$(basename "$2" .py)
    log=build/versions/$1/$name.log
    on "$1" "$python" -m pytest -q -p no:cacheprovider "$2" > "$log" 2>&1
    status=$?
    line=$(tail -1 "$log")
    good=$(number passed "$line") bad=$(number '(failed|error)' "$line")
    [ "$status" -ne 0 ] && [ "$bad" -eq 0 ] && bad=1
    passed=$((passed + good)) failed=$((failed + bad))
    printf '%-8s %-34s %5d passed, %d failed\n' "$1" "$name" "$good" "$bad"
}

files=${VERSION_TESTS:-$(ls tests/python/test_persistent*.py tests/python/test_key*.py \
    tests/python/test_missed_*.py tests/python/test_migrations.py tests/python/test_pending_log*.py \
    tests/python/test_random_statements.py)}

for folder in "$@"; do
    version=$(version_in "$folder")
    [ -n "$version" ] && library "$folder" "$version" || { echo "$folder: no SQLite to build"; exit 2; }
    runs=$(on "$version" "$python" -c 'import sqlite3; print(sqlite3.sqlite_version)')
    [ "$runs" = "$version" ] || { echo "$python runs on SQLite $runs, not $version: its module is linked otherwise"; exit 2; }
    [ -n "${VERSION_BUILD_ONLY:-}" ] && continue
    for file in $files; do
        group "$version" "$file"
    done
done
echo "details: build/versions/*/test_*.log"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
