# SPDX-License-Identifier: MIT
"""Pragmas and settings that change names, rows, orders or checks: each filter table answers as without them.

The same story of two connections, a writer that makes the table and a reader, is told once without the setting, which is
the model, and then with it in either or both of them, from the start, after CREATE, or in the middle.
"""
import itertools
import os
import re
import sqlite3

import pytest

import support

DQS_DML, DQS_DDL, LEGACY_ALTER, DEFENSIVE, ENABLE_COMMENTS = 1013, 1014, 1012, 1010, 1022
ON_OFF = ["short_column_names", "full_column_names", "empty_result_callbacks", "count_changes", "case_sensitive_like",
          "legacy_alter_table", "legacy_file_format", "reverse_unordered_selects", "recursive_triggers",
          "defer_foreign_keys",
          "foreign_keys", "ignore_check_constraints", "writable_schema", "trusted_schema", "cell_size_check",
          "automatic_index", "read_uncommitted", "secure_delete", "checkpoint_fullfsync", "fullfsync", "cache_spill"]
SETTINGS = {f"{name}={value}": [f"PRAGMA {name} = {value}"] for name in ON_OFF for value in (0, 1)}
SETTINGS |= {sql: [f"PRAGMA {sql}"] for sql in
             ["encoding='UTF-16le'", "encoding='UTF-16be'", "temp_store=1", "temp_store=2", "cache_size=1",
              "locking_mode=NORMAL", "threads=2",
              "mmap_size=1000000", "page_size=1024", "auto_vacuum=1", "auto_vacuum=2", "journal_mode=WAL",
              "journal_mode=TRUNCATE",
              "analysis_limit=1", "hard_heap_limit=0", "busy_timeout=1"]}
SETTINGS |= {
    "all names long": ["PRAGMA short_column_names = 0", "PRAGMA full_column_names = 1"],
    "names and counts": ["PRAGMA full_column_names = 1", "PRAGMA count_changes = 1", "PRAGMA empty_result_callbacks = 1",
                         "PRAGMA short_column_names = 0", "PRAGMA reverse_unordered_selects = 1"],
    "dqs off": [(DQS_DML, 0), (DQS_DDL, 0)], "dqs on": [(DQS_DML, 1), (DQS_DDL, 1)],
    "defensive": [(DEFENSIVE, 1)], "legacy alter": [(LEGACY_ALTER, 1)],
    **({"no comments": [(ENABLE_COMMENTS, 0)]} if sqlite3.sqlite_version_info >= (3, 49) else {})}

KINDS = {
    "direct": (None, "capacity=100"),
    "ageing": (None, "capacity=100, keep='1 day'"),
    "rowid": ("k TEXT COLLATE NOCASE, other", "content='t(k)'"),
    "primary key": ('"the id" INTEGER PRIMARY KEY, k TEXT UNIQUE, other', "content='t(k)'"),
    "descending": ("id INTEGER PRIMARY KEY DESC, k TEXT, other", "content='t(k)'"),
    "a column rowid": ("rowid TEXT, oid, k, other", "content='t(k)'"),
    "the rowid": ("k INTEGER PRIMARY KEY, other", "content='t(k)'"),
    "without rowid": ("k TEXT PRIMARY KEY, other) WITHOUT ROWID", "content='t(k)'"),
    "rows": ("id INTEGER PRIMARY KEY, k TEXT COLLATE NOCASE, other", "content='t(k)', rows=on"),
    "rows without rowid": ("id DEFAULT (hex(randomblob(8))), k TEXT, other, PRIMARY KEY(id)) WITHOUT ROWID",
                           "content='t(k)', rows=on"),
}


def set_all(db, settings):
    for setting in settings:
        if isinstance(setting, str):
            db.execute(setting).fetchall()
        else:
            support.configure(db, *setting)


