# SPDX-License-Identifier: MIT
"""Counts instructions and cache misses of each operation of each filter (operations.c), with callgrind.

    python3 tests/bench/operations.py build/bench/operations full|quick FOLDER [SEED]

Writes operations.tsv. The caches are simulated: 32 KB of 8 ways for data, and a last one of 16 ways that is a sixth of the
filter's table; lines of 64 bytes.
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

import tables

LAST_CACHE = {"full": 2 << 20, "quick": 64 << 10}
COLUMNS = ["filter", "operation", "instructions", "first-level misses", "last-level misses"]


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
        return [part for part in map(counts, map(read, paths)) if part]


def figures(events, times):
    """Of one operation: instructions, and misses of data in the first and in the last cache."""
    return [sum(events.get(e, 0) for e in names) / times for names in (("Ir",), ("D1mr", "D1mw"), ("DLmr", "DLmw"))]


def row(figures_of_one, off):
    """As text, less what is taken off."""
    return [f"{max(0, n - less):.{d}f}" for n, less, d in zip(figures_of_one, off, (1, 3, 3))]


def rows(parts):
    """Rows of the table: what the loop takes is taken off. Labels are filter, operation, times."""
    found = [(name, operation, figures(events, int(times))) for (name, operation, times), events in parts]
    loops = {name: of for name, operation, of in found if operation == "loop"}
    return [[name, operation, *row(of, loops[name])] for name, operation, of in found if operation != "loop"]


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def main(program, size, folder, seed="0"):
    parts = counted([program, size, folder, seed], LAST_CACHE[size])
    tables.write(os.path.join(folder, "operations.tsv"), COLUMNS, rows(parts))


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5) or sys.argv[2] not in LAST_CACHE:
        sys.exit("usage: operations.py PROGRAM full|quick FOLDER [SEED]")
    main(*sys.argv[1:])
