# SPDX-License-Identifier: MIT
"""Key lists: cf_keys collects keys, cf_add_keys and cf_delete_keys take them in one call (ext/functions/key_list_functions.c)."""
import itertools
import json
import sqlite3
import struct

import pytest

import support
from support import BAD_BLOB, BAD_PARAMETER, FULL, HEADER, TOO_BIG, ask, fails, sealed

KEYS = "(SELECT cf_keys(value) FROM json_each(?))"
MANY = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {}) "
# What = tells apart, and what it does not.
MIXED = [1, 1.0, "1", b"1", 1.5, "a", "A", "a ", b"a", "", b"", 2**53 + 1, float(2**53), -0.0, 0, "x\0y", "ä" * 300]
OPTIONS = ["", "growth=off", "counter_bits=4", "layout=semisort", "layout=plain bucket_size=8",
           "growth=off stash=on max_kicks=0 stash_size=40"]
RULES = ["", "seed=5", "seed=5 hash=xxh3", "hash=keyed collation=nocase", "seed=-9223372036854775808",
         "affinity=integer", "affinity=text collation=nocase seed=3", "affinity=real", "collation=rtrim"]


@pytest.fixture
def mixed(db):
    db.execute("CREATE TABLE mixed(k)")
    db.executemany("INSERT INTO mixed VALUES (?)", [(key,) for key in MIXED + [None] + MIXED[3:9]])
    return db


# ---- the same as one by one ----

def test_a_list_adds_and_deletes_what_single_calls_do(mixed):
    for options, rule in itertools.product(OPTIONS, RULES):
        both = f"{options} {rule}"
        made = f"(SELECT cf_keys(k, NULL, '{both}') FROM mixed)"
        for list_call, single_call in (("cf_add_keys", "cf_add"), ("cf_delete_keys", "cf_delete")):
            if "add" in list_call:
                blob = single = ask(mixed, f"SELECT cf_new(100, 0.001, '{both}')")
            blob = ask(mixed, f"SELECT {list_call}(?, {made})", blob)
            for key, in mixed.execute("SELECT k FROM mixed").fetchall():
                single = ask(mixed, f"SELECT {single_call}(?, ?)", single, key)
            assert ask(mixed, "SELECT cf_check(?)", blob) == "ok"
            assert support.info(mixed, blob)["items"] == support.info(mixed, single)["items"]
            for key in MIXED + ["other", 77, None]:
                assert support.count(mixed, blob, key) == support.count(mixed, single, key), (both, key)


def test_a_list_may_be_used_for_several_filters(db):
    db.execute("CREATE TABLE filters AS SELECT cf_new(10 * value, 1e-6) AS f FROM json_each('[1, 2, 3]')")
    db.execute("UPDATE filters SET f = cf_add_keys(f, (SELECT cf_keys(value) FROM json_each('[\"a\", 5]')))")
    assert db.execute("SELECT cf_contains(f, 'a'), cf_contains(f, 5) FROM filters").fetchall() == [(1, 1)] * 3
    db.execute("UPDATE filters SET f = cf_delete_keys(f, (SELECT cf_keys(value) FROM json_each('[\"a\"]')))")
    assert db.execute("SELECT cf_contains(f, 'a'), cf_contains(f, 5) FROM filters").fetchall() == [(0, 1)] * 3


def test_groups_go_to_their_filters(db):
    db.executescript("""CREATE TABLE filters AS SELECT value AS name, cf_new(9) AS f FROM json_each('["a", "b", "c"]');
                        CREATE TABLE new(name, k); INSERT INTO new VALUES ('a', 1), ('b', 2), ('a', 3);""")
    db.execute("UPDATE filters SET f = cf_add_keys(f, (SELECT cf_keys(k) FROM new WHERE new.name = filters.name))")
    found = "SELECT name, cf_contains(f, 1), cf_contains(f, 2), cf_contains(f, 3) FROM filters"
    assert db.execute(found).fetchall() == [("a", 1, 0, 1), ("b", 0, 1, 0), ("c", 0, 0, 0)]


def test_a_filter_grows_for_a_list(db):
    keys = list(range(3000))
    blob = ask(db, f"SELECT cf_add_keys(cf_new(10, 1e-6), {KEYS})", json.dumps(keys))
    assert support.info(db, blob)["level"] > 5 and ask(db, "SELECT cf_check(?)", blob) == "ok"
    assert all(support.contains(db, blob, key) for key in keys)
    blob = ask(db, f"SELECT cf_delete_keys(?, {KEYS})", blob, json.dumps(keys[:1000]))
    assert support.info(db, blob)["items"] == 2000
    assert all(support.contains(db, blob, key) for key in keys[1000:])


