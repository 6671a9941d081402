# SPDX-License-Identifier: MIT
"""Savepoints of statements, and what is written when. The pages of a filter that follows a table are written at the end of a
transaction; those of another filter also before a savepoint opens."""
import contextlib
import json
import sqlite3

import pytest

import support
from promises import EXACT, Follower
from support import ask

MANY = 40000


@pytest.fixture
def db():
    connection = support.connect()
    connection.execute("PRAGMA recursive_triggers = ON")
    connection.execute("CREATE TABLE u(id INTEGER PRIMARY KEY, k UNIQUE, x)")
    connection.execute("CREATE TABLE other(x)")
    connection.create_function("run", 1, lambda sql: run(connection, sql))
    yield connection
    connection.close()


@pytest.fixture
def follower(db):
    return Follower(db).create()


def run(db, sql):
    try:
        db.execute(sql).fetchall()
    except sqlite3.Error:
        pass


def insert(db, *keys):
    db.executemany("INSERT INTO u(k) VALUES (?)", [(key,) for key in keys])


def right(db):
    """Every row is found, and the filter holds as many keys as the column."""
    assert ask(db, "SELECT count(*) FROM u WHERE k IS NOT NULL AND NOT cf_table_contains('f', k)") == 0
    if not db.in_transaction:
        assert ask(db, "SELECT count(*) FROM f") == ask(db, "SELECT count(k) FROM u")
        db.execute("INSERT INTO f(f) VALUES ('check')")
    return True


def statements(db, *sql):
    """What SQLite runs for these statements, those of the extension included."""
    seen = []
    db.set_trace_callback(seen.append)
    for one in sql:
        db.execute(one).fetchall()
    db.set_trace_callback(None)
    return [text.lstrip("- ") for text in seen]


def info(db, name):
    return json.loads(ask(db, "SELECT cf_table_info(?)", name))


def pages_in(seen, verb):
    return [text for text in seen if text.startswith(verb) and "f_page" in text]


FAILS = {
    "before its trigger": "INSERT INTO u(k) VALUES (1)",
    "after some rows": "INSERT INTO u(k) VALUES (101), (102), (1)",
    "after a delete": "UPDATE u SET k = CASE k WHEN 1 THEN 103 ELSE 3 END WHERE k < 3",
    "within": "INSERT INTO u(k, x) SELECT 104, run('INSERT INTO u(k) VALUES (105), (1)') UNION ALL SELECT 1, 0",
    "within, at once": "INSERT INTO u(k, x) SELECT 104, run('INSERT INTO u(k) VALUES (1)') UNION ALL SELECT 1, 0",
    "keeps its rows": "INSERT OR FAIL INTO u(k) VALUES (106), (1)",
    "ignores": "INSERT OR IGNORE INTO u(k) VALUES (107), (1)",
    "replaces, then fails": "INSERT INTO u(k) VALUES (1), (NULL) ON CONFLICT(k) DO UPDATE SET k = 2",
}
ENDS = {"commit": ["COMMIT"], "more, commit": ["INSERT INTO u(k) VALUES (200)", "COMMIT"], "rollback": ["ROLLBACK"],
        "savepoint": ["SAVEPOINT s", "INSERT INTO u(k) VALUES (201)", "ROLLBACK TO s", "COMMIT"],
        "again": ["INSERT INTO u(k) VALUES (202)", *FAILS.values(), "COMMIT"]}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("asked", [False, True])
@pytest.mark.parametrize("fails", FAILS)
def test_a_statement_that_fails_loses_nothing_of_those_before(db, follower, fails, asked, end):
    insert(db, 1000, 1001)
    db.execute("BEGIN")
    insert(db, 1, 2, 3, 4)
    db.execute("DELETE FROM u WHERE k IN (4, 1000)")
    run(db, FAILS[fails])
    assert not asked or right(db)
    for sql in ENDS[end]:
        run(db, sql)
        assert not asked or right(db)
    assert right(db)
    assert not ask(db, "SELECT cf_table_contains('f', 4)")


@pytest.mark.parametrize("fails", FAILS)
def test_many_changes_before_a_statement_that_fails(db, fails):
    Follower(db).create(EXACT.replace("100", str(MANY)))
    db.execute("BEGIN")
    insert(db, *range(1, MANY))
    run(db, FAILS[fails])
    assert right(db)
    insert(db, *range(MANY, MANY + 50))
    db.execute("DELETE FROM u WHERE k > 99 AND k % 3 = 0")
    run(db, FAILS[fails])
    db.execute("COMMIT")
    assert right(db)


def test_a_filter_without_content(db):
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(capacity=1000, fingerprint_bits=32, seed=1)")
    db.execute("BEGIN")
    for i in range(50):
        db.execute("INSERT INTO f(key) VALUES (?), (?)", (i, i + 100))
        db.execute("DELETE FROM f WHERE key = ?", (i + 99,))
        run(db, "INSERT INTO f(key) SELECT 1000 UNION ALL SELECT abs(-9223372036854775808)")
    db.execute("COMMIT")
    assert ask(db, "SELECT count(*) FROM f") == 51
    assert [i for i in range(2000) if ask(db, "SELECT cf_table_contains('f', ?)", i)] == [*range(50), 149]
    db.execute("INSERT INTO f(f) VALUES ('check')")


# ---- what is written, and when ----

