# SPDX-License-Identifier: MIT
"""Filter tables whose rows somebody has damaged, and everything that is then done with them.

A trial takes a filter table of some kind, damages its shadow tables in one way, and uses it: on the connection that had it in
memory, on one that was open, or on a new one. Each statement answers or fails with a message. A key that is denied without
an error is missing in silence: then 'check' must say that the table is damaged. Damage that a hostile writer gave right
checksums may be believed; it must not crash or hang. In the end the table is dropped, and one that is made anew works.
"""
import json
import os
import random
import shutil
import sqlite3
import time
from collections import Counter
from dataclasses import dataclass, field

import rows
import support
from support import ask

MEANINGLESS = {"", "SQL logic error", "not an error", "database disk image is malformed", "unknown error"}
SAYS_DAMAGED = ("damaged", "cannot be used", "missing")
TICKS = 3000  # of 1000 steps of SQLite: a statement that needs more is stopped


class Wrong(Exception):
    """A promise that was not kept."""


@dataclass
class Kind:
    """A filter table with keys. `values`: the keys are pairs of one key and its values."""
    options: str
    keys: int
    first: int = 0      # so many keys are there when the older state is saved
    values: bool = False
    content: bool = False


WAITS = "capacity=4, growth=on, bucket_size=4, fingerprint_bits=8, seed=0"
KINDS = {
    "direct": Kind("capacity=400, bucket_size=4, seed=0", 300),
    "one page": Kind("capacity=60, seed=0", 50),
    "grown": Kind("capacity=8, fingerprint_bits=12, seed=0", 600),
    "sparse": Kind("capacity=100000, seed=0", 12),
    "fixed": Kind("capacity=300, growth=off, layout=semisort, bucket_size=4, seed=0", 250),
    "counters": Kind("capacity=200, counter_bits=5, seed=0", 150),
    "overflow": Kind("capacity=40, growth=off, bucket_size=4, fingerprint_bits=12, overflow=on, overflow_budget=0, spill_bound=30, seed=0", 46),
    "values": Kind("capacity=100, value_bits=5, seed=0", 80),
    "waiting": Kind("capacity=4, value_bits=8, seed=0", 40, values=True),
    "followed": Kind("capacity=300, seed=0", 200, content=True),
    "followed, random seed": Kind("capacity=20", 200, content=True),
    "followed, crowded": Kind("capacity=10, bucket_size=2, fingerprint_bits=12, seed=0", 100, content=True),
}


# ---- making them ----

def add(db, kind, numbers):
    if kind.content:
        db.executemany("INSERT INTO u(k) VALUES (?)", ((n,) for n in numbers))
    elif kind.values:
        db.executemany("INSERT INTO f(key, value) VALUES (1, ?)", ((n % 200,) for n in numbers))
    elif "value_bits" in kind.options:
        db.executemany("INSERT INTO f(key, value) VALUES (?, ?)", ((n, n % 32) for n in numbers))
    else:
        db.executemany("INSERT INTO f(key) VALUES (?)", ((n,) for n in numbers))


