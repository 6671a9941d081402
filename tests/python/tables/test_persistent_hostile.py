# SPDX-License-Identifier: MIT
"""Shadow tables that somebody has damaged: errors that say so, and never a crash, a hang or a false answer about another table."""
import os
import random
import resource
import sqlite3
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rows
import support
from support import ask
from test_persistent import DAMAGED, create, has, insert, refused, schema_of

ALLOWED = {"SQLITE_CORRUPT_VTAB", "SQLITE_CONSTRAINT"}
USES = ["SELECT key FROM seen WHERE key = 5", "SELECT key FROM seen WHERE key IN (1, 2, 3, 4, 5)",
        "SELECT cf_table_contains('seen', 7)", "SELECT cf_table_info('seen')", "SELECT cf_export('seen')",
        "SELECT count(*) FROM cf_table_buckets('seen')", "INSERT INTO seen(seen) VALUES ('check')",
        "DELETE FROM seen WHERE key = 5", "UPDATE seen SET key = 3 WHERE key = 4", "INSERT INTO seen(key) VALUES (99)",
        "INSERT INTO seen(key) SELECT value FROM json_each('[1,2,3,4,5,6,7,8,9]')",
        "INSERT INTO seen(seen) VALUES ('optimize')", "INSERT INTO seen(key, seen) SELECT cf_export('seen'), 'import'"]


def table(arguments="capacity=200, bucket_size=4"):
    db = support.connect()
    db.execute("PRAGMA page_size = 512")
    create(db, arguments)
    insert(db, *range(250))
    return db


def use_it(db, allowed=ALLOWED):
    """Every use gives an answer or one of the errors for it; then the table can be dropped."""
    for sql in USES:
        try:
            db.execute(sql).fetchall()
        except sqlite3.Error as error:
            known = "not a sound filter" in str(error) or "filter is full" in str(error)
            # The change had begun when it met a row that cannot be read: it must be rolled back.
            known |= error.sqlite_errorname == "SQLITE_IOERR" and "_page has been changed; restore" in str(error)
            assert known or error.sqlite_errorname in allowed, f"{sql}: {error!r}"
            assert "logic error" not in str(error) and str(error) != "database disk image is malformed", f"{sql}: {error}"
    db.execute("DROP TABLE seen")
    assert schema_of(db) == []
    db.close()


@pytest.mark.parametrize("statement", [
    "DROP TABLE seen_page", "DELETE FROM seen_page", "DELETE FROM seen_page WHERE no = 0", "DELETE FROM seen_page WHERE no > 0",
    "UPDATE seen_page SET data = NULL", "UPDATE seen_page SET data = 'text'", "UPDATE seen_page SET data = 5",
    "UPDATE seen_page SET data = x''", "UPDATE seen_page SET data = zeroblob(100000)",
    "UPDATE seen_page SET data = randomblob(length(data))", "UPDATE seen_page SET data = substr(data, 1, length(data) - 1)",
    "UPDATE seen_page SET data = data || x'00'", "UPDATE seen_page SET no = -no", "UPDATE seen_page SET no = no + 1000000",
    "UPDATE seen_page SET data = NULL WHERE no > 0", "UPDATE seen_page SET data = 'text' WHERE no > 0",
    "UPDATE seen_page SET data = zeroblob(100000) WHERE no > 0", "UPDATE seen_page SET data = x'ff' WHERE no > 0",
    "UPDATE seen_page SET data = randomblob(448) WHERE no > 0", "DROP TABLE seen_page; CREATE VIEW seen_page AS SELECT 0 AS no, 'x' AS data",
    "DROP TABLE seen_page; CREATE TABLE seen_page(x)", "DROP TABLE seen_page; CREATE TABLE seen_page(no, data)"])
@pytest.mark.parametrize("in_memory", [False, True])
def test_damaged_rows(statement, in_memory, tmp_path):
    db = table()
    if not in_memory:
        db.execute("VACUUM INTO ?", (str(tmp_path / "x.db"),))
        db.close()
        db = support.connect(str(tmp_path / "x.db"))
    for part in statement.split("; "):
        db.execute(part)
    if "VIEW" in statement:
        db.execute("SELECT 1")
        with pytest.raises(sqlite3.Error):
            insert(db, 1)
        return
    use_it(db)


@pytest.mark.parametrize("sql", USES[:3] + USES[4:6] + USES[7:10])  # cf_table_info tells it (test_table_info.py)
@pytest.mark.parametrize("damage, says", [("DROP TABLE seen_page", "shadow table is missing"),
                                          ("DELETE FROM seen_page", "header is missing")])
