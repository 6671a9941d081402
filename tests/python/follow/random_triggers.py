# SPDX-License-Identifier: MIT
"""Random tables, triggers and statements: whoever trusts a filter finds each key of the column that it follows.

A life is a list of statements: u with a filter f on one of its columns, its parents a, its children c, a view v of it, another
table o, triggers older and newer than those of f, and changes of all of them, many of which fail. After each statement the
filter is asked for each key of the column, within transactions and outside of them, before the log is drained and afterwards.
It may have refused to be made, its use may be an error that says what to do, and it may say that it is not trusted: then it
asks its table.

    random_triggers.py [--schemas N] [--seed S] [--shown N]     prints what became of them, and lives that are wrong, shrunk
"""
import argparse
import collections
import random
import re
import sqlite3
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import support
from promises import MISSED

CLAUSES = ["", "", "", "OR IGNORE", "OR REPLACE", "OR FAIL", "OR ABORT", "OR ROLLBACK"]
ON_CONFLICT = ["", "", "", "", " ON CONFLICT IGNORE", " ON CONFLICT REPLACE", " ON CONFLICT FAIL", " ON CONFLICT ROLLBACK"]
ACTIONS = ["", " ON DELETE {act}", " ON UPDATE {act}", " ON DELETE {act} ON UPDATE {act}"]
FRUGAL = "(SELECT count(*) FROM u) < 12"

# What triggers do. {w}: new or old; {o}: a column by which the row of the trigger is told; {c}: a clause; {i}, {k}: values.
BODIES = {
    "u": ["UPDATE {c} u SET n = n + 1 WHERE id = {w}.{o}",
          "UPDATE {c} u SET {k=}, n = n + 1 WHERE id = {w}.{o} AND n < 3",
          "UPDATE {c} u SET {k=}, n = n + 1 WHERE id = {i} AND n < 3",
          "UPDATE {c} u SET {k=}, n = n + 1 WHERE id <> {w}.{o} AND n < 2",
          "UPDATE {c} u SET m = {i} WHERE id = {i}",
          "UPDATE {c} u SET id = id + 10, n = n + 1 WHERE id = {w}.{o} AND n < 3",
          "UPDATE {c} u SET rowid = rowid + 10, n = n + 1 WHERE id = {w}.{o} AND n < 3",
          "UPDATE u SET {row} = {row} + 30 WHERE id = {w}.{o}; UPDATE u SET {row} = {w}.{row} WHERE id = {i}",
          "UPDATE {c} u SET p = {p} WHERE id = {w}.{o}",
          "DELETE FROM u WHERE id = {w}.{o}",
          "DELETE FROM u WHERE id = {i}",
          "DELETE FROM u WHERE p = {w}.{o}",
          "INSERT {c} INTO u(id, k, m, n) SELECT {i}, {k}, {i}, 3 WHERE " + FRUGAL,
          "INSERT {c} INTO u(id, k, m, n) SELECT {w}.{o} + 20, {k}, {i}, 3 WHERE {w}.{o} < 20",
          "REPLACE INTO u(id, k, m, n) SELECT {w}.{o}, {k}, {i}, 3",
          "INSERT INTO u(id, k, m) VALUES ({i}, {k}, {i}) ON CONFLICT(m) DO UPDATE SET {k=}, n = n + 1 WHERE n < 3",
          "DELETE FROM u WHERE id = {w}.{o}; INSERT INTO u(id, k, m, n) SELECT {w}.{o}, {k}, {i}, 3"],
    "others": ["INSERT {c} INTO o(x) VALUES ({i})", "INSERT {c} INTO o(x, y) SELECT k, {w}.{o} FROM u", "DELETE FROM o",
               "UPDATE {c} o SET y = y + 1, x = {i}", "SELECT count(*) FROM u", "REPLACE INTO o(x) VALUES ({w}.{o})",
               "UPDATE {c} a SET id = id + 5 WHERE id = {q} AND id < 10", "DELETE FROM a WHERE id = {q}",
               "REPLACE INTO a VALUES ({q}, 1)", "INSERT {c} INTO a VALUES ({i}, 0)", "DELETE FROM c",
               "INSERT {c} INTO c VALUES ({i})", "UPDATE {c} c SET x = {i}", "INSERT INTO v VALUES ({i}, {k})",
               "UPDATE v SET k = {k} WHERE id = {w}.{o}", "DELETE FROM v WHERE id = {i}"],
    "raise": ["SELECT RAISE(IGNORE) WHERE {w}.{o} % 3 = 0", "SELECT RAISE(ABORT, 'no') WHERE {w}.{o} % 5 = 0",
              "SELECT RAISE(FAIL, 'no') WHERE {w}.{o} % 4 = 0", "SELECT RAISE(ROLLBACK, 'no') WHERE {w}.{o} % 6 = 0",
              "UPDATE u SET n = n + 1 WHERE id = {w}.{o}; SELECT RAISE(IGNORE)"],
}
BODY_KINDS = ["u", "u", "u", "others", "others", "raise"]

