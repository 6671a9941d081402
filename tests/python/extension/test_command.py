# SPDX-License-Identifier: MIT
"""sqlite-cuckoo, the command of the Python package: what it prints, what it leaves in files, and what the user reads when
something is wrong. Beside it: a set of lines, and SQL."""
import fcntl
import hashlib
import json
import os
import pty
import re
import select
import shlex
import shutil
import signal
import sqlite3
import stat
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

import support

REPORT = re.compile(r"((build|add|delete|merge|check): .*\d.*\n(hint: .*\n)?)?")
PACKAGE = Path(support.ROOT).resolve() / "ext/packages/python/sqlite_cuckoo"
FILTER = "k.cuckoo"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with the package."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(PACKAGE, folder / "sqlite_cuckoo", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(support.extension_path(), folder / "sqlite_cuckoo/cuckoo.so")
    return folder


class Command:
    def __init__(self, site, folder):
        self.folder = folder
        self.environment = {**os.environ, "PYTHONPATH": str(site), "LC_ALL": "C.UTF-8", "SOURCE_DATE_EPOCH": "86400"}
        self.program = [sys.executable, "-m", "sqlite_cuckoo"]

    def start(self, *arguments, **streams):
        # in the background SIGINT may be ignored, and what is started here would inherit that
        return subprocess.Popen([*self.program, *arguments], cwd=self.folder, env=self.environment,
                                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
                                **{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams})

    def __call__(self, *arguments, lines=b"", status=0, says=None, **streams):
        """What it prints. `says`: a pattern for all that it says to the user; unless given what it has done, in one line."""
        process = self.start(*arguments, **streams)
        printed, said = process.communicate(None if "stdin" in streams else lines, timeout=30)
        assert process.returncode == status and (says or REPORT.fullmatch((said or b"").decode())), said
        if says:
            assert re.search(says, said.decode()) and "Traceback" not in said.decode(), said
            assert len(said.decode().splitlines()) == 1 or said.startswith(b"usage: "), said
        assert not list(self.folder.glob("*.new"))
        return printed

    def read(self, name=FILTER):
        """The filter in a file, without its label."""
        content = (self.folder / name).read_bytes()
        return content[:-content[-4] - 4] if content.endswith(b"\xcflb") else content

    def label(self, name=FILTER):
        """The text of the label, or nothing."""
        return (self.folder / name).read_bytes()[len(self.read(name)):-4].decode()

    def write(self, content, name=FILTER):
        (self.folder / name).write_bytes(content)


@pytest.fixture
def command(site, tmp_path):
    return Command(site, tmp_path)


@pytest.fixture
def known(command):
    """The same with a filter of two lines."""
    command("build", FILTER, lines=b"ada\nbob\n")
    return command


def odd_lines(rng, number):
    """Lines of all bytes but newlines, and a carriage return at the end."""
    usual = [b"C:\\temp\\a", b'"quoted"', b"a\tb", b"a\rb", b"\xff\xfe", "\u00e9\u4e2d\U0001f600".encode(), b"a\1b", b"\1",
             b"\x7f", b"[1]", b"null", b"5", b"\\u0041", b"\x1b[0m"]
    return usual + [bytes(rng.choice(range(1, 256)) for _ in range(rng.randrange(20))).replace(b"\n", b"").rstrip(b"\r") or b"x"
                    for _ in range(number)]


@pytest.mark.skipif("asan" in support.extension_path(), reason="it takes more memory")
def test_a_filter_is_in_memory_once_while_it_is_built(command):
    command.program = ["sh", "-c", 'ulimit -v 600000 && exec "$@"', "sh", *command.program]  # kB
    command("build", "/dev/null", "--capacity", "300000000", lines=b"ada\n", says=r"build: 1 line, 1 key, 350.9 MB, ")


# ---- lines ----

def test_a_line_is_its_bytes_as_a_text_of_sql(command, rng, db):
    inside, outside = odd_lines(rng, 300), [b"not " + line for line in odd_lines(rng, 300)]
    command("build", FILTER, "--fpr", "1e-6", lines=b"\n".join(inside))
    mixed = inside + outside
    rng.shuffle(mixed)
    mixed.insert(0, b"not in UTF-16")
    asked = b"\n".join(mixed) + b"\n"
    assert command("check", FILTER, lines=asked) == b"".join(line + b"\n" for line in mixed if line not in inside)
    assert command("check", "-1", FILTER, lines=asked) == b"".join(line + b"\n" for line in mixed if line in inside)
    blob = command.read()
    for line in mixed:
        assert support.ask(db, "SELECT cf_contains(?, CAST(? AS TEXT))", blob, line) == (line in inside), line


