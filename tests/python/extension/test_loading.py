# SPDX-License-Identifier: MIT
"""Loading the extension again on one connection does nothing, and succeeds.

Pools with a hook per checkout, a start-up file and .load, automatic extensions: all load it twice.
"""
import contextlib
import shutil
import sqlite3
import threading

import pytest

import inside
from support import ask, connect, extension_path


def load(db, path=None):
    db.enable_load_extension(True)
    db.load_extension((path or extension_path()).removesuffix(".so"))
    db.enable_load_extension(False)


def load_by_sql(db, path=None):
    db.enable_load_extension(True)
    db.execute("SELECT load_extension(?)", (path or extension_path(),)).fetchall()
    db.enable_load_extension(False)


@pytest.fixture(params=["the same file", "a copy of it"])
def again(request, tmp_path):
    """The path of what is loaded the second time."""
    if request.param == "the same file":
        return extension_path()
    return shutil.copy(extension_path(), tmp_path / "cuckoo.so").__str__()


@pytest.fixture
def seen(tmp_path):
    """A connection with a persistent filter of the keys 1 to 100, in use."""
    db = connect(str(tmp_path / "a.db"))
    db.execute("CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=1000)")
    db.execute("INSERT INTO seen(key) WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 "
               "FROM n LIMIT 100) SELECT i FROM n")
    assert found(db) == 100
    yield db
    db.close()


def found(db):
    return ask(db, "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n LIMIT 100) "
                   "SELECT sum(cf_table_contains('seen', i)) FROM n")


@pytest.mark.parametrize("end", ["DROP TABLE seen", None])
def test_table_in_use(seen, again, end):
    texts = ["SELECT count(*) FROM seen WHERE key = 5", "SELECT cf_table_contains('seen', 5)",
             "SELECT cf_contains(cf_add(cf_new(5), 5), 5)"]
    for _ in range(3):  # the driver keeps the statements
        assert [ask(seen, text) for text in texts] == [1, 1, 1]
        load(seen, again)
        assert found(seen) == 100
        seen.execute("INSERT INTO seen(key) VALUES ('x')")
        assert ask(seen, "SELECT count(*) FROM seen WHERE key = 'x'") == 1
    seen.execute(end) if end else seen.close()


@pytest.mark.parametrize("how", [load, load_by_sql])
def test_open_cursors(seen, again, how):
    scalar = seen.execute("SELECT cf_table_contains('seen', column1) FROM (VALUES (1), (2), (3))")
    table = seen.execute("SELECT key FROM seen WHERE key IN (1, 2, 3)")
    inside = seen.execute("SELECT bucket FROM cf_buckets('seen')")
    assert scalar.fetchone() == (1,) and table.fetchone() and inside.fetchone() == (0,)
    how(seen, again)
    assert len(table.fetchall()) == 2
    assert scalar.fetchall() == [(1,), (1,)]
    assert len(inside.fetchall()) > 100
    assert found(seen) == 100


@pytest.mark.parametrize("begin, end, there",
                         [("BEGIN", ["COMMIT"], 1), ("BEGIN", ["ROLLBACK"], 0),
                          ("SAVEPOINT one", ["ROLLBACK TO one", "RELEASE one"], 0)])
def test_inside_a_transaction(seen, again, begin, end, there):
    seen.execute(begin)
    seen.execute("INSERT INTO seen(key) VALUES ('x')")
    load(seen, again)
    assert seen.in_transaction
    assert ask(seen, "SELECT cf_table_contains('seen', 'x')") == 1
    for sql in end:
        seen.execute(sql)
    assert ask(seen, "SELECT cf_table_contains('seen', 'x')") == there
    assert found(seen) == 100


def test_copies_that_are_closed_in_any_order(tmp_path, again):
    first, second = connect(), connect()
    load(first, again)
    first.close()
    assert ask(second, "SELECT cf_check(cf_new(10))") == "ok"
    load(second, again)
    third = sqlite3.connect(":memory:")
    load(third, again)
    load(third)
    second.close()
    assert ask(third, "SELECT cf_check(cf_new(10))") == "ok"
    third.close()


def test_another_version(seen, tmp_path):
    version = ask(seen, "SELECT cf_version()")
    with open(extension_path(), "rb") as file:
        changed = file.read().replace(version.encode() + b"\0", b"9.8.7\0")
    path = tmp_path / "cuckoo.so"
    path.write_bytes(changed)
    load(seen, str(path))
    assert ask(seen, "SELECT cf_version()") == version and found(seen) == 100
    other = sqlite3.connect(":memory:")
    load(other, str(path))
    assert ask(other, "SELECT cf_version()") == "9.8.7"
    other.close()


def test_database_that_cannot_be_read(tmp_path):
    path = tmp_path / "garbage.db"
    path.write_bytes(b"no database " * 1000)
    db = connect(str(path))
    load(db)
    assert "cf_check" in {row[0] for row in db.execute("PRAGMA function_list")}
    with pytest.raises(sqlite3.DatabaseError):
        db.execute("SELECT * FROM sqlite_master")
    db.close()


def test_database_that_is_locked(seen, tmp_path):
    seen.execute("BEGIN EXCLUSIVE")
    db = connect(str(tmp_path / "a.db"), timeout=0)
    load(db)
    seen.execute("COMMIT")
    assert found(db) == 100
    db.close()


def test_no_transaction_is_begun(tmp_path):
    db = sqlite3.connect(tmp_path / "b.db")
    for _ in range(2):
        load(db)
        assert not db.in_transaction and db.total_changes == 0
    db.close()


def test_threads_that_load_at_once(again):
    """Each opens connections, loads twice, asks, closes: the library comes and goes."""
    failures = []

    def work():
        try:
            for _ in range(30):
                db = connect()
                load(db, again)
                assert ask(db, "SELECT cf_contains(cf_add(cf_new(10), 'a'), 'a')") == 1
                db.close()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures


# ---- by the SQLite that runs, whatever the headers were ----

@pytest.mark.skipif(sqlite3.sqlite_version_info < (3, 44), reason="SQLite 3.44 and later ask tables")
def test_integrity_check_reports_a_damaged_filter(tmp_path):
    path = str(tmp_path / "c.db")
    with contextlib.closing(connect(path)) as db:
        db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(capacity=5000)")
        db.execute("INSERT INTO f(key) WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n LIMIT 4000) SELECT i FROM n")
        pages, data = inside.own_table(db, "pages")
        db.execute(f"UPDATE {pages} SET {data} = zeroblob(length({data})) WHERE rowid = (SELECT max(rowid) FROM {pages})")
    with contextlib.closing(connect(path)) as db:
        assert ask(db, "PRAGMA integrity_check").startswith("f: corrupt: ")
        assert ask(db, "PRAGMA quick_check") == "ok"


@pytest.mark.skipif(sqlite3.sqlite_version_info < (3, 44), reason="SQLite 3.44 and later ask tables")
def test_integrity_check_says_nothing_of_trust(tmp_path):
    with contextlib.closing(connect(str(tmp_path / "c.db"))) as db:
        db.executescript("CREATE TABLE u(k TEXT UNIQUE); CREATE VIRTUAL TABLE f USING cuckoo_filter(content='u(k)');"
                         "CREATE TABLE w(k); CREATE TRIGGER newer AFTER INSERT ON u BEGIN INSERT INTO w VALUES (1); END")
        db.execute("INSERT INTO u VALUES ('a')")
        assert '"trusted":0' in ask(db, "SELECT cf_table_info('f')")
        assert ask(db, "PRAGMA integrity_check") == "ok" and ask(db, "PRAGMA quick_check") == "ok"
