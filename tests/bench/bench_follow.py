# SPDX-License-Identifier: MIT
"""What a filter that follows a table costs its writers and its readers: microseconds of processor time, and WAL bytes.

    python3 tests/bench/bench_follow.py build/cuckoo.so [another.so ...]

With several extensions, such as those of two commits, each line has a column for each. Three runs, the median.
"""
import os
import sqlite3
import statistics
import sys
import tempfile
import time

KEYS, LOOP, SINGLE, RUNS = 200000, 50000, 5000, 3
NUMBERS = f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {KEYS}) "


class Bench:
    def __init__(self, extension, folder):
        self.path, self.rows = os.path.join(folder, "follow.db"), {}
        for suffix in ("", "-wal", "-shm"):
            if os.path.exists(self.path + suffix):
                os.remove(self.path + suffix)
        self.db = sqlite3.connect(self.path, isolation_level=None)
        self.db.enable_load_extension(True)
        self.db.load_extension(os.path.abspath(extension).removesuffix(".so"))
        for sql in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = NORMAL", "CREATE TABLE plain(k INTEGER, x)",
                    "CREATE TABLE followed(k INTEGER, x)", "CREATE TABLE indexed(k INTEGER, x)",
                    "CREATE INDEX by_key ON indexed(k)",
                    "CREATE VIRTUAL TABLE f USING cuckoo_filter(capacity=1000000, seed=1, content='followed(k)')",
                    "CREATE VIRTUAL TABLE alone USING cuckoo_filter(capacity=1000000, seed=1)"):
            self.db.execute(sql)

    def time(self, label, times, *statements):
        before = time.process_time()
        for sql, parameters in statements:
            for parameter in parameters or [()]:
                self.db.execute(sql, parameter).fetchall()
        self.rows[label] = f"{1e6 * (time.process_time() - before) / times:.2f}"

    def many(self):
        for name, target in TABLES:
            columns = "(key) " if target == "alone" else " "
            extra = "" if target == "alone" else ", i"
            self.time(f"INSERT .. SELECT, {name}", KEYS,
                      (f"INSERT INTO {target}{columns}{NUMBERS}SELECT (i * 7919) % 1000003{extra} FROM n", None))

    def in_a_loop(self):
        for name, target in TABLES:
            key = "key" if target == "alone" else "k"
            self.time(f"one INSERT after the other in one transaction, {name}", LOOP, ("BEGIN", None),
                      (f"INSERT INTO {target}({key}) VALUES (?)", [(i * 31 + 2000000,) for i in range(LOOP)]), ("COMMIT", None))

    def one_by_one(self):
        for name, target in TABLES:
            key = "key" if target == "alone" else "k"
            self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self.db.execute("PRAGMA wal_autocheckpoint = 0")
            self.time(f"each INSERT a transaction, {name}", SINGLE,
                      (f"INSERT INTO {target}({key}) VALUES (?)", [(i * 31 + 9000000,) for i in range(SINGLE)]))
            self.rows[f"the same, WAL bytes, {name}"] = f"{os.path.getsize(self.path + '-wal') / SINGLE:.0f}"
        self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def changes(self):
        for name, target in TABLES[:3]:
            self.time(f"DELETE of many rows, {name}", KEYS / 4, (f"DELETE FROM {target} WHERE x % 4 = 0", None))
            self.time(f"UPDATE of many keys, {name}", KEYS / 4, (f"UPDATE {target} SET k = k + 1 WHERE x % 4 = 1", None))
            self.time(f"UPDATE of another column, {name}", KEYS / 4, (f"UPDATE {target} SET x = x + 4 WHERE x % 4 = 1", None))

    def lookups(self):
        self.db.execute(f"CREATE TABLE e AS {NUMBERS}SELECT i * 3 AS i FROM n")
        for label, condition in (("scan alone", "i >= 0"), ("cf_table_contains, follows", "cf_table_contains('f', i)"),
                                 ("cf_table_contains, alone", "cf_table_contains('alone', i)"),
                                 ("EXISTS, follows", "EXISTS (SELECT 1 FROM f WHERE key = i)")):
            self.time(label, KEYS, (f"SELECT count(*) FROM e WHERE {condition}", None))
        self.time("JOIN, follows", KEYS, ("SELECT count(*) FROM e JOIN f ON key = i", None))
        self.db.execute("BEGIN")
        self.db.execute("DELETE FROM followed WHERE x % 64 = 2")
        self.time("cf_table_contains, follows, deletes waiting", KEYS,
                  ("SELECT count(*) FROM e WHERE cf_table_contains('f', i)", None))
        self.db.execute("COMMIT")

    def run(self):
        for step in (self.many, self.in_a_loop, self.one_by_one, self.changes, self.lookups):
            step()
        self.db.close()
        return self.rows


TABLES = [("no index", "plain"), ("an index", "indexed"), ("a filter follows", "followed"), ("the filter itself", "alone")]


def main(extensions):
    with tempfile.TemporaryDirectory() as folder:
        runs = [[Bench(extension, folder).run() for extension in extensions] for _ in range(RUNS)]
    for label in runs[0][0]:
        figures = [statistics.median(float(run[i][label]) for run in runs) for i in range(len(extensions))]
        print(f"{label:62s}" + "".join(f"{figure:10.2f}" for figure in figures))


if __name__ == "__main__":
    main(sys.argv[1:] or ["build/cuckoo.so"])
