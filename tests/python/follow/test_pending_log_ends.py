# SPDX-License-Identifier: MIT
"""Changes that wait, continued: writers that triggers never see, transactions lost, stale keys, surprises.

The numbers are those of test_pending_log.py, whose fixtures are used here, too.
"""
import itertools
import sqlite3

import pytest

import support
from promises import CONFLICTS, Follower, attempt, exercise, people
from support import DEFENSIVE, ENABLE_TRIGGER, TRUSTED_SCHEMA, ask, configure
from test_pending_log import MANY, f, path, script  # noqa: F401 (fixtures)


# ---- writers that triggers never see ----

@pytest.mark.parametrize("begin", [False, True])
def test_f11_triggers_switched_off(db, f, begin):
    assert f.answers()
    if begin:
        db.execute("BEGIN")
    configure(db, ENABLE_TRIGGER, 0)
    attempt(db, "INSERT INTO u(k) VALUES ('unseen')", f)
    assert not f.answers(), "with triggers off nothing is followed"
    configure(db, ENABLE_TRIGGER, 1)
    f.answers()
    if begin:
        db.execute("COMMIT")
    f.answers()
    f.rebuild()
    f.exact()
    exercise(db, "", f)
    f.exact()


def test_f11_triggers_made_again_in_the_same_words(db, f):
    """Step 8 of SQLite's recipe: they are there, unchanged, on that table; but the rows were changed on the way."""
    triggers = [sql for (sql,) in db.execute("SELECT sql FROM sqlite_master WHERE type = 'trigger' ORDER BY rowid")]
    script(db, "BEGIN; CREATE TABLE n(id INTEGER PRIMARY KEY, k UNIQUE, x); INSERT INTO n SELECT id, lower(k), x FROM u; "
               "DROP TABLE u; ALTER TABLE n RENAME TO u")
    for sql in triggers:
        db.execute(sql)
    db.execute("COMMIT")
    f.answers()
    db.execute("INSERT INTO u(k) VALUES ('x')") if f.answers() else None
    f.rebuild()
    f.exact()


@pytest.mark.parametrize("use", ["SELECT cf_table_contains('f', 'A1')", "SELECT 1 FROM f WHERE key = 'A1'", "SELECT count(*) FROM f"])
def test_f12_a_schema_that_has_had_this_version_before(db, f, use):
    """The version counts up to a number, is rolled back, and comes to the same number with another schema."""
    script(db, "BEGIN; CREATE TABLE t(x)")
    db.execute(use).fetchall()
    script(db, "ROLLBACK; BEGIN; DROP TRIGGER f_inserted")
    with pytest.raises(sqlite3.OperationalError, match="rebuild"):
        db.execute(use).fetchall()
    db.execute("ROLLBACK")
    assert f.answers()
    f.exact()


def test_f12_another_connection_and_the_same_version(path):
    db, other = support.connect(path), support.connect(path)
    f = people(db)
    there = Follower(other)
    for _ in range(3):
        script(db, "BEGIN; CREATE TABLE t(x)")
        assert f.answers()
        script(db, "ROLLBACK")
        other.execute("DROP TRIGGER f_deleted")
        assert not f.answers() and not there.answers()
        there.rebuild()
        assert f.answers() and there.answers()
    f.exact()


def test_f13_a_copy_taken_inside_a_transaction(db, f):
    """What waits was in memory, and a copy did not have it. Now the log has it."""
    script(db, "BEGIN; INSERT INTO u(k) VALUES ('n1'), ('n2'); DELETE FROM u WHERE id = 1; SAVEPOINT s; UPDATE u SET k = k || '!'")
    db.execute("SELECT count(*) FROM f")
    try:
        pages = db.serialize()
    except (AttributeError, sqlite3.Error):
        pytest.skip("no serialize")
    db.execute("COMMIT")
    f.exact()
    copy = support.connect()
    copy.deserialize(pages)
    one = Follower(copy)
    assert one.answers()
    copy.execute("INSERT INTO f(f) VALUES ('drain')")
    one.exact()
    copy.close()


