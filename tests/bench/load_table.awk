# load_table.awk - from what calibrate prints (b f s buckets load) to src/load_table.h.
#
#     build/bench/calibrate | awk -f tests/bench/load_table.awk > src/load_table.h
#
# - Up to 256 buckets loads are lowered by 3 %, by 8 % for fingerprints below 8 bits: which alternates there are
#   depends on the pair bits and the number of buckets, and not all of them were measured. Not for shapes that grow:
#   when one of them is full early, it grows early, and takes all its keys still.
# - From 128 to 1024 buckets, a size that took less than a smaller one holds the smaller one down.
# - Above 4096 buckets, where fillings are few and their spread is estimated roughly, a size that seems to take
#   less than the one before is taken to be like that one, less 0.0005.
# - Beyond the sizes measured, the load is taken to fall by 0.0005 with each doubling (measured: 0.0003).
# - Shapes with fewer pair bits s than fingerprint bits, those that grow, are held down to where one overfull pair of
#   buckets is expected in a hundred fillings: pairs with more than 2b keys, which are a Poisson number of mean
#   2b * load / 2^s in each of the buckets * 2^s / 2 pairs. Such a pair makes the table grow early.
# - Tables of one slot per bucket, for study, are not measured: they fail when three keys meet in one pair of
#   slots, of which (8/3) load^3 / buckets are expected, or in a cycle. They get (1e-6 * buckets / 16) ^ (1/3),
#   0.4 at most.

function row_name(b, f, s) { return b " " (s < f ? (s < 6 ? 6 : 7) : s < 8 ? s - 4 : s < 12 ? 4 : 5) }

function tail(mean, k,    term, i, sum) {        # P(Poisson(mean) > k)
    term = exp(-mean)
    for (i = 1; i <= k + 1; i++) term *= mean / i
    for (sum = 0; term > sum * 1e-9; term *= mean / i++) sum += term
    return sum
}

function overfull_load(b, s, m,    low, high, middle, step) {
    low = 0; high = 1
    for (step = 0; step < 40; step++) {
        middle = (low + high) / 2
        if (m * 2 ^ s / 2 * tail(2 * b * middle / 2 ^ s, 2 * b) > 0.01) high = middle
        else low = middle
    }
    return low
}

function smaller(a, b) { return a < b ? a : b }

function held_down(row, i, load,    b, s) {
    b = size[row]; s = growing[row]
    # from 128 to 1024 buckets a load holds up to the next size, so that one counts; then keys are interpolated
    if (s) load = smaller(load, overfull_load(b, s, buckets[buckets[i] >= 128 && buckets[i] < 1024 ? i + 1 : i]))
    return load
}

function fill(row,    i, least) {
    for (i = measured[row] + 1; i <= columns; i++) load[row, i] = load[row, i - 1] - 0.0005
    for (i = 2; i <= columns; i++)
        if (buckets[i] > 4096 && load[row, i] < load[row, i - 1] - 0.0005)
            load[row, i] = load[row, i - 1] - 0.0005
    for (i = 1; buckets[i] <= 256; i++) load[row, i] *= spare[row]
    least = 1
    for (i = columns; i >= 1; i--) {
        if (buckets[i] >= 128 && buckets[i] <= 1024) load[row, i] = least = smaller(least, load[row, i])
        load[row, i] = smaller(held_down(row, i, load[row, i]), 1)
        if (load[row, i] < 0) load[row, i] = 0
        # more buckets must not hold fewer keys
        if (i < columns && buckets[i] >= 128)
            load[row, i] = smaller(load[row, i], load[row, i + 1] * buckets[i + 1] / buckets[i])
        unit[row, i] = int(load[row, i] * 65535)
    }
}

function print_row(row, title,    i) {
    printf "        { /* %s */", title
    for (i = 1; i <= columns; i++) printf "%s%d,", i % 14 == 1 ? "\n            " : " ", unit[row, i]
    print "\n        },"
}

{
    row = row_name($1, $2, $3)
    size[row] = $1
    growing[row] = $3 < $2 ? $3 : 0
    spare[row] = $3 < $2 ? 1 : $3 < 8 ? 0.92 : 0.97
    load[row, ++measured[row]] = $5
    buckets[measured[row]] = $4
    if (measured[row] > columns) columns = measured[row]
}

END {
    while (buckets[columns] < 2 ^ 40) { buckets[columns + 1] = 2 * buckets[columns]; columns++ }
    # b = 2 grows with s = 8 only; b = 1 does not grow: its rows stay 0
    for (row in size) fill(row)
    for (i = 1; i <= columns; i++)
        for (r = 0; r < 6; r++) unit["1 " r, i] = int(smaller(0.4, (1e-6 * buckets[i] / 16) ^ (1 / 3)) * 65535)
    for (i = 1; i <= columns; i++) unit["2 6", i] = unit["2 7", i]
    split("f = 4|f = 5|f = 6|f = 7|f = 8 .. 11|f = 12 .. 32|growing, s = 4, 5|growing, s = 6 .. 8", title, "|")
    print "/*"
    print "** load_table.h - loads at which at most one filling in a million fails, in units of 1/65535."
    print "** Made by tests/bench/calibrate.c and load_table.awk. Sizes: 2, 4, .. 126 buckets, quarters of"
    print "** an octave up to 1024, powers of two up to 2^40."
    print "*/"
    print "/* clang-format off */\n#ifndef CF_LOAD_TABLE_H\n#define CF_LOAD_TABLE_H\n\n#include <stdint.h>\n"
    print "enum { CF_LOAD_UNIT = 65535, CF_LOAD_SIZES = " columns ", CF_LOAD_GROWING = 6 /* first row */ };\n"
    print "static const uint16_t cf_load_table[4][8][CF_LOAD_SIZES] = {"
    for (b = 1; b <= 8; b *= 2) {
        print "    {"
        for (r = 0; r < 8; r++) print_row(b " " r, "b = " b ", " title[r + 1])
        print "    },"
    }
    print "};\n\n#endif"
}
