# SPDX-License-Identifier: MIT
"""The name in content= is used again: another table, view or column has it, and the triggers are on the one of before.

Then the filter is not trusted and says which two they are; the table that has the name now answers, and rebuild moves there.
"""
import json
import os
import sqlite3

import pytest
import random_names
import support
from promises import attempt, bare
from support import ask

LIVES = int(os.environ.get("CUCKOO_NAME_LIVES", "240"))

# What is done with t(k), which has the rows 'old' and 'both'; the place of the triggers afterwards; and whether the name
# stands for an ordinary table with the column.
AGAIN = {
    "a new table": (["ALTER TABLE t RENAME TO t_10", "CREATE TABLE t(k TEXT UNIQUE, x)"], "t_10(k)", True),
    "in other letters": (["ALTER TABLE t RENAME TO t_10", 'CREATE TABLE "T"(K TEXT UNIQUE, x)'], "t_10(k)", True),
    "a copy": (["CREATE TABLE w(k TEXT UNIQUE, x)", "ALTER TABLE t RENAME TO t_10", "ALTER TABLE w RENAME TO t"], "t_10(k)", True),
    "quoted": (["ALTER TABLE t RENAME TO 'a \"b'", "CREATE TABLE t(k TEXT UNIQUE, x)"], 'a "b(k)', True),
    "both renamed": (["ALTER TABLE t RENAME COLUMN k TO j", "ALTER TABLE t RENAME TO t_10", "CREATE TABLE t(k TEXT UNIQUE, x)"],
                     "t_10(j)", True),
    "the column": (["ALTER TABLE t RENAME COLUMN k TO k_old", "ALTER TABLE t ADD COLUMN k TEXT", "CREATE UNIQUE INDEX i ON t(k)"],
                   "t(k_old)", True),
    "a view": (["ALTER TABLE t RENAME TO t_10", "CREATE VIEW t AS SELECT * FROM t_10"], "t_10(k)", False),
    "no such column": (["ALTER TABLE t RENAME TO t_10", "CREATE TABLE t(other TEXT UNIQUE, x)"], "t_10(k)", False),
    "a virtual table": (["ALTER TABLE t RENAME TO t_10", "CREATE VIRTUAL TABLE t USING cuckoo_filter(capacity=9)"], "t_10(k)", False),
}


def made(path=":memory:", schema="main"):
    db = support.connect(path)
    if schema == "aux":
        db.execute("ATTACH ':memory:' AS aux")
    db.execute(f"CREATE TABLE {schema}.t(k TEXT UNIQUE, x)")
    db.execute(f"INSERT INTO {schema}.t VALUES ('old', 1), ('both', 2)")
    for name, more in (("f", ""), ("r", ", rows=on")):
        db.execute(f"CREATE VIRTUAL TABLE {schema}.{name} USING cuckoo_filter(capacity=100, content='t(k)'{more})")
    return db


def told(db, name):
    return json.loads(ask(db, "SELECT cf_table_info(?)", name))


def has(db, name, *keys):
    return [ask(db, "SELECT cf_table_contains(?, ?)", name, key) for key in keys]


def is_moved(db, names, place):
    for name in names:
        info = told(db, name)
        assert info["trusted"] == 0 and f"its triggers, {place}:" in info["why"], info
        assert ask(db, "SELECT cf_table_check(?)", name) == info["why"]
        with pytest.raises(sqlite3.OperationalError, match="now names another table, view or column"):
            schema, plain = name.split(".")
            db.execute(f"INSERT INTO {name}({plain}) VALUES ('check')")


