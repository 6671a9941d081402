# SPDX-License-Identifier: MIT
"""Every way to compare the column `key` of a filter table: what the column that holds the keys finds, it finds, too.

The oracle is that column itself, in an ordinary table. Filters that follow it answer all comparisons; others those that
ask for single keys, and the rest is an error.
"""
import itertools
import sqlite3

import pytest

import inside
import support
from support import ask

ENCODINGS = ["UTF-8", "UTF-16le", "UTF-16be"]
COLLATIONS = ["BINARY", "NOCASE", "RTRIM"]
TYPES = {"INTEGER": "integer", "NUMERIC": "numeric", "REAL": "real", "TEXT": "text", "BLOB": "blob", "": "blob"}
EXACT = "fingerprint_bits=32, seed=0"

STORED = ["ab", "Cd ", "X", "x  ", 5, "7", "8e0 ", "09", 2.5, "3.5", 2**60, b"ab", b"5", "", "é", "a\0b",
          None]  # NULL is no key
ASKED = [*STORED[:-1], "AB", "Ab ", "ab  ", "cD", "cd ", "X ", "É", "A\0B", " ", 7, 7.0, "7.0", " 7", 8, "8", 9, "5",
         5.0, "2.5", 3.5, float(2**60),
         "absent", "Absent ", 6, "6", b"6"]

# {k} is the column, ?1 the key that is asked for.
SINGLE = ["{k} = ?1", "{k} == ?1", "?1 = {k}", "{k} IS ?1", "?1 IS {k}", "{k} IN (?1)", "{k} IN (?1, ?1)",
          "{k} IN (SELECT ?1)",
          "{k} IN (SELECT a FROM asked)", "{k} IN (VALUES (?1), (?1))", "({k}) = (?1)", "({k}, 1) = (?1, 1)",
          "{k} = (SELECT ?1)",
          "{k} = ?1 AND {k} = ?1", "{k} = ?1 AND {k} IS ?1", "{k} IS ?1 AND {k} IN (?1)", "{k} = ?1 AND +{k} = ?1",
          "{k} = ?1 AND {k} BETWEEN ?1 AND ?1", "{k} = ?1 OR {k} = ?1", "{k} = ?1 AND NOT {k} <> ?1"]
if sqlite3.sqlite_version_info >= (3, 39):
    SINGLE += ["{k} IS NOT DISTINCT FROM ?1", "?1 IS NOT DISTINCT FROM {k}"]
LISTED = ["{k} BETWEEN ?1 AND ?1", "+{k} = ?1", "?1 = +{k}", "+{k} IS ?1", "{k} >= ?1 AND {k} <= ?1", "NOT {k} <> ?1",
          "+{k} IN (?1)",
          "{k} IS NOT NULL AND NOT ({k} < ?1 OR {k} > ?1)", "CASE {k} WHEN ?1 THEN 1 END", "{k} IN (?1) IS 1"]
# {f} is what the column is in; {c} its name alone; asked(a, k, key) has the key that is asked for.
JOINS = ["SELECT count(*) FROM asked JOIN {f} ON {k} = a", "SELECT count(*) FROM {f} JOIN asked ON {k} = a",
         "SELECT count(*) FROM asked JOIN {f} ON a = {k}", "SELECT count(*) FROM asked, {f} WHERE {k} IS a",
         "SELECT count(*) FROM asked JOIN {f} USING ({c})",
         "SELECT count(*) FROM asked NATURAL JOIN (SELECT {k} FROM {f})",
         "SELECT count({k}) FROM asked LEFT JOIN {f} ON {k} = a",
         "SELECT count({k}) FROM asked LEFT JOIN {f} ON {k} IS a",
         "SELECT count(*) FROM asked LEFT JOIN {f} ON {k} = a WHERE {k} = ?1",
         "SELECT count(*) FROM asked WHERE EXISTS (SELECT 1 FROM {f} WHERE {k} = a)",
         "SELECT count(*) FROM asked WHERE EXISTS (SELECT 1 FROM {f} WHERE {k} IS a)",
         "SELECT count(*) FROM asked x JOIN {f} ON {k} = x.a JOIN asked y ON y.a = {k}",
         "SELECT count(*) FROM asked WHERE (SELECT count(*) FROM {f} WHERE {k} = a)",
         "SELECT count(*) FROM asked x JOIN {f} ON {k} = x.a WHERE {k} = ?1"]
