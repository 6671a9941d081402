# SPDX-License-Identifier: MIT
"""A filter that is full grows, and keeps all its promises. src/growth/growth.h says how.

Keys are numbers, so that all but the histories is the same in every run.
"""
import json
import math
import sqlite3

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule

import support
import test_model
from address import AIMED, Shape, key_hash, low
from layout import Table
from support import FULL, TOO_BIG, ask, fails

RANGE = "WITH RECURSIVE k(x) AS (SELECT ?2 AS x WHERE ?2 < ?3 UNION ALL SELECT x + 1 FROM k WHERE x + 1 < ?3) "


def add_range(db, blob, first, end):
    """The filter with the keys first .. end - 1 as well."""
    if first == end:
        return blob
    return ask(db, RANGE + "SELECT cf_add_all(?1, x) FROM k", blob, first, end)


def delete_range(db, blob, first, end):
    return ask(db, RANGE + "SELECT cf_delete_all(?1, x) FROM k", blob, first, end)


def lost(db, blob, first, end):
    """How many of the keys first .. end - 1 are not found."""
    return ask(db, RANGE + "SELECT count(*) FROM k WHERE NOT cf_contains(?1, x)", blob, first, end)


def check(db, blob):
    """The figures of cf_info, counted again from cf_buckets; returns them."""
    assert ask(db, "SELECT cf_check(?)", blob) == "ok"
    got = support.info(db, blob)
    counted = db.execute("SELECT count(DISTINCT bucket), max(bucket) + 1, count(*), count(fingerprint), "
                         "min(length), max(length) FROM cf_buckets(?)", (blob,)).fetchone()
    buckets, last, slots, occupied, shortest, longest = counted
    assert buckets == last == got["buckets"] == (got["base_buckets"] << got["level"]) + got["split"]
    assert got["split"] <= got["base_buckets"] << got["level"]
    assert slots == buckets * got["bucket_size"]
    assert occupied == got["occupied"] == support.field(blob, "occupied")
    assert got["load"] == pytest.approx(occupied / slots, rel=1e-5)
    assert got["load_items"] == pytest.approx(got["items"] / slots, rel=1e-5)
    assert got["slot_bits"] == support.slot_bits(got["fingerprint_bits"], got["level"], got["split"])
    assert occupied == 0 or got["pair_bits"] + got["level"] <= shortest
    # Of a slot in a grown filter one bit is the terminator, and one is spare in buckets that are split.
    assert occupied == 0 or longest <= got["level"] + got["slot_bits"] - (1 if got["level"] or got["split"] else 0)
    assert got["bytes"] == len(blob)
    return got


# ---- histories ----

BUCKET_SIZES = st.sampled_from([2, 4, 8])


class Growing(test_model.Histories):
    """As in test_model, but never full, however often keys repeat."""

    def may_be_full(self, model, keys):
        return False

    @rule(name=test_model.NAMES, first=st.integers(0, 300), n=st.integers(100, 500))
    def add_many(self, name, first, n):
        self.add_all(name, list(range(first, first + n)))

    @rule(name=test_model.NAMES)
    def delete_most(self, name):
        model, keys = self.model[name], self.present(name)[::2] + self.present(name)[1::4]
        if keys:
            assert self.update(name, "(SELECT cf_delete_all(filters.f, value) FROM json_each(?))", json.dumps(keys))
        for key in keys:
            model.delete(key, self.class_of(key))

    def find_class(self, key):
        return key


class ExactGrowth(Growing):
    """With fingerprints of 32 bits no two of these keys are alike, and every count is known."""

    @initialize(capacity=st.integers(1, 20), bucket_size=BUCKET_SIZES, counters=st.sampled_from([0, 0, 1, 3]),
                seed=test_model.SEEDS)
    def begin(self, capacity, bucket_size, counters, seed):
        self.start_planned(capacity, f"bucket_size={bucket_size} fingerprint_bits=32 counter_bits={counters} "
                                     f"seed={seed}")

    @invariant()
    def agrees_with_the_model(self):
        super().agrees_with_the_model()
        for name in getattr(self, "model", {}):
            check(self.db, self.stored(name))


