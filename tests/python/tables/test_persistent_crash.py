# SPDX-License-Identifier: MIT
"""kill -9 in the middle of it: persistent filters after the death of the process that wrote them.

A child inserts and deletes keys in transactions and says of each that its COMMIT returned. The test kills it at a random
moment and looks, through a new connection, for every key. An ordinary table in the same transactions says which keys
were committed; what the child reported must be part of that. The same transactions change the content of another filter, with
updates, deletes and savepoints.

CUCKOO_CRASHES=n kills n times (default: 16) in each journal mode; 200 is the long form.
"""
import os
import random
import signal
import subprocess
import sys
import time

import pytest

import support
from content_changes import change_people, create_people, look_at_people
from support import ask

CRASHES = int(os.environ.get("CUCKOO_CRASHES", "16")) // 2
RESTART = 25  # kills until a new database is begun
LONGEST = 0.15  # seconds that a child lives after its first COMMIT


# ---- the child ----

def change(db, rng, live, next_key):
    """One transaction; the next key that was never used."""
    db.execute("BEGIN IMMEDIATE")
    for _ in range(rng.choice((1, 1, 3, 40))):
        action = rng.random()
        if action < 0.65 or not live:
            db.execute("INSERT INTO seen(key) VALUES (?)", (next_key,))
            db.execute("INSERT INTO live VALUES (?)", (next_key,))
            live.append(next_key)
            next_key += 1
        elif action < 0.97:
            key = live.pop(rng.randrange(len(live)))
            db.execute("DELETE FROM seen WHERE key = ?", (key,))
            db.execute("DELETE FROM live WHERE k = ?", (key,))
        else:
            old, new = live[-1], next_key
            db.execute("UPDATE seen SET key = ? WHERE key = ?", (new, old))
            db.execute("UPDATE live SET k = ? WHERE k = ?", (new, old))
            live[-1] = new
            next_key += 1
    change_people(db, rng)
    db.execute("UPDATE transactions SET n = n + 1")
    db.execute("COMMIT")
    return next_key


def child(path, seed):
    rng = random.Random(seed)
    db = support.connect(path)
    db.execute("PRAGMA cache_size = 20")  # pages reach the disk before COMMIT
    db.execute("PRAGMA wal_autocheckpoint = 50")
    live = [key for key, in db.execute("SELECT k FROM live")]
    next_key = ask(db, "SELECT coalesce(max(k), 0) + 1000 FROM live")
    while True:
        next_key = change(db, rng, live, next_key)
        os.write(1, b"%d\n" % ask(db, "SELECT n FROM transactions"))


# ---- the test ----

def create(path, journal):
    db = support.connect(path)
    db.execute("PRAGMA page_size = 1024")
    db.execute(f"PRAGMA journal_mode = {journal}")
    db.execute("CREATE TABLE live(k INTEGER PRIMARY KEY)")
    db.execute("CREATE TABLE transactions(n)")
    db.execute("INSERT INTO transactions VALUES (0)")
    db.execute("CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=500, fpr=1e-7)")
    create_people(db)
    db.close()


def kill_one(path, rng):
    """The number of the last transaction of which a child told."""
    process = subprocess.Popen([sys.executable, os.path.abspath(__file__), path, str(rng.random())],
                               stdout=subprocess.PIPE)
    told = process.stdout.readline()
    time.sleep(rng.uniform(0, LONGEST))
    process.send_signal(signal.SIGKILL)
    told = (told + process.stdout.read()).split()
    assert process.wait() == -signal.SIGKILL and told
    return int(told[-1])


def look(path, told):
    db = support.connect(path)
    assert told <= ask(db, "SELECT n FROM transactions") <= told + 1
    assert ask(db, "PRAGMA integrity_check") == "ok"
    assert db.execute("SELECT k FROM live WHERE NOT EXISTS (SELECT 1 FROM seen WHERE key = k)").fetchall() == []
    assert db.execute("SELECT k FROM live WHERE NOT cf_table_contains('seen', k)").fetchall() == []
    assert ask(db, "SELECT count(*) FROM seen") == ask(db, "SELECT count(*) FROM live")
    look_at_people(db)
    db.execute("INSERT INTO seen(seen) VALUES ('check')")
    db.execute("INSERT INTO known(known) VALUES ('check')")
    db.close()


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_killed_while_writing(tmp_path, rng, journal):
    for i in range(CRASHES):
        path = str(tmp_path / f"{i // RESTART}.db")
        if i % RESTART == 0:
            create(path, journal)
        look(path, kill_one(path, rng))


if __name__ == "__main__":
    child(*sys.argv[1:])