class Story:
    """What both connections are told, in order. `settings`: of the writer and of the reader, at this point of the story."""

    def __init__(self, path, kind, settings=(), who="", when=""):
        self.path, self.told = path, []
        self.columns, self.arguments = KINDS[kind]
        self.settings, self.who, self.when = settings, who, when
        self.writer, self.reader = support.connect(path), support.connect(path)
        for db in (self.writer, self.reader):
            db.execute("PRAGMA synchronous = OFF")
        self.content = self.columns is not None
        self.key = "k" if "rows=on" in self.arguments else "key"

    def point(self, name):
        if self.when == name:
            for db in ([self.writer] if "writer" in self.who else []) + ([self.reader] if "reader" in self.who else []):
                set_all(db, self.settings)

    def do(self, db, sql, *parameters):
        try:
            cursor = db.execute(sql, parameters)
            rows = sorted(cursor.fetchall(), key=repr)
            answer = rows if re.match("SELECT|WITH", sql) else "done"
        except sqlite3.Error as error:
            answer = f"{type(error).__name__}: {error}"
        self.told.append((sql, re.sub("[0-9a-f]{16}", "LOG", repr(answer))))

    def ask(self):
        for db in (self.writer, self.reader):
            for key in ("a1", "A1", 7, "b2", "x9", "absent"):
                self.do(db, f"SELECT count(*) FROM f WHERE {self.key} = ?", key)
                self.do(db, "SELECT cf_table_contains('f', ?)", key)
            self.do(db, "SELECT count(*) FROM f")
            if self.content:
                self.do(db, f"SELECT {self.key} FROM f")
                self.do(db, f"SELECT f.{self.key} FROM f JOIN t ON f.{self.key} = t.k WHERE f.{self.key} > 'b'")
            self.do(db, "SELECT cf_table_check('f')")
            self.do(db, "SELECT json_extract(cf_table_info('f'), '$.items', '$.trusted', '$.why', '$.pending', '$.table', '$.column')")
            self.do(db, "SELECT count(*), sum(length(fingerprint) > 0) FROM cf_buckets('f')")
            self.do(db, "SELECT length(cf_export('f'))")
            self.do(db, "SELECT * FROM pragma_table_info('f')")
            self.do(db, "SELECT type, name, tbl_name, sql FROM sqlite_master")

    def change(self, n):
        db = self.writer
        if self.content:
            self.do(db, "INSERT INTO t(k, other) VALUES (?, ?)", 100 + n, n)
            self.do(db, "UPDATE t SET k = ? WHERE k = ?", 200 + n, 100 + n)
            self.do(db, "INSERT INTO t(k, other) VALUES (?, 5)", 300 + n)
            self.do(db, "DELETE FROM t WHERE k = ?", 300 + n)
            self.do(db, "UPDATE t SET other = 6")
        else:
            self.do(db, "INSERT OR IGNORE INTO f(key) VALUES (?)", f"b{n}")
            self.do(db, "INSERT OR IGNORE INTO f(key) VALUES (?)", f"c{n}")
            self.do(db, "DELETE FROM f WHERE key = ?", f"c{n}")
        for command in ("check", "drain", "optimize", "rebuild", "nonsense"):
            self.do(db, "INSERT INTO f(f) VALUES (?)", command)

    def tell(self):
        db = self.writer
        self.point("from the start")
        if self.content:
            self.do(db, f"CREATE TABLE t({self.columns}{'' if 'WITHOUT' in self.columns else ')'}")
            for n, key in enumerate(("a1", 7, "b2", "B3")):
                self.do(db, "INSERT INTO t(k, other) VALUES (?, ?)", n
                        if self.columns.startswith("k INTEGER") else key, n)
        self.do(db, f"CREATE VIRTUAL TABLE f USING cuckoo_filter({self.arguments}, seed=0)")
        if not self.content:
            self.do(db, "INSERT INTO f(key) VALUES ('a1'), (7), ('b2')")
        self.ask()
        self.point("after create")
        self.ask()
        self.change(1)
        self.ask()
        self.point("in the middle")
        self.change(2)
        self.ask()
        self.do(self.reader, "SELECT cf_table_rebuild('f') IS NULL")
        self.ask()
        if self.content:
            self.do(db, "ALTER TABLE t ADD COLUMN more")
            self.do(db, "CREATE UNIQUE INDEX i ON t(k, other)")
            self.change(3)
            self.do(db, "ALTER TABLE t RENAME COLUMN other TO another")
            self.do(db, "ALTER TABLE t RENAME TO t")
        self.do(db, "ALTER TABLE f RENAME TO f3")
        self.do(db, "ALTER TABLE f3 RENAME TO f")
        self.ask()
        self.do(db, "SELECT * FROM f, nothing")
        self.do(db, "CREATE VIRTUAL TABLE g USING cuckoo_filter(content='t(kk)')")
        self.do(db, "SELECT cf_table_contains('ff', 1)")
        self.do(db, "DROP TABLE f")
        self.do(self.reader, "SELECT type, name, sql FROM sqlite_master")
        self.writer.close()
        self.reader.close()
        return self.told


WHEN = list(itertools.product(["writer", "reader", "writer and reader"],
                              ["from the start", "after create", "in the middle"]))
EVERY = bool(os.environ.get("CUCKOO_EVERY_PRAGMA"))  # all of 99 stories of a setting, in place of one for every second kind of table


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return {kind: Story(tmp_path_factory.mktemp("model") / "m.db", kind).tell() for kind in KINDS}


def test_the_models_find_what_there_is(models):
    for kind, told in models.items():
        assert not any("LOG" in answer and "Error" in answer for _, answer in told)
        assert sum("Error" in answer for _, answer in told) < len(told) / 6, [pair for pair in told
                                                                              if "Error" in pair[1]]
        assert ("SELECT cf_table_check('f')", "[('ok',)]") in told, kind


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_setting_changes_nothing(tmp_path, models, rng, setting):
    stories = itertools.product(KINDS, WHEN) if EVERY else [(kind, rng.choice([WHEN[-3], *WHEN]))
                                                            for kind in rng.sample(list(KINDS), 6)]
    for n, (kind, (who, when)) in enumerate(stories):
        told = Story(tmp_path / f"{n}.db", kind, SETTINGS[setting], who, when).tell()
        differ = [(mine, its) for mine, its in zip(told, models[kind]) if mine != its]
        assert len(told) == len(models[kind]) and differ == [], (kind, who, when, differ[:3])
