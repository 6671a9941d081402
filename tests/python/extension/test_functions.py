# SPDX-License-Identifier: MIT
"""What holds of every function (functions.py): what it says of a filter that is none, that a handle stands for a filter, that
equal calls have equal answers, and that what depends on values alone may stand wherever SQLite asks for such functions.
"""
import re
import sqlite3

import pytest

import functions
import support
from functions import AGGREGATES, BUILDERS, BY_NAME, MAKERS, SCALARS, function_in, names, queries_of_filters
from support import BAD_BLOB, BAD_PARAMETER, ask, fails

DETERMINISTIC, INNOCUOUS, DIRECTONLY = 0x800, 0x200000, 0x80000
NO_FILTERS = [b"", b"\0", b"hello", bytes(64)]
KINDS = {"plain": "cf_build(value) FROM json_each('[1, 2, 3]')", "empty": "cf_new(10)",
         "values": "cf_add(cf_new(10, 0.01, 'value_bits=4'), 1, 5)",
         "counters": "cf_add_keys(cf_new(10, 0.01, 'counter_bits=4'), cf_keys(1)) FROM json_each('[1, 2, 3]')",
         "ageing": "cf_add(cf_new(10, 0.01, 'epochs=3'), 1)",
         "exact": "cf_build_exact(value, value = 1) FROM json_each('[1, 2, 3]')",
         "ruled": "cf_build('5', 0.01, 'affinity=integer collation=nocase')",
         "grown": "cf_add_keys(cf_new(2), cf_keys(value)) FROM json_each('[1,2,3,4,5,6,7,8,9,10,11,12,13,14]')"}


@pytest.fixture(params=KINDS)
def blob(db, request):
    return ask(db, f"SELECT {KINDS[request.param]}")


def outcome(db, sql, blob=None):
    """The rows, or the error."""
    try:
        return db.execute(sql, (blob,) if "?1" in sql else ()).fetchall()
    except sqlite3.Error as error:
        return type(error), str(error)


# ---- the lists ----

def test_the_fuzz_targets_call_every_function():
    with open(f"{support.ROOT}/tests/model/sql.h", encoding="utf-8") as file:
        drawn = set(re.findall(r"\bcf_\w+(?=,\d)", file.read()))
    assert names(SCALARS, AGGREGATES, MAKERS, BUILDERS) <= drawn


def test_the_lists_name_every_function(db):
    rows = db.execute("SELECT name, type, flags FROM pragma_function_list WHERE name GLOB 'cf_*'").fetchall()
    if not rows:
        pytest.skip("this SQLite does not list its functions")
    assert {name for name, type_, _ in rows if type_ == "s"} == names(SCALARS, MAKERS, BY_NAME) | functions.INTERNAL
    assert {name for name, type_, _ in rows if type_ != "s"} == names(AGGREGATES, BUILDERS)
    for name, _, flags in rows:
        pure = name not in names(BY_NAME) | functions.INTERNAL
        assert bool(flags & DETERMINISTIC) == pure and bool(flags & INNOCUOUS) == (pure or name in functions.HARMLESS), name
        assert bool(flags & DIRECTONLY) == (name in functions.DIRECT_ONLY), name
    assert {name for name, in db.execute("SELECT name FROM pragma_module_list WHERE name GLOB 'cf_*'")} \
        == names(functions.TABLES, functions.TABLES_BY_NAME, functions.TABLES_OF_TEXTS)


# ---- a filter that is none ----

@pytest.mark.parametrize("key", ["1", "NULL"])
def test_a_filter_that_is_none_is_an_error(db, key):
    sound = support.build(db, "abc", None, "capacity=10")
    later = [support.patched(sound, **fields)
             for fields in ({"version": 3}, {"version": 255}, {"hash": 200}, {"flags": 0x82},
                            {"flags": 0x60})]
    earlier = [support.patched(sound, version=version) for version in (0, 1)]
    for query in queries_of_filters(key):
        function = function_in(query) if "cf_merge(cf_new" not in query else "cf_merge"
        fails(db, BAD_PARAMETER, query.format(f="NULL"), function=function, says="filter is NULL")
        for value in ("1", "1.5", "'text'", "''") if function not in functions.TAKE_NAMES else ("1", "1.5"):
            fails(db, BAD_PARAMETER, query.format(f=value), function=function, says="filter must be a blob")
        for blob in NO_FILTERS + later + earlier:
            says = "made by a later version" if blob in later else "an earlier format" if blob in earlier else "not a cuckoo filter"
            if function == "cf_check":
                assert says in ask(db, query.format(f="?1"), blob)
                continue
            message = fails(db, BAD_BLOB, query.format(f="?1"), blob, function=function, says="filter cannot be used: "
                            + says)
            assert ("use the version that wrote it" in message) == (blob in later), message
            assert blob not in later or not any(word in message for word in ("drop", "anew", "rebuild", "restore", "import")), message


