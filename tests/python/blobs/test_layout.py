# SPDX-License-Identifier: MIT
"""layout=plain and layout=semisort: two ways to write the same buckets down, of which one is 4 bits shorter.

test_layout_model.py has their histories. Keys and seeds are fixed unless a test takes `rng`.
"""
import collections
import itertools
import json
import math

import pytest

import support
from layout import Table
from support import BAD_PARAMETER, SEMISORTED, add_all, ask, delete_all, fails

LAYOUTS = ["plain", "semisort"]
SHAPES = ["fingerprint_bits=5 growth=off", "fingerprint_bits=8 growth=off", "fingerprint_bits=9", "fingerprint_bits=12",
          "fingerprint_bits=16 growth=off", "fingerprint_bits=17", "fingerprint_bits=32", "fingerprint_bits=32 growth=off",
          "fingerprint_bits=10 counter_bits=3", "fingerprint_bits=10 counter_bits=16 growth=off",
          "fingerprint_bits=8 overflow=on overflow_budget=0", "fingerprint_bits=11 counter_bits=3 overflow=on"]
KEYS = "WITH RECURSIVE k(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM k LIMIT {}) "


def both(db, capacity, options, fpr=None):
    """A plain filter and a semi-sorted one of equal shape."""
    return [support.new(db, capacity, fpr, f"bucket_size=4 layout={layout} {options}") for layout in LAYOUTS]


def answers(db, blob, keys):
    """What it says of each key: whether it is there, and how often."""
    return db.execute("SELECT cf_contains(?1, value), cf_count(?1, value) FROM json_each(?2)",
                      (blob, json.dumps(list(keys)))).fetchall()


# ---- equal answers ----

