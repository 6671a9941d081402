# SPDX-License-Identifier: MIT
"""What a newcomer does wrong, and what the extension says: wrong_uses.txt has a statement and its message in each line.

`python3 tests/python/extension/test_wrong_uses.py` writes the messages of CUCKOO_SO into that file: read the difference.
"""
import sqlite3
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parent.parent))
import support

TABLE = Path(__file__).with_name("wrong_uses.txt")
SETUP = """
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
    CREATE VIRTUAL TABLE prices USING cuckoo_filter(capacity=100, value_bits=4);
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
"""


def said(statement):
    """The message of a statement on a fresh database; or its answer, for functions that answer what is wrong."""
    db = support.connect()
    db.executescript(SETUP)
    try:
        return f"answers {db.execute(statement).fetchall()}"
    except sqlite3.Error as error:
        return str(error)
    finally:
        db.close()


def cases():
    """(statement, message) of each line that is no heading."""
    lines = TABLE.read_text().splitlines()
    return [line.partition(" | ")[::2] for line in lines if line and not line.startswith("#")]


@pytest.mark.parametrize("statement, message", cases())
def test_what_a_wrong_use_is_told(statement, message):
    assert said(statement) == message


def test_no_statement_stands_twice_and_no_message_rambles():
    statements = [statement for statement, _ in cases()]
    assert len(set(statements)) == len(statements) > 150
    long = [message for _, message in cases() if len(message) > 300 and "valid options: " not in message]
    assert not long, long


def accept():
    lines = [line if not line or line.startswith("#") else f"{statement} | {said(statement)}"
             for line in TABLE.read_text().splitlines() for statement in [line.partition(" | ")[0]]]
    TABLE.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    accept()
