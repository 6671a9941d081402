# SPDX-License-Identifier: MIT
"""Triggers that ordinary applications have on a table: a filter of that table is made, is trusted, and finds each key.

Each set is one that people write, or that their tools write for them. It is there before the filter. A newer one may cost
the trust, and `rebuild` gives it back. The few that let SQLite tell wrong values are refused, and never lose a key.
"""
import re
import sqlite3

import pytest

import support
from promises import EXACT, MISSED, Follower, attempt, drain, sees
from support import ask

USERS = "CREATE TABLE users(id INTEGER PRIMARY KEY, email TEXT, name, updated_at, deleted_at, n_posts DEFAULT 0)"
TOUCH = "AFTER UPDATE ON users BEGIN UPDATE users SET updated_at = datetime('now') WHERE id = new.id; END"
DOCS = "CREATE TABLE docs(id INTEGER PRIMARY KEY, slug TEXT UNIQUE, body TEXT)"
ORDERS = "CREATE TABLE orders(id INTEGER PRIMARY KEY, code TEXT, total)"
NODES = "CREATE TABLE nodes(id INTEGER PRIMARY KEY, name TEXT, parent INTEGER)"

# Tables first; the content and its column; then the triggers, without CREATE TRIGGER and a name.
SETS = {
    "updated_at": (USERS, "users(email)", TOUCH),
    "updated_at, of a column": (USERS, "users(email)", """
        AFTER UPDATE OF email ON users WHEN new.updated_at IS old.updated_at BEGIN
            UPDATE users SET updated_at = strftime('%s', 'now') WHERE rowid = new.rowid; END"""),
    "updated_at and created_at": (USERS, "users(email)", TOUCH + """;
        AFTER INSERT ON users BEGIN UPDATE users SET updated_at = datetime('now') WHERE id = new.id; END"""),
    "updated_at, and nothing is deleted": (USERS, "users(email)", TOUCH + """;
        BEFORE DELETE ON users BEGIN SELECT RAISE(ABORT, 'users stay'); END"""),
    "updated_at without rowid": (
        "CREATE TABLE users(email TEXT PRIMARY KEY, name, updated_at) WITHOUT ROWID", "users(email)", """
        AFTER UPDATE ON users BEGIN UPDATE users SET updated_at = datetime('now') WHERE email = new.email; END"""),
    "a ledger that only grows": ("CREATE TABLE entries(id INTEGER PRIMARY KEY, ref TEXT, cents)", "entries(ref)", """
        BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'entries do not change'); END;
        BEFORE DELETE ON entries BEGIN SELECT RAISE(FAIL, 'entries stay: do not DELETE'); END"""),
    "a ledger with balances": (
        "CREATE TABLE entries(id INTEGER PRIMARY KEY, ref TEXT, account, cents DEFAULT 1); "
        "CREATE TABLE balances(account PRIMARY KEY, cents DEFAULT 0)", "entries(ref)", """
        AFTER INSERT ON entries BEGIN INSERT OR IGNORE INTO balances(account) VALUES (new.account);
            UPDATE balances SET cents = cents + new.cents WHERE account = new.account; END;
        BEFORE UPDATE OF cents ON entries BEGIN SELECT RAISE(ABORT, 'write another entry'); END"""),
    "FTS5, external content": (
        DOCS + "; CREATE VIRTUAL TABLE docs_fts USING fts5(body, content='docs', content_rowid='id')", "docs(slug)", """
        AFTER INSERT ON docs BEGIN INSERT INTO docs_fts(rowid, body) VALUES (new.id, new.body); END;
        AFTER DELETE ON docs BEGIN INSERT INTO docs_fts(docs_fts, rowid, body) VALUES ('delete', old.id, old.body); END;
        AFTER UPDATE ON docs BEGIN INSERT INTO docs_fts(docs_fts, rowid, body) VALUES ('delete', old.id, old.body);
            INSERT INTO docs_fts(rowid, body) VALUES (new.id, new.body); END"""),
    "FTS4, external content, with a time": (
        DOCS.replace("body", "at, body") + "; CREATE VIRTUAL TABLE docs_fts USING fts4(body, content='docs')", "docs(slug)", """
        BEFORE UPDATE ON docs BEGIN DELETE FROM docs_fts WHERE docid = old.rowid; END;
        BEFORE DELETE ON docs BEGIN DELETE FROM docs_fts WHERE docid = old.rowid; END;
        AFTER UPDATE ON docs BEGIN INSERT INTO docs_fts(docid, body) VALUES (new.rowid, new.body); END;
        AFTER INSERT ON docs BEGIN INSERT INTO docs_fts(docid, body) VALUES (new.rowid, new.body); END;
        AFTER UPDATE OF body ON docs BEGIN UPDATE docs SET at = datetime('now') WHERE id = new.id; END"""),
    "soft delete": (USERS, "users(email)", """
        BEFORE DELETE ON users WHEN old.deleted_at IS NULL BEGIN
            UPDATE users SET deleted_at = datetime('now') WHERE id = old.id; SELECT RAISE(IGNORE); END"""),
    "foreign keys by triggers": (
        NODES + "; CREATE TABLE items(id INTEGER PRIMARY KEY, node)", "nodes(name)", """
        BEFORE UPDATE ON nodes BEGIN SELECT RAISE(ABORT, 'no such parent')
            WHERE new.parent IS NOT NULL AND NOT EXISTS (SELECT 1 FROM nodes WHERE id = new.parent); END;
        BEFORE DELETE ON nodes BEGIN SELECT RAISE(ABORT, 'it has items')
            WHERE EXISTS (SELECT 1 FROM items WHERE node = old.id); END"""),
    "a check by RAISE": (USERS, "users(email)", """
        AFTER INSERT ON users WHEN new.email NOT LIKE '%@%' BEGIN SELECT RAISE(ABORT, 'that is no address'); END;
        BEFORE UPDATE OF name ON users BEGIN SELECT CASE WHEN new.name = 3 THEN RAISE(ROLLBACK, 'not three') END; END"""),
    "an audit, before": (
        ORDERS + "; CREATE TABLE audit(what, was, at DEFAULT CURRENT_TIMESTAMP)", "orders(code)", """
        BEFORE UPDATE ON orders BEGIN INSERT INTO audit(what, was) VALUES ('update orders', old.code); END;
        BEFORE DELETE ON orders BEGIN INSERT INTO audit(what, was) VALUES ('delete from orders', old.code); END"""),
    "a history, after": (
        ORDERS + "; CREATE TABLE orders_history(rowid_, code, total, version)", "orders(code)", """
        AFTER INSERT ON orders BEGIN INSERT INTO orders_history SELECT new.id, new.code, new.total, 1; END;
        AFTER UPDATE ON orders BEGIN INSERT INTO orders_history SELECT id, code, total,
            (SELECT max(version) FROM orders_history WHERE rowid_ = id) + 1 FROM orders WHERE id = new.id; END;
        AFTER DELETE ON orders BEGIN INSERT INTO orders_history VALUES (old.id, old.code, NULL, -1); END"""),
    "counts of rows": (
        ORDERS + "; CREATE TABLE counts([table] TEXT PRIMARY KEY, n DEFAULT 0)", "orders(code)", """
        AFTER INSERT ON orders BEGIN INSERT OR REPLACE INTO counts VALUES ('orders',
            coalesce((SELECT n FROM counts WHERE [table] = 'orders'), 0) + 1); END;
        AFTER DELETE ON orders BEGIN INSERT OR REPLACE INTO counts VALUES ('orders',
            coalesce((SELECT n FROM counts WHERE [table] = 'orders'), 0) - 1); END"""),
    "replication by functions": (ORDERS, "orders(code)", """
        AFTER INSERT ON orders WHEN syncs() = 0 BEGIN VALUES (note('orders', new.id)); END;
        AFTER UPDATE ON orders WHEN syncs() = 0 BEGIN VALUES (note(new.id, old.id, new.code, old.code)); END;
        AFTER DELETE ON orders WHEN syncs() = 0 BEGIN VALUES (note('orders', old.id)); END"""),
    "changes that undo": (
        ORDERS + "; CREATE TABLE undo(id INTEGER PRIMARY KEY, sql)", "orders(code)", """
        AFTER INSERT ON orders BEGIN INSERT INTO undo VALUES (NULL, 'DELETE FROM orders WHERE rowid=' || new.rowid); END;
        AFTER UPDATE ON orders BEGIN INSERT INTO undo VALUES (NULL,
            'UPDATE orders SET code=' || quote(old.code) || ' WHERE rowid=' || old.rowid); END;
        BEFORE DELETE ON orders BEGIN INSERT INTO undo VALUES (NULL,
            'INSERT INTO orders(id,code) VALUES(' || old.rowid || ',' || quote(old.code) || ')'); END"""),
    "children deleted by hand": (
        USERS + "; CREATE TABLE posts(id INTEGER PRIMARY KEY, user_id)", "users(email)", """
        BEFORE DELETE ON users BEGIN DELETE FROM posts WHERE user_id = old.id; END;
        AFTER INSERT ON posts BEGIN UPDATE users SET n_posts = n_posts + 1 WHERE id = new.user_id; END;
        AFTER DELETE ON posts BEGIN UPDATE users SET n_posts = n_posts - 1 WHERE id = old.user_id; END"""),
    "children by a foreign key": (
        USERS + "; CREATE TABLE posts(id INTEGER PRIMARY KEY, user_id REFERENCES users ON DELETE CASCADE ON UPDATE CASCADE)",
        "users(email)", """
        AFTER DELETE ON posts BEGIN UPDATE users SET n_posts = n_posts - 1 WHERE id = old.user_id; END"""),
    "a tree, deleted after": (NODES, "nodes(name)", "AFTER DELETE ON nodes BEGIN DELETE FROM nodes WHERE parent = old.id; END"),
    "GeoPackage": (
        "CREATE TABLE places(id INTEGER PRIMARY KEY, name TEXT, kind, geom); "
        "CREATE VIRTUAL TABLE rtree_places USING rtree(id, x0, x1, y0, y1)", "places(name)", """
        AFTER INSERT ON places WHEN new.geom NOT NULL BEGIN
            INSERT OR REPLACE INTO rtree_places VALUES (new.id, new.geom, new.geom, 1, 1); END;
        AFTER UPDATE OF geom ON places WHEN old.id = new.id BEGIN
            INSERT OR REPLACE INTO rtree_places VALUES (new.id, new.geom, new.geom, 1, 1); END;
        AFTER UPDATE ON places WHEN old.id <> new.id BEGIN DELETE FROM rtree_places WHERE id IN (old.id, new.id); END;
        AFTER DELETE ON places BEGIN DELETE FROM rtree_places WHERE id = old.id; END;
        BEFORE UPDATE OF kind ON places BEGIN
            SELECT RAISE(ABORT, 'update on places: kind is not 1 .. 7') WHERE NOT (new.kind IN (1, 2, 3, 4, 5, 6, 7)); END"""),
    "a ring of messages": ("CREATE TABLE logs(id INTEGER PRIMARY KEY, msg TEXT)", "logs(msg)", """
        BEFORE INSERT ON logs BEGIN DELETE FROM logs WHERE id < (SELECT max(id) FROM logs) - 8; END"""),
    "an archive named like the table": (
        "CREATE TABLE log(id INTEGER PRIMARY KEY, msg TEXT); CREATE TABLE log_archive(id, msg)", "log(msg)", """
        BEFORE UPDATE ON log BEGIN INSERT INTO log_archive SELECT * FROM log WHERE id = old.id; END"""),
    "addresses in small letters, after": (USERS, "users(email)", """
        AFTER INSERT ON users BEGIN UPDATE users SET email = lower(email) WHERE id = new.id; END;
        AFTER UPDATE OF email ON users WHEN new.email <> lower(new.email) BEGIN
            UPDATE users SET email = lower(email) WHERE id = new.id; END"""),
}
# SQLite tells what is no longer true: these are refused.
REFUSED = {
    "addresses in small letters, before": (USERS, "users(email)", """
        BEFORE UPDATE ON users BEGIN UPDATE users SET email = lower(email) WHERE id = new.id; END"""),
    "a tree, deleted before": (NODES, "nodes(name)", "BEFORE DELETE ON nodes BEGIN DELETE FROM nodes WHERE parent = old.id; END"),
    "written anew, before": (ORDERS, "orders(code)", """
        BEFORE UPDATE ON orders BEGIN INSERT OR REPLACE INTO orders SELECT old.id, upper(old.code), 0; END"""),
}
UNIVERSE = [f"Key{i}@b.org" for i in range(12)]


