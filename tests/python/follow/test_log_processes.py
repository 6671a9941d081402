# SPDX-License-Identifier: MIT
"""The log in several processes and databases: two drains at once, sessions, kill -9 in the drain."""
import ctypes
import os
import signal
import subprocess
import sys

import pytest

import support
from logs import bare, create, run, settle, settle_anew
from promises import Follower
from test_log_ends import CHANGES, path  # noqa: F401 (a fixture)


# ---- several who drain ----

WRITER = """
import sqlite3, sys
sys.path.insert(0, {tests!r})
import support
db = support.connect({path!r}, timeout=30)
db.execute("PRAGMA synchronous = OFF")  # who waits for the other one must not wait for the disk as well
for i in range(40):
    for sql in ("BEGIN IMMEDIATE", "INSERT INTO u(k) VALUES ('{who} %d')" % i, "DELETE FROM u WHERE k = '{who} %d'" % (i - 3),
                "UPDATE u SET k = k || '.' WHERE id = 1", "COMMIT", "INSERT INTO f(f) VALUES ('drain')"):
        db.execute(sql)
    assert support.ask(db, "SELECT count(*) FROM u WHERE NOT cf_table_contains('f', k)") == 0
"""
TESTS = os.path.dirname(support.__file__)


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_two_drains_at_once(path, journal):
    f = create(support.connect(path, timeout=30))
    f.db.execute(f"PRAGMA journal_mode = {journal}")
    running = [subprocess.Popen([sys.executable, "-c", WRITER.format(tests=TESTS, path=path, who=who)]) for who in ("one", "two")]
    assert f.answers()
    assert [each.wait() for each in running] == [0, 0]
    settle(f)


# ---- sessions ----

class Session:
    """sqlite3_session of a connection: the names of tables that its changeset has, and the changeset."""

    def __init__(self, db, *tables):
        self.sqlite, pointer = support.sqlite_handle(db)
        if not hasattr(self.sqlite, "sqlite3session_create"):
            pytest.skip("this SQLite has no sessions")
        self.session = ctypes.c_void_p()
        assert self.sqlite.sqlite3session_create(pointer, b"main", ctypes.byref(self.session)) == 0
        for table in tables or [None]:
            assert self.sqlite.sqlite3session_attach(self.session, table) == 0

    def changeset(self):
        size, bytes_ = ctypes.c_int(), ctypes.c_void_p()
        assert self.sqlite.sqlite3session_changeset(self.session, ctypes.byref(size), ctypes.byref(bytes_)) == 0
        self.sqlite.sqlite3session_delete(self.session)
        taken = ctypes.string_at(bytes_, size.value) if size.value else b""
        self.sqlite.sqlite3_free(bytes_)
        return taken


def apply(db, changeset):
    """What the conflict handler is asked for is left out."""
    library, pointer = support.sqlite_handle(db)
    conflict = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)(lambda *_: 0)
    assert library.sqlite3changeset_apply(pointer, len(changeset), changeset, None, conflict, None) == 0


@pytest.mark.parametrize("there", ["bare", "with the extension"])
def test_a_session_leaves_the_log_alone(path, tmp_path, there):
    """It has no PRIMARY KEY. The replica has a filter of its own, which follows what is applied."""
    f = create(support.connect(path))
    replica = str(tmp_path / "replica.db")
    g = create(support.connect(replica))
    session, everything = Session(f.db, b"u"), Session(f.db)
    run(f.db, CHANGES)
    run(f.db, "INSERT INTO u(k) VALUES ('m'); BEGIN; DELETE FROM u WHERE id = 3; COMMIT")
    changeset = session.changeset()
    assert b"cuckoo_log_" not in everything.changeset() and b"f_page" not in changeset
    apply(bare(replica) if there == "bare" else g.db, changeset)
    assert g.db.execute("SELECT * FROM u ORDER BY id").fetchall() == f.db.execute("SELECT * FROM u ORDER BY id").fetchall()
    assert g.answers()
    settle(f)
    settle(g)


# ---- kill -9 in the drain ----

KILLED = """
import itertools, os, signal, sys
sys.path.insert(0, {tests!r})
import support
db, calls = support.connect({path!r}), itertools.count(1)
for sql in ("PRAGMA cache_size = 5", "BEGIN IMMEDIATE", "INSERT INTO f(f) VALUES ('drain')"):
    db.execute(sql)
db.set_progress_handler(lambda: next(calls) == {last} and os.kill(os.getpid(), signal.SIGKILL) or 0, 1)
db.execute("COMMIT")
print(next(calls))
"""


def end_of(path, last):
    """A process that drains, and is killed at this step of COMMIT; 0: it is not. Its end, and how many steps there were."""
    ran = subprocess.run([sys.executable, "-c", KILLED.format(tests=TESTS, path=path, last=last)], capture_output=True, text=True)
    return ran.returncode, ran.stdout


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_killed_in_the_drain(path, rng, journal):
    """At a random step between the first look at the log and the last page. What was committed is there, and drained once."""
    f, writer = create(support.connect(path)), bare(path)
    f.db.execute(f"PRAGMA journal_mode = {journal}")
    f.db.close()
    rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) "
    steps = 9000  # a few more than there are: some of them live
    for turn in range(5):
        writer.execute(rows + "INSERT INTO u(k) SELECT ? || i FROM n", (f"{turn} ",))
        writer.execute("DELETE FROM u WHERE id % 7 = ?", (turn,))
        code, said = end_of(path, rng.randrange(1, steps))
        assert code in (0, -signal.SIGKILL), said
        db = support.connect(path)
        assert Follower(db).answers() and Follower(db).items() == Follower(db).rows()
        db.close()
    code, said = end_of(path, 0)
    assert code == 0 and int(said) > 100
    settle_anew(path)
