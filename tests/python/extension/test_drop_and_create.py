# SPDX-License-Identifier: MIT
"""DROP TABLE takes all along that belongs to the filter (of damaged ones: tables/test_damage.py).
A schema that was not read yet, rows that are not committed, and names like
those of a filter's own tables.
"""
import contextlib
import sqlite3

import pytest

import inside
import support
from promises import Follower
from support import ask

CREATE = "CREATE VIRTUAL TABLE f USING cuckoo_filter(capacity=100, content='u(k)')"


def test_a_dump_that_was_read_in_this_session():
    """It writes the schema as rows. SQLite says that there is no such table; the functions say what to do."""
    with contextlib.closing(support.connect()) as db:
        db.execute("CREATE TABLE u(k)")
        db.execute(CREATE)
        db.execute("INSERT INTO u VALUES ('a')")
        db.execute("INSERT INTO f(f) VALUES ('drain')")
        objects = db.execute("SELECT type, name, sql FROM sqlite_master WHERE sql NOT NULL AND name <> 'f' ORDER BY type = 'trigger'").fetchall()
        contents = {name: db.execute(f"SELECT * FROM {name}").fetchall() for type_, name, _ in objects
                    if type_ == "table"}
    with contextlib.closing(support.connect()) as db:
        db.execute("PRAGMA writable_schema = ON")
        db.execute("INSERT INTO sqlite_master VALUES ('table', 'f', 'f', 0, ?)", (CREATE,))
        for type_, name, sql in objects:
            if type_ == "trigger":
                continue
            db.execute(sql)
            for row in contents.get(name, []):
                db.execute(f"INSERT INTO {name} VALUES ({', '.join('?' * len(row))})", row)
        for type_, _, sql in objects:
            if type_ == "trigger":
                db.execute(sql)
        db.execute("PRAGMA writable_schema = OFF")
        for name in ("f", "main.f"):
            with pytest.raises(sqlite3.OperationalError, match="cf_table_contains: .*PRAGMA writable_schema=RESET"):
                ask(db, "SELECT cf_table_contains(?, 'a')", name)
        if sqlite3.sqlite_version_info < (3, 38):
            pytest.skip("some of these do not know PRAGMA writable_schema=RESET")
        db.execute("PRAGMA writable_schema=RESET")
        assert ask(db, "SELECT cf_table_contains('f', 'a')") == 1
        db.execute("INSERT INTO u VALUES ('b')")
        Follower(db).check()


def test_rows_that_others_have_not_committed():
    """PRAGMA read_uncommitted shows them in a shared cache, and what the log says of them."""
    uri = "file:uncommitted?mode=memory&cache=shared"
    with contextlib.closing(support.connect(uri, uri=True)) as db, contextlib.closing(support.connect(uri,
            uri=True)) as other:
        other.execute("PRAGMA read_uncommitted = 1")
        db.execute("CREATE TABLE u(k)")
        db.execute(CREATE)
        db.execute("BEGIN")
        db.execute("INSERT INTO u VALUES ('a')")
        for _ in range(2):
            assert ask(other, "SELECT cf_table_contains('f', 'a')") == 1
        db.execute("COMMIT")
        assert ask(other, "SELECT cf_table_contains('f', 'a')") == 1


def test_tables_with_names_like_those_of_a_filter_or_of_fts5_are_followed(db):
    """Those that are their own: wrong_uses.txt."""
    db.execute("CREATE TABLE u(k)")
    db.execute("CREATE VIRTUAL TABLE g USING cuckoo_filter(capacity=100, content='u(k)')")
    db.execute("CREATE VIRTUAL TABLE d USING fts5(x)")
    pages, _ = inside.own_table(db, "pages", "g")
    for n, name in enumerate(["g_notes", "d_content_x", pages.replace("g_", "u_"), '"a view"']):
        db.execute(f"CREATE TABLE {name}(k)")
        db.execute(f"CREATE VIRTUAL TABLE f{n} USING cuckoo_filter(capacity=100, content='{name}(k)')")
        db.execute(f"INSERT INTO {name} VALUES ('a')")
        assert ask(db, f"SELECT cf_table_contains('f{n}', 'a')") == 1