def test_more_lines_than_fit_in_a_piece(command):
    """With lines that JSON cannot carry in some pieces, and not in others."""
    inside = [b"%d %s" % (i, b"\1" if 8000 < i < 9000 or i == 30000 else b"plain") for i in range(60000)]
    command("build", FILTER, "--fpr", "1e-7", lines=b"\n".join(inside))
    assert json.loads(command("info", FILTER))["items"] == len(inside)
    absent = [b"x" + line for line in inside]
    asked = b"\n".join(line for both in zip(inside, absent) for line in both)
    assert command("check", FILTER, lines=asked) == b"\n".join(absent) + b"\n"
    assert command("check", FILTER, "--known", "--count", lines=asked) == b"60000\n"


def test_the_last_line_needs_no_newline(known):
    assert known("check", FILTER, lines=b"cyd") == b"cyd\n"


def test_an_empty_line_is_no_key(known):
    """A blank line at the end of a list, say. As NULL it is neither known nor unknown."""
    before = known.read()
    for empty in (b"\n", b"\n\n\r\n", b"\r\n", b"\xef\xbb\xbf\n", b"\xef\xbb\xbf"):
        for name in ("add", "delete"):
            known(name, FILTER, "--allow-empty", lines=empty)
            assert known.read() == before
            known(name, FILTER, lines=empty, status=2, says=f"^sqlite-cuckoo {name}: standard input: no key in .* line|standard input is empty; with --allow-empty")
            assert known.read() == before
        for given in ((), ("-1",)):
            assert known("check", *given, "--allow-empty", FILTER, lines=empty, status=1) == b""
            known("check", *given, FILTER, lines=empty, status=2, says="check: standard input(: no key in .* lines?| is empty); with --allow-empty that is no error$")
    assert known("check", "-c", FILTER, lines=b"\nada\n\ncyd\n\n") == b"1\n"
    known("build", "b", lines=b"\nada\n\n\r\nbob\n\n")
    assert known.read("b") == before
    known("add", "b", lines=b"\1\n\n \n")
    assert json.loads(known("info", "b"))["items"] == 4 and known("check", "-1", "b", lines=b"\n \n\1\n") == b" \n\1\n"


@pytest.mark.parametrize("lines", [
    *("ada\r\ncyd\r\n".encode(name) for name in ("utf-16", "utf-16-le", "utf-16-be", "utf-32")),
    "\ufeffада\n".encode("utf-16-be"), "\ufeffcyd\n".encode("utf-32-be"), "\ufeff".encode("utf-16-le")], ids=repr)
@pytest.mark.parametrize("name", ["build", "add", "delete", "check"])
def test_utf_16_is_refused(known, name, lines):
    """PowerShell writes it; its lines would be other keys."""
    before = known.read()
    known(name, FILTER, lines=lines, status=2,
          says=f"^sqlite-cuckoo {name}: standard input: a text in UTF-16, .*; make it UTF-8, as by iconv -f UTF-16 -t UTF-8$")
    assert known.read() == before


@pytest.mark.parametrize("lines, printed", [
    (b"ada\r\ncyd\r\n", b"cyd\n"), (b"cyd\r\nbob\ndan\r\n\r\n", b"cyd\ndan\n"), (b"\r\n", b""), (b"bob\r\ncyd", b"cyd\n"),
    (b"ada\r\r\nbob\r", b"ada\r\nbob\r\n"), (b"a\1da\r\nada\r\n", b"a\1da\n"), (b"\xef\xbb\xbfada\r\ncyd", b"cyd\n"),
    (b"\xef\xbb\xbf\ncyd\n\xef\xbb\xbfada", b"cyd\n\xef\xbb\xbfada\n"), (b"\xef\xbb\xbf", b""),
    (b"ada\r\n" * 200_000 + b"cyd\r\n", b"cyd\n")], ids=lambda some: str(some[:20]))
def test_lists_from_windows(known, lines, printed):
    """With CR LF at the end of lines, and a byte order mark."""
    assert known("check", "--allow-empty", FILTER, lines=lines, status=int(not printed)) == printed


