# SPDX-License-Identifier: MIT
"""What went wrong in first designs of the log, each a test: TEMP triggers at the wrong time, orphans, steps that are false, rowids.

After each of them no stored row is denied, no statement has failed that would not fail without the filter, and when the log has
been drained the filter holds what the column holds.
"""
import sqlite3

import pytest

import support
from logs import TABLES, bare, create, drain, log_of, logged, run, sees, settle, settle_anew, shell, watchers
from promises import EXACT, Follower, attempt
from support import ask


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "traps.db")


def late_comer(path, table="key"):
    """A connection that has the extension, and was there before the filter: it has no TEMP trigger yet."""
    db = support.connect(path)
    db.execute("SELECT * FROM sqlite_master").fetchall()
    maker = support.connect(path)
    create(maker, table)
    assert watchers(db) == []
    return db, Follower(db), maker


# ---- the TEMP trigger, made at the wrong time ----

def test_no_temp_trigger_is_made_in_a_running_insert(path):
    """It expired the statement: "abort due to ROLLBACK", and a row stayed without its row in the log."""
    db, f, _ = late_comer(path)
    db.create_function("look", 1, lambda key: key if ask(db, "SELECT cf_table_contains('f', 'A1')") else None)
    db.execute("INSERT INTO u(k) SELECT look(k || '!') FROM u WHERE k IS NOT NULL")
    assert [new for _, _, new in logged(db)] == ["A1!", "b2!", "C3!", "e5!"]
    settle(f)


@pytest.mark.parametrize("begin", [False, True])
def test_no_temp_trigger_is_made_while_a_select_runs(path, begin):
    db, f, _ = late_comer(path)
    db.execute("BEGIN") if begin else None
    rows = db.execute("SELECT k FROM u ORDER BY id")
    seen = [next(rows)]
    assert sees(db, "A1") and watchers(db) == []
    db.execute("INSERT INTO other VALUES (1)")
    seen += rows.fetchall()
    assert len(seen) == 5
    db.execute("DELETE FROM u WHERE id = 1")
    db.execute("COMMIT") if begin else None
    settle(f)


def test_a_temp_trigger_is_made_when_nothing_runs(path):
    db, f, _ = late_comer(path)
    db.execute("SELECT * FROM f WHERE key = 'A1'").fetchall()
    db.execute("DELETE FROM u WHERE id = 1")
    assert len(watchers(db)) == 1 and logged(db) == []
    settle(f)


ALTERS = ["ALTER TABLE u RENAME TO v", "ALTER TABLE u RENAME COLUMN k TO key", "ALTER TABLE u ADD COLUMN y",
          "ALTER TABLE other RENAME TO others", "ALTER TABLE other RENAME COLUMN x TO y", "ALTER TABLE other ADD COLUMN y",
          "ALTER TABLE f RENAME TO g", "ALTER TABLE u RENAME COLUMN x TO y"]
if sqlite3.sqlite_version_info >= (3, 35):
    ALTERS += ["ALTER TABLE u DROP COLUMN x"]


@pytest.mark.parametrize("sql", ALTERS)
@pytest.mark.parametrize("begin", ["", "BEGIN", "SAVEPOINT s"])
def test_no_temp_trigger_is_made_in_the_parse_of_alter(path, begin, sql):
    """ALTER connects the filter, and is the first that does so in this connection: every ALTER failed."""
    db, _, _ = late_comer(path)
    db.execute(begin)
    db.execute(sql)
    db.execute("COMMIT") if begin else None
    name, table, column = "g" if "TO g" in sql else "f", "v" if "TO v" in sql else "u", "key" if "TO key" in sql else "k"
    f = Follower(db, table, column, name)
    db.execute(f"INSERT INTO {table}({column}) VALUES ('after')")
    db.execute(f"DELETE FROM {table} WHERE {column} = 'b2'")
    settle(f)


# ---- orphans ----

def test_an_orphan_of_a_foreign_drop_lets_rows_be_written(path):
    db, other = support.connect(path), support.connect(path)
    create(db)
    other.execute("DROP TABLE f")
    assert len(watchers(db)) == 1
    for sql in ("INSERT INTO u(k) VALUES ('n')", "UPDATE u SET k = k || '!'", "DELETE FROM u", "CREATE TABLE t(x)", "VACUUM"):
        db.execute(sql)


