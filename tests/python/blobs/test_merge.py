# SPDX-License-Identifier: MIT
"""cf_merge: the multiset sum of filters of one shape, as a function and as an aggregate. tests/model has histories,
test_growth.py sums of filters that have grown.
"""
import itertools

import pytest

import support
from support import BAD_BLOB, BAD_PARAMETER, FULL, MISMATCH, add_all, ask, delete_all, fails

OPTIONS = "fingerprint_bits=32 bucket_size=4 capacity=200"  # max_copies 3; no two keys alike


def of(db, keys, options=OPTIONS):
    """A filter of these keys, each as often as it stands there."""
    return add_all(db, ask(db, "SELECT cf_clear(cf_build(0, NULL, ?))", options), keys)


def merge(db, *blobs):
    return ask(db, f"SELECT cf_merge({', '.join('?' * len(blobs))})", *blobs)


def merge_rows(db, *blobs):
    return ask(db, "SELECT cf_merge(column1) FROM (VALUES " + ", ".join(["(?)"] * len(blobs)) + ")", *blobs)


BOTH = pytest.mark.parametrize("merged", [merge, merge_rows])
SQL = ("SELECT cf_merge(?, ?)", "SELECT cf_merge(column1) FROM (VALUES (?), (?))")


def copies(db, blob, keys):
    return [support.count(db, blob, key) for key in keys]


# ---- the sum ----

def test_the_sum_answers_for_all_keys(db):
    a, b = of(db, range(50)), of(db, range(40, 90))
    blob = merge(db, a, b)
    assert blob == merge_rows(db, a, b)
    assert copies(db, blob, range(200)) == [1] * 40 + [2] * 10 + [1] * 40 + [0] * 110
    assert ask(db, "SELECT cf_check(?)", blob) == "ok"
    got = support.info(db, blob)
    assert (got["items"], got["occupied"], got["capacity"]) == (100, 100, 200)
    # Keys of both are deleted once, as if one of the two sources lost them, and are still found.
    blob = delete_all(db, blob, range(50))
    assert copies(db, blob, range(90)) == [0] * 40 + [1] * 50
    blob = delete_all(db, blob, range(40, 90))
    assert support.info(db, blob)["items"] == 0 and blob == ask(db, "SELECT cf_clear(?)", blob)


@BOTH
def test_one_none_and_many(db, merged):
    blob, empty = of(db, [*range(20), 1]), of(db, [None])
    assert merged(db, blob) == merged(db, blob, empty) == blob
    assert copies(db, merged(db, empty, blob), range(20)) == copies(db, blob, range(20))
    blobs = [of(db, range(10 * i, 10 * i + 10)) for i in range(15)]
    assert copies(db, merged(db, *blobs), range(150)) == [1] * 150


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

def test_a_mismatch_names_the_fields(db):
    """wrong_uses.txt has what is said to users; here are the fields one by one."""
    base = support.new(db, 40, None, "bucket_size=4 fingerprint_bits=12 layout=plain")
    for says, other in [("seed", {"seed": 1}), ("seed", {"seed": 2**64 - 1}), ("hash", {"hash": 2}),
                        ("pair_bits", {"pair_bits": 5}), ("max_copies", {"max_copies": 2})]:
        for pair, sql in itertools.product(itertools.permutations((base, support.patched(base, **other))), SQL):
            fails(db, MISMATCH, sql, *pair, says=f"the filters differ in {says}")
    for says, capacity, options in [("bucket_size", 40, "bucket_size=8 fingerprint_bits=12"),
                                    ("buckets", 80, "bucket_size=4 fingerprint_bits=12"),
                                    ("fingerprint_bits", 40, "bucket_size=4 fingerprint_bits=13"),
                                    ("counter_bits", 40, "bucket_size=4 fingerprint_bits=12 counter_bits=3")]:
        for pair, sql in itertools.product(itertools.permutations((base, support.new(db, capacity, None, f"{options} layout=plain"))), SQL):
            assert says in fails(db, MISMATCH, sql, *pair, says="the filters differ in ").split("(")[0]


@BOTH
def test_capacity_and_growth_come_from_the_first(db, merged):
    """They are no part of the shape: they do not hinder, and the first filter decides."""
    base = support.new(db, 40, None, "bucket_size=4 fingerprint_bits=12 layout=plain")
    a, b = support.patched(base, capacity=5, flags=1), support.patched(base, capacity=7, flags=0)
    for first, second, capacity, growth in ((a, b, 5, "on"), (b, a, 7, "off")):
        got = support.info(db, merged(db, first, second))
        assert (got["capacity"], got["growth"]) == (capacity, growth)
    fails(db, MISMATCH, "SELECT cf_merge(?, ?)", b, add_all(db, a, range(500)),
          says="differ in growth")


def test_every_filter_is_checked(db):
    blob = of(db, [1])
    for arguments in ((blob, None), (None, blob), (blob, blob, None)):
        for sql in ("SELECT cf_merge(" + ", ".join("?" * len(arguments)) + ")",
                    f"SELECT cf_merge(column1) FROM (VALUES {', '.join(['(?)'] * len(arguments))})"):
            fails(db, BAD_PARAMETER, sql, *arguments, says="filter is NULL")
    for sql in SQL:
        fails(db, BAD_BLOB, sql, blob, b"\0", says="not a cuckoo filter")


# ---- full ----

def test_a_sum_that_does_not_fit_is_full(db):
    options = "fingerprint_bits=32 bucket_size=4 growth=off capacity=50"
    a, b = of(db, range(50), options), of(db, range(50, 100), options)
    for sql in SQL:
        message = fails(db, FULL, sql, a, b, says="filter is full")
        assert "planned for 50 keys" in message


# ---- more than can be found ----

CROWDED = "growth=off stash=on value_bits=5 bucket_size=8 stash_size=4096"


def with_values(db, others, values):
    """A filter with so many other keys, and values of one key."""
    blob = support.new(db, 500, 0.001, CROWDED)
    for key, value in [(f"other {n}", 0) for n in range(others)] + [("k", value) for value in values]:
        blob = ask(db, "SELECT cf_add(?, ?, ?)", blob, key, value)
    return blob


def test_values_are_found_or_the_merge_says_so(db):
    """28 values of a key are more than two buckets of eight slots and eight stashed entries can hold."""
    for split in (8, 16, 24):
        one, other = with_values(db, 300, range(split)), with_values(db, 0, range(split, 28))
        for pair, sql in itertools.product(((one, other), (other, one)), SQL):
            fails(db, FULL, sql, *pair, says="cf_merge: a key would have more entries than can be found")


@pytest.mark.parametrize("total", (1, 10, 24))
def test_what_is_merged_is_found(db, total):
    split = total // 2
    one, other = with_values(db, 300, range(split)), with_values(db, 0, range(split, total))
    for pair in ((one, other), (other, one)):
        blob = ask(db, "SELECT cf_merge(?, ?)", *pair)
        assert ask(db, "SELECT cf_check(?)", blob) == "ok"
        found = db.execute("SELECT DISTINCT payload FROM cf_explain(?, 'k') WHERE match ORDER BY payload", (blob,))
        assert [value for value, in found] == list(range(total))
