# SPDX-License-Identifier: MIT
"""The log by which changes of a column reach the filter that follows it: what the triggers write, when it is drained, who reads it.

What went wrong in first designs of it is in test_log_traps.py and test_log_ends.py; programs without the extension are in
test_log_writers.py.
"""
import pytest

import support
from logs import ROWS, TABLES, bare, create, drain, log_of, logged, run, sees, settle, settle_anew, watchers
from promises import EXACT, Follower, attempt
from support import DEFENSIVE, ask, configure

NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {}) "


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "log.db")


# ---- the table and its triggers ----

STEPS = {
    "INSERT INTO u(id, k) VALUES (7, 'g7')": [(7, None, "g7")],
    "INSERT INTO u(id, k) VALUES (7, NULL)": [],
    "DELETE FROM u WHERE id = 1": [(1, "A1", None)],
    "DELETE FROM u WHERE id = 4": [],
    "UPDATE u SET k = 'z' WHERE id = 1": [(1, "A1", "z")],
    "UPDATE u SET k = k, x = 1": [],
    "UPDATE u SET k = 'a1' WHERE id = 1": [(1, "A1", "a1")],  # equal under NOCASE, but other bytes
    "UPDATE u SET k = NULL WHERE id = 1": [(1, "A1", None)],
    "UPDATE u SET k = 'new' WHERE id = 4": [(4, None, "new")],
    "UPDATE u SET id = 9 WHERE id = 1": [(1, "A1", None), (9, None, "A1")],
    "UPDATE u SET id = 9, k = 'z' WHERE id = 1": [(1, "A1", None), (9, None, "z")],
    "REPLACE INTO u(id, k) VALUES (1, 'z')": [(1, "A1", None), (1, None, "z")],
    "INSERT INTO u(id, k) VALUES (1, 'z') ON CONFLICT(id) DO UPDATE SET k = excluded.k": [(1, "A1", "z")],
}


@pytest.mark.parametrize("sql", STEPS)
def test_each_change_of_a_key_is_a_row_of_the_log(path, sql):
    """By a program without the extension: nobody drains it."""
    db, writer = support.connect(path), bare(path)
    writer.execute("PRAGMA recursive_triggers = ON")
    db.execute("CREATE TABLE u(id INTEGER PRIMARY KEY, k COLLATE NOCASE, x)")
    db.execute("INSERT INTO u(id, k) VALUES (1, 'A1'), (4, NULL)")
    f = Follower(db).create()
    writer.execute(sql)
    assert logged(writer) == STEPS[sql]
    assert ask(db, "SELECT json_extract(cf_table_info('f'), '$.undrained')") == len(STEPS[sql])
    settle(f)


def test_a_table_without_rowid_has_no_row_in_its_log(path):
    f, writer = create(support.connect(path), "without rowid"), bare(path)
    writer.execute("UPDATE u SET id = id + 10, k = k || '!' WHERE id < 3")
    assert logged(writer) == [(None, "A1", "A1!"), (None, "b2", "b2!")]
    settle(f)


def test_a_generated_column_changes_with_others(path):
    """So its triggers are never UPDATE OF the column."""
    db, writer = support.connect(path), bare(path)
    db.execute("CREATE TABLE u(id INTEGER PRIMARY KEY, x, k AS (x || '!'))")
    db.execute("INSERT INTO u(id, x) VALUES (1, 'a'), (2, 'b')")
    f = Follower(db).create()
    writer.execute("UPDATE u SET x = 'c' WHERE id = 1")
    assert logged(writer) == [(1, "a!", "c!")]
    settle(f)


def test_the_log_is_an_ordinary_table_without_a_key(path):
    """Not a shadow table: in defensive mode triggers of programs without the extension could not write to it."""
    f, writer = create(support.connect(path)), bare(path)
    configure(writer, DEFENSIVE, 1)
    writer.execute("INSERT INTO u(k) VALUES ('defensive')")
    columns = writer.execute(f"PRAGMA table_info({log_of(writer)})").fetchall()
    assert [row[1:6] for row in columns] == [(name, "", 0, None, 0) for name in ("row", "old", "new")]
    assert sees(f.db, "defensive")
    settle(f)


