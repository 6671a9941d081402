# SPDX-License-Identifier: MIT
"""Triggers of the user beside those of the filter: older and newer, temporary, with SQL that functions run; triggers of the
filter that are gone, or are not what they were; triggers that are off.
"""
import itertools
import sqlite3

import pytest

import inside
import support
from promises import CONFLICTS, EXACT, Follower, attempt, bare, exercise, people, script, settle
from support import ENABLE_TRIGGER, ask, configure


# ---- the user's own triggers; tests/sim and random_triggers.py have more of them ----

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


FAILING = ["SELECT abs(-9223372036854775808) WHERE new.k LIKE 'bad%'", "SELECT json(new.k) WHERE new.k LIKE 'bad%'",
           "SELECT zeroblob(9223372036854775807) WHERE new.k LIKE 'bad%'"]


@pytest.mark.parametrize("body", FAILING)
@pytest.mark.parametrize("begin", ["", "BEGIN", "SAVEPOINT s"])
@pytest.mark.parametrize("who", ["bare", "with the extension"])
def test_a_newer_trigger_whose_expression_fails_keeps_no_row(tmp_path, who, begin, body):
    """SQLite before 3.39.3 opened no statement journal for it: the row stayed, and its other triggers never ran."""
    f = people(support.connect(tmp_path / "t.db"), column="k")
    for event in ("INSERT", "UPDATE"):
        f.db.execute(f"CREATE TRIGGER newer{event} AFTER {event} ON u BEGIN {body}; END")
    assert f.answers()
    writer = bare(tmp_path / "t.db") if who == "bare" else f.db
    script(writer, begin)
    for sql in ("INSERT INTO u(k) VALUES ('good')", "INSERT INTO u(k) VALUES ('fine'), ('bad'), ('never')",
                "UPDATE u SET k = 'bad' || id WHERE id > 2", "INSERT OR IGNORE INTO u(k) VALUES ('bad2')",
                "INSERT INTO u(k) SELECT 'bad3' FROM u"):
        assert (attempt(writer, sql) is None) == ("good" in sql), sql
    script(writer, "COMMIT" if begin else "")
    assert ask(writer, "SELECT count(*) FROM u WHERE k LIKE 'bad%'") == 0
    settle(f)


@pytest.mark.parametrize("sql", ["INSERT INTO f(f) VALUES ('rebuild')", "INSERT INTO f(f) VALUES ('clear')",
                                 "INSERT INTO f(f) VALUES ('optimize')", "DELETE FROM f WHERE key = 'A1'",
                                 "SELECT cf_table_rebuild('f')", "INSERT INTO f(f, key) SELECT 'import', cf_new(10)"])
@pytest.mark.parametrize("event", ["AFTER DELETE", "AFTER INSERT", "AFTER UPDATE", "BEFORE DELETE", "BEFORE UPDATE"])
def test_upkeep_within_a_trigger(event, sql):
    """rebuild read the content without the row, and then the delete that waited took another's fingerprint."""
    db = support.connect()
    db.execute("PRAGMA recursive_triggers = on")
    db.execute("CREATE TABLE u(id INTEGER PRIMARY KEY, k, x)")
    f = Follower(db).create()
    db.execute("INSERT INTO u(k) VALUES ('A1'), ('A1'), ('b2'), ('c3')")
    db.execute(f"CREATE TRIGGER t {event} ON u BEGIN {sql}; END")
    for begin in ("", "BEGIN"):
        script(db, begin)
        for change in ("DELETE FROM u WHERE id = 1", "INSERT INTO u(k) VALUES ('A1'), ('d4')",
                       "UPDATE u SET k = k || 'x'",
                       "DELETE FROM u WHERE id = 3"):
            attempt(db, change, f)
        if db.in_transaction:
            db.execute("COMMIT")
        f.answers()
    db.execute("DROP TRIGGER t")
    f.settled()
    db.close()


# ---- one of the filter's own triggers is not there, or not what it was ----

@pytest.mark.parametrize("which", range(3))
@pytest.mark.parametrize("instead", ["nothing", "another", "with one statement more", "on another table"])
def test_a_trigger_of_the_filter_is_gone_or_changed(db, which, instead):
    follower = people(db)
    name, sql = inside.own_triggers(db)[which]
    db.execute(f"DROP TRIGGER {name}")
    if instead == "another":
        db.execute(f"CREATE TRIGGER {name} AFTER INSERT ON u BEGIN SELECT 1; END")
    elif instead == "with one statement more":
        db.execute(sql.replace("BEGIN", "BEGIN SELECT 1;", 1))
    elif instead == "on another table":
        db.execute(f"CREATE TRIGGER {name} AFTER INSERT ON other BEGIN SELECT 1; END")
    assert follower.doubts()
    exercise(db, "", follower)
    follower.rebuild()
    follower.exact()
    exercise(db, "", follower)
    follower.exact()


