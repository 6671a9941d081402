#!/bin/sh
# SPDX-License-Identifier: MIT
# Brings npm packages that carry the source of SQLite to build/versions/sources, unless some are there.
# better-sqlite3 has sqlite3.c, and sqlite3 the shell.c as well. Without npm or its registry nothing is
# tested but the SQLite of this system.
#   versions_fetch.sh                   brings them
#   versions_fetch.sh unpacked PACKAGE  prints the folder in it with sqlite3.c
#   versions_fetch.sh newest            brings them, and prints the folder with the newest; nothing: there is none
set -u
folder=build/versions/sources
mkdir -p "$folder"

unpacked() {
    into=$folder/$(basename "$1" .tgz)
    mkdir -p "$into" && tar xzf "$1" -C "$into" || return 1
    find "$into" -name '*.tar.gz' -exec tar xzf {} -C "$into" \;
    dirname "$(find "$into" -name sqlite3.c | head -1)"
}

newest() {
    sh "$0" 2> /dev/null
    for package in "$folder"/*.tgz; do
        [ ! -f "$package" ] || unpacked "$package"
    done | while read -r source; do
        echo "$(awk '/^#define SQLITE_VERSION_NUMBER/ { print $3 }' "$source/sqlite3.h") $source"
    done | sort -n | tail -1 | cut -d' ' -f2-
}

case ${1:-} in
unpacked) unpacked "$2"; exit ;;
newest)   newest; exit ;;
esac
[ -z "$(find "$folder" -name '*.tgz')" ] || exit 0

say() {
    echo "$1: only the SQLite of this system is tested." >&2
    echo "Others: make test-versions VERSIONS=\"folder ...\", each with sqlite3.c and sqlite3.h" >&2
    exit 0
}

command -v npm > /dev/null || say "There is no npm (Debian: apt-get install npm)"
#   SQLite 3.34.0             3.38.2        3.43.1               3.44.2        3.46.0                3.52.0        the newest
for package in better-sqlite3@7.1.2 sqlite3@5.0.3 better-sqlite3@8.7.0 sqlite3@5.1.7 better-sqlite3@11.0.0 \
    sqlite3@6.0.1 better-sqlite3@latest; do
    timeout 120 npm pack --silent --fetch-retries=0 --pack-destination "$folder" "$package" > /dev/null 2>&1 ||
        say "npm cannot fetch $package"
done
