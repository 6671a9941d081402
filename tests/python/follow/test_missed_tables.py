# SPDX-License-Identifier: MIT
"""No stored row is missed in silence: every kind of content table, and statements that stop in the middle.
"""
import itertools
import sqlite3

import pytest

import support
from promises import CONFLICTS, FRAMES, NUMBERS, STATEMENTS, Follower, attempt, frame, people

NEEDS_STRICT = pytest.mark.skipif(sqlite3.sqlite_version_info < (3, 37), reason="no STRICT tables")
NEEDS_RETURNING = pytest.mark.skipif(sqlite3.sqlite_version_info < (3, 35), reason="no RETURNING")


# ---- every kind of content table ----

TABLES = {
    "rowid": "CREATE TABLE u(k, x DEFAULT 0)",
    "integer primary key": "CREATE TABLE u(k INTEGER PRIMARY KEY, x DEFAULT 0)",
    "autoincrement": "CREATE TABLE u(k INTEGER PRIMARY KEY AUTOINCREMENT, x DEFAULT 0)",
    "descending primary key": "CREATE TABLE u(k INTEGER PRIMARY KEY DESC, x DEFAULT 0)",
    "without rowid": "CREATE TABLE u(k PRIMARY KEY, x DEFAULT 0) WITHOUT ROWID",
    "two columns, without rowid": "CREATE TABLE u(k, x DEFAULT 0, PRIMARY KEY (x, k)) WITHOUT ROWID",
    "nocase": "CREATE TABLE u(k TEXT COLLATE NOCASE UNIQUE, x DEFAULT 0)",
    "rtrim": "CREATE TABLE u(k TEXT COLLATE RTRIM UNIQUE, x DEFAULT 0)",
    "real": "CREATE TABLE u(k REAL UNIQUE, x DEFAULT 0)",
    "text": "CREATE TABLE u(k TEXT UNIQUE, x DEFAULT 0)",
    "numeric": "CREATE TABLE u(k NUMERIC UNIQUE, x DEFAULT 0)",
    "unique on conflict replace": "CREATE TABLE u(k UNIQUE ON CONFLICT REPLACE, x DEFAULT 0)",
    "unique on conflict ignore": "CREATE TABLE u(k UNIQUE ON CONFLICT IGNORE, x DEFAULT 0)",
    "unique on conflict fail": "CREATE TABLE u(k UNIQUE ON CONFLICT FAIL, x DEFAULT 0)",
    "not null on conflict replace": "CREATE TABLE u(k NOT NULL ON CONFLICT REPLACE DEFAULT 77, x DEFAULT 0)",
    "check": "CREATE TABLE u(k CHECK (k <> 13), x DEFAULT 0 CHECK (x < 9))",
    "check that asks the filter": "CREATE TABLE u(k UNIQUE, x DEFAULT 0 CHECK (x < 9 OR k > 0))",
    "default": "CREATE TABLE u(k DEFAULT (abs(random() % 1000)), x DEFAULT 0)",
    "strict": "CREATE TABLE u(k ANY UNIQUE, x ANY DEFAULT 0) STRICT",
    "strict text": "CREATE TABLE u(k TEXT UNIQUE, x ANY DEFAULT 0) STRICT",
    "strict, without rowid": "CREATE TABLE u(k INT PRIMARY KEY, x ANY DEFAULT 0) STRICT, WITHOUT ROWID",
}
WRITES = ["INSERT {c} INTO u(k) VALUES (1), (2), (3)", "INSERT {c} INTO u(k) VALUES (4), (2), (5)",
          "INSERT {c} INTO u(k) VALUES ('6'), (7.0), ('Ab'), ('aB'), ('a '), (x'61'), ('')",
          "INSERT {c} INTO u(k) VALUES (NULL), (13), (14)", "UPDATE {c} u SET k = k + 1 WHERE k > 0",
          "INSERT {c} INTO u DEFAULT VALUES", "UPDATE {c} u SET k = 7 WHERE k < 5", "UPDATE {c} u SET x = x + 5",
          "UPDATE {c} u SET k = upper(k) WHERE typeof(k) = 'text'", "DELETE FROM u WHERE k = 7",
          "INSERT {c} INTO u(k) VALUES (9223372036854775807), (-9223372036854775808), (9007199254740993)",
          "INSERT {c} INTO u(k) VALUES (0.0), (-0.0), (1e300), (1.5)", "DELETE FROM u WHERE rowid % 2",
          "REPLACE INTO u(k) VALUES (3), ('Ab')", "DELETE FROM u"]


@pytest.mark.parametrize("conflict", CONFLICTS)
@pytest.mark.parametrize("kind", [pytest.param(kind, marks=NEEDS_STRICT if "strict" in kind else ()) for kind in TABLES])
def test_every_kind_of_content_table(kind, conflict):
    for inside in FRAMES:
        db = support.connect()
        db.execute("PRAGMA recursive_triggers = on")
        db.execute(TABLES[kind])
        db.execute("CREATE TABLE other(x)")
        follower = Follower(db).create()
        with frame(db, inside):
            for sql in WRITES:
                error = attempt(db, sql.format(c=conflict))
                assert error is None or not str(error).startswith(("f:", "cuckoo")), error
                assert follower.answers()
        follower.exact()
        db.close()


