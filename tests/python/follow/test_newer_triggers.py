# SPDX-License-Identifier: MIT
"""Triggers that fire before those of a filter: which of them can keep a row for which the triggers of the filter never run.

Each case is run without a filter first, beside an older trigger that stands for those of the filter: SQLite itself says
whether the case keeps a row without it. Then, with a filter: every statement works as if there were no filter. Lookups refuse as
long as such a trigger is there that keeps rows, or would under OR FAIL, which any program may say. No row is denied, also
when the trigger has gone.
"""
import pytest

import support
from promises import EXACT, Follower
from promises import attempt as run

TABLES = """
CREATE TABLE u(id INTEGER PRIMARY KEY, k UNIQUE, fail, "ignore" DEFAULT 'insert or fail', "or fail" TEXT);
CREATE TABLE h(x UNIQUE, fail INT, "or" INT);
CREATE TABLE fail("ignore" UNIQUE);
CREATE TABLE "raise"(fail, "ignore");
CREATE TABLE hf(x UNIQUE ON CONFLICT FAIL);
CREATE TABLE hi(x UNIQUE ON CONFLICT IGNORE);
CREATE TABLE y(x); CREATE TABLE z(x);
CREATE TABLE parent(id INTEGER PRIMARY KEY);
CREATE TABLE child(p REFERENCES parent ON DELETE CASCADE);
CREATE VIEW v AS SELECT 1 AS x;
INSERT INTO h(x) VALUES (1); INSERT INTO hf VALUES (1); INSERT INTO hi VALUES (1); INSERT INTO fail VALUES (1);
INSERT INTO parent VALUES (1); INSERT INTO child VALUES (1);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) INSERT INTO u(id, k) SELECT i * 10, 'k' || i FROM n;
"""

INSERT = "INSERT INTO u(id, k) VALUES (5005, 'new')"
OR_FAIL = "INSERT OR FAIL INTO u(id, k) VALUES (5005, 'new')"

