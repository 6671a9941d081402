# SPDX-License-Identifier: MIT
"""What every function does with NULL, with arguments of a wrong type, and with absurd numbers; and what
its errors look like. support.fails compares class, code and style of each one (ext/sqlite/errors.h).
"""
import json
import sqlite3

import pytest

import support
from support import BAD_BLOB, BAD_PARAMETER, FULL, MISMATCH, TOO_BIG, ask, fails

# Functions with a filter as first argument: a call with `{f}` in its place.
READERS = ["cf_add({f}, 1)", "cf_delete({f}, 1)", "cf_contains({f}, 1)", "cf_count({f}, 1)",
           "cf_add_all({f}, 1)", "cf_delete_all({f}, 1)", "cf_clear({f})", "cf_info({f})",
           "cf_check({f})", "cf_open({f})", "cf_merge({f})", "cf_merge({f}, {f})",
           "cf_add({f}, NULL)", "cf_delete({f}, NULL)", "cf_contains({f}, NULL)",
           "cf_count({f}, NULL)", "cf_add_all({f}, NULL)", "cf_delete_all({f}, NULL)",
           "cf_get({f}, 1)", "cf_get({f}, NULL)", "cf_add({f}, 1, 1)", "cf_delete({f}, 1, 1)",
           "cf_add_all({f}, 1, 1)", "cf_delete_all({f}, 1, 1)", "cf_add({f}, NULL, NULL)",
           "cf_add_keys({f}, NULL)", "cf_delete_keys({f}, 1)"]
TABLES = ["cf_buckets({f})", "cf_explain({f}, 1)", "cf_explain({f}, NULL)"]
EVERYWHERE = [f"SELECT {call}" for call in READERS] + [f"SELECT count(*) FROM {t}" for t in TABLES]


@pytest.fixture
def three(db):
    """A filter of 'a', 'b', 'c', with room for more."""
    return support.build(db, "abc", None, "capacity=10")


# ---- a filter that is none ----

@pytest.mark.parametrize("sql", EVERYWHERE)
def test_a_null_filter_is_an_error(db, sql):
    fails(db, BAD_PARAMETER, sql.format(f="NULL"), says="filter is NULL")


@pytest.mark.parametrize("value", ["1", "1.5", "'text'", "''"])
@pytest.mark.parametrize("sql", EVERYWHERE)
def test_a_filter_of_another_type_is_an_error(db, sql, value):
    fails(db, BAD_PARAMETER, sql.format(f=value), says="filter must be a blob")


@pytest.mark.parametrize("blob", [b"", b"\0", b"hello", bytes(64), b"\xcfck" + bytes(100)])
@pytest.mark.parametrize("sql", [s for s in EVERYWHERE if "cf_check" not in s])
def test_a_blob_that_is_no_filter_is_an_error(db, sql, blob):
    fails(db, BAD_BLOB, sql.format(f="?1"), blob, says="filter cannot be used")


@pytest.mark.parametrize("blob", [b"", b"\0", b"hello", bytes(64)])
def test_cf_check_answers_for_a_blob_that_is_no_filter(db, blob):
    assert ask(db, "SELECT cf_check(?)", blob) == "not a cuckoo filter"


@pytest.mark.parametrize("sql", EVERYWHERE)
def test_a_filter_of_another_version_is_named(db, three, sql):
    blob = support.patched(three, version=2)
    if "cf_check" in sql:
        assert "version" in ask(db, sql.format(f="?1"), blob)
    else:
        fails(db, BAD_BLOB, sql.format(f="?1"), blob, says="version")


# ---- NULL keys ----

def test_a_null_key_changes_nothing(db, three):
    for call in ("cf_add", "cf_delete", "cf_add_all", "cf_delete_all"):
        assert ask(db, f"SELECT {call}(?, NULL)", three) == three


def test_a_null_key_is_neither_there_nor_not(db, three):
    assert ask(db, "SELECT cf_contains(?, NULL)", three) is None
    assert ask(db, "SELECT cf_count(?, NULL)", three) is None
    assert db.execute("SELECT * FROM cf_explain(?, NULL)", (three,)).fetchall() == []


def test_not_a_number_is_null(db, three):
    """SQLite makes NULL of NaN before any function sees it."""
    nan = "(9e999 - 9e999)"
    assert ask(db, f"SELECT cf_contains(?, {nan})", three) is None
    assert ask(db, f"SELECT cf_add(?, {nan})", three) == three
    assert ask(db, f"SELECT cf_key({nan})") is None


