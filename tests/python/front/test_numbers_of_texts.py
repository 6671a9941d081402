# SPDX-License-Identifier: MIT
"""rows=on: numbers that are asked of a column of texts, and comparisons in every encoding and collation."""
import itertools
import sqlite3

import pytest

import inside
import random_queries
import support

COLLATIONS = ["BINARY", "NOCASE", "RTRIM"]
NUMBERS = [7, 7.0, 0.5, -0.0, 0, 1000, 1e3, 1e15, 1234567890123456.0, 9007199254740993, 2**63 - 1, -(2**63), 2.0**63,
           9e999, 0.1 + 0.2]
SPELLINGS = [sql for sql in random_queries.NUMBERS if sql != "NULL"]
# Each statement, on the content and on its front, as a program may write it; what it leaves is read by AFTER.
STATEMENTS = {
    "join": "SELECT e.x, t.rowid FROM e JOIN {T} AS t ON t.k = e.x",
    "left join": "SELECT e.rowid, t.rowid FROM e LEFT JOIN {T} AS t ON t.k = e.x",
    "cross join": "SELECT e.rowid, t.rowid FROM e CROSS JOIN {T} AS t WHERE e.x = t.k",
    "is": "SELECT e.rowid, t.rowid FROM e JOIN {T} AS t ON t.k IS e.x",
    "exists": "SELECT rowid FROM e WHERE EXISTS(SELECT 1 FROM {T} AS t WHERE t.k = e.x)",
    "not exists": "SELECT rowid FROM e WHERE NOT EXISTS(SELECT 1 FROM {T} AS t WHERE t.k = e.x)",
    "scalar": "SELECT e.rowid, (SELECT sum(t.rowid) FROM {T} AS t WHERE t.k = e.x) FROM e",
    "and another": "SELECT e.rowid, t.rowid FROM e JOIN {T} AS t ON t.k = e.x AND t.n = e.n",
    "other column": "SELECT e.rowid, t.rowid FROM e JOIN {T} AS t ON t.n = e.x",
    "or": "SELECT e.rowid, t.rowid FROM e JOIN {T} AS t ON t.k = e.x OR t.k = -e.x",
    "between": "SELECT e.rowid, t.rowid FROM e JOIN {T} AS t ON t.k BETWEEN e.x AND e.x",
    "twice": "SELECT e.rowid, t.rowid, u.rowid FROM e JOIN {T} AS t ON t.k = e.x JOIN {T} AS u ON u.k = e.x",
    "cast": "SELECT e.rowid, t.rowid FROM e JOIN {T} AS t ON t.k = CAST(e.x AS NUMERIC)",
    "insert": "INSERT INTO into_here SELECT e.rowid, t.rowid FROM e JOIN {T} AS t ON t.k = e.x",
    "update": "UPDATE e SET n = (SELECT count(*) FROM {T} AS t WHERE t.k = e.x)",
    "delete": "DELETE FROM e WHERE EXISTS(SELECT 1 FROM {T} AS t WHERE t.k = e.x)",
}
STATES = ["sound", "changed", "not committed", "savepoint", "no triggers", "no triggers, not committed"]


def values(*stored):
    return ", ".join(f"({sql}, {i % 3})" for i, sql in enumerate(stored))


def filled(db, type_, collation, stored, unique=False):
    db.execute(f"CREATE TABLE t(k {type_} COLLATE {collation}, n INT)")
    db.execute(f"CREATE {'UNIQUE ' if unique else ''}INDEX i ON t(k)")
    db.execute(f"INSERT OR IGNORE INTO t VALUES {values(*stored)}")
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(content='t(k)', rows=on)")


def steps_of(db, sql, *parameters):
    """Of SQLite's machine, also in what the front asks of the content."""
    steps = [0]
    db.set_progress_handler(lambda: steps.__setitem__(0, steps[0] + 1), 1)
    db.execute(sql, parameters).fetchall()
    db.set_progress_handler(None, 1)
    return steps[0]


