# SPDX-License-Identifier: MIT
"""rowids=on: a synced filter that stores the rowid of each row with its key."""
import json
import os
import sqlite3

import pytest
import random_rowids
import support
from support import ask
from test_database import LOAD, shell

STEPS = int(os.environ.get("CUCKOO_ROWIDS_STEPS", "6000"))
MAKE = "CREATE VIRTUAL TABLE f USING cuckoo_filter(content='t(k)', rowids=on)"


def users(db, rows=1000, columns="id INTEGER PRIMARY KEY, k TEXT, other"):
    db.execute(f"CREATE TABLE t({columns})")
    db.execute("WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) INSERT INTO t(rowid, k) SELECT 2 * i, 'k' || i "
               "FROM n", (rows,))
    db.execute(MAKE)


def found(db, key, table="f"):
    return sorted(row for row, in db.execute(f"SELECT row FROM {table} WHERE key = ?", (key,)))


def info(db, table="f"):
    return json.loads(ask(db, "SELECT cf_table_info(?)", table))


def test_random_changes(rng):
    random_rowids.run(STEPS, rng.randrange(10**9))


def test_rows_and_columns(db):
    users(db)
    db.execute("INSERT INTO t VALUES(5, 'k7', NULL), (6001, NULL, NULL)")
    assert found(db, "k7") == [5, 14] and found(db, None) == []
    assert ask(db, "SELECT count(*) FROM f") == 1001
    assert db.execute("SELECT * FROM f").fetchall() == db.execute("SELECT k, id FROM t WHERE k IS NOT NULL").fetchall()
    assert db.execute("SELECT * FROM f WHERE key = 'k7' AND row = 14").fetchall() == [("k7", 14)]
    assert db.execute("SELECT key, row FROM f WHERE key IN ('k7', 'k8') ORDER BY row").fetchall() == \
        [("k7", 5), ("k7", 14), ("k8", 16)]
    assert ask(db, "SELECT cf_table_contains('f', 'k7')") == 1
    assert ask(db, "SELECT count(DISTINCT row) FROM f WHERE key = 'k7'") == 2


def test_the_capacity_is_that_of_the_rows_with_a_key(db):
    db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, k)")
    with db:
        db.executemany("INSERT INTO t VALUES(?, ?)", ((i, None if i % 5 else i) for i in range(1, 100001)))
    db.execute(MAKE)
    assert info(db)["capacity"] == 25000 and info(db)["items"] == 20000 and info(db)["value_bits"] == 18
    db.execute("UPDATE t SET k = -id WHERE k IS NULL")
    for capacity in (125000, 7):
        db.execute("INSERT INTO f(f, key) VALUES('rebuild', ?)", (None if capacity > 7 else capacity,))
        assert info(db)["capacity"] == capacity and info(db)["items"] == 100000
    assert found(db, -7) == [7] and found(db, 10) == [10]


def test_wide_rowids_exclude_a_stash(db):
    db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, k)")
    db.execute("INSERT INTO t VALUES(?, 1)", (2**40,))
    with pytest.raises(sqlite3.OperationalError, match="with stash=on value_bits are at most 32"):
        db.execute(MAKE.replace("rowids=on", "rowids=on, stash=on, growth=off"))


def test_the_most_rows_of_a_key(db):
    users(db)
    db.executemany("INSERT INTO t VALUES(?, 'k7', NULL)", ((i,) for i in range(3001, 3005)))
    db.execute("INSERT INTO f(f) VALUES('drain')")
    assert json.loads(ask(db, "SELECT cf_table_info('f', 'all')"))["most_rows"] == 5 and "most_rows" not in info(db)


def test_exact_deletes(db):
    """Many rows of one key come and go: what is left is found, and nothing saturates."""
    users(db)
    for i in range(200):
        db.execute("INSERT INTO t VALUES(?, 'many', NULL)", (10001 + i,))
        if i % 20 == 0:
            db.execute("INSERT INTO f(f) VALUES('drain')")
    assert found(db, "many") == list(range(10001, 10201))
    db.execute("DELETE FROM t WHERE k = 'many' AND id % 7")
    assert found(db, "many") == [i for i in range(10001, 10201) if i % 7 == 0]
    db.execute("INSERT INTO f(f) VALUES('drain')")
    assert found(db, "many") == [i for i in range(10001, 10201) if i % 7 == 0]
    db.execute("DELETE FROM t WHERE k = 'many'")
    db.execute("INSERT INTO f(f) VALUES('drain')")
    assert found(db, "many") == [] and info(db)["unplaced"] == 0
    db.execute("INSERT INTO f(f) VALUES('check')")


