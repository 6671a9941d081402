# SPDX-License-Identifier: MIT
"""Arguments of functions that are right, in all their spellings; and what errors leave as it was. wrong_uses.txt has what wrong
arguments are told, test_functions.py what holds of every function."""
import sqlite3

import pytest

import support
from support import BAD_BLOB, BAD_PARAMETER, FULL, MISMATCH, TOO_BIG, ask, fails

OPTION_CALLS = ["cf_new(10, NULL, ?1)", "cf_plan(10, NULL, ?1)", "cf_build(1, NULL, ?1)"]

# ---- equal meanings ----

SPELLINGS = {
    "growth=off seed=7": ["seed=7 growth=off", "seed=7,growth=off", ",, seed=7\t,\n growth=off ,",
                          "seed=007 GROWTH=Off", "Seed=+7e0, growth=OFF"],
    "": [" ", ",", " , ,\t\n\r", None, "layout=auto", "counter_bits=0 value_bits=0", "stash=off", "growth=on",
         "seed=0", "seed=-0", "seed=+0", "epochs=0", "collation=binary", "hash=xxh3"],
    "affinity=none": ["affinity=None collation=binary", "AFFINITY=NONE"],  # written out, it takes keys of all types
    "affinity=numeric": ["Affinity=INTEGER", "affinity=numeric"],
    "affinity=text collation=nocase": ["affinity=blob Collation=NoCase"],
    "seed=-5": ["seed=-5e0", "SEED=-5.0"]}


def test_spellings_separators_and_order_of_options_do_not_matter(db):
    for options, others in SPELLINGS.items():
        for call in OPTION_CALLS:
            assert {ask(db, f"SELECT {call}", other)
                    for other in others} == {ask(db, f"SELECT {call}", options)}, (call, options)
    assert support.new(db, 10, None, "Capacity=1e1") == support.new(db, 10, None, "capacity=10.0") == support.new(db,
            10)


def test_options_are_what_the_filter_says_of_itself(db):
    options = f"bucket_size=4 fingerprint_bits=12 seed={-2**63} growth=off affinity=real collation=rtrim hash=keyed counter_bits=3 layout=semisort"
    for pair in f"{options} stash=on max_kicks=255 stash_size=4096".split():
        name, value = pair.split("=")
        assert str(support.info(db, support.new(db, 10, None, f"{options} stash=on max_kicks=255 stash_size=4096"))[name]) == value


def test_numbers_as_arguments(db):
    for call in ("cf_new", "cf_plan"):
        for whole in ("0.0", "10.0", "1e2"):
            assert ask(db, f"SELECT {call}({whole})") == ask(db, f"SELECT {call}(CAST({whole} AS INT))")
        assert ask(db, f"SELECT {call}(100)") == ask(db, f"SELECT {call}(100, NULL, NULL)") == ask(db,
                f"SELECT {call}(100, 0.01, '')")
    assert support.new(db, 0) == support.new(db, 1)  # it plans for one key
    for call in ("cf_new(10, {})", "cf_plan(10, {})", "cf_build(1, {})",
                 "cf_build_exact(1, 1, {}, 'seed=5')"):  # NaN is NULL
        assert ask(db, f"SELECT {call.format('9e999 - 9e999')}") == ask(db, f"SELECT {call.format('NULL')}")
    assert ask(db, "SELECT cf_build(1, NULL, NULL)") == ask(db, "SELECT cf_build(1)") == ask(db,
            "SELECT cf_build(1, 0.01)")
    assert support.plan(db, 10, 0.9999999999)["fpr_at_capacity"] < 1
    assert support.plan(db, 1e12)["bytes"] > 10**12  # longer than any blob, and can be planned


def test_a_long_part_of_the_options_is_cut_between_characters(db):
    for blanks in range(4):
        message = fails(db, BAD_PARAMETER, "SELECT cf_new(10, NULL, ?)", "x" * blanks + "é" * 300)
        assert "got '" + "x" * blanks + "éé" in message and "é'; valid options" in message


def test_texts_with_a_zero(db):
    for options in ("seed=1\0", "seed=1 \0", "\0"):
        for call in OPTION_CALLS:
            fails(db, BAD_PARAMETER, f"SELECT {call}", options, says="name=value")


# ---- full, and other errors in transactions ----

@pytest.fixture
def full(db):
    """A filter that is full."""
    blob = support.new(db, 2, None, "bucket_size=2 fingerprint_bits=32 growth=off")
    blob = support.add(db, blob, "a", "b", "x", "y")
    message = fails(db, FULL, "SELECT cf_add(?, 'c')", blob, says="filter is full")
    assert "planned for 2 keys" in message and "create a larger one" in message
    return blob


@pytest.mark.parametrize("call", ["cf_add(f, 'c')", "(SELECT cf_add_keys(filters.f, cf_keys(k)) FROM new)",
                                  "cf_add_keys(f, (SELECT cf_keys(k) FROM new))",
                                  "cf_merge(f, (SELECT f FROM filters WHERE name = 'other'))"])
