# SPDX-License-Identifier: MIT
"""A filter that is full grows, and keeps all its promises, alone and in sums. tests/model has histories.

Keys are numbers, so that all is the same in every run.
"""
import json
import sqlite3

import pytest

import support
from support import FULL, TOO_BIG, ask, fails

RANGE = "WITH RECURSIVE k(x) AS (SELECT ?2 AS x WHERE ?2 < ?3 UNION ALL SELECT x + 1 FROM k WHERE x + 1 < ?3) "


def add_range(db, blob, first, end):
    """The filter with the keys first .. end - 1 as well."""
    if first == end:
        return blob
    return ask(db, RANGE + f"SELECT {support.list_call('cf_add_keys', '?1', 'x')} FROM k", blob, first, end)


def delete_range(db, blob, first, end):
    return ask(db, RANGE + f"SELECT {support.list_call('cf_delete_keys', '?1', 'x')} FROM k", blob, first, end)


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
    assert occupied == got["occupied"]
    assert got["load_factor"] == pytest.approx(occupied / slots, rel=1e-5)
    assert got["items_per_slot"] == pytest.approx(got["items"] / slots, rel=1e-5)
    assert occupied == 0 or got["pair_bits"] + got["level"] <= shortest <= longest
    assert got["bytes"] == len(blob)
    return got


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
    ("SELECT cf_new(10)", 30000), ("SELECT cf_build(x) FROM (SELECT NULL AS x)", 20000),
    ("SELECT cf_new(10, 0.01, 'counter_bits=4')", 5000), ("SELECT cf_new(500, 0.01, 'bucket_size=8')", 20000),
    ("SELECT cf_new(300, 0.01, 'layout=semisort')", 20000),
    ("SELECT cf_new(300, 0.01, 'layout=plain counter_bits=2')", 20000)])
def test_a_journey(db, start, end):
    for blob, n in journey(db, ask(db, start), end):
        got = check(db, blob)
        assert lost(db, blob, 0, n) == 0
        assert got["fpr_now"] <= 0.03, n
        if n >= max(100, 2 * got["capacity"]):
            # a level is emptiest in its midst, where 84 % of the slots in use are occupied
            assert got["items_per_slot"] >= 0.75, (n, got["items_per_slot"])
    assert got["level"] >= 5
    half = delete_range(db, blob, 0, end // 2)
    check(db, half)
    assert lost(db, half, end // 2, end) == 0
    gone = lost(db, half, 0, end // 2)
    assert gone >= 0.97 * (end // 2)
    assert support.info(db, half)["items"] <= end - gone


# ---- merging ----


def test_filters_that_grew_too_far_do_not_merge_without_bound(db):
    """Each has grown up to a thousandfold, and has exhausted entries: the sum is void all over, and splitting makes it hardly emptier.
    It either finds room within sixteen slots for every item, or is full. With the capacity of the sum it is never full."""
    full = 0
    for capacity, seed in ((2, 0), (5, 0), (5, 1), (20, 0), (2000, 0)):
        empty = support.new(db, capacity, None, f"layout=semisort seed={seed}")
        blobs = [add_range(db, empty, 10000 * i, 10000 * i + 400 * i) for i in range(12)]
        try:
            sum_ = ask(db, f"SELECT cf_merge(column1) FROM (VALUES {', '.join(['(?)'] * 12)})", *blobs)
        except sqlite3.IntegrityError as error:
            assert "filters were merged that had grown far" in str(error) and capacity <= 20
            full += 1
            continue
        got = check(db, sum_)
        assert got["buckets"] * got["bucket_size"] <= 16 * (got["items"] + 1) + 16
        assert sum(lost(db, sum_, 10000 * i, 10000 * i + 400 * i) for i in range(12)) == 0
    assert full > 0


# ---- failures change nothing ----

def test_growth_off_is_full_as_ever(db):
    db.execute("CREATE TABLE filters(f)")
    db.execute("INSERT INTO filters SELECT cf_build(value, 0.01, 'growth=off') FROM json_each(?)",
               (json.dumps(list(range(100))),))
    before = ask(db, "SELECT f FROM filters")
    db.execute("BEGIN")
    message = fails(db, FULL, "UPDATE filters SET f = (SELECT cf_add_keys(filters.f, cf_keys(value)) FROM json_each(?))",
                    json.dumps(list(range(100, 1000))), says="filter is full: planned for 100 keys")
    assert "growth=on" in message and "nothing has changed" in message
    assert db.in_transaction and ask(db, "SELECT f FROM filters") == before
    db.execute("COMMIT")
    assert support.info(db, before)["level"] == support.info(db, before)["split"] == 0


@pytest.mark.parametrize("change", ["cf_add_keys(cf_add_keys(f, (SELECT cf_keys(x) FROM keys WHERE x < 1150)), (SELECT cf_keys(x) FROM keys WHERE x > 1450))",
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


@pytest.mark.parametrize("options", ["", "layout=plain"])
def test_adds_go_on_up_to_the_length_limit_and_no_further(db, options):
    blob, n = support.new(db, 10, None, options), 0
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1500)
    with pytest.raises(sqlite3.DataError, match="cf_add: filter is full.*SQLITE_LIMIT_LENGTH"):
        while True:
            blob, n = support.add(db, blob, n), n + 1
    assert len(blob) <= 1500 and n > 300
    check(db, blob)
    assert lost(db, blob, 0, n) == 0
    assert support.contains(db, support.add(db, delete_range(db, blob, 0, 30), -1), -1) == 1
