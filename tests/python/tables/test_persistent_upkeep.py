# SPDX-License-Identifier: MIT
"""The persistent table in the life of a database: rename, drop, VACUUM, backup, dump, read-only, page sizes, encodings."""
import os
import shutil
import sqlite3
import subprocess

import pytest

import support
from support import ask
from test_persistent import ERROR, NO_ROWS, check, create, has, info, insert, items, lost, refused, schema_of

KEYS = [*range(300), "a", b"b", "ü"]
SHELL = os.environ.get("SQLITE3") or shutil.which("sqlite3")


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "seen.db")


def fast(path):
    db = support.connect(path)
    db.execute("PRAGMA synchronous = OFF")
    return db


@pytest.fixture
def seen(path):
    db = fast(path)
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


LOAD = ".load " + support.extension_path().removesuffix(".so")
# Shells are defensive from 3.43.0 on. Then they change no shadow table, and the first of them restore no dump of one.
UNDEFENDED = ".dbconfig defensive off"
not_sanitized = pytest.mark.skipif("asan" in support.extension_path(), reason="the shell is not sanitized")


# ---- rename, drop ----

def test_rename(seen):
    seen.execute('ALTER TABLE seen RENAME TO "it is"')
    assert lost(seen, KEYS, '"it is"') == [] and ask(seen, "SELECT cf_table_contains('it is', 1)") == 1
    refused(seen, ERROR, "SELECT cf_table_contains('seen', 1)", says="no cuckoo_filter table")
    insert(seen, "new", table='"it is"')
    assert {row[1] for row in schema_of(seen)} == {"it is", "it is_page", "it is_wait"}
    create(seen)
    assert not has(seen, 1)


def test_rename_onto_a_shadow_table_that_exists_changes_nothing(seen):
    seen.execute("CREATE TABLE other_page(x)")
    with pytest.raises(sqlite3.Error, match="other_page"):
        seen.execute("ALTER TABLE seen RENAME TO other")
    whole(seen)


def test_drop_leaves_nothing_behind(seen):
    seen.execute("DROP TABLE seen")
    assert schema_of(seen) == []
    create(seen)
    assert items(seen) == 0 and not has(seen, 1)


def test_a_shadow_table_that_exists_already_is_not_taken_over(db):
    db.execute("CREATE TABLE seen_page(mine)")
    with pytest.raises(sqlite3.OperationalError, match="seen_page"):
        create(db)
    assert [row[1] for row in schema_of(db)] == ["seen_page"]


@pytest.mark.parametrize("damage", ["DROP TABLE seen_page", "DELETE FROM seen_page", "UPDATE seen_page SET data = 'x'",
                                    "ALTER TABLE seen_page RENAME COLUMN data TO other"])
@pytest.mark.parametrize("again", [False, True])
def test_a_damaged_table_can_be_dropped(seen, path, damage, again):
    seen.execute(damage)
    db = support.connect(path) if again else seen
    db.execute("DROP TABLE seen")
    assert schema_of(db) == []


# ---- attach, vacuum, backup ----

def test_nothing_blocks_detach(seen, path):
    db = support.connect()
    db.execute("ATTACH ? AS other", (path,))
    whole(db, "other.seen")
    db.execute("INSERT INTO other.seen(key) VALUES ('more')")
    db.execute("DETACH other")
    assert has(seen, "more")


def test_vacuum(seen):
    seen.execute("DELETE FROM seen WHERE key = 5")
    insert(seen, 5)
    seen.execute("VACUUM")
    whole(seen)
    insert(seen, "after")
    assert has(seen, "after")


def test_vacuum_in_another_connection(seen, path):
    support.connect(path).execute("VACUUM")
    whole(seen)
    insert(seen, "after")
    assert has(seen, "after")


def test_vacuum_to_another_page_size(seen):
    seen.execute("PRAGMA page_size = 512")
    seen.execute("VACUUM")
    insert(seen, "after")
    seen.execute("DELETE FROM seen WHERE key = 'after'")
    whole(seen)


def test_vacuum_into(seen, tmp_path):
    seen.execute("VACUUM INTO ?", (str(tmp_path / "copy.db"),))
    insert(seen, "after")
    whole(support.connect(str(tmp_path / "copy.db")))