def test_a_handle_does_as_well(db):
    db.execute("CREATE TABLE filters(f)")
    db.execute("INSERT INTO filters VALUES (cf_new(100))")
    handle = "(SELECT cf_open(f) FROM filters)"
    for keys in ([1, 2, 3], []):
        assert (ask(db, f"SELECT cf_add_keys({handle}, {KEYS})", json.dumps(keys))
                == ask(db, f"SELECT cf_add_keys(f, {KEYS}) FROM filters", json.dumps(keys)))


def test_a_full_filter_refuses_a_list_and_stays(db):
    blob = support.new(db, 5, None, "growth=off bucket_size=2 fingerprint_bits=32")
    db.execute("CREATE TABLE filters(f)")
    db.execute("INSERT INTO filters VALUES (?)", (blob,))
    fails(db, FULL, f"UPDATE filters SET f = cf_add_keys(f, {KEYS})", json.dumps(list(range(99))),
          says="filter is full")
    assert ask(db, "SELECT f FROM filters") == blob


# ---- values ----

def test_values(db):
    db.execute("CREATE TABLE place(k, v)")
    db.executemany("INSERT INTO place VALUES (?, ?)", [(f"k{i}", i % 16) for i in range(200)] + [("k7", 3), (None, 9)])
    for options in ("value_bits=4", "value_bits=4 seed=7 affinity=text"):
        made = f"SELECT cf_keys(k, v, '{options}') FROM place"
        blob = ask(db, f"SELECT cf_add_keys(cf_new(10, 0.0001, '{options}'), ({made}))")
        assert blob == ask(db, f"SELECT cf_add_keys(cf_new(10, 0.0001, '{options}'), cf_keys(k, v, '{options}')) FROM place WHERE k IS NOT NULL")
        assert ask(db, "SELECT count(*) FROM place WHERE cf_get(?, k) IS v", blob) >= 200
        half = ask(db, f"SELECT cf_delete_keys(?, ({made} WHERE v < 8))", blob)
        assert ask(db, "SELECT sum(cf_get(?, k) < 8) FROM place WHERE k <> 'k7'", half) == 0
        assert ask(db, f"SELECT cf_delete_keys(?, ({made}))", blob) != blob


# ---- key rules ----

def test_a_list_of_another_rule_is_an_error_that_says_what_to_write(db):
    for call, of, by in [("cf_add_keys", rule, "") for rule in RULES[1:]] + [("cf_delete_keys", "", rule)
                                                                             for rule in RULES[1:]]:
        made = f"(SELECT cf_keys(value, NULL, '{by}') FROM json_each('[1, 2]'))"
        text = fails(db, BAD_PARAMETER, f"SELECT {call}(cf_new(9, 0.01, '{of}'), {made})", function=call,
                     says="cf_keys(key, NULL, '")
        remedy = text[text.index("cf_keys("):].replace("key", "value", 1).replace("cf_value", "cf_key")
        assert ask(db, f"SELECT {call}(cf_new(9, 0.01, '{of}'), (SELECT {remedy} FROM json_each('[1, 2]')))")


def test_options_that_do_not_concern_keys_are_taken(db):
    blob = ask(db, "SELECT cf_keys(1, NULL, 'capacity=5 bucket_size=2 layout=plain growth=off')")
    assert blob == ask(db, "SELECT cf_keys(1)") == ask(db, "SELECT cf_keys(1, NULL, NULL)")
    fails(db, BAD_PARAMETER, "SELECT cf_keys(1, NULL, column1) FROM (VALUES ('seed=1'), ('seed=2'))",
          says="the same for all rows")


# ---- no keys ----

def test_an_empty_list_changes_nothing_whatever_the_filter(db):
    for options in ("", "seed=5", "value_bits=3", "affinity=text"):
        blob = support.new(db, 10, None, options)
        for made in ("cf_keys(value) FROM json_each('[]')", "cf_keys(NULL)", "cf_keys(NULL, 3, 'seed=8')"):
            for call in ("cf_add_keys", "cf_delete_keys"):
                assert ask(db, f"SELECT {call}(?, (SELECT {made}))", blob) == blob


def test_a_list_of_no_group_is_an_error(db):
    for call in ("cf_add_keys", "cf_delete_keys"):
        fails(db, BAD_PARAMETER, f"SELECT {call}(cf_new(9), (SELECT cf_keys(1) FROM json_each('[]') GROUP BY value))",
              function=call, says="without GROUP BY")


# ---- the bytes ----

def test_the_bytes_are_those_of_the_format(db):
    blob = ask(db, "SELECT cf_keys(value, NULL, 'seed=-2 affinity=real collation=nocase') FROM json_each('[5, 6, 5]')")
    assert blob[:8] == bytes([0xcf, 0x6b, 0x6c, 1, 2 + 0x30, 0, 3, 1]) and blob[24:60] == bytes(36)
    assert struct.unpack("<qQ", blob[8:24]) == (-2, 3) and sealed(blob) == blob
    assert len(blob) == HEADER + 3 * 8
    hashes = struct.unpack("<3Q", blob[HEADER:])
    assert hashes[0] == hashes[2] != hashes[1]
    valued = ask(db, "SELECT cf_keys(value, value * 2) FROM json_each('[5, 6, 5]')")
    assert len(valued) == HEADER + 3 * 16 and valued[4:6] == bytes([1 + 0x10, 1])
    assert struct.unpack("<6Q", valued[HEADER:])[1::2] == (10, 12, 10)


