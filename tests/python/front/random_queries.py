# SPDX-License-Identifier: MIT
"""Random tables and random queries: the rows of a table with rows=on must be those of its content.

Each database has the content t, its front f, two other tables d and e, and the views vt and vf. A query is made with {T}
in the place of the table, and asked twice. Where SQLite itself gives another answer by another plan, either one will do.

    random_queries.py [queries [seed [encoding [numbers]]]]      prints a line for each seed
"""
import random
import re
import sqlite3
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import inside
import support

TYPES = ["INTEGER", "INT", "TEXT", "", "NUMERIC", "REAL", "BLOB", "VARCHAR(9)", "TEXT HIDDEN", "DATE"]
COLLATIONS = ["", "", "", " COLLATE NOCASE", " COLLATE RTRIM"]
VALUES = ["NULL", "NULL", "0", "1", "2", "5", "-1", "9", "10", "5.0", "5.5", "0.1", "1e3", "1000", "9007199254740993",
          "9007199254740992.0", "1e15", "1e16", "9223372036854775807", "9.3e18", "-0.0", "'5'", "'5.0'", "' 5'", "'5 '",
          "'05'", "'+5'", "'1e3'", "'a'", "'A'", "'a '", "'ab'", "'aB'", "'b'", "''", "' '", "'-'", "'.5'", "'0.5'",
          "0.5", "':'", "'/'", "'9'", "'9a'", "'é'", "'~'", "'%'", "'a%'", "x'61'", "x'35'", "x''", "x'ff'",
          "'9007199254740993'",
          "char(9)||'5'", "'5'||char(0)", "'a'||char(0)", "x'6100'", "'1000'", "'1000.0'", "'Infinity'", "9e999",
          # In UTF-16 these begin with the bytes of digits, and İ is neither I nor i.
          "char(0x430)", "char(0x439)", "char(0x410)", "char(0x130)", "char(0x3100)", "char(0x1F600)", "'5'||char(0x430)"]
# A number, and its spellings: mostly of few numbers, so that many of them meet.
NUMBERS = ["7", "7.0", "'7'", "'7.0'", "'07'", "'007'", "' 7'", "'7 '", "'+7'", "'70e-1'", "'0.7E1'", "'.7e1'", "'7.'",
           "0", "-0.0", "'-0'", "'0.0'", "'00'", "0.5", "'0.5'", "'.5'", "'5e-1'", "'0.50'", "0.1+0.2", "'0.3'",
           "'0.30000000000000004'", "0.3",
           "1000", "'1e3 '", "'1E3'", "'1000.0'", "1e15", "'1e15'", "'1.0e+15'", "'1000000000000000'", "1000000000000000",
           "1234567890123456.0", "'1234567890123456'", "'1.23456789012346e+15'", "9007199254740993", "'9007199254740993'",
           "'9007199254740993.0'", "9007199254740992.0", "9223372036854775807", "'9223372036854775807'",
           "'9223372036854775808'",
           "9223372036854775808.0", "-9223372036854775808", "'-9223372036854775808'", "'9e999'", "9e999", "'Inf'",
           "'7'||char(0)", "char(9)||'7'", "'7a'", "x'37'", "'0x7'", "'1_0'", "NULL"]
ENCODINGS = ["UTF-8", "UTF-16le", "UTF-16be"]
CAN_UPDATE_FROM = sqlite3.sqlite_version_info >= (3, 33)
CAN_RIGHT_JOIN = sqlite3.sqlite_version_info >= (3, 39)
# Before 3.38 a virtual table cannot tell IN from =, and SQLite checks it by the wrong affinity.
TELLS_IN = sqlite3.sqlite_version_info >= (3, 38)


