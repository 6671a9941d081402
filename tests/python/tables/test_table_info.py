# SPDX-License-Identifier: MIT
"""cf_table_info: what monitoring asks every second. It reads neither pages nor the log, and answers when nothing else does."""
import ctypes
import json
import sqlite3

import pytest

import rows
import support
from support import ask

ALWAYS = ["trusted", "why", "table", "column", "waiting", "doubts", "undrained", "items", "occupied", "capacity", "level", "load", "bytes"]
SLOW = {"fpr_now", "sticky", "void"}


def told(db, name="f", *more):
    return json.loads(ask(db, f"SELECT cf_table_info({', '.join('?' * (1 + len(more)))})", name, *more))


def table(path=":memory:", keys=100, options="capacity=1000"):
    db = support.connect(path)
    db.executescript("PRAGMA page_size = 512; CREATE TABLE u(id INTEGER PRIMARY KEY, k)")
    db.execute(f"CREATE VIRTUAL TABLE f USING cuckoo_filter({options}, content='u(k)')")
    db.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) INSERT INTO u(k) SELECT i FROM n", (keys,))
    db.execute("INSERT INTO f(f) VALUES ('drain')")
    return db


# ---- what it says ----

def test_members():
    db = table()
    plain, everything = told(db), told(db, "f", "all")
    assert set(ALWAYS) <= set(plain) and set(everything) - set(plain) == SLOW and "unmatched" not in plain
    assert [plain[name] for name in ("trusted", "why", "table", "column", "waiting", "undrained", "items", "capacity", "level")] \
        == [1, None, "u", "k", 0, 0, 100, 1000, 0]
    assert told(db, "f", None) == plain and told(db, "main.f", "ALL") == everything
    assert {name: everything[name] for name in plain} == plain


def test_a_filter_that_follows_nothing(db):
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(capacity=100)")
    db.execute("INSERT INTO f(key) VALUES (1), (2)")
    said = told(db)
    assert [said[name] for name in ("trusted", "why", "table", "column", "undrained", "items")] == [1, None, None, None, 0, 2]
    assert told(db, "f", "all")["sticky"] == 0


def test_keys_that_wait(db):
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(capacity=4, value_bits=8, seed=0)")
    db.executemany("INSERT INTO f(key, value) VALUES ('key', ?)", ((value,) for value in range(40)))
    said = told(db)
    assert said["waiting"] == ask(db, "SELECT sum(adds) FROM f_wait") and said["waiting"] + said["items"] == 40


def test_the_log_and_rollback():
    db = table()
    for n in (1, 2, 3):
        db.execute("INSERT INTO u(k) VALUES (?)", (-n,))
        assert told(db)["undrained"] == n
    db.execute("BEGIN")
    db.execute("INSERT INTO u(k) VALUES (-4)")
    assert told(db)["undrained"] == 4
    db.execute("ROLLBACK")
    assert told(db)["undrained"] == 3
    db.execute("INSERT INTO f(f) VALUES ('drain')")
    assert told(db)["undrained"] == 0 and told(db)["items"] == 103


def test_a_log_whose_length_nobody_knows():
    db = table()
    db.execute("BEGIN")
    db.execute(f"INSERT INTO \"{log_of(db)}\"(rowid, row) VALUES ({2**62 + 5}, 1)")
    assert told(db)["undrained"] is None and told(db)["trusted"] == 1


@pytest.mark.parametrize("name", ["plain", "two words", 'a "quoted"', "back\\slash", "new\nline\ttab", "ümläut 漢字", "per%cent %s"])
def test_names_of_any_kind(db, name):
    quoted = name.replace('"', '""')
    db.execute(f'CREATE TABLE "{quoted}"("{quoted}" UNIQUE)')
    inner = quoted.replace("'", "''")
    db.execute(f"CREATE VIRTUAL TABLE f USING cuckoo_filter(content='\"{inner}\"(\"{inner}\")')")
    assert told(db)["table"] == told(db)["column"] == name
    db.execute("ALTER TABLE f RENAME TO g")
    db.execute(f'ALTER TABLE "{quoted}" RENAME TO other')
    assert told(db, "g")["table"] == "other"


