# SPDX-License-Identifier: MIT
"""kill -9 while a log is drained.

One process has the extension. Each COMMIT of it drains the logs of several filters: 64 to 5,000 rows that have come, changed and
gone, in more pages than its cache holds. Another process writes to the same tables, without the extension. The first one, or both, are killed,
mostly within COMMIT; when the other one lives on, it recovers the journal. Afterwards no row is missed and each filter holds
the keys of its column and no others, before `drain` and after it.

CUCKOO_CRASHES=n kills n times (default: 6) in each journal mode; 1000 is the long form.
"""
import os
import random
import select
import signal
import sqlite3
import time
from collections import Counter

import pytest

import support
from support import ask

CRASHES = int(os.environ.get("CUCKOO_CRASHES", "6"))
RESTART = 50  # kills until a new database is begun
MOST = 8000  # rows
EXACT = "fingerprint_bits=32, counter_bits=8"
FILTERS = {"f": ("u", "k", f"capacity=2000, {EXACT}"), "g": ("u", "x", f"capacity=8, growth=on, {EXACT}"),
           "h": ("v", "k", f"capacity=500, {EXACT}"), "i": ("u", "k", f"capacity=300, growth=off, {EXACT}")}
NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {n}) "
CHANGES = [
    NUMBERS + "INSERT INTO u(k, x) SELECT {seed} + i, -i - {seed} FROM n",
    NUMBERS + "INSERT INTO u(k) SELECT 'text ' || ({seed} + i) FROM n",
    NUMBERS + "INSERT INTO v(k) SELECT {seed} + i FROM n",
    "UPDATE u SET k = k || '.', x = x - 1 WHERE id IN (SELECT id FROM u ORDER BY id LIMIT {n} OFFSET {start})",
    "UPDATE v SET k = k + 1 WHERE rowid IN (SELECT rowid FROM v LIMIT {n})",
    "DELETE FROM u WHERE id IN (SELECT id FROM u ORDER BY id LIMIT {n} OFFSET {start})",
    "DELETE FROM v WHERE rowid IN (SELECT rowid FROM v LIMIT {n})",
    "UPDATE u SET id = id + (SELECT max(id) - min(id) + 1 FROM u) WHERE id IN (SELECT id FROM u ORDER BY id LIMIT {n})",
]


# ---- the processes ----

def change(db, rng, rows):
    seed = rng.randrange(1 << 40)
    for _ in range(rng.choice([1, 1, 2, 3])):
        db.execute(rng.choice(CHANGES).format(n=rows, seed=seed, start=rng.randrange(500)))
    for table in "u", "v":
        if ask(db, f"SELECT count(*) FROM {table}") > MOST:
            db.execute(f"DELETE FROM {table} WHERE rowid % 4")


def write(path, seed, name, told, connect, least, most):
    """Transactions for ever. It tells of each before its COMMIT, and after it."""
    rng = random.Random(seed)
    db = connect(path, isolation_level=None, timeout=30)
    db.execute("PRAGMA cache_size = 20")
    db.execute("PRAGMA synchronous = OFF")  # a process that dies takes nothing along that was written
    db.execute("PRAGMA wal_autocheckpoint = 50")
    while True:
        db.execute("BEGIN IMMEDIATE")
        change(db, rng, int(least * (most / least) ** rng.random()))
        db.execute("UPDATE transactions SET n = n + 1 WHERE name = ?", (name,))
        number = ask(db, "SELECT n FROM transactions WHERE name = ?", name)
        os.write(told, b"before %d\n" % number)
        db.execute("COMMIT")
        os.write(told, b"after %d\n" % number)
        time.sleep(0.002)  # for the other one: who waits looks only now and then


def with_extension(path, **options):
    options.pop("isolation_level")
    return support.connect(path, **options)


