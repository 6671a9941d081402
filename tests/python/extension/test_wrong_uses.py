# SPDX-License-Identifier: MIT
"""What a newcomer does wrong, and what the extension says: wrong_uses.txt has a statement and its message in each line. The lists of
options stand at its head: {name} in a message means such a list.

`python3 tests/python/extension/test_wrong_uses.py` writes the messages of CUCKOO_SO into that file: read the difference.
"""
import sqlite3
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import pytest

import inside
import support

TABLE = Path(__file__).with_name("wrong_uses.txt")
LISTS = [line[2:].split(" = ", 1) for line in TABLE.read_text().splitlines() if line.startswith("# {")]
SETUP = f"""
    CREATE TABLE users(id INTEGER PRIMARY KEY, email TEXT, born DATE COLLATE NOCASE);
    INSERT INTO users(email) VALUES ('ann@a.example'), ('bob@b.example'), ('cyd@c.example');
    CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB);
    INSERT INTO filters SELECT 'plain', cf_build(email) FROM users;
    INSERT INTO filters VALUES ('values', cf_new(10, 0.01, 'value_bits=4')), ('ages', cf_new(10, 0.01, 'epochs=4')),
                               ('full', cf_add(cf_new(1, 0.01, 'growth=off bucket_size=1'), 1));
    INSERT INTO filters SELECT 'exact', cf_build_exact(id, id > 1) FROM users;
    INSERT INTO filters SELECT 'list', cf_keys(email) FROM users;
    CREATE VIEW adults AS SELECT * FROM users;
    CREATE VIRTUAL TABLE known USING cuckoo_filter(content='users(email)');
    CREATE VIRTUAL TABLE fast USING cuckoo_filter(content='users(email)', rows=on);
    CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=100, seed=7);
    CREATE VIRTUAL TABLE lately USING cuckoo_filter(capacity=100, keep='24 hours');
    CREATE VIRTUAL TABLE once USING cuckoo_filter(capacity=100, adds=once);
    CREATE TABLE lost(k UNIQUE);
    CREATE VIRTUAL TABLE orphan USING cuckoo_filter(content='lost(k)');
    CREATE VIRTUAL TABLE "an orphan" USING cuckoo_filter(content='lost(k)', rows=on);
    DROP TABLE lost;
    CREATE TABLE altered(k UNIQUE);
    CREATE VIRTUAL TABLE behind USING cuckoo_filter(content='altered(k)');
    DROP TABLE altered;
    CREATE TABLE altered(n);
    CREATE TABLE parts(id INTEGER PRIMARY KEY, note TEXT, code INT UNIQUE);
    CREATE TABLE pairs(id INTEGER PRIMARY KEY, n REAL, word VARCHAR(9), UNIQUE(n, word));
    CREATE TABLE points(x, y, t);
    CREATE TABLE names(n INT, name TEXT COLLATE NOCASE PRIMARY KEY) WITHOUT ROWID;
    INSERT INTO seen VALUES ('k');
    INSERT INTO lately(key) VALUES ('k');
    INSERT INTO once(key) VALUES ('k');
    CREATE TEMP TABLE tt(x);
    CREATE TABLE wide({', '.join(f'c{i}' for i in range(30))});
    CREATE TABLE counted(k INTEGER PRIMARY KEY AUTOINCREMENT);
    CREATE VIRTUAL TABLE texts USING fts5(x);
    CREATE VIRTUAL TABLE boxes USING rtree(i, a, b);
    ATTACH ':memory:' AS aux;
    CREATE VIRTUAL TABLE aux.visitors USING cuckoo_filter(capacity=5);
"""
OBJECTS = "SELECT name, sql FROM sqlite_master UNION ALL SELECT name, sql FROM temp.sqlite_master"


class Beginner:
    """One database for all statements: each is undone."""

    def __init__(self):
        self.db = support.connect()
        self.db.executescript(SETUP)
        self.objects = self.db.execute(OBJECTS).fetchall()

    def said(self, statement):
        """The message of a statement; or its answer, for functions that answer what is wrong."""
        self.db.execute("BEGIN")
        try:
            answer = f"answers {self.db.execute(statement).fetchall()}"
        except sqlite3.Error as error:
            answer = str(error)
            assert self.db.in_transaction and self.db.execute(OBJECTS).fetchall() == self.objects, f"it has changed something: {statement}"
            for name, options in LISTS:
                answer = answer.replace(options, name)
        self.db.execute("ROLLBACK")
        return answer


LISTS_SHADOW_TABLES = sqlite3.sqlite_version_info >= (3, 37)


def cases():
    """(statement, message) of each line that is no heading, and that this SQLite can say."""
    lines = [line for line in TABLE.read_text().splitlines() if LISTS_SHADOW_TABLES or "is a shadow table" not in line]
    return [line.partition(" | ")[::2] for line in lines if line and not line.startswith("#")]


def test_what_a_wrong_use_is_told():
    beginner = Beginner()
    said = [(statement, beginner.said(statement)) for statement, _ in cases()]
    assert [one for one, expected in zip(said, cases()) if one != expected] == []


def test_no_statement_stands_twice_and_no_message_rambles():
    statements = [statement for statement, _ in cases()]
    assert len(set(statements)) == len(statements) > 150
    assert [message for _, message in cases() if len(message) > 300] == []


def test_a_long_name_is_cut(db):
    with pytest.raises(sqlite3.Error, match=f"table: {40 * 'é'}; create one: CREATE VIRTUAL TABLE known USING"):
        db.execute("SELECT cf_picture(?)", [999 * "é"])


@pytest.mark.skipif(not LISTS_SHADOW_TABLES, reason="this SQLite does not say which tables are those of others")
def test_what_a_filter_keeps_its_own_data_in_is_no_filter_and_cannot_be_followed():
    beginner = Beginner()
    for what in ("pages", "hashed keys"):
        table, column = inside.own_table(beginner.db, what, "known")
        assert beginner.said(f"SELECT cf_table_info('{table}')").startswith("cf_table_info: no such cuckoo_filter table")
        for name in (table, table.upper()):
            said = beginner.said(f"CREATE VIRTUAL TABLE x USING cuckoo_filter(content='{name}({column})')")
            assert "is a shadow table of a virtual table: give an ordinary table" in said


def accept():
    beginner = Beginner()
    lines = [line if not line or line.startswith("#") else f"{statement} | {beginner.said(statement)}"
             for line in TABLE.read_text().splitlines() for statement in [line.partition(" | ")[0]]]
    TABLE.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    accept()
