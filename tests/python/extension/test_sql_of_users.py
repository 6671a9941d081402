# SPDX-License-Identifier: MIT
"""What triggers, definitions and functions of users do to a table that a filter follows: a stored row is found, or asking is an error
that names the remedy; no transaction is lost; and what does no harm raises no alarm."""
import itertools
import sqlite3

import pytest

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
    table(db, columns="id INTEGER PRIMARY KEY, k UNIQUE, failed_logins")
    for part in sql:
        db.execute(part)
    db.execute("INSERT INTO main.u(k) VALUES ('a')")
    assert ask(db, "SELECT cf_table_contains('f', 'a')") == 1


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
