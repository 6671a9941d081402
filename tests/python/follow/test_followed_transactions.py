# SPDX-License-Identifier: MIT
"""A followed table in transactions: a schema that is read anew, COMMIT that is busy, authorizers, copies, a filter that
is full. No stored row is missed at any time, and afterwards nothing else is there. tests/sim has savepoints, COMMIT that
is interrupted, and several filters.
"""
import itertools
import sqlite3

import pytest

import inside
import support
from address import AIMED, AIMED_AT
from promises import CONFLICTS, EXACT, NUMBERS, Follower, attempt, exercise, people, run, script
from seen import info
from support import DEFENSIVE, TRUSTED_SCHEMA, ask, configure


# What resets or re-reads the schema within a transaction, so that SQLite connects the filter a second time.
RESETS = ["", "PRAGMA writable_schema = RESET", "ATTACH '/no/such/folder/x' AS y", "ALTER TABLE other ADD COLUMN y",
          "ALTER TABLE other RENAME TO others", "CREATE VIRTUAL TABLE bad USING cuckoo_filter(nonsense=1)",
          "CREATE TABLE t(x)",
          "SAVEPOINT z; CREATE TABLE t(x); ROLLBACK TO z; RELEASE z", "ALTER TABLE u RENAME COLUMN x TO y",
          "CREATE TEMP TABLE t(x)", "ANALYZE", "CREATE TRIGGER t AFTER INSERT ON other BEGIN SELECT 1; END"]
F = f"CREATE VIRTUAL TABLE f USING cuckoo_filter({EXACT}, content='u(k)')"
UPKEEP = ["INSERT INTO f(f) VALUES ('rebuild')", "INSERT INTO f(f) VALUES ('optimize')",
          "INSERT INTO f(f) VALUES ('drain')",
          "SELECT cf_table_rebuild('f')"]

# {reset} is one of those above. Keys are there twice: what is done to one row must not take the key of the other.
STORIES = [
    "{begin}; INSERT INTO u(k) VALUES ('before'); DELETE FROM u WHERE id IN (1, 2); {reset}; INSERT INTO u(k) VALUES ('b2'), ('between'); "
    "UPDATE u SET k = 'moved' WHERE k = 'before'; {reset}; INSERT INTO u(k) VALUES ('A1'); ROLLBACK TO s; INSERT INTO u(k) VALUES ('more'); COMMIT",
    *("{begin}; UPDATE u SET k = k || 'x' WHERE id > 2; DELETE FROM u WHERE id = 1; " + sql + "; {reset}; INSERT INTO u(k) VALUES ('later'); " + sql + "; COMMIT"
      for sql in UPKEEP),
    # marks that the table was never told of
    "SAVEPOINT s; INSERT INTO u(k) VALUES ('n'); ROLLBACK TO s; {reset}; INSERT INTO u(k) VALUES ('m'); RELEASE s",
    "SAVEPOINT s; ROLLBACK TO s; INSERT INTO u(k) VALUES ('n'); {reset}; ROLLBACK TO s; RELEASE s",
    "SAVEPOINT a; SAVEPOINT b; SAVEPOINT c; DELETE FROM u WHERE id = 1; ROLLBACK TO a; {reset}; INSERT INTO u(k) VALUES ('n'); RELEASE a",
    "BEGIN; SAVEPOINT a; SAVEPOINT a; DELETE FROM u WHERE id = 1; {reset}; ROLLBACK TO a; RELEASE a; DELETE FROM u WHERE id = 2; COMMIT",
    f"BEGIN; DROP TABLE f; {F}; SAVEPOINT a; INSERT INTO u(k) VALUES ('n'); {{reset}}; ROLLBACK TO a; INSERT INTO u(k) VALUES ('m'); COMMIT",
]


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "log.db")


@pytest.fixture
def f(db):
    db.execute("PRAGMA recursive_triggers = on")
    return people(db)


def all_filters(db):
    """Of those whose table is there."""
    schema = dict(db.execute("SELECT name, sql FROM sqlite_master"))
    told = [(name, info(db, name)) for name, sql in schema.items() if sql and sql.startswith("CREATE VIRTUAL TABLE")]
    return [Follower(db, one["table"], one["column"], name) for name, one in told if one["table"] in schema]


