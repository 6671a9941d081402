# SPDX-License-Identifier: MIT
"""Joins with a table, and with a table with rows=on in front of it: CPU milliseconds, medians of five, in memory.

    joins.py [KEYS [ROWS]]      default 300000 keys in the content, 1000000 rows beside it; some minutes

For integers, texts and UUIDs as texts, and 0.1, 1, 10, 50 and 100 % of the rows with a key that is there.
CUCKOO_SO names the extension, as for the tests.
"""
import random
import statistics
import sys
import time
import uuid
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))
import support

QUERIES = [("join", "SELECT count(*) FROM e JOIN {T} AS t ON t.k = e.x"),
           ("NOT EXISTS", "SELECT count(*) FROM e WHERE NOT EXISTS(SELECT 1 FROM {T} AS t WHERE t.k = e.x)"),
           ("LEFT JOIN .. IS NULL", "SELECT count(*) FROM e LEFT JOIN {T} AS t ON t.k = e.x WHERE t.k IS NULL")]
KEYS = {"integers": (lambda i: i * 7919, "INTEGER"), "texts": (lambda i: f"user{i * 7919}@example.com", "TEXT"),
        "UUIDs": (lambda i: str(uuid.UUID(int=i * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128)), "TEXT")}


def fill(db, make, type_, keys, rows, share):
    rng = random.Random(1)
    db.executescript(f"DROP TABLE IF EXISTS f; DROP TABLE IF EXISTS t; DROP TABLE IF EXISTS e;"
                     f"CREATE TABLE t(k {type_} PRIMARY KEY, n INTEGER, note TEXT); CREATE TABLE e(x {type_}, n INTEGER)")
    numbers = list(range(keys))
    rng.shuffle(numbers)
    db.executemany("INSERT INTO t VALUES (?, ?, 'some words')", ((make(2 * i), i) for i in numbers))
    db.executemany("INSERT INTO e VALUES (?, ?)", ((make(2 * rng.randrange(keys) + (rng.random() >= share)), i) for i in range(rows)))
    db.execute("CREATE INDEX t_n ON t(n)")
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(content='t(k)', rows=on)")


def cost(db, sql, *parameters):
    times = []
    for _ in range(5):
        began = time.process_time()
        answer = db.execute(sql, parameters).fetchall()
        times.append(time.process_time() - began)
    return statistics.median(times) * 1000, answer


def pair(db, what, sql, *parameters):
    (plain, rows), (front, same) = cost(db, sql.format(T="t"), *parameters), cost(db, sql.format(T="f"), *parameters)
    assert rows == same
    print(f"{what:42} {plain:9.1f} {front:9.1f}   {plain / front:6.2f} times", flush=True)


def points(db, what, column, keys):
    """Single rows, each by a statement of its own; microseconds."""
    rng, costs = random.Random(2), []
    asked = [db.execute(f"SELECT {column} FROM t WHERE n = ?", (rng.randrange(keys),)).fetchone() for _ in range(20000)]
    for table in "tf":
        times = []
        for _ in range(5):
            began = time.process_time()
            for key in asked:
                db.execute(f"SELECT n FROM {table} WHERE {column} = ?", key).fetchall()
            times.append((time.process_time() - began) / len(asked) * 1e6)
        costs.append(statistics.median(times))
    print(f"{what:42} {costs[0]:9.2f} {costs[1]:9.2f}   {costs[0] / costs[1]:6.2f} times (us)", flush=True)


def main(keys=300000, rows=1000000):
    db = support.connect()
    print(f"SQLite {support.ask(db, 'SELECT sqlite_version()')}, {keys} keys, {rows} rows; CPU ms: plain, fronted")
    for kind, (make, type_) in KEYS.items():
        for share in (0.001, 0.01, 0.1, 0.5, 1):
            fill(db, make, type_, keys, rows, share)
            for name, sql in QUERIES if share in (0.01, 0.5) else QUERIES[:1]:
                pair(db, f"{kind}, {share:.1%}, {name}", sql)
        pair(db, f"{kind}, scan", "SELECT count(*), sum(n), max(note) FROM {T}")
        pair(db, f"{kind}, range on another index", "SELECT count(note) FROM {T} WHERE n BETWEEN 1000 AND 11000")
        points(db, f"{kind}, row by key", "k", keys)
        points(db, f"{kind}, row by another index", "n", keys)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
