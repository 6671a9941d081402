# SPDX-License-Identifier: MIT
"""What is in memory never stands in for another state of the file, or another table: ways in which it once did."""
import sqlite3
import threading

import pytest

import support
from support import ask
from test_persistent import check, create, insert, items, lost
from test_persistent_upkeep import LOAD, UNDEFENDED, not_sanitized, shell

RUNNING = ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) "
           "SELECT i, cf_table_contains('seen', i) FROM n")


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "seen.db")


def fill(db, name, keys, options="capacity=1000, fpr=1e-6"):
    db.execute("PRAGMA synchronous = OFF")
    db.execute("BEGIN")
    create(db, options, name)
    insert(db, *keys, table=name)
    db.execute("COMMIT")


def missed(db, name, keys):
    """By every way to ask."""
    function = [key for key in keys if not ask(db, "SELECT cf_table_contains(?, ?)", name, key)]
    return function + lost(db, keys, name)


# ---- commits of others that were noticed, and then something failed ----

def test_an_interrupt_while_a_commit_of_another_is_noticed(path):
    one, other = support.connect(path), support.connect(path)
    fill(one, "seen", range(100))
    assert missed(one, "seen", range(100)) == []
    insert(other, *range(1000, 1100))
    one.create_function("stop", 0, lambda: one.interrupt() or 1)
    for query in ("SELECT stop(), EXISTS (SELECT 1 FROM seen WHERE key = 1000)",
                  "SELECT stop(), cf_table_contains('seen', 1000)"):
        with pytest.raises(sqlite3.OperationalError, match="interrupted"):
            one.execute(query).fetchall()
    assert missed(one, "seen", range(1000, 1100)) == []


def test_interrupts_at_any_time(path):
    one, other = support.connect(path, check_same_thread=False), support.connect(path)
    fill(one, "seen", range(10))
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


# ---- another table in the place of one ----

@pytest.mark.parametrize("changes", [
    ["DROP TABLE seen", "other", "seen"], ["ALTER TABLE seen RENAME TO old", "ALTER TABLE other RENAME TO seen"]])
def test_a_running_query_asks_the_table_that_has_the_name(path, changes):
    """The memory of a table that is gone may be that of another one now."""
    db = support.connect(path)
    fill(db, "seen", range(1, 1001))
    if "other" not in changes:
        fill(db, "other", range(5001, 6001))
    rows = db.execute(RUNNING)
    next(rows)
    for change in changes:
        if change in ("seen", "other"):
            fill(db, change, range(1, 1001) if change == "seen" else range(5001, 6001))
        else:
            db.execute(change)
    try:
        answers = dict(rows.fetchall())
    except sqlite3.OperationalError:
        return  # changed too much
    expected = "other" in changes
    assert all(answers[key] == expected for key in range(3, 1001))  # Python is a row ahead


def test_a_schema_change_by_another_connection_while_a_query_runs(path):
    one, other = support.connect(path), support.connect(path)
    fill(one, "seen", range(1, 1001))
    fill(one, "other", range(5001, 6001))
    one.close()
    one = support.connect(path, cached_statements=0)
    rows = one.execute(RUNNING)
    next(rows)
    other.execute("CREATE TABLE x(a)")
    assert ask(one, "SELECT count(*) FROM other WHERE key = 5001") == 1
    assert all(found for _, found in rows)


def test_another_file_attached_under_the_same_name(tmp_path):
    db = support.connect(":memory:")
    for name, keys in (("a", range(1000)), ("b", range(5000, 6000))):
        there = support.connect(str(tmp_path / name))
        fill(there, "seen", keys)
        there.close()
    for name, keys in (("a", range(1000)), ("b", range(5000, 6000)), ("a", range(1000))):
        db.execute("ATTACH ? AS x", (str(tmp_path / name),))
        assert ask(db, "SELECT 1 FROM x.seen WHERE key = ?", keys[0]) == 1  # a statement that Python keeps
        assert [key for key in keys if not ask(db, "SELECT cf_table_contains('x.seen', ?)", key)] == []
        db.execute("DETACH x")


