# SPDX-License-Identifier: MIT
"""A join by a key that few rows match, in each form that there is for it.

    joins.py full|quick FOLDER [SEED]     writes joins.tsv: with the SQLite of python3, and with the oldest and the newest one
                                          in build/versions, where these are there; and join_rows.tsv, with that of python3
    joins.py ROWS KEYS REPEATS [rows]     prints the rows of a table; LD_LIBRARY_PATH chooses the SQLite

For each kind of keys, share of rows that match, and size of the page cache: milliseconds of processor time, of wall clock,
nanoseconds of processor time for a row, and how many times as fast as the plain join, medians of REPEATS. All forms must give
the same rows, or the program ends. "unlike": texts of digits joined to integers.

- plain: JOIN, as SQLite plans it
- own: the same after ANALYZE and with a condition on the keys that is always true, for which SQLite from 3.38 on
  may make a Bloom filter of its own; the last column says whether it does
- front: JOIN with a table made by rows=on
- stored: WHERE cf_contains(handle on a stored blob)
- within: WHERE cf_contains(handle on a filter that is built within the query), the building included
- rowids: CROSS JOIN by a filter with the rowids as values, without the index (sql/small_index.sql)

join_rows.tsv reads a column of the inner table that no index has, also of small tables and of those without an index.
"""
import glob
import os
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import uuid

import database

COLUMNS = ["SQLite", "keys", "share", "cache", "form", "cpu ms", "wall ms", "ns per row", "times as fast", "own"]
SIZES = {"full": ("300000", "100000", "3"), "quick": ("5000", "2000", "1")}
ROWS, KEYS, REPEATS = map(int, sys.argv[1:4] if sys.argv[1:2] and sys.argv[1].isdigit() else SIZES["quick"])
SHARES = (0.001, 0.01, 0.1, 0.5, 1)
JOIN = "SELECT count(*), sum(r.amount) FROM r JOIN {k} AS k ON k.key = r.key"
STORED = "cf_contains((SELECT cf_open(f) FROM filters), r.key)"
BUILD, ROWIDS = "cf_build(key{how})", "cf_build(key, 0.001, 'value_bits={bits}{rule}', rowid)"
WITHIN = f"cf_contains((SELECT cf_open({BUILD}) FROM k), r.key)"
FORMS = {
    "plain": JOIN.format(k="k"),
    "own": JOIN.format(k="k") + " WHERE k.state >= 0",
    "front": JOIN.format(k="k_fast"),
    "stored": JOIN.format(k="k") + " WHERE " + STORED,
    "within": JOIN.format(k="k") + " WHERE " + WITHIN,
    "rowids": "SELECT count(*), sum(r.amount) FROM r CROSS JOIN cf_values((SELECT cf_open(rowids) FROM filters), r.key) AS v "
              "CROSS JOIN k NOT INDEXED ON k.rowid = v.value AND k.key = r.key",
    "anti plain": "SELECT count(*), sum(r.amount) FROM r WHERE NOT EXISTS (SELECT 1 FROM k WHERE k.key = r.key)",
    "anti front": "SELECT count(*), sum(r.amount) FROM r WHERE NOT EXISTS "
                  "(SELECT 1 FROM k_fast AS k WHERE k.key = r.key)",
    "anti within": f"SELECT count(*), sum(r.amount) FROM r WHERE NOT ({WITHIN} AND EXISTS "
                   "(SELECT 1 FROM k WHERE k.key = r.key))",
}
HOW = {"unlike": ", 0.01, 'affinity=numeric'"}  # more arguments of cf_build, by kind of keys
# What a key is, by its number, how both columns are declared, and how many rows k has, unless KEYS.
KINDS = {
    "rowid": (lambda i: i, "INTEGER", "INTEGER PRIMARY KEY"),
    "integer": (lambda i: i * 7919, "INTEGER", "INTEGER UNIQUE"),
    "unlike": (lambda i: i * 7919, "TEXT", "INTEGER UNIQUE"),
    "text": (TEXT := lambda i: f"user-{i:08}@example.com", "TEXT", "TEXT UNIQUE"),
    "uuid": (lambda i: str(uuid.UUID(int=random.Random(i).getrandbits(128))), "TEXT", "TEXT UNIQUE"),
    "text, 1,000 rows": (TEXT, "TEXT", "TEXT UNIQUE", 1_000),
    "text, 10,000 rows": (TEXT, "TEXT", "TEXT UNIQUE", 10_000),
    "text, 1,000 rows, no index": (TEXT, "TEXT", "TEXT", 1_000),
    "text, 10,000 rows, no index": (TEXT, "TEXT", "TEXT", 10_000),
    "text, no index": (TEXT, "TEXT", "TEXT"),
}
ROW_KINDS = ("integer", "text", *(kind for kind in KINDS if "," in kind))
READ = ("sum(r.amount)", "sum(r.amount), sum(k.state)")


