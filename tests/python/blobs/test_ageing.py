# SPDX-License-Identifier: MIT
"""Filters that age: epochs=n, cf_advance. tests/model has histories, with merges of filters in different epochs."""
import support
from support import BAD_PARAMETER, ask, fails, info

EXACT = "fingerprint_bits=32"


def advance(db, blob, times=1):
    for _ in range(times):
        blob = ask(db, "SELECT cf_advance(?)", blob)
    return blob


def has(db, blob, key):
    return ask(db, "SELECT cf_contains(?, ?)", blob, key)


def test_a_key_is_found_for_so_many_epochs(db):
    for epochs in (1, 2, 7, 12, 15):
        blob = support.add(db, support.new(db, 100, None, f"epochs={epochs} {EXACT}"), "ada")
        for epoch in range(epochs):
            assert has(db, blob, "ada") and info(db, blob)["epoch"] == epoch
            blob = advance(db, blob)
        assert not has(db, blob, "ada") and info(db, blob)["items"] == 0


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


def test_single_keys_are_not_deleted(db):
    for call in ("cf_delete(?, 1)", "cf_delete(?, NULL)", "cf_delete_keys(?, cf_keys(1))",
                 "cf_delete_keys(?, (SELECT cf_keys(1)))"):
        says = fails(db, BAD_PARAMETER, f"SELECT {call}", support.new(db, 10, None, "epochs=3"),
                     says="filter expires keys (epochs=3)")
        assert says.endswith("use cf_advance")


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
    assert {row[0] for row in db.execute("SELECT payload FROM cf_buckets(?) WHERE fingerprint IS NOT NULL",
                                         (blob,))} == {0, 1}
