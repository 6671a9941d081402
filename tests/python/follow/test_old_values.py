# SPDX-License-Identifier: MIT
"""Old values that are no longer true: what SQLite tells triggers of a row that has changed while it was being changed.

BEFORE triggers, triggers of rows that REPLACE deletes, foreign keys, and SQL run by functions change rows between the time at
which a statement reads them and the time at which it writes them. No row may be denied, whatever they do; and what only comes
after the change must not even be a doubt.
"""
import pytest

import support
from promises import EXACT, Follower, attempt, bare

ROWID = "CREATE TABLE u(id INTEGER PRIMARY KEY, k, n DEFAULT 0)"
AFTER_ONLY = ["DELETE FROM u WHERE id = new.id", "UPDATE u SET k = k || '!' WHERE id = new.id AND length(k) < 9",
              "DELETE FROM u WHERE id = new.id; INSERT INTO u(id, k) VALUES (new.id, new.k)",
              "UPDATE u SET k = k || '+' WHERE id = {a} AND length(k) < 12; DELETE FROM u WHERE id = {b}"]


@pytest.mark.parametrize("event", ["INSERT", "UPDATE"])
@pytest.mark.parametrize("body", AFTER_ONLY)
@pytest.mark.parametrize("age", ["older", "newer"])
@pytest.mark.parametrize("also_before", [False, True])
def test_what_comes_after_the_change_is_no_doubt(age, body, event, also_before):
    """A row that is deleted before the filter hears that it was inserted, for one. A BEFORE trigger that changes no row of the
    table alters nothing."""
    db = support.connect()
    db.execute(ROWID)
    db.execute("CREATE TABLE log(x)")
    db.executemany("INSERT INTO u(id, k) VALUES (?, ?)", [(i, f"k{i}") for i in range(1, 11)])
    trigger = (f"CREATE TRIGGER t AFTER {event} ON u WHEN new.k LIKE 'bad%' BEGIN "
               + body.format(a=1, b=2) + "; END")
    if age == "older":
        db.execute(trigger)
    follower = Follower(db).create(EXACT)
    if age == "newer":
        db.execute(trigger)
    if age == "newer" and "INSERT INTO u(id" in body:
        follower.rebuild()  # it may violate a constraint: under OR FAIL a row would stay without our triggers
    if also_before:
        db.execute(f"CREATE TRIGGER b BEFORE {event} ON u BEGIN INSERT INTO log SELECT count(*) FROM log; END")
    db.execute("BEGIN")
    for i in range(6):
        for sql in ("INSERT INTO u(k) VALUES ('bad1'), ('bad2'), ('good' || random())",
                    f"UPDATE u SET k = 'bad' WHERE id = {i + 1}",
                    "UPDATE u SET k = 'bad' || id", "INSERT INTO u(k) VALUES ('bad3')"):
            db.execute(sql)
            assert follower.answers(), sql
    db.execute("COMMIT")
    follower.exact()
    db.close()


@pytest.mark.parametrize("column", ["k", "up"])
def test_replace_sets_off_changes_of_the_row_at_hand(column):
    """Of the row that the statement has read, and not written yet: by a trigger, and by a foreign key."""
    db = support.connect()
    db.execute("PRAGMA recursive_triggers = on")
    db.execute("PRAGMA foreign_keys = on")
    db.execute("CREATE TABLE u(id INTEGER PRIMARY KEY, k, up REFERENCES u(id) ON DELETE SET NULL)")
    db.executemany("INSERT INTO u VALUES (?, ?, ?)", [(i, f"k{i}", i - 1 or None) for i in range(1, 300)])
    follower = Follower(db, column=column).create(EXACT)
    db.execute("CREATE TRIGGER gone AFTER DELETE ON u BEGIN UPDATE u SET k = 'was ' || k WHERE id = old.id + 1; END")
    follower.rebuild()  # the triggers of the filter have to tell first
    for i in range(120, 180, 3):
        attempt(db, f"UPDATE OR REPLACE u SET id = {i} WHERE id = {i + 1}", follower)
        attempt(db, f"UPDATE OR REPLACE u SET id = {i}, k = k || '-' WHERE id = {i + 2}", follower)
    follower.exact()
    db.close()


# ---- programs without the extension ----

