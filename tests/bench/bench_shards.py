# SPDX-License-Identifier: MIT
"""What filters of many shards cost: built by as many processes at once, shipped, merged, and asked.

    python3 tests/bench/bench_shards.py [KEYS [SHARDS]]

KEYS of all shards together, 4,000,000 unless given; 8 shards. Prints a table. Times are processor time. "Built" is that of
the slowest shard, which is how long all take when each has a core or a machine.
"""
import multiprocessing
import os
import sqlite3
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
EXTENSION = os.path.join(HERE, "..", "..", "build", "cuckoo")
ASKED = 400000
NUMBERS = "WITH n(i) AS (SELECT {} UNION ALL SELECT i + {} FROM n WHERE i + {} < {}) "
MAIL = "printf('user-%08d@example.com', i)"


def connect(path=":memory:"):
    db = sqlite3.connect(path, isolation_level=None)
    db.enable_load_extension(True)
    db.load_extension(EXTENSION)
    db.execute("PRAGMA synchronous = OFF")
    db.execute("PRAGMA cache_size = -400000")
    return db


def timed(db, sql, *parameters):
    start = time.process_time()
    value = db.execute(sql, parameters).fetchone()[0]
    return value, time.process_time() - start


def fill(arguments):
    """The rows of a shard: every `shards`-th key."""
    path, shard, shards, keys = arguments
    db = connect(path)
    db.execute("CREATE TABLE t(k TEXT)")
    db.execute(f"INSERT INTO t {NUMBERS.format(shard, shards, shards, keys)} SELECT {MAIL} FROM n")


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
    return 1e9 * (seconds - scan) / ASKED, count / ASKED


def report(db, title, filters, built, merge, are_filters=True):
    """One line of the table: how long the filters took, or the lists of keys, and what they cost from there on."""
    db.execute("CREATE TEMP TABLE shipped(f BLOB)")
    db.executemany("INSERT INTO shipped VALUES (?)", [(blob,) for blob in filters])
    db.execute("CREATE TEMP TABLE merged(f BLOB)")
    blob, merging = timed(db, merge)
    db.execute("INSERT INTO merged VALUES (?)", (blob,))
    each, wrong_each = asking(db, "shipped") if are_filters else (0, 0)
    one, wrong_one = asking(db, "merged")
    db.executescript("DROP TABLE shipped; DROP TABLE merged")
    print(f"| {title} | {built:.2f} | {sum(map(len, filters)) / 1e6:.1f} | {merging:.2f} | {len(blob) / 1e6:.1f} "
          f"| {f'{each:.0f} | {100 * wrong_each:.2f}' if are_filters else '- | -'} | {one:.0f} | {100 * wrong_one:.2f} |")


def main(keys, shards):
    folder = tempfile.mkdtemp()
    paths = [os.path.join(folder, f"shard{shard}.db") for shard in range(shards)]
    db = connect()
    db.execute("CREATE TABLE absent(k TEXT)")
    db.execute(f"INSERT INTO absent {NUMBERS.format(0, 1, 1, ASKED)} SELECT 'nobody-' || i FROM n")
    print(f"{keys} e-mail addresses on {shards} shards, a process each, SQLite {sqlite3.sqlite_version}")
    print("| way | built, s | shipped, MB | merged, s | MB | asking all, ns | wrong, % | the merged one, ns | wrong, % |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    with multiprocessing.get_context("fork").Pool(shards) as pool:
        pool.map(fill, [(path, shard, shards, keys) for shard, path in enumerate(paths)], chunksize=1)
        whole = os.path.join(folder, "whole.db")
        fill((whole, 0, 1, keys))
        merge = "SELECT cf_merge(f) FROM shipped"
        ask_build = "SELECT cf_build(k, 0.01, ?) FROM t"
        blob, seconds = build((whole, ask_build, ("capacity=1",)))
        report(db, "one database", [blob], seconds, merge)
        for title, capacity in (("shards, capacity of the sum", keys),
                                ("shards, capacity of a shard", keys // shards + 1)):
            filters, seconds = all_at_once(pool, paths, ask_build, f"capacity={capacity}")
            report(db, title, filters, seconds, merge)
        lists, seconds = all_at_once(pool, paths, "SELECT cf_keys(k) FROM t")
        add = "cf_add_keys(" * shards + f"cf_new({keys})" + "".join(
            f", (SELECT f FROM shipped WHERE rowid = {i + 1}))" for i in range(shards))
        report(db, "shards, lists of keys", lists, seconds, f"SELECT {add}", are_filters=False)
    for path in paths + [whole]:
        os.remove(path)
    os.rmdir(folder)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4000000,
         int(sys.argv[2]) if len(sys.argv) > 2 else 8)
