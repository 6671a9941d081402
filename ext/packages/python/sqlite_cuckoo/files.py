# SPDX-License-Identifier: MIT
"""Files of the command: filters, each with a label behind it, which says what its keys looked like."""
import contextlib
import functools
import glob
import os
import re
import shutil
import signal
import stat
import time

from sqlite_cuckoo.lists import DOMAIN, Failure

MOST = 0x7fffffff  # bytes of a blob
LEFT_OVER = 7 * 24 * 3600  # seconds after which a file that a killed command has left is removed
BEGINS = b"\xcfck", b"\xcfex"  # of a filter, and of an exact one
END = b"\xcflb"  # of a label: src/shape/format.h


def listen(handler):
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number and signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, handler)


def write_to(number, content):
    """To an open file at once: no buffer is left that closing it would write."""
    left = memoryview(content)
    while left:
        left = left[os.write(number, left):]


def output(content):
    """To standard output: who reads it may wait for it, and an error belongs to this content."""
    try:
        write_to(1, content)
    except OSError as error:
        error.filename = "standard output"
        raise


def content_of(path):
    """The bytes of a filter. What they are, SQL finds out."""
    if os.path.getsize(path) > MOST:
        raise Failure(f"{path}: it is larger than 2 GB, which no filter is")
    with open(path, "rb") as file:
        return file.read()


def beside(target):
    """A new name in the same folder, which no other command has, and which is not too long. Removes what killed ones left."""
    begin = os.path.join(os.path.dirname(target), os.path.basename(target)[:50] + ".")
    for old in glob.glob(f"{glob.escape(begin)}{16 * '[0-9a-f]'}.new"):
        with contextlib.suppress(OSError):
            if time.time() - os.path.getmtime(old) > LEFT_OVER:
                os.unlink(old)
    return f"{begin}{os.urandom(8).hex()}.new"


@contextlib.contextmanager
def replacing(path):
    """A function that writes to a new file, which takes the place of another when all went well. What cannot be written fails before
    any work. What is no ordinary file, such as /dev/stdout, is written as it is."""
    old = os.stat(path) if os.path.exists(path) else None
    if old and not stat.S_ISREG(old.st_mode):
        with open(path, "wb") as file:
            yield functools.partial(write_to, file.fileno())
        return
    if old and not os.access(path, os.W_OK):
        raise PermissionError(13, "Permission denied", path)
    if old and old.st_size:
        with open(path, "rb") as file:
            if not file.read(3).startswith(BEGINS):
                raise Failure(f"{path}: it is there, and is no filter; remove it, or name another file")
    target = os.path.realpath(path)
    new = beside(target)
    try:
        with open(new, "xb") as file:
            yield functools.partial(write_to, file.fileno())
            os.fsync(file.fileno())
        if old:
            if hasattr(os, "chown"):
                with contextlib.suppress(PermissionError):
                    os.chown(new, old.st_uid, old.st_gid)
            shutil.copymode(target, new)
        listen(signal.SIG_IGN)  # the rest takes no time
        os.replace(new, target)
    except OSError as error:
        error.filename = path if error.filename in (new, None) else error.filename
        raise
    finally:
        with contextlib.suppress(OSError):  # that it is not there, as a rule
            os.unlink(new)


# ---- labels ----

def kind_of(label):
    """What a label says but for the date; nothing if there is none."""
    return (label or "").split("; ")[0]


def lengths_of(label):
    """The numbers of digits of the digests, if these are the keys."""
    found = re.fullmatch(r"digests of (\d+(?: and \d+)*) digits, lower case", kind_of(label))
    return set(map(int, found[1].split(" and "))) if found else set()


def form_of(label):
    """A pattern for a key, if the label says what keys look like; or nothing."""
    if kind_of(label) == "domains":
        return DOMAIN
    return b"|".join(b"[0-9a-f]{%d}" % length for length in sorted(lengths_of(label)))


def column(name):
    """The kind of the keys of a column of CSV."""
    return f"column {name}" if name.isprintable() and "; " not in name and len(name.encode()) < 200 else "fields"


def column_in(kind):
    return kind[len("column "):] if kind.startswith("column ") else ""


def joined(lengths):
    return " and ".join(map(str, sorted(lengths)))


def digests(lengths):
    return f"digests of {joined(lengths)} digits, lower case" if lengths else ""


def both(one, other):
    """The kind of two filters, or nothing if they have no common one."""
    one, other = kind_of(one), kind_of(other)
    lengths = lengths_of(one), lengths_of(other)
    return digests(lengths[0] | lengths[1]) if all(lengths) else one if one == other else ""


def label(kind):
    """The bytes behind a filter."""
    if not kind:
        return b""
    made = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH") or time.time()))
    text = f"{kind}; {time.strftime('%Y-%m-%d', made)}".encode()
    return text + bytes([len(text)]) + END
