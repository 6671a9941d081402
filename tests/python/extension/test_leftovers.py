# SPDX-License-Identifier: MIT
"""What is left behind, and what cannot be followed: triggers of an earlier filter, a schema that was not read yet, tables that
are no ordinary ones."""
import contextlib
import sqlite3

import pytest

import support
from promises import EXACT, Follower
from support import ask

NAMES = "SELECT group_concat(name) FROM (SELECT name FROM sqlite_master ORDER BY name)"
CREATE = "CREATE VIRTUAL TABLE f USING cuckoo_filter(capacity=100, content='u(k)')"


def trigger(event, body):
    return f"DROP TRIGGER f_{event}; CREATE TRIGGER f_{event} AFTER {event[:6].upper()} ON u BEGIN {body}; END;"


# States in which DROP TABLE must work, and take the triggers along. Some are those of filters of earlier versions.
STATES = {
    "sound": "",
    "a page less": "DELETE FROM f_page WHERE no = 1",
    "no header": "DELETE FROM f_page WHERE no = 0",
    "no rows": "DELETE FROM f_page; DELETE FROM f_wait",
    "a damaged header": "UPDATE f_page SET data = x'00' WHERE no = 0",
    "no pages": "DROP TABLE f_page",
    "no list": "DROP TABLE f_wait",
    "no shadow tables": "DROP TABLE f_page; DROP TABLE f_wait",
    "a trigger less": "DROP TRIGGER f_updated",
    "triggers that insert keys": trigger("inserted", "INSERT INTO f(key) VALUES (new.k)")
                                 + trigger("deleted", "DELETE FROM \"f\" WHERE key = +old.k")
                                 + trigger("updated", "INSERT INTO f(key) VALUES (new.k); DELETE FROM f WHERE key = +old.k"),
    "triggers with a condition": "DROP TRIGGER f_updated; CREATE TRIGGER f_updated AFTER UPDATE ON u WHEN old.k IS NOT new.k BEGIN "
                                 "INSERT INTO f(cuckoo_change, key, cuckoo_old) VALUES (3, new.k, old.k); END",
}


@pytest.mark.parametrize("column", ["k", "raise", "a;b", 'a"END', "into"])
@pytest.mark.parametrize("state", STATES)
def test_drop_takes_the_triggers_along(tmp_path, state, column):
    """Also triggers on a column whose name is a word of SQL."""
    quoted = '"' + column.replace('"', '""') + '"'
    path = tmp_path / "left.db"
    with contextlib.closing(support.connect(path)) as db:
        db.execute(f"CREATE TABLE u(k, {quoted if column != 'k' else 'x'})")
        db.execute(CREATE.replace("u(k)", f"u({column})"))
        db.execute("INSERT INTO u VALUES ('a', 'a')")
        db.executescript(STATES[state])
    with contextlib.closing(support.connect(path)) as db:
        db.execute("DROP TABLE f")
        assert ask(db, NAMES) == "u"
        db.execute("INSERT INTO u VALUES ('b', 'b')")
        db.execute(CREATE)
        assert ask(db, "SELECT count(*) FROM u WHERE NOT cf_table_contains('f', k)") == 0


def test_drop_leaves_a_trigger_that_does_not_name_the_filter(db):
    db.execute("CREATE TABLE u(k)")
    db.execute("CREATE TABLE log(x)")
    db.execute(CREATE)
    db.executescript(trigger("inserted", "INSERT INTO log VALUES ('f' || new.k)").replace("'f'", "'the f'"))
    db.execute("DROP TABLE f")
    assert ask(db, NAMES) == "f_inserted,log,u"


def orphans(db):
    """The triggers of a filter that is not there, as when others have dropped it."""
    db.execute("CREATE TABLE u(k)")
    db.execute("CREATE TABLE elsewhere(k)")
    db.execute(CREATE)
    kept = [sql for (sql,) in db.execute("SELECT sql FROM sqlite_master WHERE type = 'trigger'")]
    db.execute("DROP TABLE f")
    return kept


@pytest.mark.parametrize("table", ["u", "elsewhere"])
def test_create_takes_over_triggers_of_an_earlier_filter(db, table):
    for sql in orphans(db):
        db.execute(sql.replace('ON "u"', f"ON {table}"))
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        db.execute(f"INSERT INTO {table} VALUES ('lost')")
    db.execute(CREATE)
    db.execute("INSERT INTO u VALUES ('a')")
    db.execute("INSERT INTO elsewhere VALUES ('b')")
    Follower(db).check()
    db.execute("DROP TABLE f")
    assert ask(db, NAMES) == "elsewhere,u"


@pytest.mark.parametrize("of", ["another filter", "the user"])
def test_create_takes_no_other_triggers(db, of):
    sql = orphans(db)[0]
    if of == "another filter":
        Follower(db, "elsewhere", "k", "g").create(EXACT)
        sql = ask(db, "SELECT replace(sql, 'g_inserted', 'f_inserted') FROM sqlite_master WHERE name = 'g_inserted'")
    else:
        sql = "CREATE TRIGGER f_inserted AFTER INSERT ON u BEGIN SELECT 1; END"
    db.execute(sql)
    before = ask(db, NAMES)
    with pytest.raises(sqlite3.OperationalError, match='trigger "f_inserted" already exists$'):
        db.execute(CREATE)
    assert ask(db, NAMES) == before


