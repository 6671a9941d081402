# SPDX-License-Identifier: MIT
"""A row that changes while it is being changed: SQLite tells the triggers of the filter values that are no longer true (rule A
of ext/follow/rules.h). Such a column is not followed: the error names what is in the way. Where that comes later, the filter
is not trusted. Everything else is followed, and no key is denied; random_triggers.py draws more of it.
"""
import pytest

import support
from promises import EXACT, Follower, attempt, run
from support import ask

TABLES = {"rowid": "", "WITHOUT ROWID": "WITHOUT ROWID"}
ACTIONS = ["ON DELETE SET NULL", "ON DELETE SET DEFAULT ON UPDATE SET NULL", "ON UPDATE CASCADE", ""]

SAME = "UPDATE u SET c = 1, x = x WHERE id = 1"
UPSERT = "INSERT INTO u(id, x) VALUES (1, 6) ON CONFLICT(id) DO UPDATE SET c = 1, x = u.x"
BOTH = "DELETE FROM p WHERE id = 5; INSERT INTO p VALUES (5, new.c)"

# What triggers of u do to row 5 of p, to which row 1 of u refers; and what sets them off.
TRIGGERS = {
    "REPLACE": ("BEFORE UPDATE OF c", "REPLACE INTO p VALUES (5, new.c)", SAME),
    "REPLACE behind another table": ("BEFORE UPDATE OF c", "INSERT INTO q VALUES (new.c)", SAME),
    "UPDATE": ("BEFORE UPDATE OF c", "UPDATE p SET id = 50 WHERE id = 5; INSERT INTO p VALUES (5, new.c)", SAME),
    "DELETE and INSERT, upsert": ("BEFORE UPDATE OF c", BOTH, UPSERT),
    "a trigger without a time": ("UPDATE OF c", BOTH, SAME),
    "DELETE": ("BEFORE DELETE", "REPLACE INTO p SELECT 5, 1 WHERE old.id = 3", "DELETE FROM u WHERE id <> 2"),
    "SELECT": ("BEFORE UPDATE OF c", "SELECT RAISE(ABORT, 'no') WHERE new.c > 5", SAME),
    "INSERT": ("BEFORE INSERT", "REPLACE INTO p VALUES (5, new.c)", "INSERT INTO u VALUES (9, 2, 5)"),
    "after": ("AFTER UPDATE OF c", "REPLACE INTO p VALUES (5, new.c)", SAME),
}
FOLLOWED = ["SELECT", "INSERT", "after"]


def create(f):
    return attempt(f.db, f"CREATE VIRTUAL TABLE f USING cuckoo_filter({EXACT}, content='{f.table}({f.column})')")


def change(f, sql):
    """Nothing is denied after it, nor when the log has been drained: an error where the filter is not trusted."""
    attempt(f.db, sql)
    assert f.answers()
    attempt(f.db, "INSERT INTO f(f) VALUES ('drain')", f)


@pytest.mark.parametrize("temp", ["", "TEMP"])
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("name", TRIGGERS)
def test_a_trigger_sets_off_a_foreign_key_action(name, action, table, temp):
    event, body, statement = TRIGGERS[name]
    db = support.connect()
    db.executescript(f"""
        PRAGMA foreign_keys = on; CREATE TABLE p(id INTEGER PRIMARY KEY, n); CREATE TABLE q(n);
        CREATE TRIGGER q1 AFTER INSERT ON q BEGIN REPLACE INTO p VALUES (5, new.n); END;
        CREATE TABLE u(id INT PRIMARY KEY, c, x DEFAULT 7 REFERENCES p(id) {action}) {TABLES[table]};
        INSERT INTO p VALUES (5, 0), (6, 0), (7, 0), (8, 0);
        INSERT INTO u VALUES (1, 0, 5), (2, 0, 6), (3, 0, 7); CREATE INDEX of_x ON u(x);""")
    f, trigger = Follower(db, column="x"), f"CREATE {temp} TRIGGER t {event} ON main.u BEGIN {body}; END"
    followed = name in FOLLOWED or action == ""
    assert create(f) is None
    db.execute(trigger)
    assert f.doubts() == (not followed or name == "after")
    change(f, statement)  # its table answers, by the index
    error = attempt(db, "INSERT INTO f(f) VALUES ('rebuild')")
    assert error is None if followed else "trigger t on u" in str(error)
    db.execute("DROP TABLE f")
    error = create(f)
    assert error is None if followed else "trigger t on u" in str(error) and "foreign key" in str(error)
    if followed:
        assert f.doubts() == (name == "after" and temp != ""), "its own triggers are the newest, but for TEMP ones"
        change(f, statement)
    db.close()


@pytest.mark.parametrize("column, action, followed", [
    ("k", "ON DELETE CASCADE", False), ("k", "ON DELETE SET NULL", False), ("k", "ON UPDATE CASCADE", False), ("k", "", True),
    ("k", "ON DELETE RESTRICT ON UPDATE NO ACTION", True), ("id", "ON DELETE CASCADE", True), ("c", "ON DELETE CASCADE", True)])