@pytest.mark.parametrize("begin, reset", [("BEGIN; SAVEPOINT s", reset) for reset in RESETS] + list(
    itertools.product(["SAVEPOINT s; SAVEPOINT s", "BEGIN"], RESETS[:4])))
def test_stories(begin, reset):
    """After each statement each filter finds each row of its table; at the end nothing else is in it, and no transaction is lost."""
    for story in STORIES:
        if "{begin}" not in story and begin != "BEGIN":
            continue
        db = support.connect()
        people(db, column="k")
        db.execute("INSERT INTO u(k, x) SELECT k, x FROM u")
        for sql in story.format(begin=begin, reset=reset.replace("; ", ";;")).split("; "):
            errors = script(db, sql.replace(";;", "; ") if "TRIGGER" not in sql else sql)
            assert not errors or sql.split(";;")[0] in reset or "other" in sql + reset or sql == "ROLLBACK TO s", errors
            for one in all_filters(db):
                assert one.answers(), (story, sql)
        assert not db.in_transaction, story
        other = ask(db, "SELECT name FROM sqlite_master WHERE name IN ('other', 'others')")
        assert ask(db, f"SELECT count(*) FROM {other} WHERE x = 7") == ("VALUES (7)" in story)
        for one in all_filters(db):
            one.exact()
        db.close()


def test_a_temporary_filter_while_another_connection_changes_main(path):
    db, other = support.connect(path), support.connect(path)
    db.execute("CREATE TABLE main.w(x)")
    db.execute("CREATE TEMP TABLE u(id INTEGER PRIMARY KEY, k)")
    db.execute(f"CREATE VIRTUAL TABLE temp.f USING cuckoo_filter({EXACT}, content='u(k)')")
    follower = Follower(db, "temp.u", "k", "temp.f")
    follower.check = lambda: db.execute("INSERT INTO temp.f(f) VALUES ('check')")
    db.execute("BEGIN")
    db.execute("INSERT INTO temp.u(k) VALUES ('a'), ('b')")
    db.execute("DELETE FROM temp.u WHERE k = 'a'")
    other.execute("CREATE TABLE t(x)")
    assert ask(db, "SELECT count(*) FROM main.t") == 0 and follower.answers()
    db.execute("INSERT INTO temp.u(k) VALUES ('a'), ('c')")
    assert follower.answers()
    db.execute("COMMIT")
    follower.exact()


@pytest.mark.parametrize("use", ["SELECT cf_table_contains('f', 'A1')", "SELECT 1 FROM f WHERE key = 'A1'",
                                 "SELECT count(*) FROM f"])
def test_a_schema_that_has_had_this_version_before(db, f, use):
    """The version counts up to a number, is rolled back, and comes to the same number with another schema."""
    script(db, "BEGIN; CREATE TABLE t(x)")
    db.execute(use).fetchall()
    script(db, "ROLLBACK; BEGIN")
    inside.drop_own_triggers(db)
    attempt(db, use)
    assert f.doubts()
    db.execute("ROLLBACK")
    assert f.answers()
    f.exact()


@pytest.mark.parametrize("times", [2, 3, 10, 300])
@pytest.mark.parametrize("options", ["capacity=100, fingerprint_bits=32", "capacity=100, fingerprint_bits=32, growth=off",
                                     "capacity=8, fingerprint_bits=32",
                                     "capacity=100, fingerprint_bits=32, counter_bits=2"])
def test_a_key_that_goes_to_and_fro_in_one_transaction_does_not_stick(db, options, times):
    """Its copies must not pile up until the key is saturated, and stays for ever."""
    f = people(db, options)
    db.execute("BEGIN")
    for _ in range(times):
        db.execute("UPDATE u SET k = 'other' WHERE id = 1")
        db.execute("UPDATE u SET k = 'A1' WHERE id = 1")
    db.execute("DELETE FROM u WHERE id = 1")
    db.execute("COMMIT")
    f.exact()
    assert ask(db, "SELECT cf_table_contains('f', 'A1')") == 0


# ---- COMMIT that is busy; authorizers, copies, modes ----