# ---- a schema that was not read yet ----

def test_a_dump_that_was_read_in_this_session():
    """It writes the schema as rows. SQLite says that there is no such table; the functions say what to do."""
    with contextlib.closing(support.connect()) as db:
        db.execute("CREATE TABLE u(k)")
        db.execute(CREATE)
        db.execute("INSERT INTO u VALUES ('a')")
        tables = db.execute("SELECT sql FROM sqlite_master WHERE type = 'table' AND name <> 'f'").fetchall()
        triggers = db.execute("SELECT sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        db.execute("INSERT INTO f(f) VALUES ('drain')")
        pages = db.execute("SELECT no, data FROM f_page").fetchall()
    with contextlib.closing(support.connect()) as db:
        db.execute("PRAGMA writable_schema = ON")
        db.execute("INSERT INTO sqlite_master VALUES ('table', 'f', 'f', 0, ?)", (CREATE,))
        for (sql,) in tables:
            db.execute(sql)
        db.execute("INSERT INTO u VALUES ('a')")
        db.executemany("INSERT INTO f_page VALUES (?, ?)", pages)
        for (sql,) in triggers:
            db.execute(sql)
        db.execute("PRAGMA writable_schema = OFF")
        for name in ("f", "main.f"):
            with pytest.raises(sqlite3.OperationalError, match="cf_table_contains: .*PRAGMA writable_schema=RESET"):
                ask(db, "SELECT cf_table_contains(?, 'a')", name)
        if sqlite3.sqlite_version_info < (3, 38):
            return  # some of these do not know it
        db.execute("PRAGMA writable_schema=RESET")
        assert ask(db, "SELECT cf_table_contains('f', 'a')") == 1
        db.execute("INSERT INTO u VALUES ('b')")
        Follower(db).check()


def test_rows_that_others_have_not_committed():
    """PRAGMA read_uncommitted shows them in a shared cache, and what the log says of them."""
    uri = "file:uncommitted?mode=memory&cache=shared"
    with contextlib.closing(support.connect(uri, uri=True)) as db, contextlib.closing(support.connect(uri, uri=True)) as other:
        other.execute("PRAGMA read_uncommitted = 1")
        db.execute("CREATE TABLE u(k)")
        db.execute(CREATE)
        db.execute("BEGIN")
        db.execute("INSERT INTO u VALUES ('a')")
        for _ in range(2):
            assert ask(other, "SELECT cf_table_contains('f', 'a')") == 1
        db.execute("COMMIT")
        assert ask(other, "SELECT cf_table_contains('f', 'a')") == 1


# ---- what cannot be followed ----

NO_CONTENT = {
    "g_page(data)": "keeps its own data", "G_Wait(hash)": "keeps its own data", "d_content(c0)": "keeps its own data",
    "d_data(block)": "keeps its own data", "r_node(data)": "keeps its own data", "v(k)": "is a view", "d(x)": "is a virtual table",
    "g(key)": "is a virtual table", "sqlite_master(name)": "of SQLite itself", "sqlite_sequence(name)": "of SQLite itself",
}
CONTENT = ["u(k)", "g_notes(k)", "d_content_x(k)", "u_page(k)", "[a view](k)"]


@pytest.fixture
def tables(db):
    db.executescript("""
        CREATE TABLE u(k); CREATE TABLE g_notes(k); CREATE TABLE d_content_x(k); CREATE TABLE u_page(k); CREATE TABLE "a view"(k);
        CREATE VIEW v AS SELECT k FROM u; CREATE TABLE i(k INTEGER PRIMARY KEY AUTOINCREMENT);
        CREATE VIRTUAL TABLE g USING cuckoo_filter(capacity=100, content='u(k)');
        CREATE VIRTUAL TABLE d USING fts5(x); CREATE VIRTUAL TABLE r USING rtree(i, a, b)""")
    return db


@pytest.mark.parametrize("content", NO_CONTENT)
def test_tables_that_no_filter_can_follow(tables, content):
    before = ask(tables, NAMES)
    with pytest.raises(sqlite3.OperationalError, match=f"cuckoo_filter: .*{NO_CONTENT[content]}") as caught:
        tables.execute(CREATE.replace("u(k)", content))
    assert "drop" not in str(caught.value), "there is nothing to drop"
    assert ask(tables, NAMES) == before
    tables.execute("INSERT INTO u VALUES ('a')")
    tables.execute("INSERT INTO d VALUES ('a')")
    Follower(tables, name="g").check()


@pytest.mark.parametrize("content", CONTENT)
def test_tables_with_names_like_these_are_followed(tables, content):
    tables.execute(CREATE.replace("u(k)", content))
    tables.execute(f"INSERT INTO {content.split('(')[0]} VALUES ('a')")
    assert ask(tables, "SELECT cf_table_contains('f', 'a')") == 1