def test_all_triggers_gone_and_back(db):
    """The same text, after rows that nobody has told the filter of."""
    follower = people(db)
    kept = inside.own_triggers(db)
    inside.drop_own_triggers(db)
    db.execute("INSERT INTO u(k) VALUES ('unseen')")
    for _, sql in kept:
        db.execute(sql)
    follower.answers()
    follower.rebuild()
    follower.exact()


@pytest.mark.parametrize("begin", [False, True])
def test_triggers_that_are_off(db, begin):
    f = people(db)
    assert f.answers()
    if begin:
        db.execute("BEGIN")
    configure(db, ENABLE_TRIGGER, 0)
    attempt(db, "INSERT INTO u(k) VALUES ('unseen')", f)
    assert f.doubts(), "with triggers off nothing is followed"
    configure(db, ENABLE_TRIGGER, 1)
    f.answers()
    if begin:
        db.execute("COMMIT")
    f.answers()
    f.rebuild()
    f.exact()
    exercise(db, "", f)
    f.exact()


def test_rows_of_the_middle_while_triggers_were_off(db):
    """They are looked for among all rows once the triggers are on again: the first and the last rows are there."""
    f = people(db)
    configure(db, ENABLE_TRIGGER, 0)
    attempt(db, "INSERT INTO u(k) VALUES ('unseen')", f)
    assert f.doubts()
    configure(db, ENABLE_TRIGGER, 1)
    for i in range(40):
        db.execute("INSERT INTO u(k) VALUES (?)", (f"later {i}",))
    assert f.doubts()
    f.rebuild()
    f.exact()


def test_old_rows_that_nobody_was_told_of(db):
    """The filter notices by a row whose key it did not hold, and says so until it is made anew."""
    f = people(db, column="k")
    inside.was_unmatched(db)
    assert f.doubts()
    f.rebuild()
    f.exact()


# ---- SQL that a function runs while a statement is running ----

NESTED = ["INSERT INTO u(k) VALUES ('n' || (SELECT count(*) FROM u))", "DELETE FROM u WHERE id = 1",
          "UPDATE u SET k = k || 'n' WHERE id IN (1, 2)", "REPLACE INTO u(id, k) VALUES (1, 'n1'), (9, 'b2')",
          "UPDATE OR IGNORE u SET k = 'A1' WHERE id = 2", "INSERT OR IGNORE INTO u(k) VALUES ('b2'), ('n2')",
          "SELECT count(*) FROM u WHERE NOT cf_table_contains('f', k)", "INSERT INTO other VALUES (1)",
          "INSERT INTO u(id, k) VALUES (90000, 'q'), (1, 'q')", "SAVEPOINT s"]


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
        script(db, "COMMIT" if db.in_transaction else "")
        follower.exact()
        db.close()


def test_sql_of_a_function_that_takes_back_the_statement_around_it():
    """SQLite answers SQLITE_CONSTRAINT_PINNED, rolls back, and lets the trigger around it go on, outside of any transaction:
    its row of the log stays, and says of a row that is there that it has gone."""
    db = support.connect()
    db.execute("PRAGMA recursive_triggers = on")
    db.execute("CREATE TABLE u(id INTEGER PRIMARY KEY, k UNIQUE, x)")
    trigger = "CREATE TRIGGER t AFTER DELETE ON u BEGIN SELECT run('DELETE FROM u') WHERE old.k % 3 = 0; END"
    done = []

    def run(sql):
        if not done:
            done.append(sql)
            with pytest.raises(sqlite3.IntegrityError):
                db.execute(sql)

    db.create_function("run", 1, run)
    db.execute(trigger)
    follower = Follower(db, column="x").create(EXACT)
    db.executemany("INSERT INTO u VALUES (?, ?, ?)",
                   [(i, k, 1000 + i) for i, k in ((24, 18), (27, 35), (29, 51), (31, 3), (33, 39), (36, 24), (37, 34))])
    attempt(db, "UPDATE OR REPLACE u SET k = id, id = k WHERE k % 3 = 0", follower)
    assert done
    assert follower.items() >= follower.rows()
    db.execute("INSERT INTO f(f) VALUES ('drain')")
    follower.answers()
    db.close()


