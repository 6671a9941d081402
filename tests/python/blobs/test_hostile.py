# SPDX-License-Identifier: MIT
"""Blobs that lie. Whatever the bytes, every function answers or fails; none crashes, hangs, reads out of
bounds (run these under a sanitizer) or allocates more than a few times what it was given.
"""
import json
import random
import sqlite3
import struct
import time

import pytest

import support
from hostile import every_kind, grown, ordinary, provoke, semisorted, spilling, with_bit_flipped, with_payloads
from layout import NIBBLES, Table, with_list, with_overflow
from support import (BAD_BLOB, FIELDS, FULL, GROWS, HEADER, SEMISORTED, TOO_BIG, VALUES, ask, fails, patched, sealed, xxh3_medium)


@pytest.fixture
def db():
    """No answer of these tests may be long; should one be all the same, it must not take minutes."""
    db = support.connect()
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 20_000_000)
    yield db
    db.close()


# ---- the checksum, and damage it sees ----

def test_the_checksum_is_xxh3_of_the_header(db):
    """Computed here by a second implementation: what makes the tests below reach behind it."""
    for blob in ordinary(db):
        assert support.field(blob, "checksum") == xxh3_medium(blob[:60]) & 0xFFFFFFFF
        assert sealed(blob) == blob
    empty = support.new(db, 100, None, "seed=-3")
    shape = {name: support.field(empty, name) for name in ("buckets", "bucket_size", "pair_bits", "cap", "flags")}
    by_hand = support.make_blob(**shape, bits=support.field(empty, "fingerprint_bits"), seed=-3, capacity=100,
                                hash_identity=2)
    assert by_hand == empty


def test_every_flipped_bit_of_the_header_is_noticed(db):
    for blob in every_kind(db):
        for bit in range(8 * HEADER):
            damaged = with_bit_flipped(blob, bit)
            assert ask(db, "SELECT cf_check(?)", damaged) != "ok"
            fails(db, BAD_BLOB, "SELECT cf_contains(?, 3)", damaged, says="filter cannot be used")


def test_every_length_but_the_right_one_is_refused(db):
    for blob in every_kind(db):
        others = [blob[:n] for n in range(len(blob))] + [blob + bytes(n) for n in (1, 2, 8, 64, 5000)]
        others += [blob + blob, blob[1:], b"\0" + blob]
        for damaged in others:
            fails(db, BAD_BLOB, "SELECT cf_contains(?, 3)", damaged, says="filter cannot be used")
            assert ask(db, "SELECT cf_check(?)", damaged) != "ok"


def test_flipped_bits_behind_the_header(db, rng):
    """Not under the checksum: an answer may be wrong, but every call comes back."""
    for blob in every_kind(db):
        bits = range(8 * HEADER, 8 * len(blob))
        for bit in rng.sample(bits, min(40, len(bits))):
            assert provoke(db, with_bit_flipped(blob, bit), blob)


def test_cf_check_sees_what_opening_does_not(db):
    blob = support.build(db, range(20), None, "bucket_size=4 fingerprint_bits=12 growth=off")
    assert "reserved" in ask(db, "SELECT cf_check(?)", with_bit_flipped(blob, 8 * len(blob) - 1))
    assert "occupied" in ask(db, "SELECT cf_check(?)", patched(blob, occupied=19))
    assert "occupied" in ask(db, "SELECT cf_check(?)", patched(blob, occupied=0))
    assert "items" in ask(db, "SELECT cf_check(?)", patched(blob, items=19))
    crowded = support.make_blob(8, 4, 12)
    four_alike = (7 | 7 << 12 | 7 << 24 | 7 << 36).to_bytes(6, "little")
    crowded = crowded[:HEADER] + four_alike + crowded[HEADER + 6:]
    assert "cap" in ask(db, "SELECT cf_check(?)", patched(crowded, items=4, occupied=4))
    bits = support.make_blob(2, 1, 7)  # 14: two are left over
    assert "behind the last bucket" in ask(db, "SELECT cf_check(?)", bits[:HEADER + 1] + b"\x40" + bits[HEADER + 2:])


