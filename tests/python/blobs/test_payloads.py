# SPDX-License-Identifier: MIT
"""counter_bits=c: 2^c copies counted in one slot, so that keys may come and go as often as they like. value_bits=v: an
approximate map from keys to small integers. tests/model has histories of both."""
import json

import pytest

import support
from support import ask, fails

ADD_ALL = "SELECT cf_add_keys(?, cf_keys(json_extract(value, '$[0]'), json_extract(value, '$[1]'))) FROM json_each(?)"


def add_pairs(db, blob, pairs):
    return ask(db, ADD_ALL, blob, json.dumps(list(pairs)))


# ---- counters ----

def test_a_build_counts_with_counters_and_not_without(db):
    keys = [1] * 7 + [2] * 3 + [3]
    counted, plain = support.build(db, keys, None, "counter_bits=4"), support.build(db, keys)
    assert [support.count(db, counted, k) for k in (1, 2, 3, 4)] == [7, 3, 1, 0]
    assert [support.count(db, plain, k) for k in (1, 2, 3, 4)] == [1, 1, 1, 0]
    assert [(support.info(db, blob)["items"], support.info(db, blob)["capacity"])
            for blob in (counted, plain)] == [(11, 3), (3, 3)]
    built = ask(db, """WITH RECURSIVE r(x) AS (VALUES (0) UNION ALL SELECT x + 1 FROM r WHERE x < 19999)
                       SELECT cf_build(x % 97, 0.01, 'counter_bits=8') FROM r""")
    assert (support.info(db, built)["items"], support.info(db, built)["capacity"]) == (20000, 97)
    assert all(support.count(db, built, k) >= 206 for k in range(97))


# ---- values ----

@pytest.mark.parametrize("options", ["", "growth=off", "bucket_size=2", "bucket_size=8", "layout=plain",
                                     "stash=on max_kicks=0 growth=off"])
def test_values_of_every_width_come_back(db, options):
    for bits in (1, 2, 7, 8, 16, 31, 32):
        top = 2**bits - 1
        pairs = list(enumerate([0, 1, top, top // 2, top - 1] * 8))
        blob = add_pairs(db, support.new(db, 40, None, f"{options} value_bits={bits} fingerprint_bits=32"), pairs)
        assert [ask(db, "SELECT cf_get(?, ?)", blob, key) for key, _ in pairs] == [value for _, value in pairs]
        assert ask(db, "SELECT cf_check(?)", blob) == "ok" and ask(db, "SELECT cf_get(?, 'never')", blob) is None
        fails(db, support.BAD_PARAMETER, "SELECT cf_add(?, 1, ?)", blob, top + 1,
              says=f"value must be an integer from 0 to {top} (value_bits={bits})")


def test_a_map_from_keys_to_shards(db):
    """Grown from 10 keys to 20,000: every key has an answer, and nearly every one is right."""
    db.execute("CREATE TABLE place AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 20000) "
               "SELECT 'user-' || i AS k, i * i % 13 AS shard FROM n")
    blob = ask(db, "SELECT cf_add_keys(cf_new(10, 0.001, 'value_bits=4'), cf_keys(k, shard)) FROM place")
    db.execute("CREATE TABLE asked AS SELECT k, shard, cf_get(?, k) AS answer FROM place", (blob,))
    assert ask(db, "SELECT count(*) FROM asked WHERE answer IS NULL") == 0
    assert ask(db, "SELECT count(*) FROM asked WHERE answer <> shard") <= 3 * 0.003 * 20000
    assert ask(db, "SELECT count(*) FROM place WHERE cf_get(?, 'not ' || k) IS NOT NULL", blob) <= 1.5 * 0.003 * 20000
    half = ask(db, "SELECT cf_delete_keys(?, cf_keys(k, shard)) FROM place WHERE shard < 6", blob)
    assert ask(db, "SELECT count(*) FROM place WHERE shard >= 6 AND NOT cf_contains(?, k)", half) == 0
    assert ask(db, "SELECT count(*) FROM place WHERE shard < 6 AND cf_contains(?, k)", half) <= 0.01 * 20000
    assert ask(db, "SELECT cf_check(?)", half) == "ok"
    assert support.info(db, half)["items"] == ask(db, "SELECT count(*) FROM place WHERE shard >= 6")
