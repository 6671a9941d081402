"""No stored row is missed in silence: full filters under conflict clauses, the user's own triggers, cascades, SQL run by functions,
every kind of content table, statements that fail in the middle.

Migrations are in test_migrations.py, the faults of a first design of the log in test_pending_log.py.
"""
import functools
import itertools
import sqlite3

import pytest

import support
from address import Shape, key_hash
from promises import CONFLICTS, EXACT, FRAMES, STATEMENTS, Follower, attempt, exercise, frame, people
from support import ask

NEEDS_STRICT = pytest.mark.skipif(sqlite3.sqlite_version_info < (3, 37), reason="no STRICT tables")
NEEDS_RETURNING = pytest.mark.skipif(sqlite3.sqlite_version_info < (3, 35), reason="no RETURNING")
NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) "


# ---- a full filter: "full" is never swallowed ----

# Each of them puts 1000 keys into a column whose filter has room for 100.
FILLING = {
    "insert": NUMBERS + "INSERT {c} INTO u(id, k) SELECT i, i FROM n",
    "update": "UPDATE {c} u SET k = id WHERE k IS NULL",
    "upsert": NUMBERS + "INSERT {c} INTO u(id, k) SELECT i, i FROM n WHERE true ON CONFLICT(id) DO UPDATE SET k = excluded.k",
    "replace": NUMBERS + "REPLACE INTO u(id, k) SELECT i, i FROM n",
}


@pytest.mark.parametrize("inside", FRAMES)
@pytest.mark.parametrize("verb", FILLING)
@pytest.mark.parametrize("conflict", CONFLICTS)
@pytest.mark.parametrize("growth", ["off", "on"])
def test_full_is_an_error_whatever_the_conflict_clause(db, growth, conflict, verb, inside):
    db.execute("CREATE TABLE u(id INTEGER PRIMARY KEY, k)")
    db.execute("CREATE TABLE other(x)")
    if verb != "insert":
        db.execute(NUMBERS + "INSERT INTO u(id) SELECT i FROM n")
    follower = Follower(db).create(f"capacity=100, growth={growth}")
    with frame(db, inside):
        error = attempt(db, FILLING[verb].format(c=conflict), follower)
        assert db.in_transaction == (inside != "autocommit")
    if growth == "on":
        assert error is None and follower.rows() == 1000
    else:
        assert error is not None and "full" in str(error) and error.sqlite_errorname == "SQLITE_ERROR", repr(error)
        assert follower.rows() <= 100
        if verb != "update" or sqlite3.sqlite_version_info >= (3, 39, 3):  # older ones keep the rows before
            assert follower.rows() == 0
    follower.exact()


@pytest.mark.parametrize("conflict", CONFLICTS)
def test_rows_one_by_one_until_full(db, conflict):
    db.execute("CREATE TABLE u(k INTEGER PRIMARY KEY)")
    follower = Follower(db).create("capacity=100, growth=off")
    errors = [attempt(db, f"INSERT {conflict} INTO u VALUES ({key})") for key in range(200)]
    stored = {key for (key,) in db.execute("SELECT k FROM u")}
    assert stored == {key for key, error in enumerate(errors) if error is None}
    assert len(stored) >= 100 and any(errors)
    follower.exact()


@pytest.mark.parametrize("conflict", CONFLICTS)
def test_a_full_filter_follows_moves(db, conflict):
    """An update needs no room, and neither does an insert after a delete."""
    db.execute("CREATE TABLE u(k INTEGER PRIMARY KEY)")
    db.execute("CREATE TABLE other(x)")
    follower = Follower(db).create("capacity=100, growth=off")
    db.execute(NUMBERS + "INSERT INTO u SELECT i FROM n LIMIT 100")
    for inside, key in itertools.product(FRAMES, range(20)):
        with frame(db, inside):
            at = ask(db, "SELECT min(k) FROM u")
            db.execute(f"UPDATE {conflict} u SET k = k + 1000 WHERE k = ?", (at,))
            db.execute("DELETE FROM u WHERE k = ?", (at + 1,))
            db.execute(f"INSERT {conflict} INTO u VALUES (?)", (at + 1001,))
            assert follower.answers()
    assert follower.rows() == 100
    follower.exact()


