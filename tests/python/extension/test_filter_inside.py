# SPDX-License-Identifier: MIT
"""Looking inside with sqlite-cuckoo/filter: explain, regions and info(false), against cf_buckets of SQL and against contains."""
import pytest

import filter_process
import support
from filter_process import Failed
from support import ask

pytestmark = filter_process.needed

SHAPES = {"plain": {"capacity": 500, "layout": "plain", "growth": "off"}, "semisort": {"capacity": 500, "layout": "semisort", "growth": "off"},
          "grown": {"capacity": 40}, "one slot": {"capacity": 500, "bucket_size": 1, "growth": "off"}, "eight slots": {"capacity": 500, "bucket_size": 8},
          "counters": {"capacity": 500, "counter_bits": 3}, "wide": {"capacity": 500, "fingerprint_bits": 32},
          "stashed": {"capacity": 420, "stash": "on", "max_kicks": 1, "growth": "off", "bucket_size": 2}}
KEYS = [f"user{i}" for i in range(400)]


@pytest.fixture(scope="module")
def js(tmp_path_factory):
    filters = filter_process.Filters(tmp_path_factory.mktemp("filter"))
    yield filters
    filters.close()


@pytest.fixture(scope="module", params=SHAPES)
def made(request, js):
    """Its name in Node, and its bytes."""
    options = {"affinity": "none", **SHAPES[request.param]}  # keys of all types are asked for
    js("", "create", options.pop("capacity"), options, request.param)
    js.steps([(request.param, "add", key) for key in KEYS])
    return request.param, js(request.param, "bytes")


def entries(place):
    return [entry for entry in [*place["slots"], *place["stashed"]] if entry]


def test_explain_says_what_contains_says(js, made):
    name, _ = made
    for key in [*KEYS, *range(600), b"\0", 2.5, ""]:
        said = js(name, "explain", key)
        assert said["found"] == js(name, "contains", key) == any(entry["matches"] for place in said["buckets"] for entry in entries(place))
        assert said["found"] or key not in KEYS


def test_a_match_has_the_lowest_bits_of_the_fingerprint(js, made):
    name, _ = made
    for key in KEYS[:100]:
        for place in js(name, "explain", key)["buckets"]:
            for entry in entries(place):
                same = (int(place["fingerprint"], 16) ^ int(entry["fingerprint"], 16)) % 2 ** min(entry["bits"], place["bits"]) == 0
                assert same == entry["matches"] and len(entry["fingerprint"]) == -(-entry["bits"] // 4)


def test_slots_are_those_of_sql(js, made):
    name, blob = made
    db, there = support.connect(), {}
    for bucket, slot, fingerprint, copies in db.execute(
            "SELECT bucket, slot, fingerprint, copies FROM cf_buckets(?) WHERE slot IS NOT NULL AND fingerprint IS NOT NULL", (blob,)):
        there.setdefault(bucket, {})[slot] = fingerprint, copies
    for key in KEYS[:100]:
        for place in js(name, "explain", key)["buckets"]:
            seen = {slot: (int(entry["fingerprint"], 16), entry["copies"]) for slot, entry in enumerate(place["slots"]) if entry}
            assert seen == there.get(place["bucket"], {})
        rows = db.execute("SELECT bucket, slot, wanted, match FROM cf_explain(?, ?) WHERE source = 'bucket'", (blob, key)).fetchall()
        assert rows == [(place["bucket"], slot, int(place["fingerprint"], 16), int(bool(entry and entry["matches"])))
                        for place in js(name, "explain", key)["buckets"] for slot, entry in enumerate(place["slots"])]
    regions = js(name, "regions", 2.0**30)
    assert [region["used"] for region in regions] == [len(there.get(bucket, {})) for bucket in range(len(regions))]


def test_regions_cover_the_filter(js, made):
    name, blob = made
    buckets = ask(support.connect(), "SELECT cf_info(?) ->> 'buckets'", blob)
    for count, most in ((1.0, 64), (3.0, 2**20), (7.0, 1), (1024.0, 64)):
        regions = js(name, "regions", count, most)
        assert len(regions) == min(count, buckets) and sum(region["buckets"] for region in regions) == buckets
        assert all(region["counted"] == min(most, region["buckets"]) and 0 <= region["used"] <= region["slots"] for region in regions)
        assert all(one["bucket"] + one["buckets"] == two["bucket"] for one, two in zip(regions, regions[1:]))


def test_info_without_counting_leaves_out_what_takes_that(js, made):
    name, _ = made
    counted, at_once = js(name, "info"), js(name, "info", False)
    assert {key: value for key, value in counted.items() if key not in ("fpr_now", "saturated", "exhausted")} == at_once


def test_values_and_copies_are_shown(js):
    js("", "create", 50, {"value_bits": 7}, "v")
    js("v", "add", "ada", 99)
    found = [entry for place in js("v", "explain", "ada")["buckets"] for entry in entries(place)]
    assert [entry["value"] for entry in found] == [99]
    js("", "create", 50, {"counter_bits": 4}, "c")
    js.steps([("c", "add", "ada")] * 3)
    assert [entry["copies"] for place in js("c", "explain", "ada")["buckets"] for entry in entries(place)] == [3]


def test_wrong_uses(js):
    js("", "create", 50, "f")
    assert js("f", "explain", None) is None
    with pytest.raises(Failed, match=r"explain\(key\): key must be a string"):
        js("f", "explain", True)
    for words in ((0.0,), (1.5,), (8.0, 0), ("9",)):
        with pytest.raises(Failed, match="must be a whole number from 1"):
            js("f", "regions", *words)
    js("f", "add", "x" * 100_000)
    assert js("f", "explain", "x" * 100_000)["found"]
    js("f", "close")
    for name, words in (("explain", ("ada",)), ("regions", ())):
        with pytest.raises(Failed, match="was closed"):
            js("f", name, *words)


def test_keys_are_compared_by_the_rule_of_the_filter(js):
    js("", "create", 50, {"affinity": "text", "collation": "nocase"}, "rule")
    js.steps([("rule", "add", key) for key in ("Ada", 7)])
    for key in ("ADA", "7", 7, "eve", 0.1):
        said = js("rule", "explain", key)
        assert (said["found"], said["vague"]) == (js("rule", "contains", key), key == 0.1)
    assert not any(entry["matches"] for place in js("rule", "explain", 0.1)["buckets"] for entry in entries(place))
