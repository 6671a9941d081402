# SPDX-License-Identifier: MIT
"""What triggers, definitions and functions of users do to a table that a filter follows: a stored row is found, or asking is an error
that names the remedy; no transaction is lost; and what does no harm raises no alarm."""
import itertools
import sqlite3

import pytest

import support
from promises import Follower
from support import ask

NUMBERS = "WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < {}) "


def table(db, options="capacity=100", columns="id INTEGER PRIMARY KEY, k"):
    db.execute(f"CREATE TABLE u({columns})")
    return Follower(db).create(options)


def attempt(db, sql):
    try:
        db.execute(sql).fetchall()
    except sqlite3.Error as error:
        return error


@pytest.mark.parametrize("columns, before, trigger", [
    ("id INTEGER PRIMARY KEY, k", "PRAGMA case_sensitive_like = ON",
     "AFTER INSERT ON u WHEN new.k = 'b' BEGIN SELECT RAISE(FAIL, 'no')"),
    ("id INTEGER PRIMARY KEY, k", "SELECT 1", "AFTER INSERT ON u BEGIN SELECT RAISE(FAIL, 'no cuckoo_change')"),
    ("id INTEGER PRIMARY KEY, k UNIQUE ON CONFLICT FAIL", "SELECT 1",
     "AFTER INSERT ON u BEGIN UPDATE u SET k = 'a' WHERE id = new.id"),
    ("id INTEGER PRIMARY KEY, k", "CREATE TABLE v(x UNIQUE ON CONFLICT FAIL)",
     "AFTER INSERT ON u BEGIN INSERT INTO v VALUES (1)")])
@pytest.mark.parametrize("asked_before", [False, True])
def test_a_trigger_that_keeps_a_row_unseen_is_noticed(db, columns, before, trigger, asked_before):
    follower = table(db, columns=columns)
    db.execute(before)
    db.execute(f"CREATE TRIGGER t {trigger}; END")
    for key in "abc":
        if asked_before:
            follower.answers()
        attempt(db, f"INSERT INTO u(k) VALUES ('{key}')")
        follower.answers()


def test_the_first_statement_after_create_in_a_transaction(db):
    db.execute("CREATE TABLE v(x UNIQUE)")
    db.execute("INSERT INTO v VALUES (1)")
    db.execute("BEGIN")
    follower = table(db)
    db.execute("CREATE TRIGGER t AFTER INSERT ON u BEGIN INSERT INTO v VALUES (1); END")
    follower.answers()
    attempt(db, "INSERT OR FAIL INTO u(k) VALUES ('b')")
    db.execute("COMMIT")
    follower.answers()


def test_a_filter_made_inside_a_running_statement(db):
    db.execute("CREATE TABLE u(id INTEGER PRIMARY KEY, k)")
    db.execute(NUMBERS.format(400) + "INSERT INTO u(id) SELECT i FROM n")
    errors = []

    def fn(i):
        if i == 300:
            errors.append(attempt(db, "CREATE VIRTUAL TABLE f USING cuckoo_filter(capacity=2000, content='u(k)')"))
        return i

    db.create_function("fn", 1, fn)
    db.execute("UPDATE u SET k = fn(id)")
    assert errors and "statement that writes is running" in str(errors[0])


@pytest.mark.parametrize("sql", [
    ["CREATE TRIGGER t AFTER INSERT ON u BEGIN UPDATE u SET failed_logins = 0 WHERE id = new.id; END"],
    ["CREATE TEMP TABLE u(x)", "CREATE TEMP TRIGGER t AFTER INSERT ON u BEGIN SELECT RAISE(FAIL, 'no'); END"]])
def test_no_false_alarm(db, sql):
    table(db, columns="id INTEGER PRIMARY KEY, k, failed_logins")
    for part in sql:
        db.execute(part)
    db.execute("INSERT INTO main.u(k) VALUES ('a')")
    assert ask(db, "SELECT cf_table_contains('f', 'a')") == 1