@functools.lru_cache
def clumped(capacity, options, n, agree=2):
    """Keys with the same base bucket, pair bits and first remainder bits, under seed 0."""
    with support.connect() as db:
        shape = Shape(support.new(db, capacity, None, options))
    wanted, found = None, []
    for i in itertools.count():
        key = i.to_bytes(32, "little")
        base, bits, _ = shape.base_side(key_hash(key))
        place = base, bits & ((1 << shape.s + agree) - 1)
        wanted = wanted or place
        if place == wanted:
            found.append(key)
            if len(found) == n:
                return found


@pytest.mark.parametrize("conflict", CONFLICTS)
def test_keys_that_are_aimed_at_one_pair(db, conflict):
    """Splitting buckets makes little room for them. They are kept all the same."""
    keys = clumped(8, "seed=0 fingerprint_bits=24 growth=on", 40)
    db.execute("CREATE TABLE u(k PRIMARY KEY)")
    follower = Follower(db).create("capacity=8, seed=0, fingerprint_bits=24, growth=on")
    for key in keys:
        db.execute(f"INSERT {conflict} INTO u VALUES (?)", (key,))
    assert follower.rows() == len(keys)
    follower.exact()


# ---- the user's own triggers ----

# Of an INSERT or UPDATE trigger; row is new or old. 'b...' and 'bad...' are the keys that trigger does not like.
BODIES = {
    "changes its row": "UPDATE u SET k = lower({row}.k) WHERE id = {row}.id AND k <> lower(k)",
    "changes it with a clause": "UPDATE OR REPLACE u SET k = lower({row}.k) WHERE id = {row}.id AND k <> lower(k)",
    "deletes its row": "DELETE FROM u WHERE id = {row}.id AND k LIKE 'b%'",
    "inserts it again": "DELETE FROM u WHERE id = {row}.id AND id < 100; "
                        "INSERT INTO u(id, k) SELECT {row}.id + 100, {row}.k WHERE {row}.id < 100",
    "another row": "INSERT INTO u(id, k) SELECT {row}.id + 100, {row}.k || 'n' WHERE {row}.id < 100",
    "RAISE(IGNORE)": "SELECT RAISE(IGNORE) WHERE {row}.k LIKE 'b%'",
    "RAISE(FAIL)": "SELECT RAISE(FAIL, 'no') WHERE {row}.k LIKE 'b%'",
    "RAISE(ABORT)": "SELECT RAISE(ABORT, 'no') WHERE {row}.k LIKE 'b%'",
    "RAISE(ROLLBACK)": "SELECT RAISE(ROLLBACK, 'no') WHERE {row}.k LIKE 'b%'",
    "a constraint": "INSERT INTO narrow SELECT 1 WHERE {row}.k LIKE 'b%'",
    "a constraint, failing": "INSERT OR FAIL INTO narrow SELECT 1 WHERE {row}.k LIKE 'b%'",
}


def user_trigger(db, timing, event, body, temp=""):
    row = "old" if event == "DELETE" else "new"
    db.execute(f"CREATE {temp} TRIGGER users {timing} {event} ON main.u BEGIN {BODIES[body].format(row=row)}; END")


def with_trigger(make, recursive, conflict, inside, after):
    """One history with a trigger that `make` creates before or after the filter."""
    db = support.connect()
    db.execute(f"PRAGMA recursive_triggers = {recursive}")
    db.setlimit(sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 20)
    db.execute("CREATE TABLE narrow(x UNIQUE)")
    db.execute("INSERT INTO narrow VALUES (1)")
    if after:
        follower = people(db)
        make(db)
    else:
        db.execute("CREATE TABLE u(id INTEGER PRIMARY KEY, k UNIQUE, x DEFAULT 0)")
        db.execute("CREATE TABLE other(x)")
        db.execute("INSERT INTO u(id, k) VALUES (1, 'A1'), (2, 'b2'), (3, 'C3'), (4, NULL), (5, 'e5')")
        make(db)
        follower = Follower(db).create()
    with frame(db, inside):
        exercise(db, conflict, follower)
    return db, follower