def fill(db, kind, share):
    key, outer, inner, *few = KINDS[kind]
    keys, rng = min([KEYS, *few]), random.Random(5)
    db.execute(f"CREATE TABLE r(id INTEGER PRIMARY KEY, key {outer}, amount INTEGER)")
    db.execute(f"CREATE TABLE k(key {inner}, state INTEGER, reason TEXT)")
    numbers = rng.sample(range(20 * KEYS), keys + KEYS)
    present, absent = numbers[:keys], numbers[keys:]
    db.execute("BEGIN")
    db.executemany("INSERT INTO k VALUES (?, 1, 'a reason')", ((key(i),) for i in present))
    db.executemany("INSERT INTO r(key, amount) VALUES (?, ?)",
                   ((key(rng.choice(present if rng.random() < share else absent)), i % 1000) for i in range(ROWS)))
    rule = HOW.get(kind, "").rpartition(",")[2].strip(" '")
    rowids = ROWIDS.format(bits=(20 * KEYS if kind == "rowid" else KEYS).bit_length(), rule=" " + rule)
    db.execute(f"CREATE TABLE filters AS SELECT {BUILD.format(how=HOW.get(kind, ''))} AS f, {rowids} AS rowids FROM k")
    if "no index" not in kind:
        db.execute("CREATE VIRTUAL TABLE k_fast USING cuckoo_filter(content='k(key)', rows=on)")
    db.execute("COMMIT")


def plan(db, sql):
    return " ".join(row[3] for row in db.execute("EXPLAIN QUERY PLAN " + sql))


def once(db, sql):
    cpu, wall = time.process_time(), time.perf_counter()
    rows = db.execute(sql).fetchall()
    return (time.process_time() - cpu) * 1e3, (time.perf_counter() - wall) * 1e3, rows


def measure(db, forms, how="", read=("", "")):
    """Milliseconds of CPU and wall: the forms take turns, so that a busy moment hits all of them."""
    times = {form: [] for form in forms}
    answers = {}
    for _ in range(REPEATS):
        for form in forms:
            cpu, wall, rows = once(db, FORMS[form].format(how=how).replace(*read))
            times[form].append((cpu, wall))
            answers.setdefault(form.startswith("anti"), rows)
            if answers[form.startswith("anti")] != rows:
                raise SystemExit(f"{form}: other rows than the plain query")
    return {form: [statistics.median(column) for column in zip(*times[form])] for form in forms}


def lines(db, about, forms, base, own_used="", read=("", "")):
    medians = measure(db, forms, HOW.get(about[1], ""), read)
    for form, (cpu, wall) in medians.items():
        used = own_used if form == "own" else ""
        print(*about, form, f"{cpu:.1f}", f"{wall:.1f}", f"{1e6 * cpu / ROWS:.0f}", f"{medians[base][0] / cpu:.2f}",
              used or "-", sep="\t", flush=True)


def run(kind, share, folder):
    path = f"{folder}/{kind}-{share}.db"
    db = database.connect(path)
    fill(db, kind, share)
    pages = db.execute("PRAGMA page_count").fetchone()[0]
    caches = [("in cache", 2 * pages)] + [("10 times the cache", pages // 10)] * (share >= 0.5 or share == 0.01)
    for cache, size in caches:
        db.execute(f"PRAGMA cache_size = {size}")
        about = (sqlite3.sqlite_version, kind, share, cache)
        lines(db, about, ["plain", "front", "stored", "within"], "plain")
        if share == 0.01:
            lines(db, about, ["anti plain", "anti front", "anti within"], "anti plain")
    db.execute("ANALYZE")
    db.close()
    db = database.connect(path)  # a connection reads the statistics when it opens the database
    for cache, size in caches if share in (0.01, 0.5) else []:
        db.execute(f"PRAGMA cache_size = {size}")
        used = "its own filter" if "BLOOM" in plan(db, FORMS["own"]) else "no filter"
        lines(db, (sqlite3.sqlite_version, kind, share, cache + ", analyzed"), ["plain", "own", "front"], "plain", used)
    db.close()
    os.remove(path)


def run_rows(kind, share, folder):
    """The same, with a column of k that no index has."""
    path = f"{folder}/{kind}-{share}.db"
    db = database.connect(path)
    fill(db, kind, share)
    db.execute("PRAGMA cache_size = 100000")
    forms = [form for form in ("plain", "front", "stored", "rowids") if form != "front" or "no index" not in kind]
    lines(db, (sqlite3.sqlite_version, kind, share, "in cache"), forms, "plain", read=READ)
    db.close()
    os.remove(path)


def libraries():
    """Folders for LD_LIBRARY_PATH: none, the oldest version, the newest."""
    found = sorted(glob.glob("build/versions/*/libsqlite3.so.0"), key=lambda path: [int(n) for n in path.split("/")[2].split(".")])
    return ["", *(os.path.dirname(path) for path in found[:1] + found[1:][-1:])]


def printed(size, library, *more):
    done = subprocess.run([sys.executable, __file__, *SIZES[size], *more], env={**os.environ, "LD_LIBRARY_PATH": library},
                          stdout=subprocess.PIPE, text=True, check=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


def table(size, _folder, _seed):
    return {"joins": (COLUMNS, [row for library in libraries() for row in printed(size, library)]),
            "join_rows": (COLUMNS[:-1], [row[:-1] for row in printed(size, "", "rows")])}


def main():
    with tempfile.TemporaryDirectory() as folder:
        if sys.argv[4:]:
            for kind in ROW_KINDS:
                for share in (0.01, 0.5, 1):
                    run_rows(kind, share, folder)
            return
        for kind in ("rowid", "integer", "unlike", "text", "uuid"):
            for share in SHARES if kind in ("integer", "unlike", "text") else (0.01,):
                run(kind, share, folder)


if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1].isdigit():
        main()
    else:
        database.call(table)