# What a program without the extension does to the row 1 of u(id, k), which has 5; row 9 has 2. `lie` is a BEFORE trigger.
GONE = {
    "deletes": ("BEFORE DELETE ON u BEGIN UPDATE u SET k = 5 WHERE id = old.id; END",
                ["UPDATE u SET k = NULL WHERE id = 1", "UPDATE u SET k = 2 WHERE id = 1",
                 "DELETE FROM u WHERE id = 1"]),
    "an insert before it": ("BEFORE DELETE ON u BEGIN UPDATE u SET k = NULL WHERE id = old.id; END",
                            ["INSERT INTO u VALUES (3, 2)", "DELETE FROM u WHERE id = 3"]),
    "an update that keeps the key": ("BEFORE UPDATE ON u WHEN old.k = 2 AND new.k = 2 BEGIN UPDATE u SET k = NULL WHERE id = old.id; END",
                                     ["DELETE FROM u WHERE id = 1", "UPDATE u SET k = k WHERE id = 9"]),
    "updates": ("BEFORE UPDATE ON u WHEN old.k = 2 AND new.k = 7 BEGIN UPDATE u SET k = 5 WHERE id = old.id; END",
                ["UPDATE u SET k = 2 WHERE id = 1", "UPDATE u SET k = 7 WHERE id = 1"]),
    "the same update, twice": ("BEFORE UPDATE ON u WHEN old.k = 5 AND new.k = 7 BEGIN "
                               "UPDATE u SET k = 7 WHERE id = old.id AND k <> 7; END",
                               ["INSERT INTO u VALUES (3, 5)", "UPDATE u SET k = 7 WHERE id = 1"]),
}


@pytest.mark.parametrize("what", GONE)
@pytest.mark.parametrize("key", ["PRIMARY KEY", "UNIQUE"])
@pytest.mark.parametrize("before_filter", [True, False])
def test_a_trigger_that_has_lied_and_gone(tmp_path, what, key, before_filter):
    """It was dropped before those who have the extension could see it: what the log says may add up, and be false."""
    lie, changes = GONE[what]
    path = str(tmp_path / "lie.db")
    db, other = support.connect(path), bare(path)
    db.execute(f"CREATE TABLE u(id INTEGER {key}, k)")
    db.execute("INSERT INTO u VALUES (1, 5), (9, 2)")
    if before_filter:
        other.execute(f"CREATE TRIGGER lie {lie}")
    follower = Follower(db).create(EXACT)
    if not before_filter:
        other.execute(f"CREATE TRIGGER lie {lie}")
    for sql in changes:
        other.execute(sql)
    other.execute("DROP TRIGGER lie")
    assert follower.items() >= follower.rows()
    db.execute("INSERT INTO f(f) VALUES ('drain')")
    assert follower.answers()
    assert follower.items() >= follower.rows()
    other.close()
    db.close()


# ---- what is told before the filter ----

@pytest.mark.parametrize("how", ["UPDATE u SET k = k + 1 WHERE id = new.id AND k = 30",
                                 "SELECT run('UPDATE u SET k = k + 1 WHERE k = 30')"])
def test_a_newer_trigger_tells_what_comes_later_first(db, how):
    """It changes rows, itself or by a function; old values may lie, too."""
    db.create_function("run", 1, lambda sql: db.execute(sql) and None)
    db.execute(ROWID)
    db.execute("INSERT INTO u(id, k) VALUES (1, 30), (2, 7)")
    follower = Follower(db).create(EXACT)
    db.execute("CREATE TRIGGER b BEFORE UPDATE ON u WHEN new.k < 0 BEGIN UPDATE u SET k = 5 WHERE id = old.id; END")
    assert follower.answers()
    db.execute(f"CREATE TRIGGER a AFTER UPDATE ON u BEGIN {how}; END")
    for sql in ("UPDATE u SET k = 30 WHERE id = 2", "UPDATE u SET k = -1 WHERE id = 1", "UPDATE u SET n = 1"):
        attempt(db, sql, follower)
    follower.settled()


@pytest.mark.parametrize("columns", ["id INTEGER PRIMARY KEY, k, x", "k, x"])
def test_a_trigger_that_lied_to_a_long_log_and_has_gone(columns):
    """Each key is there twice, and only one of the two rows changes: the other one is still found."""
    db, n = support.connect(), 35000
    db.execute(f"CREATE TABLE u({columns})")
    db.execute(f"INSERT INTO u(k, x) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {n}) "
               "SELECT i, 0 FROM n UNION ALL SELECT i, 1 FROM n")
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(capacity=200000, fpr=1e-5, counter_bits=4, content='u(k)')")
    db.execute("BEGIN")
    db.execute("CREATE TRIGGER b BEFORE UPDATE ON u WHEN new.k >= 1000000 AND old.k < 1000000 BEGIN "
               "UPDATE u SET k = -old.k WHERE rowid = old.rowid; END")
    db.execute("UPDATE u SET k = k + 1000000 WHERE x = 0 AND k > 300")
    db.execute("DROP TRIGGER b")
    db.execute("COMMIT")
    assert db.execute("SELECT count(*) FROM u WHERE NOT cf_table_contains('f', k)").fetchone() == (0,)
