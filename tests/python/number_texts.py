# SPDX-License-Identifier: MIT
"""Texts that are numbers, written under one version of SQLite and asked under another one, each in a process of its own:

    number_texts.py write FILE N SEED    tables and filters of N texts
    number_texts.py ask FILE             prints JSON: by filter, how many keys its table finds under this SQLite, and how many of
                                         these the filter reports absent; what else is wrong
"""
import contextlib
import json
import math
import random
import sqlite3
import struct
import sys
from decimal import Context, Decimal

import support
from support import ask

TYPES = {"text": "TEXT", "number": "NUMERIC", "real": "REAL", "untyped": ""}
AFFINITIES = ("text", "numeric", "real")
EXACT = Context(prec=1100)


def digits(rng, n):
    return "".join(rng.choice("0123456789") for _ in range(n))


def half(rng, one):
    """Half-way between a double and the next one, or beside that: to its last digit, cut off, or with a digit more."""
    other = math.nextafter(one, rng.choice([-math.inf, math.inf]))
    text = format(EXACT.divide(EXACT.add(Decimal(one), Decimal(other)), 2), rng.choice("ffe")) if math.isfinite(other) else "1e309"
    mantissa, mark, exponent = text.partition("e" if "e" in text else "E")
    point = mantissa.find(".") if "." in mantissa else len(mantissa)
    kind = rng.randrange(4)
    if kind == 0:
        mantissa += ("" if "." in mantissa else ".") + "0" * rng.randrange(3) + "1"
    elif kind < 3:
        mantissa = mantissa[:max(point + 1, rng.choice([17, 18, 19, 20, 21, 22, 25]))]
    return mantissa + mark + exponent


def number_text(rng):
    """Of any kind: digits, fractions, exponents, half-way cases, beside integers, tiny and huge."""
    kind, n = rng.randrange(12), rng.choice([1, 3, 10, 15, 16, 17, 18, 19, 20, 21, 25, 30])
    some, cut = digits(rng, n), rng.randrange(n + 1)
    if kind == 0:
        return some
    if kind == 1:
        return f"{some}.{digits(rng, rng.randrange(1, 12))}"
    if kind == 2:
        return f"{some}e{rng.randrange(-345, 312)}"
    if kind == 3:
        return f"{some[:cut]}.{some[cut:]}"
    if kind == 4:
        return f"-{some[:cut]}.{some[cut:]}e{rng.randrange(-40, 40)}"
    if kind == 5:
        return half(rng, struct.unpack("d", struct.pack("Q", rng.getrandbits(63) % (0x7fe << 52)))[0])
    if kind == 6:
        return half(rng, rng.random() * 10**rng.randrange(-5, 20))
    if kind == 7:
        return half(rng, float(rng.choice([0, 1, 2, 10, 1000, 2**52, 2**53, 10**15, 999999999999999, rng.randrange(10**6),
                                           rng.randrange(2**53), rng.randrange(2**63)])))
    if kind == 8:
        return repr(rng.random() * 10**rng.randrange(-5, 20))
    if kind == 9:
        return "0." + "0" * rng.randrange(30) + some
    if kind == 10:
        return f"{rng.uniform(-1e4, 1e4):.{rng.randrange(5, 9)}f}"
    return str(rng.randrange(2**50, 2**65)) + rng.choice([".0", ".5", "e0", "", ".49", "\0", " ", "e-3"])


def write(path, n, seed):
    rng = random.Random(seed)
    db = support.connect(path)
    db.execute("PRAGMA synchronous = OFF")
    db.execute("CREATE TABLE asked(id INTEGER PRIMARY KEY, t TEXT)")
    db.execute("BEGIN")
    db.executemany("INSERT INTO asked(t) VALUES (?)", ((number_text(rng),) for _ in range(n)))
    for name, kind in TYPES.items():
        db.execute(f"CREATE TABLE {name}(k {kind})")
        db.execute(f"INSERT INTO {name} SELECT t FROM asked")
        db.execute(f"CREATE INDEX by_{name} ON {name}(k)")
    db.execute("INSERT INTO untyped SELECT CAST(t AS REAL) FROM asked WHERE id % 7 = 0")
    db.execute("COMMIT")
    for name in TYPES:  # one that was drained, one with all in its log, and one that shows the rows
        db.execute(f"CREATE VIRTUAL TABLE f_{name} USING cuckoo_filter(content='{name}(k)', fpr=1e-6)")
        db.execute(f"CREATE VIRTUAL TABLE r_{name} USING cuckoo_filter(content='{name}(k)', fpr=1e-6, rows=on)")
        db.execute(f"CREATE TABLE late_{name}(k {TYPES[name]})")
        db.execute(f"CREATE INDEX by_late_{name} ON late_{name}(k)")
        db.execute(f"CREATE VIRTUAL TABLE l_{name} USING cuckoo_filter(content='late_{name}(k)', fpr=1e-6)")
        db.execute(f"INSERT INTO late_{name} SELECT k FROM {name} LIMIT 800")
    db.execute("CREATE TABLE blobs(name TEXT, rows TEXT, f BLOB)")
    for rule in AFFINITIES:
        db.execute(f"CREATE VIRTUAL TABLE d_{rule} USING cuckoo_filter(capacity=1000, fpr=1e-6, affinity={rule}, counter_bits=8)")
        db.execute(f"INSERT INTO d_{rule}(key) SELECT t FROM asked")
        for rows in TYPES:
            for way in ("cf_build(k, 1e-6, '{0} counter_bits=8')", "cf_add_keys(cf_new(100, 1e-6, '{0} counter_bits=8'), cf_keys(k, NULL, '{0}'))",
                        "cf_add_keys(cf_new(100, 1e-6, '{0} seed=5 counter_bits=8'), cf_keys(k, NULL, '{0} seed=5'))"):
                made = way.format("affinity=" + rule)
                db.execute("INSERT INTO blobs SELECT ?, ?, f FROM (SELECT " + made + f" AS f FROM {rows})", (f"{rule}: {way[:8]}{len(way)}", rows))
    db.close()


