# SPDX-License-Identifier: MIT
"""Somebody has damaged the rows of a filter table. Every use answers, or is an error that says so and what to do: never a crash
or a hang. What a filter denies in silence, `check` knows if it follows a table. The table can always be dropped, and made anew.
A row with other bytes may be believed. inside.py has the kinds of damage.

CUCKOO_DAMAGE_SECONDS  how long to try random damage; without it a slice
CUCKOO_DAMAGE_TRIAL    the one trial to repeat, with CUCKOO_TEST_SEED
"""
import json
import os
import random
import shutil
import sqlite3
import time
from collections import Counter
from dataclasses import dataclass

import pytest

import inside
import support
from address import AIMED, AIMED_AT
from conftest import SEED
from promises import Follower, attempt, script
from seen import USES
from support import ask

SECONDS = float(os.environ.get("CUCKOO_DAMAGE_SECONDS") or 0)
TRIAL = os.environ.get("CUCKOO_DAMAGE_TRIAL")
SLICE = 250  # trials
MEANINGLESS = {"", "SQL logic error", "not an error", "database disk image is malformed", "unknown error"}
SAYS_DAMAGED = ("corrupt", "cannot be used", "missing")
TICKS = 3000  # of 1000 steps of SQLite: a statement that needs more is stopped
ALLOWED = {"SQLITE_CORRUPT_VTAB", "SQLITE_CONSTRAINT"}
REMEDY = "restore the table, or drop it and create it again"
CHECK = "INSERT INTO f(f) VALUES ('check')"


def table(options="capacity=200, bucket_size=4, seed=0", keys=range(250), content=False, path=":memory:"):
    db = support.connect(path)
    db.execute("PRAGMA page_size = 512")
    db.execute("CREATE TABLE u(id INTEGER PRIMARY KEY, k)")
    db.execute(f"CREATE VIRTUAL TABLE f USING cuckoo_filter({options}" + (", content='u(k)')" if content else ")"))
    db.executemany("INSERT INTO u(k) VALUES (?)" if content else "INSERT INTO f(key) VALUES (?)",
                   ((key,) for key in keys))
    db.execute("INSERT INTO f(f) VALUES ('drain')")
    return db


def crowd():
    """Keys that lie in one pair of buckets: most of them wait."""
    db = support.connect()
    db.execute("CREATE TABLE u(k)")
    db.execute(f"CREATE VIRTUAL TABLE f USING cuckoo_filter({AIMED_AT})")
    db.executemany("INSERT INTO f(key) VALUES (?)", ((key,) for key in AIMED))
    db.execute("INSERT INTO f(f) VALUES ('drain')")
    assert inside.waiting(db) > 20
    db.execute(CHECK)
    return db


def drop(db, known=True):
    """All of it goes; a new one works. `known`: who drops it may know its log, if some row tells."""
    script(db, "ROLLBACK")
    known &= inside.knows_its_log(db)
    db.execute("DROP TABLE f")
    left = {name for (name,) in db.execute("SELECT name FROM sqlite_master") if known or name[:7] != "cuckoo_"}
    assert left <= {"u", "real", "older", "twin", "other"}, "dropped, and still there"
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(capacity=10)")
    db.execute("INSERT INTO f(key) VALUES (1)")
    assert ask(db, "SELECT cf_table_contains('f', 1)") == 1
    db.execute("DROP TABLE f")
    db.close()


def use(db, allowed=ALLOWED):
    """Every use gives an answer or one of the errors for it; then the table can be dropped."""
    for sql in USES[:-1]:
        error = attempt(db, sql.replace("seen", "f"))
        if error:
            known = any(words in str(error) for words in ("not a valid filter", "filter is full", "nothing to rebuild",
                                                          "too many to return as rows",
                                                               "it stays in sync", "UPDATE is refused"))
            # The change had begun when it met a row that cannot be read: it must be rolled back.
            known |= error.sqlite_errorname == "SQLITE_IOERR" and REMEDY in str(error)
            assert known or error.sqlite_errorname in allowed, f"{sql}: {error!r}"
            assert str(error) not in MEANINGLESS, f"{sql}: {error}"
    drop(db)


