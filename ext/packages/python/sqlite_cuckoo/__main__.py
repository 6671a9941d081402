# SPDX-License-Identifier: MIT
"""The command sqlite-cuckoo: filters in files, whose keys are lines. sqlite-cuckoo --help says how to use it.

Lines travel to SQLite in pieces, each a JSON array that json_each takes apart: so one statement reads all of them, and no
line costs a call of Python.
"""
import signal

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C while it starts: no traceback

import os
import sys


def failed(kind, error, trace):
    """No error ends with 1, which is an answer of check."""
    print(f"sqlite-cuckoo: {error or kind.__name__}", file=sys.stderr or open(os.devnull, "w"), flush=True)
    os._exit(2)


sys.excepthook = failed

import argparse
import contextlib
import glob
import json
import re
import shutil
import sqlite3
import stat
import time
from pathlib import Path

import sqlite_cuckoo

PIECE = 1 << 18  # bytes; such a piece and what is made of it stay in the processor's cache
MARK = b"\xef\xbb\xbf"  # of UTF-8, with which lists from Windows may begin
LONGEST = 1 << 26  # bytes of a line; it is in memory several times
# The beginning of UTF-16 and UTF-32: with their byte order marks, or every second byte is 0.
WIDE = re.compile(rb"\xff\xfe|\xfe\xff|\0\0\xfe\xff|([^\0]\0){3}|(\0[^\0]){3}")
MOST = 0x7fffffff  # bytes of a blob
LEFT_OVER = 7 * 24 * 3600  # seconds after which a file that a killed command has left is removed

# The keys, one a row, and a NULL at the end, so that there is a row always. A piece with lines that JSON cannot carry is an
# array of their numbers.
LINES = "json_each(CAST(piece AS TEXT))"
# An empty line is NULL, which is no key.
KEY = "nullif(CASE type WHEN 'integer' THEN CAST(odd_line(value) AS TEXT) ELSE value END, '')"
PIECES = "WITH RECURSIVE pieces(piece) AS (SELECT piece() UNION ALL SELECT piece() FROM pieces WHERE piece IS NOT NULL)"
IS_FILTER = "SELECT cf_contains(?, '')"  # an error, if it is none; it reads the header alone
ODD = bytes(byte for byte in range(32) if byte not in b"\t\n\r")
ESCAPES = ((b"\\", b"\\\\"), (b'"', b'\\"'), (b"\t", b"\\t"), (b"\r", b"\\r"), (b"\n", b'","'))

HELP = """\
Is this line in the set? A filter answers in about ten bits a line: "unknown" is certain; "known" is wrong as often as
--fpr says. A filter is a file that SQL (cf_contains(readfile('FILE'), 'line')), C and JavaScript read as well."""

MORE = r"""
examples:
  sqlite-cuckoo build known.cuckoo --fpr 1e-4 --options collation=nocase < hashes.txt
  find . -type f -exec sha1sum {} + | tr -d '\\' | cut -d' ' -f1 | sqlite-cuckoo check known.cuckoo
  sqlite-cuckoo build known.cuckoo --db files.db 'SELECT sha1 FROM file'

Lists from Windows give the same keys: a line ends with a newline, or with a carriage return and a newline, and a byte
order mark of UTF-8 before the first line is left out. The bytes behind the last newline are a line, too, if there are
any. A line is a key as the TEXT of SQL: any bytes, UTF-8 or not, but no UTF-16. An empty line is no key: it is not
added, and check does not print it. What check prints ends with a newline alone. Numbers that SQL has added are no lines:
build the filter with the option affinity=numeric, or add whole numbers as CAST(x AS TEXT).

Hashes: lists such as NSRL have capitals, sha1sum writes small letters; with --options collation=nocase both are one key.
GNU's sha1sum writes a backslash before the hash when the name of the file contains one; tr removes it.

A file is written next to the old one, which it then replaces: after an error or Ctrl-C the old one is whole. Of two
commands that change one file at the same time, the changes of one are lost.

Exit status: 0; of check 0 when it has printed a line or counted one, and 1 when there was none; 2 after an error."""


class Failure(Exception):
    """What the user reads."""


# ---- files ----

