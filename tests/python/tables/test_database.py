# SPDX-License-Identifier: MIT
"""Filter tables in the life of a database: rename, drop, VACUUM, backup, dump, read-only, pages, encodings, what a write costs."""
import json
import os
import sqlite3
import subprocess

import pytest

import inside
import support
from promises import SHELL
from seen import ERROR, NO_ROWS, create, has, info, insert, items, lost, refused, schema_of
from support import ask

KEYS = [*range(300), "a", b"b", "ü"]
LOAD = ".load " + support.extension_path().removesuffix(".so")
# Shells are defensive from 3.43.0 on. Then they change no shadow table, and the first of them restore no dump of one.
UNDEFENDED = ".dbconfig defensive off"
not_sanitized = pytest.mark.skipif("asan" in support.extension_path(), reason="the shell is not sanitized")


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "seen.db")


@pytest.fixture
def seen(path):
    db = support.connect(path)
    db.execute("PRAGMA synchronous = OFF")
    create(db, "capacity=50, fingerprint_bits=20")
    insert(db, *KEYS)
    yield db
    db.close()


def whole(db, name="seen"):
    """Everything is there and in order."""
    assert lost(db, KEYS, name) == [] and items(db, name) == len(KEYS) and not has(db, "never", name)
    assert ask(db, "SELECT cf_check(cf_export(?))", name) == "ok"


def shell(*commands, expect=0):
    """The sqlite3 shell; its output."""
    if not SHELL:
        pytest.skip("no sqlite3 shell")
    ran = subprocess.run([SHELL, "-batch"], input="\n".join(commands), capture_output=True, text=True)
    assert ran.returncode == expect, ran.stderr
    return ran.stdout + ran.stderr


# ---- rename, drop ----

@pytest.mark.parametrize("query", ["SELECT k FROM u JOIN f ON f.key = u.k", "SELECT k FROM u WHERE cf_table_contains('f', k)"])
def test_a_statement_that_runs_while_the_filter_is_renamed_is_to_be_run_again(db, query):
    db.isolation_level = None
    db.execute("CREATE TABLE u(k)")
    db.executemany("INSERT INTO u VALUES (?)", ((f"k{i}",) for i in range(9)))
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(content='u(k)')")
    rows = db.execute(query)
    rows.fetchone()
    db.execute("ALTER TABLE f RENAME TO g")
    with pytest.raises(sqlite3.DatabaseError, match="run it again"):
        rows.fetchall()
    assert ask(db, "SELECT count(*) FROM u WHERE cf_table_contains('g', k)") == 9


def test_rename(seen):
    before = len(schema_of(seen))
    seen.execute('ALTER TABLE seen RENAME TO "it is"')
    assert lost(seen, KEYS, '"it is"') == [] and ask(seen, "SELECT cf_table_contains('it is', 1)") == 1
    refused(seen, ERROR, "SELECT cf_table_contains('seen', 1)", says="no such cuckoo_filter table")
    insert(seen, "new", table='"it is"')
    assert len(schema_of(seen)) == before and all("it is" in row[1] for row in schema_of(seen))
    create(seen)
    assert not has(seen, 1)


def test_a_name_that_is_taken(seen):
    """What a filter needs beside its own name is another's: nothing is changed, and nothing taken over."""
    seen.execute(f"CREATE TABLE {inside.taken_name('other')}(mine)")
    for sql in ("ALTER TABLE seen RENAME TO other", "CREATE VIRTUAL TABLE other USING cuckoo_filter(capacity=9)"):
        with pytest.raises(sqlite3.Error, match=inside.taken_name("other")):
            seen.execute(sql)
    whole(seen)
    seen.execute("DROP TABLE seen")
    assert [row[1] for row in schema_of(seen)] == [inside.taken_name("other")]


# ---- attach, vacuum, backup, dump ----

@not_sanitized
@pytest.mark.parametrize("loads", [True, False], ids=["with the extension", "without"])
def test_dump_and_restore_with_the_shell(seen, path, tmp_path, loads):
    """The dump holds the tables of the filter; the shell that restores it needs no extension, but for a filter with content."""
    if loads:
        seen.execute("CREATE TABLE t(x)")
        create(seen, "content='t(x)'", name="two")
        seen.execute("INSERT INTO t VALUES (1), (2)")
    script = shell(f'.open "{path}"', LOAD if loads else "", ".dump")
    copy = str(tmp_path / "copy.db")
    shell(f'.open "{copy}"', LOAD if loads else "", UNDEFENDED, script)
    db = support.connect(copy)
    whole(db)
    insert(db, "after")
    assert has(db, "after")
    if loads:
        db.execute("INSERT INTO t VALUES (3)")
        assert items(db, "two") == 3 and lost(db, [1, 2, 3], "two") == []


def test_iterdump_of_python_fails_with_a_clear_message(seen):
    """It asks virtual tables for their rows, which a filter cannot list: use the shell's .dump."""
    with pytest.raises(sqlite3.OperationalError, match="cannot list its keys"):
        list(seen.iterdump())


