# SPDX-License-Identifier: MIT
"""How a filter table lies in the database: its own tables, its log, its triggers, and how somebody may damage them.

Only this file knows that. Tests use it by what has happened: "a page is lost", "its log was emptied".
"""
import re
import sqlite3
import struct

import support
from support import ask

OWN_TABLES = ["log", "pages", "hashed keys"]  # of a filter that follows a column


TABLES = {"page": "no, data", "log": "rowid, hash, n, tag"}


# ---- what belongs to a filter ----

def log_of(db, name="f"):
    """The name of the log of a filter."""
    return f"cuckoo_log_{numbers(header(db, name))['log']:016x}"


def own_table(db, what, name="f"):
    """(table, a column of it): one of OWN_TABLES."""
    if what == "log":
        return log_of(db, name), "new"
    return {"pages": (f"{name}_page", "data"), "hashed keys": (f"{name}_log", "hash")}[what]


def taken_name(name):
    """A name that a filter of this name needs beside its own."""
    return f"{name}_page"


def own_triggers(db, name="f", which=""):
    """(name, sql) of the triggers that write to the log of a filter; `which`: only those of INSERT, for example."""
    found = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND instr(sql, ?) AND instr(sql, ?) "
                       "ORDER BY rowid", (log_of(db, name), f"AFTER {which}")).fetchall()
    assert found
    return found


def drop_own_triggers(db, name="f", which=""):
    for trigger, _ in own_triggers(db, name, which):
        db.execute(f'DROP TRIGGER "{trigger}"')


def knows_its_log(db, name="f"):
    """Does any row tell which log and which triggers are those of the filter?"""
    try:
        return bool(db.execute(f"SELECT data FROM {name}_page WHERE no IN (0, -1) AND typeof(data) = 'blob'").fetchall())
    except sqlite3.Error:
        return False


def contents(db, name="f"):
    """All bytes of a filter, to be compared."""
    return db.execute(f"SELECT quote(no), quote(data) FROM {name}_page ORDER BY no").fetchall(), [
        row for row in db.execute(f"SELECT hash, n FROM {name}_log ORDER BY 1, 2").fetchall()]


def saved(db, name="f"):
    """A filter as it is now, for `put_back`."""
    return [db.execute(f"SELECT {columns} FROM {name}_{table}").fetchall() for table, columns in TABLES.items()]


def put_back(db, rows, name="f"):
    for (table, columns), some in zip(TABLES.items(), rows):
        db.execute(f"DELETE FROM {name}_{table}")
        db.executemany(f"INSERT INTO {name}_{table}({columns}) VALUES ({', '.join('?' * (columns.count(',') + 1))})", some)


def pages(db, name="f"):
    """How many pages have been written."""
    return ask(db, f"SELECT count(*) FROM {name}_page")


def waiting(db, name="f"):
    """Keys that have found no place in the last drain."""
    return numbers(header(db, name))["left"]


# ---- damage of a kind ----

