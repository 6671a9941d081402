# SPDX-License-Identifier: MIT
"""Cuckoo filters for SQLite, for connections of sqlite3 and of what has the same functions, such as apsw.

    import sqlite3, sqlite_cuckoo
    con = sqlite3.connect("my.db")
    sqlite_cuckoo.load(con)
    con.execute("SELECT cf_contains(cf_add(cf_new(1000), 'ada'), 'ada')").fetchone()
"""
import os
import sqlite3
import sys

__all__ = ["load", "loadable_path", "__version__"]
__version__ = "@VERSION@"

_SUFFIX = {"win32": ".dll", "cygwin": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")

_NO_EXTENSIONS = (
    "sqlite_cuckoo.load: the sqlite3 module of this Python was built without loadable extensions, as on macOS and in "
    "some downloads; use a Python that was built with --enable-loadable-sqlite-extensions (those of Homebrew, conda and "
    "Linux distributions are), or a connection of the package apsw")


def loadable_path() -> str:
    """The path of the compiled extension: for load_extension, .load and the like."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "cuckoo" + _SUFFIX)


def _function(connection, *names):
    """The method by the first of these names that it has."""
    for name in names:
        if hasattr(connection, name):
            return getattr(connection, name)
    if isinstance(connection, sqlite3.Connection):
        raise sqlite3.NotSupportedError(_NO_EXTENSIONS)
    raise TypeError(f"sqlite_cuckoo.load: a connection of sqlite3 or apsw is needed, this is {type(connection)!r}: "
                    "give the connection of the driver itself")


def _is_enabled(connection) -> bool:
    """SQLite refuses this function while loading is disabled, and answers NULL for a NULL name otherwise."""
    try:
        connection.cursor().execute("SELECT load_extension(NULL)").fetchall()
        return True
    except Exception:  # each driver has an error of its own
        return False


def load(connection) -> None:
    """Registers the functions and virtual tables on an open connection. Doing it again does nothing.

    Loading extensions is enabled for that, and disabled afterwards unless it was enabled before.
    """
    enable = _function(connection, "enable_load_extension", "enableloadextension")
    load_extension = _function(connection, "load_extension", "loadextension")
    if not os.path.exists(loadable_path()):
        raise FileNotFoundError(f"sqlite_cuckoo.load: {loadable_path()} is missing: install the package anew")
    was_enabled = _is_enabled(connection)
    enable(True)
    try:
        load_extension(loadable_path())
    finally:
        if not was_enabled:
            enable(False)
