# SPDX-License-Identifier: MIT
"""Lists of hashes: what the command sqlite-cuckoo takes, beside sort and comm, a table with an index, and grep.

Lines of sha256sum, and the bare sums. A million is asked, half of which are known. Each way prints the unknown ones, and is
compared with the number that is right; a filter may miss one in 10,000. Processor time, and the most memory of a process, by
the kernel's count. The command runs from the sources, with build/cuckoo.
"""
import hashlib
import multiprocessing
import os
import random
import shutil
import subprocess
import sys

import database

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COLUMNS = ["million lines", "way", "build, s", "build, peak MB", "MB", "check, s", "check, peak MB"]
COMMAND = f"{sys.executable} -m sqlite_cuckoo"
# How it is built, the file that it makes, and how the unknown lines are printed. LIST and ASKED have bare sums, the
# others lines of sha256sum.
WAYS = {
    "sqlite-cuckoo": (f"{COMMAND} build --quiet --fpr 1e-4 known < LIST", "known", f"{COMMAND} check --quiet known < ASKED"),
    "sqlite-cuckoo --digests": (f"{COMMAND} build --quiet --digests --fpr 1e-4 known < LIST_LINES", "known",
                                f"{COMMAND} check --quiet --digests known < ASKED_LINES"),
    "sort -u, comm": ("LC_ALL=C sort -u -o sorted LIST", "sorted", "LC_ALL=C sort -u ASKED | LC_ALL=C comm -23 - sorted"),
    "a table with an index": ("sqlite3 table.db 'CREATE TABLE known(sum TEXT PRIMARY KEY) WITHOUT ROWID' '.import LIST known'", "table.db",
                              "sqlite3 table.db 'CREATE TEMP TABLE asked(sum TEXT)' '.import ASKED asked' "
                              "'SELECT sum FROM asked WHERE sum NOT IN known'"),
    "grep -Fxvf": ("true", "LIST", "LC_ALL=C grep -Fxvf LIST ASKED"),
}
MOST = {"grep -Fxvf": 1000000}  # lines: ten million take more than 8 GB


def write(path, numbers, seed=None):
    """A list of bare sums, and the same as sha256sum writes it; with a seed shuffled."""
    if seed is not None:
        numbers = list(numbers)
        random.Random(seed).shuffle(numbers)
    with open(path, "w", encoding="ascii") as bare, open(f"{path}_LINES", "w", encoding="ascii") as lines:
        for i in numbers:
            digest = hashlib.sha256(b"%d" % i).hexdigest()
            bare.write(digest + "\n")
            lines.write(f"{digest}  ./usr/share/package-{i % 1000}/file-{i}\n")


def write_lists(lines, asked, seed):
    write("LIST", range(lines))
    write("ASKED", (i * 7 % lines if i % 2 else lines + i for i in range(asked)), seed)


def run(command):
    """Seconds of the processor, peak memory in megabytes, and the number of lines that it prints."""
    with open("printed", "wb") as printed:
        process = subprocess.Popen(["sh", "-c", command], stdout=printed)
        _, status, used = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"failed: {command}")
    with open("printed", "rb") as printed:
        return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, sum(1 for _ in printed)


def rows_of(lines, asked):
    rows = []
    for way, (build, made, check) in WAYS.items():
        if lines > MOST.get(way, lines):
            continue
        built, checked = run(build), run(check)
        unknown = asked - asked // 2
        if not 0.998 * unknown <= checked[2] <= unknown:
            sys.exit(f"{way}: {checked[2]} of {unknown} unknown lines")
        size = os.path.getsize(made) / 1e6
        rows.append([f"{lines / 1e6:g}", way, f"{built[0]:.2f}", f"{built[1]:.0f}", f"{size:.1f}", f"{checked[0]:.2f}", f"{checked[1]:.0f}"])
        if made != "LIST":
            os.remove(made)
    return rows


def measure(size, folder, seed):
    here = os.getcwd()
    os.chdir(folder)
    shutil.copytree(os.path.join(ROOT, "ext/packages/python/sqlite_cuckoo"), "sqlite_cuckoo")
    shutil.copy(os.path.join(ROOT, "build/cuckoo.so"), "sqlite_cuckoo")
    rows = []
    for lines, asked in ((1000000, 1000000), (10000000, 1000000)) if size == "full" else ((20000, 10000),):
        with multiprocessing.Pool(1) as pool:  # the kernel counts what this process has as memory of those that it starts
            pool.apply(write_lists, (lines, asked, seed))
        rows += rows_of(lines, asked)
    os.chdir(here)
    return {"lists": (COLUMNS, rows)}


if __name__ == "__main__":
    database.call(measure)
