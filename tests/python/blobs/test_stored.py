# SPDX-License-Identifier: MIT
"""cf_open(table, column, rowid): the filter in this row, as it is now. (What happens between two questions:
extension/test_single_questions.py.)"""
import ctypes
import sqlite3

import pytest

import support
from support import ask

HAS = "SELECT cf_contains(cf_open('filters', 'f', 1), ?)"
BUILD = "SELECT cf_build(value) FROM json_each(?)"


@pytest.fixture
def path(tmp_path):
    db = support.connect(str(tmp_path / "stored.db"))
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("CREATE TABLE filters(f)")
    db.execute(f"INSERT INTO filters VALUES (({BUILD}))", ("[1, 2, 3]",))
    db.close()
    return str(tmp_path / "stored.db")


def store(db, keys, table="filters"):
    db.execute(f"UPDATE {table} SET f = ({BUILD})", (keys,))


def keys_of(db, has=HAS):
    return [key for key in range(10) if ask(db, has, key)]


def fails(db, table, column, rowid, match):
    with pytest.raises(sqlite3.Error, match=match):
        db.execute("SELECT cf_contains(cf_open(?, ?, ?), 1)", (table, column, rowid)).fetchall()


# ---- what it opens ----

def test_every_function_takes_the_handle(path):
    db = support.connect(path)
    blob = ask(db, "SELECT f FROM filters")
    assert keys_of(db) == [1, 2, 3]
    assert ask(db, "SELECT cf_info(cf_open('filters', 'f', 1))") == ask(db, "SELECT cf_info(?)", blob)
    assert ask(db, "SELECT cf_add(cf_open('filters', 'f', 1), 9)") == ask(db, "SELECT cf_add(?, 9)", blob)
    assert ask(db, "SELECT cf_check(cf_open('main.filters', 'f', 1))") == "ok"
    assert ask(db, "SELECT sum(cf_contains((SELECT cf_open('filters', 'f', rowid) FROM filters), value)) FROM json_each('[1, 2, 7]')") == 2
    assert ask(db, "SELECT count(*) FROM cf_buckets(cf_open('FILTERS', 'F', 1))") > 0


def test_an_exact_filter_is_one_too(path):
    db = support.connect(path)
    build = "SELECT cf_build_exact(value, value % ? = 0) FROM json_each('[1, 2, 3, 4, 5, 6, 7, 8, 9]')"
    for every in (2, 3, 10):
        db.execute(f"UPDATE filters SET f = ({build})", (every,))
        assert [keys_of(db) for _ in range(3)] == [[key for key in range(1, 10) if key % every == 0]] * 3
    assert ask(db, "SELECT cf_info(cf_open('filters', 'f', 1))") == ask(db, "SELECT cf_info(f) FROM filters")
    with pytest.raises(sqlite3.Error, match="cf_add: filter is an exact one"):
        ask(db, "SELECT cf_add(cf_open('filters', 'f', 1), 9)")
    store(db, "[4, 5]")
    assert keys_of(db) == [4, 5]
    db.execute("UPDATE filters SET f = substr((SELECT cf_build_exact(1, 1)), 1, 66)")
    fails(db, "filters", "f", 1, "cf_open: filter cannot be used")


def test_names(path):
    db = support.connect(path)
    db.execute("CREATE TABLE \"a.b\"\"c\"(\"d\"\"e\")")
    db.execute(f"INSERT INTO \"a.b\"\"c\" VALUES (({BUILD}))", ("[5]",))
    assert keys_of(db, "SELECT cf_contains(cf_open('a.b\"c', 'd\"e', 1), ?)") == [5]
    assert keys_of(db, "SELECT cf_contains(cf_open('main.a.b\"c', 'd\"e', 1), ?)") == [5]
    db.execute("ATTACH ? AS \"x y\"", (path,))
    assert keys_of(db, "SELECT cf_contains(cf_open('X Y.filters', 'f', 1), ?)") == [1, 2, 3]


@pytest.mark.parametrize("value, match", [
    ("NULL", "filter is NULL"), ("'text'", "got the text 'text'"), ("1", "must be a blob"), ("2.5", "must be a blob"),
    ("x''", "not a cuckoo filter"), ("zeroblob(100)", "not a cuckoo filter"), ("substr((SELECT f FROM filters), 1, 80)", "length"),
    ("(SELECT substr(f, 1, 20) || x'ff' || substr(f, 22) FROM filters)", "cannot be used|text")])
