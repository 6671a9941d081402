# SPDX-License-Identifier: MIT
"""What the tests share: connections, expected errors, and the bytes of a filter."""
import _sqlite3
import contextlib
import ctypes
import gc
import json
import os
import re
import sqlite3
import struct
import zlib

import pytest

import xxh3

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def extension_path():
    path = os.environ.get("CUCKOO_SO", "build/cuckoo.so")
    return os.path.normpath(os.path.join(ROOT, path))


def connect(path=":memory:", encoding=None, **options):
    """A connection in autocommit mode with the extension loaded."""
    connection = sqlite3.connect(path, isolation_level=None, **options)
    if encoding:
        connection.execute(f"PRAGMA encoding = '{encoding}'")
    connection.enable_load_extension(True)
    connection.load_extension(extension_path().removesuffix(".so"))
    connection.enable_load_extension(False)
    return connection


def ask(db, sql, *parameters):
    """The one value of a query with one row and one column."""
    rows = db.execute(sql, parameters).fetchall()
    assert len(rows) == 1 and len(rows[0]) == 1, rows
    return rows[0][0]


def info(db, blob):
    return json.loads(ask(db, "SELECT cf_info(?)", blob))


def plan(db, *arguments):
    marks = ", ".join("?" * len(arguments))
    return json.loads(ask(db, f"SELECT cf_plan({marks})", *arguments))


def new(db, capacity, fpr=None, options=None):
    return ask(db, "SELECT cf_new(?, ?, ?)", capacity, fpr, options)


# The options of cf_keys for a filter, as SQL.
RULE_OF = ("(SELECT 'hash=' || json_extract(i, '$.hash') || ' seed=' || json_extract(i, '$.seed') || ' affinity=' || "
           "json_extract(i, '$.affinity') || ' collation=' || json_extract(i, '$.collation') FROM (SELECT cf_info({0}, 0) AS i))")


def list_call(function, blob, key, value="NULL"):
    """SQL: an aggregate that adds or deletes the keys of all rows, whatever the key rule of the filter is."""
    return f"{function}({blob}, cf_keys({key}, {value}, {RULE_OF.format(blob)}))"


def add_all(db, blob, keys):
    return ask(db, f"SELECT {list_call('cf_add_keys', '?1', 'value')} FROM json_each(?2)", blob, json.dumps(list(keys)))


def delete_all(db, blob, keys):
    return ask(db, f"SELECT {list_call('cf_delete_keys', '?1', 'value')} FROM json_each(?2)", blob, json.dumps(list(keys)))


def add(db, blob, *keys):
    for key in keys:
        blob = ask(db, "SELECT cf_add(?, ?)", blob, key)
    return blob


def contains(db, blob, key):
    return ask(db, "SELECT cf_contains(?, ?)", blob, key)


def found(db, blob, key):
    """The same where a key of a type that was never added is just absent."""
    try:
        return contains(db, blob, key)
    except sqlite3.IntegrityError as error:
        assert "so it would never be found" in str(error)
        return 0


def count(db, blob, key):
    return ask(db, "SELECT cf_count(?, ?)", blob, key)


def build(db, keys, fpr=None, options=None):
    return ask(db, "SELECT cf_build(value, ?, ?) FROM json_each(?)", fpr, options,
               json.dumps(list(keys)))


# ---- errors: the table in ext/sqlite/errors.h ----

BAD_PARAMETER = sqlite3.OperationalError, "SQLITE_ERROR"
BAD_BLOB = sqlite3.DatabaseError, "SQLITE_CORRUPT_VTAB"
FULL = sqlite3.IntegrityError, "SQLITE_CONSTRAINT"
MISMATCH = sqlite3.IntegrityError, "SQLITE_MISMATCH"
TOO_BIG = sqlite3.DataError, "SQLITE_TOOBIG"

# Words of SQL and names of SQLite may stand in capitals; nothing else may.
CAPITALS = {"NULL", "CTE", "FROM", "SELECT", "LEFT", "JOIN", "ON", "SQLite", "SQLITE_LIMIT_LENGTH", "JSON", "INSERT", "INTO",
            "Inf", "DELETE", "WHERE", "VALUES", "CREATE", "VIRTUAL", "TABLE", "USING", "GROUP", "BY"}


def check_message(message, function):
    """The style every message of this extension has."""
    assert message.startswith(function + ": "), message
    capitals = re.findall(r"\b\w*[A-Z]\w*", re.sub("'[^']*'", "", message))
    assert set(capitals) <= CAPITALS, f"capitals {capitals} in: {message}"
    assert not message.endswith("."), message
    assert len(message) < 500, message


def fails(db, kind, sql, *parameters, function=None, says=""):
    """Runs sql, which must fail in exactly this way; returns the message.

    The class is compared, not caught: a damaged blob is a plain DatabaseError, which is also the base
    class of the others.
    """
    function = function or re.search(r"cf_\w+", sql).group()
    with pytest.raises(sqlite3.Error) as caught:
        db.execute(sql, parameters).fetchall()
    error = caught.value
    assert (type(error), error.sqlite_errorname) == kind, repr(error)
    check_message(str(error), function)
    assert says in str(error), str(error)
    return str(error)


