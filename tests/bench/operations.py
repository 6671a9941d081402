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


def command(program, size, folder, seed, out):
    last = f"{LAST_CACHE[size]},16,64"
    return ["valgrind", "-q", "--tool=callgrind", "--instr-atstart=no", "--cache-sim=yes", "--I1=32768,8,64",
            "--D1=32768,8,64", f"--LL={last}", f"--callgrind-out-file={out}", program, size, folder, seed]


def counts(text):
    """From what callgrind wrote of one part: filter, operation, and each event per operation."""
    label = re.search(r"^desc: Trigger: Client Request: (.*)\|(.*)\|(\d+)$", text, re.M)
    if not label:
        return None
    events = re.search(r"^events: (.*)$", text, re.M).group(1).split()
    totals = re.search(r"^totals: (.*)$", text, re.M).group(1).split()
    times = int(label.group(3))
    return label.group(1), label.group(2), {event: int(total) / times for event, total in zip(events, totals)}


def figures(events):
    """Instructions, and misses of data in the first and in the last cache."""
    return [events.get("Ir", 0), sum(events.get(e, 0) for e in ("D1mr", "D1mw")),
            sum(events.get(e, 0) for e in ("DLmr", "DLmw"))]


def rows(parts):
    """Rows of the table: what the loop takes is taken off."""
    loops = {name: figures(events) for name, operation, events in parts if operation == "loop"}
    return [[name, operation, *(f"{max(0, n - loop):.{d}f}" for n, loop, d in zip(figures(events), loops[name], (1, 3, 3)))]
            for name, operation, events in parts if operation != "loop"]


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def main(program, size, folder, seed="0"):
    with tempfile.TemporaryDirectory(dir=folder) as place:
        subprocess.run(command(program, size, folder, seed, os.path.join(place, "out")), check=True)
        paths = sorted(glob.glob(os.path.join(place, "out.*")), key=lambda path: int(path.rpartition(".")[2]))
        parts = [part for part in map(counts, map(read, paths)) if part]
    tables.write(os.path.join(folder, "operations.tsv"), COLUMNS, rows(parts))


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5) or sys.argv[2] not in LAST_CACHE:
        sys.exit("usage: operations.py PROGRAM full|quick FOLDER [SEED]")
    main(*sys.argv[1:])
