# SPDX-License-Identifier: MIT
"""Programs that write, alter and copy a followed table without the extension, as cron jobs, GUI tools and migrations do.

After each of their statements a connection with the extension, which keeps what it has read, finds every row; at the end the
counts are as promised, and 'check' agrees. The programs are a connection of this process, and the sqlite3 shell.
"""
import ctypes
import json
import sqlite3

import pytest

import inside
import support
from promises import (CONFLICTS, EXACT, STATEMENTS, TABLES, UNDEFENDED, Follower, attempt, bare, create, run, settle,
                      settle_anew, shell)
from support import ask

VERSION = sqlite3.sqlite_version_info
MANY = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1200) "


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "writers.db")


def world(path, table="key"):
    """A follower whose connection asks, and a program without the extension."""
    db, writer = support.connect(path), bare(path)
    db.execute("PRAGMA journal_mode = wal")
    f = create(db, table)
    db.execute("CREATE UNIQUE INDEX unique_k ON u(k)")
    assert f.answers()
    return f, writer


@pytest.mark.parametrize("conflict", CONFLICTS)
def test_writes_of_the_shell(path, conflict):
    """In a process of its own. tests/sim has connections without the extension, and all that they write."""
    f, _ = world(path)
    shell(path, ";\n".join(["PRAGMA recursive_triggers = ON", *(sql.format(c=conflict) for sql in STATEMENTS)]) + ";",
          fails=conflict not in ("OR IGNORE", "OR REPLACE"))
    assert f.answers()
    settle(f)
    settle_anew(path)


# ---- ALTER ----

@pytest.mark.skipif(VERSION < (3, 35), reason="no DROP COLUMN")
def test_alter_that_drops_the_column_itself_is_refused_by_sqlite(path):
    f, writer = world(path)
    writer.execute("DROP INDEX unique_k")
    assert "error in trigger cuckoo_" in str(attempt(writer, "ALTER TABLE u DROP COLUMN k"))
    settle(f)


@pytest.mark.parametrize("what", ["DROP TABLE f", "ALTER TABLE f RENAME TO g", "INSERT INTO f(f) VALUES ('drain')"])
def test_the_filter_itself_needs_the_extension(path, what):
    f, writer = world(path)
    assert "no such module" in str(attempt(writer, what))
    settle(f)


def test_a_filter_made_while_the_program_is_connected(path):
    """It has prepared its statements before."""
    db, writer = support.connect(path), bare(path)
    run(db, TABLES["key"])
    run(writer, "INSERT INTO u(k) VALUES ('first')")
    f = Follower(db).create(EXACT)
    for i in range(3):
        writer.execute("INSERT INTO u(k) VALUES (?)", (i,))
        assert f.answers()
    settle(f)


# ---- copies ----

def change(path):
    """What no drain has seen when a copy is taken."""
    writer = bare(path)
    writer.execute(MANY + "INSERT INTO u(id, k) SELECT i + 10, 'n' || i FROM n LIMIT 40")
    run(writer,
        "DELETE FROM u WHERE id % 4 = 1; UPDATE u SET k = k || '!' WHERE id % 5 = 0; DELETE FROM u WHERE id = 2")
    writer.close()


def change_more(writer):
    run(writer, "INSERT INTO u(id, k) VALUES (900, 'more'), (901, 'less'); DELETE FROM u WHERE id IN (10, 901)")


def copies(path, way):
    """The path of a copy that a program without the extension has made."""
    copy = path + ".copy"
    if way == "dump":
        shell(copy, UNDEFENDED + shell(path, ".dump"))
    elif way == "backup of the shell":
        shell(path, f'.backup "{copy}"')
    elif way == "backup API":
        bare(path).backup(bare(copy))
    elif way == "backup API, page by page":
        bare(path).backup(bare(copy), pages=1)
    else:
        bare(path).execute("VACUUM INTO ?", (copy,))
    return copy


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("way", ["dump", "backup of the shell", "backup API", "backup API, page by page",
                                 "VACUUM INTO"])
def test_copies(path, way, table):
    """All is copied. Both go on, and know nothing of each other."""
    f, writer = world(path, table)
    change(path)
    copy = copies(path, way)
    change_more(writer)
    settle(f)
    other, there = bare(copy), Follower(support.connect(copy))
    assert there.answers()
    change_more(other)
    assert there.answers()
    settle(there)
    there.rebuild()
    settle(there)


