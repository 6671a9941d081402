# SPDX-License-Identifier: MIT
"""Rebuild: what it returns, the shape that it plans, and that a rebuild that fails changes nothing."""
import json
import sqlite3

import pytest

import support
from support import ask


# ---- a rebuild that fails ----

@pytest.mark.parametrize("rebuild", ["SELECT cf_table_rebuild('f')", "INSERT INTO f(f) VALUES ('rebuild')"])
@pytest.mark.parametrize("within", [False, True])
def test_a_rebuild_that_cannot_read_the_table_leaves_all_as_it_was(rebuild, within):
    """It emptied the log before it read the rows. SQLite takes back only what a statement did that is alone in its transaction."""
    db, fails = support.connect(), []

    def same(value):
        if fails and value == 700:
            raise ValueError
        return value
    db.create_function("same", 1, same, deterministic=True)
    db.execute("CREATE TABLE u(id INTEGER PRIMARY KEY, n, k AS (same(n)))")
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(capacity=2000, content='u(k)')")
    db.executemany("INSERT INTO u(n) VALUES (?)", ((n,) for n in range(1000)))
    if within:
        db.execute("BEGIN")
    db.execute("INSERT INTO u VALUES (-500, 'a new one')")
    db.executemany("INSERT INTO u VALUES (?, ?)", ((-1000 - n, -n) for n in range(300)))
    fails.append(True)
    with pytest.raises(sqlite3.Error, match=r"u\(k\) cannot be read"):
        db.execute(rebuild).fetchall()
    fails.clear()
    if within:
        db.execute("COMMIT")
    assert ask(db, "SELECT cf_table_contains('f', 'a new one')")
    assert ask(db, "SELECT count(*) FROM u WHERE NOT cf_table_contains('f', k)") == 0
    db.execute("INSERT INTO f(f) VALUES ('check')")
