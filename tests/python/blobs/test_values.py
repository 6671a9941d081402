# SPDX-License-Identifier: MIT
"""value_bits: an approximate map from keys to small integers."""
import json
import sqlite3
from collections import Counter

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import support
from support import BAD_PARAMETER, FULL, MISMATCH, ask, fails

ADD_ALL = "SELECT cf_add_all(?, json_extract(value, '$[0]'), json_extract(value, '$[1]')) FROM json_each(?)"
DELETE_ALL = ADD_ALL.replace("cf_add_all", "cf_delete_all")


def add_pairs(db, blob, pairs):
    return ask(db, ADD_ALL, blob, json.dumps(list(pairs))) if pairs else blob


def delete_pairs(db, blob, pairs):
    return ask(db, DELETE_ALL, blob, json.dumps(list(pairs))) if pairs else blob


def get(db, blob, key):
    return ask(db, "SELECT cf_get(?, ?)", blob, key)


def values_of(db, blob, key):
    rows = db.execute("SELECT payload, copies FROM cf_explain(?, ?) WHERE match ORDER BY 1", (blob, key))
    return [value for value, copies in rows for _ in range(copies)]


@pytest.fixture
def shards(db):
    return support.new(db, 10, None, "value_bits=4")


# ---- one key, one value ----

