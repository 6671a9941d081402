# SPDX-License-Identifier: MIT
"""Filters with affinity= and collation=: what a column with these finds equal is never "certainly not there".

SQLite is the oracle: `column = other` with real columns of every affinity on both sides, and with bound values. The
column stands on the left, so that its collation counts.
"""
import ctypes
import itertools
import locale
import math
import re
import shutil
import sqlite3
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import support
from support import MISMATCH, ask, fails

EXACT = "fingerprint_bits=32"
RULES = {"INTEGER": "integer", "NUMERIC": "numeric", "REAL": "real", "TEXT": "text", "BLOB": "blob", "": "blob"}
if sqlite3.sqlite_version_info >= (3, 37):
    RULES["ANY"] = "blob"  # in a STRICT table: alone in having no affinity at all, not even that of BLOB
COLLATIONS = ["BINARY", "NOCASE", "RTRIM"]
PLACES = list(itertools.product(RULES, COLLATIONS))

# ---- values ----

INTEGERS = [0, 1, -1, 5, 42, 10**15 - 1, 10**15, 10**15 + 1, 2**53 - 1, 2**53, 2**53 + 1, 10**18, -5, -(2**53) - 1,
            1234567890123456, 1234567890123460, 123456789012345678, 2**63 - 1, 2**63 - 512, -2**63, -2**63 + 1]
REALS = [0.1, 0.2, 0.3, 0.1 + 0.2, 1 / 3, 2 / 3, -0.5, 5.5, 1e-5, 1.5e-8, 1e-23, 1.5e-300, 1e-310, 5e-324, -5e-324,
         12.34,
         1e14 + 0.5, 999999999999999.9, 1234567890123456.5, 123456789.12345679, 1700000000.123456, 4.999999999999999,
         1e15, 1e16, 1e17, 1e18, 1e19, 1e22, 1e23, 1.7976931348623157e308, math.inf, -math.inf, -0.0, 5.0,
         float(2**53), float(2**63), -float(2**63), 1234567890123456.0, math.nextafter(5, 0), math.nextafter(0.3, 1)]
SPELLINGS = ["{}", " {}", "{} ", "{}  ", "\t{}\n", "+{}", "0{}", "00{}", "{}.", "{}.0", "{}e0", "{}E0", "{}e+0",
             "{}\0", "{}x",
             "{}\v\f\r", "\u00a0{}", "{}e", "'{}'"]
PLAIN_TEXTS = ["", " ", "  ", "a", "A", "a ", "A  ", "a\t", "ab", "AB", "a\0b", "A\0X", "a\0", "A\0", "a\0bc", "\0",
               "\0a", "\0B",
               "\0\0", "é", "É", "e\u0301", "\u65e5", "ſ", "s", "K", "\u212a", "x" * 600, "X" * 600, "x" * 600 + " ",
               ".", "-", "+", "e5", ".e5", ".5", "5.", "-.5", "0x10", "1_000", "1,5", "inf", "Inf", "INF", "-Inf", "-inf",
               "Inf ", "nan", "5 5", "5\0", "5\0a", "5\0B", "5e\0", "1e400", "-1e400", "1e-400", "1E+20", "1.0e+20",
               "1.0E+20", "1e20", "1e15", "1.0e15", "1.0e+15", "1000000000000000.0", "1.23456789012346e+15",
               "1.23456789012346E+15 ",
               "1.23456789012346e15", "0.30000000000000004", "0.3000000000000000000001", "4.9999999999999999", "5e-1",
               "4.9999999999999996", "0.9999999999999999", "999999999999999.96", "999999999999999.9",
               "1000000000000000.04",
               "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
               "9223372036854775807.0", "9007199254740993.0", "9007199254740993e0", "123456789012345678.0",
               "18446744073709551616",
               "2024010112345678901234567890", "2024010112345678901234567891", "00000000000000000000000000005", "12e4567",
               "1234e12", "0e9999", "-0", "-0.0", "1e99999999999", "1e-99999999999", "0." + "0" * 400 + "1", "1" * 400,
               "100000000000000000000000e-23", "0.00000000000000000000005e23", "1.5e-300", "1.5E-8", "123456789012345.5"]