class CrowdedGrowth(Growing):
    """Short fingerprints: keys are taken for each other, entries run out of bits and become void. What was added
    and not deleted is found all the same, as often as it was added."""

    @initialize(capacity=st.integers(1, 20), bucket_size=BUCKET_SIZES, counters=st.sampled_from([0, 0, 1, 3]),
                bits=st.integers(8, 13), seed=test_model.SEEDS)
    def begin(self, capacity, bucket_size, counters, bits, seed):
        bits = max(bits, 12) if bucket_size == 2 else bits
        self.start_planned(capacity, f"bucket_size={bucket_size} fingerprint_bits={bits} counter_bits={counters} "
                                     f"seed={seed}")

    @invariant()
    def agrees_with_the_model(self):
        for name, model in getattr(self, "model", {}).items():
            blob = self.stored(name)
            check(self.db, blob)
            keys = self.present(name)
            rows = self.db.execute("SELECT cf_contains(?1, value), cf_count(?1, value) FROM json_each(?2)",
                                   (blob, json.dumps(keys)))
            for key, (contained, count) in zip(keys, rows, strict=True):
                assert contained == 1, key
                assert count >= min(model.true[key], self.limit), key


TestExactGrowth = ExactGrowth.TestCase
TestCrowdedGrowth = CrowdedGrowth.TestCase


# ---- journeys ----

