# SPDX-License-Identifier: MIT
"""cf_merge: the multiset sum of filters of one shape, as a function and as an aggregate."""
import json

import pytest

import support
from support import BAD_BLOB, BAD_PARAMETER, FULL, MISMATCH, ask, fails

OPTIONS = "fingerprint_bits=32 bucket_size=4 capacity=200"  # cap 3; no two keys alike


def of(db, keys, options=OPTIONS):
    """A filter of these keys, each as often as it stands there."""
    empty = ask(db, "SELECT cf_clear(cf_build(0, NULL, ?))", options)
    return ask(db, "SELECT cf_add_all(?, value) FROM json_each(?)", empty, json.dumps(list(keys)))


def merge(db, *blobs):
    return ask(db, f"SELECT cf_merge({', '.join('?' * len(blobs))})", *blobs)


def merge_rows(db, *blobs):
    return ask(db, "SELECT cf_merge(column1) FROM (VALUES " + ", ".join(["(?)"] * len(blobs)) + ")", *blobs)


BOTH = pytest.mark.parametrize("merged", [merge, merge_rows])


def copies(db, blob, keys):
    return [support.count(db, blob, key) for key in keys]


# ---- the sum ----

@BOTH
def test_the_sum_answers_for_all_keys(db, merged):
    blob = merged(db, of(db, range(50)), of(db, range(40, 90)))
    assert copies(db, blob, range(90)) == [1] * 40 + [2] * 10 + [1] * 40
    assert copies(db, blob, range(90, 200)) == [0] * 110
    assert ask(db, "SELECT cf_check(?)", blob) == "ok"
    got = support.info(db, blob)
    assert (got["items"], got["occupied"], got["capacity"]) == (100, 100, 200)


@BOTH
def test_many_filters_at_once(db, merged):
    blobs = [of(db, range(10 * i, 10 * i + 10)) for i in range(15)]
    blob = merged(db, *blobs)
    assert copies(db, blob, range(150)) == [1] * 150
    assert support.info(db, blob)["items"] == 150


@BOTH
def test_one_filter_is_its_own_sum(db, merged):
    blob = of(db, [1, 1, 2])
    assert merged(db, blob) == blob


@BOTH
def test_an_empty_filter_adds_nothing(db, merged):
    blob, empty = of(db, range(20)), of(db, [None])
    assert merged(db, blob, empty) == blob
    assert copies(db, merged(db, empty, blob), range(20)) == [1] * 20


def test_function_and_aggregate_agree(db):
    blobs = [of(db, range(i, 60, 3)) for i in range(3)]
    assert merge(db, *blobs) == merge_rows(db, *blobs)


@BOTH
def test_copies_add_up_to_cap_and_then_stick(db, merged):
    one, two, three = of(db, ["k"]), of(db, ["k", "k"]), of(db, ["k"] * 3)
    assert copies(db, merged(db, one, one), ["k"]) == [2]
    for blobs in ([one, two], [two, two], [three, one], [one, three], [three, three], [one] * 7):
        blob = merged(db, *blobs)
        assert copies(db, blob, ["k"]) == [3]
        assert support.info(db, blob)["sticky"] == 1
        assert ask(db, "SELECT cf_delete(?, 'k')", blob) == blob
        assert ask(db, "SELECT cf_check(?)", blob) == "ok"


@BOTH
def test_a_key_sticky_in_one_is_sticky_in_the_sum(db, merged):
    """Of its copies nobody knows the number: not one may be taken away after the merge."""
    blob = merged(db, of(db, range(30)), of(db, [5] * 10))
    blob = ask(db, "SELECT cf_delete_all(?, value) FROM json_each(?)", blob, json.dumps([5] * 10))
    assert copies(db, blob, [5]) == [3]


@BOTH
def test_deletes_after_a_merge_are_safe(db, merged):
    """Keys of both filters are deleted once, as if one of the two sources lost them, and are still found."""
    blob = merged(db, of(db, range(50)), of(db, range(40, 90)))
    blob = ask(db, "SELECT cf_delete_all(?, value) FROM json_each(?)", blob, json.dumps(list(range(50))))
    assert copies(db, blob, range(90)) == [0] * 40 + [1] * 50
    blob = ask(db, "SELECT cf_delete_all(?, value) FROM json_each(?)", blob, json.dumps(list(range(40, 90))))
    assert support.info(db, blob)["items"] == 0
    assert blob == ask(db, "SELECT cf_clear(?)", blob)