@pytest.mark.parametrize("tables", ["all", "u"])
def test_a_patch_of_the_rows_that_differ(path, tables):
    """As sqldiff writes it: what the log of one copy holds, and then the changes, which triggers log again. `check` finds it, and of one
    table alone it is right."""
    f, writer = world(path)
    writer.execute(MANY + "INSERT INTO u(id, k) SELECT i + 10, 'n' || i FROM n")
    f.db.execute("INSERT INTO f(f) VALUES ('drain')")
    there, log = bare(copies(path, "backup API")), inside.log_of(writer)
    there.execute("DELETE FROM u WHERE id % 3 = 0")
    if tables == "all":
        for row in there.execute(f"SELECT rowid, old, new, tag FROM {log}").fetchall():
            writer.execute(f"INSERT INTO {log}(rowid, old, new, tag) VALUES (?, ?, ?, ?)", row)
    run(writer, "DELETE FROM u WHERE id % 3 = 0; INSERT INTO u(id, k) VALUES (9000, 'n5')")  # n5 was one of them
    if tables == "all":
        assert ask(f.db, "SELECT cf_table_check('f')") != "ok"
        f.rebuild()
    assert ask(f.db, "SELECT cf_table_contains('f', 'n5')") == 1
    settle(f)


def test_a_dump_of_the_schema(path):
    """Without what begins with "cuckoo_, as the recipe has it, there is one log and one set of triggers."""
    f, _ = world(path)
    lines = [line for line in shell(path, ".schema").splitlines() if '"cuckoo_' not in line]
    there = support.connect(path + ".schema")
    there.executescript("\n".join(lines))
    count = "SELECT count(*) FROM sqlite_master WHERE name GLOB 'cuckoo_*'"
    assert ask(there, count) == ask(f.db, count) == 4
    there.execute("INSERT INTO u(k) VALUES ('n')")
    assert ask(there, "SELECT cf_table_contains('f', 'n')") == 1
    settle(Follower(there))


@pytest.mark.parametrize("within", [True, False])
def test_a_copy_that_went_another_way_over_a_database_in_use(path, tmp_path, within):
    """The last change is the same, and those before it are others. A
    statement that is kept keeps what is in memory."""
    f, writer = world(path)
    f.db.execute("WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) INSERT INTO u(id, k) SELECT 1000 * i, i FROM n")
    f.db.execute("INSERT INTO f(f) VALUES ('drain')")
    copy = bare(str(tmp_path / "copy.db"))
    writer.backup(copy)
    for db, name in (writer, "here"), (copy, "there"):
        db.execute("INSERT INTO u(id, k) VALUES (150001, ? || 1), (150002, ? || 2)", (name, name))
        db.execute("INSERT INTO u(id, k) VALUES (1000000, 'last')")
    kept = f.db.execute("SELECT 1 FROM f WHERE key = 'here1'")
    assert kept.fetchall() == [(1,)] and f.answers()
    copy.backup(f.db if within else writer)
    assert f.answers()
    assert ask(f.db, "SELECT count(*) FROM u WHERE k LIKE 'there%' AND cf_table_contains('f', k)") == 2
    settle(f)


def test_a_reader_without_the_extension(path):
    """Nothing is needed to read the table."""
    _, writer = world(path)
    writer.execute("INSERT INTO u(k) VALUES ('x')")
    assert ask(writer, "SELECT count(*) FROM u") == 6
    assert ask(writer, "PRAGMA integrity_check") == "ok" and ask(writer, "PRAGMA quick_check") == "ok"


# ---- sessions ----

class Session:
    """sqlite3_session of a connection: the names of tables that its changeset has, and the changeset."""

    def __init__(self, db, *tables):
        self.sqlite, pointer = support.sqlite_handle(db)
        if not hasattr(self.sqlite, "sqlite3session_create"):
            pytest.skip("this SQLite has no sessions")
        self.session = ctypes.c_void_p()
        assert self.sqlite.sqlite3session_create(pointer, b"main", ctypes.byref(self.session)) == 0
        for table in tables or [None]:
            assert self.sqlite.sqlite3session_attach(self.session, table) == 0

    def changeset(self):
        size, bytes_ = ctypes.c_int(), ctypes.c_void_p()
        assert self.sqlite.sqlite3session_changeset(self.session, ctypes.byref(size), ctypes.byref(bytes_)) == 0
        self.sqlite.sqlite3session_delete(self.session)
        taken = ctypes.string_at(bytes_, size.value) if size.value else b""
        self.sqlite.sqlite3_free(bytes_)
        return taken