@pytest.mark.parametrize("n", [3, 40, 700, 5000])
@pytest.mark.parametrize("shape", SHAPES)
def test_both_layouts_answer_alike(db, rng, shape, n):
    """For every key: present, deleted and absent, with all false positives, as long as they have not grown. Counters
    are so large that two keys that look alike never fill one: whether those meet in one bucket depends on the layout."""
    plain, sorted_ = both(db, n, shape)
    keys = rng.sample(range(2 * n), n - n // 10)
    keys += keys[:n // 20]
    gone = rng.sample(keys, n // 3)
    for change, some in ((add_all, keys), (delete_all, gone), (add_all, gone[::2])):
        plain, sorted_ = change(db, plain, some), change(db, sorted_, some)
        assert answers(db, plain, range(10 * n)) == answers(db, sorted_, range(10 * n))
        one, other = (support.info(db, blob) for blob in (plain, sorted_))
        for name in ("buckets", "items", "sticky", "void", "slot_bits", "fpr_now", "fpr_at_capacity"):
            assert one[name] == other[name], name
        # Of entries that are equal but for their counters, another one may be the first, and lose a copy.
        assert "counter" in shape or one["occupied"] + one["spilled"] == other["occupied"] + other["spilled"]
        assert [ask(db, "SELECT cf_check(?)", blob) for blob in (plain, sorted_)] == ["ok", "ok"]


@pytest.mark.parametrize("options", ["", "counter_bits=2", "overflow=on", "overflow=on overflow_budget=0 spill_bound=1"])
def test_grown_filters_of_both_layouts_hold_the_same_keys(db, options):
    """Where an entry lies decides when a search finds no path, so they need not grow at the same key, and what they
    answer for absent ones may differ; the rates at which they err do not."""
    for blobs in ([add_all(db, blob, range(1, n)) for blob in both(db, 20, options, 0.01)] for n in (30, 300, 9000)):
        one, other = (support.info(db, blob) for blob in blobs)
        assert one["items"] == other["items"]
        assert one["fpr_now"] == pytest.approx(other["fpr_now"], rel=0.1)
        assert one["load"] == pytest.approx(other["load"], abs=0.05)
        for blob in blobs:
            assert ask(db, KEYS.format(one["items"]) + "SELECT count(*) FROM k WHERE NOT cf_contains(?, x)", blob) == 0


@pytest.mark.parametrize("options", ["growth=off", "growth=off value_bits=7", "value_bits=32 growth=off overflow=on"])
def test_values_come_back_from_both_layouts(db, rng, options):
    pairs = json.dumps([(key, rng.randrange(128)) for key in range(500)])
    fill = "SELECT cf_add_all(?, json_extract(value, '$[0]'){}) FROM json_each(?)"
    fill = fill.format(", json_extract(value, '$[1]')" if "value" in options else "")
    plain, sorted_ = (ask(db, fill, blob, pairs) for blob in both(db, 500, f"{options} fingerprint_bits=12"))
    seen = ("SELECT value, fingerprint, length, payload FROM json_each(?2), cf_explain(?1, value) WHERE match "
            "ORDER BY 1, 2, 3, 4")
    keys = json.dumps(list(range(900)))
    assert db.execute(seen, (plain, keys)).fetchall() == db.execute(seen, (sorted_, keys)).fetchall()


# ---- the bytes ----

@pytest.mark.parametrize("shape", SHAPES)
def test_semi_sorted_buckets_are_4_bits_shorter(db, shape):
    for n in (1, 10, 77, 1000, 12345):
        plain, sorted_ = both(db, n, shape)
        one, other = (support.info(db, blob) for blob in (plain, sorted_))
        assert (one["layout"], other["layout"]) == ("plain", "semisort")
        assert one["buckets"] == other["buckets"]
        spare = 8 + support.SPILLED_ENTRY * support.field(plain, "spill_bound")
        bits = one["buckets"] * Table(plain).record_bits
        assert len(plain) == support.HEADER + (bits + 7) // 8 + spare
        assert len(sorted_) == support.HEADER + (bits - 4 * one["buckets"] + 7) // 8 + spare
        assert one["bytes"] == len(plain) and other["bytes"] == len(sorted_)


@pytest.mark.parametrize("n", [12, 33, 60, 700])
@pytest.mark.parametrize("options", [
    "fingerprint_bits=5 growth=off", "fingerprint_bits=8", "fingerprint_bits=16", "fingerprint_bits=32",
    "fingerprint_bits=9 counter_bits=2", "fingerprint_bits=10 overflow=on overflow_budget=0",
    "fingerprint_bits=32 counter_bits=3 overflow=on overflow_budget=1 spill_bound=50"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_rows_are_the_bits_of_the_blob(db, layout, options, n):
    """By a second reader of the format: before growth and after."""
    capacity = n if "growth=off" in options else 30
    blob = add_all(db, support.new(db, capacity, None, f"bucket_size=4 layout={layout} {options}"), range(n))
    table = Table(blob)
    records, reserved = (table.table_bits + 7) // 8, support.field(blob, "reserved")
    assert len(blob) == 64 + records + reserved + 16 * table.bound
    cap = support.field(blob, "cap")
    for bucket, slot, fingerprint, length, overflow, payload, copies in db.execute(
            "SELECT bucket, slot, fingerprint, length, overflow, payload, copies FROM cf_buckets(?)", (blob,)):
        tag = table.tags(bucket)[slot]
        _, bits, known = table.side(bucket, tag)
        assert (fingerprint, length) == ((bits, table.s + known) if tag else (None, None))
        assert overflow == table.overflow(bucket)
        assert (payload or 0) == (table.payload(bucket, slot) if table.payload_bits else 0)
        assert (copies or 0) == table.copies(bucket, slot, cap)


def test_slots_are_sorted_by_nibble_then_top_then_payload(db):
    empty = support.new(db, 300, None, "layout=semisort fingerprint_bits=5 growth=off value_bits=3")
    blob = ask(db, "SELECT cf_add_all(?, value, value * value % 8) FROM json_each(?)", empty,
               json.dumps(list(range(280))))
    table, ties = Table(blob), 0
    for bucket in range(table.m0):
        slots = [(tag & 15, tag >> 4, table.payload(bucket, i)) for i, tag in enumerate(table.tags(bucket))]
        assert slots == sorted(slots)
        ties += any(a[:2] == b[:2] != (0, 0) and a[2] != b[2] for a, b in itertools.pairwise(slots))
    assert ties > 0


def test_equal_contents_are_equal_bytes(db):
    """Keys that all lie in their base bucket, in any order, and with others that came and went."""
    empty = support.new(db, 400, None, "layout=semisort fingerprint_bits=16")
    keys = list(range(30))
    blob = add_all(db, empty, keys)
    assert all(sum(tag != 0 for tag in Table(blob).tags(bucket)) < 4 for bucket in range(Table(blob).m0))
    assert add_all(db, empty, keys[::-1]) == blob
    assert add_all(db, delete_all(db, add_all(db, empty, keys[::2] + [100]), [100]), keys[1::2]) == blob


@pytest.mark.parametrize("options", ["", "layout=plain", "layout=semisort", "layout=semisort growth=off counter_bits=2",
                                     "layout=semisort overflow=on overflow_budget=0", "overflow=on spill_bound=1"])
def test_a_build_depends_on_the_keys_alone(db, rng, options):
    for n in (1, 50, 3000):
        keys = [rng.randrange(10**9) for _ in range(n)]
        keys += keys[:n // 5]
        expected = support.build(db, keys, None, options)
        other = support.connect()
        for connection in (db, other, db):
            rng.shuffle(keys)
            assert support.build(connection, keys, None, options) == expected
        other.close()


@pytest.mark.parametrize("options", ["layout=semisort", "layout=semisort counter_bits=2", "layout=semisort seed=9"])
def test_one_by_one_holds_what_all_at_once_holds(db, options):
    """Entries lie elsewhere, and so do those that two keys share: neither holds less than what was added."""
    empty, keys = support.new(db, 60, None, options), [k * k % 409 for k in range(600)]
    blob, at_once = support.add(db, empty, *keys), add_all(db, empty, keys)
    assert at_once == add_all(db, empty, keys)
    for key in keys[::3]:
        blob = ask(db, "SELECT cf_delete(?, ?)", blob, key)
    left = collections.Counter(keys) - collections.Counter(keys[::3])
    for either in (blob, delete_all(db, at_once, keys[::3])):
        assert ask(db, "SELECT cf_check(?)", either) == "ok"
        cap = support.info(db, either)["cap"]
        assert all(support.count(db, either, key) >= min(copies, cap) for key, copies in left.items())


# ---- the planner ----

@pytest.mark.parametrize("options", ["", "growth=off", "bucket_size=4", "bucket_size=4 growth=off", "counter_bits=4",
                                     "value_bits=9 growth=off", "overflow=on", "overflow=on spill_bound=4096 growth=off"])
def test_auto_is_one_of_both_and_the_smaller_one(db, options):
    """Or up to a twelfth larger, and then with little more than half the error rate; or with long fingerprints
    plain, and at most 3 % larger: then it is faster."""
    for n in [*range(1, 40), 100, 1000, 12345, 10**6, 10**9]:
        for fpr in (0.5, 0.1, 0.03, 0.01, 1e-3, 1e-6):
            auto, *plans = (support.plan(db, n, fpr, f"{options} layout={name}") for name in ("auto", *LAYOUTS))
            assert [plan["layout"] for plan in plans] == LAYOUTS
            assert auto in plans
            for plan in plans:
                bytes_, rate = (auto[name] / plan[name] for name in ("bytes", "fpr_at_capacity"))
                longer = auto["layout"] == "plain" and auto["fingerprint_bits"] >= 17 and bytes_ <= 1.03
                assert bytes_ <= 1 or (bytes_ <= 13 / 12 and rate <= 0.6) or longer, (n, fpr)


def test_a_large_filter_is_semi_sorted_by_itself_and_a_bit_per_key_shorter(db):
    auto, plain = support.plan(db, 10**6), support.plan(db, 10**6, None, "layout=plain")
    assert auto["layout"] == "semisort" and auto["fpr_at_capacity"] <= 0.01
    assert plain["bits_per_key"] - auto["bits_per_key"] == pytest.approx(1.03, abs=0.03)


@pytest.mark.parametrize("options", ["bucket_size=2", "bucket_size=8", "bucket_size=1 growth=off",
                                     "fingerprint_bits=4 growth=off", "bucket_size=4 fingerprint_bits=4 growth=off"])
@pytest.mark.parametrize("call", ["cf_new(10, NULL, ?)", "cf_plan(10, NULL, ?)", "cf_build(1, NULL, ?)"])
def test_semisort_where_it_cannot_be_is_an_error_with_the_remedy(db, call, options):
    fails(db, BAD_PARAMETER, f"SELECT {call}", f"layout=semisort {options}",
          says="layout=semisort needs bucket_size=4 and fingerprint_bits of 5 or more")
    assert ask(db, f"SELECT {call}", f"layout=auto {options}") == ask(db, f"SELECT {call}", f"layout=plain {options}")


# ---- the rate that was promised ----

RATED = ["", "growth=off", "overflow=on", "overflow=on overflow_budget=0 spill_bound=1000 growth=off"]
PROBES = 200_000


@pytest.mark.parametrize("options", RATED)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("n, fpr", [(100, 0.1), (1000, 0.03), (1000, 0.01), (20000, 0.01), (20000, 0.001)])
def test_the_rate_that_was_promised_is_kept_at_capacity(db, n, fpr, layout, options):
    blob = add_all(db, support.new(db, n, fpr, f"layout={layout} {options}"), range(n - n // 10))
    blob = support.add(db, blob, *range(n - n // 10, n))
    assert support.info(db, blob)["spilled"] > 0 or "budget=0" not in options or n < 1000
    absent = KEYS.format(PROBES) + "SELECT sum(cf_contains(?, -x)) FROM k"
    found, said = ask(db, absent, blob), support.info(db, blob)["fpr_now"]
    assert found <= PROBES * fpr + 3 * math.sqrt(PROBES * fpr)
    assert abs(found - PROBES * said) <= 3 * math.sqrt(PROBES * said)


# ---- merging ----

@pytest.mark.parametrize("options", ["growth=off", "", "counter_bits=3", "overflow=on", "overflow=on overflow_budget=0"])
def test_the_layout_of_a_sum_is_that_of_the_first(db, options):
    one, other = both(db, 400, f"fingerprint_bits=32 {options}")
    filled = {layout: (add_all(db, blob, range(180)), add_all(db, blob, range(120, 300)))
              for layout, blob in zip(LAYOUTS, (one, other))}
    for layout, second in itertools.product(LAYOUTS, LAYOUTS):
        for sql in ("SELECT cf_merge(?, ?)", "SELECT cf_merge(column1) FROM (VALUES (?), (?))"):
            blob = ask(db, sql, filled[layout][0], filled[second][1])
            assert support.info(db, blob)["layout"] == layout
            assert ask(db, "SELECT cf_check(?)", blob) == "ok"
            assert [n for _, n in answers(db, blob, range(310))] == [1] * 120 + [2] * 60 + [1] * 120 + [0] * 10
            assert blob == ask(db, sql, filled[layout][0], filled[second][1])


def test_grown_filters_of_both_layouts_merge(db):
    one, other = both(db, 10, "")
    for n, more in ((2000, 50), (50, 2000), (700, 900)):
        for first, second in ((one, other), (other, one)):
            filled = add_all(db, first, range(n)), add_all(db, second, range(n, n + more))
            sum_ = ask(db, "SELECT cf_merge(?, ?)", *filled)
            assert support.info(db, sum_)["items"] == n + more
            assert all(there for there, _ in answers(db, sum_, range(n + more)))
            assert ask(db, "SELECT cf_clear(?)", sum_) == first


def test_a_filter_of_either_layout_says_so_and_stays_so(db):
    for flag, blob in zip((0, SEMISORTED), both(db, 20, "")):
        layout = support.info(db, blob)["layout"]
        for changed in (blob, add_all(db, blob, range(500)), ask(db, "SELECT cf_clear(?)", blob)):
            assert support.field(changed, "flags") & SEMISORTED == flag
            assert support.info(db, changed)["layout"] == layout
