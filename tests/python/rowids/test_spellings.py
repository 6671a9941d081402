# SPDX-License-Identifier: MIT
"""Keys that a comparison may find in several spellings: the documented joins beside the same queries on the table."""
import itertools
import sqlite3

import pytest

VALUES = ["7", "07", "7.0", " 7", "5", "5.0", "0.5", "x", "Ada", "ada", "ada ", 7, 5, 0.5, 10**15, "1e15", None]
COLUMNS = ["TEXT", "", "NUMERIC", "REAL", "TEXT COLLATE NOCASE", "TEXT COLLATE RTRIM"]
FORM = "f AS i JOIN t ON t.rowid = i.row AND t.k = i.key"
new_in = pytest.mark.skipif(sqlite3.sqlite_version_info < (3, 38), reason="SQLite does not say what is a list")


@pytest.fixture(params=COLUMNS)
def tables(db, request):
    """A synced table t, and columns of others from which keys are looked up; u is a view of two columns."""
    db.execute(f"CREATE TABLE t(id INTEGER PRIMARY KEY, k {request.param}, other)")
    db.executemany("INSERT INTO t(k) VALUES(?)", ((value,) for value in VALUES + VALUES[:3]))
    db.execute("CREATE TABLE e(id INTEGER PRIMARY KEY, i INTEGER, s TEXT, n NUMERIC, r REAL, b, c TEXT COLLATE NOCASE)")
    db.executemany("INSERT INTO e(i, s, n, r, b, c) VALUES(?1, ?1, ?1, ?1, ?1, ?1)", ((value,) for value in VALUES))
    db.execute("CREATE VIEW u AS SELECT id, i AS k FROM e WHERE typeof(i) = 'integer' UNION SELECT 100 + id, b FROM e")
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(content='t(k)', rowids=on)")
    return db


def rows(db, sql):
    return sorted(db.execute(sql).fetchall(), key=str)


def same(db, table, filtered):
    """A comparison by a collation that the filter does not have is an error."""
    try:
        found = rows(db, filtered)
    except sqlite3.OperationalError as error:
        assert "compares keys by another affinity or collation" in str(error) and ("e.c = i.key" in filtered or "u.k" in filtered)
    else:
        assert found == rows(db, table), filtered


@pytest.mark.parametrize("by", ["e.i", "e.s", "e.n", "e.r", "e.b", "e.c", "+e.s", "e.s COLLATE BINARY"])
@pytest.mark.parametrize("order", ["{1} = {0}", "{0} = {1}"])
def test_joins(tables, by, order):
    compared = order.format(by, "{}")
    same(tables, f"SELECT e.id, t.id FROM e CROSS JOIN t ON {compared.format('t.k')}",
         f"SELECT e.id, t.id FROM e CROSS JOIN {FORM.replace('t.k = i.key', compared.format('t.k'))} AND {compared.format('i.key')}")


@pytest.mark.parametrize("by", ["e.i", "e.s", "e.n", "e.r", "e.b", "e.c"])
def test_joins_in_three_steps(tables, by):
    """The row has the key that was found, which has the key that was looked up."""
    same(tables, f"SELECT e.id, t.id FROM e CROSS JOIN t ON t.k = {by}", f"SELECT e.id, t.id FROM e CROSS JOIN {FORM} AND i.key = {by}")


def test_joins_by_the_collation_of_another_column(tables):
    same(tables, "SELECT e.id, t.id FROM e CROSS JOIN t ON e.s = t.k", f"SELECT e.id, t.id FROM e CROSS JOIN {FORM} AND e.s = i.key")