def spelled(number):
    if isinstance(number, int):
        return [spelling.format(number) for spelling in SPELLINGS]
    return [repr(number), f"{number:.15g}", f"{number:.17g}", f"{number:.20e}", f" {number:.16G} "]


TEXTS = sorted({text for number in (0, 1, -1, 5, *INTEGERS[-9:]) for text in spelled(number)} |
               {str(n) for n in INTEGERS} | {text for number in REALS for text in spelled(number)} | set(PLAIN_TEXTS))
BLOBS = [text.encode() for text in ("", "5", "a", "A", "5 ", "0.3", "a\0b")]
ALL = [*INTEGERS, *REALS, *TEXTS, *BLOBS]


# ---- the oracle ----

def create(db, arguments):
    db.execute(f"CREATE VIRTUAL TABLE seen USING cuckoo_filter({arguments}{'' if 'capacity' in arguments else ', capacity=5'}, seed=0)")


def has(db, key):
    return ask(db, "SELECT EXISTS (SELECT 1 FROM seen WHERE key = ?)", key)



def options(declared, collation):
    return f"{EXACT} affinity={RULES[declared]} collation={collation.lower()}"


def fill(db, values, others=None):
    """Tables "c INTEGER NOCASE" ... of keys, each with a filter of its own; and "q INTEGER" ... of the other side."""
    for declared in RULES:
        strict = "STRICT" if declared == "ANY" else ""
        db.execute(f'CREATE TABLE "q {declared}"(x {declared}) {strict}')
        db.executemany(f'INSERT INTO "q {declared}" VALUES (?)', [(value,) for value in others or values])
        for collation in COLLATIONS:
            db.execute(f'CREATE TABLE "c {declared} {collation}"(x {declared} COLLATE {collation}, f {"BLOB" * bool(strict)}) {strict}')
            db.executemany(f'INSERT INTO "c {declared} {collation}"(x) VALUES (?)', [(value,) for value in values])
            db.execute(f'UPDATE "c {declared} {collation}" SET f = cf_add(cf_new(1, NULL, ?), x)',
                       (options(declared, collation),))


def missed(db, declared, collation, condition, source="", *parameters):
    """Pairs that SQLite finds equal and the filter does not."""
    return db.execute(f'SELECT c.x, q.x FROM "c {declared} {collation}" AS c, {source} WHERE {condition} '
                      "AND NOT cf_contains(c.f, q.x)", parameters).fetchall()


def assert_nothing_missed(db, declared, collation, every=1):
    """`every`: IN is slow, and treats all values by one rule."""
    for other in RULES:
        within = f"q.rowid % {every} = 0 AND c.x IN (SELECT r.x FROM \"q {other}\" AS r WHERE r.rowid = q.rowid)"
        for condition in ("c.x = q.x", within):
            assert missed(db, declared, collation, condition, f'"q {other}" AS q') == [], (declared, collation, other,
                    condition)


@pytest.mark.parametrize("encoding, values", [("UTF-8", ALL), ("UTF-16le", ALL[::3])])
def test_all_pairs_of_landmarks(encoding, values):
    """As columns; as a parameter, which compares as a column without affinity does; and by an index, whose key takes the
    affinity of its column."""
    db = support.connect(encoding=encoding)
    fill(db, values)
    for declared, collation in PLACES:
        assert_nothing_missed(db, declared, collation, every=17)
        db.execute(f'CREATE INDEX "i {declared} {collation}" ON "c {declared} {collation}"(x)')
        ways = ("NOT INDEXED", f'INDEXED BY "i {declared} {collation}"')
        for value in values[::11] + [*INTEGERS, *REALS, "5", "5.0", "9007199254740993", "0.3", "a", "A "]:
            for way in ways if value in values[::11] else ways[1:]:
                sql = f'SELECT count(*) FROM "c {declared} {collation}" {way} WHERE x = ?1 AND NOT cf_contains(f, ?1)'
                assert ask(db, sql, value) == 0, (declared, collation, value, way)
    db.close()


# ---- random values ----

