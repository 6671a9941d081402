# SPDX-License-Identifier: MIT
"""Random statements about u(id, k, x) and the filters that follow it, for attack.py.

A statement is text alone: what was run can be run again. The keys are few, so that statements meet the rows of others.
A nested statement never rolls the transaction back: SQLite lets the outer one go on without a transaction then, and may show
a row that fired no trigger and is not in the file.
"""
CONFLICTS = ["", "", "OR ABORT", "OR FAIL", "OR IGNORE", "OR REPLACE", "OR ROLLBACK"]
KEYS = 60

COUNTED = ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {n}) "
           "SELECT (i * 7 + {b}) % {end}, i % 10 FROM n")

SCHEMA = """
CREATE TABLE p(id INTEGER PRIMARY KEY, n UNIQUE);
CREATE TABLE {u}({columns}, x REFERENCES p(id) ON DELETE {action} ON UPDATE CASCADE{more};
CREATE TABLE narrow(x UNIQUE);
CREATE TABLE log(x);
CREATE VIEW v AS SELECT 1 AS k;
INSERT INTO narrow VALUES (1);
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 9) INSERT INTO p SELECT i, i FROM n
"""

# Kinds of followed tables: id, and what follows the columns. The rowids of the second one change with VACUUM.
TABLES = {
    "key": ("id INTEGER PRIMARY KEY", ")"),
    "rowid": ("id INTEGER UNIQUE", ")"),
    "without rowid": ("id INTEGER PRIMARY KEY", ") WITHOUT ROWID"),
    "generated": ("id INTEGER PRIMARY KEY", ", g GENERATED ALWAYS AS (k % 40))"),
}


def columns(config, key="k"):
    """Of the followed table: what stands in front of x, and behind it."""
    number, more = TABLES[config.table]
    return f"{number}, {key}{' UNIQUE' if config.unique else ''}", more.replace("(k", f"({key}")


# What a trigger of the user does; {r} is new or old.
BODIES = [
    "UPDATE {u} SET {k} = {r}.{k} % 7 WHERE id = {r}.id AND {k} > 40",
    "UPDATE OR IGNORE {u} SET {k} = {r}.{k} - 1 WHERE id = {r}.id AND {k} % 5 = 0",
    "UPDATE OR REPLACE {u} SET {k} = {r}.{k} + 1 WHERE id = {r}.id + 1",
    "DELETE FROM {u} WHERE id = {r}.id AND {k} % 6 = 1",
    "DELETE FROM {u} WHERE {k} = {r}.{k} + 1",
    "DELETE FROM {u} WHERE id = {r}.id AND id < 40; INSERT OR REPLACE INTO {u}(id, {k}) SELECT {r}.id + 40, {r}.{k} WHERE {r}.id < 40",
    "INSERT INTO {u}({k}) SELECT {r}.{k} + 60 WHERE {r}.{k} < 10",
    "INSERT OR FAIL INTO narrow SELECT 1 WHERE {r}.{k} % 9 = 2",
    "INSERT INTO narrow SELECT 1 WHERE {r}.{k} % 9 = 3",
    "SELECT RAISE(IGNORE) WHERE {r}.{k} % 8 = 3",
    "SELECT RAISE(FAIL, 'no') WHERE {r}.{k} % 11 = 5",
    "SELECT RAISE(ABORT, 'no') WHERE {r}.{k} % 11 = 6",
    "SELECT RAISE(ROLLBACK, 'no') WHERE {r}.{k} % 23 = 7 AND NOT nested()",
    "INSERT INTO log VALUES ({r}.{k})",
    "SELECT run({nested})",
    "SELECT run({nested}) WHERE {r}.{k} % 3 = 0",
]


# What a BEFORE trigger does to the row at hand, and to others.
LIARS = BODIES[:-2] + [
    "UPDATE {u} SET {k} = {b} WHERE id = {r}.id AND {k} % 2",
    "UPDATE {u} SET {k} = NULL WHERE id = {r}.id; UPDATE OR IGNORE {u} SET {k} = {b} WHERE id = {r}.id",
    "UPDATE OR IGNORE {u} SET {k} = {r}.{k} WHERE id = {r}.id",
    "UPDATE OR REPLACE {u} SET {k} = {b}, x = NULL WHERE id IN ({r}.id, {r}.id + 1)",
    "UPDATE OR IGNORE {u} SET id = id + 100 WHERE id = {r}.id AND {k} % 3 = 0",
    "DELETE FROM {u} WHERE id = {r}.id; INSERT OR IGNORE INTO {u}(id, {k}) VALUES ({r}.id, {b})",
    "INSERT OR REPLACE INTO {u}(id, {k}) VALUES ({r}.id, {b}), ({r}.id + 1, {b} + 1)",
]


def literal(text):
    return "'" + text.replace("'", "''") + "'"


