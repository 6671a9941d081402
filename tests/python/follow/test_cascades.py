# SPDX-License-Identifier: MIT
"""A row that changes while it is being changed: SQLite tells the triggers of the filter values that are no longer true.

Foreign key actions and REPLACE do that. A stored key is found all the same, or the filter is
refused with an error that says what to do, when it is made or when it is used: it is never denied.
"""
import sqlite3

import pytest

import support
from promises import EXACT, Follower, attempt, bare, drain, is_refusal

TABLES = {"rowid": "", "WITHOUT ROWID": "WITHOUT ROWID"}
ACTIONS = ["SET NULL", "SET DEFAULT", "CASCADE"]


def says_what_to_do(error):
    """It names `rebuild`, or what stands in the way."""
    named = any(word in str(error) for word in ("trigger", "foreign key", "refers to"))
    assert (error.sqlite_errorcode & 0xFF) == sqlite3.SQLITE_ERROR and (named or is_refusal(error)), repr(error)


def nothing_is_denied(f):
    """True: all stored keys are found. False: asking is an error that says what to do."""
    try:
        missed = f.ask("SELECT {k} FROM {u} WHERE {k} IS NOT NULL AND NOT cf_table_contains('{f}', {k})")
    except sqlite3.OperationalError as error:
        says_what_to_do(error)
        return False
    assert missed == [], f"stored, and denied: {missed}"
    return True


def create(f):
    """Is the filter there now? If not, the error says what to do."""
    error = attempt(f.db, f"CREATE VIRTUAL TABLE f USING cuckoo_filter({EXACT}, content='{f.table}({f.column})')")
    says_what_to_do(error) if error else None
    return error is None


def change(f, sql, db=None):
    """Nothing is denied before, after, and when the log has been drained."""
    nothing_is_denied(f)
    attempt(db or f.db, sql)
    if nothing_is_denied(f):
        drain(f.db)
        nothing_is_denied(f)


# ---- foreign keys ----

SAME = "UPDATE u SET c = 1, x = x WHERE id = 1"
UPSERT = "INSERT INTO u(id, x) VALUES (1, 6) ON CONFLICT(id) DO UPDATE SET c = 1, x = u.x"
BOTH = "DELETE FROM p WHERE id = 5; INSERT INTO p VALUES (5, new.c)"

# What triggers of u do to row 5 of p, to which row 1 of u refers; and what sets them off.
TRIGGERS = {
    "REPLACE": ("BEFORE UPDATE OF c", "REPLACE INTO p VALUES (5, new.c)", SAME),
    "REPLACE in a TEMP trigger": ("BEFORE UPDATE OF c", "REPLACE INTO p VALUES (5, new.c)", SAME),
    "REPLACE behind another table": ("BEFORE UPDATE OF c", "INSERT INTO q VALUES (new.c)", SAME),
    "INSERT OR REPLACE": ("BEFORE UPDATE OF c", "INSERT OR REPLACE INTO p(n, id) VALUES (new.c, 5)", SAME),
    "ON CONFLICT REPLACE": ("BEFORE UPDATE OF c", "INSERT INTO p VALUES (5, new.c)", SAME),
    "UPDATE OR REPLACE": ("BEFORE UPDATE OF c", "UPDATE OR REPLACE p SET id = 5 WHERE id = 8", SAME),
    "UPDATE": ("BEFORE UPDATE OF c", "UPDATE p SET id = 50 WHERE id = 5; INSERT INTO p VALUES (5, new.c)", SAME),
    "REPLACE of 6": ("BEFORE UPDATE OF c", "REPLACE INTO p VALUES (6, 1)", "UPDATE u SET c = 1, x = 6 WHERE id < 3"),
    "DELETE and INSERT": ("BEFORE UPDATE OF c", BOTH, SAME),
    "DELETE and INSERT, upsert": ("BEFORE UPDATE OF c", BOTH, UPSERT),
    "REPLACE, DELETE": ("BEFORE DELETE", "REPLACE INTO p SELECT 5, 1 WHERE old.id = 3", "DELETE FROM u WHERE id <> 2"),
    "REPLACE, INSERT": ("BEFORE INSERT", "REPLACE INTO p VALUES (5, new.c)", "INSERT INTO u VALUES (9, 2, 5)"),
    "REPLACE, after": ("AFTER UPDATE OF c", "REPLACE INTO p VALUES (5, new.c)", SAME),
}