DIGITS = st.text("0123456789", max_size=20) | st.text("09", max_size=20) | st.sampled_from(["", "5", "0", "9" * 16])
NUMBERS = st.tuples(
    st.sampled_from(["", "", " ", "\t "]), st.sampled_from(["", "", "-", "+"]), DIGITS,
    st.sampled_from(["", ".", "."]), DIGITS,
    st.one_of(st.just(""), st.tuples(st.sampled_from("eE"), st.sampled_from(["", "-", "+"]),
                                     st.integers(0, 330) | st.integers(0, 25)).map(lambda p: f"{p[0]}{p[1]}{p[2]}")),
    st.sampled_from(["", "", " ", "\n", "x"])).map("".join)
FLOATS = st.one_of(st.floats(allow_nan=False), st.floats(-1e6, 1e6),
                   st.tuples(st.integers(-10**15, 10**15), st.integers(0, 25)).map(lambda p: p[0] / 10**p[1]))
LETTERS = st.text("aAbBzZ[@`{\0 é5e.", max_size=6)


def relatives(value):
    """Other values that some comparison may find equal."""
    found = [value, str(value)]
    if isinstance(value, str):
        try:
            found += [float(value), *relatives(float(value))]
        except ValueError:
            found += [value.swapcase(), value + " ", value[:-1] + "x"]
    if isinstance(value, float):
        found += [f"{value:.15g}", f"{value:.17g}", math.nextafter(value, math.inf)]
        found += [int(value)] if abs(value) < 2.0**62 else []
    if isinstance(value, int):
        found += [float(value), f"{value}.0", value + 1 if value < 2**63 - 1 else 0]
    return [v for v in found if not (isinstance(v, float) and math.isnan(v))]


@given(values=st.lists(NUMBERS | FLOATS | LETTERS | st.integers(-2**63, 2**63 - 1), min_size=1, max_size=6))
def test_random_values_and_their_relatives(values):
    db = support.connect()
    fill(db, values, [relative for value in values for relative in relatives(value)])
    db.execute("""INSERT INTO "q BLOB" SELECT CAST(x AS TEXT) FROM "c BLOB BINARY" """)  # as SQLite writes reals
    for declared, collation in PLACES:
        assert_nothing_missed(db, declared, collation)
        for value in values:
            assert missed(db, declared, collation, "c.x = ?1", "(SELECT 1) LEFT JOIN (SELECT ?1 AS x) AS q",
                          value) == []
    db.close()


# ---- what is not merged ----

PAIRS = [
    ("affinity=integer", 5, "5", 1), ("affinity=integer", 5, " +5e0\n", 1), ("affinity=integer", 5, 5.0, 1),
    ("affinity=integer", 2**53, 2**53 + 1, 0), ("affinity=integer", 2**53, str(2**53 + 1), 0),
    ("affinity=integer", 5, b"5", 0),
    ("affinity=integer", 5, "5x", 0), ("affinity=numeric", 0.3, 0.1 + 0.2, 0), ("affinity=numeric", "a", "A", 0),
    ("affinity=real", 2**53, 2**53 + 1, 1), ("affinity=real", 0.5, ".5", 1), ("affinity=real", 0.5, 0.25, 0),
    ("affinity=text", "5", 5, 1), ("affinity=text", "05", "5", 1), ("affinity=text", "1.10", "1.1", 0),
    ("affinity=text", "1.1", "1.2", 0), ("affinity=text", "0.3", 0.1 + 0.2, 1), ("affinity=text", "0.3", 0.25, 1),
    ("affinity=text", "5", 5.0, 1), ("affinity=text", 5.0, "5.0", 1), ("affinity=text", "5", 6.0, 0),
    ("affinity=text", 0.3, "0.3", 1), ("affinity=text", 0.3, ".30", 1), ("affinity=text", 1e16, "1.0e+16", 1),
    ("affinity=text", 123456789012345678.0, "1.23456789012346e+17", 1), ("affinity=text", 0.3, "7.0", 1), ("affinity=text", 0.3, "7", 0),
    ("affinity=text", 0.3, "a.b", 0), ("affinity=text", 7.0, "0.3", 0), ("affinity=text", 7, "0.3", 0),
    ("affinity=text", "4.9999999999999999", 5, 1), ("affinity=text", "1e-320", 0, 1),
    ("affinity=text", "1e2", "100", 1),
    ("affinity=text", "999999999999999.96", 10**15, 1), ("affinity=text", "1.5", 1, 0), ("affinity=text", "1.5", 2, 0),
    ("affinity=text", "2024010112345678901234567890", "2024010112345678901234567891", 0),
    ("affinity=text", "89490200001234567890", "89490200001234567891", 0),
    ("affinity=text", "4000123412341234", "4000123412341235", 0), ("affinity=text", "12e4567", "12e4568", 0),
    ("affinity=text", str(2**62), 2**62 + 1, 0), ("affinity=text", "a", "A", 0), ("affinity=text", "a", "a ", 0),
    ("affinity=text", "5", b"5", 0), ("affinity=text", "0x10", 16, 0), ("affinity=text", "", 0, 0),
    ("collation=nocase", "aBc", "AbC", 1), ("collation=nocase", "É", "é", 0), ("collation=nocase", "[", "{", 0),
    ("collation=nocase", "a\0b", "A\0X", 1), ("collation=nocase", "a\0b", "a\0bc", 0), ("collation=nocase", "5", 5, 0),
    ("collation=nocase", "x" * 2000, "X" * 2000, 1), ("collation=nocase", "x" * 2000, "X" * 1999 + "y", 0),
    ("collation=nocase", b"a", b"A", 0), ("collation=rtrim", "a", "a  ", 1), ("collation=rtrim", "a", "a\t", 0),
    ("collation=rtrim", "", "   ", 1), ("collation=rtrim", "a", " a", 0), ("collation=rtrim", b"a", b"a ", 0),
    ("affinity=none collation=binary", "5", 5, 0)]


