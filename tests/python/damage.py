# SPDX-License-Identifier: MIT
"""Ways to damage the shadow tables of a filter table f: functions of a connection and random numbers, which return what they did.

Beside f stand the tables older and twin, with rows of f_page of an earlier time, and of a filter of the same shape with other
keys. What is HOSTILE has right checksums.
"""
import rows
import support


# ---- rows of f_page ----

def some_row(db, rng):
    return rng.choice(db.execute("SELECT no, data FROM f_page").fetchall() * 2 + db.execute(
        "SELECT no, data FROM f_page WHERE no <= 0").fetchall())


def put(db, no, data):
    db.execute("UPDATE f_page SET data = ? WHERE no = ?", (data, no))


def change_bytes(db, rng):
    no, data = some_row(db, rng)
    changed = bytearray(data)
    places = [rng.randrange(len(data)) for _ in range(rng.choice([1, 1, 1, 2, 20]))]
    for at in places:
        changed[at] ^= rng.choice([1, 0x80, 0xff, rng.randrange(1, 256)])
    put(db, no, bytes(changed))
    return f"row {no}: bytes {places}" if changed != data else "nothing"


def other_length(db, rng):
    no, data = some_row(db, rng)
    cut = rng.randrange(len(data))
    other = rng.choice([data[:cut], data[cut + 1:], data + b"\0", data + data, data + bytes(100000), data[:-8], b"", data[:-1]])
    put(db, no, other)
    return f"row {no}: {len(other)} bytes"


def other_type(db, rng):
    no, data = some_row(db, rng)
    other = rng.choice(["text", 5, 2.5, None, "", -1, "1" * len(data)])
    put(db, no, other)
    return f"row {no}: {other!r:.20}"


def as_text(db, rng):
    no, _ = some_row(db, rng)
    db.execute("UPDATE f_page SET data = CAST(data AS TEXT) WHERE no = ?", (no,))
    return f"row {no} as text"


def other_content(db, rng):
    no, data = some_row(db, rng)
    put(db, no, rng.choice([bytes(len(data)), rng.randbytes(len(data)), b"\xff" * len(data)]))
    return f"row {no}: other bytes"


def missing(db, rng):
    no, _ = some_row(db, rng)
    db.execute("DELETE FROM f_page WHERE no = ?", (no,))
    return f"row {no} deleted"


def all_missing(db, rng):
    where = rng.choice(["", "WHERE no > 0", "WHERE no >= 0", "WHERE no < 1"])
    db.execute(f"DELETE FROM f_page {where}")
    return f"rows deleted {where}"


def copied(db, rng):
    no, data = some_row(db, rng)
    to = rng.choice([no + 1, no - 1, 1, 0, -1, -2, rng.randrange(1, 30), 10**6, 2**62])
    db.execute("INSERT OR REPLACE INTO f_page VALUES (?, ?)", (to, data))
    return f"row {no} copied to {to}" if to != no and to != -2 else "nothing"


def swapped(db, rng):
    (one, first), (two, second) = some_row(db, rng), some_row(db, rng)
    put(db, one, second)
    put(db, two, first)
    return f"rows {one} and {two} swapped" if one != two else "nothing"


def of_another_time(db, rng):
    """A row of before, or of a table with the same seed and other keys: with a right checksum."""
    source = rng.choice(["older", "twin"])
    no, data = rng.choice(db.execute(f"SELECT no, data FROM {source} WHERE no >= 0").fetchall())
    same = db.execute("SELECT data FROM f_page WHERE no = ?", (no,)).fetchone() == (data,)
    db.execute("INSERT OR REPLACE INTO f_page VALUES (?, ?)", (no, data))
    return "nothing" if same else f"row {no} of the {source} one"


def shifted(db, rng):
    by = rng.choice(["-no", "no + 1000000", "no + 1000001", "no * 2 + 100"])
    db.execute(f"UPDATE OR REPLACE f_page SET no = {by}")
    return f"numbers: {by}"


# ---- rows of f_wait, and the tables themselves ----

def wait_column(db, rng):
    column = rng.choice(["hash", "value", "adds"])
    new = rng.choice(["-1", "1", "0", "'text'", "1.5", "x'00'", "adds + 1", "9223372036854775807", "-9223372036854775808", "256",
                      "1 << 40", f"{column} + 1", f"CAST({column} AS TEXT) || 'x'", "value + 1", "NULL"])
    where = rng.choice(["", "WHERE value = (SELECT min(value) FROM f_wait)", "WHERE value % 3 = 1"])
    db.execute(f"UPDATE OR IGNORE f_wait SET {column} = {new} {where}")
    return f"f_wait: {column} = {new} {where}"


def wait_rows(db, rng):
    sql = rng.choice(["DELETE FROM f_wait", "DELETE FROM f_wait WHERE value % 3 = 1",
                      "DELETE FROM f_wait WHERE value = (SELECT max(value) FROM f_wait)",
                      "INSERT INTO f_wait SELECT abs(random()), -1, 1 FROM u UNION SELECT 7, 0, 1",
                      "INSERT INTO f_wait SELECT 77, 0, 1 << 56", "INSERT INTO f_wait SELECT hash, value + 1000, adds FROM f_wait",
                      "INSERT INTO f_wait VALUES (12345, 3, 1)", "INSERT INTO f_wait VALUES ('x', 'y', 'z')",
                      "INSERT INTO f_wait VALUES (5, 0, 0)"])
    db.execute(sql)
    return sql


