# SPDX-License-Identifier: MIT
"""cf_table_check('seen'): the command 'check' as a function. It needs no right to write, and what is wrong is its answer."""
import os
import sqlite3
import subprocess
import sys
import tempfile

import pytest

import support
from support import ask
from test_persistent import DAMAGED, ERROR, refused

FOLLOWS = "capacity=500, content='u(k)'"


def make(path, arguments="capacity=500", keys=300):
    db = support.connect(path)
    db.execute("CREATE TABLE u(k)")
    db.execute(f"CREATE VIRTUAL TABLE seen USING cuckoo_filter({arguments})")
    db.execute("BEGIN")
    into = "u(k)" if "content" in arguments else "seen(key)"
    db.executemany(f"INSERT INTO {into} VALUES (?)", [(key,) for key in range(keys)])
    db.execute("COMMIT")
    return db


def check(db, name="seen"):
    return ask(db, "SELECT cf_table_check(?)", name)


def contents(db):
    return db.execute("SELECT quote(no), quote(data) FROM seen_page ORDER BY no").fetchall()


@pytest.mark.parametrize("arguments", ["capacity=500", "capacity=9, growth=on", "capacity=500, value_bits=3", FOLLOWS])
@pytest.mark.parametrize("path", [":memory:", "seen.db"])
def test_a_sound_filter_is_ok(arguments, path, tmp_path):
    db = make(path if path == ":memory:" else str(tmp_path / path), arguments, 0 if "value" in arguments else 300)
    before, changes = contents(db), db.total_changes
    for name in ("seen", "SEEN", "main.seen"):
        assert check(db, name) == "ok"
    assert (contents(db), db.total_changes, db.in_transaction) == (before, changes, False)


@pytest.mark.parametrize("arguments", ["capacity=500", FOLLOWS])
@pytest.mark.parametrize("how", ["mode=ro", "immutable=1", "query_only"])
def test_where_nothing_may_be_written(arguments, how, tmp_path):
    path = str(tmp_path / "seen.db")
    make(path, arguments).close()
    with open(path, "rb") as file:
        before = file.read()
    db = support.connect(path if how == "query_only" else f"file:{path}?{how}", uri=True)
    db.execute(f"PRAGMA query_only = {how == 'query_only'}")
    for _ in range(2):
        assert check(db) == "ok"
    db.execute("BEGIN")
    assert check(db) == "ok"
    db.execute("COMMIT")
    with open(path, "rb") as file:
        assert file.read() == before


READER = """
import sqlite3, sys
db = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True, isolation_level=None)
db.enable_load_extension(True)
db.load_extension(sys.argv[2])
print(db.execute("SELECT cf_table_check('seen')").fetchone()[0])
try:
    db.execute("INSERT INTO seen(seen) VALUES ('check')")
except sqlite3.OperationalError as error:
    print(error)
"""


@pytest.mark.parametrize("arguments", ["capacity=500", FOLLOWS])
def test_wal_in_a_folder_that_cannot_be_written(arguments):
    """The files that WAL needs are there, as another process left them. Root may write anywhere: so another user reads."""
    nobody = 65534 if os.getuid() == 0 else None
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "seen.db")
        db = sqlite3.connect(path)
        db.execute("PRAGMA journal_mode = WAL")
        db.close()
        writer = make(path, arguments)
        for name in os.listdir(folder):
            os.chmod(os.path.join(folder, name), 0o444)
        os.chmod(folder, 0o555)
        extension = os.path.abspath(support.extension_path())
        command = [sys.executable, "-c", READER, path, extension.removesuffix(".so")]
        ran = subprocess.run(command, user=nobody, capture_output=True, text=True)
        os.chmod(folder, 0o755)
        writer.close()
    if "cannot open shared object" in ran.stderr or "Permission denied" in ran.stderr:
        pytest.skip("another user cannot read the extension here")
    assert ran.stdout.splitlines() == ["ok", "attempt to write a readonly database"], ran.stderr