@pytest.mark.parametrize("bits", [1, 2, 7, 8, 16, 31, 32])
@pytest.mark.parametrize("options", ["", "growth=off", "bucket_size=2", "bucket_size=8"])
def test_values_of_every_width_come_back(db, bits, options):
    top = 2**bits - 1
    pairs = [(i, v) for i, v in enumerate([0, 1, top, top // 2, top - 1] * 8)]
    blob = support.new(db, 40, None, f"{options} value_bits={bits} fingerprint_bits=32")
    blob = add_pairs(db, blob, pairs)
    assert [get(db, blob, key) for key, _ in pairs] == [value for _, value in pairs]
    assert ask(db, "SELECT cf_check(?)", blob) == "ok"
    assert get(db, blob, "never") is None
    fails(db, BAD_PARAMETER, "SELECT cf_add(?, 1, ?)", blob, top + 1,
          says=f"value must be an integer from 0 to {top} (value_bits={bits})")


def test_a_map_from_keys_to_shards(db):
    """Grown from 10 keys to 20,000: every key has an answer, and nearly every one is right."""
    db.execute("CREATE TABLE place AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 20000) "
               "SELECT 'user-' || i AS k, i * i % 13 AS shard FROM n")
    blob = ask(db, "SELECT cf_add_all(cf_new(10, 0.001, 'value_bits=4'), k, shard) FROM place")
    db.execute("CREATE TABLE asked AS SELECT k, shard, cf_get(?, k) AS answer FROM place", (blob,))
    assert ask(db, "SELECT count(*) FROM asked WHERE answer IS NULL") == 0
    assert ask(db, "SELECT count(*) FROM asked WHERE answer <> shard") <= 3 * 0.003 * 20000
    assert ask(db, "SELECT count(*) FROM place WHERE cf_get(?, 'not ' || k) IS NOT NULL", blob) <= 1.5 * 0.003 * 20000
    half = ask(db, "SELECT cf_delete_all(?, k, shard) FROM place WHERE shard < 6", blob)
    assert ask(db, "SELECT count(*) FROM place WHERE shard >= 6 AND NOT cf_contains(?, k)", half) == 0
    assert ask(db, "SELECT count(*) FROM place WHERE shard < 6 AND cf_contains(?, k)", half) <= 0.01 * 20000
    assert ask(db, "SELECT cf_check(?)", half) == "ok"
    assert support.info(db, half)["items"] == ask(db, "SELECT count(*) FROM place WHERE shard >= 6")


# ---- several values ----

def test_several_values_of_a_key_are_all_there(db, shards):
    blob = add_pairs(db, shards, [("k", 3), ("k", 11), ("k", 0), ("x", 7)])
    assert values_of(db, blob, "k") == [0, 3, 11]
    assert get(db, blob, "k") in (0, 3, 11)
    assert support.count(db, blob, "k") == 3
    assert ask(db, "SELECT count(payload) FROM cf_buckets(?)", blob) == 4


def test_deleting_one_value_keeps_the_others(db, shards):
    blob = add_pairs(db, shards, [("k", 3), ("k", 11), ("k", 0)])
    blob = ask(db, "SELECT cf_delete(?, 'k', 11)", blob)
    assert values_of(db, blob, "k") == [0, 3]
    assert ask(db, "SELECT cf_delete(?, 'k', 5)", blob) == blob  # a value that was never there
    blob = delete_pairs(db, blob, [("k", 0), ("k", 3)])
    assert blob == shards and get(db, blob, "k") is None


@pytest.mark.parametrize("bucket_size", [2, 4, 8])
def test_equal_values_stick_at_cap(db, bucket_size):
    blob = support.new(db, 10, None, f"value_bits=3 fingerprint_bits=32 bucket_size={bucket_size}")
    cap = support.field(blob, "cap")
    blob = add_pairs(db, blob, [("k", 5)] * (cap + 4) + [("k", 2)])
    assert values_of(db, blob, "k") == [2] + [5] * cap
    assert support.info(db, blob)["sticky"] == 1
    blob = delete_pairs(db, blob, [("k", 5), ("k", 2)])
    assert values_of(db, blob, "k") == [5] * cap


@pytest.mark.parametrize("options", ["growth=off", "growth=on"])
def test_too_many_values_for_one_key_are_refused(db, options):
    blob = support.new(db, 100, None, f"value_bits=8 bucket_size=4 fingerprint_bits=12 {options}")
    blob = add_pairs(db, blob, [("k", v) for v in range(8)])
    message = fails(db, FULL, "SELECT cf_add(?, 'k', 8)", blob, says="filter is full")
    assert "as many values as two buckets have slots" in message
    assert values_of(db, blob, "k") == list(range(8))


# ---- histories ----

NAMES = st.sampled_from(["a", "b"])
PAIRS = st.tuples(st.integers(0, 30), st.integers(0, 1))


class Histories(RuleBasedStateMachine):
    """Keys with one or two values, in two filters that grow; against a multiset of pairs."""

    @initialize(capacity=st.integers(1, 20), bucket_size=st.sampled_from([4, 8]), seed=st.integers(0, 3),
                bits=st.sampled_from([9, 10, 14, 32]),
                more=st.sampled_from(["", "layout=plain", "overflow=on overflow_budget=0"]))
    def begin(self, capacity, bucket_size, seed, bits, more):
        self.db = support.connect()
        self.exact = bits == 32
        empty = support.new(self.db, capacity, None,
                            f"value_bits=3 fingerprint_bits={bits} bucket_size={bucket_size} seed={seed} {more}")
        self.cap = support.field(empty, "cap")
        self.blob = {"a": empty, "b": empty}
        self.copies = {"a": Counter(), "b": Counter()}

    def teardown(self):
        if hasattr(self, "db"):
            self.db.close()

    @rule(name=NAMES, pair=PAIRS)
    def add(self, name, pair):
        self.change(name, lambda blob: ask(self.db, "SELECT cf_add(?, ?, ?)", blob, *pair), [pair])

    @rule(name=NAMES, first=st.integers(100, 3000), n=st.integers(1, 400))
    def add_many(self, name, first, n):
        pairs = [(key, key * key % 8) for key in range(first, first + n)]
        self.change(name, lambda blob: add_pairs(self.db, blob, pairs), pairs)

    def change(self, name, add, pairs):
        """Never full: a key has two values at most."""
        self.blob[name] = add(self.blob[name])
        self.copies[name].update(pairs)

    @rule(name=NAMES, data=st.data())
    def delete(self, name, data):
        present = sorted(self.copies[name])
        if present:
            pair = data.draw(st.sampled_from(present))
            self.blob[name] = ask(self.db, "SELECT cf_delete(?, ?, ?)", self.blob[name], *pair)
            self.forget(name, [pair])

    @rule(name=NAMES, step=st.integers(2, 4))
    def delete_many(self, name, step):
        pairs = sorted(self.copies[name])[::step]
        self.blob[name] = delete_pairs(self.db, self.blob[name], pairs)
        self.forget(name, pairs)

    def forget(self, name, pairs):
        """What has reached cap is stuck there."""
        for pair in pairs:
            if self.copies[name][pair] < self.cap:
                self.copies[name][pair] -= 1
        self.copies[name] = +self.copies[name]

    @rule(name=NAMES)
    def merge(self, name):
        other = "b" if name == "a" else "a"
        try:
            self.blob[name] = ask(self.db, "SELECT cf_merge(?, ?)", self.blob[name], self.blob[other])
        except sqlite3.IntegrityError as error:  # three copies each of a few keys fill a pair of buckets
            assert "filter is full" in str(error)
            return
        self.copies[name] += self.copies[other]

    @invariant()
    def agrees(self):
        for name, blob in getattr(self, "blob", {}).items():
            assert ask(self.db, "SELECT cf_check(?)", blob) == "ok"
            expected = {}
            for (key, value), n in self.copies[name].items():
                expected.setdefault(key, Counter())[value] = min(n, self.cap)
            for key in list(expected)[:60]:
                found = Counter(values_of(self.db, blob, key))
                assert found >= expected[key], key
                assert get(self.db, blob, key) in found
                if self.exact and max(self.copies[name].values()) < self.cap:  # counts are exact below cap
                    assert found == expected[key], key


TestHistories = Histories.TestCase


# ---- NULL and errors ----

def test_a_null_key_leaves_the_filter_as_it_is(db, shards):
    blob = ask(db, "SELECT cf_add(?, 'k', 3)", shards)
    for call in ("cf_add(?, NULL, 3)", "cf_delete(?, NULL, 3)", "cf_add_all(?, NULL, 3)", "cf_delete_all(?, NULL, 3)",
                 "cf_add(?, NULL, NULL)", "cf_add_all(?, NULL, NULL)"):
        assert ask(db, f"SELECT {call}", blob) == blob, call
    assert get(db, blob, None) is None
    db.execute("CREATE TABLE filters(f)")
    db.execute("CREATE TABLE new(k, v)")
    db.execute("INSERT INTO filters VALUES (?)", (blob,))
    assert ask(db, "SELECT cf_add_all(f, k, v) FROM filters LEFT JOIN new") == blob


@pytest.mark.parametrize("value", ["NULL", "-1", "16", "1e18", "3.0", "'3'", "x'03'", "9223372036854775807",
                                   "-9223372036854775808"])
@pytest.mark.parametrize("call", ["cf_add(?1, 'k', {})", "cf_delete(?1, 'k', {})", "cf_add_all(?1, 'k', {})",
                                  "cf_delete_all(?1, 'k', {})"])
def test_a_value_must_be_in_range(db, shards, call, value):
    blob = ask(db, "SELECT cf_add(?, 'k', 3)", shards)
    fails(db, BAD_PARAMETER, "SELECT " + call.format(value), blob,
          says="value must be an integer from 0 to 15 (value_bits=4)")


def test_a_value_is_needed_where_values_are_kept(db, shards):
    for call in ("cf_add(?, 1)", "cf_delete(?, 1)", "cf_add_all(?, 1)", "cf_delete_all(?, 1)"):
        fails(db, BAD_PARAMETER, f"SELECT {call}", shards, says="give (filter, key, value)")


def test_a_value_is_refused_where_none_is_kept(db):
    blob = support.new(db, 10)
    for call in ("cf_add(?, 1, 2)", "cf_delete(?, 1, 2)", "cf_add_all(?, 1, 2)", "cf_delete_all(?, 1, 2)",
                 "cf_add(?, 1, NULL)", "cf_get(?, 1)", "cf_get(?, NULL)", "cf_get(cf_open(?), 1)"):
        function = "cf_get" if "cf_get" in call else None
        fails(db, BAD_PARAMETER, f"SELECT {call}", blob, function=function, says="filter keeps no values")


def test_a_build_takes_no_values(db):
    fails(db, BAD_PARAMETER, "SELECT cf_build(1, 0.01, 'value_bits=4')", says="cf_keys(key, value)")
    fails(db, BAD_PARAMETER, "SELECT cf_build(NULL, 0.01, 'value_bits=4')", says="cf_keys(key, value)")


def test_an_error_in_the_middle_changes_nothing(db, shards):
    db.execute("CREATE TABLE filters(f)")
    db.execute("INSERT INTO filters VALUES (?)", (shards,))
    db.execute("BEGIN")
    fails(db, BAD_PARAMETER, "UPDATE filters SET f = (SELECT cf_add_all(filters.f, value, value) FROM json_each("
                             "'[1, 2, 3, 16, 4]'))", says="value must be")
    assert db.in_transaction
    db.execute("COMMIT")
    assert ask(db, "SELECT f FROM filters") == shards


# ---- handles, merging, inside ----

def test_handles_answer_as_blobs_do(db, shards):
    db.execute("CREATE TABLE filters(f)")
    db.execute("INSERT INTO filters VALUES (?)", (add_pairs(db, shards, [(i, i % 16) for i in range(100)]),))
    assert db.execute("SELECT value, cf_get((SELECT cf_open(f) FROM filters), value) FROM json_each('[5, 21, 99]')") \
        .fetchall() == [(5, 5), (21, 5), (99, 3)]
    assert ask(db, "SELECT cf_add((SELECT cf_open(f) FROM filters), 7, 2) = cf_add(f, 7, 2) FROM filters") == 1


def test_values_stay_with_their_keys_in_a_merge(db, shards):
    one = add_pairs(db, shards, [(i, i % 16) for i in range(500)])
    two = add_pairs(db, shards, [(i, i % 13) for i in range(1000, 1010)] + [(3, 9)])
    for first, second in ((one, two), (two, one)):
        blob = ask(db, "SELECT cf_merge(?, ?)", first, second)
        assert all(i % 16 in values_of(db, blob, i) for i in range(500))
        assert all(i % 13 in values_of(db, blob, i) for i in range(1000, 1010))
        assert {3, 9} <= set(values_of(db, blob, 3))
        assert ask(db, "SELECT cf_check(?)", blob) == "ok"


def test_a_mismatch_names_value_bits(db):
    shape = "fingerprint_bits=12 bucket_size=4"
    three, four, none = (support.new(db, 100, None, f"{shape} value_bits={v}") for v in (3, 4, 0))
    counters = support.new(db, 100, None, f"{shape} counter_bits=3")
    for one, other in ((three, four), (four, none), (none, three)):
        fails(db, MISMATCH, "SELECT cf_merge(?, ?)", one, other, says="differ in value_bits")
    fails(db, MISMATCH, "SELECT cf_merge(?, ?)", three, counters, says="_bits (planned for 100 and 100 keys, fpr about ")


def test_equal_contents_and_calls_are_equal_bytes(db, shards):
    pairs = [(i * 31 % 700, i % 16) for i in range(700)]
    blob = shards
    for key, value in pairs:
        blob = ask(db, "SELECT cf_add(?, ?, ?)", blob, key, value)
    assert blob == add_pairs(db, shards, pairs)
