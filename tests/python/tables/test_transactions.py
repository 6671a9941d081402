# SPDX-License-Identifier: MIT
"""Filter tables that take keys themselves in transactions: other connections, savepoints, statements that fail. What is kept in
memory never stands in for another state of the file, or for another table.
"""
import itertools
import os
import sqlite3
import subprocess
import sys
import threading

import pytest

import support
from promises import attempt
from seen import check, create, has, info, insert, items, lost, schema_of
from support import ask

RUNNING = ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) "
           "SELECT i, cf_table_contains('seen', i) FROM n")


@pytest.fixture(params=["wal", "delete", "truncate", "persist"])
def path(request, tmp_path):
    name = str(tmp_path / "seen.db")
    db = support.connect(name)
    db.execute(f"PRAGMA journal_mode = {request.param}")
    create(db)
    insert(db, 1)
    db.close()
    return name


@pytest.fixture
def two(path):
    connections = [support.connect(path, timeout=0) for _ in range(2)]
    for connection in connections:
        connection.execute("PRAGMA synchronous = OFF")
        assert has(connection, 1)  # its pages are in memory
    yield connections
    for connection in connections:
        connection.close()


def by_name(db, key):
    return ask(db, "SELECT cf_table_contains('seen', ?)", key)


@pytest.fixture
def wal(path):
    """In WAL mode nobody is locked out."""
    db = sqlite3.connect(path)
    mode = db.execute("PRAGMA journal_mode").fetchone()[0]
    db.close()
    return mode == "wal"


# ---- other connections ----

@pytest.mark.parametrize("question", [has, by_name])
def test_a_commit_of_another_connection_is_seen_at_once(two, question):
    writer, reader = two
    for key in range(2, 60):
        assert not question(reader, key)
        insert(writer, key)
        assert question(reader, key)
        writer.execute("DELETE FROM seen WHERE key = ?", (key,))
        assert not question(reader, key)


def test_both_write_in_turn(two):
    for key in range(2, 300):
        insert(two[key % 2], key)
        assert has(two[1 - key % 2], key)
    for db in two:
        assert lost(db, range(1, 300)) == [] and items(db) == 299
        check(db)


def test_uncommitted_keys_are_only_seen_by_their_own_connection(two):
    writer, reader = two
    writer.execute("BEGIN")
    insert(writer, 2)
    assert has(writer, 2) and not has(reader, 2) and not by_name(reader, 2)
    writer.execute("COMMIT")
    assert has(reader, 2)


def test_a_read_transaction_keeps_its_snapshot(path, wal):
    if not wal:
        pytest.skip("a reader blocks writers")
    writer, reader = support.connect(path), support.connect(path)
    reader.execute("BEGIN")
    assert not has(reader, 2)
    insert(writer, 2)
    assert not has(reader, 2) and not by_name(reader, 2) and items(reader) == 1
    reader.execute("COMMIT")
    assert has(reader, 2) and by_name(reader, 2)


def test_growth_in_one_connection_is_seen_in_the_other(two):
    writer, reader = two
    writer.execute("INSERT INTO seen(key) WITH n(i) AS (VALUES (2) UNION ALL SELECT i + 1 FROM n WHERE i < 9000) "
                   "SELECT i FROM n")
    assert lost(reader, range(1, 9001, 7)) == [] and info(reader)["level"] > 0
    insert(reader, -1)
    assert has(writer, -1) and items(writer) == 9001
    check(writer)


def test_writing_while_another_writes_is_busy_and_harmless(two, wal):
    two[0].execute("BEGIN IMMEDIATE")
    insert(two[0], 2)
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        insert(two[1], 3)
    two[0].execute("COMMIT")
    insert(two[1], 3)
    assert lost(two[0], [1, 2, 3]) == [] and items(two[0]) == 3
    if not wal:
        two[0].execute("BEGIN EXCLUSIVE")
        error = attempt(two[1], "SELECT cf_table_contains('seen', 1)")
        assert error.sqlite_errorname == "SQLITE_BUSY" and "locked" in str(error)


def test_dropped_and_created_anew_by_another_connection(two):
    two[0].execute("DROP TABLE seen")
    create(two[0], "capacity=10")
    assert not has(two[1], 1) and not by_name(two[1], 1)
    insert(two[0], 5)
    assert by_name(two[1], 5) and has(two[1], 5)


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
    assert ("no cuckoo_filter table" if gone else "[0, 0, 1]" if "INSERT" in change else "[0, 0, 0]") in ran.stdout


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


def test_a_schema_change_by_another_connection_while_a_query_runs(fresh):
    one, other = support.connect(fresh), support.connect(fresh)
    fill_quickly(one, "seen", range(1, 1001))
    fill_quickly(one, "other", range(5001, 6001))
    one.close()
    one = support.connect(fresh, cached_statements=0)
    rows = one.execute(RUNNING)
    next(rows)
    other.execute("CREATE TABLE x(a)")
    assert ask(one, "SELECT count(*) FROM other WHERE key = 5001") == 1
    assert all(found for _, found in rows)


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


