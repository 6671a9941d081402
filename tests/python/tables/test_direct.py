# SPDX-License-Identifier: MIT
"""Filter tables that take keys themselves: INSERT, DELETE, values, the queries they answer, growth, and what is full."""
import json
import random
import sqlite3

import pytest

import support
from address import AIMED
from promises import attempt
from seen import ERROR, check, command, create, has, info, insert, items, lost, refused
from support import ask


@pytest.fixture
def seen(db):
    create(db)
    insert(db, 1, 2, 3)
    return db


# ---- rows ----

def test_each_kind_of_change(seen):
    for sql, found, n in [
            ("SELECT 1", [1, 2, 3], 3), ("DELETE FROM seen WHERE key = 2", [1, 3], 2),
            ("DELETE FROM seen WHERE key = 3", [1], 1),
            ("INSERT INTO seen(key) VALUES (NULL), (20)", [1, 20], 2), ("DELETE FROM seen WHERE key = NULL", [1, 20], 2),
            ("INSERT INTO seen(key) SELECT key + 10 FROM seen WHERE key IN (1, 20)", [1, 11, 20, 30], 4),
            ("DELETE FROM seen WHERE key IN (1, 11, 99)", [20, 30], 2),
            ("REPLACE INTO seen(key) VALUES (5)", [5, 20, 30], 3)]:
        seen.execute(sql)
        assert [key for key in range(100) if has(seen, key)] == found and items(seen) == n, sql
        check(seen)
    assert seen.execute("SELECT * FROM seen WHERE key = NULL").fetchall() == []
    before = ask(seen, "SELECT cf_export('seen')")
    seen.execute("DELETE FROM seen WHERE key = 4")
    assert ask(seen, "SELECT cf_export('seen')") == before, "a key that is not there"


@pytest.mark.parametrize("begin", ["SELECT 1", "BEGIN"])
def test_update_is_refused_and_changes_nothing(seen, begin):
    seen.execute(begin)
    for change in ("key = 20", "key = key", "key = NULL", "cuckoo_id = NULL"):
        refused(seen, ERROR, f"UPDATE seen SET {change} WHERE key = 1",
                says="UPDATE is refused: a filter keeps no keys that could change; use DELETE FROM seen")
        refused(seen, ERROR, f"UPDATE OR IGNORE seen SET {change} WHERE key IN (1, 2)", says="UPDATE is refused")
    assert seen.execute("UPDATE seen SET key = 20 WHERE key = 9").rowcount == 0
    seen.execute("COMMIT" if begin == "BEGIN" else begin)
    assert [key for key in range(100) if has(seen, key)] == [1, 2, 3] and items(seen) == 3
    check(seen)


def test_the_key_column_shows_the_key_that_was_asked_for(seen):
    insert(seen, "x", b"y")
    rows = seen.execute("SELECT key FROM seen WHERE key IN (1, 2, 'x', x'79', 99)").fetchall()
    assert sorted(rows, key=repr) == sorted([(1,), (2,), ("x",), (b"y",)], key=repr)


def test_a_change_that_cannot_know_its_keys_is_an_error(db):
    create(db, "capacity=3000")
    insert(db, *range(3000))
    for sql in ("DELETE FROM seen", "DELETE FROM seen WHERE rowid < 3000", "UPDATE seen SET key = 1"):
        with pytest.raises(sqlite3.OperationalError, match="cannot list its keys|no such column"):
            db.execute(sql)
    assert lost(db, range(3000)) == [] and items(db) == 3000


@pytest.mark.skipif(sqlite3.sqlite_version_info < (3, 35), reason="no RETURNING")
def test_insert_returning(seen):
    assert seen.execute("INSERT INTO seen(key) VALUES (7), (8) RETURNING key").fetchall() == [(7,), (8,)]


# ---- values ----

@pytest.mark.parametrize("options", ["capacity=100, value_bits=8", "content='u(k)', value_bits=1", "value_bits=32"])
def test_a_table_keeps_no_values(db, options):
    db.execute("CREATE TABLE u(k)")
    refused(db, ERROR, f"CREATE VIRTUAL TABLE seen USING cuckoo_filter({options})",
            says=f"{options.split(', ')[-1]}: a filter table stores no values; store them in a blob")
    db.execute("CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=5, value_bits=0)")
    assert "value" not in [row[1] for row in db.execute("PRAGMA table_xinfo(seen)")]


# ---- queries ----

@pytest.fixture
def joined(seen):
    seen.execute("CREATE TABLE e(id, x)")
    seen.executemany("INSERT INTO e VALUES (?, ?)", [(i, i % 2) for i in range(6)])
    return seen


