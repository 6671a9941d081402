# SPDX-License-Identifier: MIT
"""Old values that are no longer true: what SQLite tells triggers of a row that has changed while it was being changed.

BEFORE triggers, triggers of rows that REPLACE deletes, foreign keys, and SQL run by functions change rows between the time at
which a statement reads them and the time at which it writes them. No row may be denied, whatever they do; and what only comes
after the change must not even be a doubt.
"""
import os
import sqlite3

import pytest

import support
from promises import EXACT, Follower, attempt, bare, create, drain, is_refusal, sees, settle

ROWID = "CREATE TABLE u(id INTEGER PRIMARY KEY, k, n DEFAULT 0)"
KINDS = {"rowid": ROWID, "unique": ROWID.replace("k,", "k UNIQUE,"), "without rowid": ROWID + " WITHOUT ROWID"}
NUMBERED = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {}) INSERT INTO u(id, k) SELECT i, 'k' || i FROM n"
LIVES = int(os.environ.get("CUCKOO_LIVES") or 1)  # so many times as many


# What a trigger does; {r} is new or old, {a} and {b} are rows.
BODIES = [
    "UPDATE u SET k = {r}.k || '!' WHERE id = {r}.id AND length(k) < 9",
    "UPDATE u SET k = k || '+', n = n + 1 WHERE id = {a}",
    "UPDATE u SET k = {r}.k || '<', n = n + 1 WHERE id = {r}.id AND n < 3; UPDATE u SET k = k || '>', n = n + 1 WHERE id = {a} AND n < 3",
    "UPDATE u SET k = k || '~' WHERE id IN ({a}, {b}, {r}.id) AND length(k) < 9",
    "UPDATE u SET k = (SELECT k FROM u WHERE id = {a}) WHERE id = {r}.id",
    "DELETE FROM u WHERE id = {r}.id",
    "DELETE FROM u WHERE id = {a}",
    "DELETE FROM u WHERE id = {r}.id; INSERT INTO u(id, k) VALUES ({r}.id, {r}.k)",
    "DELETE FROM u WHERE id = {r}.id; INSERT INTO u(id, k) VALUES ({r}.id, 'again' || {r}.id); DELETE FROM u WHERE id = {a}",
    "INSERT OR REPLACE INTO u(id, k) VALUES ({a}, {r}.k || '^')",
    "INSERT OR IGNORE INTO u(id, k) VALUES ({a}, 'c{a}'), ({r}.id, 'r')",
    "UPDATE u SET id = {b} WHERE id = {a}",
]


STATEMENTS = [
    "UPDATE u SET k = k WHERE id IN ({a}, {b})",
    "UPDATE u SET k = k || '.' WHERE id IN ({a}, {b}, {c}) AND length(k) < 9",
    "UPDATE u SET k = 'k' || id WHERE n < 2", "UPDATE OR REPLACE u SET id = {b} WHERE id = {a}",
    "UPDATE u SET n = n + 1",
    "UPDATE OR IGNORE u SET k = (SELECT k FROM u WHERE id = {c}) WHERE id < {a}",
    "DELETE FROM u WHERE id IN ({a}, {c})",
    "INSERT OR REPLACE INTO u(id, k) VALUES ({a}, 'x'), ({b}, 'y'), ({c}, 'z')",
    "INSERT INTO u(id, k) VALUES ({a}, 'bad'), ({b}, 'bad2')",
    "INSERT INTO u(id, k) VALUES ({a}, 'up') ON CONFLICT(id) DO UPDATE SET k = k || '*' WHERE length(k) < 9",
    "REPLACE INTO u(id, k) SELECT id, k || '_' FROM u WHERE id > {b} AND length(k) < 9",
    "UPDATE u SET k = 'o' || id WHERE id = {a}; UPDATE u SET k = k WHERE id = {b}",
]


def make_trigger(rng, name, timings, temp=""):
    event = rng.choice(["INSERT", "UPDATE", "UPDATE", "DELETE"])
    row = "old" if event == "DELETE" else "new"
    body = rng.choice(BODIES).format(r=row, a=rng.randrange(1, 13), b=rng.randrange(1, 13))
    return f"CREATE {temp} TRIGGER {name} {rng.choice(timings)} {event} ON main.u BEGIN {body}; END"