@pytest.mark.parametrize("table", TABLES)
def test_a_key_refers_to_its_own_table(table, column, action, followed):
    """No trigger of anybody: REPLACE deletes the row to which the changing row refers."""
    db = support.connect()
    db.executescript(f"""
        PRAGMA foreign_keys = on; PRAGMA recursive_triggers = on;
        CREATE TABLE u(id INT PRIMARY KEY, k DEFAULT 3 REFERENCES U(id) {action}, c) {TABLES[table]};
        INSERT INTO u VALUES (3, NULL, 1), (2, NULL, 2), (1, 2, 3);""")
    f = Follower(db, column=column)
    error = create(f)
    assert error is None if followed else "k refers to u itself" in str(error)
    for sql in ("UPDATE OR REPLACE u SET id = 2, k = k WHERE id = 1", "REPLACE INTO u VALUES (2, 2, 4)") * followed:
        change(f, sql)
    assert not followed or ask(db, "SELECT json_extract(cf_table_info('f'), '$.trusted')") == 1
    db.close()


# The key is generated: made of x, by way of another generated column, or of something else.
GENERATED = {"of it": "k AS (coalesce(x, 99))", "stored": "k AS (coalesce([X], 99)) STORED",
             "by way of another": "g AS (x), k TEXT GENERATED ALWAYS AS /* ( */ ((g || ''))", "of another": "k AS (c || 'x')"}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("key", GENERATED)
def test_a_key_is_made_of_a_column_that_a_foreign_key_changes(key, table):
    db = support.connect()
    db.executescript(f"""
        PRAGMA foreign_keys = on; CREATE TABLE p(id INTEGER PRIMARY KEY, n);
        CREATE TABLE u(id INT PRIMARY KEY, c, x REFERENCES p(id) ON DELETE SET NULL, {GENERATED[key]}) {TABLES[table]};
        INSERT INTO p VALUES (5, 0); INSERT INTO u VALUES (1, 0, 5); CREATE INDEX of_k ON u(k);""")
    f, followed = Follower(db), key == "of another"
    assert create(f) is None
    db.execute("CREATE TRIGGER t BEFORE UPDATE OF c ON u BEGIN REPLACE INTO p VALUES (5, new.c); END")
    assert f.doubts() == (not followed)
    change(f, SAME)
    db.execute("DROP TABLE f")
    error = create(f)
    assert error is None if followed else "trigger t on u" in str(error) and "foreign key" in str(error)
    db.close()


@pytest.mark.parametrize("key", GENERATED)
def test_a_key_is_made_of_a_column_that_refers_to_its_own_table(key):
    db = support.connect()
    db.executescript(f"""
        PRAGMA foreign_keys = on;
        CREATE TABLE u(id INTEGER PRIMARY KEY, x REFERENCES u(id) ON DELETE SET NULL, c UNIQUE, {GENERATED[key]});
        INSERT INTO u VALUES (1, NULL, 1), (2, 1, 2)""")
    f, followed = Follower(db), key == "of another"
    error = create(f)
    assert error is None if followed else "k refers to u itself" in str(error)
    if followed:
        change(f, "UPDATE OR REPLACE u SET c = 1 WHERE id = 2")
        assert not f.doubts()
    db.close()


# What a BEFORE trigger does to the row that is being changed: does it set the key?
SETS = {"d = 1, k = 'z'": True, "d = old.c IS DISTINCT FROM new.c, k = 'z'": True, "d = 1": False, "k = 'z', d = 1": True,
        "d = (SELECT 1 FROM u), k = 'z' FROM (SELECT 1)": True, "d = 1 FROM (SELECT 2 AS \"set\", 3 AS k)": False}


@pytest.mark.parametrize("sets", SETS)
def test_a_trigger_sets_the_key(sets):
    db = support.connect()
    db.execute("CREATE TABLE u(id INT PRIMARY KEY, c, k, d) WITHOUT ROWID")
    if attempt(db, f"CREATE TRIGGER t BEFORE UPDATE OF c ON u BEGIN UPDATE u SET {sets} WHERE id = new.id; END"):
        pytest.skip("IS DISTINCT FROM came with SQLite 3.39")
    error = create(Follower(db))
    assert "the trigger t may change u(k)" in str(error) if SETS[sets] else error is None
    db.close()


@pytest.mark.parametrize("columns, sets", [('"" INT PRIMARY KEY, id, c, k', "k"), ('id INT PRIMARY KEY, c, "", k AS ("")', '""')])
def test_columns_without_a_name(columns, sets):
    db = support.connect()
    run(db, f"CREATE TABLE u({columns}); CREATE TRIGGER t BEFORE UPDATE OF c ON u BEGIN UPDATE u SET {sets} = 1 WHERE id = new.id; END")
    assert "the trigger t may change u(k)" in str(create(Follower(db)))
    db.close()