def test_aggregates_ignore_null_keys(db, three):
    keys = "(SELECT NULL AS k UNION ALL VALUES ('a'), (NULL), ('b'), ('c'), (NULL))"
    assert ask(db, f"SELECT cf_build(k, NULL, 'capacity=10') FROM {keys}") == three
    added = ask(db, f"SELECT cf_add_all(?, k) FROM {keys}", three)
    assert added == support.add(db, three, "a", "b", "c")
    assert support.info(db, ask(db, f"SELECT cf_delete_all(?, k) FROM {keys}", three))["items"] == 0


def test_a_build_over_no_rows_or_nulls_is_an_empty_filter(db):
    for rows in ("(SELECT 1 AS k WHERE 0)", "(SELECT NULL AS k)"):
        blob = ask(db, f"SELECT cf_build(k) FROM {rows}")
        assert ask(db, "SELECT cf_check(?)", blob) == "ok"
        assert support.info(db, blob)["items"] == 0
        assert support.contains(db, blob, 1) == 0


@pytest.mark.parametrize("call, says", [
    ("cf_add_all(?1, k)", "LEFT JOIN"), ("cf_delete_all(?1, k)", "LEFT JOIN"),
    ("cf_merge(k)", "no rows")])
def test_aggregates_that_need_a_filter_refuse_no_rows(db, three, call, says):
    fails(db, BAD_PARAMETER, f"SELECT {call} FROM (SELECT ?1 AS k WHERE 0)", three, says=says)


@pytest.mark.parametrize("call", ["cf_add_all", "cf_delete_all"])
def test_the_recipe_for_no_rows(db, three, call):
    """FROM filters LEFT JOIN new: one row with a NULL key, and the filter stays as it is."""
    db.execute("CREATE TABLE filters(f)")
    db.execute("CREATE TABLE new(k)")
    db.execute("INSERT INTO filters VALUES (?)", (three,))
    assert ask(db, f"SELECT {call}(f, k) FROM filters LEFT JOIN new") == three


def test_null_capacity_is_an_error_and_null_fpr_and_options_are_defaults(db):
    fails(db, BAD_PARAMETER, "SELECT cf_new(NULL)", says="capacity")
    fails(db, BAD_PARAMETER, "SELECT cf_plan(NULL)", says="capacity")
    assert support.new(db, 100) == ask(db, "SELECT cf_new(100)") == ask(db, "SELECT cf_new(100, 0.01)")
    assert ask(db, "SELECT cf_build(1, NULL, NULL)") == ask(db, "SELECT cf_build(1)")


# ---- capacity and fpr ----

BOTH = pytest.mark.parametrize("call", ["cf_new", "cf_plan"])


@BOTH
@pytest.mark.parametrize("capacity", ["-1", "-0.5", "1.5", "1e-300", "-1e18", "'10'", "'x'", "x'0a'",
                                      "(9e999 - 9e999)", "-9e999", str(-2**63)])
def test_capacity_must_be_a_whole_number(db, call, capacity):
    fails(db, BAD_PARAMETER, f"SELECT {call}({capacity})", says="capacity must be a whole number")


@BOTH
@pytest.mark.parametrize("capacity", [str(2**40 + 1), str(2**62), str(2**63 - 1), "1e18", "1e300",
                                      "9e999"])
def test_an_absurd_capacity_is_too_big(db, call, capacity):
    fails(db, TOO_BIG, f"SELECT {call}({capacity})", says="capacity")


@pytest.mark.parametrize("capacity", [10**12, 2**40 + 1, 2**63 - 1])
def test_an_absurd_capacity_among_the_options_is_too_big(db, capacity):
    fails(db, TOO_BIG, f"SELECT cf_build(1, 0.01, 'capacity={capacity}')", says="keys")
    fails(db, TOO_BIG, f"SELECT cf_new({capacity}, 0.01, 'capacity={capacity}')", says="keys")


def test_a_capacity_beyond_the_length_limit_is_too_big_but_can_be_planned(db):
    message = fails(db, TOO_BIG, "SELECT cf_new(1e12)", says="SQLITE_LIMIT_LENGTH")
    assert "capacity" in message and "1000000000000 keys" in message
    assert support.plan(db, 1e12)["bytes"] > 10**12


@BOTH
def test_real_capacities_that_are_whole_are_taken(db, call):
    for whole in ("0.0", "10.0", "1e2"):
        assert ask(db, f"SELECT {call}({whole})") == ask(db, f"SELECT {call}(CAST({whole} AS INT))")


