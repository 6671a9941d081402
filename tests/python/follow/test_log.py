# SPDX-License-Identifier: MIT
"""Who uses a filter at an awkward time, and what others do to its log: connections that come late, statements that are running,
tables that have gone, numbers of rows that come again, authorizers, triggers, locks.

After each of them no stored row is denied, no statement has failed that would not fail without the filter, and the filter holds
what the column holds.
"""
import contextlib
import json
import sqlite3

import pytest

import inside
import support
from promises import (NUMBERS, Follower, attempt, bare, create, is_refusal, run, script, sees, settle, settle_anew)
from support import ask

CHANGES = "INSERT INTO u(k) VALUES ('n'); UPDATE u SET k = 'z' WHERE id = 2; DELETE FROM u WHERE id = 1"


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "log.db")


# ---- the first use in a connection ----

def late_comer(path):
    """A connection that has the extension, and was there before the filter."""
    db = support.connect(path)
    db.execute("SELECT * FROM sqlite_master").fetchall()
    create(support.connect(path))
    return db, Follower(db)


def test_the_first_use_is_in_a_running_insert(path):
    """It expired the statement: "abort due to ROLLBACK", and a row stayed that no filter was told of."""
    db, f = late_comer(path)
    db.create_function("look", 1, lambda key: key if ask(db, "SELECT cf_table_contains('f', 'A1')") else None)
    db.execute("INSERT INTO u(k) SELECT look(k || '!') FROM u WHERE k IS NOT NULL")
    assert ask(db, "SELECT count(*) FROM u WHERE k LIKE '%!'") == 4
    settle(f)


# ---- a filter that another connection drops or renames ----

def test_rows_are_written_after_a_foreign_drop(path):
    db, other = support.connect(path), support.connect(path)
    create(db)
    other.execute("DROP TABLE f")
    run(db, "INSERT INTO u(k) VALUES ('n'); UPDATE u SET k = k || '!'; DELETE FROM u; CREATE TABLE t(x); VACUUM")
    db.execute("ALTER TABLE u RENAME TO v")
    support.connect(path).execute("ALTER TABLE v RENAME TO w")
    bare(path).execute("ALTER TABLE w RENAME TO u")


def test_detach_and_attach_under_another_name(path, tmp_path):
    create(support.connect(path))
    db = support.connect(str(tmp_path / "main.db"))
    db.execute("CREATE TABLE here(x)")
    for name in ("one", "two"):
        db.execute(f"ATTACH ? AS {name}", (path,))
        f = Follower(db, f"{name}.u", "k", f"{name}.f")
        run(db, f"SELECT * FROM {name}.f WHERE key = 'A1'; INSERT INTO {name}.u(k) VALUES ('{name}'); "
                f"DELETE FROM {name}.u WHERE id = {len(name)}")
        assert f.answers()
        run(db, f"DETACH {name}; ALTER TABLE here RENAME TO there; ALTER TABLE there RENAME TO here")
    settle_anew(path)


# ---- what has been read is not believed for too long ----

def world_of(path, tmp_path, schema):
    """A follower of a database that is main, or attached."""
    create(support.connect(path))
    db = support.connect(path if schema == "main" else str(tmp_path / "main.db"))
    if schema != "main":
        db.execute(f"ATTACH ? AS {schema}", (path,))
    return Follower(db, f"{schema}.u", "k", f"{schema}.f")


@pytest.mark.parametrize("schema", ["main", "other_one"])
@pytest.mark.parametrize("begin", ["BEGIN", "BEGIN; INSERT INTO {s}.u(k) VALUES ('early')", "SAVEPOINT s"])
def test_a_lookup_in_a_statement_that_fails(path, tmp_path, begin, schema):
    """The numbers come again, and the last one with the same key."""
    f = world_of(path, tmp_path, schema)
    db = f.db
    db.create_function("look", 1, lambda key: key if sees(db, "A1", f.name) and not sees(db, "-", f.name) else None)
    run(db, begin.format(s=schema))
    with pytest.raises(sqlite3.IntegrityError):
        db.execute(f"INSERT INTO {schema}.u(id, k) VALUES (50, look('x')), (51, look('z')), (1, look('no'))")
    run(db, f"INSERT INTO {schema}.u(id, k) VALUES (50, 'q'), (51, 'z')")
    assert f.answers()
    db.execute("COMMIT")
    assert f.answers()
    settle_anew(path)


