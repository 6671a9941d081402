# SPDX-License-Identifier: MIT
"""The promise of a filter that follows a table: a stored row is found, or the use of the filter is an error
that says what to do. What the tests of that promise share, programs without the extension among it."""
import os
import shutil
import sqlite3
import subprocess
from contextlib import contextmanager

import pytest

import support
from support import ask

SHELL = os.environ.get("SQLITE3") or shutil.which("sqlite3")
UNDEFENDED = ".dbconfig defensive off\n" if sqlite3.sqlite_version_info >= (3,
    43) else ""  # else these shells restore no dump of a filter

# No accidental equality of fingerprints, and copies of a key are counted: counts can be exact.
EXACT = "capacity=100, fingerprint_bits=32, counter_bits=8"

CONFLICTS = ["", "OR ABORT", "OR FAIL", "OR IGNORE", "OR REPLACE", "OR ROLLBACK"]
FRAMES = {"autocommit": [], "begin": ["BEGIN"], "savepoint": ["SAVEPOINT s"],
          "savepoint in begin": ["BEGIN", "INSERT INTO other VALUES (1)", "SAVEPOINT s"]}

NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) "  # 1 to 1000

MISSED = ["SELECT {k} FROM {u} WHERE {k} IS NOT NULL AND NOT cf_table_contains('{f}', {k})",
          "SELECT {k} FROM {u} WHERE {k} IS NOT NULL AND NOT EXISTS (SELECT 1 FROM {f} WHERE {f}.key = {u}.{k})"]


def is_refusal(error):
    """An error of the filter that says what to do."""
    return (getattr(error, "sqlite_errorcode", 0) & 0xFF) == sqlite3.SQLITE_ERROR and "rebuild" in str(error)


class Follower:
    """A filter and the column that it follows."""

    def __init__(self, db, table="u", column="k", name="f"):
        self.db, self.table, self.column, self.name = db, table, column, name

    def create(self, options=EXACT):
        self.db.execute(f"CREATE VIRTUAL TABLE {self.name} "
                        f"USING cuckoo_filter({options}, content='{self.table}({self.column})')")
        return self

    def ask(self, sql):
        return self.db.execute(sql.format(k=self.column, u=self.table, f=self.name)).fetchall()

    def answers(self):
        """Asks for every stored row: none may be missed. False when the filter refuses to be used."""
        for question in MISSED:
            try:
                missed = self.ask(question)
            except sqlite3.OperationalError as error:
                assert is_refusal(error), repr(error)
                return False
            assert missed == [], f"stored, and denied: {missed[:5]} and so on, {len(missed)} in all"
        return True

    def doubts(self):
        """Does it say that it cannot be trusted? No row is missed all the same: it refuses, or its table answers."""
        self.answers()
        return ask(self.db, "SELECT json_extract(cf_table_info(?), '$.trusted')", self.name) == 0

    def rows(self):
        return ask(self.db, f"SELECT count({self.column}) FROM {self.table}")

    def items(self):
        return ask(self.db, f"SELECT count(*) FROM {self.name}")

    def rebuild(self):
        self.db.execute(f"INSERT INTO {self.name}({self.name}) VALUES ('rebuild')")

    def check(self):
        self.db.execute(f"INSERT INTO {self.name}({self.name}) VALUES ('check')")

    def exact(self, stale=False):
        """Outside of a transaction: all rows are found, nothing else is there. REPLACE may leave stale copies."""
        assert not self.db.in_transaction
        assert self.answers(), "refused"
        if stale:
            assert self.items() >= self.rows()
        else:
            assert self.items() == self.rows()
            self.check()

    def settled(self, stale=False):
        """As exact, after `rebuild` when the filter asks for it."""
        if not self.answers():
            self.rebuild()
            stale = False
        self.exact(stale)


def attempt(db, sql, *followers):
    """Runs a statement that may fail; no row is missed after it. The error, or None."""
    error = None
    try:
        db.execute(sql).fetchall()
    except sqlite3.Error as caught:
        error = caught
    for follower in followers:
        follower.answers()
    return error


# ---- other programs ----

def bare(path, **options):
    """A connection of a program that does not have the extension, in autocommit mode."""
    return sqlite3.connect(path, isolation_level=None, **options)


def shell(path, sql, fails=False):
    """Another program: the sqlite3 shell, without the extension. What it says. `fails`: some of the statements do."""
    if not SHELL:
        pytest.skip("no sqlite3 shell")
    ran = subprocess.run([SHELL, "-batch", path], input=sql, capture_output=True, text=True)
    assert (ran.stderr != "") == fails, ran.stderr
    return ran.stdout


