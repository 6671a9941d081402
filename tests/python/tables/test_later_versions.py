# SPDX-License-Identifier: MIT
"""Filters and filter tables that a later version wrote: every use says so, names the one remedy, and changes nothing.

A user who is told to drop or to rebuild such a table would lose the keys.
"""
import sqlite3

import pytest

import rows
import support
from support import BAD_BLOB, ask, fails
from test_persistent import DAMAGED, refused, schema_of

REMEDY = "use the version that wrote it"
BAD_ADVICE = ("drop", "anew", "rebuild", "restore", "import")

# What a later version may put in the header of a blob. No version will give these bytes another meaning soon.
LATER_BLOBS = {"format 2": {"version": 2}, "format 255": {"version": 255}, "hash": {"hash": 200},
               "flag": {"flags": 0x82}, "collation": {"flags": 0x60}}


def says_later(message):
    assert "made by a later version" in message and REMEDY in message, message
    assert not any(words in message for words in BAD_ADVICE), message
    assert len(message) < 500 and not message.endswith("."), message


# ---- blobs ----

SCALARS = ["cf_contains({f}, 1)", "cf_count({f}, 1)", "cf_get({f}, 1)", "cf_add({f}, 1)", "cf_add({f}, 1, 1)", "cf_delete({f}, 1)",
           "cf_delete({f}, 1, 1)", "cf_clear({f})", "cf_info({f})", "cf_open({f})", "cf_contains(cf_open({f}), 1)",
           "cf_add_keys({f}, cf_keys(1))", "cf_delete_keys({f}, cf_keys(1))", "cf_merge({f}, {f})", "cf_merge(cf_new(10), {f})",
           "cf_merge({f}, cf_new(10))", "cf_merge({f})", "cf_add_all({f}, 1)", "cf_delete_all({f}, 1)",
           "cf_contains({f}, NULL)", "cf_add({f}, NULL)", "cf_add_all({f}, NULL)"]
TABLE_FUNCTIONS = ["cf_buckets({f})", "cf_explain({f}, 1)"]
READS = [f"SELECT {call}" for call in SCALARS] + [f"SELECT * FROM {call}" for call in TABLE_FUNCTIONS]


@pytest.fixture(params=LATER_BLOBS)
def later_blob(request, db):
    return support.patched(support.build(db, range(20)), **LATER_BLOBS[request.param])


@pytest.mark.parametrize("sql", READS)
def test_every_function_of_blobs_says_so(db, later_blob, sql):
    function = "cf_open" if "cf_open" in sql else None
    says_later(fails(db, BAD_BLOB, sql.format(f="?1"), later_blob, function=function))


def test_cf_check_says_so(db, later_blob):
    says_later(ask(db, "SELECT cf_check(?)", later_blob))


def test_import_says_so_and_changes_nothing(db, later_blob):
    db.execute("CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=10)")
    db.execute("INSERT INTO seen(key) VALUES (1)")
    with pytest.raises(sqlite3.OperationalError) as caught:
        db.execute("INSERT INTO seen(seen, key) VALUES ('import', ?)", (later_blob,))
    says_later(str(caught.value).replace("to import", ""))
    assert ask(db, "SELECT cf_table_contains('seen', 1)") == 1


# ---- tables ----

def change_header(change):
    """The header row as `change` makes it, with a right checksum."""
    def patch(db):
        row = ask(db, "SELECT data FROM seen_page WHERE no = 0")
        changed = rows.sealed_row(0, change(row[:-8]) + bytes(8))
        db.execute("UPDATE seen_page SET data = ? WHERE no = 0", (changed,))
    return patch


def patch_header(**fields):
    return change_header(lambda row: support.patched(row[:64], **fields) + row[64:])


def lengthen(more):
    return change_header(lambda row: row + more)


def set_last_byte(value):
    return change_header(lambda row: row[:-1] + bytes([value]))


def change_statement(old, new):
    """As it is in the schema: a later version accepted it."""
    def patch(db):
        db.execute("PRAGMA writable_schema = ON")
        db.execute("UPDATE sqlite_master SET sql = replace(sql, ?, ?) WHERE name = 'seen'", (old, new))
        db.execute("PRAGMA writable_schema = RESET")
        db.execute(f"PRAGMA schema_version = {ask(db, 'PRAGMA schema_version') + 1}")
    return patch