@pytest.mark.parametrize("recursive", ["on", "off"])
@pytest.mark.parametrize("event", ["INSERT", "UPDATE", "DELETE"])
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("timing", ["AFTER", "BEFORE"])
@pytest.mark.parametrize("age", ["newer", "older"])
def test_a_trigger_of_the_user(age, timing, body, event, recursive):
    """The filter may refuse when the trigger is newer; after rebuild its own triggers are the newest, and it follows."""
    stale = recursive == "off"
    for conflict, inside in zip(CONFLICTS, list(FRAMES) * 2):
        db, follower = with_trigger(lambda db: user_trigger(db, timing, event, body), recursive, conflict, inside,
                                    age == "newer")
        if age == "older":
            assert follower.answers(), "refused though the trigger is older"
        follower.settled(stale)
        follower.rebuild()
        exercise(db, conflict, follower)
        if db.in_transaction:
            db.execute("COMMIT")
        follower.exact(stale)
        db.close()


@pytest.mark.parametrize("age", ["newer", "older"])
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("timing", ["AFTER", "BEFORE"])
def test_a_temporary_trigger_of_the_user(timing, body, age):
    """It fires before those of the filter whatever its age."""
    for conflict, event in itertools.product(CONFLICTS, ["INSERT", "UPDATE"]):
        db, follower = with_trigger(lambda db: user_trigger(db, timing, event, body, "TEMP"), "on", conflict, "autocommit",
                                    age == "newer")
        db.execute("DROP TRIGGER temp.users")
        follower.rebuild()
        exercise(db, conflict, follower)
        follower.exact()
        db.close()


@pytest.mark.parametrize("statement", ["SAVEPOINT a", "VACUUM", "reopen", "ALTER TABLE u RENAME TO v",
                                       "ALTER TABLE u RENAME COLUMN x TO y", "ALTER TABLE u ADD COLUMN z"])
def test_the_order_of_triggers_is_the_newest_first(tmp_path, statement):
    """Not documented; everything about triggers depends on it."""
    db = sqlite3.connect(tmp_path / "order.db", isolation_level=None)
    db.execute("CREATE TABLE u(x)")
    db.execute("CREATE TABLE log(n)")
    for name in ("m", "z", "a"):  # neither the order of names nor of creation
        db.execute(f"CREATE TRIGGER {name} AFTER INSERT ON u BEGIN INSERT INTO log VALUES ('{name}'); END")
    if statement == "reopen":
        db.close()
        db = sqlite3.connect(tmp_path / "order.db", isolation_level=None)
    else:
        db.execute(statement)
    db.execute("CREATE TEMP TRIGGER t AFTER INSERT ON {} BEGIN INSERT INTO log VALUES ('t'); END".format(
        "v" if " v" in statement else "u"))
    db.execute("INSERT INTO {} DEFAULT VALUES".format("v" if " v" in statement else "u"))
    assert [name for (name,) in db.execute("SELECT n FROM log ORDER BY rowid")] == ["t", "a", "z", "m"]
    db.close()


def test_an_insert_trigger_that_folds_case(db):
    """One of the first attacks, in its own size."""
    db.execute("CREATE TABLE u(id INTEGER PRIMARY KEY, k TEXT UNIQUE)")
    follower = Follower(db).create("capacity=10000")
    db.execute("CREATE TRIGGER norm AFTER INSERT ON u BEGIN UPDATE u SET k = lower(new.k) WHERE id = new.id; END")
    for _ in range(2):
        error = attempt(db, NUMBERS + "INSERT INTO u(k) SELECT 'USER' || (i + (SELECT count(*) FROM u)) FROM n", follower)
        if error or not follower.answers():
            follower.rebuild()
    assert follower.rows() >= 1000
    follower.exact()


def test_a_view_with_triggers_that_write_the_content(db):
    follower = people(db)
    db.execute("CREATE VIEW v AS SELECT id, k FROM u")
    db.execute("CREATE TRIGGER vi INSTEAD OF INSERT ON v BEGIN INSERT OR IGNORE INTO u(k) VALUES (new.k); END")
    db.execute("CREATE TRIGGER vu INSTEAD OF UPDATE ON v BEGIN UPDATE OR REPLACE u SET k = new.k WHERE id = old.id; END")
    db.execute("CREATE TRIGGER vd INSTEAD OF DELETE ON v BEGIN DELETE FROM u WHERE id = old.id; END")
    db.execute("PRAGMA recursive_triggers = on")
    for conflict in CONFLICTS:
        attempt(db, f"INSERT {conflict} INTO v(k) VALUES ('v1'), ('b2'), ('v{conflict}')", follower)
        attempt(db, f"UPDATE {conflict} v SET k = 'v1' WHERE id IN (1, 2)", follower)
        attempt(db, "DELETE FROM v WHERE id = 3", follower)
        assert follower.answers()
    follower.exact()