# What somebody does to the rows of a filter `f` without knowing how they lie.
DAMAGE = {
    "a page is lost": "DELETE FROM f_page WHERE no = 1",
    "the header is lost": "DELETE FROM f_page WHERE no = 0",
    "all is lost but the header": "DELETE FROM f_page WHERE no > 0",
    "all is lost": "DELETE FROM f_page",
    "a page has other bytes": "UPDATE f_page SET data = zeroblob(length(data)) WHERE no = 1",
    "all pages have other bytes": "UPDATE f_page SET data = randomblob(length(data)) WHERE no > 0",
    "the header has other bytes": "UPDATE f_page SET data = zeroblob(length(data)) WHERE no = 0",
    "the header has random bytes": "UPDATE f_page SET data = randomblob(length(data)) WHERE no = 0",
    "the pages are numbered otherwise": "UPDATE f_page SET no = no + 1000000",
    "the pages have negative numbers": "UPDATE OR REPLACE f_page SET no = -no",
    "a page too many": "INSERT INTO f_page SELECT 1000, data FROM f_page WHERE no = 1",
    **{f"{what} {how}": f"UPDATE f_page SET data = {value} WHERE no {where}"
       for what, where in {"the header": "= 0", "a page": "= 1", "each page": "> 0"}.items()
       for how, value in {"is a text": "'text'", "is a number": "5", "is NULL": "NULL", "is empty": "x''",
                          "is a byte": "x'ff'",
                          "lacks a byte": "substr(data, 1, length(data) - 1)", "has a byte more": "data || x'00'",
                          "is huge": "zeroblob(100000)", "is cast to a text": "CAST(data AS TEXT)"}.items()},
    "the table of pages is lost": "DROP TABLE f_page",
    "the table of pages is empty, without a key": "DROP TABLE f_page; CREATE TABLE f_page(no, data)",
    "the table of pages has other columns": "DROP TABLE f_page; CREATE TABLE f_page(x)",
    "a column of the pages is renamed": "ALTER TABLE f_page RENAME COLUMN data TO other",
    "the table of hashed keys is lost": "DROP TABLE f_log",
}
DROPPED = [name for name, sql in DAMAGE.items() if sql.startswith("DROP") or "RENAME" in sql]
# Notice of these is taken by whatever reads the rows, and by `check` at the latest.
NOTICED = {name: sql for name, sql in DAMAGE.items() if "hashed" not in name}
# What takes the place of the pages: reading may work, writing cannot.
REPLACED = {
    "a view": "ALTER TABLE f_page RENAME TO real; CREATE VIEW f_page AS SELECT * FROM real",
    "a table without its key": "ALTER TABLE f_page RENAME TO real; CREATE TABLE f_page(no, data); "
                               "INSERT INTO f_page SELECT * FROM real; DROP TABLE real",
    "a trigger that ignores inserts": "CREATE TRIGGER tr BEFORE INSERT ON f_page BEGIN SELECT RAISE(IGNORE); END",
    "a trigger that ignores updates": "CREATE TRIGGER tr BEFORE UPDATE ON f_page BEGIN SELECT RAISE(IGNORE); END",
    "a trigger that aborts": "CREATE TRIGGER tr BEFORE INSERT ON f_page BEGIN SELECT RAISE(ABORT, 'no'); END",
    "a trigger that fails": "CREATE TRIGGER tr AFTER UPDATE ON f_page BEGIN SELECT RAISE(FAIL, 'no'); END",
    "a trigger that deletes": "CREATE TRIGGER tr AFTER DELETE ON f_page BEGIN DELETE FROM f_page; END",
    "a trigger that fails, hashed keys": "CREATE TRIGGER tr AFTER INSERT ON f_log BEGIN SELECT RAISE(FAIL, 'no'); END",
}
# A filter in which keys wait for a place.
ONE = "hash = (SELECT max(hash) FROM f_log)"
WAITING_DAMAGE = ["DELETE FROM f_log", f"UPDATE f_log SET hash = 'x' WHERE {ONE}",
                  "DELETE FROM f_log WHERE rowid % 2", f"UPDATE f_log SET hash = 1.5 WHERE {ONE}",
                  f"UPDATE f_log SET hash = NULL WHERE {ONE}", "UPDATE f_log SET n = 1 << 56",
                  "UPDATE f_log SET n = -(1 << 56)", "UPDATE f_log SET n = x'00'",
                  "UPDATE f_log SET n = 'x'", "UPDATE f_log SET n = NULL", "DROP TABLE f_log",
                  "DROP TABLE f_log; CREATE TABLE f_log(hash, value, adds)"]
# Of the log {log}.
LOG_TRIGGERS = {
    "deletes": "CREATE TRIGGER theirs AFTER INSERT ON {log} BEGIN DELETE FROM {log}; END",
    "ignores inserts": "CREATE TRIGGER theirs BEFORE INSERT ON {log} BEGIN SELECT RAISE(IGNORE); END",
    "ignores deletes": "CREATE TRIGGER theirs BEFORE DELETE ON {log} BEGIN SELECT RAISE(IGNORE); END",
    "deletes, temporary": "CREATE TEMP TRIGGER theirs AFTER INSERT ON main.{log} BEGIN DELETE FROM {log}; END",
}
LOG_DAMAGE = {
    "dropped": "DROP TABLE {log}", "renamed": "ALTER TABLE {log} RENAME TO elsewhere",
    "has one column more": "ALTER TABLE {log} ADD COLUMN more",
    "has another column": "ALTER TABLE {log} RENAME COLUMN new TO newer",
    "is another table": "DROP TABLE {log}; CREATE TABLE {log}(\"old\", \"new\", \"tag\", more)",
    "is a view": "DROP TABLE {log}; CREATE VIEW {log} AS SELECT 1 AS old, 2 AS new, 3 AS tag",
}


def damage(db, sql, name="f"):
    """Statements with "; " between them, of a filter of any name."""
    sql = sql.replace("f_page", f"{name}_page").replace("f_log", f"{name}_log")
    for one in re.split("; (?!END)", sql):
        db.execute(one.format(log=log_of(db, name)) if "{log}" in one else one)


def empty_log(db, name="f"):
    db.execute(f"DELETE FROM {log_of(db, name)}")


def write_log_anew(db, *keys):
    empty_log(db)
    db.executemany(f"INSERT INTO {log_of(db)}(new) VALUES (?)", [(key,) for key in keys])