# What the newer trigger does; the statement; what else there is. The statement changes a row in the middle of the table.
CASES = {
    # harmless: a word in a name, a text, a comment
    "a column fail": ("INSERT INTO h(x, fail) VALUES (new.k, new.fail);", INSERT, ""),
    "a quoted column": ('INSERT INTO h(x, "fail", "or") VALUES (new.k, new."or fail", new."ignore");', INSERT, ""),
    "a table fail": ("INSERT INTO fail VALUES (new.k);", INSERT, ""),
    "a table raise": ('INSERT INTO "raise"(fail, "ignore") VALUES (1, 2);', INSERT, ""),
    "a text": ("INSERT INTO h(x) VALUES (new.k || 'INSERT OR FAIL INTO u; RAISE(IGNORE)');", INSERT, ""),
    "a comment": ("/* RAISE(IGNORE) or fail */ INSERT INTO h(x) VALUES (new.k); -- raise(fail, 'x')\n", INSERT, ""),
    "an alias": ("INSERT INTO h(x) SELECT fail.k FROM (SELECT new.k AS k) AS fail;", INSERT, ""),
    "an operator": ("INSERT INTO h(x) SELECT new.k WHERE 1 OR new.fail;", INSERT, ""),
    "OR fail as an operator": ("INSERT INTO h(x) SELECT new.k FROM h WHERE x = 1 AND (x OR fail);", INSERT, ""),
    "a statement with a text": ("INSERT INTO h(x) VALUES (new.k);",
                                "INSERT INTO u(id, k, fail) VALUES (5005, 'new', 'or fail') /* INSERT OR FAIL */", ""),
    "an unrelated constraint": ("INSERT INTO h(x) VALUES (new.k);", INSERT, ""),
    "an unrelated RAISE": ("INSERT INTO h(x) VALUES (new.k);", INSERT,
                           "CREATE TRIGGER zt BEFORE INSERT ON z BEGIN SELECT RAISE(FAIL, 'x'); END"),
    "an unrelated OR FAIL": ("INSERT INTO h(x) VALUES (new.k);", INSERT,
                             "CREATE TRIGGER zt AFTER INSERT ON z BEGIN INSERT OR FAIL INTO y VALUES (1); END"),
    "a log that nobody may delete from": (
        "INSERT INTO y VALUES (1);", INSERT,
        "CREATE TRIGGER y1 BEFORE DELETE ON y BEGIN SELECT RAISE(FAIL, 'append only'); END; "
        "CREATE TRIGGER y2 BEFORE UPDATE ON y BEGIN SELECT RAISE(FAIL, 'append only'); END"),
    "a child of the log": ("INSERT INTO parent VALUES (2);", INSERT,
                           "CREATE TRIGGER ct BEFORE DELETE ON child BEGIN SELECT RAISE(FAIL, 'keep'); END"),
    # harmless: SQLite undoes the row, or goes on
    "RAISE(ABORT)": ("SELECT RAISE(ABORT, 'fail');", INSERT, ""),
    "RAISE(ABORT) under OR FAIL": ("SELECT RAISE(ABORT, 'fail') WHERE new.k = 'bad';", OR_FAIL, ""),
    "OR IGNORE": ("INSERT OR IGNORE INTO h(x) VALUES (1);", INSERT, ""),
    "OR IGNORE in the statement": ("INSERT INTO h(x) VALUES (1);", INSERT.replace("INSERT", "INSERT OR IGNORE"), ""),
    "OR REPLACE in the statement": ("INSERT INTO h(x) VALUES (1);", INSERT.replace("INSERT", "INSERT OR REPLACE"), ""),
    "ON CONFLICT IGNORE": ("INSERT INTO hi VALUES (1);", INSERT, ""),
    "a constraint": ("INSERT INTO h(x) VALUES (1);", INSERT, ""),
    "RAISE(IGNORE) of another table": ("INSERT INTO y VALUES (1);", INSERT,
                                       "CREATE TRIGGER yt AFTER INSERT ON y BEGIN SELECT RAISE(IGNORE); END"),
    "OR FAIL elsewhere": ("INSERT INTO h(x) VALUES (1);", "INSERT OR FAIL INTO z VALUES (1)", ""),
    # harmful
    "RAISE(IGNORE)": ("SELECT RAISE(IGNORE);", INSERT, ""),
    "RAISE(IGNORE), spelled": ("SELECT/**/raise --\n(\t/* fail */ Ignore\n);", INSERT, ""),
    "RAISE(FAIL)": ("SELECT RAISE(FAIL, 'no');", INSERT, ""),
    "RAISE(FAIL), spelled": ("SELECT RaISE ( FAIL , 'x' );", INSERT, ""),
    "OR FAIL": ("INSERT OR FAIL INTO h(x) VALUES (1);", INSERT, ""),
    "OR FAIL, spelled": ("insert/**/or\n/* ' */fail\tinto h(x) VALUES (1);", INSERT, ""),
    "UPDATE OR FAIL": ("INSERT INTO h(x) VALUES (2); UPDATE OR -- or\n FAIL h SET x = 1 WHERE x = 2;", INSERT, ""),
    "ON CONFLICT FAIL": ("INSERT INTO hf VALUES (1);", INSERT, ""),
    "ON CONFLICT FAIL, quoted": ('INSERT INTO "HF" VALUES (1);', INSERT, ""),
    "OR FAIL in the statement": ("INSERT INTO h(x) VALUES (1);", OR_FAIL, ""),
    "OR FAIL in the statement, spelled": ("INSERT INTO h(x) VALUES (1);",
                                          "/* a */ insert OR/**/fail into [U](id, k) values (5005, 'new')", ""),
    "OR FAIL in an upsert": ("INSERT INTO h(x) VALUES (1);", OR_FAIL + " ON CONFLICT DO NOTHING", ""),
    "OR FAIL behind WITH": ("INSERT INTO h(x) VALUES (1);",
                            "WITH a(b) AS (SELECT 'new') INSERT OR FAIL INTO u(id, k) SELECT 5005, b FROM a", ""),
    "UPDATE OR FAIL in the statement": ("INSERT INTO h(x) VALUES (1);",
                                        "UPDATE OR FAIL u SET k = 'new' WHERE id = 5000", ""),
    "RAISE(FAIL) of another table": ("INSERT INTO y VALUES (1);", INSERT,
                                     "CREATE TRIGGER yt BEFORE INSERT ON y BEGIN SELECT RAISE(FAIL, 'x'); END"),
    "RAISE(FAIL) behind two tables": ("INSERT INTO y VALUES (1);", INSERT,
                                      "CREATE TRIGGER yt AFTER INSERT ON y BEGIN INSERT INTO z VALUES (1); END; "
                                      "CREATE TRIGGER zt AFTER INSERT ON z BEGIN SELECT RAISE(FAIL, 'x'); END"),
    "OR FAIL behind a view": ("INSERT INTO v VALUES (1);", INSERT,
                              "CREATE TRIGGER vt INSTEAD OF INSERT ON v BEGIN INSERT OR FAIL INTO h(x) VALUES (1); END"),
    "RAISE(FAIL) behind a foreign key": ("DELETE FROM parent;", INSERT,
                                         "CREATE TRIGGER ct AFTER DELETE ON child BEGIN SELECT RAISE(FAIL, 'x'); END"),
    "RAISE(FAIL) behind two foreign keys": (
        "UPDATE parent SET id = 1; DELETE FROM parent WHERE id = 1;", INSERT,
        "CREATE TABLE grandchild(p REFERENCES child(p) ON DELETE CASCADE); CREATE UNIQUE INDEX c ON child(p); "
        "INSERT INTO grandchild VALUES (1); "
        "CREATE TRIGGER gt AFTER DELETE ON grandchild BEGIN SELECT RAISE(FAIL, 'x'); END"),
    "RAISE(FAIL) behind a REPLACE": ("REPLACE INTO h(x) VALUES (1);", INSERT,
                                     "PRAGMA recursive_triggers = on; "
                                     "CREATE TRIGGER ht BEFORE DELETE ON h BEGIN SELECT RAISE(FAIL, 'x'); END"),
    "RAISE(FAIL) behind an upsert": ("INSERT INTO h(x) VALUES (1) ON CONFLICT(x) DO UPDATE SET fail = 1;", INSERT,
                                     "CREATE TRIGGER ht INSERT ON z BEGIN SELECT 1; END; "
                                     "CREATE TRIGGER h2 BEFORE UPDATE OF fail ON h BEGIN SELECT RAISE(FAIL, 'x'); END"),
    "OR FAIL of another trigger": ("INSERT INTO h(x) VALUES (1);", "INSERT INTO y VALUES (1)",
                                   "CREATE TRIGGER yt AFTER INSERT ON y BEGIN INSERT OR FAIL INTO u(id, k) VALUES (5005, 'new'); END"),
    "OR FAIL in the statement of another table": (
        "INSERT INTO h(x) VALUES (1);", "INSERT OR FAIL INTO y VALUES (1)",
        "CREATE TRIGGER yt AFTER INSERT ON y BEGIN INSERT INTO u(id, k) VALUES (5005, 'new'); END"),
}
# Of the harmless ones: under OR FAIL they would violate a constraint and keep a row.
MAY_FAIL = {"a table raise",  # which has a column of the name of a table with a unique key
            "a column fail", "a quoted column", "a table fail", "a text", "a comment", "an alias", "an operator",
            "OR fail as an operator",
            "a statement with a text", "an unrelated constraint", "an unrelated RAISE", "an unrelated OR FAIL",
            "a child of the log",
            "OR IGNORE", "OR IGNORE in the statement", "OR REPLACE in the statement", "ON CONFLICT IGNORE",
            "a constraint",
            "OR FAIL elsewhere"}

