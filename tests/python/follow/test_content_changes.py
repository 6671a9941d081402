# SPDX-License-Identifier: MIT
"""Random changes of a followed table with savepoints, and what they have found."""
import contextlib
import sqlite3

import pytest

import support
from address import AIMED
from content_changes import change_people, create_people, look_at_people
from support import ask


def test_random_transactions(tmp_path, rng):
    """Also as another connection sees it, and with a new one."""
    path = str(tmp_path / "people.db")
    db = support.connect(path)
    create_people(db)
    for i in range(150):
        db.execute("BEGIN")
        change_people(db, rng)
        look_at_people(db)
        db.execute(rng.choice(("COMMIT", "COMMIT", "ROLLBACK")))
        look_at_people(db)
        if i % 10 == 0:
            with contextlib.closing(support.connect(path)) as other:
                look_at_people(other)
                assert ask(other, "PRAGMA integrity_check") == "ok"


@pytest.mark.parametrize("savepoint", [True, False])
def test_a_delete_of_a_key_that_waits_is_counted(tmp_path, savepoint):
    """The delete as a row and the key that waits cancelled out, and the header of the filter was not written: its
    numbers were wrong for the next connection."""
    path = str(tmp_path / "people.db")
    with contextlib.closing(support.connect(path)) as db:
        create_people(db)
    for key in AIMED:
        with contextlib.closing(support.connect(path)) as db:
            db.execute("BEGIN")
            db.execute("DELETE FROM people WHERE k = ?", (key,))
            if savepoint:
                db.execute("SAVEPOINT here")
            db.execute("COMMIT")
            look_at_people(db)


def test_buckets_are_those_of_the_transaction(db):
    """cf_table_buckets showed new bytes by an old header."""
    db.execute("CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=100, fpr=1e-6, seed=1)")
    db.execute("BEGIN")
    for key in range(300):
        db.execute("INSERT INTO seen(key) VALUES (?)", (key,))
        slots, stored = db.execute("SELECT count(*), count(fingerprint) FROM cf_table_buckets('seen')").fetchone()
        assert slots == ask(db, "SELECT json_extract(i, '$.buckets') * json_extract(i, '$.bucket_size') FROM (SELECT cf_table_info('seen') AS i)")
        assert stored == key + 1


@pytest.mark.parametrize("asked", [False, True])
def test_a_before_trigger_that_changes_its_own_row(db, asked):
    """What the log says of such a row is not true. The first key in it, and the key that the row has now, are."""
    db.execute("CREATE TABLE u(id INTEGER PRIMARY KEY, k)")
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(capacity=100, content='u(k)')")
    db.execute("INSERT INTO u VALUES (1, 'a'), (2, 'b')")
    db.execute("CREATE TRIGGER early BEFORE UPDATE ON u WHEN new.k LIKE '%!' BEGIN "
               "UPDATE u SET k = k || '?' WHERE id = old.id; END")
    db.execute("BEGIN")
    db.execute("UPDATE u SET k = k || '!' WHERE id = 1")
    if asked:
        assert ask(db, "SELECT cf_table_contains('f', 'b')") == 1
    db.execute("COMMIT")
    assert ask(db, "SELECT count(*) FROM u WHERE NOT cf_table_contains('f', k)") == 0
    assert ask(db, "SELECT count(*) FROM f") == 2
    assert ask(db, "SELECT json_extract(cf_table_info('f', 'all'), '$.trusted')") == 1