def test_no_page_is_written_before_the_transaction_ends(db, follower):
    insert(db, 1)
    db.execute("BEGIN")
    changes = [f"INSERT INTO u(k) VALUES ({i})" for i in range(2, 60)] + ["DELETE FROM u WHERE k = 7", "SAVEPOINT s"]
    assert not pages_in(statements(db, *changes), "INSERT")
    written = pages_in(statements(db, "COMMIT"), "INSERT")
    assert 0 < len(written) <= ask(db, "SELECT count(*) FROM f_page WHERE no >= 0"), "each page once, and the header"
    assert right(db)


def test_keys_that_come_may_stay_in_the_log(db, follower):
    assert not pages_in(statements(db, "INSERT INTO u(k) VALUES (1), (2)"), "INSERT")
    assert info(db, "f")["undrained"] == 2
    assert right(db)
    insert(db, *range(3, 1100))  # one by one: drained when it has 1,024 rows
    assert info(db, "f")["undrained"] < 1024
    assert right(db)
    assert pages_in(statements(db, "DELETE FROM u WHERE k = 1"), "INSERT"), "a key that goes is drained at once"
    assert info(db, "f")["undrained"] == 0
    assert right(db)


@pytest.mark.parametrize("attached", [False, True])
@pytest.mark.parametrize("asked", [False, True])
def test_a_lookup_tells_that_the_log_is_to_be_drained(tmp_path, asked, attached):
    """Others wrote without the extension, or this connection did where it has no TEMP trigger: a delete, which no commit waits for.
    Before 3.34 SQLite does not tell if a transaction writes: then a lookup does not take part in it."""
    path = str(tmp_path / "log.db")
    first = support.connect(path)
    first.execute("CREATE TABLE u(k)")
    first.execute(f"CREATE VIRTUAL TABLE f USING cuckoo_filter({EXACT}, content='u(k)')")
    insert(first, 1, 2)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as bare:
        bare.execute("DELETE FROM u WHERE k = 1")
    db = support.connect(":memory:" if attached else path)
    if attached:
        db.execute("ATTACH ? AS x", (str(path),))
    for _ in range(2):
        db.execute("BEGIN")
        db.execute("INSERT INTO u(k) VALUES (3)")
        if asked:
            assert ask(db, "SELECT cf_table_contains('f', 3)") == 1
        db.execute("COMMIT")
    told = asked and (not attached or sqlite3.sqlite_version_info >= (3, 34))
    assert info(db, "f")["undrained"] == (1 if told else 5), "drained by the first commit; the second one had nothing to take away"


def test_a_commit_of_its_own_leaves_memory_as_it_is(db, follower):
    insert(db, *range(50))
    look = "SELECT cf_table_contains('f', 1000)"
    assert pages_in(statements(db, look), "SELECT")
    for i in range(50, 60):
        assert not pages_in(statements(db, f"INSERT INTO u(k) VALUES ({i})", look), "SELECT")
    db.execute("UPDATE f_page SET data = data")
    assert pages_in(statements(db, look), "SELECT")
    assert right(db)


@pytest.mark.parametrize("sql", ["SAVEPOINT s", "CREATE TABLE t2(x)", "ALTER TABLE other ADD COLUMN y", "CREATE INDEX i ON u(x)"])
def test_savepoints_write_other_filters(db, sql):
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(capacity=100, fingerprint_bits=32)")
    db.execute("BEGIN")
    db.execute("INSERT INTO f(key) VALUES (1)")
    db.execute("INSERT INTO f(key) VALUES (2)")
    assert pages_in(statements(db, sql), "INSERT") or "ALTER" not in sql and "SAVEPOINT" not in sql
    db.execute("COMMIT")
    assert [ask(db, f"SELECT cf_table_contains('f', {i})") for i in (1, 2, 3)] == [1, 1, 0]


# ---- tables that go ----

GOES = {"drop": "DROP TABLE f", "rename": "ALTER TABLE f RENAME TO g", "both": "ALTER TABLE f RENAME TO g; DROP TABLE g",
        "new": "DROP TABLE f; CREATE VIRTUAL TABLE f USING cuckoo_filter(capacity=10, content='u(k)')"}


@pytest.mark.parametrize("goes", GOES)
@pytest.mark.parametrize("fails", [None, *FAILS])
def test_a_table_that_comes_back(db, follower, goes, fails):
    db.execute("BEGIN")
    insert(db, 1, 2, 3)
    if fails:
        run(db, FAILS[fails])
    db.execute("SAVEPOINT s")
    for sql in GOES[goes].split("; "):
        db.execute(sql)
    db.execute("ROLLBACK TO s")
    assert right(db)
    insert(db, 4, 5)
    db.execute("COMMIT")
    assert right(db)


@pytest.mark.parametrize("goes", GOES)
def test_a_table_that_goes_within_a_statement(db, follower, goes):
    """SQL that a function runs: SQLite refuses DROP."""
    db.execute("BEGIN")
    insert(db, 1, 2, 3)
    for end in ["SELECT 10, 0", "SELECT 1, 0"]:
        run(db, f"INSERT INTO u(k, x) SELECT 9 + id, run('{GOES[goes].split(';')[0]}') FROM u WHERE id = 2 UNION ALL {end}")
        assert right(db)
    db.execute("COMMIT")
    assert right(db)
