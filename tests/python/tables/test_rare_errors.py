# SPDX-License-Identifier: MIT
"""Errors that few come across: keys chosen to crowd one place, a full table, rows that cannot be read any more."""
import json
import sqlite3

import pytest

import support
from support import ask
from test_interrupt import Handler
from test_persistent import ERROR, check, create, has, items, lost, refused

# Integers whose hashes, with seed 0, agree in the first 6 bits and in the last 14, and differ in between: they have
# the same two buckets, and go on having them when the filter is made wider, or grows.
CROWD = (
    99042, 141968, 945253, 1501754, 2147531, 4952850, 6010659, 7229011, 9083178, 9209693, 9769002, 10173830, 13323260,
    14487199, 14762079, 16300500, 17555539, 19194851, 19997781, 20309452, 22709402, 23812324, 25736621, 25769967)


# ---- keys that crowd one place ----

@pytest.mark.parametrize("options", ["", "counter_bits=2", "bucket_size=2"])
def test_a_build_of_keys_that_crowd_one_place_is_refused(db, options):
    build = "SELECT cf_build(value, NULL, ?) FROM json_each(?)"
    options = f"fingerprint_bits=24 {options} seed="
    support.fails(db, support.FULL, build, options + "0", json.dumps(CROWD), says="try another seed in the options")
    blob = ask(db, build, options + "12345", json.dumps(CROWD))
    assert all(support.contains(db, blob, key) for key in CROWD)


# ---- a table that is full ----

def test_an_update_that_has_no_room_keeps_the_old_key(db):
    """Both buckets of key 7 are full of its values. The row of another key goes first, which makes no room there."""
    create(db, "capacity=1000, growth=off, value_bits=8")
    add = "INSERT INTO seen(key, value) VALUES (?, ?)"
    most = 0
    with pytest.raises(sqlite3.OperationalError, match="full"):
        for most in range(256):
            db.execute(add, (7, most))
    assert 4 <= most < 40
    db.execute(add, (8, 1))
    refused(db, ERROR, "UPDATE seen SET key = 7, value = 200 WHERE key = 8", says="full")
    assert db.execute("SELECT value FROM seen WHERE key = 8").fetchall() == [(1,)]
    assert sorted(db.execute("SELECT value FROM seen WHERE key = 7")) == [(value,) for value in range(most)]
    assert items(db) == most + 1
    check(db)
    db.execute("UPDATE seen SET key = 9 WHERE key = 8")
    assert lost(db, [7, 9]) == [] and items(db) == most + 1


# ---- rows that cannot be read any more ----

@pytest.fixture
def unreadable(db):
    """A filter that follows a computed column. With state["broken"] no row but the first can be computed."""
    state = {"broken": False}

    def compute(x):
        if state["broken"] and x > 1:
            raise ValueError
        return x
    db.create_function("compute", 1, compute, deterministic=True)
    db.execute("CREATE TABLE t(x INTEGER PRIMARY KEY, k AS (compute(x)))")
    db.executemany("INSERT INTO t VALUES (?)", [(x,) for x in range(1, 10)])
    create(db, "content='t(k)'")
    return db, state


UNREADABLE = "t(k) cannot be read: user-defined function raised exception"


@pytest.mark.parametrize("sql", [
    "SELECT key FROM seen", "INSERT INTO seen(seen) VALUES ('check')", "INSERT INTO seen(seen) VALUES ('rebuild')"])
def test_rows_that_cannot_be_read_are_named(unreadable, sql):
    db, state = unreadable
    assert has(db, 1)  # the filter has looked at its table, and believes it
    state["broken"] = True
    refused(db, ERROR, sql, says=UNREADABLE)
    state["broken"] = False
    db.execute(sql).fetchall()
    assert lost(db, range(1, 10)) == []
    check(db)


def test_a_filter_is_not_made_of_rows_that_cannot_be_read(unreadable):
    db, state = unreadable
    state["broken"] = True
    refused(db, ERROR, "CREATE VIRTUAL TABLE other USING cuckoo_filter(capacity=10, content='t(k)')",
            says=UNREADABLE)
    state["broken"] = False
    assert ask(db, "SELECT count(*) FROM sqlite_master WHERE name LIKE 'other%'") == 0
    create(db, "content='t(k)'", "other")
    assert lost(db, range(1, 10), "other") == []


# ---- a followed table whose columns take names of the rowid ----

@pytest.mark.parametrize("names", ["rowid", "rowid, _rowid_", "rowid, _rowid_, oid", "oid, ROWID"])
def test_columns_may_have_the_names_of_the_rowid(db, names):
    """A BEFORE trigger that can keep a row makes the filter ask which rows there are."""
    db.execute(f"CREATE TABLE t(k, {names})")
    create(db, "content='t(k)'")
    db.execute("CREATE TRIGGER before BEFORE UPDATE ON t WHEN new.k = 'kept' BEGIN SELECT raise(IGNORE); END")
    db.executemany("INSERT INTO t(k, rowid) VALUES (?, ?)", [(f"k{i}", i % 3) for i in range(30)])
    db.execute("UPDATE t SET k = 'n' || k WHERE k < 'k2'")
    db.execute("UPDATE OR IGNORE t SET k = 'kept' WHERE k LIKE 'k2%'")
    db.execute("DELETE FROM t WHERE k LIKE 'nk1%'")
    db.execute("INSERT INTO seen(seen) VALUES ('rebuild')")
    kept = [key for (key,) in db.execute("SELECT k FROM t")]
    assert len(kept) == 19 and lost(db, kept) == []
    check(db)


