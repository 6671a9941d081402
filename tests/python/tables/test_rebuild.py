# SPDX-License-Identifier: MIT
"""Rebuild: what it returns, the shape that it plans, and that a rebuild that fails changes nothing."""
import json
import sqlite3

import pytest

import inside
import support
from seen import info
from support import ask


# ---- what it returns, and what it plans ----

def told(db, name="f"):
    return info(db, name, "all")


def rebuild(db, *arguments):
    return json.loads(ask(db, f"SELECT cf_table_rebuild({', '.join('?' * len(arguments))})", *arguments))


def table(options, keys, path=":memory:", unique="UNIQUE"):
    db = support.connect(path)
    db.execute(f"CREATE TABLE u(k {unique})")
    db.execute(f"CREATE VIRTUAL TABLE f USING cuckoo_filter({options}, content='u(k)')")
    add(db, range(keys))
    return db


def add(db, keys):
    with db:
        db.execute("BEGIN")
        db.executemany("INSERT INTO u VALUES (?)", ((key,) for key in keys))


def sound(db, name="f"):
    assert ask(db, f"SELECT count(*) FROM u WHERE NOT cf_table_contains('{name}', k)") == 0
    db.execute(f"INSERT INTO {name}({name}) VALUES ('check')")


KEPT = ["seed", "hash", "counter_bits", "value_bits", "affinity", "collation", "growth", "stash"]
OPTIONS = ["fpr=0.001", "fpr=0.03, seed=5", "fingerprint_bits=12", "bucket_size=8, layout=plain", "counter_bits=3",
           "hash=xxh3, seed=7"]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("command", [False, True])
def test_a_filter_that_has_grown_is_planned_for_the_rows_of_today(tmp_path, options, command):
    path = str(tmp_path / "x.db")
    db = table(f"capacity=500, {options}", 20000, path)
    before = told(db)
    assert before["level"] > 3 and before["capacity"] == 500
    db.close()
    db = support.connect(path)  # what CREATE said is read again
    if command:
        db.execute("INSERT INTO f(f) VALUES ('rebuild')")
    else:
        said = rebuild(db, "f")
        assert list(said) == ["keys", "seconds", "bytes"] and said["keys"] == 20000 and 0 < said["seconds"] < 60
        assert said["bytes"] == told(db)["bytes"]
    after = told(db)
    assert after["level"] == 0 and after["capacity"] == 25000 and after["items"] == 20000
    assert {name: after[name] for name in KEPT} == {name: before[name] for name in KEPT}
    db.execute(f"CREATE VIRTUAL TABLE g USING cuckoo_filter(capacity=25000, {options}, content='u(k)')")
    fresh = told(db, "g")
    for name in ("fingerprint_bits", "bucket_size", "buckets", "layout", "fpr_at_capacity", "bytes"):
        assert after[name] == fresh[name], name
    sound(db)
    add(db, range(-100, 0))
    db.execute("DELETE FROM u WHERE k > 15000")
    sound(db)


def test_one_that_has_not_outgrown_its_plan_keeps_it(db):
    db = table("capacity=1000", 900)
    db.execute("INSERT INTO f(f) VALUES ('drain')")
    before = told(db)
    assert rebuild(db, "f") == {"keys": 900, "seconds": pytest.approx(0, abs=5), "bytes": before["bytes"]}
    assert {**told(db), "occupied": 0, "fpr_now": 0, "load": 0} == {**before, "occupied": 0, "fpr_now": 0, "load": 0}


@pytest.mark.parametrize("how", ["SELECT cf_table_rebuild('f', {})", "INSERT INTO f(f, key) VALUES ('rebuild', {})"])
@pytest.mark.parametrize("capacity", [0, 1, 100, 3000, 3000.0, 200000, 5000000])
def test_to_a_capacity(how, capacity):
    db = table("capacity=2000", 2000)
    bytes_before = told(db)["bytes"]
    db.execute(how.format(capacity)).fetchall()
    after = told(db)
    assert after["capacity"] == max(capacity, 1) or after["capacity"] == capacity
    assert after["items"] == 2000 and (after["level"] > 0) == (capacity < 2000)
    if capacity > 2000:
        assert after["bytes"] > bytes_before and after["fpr_at_capacity"] <= 0.01
    sound(db)
    db.execute("SELECT cf_table_rebuild('f', NULL)")
    assert told(db)["capacity"] == (capacity if capacity > 2000 else 2500)


@pytest.mark.parametrize("capacity, error", [(-1, "whole number"), (1.5, "whole number"), ("'5000'", "whole number"),
                                             ("x'01'", "whole number"),
                                             ("1e13", "1099511627776"), ("1e300", "1099511627776|whole number"),
                                             (10**12, "more than there is memory for")])
