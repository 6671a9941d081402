# SPDX-License-Identifier: MIT
"""Damaged rows of filter tables never crash, hang, or deny keys in silence. The machinery is damaged_tables.py.

CUCKOO_DAMAGE_SECONDS  how long to try random damage; without it a slice
CUCKOO_DAMAGE_TRIAL    the one trial to repeat, with CUCKOO_TEST_SEED
"""
import os
import sqlite3
import time

import pytest

import damaged_tables
import rows
import support
from conftest import SEED
from support import ask

SECONDS = float(os.environ.get("CUCKOO_DAMAGE_SECONDS") or 0)
TRIAL = os.environ.get("CUCKOO_DAMAGE_TRIAL")
SLICE = 300  # trials


def test_random_damage(tmp_path):
    print(f"repeat with CUCKOO_TEST_SEED={SEED}")
    report, templates, number, begin = damaged_tables.Report(), {}, 0, time.monotonic()
    while (time.monotonic() < begin + SECONDS if SECONDS else number < SLICE) and not report.quiet:
        trial = int(TRIAL) if TRIAL else number
        (tmp_path / "trial").write_text(str(trial))  # for one that crashes
        damaged_tables.play(str(tmp_path), templates, f"{SEED} {trial}", report)
        number += 1
    print(", ".join(f"{count} {what}" for what, count in sorted(report.counts.items())))
    print(f"longest statement: {report.longest:.2f} s, {report.slowest}")
    assert not report.quiet, "\n\n".join(report.quiet)
    assert TRIAL or report.counts["errors"] > report.counts["trials"], "damage that nobody notices proves nothing"


# ---- one after the other ----

def table(options="capacity=200, seed=0", keys=range(150), content=False, path=":memory:"):
    db = support.connect(path)
    db.execute("PRAGMA page_size = 512")
    db.execute("CREATE TABLE u(id INTEGER PRIMARY KEY, k)")
    db.execute(f"CREATE VIRTUAL TABLE f USING cuckoo_filter({options}" + (", content='u(k)')" if content else ")"))
    db.executemany("INSERT INTO u(k) VALUES (?)" if content else "INSERT INTO f(key) VALUES (?)", ((key,) for key in keys))
    if content:
        db.execute("INSERT INTO f(f) VALUES ('drain')")
    return db


def crowd(db):
    """40 values of one key, most of which wait."""
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(capacity=4, value_bits=8, seed=0)")
    db.executemany("INSERT INTO f(key, value) VALUES ('key', ?)", ((value,) for value in range(40)))
    assert ask(db, "SELECT sum(adds) FROM f_wait") > 20
    check(db)


def check(db):
    db.execute("INSERT INTO f(f) VALUES ('check')")


def says(db, what, sql, *parameters):
    with pytest.raises(sqlite3.Error, match=what) as caught:
        db.execute(sql, parameters).fetchall()
    return str(caught.value)


def data_of(db, no):
    return ask(db, "SELECT data FROM f_page WHERE no = ?", no)


def put(db, no, data):
    db.execute("UPDATE f_page SET data = ? WHERE no = ?", (data, no))


ASKED = "SELECT count(*) FROM u WHERE cf_table_contains('f', k)"
WRITTEN = "INSERT INTO u(k) VALUES (1000)"
REMEDY = "restore the table, or drop it and create it anew"


@pytest.mark.parametrize("seed", [0, 1, -7])
def test_rows_are_as_they_are_described(seed):
    """The checksums are those of another implementation; the header adds up those of the pages."""
    db = table(f"capacity=200, seed={seed}")
    sums = 0
    for no, data in db.execute("SELECT no, data FROM f_page").fetchall():
        assert len(data) == (rows.HEADER_ROW if no == 0 else 440) + 8
        assert data == rows.sealed_row(no, data, seed)
        sums += rows.word(data, len(data) - 8) if no else 0
    said = rows.numbers(data_of(db, 0))
    assert said.pop("random") and said.pop("log")
    assert said == {"length": ask(db, "SELECT length(cf_export('f'))"), "page_bytes": 440, "checksums": sums % 2**64,
                    **dict.fromkeys(("adds", "adds_digest", "unmatched", "doubts", "flags"), 0)}


def test_the_header_says_what_waits(db):
    crowd(db)
    waiting = db.execute("SELECT hash, value, adds FROM f_wait").fetchall()
    digest = sum(rows.hash_words(key % 2**64, value, 0) * adds for key, value, adds in waiting)
    said = rows.numbers(data_of(db, 0))
    assert (said["adds"], said["adds_digest"]) == (sum(row[2] for row in waiting), digest % 2**64)