def test_an_orphan_of_a_foreign_drop_says_what_to_do_in_alter(path):
    """SQLite names the trigger whose table is gone. A connection that comes anew has none."""
    db, other = support.connect(path), support.connect(path)
    create(db)
    other.execute("DROP TABLE f")
    error = attempt(db, "ALTER TABLE u RENAME TO v")
    assert error is None or "connect_anew_if_its_table_is_gone" in str(error)
    support.connect(path).execute("ALTER TABLE u RENAME TO w")
    bare(path).execute("ALTER TABLE w RENAME TO u")


def test_an_orphan_of_a_foreign_drop_and_a_new_filter_of_that_name(path):
    db, other = support.connect(path), support.connect(path)
    f = create(db)
    other.execute("DROP TABLE f")
    Follower(other).create()
    for sql in ("INSERT INTO u(k) VALUES ('n')", "DELETE FROM u WHERE id = 1", "UPDATE u SET k = 'b' WHERE id = 2"):
        db.execute(sql)
        assert f.answers()
    settle(f)
    settle_anew(path)


@pytest.mark.parametrize("successor", [False, True])
def test_an_orphan_of_a_foreign_rename(path, successor):
    """The TEMP trigger has the old name, of which there may be another filter now."""
    db, other = support.connect(path), support.connect(path)
    create(db)
    other.execute("ALTER TABLE f RENAME TO g")
    if successor:
        Follower(other).create()
    for sql in ("INSERT INTO u(k) VALUES ('n')", "DELETE FROM u WHERE id = 1", "BEGIN", "UPDATE u SET k = 'b' WHERE id = 2",
                "SAVEPOINT s", "DELETE FROM u WHERE id = 3", "ROLLBACK TO s", "COMMIT"):
        db.execute(sql)
        assert Follower(db, name="g").answers()
    settle(Follower(db, name="g"))
    if successor:
        settle(Follower(db))
    db.execute("ALTER TABLE u RENAME TO v")


def test_no_orphan_of_detach_and_attach(path, tmp_path):
    """A TEMP trigger on a table of a database that is detached would fail in each ALTER."""
    create(support.connect(path))
    db = support.connect(str(tmp_path / "main.db"))
    db.execute("CREATE TABLE here(x)")
    for name in ("one", "two"):
        db.execute(f"ATTACH ? AS {name}", (path,))
        f = Follower(db, f"{name}.u", "k", f"{name}.f")
        db.execute(f"SELECT * FROM {name}.f WHERE key = 'A1'").fetchall()  # connects it while nothing runs
        db.execute(f"INSERT INTO {name}.u(k) VALUES ('{name}')")
        db.execute(f"DELETE FROM {name}.u WHERE id = {len(name)}")
        assert f.answers() and watchers(db) == []
        db.execute(f"DETACH {name}")
        db.execute("ALTER TABLE here RENAME TO there")
        db.execute("ALTER TABLE there RENAME TO here")
    settle_anew(path)


def test_a_filter_of_the_schema_temp_drains_and_leaves_nothing(path):
    db = support.connect(path)
    db.execute("CREATE TEMP TABLE u(id INTEGER PRIMARY KEY, k)")
    db.execute(f"CREATE VIRTUAL TABLE temp.f USING cuckoo_filter({EXACT}, content='u(k)')")
    db.execute("INSERT INTO u(k) VALUES ('a'), ('b')")
    db.execute("DELETE FROM u WHERE k = 'a'")
    assert ask(db, "SELECT json_extract(cf_table_info('f'), '$.undrained')") == 0 and not sees(db, "a") and sees(db, "b")
    db.execute("DROP TABLE temp.f")
    assert db.execute("SELECT name FROM sqlite_temp_master").fetchall() == [("u",)]