@contextlib.contextmanager
def undone_when_it_fails(db):
    """A statement of several rows in a transaction. When it fails, SQLite before 3.39.3 keeps the rows before the
    failure: there a savepoint takes them back, as sql/keep_in_sync.sql says."""
    needs_savepoint = sqlite3.sqlite_version_info < (3, 39, 3)
    if needs_savepoint:
        db.execute("SAVEPOINT statement")
    yield
    if needs_savepoint:
        db.execute("ROLLBACK TO statement")


# ---- the header of a filter: the table in src/shape/format.h; nothing in Python knows what lies behind it ----

HEADER = 64
GROWS, VALUES, SEMISORTED = 1, 2, 4  # flags
FIELDS = {  # name: (offset, bytes)
    "magic": (0, 3), "version": (3, 1), "hash": (4, 1), "bucket_size": (5, 1),
    "fingerprint_bits": (6, 1), "pair_bits": (7, 1), "max_copies": (8, 1), "slot_bits": (9, 1),
    "level": (10, 1), "payload_bits": (11, 1), "flags": (12, 1), "max_kicks": (13, 1),
    "stash_size": (14, 2), "stashed": (16, 2), "buckets": (18, 6), "seed": (24, 8),
    "split_pointer": (32, 6), "items": (38, 6), "occupied": (44, 6), "capacity": (50, 6),
    "reserved": (56, 4), "checksum": (60, 4),
}


def field(blob, name):
    at, size = FIELDS[name]
    number = int.from_bytes(blob[at:at + size], "little")
    return number & 15 if name == "hash" else number  # above it are the types of keys


MASK, xxh3_medium = xxh3.MASK, xxh3.of_medium


def sealed(blob):
    """The blob with its header checksum made right."""
    return blob[:60] + struct.pack("<I", xxh3.of_medium(blob[:60]) & 0xFFFFFFFF) + blob[64:]


def patched(blob, **fields):
    """The blob with other header fields and a right checksum."""
    bytes_ = bytearray(blob)
    for name, value in fields.items():
        at, size = FIELDS[name]
        bytes_[at:at + size] = value.to_bytes(size, "little")
    return sealed(bytes(bytes_))


# ---- the C functions of SQLite ----

def sqlite_library():
    """The SQLite that Python runs on. It lacks its functions where it is a part of Python."""
    return ctypes.CDLL(getattr(_sqlite3, "__file__", None))


def same_random_numbers(name):
    """SQLite's random numbers are the same from here on whenever the name is; where it is built without this, they are not."""
    prng_seed = 28  # SQLITE_TESTCTRL_PRNG_SEED; 0 as the seed would mean SQLite's own
    control = getattr(sqlite_library(), "sqlite3_test_control", None)
    if control:
        control(ctypes.c_int(prng_seed), ctypes.c_int(zlib.crc32(name.encode()) & 0x7fffffff or 1), ctypes.c_void_p(None))


def sqlite_handle(db):
    """(the library, sqlite3 *) of a connection: what Python's module does not offer is asked for through ctypes."""
    library = sqlite_library()
    if library.sqlite3_libversion_number() != sqlite3.sqlite_version_info[0] * 1000000 + (
            sqlite3.sqlite_version_info[1] * 1000 + sqlite3.sqlite_version_info[2]):
        pytest.skip("Python runs on another SQLite than the one its module is linked with")
    pointer = ctypes.cast(id(db) + object.__basicsize__, ctypes.POINTER(ctypes.c_void_p))[0]  # the first field
    return library, ctypes.c_void_p(pointer)


ENABLE_TRIGGER, RESET_DATABASE, DEFENSIVE, TRUSTED_SCHEMA = 1003, 1009, 1010, 1017


def configure(db, operation, value):
    """sqlite3_db_config(db, operation, value, NULL): Python's module has no such method before 3.12."""
    library, pointer = sqlite_handle(db)
    library.sqlite3_db_config.argtypes = [ctypes.c_void_p, ctypes.c_int]
    assert library.sqlite3_db_config(pointer, ctypes.c_int(operation), ctypes.c_int(value), None) == 0


# ---- SQLite's own count of the memory it gave out, to SQLite and to the extension ----

class Memory:
    """Reads sqlite3_memory_used and _highwater of the SQLite that Python runs on."""

    def __init__(self):
        try:
            library = sqlite_library()
            self._used, self._high = library.sqlite3_memory_used, library.sqlite3_memory_highwater
        except (OSError, AttributeError):
            pytest.skip("SQLite is not a shared library here: its memory cannot be counted")
        self._used.restype = self._high.restype = ctypes.c_int64
        gc.collect()  # else connections of earlier tests go when the collector comes, in the middle of this one
        before = self.used()
        probe = sqlite3.connect(":memory:")
        probe.execute("CREATE TABLE t(x)")
        grown = self.used() > before
        probe.close()
        if not grown:
            pytest.skip("Python runs on an SQLite without counts")

    def used(self):
        return self._used()

    def reset_peak(self):
        self._high(1)

    def peak(self):
        return self._high(0)