@pytest.mark.parametrize("no", [0, 1])
def test_each_byte(no):
    db = table(content=True)
    data = data_of(db, no)
    for at in range(len(data)):
        put(db, no, data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1:])
        newer = no == 0 and at == 3  # the byte of the version
        what = f"row {no} of f_page has been changed; {REMEDY}" if not newer else "unknown format version"
        assert says(db, what, ASKED) and says(db, what.split(";")[0], "INSERT INTO f(f) VALUES ('check')")
        for sql in ("BEGIN", WRITTEN, "DELETE FROM u WHERE k = 1000", "COMMIT"):
            db.execute(sql)  # who writes to the table needs no sound filter
    put(db, no, data)
    assert ask(db, ASKED) == 150
    db.execute("INSERT INTO f(f) VALUES ('drain')")
    assert ask(db, "SELECT count(*) FROM f") == 150
    check(db)


@pytest.mark.parametrize("no", [0, 1])
def test_each_length(no):
    db = table(content=True)
    data = data_of(db, no)
    for length in [*range(len(data)), len(data) + 1, len(data) + 100, 10**6]:
        put(db, no, (data + bytes(10**6))[:length])
        assert says(db, f"row {no} of f_page has been changed; {REMEDY}", ASKED)
    put(db, no, data)
    check(db)


@pytest.mark.parametrize("no", [0, 1])
@pytest.mark.parametrize("value", ["'text'", "5", "2.5", "NULL", "x''", "CAST(data AS TEXT)"])
def test_each_type(no, value):
    db = table(content=True)
    db.execute(f"UPDATE f_page SET data = {value} WHERE no = ?", (no,))
    assert says(db, f"row {no} of f_page has been changed; {REMEDY}", ASKED)
    db.execute("DROP TABLE f")


def test_saved_names():
    """They serve when the triggers have gone. Whoever cannot read them does not guess."""
    db = table(content=True)
    db.execute("ALTER TABLE u RENAME TO v")
    db.execute("ALTER TABLE f RENAME TO g")  # saves the names
    names = ask(db, "SELECT data FROM g_page WHERE no = -1")
    db.execute("UPDATE g_page SET data = ? WHERE no = -1", (b"w" + names[1:],))
    assert says(db, "row -1 of g_page has been changed", "INSERT INTO g(g) VALUES ('check')")
    db.execute("SELECT cf_table_rebuild('g')")  # the triggers know the names
    db.execute("INSERT INTO g(g) VALUES ('check')")


# ---- rows that are missing, or of another time ----

@pytest.mark.parametrize("no", [0, 1, 5])
def test_a_missing_row_is_found_by_check(no):
    db = table("capacity=3000, seed=0", range(3000))
    db.execute("DELETE FROM f_page WHERE no = ?", (no,))
    assert says(db, "header is missing" if no == 0 else "rows of f_page are missing, or older than others", "INSERT INTO f(f) VALUES ('check')")


@pytest.mark.parametrize("options", ["", "growth=off, layout=plain", "keep='1 day'"])
def test_optimize_tells_of_an_older_row_where_it_has_nothing_to_do(options):
    db = table(f"capacity=9600, {options}".rstrip(", "), range(3000))
    before = ask(db, "SELECT data FROM f_page WHERE no = 3")
    db.executemany("INSERT INTO f(key) VALUES (?)", ((key,) for key in range(3000, 9000)))
    db.execute("UPDATE f_page SET data = ? WHERE no = 3", (before,))
    says(db, "rows of f_page are missing, or older than others", "INSERT INTO f(f) VALUES ('optimize')")


def test_nothing_that_writes_a_filter_anew_hides_a_missing_row():
    db = table("capacity=8, seed=0", range(3000))
    db.executemany("DELETE FROM f WHERE key = ?", ((key,) for key in range(200, 3000)))
    db.execute("DELETE FROM f_page WHERE no = 3")
    missing = "rows of f_page are missing, or older than others"
    says(db, missing, "INSERT INTO f(f) VALUES ('optimize')")
    says(db, missing, "SELECT cf_export('f')")
    says(db, missing, "SELECT count(*) FROM cf_table_buckets('f')")
    db.execute("BEGIN")
    try:
        db.execute("INSERT INTO f(key) VALUES (1)")
        db.execute("COMMIT")
    except sqlite3.Error:
        pass
    says(db, missing, "INSERT INTO f(f) VALUES ('check')")