# ---- authorizers ----

def deny(db, what):
    db.set_authorizer(lambda *asked: sqlite3.SQLITE_DENY if what(*asked[:3]) else sqlite3.SQLITE_OK)


@pytest.mark.parametrize("denied", ["functions", "functions of ours"])
def test_an_authorizer_that_denies_functions_before_the_filter_is_connected(path, denied):
    """No write fails for what the filter does. SQLite 3.54 asks for the function in a DEFAULT of the log, too."""
    f, db = create(support.connect(path)), bare(path)
    deny(db, inside.denials(f.db)[denied])
    db.enable_load_extension(True)
    db.load_extension(support.extension_path().removesuffix(".so"))
    errors = [str(error) for _, error in script(db, CHANGES)]
    asks = denied == "functions" and sqlite3.sqlite_version_info >= (3, 54)
    assert set(errors) == ({"not authorized to use function: randomblob"} if asks else set())
    error = attempt(db, "SELECT 1 FROM f WHERE key = 'n'")
    assert error is None or denied == "functions"
    db.set_authorizer(None)
    settle(Follower(db))


@pytest.mark.parametrize("denied", inside.DENIALS)
@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK"])
def test_an_authorizer_that_comes_later(path, end, denied):
    """A write is an error that names what is denied, and changes nothing, or it is done. A COMMIT never fails for it, and no lookup
    denies a stored row."""
    f, other = create(support.connect(path)), support.connect(path)
    run(f.db, "BEGIN; " + CHANGES)
    deny(f.db, inside.denials(f.db)[denied])
    error = attempt(f.db, "INSERT INTO u(id, k) VALUES (9, 'denied')")
    assert error is None or "not authorized" in str(error) or "prohibited" in str(error) or denied == "SELECT"
    if denied != "all but the end of transactions" or end == "COMMIT":
        f.db.execute(end)
    with contextlib.suppress(sqlite3.DatabaseError):
        assert f.db.execute("SELECT 1 FROM f WHERE key = 'n'").fetchall() == [(1,)] * (end == "COMMIT")
    f.db.set_authorizer(None)
    script(f.db, "ROLLBACK")
    assert ask(other, "SELECT count(*) FROM u WHERE id = 9") == (error is None and end == "COMMIT")
    assert ask(other, "SELECT count(*) FROM u WHERE k = 'n'") == (end == "COMMIT")
    assert f.answers() and Follower(other).answers()
    settle(f)


# ---- what others do to the log ----

@pytest.mark.parametrize("what", inside.LOG_TRIGGERS)
def test_a_trigger_of_others_on_the_log(path, what):
    """It may take rows out: no lookup answers until it has gone."""
    f = create(support.connect(path))
    writer = f.db if "temporary" in what else bare(path)
    inside.damage(writer, inside.LOG_TRIGGERS[what])
    run(writer, CHANGES)
    error = attempt(f.db, "SELECT cf_table_contains('f', 'n')")
    assert is_refusal(error) and f"the {'TEMP ' * ('temporary' in what)}trigger theirs on its log" in str(error)
    assert "trigger theirs on its log" in ask(f.db, "SELECT json_extract(cf_table_rebuild('f'), '$.why')")
    run(writer, "BEGIN; INSERT INTO u(k) VALUES ('m'); COMMIT; DROP TRIGGER theirs")
    f.settled(stale=True)
    f.rebuild()
    settle(f)