def test_a_stale_temp_trigger_is_replaced(path):
    """One of that name which says something else, as after a rename in a savepoint that was rolled back."""
    f = create(support.connect(path))
    name = watchers(f.db)[0]
    f.db.executescript(f"BEGIN; SAVEPOINT s; ALTER TABLE f RENAME TO g; ROLLBACK TO s; COMMIT; DROP TRIGGER temp.\"{name}\";"
                       f"CREATE TEMP TRIGGER \"{name}\" AFTER INSERT ON main.{log_of(f.db)} BEGIN SELECT 1; END")
    f.db.execute("ALTER TABLE f RENAME TO g")
    assert "cf_touch('main', 'g'" in ask(f.db, "SELECT sql FROM sqlite_temp_master WHERE name = ?", name)
    f.db.execute("DELETE FROM u WHERE id = 1")
    assert logged(f.db, "g") == []
    settle(Follower(f.db, name="g"))


# ---- the statement journal ----

FAILING = ["SELECT abs(-9223372036854775808) WHERE new.k LIKE 'bad%'", "SELECT json(new.k) WHERE new.k LIKE 'bad%'",
           "SELECT zeroblob(9223372036854775807) WHERE new.k LIKE 'bad%'"]


@pytest.mark.parametrize("body", FAILING)
@pytest.mark.parametrize("begin", ["", "BEGIN", "SAVEPOINT s"])
@pytest.mark.parametrize("who", ["bare", "with the extension"])
def test_a_newer_trigger_whose_expression_fails_keeps_no_row_unlogged(path, who, begin, body):
    """SQLite before 3.39.3 opened no statement journal for it: the row stayed, and its other triggers never ran."""
    f = create(support.connect(path))
    f.db.execute(f"CREATE TRIGGER newer AFTER INSERT ON u BEGIN {body}; END")
    f.db.execute(f"CREATE TRIGGER newer2 AFTER UPDATE ON u BEGIN {body}; END")
    assert f.answers()
    writer = bare(path) if who == "bare" else f.db
    writer.execute(begin)
    for sql in ("INSERT INTO u(k) VALUES ('good')", "INSERT INTO u(k) VALUES ('fine'), ('bad'), ('never')",
                "UPDATE u SET k = 'bad' || id WHERE id > 2", "INSERT OR IGNORE INTO u(k) VALUES ('bad2')",
                "INSERT INTO u(k) SELECT 'bad3' FROM u"):
        error = attempt(writer, sql)
        assert (error is None) == ("good" in sql), sql
    writer.execute("COMMIT") if begin else None
    assert ask(writer, "SELECT count(*) FROM u WHERE k LIKE 'bad%'") == 0
    settle(f)


# ---- steps that sum up, and are false ----

@pytest.mark.parametrize("table", ["key", "rowid"])
def test_a_to_b_nested_then_told_a_to_b_by_the_outer_one(path, table):
    """The sum takes `a` away twice: and another row has `a`."""
    f, writer = create(support.connect(path), table), bare(path)
    f.db.execute("INSERT INTO u(id, k) VALUES (6, 'A1')")
    drain(f.db)
    f.db.execute("CREATE TRIGGER t BEFORE UPDATE ON u WHEN old.k = 'A1' AND new.k = 'B' BEGIN "
                 "UPDATE u SET k = 'B' WHERE id = old.id AND k <> 'B'; END")
    writer.execute("UPDATE u SET k = 'B' WHERE id = 1")
    assert [row[1:] for row in logged(writer)] == [("A1", "B"), ("A1", "B")]
    assert f.answers()
    settle(f, stale=table == "rowid")
    assert sees(f.db, "A1") and sees(f.db, "B")


@pytest.mark.parametrize("table", ["key", "rowid"])
def test_5_to_nothing_nothing_to_2_2_to_5_nested_2_to_nothing_stale(path, table):
    """The sum is that a 2 has gone. The truth is that a 5 has; and other rows have 2 and 5."""
    f, writer = create(support.connect(path), table), bare(path)
    f.db.execute("INSERT INTO u(rowid, id, k) VALUES (12, 12, 2), (15, 15, 5), (19, 19, 5)" if table == "rowid" else
                 "INSERT INTO u(id, k) VALUES (12, 2), (15, 5), (19, 5)")
    drain(f.db)
    f.db.execute("CREATE TRIGGER t BEFORE DELETE ON u WHEN old.k = 2 BEGIN UPDATE u SET k = 5 WHERE id = old.id; END")
    writer.executescript("BEGIN; DELETE FROM u WHERE id = 19; INSERT INTO u(rowid, id, k) VALUES (19, 19, 2);"
                         "DELETE FROM u WHERE id = 19; COMMIT" if table == "rowid" else
                         "BEGIN; DELETE FROM u WHERE id = 19; INSERT INTO u(id, k) VALUES (19, 2); DELETE FROM u WHERE id = 19; COMMIT")
    assert logged(writer) == [(19, 5, None), (19, None, 2), (19, 2, 5), (19, 2, None)]
    assert f.answers()
    settle(f, stale=table == "rowid")
    assert sees(f.db, 2) and sees(f.db, 5)