def world(rng, table, timings, before_filter):
    db = support.connect()
    db.execute("PRAGMA recursive_triggers = on")
    db.setlimit(sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 6)
    db.execute(KINDS[table])
    db.executemany("INSERT INTO u(id, k) VALUES (?, ?)", [(i, f"k{i}") for i in range(1, 11)])
    made = [make_trigger(rng, "t1", timings), make_trigger(rng, "t2", timings, rng.choice(["", "", "TEMP"]))]
    for sql in made if before_filter else []:
        db.execute(sql)
    follower = Follower(db).create(EXACT)
    for sql in [] if before_filter else made:
        db.execute(sql)
    if not before_filter:
        follower.rebuild()  # the triggers of the filter have to be the newest
    return db, follower, made


def change(db, rng, follower, asks, done):
    sql = rng.choice(STATEMENTS).format(**{name: rng.randrange(1, 13) for name in "abc"})
    for one in sql.split("; "):
        done.append(one)
        try:
            db.execute(one)
        except sqlite3.Error as error:
            assert (error.sqlite_errorcode & 0xFF) != sqlite3.SQLITE_CORRUPT, error
            done.append(f"-- {error}")
    asks.append(follower.answers())


def exact_or_refused(follower, stale):
    """A TEMP trigger may be refused."""
    try:
        follower.items()
    except sqlite3.OperationalError as error:
        assert is_refusal(error)
    else:
        follower.exact(stale)


def live(rng, table, timings, before_filter, rounds):
    for _ in range(rounds):
        db, follower, done = world(rng, table, timings, before_filter)
        asks = []
        try:
            for _ in range(8):
                many = rng.choice([1, 1, 4])
                if many > 1:
                    db.execute("BEGIN")
                    done.append("BEGIN")
                for _ in range(many):
                    change(db, rng, follower, asks, done)
                if db.in_transaction:
                    db.execute(rng.choice(["COMMIT", "COMMIT", "ROLLBACK"]))
                    done.append("the end")
                exact_or_refused(follower, stale=table == "without rowid")
        except BaseException:
            print("\n".join(done))
            raise
        db.close()
        yield asks


@pytest.mark.parametrize("before_filter", [True, False])
@pytest.mark.parametrize("table", KINDS)
def test_triggers_before_and_after(rng, table, before_filter):
    asks = sum(live(rng, table, ["BEFORE", "BEFORE", "AFTER"], before_filter, 60 * LIVES), [])
    assert sum(asks) > len(asks) / 4 or table == "without rowid", "a filter that always refuses proves nothing"


@pytest.mark.parametrize("before_filter", [True, False])
@pytest.mark.parametrize("table", ["rowid", "unique"])
def test_triggers_after(rng, table, before_filter):
    """The old values are true, but for what REPLACE sets off."""
    asks = sum(live(rng, table, ["AFTER"], before_filter, 40 * LIVES), [])
    assert sum(asks) > len(asks) / 4


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


def test_a_big_update_is_no_doubt(db):
    """Where nothing can make old values untrue."""
    db.execute("CREATE TABLE p(id INTEGER PRIMARY KEY)")
    db.execute("CREATE TABLE log(x)")
    db.execute("INSERT INTO p VALUES (1)")
    db.execute("CREATE TABLE u(id INTEGER PRIMARY KEY, k, n REFERENCES p ON DELETE SET NULL)")
    db.execute("CREATE TRIGGER b BEFORE UPDATE ON u BEGIN SELECT RAISE(ABORT, 'no') WHERE new.k IS NULL; END")
    db.execute("CREATE TRIGGER a AFTER UPDATE ON u BEGIN UPDATE log SET x = new.k; END")
    db.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) INSERT INTO u SELECT i, 'k' || i, 1 FROM n")
    follower = Follower(db).create("capacity=20000, fingerprint_bits=32")
    db.execute("BEGIN")
    for _ in range(2):
        db.execute("UPDATE u SET k = k || 'x'")
        assert follower.answers()
    db.execute("COMMIT")
    follower.exact()


