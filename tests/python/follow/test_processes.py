# SPDX-License-Identifier: MIT
"""Processes that write to one database, with the extension and without, and are killed. Power loss and faults: tests/sim.

Each writer tells of each COMMIT. After a kill -9 of one or both, what they told of is there, no row is missed, and each
filter holds the keys of its column and no others. While they live, a reader finds each row that its snapshot has.

CUCKOO_KILLS=n kills n times in each journal mode (default: 3).
"""
import contextlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time

import pytest

import support
from address import AIMED, AIMED_AT
from promises import Follower, bare, settle
from support import ask

KILLS = int(os.environ.get("CUCKOO_KILLS") or 3)
MOST = 4000  # rows
FILTERS = {"f": ("k", f"{AIMED_AT}, counter_bits=8, growth=on"),
           "g": ("x", "capacity=300, growth=off, fingerprint_bits=32, counter_bits=8")}
NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {n}) "
CHANGES = [NUMBERS + "INSERT INTO u(k, x) SELECT {seed} + i, -i - {seed} FROM n",
           "INSERT INTO u(k) VALUES ({aimed}), ({seed})",
           "UPDATE u SET k = k + 1, x = x - 1 WHERE id IN (SELECT id FROM u ORDER BY id LIMIT {n} OFFSET {start})",
           "DELETE FROM u WHERE id IN (SELECT id FROM u ORDER BY id LIMIT {n} OFFSET {start})",
           "UPDATE u SET id = id + (SELECT max(id) - min(id) + 1 FROM u) WHERE id IN (SELECT id FROM u LIMIT {n})",
           "DELETE FROM u WHERE k = {aimed}", "SAVEPOINT s", "ROLLBACK TO s",
           "SELECT min(cf_table_contains('f', k)) FROM u"]
MISSED = [f"SELECT {column} FROM u WHERE {column} IS NOT NULL AND NOT cf_table_contains('{name}', {column})" for name, (column, _) in FILTERS.items()]
MISSED += ["SELECT id FROM u WHERE k IS NOT NULL AND NOT EXISTS (SELECT 1 FROM r WHERE r.key = u.k AND r.row = u.id)"]


def connect(path, extension):
    db = support.connect(path, timeout=600) if extension else bare(path, timeout=600)
    db.execute("PRAGMA cache_size = 20")
    db.execute("PRAGMA synchronous = OFF")  # a process that dies takes nothing along that was written
    db.execute("PRAGMA wal_autocheckpoint = 50")
    return db


def write(path, name, seed):
    """Transactions for ever; says of each that its COMMIT is to come, and that it returned."""
    rng, db = random.Random(seed), connect(path, name == "with")
    while True:
        db.execute("BEGIN IMMEDIATE")
        for _ in range(rng.choice([1, 2, 5])):
            sql = rng.choice(CHANGES[:-1 if name != "with" else None]).format(
                n=rng.choice([1, 5, 60, 1500]), seed=rng.randrange(1 << 40), start=rng.randrange(500),
                aimed=rng.choice(AIMED))
            with contextlib.suppress(sqlite3.OperationalError):  # no such savepoint
                db.execute(sql).fetchall()
        if ask(db, "SELECT count(*) FROM u") > MOST:
            db.execute("DELETE FROM u WHERE id % 4")
        db.execute("UPDATE told SET n = n + 1 WHERE name = ?", (name,))
        number = ask(db, "SELECT n FROM told WHERE name = ?", name)
        os.write(1, b"before %d\n" % number)
        db.execute(rng.choice(["COMMIT"] * 9 + ["ROLLBACK"]))
        os.write(1, b"after %d\n" % ask(db, "SELECT n FROM told WHERE name = ?", name))
        time.sleep(0.001)  # the other one's turn


class Writer:
    def __init__(self, path, name, seed):
        self.process = subprocess.Popen([sys.executable, os.path.abspath(__file__), path, name, str(seed)],
                                        stdout=subprocess.PIPE)
        self.told, self.news = [], threading.Condition()
        self.listener = threading.Thread(target=self.listen)  # a full pipe would stop it within a transaction
        self.listener.start()

    def listen(self):
        for line in self.process.stdout:
            with self.news:
                self.told.append(line.split())
                self.news.notify()

    def wait(self, lines):
        """So many COMMITs more have begun or returned."""
        with self.news:
            there = len(self.told)
            assert self.news.wait_for(lambda: len(self.told) >= there + lines, timeout=300), "it has failed"

    def kill(self):
        """The number of the last COMMIT that is known to have returned."""
        self.process.send_signal(signal.SIGKILL)
        self.listener.join()
        assert self.process.wait() == -signal.SIGKILL
        return int(self.told[-1][1]) - (self.told[-1][0] == b"before") if self.told else 0


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_killed_while_writing(tmp_path, rng, journal):
    path = str(tmp_path / "killed.db")
    db = connect(path, True)
    db.execute(f"PRAGMA journal_mode = {journal}")
    db.executescript("CREATE TABLE u(id INTEGER PRIMARY KEY, k, x); CREATE TABLE told(name PRIMARY KEY, n);"
                     "INSERT INTO told VALUES ('with', 0), ('without', 0)")
    for name, (column, options) in FILTERS.items():
        db.execute(f"CREATE VIRTUAL TABLE {name} USING cuckoo_filter({options}, content='u({column})')")
    db.execute("CREATE VIRTUAL TABLE r USING cuckoo_filter(content='u(k)', rowids=on)")
    db.close()
    for _ in range(KILLS):
        one, other = (Writer(path, name, rng.random()) for name in ("with", "without"))
        one.wait(1)
        reader = connect(path, True)
        for _ in range(20):
            for sql in MISSED:
                missed = reader.execute(sql).fetchall()
                assert missed == [], f"stored, and denied: {missed[:5]}"
            one.wait(rng.randrange(3))
        reader.close()
        told = {"with": one.kill(), "without": 0}
        other.wait(rng.randrange(2))  # recovers what is left
        told["without"] = other.kill()
        db = connect(path, True)
        for name, number in told.items():
            assert number <= ask(db, "SELECT n FROM told WHERE name = ?", name)
        assert ask(db, "PRAGMA integrity_check") == "ok"
        for name, (column, _) in FILTERS.items():
            settle(Follower(db, column=column, name=name))
        assert db.execute(MISSED[-1]).fetchall() == []
        db.execute("INSERT INTO r(r) VALUES ('check')")
        db.close()


if __name__ == "__main__":
    write(*sys.argv[1:])
