#!/bin/sh
# SPDX-License-Identifier: MIT
# Copies the tables of the last run of the benchmarks to RESULTS.md: each line <!-- table NAME [lines that match] -->
# is followed by build/bench/NAME.tsv as a table, in place of what stands there up to <!-- end -->. From the root of
# the project: sh tests/bench/fill_results.sh
set -eu
page=tests/bench/RESULTS.md
awk -v folder=build/bench '
function cell_line(text) {
    gsub(/\t/, " | ", text)
    return "| " text " |"
}
function rule(columns,   line, i) {
    line = "|---|"
    for (i = 2; i <= columns; i++)
        line = line "---:|"
    return line
}
function print_table(name, pattern,   file, line, n) {
    file = folder "/" name ".tsv"
    if ((getline line < file) <= 0) {
        print "no " file > "/dev/stderr"
        exit 1
    }
    print cell_line(line)
    print rule(split(line, fields, "\t"))
    while ((getline line < file) > 0)
        if (pattern == "" || line ~ pattern)
            print cell_line(line)
    close(file)
}
/^<!-- end -->/ { skipping = 0 }
!skipping { print }
/^<!-- table / {
    pattern = $0
    sub(/^<!-- table [^ ]+ ?/, "", pattern)
    sub(/ ?-->$/, "", pattern)
    print_table($3, pattern)
    skipping = 1
}' "$page" > "$page.new"
mv "$page.new" "$page"