def journey(db, blob, end):
    """Adds keys from 0 on, half as many again each time; after each step the filter and the number of its keys."""
    n = 0
    while n < end:
        more = min(end, max(n + 5, n * 3 // 2))
        blob = add_range(db, blob, n, more)
        n = more
        yield blob, n


@pytest.mark.parametrize("start, end", [
    ("SELECT cf_new(10)", 30000), ("SELECT cf_build(x) FROM (SELECT 1 AS x WHERE 0)", 20000),
    ("SELECT cf_new(10, 0.01, 'counter_bits=4')", 5000), ("SELECT cf_new(500, 0.01, 'bucket_size=8')", 20000)])
def test_a_journey(db, start, end):
    for blob, n in journey(db, ask(db, start), end):
        got = check(db, blob)
        assert lost(db, blob, 0, n) == 0
        assert got["fpr_now"] <= 0.03, n
        if n >= max(100, 2 * got["capacity"]):
            # a level is emptiest in its midst, where 84 % of the slots in use are occupied
            assert got["load_items"] >= 0.75, (n, got["load_items"])
    assert got["level"] >= 5
    half = delete_range(db, blob, 0, end // 2)
    check(db, half)
    assert lost(db, half, end // 2, end) == 0
    gone = lost(db, half, 0, end // 2)
    assert gone >= 0.97 * (end // 2)
    assert support.info(db, half)["items"] <= end - gone


def test_adds_after_deletes_reuse_the_room(db):
    blob = add_range(db, support.new(db, 10), 0, 3000)
    size = support.info(db, blob)["buckets"]
    for start in range(3000, 30000, 1500):
        blob = add_range(db, delete_range(db, blob, start - 1500, start), start, start + 1500)
    assert support.info(db, blob)["buckets"] <= 1.3 * size
    assert lost(db, blob, 0, 1500) == 0
    assert lost(db, blob, 28500, 30000) == 0


def test_clear_takes_growth_back(db):
    empty = support.new(db, 10, 0.001, "seed=4")
    assert ask(db, "SELECT cf_clear(?)", add_range(db, empty, 0, 1000)) == empty


# ---- merging ----

def test_a_merge_with_itself_again_and_again_ends_with_one_slot_for_each_key(db):
    """Each key has a copy more every time: exact below cap, sticky at cap, and then nothing becomes longer any more."""
    empty = support.new(db, 1, None, "bucket_size=4 fingerprint_bits=32")
    one = add_range(db, empty, 0, 149)
    cap, blob = support.info(db, one)["cap"], one
    sums = [one]
    for copies in range(2, 3 * cap):
        blob = ask(db, "SELECT cf_merge(?, ?)", blob, one)
        sums.append(blob)
        got = check(db, blob)
        assert got["items"] == copies * 149
        counts = {row[0] for row in db.execute(RANGE + "SELECT cf_count(?1, x) FROM k", (blob, 0, 149))}
        assert counts == {min(copies, cap)}
        assert got["sticky"] == (149 if copies >= cap else 0)
    assert support.info(db, sums[-1])["occupied"] <= 149
    assert len({len(sum_) for sum_ in sums[cap - 1:]}) == 1
    assert delete_range(db, blob, 0, 149) == blob


@pytest.mark.parametrize("options", ["", "bucket_size=2", "bucket_size=8", "counter_bits=3"])
@pytest.mark.parametrize("n", [0, 5, 40, 300, 2500])
def test_merges_at_different_levels_both_ways(db, options, n):
    empty = support.new(db, 10, None, options)
    grown, other = add_range(db, empty, 0, 1000), add_range(db, empty, 5000, 5000 + n)
    rates = sum(support.info(db, blob)["fpr_now"] for blob in (grown, other))
    for first, second in ((grown, other), (other, grown)):
        for sql in ("SELECT cf_merge(?, ?)", "SELECT cf_merge(column1) FROM (VALUES (?), (?))"):
            blob = ask(db, sql, first, second)
            got = check(db, blob)
            assert got["items"] == 1000 + n
            assert lost(db, blob, 0, 1000) == lost(db, blob, 5000, 5000 + n) == 0
            assert got["fpr_now"] <= 1.0001 * rates  # nobody learns a bit by a merge: rates add up


def filters_of_twelve_sizes(db, capacity, options=None):
    empty = support.new(db, capacity, None, options)
    return [add_range(db, empty, 1000 * i, 1000 * i + 30 * i) for i in range(12)]


def merge_all(db, blobs):
    return ask(db, "SELECT cf_merge(value) FROM (SELECT column1 AS value FROM (VALUES "
               + ", ".join(["(?)"] * len(blobs)) + "))", *blobs)


def test_a_merge_of_many_that_have_grown_differently(db):
    blob = merge_all(db, filters_of_twelve_sizes(db, 100))
    for i in range(12):
        assert lost(db, blob, 1000 * i, 1000 * i + 30 * i) == 0
    left = blob
    for i in range(1, 12, 2):
        left = delete_range(db, left, 1000 * i, 1000 * i + 30 * i)
    check(db, left)
    assert sum(lost(db, left, 1000 * i, 1000 * i + 30 * i) for i in range(0, 12, 2)) == 0


@pytest.mark.parametrize("layout", ["plain", "semisort"])
def test_filters_that_grew_too_far_do_not_merge_without_bound(db, layout):
    """A twelfth of each is void: the sum is void all over, and splitting makes it hardly emptier. It either finds room
    within sixteen slots for every item, which takes the luck of the seed, or is full."""
    full = 0
    for seed in range(4):
        blobs = filters_of_twelve_sizes(db, 20, f"layout={layout} seed={seed}")
        try:
            sum_ = merge_all(db, blobs)
        except sqlite3.IntegrityError as error:
            assert "filters were merged that had grown far" in str(error)
            full += 1
            continue
        got = check(db, sum_)
        assert got["buckets"] * got["bucket_size"] <= 16 * (got["items"] + 1) + 16
        assert got["void"] >= 0.85 * got["occupied"]
        assert sum(lost(db, sum_, 1000 * i, 1000 * i + 30 * i) for i in range(12)) == 0
    assert full < 4


@pytest.mark.parametrize("bucket_size", [2, 4, 8])
def test_a_sticky_key_stays_one_when_filters_of_many_levels_are_merged(db, bucket_size):
    """Each holds the key as often as can be, in entries of another length: that must not fill its buckets."""
    empty = support.new(db, 10, None, f"fingerprint_bits=32 bucket_size={bucket_size}")
    cap = support.field(empty, "cap")
    blobs = [support.add(db, add_range(db, empty, 10**5 * i, 10**5 * i + n), *["k"] * cap)
             for i, n in enumerate((4000, 1500, 600, 200, 60, 0))]
    for order in (blobs, blobs[::-1]):
        blob = ask(db, "SELECT cf_merge(?, ?, ?, ?, ?, ?)", *order)
        assert support.count(db, blob, "k") >= cap
        assert check(db, blob)["load_items"] >= 0.5
        assert ask(db, "SELECT cf_delete(?, 'k')", blob) == blob


def test_deletes_after_a_merge_leave_the_others(db):
    empty = support.new(db, 10, None, "fingerprint_bits=8 bucket_size=4")
    for n, more in ((200, 3000), (3000, 200)):
        blob = ask(db, "SELECT cf_merge(?, ?)", add_range(db, empty, 0, n), add_range(db, empty, n, n + more))
        blob = delete_range(db, blob, n // 2, n + more // 2)
        check(db, blob)
        assert lost(db, blob, 0, n // 2) == lost(db, blob, n + more // 2, n + more) == 0


# ---- failures change nothing ----

def test_growth_off_is_full_as_ever(db):
    db.execute("CREATE TABLE filters(f)")
    db.execute("INSERT INTO filters SELECT cf_build(value, 0.01, 'growth=off') FROM json_each(?)",
               (json.dumps(list(range(100))),))
    before = ask(db, "SELECT f FROM filters")
    db.execute("BEGIN")
    message = fails(db, FULL, "UPDATE filters SET f = (SELECT cf_add_all(filters.f, value) FROM json_each(?))",
                    json.dumps(list(range(100, 1000))), says="filter is full: planned for 100 keys")
    assert "growth=on" in message and "nothing has changed" in message
    assert db.in_transaction and ask(db, "SELECT f FROM filters") == before
    db.execute("COMMIT")
    assert support.info(db, before)["level"] == support.info(db, before)["split"] == 0


@pytest.mark.parametrize("change", ["(SELECT cf_add_all(filters.f, x) FROM keys)",
                                    "cf_merge(f, (SELECT f FROM filters WHERE name = 'other'))",
                                    "(SELECT cf_merge(f) FROM filters)"])
def test_a_filter_that_may_not_become_longer_stays_as_it_is(db, change):
    blob, other = (add_range(db, support.new(db, 20), first, first + 500) for first in (0, 9000))
    db.execute("CREATE TABLE filters(name, f)")
    db.execute("INSERT INTO filters VALUES ('f', ?), ('other', ?)", (blob, other))
    db.execute("CREATE TABLE keys AS WITH RECURSIVE n(x) AS (SELECT 1000 UNION ALL SELECT x + 1 FROM n LIMIT 600) "
               "SELECT x FROM n")
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, len(blob) + 200)
    db.execute("BEGIN")
    message = fails(db, TOO_BIG, f"UPDATE filters SET f = {change} WHERE name = 'f'", says="SQLITE_LIMIT_LENGTH")
    assert "split the keys" in message and "nothing has changed" in message
    assert db.in_transaction
    db.execute("COMMIT")
    assert db.execute("SELECT f FROM filters").fetchall() == [(blob,), (other,)]


def test_adds_go_on_up_to_the_length_limit_and_no_further(db):
    blob = support.new(db, 10)
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1000)
    n = 0
    with pytest.raises(sqlite3.DataError, match="cf_add: filter is full.*SQLITE_LIMIT_LENGTH"):
        while True:
            blob = ask(db, "SELECT cf_add(?, ?)", blob, n)
            n += 1
    assert len(blob) <= 1000 and n > 300
    check(db, blob)
    assert lost(db, blob, 0, n) == 0
    assert support.contains(db, support.add(db, delete_range(db, blob, 0, 30), -1), -1) == 1


# ---- equal calls, equal bytes ----

@pytest.mark.parametrize("options", ["", "bucket_size=2", "bucket_size=8 seed=3", "counter_bits=2"])
def test_one_by_one_answers_as_all_at_once(db, options):
    empty = support.new(db, 10, None, options)
    blob = empty
    keys = [k * k % 611 for k in range(900)]
    for key in keys:
        blob = ask(db, "SELECT cf_add(?, ?)", blob, key)
    at_once = ask(db, "SELECT cf_add_all(?, value) FROM json_each(?)", empty, json.dumps(keys))
    assert at_once == ask(db, "SELECT cf_add_all(?, value) FROM json_each(?)", empty, json.dumps(keys))
    other = support.connect()
    assert at_once == ask(other, "SELECT cf_add_all(?, value) FROM json_each(?)", empty, json.dumps(keys))
    other.close()
    for either in (blob, at_once):
        assert ask(db, "SELECT cf_check(?)", either) == "ok"
        assert support.info(db, either)["items"] == len(keys)
        assert all(support.contains(db, either, key) for key in keys)


def test_a_journey_in_steps_gives_the_bytes_of_one_step(db):
    empty = support.new(db, 10)
    *_, (blob, n) = journey(db, empty, 5000)
    assert blob == add_range(db, empty, 0, n)


# ---- the error rate as it is now ----

@pytest.mark.parametrize("bits, options", [(8, "bucket_size=4"), (10, "bucket_size=4"), (8, "bucket_size=8"),
                                           (12, "bucket_size=2"), (9, "bucket_size=4 counter_bits=2"),
                                           (8, "bucket_size=4 growth=off")])
@pytest.mark.parametrize("n", [12, 40, 300, 1000, 4000])
def test_the_rate_now_is_the_measured_one(db, bits, options, n):
    capacity = n if "off" in options else 12
    blob = add_range(db, support.new(db, capacity, None, f"fingerprint_bits={bits} {options}"), 0, n)
    probes = 200_000
    expected = support.info(db, blob)["fpr_now"]
    found = probes - lost(db, blob, 10**9, 10**9 + probes)
    assert abs(found - probes * expected) <= 5 * math.sqrt(probes * expected) + 1


# ---- what the tables show ----

def key(i):
    """A key whose hash the tests can compute."""
    return b"%040d" % i


SHAPES = [(0, "bucket_size=4 fingerprint_bits=8", 30), (12, "bucket_size=4 fingerprint_bits=8", 700),
          (12, "bucket_size=2 fingerprint_bits=12", 900), (12, "bucket_size=8 fingerprint_bits=13", 1500),
          (40, "bucket_size=4 fingerprint_bits=16", 60), (12, "bucket_size=4 fingerprint_bits=32", 300)]


def filled(db, capacity, options, n):
    blob = support.new(db, capacity, None, options)
    db.execute("CREATE TEMP TABLE IF NOT EXISTS blobs(k)")
    db.execute("DELETE FROM blobs")
    db.executemany("INSERT INTO blobs VALUES (?)", [(key(i),) for i in range(n)])
    return ask(db, "SELECT cf_add_all(?, k) FROM blobs", blob)


@pytest.mark.parametrize("capacity, options, n", SHAPES)
def test_alternates_and_lengths(db, capacity, options, n):
    blob = filled(db, capacity, options, n)
    shape, voids = Shape(blob), 0
    assert set(shape.home) == {row[0] for row in db.execute("SELECT DISTINCT bucket FROM cf_buckets(?)", (blob,))}
    for bucket, fingerprint, alternate, length in db.execute(
            "SELECT bucket, fingerprint, alternate, length FROM cf_buckets(?) WHERE fingerprint IS NOT NULL", (blob,)):
        base, extension, known = shape.home[bucket]
        side = base, fingerprint, length - shape.s
        assert fingerprint >> length == 0
        assert fingerprint >> shape.s & low(known) == extension
        assert shape.s + known <= length <= known + shape.width(bucket) - shape.grown
        voids += shape.grown and length == shape.s + known
        other = shape.alternate(side)
        there, needed = shape.bucket(other)
        assert alternate == (there if other[2] >= needed else None)
        assert shape.alternate(other) == side
        assert shape.bucket(side) == (bucket, known)
    assert voids == support.info(db, blob)["void"]


@pytest.mark.parametrize("capacity, options, n", SHAPES)
def test_explanations_follow_from_the_hash(db, capacity, options, n):
    blob = filled(db, capacity, options, n)
    shape = Shape(blob)
    for i in range(0, 2 * n, max(1, n // 100)):
        base = shape.base_side(key_hash(key(i)))
        sides = {"base": base}
        if shape.bucket(shape.alternate(base)) != shape.bucket(base):
            sides["alternate"] = shape.alternate(base)
        matches = 0
        rows = db.execute("SELECT side, bucket, slot, fingerprint, wanted, match, length FROM cf_explain(?, ?)",
                          (blob, key(i))).fetchall()
        assert {row[0] for row in rows} == set(sides)
        for side, bucket, slot, fingerprint, wanted, match, length in rows:
            bits = sides[side][1]
            assert bucket == shape.bucket(sides[side])[0]
            assert wanted == bits & low(wanted.bit_length())
            assert wanted & low(shape.f) == bits & low(shape.f)
            assert match == (fingerprint is not None and fingerprint == bits & low(length))
            assert (fingerprint, length) == db.execute(
                "SELECT fingerprint, length FROM cf_buckets(?) WHERE bucket = ? AND slot = ?",
                (blob, bucket, slot)).fetchone()
            matches += match
        assert matches == support.count(db, blob, key(i))
        assert (matches > 0) == support.contains(db, blob, key(i))
        assert matches > 0 or i >= n


# ---- filters of before ----

# Written by the version that could not grow: keys, and the filter in hex. The first two are of format_vectors.h.
TEXTS, NUMBERS = "key{}".format, int
OLDER = [
    (TEXTS, 10,
     "cf636b0101040a06030a000001000000000004000000000000000000000000000000000000000a0000000000"
     "0a00000000000a000000000008000000cee9211baa560d000076707c220063b104000047dc1f1e0000000000"
     "00000000"),
    (TEXTS, 20,
     "cf636b0101020c08020c00000100000000001000000000000700000000000000000000000000140000000000"
     "14000000000014000000000008000000c28fa7f4000000047f2b619dba9c00008e9cb2ac679d9f3107e6d5da"
     "0000000000005008009e070037d8879501003f06008f0d000000000000000000"),
    (NUMBERS, 10,
     "cf636b0101080a06040a000001000000000002000000000000000000000000000000000000000a0000000000"
     "0a00000000000a000000000008000000856c8bde69bf1f01c1569b020000cf0ae101ab000000000000000000"
     "00000000"),
    (NUMBERS, 20,
     "cf636b0101080d06040d0000010000000000060000000000f9ffffffffffffff000000000000140000000000"
     "14000000000014000000000008000000878b63cf751ec84cd0d1a919ff0f00000080477c7428000000000000"
     "0000b830e0423b08040000000000004a130000000000000000000000790afb03000000000000000000de2c3d"
     "31315c000000000000000000000000000000"),
    (NUMBERS, 33,
     "cf636b0101080804040800000100000000000800000000000000000000000000000000000000210000000000"
     "2100000000002100000000000800000008c9e00f69efeb00000000001104000000000000bd6b000000000000"
     "e456a6781b000000e1dccf421e16ac00a4a311a80b5ad41582b12905000000003ce900000000000000000000"
     "00000000"),
]


@pytest.mark.parametrize("name, n, text", OLDER)
def test_filters_written_before_growth(db, name, n, text):
    old = bytes.fromhex(text)
    keys = [name(i) for i in range(4000)]
    assert ask(db, "SELECT cf_check(?)", old) == "ok"
    assert support.info(db, old)["growth"] == "on"
    blob = old
    for first in range(n, 4000, 995):
        blob = ask(db, "SELECT cf_add_all(?, value) FROM json_each(?)", blob, json.dumps(keys[first:first + 995]))
        got = check(db, blob)
        assert ask(db, "SELECT min(cf_contains(?, value)) FROM json_each(?)", blob,
                   json.dumps(keys[:first + 995])) == 1
    assert got["level"] >= 5
    blob = ask(db, "SELECT cf_merge(?, ?)", old, blob)
    assert ask(db, "SELECT min(cf_contains(?, value)) FROM json_each(?)", blob, json.dumps(keys)) == 1


# ---- keys that repeat ----

REPEATED = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < {}) "


def add_repeated(db, blob, keys, copies, rounds=False):
    """The keys 0 .. keys-1, so often each: all copies of one key after the other, or all keys in rounds."""
    key = f"i % {keys}" if rounds else f"i / {copies}"
    return ask(db, REPEATED.format(keys * copies) + f"SELECT cf_add_all(?, {key}) FROM n", blob)


@pytest.mark.parametrize("copies, keys, capacity, options", [
    (4, 3000, 3000, "seed=4"), (4, 3000, 3000, "seed=6"), (5, 6000, 10, "seed=1"), (8, 3000, 10, ""), (4, 6000, 100, "overflow=on"),
    (4, 6000, 100, "bucket_size=8"), (4, 6000, 100, "layout=semisort"), (4, 3000, 100, "bucket_size=2"),
    (40, 3000, 100, "counter_bits=4")])
@pytest.mark.parametrize("rounds", [False, True])
def test_keys_that_come_often_do_not_fill_it(db, copies, keys, capacity, options, rounds):
    """A filter that may grow never refuses a key because keys repeat. A key takes cap slots at most, and one from then on; in
    rounds the table has grown by then."""
    blob = add_repeated(db, support.new(db, capacity, 0.01, options), keys, copies, rounds)
    got = check(db, blob)
    assert got["items"] == keys * copies
    assert got["fpr_now"] < 0.03
    slots_each = 1 if "counter" in options or (copies >= got["cap"] and not rounds) else min(copies, got["cap"])
    assert got["buckets"] * got["bucket_size"] <= keys * slots_each * (2 if rounds else 1.5)
    assert lost(db, blob, 0, keys) == 0
    enough = min(copies, 16 if "counter" in options else got["cap"])
    assert ask(db, RANGE + "SELECT min(cf_count(?1, x)) FROM k", blob, 0, keys) >= enough


def test_a_key_at_cap_takes_one_slot_once_the_filter_has_grown(db):
    grown = add_range(db, support.new(db, 10, None, "bucket_size=4 fingerprint_bits=32"), 1, 1000)
    cap, before = support.info(db, grown)["cap"], support.info(db, grown)["occupied"]
    for copies in range(1, 3 * cap):
        blob = support.add(db, grown, *["k"] * copies)
        got = support.info(db, blob)
        assert got["occupied"] - before == (copies if copies < cap else 1)
        assert got["sticky"] == (copies >= cap)
        rows = db.execute("SELECT copies FROM cf_explain(?, 'k') WHERE match", (blob,)).fetchall()
        assert rows == ([(1,)] * copies if copies < cap else [(cap,)])


@pytest.mark.parametrize("capacity, options", [(10, ""), (1000, "seed=3"), (10, "bucket_size=8 seed=1")])
def test_keys_that_come_twice_are_counted_and_deleted_exactly(db, capacity, options):
    """A table that grows is not so crowded by them that entries become sticky before cap."""
    blob = add_repeated(db, support.new(db, capacity, None, f"fingerprint_bits=24 {options}"), 3000, 2)
    assert support.info(db, blob)["sticky"] == 0
    assert ask(db, RANGE + "SELECT sum(cf_count(?1, x) = 2) FROM k", blob, 0, 3000) >= 2998  # some may share a fingerprint
    once = delete_range(db, blob, 0, 3000)
    assert lost(db, once, 0, 3000) == 0
    gone = delete_range(db, once, 0, 3000)
    assert support.info(db, gone)["occupied"] == support.info(db, gone)["items"] == 0


@pytest.mark.parametrize("options", ["bucket_size=4", "bucket_size=8", "bucket_size=4 overflow=on",
                                     "bucket_size=4 counter_bits=2"])
def test_keys_of_one_pair_that_repeat_are_taken_all_the_same(db, options):
    """Splitting does not part these, so they have to share slots before cap; each is found, and none is deleted too early."""
    blob = support.new(db, 8, None, f"fingerprint_bits=24 growth=on {options}")
    assert all_in_one_pair(db, blob, AIMED)
    slots = 2 * support.info(db, blob)["bucket_size"]
    true = {}
    for key in AIMED[:slots]:
        for copies in (1, 2):
            blob, true[key] = support.add(db, blob, key), copies
            assert check(db, blob)
            assert all(support.count(db, blob, k) >= n for k, n in true.items())
    for key in AIMED[:slots // 2]:
        for _ in range(2):
            blob = ask(db, "SELECT cf_delete(?, ?)", blob, key)
    assert check(db, blob)
    assert all(support.count(db, blob, k) >= 2 for k in AIMED[slots // 2:slots])


def all_in_one_pair(db, blob, keys):
    pairs = {frozenset(row[0] for row in db.execute("SELECT bucket FROM cf_explain(?, ?)", (blob, key))) for key in keys}
    return len(pairs) == 1


@pytest.mark.parametrize("options", ["layout=plain", "layout=semisort", "value_bits=3", "counter_bits=2"])
def test_large_tables_are_prepared_for_growth(db, options):
    """By the second reader of the format: buckets of both forms, before the first split."""
    blob, n, seen = support.new(db, 8000, None, f"bucket_size=4 fingerprint_bits=12 {options}"), 0, 0
    while not Shape(blob).grown:
        step = 20 if n >= 8000 else 8000
        values = ", i % 8" if "value_bits" in options else ""
        blob = ask(db, f"SELECT cf_add_all(?1, i{values}) FROM (SELECT value AS i FROM json_each(?2))", blob,
                   json.dumps(list(range(n, n + step))))
        n += step
        table = Table(blob)
        if not table.prepared:
            continue
        seen += 1
        assert ask(db, "SELECT cf_check(?)", blob) == "ok"
        assert len(blob) == 64 + (table.table_bits + 7) // 8 + support.field(blob, "reserved")
        for bucket, slot, fingerprint in db.execute(
                "SELECT bucket, slot, fingerprint FROM cf_buckets(?) WHERE bucket % 7 = 0", (blob,)):
            tag = table.tags(bucket)[slot]
            assert fingerprint == (table.side(bucket, tag)[1] if tag else None)
    assert seen > 0
