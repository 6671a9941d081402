# SPDX-License-Identifier: MIT
"""rows=on: the rows are those of the content also when the filter lags behind, or cannot be used."""

import sqlite3
import pytest

import inside
import support

ASKED = ["SELECT e.x, t.n FROM e LEFT JOIN {T} AS t ON t.k = e.x ORDER BY 1, 2", "SELECT * FROM {T} ORDER BY n",
         "SELECT count(*) FROM e WHERE NOT EXISTS(SELECT 1 FROM {T} AS t WHERE t.k = e.x)",
         "SELECT n FROM {T} WHERE k IN ('k3', 'new', 'k77') ORDER BY 1", "SELECT n FROM {T} WHERE n > 20 ORDER BY n DESC"]


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


def own(db, sql, what="pages"):
    table, column = inside.own_table(db, what)
    db.execute(sql.format(table=table, column=column))


BREAKS = {  # how, and whether `rebuild` mends it
    "a trigger is gone": (lambda db: inside.drop_own_triggers(db, which="INSERT"), True),
    "all triggers are gone": (inside.drop_own_triggers, True),
    "a damaged page": (lambda db: own(db, "UPDATE {table} SET {column} = x'0011' WHERE rowid = (SELECT max(rowid) FROM {table})"), True),
    "a page less": (lambda db: own(db, "DELETE FROM {table} WHERE rowid = (SELECT max(rowid) FROM {table})"), True),
    "all rows damaged": (lambda db: own(db, "UPDATE {table} SET {column} = x'00'"), False),
    "no rows": (lambda db: own(db, "DELETE FROM {table}"), False),
    "no table for them": (lambda db: own(db, "DROP TABLE {table}"), False),
    "of a later version": (lambda db: own(db, "UPDATE {table} SET {column} = {column} || x'00' WHERE rowid = (SELECT min(rowid) FROM {table})"), False),
    "triggers switched off": (lambda db: support.configure(db, support.ENABLE_TRIGGER, 0), False),
    "the content made anew": (lambda db: db.executescript("DROP TABLE t; CREATE TABLE t(k TEXT, n INTEGER); INSERT INTO t VALUES ('k1', 1), ('k33', 33)"), True),
    "another trigger in front": (lambda db: db.execute("CREATE TRIGGER other AFTER INSERT ON t BEGIN SELECT RAISE(IGNORE) WHERE new.k = 'no'; END"), False),
}


@pytest.mark.parametrize("what", BREAKS)
def test_the_content_alone_answers_when_the_filter_cannot(what):
    db = made()
    same(db)
    breaks, is_mended = BREAKS[what]
    breaks(db)
    db.execute("INSERT INTO t VALUES ('new', 100), ('k77', 77)")
    db.execute("DELETE FROM t WHERE n = 3")
    db.execute("UPDATE t SET k = 'k66' WHERE n = 33")
    same(db)
    if is_mended:
        db.execute("SELECT cf_table_rebuild('f')")
        assert support.ask(db, "SELECT cf_table_contains('f', 'k1')") == 1
        same(db)
    db.execute("DROP TABLE f")
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
    db.execute("UPDATE t SET k = k || 'x' WHERE n > 30")
    assert db.execute("SELECT * FROM seen").fetchall() == [("INSERT", 3), ("UPDATE", 12)]
    same(db)


def test_a_missing_key_reads_nothing_of_the_content():
    """There is no index here: each key that is read takes 40 steps of SQLite's machine and more."""
    db = made()
    db.execute("DROP INDEX i")
    db.execute("WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) INSERT INTO t SELECT 'l' || i, i FROM n")
    steps = [0]
    db.set_progress_handler(lambda: steps.__setitem__(0, steps[0] + 1), 1)
    assert db.execute("SELECT count(*) FROM e JOIN f ON f.k = e.x AND e.x > 'k4'").fetchall() == [(0,)]
    db.set_progress_handler(None, 1)
    assert steps[0] < 20_000


# ---- what was found holds only while it may ----

def test_a_table_that_is_made_anew_in_a_transaction(db):
    """No row is counted as changed by DROP TABLE and CREATE TABLE AS."""
    db.executescript("CREATE TABLE t(k TEXT); CREATE VIRTUAL TABLE f USING cuckoo_filter(content='t(k)', rows=on);"
                     "INSERT INTO t VALUES ('a'), ('b'); CREATE TABLE n(k TEXT); INSERT INTO n VALUES ('zz')")
    for _ in range(2):
        assert db.execute("SELECT * FROM f WHERE k = 'yy'").fetchall() == []
    db.executescript("BEGIN; DROP TABLE t; CREATE TABLE t AS SELECT k FROM n")
    assert db.execute("SELECT * FROM f WHERE k = 'zz'").fetchall() == [("zz",)]
    db.execute("COMMIT")


@pytest.mark.skipif(sqlite3.sqlite_version_info >= (3, 54), reason="SQLite asks for the function in a DEFAULT, and takes SQLITE_IGNORE as a denial")
def test_an_authorizer_that_ignores(db):
    """SQLITE_IGNORE is no error: a log gets no tags."""
    db.executescript("CREATE TABLE t(k TEXT UNIQUE); CREATE VIRTUAL TABLE f USING cuckoo_filter(content='t(k)', rows=on);"
                     "CREATE VIRTUAL TABLE g USING cuckoo_filter(content='t(k)'); INSERT INTO t VALUES ('a')")
    assert db.execute("SELECT * FROM f WHERE k = 'a'").fetchall() and support.ask(db, "SELECT cf_table_contains('g', 'a')")
    db.set_authorizer(lambda action, one, other, *_: sqlite3.SQLITE_IGNORE if other == "randomblob" else sqlite3.SQLITE_OK)
    db.execute("BEGIN")
    for k in "bcd":
        db.execute("INSERT INTO t VALUES (?)", (k,))
        assert db.execute("SELECT * FROM f WHERE k = ?", (k,)).fetchall() == [(k,)]
        assert support.ask(db, "SELECT cf_table_contains('g', ?)", k) == 1
    db.execute("COMMIT")