STATEMENTS = {
    "u": ["INSERT {c} INTO u(id, k, m, p) VALUES ({i}, {k}, {i}, {p})",
          "INSERT {c} INTO u(id, k, m) VALUES ({i}, {k}, {i}), ({i} + 6, {k}, {i} + 6), ({i} + 12, {k}, NULL)",
          "INSERT {c} INTO u(id, k, m) SELECT id + {i}, k, NULL FROM u WHERE id < {i} AND " + FRUGAL,
          "INSERT INTO u(id, k, m) VALUES ({i}, {k}, {i}) ON CONFLICT(m) DO UPDATE SET {k=}, n = 0",
          "INSERT INTO u(id, k, m, p) VALUES ({i}, {k}, {i}, {p}) ON CONFLICT DO NOTHING",
          "REPLACE INTO u(id, k, m, p) VALUES ({i}, {k}, {i}, {p})",
          "UPDATE {c} u SET {k=} WHERE id = {i}", "UPDATE {c} u SET {k=} WHERE id > {i}", "UPDATE {c} u SET n = 0",
          "UPDATE {c} u SET m = {i}, {k=} WHERE id = {i}", "UPDATE {c} u SET m = p WHERE id = {i}",
          "UPDATE {c} u SET m = {i} WHERE id = {i}", "UPDATE {c} u SET id = id + {i} WHERE id > {i}",
          "UPDATE {c} u SET id = {i}, {k=} WHERE id = {i}", "UPDATE {c} u SET id = p WHERE id = {i}",
          "UPDATE {c} u SET p = {p} WHERE id < {i}",
          "DELETE FROM u WHERE id = {i}", "DELETE FROM u WHERE id > {i}", "DELETE FROM u WHERE k = {k}", "DELETE FROM u"],
    "others": ["INSERT {c} INTO a VALUES ({i}, 0)", "UPDATE {c} a SET id = {i} WHERE id = {i}", "UPDATE {c} a SET y = y + 1",
               "DELETE FROM a WHERE id = {i}", "REPLACE INTO a VALUES ({i}, 2)", "UPDATE {c} a SET id = id + 1 WHERE id > {i}",
               "INSERT {c} INTO c VALUES ({i})", "UPDATE {c} c SET x = {i}", "DELETE FROM c WHERE x < {i}",
               "INSERT {c} INTO o(x) VALUES ({i})", "UPDATE {c} o SET x = x + 1", "DELETE FROM o WHERE x < {i}",
               "INSERT INTO v VALUES ({i}, {k})", "UPDATE v SET k = {k} WHERE id < {i}", "DELETE FROM v WHERE id = {i}"],
    "transaction": ["BEGIN", "BEGIN", "COMMIT", "COMMIT", "SAVEPOINT s", "ROLLBACK TO s", "RELEASE s", "ROLLBACK",
                    "PRAGMA defer_foreign_keys = 1"],
    "command": ["INSERT INTO f(f) VALUES ('drain')", "INSERT INTO f(f) VALUES ('drain')", "INSERT INTO f(f) VALUES ('rebuild')"],
}
STATEMENT_KINDS = ["u"] * 8 + ["others"] * 3 + ["transaction"] * 3 + ["command"]