@pytest.mark.parametrize("join", ["filters, {}", "filters LEFT JOIN {}", "filters JOIN {}"])
def test_a_null_filter_in_a_join_is_an_error(db, join):
    """A missing filter must not look like one that holds nothing."""
    db.execute("CREATE TABLE filters(f)")
    db.execute("INSERT INTO filters VALUES (cf_new(10, 0.01, 'value_bits=4')), (NULL)")
    for table in functions.TABLES:
        for key in ("1", "NULL"):
            fails(db, BAD_PARAMETER, f"SELECT * FROM {join.format(table.format(f='f', k=key))}",
                  function=function_in(table),
                  says="filter is NULL")
    fails(db, BAD_PARAMETER, "SELECT 1 WHERE cf_contains((SELECT f FROM filters WHERE 0), 1)")
    fails(db, BAD_PARAMETER, "SELECT 1 FROM (VALUES (1)) WHERE NOT cf_contains(NULL, column1)")


def test_exact_filters_are_refused_by_what_would_make_them_wrong(db):
    exact = ask(db, f"SELECT {KINDS['exact']}")
    for query in queries_of_filters() + queries_of_filters("NULL"):
        function = function_in(query) if "cf_merge(cf_new" not in query else "cf_merge"
        for source in ("?1", "(SELECT cf_open(?1))", "(SELECT ?1)"):
            if function in functions.KNOW_EXACT_FILTERS:
                db.execute(query.format(f=source), (exact,)).fetchall()
            else:
                assert "cf_build_exact" in fails(db, BAD_PARAMETER, query.format(f=source), exact, function=function,
                                                 says="filter is exact")


def test_wrong_numbers_of_arguments(db):
    for call in ("cf_new()", "cf_new(1, 0.1, '', 1)", "cf_build()", "cf_build_exact(1)",
                 "cf_build_exact(1, 1, NULL, NULL, 1)", "cf_add(x'')",
                 "cf_contains(x'')", "cf_get(x'')", "cf_add(x'', 1, 1, 1)", "cf_open()", "cf_clear(x'', 1)",
                 "cf_version(1)", "cf_info()"):
        with pytest.raises(sqlite3.OperationalError, match="wrong number of arguments"):
            db.execute(f"SELECT {call}")
    with pytest.raises(sqlite3.OperationalError, match="too many arguments"):
        db.execute("SELECT * FROM cf_buckets(x'', 1)")


# ---- a key that is NULL ----

NULLS = ["NULL", "(9e999 - 9e999)"]  # SQLite makes NULL of NaN before any function sees it


@pytest.mark.parametrize("null", NULLS)
def test_a_null_key_is_neither_there_nor_not_and_changes_nothing(db, null):
    for kind, value in (("plain", ""), ("counters", ""), ("values", ", 5"), ("values", ", NULL")):
        blob = ask(db, f"SELECT {KINDS[kind]}")
        for call in ("cf_add", "cf_delete"):
            assert kind == "values" and "add" not in call and "NULL" in value or ask(db,
                    f"SELECT {call}(?, {null}{value})", blob) == blob
        for call in ("cf_contains", "cf_count") + (("cf_get",) if value else ()):
            assert ask(db, f"SELECT {call}(?, {null})", blob) is None
        assert db.execute(f"SELECT * FROM cf_explain(?, {null})", (blob,)).fetchall() == []
        assert ask(db, f"SELECT cf_key(1, {null})") is None and ask(db, f"SELECT cf_key({null})") is None
    keys = f"(SELECT {null} AS k UNION ALL VALUES (1), ({null}), (2), (3), ({null}))"
    three = ask(db, f"SELECT {KINDS['plain']}")
    assert ask(db, f"SELECT cf_build(k) FROM {keys}") == three
    assert ask(db, f"SELECT cf_add_keys(?, cf_keys(k)) FROM {keys}", three) == support.add_all(db, three, [1, 2, 3])
    assert support.info(db, ask(db, f"SELECT cf_delete_keys(?, cf_keys(k)) FROM {keys}", three))["items"] == 0