def guard(name, sort="inserts"):
    """A trigger by which nothing can be written to a filter."""
    return {"inserts": f"CREATE TRIGGER g BEFORE INSERT ON {name}_log BEGIN SELECT RAISE(ABORT, 'no'); END",
            "ignored": f"CREATE TRIGGER g BEFORE INSERT ON {name}_log BEGIN SELECT RAISE(IGNORE); END",
            "updates": f"CREATE TRIGGER g BEFORE UPDATE ON {name}_page BEGIN SELECT RAISE(IGNORE); END"}[sort]


# What an authorizer may deny, as (action, names): of the filter f, which follows u.
READ, SELECT, INSERT, UPDATE, DELETE, FUNCTION, TRANSACTION = 20, 21, 18, 23, 9, 31, 22


def denials(db):
    log = log_of(db)
    return {"all of the log": lambda action, name, _: name == log,
            "reading the log": lambda action, name, _: action == READ and name == log,
            "emptying the log": lambda action, name, _: action == DELETE and name == log,
            "writing pages": lambda action, name, _: action in (INSERT, UPDATE) and name == "f_page",
            "reading pages": lambda action, name, _: action == READ and name == "f_page",
            "writing the list": lambda action, name, _: action in (INSERT, UPDATE) and name == "f_log",
            "reading the schema": lambda action, name, _: action == READ and name == "sqlite_master",
            "reading the table": lambda action, name, _: action == READ and name == "u",
            "functions": lambda action, *_: action == FUNCTION,
            "functions of ours": lambda action, _, function: action == FUNCTION and function.startswith("cf_"),
            "SELECT": lambda action, *_: action == SELECT,
            "all but the end of transactions": lambda action, *_: action != TRANSACTION}


DENIALS = ["all of the log", "reading the log", "emptying the log", "writing pages", "reading pages", "writing the list",
           "reading the schema", "reading the table", "functions", "functions of ours", "SELECT",
           "all but the end of transactions"]


# ---- rows as a hostile writer makes them: ext/pages/pages.h a second time ----

HEADER_ROW = 109  # bytes
FIELDS = {"length": (64, "<Q"), "page_bytes": (72, "<I"), "left": (76, "<Q"), "unmatched": (84, "<Q"),
          "random": (92, "<Q"), "log": (100, "<Q"), "flags": (108, "<B")}


def header(db, name="f"):
    return ask(db, f"SELECT data FROM {name}_page WHERE no = 0")


def put(db, no, data, name="f"):
    db.execute(f"UPDATE {name}_page SET data = ? WHERE no = ?", (data, no))


def numbers(row):
    return {name: struct.unpack_from(form, row, at)[0] for name, (at, form) in FIELDS.items()}


def without_random_numbers(no, data):
    """A row of pages without the numbers that SQLite drew when it was written, and what is made of them."""
    if no != 0:
        return data[8:] if no == -1 else data
    row = bytearray(data)
    for field in ("random", "log"):
        at, form = FIELDS[field]
        row[at:at + struct.calcsize(form)] = bytes(struct.calcsize(form))
    return bytes(row)


def change_header(db, name="f", fields=None, **values):
    """Another number in the header of the rows; `fields`: in that of the filter, whose checksum is right."""
    row = header(db, name)
    values.setdefault("random", (numbers(row)["random"] + 1) % 2**64)  # as with any write
    row = bytearray(support.patched(row[:64], **fields) if fields else row[:64]) + bytearray(row[64:])
    for field, value in values.items():
        struct.pack_into(FIELDS[field][1], row, FIELDS[field][0], value)
    put(db, 0, bytes(row), name)


def later_header(db, what, name="f"):
    """The header as a later version may write it: with more behind it, or with a flag that nobody knows."""
    change_header(db, name)
    row = header(db, name)
    put(db, 0, row + what if isinstance(what, bytes) else row[:-1] + bytes([what]), name)


def was_unmatched(db, name="f"):
    """A row has gone whose key the filter did not hold."""
    change_header(db, name, unmatched=1)


def hostile_bytes(db, rng, name="f", header_too=False):
    """Any bytes in the pages."""
    for no, data in db.execute(f"SELECT no, data FROM {name}_page WHERE no >= 0").fetchall():
        changed = bytearray(data)
        for _ in range(rng.choice([0, 1, 8, len(data)])):
            changed[rng.randrange(len(data))] = rng.randrange(256)
        if no > 0:
            put(db, no, bytes(changed), name)
        elif header_too:
            put(db, 0, support.sealed(bytes(changed[:64])) + data[64:], name)