def test_what_is_no_filter(path, value, match):
    """The errors are those of cf_open(f), each time."""
    db = support.connect(path)
    db.execute("CREATE TABLE bad(f)")
    db.execute(f"INSERT INTO bad VALUES (CAST({value} AS BLOB))" if "substr" in value else f"INSERT INTO bad VALUES ({value})")
    for _ in range(2):
        fails(db, "bad", "f", 1, match)
    with pytest.raises(sqlite3.Error) as one:
        db.execute("SELECT cf_open(f) FROM bad").fetchall()
    with pytest.raises(sqlite3.Error) as other:
        db.execute("SELECT cf_open('bad', 'f', 1)").fetchall()
    assert str(one.value) == str(other.value) and type(one.value) is type(other.value)


def test_what_is_no_table_with_rowids(path):
    db = support.connect(path)
    for sql in ("CREATE VIEW v AS SELECT f, rowid, rowid AS _rowid_ FROM filters", "CREATE VIEW w AS SELECT f FROM filters",
                "CREATE TABLE without(k PRIMARY KEY, f) WITHOUT ROWID", "INSERT INTO without SELECT 1, f FROM filters",
                "CREATE TABLE other(rowid, f)", "INSERT INTO other SELECT 7, f FROM filters",
                "CREATE TABLE generated(f, g AS (f))", "INSERT INTO generated SELECT f FROM filters",
                "CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=10)"):
        db.execute(sql)
    for table in ("v", "w", "without", "seen", "other"):
        fails(db, table, "key" if table == "seen" else "f", 1, r"^cf_open: .*\(SELECT cf_open\(f\) FROM")
    fails(db, "generated", "g", 1, "cf_open: ")
    fails(db, "other", "f", 7, "no such rowid: 7")
    fails(db, "filters", "f", 2, "no such rowid: 2")
    fails(db, "filters", "nothing", 1, "no such column")
    fails(db, "nothing", "f", 1, "no such table")
    fails(db, "nothing.filters", "f", 1, "no such table")
    for arguments in ((None, "f", 1), ("filters", None, 1), ("filters", "f", None), ("filters", "f", "1"), ("filters", "f", 1.0)):
        fails(db, *arguments, "cf_open: takes a filter, or")
    assert keys_of(db) == [1, 2, 3]


def test_more_rows_than_are_kept(path):
    db = support.connect(path)
    for i in range(2, 30):
        db.execute(f"INSERT INTO filters VALUES (({BUILD}))", (f"[{i}]",))
    for _ in range(2):
        assert ask(db, "SELECT sum(cf_contains(cf_open('filters', 'f', rowid), rowid)) FROM filters WHERE rowid > 1") == 28
    many = "SELECT " + " + ".join(f"cf_contains(cf_open('filters', 'f', {i}), {i})" for i in range(2, 30))
    assert ask(db, many) == 28


# ---- as it is now ----

