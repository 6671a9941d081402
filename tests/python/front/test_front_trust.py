# SPDX-License-Identifier: MIT
"""rows=on: the rows are those of the content also when the filter lags behind, or cannot be used."""
import sqlite3

import pytest
import support

ASKED = ["SELECT e.x, t.n FROM e LEFT JOIN {T} AS t ON t.k = e.x ORDER BY 1, 2", "SELECT * FROM {T} ORDER BY n",
         "SELECT count(*) FROM e WHERE NOT EXISTS(SELECT 1 FROM {T} AS t WHERE t.k = e.x)", "SELECT n FROM {T} WHERE k IN ('k3', 'new', 'k77') ORDER BY 1",
         "SELECT n FROM {T} WHERE n > 20 ORDER BY n DESC"]


def made(path=":memory:"):
    db = support.connect(path)
    db.execute("CREATE TABLE t(k TEXT, n INTEGER)")
    db.execute("CREATE INDEX i ON t(k)")
    db.executemany("INSERT INTO t VALUES (?, ?)", [(f"k{i}", i) for i in range(40)])
    db.execute("CREATE TABLE e(x TEXT)")
    db.executemany("INSERT INTO e VALUES (?)", [(f"k{i}",) for i in range(30, 90)] + [("new",), (None,)])
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(content='t(k)', rows=on)")
    return db


def same(db, front="f", content="t"):
    for _ in range(3):
        for sql in ASKED:
            assert db.execute(sql.format(T=front)).fetchall() == db.execute(sql.format(T=content)).fetchall(), sql


def is_trusted(db):
    try:
        return support.ask(db, "SELECT cf_table_contains('f', 'k1')") == 1
    except sqlite3.Error:
        return False


BREAKS = {
    "a trigger is gone": ["DROP TRIGGER f_inserted"],
    "all triggers are gone": ["DROP TRIGGER f_inserted", "DROP TRIGGER f_deleted", "DROP TRIGGER f_updated", "DROP TRIGGER f_moved"],
    "a damaged page": ["UPDATE f_page SET data = x'0011' WHERE no > 0"],
    "no pages": ["DELETE FROM f_page WHERE no > 0"],
    "a damaged header": ["UPDATE f_page SET data = x'00' WHERE no = 0"],
    "no header": ["DELETE FROM f_page"],
    "no shadow table": ["DROP TABLE f_page"],
    "the content made anew": ["DROP TABLE t", "CREATE TABLE t(k TEXT, n INTEGER)", "INSERT INTO t VALUES ('k1', 1), ('k33', 33)"],
    "another trigger in front": ["CREATE TRIGGER other AFTER INSERT ON t BEGIN SELECT RAISE(IGNORE) WHERE new.k = 'no'; END"],
}


@pytest.mark.parametrize("what", BREAKS)
def test_the_content_alone_answers_when_the_filter_cannot(what):
    db = made()
    same(db)
    for sql in BREAKS[what]:
        db.execute(sql)
    db.execute("INSERT INTO t VALUES ('new', 100), ('k77', 77)")
    db.execute("DELETE FROM t WHERE n = 3")
    db.execute("UPDATE t SET k = 'k66' WHERE n = 33")
    assert what == "no pages" or not is_trusted(db)
    same(db)
    if what not in ("no shadow table", "a damaged header", "no header", "another trigger in front"):
        db.execute("SELECT cf_table_rebuild('f')")
        assert is_trusted(db)
        same(db)
    db.execute("DROP TABLE f")
    db.close()


def test_triggers_that_are_off_and_a_table_of_a_later_version():
    db = made()
    support.configure(db, support.ENABLE_TRIGGER, 0)
    db.execute("INSERT INTO t VALUES ('new', 100)")
    same(db)
    support.configure(db, support.ENABLE_TRIGGER, 1)
    db.execute("UPDATE f_page SET data = data || x'00' WHERE no = 0")
    same(db)
    db.close()


def test_own_changes_savepoints_and_rollback():
    db = made()
    db.execute("BEGIN")
    db.execute("INSERT INTO t VALUES ('new', 100)")
    same(db)
    db.execute("SAVEPOINT one")
    db.execute("UPDATE t SET k = 'k77' WHERE n = 100")
    same(db)
    db.execute("DELETE FROM t WHERE n < 35")
    same(db)
    db.execute("ROLLBACK TO one")
    same(db)
    db.execute("ROLLBACK")
    same(db)