def other_tables(db, rng):
    name = rng.choice(["f_page", "f_page", "f_wait"])
    columns = {"f_page": "no, data", "f_wait": "hash, value, adds"}[name]
    sql = rng.choice([
        f"DROP TABLE {name}",
        f"ALTER TABLE {name} RENAME TO real; CREATE VIEW {name} AS SELECT * FROM real",
        f"ALTER TABLE {name} RENAME TO real; CREATE TABLE {name}({columns}); INSERT INTO {name} SELECT * FROM real; DROP TABLE real",
        f"DROP TABLE {name}; CREATE TABLE {name}({columns})",
        f"DROP TABLE {name}; CREATE TABLE {name}(x)",
        f"ALTER TABLE {name} RENAME COLUMN {columns.split(', ')[0]} TO other",
        f"CREATE TRIGGER tr BEFORE INSERT ON {name} BEGIN SELECT RAISE(IGNORE); END",
        f"CREATE TRIGGER tr BEFORE INSERT ON {name} BEGIN SELECT RAISE(ABORT, 'no'); END",
        f"CREATE TRIGGER tr BEFORE UPDATE ON {name} BEGIN SELECT RAISE(IGNORE); END",
        f"CREATE TRIGGER tr AFTER UPDATE ON {name} BEGIN SELECT RAISE(FAIL, 'no'); END",
        f"CREATE TRIGGER tr AFTER DELETE ON {name} BEGIN DELETE FROM {name}; END"])
    db.executescript(sql)
    return sql


# ---- with right checksums ----

def numbers_of_header(db, rng):
    """Hostile: other numbers in the header, with a right checksum."""
    (data,) = db.execute("SELECT data FROM f_page WHERE no = 0").fetchone()
    name = rng.choice(list(rows.FIELDS))
    old = rows.numbers(data)[name]
    new = rng.choice([0, 1, old + 1, old ^ 1 << rng.randrange(48), 2**31, 2**48 - 1, 2**56, 2**63, 2**64 - 1, old // 2])
    new %= 1 << 8 * {"<Q": 8, "<I": 4, "<B": 1}[rows.FIELDS[name][1]]
    put(db, 0, rows.patched_header(data, **{name: new}))
    return f"header: {name} = {new}"


def header_of_filter(db, rng):
    """Hostile: another field of the filter's own header."""
    (data,) = db.execute("SELECT data FROM f_page WHERE no = 0").fetchone()
    name = rng.choice([name for name in support.FIELDS if name != "checksum"])
    bits = 8 * support.FIELDS[name][1]
    new = rng.choice([0, 1, 2, 3, 2**bits - 1, support.field(data, name) ^ 1 << rng.randrange(bits), rng.getrandbits(bits)]) % 2**bits
    put(db, 0, rows.patched_header(data, support.patched(data[:64], **{name: new})))
    return f"header of the filter: {name} = {new}"


def hostile_pages(db, rng):
    """Hostile: any bytes in pages, with right checksums."""
    (header,) = db.execute("SELECT data FROM f_page WHERE no = 0").fetchone()
    seed, total = support.field(header, "seed"), 0
    for no, data in db.execute("SELECT no, data FROM f_page WHERE no > 0").fetchall():
        changed = bytearray(data)
        for _ in range(rng.choice([0, 1, 8, len(data)])):
            changed[rng.randrange(len(data))] = rng.randrange(256)
        changed = rows.sealed_row(no, bytes(changed), seed)
        total += int.from_bytes(changed[-8:], "little")
        put(db, no, changed)
    put(db, 0, rows.patched_header(header, checksums=total % 2**64))
    return "hostile pages"


def hostile_waiting(db, rng):
    """Hostile: any rows, which the header counts."""
    (header,) = db.execute("SELECT data FROM f_page WHERE no = 0").fetchone()
    some = [(rng.randrange(-2**63, 2**63), rng.choice([0, 0, 5, 255, 1000]), rng.choice([0, 1, 3, 2**16, 2**40]))
            for _ in range(rng.randrange(1, 8))]
    db.execute("DELETE FROM f_wait")
    db.executemany("INSERT INTO f_wait VALUES (?, ?, ?)", some)
    sums = {"adds": sum(row[2] for row in some),
            "adds_digest": sum(rows.hash_words(row[0] % 2**64, row[1], 0) * row[2] for row in some) % 2**64}
    put(db, 0, rows.patched_header(header, **sums))
    return f"hostile rows wait: {some}"


HONEST = [change_bytes] * 4 + [other_length] * 2 + [other_type, as_text, other_content, missing, missing, all_missing, copied, swapped,
                               of_another_time, of_another_time, shifted, wait_column, wait_column, wait_rows, wait_rows] + [other_tables] * 3
HOSTILE = [numbers_of_header, header_of_filter, hostile_pages, hostile_pages, hostile_waiting]