@pytest.mark.parametrize("program", ["same", "other"])
@pytest.mark.parametrize("what", ["deletes", "deletes, temporary"])
def test_rows_that_a_trigger_on_the_log_has_taken_out(path, what, program):
    """The connection that wrote beside it has the extension and notes it, for the time when the trigger has gone. (The row is in the midst
    of many, where no sample looks.)"""
    db = support.connect(path)
    db.executescript("CREATE TABLE u(id INTEGER PRIMARY KEY, k TEXT UNIQUE); WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c "
                     "WHERE x < 2000) INSERT INTO u(k) SELECT 'k' || x FROM c; CREATE VIRTUAL TABLE f USING cuckoo_filter(content='u(k)')")
    assert ask(db, "SELECT cf_table_contains('f', 'n')") == 0
    writer = db if program == "same" else support.connect(path)
    assert ask(writer, "SELECT cf_table_contains('f', 'n')") == 0
    inside.damage(writer, inside.LOG_TRIGGERS[what])
    run(writer, "UPDATE u SET k = 'n' WHERE id = 1000; DROP TRIGGER theirs")
    assert ask(db, "SELECT cf_table_contains('f', 'n')") == 1
    assert "why" not in json.loads(ask(db, "SELECT cf_table_rebuild('f')"))
    assert json.loads(ask(db, "SELECT cf_table_info('f')"))["trusted"] == 1 and ask(db, "SELECT cf_table_contains('f', 'n')") == 1


STILL = {
    "a TEMP trigger": ("CREATE TEMP TABLE changed(k); CREATE TEMP TRIGGER theirs AFTER INSERT ON u BEGIN INSERT INTO changed VALUES (1); END",
                       "DROP TRIGGER theirs", "the TEMP trigger theirs on u"),
    "a trigger on the log": (inside.LOG_TRIGGERS["deletes"], "DROP TRIGGER theirs", "the trigger theirs on its log cuckoo_log_"),
    "a TEMP trigger on the log": (inside.LOG_TRIGGERS["deletes, temporary"], "DROP TRIGGER theirs", "the TEMP trigger theirs on its log"),
}


@pytest.mark.parametrize("what", STILL)
@pytest.mark.parametrize("begin", ["", "BEGIN"])
def test_a_rebuild_that_cannot_make_it_trusted_says_so(path, what, begin):
    change, remedy, why = STILL[what]
    f = create(support.connect(path))
    assert "why" not in json.loads(ask(f.db, "SELECT cf_table_rebuild('f')"))
    inside.damage(f.db, change)
    run(f.db, f"{begin}; INSERT INTO u(k) VALUES ('n')")
    for _ in range(2):
        told = json.loads(ask(f.db, "SELECT cf_table_rebuild('f')"))
        assert told["keys"] > 0 and told["why"].startswith("still not trusted, because " + why)
    run(f.db, remedy + ("; COMMIT" if begin else ""))
    assert "why" not in json.loads(ask(f.db, "SELECT cf_table_rebuild('f')"))
    settle(f)


@pytest.mark.parametrize("when", ["alone", "in a transaction", "rolled back"])
@pytest.mark.parametrize("what", inside.LOG_DAMAGE)
def test_the_log_is_gone_or_another_table(path, what, when):
    """Writes of all programs may fail from then on, as SQLite has it. Lookups find all rows or name the remedy, which helps."""
    f, writer = create(support.connect(path)), bare(path)
    writer.execute("INSERT INTO u(k) VALUES ('logged')")
    run(writer, "BEGIN; DELETE FROM u WHERE id = 1") if when != "alone" else None
    inside.damage(writer, inside.LOG_DAMAGE[what])
    if when != "alone":
        writer.execute("ROLLBACK" if when == "rolled back" else "COMMIT")
    if when == "rolled back":
        return settle(f)
    attempt(writer, "INSERT INTO u(k) VALUES ('n')")
    if attempt(f.db,
               "SELECT 1 FROM u"):  # early SQLite cannot read such a schema: the name of the trigger says what to do
        assert sqlite3.sqlite_version_info < (3, 35)
        f = Follower(support.connect(path))
    if not f.answers():
        with contextlib.suppress(sqlite3.Error):
            f.rebuild()
        if not f.answers():  # a view of that name cannot go by itself
            script(writer, f"DROP VIEW {inside.log_of(writer)}")
            f.rebuild()
    run(writer, "SELECT 1 FROM u")  # SQLite does not read the schema anew when it misses the table of a trigger
    run(writer, CHANGES.replace("DELETE FROM u WHERE id = 1", "INSERT INTO u(k) VALUES ('logged again')"))
    settle(f)
    return None