def test_capacity_zero_plans_for_one_key(db):
    assert support.new(db, 0) == support.new(db, 1)


FPR_CALLS = ["cf_new(10, {})", "cf_plan(10, {})", "cf_build(1, {})"]


@pytest.mark.parametrize("call", FPR_CALLS)
@pytest.mark.parametrize("fpr", ["0", "0.0", "-0.0", "1", "1.0", "2", "-0.01", "1e18", "9e999", "-9e999",
                                 "'0.01'", "x'01'", "''"])
def test_fpr_must_lie_between_0_and_1(db, call, fpr):
    fails(db, BAD_PARAMETER, f"SELECT {call.format(fpr)}", says="fpr must be a number above 0 and below 1")


@pytest.mark.parametrize("call", FPR_CALLS)
@pytest.mark.parametrize("fpr", ["1e-13", "1e-18", "1e-300", "5e-324"])
def test_an_fpr_that_no_fingerprint_reaches_is_an_error(db, call, fpr):
    fails(db, BAD_PARAMETER, f"SELECT {call.format(fpr)}", says="fpr is too small")


@pytest.mark.parametrize("call", FPR_CALLS)
def test_an_fpr_that_is_not_a_number_is_null_and_so_the_default(db, call):
    assert (ask(db, f"SELECT {call.format('9e999 - 9e999')}")
            == ask(db, f"SELECT {call.format('0.01')}"))


def test_an_fpr_next_to_one_is_taken(db):
    assert support.plan(db, 10, 0.9999999999)["fpr_at_capacity"] < 1


# ---- the options text ----

OPTION_CALLS = pytest.mark.parametrize(
    "call", ["cf_new(10, NULL, ?1)", "cf_plan(10, NULL, ?1)", "cf_build(1, NULL, ?1)"])


@OPTION_CALLS
@pytest.mark.parametrize("options, says", [
    ("colour=blue", "unknown option colour"),
    ("seed=1 seed=1", "seed is given twice"),
    ("growth=off,growth=on", "growth is given twice"),
    ("seed", "name=value"), ("seed=", "name=value"), ("=1", "name=value"), ("=", "name=value"),
    ("seed = 1", "name=value"), ("seed=1=2", "name=value"), ("seed=1;growth=off", "name=value"),
    ("seed=1.5", "bad value in seed=1.5"), ("seed=x", "bad value in seed=x"),
    ("seed=0x10", "bad value"), ("seed=-", "bad value"), ("seed=--1", "bad value"),
    ("seed=9223372036854775808", "bad value"), ("seed=-9223372036854775809", "bad value"),
    ("seed=99999999999999999999", "bad value"), ("seed=" + "0" * 100, "name=value"),
    ("a" * 100 + "=1", "name=value"),
    ("bucket_size=0", "bucket_size=0"), ("bucket_size=9", "bucket_size=9"),
    ("bucket_size=3", "bad value in bucket_size=3; valid: bucket_size=1|2|4|8"),
    ("bucket_size=-4", "bucket_size=-4"), ("bucket_size=four", "bucket_size=four"),
    ("fingerprint_bits=3", "fingerprint_bits=3"), ("fingerprint_bits=33", "fingerprint_bits=33"),
    ("layout=fancy", "layout=fancy"), ("growth=maybe", "growth=maybe"), ("growth=1", "growth=1"),
    ("overflow=yes", "overflow=yes"), ("overflow=auto", "overflow=auto"), ("layout=off", "layout=off"),
    ("overflow=on overflow_budget=256", "overflow_budget=256"), ("overflow=on overflow_budget=-1", "overflow_budget=-1"),
    ("overflow=on spill_bound=0", "spill_bound=0"), ("overflow=on spill_bound=4097", "spill_bound=4097"),
    ("overflow=on overflow_budget=1 overflow_budget=1", "overflow_budget is given twice"),
    ("counter_bits=17", "counter_bits=17"),
    ("counter_bits=-1", "counter_bits=-1"), ("value_bits=33", "value_bits=33"),
    ("capacity=-1", "capacity=-1"), ("capacity=1.5", "capacity=1.5"), ("capacity=1_000", "capacity=1_000"),
    ("affinity=float", "affinity=float"), ("collation=utf8", "collation=utf8"), ("affinity=", "name=value"),
    ("seed=1\0", "name=value"), ("seed=1 \0", "name=value"), ("\0", "name=value"),
    # Good values that do not go together.
    ("bucket_size=1", "growth=off"), ("fingerprint_bits=7", "growth=off"),
    ("bucket_size=2 fingerprint_bits=11", "growth=off"),
    ("layout=semisort bucket_size=8", "needs bucket_size=4"), ("layout=semisort bucket_size=2", "needs bucket_size=4"),
    ("layout=semisort fingerprint_bits=4 growth=off", "fingerprint_bits of 5 or more"),
])
def test_bad_options(db, call, options, says):
    fails(db, BAD_PARAMETER, f"SELECT {call}", options, says=says)


