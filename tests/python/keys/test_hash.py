# SPDX-License-Identifier: MIT
"""The hash of a filter: XXH3 or the keyed one (src/base/hash.h). Which one a filter has, that both are what the headers say, that
they never mix, and what the keyed one is for.

A list of cf_keys holds the hashes of its keys, so it shows them.
"""
import itertools
import json
import random
import struct

import pytest

import support
from support import BAD_PARAMETER, MISMATCH, ask, fails

HASHES = ("xxh3", "keyed")
MASK = 2**64 - 1
LIST_HEADER = 64


# ---- the keyed hash: SipHash-1-3, independent of src/base/siphash.h ----

def rotated(x, n):
    return (x << n | x >> (64 - n)) & MASK


def siphash_1_3(k0, k1, message):
    v = [k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d, k0 ^ 0x6c7967656e657261, k1 ^ 0x7465646279746573]

    def half(a, b, c, d, left, right):
        v[a], v[c] = (v[a] + v[b]) & MASK, (v[c] + v[d]) & MASK
        v[b], v[d] = rotated(v[b], left) ^ v[a], rotated(v[d], right) ^ v[c]
        v[a] = rotated(v[a], 32)

    def round_():
        half(0, 1, 2, 3, 13, 16)
        half(2, 1, 0, 3, 17, 21)

    whole = len(message) // 8 * 8
    last = int.from_bytes(message[whole:], "little") | (len(message) & 255) << 56
    for word in [*struct.unpack(f"<{whole // 8}Q", message[:whole]), last]:
        v[3] ^= word
        round_()
        v[0] ^= word
    v[2] ^= 255
    for _ in range(3):
        round_()
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def keyed(seed, message):
    x = (seed + 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9 & MASK
    return siphash_1_3(seed & MASK, x ^ x >> 32, message)


def canonical(value):
    """The bytes of ext/keys/key.h."""
    if isinstance(value, str):
        return b"\3" + value.encode()
    if isinstance(value, bytes):
        return b"\4" + value
    return struct.pack("<Qq" if isinstance(value, int) else "<Qd", 1 if isinstance(value, int) else 2, value)


def hashes_of(db, keys, options):
    """What cf_keys makes of the keys, in their order."""
    list_ = b"".join(ask(db, "SELECT cf_keys(?, NULL, ?)", key, options)[LIST_HEADER:] for key in keys)
    return list(struct.unpack(f"<{len(keys)}Q", list_))


KEYS = [0, 1, -1, 2**63 - 1, 0.5, -1e300, "", "key", "äöü", *(bytes(range(n)) for n in range(34)),
        *(b"x" * n for n in (254, 255, 256, 1022, 1023, 1024, 5000)), "y" * 600]


def test_the_keyed_hash_is_siphash_of_the_canonical_bytes(db):
    for seed in (0, 1, -1, 2**63 - 1, -2**63, 0x123456789abcdef):
        assert hashes_of(db, KEYS, f"hash=keyed seed={seed}") == [keyed(seed, canonical(key)) for key in KEYS]
    # The key rule comes before the hash.
    options = "hash=keyed affinity=integer collation=nocase"
    assert hashes_of(db, ["7", "AbC"], options) == [keyed(0, canonical(7)), keyed(0, canonical("abc"))]
    assert hashes_of(db, ["a  "], "hash=keyed collation=rtrim") == [keyed(0, canonical("a"))]


# ---- which one a filter has ----

def test_a_seed_asks_for_the_keyed_hash(db):
    for n, (options, hashed) in enumerate([
            ("", "xxh3"), ("seed=0", "xxh3"), ("seed=5", "keyed"), ("seed=-1", "keyed"), ("hash=keyed", "keyed"), ("hash=xxh3", "xxh3"),
            ("hash=xxh3 seed=5", "xxh3"), ("seed=5, hash=keyed", "keyed"), ("HASH=Keyed", "keyed")]):
        blobs = [support.new(db, 10, None, options), ask(db, "SELECT cf_build(1, NULL, ?)", options)]
        seed = "" if "seed" in options else "seed=0 "  # else the table chooses one
        db.execute(f"CREATE VIRTUAL TABLE seen{n} USING cuckoo_filter(capacity=10 {seed}{options})")
        told = [support.info(db, blob) for blob in blobs] + [support.plan(db, 10, None, options)]
        told.append(json.loads(ask(db, f"SELECT cf_table_info('seen{n}')")))
        assert {(one["hash"], one["seed"]) for one in told} == {(hashed, told[0]["seed"])}
        assert {support.field(blob, "hash") for blob in blobs} == {1 + HASHES.index(hashed)}


def test_filter_tables_are_keyed_unless_told_otherwise(db):
    for n, options in enumerate(["", ", hash=keyed", ", hash=xxh3", ", hash='keyed'", ", seed=7"]):
        db.execute(f"CREATE VIRTUAL TABLE seen{n} USING cuckoo_filter(capacity=10{options})")
        told = json.loads(ask(db, f"SELECT cf_table_info('seen{n}')"))
        assert told["hash"] == ("xxh3" if "xxh3" in options else "keyed") and told["seed"] != 0


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16le"])
def test_an_aggregate_compares_the_text_that_each_row_gives(encoding):
    """The same in all rows, to the letter."""
    db = support.connect(encoding=encoding)
    long = f"NULL, 'seed=5{' ' * 500}'"
    for first, second in [("0.01, NULL", "0.01, NULL"), ("0.5, ''", "0.5, ''"), ("NULL, NULL", "NULL, NULL"), ("0.01, NULL", "0.02, NULL"),
                          ("0.01, NULL", "NULL, NULL"), ("NULL, NULL", "NULL, 'seed=5'"), ("NULL, 'seed=5'", "NULL, NULL"),
                          ("NULL, 'seed=5'", "NULL, 'seed=6'"), ("NULL, 'seed=5'", "NULL, 'seed=5 '"), (long, long), (long, long[:-2] + ",'"),
                          ("NULL, 'hash=keyed seed=5'", "NULL, 'seed=5 hash=keyed'"), ("0.1, 'seed=1'", "0.1, 'seed=2'")]:
        sql = f"SELECT length(cf_build(column1, column2, column3)) FROM (VALUES (1, {first}), (2, {second}), (3, {first}))"
        if first == second:
            assert ask(db, sql) > 0
        else:
            fails(db, BAD_PARAMETER, sql, says="the same for all rows")
    db.close()


# ---- they never mix ----

KINDS = [(hashed, seed) for hashed in HASHES for seed in (0, 5)]


def options_of(kind):
    return f"hash={kind[0]} seed={kind[1]}"


@pytest.mark.parametrize("one, other", itertools.product(KINDS, KINDS))
def test_neither_filters_nor_lists_of_two_hashes_meet(db, one, other):
    a, b = (support.build(db, keys, None, f"capacity=100 fingerprint_bits=32 {options_of(kind)}")
            for keys, kind in ((range(50), one), (range(50, 100), other)))
    for sql in ("SELECT cf_merge(?, ?)", "SELECT cf_merge(column1) FROM (VALUES (?), (?))"):
        if one == other:
            sum_ = ask(db, sql, a, b)
            assert all(support.contains(db, sum_, key) for key in range(100))
            assert support.info(db, sum_)["hash"] == one[0]
        else:
            fails(db, MISMATCH, sql, a, b, says="differ in " + ("seed" if one[1] != other[1] else "hash"))
    made = ask(db, "SELECT cf_keys(value, NULL, ?) FROM json_each('[2, 77]')", options_of(other))
    if one != other:
        for function in ("cf_add_keys", "cf_delete_keys"):
            message = fails(db, BAD_PARAMETER, f"SELECT {function}(?, ?)", a, made, says="another hash, seed, affinity or collation")
            assert f"'hash={one[0]} seed={one[1]} " in message
        advised = message.split("NULL, '")[1].rstrip("')")
        made = ask(db, "SELECT cf_keys(value, NULL, ?) FROM json_each('[2, 77]')", advised)
    more, less = (ask(db, f"SELECT {function}(?, ?)", a, made) for function in ("cf_add_keys", "cf_delete_keys"))
    assert [support.contains(db, blob, key) for blob in (more, less) for key in (1, 2, 77)] == [1, 1, 1, 1, 0, 0]


def test_every_function_keeps_the_hash(db):
    db.execute("CREATE TABLE f(f)")
    db.execute("INSERT INTO f VALUES (cf_new(20, NULL, 'hash=keyed fingerprint_bits=32'))")
    for sql in ("cf_add(f, 7)", "cf_add_all(f, 7)", "cf_add_all((SELECT cf_open(f) FROM f), 7)",
                "cf_add(cf_clear(cf_add(f, 3)), 7)", "cf_delete(cf_add(cf_add(f, 7), 8), 8)", "cf_merge(f, cf_add(f, 7))",
                "cf_add_keys(f, (SELECT cf_keys(7, NULL, 'hash=keyed')))"):
        changed = ask(db, f"SELECT {sql} FROM f")
        assert support.info(db, changed)["hash"] == "keyed" and ask(db, "SELECT cf_check(?)", changed) == "ok"
        assert [support.contains(db, changed, key) for key in (7, 8)] == [1, 0], sql
        assert ask(db, "SELECT sum(match) FROM cf_explain(?, 7)", changed) == 1


# ---- filter tables ----

@pytest.mark.parametrize("hashed", HASHES)
def test_a_filter_table_keeps_its_hash(tmp_path, hashed):
    path = str(tmp_path / "seen.db")
    other = HASHES[1 - HASHES.index(hashed)]

    def is_sound(db, name, keys, expected=hashed):
        assert json.loads(ask(db, "SELECT cf_table_info(?)", name))["hash"] == expected
        assert support.info(db, ask(db, "SELECT cf_export(?)", name))["hash"] == expected
        assert all(ask(db, "SELECT cf_table_contains(?, ?)", name, key) for key in keys)
        assert not ask(db, "SELECT cf_table_contains(?, 'no such key')", name)
        db.execute(f"INSERT INTO {name}({name}) VALUES ('check')")

    db = support.connect(path)
    db.execute("CREATE TABLE t(k)")
    db.executemany("INSERT INTO t VALUES (?)", [(key,) for key in KEYS])
    shape = f"capacity=10, fingerprint_bits=32, hash={hashed}"
    db.execute(f"CREATE VIRTUAL TABLE f USING cuckoo_filter({shape}, content='t(k)')")
    db.execute(f"CREATE VIRTUAL TABLE own USING cuckoo_filter({shape})")
    db.execute("INSERT INTO own(key) SELECT k FROM t")
    is_sound(db, "f", KEYS)
    db.close()
    db = support.connect(path)
    is_sound(db, "own", KEYS)
    db.execute("INSERT INTO t VALUES ('later')")
    db.execute("DELETE FROM t WHERE k = 'key'")
    is_sound(db, "f", ["later", *(key for key in KEYS if key != "key")])
    assert not ask(db, "SELECT cf_table_contains('f', 'key')")
    for command in ("rebuild", "optimize"):
        db.execute("INSERT INTO f(f) VALUES (?)", (command,))
        is_sound(db, "f", ["later"])
    db.execute("ALTER TABLE own RENAME TO mine")
    is_sound(db, "mine", KEYS)
    db.execute("INSERT INTO mine(mine) VALUES ('clear')")
    is_sound(db, "mine", [])
    blob = support.build(db, [1, "imported"], None, f"fingerprint_bits=32 seed=9 hash={other}")
    db.execute("INSERT INTO mine(mine, key) VALUES ('import', ?)", (blob,))
    db.execute("INSERT INTO mine(key) VALUES ('more')")
    is_sound(db, "mine", [1, "imported", "more"], other)
    db.close()
    db = support.connect(path)
    is_sound(db, "mine", [1, "imported", "more"], other)
    is_sound(db, "f", ["later"])
    db.close()


# ---- what it is for ----

# Why these two collide under XXH3: make_pair in tests/unit/test_hash.c.
WORDS = struct.pack("<QQ", 0, ~0xfafebbbb6dedeaae & MASK)
PAIR = b"x" * 15 + WORDS, b"x" * 15 + bytes(255 - byte for byte in WORDS)


def test_a_pair_that_collides_under_one_seed_in_a_thousand_does_not_when_keyed(db):
    seeds = random.Random(1127)  # the same in each run
    db.execute("CREATE TABLE s(seed)")
    db.executemany("INSERT INTO s VALUES (?)", [(seeds.randrange(-2**63, 2**63),) for _ in range(100000)])

    def collisions(hashed, n):
        return ask(db, """
            SELECT sum(one = other) FROM (
              SELECT cf_keys(?1, NULL, ?3 || seed) AS one, cf_keys(?2, NULL, ?3 || seed) AS other
              FROM s WHERE rowid <= ?4 GROUP BY rowid)""", *PAIR, f"hash={hashed} seed=", n)

    assert 10 <= collisions("xxh3", 40000) <= 60  # 27 are expected
    assert collisions("keyed", 100000) == 0
