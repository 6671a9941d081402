# SPDX-License-Identifier: MIT
"""cf_build with values, and cf_values: a key has a set of values, and none of them is ever missing. The model is a dict
of sets."""
import json
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

import support
from support import ask, fails

BUILD = "SELECT cf_build(json_extract(value, '$[0]'), ?, ?, json_extract(value, '$[1]')) FROM json_each(?)"


def build(db, pairs, fpr=0.01, options="value_bits=8"):
    return ask(db, BUILD, fpr, options, json.dumps(list(pairs)))


def values(db, blob, key):
    rows = [value for value, in db.execute("SELECT value FROM cf_values(?, ?)", (blob, key))]
    assert len(set(rows)) == len(rows)
    return set(rows)


def sets_of(pairs):
    model = {}
    for key, value in pairs:
        model.setdefault(key, set()).add(value)
    return model


# ---- against the model ----

# A handful of keys, so that they repeat; not more values than may crowd two buckets together with other keys.
KEYS = st.one_of(st.integers(0, 9), st.sampled_from(["ada", "bob", ""]), st.integers(0, 2**53))
PAIRS = st.lists(st.tuples(KEYS, st.integers(0, 2)), max_size=60)


@given(pairs=PAIRS, options=st.sampled_from(["", "growth=off", "bucket_size=8", "layout=plain", "seed=7", "capacity=300",
                                             "growth=off stash=on"]), seed=st.randoms())
