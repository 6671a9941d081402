# SPDX-License-Identifier: MIT
"""Filters and filter tables that a later version wrote: every use says so, names the one remedy, and changes nothing.

A user who is told to drop or to rebuild such a table would lose the keys.
"""
import sqlite3

import pytest

import functions
import inside
import support
from promises import attempt
from seen import DAMAGED, USES, refused, schema_of
from support import BAD_BLOB, ask, fails

REMEDY = "use the version that wrote it"
BAD_ADVICE = ("drop", "anew", "rebuild", "restore", "import")


# What a later version may put in the header of a blob. No version will give these bytes another meaning soon.
LATER_BLOBS = {"format 3": {"version": 3}, "format 255": {"version": 255}, "hash": {"hash": 200},
               "flag": {"flags": 0x82}, "collation": {"flags": 0x60}}


def says_later(message):
    assert "made by a later version" in message and REMEDY in message, message
    assert not any(words in message for words in BAD_ADVICE), message
    assert len(message) < 500 and not message.endswith("."), message


# ---- blobs ----

READS = [f"SELECT {call}" for call in functions.SCALARS + functions.AGGREGATES + ["cf_contains(cf_open({f}), NULL)"]
         if not call.startswith("cf_check")] + [f"SELECT * FROM {call}" for call in functions.TABLES]


@pytest.mark.parametrize("what", LATER_BLOBS)
def test_every_function_of_blobs_says_so(db, what):
    blob = support.patched(support.build(db, range(20)), **LATER_BLOBS[what])
    for sql in READS:
        says_later(fails(db, BAD_BLOB, sql.format(f="?1", k=1), blob, function="cf_open" if "cf_open" in sql else None))
    says_later(ask(db, "SELECT cf_check(?)", blob))
    db.execute("CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=10)")
    db.execute("INSERT INTO seen(key) VALUES (1)")
    with pytest.raises(sqlite3.OperationalError) as caught:
        db.execute("INSERT INTO seen(seen, key) VALUES ('import', ?)", (blob,))
    says_later(str(caught.value).replace("to import", ""))
    assert ask(db, "SELECT cf_table_contains('seen', 1)") == 1


# ---- tables ----

def change_statement(old, new):
    """As it is in the schema: a later version accepted it."""
    def patch(db):
        db.execute("PRAGMA writable_schema = ON")
        db.execute("UPDATE sqlite_master SET sql = replace(sql, ?, ?) WHERE name = 'seen'", (old, new))
        db.execute("PRAGMA writable_schema = RESET")
        db.execute(f"PRAGMA schema_version = {ask(db, 'PRAGMA schema_version') + 1}")
    return patch


def patch(**fields):
    return lambda db: inside.change_header(db, "seen", fields=fields)


def later(what):
    return lambda db: inside.later_header(db, what, "seen")


LATER_TABLES = {name: patch(**fields) for name, fields in LATER_BLOBS.items()}
LATER_TABLES.update({
    "longer row": later(b"\0"), "much longer row": later(bytes(200)), "bit of the row": later(2),
    "bits of the row": later(255),
    "option": change_statement("capacity=50", "capacity=50, colour=blue"),
    "option in front": change_statement("capacity=50", "colour='dark; blue', capacity=50"),
    "option without value": change_statement("capacity=50", "capacity=50, coloured"),
    "value of an option": change_statement("capacity=50", "capacity=50, layout=spiral"),
    "number of an option": change_statement("capacity=50", "capacity=50, bucket_size=16"),
    "fpr": change_statement("capacity=50", "capacity=50, fpr='low'"),
    "twice": change_statement("capacity=50", "capacity=50, capacity=60"),
})
WORDS = {"option": "unknown option colour", "value of an option": "bad value in layout=spiral",
         "longer row": "header row", "hash": "unknown hash",
         "flag": "or flag", "format 3": "unknown format version", "fpr": "fpr must be a number"}

PLAIN, FOLLOWS = "capacity=50", "capacity=50, content='u(k)'"


def make(path, arguments, change):
    db = support.connect(path)
    db.execute("CREATE TABLE u(k)")
    db.execute("INSERT INTO u VALUES (1), (2), (3), (4), (5)")
    db.execute(f"CREATE VIRTUAL TABLE seen USING cuckoo_filter({arguments})")
    if arguments == PLAIN:
        db.execute("INSERT INTO seen(key) SELECT k FROM u")
    change(db)
    db.close()


def bytes_of(path):
    """Without the counters that SQLite counts up at a COMMIT in which a statement was rolled back."""
    with open(path, "rb") as file:
        data = file.read()
    return data[:24] + data[28:92] + data[100:]