def test_no_rows(db):
    """A list is empty, and a build is an empty filter; there is nothing to merge."""
    db.execute("CREATE TABLE new(k, v)")
    for kind, value in (("plain", ""), ("values", ", v")):
        blob = ask(db, f"SELECT {KINDS[kind]}")
        for call in ("cf_add_keys", "cf_delete_keys"):
            assert ask(db, f"SELECT {call}(?, cf_keys(k{value})) FROM new", blob) == blob
    fails(db, BAD_PARAMETER, "SELECT cf_merge(k) FROM new", says="zero rows")
    assert db.execute("SELECT cf_merge(k) FROM new GROUP BY k").fetchall() == []
    for rows in ("new", "(SELECT NULL AS k)"):
        empty = ask(db, f"SELECT cf_build(k) FROM {rows}")
        assert ask(db, "SELECT cf_check(?)", empty) == "ok"
        assert support.info(db, empty)["items"] == 0 == support.contains(db, empty, 1)


def test_built_over_no_rows(db):
    """cf_build does not see its options then. Keys would be missed under others: the filter takes none, and cf_merge passes
    over it."""
    options = "0.001, 'collation=nocase affinity=numeric seed=7 capacity=100'"
    db.execute("CREATE TABLE new(k, v)")
    none = ask(db, f"SELECT cf_build(k, {options}) FROM new")
    assert support.info(db, none)["capacity"] == 0
    for add in ("cf_add(?, 'Ada')", "cf_add(?, 'Ada', 3)", "cf_add_keys(?, cf_keys('Ada'))",
                "cf_add_keys(?, cf_keys('Ada', NULL, 'collation=nocase'))"):
        fails(db, BAD_PARAMETER, f"SELECT {add}", none, says="built from zero rows, where cf_build does not see its options")
    for same in ("cf_add(?, NULL)", "cf_add_keys(?, cf_keys(NULL))", "cf_add_keys(?, (SELECT cf_keys(k) FROM new))", "cf_delete(?, 'Ada')",
                 "cf_delete_keys(?, cf_keys('Ada'))", "cf_clear(?)", "cf_merge(?)"):
        assert ask(db, f"SELECT {same}", none) == none
    assert ask(db, "SELECT cf_merge(?1, ?1)", none) == none
    some = ask(db, f"SELECT cf_build('Ada', {options})")
    assert ask(db, "SELECT cf_get(?, 'Ada')", none) is None and db.execute("SELECT * FROM cf_values(?, 'Ada')", (none,)).fetchall() == []
    assert ask(db, "SELECT cf_merge(?, ?)", none, some) == some == ask(db, "SELECT cf_merge(?, ?)", some, none)
    assert ask(db, "SELECT cf_merge(column1) FROM (VALUES (?1), (?2), (?1), (?2))", none, some) == ask(db, "SELECT cf_merge(?1, ?1)", some)
    for rows in ("(SELECT 1) LEFT JOIN new", "(SELECT 1) LEFT JOIN (SELECT 'Eve' AS k)"):  # what the error names
        made = ask(db, f"SELECT cf_build(k, {options}) FROM {rows}")
        assert support.contains(db, ask(db, "SELECT cf_add(?, 'Ada')", made), "aDA") == 1


def test_a_table_that_ages_is_not_one_built_over_no_rows(db):
    db.execute("CREATE VIRTUAL TABLE s USING cuckoo_filter(capacity=0, keep='1 day')")
    blob = ask(db, "SELECT cf_export('s')")
    assert support.contains(db, ask(db, "SELECT cf_add(?, 'a')", blob), "a") == 1
    db.execute("INSERT INTO s(s, key) VALUES ('import', ?)", (blob,))
    with pytest.raises(sqlite3.IntegrityError, match="differ in seed"):
        ask(db, "SELECT cf_merge(?, cf_new(9))", blob)


# ---- handles, and equal calls ----

@pytest.mark.parametrize("key", ["1", "'5'", "x'00'", "2.5", "NULL"])
def test_a_handle_stands_for_its_filter_and_equal_calls_have_equal_answers(db, blob, key):
    other = support.connect()
    db.execute("CREATE TABLE filters(f)")
    db.execute("INSERT INTO filters VALUES (?)", (blob,))
    for query in queries_of_filters(key):
        expected = outcome(db, query.format(f="?1"), blob)
        assert outcome(db, query.format(f="?1"), blob) == outcome(other, query.format(f="?1"), blob) == expected, query
        if "cf_open(" in query:
            continue
        for source in ("(SELECT cf_open(f) FROM filters)", "cf_open(?1)", "(SELECT ?1)"):
            if "SELECT" in source and any(call in query for call in AGGREGATES) and sqlite3.sqlite_version_info < (3,
                    35):
                continue  # older ones call an aggregate of a subquery misuse
            assert outcome(db, query.format(f=source), blob) == expected, (query, source)
    for call in MAKERS + BUILDERS:
        sql = f"SELECT {call.format(k=key)}"
        assert outcome(db, sql) == outcome(other, sql) == outcome(db, sql)
    other.close()


