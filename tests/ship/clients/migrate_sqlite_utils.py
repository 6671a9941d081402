# SPDX-License-Identifier: MIT
"""sqlite-utils' transform makes a table anew, in a process without the extension. The triggers of the filter go with the old
table. enable-fts makes triggers of its own on the new one: before cf_table_rebuild that is the best time for it."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from migrated import run


def upgrade(path):
    from sqlite_utils import Database

    db = Database(path)
    db["users"].transform(not_null={"email"})
    db["users"].add_column("city", str)
    db["users"].enable_fts(["email"], create_triggers=True)
    db["users"].insert({"email": "fay"})
    assert db.execute("SELECT email FROM users_fts WHERE users_fts MATCH 'fay'").fetchall() == [("fay",)]


run(upgrade)
