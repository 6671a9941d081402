# SPDX-License-Identifier: MIT
"""Random statements against filters that follow a table: is a row ever missed?

After every statement each stored row is asked for: found, or an error that names the remedy. When no transaction is open the
filter holds as many keys as the column, and 'check' agrees. The content is the model; what it should be is left to SQLite.
A round starts with a new database. One that fails is run again with fewer and fewer statements, and the rest printed.
"""
import contextlib
import os
import random
import sqlite3
import tempfile
from collections import Counter
from dataclasses import dataclass, field

import support
from promises import EXACT, is_refusal
from statements import SCHEMA, Grammar, columns

STATEMENTS_PER_ROUND = 150
LONGEST_TRANSACTION = 40  # in statements: copies of a key stay far below the 255 that are counted

ROWS = {"insert": 10, "insert_select": 6, "update": 10, "upsert": 6, "delete": 5, "parent": 4, "nested": 6}
ALL = {**ROWS, "transaction": 16, "trigger": 2.5, "ddl": 2.5, "upkeep": 1, "migration": 0.5}
PLAIN = {**ROWS, "transaction": 16, "vacuum": 1, "nested": 0}  # what triggers are told is true
LIES = {**ROWS, "transaction": 16, "vacuum": 0.5, "upkeep": 0.5, "liar": 4}
LIES_OF_ROWIDS = {**LIES, "upsert": 0, "nested": 0}  # by these SQLite damages such a table, with no filter about
MANY = {"insert_select": 8, "update": 6, "delete": 4, "insert": 4, "upsert": 2, "transaction": 16, "vacuum": 0.3}


@dataclass
class Config:
    """What a round is made of."""
    filters: dict  # name: options; h follows x, g a generated column if there is one, the others k
    weights: dict = field(default_factory=lambda: ALL)
    unique: bool = True
    exact: bool = True  # counts are exact: copies are counted, and REPLACE fires triggers
    recursive: bool = True
    connections: str = "e"  # e has the extension; b has not; s has it, and asks no filter
    journal: str = "wal"
    table: str = "key"  # statements.TABLES
    many: int = 15  # rows that INSERT .. SELECT writes; the table has ten times as many