def test_changes_by_others(tmp_path):
    one = made(str(tmp_path / "a.db"))
    other = support.connect(str(tmp_path / "a.db"))
    plain = sqlite3.connect(str(tmp_path / "a.db"), isolation_level=None)
    same(other)
    plain.execute("INSERT INTO t VALUES ('new', 100)")  # without the extension
    same(one), same(other)
    one.execute("DELETE FROM t WHERE n > 35")
    same(one), same(other)
    plain.execute("ALTER TABLE t ADD COLUMN more DEFAULT 7")
    for db in (one, other):
        assert db.execute("SELECT more FROM f WHERE k = 'k5'").fetchall() == [(7,)]
        same(db)
    plain.execute("DROP TRIGGER f_updated")
    plain.execute("UPDATE t SET k = 'k80' WHERE n = 4")
    same(one), same(other)
    for db in (one, other, plain):
        db.close()


def test_a_statement_that_writes_the_content_and_reads_it():
    for broken in (False, True):
        db = made()
        if broken:
            db.execute("DROP TRIGGER f_inserted")
        db.execute("INSERT INTO t SELECT k, n + 1000 FROM f")
        assert db.execute("SELECT count(*) FROM t").fetchall() == [(80,)]
        db.execute("INSERT INTO t SELECT k, n + 10000 FROM f WHERE n >= 1000")
        assert db.execute("SELECT count(*) FROM t").fetchall() == [(120,)]
        db.execute("DELETE FROM t WHERE EXISTS(SELECT 1 FROM f WHERE f.k = t.k AND f.n > t.n)")
        assert db.execute("SELECT count(*), min(n) FROM t").fetchall() == [(40, 11000)]
        db.execute("UPDATE t SET n = (SELECT count(*) FROM f WHERE f.k = t.k)")
        assert db.execute("SELECT sum(n) FROM t").fetchall() == [(40,)]
        same(db)
        db.close()


def test_rows_that_come_while_others_are_shown():
    db = made()
    shown = db.execute("SELECT k FROM f WHERE n >= 0")
    first = shown.fetchone()
    db.execute("INSERT INTO t VALUES ('new', 100)")
    assert first == ("k0",) and support.ask(db, "SELECT n FROM f WHERE k = 'new'") == 100
    assert len(shown.fetchall()) >= 39
    same(db)


@pytest.mark.parametrize("temp", ["", "TEMP "])
def test_a_trigger_on_the_content_that_looks_at_its_own_row(temp):
    """It is newer than those of the filter, and so it runs before them."""
    db = made()
    db.execute("CREATE TABLE seen(event, n)")
    db.execute("INSERT INTO seen VALUES ('INSERT', 0), ('UPDATE', 0)")
    for event in ("INSERT", "UPDATE"):
        db.execute(f"CREATE {temp}TRIGGER look_{event} AFTER {event} ON t WHEN EXISTS(SELECT 1 FROM f WHERE f.k = new.k) "
                   f"BEGIN UPDATE seen SET n = n + 1 WHERE event = '{event}'; END")
    db.execute("INSERT INTO t VALUES ('new', 100), ('k3', 101), ('newer', 102)")
    assert is_trusted(db)
    db.execute("UPDATE t SET k = k || 'x' WHERE n > 30")
    assert db.execute("SELECT * FROM seen").fetchall() == [("INSERT", 3), ("UPDATE", 12)]
    same(db)


def test_a_missing_key_touches_nothing_of_the_content():
    db = made()
    same(db)
    ran = []
    db.set_trace_callback(ran.append)
    assert db.execute("SELECT count(*) FROM e JOIN f ON f.k = e.x AND e.x > 'k4'").fetchall() == [(0,)]
    db.set_trace_callback(None)
    assert len([sql for sql in ran if "AS c" in sql]) <= 3, ran  # lookalikes
    plan = " ".join(row[3] for row in db.execute("EXPLAIN QUERY PLAN SELECT n FROM f WHERE k = 'a'"))
    assert """if the filter has it: SELECT c.rowid, c."k", c."n" FROM "main"."t" AS c WHERE c."k" = ?1""" in plan