def test_a_backup_into_the_connection(tmp_path):
    db, other = support.connect(str(tmp_path / "a")), support.connect(str(tmp_path / "b"))
    fill_quickly(db, "seen", range(1000))
    fill_quickly(other, "seen", range(5000, 6000))
    assert lost(db, range(1000)) == []
    other.backup(db)
    assert [key for key in range(5000, 6000) if not ask(db, "SELECT cf_table_contains('seen', ?)", key)] == []
    assert lost(db, range(5000, 6000)) == []


def test_an_interrupt_while_a_commit_of_another_is_noticed(fresh):
    one, other = support.connect(fresh), support.connect(fresh)
    fill_quickly(one, "seen", range(100))
    assert lost(one, range(100)) == []
    insert(other, *range(1000, 1100))
    one.create_function("stop", 0, lambda: one.interrupt() or 1)
    for query in ("SELECT stop(), EXISTS (SELECT 1 FROM seen WHERE key = 1000)",
                  "SELECT stop(), cf_table_contains('seen', 1000)"):
        with pytest.raises(sqlite3.OperationalError, match="interrupted"):
            one.execute(query).fetchall()
    assert lost(one, range(1000, 1100)) == []


def test_interrupts_at_any_time(fresh):
    one, other = support.connect(fresh, check_same_thread=False), support.connect(fresh)
    fill_quickly(one, "seen", range(10))
    done = threading.Event()

    def interrupt():
        while not done.wait(0.0005):
            one.interrupt()

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        for key in range(100, 200):
            insert(other, key)
            for _ in range(50):
                try:
                    assert ask(one, "SELECT cf_table_contains('seen', ?)", key) == 1
                    break
                except sqlite3.OperationalError as error:
                    assert error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT
    finally:
        done.set()
        thread.join()


# ---- rollback ----

@pytest.fixture
def seen(db):
    create(db)
    insert(db, 1)
    db.execute("CREATE TABLE t(x UNIQUE)")
    db.execute("CREATE TRIGGER tr AFTER INSERT ON t BEGIN INSERT INTO seen(key) VALUES (new.x); "
               "SELECT CASE new.x WHEN 'abort' THEN RAISE(ABORT, 'a') WHEN 'fail' THEN RAISE(FAIL, 'f') "
               "WHEN 'rollback' THEN RAISE(ROLLBACK, 'r') WHEN 'ignore' THEN RAISE(IGNORE) END; END")
    return db


def test_rollback_to_nested_and_released(seen):
    seen.execute("BEGIN")
    for level in range(2, 8):
        seen.execute(f"SAVEPOINT s{level}")
        insert(seen, level)
    seen.execute("RELEASE s6")  # and s7: their keys belong to s5 now
    assert lost(seen, range(1, 8)) == []
    seen.execute("ROLLBACK TO s5")
    assert lost(seen, range(1, 5)) == [] and not any(has(seen, key) for key in (5, 6, 7))
    insert(seen, 9)
    seen.execute("ROLLBACK TO s5")
    assert not has(seen, 9)
    seen.execute("ROLLBACK TO s2")
    assert items(seen) == 1 and has(seen, 1) and not has(seen, 2)
    seen.execute("COMMIT")
    check(seen)


def test_a_savepoint_without_begin(seen):
    seen.execute("SAVEPOINT a")
    insert(seen, 2)
    seen.execute("ROLLBACK TO a")
    assert not has(seen, 2)
    insert(seen, 3)
    seen.execute("RELEASE a")
    assert has(seen, 3) and items(seen) == 2


def test_rollback_of_growth(seen):
    seen.execute("BEGIN")
    insert(seen, *range(2, 5000))
    assert info(seen)["level"] > 0
    seen.execute("ROLLBACK")
    assert info(seen)["level"] == 0 and items(seen) == 1 and has(seen, 1)
    insert(seen, *range(2, 5000))
    assert lost(seen, range(1, 5000)) == []
    check(seen)


@pytest.mark.parametrize("undo", ["ROLLBACK", "ROLLBACK TO s"])
def test_rollback_of_the_table_itself(db, undo):
    db.execute("BEGIN")
    db.execute("SAVEPOINT s")
    create(db)
    insert(db, 1, 2)
    assert has(db, 2)
    db.execute(undo)
    assert schema_of(db) == []
    create(db)
    assert not has(db, 1) and items(db) == 0


@pytest.mark.parametrize("undo", ["ROLLBACK", "ROLLBACK TO s"])
@pytest.mark.parametrize("change", ["DROP TABLE seen", "ALTER TABLE seen RENAME TO gone",
                                    "INSERT INTO seen(seen) VALUES ('clear')"])
def test_rollback_of_what_happened_to_the_table(seen, undo, change):
    seen.execute("BEGIN")
    seen.execute("SAVEPOINT s")
    insert(seen, 2)
    seen.execute(change)
    seen.execute(undo)
    assert has(seen, 1) and not has(seen, 2) and by_name(seen, 1)
    insert(seen, 3)
    assert has(seen, 3)


