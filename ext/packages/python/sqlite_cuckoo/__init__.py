# SPDX-License-Identifier: MIT
"""Cuckoo filters for SQLite, for connections of sqlite3 and of what has the same functions, such as apsw.

    import sqlite3, sqlite_cuckoo
    con = sqlite3.connect("my.db")
    sqlite_cuckoo.load(con)
    con.execute("SELECT cf_contains(cf_add(cf_new(1000), 'ada'), 'ada')").fetchone()

Where sqlite3 was built without loadable extensions, call sqlite_cuckoo.enable() before connecting, in place of load().
Without a connection: `key in sqlite_cuckoo.Filter(blob)`.
"""
import os
import sqlite3
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .filter import Filter as Filter

__all__ = ["enable", "load", "loadable_path", "__version__"]
__version__ = "@VERSION@"

_SUFFIX = {"win32": ".dll", "cygwin": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")

_NO_EXTENSIONS = (
    "sqlite_cuckoo.load: the sqlite3 module of this Python was built without loadable extensions, as by pyenv and on "
    "macOS; call sqlite_cuckoo.enable() once and connect after that")
_OTHERWISE = (
    "call load() on each connection, with a Python that was built with --enable-loadable-sqlite-extensions (those of "
    "Homebrew, conda and Linux distributions are), or with the package apsw")


def __getattr__(name):
    """Filter is imported when it is first used: without the module _filter the rest of the package works."""
    if name != "Filter":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .filter import Filter
    return Filter


def loadable_path() -> str:
    """The path of the compiled extension: for load_extension, .load and the like."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "cuckoo" + _SUFFIX)


def _existing_path():
    if not os.path.exists(loadable_path()):
        raise FileNotFoundError(
            f"sqlite_cuckoo: there is no {loadable_path()}. A compiled file cannot be loaded from a zip archive (zipapp, pex): "
            "unpack the program, or leave the package out of it. For PyInstaller add --collect-all sqlite_cuckoo. Otherwise "
            "install the package again")
    return loadable_path()


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
    allow = _function(connection, "enable_load_extension", "enableloadextension")
    load_extension = _function(connection, "load_extension", "loadextension")
    path = _existing_path()
    was_enabled = _is_enabled(connection)
    allow(True)
    try:
        load_extension(path)
    finally:
        if not was_enabled:
            allow(False)


def _refusal(why):
    return sqlite3.NotSupportedError(f"sqlite_cuckoo.enable: {why}; {_OTHERWISE}")


def _automatic_extensions():
    """sqlite3_auto_extension and sqlite3_cancel_auto_extension of the SQLite that the module sqlite3 runs on."""
    try:
        import _sqlite3
        import ctypes
        # None: the module is a part of Python itself. On Windows a function is looked for in one file only.
        path = getattr(_sqlite3, "__file__", None)
        if path and sys.platform == "win32":
            path = os.path.join(os.path.dirname(path), "sqlite3.dll")
        library = ctypes.CDLL(path)
        return ctypes, library.sqlite3_auto_extension, library.sqlite3_cancel_auto_extension
    except (ImportError, OSError, AttributeError, TypeError) as error:
        raise _refusal(f"the SQLite of this Python cannot be reached ({error})") from None


def enable() -> None:
    """Registers the functions and virtual tables on every connection that sqlite3 opens from now on, in all threads.

    It needs no loadable extensions: they are registered by sqlite3_auto_extension of the SQLite that sqlite3 runs on. Doing
    it again does nothing. Raises sqlite3.NotSupportedError where that SQLite is hidden, is older than 3.34, or was built
    with SQLITE_OMIT_LOAD_EXTENSION; no connection has changed then.
    """
    ctypes, register, cancel = _automatic_extensions()
    entry = ctypes.CDLL(_existing_path()).sqlite3_cuckoo_init  # ctypes never unmaps it
    if register(entry) != 0:
        raise MemoryError("sqlite_cuckoo.enable: out of memory")
    try:
        connection = sqlite3.connect(":memory:")
        try:
            connection.execute("SELECT cf_version()").fetchall()
        finally:
            connection.close()
    except sqlite3.Error as error:
        cancel(entry)
        why = "it was built with SQLITE_OMIT_LOAD_EXTENSION" if str(error).endswith(": ") else error
        raise _refusal(f"the SQLite of this Python, {sqlite3.sqlite_version}, does not take it ({why})") from None