FRAMES = {"autocommit": [], "joined": ["BEGIN", "UPDATE u SET k = k WHERE id = 10"], "first": ["BEGIN"],
          "savepoint": ["BEGIN", "UPDATE u SET k = k WHERE id = 10", "SAVEPOINT a"]}
KINDS = {"newer": "CREATE TRIGGER newer AFTER {event} ON u BEGIN {body} END",
         "temporary": "CREATE TEMP TRIGGER newer AFTER {event} ON main.u BEGIN {body} END"}


def world():
    db = support.connect()
    db.execute("PRAGMA foreign_keys = on")
    db.executescript(TABLES)
    return db


def make_trigger(db, kind, body, statement):
    event = "UPDATE" if statement.startswith("UPDATE") else "INSERT"
    db.execute(KINDS[kind].format(event=event, body=body))


def without_filter(kind, case, frame):
    """What SQLite does by itself: (does it keep a row without the older trigger?, the error, the rows)."""
    body, statement, more = CASES[case]
    db = world()
    db.executescript("CREATE TABLE told(k); CREATE TRIGGER older AFTER INSERT ON u BEGIN INSERT INTO told VALUES (new.k); END;"
                     "CREATE TRIGGER older2 AFTER UPDATE ON u BEGIN INSERT INTO told VALUES (new.k); END;" + more)
    for sql in FRAMES[frame]:
        db.execute(sql)
    make_trigger(db, kind, body, statement)
    error = run(db, statement)
    kept = db.execute("SELECT 1 FROM u WHERE k = 'new' AND k NOT IN (SELECT k FROM told)").fetchone()
    rows = db.execute("SELECT count(*), sum(id) FROM u").fetchall()
    db.close()
    return bool(kept), str(error), rows


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", CASES)
def test_what_can_keep_a_row_and_nothing_else_is_refused(case, kind, frame):
    body, statement, more = CASES[case]
    harmful, plain_error, plain_rows = without_filter(kind, case, frame)
    assert harmful == (list(CASES).index(case) >= list(CASES).index("RAISE(IGNORE)")), "SQLite does otherwise"
    db = world()
    db.executescript(more)
    follower = Follower(db).create(EXACT)
    for sql in FRAMES[frame]:
        db.execute(sql)
    make_trigger(db, kind, body, statement)
    error = run(db, statement)
    assert (str(error), db.execute("SELECT count(*), sum(id) FROM u").fetchall()) == (plain_error, plain_rows)
    assert follower.answers() or harmful or case in MAY_FAIL
    if case in MAY_FAIL and kind == "newer" and not db.in_transaction:
        follower.rebuild()
        assert follower.answers(), "its triggers are the newest now"
    if harmful:
        schema = "temp." if kind == "temporary" else ""
        db.execute(f"DROP TRIGGER {schema}newer")
        db.execute("DROP TRIGGER IF EXISTS yt")
        follower.answers()
        assert run(db, "INSERT INTO u(k) VALUES ('after')") is None
    if db.in_transaction:
        db.execute("COMMIT")
    if case in MAY_FAIL and kind == "temporary":
        db.execute("DROP TRIGGER temp.newer")
    follower.settled()
    db.close()


