# SPDX-License-Identifier: MIT
"""content='table(column)': triggers keep the filter in step with a column."""
import sqlite3
from collections import Counter

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import support
from support import ask
from test_persistent import ERROR, check, create, has, items, lost, refused, schema_of

BIG = "capacity=100, fingerprint_bits=32"


@pytest.fixture
def users(db):
    db.execute("CREATE TABLE users(id INTEGER PRIMARY KEY, email, x)")
    db.executemany("INSERT INTO users VALUES (?, ?, 0)", [(i, f"u{i}") for i in range(50)] + [(99, None)])
    return db


@pytest.fixture
def seen(users):
    create(users, BIG + ", content='users(email)'")
    return users


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def triggers(db):
    return {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")}


# ---- creating ----

def test_it_begins_with_the_content(seen):
    assert lost(seen, [f"u{i}" for i in range(50)]) == [] and items(seen) == 50
    assert triggers(seen) == {"seen_inserted", "seen_deleted", "seen_updated", "seen_moved"}
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


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("content", ["none(email)", "users(nocolumn)", "v(email)", "seen(key)", "sqlite_master(name)",
                                     "users", "users()", "(email)", "users(email", "", "users(email) x"])
def test_content_that_is_not_there_leaves_nothing_behind(users, content, inside):
    users.execute("CREATE VIEW v AS SELECT email FROM users")
    if inside:
        users.execute("BEGIN")
    before = schema_of(users)
    message = refused(users, ERROR, f"CREATE VIRTUAL TABLE seen USING cuckoo_filter(content='{content}')")
    assert message.startswith("cuckoo_filter: ")
    assert schema_of(users) == before and users.in_transaction == inside
    users.execute("INSERT INTO users(email) VALUES ('still works')")


def test_a_trigger_of_that_name_is_an_error_that_leaves_nothing_behind(users):
    users.execute("CREATE TRIGGER seen_updated AFTER INSERT ON users BEGIN SELECT 1; END")
    before = schema_of(users)
    refused(users, ERROR, "CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=9, content='users(email)')",
            says="already exists")
    assert schema_of(users) == before


@pytest.mark.parametrize("table, column", [
    *[(table, "email") for table in ("my users", 'a"b', "it's", "select", "a.b", "a(b)", "ünï", "a,b")],
    *[("users", column) for column in ("e mail", 'c"d', "it's", "from", "c(d)", "key", "ünï", "a,b")]])
def test_odd_names(db, table, column):
    db.execute(f"CREATE TABLE {quoted(table)}({quoted(column)})")
    db.execute(f"INSERT INTO {quoted(table)} VALUES (1)")
    argument = f"{table}({column})".replace("'", "''")
    create(db, f"content='{argument}'", name='"odd ""seen"')
    db.execute(f"INSERT INTO {quoted(table)} VALUES (2)")
    db.execute(f"DELETE FROM {quoted(table)} WHERE {quoted(column)} = 1")
    db.execute(f"UPDATE {quoted(table)} SET {quoted(column)} = 3")
    assert [has(db, key, '"odd ""seen"') for key in (1, 2, 3)] == [0, 0, 1]


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

def test_insert_delete_update(seen):
    seen.execute("INSERT INTO users(email) VALUES ('new')")
    seen.execute("DELETE FROM users WHERE email = 'u1'")
    seen.execute("UPDATE users SET email = 'moved' WHERE email = 'u2'")
    seen.execute("UPDATE users SET x = 7")
    assert [has(seen, key) for key in ("new", "u1", "u2", "moved")] == [1, 0, 0, 1]
    assert items(seen) == 50
    check(seen)


def test_update_to_and_from_null(seen):
    seen.execute("UPDATE users SET email = NULL WHERE email = 'u1'")
    seen.execute("UPDATE users SET email = 'came' WHERE id = 99")
    assert not has(seen, "u1") and has(seen, "came") and items(seen) == 50


def test_update_of_the_whole_column(seen):
    seen.execute("UPDATE users SET email = email || '!'")
    assert lost(seen, [f"u{i}!" for i in range(50)]) == [] and not has(seen, "u1") and items(seen) == 50


def test_truncate(seen):
    seen.execute("DELETE FROM users")
    assert items(seen) == 0


def test_upsert(seen):
    seen.execute("INSERT INTO users(id, email) VALUES (1, 'up') ON CONFLICT(id) DO UPDATE SET email = excluded.email")
    assert has(seen, "up") and not has(seen, "u1")


def test_replace_with_recursive_triggers(seen):
    seen.execute("PRAGMA recursive_triggers = ON")
    seen.execute("REPLACE INTO users VALUES (1, 'new', 0)")
    seen.execute("UPDATE OR REPLACE users SET id = 3 WHERE id = 4")
    assert has(seen, "new") and not has(seen, "u1") and not has(seen, "u3") and has(seen, "u4") and items(seen) == 49


def test_replace_without_recursive_triggers_loses_no_key(seen):
    seen.execute("REPLACE INTO users VALUES (1, 'new', 0)")
    assert has(seen, "new") and lost(seen, [f"u{i}" for i in range(2, 50)]) == []


def test_rollback_of_the_content_takes_the_keys_with_it(seen):
    seen.execute("BEGIN")
    seen.execute("INSERT INTO users(email) VALUES ('a'), ('b')")
    seen.execute("DELETE FROM users WHERE email = 'u1'")
    seen.execute("ROLLBACK")
    assert has(seen, "u1") and not has(seen, "a") and items(seen) == 50


def test_last_insert_rowid_is_that_of_the_content(seen):
    assert seen.execute("INSERT INTO users(id, email) VALUES (1234, 'r')").lastrowid == 1234
    assert ask(seen, "SELECT last_insert_rowid()") == 1234
    assert ask(seen, "SELECT changes()") == 1


def test_the_rowid_by_another_name(db):
    db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY)")
    db.execute("INSERT INTO t VALUES (1)")
    create(db, "content='t(id)'")
    db.execute("UPDATE t SET rowid = 10")
    assert has(db, 10)


