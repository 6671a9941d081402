# SPDX-License-Identifier: MIT
"""cf_build_exact: no wrong answer for any key of the universe, wherever the filter comes from; all that cannot know
exact filters refuses them; no changed byte is believed.
"""
import json
import math
import sqlite3
import struct

import pytest
from hypothesis import given, strategies as st

import support
from address import key_hash, low
from layout import Table
from support import BAD_BLOB, BAD_PARAMETER, MASK, TOO_BIG, ask, fails

keys = st.one_of(st.integers(-2**63, 2**63 - 1), st.integers(0, 50), st.text(max_size=8), st.binary(max_size=8),
                 st.floats(allow_nan=False))
options = st.sampled_from([None, "seed=7", "seed=-1, hash=xxh3", "hash=keyed", "collation=binary"])
rates = st.sampled_from([None, 0.3, 0.01, 1e-6])


def fill(db, universe):
    db.execute("CREATE TEMP TABLE IF NOT EXISTS u(k, m)")
    db.execute("DELETE FROM u")
    db.executemany("INSERT INTO u VALUES (?, ?)", universe)


def build(db, universe, fpr=None, options=None):
    """Of pairs (key, is a member)."""
    fill(db, universe)
    return ask(db, "SELECT cf_build_exact(k, m, ?, ?) FROM u", fpr, options)


def numbers(n, every):
    return [(k, k % every == 0) for k in range(n)]


@pytest.fixture
def blob(db):
    return build(db, numbers(3000, 3))


# ---- right ----

@given(universe=st.dictionaries(keys, st.booleans(), max_size=300), options=options, fpr=rates)
def test_each_key_has_the_answer_of_a_dict(db, universe, options, fpr):
    filter_ = build(db, universe.items(), fpr, options)
    wrong = "SELECT k FROM u WHERE cf_contains({}, k) IS NOT m"
    for source in ("?1", "(SELECT ?1)", "(SELECT cf_open(?1))", "cf_open(?1)"):
        assert db.execute(wrong.format(source), (filter_,)).fetchall() == []
    assert support.info(db, filter_)["keys"] == len(universe)
    assert support.info(db, filter_)["members"] == sum(universe.values())
    assert ask(db, "SELECT cf_check(?)", filter_) == "ok"


@given(n=st.integers(0, 20_000), every=st.sampled_from([1, 2, 3, 10, 100, 1000]), fpr=rates, seed=st.integers(0, 3))
def test_large_universes(db, n, every, fpr, seed):
    filter_ = build(db, numbers(n, every), fpr, f"seed={seed}")
    assert ask(db, "SELECT count(*) FROM u WHERE cf_contains(?, k) IS NOT m", filter_) == 0
    if fpr:
        unknown = ask(db, "SELECT total(cf_contains(?, -1 - value)) FROM json_each(?)", filter_,
                      json.dumps(list(range(5000))))
        assert unknown <= 5000 * fpr + 6 * math.sqrt(5000 * fpr) + 1


def test_row_order_and_repeated_rows_do_not_count(db, rng):
    universe = numbers(2000, 4)
    first = build(db, universe, 0.1)
    for _ in range(3):
        again = universe + rng.sample(universe, 700)
        rng.shuffle(again)
        assert build(db, again, 0.1) == first
    assert build(db, [(float(k), m) for k, m in universe], 0.1) == first
    assert build(db, universe, None) == build(db, universe) == ask(db, "SELECT cf_build_exact(k, m) FROM u")


def test_many_repeated_rows_need_no_more_memory(db):
    """250,000 rows of 100 keys: what is collected is sorted and thinned out, not kept."""
    filter_ = ask(db, """WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 250000)
                         SELECT cf_build_exact(i % 100, i % 100 < 40) FROM n""")
    assert support.info(db, filter_)["keys"] == 100
    assert ask(db, "SELECT group_concat(cf_contains(?, value), '') FROM json_each(?)", filter_,
               json.dumps(list(range(100)))) == "1" * 40 + "0" * 60


def test_groups_have_filters_of_their_own(db):
    fill(db, numbers(900, 2))
    assert db.execute("""SELECT u.k FROM u, (SELECT k % 5 AS g, cf_build_exact(k, m) AS f FROM u GROUP BY k % 5) AS t
                         WHERE t.g = u.k % 5 AND cf_contains(t.f, u.k) IS NOT u.m""").fetchall() == []