@OPTION_CALLS
@pytest.mark.parametrize("options", ["capacity=1099511627777", "capacity=1e30", "capacity=999999999999999999999999999"])
def test_an_absurd_capacity_in_the_options(db, call, options):
    fails(db, TOO_BIG, f"SELECT {call}", options, says="split the keys")


@OPTION_CALLS
@pytest.mark.parametrize("options, same", [
    ("Capacity=1e1 GROWTH=Off", "capacity=10 growth=off"), ("capacity=10.0, seed=-5e0", "capacity=10 seed=-5"),
    ("Affinity=INTEGER", "affinity=numeric"), ("affinity=blob Collation=NoCase", "affinity=text collation=nocase"),
    ("affinity=none collation=binary", "")])
def test_spellings_of_options(db, call, options, same):
    assert ask(db, f"SELECT {call}", options) == ask(db, f"SELECT {call}", same)


@OPTION_CALLS
def test_what_is_like_no_option_lists_the_valid_ones(db, call):
    for options in ("colour=blue", "just words"):
        message = fails(db, BAD_PARAMETER, f"SELECT {call}", options)
        for name in ("bucket_size", "fingerprint_bits", "layout", "counter_bits", "value_bits", "seed",
                     "growth", "overflow", "overflow_budget", "spill_bound", "affinity", "collation", "capacity"):
            assert f"{name}=" in message


@OPTION_CALLS
@pytest.mark.parametrize("options", ["overflow_budget=5", "overflow_budget=10", "spill_bound=16",
                                     "spill_bound=16 overflow=off", "overflow=off,overflow_budget=0 spill_bound=1"])
def test_options_of_the_spill_list_need_one(db, call, options):
    fails(db, BAD_PARAMETER, f"SELECT {call}", options,
          says="overflow_budget and spill_bound need overflow=on: add it, or leave them out")


@OPTION_CALLS
@pytest.mark.parametrize("options", [
    "layout=semisort", "overflow=on", "overflow=on overflow_budget=0 spill_bound=1",
    "spill_bound=4096 overflow_budget=255 overflow=on", "layout=plain overflow=on growth=off"])
def test_layouts_and_spill_lists_are_made_as_asked(db, call, options):
    answer = ask(db, f"SELECT {call}", options)
    got = json.loads(answer) if "plan" in call else support.info(db, answer)
    for name, value in (pair.split("=") for pair in options.split()):
        assert str(got[name]) == value


@pytest.mark.parametrize("call", ["cf_new", "cf_plan"])
@pytest.mark.parametrize("options", ["counter_bits=1 value_bits=1", "value_bits=32,counter_bits=16 growth=off"])
def test_counters_and_values_exclude_each_other(db, call, options):
    fails(db, BAD_PARAMETER, f"SELECT {call}(10, NULL, ?)", options,
          says="counter_bits and value_bits exclude each other")


@OPTION_CALLS
@pytest.mark.parametrize("options", [1, 1.5, b"seed=1"])
def test_options_must_be_text(db, call, options):
    fails(db, BAD_PARAMETER, f"SELECT {call}", options, says="options must be text")


@pytest.mark.parametrize("options", ["", " ", ",", " , ,\t\n\r", "layout=auto",
                                     "counter_bits=0 value_bits=0", "overflow=off", "growth=on",
                                     "seed=0", "seed=-0", "seed=+0", "capacity=10"])
def test_options_that_ask_for_the_default(db, options):
    assert support.new(db, 10, None, options) == support.new(db, 10)


@pytest.mark.parametrize("options", ["seed=7 growth=off", "seed=7,growth=off", "growth=off seed=7",
                                     ",, seed=7\t,\n growth=off ,", "seed=007 growth=off"])