# ---- statements ----

def script(db, text):
    """Statements, those that fail too; the errors of those. (executescript would commit first.)"""
    errors, sql = [], ""
    for part in (text + ";").split(";")[:-1]:
        sql += part + ";"
        if sqlite3.complete_statement(sql):  # the body of a trigger has semicolons, too
            error = attempt(db, sql) if sql.strip(" ;") else None
            if error:
                errors.append((sql, error))
            sql = ""
    return errors


def run(db, text):
    """Statements, none of which fails."""
    errors = script(db, text)
    assert errors == [], errors


@contextmanager
def frame(db, name):
    """Within a transaction or savepoint, which a failing statement may have ended before us."""
    for sql in FRAMES[name]:
        db.execute(sql)
    yield
    if db.in_transaction:
        db.execute("COMMIT")


def drain(db, name="f"):
    db.execute(f"INSERT INTO {name}({name}) VALUES ('drain')")


def sees(db, key, name="f"):
    return ask(db, "SELECT cf_table_contains(?, ?)", name, key)


def settle(follower, stale=False):
    """Nothing is missed and nothing else is there, before the command `drain` and after it."""
    follower.exact(stale)
    drain(follower.db, follower.name)
    follower.exact(stale)


def settle_anew(path, stale=False, name="f"):
    """The same by a connection that comes new."""
    db = support.connect(path)
    settle(Follower(db, name=name), stale)
    db.close()


# ---- tables ----

# Three kinds: by INTEGER PRIMARY KEY, by rowids that VACUUM may change, and without rowid.
TABLES = {"key": "CREATE TABLE u(id INTEGER PRIMARY KEY, k, x DEFAULT 0)",
          "rowid": "CREATE TABLE u(id, k, x DEFAULT 0)",
          "without rowid": "CREATE TABLE u(id PRIMARY KEY, k, x DEFAULT 0) WITHOUT ROWID"}


def create(db, table="key", options=EXACT, name="f"):
    """u(id, k, x) of such a kind, with a few rows, and a filter that follows k. REPLACE fires triggers."""
    db.execute("PRAGMA recursive_triggers = ON")
    db.execute(TABLES[table])
    db.execute("CREATE TABLE other(x)")
    db.execute("INSERT INTO u(id, k) VALUES (1, 'A1'), (2, 'b2'), (3, 'C3'), (4, NULL), (5, 'e5')")
    return Follower(db, name=name).create(options)


def people(db, options=EXACT, column="k UNIQUE", more="", name="f"):
    """u(id, k, x) with a few rows, and a filter that follows k."""
    db.execute(f"CREATE TABLE u(id INTEGER PRIMARY KEY, {column}, x DEFAULT 0{more})")
    db.execute("CREATE TABLE other(x)")
    db.execute("INSERT INTO u(id, k) VALUES (1, 'A1'), (2, 'b2'), (3, 'C3'), (4, NULL), (5, 'e5')")
    return Follower(db, name=name).create(options)


# What people do to u(id, k UNIQUE, x). Several of them fail in the middle; {c} is a conflict clause.
STATEMENTS = [
    "INSERT {c} INTO u(k) VALUES ('F6'), ('g7'), ('bad'), ('H8')",
    "INSERT {c} INTO u(k) VALUES ('I9'), ('b2'), ('j0')",
    "INSERT {c} INTO u(id, k) VALUES (20, 'bad2'), (3, 'other'), (21, 'K1')",
    "UPDATE {c} u SET k = 'C3' WHERE k IN ('A1', 'e5')",
    "UPDATE {c} u SET k = k || 'X' WHERE id > 2",
    "UPDATE {c} u SET k = 'bad3' || id WHERE id IN (1, 3, 5)",
    "UPDATE {c} u SET x = x + 1",
    "UPDATE {c} u SET id = id + 1, k = k || 'Y' WHERE id < 4",
    "INSERT {c} INTO u(id, k) VALUES (1, 'UP'), (30, 'b2'), (31, 'NEW') "
    "ON CONFLICT(id) DO UPDATE SET k = excluded.k || u.id",
    "DELETE FROM u WHERE id = 2",
    "UPDATE {c} u SET k = NULL WHERE id = 5",
    "INSERT {c} INTO u(k) SELECT k || '+' FROM u WHERE k LIKE '%7%' OR k LIKE 'B%'",
    "DELETE FROM u WHERE k > 'd'",
]


def exercise(db, conflict, *followers):
    """All the statements with a conflict clause; no row is missed after any. The errors."""
    return [attempt(db, sql.format(c=conflict), *followers) for sql in STATEMENTS]