def test_a_backup_into_the_connection(tmp_path):
    db, other = support.connect(str(tmp_path / "a")), support.connect(str(tmp_path / "b"))
    fill(db, "seen", range(1000))
    fill(other, "seen", range(5000, 6000))
    assert missed(db, "seen", range(1000)) == []
    other.backup(db)
    assert [key for key in range(5000, 6000) if not ask(db, "SELECT cf_table_contains('seen', ?)", key)] == []
    assert lost(db, range(5000, 6000)) == []


# ---- writes that cannot be finished ----

def test_a_page_longer_than_the_connection_allows_is_not_written(path):
    db = support.connect(path)
    fill(db, "seen", range(1000))
    before = db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1000)
    with pytest.raises(sqlite3.Error, match="too big"):
        insert(db, *range(5000, 5100))
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, before)
    db.close()
    db = support.connect(path)
    assert missed(db, "seen", range(1000)) == []
    check(db)


@pytest.mark.parametrize("command", ["optimize", "clear", "import"])
@pytest.mark.parametrize("form", ["INSERT", "INSERT OR IGNORE"])
def test_a_replacement_that_fails_midway_leaves_nothing_behind(path, command, form):
    db = support.connect(path)
    fill(db, "seen", range(3000), "capacity=10, fpr=1e-6")
    db.execute("DELETE FROM seen WHERE key IN (SELECT value FROM json_each(?))", (str(list(range(1000, 3000))),))
    blob = ask(db, "SELECT cf_build(value) FROM json_each('[1, 2, 3]')")
    db.execute("CREATE TRIGGER tr BEFORE INSERT ON seen_page WHEN new.no = 0 BEGIN SELECT RAISE(ABORT, 'no'); END")
    db.execute("BEGIN")
    with pytest.raises(sqlite3.Error):
        db.execute(f"{form} INTO seen(seen, key) VALUES (?, ?)", (command, blob))
    if db.in_transaction:
        db.execute("COMMIT")
    db.execute("DROP TRIGGER tr")
    db.close()
    db = support.connect(path)
    assert missed(db, "seen", range(1000)) == []
    check(db)


# ---- a shadow table that asks its filter ----

@pytest.mark.parametrize("body", ["SELECT cf_table_contains('seen', 1)", "INSERT INTO seen(key) VALUES (new.no)",
                                  "SELECT 1 FROM seen WHERE key = 1"])
def test_triggers_on_the_pages_may_not_use_the_filter(path, body):
    db = support.connect(path)
    fill(db, "seen", range(1000))
    for event in ("INSERT", "UPDATE"):
        db.execute(f"CREATE TRIGGER tr_{event} AFTER {event} ON seen_page BEGIN {body}; END")
    for key in range(5000, 5010):
        with pytest.raises(sqlite3.Error):
            insert(db, key)
    db.execute("DROP TRIGGER tr_INSERT")
    db.execute("DROP TRIGGER tr_UPDATE")
    assert missed(db, "seen", range(1000)) == [] and items(db) == 1000
    check(db)


@not_sanitized
@pytest.mark.parametrize("ask_itself", ["EXISTS (SELECT 1 FROM seen WHERE key = 1)", "cf_table_contains('seen', 1)"])
def test_a_view_that_asks_the_filter_for_its_pages_is_an_error(ask_itself):
    output = shell(LOAD, UNDEFENDED, "CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=10);",
                   "INSERT INTO seen(key) VALUES (1);",
                   "ALTER TABLE seen_page RENAME TO real;",
                   f"CREATE VIEW seen_page AS SELECT no, data FROM real WHERE {ask_itself} IS NOT 9;",
                   "SELECT 1 FROM seen WHERE key = 1;", expect=1)
    assert ("its shadow tables cannot be read" in output
            or "its shadow table is missing, or not as it was created" in output)  # from 3.44 on