@pytest.mark.parametrize("kind", ["VIEW t(k) AS SELECT 1", "VIRTUAL TABLE t USING cuckoo_filter(capacity=3)",
                                  "TABLE t(other)"])
def test_a_table_that_has_become_something_else_is_no_table_to_follow(unreadable, kind):
    db, _ = unreadable
    db.execute("DROP TABLE t")
    db.execute("CREATE " + kind)
    refused(db, ERROR, "INSERT INTO seen(seen) VALUES ('rebuild')",
            says="t has no column k; it has other" if "other" in kind else "t is a view" if "VIEW" in kind else "t is a virtual table")
    refused(db, ERROR, "SELECT 1 FROM seen WHERE key = 1", says="the followed table t(k) is gone" + (
        ": create it" if "other" in kind else " (content: t is a view" if "VIEW" in kind else " (content: t is a virtual table"))


# ---- what only triggers may say ----

def test_the_hidden_column_brings_no_key(unreadable):
    """By cuckoo_touch a filter that follows a table comes to take part in the transaction; nothing else is done with it."""
    db, _ = unreadable
    for value in 0, 4, -1, "x", 1 << 40:
        refused(db, ERROR, "INSERT INTO seen(key, cuckoo_touch) VALUES (99, ?)", value, says="it follows t(k): change that table")
        db.execute("INSERT INTO seen(cuckoo_touch) VALUES (?)", (value,))
    check(db)
    assert lost(db, range(1, 10)) == [] and items(db) == 9 and not has(db, 99)


def test_the_hidden_column_hides_no_key(db):
    create(db)
    db.execute("INSERT INTO seen(key, cuckoo_touch) VALUES (1, 1)")
    assert has(db, 1) and items(db) == 1
    db.execute("INSERT INTO seen(cuckoo_touch) VALUES (1)")
    db.execute("UPDATE seen SET cuckoo_touch = 3 WHERE key = 1")
    db.execute("UPDATE seen SET key = 2, cuckoo_touch = 3 WHERE key = 1")
    refused(db, ERROR, "UPDATE seen SET seen = 'clear' WHERE key = 2", says="commands are given by INSERT INTO seen(seen)")
    assert has(db, 2) and not has(db, 1) and items(db) == 1
    check(db)


# ---- the column compares in another way ----

def test_a_column_that_compares_in_another_way_is_a_fault(tmp_path):
    db = support.connect(tmp_path / "x.db")
    db.execute("CREATE TABLE t(k TEXT)")
    db.execute("INSERT INTO t VALUES ('a'), ('B')")
    create(db, "content='t(k)'")
    assert lost(db, ["a", "B"]) == []
    db.execute("PRAGMA writable_schema = ON")
    db.execute("UPDATE sqlite_master SET sql = 'CREATE TABLE t(k TEXT COLLATE NOCASE)' WHERE name = 't'")
    db.execute("PRAGMA writable_schema = RESET")
    db.close()
    db = support.connect(tmp_path / "x.db")
    refused(db, ERROR, "SELECT * FROM seen WHERE key = 'b'", says="t(k) compares other than when the filter was made")
    db.execute("INSERT INTO seen(seen) VALUES ('rebuild')")
    assert lost(db, ["a", "A", "b", "B"]) == []
    check(db)
    db.close()


# ---- numbers ----

@pytest.mark.parametrize("fpr", ["1e-30", "1e-400", "0.0000000000000000000000000000000000001"])
def test_rates_below_any_are_refused(db, fpr):
    with pytest.raises(sqlite3.OperationalError, match="fpr"):
        create(db, f"capacity=100, fpr={fpr}")
    assert ask(db, "SELECT count(*) FROM sqlite_master") == 0


# ---- commands that are interrupted ----

@pytest.fixture(scope="module")
def long():
    """A filter table of many keys that follows a table, with more room than it needs; another one of the same keys."""
    db = support.connect()
    db.execute("CREATE TABLE t(k)")
    db.execute("WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 60000) INSERT INTO t SELECT i FROM n")
    create(db, "content='t(k)'")
    db.execute("DELETE FROM t WHERE rowid % 3 = 0")
    create(db, name="free")
    blob = ask(db, "SELECT cf_export('seen')")
    db.execute("INSERT INTO free(free, key) VALUES ('import', ?)", (blob,))
    yield db, blob
    db.close()


