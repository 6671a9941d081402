# SPDX-License-Identifier: MIT
"""A writer that commits each INSERT, alone and beside readers that ask all the time, each a process of its own.

Texts in a file, WAL, synchronous=NORMAL; half of the questions ask for keys that are there, and all of these are found, or
the program ends. Wall clock, Python included. The filter grows while rows are added.
"""
import multiprocessing
import os
import random
import time

import database

WAYS = {  # what is made beside the table, and the question
    "no index": ("SELECT 1", None),
    "an index": ("CREATE INDEX by_email ON users(email)", "SELECT count(*) FROM users WHERE email = ?"),
    "a synced filter": ("CREATE VIRTUAL TABLE known USING cuckoo_filter(content='users(email)')",
                         "SELECT cf_table_contains('known', ?)"),
}
ORDERS = {"in order": 1, "random": 2654435761}  # the step from key to key, modulo 10^9
COLUMNS = ["way", "keys", "readers", "writes a second", "p50, us", "p99, us", "p99.9, us", "longest, ms", "questions a second",
           "question p50, us", "question p99, us"]


def email(i, order="random"):
    return f"user{i * ORDERS[order] % 10**9:09}@example.org"


def connect(path):
    db = database.connect(path, journal_mode="WAL", synchronous="NORMAL")
    db.execute("PRAGMA busy_timeout = 10000")
    return db


def fill(path, way, keys, order):
    db = connect(path)
    db.execute("CREATE TABLE users(email TEXT, x INTEGER)")
    db.execute("BEGIN")
    db.executemany("INSERT INTO users VALUES (?, ?)", ((email(2 * i, order), i) for i in range(keys)))
    db.execute("COMMIT")
    db.execute(WAYS[way][0])
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()


def timed(db, sql, parameters, seconds):
    """Microseconds of each statement, and the answers."""
    end, taken, answers = time.perf_counter() + seconds, [], []
    while (start := time.perf_counter()) < end:
        answers.append(db.execute(sql, next(parameters)).fetchone())
        taken.append(1e6 * (time.perf_counter() - start))
    return taken, answers


def questions(keys, seed):
    """Keys that are there and others by turns."""
    chosen = random.Random(seed)
    while True:
        i = 2 * chosen.randrange(keys)
        yield (email(i),)
        yield (email(i + 1),)


def read(path, way, keys, seconds, seed, start):
    db = connect(path)
    start.wait()
    taken, answers = timed(db, WAYS[way][1], questions(keys, seed), seconds)
    db.close()
    return None if (0,) in answers[::2] else taken


def write(path, keys, order, seconds, start):
    db = connect(path)
    start.wait()
    taken, _ = timed(db, "INSERT INTO users VALUES (?, 1)", ((email(2 * i, order),) for i in range(keys, 10**9)), seconds)
    db.close()
    return taken


def quantiles(taken, *shares):
    """Those that so large a share of all does not exceed."""
    ordered = sorted(taken)
    return [ordered[min(len(ordered) - 1, int(share * len(ordered)))] for share in shares]


def row(path, way, order, readers, keys, seconds):
    fill(path, way, keys, order)
    with multiprocessing.Pool(readers + 1) as pool, multiprocessing.Manager() as manager:
        start = manager.Barrier(readers + 1)
        reading = [pool.apply_async(read, (path, way, keys, seconds, seed, start)) for seed in range(readers)]
        writes = pool.apply_async(write, (path, keys, order, seconds, start)).get()
        reads = [one.get() for one in reading]
    os.remove(path)
    if None in reads:
        raise SystemExit(f"{way}: a reader missed a key")
    middle, high, highest, most = quantiles(writes, 0.5, 0.99, 0.999, 1)
    asked = ["-"] * 3
    if reads:
        asked = [f"{sum(map(len, reads)) / seconds:.0f}", *(f"{us:.1f}" for us in quantiles(sum(reads, []), 0.5, 0.99))]
    return [way, order, str(readers), f"{len(writes) / seconds:.0f}", f"{middle:.1f}", f"{high:.1f}", f"{highest:.1f}",
            f"{most / 1e3:.2f}", *asked]


def measure(size, folder, _seed):
    keys, seconds, most = (300000, 5, 4) if size == "full" else (5000, 0.3, 1)
    path = os.path.join(folder, "writes.db")
    return {"writes": (COLUMNS, [row(path, way, order, readers, keys, seconds)
                                 for way in WAYS for order in ORDERS for readers in (0, 1, 2, 4)
                                 if readers <= most and (readers == 0 or (WAYS[way][1] and order == "random"))])}


if __name__ == "__main__":
    database.call(measure)
