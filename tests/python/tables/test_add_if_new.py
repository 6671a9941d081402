# SPDX-License-Identifier: MIT
"""INSERT OR IGNORE as add-if-new: tables with adds=once. All other tables ignore the conflict mode."""
import sqlite3

import pytest

import inside
import support
from seen import command, create, has, info
from support import ask

EXACT = "fingerprint_bits=32"
OTHER_MODES = ["", "OR REPLACE", "OR ABORT", "OR FAIL", "OR ROLLBACK"]


@pytest.fixture
def once(db):
    create(db, f"capacity=2000, adds=once, {EXACT}")
    return db


def add(db, *keys, mode="OR IGNORE"):
    """How many of the keys were new, which all of SQLite's counts say alike. (Pages that are written are rows,
    which total_changes counts as well.)"""
    before = db.total_changes
    marks = ", ".join("(?)" for _ in keys)
    cursor = db.execute(f"INSERT {mode} INTO seen(key) VALUES {marks}", keys)
    new = ask(db, "SELECT changes()")
    assert cursor.rowcount == new
    assert db.total_changes - before >= new
    return new


def test_a_key_is_new_once(once):
    assert [add(once, key) for key in (1, 1, 2, "1", 1.0, b"1", 2)] == [1, 0, 1, 1, 0, 1, 0]
    assert add(once, 5, 5, 6, 1, 6) == 2, "a key twice in one statement"
    assert info(once)["items"] == 6


def test_insert_select_and_executemany_count_the_new_ones(once):
    once.execute("CREATE TABLE events(id INTEGER PRIMARY KEY, k)")
    once.executemany("INSERT INTO events(k) VALUES (?)", [(n % 300,) for n in range(1000)])
    assert once.execute("INSERT OR IGNORE INTO seen(key) SELECT k FROM events").rowcount == 300
    assert once.execute("INSERT OR IGNORE INTO seen(key) SELECT k FROM events").rowcount == 0
    assert once.executemany("INSERT OR IGNORE INTO seen(key) VALUES (?)",
                            [(n,) for n in range(290, 310)]).rowcount == 10


def test_total_changes_counts_the_new_ones_and_their_rows_of_the_log(once):
    once.execute("BEGIN")
    before = once.total_changes
    for key in (1, 2, 1, 3, 3):
        once.execute("INSERT OR IGNORE INTO seen(key) VALUES (?)", (key,))
    assert once.total_changes - before == 3 + 3


@pytest.mark.parametrize("options", ["adds=once", "keep='1 hour'", "epochs=4"])
def test_null_is_no_key_and_never_new(db, options):
    create(db, f"{options}, {EXACT}")
    assert [add(db, None), add(db, None), add(db, None, 1, None), add(db, 1, None)] == [0, 0, 1, 0]
    assert [add(db, None, mode=mode) for mode in OTHER_MODES] == [1] * len(OTHER_MODES)
    assert info(db)["items"] == 1


def test_null_in_other_tables_is_counted_as_any_key(db):
    create(db, EXACT)
    assert [add(db, None), add(db, 1), add(db, 1)] == [1, 1, 1]
    assert info(db)["items"] == 2


@pytest.mark.parametrize("mode", OTHER_MODES)
def test_other_modes_add(once, mode):
    assert [add(once, 7, mode=mode), add(once, 7, mode=mode)] == [1, 1]
    assert info(once)["items"] == 2
    assert add(once, 7) == 0


@pytest.mark.parametrize("mode", ["OR IGNORE", *OTHER_MODES])
@pytest.mark.parametrize("options", ["", "adds=once"])
def test_last_insert_rowid_stays(db, mode, options):
    create(db, options)
    db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY)")
    db.execute("INSERT INTO t VALUES (4711)")
    for _ in range(2):
        db.execute(f"INSERT {mode} INTO seen(key) VALUES (1)")
        assert ask(db, "SELECT last_insert_rowid()") == 4711


def test_a_skip_changes_nothing(once, tmp_path):
    path = tmp_path / "once.db"
    db = support.connect(path)
    create(db, f"adds=once, {EXACT}")
    add(db, 1)
    reader = support.connect(path)
    seen = ask(reader, "PRAGMA data_version")
    assert add(db, 1) == 0
    assert ask(reader, "PRAGMA data_version") == seen
    reader.close(), db.close()


@pytest.mark.parametrize("change", ["DELETE FROM seen WHERE key = 1", "UPDATE seen SET key = 2 WHERE key = 1",
                                    "UPDATE OR IGNORE seen SET key = 2 WHERE key = 1"])
def test_single_keys_stay(once, change):
    add(once, 1)
    with pytest.raises(sqlite3.OperationalError, match=r"seen: .*DELETE and UPDATE are not possible.*'clear'"):
        once.execute(change)
    assert has(once, 1) and not has(once, 2)
    command(once, "clear")
    assert add(once, 1) == 1


@pytest.mark.parametrize("options", ["", "counter_bits=4", "growth=off"])
def test_other_tables_ignore_the_mode(db, options):
    """A key that was skipped because of another one would be missed once that one is deleted."""
    create(db, options)
    for _ in range(2):
        db.execute("INSERT OR IGNORE INTO seen(key) VALUES (1)")
        assert ask(db, "SELECT changes()") == 1
    assert info(db)["items"] == 2
    db.execute("DELETE FROM seen WHERE key = 1")
    assert has(db, 1)