@pytest.mark.parametrize("bits", [4, 6, 8])
@pytest.mark.parametrize("bucket_size", [2, 4, 8])
def test_a_sum_of_colliding_fingerprints_equals_the_adds(db, bits, bucket_size):
    """Keys cannot be told apart any more, but entries are: merging equals adding, for every answer."""
    empty = support.make_blob(128, bucket_size, bits)
    left, right = list(range(25)), list(range(20, 45))
    fill = "SELECT cf_add_all(?, value) FROM json_each(?)"
    merged = merge(db, ask(db, fill, empty, json.dumps(left)), ask(db, fill, empty, json.dumps(right)))
    added = ask(db, fill, empty, json.dumps(left + right))
    assert copies(db, merged, range(300)) == copies(db, added, range(300))
    assert support.info(db, merged)["items"] == support.info(db, added)["items"]


@BOTH
def test_handles_and_blobs_may_be_mixed(db, merged):
    a, b = of(db, [1]), of(db, [2])
    assert ask(db, "SELECT cf_merge(cf_open(?), ?)", a, b) == merged(db, a, b)
    assert ask(db, "SELECT cf_merge(?, cf_open(?))", a, b) == merged(db, a, b)


# ---- parts and totals ----

def test_a_filter_per_partition_and_their_total(db):
    db.execute("CREATE TABLE events(day, k)")
    db.executemany("INSERT INTO events VALUES (?, ?)", [(k % 7, k) for k in range(200)])
    db.execute("CREATE TABLE days(day PRIMARY KEY, f)")
    db.execute("INSERT INTO days SELECT day, cf_build(k, 0.001, 'capacity=200') FROM events GROUP BY day")
    total = ask(db, "SELECT cf_merge(f) FROM days")
    assert ask(db, "SELECT count(*) FROM events WHERE NOT cf_contains(?, k)", total) == 0
    assert support.info(db, total)["items"] == 200
    assert support.info(db, total)["fpr_now"] <= 0.001
    halves = db.execute("SELECT day % 2, cf_merge(f) FROM days GROUP BY 1 ORDER BY 1").fetchall()
    for half, blob in halves:
        assert ask(db, "SELECT count(*) FROM events WHERE day % 2 = ? AND NOT cf_contains(?, k)", half, blob) == 0
        assert support.info(db, blob)["items"] == ask(db, "SELECT count(*) FROM events WHERE day % 2 = ?", half)
    assert ask(db, "SELECT cf_merge(f) FILTER (WHERE day < 1) FROM days") \
        == ask(db, "SELECT f FROM days WHERE day = 0")


# ---- what cannot be merged ----

BASE = {"buckets": 8, "bucket_size": 4, "bits": 12, "pair_bits": 6, "cap": 3, "seed": 0}


@BOTH
@pytest.mark.parametrize("field, other", [
    ("seed", {"seed": 1}), ("seed", {"seed": -1}), ("hash", {"hash_identity": 2}), ("buckets", {"buckets": 10}),
    ("bucket_size", {"bucket_size": 8}), ("bucket_size", {"bucket_size": 2, "cap": 2}),
    ("fingerprint_bits", {"bits": 13}), ("pair_bits", {"pair_bits": 5}), ("cap", {"cap": 2})])
def test_a_mismatch_names_the_field(db, merged, field, other):
    a, b = support.make_blob(**BASE), support.make_blob(**{**BASE, **other})
    sql = "SELECT cf_merge(?, ?)" if merged is merge else "SELECT cf_merge(column1) FROM (VALUES (?), (?))"
    for blobs in ([a, b], [b, a]):
        fails(db, MISMATCH, sql, *blobs, says=f"the filters differ in {field}")


@pytest.mark.parametrize("one, other, field", [
    ((100, 0.01, "seed=1"), (100, 0.01, "seed=2"), "seed"),
    ((100, 0.01, ""), (1000, 0.01, ""), "buckets"),
    ((100, None, "bucket_size=4 fingerprint_bits=12"), (100, None, "bucket_size=4 fingerprint_bits=13"),
     "fingerprint_bits")])
def test_mismatches_of_filters_as_users_make_them(db, one, other, field):
    fails(db, MISMATCH, "SELECT cf_merge(?, ?)", support.new(db, *one), support.new(db, *other), says=field)


@BOTH
def test_capacity_and_growth_come_from_the_first(db, merged):
    """They are no part of the shape: they do not hinder, and the first filter decides."""
    a = support.patched(support.make_blob(**BASE), capacity=5, flags=1)
    b = support.patched(support.make_blob(**BASE), capacity=7, flags=0)
    for first, second, capacity, growth in ((a, b, 5, "on"), (b, a, 7, "off")):
        got = support.info(db, merged(db, first, second))
        assert (got["capacity"], got["growth"]) == (capacity, growth)