def test_replace_of_the_same_row_adds_nothing(db):
    users(db)
    for _ in range(50):
        db.execute("INSERT OR REPLACE INTO t VALUES(2, 'k1', NULL)")
        db.execute("INSERT INTO f(f) VALUES('drain')")
    assert info(db)["items"] == 1000 and found(db, "k1") == [2]
    db.execute("DELETE FROM t WHERE id = 2")
    assert found(db, "k1") == []


@pytest.mark.parametrize("first, more", [(10, 10**6), (10**5, 2**50), (3, 2**61)])
def test_values_get_wider(db, first, more):
    users(db, first)
    before = info(db)["value_bits"]
    with db:
        db.executemany("INSERT INTO t VALUES(?, ?, NULL)", ((more + i, f"w{i}") for i in range(3000)))
    db.execute("INSERT INTO f(f) VALUES('drain')")
    assert info(db)["value_bits"] == min(62, more.bit_length() + 1) > before and info(db)["unplaced"] == 0
    for i in range(0, 3000, 37):
        assert more + i in found(db, f"w{i}")
    assert 2 in found(db, "k1")
    db.execute("INSERT INTO f(f) VALUES('check')")
    with db:
        db.execute("UPDATE t SET k = k || 'x' WHERE id > 100")
    assert more + 7 in found(db, "w7x") and found(db, "w7") == []
    db.execute("INSERT INTO f(f) VALUES('optimize')")
    assert more + 7 in found(db, "w7x")


def test_a_filter_that_has_grown_gets_wider(db):
    users(db, 20)
    with db:
        db.executemany("INSERT INTO t VALUES(?, ?, NULL)", ((100 + i, f"w{i % 9000}") for i in range(40000 - 200)))
    with db:
        db.executemany("INSERT INTO t VALUES(?, ?, NULL)", ((2**40 + i, f"w{i}") for i in range(3000)))
    assert info(db)["value_bits"] == 42 and info(db)["level"] > 0
    db.execute("INSERT INTO f(f) VALUES('check')")
    assert found(db, "w8")[-1] == 2**40 + 8


def test_a_few_odd_rowids_stay_in_the_log(db):
    users(db)
    db.execute("INSERT INTO t VALUES(-5, 'odd', NULL), (9223372036854775807, 'odd', NULL)")
    db.execute("INSERT INTO f(f) VALUES('drain')")
    assert found(db, "odd") == [-5, 2**63 - 1] and info(db)["unplaced"] == 2 and info(db)["value_bits"] == 16
    db.execute("SELECT cf_table_rebuild('f')")
    assert found(db, "odd") == [-5, 2**63 - 1] and info(db)["value_bits"] == 16
    db.execute("UPDATE t SET id = 1 WHERE id = -5")
    assert found(db, "odd") == [1, 2**63 - 1]


def assert_same_joins(db, k):
    """A join of e and t by e.k gives the same in both forms, and without the filter."""
    expected = sorted(db.execute(f"SELECT e.rowid, t.id FROM e JOIN t ON t.k = e.{k}"))
    for key in (f"e.{k}", "f.key"):
        assert sorted(db.execute(f"SELECT e.rowid, t.id FROM e JOIN f ON f.key = e.{k} JOIN t ON t.id = f.row AND t.k = {key}")) == expected, (k, key)


