# SPDX-License-Identifier: MIT
"""Rows that get new rowids without a trigger: by VACUUM, dumps that are restored, backups. The filter notices, whatever the first
and last rows have."""
import contextlib
import re
import sqlite3

import pytest
import support
from promises import bare
from test_database import LOAD, UNDEFENDED, shell

SHAPES = ["k", "k UNIQUE", "k, x, g AS (k || 'x')", "k, x, g AS (k || 'x') STORED", "k, x CHECK (x IS NULL)", "k COLLATE NOCASE, x DEFAULT 5", "id INTEGER PRIMARY KEY, k"]
MANY = "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 600) INSERT INTO t(k) SELECT iif(i BETWEEN 60 AND 540, 'k' || i, NULL) FROM n"
KEYS = [f"k{i}" for i in range(60, 541, 16)]
JOIN = "SELECT t.rowid FROM f AS i JOIN t ON t.rowid = i.row AND t.k = i.key WHERE i.key = ?"


def make(path, shape):
    db = support.connect(path)
    db.execute(f"CREATE TABLE t({shape})")
    db.execute(MANY)
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(content='t(k)', rowids=on)")
    db.close()


def look(path):
    """A connection finds the rows, or says that it cannot be trusted."""
    with contextlib.closing(support.connect(path)) as db:
        for key in KEYS:
            try:
                got = db.execute(JOIN, (key,)).fetchall()
            except sqlite3.OperationalError as error:
                # The second one: a row was deleted by its new rowid, under which the filter had no pair.
                assert re.search("rows of t (are missing|have changed without its triggers)", str(error))
                return False
            assert got == db.execute("SELECT rowid FROM t WHERE k = ?", (key,)).fetchall(), key
        return True


def dump(path, other):
    shell(f".open {other}", UNDEFENDED, LOAD, shell(f".open {path}", LOAD, ".dump"))


def step(rng, path, other):
    what = rng.randrange(9)
    with contextlib.closing(rng.choice([bare, support.connect])(path)) as db:
        if what == 0:
            db.execute(f"CREATE TABLE later{rng.getrandbits(40)}(x)")
        elif what == 1:
            db.execute("DELETE FROM t WHERE k = ?", (rng.choice(KEYS[:9]),))
        elif what == 2:
            db.execute("INSERT OR IGNORE INTO t(k) VALUES (?)", (rng.choice(KEYS[:9]),))
        elif what == 3:
            db.execute("VACUUM")
        elif what == 4:
            other.unlink(missing_ok=True)
            db.execute("VACUUM INTO ?", (str(other),))
        elif what == 5:
            with contextlib.closing(bare(other)) as target:
                db.backup(target)
        elif what == 6:
            with contextlib.closing(support.connect(path)) as known, contextlib.suppress(sqlite3.OperationalError):
                known.execute(rng.choice(["INSERT INTO f(f) VALUES ('drain')", "INSERT INTO f(f) VALUES ('optimize')", "SELECT cf_table_rebuild('f')"]))
        elif what == 7:
            db.execute("ALTER TABLE t ADD COLUMN " + f"c{rng.getrandbits(40)}")
        else:
            other.unlink(missing_ok=True)
            dump(path, other)


@pytest.mark.parametrize("shape", SHAPES)
def test_they_are_noticed(tmp_path, rng, shape):
    one, other = tmp_path / "x.db", tmp_path / "y.db"
    make(one, shape)
    for _ in range(25):
        step(rng, one, other)
        if other.exists() and rng.random() < 0.5:
            look(other)
            if rng.random() < 0.2:
                one, other = other, one
        if rng.random() < 0.7 and not look(one) and rng.random() < 0.5:
            with contextlib.closing(support.connect(one)) as db:
                db.execute("SELECT cf_table_rebuild('f')")
            assert look(one)


@pytest.mark.parametrize("ddl", ["source", "target"])
def test_a_dump_with_one_statement_more(tmp_path, ddl):
    """The number of the schema in the target may be that of the source."""
    one, other = tmp_path / "x.db", tmp_path / "y.db"
    make(one, "k")
    for n in range(6):
        with contextlib.closing(support.connect(one)) as db:
            db.execute("DELETE FROM t WHERE k = ?", (KEYS[n],))
            if ddl == "source":
                db.execute(f"CREATE TABLE later{n}(x)")
        other.unlink(missing_ok=True)
        dump(one, other)
        if ddl == "target":
            with contextlib.closing(bare(other)) as db:
                for m in range(n):
                    db.execute(f"CREATE TABLE later{m}(x)")
        assert not look(other)


def test_backups_into_one_file(tmp_path):
    one, other = tmp_path / "x.db", tmp_path / "y.db"
    make(one, "k")
    for night in range(20):
        with contextlib.closing(bare(one)) as db, contextlib.closing(bare(other)) as target:
            if night == 3:
                db.execute("DELETE FROM t WHERE k = ?", (KEYS[0],))
                db.execute("VACUUM")
            db.backup(target)
        assert look(other) == (night < 3)


def test_rows_are_compared_once(tmp_path):
    """After VACUUM of a table with an index, whose rowids stay: the next write notes that they are right."""
    one = tmp_path / "x.db"
    make(one, "k UNIQUE")
    with contextlib.closing(bare(one)) as db:
        db.execute("VACUUM")
    with contextlib.closing(support.connect(one)) as db:
        stamp = "SELECT count(*) FROM f_log WHERE rowid = 0"
        assert support.ask(db, stamp) == 0
        assert db.execute(JOIN, (KEYS[3],)).fetchall()
        db.execute("INSERT INTO f(f) VALUES ('drain')")
        assert support.ask(db, stamp) == 1
        db.execute("INSERT INTO t(k) VALUES ('new')")
        db.execute("INSERT INTO f(f) VALUES ('drain')")
        assert support.ask(db, stamp) == 1 and support.ask(db, "SELECT cf_table_check('f')") == "ok"
    assert look(one)


@pytest.mark.parametrize("call", ["SELECT cf_table_rebuild('f')", "SELECT row FROM f WHERE key = 'k5'", "INSERT INTO f(f) VALUES ('drain')"])
def test_interrupted_at_each_step(db, call):
    """What a use has learned of the rowids outlives an interrupt of the next one. Any row may equal a fraction."""
    db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, k)")
    db.executemany("INSERT INTO t(k) VALUES (?)", [(f"k{i}",) for i in range(50)] + [(0.5,)])
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(content='t(k)', rowids=on)")
    left, steps, done = 0, 0, False

    def stop():
        nonlocal left
        left -= 1
        return left < 0

    while not done:
        left = steps = steps + 5
        db.set_progress_handler(stop, 1)
        try:
            db.execute(call).fetchall()
            done = True
        except sqlite3.OperationalError:
            pass
        db.set_progress_handler(None, 0)
        for key, row in ((0.5, 51), ("k5", 6)):
            assert db.execute("SELECT u.id FROM f AS i JOIN t AS u ON u.id = i.row AND u.k = i.key WHERE i.key = ?", (key,)).fetchall() == [(row,)], steps
        assert support.ask(db, "SELECT cf_table_check('f')") == "ok"
