# SPDX-License-Identifier: MIT
"""Counts instructions and cache misses of the hot paths (instructions.c), with callgrind.

    python3 tests/bench/paths.py PROGRAM LIBRARY                           prints the instructions: make bench-check
    python3 tests/bench/paths.py PROGRAM LIBRARY full|quick FOLDER [SEED]  writes FOLDER/paths.tsv, with the misses

PROGRAM is build/bench/instructions. The caches are simulated: 32 KB of 8 ways for data, and a last one of 64 KB and 16 ways; lines of
64 bytes. The tables of instructions.c are of 65,536 slots: 98 KB with 12 bits.
"""
import os
import sys

import operations
import tables

LAST_CACHE = 64 << 10
COLUMNS = ["path", *operations.COLUMNS[2:]]
# Copies of long blobs go through one loop on all processors: some have an instruction for each byte.
TUNABLES = "glibc.cpu.x86_rep_movsb_threshold=1000000000:glibc.cpu.x86_rep_stosb_threshold=1000000000"


def rows(parts):
    """Labels are path, operations, and the path whose figures are taken off, or nothing."""
    found, nothing = {}, [0, 0, 0]
    for (name, times, less), events in parts:
        of = operations.figures(events, int(times))
        found[name] = [n - off for n, off in zip(of, found.get(less, nothing))]
    return [[name, *operations.row(of, nothing)] for name, of in found.items()]


def main(program, library, _size=None, folder=None, _seed="0"):
    os.environ["GLIBC_TUNABLES"] = TUNABLES
    found = rows(operations.counted([program, library], LAST_CACHE if folder else None))
    if folder:
        tables.write(os.path.join(folder, "paths.tsv"), COLUMNS, found)
    else:
        print(*("\t".join(row[:2]) for row in found), sep="\n")


if __name__ == "__main__":
    if len(sys.argv) not in (3, 5, 6):
        sys.exit("usage: paths.py PROGRAM LIBRARY [full|quick FOLDER [SEED]]")
    main(*sys.argv[1:])
