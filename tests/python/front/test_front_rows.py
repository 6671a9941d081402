# SPDX-License-Identifier: MIT
"""rows=on: the columns and rows of the content, and the ways to ask for them."""
import itertools
import re
import sqlite3

import pytest

import inside
import support

QUERIES = [
    "SELECT * FROM {T} ORDER BY 1, 2",
    "SELECT count(*), sum(n) FROM {T}",
    "SELECT e.x, t.n FROM e JOIN {T} AS t ON t.user = e.x ORDER BY 1, 2",
    "SELECT e.x, t.n FROM e LEFT JOIN {T} AS t ON t.user = e.x ORDER BY 1, 2",
    "SELECT e.x FROM e LEFT JOIN {T} AS t ON t.user = e.x WHERE t.user IS NULL ORDER BY 1",
    "SELECT x FROM e WHERE EXISTS(SELECT 1 FROM {T} AS t WHERE t.user = e.x) ORDER BY 1",
    "SELECT x FROM e WHERE NOT EXISTS(SELECT 1 FROM {T} AS t WHERE t.user = e.x) ORDER BY 1",
    "SELECT x FROM e WHERE x IN (SELECT user FROM {T}) ORDER BY 1",
    "SELECT x FROM e WHERE x NOT IN (SELECT user FROM {T} WHERE user IS NOT NULL) ORDER BY 1",
    "SELECT n FROM {T} WHERE user IN ('u1', 'u4', 'u999', NULL, 'u4') ORDER BY 1",
    "SELECT n FROM {T} WHERE user IS NULL ORDER BY 1",
    "SELECT n FROM {T} WHERE user IS 'u4'",
    "SELECT n FROM {T} WHERE user = NULL",
    "SELECT n FROM {T} WHERE user > 'u4' AND user < 'u7' ORDER BY user",
    "SELECT user FROM {T} WHERE n BETWEEN 3 AND 6 ORDER BY n DESC LIMIT 2 OFFSET 1",
    "SELECT user FROM {T} WHERE n = 3 OR user = 'u8' OR user = 'u999' ORDER BY 1",
    "SELECT user FROM {T} WHERE user LIKE 'U1%' ORDER BY 1",
    "SELECT user FROM {T} WHERE user GLOB 'u[12]*' ORDER BY 1",
    "SELECT user, count(*) FROM {T} GROUP BY user HAVING count(*) > 1",
    "SELECT DISTINCT n % 3 FROM {T} ORDER BY 1",
    "SELECT a.n, b.n FROM {T} AS a JOIN {T} AS b ON b.user = a.user ORDER BY 1, 2",
    "WITH q AS (SELECT * FROM {T}) SELECT count(*) FROM e JOIN q ON q.user = e.x",
    "SELECT user FROM {T} UNION SELECT x FROM e ORDER BY 1",
]
KINDS = {"rowid": "CREATE TABLE blocked(id INTEGER PRIMARY KEY, user TEXT, n INT)",
         "plain": "CREATE TABLE blocked(user TEXT, n INT)",
         "keyed": "CREATE TABLE blocked(n INT PRIMARY KEY, user TEXT) WITHOUT ROWID",
         "composite": "CREATE TABLE blocked(user TEXT, n INT, PRIMARY KEY(user, n)) WITHOUT ROWID",
         "no name of the rowid": "CREATE TABLE blocked(rowid, _rowid_, oid, user TEXT, n INT)",
         "many columns": f"CREATE TABLE blocked({', '.join(f'c{i}' for i in range(70))}, user TEXT, n INT)"}


def filled(db, kind, index=True):
    db.execute(KINDS[kind])
    if index:
        db.execute("CREATE INDEX blocked_user ON blocked(user)")
    db.execute("CREATE TABLE e(x TEXT)")
    db.executemany("INSERT INTO blocked(user, n) VALUES (?, ?)",
                   [(f"u{i % 20}", i) for i in range(30)] + ([] if kind == "composite" else [(None, 100), (None, 101)]))
    db.executemany("INSERT INTO e VALUES (?)", [(f"u{i}",) for i in range(10, 40)])
    db.execute("CREATE VIRTUAL TABLE fast USING cuckoo_filter(content='blocked(user)', rows=on)")


