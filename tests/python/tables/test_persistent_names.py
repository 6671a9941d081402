# SPDX-License-Identifier: MIT
"""Functions that take the name of a persistent table; blobs out of it and into it."""
import json
import sqlite3

import pytest

import support
from support import ask
from test_persistent import ERROR, check, create, has, info, insert, items, lost, refused

NAMES = ["a b", 'a"b', "a'b", "a.b", "main.seen", "select", "ünï", "a_b", "_page", "a(b)", "%s%w", "seen_", " ", "SEEN"]


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def contains(db, name, key):
    return ask(db, "SELECT cf_table_contains(?, ?)", name, key)


@pytest.fixture
def seen(db):
    create(db)
    insert(db, 1, 2, 3)
    return db


# ---- what it follows ----

@pytest.mark.parametrize("sql, says", [
    ("INSERT INTO f(key) VALUES (1)", "it follows people(name): change that table"),
    ("INSERT INTO f(f) VALUES ('clear')", "it follows people(name), and clear would make it miss rows"),
    ("SELECT key FROM f", "people(name) cannot be read")])
def test_messages_name_the_table_as_it_is_named_now(db, sql, says):
    failing = []
    db.create_function("half", 1, lambda x: 1 // (not failing), deterministic=True)
    db.execute("CREATE TABLE u(x, k AS (half(x)))")
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(capacity=100, content='u(k)')")
    db.execute("INSERT INTO u(x) VALUES (1)")
    db.execute("ALTER TABLE u RENAME TO people")
    db.execute("ALTER TABLE people RENAME COLUMN k TO name")
    assert ask(db, "SELECT cf_table_contains('f', 1)") == 1
    failing.append(1)
    refused(db, ERROR, sql, says=says)


# ---- which table ----

@pytest.mark.parametrize("name", ["seen", "main.seen", "SEEN", "Main.Seen"])
def test_a_table_by_its_name(seen, name):
    assert [contains(seen, name, key) for key in (1, 2, 3, 4, "1", 1.0)] == [1, 1, 1, 0, 0, 1]
    assert contains(seen, name, None) is None
    assert info(seen, name)["items"] == 3


@pytest.mark.parametrize("name", NAMES)
def test_odd_names(db, name):
    create(db, name=quoted(name))
    insert(db, 1, 2, table=quoted(name))
    for spelled in (name, "main." + name):
        assert contains(db, spelled, 1) and not contains(db, spelled, 3)
        assert info(db, spelled)["items"] == 2
        assert ask(db, "SELECT cf_contains(cf_export(?), 2)", spelled) == 1
        assert ask(db, "SELECT count(fingerprint) FROM cf_table_buckets(?)", spelled) == 2
    db.execute(f"INSERT INTO {quoted(name)}({quoted(name)}) VALUES ('check')")
    assert has(db, 1, quoted(name)) and items(db, quoted(name)) == 2


@pytest.mark.parametrize("schema", ["other", "a b", "x.y", "select", 'q"q', "it's"])
def test_attached_schemas(seen, schema):
    seen.execute(f"ATTACH ':memory:' AS {quoted(schema)}")
    create(seen, name=quoted(schema) + ".seen")
    create(seen, name=quoted(schema) + ".only")
    insert(seen, "there", table=quoted(schema) + ".seen")
    insert(seen, "only", table=quoted(schema) + ".only")
    assert contains(seen, schema + ".seen", "there") and not contains(seen, "seen", "there")
    assert contains(seen, "only", "only") and contains(seen, schema + ".only", "only")
    seen.execute(f"DETACH {quoted(schema)}")
    refused(seen, ERROR, "SELECT cf_table_contains('only', 1)", says="no cuckoo_filter table")


def test_the_first_attached_schema_wins(db):
    for schema in ("b", "a"):
        db.execute(f"ATTACH ':memory:' AS {schema}")
        create(db, name=f"{schema}.seen")
        insert(db, schema, table=f"{schema}.seen")
    assert contains(db, "seen", "b") and has(db, "b")


def test_temp_shadows_main(seen):
    create(seen, name="temp.seen")
    insert(seen, "temp", table="temp.seen")
    assert contains(seen, "seen", "temp") and not contains(seen, "seen", 1)
    assert contains(seen, "main.seen", 1) and contains(seen, "temp.seen", "temp")
    seen.execute("DROP TABLE temp.seen")
    assert contains(seen, "seen", 1)


@pytest.mark.parametrize("what", ["TABLE seen(key)", "VIEW seen AS SELECT 1 AS key"])
def test_what_shadows_a_filter_is_not_passed_over(seen, what):
    """`seen` is that temporary table in every query: in a function as well."""
    seen.execute(f"CREATE TEMP {what}")
    refused(seen, ERROR, "SELECT cf_table_contains('seen', 1)", says="no cuckoo_filter table")
    assert contains(seen, "main.seen", 1)


@pytest.mark.parametrize("name", ["none", "", "main.", ".seen", "none.seen", "main.none", "plain", "v", "seen_page",
                                  "sqlite_master", "json_each", "seen.", "main.main.seen", '"seen"', "seen\0x"])
@pytest.mark.parametrize("call", ["cf_table_contains(?, 1)", "cf_table_info(?)", "cf_export(?)"])
def test_a_wrong_name_is_a_clear_error(seen, name, call):
    seen.execute("CREATE TABLE plain(key)")
    seen.execute("CREATE VIEW v AS SELECT 1 AS key")
    message = refused(seen, ERROR, f"SELECT {call}", name, says="no cuckoo_filter table")
    assert message.startswith(call.split("(")[0] + ": ")


@pytest.mark.parametrize("name", [None, 1, 1.5, b"seen"])
@pytest.mark.parametrize("call", ["cf_table_contains(?, 1)", "cf_table_info(?)", "cf_export(?)"])
def test_a_name_that_is_no_text_is_a_clear_error(seen, name, call):
    refused(seen, ERROR, f"SELECT {call}", name, says="the first argument must be the name")


@pytest.mark.parametrize("name", ["none", None, 5])
def test_cf_table_buckets_of_a_wrong_name_is_an_error(seen, name):
    refused(seen, ERROR, "SELECT * FROM cf_table_buckets(?)", name, says="cuckoo_filter table")


@pytest.mark.parametrize("call", ["cf_contains('seen', 1)", "cf_add('seen', 1)", "cf_info('seen')", "cf_check('seen')",
                                  "cf_merge('seen', 'seen')", "cf_count('seen', 1)", "cf_delete('seen', 1)"])
def test_pure_functions_never_take_a_name(seen, call):
    with pytest.raises(sqlite3.Error) as caught:
        seen.execute(f"SELECT {call}").fetchall()
    assert "blob" in str(caught.value) or "not a filter" in str(caught.value)


# ---- from anywhere ----

def test_from_a_scan_of_another_table(seen):
    seen.execute("ATTACH ':memory:' AS other")
    seen.execute("CREATE TABLE other.t AS SELECT value AS x FROM json_each('[1, 3, 5, null]')")
    assert seen.execute("SELECT x, cf_table_contains('seen', x) FROM other.t").fetchall() == [
        (1, 1), (3, 1), (5, 0), (None, None)]


def test_the_name_may_differ_from_row_to_row(seen):
    create(seen, name="two")
    insert(seen, 9, table="two")
    rows = seen.execute("SELECT column1, cf_table_contains(column1, 9) FROM (VALUES ('seen'), ('two'), ('seen'))")
    assert rows.fetchall() == [("seen", 0), ("two", 1), ("seen", 0)]


def test_in_an_insert_into_the_same_table(seen):
    seen.execute("INSERT INTO seen(key) SELECT value FROM json_each('[1, 8, 2, 9]') "
                 "WHERE NOT cf_table_contains('seen', value)")
    assert items(seen) == 5 and lost(seen, [1, 2, 3, 8, 9]) == []


@pytest.mark.parametrize("sql", ["CREATE INDEX i ON p(cf_table_contains('seen', x))",
                                 "CREATE TABLE g(x, y AS (cf_table_contains('seen', x)))"])
def test_a_function_by_name_is_not_for_schemas(seen, sql):
    """It is not deterministic: what it reads is not in the row."""
    seen.execute("CREATE TABLE p(x)")
    refused(seen, ERROR, sql, says="non-deterministic")


def test_a_function_by_name_in_a_view_needs_a_trusted_schema(seen):
    seen.execute("CREATE VIEW w AS SELECT cf_table_contains('seen', 1)")
    assert ask(seen, "SELECT * FROM w") == 1
    seen.execute("PRAGMA trusted_schema = OFF")
    refused(seen, ERROR, "SELECT * FROM w", says="unsafe use of cf_table_contains()")


# ---- blobs ----

@pytest.mark.parametrize("keys", [0, 3, 1200])
@pytest.mark.parametrize("arguments", ["capacity=100", "capacity=100, bucket_size=2", "capacity=100, overflow=on",
                                       "capacity=100, counter_bits=4", "capacity=100, layout=semisort, bucket_size=4"])
def test_an_export_answers_as_the_table_does(db, arguments, keys):
    create(db, arguments)
    insert(db, *range(keys), *range(keys // 10))
    blob = ask(db, "SELECT cf_export('seen')")
    assert ask(db, "SELECT cf_check(?)", blob) == "ok"
    assert support.info(db, blob).items() <= info(db, "seen", "all").items()
    for key in range(keys + 500):
        assert support.contains(db, blob, key) == contains(db, "seen", key) == has(db, key)
    shown = db.execute("SELECT * FROM cf_table_buckets('seen')").fetchall()
    assert shown == db.execute("SELECT * FROM cf_buckets(?)", (blob,)).fetchall()


def test_an_export_is_what_the_functions_would_have_made(db):
    create(db, "capacity=50, seed=0")
    blob = support.new(db, 50)
    for key in range(400):
        insert(db, key)
        blob = support.add(db, blob, key)
    assert ask(db, "SELECT cf_export('seen')") == blob


def test_an_export_works_with_all_functions(seen):
    assert ask(seen, "SELECT cf_contains(cf_add(cf_export('seen'), 9), 9)") == 1
    assert ask(seen, "SELECT cf_contains(cf_delete(cf_export('seen'), 1), 1)") == 0
    assert ask(seen, "SELECT cf_count(cf_merge(cf_export('seen'), cf_export('seen')), 1)") == 2
    assert ask(seen, "SELECT cf_contains(cf_open(cf_export('seen')), 1)") == 1
    assert ask(seen, "SELECT cf_check(cf_clear(cf_export('seen')))") == "ok"
    assert ask(seen, "SELECT sum(match) FROM cf_explain(cf_export('seen'), 1)") == 1


@pytest.mark.parametrize("options", ["bucket_size=2", "bucket_size=8 seed=-5", "counter_bits=3", "overflow=on", "growth=off"])
def test_import_takes_any_sound_filter(seen, options):
    blob = support.build(seen, range(100, 700), 0.001, options)
    seen.execute("INSERT INTO seen(key, seen) VALUES (?, 'import')", (blob,))
    assert ask(seen, "SELECT cf_export('seen')") == blob
    assert lost(seen, range(100, 700)) == [] and items(seen) == 600
    check(seen)


def test_import_of_a_smaller_filter_then_growth(db):
    create(db, "capacity=20000")
    insert(db, *range(2000))
    db.execute("INSERT INTO seen(key, seen) VALUES (cf_new(10), 'import')")
    assert items(db) == 0
    insert(db, *range(5000, 9000))
    assert lost(db, range(5000, 9000)) == []
    check(db)


@pytest.mark.parametrize("blob", [None, "x", 5, b"", b"x" * 100, bytes(2000)])
def test_import_of_anything_else_changes_nothing(seen, blob):
    refused(seen, ERROR, "INSERT INTO seen(key, seen) VALUES (?, 'import')", blob, says="not a sound filter")
    assert lost(seen, [1, 2, 3]) == [] and items(seen) == 3


def test_import_of_a_filter_with_values_shows_them(db):
    """The table was declared without a value column, or with one: both must be clear."""
    create(db, "capacity=100")
    blob = support.new(db, 100, None, "value_bits=8")
    try:
        db.execute("INSERT INTO seen(key, seen) VALUES (?, 'import')", (blob,))
    except sqlite3.OperationalError as error:
        assert "value_bits" in str(error)
    else:
        db.execute("INSERT INTO seen(key, value) VALUES (1, 77)")
        assert db.execute("SELECT value FROM seen WHERE key = 1").fetchall() == [(77,)]


def test_rollback_of_an_import(seen):
    seen.execute("BEGIN")
    seen.execute("INSERT INTO seen(key, seen) VALUES (cf_new(10), 'import')")
    assert items(seen) == 0
    seen.execute("ROLLBACK")
    assert lost(seen, [1, 2, 3]) == []


def test_an_export_above_the_length_limit_is_too_big(db):
    create(db, "capacity=100000")
    insert(db, 1)
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 10000)
    with pytest.raises(sqlite3.DataError, match="SQLITE_LIMIT_LENGTH"):
        db.execute("SELECT cf_export('seen')").fetchall()
    assert contains(db, "seen", 1)


def test_info_has_the_fields_of_cf_info(seen):
    blob = json.loads(ask(seen, "SELECT cf_info(cf_export('seen'))"))
    assert info(seen, "seen", "all").items() >= blob.items() and blob["items"] == 3


# ---- names of its own columns ----

@pytest.mark.parametrize("name, options", [("key", ""), ("KEY", ""), ("cuckoo_id", ""), ("cuckoo_touch", ""), ("value", ", value_bits=4")])
def test_a_table_is_not_called_as_one_of_its_columns(db, name, options):
    """INSERT INTO key(key) VALUES ('check') would be a key."""
    says = f"{name} is a column of filter tables: choose another name"
    with pytest.raises(sqlite3.OperationalError, match=f"cuckoo_filter: {says}"):
        db.execute(f"CREATE VIRTUAL TABLE {name} USING cuckoo_filter(capacity=10{options})")
    db.execute(f"CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=10{options})")
    db.execute(f"INSERT INTO seen(key{options and ', value'}) VALUES (1{options and ', 2'})")
    with pytest.raises(sqlite3.OperationalError, match=says):
        db.execute(f"ALTER TABLE seen RENAME TO {name}")
    check(db)
    assert has(db, 1) == 1
    assert [row[0] for row in db.execute("SELECT name FROM sqlite_master ORDER BY 1")] == ["seen", "seen_page", "seen_wait"]


def test_a_name_that_only_other_tables_have_as_a_column(db):
    db.execute("CREATE VIRTUAL TABLE value USING cuckoo_filter(capacity=10)")
    db.execute("INSERT INTO value(value) VALUES ('check')")