def test_a_row_behind_the_end():
    db = table()
    db.execute("INSERT INTO f_page SELECT 1000, data FROM f_page WHERE no = 1")
    says(db, "row 1000 of f_page is no part of it", "INSERT INTO f(f) VALUES ('check')")


@pytest.mark.parametrize("size", [512, 1024, 4096, 65536])
def test_a_row_is_on_one_page_of_the_database(size, tmp_path):
    db = support.connect(str(tmp_path / "x.db"))
    db.execute(f"PRAGMA page_size = {size}")
    db.execute(f"CREATE VIRTUAL TABLE f USING cuckoo_filter(capacity={size * 20}, fpr=0.001)")
    db.execute(f"INSERT INTO f(key) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {size * 19}) SELECT i FROM n")
    count = ask(db, "SELECT count(*) FROM f_page")
    assert count > 20
    assert ask(db, "PRAGMA page_count") < count + 20  # with overflow pages it would be twice as many


# ---- keys that wait ----

@pytest.mark.parametrize("damage", [
    "UPDATE f_wait SET value = 256 WHERE value = 39", "UPDATE f_wait SET value = -1 WHERE value = 39",
    "UPDATE f_wait SET value = '39x' WHERE value = 39", "UPDATE f_wait SET adds = -5 WHERE value = 39",
    "UPDATE f_wait SET adds = 1 << 56", "UPDATE f_wait SET adds = 1.5 WHERE value = 39", "UPDATE f_wait SET adds = 'x'",
    "UPDATE f_wait SET adds = 0 WHERE value = 39", "UPDATE f_wait SET adds = NULL"])
def test_a_row_that_waits_is_checked_when_it_is_read(db, damage):
    crowd(db)
    db.execute(damage)
    what = "a row of f_wait has been changed"
    says(db, what, "SELECT 1 FROM f WHERE key = 'key' AND value = 7")
    says(db, what, "SELECT cf_table_contains('f', 'key'), count(*) FROM f WHERE key = 'key'")
    says(db, what, "INSERT INTO f(f) VALUES ('check')")
    db.execute("INSERT INTO f(f) VALUES ('clear')")
    check(db)
    db.execute("DROP TABLE f")


@pytest.mark.parametrize("damage", [
    "DELETE FROM f_wait", "DELETE FROM f_wait WHERE value = 39", "UPDATE f_wait SET hash = hash + 1", "UPDATE f_wait SET hash = 'x' WHERE value = 39",
    "UPDATE f_wait SET value = 200 WHERE value = 39", "UPDATE f_wait SET adds = adds + 1 WHERE value = 39",
    "INSERT INTO f_wait VALUES (1, 2, 1)", "INSERT INTO f_wait VALUES (1, -1, 1)", "DROP TABLE f_wait",
    "DROP TABLE f_wait; CREATE TABLE f_wait(hash, value, adds)",
    "ALTER TABLE f_wait RENAME TO old; CREATE TABLE f_wait(hash, value, adds); INSERT INTO f_wait SELECT * FROM old"])
def test_check_compares_what_waits_with_the_header(db, damage):
    crowd(db)
    db.executescript(damage)
    says(db, "f: damaged: .*(f_wait|its shadow table is missing)", "INSERT INTO f(f) VALUES ('check')")
    db.execute("DROP TABLE f")


def test_a_header_that_counts_too_much(db):
    """As a writer makes it who knows the checksums: count(*) ends."""
    crowd(db)
    put(db, 0, rows.patched_header(data_of(db, 0), adds=1 << 47))
    assert says(db, "too many for rows; see items in cf_table_info", "SELECT count(*) FROM f")
    put(db, 0, rows.patched_header(data_of(db, 0), adds=1 << 56))
    assert says(db, "its header has been changed", "SELECT count(*) FROM f")


