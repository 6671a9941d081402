# SPDX-License-Identifier: MIT
"""Blobs that lie: filters and exact filters (lists of keys: keys/test_key_lists.py). Whatever the bytes, every function
answers or fails; none crashes, hangs, reads out of bounds (run these under a sanitizer) or allocates much more than
it was given.

tests/model/hostile.h and sql.h try headers at their extremes, and any bytes behind them; here is what the functions
of SQL say.
"""
import sqlite3

import pytest

import support
from hostile import LONGEST, every_kind, grown, ordinary, provoke, with_bit_flipped, with_payloads
from support import BAD_BLOB, FIELDS, FULL, GROWS, SEMISORTED, VALUES, ask, fails, patched, sealed, xxh3_medium


@pytest.fixture
def db():
    """No answer of these tests may be long; should one be all the same, it must not take minutes."""
    db = support.connect()
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 20_000_000)
    yield db
    db.close()


def exact(db, n=400):
    """An exact filter; the table u has its keys, and which are members."""
    db.execute(f"CREATE TEMP TABLE u AS WITH RECURSIVE k(k) AS (SELECT 0 UNION ALL SELECT k + 1 FROM k LIMIT {n}) SELECT k, k % 4 = 0 AS m FROM k")
    return ask(db, "SELECT cf_build_exact(k, m) FROM u")


# ---- damage that is seen ----

def test_the_checksum_is_xxh3_of_the_header(db):
    """Computed here by a second implementation: what makes the tests below reach behind it."""
    for blob in every_kind(db):
        assert support.field(blob, "checksum") == xxh3_medium(blob[:60]) & 0xFFFFFFFF
        assert sealed(blob) == blob


def test_every_length_but_the_right_one_is_refused(db):
    blob = exact(db)
    assert ask(db, "SELECT cf_check(?)", blob[:64]) == "the levels do not match their checksum"
    for blob in [*every_kind(db), blob]:
        others = [blob[:n] for n in range(len(blob))] + [blob + bytes(n) for n in (1, 2, 8, 64, 5000)]
        for damaged in others + [blob + blob, blob[1:], b"\0" + blob]:
            fails(db, BAD_BLOB, "SELECT cf_contains(?, 3)", damaged, says="filter cannot be used")
            assert ask(db, "SELECT cf_check(?)", damaged) != "ok"


def test_no_changed_byte_of_an_exact_filter_is_believed(db):
    """Not even by a connection that has just read the sound filter of the same header."""
    blob = exact(db)
    for i in range(len(blob)):
        damaged = with_bit_flipped(blob, 8 * i + i % 8)
        assert ask(db, "SELECT sum(cf_contains(?, k)) FROM u", blob) == 100
        fails(db, BAD_BLOB, "SELECT cf_contains(?, 1)", damaged)
        assert ask(db, "SELECT cf_check(?)", damaged) != "ok"
        for query in ("SELECT cf_info(?)", "SELECT cf_open(?)", "SELECT * FROM cf_explain(?, 1)") if i > 3 else ():
            fails(db, BAD_BLOB, query, damaged)
    later = blob[:3] + b"\2" + blob[4:]
    assert "anew" not in fails(db, BAD_BLOB, "SELECT cf_contains(?, 1)", later, says="later version")
    assert "later version" in ask(db, "SELECT cf_check(?)", later)


def test_cf_check_sees_what_opening_does_not(db):
    blob = support.build(db, range(20), None, "bucket_size=4 fingerprint_bits=12 growth=off")
    assert "reserved" in ask(db, "SELECT cf_check(?)", with_bit_flipped(blob, 8 * len(blob) - 1))
    assert "occupied" in ask(db, "SELECT cf_check(?)", patched(blob, occupied=19))
    assert "occupied" in ask(db, "SELECT cf_check(?)", patched(blob, occupied=0))
    assert "items" in ask(db, "SELECT cf_check(?)", patched(blob, items=19))


def test_items_that_cannot_be(db):
    """Where no key is saturated each item is an entry (one that ages has its epoch there); where there is no entry opening says so."""
    nothing = patched(support.new(db, 100), items=2**48 - 1)
    fails(db, BAD_BLOB, "SELECT cf_info(?)", nothing, says="neither occupied slots nor stashed entries")
    assert "counts items" in ask(db, "SELECT cf_check(?)", nothing)
    for blob in every_kind(db):
        info, most = support.info(db, blob), patched(blob, items=2**48 - 1)
        sound = info["saturated"] > 0 or "epochs" in info
        assert ask(db, "SELECT cf_check(?)", most) == ("ok" if sound else "the header counts more items than the entries represent")
        for call in ("cf_add(?1, 99)", "cf_merge(?1, ?1)",
                     "cf_delete(?1, 3)") if info["saturated"] and not info["value_bits"] and "epochs" not in info else ():
            assert ask(db, f"SELECT cf_check({call})",
                       most) == "ok", call  # a field of 48 bits: one more must not make it unsound


# ---- headers that lie under a right checksum ----