def test_a_missing_table_or_header_is_called_missing(sql, damage, says, tmp_path):
    db = table()
    db.execute("VACUUM INTO ?", (str(tmp_path / "x.db"),))
    db = support.connect(str(tmp_path / "x.db"))
    db.execute(damage)
    refused(db, DAMAGED, sql, says=says)


def header(db):
    return ask(db, "SELECT data FROM seen_page WHERE no = 0")


def put_header(db, blob=None, **numbers):
    """With a right checksum."""
    db.execute("UPDATE seen_page SET data = ? WHERE no = 0", (rows.patched_header(header(db), blob, **numbers),))


@pytest.mark.parametrize("length", [0, 1, 63, 64, 65, 72, 500, 2**20, 2**26, 2**40, 2**47, 2**48, 2**63, 2**64 - 1])
def test_any_length_in_the_header(length):
    db = table()
    put_header(db, length=length)
    refused(db, DAMAGED, "SELECT key FROM seen WHERE key = 5")
    use_it(db)


@pytest.mark.parametrize("page_bytes", [0, 1, 63, 64, 439, 441, 65536, 2**31, 2**32 - 1])
def test_any_page_length_in_the_header(page_bytes):
    db = table()
    put_header(db, page_bytes=page_bytes)
    use_it(db)


@pytest.mark.parametrize("field", support.FIELDS)
@pytest.mark.parametrize("value", [0, 1, 2, 255, 2**16 - 1, 2**48 - 1, 2**64 - 1])
def test_any_field_of_the_header_with_a_right_checksum(field, value):
    db = table()
    size = support.FIELDS[field][1]
    put_header(db, support.patched(header(db)[:64], **{field: value % 2**(8 * size)}))
    use_it(db)


@given(seed=st.integers(0, 2**32), shape=st.sampled_from([
    "capacity=200", "capacity=20, overflow=on", "capacity=20, bucket_size=8", "capacity=300, layout=semisort, bucket_size=4",
    "capacity=20, counter_bits=5", "capacity=300, growth=off"]), header_too=st.booleans())
def test_random_bytes_in_the_rows(seed, shape, header_too):
    """With right checksums."""
    rng = random.Random(seed)
    db = table(shape)
    checksums, filter_header = 0, None
    for no, data in db.execute("SELECT no, data FROM seen_page ORDER BY no DESC").fetchall():
        damaged = bytearray(data)
        for _ in range(rng.choice([0, 1, 8, len(data)])):
            damaged[rng.randrange(len(data))] = rng.randrange(256)
        if no == 0 and header_too:
            filter_header = support.sealed(bytes(damaged[:64]))
        elif no > 0:
            row = rows.sealed_row(no, bytes(damaged))
            checksums += rows.word(row, len(row) - 8)
            db.execute("UPDATE seen_page SET data = ? WHERE no = ?", (row, no))
    put_header(db, filter_header, checksums=checksums % 2**64)
    use_it(db)


@pytest.mark.parametrize("capacity", [10**12, 2**40])
def test_a_capacity_beyond_memory_leaves_nothing_behind(capacity):
    script = f"""
import sqlite3, support
db = support.connect()
db.execute("BEGIN")
db.execute("CREATE TABLE mine(x)")
try:
    db.execute("CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity={capacity})")
except (sqlite3.Error, MemoryError):
    print(db.in_transaction, [row[0] for row in db.execute("SELECT name FROM sqlite_master")])
"""
    options = os.environ.get("ASAN_OPTIONS", "") + ":allocator_may_return_null=1"
    limit = None if "asan" in support.extension_path() else lambda: resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31))
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, preexec_fn=limit,
                         env={**os.environ, "PYTHONPATH": os.path.dirname(support.__file__), "ASAN_OPTIONS": options})
    assert ran.stdout.strip() == "True ['mine']", ran.stdout + ran.stderr[:1000]


def test_growth_that_is_taken_back_and_begins_anew():
    """Values crowd two buckets: growth in vain leaves the image longer than the filter, and the next step needs less."""
    db = support.connect()
    create(db, "capacity=300, fingerprint_bits=13, bucket_size=2, value_bits=32, seed=0, overflow=on")
    pick = random.Random(2)
    rows = [(pick.randrange(30), i) for i in range(600)]
    db.execute("BEGIN")
    for row in rows:
        db.execute("INSERT INTO seen(key, value) VALUES (?, ?)", row)
    db.execute("COMMIT")
    for row in rows:
        assert ask(db, "SELECT count(*) FROM seen WHERE key = ? AND value = ?", *row) == 1
    db.execute("INSERT INTO seen(seen) VALUES ('check')")