def test_separators_and_order_of_options_do_not_matter(db, options):
    assert support.new(db, 10, None, options) == support.new(db, 10, None, "seed=7 growth=off")


def test_options_are_what_the_filter_says_of_itself(db):
    got = support.info(db, support.new(
        db, 10, None, f"bucket_size=4 fingerprint_bits=12 seed={-2**63} growth=off"))
    assert (got["bucket_size"], got["fingerprint_bits"]) == (4, 12)
    assert (got["seed"], got["growth"], got["capacity"]) == (-2**63, "off", 10)


def test_fingerprint_bits_too_few_for_the_fpr_is_an_error(db):
    fails(db, BAD_PARAMETER, "SELECT cf_new(1000, 1e-6, 'fingerprint_bits=8')",
          says="fingerprint_bits is too small for this fpr")


def test_capacity_twice_must_agree(db):
    fails(db, BAD_PARAMETER, "SELECT cf_new(10, NULL, 'capacity=11')", says="capacity is given twice")
    fails(db, BAD_PARAMETER, "SELECT cf_plan(10, NULL, 'capacity=11')", says="capacity is given twice")


def test_a_build_with_other_arguments_from_row_to_row_is_an_error(db):
    rows = "(VALUES (1, 0.1, 'seed=1'), (2, 0.1, 'seed=2'))"
    fails(db, BAD_PARAMETER, f"SELECT cf_build(column1, 0.1, column3) FROM {rows}", says="options")
    rows = "(VALUES (1, 0.1), (2, 0.2))"
    fails(db, BAD_PARAMETER, f"SELECT cf_build(column1, column2) FROM {rows}", says="fpr")


def test_wrong_numbers_of_arguments(db):
    for call in ("cf_new()", "cf_new(1, 0.1, '', 1)", "cf_build()", "cf_add(x'')", "cf_contains(x'')",
                 "cf_get(x'')", "cf_add(x'', 1, 1, 1)", "cf_open()", "cf_clear(x'', 1)", "cf_version(1)", "cf_info()"):
        with pytest.raises(sqlite3.OperationalError, match="wrong number of arguments"):
            db.execute(f"SELECT {call}")
    fails(db, BAD_PARAMETER, "SELECT cf_key()", says="at least one part")
    fails(db, BAD_PARAMETER, "SELECT cf_merge()", says="at least one filter")


# ---- a filter that differs between rows ----

def test_a_change_of_filter_between_rows_is_an_error(db):
    """cf_add_all returns one filter: with two different ones, the keys meant for the second would be
    lost in silence. The two here agree in everything but one slot far behind the header."""
    empty = support.new(db, 20000, None, "fingerprint_bits=32")
    one, other = (support.add(db, empty, key) for key in ("x", "y"))
    assert one[:4000] == other[:4000]
    db.execute("CREATE TABLE filters(id INTEGER PRIMARY KEY, f)")
    db.execute("INSERT INTO filters VALUES (1, ?), (2, ?)", (one, other))
    for call in ("cf_add_all(f, 1)", "cf_delete_all(f, 1)", "cf_add_all(cf_open(f), 1)"):
        fails(db, BAD_PARAMETER, f"SELECT {call} FROM filters", says="not the same for all rows")


def test_a_change_to_another_shape_between_rows_is_an_error(db):
    blobs = [support.new(db, n, None, options) for n, options in ((10, None), (1000, None), (10, "seed=1"))]
    blobs.append(support.add(db, blobs[0], 1))
    for other in blobs[1:]:
        for call in ("cf_add_all", "cf_delete_all"):
            fails(db, BAD_PARAMETER, f"SELECT {call}(column1, 1) FROM (VALUES (?), (?))",
                  blobs[0], other, says="not the same for all rows")
    assert support.info(db, ask(db, "SELECT cf_add_all(column1, 1) FROM (VALUES (?), (?))",
                                blobs[0], blobs[0]))["items"] == 2


# ---- full ----

@pytest.fixture
def full(db):
    """A filter that is full, and a key it has no room for."""
    blob = support.new(db, 2, None, "bucket_size=2 fingerprint_bits=32 growth=off")
    blob = support.add(db, blob, "a", "b", "x", "y")
    fails(db, FULL, "SELECT cf_add(?, 'c')", blob, says="filter is full")
    return blob


def test_full_names_the_capacity_and_the_remedy(db, full):
    message = fails(db, FULL, "SELECT cf_add(?, 'c')", full)
    assert "planned for 2 keys" in message and "make a larger one" in message


