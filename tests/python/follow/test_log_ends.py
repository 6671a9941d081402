# SPDX-License-Identifier: MIT
"""What went wrong at the end of transactions, and what others do to the log: authorizers, triggers, DROP, locks.

It goes on where test_log_traps.py ends. Other processes are in test_log_processes.py.
"""
import contextlib
import itertools
import sqlite3

import pytest

import support
from logs import bare, create, log_of, logged, run, sees, settle, settle_anew, watchers
from promises import Follower, attempt, is_refusal
from support import ask

CHANGES = "INSERT INTO u(k) VALUES ('n'); UPDATE u SET k = 'z' WHERE id = 2; DELETE FROM u WHERE id = 1"
FUNCTION, INSERT, DELETE, READ, SELECT, UPDATE = 31, 18, 9, 20, 21, 23  # of authorizers


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "ends.db")


# ---- authorizers ----

def deny(db, what):
    db.set_authorizer(lambda *asked: sqlite3.SQLITE_DENY if what(*asked[:3]) else sqlite3.SQLITE_OK)


def no_functions(action, _, function):
    return action == FUNCTION


def no_functions_of_ours(action, _, function):
    return action == FUNCTION and function.startswith("cf_")


@pytest.mark.parametrize("what", [no_functions, no_functions_of_ours])
def test_an_authorizer_that_denies_functions_before_the_filter_is_connected(path, what):
    """The TEMP trigger would make each write fail: none is made."""
    create(support.connect(path)).db.close()
    db = bare(path)
    deny(db, what)
    db.enable_load_extension(True)
    db.load_extension(support.extension_path().removesuffix(".so"))
    assert watchers(db) == []
    run(db, CHANGES)
    if what is no_functions_of_ours:
        assert db.execute("SELECT 1 FROM f WHERE key = 'n'").fetchall() == [(1,)]
    else:
        assert attempt(db, "SELECT 1 FROM f WHERE key = 'n'") is not None, "LIKE, too, is a function"
    db.set_authorizer(None)
    settle(Follower(db))


@pytest.mark.parametrize("what", [no_functions, no_functions_of_ours])
@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK"])
def test_an_authorizer_that_denies_functions_later(path, end, what):
    """The write itself is an error that names the function, and changes nothing: the program says what is allowed."""
    f = create(support.connect(path))
    f.db.execute("BEGIN")
    f.db.execute("DELETE FROM u WHERE id = 1")
    deny(f.db, what)
    error = attempt(f.db, "INSERT INTO u(id, k) VALUES (9, 'denied')")
    assert error is None or "not authorized to use function: cf_touch" in str(error)
    f.db.execute(end)
    f.db.set_authorizer(None)
    assert ask(f.db, "SELECT count(*) FROM u WHERE id = 9") == (error is None and end == "COMMIT")
    settle(f)


DENIED = {"all of the log": lambda log: lambda action, name, _: name == log,
          "reading the log": lambda log: lambda action, name, _: action == READ and name == log,
          "emptying the log": lambda log: lambda action, name, _: action == DELETE and name == log,
          "writing pages": lambda log: lambda action, name, _: action in (INSERT, UPDATE) and name == "f_page",
          "reading pages": lambda log: lambda action, name, _: action == READ and name == "f_page",
          "writing the list": lambda log: lambda action, name, _: action in (INSERT, UPDATE) and name == "f_wait",
          "reading the schema": lambda log: lambda action, name, _: action == READ and name == "sqlite_master",
          "reading the table": lambda log: lambda action, name, _: action == READ and name == "u",
          "functions": lambda log: no_functions,
          "SELECT": lambda log: lambda action, *_: action == SELECT,
          "all but the end of transactions": lambda log: lambda action, *_: action != 22}


@pytest.mark.parametrize("liar", [False, True])
@pytest.mark.parametrize("denied", DENIED)
def test_an_authorizer_never_makes_commit_fail(path, denied, liar):
    """What cannot be drained is drained later."""
    f, other = create(support.connect(path)), support.connect(path)
    if liar:
        f.db.execute("CREATE TRIGGER t BEFORE UPDATE ON u WHEN new.x = 9 BEGIN UPDATE u SET k = '' WHERE id = -1; END")
    run(f.db, "BEGIN; " + CHANGES)
    deny(f.db, DENIED[denied](log_of(f.db)))
    f.db.execute("COMMIT")
    f.db.set_authorizer(None)
    assert ask(other, "SELECT count(*) FROM u WHERE k = 'n'") == 1
    assert f.answers() and Follower(other).answers()
    settle(f)


@pytest.mark.parametrize("denied", DENIED)
def test_an_authorizer_never_makes_a_stored_row_denied(path, denied):
    """A lookup may be an error that is not of the filter's making."""
    f, writer = create(support.connect(path)), bare(path)
    run(writer, CHANGES)
    deny(f.db, DENIED[denied](log_of(writer)))
    with contextlib.suppress(sqlite3.DatabaseError):
        assert f.db.execute("SELECT 1 FROM f WHERE key = 'n'").fetchall() == [(1,)]
    f.db.set_authorizer(None)
    settle(f)