@pytest.mark.parametrize("how", ["SELECT cf_table_rebuild('f', {})", "INSERT INTO f(f, key) VALUES ('rebuild', {})"])
def test_a_capacity_that_cannot_be(how, capacity, error):
    db = table("capacity=2000", 100)
    db.execute("BEGIN")
    db.execute("INSERT INTO u VALUES ('pending')")
    before = told(db)
    if "INSERT" in how and capacity == "'5000'":
        pytest.skip("the command takes what reads as a number")
    with pytest.raises(sqlite3.Error, match=error):
        db.execute(how.format(capacity)).fetchall()
    assert db.in_transaction and told(db) == before and ask(db, "SELECT cf_table_contains('f', 'pending')")
    db.execute("COMMIT")
    sound(db)


def test_a_filter_that_follows_nothing(db):
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(capacity=10)")
    for how in ("SELECT cf_table_rebuild('f')", "SELECT cf_table_rebuild('f', 100)",
                "INSERT INTO f(f, key) VALUES ('rebuild', 100)"):
        with pytest.raises(sqlite3.OperationalError,
                           match="nothing to rebuild from.* create another one, and fill it: CREATE VIRTUAL TABLE"):
            db.execute(how).fetchall()


@pytest.mark.parametrize("options", ["", ", stash=on", ", fpr=0.0001, stash=on, max_kicks=3, stash_size=9"])
def test_growth_off_takes_all_rows(options):
    db = table(f"capacity=3000, growth=off{options}", 3000)
    before = told(db)
    inside.drop_own_triggers(db, which="INSERT")
    add(db, range(10000, 20000))
    assert rebuild(db, "f")["keys"] == 13000
    after = told(db)
    assert after["capacity"] == 13000 * 5 // 4 and after["unplaced"] == 0 and after["growth"] == "off"
    assert {name: after[name] for name in KEPT} == {name: before[name] for name in KEPT}
    sound(db)


def test_keys_without_a_place_wait():
    db = table("capacity=1000, growth=off", 300)
    assert rebuild(db, "f", 10)["keys"] == 300 and told(db)["unplaced"] > 200
    sound(db)


def test_keys_that_repeat_are_planned_once():
    db = table("capacity=100", 0, unique="")
    add(db, [n % 300 for n in range(30000)])
    rebuild(db, "f")
    assert (told(db)["capacity"], told(db)["items"], told(db)["counter_bits"]) == (375, 30000, 8)
    sound(db)


def test_attached_temporary_renamed(tmp_path):
    path = str(tmp_path / "x.db")
    table("capacity=500", 3000, path).close()
    db = support.connect()
    db.execute("ATTACH ? AS other", (path,))
    assert rebuild(db, "other.f", 7000)["keys"] == 3000 and told(db, "other.f")["capacity"] == 7000
    db.execute("ALTER TABLE other.f RENAME TO g")
    db.execute("ALTER TABLE other.u RENAME COLUMN k TO l")
    assert rebuild(db, "g", 8000)["keys"] == 3000 and told(db, "g")["capacity"] == 8000
    db.execute("CREATE TEMP TABLE v(k)")
    db.execute("INSERT INTO v VALUES (1)")
    db.execute("CREATE VIRTUAL TABLE temp.h USING cuckoo_filter(capacity=5, content='v(k)')")
    assert rebuild(db, "h", 800)["keys"] == 1 and told(db, "h")["capacity"] == 800


def test_a_database_that_cannot_be_written(tmp_path):
    path = str(tmp_path / "x.db")
    table("capacity=500", 300, path).close()
    db = support.connect(f"file:{path}?mode=ro", uri=True)
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        rebuild(db, "f", 7000)
    sound_rows = ask(db, "SELECT count(*) FROM u WHERE cf_table_contains('f', k)")
    assert sound_rows == 300


def refuse_one(db, number):
    """An authorizer refuses the request of this number; returns whether there was one."""
    asked = [0]

    def judge(*_):
        asked[0] += 1
        return sqlite3.SQLITE_DENY if asked[0] == number else sqlite3.SQLITE_OK

    db.set_authorizer(judge)
    return lambda: asked[0] >= number


@pytest.mark.parametrize("without", ["no trigger", "DELETE", ""])
def test_whatever_is_refused_it_is_done_or_an_error(without):
    """What it says to have done is done: what was in the log counts once, and triggers tell of what comes."""
    number, done, refused = 0, 0, [True]
    while refused[-1]:
        number += 1
        db = table("fpr=0.000001", 50)
        if without != "no trigger":
            inside.drop_own_triggers(db, which=without)
        db.execute("BEGIN")
        db.execute("DELETE FROM u WHERE k < 5")
        db.execute("INSERT INTO u VALUES (100), (101)")
        there = refuse_one(db, number)
        try:
            rebuild(db, "f")
            says_done = True
        except sqlite3.Error:
            says_done = False
        refused.append(there())
        db.set_authorizer(None)
        assert ask(db, "SELECT count(*) FROM u WHERE NOT cf_table_contains('f', k)") == 0, number
        if says_done:
            assert told(db)["trusted"] == 1, number
            db.execute("DELETE FROM u WHERE k IN (7, 100)")
            db.execute("INSERT INTO u VALUES (102)")
            asked = [ask(db, f"SELECT cf_table_contains('f', {key})") for key in (3, 7, 100, 101, 102)]
            assert asked == [0, 0, 0, 1, 1], number
            db.execute("COMMIT")
            assert told(db)["items"] == 46, number
            sound(db)
            done += 1
        db.close()
    assert number > 20 and done >= 1