@pytest.mark.parametrize("word", ["some", "", 1, b"x"])
def test_a_wrong_second_argument(word):
    with pytest.raises(sqlite3.OperationalError, match="cf_table_info: the second argument must be 'all'"):
        told(table(), "f", word)


# ---- what it costs ----

def pages_read(db, sql):
    """Pages that SQLite was asked for: those in its cache, and those that were not."""
    library, handle = support.sqlite_handle(db)
    def count():
        current, highest = ctypes.c_int(), ctypes.c_int()
        total = 0
        for what in (7, 8):  # SQLITE_DBSTATUS_CACHE_HIT, _MISS
            library.sqlite3_db_status(handle, what, ctypes.byref(current), ctypes.byref(highest), 0)
            total += current.value
        return total
    before = count()
    db.execute(sql).fetchall()
    return count() - before


def test_it_costs_the_same_whatever_the_filter_and_the_log_hold(tmp_path):
    costs = []
    for keys, logged in ((100, 1), (60000, 5000)):
        path = str(tmp_path / f"{keys}.db")
        db = table(path, keys, "capacity=60000" if keys > 100 else "capacity=1000")
        db.close()
        plain = sqlite3.connect(path)  # without the extension nothing is drained
        plain.executemany("INSERT INTO u(k) VALUES (?)", ((-n,) for n in range(logged)))
        plain.commit()
        plain.close()
        db = support.connect(path)
        first = pages_read(db, "SELECT cf_table_info('f')")
        assert told(db)["undrained"] == logged
        costs.append([first, *(pages_read(db, "SELECT cf_table_info('f')") for _ in range(3))])
        everything = pages_read(db, "SELECT cf_table_info('f', 'all')")
        db.close()
    assert everything > 300, "all pages of the filter"
    for small, large in zip(*costs):
        assert large <= small + 8, costs  # B-trees are deeper by so much
    assert max(costs[1][1:]) < 25, costs


def test_it_computes_the_same_whatever_the_filter_and_the_log_hold():
    """Steps of SQLite's machine: more of them would call the progress handler more often."""
    steps = []
    for keys, logged in ((100, 1), (60000, 5000)):
        db = table(keys=keys)
        db.execute("BEGIN")
        db.executemany("INSERT INTO u(k) VALUES (?)", ((-n,) for n in range(logged)))
        told(db)
        count = [0]

        def tick():
            count[0] += 1
        db.set_progress_handler(tick, 1)
        db.execute("SELECT cf_table_info('f')").fetchall()
        db.set_progress_handler(None, 0)
        steps.append(count[0])
    assert abs(steps[0] - steps[1]) < 20 and steps[1] < 400, steps


# ---- a filter that cannot be trusted ----

def header(db):
    return ask(db, "SELECT data FROM f_page WHERE no = 0")


def log_of(db):
    return ask(db, "SELECT name FROM sqlite_master WHERE name LIKE 'cuckoo_log%'")


FAULTS = {
    "trigger": (lambda db: db.execute("DROP TRIGGER f_updated"), "its trigger f_updated on u(k) is missing"),
    "log": (lambda db: db.execute(f'DROP TABLE "{log_of(db)}"'), "its log cuckoo_log_"),
    "table": (lambda db: db.execute("DROP TABLE u"), "the followed table u(k) is gone: create it"),
    "other trigger": (lambda db: db.execute("CREATE TRIGGER t AFTER INSERT ON u BEGIN SELECT RAISE(IGNORE); END"), "the trigger t on u is newer"),
    "column": (lambda db: db.executescript("PRAGMA writable_schema=ON; UPDATE sqlite_master SET sql = replace(sql, ', k', ', k COLLATE NOCASE') "
                                           "WHERE name = 'u'; PRAGMA schema_version = 9999; PRAGMA writable_schema=OFF"), "compares other than when the filter was made"),
    "unmatched": (lambda db: db.execute("UPDATE f_page SET data = ? WHERE no = 0", (rows.patched_header(header(db), unmatched=1),)),
                  "a row of u has gone whose key it did not hold"),
}
LOST = {
    "header": (lambda db: db.execute("UPDATE f_page SET data = x'00' WHERE no = 0"), "row 0 of f_page has been changed; restore"),
    "no header": (lambda db: db.execute("DELETE FROM f_page WHERE no = 0"), "its header is missing; restore"),
    "no pages": (lambda db: db.execute("DROP TABLE f_page"), "shadow table"),
    "later version": (lambda db: db.execute("UPDATE f_page SET data = ? WHERE no = 0", (rows.patched_header(header(db), flags=2),)), "later version"),
}


