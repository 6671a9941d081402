# SPDX-License-Identifier: MIT
"""The hash of a filter: XXH3 or the keyed one (src/base/hash.h). Which one a filter has, that keys keep their hashes, that the two
never mix, and what the keyed one is for.

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


# ---- the bytes of a key ----

def hashes_of(db, keys, options):
    """What cf_keys makes of the keys, in their order."""
    list_ = b"".join(ask(db, "SELECT cf_keys(?, NULL, ?)", key, options)[LIST_HEADER:] for key in keys)
    return list(struct.unpack(f"<{len(keys)}Q", list_))


KEYS = [0, -1, 2**63 - 1, 0.5, -1e300, "", "key", "äöü", b"", bytes(range(33)), b"x" * 255, "y" * 1024]
VECTORS = {  # of the bytes that ext/keys/key.h describes
    "hash=keyed": """268caf05fba5180d e0b9fe5b3660f50c 53e9a31166dfa89a bb2ed7979ab58043 0e7d19227bf2c64a c8041460ed7eff32
        cf2d213a7442db2e 15d03e605352e313 1a92a4b3e44bcaff 2e97cf7333dc57e8 e25e8248280397de d8fe969aa8ab8c25""",
    "hash=keyed seed=-9223372036854775808": """18f18473f1f458e8 e9cbc2d4bc87be0b 6454df5cb96f1203 2d801e8ddd02fb83 1d3b5a2ca960463d
        d17fd1d78e32d521 022688975a825af4 636bc5a53ef31181 c329a34486a6a701 ed0630568ba493d4 580db451424cf862 54f723c569a872f2""",
    "hash=xxh3": """26f2a1148cf52011 789e7db5cade5857 36116caf59aafe93 d1ccbe49bde7cab5 20f17e1618080d67 13e608bc156defed
        3cf3007014d666a6 62c7dea812d599f6 73b2284b32bf8672 ad62180a4b80cca2 e15d56eee4d29598 24fd4b3cf72a27ec""",
    "hash=xxh3 seed=1": """90eaca64a6019570 b1e11e9723bff026 9b1d6e808254f141 12d97fdf5a810684 5fb95d5d65fc6e0b 49787df7898ccbb7
        1b0afe6ea1cf0b36 6700a3745df65dc5 66649ac09c56b30f 4c005c7afef00f1f 2ae5c74a8009a399 19baeb312274670e"""}


def test_keys_hash_as_they_always_have(db):
    """Filters are kept: no key of any type may get another hash."""
    for options, hashes in VECTORS.items():
        assert [f"{hash_:016x}" for hash_ in hashes_of(db, KEYS, options)] == hashes.split()
    # The key rule comes before the hash.
    abc, seven = hashes_of(db, ["abc", 7], "hash=keyed")
    assert hashes_of(db, ["AbC", "7", "7.0"], "hash=keyed affinity=integer collation=nocase") == [abc, seven, seven]
    assert hashes_of(db, ["abc  "], "hash=keyed collation=rtrim") == [abc]


# ---- which one a filter has ----

def test_a_seed_asks_for_the_keyed_hash(db):
    for n, (options, hashed) in enumerate([
            ("", "xxh3"), ("seed=0", "xxh3"), ("seed=5", "keyed"), ("seed=-1", "keyed"), ("hash=keyed", "keyed"),
            ("hash=xxh3", "xxh3"),
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
    for first, second in [("0.01, NULL", "0.01, NULL"), ("0.5, ''", "0.5, ''"), ("NULL, NULL", "NULL, NULL"),
                          ("0.01, NULL", "0.02, NULL"),
                          ("0.01, NULL", "NULL, NULL"), ("NULL, NULL", "NULL, 'seed=5'"),
                          ("NULL, 'seed=5'", "NULL, NULL"),
                          ("NULL, 'seed=5'", "NULL, 'seed=6'"), ("NULL, 'seed=5'", "NULL, 'seed=5 '"), (long, long),
                          (long, long[:-2] + ",'"),
                          ("NULL, 'hash=keyed seed=5'", "NULL, 'seed=5 hash=keyed'"),
                          ("0.1, 'seed=1'", "0.1, 'seed=2'")]:
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


@pytest.mark.parametrize("one, other", list(itertools.product(KINDS, KINDS)))
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
            message = fails(db, BAD_PARAMETER, f"SELECT {function}(?, ?)", a, made,
                            says="another hash, seed, affinity or collation")
            assert f"'hash={one[0]} seed={one[1]} " in message
        advised = message.split("NULL, '")[1].rstrip("')")
        made = ask(db, "SELECT cf_keys(value, NULL, ?) FROM json_each('[2, 77]')", advised)
    more, less = (ask(db, f"SELECT {function}(?, ?)", a, made) for function in ("cf_add_keys", "cf_delete_keys"))
    assert [support.contains(db, blob, key) for blob in (more, less) for key in (1, 2, 77)] == [1, 1, 1, 1, 0, 0]


def test_every_function_keeps_the_hash(db):
    db.execute("CREATE TABLE f(f)")
    db.execute("INSERT INTO f VALUES (cf_new(20, NULL, 'hash=keyed fingerprint_bits=32'))")
    for sql in ("cf_add(f, 7)", "cf_add_keys((SELECT cf_open(f) FROM f), cf_keys(7, NULL, 'hash=keyed'))",
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
    db.executemany("INSERT INTO s VALUES (?)", [(seeds.randrange(-2**63, 2**63),) for _ in range(40000)])

    def collisions(hashed, n):
        return ask(db, """
            SELECT sum(one = other) FROM (
              SELECT cf_keys(?1, NULL, ?3 || seed) AS one, cf_keys(?2, NULL, ?3 || seed) AS other
              FROM s WHERE rowid <= ?4 GROUP BY rowid)""", *PAIR, f"hash={hashed} seed=", n)

    assert 10 <= collisions("xxh3", 40000) <= 60  # 27 are expected
    assert collisions("keyed", 40000) == 0
