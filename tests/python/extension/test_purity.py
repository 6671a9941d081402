# SPDX-License-Identifier: MIT
"""Functions of values are DETERMINISTIC and INNOCUOUS, the tables INNOCUOUS: they work wherever SQLite lets only
such functions in, with trusted_schema off. Equal calls give equal bytes. What reads a table by its name is neither.
"""
import json
import sqlite3

import pytest

import support
from support import FULL, ask, fails

DETERMINISTIC, INNOCUOUS, DIRECTONLY = 0x800, 0x200000, 0x80000
SCALARS = {"cf_new", "cf_add", "cf_delete", "cf_contains", "cf_count", "cf_get", "cf_merge", "cf_clear",
           "cf_info", "cf_plan", "cf_check", "cf_open", "cf_key", "cf_version", "cf_add_keys", "cf_delete_keys", "cf_advance"}
BY_NAME = {"cf_touch", "cf_table_rebuild", "cf_table_contains", "cf_table_info", "cf_table_check", "cf_export", "cf_picture"}
AGGREGATES = {"cf_build", "cf_build_exact", "cf_add_all", "cf_delete_all", "cf_merge", "cf_keys"}


@pytest.fixture
def db():
    """A connection that trusts no schema, with filters, keys 0 .. 9, and a filter of them."""
    db = support.connect()
    db.execute("PRAGMA trusted_schema = OFF")
    db.execute("CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB)")
    db.execute("INSERT INTO filters VALUES ('seen', ?)", (support.build(db, range(10), None, "capacity=100"),))
    yield db
    db.close()


def literal(db):
    return f"x'{ask(db, 'SELECT f FROM filters').hex()}'"


# ---- flags ----

def test_every_function_of_values_carries_both_flags_and_no_other_does(db):
    rows = db.execute("SELECT name, type, flags "
                      "FROM pragma_function_list WHERE name GLOB 'cf_*'").fetchall()
    assert {name for name, type_, _ in rows if type_ == "s"} == SCALARS | BY_NAME
    assert {name for name, type_, _ in rows if type_ != "s"} == AGGREGATES
    for name, _, flags in rows:
        assert flags & (DETERMINISTIC | INNOCUOUS) == (0 if name in BY_NAME else DETERMINISTIC | INNOCUOUS), name
        assert bool(flags & DIRECTONLY) == (name in ("cf_table_rebuild", "cf_touch")), name


def test_the_tables_are_there(db):
    assert {name for name, in db.execute("SELECT name FROM pragma_module_list WHERE name GLOB 'cf_*'")} \
        == {"cf_buckets", "cf_explain", "cf_table_buckets"}


def test_trusted_schema_off_is_in_force(db):
    """Without this the other tests would show nothing: an ordinary function is refused in a view."""
    db.create_function("plain", 1, lambda x: x, deterministic=True)
    db.execute("CREATE VIEW v AS SELECT plain(1)")
    with pytest.raises(sqlite3.OperationalError, match="unsafe use of plain"):
        db.execute("SELECT * FROM v")


# ---- every place that asks for the flags ----

def test_generated_columns(db):
    db.execute(f"""CREATE TABLE t(a, b, k AS (cf_key(a, b)) STORED, seen AS (cf_contains({literal(db)}, a)),
                                  fresh AS (cf_new(a)), plan AS (cf_plan(a)), version AS (cf_version()))""")
    db.execute("INSERT INTO t(a, b) VALUES (1, 'x'), (1000, 'y')")
    assert db.execute("SELECT k = cf_key(a, b), seen, length(fresh) = length(cf_new(a)), "
                      "plan = cf_plan(a), version = cf_version() FROM t").fetchall() \
        == [(1, 1, 1, 1, 1), (1, 0, 1, 1, 1)]


def test_a_column_that_describes_a_filter(db):
    db.execute("""CREATE TABLE g(f, ok AS (cf_check(f)), info AS (cf_info(f)),
                                 empty AS (cf_clear(f)), one AS (cf_count(f, 1)),
                                 more AS (cf_add(f, 1)), less AS (cf_delete(f, 1)),
                                 twice AS (cf_merge(f, f)))""")
    db.execute("INSERT INTO g(f) SELECT f FROM filters")
    assert db.execute("SELECT ok, info = cf_info(f), cf_count(empty, 1), one, cf_count(more, 1), "
                      "cf_count(less, 1), cf_count(twice, 1) FROM g").fetchall() == [("ok", 1, 0, 1, 2, 0, 2)]


def test_a_column_that_describes_a_filter_with_values(db):
    db.execute("""CREATE TABLE g(f, shard AS (cf_get(f, 'k')), more AS (cf_add(f, 'x', 2)),
                                 less AS (cf_delete(f, 'k', 5)))""")
    db.execute("INSERT INTO g(f) VALUES (cf_add(cf_new(10, 0.01, 'value_bits=4'), 'k', 5))")
    assert db.execute("SELECT shard, cf_get(more, 'x'), cf_get(less, 'k') FROM g").fetchall() == [(5, 2, None)]