def apply(db, changeset):
    """What the conflict handler is asked for is left out."""
    library, pointer = support.sqlite_handle(db)
    conflict = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)(lambda *_: 0)
    assert library.sqlite3changeset_apply(pointer, len(changeset), changeset, None, conflict, None) == 0


@pytest.mark.parametrize("there", ["bare", "with the extension"])
def test_a_session_has_the_changes_of_the_table_alone(path, tmp_path, there):
    """The replica has a filter of its own, which follows what is applied."""
    f = create(support.connect(path))
    replica = str(tmp_path / "replica.db")
    g = create(support.connect(replica))
    session, everything = Session(f.db, b"u"), Session(f.db)
    run(f.db, "INSERT INTO u(k) VALUES ('n'); UPDATE u SET k = 'z' WHERE id = 2; DELETE FROM u WHERE id = 1;"
              "INSERT INTO u(k) VALUES ('m'); BEGIN; DELETE FROM u WHERE id = 3; COMMIT")
    changeset = session.changeset()
    assert all(inside.own_table(f.db, what)[0].encode() not in changes for changes in (changeset,
        everything.changeset())
               for what in inside.OWN_TABLES if what != "pages" or changes is changeset)
    apply(bare(replica) if there == "bare" else g.db, changeset)
    assert g.db.execute("SELECT * FROM u ORDER BY id").fetchall() == f.db.execute("SELECT * FROM u ORDER BY id").fetchall()
    assert g.answers()
    settle(f)
    settle(g)


# ---- schemas that need the extension ----

@pytest.mark.skipif(VERSION < (3, 35), reason="no DROP COLUMN")
@pytest.mark.parametrize("sql", ["VIEW v AS SELECT * FROM r", "VIEW v AS SELECT 1 WHERE EXISTS (SELECT 1 FROM f WHERE key = 1)",
                                 "TRIGGER v AFTER DELETE ON plain BEGIN INSERT INTO f(f) VALUES ('check'); END"])
def test_views_of_a_filter_table_keep_others_from_renaming(path, sql):
    f, writer = world(path)
    f.db.execute("CREATE TABLE plain(a, b)")
    f.db.execute("CREATE VIRTUAL TABLE r USING cuckoo_filter(content='u(k)', rows=on)")
    f.db.execute(f"CREATE {sql}")
    for change in ("RENAME COLUMN b TO c", "RENAME TO more", "DROP COLUMN b"):
        assert "no such module: cuckoo_filter" in str(attempt(writer, f"ALTER TABLE plain {change}"))
    for change in ("ALTER TABLE plain ADD COLUMN d", "INSERT INTO plain VALUES (1, 2, 3)", "INSERT INTO u(k) VALUES (77)"):
        writer.execute(change)
    f.db.execute("ALTER TABLE plain RENAME COLUMN b TO c")


@pytest.mark.parametrize("sql", ["CREATE INDEX i ON plain(cf_key(a))", "CREATE INDEX i ON plain(a) WHERE cf_key(a) NOT NULL",
                                 "CREATE TABLE own(a, b AS (cf_key(a)))", "CREATE TABLE own(a, b AS (cf_key(a)) STORED)",
                                 "CREATE TABLE own(a, CHECK (cf_key(a) NOT NULL))", "CREATE TABLE own(a, b DEFAULT (cf_key(1)))"])