def test_a_full_filter_does_not_roll_the_transaction_back(db, full, call):
    db.execute("CREATE TABLE filters(name, f)")
    db.execute("CREATE TABLE new(k)")
    db.execute("INSERT INTO filters VALUES ('full', ?)", (full,))
    other = support.add(db, ask(db, "SELECT cf_clear(?)", full), "d")
    db.execute("BEGIN")
    db.execute("INSERT INTO filters VALUES ('other', ?)", (other,))
    db.execute("INSERT INTO new VALUES ('c'), ('a')")
    for ignored in ("", "OR IGNORE "):  # conflict clauses are for constraints of tables, not for errors of functions
        fails(db, FULL, f"UPDATE {ignored}filters SET f = {call} WHERE name = 'full'", says="filter is full")
    assert db.in_transaction
    db.execute("COMMIT")
    assert db.execute("SELECT * FROM filters").fetchall() == [("full", full), ("other", other)]


def test_an_update_of_many_filters_stops_at_the_full_one_and_changes_none(db, full):
    empty = ask(db, "SELECT cf_clear(?)", full)
    db.execute("CREATE TABLE filters(f)")
    db.executemany("INSERT INTO filters VALUES (?)", [(empty,), (empty,), (full,), (empty,)])
    db.execute("BEGIN")
    with support.undone_when_it_fails(db):
        fails(db, FULL, "UPDATE filters SET f = cf_add(f, 'c')")
    db.execute("COMMIT")
    assert db.execute("SELECT f FROM filters").fetchall() == [(empty,), (empty,), (full,), (empty,)]


def test_a_full_filter_still_takes_saturated_keys_and_deletes(db, full):
    blob = ask(db, "SELECT cf_delete(?, 'a')", full)
    assert support.contains(db, support.add(db, blob, "c"), "c") == 1
    stuck = support.add(db, ask(db, "SELECT cf_clear(?)", full), "s", "s", "s", "x")
    assert support.info(db, stuck)["load_factor"] == 1
    fails(db, FULL, "SELECT cf_add(?, 'c')", stuck)
    assert support.count(db, support.add(db, stuck, *["s"] * 5), "s") == 3
    assert support.contains(db, ask(db, "SELECT cf_delete(?, 'x')", stuck), "x") == 0


@pytest.mark.parametrize("call, kind", [
    ("cf_add(?1, 'c')", FULL), ("cf_merge(?1, cf_new(100))", MISMATCH), ("cf_info(substr(?1, 2))", BAD_BLOB),
    ("cf_new(length(?1) * 1e18)", TOO_BIG),
    ("cf_new(-length(?1))", BAD_PARAMETER), ("(SELECT slot FROM cf_buckets(substr(?1, 2)))", BAD_BLOB),
    ("(SELECT slot FROM cf_explain(substr(?1, 2), 1))", BAD_BLOB)])
def test_no_error_spoils_the_transaction(db, full, call, kind):
    """After plain SQLITE_CORRUPT, SQLITE_FULL and their like, SQLite takes no writes or rolls back."""
    for n, statement in enumerate(["SELECT {}", "INSERT INTO t SELECT {}", "UPDATE t SET x = {}"]):
        db.execute("CREATE TABLE IF NOT EXISTS t(x)")
        db.execute("DELETE FROM t")
        db.execute("BEGIN")
        db.execute("INSERT INTO t VALUES (1)")
        fails(db, kind, statement.format(call), full)
        assert db.in_transaction
        db.execute("INSERT INTO t VALUES (2)")
        db.execute("COMMIT")
        assert db.execute("SELECT x FROM t").fetchall() == [(1,), (2,)]


# ---- the longest value that a connection allows ----

def test_the_length_limit_is_exact_and_asked_before_anything_is_allocated(db):
    length = len(support.new(db, 5000))
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, length)
    assert len(support.new(db, 5000)) == length
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, length - 1)
    fails(db, TOO_BIG, "SELECT length(cf_new(5000))", function="cf_new", says="SQLITE_LIMIT_LENGTH")
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 2000)
    for sql in ("SELECT cf_build(value, 0.01, 'capacity=100000') FROM json_each('[1]')",
                "WITH RECURSIVE k(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM k LIMIT 5000) SELECT cf_build(x) FROM k",
                "SELECT cf_key(x, x) FROM (SELECT zeroblob(1500) AS x)"):
        fails(db, TOO_BIG, sql, says="SQLITE_LIMIT_LENGTH")
    memory = support.Memory()
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 100_000)
    before = memory.used()
    memory.reset_peak()
    fails(db, TOO_BIG, "SELECT cf_new(1000000)", says="more than this connection allows (SQLITE_LIMIT_LENGTH)")
    assert memory.peak() - before < 100_000
