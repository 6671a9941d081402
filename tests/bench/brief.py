# SPDX-License-Identifier: MIT
"""make bench: what this machine takes, in a minute and ten lines. Processor time; one run, so a busy machine shows."""
import os
import subprocess
import tempfile
import time

import bench_follow
import database
import joins
import tables

KEYS, FILTERS = 1000000, ("cuckoo", "semi-sorted cuckoo", "Bloom")


def core(folder):
    """Nanoseconds of single operations of the C library, a line each: what, and the figures of each filter."""
    subprocess.run(["build/bench/core", "quick", folder], stderr=subprocess.DEVNULL, check=True)
    columns, rows = tables.read(os.path.join(folder, "core.tsv"))
    of = {row[0]: dict(zip(columns, row)) for row in rows}
    for what, column in {"lookup, the key is there": "hit", "lookup, it is not there": "miss",
                         "add": "add", "delete": "delete"}.items():
        cells = (of[name][column] for name in FILTERS)
        yield what, "".join(f"{cell if cell == '-' else f'{float(cell):.0f} ns':>14}" for cell in cells)


def build():
    db = database.connect()
    numbers = f"WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {KEYS}) SELECT i FROM n"
    db.execute(f"CREATE TABLE t AS {numbers}")
    start = time.process_time()
    length = db.execute("SELECT length(cf_build(i, 0.01)) FROM t").fetchone()[0]
    seconds = time.process_time() - start
    yield "build of a million keys", f"{1000 * seconds:.0f} ms (cf_build, 1 % errors)"
    yield "size of that", f"{length / KEYS:.2f} bytes a key ({8 * length / KEYS:.1f} bits)"


def join():
    joins.ROWS, joins.KEYS, joins.REPEATS = 300000, 100000, 3
    db = database.connect()
    joins.fill(db, "text", 0.01)
    ms = {form: cpu for form, (cpu, _) in joins.measure(db, ["plain", "within", "front"]).items()}
    yield "join, 1 % of the rows match", (
        f"{ms['plain']:.0f} ms; with a filter in the query {ms['within']:.0f} ms; with rows=on {ms['front']:.0f} ms")


def insert(folder):
    bench = bench_follow.Bench(folder, 100000, 1)
    bench.in_a_loop()
    us = next(iter(bench.changes.values()))
    yield "INSERT into a table", (f"{us['no index']:.1f} us; with an index {us['an index']:.1f} us; "
                                  f"with a synced filter {us['a synced filter']:.1f} us")
    bench.db.close()


def main():
    with tempfile.TemporaryDirectory() as folder:
        print(f"{'a million keys, in C':<30}{'plain':>14}{'semi-sorted':>14}{'Bloom filter':>14}")
        for lines in (core(folder), build(), join(), insert(folder)):
            for what, figures in lines:
                print(f"{what:<30}{figures}", flush=True)
    print("make bench-full takes an hour or two; tests/bench/RESULTS.md has what it measured.")


if __name__ == "__main__":
    main()
