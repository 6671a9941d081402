# SPDX-License-Identifier: MIT
"""The persistent table cuckoo_filter: INSERT, DELETE, UPDATE, the queries it answers, its options and its limits.

Other files: by name (test_persistent_names.py), transactions, content, upkeep, hostile.
"""
import json
import sqlite3

import pytest

import support
from support import ask

FULL = sqlite3.OperationalError, "SQLITE_ERROR"  # nothing that OR IGNORE hides
ERROR = sqlite3.OperationalError, "SQLITE_ERROR"
DAMAGED = sqlite3.DatabaseError, "SQLITE_CORRUPT_VTAB"
TOO_BIG = sqlite3.DataError, "SQLITE_TOOBIG"
NO_ROWS = sqlite3.OperationalError, "SQLITE_READONLY"
EXACT = "fingerprint_bits=32, counter_bits=8"


# ---- what the tests of the persistent table share ----

def create(db, arguments="capacity=1000", name="seen"):
    if "capacity" not in arguments.lower():
        arguments = ", ".join(filter(None, [arguments, "capacity=1"]))
    if "seed" not in arguments:
        arguments += ", seed=0"  # else how many keys are sticky, say, is another number each time
    db.execute(f"CREATE VIRTUAL TABLE {name} USING cuckoo_filter({arguments})")


def insert(db, *keys, table="seen"):
    db.executemany(f"INSERT INTO {table}(key) VALUES (?)", [(key,) for key in keys])


def has(db, key, table="seen"):
    return ask(db, f"SELECT EXISTS (SELECT 1 FROM {table} WHERE key = ?)", key)


def lost(db, keys, table="seen"):
    """Those of the keys that are not found: there must never be any."""
    return [key for key in keys if not has(db, key, table)]


def items(db, table="seen"):
    return ask(db, f"SELECT count(*) FROM {table}")


def info(db, name="seen", what=None):
    return json.loads(ask(db, "SELECT cf_table_info(?, ?)", name, what))


def check(db, table="seen"):
    db.execute(f"INSERT INTO {table}(seen) VALUES ('check')")


def refused(db, kind, sql, *parameters, says=""):
    """Runs sql, which must fail in this way; the message."""
    with pytest.raises(sqlite3.Error) as caught:
        db.execute(sql, parameters).fetchall()
    error = caught.value
    assert (type(error), error.sqlite_errorname) == kind, repr(error)
    assert says in str(error), str(error)
    return str(error)


def schema_of(db):
    return db.execute("SELECT type, name, sql FROM sqlite_master").fetchall()


@pytest.fixture
def seen(db):
    create(db)
    insert(db, 1, 2, 3)
    return db


# ---- rows ----

def test_an_inserted_key_is_found(seen):
    assert lost(seen, [1, 2, 3]) == []
    assert not has(seen, 4)
    assert items(seen) == 3
    check(seen)


def test_a_deleted_key_is_gone(seen):
    seen.execute("DELETE FROM seen WHERE key = 2")
    assert [has(seen, key) for key in (1, 2, 3)] == [1, 0, 1]
    assert items(seen) == 2


def test_deleting_an_absent_key_changes_nothing(seen):
    before = ask(seen, "SELECT cf_export('seen')")
    seen.execute("DELETE FROM seen WHERE key = 4")
    assert ask(seen, "SELECT cf_export('seen')") == before


def test_update_of_the_key_moves_it(seen):
    seen.execute("UPDATE seen SET key = 20 WHERE key = 2")
    assert [has(seen, key) for key in (1, 2, 3, 20)] == [1, 0, 1, 1]
    assert items(seen) == 3


def test_update_to_the_same_key_keeps_it(seen):
    seen.execute("UPDATE seen SET key = key WHERE key = 2")
    assert has(seen, 2) and items(seen) == 3


def test_update_to_null_removes_the_key(seen):
    seen.execute("UPDATE seen SET key = NULL WHERE key = 2")
    assert not has(seen, 2) and items(seen) == 2


def test_null_is_never_stored(seen):
    insert(seen, None)
    seen.execute("DELETE FROM seen WHERE key = NULL")
    assert items(seen) == 3
    assert seen.execute("SELECT * FROM seen WHERE key = NULL").fetchall() == []


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


def test_delete_without_where_never_takes_keys_away(db):
    """It cannot know the keys: it must be an error, as UPDATE without WHERE is, or empty the filter."""
    create(db, "capacity=3000")
    insert(db, *range(3000))
    refused(db, ERROR, "DELETE FROM seen", says="cannot list its keys")
    assert lost(db, range(3000)) == []


def test_delete_by_rowid_never_takes_keys_away(db):
    create(db, "capacity=3000")
    insert(db, *range(3000))
    try:
        db.execute("DELETE FROM seen WHERE rowid < 3000")
    except sqlite3.OperationalError:
        pass
    assert lost(db, range(3000)) == []