@pytest.mark.parametrize("sql", ["INSERT INTO f(f) VALUES ('rebuild')", "INSERT INTO f(f) VALUES ('clear')",
                                 "INSERT INTO f(f) VALUES ('optimize')", "DELETE FROM f WHERE key = 'A1'",
                                 "SELECT cf_table_rebuild('f')", "INSERT INTO f(f, key) SELECT 'import', cf_new(10)"])
@pytest.mark.parametrize("event", ["AFTER DELETE", "AFTER INSERT", "AFTER UPDATE", "BEFORE DELETE", "BEFORE UPDATE"])
def test_f14_upkeep_within_a_trigger(event, sql):
    """rebuild read the content without the row, and then the delete that waited took another's fingerprint."""
    db = support.connect()
    db.execute("PRAGMA recursive_triggers = on")
    db.execute("CREATE TABLE u(id INTEGER PRIMARY KEY, k, x)")
    f = Follower(db).create()
    db.execute("INSERT INTO u(k) VALUES ('A1'), ('A1'), ('b2'), ('c3')")
    db.execute(f"CREATE TRIGGER t {event} ON u BEGIN {sql}; END")
    for begin in ("", "BEGIN"):
        script(db, begin)
        for change in ("DELETE FROM u WHERE id = 1", "INSERT INTO u(k) VALUES ('A1'), ('d4')", "UPDATE u SET k = k || 'x'",
                       "DELETE FROM u WHERE id = 3"):
            attempt(db, change, f)
        if db.in_transaction:
            db.execute("COMMIT")
        f.answers()
    db.execute("DROP TRIGGER t")
    f.settled()
    db.close()


# ---- transactions lost ----

@pytest.mark.parametrize("change", ["CREATE VIRTUAL TABLE g USING cuckoo_filter(capacity=10); INSERT INTO g(key) VALUES (1)",
                                    "CREATE VIRTUAL TABLE g USING cuckoo_filter(capacity=10, content='other(x)'); INSERT INTO other VALUES (9)",
                                    "ALTER TABLE f RENAME TO g; INSERT INTO u(k) VALUES ('in g')", "DROP TABLE f",
                                    "CREATE VIRTUAL TABLE g USING cuckoo_filter(capacity=10); DROP TABLE g"])
@pytest.mark.parametrize("back", ["ROLLBACK TO a", "ROLLBACK TO a; RELEASE a", "RELEASE a"])
def test_f15_a_filter_that_came_or_went_in_a_savepoint(db, f, back, change):
    """SQLite never tells a new table of the rollback, but asks it to sync: the whole transaction was lost."""
    assert script(db, f"BEGIN; INSERT INTO other VALUES (7); INSERT INTO u(k) VALUES ('n'); SAVEPOINT a; {change}; {back}") == []
    db.execute("COMMIT")
    assert ask(db, "SELECT count(*) FROM other WHERE x = 7") == 1
    if "RELEASE a" != back or "g" in change and "ALTER" not in change:
        f.exact()
    for (name,) in db.execute("SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL%'").fetchall():
        db.execute(f"INSERT INTO {name}({name}) VALUES ('check')")


@pytest.mark.parametrize("conflict", CONFLICTS)
def test_f16_a_full_filter_is_no_error_of_the_statement_nor_of_commit(db, conflict):
    db.execute("CREATE TABLE u(k)")
    f = Follower(db).create("capacity=50, growth=off")
    db.execute("BEGIN")
    for i in range(100):
        assert attempt(db, f"INSERT {conflict} INTO u VALUES ({i})", f) is None
        assert db.in_transaction
    db.execute("DELETE FROM u WHERE k = 99")
    db.execute("COMMIT")
    assert ask(db, "SELECT count(*) FROM u") == 99
    f.exact()


