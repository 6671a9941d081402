# SPDX-License-Identifier: MIT
"""Large tables: what a filter takes to build, on the disk and in memory, and what a join then takes.

Scattered integers, unique, in a file; SQLite's own settings. Each way is built, and then asked, by a process of its
own, so "peak MB" is its own memory, without the cache of the system. Rows of which 1 % match are joined. Wall clock.
"""
import multiprocessing
import os
import resource
import time

import database

ROWS = 1000000
COLUMNS = ["million keys", "way", "built, s", "MB", "bits per key", "peak MB", "join, ns a row", "join, peak MB"]
JOIN = "SELECT count(*), sum(r.x) FROM r JOIN {} AS t ON t.k = r.k"
# What is built, where its bytes are, and the join that it is for. The index comes first: the others need it.
WAYS = {
    "an index": ("CREATE UNIQUE INDEX by_key ON t(k)", "SELECT sum(pgsize) FROM dbstat WHERE name = 'by_key'", JOIN.format("t")),
    "cf_build": ("CREATE TABLE filters AS SELECT cf_build(k) AS f FROM t", "SELECT length(f) FROM filters",
                 JOIN.format("t") + " WHERE cf_contains((SELECT cf_open(f) FROM filters), r.k)"),
    "rows=on": ("CREATE VIRTUAL TABLE fast USING cuckoo_filter(content='t(k)', rows=on)",
                "SELECT sum(pgsize) FROM dbstat WHERE name GLOB 'fast*'", JOIN.format("fast")),
}


def scattered(i):
    """Another integer below 2^40 for each."""
    return f"({i} * 1103515245) & 1099511627775"


def fill(path, keys, seed):
    db = database.connect(path, journal_mode="OFF", synchronous="OFF")
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {}) "
    db.execute("CREATE TABLE t(k INTEGER, x INTEGER)")
    db.execute(f"INSERT INTO t {numbers.format(keys)} SELECT {scattered('i')}, i FROM n")
    db.execute("CREATE TABLE r(k INTEGER, x INTEGER)")
    any_of = f"abs(random() % {keys})"
    db.execute(f"INSERT INTO r {numbers.format(ROWS)} "
               f"SELECT {scattered(f'({any_of} + 1 + iif(i % 100 = {seed % 100}, 0, {keys}))')}, i FROM n")
    db.close()


def timed(db, sql):
    start = time.perf_counter()
    rows = db.execute(sql).fetchall()
    return time.perf_counter() - start, rows


def memory():
    """The most that this process had, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def build(path, way):
    """Seconds and memory."""
    db = database.connect(path)
    seconds, _ = timed(db, WAYS[way][0])
    db.close()
    return seconds, memory()


def look(path, way):
    """Nanoseconds of a joined row, memory, the answer, and bytes."""
    db = database.connect(path)
    taken = [timed(db, WAYS[way][2]) for _ in range(3)]
    most = memory()
    return 1e9 * sorted(taken)[1][0] / ROWS, most, taken[0][1], db.execute(WAYS[way][1]).fetchone()[0]


def alone(work, *arguments):
    """What a function answers in a new process."""
    with multiprocessing.Pool(1) as pool:
        return pool.apply(work, arguments)


def measure(size, folder, seed):
    rows, path = [], os.path.join(folder, "large.db")
    for keys in (10000000, 50000000, 100000000) if size == "full" else (20000, 50000):
        alone(fill, path, keys, seed)
        answers = set()
        for way in WAYS:
            seconds, most = alone(build, path, way)
            join, join_most, answer, taken = alone(look, path, way)
            answers.add(tuple(answer))
            rows.append([f"{keys / 1e6:g}", way, f"{seconds:.2f}", f"{taken / 1e6:.1f}", f"{8 * taken / keys:.2f}",
                         f"{most:.0f}", f"{join:.0f}", f"{join_most:.0f}"])
        if len(answers) != 1:
            raise SystemExit(f"{keys} keys: the joins give different rows")
        os.remove(path)
    return {"large": (COLUMNS, rows)}


if __name__ == "__main__":
    database.call(measure)
