# SPDX-License-Identifier: MIT
# Prints a table of tab-separated fields in columns: awk -f align.awk table.tsv table.tsv
# The first pass finds the width of each column. Numbers stand to the right, under their titles.
BEGIN { FS = "\t" }
NR == FNR {
    for (i = 1; i <= NF; i++)
        if (length($i) > width[i])
            width[i] = length($i)
    next
}
{
    line = sprintf("%-" width[1] "s", $1)
    for (i = 2; i <= NF; i++)
        line = line sprintf("  %" width[i] "s", $i)
    print line
}
