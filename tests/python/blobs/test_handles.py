# SPDX-License-Identifier: MIT
"""cf_open: a handle stands for the filter wherever one is read; a lost handle is an error, not silence.

A handle is a pointer value. SQLite carries it from a scalar subquery or a constant expression to a
function, but not through a record: a materialised CTE, a sorter, a table. There it becomes NULL.
Whether a view or a subquery in FROM makes a record is up to SQLite's planner, so for those the tests
accept the right answer too: what must never come is a wrong answer or a missing row.
"""
import re
import sqlite3

import pytest

import support
from support import BAD_PARAMETER, ask, fails

HANDLE = "(SELECT cf_open(f) FROM filters WHERE name = '{}')"
A, B = HANDLE.format("a"), HANDLE.format("b")
OPTIONS = "fingerprint_bits=32 capacity=100"


@pytest.fixture
def db():
    """Filters a (keys 0 .. 9) and b (keys 5 .. 14); table t with the keys 0 .. 19."""
    db = support.connect()
    prepare(db)
    yield db
    db.close()


def prepare(db):
    db.execute("CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB)")
    db.execute("CREATE TABLE t(k INTEGER)")
    db.executemany("INSERT INTO t VALUES (?)", [(k,) for k in range(20)])
    for name, first in (("a", 0), ("b", 5)):
        db.execute("INSERT INTO filters VALUES (?, ?)",
                   (name, support.build(db, range(first, first + 10), None, OPTIONS)))


def filter_of(db, name):
    return ask(db, "SELECT f FROM filters WHERE name = ?", name)


def column(db, sql, *parameters):
    return [row[0] for row in db.execute(sql, parameters)]


# ---- a handle is as good as the filter, whatever reads it (extension/test_functions.py); in rows ----

def test_one_handle_answers_for_many_rows(db):
    assert column(db, f"SELECT k FROM t WHERE cf_contains({A}, k) ORDER BY k") == list(range(10))
    assert ask(db, f"SELECT sum(cf_count({A}, k)) FROM t") == 10


def test_aggregates_take_a_handle_over_many_rows(db):
    a = filter_of(db, "a")
    assert (ask(db, f"SELECT cf_add_keys({A}, cf_keys(k)) FROM t")
            == ask(db, "SELECT cf_add_keys(?, cf_keys(k)) FROM t", a))
    assert (ask(db, f"SELECT cf_delete_keys({A}, cf_keys(k)) FROM t WHERE k < 10")
            == ask(db, "SELECT cf_clear(?)", a))
    assert ask(db, f"SELECT cf_merge({A}) FROM t WHERE k < 2") == ask(db, "SELECT cf_merge(?, ?)", a, a)


def test_two_handles_in_one_query(db):
    assert column(db, f"SELECT k FROM t WHERE cf_contains({A}, k) AND cf_contains({B}, k) ORDER BY k") == [5, 6, 7, 8,
            9]
    assert column(db, f"SELECT cf_contains({A}, k) || cf_contains({B}, k) FROM t WHERE k IN (4, 5, 12) ORDER BY k") == ["10", "11", "01"]
    a, b = filter_of(db, "a"), filter_of(db, "b")
    for one, other in (("cf_open(?)", "?"), ("?", "cf_open(?)"), ("cf_open(?)", "cf_open(?)")):
        assert ask(db, f"SELECT cf_merge({one}, {other})", a, b) == ask(db, "SELECT cf_merge(?, ?)", a, b)


# ---- statements run again ----

def test_a_statement_run_again_sees_the_changed_filter(db):
    """The same prepared statement (Python keeps it by its text): a handle lives for one execution."""
    sql = f"SELECT sum(cf_contains({A}, k)) FROM t"
    assert ask(db, sql) == 10
    db.execute("UPDATE filters SET f = cf_add(f, 15) WHERE name = 'a'")
    assert ask(db, sql) == 11
    db.execute("UPDATE filters SET f = cf_clear(f) WHERE name = 'a'")
    assert ask(db, sql) == 0
    db.execute("DELETE FROM filters WHERE name = 'a'")
    fails(db, BAD_PARAMETER, sql, function="cf_contains", says="filter is NULL")


def test_a_statement_run_again_takes_the_new_parameter(db):
    sql = "SELECT sum(cf_contains(cf_open(?1), k)) FROM t"
    assert ask(db, sql, filter_of(db, "a")) == 10
    assert ask(db, sql, ask(db, "SELECT cf_clear(?)", filter_of(db, "a"))) == 0
    fails(db, BAD_PARAMETER, sql, None, function="cf_open")