def test_changes_of_this_transaction_are_checked(tmp_path):
    db = make(str(tmp_path / "seen.db"), FOLLOWS)
    db.execute("BEGIN")
    db.execute("INSERT INTO u SELECT k + 1000 FROM u")
    assert check(db) == "ok"
    db.execute("ROLLBACK")
    assert check(db) == "ok"


@pytest.mark.parametrize("damage, says", [
    ("DROP TABLE seen_page", "shadow table is missing"), ("DELETE FROM seen_page WHERE no = 0", "header is missing"),
    ("UPDATE seen_page SET data = zeroblob(length(data)) WHERE no = 0", "row 0 of seen_page has been changed"),
    ("UPDATE seen_page SET data = zeroblob(length(data)) WHERE no > 0", "row 1 of seen_page has been changed")])
@pytest.mark.parametrize("how", ["mode=rw", "mode=ro", "immutable=1"])
def test_what_is_wrong_is_the_answer(damage, says, how, tmp_path):
    path = str(tmp_path / "seen.db")
    db = make(path)
    db.execute(damage)
    db.close()
    assert says in check(support.connect(f"file:{path}?{how}", uri=True))


def test_a_row_that_is_missing_is_the_answer(tmp_path):
    path = str(tmp_path / "seen.db")
    make(path, FOLLOWS, keys=1000).close()
    plain = sqlite3.connect(path, isolation_level=None)
    triggers = plain.execute("SELECT sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    for suffix in ("inserted", "deleted", "updated", "moved"):
        plain.execute(f"DROP TRIGGER seen_{suffix}")
    plain.execute("UPDATE u SET k = 'other' WHERE k = 500")
    assert "triggers" in check(support.connect(path))
    for sql, in triggers:
        plain.execute(sql)
    plain.close()
    assert "rows of u are missing" in check(support.connect(f"file:{path}?mode=ro", uri=True))


def test_the_reason_for_missing_rows_is_said_as_a_guess():
    """Here somebody deletes a row of the log, and the triggers are as they were made."""
    db = make(":memory:", FOLLOWS, keys=0)
    db.execute("INSERT INTO u(k) VALUES ('new')")
    log, = db.execute("SELECT name FROM sqlite_master WHERE name LIKE 'cuckoo_log_%'").fetchone()
    db.execute(f"DELETE FROM {log}")
    with pytest.raises(sqlite3.Error, match=r"rows of u are missing in it: perhaps .*cf_table_rebuild\('main.seen'\)"):
        ask(db, "SELECT cf_table_contains('seen', 'new')")


@pytest.mark.parametrize("name", ["none", "u", "", "main.none", "seen_page"])
def test_a_wrong_name_is_an_error_and_no_answer(name):
    db = make(":memory:")
    refused(db, ERROR, "SELECT cf_table_check(?)", name, says="no cuckoo_filter table")


@pytest.mark.parametrize("value", [None, 1, 1.5, b"seen"])
def test_another_type_is_an_error(value):
    refused(make(":memory:"), ERROR, "SELECT cf_table_check(?)", value, says="first argument must be the name")


def test_the_command_says_the_same(tmp_path):
    path = str(tmp_path / "seen.db")
    db = make(path)
    db.execute("UPDATE seen_page SET data = zeroblob(length(data)) WHERE no > 0")
    db.close()
    db = support.connect(path)
    assert check(db) in refused(db, DAMAGED, "INSERT INTO seen(seen) VALUES ('check')")


def test_views_and_triggers_of_a_hostile_schema_cannot_call_it():
    db = make(":memory:")
    db.execute("CREATE VIEW v AS SELECT cf_table_check('seen') AS ok")
    assert ask(db, "SELECT ok FROM v") == "ok"
    db.execute("PRAGMA trusted_schema = OFF")
    refused(db, ERROR, "SELECT ok FROM v", says="unsafe use of cf_table_check")


def test_it_can_be_interrupted():
    db = make(":memory:", "capacity=3000000, bucket_size=4", keys=10)
    db.set_progress_handler(lambda: 1, 1)
    with pytest.raises(sqlite3.OperationalError, match="interrupted"):
        check(db)
    db.set_progress_handler(None, 0)
    assert check(db) == "ok"