@pytest.mark.parametrize("what", AGAIN)
@pytest.mark.parametrize("schema", ["main", "temp", "aux"])
@pytest.mark.parametrize("begin", [False, True])
def test_the_name_belongs_to_something_else(what, schema, begin):
    statements, place, ordinary = AGAIN[what]
    if schema == "temp" and any("RENAME COLUMN" in sql for sql in statements):
        pytest.skip("SQLite renames no column of a TEMP table that has triggers")
    db = made(schema=schema)
    if begin:
        db.execute("BEGIN")
    for sql in statements:
        for verb in ("ALTER TABLE ", "CREATE TABLE ", "CREATE VIEW ", "CREATE VIRTUAL TABLE ", "CREATE UNIQUE INDEX "):
            sql = sql.replace(verb, f"{verb}{schema}.") if sql.startswith(verb) else sql
        db.execute(sql)
    names = [f"{schema}.f", f"{schema}.r"]
    is_moved(db, names, place)
    if not ordinary:
        for name in names:
            with pytest.raises(sqlite3.OperationalError, match="its triggers, t_10"):
                has(db, name, "old")
            with pytest.raises(sqlite3.OperationalError, match="view|no column|virtual"):
                db.execute("SELECT cf_table_rebuild(?)", (name,))
        return
    db.execute(f"INSERT INTO {schema}.t(k) VALUES ('new'), ('both')")
    for step in range(2):
        for name in names:
            assert has(db, name, "new", "both", "old") == [1, 1, 0]
        for where in ("", " WHERE k = 'new'", " WHERE k = 'old'", " WHERE x = 1", " WHERE k IN ('old', 'both')"):
            rows = db.execute(f"SELECT k FROM {schema}.r{where} ORDER BY 1").fetchall()
            assert rows == db.execute(f"SELECT k FROM {schema}.t{where} ORDER BY 1").fetchall()
        if step == 0:
            for name in names:
                db.execute("SELECT cf_table_rebuild(?)", (name,))
                assert told(db, name)["trusted"] == 1
    tables = db.execute(f"SELECT DISTINCT lower(tbl_name) FROM {schema}.sqlite_master WHERE type = 'trigger' AND name GLOB 'cuckoo_*ed' "
                        "AND name NOT GLOB 'cuckoo_log*'").fetchall()
    assert tables == [("t",)]
    db.execute(f"DELETE FROM {schema}.t WHERE k = 'new'")
    db.execute(f"INSERT INTO {schema}.t(k) VALUES ('newer')")
    assert [has(db, name, "new", "newer") for name in names] == [[0, 1]] * 2
    if begin:
        db.execute("COMMIT")
    assert [ask(db, "SELECT cf_table_check(?)", name) for name in names] == ["ok"] * 2


@pytest.mark.parametrize("ending", ["ROLLBACK", "ROLLBACK TO s"])
@pytest.mark.parametrize("what", AGAIN)
def test_what_is_rolled_back_changes_nothing(what, ending):
    db = made()
    db.executescript("BEGIN; SAVEPOINT s")
    for sql in AGAIN[what][0]:
        db.execute(sql)
    is_moved(db, ["main.f", "main.r"], AGAIN[what][1])
    db.execute(ending)
    assert [told(db, name)["trusted"] for name in ("f", "r")] == [1, 1]
    assert has(db, "f", "old", "both", "new") == [1, 1, 0]
    assert db.execute("SELECT k FROM r ORDER BY 1").fetchall() == [("both",), ("old",)]


@pytest.mark.parametrize("other", ["bare", "extension"])
@pytest.mark.parametrize("what", [what for what in AGAIN if what != "a virtual table"])
def test_another_program_does_it(tmp_path, what, other):
    path = str(tmp_path / "names.db")
    db = made(path)
    assert has(db, "f", "old", "new") == [1, 0] and db.execute("SELECT x FROM r WHERE k = 'old'").fetchall() == [(1,)]
    program = (bare if other == "bare" else support.connect)(path)
    for sql in AGAIN[what][0]:
        program.execute(sql)
    if AGAIN[what][2]:
        program.execute("INSERT INTO t(k) VALUES ('new')")
        assert has(db, "f", "new", "old") == [1, 0]
        assert db.execute("SELECT k FROM r WHERE k IS NOT NULL").fetchall() == [("new",)]
        assert db.execute("SELECT k FROM r WHERE k = 'old'").fetchall() == []
    is_moved(db, ["main.f", "main.r"], AGAIN[what][1])


# ---- what stays as it was ----

PLAIN = {
    "the table": (["ALTER TABLE t RENAME TO t2"], "t2", "k"),
    "the column": (["ALTER TABLE t RENAME COLUMN k TO j"], "t", "j"),
    "both": (["ALTER TABLE t RENAME COLUMN k TO j", "ALTER TABLE t RENAME TO t2"], "t2", "j"),
    "to other letters": (["ALTER TABLE t RENAME TO s", 'ALTER TABLE s RENAME TO "T"', "ALTER TABLE t RENAME COLUMN k TO K"], "T", "K"),
    "and back": (["ALTER TABLE t RENAME TO t2", "CREATE TABLE t(k)", "DROP TABLE t", "ALTER TABLE t2 RENAME TO t"], "t", "k"),
    "a TEMP table of the name": (["ALTER TABLE t RENAME TO t2", "CREATE TEMP TABLE t(k)"], "t2", "k"),
    "an index of the name": (["ALTER TABLE t RENAME TO t2", "CREATE INDEX t ON t2(x)"], "t2", "k"),
    "the filter": (["ALTER TABLE t RENAME TO t2", "ALTER TABLE f RENAME TO g", "ALTER TABLE g RENAME TO f"], "t2", "k"),
}


@pytest.mark.parametrize("what", PLAIN)
def test_a_plain_rename_goes_along(what):
    statements, table, column = PLAIN[what]
    db = made()
    for sql in statements:
        db.execute(sql)
    assert [told(db, name)["trusted"] for name in ("f", "r")] == [1, 1]
    assert (told(db, "f")["table"], told(db, "f")["column"]) == (table, column)
    db.execute(f"INSERT INTO main.{table}({column}) VALUES ('new')")
    db.execute(f"DELETE FROM main.{table} WHERE {column} = 'old'")
    assert has(db, "f", "new", "old", "both") == has(db, "r", "new", "old", "both") == [1, 0, 1]
    assert db.execute(f"SELECT {column} FROM r ORDER BY 1").fetchall() == [("both",), ("new",)]