def test_a_constant_handle_is_made_once_and_serves_all_rows(db):
    literal = f"x'{filter_of(db, 'a').hex()}'"
    assert column(db, f"SELECT k FROM t WHERE cf_contains(cf_open({literal}), k) ORDER BY k") \
        == list(range(10))
    assert column(db, "SELECT cf_contains(cf_open(?1), k) FROM t", filter_of(db, "a")) \
        == [1] * 10 + [0] * 10


def test_a_running_statement_keeps_the_filter_it_opened(db):
    """Nothing the handle refers to goes away when the row it came from changes."""
    rows = db.execute(f"SELECT k, cf_contains({A}, k) FROM t ORDER BY rowid")
    got = [next(rows) for _ in range(3)]
    db.execute("UPDATE filters SET f = zeroblob(100000)")
    db.execute("DELETE FROM filters")
    got += rows.fetchall()
    assert got == [(k, int(k < 10)) for k in range(20)]


# ---- joins and statements that write ----

def test_handles_in_a_join(db):
    sql = "SELECT name, k FROM filters JOIN t ON cf_contains(cf_open(f), k) ORDER BY name, k"
    assert db.execute(sql).fetchall() == ([("a", k) for k in range(10)]
                                          + [("b", k) for k in range(5, 15)])


def test_a_correlated_handle_follows_its_row(db):
    sql = ("SELECT name, k FROM filters o, t WHERE cf_contains("
           "(SELECT cf_open(f) FROM filters i WHERE i.name = o.name), k) AND k IN (0, 14) ORDER BY name")
    assert db.execute(sql).fetchall() == [("a", 0), ("b", 14)]


def test_handle_of_the_row_that_the_statement_updates(db):
    a, b = filter_of(db, "a"), filter_of(db, "b")
    db.execute("UPDATE filters SET f = cf_add((SELECT cf_open(i.f) FROM filters i "
               "WHERE i.name = filters.name), 99)")
    assert filter_of(db, "a") == support.add(db, a, 99)
    assert filter_of(db, "b") == support.add(db, b, 99)


def test_handle_of_a_row_updated_before_the_others(db):
    """The subquery is not correlated: it is opened once, and row b is merged with a as it was."""
    a, b = filter_of(db, "a"), filter_of(db, "b")
    db.execute(f"UPDATE filters SET f = cf_merge(f, {A})")
    assert filter_of(db, "a") == ask(db, "SELECT cf_merge(?1, ?1)", a)
    assert filter_of(db, "b") == ask(db, "SELECT cf_merge(?2, ?1)", a, b)


@pytest.mark.skipif(sqlite3.sqlite_version_info < (3, 35), reason="no RETURNING")
def test_update_with_returning_and_a_condition_on_the_old_filter(db):
    rows = db.execute(f"UPDATE filters SET f = cf_add(f, 50) WHERE name = 'a' AND "
                      f"NOT cf_contains({A}, 50) RETURNING cf_contains(f, 50)").fetchall()
    assert rows == [(1,)]


def test_a_handle_in_a_trigger(db):
    db.execute(f"""CREATE TRIGGER keep AFTER INSERT ON t WHEN NOT cf_contains({A}, new.k) BEGIN
                   UPDATE filters SET f = cf_add(f, new.k) WHERE name = 'a'; END""")
    db.execute("INSERT INTO t VALUES (30), (31), (30)")
    assert [support.count(db, filter_of(db, "a"), k) for k in (30, 31)] == [1, 1]


def test_rows_of_a_table_outlive_their_handle(db):
    """The cursor of cf_buckets holds the bytes while it is read, whatever happens to the row."""
    expected = db.execute("SELECT * FROM cf_buckets(?)", (filter_of(db, "a"),)).fetchall()
    rows = db.execute(f"SELECT * FROM cf_buckets({A})")
    got = [next(rows)]
    db.execute("DELETE FROM filters")
    assert got + rows.fetchall() == expected


def test_rows_of_a_filter_table_outlive_what_is_in_memory_of_it(db):
    """A change of the schema lets SQLite connect the table anew, and free what it had."""
    db.execute("CREATE VIRTUAL TABLE known USING cuckoo_filter(content='t(k)')")
    expected = db.execute("SELECT * FROM cf_buckets('known')").fetchall()
    rows = db.execute("SELECT * FROM cf_buckets('known')")
    got = [next(rows)]
    db.execute("ALTER TABLE t ADD COLUMN another")
    assert got + rows.fetchall() == expected


# ---- lost handles ----

LOST = "filter is NULL"


# UNION keeps records on every version, as MATERIALIZED does from 3.35 on.
CTE = "WITH h(x) AS (SELECT cf_open(f) FROM filters WHERE name = 'a' UNION SELECT NULL WHERE 0) "


