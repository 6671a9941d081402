# SPDX-License-Identifier: MIT
"""What a synced filter a table costs its writers and its readers: microseconds of processor time per row."""
import os
import time

import database

TABLES = {"no index": "plain", "an index": "indexed", "a synced filter": "followed", "the filter itself": "alone"}
ORDERS = {"": 31, ", random keys": 2654435761}  # the step from key to key: upwards, or anywhere


class Bench:
    def __init__(self, folder, keys, seed):
        self.path = os.path.join(folder, "follow.db")
        self.keys, self.loop, self.single, self.first = keys, keys // 4, keys // 40, seed * 10**9
        self.numbers = f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {keys}) "
        self.changes, self.wal, self.lookups = {}, {}, {}
        self.open()

    def open(self):
        self.db = database.connect(self.path, journal_mode="WAL", synchronous="NORMAL")
        for sql in ("CREATE TABLE plain(k INTEGER, x)",
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
            for order, step in ORDERS.items():
                rows = [(self.first + i * step % 2**31 + 2000000,) for i in range(self.loop)]
                self.change("one INSERT after the other in one transaction" + order, name, self.loop, ("BEGIN", None),
                            (f"INSERT INTO {target}({key}) VALUES (?)", rows), ("COMMIT", None))

    def one_by_one(self):
        for name, target in TABLES.items():
            key = "key" if target == "alone" else "k"
            self.db.execute("PRAGMA wal_autocheckpoint = 0")
            for order, step in ORDERS.items():
                self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                rows = [(self.first + i * step % 2**31 + 9000000,) for i in range(self.single)]
                self.change("each INSERT a transaction" + order, name, self.single, (f"INSERT INTO {target}({key}) VALUES (?)", rows))
                self.wal[name + order] = os.path.getsize(self.path + "-wal") / self.single
        self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def delete_and_update(self):
        for name, target in list(TABLES.items())[:3]:
            some = self.keys / 4
            self.change("DELETE of many rows", name, some, (f"DELETE FROM {target} WHERE x % 4 = 0", None))
            self.change("UPDATE of many keys", name, some, (f"UPDATE {target} SET k = k + 1 WHERE x % 4 = 1", None))
            self.change("UPDATE of another column", name, some, (f"UPDATE {target} SET x = x + 4 WHERE x % 4 = 1", None))

    def look_up(self):
        self.db.execute(f"CREATE TABLE e AS {self.numbers}SELECT {self.first} + i * 3 AS i FROM n")
        for label, condition in (("scan alone", "i >= 0"), ("cf_table_contains, synced", "cf_table_contains('f', i)"),
                                 ("cf_table_contains, alone", "cf_table_contains('alone', i)"),
                                 ("EXISTS, synced", "EXISTS (SELECT 1 FROM f WHERE key = i)")):
            self.lookups[label] = self.time(self.keys, (f"SELECT count(*) FROM e WHERE {condition}", None))
        self.lookups["JOIN, synced"] = self.time(self.keys, ("SELECT count(*) FROM e JOIN f ON key = i", None))
        self.db.execute("BEGIN")
        self.db.execute("DELETE FROM followed WHERE x % 64 = 2")
        self.lookups["cf_table_contains, synced, deletes waiting"] = self.time(
            self.keys, ("SELECT count(*) FROM e WHERE cf_table_contains('f', i)", None))
        self.db.execute("COMMIT")

    def run(self):
        for step in (self.many, self.in_a_loop, self.one_by_one, self.delete_and_update, self.look_up):
            step()
        self.db.close()


def rounded(found):
    return [[name, f"{value:.3f}"] for name, value in found.items()]


def measure(size, folder, seed):
    bench = Bench(folder, 20000 if size == "quick" else 200000, seed)
    bench.run()
    changes = [[label, *(f"{cells[name]:.3f}" if name in cells else "-" for name in TABLES)]
               for label, cells in bench.changes.items()]
    return {"follow": (["what", *TABLES], changes), "follow_wal": (["target", "bytes"], rounded(bench.wal)),
            "follow_lookups": (["way", "us"], rounded(bench.lookups))}


if __name__ == "__main__":
    database.call(measure)
