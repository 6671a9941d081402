# SPDX-License-Identifier: MIT
"""What a filter that follows a table costs its writers and its readers.

    python3 tests/bench/bench_follow.py full|quick FOLDER [SEED]

Run it in the folder of the project; it loads build/cuckoo.so. Writes follow.tsv and follow_lookups.tsv (microseconds of
processor time per row) and follow_wal.tsv (bytes of the write-ahead log per transaction).
"""
import os
import sqlite3
import sys
import tempfile
import time

import tables

EXTENSION = "build/cuckoo"
TABLES = {"no index": "plain", "an index": "indexed", "a filter follows": "followed", "the filter itself": "alone"}


class Bench:
    def __init__(self, folder, keys, seed):
        self.path = os.path.join(folder, "follow.db")
        self.keys, self.loop, self.single, self.first = keys, keys // 4, keys // 40, seed * 10**9
        self.numbers = f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {keys}) "
        self.changes, self.wal, self.lookups = {}, {}, {}
        self.open()

    def open(self):
        for suffix in ("", "-wal", "-shm"):
            if os.path.exists(self.path + suffix):
                os.remove(self.path + suffix)
        self.db = sqlite3.connect(self.path, isolation_level=None)
        self.db.enable_load_extension(True)
        self.db.load_extension(os.path.abspath(EXTENSION))
        for sql in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = NORMAL", "CREATE TABLE plain(k INTEGER, x)",
                    "CREATE TABLE followed(k INTEGER, x)", "CREATE TABLE indexed(k INTEGER, x)",
                    "CREATE INDEX by_key ON indexed(k)",
                    "CREATE VIRTUAL TABLE f USING cuckoo_filter(capacity=1000000, seed=1, content='followed(k)')",
                    "CREATE VIRTUAL TABLE alone USING cuckoo_filter(capacity=1000000, seed=1)"):
            self.db.execute(sql)

    def time(self, times, *statements):
        before = time.process_time()
        for sql, parameters in statements:
            for parameter in parameters or [()]:
                self.db.execute(sql, parameter).fetchall()
        return 1e6 * (time.process_time() - before) / times

    def change(self, label, name, times, *statements):
        self.changes.setdefault(label, {})[name] = self.time(times, *statements)

    def many(self):
        for name, target in TABLES.items():
            columns, extra = ("(key) ", "") if target == "alone" else (" ", ", i")
            rows = f"{self.numbers}SELECT {self.first} + (i * 7919) % 1000003{extra} FROM n"
            self.change("INSERT .. SELECT", name, self.keys, (f"INSERT INTO {target}{columns}{rows}", None))

    def in_a_loop(self):
        for name, target in TABLES.items():
            key = "key" if target == "alone" else "k"
            rows = [(self.first + i * 31 + 2000000,) for i in range(self.loop)]
            self.change("one INSERT after the other in one transaction", name, self.loop, ("BEGIN", None),
                        (f"INSERT INTO {target}({key}) VALUES (?)", rows), ("COMMIT", None))

    def one_by_one(self):
        for name, target in TABLES.items():
            key = "key" if target == "alone" else "k"
            self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self.db.execute("PRAGMA wal_autocheckpoint = 0")
            rows = [(self.first + i * 31 + 9000000,) for i in range(self.single)]
            self.change("each INSERT a transaction", name, self.single, (f"INSERT INTO {target}({key}) VALUES (?)", rows))
            self.wal[name] = os.path.getsize(self.path + "-wal") / self.single
        self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def delete_and_update(self):
        for name, target in list(TABLES.items())[:3]:
            some = self.keys / 4
            self.change("DELETE of many rows", name, some, (f"DELETE FROM {target} WHERE x % 4 = 0", None))
            self.change("UPDATE of many keys", name, some, (f"UPDATE {target} SET k = k + 1 WHERE x % 4 = 1", None))
            self.change("UPDATE of another column", name, some, (f"UPDATE {target} SET x = x + 4 WHERE x % 4 = 1", None))

    def look_up(self):
        self.db.execute(f"CREATE TABLE e AS {self.numbers}SELECT {self.first} + i * 3 AS i FROM n")
        for label, condition in (("scan alone", "i >= 0"), ("cf_table_contains, follows", "cf_table_contains('f', i)"),
                                 ("cf_table_contains, alone", "cf_table_contains('alone', i)"),
                                 ("EXISTS, follows", "EXISTS (SELECT 1 FROM f WHERE key = i)")):
            self.lookups[label] = self.time(self.keys, (f"SELECT count(*) FROM e WHERE {condition}", None))
        self.lookups["JOIN, follows"] = self.time(self.keys, ("SELECT count(*) FROM e JOIN f ON key = i", None))
        self.db.execute("BEGIN")
        self.db.execute("DELETE FROM followed WHERE x % 64 = 2")
        self.lookups["cf_table_contains, follows, deletes waiting"] = self.time(
            self.keys, ("SELECT count(*) FROM e WHERE cf_table_contains('f', i)", None))
        self.db.execute("COMMIT")

    def run(self):
        for step in (self.many, self.in_a_loop, self.one_by_one, self.delete_and_update, self.look_up):
            step()
        self.db.close()


def write(folder, name, columns, rows):
    tables.write(os.path.join(folder, name + ".tsv"), columns,
                 [[cell if isinstance(cell, str) else f"{cell:.3f}" for cell in row] for row in rows])


def main(size, folder, seed="0"):
    with tempfile.TemporaryDirectory(dir=folder) as place:
        bench = Bench(place, 20000 if size == "quick" else 200000, int(seed))
        bench.run()
    write(folder, "follow", ["what", *TABLES],
          [[label, *(cells.get(name, "-") for name in TABLES)] for label, cells in bench.changes.items()])
    write(folder, "follow_wal", ["target", "bytes"], [[name, bytes] for name, bytes in bench.wal.items()])
    write(folder, "follow_lookups", ["way", "us"], [[way, us] for way, us in bench.lookups.items()])


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4) or sys.argv[1] not in ("full", "quick"):
        sys.exit("usage: bench_follow.py full|quick FOLDER [SEED]")
    main(*sys.argv[1:])