@pytest.mark.parametrize("index", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_each_way_to_ask_gives_the_rows_of_the_content(db, kind, index):
    filled(db, kind, index)
    for sql in QUERIES:
        assert db.execute(sql.format(T="fast")).fetchall() == db.execute(sql.format(T="blocked")).fetchall(), sql


@pytest.mark.parametrize("index", ["k COLLATE BINARY", "k, n", "k) WHERE (n > 1", "lower(k) || n", "n, k"])
def test_what_is_unique_in_another_way_is_not_unique(db, index):
    db.execute("CREATE TABLE t(k TEXT COLLATE NOCASE, n)")
    db.execute(f"CREATE UNIQUE INDEX i ON t({index})")
    db.execute("INSERT INTO t VALUES ('a', 1), ('A', 2)")
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(content='t(k)', rows=on)")
    assert db.execute("SELECT n FROM f WHERE k = 'a' ORDER BY n").fetchall() == [(1,), (2,)]
    assert db.execute("SELECT count(*) FROM (SELECT 'A' AS x) JOIN f ON f.k = x").fetchall() == [(2,)]
    assert db.execute("SELECT n FROM f WHERE k IN ('a', 'b') ORDER BY n").fetchall() == [(1,), (2,)]


def test_the_rowid_is_that_of_the_content(db):
    filled(db, "plain")
    db.execute("DELETE FROM blocked WHERE n < 5")
    for where in ("", " WHERE user = 'u7'", " WHERE rowid = 9", " WHERE rowid > 25 ORDER BY rowid DESC"):
        assert db.execute("SELECT rowid, n FROM fast" + where).fetchall() == db.execute("SELECT rowid, n FROM blocked"
                + where).fetchall()


@pytest.mark.skipif(sqlite3.sqlite_version_info < (3, 39), reason="RIGHT JOIN came with 3.39")
@pytest.mark.parametrize("kind", KINDS)
def test_outer_joins_from_both_sides(db, kind):
    filled(db, kind)
    for join in ("RIGHT", "FULL"):
        for sql in (f"SELECT e.x, t.n FROM e {join} JOIN {{T}} AS t ON t.user = e.x ORDER BY 1, 2",
                    f"SELECT e.x, t.n FROM {{T}} AS t {join} JOIN e ON t.user = e.x ORDER BY 1, 2"):
            assert db.execute(sql.format(T="fast")).fetchall() == db.execute(sql.format(T="blocked")).fetchall(), sql


def test_names_types_and_collations_are_those_of_the_content(db):
    db.execute("""CREATE TABLE "a ""b"(id INTEGER PRIMARY KEY, "na""me" TEXT COLLATE NOCASE, "hidden one" HIDDEN VARCHAR(20),
                  g INT AS (id + 1), s TEXT AS (upper("na""me")) STORED, "select", real DOUBLE PRECISION)""")
    db.execute("""INSERT INTO "a ""b"(id, "na""me", "hidden one", "select", real) VALUES (3, 'Ada', 'x', x'00', 5)""")
    db.execute("""CREATE VIRTUAL TABLE f USING cuckoo_filter(content='"a ""b"("na""me")', rows=on)""")
    assert db.execute("SELECT * FROM f").fetchall() == [(3, "Ada", "x", 4, "ADA", b"\0", 5.0)]
    assert [row[0] for row in db.execute("SELECT * FROM f").description] == ["id", 'na"me', "hidden one", "g", "s",
                                                                             "select", "real"]
    assert db.execute("""SELECT id FROM f WHERE "na""me" = 'aDA'""").fetchall() == [(3,)]
    assert db.execute("""SELECT id FROM f WHERE "na""me" = 'aDA' COLLATE BINARY""").fetchall() == []
    types = [row[2] for row in db.execute("PRAGMA table_info(f)")]
    assert types == ["INTEGER", "TEXT", "TEXT", "INT", "TEXT", "", "DOUBLE PRECISION"]


@pytest.mark.skipif(sqlite3.sqlite_version_info < (3, 37), reason="STRICT came with 3.37")
def test_any_of_a_strict_table_has_no_affinity(db):
    db.execute("CREATE TABLE t(k ANY, a ANY) STRICT")
    db.execute("INSERT INTO t VALUES ('1', '2'), (1, 2)")
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(content='t(k)', rows=on)")
    for where in ("k = '1'", "k = 1", "a = '2'", "a = 2", "a < 3", "k IN (1)"):
        assert db.execute(f"SELECT typeof(k) FROM f WHERE {where}").fetchall() == \
            db.execute(f"SELECT typeof(k) FROM t WHERE {where}").fetchall(), where


VALUES = ["''", "x''", "5", "5.0", "'5'", "'5.0'", "' 5'", "1e3", "9e999", "'a'||char(0)", "x'35'", "zeroblob(0)"]


@pytest.mark.parametrize("type_", ["TEXT", "", "INTEGER", "REAL", "NUMERIC", "BLOB"])
def test_values_of_every_type_on_both_sides(db, type_):
    stored = ["''", "x''", "5", "5.5", "'5'", "'5.0'", "' 5'", "1000", "9e999", "'a'||char(0)", "x'35'", "NULL", "'~'"]
    db.execute(f"CREATE TABLE t(k {type_}); ")
    db.execute("CREATE INDEX i ON t(k)")
    db.execute("INSERT INTO t VALUES " + ", ".join(f"({one})" for one in stored))
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(content='t(k)', rows=on)")
    for other in ("TEXT", "INTEGER", "", "REAL"):
        db.execute("DROP TABLE IF EXISTS e")
        db.execute(f"CREATE TABLE e(x {other})")
        for value in VALUES:
            db.execute("DELETE FROM e")
            db.execute(f"INSERT INTO e VALUES ({value})")
            for op, side in itertools.product(("=", "IS", "<", "<=", ">", ">="), ("e.x", "+e.x", value)):
                plain, front = (db.execute(f"SELECT t.rowid FROM e JOIN {name} AS t ON t.k {op} {side} ORDER BY 1").fetchall() for name in "tf")
                assert plain == front, (op, side, other)


@pytest.mark.parametrize("where, passed_on", [
    ("k = 'b'", 1), ("k IS 'b'", 1), ("k IN ('b', 'c')", 1), ("x IS x'62'", 1), ("n IN (1, 3)", 1), ("n > 1.5", 1),
    ("n BETWEEN 1 AND 2", 2), ("rowid <= 2", 1), ("n > '1'", 1), ("k > 'a'", 0), ("k BETWEEN 'a' AND 'b'", 0),
    ("x < 'c'", 0), ("k < 2", 0), ("k LIKE 'b%'", 0), ("k GLOB 'b*'", 0)])
@pytest.mark.parametrize("order", ["rowid", "n DESC", "k"])
def test_what_is_passed_on_to_the_content(db, where, passed_on, order):
    """The rest is left to SQLite: ranges of texts, patterns, and sorting. The rows are the same."""
    db.execute("CREATE TABLE t(k TEXT UNIQUE, n INT, x)")
    db.execute("CREATE INDEX by_n ON t(n)")
    db.execute("INSERT INTO t VALUES ('a', 1, x'61'), ('b', 2, x'62'), ('bb', '3', 'bb'), (x'62', x'62', 'b'), ('1', '2z', 7)")
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(content='t(k)', rows=on)")
    plain, rows = (db.execute(f"SELECT * FROM {name} WHERE {where} ORDER BY {order}, rowid").fetchall() for name in "tf")
    assert plain == rows
    plan = str(db.execute(f"EXPLAIN QUERY PLAN SELECT * FROM f WHERE {where} ORDER BY {order}").fetchall())
    assert len(re.findall(r" (?:=|IS|<|<=|>|>=) \?\d", plan)) == passed_on, plan
    assert "ORDER BY c" not in plan and "TEMP B-TREE FOR ORDER BY" in plan


def test_rows_are_read_only_and_the_message_says_where_to_write(db):
    filled(db, "plain")
    for last in (False, True):
        for sql in ("INSERT INTO fast(user) VALUES ('x')", "INSERT INTO fast VALUES ('x', 1)",
                    "DELETE FROM fast WHERE user = 'u1'",
                    "DELETE FROM fast", "UPDATE fast SET n = 1", "UPDATE fast SET user = 'x' WHERE n = 3"):
            with pytest.raises(sqlite3.OperationalError, match=r"fast: it stays in sync with blocked\(user\): change that table"):
                db.execute(sql)
        if not last:
            inside.drop_own_triggers(db, "fast", "DELETE")
    assert db.execute("SELECT count(*) FROM fast").fetchall() == [(32,)]


def test_commands_and_functions_work_as_on_every_filter_table(db):
    filled(db, "keyed")
    for command in ("check", "drain", "optimize", "rebuild"):
        db.execute(f"INSERT INTO fast(fast) VALUES ('{command}')")
    assert support.ask(db, "SELECT cf_table_check('fast')") == "ok"
    assert support.ask(db, "SELECT cf_table_contains('fast', 'u3')") == 1
    db.execute("SELECT cf_table_rebuild('fast')")
    db.execute("SELECT cf_table_rebuild('fast', 5000)")
    assert support.ask(db, "SELECT json_extract(cf_table_info('fast'), '$.capacity')") == 5000
    assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    with pytest.raises(sqlite3.OperationalError, match="rebuild"):
        db.execute("INSERT INTO fast(fast) VALUES ('clear')")


def test_arguments(db):
    db.execute("CREATE TABLE t(k)")
    db.executemany("INSERT INTO t VALUES (?)", [(i,) for i in range(20000)])
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(content='t(k)', ROWS = 'On')")
    assert '"capacity":25000,' in support.ask(db, "SELECT cf_table_info('f')")
    db.execute("CREATE VIRTUAL TABLE g USING cuckoo_filter(content='t(k)', rows=on, capacity=7, fpr=0.2)")
    assert '"capacity":7,' in support.ask(db, "SELECT cf_table_info('g')")
    db.execute("DELETE FROM t")
    db.execute("CREATE VIRTUAL TABLE h USING cuckoo_filter(content='t(k)', rows=on)")
    assert '"capacity":10000,' in support.ask(db, "SELECT cf_table_info('h')")


MARKED = ("\ufeffname", "\ufffename", "name")


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16le", "UTF-16be"])
def test_texts_that_begin_with_a_byte_order_mark(encoding):
    """Also while the filter is not trusted, and asks by the index."""
    db = support.connect(encoding=encoding)
    db.execute("CREATE TABLE t(k TEXT UNIQUE, other TEXT)")
    db.executemany("INSERT INTO t VALUES (?1, ?1)", zip(MARKED))
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(content='t(k)', rows=on)")
    for trigger in ("", "CREATE TRIGGER newer AFTER INSERT ON t BEGIN UPDATE t SET other = '' WHERE 0; END"):
        db.execute(trigger)
        for column in ("k", "other"):
            rows = db.execute(f"SELECT (SELECT count(*) FROM f WHERE f.{column} = t.{column}), cf_table_contains('f', k) FROM t").fetchall()
            assert rows == [(1, 1)] * len(MARKED)
            assert [len(db.execute(f"SELECT 1 FROM f WHERE {column} = ?", (text,)).fetchall()) for text in MARKED] == [1] * len(MARKED)


def test_asked_with_a_real_of_a_generated_column(db):
    """SQLite before 3.38 misreads it in sqlite3_bind_value."""
    db.executescript("CREATE TABLE made(source, k REAL AS (source)); INSERT INTO made(source) VALUES (7), (1.5), (100);"
                     "CREATE TABLE t(k REAL UNIQUE); INSERT INTO t SELECT k FROM made;"
                     "CREATE VIRTUAL TABLE f USING cuckoo_filter(content='t(k)', rows=on)")
    for trigger in ("", "CREATE TRIGGER newer AFTER INSERT ON t BEGIN UPDATE t SET k = 0 WHERE 0; END"):
        db.execute(trigger)
        assert db.execute("SELECT (SELECT count(*) FROM f WHERE f.k = made.k), cf_table_contains('f', k) FROM made").fetchall() == [(1, 1)] * 3


@pytest.mark.parametrize("analyze", [False, True])
@pytest.mark.parametrize("events", [10, 10000])
def test_a_join_begins_with_the_other_table(db, events, analyze):
    """If that is smaller, also where SQLite, without ANALYZE, takes it for a table of a million rows: to read 100,000 rows of the
    front took 300 times as long. CROSS JOIN does it always."""
    db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, k TEXT UNIQUE, n INT)")
    db.execute("CREATE TABLE e(id INTEGER PRIMARY KEY, k TEXT)")
    for table, rows, step in (("t", 100000, 3), ("e", events, 7)):
        db.execute(f"INSERT INTO {table}(k) SELECT 'k' || (value * {step}) FROM (WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL "
                   f"SELECT value + 1 FROM n WHERE value < {rows}) SELECT * FROM n)")
    db.execute("CREATE INDEX ek ON e(k)")
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(content='t(k)', rows=on)")
    assert support.ask(db, "SELECT count(*) FROM f WHERE k = 'x'") == 0
    if analyze:
        db.execute("ANALYZE")
    joins = ["SELECT count(*), sum(f.n) FROM e JOIN f ON f.k = e.k", "SELECT e.id, f.n FROM f, e WHERE e.k = f.k"]
    joins += [f"SELECT {x} FROM e CROSS JOIN f ON f.k = e.k {y}" for x, y in
              (("count(DISTINCT f.id)", ""), ("max(f.id)", ""), ("f.id", "ORDER BY f.id LIMIT 5"))]
    for sql in joins:
        plan = [row[3] for row in db.execute("EXPLAIN QUERY PLAN " + sql)]
        scans = [line for line in plan if line.startswith(("SCAN", "SEARCH"))]
        assert "VIRTUAL TABLE" in scans[-1] and "if the filter has it" in scans[-1], (sql, plan)
        assert sorted(db.execute(sql).fetchall()) == sorted(db.execute(sql.replace(" f ", " t AS f ").replace("f,", "t AS f,")).fetchall())
