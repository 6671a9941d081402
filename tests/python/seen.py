# SPDX-License-Identifier: MIT
"""A filter table by the name of `seen` that takes keys itself: what its tests share."""
import json
import sqlite3

import pytest

from support import ask

ERROR = sqlite3.OperationalError, "SQLITE_ERROR"
DAMAGED = sqlite3.DatabaseError, "SQLITE_CORRUPT_VTAB"
TOO_BIG = sqlite3.DataError, "SQLITE_TOOBIG"
NO_ROWS = sqlite3.OperationalError, "SQLITE_READONLY"
EXACT = "fingerprint_bits=32, counter_bits=8"

# Every use of a table that takes keys itself.
USES = ["SELECT key FROM seen WHERE key = 5", "SELECT key FROM seen WHERE key IN (1, 2)", "SELECT count(*) FROM seen",
        "SELECT EXISTS (SELECT 1 FROM seen WHERE key = 1)", "SELECT k FROM u JOIN seen ON seen.key = u.k",
        "SELECT cf_table_contains('seen', 7)", "SELECT cf_table_contains('main.seen', NULL)",
        "SELECT cf_export('seen')", "SELECT * FROM cf_buckets('seen')", "SELECT cf_table_rebuild('seen')",
        "DELETE FROM seen WHERE key = 5", "UPDATE seen SET key = 3 WHERE key = 4",
        "INSERT INTO seen(key) VALUES (99)", "REPLACE INTO seen(key) VALUES (99)",
        "INSERT OR IGNORE INTO seen(key) VALUES (99)",
        "INSERT INTO seen(seen) VALUES ('check')", "INSERT INTO seen(seen) VALUES ('optimize')",
        "INSERT INTO seen(seen) VALUES ('rebuild')", "INSERT INTO seen(seen) VALUES ('clear')",
        "INSERT INTO seen(seen, key) VALUES ('import', cf_new(10))", "ALTER TABLE seen RENAME TO other"]


def create(db, arguments="capacity=1000", name="seen"):
    if "capacity" not in arguments.lower():
        arguments = ", ".join(filter(None, [arguments, "capacity=1"]))
    if "seed" not in arguments:
        arguments += ", seed=0"  # else how many keys are saturated, say, is another number each time
    db.execute(f"CREATE VIRTUAL TABLE {name} USING cuckoo_filter({arguments})")


def insert(db, *keys, table="seen"):
    db.executemany(f"INSERT INTO {table}(key) VALUES (?)", [(key,) for key in keys])


def has(db, key, table="seen"):
    return ask(db, f"SELECT EXISTS (SELECT 1 FROM {table} WHERE key = ?)", key)


def lost(db, keys, table="seen"):
    """Those of the keys that are not found: there must never be any."""
    return [key for key in keys if not has(db, key, table)]


def items(db, table="seen"):
    return ask(db, f"SELECT count(*) FROM {table}")


def info(db, name="seen", what=None):
    return json.loads(ask(db, "SELECT cf_table_info(?, ?)", name, what))


def check(db, table="seen"):
    db.execute(f"INSERT INTO {table}({table}) VALUES ('check')")


def command(db, name, table="seen"):
    db.execute(f"INSERT INTO {table}({table}) VALUES (?)", (name,))


def refused(db, kind, sql, *parameters, says=""):
    """Runs sql, which must fail in this way; the message."""
    with pytest.raises(sqlite3.Error) as caught:
        db.execute(sql, parameters).fetchall()
    error = caught.value
    assert (type(error), error.sqlite_errorname) == kind, repr(error)
    assert says in str(error), str(error)
    return str(error)


def schema_of(db):
    return db.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