class Maker:
    """Makes one database, and queries on it."""

    def __init__(self, rng, numbers):
        self.rng = rng
        self.textual = set()
        self.values = rng.sample(NUMBERS, 15) if numbers else VALUES
        self.text = "TEXT"
        self.key_types = ["TEXT", "", "VARCHAR(9)", "BLOB"] if numbers else TYPES

    def pick(self, *choices):
        return self.rng.choice(choices)

    def value(self):
        return self.rng.choice(self.values)

    def column(self, name):
        type_ = self.rng.choice(self.key_types if name == "k" else TYPES)
        upper = type_.upper()
        if not type_ or any(word in upper for word in ("TEXT", "CHAR", "BLOB")):
            self.textual.add(name)
        return f"{name} {type_}{self.rng.choice(COLLATIONS)}"

    def content(self):
        """The statements that make t. Its columns: id, k, a, b, and perhaps g."""
        rng = self.rng
        self.columns = ["id", "k", "a", "b"]
        parts = [self.column("k"), self.column("a"), self.column("b")]
        key = rng.choice(["integer", "integer", "plain", "keyed", "composite", "text"])
        self.rowid = key in ("integer", "plain", "text")
        parts.insert(0, "id INTEGER PRIMARY KEY" if key == "integer" else "id INTEGER NOT NULL UNIQUE")
        if rng.random() < 0.3:
            parts.append("g AS (a) STORED" if rng.random() < 0.5 else "g TEXT AS (a)")
            self.columns.append("g")
            self.textual.add("g")
        if key == "keyed":
            parts.append("PRIMARY KEY(id)")
        elif key == "composite":
            parts.append("PRIMARY KEY(k, id)")
        elif key == "text":
            parts.append("UNIQUE(k, a, id)")
        rng.shuffle(parts) if rng.random() < 0.2 and key in ("integer", "plain") else None
        if sqlite3.sqlite_version_info < (3, 31):
            raise SystemExit("generated columns came with 3.31")
        yield f"CREATE TABLE t({', '.join(parts)}){'' if self.rowid else ' WITHOUT ROWID'}"
        for name in rng.sample(self.columns[1:], rng.randrange(0, 4)):
            # NOT IN (SELECT column) looks for NULL at the wrong end of an index that descends.
            collate = rng.choice(["", "", " COLLATE NOCASE", " DESC" if name not in "ka" else ""])
            yield f"CREATE INDEX i_{name} ON t({name}{collate}{rng.choice(['', ', id'])})"
        if rng.random() < 0.2:
            yield "CREATE UNIQUE INDEX only ON t(k)"

    def rows(self, table, first, count):
        keyed = table == "t" and not self.rowid
        for i in range(first, first + count):
            key = self.value()
            while keyed and key in ("NULL", "9e999"):
                key = self.value()
            yield f"INSERT OR IGNORE INTO {table}(id, {'k, a, b' if table == 't' else 'x, y, z'}) VALUES ({i}, {key}, {self.value()}, {self.value()})"

    def others(self):
        for table in "de":
            parts = [self.column(name) for name in "xyz"]
            yield f"CREATE TABLE {table}(id INTEGER PRIMARY KEY, {', '.join(parts)})"
            if self.rng.random() < 0.3:
                yield f"CREATE INDEX i_{table} ON {table}(x)"
            yield from self.rows(table, 1, self.rng.randrange(3, 14))

    # ---- conditions ----

    def of_content(self, name):
        column = self.rng.choice(["k", "k", "k"] + self.columns + (["rowid"] if self.has_rowid else []))
        return f"{name}.{column}", column

    def operand(self, others):
        if others and self.rng.random() < 0.6:
            column = f"{self.rng.choice(others)}.{self.rng.choice(['x', 'x', 'y', 'z', 'id'])}"
            wrap = self.rng.random()
            return column if wrap < 0.85 else f"+{column}" if wrap < 0.93 else \
                f"CAST({column} AS {self.pick(self.text, 'INTEGER', 'BLOB', 'NUMERIC')})"
        return self.value()

    def in_list(self, others):
        kind = self.rng.random()
        if kind < 0.4:
            return "(" + ", ".join(self.value() for _ in range(self.rng.randrange(1, 5))) + ")"
        if kind < 0.8:
            return f"(SELECT {self.pick('x', 'y', 'id', '+x')} FROM {self.pick('d', 'e')}{self.pick('', ' WHERE id < 6')})"
        return f"(SELECT {self.pick('k', 'a')} FROM {{T}})" if kind < 0.9 else \
            "(" + ", ".join(self.operand(others) for _ in range(2)) + ")"

    def atom(self, name, others):
        rng = self.rng
        left, column = self.of_content(name)
        if rng.random() < 0.06:
            left = rng.choice([f"+{left}", f"{left} COLLATE NOCASE", f"{left} COLLATE BINARY"] +
                              # An INTEGER PRIMARY KEY has no collation; the column of a virtual table always has one.
                              ([f"CAST({left} AS TEXT)"] if column not in ("id", "rowid") else []))
        kind = rng.random()
        if kind < 0.5:
            right = self.operand(others)
            if rng.random() < 0.05:
                right += rng.choice([" COLLATE NOCASE", " COLLATE RTRIM", " COLLATE BINARY"])
            op = rng.choice(["=", "=", "=", "=", "IS", "<", "<=", ">", ">=", "<>", "IS NOT"])
            return f"{left} {op} {right}" if rng.random() < 0.8 else f"{right} {op} {left}"
        if kind < 0.6 and (TELLS_IN or column not in self.textual):
            return f"{left} {rng.choice(['IN', 'IN', 'IN', 'NOT IN'])} {self.in_list(others)}"
        if kind < 0.68:
            return f"{left} BETWEEN {self.operand(others)} AND {self.operand(others)}"
        if kind < 0.78:
            pattern = rng.choice(["'a%'", "'A%'", "'5%'", "'%'", "'a_'", "''", "'ab%'"])
            return f"{left} LIKE {pattern}" if rng.random() < 0.6 else f"{left} GLOB {pattern.replace('%', '*').replace('_', '?')}"
        if kind < 0.86:
            return f"{left} IS {rng.choice(['', 'NOT '])}NULL"
        if kind < 0.94:
            return f"({self.atom(name, others)} OR {self.atom(name, others)})"
        return f"NOT ({self.atom(name, others)})"

    def condition(self, name, others):
        n = self.rng.choice([1, 1, 1, 2, 2, 3])
        return " AND ".join(self.atom(name, others) for _ in range(n))

    # ---- queries ----

    def shown(self, name):
        return self.rng.choice([f"{name}.*", f"{name}.id, {name}.k", f"{name}.a, {name}.k, {name}.id",
                                f"count(*), sum({name}.id)",
                                f"{name}.b, {name}.id"] + ([f"{name}.rowid, {name}.a"] if self.has_rowid else []))

    def query(self):
        """(SQL, whether the order counts)"""
        c, kind = self.condition, self.rng.randrange(22)
        source = self.rng.choice(["{T}"] * 8 + ["{V}", "(SELECT * FROM {T})"])
        self.has_rowid = self.rowid and source == "{T}" and kind != 15
        s = self.shown("t")
        t = f"{source} AS t"
        if kind == 0:
            return f"SELECT {s} FROM {t} WHERE {c('t', [])}", False
        if kind in (1, 2, 3):
            if self.rng.random() < 0.5:
                s = "e.id, t.id, t.k" if self.rng.random() < 0.7 else "count(*), sum(e.id), sum(t.id)"
            join = self.pick("JOIN", "JOIN", "LEFT JOIN", "CROSS JOIN")
            return f"SELECT {s} FROM e {join} {t} ON {c('t', ['e'])}", False
        if kind == 4:
            return f"SELECT e.id, t.id FROM {t} {self.pick('JOIN', 'LEFT JOIN')} e ON {c('t', ['e'])}", False
        if kind == 5:
            return f"SELECT count(*), sum(e.id) FROM e LEFT JOIN {t} ON {c('t', ['e'])} WHERE t.id IS NULL", False
        if kind in (6, 7):
            return f"SELECT e.id FROM e WHERE {self.pick('', 'NOT ')}EXISTS(SELECT 1 FROM {t} WHERE {c('t', ['e'])})", False
        if kind == 8 and TELLS_IN:
            return f"SELECT e.id FROM e WHERE e.{self.pick('x', 'y')} {self.pick('', 'NOT ')}IN (SELECT t.k FROM {t})", False
        if kind == 9:
            column = self.pick("id", "k", "a")
            desc = self.pick("", " DESC")
            tie = "" if column == "id" else ", t.id"
            limit = self.pick("", " LIMIT 3", " LIMIT 2 OFFSET 1")
            where = "" if self.rng.random() < 0.4 else f" WHERE {c('t', [])}"
            return f"SELECT t.id, t.k FROM {t}{where} ORDER BY t.{column}{desc}{tie}{limit}", True
        if kind == 10:
            return f"SELECT e.id, t.id FROM e JOIN {t} ON {c('t', ['e'])} ORDER BY e.id, t.id{self.pick('', ' LIMIT 4', ' DESC LIMIT 3')}", True
        if kind == 11:
            return f"SELECT count(*) FROM (SELECT DISTINCT t.{self.pick('k', 'a', 'id')} FROM {t} JOIN e ON {c('t', ['e'])})", False
        if kind == 12:
            return f"SELECT count(*), sum(id) FROM {t} WHERE {c('t', [])} GROUP BY {self.pick('k', 'a', 'id')}", False
        if kind == 13:
            return f"SELECT e.id, (SELECT {self.pick('count(*)', 'min(t.id)', 'sum(t.id)')} FROM {t} WHERE {c('t', ['e'])}) FROM e", False
        if kind == 14:
            return f"SELECT count(*) FROM (SELECT k FROM {t} WHERE {c('t', [])} {self.pick('UNION ALL', 'UNION', 'EXCEPT', 'INTERSECT')} SELECT x FROM e)", False
        if kind == 15:
            return f"WITH q AS (SELECT * FROM {{T}}) SELECT e.id, t.id FROM e {self.pick('JOIN', 'LEFT JOIN')} q AS t ON {c('t', ['e'])}", False
        if kind == 16:
            return f"SELECT d.id, e.id, t.id FROM d JOIN e ON d.y = e.y {self.pick('JOIN', 'LEFT JOIN')} {t} ON {c('t', ['d', 'e'])}", False
        if kind == 17:
            return f"SELECT t.id, u.id FROM {t} JOIN {{T}} AS u ON u.k = t.{self.pick('k', 'a', 'b')} WHERE {c('u', [])}", False
        if kind == 18 and CAN_RIGHT_JOIN:
            return f"SELECT e.id, t.id FROM e {self.pick('RIGHT', 'FULL')} JOIN {t} ON t.{self.pick('k', 'a', 'id')} {self.pick('=', '=', '<', 'IS')} e.{self.pick('x', 'y')}", False
        if kind == 19 and CAN_UPDATE_FROM:
            return f"UPDATE e SET y = t.id FROM {t} WHERE t.k = e.x AND t.id = (SELECT min(u.id) FROM {{T}} AS u WHERE u.k = e.x)", False
        if kind == 20:
            return self.pick(f"DELETE FROM e WHERE EXISTS(SELECT 1 FROM {t} WHERE {c('t', ['e'])})",
                             f"INSERT INTO d(id, x) SELECT 100 + t.id, t.k FROM {t} WHERE {c('t', [])}",
                             f"UPDATE e SET z = (SELECT count(*) FROM {t} WHERE {c('t', ['e'])})",
                             # Without triggers, values of an IN that come later would find what was inserted for earlier ones.
                             f"INSERT INTO t(id, k) SELECT 1000 + t.id, t.{self.pick('a', 'k')} FROM {t} WHERE t.k IS NOT NULL AND t.id < {self.value()}",
                             f"DELETE FROM t WHERE id IN (SELECT t.id FROM {t} WHERE {c('t', [])})"), False
        return f"SELECT {s} FROM {t}, e WHERE {c('t', ['e'])} AND {c('t', [])}", False


