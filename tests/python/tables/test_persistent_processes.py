# SPDX-License-Identifier: MIT
"""Several processes on one persistent filter, in WAL mode: two write, three read.

Each writer enters its keys in the filter and, in the same transaction, in an ordinary table: a reader that sees a key there
must find it in the filter, within the same read transaction. Some of the transactions change the content of another filter:
each row that a statement sees it must find, too. SQLITE_BUSY is retried.

CUCKOO_OPERATIONS=n makes n changes (default: 20,000); 1,000,000 is the long form.
"""
import os
import random
import sqlite3
import subprocess
import sys
import time

import support
from content_changes import change_people, create_people, look_at_people
from support import ask

OPERATIONS = int(os.environ.get("CUCKOO_OPERATIONS", "20000"))
WRITERS, READERS = 2, 3
TIMEOUT = 3600


def connect(path):
    db = support.connect(path, timeout=20)
    db.execute("PRAGMA synchronous = NORMAL")
    return db


# ---- writers ----

def changes_of(rng, live, next_key, most):
    """Statements of one transaction; they are part of `live` at once."""
    statements = []
    for _ in range(rng.choice((1, 1, 10, most))):
        if rng.random() < 0.6 or len(live) < 10:
            statements.append(("INSERT INTO {}({}) VALUES (?)", next_key))
            live.append(next_key)
            next_key += WRITERS
        else:
            at = rng.randrange(len(live))
            live[at], live[-1] = live[-1], live[at]
            statements.append(("DELETE FROM {} WHERE {} = ?", live.pop()))
    return statements, next_key


def attempt(db, rng, statements):
    """True: committed. Half of the transactions read before they write, and some are rolled back on purpose."""
    try:
        db.execute(rng.choice(("BEGIN", "BEGIN IMMEDIATE")))
        for sql, key in statements:
            if rng.random() < 0.1:
                ask(db, "SELECT cf_table_contains('seen', ?)", key)
            db.execute(sql.format("seen", "key"), (key,))
            db.execute(sql.format("live", "k"), (key,))
        if rng.random() < 0.3:
            change_people(db, rng)
        if rng.random() < 0.05:
            db.execute("SAVEPOINT here")
            db.execute("INSERT INTO seen(key) SELECT -k FROM live LIMIT 50")
            db.execute("ROLLBACK TO here")
        end = "ROLLBACK" if rng.random() < 0.05 else "COMMIT"
        db.execute(end)
        return end == "COMMIT"
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 255 != sqlite3.SQLITE_BUSY:
            raise
        if db.in_transaction:
            db.execute("ROLLBACK")
        return False


def write(path, number, operations):
    """Prints how many transactions had to be tried again."""
    rng = random.Random(f"writer {number} {os.environ['CUCKOO_PROCESS_SEED']}")
    db = connect(path)
    live, next_key, left, again = [], int(number) + 1, int(operations), 0
    while left > 0:
        statements, next_key = changes_of(rng, live, next_key, 60)
        while not attempt(db, rng, statements):
            again += 1
        left -= len(statements)
    print(again)


# ---- readers ----

QUESTIONS = (
    # The newest keys, some of all, and now and then everything.
    "SELECT k FROM (SELECT k FROM live ORDER BY k DESC LIMIT 300) WHERE NOT cf_table_contains('seen', k)",
    "SELECT k FROM (SELECT k FROM live ORDER BY k DESC LIMIT 300) WHERE NOT EXISTS (SELECT 1 FROM seen WHERE key = k)",
    "SELECT k FROM (SELECT k FROM live WHERE k > ?1 LIMIT 300) WHERE NOT cf_table_contains('seen', k) AND ?1 > 0",
    "SELECT k FROM live WHERE k NOT IN (SELECT key FROM seen WHERE key IN (SELECT k FROM live)) AND ?1 % 7 = 0",
)


def read_once(db, rng):
    largest = ask(db, "SELECT coalesce(max(k), 0) FROM live")
    question = rng.choice(QUESTIONS)
    missed = db.execute(question, (rng.randint(1, largest + 1),) if "?1" in question else ()).fetchall()
    assert missed == [], f"{len(missed)} keys are missed: {missed[:9]}; {question}"


def read(path, number):
    rng = random.Random(f"reader {number} {os.environ['CUCKOO_PROCESS_SEED']}")
    db, reads = connect(path), 0
    while not os.path.exists(path + ".done"):
        in_transaction = rng.random() < 0.7
        if in_transaction:
            db.execute("BEGIN")
            read_once(db, rng)
            assert ask(db, "SELECT count(*) FROM seen") == ask(db, "SELECT count(*) FROM live")
        read_once(db, rng)
        look_at_people(db)
        if in_transaction:
            db.execute("COMMIT")
        reads += 1
        if reads == 1:
            print("begun", flush=True)
        if rng.random() < 0.01:
            db.close()
            db = connect(path)
    print(reads)


# ---- the test ----

def start(*arguments):
    return subprocess.Popen([sys.executable, os.path.abspath(__file__), *map(str, arguments)], text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def result_of(process):
    out, err = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 0, err
    return int(out)


def test_writers_and_readers(tmp_path, rng):
    os.environ["CUCKOO_PROCESS_SEED"] = str(rng.random())
    path = str(tmp_path / "shared.db")
    db = connect(path)
    db.execute("PRAGMA journal_mode = wal")
    db.execute("CREATE TABLE live(k INTEGER PRIMARY KEY)")
    db.execute("CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=500, fpr=1e-6)")
    create_people(db)
    began = time.monotonic()
    readers = [start("read", path, i) for i in range(READERS)]
    begun = [reader.stdout.readline() for reader in readers]  # on a busy machine the writers could be done before
    writers = [start("write", path, i, OPERATIONS // WRITERS) for i in range(WRITERS)]
    try:
        busy = [result_of(writer) for writer in writers]
    finally:
        open(path + ".done", "w").close()
    reads = [result_of(reader) for reader in readers]
    print(f"{OPERATIONS} changes, {busy} retries, {reads} reads, {time.monotonic() - began:.1f} s")
    assert ask(db, "SELECT count(*) FROM seen") == ask(db, "SELECT count(*) FROM live")
    assert db.execute("SELECT k FROM live WHERE NOT cf_table_contains('seen', k)").fetchall() == []
    assert ask(db, "PRAGMA integrity_check") == "ok"
    look_at_people(db)
    db.execute("INSERT INTO seen(seen) VALUES ('check')")
    db.execute("INSERT INTO known(known) VALUES ('check')")
    assert begun == ["begun\n"] * READERS and sum(reads) > READERS, "nobody has read while keys were written"


if __name__ == "__main__":
    {"write": write, "read": read}[sys.argv[1]](*sys.argv[2:])