def hostile_waiting(db, rng, name="f"):
    """Any rows in the log of hashed keys, and the header counts them, or other ones."""
    some = [(rng.randrange(-2**63, 2**63), rng.choice([0, 1, -1, 3, 2**16, 2**40, -2**40, 2**62]),
             rng.choice([0, 1, None, "x"])) for _ in range(rng.randrange(1, 8))]
    db.execute(f"DELETE FROM {name}_log")
    db.executemany(f"INSERT INTO {name}_log VALUES (?, ?, ?)", some)
    change_header(db, name, left=rng.choice([len(some), len(some) + 1, 0, 1, 2**40]))


def hostile_ages(db, rng, name="f"):
    """Any bytes where the times of epochs stand."""
    lie = bytearray(header(db, name))
    for _ in range(rng.randrange(1, 8)):
        at, size = rng.randrange(HEADER_ROW, len(lie) - 16), rng.choice([1, 1, 8, 16])
        lie[at:at + size] = rng.choice([bytes(size), b"\xff" * size, rng.randbytes(size)])
    put(db, 0, bytes(lie), name)


# ---- damage by chance ----

def some_row(db, rng):
    return rng.choice(db.execute("SELECT no, data FROM f_page").fetchall() * 2 + db.execute(
        "SELECT no, data FROM f_page WHERE no <= 0").fetchall())


def random_damage(db, rng):
    """Somebody damages f by chance; `older` and `twin` have rows of another time, and of a filter with other keys. What was done."""
    no, data = some_row(db, rng)
    cut, other = rng.randrange(len(data)), bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 20])):
        other[rng.randrange(len(data))] ^= rng.choice([1, 0x80, 0xff, rng.randrange(1, 256)])
    how = rng.choice(["bytes"] * 4 + ["length"] * 2 + ["type", "content", "copy", "swap", "of another time",
                                                       "of another time"]
                     + ["sql"] * 6 + ["unplaced"] * 3 + ["replaced"] * 3)
    if how == "bytes":
        put(db, no, bytes(other))
    elif how == "length":
        put(db, no, rng.choice([data[:cut], data[cut + 1:], data + b"\0", data + data, data + bytes(100000),
                                b"", data[:-1]]))
    elif how == "type":
        put(db, no, rng.choice(["text", 5, 2.5, None, "", -1, "1" * len(data)]))
    elif how == "content":
        put(db, no, rng.choice([bytes(len(data)), rng.randbytes(len(data)), b"\xff" * len(data)]))
    elif how == "copy":
        to = rng.choice([no + 1, no - 1, 1, 0, -1, rng.randrange(1, 30), 10**6, 2**62])
        db.execute("INSERT OR REPLACE INTO f_page VALUES (?, ?)", (to, data))
    elif how == "swap":
        two, second = some_row(db, rng)
        put(db, no, second)
        put(db, two, data)
    elif how == "of another time":
        db.execute("INSERT OR REPLACE INTO f_page VALUES (?, ?)", rng.choice(
            db.execute(f"SELECT no, data FROM {rng.choice(['older', 'twin'])} WHERE no >= 0").fetchall()))
    else:
        how = rng.choice({"sql": list(DAMAGE.values()), "unplaced": WAITING_DAMAGE,
                          "replaced": list(REPLACED.values())}[how])
        damage(db, how)
    return f"row {no}: {how}"


def keep_twin(db, name):
    """f as it is now, in a table of that name."""
    db.execute(f"CREATE TABLE {name} AS SELECT no, data FROM f_page")


def random_lie(db, rng):
    """The same by a hostile writer, who knows what the bytes mean."""
    how = rng.choice(["number", "field", "bytes", "bytes", "unplaced"])
    row = header(db)
    if how == "number":
        name = rng.choice(list(FIELDS))
        old = numbers(row)[name]
        new = rng.choice([0, 1, old + 1, old ^ 1 << rng.randrange(48), 2**31, 2**48 - 1, 2**56, 2**63, 2**64 - 1,
                          old // 2])
        change_header(db, **{name: new % (1 << 8 * struct.calcsize(FIELDS[name][1]))})
        return f"header: {name} = {new}"
    if how == "field":
        name = rng.choice([name for name in support.FIELDS if name != "checksum"])
        bits = 8 * support.FIELDS[name][1]
        new = rng.choice([0, 1, 2, 3, 2**bits - 1, support.field(row, name) ^ 1 << rng.randrange(bits),
                          rng.getrandbits(bits)]) % 2**bits
        change_header(db, fields={name: new})
        return f"header of the filter: {name} = {new}"
    (hostile_bytes if how == "bytes" else hostile_waiting)(db, rng)
    return f"hostile {how}"