def output(content):
    """To standard output at once: who reads it may wait for it, and an error belongs to this content."""
    left = memoryview(content)
    try:
        while left:
            left = left[os.write(1, left):]
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
    """A file to write, which takes the place of another when all went well. What cannot be written fails before any work.
    What is no ordinary file, such as /dev/stdout, is written as it is."""
    old = os.stat(path) if os.path.exists(path) else None
    if old and not stat.S_ISREG(old.st_mode):
        with open(path, "wb") as file:
            yield file
        return
    if old and not os.access(path, os.W_OK):
        raise PermissionError(13, "Permission denied", path)
    target = os.path.realpath(path)
    new = beside(target)
    try:
        with open(new, "xb") as file:
            yield file
            file.flush()
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


# ---- long work ----

class Progress:
    """A line on the terminal, after a second of work."""

    def __init__(self, shown):
        self.shown = shown and sys.stderr is not None and sys.stderr.isatty()
        self.start = self.last = time.monotonic()
        self.lines = self.bytes = self.size = 0

    def show(self):
        now = time.monotonic()
        if self.shown and now - self.last > 0.2 and now - self.start > 1:
            self.last = now
            share = min(self.bytes / self.size, 1) if self.size else 0
            bar = f"[{'#' * int(30 * share):30}] {share:4.0%}  " if self.size else ""
            lines = f"{self.lines:,} lines  " if self.lines else ""
            sys.stderr.write(f"\r\033[K{bar}{lines}{now - self.start:.0f} s")
            sys.stderr.flush()

    def end(self):
        if self.shown and self.last > self.start:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()


class Database:
    """A connection with the extension, and the lines of standard input as SQL sees them."""

    def __init__(self, path=None, is_quiet=False):
        loads = hasattr(sqlite3.Connection, "enable_load_extension")
        if not loads:
            sqlite_cuckoo.enable()
        try:
            uri = path is not None
            self.sql = sqlite3.connect(Path(path).resolve().as_uri() + "?mode=ro" if uri else ":memory:", uri=uri)
        except sqlite3.Error as error:
            raise Failure(f"{path}: {'Is a directory' if uri and os.path.isdir(path) else error}") from None
        if loads:
            sqlite_cuckoo.load(self.sql)
        self.progress = Progress(not is_quiet)
        self.error = None
        self.odd = []
        self.found = 0

    def one(self, sql, *parameters):
        """The value of a statement. An error in a function that SQLite calls reaches us as itself."""
        # Within long work of one function 10,000 steps are some 40 ms.
        self.sql.set_progress_handler(self.kept(self.progress.show), 10000)
        try:
            return self.sql.execute(sql, parameters).fetchone()[0]
        except sqlite3.Error:
            if self.error:
                raise self.error from None
            raise
        finally:
            self.progress.end()

    def kept(self, function):
        def call(*arguments):
            try:
                return function(*arguments)
            except BaseException as error:
                self.error = error
                raise
        return call

    def read_lines(self):
        """From now on the function piece() gives SQL the lines of standard input."""
        if sys.stdin is None:
            raise Failure("standard input is closed")
        status = os.fstat(0)
        self.progress.size = status.st_size if stat.S_ISREG(status.st_mode) else 0
        if sys.stdin.isatty() and sys.stderr.isatty():
            print("sqlite-cuckoo: lines come from the terminal; Ctrl-D ends them", file=sys.stderr)
        stream = open(0, "rb", buffering=PIECE, closefd=False)
        self.sql.create_function("piece", 0, self.kept(lambda: self.piece(stream)))
        self.sql.create_function("odd_line", 1, lambda number: self.odd[number])

    def piece(self, stream):
        """The lines that have come, at least one, as a JSON array. None: there are no more."""
        try:
            piece = stream.read1(PIECE)  # does not wait until so many bytes have come
            if not piece:
                return None
            if not piece.endswith(b"\n"):
                piece += stream.readline(LONGEST)
        except OSError as error:
            error.filename = "standard input"
            raise
        if self.progress.bytes == 0 and WIDE.match(piece):
            raise Failure("standard input: a text in UTF-16, as PowerShell writes it; make it UTF-8, as by iconv -f UTF-16 "
                          "-t UTF-8")
        mark = len(MARK) if self.progress.bytes == 0 and piece.startswith(MARK) else 0
        self.progress.bytes += len(piece)
        piece = piece[mark:].replace(b"\r\n", b"\n")
        if not piece:
            return None
        if piece.endswith(b"\n"):
            piece = piece[:-1]
        elif len(piece) >= LONGEST:
            raise Failure(f"standard input: a line is longer than {LONGEST >> 20} MB")
        self.progress.lines += piece.count(b"\n") + 1
        self.progress.show()
        if any(byte in piece for byte in ODD):
            self.odd = piece.split(b"\n")
            return json.dumps(list(range(len(self.odd))))
        for byte, escaped in ESCAPES:
            piece = piece.replace(byte, escaped)
        return b'["' + piece + b'"]'

    def put(self, count, lines):
        """What a piece has to say. Called by SQL: rows would reach Python one piece late."""
        self.found += count
        if lines is not None:
            output(lines + b"\n")