# ---- where SQLite asks for pure functions ----

@pytest.fixture
def untrusting(db):
    db.execute("PRAGMA trusted_schema = OFF")
    db.create_function("plain", 1, lambda x: x, deterministic=True)
    db.execute("CREATE VIEW v AS SELECT plain(1)")
    with pytest.raises(sqlite3.OperationalError, match="unsafe use of plain"):
        db.execute("SELECT * FROM v")  # without this the others would show nothing
    return db


def test_functions_of_values_stand_in_views_columns_defaults_indexes_and_triggers(untrusting, blob):
    db = untrusting
    db.execute("CREATE TABLE filters(f)")
    db.execute("INSERT INTO filters VALUES (?)", (blob,))
    for n, query in enumerate(queries_of_filters()):
        if function_in(query) in functions.TAKE_NAMES:
            continue
        select = query.format(f="filters.f")
        select = select.replace("*", "x.*") + " AS x, filters" if "*" in query else f"{select} FROM filters"
        db.execute(f"CREATE VIEW view{n} AS {select}")
        assert outcome(db, f"SELECT * FROM view{n}") == outcome(db, query.format(f="?1"), blob), query
    literal, made = f"x'{blob.hex()}'", []
    for n, call in enumerate(SCALARS + MAKERS):
        if "SELECT" in call or "cf_picture" in call or "cf_open" in call:
            continue
        call = call.replace("{k}", "1")
        column, constant = call.format(f="f"), call.format(f=literal)
        expected = outcome(db, f"SELECT {constant}")
        if not isinstance(expected, list):
            continue
        db.execute(f"""CREATE TABLE t{n}(f, x AS ({column}), d DEFAULT ({constant}), CHECK ({column} IS NOT 'x'))""")
        db.execute(f"INSERT INTO t{n}(f) VALUES (?)", (blob,))
        some = f"f IS NOT ({constant} IS 'x')"  # without f it is a constant, for which SQLite 3.53 takes no index
        db.execute(f"CREATE INDEX i{n} ON t{n}({column}) WHERE {some}")
        assert db.execute(f"SELECT x FROM t{n}").fetchall() == db.execute(f"SELECT d FROM t{n}").fetchall() == expected
        found = f"SELECT {column} FROM t{n} INDEXED BY i{n} WHERE {column} IS ? AND {some}"
        assert db.execute(found, expected[0]).fetchall() == expected
        db.execute(f"CREATE TRIGGER r{n} AFTER INSERT ON filters BEGIN INSERT INTO t{n}(f, d) VALUES (new.f, {call.format(f='new.f')}); END")
        made.append((f"SELECT count(*) FROM t{n} WHERE f NOT NULL AND x IS d", 2))
    db.execute("INSERT INTO filters VALUES (?)", (blob,))
    assert [(sql, ask(db, sql)) for sql, _ in made] == made and len(made) >= 5
    assert ask(db, "PRAGMA integrity_check") == "ok"


def test_handles_and_pictures_stand_in_no_index(db, blob):
    """A picture may be of a table, which changes; of a handle a column keeps nothing."""
    db.execute("CREATE TABLE kept(f, x AS (cf_open(f)))")
    with pytest.raises(sqlite3.Error, match="non-deterministic"):
        db.execute("CREATE INDEX i ON kept(cf_picture(f))")
    with pytest.raises(sqlite3.Error, match="non-deterministic"):
        db.execute("ALTER TABLE kept ADD COLUMN y AS (cf_picture(f))")
    db.execute("INSERT INTO kept(f) VALUES (?)", (blob,))
    assert ask(db, "SELECT x FROM kept") is None


