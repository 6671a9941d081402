# SPDX-License-Identifier: MIT
"""A trigger that fires before those of a filter, and fails under OR FAIL: SQLite keeps the row, and the triggers of the
filter never run. Such a row is found all the same, or asking is an error that names `rebuild`: it is never denied.

A newer trigger on u(k) writes to w, and w refuses the second row, in more ways than anyone can list. Each case is run
beside an older trigger first: SQLite itself says that the row stays without it.
"""
import sqlite3

import pytest

import support
from promises import EXACT, NUMBERS, Follower, attempt, bare

# What w is; what the trigger does when a key is given: 'a' goes well, 'b' fails.
REFUSALS = {
    "CHECK": ("w(x CHECK (x <> 'b'))", "INSERT INTO w(x) VALUES (new.k)"),
    "CHECK, left out": ("w(x, y DEFAULT 3 CHECK (y <> 3))", "INSERT INTO w(x) SELECT 1 WHERE new.k = 'b'"),
    "CHECK, generated": ("w(x, y AS (x || '!') CHECK (y <> 'b!'))", "INSERT INTO w(x) VALUES (new.k)"),
    "UNIQUE": ("w(x UNIQUE)", "INSERT INTO w(x) VALUES (1)"),
    "an index": ("w(x, y); CREATE UNIQUE INDEX one ON w(y)", "INSERT INTO w(x, y) VALUES (1, 1)"),
    "an index on an expression": ("w(x); CREATE UNIQUE INDEX one ON w(x % 2)", "INSERT INTO w(x) VALUES (1)"),
    "PRIMARY KEY DEFAULT, left out": ("w(x, y DEFAULT 7, PRIMARY KEY (y))", "INSERT INTO w(x) VALUES (1)"),
    "NOT NULL": ("w(x NOT NULL)", "INSERT INTO w(x) VALUES (nullif(new.k, 'b'))"),
    "NOT NULL, left out": ("w(x, y NOT NULL)", "INSERT INTO w(x) SELECT 1 WHERE new.k = 'b'"),
    "NOT NULL, generated": ("w(x, y AS (nullif(x, 'b')) NOT NULL)", "INSERT INTO w(x) VALUES (new.k)"),
    "WITH, columns named": ("w(x, y UNIQUE)", "INSERT INTO w(x, y) WITH c(n) AS (SELECT 1) SELECT n, n FROM c"),
    "a type": ("w(i INTEGER PRIMARY KEY, x)", "INSERT INTO w(i, x) SELECT 'text', 1 WHERE new.k = 'b'"),
    "a type, rowid given": ("w(x)", "INSERT INTO w(rowid, x) SELECT 'text', 1 WHERE new.k = 'b'"),
    "a type, WITH": ("w(i INTEGER PRIMARY KEY)",
                     "INSERT INTO w WITH c AS (SELECT 'x') SELECT * FROM c WHERE new.k = 'b'"),
    "an index, LIKE minds case": ("w(x, y); CREATE UNIQUE INDEX one ON w(y)", "INSERT INTO w(x, y) VALUES (1, 1)"),
    "UNIQUE, generated": ("w(x, y AS (x % 2) UNIQUE)", "INSERT INTO w(x) VALUES (1)"),
    "UNIQUE, generated and stored": ("w(x, y AS (x % 2) STORED UNIQUE)", "INSERT INTO w(x) VALUES (1)"),
    "UNIQUE, generated, UPDATE": ("w(x, y AS (x % 2) UNIQUE); INSERT INTO w(x) VALUES (1), (2)",
                                  "UPDATE w SET x = 3 WHERE x = 2 AND new.k = 'b'"),
    "UNIQUE DEFAULT, left out": ("w(x, y UNIQUE DEFAULT 7)", "INSERT INTO w(x) VALUES (1)"),
    "NOT NULL, generated, UPDATE": ("w(x, y AS (nullif(x, 'b')) NOT NULL); INSERT INTO w(x) VALUES (1)",
                                    "UPDATE w SET x = new.k"),
    "rowid given": ("w(x)", "INSERT INTO w(rowid, x) VALUES (7, 1)"),
    "_rowid_ given": ("w(x)", "INSERT INTO w(_rowid_, x) VALUES (7, 1)"),
    "oid given": ("w(x)", 'INSERT INTO w(x, "OID") VALUES (1, 7)'),
    "rowid of a key": ("w(i INTEGER PRIMARY KEY, x)", "INSERT INTO w(rowid, x) VALUES (7, 1)"),
    "rowid changed": ("w(x)", "INSERT INTO w(x) VALUES (new.k); UPDATE w SET oid = 1 WHERE x = 'b'"),
    "WITH": ("w(x, y UNIQUE)", "INSERT INTO w WITH c(n) AS (SELECT 1) SELECT n, n FROM c"),
    "WITH, rowid given": ("w(x)", "INSERT INTO w(rowid, x) WITH c(n) AS (SELECT 1) SELECT n, n FROM c"),
    "WITHOUT ROWID, key left out": ("w(x, y PRIMARY KEY) WITHOUT ROWID", "INSERT INTO w(x) SELECT 1 WHERE new.k = 'b'"),
    "WITHOUT ROWID, DEFAULT": ("w(x, y PRIMARY KEY DEFAULT 5) WITHOUT ROWID", "INSERT INTO w(x) VALUES (1)"),
}
STATEMENTS = {"INSERT": ("INSERT INTO u(id, k) VALUES (5003, 'a')", "INSERT OR FAIL INTO u(id, k) VALUES (5005, 'b')"),
              "UPDATE": ("UPDATE u SET k = 'a' WHERE id = 5003", "UPDATE OR FAIL u SET k = 'b' WHERE id = 5005")}
