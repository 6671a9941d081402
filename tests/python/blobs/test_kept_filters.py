# SPDX-License-Identifier: MIT
"""A bound filter is opened once for many rows, and the open one stands beside the parameter. Each row must be answered by
the filter that it names: whatever a statement does with parameters, and whatever other statements run between two rows.
"""
import sqlite3
import time

import pytest

import support
from support import BAD_BLOB, BAD_PARAMETER, ask, fails

ROWS = 1500


@pytest.fixture
def db():
    db = support.connect()
    db.execute("CREATE TABLE keys(k INTEGER PRIMARY KEY)")
    db.executemany("INSERT INTO keys VALUES (?)", [(k,) for k in range(1, ROWS + 1)])
    yield db
    db.close()


def filter_of(db, where, options=""):
    """The keys for which an expression is true, each with the value k % 100."""
    return support.ask(db, "SELECT cf_add_keys(cf_new(2000, 1e-6, 'value_bits=7 seed=1 ' || ?1), cf_keys(k, k % 100, 'seed=1 ' || ?1)) FROM keys WHERE "
                       + where, options)


@pytest.fixture
def filters(db):
    """Two filters of one shape, whose headers differ in counts and checksum, and one of another shape and length."""
    return filter_of(db, "k % 3 = 0"), filter_of(db, "k % 4 = 1"), filter_of(db, "k % 5 = 2", "bucket_size=2 hash=xxh3")


def expected(db, function, blobs):
    """For each key and filter what a statement of its own says."""
    return {(k, i): db.execute(f"SELECT {function}((SELECT cf_open(?1)), ?2)", (blob, k)).fetchone()[0]
            for k in range(1, ROWS + 1) for i, blob in enumerate(blobs)}


# ?1, ?2 and ?3 are filters; the second expression says which one a row asks, from 0.
CHOICES = {
    "one": ("?1", "0"),
    "case": ("CASE k % 3 WHEN 0 THEN ?1 WHEN 1 THEN ?2 ELSE ?3 END", "k % 3"),
    "half and half": (f"CASE WHEN k < {ROWS // 2} THEN ?1 ELSE ?2 END", f"k >= {ROWS // 2}"),
    "iif": ("coalesce(CASE WHEN k % 7 THEN ?3 END, ?1)", "CASE WHEN k % 7 THEN 2 ELSE 0 END"),
    "subquery": ("(SELECT ?2)", "1"),
    "correlated subquery": ("(SELECT CASE WHEN k % 2 THEN ?1 ELSE ?2 END)", "1 - k % 2"),
    "list": ("(SELECT f FROM (SELECT 0 AS n, ?1 AS f UNION ALL SELECT 1, ?3) WHERE n = k % 2)", "k % 2 * 2"),
}


@pytest.mark.parametrize("function", ["cf_contains", "cf_count", "cf_get"])
def test_each_row_is_answered_by_its_filter(db, filters, function):
    truth = expected(db, function, filters)
    for choice, (chosen, number) in CHOICES.items():
        rows = db.execute(f"SELECT k, {number}, {function}({chosen}, k), {function}(?2, k), ?3 IS NULL FROM keys",
                          filters)
        for k, i, answer, second, _ in rows:
            assert (answer, second) == (truth[k, i], truth[k, 1]), (choice, k)


def test_a_trigger_gets_another_filter_with_each_row(db, filters):
    truth = expected(db, "cf_contains", filters)
    db.execute("CREATE TABLE questions(f, k)")
    db.execute("CREATE TABLE answers(k, answer, sum)")
    db.execute("""CREATE TRIGGER ask AFTER INSERT ON questions BEGIN
                      INSERT INTO answers VALUES (NEW.k, cf_contains(NEW.f, NEW.k),
                          (SELECT sum(cf_contains(NEW.f, k)) FROM keys WHERE k <= 10));
                  END""")
    db.execute("INSERT INTO questions SELECT CASE k % 3 WHEN 0 THEN ?1 WHEN 1 THEN ?2 ELSE ?3 END, k FROM keys",
               filters)
    tens = [sum(truth[k, i] for k in range(1, 11)) for i in range(3)]
    assert db.execute("SELECT * FROM answers ORDER BY k").fetchall() == [
        (k, truth[k, k % 3], tens[k % 3]) for k in range(1, ROWS + 1)]