class Child:
    """A process that writes; what it has told."""

    def __init__(self, *arguments):
        self.pipe, told = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.close(self.pipe)
                write(*arguments[:3], told, *arguments[3:])
            except BaseException as error:  # pylint: disable=broad-except
                os.write(told, f"failed {error!r}\n".encode())
            finally:
                os._exit(1)
        os.close(told)
        self.text = b""

    def wait_for(self, word, other):
        """Until it tells so once more. The other one must not wait in the midst of a transaction until somebody listens."""
        count, end = self.text.count(word), time.monotonic() + 60
        while self.text.count(word) == count:
            for child in self, other:
                if select.select([child.pipe], [], [], 0.0005)[0]:
                    child.text += os.read(child.pipe, 1 << 16)
                assert b"failed" not in child.text and time.monotonic() < end, child.text[-300:]

    def kill(self):
        if self.pid is None:
            return
        os.kill(self.pid, signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1]) == -signal.SIGKILL, self.text[-300:]
        while True:
            part = os.read(self.pipe, 1 << 16)
            self.text += part
            if not part:
                break
        os.close(self.pipe)
        self.pid = None

    def last(self):
        """(in COMMIT, the number of the last transaction that is known to be there)"""
        words = self.text.split()[-2:] or [b"after", b"0"]
        in_commit = words[0] == b"before"
        return in_commit, int(words[1]) - in_commit


# ---- the test ----

def create(path, journal):
    db = support.connect(path)
    db.execute("PRAGMA page_size = 1024")
    db.execute(f"PRAGMA journal_mode = {journal}")
    db.execute("CREATE TABLE transactions(name PRIMARY KEY, n)")
    db.execute("INSERT INTO transactions VALUES ('with', 0), ('without', 0)")
    db.execute("CREATE TABLE u(id INTEGER PRIMARY KEY, k, x)")
    db.execute("CREATE TABLE v(k)")
    for name, (table, column, options) in FILTERS.items():
        db.execute(f"CREATE VIRTUAL TABLE {name} USING cuckoo_filter({options}, content='{table}({column})')")
    db.close()


def look(path, told):
    db = support.connect(path, timeout=30)
    for name, number in told.items():
        # Of the transaction that was under way it may have told nothing.
        assert number <= ask(db, "SELECT n FROM transactions WHERE name = ?", name) <= number + 1
    assert ask(db, "PRAGMA integrity_check") == "ok"
    for drained in False, True:
        for name, (table, column, _) in FILTERS.items():
            if drained:
                db.execute(f"INSERT INTO {name}({name}) VALUES ('drain')")
                assert '"undrained":0' in ask(db, f"SELECT cf_table_info('{name}')").replace(" ", "")
            missed = f"SELECT count(*) FROM {table} WHERE {column} IS NOT NULL AND NOT cf_table_contains('{name}', {column})"
            assert ask(db, missed) == 0, (name, drained)
            assert ask(db, f"SELECT (SELECT count(*) FROM {name}) - (SELECT count({column}) FROM {table})") == 0, (name, drained)
            db.execute(f"INSERT INTO {name}({name}) VALUES ('check')")
    db.close()


def crash(path, rng, pause, counts):
    """Kills; the number of the last transaction of each process. `pause`: seconds that a COMMIT may take."""
    seeds = rng.random(), rng.random()
    one = Child(path, seeds[0], "with", with_extension, 64, 5000)
    other = Child(path, seeds[1], "without", sqlite3.connect, 1, 200)
    try:
        one.wait_for(b"after", other)
        if rng.random() < 0.8:
            one.wait_for(b"before", other)
        time.sleep(pause * rng.random() ** 2)
        one.kill()
        if rng.random() < 0.5:  # the other one recovers what is left
            other.wait_for(b"after", other)
            counts["recovered without the extension"] += 1
    finally:
        one.kill()
        other.kill()
    counts["kills"] += 1
    counts["in COMMIT"] += one.last()[0]
    return {"with": one.last()[1], "without": other.last()[1]}


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_killed_while_draining(tmp_path, rng, journal):
    counts, known = Counter(), {}
    for i in range(CRASHES):
        path = str(tmp_path / f"{i // RESTART}.db")
        if i % RESTART == 0:
            create(path, journal)
            known = {"with": 0, "without": 0}
        told = crash(path, rng, rng.choice([0.002, 0.01, 0.03]), counts)
        known = {name: max(told[name], known[name]) for name in told}
        db = sqlite3.connect(path)
        counts["committed"] += ask(db, "SELECT n FROM transactions WHERE name = 'with'") > known["with"]
        db.close()
        look(path, known)
        db = sqlite3.connect(path)
        known = dict(db.execute("SELECT name, n FROM transactions"))
        db.close()
    print(dict(counts))
    assert counts["in COMMIT"] > CRASHES // 10 or CRASHES < 50, "few of them were killed while they drained"