class Life:
    """A database with such a set, and its changes."""

    def __init__(self, rng, tables, content, triggers):
        self.rng, self.content, self.db = rng, content, support.connect()
        self.table, self.key = re.match(r"(\w+)\((\w+)\)", content).groups()
        self.db.create_function("syncs", 0, lambda: 0)
        self.db.create_function("note", -1, lambda *values: len(values))
        self.db.execute("PRAGMA foreign_keys = ON")
        self.db.executescript(tables)
        names = [name for name, sql in self.db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'")
                 if sql.startswith("CREATE TABLE") and "fts_" not in name and "rtree_" not in name]
        self.columns = {name: [row[1] for row in self.db.execute(f"PRAGMA table_info([{name}])")] for name in names}
        self.triggers = list(self.split(triggers))

    def split(self, triggers):
        """CREATE TRIGGER .., one by one: bodies have semicolons, too."""
        number, sql = 0, f"CREATE TRIGGER {self.table}_t0 "
        for part in (triggers + ";").split(";")[:-1]:
            sql += part + ";"
            if sqlite3.complete_statement(sql):
                yield sql
                number += 1
                sql = f"CREATE TRIGGER {self.table}_t{number} "

    def make(self):
        self.db.execute(f"CREATE VIRTUAL TABLE f USING cuckoo_filter(capacity=64, fingerprint_bits=32, counter_bits=8, "
                        f"content='{self.content}')")
        return Follower(self.db, self.table, self.key)

    def value(self, column):
        if column == self.key:
            return repr(self.rng.choice(UNIVERSE))
        return self.rng.choice(["NULL", "1", "2", "3", "5", "9"]) if column != "id" else str(self.rng.randrange(1, 16))

    def change(self):
        """A statement, mostly on the content."""
        one, table = self.rng.choice, self.rng.choice([self.table] * 4 + list(self.columns))
        columns = [name for name in self.columns[table] if name in ("id", self.key) or self.rng.random() < 0.5]
        first, column, clause = self.columns[table][0], one(self.columns[table]), one(["", "", "OR REPLACE", "OR IGNORE", "OR FAIL"])
        columns = columns or [first]
        into = f"INTO [{table}]({', '.join(f'[{name}]' for name in columns)}) VALUES"
        row = lambda: "(" + ", ".join(map(self.value, columns)) + ")"
        return one([f"INSERT {clause} {into} {row()}, {row()}", f"INSERT {clause} {into} {row()}", f"REPLACE {into} {row()}",
                    f"INSERT {into} {row()} ON CONFLICT DO NOTHING",
                    f"INSERT {into} {row()} ON CONFLICT([{first}]) DO UPDATE SET [{column}] = {self.value(column)}",
                    f"UPDATE {clause} [{table}] SET [{column}] = {self.value(column)} WHERE [{first}] = {self.value(first)}",
                    f"UPDATE {clause} [{table}] SET [{column}] = {self.value(column)} WHERE [{first}] > {self.value(first)}",
                    f"DELETE FROM [{table}] WHERE [{first}] = {self.value(first)}",
                    "BEGIN", "COMMIT", "SAVEPOINT s", "RELEASE s", "ROLLBACK TO s"])

    def live(self, changes, *followers):
        """So many changes; no key is missed after any. How many of them were done."""
        done = sum(attempt(self.db, self.change(), *followers) is None for _ in range(changes))
        if self.db.in_transaction:
            attempt(self.db, "COMMIT", *followers)
        if self.db.in_transaction:  # a foreign key forbids it
            self.db.execute("ROLLBACK")
        return done

    def trusted(self):
        return ask(self.db, "SELECT json_extract(cf_table_info('f'), '$.trusted')")


