# SPDX-License-Identifier: MIT
"""A SELECT asks a filter for each of its rows, and others write between two of them: each answer is that of its moment,
as it is when the table itself is asked."""
import sqlite3

import pytest

import support

ASK = {"the function": "cf_table_contains('f', e.k)", "the table": "EXISTS (SELECT 1 FROM f WHERE f.key = e.k)",
       "a join": "(SELECT count(*) FROM e AS x JOIN f ON f.key = x.k WHERE x.k = e.k)"}
TABLES = {"followed": "fpr=0.000001, content='u(k)'", "direct": "capacity=100, fingerprint_bits=32"}
WRITE = {"autocommit": ("", ""), "a transaction": ("BEGIN", "COMMIT"), "a savepoint": ("SAVEPOINT s", "RELEASE s")}


def make(path, table, journal="delete"):
    db = support.connect(path)
    db.execute(f"PRAGMA journal_mode = {journal}")
    db.execute("CREATE TABLE u(k UNIQUE)")
    db.execute("CREATE TABLE e(k)")
    db.execute("CREATE TABLE other(x)")
    db.execute(f"CREATE VIRTUAL TABLE f USING cuckoo_filter({TABLES[table]})")
    db.executemany("INSERT INTO e VALUES (?)", [(k,) for k in range(8)])
    return db


def add(db, table, key):
    db.execute("INSERT INTO u VALUES (?)" if table == "followed" else "INSERT INTO f(key) VALUES (?)", (key,))


def delete(db, table, key):
    db.execute("DELETE FROM u WHERE k = ?" if table == "followed" else "DELETE FROM f WHERE key = ?", (key,))


@pytest.mark.parametrize("how", WRITE)
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("ask", ASK)
def test_the_same_connection_writes(ask, table, how):
    db = make(":memory:", table)
    add(db, table, 3)
    begin, end = WRITE[how]
    rows = db.execute(f"SELECT e.k, {ASK[ask]} FROM e ORDER BY e.rowid")
    assert next(rows) == (0, 0)  # and Python has asked for the next one, here and below
    db.execute(begin)
    add(db, table, 2)
    delete(db, table, 3)
    assert [next(rows) for _ in range(3)] == [(1, 0), (2, 1), (3, 0)]
    add(db, table, 5)
    db.execute(end)
    assert [next(rows), next(rows)] == [(4, 0), (5, 1)]
    add(db, table, 7)
    assert [next(rows), next(rows)] == [(6, 0), (7, 1)]
    db.close()


@pytest.mark.parametrize("sql", ["DELETE FROM other WHERE x = 1", "PRAGMA user_version = 7", "BEGIN IMMEDIATE; COMMIT"])
@pytest.mark.parametrize("table", [*TABLES, "fronted"])
@pytest.mark.parametrize("ask", ["SELECT e.k, cf_table_contains('f', e.k) FROM e", "SELECT e.k, f.key IS NOT NULL FROM e LEFT JOIN f ON f.key = e.k",
                                 "SELECT e.k, (SELECT count(*) FROM f WHERE f.key = e.k) FROM e"])
def test_a_commit_that_changes_no_row(ask, table, sql):
    """Pages are read one by one: what the connection itself commits between two of them is no commit of another one."""
    followed = table.replace("fronted", "followed")
    db = make(":memory:", followed)
    arguments = TABLES[followed].replace("=100,", "=200000,") + ", capacity=200000" * (followed == "followed")
    db.execute("DROP TABLE f")
    db.execute(f"CREATE VIRTUAL TABLE f USING cuckoo_filter({arguments}{', rows=on' * (table == 'fronted')})")
    for key in (1, 3, 5, 7):
        add(db, followed, key)
    db.execute("INSERT INTO f(f) VALUES ('drain')")
    for key, found in db.execute(ask.replace("f.key", "f.k") if table == "fronted" else ask):
        assert found == key % 2
        db.executescript(sql)
    db.close()


