#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the program of every client in tests/ship/clients that is installed; the last line is "N passed, N failed".
# All programs do the same and print the same line; so do those that let a tool migrate the followed table.
# What README.md of that folder says of a client, its programs must do: each piece of code in a row of its
# table has to stand in one of them.
# Where it can be made, the locale has a decimal comma.
set -u
. tests/ending.sh
passed=0 failed=0 skipped=0 tried=0
folder=$PWD/build/clients
modules=$folder/node_modules
answer='ids 1 0 0 1 0, texts 1 0, table 1 0' migrated='refused, rebuilt 1 1 1 0 ok'
: "${PYTHON:=/usr/bin/python3}" "${SQLITE3:=/usr/bin/sqlite3}"
# shellcheck disable=SC2034 # the list below uses them
cc=${CC:-cc} jdbc=${JDBC:-/usr/share/java/sqlite-jdbc.jar}
mkdir -p "$folder"
: > "$folder/init"
export NODE_PATH="${NODE_PATH:+$NODE_PATH:}$modules" NODE_NO_WARNINGS=1 GO111MODULE=off
export GOPATH="${GOPATH:-/usr/share/gocode}" GOCACHE="${GOCACHE:-$folder/go}"

if localedef -i de_DE -f UTF-8 "$folder/de_DE.UTF-8" 2> /dev/null || [ -d "$folder/de_DE.UTF-8" ]; then
    export LOCPATH="$folder" LC_ALL=de_DE.UTF-8
fi

# program | is it installed? | how it is run | what brings it (Debian's packages)
clients() {
    cat <<'LIST'
use_shell.sql|$SQLITE3 --version|$SQLITE3 -batch -init $folder/init < $program|sqlite3
use_python.py|$PYTHON -c 'import sqlite3; sqlite3.Connection.enable_load_extension'|$PYTHON $program|python3 whose sqlite3 module loads extensions
use_apsw.py|$PYTHON -c 'import apsw'|$PYTHON $program|python3-apsw
use_sqlalchemy.py|$PYTHON -c 'import sqlalchemy'|$PYTHON $program|python3-sqlalchemy
use_django.py|$PYTHON -c 'import django'|$PYTHON $program|python3-django
migrate_alembic.py|$PYTHON -c 'import alembic'|$PYTHON $program|python3-alembic
migrate_django.py|$PYTHON -c 'import django'|$PYTHON $program|python3-django
use_sqlite_utils.py|sqlite-utils --version|$PYTHON $program|sqlite-utils
migrate_sqlite_utils.py|$PYTHON -c 'import sqlite_utils'|$PYTHON $program|sqlite-utils
use_node.mjs|node -e 'require("node:sqlite")'|node $program|nodejs, 22.13 or later
use_node.mjs|$modules/.bin/deno --version|$modules/.bin/deno run --no-prompt --allow-ffi $program|npm install --prefix build/clients deno
use_bun.js|$modules/.bin/bun --version|$modules/.bin/bun run $program|npm install --prefix build/clients bun
use_better_sqlite3.js|node -e 'require("better-sqlite3")'|node $program|npm install --prefix build/clients better-sqlite3
use_libsql.js|node -e 'require("libsql")'|node $program|npm install --prefix build/clients libsql
use_php.php|php -r 'new SQLite3(":memory:");'|php -d sqlite3.extension_dir=$PWD/build $program|php-cli php-sqlite3
use_pdo.php|php -r 'new Pdo\Sqlite("sqlite::memory:");'|php $program|php-cli php-sqlite3, 8.4 or later
use_perl.pl|perl -MDBD::SQLite -e 1|perl $program|libdbd-sqlite3-perl
use_ruby.rb|ruby -e 'require "sqlite3"'|ruby $program|ruby-sqlite3
UseJava.java|java --version && ls $jdbc|java -cp $jdbc $program|default-jdk-headless libxerial-sqlite-jdbc-java
use_go.go|go version && ls $GOPATH/src/github.com/mattn/go-sqlite3|go run -tags libsqlite3 $program|golang-go golang-github-mattn-go-sqlite3-dev
use_c.c|$cc --version|$cc -o $folder/use_c $program -lsqlite3 && $folder/use_c|gcc libsqlite3-dev
use_r.R|Rscript -e 'library(RSQLite)'|Rscript --vanilla $program|r-cran-rsqlite
use_tcl.tcl|echo 'package require sqlite3; puts ok' > $folder/probe.tcl; tclsh $folder/probe.tcl|tclsh $program|tcl libsqlite3-tcl
LIST
}

verdict() {
    printf '%-5s %-24s %s\n' "$1" "$2" "$3"
}

# try PROGRAM PROBE RUN PACKAGES: one line of the answer.
try() {
    program=tests/ship/clients/$1
    if ! eval "$2" > "$folder/probe.log" 2>&1; then
        skipped=$((skipped + 1))
        verdict skip "$1" "not here: $4"
        return
    fi
    tried=$((tried + 1))
    said=$(eval "$3" 2> "$folder/errors.log")
    case $1 in
    migrate_django.py) wanted="found 1, ${migrated#*, }" ;; # it makes the column UNIQUE, and its index answers
    migrate_*) wanted=$migrated ;;
    *)         wanted=$answer ;;
    esac
    if [ "$said" = "$wanted" ]; then
        passed=$((passed + 1))
        verdict ok "$1" "$said"
    else
        failed=$((failed + 1))
        verdict FAIL "$1" "$said"
        cat "$folder/errors.log"
    fi
}

# row LINE: one row of the table of clients: its programs exist, and hold its code.
row() {
    programs=$(printf '%s\n' "$1" | grep -oE '\]\([A-Za-z0-9_.]+' | sed 's#..#tests/ship/clients/#')
    wrong=0
    for program in $programs; do
        [ -f "$program" ] || wrong=1
    done
    printf '%s\n' "$1" | grep -oE '`[^`]+`' | tr -d '`' > "$folder/code"
    while read -r code; do
        # shellcheck disable=SC2086 # the programs are words
        cat $programs | grep -qF -- "$code" || { wrong=1; echo "not in $programs: $code"; }
    done < "$folder/code"
    return $wrong
}

# rows: the table names every program, and each of its rows is right.
rows() {
    grep '^| *\[' tests/ship/clients/README.md > "$folder/rows"
    bad=0
    while read -r line; do
        row "$line" || bad=1
    done < "$folder/rows"
    for program in tests/ship/clients/*[!d]; do
        grep -qF "(${program##*/})" "$folder/rows" || { bad=1; echo "README.md does not name $program"; }
    done
    return $bad
}

if rows; then
    passed=$((passed + 1))
    verdict ok clients/README.md "every row is what the programs do"
else
    failed=$((failed + 1))
    verdict FAIL clients/README.md "a row differs from the programs"
fi
clients > "$folder/list"
while IFS='|' read -r name probe run packages <&3; do
    try "$name" "$probe" "$run" "$packages"
done 3< "$folder/list"

echo "$skipped skipped: not installed; locale ${LC_ALL:-as it was}"
if [ "$tried" -eq 0 ]; then
    failed=$((failed + 1))
    echo 'failed: no client is installed, so none was tested; each line above says what brings it'
fi
ending "$passed" "$failed"
