# SPDX-License-Identifier: MIT
"""CREATE VIRTUAL TABLE that is interrupted at any step says so, leaves nothing, and can be said again. So does the first use
of a table in a connection."""
import sqlite3

import pytest

import support
from support import ask

KINDS = {
    "direct": "capacity=100", "values": "capacity=100, value_bits=3", "ageing": "capacity=100, keep='1 hour'",
    "followed": "content='t(k)'", "followed, empty": "content='nobody(k)'", "followed rowid": "content='t(id)'",
    "unique": "content='u(k)'", "without rowid": "content='w(k)'", "rows": "content='t(k)', rows=on", "rows, empty": "content='nobody(k)', rows=on",
    "rows without rowid": "content='w(k)', rows=on",
}
POINTS = 50  # at most so many of each kind, other ones in each run


def content():
    db = support.connect()
    db.executescript("""
        CREATE TABLE t(id INTEGER PRIMARY KEY, k TEXT); CREATE TABLE nobody(k); CREATE TABLE u(k UNIQUE);
        CREATE TABLE w(k TEXT PRIMARY KEY, x) WITHOUT ROWID; CREATE TRIGGER r AFTER INSERT ON nobody BEGIN SELECT 1; END;
        WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < 50) INSERT INTO t(k) SELECT 'k' || i FROM n;
        INSERT INTO u SELECT k FROM t; INSERT INTO w SELECT k, 1 FROM t""")
    return db


def schema(db):
    return db.execute("SELECT name FROM sqlite_master UNION ALL SELECT name FROM sqlite_temp_master ORDER BY 1").fetchall()


def run(db, sql, last=None, how="handler"):
    """Runs a statement; from call `last` of the progress handler on it is to stop. How many calls there were, and the error."""
    calls, error = 0, None

    def handler():
        nonlocal calls
        calls += 1
        stops = last is not None and calls >= last
        if stops and how == "interrupt":
            db.interrupt()
        return stops and how == "handler"
    db.set_progress_handler(handler, 1)
    try:
        db.execute(sql).fetchall()
    except sqlite3.Error as e:
        error = e
    db.set_progress_handler(None, 0)
    return calls, error


def is_interrupted(error):
    return str(error) == "interrupted" and (error.sqlite_errorname == "SQLITE_INTERRUPT" if hasattr(error, "sqlite_errorname") else True)


def ends_late(db):
    """Before 3.42 or so SQLite asks the progress handler once more when a statement is done, and then says that it was interrupted."""
    last, _ = run(db, "CREATE TABLE late(x)")
    db.execute("DROP TABLE late")
    _, error = run(db, "CREATE TABLE late(x)", last)
    is_late = ("late",) in schema(db) and error is not None
    db.execute("DROP TABLE IF EXISTS late")
    return is_late


@pytest.mark.parametrize("how", ["handler", "interrupt"])
@pytest.mark.parametrize("begin", ["", "BEGIN", "SAVEPOINT s"])
@pytest.mark.parametrize("kind", KINDS)
def test_create(rng, kind, begin, how):
    create = f"CREATE VIRTUAL TABLE f USING cuckoo_filter({KINDS[kind]})"
    db = content()
    calls, error = run(db, create)
    assert error is None
    db.close()
    points = range(1, calls + 1)
    interrupted = 0
    for last in points if calls <= POINTS else sorted(rng.sample(points, POINTS)):
        db = content()
        before = schema(db)
        if begin:
            db.execute(begin)
        _, error = run(db, create, last, how)
        assert error is None or is_interrupted(error), (last, error)
        interrupted += error is not None
        if error is not None and schema(db) != before:
            assert ends_late(db), last  # and the table is whole, as the next lines say
        elif error is not None:
            assert not db.in_transaction or sqlite3.sqlite_version_info >= (3, 41)
            db.execute(create)
        if db.in_transaction:
            db.execute("COMMIT")
        assert ask(db, "SELECT cf_table_check('f')") == "ok"
        assert schema(db) != before
        db.execute("DROP TABLE f")
        assert schema(db) == before
        db.close()
    assert interrupted > calls / 2 or interrupted > POINTS / 2


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_use_in_a_connection(tmp_path, rng, kind):
    path = str(tmp_path / "f.db")
    db = content()
    db.execute(f"CREATE VIRTUAL TABLE f USING cuckoo_filter({KINDS[kind]})")
    db.execute("VACUUM INTO ?", (path,))
    db.close()
    questions = ["SELECT count(*) FROM f", "SELECT cf_table_contains('f', 'k1')", "SELECT count(*) FROM pragma_table_info('f')", "DROP TABLE f"]
    for question in questions:
        db = support.connect(path)
        db.execute("BEGIN")
        calls, error = run(db, question)
        assert error is None
        answer = None if "DROP" in question else db.execute(question).fetchall()
        db.execute("ROLLBACK")
        db.close()
        points = range(1, calls + 1)
        for last in points if calls <= 25 else sorted(rng.sample(points, 25)):
            db = support.connect(path)
            _, error = run(db, question, last)
            assert error is None or "interrupted" in str(error) and error.sqlite_errorname == "SQLITE_INTERRUPT" \
                if hasattr(error, "sqlite_errorname") or error is None else "interrupted" in str(error), (question, last, error)
            if answer is not None:
                assert db.execute(question).fetchall() == answer
            db.close()
            if "DROP" in question:
                break