@pytest.mark.parametrize("trigger", [False, True])
def test_steps_that_a_function_makes_false(path, trigger):
    """No BEFORE trigger says that old values may lie: SQL that a function runs changes the row at hand."""
    db = support.connect(path)
    f = create(db)
    db.execute("INSERT INTO u(id, k) VALUES (6, 'A1')")
    if trigger:
        db.execute("CREATE TRIGGER t BEFORE UPDATE ON u BEGIN SELECT 1; END")
    once = [1]

    def change(value):
        if once:
            once.pop()
            db.execute("UPDATE u SET k = 'mid' WHERE id = 1")
        return value

    db.create_function("change", 1, change)
    db.execute("UPDATE u SET k = change('B') WHERE id = 1")
    settle(f)
    assert sees(db, "A1")


# ---- rowids ----

def lie(db, table):
    """Makes rows to be looked at one by one."""
    if table != "without rowid":
        db.execute("CREATE TRIGGER t BEFORE UPDATE ON u WHEN new.x = 9 BEGIN UPDATE u SET k = '' WHERE id = -1; END")


@pytest.mark.parametrize("lies", [False, True])
@pytest.mark.parametrize("one", [False, True])
@pytest.mark.parametrize("table", TABLES)
def test_rowids_reused(path, table, one, lies):
    """DELETE FROM u; INSERT: other rows have the numbers of those that went."""
    f, writer = create(support.connect(path), table), bare(path)
    if lies:
        lie(f.db, table)
    for turn in range(3):
        writer.execute("BEGIN") if one else None
        writer.execute("DELETE FROM u")
        writer.execute("INSERT INTO u(id, k) VALUES (1, ?), (2, 'A1'), (3, 'b2'), (4, 'b2')", (f"t{turn}",))
        writer.execute("COMMIT") if one else None
        assert f.answers()
    settle(f)


def renumbered(path, way):
    """The path of the database after it."""
    if way == "VACUUM":
        bare(path).execute("VACUUM")
        return path
    if way == "VACUUM INTO":
        bare(path).execute("VACUUM INTO ?", (path + "2",))
    else:
        shell(path + "2", ".dbconfig defensive off\n" * (sqlite3.sqlite_version_info >= (3, 43)) + shell(path, ".dump"))
    return path + "2"


@pytest.mark.parametrize("lies", [False, True])
@pytest.mark.parametrize("way", ["VACUUM", "VACUUM INTO", "dump and reload"])
@pytest.mark.parametrize("table", TABLES)
def test_rowids_renumbered(path, table, way, lies):
    """Between the time at which the log was written and the time at which it is drained."""
    f = create(support.connect(path), table)
    if lies:
        lie(f.db, table)
    drain(f.db)
    f.db.close()
    writer = bare(path)
    writer.execute("DELETE FROM u WHERE id IN (1, 3)")
    writer.execute("UPDATE u SET k = 'C3' WHERE id = 2")
    writer.execute("INSERT INTO u(id, k) VALUES (30, 'A1'), (31, 'b2'), (32, 'q')")
    writer.execute("DELETE FROM u WHERE id = 30")
    writer.close()
    settle_anew(renumbered(path, way), stale=lies and table == "rowid")


# ---- ids of the log that somebody has written ----