@pytest.mark.parametrize("column", ["k AS (lower(other))", "k TEXT", "k TEXT COLLATE NOCASE", "k INTEGER", "k REAL", "k", "k BLOB"])
def test_the_comparison_is_that_of_the_column(db, column):
    db.execute(f"CREATE TABLE t(id INTEGER PRIMARY KEY, other, {column})")
    into = "other" if "AS" in column else "k"
    keys = ["Ab", "ab", "7", 7, 7.0, "7.0", "07", " 7", "x", 0.5, "0.5", b"ab", b"7", 2**60, None]
    db.executemany(f"INSERT INTO t({into}) VALUES(?)", ((key,) for key in keys))
    db.execute(MAKE)
    for key in keys + ["AB", "07", 1e15]:
        joined = sorted(db.execute("SELECT t.id FROM f JOIN t ON t.id = f.row AND t.k = f.key WHERE f.key = ?", (key,)))
        assert joined == sorted(db.execute("SELECT id FROM t WHERE k = ?", (key,))), key
    db.execute("CREATE TABLE e(a TEXT, b INTEGER, c, d REAL)")
    db.executemany("INSERT INTO e VALUES(?1, ?1, ?1, ?1)", ((key,) for key in keys))
    for k in "abcd":
        assert_same_joins(db, k)


# ---- what is refused ----

@pytest.mark.parametrize("columns, why", [
    ("k TEXT PRIMARY KEY) WITHOUT ROWID --", "has no rowids"), ("k, rowid, oid, _rowid_", "columns named rowid, _rowid_ and oid")])
def test_tables_without_rowids(db, columns, why):
    db.execute(f"CREATE TABLE t({columns}\n{'' if '--' in columns else ')'}")
    with pytest.raises(sqlite3.OperationalError, match=why + ".*use CREATE INDEX ON t"):
        db.execute(MAKE)
    assert ask(db, "SELECT count(*) FROM sqlite_master WHERE name NOT LIKE 'sqlite%'") == 1


@pytest.mark.parametrize("key, rowid", [("i / 9", "i"), ("i", "-i"), ("1", "i")])
def test_columns_for_which_an_index_is_better(db, key, rowid):
    db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, k)")
    db.execute(f"WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) INSERT INTO t SELECT {rowid}, {key} FROM n")
    with pytest.raises(sqlite3.OperationalError, match="use CREATE INDEX ON t"):
        db.execute(MAKE)
    assert ask(db, "SELECT count(*) FROM sqlite_master") == 1


@pytest.mark.parametrize("arguments, why", [
    ("rowids=on, capacity=10", "rowids=on stores the rowids of a table; add content="),
    ("content='t(k)', rowids=perhaps", "rowids must be on or off, got 'perhaps'"),
    ("content='t(k)', rowids=on, rowids=on", "rowids is given twice"),
    ("content='t(k)', rowids=on, counter_bits=4", "counter_bits and value_bits exclude each other"),
    ("content='t(k)', rowids=on, value_bits=4", "a filter table stores no values")])
def test_wrong_options(db, arguments, why):
    db.execute("CREATE TABLE t(k)")
    with pytest.raises(sqlite3.OperationalError, match=why):
        db.execute(f"CREATE VIRTUAL TABLE f USING cuckoo_filter({arguments})")


def test_names(db):
    db.execute("CREATE TABLE t(k)")
    with pytest.raises(sqlite3.OperationalError, match="row is a column of filter tables"):
        db.execute("CREATE VIRTUAL TABLE row USING cuckoo_filter(content='t(k)', rowids=on)")
    with pytest.raises(sqlite3.OperationalError, match="stays in sync"):
        db.execute(MAKE)
        db.execute("INSERT INTO f(key) VALUES(1)")
    with pytest.raises(sqlite3.OperationalError, match="stays in sync"):
        db.execute("DELETE FROM f WHERE key = 1")
        db.execute("INSERT INTO t VALUES(1)")
        db.execute("DELETE FROM f WHERE key = 1")


# ---- rowids that change ----

@pytest.mark.parametrize("columns", ["k, other", "id TEXT, k PRIMARY KEY, other"])
@pytest.mark.parametrize("others", [False, True])
def test_vacuum(tmp_path, columns, others):
    """Rows get other rowids, also by another program: that is noticed, and never a wrong answer."""
    path = tmp_path / "x.db"
    db = support.connect(path)
    users(db, 1000, columns)
    db.execute("DELETE FROM t WHERE k = 'k500'")
    assert found(db, "k900") == [1800]
    if others:
        db.close()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("VACUUM")
    other.close()
    db = support.connect(path) if others else db
    (rowid,), = db.execute("SELECT rowid FROM t WHERE k = 'k900'")
    if rowid != 1800:
        with_index = db.execute("PRAGMA index_list(t)").fetchall()
        if with_index:
            assert found(db, "k900") == [rowid]
        else:
            with pytest.raises(sqlite3.OperationalError, match="VACUUM has changed its rowids.*cf_table_rebuild"):
                found(db, "k900")
        db.execute("SELECT cf_table_rebuild('f')")
    assert found(db, "k900") == [rowid]
    db.close()