def test_backup(seen):
    copy = support.connect()
    seen.backup(copy)
    whole(copy)


def test_backup_over_a_table_that_is_in_memory(seen):
    other = support.connect()
    create(other)
    insert(other, "old")
    assert has(other, "old")
    seen.backup(other)
    whole(other)
    assert not has(other, "old")





# ---- dump ----


@not_sanitized
def test_dump_and_restore_with_the_shell(seen, path, tmp_path):
    """The dump holds the shadow table; the shell that restores it needs no extension."""
    script = shell(f'.open "{path}"', LOAD, ".dump")
    copy = str(tmp_path / "copy.db")
    shell(f'.open "{copy}"', UNDEFENDED, script)
    db = support.connect(copy)
    whole(db)
    insert(db, "after")
    assert has(db, "after")


@not_sanitized
def test_dump_and_restore_of_a_filter_with_content(seen, path, tmp_path):
    seen.execute("CREATE TABLE t(x)")
    create(seen, "content='t(x)'", name="two")
    seen.execute("INSERT INTO t VALUES (1), (2)")
    script = shell(f'.open "{path}"', LOAD, ".dump")
    copy = str(tmp_path / "copy.db")
    shell(f'.open "{copy}"', LOAD, UNDEFENDED, script)
    db = support.connect(copy)
    whole(db)
    assert items(db, "two") == 2
    db.execute("INSERT INTO t VALUES (3)")
    assert lost(db, [1, 2, 3], "two") == []


@not_sanitized
def test_a_dump_without_the_extension_restores(seen, path, tmp_path):
    script = shell(f'.open "{path}"', ".dump")
    copy = str(tmp_path / "copy.db")
    shell(f'.open "{copy}"', UNDEFENDED, script)
    whole(support.connect(copy))


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
                   "DELETE FROM seen WHERE key = 1;", "UPDATE seen SET key = 'moved' WHERE key = 2;",
                   "SAVEPOINT s; INSERT INTO seen(key) VALUES ('gone'), ('too'); ROLLBACK TO s; RELEASE s;",
                   "INSERT INTO seen(seen) VALUES ('check'), ('optimize');",
                   "CREATE TABLE t(x); INSERT INTO t VALUES ('c'); CREATE VIRTUAL TABLE c USING cuckoo_filter(capacity=1, content='t(x)');",
                   "INSERT INTO t VALUES ('d'); INSERT INTO c(c) VALUES ('rebuild');",
                   "ALTER TABLE seen RENAME TO s2; INSERT INTO s2(key) VALUES ('late');",
                   "SELECT count(*), cf_table_contains('s2', 'moved'), cf_table_contains('s2', 'late') FROM s2;",
                   "SELECT count(*) FROM c;", "DROP TABLE s2; DROP TABLE c;", "SELECT group_concat(name) FROM sqlite_master;")
    assert output.split()[2:] == ["500|1|1", "2", "t"], output  # behind "defensive on"


@not_sanitized
@pytest.mark.parametrize("sql", ["UPDATE seen_page SET data = 1", "DELETE FROM seen_page", "DROP TABLE seen_page",
                                 "INSERT INTO seen_page VALUES (99, 1)"])
def test_defensive_mode_refuses_sql_on_the_pages(sql):
    output = shell(LOAD, "CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=10);", ".dbconfig defensive on",
                   sql + ";", expect=1)
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

@pytest.mark.parametrize("size", [512, 1024, 2048, 4096, 8192, 32768, 65536])
@pytest.mark.parametrize("auto_vacuum", ["none", "full", "incremental"])
def test_page_sizes(path, size, auto_vacuum):
    db = fast(path)
    db.execute(f"PRAGMA page_size = {size}")
    db.execute(f"PRAGMA auto_vacuum = {auto_vacuum}")
    create(db, "capacity=50, fingerprint_bits=20")
    insert(db, *KEYS)
    assert ask(db, "SELECT max(length(data)) FROM seen_page") <= size - 39, "a row is on one page"
    db.execute("PRAGMA incremental_vacuum")
    whole(db)
    db.close()
    whole(support.connect(path))


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