# ---- read-only, defensive, trusted_schema ----

@pytest.mark.parametrize("how", ["mode=ro", "immutable=1", "query_only"])
def test_a_read_only_database_is_read(seen, path, how):
    seen.close()
    db = support.connect(path if how == "query_only" else f"file:{path}?{how}", uri=True)
    db.execute(f"PRAGMA query_only = {how == 'query_only'}")
    whole(db)
    assert info(db)["items"] == len(KEYS)
    for sql in ("INSERT INTO seen(key) VALUES (1)", "DELETE FROM seen WHERE key = 1", "DROP TABLE seen",
                "INSERT INTO seen(seen) VALUES ('clear')", "ALTER TABLE seen RENAME TO s"):
        refused(db, NO_ROWS, sql)
    whole(db)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write every file")
def test_a_file_without_write_permission_is_read(seen, path):
    seen.close()
    os.chmod(path, 0o444)
    db = support.connect(path)
    whole(db)
    refused(db, NO_ROWS, "INSERT INTO seen(key) VALUES (1)")


@not_sanitized
def test_defensive_mode_protects_the_pages_and_nothing_else():
    output = shell(LOAD, ".dbconfig defensive on", "CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=10);",
                   "WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 500) INSERT INTO seen(key) SELECT i FROM n;",
                   "DELETE FROM seen WHERE key IN (1, 2);", "INSERT INTO seen(key) VALUES ('moved');",
                   "SAVEPOINT s; INSERT INTO seen(key) VALUES ('gone'), ('too'); ROLLBACK TO s; RELEASE s;",
                   "INSERT INTO seen(seen) VALUES ('check'), ('optimize');",
                   "CREATE TABLE t(x); INSERT INTO t VALUES ('c'); CREATE VIRTUAL TABLE c USING cuckoo_filter(capacity=1, content='t(x)');",
                   "INSERT INTO t VALUES ('d'); INSERT INTO c(c) VALUES ('rebuild');",
                   "ALTER TABLE seen RENAME TO s2; INSERT INTO s2(key) VALUES ('late');",
                   "SELECT count(*), cf_table_contains('s2', 'moved'), cf_table_contains('s2', 'late') FROM s2;",
                   "SELECT count(*) FROM c;", "DROP TABLE s2; DROP TABLE c;",
                   "SELECT group_concat(name) FROM sqlite_master;")
    assert output.split()[2:] == ["500|1|1", "2", "t"], output  # behind "defensive on"


@not_sanitized
@pytest.mark.parametrize("what", ["a page has other bytes", "all is lost", "the table of pages is lost",
                                  "a page too many"])
def test_defensive_mode_refuses_sql_on_the_pages(what):
    output = shell(LOAD, "CREATE VIRTUAL TABLE f USING cuckoo_filter(capacity=10); INSERT INTO f(key) VALUES (1);",
                   ".dbconfig defensive on",
                   inside.DAMAGE[what] + ";", expect=1)
    assert "may not be" in output


def test_triggers_and_views_with_an_untrusted_schema(seen):
    seen.execute("CREATE TABLE t(x)")
    seen.execute("CREATE TRIGGER tr AFTER INSERT ON t BEGIN INSERT INTO seen(key) VALUES (new.x); "
                 "DELETE FROM seen WHERE key = 1; END")
    seen.execute("CREATE VIEW v AS SELECT x FROM t WHERE EXISTS (SELECT 1 FROM seen WHERE key = x)")
    seen.execute("PRAGMA trusted_schema = OFF")
    seen.execute("INSERT INTO t VALUES ('by trigger')")
    assert seen.execute("SELECT * FROM v").fetchall() == [("by trigger",)]
    assert not has(seen, 1)


def test_last_insert_rowid_is_not_changed_by_a_trigger_on_the_filter(seen):
    seen.execute("CREATE TABLE t(x)")
    seen.execute("CREATE TRIGGER tr AFTER INSERT ON t BEGIN INSERT INTO seen(key) VALUES (new.x); END")
    seen.execute("INSERT INTO t(rowid, x) VALUES (77, 'k')")
    assert ask(seen, "SELECT last_insert_rowid()") == 77
    seen.execute("DELETE FROM seen WHERE key = 'k'")
    assert ask(seen, "SELECT last_insert_rowid()") == 77


# ---- pages and encodings ----

@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16le", "UTF-16be"])
def test_encodings(encoding):
    db = support.connect(encoding=encoding)
    create(db, "capacity=50, fingerprint_bits=20", name='"ünï"')
    insert(db, *KEYS, table='"ünï"')
    assert lost(db, KEYS, '"ünï"') == []
    assert ask(db, "SELECT cf_table_contains('ünï', 'ü')") == 1
    db.execute('CREATE TABLE "tä"("cö")')
    create(db, "content='tä(cö)'", name='"cönt"')
    db.execute('INSERT INTO "tä" VALUES (\'ü\')')
    assert has(db, "ü", '"cönt"')