# ---- failing statements ----

@pytest.mark.parametrize("within", [False, True])
def test_a_failing_row_takes_the_whole_statement_back(seen, within):
    if within:
        seen.execute("BEGIN")
        insert(seen, 5)
    for _ in range(3):
        with pytest.raises(sqlite3.OperationalError, match="overflow"):
            seen.execute("INSERT INTO seen(key) SELECT CASE value WHEN 30 THEN abs(-9223372036854775808) "
                         "ELSE value END FROM json_each('[10, 20, 30, 40]')")
        assert not has(seen, 10) and not has(seen, 20)
        assert items(seen) == 1 + within and has(seen, 1)
    assert seen.in_transaction == within
    check(seen)


def test_failing_statements_between_others(db):
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(capacity=1000, fingerprint_bits=32, seed=1)")
    db.execute("BEGIN")
    for i in range(50):
        db.execute("INSERT INTO f(key) VALUES (?), (?)", (i, i + 100))
        db.execute("DELETE FROM f WHERE key = ?", (i + 99,))
        attempt(db, "INSERT INTO f(key) SELECT 1000 UNION ALL SELECT abs(-9223372036854775808)")
    db.execute("COMMIT")
    assert ask(db, "SELECT count(*) FROM f") == 51
    assert [i for i in range(2000) if ask(db, "SELECT cf_table_contains('f', ?)", i)] == [*range(50), 149]
    db.execute("INSERT INTO f(f) VALUES ('check')")


@pytest.mark.parametrize("how, first, keeps", [
    ("abort", False, True), ("fail", True, True), ("rollback", False, False), ("ignore", True, True)])
def test_raise_in_a_trigger(seen, how, first, keeps):
    seen.execute("BEGIN")
    insert(seen, "before")
    try:
        seen.execute("INSERT INTO t VALUES ('first'), (?), ('last')", (how,))
    except sqlite3.IntegrityError:
        pass
    assert has(seen, "before") == keeps == seen.in_transaction
    assert has(seen, "first") == first
    assert has(seen, 1)
    check(seen)


@pytest.mark.parametrize("conflict, found", [
    ("ABORT", []), ("FAIL", ["first"]), ("ROLLBACK", []), ("IGNORE", ["first", "last"]),
    ("REPLACE", ["first", "last"])])
def test_a_conflict_in_the_table_whose_trigger_adds_keys(seen, conflict, found):
    seen.execute("INSERT INTO t VALUES ('twice')")
    seen.execute("BEGIN")
    try:
        seen.execute(f"INSERT OR {conflict} INTO t VALUES ('first'), ('twice'), ('last')")
    except sqlite3.IntegrityError:
        pass
    assert [key for key in ("first", "last") if has(seen, key)] == found
    assert lost(seen, [1, "twice"]) == []
    check(seen)


@pytest.mark.parametrize("options", ["capacity=5, fpr=0.1", "capacity=2000", "capacity=8, fingerprint_bits=8, overflow=on"])
@pytest.mark.parametrize("again", ["COMMIT", "ROLLBACK"])
def test_a_commit_that_is_interrupted(tmp_path, options, again):
    """When the first write is interrupted, SQLite has rolled back. COMMIT must not say that it may be tried again: what is in
    memory would then be written, without the rows that belong to it."""
    for after in itertools.count(1):
        path = str(tmp_path / f"interrupted{after}.db")
        db = support.connect(path)
        db.executescript(f"""
            CREATE TABLE u(k);
            CREATE VIRTUAL TABLE seen USING cuckoo_filter({options});
            CREATE TRIGGER i AFTER INSERT ON u BEGIN INSERT INTO seen(key) VALUES (new.k); END;
            CREATE TRIGGER d AFTER DELETE ON u BEGIN DELETE FROM seen WHERE key = old.k; END;
            INSERT INTO u VALUES ('here');
            BEGIN; INSERT INTO u VALUES ('new'); DELETE FROM u WHERE k = 'here'""")
        calls = itertools.count(1)
        db.set_progress_handler(lambda: next(calls) >= after, 1)
        try:
            db.execute("COMMIT")
        except sqlite3.OperationalError:
            pass
        last = next(calls) <= after
        db.set_progress_handler(None, 0)
        for _ in range(2):
            assert db.execute("SELECT k FROM u WHERE NOT cf_table_contains('seen', k)").fetchall() == [], after
            if db.in_transaction:
                assert ask(db, "SELECT k FROM u") == "new"
                db.execute(again)
        other = support.connect(path)
        assert other.execute("SELECT k FROM u WHERE NOT cf_table_contains('seen', k)").fetchall() == [], after
        assert ask(other, "SELECT count(*) FROM seen") == 1
        check(other)
        other.close()
        db.close()
        if last:
            break
    assert after > 20
