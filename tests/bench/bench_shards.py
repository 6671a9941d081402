# SPDX-License-Identifier: MIT
"""What filters of many shards cost: built by as many processes at once, shipped, merged, and asked.

Four million keys on eight shards (quick: 40,000), a process for each. Times are processor time. "Built" is that of the
slowest shard, which is how long all take when each has a core or a machine.
"""
import multiprocessing
import os
import time

import database

SHARDS = 8
KEYS = {"full": 4000000, "quick": 40000}  # a tenth as many absent keys are asked for, and 40,000 at least
COLUMNS = ["way", "built, s", "shipped, MB", "merged, s", "merged, MB", "asking all, ns", "wrong, %", "asking the merged one, ns",
           "the merged one wrong, %"]
NUMBERS = "WITH n(i) AS (SELECT {} UNION ALL SELECT i + {} FROM n WHERE i + {} < {}) "
MAIL = "printf('user-%08d@{}.example.com', i)"  # the seed, a number


def connect(path=":memory:"):
    return database.connect(path, synchronous="OFF", cache_size=-400000)


def timed(db, sql, *parameters):
    start = time.process_time()
    value = db.execute(sql, parameters).fetchone()[0]
    return value, time.process_time() - start


def fill(arguments):
    """The rows of a shard: every `shards`-th key."""
    path, shard, shards, keys, seed = arguments
    db = connect(path)
    db.execute("CREATE TABLE t(k TEXT)")
    db.execute(f"INSERT INTO t {NUMBERS.format(shard, shards, shards, keys)} SELECT {MAIL.format(seed)} FROM n")


def build(arguments):
    path, sql, parameters = arguments
    return timed(connect(path), sql, *parameters)


def all_at_once(pool, paths, sql, *parameters):
    """What each shard answers, and the seconds of the slowest."""
    answers = pool.map(build, [(path, sql, parameters) for path in paths], chunksize=1)
    return [blob for blob, _ in answers], max(seconds for _, seconds in answers)


def asking(db, name):
    """Nanoseconds for each absent key, and the share of these that is found: of all filters in a table, until one says
    perhaps."""
    lines = [row[0] for row in db.execute(f"SELECT rowid FROM {name}")]
    found = " OR ".join(f"cf_contains((SELECT cf_open(f) FROM {name} WHERE rowid = {line}), k)" for line in lines)
    (count, seconds), (_, scan) = (timed(db, f"SELECT count(*) FROM absent WHERE {where}") for where in (found, "k = ''"))
    asked = db.execute("SELECT count(*) FROM absent").fetchone()[0]
    return 1e9 * (seconds - scan) / asked, count / asked


def cost(db, way, filters, built, merge, are_filters=True):
    """A row of the table: how long the filters took, or the lists of keys, and what they cost from there on."""
    db.execute("CREATE TEMP TABLE shipped(f BLOB)")
    db.executemany("INSERT INTO shipped VALUES (?)", [(blob,) for blob in filters])
    db.execute("CREATE TEMP TABLE merged(f BLOB)")
    blob, merging = timed(db, merge)
    db.execute("INSERT INTO merged VALUES (?)", (blob,))
    each = asking(db, "shipped") if are_filters else None
    one = asking(db, "merged")
    db.executescript("DROP TABLE shipped; DROP TABLE merged")
    return [way, f"{built:.3f}", f"{sum(map(len, filters)) / 1e6:.2f}", f"{merging:.3f}", f"{len(blob) / 1e6:.2f}",
            *(texts_of(each) if each else "--"), *texts_of(one)]


def texts_of(asked):
    return f"{asked[0]:.0f}", f"{100 * asked[1]:.2f}"


def rows(folder, keys, seed):
    paths = [os.path.join(folder, f"shard{shard}.db") for shard in range(SHARDS)]
    db = connect()
    db.execute("CREATE TABLE absent(k TEXT)")
    db.execute(f"INSERT INTO absent {NUMBERS.format(0, 1, 1, max(keys // 10, 40000))} SELECT 'nobody-' || i FROM n")
    with multiprocessing.get_context("fork").Pool(SHARDS) as pool:
        pool.map(fill, [(path, shard, SHARDS, keys, seed) for shard, path in enumerate(paths)], chunksize=1)
        whole = os.path.join(folder, "whole.db")
        fill((whole, 0, 1, keys, seed))
        merge = "SELECT cf_merge(f) FROM shipped"
        ask_build = "SELECT cf_build(k, 0.01, ?) FROM t"
        blob, seconds = build((whole, ask_build, ("capacity=1",)))
        yield cost(db, "one database", [blob], seconds, merge)
        for way, capacity in (("shards, capacity of the sum", keys), ("shards, capacity of a shard", keys // SHARDS + 1)):
            filters, seconds = all_at_once(pool, paths, ask_build, f"capacity={capacity}")
            yield cost(db, way, filters, seconds, merge)
        lists, seconds = all_at_once(pool, paths, "SELECT cf_keys(k) FROM t")
        add = "cf_add_keys(" * SHARDS + f"cf_new({keys})" + "".join(
            f", (SELECT f FROM shipped WHERE rowid = {i + 1}))" for i in range(SHARDS))
        yield cost(db, "shards, lists of keys", lists, seconds, f"SELECT {add}", are_filters=False)


def measure(size, folder, seed):
    return {"shards": (COLUMNS, rows(folder, KEYS[size], seed))}


if __name__ == "__main__":
    database.call(measure)
