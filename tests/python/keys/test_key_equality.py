# SPDX-License-Identifier: MIT
"""Two keys are the same key exactly when SQLite's = says so, without affinity or collation.

SQLite is the oracle: `SELECT ?1 = ?2` compares two parameters as they are. The filter has fingerprints
of 32 bits, so that an unequal key is found by chance once in some 10^9 questions.
"""
import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

import support
from support import ask

OPTIONS = "fingerprint_bits=32"

# ---- values ----

LANDMARKS = [0, 1, 10, 255, 2**24, 2**31, 2**32, 2**52, 2**53, 2**54, 2**62, 2**63, 2**64]
INTEGERS = sorted({sign * m + d for m in LANDMARKS for sign in (1, -1) for d in range(-3, 4)
                   if -2**63 <= sign * m + d < 2**63})
REALS = [0.0, -0.0, 0.1, 0.5, 1.5, -1.5, 1e-310, 5e-324, -5e-324, 2.2250738585072014e-308,
         1.7976931348623157e308, math.inf, -math.inf, 1e15, 1e16, 1e18, 1e19, -1e19,
         *(sign * float(m) for m in LANDMARKS for sign in (1, -1)),
         *(math.nextafter(float(m), towards) for m in LANDMARKS[1:] for towards in (0, math.inf))]
TEXTS = ["", "0", "1", "1.0", "-0.0", "a", "A", "a\0", "a\0b", "\0", " ", "a ", "é", "e\u0301",
         "\u65e5\u672c", "\U0001f600", "\ue000", "\ufffd", "x" * 1022, "x" * 1023, "x" * 1024, "x" * 5000]
BLOBS = [*(t.encode() for t in TEXTS if "x" not in t), *(t.encode("utf-16-le") for t in TEXTS[3:8]),
         b"\xff", b"\x80", b"x" * 1023, b"x" * 1024, b"x" * 5000,
         *(struct.pack("<q", n) for n in (0, 1, -1)), struct.pack("<d", 0.5)]
ALL = [*INTEGERS, *REALS, *TEXTS, *BLOBS]

# U+FFFE and U+FFFF are left out: SQLite itself turns them into U+FFFD on the way into a UTF-16 database.
CHARACTERS = st.characters(blacklist_categories=["Cs"], blacklist_characters="\ufffe\uffff")
VALUES = st.one_of(st.sampled_from(ALL), st.integers(-2**63, 2**63 - 1),
                   st.floats(allow_nan=False), st.text(CHARACTERS, max_size=40),
                   st.binary(max_size=40))


def relatives(value):
    """Values that equal this one, or nearly do."""
    found = [value, str(value)]
    if isinstance(value, int):
        found += [float(value), value + 1, value - 1, math.nextafter(float(value), math.inf)]
    if isinstance(value, float):
        found += [-value, math.nextafter(value, math.inf), struct.pack("<d", value)]
        found += [int(value) + d for d in (-1, 0, 1)] if math.isfinite(value) else []
    if isinstance(value, str):
        found += [value.encode(), value.encode("utf-16-le"), value + "\0", value.upper()]
    if isinstance(value, bytes):
        found += [value + b"\0", value[:-1]]
    return [v for v in found if not isinstance(v, int) or -2**63 <= v < 2**63]


PAIRS = VALUES.flatmap(lambda v: st.tuples(st.just(v), st.one_of(st.sampled_from(relatives(v)), VALUES)))
SEEDS = st.sampled_from([0, 1, -1]) | st.integers(-2**63, 2**63 - 1)


HASHES = ["", "hash=xxh3", "hash=keyed"]


def same_key(db, a, b, options=""):
    """Is b found in a filter that holds only a?"""
    blob = support.new(db, 1, None, f"{OPTIONS} affinity=none {options}")
    return support.contains(db, support.add(db, blob, a), b)


# ---- the property ----