def test_check_constraints(db):
    db.execute("CREATE TABLE sound(f CHECK (cf_check(f) = 'ok' AND cf_contains(f, 1)))")
    db.execute("INSERT INTO sound SELECT f FROM filters")
    with pytest.raises(sqlite3.IntegrityError, match="CHECK constraint failed"):
        db.execute("INSERT INTO sound SELECT cf_clear(f) FROM filters")
    with pytest.raises(sqlite3.IntegrityError, match="CHECK constraint failed"):
        db.execute("INSERT INTO sound VALUES (x'00')")  # cf_check answers, and cf_contains is not asked
    assert ask(db, "SELECT count(*) FROM sound") == 1


def test_defaults(db):
    db.execute("CREATE TABLE f(name, filter DEFAULT (cf_new(100, 0.001, 'seed=3')))")
    db.execute("INSERT INTO f(name) VALUES ('a')")
    assert ask(db, "SELECT filter FROM f") == support.new(db, 100, 0.001, "seed=3")


def test_expression_indexes_are_used(db):
    db.execute("CREATE TABLE t(a, b)")
    db.execute("CREATE UNIQUE INDEX both ON t(cf_key(a, b))")
    db.execute(f"CREATE INDEX seen ON t(cf_contains({literal(db)}, a), b)")
    db.executemany("INSERT INTO t VALUES (?, ?)", [(n, n % 3) for n in range(50)])
    plan = str(db.execute("EXPLAIN QUERY PLAN SELECT a FROM t WHERE cf_key(a, b) = cf_key(7, 1)").fetchall())
    assert "USING INDEX both" in plan
    assert ask(db, "SELECT a FROM t WHERE cf_key(a, b) = cf_key(7, 1)") == 7
    assert ask(db, f"SELECT count(*) FROM t INDEXED BY seen WHERE cf_contains({literal(db)}, a) = 1") >= 10
    with pytest.raises(sqlite3.IntegrityError, match="UNIQUE"):
        db.execute("INSERT INTO t VALUES (7.0, 1)")  # the same key as (7, 1)
    assert ask(db, "PRAGMA integrity_check") == "ok"


def test_partial_indexes(db):
    db.execute("CREATE TABLE t(a)")
    db.execute(f"CREATE INDEX unseen ON t(a) WHERE NOT cf_contains({literal(db)}, a)")
    db.executemany("INSERT INTO t VALUES (?)", [(n,) for n in range(1000, 1050)] + [(1,), (2,)])
    query = f"SELECT count(*) FROM t INDEXED BY unseen WHERE a > 0 AND NOT cf_contains({literal(db)}, a)"
    assert ask(db, query) == ask(db, f"SELECT count(*) FROM t WHERE NOT cf_contains({literal(db)}, a)")
    assert ask(db, "PRAGMA integrity_check") == "ok"


def test_views(db):
    db.execute("CREATE VIEW facts AS SELECT name, cf_check(f) AS ok, cf_contains(f, 3) AS three, "
               "cf_info(f) AS info, cf_contains((SELECT cf_open(f) FROM filters), 3) AS handle FROM filters")
    assert db.execute("SELECT name, ok, three, handle FROM facts").fetchall() == [("seen", "ok", 1, 1)]
    db.execute("CREATE VIEW built AS SELECT cf_build(value, 0.01, 'capacity=100') AS f FROM json_each('[1,2]')")
    assert support.contains(db, ask(db, "SELECT f FROM built"), 2) == 1
    db.execute("CREATE VIEW sums AS SELECT cf_merge(f) AS f FROM filters")
    db.execute("CREATE VIEW more AS SELECT cf_add_all(f, name) AS f FROM filters")
    db.execute("CREATE VIEW less AS SELECT cf_delete_all(f, 3) AS f FROM filters")
    assert ask(db, "SELECT cf_contains(f, 1) FROM sums") == 1
    assert ask(db, "SELECT cf_contains(f, 'seen') FROM more") == 1
    assert ask(db, "SELECT cf_count(f, 3) FROM less") == 0


def test_tables_in_views(db):
    db.execute("CREATE VIEW slots AS SELECT b.* FROM filters, cf_buckets(filters.f) b")
    db.execute("CREATE VIEW why AS SELECT e.* FROM filters, cf_explain(filters.f, 3) e")
    assert ask(db, "SELECT count(fingerprint) FROM slots") == 10
    assert ask(db, "SELECT sum(match) FROM why") == 1


