# SPDX-License-Identifier: MIT
"""What a reviewer found, each a test: rows that were denied in silence, transactions lost, filters that could not be used."""
import itertools
import sqlite3

import pytest

import rows
import support
from promises import Follower, is_refusal
from support import ask


def table(db, options="capacity=100", columns="id INTEGER PRIMARY KEY, k"):
    db.execute(f"CREATE TABLE u({columns})")
    return Follower(db).create(options)


def sampled(db):
    """A lookup, so that the rows of the table have been asked for."""
    assert ask(db, "SELECT cf_table_contains('f', 'zzz')") in (0, 1)


def stored_is_found(db):
    try:
        missed = db.execute("SELECT k FROM u WHERE k IS NOT NULL AND NOT cf_table_contains('f', k)").fetchall()
    except sqlite3.OperationalError as error:
        assert is_refusal(error), repr(error)
        return
    assert missed == []


def attempt(db, sql):
    try:
        db.execute(sql).fetchall()
    except sqlite3.Error as error:
        return error


def test_a_harmful_trigger_is_seen_whatever_like_says(db):
    table(db)
    db.execute("PRAGMA case_sensitive_like = ON")
    db.execute("CREATE TRIGGER t AFTER INSERT ON u WHEN new.k = 'b' BEGIN SELECT RAISE(FAIL, 'no'); END")
    attempt(db, "SELECT cf_table_contains('f', 'zzz')")
    attempt(db, "INSERT INTO u(k) VALUES ('b')")
    stored_is_found(db)


@pytest.mark.parametrize("own", [False, True])
def test_on_conflict_fail_in_a_table_definition(db, own):
    table(db, columns="id INTEGER PRIMARY KEY, k UNIQUE ON CONFLICT FAIL" if own else "id INTEGER PRIMARY KEY, k")
    db.execute("CREATE TABLE v(x UNIQUE ON CONFLICT FAIL)")
    body = "UPDATE u SET k = 'a' WHERE id = new.id" if own else "INSERT INTO v VALUES (1)"
    db.execute(f"CREATE TRIGGER t AFTER INSERT ON u BEGIN {body}; END")
    for key in "abc":
        attempt(db, f"INSERT INTO u(k) VALUES ('{key}')")
        stored_is_found(db)


def test_the_first_statement_after_create_in_a_transaction(db):
    db.execute("CREATE TABLE v(x UNIQUE)")
    db.execute("INSERT INTO v VALUES (1)")
    db.execute("BEGIN")
    table(db)
    db.execute("CREATE TRIGGER t AFTER INSERT ON u BEGIN INSERT INTO v VALUES (1); END")
    stored_is_found(db)
    attempt(db, "INSERT OR FAIL INTO u(k) VALUES ('b')")
    db.execute("COMMIT")
    stored_is_found(db)


def test_a_filter_made_inside_a_running_statement(db):
    db.execute("CREATE TABLE u(id INTEGER PRIMARY KEY, k)")
    db.execute("WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 1000) INSERT INTO u(id) SELECT i FROM n")
    errors = []

    def fn(i):
        if i == 300:
            errors.append(attempt(db, "CREATE VIRTUAL TABLE f USING cuckoo_filter(capacity=2000, content='u(k)')"))
        return i

    db.create_function("fn", 1, fn)
    db.execute("UPDATE u SET k = fn(id)")
    assert errors and "statement that writes is running" in str(errors[0])


def test_a_user_trigger_that_only_speaks_of_ours(db):
    table(db)
    db.execute("CREATE TRIGGER t AFTER INSERT ON u BEGIN SELECT RAISE(FAIL, 'no cuckoo_change'); END")
    attempt(db, "SELECT cf_table_contains('f', 'zzz')")
    attempt(db, "INSERT INTO u(k) VALUES ('b')")
    stored_is_found(db)


@pytest.mark.parametrize("sql", [
    "CREATE TRIGGER t AFTER INSERT ON u BEGIN UPDATE u SET failed_logins = 0 WHERE id = new.id; END",
    "CREATE TEMP TABLE u(x); CREATE TEMP TRIGGER t AFTER INSERT ON u BEGIN SELECT RAISE(FAIL, 'no'); END"])
def test_no_false_alarm(db, sql):
    table(db, columns="id INTEGER PRIMARY KEY, k, failed_logins")
    for part in sql.split("; CREATE "):
        db.execute(part if part.startswith("CREATE") else "CREATE " + part)
    db.execute("INSERT INTO main.u(k) VALUES ('a')")
    assert ask(db, "SELECT cf_table_contains('f', 'a')") == 1


def test_direct_changes_of_a_page_after_a_transaction(db):
    table(db, "capacity=100, seed=0")
    db.execute("INSERT INTO u(k) VALUES ('a')")
    db.execute("INSERT INTO f(f) VALUES ('drain')")
    pages = db.execute("SELECT no, data FROM f_page ORDER BY no").fetchall()
    db.execute("BEGIN")
    db.execute("UPDATE u SET k = 'b'")
    db.execute("COMMIT")
    db.execute("UPDATE f_page SET data = ? WHERE no = ?", pages[-1][::-1])
    error = attempt(db, "SELECT cf_table_contains('f', 'b')")
    assert error is None or is_refusal(error)
    assert error or ask(db, "SELECT cf_table_contains('f', 'b')") == 0