# ---- headers that lie under a right checksum ----

EXTREMES = [0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 31, 32, 33, 63, 64, 65, 127, 128, 254, 255]


@pytest.mark.parametrize("name", [name for name in FIELDS if name != "checksum"])
def test_header_fields_at_their_extremes(db, name):
    size = FIELDS[name][1]
    top = 2**(8 * size) - 1
    values = {v for v in EXTREMES + [2**k for k in range(8 * size)] + [top, top - 1, top // 2, top // 8]
              if v <= top}
    for blob in ordinary(db)[1:5]:
        for value in sorted(values | {support.field(blob, name) + d for d in (-1, 1)} - {-1, top + 1}):
            hostile = patched(blob, **{name: value})
            taken = provoke(db, hostile, blob)
            if name == "hash":
                assert taken == (value in (1, 2)), value
            if name in ("magic", "version", "slot_bits", "level", "payload_bits", "overflow_budget",
                        "spill_bound", "spilled", "split_pointer", "reserved"):
                assert taken == (value == support.field(blob, name)), value


@pytest.mark.parametrize("name, value", [("hash", 3), ("flags", 96), ("flags", 111), ("flags", 130), ("flags", 255),
                                         ("version", 3)])
def test_features_of_later_versions_are_refused_as_such(db, name, value):
    blob = patched(support.build(db, range(20)), **{name: value})
    message = fails(db, BAD_BLOB, "SELECT cf_contains(?, 3)", blob)
    assert "use the version that wrote it" in message


@pytest.mark.parametrize("fields, says", [
    ({"level": 1}, "width of slots"), ({"split_pointer": 1}, "length"), ({"slot_bits": 12}, "width of slots"),
    ({"level": 40}, "more buckets than"), ({"level": 255}, "more buckets than"), ({"level": 39}, "more buckets than"),
    ({"split_pointer": 2**47}, "prepared for growth"), ({"flags": 0, "level": 1}, "must not grow"),
    ({"flags": 0, "split_pointer": 1}, "prepared for growth"), ({"flags": GROWS | 128}, "it ages, but not by epochs"), ({"flags": GROWS | VALUES}, "values of no bits"),
    ({"payload_bits": 17}, "counter_bits"), ({"payload_bits": 33, "flags": VALUES}, "value_bits"),
    ({"payload_bits": 3}, "length"), ({"payload_bits": 3, "flags": VALUES}, "length"),
    ({"flags": GROWS | SEMISORTED}, "length"), ({"flags": SEMISORTED, "bucket_size": 8}, "semi-sorted"),
    ({"flags": SEMISORTED, "fingerprint_bits": 4, "pair_bits": 4}, "semi-sorted"),
    ({"overflow_budget": 3}, "spill list"), ({"spill_bound": 3}, "length"), ({"spill_bound": 4097}, "spill list"),
    ({"spilled": 3}, "holds more than its bound")])
def test_stages_payloads_and_lists_that_cannot_be_are_damage(db, fields, says):
    """Not "newer": this version has growth, counters, values, layouts and spill lists, and knows how they look."""
    blob = support.build(db, range(20), None, "layout=plain bucket_size=4 fingerprint_bits=10")
    message = fails(db, BAD_BLOB, "SELECT cf_contains(?, 3)", patched(blob, **fields), says=says)
    assert "restore it" in message


@pytest.mark.parametrize("name", ["level", "split_pointer", "slot_bits", "payload_bits", "flags", "buckets",
                                  "pair_bits", "fingerprint_bits", "bucket_size", "cap", "items", "occupied",
                                  "overflow_budget", "spill_bound", "spilled", "reserved"])
def test_headers_of_grown_and_spilling_filters_at_their_extremes(db, name):
    size = FIELDS[name][1]
    values = {v for v in EXTREMES + [2**k for k in range(8 * size)] + [2**(8 * size) - 1] if v < 2**(8 * size)}
    for blob in (grown(db), *with_payloads(db)[2:], *semisorted(db)[:2], *spilling(db)[1::2]):
        now = support.field(blob, name)
        for value in sorted(values | {now - 1, now + 1} - {-1, 2**(8 * size)}):
            provoke(db, patched(blob, **{name: value}), blob)


def some_list(rng):
    return rng.choice([{}, {"budget": rng.choice([0, 1, 255]), "spill_bound": rng.choice([1, 7, 40])}])


def spilled_in(blob, rng):
    return rng.randint(0, support.field(blob, "spill_bound"))


def counts_items_of_nothing(blob):
    """This alone opening refuses of the headers that are made here."""
    return support.field(blob, "items") > 0 == support.field(blob, "occupied") + support.field(blob, "spilled")


def test_grown_tables_of_anything(db, rng):
    """Headers that are sound, with any bits behind them: no terminators, entries that know too much or nothing."""
    for _ in range(100):
        level, payload, flags = rng.randint(0, 6), rng.choice([0, 0, 3, 8]), GROWS | rng.choice([0, SEMISORTED])
        bits, buckets = rng.randint(8, 24), rng.choice([2, 4, 6, 8])
        blob = support.make_blob(buckets, 4 if flags & SEMISORTED else rng.choice([2, 4, 8]), bits, rng.randint(4, 8),
                                 level=level, split=rng.randint(1, buckets << level), payload_bits=payload,
                                 flags=flags | rng.choice([0, VALUES]) if payload else flags, **some_list(rng))
        slots = (len(blob) - HEADER) // 8
        body = rng.choice([rng.randbytes, lambda n: b"\xff" * n, bytes, lambda n: rng.randbytes(n // 2) + bytes(n - n // 2)])
        hostile = patched(blob[:HEADER] + body(len(blob) - HEADER), items=rng.choice([0, 1, 2**48 - 1]),
                          occupied=rng.choice([0, 1, min(slots // 8, buckets << level)]), spilled=spilled_in(blob, rng))
        assert provoke(db, hostile, blob, rng.choice(["3", "'x'"])) != counts_items_of_nothing(hostile), hostile.hex()


def test_a_grown_table_where_nothing_can_move(db):
    """Void entries everywhere: each split copies all of them, and adding must come to an end all the same."""
    for bucket_size, level in ((2, 0), (4, 3), (8, 2)):
        empty = support.make_blob(8, bucket_size, 12, 6 if bucket_size > 2 else 8, level=level, split=8 << level, flags=1)
        width, pair_bits = support.field(empty, "slot_bits"), support.field(empty, "pair_bits")
        slots = (16 << level) * bucket_size
        bucket = sum(((1 << pair_bits) | 5) << (i * width) for i in range(bucket_size))
        table = sum(bucket << (i * Table(empty).record_bits) for i in range(16 << level))
        blob = patched(empty[:HEADER] + table.to_bytes(len(empty) - HEADER, "little"), items=slots, occupied=slots)
        assert ask(db, "SELECT cf_check(?)", blob) == "ok"
        assert support.info(db, blob)["void"] == slots
        started = time.monotonic()
        assert provoke(db, blob, empty)
        assert time.monotonic() - started < 20


def test_more_occupied_slots_than_there_are_is_refused_at_once(db):
    blob = support.make_blob(8, 4, 12)
    assert support.contains(db, patched(blob, occupied=32), 1) == 0
    fails(db, BAD_BLOB, "SELECT cf_contains(?, 1)", patched(blob, occupied=33), says="occupied")


def test_several_lies_at_once(db, rng):
    """Shapes whose size fits the length again: the table is as long as the header says."""
    companion = ordinary(db)[3]
    for _ in range(300):
        flags = rng.choice([0, SEMISORTED])
        bucket_size = 4 if flags else rng.choice([1, 2, 4, 8])
        blob = support.make_blob(rng.choice([2, 4, 6, 8, 14, 100]), bucket_size, rng.randint(4 + (flags > 0), 32),
                                 pair_bits=4, flags=flags, **some_list(rng))
        body = rng.choice([rng.randbytes, lambda n: b"\xff" * n, bytes])(len(blob) - HEADER)
        bits = support.field(blob, "fingerprint_bits")
        slots = support.field(blob, "buckets") * support.field(blob, "bucket_size")
        hostile = patched(blob[:HEADER] + body, pair_bits=rng.randint(4, min(8, bits)),
                          cap=rng.randint(1, support.field(blob, "bucket_size")),
                          items=rng.choice([0, 1, slots, 2**48 - 1]), occupied=rng.choice([0, 1, slots]),
                          capacity=rng.choice([0, 1, slots, 2**48 - 1]), flags=flags | rng.randint(0, 1),
                          seed=rng.choice([0, 1, 2**63, 2**64 - 1]), spilled=spilled_in(blob, rng))
        taken = provoke(db, hostile, companion, rng.choice(["3", "'x'", "x''", "1.5"]))
        assert taken != counts_items_of_nothing(hostile), hostile.hex()


def test_counts_at_their_limit_stay_sound(db):
    """Items is a field of 48 bits: one more than the most must not make a sound filter unsound."""
    blob = support.add(db, support.build(db, range(20), None, "capacity=100"), *[7] * 5)  # 7 may have absorbed any number
    blob = patched(blob, items=2**48 - 1)
    assert ask(db, "SELECT cf_check(?)", blob) == "ok"
    for call in ("cf_add(?1, 99)", "cf_merge(?1, ?1)", "cf_delete(?1, 3)"):
        answer = ask(db, f"SELECT {call}", blob)
        assert ask(db, "SELECT cf_check(?)", answer) == "ok", call


def test_a_table_of_equal_tags_everywhere(db):
    """No empty slot, every alternate the same few buckets: the longest search there is, and no loop."""
    for buckets in (2, 4, 6, 1000, 4002):
        for bits, pair_bits in ((4, 4), (8, 8), (32, 8)):
            empty = support.make_blob(buckets, 4, bits, pair_bits)
            table = (2**(bits * 4 * buckets) - 1) // (2**bits - 1)  # a one in every slot
            body = table.to_bytes(len(empty) - HEADER, "little")
            blob = patched(empty[:HEADER] + body, items=4 * buckets, occupied=4 * buckets)
            started = time.monotonic()
            assert provoke(db, blob, empty)
            assert time.monotonic() - started < 20


def test_items_that_cannot_be(db):
    """Where no key is sticky each item is an entry (one that ages has its epoch there); where there is no entry opening says so."""
    nothing = patched(support.new(db, 100), items=2**48 - 1)
    fails(db, BAD_BLOB, "SELECT cf_info(?)", nothing, says="neither occupied slots nor spilled entries")
    assert "counts items" in ask(db, "SELECT cf_check(?)", nothing)
    for blob in every_kind(db):
        info = support.info(db, blob)
        verdict = ask(db, "SELECT cf_check(?)", patched(blob, items=2**48 - 1))
        assert verdict == ("ok" if info["sticky"] or "epochs" in info else "the header counts more items than the entries stand for")


def test_every_change_leaves_the_items_right(db, rng):
    """All that changes a filter, and cf_check after each step."""
    for options in ("growth=off", "", "counter_bits=2", "bucket_size=2", "overflow=on overflow_budget=0 spill_bound=40"):
        blob = empty = support.new(db, 40, 0.2, options)
        for _ in range(150):
            call = rng.choice(["cf_add(?1, ?2)", "cf_add(?1, ?2)", "cf_delete(?1, ?2)", "cf_clear(?1)", "cf_merge(?1, ?3)",
                               "(SELECT cf_add_all(?1, value) FROM json_each(?4))",
                               "(SELECT cf_delete_all(?1, value) FROM json_each(?4))",
                               "cf_add_keys(?1, (SELECT cf_keys(value) FROM json_each(?4)))",
                               "cf_delete_keys(?1, (SELECT cf_keys(value) FROM json_each(?4)))"])
            if "clear" in call and rng.random() < 0.9:
                continue
            other = support.add(db, empty, *[rng.randint(0, 60) for _ in range(5)])
            keys = json.dumps([rng.randint(0, 60) for _ in range(9)])
            try:
                blob = db.execute(f"SELECT {call}, ?2, ?3, ?4", (blob, rng.randint(0, 60), other, keys)).fetchone()[0]
            except sqlite3.IntegrityError:
                pass
            assert ask(db, "SELECT cf_check(?)", blob) == "ok", call


# ---- spill lists and semi-sorted buckets ----

def test_every_fault_of_a_spill_list_is_named(db):
    for blob in spilling(db):
        table, check = Table(blob), lambda damaged: ask(db, "SELECT cf_check(?)", damaged)
        entries, first = table.list, table.list[0]
        assert check(with_list(blob, entries)) == "ok"
        assert "not sorted" in check(with_list(blob, entries[::-1]))
        for bad in (first._replace(bucket=table.buckets), first._replace(bucket=2**48 - 1), first._replace(tag=0)):
            assert "does not exist, or nothing" in check(with_list(blob, sorted([bad, *entries[1:]])))
        assert check(with_list(blob, [])) == "an overflow bit is set for nothing"
        named = min(table.overflowing())
        assert check(with_overflow(blob, named, 0)) == "an entry of the spill list has no overflow bits"
        unnamed = min(set(range(table.buckets)) - table.overflowing())
        assert check(with_overflow(blob, unnamed, 1)) == "an overflow bit is set for nothing"
        others = entries[1:]  # bits that only wider slots, after more growth, would show; a sticky bit where there is none
        bad = [first._replace(tag=first.tag | 1 << table.slot_bits),
               first._replace(payload=first.payload | 1 << table.payload_bits)]
        bad += [] if table.sticky_bits else [first._replace(sticky=1)]
        for one in bad:
            assert check(with_list(blob, [one, *others])) == "an entry of the spill list has bits that mean nothing"
        if table.spilled < table.bound:
            assert check(blob[:-1] + b"\1") != "ok"
        fails(db, BAD_BLOB, "SELECT cf_contains(?, 3)", patched(blob, spilled=table.bound + 1), says="more than its bound")


def test_a_spilled_entry_with_room_in_its_buckets_is_a_fault(db):
    """Opening cannot see it; and it is found all the same."""
    empty = support.make_blob(8, 4, 12, spill_bound=8)
    place = db.execute("SELECT bucket, wanted FROM cf_explain(?, 3) WHERE side = 'base'", (empty,)).fetchone()
    blob = with_list(empty, [(*place, 0, 0)], items=1)
    for bucket in Table(blob).overflowing():
        blob = with_overflow(blob, bucket, 1)
    assert ask(db, "SELECT cf_check(?)", blob) == "a spilled entry has room in its buckets"
    assert support.contains(db, blob, 3) == support.count(db, blob, 3) == 1
    assert ask(db, "SELECT cf_delete(?, 3)", blob) == empty


def test_more_equal_entries_in_a_list_than_any_key_spills(db):
    """A key looks at so many of them, and no further; deleting comes to an end."""
    for options in ("growth=off", "growth=off counter_bits=2", "growth=off value_bits=2"):
        empty = support.new(db, 10, None, f"{options} bucket_size=4 fingerprint_bits=12 overflow=on spill_bound=60")
        bucket, wanted = db.execute("SELECT bucket, wanted FROM cf_explain(?, 3) WHERE side = 'base'", (empty,)).fetchone()
        blob = with_list(empty, [(bucket, wanted, 0, 1 if "bits=2" in options else 0)] * 60, items=60)
        for named in Table(blob).overflowing():
            blob = with_overflow(blob, named, 1)
        assert provoke(db, blob, empty)


def test_random_lists(db, rng):
    """Entries that are near to true ones: other buckets, other bits, twice the same, in another order or number."""
    for blob in spilling(db):
        table = Table(blob)
        for _ in range(40):
            chosen = rng.choices(table.list, k=rng.randint(0, table.bound))
            entries = [(rng.choice([bucket, rng.randrange(2 * table.buckets)]),
                        tag ^ rng.choice([0, 0, 1 << rng.randrange(table.slot_bits)]),
                        sticky ^ rng.choice([0, 0, 1]), payload ^ rng.choice([0, 0, 1]))
                       for bucket, tag, sticky, payload in chosen]
            hostile = with_list(blob, rng.choice([entries, sorted(entries)]))
            for bucket in rng.sample(range(table.buckets), rng.choice([0, 3])):
                hostile = with_overflow(hostile, bucket, 1)
            assert provoke(db, hostile, blob), hostile.hex()


def test_a_long_list_of_void_entries(db):
    """Splitting a bucket would have to copy all of them: it comes to an end all the same."""
    void, n = 1 << 6 | 5, 1500
    for flags in (GROWS, GROWS | SEMISORTED):
        empty = support.make_blob(8, 4, 12, 6, split=8, flags=flags, spill_bound=n)
        for entries in ([(3, void, 0, 0)] * n, sorted((i % 16, void | i % 32, i % 7 == 0, 0) for i in range(n))):
            blob = with_list(empty, entries, items=n)
            for bucket in range(16):
                blob = with_overflow(blob, bucket, 1)
            started = time.monotonic()
            assert provoke(db, blob, empty)
            assert time.monotonic() - started < 20


def with_record(nibbles, tops, code=None):
    """A semi-sorted filter of slots of 12 bits, of which the first bucket is this."""
    empty = support.make_blob(8, 4, 12, flags=SEMISORTED)
    record = NIBBLES.index(nibbles) if code is None else code
    record |= sum(top << 12 + 8 * i for i, top in enumerate(tops))
    used = sum(map(bool, tops))
    return patched(empty[:HEADER] + record.to_bytes(len(empty) - HEADER, "little"), items=used, occupied=used)


def test_faults_of_semi_sorted_buckets_are_named(db):
    """Codes that no four nibbles have; slots in another order; empty slots that are not the first."""
    sound = with_record((0, 0, 5, 5), (0, 3, 1, 2))
    assert ask(db, "SELECT cf_check(?)", sound) == "ok"
    assert [row[0] for row in db.execute("SELECT fingerprint FROM cf_buckets(?) WHERE bucket = 0", (sound,))] \
        == [None, 0x30, 0x15, 0x25]
    for blob in (with_record((0, 0, 5, 5), (0, 3, 2, 1)), with_record((0, 0, 5, 5), (3, 0, 1, 2)),
                 *(with_record(None, (1, 2, 3, 4), code) for code in (3876, 4000, 4095))):
        assert ask(db, "SELECT cf_check(?)", blob) == "a semi-sorted bucket is not in order"
        for key in ("3", "4", "'x'"):
            assert provoke(db, blob, sound, key)


# ---- bytes that never were a filter ----

FOREIGN = {
    "empty": b"",
    "zeros": bytes(1000),
    "ones": b"\xff" * 1000,
    "text": b"hello, world",
    "the magic alone": b"\xcfck",
    "the magic and zeros": b"\xcfck\1" + bytes(200),
    "a dump of a key-value store": b"REDIS0011\xfa\tredis-ver\x057.2.4\xfa\nredis-bits\xc0@\xfe\0" + bytes(80),
    "a serialised filter of a module": struct.pack("<QHHHHQQQ", 1024, 1, 2, 500, 1, 0, 0, 512) + bytes(1024),
    "a bloom filter's bits": struct.pack("<IId", 1000, 7, 0.01) + random.Random(1).randbytes(1200),
    "a database": b"SQLite format 3\0\x10\0\1\1\0\x40\x20\x20" + bytes(4000),
    "gzip": b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + bytes(90),
    "json": b'{"capacity": 1000}' * 10,
    "an ELF header": b"\x7fELF\2\1\1" + bytes(100),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_blobs_of_others(db, name):
    assert not provoke(db, FOREIGN[name], ordinary(db)[0])
    assert ask(db, "SELECT cf_check(?)", FOREIGN[name]) != "ok"


def test_random_bytes(db, rng):
    companion = ordinary(db)[0]
    for _ in range(150):
        blob = rng.randbytes(rng.choice([0, 1, 63, 64, 65, 72, 200, 1000]))
        assert not provoke(db, blob, companion)
        dressed = sealed(b"\xcfck\1\1" + blob[5:]) if len(blob) >= 64 else blob
        provoke(db, dressed, companion)


def test_zeroblobs(db):
    """Blobs that SQLite has not written out yet."""
    for size in (0, 1, 64, 100000):
        for call in ("cf_contains(zeroblob({}), 1)", "cf_info(zeroblob({}))", "cf_open(zeroblob({}))"):
            fails(db, BAD_BLOB, "SELECT " + call.format(size), says="not a cuckoo filter")
    blob = support.new(db, 10)
    assert support.contains(db, blob, 0) == 0
    assert ask(db, "SELECT cf_contains(cf_add(?, zeroblob(3)), x'000000')", blob) == 1
    assert ask(db, "SELECT cf_key(zeroblob(3)) = cf_key(x'000000')") == 1


# ---- what it may cost ----

def test_memory_stays_in_proportion_to_the_blob(db, rng):
    """No count of the header is believed before the length was compared with it."""
    memory = support.Memory()
    companion = ordinary(db)[3]
    tests = [patched(companion, **{name: 2**(8 * FIELDS[name][1]) - 1}) for name in FIELDS if name != "checksum"]
    tests += [patched(companion, buckets=2**k) for k in range(48)] + [FOREIGN["ones"], companion]
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
    for blob in (b"", FOREIGN["ones"], companion[:-1], patched(companion, version=2), companion,
                 patched(companion, occupied=0), patched(companion, seed=9), *with_payloads(db), grown(db)):
        provoke(db, blob, companion)
    full = support.add(db, support.new(db, 2, None, "bucket_size=2 fingerprint_bits=32 growth=off"), 1, 2, 3, 4)
    provoke(db, full, full, key="'other'")
    db.close()
    assert memory.used() == before


# ---- found by trying ----

def full_of_short_entries(rng, buckets, bucket_size, bits, pair_bits):
    """Every slot in use, by entries that know one bit beyond their bucket at most; the number of items is a lie."""
    empty = support.make_blob(buckets, bucket_size, bits, pair_bits, 2, level=2, split=4 * buckets, flags=GROWS)
    table, width, slots = Table(empty), support.field(empty, "slot_bits"), 0
    for bucket in range(table.buckets):
        for slot in range(bucket_size):
            known = pair_bits + rng.randint(0, 1)
            slots |= (1 << known | rng.getrandbits(known)) << bucket * table.record_bits + slot * width
    body = slots.to_bytes(len(empty) - HEADER, "little")
    return patched(empty[:HEADER] + body, items=2**48 - 1, occupied=table.buckets * bucket_size)


@pytest.mark.parametrize("buckets, bucket_size, bits, pair_bits", [(2, 8, 26, 24), (2, 4, 26, 24), (8, 4, 12, 6)])
def test_a_number_of_items_that_is_a_lie_does_not_let_a_merge_grow_without_bound(db, buckets, bucket_size, bits, pair_bits):
    """Entries that double when buckets are split, and headers that say there are 2^48 - 1 of them: splitting would go on as
    long as there is memory. src/filter/merge.c has the bound."""
    rng = random.Random(1)
    one, other = (full_of_short_entries(rng, buckets, bucket_size, bits, pair_bits) for _ in range(2))
    most = 16 * (len(one) + len(other)) + (1 << 18)
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, most // 2)
    fails(db, TOO_BIG, "SELECT cf_merge(?, ?)", one, other, says="SQLITE_LIMIT_LENGTH")
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 20_000_000)
    memory = support.Memory()
    before = memory.used()
    memory.reset_peak()
    fails(db, FULL, "SELECT cf_merge(?, ?)", one, other, says="filter is full")
    assert memory.peak() - before < 4 * most
