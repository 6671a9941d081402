# SPDX-License-Identifier: MIT
"""counter_bits=c: 2^c copies counted in one slot, so that keys may come and go as often as they like."""
import json
import random

import pytest

import support
from support import BAD_PARAMETER, MISMATCH, ask, fails


def add_all(db, blob, keys):
    return ask(db, "SELECT cf_add_all(?, value) FROM json_each(?)", blob, json.dumps(list(keys)))


def delete_all(db, blob, keys):
    keys = list(keys) or [None]
    return ask(db, "SELECT cf_delete_all(?, value) FROM json_each(?)", blob, json.dumps(keys))


# ---- counting and saturation ----

@pytest.mark.parametrize("growth", ["on", "off"])
@pytest.mark.parametrize("bucket_size", [2, 4, 8])
@pytest.mark.parametrize("bits", [1, 2, 5])
def test_every_number_of_copies_up_to_the_most(db, bucket_size, bits, growth):
    options = f"bucket_size={bucket_size} counter_bits={bits} fingerprint_bits=32 growth={growth}"
    blob, limit = support.new(db, 10, None, options), 1 << bits
    for copies in range(1, limit + 1):
        blob = support.add(db, blob, "k")
        assert support.count(db, blob, "k") == copies
        assert support.info(db, blob)["occupied"] == 1
        assert support.info(db, blob)["sticky"] == (copies == limit)
    stuck = blob
    assert support.count(db, add_all(db, stuck, ["k"] * 5), "k") == limit
    assert support.count(db, delete_all(db, stuck, ["k"] * 5), "k") == limit
    blob = delete_all(db, add_all(db, support.new(db, 10, None, options), ["k"] * (limit - 1)), ["k"] * (limit - 1))
    assert blob == support.new(db, 10, None, options)


def test_sixteen_bits(db):
    rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 70000) "
    add = rows + "SELECT cf_add_all(cf_new(10, 0.01, 'counter_bits=16 bucket_size=4'), 'k') FROM n WHERE i <= ?"
    blob = ask(db, add, 65535)
    assert support.count(db, blob, "k") == 65535
    blob = ask(db, rows + "SELECT cf_delete_all(?, 'k') FROM n WHERE i <= 65534", blob)
    assert support.count(db, blob, "k") == 1
    assert support.contains(db, ask(db, "SELECT cf_delete(?, 'k')", blob), "k") == 0
    stuck = ask(db, add, 70000)
    assert support.count(db, stuck, "k") == 65536
    assert ask(db, "SELECT cf_delete(?, 'k')", stuck) == stuck


def test_the_counter_is_the_payload(db):
    blob = add_all(db, support.new(db, 10, None, "counter_bits=4"), ["k"] * 5 + ["x"])
    assert db.execute("SELECT payload FROM cf_explain(?, 'k') WHERE match", (blob,)).fetchall() == [(4,)]
    assert db.execute("SELECT payload FROM cf_buckets(?) WHERE fingerprint IS NOT NULL ORDER BY 1",
                      (blob,)).fetchall() == [(0,), (4,)]
    assert ask(db, "SELECT count(payload) FROM cf_buckets(?) WHERE fingerprint IS NULL", blob) == 0


def test_a_full_filter_that_does_not_grow_still_counts(db):
    blob = support.new(db, 2, None, "bucket_size=2 fingerprint_bits=32 growth=off counter_bits=4")
    blob = add_all(db, blob, ["a"] * 9 + ["b"] * 9)
    assert [support.count(db, blob, k) for k in "ab"] == [9, 9]
    assert support.info(db, blob)["items"] == 18


# ---- building ----

def test_a_build_counts_with_counters_and_not_without(db):
    keys = [1] * 7 + [2] * 3 + [3]
    counted, plain = support.build(db, keys, None, "counter_bits=4"), support.build(db, keys)
    assert [support.count(db, counted, k) for k in (1, 2, 3, 4)] == [7, 3, 1, 0]
    assert [support.count(db, plain, k) for k in (1, 2, 3, 4)] == [1, 1, 1, 0]
    assert (support.info(db, counted)["items"], support.info(db, plain)["items"]) == (11, 3)
    assert support.info(db, counted)["capacity"] == 3


def test_the_bytes_of_a_counting_build_depend_on_the_multiset_alone(db, rng):
    for n in (3, 40, 700):
        keys = [rng.randrange(n) for _ in range(3 * n)]
        expected = support.build(db, keys, None, "counter_bits=3")
        for _ in range(4):
            rng.shuffle(keys)
            assert support.build(db, keys, None, "counter_bits=3") == expected


def test_a_build_of_many_copies(db):
    built = ask(db, """WITH RECURSIVE r(x) AS (VALUES (0) UNION ALL SELECT x + 1 FROM r WHERE x < 19999)
                       SELECT cf_build(x % 97, 0.01, 'counter_bits=8') FROM r""")
    got = support.info(db, built)
    assert (got["items"], got["capacity"]) == (20000, 97)
    assert all(support.count(db, built, k) >= 206 for k in range(97))


