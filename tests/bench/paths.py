# SPDX-License-Identifier: MIT
"""Prints the instructions of the hot paths (instructions.c), counted by callgrind.

    python3 tests/bench/paths.py PROGRAM LIBRARY
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

import tables

# Copies of long blobs go through one loop on all processors: some have an instruction for each byte.
TUNABLES = "glibc.cpu.x86_rep_movsb_threshold=1000000000:glibc.cpu.x86_rep_stosb_threshold=1000000000"


def counts(text):
    """From what callgrind wrote of one part: its label, and how many instructions; None without a label."""
    label = re.search(r"^desc: Trigger: Client Request: (.*)$", text, re.M)
    return label and (label.group(1).split("|"), int(re.search(r"^totals: (\d+)", text, re.M).group(1)))


def counted(command):
    """Runs a program that names its parts; counts() of each."""
    with tempfile.TemporaryDirectory() as place:
        out = os.path.join(place, "out")
        valgrind = ["valgrind", "-q", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={out}"]
        subprocess.run([*valgrind, *command], env={**os.environ, "GLIBC_TUNABLES": TUNABLES}, check=True)
        paths = sorted(glob.glob(out + ".*"), key=lambda path: int(path.rpartition(".")[2]))
        return [part for part in map(counts, map(tables.text_of, paths)) if part]


def rows(parts):
    """(path, instructions of one operation). Labels: path, operations, and the path that is taken off, or nothing."""
    found = {}
    for (name, times, less), instructions in parts:
        found[name] = max(0, instructions / int(times) - found.get(less, 0))
    return list(found.items())


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: paths.py PROGRAM LIBRARY")
    for path, instructions in rows(counted(sys.argv[1:])):
        print(f"{path}\t{instructions:.1f}")