@pytest.mark.parametrize("call", ["cf_add(f, 'c')", "(SELECT cf_add_all(filters.f, k) FROM new)",
                                  "cf_merge(f, (SELECT f FROM filters WHERE name = 'other'))"])
def test_a_full_filter_does_not_roll_the_transaction_back(db, full, call):
    db.execute("CREATE TABLE filters(name, f)")
    db.execute("CREATE TABLE new(k)")
    db.execute("INSERT INTO filters VALUES ('full', ?)", (full,))
    other = support.add(db, ask(db, "SELECT cf_clear(?)", full), "d")
    db.execute("BEGIN")
    db.execute("INSERT INTO filters VALUES ('other', ?)", (other,))
    db.execute("INSERT INTO new VALUES ('c'), ('a')")
    fails(db, FULL, f"UPDATE filters SET f = {call} WHERE name = 'full'", says="filter is full")
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


def test_or_ignore_does_not_hide_a_full_filter(db, full):
    """SQLite's conflict clauses are for constraints of tables, not for errors of functions."""
    db.execute("CREATE TABLE filters(f)")
    db.execute("INSERT INTO filters VALUES (?)", (full,))
    fails(db, FULL, "UPDATE OR IGNORE filters SET f = cf_add(f, 'c')")
    assert ask(db, "SELECT f FROM filters") == full


def test_a_full_filter_still_takes_sticky_keys_and_deletes(db, full):
    blob = ask(db, "SELECT cf_delete(?, 'a')", full)
    assert support.contains(db, support.add(db, blob, "c"), "c") == 1
    stuck = support.add(db, ask(db, "SELECT cf_clear(?)", full), "s", "s", "s", "x")
    assert support.info(db, stuck)["load"] == 1
    fails(db, FULL, "SELECT cf_add(?, 'c')", stuck)
    assert support.count(db, support.add(db, stuck, *["s"] * 5), "s") == 3
    assert support.contains(db, ask(db, "SELECT cf_delete(?, 'x')", stuck), "x") == 0


@pytest.mark.parametrize("call, kind", [
    ("cf_add(?, 'c')", FULL), ("cf_merge(?, cf_new(100))", MISMATCH), ("cf_info(substr(?, 2))", BAD_BLOB),
    ("cf_new(length(?) * 1e18)", TOO_BIG), ("cf_new(-length(?))", BAD_PARAMETER)])
@pytest.mark.parametrize("statement", ["SELECT {}", "INSERT INTO t SELECT {}", "UPDATE t SET x = {}"])
def test_no_error_spoils_the_transaction(db, full, call, kind, statement):
    """After plain SQLITE_CORRUPT, SQLITE_FULL and their like, SQLite takes no writes or rolls back."""
    db.execute("CREATE TABLE t(x)")
    db.execute("BEGIN")
    db.execute("INSERT INTO t VALUES (1)")
    fails(db, kind, statement.format(call), full)
    assert db.in_transaction
    db.execute("INSERT INTO t VALUES (2)")
    db.execute("COMMIT")
    assert db.execute("SELECT x FROM t").fetchall() == [(1,), (2,)]


@pytest.mark.parametrize("table", ["cf_buckets(x'00')", "cf_explain(x'00', 1)"])
def test_no_error_of_a_table_spoils_the_transaction(db, table):
    db.execute("CREATE TABLE t(x)")
    db.execute("BEGIN")
    fails(db, BAD_BLOB, f"INSERT INTO t SELECT slot FROM {table}")
    db.execute("INSERT INTO t VALUES (2)")
    db.execute("COMMIT")
    assert db.execute("SELECT x FROM t").fetchall() == [(2,)]


# ---- too big ----

def test_the_length_limit_is_asked_before_anything_is_allocated(db):
    memory = support.Memory()
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 100_000)
    before = memory.used()
    memory.reset_peak()
    fails(db, TOO_BIG, "SELECT cf_new(1000000)", says="100000 (SQLITE_LIMIT_LENGTH)")
    assert memory.peak() - before < 100_000


def test_the_length_limit_is_exact(db):
    length = len(support.new(db, 5000))
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, length)
    assert len(support.new(db, 5000)) == length
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, length - 1)
    fails(db, TOO_BIG, "SELECT length(cf_new(5000))", function="cf_new", says="SQLITE_LIMIT_LENGTH")