def test_rows_of_the_log_are_deleted(path):
    """Nobody can know it before somebody asks for a row; `check` looks at all of them, and guesses at the reason."""
    f, writer = create(support.connect(path)), bare(path)
    f.db.close()
    writer.execute("INSERT INTO u(k) VALUES ('lost')")
    inside.empty_log(writer)
    f = Follower(support.connect(path))
    assert "rows of u are missing in it: its triggers may " in ask(f.db, "SELECT cf_table_check('f')")
    f.rebuild()
    settle(f)


def test_rows_of_the_log_are_written_anew(path):
    """A restore of all tables, row by row. Who has read the log knows by the tag that these are others."""
    f, writer = create(support.connect(path)), bare(path)
    f.db.execute("INSERT INTO f(f) VALUES ('drain')")
    writer.execute("INSERT INTO u(k) VALUES ('here1'), ('here2')")
    assert f.answers()
    run(writer, "BEGIN; UPDATE u SET k = 'there' || substr(k, 5) WHERE k LIKE 'here_'")
    inside.write_log_anew(writer, "there1", "there2")
    writer.execute("COMMIT")
    assert f.answers()
    settle(f)


@pytest.mark.parametrize("missing", inside.OWN_TABLES)
def test_a_table_that_is_missing_does_not_make_commit_fail(path, missing):
    f, writer = create(support.connect(path)), bare(path)
    run(f.db, "BEGIN; DELETE FROM u WHERE id = 1")
    f.db.execute(f"DROP TABLE {inside.own_table(f.db, missing)[0]}")
    f.db.execute("COMMIT")
    assert ask(writer, "SELECT count(*) FROM u WHERE id = 1") == 0
    assert ask(f.db, "SELECT cf_table_check('f')") != "ok"


# ---- locks ----

def test_a_shared_cache_in_which_a_table_is_locked():
    """Another connection reads the pages of the filter: COMMIT has no need of them, however long the log is."""
    uri = "file:locked?mode=memory&cache=shared"
    db, other = support.connect(uri, uri=True), support.connect(uri, uri=True)
    f = create(db)
    run(db, f"BEGIN; INSERT INTO other VALUES (7); {NUMBERS} INSERT INTO u(k) SELECT 'm' || i FROM n; "
            f"{NUMBERS} INSERT INTO u(k) SELECT 'n' || i FROM n")
    run(other, f"BEGIN; SELECT * FROM {inside.own_table(db, 'pages')[0]}")
    db.execute("COMMIT")
    assert ask(db, "SELECT x FROM other") == 7
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


@pytest.mark.parametrize("joined", [False, True])
def test_query_only_does_not_make_commit_fail(path, joined):
    f = create(support.connect(path))
    run(f.db, "BEGIN; " + CHANGES)
    if joined:
        assert f.answers()
    run(f.db, "PRAGMA query_only = ON; COMMIT")
    assert f.answers()
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
    settle(f)


# ---- how long it becomes ----

def pending(db, name="f"):
    return json.loads(ask(db, f"SELECT cf_table_info('{name}')"))["pending"]