# Where the trigger is, and who writes: (temporary?, an index, a program without the extension?)
KINDS = {"newer": ("", "", False), "newer, indexed": ("", "CREATE INDEX of_k ON u(k)", False),
         "temporary": ("TEMP", "", False), "newer, another program": ("", "", True)}


def make(db, case, event):
    """u with rows on both sides of those that are written: whoever takes a sample asks for these."""
    db.execute("PRAGMA synchronous = off")
    db.execute("CREATE TABLE u(id INTEGER PRIMARY KEY, k)")
    if event == "UPDATE":
        db.execute("INSERT INTO u VALUES (5003, 'was'), (5005, 'was too')")
    db.execute(NUMBERS + "INSERT INTO u SELECT i * 100 + 50, 'k' || i FROM n WHERE i < 100")
    for sql in ("CREATE TABLE " + REFUSALS[case][0]).split("; "):
        db.execute(sql)
    if "LIKE" in case:
        db.execute("PRAGMA case_sensitive_like = on")


def make_trigger(db, case, event, temp=""):
    db.execute(f"CREATE {temp} TRIGGER newer AFTER {event} ON main.u BEGIN {REFUSALS[case][1]}; END")


def write(db, case, event):
    """A type that does not fit: in autocommit SQLite takes the row back, in a transaction not before 3.54."""
    good, bad = STATEMENTS[event]
    db.execute("BEGIN") if "type" in case else None
    db.execute(good)
    assert attempt(db, bad) is not None
    db.execute("COMMIT") if "type" in case else None


def keeps_a_row(case, event):
    """Does SQLite do that, by itself?"""
    db = sqlite3.connect(":memory:", isolation_level=None)
    make(db, case, event)
    db.execute("CREATE TABLE told(k)")
    db.execute(f"CREATE TRIGGER older AFTER {event} ON u BEGIN INSERT INTO told VALUES (new.k); END")
    make_trigger(db, case, event)
    write(db, case, event)
    kept = db.execute("SELECT 1 FROM u WHERE k = 'b' AND NOT EXISTS (SELECT 1 FROM told WHERE k = 'b')").fetchone()
    db.close()
    return bool(kept)


@pytest.mark.parametrize("how", [*KINDS, "newer, UPDATE"])
@pytest.mark.parametrize("case", REFUSALS)
def test_a_row_that_or_fail_keeps_is_never_denied(tmp_path, case, how):
    kind, event = ("newer", "UPDATE") if "UPDATE" in how else (how, "INSERT")
    assert keeps_a_row(case, event) or "type" in case
    temp, index, another = KINDS[kind]
    path = str(tmp_path / "kept.db") if another else ":memory:"
    db = support.connect(path)
    make(db, case, event)
    db.execute(index)
    follower = Follower(db).create(EXACT)
    make_trigger(db, case, event, temp)
    follower.answers()  # whoever has asked before has looked at the triggers
    write(bare(path) if another else db, case, event)
    assert support.ask(db, "SELECT count(*) FROM u WHERE k = 'b'") == 1 or "type" in case
    follower.answers()
    db.close()
