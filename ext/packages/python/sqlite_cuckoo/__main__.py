# SPDX-License-Identifier: MIT
"""The command sqlite-cuckoo: filters in files, whose keys are lines. sqlite-cuckoo --help says how to use it.

Lines travel to SQLite in pieces, which cf_lines takes apart: so one statement reads all of them, and no line costs a call
of Python.
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
import functools
import itertools
import json
import re
import shlex
import sqlite3
import stat
import time
from pathlib import Path

import sqlite_cuckoo
from sqlite_cuckoo import files
from sqlite_cuckoo.files import listen, output, replacing
from sqlite_cuckoo.lists import Failure, Lines, digest

# All pieces, and a NULL at the end, so that there is a row always.
PIECES = "WITH RECURSIVE pieces(piece) AS (SELECT piece() UNION ALL SELECT piece() FROM pieces WHERE piece IS NOT NULL)"
PARTS = 16
SELECTED = [bytes(byte == wanted for byte in range(256)) for wanted in b"01"]

HELP = """\
Is this line in the set? A filter answers in about ten bits a line: "unknown" is certain; "known" is wrong as often as
--fpr says. A filter is a file that others read as well: SQL with cf_contains(readfile('FILE'), 'line'), JavaScript with
require('sqlite-cuckoo/filter').open(fs.readFileSync('FILE')).contains('line'), and C."""

MORE = r"""
examples:
  sqlite-cuckoo build known.cuckoo --digests --fpr 1e-4 --capacity 1000000 < SHA256SUMS
  find . -type f -exec sha256sum {} + | sqlite-cuckoo check --digests known.cuckoo
  sha256sum new.iso | sqlite-cuckoo add --digests known.cuckoo
  sqlite-cuckoo merge all.cuckoo known.cuckoo others.cuckoo
  sqlite-cuckoo build nsrl.cuckoo --fpr 1e-4 --db RDS_modern.db 'SELECT lower(sha1) FROM FILE'
  sqlite-cuckoo build blocked.cuckoo --hosts < hosts.txt
  sqlite-cuckoo check -1 --domain blocked.cuckoo < domains.txt

Lists from Windows give the same keys: a line ends with a newline, or with a carriage return and a newline, and a byte
order mark of UTF-8 before the first line is left out. The bytes behind the last newline are a line, too, if there are
any. A line is a key as the TEXT of SQL: any bytes but NUL, UTF-8 or not, but no UTF-16. An empty line is no key: it
is not added, and check does not print it. What check prints ends with a newline alone. gzip is read as it is. Numbers
that SQL has added are no lines: build the filter with the option affinity=numeric, or add whole numbers as CAST(x AS
TEXT).

Hashes: with --digests the key is the first digest of each line, in lower case, whatever is around it: the output of
sha256sum, with or without --tag, hashdeep, rhash, git ls-files -s, NSRL, HIBP, package-lock.json and others. check prints
the whole line, with the path. A line without a digest is no key; their number is reported. --field and --csv name the
column of other lists, and --field 3 -d , --digests does both.

What was done is reported on standard error, with a hint when nearly all of a hundred lines or more are unknown, or when
others would be known in their place.

A file is written next to the old one, which it then replaces: after an error or Ctrl-C the old one is whole. Of two
commands that change one file at the same time, the changes of one are lost.

