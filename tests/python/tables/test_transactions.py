# SPDX-License-Identifier: MIT
"""Filter tables that take keys themselves in transactions: other connections, running queries, statements that fail.
What is kept in memory never stands in for another state of the file, or for another table. tests/sim has savepoints
and several connections.
"""
import collections
import os
import sqlite3
import subprocess
import sys

import pytest

import support
from promises import attempt
from seen import check, command, create, has, insert, items
from support import ask

RUNNING = ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) "
           "SELECT i, cf_table_contains('seen', i) FROM n")


@pytest.fixture(params=["wal", "delete"])
def path(request, tmp_path):
    name = str(tmp_path / "seen.db")
    db = support.connect(name)
    db.execute(f"PRAGMA journal_mode = {request.param}")
    create(db)
    insert(db, 1)
    db.close()
    return name


def by_name(db, key):
    return ask(db, "SELECT cf_table_contains('seen', ?)", key)


# ---- other connections ----

def test_shared_cache(request):
    path = f"file:{request.node.name}?mode=memory&cache=shared"
    one, other = support.connect(path, uri=True), support.connect(path, uri=True)
    create(one)
    assert not has(other, 1)
    insert(one, 1)
    assert has(other, 1)
    insert(other, 2)
    assert has(one, 2) and items(one) == 2


# ---- while a query is running ----

CHANGES = ["CREATE TABLE other(x)", "DROP TABLE seen", "ALTER TABLE seen RENAME TO gone",
           "INSERT INTO seen(key) VALUES (4)"]  # in a process of its own, for it may crash


