# SPDX-License-Identifier: MIT
# Draws the figures from the tables of a benchmark run.
#
#     gnuplot -e "folder='build/bench'" plots.gp                       build/bench/*.svg
#     gnuplot -e "folder='build/bench'; picture='png'" plots.gp        the same as PNG

if (!exists("picture")) picture = 'svg'
if (picture eq 'svg') set terminal svg size 860,560 dynamic font 'sans,14' background 'white'
if (picture eq 'png') set terminal pngcairo size 860,560 font 'sans,11'

set datafile separator tab
set key outside right top
set grid lc rgb '#dddddd'
set border 3
set tics nomirror
set style data linespoints

table(name) = folder.'/'.name.'.tsv'
open(name) = folder.'/'.name.'.'.picture

# The filters, always in the same colours.
filters = 'cuckoo "semi-sorted cuckoo" Bloom "blocked Bloom" "counting Bloom" quotient "d-left counting"'
set linetype 1 lc rgb '#c0392b' lw 2 pt 7 ps 0.6
set linetype 2 lc rgb '#e67e22' lw 2 pt 5 ps 0.6
set linetype 3 lc rgb '#2456a4' lw 1.5 pt 9 ps 0.7
set linetype 4 lc rgb '#4fa3d9' lw 1.5 pt 11 ps 0.7
set linetype 5 lc rgb '#7d3c98' lw 1.5 pt 13 ps 0.7
set linetype 6 lc rgb '#1e8449' lw 1.5 pt 4 ps 0.6
set linetype 7 lc rgb '#7f8c8d' lw 1.5 pt 6 ps 0.6
of(filter, column) = strcol(1) eq filter ? column(column) : NaN

# ---- figure 2 ----

sizes = system("cut -f1 '".table('figure2')."' | sed 1d | sort -nu | tr '\n' ' '")
set output open('figure2')
set title 'Figure 2: load at the first failure, least of the trials (growth off)'
set xlabel 'fingerprint bits f'
set ylabel 'load factor'
set yrange [0.85:1]
set xrange [3.5:16.5]
set key title 'buckets, slots in each' left
plot for [i = 1:words(sizes)] for [j = 1:3] table('figure2') \
    using ($1 == word(sizes, i) + 0 && $2 == 2**j ? $3 : NaN):5 skip 1 \
    lc j + 1 dt i pt 3 + 2 * i title sprintf('2^{%s}, b = %d', word(sizes, i), 2**j)
set key notitle
set yrange [*:*]
set xrange [*:*]

# ---- figures 3 and 4 ----

set xlabel 'error rate, measured'
set ylabel 'bits per key, measured'
set logscale x
set format x '10^{%T}'
set xrange [0.2:5e-6]
set yrange [0:22]
bound(x) = -log(x) / log(2)
bloom(x) = bound(x) / log(2)
set samples 400

set output open('figure3')
set title 'Figure 3: bits per key against error rate, b = 2, 4, 8'
kinds3 = '"cuckoo b=2" cuckoo "cuckoo b=8" "semi-sorted cuckoo"'
colours3 = '4 1 6 2'
plot for [i = 1:4] table('figure3') using (of(word(kinds3, i), 6)):4 skip 1 \
    lt word(colours3, i) + 0 title word(kinds3, i), \
    bound(x) with lines lc rgb 'black' lw 1.5 title 'lower bound log_2(1/e)', \
    bloom(x) with lines lc rgb 'black' lw 1.5 dt 2 title 'Bloom, 1.44 log_2(1/e)'

set output open('figure4')
set title 'Figure 4: bits per key against error rate, cuckoo with b = 4 and other filters'
plot for [i = 1:7] for [name in 'figure3 figure4'] table(name) \
    using (of(word(filters, i), 6)):4 skip 1 lt i \
    title ((i <= 2) == (name eq 'figure3') && i != 5 ? word(filters, i) : ''), \
    bound(x) with lines lc rgb 'black' lw 1.5 title 'lower bound log_2(1/e)', \
    bloom(x) with lines lc rgb 'black' lw 1.5 dt 2 title 'Bloom, 1.44 log_2(1/e)'
