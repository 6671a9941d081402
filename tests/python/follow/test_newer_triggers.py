# SPDX-License-Identifier: MIT
"""Triggers that fire after the change of a row and before those of a filter: newer ones, and TEMP ones. Under OR FAIL, or by
RAISE(IGNORE), such a trigger keeps a row for which those of the filter never run (rule B of ext/follow/rules.h).

As long as it is there, the filter is not trusted, and its table answers. What is left when it has gone, a filter notices that
has seen it. random_triggers.py draws more of them.
"""
import pytest

import support
from promises import EXACT, NUMBERS, Follower, attempt, bare
from support import ask

# What it does when a key is given: 'a' goes well, 'b' fails, in a table w(x UNIQUE, y) that has a row 1.
BREAKS = {
    "INSERT": "INSERT INTO w(x) SELECT 1 WHERE new.k = 'b'",
    "INSERT OR FAIL": "INSERT OR FAIL INTO w(x) SELECT 1 WHERE new.k = 'b'",
    "UPDATE": "UPDATE w SET x = 1 WHERE x = 2 AND new.k = 'b'",
    "DELETE": "DELETE FROM w WHERE x = 3 AND new.k = 'b'",  # a trigger of w says no
    "RAISE(FAIL)": "SELECT/**/raise --\n(\t/* fail */ Fail, 'no') WHERE new.k = 'b'",
    "RAISE(IGNORE)": "SELECT RAISE(IGNORE) WHERE new.k = 'b'",
}
# These cannot: SQLite takes the row back, or they fire early enough. Words in names, texts and comments do not matter.
KEEPS = {
    "RAISE(ABORT)": "AFTER {event} ON main.u BEGIN SELECT RAISE(ABORT, 'fail') WHERE new.k = 'b'; END",
    "a text": "AFTER {event} ON main.u BEGIN SELECT 'INSERT OR FAIL INTO w; RAISE(IGNORE)' /* raise(fail, 'x') */; END",
    "a column": "AFTER {event} ON main.u BEGIN SELECT new.fail, \"ignore\" FROM (SELECT 1 AS \"ignore\"); END",
    "BEFORE INSERT": "BEFORE INSERT ON main.u WHEN new.fail = 'after' BEGIN INSERT INTO w(x) VALUES (1); SELECT RAISE(IGNORE); END",
}
STATEMENTS = {"INSERT": ("INSERT INTO u(id, k) VALUES (5003, 'a')", "INSERT OR FAIL INTO u(id, k) VALUES (5005, 'b')"),
              "UPDATE": ("UPDATE u SET k = 'a' WHERE id = 5000", "UPDATE OR FAIL u SET k = 'b' WHERE id = 5010")}


def world(path=":memory:"):
    """u with rows on both sides of those that are written: whoever takes a sample asks for these."""
    db = support.connect(path)
    db.executescript("CREATE TABLE u(id INTEGER PRIMARY KEY, k, fail); CREATE TABLE w(x UNIQUE, y);"
                     "INSERT INTO w(x) VALUES (1), (2), (3);"
                     "CREATE TRIGGER stays BEFORE DELETE ON w BEGIN SELECT RAISE(FAIL, 'it stays'); END")
    db.execute(NUMBERS + "INSERT INTO u(id, k) SELECT i * 10, 'k' || i FROM n")
    return db, Follower(db).create(EXACT)


def trusted(db):
    return ask(db, "SELECT json_extract(cf_table_info('f'), '$.trusted')")


@pytest.mark.parametrize("index", [False, True], ids=["", "index"])
@pytest.mark.parametrize("temp, writer", [("", "with the extension"), ("", "without"), ("TEMP", "with the extension")])
@pytest.mark.parametrize("event", STATEMENTS)
@pytest.mark.parametrize("body", BREAKS)
def test_a_row_that_it_keeps_is_not_denied(tmp_path, body, event, temp, writer, index):
    db, f = world(tmp_path / "kept.db")
    if index:
        db.execute("CREATE INDEX of_k ON u(k)")
    other = db if writer == "with the extension" else bare(tmp_path / "kept.db")
    db.execute(f"CREATE {temp} TRIGGER newer AFTER {event} ON main.u BEGIN {BREAKS[body]}; END")
    assert trusted(db) == 0 and "newer" in ask(db, "SELECT json_extract(cf_table_info('f'), '$.why')")
    for sql in STATEMENTS[event]:
        attempt(other, sql)
        assert f.answers() == index
    assert ask(db, "SELECT count(*) FROM u WHERE k = 'b'") == 1
    db.execute("DROP TRIGGER newer")
    assert f.answers() == index and trusted(db) == 0, "it has lost a row"
    f.rebuild()
    f.exact()


@pytest.mark.parametrize("temp", ["", "TEMP"])
@pytest.mark.parametrize("event", STATEMENTS)
@pytest.mark.parametrize("body", KEEPS)
def test_others_cost_no_trust(body, event, temp):
    db, f = world()
    db.execute(f"CREATE {temp} TRIGGER [after] " + KEEPS[body].format(event=event))
    for sql in STATEMENTS[event]:
        attempt(db, sql)
    attempt(db, "INSERT INTO u(k, fail) VALUES ('not kept', 'after')")
    assert trusted(db) == 1
    f.exact()


