# SPDX-License-Identifier: MIT
"""sqlite3_limit at small values, SQLITE_DBCONFIG_RESET_DATABASE, and tables of a filter as the content of another one.

A statement that works without the extension works with it, on the same database and with the same limit. A stored key
is found, or the error is that of the limit: nobody is told to drop or to rebuild a filter that is as it was.
"""
import re
import sqlite3

import pytest

import inside
import support
from promises import Follower, bare

WRITES = ["INSERT INTO u(k) VALUES ('c')", "UPDATE u SET k = 'd' WHERE id = 1", "DELETE FROM u WHERE id = 2", "BEGIN",
          "INSERT INTO u(k) VALUES ('e')", "SAVEPOINT s", "INSERT INTO u(k) VALUES ('x')", "ROLLBACK TO s", "COMMIT"]
ASKED = ["SELECT cf_table_contains('f', 'stays')", "SELECT count(*) FROM f WHERE key = 'stays'"]
LIMITS = ["FUNCTION_ARG 1", "VARIABLE_NUMBER 0", *(f"EXPR_DEPTH {value}" for value in (3, 5, 6, 7)),
          *(f"COLUMN {value}" for value in (1, 2, 3)), *(f"LIKE_PATTERN_LENGTH {value}" for value in (1, 10, 40)),
          "TRIGGER_DEPTH 1", "TRIGGER_DEPTH 2", "COMPOUND_SELECT 1", "COMPOUND_SELECT 2", "COMPOUND_SELECT 3", "FUNCTION_ARG 2", "FUNCTION_ARG 3", "VDBE_OP 30",
          "VDBE_OP 300", "VARIABLE_NUMBER 1", "VARIABLE_NUMBER 2", "EXPR_DEPTH 10", "EXPR_DEPTH 20", "COLUMN 4", "COLUMN 5",
          "LIKE_PATTERN_LENGTH 60", "SQL_LENGTH 60", "SQL_LENGTH 200", "ATTACHED 0", "LENGTH 1000"]


def tell(db, sql):
    """Rows, or the error."""
    try:
        return db.execute(sql).fetchall()
    except (sqlite3.Error, MemoryError) as error:
        return str(error) or "out of memory"


def limited(path, connect, limit, statements):
    """What each of them says; then what lookups say, with the limit and without."""
    db = connect(path)
    db.execute("PRAGMA synchronous = off").fetchall()
    tell(db, "SELECT * FROM u")
    name, value = limit.split()
    usual = db.setlimit(getattr(sqlite3, f"SQLITE_LIMIT_{name}"), int(value))
    said = [tell(db, sql) for sql in statements]
    found = [tell(db, sql) for sql in ASKED]
    db.setlimit(getattr(sqlite3, f"SQLITE_LIMIT_{name}"), usual)
    later = [tell(db, sql) for sql in ASKED]
    db.close()
    return said, found, later


def make(path):
    db = support.connect(path)
    db.executescript("PRAGMA synchronous = off; CREATE TABLE u(id INTEGER PRIMARY KEY, k);"
                     "INSERT INTO u(k) VALUES ('a'), ('b'), ('stays')")
    Follower(db).create("fpr=0.000001")
    db.close()


@pytest.mark.parametrize("first", ["asked first", "written first"])
@pytest.mark.parametrize("limit", LIMITS)
def test_a_small_limit(tmp_path, limit, first):
    plain, path = str(tmp_path / "plain.db"), str(tmp_path / "limit.db")
    make(plain)
    make(path)
    writes = WRITES if first == "written first" else []
    without, _, _ = limited(plain, bare, limit, writes)
    said, found, later = limited(path, support.connect, limit, writes)
    assert said == without, "it works without the extension"
    for answer in found:
        assert answer == [(1,)] or not limit.startswith("COMPOUND"), "lookups compound nothing"
        assert answer == [(1,)] or not re.search("drop|rebuild|restore", str(answer)), "advice that does not help"
    assert later == [[(1,)]] * 2, "with the usual limit"


SHORT = "rows of {}_page or of its log are longer than SQLITE_LIMIT_LENGTH, which is {}: raise it to the page size"
CREATE = "CREATE VIRTUAL TABLE g USING cuckoo_filter({})"
TRIED = ["SELECT cf_table_rebuild('f')", "INSERT INTO f(f) VALUES ('drain')", "INSERT INTO f(f) VALUES ('optimize')"]


@pytest.mark.parametrize("within", [True, False])
@pytest.mark.parametrize("options", ["content='t(k)'", "content='t(k)', rows=on", "content='t(k)', rowids=on"])
@pytest.mark.parametrize("page, limit", [(4096, 600), (4096, 2000), (4096, 4031), (4096, 4035), (8192, 4096), (512, 450)])
def test_rows_that_are_longer_than_the_limit(page, limit, options, within):
    """A page is four bytes longer when it is written. What cannot be written changes nothing, and says why."""
    db = support.connect()
    db.executescript(f"PRAGMA page_size = {page}; CREATE TABLE t(k); CREATE TABLE o(x); INSERT INTO t VALUES ('k1'), ('k2'), ('k3');"
                     f"CREATE VIRTUAL TABLE f USING cuckoo_filter({options}); INSERT INTO t VALUES ('k4')")
    usual = db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, limit)
    if within:
        db.executescript("BEGIN; INSERT INTO o VALUES (1)")
    before = tell(db, "SELECT * FROM sqlite_master ORDER BY name")
    for sql in TRIED:
        assert SHORT.format("f", limit) in tell(db, sql), sql
    for kind in (options, "capacity=100"):
        assert SHORT.format("g", limit) in tell(db, CREATE.format(kind))
    assert db.in_transaction == within and tell(db, "SELECT count(*) FROM o") == [(within,)]
    assert tell(db, "SELECT * FROM sqlite_master ORDER BY name") == before
    for key in ("k1", "k4"):
        found = tell(db, f"SELECT cf_table_contains('f', '{key}')")
        assert found == [(1,)] or "cf_table_contains: " + SHORT.format("f", limit) in found
        assert found == [(1,)] or limit < page - 64, "a row of this length can be read"
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, usual)
    assert tell(db, "SELECT cf_table_contains('f', 'k1') + cf_table_contains('f', 'k4')") == [(2,)]
    assert [tell(db, sql) for sql in (TRIED[0].replace("rebuild", "check"), TRIED[1], CREATE.format(options))] == [[("ok",)], [], []]
    db.close()


