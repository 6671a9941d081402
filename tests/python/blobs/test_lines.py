# SPDX-License-Identifier: MIT
"""cf_lines, beside the lines that Python finds."""
import sqlite3

import pytest

import support
from support import BAD_PARAMETER, ask, fails


def lines_of(text):
    """Of bytes: each line, or None for an empty one."""
    if b"\0" in text:
        lines = text.split(b"\0")
    else:
        lines = [line[:-1] if line.endswith(b"\r") and i < text.count(b"\n") else line for i, line in enumerate(text.split(b"\n"))]
    return [line or None for line in (lines[:-1] if lines[-1] == b"" else lines)]


def rows(db, text, sql="SELECT rowid, CAST(line AS BLOB) FROM cf_lines(?)"):
    return db.execute(sql, (text,)).fetchall()


@pytest.mark.parametrize("alphabet", [b"a\n", b"a\r\n", b"a\n\0", b"ab\r\n\0\xff\xc3\xa9"])
def test_random_texts(db, rng, alphabet):
    for _ in range(500):
        text = bytes(rng.choices(alphabet, k=rng.randrange(12)))
        expected = list(enumerate(lines_of(text), 1))
        assert rows(db, text) == expected, text
        assert rows(db, text, "SELECT rowid, CAST(line AS BLOB) FROM cf_lines(CAST(? AS TEXT))") == expected, text
        assert rows(db, text, "SELECT count(*) FROM cf_lines(?)") == [(len(expected),)]


def test_texts_of_rows(db):
    """Each row of a join has its own text; a number is the line that it is as a text, and NULL has no lines."""
    db.execute("CREATE TABLE t(id, text)")
    db.executemany("INSERT INTO t VALUES (?, ?)", [(1, "a\nb"), (2, None), (3, 5), (4, ""), (5, b""), (6, "\n"), (7, b"c"), (8, "d\r\n")])
    joined = [(1, "a"), (1, "b"), (3, "5"), (6, None), (7, "c"), (8, "d")]
    assert db.execute("SELECT id, line FROM t, cf_lines(text) AS l ORDER BY id, l.rowid").fetchall() == joined
    assert db.execute("SELECT id, line FROM cf_lines, t WHERE cuckoo_text = text ORDER BY id").fetchall() == joined
    assert db.execute("SELECT id, typeof(cuckoo_text) FROM t, cf_lines(t.text) WHERE line = 'c'").fetchall() == [(7, "blob")]
    assert db.execute("SELECT id, (SELECT count(line) FROM cf_lines(text)) FROM t ORDER BY id").fetchall() == \
        list(zip(range(1, 9), [2, 0, 1, 0, 0, 0, 1, 1]))
    assert db.execute("SELECT max(line), min(line) FROM t, cf_lines(text)").fetchone() == ("d", "5")


def test_filters_of_lists(db, rng):
    lines = [f"{rng.getrandbits(160):040x}" for _ in range(5000)]
    blob = ask(db, "SELECT cf_build(line, 1e-6) FROM cf_lines(?)", "\r\n".join(lines))
    assert blob == support.build(db, lines, 1e-6)
    asked = "\n".join(lines[:500] + ["", "other"])
    assert db.execute("SELECT line FROM cf_lines(?) WHERE NOT cf_contains(?, line)", (asked, blob)).fetchall() == [("other",)]


def test_a_database_in_utf_16():
    db = support.connect()
    db.execute("PRAGMA encoding = 'UTF-16le'")
    db.execute("CREATE TABLE t AS SELECT 'a\u00e9' || char(10) || 'b' AS text")
    assert db.execute("SELECT line FROM t, cf_lines(text)").fetchall() == [("a\u00e9",), ("b",)]


def test_without_its_argument(db):
    fails(db, BAD_PARAMETER, "SELECT * FROM cf_lines", says="cf_lines: needs its argument: cf_lines(text)")
    fails(db, BAD_PARAMETER, "SELECT * FROM cf_lines WHERE line = 'a'", says="needs its argument")
    with pytest.raises(sqlite3.OperationalError, match="too many arguments"):
        db.execute("SELECT * FROM cf_lines('a', 'b')")