def test_null_and_truth(db):
    universe = [(None, 1), (None, None), (1, 1), (2, 0), (3, 0.0), (4, -2.5), (5, 10**18), (6, True)]
    filter_ = build(db, universe)
    assert support.info(db, filter_)["keys"] == 6
    assert [support.contains(db, filter_, k) for k in range(1, 7)] == [1, 0, 0, 1, 1, 1]
    assert support.contains(db, filter_, None) is None


def test_no_rows_no_members_all_members(db):
    nothing = ask(db, "SELECT cf_build_exact(k, 1) FROM (SELECT 1 AS k) WHERE 0")
    assert len(nothing) == 64 and support.contains(db, nothing, 1) == 0
    none = build(db, [(k, 0) for k in range(5000)])
    assert len(none) == 64 and ask(db, "SELECT sum(cf_contains(?, k)) FROM u", none) == 0
    every = build(db, [(k, 1) for k in range(5000)], 0.01)
    assert ask(db, "SELECT sum(cf_contains(?, k)) FROM u", every) == 5000
    assert ask(db, "SELECT sum(cf_contains(?, -1 - k)) FROM u", every) < 5000 * 0.02


def test_above_half_the_others_make_the_smaller_filter(db):
    fill(db, [(k, k % 10 != 0) for k in range(50_000)])
    as_they_are = ask(db, "SELECT cf_build_exact(k, m) FROM u")
    others = ask(db, "SELECT cf_build_exact(k, NOT m) FROM u")
    assert len(others) < len(as_they_are) / 3
    assert ask(db, "SELECT count(*) FROM u WHERE (NOT cf_contains(?, k)) IS NOT m", others) == 0


# ---- key rules ----

@pytest.mark.parametrize("rule, known", [
    ("affinity=numeric", [("12", 1), (13, 0), ("1e3", 1), ("x", 0)]),
    ("affinity=text collation=nocase", [("Abc", 1), ("abd", 0), (7, 1), ("8", 0)]),
    ("affinity=text collation=rtrim", [("a  ", 1), ("b ", 0)]),
    ("affinity=real", [(1, 1), (2.5, 0)])])
def test_keys_that_a_column_finds_equal(db, rule, known):
    filter_ = build(db, known, None, rule)
    asked = {"12": 12, 13: "13.0", "1e3": 1000, "Abc": "aBC", "8": 8, 7: "7", "a  ": "a", "b ": "b", 1: "1.0", 2.5: "2.5"}
    for key, member in known:
        assert support.contains(db, filter_, key) == support.contains(db, filter_, asked.get(key, key)) == member


def test_a_vague_real_is_perhaps_there_and_cannot_be_known_as_none(db):
    """Under affinity=text such a number may equal a text, or not."""
    filter_ = build(db, [("1.5", 1), (2.5, 1), (3, 0)], None, "affinity=text")
    assert [support.contains(db, filter_, k) for k in ("1.5", 1.5, 2.5, 3)] == [1, 1, 1, 0]
    fill(db, [(1.5, 0)])
    fails(db, BAD_PARAMETER, "SELECT cf_build_exact(k, m, NULL, 'affinity=text') FROM u", says="no member")


# ---- wrong arguments ----

def test_a_key_that_is_both(db):
    for n in (1, 10, 100, 5000):
        fill(db, numbers(n, 2) + [(0, 0)])
        fails(db, BAD_PARAMETER, "SELECT cf_build_exact(k, m) FROM u", says="a key is both member and not; if none is, "
              "try another seed")
    fill(db, [(1, 1), (1.0, 0)])
    fails(db, BAD_PARAMETER, "SELECT cf_build_exact(k, m) FROM u", says="both member and not")


@pytest.mark.parametrize("member, says", [("NULL", "got NULL; use ifnull"), ("'true'", "must be 1 or 0"), ("x'01'", "must be 1 or 0")])
def test_members_that_are_no_truth(db, member, says):
    fails(db, BAD_PARAMETER, f"SELECT cf_build_exact(1, {member})", says=says)


@pytest.mark.parametrize("option", ["growth=on", "growth=off", "bucket_size=4", "fingerprint_bits=8", "counter_bits=2", "value_bits=1",
                                    "layout=plain", "overflow=on", "capacity=10"])