@pytest.mark.parametrize("kind", ["VIRTUAL", "STORED"])
def test_a_generated_column_changes_with_those_it_is_made_of(db, kind):
    db.execute(f"CREATE TABLE t(x, y AS (x + 1) {kind})")
    create(db, "content='t(y)'")
    db.execute("INSERT INTO t VALUES (1)")
    db.execute("UPDATE t SET x = 10")
    assert has(db, 11) and not has(db, 2)


def test_foreign_key_actions_are_followed(db):
    db.execute("PRAGMA foreign_keys = ON")
    db.execute("CREATE TABLE p(id PRIMARY KEY)")
    db.execute("CREATE TABLE c(p REFERENCES p ON UPDATE CASCADE ON DELETE CASCADE)")
    db.execute("INSERT INTO p VALUES (1), (2)")
    create(db, "content='c(p)'")
    db.execute("INSERT INTO c VALUES (1), (2)")
    db.execute("UPDATE p SET id = 10 WHERE id = 1")
    db.execute("DELETE FROM p WHERE id = 2")
    assert [has(db, key) for key in (1, 2, 10)] == [0, 0, 1]


@pytest.mark.parametrize("declared, given, stored", [
    ("INTEGER", "5", 5), ("TEXT", 5, "5"), ("REAL", 5, 5.0), ("NUMERIC", "1e2", 100), ("TEXT COLLATE NOCASE", "Ab", "Ab"),
    ("BLOB", "5", "5"), ("", 5.5, 5.5)])
def test_affinity_and_collation_of_the_column(db, declared, given, stored):
    db.execute(f"CREATE TABLE t(x {declared})")
    create(db, "fingerprint_bits=32, content='t(x)'")
    db.execute("INSERT INTO t VALUES (?)", (given,))
    assert has(db, stored) and items(db) == 1
    db.execute("UPDATE t SET x = x")
    db.execute("DELETE FROM t")
    assert items(db) == 0 and has(db, stored) == (stored == 5.5)  # a real that is not whole is perhaps in any column without a type


def test_a_change_of_case_in_a_nocase_column(db):
    db.execute("CREATE TABLE t(x TEXT COLLATE NOCASE)")
    create(db, "fingerprint_bits=32, content='t(x)'")
    db.execute("INSERT INTO t VALUES ('ab')")
    db.execute("UPDATE t SET x = 'AB'")
    assert has(db, "AB") and has(db, "ab") and items(db) == 1
    db.execute("DELETE FROM t")
    assert not has(db, "AB") and items(db) == 0