unset logscale x
set format x '% g'
set xrange [*:*]
set yrange [0:*]

# ---- figures 5 to 8 ----

set output open('figure5')
set title 'Figure 5: lookups against the share of keys that are there (filters full)'
set xlabel 'share of hits'
set ylabel 'million lookups per second'
set xrange [0:1]
plot for [i = 1:7] table('figure5') using 1:i + 1 skip 1 lt i title word(filters, i)

set xlabel 'load (Bloom filters: keys / keys it is made for)'
plot_hits_or_misses = "plot for [i = 1:7] table('figure6') \
    using (of(word(filters, i), 2)):column_number skip 1 lt i title word(filters, i)"
set output open('figure6_hits')
set title 'Figure 6: lookups of keys that are there, against load'
column_number = 3
eval plot_hits_or_misses
set output open('figure6_misses')
set title 'Figure 6: lookups of keys that are not there, against load'
column_number = 4
eval plot_hits_or_misses

set output open('figure7')
set title 'Figure 7: insertions against load'
set ylabel 'million insertions per second'
plot for [i = 1:7] table('figure7') using (of(word(filters, i), 2)):3 skip 1 lt i title word(filters, i)

set output open('figure8')
set title 'Figure 8: deletions against load'
set ylabel 'million deletions per second'
deleting = '1 2 5 6 7'
plot for [k = 1:words(deleting)] i = word(deleting, k) + 0, table('figure8') \
    using (of(word(filters, i), 2)):3 skip 1 lt i title word(filters, i)
set xrange [*:*]

# ---- bounded insertion ----

schemes = '"random walk" breadth-first "bits, no list" "bits and list"'
colours = '7 3 2 1'
limits = '- 0 5 10'
set output open('bursts')
set title 'A burst at load 0.95, m = 32,768, b = 4, f = 12: error rate after it'
set xlabel 'insertions'
set ylabel 'error rate, %'
set logscale x 2
set xtics (128, 256, 512, 1024)
set xrange [120:1100]
plot for [i = 1:4] for [j = 1:4] table('bursts') \
    using (strcol(1) eq word(schemes, i) && strcol(2) eq word(limits, j) ? $5 : NaN):12 skip 1 \
    lt word(colours, i) + 0 dt j \
    title ((i < 3) == (j == 1) ? word(schemes, i).(j > 1 ? ', t = '.word(limits, j) : '') : '')
unset logscale x
set xtics autofreq

set output open('worst_case')
set title 'The most that one insertion did, in a burst of 1,024 at load 0.95'
set xlabel ''
set ylabel 'buckets'
set logscale y
set yrange [1:1000]
set xrange [-0.7:*]
set style data histograms
set style histogram clustered gap 1
set style fill solid 0.9 border -1
set boxwidth 0.8
set xtics rotate by -30
set key inside right top
set bmargin 8
label(name, t) = name.(t eq '-' ? '' : ', t = '.t)
plot '< sed 1d "'.table('bursts').'" | awk -F"\t" "\$5 == 1024"' \
    using 9:xtic(label(strcol(1), strcol(2))) lt 3 title 'examined', '' using 7 lt 1 title 'written'

# ---- real queries ----

unset logscale y
set yrange [0:*]
set ylabel 'seconds'
set key outside right top
set key noenhanced
set bmargin 10
set xtics rotate by -50
set style histogram clustered gap 2
forms = '"a scan alone" "SQLite alone" "bound blob" handle cf_table_contains EXISTS JOIN'
columns = '5 6 8 9 10 11 12'
colours = '7 3 1 2 6 5 4'
lines_of(query) = '< grep "^'.query.'	" "'.table('real_queries').'"'
label_real(keys, percent, cache) = keys.', '.percent.' %, '.cache
plot_query = "plot for [i = 1:words(forms)] lines_of(query) \
    using (column(word(columns, i) + 0)):xtic(label_real(strcol(2), strcol(3), strcol(4))) \
    lt word(colours, i) + 0 title word(forms, i)"

set output open('real_join')
set title 'A join, by keys, share of rows that match, and page cache'
query = 'join'
eval plot_query

set output open('real_anti_join')
set title 'An anti-join'
query = 'anti-join'
eval plot_query