def test_an_optimize_that_fails_leaves_nothing_in_memory_only(tmp_path):
    """After COMMIT the next drain of the connection believed its memory, whatever others had written since."""
    path = str(tmp_path / "x.db")
    db = table("capacity=10, bucket_size=2, fingerprint_bits=12, counter_bits=0, seed=0", ["same"] * 5 + list(range(60)), content=True, path=path)
    waits = [row[0] for row in db.execute("SELECT hash FROM f_wait")]
    if not waits:
        header = data_of(db, 0)
        db.execute("INSERT INTO f_wait VALUES (4711, 0, 1)")
        put(db, 0, rows.patched_header(header, adds=1, adds_digest=rows.hash_words(4711, 0, 0)))
    db.execute("UPDATE f_wait SET adds = 'damaged'")
    db.execute("BEGIN")
    says(db, "a row of f_wait has been changed", "INSERT INTO f(f) VALUES ('optimize')")
    db.execute("COMMIT")
    other = support.connect(path)
    other.execute("UPDATE f_wait SET adds = 1")
    other.executemany("INSERT INTO u(k) VALUES (?)", ((k,) for k in range(1000, 1500)))
    other.execute("INSERT INTO f(f) VALUES ('drain')")
    db.execute("DELETE FROM u WHERE k = 7")
    assert ask(db, "SELECT count(*) FROM u WHERE NOT cf_table_contains('f', k)") == 0
    check(db)


# ---- a header that names another log, with a right checksum ----