# ---- the commands; each returns the exit status, if it is not 0 ----

def aggregate(arguments, call, *parameters):
    """The value of an aggregate of keys: `call` has {key} for the key."""
    if arguments.db:
        path, query = arguments.db
        if not os.path.exists(path):
            raise FileNotFoundError(2, "No such file or directory", path)
        database = Database(path)
        call = call.format(key="CAST(key AS TEXT)")
        query = query.strip().rstrip(";")
        sql = f'WITH "of sqlite-cuckoo"(key) AS ({query}\n) SELECT {call} FROM (SELECT 1) LEFT JOIN "of sqlite-cuckoo"'
        try:
            columns = len(database.sql.execute(f"SELECT * FROM ({query}\n) LIMIT 0").description)
            if columns > 1:
                raise Failure(f"{path}: the query gives {columns} columns; select the key alone")
            return database.one(sql, *parameters)
        except sqlite3.Error as error:
            raise error if str(error).startswith("cf_") else Failure(f"{path}: {error}")
    database = Database()
    database.read_lines()
    return database.one(f"{PIECES} SELECT {call.format(key=KEY)} FROM pieces LEFT JOIN {LINES}", *parameters)


def build(arguments):
    options = arguments.fpr, arguments.options
    Database().one("SELECT cf_build(NULL, ?, ?)", *options)
    with replacing(arguments.file) as file:
        file.write(aggregate(arguments, "cf_build({key}, ?, ?)", *options))


def change(arguments):
    """add and delete."""
    old = content_of(arguments.file)
    Database().one(IS_FILTER, old)
    with replacing(arguments.file) as file:
        file.write(aggregate(arguments, f"cf_{arguments.command}_all(?, {{key}})", old))


def merge(arguments):
    database, content = Database(), None
    with replacing(arguments.file) as file:
        for path in arguments.others:
            other = content_of(path)
            try:
                content = database.one("SELECT cf_merge(?, ?)", content, other) if content else \
                    database.one("SELECT cf_merge(?)", other)
            except sqlite3.Error as error:
                raise Failure(f"{path}: {said(error)}") from None
        file.write(content)


def check(arguments):
    database = Database(is_quiet=sys.stdout is not None and sys.stdout.isatty())
    content = content_of(arguments.file)
    database.one(IS_FILTER, content)
    database.read_lines()
    database.sql.create_function("put", 2, database.kept(database.put))
    columns = "count(*), NULL" if arguments.count else f"count(*), CAST(group_concat({KEY}, char(10)) AS BLOB)"
    database.one(f"{PIECES} SELECT count((SELECT put({columns}) FROM {LINES} WHERE cf_contains(?, {KEY}) = ?)) FROM pieces",
                 content, arguments.known)
    if arguments.count:
        output(b"%d\n" % database.found)
    return 0 if database.found else 1


def info(arguments):
    database, content = Database(), content_of(arguments.file)
    fields = json.loads(database.one("SELECT cf_info(?)", content))
    damage = database.one("SELECT cf_check(?)", content)
    if damage != "ok":
        raise Failure(f"{arguments.file}: filter is corrupt: {damage}; restore it from a backup, or rebuild it")
    output(json.dumps(fields, indent=2).encode() + b"\n")


def picture(arguments):
    output(Database().one("SELECT cf_picture(?)", content_of(arguments.file)).encode() + b"\n")