def count_absent(db, says, rows, key, condition, again=False):
    """Of the different keys of a column: how many does the table find, and how many of these does the filter deny?"""
    source, column = key.split(".")
    found = f'temp."found {rows} {key}"'  # of the column's own affinity, which a comparison depends on
    if again:
        db.execute(f"DROP TABLE {found}")
    db.execute(f"""CREATE TABLE IF NOT EXISTS {found} AS SELECT * FROM (SELECT DISTINCT {column} AS k FROM {source}) AS q
                   WHERE EXISTS (SELECT 1 FROM {rows} AS d WHERE d.k = q.k)""")
    return db.execute(f"SELECT count(*), ifnull(sum({says} = 0), 0) FROM {found} AS q WHERE {condition}").fetchone()


def ask_all(path):
    db = support.connect(path)
    found, wrong = {}, []

    def take(name, counts):
        old = found.get(name, (0, 0))
        found[name] = (old[0] + counts[0], old[1] + counts[1])

    # Keys of each type: as they were written, as this SQLite reads them, and as a numeric column here stores them.
    db.execute("CREATE TEMP TABLE now(k NUMERIC)")
    db.execute("INSERT INTO now SELECT t FROM asked")
    keys = [f"{name}.k" for name in TYPES] + ["asked.t", "now.k"]
    for name in TYPES:
        for key in keys:
            take(f"content, {name}", count_absent(db, f"cf_table_contains('f_{name}', k)", name, key, "1"))
            take(f"content in the log, {name}", count_absent(db, f"cf_table_contains('l_{name}', k)", f"late_{name}", key, "1"))
            take(f"rows=on, {name}", count_absent(db, f"EXISTS (SELECT 1 FROM r_{name} AS r WHERE r.k = q.k)", name, key, "1"))
    # A filter of one column is asked for those of another: by the rule that SQLite compares by.
    for (label, rows), rule in ((pair, pair[0].split(":")[0]) for pair in db.execute("SELECT name, rows FROM blobs")):
        if rule == "text" and rows in ("number", "real"):
            continue  # a fraction that was added is not found as a text
        says = f"cf_contains((SELECT cf_open(f) FROM blobs WHERE name = '{label}' AND rows = '{rows}'), k)"
        for key in keys if rule == "text" else ["number.k", "real.k", "now.k"]:
            take(label, count_absent(db, says, rows, key, "1"))
        if rule != "text" and rows in ("number", "real"):
            take(label, count_absent(db, says, rows, "text.k", "1"))
    for rule in AFFINITIES:
        for key in keys:
            take(f"direct, {rule}", count_absent(db, f"cf_table_contains('d_{rule}', k)", "text", key, f"'{rule}' <> 'real' OR typeof(k) <> 'integer'"))
    # Half is deleted under this SQLite. All is trusted, counted, and the rest is there.
    for name in TYPES:
        kept = ask(db, f"SELECT count(*) - count(*) / 2 FROM {name}")
        db.execute(f"DELETE FROM {name} WHERE rowid IN (SELECT rowid FROM {name} ORDER BY rowid LIMIT (SELECT count(*) / 2 FROM {name}))")
        for table in (f"f_{name}", f"r_{name}"):
            db.execute(f"INSERT INTO {table}({table}) VALUES ('drain')")
            info = json.loads(ask(db, "SELECT cf_table_info(?, 'all')", table))
            if not info["trusted"] or info["items"] != kept or ask(db, "SELECT cf_table_check(?)", table) != "ok":
                wrong.append((table, info["trusted"], info["why"] if not info["trusted"] else "", info["items"], kept))
        take(f"content, {name}", count_absent(db, f"cf_table_contains('f_{name}', k)", name, f"{name}.k", "1", True))
    for rule in AFFINITIES:
        db.executemany(f"DELETE FROM d_{rule} WHERE key = ?", db.execute("SELECT t FROM asked WHERE id % 2").fetchall())
        db.execute(f"INSERT INTO d_{rule}(d_{rule}) VALUES ('drain')")
        items, left = json.loads(ask(db, f"SELECT cf_table_info('d_{rule}')"))["items"], ask(db, "SELECT sum(id % 2 = 0) FROM asked")
        if items != left:
            wrong.append((f"d_{rule}", items, left))
        blob = ask(db, "SELECT f FROM blobs WHERE name LIKE ? AND rows = 'text'", f"{rule}: cf_add_k77")
        blob = ask(db, "SELECT cf_delete_keys(?, cf_keys(t, NULL, ?)) FROM asked", blob, f"affinity={rule}")
        if support.info(db, blob)["items"] != 0:
            wrong.append((rule, "cf_delete_keys", support.info(db, blob)["items"]))
    db.close()
    return {"version": sqlite3.sqlite_version, "found": found, "wrong": wrong}


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    else:
        with contextlib.suppress(BrokenPipeError):
            print(json.dumps(ask_all(sys.argv[2])))
