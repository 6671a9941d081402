# SPDX-License-Identifier: MIT
"""The lines of standard input, and the part of each line that is the key: a digest, a field, a domain."""
import binascii
import csv
import functools
import gzip
import io
import os
import re
import zlib

PIECE = 1 << 17  # bytes; such a piece stays in the processor's cache, and its memory is used again for the next one
MARK = b"\xef\xbb\xbf"  # of UTF-8, with which lists from Windows may begin
LONGEST = 1 << 26  # bytes of a line; it is in memory several times
# The beginning of UTF-16 and UTF-32: with their byte order marks, or every second byte is 0.
WIDE = re.compile(rb"\xff\xfe|\xfe\xff|\0\0\xfe\xff|([^\0]\0){3}|(\0[^\0]){3}")
NO_LISTS = {  # the first bytes of files that are no lists of lines, and what makes lines of them
    b"\x28\xb5\x2f\xfd": "compressed by zstd; decompress it: zstdcat LIST.zst | sqlite-cuckoo",
    b"\xfd7zXZ\0": "compressed by xz; decompress it: xzcat LIST.xz | sqlite-cuckoo",
    b"BZh": "compressed by bzip2; decompress it: bzcat LIST.bz2 | sqlite-cuckoo",
    b"PK\3\4": "a zip archive; unpack it: unzip -p LIST.zip | sqlite-cuckoo",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive; unpack it: 7z x -so LIST.7z | sqlite-cuckoo",
    b"SQLite format 3\0": "a SQLite database; name it and a query with --db",
    b"\xcfck": "a filter, not a list of lines; to join filters use sqlite-cuckoo merge"}

# 32, 40, 48, 56, 64, 96 or 128 digits. A digest stands alone: between spaces, quotes and the like, not within the name of a
# file, which may be a digest.
HEX = rb"([0-9a-fA-F]{32}(?:[0-9a-fA-F]{8}(?:[0-9a-fA-F]{8}(?:[0-9a-fA-F]{8}(?:[0-9a-fA-F]{8}(?:[0-9a-fA-F]{32}" \
      rb"(?:[0-9a-fA-F]{32})?)?)?)?)?)?)"
BEFORE, BEHIND = rb"(?:^\\?|[\s\"'`,;:|=#(\[{<>])", rb"(?=[\s\"'`,;:|=)\]}<>&]|\Z)"
SRI = BEFORE + rb"(?:md5|sha(?:1|256|384|512))-([A-Za-z0-9+/]{22,86}={0,2})(?![A-Za-z0-9+/=])"
DIGEST = re.compile(BEFORE + rb"(?:0[xX])?" + HEX + BEHIND + b"|" + SRI)
BEGIN = re.compile(rb"^\\?" + HEX + rb"(?=[\s,:;]|\Z)", re.M)
# "SHA256 (name) = ..." and mtree's "name sha256digest=...": the name comes first.
NAMED = re.compile(rb"^\\?[A-Za-z][\w/-]* ?\(.*\) ?= ?" + HEX + rb"\s*\Z|[\s,;](?:[a-z0-9]*digest|md5|rmd160|sha\d+)=(?:0x)?" + HEX + BEHIND, re.S)
BASE64 = re.compile(SRI + rb"|(?:^|[\s\"'`,;:|=(-])((?:[A-Za-z0-9+/]{22}=|[A-Za-z0-9+/]{27}|[A-Za-z0-9+/]{43}|[A-Za-z0-9+/]{86}=)=)"
                    rb"(?=[\s\"'`,;:|)]|\Z)")
SIZES = (16, 20, 24, 28, 32, 48, 64)

DOMAIN = rb"((?:[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?\.)+[a-z][a-z0-9-]*[a-z0-9])"
ADDRESS = re.compile(rb"\s*(?:\d+(?:\.\d+){3}|[0-9a-f:]*:[0-9a-f:.]+(?:%\w+)?)\s+(.*)")
NAME = re.compile(DOMAIN + rb"\.?\Z")
# Rules of AdBlock that block a whole domain; those for some pages or some uses only are no domains.
ADBLOCK = re.compile(rb"\|\|(?:\*\.)?" + DOMAIN + rb"\^?(?:\$(?:(?:important|all|doc|document|3p|third-party),?)+)?\Z")
COMMENT = re.compile(rb"(?:^|\s)#")
HOST = re.compile(rb"(?:(?:[a-z][a-z0-9+.-]*:)?//)?(?:[^/?#\s@]*@)?(\[[^\]\s]*\]|[^/:?#\s]*)(?:[/:?#]|\Z)")


class Failure(Exception):
    """What the user reads."""


def without(begin, text):
    return text[len(begin):] if text.startswith(begin) else text


def count(text, byte):
    """Faster than text.count."""
    return len(text) - len(text.replace(byte, b""))