def assert_alike(db, sql, *parameters):
    """The front gives the rows of the content."""
    plain, front = (db.execute(sql.format(T=T), parameters).fetchall() for T in "tf")
    assert plain == front, (sql, parameters)


@pytest.mark.parametrize("encoding", random_queries.ENCODINGS)
def test_every_number_finds_the_rows_of_the_content(encoding):
    for n, (type_, collation) in enumerate(itertools.product(["TEXT", "", "BLOB", "VARCHAR(9)"], COLLATIONS)):
        db = support.connect(encoding=encoding)
        filled(db, type_, collation, SPELLINGS, unique=n % 2 == 1)
        for affinity in ("INTEGER", "REAL", "TEXT", ""):
            db.execute("DROP TABLE IF EXISTS e")
            db.execute(f"CREATE TABLE e(x {affinity})")
            db.executemany("INSERT INTO e VALUES (?)", [(n,) for n in NUMBERS])
            for op, side in itertools.product(("=", "IS", "<", ">=", "<>"), ("e.x", "+e.x")):
                assert_alike(db, f"SELECT e.rowid, t.rowid FROM e JOIN {{T}} AS t ON t.k {op} {side} ORDER BY 1, 2")
        for number, op in itertools.product(NUMBERS, ("=", "IS", "<=", ">")):
            assert_alike(db, f"SELECT rowid FROM {{T}} WHERE k {op} ? ORDER BY 1", number)
        db.close()


@pytest.mark.parametrize("encoding", random_queries.ENCODINGS)
def test_texts_of_every_alphabet_compare_as_in_the_content(encoding):
    """In UTF-16le the bytes of U+0430 come before those of ':', though by NOCASE and RTRIM the letter comes behind it."""
    texts = [chr(c) for c in (*range(0x2F, 0x3C), 0x41, 0x61, 0x7E, 0xE9, 0x130, 0x131, *range(0x400, 0x460, 5),
                              0x3100, 0xFF1A, 0x1F600)]
    for type_, collation in itertools.product(["TEXT", ""], COLLATIONS):
        db = support.connect(encoding=encoding)
        filled(db, type_, collation, [f"'{text}'" for text in texts] + ["x'3a'", "5", "NULL"])
        db.execute("CREATE TABLE e(x TEXT)")
        db.executemany("INSERT INTO e VALUES (?)", [(text,) for text in texts])
        for op, side in itertools.product(("=", "IS", "<", "<=", ">", ">=", "IS NOT", "<>"),
                                          ("e.x", "+e.x", "e.x || ''")):
            assert_alike(db, f"SELECT e.rowid, t.rowid FROM e JOIN {{T}} AS t ON t.k {op} {side} ORDER BY 1, 2")
        for low in texts:
            for sql in ("k BETWEEN ? AND ? || 'z'", "k IN (?, upper(?))", "k LIKE ? || '%' AND k <> ? || ' '",
                        "k >= ? AND k < ?"):
                assert_alike(db, f"SELECT rowid FROM {{T}} WHERE {sql} ORDER BY 1", low, low)
        db.close()


@pytest.mark.parametrize("state", STATES)
def test_statements_of_every_kind(db, state):
    filled(db, "TEXT", "BINARY", ["'7'", "'8'", "'07'", "'9'", "'8.0'", "'x'"])
    db.execute("CREATE TABLE e(x INTEGER, n INT)")
    db.execute("CREATE TABLE into_here(a, b)")
    db.execute("INSERT INTO e VALUES (7, 0), (8, 1), (9, 0), (10, 2), (7, 2), (NULL, 0), (11, 1)")
    change = ["INSERT INTO t VALUES ('010', 0), ('8 ', 1)", "DELETE FROM t WHERE k = '07'",
              "UPDATE t SET k = '7.0' WHERE k = 'x'"]
    if "no triggers" in state:
        inside.drop_own_triggers(db)
    if "not committed" in state or state == "savepoint":
        db.execute("BEGIN")
    if state == "savepoint":
        db.execute("SAVEPOINT s")
    for sql in change if state != "sound" else []:
        db.execute(sql)
    if state == "savepoint":
        db.execute(STATEMENTS["join"].format(T="f")).fetchall()
        db.execute("ROLLBACK TO s")
    for name, sql in STATEMENTS.items():
        seen = []
        for T in "tf":
            db.execute("SAVEPOINT one")
            rows = db.execute(sql.format(T=T)).fetchall()
            seen.append([sorted(map(repr, rows))]
                        + [db.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall()
                           for table in ("e", "into_here")])
            db.execute("ROLLBACK TO one")
            db.execute("RELEASE one")
        assert seen[0] == seen[1], name