def test_stages_payloads_and_lists_that_cannot_be_are_damage(db):
    """Not "newer": this version has growth, counters, values, layouts and stashes, and knows how they look."""
    blob = support.build(db, range(20), None, "layout=plain bucket_size=4 fingerprint_bits=10")
    for fields, says in [
            ({"level": 1}, "width of slots"), ({"split_pointer": 1}, "width of slots"), ({"slot_bits": 15}, "width of slots"),
            ({"level": 40}, "more buckets than"), ({"level": 255}, "more buckets than"),
            ({"level": 1, "slot_bits": 15}, "length"), ({"split_pointer": 2**47}, "beyond the level"),
            ({"flags": 0, "level": 1}, "growth is off"), ({"flags": 0, "split_pointer": 1}, "growth is off"),
            ({"flags": GROWS | 128}, "it has epochs, but not of 4 bits"), ({"flags": GROWS | VALUES}, "values of zero bits"),
            ({"payload_bits": 17}, "counter_bits"), ({"payload_bits": 63, "flags": VALUES}, "value_bits"),
            ({"payload_bits": 3}, "length"), ({"payload_bits": 3, "flags": VALUES}, "length"),
            ({"flags": GROWS | SEMISORTED}, "length"),
            ({"flags": SEMISORTED, "bucket_size": 8}, "semi-sorted"),
            ({"flags": SEMISORTED, "fingerprint_bits": 4, "pair_bits": 4}, "semi-sorted"),
            ({"max_kicks": 3}, "stash"), ({"stash_size": 3}, "does not grow"),
            ({"stash_size": 3, "flags": 0}, "length"),
            ({"stash_size": 4097, "flags": 0}, "stash"),
            ({"stashed": 3}, "holds more than its bound"), ({"occupied": 2**20}, "occupied")]:
        message = fails(db, BAD_BLOB, "SELECT cf_contains(?, 3)", patched(blob, **fields), says=says)
        assert "restore it" in message


# ---- bytes that never were a filter ----

def test_zeroblobs(db):
    """Blobs that SQLite has not written out yet."""
    for size in (0, 1, 64, 100000):
        for call in ("cf_contains(zeroblob({}), 1)", "cf_info(zeroblob({}))", "cf_open(zeroblob({}))"):
            fails(db, BAD_BLOB, "SELECT " + call.format(size), says="not a cuckoo filter")
    assert ask(db, "SELECT cf_contains(cf_add(cf_new(10), zeroblob(3)), x'000000')") == 1
    assert ask(db, "SELECT cf_key(zeroblob(3)) = cf_key(x'000000')") == 1


# ---- what it may cost ----

def test_memory_stays_in_proportion_to_the_blob(db):
    """No count of the header is believed before the length was compared with it."""
    memory = support.Memory()
    companion = ordinary(db)[3]
    tests = [patched(companion, **{name: 2**(8 * FIELDS[name][1]) - 1}) for name in FIELDS if name != "checksum"]
    tests += [patched(companion, buckets=2**k) for k in range(48)] + [b"\xff" * 1000, companion]
    provoke(db, companion, companion)  # statements and page cache are there now
    for blob in tests:
        before = memory.used()
        memory.reset_peak()
        provoke(db, blob, companion)
        assert memory.peak() - before < 200_000


def test_nothing_leaks_on_the_way_to_an_error():
    memory = support.Memory()
    before = memory.used()
    db = support.connect()
    companion = ordinary(db)[3]
    for blob in (b"", b"\xff" * 1000, companion[:-1], patched(companion, version=2), companion,
                 patched(companion, occupied=0), patched(companion, seed=9), *with_payloads(db), grown(db)):
        provoke(db, blob, companion)
    full = support.add(db, support.new(db, 2, None, "bucket_size=2 fingerprint_bits=32 growth=off"), 1, 2, 3, 4)
    provoke(db, full, full, key="'other'")
    db.close()
    assert memory.used() == before


# 170 bytes: merged with themselves they took ten seconds, when tables grew in vain; 83 bytes grew with the seventh key to all that the connection allows.
LABORIOUS = bytes.fromhex((
    "cf636b0201020804040d00000100000000000e000000000000000000000000000e0000000000ffffffffffff32"
    "000000000000000000000008000000c5433fab1fe0032801364000a003100138001e4002000136000020023001"
    "224017c00304010000100003380132c0194003740120c0190000600120c000000338010040156002d401360017"
    "4002900124401500029c012ec0140002980132401c00034c01344"
).ljust(2 * 170, "0"))


@pytest.mark.parametrize("sql", ["SELECT cf_merge(?, ?)", "SELECT cf_merge(column1) FROM (VALUES (?), (?))"])
def test_merging_takes_little(db, sql):
    assert len(ask(db, sql, LABORIOUS, LABORIOUS)) < LONGEST


def test_adding_takes_little(db):
    blob = bytes.fromhex("cf636b0201020b0b030b00004900000000000400000000000000000000000000000000000000ffffffffffff0400000000000000"
                         "0000000008000000c828da570000000000280000").ljust(83, b"\0")
    fails(db, FULL, f"SELECT {support.list_call('cf_add_keys', '?1', 'value')} FROM json_each('[0, 1, 2, 3, 4, 5, 6, 7, 8]')", blob, says="nothing has changed")