# ---- one of the filter's own triggers is not there, or not what it was ----

def own_triggers(db):
    return db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'u'").fetchall()


@pytest.mark.parametrize("which", range(3))
@pytest.mark.parametrize("instead", ["nothing", "another", "with one statement more", "on another table"])
def test_a_trigger_of_the_filter_is_gone_or_changed(db, which, instead):
    follower = people(db)
    name, sql = own_triggers(db)[which]
    db.execute(f"DROP TRIGGER {name}")
    if instead == "another":
        db.execute(f"CREATE TRIGGER {name} AFTER INSERT ON u BEGIN SELECT 1; END")
    elif instead == "with one statement more":
        db.execute(sql.replace("BEGIN", "BEGIN SELECT 1;", 1))
    elif instead == "on another table":
        db.execute(f"CREATE TRIGGER {name} AFTER INSERT ON other BEGIN SELECT 1; END")
    assert not follower.answers()
    for use in ("SELECT count(*) FROM f", "SELECT cf_table_contains('f', 'A1')", "SELECT * FROM f WHERE key = 'A1'"):
        with pytest.raises(sqlite3.OperationalError, match="rebuild"):
            db.execute(use).fetchall()
    exercise(db, "", follower)
    follower.rebuild()
    follower.exact()
    exercise(db, "", follower)
    follower.exact()


def test_all_triggers_gone_and_back(db):
    """The same text, after rows that nobody has told the filter of."""
    follower = people(db)
    kept = own_triggers(db)
    for name, _ in kept:
        db.execute(f"DROP TRIGGER {name}")
    db.execute("INSERT INTO u(k) VALUES ('unseen')")
    for _, sql in kept:
        db.execute(sql)
    follower.answers()
    follower.rebuild()
    follower.exact()


# ---- foreign keys ----

@pytest.mark.parametrize("recursive", ["on", "off"])
@pytest.mark.parametrize("action", ["CASCADE", "SET NULL", "SET DEFAULT", "RESTRICT", "NO ACTION"])
def test_foreign_key_actions(action, recursive):
    for conflict, inside in zip(CONFLICTS * 2, list(FRAMES) * 3):
        db = support.connect()
        db.execute("PRAGMA foreign_keys = on")
        db.execute(f"PRAGMA recursive_triggers = {recursive}")
        db.execute("CREATE TABLE other(x)")
        db.execute("CREATE TABLE p(id PRIMARY KEY, n UNIQUE)")
        db.execute("INSERT INTO p VALUES (0, 0), (1, 1), (2, 2), (3, 3), (4, 4)")
        db.execute(f"CREATE TABLE u(i INTEGER PRIMARY KEY, k DEFAULT 0 REFERENCES p ON UPDATE {action} ON DELETE {action} "
                   f"{'DEFERRABLE INITIALLY DEFERRED' if action == 'NO ACTION' else ''})")
        child, parent = Follower(db).create(), Follower(db, "p", "id", "g").create()
        with frame(db, inside):
            for sql in ("INSERT {c} INTO u(k) VALUES (1), (2), (2), (3), (0)", "INSERT {c} INTO u(k) VALUES (4), (99), (4)",
                        "UPDATE {c} p SET id = 10 WHERE id = 1", "DELETE FROM p WHERE id = 2",
                        "REPLACE INTO p VALUES (3, 30)", "REPLACE INTO p VALUES (33, 30)", "UPDATE {c} p SET id = id + 100",
                        "DELETE FROM p WHERE id IN (4, 104)", "UPDATE {c} u SET k = 0"):
                attempt(db, sql.format(c=conflict), child, parent)
                assert child.answers() and parent.answers()
            if db.in_transaction and action == "NO ACTION":
                error = attempt(db, "COMMIT", child, parent)
                if error:
                    db.execute("ROLLBACK")
        for follower in (child, parent):
            follower.exact(stale=recursive == "off")
        db.close()


