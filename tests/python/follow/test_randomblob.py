# SPDX-License-Identifier: MIT
"""randomblob in the DEFAULT of a log: SQLite's own in programs without the extension; in others one that does the same, and notices
that a log is written to, so that COMMIT drains it."""
import os
import shutil
import sqlite3

import pytest

import inside
import support
from promises import NUMBERS, Follower, attempt, bare, create, run
from support import ask

ARGUMENTS = ["-1", "0", "1", "7", "16", "17", "1000", "'3x'", "'8 cuckoo_log_'", "'8 cuckoo_log_0123456789abcdef f'", "2.7", "NULL",
             "x'35'", "'x'", "zeroblob(3)"]
MANY = f"{NUMBERS} INSERT INTO u(k) SELECT 'n' || i FROM n, (SELECT 1 UNION ALL SELECT 2)"


def pending(db, name="f"):
    return ask(db, "SELECT json_extract(cf_table_info(?), '$.pending')", name)


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "a.db")


def test_it_does_what_that_of_sqlite_does():
    ours, theirs = support.connect(), sqlite3.connect(":memory:")
    for argument in ARGUMENTS:
        sql = f"SELECT typeof(b), length(b), b = randomblob(8) FROM (SELECT randomblob({argument}) AS b)"
        assert ours.execute(sql).fetchall() == theirs.execute(sql).fetchall(), argument
    for sql in ("SELECT randomblob()", "SELECT randomblob(1, 2)", "SELECT randomblob(1 << 40)", "SELECT randomblob(1000000001)"):
        assert str(attempt(ours, sql)) == str(attempt(theirs, sql)), sql
    assert ask(ours, "SELECT count(DISTINCT randomblob(8)) FROM (WITH RECURSIVE n(i) AS "
                     "(SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100) SELECT i FROM n)") == 100
    ours.execute("PRAGMA trusted_schema = OFF")
    run(ours, "CREATE TABLE t(x, y DEFAULT (randomblob(4))); INSERT INTO t(x) VALUES (1)")
    assert ask(ours, "SELECT length(y) FROM t") == 4


def test_the_tag_is_eight_random_bytes_in_every_program(path):
    db = create(support.connect(path)).db
    for program in (db, bare(path)):
        run(program, "INSERT INTO u(k) VALUES ('x'), ('y')")
    tags = bare(path).execute(f"SELECT typeof(tag), length(tag), tag FROM {inside.log_of(db)}").fetchall()
    assert {tag[:2] for tag in tags} == {("blob", 8)} and len({tag[2] for tag in tags}) == len(tags)


def test_a_randomblob_of_the_program(path):
    """It is preferred, nothing is noticed, and the answers are right."""
    for before in (False, True):
        db = support.connect(path) if not before else sqlite3.connect(path, isolation_level=None)
        db.create_function("randomblob", 1, lambda n: os.urandom(8))
        if before:
            db.enable_load_extension(True)
            db.load_extension(support.extension_path().removesuffix(".so"))
        else:
            create(db)
        run(db, MANY)
        assert pending(db) >= 2000 and Follower(db).answers()
        run(db, "BEGIN; INSERT INTO u(k) VALUES ('late')")
        assert ask(db, "SELECT cf_table_contains('f', 'late')") == 1
        run(db, "ROLLBACK; BEGIN; INSERT INTO u(k) VALUES ('again')")
        assert ask(db, "SELECT cf_table_contains('f', 'again') + 2 * cf_table_contains('f', 'late')") == 1
        run(db, "COMMIT; INSERT INTO f(f) VALUES ('drain')")
        assert pending(db) == 0 and Follower(db).answers()
        db.close()


def test_a_load_within_a_statement(path):
    """What was compiled before calls SQLite's."""
    create(support.connect(path))
    db = bare(path)
    db.enable_load_extension(True)
    run(db, "INSERT INTO u(k) VALUES ('first')")
    assert db.execute("SELECT load_extension(?), 1 FROM (SELECT 1 UNION ALL SELECT 2)",
                      (support.extension_path().removesuffix(".so"),)).fetchall()[0][1] == 1
    run(db, f"INSERT INTO u(k) VALUES ('first'); {MANY}; {MANY}")
    assert pending(db) < 2100 and Follower(db).answers()


@pytest.mark.parametrize("first", ["", "SELECT cf_table_contains('g', 1)", "SELECT count(*) FROM g"])
def test_a_filter_that_was_renamed_is_found_by_its_log(path, first):
    db = create(support.connect(path)).db
    run(db, "CREATE TABLE v(k); CREATE VIRTUAL TABLE e USING cuckoo_filter(content='v(k)'); ALTER TABLE f RENAME TO g")
    run(db, MANY)
    assert pending(db, "g") == 0, "in the connection that has renamed it"
    other = support.connect(path)
    run(other, first)
    run(other, MANY)
    assert pending(other, "g") == 0
    run(db, "ALTER TABLE g RENAME TO f")
    run(other, MANY)
    assert pending(other) == 0


def test_a_copy_with_the_same_log_that_is_attached(path, tmp_path):
    create(support.connect(path))
    shutil.copy(path, tmp_path / "copy.db")
    db = support.connect(path)
    db.execute("ATTACH ? AS copy", (str(tmp_path / "copy.db"),))
    for schema in ("copy", "main", "copy"):
        run(db, MANY.replace("INTO u", f"INTO {schema}.u"))
        assert (pending(db, "main.f"), pending(db, "copy.f")) == (0, 0)


def test_short_transactions_do_not_join_and_a_long_log_is_drained(path):
    """One row at a time: after the 1,024th."""
    db = create(support.connect(path)).db
    run(db, "INSERT INTO f(f) VALUES ('drain'); INSERT INTO u(k) VALUES ('0')")
    for i in range(1, 1023):
        db.execute("INSERT INTO u(k) VALUES (?)", (f"s{i}",))
    assert pending(db) == 1023
    db.execute("INSERT INTO u(k) VALUES ('last')")
    assert pending(db) == 0


def test_a_temp_trigger_in_a_connection_that_was_open_before(path):
    """What it has written beside the trigger is noted."""
    old = support.connect(path)
    run(old, "CREATE TABLE t(x)")
    db = create(support.connect(path)).db
    run(old, "CREATE TEMP TRIGGER theirs AFTER INSERT ON u WHEN new.k = 'lost' BEGIN SELECT RAISE(IGNORE); END")
    run(old, "INSERT INTO u(k) VALUES ('kept'), ('lost')")
    assert ask(db, "SELECT json_extract(cf_table_info('f'), '$.trusted')") == 0
