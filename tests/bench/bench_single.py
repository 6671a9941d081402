# SPDX-License-Identifier: MIT
"""What a single question costs: "is this key there?", each its own statement, prepared once.

single.tsv: the median of all questions of a kind; those who ask alone, in a transaction that reads, in one that has written
another table, and right after a commit of another connection, one of this connection, and a change of the schema by another
connection.
"""
import os
import random
import statistics
import time

import database

FORMS = {
    "nothing": "SELECT 1 WHERE ? IS NOT NULL",
    "an index": "SELECT 1 FROM indexed WHERE email = ?",
    "cf_table_contains": "SELECT cf_table_contains('seen', ?)",
    "cf_table_contains, synced": "SELECT cf_table_contains('followed', ?)",
    "SELECT FROM table": "SELECT 1 FROM seen WHERE key = ?",
    "SELECT FROM table, synced": "SELECT 1 FROM followed WHERE key = ?",
    "cf_open(blob)": "SELECT cf_contains((SELECT cf_open(f) FROM filters WHERE rowid = 1), ?)",
    "bound blob": "SELECT cf_contains(?2, ?1)",
}


class Bench:
    def __init__(self, folder, keys, questions, seed):
        self.random, self.keys, self.questions = random.Random(seed), keys, questions
        path = os.path.join(folder, "single.db")
        self.db, self.other = (database.connect(path, journal_mode="WAL", synchronous="NORMAL") for _ in range(2))
        self.fill()
        self.blob = self.db.execute("SELECT f FROM filters").fetchone()[0]

    def email(self, i):
        return f"user{i * 7919 % 1000003:07d}@example.org"

    def fill(self):
        db = self.db
        db.execute("BEGIN")
        for sql in ("CREATE TABLE users(email TEXT)", "CREATE TABLE indexed(email TEXT)", "CREATE TABLE log(x)", "CREATE TABLE filters(f)"):
            db.execute(sql)
        db.executemany("INSERT INTO users VALUES (?)", ((self.email(i),) for i in range(self.keys)))
        for sql in ("INSERT INTO indexed SELECT email FROM users", "CREATE INDEX by_email ON indexed(email)",
                    f"CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity={self.keys})", "INSERT INTO seen(key) SELECT email FROM users",
                    f"CREATE VIRTUAL TABLE followed USING cuckoo_filter(capacity={self.keys}, content='users(email)')",
                    "INSERT INTO filters SELECT cf_build(email) FROM users", "COMMIT", "PRAGMA wal_checkpoint(TRUNCATE)"):
            db.execute(sql)

    def question(self, form):
        key = self.email(self.random.randrange(2 * self.keys))
        return (key, self.blob) if form == "bound blob" else (key,)

    def time(self, form, part, before=None):
        taken = []
        for _ in range(self.questions // part):
            if before:
                before()
            parameters = self.question(form)
            start = time.perf_counter()
            self.db.execute(FORMS[form], parameters).fetchone()
            taken.append(1e6 * (time.perf_counter() - start))
        return statistics.median(taken)

    def in_transaction(self, form, sql):
        self.db.execute("BEGIN")
        self.db.execute(sql).fetchall()
        us = self.time(form, 1)
        self.db.execute("ROLLBACK")
        return us

    def change_schema(self):
        self.other.execute("CREATE TABLE another(x)")
        self.other.execute("DROP TABLE another")

    def measure(self, form):
        log = "INSERT INTO log VALUES (1)"
        return {"alone": self.time(form, 1), "reads": self.in_transaction(form, "SELECT x FROM log LIMIT 1"),
                "has written": self.in_transaction(form, log), "commit of another": self.time(form, 10, lambda: self.other.execute(log)),
                "own commit": self.time(form, 10, lambda: self.db.execute(log)), "schema": self.time(form, 50, self.change_schema)}


def measure(size, folder, seed):
    bench = Bench(folder, *((30000, 500) if size == "quick" else (300000, 10000)), seed)
    rows = {form: bench.measure(form) for form in FORMS}
    bench.db.close()
    bench.other.close()
    lines = [[form, *(f"{us:.2f}" for us in cells.values())] for form, cells in rows.items()]
    return {"single": (["way", *rows["nothing"]], lines)}


if __name__ == "__main__":
    database.call(measure)