def test_a_handle_lost_in_a_record_is_an_error(db):
    for sql in (CTE + "SELECT count(*) FROM h, t WHERE cf_contains(x, k)", CTE
                + "SELECT count(*) FROM t WHERE NOT cf_contains((SELECT x FROM h), k)",
                CTE + "SELECT count(*) FROM h, t WHERE cf_count(x, k) > 0", CTE + "SELECT cf_info(x) FROM h",
                CTE + "UPDATE filters SET f = cf_add((SELECT x FROM h), 1)", CTE + "SELECT cf_add_keys(x, cf_keys(k)) FROM h, t",
                CTE + "SELECT cf_merge(x) FROM h",
                CTE + "SELECT count(*) FROM h, cf_buckets(h.x)", CTE + "SELECT count(*) FROM h, cf_explain(h.x, 1)",
                "WITH h(x) AS (SELECT cf_open(f) FROM filters UNION SELECT NULL) SELECT count(*) FROM h, t WHERE cf_contains(x, k)",
                "SELECT count(*) FROM (SELECT DISTINCT cf_open(f) AS x FROM filters), t WHERE cf_contains(x, k)",
                "SELECT count(*) FROM t, (SELECT max(name), cf_open(f) AS x FROM filters GROUP BY name) WHERE cf_contains(x, k)",
                "SELECT cf_contains(max(x), 1) FROM (SELECT cf_open(f) AS x FROM filters)"):
        function = re.search(r"cf_(?!open)\w+", sql).group()
        fails(db, BAD_PARAMETER, sql, function=function, says=LOST)


SOURCES = ["(SELECT cf_open(f) AS x FROM filters WHERE name = 'a')",
           "(SELECT cf_open(f) AS x FROM filters WHERE name = 'a' LIMIT 1)",
           "(SELECT cf_open(f) AS x FROM filters WHERE name = 'a' UNION ALL SELECT cf_open(f) FROM filters WHERE name = 'nobody')",
           "(SELECT cf_open(f) AS x FROM filters WHERE name = 'a' ORDER BY x)", "handles",
           "(SELECT * FROM handles LIMIT 1)"]


@pytest.mark.parametrize("query", [
    "SELECT k FROM {source}, t WHERE cf_contains(x, k) ORDER BY k",
    "SELECT k FROM t, {source} WHERE cf_contains(x, k) ORDER BY k",
    "SELECT k FROM t WHERE cf_contains((SELECT x FROM {source}), k) ORDER BY k",
    "SELECT k FROM t LEFT JOIN {source} ON 1 WHERE cf_contains(x, k) ORDER BY k",
    "SELECT k FROM t CROSS JOIN {source} WHERE cf_contains(x, k) ORDER BY k"])
def test_a_handle_from_a_view_or_from_works_or_fails(db, query):
    db.execute("CREATE VIEW handles AS SELECT cf_open(f) AS x FROM filters WHERE name = 'a'")
    for source in SOURCES:
        try:
            assert column(db, query.format(source=source)) == list(range(10))
        except sqlite3.OperationalError as error:
            assert LOST in str(error)


def test_a_handle_stored_in_a_table_is_null(db):
    db.execute("CREATE TABLE h(x)")
    db.execute(f"INSERT INTO h VALUES ({A})")
    fails(db, BAD_PARAMETER, "SELECT cf_contains(x, 1) FROM h", says=LOST)
    assert ask(db, "SELECT x IS NULL FROM h") == 1


def test_a_pointer_of_somebody_else_is_no_handle(db):
    """fts5 hands out pointers too, of its own type."""
    fails(db, BAD_PARAMETER, "SELECT cf_contains(fts5(NULL), 1)", says=LOST)
    # And a handle is no key, and no part of one.
    assert ask(db, f"SELECT cf_contains({A}, {B})") is None
    assert ask(db, f"SELECT cf_key({A})") is None


def test_handles_are_given_back():
    """After every way to make and lose a handle, SQLite counts as much memory as before."""
    memory = support.Memory()
    before = memory.used()
    db = support.connect()
    prepare(db)
    for sql in (f"SELECT cf_contains({A}, k) FROM t", "SELECT cf_contains(cf_open(f), k) FROM filters, t",
                f"SELECT * FROM cf_buckets({A})", f"SELECT * FROM t, cf_explain({A}, k)",
                f"SELECT cf_add_keys({A}, cf_keys(k)) FROM t", f"SELECT cf_merge({A}) FROM t WHERE k < 2",
                "SELECT DISTINCT cf_open(f) FROM filters",
                "WITH h AS MATERIALIZED (SELECT cf_open(f) AS x FROM filters) SELECT cf_info(x) FROM h",
                f"SELECT cf_add_keys({A}, cf_keys(k)), cf_info('no filter') FROM t"):
        try:
            db.execute(sql).fetchall()
        except sqlite3.Error:
            pass
    half_read = db.execute(f"SELECT * FROM cf_buckets({A})")
    next(half_read)
    half_read.close()
    db.close()
    assert memory.used() == before