TINY = "capacity=8, growth=on"
FULL = "capacity=40, growth=off, fingerprint_bits=32, counter_bits=8"
CONFIGS = {
    "one filter": Config({"f": EXACT}),
    "rows only": Config({"f": EXACT}, weights={**ROWS, "transaction": 16}),
    "equal keys": Config({"f": EXACT}, unique=False),
    "no recursive triggers": Config({"f": EXACT}, exact=False, recursive=False),
    "several filters": Config({"f": EXACT, "g": EXACT, "h": EXACT}),
    "tiny, grows": Config({"f": TINY + ", fingerprint_bits=32, counter_bits=8", "g": TINY}, exact=False),
    "tiny, few bits": Config({"f": TINY + ", fpr=0.05", "g": TINY + ", overflow=on"}, unique=False, exact=False),
    "gets full": Config({"f": FULL}),
    "one of two gets full": Config({"f": FULL, "g": EXACT}, unique=False),
    "two connections": Config({"f": EXACT}, connections="ee"),
    "two connections, tiny": Config({"f": TINY, "h": EXACT}, connections="ee", exact=False),
    "without the extension": Config({"f": EXACT}, connections="eb"),
    "four connections": Config({"f": EXACT}, connections="eebs"),
    "four connections, rollback journal": Config({"f": EXACT, "h": EXACT}, connections="eebs", journal="delete"),
    "four connections, rows only": Config({"f": EXACT}, connections="eebs", weights={**ROWS, "transaction": 16}),
    "five filters": Config({"f": EXACT, "g": EXACT, "h": EXACT, "i": TINY, "j": EXACT}, connections="eb", exact=False),
    "five filters, four connections": Config(dict.fromkeys("fghij", EXACT), connections="eebs", journal="delete"),
    "rowids that change": Config({"f": EXACT}, connections="eb", table="rowid", exact=False),
    "rowids that change, rows only": Config({"f": EXACT}, connections="eebs", table="rowid", weights=PLAIN),
    "rowids, equal keys": Config({"f": EXACT}, connections="eebs", table="rowid", weights=PLAIN, unique=False),
    "without rowid": Config({"f": EXACT}, connections="eb", table="without rowid", exact=False),
    "without rowid, rows only": Config({"f": EXACT}, connections="eebs", table="without rowid", weights=PLAIN),
    "a generated column": Config({"f": EXACT, "g": EXACT}, connections="eb", table="generated"),
    "generated, four connections": Config({"f": EXACT, "g": EXACT}, connections="eebs", table="generated", journal="delete"),
    "liars": Config({"f": EXACT}, weights=LIES),
    "liars, equal keys": Config({"f": EXACT, "h": EXACT}, weights=LIES, unique=False),
    "liars, no recursive triggers": Config({"f": EXACT}, weights=LIES, recursive=False, exact=False),
    "liars, four connections": Config({"f": EXACT, "h": EXACT}, weights=LIES, connections="eebs"),
    "liars, rollback journal": Config({"f": EXACT}, weights=LIES, connections="eebs", journal="delete", unique=False),
    "liars, generated": Config({"f": EXACT, "g": EXACT}, weights=LIES, connections="eebs", table="generated"),
    "liars, rowids": Config({"f": EXACT}, weights=LIES_OF_ROWIDS, connections="eebs", table="rowid", exact=False),
    "liars, rowids, equal keys": Config({"f": EXACT}, weights=LIES_OF_ROWIDS, connections="eebs", table="rowid", exact=False,
                                        unique=False),
    "long logs": Config({"f": EXACT, "h": TINY}, weights=MANY, connections="ebbs", many=900, exact=False),
    "long logs, exact": Config({"f": EXACT}, weights=MANY, connections="ebs", many=900),
    "long logs, liars": Config({"f": EXACT}, weights={**MANY, "liar": 2}, connections="ebs", many=300, journal="delete"),
}


class Wrong(Exception):
    """A promise that was not kept; its first word is the kind."""


class Over(Exception):
    """SQL of a function has made SQLite roll back under the statement around it (SQLITE_CONSTRAINT_PINNED). SQLite lets that
    go on to the end of a trigger, outside of any transaction: so any log may say what never was, with no filter about."""


