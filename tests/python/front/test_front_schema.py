# SPDX-License-Identifier: MIT
"""rows=on: what happens to the content, and to the front, in the schema."""
import sqlite3

import pytest
import support


def made(db, schema="main", content="t"):
    db.execute(f"CREATE TABLE {schema}.{content}(k TEXT, n INTEGER)")
    db.executemany(f"INSERT INTO {schema}.{content} VALUES (?, ?)", [(f"k{i}", i) for i in range(10)])
    db.execute(f"CREATE VIRTUAL TABLE {schema}.f USING cuckoo_filter(content='{content}(k)', rows=on)")


def test_columns_that_come_go_and_change_their_names(db):
    made(db)
    db.execute("ALTER TABLE t ADD COLUMN more TEXT DEFAULT 'x'")
    assert db.execute("SELECT * FROM f WHERE k = 'k3'").fetchall() == [("k3", 3, "x")]
    db.execute("ALTER TABLE t RENAME COLUMN k TO name")
    assert db.execute("SELECT name, more FROM f WHERE name = 'k3'").fetchall() == [("k3", "x")]
    db.execute("ALTER TABLE t RENAME TO people")
    assert db.execute("SELECT * FROM f WHERE name = 'k3'").fetchall() == [("k3", 3, "x")]
    if sqlite3.sqlite_version_info >= (3, 35):
        db.execute("ALTER TABLE people DROP COLUMN n")
        assert db.execute("SELECT * FROM f WHERE name = 'k3'").fetchall() == [("k3", "x")]
    with pytest.raises(sqlite3.OperationalError, match=r"it stays in sync with people\(name\)|it stays in sync with people\(k\)"):
        db.execute("DELETE FROM f")
    db.execute("ALTER TABLE f RENAME TO fast")
    assert db.execute("SELECT more FROM fast WHERE name = 'k3'").fetchall() == [("x",)]
    db.execute("INSERT INTO fast(fast) VALUES ('check')")
    with pytest.raises(sqlite3.OperationalError, match="no such column: f"):
        db.execute("SELECT f FROM fast")


def test_the_content_goes_and_comes(db):
    made(db)
    db.execute("CREATE INDEX i ON t(n)")
    assert db.execute("SELECT k FROM f WHERE n = 3").fetchall() == [("k3",)]
    db.execute("DROP TABLE t")
    for sql in ("SELECT * FROM f", "SELECT count(*) FROM f", "SELECT n FROM f WHERE k = 'k3'"):
        with pytest.raises(sqlite3.OperationalError, match="no such table: main.t"):
            db.execute(sql)
    db.execute("CREATE TABLE t(k TEXT, n INTEGER)")
    db.execute("INSERT INTO t VALUES ('a', 1)")
    assert db.execute("SELECT * FROM f WHERE k = 'a'").fetchall() == [("a", 1)]
    db.execute("SELECT cf_table_rebuild('f')")
    assert support.ask(db, "SELECT cf_table_contains('f', 'k3')") == 0
    db.execute("DROP TABLE t")
    db.execute("CREATE TABLE t(n INTEGER, k TEXT COLLATE NOCASE, another)")
    db.execute("INSERT INTO t VALUES (1, 'a', 2)")
    with pytest.raises(sqlite3.OperationalError, match="run PRAGMA writable_schema = RESET"):
        db.execute("SELECT * FROM f")
    db.execute("SELECT cf_table_rebuild('f')")  # needs no rows
    assert [support.ask(db, "SELECT cf_table_contains('f', ?)", key) for key in ("A", "k3")] == [1, 0]
    if sqlite3.sqlite_version_info >= (3, 38):
        db.execute("BEGIN")
        db.execute("PRAGMA writable_schema = RESET")
        assert db.execute("SELECT * FROM f WHERE k = 'A'").fetchall() == [(1, "a", 2)]
        db.execute("COMMIT")
    db.execute("ALTER TABLE t ADD COLUMN last")  # reads the schema anew
    assert db.execute("SELECT * FROM f WHERE k = 'A'").fetchall() == [(1, "a", 2, None)]
    db.execute("DROP TABLE t")
    db.execute("DROP TABLE f")
    assert db.execute("SELECT name FROM sqlite_master").fetchall() == []