@pytest.mark.parametrize("first", ["filter", "trigger"])
@pytest.mark.parametrize("recursive", ["on", "off"])
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("trigger", TRIGGERS)
def test_a_trigger_sets_off_a_foreign_key_action(trigger, action, table, recursive, first):
    event, body, statement = TRIGGERS[trigger]
    db = support.connect()
    db.executescript(f"""
        PRAGMA foreign_keys = on; PRAGMA recursive_triggers = {recursive};
        CREATE TABLE p(id INTEGER PRIMARY KEY {trigger if trigger.startswith("ON") else ""}, n);
        CREATE TABLE q(n); CREATE TRIGGER q1 AFTER INSERT ON q BEGIN REPLACE INTO p VALUES (5, new.n); END;
        CREATE TABLE u(id INT PRIMARY KEY, c, x DEFAULT 7 REFERENCES p(id) ON DELETE {action} ON UPDATE {action})
            {TABLES[table]};
        INSERT INTO p VALUES (5, 0), (6, 0), (7, 0), (8, 0);
        INSERT INTO u VALUES (1, 0, 5), (2, 0, 6), (3, 0, 7);""")
    f = Follower(db, column="x")
    exists = first == "trigger" or create(f)
    db.execute(f"CREATE {'TEMP' if 'TEMP' in trigger else ''} TRIGGER t {event} ON main.u BEGIN {body}; END")
    if exists and (first == "filter" or create(f)):
        change(f, statement)
    db.close()


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("recursive", ["on", "off"])
@pytest.mark.parametrize("statement", ["UPDATE OR REPLACE u SET id = 2 WHERE id = 1", "REPLACE INTO u VALUES (2, 2)",
                                       "UPDATE OR REPLACE u SET id = 2, k = k WHERE id = 1"])
def test_a_key_refers_to_its_own_table(statement, recursive, table, action):
    """No trigger of anybody: REPLACE deletes the row to which the changing row refers."""
    db = support.connect()
    db.executescript(f"""
        PRAGMA foreign_keys = on; PRAGMA recursive_triggers = {recursive};
        CREATE TABLE u(id INT PRIMARY KEY, k DEFAULT 3 REFERENCES u(id) ON DELETE {action}) {TABLES[table]};
        INSERT INTO u VALUES (3, NULL), (2, NULL), (1, 2);""")
    f = Follower(db)
    if create(f):
        change(f, statement)
    db.close()


# ---- REPLACE and recursive_triggers ----

CHANGES = {"UPDATE u SET c = 1, k = k WHERE id = 1": "UPDATE OF c", "DELETE FROM u WHERE id = 1": "DELETE",
           "UPDATE u SET c = 1, k = 'a' WHERE id IN (1, 2)": "UPDATE OF c"}


@pytest.mark.parametrize("writer, reader", [("on", "on"), ("on", "off"), ("off", "on"), ("off", "off")])
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("statement", CHANGES)
def test_writer_and_reader_differ_in_recursive_triggers(tmp_path, statement, table, writer, reader):
    """Only in the connection that writes does REPLACE fire the delete trigger, which changes the row."""
    path = str(tmp_path / "recursive.db")
    db, other = support.connect(path), bare(path)
    db.executescript(f"""
        PRAGMA synchronous = off; PRAGMA recursive_triggers = {reader};
        CREATE TABLE u(id INT PRIMARY KEY, c, k) {TABLES[table]}; CREATE TABLE h(x UNIQUE, n);
        INSERT INTO u VALUES (1, 0, 'a'), (2, 0, 'a'), (4, 0, 'b'); INSERT INTO h VALUES (1, 1);
        CREATE TRIGGER t BEFORE {CHANGES[statement]} ON u BEGIN REPLACE INTO h VALUES (1, 2); END;
        CREATE TRIGGER hd AFTER DELETE ON h BEGIN UPDATE u SET k = 'mid' WHERE id < 3; END;""")
    f = Follower(db)
    if create(f):
        other.execute(f"PRAGMA recursive_triggers = {writer}")
        change(f, statement, other)
    db.close()
    other.close()
