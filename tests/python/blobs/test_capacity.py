# SPDX-License-Identifier: MIT
"""A filter planned for n keys at error rate e takes n keys, and then errs at most that often; it is no larger than it must be, and
lives long. tests/unit/shape/test_plan.c has the planner's other rules.

All keys and seeds are fixed, so these tests answer the same in every run: the promise is one failure in a million fillings, and
a failure here is a filling to look at, not bad luck. CUCKOO_TEST_SEED moves the seeds of the filters; new seeds may, once in a
thousand runs or so, hit a filling that honestly fails.
"""
import itertools
import math
import os
import sqlite3
import statistics

import pytest

import support
from support import BAD_PARAMETER, ask, fails

SIZES = [1, 2, 3, 7, 10, 100, 1000, 12345]
RATES = [0.3, 0.1, 0.01, 1e-3, 1e-5, 1e-8]
FIRST_SEED = int(os.environ.get("CUCKOO_TEST_SEED") or 0)
KEYS = "WITH RECURSIVE k(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM k LIMIT {n}) "
RANGE = "WITH RECURSIVE k(x) AS (SELECT ?2 UNION ALL SELECT x + 1 FROM k LIMIT ?3) "


def filled(db, n, fpr, options):
    """A filter planned for n keys that holds the keys 1 .. n."""
    return ask(db, KEYS.format(n=n) + f"SELECT {support.list_call('cf_add_keys', 'cf_new(?1, ?2, ?3)', 'x')} FROM k", n, fpr, options)


def seeds(count):
    return range(FIRST_SEED, FIRST_SEED + count)


def all_filled(db, n, fpr, options, count):
    """(seed, filter) for so many seeds. Of the small filters in buckets of one and of two, which cannot grow, one in a thousand
    and one in four thousand is full before: at most two are left out."""
    narrow, left_out = options.startswith(("bucket_size=1", "bucket_size=2")) and "growth=off" in options, 0
    for seed in seeds(count):
        try:
            yield seed, filled(db, n, fpr, f"{options} seed={seed}")
        except sqlite3.IntegrityError as error:
            left_out += 1
            assert narrow and n <= 1000 and left_out <= 2 and "filter is full" in str(error), error


# ---- it takes the keys ----

@pytest.mark.parametrize("options", [
    *(f"fpr={fpr}" for fpr in RATES), "growth=off", "bucket_size=1 growth=off", "bucket_size=2",
    "bucket_size=2 growth=off", "bucket_size=4",
    "bucket_size=4 growth=off", "bucket_size=8", "bucket_size=8 growth=off", "bucket_size=4 fingerprint_bits=8",
    "bucket_size=2 fingerprint_bits=12", "fingerprint_bits=32", "bucket_size=8 fingerprint_bits=4 growth=off",
    "counter_bits=4 growth=off",
    "bucket_size=4 fingerprint_bits=4 growth=off", "stash=on growth=off", "layout=plain growth=off"])
def test_it_takes_as_many_keys_as_planned(db, options):
    fpr = float(options[4:]) if options.startswith("fpr") else None if "fingerprint_bits" in options else 0.01
    for n in SIZES:
        more = "" if options.startswith("fpr") else options
        for seed, blob in all_filled(db, n, fpr, more, 30 if n <= 100 else 5 if n <= 1000 else 1):
            assert ask(db, "SELECT cf_check(?)", blob) == "ok"
            assert support.info(db, blob)["items"] == n
            assert ask(db, KEYS.format(n=n) + "SELECT count(*) FROM k WHERE NOT cf_contains(?, x)", blob) == 0, seed
            assert support.plan(db, n, fpr, more)["bytes"] == len(blob) or "growth=off" not in options