def test_a_handle_is_that_of_its_table_column_and_row(path):
    db = support.connect(path)
    for table, first in ("one", 0), ("two", 4):
        db.execute(f"CREATE TABLE {table}(f, g)")
        for row in range(2):
            db.execute(f"INSERT INTO {table} VALUES (({BUILD}), ({BUILD}))",
                       (f"[{first + 2 * row}]", f"[{first + 2 * row + 1}]"))
    for _ in range(2):
        for key in range(8):
            name, column, row = ("one", "two")[key // 4], "fg"[key % 2], key // 2 % 2 + 1
            assert keys_of(db, f"SELECT cf_contains(cf_open('{name}', '{column}', {row}), ?)") == [key]


def test_changes_within_one_statement(path):
    db = support.connect(path)
    assert keys_of(db) == [1, 2, 3]
    rows = db.execute("WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 9) "
                      "SELECT i, cf_contains(cf_open('filters', 'f', 1), 8) FROM n")
    for keys, expected in (("[8]", 0), ("[1]", 1), ("[8]", 0), ("[1]", 1)):
        next(rows)  # Python has stepped to the row behind this one
        assert next(rows)[1] == expected
        store(db, keys)
    rows.close()


def test_a_trigger_sees_what_its_statement_has_changed(path):
    db = support.connect(path)
    db.execute("CREATE TABLE was(has)")
    db.execute("CREATE TRIGGER t AFTER UPDATE ON filters BEGIN INSERT INTO was SELECT cf_contains(cf_open('filters', 'f', 1), 8); END")
    for _ in range(2):
        assert keys_of(db)
        store(db, "[8]")
        store(db, "[1]")
    assert db.execute("SELECT group_concat(has, '') FROM was").fetchone()[0] == "1010"


@pytest.mark.skipif(not hasattr(sqlite3, "Blob"), reason="Python before 3.11")
@pytest.mark.parametrize("transaction", [False, True])
def test_incremental_writes(path, transaction):
    db = support.connect(path)
    other = ask(db, "SELECT cf_build(value) FROM json_each('[6, 7, 8]')")
    assert len(other) == ask(db, "SELECT length(f) FROM filters") and keys_of(db) == [1, 2, 3]
    if transaction:
        db.execute("BEGIN")
        assert keys_of(db) == [1, 2, 3]
    with db.blobopen("filters", "f", 1) as blob:
        blob.write(other)
        assert keys_of(db) == [6, 7, 8]
    assert keys_of(db) == [6, 7, 8]
    if transaction:
        db.execute("ROLLBACK")
        assert keys_of(db) == [1, 2, 3]


@pytest.mark.skipif(not hasattr(sqlite3.Connection, "deserialize"), reason="Python before 3.11")
def test_another_database_in_its_place(path):
    db, other = support.connect(), support.connect()
    for each in (db, other):
        each.execute("CREATE TABLE filters(f)")
        each.execute("INSERT INTO filters VALUES (1)")
    store(other, "[4]")
    bytes_of = other.serialize()
    for _ in range(3):
        store(db, "[5]")
        assert keys_of(db) == [5]
        db.deserialize(bytes_of)
        assert keys_of(db) == [4]


def test_what_others_have_not_committed(tmp_path):
    """Connections that share a cache: nothing is kept of what one of them rolls back."""
    name = f"file:{tmp_path / 'shared.db'}?cache=shared"
    one, other = support.connect(name, uri=True), support.connect(name, uri=True)
    one.execute("CREATE TABLE filters(f)")
    one.execute(f"INSERT INTO filters VALUES (({BUILD}))", ("[1]",))
    one.execute("PRAGMA read_uncommitted = 1")
    other.execute("BEGIN")
    store(other, "[2]")
    keys_of(one)
    other.execute("ROLLBACK")
    assert keys_of(one) == [1]
    one.execute("PRAGMA read_uncommitted = 0")
    assert keys_of(one) == [1]
    store(other, "[2]")
    assert keys_of(one) == [2]


# ---- who may ask ----

def deny(action, first, second, schema, trigger):
    return sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_READ and first == "filters" else sqlite3.SQLITE_OK


def hide(action, first, second, schema, trigger):
    return sqlite3.SQLITE_IGNORE if action == sqlite3.SQLITE_READ and (first, second) == ("filters", "f") else sqlite3.SQLITE_OK


def test_an_authorizer_is_asked_also_for_what_is_kept(path):
    db = support.connect(path)
    for forbid, match in ((deny, "prohibited"), (hide, "filter is NULL")):
        assert keys_of(db) == [1, 2, 3]
        db.set_authorizer(forbid)
        fails(db, "filters", "f", 1, match)
        db.set_authorizer(lambda *_: sqlite3.SQLITE_OK)
        assert keys_of(db) == [1, 2, 3]


def test_not_in_what_distrusts_the_schema(path):
    db = support.connect(path)
    with pytest.raises(sqlite3.Error, match="non-deterministic|prohibited"):
        db.execute("CREATE INDEX i ON filters(cf_contains(cf_open('filters', 'f', 1), 1))")
    db.execute("CREATE VIEW v AS SELECT cf_contains(cf_open('filters', 'f', 1), 1)")
    assert ask(db, "SELECT * FROM v") == 1
    db.execute("PRAGMA trusted_schema = OFF")
    with pytest.raises(sqlite3.Error, match="unsafe use of cf_open"):
        db.execute("SELECT * FROM v")


# ---- it is in nobody's way ----

def test_nothing_stays_open(path):
    db, other = support.connect(path), support.connect(path)
    assert keys_of(db) == [1, 2, 3]
    assert other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
    db.execute("VACUUM")
    assert keys_of(db) == [1, 2, 3]
    db.execute("ATTACH ? AS more", (path,))
    assert keys_of(db, "SELECT cf_contains(cf_open('more.filters', 'f', 1), ?)") == [1, 2, 3]
    db.execute("DETACH more")
    db.execute("DROP TABLE filters")
    fails(db, "filters", "f", 1, "no such table")


def test_sqlite3_close(path):
    """Not sqlite3_close_v2, as Python calls: it fails while statements are left."""
    library = support.sqlite_library()
    db, message = ctypes.c_void_p(), ctypes.c_char_p()
    assert library.sqlite3_open(path.encode(), ctypes.byref(db)) == 0
    library.sqlite3_enable_load_extension(db, 1)
    assert library.sqlite3_load_extension(db, support.extension_path().removesuffix(".so").encode(), None, ctypes.byref(message)) == 0
    for sql in (HAS.replace("?", "1"), "CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=10)", "SELECT cf_table_contains('seen', 1)"):
        assert library.sqlite3_exec(db, sql.encode(), None, None, ctypes.byref(message)) == 0, message.value
    assert library.sqlite3_next_stmt(db, None) != 0  # some are kept
    assert library.sqlite3_close(db) == 0
