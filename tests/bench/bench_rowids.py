# SPDX-License-Identifier: MIT
"""A filter with rowids=on in the place of an index: bytes, build, lookups, joins, writes; processor time.

rowids.tsv: nanoseconds a row, and bytes. A table has a key and two other columns. A join has at most 300,000 rows in its outer table, of
which a share matches, and reads a column of the inner one. Beyond the cache: that has a tenth of the pages of the file. A write is one of
many in a transaction, with random keys.
"""
import os
import random
import time

import database

KEYS = {"integers": lambda i: i * 7919, "texts": lambda i: f"user-{i:08}@example.com",
        "UUIDs": lambda i: f"{random.Random(i).getrandbits(128):032x}"}
ROWS = {"quick": [2000], "full": [100000, 1000000, 10000000]}
SHARES = (1, 10, 50, 90, 100)
INDEX = "FROM e JOIN {t} AS u ON u.k = e.k"
FORMS = {"index": INDEX.format(t="with_index"),
         "rowids=on": "FROM e JOIN f AS i ON i.key = e.k JOIN with_filter AS u ON u.rowid = i.row AND u.k = i.key"}
LOOKUPS = {"index": "SELECT u.* FROM with_index AS u WHERE u.k = ?1",
           "rowids=on": "SELECT u.* FROM f AS i JOIN with_filter AS u ON u.rowid = i.row AND u.k = i.key WHERE i.key = ?1"}
MAKE = {"index": "CREATE INDEX by_k ON with_index(k)", "rowids=on": "CREATE VIRTUAL TABLE f USING cuckoo_filter(content='with_filter(k)', rowids=on)"}
TABLES = {"index": "with_index", "rowids=on": "with_filter"}


def taken(work):
    start = time.process_time()
    work()
    return time.process_time() - start


class Bench:
    def __init__(self, folder, kind, keys, seed):
        self.path, self.kind, self.keys, self.key = os.path.join(folder, f"{kind}.db"), kind, keys, KEYS[kind]
        self.random = random.Random(seed)
        self.db = self.connect()
        numbers = self.random.sample(range(20 * keys), 2 * keys)
        self.known, self.unknown = numbers[:keys], numbers[keys:]
        self.db.execute("BEGIN")
        for table in TABLES.values():
            self.db.execute(f"CREATE TABLE {table}(id INTEGER PRIMARY KEY, k {'INTEGER' if kind == 'integers' else 'TEXT'}, n INTEGER, s TEXT)")
        self.db.executemany("INSERT INTO with_index(k, n, s) VALUES(?, 1, 'somewhat longer than before')", ((self.key(i),) for i in self.known))
        self.db.execute("INSERT INTO with_filter SELECT * FROM with_index")
        self.db.execute("COMMIT")

    def connect(self):
        return database.connect(self.path, journal_mode="WAL", synchronous="NORMAL")

    def pages(self):
        return self.db.execute("SELECT page_count - freelist_count FROM pragma_page_count, pragma_freelist_count").fetchone()[0]

    def make(self):
        """Bytes and seconds of each."""
        figures, size = {}, self.db.execute("PRAGMA page_size").fetchone()[0]
        for form, sql in MAKE.items():
            before = self.pages()
            seconds = taken(lambda: self.db.execute(sql))
            figures[form] = (size * (self.pages() - before), seconds)
        return figures

    def join(self, share, tries=3):
        self.db.execute("DROP TABLE IF EXISTS e")
        self.db.execute(f"CREATE TABLE e(id INTEGER PRIMARY KEY, k {'INTEGER' if self.kind == 'integers' else 'TEXT'}, n INTEGER)")
        self.db.execute("BEGIN")
        rows = min(self.keys, 300000)
        self.db.executemany("INSERT INTO e(k, n) VALUES(?, 1)", ((self.key(self.random.choice(
            self.known if self.random.random() * 100 < share else self.unknown)),) for _ in range(rows)))
        self.db.execute("COMMIT")
        times, answers = {form: [] for form in FORMS}, set()
        for _ in range(tries):
            for form, joined in FORMS.items():
                start = time.process_time()
                answers.add(tuple(self.db.execute(f"SELECT count(*), sum(u.n), sum(e.n) {joined}").fetchone()))
                times[form].append((time.process_time() - start) * 1e9 / rows)
        assert len(answers) == 1, answers
        return {form: sorted(ns)[tries // 2] for form, ns in times.items()}

    def lookup(self, known, tries=3):
        keys = [(self.key(i),) for i in self.random.choices(self.known if known else self.unknown, k=20000)]
        figures = {}
        for form, sql in LOOKUPS.items():
            figures[form] = sorted(taken(lambda: [self.db.execute(sql, key).fetchone() for key in keys]) for _ in range(tries))[tries // 2] / len(keys) * 1e9
        return figures

    def write(self, sql, rows):
        figures = {}
        for form, table in TABLES.items():
            def work():
                self.db.execute("BEGIN")
                self.db.executemany(sql.format(t=table), rows)
                self.db.execute("COMMIT")
            figures[form] = taken(work) / len(rows) * 1e9
        return figures

    def writes(self):
        n = min(self.keys // 2, 100000)
        new = self.random.sample(range(20 * self.keys, 40 * self.keys), 2 * n)
        ids = self.random.sample(range(1, self.keys + 1), n)
        yield "INSERT", self.write("INSERT INTO {t}(k, n, s) VALUES(?, 1, 'somewhat longer')", [(self.key(i),) for i in new[:n]])
        yield "UPDATE of the key", self.write("UPDATE {t} SET k = ? WHERE id = ?", [(self.key(i), at) for i, at in zip(new[n:], ids)])
        yield "DELETE", self.write("DELETE FROM {t} WHERE id = ?", [(at,) for at in ids])


def figures_of(bench, large):
    made = bench.make()
    rows = [("bytes a row", {form: size / bench.keys for form, (size, _) in made.items()}),
            ("build", {form: seconds * 1e9 / bench.keys for form, (_, seconds) in made.items()})]
    rows += [(f"join, {share} % match", bench.join(share)) for share in SHARES]
    bench.db.execute("SELECT count(*) FROM f WHERE key = 1").fetchone()
    rows += [(f"lookup, {'present' if known else 'absent'}", bench.lookup(known)) for known in (True, False)]
    rows += bench.writes()
    if large:
        bench.db.close()
        bench.db = bench.connect()
        bench.db.execute(f"PRAGMA cache_size = {bench.pages() // 10}")
        rows += [(f"join beyond the cache, {share} % match", bench.join(share)) for share in (1, 50, 100)]
        rows += [("lookup beyond the cache, present", bench.lookup(True))]
    return rows


def measure(size, folder, seed):
    lines = []
    for rows in ROWS[size]:
        for kind in KEYS:
            bench = Bench(folder, kind, rows, seed)
            for what, of in figures_of(bench, large=size == "full"):
                index, filtered = (of[form] for form in FORMS)
                lines.append([f"{rows:,}", kind, what, f"{index:.1f}", f"{filtered:.1f}", f"{index / filtered:.2f}"])
            bench.db.close()
            os.remove(bench.path)
    return {"rowids": (["rows", "keys", "what", "an index", "rowids=on", "an index / rowids=on"], lines)}


if __name__ == "__main__":
    database.call(measure)