def decoded(text):
    """The hexadecimal digits of a digest in base64; nothing if it has no length of a digest."""
    digest = b"" if len(text) % 4 else binascii.a2b_base64(text)
    return binascii.hexlify(digest) if len(digest) in SIZES else b""


def digest(line):
    found = BEGIN.match(line) or b"=" in line and NAMED.search(line) or DIGEST.search(line)
    if not found:
        return b""
    return decoded(found[2]) if found.re is DIGEST and found[2] else (found[1] or found[2]).lower()


@functools.lru_cache(None)
def patterns(length):
    """What finds in many lines the same as `digest`, where it begins the line, is named, or is behind so few bytes that there is no
    other before it. The last one is for lines without "=", which may name a digest."""
    one = rb"([0-9a-fA-F]{%d})" % length
    return ((True, re.compile(rb"^\\?" + one + rb"(?=[\s,:;]|\Z).*", re.M)),
            (True, re.compile(rb"^\\?[A-Za-z][\w/-]{0,30} ?\(.*\) ?= ?" + one + rb"[^\S\n]*$", re.M)),
            (False, re.compile(rb"^(?:\\?|.{0,24}?[\s\"'`,;:|=#(\[{<>])(?:0[xX])?" + one + BEHIND + b".*", re.M)))


def base64_digest(line):
    found = BASE64.search(line)
    return decoded(found[1] or found[2]) if found else b""


def hosts(line):
    """The domains of a line of a hosts file, an AdBlock list or a list of domains."""
    line = line.strip().lower()
    rule = ADBLOCK.match(line)
    if rule:
        return [rule[1]]
    line = COMMENT.split(line)[0]
    address = ADDRESS.match(line)
    names = (address[1] if address else without(b"*.", line)).split()
    found = [NAME.match(name) for name in names]
    return [name[1] for name in found if name] if address or len(names) == 1 else []


LONGEST_DOMAIN = 253  # RFC 1035, section 2.3.4: 255 bytes with the lengths of the first label and of the root


def parents(line):
    """The domain of a line, which may be a URL, and each domain above it."""
    host = HOST.match(line.strip().lower())
    name = without(b"*.", host[1]).rstrip(b".") if host else b""
    if not name.isascii() or len(name) > LONGEST_DOMAIN:
        return []
    labels = name.split(b".")
    above = 1 if labels[-1].isdigit() or name.startswith(b"[") else len(labels)
    return [b".".join(labels[first:]) for first in range(above)]


