# SPDX-License-Identifier: MIT
# load_table.awk - from what calibrate prints (b f s buckets load) to src/shape/load_table.h.
#
#     build/bench/calibrate | awk -f tests/bench/load_table.awk > src/shape/load_table.h
#
# - Up to 256 buckets loads are lowered by 3 %, by 8 % for fingerprints below 8 bits: which alternates there are
#   depends on the pair bits and the number of buckets, and not all of them were measured. Not for shapes that grow:
#   when one of them is full early, it grows early, and takes all its keys still.
# - From 128 to 1024 buckets, a size that took less than a smaller one holds the smaller one down.
# - Tables of one slot per bucket, for study, are not measured: they fail when three keys meet in one pair of
#   slots, of which (8/3) load^3 / buckets are expected, or in a cycle. They get (1e-6 * buckets / 16) ^ (1/3),
#   0.4 at most.

BEGIN { first[1] = 0; first[2] = 1; first[4] = 8; first[8] = 18; rows = 27 }

function row_of(b, f, s) {
    if (s < f) return first[b] + 6 + (b == 2 ? 0 : s - 4)
    return first[b] + (s < 8 ? s - 4 : s < 12 ? 4 : 5)
}

function title_of(b, f, s) {
    if (s < f) return "b = " b ", growing, s = " s (s == 9 - b / 4 || b == 2 ? " and more" : "")
    return "b = " b ", f = " f (s < 8 ? "" : s < 12 ? " .. 11" : " .. 32")
}

function smaller(a, b) { return a < b ? a : b }

function fill(row,    i, least) {
    for (i = 1; buckets[i] <= 256; i++) load[row, i] *= spare[row]
    least = 1
    for (i = columns; i >= 1; i--) {
        if (buckets[i] >= 128 && buckets[i] <= 1024) load[row, i] = least = smaller(least, load[row, i])
        load[row, i] = smaller(load[row, i], 1)
        if (load[row, i] < 0) load[row, i] = 0
        # more buckets must not hold fewer keys
        if (i < columns && buckets[i] >= 128)
            load[row, i] = smaller(load[row, i], load[row, i + 1] * buckets[i + 1] / buckets[i])
        unit[row, i] = int(load[row, i] * 65535)
    }
}

function print_row(row,    i) {
    printf("    { /* %s */", title[row])
    for (i = 1; i <= columns; i++) printf "%s%d,", i % 15 == 1 ? "\n        " : " ", unit[row, i]
    print "\n    },"
}

{
    row = row_of($1, $2, $3)
    title[row] = title_of($1, $2, $3)
    spare[row] = $3 < $2 ? 1 : $3 < 8 ? 0.92 : 0.97
    load[row, ++measured[row]] = $5
    buckets[measured[row]] = $4
    if (measured[row] > columns) columns = measured[row]
}

END {
    for (row in title) fill(row)
    title[0] = "b = 1"
    for (i = 1; i <= columns; i++) unit[0, i] = int(smaller(0.4, (1e-6 * buckets[i] / 16) ^ (1 / 3)) * 65535)
    print "/* SPDX-License-Identifier: MIT */\n/*"
    print "** load_table.h - loads at which at most one filling in a million fails, in units of 1/65535."
    print "** Made by tests/bench/calibrate.c and load_table.awk. Sizes: 2, 4, .. 126 buckets, quarters of"
    print "** an octave up to 1024, powers of two up to 2^40."
    print "*/"
    print "/* clang-format off */\n#ifndef CF_LOAD_TABLE_H\n#define CF_LOAD_TABLE_H\n\n#include <stdint.h>\n"
    print "enum { CF_LOAD_UNIT = 65535, CF_LOAD_SIZES = " columns ", CF_LOAD_ROWS = " rows " };\n"
    print "static const uint16_t cf_load_table[CF_LOAD_ROWS][CF_LOAD_SIZES] = {"
    for (row = 0; row < rows; row++) print_row(row)
    print "};\n\n#endif"
}