@pytest.mark.parametrize("command", ["check", "optimize", "rebuild", "import"])
def test_commands_are_interrupted(long, command):
    """At any of its questions: the keys are there, and nothing is wrong inside."""
    db, blob = long
    table = "free" if command == "import" else "seen"
    values = (command, blob if command == "import" else None)
    last, stopped = 1, 0
    while True:
        handler = Handler(last)
        try:
            db.set_progress_handler(handler, 100)
            db.execute(f"INSERT INTO {table}({table}, key) VALUES (?, ?)", values)
            break
        except sqlite3.OperationalError as error:
            assert error.sqlite_errorname == "SQLITE_INTERRUPT" and "interrupted" in str(error)
            stopped += 1
        finally:
            db.set_progress_handler(None, 0)
        assert lost(db, [key for key in range(1, 60000, 997) if key % 3], table) == []
        last += last // 4 + 1
    assert stopped > 5
    db.execute(f"INSERT INTO {table}({table}) VALUES ('check')")


# ---- long names, large filters ----

@pytest.mark.parametrize("table_length, column_length", [(1500, 1500), (3, 2500), (2500, 3), (999, 999), (999, 1000)])
def test_names_may_be_longer_than_the_filter_keeps(db, table_length, column_length):
    """Then it goes by the names in its triggers, which SQLite renames."""
    table, column = "t" * table_length, "c" * column_length
    keys = []

    def add(key, into):
        db.execute(f"INSERT INTO {into} VALUES (?)", (key,))
        keys.append(key)
        assert lost(db, keys) == [] and items(db) == len(keys)
    db.execute(f"CREATE TABLE {table}({column})")
    create(db, f"content='{table}({column})'")
    add("a", table)
    db.execute(f"ALTER TABLE {table} RENAME TO u")
    add("b", "u")
    db.execute(f"ALTER TABLE u RENAME {column} TO k")
    add("c", "u")
    check(db)
    db.execute("INSERT INTO seen(seen) VALUES ('rebuild')")
    add("d", "u")
    check(db)


@pytest.mark.parametrize("capacity", [500_000_000, 20_000_000_000])
def test_a_filter_for_which_there_is_no_memory_is_refused(db, capacity):
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_AS)
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (200 << 20), before[1]))
    try:
        refused(db, support.TOO_BIG, f"CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity={capacity})",
                says="more than there is memory for; use a smaller capacity")
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    assert ask(db, "SELECT count(*) FROM sqlite_master") == 0
    create(db)
    check(db)


# ---- names of what is no filter table, and cannot be read either ----

FUNCTIONS = ["cf_table_contains(?, 1)", "cf_table_info(?)", "cf_table_check(?)", "cf_export(?)", "cf_picture(?)"]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_view_that_cannot_be_read_is_no_filter_table(db, function):
    db.execute("CREATE VIEW broken AS SELECT * FROM nowhere")
    support.fails(db, support.BAD_PARAMETER, f"SELECT {function}", "broken", says="there is no cuckoo_filter table of this name: broken")


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_table_of_a_module_that_is_not_there(tmp_path, function):
    db = support.connect(tmp_path / "foreign.db")
    create(db, "capacity=10")
    db.execute("PRAGMA writable_schema = ON")
    db.execute("UPDATE sqlite_master SET sql = 'CREATE VIRTUAL TABLE seen USING elsewhere(x)' WHERE name = 'seen'")
    db.close()
    db = support.connect(tmp_path / "foreign.db")
    support.fails(db, support.BAD_PARAMETER, f"SELECT {function}", "seen", says="SQLite cannot read it: SELECT * FROM the table says why")
    db.close()


# ---- PRAGMA count_changes: each statement that writes gives a row first ----

@pytest.mark.parametrize("options", ["capacity=10", "capacity=10, adds=once", "capacity=10, keep='1 hour'", "capacity=2, value_bits=3",
                                     "content='u(k)'", "content='u(k)', rows=on"])
def test_count_changes(tmp_path, options):
    db = support.connect(tmp_path / "counted.db")
    db.execute("CREATE TABLE u(k UNIQUE)")
    db.execute("PRAGMA count_changes = ON")
    create(db, options)
    into = "u(k)" if "content" in options else "seen(key)"
    values = ", 1" if "value" in options else ""
    into = into.replace("key", "key, value") if values else into
    for key in range(1500):
        if key % 300 == 20:
            db.execute("BEGIN")
        assert db.execute(f"INSERT OR IGNORE INTO {into} VALUES (?{values})", (key,)).fetchall() == [(1,)]
        if key % 300 == 299:
            db.execute("COMMIT")
    for command in ("check", "optimize", "drain"):
        db.execute("INSERT INTO seen(seen) VALUES (?)", (command,)).fetchall()
    if "content" in options:
        assert db.execute("DELETE FROM u WHERE k < 1400").fetchall() == [(1400,)]
        ask(db, "SELECT cf_table_rebuild('seen')")
    db.execute("ALTER TABLE seen RENAME TO other").fetchall()
    db.close()
    db = support.connect(tmp_path / "counted.db")
    assert ask(db, "SELECT min(cf_table_contains('other', value)) FROM json_each(?)", json.dumps(list(range(1400, 1500)))) == 1
    assert ask(db, "SELECT cf_table_check('other')") == "ok"
    db.close()