@pytest.mark.parametrize("who", [0, 1])
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_between_two_rows_of_a_running_query(path, who, change):
    """A query that reads no table of the file has no transaction: the schema may change from row to row."""
    query = ("WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 4) "
             "SELECT cf_table_contains('seen', i) FROM n")
    script = f"""
import sqlite3, support
two = [support.connect({path!r}), support.connect({path!r})]
rows = two[0].execute({query!r})
assert next(rows) == (1,)
two[{who}].execute({change!r})
try:
    print([row[0] for row in rows])  # Python is one row ahead: the change comes after the second
except sqlite3.Error as error:
    print(error)
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                         env={**os.environ, "PYTHONPATH": os.path.dirname(support.__file__)})
    assert ran.returncode == 0, ran.stderr[:1500]
    gone = change.split()[0] in ("DROP", "ALTER")
    assert ("no such cuckoo_filter table" if gone else "[0, 0, 1]" if "INSERT" in change else "[0, 0, 0]") in ran.stdout


@pytest.fixture
def fresh(tmp_path):
    return str(tmp_path / "fresh.db")


def fill_quickly(db, name, keys, options="capacity=1000, fpr=1e-6"):
    db.execute("PRAGMA synchronous = OFF")
    db.execute("BEGIN")
    create(db, options, name)
    insert(db, *keys, table=name)
    db.execute("COMMIT")


@pytest.mark.parametrize("changes", [
    ["DROP TABLE seen", "other", "seen"], ["ALTER TABLE seen RENAME TO old", "ALTER TABLE other RENAME TO seen"]])
def test_a_running_query_asks_the_table_that_has_the_name(fresh, changes):
    """The memory of a table that is gone may be that of another one now."""
    db = support.connect(fresh)
    fill_quickly(db, "seen", range(1, 1001))
    if "other" not in changes:
        fill_quickly(db, "other", range(5001, 6001))
    rows = db.execute(RUNNING)
    next(rows)
    for change in changes:
        if change in ("seen", "other"):
            fill_quickly(db, change, range(1, 1001) if change == "seen" else range(5001, 6001))
        else:
            db.execute(change)
    try:
        answers = dict(rows.fetchall())
    except sqlite3.OperationalError as error:
        pytest.skip(f"this SQLite ends such a query: {error}")
    expected = "other" in changes
    assert all(answers[key] == expected for key in range(3, 1001))  # Python is a row ahead


def test_another_file_attached_under_the_same_name(tmp_path):
    db = support.connect(":memory:")
    for name, keys in (("a", range(1000)), ("b", range(5000, 6000))):
        there = support.connect(str(tmp_path / name))
        fill_quickly(there, "seen", keys)
        there.close()
    for name, keys in (("a", range(1000)), ("b", range(5000, 6000)), ("a", range(1000))):
        db.execute("ATTACH ? AS x", (str(tmp_path / name),))
        assert ask(db, "SELECT 1 FROM x.seen WHERE key = ?", keys[0]) == 1  # a statement that Python keeps
        assert [key for key in keys if not ask(db, "SELECT cf_table_contains('x.seen', ?)", key)] == []
        db.execute("DETACH x")


# ---- what is taken back ----

FAILS = "INSERT INTO seen(key) SELECT CASE value WHEN 30 THEN abs(-9223372036854775808) ELSE value END FROM json_each('[10, 20, 30, 40]')"
MANY = "INSERT INTO seen(key) WITH n(i) AS (VALUES (2) UNION ALL SELECT i + 1 FROM n WHERE i < 5000) SELECT i + 100 FROM n"
NEW = "CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=10)"

# What is done to a table with the key 1, and which keys below 100 are there then. Inserts into t fire a trigger that adds the key.
STORIES = {
    "rollback": ("BEGIN; INSERT INTO seen(key) VALUES (2); DELETE FROM seen WHERE key = 1; ROLLBACK", [1]),
    "nested": ("BEGIN; SAVEPOINT a; INSERT INTO seen(key) VALUES (2); SAVEPOINT b; INSERT INTO seen(key) VALUES (3); SAVEPOINT c;"
               "DELETE FROM seen WHERE key = 2; RELEASE c; ROLLBACK TO b; INSERT INTO seen(key) VALUES (4); COMMIT",
               [1, 2, 4]),
    "twice": ("SAVEPOINT a; INSERT INTO seen(key) VALUES (2); ROLLBACK TO a; INSERT INTO seen(key) VALUES (3); ROLLBACK TO a; "
              "INSERT INTO seen(key) VALUES (4); RELEASE a", [1, 4]),
    "growth": (f"BEGIN; {MANY}; ROLLBACK; {MANY}; SAVEPOINT a; {MANY}; ROLLBACK TO a; RELEASE a", [1]),
    "clear": ("BEGIN; SAVEPOINT a; INSERT INTO seen(seen) VALUES ('clear'); ROLLBACK TO a; COMMIT", [1]),
    "drop": ("BEGIN; INSERT INTO seen(key) VALUES (2); SAVEPOINT a; DROP TABLE seen; ROLLBACK TO a; COMMIT", [1, 2]),
    "drop and anew": (f"BEGIN; SAVEPOINT a; DROP TABLE seen; {NEW}; INSERT INTO seen(key) VALUES (2); ROLLBACK; INSERT INTO seen(key) VALUES (3)", [1, 3]),
    "rename": ("BEGIN; ALTER TABLE seen RENAME TO gone; INSERT INTO gone(key) VALUES (2); ROLLBACK; INSERT INTO seen(key) VALUES (3)", [1, 3]),
    "the table itself": (f"DROP TABLE seen; BEGIN; {NEW}; INSERT INTO seen(key) VALUES (2); ROLLBACK; {NEW}; INSERT INTO seen(key) VALUES (3)", [3]),
    "a failing row": (f"{FAILS}; INSERT INTO seen(key) VALUES (2)", [1, 2]),
    "a failing row, in between": (f"BEGIN; INSERT INTO seen(key) VALUES (2); {FAILS}; DELETE FROM seen WHERE key = 1; {FAILS}; COMMIT", [2]),
    "abort": ("BEGIN; INSERT INTO seen(key) VALUES (2); INSERT INTO t VALUES (3), ('abort'), (4); COMMIT", [1, 2]),
    "fail": ("BEGIN; INSERT INTO seen(key) VALUES (2); INSERT INTO t VALUES (3), ('fail'), (4); COMMIT", [1, 2, 3]),
    "raise rollback": ("BEGIN; INSERT INTO seen(key) VALUES (2); INSERT INTO t VALUES (3), ('rollback'), (4)", [1]),
    "ignore": ("BEGIN; INSERT INTO t VALUES (3), ('ignore'), (4); COMMIT", [1, 3, 4]),
    **{f"OR {how}": (f"INSERT INTO t VALUES (2); BEGIN; INSERT OR {how} INTO t VALUES (3), (2), (4); COMMIT", found)
       for how, found in {"ABORT": [1, 2], "FAIL": [1, 2, 3], "ROLLBACK": [1, 2], "IGNORE": [1, 2, 3, 4],
                          "REPLACE": [1, 2, 3, 4]}.items()},
}


@pytest.mark.parametrize("asked", [False, True])
@pytest.mark.parametrize("story", STORIES)
def test_what_is_taken_back(db, story, asked):
    """`asked`: between any two statements."""
    create(db)
    insert(db, 1)
    db.execute("CREATE TABLE t(x UNIQUE)")
    db.execute("CREATE TRIGGER tr AFTER INSERT ON t BEGIN INSERT INTO seen(key) VALUES (new.x); "
               "SELECT CASE new.x WHEN 'abort' THEN RAISE(ABORT, 'a') WHEN 'fail' THEN RAISE(FAIL, 'f') "
               "WHEN 'rollback' THEN RAISE(ROLLBACK, 'r') WHEN 'ignore' THEN RAISE(IGNORE) END; END")
    sql, found = STORIES[story]
    for one in sql.split("; "):
        attempt(db, one)
        if asked:
            attempt(db, "SELECT count(*), cf_table_contains('seen', 1) FROM seen")
    assert not db.in_transaction
    assert [key for key in range(100) if has(db, key)] == found == [key for key in range(100) if by_name(db, key)]
    check(db)


# ---- several tables of one name ----

def test_queries_that_run_and_statements_that_come_later_see_one_filter(tmp_path, rng):
    """A change of the schema makes later statements connect the table anew, while a running query keeps the old one."""
    db = support.connect(str(tmp_path / "seen.db"))
    create(db, "capacity=100, fingerprint_bits=32, counter_bits=8")
    keys, saved, running, made = collections.Counter(), [], [], 0
    for _ in range(600):
        act = rng.choice(["insert", "insert", "insert", "delete", "other", "read", "drain", "begin", "end", "save", "back",
                          "query", "next"])
        key = rng.randrange(60)
        if act == "insert":
            insert(db, key)
            keys[key] += 1
        elif act == "delete" and keys[key]:
            db.execute("DELETE FROM seen WHERE key = ?", (key,))
            keys[key] -= 1
        elif act == "other":
            made += 1
            db.execute(f"CREATE TABLE other_{made}(x)")
        elif act == "read":
            db.execute("PRAGMA writable_schema = RESET")  # opens no savepoint
        elif act == "drain":
            command(db, "drain")
        elif act == "begin" and not db.in_transaction:
            db.execute("BEGIN")
            saved = [keys.copy()]
        elif act == "end" and db.in_transaction:
            back = rng.random() < 0.3
            running = [] if back else running  # SQLite ends them, or refuses to go on
            assert attempt(db, "ROLLBACK" if back else "COMMIT") is None
            keys = saved[0] if back else keys
        elif act == "save" and db.in_transaction:
            db.execute("SAVEPOINT s")
            saved.append(keys.copy())
        elif act == "back" and db.in_transaction and len(saved) > 1:
            running = []
            db.execute("ROLLBACK TO s")
            keys = saved[-1].copy()
        elif act == "query" and len(running) < 3:
            running.append([db.execute(
                "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT (i + 1) % 60 FROM n) "
                "SELECT i, (SELECT count(*) FROM seen WHERE key = n.i), cf_table_contains('seen', i) FROM n"), keys.copy()])
        elif act == "next" and running:
            one = rng.choice(running)
            i, by_table, by_function = next(one[0])  # Python has read it when it gave the row before
            assert (by_table == 1) == (by_function == 1) == (one[1][i] > 0)
            one[1] = keys.copy()
        for k in rng.sample(range(60), 3):
            assert (by_name(db, k) == 1) == (keys[k] > 0) and has(db, k) == (keys[k] > 0)
    del running
    if db.in_transaction:
        db.execute("COMMIT")
    check(db)
    assert items(db) == sum(keys.values())
    db.close()


def test_query_only(db):
    """An INSERT fails; a COMMIT of what was inserted before does not."""
    create(db)
    db.execute("BEGIN")
    insert(db, 1)
    db.execute("PRAGMA query_only = ON")
    assert "readonly" in str(attempt(db, "INSERT INTO seen(key) VALUES (2)"))
    db.execute("COMMIT")
    assert has(db, 1) and items(db) == 1


def test_an_insert_when_the_file_is_full(path):
    """It fails, and takes the transaction back; the filter goes on when there is room."""
    db = support.connect(path)
    db.execute(f"PRAGMA max_page_count = {db.execute('PRAGMA page_count').fetchone()[0] + 1}")
    db.execute("BEGIN")
    with pytest.raises(sqlite3.OperationalError, match="full"):
        insert(db, *range(5000, 9000))
    assert not db.in_transaction
    assert items(db) == 1
    db.execute("PRAGMA max_page_count = 100000")
    insert(db, 5)
    check(db)
    assert has(db, 1) and has(db, 5) and items(db) == 2
