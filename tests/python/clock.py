# SPDX-License-Identifier: MIT
"""A clock that tests set: it takes the place of that of SQLite's default VFS, in this process."""
import contextlib
import ctypes

import support

START = 212_000_000_000_000  # milliseconds, as SQLite counts them: in the year 2430
SECOND, MINUTE, HOUR, DAY = 1000, 60_000, 3_600_000, 86_400_000

NOW = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int64))


class Vfs(ctypes.Structure):
    _fields_ = [("version", ctypes.c_int), ("file", ctypes.c_int), ("path", ctypes.c_int), ("next", ctypes.c_void_p),
                ("name", ctypes.c_char_p), ("data", ctypes.c_void_p), ("methods", ctypes.c_void_p * 12), ("now", ctypes.c_void_p)]


class Clock:
    def __init__(self):
        self.now, self.step = START, 0  # milliseconds that go by when it is read

    def read(self, _, now):
        self.now += self.step
        now[0] = self.now
        return 0


@contextlib.contextmanager
def set_by_hand():
    """`now` of what this gives is the time, in milliseconds."""
    clock = Clock()
    find = support.sqlite_library().sqlite3_vfs_find
    find.restype = ctypes.POINTER(Vfs)
    vfs = find(None).contents
    assert vfs.version >= 2
    before, reads = vfs.now, NOW(clock.read)
    vfs.now = ctypes.cast(reads, ctypes.c_void_p).value
    try:
        yield clock
    finally:
        vfs.now = before