def test_a_filter_that_is_renamed_keeps_its_log(path):
    f, writer = create(support.connect(path)), bare(path)
    before = log_of(writer)
    writer.execute("INSERT INTO u(k) VALUES ('early')")
    f.db.execute("ALTER TABLE f RENAME TO g")
    assert log_of(writer, "g") == before and len(logged(writer, "g")) == 1
    writer.execute("DELETE FROM u WHERE k = 'b2'")
    settle(Follower(f.db, name="g"))


def test_two_filters_on_a_table_have_a_log_each(path):
    f, writer = create(support.connect(path)), bare(path)
    g = Follower(f.db, name="g").create()
    assert log_of(writer, "f") != log_of(writer, "g")
    writer.execute("UPDATE u SET k = k || '!'")
    drain(f.db, "f")
    assert logged(writer, "f") == [] and len(logged(writer, "g")) == 4
    settle(f)
    settle(g)


def test_drop_takes_log_and_triggers_along(path):
    f = create(support.connect(path))
    f.db.execute("INSERT INTO u(k) VALUES ('new')")
    f.db.execute("DROP TABLE f")
    assert f.db.execute("SELECT name FROM sqlite_master WHERE name <> 'u' AND name <> 'other'").fetchall() == []
    assert watchers(f.db) == []


def test_every_trigger_makes_the_statement_journal_needed(db):
    """The RAISE that never happens: SQLite before 3.39.3 keeps a row whose newer trigger fails without it."""
    create(db)
    for (sql,) in db.execute("SELECT sql FROM sqlite_master WHERE type = 'trigger'"):
        assert sql.endswith("SELECT RAISE(ABORT, '') WHERE 0; END")


# ---- when it is drained ----

def test_keys_that_come_alone_wait_in_the_log(path):
    f = create(support.connect(path))
    for i in range(3):
        f.db.execute("INSERT INTO u(k) VALUES (?)", (f"n{i}",))
        assert len(logged(f.db)) == i + 1 and f.answers()
    f.db.execute("DELETE FROM u WHERE id = 1")
    assert logged(f.db) == [] and not sees(f.db, "A1"), "a key that has gone is due at COMMIT"
    settle(f)


@pytest.mark.parametrize("begin", [False, True])
def test_a_long_log_is_drained(path, begin):
    f = create(support.connect(path))
    f.db.execute("BEGIN") if begin else None
    f.db.execute(NUMBERS.format(1022) + "INSERT INTO u(k) SELECT 'n' || i FROM n")
    if begin:
        f.db.execute("COMMIT")
    assert len(logged(f.db)) == 1022
    f.db.execute("INSERT INTO u(k) VALUES ('a'), ('b')")
    assert logged(f.db) == []
    assert ask(f.db, "SELECT last_insert_rowid() = max(id) FROM u"), "the drain inserts rows of its own"
    settle(f)


def test_one_rollback_takes_back_what_the_log_says(path):
    f = create(support.connect(path))
    f.db.executescript("BEGIN; INSERT INTO u(k) VALUES ('a'); SAVEPOINT s; INSERT INTO u(k) VALUES ('b'); DELETE FROM u WHERE id = 1")
    assert sees(f.db, "b")
    f.db.execute("ROLLBACK TO s")
    assert logged(f.db) == [(6, None, "a")] and not sees(f.db, "b") and sees(f.db, "a")
    f.db.execute("ROLLBACK")
    assert logged(f.db) == [] and not sees(f.db, "a")
    settle(f)


def test_nothing_is_drained_in_the_middle_of_a_transaction(path):
    """More steps of a row may follow: then its first key has to be in the log still."""
    f = create(support.connect(path))
    f.db.executescript("BEGIN; UPDATE u SET k = 'b' WHERE id = 1; INSERT INTO f(f) VALUES ('drain'); SAVEPOINT s;"
                       "INSERT INTO u(k) VALUES ('c'); RELEASE s; SELECT cf_table_contains('f', 'c')")
    assert logged(f.db) == [(1, "A1", "b"), (6, None, "c")]
    f.db.execute("COMMIT")
    assert logged(f.db) == []
    settle(f)