@pytest.mark.parametrize("path", ["memory", "file"])
def test_what_changes_between_two_rows_of_a_query_is_seen(tmp_path, path):
    """A text in another spelling goes and comes back, by ROLLBACK TO, while a query runs."""
    db = support.connect(":memory:" if path == "memory" else str(tmp_path / "x"))
    filled(db, "TEXT", "BINARY", ["'1'", "'2'", "'007'", "'9'", "'8.0'"])
    db.execute("CREATE TABLE e(x INTEGER)")
    db.execute("INSERT INTO e VALUES (8), (8), (8), (7), (7), (7), (7), (7), (7), (7)")
    db.execute("BEGIN")
    asked = [db.execute(f"SELECT e.x, (SELECT t.k FROM {T} AS t WHERE t.k = e.x) FROM e ORDER BY e.rowid")
             for T in "tf"]

    def next_rows():
        rows = [one.fetchone() for one in asked]
        assert rows[0] == rows[1]
        return rows[0]

    assert next_rows() == (8, "8.0")
    changes = ["SAVEPOINT s", "DELETE FROM t WHERE k = '007'", None, "ROLLBACK TO s", None,
               "INSERT INTO t VALUES ('07', 0)",
               "DELETE FROM t WHERE k = '007'", None, "UPDATE t SET k = '+7' WHERE k = '07'", None]
    found = set()
    for sql in changes:
        if sql:
            db.execute(sql)
        else:
            found.update(next_rows() for _ in range(2))
    assert found >= {(8, "8.0"), (7, None), (7, "007"), (7, "07")}


def test_what_others_commit_is_seen_by_the_next_statement(tmp_path):
    path = str(tmp_path / "x")
    db, other, bare = support.connect(path), support.connect(path), sqlite3.connect(path, isolation_level=None)
    filled(db, "TEXT", "BINARY", ["'1'", "'2'", "'07'"])
    question = "SELECT k FROM f WHERE k = 7"
    for connection, texts in ((db, ["7.0"]), (other, ["007", "7e0"]), (bare, [" 7", "+7"]), (other, []),
                              (bare, ["07"])):
        connection.execute("DELETE FROM t WHERE k NOT IN ('1', '2')")
        connection.executemany("INSERT INTO t VALUES (?, 0)", [(text,) for text in texts])
        for asker in (db, other):
            found = asker.execute("SELECT count(*) FROM f WHERE k = +(SELECT CAST(7 AS INTEGER)) OR k = CAST('7' AS INTEGER)").fetchall()
            assert found == asker.execute("SELECT count(*) FROM t WHERE k = +(SELECT CAST(7 AS INTEGER)) OR k = CAST('7' AS INTEGER)").fetchall()
            rows = asker.execute("SELECT f.k FROM (SELECT CAST(7 AS INTEGER) AS x) AS e JOIN f ON f.k = e.x ORDER BY 1").fetchall()
            assert rows == sorted((text,) for text in texts), (texts, rows)
            assert asker.execute(question).fetchall() == asker.execute(question.replace("f ", "t ")).fetchall()


