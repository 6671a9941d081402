# SPDX-License-Identifier: MIT
"""At max_page_count: no statement and no COMMIT fails that would not have failed without the filter, also when another
program, which does not have the extension, has left a long log.

Each case runs three times: without a filter, with a filter and without the extension, and with both.
"""
import shutil
import sqlite3

import pytest

import support
from promises import Follower, attempt, bare
from support import ask

ROWS = 20_000  # of the log: more than the pages of the filter have room for
WORK = {
    "DELETE by rowid": ["DELETE FROM u WHERE id = 17"],
    "DELETE of several": ["DELETE FROM u WHERE id % 1000 = 17"],
    "UPDATE": ["UPDATE u SET k = k + 1 WHERE id = 17"],
    "UPDATE of several": ["UPDATE u SET k = k + 1 WHERE id % 1000 = 17"],
    "INSERT": ["INSERT INTO u(k) VALUES (-1)"],
    "DROP of another table": ["DROP TABLE other"],
    "DELETE, and INSERT": ["DELETE FROM u WHERE id = 17", "INSERT INTO u(id, k) VALUES (17, -1)"],
}


def fill(db):
    """What the other program does."""
    db.execute("PRAGMA synchronous = off")
    db.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) "
               "INSERT INTO u(k) SELECT i * 10 FROM n", (ROWS,))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """{(journal, with a filter?): a path}"""
    paths = {}
    for journal in ("delete", "wal"):
        for followed in (False, True):
            paths[journal, followed] = path = str(tmp_path_factory.mktemp("limit") / "made.db")
            db = support.connect(path)
            db.execute(f"PRAGMA journal_mode = {journal}")
            db.executescript("CREATE TABLE u(id INTEGER PRIMARY KEY, k); INSERT INTO u(k) VALUES (1), (2), (3);"
                             "CREATE TABLE other(x); INSERT INTO other VALUES (1)")
            if followed:
                Follower(db).create("fpr=0.001")
            db.close()
            db = bare(path)
            fill(db)
            db.close()
    return paths


def errors(connect, made, tmp_path, work, frame):
    """Of each statement, at the limit; and the rows in the end."""
    path = str(tmp_path / "at the limit.db")
    shutil.copy(made, path)
    db = connect(path)
    db.execute("PRAGMA synchronous = off")
    db.execute(f"PRAGMA max_page_count = {ask(db, 'PRAGMA page_count')}")
    found = [str(attempt(db, sql)) for sql in frame[:1] + WORK[work] + frame[1:]]
    db.close()
    db = sqlite3.connect(path)
    kept = "SELECT count(*), sum(k), (SELECT count(*) FROM sqlite_master WHERE name = 'other') FROM u"
    rows = db.execute(kept).fetchall()
    db.close()
    return found, rows


@pytest.mark.parametrize("journal", ["delete", "wal"])
@pytest.mark.parametrize("frame", ["autocommit", "BEGIN"])
@pytest.mark.parametrize("work", WORK)
def test_at_the_limit(made, tmp_path, work, frame, journal):
    frame = ["BEGIN", "COMMIT"] if frame == "BEGIN" else []
    plain = errors(bare, made[journal, False], tmp_path, work, frame)
    written = errors(bare, made[journal, True], tmp_path, work, frame)
    assert written == plain and set(plain[0]) == {"None"}, "it works without the extension"
    assert errors(support.connect, made[journal, True], tmp_path, work, frame) == plain, "it works with the extension"