def test_pairs(db):
    """Of what is not merged, and what is."""
    for rule, stored, asked, same in PAIRS:
        blob = support.add(db, support.new(db, 1, None, f"{EXACT} {rule}"), stored)
        assert support.found(db, blob, asked) == same, (rule, stored, asked)


def test_a_vague_value_is_always_perhaps_there(db):
    """It equals texts that have nothing else in common: '0.3' and '0.30000000000000004'."""
    empty = support.new(db, 1, None, "affinity=text")
    create(db, "affinity=text")
    for asked in (0.1 + 0.2, 0.25, -1.5, 1 / 3, 1e15, 1e300, math.inf, 5e-324):
        assert support.contains(db, empty, asked) == 1 and support.count(db, empty, asked) == 1
        assert has(db, asked) and ask(db, "SELECT cf_table_contains('seen', ?)", asked) == 1
        for rule in ("none", "numeric", "real"):
            assert support.contains(db, support.new(db, 1, None, f"affinity={rule}"), asked) == 0


@pytest.mark.parametrize("way", ["SELECT cf_add(cf_new(9, 0.001, 'affinity=text'), ?1)", "SELECT cf_build(?1, 0.001, 'affinity=text')",
                                 "SELECT cf_add_keys(cf_new(9, 0.001, 'affinity=text'), cf_keys(?1, NULL, 'affinity=text'))",
                                 "SELECT cf_merge(cf_new(9, 0.001, 'affinity=text'), cf_add(cf_new(9, 0.001, 'affinity=text'), ?1))"])
def test_a_real_is_found_as_its_text(db, rng, way):
    """A column of reals is joined with one of texts: SQLite compares numbers, or the text that it makes of the real."""
    create(db, "affinity=text")
    for real in (0.5, 1.25, -3e-7, 1e15, 1e300, math.inf, -math.inf, *(rng.uniform(-9, 9) * 10.0 ** rng.randrange(-20, 30) for _ in range(50))):
        blob = ask(db, way, real)
        db.execute("INSERT INTO seen(key) VALUES(?)", (real,))
        texts = repr(real), ask(db, "SELECT CAST(? AS TEXT)", real), f"{real:.15g}", f" {real:.17e}"
        for text in texts:
            if ask(db, "SELECT CAST(?1 AS REAL) = CAST(?2 AS TEXT) OR CAST(?1 AS TEXT) = ?2", real, text):
                assert support.contains(db, blob, text) == 1 and has(db, text), (real, text)