def test_a_lookup_in_a_transaction_that_writes_drains_what_others_left(path):
    f, writer = create(support.connect(path)), bare(path)
    writer.execute("DELETE FROM u WHERE id = 1")
    assert sees(f.db, "A1"), "found until the log is drained"
    assert len(logged(f.db)) == 1, "a lookup alone writes nothing"
    f.db.execute("UPDATE u SET k = 'z' WHERE id = 2")
    assert logged(f.db) == [] and not sees(f.db, "A1")
    settle(f)


def test_two_drains_in_a_transaction_of_two_filters(path):
    f = create(support.connect(path))
    g = Follower(f.db, name="g").create()
    f.db.executescript("BEGIN; INSERT INTO f(f) VALUES ('drain'); UPDATE u SET k = k || '!'; INSERT INTO f(f) VALUES ('drain');"
                       "INSERT INTO g(g) VALUES ('drain'); COMMIT")
    settle(f)
    settle(g)


@pytest.mark.parametrize("missing", ["f_page", "f_wait", "the log"])
def test_a_table_that_is_missing_does_not_make_commit_fail(path, missing):
    f, writer = create(support.connect(path)), bare(path)
    f.db.executescript("BEGIN; DELETE FROM u WHERE id = 1")
    f.db.execute(f"DROP TABLE {log_of(f.db) if missing == 'the log' else missing}")
    f.db.execute("COMMIT")
    assert ask(writer, "SELECT count(*) FROM u WHERE id = 1") == 0
    assert ask(f.db, "SELECT cf_table_check('f')") != "ok"


# ---- the set of keys that were not drained yet ----

@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_a_set_is_read_on_and_forgotten_after_a_drain_of_others(path, journal):
    db, other, writer = support.connect(path), support.connect(path), bare(path)
    db.execute(f"PRAGMA journal_mode = {journal}")
    f = create(db)
    for i in range(20):
        writer.execute("INSERT INTO u(k) VALUES (?)", (f"n{i}",))
        assert f.answers()
        if i % 7 == 6:
            writer.execute("DELETE FROM u WHERE k = ?", (f"n{i}",))
            drain(other)
            assert not sees(db, f"n{i}"), "the set of another generation"
    settle(f)


def test_the_row_at_the_watermark_is_another_one(path):
    """After a drain ids begin anew: another row with the id of the one that was read last."""
    db, other, writer = support.connect(path), support.connect(path), bare(path)
    f = create(db)
    for turn in range(4):
        for i in range(3):
            writer.execute("INSERT INTO u(k) VALUES (?)", (f"{turn} {i}",))
        assert f.answers()
        writer.execute(f"DELETE FROM {log_of(writer)}")  # as a rollback of others: nothing else has changed
        writer.execute("DELETE FROM u WHERE k LIKE ?", (f"{turn} %",))
        writer.execute(f"DELETE FROM {log_of(writer)}")
    for i in range(3):
        writer.execute("INSERT INTO u(k) VALUES (?)", (f"last {i}",))
    assert f.answers()
    drain(other)
    assert f.answers()


def test_the_row_at_the_watermark_is_the_same_one_of_another_generation(path):
    """And the rows before it are others."""
    f, other, writer = create(support.connect(path)), support.connect(path), bare(path)
    run(writer, "INSERT INTO u(id, k) VALUES (10, 'a'); INSERT INTO u(id, k) VALUES (11, 'z')")
    assert sees(f.db, "z") and f.answers()
    drain(other)
    run(writer, "DELETE FROM u WHERE id = 11")
    drain(other)
    run(writer, "INSERT INTO u(id, k) VALUES (12, 'q'); INSERT INTO u(id, k) VALUES (11, 'z')")
    assert f.answers() and sees(f.db, "q")
    settle(f)


# ---- who drains ----

def test_who_has_the_extension_has_a_temp_trigger_on_each_log(path):
    f = create(support.connect(path))
    assert watchers(f.db) == [f"{log_of(f.db)}_connect_anew_if_its_table_is_gone"]
    Follower(f.db, name="g").create()
    assert len(watchers(f.db)) == 2
    assert len(watchers(support.connect(path))) == 2, "made when the extension is loaded"