MIXED = {
    "UNION": "SELECT v FROM n UNION SELECT '5.0' UNION SELECT 'ada'",
    "UNION ALL": "SELECT v FROM n UNION ALL SELECT '5.0' UNION ALL SELECT 'ada'",
    "texts first": "SELECT '5.0' UNION SELECT 'ada' UNION SELECT v FROM n",
    "VALUES": "VALUES (CAST(7 AS INTEGER)), ('5.0'), ('ada')",
    "recursive": "WITH RECURSIVE r(k, i) AS (SELECT v, 0 FROM n UNION ALL SELECT substr('5.0ada', 1 + 3 * i, 3), i + 1 FROM r WHERE i < 2) "
                 "SELECT k FROM r",
}


@pytest.mark.parametrize("mixed", MIXED)
@pytest.mark.parametrize("join", ["CROSS JOIN {T} AS t ON t.k = {k}", "LEFT JOIN {T} AS t ON t.k = {k}", "JOIN {T} AS t ON t.k IS {k}"])
def test_a_cast_makes_one_type_of_numbers_and_texts(db, mixed, join):
    """Before SQLite 3.43 a column of a UNION may have an affinity that only comparisons with ordinary tables apply."""
    db.executescript("CREATE TABLE t(id INTEGER PRIMARY KEY, k TEXT); INSERT INTO t VALUES (1, '7'), (2, '5'), (3, '5.0'), (4, 'ada');"
                     "CREATE TABLE n(v INTEGER); INSERT INTO n VALUES (7); CREATE VIRTUAL TABLE f USING cuckoo_filter(content='t(k)', rows=on);"
                     f"CREATE VIEW w AS SELECT * FROM (WITH w(k) AS ({MIXED[mixed]}) SELECT k FROM w)")

    def rows(k):
        return [db.execute(f"SELECT w.k, t.id FROM w {join.format(T=T, k=k)} ORDER BY 1, 2").fetchall() for T in "tf"]

    texts = rows("CAST(w.k AS TEXT)")
    assert texts[0] == texts[1] and (7, 1) in texts[1] and ("ada", 4) in texts[1]
    plain = rows("w.k")
    assert plain[0] == plain[1] or sqlite3.sqlite_version_info < (3, 43)


@pytest.mark.parametrize("type_", ["TEXT", ""])
def test_only_a_number_in_another_spelling_reads_all_rows(db, type_):
    """Of 4,000 numbers five are in another spelling, and some 40 are false positives. A pass over the texts takes 40,000 steps,
    and so does each of the five."""
    numbers = [str(i) for i in range(2000)]
    filled(db, type_, "BINARY", [f"'{text}'" for text in numbers + [f"0{text}" for text in numbers[::400]]],
           unique=True)
    db.execute("CREATE TABLE e(x INTEGER, n INT)")
    db.execute("CREATE TABLE into_here(a, b)")
    db.execute("WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i < 4000) INSERT INTO e SELECT i, i % 3 FROM c")
    for name in ("join", "left join", "cross join", "is", "exists", "not exists", "scalar", "and another", "cast",
                 "insert", "update", "delete"):
        assert steps_of(db, STATEMENTS[name].format(T="f")) < 500_000, name


def test_the_usual_spelling_takes_an_index_lookup_only(db):
    """The filter counts the rows of a number: when they were found, no text is read but theirs. One pass is kept for all statements."""
    filled(db, "TEXT", "BINARY", [f"'{i}'" for i in range(3000)], unique=True)
    assert sum(steps_of(db, "SELECT n FROM f WHERE k = ?", i) for i in range(0, 3000, 10)) < 300 * 150 + 3000 * 30


def test_the_plan_says_what_becomes_of_numbers(db):
    filled(db, "TEXT", "BINARY", ["'7'"])
    says = "numbers in texts by their usual spelling, then by others"
    for where, said in (("k = ?", True), ("k IS ?", True), ("n = ?", False), ("k > ?", False), ("k IN (?, ?)", False),
                        ("k IS NULL", True)):
        plan = db.execute(f"EXPLAIN QUERY PLAN SELECT * FROM f WHERE {where}",
                          (1, 2)[:where.count("?")]).fetchall()[0][3]
        assert (says in plan) == said or where == "k IN (?, ?)", plan
