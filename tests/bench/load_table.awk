# load_table.awk - from the rows of calibrate (b s buckets load) to src/load_table.h.
#
#     build/bench/calibrate | awk -f tests/bench/load_table.awk > src/load_table.h
#
# A size that took less than a smaller one holds the smaller one down, so that loads rise with size.
{
    if (!(($1, $2) in sizes)) order[++rows] = $1 SUBSEP $2
    load[$1, $2, ++sizes[$1, $2]] = $4
}
END {
    columns = sizes[order[1]]
    print "/*"
    print "** load_table.h - loads at which at most one filling in a million fails, in 1/65536."
    print "** Made by tests/bench/calibrate.c and load_table.awk; one row for each bucket size 1, 2, 4, 8 and"
    print "** pair bits 4, 6, 8; sizes as grid_index in load.c counts them."
    print "*/"
    print "#ifndef CF_LOAD_TABLE_H"
    print "#define CF_LOAD_TABLE_H\n"
    print "#include <stdint.h>\n"
    print "#define CF_LOAD_UNIT 65536 /* a load of 1 */"
    print "#define CF_LOAD_DENSE 4096 /* buckets up to which quarters of an octave were measured */\n"
    printf "static const uint16_t cf_load_table[4][3][%d] = {", columns
    for (r = 1; r <= rows; r++) {
        least = 1
        for (i = columns; i >= 1; i--) {
            if (load[order[r], i] < least) least = load[order[r], i]
            unit[i] = int(least * 65536)
        }
        split(order[r], name, SUBSEP)
        if (r % 3 == 1) printf "%s\n    {", r == 1 ? "" : ""
        printf "\n        { /* b = %d, s = %d */", name[1], name[2]
        for (i = 1; i <= columns; i++)
            printf "%s%d,", (i % 14 == 1) ? "\n            " : " ", unit[i]
        printf "\n        },"
        if (r % 3 == 0) printf "\n    },"
    }
    print "\n};\n\n#endif"
}