def test_a_tree_that_goes_with_its_root(db):
    db.execute("PRAGMA foreign_keys = on")
    db.execute("CREATE TABLE u(k INTEGER PRIMARY KEY, up REFERENCES u ON DELETE CASCADE ON UPDATE CASCADE)")
    follower, above = Follower(db).create(), Follower(db, "u", "up", "g").create()
    db.execute("INSERT INTO u VALUES (1, NULL), (2, 1), (3, 1), (4, 2), (5, 4)")
    db.execute("UPDATE u SET k = 20 WHERE k = 2")
    for one in (follower, above):
        one.exact()
    db.execute("DELETE FROM u WHERE k = 20")
    assert follower.rows() == 2
    for one in (follower, above):
        one.exact()


# ---- SQL that a function runs while a statement is running ----

NESTED = ["INSERT INTO u(k) VALUES ('n' || (SELECT count(*) FROM u))", "DELETE FROM u WHERE id = 1",
          "UPDATE u SET k = k || 'n' WHERE id IN (1, 2)", "REPLACE INTO u(id, k) VALUES (1, 'n1'), (9, 'b2')",
          "UPDATE OR IGNORE u SET k = 'A1' WHERE id = 2", "INSERT OR IGNORE INTO u(k) VALUES ('b2'), ('n2')",
          "SELECT count(*) FROM u WHERE NOT cf_table_contains('f', k)", "INSERT INTO other VALUES (1)"]


def connection_with_run():
    """run(sql) works at one level, and a bounded number of times: a scan that inserts would go on for ever."""
    db = support.connect()
    db.execute("PRAGMA recursive_triggers = on")
    depth, calls = [], itertools.count()

    def run(sql):
        if depth or next(calls) > 60:
            return None
        depth.append(1)
        try:
            db.execute(sql).fetchall()
        except sqlite3.Error:
            pass
        finally:
            depth.pop()

    db.create_function("run", 1, run)
    return db


@pytest.mark.parametrize("age", ["newer", "older"])
@pytest.mark.parametrize("timing", ["AFTER", "BEFORE"])
@pytest.mark.parametrize("event", ["INSERT", "UPDATE", "DELETE"])
def test_sql_run_by_a_function_in_a_trigger(event, timing, age):
    for (i, nested), conflict in itertools.product(enumerate(NESTED), CONFLICTS):
        db = connection_with_run()
        trigger = f"CREATE TRIGGER users {timing} {event} ON u BEGIN SELECT run('{nested.replace(chr(39), chr(39) * 2)}'); END"
        if age == "newer":
            follower = people(db)
            db.execute(trigger)
        else:
            follower = people(db)
            db.execute("DROP TABLE f")
            db.execute(trigger)
            follower.create()
        with frame(db, list(FRAMES)[i % 4]):
            exercise(db, conflict, follower)
        follower.settled()
        db.close()


@pytest.mark.parametrize("nested", NESTED)
def test_sql_run_by_a_function_in_the_statement_itself(nested):
    for conflict in CONFLICTS:
        db = connection_with_run()
        follower = people(db)
        db.execute("CREATE TABLE source AS SELECT id + 50 AS id, k || 's' AS k FROM u")
        for sql in ("INSERT {c} INTO u(id, k) SELECT id, k || coalesce(run(?), '') FROM source",
                    "UPDATE {c} u SET k = k || coalesce(run(?), '') || 'z'",
                    "DELETE FROM u WHERE run(?) IS NULL AND id % 2"):
            try:
                db.execute(sql.format(c=conflict), (nested,))
            except sqlite3.Error:
                pass
            assert follower.answers()
        follower.exact()
        db.close()


# ---- several filters ----

@pytest.mark.parametrize("conflict", CONFLICTS)
@pytest.mark.parametrize("inside", FRAMES)
def test_several_filters_on_one_table(db, inside, conflict):
    """Of which one is full: the row is refused, and no filter has it."""
    db.execute("PRAGMA recursive_triggers = on")
    first = people(db)
    all_of_them = [first, Follower(db, name="g").create("capacity=8, growth=off, fingerprint_bits=32, counter_bits=8"),
                   Follower(db, name="h").create(EXACT), Follower(db, column="id", name="i").create(EXACT),
                   Follower(db, column="x", name="j").create(EXACT)]
    with frame(db, inside):
        exercise(db, conflict, *all_of_them)
        attempt(db, NUMBERS + f"INSERT {conflict} INTO u(k) SELECT 'n' || i FROM n", *all_of_them)
        assert all(follower.answers() for follower in all_of_them)
    for follower in all_of_them:
        follower.exact()


