# SPDX-License-Identifier: MIT
"""content='table(column)': the filter is made of a column and follows it, in every kind of table."""
import itertools
import sqlite3

import pytest

import inside
import support
from promises import CONFLICTS, FRAMES, Follower, attempt, frame
from seen import ERROR, check, create, has, items, lost, refused, schema_of
from support import ask

BIG = "capacity=100, fingerprint_bits=32"
NEEDS_STRICT = pytest.mark.skipif(sqlite3.sqlite_version_info < (3, 37), reason="no STRICT tables")


@pytest.fixture
def users(db):
    db.execute("CREATE TABLE users(id INTEGER PRIMARY KEY, email, x)")
    db.executemany("INSERT INTO users VALUES (?, ?, 0)", [(i, f"u{i}") for i in range(50)] + [(99, None)])
    return db


@pytest.fixture
def seen(users):
    create(users, BIG + ", content='users(email)'")
    return users


# ---- creating ----

def test_it_begins_with_the_content(seen):
    assert lost(seen, [f"u{i}" for i in range(50)]) == [] and items(seen) == 50
    check(seen)


def test_more_content_than_capacity_grows(users):
    users.execute("WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 3000) "
                  "INSERT INTO users(email) SELECT 'n' || i FROM n")
    create(users, "capacity=10, content='users(email)'")
    assert lost(users, [f"n{i}" for i in range(1, 3001)]) == [] and items(users) == 3050
    check(users)


def test_too_much_content_without_growth_leaves_nothing_behind(users):
    before = schema_of(users)
    with pytest.raises(sqlite3.OperationalError, match="full"):
        create(users, "capacity=10, growth=off, content='users(email)'")
    assert schema_of(users) == before


@pytest.mark.parametrize("within", [False, True])
@pytest.mark.parametrize("content", ["none(email)", "users(nocolumn)", "v(email)", "seen(key)", "sqlite_master(name)",
                                     "users", "users()", "(email)", "users(email", "", "users(email) x"])
def test_content_that_is_not_there_leaves_nothing_behind(users, content, within):
    users.execute("CREATE VIEW v AS SELECT email FROM users")
    if within:
        users.execute("BEGIN")
    before = schema_of(users)
    message = refused(users, ERROR, f"CREATE VIRTUAL TABLE seen USING cuckoo_filter(content='{content}')")
    assert message.startswith("cuckoo_filter: ")
    assert schema_of(users) == before and users.in_transaction == within
    users.execute("INSERT INTO users(email) VALUES ('still works')")


@pytest.mark.parametrize("argument", ["content = 'users(email)'", "content=users(email)", 'content="users(email)"',
                                      "content='users (email)'", "content=' users( email ) '",
                                      "content='\"users\"(\"email\")'"])
def test_ways_to_write_it(users, argument):
    """Accepted with what they say, or refused: never a filter of something else."""
    try:
        create(users, argument)
    except sqlite3.OperationalError as error:
        assert "content" in str(error), str(error)
    else:
        assert has(users, "u1")


# ---- keeping in step ----

def test_replace_without_recursive_triggers_loses_no_key(seen):
    """SQLite tells nobody of the rows that go: stale keys stay until rebuild."""
    for i in range(20):
        seen.execute(f"REPLACE INTO users VALUES (1, 'r{i}', 0), (2, 'u2', 0)")
        assert has(seen, f"r{i}") and lost(seen, [f"u{i}" for i in range(2, 50)]) == []
    assert items(seen) > 50
    seen.execute("INSERT INTO seen(seen) VALUES ('rebuild')")
    assert items(seen) == 50


@pytest.mark.parametrize("how, growth", [("INSERT OR REPLACE INTO t VALUES (?, ?)", 12),
                                         ("INSERT INTO t VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET k = excluded.k", 1)])