def test_where_another_row_has_the_key():
    """It would be denied when that row goes."""
    db, f = world()
    db.execute("UPDATE u SET k = 'a' WHERE id = 10")
    db.execute("CREATE TRIGGER newer AFTER INSERT ON u BEGIN SELECT RAISE(IGNORE); END")
    assert f.doubts()
    db.execute("INSERT INTO u(id, k) VALUES (5005, 'a')")
    db.execute("DROP TRIGGER newer")
    assert "rows of u are missing" in str(attempt(db, "INSERT INTO f(f) VALUES ('check')"))
    assert f.doubts()
    f.rebuild()
    db.execute("DELETE FROM u WHERE id = 10")
    f.exact()


def test_rebuild_makes_those_of_the_filter_the_newest():
    db, f = world()
    db.execute("CREATE TRIGGER newer AFTER INSERT ON u BEGIN SELECT RAISE(IGNORE) WHERE new.k = 'b'; END")
    f.rebuild()
    db.execute("INSERT INTO u(k) VALUES ('a'), ('b')")
    assert trusted(db) == 1
    f.exact()


# Change notification, as some libraries set it up: marks in a TEMP table, or a call, for what has changed.
NOTES = {"a mark": "INSERT OR REPLACE INTO notes VALUES ('u')", "an update": "UPDATE notes SET name = 'u' WHERE name = 'v'"}


@pytest.mark.parametrize("note", NOTES)
@pytest.mark.parametrize("event", ["INSERT", "UPDATE", "DELETE"])
def test_beside_change_notification(tmp_path, event, note):
    """A TEMP trigger BEFORE the change costs no trust. AFTER it costs that of all connections; the message names it, and a rebuild
    while it is there says that the filter is not trusted still."""
    db, f = world(tmp_path / "t.db")
    db.execute("CREATE TEMP TABLE notes(name UNIQUE)")
    for when in ("BEFORE", "AFTER"):
        db.execute(f"CREATE TEMP TRIGGER notifies {when} {event} ON u BEGIN {NOTES[note]}; END")
        for sql in ("INSERT INTO u(k) VALUES ('n')", "UPDATE u SET k = 'm' WHERE k = 'n'", "DELETE FROM u WHERE k = 'm'"):
            db.execute(sql)
        assert trusted(db) == (when == "BEFORE")
        db.execute("DROP TRIGGER notifies" if when == "BEFORE" else "SELECT 1")
    said, why = db.execute("SELECT j, json_extract(j, '$.why') FROM (SELECT cf_table_rebuild('f') AS j)").fetchone()
    assert '"trusted":0' in said and why.startswith("still not trusted, because the TEMP trigger notifies on u fires before ")
    db.execute("DROP TRIGGER notifies")
    f.rebuild()
    assert trusted(db) == 1 and "trusted" not in ask(db, "SELECT cf_table_rebuild('f')")
    f.exact()


@pytest.mark.parametrize("question", ["SELECT cf_table_contains('f', 'a')", "SELECT count(*) FROM f WHERE key = 'a'",
                                      "SELECT json_extract(cf_table_info('f'), '$.trusted')"])
def test_a_temporary_trigger_is_seen_by_the_next_question(question):
    """Of any kind: here the column has no index, so that the filter cannot ask the table."""
    db = support.connect()
    db.executescript("CREATE TABLE t(k); CREATE TABLE other(x); INSERT INTO t VALUES ('a')")
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(content='t(k)')")
    assert ask(db, question) == 1
    for event in ("INSERT", "UPDATE", "DELETE"):
        db.execute(f"CREATE TEMP TRIGGER trg AFTER {event} ON t BEGIN INSERT INTO other VALUES (1); END")
        error = attempt(db, question)
        assert "TEMP trigger trg" in str(error) if error else ask(db, question) == 0
        db.execute("DROP TRIGGER trg")
        assert ask(db, question) == 1


@pytest.mark.parametrize("later", ["TABLE u(k)", "VIEW u AS SELECT 1 AS k"])
def test_a_temporary_trigger_on_a_table_that_a_later_one_hides(later):
    """SQLite looked for the table when the trigger was made."""
    db, f = world()
    db.execute("CREATE TEMP TRIGGER newer AFTER INSERT ON u BEGIN SELECT RAISE(IGNORE) WHERE new.k = 'b'; END")
    db.execute(f"CREATE TEMP {later}")
    db.execute("INSERT INTO main.u(id, k) VALUES (5005, 'b')")
    assert not Follower(db, "main.u").answers()
    db.execute(f"DROP {later.split()[0]} temp.u")
    db.execute("DROP TRIGGER newer")
    f.rebuild()
    db.execute(f"CREATE TEMP {later}")
    event = "AFTER" if later.startswith("TABLE") else "INSTEAD OF"
    db.execute(f"CREATE TEMP TRIGGER newer {event} UPDATE ON u BEGIN INSERT INTO w(x) VALUES (new.k); END")
    assert trusted(db) == 1 and Follower(db, "main.u").answers()
    db.close()
