#!/bin/sh
# SPDX-License-Identifier: MIT
# The SQL group and the Python tests on other versions of SQLite. The last line is "N passed, N failed".
#   versions.sh SOURCE...   a folder with sqlite3.c and sqlite3.h, and perhaps sqlite3ext.h and shell.c;
#                           an npm package that carries them (.tgz); or a sqlite3 shell that was built
#   versions.sh             the SQLite of this system, and those at hand (versions_fetch.sh)
#   versions.sh slice       make test: a part, on one of those that were built before; CUCKOO_SLICE says which
# VERSION_TESTS names the Python test files, all unless given. VERSION_BUILD_ONLY=1 stops after the libraries.
#
# Python's sqlite3 module is linked with libsqlite3.so.0, so a library of that name in LD_LIBRARY_PATH is the
# SQLite that it runs on. Each is built once, in build/versions/<version>/, with a shell if there is a shell.c.
# "own headers" is the SQL group once more, with the extension compiled against the headers of that version.
set -u
. tests/ending.sh
python=${PYTHON:-/usr/bin/python3}
system_shell=${SQLITE3:-/usr/bin/sqlite3}
files=${VERSION_TESTS:-tests/python}
cores=$(getconf _NPROCESSORS_ONLN)
built=$PWD/build/versions
passed=0 failed=0 others=0
mkdir -p "$built"
unset CUCKOO_SO

# Debian's options, as far as its python3 module, these tests or the order of things depend on them.
OPTIONS="-DSQLITE_THREADSAFE=1 -DSQLITE_ENABLE_LOAD_EXTENSION -DSQLITE_ENABLE_COLUMN_METADATA
    -DSQLITE_ENABLE_DESERIALIZE -DSQLITE_ENABLE_UNLOCK_NOTIFY -DSQLITE_ENABLE_DBSTAT_VTAB
    -DSQLITE_ENABLE_FTS3 -DSQLITE_ENABLE_FTS5 -DSQLITE_ENABLE_RTREE -DSQLITE_ENABLE_SESSION -DSQLITE_ENABLE_PREUPDATE_HOOK
    -DSQLITE_ENABLE_STMTVTAB -DSQLITE_ENABLE_MATH_FUNCTIONS -DSQLITE_ENABLE_JSON1
    -DSQLITE_SECURE_DELETE -DSQLITE_USE_URI=1 -DSQLITE_MAX_VARIABLE_NUMBER=250000"

compile() {
    # shellcheck disable=SC2086 # the options are words
    nice ${CC:-cc} ${SQLITE_CFLAGS:--O1} -w $OPTIONS "$@"
}

# ---- building ----

version_in() {
    sed -n 's/^#define SQLITE_VERSION  *"\(.*\)".*/\1/p' "$1/sqlite3.h" 2> /dev/null
}

newer() {
    [ -n "$(find "$1" -newer "$2" 2> /dev/null)" ]
}

# build FOLDER VERSION: library, shell and extension, each unless it is newer than its sources.
build() {
    made=$built/$2
    mkdir -p "$made"
    newer "$made/libsqlite3.so.0" "$1/sqlite3.c" || compile -fPIC -shared -Wl,-soname,libsqlite3.so.0 \
        -o "$made/libsqlite3.so.0" "$1/sqlite3.c" -lpthread -ldl -lm || return 1
    [ ! -f "$1/shell.c" ] || newer "$made/sqlite3" "$1/shell.c" || compile -I "$1" -o "$made/sqlite3" \
        "$1/shell.c" "$made/libsqlite3.so.0" -Wl,-rpath,"$made" -lpthread -ldl -lm || return 1
    [ ! -f "$1/sqlite3ext.h" ] || newer "$made/cuckoo.so" build/cuckoo.so || compile -std=c11 -DNDEBUG \
        -I "$1" -fPIC -fvisibility=hidden -shared -o "$made/cuckoo.so" $(find src ext -name "*.c") -lm
}

# ---- one version ----

# on VERSION COMMAND...: runs a command on the library of that version, if it has one.
on() {
    library=$built/$1
    shift
    [ -f "$library/libsqlite3.so.0" ] || library=
    LD_LIBRARY_PATH=$library "$@"
}

# shells VERSION: sql_shell for the SQL group, and python_shell for the Python tests. Without a shell.c these
# are shell.py, and the shell of the system, which runs on its own library only.
shells() {
    sql_shell=${shell:-$built/$1/sqlite3} python_shell=$sql_shell
    [ -x "$sql_shell" ] && return
    sql_shell=$built/shell.py.sh python_shell=$built/system_shell.sh
    printf '#!/bin/sh\nexec %s tests/sql/shell.py\n' "$python" > "$sql_shell"
    printf '#!/bin/sh\nexec env -u LD_LIBRARY_PATH %s "$@"\n' "$system_shell" > "$python_shell"
    chmod +x "$sql_shell" "$python_shell"
}

