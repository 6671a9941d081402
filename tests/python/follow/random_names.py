# SPDX-License-Identifier: MIT
"""Random lives of names: tables, views and columns are renamed, created and dropped, and their names are used again.

A life is a list of statements of one or two connections; a twin without filters runs the same ones. Filters in main, in temp and in
an attached database have content='u(k)'. Where their triggers are, SQLite's own schema says. After each statement no stored key is
reported absent, rows=on gives the rows of the table that has the name now, or an error, and a filter is trusted exactly when its
triggers are on that table and column.

    random_names.py [--lives N] [--seed S] [--shown N]     prints what became of them, and lives that are wrong, shrunk
"""
import argparse
import collections
import json
import random
import re
import sqlite3
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import support
from promises import bare

NAMES = ["u", "u", "v", "w", "U", 'my "u"']
COLUMNS = ["k", "k", "j", "K"]
SHAPES = ["k TEXT, x", "k TEXT, x", "k TEXT UNIQUE, x", "k TEXT UNIQUE, x", "x, k TEXT UNIQUE", "j TEXT, x", "k, x", "k INTEGER, x",
          "k TEXT COLLATE NOCASE, x", "K TEXT PRIMARY KEY, j", "k TEXT PRIMARY KEY, x) WITHOUT ROWID"]
VALUES = ["'a'", "'A'", "'b'", "'c'", "'1'", "1", "2", "NULL"]
FILTERS = {"main": [("f", ""), ("r", ", rows=on")], "temp": [("t", ""), ("tr", ", rows=on")], "aux": [("h", ""), ("hr", ", rows=on")]}
COLUMN_OF = re.compile(r' WHEN (?:new|old)\."((?:[^"]|"")*)"')

Life = collections.namedtuple("Life", "shape who schemas statements")  # shape: of u; who: the second connection, or None
Shown = collections.namedtuple("Shown", "wrong what")


def table(name, shape):
    return f"CREATE TABLE {name}({shape}{'' if shape.endswith('ROWID') else ')'}"


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