# ---- in step with a table ----

KEYS, ROWS, BATCH = 10_000, 1_000_000, 50_000


def test_a_million_rows_that_come_and_go(db):
    """A table of rows with 10,000 distinct keys, kept in step in batches. In the end few keys have rows left."""
    random_ = random.Random(1)
    db.execute("CREATE TABLE filters(f)")
    db.execute("INSERT INTO filters VALUES (cf_new(?, 0.01, 'counter_bits=8'))", (KEYS // 4,))
    db.execute("CREATE TABLE t(k INTEGER)")
    done = 0
    while done < ROWS // 2:
        first = random_.randrange(KEYS)
        db.execute("CREATE TEMP TABLE batch AS WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n LIMIT ?) "
                   "SELECT (? + i * 7919 + i / 10000) % ? AS k FROM n", (BATCH, first, KEYS))
        db.execute("INSERT INTO t SELECT k FROM batch")
        db.execute("UPDATE filters SET f = (SELECT cf_add_all(filters.f, k) FROM batch)")
        db.execute("DROP TABLE batch")
        done += BATCH
    for part in range(10):
        db.execute("CREATE TEMP TABLE batch AS SELECT rowid AS id, k FROM t WHERE k % 10 <> 3 AND rowid % 10 = ?", (part,))
        db.execute("UPDATE filters SET f = (SELECT cf_delete_all(filters.f, k) FROM batch)")
        db.execute("DELETE FROM t WHERE rowid IN (SELECT id FROM batch)")
        db.execute("DROP TABLE batch")
    in_step(db)


def in_step(db):
    """Every key of the table is found; of the others hardly any."""
    blob = ask(db, "SELECT f FROM filters")
    assert ask(db, "SELECT cf_check(?)", blob) == "ok"
    keys = "(WITH RECURSIVE n(k) AS (SELECT 0 UNION ALL SELECT k + 1 FROM n LIMIT 10000) SELECT k FROM n)"
    assert ask(db, f"SELECT count(*) FROM {keys} WHERE k IN (SELECT k FROM t) AND NOT cf_contains(?, k)", blob) == 0
    gone = ask(db, f"SELECT count(*) FROM {keys} WHERE k NOT IN (SELECT k FROM t)")
    found = ask(db, f"SELECT count(*) FROM {keys} WHERE k NOT IN (SELECT k FROM t) AND cf_contains(?, k)", blob)
    assert gone >= 8000
    assert found <= 3 * max(support.info(db, blob)["fpr_now"], 0.01) * gone
    assert ask(db, "SELECT count(*) FROM (SELECT k, count(*) AS n FROM t GROUP BY k) WHERE cf_count(?, k) < n", blob) == 0


# ---- merging ----

def test_counts_add_up_in_a_merge(db):
    options = "counter_bits=3 fingerprint_bits=32 bucket_size=4"
    empty, limit = support.new(db, 20, None, options), 8
    for a in range(limit + 1):
        for b in (0, 1, 4, limit - 1, limit):
            one, two = add_all(db, empty, ["k"] * a + [1]), add_all(db, empty, ["k"] * b + [2, 2])
            blob = ask(db, "SELECT cf_merge(?, ?)", one, two)
            assert support.count(db, blob, "k") == min(a + b, limit)
            assert [support.count(db, blob, k) for k in (1, 2)] == [1, 2]
            assert ask(db, "SELECT cf_check(?)", blob) == "ok"
            if a + b < limit:
                assert support.contains(db, delete_all(db, blob, ["k"] * (a + b)), "k") == 0


def test_a_mismatch_names_counter_bits(db):
    blobs = [support.new(db, 100, None, f"fingerprint_bits=12 bucket_size=4 counter_bits={c}") for c in (0, 3, 4)]
    for one, other in ((0, 1), (1, 2), (2, 0)):
        fails(db, MISMATCH, "SELECT cf_merge(?, ?)", blobs[one], blobs[other], says="differ in counter_bits")


# ---- errors ----

def test_a_filter_with_counters_keeps_no_values(db):
    blob = support.new(db, 10, None, "counter_bits=4")
    for call in ("cf_add(?, 1, 2)", "cf_delete(?, 1, 2)", "cf_add_all(?, 1, 2)", "cf_delete_all(?, 1, 2)",
                 "cf_get(?, 1)", "cf_get(?, NULL)"):
        fails(db, BAD_PARAMETER, f"SELECT {call}", blob, says="filter keeps no values")


def test_what_cf_info_says_of_counters(db):
    planned, built = (support.plan(db, 100, 0.01, o) for o in ("counter_bits=5", ""))
    assert (planned["counter_bits"], built["counter_bits"], planned["value_bits"]) == (5, 0, 0)
    slots = planned["buckets"] * planned["bucket_size"]
    assert planned["bytes"] == 72 + (slots * (planned["slot_bits"] + 5) + 7) // 8