def test_who_never_touched_the_filter_drains_at_commit(path):
    create(support.connect(path))
    db = support.connect(path)
    db.execute("DELETE FROM u WHERE id = 1")
    assert logged(db) == []
    settle_anew(path)


@pytest.mark.parametrize("arguments", ["NULL, NULL, 0, 0, 0", "'main', 'f', 0, 0, 0", "'main', 'u', 1, 1, 1", "'no', 'f', 1, 1, 1",
                                       "'main', 'f', {log}, 5000, 1", "'', '', 'x', 'y', x'00'", "'main', 'nobody', {log}, 1, 1"])
def test_cf_touch_by_hand_does_no_harm(path, arguments):
    f = create(support.connect(path))
    log = int(log_of(f.db)[-16:], 16)
    sql = f"SELECT cf_touch({arguments.format(log=log - (1 << 64) if log >> 63 else log)})"
    for begin in ("", "BEGIN; INSERT INTO u(k) VALUES ('new'); DELETE FROM u WHERE id = 1"):
        f.db.executescript(begin)
        assert f.db.execute(sql).fetchall() == [(None,)]
        if begin:
            f.db.execute("COMMIT")
        assert f.answers()
    settle(f)


def test_cf_touch_is_for_temp_triggers_only(path):
    """A database of others cannot have it run by its triggers and views."""
    f = create(support.connect(path))
    f.db.execute("CREATE VIEW v AS SELECT cf_touch('main', 'f', 1, 1, 1)")
    error = attempt(f.db, "SELECT * FROM v")
    assert "unsafe use of cf_touch" in str(error)


@pytest.mark.parametrize("begin", [False, True])
def test_the_column_that_joins_takes_no_key(path, begin):
    f = create(support.connect(path))
    f.db.execute("BEGIN") if begin else None
    f.db.execute("INSERT INTO f(cuckoo_touch) VALUES (1)")
    f.db.execute("INSERT INTO u(k) VALUES ('new')")
    f.db.execute("DELETE FROM u WHERE id = 1")
    if begin:
        f.db.execute("COMMIT")
    settle(f)


# ---- the three kinds of tables ----

CHANGES = ["INSERT INTO u(id, k) VALUES (20, 'n'), (21, 'b2')", "UPDATE u SET k = k || '!' WHERE id IN (1, 2)",
           "UPDATE u SET k = 'A1' WHERE id IN (3, 5)", "DELETE FROM u WHERE id = 21", "UPDATE u SET id = id + 100",
           "DELETE FROM u WHERE id = 102", "UPDATE u SET k = NULL WHERE id = 103",
           "DELETE FROM u; INSERT INTO u(id, k) VALUES (1, 'A1'), (2, 'A1')"]


@pytest.mark.parametrize("one", [True, False], ids=["one transaction", "one each"])
@pytest.mark.parametrize("liar", ["", "BEFORE UPDATE", "BEFORE DELETE"])
@pytest.mark.parametrize("table", TABLES)
def test_what_the_log_adds_up_to(path, table, liar, one):
    """With an exact count where rows have a number that lasts, or nobody lies. A BEFORE trigger that changes other rows of the
    table makes old values doubtful; without rowid such a filter is refused."""
    f, writer = create(support.connect(path), table), bare(path)
    if liar:
        f.db.execute(f"CREATE TRIGGER t {liar} ON u WHEN old.x = 1 BEGIN UPDATE u SET k = 'x' WHERE id = old.id; END")
    refused = bool(liar) and table == "without rowid"
    assert f.answers() != refused
    writer.execute("BEGIN") if one else None
    for sql in CHANGES:
        for each in sql.split("; "):
            writer.execute(each)
    writer.execute("COMMIT") if one else None
    f.db.execute("DROP TRIGGER IF EXISTS t") if refused else None
    settle(f, stale=bool(liar) and table == "rowid")


def test_rows_that_were_there_before_the_log(path):
    """The filter is made of a table that has rows, and its log is empty."""
    db = support.connect(path)
    db.execute(TABLES["key"])
    db.execute(ROWS)
    f = Follower(db).create(EXACT)
    assert logged(db) == []
    f.exact()