LISTS = ["SELECT ?1 IN {f} OR NULL", "SELECT ?1 IN (SELECT {k} FROM {f})",
         "SELECT count(*) FROM asked WHERE a IN (SELECT {k} FROM {f})",
         "SELECT count(*) FROM {f} WHERE EXISTS (SELECT 1 FROM asked WHERE {k} = a)",
         "SELECT count(*) FROM (SELECT {k} AS w FROM {f} GROUP BY {k}) WHERE w = ?1",
         "SELECT count(*) FROM (SELECT DISTINCT {k} AS w FROM {f}) WHERE w = ?1"]
QUESTIONS = [(q, False) for q in [*("SELECT count(*) FROM {f} WHERE " + c for c in SINGLE), *JOINS]]
QUESTIONS += [(q, True) for q in [*("SELECT count(*) FROM {f} WHERE " + c for c in LISTED), *LISTS]]


def content(db, declared, collation, name="t"):
    db.execute(f"CREATE TABLE {name}(k {declared} COLLATE {collation})")
    db.executemany(f"INSERT INTO {name} VALUES (?)", [(value,) for value in STORED])


def set_asked(db, key):
    db.execute("CREATE TABLE IF NOT EXISTS asked(a, k, key)")
    db.execute("DELETE FROM asked")
    db.execute("INSERT INTO asked VALUES (?1, ?1, ?1)", (key,))


def number_of(db, question, f, column, key):
    question = question.format(f=f, k=f"{f}.{column}", c=column)
    return ask(db, question, *([key] if "?1" in question else []))


def is_sharp(key):
    """Only itself is this key, under every affinity: text that is no number, or a blob."""
    return isinstance(key, bytes) or (isinstance(key, str) and not key.strip().strip(".0123456789") == "")


def compare(db, column="k", table="t", filter="f", lists=True, asked=ASKED, questions=QUESTIONS):
    """Asks these questions; how many there were. `lists`: the filter can list its keys."""
    n = 0
    for key in asked:
        set_asked(db, key)
        known = number_of(db, "SELECT count(*) FROM {f} WHERE {k} = ?1", table, column,
                          key)  # also where a question compares by BINARY
        for question, needs_list in questions:
            there = number_of(db, question, table, column, key)
            try:
                found = number_of(db, question, filter, "key", key)
            except sqlite3.OperationalError as error:
                assert needs_list and not lists and "cannot list" in str(error), (question, key, error)
                continue
            assert bool(found) or not there, (question, key, "is missed")
            assert not found or there or known or not is_sharp(key), (question, key, "is found")
            n += 1
    return n


@pytest.fixture(params=ENCODINGS)
def base(request):
    db = support.connect(encoding=request.param)
    yield db
    db.close()


def keys_for(base):
    """All of them; where texts are UTF-16 only those that encodings change."""
    return ASKED if ask(base, "PRAGMA encoding") == "UTF-8" else ["é", "É", "a\0b", "Cd ", "7.0", 5, "absent"]


EACH = pytest.mark.parametrize("declared, collation", list(itertools.product(TYPES, COLLATIONS)))


@EACH
def test_followed(base, declared, collation):
    content(base, declared, collation)
    base.execute(f"CREATE VIRTUAL TABLE f USING cuckoo_filter(content='t(k)', {EXACT})")
    asked = keys_for(base)
    assert compare(base, asked=asked) == len(asked) * len(QUESTIONS)


@EACH
def test_direct(base, declared, collation):
    content(base, declared, collation)
    base.execute(f"CREATE VIRTUAL TABLE f USING cuckoo_filter(capacity=100, affinity={TYPES[declared]}, collation={collation}, {EXACT})")
    base.execute("INSERT INTO f(key) SELECT k FROM t")
    asked = keys_for(base)
    assert compare(base, lists=False, asked=asked) >= len(asked) * sum(not needs_list for _, needs_list in QUESTIONS)