def test_no_value_is_missing_and_the_order_of_rows_changes_nothing(db, pairs, options, seed):
    model, options = sets_of(pairs), f"value_bits=3 fingerprint_bits=32 {options}"
    blob = build(db, pairs, None, options)
    if not pairs:
        assert support.info(db, blob)["items"] == support.info(db, blob)["value_bits"] == 0
        return
    assert {key: values(db, blob, key) for key in model} == model
    assert values(db, blob, "nobody") == set() == values(db, blob, None)
    assert support.info(db, blob)["items"] == len(set(pairs)) and ask(db, "SELECT cf_check(?)", blob) == "ok"
    shuffled = pairs + pairs[:len(pairs) // 2]
    seed.shuffle(shuffled)
    assert build(db, shuffled, None, options) == blob


@given(steps=st.lists(st.tuples(st.booleans(), st.integers(0, 30), st.integers(0, 4)), max_size=80),
       options=st.sampled_from(["", "growth=off", "bucket_size=8"]))
def test_pairs_come_and_go(db, steps, options):
    start = [(key, key % 5) for key in range(0, 31, 3)]
    blob, model = build(db, start, None, f"value_bits=3 fingerprint_bits=32 capacity=100 {options}"), sets_of(start)
    for adds, key, value in steps:
        there = value in model.get(key, ())
        if adds and not there:
            blob = ask(db, "SELECT cf_add(?, ?, ?)", blob, key, value)
            model.setdefault(key, set()).add(value)
        elif there and not adds:
            blob = ask(db, "SELECT cf_delete_keys(?1, cf_keys(?2, ?3))", blob, key, value)
            model[key].discard(value)
    assert all(values(db, blob, key) == model.get(key, set()) for key in range(31))
    assert support.info(db, blob)["items"] == sum(map(len, model.values()))


@given(parts=st.lists(PAIRS, min_size=1, max_size=4))
def test_parts_merge_to_the_whole(db, parts):
    options = "value_bits=3 fingerprint_bits=32 capacity=300"
    whole = sets_of([pair for part in parts for pair in part])
    blobs = [build(db, part, None, options) for part in parts if part]
    if blobs:
        db.execute("CREATE TEMP TABLE IF NOT EXISTS part(f)")
        db.execute("DELETE FROM part")
        db.executemany("INSERT INTO part VALUES (?)", ((blob,) for blob in blobs))
        merged = ask(db, "SELECT cf_merge(f) FROM part")
        assert {key: values(db, merged, key) for key in whole} == whole


# ---- many ----

def rows(db, n, key, value):
    db.execute("CREATE TABLE pair(k, v)")
    db.execute(f"INSERT INTO pair WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {n - 1}) "
               f"SELECT {key}, {value} FROM n")


@pytest.mark.parametrize("each, options, most_bits", [(1, "", 21), (2, "", 23), (2, "growth=off", 23), (4, "bucket_size=8", 28)])
def test_many_keys_of_several_values(db, each, options, most_bits):
    """All values are there; too many come as rarely as fpr says, of keys that are there and of others."""
    rows(db, 40000, f"'k' || (i / {each})", "i * 7 % 2003")
    blob = ask(db, f"SELECT cf_build(k, 0.01, 'value_bits=11 {options}', v) FROM pair")
    db.execute("CREATE TABLE held AS SELECT f.* FROM (SELECT ? AS f) f", (blob,))
    db.execute("CREATE TABLE told AS SELECT k, value AS v FROM (SELECT DISTINCT k FROM pair), "
               "cf_values((SELECT cf_open(f) FROM held), k)")
    assert ask(db, "SELECT count(*) FROM (SELECT k, v FROM pair EXCEPT SELECT k, v FROM told)") == 0
    assert ask(db, "SELECT count(*) FROM (SELECT k, v FROM told EXCEPT SELECT k, v FROM pair)") <= 0.015 * 40000 / each
    assert ask(db, "SELECT count(*) FROM pair, cf_values((SELECT cf_open(f) FROM held), 'not ' || k)") <= 0.015 * 40000
    assert 8 * len(blob) / 40000 < most_bits and ask(db, "SELECT cf_check(?)", blob) == "ok"


def test_rows_that_repeat_pairs_are_dropped_while_they_are_collected(db):
    """A million rows of 900 pairs: the memory is that of the different ones."""
    rows(db, 300, "i", "i % 7")
    memory = support.Memory()
    memory.reset_peak()
    before = memory.used()
    blob = ask(db, """SELECT cf_build(k, 0.01, 'value_bits=4', v + j % 3) FROM pair,
        (WITH RECURSIVE n(j) AS (SELECT 0 UNION ALL SELECT j + 1 FROM n WHERE j < 3332) SELECT j FROM n)""")
    assert memory.peak() - before < 3 << 20
    assert support.info(db, blob)["items"] == 900
    assert all(values(db, blob, k) >= {k % 7, k % 7 + 1, k % 7 + 2} for k in range(300))


def test_a_filter_of_pairs_grows(db):
    rows(db, 20000, "i / 2", "i % 2")
    blob = ask(db, "SELECT cf_build(k, 0.001, 'value_bits=4', v) FROM pair WHERE k < 100")
    blob = ask(db, "SELECT cf_add_keys(?, (SELECT cf_keys(k, v) FROM pair WHERE k >= 100))", blob)
    db.execute("CREATE TABLE held AS SELECT ? AS f", (blob,))
    assert support.info(db, blob)["level"] > 3
    assert ask(db, "SELECT count(*) FROM pair WHERE v NOT IN (SELECT value FROM cf_values((SELECT cf_open(f) FROM held), k))") == 0


# ---- the limits ----

@pytest.mark.parametrize("options, most", [("", 8), ("bucket_size=8", 16), ("bucket_size=2", 4), ("growth=off", 8),
                                           ("growth=off stash=on", 16), ("capacity=50", 8)])
def test_as_many_values_as_two_buckets_have_slots(db, options, most):
    """With a stash eight more."""
    options = f"value_bits=8 {options}"
    blob = build(db, [("k", value) for value in range(most)], 0.01, options)
    assert values(db, blob, "k") == set(range(most)) and values(db, blob, "x") == set()
    fails(db, support.FULL, BUILD, 0.01, options, json.dumps([["k", value] for value in range(most + 1)]),
          says="a key has more values than two buckets have slots")
    fails(db, support.FULL, "SELECT cf_add(?, 'k', 200)", blob, says="filter is full")


@pytest.mark.parametrize("bits", [1, 7, 8, 31, 32])
def test_the_least_and_the_largest_value(db, bits):
    pairs = [(key, value) for key in range(20) for value in (0, 2**bits - 1)]
    blob = build(db, pairs, 0.0001, f"value_bits={bits}")
    assert {key: values(db, blob, key) for key in range(20)} == sets_of(pairs)
    for value in (-1, 2**bits, float(2**bits), 0.5, -1.0, 1e300, float("inf"), "1", "1.0", None):
        fails(db, support.BAD_PARAMETER, "SELECT cf_build(1, 0.01, ?, ?)", f"value_bits={bits}", value,
              says=f"value must be an integer from 0 to {2**bits - 1}")


def test_a_null_key_is_no_row_whatever_its_value(db):
    assert build(db, [(None, "x"), (1, 2), (None, None)]) == build(db, [(1, 2)])


def test_with_the_key_rule_of_a_column(db):
    blob = build(db, [("Ada", 1), ("ADA", 2), ("7", 3), (7, 4)], 0.0001, "value_bits=4 collation=nocase affinity=numeric")
    assert values(db, blob, "ada") == {1, 2} and values(db, blob, 7.0) == {3, 4} == values(db, blob, "07")


def test_in_a_join_and_by_a_condition_on_the_value(db):
    db.execute("CREATE TABLE f AS SELECT ? AS f", (build(db, [("a", 1), ("a", 2), ("b", 2)]),))
    asked = "SELECT column1, value FROM (VALUES ('a'), ('b'), ('c')), f, cf_values(f, column1)"
    assert sorted(db.execute(asked)) == [("a", 1), ("a", 2), ("b", 2)]
    assert db.execute(asked + " WHERE value = 2 ORDER BY 1").fetchall() == [("a", 2), ("b", 2)]
    assert ask(db, "SELECT count(*) FROM f WHERE EXISTS (SELECT 1 FROM cf_values(f, 'b') WHERE value > 2)") == 0
    assert db.execute("SELECT v.cuckoo_key, length(v.cuckoo_filter) > 64 FROM f, cf_values(f, 'b') v").fetchone() == ("b", 1)


def test_a_long_build_can_be_interrupted(db):
    rows(db, 300000, "i", "i % 200")
    timer = threading.Timer(0.05, db.interrupt)
    started = time.monotonic()
    timer.start()
    with pytest.raises(support.sqlite3.OperationalError, match="interrupted"):
        while time.monotonic() - started < 30:
            db.execute("SELECT cf_build(k, 0.01, 'value_bits=8', v) FROM pair").fetchone()
    timer.join()


def test_a_column_of_the_user_may_be_called_key_or_filter(db):
    db.execute("CREATE TABLE t(key, filter)")
    db.execute("INSERT INTO t VALUES ('a', 1), ('b', 2)")
    found = db.execute("SELECT key, (SELECT group_concat(value) FROM cf_values((SELECT cf_build(key, 0.0001, 'value_bits=4', filter) "
                       "FROM t), key)) FROM t").fetchall()
    assert found == [("a", "1"), ("b", "2")]
    assert db.execute("SELECT key, value FROM t, cf_values((SELECT cf_build(key, 0.0001, 'value_bits=4', filter) FROM t), key) "
                      "ORDER BY key").fetchall() == [("a", 1), ("b", 2)]