@given(pair=PAIRS, seed=SEEDS, hashed=st.sampled_from(HASHES))
def test_keys_are_equal_when_sqlite_says_so(db, pair, seed, hashed):
    a, b = pair
    assert same_key(db, a, b, f"seed={seed} {hashed}") == ask(db, "SELECT ?1 = ?2", a, b)


@pytest.mark.parametrize("encoding, hashed",
                         [("UTF-8", ""), ("UTF-8", "hash=keyed"), ("UTF-16le", "seed=7"),
                          ("UTF-16be", "seed=7 hash=xxh3")])
def test_all_pairs_of_landmarks_from_columns_without_affinity(encoding, hashed):
    db = support.connect(encoding=encoding)
    assert ask(db, "PRAGMA encoding") == encoding
    db.execute("CREATE TABLE v(x, f)")
    db.executemany("INSERT INTO v(x) VALUES (?)", [(value,) for value in ALL])
    db.execute("UPDATE v SET f = cf_add(cf_new(1, NULL, ?), x)", (f"{OPTIONS} affinity=none {hashed}",))
    wrong = db.execute("""
        SELECT a.x, b.x, a.x = b.x FROM v a, v b
        WHERE cf_contains(a.f, b.x) IS NOT (a.x = b.x)""").fetchall()
    equal = ask(db, "SELECT count(*) FROM v a, v b WHERE cf_contains(a.f, b.x)")
    db.close()
    assert wrong == []
    assert equal > len(ALL)  # there are equal pairs besides each value with itself: 1 and 1.0


@given(value=VALUES, written=st.sampled_from(["UTF-8", "UTF-16le", "UTF-16be"]),
       read=st.sampled_from(["UTF-8", "UTF-16le", "UTF-16be"]), hashed=st.sampled_from(HASHES))
def test_a_filter_moves_between_encodings(connections, value, written, read, hashed):
    options = f"{OPTIONS} {hashed}"
    blob = support.add(connections[written], support.new(connections[written], 1, None, options), value)
    assert support.contains(connections[read], blob, value) == 1
    again = support.add(connections[read], support.new(connections[read], 1, None, options), value)
    assert again == blob


@pytest.fixture
def connections():
    opened = {e: support.connect(encoding=e) for e in ("UTF-8", "UTF-16le", "UTF-16be")}
    yield opened
    for connection in opened.values():
        connection.close()


def test_affinity_and_collation_of_columns_do_not_count(db):
    """The two traps of the README, pinned down: = says equal, the filter does not."""
    db.execute("CREATE TABLE t(n INTEGER, s TEXT COLLATE NOCASE)")
    db.execute("INSERT INTO t VALUES (1, 'a')")
    n = ask(db, "SELECT cf_add(cf_new(1, NULL, ?), n) FROM t", OPTIONS)
    s = ask(db, "SELECT cf_add(cf_new(1, NULL, ?), s) FROM t", OPTIONS)
    assert db.execute("SELECT n = '1', s = 'A' FROM t").fetchall() == [(1, 1)]
    assert (support.found(db, n, "1"), support.contains(db, n, 1)) == (0, 1)
    assert (support.contains(db, s, "A"), support.contains(db, s, "a")) == (0, 1)


def test_the_seed_moves_every_kind_of_key(db):
    """Long keys take another way through the hash than short ones: the seed counts on both."""
    for hashed in HASHES[1:]:
        for key in (1, 0.5, "short", "x" * 1023, "x" * 1024, b"x" * 5000):
            places = {tuple(db.execute("SELECT bucket, wanted FROM cf_explain(cf_new(1000, NULL, ?), ?)",
                                       (f"{OPTIONS} {hashed} seed={seed}", key)).fetchone()) for seed in range(8)}
            assert len(places) == 8