@pytest.mark.parametrize("collation", COLLATIONS)
@pytest.mark.parametrize("declared", TYPES)
def test_delete_finds_what_the_column_finds(db, declared, collation):
    for condition in SINGLE:
        for key in ["AB", "ab", "ab ", 7, "7"]:
            db.executescript("DROP TABLE IF EXISTS t; DROP TABLE IF EXISTS f")
            content(db, declared, collation)
            set_asked(db, key)
            there = ask(db, f"SELECT count(*) FROM t WHERE {condition.format(k='k')}",
                        *([key] if "?1" in condition else []))
            db.execute(f"CREATE VIRTUAL TABLE f USING cuckoo_filter(capacity=99, affinity={TYPES[declared]}, collation={collation}, {EXACT})")
            db.execute("INSERT INTO f(key) SELECT k FROM t")
            changed = db.execute(f"DELETE FROM f WHERE {condition.format(k='f.key')}",
                                 [key] if "?1" in condition else []).rowcount
            assert changed >= bool(there), (condition, key)


# ---- later changes ----

# SQLite decides these by the type of the column, as it was declared, and may not ask the table at all.
BY_TYPE = ["{k} = ?1 AND +{k} = ?1", "ON {k} = x.a WHERE {k} = ?1"]

def reopen(db, path):
    db.close()
    return support.connect(path)


SHORT = ["ab", "AB", "ab ", "x", "X", 7, "7", "absent"]


@pytest.mark.parametrize("before, after", list(itertools.permutations([("TEXT", "BINARY"), ("TEXT", "NOCASE"),
    ("TEXT", "RTRIM"),
                                                                        ("INTEGER", "BINARY"), ("REAL", "NOCASE")], 2)))
def test_a_table_made_anew_with_another_rule_is_never_missed(tmp_path, before, after):
    """The connection that knows the old rule answers right, or says that it must read the schema again; another one answers."""
    path = str(tmp_path / "a.db")
    db, other = support.connect(path), support.connect(path)
    content(db, *before)
    db.execute(f"CREATE VIRTUAL TABLE f USING cuckoo_filter(content='t(k)', {EXACT})")
    set_asked(db, "ab")
    assert compare(other, asked=SHORT[:1])
    db.execute("DROP TABLE t")
    content(db, *after)
    db.execute("SELECT cf_table_rebuild('f')")
    for key in SHORT:
        set_asked(db, key)
        for question, _ in QUESTIONS:
            if any(part in question for part in BY_TYPE):
                continue
            there = number_of(db, question, "t", "k", key)
            try:
                assert number_of(db, question, "f", "key", key) or not there, (question, key)
            except sqlite3.OperationalError as error:
                assert "open a new connection" in str(error), error
    assert compare(other, asked=SHORT) == len(SHORT) * len(QUESTIONS)
    if sqlite3.sqlite_version_info >= (3, 38):
        db.execute("PRAGMA writable_schema = RESET")
        assert compare(db, asked=SHORT) == len(SHORT) * len(QUESTIONS)
    db = reopen(db, path)
    assert compare(db, asked=SHORT) == len(SHORT) * len(QUESTIONS)
    db.close()
    other.close()


@pytest.mark.parametrize("mine, its", list(itertools.permutations(["affinity=none", "affinity=none collation=nocase",
    "affinity=numeric",
                                                                    "affinity=real collation=rtrim",
                                                                    "affinity=text collation=nocase"], 2)))
def test_an_import_of_another_rule_is_never_missed(tmp_path, mine, its):
    path = str(tmp_path / "a.db")
    db = support.connect(path)
    db.execute(f"CREATE VIRTUAL TABLE f USING cuckoo_filter(capacity=9, {EXACT}, {mine.replace(' ', ', ')})")
    blob = support.add(db, support.new(db, 9, None, "fingerprint_bits=32 " + its), "ab", "7", 5, "5.50")
    db.execute("INSERT INTO f(f, key) VALUES ('import', ?)", (blob,))
    for again in (False, True):
        db = reopen(db, path) if again else db
        for key in ["ab", "AB", "ab ", "7", 7, 5, "5", "5.50", 5.5]:
            for condition in SINGLE:
                if "asked" in condition or condition in BY_TYPE:
                    continue
                try:
                    found = ask(db, f"SELECT count(*) FROM f WHERE {condition.format(k='f.key')}", key)
                    assert found or not support.contains(db, blob, key), (condition, key)
                except sqlite3.OperationalError as error:
                    assert not again and "open a new connection" in str(error), error
    db.close()


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_the_key_column_returns_the_key_that_was_looked_up(encoding):
    """Of every type, of lengths that go up and down, sorted and grouped: the rows outlive the lookup of the next key."""
    db = support.connect(encoding=encoding)
    db.execute(f"CREATE VIRTUAL TABLE f USING cuckoo_filter(capacity=99, affinity=none, {EXACT})")
    db.execute("CREATE TABLE asked(a)")
    keys = [*STORED[:-1], "é" * 300_000, b"", bytes(300_000), "end", -1, 1e300, "a" * 299_999]
    db.executemany("INSERT INTO f(key) VALUES (?)", ((key,) for key in keys))
    db.executemany("INSERT INTO asked VALUES (?)", ((key,) for key in keys))
    db.execute("INSERT INTO asked VALUES (zeroblob(300000))")
    plain = "SELECT typeof(a), hex(a), count(*) FROM asked GROUP BY a ORDER BY length(a), a"
    by_key = plain.replace("a)", "key)").replace("BY a", "BY key").replace(", a", ", key").replace(
        "asked", "asked JOIN f ON key = a")
    assert db.execute(by_key).fetchall() == db.execute(plain).fetchall()
    assert db.execute("SELECT (SELECT key FROM f WHERE key = a) IS a FROM asked").fetchall() == [(1,)] * (len(keys) + 1)
    db.close()


