# SPDX-License-Identifier: MIT
"""One question after the other, each its own statement: whatever has happened in between, each form answers what the tables
say now. The forms keep what they have found and read; plain tables, changed by the same statements, are the truth."""
import contextlib
import sqlite3

import pytest

import support

KEYS = range(24)
FORMS = {
    "function": "SELECT cf_table_contains('seen', ?)",
    "function, main": "SELECT cf_table_contains('main.seen', ?)",
    "function, follows": "SELECT cf_table_contains('fol', ?)",
    "table": "SELECT EXISTS (SELECT 1 FROM seen WHERE key = ?)",
    "table, follows": "SELECT EXISTS (SELECT 1 FROM fol WHERE key = ?)",
    "function, attached": "SELECT cf_table_contains('aux.seen', ?)",
    "table, attached": "SELECT EXISTS (SELECT 1 FROM aux.seen WHERE key = ?)",
}
REFUSED = ("locked", "transaction", "savepoint", "in progress", "schema has changed", "connect_anew")
BUILD = "(SELECT cf_build(k, 1e-7) FROM {0}.truth)"


def make(db, schema):
    for sql in ("CREATE TABLE {0}.truth(k INTEGER PRIMARY KEY)", "CREATE TABLE {0}.users(k)",
                "CREATE TABLE {0}.filters(id INTEGER PRIMARY KEY, f BLOB)", "CREATE TABLE {0}.bystander(x)",
                "CREATE VIRTUAL TABLE {0}.seen USING cuckoo_filter(capacity=100, fpr=1e-7)",
                "INSERT INTO {0}.filters VALUES (7, " + BUILD + "), (8, NULL)"):
        db.execute(sql.format(schema))
    if schema != "temp":
        db.execute(f"CREATE VIRTUAL TABLE {schema}.fol USING cuckoo_filter(capacity=100, fpr=1e-7, content='users(k)')")


def change(db, schema, key):
    """The key comes, or goes."""
    if db.execute(f"SELECT 1 FROM {schema}.truth WHERE k = ?", (key,)).fetchone():
        statements = ("DELETE FROM {0}.truth WHERE k = ?", "DELETE FROM {0}.seen WHERE key = ?",
                      "DELETE FROM {0}.users WHERE k = ?")
    else:
        statements = ("INSERT INTO {0}.truth VALUES (?)", "INSERT INTO {0}.seen(key) VALUES (?)",
                      "INSERT INTO {0}.users VALUES (?)")
    for sql in statements:
        db.execute(sql.format(schema), (key,))
    db.execute(f"UPDATE {schema}.filters SET f = {BUILD.format(schema)} WHERE id = 7")


@contextlib.contextmanager
def together(db):
    """All of the statements, or none of them."""
    db.execute("SAVEPOINT together")
    try:
        yield
        db.execute("RELEASE together")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK TO together")
            db.execute("RELEASE together")
        raise