def test_columns_of_a_union(tables):
    same(tables, "SELECT u.id, t.id FROM u CROSS JOIN t ON t.k = u.k", f"SELECT u.id, t.id FROM u CROSS JOIN {FORM} AND i.key = u.k")
    same(tables, "WITH RECURSIVE w(n, k) AS (SELECT 0, i FROM e WHERE id = 12 UNION ALL SELECT n + 1, t.k || '.0' FROM w JOIN t ON t.k = w.k "
         "WHERE n < 2) SELECT * FROM w",
         "WITH RECURSIVE w(n, k) AS (SELECT 0, i FROM e WHERE id = 12 UNION ALL SELECT n + 1, t.k || '.0' FROM w CROSS JOIN "
         f"{FORM} AND i.key = w.k WHERE n < 2) SELECT * FROM w")


@pytest.mark.parametrize("one, other", itertools.permutations(["'7'", "'07'", "7", "'7.0'", "0.5", "'0.5'", "'Ada'", "'ada'", "'x'"], 2))
def test_either_of_two(tables, one, other):
    either = "{0} = %s OR ({0} = %s AND t.id < 100)" % (one, other)
    same(tables, f"SELECT t.id FROM t WHERE {either.format('t.k')}", f"SELECT t.id FROM {FORM} WHERE {either.format('i.key')}")
    either = either.replace("t.id < 100", "{1}")
    same(tables, f"SELECT t.id FROM t WHERE {either.format('t.k', 't.id > 0')}", f"SELECT t.id FROM {FORM} WHERE {either.format('i.key', 'i.row > 0')}")


@pytest.mark.parametrize("one, other", itertools.permutations(["e.i", "e.s", "e.b", "e.c"], 2))
def test_either_of_two_columns(tables, one, other):
    either = "{0} = %s OR ({0} = %s AND e.id > 0)" % (one, other)
    same(tables, f"SELECT e.id, t.id FROM e CROSS JOIN t ON {either.format('t.k')}",
         f"SELECT e.id, t.id FROM e CROSS JOIN {FORM} AND ({either.format('i.key')})")


@new_in
@pytest.mark.parametrize("list_", ["('7', 'x')", "(7, 5.0, 'ada')", "('07', 7, NULL)", "(SELECT i FROM e)", "(SELECT s FROM e)", "(SELECT b FROM e)",
                                   "(SELECT n FROM e)", "(SELECT r FROM e)", "(SELECT c FROM e)", "(SELECT k FROM u)", "()"])
def test_lists(tables, list_):
    same(tables, f"SELECT t.id FROM t WHERE t.k IN {list_}", f"SELECT t.id FROM {FORM} WHERE i.key IN {list_}")
    same(tables, f"SELECT t.id FROM t WHERE +t.k IN {list_}", f"SELECT t.id FROM {FORM} WHERE +i.key IN {list_}")
    same(tables, f"SELECT t.id FROM t WHERE t.k IN {list_} AND t.k = 'x'", f"SELECT t.id FROM {FORM} WHERE i.key IN {list_} AND i.key = 'x'")
    same(tables, f"SELECT e.id, t.id FROM e JOIN t ON t.k IN {list_} AND t.id = e.id",
         f"SELECT e.id, t.id FROM e JOIN f AS i ON i.key IN {list_} JOIN t ON t.rowid = i.row AND t.k = i.key AND t.id = e.id")


@new_in
def test_a_list_in_pending_changes_and_without_trust(tables):
    db = tables
    db.execute("UPDATE t SET k = 'x' WHERE id = 2")
    db.execute("INSERT INTO t(k) VALUES('Ada'), (7)")
    lists = "('x', 'Ada')", "(SELECT b FROM e)", "('7', '7', 'x', 'x')"
    for list_ in lists:
        same(db, f"SELECT t.id FROM t WHERE t.k IN {list_}", f"SELECT t.id FROM {FORM} WHERE i.key IN {list_}")
    db.execute("CREATE INDEX by_k ON t(k)")
    for name, in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        db.execute(f'DROP TRIGGER "{name}"')
    for list_ in lists:
        same(db, f"SELECT t.id FROM t WHERE t.k IN {list_}", f"SELECT t.id FROM {FORM} WHERE i.key IN {list_}")