def test_a_build_holds_exactly_its_keys(db):
    for n in [*range(1, 40), 100, 1000, 12345]:
        blob = ask(db, KEYS.format(n=n) + "SELECT cf_build(x) FROM k")
        got = support.info(db, blob)
        assert (got["items"], got["capacity"]) == (n, n)
        assert ask(db, KEYS.format(n=n) + "SELECT count(*) FROM k WHERE cf_contains(?, x)", blob) == n


@pytest.mark.parametrize("options", ["", "layout=plain", "layout=semisort",
                                     "layout=semisort growth=off counter_bits=2", "seed=5",
                                     "layout=semisort growth=off stash=on max_kicks=0",
                                     "growth=off stash=on stash_size=1"])
def test_a_build_depends_on_the_keys_alone(db, rng, options):
    """Not on their order; nor, without counters, on how often they come."""
    other = support.connect()
    for n in (1, 2, 50, 3000):
        keys = [rng.choice([i, f"k{i}", i + 0.5]) for i in range(n)]
        keys += keys[:n // 5]
        expected = support.build(db, keys, None, options)
        for connection in (db, other):
            again = keys + ([] if "counter" in options else rng.choices(keys, k=rng.randrange(2 * n)))
            rng.shuffle(again)
            assert support.build(connection, again, None, options) == expected
        assert "counter" in options or support.info(db, expected)["items"] == n
    other.close()


def test_the_seed_changes_the_contents_and_nothing_else(db):
    blobs = [support.build(db, range(100), None, f"seed={seed}") for seed in (0, 1, -1)]
    assert len(set(blobs)) == 3 and len({len(blob) for blob in blobs}) == 1
    assert all(support.contains(db, blob, k) for blob in blobs for k in range(100))


def test_the_capacity_option_gives_builds_one_shape(db):
    shape = ("buckets", "bucket_size", "fingerprint_bits", "capacity")
    shapes = {tuple(support.info(db, support.build(db, range(n), 0.001, "capacity=1000"))[name] for name in shape)
              for n in (1, 50, 999, 1000)}
    planned = support.plan(db, 1000, 0.001)
    assert shapes == {tuple(planned[name] for name in shape)}
    assert support.info(db, support.build(db, range(1001), 0.001, "capacity=1000"))["capacity"] == 1001


def test_a_large_build_is_as_large_as_planned(db):
    """These keys once found no room, and the filter grew by a third. A build has its keys: it never grows."""
    n, fpr, options = 10**6, 0.01, "seed=19"
    got = support.info(db, ask(db, KEYS.format(n=n) + "SELECT cf_build(x - 1, ?, ?) FROM k", fpr, options))
    assert (got["items"], got["level"], got["split"]) == (n, 0, 0)
    assert got["bytes"] <= 1.04 * support.plan(db, n, fpr, options)["bytes"]


@pytest.mark.parametrize("rows, different, most", [(400_000, 400_000, 24 * 400_000), (400_000, 10_000, 200 * 10_000)])
def test_memory_of_a_build(db, rows, different, most):
    """8 to 24 bytes a row; of rows that repeat keys at most 200 bytes for each different key."""
    memory = support.Memory()
    memory.reset_peak()
    before = memory.used()
    blob = ask(db, KEYS.format(n=rows) + f"SELECT cf_build(x % {different}) FROM k")
    assert different * 8 < memory.peak() - before - len(blob) <= most


# ---- it is no larger than it must be ----

def test_bytes_grow_in_proportion(db):
    """No jump as from one power of two to the next: 10 % more keys cost at most 30 % more bytes, and fewer keys never cost many
    more. A large table takes (log2(1/e) + 3) / 0.95 bits per key; a smaller one needs slack."""
    for fpr in RATES:
        n = 1000
        while n < 10**8:
            a, b = support.plan(db, n, fpr)["bytes"], support.plan(db, n + n // 10, fpr)["bytes"]
            assert b <= 1.3 * a and a <= 1.01 * b, n
            n = n * 107 // 100
        bits = support.plan(db, 10**7, fpr)["bits_per_key"]
        assert bits <= max(8, math.log2(1 / fpr) + 3 + 1) / 0.95
        assert support.plan(db, 1000, fpr)["bits_per_key"] <= 1.5 * bits


@pytest.mark.parametrize("options", [None, "growth=off", "bucket_size=2 seed=5", "fingerprint_bits=16",
                                     "counter_bits=5", "value_bits=7",
                                     "epochs=12", "growth=off stash=on stash_size=77", "layout=semisort",
                                     "affinity=real collation=rtrim"])
def test_the_plan_is_what_is_built(db, options):
    for n in SIZES:
        planned, blob = support.plan(db, n, None, options), support.new(db, n, None, options)
        assert planned["bytes"] == len(blob)
        built = support.info(db, blob)
        assert {name: built[name] for name in planned} == planned
        for name, value in (pair.split("=") for pair in (options or "").split()):
            assert str(built[name]) == value


def test_semi_sorted_buckets_are_4_bits_shorter(db):
    """Of four slots: a bit per key. A stash costs a bit per bucket, and 16 bytes for each entry that it may have."""
    for n in (1, 100, 12345):
        for bits in (8, 12, 32):
            plain, short, listed = (support.plan(db, n, None, f"bucket_size=4 fingerprint_bits={bits} growth=off {more}")
                                    for more in (
                "layout=plain", "layout=semisort", "layout=plain stash=on stash_size=77"))
            assert plain["buckets"] == short["buckets"] == listed["buckets"]
            assert abs(plain["bytes"] - short["bytes"] - plain["buckets"] / 2) < 1
            assert 0 <= listed["bytes"] - plain["bytes"] - 77 * 16 - plain["buckets"] / 8 < 1
    auto, plain = support.plan(db, 10**6), support.plan(db, 10**6, None, "layout=plain")
    assert auto["layout"] == "semisort" and plain["bits_per_key"] - auto["bits_per_key"] == pytest.approx(1.03,
            abs=0.03)
    for options in ("bucket_size=2", "bucket_size=8", "bucket_size=1 growth=off", "fingerprint_bits=4 growth=off"):
        for call in ("cf_new(10, NULL, ?)", "cf_plan(10, NULL, ?)", "cf_build(1, NULL, ?)"):
            fails(db, BAD_PARAMETER, f"SELECT {call}", f"layout=semisort {options}",
                  says="layout=semisort needs bucket_size=4")
            assert ask(db, f"SELECT {call}", f"layout=auto {options}") == ask(db, f"SELECT {call}",
                                                                              f"layout=plain {options}")


# ---- it lives long ----

def turned_over(db, blob, n, turns):
    """In each turn all keys but a half leave, and as many others come; then the other half."""
    for first in range(0, turns * n, n // 2):
        blob = ask(db, RANGE + f"SELECT {support.list_call('cf_delete_keys', '?1', 'x')} FROM k", blob, first, n // 2)
        blob = ask(db, RANGE + f"SELECT {support.list_call('cf_add_keys', '?1', 'x')} FROM k", blob, first + n, n // 2)
    return blob


@pytest.mark.parametrize("options, lives", [("", True), ("growth=off", True), ("bucket_size=4 growth=off", True), ("bucket_size=8", True),
                                            ("counter_bits=1 seed=3", False)])
def test_a_filter_kept_at_capacity_stays_as_it_is(db, options, lives):
    """Nothing is refused, lost, or left behind. With counters of one bit two keys that coincide are saturated, as foretold."""
    n, turns = 1000, 40 if lives else 3
    empty = support.new(db, n, 0.01, options)
    blob = turned_over(db, ask(db, RANGE + f"SELECT {support.list_call('cf_add_keys', '?1', 'x')} FROM k", empty, 0, n), n, turns)
    got = support.info(db, blob)
    if lives:
        assert got["items"] == got["occupied"] == n and got["bytes"] == len(empty) and got["saturated"] == 0
    else:
        assert got["saturated"] > n / 200
    assert ask(db, RANGE + "SELECT sum(cf_contains(?1, x)) FROM k", blob, turns * n, n) == n


# ---- it errs as seldom as it says ----

@pytest.mark.parametrize("options", ["", "growth=off", "bucket_size=2", "bucket_size=4", "bucket_size=8",
                                     "bucket_size=1 growth=off"])
def test_the_expected_rate_at_capacity_is_what_was_asked(db, options):
    for n, fpr in itertools.product([*range(1, 65), 100, 1000, 12345, 10**5, 10**7, 10**9],
                                    [*RATES, 0.9, 0.0199, 1 / 128, 0.9999999999]):
        got = support.plan(db, n, fpr, options)["fpr_at_capacity"]
        assert 0 < got <= fpr * (1 + 1e-5), (n, fpr)  # the JSON carries six digits


@pytest.mark.parametrize("options", ["", "growth=off", "bucket_size=1 growth=off", "bucket_size=2", "bucket_size=8",
                                     "layout=plain",
                                     "stash=on max_kicks=0 stash_size=1000 growth=off",
                                     "fingerprint_bits=4 growth=off",
                                     "fingerprint_bits=5 growth=off", "fingerprint_bits=8 growth=off"])
def test_the_measured_rate_at_capacity(db, options):
    """At most what was asked, and near the expected rate, both within five standard errors.

    The expected rate takes every key for an entry of its own; keys that share theirs make it less, by a few per cent where
    fingerprints are short. A small filter errs more or less often by the luck of its seed, so the standard error is that
    between filters, and at least that of counting."""
    given = "fingerprint_bits" in options
    for n, fpr in [(1000, None)] if given else [(1, 0.3), (2, 0.1), (7, 0.01), (10, 0.3), (100, 0.01), (1000, 0.1),
                                                (1000, 0.01), (12345, 1e-3)]:
        filters, probes = (40, 1000) if n <= 100 else (6, 8000)
        rates = [ask(db, KEYS.format(n=probes) + "SELECT sum(cf_contains(?, -x)) FROM k", blob) / probes
                 for _, blob in all_filled(db, n, fpr, options, filters)]
        expected = support.plan(db, n, fpr, options)["fpr_at_capacity"]
        mean = statistics.fmean(rates)
        error = max(math.sqrt(expected * (1 - expected) / (len(rates) * probes)),
                    statistics.stdev(rates) / math.sqrt(len(rates)))
        assert mean <= (fpr or 1) + 5 * error
        assert 0.9 * expected - 5 * error <= mean <= expected + 5 * error


def test_the_rate_now_follows_the_load(db):
    blob, rates = support.new(db, 1000, 0.01), []
    assert support.info(db, blob)["fpr_now"] == 0
    for k in range(4):
        blob = support.add_all(db, blob, range(250 * k, 250 * (k + 1)))
        rates.append(support.info(db, blob)["fpr_now"])
    full = support.info(db, blob)["fpr_at_capacity"]
    assert rates == sorted(rates) and rates[0] > 0
    assert rates[3] == pytest.approx(full, rel=0.02)  # a few keys share their fingerprint at max_copies
    assert rates[1] == pytest.approx(full / 2, rel=0.02)


@pytest.mark.parametrize("options, least", [("", 1.2e-9), ("bucket_size=2", 1.2e-9), ("bucket_size=8", 2.4e-9),
                                            ("growth=off", 1e-9), ("growth=off bucket_size=8", 1e-9)])
def test_the_least_rate_is_the_one_that_the_message_names(db, options, least):
    for capacity in (1, 10, 1000, 10**6, 10**9):
        assert ask(db, "SELECT cf_plan(?, ?, ?)", capacity, least, options)
        with pytest.raises(sqlite3.OperationalError, match=rf"fpr is too small: .*{least:.2g}".replace("e-09", "e-9")):
            ask(db, "SELECT cf_plan(?, 1e-11, ?)", capacity, options)