class World:
    """A database with its filters, and what is asked after each statement."""

    def __init__(self, config, seed):
        self.config, self.rng = config, random.Random(seed)
        self.folder = tempfile.TemporaryDirectory() if len(config.connections) > 1 else None
        path = os.path.join(self.folder.name, "world.db") if self.folder else ":memory:"
        self.connections = [support.connect(path, timeout=0) if kind != "b" else
                            sqlite3.connect(path, timeout=0, isolation_level=None) for kind in config.connections]
        self.askers = [db for db, kind in zip(self.connections, config.connections) if kind == "e"]
        self.running, self.rolls_back, self.refused, self.doubtful, self.pinned = 0, False, False, False, False
        self.reread = False  # the schema, within the transaction that is open
        self.changed_within = False  # a function has run SQL
        self.changed = 0  # rows that statements have changed themselves, without what triggers and foreign keys do
        for db in self.connections:
            db.execute("PRAGMA synchronous = OFF")
            db.execute("PRAGMA foreign_keys = ON")
            db.execute(f"PRAGMA recursive_triggers = {config.recursive}")
            db.setlimit(sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 12)
            db.create_function("run", 1, lambda sql, db=db: self.run(db, sql))
            db.create_function("nested", 0, lambda: self.running < 0)
        db = self.connections[0]
        if self.folder:
            db.execute(f"PRAGMA journal_mode = {config.journal}")
        action = self.rng.choice(["CASCADE", "SET NULL"])
        front, more = columns(config)
        db.executescript(SCHEMA.format(u="u", columns=front, more=more, action=action))
        self.grammar = Grammar(self.rng, config)
        self.in_transaction = 0
        self.read_names(db)
        for name in config.filters:
            db.execute(self.grammar.create_filter(name))
        self.read_names(db)

    def close(self):
        for db in self.connections:
            db.close()
        if self.folder:
            self.folder.cleanup()

    @property
    def at(self):
        """The connection of which all others wait for the end: the one in a transaction."""
        return next((i for i, db in enumerate(self.connections) if db.in_transaction), 0)

    def run(self, db, sql):
        """The function run(sql): at one level only, and not without end."""
        if self.running < 0 or self.running > 30:
            return None
        self.changed_within = True
        self.running, count = -1, self.running
        try:
            db.execute(sql).fetchall()
        except sqlite3.Error as error:
            self.pinned |= error.sqlite_errorname == "SQLITE_CONSTRAINT_PINNED"
        self.running = count + 1
        return None

    def undrained(self, db):
        """Has a log rows? When a trigger goes that has lied to them, or rowids change, keys may become stale."""
        logs = db.execute("SELECT name FROM sqlite_master WHERE name LIKE 'cuckoo_log_%'").fetchall()
        return any(db.execute(f"SELECT EXISTS (SELECT 1 FROM {log})").fetchone()[0] for log, in logs)

    def read_names(self, db):
        found = dict(db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'"))
        names = {"u": next((name for name in ("u", "u_2") if name in found), None), "k": "k"}
        if names["u"]:
            found_columns = [row[1] for row in db.execute(f"PRAGMA table_info({names['u']})")]
            names["k"] = next((name for name in ("k", "k_2") if name in found_columns), "k")
        other = {"h": "x", "g": "g"} if self.config.table == "generated" else {"h": "x"}
        names["filters"] = {name: other.get(name[0], names["k"])
                            for name, sql in found.items() if sql and "USING cuckoo_filter" in sql}
        self.grammar.names = names

    # ---- a statement ----

    def next(self):
        """(connection, statement) to run next. Transactions are closed before they become too long."""
        if self.in_transaction > LONGEST_TRANSACTION:
            return self.at, self.rng.choice(["COMMIT", "ROLLBACK"])
        table = self.grammar.names["u"]
        try:
            rows = self.connections[self.at].execute(f"SELECT count(*) FROM {table}").fetchone()[0] if table else 0
        except sqlite3.OperationalError:
            raise Over from None  # PRAGMA writable_schema=RESET in a transaction: SQLite keeps names that were rolled back
        if rows > 10 * self.config.many:
            return self.at, f"DELETE FROM {table} WHERE id % 3"
        others = not self.in_transaction or self.rng.random() < 0.05
        number = self.rng.randrange(len(self.connections)) if others else self.at
        sql = self.grammar.statement()
        if self.in_transaction and sql.startswith(("BEGIN", "SAVEPOINT")):
            number = self.at
        may_skip = " AFTER " in sql and len(self.askers) > 1  # RAISE(IGNORE): this connection alone sees why a row is missing
        if "CREATE TEMP TRIGGER" in sql and ("e" != self.config.connections[number] or may_skip):
            sql = sql.replace("TEMP ", "")  # others cannot know of it
        return number, sql

    def do(self, number, sql):
        """Runs it; what it may answer. Asks for every row. The kinds of things that happened."""
        db, happened = self.connections[number], Counter()
        for step in sql.split(";\n"):
            within, self.running = db.in_transaction, 0
            self.doubtful |= step.startswith(("DROP TRIGGER", "VACUUM")) and self.undrained(db)
            self.rolls_back |= "ROLLBACK" in step  # it, or a trigger that it makes, may do so of its own accord
            try:
                cursor = db.execute(step)
                cursor.fetchall()
                self.changed += max(0, cursor.rowcount)
            except sqlite3.Error as error:
                happened["errors"] += 1
                self.judge(error, within and not db.in_transaction, step)
            self.reread |= within and step.startswith(("ATTACH", "PRAGMA writable_schema=RESET"))
            if self.pinned or self.reread and ("ROLLBACK" in step or not db.in_transaction and step != "COMMIT"):
                raise Over  # SQLite forgets by reading it (a failing ATTACH does) that it has changed: it keeps what is rolled back
            self.reread &= db.in_transaction
        first = self.connections[self.at]
        self.in_transaction = self.in_transaction + 1 if first.in_transaction else 0
        if not sql.startswith(("INSERT", "UPDATE", "DELETE FROM u")) or (within and not db.in_transaction):
            self.read_names(first)
        for connection in self.askers:
            if not self.all_found(connection):
                happened["refusals"] += 1
                if self.rng.random() < 0.7:
                    self.repair(connection)
        if self.config.connections[self.at] == "e":
            self.counts(first)
        return happened

    def judge_refusal(self, error):
        """When only rows were changed there is nothing to refuse. A delete without its key comes after such a refusal only."""
        unmatched = "has gone whose key it did not hold" in str(error)
        sees_lies = self.config.table != "without rowid" or self.config.exact  # else functions may do what nobody sees
        if unmatched and not self.refused and sees_lies:
            raise Wrong(f"unmatched: {error}")
        if "trigger" not in self.config.weights:
            raise Wrong(f"refused: {error}")
        self.refused = True

    def judge(self, error, ended, step):
        code = error.sqlite_errorcode & 0xFF
        if code == sqlite3.SQLITE_CORRUPT and "filter" not in str(error) and self.changed_within:
            if self.is_sound():
                return  # SQLite says so without a filter, too, when an expression changes the row that it is for
            raise Over  # an INSERT within an INSERT has taken the rowid of the outer one: no filter is needed for that
        if self.rolls_back and "shadow table is missing" in str(error):
            return  # the rollback, in the middle of a statement, has taken a rename back
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_INTERNAL, sqlite3.SQLITE_MISUSE,
                    sqlite3.SQLITE_IOERR):
            raise Wrong(f"error: {error!r} of: {step}")
        if "filter is full" in str(error) and not any("growth=off" in o for o in self.config.filters.values()):
            raise Wrong(f"full: {error}")
        if ended and not self.rolls_back and code not in (sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_ABORT) and step not in ("COMMIT", "ROLLBACK"):
            raise Wrong(f"rolledback: {error!r} ended the transaction, of: {step}")
        if step == "COMMIT" and ended:
            raise Wrong(f"rolledback: COMMIT lost the transaction: {error!r}")

    def is_sound(self):
        return self.connections[self.at].execute("PRAGMA quick_check").fetchall() == [("ok",)]

    # ---- the promise ----

    def all_found(self, db):
        """Whether each stored row is found; False when a filter refuses."""
        names, answers = self.grammar.names, True
        if not names["u"]:
            return True
        for name, column in names["filters"].items():
            question = (f"NOT cf_table_contains('{name}', {column})" if self.rng.random() < 0.8 else
                        f"NOT EXISTS (SELECT 1 FROM {name} WHERE {name}.key = {names['u']}.{column})")
            try:
                db.execute(f"SELECT cf_table_contains('{name}', 1)").fetchall()  # there may be no row to ask for
                missed = db.execute(f"SELECT {column} FROM {names['u']} WHERE {column} IS NOT NULL AND {question}").fetchall()
            except sqlite3.OperationalError as error:
                if not is_refusal(error):
                    if db is self.connections[self.at]:
                        raise Wrong(f"error: {error!r} of a lookup in {name}") from error
                    continue  # another connection has locked the database, or changes its names
                self.judge_refusal(error)
                answers = False
                continue
            except sqlite3.Error as error:
                raise Wrong(f"lookup: {error!r} in {name}") from error
            if missed:
                raise Wrong(f"missed: {name} denies {missed[:3]}, {len(missed)} rows")
        return answers

    def repair(self, db):
        """What the error said: rebuild. Temporary triggers have to go first. SQLite may not know those of which another
        connection has renamed the table."""
        for (name,) in db.execute("SELECT name FROM sqlite_temp_master WHERE type = 'trigger' AND name LIKE 't_'").fetchall():
            db.execute(f"DROP TRIGGER IF EXISTS temp.{name}")
        db.execute("PRAGMA writable_schema = ON")
        db.execute("DELETE FROM sqlite_temp_master WHERE type = 'trigger' AND name LIKE 't_'")
        db.execute("PRAGMA writable_schema = RESET")
        if self.config.table == "without rowid":  # where BEFORE triggers are refused
            for name in ("t1", "t2", "t3"):
                with contextlib.suppress(sqlite3.OperationalError):  # another connection has locked the database
                    db.execute(f"DROP TRIGGER IF EXISTS {name}")
        for name in self.grammar.names["filters"]:
            try:
                db.execute(f"INSERT INTO {name}({name}) VALUES ('rebuild')")
            except sqlite3.Error as error:
                if db is not self.connections[self.at] and "no such table" in str(error):
                    return  # another connection has renamed it, and not committed yet
                if any(words in str(error) for words in ("full", "there is no table", "no such table", "has no column")):
                    with contextlib.suppress(sqlite3.OperationalError):  # another connection has locked the database
                        db.execute(f"DROP TABLE {name}")
                    self.read_names(db)
                    return
                if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                    return
                raise Wrong(f"rebuild: {error!r}") from error
        if not self.all_found(db):
            raise Wrong("rebuild: it has not helped")

    def counts(self, db):
        """Outside of a transaction there are no keys but those of the rows."""
        names = self.grammar.names
        if any(one.in_transaction for one in self.connections) or not self.config.exact or not names["u"]:
            return
        for name, column in names["filters"].items():
            try:
                keys, = db.execute(f"SELECT count(*) FROM {name}").fetchone()
                rows, = db.execute(f"SELECT count({column}) FROM {names['u']}").fetchone()
                if keys == rows and self.rng.random() < 0.1:
                    db.execute(f"INSERT INTO {name}({name}) VALUES ('check')")
            except sqlite3.OperationalError as error:
                if not is_refusal(error) and error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                    raise Wrong(f"error: {error!r} of count or check") from error
                continue
            except sqlite3.Error as error:
                raise Wrong(f"check: {error!r}") from error
            if keys < rows or (keys > rows and not self.rolls_back and not self.doubtful):  # SQL rolls back the statement it is in
                raise Wrong(f"stale: {name} has {keys} keys for {rows} rows")