def test_text_numbers_are_as_sharp_as_others(db):
    """Sequential numbers of 20 digits are beyond what a double tells apart."""
    numbers = [str(10**19 * 8 + n) for n in range(4000)]
    blob = support.build(db, numbers[::2], None, "affinity=text")
    assert sum(support.contains(db, blob, n) for n in numbers[1::2]) < 60


# ---- every function applies the rule; none changes its argument ----

def test_every_function_applies_the_rule(db):
    rule = f"{EXACT} affinity=integer collation=nocase"
    stored = ask(db, "SELECT cf_build('5', NULL, ?)", rule)
    assert ask(db, "SELECT cf_add(cf_new(1, NULL, ?), ' 5.0')", rule) == stored
    assert ask(db, "SELECT cf_add_keys(cf_new(1, NULL, ?1), cf_keys(5, NULL, ?1))", rule) == stored
    assert ask(db, "SELECT cf_count(?, '5e0')", stored) == 1
    empty = ask(db, "SELECT cf_clear(?)", stored)
    assert support.info(db, empty)["affinity"] == "numeric" and support.info(db, empty)["collation"] == "nocase"
    assert ask(db, "SELECT cf_delete(?, '+5')", stored) == empty
    assert ask(db, "SELECT cf_delete_keys(?, cf_keys('5.', NULL, ?))", stored, rule) == empty
    assert ask(db, "SELECT sum(match) FROM cf_explain(?, '05')", stored) == 1


def test_composite_keys_know_no_rule(db):
    blob = ask(db, "SELECT cf_add(cf_new(1, NULL, ?), cf_key('a', '5'))", f"{EXACT} affinity=text collation=nocase")
    assert ask(db, "SELECT cf_contains(?, cf_key('a', '5'))", blob) == 1
    assert ask(db, "SELECT cf_contains(?, cf_key('A', '5'))", blob) == ask(db, "SELECT cf_contains(?, cf_key('a', 5))",
                                                                           blob) == 0


def test_the_key_stays_as_it_is(db):
    """No function changes its argument."""
    db.execute("CREATE TABLE t(x)")
    for value in ("5", " 5.50", 0.1 + 0.2, 2**60, "aB ", b"5"):
        db.execute("DELETE FROM t")
        db.execute("INSERT INTO t VALUES (?)", (value,))
        was = db.execute("SELECT x, typeof(x), quote(x), CAST(x AS TEXT) FROM t").fetchone()
        for rule in ("affinity=integer", "affinity=real", "affinity=text collation=nocase", "collation=rtrim"):
            found = db.execute("SELECT cf_contains(cf_new(1, NULL, ?), x), x, typeof(x), quote(x), CAST(x AS TEXT) FROM t", (rule,))
            assert found.fetchone()[1:] == was
            create(db, rule.replace(" ", ", "))
            db.execute("INSERT INTO seen(key) SELECT x FROM t")
            assert db.execute("SELECT key, typeof(key) FROM seen WHERE key = ?", (value,)).fetchall() == [was[:2]]
            db.execute("DROP TABLE seen")


def test_filters_of_different_rules_do_not_merge(db):
    one = support.new(db, 10)
    for rules, names in (("affinity=text", "affinity"), ("collation=rtrim", "collation")):
        other = support.new(db, 10, None, rules)
        fails(db, MISMATCH, "SELECT cf_merge(?, ?)", one, other, says=f"differ in {names}")
        assert support.field(other, "flags") & ~support.field(one, "flags") in (1 << 3, 2 << 5)
        assert len(one) == len(other)


# ---- the rule of a column ----

DECLARED = [
    ("INTEGER", "numeric"), ("BIGINT", "numeric"), ("FLOATING POINT", "numeric"), ("CHARINT", "numeric"),
    ("VARCHAR(9)", "text"), ("clob", "text"), ("text real", "text"), ("BLOB", "text"), ("", "text"),
    ("realblob", "text"),
    ("REAL", "real"), ("double precision", "real"), ("Float", "real"), ("DECIMAL(10,5)", "numeric"),
    ("DATETIME", "numeric"),
    ("ANY", "numeric"), ("STRING", "numeric"), ("INT GENERATED ALWAYS AS (1)", "numeric"),
    ("TEXT AS ('a') STORED", "text"), ("AS (1)", "text"), ("INTEGER PRIMARY KEY", "numeric"),
    ("REAL NOT NULL DEFAULT 1", "real"),
    # Here what SQLite itself makes of the type is compared, too.
    *((type_, None) for type_ in ("INT", "POINT", "BLOBINT", "CHAR", "TEXTBLOB", "BLOBTEXT", "REALTEXT", "BLOBREAL",
                                  "DOUBLE", "FLOAREAL",
                                  "DATE", "XREALX"))]