def test_one_interrupt_does_not_make_a_filter_unusable(db):
    table(db, "capacity=2000")
    db.execute("WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 300) INSERT INTO u(k) SELECT i FROM n")
    for after in itertools.chain(range(1, 300), range(300, 4000, 37)):
        db.execute("CREATE TABLE other(x)")
        db.execute("DROP TABLE other")
        calls = itertools.count(1)
        db.set_progress_handler(lambda: next(calls) == after, 1)
        attempt(db, "SELECT cf_table_contains('f', 'zzz')")
        db.set_progress_handler(None, 0)
        assert ask(db, "SELECT cf_table_contains('f', 'zzz')") == 0
    db.execute("INSERT INTO u(k) VALUES ('a')")
    stored_is_found(db)


def test_doubt_does_not_block_the_rest_of_the_transaction(db):
    follower = table(db)
    db.execute("INSERT INTO u(k) VALUES ('a'), ('b')")
    db.execute("CREATE TRIGGER t BEFORE UPDATE ON u BEGIN UPDATE u SET k = 'z' || old.k WHERE id = old.id; END")
    db.execute("BEGIN")
    db.execute("UPDATE u SET k = 'c' WHERE id = 1")
    db.execute("UPDATE u SET k = 'd' WHERE id = 2")
    db.execute("COMMIT")
    follower.exact()


def test_old_values_that_lie_in_a_full_filter_do_not_cost_the_transaction(db):
    table(db, "capacity=20, growth=off, seed=0")
    for i in range(1000):
        if attempt(db, f"INSERT INTO u(k) VALUES ({i})"):
            break
    db.execute("CREATE TABLE o(x)")
    db.execute("CREATE TRIGGER t BEFORE UPDATE ON u BEGIN UPDATE u SET k = 'z' || old.k WHERE id = old.id; END")
    db.execute("BEGIN")
    db.execute("INSERT INTO o VALUES (1)")
    attempt(db, "UPDATE u SET k = 'c' WHERE id = 1")
    db.execute("COMMIT")
    assert ask(db, "SELECT count(*) FROM o") == 1
    stored_is_found(db)


def test_a_store_of_another_table_of_that_name(tmp_path):
    for name, options in (("one", "capacity=100, content='v(k)'"), ("two", "capacity=100")):
        db = support.connect(str(tmp_path / name))
        db.execute("CREATE TABLE v(k)")
        db.execute(f"CREATE VIRTUAL TABLE f USING cuckoo_filter({options})")
        db.close()
    db = support.connect()
    db.execute("ATTACH ? AS x", (str(tmp_path / "one"),))
    kept = db.execute("SELECT cf_table_contains('x.f', 1)")
    kept.fetchall()
    db.execute("DETACH x")
    db.execute("ATTACH ? AS x", (str(tmp_path / "two"),))
    db.execute("INSERT INTO x.f(key) VALUES ('a')")
    assert ask(db, "SELECT cf_table_contains('x.f', 'a')") == 1


def test_hostile_numbers_in_the_list(db):
    table(db)
    db.execute("INSERT INTO u(k) VALUES ('a')")
    for adds in (-2**63, 2**63 - 1, 2**62):
        db.execute("INSERT OR REPLACE INTO f_wait VALUES (2, 0, ?)", (adds,))
        header = ask(db, "SELECT data FROM f_page WHERE no = 0")
        db.execute("UPDATE f_page SET data = ? WHERE no = 0", (rows.patched_header(header, adds=1),))
        attempt(db, "UPDATE u SET k = 'b' || k")
        attempt(db, "SELECT count(cf_export('f'))")
    db.execute("DROP TABLE f")


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


def test_few_deletes_after_many(db):
    """By instructions of SQLite there is no telling; but the memory of many must be given back."""
    follower = table(db, "capacity=50000, fingerprint_bits=32, counter_bits=8")
    db.execute("WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 40000) INSERT INTO u(k) SELECT i FROM n")
    db.execute("DELETE FROM u WHERE id <= 39000")
    db.execute("BEGIN")
    for i in range(39001, 40001):
        db.execute("DELETE FROM u WHERE id = ?", (i,))
    db.execute("COMMIT")
    follower.exact()


@pytest.mark.parametrize("declared", ["INTEGER", "REAL", "NUMERIC", "TEXT", "BLOB", "", "VARCHAR(9)", "bigint unsigned"])
@pytest.mark.parametrize("renamed", [False, True])
def test_in_compares_as_the_column_does(declared, renamed, tmp_path):
    path = str(tmp_path / "x.db")
    db = support.connect(path)
    table(db, columns=f"id INTEGER PRIMARY KEY, k {declared}")
    db.execute("INSERT INTO u(k) VALUES (7), ('8'), ('x'), (1.5), (x'61'), (NULL)")
    if renamed:
        db.execute("ALTER TABLE u RENAME TO w")
        db.execute("ALTER TABLE w RENAME COLUMN k TO kk")
        db.close()
        db = support.connect(path)
    column = "SELECT kk FROM w" if renamed else "SELECT k FROM u"
    for asked in (7, "7", " 7 ", 8, "8", "8.0", "x", "X", 1.5, "1.5", b"a", "a", None, 9):
        here, there = (db.execute(f"SELECT ? IN {what}", (asked,)).fetchone()[0] == 1 for what in ("f", f"({column})"))
        assert here == there, asked
