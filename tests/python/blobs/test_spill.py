# SPDX-License-Identifier: MIT
"""overflow=on: an insertion looks at so many buckets, then the entry goes to the spill list. It is there all the same.

tests/model has histories, test_growth.py growth. Adds are one by one where entries are to stay in the list: many at
once end with an ordinary search for each of them.
"""
import itertools
import json
import sqlite3

import pytest

import support
import test_payloads
from support import FULL, ask, delete_all, fails
from test_growth import add_range, delete_range, lost

FIXED = "growth=off fingerprint_bits=12"
LAYOUTS = ["plain", "semisort"]
LISTS = [(0, 200), (0, 16), (1, 200), (1, 1), (10, 200), (10, 16)]  # budget and bound
EVERY_LIST = pytest.mark.parametrize("layout, budget, bound",
                                     [(layout, *list_) for layout, list_ in itertools.product(LAYOUTS, LISTS)])


def spilled(db, blob):
    return support.info(db, blob)["spilled"]


def crowded(db, n, options=FIXED, layout="plain", budget=0, bound=200):
    """A filter planned for n keys that holds the keys 0 .. n-1."""
    options = f"bucket_size=4 layout={layout} {options} overflow=on overflow_budget={budget} spill_bound={bound}"
    return support.add(db, add_range(db, support.new(db, n, None, options), 0, n - n // 10), *range(n - n // 10, n))


def test_what_a_filter_says_of_its_list(db):
    for options, budget, bound in (("", 10, 16), ("overflow_budget=0", 0, 16), ("spill_bound=4096", 10, 4096),
                                   ("overflow_budget=255 spill_bound=1", 255, 1)):
        for got in (support.info(db, support.new(db, 100, None, f"overflow=on {options}")),
                    support.plan(db, 100, None, f"{options} overflow=on")):
            assert (got["overflow"], got["overflow_budget"], got["spill_bound"], got["spilled"]) == ("on", budget,
                    bound, 0)
    off = support.plan(db, 100)
    assert (off["overflow"], off["spilled"]) == ("off", 0) and not {"overflow_budget", "spill_bound"} & set(off)
    bounds = [support.plan(db, n, None, "overflow=on")["spill_bound"] for n in (1, 1000, 10**5, 10**6, 10**9)]
    assert bounds == sorted(bounds) and bounds[0] == 16 and bounds[-1] == 4096


@EVERY_LIST
def test_spilled_entries_are_found_counted_and_shown_and_deletes_drain_the_list(db, rng, layout, budget, bound):
    """Room that appears is taken by a spilled entry; in the end nothing is there, in slots or list."""
    n = 2000
    blob = crowded(db, n, "growth=off fingerprint_bits=32", layout, budget, bound)
    empty, keys, seen = ask(db, "SELECT cf_clear(?)", blob), list(range(n)), []
    assert empty == ask(db, "SELECT cf_new(?, NULL, ?)", n,
                        f"bucket_size=4 layout={layout} growth=off fingerprint_bits=32 overflow=on "
                                                           f"overflow_budget={budget} spill_bound={bound}")
    rng.shuffle(keys)
    while keys:
        got = support.info(db, blob)
        seen.append(got["spilled"])
        assert ask(db, "SELECT cf_check(?)", blob) == "ok" and lost(db, blob, 0, n) == n - len(keys)
        assert got["spilled"] <= bound and got["items"] == got["occupied"] + got["spilled"] == len(keys)
        assert got["occupied"] == ask(db, "SELECT count(fingerprint) FROM cf_buckets(?)", blob)
        listed = db.execute("SELECT bucket, slot, match, side FROM json_each(?2), cf_explain(?1, value) WHERE source = 'spill list' AND match",
                            (blob, json.dumps(keys))).fetchall()
        assert len(listed) == got["spilled"] and all(slot is None for _, slot, _, _ in listed)
        overflowing = {row[0] for row in db.execute("SELECT bucket FROM cf_buckets(?) WHERE overflow", (blob,))}
        assert {bucket for bucket, *_ in listed} <= overflowing and len(overflowing) <= 2 * len(listed)
        blob, keys = delete_all(db, blob, keys[:250]), keys[250:]
    assert seen == sorted(seen, reverse=True) and seen[0] >= min(bound, 11) and seen[-2] == 0
    assert blob == empty


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("options", [FIXED, "fingerprint_bits=12"])
def test_many_changes_at_once_end_with_room_for_what_was_spilled(db, layout, options):
    """As far as an ordinary search finds some: at the planned capacity, for all. A single delete makes room for one more than its
    own, and what changes nothing leaves the list alone."""
    n, args = 1000, json.dumps(list(range(995, 1000)))
    blob = crowded(db, n, options, layout)
    assert spilled(db, blob) > 10
    for call in ("cf_add_all(?1, value)", "cf_delete_all(?1, value)", "cf_merge(?1, cf_build(value, NULL, '{}'))"):
        shape = f"bucket_size=4 {options} capacity={n}"
        changed = ask(db, f"SELECT {call.format(shape)} FROM json_each(?2)", blob, args)
        assert spilled(db, changed) == 0 and lost(db, changed, 0, 995) == 0
        assert ask(db, "SELECT cf_check(?)", changed) == "ok"
    assert spilled(db, support.build(db, range(n), None, f"bucket_size=4 {options} overflow=on overflow_budget=0")) == 0
    for call in ("cf_add(?, NULL)", "cf_delete(?, NULL)", "cf_delete(?, 'never there')", "cf_merge(?)",
                 "cf_add_all(?, NULL)", "cf_delete_all(?, NULL)"):
        assert ask(db, f"SELECT {call}", blob) == blob
    less = blob
    for gone in range(5):
        less = ask(db, "SELECT cf_delete(?, ?)", less, gone)
    assert spilled(db, blob) - 10 <= spilled(db, less) <= spilled(db, blob) - 5


@EVERY_LIST
def test_a_full_list_means_an_ordinary_search(db, layout, budget, bound):
    """The capacity that was planned does not depend on it; what comes beyond is full in the end, and changes nothing."""
    blob, n = crowded(db, 400, "growth=off fingerprint_bits=32", layout, budget, bound), 400
    try:
        while True:
            blob, n = support.add(db, blob, n), n + 1
    except sqlite3.IntegrityError as error:
        assert "filter is full" in str(error)
    got = support.info(db, blob)
    assert got["spilled"] == bound and got["occupied"] == n - bound and got["load"] > 0.9
    assert lost(db, blob, 0, n) == 0 and ask(db, "SELECT cf_check(?)", blob) == "ok"
    assert support.contains(db, support.add(db, delete_range(db, blob, 0, 9), n), n) == 1


def test_a_key_may_have_eight_values_more(db):
    """As many as two buckets have slots, and eight in the list: no key can take it all."""
    blob = support.new(db, 100, None, f"value_bits=8 bucket_size=4 {FIXED} overflow=on spill_bound=100")
    blob = test_payloads.add_pairs(db, blob, [("k", v) for v in range(16)])
    fails(db, FULL, "SELECT cf_add(?, 'k', 16)", blob, says="filter is full")
    assert test_payloads.values_of(db, blob, "k") == list(range(16)) and spilled(db, blob) == 8
    for value in range(16):
        assert ask(db, "SELECT cf_get(?, 'k')", blob) is not None
        blob = ask(db, "SELECT cf_delete(?, 'k', ?)", blob, value)
        assert test_payloads.values_of(db, blob, "k") == list(range(value + 1, 16))
    assert spilled(db, blob) == support.info(db, blob)["occupied"] == 0
