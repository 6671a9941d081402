# SPDX-License-Identifier: MIT
"""No stored row is missed in silence: full filters under conflict clauses, several filters on a table, what changes a filter.

The user's triggers are in test_missed_triggers.py, kinds of tables in test_missed_tables.py, migrations in test_migrations.py,
the faults of a first design of the log in test_pending_log.py.
"""
import itertools
import sqlite3

import pytest

from address import AIMED, AIMED_AT
from promises import CONFLICTS, EXACT, FRAMES, NUMBERS, Follower, attempt, exercise, frame, people
from support import ask


# ---- a full filter: nobody who writes to the table is refused, nor can be ----

# Each of them puts 1000 keys into a column whose filter has room for 100.
FILLING = {
    "insert": NUMBERS + "INSERT {c} INTO u(id, k) SELECT i, i FROM n",
    "update": "UPDATE {c} u SET k = id WHERE k IS NULL",
    "upsert": NUMBERS + "INSERT {c} INTO u(id, k) SELECT i, i FROM n WHERE true ON CONFLICT(id) DO UPDATE SET k = excluded.k",
    "replace": NUMBERS + "REPLACE INTO u(id, k) SELECT i, i FROM n",
}


@pytest.mark.parametrize("inside", FRAMES)
@pytest.mark.parametrize("verb", FILLING)
@pytest.mark.parametrize("conflict", CONFLICTS)
@pytest.mark.parametrize("growth", ["off", "on"])
def test_a_filter_takes_every_key_whatever_the_conflict_clause(db, growth, conflict, verb, inside):
    db.execute("CREATE TABLE u(id INTEGER PRIMARY KEY, k)")
    db.execute("CREATE TABLE other(x)")
    if verb != "insert":
        db.execute(NUMBERS + "INSERT INTO u(id) SELECT i FROM n")
    follower = Follower(db).create(f"capacity=100, growth={growth}")
    with frame(db, inside):
        error = attempt(db, FILLING[verb].format(c=conflict), follower)
        assert db.in_transaction == (inside != "autocommit")
    assert error is None and follower.rows() == 1000
    follower.exact()
    follower.rebuild()
    follower.exact()


@pytest.mark.parametrize("conflict", CONFLICTS)
def test_rows_one_by_one_beyond_full(db, conflict):
    """Keys that have no place in a filter that does not grow wait in a table of their own."""
    db.execute("CREATE TABLE u(k INTEGER PRIMARY KEY)")
    follower = Follower(db).create("capacity=100, growth=off")
    assert not any(attempt(db, f"INSERT {conflict} INTO u VALUES ({key})") for key in range(200))
    db.execute("INSERT INTO f(f) VALUES ('drain')")
    assert follower.rows() == 200 and ask(db, "SELECT sum(adds) FROM f_wait") > 0
    follower.exact()
    db.execute("DELETE FROM u WHERE k % 3 > 0")
    db.execute("INSERT INTO f(f) VALUES ('optimize')")
    assert ask(db, "SELECT count(*) FROM f_wait") == 0
    follower.exact()


def test_a_new_filter_must_have_room_for_the_table(db):
    db.execute("CREATE TABLE u(k INTEGER PRIMARY KEY)")
    db.execute(NUMBERS + "INSERT INTO u SELECT i FROM n")
    error = attempt(db, "CREATE VIRTUAL TABLE f USING cuckoo_filter(capacity=100, growth=off, content='u(k)')")
    assert "full" in str(error)
    db.execute("INSERT INTO u VALUES (5000)")
    Follower(db).create("capacity=100").exact()


@pytest.mark.parametrize("conflict", CONFLICTS)
def test_a_full_filter_follows_moves(db, conflict):
    """An update needs no room, and neither does an insert after a delete."""
    db.execute("CREATE TABLE u(k INTEGER PRIMARY KEY)")
    db.execute("CREATE TABLE other(x)")
    follower = Follower(db).create("capacity=100, growth=off")
    db.execute(NUMBERS + "INSERT INTO u SELECT i FROM n LIMIT 100")
    for inside, key in itertools.product(FRAMES, range(20)):
        with frame(db, inside):
            at = ask(db, "SELECT min(k) FROM u")
            db.execute(f"UPDATE {conflict} u SET k = k + 1000 WHERE k = ?", (at,))
            db.execute("DELETE FROM u WHERE k = ?", (at + 1,))
            db.execute(f"INSERT {conflict} INTO u VALUES (?)", (at + 1001,))
            assert follower.answers()
    assert follower.rows() == 100
    follower.exact()