class Grammar:
    """Statements that fit the names of now: `names` has u, k and the filters {name: column}."""

    def __init__(self, rng, config):
        self.rng, self.config, self.names = rng, config, {}
        self.end = 6 * config.many + 7  # keys are less

    def statement(self):
        """Text of one statement, or several of a migration with ';' and a line end between them."""
        if not self.names["u"]:
            return self.rng.choice([self.create_table("u", "k"), "ALTER TABLE new_u RENAME TO u"])
        if len(self.names["filters"]) < len(self.config.filters):
            missing = [name for name in self.config.filters
                       if not {name, name + "_2"} & set(self.names["filters"])]
            if missing and self.rng.random() < 0.5:
                return self.create_filter(missing[0])
        kinds, weights = zip(*self.config.weights.items())
        return getattr(self, self.rng.choices(kinds, weights)[0])()

    def create_table(self, name, key):
        front, more = columns(self.config, key)
        return f"CREATE TABLE {name}({front}, x{more}"

    def create_filter(self, name):
        column = {"h": "x", "g": "g" if self.config.table == "generated" else self.names["k"]}.get(name[0], self.names["k"])
        return (f"CREATE VIRTUAL TABLE {name} USING "
                f"cuckoo_filter({self.config.filters[name]}, content='{self.names['u']}({column})')")

    def fill(self, text, **more):
        return text.format(u=self.names["u"], k=self.names["k"], c=self.rng.choice(CONFLICTS), **more)

    def number(self, end=KEYS):
        return self.rng.randrange(end)

    def some(self):
        """Rows: which of them."""
        m = self.rng.choice([1, 2, 3, 5, 20])
        return f"{self.rng.choice(['id', self.names['k']])} % {m} = {self.number(m)}"

    # ---- rows ----

    def row(self):
        key = "NULL" if self.rng.random() < 0.05 else self.number()
        parent = self.rng.choice(["NULL", self.number(10), self.number(10)])
        return f"{self.rng.choice(['NULL', self.number(), self.number()])}, {key}, {parent}"

    def insert(self):
        rows = ", ".join(f"({self.row()})" for _ in range(self.rng.choice([1, 1, 2, 5, 12])))
        return self.fill("INSERT {c} INTO {u}(id, {k}, x) VALUES ") + rows

    def insert_select(self):
        rows = self.rng.choice(["SELECT ({k} * {a} + {b}) % {end}, x FROM {u} WHERE {some} LIMIT {n}",
                                "SELECT ({k} * {a} + {b}) % {end}, x FROM {u} WHERE {some} LIMIT {n}", COUNTED])
        return self.fill("INSERT {c} INTO {u}({k}, x) " + rows, a=self.number(5), b=self.number(), end=self.end, n=self.config.many, some=self.some())

    def update(self):
        change = self.rng.choice(["{k} = ({k} * {a} + {b}) % {end}", "{k} = {b}", "{k} = {k} + 1", "{k} = NULL", "x = {x}",
                                  "id = id + {a}", "{k} = id, id = {k}", "{k} = {k}", "id = -id, {k} = {k} + {a}"])
        return self.fill("UPDATE {c} {u} SET " + change + " WHERE {some}", a=1 + self.number(6), b=self.number(),
                         x=self.number(10), end=self.end, some=self.some())

    def upsert(self):
        end = self.rng.choice(["(id) DO NOTHING", "(id) DO UPDATE SET {k} = excluded.{k}",
                               "(id) DO UPDATE SET {k} = {u}.{k} + 1 WHERE id % 2", "(id) DO UPDATE SET id = {u}.id + 30"])
        rows = ", ".join(f"({self.row()})" for _ in range(self.rng.choice([1, 3, 8])))
        return self.fill("INSERT {c} INTO {u}(id, {k}, x) VALUES " + rows + " ON CONFLICT" + end)

    def delete(self):
        return self.fill("DELETE FROM {u} WHERE {some}", some=self.some())

    def parent(self):
        return self.rng.choice(["DELETE FROM p WHERE id = {i}", "UPDATE {c} p SET id = id + {j} WHERE id >= {i}",
                                "REPLACE INTO p VALUES ({i}, {j})", "INSERT {c} INTO p VALUES ({i}, {i}), ({j}, {j})",
                                "UPDATE {c} p SET id = {j} WHERE id = {i}"]).format(
                                    i=self.number(10), j=self.number(10), c=self.rng.choice(CONFLICTS))

    def any_rows(self):
        return getattr(self, self.rng.choice(["insert", "insert_select", "update", "upsert", "delete", "parent"]))()

    def nested(self):
        """A statement that a function runs in the middle of another one. It must not take away the row at hand: SQLite
        calls that a damaged database, with no filter about."""
        rows = ", ".join(f"({self.row()})" for _ in range(4))
        inner = literal(self.fill("INSERT OR {i} INTO {u}(id, {k}, x) VALUES ", i=self.rng.choice(["IGNORE", "FAIL", "ABORT"])) + rows)
        return self.fill(self.rng.choice([
            "INSERT {c} INTO {u}({k}) SELECT {k} + coalesce(run({inner}), 1) FROM {u} WHERE {some} LIMIT 5",
            "UPDATE {c} {u} SET {k} = coalesce(run({inner}), {k} + 1) WHERE {some}",
            "DELETE FROM {u} WHERE run({inner}) IS NULL AND {some}",
            "SELECT count(run({inner})) FROM (SELECT * FROM {u} LIMIT 3)"]), inner=inner, some=self.some())

    # ---- transactions ----

    def transaction(self):
        mark = self.rng.choice("abc")
        return self.rng.choice(["BEGIN", "BEGIN IMMEDIATE", "COMMIT", "COMMIT", "ROLLBACK", f"SAVEPOINT {mark}",
                                f"SAVEPOINT {mark}", f"SAVEPOINT {mark}", f"RELEASE {mark}", f"ROLLBACK TO {mark}",
                                f"ROLLBACK TO {mark}", f"ROLLBACK TO {mark}"])

    # ---- schema ----

    def vacuum(self):
        return "VACUUM"

    def liar(self):
        """A BEFORE trigger. It may change the row that the statement has read already: then AFTER triggers hear of an old key
        that is no longer true."""
        name = self.rng.choice(["b1", "b2", "b3"])
        if self.rng.random() < 0.3:
            return f"DROP TRIGGER IF EXISTS {name}"
        event = self.rng.choice(["INSERT", "UPDATE", "UPDATE", "DELETE"])
        body = self.fill(self.rng.choice(LIARS), r="old" if event == "DELETE" else self.rng.choice(["new", "old"])
                         if event == "UPDATE" else "new", b=self.number())
        return f"CREATE {self.rng.choice(['', '', 'TEMP'])} TRIGGER {name} BEFORE {event} ON {self.names['u']} BEGIN {body}; END"

    def trigger(self):
        name = self.rng.choice(["t1", "t2", "t3"])
        if self.rng.random() < 0.5:
            return f"DROP TRIGGER IF EXISTS {name}"
        event, timing = self.rng.choice(["INSERT", "UPDATE", "DELETE"]), self.rng.choice(["AFTER", "AFTER", "BEFORE"])
        temp = self.rng.choice(["", "", "", "TEMP"])
        nested = literal(self.any_rows().replace("OR ROLLBACK", "OR ABORT"))
        body = self.fill(self.rng.choice(BODIES), r="old" if event == "DELETE" else "new", nested=nested)
        return f"CREATE {temp} TRIGGER {name} {timing} {event} ON {self.names['u']} BEGIN {body}; END"

    def ddl(self):
        u, k = self.names["u"], self.names["k"]
        filters = list(self.names["filters"]) or ["f"]
        one = self.rng.choice(filters)
        other = one[0] if one.endswith("_2") else one + "_2"
        return self.rng.choice([
            f"ALTER TABLE {u} RENAME TO {'u' if u == 'u_2' else 'u_2'}",
            f"ALTER TABLE {u} RENAME COLUMN {k} TO {'k' if k == 'k_2' else 'k_2'}",
            f"ALTER TABLE {one} RENAME TO {other}", f"ALTER TABLE {u} ADD COLUMN y{self.number(4)}",
            "ALTER TABLE log ADD COLUMN y", f"DROP TABLE {one}", f"DROP TRIGGER {one}_inserted",
            f"CREATE TABLE junk{self.number(3)}(x)", f"DROP TABLE IF EXISTS junk{self.number(3)}",
            "PRAGMA writable_schema=RESET", "ATTACH '/no/such/folder/x' AS y", "CREATE VIRTUAL TABLE bad USING cuckoo_filter(x=1)",
            f"CREATE INDEX IF NOT EXISTS ux ON {u}(x)", "DROP INDEX IF EXISTS ux", "VACUUM", "ANALYZE", "REINDEX",
            "CREATE TEMP TABLE IF NOT EXISTS tt(x)"])

    def upkeep(self):
        one = self.rng.choice(list(self.names["filters"]) or ["f"])
        return f"INSERT INTO {one}({one}) VALUES ('{self.rng.choice(['rebuild', 'optimize'])}')"

    def migration(self):
        """SQLite's recipe for a change of the table, with rows changed on the way or not."""
        u, k = self.names["u"], self.names["k"]
        key = self.rng.choice([k, f"{k} + 100"])
        steps = [self.create_table("new_u", k),
                 f"INSERT OR IGNORE INTO new_u(id, {k}, x) SELECT id, {key}, x FROM {u}", f"DROP TABLE {u}",
                 f"ALTER TABLE new_u RENAME TO {u}"]
        if self.rng.random() < 0.5:
            steps = ["SAVEPOINT m", *steps, "RELEASE m"]
        return ";\n".join(steps)