class Maker:

    def __init__(self, rng):
        self.rng = rng

    def name(self):
        return quoted(self.rng.choice(NAMES))

    def rows(self, s):
        n, v = self.name(), self.rng.choice
        return v([f"INSERT OR IGNORE INTO {s}.{n} VALUES ({v(VALUES)}, {v(VALUES)})"] * 3 +
                 [f"UPDATE OR IGNORE {s}.{n} SET {v(COLUMNS)} = {v(VALUES)}", f"DELETE FROM {s}.{n} WHERE {v(COLUMNS)} = {v(VALUES)}"])

    def schema(self, s):
        a, b, v = self.name(), self.name(), self.rng.choice
        return v([[f"ALTER TABLE {s}.{a} RENAME TO {b}"]] * 4 + [[table(f"{s}.{a}", v(SHAPES))]] * 4 +
                 [[f"CREATE TABLE {s}.{a} AS SELECT * FROM {s}.{b}"], [f"DROP TABLE {s}.{a}"], [f"DROP TABLE {s}.{a}"],
                  [f"CREATE VIEW {s}.{a} AS SELECT * FROM {b}"], [f"DROP VIEW {s}.{a}"], [f"DROP VIEW {s}.{a}"],
                  [f"CREATE INDEX {s}.i{self.rng.randrange(9)} ON {a}(k)"],
                  [f"ALTER TABLE {s}.{a} RENAME COLUMN {v(COLUMNS)} TO {v(COLUMNS)}"],
                  [f"ALTER TABLE {s}.{a} RENAME COLUMN k TO j"],
                  [f"ALTER TABLE {s}.{a} ADD COLUMN {v(COLUMNS)} {v(['', 'TEXT', 'DEFAULT 1'])}"],
                  # A log that is rotated; a staging table; a column that is kept; the twelve steps.
                  [f"ALTER TABLE {s}.u RENAME TO v", table(f"{s}.u", v(SHAPES)), f"INSERT INTO {s}.u VALUES ('b', 'b')"],
                  [f"CREATE TABLE {s}.w AS SELECT * FROM {s}.u", f"ALTER TABLE {s}.u RENAME TO v", f"ALTER TABLE {s}.w RENAME TO u"],
                  [f"ALTER TABLE {s}.u RENAME COLUMN k TO j", f"ALTER TABLE {s}.u ADD COLUMN k", f"UPDATE {s}.u SET k = lower(j)"],
                  [f"CREATE TABLE {s}.w(k TEXT, x)", f"INSERT INTO {s}.w SELECT * FROM {s}.u", f"DROP TABLE {s}.u",
                   f"ALTER TABLE {s}.w RENAME TO u"]])

    def step(self, schemas):
        s, v = self.rng.choice(schemas), self.rng.random()
        if v < 0.3:
            return [self.rows(s)]
        if v < 0.8:
            return self.schema(s)
        if v < 0.9:
            return [self.rng.choice(["BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT s", "ROLLBACK TO s", "RELEASE s"])]
        return ["rebuild " + s]

    def life(self):
        who = self.rng.choice([None, None, None, "bare", "extension"])
        schemas = self.rng.choice([["main"], ["main"], ["main", "temp"], ["main", "temp", "aux"]] if who is None else [["main"]])
        legacy = self.rng.random() < 0.1
        shape = self.rng.choice([shape for shape in SHAPES if shape.lower().startswith("k ")])
        statements = [(0, "PRAGMA legacy_alter_table = 1"), (1, "PRAGMA legacy_alter_table = 1")] if legacy else []
        for _ in range(self.rng.randrange(4, 14)):
            at = self.rng.randrange(2) if who else 0
            step = self.step(schemas)  # of a table that a TEMP one hides SQLite renames no column in triggers
            statements += [(at, sql) for sql in step if "temp" not in schemas or "RENAME COLUMN" not in sql]
        return Life(shape, who, schemas, statements)


# ---- what must hold ----

class Filter:
    """One filter, and what SQLite says of its triggers."""

    def __init__(self, db, schema, name, options):
        self.schema, self.name, self.rows = schema, name, bool(options)
        had = self.triggers_of(db, "cuckoo_*ed")
        db.execute(f"CREATE VIRTUAL TABLE {schema}.{name} USING cuckoo_filter(capacity=100, counter_bits=8, content='u(k)'{options})")
        own = [row[0] for row in self.triggers_of(db, "cuckoo_*ed") if row not in had]
        assert len(own) == 3
        self.glob = own[0][:own[0].rindex("_")] + "_*ed"

    def triggers_of(self, db, glob):
        return db.execute(f"SELECT name, tbl_name, sql FROM {self.schema}.sqlite_master WHERE type = 'trigger' AND name GLOB ? "
                          "AND name NOT GLOB 'cuckoo_log*'", (glob,)).fetchall()

    def place(self, db):
        """(table that is meant, is it a table?, its column, the places of its triggers, how many there are)"""
        found = self.triggers_of(db, self.glob)
        on = [(table, COLUMN_OF.search(sql)[1].replace('""', '"')) for _, table, sql in found]
        named = db.execute(f"SELECT name, type = 'table' FROM {self.schema}.sqlite_master WHERE type IN ('table', 'view') AND "
                           "name = 'u' COLLATE NOCASE").fetchone()
        if not named and not on:
            return None
        table, is_table = named or (on[0][0], True)
        columns = [row[1].lower() for row in db.execute(f"PRAGMA {self.schema}.table_xinfo({quoted(table)})")] if is_table else []
        column = "k" if "k" in columns else on[0][1] if on and on[0][1].lower() in columns else None
        return table, is_table, column, on, len(found)


def rows_of(db, sql):
    return sorted(db.execute(sql).fetchall(), key=repr)