def test_a_long_line(known):
    line = b"ab\\" * 1000000
    known("add", FILTER, lines=b"x\n" + line + b"\ny")
    assert known("check", FILTER, lines=line + b"\nc" + line) == b"c" + line + b"\n"


def test_a_line_without_end_is_an_error(known):
    before = known.read()
    with open("/dev/zero", "rb") as zeros:
        known("add", FILTER, stdin=zeros, status=2, says="^sqlite-cuckoo add: standard input: a line is longer than 64 MB$")
    assert known.read() == before


@pytest.mark.parametrize("given, printed", [
    ((), b"cyd\n"), (("-0",), b"cyd\n"), (("--unknown",), b"cyd\n"), (("-1",), b"ada\nbob\n"), (("--known",), b"ada\nbob\n"),
    (("--count",), b"1\n"), (("-1c",), b"2\n")])
def test_what_is_printed(known, given, printed):
    assert known("check", *given, FILTER, lines=b"ada\ncyd\nbob\n") == printed


def test_status_1_when_there_is_nothing(known):
    for given, lines, printed in (((), b"ada\n", b""), (("-1",), b"cyd\n", b""), (("-c",), b"bob", b"0\n"),
                                  (("--allow-empty",), b"", b"")):
        assert known("check", *given, FILTER, lines=lines, status=1) == printed


# ---- changes ----

def test_add_delete_and_merge_do_what_sql_does(known, db):
    known("add", FILTER, lines=b"cyd\ndan\n")
    known("delete", FILTER, lines=b"ada\nnobody\n")
    assert known("check", FILTER, lines=b"ada\nbob\ncyd\ndan\n") == b"ada\n"
    before = known.read()
    for name in ("add", "delete"):
        known(name, "--allow-empty", FILTER)
        assert known.read() == before
    known("build", "b", lines=b"eve\nfay\n")
    known("build", "c", lines=b"gus\nhal\n")
    known("merge", "all", "b", "c")
    assert known.read("all") == support.ask(db, "SELECT cf_merge(?, ?)", known.read("b"), known.read("c"))
    known("merge", "all", "b", status=2, says="merge: all: it is there, and would be replaced; remove it, or add to it: sqlite-cuckoo merge all all b$")
    known("merge", "all", "b", "c", status=2, says="merge: all: it is there, .*: sqlite-cuckoo merge all all b c$")
    known("merge", "one", "b")
    assert known.read("one") == known.read("b")


def test_an_empty_filter_is_as_asked(command, db):
    command("build", FILTER, "--fpr", "0.001", "--options", "seed=5", "--allow-empty")
    assert command.read() == support.ask(db, "SELECT cf_build(NULL, 0.001, 'seed=5')")
    assert command("check", FILTER, lines=b"ada\n") == b"ada\n"


def test_info_and_picture_are_those_of_sql(known, db):
    assert json.loads(known("info", FILTER)) == {**support.info(db, known.read()), "label": "lines; 1970-01-02"}
    assert known("picture", FILTER).decode() == support.ask(db, "SELECT cf_picture(?)", known.read()) + "\n"


def test_from_a_database(command):
    path = command.folder / "x.db"
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE file(sha1, n)")
    db.executemany("INSERT INTO file VALUES (?, ?)", [("aa", 1), (b"bb", 2), (None, 3), (5, 4), (1.5, 5)])
    db.commit()
    command("build", FILTER, "--db", "x.db", "SELECT sha1 FROM file ORDER BY n -- those of today")
    command("build", "lines", lines=b"aa\nbb\n5\n1.5\n")
    assert command.read() == command.read("lines")
    command("delete", FILTER, "--db", "x.db", "SELECT sha1 FROM file WHERE n < 3; ")
    command("build", "key", "--db", "x.db", "SELECT value FROM (SELECT 'KEY' AS value, 1 AS \"KEY\") WHERE \"KEY\" = 1")
    assert command("check", "key", lines=b"KEY\nkey\n") == b"key\n"
    assert command("check", FILTER, lines=b"aa\nbb\n5") == b"aa\nbb\n"
    before = command.read()
    for query, says in (("SELECT * FROM file", "the query gives 2 columns; select the key alone$"), ("SELECT md5 FROM file", "no such column: md5"),
                        ("DELETE FROM file", "syntax error"), ("", "syntax error")):
        command("add", FILTER, "--db", "x.db", query, status=2, says=f"^sqlite-cuckoo add: x.db: .*{says}")
    command("build", FILTER, "--db", FILTER, "SELECT * FROM file", status=2, says="build: k.cuckoo: file is not a database$")
    command("build", FILTER, "--db", "no.db", "SELECT 1", status=2, says="build: no.db: No such file or directory$")
    command("build", FILTER, "--db", ".", "SELECT 1", status=2, says="build: .: Is a directory$")
    command("build", FILTER, "--db", "", "SELECT 1", status=2, says="build: : No such file or directory$")
    assert command.read() == before and not (command.folder / "no.db").exists()