@pytest.mark.parametrize("arguments", [PLAIN, FOLLOWS])
@pytest.mark.parametrize("what", LATER_TABLES)
def test_every_use_of_a_table_says_so_and_changes_nothing(what, arguments, tmp_path):
    """On a connection that comes new, one that has tried it before, and one that had used the table before it was upgraded."""
    path = str(tmp_path / "later.db")
    make(path, arguments, lambda db: None)
    early = support.connect(path)
    assert ask(early, "SELECT cf_table_contains('seen', 5)") == 1
    other = support.connect(path)
    LATER_TABLES[what](other)
    other.close()
    before, together, words = bytes_of(path), support.connect(path), WORDS.get(what, "")
    for sql in USES:
        for db, begin in ((support.connect(path), "SELECT 1"), (together, "SELECT 1"), (together, "BEGIN"),
                          (early, "SELECT 1")):
            db.execute(begin)
            message = refused(db, DAMAGED, sql, says=words)
            says_later(message.replace("cf_table_rebuild", "").replace("cf_table_import", ""))
            if begin == "BEGIN":
                db.execute("COMMIT")
            assert bytes_of(path) == before, sql
    says_later(ask(together, "SELECT cf_table_check('seen')"))
    if sqlite3.sqlite_version_info >= (3, 44, 0):
        says_later(ask(support.connect(path), "PRAGMA integrity_check"))
    assert bytes_of(path) == before


@pytest.mark.parametrize("arguments", [PLAIN, FOLLOWS])
@pytest.mark.parametrize("what", LATER_TABLES)
def test_a_transaction_that_tried_it_commits_the_rest_and_drop_takes_all(what, arguments, tmp_path):
    path = str(tmp_path / "later.db")
    make(path, arguments, LATER_TABLES[what])
    db = support.connect(path)
    before = inside.contents(db, "seen"), schema_of(db)
    db.execute("BEGIN")
    db.execute("CREATE TABLE mine(x)")
    for sql in ("INSERT INTO seen(key) VALUES (5)", "SAVEPOINT s", "INSERT INTO seen(seen) VALUES ('optimize')",
                "ROLLBACK TO s", "INSERT INTO mine VALUES (1)", "SELECT cf_table_contains('seen', 5)",
                "INSERT INTO seen(seen) VALUES ('rebuild')"):
        error = attempt(db, sql)
        if "seen" in sql:
            says_later(str(error))
    db.execute("COMMIT")
    assert ask(db, "SELECT count(*) FROM mine") == 1
    db.execute("DROP TABLE mine")
    assert (inside.contents(db, "seen"), schema_of(db)) == before
    db.execute("DROP TABLE seen")
    assert [name for _, name, _ in schema_of(db)] == ["u"]
    db.execute("INSERT INTO u VALUES (9)")
    db.execute(f"CREATE VIRTUAL TABLE seen USING cuckoo_filter({arguments})")
    assert ask(db, "SELECT cf_table_contains('seen', 9)") == ("content" in arguments)


@pytest.mark.parametrize("what", LATER_TABLES)
def test_the_followed_table_is_written_to_by_whoever_likes(what, tmp_path):
    """The later version hears of the rows."""
    path = str(tmp_path / "later.db")
    make(path, FOLLOWS, lambda db: None)
    db = support.connect(path)
    before, statement = inside.saved(db, "seen"), ask(db, "SELECT sql FROM sqlite_master WHERE name = 'seen'")
    LATER_TABLES[what](db)
    db.close()
    db = support.connect(path)
    contents = inside.contents(db, "seen")
    for sql in ("INSERT INTO u(k) VALUES (77)", "UPDATE u SET k = 78 WHERE k = 3", "DELETE FROM u WHERE k = 4"):
        db.execute(sql)
        says_later(refused(db, DAMAGED, "SELECT cf_table_contains('seen', 77)"))
    assert inside.contents(db, "seen") == contents
    change_statement(ask(db, "SELECT sql FROM sqlite_master WHERE name = 'seen'"),
                     statement)(db)  # as the later version reads it
    inside.put_back(db, before, "seen")
    db = support.connect(path)
    for sql in ("SELECT 1", "INSERT INTO seen(seen) VALUES ('drain'), ('check')"):
        db.execute(sql)
        assert [ask(db, "SELECT cf_table_contains('seen', ?)", key) for key in (77, 78, 3, 4, 5)] == [1, 1, 0, 0, 1]


def test_a_content_that_this_version_cannot_read(tmp_path):
    path = str(tmp_path / "later.db")
    make(path, FOLLOWS, change_statement("content='u(k)'", "content='u'"))
    db = support.connect(path)
    for sql in USES:
        says_later(refused(db, DAMAGED, sql).replace("cf_table_rebuild", ""))
    db.execute("DROP TABLE seen")
    assert [name for _, name, _ in schema_of(db)] == ["u"]


def test_a_table_made_anew_with_a_known_statement_works(tmp_path):
    """What a connection knew of the later table does not stick to the name."""
    path = str(tmp_path / "later.db")
    make(path, PLAIN, LATER_TABLES["option"])
    db = support.connect(path)
    refused(db, DAMAGED, "SELECT count(*) FROM seen")
    other = support.connect(path)  # old SQLites read the schema anew only when another connection has changed it
    change_statement("capacity=50, colour=blue", "capacity=50")(other)
    other.close()
    assert ask(db, "SELECT count(*) FROM seen") == 5