@pytest.mark.parametrize("column", ["k", "f", "F"])
def test_a_front_without_content_can_be_dropped_by_a_new_connection(tmp_path, column):
    path = str(tmp_path / "a.db")
    with support.connect(path) as db:
        db.execute(f"CREATE TABLE t({column} TEXT, n INTEGER)")
        db.execute(f"CREATE VIRTUAL TABLE f USING cuckoo_filter(content='t({column})', rows=on)")
        db.execute("DROP TABLE t")
    db.close()
    db = support.connect(path)
    with pytest.raises(sqlite3.OperationalError, match="no such table: main.t"):
        db.execute("SELECT * FROM f")
    locker = sqlite3.connect(path, isolation_level=None)
    locker.execute("BEGIN EXCLUSIVE")  # the schema cannot be looked at either
    db.execute("PRAGMA busy_timeout = 0")
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        db.execute(f"SELECT * FROM f WHERE {column} = 'a'")
    locker.close()
    db.execute("DROP TABLE f")
    db.close()


@pytest.mark.parametrize("columns", ["k, f", "f, k", "F INTEGER, k, n", "k, n, f NOT NULL"])
def test_a_column_with_the_name_of_the_front_takes_commands(db, columns):
    """No row is ever inserted into a front: what stands in that column is a command."""
    db.execute(f"CREATE TABLE t({columns})")
    db.execute("INSERT INTO t(k, f) VALUES ('a', 1), ('b', 2)")
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(content='t(k)', rows=on)")
    for command in ("check", "optimize", "drain", "rebuild"):
        db.execute("INSERT INTO f(f) VALUES (?)", (command,))
    with pytest.raises(sqlite3.OperationalError, match="f: it stays in sync with t.k., and clear would make it miss rows"):
        db.execute("INSERT INTO f(f) VALUES ('clear')")
    with pytest.raises(sqlite3.OperationalError, match="f: unknown command 'chekc'; the commands are advance"):
        db.execute("INSERT INTO f(f) VALUES ('chekc')")
    for change in ("UPDATE f SET k = 'c'", "DELETE FROM f WHERE f = 1", "INSERT INTO f(k) VALUES ('c')"):
        with pytest.raises(sqlite3.OperationalError, match="f: it stays in sync with t.k."):
            db.execute(change)
    assert db.execute("SELECT k, f FROM f ORDER BY k").fetchall() == [("a", 1), ("b", 2)]
    db.execute("ALTER TABLE f RENAME TO k")
    db.execute("INSERT INTO k(k) VALUES ('check')")
    db.execute("ALTER TABLE t ADD COLUMN another")
    db.execute("ALTER TABLE k RENAME TO another")
    db.execute("INSERT INTO another(another) VALUES ('check')")


def test_a_collation_that_a_connection_does_not_have(tmp_path):
    path = str(tmp_path / "a.db")
    db = support.connect(path)
    db.create_collation("german", lambda a, b: (a > b) - (a < b))
    db.execute("CREATE TABLE t(k TEXT, name TEXT COLLATE german)")
    db.execute("INSERT INTO t VALUES ('a', 'b')")
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(content='t(k)', rows=on)")
    assert db.execute("SELECT * FROM f WHERE name = 'b' AND k = 'a' AND name > 'a'").fetchall() == [("a", "b")]
    db.close()
    db = support.connect(path)
    for sql in ("SELECT * FROM f WHERE name = 'b'", "SELECT * FROM f", "SELECT count(*) FROM f", "SELECT k FROM f"):
        with pytest.raises(sqlite3.OperationalError):
            db.execute(sql)
    db.execute("DROP TABLE f")
    db.close()


@pytest.mark.parametrize("schema", ["temp", "other"])
def test_other_schemas(db, schema, tmp_path):
    if schema == "other":
        db.execute("ATTACH ? AS other", (str(tmp_path / "b.db"),))
    made(db, schema)
    db.execute("CREATE TABLE main.t(wrong)")
    assert db.execute(f"SELECT n FROM {schema}.f WHERE k = 'k3'").fetchall() == [(3,)]
    db.execute(f"INSERT INTO {schema}.t VALUES ('new', 100)")
    assert db.execute(f"SELECT n FROM {schema}.f WHERE k = 'new'").fetchall() == [(100,)]
    if schema == "other":
        db.execute("DETACH other")
        db.execute("ATTACH ? AS another", (str(tmp_path / "b.db"),))
        assert db.execute("SELECT n FROM another.f WHERE k = 'new'").fetchall() == [(100,)]


def test_dump_and_restore(tmp_path):
    db = support.connect(str(tmp_path / "a.db"))
    made(db)
    db.execute("VACUUM INTO ?", (str(tmp_path / "b.db"),))
    db.execute("VACUUM")
    assert db.execute("SELECT n FROM f WHERE k = 'k3'").fetchall() == [(3,)]
    db.close()
    copy = support.connect(str(tmp_path / "b.db"))
    copy.execute("INSERT INTO t VALUES ('new', 1)")
    assert copy.execute("SELECT n FROM f WHERE k IN ('new', 'k3') ORDER BY 1").fetchall() == [(1,), (3,)]
    assert support.ask(copy, "SELECT cf_table_check('f')") == "ok"
    copy.close()