# ---- one after the other ----

@pytest.mark.parametrize("who", ["who has it in memory", "who comes new"])
@pytest.mark.parametrize("content", [False, True], ids=["direct", "followed"])
@pytest.mark.parametrize("what", inside.DAMAGE)
def test_damage(tmp_path, what, content, who):
    db = table(content=content, path=str(tmp_path / "d.db"))
    assert ask(db, "SELECT cf_table_contains('f', 7)") == 1
    inside.damage(db, inside.DAMAGE[what])
    if who == "who comes new":
        db.close()
        db = support.connect(tmp_path / "d.db")
    if what in inside.NOTICED:
        said = str(attempt(db, CHECK))
        assert said.startswith("f: ") and any(word in said for word in SAYS_DAMAGED), said
        assert ask(db, "SELECT cf_table_check('f')") != "ok"
    if content:
        for sql in ("BEGIN", "INSERT INTO u(k) VALUES (1000)", "DELETE FROM u WHERE k = 1000", "COMMIT"):
            db.execute(sql)  # who writes to the table needs no sound filter
        error = attempt(db, "SELECT cf_table_rebuild('f')")
        if error:
            assert REMEDY in str(error) or what in inside.DROPPED
        else:
            db.execute(CHECK)
            assert ask(db, "SELECT count(*) FROM u WHERE cf_table_contains('f', k)") == 250
            script(db, inside.DAMAGE[what])
    use(db)


@pytest.mark.parametrize("what, says", [("the header is lost", "its header is missing"),
                                        ("the table of pages is lost", "its shadow table is missing"),
                                        ("the header has other bytes", "has been changed; " + REMEDY),
                                        ("a page is NULL", "has been changed; " + REMEDY),
                                        ("a page is a text", "has been changed; " + REMEDY)])
def test_what_is_missing_is_called_missing(tmp_path, what, says):
    db = table(content=True, keys=range(150), path=str(tmp_path / "d.db"))
    inside.damage(db, inside.DAMAGE[what])
    db.close()
    db = support.connect(tmp_path / "d.db")
    for sql in ("SELECT count(*) FROM u WHERE cf_table_contains('f', k)", "SELECT count(*) FROM u JOIN f ON key = k",
                "SELECT cf_export('f')",
                "SELECT * FROM cf_buckets('f')", CHECK):
        assert (says.split(";")[0] if sql == CHECK else says) in str(attempt(db, sql)), sql


@pytest.mark.parametrize("what", inside.REPLACED)
@pytest.mark.parametrize("content", [False, True], ids=["direct", "followed"])
def test_something_else_where_the_rows_were(what, content):
    """What cannot be written is an error, of the table that is written to alone; afterwards nothing is lost."""
    db = table(content=content)
    inside.damage(db, inside.REPLACED[what])
    assert ask(db, "SELECT cf_table_contains('f', 7)") == 1
    if content:
        script(db,
               "INSERT INTO u(k) VALUES (1000); DELETE FROM u WHERE k = 5; SAVEPOINT s; DELETE FROM u WHERE k % 9 = 5;"
                   "SAVEPOINT s; DELETE FROM u WHERE k % 9 = 3; ROLLBACK")
        if "trigger" in what:
            script(db,
                   "SELECT cf_table_rebuild('f'); INSERT INTO f(f) VALUES ('rebuild'); DROP TRIGGER tr; INSERT INTO f(f) VALUES ('drain')")
        if "trigger" in what:
            f = Follower(db)
            assert f.answers() or "fails" in what or "deletes" in what
            f.rebuild()
            assert ask(db, "SELECT count(*) FROM u WHERE NOT cf_table_contains('f', k)") == 0
            assert ask(db, "SELECT count(*) FROM f") == ask(db, "SELECT count(*) FROM u") == 250
            db.execute(CHECK)
    else:
        script(db,
               "INSERT INTO f(key) VALUES (1000); DELETE FROM f WHERE key = 7; INSERT INTO f(f) VALUES ('optimize')")
    drop(db)