STATES = ["sound", "sound", "sound", "more", "own", "own savepoint", "no trigger", "no triggers", "damaged",
          "damaged page"]


class Case:
    """One database: `connect` gives a connection with the extension. `numbers`: only numbers and their spellings, asked of a
    column of texts."""

    def __init__(self, connect, seed, encoding=None, numbers=False):
        self.seed, self.rng = seed, random.Random(seed)
        self.maker = Maker(self.rng, numbers)
        self.encoding = encoding or self.rng.choice(ENCODINGS)
        self.db = connect(encoding=self.encoding)
        assert self.db.execute("PRAGMA encoding").fetchone() == (self.encoding,)
        # In UTF-16 early versions make half a character of a blob of one byte, which is no text.
        if self.db.execute("SELECT hex(CAST(x'61' AS TEXT))").fetchone() == ("61",) and self.encoding != "UTF-8":
            self.maker.text = "NUMERIC"
        self.log = []
        rng, maker = self.rng, self.maker
        for sql in maker.content():
            self.run(sql)
        for sql in maker.rows("t", 1, rng.randrange(0, 25)):
            self.run(sql)
        for sql in maker.others():
            self.run(sql)
        make = "CREATE VIRTUAL TABLE f USING cuckoo_filter(content='t(k)', rows=on{})"
        try:
            self.run(make.format(", rowids=on" if seed % 2 else ""))
        except sqlite3.OperationalError as error:
            assert "use CREATE INDEX ON t" in str(error)
            self.run(make.format(""))
        for name in "tf":
            self.run(f"CREATE VIEW v{name} AS SELECT * FROM {name}")
        # SQLite 3.40 makes Bloom filters that do not know RTRIM, after ANALYZE.
        if rng.random() < 0.3 and not any("RTRIM" in sql for sql in self.log):
            self.run("ANALYZE")
        self.state = rng.choice(STATES)
        self.prepare()

    def run(self, sql):
        self.log.append(sql)
        return self.db.execute(sql)

    def changes(self):
        for sql in self.maker.rows("t", 100, self.rng.randrange(1, 8)):
            self.run(sql)
        self.run(f"DELETE FROM t WHERE id % 5 = {self.rng.randrange(5)}")
        self.run(f"UPDATE OR IGNORE t SET k = {self.value_of_key()} WHERE id % 7 = {self.rng.randrange(7)}")

    def value_of_key(self):
        value = "NULL"
        while value in ("NULL", "9e999"):
            value = self.maker.value()
        return value

    def prepare(self):
        if self.state == "more":
            self.changes()
        elif self.state.startswith("own"):
            self.run("BEGIN")
            self.changes()
            if self.state == "own savepoint":
                self.run("SAVEPOINT one")
                self.changes()
                self.run(self.rng.choice(["ROLLBACK TO one", "RELEASE one"]))
                self.changes()
        elif self.state.startswith("no trigger"):
            which = "" if self.state == "no triggers" else self.rng.choice(["INSERT", "UPDATE", "DELETE"])
            inside.drop_own_triggers(self.db, which=which)
            self.changes()
        elif self.state.startswith("damaged"):
            table, column = inside.own_table(self.db, "pages")
            one = "" if self.state == "damaged" else f" WHERE rowid = (SELECT max(rowid) FROM {table})"
            self.run(f"UPDATE {table} SET {column} = substr({column}, 1, 20){one}")

    def ask(self, sql, ordered, within=""):
        self.db.execute("SAVEPOINT query")
        try:
            rows = self.db.execute(sql).fetchall()
            if not sql.startswith(("SELECT", "WITH")):
                rows = [row for table in "det" for row in self.db.execute(f"SELECT '{table}', * FROM {table}")]
        except sqlite3.Error as error:
            rows = [("error", type(error).__name__)]
        self.db.execute("ROLLBACK TO query")
        if within or self.state.startswith("own"):
            self.db.execute("RELEASE query")
        else:
            self.db.execute("ROLLBACK")
        rows = [repr(row) for row in rows]
        return rows if ordered else sorted(rows)

    def other_plans(self, sql, ordered):
        """SQLite's answers by other plans."""
        scanned = re.sub(r"\{T\} AS (\w)", r"t AS \1 NOT INDEXED", sql).format(T="t NOT INDEXED",
                                                                                   V="(SELECT * FROM t NOT INDEXED)")
        # LIKE and GLOB on a column of numeric affinity lose rows of outer joins.
        calls = re.sub(r"\b(\w\.\w+(?: COLLATE \w+)? (?:LIKE|GLOB) ')", r"+\1", sql).format(T="t", V="vt")
        yield self.ask(scanned, ordered)
        yield self.ask(calls, ordered)
        yield self.ask_copy(sql, ordered)
        if " OR " in sql:  # Before 3.54 x = a OR x = b may become x IN (a, b), by the collation of x, if that has an index.
            yield self.ask_copy(sql, ordered, indexed=True)
        self.db.execute("PRAGMA automatic_index = OFF")
        yield self.ask(sql.format(T="t", V="vt"), ordered)
        yield self.ask(scanned, ordered)
        self.db.execute("PRAGMA automatic_index = ON")

    def ask_copy(self, sql, ordered, indexed=False):
        """The answer of a table without indexes, or with one of each column. (SQLite 3.31 has some by which other rows are
        found than without.)"""
        self.db.execute("SAVEPOINT copy")
        columns = [row[1:3] for row in self.db.execute("PRAGMA table_xinfo(f)") if row[6] == 0]
        collations = dict(re.findall(r"\b(\w)[^,()]*(?:\(9\))?[^,()]* COLLATE (\w+)", self.log[0].split("(", 1)[1]))
        self.db.execute("CREATE TABLE copy_of_t(" + ", ".join(
            f"{name} {type_} COLLATE {collations.get(name, 'BINARY')}" for name, type_ in columns) + ")")
        rowid = "rowid, " if self.maker.rowid else ""
        names = rowid + ", ".join(name for name, _ in columns)
        self.db.execute(f"INSERT INTO copy_of_t({names}) SELECT {names} FROM t")
        for name, _ in columns if indexed else []:
            self.db.execute(f"CREATE INDEX copy_{name} ON copy_of_t({name})")
        rows = self.ask(sql.format(T="copy_of_t", V="(SELECT * FROM copy_of_t)"), ordered, "SAVEPOINT")
        self.db.execute("ROLLBACK TO copy")
        self.db.execute("RELEASE copy")
        return rows

    def ask_without_automatic_index(self, sql, ordered):
        self.db.execute("PRAGMA automatic_index = OFF")
        rows = self.ask(sql, ordered)
        self.db.execute("PRAGMA automatic_index = ON")
        return rows

    def compare(self):
        """None, or what is wrong with one query."""
        sql, ordered = self.maker.query()
        plain = self.ask(sql.format(T="t", V="vt"), ordered)
        front = self.ask(sql.format(T="f", V="vf"), ordered)
        if plain == front or front in self.other_plans(sql, ordered):
            return None
        # Indexes that SQLite makes by itself do not always know RTRIM, and then call themselves malformed.
        if any("RTRIM" in line for line in [*self.log, sql]) and (
                "DatabaseError" in front[0:1].__repr__() or
                plain == self.ask_without_automatic_index(sql.format(T="f", V="vf"), ordered)):
            return None
        return f"seed {self.seed}, {self.encoding}, {self.state}\n{';'.join(self.log)};\n{sql}\nplain {plain}\nfront {front}"

    def differences(self, queries):
        """SQLite 3.40 may call an index of its own malformed, when that has RTRIM, and then the transaction fails."""
        wrong = []
        try:
            for _ in range(queries):
                wrong += filter(None, [self.compare()])
        except sqlite3.DatabaseError:
            if not any("RTRIM" in line for line in self.log):
                raise
        return wrong


def run(connect, queries, seed, each=200, report=None, encoding=None, numbers=False):
    """Asks so many queries; the differences. encoding=None: another one in each database."""
    wrong = []
    for i in range(0, queries, each):
        case = Case(connect, seed + i // each, encoding, numbers)
        found = case.differences(each)
        wrong += found
        if report and found:
            report(found)
        case.db.close()
    return wrong


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10000
    first = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(10**9)
    code = sys.argv[3] if len(sys.argv) > 3 else None
    print(f"SQLite {sqlite3.sqlite_version}, {count} queries, seed {first}, {' '.join(sys.argv[3:])}", flush=True)
    bad = run(support.connect, count, first, report=lambda found: print(found[0], flush=True), encoding=code,
              numbers=len(sys.argv) > 4)
    print(f"{count} queries, {len(bad)} differ")