def test_columns_with_the_names_of_the_hidden_ones(db):
    db.execute("CREATE TABLE t(f TEXT, other, cuckoo_id PRIMARY KEY) WITHOUT ROWID")
    db.execute("INSERT INTO t VALUES ('a', 'b', 'c')")
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(content='t(f)', rows=on)")
    assert db.execute("SELECT * FROM f WHERE f = 'a' OR cuckoo_id = 'x' OR other = 'z'").fetchall() == [("a",
            "b", "c")]
    assert db.execute("SELECT other FROM f WHERE cuckoo_id = 'c'").fetchall() == [("b",)]
    db.execute("INSERT INTO f(f) VALUES ('rebuild')")


@pytest.mark.parametrize("rest", ["rowid", "rowid INTEGER", "rowid INTEGER, PRIMARY KEY (rowid, k)"])
def test_a_column_named_rowid_may_repeat(db, rest):
    db.execute(f"CREATE TABLE t(k, {rest})")
    db.execute("INSERT INTO t(k, rowid) VALUES ('a', 1), ('b', 1), ('c', 2)")
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(content='t(k)', rows=on)")
    assert db.execute("SELECT k FROM f WHERE rowid = 1 ORDER BY k").fetchall() == [("a",), ("b",)]


def test_an_integer_primary_key_is_unique(db):
    db.execute("CREATE TABLE t(k, rowid INTEGER PRIMARY KEY)")
    db.execute("INSERT INTO t VALUES ('a', 1), ('b', 2)")
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(content='t(k)', rows=on)")
    assert db.execute("SELECT k FROM f WHERE rowid = 2").fetchall() == [("b",)]
    assert db.execute("SELECT rowid FROM f ORDER BY rowid").fetchall() == [(1,), (2,)]


def test_a_type_with_the_word_hidden(db):
    for n, kind in enumerate(["HIDDEN", "hidden", "INT HIDDEN", "HIDDEN INT", "TEXT HIDDEN"]):
        db.execute(f"CREATE TABLE t{n}(k {kind})")
        db.execute(f"INSERT INTO t{n} VALUES (5), ('x')")
        db.execute(f"CREATE VIRTUAL TABLE f{n} USING cuckoo_filter(content='t{n}(k)', rows=on)")
        for value in ("5", 5, "x", 6):
            assert db.execute(f"SELECT k FROM f{n} WHERE k = ?",
                              (value,)).fetchall() == db.execute(f"SELECT k FROM t{n} WHERE k = ?", (value,)).fetchall()


def test_views_triggers_and_untrusted_schemas(db):
    made(db)
    db.execute("CREATE TABLE e(x)")
    db.execute("CREATE TABLE log(n)")
    db.execute("CREATE VIEW v AS SELECT e.x, f.n FROM e LEFT JOIN f ON f.k = e.x")
    db.execute("CREATE TRIGGER found AFTER INSERT ON e BEGIN INSERT INTO log SELECT n FROM f WHERE k = new.x; END")
    db.execute("PRAGMA trusted_schema = OFF")
    db.execute("INSERT INTO e VALUES ('k3'), ('no')")
    assert db.execute("SELECT * FROM v ORDER BY 1").fetchall() == [("k3", 3), ("no", None)]
    assert db.execute("SELECT * FROM log").fetchall() == [(3,)]


def test_an_index_that_goes(db):
    made(db)
    db.execute("CREATE UNIQUE INDEX i ON t(k)")
    assert db.execute("SELECT n FROM f WHERE k = 'k3'").fetchall() == [(3,)]
    db.execute("DROP INDEX i")
    db.execute("INSERT INTO t VALUES ('k3', 33)")
    assert db.execute("SELECT n FROM f WHERE k = 'k3'").fetchall() == [(3,), (33,)]


def test_more_columns_search_the_schema_no_more_often(db):
    """A search goes through all of the schema: with one for each column, connecting took a quarter of a second."""
    statements = []
    for columns in (2, 60):
        db.execute(f"CREATE TABLE t{columns}(k TEXT, {', '.join(f'c{i}' for i in range(columns))})")
        begun = []
        db.set_trace_callback(begun.append)
        db.execute(f"CREATE VIRTUAL TABLE f{columns} USING cuckoo_filter(content='t{columns}(k)', rows=on)")
        db.set_trace_callback(None)
        statements.append(len(begun))
    assert statements[0] == statements[1] > 0


