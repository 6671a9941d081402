# SPDX-License-Identifier: MIT
"""DROP TABLE of a filter table, interrupted by a progress handler at any time: it is an error and all is as before, or
the table is gone with all that belongs to it. A transaction is taken back with an error only.
"""
import itertools

import pytest

import support
from promised import cases
from promises import attempt
from support import ask

KINDS = {"direct": "capacity=100", "followed": "content='u(k)'", "fronted": "content='u(k)', rows=on"}
FRAMES = {"autocommit": [], "a transaction": ["BEGIN"], "a savepoint": ["BEGIN", "SAVEPOINT s"]}
EVERY = 5  # steps of SQLite between two calls of the handler


def world(kind):
    db = support.connect()
    db.executescript(f"""
        CREATE TABLE u(id INTEGER PRIMARY KEY, k); INSERT INTO u(k) VALUES ('a'), ('b'); CREATE TABLE other(x);
        CREATE VIRTUAL TABLE f USING cuckoo_filter({KINDS[kind]});""")
    if kind == "direct":
        db.execute("INSERT INTO f(key) VALUES ('a'), ('b')")
    return db


def objects(db):
    return db.execute("SELECT type, name, sql FROM sqlite_master ORDER BY 1, 2").fetchall()


def drop(db, interrupts):
    """The error, and whether the handler was asked that often."""
    calls = itertools.count(1)
    asked = []
    db.set_progress_handler(lambda: interrupts(next(calls)) and (asked.append(1) or 1), EVERY)
    error = attempt(db, "DROP TABLE f")
    db.set_progress_handler(None, 0)
    return error, bool(asked)


def check(db, error, before, begun):
    """Is the table still there? SQLite asks the handler once more when a statement has been done."""
    there, rows = objects(db), ask(db, "SELECT count(*) FROM other")
    assert there in (before, [row for row in before if row[1] in ("u", "other")]), "a half of it is gone"
    assert error or there != before, "neither gone, nor an error"
    taken_back = error and there == before and not db.in_transaction
    assert (db.in_transaction, rows) == ((False, 0) if taken_back else (begun, int(begun))), "rolled back"
    if there == before:
        assert db.execute("SELECT cf_table_contains('f', k) FROM u WHERE id < 3").fetchall() == [(1,), (1,)]
    return there == before


@pytest.mark.parametrize("kind, frame, how", cases(
    KINDS, FRAMES, ["once", "from then on"], reason="a result is ignored when the triggers have gone",
    broken=lambda kind, frame, how: kind != "direct" and how == "once"))
def test_drop_is_interrupted(kind, frame, how):
    db, asked = None, True
    for n in itertools.count(1):
        if db is None:
            db = world(kind)
            before = objects(db)
        for sql in FRAMES[frame]:
            db.execute(sql)
        if frame != "autocommit":
            db.execute("INSERT INTO other VALUES (7)")
            db.execute("INSERT INTO u(k) VALUES ('c')")
        error, asked = drop(db, lambda call: call == n if how == "once" else call >= n)
        if not check(db, error, before, frame != "autocommit"):
            db.close()
            db = None
        elif db.in_transaction:
            db.execute("ROLLBACK")
        if not asked:
            break
    assert error is None and n > 3