# ---- the command line ----

def rate(text):
    if not 0 < float(text) < 1:
        raise argparse.ArgumentTypeError(f"it is above 0 and below 1, not {text}")
    return float(text)


def file_name(text):
    if text == "-":
        raise argparse.ArgumentTypeError("- is no file; write ./- for one of this name, or /dev/stdout")
    return text



def parser():
    top = argparse.ArgumentParser("sqlite-cuckoo", description=HELP, epilog=MORE,
                                  formatter_class=argparse.RawDescriptionHelpFormatter)
    top.add_argument("--version", action="version", version=f"sqlite-cuckoo {sqlite_cuckoo.__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def command(name, function, summary, more=""):
        one = commands.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}. {more}")
        one.add_argument("file", metavar="FILE", type=file_name, help="the filter")
        one.set_defaults(function=function)
        return one

    def from_database(one):
        one.add_argument("--db", nargs=2, metavar=("DATABASE", "QUERY"),
                         help="keys are not the lines of standard input, but the values of this query, as text; not NULL")

    one = command("build", build, "make a filter of lines", "One that is there is replaced.")
    one.add_argument("--fpr", type=rate, default=0.01, metavar="P", help="how often an unknown line is taken for a known "
                     "one: above 0 and below 1; 0.01 unless given")
    one.add_argument("--options", metavar="TEXT", help="options of cf_build, such as 'seed=5 affinity=numeric'")
    from_database(one)
    one = command("check", check, "print the lines that are unknown", "As grep -Fxvf does, but with a filter: a known line "
                  "is never printed, and of the unknown ones that share is missing which --fpr said. Exit status 1: there "
                  "is nothing to print.")
    which = one.add_mutually_exclusive_group()
    which.add_argument("-0", "--unknown", dest="known", action="store_const", const=0, default=0,
                       help="print the unknown lines: unless another is given")
    which.add_argument("-1", "--known", dest="known", action="store_const", const=1, help="print the known lines")
    one.add_argument("-c", "--count", action="store_true", help="print only how many lines these are")
    command("info", info, "look at all of a filter, and print what cf_info says, as JSON")
    from_database(command("add", change, "add lines to a filter", "A line that is added again counts as another copy."))
    from_database(command("delete", change, "delete lines from a filter", "One copy of each; only lines that were added: any "
                          "other may take a line with it that looks the same."))
    one = command("merge", merge, "make a filter of all keys of several filters", "They must be compatible.")
    one.add_argument("others", metavar="FROM", type=file_name, nargs="+", help="filters to read")
    command("picture", picture, "show how full the regions of a filter are")
    return top


def said(error):
    """The words of an error of SQLite, without the names of functions in SQL that are no help here."""
    text = str(error)
    if text.startswith("cf_"):
        text = re.sub(" with cf_build$", "", text.split(": ", 1)[1])
    return "this SQLite has no JSON functions; SQLite 3.38 and later have" if "no such table: json_each" in text else text


stopped_by = []  # signals: one that comes while SQLite works reaches us as an error of SQLite


def stop(number, frame):
    signal.signal(number, signal.SIG_DFL)
    stopped_by.append(number)
    raise KeyboardInterrupt


def listen(handler):
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number and signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, handler)


def explained(error, path):
    if stopped_by:
        return "interrupted; no file has changed"
    if isinstance(error, OSError):
        return f"{path if error.filename is None else error.filename}: {error.strerror or error}"
    if isinstance(error, sqlite3.Error):
        return f"{path}: {said(error)}"
    if isinstance(error, (MemoryError, Failure)):
        return str(error) or "out of memory"
    return f"{path}: {error}"


def main():
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # who reads the output has gone: end quietly, as grep does
    arguments = parser().parse_args()
    try:
        try:
            listen(stop)
            return arguments.function(arguments) or 0
        finally:
            listen(signal.SIG_IGN)
    except (KeyboardInterrupt, Exception) as error:
        if sys.stderr is not None:
            print(f"sqlite-cuckoo {arguments.command}: {explained(error, arguments.file)}", file=sys.stderr)
        return 128 + stopped_by[0] if stopped_by else 2


if __name__ == "__main__":
    sys.exit(main())