@pytest.mark.parametrize("keys", [10, 300_000])
def test_when_a_commit_drains(path, keys):
    """A 256th of the slots in use, and at least 1,024 rows."""
    db = support.connect(path)
    run(db, f"CREATE TABLE u(id INTEGER PRIMARY KEY, k); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {keys}) "
            "INSERT INTO u(k) SELECT i FROM n; CREATE VIRTUAL TABLE f USING cuckoo_filter(content='u(k)')")
    least = max(1024, json.loads(ask(db, "SELECT cf_table_info('f')"))["occupied"] // 256)
    assert (least > 1100) == (keys > 1100 * 256)
    db.execute("BEGIN")
    db.executemany("INSERT INTO u(k) VALUES (?)", ((f"n{i}",) for i in range(least - 1)))
    db.execute("COMMIT")
    assert pending(db) == least - 1
    db.execute("INSERT INTO u(k) VALUES ('the last')")
    assert pending(db) == 0


@pytest.mark.parametrize("end", ["COMMIT", "PRAGMA user_version = 3; COMMIT", "INSERT INTO other VALUES (1); COMMIT"])
@pytest.mark.parametrize("anew", [False, True], ids=["", "connected anew"])
def test_a_transaction_that_writes_no_row_of_the_log_does_not_drain(path, anew, end):
    """What a reader has begun with stays the newest: so it can write."""
    db = create(support.connect(path)).db
    db = support.connect(path) if anew else db
    run(db, "PRAGMA journal_mode = wal")
    run(bare(path), f"{NUMBERS} INSERT INTO u(k) SELECT 'n' || i FROM n, (SELECT 1 UNION ALL SELECT 2)")
    before = pending(db)
    assert before > 1024
    reader = bare(path)
    run(reader, "BEGIN; SELECT count(*) FROM u")
    run(db, f"BEGIN IMMEDIATE; SELECT cf_table_contains('f', 'n1'); {end}")
    assert pending(db) == before
    if end == "COMMIT":
        run(reader, "INSERT INTO u(k) VALUES ('mine'); COMMIT")
    run(db, "INSERT INTO u(k) VALUES ('the last')")
    assert pending(db) == 0


def test_a_commit_drains_an_attached_database(path, tmp_path):
    db = world_of(path, tmp_path, "another").db
    run(db, f"{NUMBERS} INSERT INTO another.u(k) SELECT 'n' || i FROM n, (SELECT 1 UNION ALL SELECT 2)")
    assert pending(db, "another.f") == 0


def test_sqlite_counts_the_row_of_a_trigger_at_once():
    """The cache of a table in a transaction relies on it (table.c)."""
    db, seen = support.connect(), []
    db.create_function("note", 1, lambda key: seen.append(db.total_changes) or 1, deterministic=True)
    run(db, "CREATE TABLE u(k CHECK (note(k))); CREATE TABLE log(k); "
            "CREATE TRIGGER t AFTER INSERT ON u BEGIN INSERT INTO log VALUES (new.k); SELECT RAISE(ABORT, '') WHERE 0; END; "
            "INSERT INTO u VALUES (1), (2), (3)")
    assert [n - seen[0] for n in seen] == [0, 1, 2]


@pytest.mark.parametrize("key, most", [("i", 20), ("printf('%013d', i)", 31), ("printf('%036d', i)", 55)])
def test_bytes_of_the_log(path, key, most):
    """Of a change in a program without the extension, as REFERENCE.md says; both keys of an update."""
    create(support.connect(path))
    db, log = bare(path), inside.log_of(bare(path))
    db.execute(f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000) INSERT INTO u(k) SELECT {key} FROM n")
    inserted = ask(db, "SELECT sum(pgsize) FROM dbstat WHERE name = ?", log) / 50_000
    assert most - 3 <= inserted <= most + 1
    db = support.connect(path)
    assert pending(db) == 50_000
    db.execute("DELETE FROM u WHERE id = 1")
    assert pending(db) == 0, "one COMMIT of a connection with the extension"
