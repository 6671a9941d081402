# SPDX-License-Identifier: MIT
"""Counts instructions and cache misses of the hot paths (instructions.c), with callgrind.

    python3 tests/bench/paths.py PROGRAM LIBRARY                           prints the instructions: make bench-check
    python3 tests/bench/paths.py PROGRAM LIBRARY full|quick FOLDER [SEED]  writes FOLDER/paths.tsv, with the misses

PROGRAM is build/bench/instructions. The caches are simulated: 32 KB of 8 ways for data, and a last one of 64 KB and 16 ways;
lines of 64 bytes. The tables of instructions.c are of 65,536 slots: 98 KB with 12 bits.
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

import tables

LAST_CACHE = 64 << 10
COLUMNS = ["path", "instructions", "first-level misses", "last-level misses"]
# Copies of long blobs go through one loop on all processors: some have an instruction for each byte.
TUNABLES = "glibc.cpu.x86_rep_movsb_threshold=1000000000:glibc.cpu.x86_rep_stosb_threshold=1000000000"


def counts(text):
    """From what callgrind wrote of one part: its label, and how often each event was; None without a label."""
    label = re.search(r"^desc: Trigger: Client Request: (.*)$", text, re.M)
    if not label:
        return None
    events = re.search(r"^events: (.*)$", text, re.M).group(1).split()
    totals = re.search(r"^totals: (.*)$", text, re.M).group(1).split()
    return label.group(1).split("|"), dict(zip(events, map(int, totals)))


def counted(command, last_cache=None):
    """Runs a program that names its parts; counts() of each. Without the size of a last cache no cache is simulated."""
    caches = ["--cache-sim=yes", "--I1=32768,8,64", "--D1=32768,8,64", f"--LL={last_cache},16,64"] if last_cache else []
    with tempfile.TemporaryDirectory() as place:
        out = os.path.join(place, "out")
        subprocess.run(["valgrind", "-q", "--tool=callgrind", "--instr-atstart=no", *caches, f"--callgrind-out-file={out}",
                        *command], check=True)
        paths = sorted(glob.glob(out + ".*"), key=lambda path: int(path.rpartition(".")[2]))
        return [part for part in map(counts, map(tables.text_of, paths)) if part]


def figures(events, times):
    """Of one operation: instructions, and misses of data in the first and in the last cache."""
    return [sum(events.get(e, 0) for e in names) / times for names in (("Ir",), ("D1mr", "D1mw"), ("DLmr", "DLmw"))]


def rows(parts):
    """Labels are path, operations, and the path whose figures are taken off, or nothing."""
    found, nothing = {}, [0, 0, 0]
    for (name, times, less), events in parts:
        of = figures(events, int(times))
        found[name] = [n - off for n, off in zip(of, found.get(less, nothing))]
    return [[name, *(f"{max(0, n):.{decimals}f}" for n, decimals in zip(of, (1, 3, 3)))] for name, of in found.items()]


def main(program, library, _size=None, folder=None, _seed="0"):
    os.environ["GLIBC_TUNABLES"] = TUNABLES
    found = rows(counted([program, library], LAST_CACHE if folder else None))
    if folder:
        tables.write(os.path.join(folder, "paths.tsv"), COLUMNS, found)
    else:
        print(*("\t".join(row[:2]) for row in found), sep="\n")


if __name__ == "__main__":
    if len(sys.argv) not in (3, 5, 6):
        sys.exit("usage: paths.py PROGRAM LIBRARY [full|quick FOLDER [SEED]]")
    main(*sys.argv[1:])