def test_pages_of_zeros_have_no_rows(db):
    create(db, "capacity=10000000")
    assert ask(db, "SELECT count(*) FROM seen_page") == 1
    insert(db, 1)
    assert ask(db, "SELECT count(*) FROM seen_page") == 2
    assert has(db, 1) and not has(db, 2)


def test_an_insert_writes_few_pages(seen):
    before = dict(seen.execute("SELECT no, data FROM seen_page"))
    insert(seen, "one more")
    after = dict(seen.execute("SELECT no, data FROM seen_page"))
    assert sum(before.get(no) != data for no, data in after.items()) <= 4


def test_integrity_check_is_ok(seen):
    assert ask(seen, "PRAGMA integrity_check") == "ok"


def test_what_a_crash_leaves_is_whole(seen, path, tmp_path):
    """The file and its log as they are on disk, with a transaction open."""
    seen.execute("PRAGMA journal_mode = WAL")
    insert(seen, "committed")
    seen.execute("BEGIN")
    insert(seen, "not committed")
    for suffix in ("", "-wal"):
        shutil.copy(path + suffix, str(tmp_path / ("crash.db" + suffix)))
    db = support.connect(str(tmp_path / "crash.db"))
    assert has(db, "committed") and not has(db, "not committed") and lost(db, KEYS) == []
    check(db)


# ---- optimize ----

@pytest.mark.parametrize("options", ["capacity=100", "capacity=100, overflow=on", "capacity=100, counter_bits=4",
                                     "capacity=100, layout=semisort", "capacity=100, bucket_size=8"])
def test_optimize_gives_pages_back_when_keys_have_gone(path, options):
    db = fast(path)
    create(db, options + ", seed=0")  # how many keys become sticky depends on it
    db.execute("BEGIN")
    insert(db, *range(20000))
    db.execute("COMMIT")
    full = ask(db, "SELECT count(*) FROM seen_page")
    db.execute("BEGIN")
    db.executemany("DELETE FROM seen WHERE key = ?", ((key,) for key in range(1000, 20000)))
    db.execute("COMMIT")
    db.execute("INSERT INTO seen(seen) VALUES ('optimize')")
    assert ask(db, "SELECT count(*) FROM seen_page") < full / 2
    check(db)
    assert lost(db, range(1000)) == [] and items(db) <= 1100  # some deletes are of sticky keys
    db.close()
    db = fast(path)
    assert lost(db, range(1000)) == []
    insert(db, *range(30000, 40000))
    assert lost(db, [*range(1000), *range(30000, 40000)]) == []
    check(db)
    db.close()


def test_optimize_leaves_what_is_full_and_can_be_rolled_back(path):
    db = fast(path)
    create(db, "capacity=100")
    insert(db, *range(3000))
    before = ask(db, "SELECT cf_export('seen')")
    db.execute("INSERT INTO seen(seen) VALUES ('optimize')")
    assert ask(db, "SELECT cf_export('seen')") == before
    db.execute("BEGIN")
    db.executemany("DELETE FROM seen WHERE key = ?", ((key,) for key in range(100, 3000)))
    db.execute("INSERT INTO seen(seen) VALUES ('optimize')")
    assert len(ask(db, "SELECT cf_export('seen')")) < len(before) / 2
    db.execute("ROLLBACK")
    assert ask(db, "SELECT cf_export('seen')") == before and lost(db, range(3000)) == []
    check(db)
    db.close()


def test_a_filter_that_grows_again_after_it_became_smaller(tmp_path):
    """Checksums of rows that optimize took out were subtracted from the sum in the header: others found the filter damaged."""
    path = str(tmp_path / "again.db")
    db = support.connect(path)
    db.execute("PRAGMA page_size = 512")
    db.execute("CREATE VIRTUAL TABLE again USING cuckoo_filter(capacity=40, fingerprint_bits=16, layout=plain, seed=0)")
    many = "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) "
    db.execute(many + "INSERT INTO again(key) SELECT i FROM n")
    db.execute("BEGIN")
    db.executemany("DELETE FROM again WHERE key = ?", ((i,) for i in range(101, 3001)))
    db.execute("COMMIT")
    db.execute("INSERT INTO again(again) VALUES ('optimize')")
    db.execute(many + "INSERT INTO again(key) SELECT i + 5000 FROM n")
    assert ask(support.connect(path), "SELECT cf_table_check('again')") == "ok"