@pytest.mark.parametrize("page", [512, 4096, 65536])
def test_the_page_size_is_enough(page):
    db = support.connect()
    db.executescript(f"PRAGMA page_size = {page}; CREATE TABLE t(k); INSERT INTO t VALUES ('k1'), ('k2')")
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, page)
    for sql in (CREATE.format("content='t(k)'").replace(" g ", " f "), "INSERT INTO t VALUES ('k3')", *TRIED[1:]):
        assert tell(db, sql) == []
    assert '"keys":3' in str(tell(db, TRIED[0]))
    assert tell(db, "SELECT cf_table_contains('f', 'k3')") == [(1,)]
    db.close()


@pytest.mark.parametrize("options", ["content='t(k)'", "content='t(k)', rows=on", "content='t(k)', rowids=on"])
def test_the_depth_of_expressions_that_triggers_take(options):
    db = support.connect()
    db.executescript(f"CREATE TABLE t(k); CREATE TABLE o(x); CREATE VIRTUAL TABLE f USING cuckoo_filter({options})")
    for depth in (13, 12):
        db.setlimit(sqlite3.SQLITE_LIMIT_EXPR_DEPTH, depth)
        db.executescript("BEGIN; INSERT INTO o VALUES (1)")
        said = str(tell(db, TRIED[0]))
        assert ("cannot be created: Expression tree is too large" in said) == (not db.in_transaction) == (depth < 13)
        db.in_transaction and db.execute("COMMIT")
    assert tell(db, "SELECT count(*) FROM o") == [(1,)]
    db.close()


# ---- another database in the place of this one ----

def reset(db):
    for value in (1, 0):
        support.configure(db, support.RESET_DATABASE, value)
        db.execute("VACUUM") if value else None


def another():
    source = sqlite3.connect(":memory:")
    source.execute("CREATE TABLE other(x)")
    return source


ANOTHER = {"RESET_DATABASE": reset, "deserialize": lambda db: db.deserialize(another().serialize()),
           "backup over it": lambda db: another().backup(db)}
THEN = {
    "RENAME TO": ["ALTER TABLE u RENAME TO v"],
    "RENAME COLUMN": ["ALTER TABLE u RENAME COLUMN k TO key"],
    "ADD COLUMN": ["ALTER TABLE u ADD COLUMN z"],
    "a filter, RENAME TO": ["CREATE VIRTUAL TABLE f USING cuckoo_filter(content='u(k)')", "ALTER TABLE u RENAME TO v"],
    "rows": ["INSERT INTO u(k) VALUES ('n')", "DELETE FROM u", "VACUUM"],
}
FILTERS = {"none": None, "direct": "capacity=9", "followed": "content='u(k)'", "fronted": "content='u(k)', rows=on"}


@pytest.mark.parametrize("then", THEN)
@pytest.mark.parametrize("how", ANOTHER)
@pytest.mark.parametrize("kind", FILTERS)
def test_another_database_in_the_place_of_this_one(kind, how, then):
    """What a filter leaves in the schema temp makes no statement fail."""
    db = support.connect()
    db.execute("CREATE TABLE u(id INTEGER PRIMARY KEY, k)")
    if FILTERS[kind]:
        db.execute(f"CREATE VIRTUAL TABLE f USING cuckoo_filter({FILTERS[kind]})")
    db.execute("INSERT INTO u(k) VALUES ('a')")
    ANOTHER[how](db)
    db.execute("CREATE TABLE u(id INTEGER PRIMARY KEY, k)")
    assert [tell(db, sql) for sql in THEN[then]] == [[]] * len(THEN[then])
    db.close()


# ---- a filter of a filter ----

@pytest.mark.parametrize("rows", ["off", "on"])
@pytest.mark.parametrize("what", inside.OWN_TABLES + ["filter"])
def test_tables_of_a_filter_are_no_content(what, rows):
    db = support.connect()
    db.executescript("CREATE TABLE u(id INTEGER PRIMARY KEY, k); INSERT INTO u(k) VALUES ('a')")
    f = Follower(db).create()
    table, column = ("f", "key") if what == "filter" else inside.own_table(db, what)
    says = tell(db, f"CREATE VIRTUAL TABLE g USING cuckoo_filter(content='{table}({column})', rows={rows})")
    assert "give an ordinary table" in says, "it is accepted"
    db.execute("INSERT INTO u(k) VALUES ('b')")
    f.exact()
    db.close()
