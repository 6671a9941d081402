# SPDX-License-Identifier: MIT
"""Random changes of a table that a filter follows, in a transaction, some of them within savepoints that are undone.

    people(id INTEGER PRIMARY KEY, k UNIQUE)      followed by `known`, in which some keys wait for a place
"""
import contextlib
import sqlite3

from address import AIMED, AIMED_AT
from support import ask

KEYS = AIMED + tuple(range(300))

STATEMENTS = (
    "INSERT OR IGNORE INTO people(k) VALUES (:a), (:b), (:c)",
    "INSERT OR IGNORE INTO people(k) SELECT k + 1 FROM people WHERE k % 3 = 0 LIMIT 5",
    "INSERT INTO people(k) VALUES (:a) ON CONFLICT(k) DO UPDATE SET k = -k",
    "UPDATE OR IGNORE people SET k = :a WHERE k = :b",
    "UPDATE OR IGNORE people SET k = k + 1 WHERE id % 7 = :d",
    "UPDATE people SET k = NULL WHERE k = :a",
    "DELETE FROM people WHERE k IN (:a, :b)",
    "DELETE FROM people WHERE id % 5 = :d AND (SELECT count(*) FROM people) > 100",
    "DELETE FROM people WHERE k IS NULL",
)


def create_people(db):
    db.execute("CREATE TABLE people(id INTEGER PRIMARY KEY, k UNIQUE)")
    db.execute(f"CREATE VIRTUAL TABLE known USING cuckoo_filter({AIMED_AT}, growth=on, content='people(k)')")
    db.executemany("INSERT INTO people(k) VALUES (?)", ((key,) for key in AIMED))
    db.execute("INSERT INTO known(known) VALUES ('drain')")
    assert ask(db, "SELECT sum(adds) FROM known_wait") > 0


def change_people(db, rng, most=12):
    """Within a transaction. What waits in the middle of it lies in rows of known_wait."""
    savepoints = 0
    for _ in range(rng.randint(1, most)):
        action = rng.random()
        if action < 0.15:
            db.execute("SAVEPOINT here")
            savepoints += 1
        elif action < 0.25 and savepoints:
            db.execute("ROLLBACK TO here")
        elif action < 0.35 and savepoints:
            db.execute("RELEASE here")
            savepoints -= 1
        else:
            a, b, c = rng.sample(KEYS, 3)
            with contextlib.suppress(sqlite3.IntegrityError):  # then the statement is undone
                db.execute(rng.choice(STATEMENTS), {"a": a, "b": b, "c": c, "d": rng.randrange(5)})


# In one statement: of one snapshot.
MISSED = "SELECT count(*) FROM people WHERE NOT cf_table_contains('known', k)"
MISSED_BY_SQL = "SELECT count(*) FROM people WHERE k IS NOT NULL AND NOT EXISTS (SELECT 1 FROM known WHERE key = k)"
OFF = "SELECT (SELECT count(*) FROM known) - (SELECT count(k) FROM people)"


def look_at_people(db):
    for question in (MISSED, MISSED_BY_SQL, OFF):
        assert ask(db, question) == 0, question
