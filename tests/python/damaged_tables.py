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

import support
from damage import HONEST, HOSTILE
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
