# SPDX-License-Identifier: MIT
"""Triggers that fire before those of a filter, and may keep a row for which these never run (rule B of ext/follow/rules.h):
what is left when such a trigger has gone. What it does while it is there: test_kept_rows.py, random_triggers.py.
"""
import pytest

import support
from promises import EXACT, NUMBERS, Follower
from promises import attempt as run

INSERT = "INSERT INTO u(id, k) VALUES (5005, 'new')"


def world():
    db = support.connect()
    db.execute("CREATE TABLE u(id INTEGER PRIMARY KEY, k UNIQUE, fail)")
    db.execute(NUMBERS + "INSERT INTO u(id, k) SELECT i * 10, 'k' || i FROM n WHERE i BETWEEN 1 AND 1000")
    return db


@pytest.mark.parametrize("key, again", [("a", "a lookup"), ("a", "check"), ("new", "a lookup")])
def test_a_kept_row_is_missed_by_nobody_who_saw_the_trigger(key, again):
    """In the middle of the table, where a sample does not ask. When another row has its key, that would be denied later."""
    db = world()
    db.execute("INSERT INTO u(id, k) VALUES (3, 'A'), (20000, 'b')")
    follower = Follower(db, column="fail").create(EXACT)
    db.execute("UPDATE u SET fail = 'a' WHERE id = 3")
    db.execute("CREATE TRIGGER newer AFTER INSERT ON u BEGIN SELECT RAISE(IGNORE); END")
    assert follower.doubts()
    db.execute("INSERT INTO u(id, fail) VALUES (5005, ?)", (key,))
    db.execute("DROP TRIGGER newer")
    if again == "check":
        assert "rows of u are missing" in str(run(db, "INSERT INTO f(f) VALUES ('check')"))
    assert follower.doubts()
    follower.rebuild()
    db.execute("DELETE FROM u WHERE id = 3")
    follower.settled()
    db.close()


def test_a_before_trigger_is_no_after_trigger():
    """Whatever its words are."""
    db = world()
    follower = Follower(db).create(EXACT)
    db.execute("CREATE TRIGGER [after] BEFORE INSERT ON u WHEN new.fail = 'after' BEGIN SELECT RAISE(IGNORE); END")
    db.execute("INSERT INTO u(k, fail) VALUES ('kept', 0), ('not kept', 'after')")
    assert db.execute("SELECT k FROM u WHERE id > 10000").fetchall() == [("kept",)]
    follower.exact()
    db.close()


def test_rebuild_is_not_refused():
    """It makes the triggers the newest: then nothing fires before them."""
    db = world()
    follower = Follower(db).create(EXACT)
    db.execute("CREATE TRIGGER newer AFTER INSERT ON u BEGIN SELECT RAISE(IGNORE) WHERE new.k LIKE 'b%'; END")
    for sql in ("INSERT INTO f(f) VALUES ('rebuild')", INSERT, "INSERT INTO u(k) VALUES ('bad')"):
        assert run(db, sql) is None
    follower.exact()
    db.close()