# ---- rows that SQLite tells apart by cuckoo_id ----

OUTER = ["e RIGHT JOIN {f} ON {f}.{k} = e.k", "e FULL JOIN {f} ON {f}.{k} = e.k", "{f} LEFT JOIN e ON {f}.{k} = e.k", "none RIGHT JOIN {f}",
         "none FULL JOIN {f} ON {f}.{k} = none.k", "e RIGHT JOIN {f} ON {f}.{k} = e.k AND e.k > 'a'", "e RIGHT JOIN {f} ON {f}.{k} = e.k OR {f}.{k} = e.o"]


@pytest.mark.skipif(sqlite3.sqlite_version_info < (3, 39), reason="no RIGHT JOIN")
@pytest.mark.parametrize("declared", ["TEXT UNIQUE", "TEXT", "", "TEXT UNIQUE COLLATE NOCASE", "INTEGER"])
@pytest.mark.parametrize("trusted", [True, False])
@pytest.mark.parametrize("more", ["", ", rowids=on"])
def test_joins_that_keep_rows_without_a_match(db, declared, trusted, more):
    keys = [5, 6, 7, 8] if declared == "INTEGER" else ["a", "b", "c", "D"]
    keys += [] if "UNIQUE" in declared else keys[:2]
    db.execute(f"CREATE TABLE t(k {declared})")
    db.execute("CREATE TABLE none(k)")
    db.execute("CREATE TABLE e(k, o)")
    db.executemany("INSERT INTO t VALUES (?)", ((key,) for key in keys))
    db.executemany("INSERT INTO e VALUES (?, ?)", [(keys[0], keys[1]), (keys[2], "x"), ("x", keys[3]), (None, None)])
    db.execute(f"CREATE VIRTUAL TABLE f USING cuckoo_filter(content='t(k)'{more})")
    if not trusted:
        db.execute("CREATE INDEX tk ON t(k)")
        inside.drop_own_triggers(db)
    for form, what in itertools.product(OUTER, ("{f}.{k}, e.k", "DISTINCT {f}.{k}", "count(*)", "count({f}.{k})")):
        what = what.replace("e.k", "none.k") if "none" in form else what
        rows = []
        for f in "tf":
            try:
                rows.append(sorted(map(repr, db.execute(f"SELECT {what} FROM {form}".format(f=f, k="k" if f == "t" else "key")))))
            except sqlite3.OperationalError as error:
                assert "compares keys by another affinity" in str(error)
                rows.append(rows[0])
        if "UNIQUE" in declared or "DISTINCT" in what:
            assert rows[0] == rows[1], (form, what)
        else:  # a filter is a set, and may return equal keys once
            assert set(rows[0]) == set(rows[1]) or "count" in what, (form, what)


def test_counts_of_a_table_without_a_match(db):
    if sqlite3.sqlite_version_info < (3, 39):
        pytest.skip("no RIGHT JOIN")
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(capacity=9)")
    db.execute("CREATE TABLE none(k)")
    db.executemany("INSERT INTO f(key) VALUES (?)", ((i,) for i in range(7)))
    assert ask(db, "SELECT count(*) FROM none RIGHT JOIN f") == ask(db, "SELECT count(*) FROM f LEFT JOIN none") == 7