def test_update_without_where_is_an_error(seen):
    refused(seen, ERROR, "UPDATE seen SET key = 1", says="cannot list its keys")
    assert items(seen) == 3


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
    assert db.execute("SELECT value FROM seen WHERE key = 1").fetchall() == [(4,)]
    assert items(db) == 1


def test_a_renamed_key_keeps_its_value(db):
    create(db, "capacity=100, value_bits=8")
    db.execute("INSERT INTO seen VALUES (1, 9)")
    db.execute("UPDATE seen SET key = 2 WHERE key = 1")
    assert db.execute("SELECT value FROM seen WHERE key = 2").fetchall() == [(9,)]
    assert not has(db, 1)


def test_counter_bits_keep_as_many_copies(db):
    create(db, "capacity=10, " + EXACT)
    insert(db, *["k"] * 255)
    for left in range(254, -1, -1):
        db.execute("DELETE FROM seen WHERE key = 'k'")
        assert has(db, "k") == (left > 0) and items(db) == left


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


def test_a_table_can_feed_itself(seen):
    seen.execute("INSERT INTO seen(key) SELECT key + 10 FROM seen WHERE key IN (1, 2, 3)")
    assert lost(seen, [1, 2, 3, 11, 12, 13]) == [] and items(seen) == 6


# ---- options ----

@pytest.mark.parametrize("arguments", ["growth=maybe", "capacity=-5", "capacity=many", "capacity=1.5", "capacity=0x10"])
def test_a_bad_value_has_the_valid_ones_beside_it(db, arguments):
    valid = {"growth": "on|off", "capacity": "number of keys"}[arguments.partition("=")[0]]
    message = refused(db, ERROR, f"CREATE VIRTUAL TABLE seen USING cuckoo_filter({arguments})", says=f"bad value in {arguments}; valid: ")
    assert message.endswith(f"={valid}") and schema_of(db) == []


@pytest.mark.parametrize("arguments", ["bogus=1", "hello", "=''"])
def test_an_option_error_names_the_valid_ones(db, arguments):
    message = refused(db, ERROR, f"CREATE VIRTUAL TABLE seen USING cuckoo_filter({arguments})")
    for name in ("capacity=", "fpr=", "content='table(column)'", "growth=on|off", "value_bits="):
        assert name in message
    assert message.startswith("cuckoo_filter: ") and schema_of(db) == []


@pytest.mark.parametrize("fpr", ["0", "1", "-1", "2", "nan", "inf", "x", "", "NULL"])
def test_fpr_must_be_a_rate(db, fpr):
    refused(db, ERROR, f"CREATE VIRTUAL TABLE seen USING cuckoo_filter(fpr={fpr})", says="fpr must be")


@pytest.mark.parametrize("name", ["capacity=10", "fpr=0.1", "content='t(x)'", "seed=1"])
def test_an_option_given_twice_is_an_error(db, name):
    db.execute("CREATE TABLE t(x)")
    refused(db, ERROR, f"CREATE VIRTUAL TABLE seen USING cuckoo_filter({name}, {name})", says="twice")


@pytest.mark.parametrize("arguments", [
    "capacity=1e3, fpr=1e-3", "capacity='1000', fpr='0.001'", 'Capacity="1000", FPR=0.001', "CAPACITY=1000.0, Fpr=.001",
    "capacity=+1000, fpr=0.1e-2", "capacity=[1e3], fpr=`1E-3`", "capacity = '1000' , fpr = '0.001' , Growth='ON'"])
def test_natural_spellings(db, arguments):
    create(db, arguments)
    create(db, "capacity=1000, fpr=0.001", "other")
    shape = [{name: info(db, table)[name] for name in ("capacity", "fpr_at_capacity", "bytes", "growth")}
             for table in ("seen", "other")]
    assert shape[0] == shape[1] and shape[0]["capacity"] == 1000


@pytest.mark.parametrize("arguments", ["", "fpr=0.01", "growth=off"])
def test_without_capacity_the_message_says_to_give_it(db, arguments):
    db.execute("CREATE TABLE t(x)")
    refused(db, ERROR, f"CREATE VIRTUAL TABLE seen USING cuckoo_filter({arguments})", says="such as capacity=1000000")


@pytest.mark.parametrize("capacity", ["1e30", "999999999999999999999", "1e12", "2e12", "1" + "0" * 39])
def test_an_absurd_capacity_is_too_big_and_costs_nothing(db, capacity):
    db.execute("BEGIN")
    db.execute("CREATE TABLE mine(x)")
    message = refused(db, TOO_BIG, f"CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity={capacity})", says="capacity")
    assert message.startswith("cuckoo_filter: ") and "split" in message
    assert db.in_transaction and [row[1] for row in schema_of(db)] == ["mine"]