# ---- what others do to the log ----

THEIRS = ["CREATE TRIGGER theirs AFTER INSERT ON {log} BEGIN DELETE FROM {log}; END",
          "CREATE TRIGGER theirs BEFORE INSERT ON {log} BEGIN SELECT RAISE(IGNORE); END",
          "CREATE TRIGGER theirs BEFORE DELETE ON {log} BEGIN SELECT RAISE(IGNORE); END",
          "CREATE TEMP TRIGGER theirs AFTER INSERT ON main.{log} BEGIN DELETE FROM {log}; END"]


@pytest.mark.parametrize("sql", THEIRS)
def test_a_trigger_of_others_on_the_log(path, sql):
    """It may take rows out: no lookup answers until it has gone."""
    f = create(support.connect(path))
    sql = sql.format(log=log_of(f.db))
    writer = f.db if "TEMP" in sql else bare(path)
    writer.execute(sql)
    run(writer, CHANGES)
    error = attempt(f.db, "SELECT cf_table_contains('f', 'n')")
    assert is_refusal(error) and "has a trigger" in str(error)
    run(writer, "BEGIN; INSERT INTO u(k) VALUES ('m'); COMMIT")
    writer.execute("DROP TRIGGER theirs")
    f.settled(stale=True)
    f.rebuild()
    settle(f)


@pytest.mark.parametrize("when", ["alone", "in a transaction", "rolled back"])
def test_the_log_is_dropped(path, when):
    """Writes of all programs fail from then on, as SQLite has it. Lookups name the remedy, which makes another log."""
    f, writer = create(support.connect(path)), bare(path)
    before = log_of(writer)
    writer.execute("INSERT INTO u(k) VALUES ('logged')")
    if when != "alone":
        run(writer, "BEGIN; DELETE FROM u WHERE id = 1")
    writer.execute(f"DROP TABLE {before}")
    if when != "alone":
        writer.execute("ROLLBACK" if when == "rolled back" else "COMMIT")
    if when == "rolled back":
        return settle(f)
    assert "no such table" in str(attempt(writer, "INSERT INTO u(k) VALUES ('x')"))
    error = attempt(f.db, "SELECT cf_table_contains('f', 'logged')")
    assert is_refusal(error) and f"its log {before} was dropped" in str(error)
    assert "was dropped" in ask(f.db, "SELECT cf_table_check('f')")
    f.rebuild()
    f.exact()
    run(writer, "SELECT 1 FROM u")  # SQLite does not read the schema anew when it misses the table of a trigger
    run(writer, CHANGES.replace("DELETE", "INSERT INTO u(k) VALUES ('logged again'); DELETE"))
    settle(f)


@pytest.mark.parametrize("sql", ["ALTER TABLE {log} RENAME TO elsewhere", "ALTER TABLE {log} ADD COLUMN more",
                                 "ALTER TABLE {log} RENAME COLUMN new TO newer",
                                 "DROP TABLE {log}; CREATE TABLE {log}(\"row\", \"old\", \"new\", more)",
                                 "DROP TABLE {log}; CREATE VIEW {log} AS SELECT 1 AS row, 2 AS old, 3 AS new"])
def test_the_log_is_another_table(path, sql):
    f, writer = create(support.connect(path)), bare(path)
    log = log_of(writer)
    for one in sql.split("; "):
        attempt(writer, one.format(log=log))
    attempt(writer, "INSERT INTO u(k) VALUES ('n')")
    error = attempt(f.db, "SELECT 1 FROM u")
    if error:  # early SQLite cannot read a schema in which a TEMP trigger is on a view: the trigger's name says what to do
        assert "_connect_anew_if_its_table_is_gone" in str(error) and sqlite3.sqlite_version_info < (3, 35)
        f = Follower(support.connect(path))
    if not f.answers():
        with contextlib.suppress(sqlite3.Error):
            f.rebuild()
        if not f.answers():  # a view of that name cannot go by itself
            writer.execute(f"DROP VIEW {log}")
            f.rebuild()
    settle(f)


def test_rows_of_the_log_are_deleted(path):
    """Nobody can know it for sure: but the sample of rows of a new connection notices."""
    f, writer = create(support.connect(path)), bare(path)
    f.db.close()
    writer.execute("INSERT INTO u(k) VALUES ('lost')")
    writer.execute(f"DELETE FROM {log_of(writer)}")
    f = Follower(support.connect(path))
    assert not f.answers()
    f.rebuild()
    settle(f)


# ---- renames ----