class World:
    def __init__(self, folder, rng):
        self.random = rng
        self.path, self.auxes = str(folder / "main.db"), [str(folder / f"aux{i}.db") for i in range(2)]
        mode = self.random.choice(("WAL", "DELETE"))
        for path in [self.path, *self.auxes]:
            db = support.connect(path)
            db.execute(f"PRAGMA journal_mode = {mode}")
            make(db, "main")
            db.close()
        self.one, self.other = support.connect(self.path, timeout=0), support.connect(self.path, timeout=0)
        for db in (self.one, self.other):
            db.execute("PRAGMA synchronous = OFF")
        self.attached, self.temp, self.savepoints = None, False, 0

    # ---- what happens ----

    def key(self):
        return self.random.choice(KEYS)

    def changes(self):
        with together(self.one):
            change(self.one, self.random.choice(["main"] + ["temp"] * self.temp
                                                + ["aux"] * (self.attached is not None)), self.key())

    def other_changes(self):
        self.other.execute("BEGIN IMMEDIATE")
        for _ in range(self.random.choice((1, 3))):
            change(self.other, "main", self.key())
        self.other.execute(self.random.choice(("COMMIT", "COMMIT", "ROLLBACK")))

    def other_changes_aux(self):
        db = support.connect(self.random.choice(self.auxes), timeout=0)
        change(db, "main", self.key())
        db.close()

    def bystander(self):
        self.random.choice((self.one, self.other)).execute("INSERT INTO main.bystander(x) VALUES (1)")

    def transaction(self):
        self.one.execute("ROLLBACK" if self.one.in_transaction and self.random.random() < .5 else
                         "COMMIT" if self.one.in_transaction else self.random.choice(("BEGIN", "BEGIN IMMEDIATE")))
        self.savepoints = 0

    def savepoint(self):
        self.one.execute("SAVEPOINT s")
        self.savepoints += 1

    def back(self):
        if self.savepoints:
            self.one.execute(self.random.choice(("ROLLBACK TO s", "ROLLBACK TO s", "RELEASE s")))

    def failing_statement(self):
        key = self.key()
        with pytest.raises(sqlite3.OperationalError, match="NULL|locked"):
            self.one.execute("UPDATE main.filters SET f = CASE id WHEN 7 THEN cf_add(f, ?) ELSE cf_add(NULL, 1) END",
                             (key,))

    def made_anew(self):
        db = self.random.choice((self.one, self.other))
        with together(db):
            for table in ("fol", "seen", "filters", "users", "truth", "bystander"):
                db.execute(f"DROP TABLE main.{table}")
            make(db, "main")
            change(db, "main", self.key())

    def altered(self):
        db = self.random.choice((self.one, self.other))
        with together(db):
            for sql in self.random.choice((("filters RENAME TO gone", "gone RENAME TO filters"),
                                           ("seen RENAME TO gone", "gone RENAME TO seen"),
                                           ("filters RENAME COLUMN f TO g", "filters RENAME COLUMN g TO f"),
                                           ("bystander RENAME COLUMN x TO y", "bystander RENAME COLUMN y TO x"))):
                db.execute(f"ALTER TABLE main.{sql}")

    def shadowed(self):
        with together(self.one):
            if self.temp:
                for table in ("seen", "filters", "users", "truth", "bystander"):
                    self.one.execute(f"DROP TABLE temp.{table}")
            else:
                make(self.one, "temp")
                change(self.one, "temp", self.key())
        self.temp = not self.temp

    def attach(self):
        if self.attached is None:
            self.attached = self.random.choice(self.auxes)
            self.one.execute("ATTACH ? AS aux", (self.attached,))
        else:
            self.one.execute("DETACH aux")
            self.attached = None

    def vacuum(self):
        self.random.choice((self.one, self.other)).execute(self.random.choice(("VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)")))

    def backup(self):
        if not self.one.in_transaction:
            source = sqlite3.connect(self.random.choice(self.auxes))
            source.backup(self.random.choice((self.one, self.other)))
            source.close()

    def authorizer(self):
        self.one.set_authorizer(None if self.random.random() < .5 else lambda *_: sqlite3.SQLITE_OK)

    # ---- asking ----

    def truth(self, schema):
        return {k for k, in self.one.execute(f"SELECT k FROM {schema}.truth")}

    def ask(self):
        resolved = "temp" if self.temp else "main"
        forms = list(FORMS)
        self.random.shuffle(forms)
        for form in forms[:self.random.choice((2, len(forms)))]:
            schema = "aux" if "attached" in form else "main" if ", main" in form or "follows" in form else resolved
            if schema == "aux" and self.attached is None:
                with pytest.raises(sqlite3.Error):
                    self.one.execute(FORMS[form], (1,)).fetchall()
                continue
            truth = self.truth(schema)
            found = {k for k in KEYS if self.one.execute(FORMS[form], (k,)).fetchone()[0]}
            assert truth <= found, (form, truth - found)
            assert "follows" in form or found <= truth, (form, found - truth)

    def step(self):
        events = [self.changes, self.other_changes, self.other_changes_aux, self.bystander, self.transaction,
                  self.savepoint, self.back,
                  self.failing_statement, self.made_anew, self.altered, self.shadowed, self.attach, self.vacuum,
                  self.backup,
                  self.authorizer]
        event = self.random.choices(events, [6, 6, 2, 2, 6, 3, 4, 1, 1, 1, 1, 2, 1, 1, 1])[0]
        try:
            event()
        except sqlite3.OperationalError as error:  # nothing has happened
            assert any(word in str(error) for word in REFUSED), (event, error)
            if self.other.in_transaction:
                self.other.execute("ROLLBACK")
        self.temp = self.one.execute("SELECT count(*) FROM temp.sqlite_master WHERE name = 'truth'").fetchone()[0] > 0
        return event.__name__


@pytest.mark.parametrize("number", range(6))
def test_whatever_happens_in_between(tmp_path, rng, number):
    world = World(tmp_path, rng)
    done, asked = [], 0
    for _ in range(120):
        done.append(world.step())
        try:
            world.ask()
            asked += 1
        except sqlite3.OperationalError as error:
            assert "locked" in str(error), (done[-8:], error)
        except AssertionError as error:
            raise AssertionError(done[-12:]) from error
    assert asked > 100


@pytest.mark.parametrize("form", ["function, follows", "table, follows"])
def test_a_question_leaves_last_insert_rowid_alone(form):
    db = support.connect()
    make(db, "main")
    db.execute("BEGIN")
    db.execute("INSERT INTO bystander(rowid) VALUES (33)")
    db.execute(FORMS[form], (1,)).fetchall()
    assert support.ask(db, "SELECT last_insert_rowid()") == 33