def test_a_log_that_cannot_be_emptied_is_an_error():
    """Else its rows would count twice."""
    db = table("capacity=500", 300)
    db.execute("BEGIN")
    db.execute("INSERT INTO u VALUES ('more')")
    db.execute(f"CREATE TRIGGER keeps BEFORE DELETE ON {inside.log_of(db)} BEGIN SELECT RAISE(ABORT, 'kept'); END")
    with pytest.raises(sqlite3.Error, match="kept"):
        rebuild(db, "f")
    assert not db.in_transaction
    assert rebuild(db, "f")["keys"] == 300
    sound(db)


def test_options_are_those_of_the_table_that_there_is(tmp_path):
    """Another connection has made another table of this name since this one looked."""
    path = str(tmp_path / "x.db")
    db, other = table("capacity=500, fpr=0.01", 300, path), support.connect(path)
    assert told(other)["fpr_at_capacity"] > 0.001
    db.execute("DROP TABLE f")
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(capacity=500, fpr=0.00001, content='u(k)')")
    rebuild(other, "f", 9000)
    assert told(other)["fpr_at_capacity"] < 0.00001
    sound(db)


# ---- rows that cannot be read ----

@pytest.fixture
def unreadable():
    """A filter that follows a computed column. With fails=[True] rows of more than 700 cannot be computed."""
    db, fails = support.connect(), []

    def same(value):
        if fails and value >= 700:
            raise ValueError
        return value
    db.create_function("same", 1, same, deterministic=True)
    db.execute("CREATE TABLE u(id INTEGER PRIMARY KEY, n, k AS (same(n)))")
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(capacity=2000, content='u(k)')")
    db.executemany("INSERT INTO u(n) VALUES (?)", ((n,) for n in range(1000)))
    yield db, fails
    db.close()


@pytest.mark.parametrize("sql", ["SELECT cf_table_rebuild('f')", "INSERT INTO f(f) VALUES ('rebuild')",
                                 "INSERT INTO f(f) VALUES ('check')",
                                 "SELECT key FROM f",
                                 "CREATE VIRTUAL TABLE g USING cuckoo_filter(capacity=10, content='u(k)')"])
@pytest.mark.parametrize("within", [False, True])
def test_rows_that_cannot_be_read_are_named(unreadable, sql, within):
    """And all is as it was."""
    db, fails = unreadable
    if within:
        db.execute("BEGIN")
    db.execute("INSERT INTO u VALUES (-500, 'a new one')")
    db.executemany("INSERT INTO u VALUES (?, ?)", ((-1000 - n, -n) for n in range(300)))
    before = db.execute("SELECT name FROM sqlite_master").fetchall()
    assert ask(db, "SELECT cf_table_contains('f', 'a new one')")  # the filter has looked at its table, and believes it
    fails.append(True)
    with pytest.raises(sqlite3.Error, match=r"u\(k\) cannot be read: user-defined function raised exception"):
        db.execute(sql).fetchall()
    fails.clear()
    if within:
        db.execute("COMMIT")
    assert db.execute("SELECT name FROM sqlite_master").fetchall() == before
    assert ask(db, "SELECT cf_table_contains('f', 'a new one')")
    sound(db)
    db.execute(sql).fetchall()


def test_a_column_that_compares_in_another_way_is_a_fault(tmp_path):
    db = support.connect(tmp_path / "x.db")
    db.executescript("CREATE TABLE u(k TEXT); INSERT INTO u VALUES ('a'), ('B'); CREATE VIRTUAL TABLE f USING cuckoo_filter(content='u(k)')")
    db.executescript("PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = 'CREATE TABLE u(k TEXT COLLATE NOCASE)' WHERE name = 'u';"
                     "PRAGMA writable_schema = RESET")
    db.close()
    db = support.connect(tmp_path / "x.db")
    with pytest.raises(sqlite3.OperationalError, match=r"u\(k\) compares differently than when the filter was created"):
        db.execute("SELECT * FROM f WHERE key = 'b'").fetchall()
    rebuild(db, "f")
    assert all(ask(db, "SELECT EXISTS (SELECT 1 FROM f WHERE key = ?)", key) for key in "aAbB")
    sound(db)


def test_triggers_that_cannot_be_dropped_change_nothing():
    db = table("capacity=100", 50)
    db.execute("BEGIN")
    db.execute("INSERT INTO u VALUES ('new')")
    db.set_authorizer(lambda action, *_: sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_DROP_TRIGGER else sqlite3.SQLITE_OK)
    with pytest.raises(sqlite3.DatabaseError, match="its triggers on .* cannot be created: not authorized"):
        db.execute("SELECT cf_table_rebuild('f')").fetchall()
    db.set_authorizer(None)
    assert db.in_transaction
    sound(db)
    db.execute("COMMIT")
    assert told(db)["trusted"] == 1 == ask(db, "SELECT cf_table_contains('f', 'new')")
    sound(db)
