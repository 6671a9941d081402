#!/bin/sh
# SPDX-License-Identifier: MIT
# The commands that stand at the top of cuckoo.c, word for word, but for the compiler; then a program with what the last one
# has made, which is the library that only reads.
#   at_top.sh COMPILER FOLDER READER.C    FOLDER: with cuckoo.c, cuckoo_filter.h and nothing else; there is a program `reader` then
# OPTIMIZE=-O0 takes less time.
set -eu
cd "$2"
sed -n '1,/^\*\/$/s/^\*\*  *\(cc .*\)/\1/p' cuckoo.c | sed "s/   .*//; s/^cc /$1 /; s/ -O2 / ${OPTIMIZE:--O2} /" > commands
[ "$(wc -l < commands)" -eq 4 ]
sh -ex commands
[ -f cuckoo.so ]
"$1" -std=c11 -I. -o reader "$3" cuckoo.o -lm