def test_what_reads_a_table_by_its_name_stands_in_no_index_and_gives_no_filter_away(untrusting):
    """Shells since SQLite 3.44 trust no schema: what gives an answer, a figure or a picture works there all the same."""
    db = untrusting
    db.execute("CREATE TABLE u(k UNIQUE)")
    db.execute("CREATE VIRTUAL TABLE known USING cuckoo_filter(content='u(k)')")
    db.execute("INSERT INTO u VALUES (1), (2)")
    db.execute("CREATE TABLE asked(x)")
    for n, call in enumerate(BY_NAME):
        call = call.format(t="'known'", k="1")
        with pytest.raises(sqlite3.OperationalError, match="non-deterministic|unsafe use of cf_"):
            db.execute(f"CREATE INDEX i{n} ON u({call})")
        db.execute(f"CREATE VIEW w{n} AS SELECT {call} AS x")
        db.execute(f"CREATE TABLE t{n}(a)")
        db.execute(f"CREATE TRIGGER r{n} AFTER INSERT ON t{n} BEGIN INSERT INTO asked SELECT {call}; END")
        uses = f"SELECT * FROM w{n}", f"INSERT INTO t{n} VALUES (1)"
        if functions.name_of(call) not in functions.HARMLESS:
            for use in uses:
                with pytest.raises(sqlite3.OperationalError, match="unsafe use of cf_"):
                    db.execute(use)
            continue
        expected = ask(db, f"SELECT {call}")
        assert ask(db, uses[0]) == expected
        db.execute(uses[1])
        assert ask(db, "SELECT x FROM asked ORDER BY rowid DESC LIMIT 1") == expected
    db.execute("CREATE VIEW slots AS SELECT * FROM cf_buckets('known')")
    with pytest.raises(sqlite3.OperationalError, match="unsafe use of virtual table"):
        db.execute("SELECT * FROM slots")
    db.execute("PRAGMA trusted_schema = ON")
    assert db.execute("SELECT * FROM slots").fetchall() == db.execute("SELECT * FROM cf_buckets('known')").fetchall()
    for n, call in enumerate(BY_NAME):
        call = call.format(t="'known'", k="1")
        if functions.name_of(call) in functions.DIRECT_ONLY:
            with pytest.raises(sqlite3.OperationalError, match="unsafe use of cf_"):
                db.execute(f"SELECT * FROM w{n}")
        else:
            assert db.execute(f"SELECT * FROM w{n}").fetchall() == db.execute(f"SELECT {call}").fetchall()


# ---- a filter kept by triggers; indexes that are used ----

def test_triggers_keep_a_filter_in_step(untrusting):
    db = untrusting
    db.executescript("""
        CREATE TABLE filters(f); INSERT INTO filters VALUES (cf_new(3, NULL, 'bucket_size=2 fingerprint_bits=32 growth=off'));
        CREATE TABLE t(k);
        CREATE TRIGGER added AFTER INSERT ON t BEGIN UPDATE filters SET f = cf_add(f, new.k); END;
        CREATE TRIGGER deleted AFTER DELETE ON t BEGIN UPDATE filters SET f = cf_delete(f, old.k); END;
        CREATE TRIGGER changed AFTER UPDATE ON t BEGIN UPDATE filters SET f = cf_add(cf_delete(f, old.k), new.k); END;""")
    before = ask(db, "SELECT f FROM filters")
    db.execute("INSERT INTO t VALUES ('x'), ('y')")
    db.execute("UPDATE t SET k = 'z' WHERE k = 'y'")
    assert [support.count(db, ask(db, "SELECT f FROM filters"), k) for k in "xyz"] == [1, 0, 1]
    db.execute("BEGIN")
    db.execute("UPDATE t SET k = 'v' WHERE k = 'z'")
    with support.undone_when_it_fails(db):  # a filter that is full refuses the rows, and keeps the transaction
        fails(db, support.FULL, "INSERT INTO t VALUES (2), (3), (4), (5), (6), (7), (8), (9)", function="cf_add")
    db.execute("COMMIT")
    assert db.execute("SELECT k, cf_contains(f, k) FROM t, filters").fetchall() == [("x", 1), ("v", 1)]
    db.execute("DELETE FROM t")
    assert ask(db, "SELECT f FROM filters") == before


def test_a_unique_index_of_composite_keys(untrusting):
    db = untrusting
    db.execute("CREATE TABLE t(a, b)")
    db.execute("CREATE UNIQUE INDEX both ON t(cf_key(a, b))")
    db.executemany("INSERT INTO t VALUES (?, ?)", [(n, n % 3) for n in range(50)])
    query = "SELECT a FROM t WHERE cf_key(a, b) = cf_key(7, 1)"
    assert "USING INDEX both" in str(db.execute(f"EXPLAIN QUERY PLAN {query}").fetchall()) and ask(db, query) == 7
    with pytest.raises(sqlite3.IntegrityError, match="UNIQUE"):
        db.execute("INSERT INTO t VALUES (7.0, 1)")  # the same key as (7, 1)