def make(path, kind):
    """The database, with an older state of the rows and those of a twin that holds other keys in tables beside it."""
    db = support.connect(path)
    db.execute("PRAGMA page_size = 512")
    db.execute("PRAGMA synchronous = OFF")
    db.execute("CREATE TABLE u(id INTEGER PRIMARY KEY, k)")
    content = ", content='u(k)'" if kind.content else ""
    db.execute(f"CREATE VIRTUAL TABLE f USING cuckoo_filter({kind.options}{content})")
    if not kind.content:
        add(db, kind, range(5000, 5000 + kind.keys))
        db.execute("CREATE TABLE twin AS SELECT no, data FROM f_page")
        db.execute("INSERT INTO f(f) VALUES ('clear')")
    else:
        db.execute("CREATE TABLE twin AS SELECT no, data FROM f_page")
    add(db, kind, range(0, kind.keys // 2))
    db.execute("CREATE TABLE older AS SELECT no, data FROM f_page")
    add(db, kind, range(kind.keys // 2, kind.keys))
    db.execute("INSERT INTO f(f) VALUES ('check')")
    db.close()


# ---- damage: functions of a connection; they return what they did ----

def some_row(db, rng):
    return rng.choice(db.execute("SELECT no, data FROM f_page").fetchall() * 2 + db.execute(
        "SELECT no, data FROM f_page WHERE no <= 0").fetchall())


def put(db, no, data):
    db.execute("UPDATE f_page SET data = ? WHERE no = ?", (data, no))


def change_bytes(db, rng):
    no, data = some_row(db, rng)
    changed = bytearray(data)
    places = [rng.randrange(len(data)) for _ in range(rng.choice([1, 1, 1, 2, 20]))]
    for at in places:
        changed[at] ^= rng.choice([1, 0x80, 0xff, rng.randrange(1, 256)])
    put(db, no, bytes(changed))
    return f"row {no}: bytes {places}" if changed != data else "nothing"


def other_length(db, rng):
    no, data = some_row(db, rng)
    cut = rng.randrange(len(data))
    other = rng.choice([data[:cut], data[cut + 1:], data + b"\0", data + data, data + bytes(100000), data[:-8], b"", data[:-1]])
    put(db, no, other)
    return f"row {no}: {len(other)} bytes"


def other_type(db, rng):
    no, data = some_row(db, rng)
    other = rng.choice(["text", 5, 2.5, None, "", -1, "1" * len(data)])
    put(db, no, other)
    return f"row {no}: {other!r:.20}"


def as_text(db, rng):
    no, _ = some_row(db, rng)
    db.execute("UPDATE f_page SET data = CAST(data AS TEXT) WHERE no = ?", (no,))
    return f"row {no} as text"


def other_content(db, rng):
    no, data = some_row(db, rng)
    put(db, no, rng.choice([bytes(len(data)), rng.randbytes(len(data)), b"\xff" * len(data)]))
    return f"row {no}: other bytes"


def missing(db, rng):
    no, _ = some_row(db, rng)
    db.execute("DELETE FROM f_page WHERE no = ?", (no,))
    return f"row {no} deleted"


def all_missing(db, rng):
    where = rng.choice(["", "WHERE no > 0", "WHERE no >= 0", "WHERE no < 1"])
    db.execute(f"DELETE FROM f_page {where}")
    return f"rows deleted {where}"


def copied(db, rng):
    no, data = some_row(db, rng)
    to = rng.choice([no + 1, no - 1, 1, 0, -1, -2, rng.randrange(1, 30), 10**6, 2**62])
    db.execute("INSERT OR REPLACE INTO f_page VALUES (?, ?)", (to, data))
    return f"row {no} copied to {to}" if to != no and to != -2 else "nothing"


def swapped(db, rng):
    (one, first), (two, second) = some_row(db, rng), some_row(db, rng)
    put(db, one, second)
    put(db, two, first)
    return f"rows {one} and {two} swapped" if one != two else "nothing"


def of_another_time(db, rng):
    """A row of before, or of a table with the same seed and other keys: with a right checksum."""
    source = rng.choice(["older", "twin"])
    no, data = rng.choice(db.execute(f"SELECT no, data FROM {source} WHERE no >= 0").fetchall())
    same = db.execute("SELECT data FROM f_page WHERE no = ?", (no,)).fetchone() == (data,)
    db.execute("INSERT OR REPLACE INTO f_page VALUES (?, ?)", (no, data))
    return "nothing" if same else f"row {no} of the {source} one"


def shifted(db, rng):
    by = rng.choice(["-no", "no + 1000000", "no + 1000001", "no * 2 + 100"])
    db.execute(f"UPDATE OR REPLACE f_page SET no = {by}")
    return f"numbers: {by}"


def wait_column(db, rng):
    column = rng.choice(["hash", "value", "adds", "deletes"])
    new = rng.choice(["-1", "1", "0", "'text'", "1.5", "x'00'", "adds + 1", "9223372036854775807", "-9223372036854775808", "256",
                      "1 << 40", f"{column} + 1", f"CAST({column} AS TEXT) || 'x'", "value + 1", "NULL"])
    where = rng.choice(["", "WHERE value = (SELECT min(value) FROM f_wait)", "WHERE value % 3 = 1"])
    db.execute(f"UPDATE OR REPLACE f_wait SET {column} = {new} {where}")
    return f"f_wait: {column} = {new} {where}"


def wait_rows(db, rng):
    sql = rng.choice(["DELETE FROM f_wait", "DELETE FROM f_wait WHERE value % 3 = 1",
                      "DELETE FROM f_wait WHERE value = (SELECT max(value) FROM f_wait)",
                      "INSERT INTO f_wait SELECT abs(random()), -1, 1, 0 FROM u UNION SELECT 7, 0, 1, 0",
                      "INSERT INTO f_wait SELECT 77, 0, 1 << 56, 0", "INSERT INTO f_wait SELECT hash, value + 1000, adds, deletes FROM f_wait",
                      "INSERT INTO f_wait VALUES (12345, 3, 1, 0)", "INSERT INTO f_wait VALUES ('x', 'y', 'z', 1)",
                      "INSERT INTO f_wait VALUES (5, 0, 0, 1)"])
    db.execute(sql)
    return sql


def other_tables(db, rng):
    name = rng.choice(["f_page", "f_page", "f_wait"])
    columns = {"f_page": "no, data", "f_wait": "hash, value, adds, deletes"}[name]
    sql = rng.choice([
        f"DROP TABLE {name}",
        f"ALTER TABLE {name} RENAME TO real; CREATE VIEW {name} AS SELECT * FROM real",
        f"ALTER TABLE {name} RENAME TO real; CREATE TABLE {name}({columns}); INSERT INTO {name} SELECT * FROM real; DROP TABLE real",
        f"DROP TABLE {name}; CREATE TABLE {name}({columns})",
        f"DROP TABLE {name}; CREATE TABLE {name}(x)",
        f"ALTER TABLE {name} RENAME COLUMN {columns.split(', ')[0]} TO other",
        f"CREATE TRIGGER tr BEFORE INSERT ON {name} BEGIN SELECT RAISE(IGNORE); END",
        f"CREATE TRIGGER tr BEFORE INSERT ON {name} BEGIN SELECT RAISE(ABORT, 'no'); END",
        f"CREATE TRIGGER tr BEFORE UPDATE ON {name} BEGIN SELECT RAISE(IGNORE); END",
        f"CREATE TRIGGER tr AFTER UPDATE ON {name} BEGIN SELECT RAISE(FAIL, 'no'); END",
        f"CREATE TRIGGER tr AFTER DELETE ON {name} BEGIN DELETE FROM {name}; END"])
    db.executescript(sql)
    return sql


def numbers_of_header(db, rng):
    """Hostile: other numbers in the header, with a right checksum."""
    (data,) = db.execute("SELECT data FROM f_page WHERE no = 0").fetchone()
    name = rng.choice(list(rows.FIELDS))
    old = rows.numbers(data)[name]
    new = rng.choice([0, 1, old + 1, old ^ 1 << rng.randrange(48), 2**31, 2**48 - 1, 2**56, 2**63, 2**64 - 1, old // 2])
    new %= 1 << 8 * {"<Q": 8, "<I": 4, "<B": 1}[rows.FIELDS[name][1]]
    put(db, 0, rows.patched_header(data, **{name: new}))
    return f"header: {name} = {new}"


def header_of_filter(db, rng):
    """Hostile: another field of the filter's own header."""
    (data,) = db.execute("SELECT data FROM f_page WHERE no = 0").fetchone()
    name = rng.choice([name for name in support.FIELDS if name != "checksum"])
    bits = 8 * support.FIELDS[name][1]
    new = rng.choice([0, 1, 2, 3, 2**bits - 1, support.field(data, name) ^ 1 << rng.randrange(bits), rng.getrandbits(bits)]) % 2**bits
    put(db, 0, rows.patched_header(data, support.patched(data[:64], **{name: new})))
    return f"header of the filter: {name} = {new}"


def hostile_pages(db, rng):
    """Hostile: any bytes in pages, with right checksums."""
    (header,) = db.execute("SELECT data FROM f_page WHERE no = 0").fetchone()
    seed, total = support.field(header, "seed"), 0
    for no, data in db.execute("SELECT no, data FROM f_page WHERE no > 0").fetchall():
        changed = bytearray(data)
        for _ in range(rng.choice([0, 1, 8, len(data)])):
            changed[rng.randrange(len(data))] = rng.randrange(256)
        changed = rows.sealed_row(no, bytes(changed), seed)
        total += int.from_bytes(changed[-8:], "little")
        put(db, no, changed)
    put(db, 0, rows.patched_header(header, checksums=total % 2**64))
    return "hostile pages"


def hostile_waiting(db, rng):
    """Hostile: any rows, which the header counts."""
    (header,) = db.execute("SELECT data FROM f_page WHERE no = 0").fetchone()
    some = [(rng.randrange(-2**63, 2**63), rng.choice([0, 0, 5, 255, 1000]), rng.choice([0, 1, 3, 2**16, 2**40]), rng.choice([0, 1, 1000]))
            for _ in range(rng.randrange(1, 8))]
    db.execute("DELETE FROM f_wait")
    db.executemany("INSERT INTO f_wait VALUES (?, ?, ?, ?)", some)
    sums = {name: sum(row[i] for row in some) for name, i in (("adds", 2), ("deletes", 3))}
    for name, i in (("adds_digest", 2), ("deletes_digest", 3)):
        sums[name] = sum(rows.hash_words(row[0] % 2**64, row[1], 0) * row[i] for row in some) % 2**64
    put(db, 0, rows.patched_header(header, **sums))
    return f"hostile rows wait: {some}"


HONEST = [change_bytes] * 4 + [other_length] * 2 + [other_type, as_text, other_content, missing, missing, all_missing, copied, swapped,
                               of_another_time, of_another_time, shifted, wait_column, wait_column, wait_rows, wait_rows] + [other_tables] * 3
HOSTILE = [numbers_of_header, header_of_filter, hostile_pages, hostile_pages, hostile_waiting]


# ---- using them ----

@dataclass
class Report:
    counts: Counter = field(default_factory=Counter)
    longest: float = 0
    slowest: str = ""
    quiet: list = field(default_factory=list)  # silent misses that check passes


class Trial:
    """One table, damaged in one way."""

    def __init__(self, folder, template, name, rng, report):
        self.kind, self.rng, self.report, self.steps = KINDS[name], rng, report, [name]
        self.path = os.path.join(folder, "trial.db")
        for suffix in ("-journal", "-wal", "-shm"):
            if os.path.exists(self.path + suffix):
                os.remove(self.path + suffix)
        shutil.copyfile(template, self.path)
        self.keys = set(range(self.kind.keys))  # those that were added and not taken out
        self.name, self.hostile, self.dropped = "f", False, False

    def connect(self):
        db = support.connect(self.path)
        db.execute("PRAGMA synchronous = OFF")
        return db

    def run(self, db, sql, *parameters):
        """The rows, or the error. Both are answers, unless the error says nothing."""
        self.steps.append(sql)
        ticks, within = iter(range(TICKS)), db.in_transaction
        db.set_progress_handler(lambda: next(ticks, None) is None, 1000)
        begin = time.perf_counter()
        try:
            answer = db.execute(sql, parameters).fetchall()
        except (sqlite3.Error, MemoryError) as error:
            answer = error
            # Within a transaction SQLite loses what a table says when a savepoint opens.
            if isinstance(error, sqlite3.Error) and str(error) in MEANINGLESS and not within:
                raise Wrong(f"an error that says nothing: {error!r}") from error
        took = time.perf_counter() - begin
        db.set_progress_handler(None, 0)
        self.report.counts["statements"] += 1
        self.report.counts["errors"] += isinstance(answer, Exception)
        if took > self.report.longest:
            self.report.longest, self.report.slowest = took, f"{self.steps[:2]} .. {sql}"
        return answer

    def denied(self, db):
        """The keys that are denied; None: some use was an error."""
        f = self.name
        if self.kind.content:
            sql = self.rng.choice([f"SELECT k FROM u WHERE NOT cf_table_contains('{f}', k)",
                                   f"SELECT k FROM u WHERE NOT EXISTS (SELECT 1 FROM {f} WHERE key = u.k)"])
            parameters = []
        else:
            value = "AND value = e.value" if self.kind.values else ""
            key = "1" if self.kind.values else "e.value"
            ask_key = f"EXISTS (SELECT 1 FROM {f} WHERE key = {key} {value})"
            if not self.kind.values and self.rng.random() < 0.5:
                ask_key = f"cf_table_contains('{f}', e.value)"
            sql, parameters = f"SELECT value FROM json_each(?) AS e WHERE NOT {ask_key}", [json.dumps(sorted(self.keys))]
        answer = self.run(db, sql, *parameters)
        return None if isinstance(answer, Exception) else [row[0] for row in answer]

    def look(self, db):
        """Asks for all keys. Those that are missing in silence must be known to 'check'."""
        missed = self.denied(db)
        if not missed or self.hostile:
            return
        verdict = self.run(db, f"INSERT INTO {self.name}({self.name}) VALUES ('check')")
        self.report.counts["silent misses"] += 1
        if not isinstance(verdict, Exception):
            raise Wrong(f"{len(missed)} keys are denied in silence, and check passes: {missed[:5]}")
        if not any(word in str(verdict) for word in SAYS_DAMAGED):
            raise Wrong(f"keys are denied in silence, and check says: {verdict!r}")

    def change(self, db, sql, apply=None):
        if not isinstance(self.run(db, sql), Exception) and apply:
            apply()

    def use(self, db):
        f, rng = self.name, self.rng
        n = rng.randrange(self.kind.keys)
        if self.kind.content:
            use = rng.choice([f"INSERT INTO u(k) VALUES ({10000 + n})", f"DELETE FROM u WHERE k = {n}", f"UPDATE u SET k = k + 20000 WHERE k = {n}",
                              "INSERT INTO u(k) SELECT value + 30000 FROM json_each('[1,2,3,4,5,6,7,8,9]')", "rebuild",
                              f"DELETE FROM u WHERE k % 9 = {n % 9}"])
            if use != "rebuild":
                return self.change(db, use)
            return self.change(db, rng.choice([f"INSERT INTO {f}({f}) VALUES ('rebuild')", f"SELECT cf_table_rebuild('{f}')"]),
                               lambda: self.well(db))
        values = "value_bits" in self.kind.options
        added = f"INSERT INTO {f}(key, value) VALUES (1, 200)" if values else f"INSERT INTO {f}(key) VALUES ({10000 + n})"
        took = f"DELETE FROM {f} WHERE key = 1 AND value = {n}" if self.kind.values else f"DELETE FROM {f} WHERE key = {n}"
        use = rng.choice([added, took, "clear", "import", "update"])
        if use == "clear":
            return self.change(db, f"INSERT INTO {f}({f}) VALUES ('clear')", lambda: (self.keys.clear(), self.well(db)))
        if use == "import":
            return self.change(db, f"INSERT INTO {f}({f}, key) SELECT 'import', cf_export('{f}')")
        if use == "update":
            return self.change(db, f"UPDATE {f} SET key = 77777 WHERE key = {0 if self.kind.values else n}", lambda: self.keys.discard(n))
        return self.change(db, use, (lambda: self.keys.discard(n)) if use == took else None)

    def well(self, db):
        """After 'clear' or 'rebuild' nothing is damaged any more."""
        if self.hostile or db.in_transaction:
            return
        for answer in (self.denied(db), self.run(db, f"INSERT INTO {self.name}({self.name}) VALUES ('check')")):
            if answer != []:
                raise Wrong(f"made anew, and still: {answer!r}")

    def step(self, db):
        f = self.name
        other = self.rng.choice([
            f"SELECT count(*) FROM {f}", f"SELECT cf_table_info('{f}')", f"SELECT count(*) FROM cf_table_buckets('{f}')",
            f"SELECT length(cf_export('{f}'))", f"INSERT INTO {f}({f}) VALUES ('check')", f"INSERT INTO {f}({f}) VALUES ('optimize')",
            f"SELECT key FROM {f} WHERE key IN (1, 2, 3, 40, 50)", "PRAGMA integrity_check", "PRAGMA quick_check",
            f"SELECT count(*) FROM u WHERE k IN {f}", "BEGIN", "SAVEPOINT s", "SAVEPOINT s", "ROLLBACK TO s", "RELEASE s", "COMMIT", "COMMIT",
            "ROLLBACK", "CREATE TABLE IF NOT EXISTS other(x)", "use", "use", "use", "use", "look", "look", "rename"])
        if other == "look":
            self.look(db)
        elif other == "use":
            before = set(self.keys)
            self.use(db)
            if db.in_transaction:  # it may be rolled back: only keys that are there either way are asked for
                self.keys &= before
        elif other == "rename" and not db.in_transaction:
            to = "g" if f == "f" else "f"
            self.change(db, f"ALTER TABLE {f} RENAME TO {to}", lambda: setattr(self, "name", to))
        elif other not in ("rename", "PRAGMA integrity_check", "PRAGMA quick_check") or self.rng.random() < 0.2:
            self.run(db, other)

    def drop(self, db):
        """It can always be dropped, and made anew."""
        if db.in_transaction:
            self.run(db, "ROLLBACK")
        dropped = self.run(db, f"DROP TABLE {self.name}")
        if isinstance(dropped, Exception):
            raise Wrong(f"cannot be dropped: {dropped!r}")
        left = [row[0] for row in db.execute("SELECT name FROM sqlite_master") if row[0] not in ("u", "older", "twin", "real", "other")]
        if left:
            raise Wrong(f"dropped, and still there: {left}")
        db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(capacity=10)")
        db.execute("INSERT INTO f(key) VALUES (1)")
        if not ask(db, "SELECT cf_table_contains('f', 1)"):
            raise Wrong("made anew, and denies its key")
        db.execute("DROP TABLE f")

    def play(self, steps):
        rng = self.rng
        self.db = db = self.connect() if rng.random() < 0.6 else None
        if db and rng.random() < 0.8:
            self.denied(db)  # its pages are in memory
        who = db if db and rng.random() < 0.5 else self.connect()
        damage = rng.choice(HOSTILE if rng.random() < 0.25 else HONEST)
        self.hostile = damage in HOSTILE
        self.steps.append(f"{damage.__name__}: {damage(who, rng)}")
        self.report.counts[damage.__name__] += 1
        if who is not db:
            who.close()
        if db is None or rng.random() < 0.2:
            db, old = self.connect(), db
            self.db = db
            if old:
                old.close()
        self.look(db)
        for _ in range(steps):
            self.step(db)
        if not db.in_transaction:
            self.look(db)
        self.drop(db)
        db.close()


def play(folder, templates, seed, report, steps=8):
    """One trial. Its seed says everything about it."""
    rng = random.Random(seed)
    name = rng.choice(list(KINDS))
    if name not in templates:
        templates[name] = os.path.join(folder, f"{len(templates)}.db")
        make(templates[name], KINDS[name])
    trial = Trial(folder, templates[name], name, rng, report)
    report.counts["trials"] += 1
    try:
        trial.play(steps)
    except Wrong as wrong:
        trial.db.close()
        report.quiet.append(f"trial {seed}: {wrong}\n    " + "\n    ".join(map(str, trial.steps)))
