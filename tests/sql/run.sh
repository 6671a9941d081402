#!/bin/sh
# SQL through the real shell: every script of sql/ and tests/sql/ against its .expected file here, and
# every example of README.md against the output that stands below it.
#   run.sh            compares; last line "N passed, N failed"
#   run.sh accept     writes the .expected files anew: read the difference before you commit it
set -u
passed=0 failed=0
out=build/sql.out
: "${SQLITE3:=sqlite3}"
mkdir -p build

# What differs between machines and versions is left out: times, line numbers, the drawing of boxes.
run_script() {
    sed 's/^\.mode box$/.mode list/; s/^\.bail on$//' "$1" | "$SQLITE3" 2>&1 |
        sed '/^Run Time/d; s/^[A-Za-z]* error near line [0-9]*: //; s/^Error: near line [0-9]*: //'
}

verdict() {
    if [ "$2" -eq 0 ]; then
        passed=$((passed + 1))
        echo "ok   $1"
    else
        failed=$((failed + 1))
        echo "FAIL $1"
    fi
}

for script in sql/*.sql tests/sql/*.sql; do
    expected=tests/sql/$(basename "$script" .sql).expected
    run_script "$script" > "$out"
    [ "${1:-}" = accept ] && cp "$out" "$expected"
    diff -u "$expected" "$out"
    verdict "$script" $?
done

# README: a block ```sql, followed by a block ```text with its output. Each block runs alone, and then all of
# them run in one session, as a reader who types them in would do it. Blanks at the end of a line do not count.
rm -rf build/readme && mkdir -p build/readme
awk -v dir=build/readme '
    /^```sql$/  { n++; file = sprintf("%s/%02d.sql", dir, n); next }
    /^```text$/ { file = sprintf("%s/%02d.expected", dir, n); next }
    /^```/      { file = ""; next }
    file != ""  { print > file }' README.md
cat build/readme/??.sql > build/readme/all.sql
cat build/readme/??.expected > build/readme/all.expected
for expected in build/readme/*.expected; do
    script=${expected%.expected}.sql
    { printf '.load build/cuckoo\n.mode column\n'; cat "$script"; } | "$SQLITE3" 2>&1 |
        sed 's/ *$//' > "$out"
    diff -u "$expected" "$out"
    verdict "README example $(basename "$script" .sql)" $?
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