def test_vacuum_of_rows_with_one_key(tmp_path):
    """The first and last rows cannot tell, because they all have the same key."""
    path = tmp_path / "x.db"
    db = support.connect(path)
    db.execute("CREATE TABLE t(k)")
    db.execute("WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) INSERT INTO t SELECT iif(i BETWEEN 300 AND "
               "2700, 'k' || i, 'same') FROM n")
    db.execute("DELETE FROM t WHERE k = 'k500'")
    db.execute(MAKE)
    db.execute("CREATE TABLE u(x)")
    assert found(db, "k900") == [900]
    db.execute("INSERT INTO t VALUES('saves the cookie')")
    db.execute("VACUUM")
    for _ in range(2):
        with pytest.raises(sqlite3.OperationalError, match="VACUUM"):
            found(db, "k900")
        db = support.connect(path)
    db.execute("SELECT cf_table_rebuild('f')")
    assert found(db, "k900") == [899]


def test_a_row_deleted_after_vacuum(tmp_path):
    """A delete that the filter cannot have known must not hide a later row with the same key and rowid."""
    path = tmp_path / "x.db"
    db = support.connect(path)
    db.execute("CREATE TABLE t(k)")
    db.execute("INSERT INTO t(rowid, k) VALUES(1, 'a'), (5, 'b')")
    db.execute(MAKE)
    db.close()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("VACUUM")
    other.execute("DELETE FROM t WHERE k = 'b'")
    db = support.connect(path)
    with pytest.raises(sqlite3.OperationalError, match="rows of t"):
        found(db, "a")
    other.execute("INSERT INTO t VALUES('b')")
    with pytest.raises(sqlite3.OperationalError, match="rows of t"):
        found(db, "b")
    db.execute("SELECT cf_table_rebuild('f')")
    assert found(db, "b") == [2]


def test_a_column_named_rowid_comes_later(db):
    users(db)
    if sqlite3.sqlite_version_info >= (3, 54):
        pytest.skip("SQLite refuses it")
    db.execute("ALTER TABLE t ADD COLUMN rowid")
    with pytest.raises(sqlite3.OperationalError, match="not as it was created"):
        found(db, "k7")
    db.execute("SELECT cf_table_rebuild('f')")
    db.execute("UPDATE t SET id = 15, rowid = 3 WHERE k = 'k7'")
    assert found(db, "k7") == [15]


# ---- not trusted ----

@pytest.mark.parametrize("kind, rows", [("TEXT", [14, 3001]), ("", [14, 3001]), ("INTEGER", [])])
def test_the_table_is_asked_by_its_index(db, kind, rows):
    users(db, 1000, f"id INTEGER PRIMARY KEY, k {kind}, other")
    db.execute("DROP TRIGGER " + ask(db, "SELECT name FROM sqlite_master WHERE name GLOB 'cuckoo_*_inserted'"))
    db.execute("INSERT INTO t VALUES(3001, 'k7', NULL), (3002, 7, NULL)")
    with pytest.raises(sqlite3.OperationalError, match="missing"):
        found(db, "k7")
    db.execute("CREATE INDEX ti ON t(k)")
    assert found(db, "k7") == [14, 3001] and found(db, "none") == []
    assert 3002 in found(db, 7)
    db.execute("CREATE TABLE e(n INTEGER, x TEXT)")
    db.execute("INSERT INTO e VALUES(7, '7'), (8, 'k7')")
    for k in "nx":
        assert_same_joins(db, k)


def test_check_compares_pairs(db):
    users(db)
    db.execute("INSERT INTO f(f) VALUES('check')")
    name, sql = db.execute("SELECT name, sql FROM sqlite_master WHERE name GLOB 'cuckoo_*_updated'").fetchone()
    db.execute(f"DROP TRIGGER {name}")
    db.execute("UPDATE t SET id = 3 WHERE id = 1000")
    db.execute(sql)
    db.execute("DROP TABLE IF EXISTS none")
    with pytest.raises(sqlite3.DatabaseError, match="rows of t are missing in it"):
        db.execute("INSERT INTO f(f) VALUES('check')")