def logs_of(db):
    return {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE name LIKE 'cuckoo_log_%'")}


def two_followed(path=":memory:"):
    """u with f, v with g; the header of f names the log of g."""
    db = table(content=True, path=path)
    db.execute("CREATE TABLE v(k)")
    db.execute("CREATE VIRTUAL TABLE g USING cuckoo_filter(capacity=200, content='v(k)')")
    other = rows.numbers(ask(db, "SELECT data FROM g_page WHERE no = 0"))["log"]
    put(db, 0, rows.patched_header(data_of(db, 0), log=other))
    db.execute("INSERT INTO v VALUES ('undrained')")
    return db


@pytest.mark.parametrize("rebuild", ["SELECT cf_table_rebuild('f')", "INSERT INTO f(f) VALUES ('rebuild')"])
@pytest.mark.parametrize("log", [12345, None])
def test_rebuild_keeps_the_log_of_its_triggers(rebuild, log):
    """It made another one, or took that of another filter, and DROP left the first one behind."""
    db = two_followed()
    if log:
        put(db, 0, rows.patched_header(data_of(db, 0), log=log))
    before = logs_of(db)
    says(db, "rebuild", ASKED)
    db.execute(rebuild)
    assert logs_of(db) == before and ask(db, "SELECT cf_table_contains('g', 'undrained')")
    db.execute(WRITTEN)
    assert ask(db, ASKED) == 151
    check(db)
    db.execute("DROP TABLE f")
    assert len(logs_of(db)) == 1 and ask(db, "SELECT cf_table_contains('g', 'undrained')")
    db.execute("DROP TABLE g")
    assert not logs_of(db)


def test_rebuild_leaves_the_log_of_another_filter_alone():
    """Its own triggers, which name the right one, have gone: it emptied that of the other filter."""
    db = two_followed()
    for name in ("inserted", "deleted", "updated", "moved"):
        db.execute(f"DROP TRIGGER f_{name}")
    db.execute("SELECT cf_table_rebuild('f')")
    db.execute(WRITTEN)
    assert ask(db, ASKED) == 151 and ask(db, "SELECT cf_table_contains('g', 'undrained')")
    db.execute("INSERT INTO g(g) VALUES ('check')")


def test_rename_keeps_the_log_of_its_triggers():
    """The new triggers wrote to a table that was not there: nobody could write to the table any more."""
    db = two_followed()
    put(db, 0, rows.patched_header(data_of(db, 0), log=12345))
    before = logs_of(db)
    db.execute("ALTER TABLE f RENAME TO h")
    db.execute(WRITTEN)
    assert logs_of(db) == before
    db.execute("SELECT cf_table_rebuild('h')")
    assert ask(db, "SELECT count(*) FROM u WHERE cf_table_contains('h', k)") == 151
    db.execute("DROP TABLE h")
    assert len(logs_of(db)) == 1


# ---- what goes on around it ----

def test_commit_with_a_filter_that_does_not_open(tmp_path):
    """Numbers of the row were believed before its header was: COMMIT divided by zero."""
    path = str(tmp_path / "x.db")
    db = table("capacity=10, seed=0", range(3), content=True, path=path)
    for row in (bytes(92) + b"\1", bytes(116) + b"\1" + bytes(8), rows.sealed_row(0, bytes(116) + b"\1" + bytes(8))):
        put(db, 0, row)
        other = support.connect(path)
        other.execute("BEGIN")
        other.execute("INSERT INTO u(k) VALUES (7)")
        other.execute("DELETE FROM u WHERE k = 7")
        says(other, REMEDY, "SELECT cf_table_contains('f', 7)")
        other.execute("COMMIT")
        other.close()


@pytest.mark.parametrize("damage", ["DELETE FROM f_page WHERE no = 0", "DROP TABLE f_page", "DROP TABLE f_wait",
                                    "ALTER TABLE f_page RENAME TO real; CREATE VIEW f_page AS SELECT * FROM real"])
@pytest.mark.parametrize("before", ["SELECT cf_table_rebuild('f')", "INSERT INTO f(f) VALUES ('rebuild')", "INSERT INTO u(k) VALUES (7)"])
def test_drop_works_after_any_error_in_a_transaction(damage, before):
    db = table(content=True)
    db.executescript(damage)
    db.execute("BEGIN")
    try:
        db.execute(before)
    except sqlite3.Error as error:
        assert "f" in str(error)
    if db.in_transaction and "VIEW" in damage and "INTO u" in before:
        db.execute("ROLLBACK")  # what it has in memory cannot be written
    if not db.in_transaction:  # the error had to roll back
        db.execute("BEGIN")
    db.execute("DROP TABLE f")
    db.execute("COMMIT")
    assert {row[0] for row in db.execute("SELECT name FROM sqlite_master")} <= {"u", "real"}


@pytest.mark.parametrize("event", ["INSERT", "UPDATE"])
def test_a_trigger_that_ignores_writes(event):
    db = table(content=True)
    db.execute(f"CREATE TRIGGER t BEFORE {event} ON f_page BEGIN SELECT RAISE(IGNORE); END")
    if event == "INSERT":  # what rebuild writes first is a row that is not there yet
        for sql in ("SELECT cf_table_rebuild('f')", "INSERT INTO f(f) VALUES ('rebuild')"):
            says(db, "a trigger on its shadow table keeps rows from being written", sql)
    db.execute(WRITTEN)  # the log keeps it
    db.execute("DELETE FROM u WHERE k = 5")
    db.execute("DROP TRIGGER t")
    assert ask(db, ASKED) == 150
    db.execute("INSERT INTO f(f) VALUES ('drain')")
    assert ask(db, "SELECT count(*) FROM f") == 150
    check(db)


def test_a_trigger_because_of_which_sqlite_opens_a_savepoint():
    """It opened within a statement of the filter, which then ran that statement once more: SQLite crashed."""
    db = table("capacity=10, seed=0", range(100), content=True)
    db.execute("CREATE TRIGGER t AFTER UPDATE ON f_wait BEGIN SELECT RAISE(FAIL, 'no'); END")
    db.execute("SAVEPOINT s")
    db.execute("DELETE FROM u WHERE k % 9 = 5")
    db.execute("SAVEPOINT s")
    db.execute("DELETE FROM u WHERE k % 9 = 3")
    db.execute("ROLLBACK")
    db.execute("DROP TABLE f")


def test_a_table_of_pages_without_its_key():
    """There REPLACE would write a second row of the same number."""
    db = table(content=True)
    db.executescript("ALTER TABLE f_page RENAME TO real; CREATE TABLE f_page(no, data); INSERT INTO f_page SELECT * FROM real; DROP TABLE real")
    assert ask(db, ASKED) == 150
    db.execute(WRITTEN)
    says(db, "missing, or not as it was created", "INSERT INTO f(f) VALUES ('check')")


def test_an_interrupt_that_comes_when_a_row_is_written(db):
    """SQLite may report it for a statement that has done its work: nothing may be done twice."""
    db.execute("CREATE TABLE u(id INTEGER PRIMARY KEY, k)")
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(capacity=1000, content='u(k)', seed=0)")
    db.executemany("INSERT INTO u(k) VALUES (?)", ((i,) for i in range(300)))
    for after in range(1, 60):
        db.execute("BEGIN")
        db.execute("DELETE FROM u WHERE id % 60 = ?", (after,))
        ticks = iter(range(after))
        db.set_progress_handler(lambda: next(ticks, None) is None, 7)
        try:
            db.execute("SAVEPOINT s")
        except sqlite3.Error:
            pass
        db.set_progress_handler(None, 0)
        if db.in_transaction:
            db.execute("COMMIT")
        check(db)
    assert ask(db, "SELECT count(*) FROM f") == ask(db, "SELECT count(*) FROM u")