@pytest.mark.parametrize("conflict", CONFLICTS)
def test_keys_that_are_aimed_at_one_pair(db, conflict):
    """Splitting buckets makes little room for them. They are kept all the same."""
    db.execute("CREATE TABLE u(k PRIMARY KEY)")
    follower = Follower(db).create(AIMED_AT)
    for key in AIMED:
        db.execute(f"INSERT {conflict} INTO u VALUES (?)", (key,))
    assert follower.rows() == len(AIMED)
    follower.exact()


# ---- several filters ----

@pytest.mark.parametrize("conflict", CONFLICTS)
@pytest.mark.parametrize("inside", FRAMES)
def test_several_filters_on_one_table(db, inside, conflict):
    """Of which one is full: the row is refused, and no filter has it."""
    db.execute("PRAGMA recursive_triggers = on")
    first = people(db)
    all_of_them = [first, Follower(db, name="g").create("capacity=8, growth=off, fingerprint_bits=32, counter_bits=8"),
                   Follower(db, name="h").create(EXACT), Follower(db, column="id", name="i").create(EXACT),
                   Follower(db, column="x", name="j").create(EXACT)]
    with frame(db, inside):
        exercise(db, conflict, *all_of_them)
        attempt(db, NUMBERS + f"INSERT {conflict} INTO u(k) SELECT 'n' || i FROM n", *all_of_them)
        assert all(follower.answers() for follower in all_of_them)
    for follower in all_of_them:
        follower.exact()


def test_a_filter_that_is_dropped_leaves_the_others(db):
    first = people(db)
    second = Follower(db, name="g").create()
    db.execute("DROP TABLE f")
    exercise(db, "", second)
    second.exact()
    first.create()
    exercise(db, "OR IGNORE", first, second)
    first.exact()
    second.exact()


def test_a_table_with_several_filters_rebuilt_in_any_order(db):
    """Each wants its triggers to be the newest; those of the other filters do no harm."""
    first, second = people(db), Follower(db, name="g").create()
    for follower in (first, second, first, first, second):
        follower.rebuild()
        exercise(db, "OR FAIL", first, second)
        first.exact()
        second.exact()


# ---- one key and several values: no content= here ----

def test_each_value_of_a_key_can_be_asked_for_and_deleted(db):
    db.execute("CREATE VIRTUAL TABLE s USING cuckoo_filter(capacity=100, value_bits=8, fingerprint_bits=32)")
    db.execute("INSERT INTO s(key, value) VALUES ('a', 1), ('a', 2), ('a', 3)")

    def values():
        return [n for n in range(6) if ask(db, "SELECT EXISTS (SELECT 1 FROM s WHERE key = 'a' AND value = ?)", n)]

    assert values() == [1, 2, 3]
    db.execute("DELETE FROM s WHERE key = 'a' AND value = 2")
    assert values() == [1, 3]
    db.execute("UPDATE s SET value = 5 WHERE key = 'a' AND value = 3")
    assert values() == [1, 5] and ask(db, "SELECT count(*) FROM s") == 2


def test_an_update_of_the_value_takes_the_old_one_away(db):
    db.execute("CREATE VIRTUAL TABLE s USING cuckoo_filter(capacity=100, value_bits=8, fingerprint_bits=32)")
    db.executemany("INSERT INTO s(key, value) VALUES (?, ?)", [(f"a{i}", i % 256) for i in range(1000)])
    for i in range(1000):
        db.execute("UPDATE s SET value = ? WHERE key = ?", ((i + 77) % 256, f"a{i}"))
    wrong = [i for i in range(1000)
             if ask(db, "SELECT value FROM s WHERE key = ?", f"a{i}") != (i + 77) % 256]
    assert wrong == [] and ask(db, "SELECT count(*) FROM s") == 1000