@pytest.mark.parametrize("number", [2**63 - 1, 2**63 - 2, 2**62, 2**62 - 1, -1, -2**63, 1])
@pytest.mark.parametrize("lies", [False, True])
def test_ids_written_by_hand(path, number, lies):
    """Above 2^63-1 there is none: SQLite gives random ids from then on, and later rows lie below those that were read."""
    f, writer = create(support.connect(path)), bare(path)
    if lies:
        lie(f.db, "key")
    writer.execute(f"INSERT INTO {log_of(writer)}(rowid, row, old, new) VALUES (?, NULL, NULL, NULL)", (number,))
    for i in range(12):
        writer.execute("INSERT INTO u(k) VALUES (?)", (f"n{i}",))
        assert f.answers()
    writer.execute("UPDATE u SET k = k || '!' WHERE k LIKE 'n%'")
    writer.execute("DELETE FROM u WHERE id = 1")
    assert f.answers()
    exported = "SELECT count(*) FROM u WHERE NOT cf_contains((SELECT cf_open(cf_export('f'))), k)"
    assert ask(f.db, exported) == 0
    settle(f, stale=True)
    for i in range(3):
        writer.execute("INSERT INTO u(k) VALUES (?)", (f"m{i}",))
        assert f.answers()
    f.rebuild()
    settle(f)


# ---- a set that is believed ----

def test_a_set_is_not_believed_because_the_table_has_joined(path):
    """Others have committed between the last lookup and the transaction that has joined now."""
    f, writer = create(support.connect(path)), bare(path)
    for i in range(6):
        assert f.answers()
        writer.execute("INSERT INTO u(k) VALUES (?)", (f"n{i}",))
        f.db.execute("BEGIN")
        f.db.execute("INSERT INTO u(k) VALUES (?)", (f"own{i}",))
        assert f.answers()
        f.db.execute("COMMIT" if i % 2 else "ROLLBACK")
    settle(f)


@pytest.mark.parametrize("schema", ["main", "other_one"])
@pytest.mark.parametrize("undo", ["ROLLBACK", "ROLLBACK TO s; COMMIT"])
def test_a_set_is_not_believed_after_a_rollback(path, tmp_path, undo, schema):
    """The next rows of others get the ids of those that were rolled back, and the last one has the same key. A filter of an
    attached database has no TEMP trigger."""
    create(support.connect(path))
    writer = bare(path)
    db = support.connect(path if schema == "main" else str(tmp_path / "main.db"))
    if schema != "main":
        db.execute(f"ATTACH ? AS {schema}", (path,))
    f = Follower(db, f"{schema}.u", "k", f"{schema}.f")
    for i in range(6):
        run(db, f"BEGIN; SAVEPOINT s; INSERT INTO {schema}.u(k) VALUES ('lost{i}'), ('same{i}')")
        if i % 2:
            assert sees(db, f"lost{i}", f.name)
        run(db, undo)
        writer.execute("INSERT INTO u(k) VALUES (?), (?)", (f"n{i}", f"same{i}"))
        assert f.answers()
    settle_anew(path)


@pytest.mark.parametrize("schema", ["main", "other_one"])
@pytest.mark.parametrize("begin", ["BEGIN", "BEGIN; INSERT INTO {s}.u(k) VALUES ('early')", "SAVEPOINT s"])
def test_a_set_is_not_believed_after_a_statement_that_failed(path, tmp_path, begin, schema):
    """It was read in the middle of the statement. Then its ids come again, and the last one with the same key."""
    create(support.connect(path))
    db = support.connect(path if schema == "main" else str(tmp_path / "main.db"))
    if schema != "main":
        db.execute(f"ATTACH ? AS {schema}", (path,))
    f = Follower(db, f"{schema}.u", "k", f"{schema}.f")
    db.create_function("look", 1, lambda key: key if sees(db, "A1", f"{schema}.f") and not sees(db, "-", f"{schema}.f") else None)
    run(db, begin.format(s=schema))
    with pytest.raises(sqlite3.IntegrityError):
        db.execute(f"INSERT INTO {schema}.u(id, k) VALUES (50, look('x')), (51, look('z')), (1, look('no'))")
    run(db, f"INSERT INTO {schema}.u(id, k) VALUES (50, 'q'), (51, 'z')")
    assert f.answers()
    db.execute("COMMIT")
    assert f.answers()
    settle_anew(path)