def test_a_table_without_rowid(db):
    db.execute("CREATE TABLE t(x PRIMARY KEY) WITHOUT ROWID")
    create(db, "content='t(x)'")
    db.execute("INSERT INTO t VALUES (1), (2)")
    db.execute("UPDATE t SET x = 3 WHERE x = 1")
    assert not has(db, 1) and has(db, 3) and items(db) == 2


# ---- rebuild, rename, drop ----

def test_rebuild_reads_the_content_again(seen):
    seen.execute("DROP TRIGGER seen_inserted")
    seen.execute("DROP TRIGGER seen_deleted")
    seen.execute("INSERT INTO users(email) VALUES ('unheard')")
    seen.execute("DELETE FROM users WHERE email = 'u1'")
    refused(seen, ERROR, "SELECT count(*) FROM seen", says="rebuild")
    seen.execute("INSERT INTO seen(seen) VALUES ('rebuild')")
    assert has(seen, "unheard") and not has(seen, "u1") and items(seen) == 50
    check(seen)


@pytest.mark.parametrize("sql", [
    "INSERT INTO seen(key) VALUES ('stray')", "DELETE FROM seen WHERE key = 'u1'", "UPDATE seen SET key = 1 WHERE key = 'u1'",
    "INSERT INTO seen(seen) VALUES ('clear')", "INSERT INTO seen(seen, key) VALUES ('import', x'00')"])
def test_only_its_table_changes_it(seen, sql):
    message = refused(seen, ERROR, sql, says="it follows users(email)")
    assert message.startswith("seen: ") and items(seen) == 50 and has(seen, "u1")
    check(seen)


def test_rebuild_without_the_content_changes_nothing(seen):
    seen.execute("DROP TABLE users")
    message = refused(seen, ERROR, "INSERT INTO seen(seen) VALUES ('rebuild')", says="there is no table users in main")
    assert message.endswith("; if the table has gone for good, drop the filter")
    assert message.startswith("seen: ")
    seen.execute("CREATE TABLE users(id INTEGER PRIMARY KEY, email)")
    seen.execute("INSERT INTO users(email) VALUES ('u1')")
    seen.execute("INSERT INTO seen(seen) VALUES ('rebuild')")
    assert items(seen) == 1 and has(seen, "u1")


def test_dropping_the_filter_drops_its_triggers(seen):
    seen.execute("DROP TABLE seen")
    assert triggers(seen) == set()
    seen.execute("INSERT INTO users(email) VALUES ('on its own')")
    assert [row[1] for row in schema_of(seen)] == ["users"]


def test_dropping_the_content_first(seen):
    seen.execute("DROP TABLE users")
    assert triggers(seen) == set()
    refused(seen, ERROR, "SELECT cf_table_contains('seen', 'u1')", says="rebuild")
    seen.execute("DROP TABLE seen")
    assert schema_of(seen) == []


def test_renaming_the_filter(seen):
    seen.execute('ALTER TABLE seen RENAME TO "s 2"')
    assert triggers(seen) == {"s 2_inserted", "s 2_deleted", "s 2_updated", "s 2_moved"}
    seen.execute("INSERT INTO users(email) VALUES ('after')")
    seen.execute("UPDATE users SET email = 'moved' WHERE email = 'u2'")
    seen.execute("DELETE FROM users WHERE email = 'u1'")
    assert [has(seen, key, '"s 2"') for key in ("after", "moved", "u1", "u2")] == [1, 1, 0, 0]
    seen.execute('DROP TABLE "s 2"')
    assert [row[1] for row in schema_of(seen)] == ["users"]


def test_renaming_the_content_goes_on(seen):
    seen.execute("ALTER TABLE users RENAME TO people")
    seen.execute("INSERT INTO people(email) VALUES ('after')")
    seen.execute("DELETE FROM people WHERE email = 'u1'")
    assert has(seen, "after") and not has(seen, "u1")


def test_renaming_the_column_goes_on(seen):
    seen.execute("ALTER TABLE users RENAME COLUMN email TO mail")
    seen.execute("INSERT INTO users(mail) VALUES ('after')")
    seen.execute("UPDATE users SET mail = 'moved' WHERE mail = 'u1'")
    assert has(seen, "after") and has(seen, "moved") and not has(seen, "u1")