@pytest.mark.parametrize("recursive", [0, 1], ids=["", "recursive_triggers"])
@pytest.mark.parametrize("name", SETS)
def test_it_is_trusted_and_finds_each_key(rng, name, recursive):
    life = Life(rng, *SETS[name])
    life.db.execute(f"PRAGMA recursive_triggers = {recursive}")
    for trigger in life.triggers:
        life.db.execute(trigger)
    life.live(20)
    filter_ = life.make()
    assert life.trusted() == 1
    assert life.live(100, filter_) > 10
    assert filter_.answers() and life.trusted() == 1
    drain(life.db)
    filter_.exact(stale=not recursive)  # REPLACE tells triggers what it deletes only where they are recursive
    assert life.trusted() == 1
    stored = {key for (key,) in life.db.execute(f"SELECT {life.key} FROM {life.table}")}
    for key in ([key for key in UNIVERSE if key not in stored] if recursive else []) + [f"absent{i}" for i in range(100)]:
        assert sees(life.db, key) == (key in stored), key


@pytest.mark.parametrize("index", [False, True], ids=["", "index"])
@pytest.mark.parametrize("name", SETS)
def test_newer_ones_break_nobody(rng, name, index):
    """It finds each key, or its use is an error that names `rebuild`: which makes it trusted."""
    life = Life(rng, *SETS[name])
    life.db.execute("PRAGMA recursive_triggers = ON")
    if index:
        life.db.execute(f"CREATE INDEX by_key ON {life.content}")
    filter_ = life.make()
    for trigger in life.triggers:
        life.db.execute(trigger)
    life.live(60, filter_)
    assert filter_.answers() or life.trusted() == 0
    filter_.rebuild()
    assert filter_.answers() and life.trusted() == 1
    life.live(40, filter_)
    filter_.exact()