@pytest.mark.parametrize("ending", ["ROLLBACK TO s; COMMIT", "COMMIT", "RELEASE s; COMMIT",
                                    "ROLLBACK TO s; RELEASE s; COMMIT",
                                    "INSERT INTO u(k) VALUES ('x'); COMMIT", "ROLLBACK",
                                    "DELETE FROM u WHERE id = 3; COMMIT",
                                    "ROLLBACK TO s; INSERT INTO u(k) VALUES ('A1'); COMMIT"])
@pytest.mark.parametrize("times", [1, 2])
def test_commit_that_is_busy(path, times, ending):
    """Rollback journal, another connection reads: the transaction goes on."""
    db, other = support.connect(path, timeout=0), support.connect(path, timeout=0)
    f = people(db)
    db.execute("PRAGMA journal_mode = delete")
    script(db, "BEGIN; INSERT INTO u(k) VALUES ('one'); DELETE FROM u WHERE id = 1; SAVEPOINT s;"
               "INSERT INTO u(k) VALUES ('two'); DELETE FROM u WHERE id = 2; UPDATE u SET k = 'C4' WHERE id = 3")
    other.execute("BEGIN")
    other.execute("SELECT * FROM u").fetchall()
    for _ in range(times):
        assert attempt(db, "COMMIT", f).sqlite_errorname == "SQLITE_BUSY"
        assert db.in_transaction and f.answers()
    other.execute("COMMIT")
    assert script(db, ending) == []
    f.exact()
    other_one = Follower(other)
    other_one.exact()


@pytest.mark.parametrize("denied", range(1, 9))
@pytest.mark.parametrize("when", ["SAVEPOINT s", "COMMIT", "INSERT INTO u(k) VALUES ('next')",
                                  "SELECT count(*) FROM f"])
def test_a_write_that_an_authorizer_stops_half_way(db, f, when, denied):
    script(db,
           "BEGIN; INSERT INTO u(k) VALUES ('n1'), ('n2'); DELETE FROM u WHERE id IN (1, 2); UPDATE u SET k = 'C4' WHERE id = 3")
    calls = itertools.count(1)
    db.set_authorizer(lambda *_: sqlite3.SQLITE_DENY if next(calls) == denied else sqlite3.SQLITE_OK)
    attempt(db, when)
    db.set_authorizer(None)
    f.answers()
    if db.in_transaction:
        db.execute("INSERT INTO u(k) VALUES ('later')")
        f.answers()
        db.execute("COMMIT")
    f.exact()


@pytest.mark.parametrize("column", ["type", "name", "tbl_name", "sql", "rowid"])
def test_an_authorizer_that_hides_a_column_of_the_schema(db, f, column):
    """No write and no COMMIT fails. A lookup does, or it asks the table."""
    db.execute("CREATE TRIGGER own AFTER INSERT ON u BEGIN INSERT INTO other VALUES (1); END")
    db.set_authorizer(lambda _, table, of, *__: sqlite3.SQLITE_IGNORE if (table, of) == ("sqlite_master", column)
                      else sqlite3.SQLITE_OK)
    script(db, "BEGIN; INSERT INTO u(k) VALUES ('n1')")
    attempt(db, "SELECT cf_table_contains('f', 'n1')")
    script(db, "COMMIT; INSERT INTO u(k) VALUES ('n2')")
    db.set_authorizer(None)
    assert ask(db, "SELECT count(*) FROM u WHERE k LIKE 'n_' AND cf_table_contains('f', k)") == 2


def test_a_copy_taken_inside_a_transaction(db, f):
    script(db,
           "BEGIN; INSERT INTO u(k) VALUES ('n1'), ('n2'); DELETE FROM u WHERE id = 1; SAVEPOINT s; UPDATE u SET k = k || '!'")
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


@pytest.mark.parametrize("operation, value", [(DEFENSIVE, 1), (TRUSTED_SCHEMA, 0)],
                         ids=["defensive", "untrusted schema"])
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


# ---- a full filter: nobody who writes to the table is refused, nor can be ----