@pytest.mark.parametrize("word", [None, "all"])
@pytest.mark.parametrize("anew", [False, True])
@pytest.mark.parametrize("fault", [*FAULTS, *LOST])
def test_it_answers_when_the_filter_cannot_be_trusted(tmp_path, fault, anew, word):
    path = str(tmp_path / "x.db")
    db = table(path)
    assert told(db)["trusted"] == 1
    make, why = {**FAULTS, **LOST}[fault]
    other = support.connect(path)
    make(other)
    other.close()
    if anew:
        db.close()
        db = support.connect(path)
    for _ in range(2):
        said = told(db, "f", word)
        assert said["trusted"] == 0 and why in said["why"] and (said["table"], said["column"]) == ("u", "k")
        assert ("items" in said) == (fault in FAULTS) and not SLOW & set(said)
    with pytest.raises(sqlite3.Error) as caught:
        ask(db, "SELECT cf_table_contains('f', 1)")
    assert str(caught.value) == "cf_table_contains: " + said["why"]
    if fault in FAULTS and fault != "table":
        if fault == "other trigger":
            db.execute("DROP TRIGGER t")
        db.execute("SELECT cf_table_rebuild('f')")
        assert told(db, "f", "all")["trusted"] == 1 and told(db)["items"] == 100
    db.execute("DROP TABLE f")


def test_a_page_that_is_damaged_is_told_when_pages_are_read():
    db = table(keys=500)
    db.execute("UPDATE f_page SET data = x'00' WHERE no = 1")
    said = told(db, "f", "all")
    assert said["trusted"] == 0 and "row 1 of f_page has been changed; restore" in said["why"] and said["items"] == 500 and "void" not in said


def test_triggers_that_are_off():
    db = table()
    library, handle = support.sqlite_handle(db)
    library.sqlite3_db_config(handle, support.ENABLE_TRIGGER, ctypes.c_int(0), None)
    assert "triggers are off in this connection" in told(db)["why"]
    library.sqlite3_db_config(handle, support.ENABLE_TRIGGER, ctypes.c_int(1), None)
    assert told(db)["trusted"] == 1


# ---- where it is asked ----

def test_another_connection_sees_each_commit(tmp_path):
    path = str(tmp_path / "x.db")
    db, other = table(path), support.connect(path)
    for n in range(3):
        assert told(other)["undrained"] == told(db)["undrained"] == n
        db.execute("INSERT INTO u(k) VALUES ('new' || ?)", (n,))
    db.execute("DELETE FROM u WHERE id < 50")
    assert told(other) == told(db) and told(other)["items"] == 54
    db.execute("DROP TRIGGER f_moved")
    assert told(other)["trusted"] == told(db)["trusted"] == 0


def test_read_only_attached_temporary(tmp_path):
    path = str(tmp_path / "x.db")
    table(path).close()
    db = support.connect(f"file:{path}?mode=ro", uri=True)
    assert told(db)["trusted"] == 1 and told(db, "f", "all")["items"] == 100
    db = support.connect()
    db.execute("ATTACH ? AS other", (path,))
    db.execute("CREATE TEMP TABLE v(k)")
    db.execute("CREATE VIRTUAL TABLE temp.g USING cuckoo_filter(content='v(k)')")
    assert told(db, "other.f")["items"] == told(db)["items"] == 100 and told(db, "temp.g")["table"] == "v"


def test_asking_joins_no_transaction_and_hides_no_rollback():
    db = table()
    db.execute("BEGIN")
    assert told(db)["items"] == 100
    db.execute("DELETE FROM u")
    assert told(db)["undrained"] == 100
    db.execute("SAVEPOINT s")
    db.execute("DROP TRIGGER f_deleted")
    assert told(db)["trusted"] == 0
    db.execute("ROLLBACK TO s")
    assert told(db)["trusted"] == 1
    db.execute("ROLLBACK")
    assert told(db)["undrained"] == 0
    db.execute("INSERT INTO f(f) VALUES ('check')")