def test_statements_take_turns(db, filters):
    """Each goes on with its own filter, between two rows of the other; some end early and begin anew with another filter."""
    truth = expected(db, "cf_contains", filters)
    sql = "SELECT k, cf_contains(?1, k) FROM keys"
    running = [[0, db.execute(sql, filters[:1])], [1, db.execute(sql, filters[1:2])]]
    for turn in range(3 * ROWS):
        one = running[turn % 5 % 2]
        row = one[1].fetchone() if turn % 701 else None
        if row is None:
            one[0] = (one[0] + 1) % 3
            one[1] = db.execute(sql, filters[one[0]:one[0] + 1])
        else:
            assert row[1] == truth[row[0], one[0]]


def test_many_short_statements(db, filters):
    truth = expected(db, "cf_contains", filters)
    for k in range(1, ROWS + 1):
        i = k // 5 % 3
        assert db.execute("SELECT cf_contains(?1, ?2)", (filters[i], k)).fetchone()[0] == truth[k, i]


@pytest.mark.parametrize("bad, kind", [("?2", BAD_BLOB), ("'text'", BAD_PARAMETER), ("7", BAD_PARAMETER),
                                       ("NULL", BAD_PARAMETER),
                                       ("x''", BAD_BLOB), ("zeroblob(3000)", BAD_BLOB),
                                       ("CAST(?1 AS TEXT)", BAD_PARAMETER),
                                       ("substr(?1, 1, 100)", BAD_BLOB)])
def test_after_many_good_rows_a_bad_filter_is_still_refused(db, filters, bad, kind):
    good = filters[0]
    says = fails(db, kind, f"SELECT cf_contains({bad}, ?1 = ?2)", good, good[:-1])
    assert fails(db, kind, f"SELECT cf_contains(CASE WHEN k < {ROWS - 1} THEN ?1 ELSE {bad} END, k) FROM keys WHERE ?2 <> ''",
                 good, good[:-1]) == says


# ---- large filters ----

LENDS_BLOBS = sqlite3.sqlite_version_info >= (3, 43)
NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6000) "
FAST = ["SELECT length(cf_add_keys(?1, cf_keys(i))) FROM n",
        "SELECT length(cf_delete_keys((SELECT cf_open(f) FROM filters), cf_keys(i))) FROM n",
        "SELECT length(cf_add_keys((SELECT cf_open(?1)), cf_keys(i))) FROM n"] + (
    ["SELECT length((SELECT cf_add_keys(filters.f, cf_keys(i)) FROM n)) FROM filters",
     "SELECT length(cf_add_keys(f, cf_keys(i))) FROM filters, n"] if LENDS_BLOBS else [])


@pytest.fixture(scope="module")
def large():
    """A filter of 5 MB and 6,000 keys."""
    db = support.connect()
    db.execute("CREATE TABLE filters(f)")
    db.execute("INSERT INTO filters VALUES (cf_new(4200000))")
    db.execute("CREATE TABLE n AS " + NUMBERS + "SELECT i FROM n")
    yield db
    db.close()


@pytest.mark.parametrize("sql", FAST)
def test_forms_that_do_not_copy(large, sql):
    blob = ask(large, "SELECT f FROM filters")
    assert ask(large, sql, *([blob] if "?1" in sql else [])) == len(blob)


def test_key_lists_take_large_filters(large):
    for call in ("cf_add_keys", "cf_delete_keys"):
        assert ask(large, f"SELECT cf_contains({call}(f, (SELECT cf_keys(i) FROM n)), 5) FROM filters") == (call == "cf_add_keys")


def test_single_lookups_are_for_filter_tables(db):
    """A statement with one lookup copies its blob, half a megabyte; a filter table is read where it lies."""
    many = "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < 400000) SELECT {} FROM n"
    db.execute("CREATE TABLE filters(id INTEGER PRIMARY KEY, f BLOB)")
    db.execute("CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=400000)")
    db.execute("INSERT INTO filters " + many.format("1, cf_build(k)"))
    db.execute("INSERT INTO seen(key) " + many.format("k"))
    db.commit()
    blob = ask(db, "SELECT f FROM filters")

    def times(sql, first):
        took = []
        for part in range(5):
            begin = time.perf_counter()
            for key in range(100):
                assert ask(db, sql, first, part * 100 + key + 1) == 1
            took.append(time.perf_counter() - begin)
        return min(took)

    table = times("SELECT cf_table_contains(?, ?)", "seen")
    assert times("SELECT cf_contains(?, ?)", blob) > 3 * table
    assert times("SELECT cf_contains((SELECT cf_open(f) FROM filters WHERE id = ?), ?)", 1) > 3 * table