@pytest.mark.parametrize("sql", inside.WAITING_DAMAGE)
def test_waiting_keys(sql):
    db = crowd()
    inside.damage(db, sql)
    said = str(attempt(db, CHECK))
    assert said.startswith("f: corrupt: "), said
    for asked in (f"SELECT 1 FROM f WHERE key = {AIMED[-1]}", "SELECT count(*) FROM f",
                  f"SELECT cf_table_contains('f', {AIMED[-1]})"):
        error = attempt(db, asked)
        assert error is None or str(error) not in MEANINGLESS
    if "DROP" not in sql:
        db.execute("INSERT INTO f(f) VALUES ('clear')")
        db.execute(CHECK)
    drop(db)


@pytest.mark.parametrize("value", [5, None, b""])
def test_check_reads_the_names_that_were_saved(value):
    db = table(content=True)
    inside.put(db, -1, value)
    assert "corrupt: row -1 of " in str(attempt(db, CHECK))


def test_info_tells_of_what_it_finds_while_it_reads(tmp_path):
    db = table(path=str(tmp_path / "d.db"))
    inside.put(db, 1, None)
    db.close()
    db = support.connect(tmp_path / "d.db")
    told = json.loads(ask(db, "SELECT cf_table_info('f', 'all')"))
    assert told["trusted"] == 0 and "has been changed" in told["why"] and told["capacity"] >= 200


def test_a_row_with_other_bytes_does_what_it_does_in_a_blob():
    """It may lose keys. Who compares a filter with its content finds that, and rebuild brings them back."""
    db = table(content=True)
    for no in (1, 2):
        inside.put(db, no, bytes(440))
    assert "missing in it" in str(attempt(db, CHECK)) or "corrupt" in str(attempt(db, CHECK))
    db.execute("SELECT cf_table_rebuild('f')")
    db.execute(CHECK)
    assert ask(db, "SELECT count(*) FROM u WHERE NOT cf_table_contains('f', k)") == 0


@pytest.mark.parametrize("what", ["the header is lost", "the table of pages is lost",
                                  "the table of hashed keys is lost", "a view"])
@pytest.mark.parametrize("before", ["SELECT cf_table_rebuild('f')", "INSERT INTO f(f) VALUES ('rebuild')",
                                    "INSERT INTO u(k) VALUES (7)"])
def test_drop_works_after_any_error_in_a_transaction(what, before):
    db = table(content=True)
    inside.damage(db, {**inside.DAMAGE, **inside.REPLACED}[what])
    script(db, f"BEGIN; {before}")
    if db.in_transaction and what == "a view" and "INTO u" in before:
        db.execute("ROLLBACK")
    if not db.in_transaction:  # the error had to roll back
        db.execute("BEGIN")
    known = inside.knows_its_log(db)
    db.execute("DROP TABLE f")
    db.execute("COMMIT")
    assert {name for (name,) in db.execute("SELECT name FROM sqlite_master")
            if known or name[:7] != "cuckoo_"} <= {"u", "real"}


@pytest.mark.parametrize("what", ["the header has other bytes", "the header is a text", "all is lost"])
def test_commit_with_a_filter_that_does_not_open(tmp_path, what):
    db = table("capacity=10, seed=0", range(3), content=True, path=tmp_path / "x.db")
    inside.damage(db, inside.DAMAGE[what])
    other = support.connect(tmp_path / "x.db")
    script(other, "BEGIN; INSERT INTO u(k) VALUES (7); DELETE FROM u WHERE k = 7")
    assert REMEDY in str(attempt(other, "SELECT cf_table_contains('f', 7)"))
    other.execute("COMMIT")