@pytest.mark.parametrize("query", [
    "SELECT id FROM e JOIN seen ON seen.key = e.id",
    "SELECT id FROM seen JOIN e ON e.id = seen.key",
    "SELECT id FROM e, seen WHERE key = id",
    "SELECT id FROM e WHERE EXISTS (SELECT 1 FROM seen WHERE seen.key = e.id)",
    "SELECT id FROM e WHERE (SELECT count(*) FROM seen WHERE key = id)",
    "SELECT id FROM e LEFT JOIN seen ON seen.key = e.id WHERE seen.key IS NOT NULL",
    "SELECT key FROM seen WHERE key IN (SELECT id FROM e)",
    "SELECT key FROM seen WHERE key IN (0, 1, 2, 3, 3, 4, 5, NULL)",
    "SELECT key FROM seen WHERE key = 1 OR key = 5 OR key = 2 OR key = 3",
    "SELECT key FROM (SELECT 1 AS k UNION SELECT 2 UNION SELECT 3) JOIN seen ON key = k",
])
def test_queries_by_key(joined, query):
    assert sorted(joined.execute(query).fetchall()) == [(1,), (2,), (3,)]


def test_other_terms_of_where_are_checked_as_well(joined):
    assert joined.execute("SELECT key FROM seen WHERE key = 1 AND key = 2").fetchall() == []
    assert joined.execute("SELECT key FROM seen WHERE key IN (1, 2) AND key > 1").fetchall() == [(2,)]
    assert joined.execute("SELECT id FROM e JOIN seen ON key = id WHERE x = 1 ORDER BY 1").fetchall() == [
        (1,), (3,)]


@pytest.mark.parametrize("query", [
    "SELECT key FROM seen", "SELECT * FROM seen LIMIT 1", "SELECT count(key) FROM seen",
    "SELECT key FROM seen WHERE key > 1", "SELECT key FROM seen WHERE +key = 1",
    "SELECT id FROM e WHERE id IN (SELECT key FROM seen)", "SELECT key FROM seen WHERE key IS NULL",
    pytest.param("SELECT id FROM e RIGHT JOIN seen ON seen.key = e.id", marks=pytest.mark.skipif(
        sqlite3.sqlite_version_info < (3, 39), reason="no RIGHT JOIN")),
    "SELECT id FROM e JOIN seen ON key = id OR x"])
def test_a_scan_that_would_need_the_keys_is_an_error(joined, query):
    refused(joined, ERROR, query, says="seen: a filter cannot list its keys; use WHERE key = ")


@pytest.mark.parametrize("query", [
    "SELECT key FROM seen WHERE key = 'A' COLLATE NOCASE", "SELECT key FROM seen WHERE key = 'a ' COLLATE RTRIM",
    "SELECT id FROM n JOIN seen ON n.id = seen.key", "SELECT id FROM n WHERE id IN (SELECT key FROM seen)",
    "SELECT 1 FROM seen WHERE key COLLATE NOCASE IN ('A')", "DELETE FROM seen WHERE key = 'A' COLLATE NOCASE"])
def test_another_collation_is_an_error_not_a_miss(seen, query):
    insert(seen, "a")
    seen.execute("CREATE TABLE n(id TEXT COLLATE NOCASE)")
    seen.execute("INSERT INTO n VALUES ('A')")
    refused(seen, ERROR, query, says="cannot list its keys" if "SELECT id FROM n WHERE" in query else "collation=")


def test_count_of_all_needs_no_key(seen):
    assert items(seen) == 3
    assert ask(seen, "SELECT count(*) FROM seen WHERE key = 1") == 1
    assert ask(seen, "SELECT count(*) FROM seen WHERE key = 99") == 0
    assert ask(seen, "SELECT EXISTS (SELECT 1 FROM seen)") == 1


# ---- full, and growth ----

def fill(db):
    """A filter of fixed size, full; the keys in it."""
    create(db, "capacity=20, bucket_size=8, growth=off, fingerprint_bits=32, seed=0")
    for key in range(1000):
        try:
            insert(db, key)
        except sqlite3.OperationalError:
            return range(key)
    raise AssertionError("never full")


@pytest.mark.parametrize("conflict", ["", "OR REPLACE", "OR ABORT", "OR FAIL", "OR IGNORE", "OR ROLLBACK"])
def test_full_is_an_error_that_changes_nothing(db, conflict):
    """Nothing that OR IGNORE hides; the transaction stays, unless the statement says otherwise."""
    keys = fill(db)
    db.execute("DELETE FROM seen WHERE key = 0")
    db.execute("BEGIN")
    insert(db, 0)
    before = ask(db, "SELECT cf_export('seen')")
    refused(db, ERROR, f"INSERT {conflict} INTO seen(key) VALUES ('more')", says="filter is full")
    if db.in_transaction:
        assert ask(db, "SELECT cf_export('seen')") == before
        db.execute("COMMIT")
    assert len(keys) >= 20 and not has(db, "more")
    assert lost(db, keys) == [] or conflict == "OR ROLLBACK" and lost(db, keys) == [0]
    check(db)