def test_options_without_a_meaning(db, option):
    fails(db, BAD_PARAMETER, f"SELECT cf_build_exact(1, 1, NULL, '{option}')", says="only seed, hash, affinity and collation")


def test_rates(db):
    for fpr in ("0", "1", "-1", "'0.01'", "x'00'"):
        fails(db, BAD_PARAMETER, f"SELECT cf_build_exact(1, 1, {fpr})", says="fpr must be")
    fill(db, numbers(1000, 2))
    fails(db, BAD_PARAMETER, "SELECT cf_build_exact(k, m, 1e-12) FROM u", says="fpr is too small")
    fails(db, BAD_PARAMETER, "SELECT cf_build_exact(k, m, 0.1 + k / 1e4) FROM u", says="the same for all rows")


@pytest.mark.parametrize("call", ["cf_build_exact()", "cf_build_exact(1)", "cf_build_exact(1, 1, NULL, NULL, 1)"])
def test_numbers_of_arguments(db, call):
    with pytest.raises(sqlite3.OperationalError, match="wrong number of arguments"):
        db.execute(f"SELECT {call}")


def test_longer_than_the_connection_allows(db):
    fill(db, numbers(20_000, 2))
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 5000)
    fails(db, TOO_BIG, "SELECT cf_build_exact(k, m) FROM u", says="longer than allowed")


# ---- who knows exact filters, and who refuses them ----

REFUSE = ["cf_add({f}, 1)", "cf_add({f}, 1, 1)", "cf_add({f}, NULL)", "cf_delete({f}, 1)", "cf_count({f}, 1)", "cf_get({f}, 1)",
          "cf_clear({f})", "cf_merge({f})", "cf_merge({f}, {f})", "cf_merge(cf_new(10), {f})", "cf_add_keys({f}, cf_keys(1))",
          "cf_delete_keys({f}, cf_keys(1))", "cf_add_all({f}, 1)", "cf_delete_all({f}, 1)"]


@pytest.mark.parametrize("source", ["?1", "(SELECT cf_open(?1))", "(SELECT ?1)"])
@pytest.mark.parametrize("call", [f"SELECT {call}" for call in REFUSE] + ["SELECT * FROM cf_buckets({f})"])
def test_what_would_make_it_wrong_is_refused(db, blob, call, source):
    function = next(name for name in call.replace("(", " ").split() if name.startswith("cf_"))
    says = fails(db, BAD_PARAMETER, call.format(f=source), blob, function=function, says="an exact one")
    assert "cf_build_exact" in says


def test_import_refuses_it(db, blob):
    db.execute("CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=10)")
    with pytest.raises(sqlite3.OperationalError, match="exact"):
        db.execute("INSERT INTO seen(seen, key) VALUES ('import', ?)", (blob,))


@pytest.mark.parametrize("source", ["?1", "(SELECT cf_open(?1))"])
def test_info_and_check(db, blob, source):
    said = json.loads(ask(db, f"SELECT cf_info({source})", blob))
    assert said["kind"] == "exact" and said["keys"] == 3000 and said["members"] == 1000
    assert said["bytes"] == len(blob) and said["levels"] == blob[32] and said["listed"] == blob[33]
    assert math.isclose(said["bits_per_key"], 8 * len(blob) / 3000, rel_tol=1e-4)
    assert said["hash"] == "xxh3" and said["seed"] == 0 and said["affinity"] == "none" and said["format"] == 1
    unknown = ask(db, "SELECT avg(cf_contains(?, -1 - value)) FROM json_each(?)", blob, json.dumps(list(range(20_000))))
    assert abs(unknown - said["fpr_unknown"]) < 0.03
    assert ask(db, f"SELECT cf_check({source})", blob) == "ok"


@pytest.mark.parametrize("source", ["?1", "(SELECT cf_open(?1))"])
def test_explain_shows_the_levels_that_decide(db, blob, source):
    seen = set()
    for key in range(300):
        rows = db.execute(f"""SELECT source, max(match), count(*), count(DISTINCT side) FROM cf_explain({source}, ?2)
                              GROUP BY source ORDER BY source""", (blob, key)).fetchall()
        assert [row[0] for row in rows] == [f"level {i}" for i in range(len(rows))]
        assert all(row[2] == 8 and row[3] == 2 for row in rows)
        yes = [row[1] for row in rows]
        assert all(yes[:-1]) and (len(rows) == blob[32] or not yes[-1])
        seen.add(tuple(yes))
        if not yes[-1]:
            assert (len(yes) - 1) % 2 == support.contains(db, blob, key)
    assert len(seen) > 2
    assert db.execute("SELECT * FROM cf_explain(?, NULL)", (blob,)).fetchall() == []
    assert db.execute("SELECT * FROM cf_explain(?, 1)", (build(db, [(1, 1)]),)).fetchall() == []
    assert ask(db, "SELECT count(*) FROM u, cf_explain(?, u.k) WHERE bucket < 0", blob) == 0