def test_the_length_limit_holds_for_builds(db):
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 2000)
    fails(db, TOO_BIG, "SELECT cf_build(value, 0.01, 'capacity=100000') FROM json_each('[1]')",
          says="SQLITE_LIMIT_LENGTH")
    fails(db, TOO_BIG, """WITH RECURSIVE k(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM k LIMIT 5000)
                          SELECT cf_build(x) FROM k""", says="SQLITE_LIMIT_LENGTH")


def test_the_length_limit_holds_for_keys(db):
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 2000)
    fails(db, TOO_BIG, "SELECT cf_key(?, ?)", "x" * 1500, "y" * 1500, says="SQLITE_LIMIT_LENGTH")


# ---- mismatch ----

def test_a_mismatch_is_told_apart_from_full_by_its_code(db):
    a, b = (support.new(db, 10, None, f"seed={seed}") for seed in (1, 2))
    fails(db, MISMATCH, "SELECT cf_merge(?, ?)", a, b, says="seed")


# ---- the tables ----

def test_tables_name_missing_arguments(db):
    fails(db, BAD_PARAMETER, "SELECT * FROM cf_buckets", says="cf_buckets(filter)")
    fails(db, BAD_PARAMETER, "SELECT * FROM cf_explain", says="cf_explain(filter, key)")


def test_an_error_is_an_error_also_where_no_row_would_pass(db, three):
    """A missing filter must not look like a filter that holds nothing."""
    fails(db, BAD_PARAMETER, "SELECT 1 WHERE cf_contains((SELECT ? WHERE 0), 1)", three)
    fails(db, BAD_PARAMETER, "SELECT 1 FROM (VALUES (1)) WHERE NOT cf_contains(NULL, column1)")


# ---- wrong uses of newcomers: the argument, its value, and what is right ----

OPTION_MISTAKES = [("capcity=10", "did you mean capacity"), ("capacitty=10", "did you mean capacity"),
                   ("gorwth=off", "did you mean growth"), ("bucketsize=4", "did you mean bucket_size"),
                   ("bucket=4", "did you mean bucket_size"), ("fingerprint=12", "did you mean fingerprint_bits"),
                   ("layout=plian", "did you mean plain"), ("layout=semisorted", "did you mean semisort"),
                   ("growth=onn", "did you mean on"), ("affinity=int", "did you mean integer"),
                   ("collation=no-case", "did you mean nocase"), ("overflow=of", "did you mean off"),
                   ("seed: 1", "got 'seed: 1'"), ("seed=1 growth", "got 'growth'"), ("=5", "got '=5'")]


@pytest.mark.parametrize("options, says", OPTION_MISTAKES)
@pytest.mark.parametrize("sql", ["SELECT cf_new(10, NULL, ?)", "SELECT cf_plan(10, NULL, ?)", "SELECT cf_build(1, NULL, ?)"])
def test_options_that_are_nearly_right(db, sql, options, says):
    """One that is near stands alone, and a bad value has only those of its option beside it."""
    message = fails(db, BAD_PARAMETER, sql, options, says=says)
    assert ("valid options: " in message) == (options == "=5"), message


@pytest.mark.parametrize("options", ["capacity=10, capacity=11", "capacity=10, seed=1, seed=1"])
def test_a_table_lists_its_own_options_only_behind_a_list_of_options(db, options):
    with pytest.raises(sqlite3.OperationalError, match="is given twice$"):
        db.execute(f"CREATE VIRTUAL TABLE t USING cuckoo_filter({options})")


@pytest.mark.parametrize("options, says", OPTION_MISTAKES[:12] + [("frp=0.1", "did you mean fpr"), ("contnet='u(k)'", "did you mean content")])
def test_arguments_of_tables_that_are_nearly_right(db, options, says):
    with pytest.raises(sqlite3.OperationalError, match=says):
        db.execute(f"CREATE VIRTUAL TABLE seen USING cuckoo_filter({options}, seed=5)")
    assert db.execute("SELECT name FROM sqlite_master").fetchall() == []


@pytest.mark.parametrize("options", ["colour=blue", "growth=maybe", "bits=12", "x=1", "layout=dense"])
def test_nothing_is_guessed_when_nothing_is_near(db, options):
    assert "did you mean" not in fails(db, BAD_PARAMETER, "SELECT cf_new(10, NULL, ?)", options)


def test_a_long_part_of_the_options_is_cut_between_characters(db):
    for blanks in range(4):
        message = fails(db, BAD_PARAMETER, "SELECT cf_new(10, NULL, ?)", "x" * blanks + "é" * 300)
        assert "got '" + "x" * blanks + "éé" in message and "é'; valid options" in message


