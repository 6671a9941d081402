# SPDX-License-Identifier: MIT
"""A key that has gone from the followed column is denied at once: in the transaction that deletes it, and in all
connections when it has committed, also where no COMMIT has drained the log. What a rollback brings back is found again.

A lookalike would be found by chance: the filter has few keys and a low error rate.
"""
import sqlite3

import pytest

import support
from promises import bare, drain, run
from support import ask

OPTIONS = "fpr=0.000001, content='blocked(user)'"
UNIQUE = {"repeated": "", "UNIQUE": "UNIQUE"}
ASKED = {"the function": "SELECT cf_table_contains('known', '{}')",
         "the table": "SELECT count(*) FROM known WHERE key = '{}'",
         "a copy": "SELECT cf_contains(cf_export('known'), '{}')"}

# Each takes ada away.
GONE = {
    "DELETE": "DELETE FROM blocked WHERE user = 'ada'",
    "DELETE of all": "DELETE FROM blocked",
    "UPDATE": "UPDATE blocked SET user = 'eve' WHERE user = 'ada'",
    "UPDATE to NULL": "UPDATE blocked SET user = NULL WHERE user = 'ada'",
    "UPDATE OR REPLACE": "UPDATE OR REPLACE blocked SET id = 1 WHERE id = 2",
    "REPLACE": "REPLACE INTO blocked(id, user) VALUES (1, 'eve')",
    "INSERT OR REPLACE": "INSERT OR REPLACE INTO blocked(user, id) VALUES ('eve', 1), ('fay', 9)",
    "an upsert": "INSERT INTO blocked(id, user) VALUES (1, 'x') ON CONFLICT(id) DO UPDATE SET user = 'eve'",
    "ON DELETE CASCADE": "DELETE FROM groups WHERE g = 1",
    "ON UPDATE CASCADE": "UPDATE names SET name = 'zoe' WHERE name = 'ada'",
    "a trigger": "INSERT INTO amnesty VALUES ('ada')",
}


def make(path, column="repeated"):
    db = support.connect(path)
    db.executescript(f"""
        PRAGMA synchronous = off; PRAGMA foreign_keys = on; PRAGMA recursive_triggers = on;
        CREATE TABLE groups(g INTEGER PRIMARY KEY); INSERT INTO groups VALUES (1), (2);
        CREATE TABLE names(name TEXT PRIMARY KEY);
        INSERT INTO names VALUES ('ada'), ('bob'), ('cyd'), ('eve'), ('fay'), ('x');
        CREATE TABLE blocked(id INTEGER PRIMARY KEY, user TEXT {UNIQUE[column]} REFERENCES names ON UPDATE CASCADE,
            g REFERENCES groups ON DELETE CASCADE);
        CREATE TABLE amnesty(user);
        CREATE TRIGGER pardon AFTER INSERT ON amnesty BEGIN DELETE FROM blocked WHERE user = new.user; END;
        INSERT INTO blocked VALUES (1, 'ada', 1), (2, 'bob', 2), (3, 'cyd', 2);
        CREATE VIRTUAL TABLE known USING cuckoo_filter({OPTIONS});""")
    assert finds(db, "ada") and finds(db, "bob") and not finds(db, "eve")
    return db


def finds(db, key, asked="the function"):
    return bool(ask(db, ASKED[asked].format(key)))


@pytest.mark.parametrize("column", UNIQUE)
@pytest.mark.parametrize("gone", GONE)
@pytest.mark.parametrize("asked", ASKED)
def test_a_key_is_denied_before_commit(asked, gone, column):
    db = make(":memory:", column)
    db.execute("BEGIN" if column == "UNIQUE" else "SAVEPOINT s")
    db.execute(GONE[gone])
    assert not finds(db, "ada", asked), "it is gone, and found"
    db.execute("ROLLBACK")
    assert finds(db, "ada", asked) and finds(db, "bob", asked)
    db.close()


@pytest.mark.parametrize("gone", GONE)
@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("writer", ["with the extension", "without"])
def test_a_key_is_denied_everywhere_after_commit(tmp_path, writer, asked, gone):
    """No command drains the log, and no COMMIT of the connections that ask."""
    path = str(tmp_path / "deletes.db")
    before, writes = make(path), support.connect(path) if writer == "with the extension" else bare(path)
    run(writes, "PRAGMA synchronous = off; PRAGMA foreign_keys = on; PRAGMA recursive_triggers = on; BEGIN")
    writes.execute(GONE[gone])
    assert finds(before, "ada", asked), "not before COMMIT"
    writes.execute("COMMIT")
    later = support.connect(path)
    assert [finds(db, "ada", asked) for db in (before, later)] == [False, False]
    for db in (before, writes, later):
        db.close()


@pytest.mark.parametrize("gone", GONE)
@pytest.mark.parametrize("begin", ["BEGIN", "SAVEPOINT s"])
def test_a_key_is_denied_after_drain_in_a_transaction(begin, gone):
    db = make(":memory:")
    run(db, f"{begin}; {GONE[gone]}")
    drain(db, "known")
    assert not finds(db, "ada"), "it is gone, and found"
    db.execute("ROLLBACK")
    assert finds(db, "ada")
    db.close()


def test_the_third_example_of_the_readme(tmp_path):
    """In Python, which begins a transaction by itself."""
    db = sqlite3.connect(tmp_path / "readme.db")
    db.enable_load_extension(True)
    db.load_extension(support.extension_path().removesuffix(".so"))
    db.execute("CREATE TABLE blocked(user TEXT UNIQUE, reason TEXT)")
    db.execute("INSERT INTO blocked VALUES ('ada', 'spam'), ('bob', 'fraud')")
    db.commit()
    db.execute("CREATE VIRTUAL TABLE known USING cuckoo_filter(content='blocked(user)', fpr=0.001)")
    db.execute("DELETE FROM blocked WHERE user = 'ada'")
    asked = "SELECT cf_table_contains('known', 'ada') AS ada, cf_table_contains('known', 'bob') AS bob"
    assert db.in_transaction and db.execute(asked).fetchall() == [(0, 1)]
    db.close()


@pytest.mark.parametrize("shape", ["", "growth=off", "counter_bits=2", "counter_bits=3, growth=off", "bucket_size=2"])
def test_copies_of_a_key_beyond_what_a_filter_counts(shape):
    """A filter that has lost count says perhaps, for good. One that has not says no when the last copy has gone."""
    db = support.connect(":memory:")
    run(db, f"CREATE TABLE blocked(user); CREATE VIRTUAL TABLE known USING cuckoo_filter({OPTIONS}, {shape or 'seed=1'})")
    for copies in range(1, 40):
        db.executemany("INSERT INTO blocked VALUES (?)", [("ada",)] * copies)
        drain(db, "known")
        db.execute("BEGIN")
        for _ in range(copies - 1):
            db.execute("DELETE FROM blocked WHERE rowid = (SELECT max(rowid) FROM blocked)")
            assert finds(db, "ada") and finds(db, "ada", "the table")
        drain(db, "known")
        assert finds(db, "ada")
        db.execute("ROLLBACK")
        run(db, "DELETE FROM blocked; INSERT INTO known(known) VALUES ('rebuild')")
        assert not finds(db, "ada")
    db.close()