def test_replace_as_upsert(db, how, growth):
    """Five rounds of new values: the filter keeps all of them, or none."""
    db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, k TEXT UNIQUE)")
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(content='t(k)')")
    sizes = []
    for step in range(6):
        db.executemany(how, [(i, f"{step} {i}") for i in range(10_000)])
        db.commit()
        sizes.append(ask(db, "SELECT json_extract(cf_table_rebuild('f'), '$.bytes')") if step == 0
                     else ask(db, "SELECT json_extract(cf_table_info('f'), '$.bytes')"))
    assert round(sizes[-1] / sizes[0]) == growth
    assert all(ask(db, "SELECT cf_table_contains('f', ?)", f"5 {i}") for i in range(0, 10_000, 70))
    assert (ask(db, "SELECT json_extract(cf_table_info('f'), '$.items')") == 10_000) == (growth == 1)


def test_counts_and_rowids_that_programs_read(seen):
    assert seen.execute("INSERT INTO users(id, email) VALUES (1234, 'r')").lastrowid == 1234
    assert has(seen, "r") and ask(seen, "SELECT cf_table_contains('seen', 'r')"), "questions leave both alone"
    assert ask(seen, "SELECT last_insert_rowid()") == 1234 and ask(seen, "SELECT changes()") == 1
    seen.execute("BEGIN")
    seen.execute("INSERT INTO users(id, email) VALUES (2000, 'm'), (2001, 'o')")
    seen.execute("DELETE FROM users WHERE id IN (1, 2)")
    assert ask(seen, "SELECT changes()") == 2
    seen.execute("INSERT INTO users(email) WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) SELECT 'n' || i FROM n")
    seen.execute("COMMIT")
    assert ask(seen, "SELECT last_insert_rowid() = max(id) FROM users"), "also when the log was drained by this COMMIT"
    check(seen)


def test_the_rowid_by_another_name(db):
    db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY)")
    db.execute("INSERT INTO t VALUES (1)")
    create(db, "content='t(id)'")
    db.execute("UPDATE t SET rowid = 10")
    assert has(db, 10)


def test_no_other_column_is_there(seen):
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        seen.execute("SELECT rowid FROM seen WHERE key = 'u1'")


@pytest.mark.parametrize("rest", ["rowid", "rowid INTEGER", "rowid INTEGER, PRIMARY KEY (rowid, k)", "rowid, _rowid_",
                                  "rowid INTEGER PRIMARY KEY", "rowid INTEGER PRIMARY KEY DESC"])
def test_a_column_named_rowid(db, rest):
    """It is not the rowid, unless it is an INTEGER PRIMARY KEY; the rows of the log are told apart by the rowid."""
    db.execute(f"CREATE TABLE u(k, {rest})")
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(capacity=100, content='u(k)')")
    number = itertools.repeat(None) if "DESC" in rest else iter(range(1000)) if "KEY" in rest else itertools.repeat(1)
    db.execute("BEGIN")
    for i in range(50):
        db.execute("INSERT INTO u(k, rowid) VALUES (?, ?)", (f"old{i}", next(number)))
        db.execute("INSERT INTO u(k, rowid) VALUES (?, ?)", (f"gone{i}", next(number)))
        db.execute("UPDATE u SET k = ? WHERE k = ?", (f"new{i}", f"old{i}"))
        db.execute("DELETE FROM u WHERE k = ?", (f"gone{i - 1}",))
    db.execute("COMMIT")
    assert db.execute("SELECT k FROM u WHERE NOT cf_table_contains('f', k)").fetchall() == []
    assert ask(db, "SELECT cf_table_check('f')") == "ok"


# ---- every kind of table ----