@pytest.mark.parametrize("back", ["ROLLBACK", "ROLLBACK TO s"])
@pytest.mark.parametrize("ask", ASK)
def test_what_is_rolled_back_is_as_before(ask, back):
    """SQLite goes on with a SELECT that has begun before the transaction."""
    db = make(":memory:", "followed")
    add(db, "followed", 5)
    rows = db.execute(f"SELECT e.k, {ASK[ask]} FROM e ORDER BY e.rowid")
    assert next(rows) == (0, 0)
    db.execute("BEGIN")
    db.execute("SAVEPOINT s")
    delete(db, "followed", 5)
    add(db, "followed", 2)
    assert [next(rows), next(rows)] == [(1, 0), (2, 1)]
    db.execute(back)
    try:
        assert [next(rows) for _ in range(3)] == [(3, 0), (4, 0), (5, 1)]
    except sqlite3.OperationalError as error:
        assert "abort" in str(error).lower() or "rollback" in str(error).lower()
    db.close()


@pytest.mark.parametrize("journal", ["delete", "wal"])
@pytest.mark.parametrize("ask", ASK)
def test_others_write(tmp_path, ask, journal):
    """The SELECT goes on at its time; the next one is at the new one."""
    path = str(tmp_path / "f.db")
    db = make(path, "followed", journal)
    other = sqlite3.connect(path, isolation_level=None, timeout=0)
    sql = f"SELECT e.k, {ASK[ask]} FROM e ORDER BY e.rowid"
    rows = db.execute(sql)
    assert next(rows) == (0, 0)
    waits = False
    try:
        other.execute("INSERT INTO u VALUES (2)")
    except sqlite3.OperationalError:
        waits = True
    assert waits == (journal == "delete")  # as for any SELECT
    assert [row[1] for row in rows] == [0] * 7
    if waits:
        other.execute("INSERT INTO u VALUES (2)")
    assert db.execute(sql).fetchall() == [(k, int(k == 2)) for k in range(8)]
    other.close()
    db.close()


@pytest.mark.parametrize("ask", list(ASK)[:2])
def test_a_select_that_reads_another_file_lets_go_at_its_end(tmp_path, ask):
    db = make(str(tmp_path / "f.db"), "followed")
    other = sqlite3.connect(str(tmp_path / "f.db"), isolation_level=None, timeout=0)
    sql = f"SELECT {ASK[ask].replace('e.k', 'value')} FROM json_each('[1, 2, 3]')"
    assert db.execute(sql).fetchall() == [(0,)] * 3
    rows = db.execute(sql)
    assert next(rows) == (0,)
    rows.close()
    other.execute("INSERT INTO u VALUES (2)")
    assert db.execute(sql).fetchall() == [(0,), (1,), (0,)]
    other.close()
    db.close()


@pytest.mark.parametrize("sql", [
    "CREATE TEMP TRIGGER t AFTER INSERT ON main.u BEGIN INSERT INTO other VALUES (1); END",
    "CREATE TEMP TABLE t(x)", "CREATE TABLE t(x)", "ALTER TABLE other RENAME TO others", "ANALYZE",
    "CREATE TRIGGER t AFTER INSERT ON u BEGIN INSERT INTO other VALUES (1); END", "ALTER TABLE u ADD COLUMN more",
    "DROP TABLE other", "DROP TABLE f", "VACUUM", "PRAGMA writable_schema = RESET", "ALTER TABLE f RENAME TO g",
    "ALTER TABLE u RENAME TO v", "DETACH main"])
@pytest.mark.parametrize("ask", ASK)
def test_the_schema_changes(ask, sql):
    """Whatever SQLite allows while a SELECT runs, and whatever it says of that afterwards: no key is denied."""
    db = make(":memory:", "followed")
    for key in (1, 3, 5, 7):
        add(db, "followed", key)
    rows = db.execute(f"SELECT e.k, {ASK[ask]} FROM e ORDER BY e.rowid")
    assert next(rows) == (0, 0)
    try:
        db.execute(sql)
    except sqlite3.Error:
        pass
    try:
        assert all(found or key % 2 == 0 for key, found in rows)
    except sqlite3.Error:
        pass
    assert db.execute("SELECT count(*) FROM e").fetchone() == (8,)
    db.close()