def test_hostile_lists(db, rng):
    filters = [support.new(db, 10), support.new(db, 10, None, "value_bits=3")]
    lists = [ask(db, f"SELECT cf_keys({arguments}) FROM json_each('[1, 2, 3]')")
             for arguments in ("value", "value, value")]
    made = [b"", b"\xcf", lists[0][:HEADER - 1], lists[0][:HEADER], lists[0] + b"x", lists[0] + bytes(8), lists[1][:-8],
            filters[0], bytes(HEADER), lists[0][:HEADER - 4] + bytes(4) + lists[0][HEADER:], sealed(bytes(HEADER))]
    made += [sealed(lists[0][:16] + struct.pack("<Q", n) + lists[0][24:]) for n in (2, 4, 2**61, 2**61 + 3, 2**64 - 1)]
    made += [sealed(lists[0][:at] + bytes([value]) + lists[0][at + 1:])
             for at in range(60) if at not in range(8, 16) for value in (7, 255)]
    for blob in made:
        for call in ("cf_add_keys", "cf_delete_keys"):
            fails(db, BAD_BLOB, f"SELECT {call}(?, ?)", filters[0], blob, says="keys must be a list made by cf_keys")
    for _ in range(300):
        blob = bytearray(rng.choice(lists))
        blob[rng.randrange(len(blob))] ^= 1 << rng.randrange(8)
        for filter in filters:
            try:
                changed = ask(db, "SELECT cf_add_keys(?, ?)", filter, bytes(blob))
                assert ask(db, "SELECT cf_check(?)", changed) == "ok"
            except sqlite3.Error as error:
                assert error.sqlite_errorname in ("SQLITE_CORRUPT_VTAB", "SQLITE_ERROR")


def test_a_list_in_another_order_means_the_same(db):
    blob = ask(db, "SELECT cf_keys(value) FROM json_each('[1, 2, 3]')")
    turned = blob[:HEADER] + blob[-8:] + blob[HEADER:-8]
    changed = ask(db, "SELECT cf_add_keys(cf_new(10), ?)", turned)
    assert [support.count(db, changed, key) for key in (1, 2, 3)] == [1, 1, 1]


def test_the_length_limit(db):
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, HEADER + 8 * 1000 + 1)
    assert len(ask(db, MANY.format(1000) + "SELECT cf_keys(i) FROM n")) == HEADER + 8 * 1000
    for n in (1001, 5000):
        fails(db, TOO_BIG, MANY.format(n) + "SELECT cf_keys(i) FROM n", says="longer than this connection allows")


# ---- interrupts ----

def test_long_calls_are_interrupted(db):
    n = 300_000
    blob = ask(db, f"SELECT cf_new({n})")
    made = ask(db, MANY.format(n) + "SELECT cf_keys(i) FROM n")
    for call in ("cf_add_keys", "cf_delete_keys"):
        calls = []
        db.set_progress_handler(lambda: len(calls) > 3 or calls.append(1), 30)
        with pytest.raises(sqlite3.OperationalError, match="interrupted"):
            ask(db, f"SELECT length({call}(?, ?))", blob, made)
        db.set_progress_handler(None, 0)


@pytest.mark.parametrize("layout", ["plain", "semisort"])
@pytest.mark.parametrize("add", ["SELECT cf_add_keys(?, cf_keys(value)) FROM json_each(?)", f"SELECT cf_add_keys(?, {KEYS})"])
def test_a_filter_that_was_filled_and_emptied_takes_as_many_keys_again(db, layout, add):
    """Filled a little beyond its capacity, where it may be about to grow."""
    first, again = json.dumps(list(range(5060))), json.dumps(list(range(10000, 14500)))
    blob = support.new(db, 5000, None, f"bucket_size=4 fingerprint_bits=12 layout={layout}")
    blob = ask(db, "SELECT cf_add_keys(?, cf_keys(value)) FROM json_each(?)", blob, first)
    blob = ask(db, "SELECT cf_delete_keys(?, cf_keys(value)) FROM json_each(?)", blob, first)
    assert support.info(db, blob)["occupied"] == 0 and support.info(db, blob)["items"] == 0
    blob = ask(db, add, blob, again)
    assert ask(db, "SELECT count(*) FROM json_each(?) WHERE NOT cf_contains(?, value)", again, blob) == 0
    assert ask(db, "SELECT cf_check(?)", blob) == "ok"