AUDITS = {
    "an audit": ("CREATE TABLE audit(id INTEGER PRIMARY KEY, k, at DEFAULT CURRENT_TIMESTAMP)",
                 "INSERT INTO audit(k) VALUES (new.k)"),
    "without list": ("CREATE TABLE audit(k, at)", "INSERT INTO audit VALUES (new.k, 1)"),
    "a time": ("ALTER TABLE u ADD COLUMN at", "UPDATE u SET at = CURRENT_TIMESTAMP, fail = 1 WHERE id = new.id"),
    "a count": ("CREATE TABLE audit(name PRIMARY KEY, n)", "UPDATE audit SET n = n + 1 WHERE name = 'u'"),
    "a delete": ("CREATE TABLE audit(name PRIMARY KEY, n NOT NULL CHECK (n > 0))", "SELECT 1 FROM audit"),
    # these may fail
    "the key of an audit": ("CREATE TABLE audit(id INTEGER PRIMARY KEY, k)",
                            "INSERT INTO audit(id, k) VALUES (new.id, new.k)"),
    "all of an audit": ("CREATE TABLE audit(id INTEGER PRIMARY KEY, k)", "INSERT INTO audit VALUES (new.id, new.k)"),
    "not null": ("CREATE TABLE audit(k, who NOT NULL)", "INSERT INTO audit(k) VALUES (new.k)"),
    "a check": ("CREATE TABLE audit(k, CHECK (k <> 'new'))", "INSERT INTO audit(k) VALUES (new.k)"),
    "an index": ("CREATE TABLE audit(k, x); CREATE UNIQUE INDEX one ON audit(x)",
                 "INSERT INTO audit(k, x) VALUES (new.k, 1)"),
    "a key": ("CREATE TABLE audit(k, x, PRIMARY KEY(k, x))", "INSERT INTO audit(k, x) VALUES (new.k, 1)"),
    "the column": ("CREATE TABLE audit(k)", "UPDATE u SET k = 'k2' WHERE id = new.id"),
}


@pytest.mark.parametrize("case", AUDITS)
def test_a_newer_trigger_that_cannot_fail_does_no_harm(case):
    more, body = AUDITS[case]
    db = world()
    db.executescript(more)
    follower = Follower(db).create(EXACT)
    db.execute(f"CREATE TRIGGER newer AFTER INSERT ON u BEGIN {body}; END")
    run(db, OR_FAIL)
    assert follower.answers() or list(AUDITS).index(case) >= list(AUDITS).index("the key of an audit")
    follower.settled()
    db.close()


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


def test_a_harmful_trigger_on_an_attached_table(tmp_path):
    """A TEMP trigger may write to any schema, and set off what is there."""
    db = world()
    db.execute("ATTACH ? AS other", (str(tmp_path / "other.db"),))
    db.execute("CREATE TABLE other.away(x)")
    db.execute("CREATE TRIGGER other.at BEFORE INSERT ON away BEGIN SELECT RAISE(FAIL, 'no'); END")
    follower = Follower(db).create(EXACT)
    db.execute("CREATE TEMP TRIGGER newer AFTER INSERT ON main.u BEGIN INSERT INTO away VALUES (1); END")
    assert run(db, INSERT) and not follower.answers()
    db.execute("DROP TRIGGER newer")
    assert follower.doubts()  # SQLite has kept the row
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