def test_a_filter_that_is_dropped_leaves_the_others(db):
    first = people(db)
    second = Follower(db, name="g").create()
    db.execute("DROP TABLE f")
    exercise(db, "", second)
    second.exact()
    first.create()
    exercise(db, "OR IGNORE", first, second)
    first.exact()
    second.exact()


def test_a_table_with_several_filters_rebuilt_in_any_order(db):
    """Each wants its triggers to be the newest; those of the other filters do no harm."""
    first, second = people(db), Follower(db, name="g").create()
    for follower in (first, second, first, first, second):
        follower.rebuild()
        exercise(db, "OR FAIL", first, second)
        first.exact()
        second.exact()


# ---- every kind of content table ----

TABLES = {
    "rowid": "CREATE TABLE u(k, x DEFAULT 0)",
    "integer primary key": "CREATE TABLE u(k INTEGER PRIMARY KEY, x DEFAULT 0)",
    "autoincrement": "CREATE TABLE u(k INTEGER PRIMARY KEY AUTOINCREMENT, x DEFAULT 0)",
    "descending primary key": "CREATE TABLE u(k INTEGER PRIMARY KEY DESC, x DEFAULT 0)",
    "without rowid": "CREATE TABLE u(k PRIMARY KEY, x DEFAULT 0) WITHOUT ROWID",
    "two columns, without rowid": "CREATE TABLE u(k, x DEFAULT 0, PRIMARY KEY (x, k)) WITHOUT ROWID",
    "nocase": "CREATE TABLE u(k TEXT COLLATE NOCASE UNIQUE, x DEFAULT 0)",
    "rtrim": "CREATE TABLE u(k TEXT COLLATE RTRIM UNIQUE, x DEFAULT 0)",
    "real": "CREATE TABLE u(k REAL UNIQUE, x DEFAULT 0)",
    "text": "CREATE TABLE u(k TEXT UNIQUE, x DEFAULT 0)",
    "numeric": "CREATE TABLE u(k NUMERIC UNIQUE, x DEFAULT 0)",
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
@pytest.mark.parametrize("kind", [pytest.param(kind, marks=NEEDS_STRICT if "strict" in kind else ()) for kind in TABLES])
def test_every_kind_of_content_table(kind, conflict):
    for inside in FRAMES:
        db = support.connect()
        db.execute("PRAGMA recursive_triggers = on")
        db.execute(TABLES[kind])
        db.execute("CREATE TABLE other(x)")
        follower = Follower(db).create()
        with frame(db, inside):
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


# ---- statements that stop in the middle ----

def stops_at(db, n):
    seen = itertools.count()

    def stop(value):
        if next(seen) == n:
            raise ValueError("stop")
        return value

    db.create_function("stop", 1, stop)


@pytest.mark.parametrize("inside", FRAMES)
@pytest.mark.parametrize("conflict", CONFLICTS)
def test_a_statement_fails_at_any_row(conflict, inside):
    for n in (0, 1, 3, 4):
        for sql in ("INSERT {c} INTO u(k) SELECT stop('s' || x) FROM source", "UPDATE {c} u SET k = stop(k || 'u')",
                    "DELETE FROM u WHERE stop(1)",
                    "INSERT {c} INTO u(id, k) SELECT x, stop('p' || x) FROM source WHERE 1 "
                    "ON CONFLICT(id) DO UPDATE SET k = excluded.k"):
            db = support.connect()
            follower = people(db)
            db.execute("CREATE TABLE source(x)")
            db.execute("INSERT INTO source VALUES (1), (2), (3), (40), (41), (42)")
            with frame(db, inside):
                db.execute("UPDATE u SET k = 'before' WHERE id = 5")
                stops_at(db, n)
                attempt(db, sql.format(c=conflict), follower)
                assert follower.answers()
                db.execute("INSERT OR IGNORE INTO u(k) VALUES ('after')")
                assert follower.answers()
            follower.exact(stale=conflict == "OR REPLACE")
            db.close()


@pytest.mark.parametrize("inside", FRAMES)
def test_a_statement_is_interrupted(db, inside):
    follower = people(db)
    for after in (1, 2, 5, 20):
        with frame(db, inside):
            db.execute("INSERT OR IGNORE INTO u(k) VALUES (?)", (f"before {after}",))
            calls = itertools.count()
            db.set_progress_handler(lambda: next(calls) >= after, 50)
            error = attempt(db, NUMBERS + f"INSERT INTO u(k) SELECT 'i{after}-' || i FROM n")
            db.set_progress_handler(None, 0)
            assert error is not None and follower.answers()
        follower.exact()


@NEEDS_RETURNING
@pytest.mark.parametrize("inside", FRAMES)
@pytest.mark.parametrize("fetched", [0, 1, 2])
def test_returning_that_is_not_read_to_its_end(db, fetched, inside):
    follower = people(db)
    with frame(db, inside):
        cursor = db.execute("INSERT INTO u(k) VALUES ('r1'), ('r2'), ('r3') RETURNING k")
        for _ in range(fetched):
            cursor.fetchone()
        assert follower.answers()
        cursor.close()
        assert follower.answers()
    follower.exact()


@pytest.mark.parametrize("sql", STATEMENTS)
@pytest.mark.parametrize("conflict", CONFLICTS)
def test_rolled_back_to_a_savepoint(db, conflict, sql):
    """Each statement between every pair of marks."""
    db.execute("PRAGMA recursive_triggers = on")
    follower = people(db)
    for ending in (["ROLLBACK TO b", "RELEASE b"], ["RELEASE b"], ["ROLLBACK TO b"], ["ROLLBACK TO a"]):
        db.execute("SAVEPOINT a")
        attempt(db, "DELETE FROM u WHERE id IN (2, 3)", follower)
        attempt(db, "SAVEPOINT b", follower)
        error = attempt(db, sql.format(c=conflict), follower)
        if db.in_transaction:
            for step in ending:
                attempt(db, step, follower)
            attempt(db, "INSERT OR IGNORE INTO u(k) VALUES ('b2'), ('again')", follower)
            assert follower.answers()
            db.execute("COMMIT")
        else:
            assert error is not None and conflict == "OR ROLLBACK"
        follower.exact()


# ---- one key and several values: no content= here ----

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
    assert ask(db, "SELECT json_extract(cf_table_info('s'), '$.sticky')") == 0
    for _ in range(cap - 1):
        db.execute("DELETE FROM s WHERE key = 'a'")
    assert ask(db, "SELECT count(*) FROM s") == 0


# ---- what SQL may do to a filter that follows a table ----

@pytest.mark.parametrize("sql", [
    "INSERT INTO f(key) VALUES ('x')", "INSERT OR IGNORE INTO f(key) VALUES ('x')", "REPLACE INTO f(key) VALUES ('x')",
    "DELETE FROM f WHERE key = 'A1'", "UPDATE f SET key = 'x' WHERE key = 'A1'", "INSERT INTO f(f) VALUES ('clear')",
    "INSERT INTO f(f, key) SELECT 'import', cf_new(10)"])
def test_only_its_triggers_change_it(db, sql):
    follower = people(db)
    with pytest.raises(sqlite3.OperationalError):
        db.execute(sql)
    db.execute("CREATE TRIGGER t AFTER INSERT ON other BEGIN " + sql + "; END")
    attempt(db, "INSERT OR IGNORE INTO other VALUES (1)")
    follower.exact()


@pytest.mark.parametrize("sql", ["INSERT INTO f(f) VALUES ('rebuild')", "INSERT INTO f(f) VALUES ('optimize')",
                                 "INSERT INTO f(f) VALUES ('check')", "SELECT cf_table_rebuild('f')"])
@pytest.mark.parametrize("inside", FRAMES)
def test_upkeep_keeps_every_row(db, inside, sql):
    follower = people(db)
    with frame(db, inside):
        db.execute("UPDATE u SET k = k || 'x'")
        db.execute("DELETE FROM u WHERE id = 1")
        db.execute(sql)
        assert follower.answers()
        db.execute("INSERT INTO u(k) VALUES ('later')")
        assert follower.answers()
    follower.exact()


def test_rowid_is_no_column(db):
    people(db)
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        db.execute("SELECT rowid FROM f WHERE key = 'A1'")
