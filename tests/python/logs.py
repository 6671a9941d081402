# SPDX-License-Identifier: MIT
"""What the tests of the log share: connections without the extension, and looks at the log itself."""
import os
import shutil
import sqlite3
import subprocess

import pytest

import support
from inside import log_of
from promises import EXACT, Follower
from support import ask

SHELL = os.environ.get("SQLITE3") or shutil.which("sqlite3")

# Three kinds of tables: by INTEGER PRIMARY KEY, by rowids that VACUUM may change, and without rowid.
TABLES = {"key": "CREATE TABLE u(id INTEGER PRIMARY KEY, k, x DEFAULT 0)",
          "rowid": "CREATE TABLE u(id, k, x DEFAULT 0)",
          "without rowid": "CREATE TABLE u(id PRIMARY KEY, k, x DEFAULT 0) WITHOUT ROWID"}
ROWS = "INSERT INTO u(id, k) VALUES (1, 'A1'), (2, 'b2'), (3, 'C3'), (4, NULL), (5, 'e5')"


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


def create(db, table="key", options=EXACT, name="f"):
    """u(id, k, x) of such a kind, with rows, and a filter that follows k and has an empty log."""
    db.execute("PRAGMA recursive_triggers = ON")
    db.execute(TABLES[table])
    db.execute("CREATE TABLE other(x)")
    db.execute(ROWS)
    return Follower(db, name=name).create(options)


def logged(db, name="f"):
    """(row, old, new) of each row of the log, in order."""
    return db.execute(f"SELECT row, old, new FROM {log_of(db, name)} ORDER BY rowid").fetchall()


def run(db, text):
    """Statements with "; " between them. (executescript would commit first.)"""
    for sql in text.split("; "):
        db.execute(sql)


def drain(db, name="f"):
    db.execute(f"INSERT INTO {name}({name}) VALUES ('drain')")


def watchers(db):
    """The TEMP triggers of a connection."""
    return [name for (name,) in db.execute("SELECT name FROM sqlite_temp_master WHERE type = 'trigger'")]


def sees(db, key, name="f"):
    return ask(db, "SELECT cf_table_contains(?, ?)", name, key)


def settle(follower, stale=False):
    """Nothing is missed; and when the log has been drained, the filter holds what the column holds."""
    db = follower.db
    follower.exact(stale)
    drain(db, follower.name)
    assert logged(db, follower.name) == []
    follower.exact(stale)


def settle_anew(path, stale=False, name="f"):
    """The same by a connection that comes new."""
    db = support.connect(path)
    settle(Follower(db, name=name), stale)
    db.close()
