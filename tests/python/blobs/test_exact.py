# SPDX-License-Identifier: MIT
"""cf_build_exact: no wrong answer for any key of the universe, wherever the filter comes from. Who refuses exact filters:
extension/test_functions.py; changed bytes: test_hostile.py."""
import itertools
import json
import math
import sqlite3

import pytest
from hypothesis import given, strategies as st

import support
from support import BAD_PARAMETER, TOO_BIG, ask, fails

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
    universe = [(None, 1), (None, None), (1, 1), (2, 0), (3, 0.0), (4, 1.0), (5, -0.0), (6, True)]
    filter_ = build(db, universe)
    assert support.info(db, filter_)["keys"] == 6
    assert [support.contains(db, filter_, k) for k in range(1, 7)] == [1, 0, 0, 1, 0, 1]
    assert support.contains(db, filter_, None) is None
    for member in (2, -1, 0.5, -2.5, 10**18, 1e300, "1", b"1"):
        support.fails(db, support.BAD_PARAMETER, "SELECT cf_build_exact(1, ?)", member, says="member, the second argument, must be 1 or 0")


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
    asked = {"12": 12, 13: "13.0", "1e3": 1000, "Abc": "aBC", "8": 8, 7: "7", "a  ": "a", "b ": "b", 1: "1.0",
             2.5: "2.5"}
    for key, member in known:
        assert support.contains(db, filter_, key) == support.contains(db, filter_, asked.get(key, key)) == member


def test_a_vague_real_is_perhaps_there(db):
    filter_ = build(db, [("1.5", 1), ("2.5", 1), (3, 0)], None, "affinity=text")
    assert [support.contains(db, filter_, k) for k in ("1.5", 1.5, 2.5, 7.25, 3)] == [1, 1, 1, 1, 0]


@pytest.mark.parametrize("member", [0, 1])
@pytest.mark.parametrize("real", [1.5, -0.25, 0.1 + 0.2, 1e300, 1e15, 5e-324, math.inf, -math.inf])
def test_a_real_that_may_equal_several_texts_is_refused(db, real, member):
    """As a member it would be absent when it is looked up as its text."""
    for known in itertools.permutations([("1.5", 1), ("0.25", 0), (real, member)]):
        fill(db, known)
        fails(db, BAD_PARAMETER, "SELECT cf_build_exact(k, m, NULL, 'affinity=text') FROM u", says="which may equal other keys")
    for affinity in ("numeric", "real", "none"):
        assert support.contains(db, build(db, [(real, member)], None, f"affinity={affinity}"), real) == member


# ---- wrong arguments ----

def test_a_key_that_is_both(db):
    for n in (1, 10, 100, 5000):
        fill(db, numbers(n, 2) + [(0, 0)])
        fails(db, BAD_PARAMETER, "SELECT cf_build_exact(k, m) FROM u", says="a key is both member and not; if none is, "
              "leave the affinity out, or try another seed")
    fill(db, [(1, 1), (1.0, 0)])
    fails(db, BAD_PARAMETER, "SELECT cf_build_exact(k, m) FROM u", says="both member and not")
    fill(db, [("1", 1), ("01", 0)])
    fails(db, BAD_PARAMETER, "SELECT cf_build_exact(k, m, NULL, 'affinity=text') FROM u", says="leave the affinity out")
    assert ask(db, "SELECT min(cf_contains((SELECT cf_build_exact(k, m) FROM u), k) = m) FROM u") == 1


def test_longer_than_the_connection_allows(db):
    fill(db, numbers(20_000, 2))
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 5000)
    fails(db, TOO_BIG, "SELECT cf_build_exact(k, m) FROM u", says="longer than allowed")


# ---- who knows exact filters ----
def test_import_refuses_it(db, blob):
    db.execute("CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=10)")
    with pytest.raises(sqlite3.OperationalError, match="exact"):
        db.execute("INSERT INTO seen(seen, key) VALUES ('import', ?)", (blob,))


@pytest.mark.parametrize("source", ["?1", "(SELECT cf_open(?1))"])
def test_info_and_check(db, blob, source):
    said = json.loads(ask(db, f"SELECT cf_info({source})", blob))
    assert said["kind"] == "exact" and said["keys"] == 3000 and said["members"] == 1000
    assert said["bytes"] == len(blob)
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
        assert all(yes[:-1]) and (len(rows) == support.info(db, blob)["levels"] or not yes[-1])
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
    rows = db.execute("SELECT f.id, value, cf_contains(b, value) FROM f, json_each(?)",
                      (json.dumps(list(range(200))),)).fetchall()
    assert len(rows) == 2400 and all(answer == (k % (i + 2) == 0) for i, k, answer in rows)
    mixed = ask(db, "SELECT group_concat(cf_contains(b, 6) || cf_contains((SELECT b FROM f WHERE id = 4), 6), ' ') FROM f")
    assert mixed == " ".join(f"{int(6 % (i + 2) == 0)}1" for i in range(12))


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
