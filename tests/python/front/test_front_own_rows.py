# SPDX-License-Identifier: MIT
"""rows=on: a statement that writes to the content table and asks a front does what it does with the table itself.

With triggers on the table SQLite reads all before it writes. Without them it looks whether the statement reads the
table that it writes to, and does not see it behind a front.
"""
import pytest

import inside
import support
from promised import cases

CONTENT = """
CREATE TABLE t(id INTEGER PRIMARY KEY, k TEXT, n INTEGER); CREATE INDEX i ON t(k);
INSERT INTO t(k, n) VALUES ('a', 0), ('b', 1), ('c', 2);
CREATE TABLE e(x); INSERT INTO e VALUES (1), (2), (3);
"""
ANEW = """
CREATE TABLE kept AS SELECT * FROM t; DROP TABLE t; CREATE TABLE t(id INTEGER PRIMARY KEY, k TEXT, n INTEGER);
INSERT INTO t SELECT * FROM kept; CREATE INDEX i ON t(k);
"""
WITHOUT_TRIGGERS = {
    "all dropped": inside.drop_own_triggers,
    "one dropped": lambda db: inside.drop_own_triggers(db, which="INSERT"),
    "switched off": lambda db: support.configure(db, support.ENABLE_TRIGGER, 0),
    "the table made anew": lambda db: db.executescript(ANEW),
}
TRIGGERS = {"there": lambda db: None, **WITHOUT_TRIGGERS}

# {F} is the front, or the table once more. The rows of the first ones are written while others are read.
SEEN = ["INSERT INTO t(k, n) VALUES ((SELECT count(*) FROM {F}), 1), ((SELECT count(*) FROM {F}), 2)",
        "INSERT INTO t(k, n) VALUES ('n1', 1 + (SELECT max(n) FROM {F})), ('n2', 1 + (SELECT max(n) FROM {F}))",
        "INSERT INTO t(k, n) SELECT 'new', x FROM e WHERE NOT EXISTS (SELECT 1 FROM {F} WHERE k = 'new' AND x > 0)"]
STATEMENTS = SEEN + [
    "INSERT INTO t(k, n) SELECT k, n + 10 FROM {F}", "INSERT INTO t(k, n) SELECT k, n + 10 FROM {F} WHERE k >= 'b'",
    "INSERT INTO t(k, n) SELECT (SELECT count(*) FROM {F} WHERE n >= 0), x FROM e",
    "REPLACE INTO t(id, k, n) SELECT id + 1, k, n FROM {F}",
    "INSERT INTO t(id, k) VALUES (1, 'x'), (2, 'y') ON CONFLICT(id) DO UPDATE SET n = (SELECT sum(n) FROM {F})",
    "UPDATE t SET n = (SELECT count(*) FROM {F} AS f WHERE f.n >= t.n)",
    "UPDATE t SET k = 'z' WHERE 1 < (SELECT count(*) FROM {F} AS f WHERE f.k <> 'z' AND f.n <= t.n)",
    "UPDATE t SET k = 'b' WHERE NOT EXISTS (SELECT 1 FROM {F} AS f WHERE f.k = 'b' AND f.n = t.n - 1)",
    "DELETE FROM t WHERE EXISTS (SELECT 1 FROM {F} AS f WHERE f.n > t.n)",
    "DELETE FROM t WHERE 1 < (SELECT count(*) FROM {F} AS f WHERE f.n >= t.n - 100)",
    "DELETE FROM t WHERE k = (SELECT min(k) FROM {F} AS f WHERE f.n < t.n + 100)"]


@pytest.mark.parametrize("statement, triggers", cases(
    STATEMENTS, TRIGGERS, reason="SQLite does not see that a front reads the table",
    broken=lambda statement, triggers: statement in SEEN and triggers in WITHOUT_TRIGGERS))
def test_a_statement_that_asks_a_front_again(statement, triggers):
    rows = []
    for source in ("t", "f"):
        db = support.connect()
        db.executescript(CONTENT)
        if source == "f":
            db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(content='t(k)', rows=on)")
            TRIGGERS[triggers](db)
        db.execute(statement.format(F=source))
        rows.append(db.execute("SELECT * FROM t ORDER BY id").fetchall())
        db.close()
    assert rows[0] == rows[1]