Exit status: 0; of check 0 when it has printed a line or counted one, and 1 when there was none; 2 after an error."""


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
            self.last, spent = now, now - self.start
            share = min(self.bytes / self.size, 1) if self.size else 0
            bar = f"[{'#' * int(30 * share):30}] {share:4.0%}  " if self.size else ""
            lines = f"{self.lines:,} lines, {self.lines / spent:,.0f} a second  " if self.lines else ""
            left = f", {spent / share - spent:.0f} s left" if 0 < share < 1 else ""
            sys.stderr.write(f"\r\033[K{bar}{lines}{spent:.0f} s{left}")
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
        self.answers = [0, 0, 0]  # unknown, known, no key
        self.sample = []  # unknown lines
        self.held = b""  # to be printed

    def one(self, sql, *parameters):
        """The first row of a statement. An error in a function that SQLite calls reaches us as itself."""
        # Within long work of one function 10,000 steps are some 40 ms.
        self.sql.set_progress_handler(self.kept(self.progress.show), 10000)
        try:
            return self.sql.execute(sql, parameters).fetchone()
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

    def info(self, content):
        """What cf_info says without reading all of a filter; an error, if it is none."""
        return json.loads(self.one("SELECT cf_info(?, 0)", content)[0])

    def filter(self, path):
        """What is in a file, and the label behind the filter there, or nothing."""
        content = files.content_of(path)
        if not content.startswith(files.BEGINS):
            raise Failure(f"{path}: it is not a filter; if it is a list, its lines come from standard input: < {path}")
        return content, content[self.info(content)["bytes"]:-4].decode("utf-8", "replace")

    def read_lines(self, arguments, labels=()):
        """From now on the function piece() gives SQL the keys of standard input. `labels`: of the filters that are asked."""
        if sys.stdin is None:
            raise Failure("standard input is closed")
        status = os.fstat(0)
        self.progress.size = status.st_size if stat.S_ISREG(status.st_mode) else 0
        if sys.stdin.isatty() and sys.stderr.isatty():
            print("sqlite-cuckoo: lines come from the terminal; Ctrl-D ends them", file=sys.stderr)
        self.input = Lines(arguments, self.progress)
        lengths, forms = [files.lengths_of(label) for label in labels], [files.form_of(label) for label in labels]
        self.input.wanted = set().union(*lengths) if all(lengths) else set()
        is_check = arguments.command == "check"
        if forms and all(forms) and (self.input.wanted or not is_check or arguments.keys in ("hex", "base64")):
            self.input.form = re.compile(b"|".join(forms), re.I if is_check else 0)  # a host that is no domain may be asked for
        self.input.tell = lambda foreign: tell_foreign(arguments, self.input, foreign)
        self.sql.create_function("piece", 0, self.kept(self.input.piece))

    def put(self, answers, known, is_count, is_any):
        """Prints lines of a piece, whose keys have these answers. Called by SQL: rows would reach Python one piece late."""
        if answers is None:
            return
        answers, owners = answers.encode(), self.input.owners
        if owners is not None:
            of_lines = bytearray(b"2" * len(self.input.lines()))
            join = max if is_any else min
            for owner, answer in zip(owners, answers):
                if answer != 50:
                    of_lines[owner] = answer if of_lines[owner] == 50 else join(of_lines[owner], answer)
            answers = bytes(of_lines)
        counts = [answers.count(b"%d" % answer) for answer in range(3)]
        self.answers = [before + more for before, more in zip(self.answers, counts)]
        if counts[0] and len(self.sample) < 100:
            self.sample += itertools.islice(self.chosen(answers, 0), 100)
        if counts[known] and not is_count:
            is_all = counts[known] == len(answers) and not self.input.column
            self.held += (self.input.joined if is_all else self.input.end.join(self.chosen(answers, known))) + self.input.end
        if self.input.form and not self.input.fits:  # nothing is printed before a key looks like one of the filter
            return self.answers[0] + self.answers[1] >= 100 and self.unfit()
        output(self.held)
        self.held = b""

    def chosen(self, answers, known):
        assert len(answers) == len(self.input.lines())
        return itertools.compress(self.input.lines(), answers.translate(SELECTED[known]))


# ---- what was done ----

def rounded(number):
    """With two digits, as 10,000."""
    return f"{float(f'{number:.1e}'):,.0f}"


def size(count):
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    return f"{count} bytes"


def report(arguments, database, fields, text, hint=None):
    """A line on standard error. `fields`: for programs; `text`: for people."""
    if arguments.quiet or sys.stderr is None:
        return
    given = getattr(database, "input", None)
    if given:
        fields = {"lines": database.progress.lines, "without_key": given.without, **fields}
        digits = "" if arguments.keys not in ("hex", "base64") else files.joined(given.lengths - {0})
        text += f"; digests of {digits} digits" if digits else ""
        missing = {"hex": "digest", "base64": "digest", "hosts": "domain", "domain": "domain"}.get(arguments.keys, "field")
        text += f"; {counted(given.without, 'line')} without a {missing}" if given.without else ""
    if arguments.json:
        fields = {"command": arguments.command, **fields, **({"hint": hint} if hint else {})}
    text = json.dumps(fields) if arguments.json else f"{arguments.command}: {text}" + (f"\nhint: {hint}" if hint else "")
    print(text, file=sys.stderr, flush=True)


def tell_foreign(arguments, given, lengths):
    """Of digests that the filter, by its label, cannot have."""
    text = f"standard input: digests of {files.joined(lengths)} digits; {arguments.file} has digests of {files.joined(given.wanted)} digits"
    if arguments.command == "delete":
        raise Failure(text)
    if not arguments.quiet:
        print(f"sqlite-cuckoo {arguments.command}: {text}", file=sys.stderr, flush=True)


def counted(number, what):
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def filter_report(arguments, database, info, text, **fields):
    """`info`: of the filter that was made."""
    fields.update(keys=info["items"], bytes=info["bytes"], fpr=info["fpr_at_capacity"])
    report(arguments, database, fields, f"{text}{counted(info['items'], 'key')}, {size(info['bytes'])}, "
           f"1 in {rounded(1 / info['fpr_at_capacity'])} false positives")


def hint(database, contains, filters, labels, is_sure):
    """Why nearly all lines are unknown: what would be known in their place. `is_sure`: there are many."""
    for change, advice in (
            (bytes, "whole lines are known: leave out --digests, --field or --csv"),
            (digest, "the digests of these lines are known: use --digests"),
            (bytes.lower, "they are known in lower case: convert them, as by tr A-Z a-z"),
            (bytes.upper, "they are known in capitals: convert them, as by tr a-z A-Z, or rebuild the filter with --options collation=nocase"),
            (lambda line: digest(line).upper(), "their digests are known in capitals: convert them, as by tr a-f A-F, or rebuild the filter with --digests"),
            (lambda line: line.split(None, 1)[0] if line.strip() else b"", "their first fields are known: use --field 1")):
        with contextlib.suppress(sqlite3.Error):
            known = sum(database.sql.execute(f"SELECT ifnull({contains.format(key='CAST(? AS TEXT)')}, 0)",
                                             [part for content in filters for part in (content, change(line))]).fetchone()[0]
                        for line in database.sample)
            if known * 2 > len(database.sample):
                return advice
    if not is_sure:
        return None
    kinds = "; ".join(label for label in labels if label)
    return "nearly all are unknown: the lines of the filter may have other letter case, other columns or digests of another length" + \
        (f" (its label: {kinds})" if kinds.isprintable() and kinds else "")


def hint_of_label(arguments, kinds):
    """What options were given when the filters were built, if these have one kind of keys, and the options are others now."""
    kind = kinds.pop() if len(kinds) == 1 else ""
    column = files.column_in(kind)
    if kind == "domains" and not arguments.keys:
        return "the keys are domains: with --domain a line is known if a domain above it is"
    if column and (arguments.csv or "").lower() != column.lower():
        return f"the keys are of the column {column}: use --csv {shlex.quote(column)}"
    if kind == "fields" and not (arguments.keys or arguments.field):
        return "the keys are fields: use --field, as when it was built"
    return None


# ---- the commands; each returns the exit status, if it is not 0 ----

def source(arguments, labels=()):
    """A connection that can read the keys. `labels`: of the filters that are asked."""
    if not arguments.db:
        database = Database(is_quiet=arguments.quiet)
        database.read_lines(arguments, labels)
        return database
    if arguments.keys or arguments.field or arguments.csv or arguments.null:
        raise Failure("--db takes no options for lines; write the key in the query, such as lower(sha1)")
    if not os.path.exists(arguments.db[0]):
        raise FileNotFoundError(2, "No such file or directory", arguments.db[0])
    return Database(arguments.db[0], arguments.quiet)


def aggregate(arguments, database, what, *parameters):
    """The row that a statement gives. `what` is what it selects, with {key} for the key."""
    if not arguments.db:
        return database.one(f"{PIECES} SELECT {what.format(key='line')} FROM pieces LEFT JOIN cf_lines(piece)", *parameters)
    path, query = arguments.db
    query = query.strip().rstrip(";")
    try:
        columns = len(database.sql.execute(f"SELECT * FROM ({query}\n) LIMIT 0").description)
        if columns > 1:
            raise Failure(f"{path}: the query gives {columns} columns; select the key alone")
        return database.one(f'WITH "of sqlite-cuckoo"(key) AS ({query}\n) SELECT {what.format(key="CAST(key AS TEXT)")} '
                            'FROM (SELECT 1) LEFT JOIN "of sqlite-cuckoo"', *parameters)
    except sqlite3.Error as error:
        raise error if str(error).startswith("cf_") else Failure(f"{path}: {error}")


def needs_keys(arguments, database, keys):
    """A list without keys is nearly always a mistake: a program before it has failed, say. `keys`: how many a query gave."""
    given = getattr(database, "input", None)
    if not (keys and (given is None or given.has_keys)) and not arguments.allow_empty:
        lines = database.progress.lines
        what = "the query gives no key" if given is None else \
            f"standard input: no key in {counted(lines, 'line')}" if lines else "standard input is empty"
        raise Failure(f"{what}; with --allow-empty that is no error")


def in_parts(blob):
    """SQL that gives the result of an aggregate to keep() in parts, and what cf_info says of it: the whole is in memory once. SQLite
    copies an aggregate that is an argument, but not what CAST makes of it; and it works out equal aggregates once."""
    blob = f"CAST({blob} AS BLOB)"
    size = f"(length({blob}) / {PARTS} + 1)"
    return ", ".join([*(f"keep(substr({blob}, 1 + {number} * {size}, {size}))" for number in range(PARTS)), f"cf_info({blob}, 0)"])


def build(arguments):
    room = f"capacity={arguments.capacity}" if arguments.capacity else None
    options = arguments.fpr, " ".join(filter(None, (room, arguments.options))) or None
    Database().one("SELECT CAST(cf_build(NULL, ?, ?) AS BLOB) IS NULL", *options)
    with replacing(arguments.file) as write:
        database = source(arguments)
        database.sql.create_function("begin", 1, database.kept(functools.partial(needs_keys, arguments, database)))
        database.sql.create_function("keep", 1, database.kept(write))
        keys = "count({key})" if arguments.db else "1"
        *_, info = aggregate(arguments, database, f"begin({keys}), {in_parts('cf_build({key}, ?1, ?2)')}", *options)
        write(files.label(kind(arguments, database)))
    info = json.loads(info)
    more = " (more keys than --capacity)" if arguments.capacity and info["items"] > int(arguments.capacity) else ""
    filter_report(arguments, database, info, f"{more[1:]} " * bool(more) if arguments.db else f"{counted(database.progress.lines, 'line')}{more}, ")


def kind(arguments, database):
    """What the keys look like, for the label."""
    if arguments.keys in ("hex", "base64"):
        return files.digests(database.input.lengths - {0})
    if arguments.keys:
        return "domains"
    if arguments.csv:
        return files.column(arguments.csv)
    return "results of a query" if arguments.db else "fields" if arguments.field else "lines"


def unfit(arguments, database, line=None):
    """By its label the filter has other keys than these lines, or than this one."""
    given, is_whole = database.input, not (arguments.keys or arguments.field or arguments.csv)
    kind = f"digests of {files.joined(given.wanted)} digits" if given.wanted else "domains"
    remedy = "--digests" if given.wanted else "--domain" if arguments.command == "check" else "--hosts"
    what = f"no line {'is' if is_whole else 'has'} one" if line is None else f"{line[:80].decode('utf-8', 'replace')!r} is none"
    raise Failure(f"{arguments.file}: the keys are {kind}, and {what}{f'; use {remedy}' if is_whole else ''}")


def change(arguments):
    """add and delete."""
    is_add = arguments.command == "add"
    old, label = Database().filter(arguments.file)
    info = Database().info(old)
    before, rule = info.get("items"), " ".join(f"{name}={info[name]}" for name in ("hash", "seed", "affinity", "collation"))
    with replacing(arguments.file) as write:
        of_digests = arguments.keys in ("hex", "base64") and files.lengths_of(label)
        database = source(arguments, [] if is_add and of_digests else [label])
        if not arguments.db and not of_digests:
            database.input.refuse = functools.partial(unfit, arguments, database)
        count = "1" if is_add and not arguments.db else "count({key})"
        content, keys = aggregate(arguments, database, f"cf_{arguments.command}_keys(?, CAST(cf_keys({{key}}, NULL, ?) AS BLOB)), {count}", old, rule)
        if not arguments.db:
            needs_keys(arguments, database, keys)
        new = kind(arguments, database)
        is_same = not is_add or not arguments.db and database.input.refuse and database.input.form
        joined = files.kind_of(label) if is_same else files.both(label, new) if before else new
        write(content)
        write(files.label(joined))
    text = "" if arguments.db else f"{counted(database.progress.lines, 'line')}, "
    info = database.info(content)
    if is_add:
        if label and not joined and not arguments.quiet:
            print(f"sqlite-cuckoo add: {arguments.file}: the keys were {files.kind_of(label)}, and these are {new or 'others'}: its label goes",
                  file=sys.stderr, flush=True)
        return filter_report(arguments, database, info, text)
    missed = keys - before + info["items"]
    filter_report(arguments, database, info, f"{text}{missed:,} not found; ", not_found=missed)


def merge(arguments):
    database, content, labels = Database(is_quiet=arguments.quiet), None, []
    with replacing(arguments.file) as write:
        for path in arguments.others:
            try:
                other, label = database.filter(path)
                content, = database.one("SELECT cf_merge(?, ?)", content, other) if content else \
                    database.one("SELECT cf_merge(?)", other)
            except sqlite3.Error as error:
                differ = " (--capacity, --fpr and --options of build); or name them all in one check" if "the filters differ" in str(error) else ""
                raise Failure(f"{path}: {said(error)}{differ}") from None
            labels.append(label)
        if arguments.file not in arguments.others and os.path.isfile(arguments.file):
            raise Failure(f"{arguments.file}: it is there, and would be replaced; remove it, or add to it: "
                          f"sqlite-cuckoo merge {' '.join([arguments.file, arguments.file, *arguments.others])}")
        common = functools.reduce(files.both, map(files.kind_of, labels))
        write(content)
        write(files.label(common))
    unlike = "" if common or not any(labels) else " without a common label"
    filter_report(arguments, database, database.info(content), f"{counted(len(arguments.others), 'filter')}{unlike}, ")


def check(arguments):
    is_terminal = sys.stdout is not None and sys.stdout.isatty()
    database = Database(is_quiet=arguments.quiet or is_terminal)
    filters, labels = [], []
    for path in arguments.files:
        arguments.file = path
        content, label = database.filter(path)
        filters.append(content)
        labels.append(label)
    arguments.file = ", ".join(arguments.files)
    database.read_lines(arguments, labels)
    database.sql.create_function("put", 1, database.kept(
        lambda answers: database.put(answers, arguments.known, arguments.count, arguments.keys == "domain")))
    database.unfit = functools.partial(unfit, arguments, database)
    contains = " OR ".join(["cf_contains(?, {key})"] * len(filters))
    answers = f"group_concat(ifnull({contains.format(key='line')}, 2), '')"
    database.one(f"{PIECES} SELECT count((SELECT put({answers}) FROM cf_lines(piece))) FROM pieces", *filters)
    unknown, known, _ = database.answers
    asked = unknown + known
    needs_keys(arguments, database, asked)
    if asked and database.input.form and not database.input.fits:
        database.unfit()
    found = database.answers[arguments.known]
    if arguments.count:
        output(b"%d\n" % found)
    positives = sum(database.info(content).get("fpr_at_capacity", 0) for content in filters)
    advice = None
    if unknown and known < (0.01 + 2 * positives) * asked:
        by_label = hint_of_label(arguments, {files.kind_of(label) for label in labels})
        advice = hint(database, contains, filters, labels, asked >= 100 and not by_label) or by_label
    report(arguments, database, {"unknown": unknown, "known": known}, f"{unknown:,} of {asked:,} unknown", advice)
    return 0 if found else 1


def info(arguments):
    database = Database()
    content, label = database.filter(arguments.file)
    fields = {**json.loads(database.one("SELECT cf_info(?)", content)[0]), **({"label": label} if label else {})}
    damage, = database.one("SELECT cf_check(?)", content)
    if damage != "ok":
        raise Failure(f"{arguments.file}: filter is corrupt: {damage}; restore it from a backup, or rebuild it")
    output(json.dumps(fields, indent=2).encode() + b"\n")


def picture(arguments):
    output(Database().one("SELECT cf_picture(?)", files.content_of(arguments.file))[0].encode() + b"\n")


# ---- the command line ----

def rate(text):
    with contextlib.suppress(ValueError):
        if 0 < float(text) < 1:
            return float(text)
    raise argparse.ArgumentTypeError(f"it is above 0 and below 1, such as 0.01, not {text}")


def file_name(text):
    if text == "-":
        raise argparse.ArgumentTypeError("- is no file; write ./- for one of this name, or /dev/stdout")
    return text


def positive(text):
    if not re.fullmatch("0*[1-9][0-9]*", text):
        raise argparse.ArgumentTypeError(f"it is a whole number, 1 or more, not {text}")
    return int(text)


def separator(text):
    text = {"\\t": "\t"}.get(text, text)
    if not text:
        raise argparse.ArgumentTypeError("it has one character or more")
    return text.encode("utf-8", "surrogateescape")


def parser():
    top = argparse.ArgumentParser("sqlite-cuckoo", description=HELP, epilog=MORE,
                                  formatter_class=argparse.RawDescriptionHelpFormatter)
    top.add_argument("--version", action="version", version=f"sqlite-cuckoo {sqlite_cuckoo.__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def command(name, function, summary, more=""):
        one = commands.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}. {more}")
        if name == "check":
            one.add_argument("files", metavar="FILE", type=file_name, nargs="+", help="filters; a line is known if one of them knows it")
        else:
            one.add_argument("file", metavar="FILE", type=file_name, help="the filter")
        one.set_defaults(function=function, db=None)
        if name not in ("info", "picture"):
            said = one.add_mutually_exclusive_group()
            said.add_argument("--quiet", action="store_true", help="do not say on standard error what was done")
            said.add_argument("--json", action="store_true", help="say it as a line of JSON")
        return one

    def from_lines(one):
        key = one.add_mutually_exclusive_group()
        key.set_defaults(keys=None)
        key.add_argument("--digests", dest="keys", action="store_const", const="hex", help="keys are not the lines, but the first "
                         "digest of each line, in lower case: 32, 40, 48, 56, 64, 96 or 128 hexadecimal digits, or sha512-BASE64")
        # An option with this text, not one with an optional value, which would take the name of the filter.
        key.add_argument("--digests=base64", dest="keys", action="store_const", const="base64", help="the same of lists with "
                         "base64, as AIDE writes")
        key.add_argument("--hosts", dest="keys", action="store_const", const="hosts", help="keys are the domains of a hosts file, "
                         "an AdBlock list or a list of domains; names with other letters than a to z as xn--...")
        part = one.add_mutually_exclusive_group()
        part.add_argument("--field", type=positive, metavar="N", help="the key is in this field of each line, counted from 1")
        part.add_argument("--csv", metavar="COLUMN", help="the key is in this column of CSV, whose first line names the columns")
        one.add_argument("-d", "--separator", type=separator, metavar="SEP", help="what is between fields: unless given, spaces "
                         "and tabs, and in CSV a comma")
        one.add_argument("-z", "--null", action="store_true", help="lines end with NUL, not with a newline")
        one.add_argument("--allow-empty", action="store_true", help="a list without keys is no error")
        return key

    def from_database(one):
        one.add_argument("--db", nargs=2, metavar=("DATABASE", "QUERY"),
                         help="keys are not the lines of standard input, but the values of this query, as text; not NULL")

    one = command("build", build, "make a filter of lines", "One that is there is replaced.")
    one.add_argument("--fpr", type=rate, default=0.01, metavar="P", help="how often an unknown line is taken for a known "
                     "one: above 0 and below 1; 0.01 unless given")
    one.add_argument("--capacity", type=positive, metavar="N", help="make room for so many keys, now or later: filters of one "
                     "capacity, --fpr and --options can be merged; unless given, that of the list")
    one.add_argument("--options", metavar="TEXT", help="options of cf_build, such as 'seed=5 affinity=numeric'")
    from_lines(one)
    from_database(one)
    one = command("check", check, "print the lines that are unknown", "As grep -Fxvf does, but with a filter: a known line "
                  "is never printed, and of the unknown ones that share is missing which --fpr said. Exit status 1: there "
                  "is nothing to print.")
    which = one.add_mutually_exclusive_group()
    which.add_argument("-0", "--unknown", dest="known", action="store_const", const=0, default=0,
                       help="print the unknown lines: unless another is given")
    which.add_argument("-1", "--known", dest="known", action="store_const", const=1, help="print the known lines")
    one.add_argument("-c", "--count", action="store_true", help="print only how many lines these are")
    from_lines(one).add_argument("--domain", dest="keys", action="store_const", const="domain", help="each line is a domain or a "
                                 "URL, and known if the domain or one above it is; names with other letters than a to z as xn--...")
    command("info", info, "look at all of a filter, and print as JSON what cf_info says, and its label: what keys it has, and when they were added")
    for one in (command("add", change, "add lines to a filter", "A line that is added again counts as another copy."),
                command("delete", change, "delete lines from a filter", "One copy of each; only lines that were added: any other "
                        "may take a line with it that looks the same.")):
        from_lines(one)
        from_database(one)
    one = command("merge", merge, "make a filter of all keys of several filters", "merge ALL ALL MORE adds to one that is there. "
                  "A key of two filters counts twice, and must be deleted twice. They must be built with the same --capacity, which has room for the keys "
                  "of all of them, --fpr and --options. A check takes several filters of any kind.")
    one.add_argument("others", metavar="FROM", type=file_name, nargs="+", help="filters to read")
    command("picture", picture, "show how full the regions of a filter are")
    return top


def said(error):
    """The words of an error of SQLite, without the names of functions in SQL that are no help here."""
    text = str(error)
    if text.startswith("cf_"):
        text = re.sub(" with cf_build$", "", text.split(": ", 1)[1])
    return text


stopped_by = []  # signals: one that comes while SQLite works reaches us as an error of SQLite


def stop(number, frame):
    signal.signal(number, signal.SIG_DFL)
    stopped_by.append(number)
    raise KeyboardInterrupt


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
    top = parser()
    arguments, rest = top.parse_known_args()
    if arguments.command == "check" and not any(word.startswith("-") for word in rest):
        arguments.files += map(file_name, rest)  # after an option
    elif rest:
        lists = hasattr(arguments, "keys") and not rest[0].startswith("-")
        top.error(f"lines come from standard input: sqlite-cuckoo {arguments.command} {arguments.file} < {rest[0]}" if lists
                  else f"unrecognized arguments: {' '.join(rest)}")
    if getattr(arguments, "csv", None) and len((arguments.separator or b",").decode("utf-8", "surrogateescape")) > 1:
        top.error("with --csv a separator has one character")
    try:
        try:
            listen(stop)
            return arguments.function(arguments) or 0
        finally:
            listen(signal.SIG_IGN)
    except (KeyboardInterrupt, Exception) as error:
        if sys.stderr is not None:
            print(f"sqlite-cuckoo {arguments.command}: {explained(error, getattr(arguments, 'file', ''))}", file=sys.stderr)
        return 128 + stopped_by[0] if stopped_by else 2


if __name__ == "__main__":
    sys.exit(main())