# What a write costs in the WAL, by row: bytes of it for each commit, or for each row of one statement. Generous: half as much again.
COSTS = [("INSERT INTO u(k) VALUES (-?)", 1, 24_000), ("UPDATE u SET k = -k WHERE id = ?", 1, 36_000),
         ("DELETE FROM u WHERE id = ?", 1, 36_000),
         ("INSERT INTO d(key) VALUES (-?)", 1, 24_000), ("DELETE FROM d WHERE key = ?", 1, 24_000),
         ("INSERT INTO u(k) SELECT -id FROM u WHERE ?", 20_000, 120), ("UPDATE u SET k = -k WHERE ?", 20_000, 160),
         ("INSERT INTO d(key) SELECT -id FROM u WHERE ?", 20_000, 60)]


@pytest.mark.parametrize("sql, rows, most", COSTS)
def test_what_a_write_costs(path, sql, rows, most):
    db = support.connect(path)
    db.executescript("PRAGMA journal_mode = wal; PRAGMA synchronous = OFF; PRAGMA wal_autocheckpoint = 0; CREATE TABLE u(id INTEGER PRIMARY KEY, k);"
                     "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) INSERT INTO u(k) SELECT i FROM n;"
                     "CREATE VIRTUAL TABLE d USING cuckoo_filter(capacity=50000); INSERT INTO d(key) SELECT k FROM u;"
                     "CREATE VIRTUAL TABLE f USING cuckoo_filter(capacity=50000, counter_bits=0, content='u(k)'); PRAGMA wal_checkpoint(TRUNCATE)")
    times = 1 if rows > 1 else 300
    for i in range(1, times + 1):
        db.execute(sql, (i * 61,))
    cost = os.path.getsize(path + "-wal") / (rows * times)
    print(f"{cost:.0f} bytes a row")
    assert cost <= most


@pytest.mark.parametrize("size", [512, 1024, 65536])
@pytest.mark.parametrize("auto_vacuum", ["none", "full", "incremental"])
def test_page_sizes(path, size, auto_vacuum):
    """Also a page size that comes later, by VACUUM."""
    db = support.connect(path)
    db.executescript(f"PRAGMA synchronous = OFF; PRAGMA page_size = {size}; PRAGMA auto_vacuum = {auto_vacuum}")
    create(db, "capacity=50, fingerprint_bits=20")
    insert(db, *KEYS)
    db.execute("INSERT INTO seen(seen) VALUES ('drain')")
    assert ask(db, "SELECT count(*) FROM dbstat WHERE pagetype = 'stash'") == 0, "a row fits on a page"
    for sql in ("PRAGMA incremental_vacuum", "PRAGMA page_size = 2048", "VACUUM", "DELETE FROM seen WHERE key = 5",
                "INSERT INTO seen(key) VALUES (5)"):
        db.execute(sql)
        assert ask(db, "PRAGMA integrity_check") == "ok"
    whole(db)


def test_a_large_filter_without_keys_is_a_small_file(path):
    db = support.connect(path)
    create(db, "capacity=10000000")
    insert(db, 1)
    assert os.path.getsize(path) < 50_000 and has(db, 1) and not has(db, 2)


# ---- PRAGMA count_changes: each statement that writes gives a row first ----

@pytest.mark.parametrize("options", ["capacity=10", "capacity=10, adds=once", "capacity=10, keep='1 hour'",
                                     "content='u(k)'", "content='u(k)', rows=on"])
def test_count_changes(tmp_path, options):
    db = support.connect(tmp_path / "counted.db")
    db.execute("CREATE TABLE u(k UNIQUE)")
    db.execute("PRAGMA count_changes = ON")
    create(db, options)
    into = "u(k)" if "content" in options else "seen(key)"
    for key in range(1500):
        if key % 300 == 20:
            db.execute("BEGIN")
        assert db.execute(f"INSERT OR IGNORE INTO {into} VALUES (?)", (key,)).fetchall() == [(1,)]
        if key % 300 == 299:
            db.execute("COMMIT")
    for command in ("check", "optimize", "drain"):
        db.execute("INSERT INTO seen(seen) VALUES (?)", (command,)).fetchall()
    if "content" in options:
        assert db.execute("DELETE FROM u WHERE k < 1400").fetchall() == [(1400,)]
        ask(db, "SELECT cf_table_rebuild('seen')")
    db.execute("ALTER TABLE seen RENAME TO other").fetchall()
    db.close()
    db = support.connect(tmp_path / "counted.db")
    assert ask(db, "SELECT min(cf_table_contains('other', value)) FROM json_each(?)",
               json.dumps(list(range(1400, 1500)))) == 1
    assert ask(db, "SELECT cf_table_check('other')") == "ok"
    db.close()