def test_a_column_that_was_named_as_the_rowid(db):
    """Without the column its name means the rowid, which the filter does not follow."""
    db.executescript("CREATE TABLE t(oid TEXT UNIQUE); INSERT INTO t VALUES ('a'); CREATE VIRTUAL TABLE f USING cuckoo_filter(content='t(oid)')")
    if attempt(db, "ALTER TABLE t RENAME COLUMN oid TO k"):
        pytest.skip("this SQLite refuses it")
    assert told(db, "f")["trusted"] == 1 and has(db, "f", "a") == [1] and told(db, "f")["column"] == "k"


def test_years_after_a_plain_rename(tmp_path):
    """The name is free for a while, and then somebody takes it. Without an index it is an error that says both remedies."""
    path = str(tmp_path / "names.db")
    db = made(path)
    db.execute("ALTER TABLE t RENAME TO t2")
    db.execute("INSERT INTO t2 VALUES ('later', 3)")
    db.close()
    db = support.connect(path)
    assert has(db, "f", "later") == [1]
    db.execute("CREATE TABLE t(k TEXT)")
    with pytest.raises(sqlite3.OperationalError, match=r"cf_table_rebuild\('main.f'\) moves it to t\(k\); or DROP TABLE \"main\".\"f\", "
                       r"and create it with content='t2\(k\)'"):
        has(db, "f", "later")
    db.execute("DROP TABLE t")
    assert has(db, "f", "later") == [1] and told(db, "f")["trusted"] == 1
    db.execute("CREATE TABLE t(k TEXT)")
    db.execute("DROP TABLE f")
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(content='t2(k)')")
    assert has(db, "f", "later") == [1] and told(db, "f")["trusted"] == 1


def test_rows_of_a_table_that_was_renamed_aside_and_dropped():
    """A connection that has read the table under its other name was stuck: no such table."""
    db = made()
    for sql in ("ALTER TABLE t RENAME TO old_t", "SELECT * FROM r", "CREATE TABLE t(k TEXT UNIQUE, x)",
                "INSERT INTO t SELECT k || '.', x FROM old_t", "SELECT * FROM r", "DROP TABLE old_t"):
        db.execute(sql).fetchall()
    assert db.execute("SELECT k, x FROM r ORDER BY 1").fetchall() == [("both.", 2), ("old.", 1)]
    db.execute("SELECT cf_table_rebuild('r')")
    assert db.execute("SELECT x FROM r WHERE k = 'old.'").fetchall() == [(1,)] and told(db, "r")["trusted"] == 1
    db.executescript("ALTER TABLE t RENAME TO old_t; SELECT * FROM r; CREATE TABLE t(id INTEGER PRIMARY KEY, k TEXT UNIQUE); DROP TABLE old_t")
    with pytest.raises(sqlite3.OperationalError, match=r"the columns of t are not those .* \(of old_t\); run PRAGMA writable_schema = RESET"):
        db.execute("SELECT * FROM r")
    if sqlite3.sqlite_version_info >= (3, 38):
        db.execute("PRAGMA writable_schema = RESET")
        assert db.execute("SELECT * FROM r").fetchall() == []


@pytest.mark.parametrize("what", [what for what in AGAIN if not AGAIN[what][2]])
@pytest.mark.parametrize("looks", [False, True])
def test_what_has_the_name_goes_again(what, looks):
    """Then the filter is that of the renamed table. rows=on may need what its message says, where it was read in the meantime."""
    db = made()
    for sql in AGAIN[what][0]:
        db.execute(sql)
    if looks:
        attempt(db, "SELECT * FROM r")
    db.execute(f"DROP {'VIEW' if what == 'a view' else 'TABLE'} t")
    assert has(db, "f", "old", "both", "new") == [1, 1, 0]
    error = attempt(db, "SELECT * FROM r")
    if error:
        assert "run PRAGMA writable_schema = RESET" in str(error) and looks
        if sqlite3.sqlite_version_info < (3, 38):
            return
        db.execute("PRAGMA writable_schema = RESET")
    assert db.execute("SELECT k FROM r ORDER BY 1").fetchall() == [("both",), ("old",)]
    assert [told(db, name)["trusted"] for name in ("f", "r")] == [1, 1]


@pytest.mark.parametrize("part", range(3))
def test_random_lives_of_names(rng, part):
    counts, wrong = random_names.lives(LIVES // 3, rng.randrange(10**9))
    assert not wrong, f"{counts}\n" + "\n".join(wrong)
    assert LIVES < 30 or counts["trusted"] > LIVES, counts