@pytest.mark.parametrize("sql, says", [
    ("SELECT cf_new(10, 0.01, 'fpr=0.1')", "the argument before the options"),
    ("SELECT cf_new(10, 0.01, 'content=u(k)')", "for filter tables only"), ("SELECT cf_new(10, 'seed=1')", "options come after it: NULL, 'name=value'"),
    ("SELECT cf_build(1, 'seed=1')", "options come after it"), ("SELECT cf_new('10')", "got the text '10': give a number")])
def test_arguments_in_the_wrong_place(db, sql, says):
    fails(db, BAD_PARAMETER, sql, says=says)


@pytest.mark.parametrize("content, says", [
    ("u(zz)", "table u has no column zz; it has id, email, k"), ("u(emial)", "no column emial; did you mean email; it has"),
    ("U(Emial)", "did you mean email"), ("uu(k)", "no table uu in main, the schema of the filter; did you mean u"),
    ("main.u(k)", "give its name without a schema"), ("tt(x)", "no table tt in main"), ("w(k)", "a view is no table"),
    ("v(x)", "a virtual table, which has no triggers"), ("seen2(key)", "no table seen2 in main"), ("wide(zz)", "c18, c19 and more")])
def test_content_that_is_not_there(db, content, says):
    """There is no filter yet that the message could tell to drop."""
    db.execute("CREATE TABLE u(id INTEGER PRIMARY KEY, email TEXT, k)")
    db.execute("CREATE VIEW w AS SELECT * FROM u")
    db.execute("CREATE TEMP TABLE tt(x)")
    db.execute(f"CREATE TABLE wide({', '.join(f'c{i}' for i in range(30))})")
    db.execute("CREATE VIRTUAL TABLE v USING cuckoo_filter(capacity=5)")
    before = db.execute("SELECT name FROM sqlite_master").fetchall()
    with pytest.raises(sqlite3.OperationalError) as caught:
        db.execute(f"CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=10, content='{content}')")
    assert says in str(caught.value) and "drop" not in str(caught.value)
    assert db.execute("SELECT name FROM sqlite_master").fetchall() == before


@pytest.mark.parametrize("call", ["cf_table_contains({}, 1)", "cf_table_info({})", "cf_table_check({})", "cf_export({})",
                                  "cf_table_rebuild({})"])
def test_names_of_tables_that_are_nearly_right(db, call):
    db.execute("CREATE VIRTUAL TABLE members USING cuckoo_filter(capacity=5)")
    db.execute("ATTACH ':memory:' AS other")
    db.execute("CREATE VIRTUAL TABLE other.visitors USING cuckoo_filter(capacity=5)")
    for name, says in (("'membres'", "did you mean members"), ("'main.member'", "did you mean members"),
                       ("'vistors'", "did you mean visitors"), ("'x'", "no cuckoo_filter table of this name: x"),
                       ("x'00'", "take a blob"), ("5", "must be the name")):
        fails(db, BAD_PARAMETER, f"SELECT {call.format(name)}", says=says)
    with pytest.raises(sqlite3.OperationalError, match="cf_table_buckets: .* did you mean members"):
        db.execute("SELECT * FROM cf_table_buckets('mambers')")
    with pytest.raises(sqlite3.OperationalError, match=r"cf_table_buckets\('name of a filter table'\)"):
        db.execute("SELECT * FROM cf_table_buckets")


def test_what_two_filters_differ_in_and_why(db):
    for one, other, says in (("cf_new(10)", "cf_new(1000)", "buckets, fingerprint_bits, pair_bits (planned for 10 and 1000 keys, fpr about 0.0039 and 0.0072); build both"),
                             ("cf_new(10)", "cf_new(10, NULL, 'seed=5')", "seed, hash (planned for 10 and 10 keys, fpr about 0.0039 and 0.0039); keys hash differently"),
                             ("cf_new(1000, 0.001)", "cf_new(1000)", "fpr and options"),
                             ("cf_new(10, NULL, 'value_bits=4')", "cf_new(10, NULL, 'value_bits=5')", "value_bits (planned for 10 and 10 keys, fpr about 0.0039 and 0.0039); build both")):
        for sql in (f"SELECT cf_merge({one}, {other})", f"SELECT cf_merge(f) FROM (SELECT {one} AS f UNION ALL SELECT {other})"):
            fails(db, MISMATCH, sql, says=says)