@pytest.mark.parametrize("when", ["alone", "in a transaction", "in that of its creation"])
@pytest.mark.parametrize("undone", ["nothing", "a statement of others", "one of the same row"])
def test_sql_that_a_function_runs_in_the_middle(when, undone):
    """A statement within the statement, perhaps beside one that is undone: the old value is not believed."""
    db = support.connect()
    left = []

    def run(value):
        if left:
            left.pop()
            db.execute("UPDATE u SET k = 'mid' WHERE id = 500")
            if undone != "nothing":
                change_of_row = "UPDATE u SET k = 'undone', id = CASE id WHEN 500 THEN 500 ELSE 1 END WHERE id IN (500, 501)"
                with pytest.raises(sqlite3.IntegrityError):
                    db.execute("INSERT INTO u(id, k) VALUES (90000, 'q'), (1, 'q')" if undone == "a statement of others" else change_of_row)
        return value

    db.create_function("run", 1, run)
    if when == "in that of its creation":
        db.execute("BEGIN")
    db.execute(ROWID)
    db.execute(NUMBERED.format(1000))
    follower = Follower(db).create(EXACT)
    if when == "in a transaction":
        db.execute("BEGIN")
        db.execute("INSERT INTO u(k) VALUES ('first')")
    for sql in ("UPDATE u SET k = run('z') WHERE id = 500", "UPDATE u SET k = run(k) WHERE id IN (499, 500)"):
        left.append(1)
        db.execute(sql)
        follower.answers()
    if db.in_transaction:
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


@pytest.mark.parametrize("table", ["key", "rowid"])
def test_a_to_b_nested_then_told_a_to_b_by_the_outer_one(tmp_path, table):
    """The sum takes `a` away twice: and another row has `a`."""
    f, writer = create(support.connect(tmp_path / "a.db"), table), bare(tmp_path / "a.db")
    f.db.execute("INSERT INTO u(id, k) VALUES (6, 'A1')")
    drain(f.db)
    f.db.execute("CREATE TRIGGER t BEFORE UPDATE ON u WHEN old.k = 'A1' AND new.k = 'B' BEGIN "
                 "UPDATE u SET k = 'B' WHERE id = old.id AND k <> 'B'; END")
    writer.execute("UPDATE u SET k = 'B' WHERE id = 1")
    assert f.answers()
    settle(f, stale=table == "rowid")
    assert sees(f.db, "A1") and sees(f.db, "B")


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


@pytest.mark.parametrize("early", ["INSERT INTO u(id) SELECT new.id + 60 WHERE new.id < 10",
                                   "DELETE FROM u WHERE id = new.id + 60",
                                   "SELECT run('UPDATE u SET x = x WHERE id < 10')",
                                   "SELECT run('DELETE FROM q WHERE id = 77')"])
@pytest.mark.parametrize("how", ["SELECT run('REPLACE INTO p VALUES (0, 4)')",
                                 "SELECT run('UPDATE q SET id = id + 20 WHERE id = 0')",
                                 "DELETE FROM p WHERE id = 0"])
def test_nobody_tells_before_the_filter_by_way_of_another_table(how, early):
    """The newer trigger changes rows by the action of a foreign key, or by a trigger of another table."""
    db = support.connect()
    db.create_function("run", 1, lambda sql: db.execute(sql) and None)
    db.execute("PRAGMA foreign_keys = on")
    db.execute("PRAGMA recursive_triggers = on")
    db.executescript("CREATE TABLE p(id INTEGER PRIMARY KEY, n UNIQUE); INSERT INTO p VALUES (0, 0), (4, 4), (9, 9); CREATE TABLE q(id);"
                     "INSERT INTO q VALUES (0); CREATE TABLE u(id INTEGER PRIMARY KEY, x REFERENCES p(id) ON DELETE SET NULL);"
                     "CREATE TRIGGER qt AFTER UPDATE ON q BEGIN UPDATE u SET x = NULL WHERE x = old.id; END; INSERT INTO u VALUES (1, 4), (2, 0), (3, 9)")
    follower = Follower(db, column="x").create(EXACT)
    db.execute(f"CREATE TRIGGER newer AFTER INSERT ON u WHEN new.id = 63 BEGIN {how}; END")
    db.execute(f"CREATE TRIGGER early BEFORE INSERT ON u BEGIN {early}; END")
    db.execute("INSERT OR IGNORE INTO u SELECT 50 + id, x FROM u UNION ALL VALUES (63, 0)")
    follower.settled()
    db.close()


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
