# SPDX-License-Identifier: MIT
"""cf_table_info: what monitoring asks every second; it is cheap, and answers when nothing else does. cf_table_check: the command
`check` as a function, which needs no right to write; what is wrong is its answer.
"""
import ctypes
import json
import os
import sqlite3
import subprocess
import sys
import tempfile

import pytest

import inside
import support
from address import AIMED, AIMED_AT
from seen import info as told
from support import ask

ALWAYS = ["trusted", "why", "table", "column", "unplaced", "pending", "items", "occupied", "capacity",
          "level", "load_factor", "bytes"]
SLOW = {"fpr_now", "saturated", "exhausted"}
FOLLOWS = "capacity=500, content='u(k)'"


def table(path=":memory:", keys=100, options="capacity=1000"):
    db = support.connect(path)
    db.executescript("PRAGMA page_size = 512; CREATE TABLE u(id INTEGER PRIMARY KEY, k)")
    db.execute(f"CREATE VIRTUAL TABLE f USING cuckoo_filter({options}, content='u(k)')")
    db.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) INSERT INTO u(k) SELECT i FROM n", (keys,))
    db.execute("INSERT INTO f(f) VALUES ('drain')")
    return db


# ---- what info says ----

def test_members():
    db = table()
    plain, everything = told(db, "f"), told(db, "f", "all")
    assert set(ALWAYS) <= set(plain) and set(everything) - set(plain) == SLOW
    assert [plain[name] for name in ("trusted", "why", "table", "column", "unplaced", "pending", "items", "capacity",
                                     "level")] \
        == [1, None, "u", "k", 0, 0, 100, 1000, 0]
    assert told(db, "f", None) == plain and told(db, "main.f", "ALL") == everything
    assert {name: everything[name] for name in plain} == plain
    assert everything.items() >= support.info(db, ask(db, "SELECT cf_export('f')")).items()
    db.execute("DROP TABLE f")
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(capacity=100)")
    db.execute("INSERT INTO f(key) VALUES (1), (2)")
    said = told(db, "f", "all")
    assert [said[name] for name in ("trusted", "why", "table", "column", "pending", "items", "saturated")] == [1, None,
        None, None, 2, 2, 0]


def test_waiting_keys(db):
    db.execute(f"CREATE VIRTUAL TABLE f USING cuckoo_filter({AIMED_AT})")
    db.executemany("INSERT INTO f(key) VALUES (?)", ((key,) for key in AIMED))
    assert told(db, "f")["unplaced"] == 0 and told(db, "f")["pending"] == told(db, "f")["items"] == 40
    db.execute("INSERT INTO f(f) VALUES ('drain')")
    said = told(db, "f")
    assert said["unplaced"] == inside.waiting(db) > 20 and said["items"] == 40 and said["pending"] == 0


@pytest.mark.parametrize("copies", [2, 3, 5])
@pytest.mark.parametrize("options", ["direct", "counter_bits=8", "counter_bits=8, bucket_size=8", "counter_bits=2", "bucket_size=2"])
def test_copies_that_wait_go_one_by_one(db, options, copies):
    """Many keys have all of their copies without a place. A delete takes one of these; the key is found until the last is gone."""
    direct = options == "direct"
    keys = AIMED if direct else range(150)
    options = f"{AIMED_AT}, counter_bits=8" if direct else f"capacity=40, growth=off, fingerprint_bits=32, {options}"
    content = "" if direct else ", content='u(k)'"
    db.execute("CREATE TABLE u(k)")
    db.execute(f"CREATE VIRTUAL TABLE f USING cuckoo_filter({options}{content})")
    db.executemany(f"INSERT INTO {'f(key)' if direct else 'u'} VALUES (?)", ((key,) for key in keys for _ in range(copies)))
    db.execute("INSERT INTO f(f) VALUES ('drain')")
    assert inside.waiting(db) > 20 and told(db, "f")["unplaced"] > 20
    for left in reversed(range(copies)):
        if direct:
            db.executemany("DELETE FROM f WHERE key = ?", ((key,) for key in keys))
        else:
            db.execute("DELETE FROM u WHERE rowid IN (SELECT min(rowid) FROM u GROUP BY k)")
        for _ in range(2):
            found = [ask(db, "SELECT cf_table_contains('f', ?)", key) for key in keys]
            assert all(found) if left else direct or sum(found) <= 64, (left, found)
            db.execute("INSERT INTO f(f) VALUES ('drain')")
    assert told(db, "f")["unplaced"] == 0 and ask(db, "SELECT cf_table_check('f')") == "ok"