def test_f16_an_interrupt_in_commit_loses_nothing_without_a_word(path):
    for after in (1, 2, 5, 20, 100):
        db = support.connect(path)
        db.execute("DROP TABLE IF EXISTS u")
        db.execute("DROP TABLE IF EXISTS f")
        db.execute("DROP TABLE IF EXISTS other")
        f = people(db)
        script(db, "BEGIN; INSERT INTO u(k) VALUES ('n'); DELETE FROM u WHERE id = 1")
        calls = itertools.count(1)
        db.set_progress_handler(lambda: next(calls) >= after, 1)
        error = attempt(db, "COMMIT")
        db.set_progress_handler(None, 0)
        if error and db.in_transaction:
            assert f.answers()
            db.execute("COMMIT")
            error = None
        assert ask(db, "SELECT count(*) FROM u WHERE k = 'n'") == 1 or error
        f.exact()
        db.close()


def test_f16_an_interrupt_in_the_first_commit_of_a_connection_loses_nothing_without_a_word(path):
    """That COMMIT saves the names of table and column, too: an interrupt of this write rolls the transaction back."""
    db = support.connect(path)
    people(db)
    db.close()
    for after in itertools.count(1, 2):
        db = support.connect(path)
        script(db, f"BEGIN; INSERT INTO u(k) VALUES ('n{after}'); DELETE FROM u WHERE k = 'n{after - 2}'")
        calls = itertools.count(1)
        db.set_progress_handler(lambda: next(calls) == after, 1)
        error = attempt(db, "COMMIT")
        last = next(calls) <= after
        db.set_progress_handler(None, 0)
        db.close()
        db = support.connect(path)
        assert ask(db, f"SELECT count(*) FROM u WHERE k = 'n{after}'") == 1 or error, after
        db.close()
        if last:
            break
    assert after > 200


@pytest.mark.parametrize("how", ["query_only", "rollback"])
def test_f16_names_that_could_not_be_saved_are_saved_later(path, how):
    """The names of table and column, for a rebuild when the triggers are gone."""
    db = support.connect(path)
    people(db)
    db.close()
    bare = sqlite3.connect(path)
    bare.execute("ALTER TABLE u RENAME TO v")
    db = support.connect(path)
    script(db, "BEGIN; INSERT INTO v(k) VALUES ('n'); DELETE FROM v WHERE id = 1")
    if how == "query_only":
        assert script(db, "PRAGMA query_only = 1; COMMIT; PRAGMA query_only = 0") == []
    else:
        reader = bare.execute("SELECT * FROM v")
        assert attempt(db, "PRAGMA busy_timeout = 0") is None
        assert str(attempt(db, "COMMIT")) == "database is locked"
        db.execute("ROLLBACK")
        reader.close()
    bare.close()
    script(db, "DELETE FROM v WHERE id = 2; DROP TRIGGER f_inserted; DROP TRIGGER f_deleted")
    script(db, "DROP TRIGGER f_updated; DROP TRIGGER f_moved")
    db.close()
    db = support.connect(path)
    db.execute("SELECT cf_table_rebuild('f')").fetchall()
    assert ask(db, "SELECT 'e5' IN f") == 1


def test_f17_a_delete_makes_room_for_an_insert(db):
    db.execute("CREATE TABLE u(k)")
    f = Follower(db).create("capacity=50, growth=off")
    db.execute(MANY + "INSERT INTO u SELECT i FROM n LIMIT 50")
    script(db, "BEGIN")
    for i in range(1, 40):
        assert script(db, f"DELETE FROM u WHERE k = {i}; INSERT INTO u VALUES ({i + 1000})") == []
        assert f.answers()
    db.execute("COMMIT")
    assert script(db, "BEGIN; UPDATE u SET k = k + 5000; UPDATE u SET k = k + 5000; COMMIT") == []
    f.exact()