def test_the_clause_of_an_outer_statement_holds_in_a_trigger(once):
    once.execute("CREATE TABLE t(k UNIQUE)")
    once.execute("CREATE TRIGGER r AFTER INSERT ON t BEGIN INSERT INTO seen(key) VALUES (new.k % 10); END")
    once.execute("INSERT INTO t VALUES (1), (11)")
    assert info(once)["items"] == 2
    once.execute("INSERT OR IGNORE INTO t VALUES (21), (32), (42)")
    assert info(once)["items"] == 3, "only 2 was new"


RETURNING = pytest.mark.skipif(sqlite3.sqlite_version_info < (3, 35), reason="RETURNING came with 3.35")
INTO = ["seen(key)", "main.seen(key)", '"SEEN" ( [key] )', "`seen`(key)"]


@RETURNING
@pytest.mark.parametrize("into", INTO)
@pytest.mark.parametrize("options", ["adds=once", "keep='1 hour'", "epochs=4"])
@pytest.mark.parametrize("within", ["", "BEGIN", "SAVEPOINT a", "a reader"])
def test_returning_cannot_leave_out_what_is_skipped_and_is_refused(db, within, options, into):
    """SQLite returns it all the same. Whatever came before in the transaction, and whether a key is new or not."""
    create(db, f"{options}, {EXACT}")
    for name in ("t(k UNIQUE)", "log(k)"):
        db.execute(f"CREATE TABLE {name}")
    db.executemany("INSERT INTO log VALUES (?)", [(n,) for n in range(9)])
    reader = db.execute("SELECT k FROM log")
    if within == "a reader":
        reader.fetchone()
    elif within:
        db.execute(within)
    many = "WITH n(k) AS (VALUES (1), (7)) INSERT OR IGNORE INTO {} SELECT k FROM n RETURNING 1"
    for change in ["INSERT OR IGNORE INTO {} VALUES (1) RETURNING key", many,
                   "INSERT OR IGNORE INTO {} SELECT k FROM t WHERE 0 UNION ALL SELECT 1 RETURNING *"]:
        for _ in range(2):
            with pytest.raises(sqlite3.OperationalError, match=r"seen: RETURNING would also .* changes\(\)"):
                db.execute(change.format(into)).fetchall()
            assert db.execute("INSERT OR IGNORE INTO seen(key) VALUES (2), (3)").rowcount in (0, 2)
    assert not has(db, 1) and info(db)["items"] == 2


@RETURNING
def test_returning_of_another_statement_is_not_in_the_way(once):
    """Not that of a table whose trigger adds the key, nor that of a plain INSERT, which skips nothing."""
    once.execute("CREATE TABLE t(k UNIQUE)")
    once.execute("CREATE TRIGGER r AFTER INSERT ON t BEGIN "
                 "INSERT OR IGNORE INTO seen(key) VALUES (new.k % 10); END")
    for expected in ([(1,), (11,), (2,)], []):
        assert once.execute("INSERT OR IGNORE INTO t SELECT k FROM (SELECT 1 AS k UNION ALL SELECT 11 UNION ALL "
                            "SELECT 2) WHERE NOT EXISTS (SELECT 1 FROM seen WHERE key = k + 70) "
                            "RETURNING k").fetchall() == expected
    assert info(once)["items"] == 2
    assert once.execute("INSERT INTO seen(key) VALUES (1), (5) RETURNING key").fetchall() == [(1,), (5,)]


def test_which_of_a_batch_are_new(once):
    """The statements that are named in place of RETURNING."""
    add(once, 1, 2)
    once.execute("BEGIN")
    once.execute("CREATE TEMP TABLE batch AS SELECT column1 AS k FROM (VALUES (1), (3), (2), (4))")
    new = once.execute("SELECT k FROM batch WHERE NOT cf_table_contains('seen', k)").fetchall()
    assert new == [(3,), (4,)]
    assert once.execute("INSERT OR IGNORE INTO seen(key) SELECT k FROM batch").rowcount == 2


@pytest.mark.parametrize("options, guard, error, message", [
    ("adds=once", "inserts", sqlite3.OperationalError, "seen: a constraint on its shadow tables is in the way"),
    ("adds=once", "ignored", sqlite3.Error, ""), ("growth=on", "inserts", sqlite3.IntegrityError, "constraint failed")])
def test_a_write_that_cannot_be_is_no_conflict_of_the_key(db, options, guard, error, message):
    """In the transaction that creates the table. Only where OR IGNORE is obeyed is it an error of another kind."""
    db.execute("BEGIN")
    create(db, f"capacity=100, {options}")
    db.execute(inside.guard("seen", guard))
    with pytest.raises(error, match=message):
        db.execute("INSERT OR IGNORE INTO seen(key) VALUES (1)")


@pytest.mark.parametrize("arguments, message", [
    ("capacity=5, adds=twice", "adds must be once"), ("capacity=5, adds='once', adds=once", "adds is given twice"),
    ("capacity=5, adds=once, value_bits=3", "a filter table stores no values"),
    ("capacity=5, adds=once, content='t(k)'", "you insert, content= stays in sync with a table: give one"),
    ("capacity=5, add=once", "unknown option add; did you mean adds"),
    ("capacity=5, adds=", "adds must be once")])
def test_bad_arguments(db, arguments, message):
    db.execute("CREATE TABLE t(k)")
    with pytest.raises(sqlite3.OperationalError, match=message):
        db.execute(f"CREATE VIRTUAL TABLE seen USING cuckoo_filter({arguments})")