@pytest.mark.parametrize("name", REFUSED)
def test_what_makes_sqlite_tell_wrong_values_is_refused(rng, name):
    """The error names the trigger, when the filter is made and, where the trigger is newer, when it is used."""
    life = Life(rng, *REFUSED[name])
    for trigger in life.triggers:
        life.db.execute(trigger)
    with pytest.raises(sqlite3.OperationalError, match=f"{life.table}_t0"):
        life.make()
    assert not life.db.execute("SELECT name FROM sqlite_master WHERE name GLOB 'f_*' OR name GLOB 'cuckoo*'").fetchall()
    life.db.execute(f"DROP TRIGGER {life.table}_t0")
    life.make()
    life.live(20)
    life.db.execute(life.triggers[0])
    life.db.execute(f"INSERT INTO {life.table}({life.key}) VALUES ('one more')")
    for question in MISSED:
        with pytest.raises(sqlite3.OperationalError, match=f"{life.table}_t0"):
            life.db.execute(question.format(k=life.key, u=life.table, f="f")).fetchall()
    assert life.trusted() == 0


# A change in the midst of a change: tables, the column, a trigger on u or another table, and what sets it off. Row 1 has a, row 2 b.
MOVE = "UPDATE u SET id = 9000 WHERE id = 1; UPDATE u SET id = 1 WHERE id = 2"
MOVE_PARENT = "UPDATE a SET id = 9000 WHERE id = 1; UPDATE a SET id = 1 WHERE id = 2"
MIDST = {
    "another row takes its place": ("id INTEGER PRIMARY KEY, k, n, p", "k", f"BEFORE UPDATE OF n ON u BEGIN {MOVE}; END"),
    "without rowid": ("id INT PRIMARY KEY, k, n, p) WITHOUT ROWID --", "k", f"BEFORE UPDATE OF n ON u BEGIN {MOVE}; END"),
    "by the name rowid": ("id, k, n, p", "k", f"BEFORE UPDATE OF n ON u BEGIN {MOVE.replace('id =', 'rowid =')}; END"),
    "by a foreign key": ("id INTEGER PRIMARY KEY REFERENCES a ON UPDATE CASCADE, k, n, p", "k",
                         f"BEFORE UPDATE OF n ON u BEGIN {MOVE_PARENT}; END"),
    "by a foreign key, without rowid": ("id INT PRIMARY KEY REFERENCES a ON UPDATE CASCADE, k, n, p) WITHOUT ROWID --", "k",
                                        f"BEFORE UPDATE OF n ON u BEGIN {MOVE_PARENT}; END"),
    "the key by a foreign key": ("id INTEGER PRIMARY KEY, k, n, p REFERENCES a ON UPDATE CASCADE", "p",
                                 "BEFORE UPDATE OF n ON u BEGIN UPDATE a SET id = 9001 WHERE id = old.p; END"),
    "behind another table": ("id INTEGER PRIMARY KEY, k, n, p", "k",
                             "BEFORE UPDATE OF n ON u BEGIN INSERT INTO o VALUES (old.id); END; "
                             "AFTER INSERT ON o BEGIN UPDATE u SET k = k || 'x' WHERE id = new.x; END"),
    "it refers to itself": ("id INTEGER PRIMARY KEY, k, n UNIQUE, p REFERENCES u(n) ON DELETE SET NULL", "p", ""),
}