@pytest.mark.parametrize("inside", [False, True])
def test_an_update_to_the_same_key_does_not_make_it_sticky(db, inside):
    db.execute("CREATE VIRTUAL TABLE s USING cuckoo_filter(capacity=100, fingerprint_bits=32)")
    cap = ask(db, "SELECT json_extract(cf_table_info('s'), '$.cap')")
    db.executemany("INSERT INTO s(key) VALUES (?)", [("a",)] * (cap - 1))
    if inside:
        db.execute("BEGIN")
    for _ in range(10):
        db.execute("UPDATE s SET key = 'a' WHERE key = 'a'")
    if inside:
        db.execute("COMMIT")
    assert ask(db, "SELECT json_extract(cf_table_info('s', 'all'), '$.sticky')") == 0
    for _ in range(cap - 1):
        db.execute("DELETE FROM s WHERE key = 'a'")
    assert ask(db, "SELECT count(*) FROM s") == 0


# ---- what SQL may do to a filter that follows a table ----

@pytest.mark.parametrize("sql", [
    "INSERT INTO f(key) VALUES ('x')", "INSERT OR IGNORE INTO f(key) VALUES ('x')", "REPLACE INTO f(key) VALUES ('x')",
    "DELETE FROM f WHERE key = 'A1'", "UPDATE f SET key = 'x' WHERE key = 'A1'", "INSERT INTO f(f) VALUES ('clear')",
    "INSERT INTO f(f, key) SELECT 'import', cf_new(10)"])
def test_only_its_triggers_change_it(db, sql):
    follower = people(db)
    with pytest.raises(sqlite3.OperationalError):
        db.execute(sql)
    db.execute("CREATE TRIGGER t AFTER INSERT ON other BEGIN " + sql + "; END")
    attempt(db, "INSERT OR IGNORE INTO other VALUES (1)")
    follower.exact()


@pytest.mark.parametrize("sql", ["INSERT INTO f(f) VALUES ('rebuild')", "INSERT INTO f(f) VALUES ('optimize')",
                                 "INSERT INTO f(f) VALUES ('check')", "SELECT cf_table_rebuild('f')"])
@pytest.mark.parametrize("inside", FRAMES)
def test_upkeep_keeps_every_row(db, inside, sql):
    follower = people(db)
    with frame(db, inside):
        db.execute("UPDATE u SET k = k || 'x'")
        db.execute("DELETE FROM u WHERE id = 1")
        db.execute(sql)
        assert follower.answers()
        db.execute("INSERT INTO u(k) VALUES ('later')")
        assert follower.answers()
    follower.exact()


@pytest.mark.parametrize("rest", ["rowid", "rowid INTEGER", "rowid INTEGER, PRIMARY KEY (rowid, k)", "rowid, _rowid_",
                                  "rowid INTEGER PRIMARY KEY", "rowid INTEGER PRIMARY KEY DESC"])
def test_a_column_named_rowid(db, rest):
    """It is not the rowid, unless it is an INTEGER PRIMARY KEY; the rows of the log are told apart by the rowid."""
    db.execute(f"CREATE TABLE u(k, {rest})")
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(capacity=100, content='u(k)')")
    number = itertools.repeat(None) if "DESC" in rest else iter(range(1000)) if "KEY" in rest else itertools.repeat(1)
    db.execute("BEGIN")
    for i in range(50):
        db.execute("INSERT INTO u(k, rowid) VALUES (?, ?)", (f"old{i}", next(number)))
        db.execute("INSERT INTO u(k, rowid) VALUES (?, ?)", (f"gone{i}", next(number)))
        db.execute("UPDATE u SET k = ? WHERE k = ?", (f"new{i}", f"old{i}"))
        db.execute("DELETE FROM u WHERE k = ?", (f"gone{i - 1}",))
    db.execute("COMMIT")
    assert db.execute("SELECT k FROM u WHERE NOT cf_table_contains('f', k)").fetchall() == []
    assert ask(db, "SELECT cf_table_check('f')") == "ok"


def test_rowid_is_no_column(db):
    people(db)
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        db.execute("SELECT rowid FROM f WHERE key = 'A1'")