def test_functions_in_a_schema_keep_others_from_writing(path, sql):
    f, writer = world(path)
    f.db.execute("CREATE TABLE plain(a, b)")
    f.db.execute(sql)
    table = "own" if "own" in sql else "plain"
    assert "unknown function: cf_key()" in str(attempt(writer, f"INSERT INTO {table}(a) VALUES (1)"))
    if "DEFAULT" not in sql:
        assert "unknown function: cf_key()" in str(attempt(writer, f"UPDATE {table} SET a = 2"))
    writer.execute("INSERT INTO u(k) VALUES (77)")
    assert writer.execute(f"SELECT a FROM {table}").fetchall() == []


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_tool_that_copies_the_log_as_well_as_the_changes(path, when):
    """As sqldiff does: the triggers log each delete once more, and a key that another row has goes, too. 'check' finds it, and rebuild
    repairs it. The changes of the table alone (sqldiff --table) are what the triggers are made for."""
    db, writer = support.connect(path), bare(path)
    writer.execute("CREATE TABLE v(id INTEGER PRIMARY KEY, k)")
    writer.execute("CREATE INDEX vk ON v(k)")
    writer.execute("INSERT INTO v " + MANY + "SELECT i, i / 2 FROM n")
    writer.commit()
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(content='v(k)')")
    log = inside.log_of(db)
    sound = []
    for copies in (False, True):
        changes = ["DELETE FROM v WHERE id % 20 = 1"] if not copies else [f"DELETE FROM v WHERE id = {i}" for i in range(5, 1200, 20)]
        rows = [f"INSERT INTO {log}(old, tag) VALUES ({i // 2}, {i * 12345})" for i in range(5, 1200, 20)] * copies
        run(writer, "; ".join(["BEGIN", *(rows + changes if when == "before" else changes + rows), "COMMIT"]))
        sound.append(ask(db, "SELECT cf_table_check('f')"))
    assert sound[0] == "ok" and "rows of v are missing in it" in sound[1]
    db.execute("SELECT cf_table_rebuild('f')")
    assert ask(db, "SELECT cf_table_check('f')") == "ok"
    assert ask(db, "SELECT count(*) FROM v WHERE NOT cf_table_contains('f', k)") == 0


def test_a_schema_dump_has_the_log_and_the_triggers_too(path):
    """CREATE of the filter makes others, so that those of the dump are nobody's: leave them out, or drop all, and rebuild."""
    f = create(support.connect(path))
    own = "WHERE name GLOB 'cuckoo_*'"
    dump = [sql for sql, in f.db.execute("SELECT sql FROM sqlite_master WHERE sql NOT NULL AND name NOT GLOB 'f_*'")]
    for leaves_out in (True, False):
        db = support.connect()
        for sql in dump:
            if not (leaves_out and "cuckoo_" in sql.split("(")[0] and not sql.startswith("CREATE VIRTUAL")):
                db.execute(sql)
        assert ask(db, f"SELECT count(*) FROM sqlite_master {own}") == (4 if leaves_out else 8)
        for kind, name in db.execute(f"SELECT type, name FROM sqlite_master {own} ORDER BY type DESC").fetchall() * (not leaves_out):
            db.execute(f"DROP {kind} {name}")
        db.execute("SELECT cf_table_rebuild('f')")
        db.execute("INSERT INTO u(k) VALUES ('n')")
        assert ask(db, "SELECT cf_table_contains('f', 'n')") == 1 and ask(db, "SELECT cf_table_check('f')") == "ok"
        assert ask(db, f"SELECT count(*) FROM sqlite_master {own}") == 4


@pytest.mark.parametrize("others", [0, 1])
def test_after_all_of_a_filter_but_its_triggers_was_dropped(tmp_path, others):
    """As a tool does that drops the tables it does not know."""
    path = str(tmp_path / "x.db")
    db = support.connect(path)
    db.execute("CREATE TABLE users(id INTEGER PRIMARY KEY, email TEXT UNIQUE)")
    for i in range(1 + others):
        db.execute(f"CREATE VIRTUAL TABLE known{i} USING cuckoo_filter(content='users(email)')")
    log = inside.log_of(db, "known0")
    db.close()
    tool = sqlite3.connect(path, isolation_level=None)
    for name in ("known0_page", "known0_log", log):
        tool.execute(f"DROP TABLE {name}")
    tool.close()
    db = support.connect(path)
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        db.execute("INSERT INTO users(email) VALUES ('ada')")
    db.execute("DROP TABLE known0")
    db.execute("CREATE VIRTUAL TABLE known0 USING cuckoo_filter(content='users(email)')")
    db.execute("INSERT INTO users(email) VALUES ('ada')")
    for i in range(1 + others):
        assert support.ask(db, "SELECT cf_table_contains(?, 'ada')", f"known{i}") == 1
        assert json.loads(support.ask(db, "SELECT cf_table_info(?)", f"known{i}"))["trusted"] == 1