@pytest.mark.parametrize("event", ["UPDATE", "DELETE"])
@pytest.mark.parametrize("name", MIDST)
def test_a_change_in_the_midst_of_a_change(rng, name, event):
    """The filter is refused, or finds each key. There are so many rows that no sample of them is all."""
    columns, column, triggers = MIDST[name]
    life = Life(rng, f"CREATE TABLE a(id INTEGER PRIMARY KEY); CREATE TABLE o(x);\nCREATE TABLE u({columns})", f"u({column})",
                triggers.replace("UPDATE OF n", event) if event == "DELETE" else triggers)
    life.db.execute("INSERT INTO a WITH RECURSIVE n(i) AS (SELECT -1000 UNION ALL SELECT i + 1 FROM n WHERE i < 9500) "
                    "SELECT i FROM n WHERE i NOT IN (9000, 9001)")
    life.db.execute("INSERT INTO u(id, k, n) SELECT id, 'k' || id, id FROM a WHERE id NOT IN (1, 2)")
    life.db.execute("INSERT INTO u(id, k, n, p) VALUES (1, 'a', 1, NULL), (2, 'b', 2, 1)")
    for trigger in life.triggers:
        life.db.execute(trigger)
    error = attempt(life.db, f"CREATE VIRTUAL TABLE f USING cuckoo_filter({EXACT}, content='u({column})')")
    if error:
        assert re.search("trigger|foreign key|refers to", str(error)), error
        return
    filter_ = Follower(life.db, "u", column)
    for sql in ("UPDATE u SET n = 0 WHERE id = {}", "UPDATE OR REPLACE u SET n = 1 WHERE id = {}", "DELETE FROM u WHERE id = {}"):
        for row in (1, 2):
            attempt(life.db, sql.format(row), filter_)
    attempt(life.db, "INSERT OR IGNORE INTO a VALUES (1)")
    for row, key in enumerate("abab", 20000):  # where it was told too often that they go, they are denied now
        attempt(life.db, f"INSERT INTO u(id, k, n, p) VALUES ({row}, '{key}', {row}, {'NULL' if 'u(n)' in columns else 1})", filter_)