def test_options_take_blanks_around_the_equals_sign(db):
    """As fpr and content do."""
    create(db, " capacity = 10 ,\n fpr = 0.001 , growth = off ")
    assert info(db)["capacity"] == 10


@pytest.mark.parametrize("arguments", ["", "capacity=0", "capacity=5, fpr=0.001", "capacity=7 seed=-3",
                                       "capacity=9, layout=semisort, bucket_size=4", "overflow=on",
                                       "growth=off, capacity=1", "bucket_size=8", "counter_bits=16"])
def test_shapes(db, arguments):
    create(db, arguments)
    insert(db, "x")
    assert has(db, "x") and items(db) == 1
    check(db)


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("capacity", [10**15, 2**47, 10**18])
def test_a_huge_capacity_leaves_nothing_behind(db, capacity, inside):
    if inside:
        db.execute("BEGIN")
        db.execute("CREATE TABLE mine(x)")
    before = schema_of(db)
    with pytest.raises(sqlite3.Error) as caught:
        create(db, f"capacity={capacity}")
    assert caught.value.sqlite_errorname != "SQLITE_NOMEM", "rolls the transaction back"
    assert "capacity" in str(caught.value)
    assert schema_of(db) == before and db.in_transaction == inside


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


def test_full_changes_nothing(db):
    keys = fill(db)
    before = ask(db, "SELECT cf_export('seen')")
    refused(db, FULL, "INSERT INTO seen(key) VALUES ('more')", says="filter is full")
    assert ask(db, "SELECT cf_export('seen')") == before
    assert len(keys) >= 20 and lost(db, keys) == [] and not has(db, "more")
    check(db)


def test_full_inside_a_transaction_keeps_the_transaction(db):
    keys = fill(db)
    db.execute("DELETE FROM seen WHERE key = 0")
    db.execute("BEGIN")
    insert(db, 0)
    refused(db, FULL, "INSERT INTO seen(key) VALUES ('more')")
    assert db.in_transaction
    db.execute("COMMIT")
    assert lost(db, keys) == []


@pytest.mark.parametrize("conflict", ["REPLACE", "ABORT", "FAIL", "IGNORE", "ROLLBACK"])
def test_full_is_an_error_whatever_else_it_says(db, conflict):
    keys = fill(db)
    refused(db, FULL, f"INSERT OR {conflict} INTO seen(key) VALUES ('more')")
    assert lost(db, keys) == [] and not has(db, "more")
    check(db)


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


# ---- commands ----

def test_clear_empties_the_filter(seen):
    seen.execute("INSERT INTO seen(seen) VALUES ('clear')")
    assert items(seen) == 0 and not has(seen, 1)
    insert(seen, 5)
    assert has(seen, 5) and items(seen) == 1


def test_optimize_loses_nothing(db):
    create(db, "capacity=10")
    insert(db, *range(500))
    db.execute("INSERT INTO seen(seen) VALUES ('optimize')")
    assert lost(db, range(500)) == []
    check(db)


@pytest.mark.parametrize("command", ["bogus", "", 5])
def test_an_unknown_command_lists_the_known_ones(seen, command):
    refused(seen, ERROR, "INSERT INTO seen(seen) VALUES (?)", command, says="advance, check, clear, clock, drain, import, optimize, rebuild")
    assert items(seen) == 3


def test_rebuild_without_content_is_an_error(seen):
    refused(seen, ERROR, "INSERT INTO seen(seen) VALUES ('rebuild')", says="nothing to rebuild from")
    assert lost(seen, [1, 2, 3]) == []


# ---- UPDATE .. FROM, which may name a row several times ----

needs_from = pytest.mark.skipif(sqlite3.sqlite_version_info < (3, 33), reason="UPDATE .. FROM came with 3.33")


@needs_from
def test_update_from_changes_a_row_once(db):
    create(db, EXACT)
    db.executescript("CREATE TABLE s(k); INSERT INTO s VALUES (2), (2), (2)")
    insert(db, 2)
    db.execute("UPDATE seen SET key = 7 FROM s WHERE seen.key = s.k")
    assert (ask(db, "SELECT count(*) FROM seen"), has(db, 7), has(db, 2)) == (1, 1, 0)
    insert(db, 2)  # the next statement may change the row again
    db.execute("UPDATE seen SET key = 8 FROM s WHERE seen.key = s.k")
    assert (ask(db, "SELECT count(*) FROM seen"), has(db, 8), has(db, 2)) == (2, 1, 0)


@needs_from
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


def test_update_of_the_hidden_column_is_an_update(db):
    create(db, EXACT)
    insert(db, 1, 2)
    db.execute("UPDATE seen SET cuckoo_touch = 1, key = NULL WHERE key = 2")
    assert (has(db, 1), has(db, 2)) == (1, 0)