def test_a_collation_of_another_column_that_this_connection_lacks(tmp_path):
    def connect():
        return support.connect(str(tmp_path / "front.db"))

    def order(one, other):
        return (one > other) - (one < other)

    db = connect()
    db.create_collation("mine", order)
    db.execute("CREATE TABLE t(k TEXT UNIQUE, x TEXT COLLATE mine)")
    db.execute("INSERT INTO t VALUES ('ada', 'q')")
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(content='t(k)', rows=on)")
    db.close()
    db = connect()
    assert support.ask(db, "SELECT cf_table_contains('f', 'ada')") == 1
    with pytest.raises(sqlite3.OperationalError, match="this connection lacks a collation of it"):
        db.execute("SELECT count(*) FROM f")
    db.create_collation("mine", order)
    if sqlite3.sqlite_version_info >= (3, 38):
        db.execute("PRAGMA writable_schema = RESET")
    else:  # before the extension reads the schema
        db = sqlite3.connect(str(tmp_path / "front.db"))
        db.create_collation("mine", order)
        db.enable_load_extension(True)
        db.load_extension(support.extension_path().removesuffix(".so"))
    assert db.execute("SELECT x FROM f WHERE k = 'ada'").fetchall() == [("q",)]


@pytest.mark.parametrize("kind, most", [("", 1999), ("WITHOUT ROWID", 1998)])
def test_a_table_of_many_columns(tmp_path, kind, most):
    """One or two hidden columns count toward the limit. One column too many is an error of CREATE, which leaves nothing
    behind; one that comes later is an error of each query, until it is gone, and of no write."""
    def wide(db, columns):
        db.execute(f"CREATE TABLE t(k INTEGER PRIMARY KEY, {', '.join(f'c{i}' for i in range(1, columns))}) {kind}")
        db.execute("INSERT INTO t(k, c1) VALUES (1, 'one'), (2, 'two')")

    create = "CREATE VIRTUAL TABLE f USING cuckoo_filter(content='t(k)', rows=on)"
    too_wide = rf"t has \d+ columns, and rows=on adds \d hidden ones: SQLITE_LIMIT_COLUMN allows 2000; create"
    for columns in (most + 1, 2000):
        db = support.connect()
        wide(db, columns)
        before = db.execute("SELECT name FROM sqlite_master").fetchall()
        with pytest.raises(sqlite3.OperationalError, match="cuckoo_filter: " + too_wide):
            db.execute(create)
        assert db.execute("SELECT name FROM sqlite_master").fetchall() == before
        db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(content='t(k)')")
    path = str(tmp_path / "wide.db")
    db, other = support.connect(path), support.connect(path)
    wide(db, most)
    db.execute(create)
    for one in (db, other):
        assert one.execute("SELECT * FROM f WHERE k = 2").fetchone()[:2] == (2, "two")
    if sqlite3.sqlite_version_info < (3, 35):
        return
    db.execute("ALTER TABLE t ADD COLUMN more")
    for one in (db, other, support.connect(path)):
        for sql in ("SELECT * FROM f", "SELECT count(*) FROM f", "SELECT 1 FROM f WHERE k = 2"):
            with pytest.raises(sqlite3.OperationalError, match="f: " + too_wide):
                one.execute(sql).fetchall()
        one.execute("UPDATE t SET c1 = 'three' WHERE k = 2")
        assert support.ask(one, "SELECT cf_table_contains('f', 2)") == 1
    db.execute("ALTER TABLE t DROP COLUMN more")
    for one in (db, other):
        assert one.execute("SELECT * FROM f WHERE k = 2").fetchone()[:2] == (2, "three")
    db.execute("DROP TABLE f")


def test_a_lock_is_no_failure_of_a_constructor(tmp_path):
    """In an attached database a table is connected before the lock is asked for."""
    path = str(tmp_path / "locked.db")
    db, other = support.connect(path), support.connect()
    made(db)
    other.execute("ATTACH ? AS aux", (path,))
    other.execute("PRAGMA busy_timeout = 0")
    db.execute("BEGIN EXCLUSIVE")
    for sql in ("SELECT * FROM aux.f WHERE k = 'k1'", "DROP TABLE aux.f"):
        with pytest.raises(sqlite3.OperationalError, match="^cuckoo_filter: database is locked$|^database is locked$"):
            other.execute(sql)
    db.execute("COMMIT")
    assert other.execute("SELECT n FROM aux.f WHERE k = 'k1'").fetchall() == [(1,)]