def test_a_table_takes_the_rule_of_its_column(db):
    stored = {"numeric": {(5, "integer"), (5.5, "real")}, "real": {(5, "real"), (5.5, "real")}, "text": set()}
    for (declared, affinity), collation in itertools.product(DECLARED, [None, "nocase", "RTRIM", "binary"]):
        db.execute(f"CREATE TABLE t(y, x {declared} {'COLLATE ' + collation if collation else ''})")
        create(db, "content='t(x)'")
        shape = support.info(db, ask(db, "SELECT cf_export('seen')"))
        assert shape["collation"] == (collation or "binary").lower() and shape["affinity"] == (affinity
                or shape["affinity"]), declared
        db.execute("DROP TABLE seen")
        if "AS" not in declared and "KEY" not in declared:
            db.execute("INSERT INTO t(x) VALUES ('5'), ('5.5')")
            types = set(db.execute("SELECT x, typeof(x) FROM t WHERE typeof(x) <> 'text'").fetchall())
            assert types == stored[shape["affinity"]], declared
        db.execute("DROP TABLE t")


@pytest.mark.skipif(sqlite3.sqlite_version_info < (3, 37), reason="STRICT tables came with 3.37")
def test_a_strict_table(db):
    for declared, affinity in (("ANY", "text"), ("any", "text"), ("INT", "numeric"), ("REAL", "real"),
                               ("TEXT", "text"), ("BLOB", "text")):
        db.execute(f"CREATE TABLE T(x {declared}) STRICT")
        create(db, "content='t(x)'")
        assert support.info(db, ask(db, "SELECT cf_export('seen')"))["affinity"] == affinity
        db.execute("DROP TABLE seen")
        db.execute("DROP TABLE T")


def test_the_rowid(db):
    db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, x)")
    for name in ("rowid", "oid", "_rowid_", "id", "ID"):
        create(db, f"content='t({name})'")
        db.execute("REPLACE INTO t VALUES (5, 'x')")
        assert [has(db, key) for key in (5, "5", 5.0, "5.0", 6)] == [1, 1, 1, 1, 0]
        db.execute("DROP TABLE seen")


def test_drivers_that_bind_numbers_as_text(db):
    db.execute("CREATE TABLE users(id INTEGER PRIMARY KEY, email TEXT COLLATE NOCASE, score REAL)")
    db.execute("INSERT INTO users VALUES (5, 'Ann@x.org', 2)")
    for column in ("id", "email", "score"):
        db.execute(f"CREATE VIRTUAL TABLE f_{column} USING cuckoo_filter({EXACT}, content='users({column})', seed=0)")
    assert [ask(db, "SELECT cf_table_contains('f_id', ?)", key) for key in ("5", 5, "05", "6")] == [1, 1, 1, 0]
    assert [ask(db, "SELECT cf_table_contains('f_email', ?)", key) for key in ("ann@X.ORG", "ann")] == [1, 0]
    assert [ask(db, "SELECT cf_table_contains('f_score', ?)", key) for key in ("2", 2, "2.0", "3")] == [1, 1, 1, 0]


def test_collations_of_the_application_are_refused(db):
    """Its own ones, and its own ones under the names of SQLite's."""
    db.create_collation("mine", lambda a, b: (a > b) - (a < b))
    db.execute("CREATE TABLE t(x, own TEXT COLLATE mine)")
    with pytest.raises(sqlite3.OperationalError, match="collation mine"):
        create(db, "content='t(own)'")
    for n, (name, compare) in enumerate([("NOCASE", lambda s: s.casefold()), ("RTRIM", lambda s: s.rstrip().casefold()),
                                         ("NOCASE", lambda s: s), ("RTRIM", str)]):
        db.create_collation(name, lambda a, b, compare=compare: (compare(a) > compare(b)) - (compare(a) < compare(b)))
        db.execute(f"CREATE TABLE t{n}(x TEXT COLLATE {name})")
        with pytest.raises(sqlite3.OperationalError,
                           match=f"the collation {name} of column x is not SQLite.s"):
            create(db, f"content='t{n}(x)'")