def test_text_that_is_not_utf8_is_still_a_key(db):
    """CAST makes text of any bytes; equality is that of the bytes."""
    for a, b, equal in [("ff", "ff", 1), ("ff", "fe", 0), ("c080", "00", 0), ("eda080", "eda080", 1)]:
        sql = f"SELECT CAST(x'{a}' AS TEXT) = CAST(x'{b}' AS TEXT)"
        assert ask(db, sql) == equal
        assert ask(db, f"SELECT cf_contains(cf_add(cf_new(1, NULL, ?), CAST(x'{a}' AS TEXT)), "
                       f"CAST(x'{b}' AS TEXT))", OPTIONS) == equal


# ---- cf_key ----

@given(pairs=st.lists(PAIRS, min_size=1, max_size=4))
def test_composite_keys_are_equal_when_all_parts_are(db, pairs):
    n = len(pairs)
    marks = ", ".join("?" * n)
    a, b = [p[0] for p in pairs], [p[1] for p in pairs]
    parts_equal = all(ask(db, "SELECT ?1 = ?2", x, y) for x, y in pairs)
    assert ask(db, f"SELECT cf_key({marks}) = cf_key({marks})", *a, *b) == parts_equal


@given(a=st.lists(VALUES, min_size=1, max_size=4), b=st.lists(VALUES, min_size=1, max_size=4))
def test_composite_keys_of_different_lengths_differ(db, a, b):
    keys = [ask(db, f"SELECT cf_key({', '.join('?' * len(v))})", *v) for v in (a, b)]
    if len(a) != len(b):
        assert keys[0] != keys[1]
    assert all(isinstance(key, bytes) for key in keys)


def test_composite_keys_without_ambiguity(db):
    for a, b, equal in [
            (("ab", "c"), ("a", "bc"), 0), (("ab", ""), ("a", "b"), 0), (("", "ab"), ("ab", ""), 0),
            (("a\0", "b"), ("a", "\0b"), 0), (("a",), ("a", ""), 0),
            # Parts that contain what might separate parts: the type bytes of ext/keys/key.h.
            (("a\3b",), ("a", "b"), 0), (("a\3b", "c"), ("a", "b\3c"), 0), ((b"a\4b",), (b"a", b"b"), 0),
            ((b"\1" + bytes(8),), (b"", 0), 0),
            (("a",), (b"a",), 0), ((1, 2), (12,), 0), ((1, 2), (2, 1), 0), ((1,), ("1",), 0), ((b"",), ("",), 0),
            ((2**53 + 1,), (float(2**53),), 0),
            ((1,), (1.0,), 1), ((0.0, "x"), (-0.0, "x"), 1), ((2**53, 1), (float(2**53), 1.0), 1)]:
        keys = [ask(db, f"SELECT cf_key({', '.join('?' * len(v))})", *v) for v in (a, b)]
        assert (keys[0] == keys[1]) == equal, (a, b)
    assert ask(db, "SELECT cf_key(cf_key('a', 'b'), 'c') = cf_key('a', cf_key('b', 'c'))") == 0
    assert ask(db, "SELECT cf_key(cf_key('a', 'b')) = cf_key('a', 'b')") == 0
    for parts in ("NULL", "NULL, 1", "1, NULL", "'a', NULL, x'00'"):
        assert ask(db, f"SELECT cf_key({parts})") is None


@given(parts=st.lists(VALUES, min_size=1, max_size=3))
def test_a_composite_key_is_the_same_in_every_encoding(connections, parts):
    marks = ", ".join("?" * len(parts))
    keys = {ask(c, f"SELECT cf_key({marks})", *parts) for c in connections.values()}
    assert len(keys) == 1


def test_a_composite_key_finds_its_row(db):
    blob = ask(db, "SELECT cf_build(cf_key(column1, column2), NULL, ?) "
                   "FROM (VALUES ('ab', 'c'), (1, 2))", OPTIONS)
    for parts, found in [("'ab', 'c'", 1), ("'a', 'bc'", 0), ("1.0, 2", 1), ("2, 1", 0)]:
        assert ask(db, f"SELECT cf_contains(?, cf_key({parts}))", blob) == found