class Maker:
    """Draws a life."""

    def __init__(self, rng):
        self.one = lambda list_: list_[int(rng.random() * len(list_))]
        self.keys = self.one([["'a'", "'b'", "'c'", "'d'", "NULL"], ["1", "2", "3", "4", "5"], ["'a'", "'A'", "'b'", "'B'", "1"]])
        self.key = self.one(["k", "k", "k", "k", "k", "p", "p", "m", "id", "g"])
        self.triggers = 0
        self.values = {"k": self.keys, "i": "123456", "p": ["NULL", "1", "2", "3"], "q": "123", "row": ["id", "id", "rowid"],
                       "c": CLAUSES, "act": ["CASCADE", "CASCADE", "SET NULL", "SET DEFAULT", "RESTRICT"]}

    def fill(self, template, **more):
        def word(match):
            name = match[1]
            if name == "k=":  # another value of the column that is followed
                return (f"{self.key} = " + self.fill("{i}") if self.key in ("p", "m", "id") else
                        "k = " + self.one(["k || 'y'", self.one(self.keys)]))
            return more[name] if name in more else self.one(self.values[name])
        return re.sub(r"\{([a-z]+=?)\}", word, template)

    def tables(self):
        one, fill = self.one, self.fill
        id_ = one(["id INTEGER PRIMARY KEY", "id INTEGER PRIMARY KEY", "id UNIQUE", "id INT", "id INT PRIMARY KEY"])
        end = one(["", " WITHOUT ROWID"]) if id_ == "id INT PRIMARY KEY" else ""
        target = one(["", ""] * (self.key != "p") + ["a(id)", "a(id)", "u(m)"] + ["u(id)"] * (id_ != "id INT"))
        p = f" REFERENCES {target}" + fill(one(ACTIONS)) + one(["", "", " DEFERRABLE INITIALLY DEFERRED"]) if target else ""
        k = one(["", " TEXT", " TEXT COLLATE NOCASE", " INTEGER"]) + one(["", "", "", " UNIQUE" + one(ON_CONFLICT)])
        yield "PRAGMA recursive_triggers = " + one("001")
        yield "PRAGMA foreign_keys = " + ("1" if one("0111") == "1" else "0")
        yield "CREATE TABLE a(id INTEGER PRIMARY KEY, y)"
        yield (f"CREATE TABLE u({id_}, k{k}, n DEFAULT 0, m UNIQUE{one(ON_CONFLICT)}, p DEFAULT {one(['NULL', '1'])}{p}"
               f"{', g AS (k || n)' if self.key == 'g' else ''}{one(['', '', ', CHECK(n < 5)'])}){end}")
        yield f"CREATE TABLE c(x REFERENCES u({one(['m', 'id'])})" + fill(one(ACTIONS)) + ")"
        yield f"CREATE TABLE o(x UNIQUE{one(ON_CONFLICT)}, y DEFAULT 0)"
        yield "CREATE VIEW v AS SELECT id, k FROM u"
        if one([0, 0, 1]):
            yield f"CREATE INDEX by_key ON u({self.key})"
        yield "INSERT INTO a VALUES (1, 0), (2, 0), (3, 0)"
        yield fill("INSERT OR IGNORE INTO u(id, k, m, p) VALUES (1, {k}, 1, NULL), (2, {k}, 2, 1), (3, {k}, 3, 2)")

    def trigger(self):
        self.triggers += 1
        on, event = self.one("uuuuuuacov"), self.one(["INSERT", "UPDATE", "DELETE"])
        words = {"w": {"INSERT": "new", "DELETE": "old"}.get(event) or self.one(["new", "old"]), "o": "x" if on in "co" else "id"}
        words.update({"q": f"{words['w']}.p"} if on == "u" and self.one([0, 1]) else {})
        of = self.one(["", "", f" OF {self.key}", " OF n"]) if event == "UPDATE" and on == "u" else ""
        when = self.one(["", f" WHEN {FRUGAL}"] + [f" WHEN {words['w']}.n < 3"] * 2 * (on == "u"))
        body = "; ".join(self.fill(self.one(BODIES[self.one(BODY_KINDS)]), **words) for _ in range(self.one([1, 1, 1, 2])))
        timing = self.one(["BEFORE ", "", "AFTER ", "AFTER ", "AFTER "]) if on != "v" else "INSTEAD OF "
        return (f"CREATE {self.one(['', '', '', '', 'TEMP '])}TRIGGER t{self.triggers} {timing}{event}{of} ON {on}{when} "
                f"BEGIN {body}; END")

    def life(self, statements=18):
        options = self.one([", counter_bits=8", ", counter_bits=8", ""])
        yield from self.tables()
        yield from (self.trigger() for _ in range(self.one([0, 1, 1, 2, 3])))
        yield f"CREATE VIRTUAL TABLE f USING cuckoo_filter(capacity=8, fingerprint_bits=32{options}, content='u({self.key})')"
        yield from (self.trigger() for _ in range(self.one([0, 0, 0, 1, 2])))
        for _ in range(statements):
            yield self.fill(self.one(STATEMENTS[self.one(STATEMENT_KINDS)])) if self.one(range(60)) else self.trigger()
        yield from ("INSERT INTO f(f) VALUES ('drain')", "COMMIT", "INSERT INTO f(f) VALUES ('drain')")


# refused: it could not be made. error: its use was one. doubted: it says that it is not trusted. trusted: all the time.
# documented, beside these: a key was denied as in no_rule_sees.
ENDS = ["refused", "error", "doubted", "trusted"]
Life = collections.namedtuple("Life", "end wrong what")  # what is wrong, in a word and in full; None: nothing
LOST = re.compile("missing in it|did not hold")  # it has noticed by itself that it has lost keys
SAYS_WHAT_TO_DO = re.compile("rebuild|trigger|foreign key|refers to")


def ask(db, sql):
    """The rows, or the error of a filter that refuses to be used."""
    try:
        return db.execute(sql).fetchall()
    except sqlite3.OperationalError as error:
        return error