@pytest.mark.parametrize("options", ["", "counter_bits=2", "bucket_size=2"])
def test_a_build_of_keys_that_crowd_one_place_is_refused(db, options):
    build = "SELECT cf_build(value, NULL, ?) FROM json_each(?)"
    options, keys = f"fingerprint_bits=24 {options} seed=", json.dumps(AIMED)
    support.fails(db, support.FULL, build, options + "0", keys, says="try another seed in the options")
    blob = ask(db, build, options + "12345", keys)
    assert all(support.contains(db, blob, key) for key in AIMED)


# ---- commands ----

@pytest.mark.parametrize("command", ["bogus", "", 5])
def test_an_unknown_command_lists_the_known_ones(seen, command):
    refused(seen, ERROR, "INSERT INTO seen(seen) VALUES (?)", command,
            says="advance, check, clear, clock, drain, import, optimize, rebuild")
    assert items(seen) == 3


def test_rebuild_without_content_is_an_error(seen):
    refused(seen, ERROR, "INSERT INTO seen(seen) VALUES ('rebuild')", says="nothing to rebuild from")
    assert lost(seen, [1, 2, 3]) == []


@pytest.mark.parametrize("options", ["capacity=100", "capacity=100, counter_bits=4",
                                     "capacity=100, layout=semisort", "capacity=100, bucket_size=8"])
def test_optimize_gives_room_back_when_keys_have_gone(tmp_path, options):
    db = support.connect(tmp_path / "o.db")
    create(db, options)
    db.execute("BEGIN")
    insert(db, *range(9000))
    command(db, "optimize")
    assert lost(db, range(9000)) == []
    db.execute("COMMIT")
    full, before = info(db)["bytes"], ask(db, "SELECT cf_export('seen')")
    for end in ("ROLLBACK", "COMMIT"):
        db.execute("BEGIN")
        db.executemany("DELETE FROM seen WHERE key = ?", ((key,) for key in range(1000, 9000)))
        command(db, "optimize")
        assert info(db)["bytes"] < full / 2
        db.execute(end)
        assert end == "COMMIT" or ask(db, "SELECT cf_export('seen')") == before
        check(db)
    assert lost(db, range(1000)) == [] and items(db) <= 1100  # some deletes are of saturated keys
    db.close()
    db = support.connect(tmp_path / "o.db")
    insert(db, *range(30000, 34000))
    assert lost(db, [*range(1000), *range(30000, 34000)]) == []
    check(db)
    assert ask(support.connect(tmp_path / "o.db"), "SELECT cf_table_check('seen')") == "ok"
    db.close()


# ---- the log, and how it is drained ----

SOME = "WITH RECURSIVE n(i) AS (SELECT {first} UNION ALL SELECT i + 1 FROM n WHERE i < {last}) INSERT INTO seen(key) SELECT i FROM n"


def test_a_drain_that_is_interrupted_counts_no_change_twice():
    for last in range(1, 400):
        db, calls = support.connect(), iter(range(1 << 60))
        create(db, "capacity=3000, counter_bits=4")
        insert(db, *range(20), *range(20))
        db.execute("BEGIN")
        db.execute(SOME.format(first=1000, last=2499))
        db.executemany("DELETE FROM seen WHERE key = ?", ((key,) for key in range(20)))
        db.set_progress_handler(lambda: next(calls) == last, 1)
        attempt(db, "COMMIT")
        db.set_progress_handler(None, 0)
        assert not db.in_transaction or not attempt(db, "COMMIT")
        assert items(db) in (40, 1520) and lost(db, range(20)) == []


def test_who_deletes_a_key_that_is_there_by_chance_and_adds_it_finds_it(db):
    create(db, "capacity=1000, seed=1")
    insert(db, *range(1000))
    command(db, "drain")
    like = next(key for key in range(10000, 99999) if has(db, key))
    for key in range(1000):
        db.execute("DELETE FROM seen WHERE key = ?", (key,))
    db.execute("DELETE FROM seen WHERE key = ?", (like,))
    insert(db, like)
    command(db, "drain")
    assert has(db, like)


def test_a_log_is_drained_though_nobody_asks(db):
    create(db)
    for first in range(3000):
        db.execute(SOME.format(first=first, last=first + first % 3))
    assert info(db)["pending"] < 1024
