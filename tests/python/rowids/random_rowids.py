# SPDX-License-Identifier: MIT
"""Random changes of a table with rowids=on, by three connections, one of them without the extension: every row that
has a key must be found by it, each once, and after the comparison none besides.

    random_rowids.py [steps [seed]]      prints a line for each seed
"""
import collections
import contextlib
import random
import sqlite3
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import support

# A column, and the keys that go into it.
WORDS = [f"w{i}" for i in range(40)] + ["W1", "w1 ", "Ä", "", "7", "007", "7.0", " 7", "x" * 300]
NUMBERS = list(range(-5, 40)) + [2**53, 2**53 + 1, 2**62, -2**63, 7.0, 0.5, 1e15, 1e300, -0.0]
MIXED = WORDS[:20] + NUMBERS[:20] + [b"w1", b"", b"7", "7", 7, 7.0, 0.5, "0.5", "0.50", "1e3", 1000]
COLUMNS = [("TEXT", WORDS), ("TEXT COLLATE NOCASE", WORDS), ("TEXT COLLATE RTRIM", WORDS), ("INTEGER", NUMBERS),
           ("REAL", NUMBERS), ("NUMERIC", MIXED), ("BLOB", MIXED), ("", MIXED), ("TEXT", MIXED)]
# SQLite's own Bloom filter over an index misses texts that differ only in spaces at the end, in plain tables as well.
BLOOM_MISSES = (3, 38) <= sqlite3.sqlite_version_info < (3, 43)
KINDS = ["id INTEGER PRIMARY KEY, {k}, other", "id, {k}, other", "{k}, rowid, other", "id INTEGER PRIMARY KEY AUTOINCREMENT, {k}, other",
         "id TEXT PRIMARY KEY, {k}, other", "id INTEGER PRIMARY KEY, raw, k AS (raw), other", "k {k1} UNIQUE, id, other"]


class Wrong(AssertionError):
    pass