def look(db, key, question=MISSED[0]):
    """(a number in ENDS, what is wrong, in full). Whether it is trusted is asked where a key is missed."""
    missed = ask(db, question.format(k=key, u="u", f="f"))
    if isinstance(missed, Exception):
        wrong = "noticed" if LOST.search(str(missed)) else None if SAYS_WHAT_TO_DO.search(str(missed)) else "error"
        return 1, wrong, str(missed)
    return 3, missed and ("missed" if trusted(db) else "missed, not trusted"), f"{missed} are denied"


def trusted(db):
    return db.execute("SELECT json_extract(cf_table_info('f'), '$.trusted')").fetchone()[0]


def few(db, key):
    """Has the filter fewer keys than the column? Then one of two copies may be denied later."""
    count = ask(db, "SELECT count(*) FROM f")
    rows = db.execute(f"SELECT count({key}) FROM u").fetchone()[0]
    return "few" if isinstance(count, list) and count[0][0] < rows else None


def live(life):
    db = support.connect()
    db.setlimit(sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 30)  # the default makes what does not end slow
    try:
        return run(db, life)
    finally:
        db.close()


def run(db, life):
    end, key, refuses = 3, None, False
    for number, sql in enumerate(life):
        try:
            db.execute(sql).fetchall()
        except sqlite3.Error as error:
            if sql.startswith("CREATE VIRTUAL TABLE"):
                return Life("refused", None if SAYS_WHAT_TO_DO.search(str(error)) else "error", str(error))
            if "too many levels" in str(error) or "nested too deep" in str(error):  # not all is taken back then
                return Life(ENDS[end], None, None)
            assert key or not sql.startswith("CREATE"), f"{sql}: {error}"
        if sql.startswith("CREATE VIRTUAL TABLE"):
            key = re.search(r"'u\((\w+)\)'", sql)[1]
        if key and (not refuses or sql.startswith("CREATE") or "rebuild" in sql):
            now, wrong, what = look(db, key, MISSED[sql.startswith("INSERT INTO f")])
            refuses = now == 1
            wrong = None if wrong == "noticed" and end < 3 else wrong  # a newer trigger may have kept a row from it
            end = min(end, now, 2 + trusted(db) if sql.startswith("CREATE") and not refuses else 3)
            if wrong:
                return Life(ENDS[end], wrong, f"after statement {number}, {sql}: {what}")
    end = min(end, 2 + trusted(db)) if key else end
    exact = key and end == 3 and not db.in_transaction and "counter_bits" in " ".join(life)
    return Life(ENDS[end], few(db, key) if exact else None, "count(*) is below the number of rows")


def no_rule_sees(life):
    """REPLACE deletes a row, and under recursive_triggers an AFTER DELETE trigger changes the key of the row in hand:
    documented (REFERENCE, "What no rule sees"). Without recursive triggers the same life must be right."""
    plain = [sql.replace("recursive_triggers = 1", "recursive_triggers = 0") for sql in life]
    fires = any(re.search(r" TRIGGER \w+ AFTER DELETE ON u\b", sql) for sql in life)
    return plain != life and fires and "REPLACE" in " ".join(life) and live(plain).wrong is None


def shrink(life, wrong):
    """Leaves out what is not needed for the same to be wrong."""
    size = len(life) // 2
    while size:
        for at in range(len(life) - size, -1, -size):
            less = life[:at] + life[at + size:]
            try:
                if live(less).wrong == wrong:
                    life = less
            except (AssertionError, sqlite3.Error):  # it needs a table that is not there
                pass
        size //= 2
    return life


def lives(schemas, seed, shown=3, tell=lambda text: None):
    """What became of them: counts, and some that are wrong, shrunk."""
    counts, told = collections.Counter(), []
    for i in range(schemas):
        life = list(Maker(random.Random(f"{seed} {i}")).life())
        end, wrong, what = live(life)
        counts[end] += 1
        if wrong and no_rule_sees(life):
            counts["documented"] += 1
            continue
        counts[wrong] += wrong is not None
        if wrong and len(told) < shown:
            small = shrink(life, wrong)
            told.append(f"-- seed {seed}, schema {i}: {wrong}; {live(small).what}\n" + ";\n".join(small) + ";\n")
            tell(told[-1])
    return counts, told


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--schemas", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**9))
    parser.add_argument("--shown", type=int, default=5)
    given = parser.parse_args()
    print(f"{support.extension_path()}, SQLite {sqlite3.sqlite_version}, seed {given.seed}", flush=True)
    began = time.process_time()
    counts, _ = lives(given.schemas, given.seed, given.shown, lambda text: print(text, flush=True))
    wrong = {name: n for name, n in counts.items() if name and name not in ENDS + ["documented"]}
    print(f"{given.schemas} schemas, {given.schemas / (time.process_time() - began):.0f} a second of processor time: " +
          ", ".join(f"{counts[end]} {end}" for end in ENDS + ["documented"]) + f"; wrong: {wrong or 0}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