# tests/sim has other types, collations and keys.
TABLES = {
    "autoincrement": "CREATE TABLE u(k INTEGER PRIMARY KEY AUTOINCREMENT, x DEFAULT 0)",
    "descending primary key": "CREATE TABLE u(k INTEGER PRIMARY KEY DESC, x DEFAULT 0)",
    "two columns, without rowid": "CREATE TABLE u(k, x DEFAULT 0, PRIMARY KEY (x, k)) WITHOUT ROWID",
    "unique on conflict replace": "CREATE TABLE u(k UNIQUE ON CONFLICT REPLACE, x DEFAULT 0)",
    "unique on conflict ignore": "CREATE TABLE u(k UNIQUE ON CONFLICT IGNORE, x DEFAULT 0)",
    "unique on conflict fail": "CREATE TABLE u(k UNIQUE ON CONFLICT FAIL, x DEFAULT 0)",
    "not null on conflict replace": "CREATE TABLE u(k NOT NULL ON CONFLICT REPLACE DEFAULT 77, x DEFAULT 0)",
    "check": "CREATE TABLE u(k CHECK (k <> 13), x DEFAULT 0 CHECK (x < 9))",
    "check that asks the filter": "CREATE TABLE u(k UNIQUE, x DEFAULT 0 CHECK (x < 9 OR k > 0))",
    "default": "CREATE TABLE u(k DEFAULT (abs(random() % 1000)), x DEFAULT 0)",
    "strict": "CREATE TABLE u(k ANY UNIQUE, x ANY DEFAULT 0) STRICT",
    "strict text": "CREATE TABLE u(k TEXT UNIQUE, x ANY DEFAULT 0) STRICT",
    "strict, without rowid": "CREATE TABLE u(k INT PRIMARY KEY, x ANY DEFAULT 0) STRICT, WITHOUT ROWID",
}


WRITES = ["INSERT {c} INTO u(k) VALUES (1), (2), (3)", "INSERT {c} INTO u(k) VALUES (4), (2), (5)",
          "INSERT {c} INTO u(k) VALUES ('6'), (7.0), ('Ab'), ('aB'), ('a '), (x'61'), ('')",
          "INSERT {c} INTO u(k) VALUES (NULL), (13), (14)", "UPDATE {c} u SET k = k + 1 WHERE k > 0",
          "INSERT {c} INTO u DEFAULT VALUES", "UPDATE {c} u SET k = 7 WHERE k < 5", "UPDATE {c} u SET x = x + 5",
          "UPDATE {c} u SET k = upper(k) WHERE typeof(k) = 'text'", "DELETE FROM u WHERE k = 7",
          "INSERT {c} INTO u(k) VALUES (9223372036854775807), (-9223372036854775808), (9007199254740993)",
          "INSERT {c} INTO u(k) VALUES (0.0), (-0.0), (1e300), (1.5)", "DELETE FROM u WHERE rowid % 2",
          "REPLACE INTO u(k) VALUES (3), ('Ab')", "DELETE FROM u"]


@pytest.mark.parametrize("conflict", CONFLICTS)
@pytest.mark.parametrize("kind",
                         [pytest.param(kind, marks=NEEDS_STRICT if "strict" in kind else ()) for kind in TABLES])
def test_every_kind_of_content_table(kind, conflict):
    for within in FRAMES:
        db = support.connect()
        db.execute("PRAGMA recursive_triggers = on")
        db.execute(TABLES[kind])
        db.execute("CREATE TABLE other(x)")
        follower = Follower(db).create()
        with frame(db, within):
            for sql in WRITES:
                error = attempt(db, sql.format(c=conflict))
                assert error is None or not str(error).startswith(("f:", "cuckoo")), error
                assert follower.answers()
        follower.exact()
        db.close()


@pytest.mark.parametrize("conflict", CONFLICTS)
@pytest.mark.parametrize("stored", ["VIRTUAL", "STORED"])
def test_generated_columns(db, stored, conflict):
    db.execute("PRAGMA recursive_triggers = on")
    db.execute(f"CREATE TABLE u(i INTEGER PRIMARY KEY, a, b, k AS (lower(a) || coalesce(b, '')) {stored} UNIQUE)")
    follower = Follower(db).create()
    for sql in ("INSERT {c} INTO u(a, b) VALUES ('A', 1), ('B', 2), ('a', 1), ('C', NULL)",
                "INSERT {c} INTO u(a, b) VALUES ('D', 3), (NULL, 2), ('E', NULL)", "UPDATE {c} u SET b = 7",
                "UPDATE {c} u SET a = 'B' WHERE i < 3", "UPDATE {c} u SET a = upper(a)",
                "INSERT {c} INTO u(i, a) VALUES (1, 'up'), (9, 'new') ON CONFLICT(i) DO UPDATE SET a = excluded.a",
                "DELETE FROM u WHERE b = 7"):
        attempt(db, sql.format(c=conflict))
        assert follower.answers()
    follower.exact()