def test_rebuild_after_renaming_the_column(seen):
    seen.execute("ALTER TABLE users RENAME COLUMN email TO mail")
    seen.execute("INSERT INTO seen(seen) VALUES ('rebuild')")
    assert lost(seen, [f"u{i}" for i in range(50)]) == []


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


# ---- any history ----

VALUES = st.none() | st.integers(0, 12) | st.sampled_from(["a", "A", "1", 1.5, b"x"])


class Content(RuleBasedStateMachine):
    """Whatever happens to the column, the filter is the multiset of its values."""

    @initialize(unique=st.booleans(), rowid=st.booleans())
    def start(self, unique, rowid):
        self.db = support.connect()
        self.db.execute("PRAGMA recursive_triggers = ON")
        self.db.execute(f"CREATE TABLE t(id {'INTEGER' if rowid else 'INT'} PRIMARY KEY, v {'UNIQUE' if unique else ''}, x) "
                        f"{'' if rowid else 'WITHOUT ROWID'}")
        create(self.db, f"capacity=5, fingerprint_bits=32, {'' if unique else 'counter_bits=8,'} content='t(v)'")
        self.depth = 0

    def teardown(self):
        if hasattr(self, "db"):
            self.db.close()

    def try_to(self, sql, *parameters):
        try:
            self.db.execute(sql, parameters)
        except sqlite3.IntegrityError as error:
            assert "UNIQUE" in str(error)
        if not self.db.in_transaction:
            self.depth = 0

    CONFLICT = st.sampled_from(["", "OR REPLACE", "OR IGNORE", "OR FAIL", "OR ABORT", "OR ROLLBACK"])

    @rule(rows=st.lists(st.tuples(st.integers(0, 30), VALUES), min_size=1, max_size=6), conflict=CONFLICT)
    def insert(self, rows, conflict):
        flat = [value for row in rows for value in row]
        self.try_to(f"INSERT {conflict} INTO t(id, v) VALUES {', '.join('(?, ?)' for _ in rows)}", *flat)

    @rule(value=VALUES, other=VALUES, low=st.integers(0, 30), conflict=CONFLICT, many=st.booleans())
    def update(self, value, other, low, conflict, many):
        self.try_to(f"UPDATE {conflict} t SET v = ? WHERE {'id >= ?2' if many else 'id = ?2'}", value, low)
        self.try_to(f"UPDATE {conflict} t SET v = v WHERE id < ?", low)

    @rule(low=st.integers(0, 30), conflict=CONFLICT)
    def update_others(self, low, conflict):
        self.try_to(f"UPDATE {conflict} t SET x = id, id = id + 1 WHERE id = ?", low)

    @rule(id=st.integers(0, 30), value=VALUES)
    def upsert(self, id, value):
        self.try_to("INSERT INTO t(id, v) VALUES (?, ?) ON CONFLICT(id) DO UPDATE SET v = excluded.v", id, value)

    @rule(low=st.integers(0, 30), high=st.integers(0, 30))
    def delete(self, low, high):
        self.try_to("DELETE FROM t WHERE id BETWEEN ? AND ?", low, high)

    @rule()
    def rebuild(self):
        self.db.execute("INSERT INTO seen(seen) VALUES ('rebuild')")

    @rule()
    def savepoint(self):
        self.depth += 1
        self.db.execute(f"SAVEPOINT s{self.depth}")

    @rule(release=st.booleans(), data=st.data())
    def end(self, release, data):
        if self.depth:
            level = data.draw(st.integers(1, self.depth))
            self.db.execute(f"{'RELEASE' if release else 'ROLLBACK TO'} s{level}")
            self.depth = level - 1 if release else level

    @invariant()
    def is_the_multiset_of_the_column(self):
        if not hasattr(self, "db"):
            return
        model = Counter(value for (value,) in self.db.execute("SELECT v FROM t WHERE v IS NOT NULL"))
        assert items(self.db) == model.total()
        assert [key for key in model if not has(self.db, key)] == []
        if self.db.in_transaction:
            return  # keys that were deleted may be found until it ends
        for key in [*range(13), "a", "A", "1", 1.5, b"x"]:
            same = {1, "1"} if key in (1, "1") else {key}  # a number column on the other side would find both
            assert has(self.db, key) == (bool(same & set(model)) or key == 1.5), key  # the column has no type: key.h, TEXT
        check(self.db)


TestContent = Content.TestCase