# ---- wherever it comes from ----

def test_in_rows_with_other_filters(db):
    """The function that reads one filter after another has the answers of each."""
    db.execute("CREATE TABLE f(id INTEGER PRIMARY KEY, b)")
    for i in range(12):
        make = build if i % 3 else lambda db, universe: support.build(db, [k for k, m in universe if m], 1e-8)
        db.execute("INSERT INTO f VALUES (?, ?)", (i, make(db, numbers(200 + i, i + 2))))
    rows = db.execute("SELECT f.id, value, cf_contains(b, value) FROM f, json_each(?)", (json.dumps(list(range(200))),)).fetchall()
    assert len(rows) == 2400 and all(answer == (k % (i + 2) == 0) for i, k, answer in rows)
    mixed = ask(db, "SELECT group_concat(cf_contains(b, 6) || cf_contains((SELECT b FROM f WHERE id = 4), 6), ' ') FROM f")
    assert mixed == " ".join(f"{int(6 % (i + 2) == 0)}1" for i in range(12))


def test_a_parameter_that_is_bound_anew(db):
    """A filter that is kept for one run of a statement must not answer in the next one."""
    filters = [build(db, numbers(100, every)) for every in (2, 3, 5)] + [support.build(db, [7], 1e-8)]
    expected = [[k % 2 == 0 for k in range(100)], [k % 3 == 0 for k in range(100)], [k % 5 == 0 for k in range(100)],
                [k == 7 for k in range(100)]]
    for i in (0, 1, 0, 3, 2, 3, 0, 1):
        rows = db.execute("SELECT cf_contains(?, k) FROM u ORDER BY k", (filters[i],)).fetchall()
        assert [row[0] for row in rows] == expected[i]


def test_where_only_pure_functions_are_let_in(db, blob):
    literal = f"x'{blob.hex()}'"
    db.execute("PRAGMA trusted_schema = OFF")
    db.execute(f"CREATE TABLE t(k, member AS (cf_contains({literal}, k)), CHECK (cf_contains({literal}, k) IN (0, 1)))")
    db.execute(f"CREATE INDEX members ON t(k) WHERE cf_contains({literal}, k)")
    db.execute(f"CREATE TRIGGER no_members BEFORE INSERT ON t WHEN cf_contains({literal}, new.k) AND new.k > 30 "
               "BEGIN SELECT RAISE(IGNORE); END")
    db.executemany("INSERT INTO t(k) VALUES (?)", [(k,) for k in range(60)])
    assert db.execute("SELECT k FROM t WHERE member").fetchall() == [(k,) for k in range(0, 31, 3)]
    assert db.execute(f"SELECT k FROM t INDEXED BY members WHERE cf_contains({literal}, k)").fetchall() \
        == [(k,) for k in range(0, 31, 3)]
    assert ask(db, "SELECT count(*) FROM t") == 11 + 40


def test_a_semi_join_and_what_is_unknown(db):
    db.executescript("""
        CREATE TABLE users(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
        INSERT INTO users WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
            SELECT i, 'user' || i FROM n;
        CREATE TABLE blocked(name TEXT PRIMARY KEY);
        INSERT INTO blocked SELECT name FROM users WHERE id % 7 = 0;
        CREATE TABLE filters(f)""")
    db.execute("INSERT INTO filters SELECT cf_build_exact(u.name, b.name IS NOT NULL, 0.01) FROM users u LEFT JOIN blocked b USING(name)")
    by_filter = "SELECT id FROM users WHERE cf_contains((SELECT cf_open(f) FROM filters), name) ORDER BY id"
    assert db.execute(by_filter).fetchall() == db.execute("SELECT id FROM users WHERE name IN blocked ORDER BY id").fetchall()
    unknown = ask(db, "SELECT sum(cf_contains((SELECT cf_open(f) FROM filters), 'stranger' || id)) FROM users")
    assert unknown < 5000 * 0.01 + 30