def look(db, twin, one):
    """What is wrong with a filter now: (kind, text), or None. Also whether it is trusted."""
    place = one.place(db)
    if place is None:
        return None, "nothing"
    table, is_table, column, on, triggers = place
    s, name = one.schema, f"{one.schema}.{one.name}"
    told = json.loads(support.ask(db, "SELECT cf_table_info(?)", name))
    if column is None and is_table and not on:  # the names that were saved last may be of another column
        columns = [row[1] for row in db.execute(f"PRAGMA {s}.table_xinfo({quoted(table)})")]
        column = told["column"] if told["table"].lower() == table.lower() and told["column"] in columns else None
    same = {(t.lower(), k.lower()) for t, k in on} == {(table.lower(), (column or "").lower())}
    wants = triggers == 3 and same
    if bool(told["trusted"]) != wants:
        return ("trusted" if told["trusted"] else "not trusted", f"{name} is on {on}, the name is of {table}({column}): {told['why']}"), ""
    moved = triggers > 0 and not same
    if moved and not all(word.lower() in told["why"].lower() for word in (*on[0], table)):
        return ("message", f"{on} and {table} are not in {told['why']}"), ""
    if moved and support.ask(db, "SELECT cf_table_check(?)", name) != told["why"]:
        return ("check", told["why"]), ""
    kind = "trusted" if wants else "moved" if moved else "no triggers"
    content, quote = f"{s}.{quoted(table)}", quoted(column or "k")
    try:
        if column:
            missed = db.execute(f"SELECT {quote} FROM {content} WHERE {quote} IS NOT NULL AND NOT cf_table_contains('{name}', {quote})")
            missed = missed.fetchall()
            if missed:
                return ("absent", f"{missed} of {content} in {name}"), ""
        else:
            support.ask(db, "SELECT cf_table_contains(?, 'a')", name)
            return ("no error", name), ""
    except sqlite3.OperationalError as error:
        if wants or "rebuild" not in str(error) and "gone" not in str(error) and "DROP TABLE" not in str(error):
            return ("error", f"{name}: {error}"), ""
        kind += ", an error"
    if not one.rows:
        return None, kind
    for where in ["", f" WHERE {quote} = 'a'", f" WHERE {quote} = '1'", f" WHERE {quote} = 1"][:4 if column else 1]:
        want = rows_of(twin, f"SELECT * FROM {content}{where}") if is_table else None
        try:
            got = rows_of(db, f"SELECT * FROM {name}{where}")
        except sqlite3.OperationalError as error:
            if is_table and "the columns of" not in str(error) and "no such column" not in str(error):
                return ("error", f"{name}{where}: {error}"), ""
            return None, kind + ", rows an error"
        if got != want:
            return ("rows", f"{name}{where}: {got}, and {content} has {want}"), ""
    return None, kind


# ---- a life ----

def connections(life, folder):
    """(those with filters, their twins): one, or two on a file."""
    made = []
    for kind in ("db", "twin"):
        path = ":memory:" if life.who is None else tempfile.mktemp(".db", kind, folder)
        first = support.connect(path, timeout=0)
        made.append([first] + ([bare(path, timeout=0) if life.who == "bare" else support.connect(path, timeout=0)] if life.who else []))
        for db in made[-1]:
            db.execute("PRAGMA synchronous = off")
            if "aux" in life.schemas:
                db.execute("ATTACH ':memory:' AS aux")
        for s in life.schemas:
            first.execute(table(f"{s}.u", life.shape))
            first.execute(f"INSERT INTO {s}.u VALUES ('a', 1), ('B', 2)" if "INTEGER" not in life.shape else
                          f"INSERT INTO {s}.u VALUES (1, 1), (2, 2)")
    return made


def run(db, sql):
    try:
        db.execute(sql).fetchall()
    except sqlite3.Error as error:
        return str(error)
    return None