LATER_TABLES = {name: patch_header(**fields) for name, fields in LATER_BLOBS.items()}
LATER_TABLES.update({
    "longer row": lengthen(b"\0"), "much longer row": lengthen(bytes(200)), "bit of the row": set_last_byte(2),
    "bits of the row": set_last_byte(255),
    "option": change_statement("capacity=50", "capacity=50, colour=blue"),
    "option in front": change_statement("capacity=50", "colour='dark; blue', capacity=50"),
    "option without value": change_statement("capacity=50", "capacity=50, coloured"),
    "value of an option": change_statement("capacity=50", "capacity=50, layout=spiral"),
    "number of an option": change_statement("capacity=50", "capacity=50, bucket_size=16"),
    "fpr": change_statement("capacity=50", "capacity=50, fpr='low'"),
    "twice": change_statement("capacity=50", "capacity=50, capacity=60"),
})

PLAIN, FOLLOWS, VALUES = "capacity=50", "capacity=50, content='u(k)'", "capacity=50, value_bits=4"

USES = ["SELECT key FROM seen WHERE key = 5", "SELECT key FROM seen WHERE key IN (1, 2)", "SELECT count(*) FROM seen",
        "SELECT EXISTS (SELECT 1 FROM seen WHERE key = 1)", "SELECT k FROM u JOIN seen ON seen.key = u.k",
        "SELECT cf_table_contains('seen', 7)", "SELECT cf_table_contains('main.seen', NULL)",
        "SELECT cf_export('seen')", "SELECT * FROM cf_table_buckets('seen')",
        "SELECT cf_table_rebuild('seen')", "DELETE FROM seen WHERE key = 5", "UPDATE seen SET key = 3 WHERE key = 4",
        "INSERT INTO seen(key) VALUES (99)", "REPLACE INTO seen(key) VALUES (99)", "INSERT OR IGNORE INTO seen(key) VALUES (99)",
        "INSERT INTO seen(seen) VALUES ('check')", "INSERT INTO seen(seen) VALUES ('optimize')",
        "INSERT INTO seen(seen) VALUES ('rebuild')", "INSERT INTO seen(seen) VALUES ('clear')",
        "INSERT INTO seen(seen, key) VALUES ('import', cf_new(10))", "ALTER TABLE seen RENAME TO other"]
VALUES_USES = ["SELECT key, value FROM seen WHERE key = 5", "INSERT INTO seen(key, value) VALUES (5, 1)",
               "UPDATE seen SET value = 1 WHERE key = 5"]


def make(path, arguments, change):
    db = support.connect(path)
    db.execute("CREATE TABLE u(k)")
    db.execute("INSERT INTO u VALUES (1), (2), (3), (4), (5)")
    db.execute(f"CREATE VIRTUAL TABLE seen USING cuckoo_filter({arguments})")
    if arguments == PLAIN:
        db.execute("INSERT INTO seen(key) SELECT k FROM u")
    if arguments == VALUES:
        db.execute("INSERT INTO seen(key, value) SELECT k, k FROM u")
    change(db)
    db.close()


@pytest.fixture(params=LATER_TABLES)
def change(request):
    return LATER_TABLES[request.param]


def bytes_of(path):
    """Without the counters that SQLite counts up at a COMMIT in which a statement was rolled back."""
    with open(path, "rb") as file:
        data = file.read()
    return data[:24] + data[28:92] + data[100:]


@pytest.mark.parametrize("arguments", [PLAIN, FOLLOWS, VALUES])
@pytest.mark.parametrize("begin", [False, True])
def test_every_use_of_a_table_says_so_and_changes_nothing(change, arguments, begin, tmp_path):
    path = str(tmp_path / "later.db")
    make(path, arguments, change)
    uses = USES + (VALUES_USES if arguments == VALUES else [])
    before = bytes_of(path)
    together = support.connect(path)
    for sql in uses:
        for db in (support.connect(path), together):
            db.execute("BEGIN" if begin else "SELECT 1")
            says_later(refused(db, DAMAGED, sql).replace("cf_table_rebuild", "").replace("cf_table_import", ""))
            if begin:
                db.execute("COMMIT")
            assert bytes_of(path) == before, sql
    says_later(ask(together, "SELECT cf_table_check('seen')"))
    assert bytes_of(path) == before