class World:
    def __init__(self, rng, path, say=None):
        self.rng, self.path, self.say = rng, path, say
        self.type, self.keys = rng.choice(COLUMNS)
        kind = rng.choice(KINDS)
        self.into = "raw" if "raw" in kind else "k"
        self.unique = "UNIQUE" in kind
        self.rowid = "_rowid_" if "rowid," in kind else "rowid"
        self.schema = "CREATE TABLE t(" + kind.format(k=f"k {self.type}", k1=self.type) + ")"
        if "raw" in kind:
            self.schema = self.schema.replace("raw, k AS", f"raw {self.type}, k {self.type} AS")
        self.excess = self.looked = self.joined = 0
        self.rebuilt = collections.Counter()
        self.connections = [support.connect(path), support.connect(path), sqlite3.connect(path, isolation_level=None)]
        for db in self.connections[:2]:
            db.execute("PRAGMA automatic_index = off")  # its Bloom filters do not know RTRIM (SQLite 3.40)
        db = self.connections[0]
        db.execute(f"PRAGMA journal_mode = {rng.choice(['wal', 'delete', 'memory'])}")
        self.run(db, self.schema)
        for _ in range(rng.choice([0, 5, 60, 300])):
            with contextlib.suppress(sqlite3.OperationalError):  # AUTOINCREMENT behind the last rowid
                self.insert(db, "OR IGNORE")
        if rng.random() < 0.3:
            self.run(db, "CREATE TABLE logged(x)")
            self.run(db, "CREATE TRIGGER others AFTER UPDATE ON t BEGIN INSERT INTO logged VALUES(new.k); END")
        growth = rng.choice(["", "", ", growth=off, capacity=500"])
        rows = rng.choice(["", ", capacity=20", ", fpr=0.1", ", bucket_size=8", growth])
        self.run(db, f"CREATE VIRTUAL TABLE f USING cuckoo_filter(content='t(k)', rowids=on{rows})")
        if rng.random() < 0.3:
            self.run(db, "CREATE INDEX ti ON t(k)")
        self.run(db, "CREATE TABLE e(n INTEGER PRIMARY KEY, x, y TEXT, z NUMERIC)")
        for _ in range(20):
            self.run(db, "INSERT INTO e(x, y, z) VALUES(?, ?, ?)", self.key(), self.key(), self.key())

    def close(self):
        for db in self.connections:
            db.close()

    def run(self, db, sql, *parameters):
        if self.say:
            self.say(f"{self.connections.index(db)}: {sql} {parameters}")
        return db.execute(sql, parameters)

    def key(self):
        return None if self.rng.random() < 0.05 else self.rng.choice(self.keys)

    def row(self):
        kind = self.rng.random()
        return (self.rng.randrange(1, 80) if kind < 0.6 else self.rng.randrange(1, 5000) if kind < 0.9 else
                self.rng.choice([-1, -7, 2**31, 2**40 + 5, 2**61, 2**63 - 2, -2**63, self.rng.randrange(2**20)]))

    def insert(self, db, how):
        if self.rng.random() < 0.5:
            self.run(db, f"INSERT {how} INTO t({self.into}) VALUES(?)", self.key())
        else:
            self.run(db, f"INSERT {how} INTO t({self.rowid}, {self.into}) VALUES(?, ?)", self.row(), self.key())

    def change(self, db):
        rng, run = self.rng, self.run
        kind = rng.randrange(100)
        how = rng.choice(["", "OR IGNORE", "OR REPLACE", "OR REPLACE", "OR FAIL", "OR ROLLBACK"])
        if kind < 35:
            self.insert(db, how)
        elif kind < 50:
            run(db, f"UPDATE {how} t SET {self.into} = ? WHERE {self.rowid} = ?", self.key(), self.some_row(db))
        elif kind < 58:
            run(db, f"UPDATE {how} t SET {self.rowid} = ? WHERE {self.rowid} = ?", self.row(), self.some_row(db))
        elif kind < 62:
            run(db, f"UPDATE {how} t SET {self.rowid} = {self.rowid} + ?, {self.into} = ? WHERE {self.rowid} BETWEEN ? AND ?",
                rng.choice([-1, 1, 3]), self.key(), *sorted([self.row(), self.row()])[:2])
        elif kind < 64:
            run(db, f"UPDATE {how} t SET {self.rowid} = -{self.rowid} WHERE {self.rowid} < ?", self.row())
        elif kind < 80:
            run(db, f"DELETE FROM t WHERE {self.rowid} = ?", self.some_row(db))
        elif kind < 83:
            run(db, "DELETE FROM t WHERE k = ?", self.key())
        elif kind < 84:
            run(db, "DELETE FROM t")
        elif kind < 86:
            run(db, f"INSERT {how} INTO t({self.into}) SELECT k FROM t LIMIT {rng.choice([3, 30])}")
        elif kind < 88:
            run(db, "UPDATE t SET other = 1")
        elif kind < 92:
            for _ in range(rng.choice([5, 50])):
                self.insert(db, "OR REPLACE")
        elif kind < 94:
            self.savepoints(db)
        elif kind < 96:
            run(db, rng.choice(["CREATE TABLE IF NOT EXISTS u(x)", "DROP TABLE IF EXISTS u", "CREATE INDEX IF NOT EXISTS oi ON t(other)",
                                "DROP INDEX IF EXISTS oi", "DROP INDEX IF EXISTS ti", "ANALYZE"]))
        elif kind < 97:
            run(db, "VACUUM")
        elif db is not self.connections[2]:
            command = rng.choice(["drain", "drain", "optimize", "rebuild", "check"])
            run(db, f"INSERT INTO f(f) VALUES('{command}')")

    def some_row(self, db):
        found = db.execute(f"SELECT {self.rowid} FROM t ORDER BY random() LIMIT 1").fetchone()
        return found[0] if found and self.rng.random() < 0.9 else self.row()

    def savepoints(self, db):
        self.run(db, "SAVEPOINT s")
        self.insert(db, "OR REPLACE")
        self.run(db, "DELETE FROM t WHERE k = ?", self.key())
        if self.rng.random() < 0.6:
            self.run(db, "ROLLBACK TO s")
        self.run(db, "RELEASE s")

    def ask(self, db, sql, *parameters):
        """The rows; after a rebuild, if the filter asks for that."""
        try:
            return db.execute(sql, parameters).fetchall()
        except sqlite3.OperationalError as error:
            if "cf_table_rebuild" not in str(error):
                raise
            self.rebuilt[str(error).split(";")[0]] += 1
            self.run(db, "SELECT cf_table_rebuild('f')").fetchall()
            return self.ask(db, sql, *parameters)

    def check(self, db, key):
        found = [row for row, in self.ask(db, "SELECT row FROM f WHERE key = ?", key)]
        truth = sorted(row for row, in db.execute(f"SELECT {self.rowid} FROM t NOT INDEXED WHERE k = ?", (key,)))
        if len(set(found)) < len(found) or not set(truth) <= set(found):
            raise Wrong(f"{self.schema}: key {key!r} has the rows {truth}, found {sorted(found)}")
        joined = sorted(row for row, in db.execute(f"SELECT t.{self.rowid} FROM f JOIN t ON t.{self.rowid} = f.row "
                                                   "AND t.k = f.key WHERE f.key = ?", (key,)))
        if joined != truth:
            raise Wrong(f"{self.schema}: key {key!r} has the rows {truth}, joined {joined}")
        self.excess += len(found) - len(truth)
        self.looked += 1

    def join(self, db):
        """A join in the form of two tables, and the same without the filter."""
        rng = self.rng
        column = rng.choice(["e.x", "e.y", "e.z", "+e.y", "e.x || ''"])
        on = f"t.{self.rowid} = f.row AND t.k = {rng.choice(['f.key', column])}"
        more = rng.choice(["", "", f"AND t.{self.rowid} > {self.row()}", "AND t.other IS NULL", "AND e.n % 3 = 0", f"WHERE t.{self.rowid} < {self.row()}"])
        what, tail = rng.choice([("count(*), max(e.n)", "GROUP BY t.k"), (f"e.n, t.{self.rowid}, t.k", rng.choice(["", "", "ORDER BY 1, 2"])),
                                 (f"DISTINCT t.{self.rowid}", "")])
        form = rng.choice(["e JOIN f ON f.key = {0} JOIN t ON {1} {2}", "f JOIN t ON {1} JOIN e ON f.key = {0} {2}"]).format(column, on, more)
        if "RTRIM" in self.schema and BLOOM_MISSES:
            form = form.replace("JOIN t ", "JOIN t NOT INDEXED ")
        found, truth = (collections.Counter(self.ask(db, f"SELECT {what} FROM {tables} {tail}")) for tables in
                        (form, f"e JOIN t NOT INDEXED ON t.k = {column} {more}"))
        self.joined += 1
        if found != truth:
            raise Wrong(f"{self.schema}: {what} {form} {tail}: {found}, not {truth}")

    def step(self):
        rng = self.rng
        db = rng.choice(self.connections)
        transaction = rng.random() < 0.2
        if transaction:
            self.run(db, "BEGIN")
        for _ in range(rng.choice([1, 3, 10]) if transaction else 1):
            try:
                self.change(db)
            except sqlite3.IntegrityError:
                pass
            except sqlite3.DatabaseError as error:
                if not any(word in str(error) for word in ("VACUUM", "rebuild reads them again", "in a row", "within a transaction", "cf_table_rebuild",
                                                           "database or disk is full", "fewer than 8 rows", "already exists")):
                    raise
            if transaction and db is not self.connections[2] and rng.random() < 0.3:
                self.check(db, self.key())
        if db.in_transaction:
            self.run(db, "COMMIT" if rng.random() < 0.7 else "ROLLBACK")
        if rng.random() < 0.5:
            self.check(rng.choice(self.connections[:2]), self.key())
            self.join(self.connections[0])

    def check_all(self):
        for db in self.connections[:2]:
            for _ in range(4):
                self.join(db)
            for key in self.keys:
                self.check(db, key)
            self.run(db, "INSERT INTO f(f) VALUES('check')")


def run(steps, seed, say=None):
    """Makes one database after the other. Returns how many lookups and joins there were, and the rows too many."""
    rng = random.Random(seed)
    looked = joined = excess = 0
    rebuilt = collections.Counter()
    while steps > 0:
        some = min(steps, rng.choice([50, 200, 1000]))
        steps -= some
        with tempfile.TemporaryDirectory() as folder:
            world = World(rng, f"{folder}/x.db", say)
            for _ in range(some):
                world.step()
            world.check_all()
            world.close()
            looked += world.looked
            joined += world.joined
            excess += world.excess
            rebuilt += world.rebuilt
    return looked, joined, excess, dict(rebuilt)


if __name__ == "__main__":
    most, first = (int(a) for a in (sys.argv[1:] + ["20000", "1"][len(sys.argv) - 1:])[:2])
    for seed in range(first, first + max(1, most // 2000)):
        print(seed, *run(min(most, 2000), seed, print if len(sys.argv) > 3 else None), flush=True)