class Lines:
    """Standard input in pieces of whole lines."""

    def __init__(self, arguments, progress):
        self.end = b"\0" if arguments.null else b"\n"
        self.pick = {None: None, "hex": digest, "base64": base64_digest, "hosts": hosts, "domain": parents}[arguments.keys]
        self.of_several = arguments.keys in ("hosts", "domain")
        self.field, self.column, self.separator = arguments.field, arguments.csv, arguments.separator
        self.stream, self.rest, self.is_first = None, b"", True
        self.progress, self.place = progress, None
        self.without = 0  # lines without a key, but for empty ones
        self.has_keys = False
        self.lengths = set()  # of digests
        self.wanted, self.foreign = set(), set()  # lengths of digests that the filter has, and of others that have come
        self.tell = None  # called when others come
        self.form = None  # a pattern for a key, if the label of the filter says what keys look like
        self.fits = False  # a key looks so
        self.refuse = None  # called with a key that does not, if all must

    def read(self):
        try:
            if self.stream is None:
                self.stream = open(0, "rb", buffering=PIECE, closefd=False)
                first = self.stream.peek(16)
                for begin, what in NO_LISTS.items():
                    if first.startswith(begin):
                        raise Failure(f"standard input: {what}")
                if first.startswith(b"\x1f\x8b"):
                    self.stream = io.BufferedReader(gzip.GzipFile(fileobj=self.stream), PIECE)
            more = self.stream.read1(PIECE)  # does not wait until so many bytes have come
            if self.progress.size:
                self.progress.bytes = os.lseek(0, 0, os.SEEK_CUR)
            return more
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise Failure(f"standard input: gzip: {error}") from None
        except OSError as error:
            error.filename = "standard input"
            raise

    def text(self):
        """The lines that have come, at least one, if there are any, without what ends the last one. None: there are no more."""
        begun, size, more = [self.rest], len(self.rest), b" "
        while more and self.end not in begun[-1]:
            if size >= LONGEST:
                raise Failure(f"standard input: a line is longer than {LONGEST >> 20} MB")
            more = self.read()
            begun.append(more)
            size += len(more)
        text = b"".join(begun)
        cut = text.rfind(self.end) + 1 if more else len(text)
        self.rest, text = text[cut:], text[:cut]
        if self.is_first and WIDE.match(text) and self.end == b"\n":
            raise Failure("standard input: a text in UTF-16, as PowerShell writes it; make it UTF-8, as by iconv -f UTF-16 -t UTF-8")
        if self.is_first and text.startswith(MARK):
            text = text[len(MARK):]
        self.is_first = False
        if self.end == b"\n":
            if b"\0" in text:
                raise Failure("standard input: a NUL byte: it is no text, or its lines end with NUL, as by find -print0; then use -z")
            if b"\r" in text:
                text = text.replace(b"\r\n", b"\n")
        return text[:-1] if text.endswith(self.end) else text or None

    def piece(self):
        """The keys of some lines, for cf_lines. None: there are no more."""
        self.joined = self.text()
        if self.joined is None:
            return None
        self.whole = self.keys = self.owners = None
        text = self.picked() if self.pick or self.field or self.column else self.joined + self.end
        if b"\r" in text and b"\0" not in text:  # a key may end with a carriage return
            text = b"\0".join(self.keys_of_lines()) + b"\0"
        self.progress.lines += count(self.joined, self.end) + 1 if self.whole is None else len(self.whole)
        self.progress.show()
        self.has_keys = self.has_keys or text.strip(b"\n\0") != b""
        self.compare()
        return text

    def compare(self):
        """With what the filter has, by its label."""
        if self.form and self.refuse:
            other = next((key for key in self.keys_of_lines() if key and not self.form.fullmatch(key)), None)
            if other is not None:
                self.refuse(other)
        elif self.form and not self.fits:
            self.fits = any(self.form.fullmatch(key) for key in self.keys_of_lines())
        foreign = self.lengths - self.wanted - self.foreign - {0}
        if self.wanted and foreign:
            self.foreign |= foreign
            self.tell(foreign)

    def lines(self):
        """All lines of the piece, as they came."""
        if self.whole is None:
            self.whole = self.joined.split(self.end)
        return self.whole

    def keys_of_lines(self):
        return self.lines() if self.keys is None else self.keys

    def at_once(self):
        """The digests of all lines, if they have one length and a place as in the first line; or None. Several times as fast."""
        length = len(digest(self.joined[:(self.joined + b"\n").index(b"\n")]))
        if not length or self.end != b"\n":
            return None
        for is_named, pattern in patterns(length):
            if pattern.match(self.joined) and (is_named or b"=" not in self.joined):
                found = pattern.findall(self.joined)
                if len(found) != count(self.joined, b"\n") + 1:
                    return None
                self.lengths.add(length)
                plain = b"\n".join(found) + b"\n"
                text = plain.lower()
                self.keys = found if text == plain else text.split(b"\n")[:-1]
                return text
        return None

    def picked(self):
        """The keys, each with what ends it: NUL, where they may have newlines."""
        text = self.at_once() if self.pick is digest and not self.field and not self.column else None
        if text is not None:
            return text
        keys = self.lines()
        if self.column:
            keys = self.columns()
        elif self.field:
            number, separator = self.field, self.separator
            keys = [(line.split(separator, number)[number - 1:] or [b""])[0] for line in keys]
        if self.of_several:
            keys = [(number, key) for number, line in enumerate(keys) for key in self.pick(line) or [b""]]
            self.owners, keys = [number for number, _ in keys], [key for _, key in keys]
        elif self.pick:
            keys = [self.pick(line) for line in keys]
            self.lengths.update(map(len, keys))
        self.keys = keys
        missing = [number for number, key in enumerate(keys) if not key]
        self.without += sum(1 for number in missing if self.lines()[self.owners[number] if self.owners else number].strip())
        end = b"\0" if self.column else self.end
        return end.join(keys) + end

    def columns(self):
        """The fields of a column, and the records as lines: a record may have newlines within quotes."""
        csv.field_size_limit(LONGEST)
        taken, keys, whole = [], [], []

        def texts():
            lines = self.lines()
            while lines:
                for line in lines:
                    taken.append(line)
                    yield line.decode("utf-8", "surrogateescape") + "\n"
                if sum(map(len, taken)) >= LONGEST:
                    raise Failure(f"standard input: a record is longer than {LONGEST >> 20} MB")
                more = self.text() if taken else None  # the last record goes on
                lines = more is not None and more.split(self.end)
            if taken:
                raise Failure("standard input: CSV: a quote of the last record is not closed")
        try:
            for row in csv.reader(texts(), delimiter=(self.separator or b",").decode("utf-8", "surrogateescape")):
                if self.place is None and row:
                    self.place = self.column_of(row)
                else:
                    keys.append("".join(row[self.place or 0:][:1]).encode("utf-8", "surrogateescape"))
                    whole.append(b"\n".join(taken))
                taken.clear()
        except csv.Error as error:
            raise Failure(f"standard input: CSV: {error}") from None
        self.whole = whole
        return keys

    def column_of(self, header):
        names = [name.strip() for name in header]
        for wanted, given in ((self.column, names), (self.column.lower(), [name.lower() for name in names])):
            if wanted in given:
                return given.index(wanted)
        raise Failure(f"standard input: there is no column {self.column}; the first line names: {', '.join(names)!r}")