# ---- rebuild, rename, drop ----

def test_rebuild_reads_the_content_again(seen):
    inside.drop_own_triggers(seen, "seen")
    seen.execute("INSERT INTO users(email) VALUES ('unheard')")
    seen.execute("DELETE FROM users WHERE email = 'u1'")
    refused(seen, ERROR, "SELECT count(*) FROM seen", says="rebuild")
    seen.execute("INSERT INTO seen(seen) VALUES ('rebuild')")
    assert has(seen, "unheard") and not has(seen, "u1") and items(seen) == 50
    check(seen)


@pytest.mark.parametrize("sql", [
    "INSERT INTO seen(key) VALUES ('stray')", "INSERT OR IGNORE INTO seen(key) VALUES ('x')",
    "REPLACE INTO seen(key) VALUES ('x')",
    "DELETE FROM seen WHERE key = 'u1'", "UPDATE seen SET key = 1 WHERE key = 'u1'",
    "INSERT INTO seen(seen) VALUES ('clear')", "INSERT INTO seen(seen, key) VALUES ('import', x'00')"])
def test_only_its_table_changes_it(seen, sql):
    """Neither a statement nor a trigger of others."""
    message = refused(seen, ERROR, sql, says="it stays in sync with users(email)")
    assert message.startswith("seen: ")
    seen.executescript(f"CREATE TABLE other(x); CREATE TRIGGER t AFTER INSERT ON other BEGIN {sql}; END")
    attempt(seen, "INSERT OR IGNORE INTO other VALUES (1)")
    assert items(seen) == 50 and has(seen, "u1")
    check(seen)


def test_rebuild_without_the_content_changes_nothing(seen):
    seen.execute("DROP TABLE users")
    message = refused(seen, ERROR, "INSERT INTO seen(seen) VALUES ('rebuild')", says="there is no table users in main")
    assert message.endswith("; if the table is gone for good, drop the filter")
    assert message.startswith("seen: ")
    seen.execute("CREATE TABLE users(id INTEGER PRIMARY KEY, email)")
    seen.execute("INSERT INTO users(email) VALUES ('u1')")
    seen.execute("INSERT INTO seen(seen) VALUES ('rebuild')")
    assert items(seen) == 1 and has(seen, "u1")


def test_dropping_the_filter_takes_all_of_it_along(users):
    before = schema_of(users)
    create(users, BIG + ", content='users(email)'")
    users.execute("INSERT INTO users(email) VALUES ('new')")
    users.execute("DROP TABLE seen")
    assert schema_of(users) == before and users.execute("SELECT name FROM sqlite_temp_master").fetchall() == []
    users.execute("INSERT INTO users(email) VALUES ('on its own')")


def test_dropping_the_content_first(seen):
    seen.execute("DROP TABLE users")
    refused(seen, ERROR, "SELECT cf_table_contains('seen', 'u1')", says="rebuild")
    seen.execute("DROP TABLE seen")
    assert schema_of(seen) == []


@pytest.mark.parametrize("schema", ["temp", "other"])
def test_in_another_schema(db, schema):
    db.execute("ATTACH ':memory:' AS other")
    db.execute("CREATE TABLE main.users(email)")
    db.execute(f"CREATE TABLE {schema}.users(email)")
    create(db, "content='users(email)'", name=f"{schema}.seen")
    db.execute(f"INSERT INTO {schema}.users VALUES ('there')")
    db.execute("INSERT INTO main.users VALUES ('main')")
    assert has(db, "there", f"{schema}.seen") and not has(db, "main", f"{schema}.seen")
    db.execute(f"INSERT INTO {schema}.seen(seen) VALUES ('rebuild')")
    assert items(db, f"{schema}.seen") == 1
