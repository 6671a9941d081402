# SPDX-License-Identifier: MIT
"""Filters of many shards: built by as many processes at the same time, merged, and asked, beside a set of the keys.

Each shard is a database file of its own. Some keys live in two shards. Each way of building a filter that can be merged
is tried; the filters of a case are made alike, with the same capacity, options and seed.
"""
import multiprocessing
import random

import pytest

import support
from support import ask, info

KEYS = 3000  # of all shards
SHARDS = 4


def keys_of(shard, shards, seed):
    """What a shard holds: its part of the keys, and a few of another shard."""
    rng = random.Random(f"shard {shard} {seed}")
    own = [f"key {i}" for i in range(shard, KEYS, shards)]
    guests = [f"key {rng.randrange(KEYS)}" for _ in range(KEYS // shards // 20)]
    return sorted(set(own + guests))


# ---- ways to build: (connection, capacity, options) -> blob ----

def build(db, capacity, options):
    return ask(db, "SELECT cf_build(k, 0.01, ?) FROM t", f"capacity={capacity} {options}")


def add_list(db, capacity, options):
    return ask(db, "SELECT cf_add_keys(cf_new(?1, 0.01, ?2), (SELECT cf_keys(k, NULL, ?3) FROM t))", capacity, options,
               options.replace("growth=off", ""))


def export(db, capacity, options):
    arguments = "".join(f", {option}" for option in options.split() if not option.startswith("affinity"))
    db.execute(f"CREATE VIRTUAL TABLE known USING cuckoo_filter(capacity={capacity}, content='t(k)'{arguments})")
    db.execute("DELETE FROM t WHERE rowid % 7 = 0")
    db.execute("INSERT INTO t SELECT k FROM gone WHERE k NOT IN (SELECT k FROM t)")
    return ask(db, "SELECT cf_export('known')")


def work(path, shard, shards, seed, way, capacity, options):
    """In a process of its own: a shard, and its filter."""
    db = support.connect(path)
    db.execute("PRAGMA synchronous = OFF")
    db.execute("CREATE TABLE t(k TEXT PRIMARY KEY)")
    db.execute("BEGIN")
    db.executemany("INSERT INTO t VALUES (?)", [(key,) for key in keys_of(shard, shards, seed)])
    db.execute("COMMIT")
    db.execute("CREATE TABLE gone AS SELECT k FROM t WHERE rowid % 7 = 0")
    return globals()[way](db, capacity, options)


@pytest.mark.parametrize("way, options, share", [
    ("build", "seed=5", 1),
    ("build", "seed=5 growth=off layout=semisort", 1),
    ("build", "seed=-9 counter_bits=4 affinity=text collation=nocase", 1),
    ("build", "seed=5 growth=on", 4),  # planned for a quarter: it grows while it is merged
    ("add_list", "seed=5 overflow=on", 1),
    ("export", "seed=77 affinity=text", 1),
    ("export", "seed=77 affinity=text", 4),
])
def test_shards_are_built_merged_and_asked(tmp_path, rng, way, options, share):
    seed, shards = rng.randrange(1 << 30), SHARDS
    capacity = 2 * KEYS // min(share, shards)
    with multiprocessing.get_context("fork").Pool(shards) as pool:
        filters = pool.starmap(work, [(str(tmp_path / f"{shard}.db"), shard, shards, seed, way, capacity, options)
                                      for shard in range(shards)])
    db = support.connect()
    db.execute("CREATE TABLE shipped(f BLOB)")
    db.executemany("INSERT INTO shipped VALUES (?)", [(blob,) for blob in filters])
    merged = ask(db, "SELECT cf_merge(f) FROM shipped")
    assert ask(db, "SELECT cf_check(?)", merged) == "ok"
    every = [keys_of(shard, shards, seed) for shard in range(shards)]
    assert info(db, merged)["items"] == sum(map(len, every))
    for shard, keys in enumerate(every):
        missed = [key for key in keys if not (support.contains(db, filters[shard], key) and
                                              support.contains(db, merged, key))]
        assert missed == []
    wrong = sum(support.contains(db, merged, f"nobody {i}") for i in range(5000))
    assert wrong <= 5000 * 0.03 * (2 if share > 1 else 1), wrong
    pairs = filters
    while len(pairs) > 1:  # the same by pairs, as machines in a tree would do it
        pairs = [ask(db, "SELECT cf_merge(?, ?)", *pairs[i:i + 2]) if i + 1 < len(pairs) else pairs[i]
                 for i in range(0, len(pairs), 2)]
    assert [key for keys in every for key in keys if not support.contains(db, pairs[0], key)] == []
    assert info(db, pairs[0])["items"] == info(db, merged)["items"]
