# SPDX-License-Identifier: MIT
"""Filter tables that take keys themselves: INSERT, DELETE, UPDATE, values, the queries they answer, growth, and what is full."""
import json
import random
import sqlite3

import pytest

import support
from address import AIMED
from seen import ERROR, EXACT, check, command, create, has, info, insert, items, lost, refused
from support import ask

NEEDS_FROM = pytest.mark.skipif(sqlite3.sqlite_version_info < (3, 33), reason="UPDATE .. FROM came with 3.33")


@pytest.fixture
def seen(db):
    create(db)
    insert(db, 1, 2, 3)
    return db


# ---- rows ----

def test_each_kind_of_change(seen):
    for sql, found, n in [
            ("SELECT 1", [1, 2, 3], 3), ("DELETE FROM seen WHERE key = 2", [1, 3], 2),
            ("UPDATE seen SET key = 20 WHERE key = 1", [3, 20], 2),
            ("UPDATE seen SET key = key WHERE key = 3", [3, 20], 2),
            ("UPDATE seen SET key = NULL WHERE key = 3", [20], 1),
            ("INSERT INTO seen(key) VALUES (NULL), (1)", [1, 20], 2), ("DELETE FROM seen WHERE key = NULL", [1, 20], 2),
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


@pytest.mark.parametrize("stored, equal, other", [
    (1, 1.0, "1"), (0.0, -0.0, "0"), ("1", "1", 1), (b"a", b"a", "a"), ("a", "a", "A"), ("a", "a", "a "),
    (2**62, float(2**62), 2**62 + 1), ("", "", b""), ("a\0b", "a\0b", "a"), (2.5, 2.5, 2)])
def test_keys_are_equal_as_sqlite_compares_them(db, stored, equal, other):
    create(db, "fingerprint_bits=32")
    insert(db, stored)
    assert has(db, equal)
    assert not has(db, other)
    db.execute("DELETE FROM seen WHERE key = ?", (equal,))
    assert items(db) == 0


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


def test_changes_counts_rows_of_the_virtual_table(seen):
    assert seen.execute("INSERT INTO seen(key) VALUES (7), (8)").rowcount == 2
    assert seen.execute("DELETE FROM seen WHERE key IN (7, 8, 99)").rowcount == 2
    assert ask(seen, "SELECT changes()") == 2


@pytest.mark.skipif(sqlite3.sqlite_version_info < (3, 35), reason="no RETURNING")
def test_insert_returning(seen):
    assert seen.execute("INSERT INTO seen(key) VALUES (7), (8) RETURNING key").fetchall() == [(7,), (8,)]


# ---- values and copies ----

def test_a_value_goes_with_its_key(db):
    create(db, "capacity=100, value_bits=8")
    db.execute("INSERT INTO seen VALUES (1, 0), ('a', 255)")
    rows = db.execute("SELECT key, value FROM seen WHERE key IN (1, 'a')").fetchall()
    assert set(rows) == {(1, 0), ("a", 255)}


@pytest.mark.parametrize("value", [256, -1, "a", None, 1.5, b"x"])
def test_a_value_that_does_not_fit_is_an_error(db, value):
    create(db, "capacity=100, value_bits=8")
    with pytest.raises(sqlite3.OperationalError, match="value must be an integer from 0 to 255"):
        db.execute("INSERT INTO seen VALUES (1, ?)", (value,))
    assert items(db) == 0


@pytest.mark.parametrize("old", range(8))
def test_update_of_the_value_replaces_it(db, old):
    create(db, "capacity=100, value_bits=8")
    db.execute("INSERT INTO seen VALUES (1, ?)", (old,))
    db.execute("UPDATE seen SET value = 4 WHERE key = 1")
    db.execute("UPDATE seen SET key = 2 WHERE key = 1")
    assert db.execute("SELECT value FROM seen WHERE key = 2").fetchall() == [(4,)] and not has(db, 1)
    assert items(db) == 1


def test_counter_bits_keep_as_many_copies(db):
    create(db, "capacity=10, " + EXACT)
    insert(db, *["k"] * 255)
    for left in range(254, -1, -1):
        db.execute("DELETE FROM seen WHERE key = 'k'")
        assert has(db, "k") == (left > 0) and items(db) == left


def test_each_value_of_a_key_can_be_asked_for_and_deleted(db):
    db.execute("CREATE VIRTUAL TABLE s USING cuckoo_filter(capacity=100, value_bits=8, fingerprint_bits=32)")
    db.execute("INSERT INTO s(key, value) VALUES ('a', 1), ('a', 2), ('a', 3)")

    def values():
        return [n for n in range(6) if ask(db, "SELECT EXISTS (SELECT 1 FROM s WHERE key = 'a' AND value = ?)", n)]

    assert values() == [1, 2, 3]
    db.execute("DELETE FROM s WHERE key = 'a' AND value = 2")
    assert values() == [1, 3]
    db.execute("UPDATE s SET value = 5 WHERE key = 'a' AND value = 3")
    assert values() == [1, 5] and ask(db, "SELECT count(*) FROM s") == 2


def test_an_update_of_the_value_takes_the_old_one_away(db):
    db.execute("CREATE VIRTUAL TABLE s USING cuckoo_filter(capacity=100, value_bits=8, fingerprint_bits=32)")
    db.executemany("INSERT INTO s(key, value) VALUES (?, ?)", [(f"a{i}", i % 256) for i in range(1000)])
    for i in range(1000):
        db.execute("UPDATE s SET value = ? WHERE key = ?", ((i + 77) % 256, f"a{i}"))
    wrong = [i for i in range(1000)
             if ask(db, "SELECT value FROM s WHERE key = ?", f"a{i}") != (i + 77) % 256]
    assert wrong == [] and ask(db, "SELECT count(*) FROM s") == 1000


@pytest.mark.parametrize("inside", [False, True])
def test_an_update_to_the_same_key_does_not_make_it_sticky(db, inside):
    db.execute("CREATE VIRTUAL TABLE s USING cuckoo_filter(capacity=100, fingerprint_bits=32)")
    cap = ask(db, "SELECT json_extract(cf_table_info('s'), '$.cap')")
    db.executemany("INSERT INTO s(key) VALUES (?)", [("a",)] * (cap - 1))
    if inside:
        db.execute("BEGIN")
    for _ in range(10):
        db.execute("UPDATE s SET key = 'a' WHERE key = 'a'")
    if inside:
        db.execute("COMMIT")
    assert ask(db, "SELECT json_extract(cf_table_info('s', 'all'), '$.sticky')") == 0
    for _ in range(cap - 1):
        db.execute("DELETE FROM s WHERE key = 'a'")
    assert ask(db, "SELECT count(*) FROM s") == 0


def test_a_delete_that_is_said_twice(db):
    """It takes no other key's fingerprint."""
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(capacity=100, fingerprint_bits=4, growth=off, seed=1)")
    db.executemany("INSERT INTO f(key) VALUES (?)", [(i,) for i in range(60)])
    for begin in ("BEGIN", "SAVEPOINT s"):
        db.execute(begin)
        for _ in range(5):
            db.execute("DELETE FROM f WHERE key = 1")
        db.execute("COMMIT" if begin == "BEGIN" else "RELEASE s")
        db.execute("INSERT INTO f(key) VALUES (1)")
    db.execute("CREATE VIRTUAL TABLE g USING cuckoo_filter(capacity=100, fingerprint_bits=32, counter_bits=8)")
    db.execute("INSERT INTO g(key) VALUES (1), (1), (2)")
    db.executescript("BEGIN; DELETE FROM g WHERE key = 2; DELETE FROM g WHERE key = 2; DELETE FROM g WHERE key = 2; COMMIT")
    assert ask(db, "SELECT count(*) FROM g") == 2
    db.executescript("BEGIN; INSERT INTO g(key) VALUES (5); DELETE FROM g WHERE key = 5; DELETE FROM g WHERE key = 5; COMMIT")
    assert ask(db, "SELECT count(*) FROM g") == 2
    assert ask(db, "SELECT EXISTS (SELECT 1 FROM g WHERE key = 1)") == 1


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
    create(db, "capacity=20, growth=off, fingerprint_bits=32, seed=0")
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


def test_an_update_that_has_no_room_keeps_the_old_key(db):
    """Both buckets of key 7 are full of its values. The row of another key goes first, which makes no room there."""
    create(db, "capacity=1000, growth=off, value_bits=8")
    add = "INSERT INTO seen(key, value) VALUES (?, ?)"
    most = 0
    with pytest.raises(sqlite3.OperationalError, match="full"):
        for most in range(256):
            db.execute(add, (7, most))
    assert 4 <= most < 40
    db.execute(add, (8, 1))
    refused(db, ERROR, "UPDATE seen SET key = 7, value = 200 WHERE key = 8", says="full")
    assert db.execute("SELECT value FROM seen WHERE key = 8").fetchall() == [(1,)]
    assert sorted(db.execute("SELECT value FROM seen WHERE key = 7")) == [(value,) for value in range(most)]
    assert items(db) == most + 1
    check(db)
    db.execute("UPDATE seen SET key = 9 WHERE key = 8")
    assert lost(db, [7, 9]) == [] and items(db) == most + 1


@pytest.mark.parametrize("arguments", ["capacity=50", "capacity=50, overflow=on", "capacity=50, bucket_size=8",
                                       "capacity=50, bucket_size=2", "capacity=50, " + EXACT,
                                       "capacity=50, value_bits=4"])
def test_growth_a_hundredfold_loses_nothing(db, arguments):
    create(db, arguments)
    db.execute("BEGIN")
    value = ", value" if "value_bits" in arguments else ""
    db.execute(f"INSERT INTO seen(key{value}) WITH n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 4999) "
               f"SELECT i{', i % 16' if value else ''} FROM n")
    db.execute("COMMIT")
    assert lost(db, range(5000)) == [] and items(db) == 5000
    assert info(db)["level"] > 0
    check(db)
    db.executemany("DELETE FROM seen WHERE key = ?", [(key,) for key in range(0, 5000, 2)])
    assert lost(db, range(1, 5000, 2)) == []
    check(db)


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


# ---- commands ----

def test_clear_empties_the_filter(seen):
    seen.execute("INSERT INTO seen(seen) VALUES ('clear')")
    assert items(seen) == 0 and not has(seen, 1)
    insert(seen, 5)
    assert has(seen, 5) and items(seen) == 1


@pytest.mark.parametrize("command", ["bogus", "", 5])
def test_an_unknown_command_lists_the_known_ones(seen, command):
    refused(seen, ERROR, "INSERT INTO seen(seen) VALUES (?)", command,
            says="advance, check, clear, clock, drain, import, optimize, rebuild")
    assert items(seen) == 3


def test_rebuild_without_content_is_an_error(seen):
    refused(seen, ERROR, "INSERT INTO seen(seen) VALUES ('rebuild')", says="nothing to rebuild from")
    assert lost(seen, [1, 2, 3]) == []


@pytest.mark.parametrize("options", ["capacity=100", "capacity=100, overflow=on", "capacity=100, counter_bits=4",
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
    assert lost(db, range(1000)) == [] and items(db) <= 1100  # some deletes are of sticky keys
    db.close()
    db = support.connect(tmp_path / "o.db")
    insert(db, *range(30000, 34000))
    assert lost(db, [*range(1000), *range(30000, 34000)]) == []
    check(db)
    assert ask(support.connect(tmp_path / "o.db"), "SELECT cf_table_check('seen')") == "ok"
    db.close()


# ---- UPDATE .. FROM, which may name a row several times ----

@NEEDS_FROM
def test_update_from_changes_a_row_once(db):
    create(db, EXACT)
    db.executescript("CREATE TABLE s(k); INSERT INTO s VALUES (2), (2), (2)")
    insert(db, 2)
    db.execute("UPDATE seen SET key = 7 FROM s WHERE seen.key = s.k")
    assert (ask(db, "SELECT count(*) FROM seen"), has(db, 7), has(db, 2)) == (1, 1, 0)
    insert(db, 2)  # the next statement may change the row again
    db.execute("UPDATE seen SET key = 8 FROM s WHERE seen.key = s.k")
    assert (ask(db, "SELECT count(*) FROM seen"), has(db, 8), has(db, 2)) == (2, 1, 0)


@NEEDS_FROM
@pytest.mark.parametrize("options", ["fpr=0.3", "fpr=0.3, value_bits=4", "fpr=0.3, counter_bits=4"])
def test_update_from_leaves_lookalikes(db, options):
    create(db, f"capacity=5000, seed=1, {options}")
    column, value = ("key, value", ", k % 16") if "value" in options else ("key", "")
    db.execute("CREATE TABLE s(k)")
    db.executemany("INSERT INTO s VALUES (?)", [(k % 1000,) for k in range(3000)])
    numbers = "WITH RECURSIVE n(k) AS (SELECT 0 UNION ALL SELECT k + 1 FROM n WHERE k < 3999)"
    db.execute(f"INSERT INTO seen({column}) {numbers} SELECT k{value} FROM n")
    asked = " AND seen.value = s.k % 16" if value else ""
    db.execute(f"UPDATE seen SET key = s.k + 100000 FROM s WHERE seen.key = s.k{asked}")
    assert lost(db, range(1000, 4000)) == []