AGAIN = "CREATE TRIGGER t BEFORE UPDATE ON u BEGIN UPDATE u SET k = 'z' || old.k WHERE id = old.id; END"


def test_doubt_does_not_block_the_rest_of_the_transaction(db):
    follower = table(db)
    db.execute("INSERT INTO u(k) VALUES ('a'), ('b')")
    db.execute(AGAIN)
    db.execute("BEGIN")
    db.execute("UPDATE u SET k = 'c' WHERE id = 1")
    db.execute("UPDATE u SET k = 'd' WHERE id = 2")
    db.execute("COMMIT")
    follower.exact()


def test_old_values_that_lie_in_a_full_filter_do_not_cost_the_transaction(db):
    follower = table(db, "capacity=20, growth=off, seed=0")
    for i in range(1000):
        if attempt(db, f"INSERT INTO u(k) VALUES ({i})"):
            break
    db.execute("CREATE TABLE o(x)")
    db.execute(AGAIN)
    db.execute("BEGIN")
    db.execute("INSERT INTO o VALUES (1)")
    attempt(db, "UPDATE u SET k = 'c' WHERE id = 1")
    db.execute("COMMIT")
    assert ask(db, "SELECT count(*) FROM o") == 1
    follower.answers()


def test_a_generated_column_that_asks_the_filter(db):
    depth, deepest = [], []

    def ask_filter(x):
        depth.append(x)
        deepest.append(len(depth))
        if len(depth) < 50:
            attempt(db, "SELECT cf_table_contains('f', 1)")
        depth.pop()
        return x

    db.create_function("ask_filter", 1, ask_filter, deterministic=True)
    db.execute("CREATE TABLE u(id INTEGER PRIMARY KEY, k AS (ask_filter(id)))")
    db.execute("INSERT INTO u(id) VALUES (1)")
    attempt(db, "CREATE VIRTUAL TABLE f USING cuckoo_filter(capacity=100, content='u(k)')")
    attempt(db, "SELECT cf_table_contains('f', 1)")
    assert max(deepest) < 10


def test_one_interrupt_does_not_make_a_filter_unusable(db):
    follower = table(db, "capacity=2000")
    db.execute(NUMBERS.format(300) + "INSERT INTO u(k) SELECT i FROM n")
    for after in itertools.chain(range(1, 60), range(60, 4000, 97)):
        db.execute("CREATE TABLE other(x)")
        db.execute("DROP TABLE other")
        calls = itertools.count(1)
        db.set_progress_handler(lambda: next(calls) == after, 1)
        attempt(db, "SELECT cf_table_contains('f', 'zzz')")
        db.set_progress_handler(None, 0)
        assert ask(db, "SELECT cf_table_contains('f', 'zzz')") == 0
    db.execute("INSERT INTO u(k) VALUES ('a')")
    follower.exact()


@pytest.mark.parametrize("declared", ["INTEGER", "REAL", "NUMERIC", "TEXT", "BLOB", "", "VARCHAR(9)",
                                      "bigint unsigned"])
def test_in_compares_as_the_column_does(declared, tmp_path):
    db = support.connect(str(tmp_path / "x.db"))
    table(db, columns=f"id INTEGER PRIMARY KEY, k {declared}")
    db.execute("INSERT INTO u(k) VALUES (7), ('8'), ('x'), (1.5), (x'61'), (NULL)")
    for column in ("SELECT k FROM u", "SELECT kk FROM w"):
        if "kk" in column:
            db.execute("ALTER TABLE u RENAME TO w")
            db.execute("ALTER TABLE w RENAME COLUMN k TO kk")
            db.close()
            db = support.connect(str(tmp_path / "x.db"))
        for asked in (7, "7", " 7 ", 8, "8", "8.0", "x", "X", 1.5, "1.5", b"a", "a", None, 9):
            here, there = (db.execute(f"SELECT ? IN {what}", (asked,)).fetchone()[0] == 1
                           for what in ("f", f"({column})"))
            assert here == there, asked
    db.close()