QUOTED = ["{0}", '"{0}"', "[{0}]", "`{0}`", "/* x */ {0}", "-- y\n{0}"]


@pytest.mark.parametrize("quoted", QUOTED)
@pytest.mark.parametrize("writes", ["INSERT INTO {table}(k) VALUES (new.x)", "DELETE FROM {table} WHERE k = new.x",
                                    "UPDATE {table} SET {column} = new.x", "REPLACE INTO {table}(k) VALUES (new.x)",
                                    "UPDATE {table} SET n = 1, {column} = new.x WHERE n = 2"])
def test_names_in_triggers_may_be_quoted(db, writes, quoted):
    """A BEFORE trigger that writes, and another one that writes to the content: together they are refused."""
    db.execute("CREATE TABLE u(k UNIQUE, n)")
    db.execute("CREATE TABLE o(x)")
    db.execute("CREATE TRIGGER early BEFORE UPDATE ON u BEGIN UPDATE o SET x = 1; END")
    body = writes.format(table=quoted.format("u"), column=quoted.format("K"))
    db.execute(f"CREATE TRIGGER late AFTER INSERT ON o BEGIN {body}; END")
    with pytest.raises(sqlite3.Error, match="early"):
        db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(content='u(k)')")
    db.execute("DROP TRIGGER late")
    db.execute("CREATE TRIGGER late AFTER INSERT ON o BEGIN UPDATE u SET n = 'u' WHERE k = '\"u\" into u'; END")
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(content='u(k)')")


def test_a_filter_in_temp_beside_an_older_trigger(db):
    """TEMP triggers of other schemas fire before ours, those of its own schema as the older ones do."""
    db.executescript("""CREATE TEMP TABLE u(k UNIQUE); CREATE TABLE log(x);
        CREATE TEMP TRIGGER older AFTER INSERT ON temp.u BEGIN INSERT INTO log VALUES (new.k); END;
        CREATE VIRTUAL TABLE temp.f USING cuckoo_filter(content='u(k)'); INSERT INTO u VALUES (1);""")
    assert ask(db, "SELECT json_extract(cf_table_info('f'), '$.trusted')") == 1
    db.execute("CREATE TRIGGER temp.newer AFTER INSERT ON u BEGIN INSERT INTO log VALUES (new.k); END")
    assert ask(db, "SELECT json_extract(cf_table_info('f'), '$.trusted')") == 0


@pytest.mark.parametrize("event", ["BEFORE DELETE", "BEFORE UPDATE", "AFTER DELETE", "AFTER INSERT"])
def test_what_is_written_beside_a_temp_trigger_that_breaks_the_rules_is_noted(tmp_path, event):
    """Other connections do not see the trigger. The one that has it notes that they must not rely on its rows."""
    path = tmp_path / "t.db"
    db = support.connect(path)
    db.executescript("""PRAGMA recursive_triggers = 1; CREATE TABLE u(id INTEGER PRIMARY KEY, k UNIQUE, n);
        CREATE VIRTUAL TABLE f USING cuckoo_filter(content='u(k)', fpr=0.00001);
        INSERT INTO u VALUES (1, 'a', 0), (2, 'b', 0), (3, 'c', 0);""")
    other = support.connect(path)
    other.executescript(f"""PRAGMA recursive_triggers = 1;
        CREATE TEMP TRIGGER t {event} ON u BEGIN UPDATE OR IGNORE u SET k = 'x' || k WHERE id = 2 AND n = 0; END;
        REPLACE INTO u VALUES (1, 'b', 1), (4, 'a', 1); UPDATE u SET k = k || 'y' WHERE id > 2; DELETE FROM u WHERE id = 3;""")
    assert ask(db, "SELECT json_extract(cf_table_info('f'), '$.trusted')") == 0
    assert ask(db, "SELECT count(*) FROM u WHERE NOT cf_table_contains('f', k)") == 0
    other.close()
    db.execute("INSERT INTO f(f) VALUES ('rebuild')")
    assert ask(db, "SELECT json_extract(cf_table_info('f'), '$.trusted')") == 1
    assert ask(db, "SELECT count(*) FROM u WHERE NOT cf_table_contains('f', k)") == 0