def rebuild(db, filters, schema):
    for one in filters:
        place = one.place(db)
        error = run(db, f"SELECT cf_table_rebuild('{schema}.{one.name}')") if one.schema == schema else None
        if error and place and place[1] and place[2] and "collation" not in error:
            return "rebuild", f"{one.name}: {error}"
        if one.schema == schema and not error and look(db, db, one)[1][:7] != "trusted":
            return "rebuild", f"{one.name} is not trusted: {look(db, db, one)}"
    return None


def live(life, folder, counts=None):
    dbs, twins = connections(life, folder)
    try:
        filters = [Filter(dbs[0], s, name, options) for s in life.schemas for name, options in FILTERS[s]]
        for number, (at, sql) in enumerate(life.statements):
            if at >= len(dbs) or any(db.in_transaction for db in dbs if db is not dbs[at]):
                continue
            wrong = None
            if sql.startswith("rebuild"):
                if at == 0 or life.who == "extension":
                    wrong = rebuild(dbs[at], filters, sql.split()[1])
            else:
                run(dbs[at], "SELECT 1 FROM sqlite_master"), run(twins[at], "SELECT 1 FROM sqlite_master")  # both know the schema
                one, other = run(dbs[at], sql), run(twins[at], sql)
                if one and not other and re.match(r"error in trigger cuckoo_|no such table: (main|aux)\.", one):
                    return Shown(None, None)  # SQLite confuses any triggers of a table with those of a TEMP table that hides it
                if bool(one) != bool(other) and "no such module" not in str(one):
                    wrong = "statement", f"{one}, and the twin: {other}"
            for i, (db, twin) in enumerate(zip(dbs, twins)):
                for one in filters if not wrong and (i == 0 or life.who == "extension") else []:
                    found, kind = look(db, twin, one)
                    wrong = wrong or found
                    if counts is not None:
                        counts[kind] += 1
            if wrong:
                return Shown(wrong[0], f"after {number}, {at}: {sql}: {wrong[1]}")
        return Shown(None, None)
    finally:
        for db in dbs + twins:
            db.close()


def shrink(life, wrong, folder):
    """Leaves out what is not needed for the same to be wrong."""
    size = len(life.statements) // 2
    while size:
        for at in range(len(life.statements) - size, -1, -size):
            less = life._replace(statements=life.statements[:at] + life.statements[at + size:])
            try:
                if live(less, folder).wrong == wrong:
                    life = less
            except (AssertionError, sqlite3.Error):
                pass
        size //= 2
    return life


def lives(number, seed, shown=3, tell=lambda text: None):
    """What became of them: counts of looks, and some lives that are wrong, shrunk."""
    counts, told = collections.Counter(), []
    with tempfile.TemporaryDirectory() as folder:
        for i in range(number):
            life = Maker(random.Random(f"{seed} {i}")).life()
            wrong = live(life, folder, counts).wrong
            counts["wrong"] += wrong is not None
            if wrong and len(told) < shown:
                small = shrink(life, wrong, folder)
                told.append(f"-- seed {seed}, life {i}, {small.shape}, {small.who}, {small.schemas}: {wrong}; {live(small, folder).what}\n" +
                            "".join(f"{at}: {sql}\n" for at, sql in small.statements))
                tell(told[-1])
            if life.who:
                for path in Path(folder).iterdir():
                    path.unlink()
    return counts, told


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lives", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**9))
    parser.add_argument("--shown", type=int, default=5)
    given = parser.parse_args()
    print(f"{support.extension_path()}, SQLite {sqlite3.sqlite_version}, seed {given.seed}", flush=True)
    began = time.process_time()
    counts, _ = lives(given.lives, given.seed, given.shown, lambda text: print(text, flush=True))
    print(f"{given.lives} lives, {given.lives / (time.process_time() - began):.0f} a second of processor time: {dict(counts)}")
    return counts["wrong"] > 0


if __name__ == "__main__":
    sys.exit(main())