def test_triggers_keep_a_filter_in_step(db):
    db.executescript("""
        CREATE TABLE t(k);
        CREATE TRIGGER added AFTER INSERT ON t BEGIN UPDATE filters SET f = cf_add(f, new.k); END;
        CREATE TRIGGER deleted AFTER DELETE ON t BEGIN UPDATE filters SET f = cf_delete(f, old.k); END;
        CREATE TRIGGER looked AFTER UPDATE ON t BEGIN
            SELECT count(*) FROM filters, cf_buckets(filters.f) b;
            UPDATE filters SET f = cf_add(cf_delete(f, old.k), new.k); END;""")
    before = ask(db, "SELECT f FROM filters")
    db.execute("INSERT INTO t VALUES ('x'), ('y')")
    db.execute("UPDATE t SET k = 'z' WHERE k = 'y'")
    stored = ask(db, "SELECT f FROM filters")
    assert [support.count(db, stored, k) for k in "xyz"] == [1, 0, 1]
    db.execute("DELETE FROM t")
    assert ask(db, "SELECT f FROM filters") == before


def test_a_full_filter_in_a_trigger_refuses_the_row_and_keeps_the_transaction(db):
    db.executescript("""
        CREATE TABLE t(k);
        UPDATE filters SET f = cf_new(2, NULL, 'bucket_size=2 fingerprint_bits=32 growth=off');
        CREATE TRIGGER added AFTER INSERT ON t BEGIN UPDATE filters SET f = cf_add(f, new.k); END;
        BEGIN;
        INSERT INTO t VALUES (1);""")
    with support.undone_when_it_fails(db):
        fails(db, FULL, "INSERT INTO t VALUES (2), (3), (4), (5)", function="cf_add")
    db.execute("COMMIT")
    assert db.execute("SELECT k, cf_contains(f, k) FROM t, filters").fetchall() == [(1, 1)]


# ---- equal calls, equal bytes ----

@pytest.mark.parametrize("sql", [
    "SELECT cf_new(1000, 0.001, 'seed=5')", "SELECT cf_plan(1000)", "SELECT cf_key('a', 1, 2.5, x'00')",
    "SELECT cf_build(value) FROM json_each('[1,2,3,\"x\"]')",
    "SELECT cf_add_all(cf_new(100), value) FROM json_each('[1,2,3,1,1,1,1,1]')",
    "SELECT cf_keys(value) FROM json_each('[1,2,3,\"x\",1,1]')",
    "SELECT cf_keys(value, value % 8, 'seed=-3') FROM json_each('[1,2,3,8,11]')",
    "SELECT cf_add_keys(cf_new(9), (SELECT cf_keys(value) FROM json_each('[1,2,3,1,1]')))",
    "SELECT cf_delete_keys(cf_add(cf_new(9), 1), (SELECT cf_keys(value) FROM json_each('[1,2]')))",
    "SELECT cf_delete_all((SELECT cf_build(value) FROM json_each('[1,2,3]')), value) FROM json_each('[2]')",
    "SELECT cf_build(value % 7, 0.01, 'counter_bits=3') FROM json_each('[1,2,3,8,8,8]')",
    "SELECT cf_add_all(cf_new(5, 0.01, 'value_bits=3'), value, value % 8) FROM json_each('[1,2,3,8,11]')",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 3000) "
    "SELECT cf_add_all(cf_new(5), i) FROM n",
])
def test_equal_calls_on_other_connections_give_equal_bytes(db, sql):
    other = support.connect()
    expected = ask(db, sql)
    assert ask(db, sql) == expected and ask(other, sql) == expected
    other.close()


def test_the_bytes_of_a_build_depend_on_the_set_of_keys_alone(db, rng):
    for n in (1, 2, 5, 100, 3000):
        keys = [rng.choice([i, f"k{i}", i + 0.5]) for i in range(n)]
        expected = support.build(db, keys)
        for _ in range(5):
            again = keys + rng.choices(keys, k=rng.randrange(2 * n))
            rng.shuffle(again)
            assert support.build(db, again) == expected
        assert ask(db, "SELECT cf_build(DISTINCT value) FROM json_each(?)", json.dumps(keys)) == expected
        assert support.info(db, expected)["items"] == n


def test_a_build_drops_many_repetitions(db):
    """More rows than the first room for hashes, few of them distinct, and then many."""
    built = ask(db, """WITH RECURSIVE r(x) AS (VALUES (0) UNION ALL SELECT x + 1 FROM r WHERE x < 20000)
                       SELECT cf_build(x * x % 97) FROM r""")
    assert built == support.build(db, {x * x % 97 for x in range(97)})
    built = ask(db, """WITH RECURSIVE r(x) AS (VALUES (0) UNION ALL SELECT x + 1 FROM r WHERE x < 20000)
                       SELECT cf_build(max(0, x - 10000)) FROM r""")
    assert built == support.build(db, range(10001))


def test_the_seed_changes_the_contents_and_nothing_else(db):
    blobs = [support.build(db, range(100), None, f"seed={seed}") for seed in (0, 1, -1)]
    assert len(set(blobs)) == 3
    assert len({len(blob) for blob in blobs}) == 1
    assert all(support.contains(db, blob, k) for blob in blobs for k in range(100))