def test_keys_that_wait_are_deleted_alone(db):
    """Short fingerprints: a delete of a key that waits must not take one from the filter, which may be another's."""
    waited = 0
    for seed in range(12):
        db.execute(f"CREATE VIRTUAL TABLE f USING cuckoo_filter(capacity=1000, growth=off, fingerprint_bits=4, seed={seed})")
        db.execute("INSERT OR FAIL INTO f(key) SELECT value FROM json_each(?)", (json.dumps([f"k{i}" for i in range(900)]),))
        keys = [f"k{i}" for i in range(900)]
        with pytest.raises(sqlite3.OperationalError, match="full"):
            for i in range(900, 9000):
                db.execute("INSERT INTO f(key) VALUES (?)", (f"k{i}",))
                keys.append(f"k{i}")
        db.execute("INSERT INTO f(f) VALUES ('drain')")
        waited += told(db, "f")["unplaced"]
        db.executemany("DELETE FROM f WHERE key = ?", ((key,) for key in keys[-60:]))
        db.execute("INSERT INTO f(f) VALUES ('drain')")
        assert [key for key in keys[:-60] if not ask(db, "SELECT cf_table_contains('f', ?)", key)] == []
        db.execute("DROP TABLE f")
    assert waited > 100


def test_what_is_not_in_the_filter_yet(tmp_path):
    """Changes of programs without the extension; a rollback takes them back, `drain` brings them in. Each connection sees each commit."""
    path = str(tmp_path / "x.db")
    db, other, writer = table(path), support.connect(path), sqlite3.connect(path, isolation_level=None)
    for n in (1, 2, 3):
        writer.execute("INSERT INTO u(k) VALUES (?)", (-n,))
        assert told(db, "f")["pending"] == told(other, "f")["pending"] == n
    db.execute("BEGIN")
    db.execute("INSERT INTO u(k) VALUES (-4)")
    assert told(db, "f")["pending"] == 4
    db.execute("SAVEPOINT s")
    inside.drop_own_triggers(db, which="DELETE")
    assert told(db, "f")["trusted"] == 0
    db.execute("ROLLBACK TO s")
    assert told(db, "f")["trusted"] == 1
    db.execute("ROLLBACK")
    assert told(db, "f")["pending"] == 3
    db.execute("INSERT INTO f(f) VALUES ('drain')")
    assert told(db, "f") == told(other, "f") and (told(db, "f")["pending"], told(db, "f")["items"]) == (0, 103)
    db.execute("INSERT INTO f(f) VALUES ('check')")


@pytest.mark.parametrize("rowid", [2**63 - 1, 2**62, 10**12, 10**6, 70000])
def test_a_row_of_a_log_that_was_written_by_hand_counts_once(tmp_path, rowid):
    """Whatever its number is. (A COMMIT would drain some.)"""
    db = table(str(tmp_path / "x.db"))
    before = told(db, "f")["pending"]
    log = ask(db, "SELECT name FROM sqlite_master WHERE name GLOB 'cuckoo_log_*'")
    db.execute("BEGIN")
    db.execute(f"INSERT INTO {log}(rowid, old, new) VALUES (?, NULL, 'by hand')", (rowid,))
    db.execute("INSERT INTO u(k) VALUES (-1)")
    assert told(db, "f")["pending"] == before + 2 == told(db, "f", "all")["pending"]
    db.execute("COMMIT")
    db.execute("SELECT cf_table_rebuild('f')")
    assert told(db, "f")["pending"] == 0 and told(db, "f")["trusted"] == 1


@pytest.mark.parametrize("name", ["plain", "two words", 'a "quoted"', "back\\slash", "new\nline\ttab", "ümläut 漢字",
                                  "per%cent %s"])
def test_names_of_any_kind(db, name):
    quoted = name.replace('"', '""')
    db.execute(f'CREATE TABLE "{quoted}"("{quoted}" UNIQUE)')
    inner = quoted.replace("'", "''")
    db.execute(f"CREATE VIRTUAL TABLE f USING cuckoo_filter(content='\"{inner}\"(\"{inner}\")')")
    assert told(db, "f")["table"] == told(db, "f")["column"] == name
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
    """Pages, and steps of SQLite's machine."""
    costs, steps = [], []
    for keys, logged in ((100, 1), (60000, 5000)):
        path = str(tmp_path / f"{keys}.db")
        table(path, keys, "capacity=60000" if keys > 100 else "capacity=1000").close()
        plain = sqlite3.connect(path)  # without the extension nothing is drained
        plain.executemany("INSERT INTO u(k) VALUES (?)", ((-n,) for n in range(logged)))
        plain.commit()
        plain.close()
        db = support.connect(path)
        costs.append([pages_read(db, "SELECT cf_table_info('f')") for _ in range(4)])
        count = [0]
        db.set_progress_handler(lambda: count.__setitem__(0, count[0] + 1), 1)
        db.execute("SELECT cf_table_info('f')").fetchall()
        db.set_progress_handler(None, 0)
        steps.append(count[0])
        everything = pages_read(db, "SELECT cf_table_info('f', 'all')")
        db.close()
    assert everything > 300, "all pages of the filter"
    for small, large in zip(*costs):
        assert large <= small + 8, costs  # B-trees are deeper by so much
    assert max(costs[1][1:]) < 25 and abs(steps[0] - steps[1]) < 20 and steps[1] < 400, (costs, steps)


# ---- a filter that cannot be trusted ----

def damage(what):
    return lambda db: inside.damage(db, {**inside.DAMAGE, **inside.LOG_DAMAGE}[what])