@pytest.mark.parametrize("question", ["SELECT EXISTS (SELECT 1 FROM f WHERE key = {})",
                                      "SELECT cf_table_contains('f', {})"])
def test_rows_that_somebody_has_put_back_are_seen(question):
    """As those who restore a dump do. Within a transaction that is rolled back, too: nobody tells the filter."""
    db = table(keys=[1])
    before = inside.saved(db)
    db.execute("INSERT INTO f(key) VALUES (2)")
    assert ask(db, question.format(2))
    for begin, end in (("BEGIN", "ROLLBACK"), ("SAVEPOINT s", "ROLLBACK TO s; RELEASE s"), ("BEGIN", "COMMIT")):
        db.execute(begin)
        inside.put_back(db, before)
        assert ask(db, question.format(1)) and not ask(db, question.format(2))
        script(db, end)
        assert ask(db, question.format(1)) and ask(db, question.format(2)) == (end != "COMMIT")
    db.execute("INSERT INTO f(key) VALUES (3)")
    assert ask(db, question.format(3)) and ask(db, "SELECT count(*) FROM f") == 2
    db.execute(CHECK)


# ---- hostile rows ----

@pytest.mark.parametrize("name, values", [
    ("length", [0, 1, 63, 64, 65, 72, 500, 2**20, 2**26, 2**40, 2**47, 2**48, 2**63, 2**64 - 1]),
    ("page_bytes", [0, 1, 63, 64, 439, 441, 65536, 2**31, 2**32 - 1]), ("left", [1 << 47, 1 << 56]),
    *((name, [0, 1, 2, 255, 2**16 - 1, 2**48 - 1, 2**64 - 1]) for name in support.FIELDS)])
def test_any_number_in_the_header(name, values):
    for value in values:
        db = table(keys=range(50))
        if name in support.FIELDS:
            inside.change_header(db, fields={name: value % 2**(8 * support.FIELDS[name][1])})
        else:
            inside.change_header(db, **{name: value})
        use(db)


# ---- random damage, and random use ----

@dataclass
class Kind:
    """A filter table with keys. `aimed`: they lie in one place."""
    options: str
    keys: int
    aimed: bool = False
    content: bool = False

    def key(self, n):
        return AIMED[n] if self.aimed and n < len(AIMED) else n


KINDS = {
    "direct": Kind("capacity=400, bucket_size=4, seed=0", 300),
    "one page": Kind("capacity=60, seed=0", 50),
    "grown": Kind("capacity=8, fingerprint_bits=12, seed=0", 600),
    "sparse": Kind("capacity=100000, seed=0", 12),
    "fixed": Kind("capacity=300, growth=off, layout=semisort, bucket_size=4, seed=0", 250),
    "counters": Kind("capacity=200, counter_bits=5, seed=0", 150),
    "stash": Kind("capacity=40, growth=off, bucket_size=4, fingerprint_bits=12, stash=on, max_kicks=0, stash_size=30, seed=0", 46),
    "unplaced": Kind(AIMED_AT, 40, aimed=True),
    "followed": Kind("capacity=300, seed=0", 200, content=True),
    "followed, random seed": Kind("capacity=20", 200, content=True),
    "followed, crowded": Kind("capacity=10, bucket_size=2, fingerprint_bits=12, seed=0", 100, content=True),
}


class Wrong(Exception):
    """A promise that was not kept."""


def add(db, kind, numbers):
    db.executemany(f"INSERT INTO {'u(k)' if kind.content else 'f(key)'} VALUES (?)", [(kind.key(n),) for n in numbers])
    db.execute("INSERT INTO f(f) VALUES ('drain')")