@pytest.mark.parametrize("arguments", [PLAIN, FOLLOWS])
def test_a_transaction_that_tried_it_commits_the_rest(change, arguments, tmp_path):
    path = str(tmp_path / "later.db")
    make(path, arguments, change)
    db = support.connect(path)
    shadows = "SELECT (SELECT group_concat(quote(no) || quote(data)) FROM seen_page), (SELECT count(*) FROM seen_wait)"
    before = db.execute(shadows).fetchall(), schema_of(db)
    db.execute("BEGIN")
    db.execute("CREATE TABLE mine(x)")
    for sql in ("INSERT INTO seen(key) VALUES (5)", "SAVEPOINT s", "INSERT INTO seen(seen) VALUES ('optimize')", "ROLLBACK TO s",
                "INSERT INTO mine VALUES (1)", "SELECT cf_table_contains('seen', 5)", "INSERT INTO seen(seen) VALUES ('rebuild')"):
        try:
            db.execute(sql).fetchall()
        except sqlite3.Error as error:
            says_later(str(error))
        else:
            assert "seen" not in sql
    db.execute("COMMIT")
    assert ask(db, "SELECT count(*) FROM mine") == 1
    db.execute("DROP TABLE mine")
    assert (db.execute(shadows).fetchall(), schema_of(db)) == before


@pytest.mark.parametrize("arguments", [PLAIN, FOLLOWS])
def test_integrity_check_says_so(change, arguments, tmp_path):
    if sqlite3.sqlite_version_info < (3, 44, 0):
        pytest.skip("SQLite asks virtual tables from 3.44 on")
    path = str(tmp_path / "later.db")
    make(path, arguments, change)
    before = bytes_of(path)
    says_later(ask(support.connect(path), "PRAGMA integrity_check"))
    assert bytes_of(path) == before


@pytest.mark.parametrize("arguments", [PLAIN, FOLLOWS])
def test_drop_takes_all_of_it_along(change, arguments, tmp_path):
    path = str(tmp_path / "later.db")
    make(path, arguments, change)
    db = support.connect(path)
    db.execute("DROP TABLE seen")
    assert [name for _, name, _ in schema_of(db)] == ["u"]
    db.execute("INSERT INTO u VALUES (9)")
    db.execute(f"CREATE VIRTUAL TABLE seen USING cuckoo_filter({arguments})")
    assert ask(db, "SELECT cf_table_contains('seen', 9)") == ("content" in arguments)


@pytest.mark.parametrize("arguments", [PLAIN, FOLLOWS])
def test_a_connection_that_had_used_the_table_before(change, arguments, tmp_path):
    """A newer program upgrades the table while an older one has it open."""
    path = str(tmp_path / "later.db")
    make(path, arguments, lambda db: None)
    db = support.connect(path)
    assert ask(db, "SELECT cf_table_contains('seen', 5)") == 1
    other = support.connect(path)
    change(other)
    other.close()
    before = bytes_of(path)
    for sql in USES:
        says_later(refused(db, DAMAGED, sql).replace("cf_table_rebuild", ""))
        assert bytes_of(path) == before, sql


def test_the_followed_table_is_written_to_by_whoever_likes(change, tmp_path):
    """The log of the later version takes the rows."""
    path = str(tmp_path / "later.db")
    make(path, FOLLOWS, change)
    db = support.connect(path)
    pages = "SELECT group_concat(quote(no) || quote(data)) FROM seen_page"
    before = ask(db, pages)
    for sql in ("INSERT INTO u(k) VALUES (77)", "UPDATE u SET k = 78 WHERE k = 3", "DELETE FROM u WHERE k = 4"):
        db.execute(sql)
        says_later(refused(db, DAMAGED, "SELECT cf_table_contains('seen', 77)"))
    log = ask(db, "SELECT name FROM sqlite_master WHERE name LIKE 'cuckoo_log_%'")
    assert db.execute(f"SELECT old, new FROM {log}").fetchall() == [(None, 77), (3, 78), (4, None)]
    assert ask(db, pages) == before


def test_the_message_names_what_is_not_known(tmp_path):
    for name, words in (("option", "unknown option colour"), ("value of an option", "bad value in layout=spiral"),
                        ("longer row", "header row"), ("hash", "unknown hash"), ("flag", "unknown flag"),
                        ("format 2", "unknown format version"), ("fpr", "fpr must be a number")):
        path = str(tmp_path / f"{name}.db")
        make(path, PLAIN, LATER_TABLES[name])
        message = refused(support.connect(path), DAMAGED, "SELECT count(*) FROM seen", says=words)
        assert message.startswith("seen: ")


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