# ---- other databases, names, connections ----

def test_attached_and_temporary_and_renamed(tmp_path):
    db = support.connect(tmp_path / "x.db")
    db.execute("ATTACH ? AS other", (str(tmp_path / "y.db"),))
    for schema in ("other", "temp"):
        db.execute(f"CREATE TABLE {schema}.t(id INTEGER PRIMARY KEY, k)")
        db.execute(f"INSERT INTO {schema}.t VALUES(7, 'a')")
        db.execute(f"CREATE VIRTUAL TABLE {schema}.f USING cuckoo_filter(content='t(k)', rowids=on)")
        db.execute(f"INSERT INTO {schema}.t VALUES(8, 'a')")
        assert found(db, "a", f"{schema}.f") == [7, 8]
    db.execute("DROP TABLE temp.f")
    db.execute("DROP TABLE temp.t")
    db.execute("ALTER TABLE other.t RENAME COLUMN k TO key2")
    db.execute("ALTER TABLE other.t RENAME TO t2")
    db.execute("ALTER TABLE other.f RENAME TO f2")
    db.execute("INSERT INTO other.t2 VALUES(9, 'a')")
    assert found(db, "a", "other.f2") == [7, 8, 9]
    db.execute("INSERT INTO other.f2(f2) VALUES('check')")
    db.execute("DROP TABLE other.f2")
    assert ask(db, "SELECT group_concat(name) FROM other.sqlite_master") == "t2"


def test_a_dump(tmp_path):
    """It keeps no rowids."""
    if sqlite3.sqlite_version_info != (3, 40, 1):
        pytest.skip("the shell has another SQLite")
    db = support.connect(tmp_path / "x.db")
    users(db, 1000, "k, other")
    db.execute("DELETE FROM t WHERE rowid = 1000")
    script = shell(f'.open "{tmp_path / "x.db"}"', LOAD, ".dump")
    shell(f'.open "{tmp_path / "y.db"}"', LOAD, script)
    other = support.connect(tmp_path / "y.db")
    with pytest.raises(sqlite3.OperationalError, match="rows of t are missing in it"):
        found(other, "k900")
    other.execute("SELECT cf_table_rebuild('f')")
    assert found(other, "k900") == [899]


def test_rollbacks_and_another_connection(tmp_path):
    one, two = support.connect(tmp_path / "x.db"), support.connect(tmp_path / "x.db")
    users(one)
    one.execute("BEGIN")
    one.execute("UPDATE t SET id = 5001 WHERE k = 'k7'")
    assert found(one, "k7") == [5001] and found(two, "k7") == [14]
    one.execute("SAVEPOINT s")
    one.execute("DELETE FROM t WHERE k = 'k7'")
    assert found(one, "k7") == []
    one.execute("ROLLBACK TO s")
    assert found(one, "k7") == [5001]
    one.execute("COMMIT")
    assert found(two, "k7") == [5001]
    two.execute("UPDATE t SET k = 'new' WHERE k = 'k7'")
    assert found(one, "k7") == [] and found(one, "new") == [5001]


@pytest.mark.parametrize("either", ["f.key IS :a OR f.key = :b", "f.key = :b OR f.key IS :a", "f.key = :a OR (f.key = :b AND f.row > 0)",
                                    "f.key IN (:a, :b)", "f.key = :a OR f.key = :b"])
def test_one_of_two_keys(db, either):
    """SQLite drops a row that it has seen, and a false positive of the first key may be a row of the second one."""
    users(db, 3000)
    db.execute("DROP TABLE f")
    db.execute(MAKE.replace("rowids=on", "rowids=on, fpr=0.05"))
    wrong = [(found(db, f"k{i}"), i) for i in range(1, 3001)]
    wrong = [(f"k{i}", f"k{row // 2}") for rows, i in wrong for row in rows if row != 2 * i]
    assert wrong
    for a, b in wrong:
        rows = db.execute(f"SELECT t.k FROM f JOIN t ON t.id = f.row AND t.k = f.key WHERE {either}", {"a": a, "b": b}).fetchall()
        assert sorted(rows) == sorted([(a,), (b,)])