# ---- hostile bytes ----

def test_no_changed_byte_is_believed(db):
    """Not even by a connection that has just read the sound filter of the same header."""
    blob = build(db, numbers(400, 4))
    for i in range(len(blob)):
        damaged = blob[:i] + bytes([blob[i] ^ 1 << i % 8]) + blob[i + 1:]
        assert ask(db, "SELECT sum(cf_contains(?, k)) FROM u", blob) == 100
        fails(db, BAD_BLOB, "SELECT cf_contains(?, 1)", damaged)
        assert ask(db, "SELECT cf_check(?)", damaged) != "ok"
        if i > 3:
            for call in ("cf_info", "cf_open"):
                fails(db, BAD_BLOB, f"SELECT {call}(?)", damaged)
            with pytest.raises(sqlite3.DatabaseError):
                db.execute("SELECT * FROM cf_explain(?, 1)", (damaged,)).fetchall()


def test_cut_and_lengthened(db, blob):
    for length in list(range(3, 200)) + list(range(len(blob) - 100, len(blob))):
        fails(db, BAD_BLOB, "SELECT cf_contains(?, 1)", blob[:length])
    for more in (b"\0", bytes(8), bytes(64), blob):
        fails(db, BAD_BLOB, "SELECT cf_contains(?, 1)", blob + more)
    assert ask(db, "SELECT cf_check(?)", blob[:64]) == "the levels do not match their checksum"


def test_made_by_a_later_version(db, blob):
    later = fails(db, BAD_BLOB, "SELECT cf_contains(?, 1)", blob[:3] + b"\2" + blob[4:], says="later version")
    assert "anew" not in later
    assert "later version" in ask(db, "SELECT cf_check(?)", blob[:3] + b"\2" + blob[4:])


# ---- the bytes, read a second time from their description ----

def mix(hash_, level):
    if level == 0:
        return hash_
    z = (hash_ + level * 0x9e3779b97f4a7c15) & MASK
    z = ((z ^ z >> 30) * 0xbf58476d1ce4e5b9) & MASK
    z = ((z ^ z >> 27) * 0x94d049bb133111eb) & MASK
    return z ^ z >> 31


def holds(table, hash_):
    sides = [table.base_side(hash_)]
    sides.append(table.alternate(sides[0]))
    return any(side[1] & low(table.f) in table.tags(side[0]) for side in sides)


class Read:
    """An exact filter, as src/filter/exact.c describes it."""

    def __init__(self, blob):
        assert blob[:8] == b"\xcf\x65\x78\1\1\0\0\0"
        self.seed, self.keys, self.members = struct.unpack("<qQQ", blob[8:32])
        levels, listed = blob[32], blob[33]
        assert blob[34:48] == bytes(14) and blob[56:60] == bytes(4)
        assert struct.unpack("<I", blob[60:64])[0] == support.xxh3_medium(blob[:60]) & 0xffffffff
        lengths = struct.unpack(f"<{levels}Q", blob[64:64 + 8 * levels])
        self.levels, at = [], 64 + 8 * levels
        for length in lengths:
            self.levels.append(Table(blob[at:at + length]))
            at += length
        self.list = struct.unpack(f"<{listed}Q", blob[at:])
        assert list(self.list) == sorted(set(self.list)) and len(self.list) <= 32

    def contains(self, hash_):
        yes = 0
        while yes < len(self.levels) and holds(self.levels[yes], mix(hash_, yes)):
            yes += 1
        return (yes + (yes == len(self.levels) and hash_ in self.list)) % 2


@pytest.mark.parametrize("n, every", [(0, 1), (20, 2), (500, 4), (3000, 2), (4000, 30)])
def test_the_bytes_are_as_described(db, n, every):
    universe = [(b"%032d" % k, k % every == 0) for k in range(n)]
    filter_ = build(db, universe)
    read = Read(filter_)
    assert read.keys == n and read.members == sum(m for _, m in universe) and read.seed == 0
    for key, member in universe:
        assert read.contains(key_hash(key)) == member
    for k in range(n, n + 300):
        assert read.contains(key_hash(b"%032d" % k)) == support.contains(db, filter_, b"%032d" % k)
