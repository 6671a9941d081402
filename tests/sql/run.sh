#!/bin/sh
# SPDX-License-Identifier: MIT
# SQL through a shell: every script of sql/ and tests/sql/ against its .expected file here, and every
# example of README.md and ext/REFERENCE.md against the output below it.
#   run.sh            compares; last line "N passed, N failed"
#   run.sh quick      the same without the three scripts that take seconds
#   run.sh SCRIPT...  these scripts only
#   run.sh accept     writes the .expected files anew: read the difference before you commit it
# SQLITE3 names the shell. Values are compared: what shells say differently, values.awk makes equal.
# Where an SQLite has no shell, tests/sql/shell.py stands for it.
set -u
passed=0 failed=0
folder=${SQL_TEST_FOLDER:-build/sql}
out=$folder/out
: "${SQLITE3:=sqlite3}"
rm -rf "$folder" && mkdir -p "$folder"
: > "$folder/init"

# The word lists have other orders in other releases of Debian, and the order decides where keys lie.
for list in american-english british-english; do
    LC_ALL=C sort -u "/usr/share/dict/$list" > "$folder/$list"
done

# Packages have other files in other releases, too: 300 files of two packages; then one is changed, and two come.
case $folder in /*) machine=$folder/machine ;; *) machine=$PWD/$folder/machine ;; esac
mkdir -p "$machine/bin" "$machine/info"
awk -v folder="$machine/bin" 'BEGIN { for (i = 100; i < 400; i++) { file = folder "/f" i; print i > file; close(file) } }'
md5sum "$machine"/bin/f[12]* | sed 's,  /,  ,' > "$machine/info/first.md5sums"
md5sum "$machine"/bin/f3* | sed 's,  /,  ,' > "$machine/info/second:amd64.md5sums"
for file in f107 unowned strange; do echo "$file" > "$machine/bin/$file"; done
echo 108 > "$machine/bin/a\\file" # it is known: only its name has a backslash

# run_script: the script on standard input, as values. The settings of the reader's shell do not count.
run_script() {
    awk -v part=script -v folder="$folder" -v machine="$machine" -f tests/sql/values.awk | "$SQLITE3" -batch -init "$folder/init" 2>&1 |
        awk -v part=output -f tests/sql/values.awk > "$out"
}

# compare NAME EXPECTED: one verdict.
compare() {
    if diff -u "$2" "$out"; then
        passed=$((passed + 1))
        echo "ok   $1"
    else
        failed=$((failed + 1))
        echo "FAIL $1"
    fi
}

accept=
[ "${1:-}" != accept ] || { accept=yes; shift; }
some=$#
[ "${1:-}" != quick ] || some=0
[ "$some" -gt 0 ] || set -- sql/*.sql tests/sql/*.sql ${1:+quick}
for script; do
    case "$* $script" in *" quick sql/prefilter_join.sql" | *" quick sql/exact.sql" | *" quick sql/which_file.sql" | *" quick") continue ;; esac
    expected=tests/sql/$(basename "$script" .sql).expected
    run_script < "$script"
    [ -z "$accept" ] || cp "$out" "$expected"
    compare "$script" "$expected"
done

# examples PAGE START: each block ```sql of a page, followed by a block ```text with its output, runs alone, behind the
# lines of START.
examples() {
    name=$(basename "$1" .md)
    awk -v dir="$folder/$name" '
        /^```sql$/  { n++; file = sprintf("%s%02d.sql", dir, n); next }
        /^```text$/ { file = sprintf("%s%02d.drawn", dir, n); next }
        /^```/      { file = ""; next }
        file != ""  { print > file }' "$1"
    for drawn in "$folder/$name"*.drawn; do
        example=$(basename "$drawn" .drawn)
        awk -v part=drawn -f tests/sql/values.awk "$drawn" > "$folder/$example.expected"
        { printf '%b' "$2"; cat "${drawn%.drawn}.sql"; } | run_script
        compare "example $example" "$folder/$example.expected"
    done
}
if [ "$some" -eq 0 ]; then
    examples README.md '.load build/cuckoo\n.mode column\n'
    examples ext/REFERENCE.md '.load build/cuckoo\n'
fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