def test_f17_an_update_of_all_keys_does_not_swell_the_filter_each_time(db):
    db.execute("CREATE TABLE u(k)")
    f = Follower(db).create("capacity=2000, fingerprint_bits=32")
    db.execute(MANY + "INSERT INTO u SELECT i FROM n")
    before = ask(db, "SELECT json_extract(cf_table_info('f'), '$.buckets')")
    for _ in range(3):
        script(db, "BEGIN; UPDATE u SET k = k + 100000; COMMIT")
    f.exact()
    assert ask(db, "SELECT json_extract(cf_table_info('f'), '$.buckets')") <= before * 2.3


# ---- stale keys ----

@pytest.mark.parametrize("text", ["DELETE FROM u WHERE k = 'n1'; INSERT INTO u(k) VALUES ('n1')",
                                  "INSERT INTO u(k) VALUES ('n1'); DELETE FROM u WHERE k = 'n1'",
                                  "UPDATE u SET k = 'n1' WHERE id = 1; UPDATE u SET k = 'A1' WHERE id = 1",
                                  "UPDATE u SET k = CASE k WHEN 'b2' THEN 'C3!' ELSE 'b2!' END WHERE id IN (2, 3)"])
@pytest.mark.parametrize("times", [1, 2, 50])
def test_f18_adds_and_deletes_of_one_transaction_net_out(db, f, times, text):
    db.execute("BEGIN")
    for _ in range(times):
        script(db, text)
        assert f.answers()
    db.execute("COMMIT")
    f.exact()


@pytest.mark.parametrize("times", [2, 3, 10, 300])
@pytest.mark.parametrize("options", ["capacity=100, fingerprint_bits=32", "capacity=100, fingerprint_bits=32, growth=off",
                                     "capacity=8, fingerprint_bits=32", "capacity=100, fingerprint_bits=32, counter_bits=2"])
def test_f18_a_key_that_goes_to_and_fro_in_one_transaction_does_not_stick(db, options, times):
    """Its copies must not pile up until the key is sticky, and stays for ever."""
    f = people(db, options)
    db.execute("BEGIN")
    for _ in range(times):
        db.execute("UPDATE u SET k = 'other' WHERE id = 1")
        db.execute("UPDATE u SET k = 'A1' WHERE id = 1")
    db.execute("DELETE FROM u WHERE id = 1")
    db.execute("COMMIT")
    f.exact()
    assert ask(db, "SELECT cf_table_contains('f', 'A1')") == 0


@pytest.mark.parametrize("recursive", ["on", "off"])
def test_f19_replace(db, recursive):
    """Without recursive triggers SQLite tells nobody of the rows that go: a stale copy for each, and never a denial."""
    db.execute(f"PRAGMA recursive_triggers = {recursive}")
    f = people(db)
    for i in range(20):
        db.execute(f"REPLACE INTO u(id, k) VALUES (1, 'r{i}'), (2, 'b2'), (99, 'e5')")
        assert f.answers()
    f.exact(stale=recursive == "off")
    f.rebuild()
    f.exact()


# ---- surprises ----

def test_counts_and_rowids_that_programs_read(db, f):
    cursor = db.execute("INSERT INTO u(id, k) VALUES (700, 'n')")
    assert cursor.lastrowid == 700 and ask(db, "SELECT changes()") == 1
    db.execute("BEGIN")
    db.execute("INSERT INTO u(id, k) VALUES (800, 'm'), (801, 'o')")
    db.execute("DELETE FROM u WHERE id IN (1, 2)")
    assert ask(db, "SELECT changes()") == 2
    db.execute("COMMIT")
    assert ask(db, "SELECT last_insert_rowid()") == 801
    f.exact()


@pytest.mark.parametrize("operation, value", [(DEFENSIVE, 1), (TRUSTED_SCHEMA, 0)], ids=["defensive", "untrusted schema"])
def test_in_modes_that_distrust(db, f, operation, value):
    configure(db, operation, value)
    for begin in ("", "BEGIN", "SAVEPOINT s"):
        script(db, begin)
        exercise(db, "OR IGNORE", f)
        assert f.answers()
        if db.in_transaction:
            db.execute("COMMIT")
        f.exact()
    f.rebuild()
    f.exact()