FAULTS = {
    "trigger": (lambda db: inside.drop_own_triggers(db, which="UPDATE"), "on u(k) is missing"),
    "log": (damage("dropped"), " was dropped"),
    "table": (lambda db: db.execute("DROP TABLE u"), "the content table u(k) is gone: create it"),
    "other trigger": (lambda db: db.execute("CREATE TRIGGER t AFTER INSERT ON u BEGIN SELECT RAISE(IGNORE); END"),
                      "the trigger t on u is newer"),
    "column": (lambda db: db.executescript("PRAGMA writable_schema=ON; UPDATE sqlite_master SET sql = replace(sql, ', k', ', k COLLATE NOCASE') "
                                           "WHERE name = 'u'; PRAGMA schema_version = 9999; PRAGMA writable_schema=OFF"), "compares differently than when the filter was created"),
    "unmatched": (inside.was_unmatched, "rows of u have changed without its triggers"),
}
LOST = {
    "header": (damage("the header is a byte"), "has been changed; restore"),
    "no header": (damage("the header is lost"), "its header is missing; restore"),
    "no pages": (damage("the table of pages is lost"), "shadow table"),
    "later version": (lambda db: inside.later_header(db, 2), "later version"),
}


@pytest.mark.parametrize("word", [None, "all"])
@pytest.mark.parametrize("anew", [False, True])
@pytest.mark.parametrize("fault", [*FAULTS, *LOST])
def test_it_answers_when_the_filter_cannot_be_trusted(tmp_path, fault, anew, word):
    path = str(tmp_path / "x.db")
    db = table(path)
    assert told(db, "f")["trusted"] == 1
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
        assert told(db, "f", "all")["trusted"] == 1 and told(db, "f")["items"] == 100
    db.execute("DROP TABLE f")


def test_a_page_that_is_damaged_is_told_when_pages_are_read(tmp_path):
    db = table(str(tmp_path / "d.db"), keys=500)
    inside.damage(db, inside.DAMAGE["a page is a byte"])
    db.close()
    db = support.connect(tmp_path / "d.db")
    said = told(db, "f", "all")
    assert said["trusted"] == 0 and "has been changed; restore" in said["why"] and said["items"] == 500 and "exhausted" not in said


def test_triggers_that_are_off():
    db = table()
    support.configure(db, support.ENABLE_TRIGGER, 0)
    assert "triggers are off in this connection" in told(db, "f")["why"]
    support.configure(db, support.ENABLE_TRIGGER, 1)
    assert told(db, "f")["trusted"] == 1


def test_read_only_attached_temporary(tmp_path):
    path = str(tmp_path / "x.db")
    table(path).close()
    db = support.connect(f"file:{path}?mode=ro", uri=True)
    assert told(db, "f")["trusted"] == 1 and told(db, "f", "all")["items"] == 100
    db = support.connect()
    db.execute("ATTACH ? AS other", (path,))
    db.execute("CREATE TEMP TABLE v(k)")
    db.execute("CREATE VIRTUAL TABLE temp.g USING cuckoo_filter(content='v(k)')")
    assert told(db, "other.f")["items"] == told(db, "f")["items"] == 100 and told(db, "temp.g")["table"] == "v"


# ---- check ----

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


@pytest.mark.parametrize("arguments", ["capacity=500", "capacity=9, growth=on", FOLLOWS])
@pytest.mark.parametrize("path", [":memory:", "seen.db"])
def test_a_sound_filter_is_ok(arguments, path, tmp_path):
    db = make(path if path == ":memory:" else str(tmp_path / path), arguments, 300)
    before, changes = inside.contents(db, "seen"), db.total_changes
    for name in ("seen", "SEEN", "main.seen"):
        assert check(db, name) == "ok"
    assert (inside.contents(db, "seen"), db.total_changes, db.in_transaction) == (before, changes, False)
    if "content" in arguments:
        db.execute("BEGIN")
        db.execute("INSERT INTO u SELECT k + 1000 FROM u")
        assert check(db) == "ok"
        db.execute("ROLLBACK")
        assert check(db) == "ok"


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


def test_a_row_that_is_missing_is_the_answer(tmp_path):
    path = str(tmp_path / "seen.db")
    make(path, FOLLOWS, keys=1000).close()
    plain = sqlite3.connect(path, isolation_level=None)
    triggers = inside.own_triggers(plain, "seen")
    inside.drop_own_triggers(plain, "seen")
    plain.execute("UPDATE u SET k = 'other' WHERE k = 500")
    assert "triggers" in check(support.connect(path))
    for _, sql in triggers:
        plain.execute(sql)
    plain.close()
    assert "rows of u are missing" in check(support.connect(f"file:{path}?mode=ro", uri=True))


def test_it_can_be_interrupted():
    db = make(":memory:", "capacity=3000000, bucket_size=4", keys=10)
    db.set_progress_handler(lambda: 1, 1)
    with pytest.raises(sqlite3.OperationalError, match="interrupted"):
        check(db)
    db.set_progress_handler(None, 0)
    assert check(db) == "ok"