def test_options_that_agree_with_the_column_or_contradict_it(db):
    db.execute("CREATE TABLE t(x INT COLLATE NOCASE)")
    for options in ("affinity=integer", "affinity=numeric, collation=nocase", "Affinity='INTEGER'"):
        create(db, f"{options}, content='t(x)'")
        db.execute("DROP TABLE seen")
    for options in ("affinity=text", "affinity=none", "collation=binary"):
        with pytest.raises(sqlite3.OperationalError, match="column x has affinity=numeric and collation=nocase"):
            create(db, f"{options}, content='t(x)'")


# ---- no locale ----

def test_nothing_reads_or_writes_numbers_by_the_locale():
    calls = re.compile(r"\b(?:[sf]?scanf|strto\w+|ato[fil]l?|(?:f|s|sn|vsn|d|as)?printf|localeconv|isdigit|isspace|tolower|"
                       r"toupper|strn?casecmp)\s*\(")
    sources = [path for half in ("src", "ext") for path in Path(support.ROOT, half).rglob("*.[ch]")]
    assert len(sources) > 20
    found = {path.name: calls.findall(path.read_text(encoding="utf-8")) for path in sources}
    assert {name: names for name, names in found.items() if names} == {"number.c": ["strtod("], "libc.h": ["strtod("]}


def set_comma():
    for name in ("de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8", "nl_NL.UTF-8"):
        try:
            return locale.setlocale(locale.LC_NUMERIC, name)
        except locale.Error:
            continue
    return None


@pytest.fixture
def decimal_comma(tmp_path, monkeypatch):
    before = locale.setlocale(locale.LC_NUMERIC)
    if not set_comma() and shutil.which("localedef"):
        subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", str(tmp_path / "de_DE.UTF-8")], capture_output=True)
        monkeypatch.setenv("LOCPATH", str(tmp_path))
        set_comma()
    if locale.localeconv()["decimal_point"] != ",":
        pytest.skip("there is no locale with a decimal comma on this machine, and none can be made")
    buffer = ctypes.create_string_buffer(32)
    ctypes.CDLL(None).snprintf(buffer, 32, b"%.1f", ctypes.c_double(0.5))
    assert buffer.value == b"0,5"
    yield
    locale.setlocale(locale.LC_NUMERIC, before)


def test_under_a_decimal_comma(db, tmp_path, decimal_comma):
    path = str(tmp_path / "db")
    first = support.connect(path)
    create(first, "capacity=1e3, fpr=0.001, affinity=text")
    first.execute("INSERT INTO seen(key) VALUES ('5.0')")
    first.close()
    again = support.connect(path)
    assert has(again, 5) and has(again, "5.00") and not has(again, "5,0")
    numbers = support.build(again, ["1234567890123456.75", "0.12345678901234567"], None, "affinity=numeric fingerprint_bits=32")
    assert all(support.contains(again, numbers, key) for key in (1234567890123456.75, 0.12345678901234567))
    for line in ask(again, "SELECT group_concat(copies) FROM cf_explain(?, ?) WHERE match", numbers, 1234567890123456.75).split(","):
        assert line == "1"  # no locale cut it off at its point
    again.execute("DROP TABLE seen")
    again.close()


def test_texts_of_one_number_that_are_deleted(db):
    """Under TEXT they are one key, which a build keeps once: with counters as often as it came."""
    for options, left in (("affinity=text", 0), ("affinity=text counter_bits=4", 1), ("", 1)):
        blob = support.build(db, ["1", "01", "1.0"], None, options)
        blob = ask(db, "SELECT cf_delete(cf_delete(?, '01'), '1.0')", blob)
        assert support.contains(db, blob, "1") == left, options