number() {
    printf '%s' "$2" | grep -oE "[0-9]+ $1" | awk '{ n += $1 } END { print n + 0 }'
}

# cell VERSION WHAT STATUS: a line of the answer, and below it what failed and what was skipped, from $log.
cell() {
    line=$(tail -1 "$log")
    good=$(number passed "$line") bad=$(number '(failed|error)' "$line") left=$(number skipped "$line")
    [ "$3" -ne 0 ] && [ "$bad" -eq 0 ] && bad=1
    passed=$((passed + good)) failed=$((failed + bad))
    printf '%-9s %-18s %5d passed, %d failed, %d skipped\n' "$1" "$2" "$good" "$bad" "$left"
    grep -E '^(FAIL|FAILED|ERROR) ' "$log" | head -10 | sed 's/^/          /'
    sed -n 's/^SKIPPED \[\([0-9]*\)\] [^ ]* /          skipped: \1: /p' "$log" | sort -u
}

# sql VERSION WHAT EXTENSION
sql() {
    log=$built/$1/sql.log
    CUCKOO_SO=$3 SQLITE3=$sql_shell SQL_TEST_FOLDER=$built/$1/sql on "$1" sh tests/sql/run.sh > "$log" 2>&1
    cell "$1" "$2" $?
}

# python_tests VERSION
python_tests() {
    log=$built/$1/python.log
    # shellcheck disable=SC2086 # the files are words
    SQLITE3=$python_shell on "$1" "$python" -m pytest -q -n "$cores" -p no:cacheprovider -rfEs --tb=short $files > "$log" 2>&1
    cell "$1" Python $?
}

test_version() {
    shells "$1"
    mkdir -p "$built/$1"
    sql "$1" SQL build/cuckoo.so
    [ ! -f "$built/$1/cuckoo.so" ] || sql "$1" 'SQL, own headers' "$built/$1/cuckoo.so"
    if [ "$(on "$1" "$python" -c 'import sqlite3; print(sqlite3.sqlite_version)' 2> /dev/null)" = "$1" ]; then
        python_tests "$1"
    else
        echo "skipped: $1, Python: its sqlite3 module runs on another SQLite; give the folder with sqlite3.c"
    fi
}

# test_source SOURCE: a folder, a package, or a shell.
test_source() {
    folder=$1 shell=
    case $1 in *.tgz | *.tar.gz) folder=$(sh tests/ship/versions_fetch.sh unpacked "$1") ;; esac
    if [ -f "$1" ] && [ "$folder" = "$1" ]; then
        shell=$1
        version=$("$shell" --version | cut -d' ' -f1)
    else
        version=$(version_in "$folder")
        if [ -z "$version" ] || ! build "$folder" "$version"; then
            echo "$1: no SQLite to build"
            failed=$((failed + 1))
            return
        fi
    fi
    others=$((others + 1))
    [ -n "${VERSION_BUILD_ONLY:-}" ] || test_version "$version"
}

have_built() {
    ls "$built"/*/libsqlite3.so.0 > /dev/null 2>&1 ||
        missing 'no other SQLite was built; make test-versions builds those that npm brings'
}

# slice: one of those that were built, and a few of the tests.
slice() {
    set -- "$built"/*/libsqlite3.so.0
    shift $((${CUCKOO_SLICE:-0} % $#))
    files='tests/python/follow/test_content.py tests/python/blobs/test_handles.py' cores=1 shell=
    test_version "$(basename "$(dirname "$1")")"
}

[ "${1:-}" != slice ] || have_built
if [ "${1:-}" = slice ]; then
    slice
elif [ $# -gt 0 ]; then
    for source in "$@"; do
        test_source "$source"
    done
else
    shell=$system_shell
    test_version "$("$system_shell" --version | cut -d' ' -f1)"
    sh tests/ship/versions_fetch.sh
    for source in "$built"/sources/*.tgz; do
        [ ! -f "$source" ] || test_source "$source"
    done
    if [ "$others" -eq 0 ]; then
        failed=$((failed + 1))
        echo 'failed: no other SQLite was tested: npm brought none; make test-versions VERSIONS="folder ...", each with' \
            'sqlite3.c and sqlite3.h'
    fi
fi
echo "details: build/versions/*/*.log"
if [ -n "${VERSION_BUILD_ONLY:-}" ]; then
    echo "$others built, $failed failed"
    [ "$others" -gt 0 ] && [ "$failed" -eq 0 ]
    exit
fi
ending "$passed" "$failed"