# ---- rounds ----

def replay(config, seed, statements):
    """What goes wrong when just these statements are run, and after how many of them; (None, 0) for nothing."""
    world = World(config, seed)
    try:
        for i, (number, sql) in enumerate(statements):
            try:
                world.do(number, sql)
            except Wrong as wrong:
                return str(wrong), i + 1
        return None, 0
    except Over:
        return None, 0
    finally:
        world.close()


def shrunk(config, seed, statements, kind, budget=600):
    """Fewer statements that fail in the same way."""
    step = max(1, len(statements) // 2)
    while step and budget > 0:
        at = 0
        while at < len(statements) and budget > 0:
            fewer = statements[:at] + statements[at + step:]
            wrong, n = replay(config, seed, fewer)
            budget -= 1
            if wrong and wrong.split(":")[0] == kind:
                statements = fewer[:n]
            else:
                at += step
        step //= 2
    return statements


def one_round(config, seed, report):
    """Runs a round and adds to the report; a text about the failure, or None."""
    world, done = World(config, seed), []
    try:
        for _ in range(STATEMENTS_PER_ROUND):
            done.append(world.next())
            report.update(world.do(*done[-1]))
    except Over:
        report["rounds that were over"] += 1
    except Wrong as wrong:
        kind = str(wrong).split(":")[0]
        report[kind] += 1
        few = shrunk(config, seed, done, kind) if report[kind] == 1 else done[-5:]
        return f"{wrong}\nseed of the round: {seed!r}\n" + "\n".join(f"  {n}  {sql}" for n, sql in few)
    finally:
        report["statements"] += len(done)
        report["rows"] += world.changed
        world.close()
    return None


def attack(config, seed, rows, rounds=1 << 60):
    """Rounds until so many rows were changed. (counts, texts about failures, the first of each kind)"""
    report, failures, number = Counter(missed=0, stale=0), {}, 0
    while report["rows"] < rows and number < rounds:
        number += 1
        text = one_round(config, f"{seed} {number}", report)
        if text:
            failures.setdefault(text.split(":")[0], text)
    report["rounds"] = number
    return report, list(failures.values())