@pytest.mark.parametrize("conflict", CONFLICTS)
def test_rows_one_by_one_beyond_full(db, conflict):
    """Keys that find no place in a filter that does not grow are kept all the same, and get a place when others have gone."""
    db.execute("CREATE TABLE u(k INTEGER PRIMARY KEY)")
    follower = Follower(db).create("capacity=100, growth=off")
    assert not any(attempt(db, f"INSERT {conflict} INTO u VALUES ({key})") for key in range(200))
    follower.exact()
    db.execute("INSERT INTO f(f) VALUES ('drain')")
    assert ask(db, "SELECT json_extract(cf_table_info('f'), '$.unplaced')") > 0
    follower.exact()
    db.execute("DELETE FROM u WHERE k % 3 > 0")
    db.execute("INSERT INTO f(f) VALUES ('optimize')")
    assert ask(db, "SELECT json_extract(cf_table_info('f'), '$.unplaced')") == 0
    follower.exact()


@pytest.mark.parametrize("conflict", CONFLICTS)
def test_keys_that_are_aimed_at_one_pair(db, conflict):
    """Splitting buckets makes little room for them. They are kept all the same."""
    db.execute("CREATE TABLE u(k PRIMARY KEY)")
    follower = Follower(db).create(AIMED_AT + ", growth=on")
    for key in AIMED:
        db.execute(f"INSERT {conflict} INTO u VALUES (?)", (key,))
    assert follower.rows() == len(AIMED)
    follower.exact()
    for key in AIMED[::2]:
        db.execute("DELETE FROM u WHERE k = ?", (key,))
        assert follower.answers()
    follower.exact()


def test_an_update_of_all_keys_does_not_swell_the_filter_each_time(db):
    db.execute("CREATE TABLE u(k)")
    f = Follower(db).create("capacity=1000, fingerprint_bits=32")
    db.execute(NUMBERS + "INSERT INTO u SELECT i FROM n")
    before = ask(db, "SELECT json_extract(cf_table_info('f'), '$.buckets')")
    for _ in range(3):
        script(db, "BEGIN; UPDATE u SET k = k + 100000; COMMIT")
    f.exact()
    assert ask(db, "SELECT json_extract(cf_table_info('f'), '$.buckets')") <= before * 2.3


@pytest.mark.parametrize("command", ["drain", "optimize", "rebuild"])
@pytest.mark.parametrize("looks", [False, True], ids=["", "looked at before COMMIT"])
def test_a_function_rolls_back_while_a_statement_runs(db, command, looks):
    """SQLite lets it, and takes back what the function has done since when the statement fails for it."""
    f = people(db, column="k")
    db.execute("INSERT INTO u(id, k) VALUES (6, 'A1')")  # twice: one that is taken away twice is denied
    said = []

    def call(x):
        if not said:
            said.append(db.execute("ROLLBACK TO s").fetchall())
            said.append(str(attempt(db, f"INSERT INTO f(f) VALUES ('{command}')")))
        return x

    db.create_function("call", 1, call)
    db.execute("INSERT INTO other VALUES (1), (2)")
    db.execute("BEGIN")
    db.execute("DELETE FROM u WHERE id = 1")
    db.execute("INSERT INTO u(k) VALUES ('new')")
    db.execute("SAVEPOINT s")
    assert "ROLLBACK" in str(attempt(db, "UPDATE other SET x = call(x)")) and len(said) == 2
    assert not looks or f.answers()
    db.execute("COMMIT")
    f.exact()


@pytest.mark.parametrize("after", ["", "INSERT INTO f(key) VALUES ('new')", "DELETE FROM f WHERE key = 'a'; DELETE FROM u WHERE k = 'a'"])
@pytest.mark.parametrize("command", ["drain", "optimize"])
def test_a_function_rolls_back_and_changes_keys(db, command, after):
    """The same of a filter that is changed by hand, and of what the function changes after the drain."""
    run(db, "CREATE TABLE u(k); CREATE TABLE other(x); INSERT INTO other VALUES (1), (2); INSERT INTO u VALUES ('a'), ('b'), ('b'); "
            "CREATE VIRTUAL TABLE f USING cuckoo_filter(capacity=1000); INSERT INTO f(key) SELECT k FROM u; INSERT INTO f(f) VALUES ('drain')")
    said = []

    def call(x):
        if not said:
            said.append(db.execute("ROLLBACK TO s").fetchall())
            said.append([attempt(db, sql) for sql in (f"INSERT INTO f(f) VALUES ('{command}')", *after.split("; ")) if sql])
        return x

    db.create_function("call", 1, call)
    run(db, "BEGIN; DELETE FROM f WHERE key = 'b'; SAVEPOINT s")
    assert "ROLLBACK" in str(attempt(db, "UPDATE other SET x = call(x)")) and len(said) == 2
    for end in ("", "INSERT INTO f(f) VALUES ('drain')", "COMMIT"):
        run(db, end)
        assert db.execute("SELECT sum(cf_table_contains('f', k)), count(*) FROM u").fetchone() == (3, 3)
        assert ask(db, "SELECT count(*) FROM f WHERE key = 'new'") == 0


