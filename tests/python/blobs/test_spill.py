# SPDX-License-Identifier: MIT
"""overflow=on: an insertion looks at so many buckets, then the entry goes to the spill list. It is there all the same.

src/entry/spill.h says how; test_layout_model.py has histories. Keys and seeds are fixed unless a test takes `rng`. Adds are one
by one where entries are to stay in the list: many at once end with an ordinary search for each of them.
"""
import json
import sqlite3

import pytest

import support
import test_values
from address import key_hash, low
from layout import Table
from support import FULL, add_all, ask, delete_all, fails
from test_growth import add_range, check, delete_range, key, lost
from test_layout_model import check_list

FIXED = "growth=off fingerprint_bits=12"
LAYOUTS = pytest.mark.parametrize("layout", ["plain", "semisort"])
LISTS = pytest.mark.parametrize("budget, bound", [(0, 200), (0, 16), (1, 200), (1, 1), (10, 200), (10, 16)])


def spilled(db, blob):
    return support.info(db, blob)["spilled"]


def crowded(db, n, options=FIXED, layout="plain", budget=0, bound=200):
    """A filter planned for n keys that holds the keys 0 .. n-1."""
    options = f"bucket_size=4 layout={layout} {options} overflow=on overflow_budget={budget} spill_bound={bound}"
    return support.add(db, add_range(db, support.new(db, n, None, options), 0, n - n // 10), *range(n - n // 10, n))


# ---- the options ----

def test_what_a_filter_says_of_its_list(db):
    for options, budget, bound in (("", 10, 16), ("overflow_budget=0", 0, 16), ("spill_bound=4096", 10, 4096),
                                   ("overflow_budget=255 spill_bound=1", 255, 1)):
        blob = support.new(db, 100, None, f"overflow=on {options}")
        for got in (support.info(db, blob), support.plan(db, 100, None, f"{options} overflow=on")):
            assert (got["overflow"], got["overflow_budget"], got["spill_bound"], got["spilled"]) == ("on", budget, bound, 0)
        assert (support.field(blob, "overflow_budget"), support.field(blob, "spill_bound")) == (budget, bound)
    off = support.info(db, support.new(db, 100))
    assert (off["overflow"], off["spilled"]) == ("off", 0)
    assert ask(db, "SELECT json_extract(cf_plan(100), '$.overflow_budget', '$.spill_bound')") == "[null,null]"


def test_the_list_grows_with_the_filter_unless_its_bound_is_given(db):
    bounds = [support.plan(db, n, None, "overflow=on")["spill_bound"] for n in (1, 1000, 10**5, 10**6, 10**9)]
    assert bounds == sorted(bounds) and bounds[0] == 16 and bounds[-1] == 4096


@LAYOUTS
def test_a_list_costs_a_bit_per_bucket_and_16_bytes_per_entry(db, layout):
    for n in (1, 100, 12345):
        options = f"bucket_size=4 fingerprint_bits=10 layout={layout}"
        without, with_ = (support.plan(db, n, None, f"{options} {more}") for more in ("", "overflow=on spill_bound=77"))
        assert with_["buckets"] == without["buckets"]
        assert 0 <= with_["bytes"] - without["bytes"] - 77 * 16 - with_["buckets"] / 8 < 1


# ---- what it holds ----

@LAYOUTS
@LISTS
def test_spilled_entries_are_found_counted_and_shown(db, layout, budget, bound):
    n = 6000
    blob = crowded(db, n, FIXED, layout, budget, bound)
    got = support.info(db, blob)
    assert got["spilled"] == bound or (budget == 10 and got["spilled"] > 50)
    assert got["items"] == n and lost(db, blob, 0, n) == 0
    assert ask(db, "SELECT cf_check(?)", blob) == "ok"
    assert got["occupied"] == ask(db, "SELECT count(fingerprint) FROM cf_buckets(?)", blob)
    assert 0 <= n - got["occupied"] - got["spilled"] <= 3  # keys that are there cap times
    check_list(db, blob)


@LAYOUTS
@pytest.mark.parametrize("options, more", [(FIXED, 0), ("fingerprint_bits=12", 0), ("fingerprint_bits=12", 700),
                                           ("fingerprint_bits=12 counter_bits=2", 300)])
def test_explanations_show_the_list(db, layout, options, more):
    """Each spilled entry of the two buckets of a key, with what it says; match=1 where all it knows agrees with the key.
    Also once grown."""
    options = f"bucket_size=4 layout={layout} {options} overflow=on overflow_budget=0 spill_bound=30"
    empty = support.new(db, 300, None, options)
    db.execute("CREATE TABLE keys(k)")
    db.executemany("INSERT INTO keys VALUES (?)", [(key(i),) for i in range(300 + more)])
    blob = ask(db, "SELECT cf_add_all(?, k) FROM keys WHERE rowid <= ?", empty, 250 + more)
    blob = support.add(db, blob, *map(key, range(250 + more, 300 + more)))
    table, shown = Table(blob), set()
    assert table.spilled > 5 and table.grown == (more > 0)
    for i in range(2 * (300 + more)):
        base = table.base_side(key_hash(key(i)))
        sides = {"base": base, "alternate": table.alternate(base)}
        rows = db.execute("SELECT side, bucket, slot, fingerprint, match, length, payload, source FROM cf_explain(?, ?)",
                          (blob, key(i))).fetchall()
        places = {row[0]: row[1] for row in rows}
        assert places == {side: table.bucket(sides[side])[0] for side in places}
        from_list = [row for row in rows if row[7] == "spill list"]
        expected = [(side, *entry) for side, bucket in places.items() for entry in table.list if entry[0] == bucket]
        assert sorted(from_list) == sorted(explained(table, sides, *entry) for entry in expected)
        matches = [row for row in rows if row[4]]
        assert (matches != []) == support.contains(db, blob, key(i))
        if "counter" not in options:
            assert len(matches) == support.count(db, blob, key(i))
        shown |= {(row[1], row[3], row[5]) for row in from_list if row[4] and i < 300 + more}
    assert len(shown) == len(set(table.list))  # each is some key's


def explained(table, sides, side, bucket, tag, _, payload):
    _, bits, known = table.side(bucket, tag)
    length = table.s + known
    agrees = bits == sides[side][1] & low(length)
    return side, bucket, None, bits, int(agrees), length, payload if table.payload_bits else None, "spill list"


def test_the_list_is_asked_only_for_keys_of_full_buckets(db):
    """A spilled entry has no free slot in either of its buckets, so every key it matches has two full ones."""
    blob = crowded(db, 2000)
    table = Table(blob)
    full = {bucket for bucket in range(table.buckets) if all(table.tags(bucket))}
    assert table.overflowing() <= full
    assert len(table.overflowing()) > table.spilled


def test_copies_and_counters_count_in_the_list_as_anywhere(db):
    for options, limit in (("fingerprint_bits=32", 3), ("fingerprint_bits=32 counter_bits=3", 8)):
        blob = crowded(db, 400, f"growth=off {options}", bound=100)
        n = spilled(db, blob)
        listed = [k for k in range(400)
                  if ask(db, "SELECT count(*) FROM cf_explain(?, ?) WHERE match AND slot IS NULL", blob, k)]
        assert n == len(listed) >= 10
        for copies in range(2, limit + 3):
            blob = add_all(db, blob, listed[:5])
            assert [support.count(db, blob, k) for k in listed[:5]] == [min(copies, limit)] * 5
            assert ask(db, "SELECT cf_check(?)", blob) == "ok"
        assert support.info(db, blob)["sticky"] == 5
        assert delete_all(db, blob, listed[:5]) == blob


# ---- the error rate ----

@LAYOUTS
@pytest.mark.parametrize("bits", [6, 10])
def test_a_full_list_changes_no_answer(db, layout, bits):
    """A filter with a full list and one of the same shape without: the same answers for 200,000 absent keys, not only
    as many of them wrong."""
    n, options = 10000, f"fingerprint_bits={bits} growth=off"
    without = add_range(db, support.new(db, n, None, f"{options} bucket_size=4 layout={layout}"), 0, n)
    with_ = crowded(db, n, options, layout, bound=500)
    assert spilled(db, with_) == 500
    differ = ("WITH RECURSIVE k(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM k LIMIT 200000) "
              "SELECT count(*) FROM k WHERE cf_contains(?, -x) <> cf_contains(?, -x)")
    assert ask(db, differ, without, with_) == 0
    assert support.info(db, without)["fpr_now"] == pytest.approx(support.info(db, with_)["fpr_now"], rel=1e-5)


# ---- it is emptied ----

@LAYOUTS
@pytest.mark.parametrize("options", [FIXED, "fingerprint_bits=12"])
def test_many_changes_at_once_end_with_room_for_what_was_spilled(db, layout, options):
    """As far as an ordinary search finds some: at the planned capacity, for all."""
    n, args = 1000, json.dumps(list(range(995, 1000)))
    blob = crowded(db, n, options, layout)
    assert spilled(db, blob) > 10
    for call in ("cf_add_all(?1, value)", "cf_delete_all(?1, value)", "cf_merge(?1, cf_build(value, NULL, '{}'))"):
        shape = f"bucket_size=4 {options} capacity={n}"
        changed = ask(db, f"SELECT {call.format(shape)} FROM json_each(?2)", blob, args)
        assert spilled(db, changed) == 0 and lost(db, changed, 0, 995) == 0
        assert ask(db, "SELECT cf_check(?)", changed) == "ok"
    assert spilled(db, support.build(db, range(n), None, f"bucket_size=4 {options} overflow=on overflow_budget=0")) == 0


def test_a_single_delete_makes_room_for_one_more_than_its_own(db):
    blob = crowded(db, 3000)
    before = spilled(db, blob)
    for gone in range(20):
        blob = ask(db, "SELECT cf_delete(?, ?)", blob, gone)
    assert before - 40 <= spilled(db, blob) <= before - 20
    check_list(db, blob)


@pytest.mark.parametrize("call", [
    "cf_add(?, NULL)", "cf_delete(?, NULL)", "cf_delete(?, 'never there')", "cf_merge(?)",
    "cf_add_all(?, NULL)", "cf_delete_all(?, NULL)"])
def test_calls_that_change_nothing_leave_the_list_alone(db, call):
    blob = crowded(db, 300)
    assert spilled(db, blob) > 5
    assert ask(db, f"SELECT {call}", blob) == blob


@LAYOUTS
@LISTS
def test_deletes_drain_the_list(db, rng, layout, budget, bound):
    """Room that appears is taken by a spilled entry; in the end nothing is there, in slots or list."""
    n = 3000
    blob = crowded(db, n, "growth=off fingerprint_bits=32", layout, budget, bound)
    empty, keys, seen = ask(db, "SELECT cf_clear(?)", blob), list(range(n)), [spilled(db, blob)]
    rng.shuffle(keys)
    while keys:
        gone, keys = keys[:100], keys[100:]
        blob = delete_all(db, blob, gone)
        seen.append(spilled(db, blob))
        check_list(db, blob)
        assert lost(db, blob, 0, n) == n - len(keys)
    assert seen == sorted(seen, reverse=True)
    assert seen[0] > 0 and seen[3 * len(seen) // 4] == 0
    assert blob == empty


@pytest.mark.parametrize("bits", [5, 8])
def test_deleting_everything_leaves_nothing_spilled(db, rng, bits):
    """With fingerprints that collide: what stays is sticky, and has slots."""
    blob = crowded(db, 1000, f"growth=off fingerprint_bits={bits}")
    keys = list(range(1000))
    rng.shuffle(keys)
    blob = delete_all(db, blob, keys)
    got = support.info(db, blob)
    assert got["spilled"] == 0 and got["occupied"] == 3 * got["sticky"]
    assert ask(db, "SELECT cf_check(?)", blob) == "ok"


def test_clear_empties_the_list(db):
    for options in (FIXED, "fingerprint_bits=12"):
        blob = crowded(db, 1000, options)
        list_ = "overflow=on overflow_budget=0 spill_bound=200"
        fresh = support.new(db, 1000, None, f"bucket_size=4 layout=plain {options} {list_}")
        assert spilled(db, blob) > 0 and ask(db, "SELECT cf_clear(?)", blob) == fresh


# ---- full ----

@LAYOUTS
@LISTS
def test_a_full_list_means_an_ordinary_search(db, layout, budget, bound):
    """The capacity that was planned does not depend on it; what comes beyond is full in the end, and changes nothing."""
    blob, n = crowded(db, 800, "growth=off fingerprint_bits=32", layout, budget, bound), 800
    try:
        while True:
            blob, n = support.add(db, blob, n), n + 1
    except sqlite3.IntegrityError as error:
        assert "filter is full" in str(error)
    got = support.info(db, blob)
    assert got["spilled"] == bound and got["occupied"] == n - bound
    assert got["load"] > 0.95
    assert lost(db, blob, 0, n) == 0
    check_list(db, blob)
    assert support.contains(db, support.add(db, delete_range(db, blob, 0, 9), n), n) == 1


def test_a_key_may_have_eight_values_more(db):
    """As many as two buckets have slots, and eight in the list: no key can take it all."""
    blob = support.new(db, 100, None, f"value_bits=8 bucket_size=4 {FIXED} overflow=on spill_bound=100")
    blob = test_values.add_pairs(db, blob, [("k", v) for v in range(16)])
    fails(db, FULL, "SELECT cf_add(?, 'k', 16)", blob, says="filter is full")
    assert test_values.values_of(db, blob, "k") == list(range(16))
    assert spilled(db, blob) == 8
    for value in range(16):
        assert test_values.get(db, blob, "k") is not None
        blob = ask(db, "SELECT cf_delete(?, 'k', ?)", blob, value)
        assert test_values.values_of(db, blob, "k") == list(range(value + 1, 16))
    assert spilled(db, blob) == support.info(db, blob)["occupied"] == 0


# ---- merging ----

@LAYOUTS
def test_a_merge_takes_spilled_entries_as_it_takes_all(db, layout):
    """Budget and bound come from the first; and a filter without a list merges with one that has it, either way."""
    shape = f"bucket_size=4 fingerprint_bits=32 layout={layout} growth=off capacity=1200"

    def of(first, end, overflow=""):
        return support.add(db, support.build(db, range(first, end - 100), None, shape + overflow), *range(end - 100, end))

    first = of(0, 1150, " overflow=on overflow_budget=0 spill_bound=100")
    second = of(1150, 2300, " overflow=on overflow_budget=1 spill_bound=60")
    none = support.build(db, range(1150, 1200), None, shape)
    assert spilled(db, first) > 20 and spilled(db, second) > 20
    for one, other in ((first, none), (none, first)):
        rates = sum(support.info(db, blob)["fpr_now"] for blob in (one, other))
        for sql in ("SELECT cf_merge(?, ?)", "SELECT cf_merge(column1) FROM (VALUES (?), (?))"):
            blob = ask(db, sql, one, other)
            assert lost(db, blob, 0, 1200) == 0
            got, of_one = support.info(db, blob), support.info(db, one)
            assert got["items"] == 1200 and got["fpr_now"] == pytest.approx(rates, rel=0.01)
            for name in ("overflow", "overflow_budget", "spill_bound"):
                assert got.get(name) == of_one.get(name)
            assert ask(db, "SELECT cf_check(?)", blob) == "ok"
    fails(db, FULL, "SELECT cf_merge(?, ?)", first, second, says="filter is full")


# ---- growth ----

@LAYOUTS
@pytest.mark.parametrize("options", ["overflow_budget=0 spill_bound=1", "overflow_budget=0", "overflow_budget=1", "",
                                     "counter_bits=2 overflow_budget=0"])
def test_a_journey_with_a_list(db, layout, options):
    blob, n = support.new(db, 300, 0.001, f"layout={layout} overflow=on {options}"), 0
    for end in (250, 300, 400, 1000, 5000, 20000):
        blob, n = add_range(db, blob, n, end), end
        got = check(db, blob)
        check_list(db, blob)
        assert lost(db, blob, 0, n) == 0
        assert got["fpr_now"] <= 0.003
    blob = delete_range(db, blob, 0, 10000)
    assert lost(db, blob, 10000, n) == 0 and lost(db, blob, 0, 10000) >= 9800
    check_list(db, blob)


@pytest.mark.parametrize("options", ["overflow_budget=0 spill_bound=200", "spill_bound=4096"])
def test_a_long_list_does_not_hinder_growth(db, options):
    for seed in range(4):
        blob = support.new(db, 10, 0.01, f"overflow=on {options} seed={seed}")
        for first, n in ((0, 10), (10, 100), (100, 1000), (1000, 10000)):
            blob = add_range(db, blob, first, n)
        assert lost(db, blob, 0, 10000) == 0


@pytest.mark.parametrize("capacity, bound", [(1, 16), (10, 16), (10, 100), (10, 4096), (1000, 4000)])
def test_a_list_does_not_raise_the_error_rate_of_growth_beyond_what_is_promised(db, capacity, bound):
    """At most three times what was asked for."""
    blob = support.new(db, capacity, 0.01, f"overflow=on spill_bound={bound}")
    for first, n in ((0, 5 * capacity), (5 * capacity, 50 * capacity), (50 * capacity, 50000)):
        blob = add_range(db, blob, first, n)
        assert support.info(db, blob)["fpr_now"] <= 0.03


@pytest.mark.parametrize("options", ["overflow=on", "layout=plain overflow=on overflow_budget=0"])
def test_adds_with_a_list_go_on_up_to_the_length_limit(db, options):
    """Growth that is taken back in vain, and then a longer path: the list is as it was before."""
    blob, n = support.new(db, 100, None, options), 0
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1500)
    with pytest.raises(sqlite3.DataError, match="cf_add: filter is full.*SQLITE_LIMIT_LENGTH"):
        while True:
            blob, n = support.add(db, blob, n), n + 1
    assert len(blob) <= 1500 and n > 300
    check(db, blob)
    check_list(db, blob)
    assert lost(db, blob, 0, n) == 0


@pytest.mark.parametrize("options", ["", "counter_bits=2", "layout=plain bucket_size=8", "bucket_size=2 overflow_budget=0"])
def test_equal_calls_give_equal_bytes(db, options):
    """In the same steps, for many keys at once leave less in the list than one by one."""
    other, blobs = support.connect(), []
    for connection in (db, other):
        blob = support.new(connection, 100, None, f"overflow=on {options}")
        for first in range(0, 1500, 70):
            blob = add_all(connection, blob, [k * k % 2003 for k in range(first, first + 40)])
            blob = support.add(connection, blob, *(k * k % 2003 for k in range(first + 40, first + 70)))
        blobs.append(ask(connection, "SELECT cf_merge(?1, cf_delete_all(?1, value)) FROM json_each('[1, 4, 9]')", blob))
    other.close()
    assert blobs[0] == blobs[1]
