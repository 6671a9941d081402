# SPDX-License-Identifier: MIT
"""joins.py - a join by a key that few rows match, in each form that there is for it.

    joins.py [ROWS [KEYS [REPEATS]]]      (1,000,000 rows, 300,000 keys, medians of 5)

CUCKOO_SO is the extension; the SQLite is that of python3 (LD_LIBRARY_PATH chooses another one). For each kind of
keys, share of rows that match, and size of the page cache, a line of CSV: milliseconds of CPU, of wall, and the
ratio to the plain join. All forms must give the same rows, or the program ends.

- plain: JOIN, as SQLite plans it
- own: the same after ANALYZE and with a condition on the keys that is always true, for which SQLite from 3.38 on
  may make a Bloom filter of its own; `used` says whether it does
- front: JOIN with a table made by rows=on
- stored: WHERE cf_contains(handle on a stored blob)
- within: WHERE cf_contains(handle on a filter that is built within the query), the building included
"""
import os
import random
import sqlite3
import statistics
import sys
import tempfile
import time
import uuid

ROWS, KEYS, REPEATS = (int(a) for a in (sys.argv[1:] + ["1000000", "300000", "5"][len(sys.argv) - 1:])[:3])
SHARES = (0.001, 0.01, 0.1, 0.5)
JOIN = "SELECT count(*), sum(r.amount) FROM r JOIN {k} AS k ON k.key = r.key"
STORED = "cf_contains((SELECT cf_open(f) FROM filters), r.key)"
WITHIN = "cf_contains((SELECT cf_open(cf_build(key)) FROM k), r.key)"
FORMS = {
    "plain": JOIN.format(k="k"),
    "own": JOIN.format(k="k") + " WHERE k.state >= 0",
    "front": JOIN.format(k="k_fast"),
    "stored": JOIN.format(k="k") + " WHERE " + STORED,
    "within": JOIN.format(k="k") + " WHERE " + WITHIN,
    "anti plain": "SELECT count(*), sum(r.amount) FROM r WHERE NOT EXISTS (SELECT 1 FROM k WHERE k.key = r.key)",
    "anti front": "SELECT count(*), sum(r.amount) FROM r WHERE NOT EXISTS "
                  "(SELECT 1 FROM k_fast AS k WHERE k.key = r.key)",
    "anti within": f"SELECT count(*), sum(r.amount) FROM r WHERE NOT ({WITHIN} AND EXISTS "
                   "(SELECT 1 FROM k WHERE k.key = r.key))",
}
# What a key is, by its number, and how both columns are declared: that of k has an index.
KINDS = {
    "rowid": (lambda i: i, "INTEGER", "INTEGER PRIMARY KEY"),
    "integer": (lambda i: i * 7919, "INTEGER", "INTEGER UNIQUE"),
    "text": (lambda i: f"user-{i:08}@example.com", "TEXT", "TEXT UNIQUE"),
    "uuid": (lambda i: str(uuid.UUID(int=random.Random(i).getrandbits(128))), "TEXT", "TEXT UNIQUE"),
}


def connect(path):
    db = sqlite3.connect(path, isolation_level=None)
    db.enable_load_extension(True)
    db.load_extension(os.environ.get("CUCKOO_SO", "build/cuckoo").removesuffix(".so"))
    return db


def fill(db, kind, share):
    key, outer, inner = KINDS[kind]
    rng = random.Random(5)
    db.execute(f"CREATE TABLE r(id INTEGER PRIMARY KEY, key {outer}, amount INTEGER)")
    db.execute(f"CREATE TABLE k(key {inner}, state INTEGER, reason TEXT)")
    numbers = rng.sample(range(20 * KEYS), 2 * KEYS)
    present, absent = numbers[:KEYS], numbers[KEYS:]
    db.execute("BEGIN")
    db.executemany("INSERT INTO k VALUES (?, 1, 'a reason')", ((key(i),) for i in present))
    db.executemany("INSERT INTO r(key, amount) VALUES (?, ?)",
                   ((key(rng.choice(present if rng.random() < share else absent)), i % 1000) for i in range(ROWS)))
    db.execute("CREATE TABLE filters AS SELECT cf_build(key) AS f FROM k")
    db.execute("CREATE VIRTUAL TABLE k_fast USING cuckoo_filter(content='k(key)', rows=on)")
    db.execute("COMMIT")


def plan(db, sql):
    return " ".join(row[3] for row in db.execute("EXPLAIN QUERY PLAN " + sql))


def once(db, sql):
    cpu, wall = time.process_time(), time.perf_counter()
    rows = db.execute(sql).fetchall()
    return (time.process_time() - cpu) * 1e3, (time.perf_counter() - wall) * 1e3, rows


def measure(db, forms):
    """Milliseconds of CPU and wall: the forms take turns, so that a busy moment hits all of them."""
    times = {form: [] for form in forms}
    answers = {}
    for _ in range(REPEATS):
        for form in forms:
            cpu, wall, rows = once(db, FORMS[form])
            times[form].append((cpu, wall))
            answers.setdefault(form.startswith("anti"), rows)
            if answers[form.startswith("anti")] != rows:
                raise SystemExit(f"{form}: other rows than the plain query")
    return {form: [statistics.median(column) for column in zip(*times[form])] for form in forms}


def lines(db, about, forms, base, own_used=""):
    medians = measure(db, forms)
    for form, (cpu, wall) in medians.items():
        used = own_used if form == "own" else ""
        print(f"{about},{form},{cpu:.0f},{wall:.0f},{medians[base][0] / cpu:.2f},{used}", flush=True)


def run(kind, share, folder):
    path = f"{folder}/{kind}-{share}.db"
    db = connect(path)
    fill(db, kind, share)
    pages = db.execute("PRAGMA page_count").fetchone()[0]
    for cache, size in (("in cache", 2 * pages), ("10 times the cache", pages // 10)):
        db.execute(f"PRAGMA cache_size = {size}")
        about = f"{sqlite3.sqlite_version},{kind},{share},{cache}"
        lines(db, about, ["plain", "front", "stored", "within"], "plain")
        lines(db, about, ["anti plain", "anti front", "anti within"], "anti plain")
    db.execute("ANALYZE")
    db.close()
    db = connect(path)  # a connection reads the statistics when it opens the database
    for cache, size in (("in cache", 2 * pages), ("10 times the cache", pages // 10)):
        db.execute(f"PRAGMA cache_size = {size}")
        used = "its own filter" if "BLOOM" in plan(db, FORMS["own"]) else "no filter"
        lines(db, f"{sqlite3.sqlite_version},{kind},{share},{cache}, analyzed", ["plain", "own", "front"], "plain", used)
    db.close()
    os.remove(path)


def main():
    print("sqlite,keys,share,cache,form,cpu_ms,wall_ms,times_as_fast,own")
    with tempfile.TemporaryDirectory() as folder:
        for kind in KINDS:
            for share in SHARES:
                run(kind, share, folder)


main()
