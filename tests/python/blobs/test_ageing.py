# SPDX-License-Identifier: MIT
"""Filters that age: epochs=n, cf_advance, and merges of filters in different epochs."""
import json
import sqlite3

import pytest

import support
from support import ask, info

EXACT = "fingerprint_bits=32"


def advance(db, blob, times=1):
    for _ in range(times):
        blob = ask(db, "SELECT cf_advance(?)", blob)
    return blob


def has(db, blob, key):
    return ask(db, "SELECT cf_contains(?, ?)", blob, key)


@pytest.mark.parametrize("epochs", [1, 2, 7, 12, 15])
def test_a_key_is_found_for_so_many_epochs(db, epochs):
    blob = support.add(db, support.new(db, 100, None, f"epochs={epochs} {EXACT}"), "ada")
    for epoch in range(epochs):
        assert has(db, blob, "ada") and info(db, blob)["epoch"] == epoch
        blob = advance(db, blob)
    assert not has(db, blob, "ada") and info(db, blob)["items"] == 0


def test_random_streams(db, rng):
    """A dictionary of the epochs in which keys were added last, as the model; several filters and their sums."""
    for options in (f"epochs=4 {EXACT}", f"epochs=12 growth=off {EXACT}", "epochs=7 bucket_size=8 fingerprint_bits=24",
                    "epochs=5 layout=semisort fingerprint_bits=24"):
        epochs = int(options[7:9])
        filters = [[support.new(db, 300, None, options), 0, {}] for _ in range(3)]
        for _ in range(120):
            one, other = rng.sample(filters, 2)
            chance = rng.random()
            if chance < 0.6:
                keys = [rng.randrange(120) for _ in range(rng.randrange(1, 40))]
                one[0] = support.add_all(db, one[0], keys)
                one[2].update(dict.fromkeys(keys, one[1]))
            elif chance < 0.9:
                times = rng.choice([1, 1, 2, 20])
                one[0], one[1] = advance(db, one[0], times), one[1] + times
            else:
                one[0] = ask(db, "SELECT cf_merge(?, ?)", one[0], other[0])
                one[1] = max(one[1], other[1])
                for key, epoch in other[2].items():
                    one[2][key] = max(epoch, one[2].get(key, 0))
            found = {key for key in range(120) if has(db, one[0], key)}
            assert found == {key for key, epoch in one[2].items() if one[1] - epoch < epochs}
            assert info(db, one[0])["epoch"] == one[1] and info(db, one[0])["items"] == len(found)
            assert ask(db, "SELECT cf_check(?)", one[0]) == "ok"


def test_adding_again_keeps_one_entry(db):
    blob = support.new(db, 10, None, f"epochs=3 {EXACT}")
    for _ in range(20):
        blob = advance(db, support.add(db, blob, 1, 1, 2))
    said = info(db, blob)
    assert (said["items"], said["epoch"], said["epochs"], said["turnovers"]) == (2, 20, 3, 10**9)
    assert ask(db, "SELECT cf_count(?, 1)", blob) == 1


def test_capacity_is_that_of_all_epochs_together(db):
    """And as many as one epoch holds: the rate is kept."""
    said = support.plan(db, 12000, 0.001, "epochs=12")
    assert said["capacity"] == 12000 and said["fpr_at_capacity"] <= 0.001
    assert said["bytes"] <= 1.5 * support.plan(db, 12000, 0.001)["bytes"]
    blob = support.new(db, 12000, 0.001, "epochs=12")
    for epoch in range(40):
        blob = advance(db, support.add_all(db, blob, range(epoch * 1000, (epoch + 1) * 1000)))
        assert len(blob) == said["bytes"]
    assert info(db, blob)["fpr_now"] <= 0.001


@pytest.mark.parametrize("call", ["cf_delete(?, 1)", "cf_delete(?, NULL)", "(SELECT cf_delete_all(?, 1))",
                                  "cf_delete_keys(?, (SELECT cf_keys(1)))"])
def test_single_keys_are_not_deleted(db, call):
    with pytest.raises(sqlite3.OperationalError, match=r"cf_delete\w*: filter ages \(epochs=3\).*use cf_advance"):
        ask(db, f"SELECT {call}", support.new(db, 10, None, "epochs=3"))


@pytest.mark.parametrize("sql, message", [
    ("SELECT cf_advance(cf_new(10))", "cf_advance: filter does not age"),
    ("SELECT cf_advance(NULL)", "cf_advance: filter is NULL"),
    ("SELECT cf_advance(x'00')", "not a cuckoo filter"),
    ("SELECT cf_new(10, 0.01, 'epochs=16')", "bad value in epochs=16"),
    ("SELECT cf_new(10, 0.01, 'epochs=-1')", "bad value in epochs=-1"),
    ("SELECT cf_new(10, 0.01, 'epochs=3 counter_bits=2')", "epochs excludes counter_bits, value_bits and overflow=on"),
    ("SELECT cf_new(10, 0.01, 'epochs=3 value_bits=2')", "epochs excludes"),
    ("SELECT cf_new(10, 0.01, 'epochs=3 overflow=on')", "epochs excludes"),
    ("SELECT cf_merge(cf_new(10, 0.01, 'epochs=3'), cf_new(10, 0.01, 'epochs=4'))", ""),
    ("SELECT cf_merge(cf_new(10, 0.01, 'epochs=3 fingerprint_bits=12 growth=off bucket_size=4'),"
     " cf_new(10, 0.01, 'fingerprint_bits=12 growth=off bucket_size=4'))", "")])
def test_errors(db, sql, message):
    with pytest.raises(sqlite3.Error, match=message):
        db.execute(sql).fetchall()


def test_epochs_0_is_a_filter_that_does_not_age(db):
    assert support.new(db, 10, 0.01, "epochs=0") == support.new(db, 10, 0.01)


def test_built_filters_age_too(db):
    blob = ask(db, f"SELECT cf_build(value, NULL, 'epochs=2 capacity=50 {EXACT}') FROM json_each('[1, 2, 2, 3]')")
    assert info(db, blob)["items"] == 3
    older = advance(db, blob)
    both = ask(db, "SELECT cf_merge(column1) FROM (VALUES (?), (?))", blob, support.add(db, older, 4))
    assert [has(db, both, key) for key in (1, 2, 3, 4)] == [1, 1, 1, 1]
    assert [has(db, advance(db, both), key) for key in (1, 2, 3, 4)] == [0, 0, 0, 1]
    handle = "cf_open(?)"
    assert ask(db, f"SELECT cf_contains(cf_advance({handle}), 1)", older) == 0
    assert ask(db, "SELECT cf_check(cf_clear(?))", both) == "ok"


def test_looking_inside(db):
    blob = advance(db, support.add(db, support.new(db, 10, None, f"epochs=3 {EXACT}"), 1))
    blob = support.add(db, blob, 2)
    assert {row[0] for row in db.execute("SELECT payload FROM cf_buckets(?) WHERE fingerprint IS NOT NULL", (blob,))} == {0, 1}