@pytest.mark.parametrize("legacy", [0, 1])
@pytest.mark.parametrize("who", ["with the extension", "bare"])
@pytest.mark.parametrize("order", itertools.permutations(["f", "u", "k"]), ids="".join)
def test_legacy_alter_table(path, order, who, legacy):
    """xRename makes log and triggers ready; SQLite does not rewrite the bodies of triggers then."""
    f = create(support.connect(path))
    db = f.db if who != "bare" else bare(path)
    db.execute(f"PRAGMA legacy_alter_table = {legacy}")
    now = {"f": "f", "u": "u", "k": "k"}
    for what in order:
        target = f.db if what == "f" else db  # only who has the module can rename its table
        target.execute(f"PRAGMA legacy_alter_table = {legacy}")
        sql = {"f": "ALTER TABLE f RENAME TO g", "u": "ALTER TABLE u RENAME TO v",
               "k": f"ALTER TABLE {now['u']} RENAME COLUMN k TO j"}[what]
        target.execute(sql)
        now[what] = {"f": "g", "u": "v", "k": "j"}[what]
        db.execute(f"INSERT INTO {now['u']}({now['k']}) VALUES ('after {what}')")
        assert Follower(f.db, now["u"], now["k"], now["f"]).answers() or legacy
    db.execute(f"DELETE FROM {now['u']} WHERE id = 1")
    f = Follower(f.db, now["u"], now["k"], now["f"])
    if not f.answers():
        f.rebuild()
    settle(f)


# ---- locks ----

@pytest.mark.parametrize("locked", ["f_page", "the log"])
def test_a_shared_cache_in_which_a_table_is_locked(locked):
    """The drain cannot write while another connection reads pages or log: COMMIT has no need of it."""
    uri = f"file:locked_{locked[:3]}?mode=memory&cache=shared"
    db, other, writer = (support.connect(uri, uri=True), support.connect(uri, uri=True),
                         bare(uri, uri=True))
    f = create(db)
    run(writer, CHANGES)
    run(db, "BEGIN; INSERT INTO other VALUES (7); INSERT INTO f(f) VALUES ('drain')")
    run(other, f"BEGIN; SELECT * FROM {log_of(db) if locked == 'the log' else locked}")
    db.execute("COMMIT")
    assert len(logged(db)) == 3 and ask(db, "SELECT x FROM other") == 7
    other.execute("COMMIT")
    assert f.answers()
    settle(f)


def test_a_shared_cache_asks_for_what_is_committed():
    uri = "file:shared_log?mode=memory&cache=shared"
    db, other = support.connect(uri, uri=True), support.connect(uri, uri=True)
    f = create(db)
    for i in range(4):
        assert Follower(other).answers()
        run(db, f"BEGIN; INSERT INTO u(k) VALUES ('n{i}')")
        error = attempt(other, f"SELECT cf_table_contains('f', 'n{i}')")
        assert error is None or error.sqlite_errorname in ("SQLITE_LOCKED", "SQLITE_LOCKED_SHAREDCACHE"), error
        db.execute("COMMIT")
        assert sees(other, f"n{i}")
    run(other, CHANGES)
    settle(f)


def test_commit_answered_by_busy_then_rollback_to(path):
    """All was drained and the log emptied, but the transaction goes on, and a part of the log comes back."""
    db, other = support.connect(path, timeout=0), support.connect(path, timeout=0)
    f = create(db)
    run(db, "PRAGMA journal_mode = delete; BEGIN; DELETE FROM u WHERE id = 1; SAVEPOINT s; DELETE FROM u WHERE id = 2")
    run(other, "BEGIN; SELECT * FROM u")
    assert attempt(db, "COMMIT").sqlite_errorname == "SQLITE_BUSY"
    assert f.answers()
    db.execute("ROLLBACK TO s")
    assert f.answers()
    run(other, "COMMIT")
    run(db, "INSERT INTO u(k) VALUES ('later'); COMMIT")
    assert not sees(db, "A1") and sees(db, "b2")
    settle(f)
    settle_anew(path)


@pytest.mark.parametrize("joined", [False, True])
def test_query_only_does_not_make_commit_fail(path, joined):
    f = create(support.connect(path))
    run(f.db, "BEGIN; " + CHANGES)
    if joined:
        assert f.answers()
    run(f.db, "PRAGMA query_only = ON; COMMIT")
    assert len(logged(f.db)) == 3 and f.answers()
    error = attempt(f.db, "INSERT INTO f(f) VALUES ('drain')")
    assert "readonly" in str(error) or "query_only" in str(error) or error is None
    assert f.answers()
    f.db.execute("PRAGMA query_only = OFF")
    settle(f)


@pytest.mark.parametrize("journal", ["wal", "delete"])
@pytest.mark.parametrize("mode", ["mode=ro", "mode=ro&immutable=1"])
def test_a_read_only_connection_finds_what_was_not_drained(path, mode, journal):
    f, writer = create(support.connect(path)), bare(path)
    f.db.execute(f"PRAGMA journal_mode = {journal}")
    run(writer, CHANGES)
    if "immutable" in mode:
        writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    reader = support.connect(f"file:{path}?{mode}", uri=True)
    there = Follower(reader)
    assert there.answers() and there.items() == there.rows() and ask(reader, "SELECT cf_table_check('f')") == "ok"
    assert "readonly" in str(attempt(reader, "INSERT INTO f(f) VALUES ('drain')"))
    if "immutable" not in mode:
        run(writer, CHANGES.replace("'n'", "'m'").replace("= 1", "= 3"))
        assert there.answers() and sees(reader, "m")
    assert logged(writer) != []
    settle(f)