@pytest.mark.parametrize("name", ["keys", "key", "pieces", "piece", "value", "json_each", "KEYS", "of sqlite-cuckoo", "sqlite"])
def test_tables_of_a_database_may_have_any_name(command, name):
    db = sqlite3.connect(command.folder / "x.db")
    db.executescript(f'CREATE TABLE "{name}"(k, key, keys); INSERT INTO "{name}" VALUES (\'aa\', \'bb\', \'cc\');'
                     f'CREATE VIEW seen AS SELECT keys FROM "{name}"')
    db.close()
    command("build", FILTER, "--db", "x.db", f'SELECT k FROM "{name}"' if "cuckoo" not in name else "SELECT k FROM main.[of sqlite-cuckoo]")
    command("add", FILTER, "--db", "x.db", f'WITH keys(key) AS (SELECT key FROM main."{name}") SELECT key FROM keys ORDER BY key')
    command("add", FILTER, "--db", "x.db", "SELECT * FROM seen;")
    assert command("check", "-1", FILTER, lines=b"aa\nbb\ncc\ndd\n") == b"aa\nbb\ncc\n"


# ---- files ----

def test_a_file_keeps_its_mode_and_a_link_stays_a_link(known):
    path = known.folder / FILTER
    os.chmod(path, 0o640)
    os.symlink(FILTER, known.folder / "link")
    known("add", "link", lines=b"cyd\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640 and (known.folder / "link").is_symlink()
    os.symlink("aim", known.folder / "dangling")
    known("build", "dangling", lines=b"ada\n")
    assert (known.folder / "dangling").is_symlink() and not (known.folder / "aim").is_symlink()
    assert known("check", FILTER, lines=b"cyd\ndan\n") == b"dan\n"
    assert known("build", "/dev/stdout", lines=b"x\n").startswith(b"\xcfck")


LEFT = "k.cuckoo.0123456789abcdef.new"


@pytest.mark.parametrize("name", ["k.cuckoo", 247 * "k", 255 * "k", 127 * "\u00e9", "*?[k]\\"])
def test_names_of_files_may_have_any_length_and_letters(known, name):
    known("build", name, lines=b"ada\n")
    known("add", name, lines=b"bob\n")
    assert known.read(name) == known.read() or known("check", "-c", name, lines=b"ada\nbob\ncyd\n") == b"1\n"
    assert set(os.listdir(known.folder)) == {FILTER, name}


def test_two_commands_write_one_file_at_a_time(site, known):
    """Also when both have one process number, as in two containers."""
    script = ("import os, sys; os.getpid = lambda: 7; import sqlite_cuckoo.__main__ as m; sys.exit(m.main())")
    known.program = [sys.executable, "-c", script]
    first, second = known.start("build", FILTER), known.start("add", FILTER)
    while len(list(known.folder.glob("*.new"))) < 2:
        time.sleep(0.01)
    assert second.communicate(b"cyd\n")[0] == b"" and second.returncode == 0
    assert first.communicate(b"eve\n")[0] == b"" and first.returncode == 0
    assert known("check", FILTER, lines=b"cyd\neve\n") == b"cyd\n" and os.listdir(known.folder) == [FILTER]


def test_what_a_killed_command_left_goes_after_a_week(known):
    process = known.start("add", FILTER)
    while not list(known.folder.glob("*.new")):
        time.sleep(0.01)
    process.kill()
    process.communicate()
    left, = known.folder.glob("*.new")
    for name in (LEFT, "k.cuckoo.backup.new", "other." + LEFT):
        known.write(b"x", name)
    os.utime(left, (time.time() - 6 * 86400,) * 2)
    for name in (LEFT, "k.cuckoo.backup.new", "other." + LEFT):
        os.utime(known.folder / name, (time.time() - 8 * 86400,) * 2)
    assert known.start("add", "--allow-empty", FILTER, stdin=subprocess.DEVNULL).wait() == 0
    assert set(os.listdir(known.folder)) == {FILTER, left.name, "k.cuckoo.backup.new", "other." + LEFT}


def newer(blob):
    return support.patched(blob, version=9)


def flipped(blob):
    return blob[:20] + bytes([blob[20] ^ 1]) + blob[21:]


@pytest.mark.parametrize("damage, says", [
    (newer, "made by a later version .*; use the version that wrote it$"),
    (flipped, "header does not match its checksum .*; restore it from a backup, or rebuild it$"),
    (lambda blob: blob[:-1], "cut off, or not one filter .*; restore it from a backup, or rebuild it$"),
    (lambda blob: blob[:9], "not a cuckoo filter .*; restore it from a backup, or rebuild it$"),
    (lambda blob: b"", "it is not a filter; if it is a list, its lines come from standard input: < bad$"),
    (lambda blob: b"ada\nbob\n", "it is not a filter; if it is a list, its lines come from standard input: < bad$")])
def test_what_is_no_filter(known, damage, says):
    """Whatever the command, and before it reads a line. The file stays as it is."""
    bad = damage(known.read())
    known.write(bad, "bad")
    held = os.pipe()  # nothing ever comes
    for arguments in (("check", "bad"), ("add", "bad"), ("info", "bad"), ("merge", FILTER, "bad")):
        known(*arguments, stdin=held[0], status=2, says=f"^sqlite-cuckoo {arguments[0]}: bad: (filter cannot be used: .*)?{says}")
    for end in held:
        os.close(end)
    assert known.read("bad") == bad


def test_info_looks_at_all_of_it(command, db):
    command("build", FILTER, lines=b"\n".join(b"%d" % i for i in range(2000)))
    bad = bytearray(command.read())
    bad[64:] = bytes(len(bad) - 64)
    command.write(bytes(bad))
    assert support.ask(db, "SELECT cf_check(?)", bytes(bad)) != "ok"
    command("info", FILTER, status=2, says="^sqlite-cuckoo info: k.cuckoo: filter is corrupt: .*; restore it from a backup")


def test_filters_of_other_kinds(command, db):
    kinds = {
        "value": support.new(db, 9, None, "value_bits=3"), "ages": support.new(db, 9, None, "epochs=3"),
        "exact": support.ask(db, "SELECT cf_build_exact(value, value > 'b') FROM json_each('[\"a\", \"b\", \"c\"]')"),
        "full": support.build(db, range(9), None, "growth=off"),
        "numbers": support.build(db, range(9)), "numeric": support.build(db, range(9), 1e-5, "affinity=numeric")}
    for name, blob in kinds.items():
        command.write(blob, name)
    many = b"\n".join(b"%d" % i for i in range(99))
    for name, call, says in (("value", "add", "stores a value with each key"), ("value", "delete", "stores a value"),
                             ("ages", "delete", "epochs.* cannot delete a single key"), ("exact", "add", "is exact"),
                             ("full", "add", "is full: .*nothing has changed")):
        command(call, name, lines=many, status=2, says=f"^sqlite-cuckoo {call}: {name}: filter .*{says}")
        assert command.read(name) == kinds[name]
    command("merge", "sum", "numbers", "value", status=2, says="^sqlite-cuckoo merge: value: the filters differ in")
    assert command("check", "exact", lines=b"a\nc\n") == b"a\n"
    command("add", "ages", lines=b"ada\n")
    assert command("check", "-1", "ages", lines=b"ada\n") == b"ada\n"
    for call in ("check", "delete"):  # the integer is another key than the text
        command(call, "numbers", lines=many, status=2, says=f"^sqlite-cuckoo {call}: numbers: (key is the text '.'|keys has texts that look like numbers), and only numbers .*affinity=numeric")
    assert command("check", "numbers", lines=b"five\n") == b"five\n"
    assert command("check", "numeric", lines=b"5\n10\n") == b"10\n"


# ---- what the user reads ----

@pytest.mark.parametrize("arguments, says", [
    ((), "required: COMMAND"), (("bild", FILTER), "invalid choice: 'bild'"), (("check",), "required: FILE"),
    (("build", FILTER, "--fpr", "2"), "--fpr: it is above 0 and below 1, such as 0.01, not 2"), (("build", FILTER, "--fpr", "x"), "--fpr.*not x"),
    (("build", FILTER, "--fpr", "nan"), "not nan"),
    (("build", FILTER, "--options", "x=1"), "^sqlite-cuckoo build: k.cuckoo: unknown option x; valid options: "),
    (("check", "-0", "-1", FILTER), "not allowed with"), (("check", "-2", FILTER), "arguments: -2"),
    (("build", FILTER, "list.txt"), "error: lines come from standard input: sqlite-cuckoo build k.cuckoo < list.txt$"),
    (("build", FILTER, "--capacity", "0"), "it is a whole number, 1 or more, not 0"), (("info", FILTER, "x"), "unrecognized arguments: x$"),
    (("check", "missing"), "^sqlite-cuckoo check: missing: No such file or directory$"),
    (("check", "."), "^sqlite-cuckoo check: .: Is a directory$"), (("build", "."), "^sqlite-cuckoo build: .: Is a directory$"),
    (("build", "no/where"), "^sqlite-cuckoo build: no/where: No such file or directory$"),
    (("build", "/dev/null/x"), "^sqlite-cuckoo build: /dev/null/x: Not a directory$"),
    (("build", "/dev/full", "--allow-empty"), "^sqlite-cuckoo build: /dev/full: No space left on device$"),
    *(((name, "-"), "- is no file; write ./- for one of this name, or /dev/stdout$") for name in ("build", "check", "add", "info", "merge")),
    (("merge", FILTER, "-"), "- is no file"), (("merge", FILTER), "required: FROM")])
def test_errors(command, arguments, says):
    assert command(*arguments, status=2, says=says) == b""
    assert not os.listdir(command.folder) and stat.S_ISCHR(os.stat("/dev/full").st_mode)


@pytest.mark.parametrize("case", ["large file", "options", "query", "memory", "extension", "module"])
def test_every_failure_is_status_2(known, case):
    """1 is an answer of check: there is no such line."""
    given, name = ["check", FILTER], "check"
    if case == "large file":
        os.truncate(known.folder / FILTER, 1 << 31)
        says = "k.cuckoo: it is larger than 2 GB, which no filter is$"
    elif case in ("options", "query"):
        name = "build"
        given = [name, FILTER, "--options", b"\xff"] if case == "options" else [name, FILTER, "--db", FILTER, b"SELECT '\xff'"]
        says = "k.cuckoo: .*utf-8"
    elif case == "memory":
        os.truncate(known.folder / FILTER, 1 << 30)
        known.program = [sys.executable, "-c", "import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29)); import sys; "
                         "import sqlite_cuckoo.__main__ as m; sys.exit(m.main())"]
        says = "out of memory$"
    elif case == "extension":
        known.program = [sys.executable, "-c", "import sqlite_cuckoo, sys; sqlite_cuckoo.loadable_path = lambda: '/dev/null'; "
                         "import sqlite_cuckoo.__main__ as m; sys.exit(m.main())"]
        says = "/dev/null"
    else:
        known.program = [sys.executable, "-c", "import sys; sys.modules['argparse'] = None; import sqlite_cuckoo.__main__"]
        says, name = "argparse", None
    known(*given, status=2, says=f"^sqlite-cuckoo{f' {name}' if name else ''}: .*{says}")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write all files")
def test_a_file_that_may_not_be_changed(known):
    os.chmod(known.folder / FILTER, 0o444)
    known("add", FILTER, status=2, says="^sqlite-cuckoo add: k.cuckoo: Permission denied$")


def test_streams_that_are_full_or_closed(known):
    shell = f"{shlex.join(known.program)} "
    for words, says in (("check k.cuckoo > /dev/full", "check: standard output: No space left on device"),
                        ("check -c k.cuckoo > /dev/full", "check: standard output: No space left on device"),
                        ("info k.cuckoo > /dev/full", "info: standard output: No space left on device"),
                        ("check k.cuckoo >&-", "check: standard output: Bad file descriptor"),
                        ("add k.cuckoo <&-", "add: standard input is closed")):
        known.program = ["sh", "-c", shell + words]
        known(lines=b"cyd\n", status=2, says=f"^sqlite-cuckoo {says}$")


def test_a_closed_pipe_is_quiet(known):
    process = known.start("check", FILTER)
    process.stdout.close()
    process.stdin.write(b"cyd\n" * 100)
    process.stdin.close()
    assert (process.wait(), process.stderr.read()) == (-signal.SIGPIPE, b"")


def test_answers_come_as_soon_as_lines(known):
    process = known.start("check", FILTER)
    for line, answer in ((b"cyd\n", b"cyd\n"), (b"ada\nda", b""), (b"n\n", b"dan\n")):
        process.stdin.write(line)
        process.stdin.flush()
        assert process.stdout.readline() == answer if answer else True
    assert process.communicate() == (b"", b"check: 2 of 3 unknown\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("name", ["build", "add", "check"])
def test_an_interrupt_leaves_the_file(known, name, number):
    before = known.read()
    process = known.start(name, FILTER)
    process.stdin.write(b"ada\n" * 100000)
    process.stdin.flush()  # it reads: a pipe holds less
    process.send_signal(number)
    assert process.wait(10) == 128 + number
    assert process.stderr.read().decode() == f"sqlite-cuckoo {name}: interrupted; no file has changed\n"
    assert known.read() == before and os.listdir(known.folder) == [FILTER]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("arguments", [("check", FILTER), ("build", "/dev/stdout")])
def test_an_interrupt_while_nobody_reads(known, arguments, number):
    with open(known.folder / "lines", "wb") as lines:
        lines.write(b"".join(b"nobody %d\n" % i for i in range(100_000)))
    with open(known.folder / "lines", "rb") as lines:
        process = known.start(*arguments, stdin=lines)
        waiting, last = 0, -1
        while waiting != last or (waiting == 0 and process.poll() is None):  # until the pipe is full
            time.sleep(0.2)
            last, waiting = waiting, struct.unpack("i", fcntl.ioctl(process.stdout, termios.FIONREAD, bytes(4)))[0]
        process.send_signal(number)
        assert process.wait(10) == 128 + number
    assert process.stderr.read().decode() == f"sqlite-cuckoo {arguments[0]}: interrupted; no file has changed\n"


KILL = "import atexit, os, signal, sys\ndef kill(*_): os.kill(os.getpid(), signal.SIGINT)\n"
IMPORTED = "import sqlite_cuckoo.__main__ as m\n"


@pytest.mark.parametrize("script, status", [
    ("class Finder:\n    def find_spec(name, *_):\n        name == 'argparse' and kill()\nsys.meta_path.insert(0, Finder)\n" + IMPORTED,
     -signal.SIGINT),
    (IMPORTED + "m.parser = kill\nm.main()", -signal.SIGINT),
    (IMPORTED + "replace = os.replace\nos.replace = lambda *two: (replace(*two), kill())\nsys.exit(m.main())", 0),
    (IMPORTED + "atexit.register(kill)\nsys.exit(m.main())", 0)], ids=["while it starts", "options", "done", "at exit"])
def test_an_interrupt_is_quiet_before_the_work_and_after_it(known, script, status):
    known.program = [sys.executable, "-c", KILL + script]
    known("add", FILTER, lines=b"cyd\n", status=status)
    known.program = [sys.executable, "-m", "sqlite_cuckoo"]
    assert known("check", "-c", FILTER, lines=b"cyd\n", status=int(status == 0)) == (b"1\n" if status else b"0\n")


def test_an_interrupt_ends_a_long_query(known):
    sqlite3.connect(known.folder / "x.db").execute("CREATE TABLE t(x)").connection.commit()
    process = known.start("add", FILTER, "--db", "x.db", "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) "
                          "SELECT i FROM n WHERE i < 0")
    while not list(known.folder.glob("*.new")):
        time.sleep(0.01)
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    assert (process.wait(10), process.stderr.read()) == (130, b"sqlite-cuckoo add: interrupted; no file has changed\n")
    assert sorted(os.listdir(known.folder)) == [FILTER, "x.db"]


def test_a_bar_on_a_terminal(known):
    """After a second of work; however slowly it starts, lines come until it shows."""
    ours, theirs = pty.openpty()
    process = known.start("add", FILTER, stderr=theirs)
    lines, said = 0, ""
    while not select.select([ours], [], [], 0.1)[0]:
        lines += 1
        assert lines < 300
        process.stdin.write(b"cyd\n")
        process.stdin.flush()
    process.communicate()
    while not said.endswith("positives\r\n") and select.select([ours], [], [], 10)[0]:
        said += os.read(ours, 1000).decode()
    os.close(ours), os.close(theirs)
    counted = re.search(r"(\d+) lines, \d+ a second  [1-9]\d* s", said)
    assert counted and 1 <= int(counted[1]) <= lines and "\r\x1b[Kadd: " in said, said


def test_the_bar_of_a_file(known):
    """Ten seconds after the start, a quarter of it is read."""
    known.program = [sys.executable, "-c", "import sqlite_cuckoo.__main__ as m; m.sys.stderr.isatty = lambda: True; p = m.Progress(True); "
                     "p.start -= 10; p.last -= 10; p.lines, p.bytes, p.size = 100000, 25, 100; p.show()"]
    said = known.start().communicate()[1].decode()
    assert said == f"\r\x1b[K[{'#' * 7:30}]  25%  100,000 lines, 10,000 a second  10 s, 30 s left"


def test_without_loadable_extensions(known):
    known.program = [sys.executable, "-c", "import sqlite3, sys; sqlite3.Connection = object; import sqlite_cuckoo.__main__ as m; "
                     "sys.exit(m.main())"]
    assert known("check", FILTER, lines=b"ada\ncyd\n") == b"cyd\n"


def test_examples_of_the_help(known):
    """The commands of --help, in a folder with the files that they name."""
    text = known("--help").decode()
    examples = re.search(r"^examples:\n((?:  .*\n)+)", text, re.M)[1]
    (known.folder / "a\\b").write_bytes(b"known")
    known.write(hashlib.sha256(b"known").hexdigest().upper().encode() + b"\n", "SHA256SUMS")
    known.write(b"new", "new.iso")
    known("build", "others.cuckoo", "--fpr", "1e-4", "--capacity", "1000000", lines=b"ada\n")
    known.write(b"0.0.0.0 ads.example.com\n", "hosts.txt")
    known.write(b"x.ads.example.com\nexample.com\n", "domains.txt")
    db = sqlite3.connect(known.folder / "RDS_modern.db")
    db.execute("CREATE TABLE FILE(sha1)")
    db.execute("INSERT INTO FILE VALUES ('AB')").connection.commit()
    db.close()
    for line in examples.splitlines():
        known.program = ["sh", "-ec", line.replace("sqlite-cuckoo", shlex.join([sys.executable, "-m", "sqlite_cuckoo"]))]
        printed = known()
        if "find" in line:
            files = {path.name for path in known.folder.iterdir()} - {"a\\b"}
            assert sorted(one.split("/")[-1] for one in printed.decode().splitlines()) == sorted(files)
    assert printed == b"x.ads.example.com\n" and examples.count("sqlite-cuckoo") == 7
    for name in re.findall(r"^    (\w+) ", text, re.M):
        known.program = [sys.executable, "-m", "sqlite_cuckoo"]
        assert b"usage: sqlite-cuckoo " + name.encode() in known(name, "--help")


def test_the_manual_page_names_every_command_and_option(command):
    page = (PACKAGE.parents[1] / "man/sqlite-cuckoo.1").read_text()
    said = {None: command("--help").decode()}
    for name in re.findall(r"^    (\w+) ", said[None], re.M):
        said[name] = command(name, "--help").decode()
    assert set(said) - {None} == set(re.findall(r"^\.It Cm (\w+)$", page, re.M))
    # Of the help: a line such as "  -c, --count"; of the page: ".It Fl c , -count".
    options = {name: [re.findall(r"--?([\w=-]+)", line) for line in re.findall(r"^  (-[^ ,]+(?: [A-Z]+)?(?:, --[\w-]+)?)", text, re.M)]
               for name, text in said.items()}
    listed = [re.findall(r"(?:^| )-?([\w=-]+)", line) for line in re.findall(r"^\.It Fl ((?:-?[a-z0-9=-]+)(?: , -[\w-]+)?)", page, re.M)]
    of_lines = set(re.findall(r"^\.It Fl -?(.*?)(?: .*)?$", page[page.index(".Sh KEYS"):page.index(".Sh REPORTS")], re.M))
    assert sorted(map(tuple, listed)) == sorted({tuple(one) for some in options.values() for one in some})
    synopsis = dict(re.findall(r"^\.Cm (\w+)\n((?:\.Op.*\n|\.Ar.*\n)+)", page, re.M))
    for name in set(said) - {None}:
        named = re.findall(r"\b-?(\w+)", " ".join(re.findall(r"^\.Op Fl (.*)", synopsis[name], re.M)))
        for one in options[name]:
            assert set(one) & {*named, "help", *(of_lines if ".Op Ar KEYS" in synopsis[name] else ())}, (name, one)