@pytest.mark.parametrize("conflict", CONFLICTS)
@pytest.mark.parametrize("stored", ["VIRTUAL", "STORED"])
def test_generated_columns(db, stored, conflict):
    db.execute("PRAGMA recursive_triggers = on")
    db.execute(f"CREATE TABLE u(i INTEGER PRIMARY KEY, a, b, k AS (lower(a) || coalesce(b, '')) {stored} UNIQUE)")
    follower = Follower(db).create()
    for sql in ("INSERT {c} INTO u(a, b) VALUES ('A', 1), ('B', 2), ('a', 1), ('C', NULL)",
                "INSERT {c} INTO u(a, b) VALUES ('D', 3), (NULL, 2), ('E', NULL)", "UPDATE {c} u SET b = 7",
                "UPDATE {c} u SET a = 'B' WHERE i < 3", "UPDATE {c} u SET a = upper(a)",
                "INSERT {c} INTO u(i, a) VALUES (1, 'up'), (9, 'new') ON CONFLICT(i) DO UPDATE SET a = excluded.a",
                "DELETE FROM u WHERE b = 7"):
        attempt(db, sql.format(c=conflict))
        assert follower.answers()
    follower.exact()


# ---- statements that stop in the middle ----

def stops_at(db, n):
    seen = itertools.count()

    def stop(value):
        if next(seen) == n:
            raise ValueError("stop")
        return value

    db.create_function("stop", 1, stop)


@pytest.mark.parametrize("inside", FRAMES)
@pytest.mark.parametrize("conflict", CONFLICTS)
def test_a_statement_fails_at_any_row(conflict, inside):
    for n in (0, 1, 3, 4):
        for sql in ("INSERT {c} INTO u(k) SELECT stop('s' || x) FROM source", "UPDATE {c} u SET k = stop(k || 'u')",
                    "DELETE FROM u WHERE stop(1)",
                    "INSERT {c} INTO u(id, k) SELECT x, stop('p' || x) FROM source WHERE 1 "
                    "ON CONFLICT(id) DO UPDATE SET k = excluded.k"):
            db = support.connect()
            follower = people(db)
            db.execute("CREATE TABLE source(x)")
            db.execute("INSERT INTO source VALUES (1), (2), (3), (40), (41), (42)")
            with frame(db, inside):
                db.execute("UPDATE u SET k = 'before' WHERE id = 5")
                stops_at(db, n)
                attempt(db, sql.format(c=conflict), follower)
                assert follower.answers()
                db.execute("INSERT OR IGNORE INTO u(k) VALUES ('after')")
                assert follower.answers()
            follower.exact(stale=conflict == "OR REPLACE")
            db.close()


@pytest.mark.parametrize("inside", FRAMES)
def test_a_statement_is_interrupted(db, inside):
    follower = people(db)
    for after in (1, 2, 5, 20):
        with frame(db, inside):
            db.execute("INSERT OR IGNORE INTO u(k) VALUES (?)", (f"before {after}",))
            calls = itertools.count()
            db.set_progress_handler(lambda: next(calls) >= after, 50)
            error = attempt(db, NUMBERS + f"INSERT INTO u(k) SELECT 'i{after}-' || i FROM n")
            db.set_progress_handler(None, 0)
            assert error is not None and follower.answers()
        follower.exact()


@NEEDS_RETURNING
@pytest.mark.parametrize("inside", FRAMES)
@pytest.mark.parametrize("fetched", [0, 1, 2])
def test_returning_that_is_not_read_to_its_end(db, fetched, inside):
    follower = people(db)
    with frame(db, inside):
        cursor = db.execute("INSERT INTO u(k) VALUES ('r1'), ('r2'), ('r3') RETURNING k")
        for _ in range(fetched):
            cursor.fetchone()
        assert follower.answers()
        cursor.close()
        assert follower.answers()
    follower.exact()


@pytest.mark.parametrize("sql", STATEMENTS)
@pytest.mark.parametrize("conflict", CONFLICTS)
def test_rolled_back_to_a_savepoint(db, conflict, sql):
    """Each statement between every pair of marks."""
    db.execute("PRAGMA recursive_triggers = on")
    follower = people(db)
    for ending in (["ROLLBACK TO b", "RELEASE b"], ["RELEASE b"], ["ROLLBACK TO b"], ["ROLLBACK TO a"]):
        db.execute("SAVEPOINT a")
        attempt(db, "DELETE FROM u WHERE id IN (2, 3)", follower)
        attempt(db, "SAVEPOINT b", follower)
        error = attempt(db, sql.format(c=conflict), follower)
        if db.in_transaction:
            for step in ending:
                attempt(db, step, follower)
            attempt(db, "INSERT OR IGNORE INTO u(k) VALUES ('b2'), ('again')", follower)
            assert follower.answers()
            db.execute("COMMIT")
        else:
            assert error is not None and conflict == "OR ROLLBACK"
        follower.exact()