def make(path, kind):
    """With an older state of the rows, and those of a twin that holds other keys, in tables beside it."""
    db = table(kind.options, [], kind.content, path)
    if not kind.content:
        add(db, kind, range(5000, 5000 + kind.keys))
    inside.keep_twin(db, "twin")
    script(db, "" if kind.content else "INSERT INTO f(f) VALUES ('clear')")
    add(db, kind, range(0, kind.keys // 2))
    inside.keep_twin(db, "older")
    add(db, kind, range(kind.keys // 2, kind.keys))
    db.execute(CHECK)
    db.close()


class Trial:
    """One table, damaged in one way and then used, on a connection that had it in memory or on a new one."""

    def __init__(self, path, name, rng, counts):
        self.path, self.kind, self.rng, self.counts, self.steps = path, KINDS[name], rng, counts, [name]
        self.keys, self.name, self.db = {self.kind.key(n) for n in range(self.kind.keys)}, "f", None

    def run(self, sql, *parameters):
        """The rows, or the error. Both are answers, unless the error says nothing."""
        self.steps.append(sql)
        ticks, within = iter(range(TICKS)), self.db.in_transaction
        self.db.set_progress_handler(lambda: next(ticks, None) is None, 1000)
        try:
            answer = self.db.execute(sql, parameters).fetchall()
        except (sqlite3.Error, MemoryError) as error:
            answer = error
            # Within a transaction SQLite loses what a table says when a savepoint opens.
            if isinstance(error, sqlite3.Error) and str(error) in MEANINGLESS and not within:
                raise Wrong(f"an error that says nothing: {error!r}") from error
        self.db.set_progress_handler(None, 0)
        self.counts["errors" if isinstance(answer, Exception) else "answers"] += 1
        return answer

    def command(self, name):
        return self.run(f"INSERT INTO {self.name}({self.name}) VALUES ('{name}')")

    def denied(self):
        """The keys that are denied; None: asking was an error."""
        f, parameters = self.name, []
        if self.kind.content:
            sql = self.rng.choice([f"SELECT k FROM u WHERE NOT cf_table_contains('{f}', k)",
                                   f"SELECT k FROM u WHERE NOT EXISTS (SELECT 1 FROM {f} WHERE key = u.k)"])
        else:
            asked = f"EXISTS (SELECT 1 FROM {f} WHERE key = e.value)"
            sql, parameters = f"SELECT value FROM json_each(?) AS e WHERE NOT {asked}", [json.dumps(sorted(self.keys))]
        answer = self.run(sql, *parameters)
        return None if isinstance(answer, Exception) else [row[0] for row in answer]

    def look(self, hostile):
        """Asks for all keys. Those of a table that is followed, and missing in silence, must be known to 'check'."""
        missed = self.denied()
        if not missed or hostile or not self.kind.content:
            return
        verdict = self.command("check")
        if not isinstance(verdict, Exception) or not any(word in str(verdict) for word in SAYS_DAMAGED):
            raise Wrong(f"{len(missed)} keys are denied in silence, and check says {verdict!r}: {missed[:5]}")

    def use(self, hostile):
        f, n, before = self.name, self.kind.key(self.rng.randrange(self.kind.keys)), set(self.keys)
        if self.kind.content:
            sql = self.rng.choice([f"INSERT INTO u(k) VALUES ({10000 + n})", f"DELETE FROM u WHERE k = {n}",
                                   f"DELETE FROM u WHERE k % 9 = {n % 9}",
                                   f"UPDATE u SET k = k + 20000 WHERE k = {n}",
                                   "INSERT INTO u(k) SELECT value + 30000 FROM json_each('[1,2,3,4]')",
                                   f"INSERT INTO {f}({f}) VALUES ('rebuild')", f"SELECT cf_table_rebuild('{f}')"])
        else:
            sql = self.rng.choice([f"INSERT INTO {f}(key) VALUES ({10000 + n})", f"DELETE FROM {f} WHERE key = {n}",
                                   f"INSERT INTO {f}({f}) VALUES ('clear')",
                                   f"INSERT INTO {f}({f}, key) SELECT 'import', cf_export('{f}')"])
        if isinstance(self.run(sql), Exception):
            return
        self.keys.discard(n if sql.startswith(("DELETE", "UPDATE")) else None)
        self.keys = set() if "clear" in sql else self.keys
        if self.db.in_transaction:  # it may be rolled back: only keys that are there either way are asked for
            self.keys &= before
        elif ("clear" in sql or "rebuild" in sql) and not hostile and (self.denied() or self.command("check") != []):
            raise Wrong("made anew, and still damaged")

    def step(self, hostile):
        f = self.name
        sql = self.rng.choice([
            f"SELECT count(*) FROM {f}", f"SELECT cf_table_info('{f}')",
            f"SELECT count(*) FROM cf_buckets('{f}')",
            f"SELECT length(cf_export('{f}'))", f"INSERT INTO {f}({f}) VALUES ('check')",
            f"INSERT INTO {f}({f}) VALUES ('optimize')",
            f"SELECT key FROM {f} WHERE key IN (1, 2, 3, 40, 50)", "PRAGMA quick_check",
            f"SELECT count(*) FROM u WHERE k IN {f}",
            "BEGIN", "SAVEPOINT s", "SAVEPOINT s", "ROLLBACK TO s", "RELEASE s", "COMMIT", "COMMIT", "ROLLBACK",
            "CREATE TABLE IF NOT EXISTS other(x)", "use", "use", "use", "use", "look", "look", "rename"])
        if sql in ("look", "use"):
            getattr(self, sql)(hostile)
        elif sql == "rename" and not self.db.in_transaction:
            to = "g" if f == "f" else "f"
            self.name = f if isinstance(self.run(f"ALTER TABLE {f} RENAME TO {to}"), Exception) else to
        elif sql != "rename":
            self.run(sql)

    def connect(self):
        db = support.connect(self.path)
        db.execute("PRAGMA synchronous = OFF")
        return db

    def play(self, steps=8):
        rng, self.db = self.rng, self.connect()
        if rng.random() < 0.5:
            self.denied()  # its pages are in memory
        who = self.db if rng.random() < 0.5 else self.connect()
        hostile = rng.random() < 0.25
        self.steps.append((inside.random_lie if hostile else inside.random_damage)(who, rng))
        if rng.random() < 0.4:
            self.db.close()
            self.db = self.connect()
        self.look(hostile)
        for _ in range(steps):
            self.step(hostile)
        if not self.db.in_transaction:
            self.look(hostile)
        script(self.db, "ROLLBACK")
        if self.name != "f":
            self.db.execute(f"DROP TABLE {self.name}")
        else:
            drop(self.db, known=False)
        for db in {self.db, who}:
            db.close()


def test_random_damage(tmp_path):
    print(f"repeat with CUCKOO_TEST_SEED={SEED}")
    counts, made, number, begin = Counter(), {}, 0, time.monotonic()
    while time.monotonic() < begin + SECONDS if SECONDS else number < SLICE:
        number = int(TRIAL) if TRIAL else number
        (tmp_path / "trial").write_text(str(number))  # for one that crashes
        rng = random.Random(f"{SEED} {number}")
        name = rng.choice(list(KINDS))
        if name not in made:
            made[name] = tmp_path / f"{len(made)}.db"
            make(made[name], KINDS[name])
        for suffix in ("", "-journal", "-wal", "-shm"):
            (tmp_path / f"trial.db{suffix}").unlink(missing_ok=True)
        trial = Trial(shutil.copyfile(made[name], tmp_path / "trial.db"), name, rng, counts)
        try:
            trial.play()
        except (Wrong, AssertionError, sqlite3.Error) as wrong:
            raise AssertionError(f"trial {number}: {wrong}\n    " + "\n    ".join(map(str, trial.steps))) from wrong
        if TRIAL:
            return
        number += 1
    print(number, "trials,", dict(counts))
    assert counts["errors"] > number, "damage that nobody notices proves nothing"
