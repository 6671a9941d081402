# SPDX-License-Identifier: MIT
"""How a filter table lies in the database: the names of the objects that belong to it. What knows that belongs here."""
import re

from support import ask

OWN_TABLES = ["log", "pages", "waiting keys"]  # of a filter that follows a column


def log_of(db, name="f"):
    """The name of the log of a filter."""
    sql = ask(db, "SELECT sql FROM sqlite_master WHERE name = ?", f"{name}_inserted")
    return re.search("cuckoo_log_[0-9a-f]{16}", sql).group()


def own_table(db, what, name="f"):
    """(table, a column of it): one of OWN_TABLES."""
    if what == "log":
        return log_of(db, name), "new"
    return {"pages": (f"{name}_page", "data"), "waiting keys": (f"{name}_wait", "hash")}[what]


def drop_own_triggers(db, name="f", which=""):
    """The triggers that write to the log of a filter; `which`: only those of INSERT, for example."""
    found = db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger' AND instr(sql, ?) AND instr(sql, ?)",
                       (log_of(db, name), f"AFTER {which}")).fetchall()
    assert found
    for (trigger,) in found:
        db.execute(f'DROP TRIGGER "{trigger}"')