ONE, TWO, DRAIN = "key", "two keys", "INSERT INTO f(f) VALUES ('drain')"
WITHIN = [ONE, TWO, DRAIN, "ROLLBACK TO s", "SAVEPOINT z", "RELEASE z", "ROLLBACK TO z"]


@pytest.mark.parametrize("outer", ["UPDATE other SET x = call(x)", "INSERT INTO other SELECT call(x) FROM other",
                                   "INSERT INTO f(key) SELECT call(x) FROM other"])
@pytest.mark.parametrize("before", ["BEGIN, SAVEPOINT s", "BEGIN, key, SAVEPOINT s", "SAVEPOINT s, key, SAVEPOINT z, two keys",
                                    "SAVEPOINT s, two keys, SAVEPOINT z, key", "BEGIN, key, SAVEPOINT z, key, RELEASE z, SAVEPOINT s"])
def test_what_a_function_writes_after_it_has_rolled_back(db, before, outer):
    """SQLite keeps what ordinary tables were given before it opens savepoints anew. So does a filter, whatever comes then."""
    db.create_function("call", 1, lambda x: x != "last" or [do(sql) for sql in ("ROLLBACK TO s", *within)] and 1 / 0)

    def do(sql):
        if sql in (ONE, TWO):
            keys = ", ".join(f"('k{next(number)}')" for _ in range(1 + (sql == TWO)))
            run(db, f"INSERT INTO u VALUES {keys}; INSERT INTO f(key) VALUES {keys}")
        else:
            attempt(db, sql)

    for within in itertools.product(WITHIN, repeat=2):
        number = itertools.count()
        run(db, "DROP TABLE IF EXISTS f; DROP TABLE IF EXISTS u; DROP TABLE IF EXISTS other; CREATE TABLE u(k UNIQUE); "
                "CREATE TABLE other(x); INSERT INTO other VALUES ('first'), ('last'); "
                "CREATE VIRTUAL TABLE f USING cuckoo_filter(capacity=1000)")
        for sql in before.split(", "):
            do(sql)
        do(outer)
        for end in ("SELECT 1", DRAIN, "COMMIT"):
            attempt(db, end)
            denied = db.execute("SELECT k FROM u WHERE NOT cf_table_contains('f', k)").fetchall()
            assert (within, end, denied) == (within, end, [])


@pytest.mark.parametrize("drains", [False, True])
def test_rows_beside_a_trigger_are_known_after_a_drain_that_is_taken_back(tmp_path, drains):
    """Another connection does not see the TEMP trigger, and learns of it from the header."""
    path = str(tmp_path / "a.db")
    db = support.connect(path)
    run(db, "CREATE TABLE u(id INTEGER PRIMARY KEY, k)")
    db.executemany("INSERT INTO u(k) VALUES (?)", [(f"k{i}",) for i in range(500)])
    run(db, "CREATE VIRTUAL TABLE f USING cuckoo_filter(content='u(k)'); "
            "CREATE TEMP TRIGGER t AFTER INSERT ON u WHEN new.k = 'lost' BEGIN SELECT RAISE(IGNORE); END; "
            "BEGIN; INSERT INTO u VALUES (2500, 'x'); INSERT INTO u VALUES (2501, 'lost'); SAVEPOINT s")
    if drains:
        attempt(db, "INSERT INTO f(f) VALUES ('drain')")
    run(db, "ROLLBACK TO s; COMMIT")
    other = support.connect(path)
    assert ask(other, "SELECT count(*) FROM u WHERE k = 'lost'") == 1
    assert ask(other, "SELECT json_extract(cf_table_info('f'), '$.trusted')") == 0
    assert "trigger" in str(attempt(other, "SELECT cf_table_contains('f', 'lost')"))