def test_every_filter_is_checked(db):
    blob = of(db, [1])
    for arguments in ((blob, None), (None, blob), (blob, blob, None)):
        marks = ", ".join("?" * len(arguments))
        rows = ", ".join(["(?)"] * len(arguments))
        fails(db, BAD_PARAMETER, f"SELECT cf_merge({marks})", *arguments, says="filter is NULL")
        fails(db, BAD_PARAMETER, f"SELECT cf_merge(column1) FROM (VALUES {rows})", *arguments,
              says="filter is NULL")
    fails(db, BAD_BLOB, "SELECT cf_merge(?, x'00')", blob, says="not a cuckoo filter")
    fails(db, BAD_BLOB, "SELECT cf_merge(column1) FROM (VALUES (?), (x'00'))", blob, says="not a cuckoo filter")


def test_no_rows_and_no_filters_are_errors(db):
    fails(db, BAD_PARAMETER, "SELECT cf_merge(1) WHERE 0", says="no rows")
    fails(db, BAD_PARAMETER, "SELECT cf_merge()", says="at least one filter")
    assert db.execute("SELECT cf_merge(f) FROM (SELECT 1 AS f WHERE 0) GROUP BY f").fetchall() == []


# ---- full ----

def test_a_sum_that_does_not_fit_is_full(db):
    options = "fingerprint_bits=32 bucket_size=4 growth=off capacity=50"
    a, b = of(db, range(50), options), of(db, range(50, 100), options)
    for sql in ("SELECT cf_merge(?, ?)", "SELECT cf_merge(column1) FROM (VALUES (?), (?))"):
        message = fails(db, FULL, sql, a, b, says="filter is full")
        assert "planned for 50 keys" in message


def test_equal_full_filters_fit_until_copies_reach_the_room(db):
    """Sticky copies are absorbed, so a filter merged with itself over and over is full soon or never."""
    blob = of(db, [k for k in range(20) for _ in range(3)], "fingerprint_bits=32 capacity=100 bucket_size=4")
    again = merge(db, *[blob] * 20)
    assert support.info(db, again)["occupied"] == 60
    assert copies(db, again, range(20)) == [3] * 20


# ---- more than can be found ----

CROWDED = "overflow=on value_bits=5 bucket_size=8 spill_bound=4096"


def with_values(db, others, values):
    """A filter with so many other keys, and values of one key."""
    blob = support.new(db, 20, 0.001, CROWDED)
    for key, value in [(f"other {n}", 0) for n in range(others)] + [("k", value) for value in values]:
        blob = ask(db, "SELECT cf_add(?, ?, ?)", blob, key, value)
    return blob


@pytest.mark.parametrize("split", range(8, 25, 4))
def test_values_are_found_or_the_merge_says_so(db, split):
    """28 values of a key are more than two buckets of eight slots and eight spilled entries can hold."""
    one, other = with_values(db, 300, range(split)), with_values(db, 0, range(split, 28))
    for pair in ((one, other), (other, one)):
        for sql in ("SELECT cf_merge(?, ?)", "SELECT cf_merge(column1) FROM (VALUES (?), (?))"):
            fails(db, FULL, sql, *pair, says="cf_merge: a key would have more entries than can be found")


@pytest.mark.parametrize("total", range(1, 25, 3))
def test_what_is_merged_is_found_in_a_table_too(db, total):
    split = total // 2
    one, other = with_values(db, 300, range(split)), with_values(db, 0, range(split, total))
    for n, pair in enumerate(((one, other), (other, one))):
        blob = ask(db, "SELECT cf_merge(?, ?)", *pair)
        assert ask(db, "SELECT cf_check(?)", blob) == "ok"
        db.execute(f"CREATE VIRTUAL TABLE t{n} USING cuckoo_filter(capacity=20, fpr=0.001, "
                   + CROWDED.replace(" ", ", ") + ")")
        db.execute(f"INSERT INTO t{n}(t{n}, key) VALUES ('import', ?)", (blob,))
        assert sorted(v for v, in db.execute(f"SELECT value FROM t{n} WHERE key = 'k'")) == list(range(total))


# 163 bytes: merged with themselves they took ten seconds, of growth in vain for each entry.
LABORIOUS = bytes.fromhex((
    "cf636b0101020804040c00000100000000000e000000000000000000000000000e0000000000ffffffffffff32"
    "000000000000000000000008000000c4c4d9451ff0014ac00604001d400470001e200140c006000011c0044440"
    "17e001410000000118e00464c019a0015d00049c0100800540c00080014e000054011350076c00172001648004"
    "54011070065cc0140001664006c401183005684"
).ljust(2 * 163, "0"))


@pytest.mark.parametrize("sql", ["SELECT cf_merge(?, ?)", "SELECT cf_merge(column1) FROM (VALUES (?), (?))"])
def test_merging_for_ever_is_refused(db, sql):
    assert ask(db, "SELECT cf_info(?)", LABORIOUS)
    message = fails(db, FULL, sql, LABORIOUS, LABORIOUS, says="would take far too long; nothing has changed")
    assert message.endswith("ask the filters one by one, or build one from the keys")
