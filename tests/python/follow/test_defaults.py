# SPDX-License-Identifier: MIT
"""What a filter takes from the table that it follows when CREATE does not say it: counters for keys that may repeat, and the capacity."""
import sqlite3

import pytest

from seen import info
from support import ask


def create(db, arguments, name="f"):
    db.execute(f"CREATE VIRTUAL TABLE {name} USING cuckoo_filter({arguments})")


# ---- counters ----

UNIQUE = {
    "integer primary key": "u(k INTEGER PRIMARY KEY, n)",
    "its rowid": "u(n)",
    "rowid beside an integer primary key": "u(id INTEGER PRIMARY KEY, k)",
    "text primary key": "u(k TEXT PRIMARY KEY, n)",
    "primary key without rowid": "u(k TEXT PRIMARY KEY, n) WITHOUT ROWID",
    "integer primary key, descending": "u(k INTEGER PRIMARY KEY DESC, n)",
    "unique": "u(n, k UNIQUE)",
    "unique in any case": "u(n, k TEXT COLLATE NOCASE UNIQUE)",
    "index": "u(n, k); CREATE UNIQUE INDEX i ON u(k)",
    "descending index": "u(n, k); CREATE UNIQUE INDEX i ON u(k DESC)",
    "an index that tells less apart": "u(n, k); CREATE UNIQUE INDEX i ON u(k COLLATE NOCASE)",
    "the second index": "u(n, k); CREATE INDEX i ON u(k); CREATE UNIQUE INDEX j ON u(k, n); CREATE UNIQUE INDEX l ON u(k)",
    "other name in capitals": "u(n, K UNIQUE)",
    "generated": "u(n, k AS (lower(n)) UNIQUE)",
}
REPEATS = {
    "plain": "u(n, k)",
    "index": "u(n, k); CREATE INDEX i ON u(k)",
    "index of two": "u(n, k, UNIQUE(k, n))",
    "primary key of two": "u(k, n, PRIMARY KEY(k, n))",
    "primary key of two without rowid": "u(k, n, PRIMARY KEY(k, n)) WITHOUT ROWID",
    "integer in a primary key of two": "u(k INTEGER, n INTEGER, PRIMARY KEY(k, n))",
    "partial index": "u(n, k); CREATE UNIQUE INDEX i ON u(k) WHERE n > 0",
    "index of an expression": "u(n, k); CREATE UNIQUE INDEX i ON u(lower(k))",
    "an index that tells more apart": "u(n, k COLLATE NOCASE); CREATE UNIQUE INDEX i ON u(k COLLATE BINARY)",
    "another collation": "u(n, k COLLATE RTRIM); CREATE UNIQUE INDEX i ON u(k COLLATE NOCASE)",
    "another column": "u(n UNIQUE, k)",
    "generated": "u(n, k AS (lower(n)))",
}


@pytest.mark.parametrize("kind, bits", [*((kind, 0) for kind in UNIQUE), *((kind, 8) for kind in REPEATS)])
@pytest.mark.parametrize("schema", ["main", "temp", "other"])
def test_a_column_whose_keys_may_repeat_is_counted(db, kind, bits, schema):
    db.execute("ATTACH ':memory:' AS other")
    made = (REPEATS if bits else UNIQUE)[kind].replace("INDEX ", f"INDEX {schema}.")
    db.executescript(f"CREATE TABLE {schema}.{made}")
    column = "rowid" if "rowid" in kind and "without" not in kind else "k"
    db.execute(f"CREATE VIRTUAL TABLE {schema}.f USING cuckoo_filter(content='u({column})')")
    assert info(db, f"{schema}.f")["counter_bits"] == bits
    db.execute(f"CREATE VIRTUAL TABLE {schema}.g USING cuckoo_filter(content='u({column})', counter_bits={3 - 3 * (bits == 8)})")
    assert info(db, f"{schema}.g")["counter_bits"] == 3 - 3 * (bits == 8)


def test_a_key_of_many_rows_goes_with_the_last_one(db):
    """Without counters it would stay from so few rows on as a key has copies."""
    db.execute("CREATE TABLE visits(user)")
    create(db, "content='visits(user)'")
    db.executemany("INSERT INTO visits VALUES (?)", ((user,) for user in "aaaaaaaaaaaaaaaaaaaaaaaaab"))
    for left in range(24, -1, -1):
        db.execute("DELETE FROM visits WHERE rowid = (SELECT min(rowid) FROM visits WHERE user = 'a')")
        assert ask(db, "SELECT cf_table_contains('f', 'a')") == (left > 0)
    assert ask(db, "SELECT cf_table_contains('f', 'b')")


def test_a_filter_that_follows_nothing_has_none(db):
    create(db, "capacity=100")
    assert info(db, "f")["counter_bits"] == 0


def test_triggers_of_others_need_not_compile(db):
    """SQLite cannot say then whether keys repeat: they are counted."""
    db.executescript("CREATE TABLE u(k UNIQUE); CREATE TRIGGER t AFTER INSERT ON u BEGIN INSERT INTO gone VALUES (1); END")
    create(db, "content='u(k)'")
    assert info(db, "f")["counter_bits"] == 8


# ---- capacity ----

@pytest.mark.parametrize("rows, capacity", [(0, 10000), (1, 10000), (10000, 10000), (10001, 12501), (40000, 50000)])
@pytest.mark.parametrize("unique", ["UNIQUE", ""])
def test_the_rows_of_today_and_a_quarter(db, rows, capacity, unique):
    db.execute(f"CREATE TABLE u(k {unique})")
    db.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) INSERT INTO u SELECT i FROM n WHERE ?", (rows, rows))
    create(db, "content='u(k)'")
    assert info(db, "f")["capacity"] == capacity and info(db, "f")["level"] == 0
    assert ask(db, "SELECT count(*) FROM u WHERE cf_table_contains('f', k)") == rows
    create(db, "content='u(k)', capacity=77", "g")
    assert info(db, "g")["capacity"] == 77


def test_keys_that_repeat_are_one_and_null_is_none(db):
    db.execute("CREATE TABLE u(k COLLATE NOCASE)")
    db.executemany("INSERT INTO u VALUES (?)", (("aA"[n % 2] + str(n // 4),) for n in range(50000)))
    db.execute("INSERT INTO u SELECT NULL FROM u")
    create(db, "content='u(k)'")
    assert info(db, "f")["capacity"] == 12500 * 5 // 4 and info(db, "f")["items"] == 50000
    create(db, "content='u(k)', counter_bits=0", "g")
    assert info(db, "g")["capacity"] == 62500


def test_without_growth_too(db):
    """The table grows and the filter may not: whoever says so gives the capacity, or gets the least."""
    db.execute("CREATE TABLE u(k UNIQUE)")
    create(db, "content='u(k)', growth=off")
    assert info(db, "f")["capacity"] == 10000


def test_a_filter_of_its_own_keys_needs_it(db):
    with pytest.raises(sqlite3.OperationalError, match="capacity is missing; give the number of keys"):
        create(db, "fpr=0.01")
