# SPDX-License-Identifier: MIT
"""sqlite-cuckoo, the command of the npm package, beside that of the Python package: the same bytes in files, the same lines, the
same exit status."""
import json
import os
import re
import shlex
import signal
import subprocess
import time

import pytest

import filter_process
import support
from test_command import FILTER, LEFT, Command, flipped, newer, odd_lines, site  # noqa: F401

pytestmark = filter_process.needed


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    folder = tmp_path_factory.mktemp("package")
    filter_process.write_package(folder)
    return folder


class Both:
    """Runs the command of either package, each in a folder of its own, and compares what they leave there and print."""

    def __init__(self, site, package, folder):
        for name in ("python", "npm"):
            (folder / name).mkdir()
        self.python = Command(site, folder / "python")
        self.npm = Command(site, folder / "npm")
        self.npm.program = [filter_process.NODE, str(package / "cli.mjs")]

    def write(self, content, name=FILTER):
        self.python.write(content, name)
        self.npm.write(content, name)

    def __call__(self, *arguments, lines=b"", status=0):
        printed = self.python(*arguments, lines=lines, status=status)
        assert self.npm(*arguments, lines=lines, status=status) == printed
        for path in self.python.folder.iterdir():
            assert (self.npm.folder / path.name).read_bytes() == path.read_bytes(), path.name
        return printed


@pytest.fixture
def both(site, package, tmp_path):  # noqa: F811
    return Both(site, package, tmp_path)


def numbered(first, end):
    return b"".join(b"line %d\n" % i for i in range(first, end))


def test_lines_of_any_bytes(both, rng):
    inside, outside = odd_lines(rng, 300), [b"not " + line for line in odd_lines(rng, 300)]
    both("build", FILTER, "--fpr", "1e-6", lines=b"\n".join(inside))
    asked = b"\n".join(line for two in zip(inside, outside) for line in two)
    assert both("check", FILTER, lines=asked + b"\n") == b"\n".join(outside) + b"\n"
    assert both("check", "-1", FILTER, lines=asked) == b"\n".join(inside) + b"\n"


@pytest.mark.parametrize("options", [(), ("--fpr=1e-5", "--options", "seed=-9223372036854775808 counter_bits=4"),
                                     ("--options", "stash=on growth=off stash_size=9 bucket_size=2 layout=plain fingerprint_bits=24"),
                                     ("--options", "Affinity=TEXT, collation=NoCase, hash=keyed, seed=+7.0, capacity=5e3")], ids=str)
def test_changes_give_equal_bytes(both, options):
    """With those that make it grow."""
    both("build", FILTER, *options, lines=numbered(0, 3000) + numbered(0, 9))
    both("build", "other", *options, lines=numbered(3000, 6000))
    both("delete", FILTER, lines=numbered(100, 1000) + b"nobody\n")
    both("add", FILTER, lines=numbered(5000, 5500))
    if not any("growth=off" in word for word in options):
        both("add", FILTER, lines=numbered(7000, 19000))
        both("merge", "sum", FILTER, "other", FILTER)
        both("merge", "sum", "sum", "other")
    both("merge", "copy", FILTER)
    both("check", FILTER, lines=numbered(0, 30000))


def test_more_lines_than_are_added_at_once(both):
    """The commands add them in different pieces, hence other bytes; the answers are equal."""
    both("build", FILTER, "--allow-empty", "--fpr", "1e-8", "--options", "capacity=1200000")
    lines, gone = ([b"%d\n" % i for i in range(*ends)] for ends in ((0, (1 << 20) + 99), ((1 << 20) - 9, (1 << 20) + 9)))
    for command in (both.python, both.npm):
        command("add", FILTER, lines=b"".join(lines))
        command("delete", FILTER, lines=b"".join(gone))
        assert command("check", FILTER, lines=b"".join(lines), status=0) == b"".join(gone)


@pytest.mark.parametrize("given", [("-0",), ("--known",), ("--count",), ("-1c",)])
def test_what_is_printed(both, given):
    both("build", FILTER, lines=b"ada\nbob\n\n")
    for lines in (b"cyd\n\nada\n", b"\n\r\n", b"bob", b"cyd\r\ndan\r", b"\xef\xbb\xbfada\r\n\r\r\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n", b"ab\\" * 10**6 + b"\nada\nbob", b"x\n" * 300_000):
        reference = both.python.start("check", "--allow-empty", *given, FILTER)
        printed, _ = reference.communicate(lines)
        assert both.npm("check", "--allow-empty", *given, FILTER, lines=lines, status=reference.returncode) == printed


PAGE = """\
const fs = require('fs'), [page, list, typed, kind] = process.argv.slice(1);
const source = /<script type="text\\/plain" id="worker">([^]*?)<\\/script>/.exec(fs.readFileSync(page, 'utf8'))[1];
(0, eval)(source); // without workers it leaves a function
const tell = ({ error, done, step }) => { if (error) throw new Error(error); if (done instanceof Uint8Array) fs.writeSync(1, done); };
answerHere({ id: 1, task: 'build', kind, typed: Number(typed), fpr: 0.01, bytes: new Uint8Array(fs.readFileSync(list)) }, tell);
answerHere({ id: 2, task: 'save' }, tell);
"""


def on_the_page(both, package, content, typed=b"", kind="text"):
    """The filter that the page makes of a list."""
    both.npm.write(typed + content, "list.txt")
    said = subprocess.run([filter_process.NODE, "-e", PAGE, package / "filter.html", both.npm.folder / "list.txt", str(len(typed)), kind],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return said.stdout if said.returncode == 0 else re.search("Error: (.*)", said.stderr.decode())[1]


@pytest.mark.parametrize("keys", [400_000, 2], ids=str)
def test_a_list_gives_the_same_bytes_in_either_command_and_the_page_whatever_ends_its_lines(both, package, keys):
    lines = numbered(0, keys)
    windows = lines.replace(b"\n", b"\r\n")
    mixed = windows[:len(windows) // 2 + 1] + windows[len(windows) // 2 + 1:].replace(b"\r\n", b"\n")
    for content in (mixed[:-1].rstrip(b"\r"), b"\xef\xbb\xbf" + windows, *((lines, windows) if keys < 100_000 else ())):
        both("build", FILTER, lines=content)
        page = on_the_page(both, package, content)
        both("build", "reference", lines=lines)
        assert page == both.npm.read() == both.npm.read("reference")


@pytest.mark.parametrize("content", ["é".encode("latin-1"), b"\xff", b"\xed\xa0\x80", b"\xe4\xb8"], ids=repr)
@pytest.mark.parametrize("where", [0, 1 << 16, (1 << 22) - 1, 5_000_000])
def test_the_page_refuses_a_list_that_is_no_utf_8_wherever_that_is(both, package, content, where):
    before = b"ada\n" * (where // 4) + b"x" * (where % 4)
    for behind in (b"", b"\nbob\n" * 20_000):
        assert on_the_page(both, package, before + content + behind).startswith("This is not a list: it must be text in UTF-8")


@pytest.mark.parametrize("typed", [b"", b"eve", b"eve\n", b"\n\n", "\ufeffeve".encode(), b"eve\r\nfay\r\n", b"line %d\n" % 7 * 20_000], ids=lambda one: repr(one[:9]))
def test_lines_that_were_typed_and_a_file_with_a_byte_order_mark(both, package, typed):
    for mark in (b"", b"\xef\xbb\xbf"):
        both("build", FILTER, lines=typed.replace(b"\xef\xbb\xbf", b"") + b"\nada\r\nbob")
        assert on_the_page(both, package, mark + b"ada\r\nbob", typed) == both.npm.read()
    for name in ("utf-16", "utf-16-le", "utf-16-be"):
        assert on_the_page(both, package, "ada\nbob\n".encode(name), typed).startswith("This is not a list")
    said = on_the_page(both, package, b"7\n\nx", b"5\n6", "number")
    assert said.startswith("Line 3: “x” is not a number")


@pytest.mark.parametrize("content", [b"\n", b"ada\n\nbob\n", b"\r\nada", b"ada\n\r\n"], ids=repr)
def test_an_empty_line_is_no_key_of_either_command_nor_the_page(both, package, content):
    both("build", FILTER, "--allow-empty", lines=b"".join(line + b"\n" for line in content.split() if line))
    reference = both.npm.read()
    both("build", FILTER, "--allow-empty", lines=content)
    assert both.npm.read() == reference
    if content.split():
        assert on_the_page(both, package, content) == reference


def test_figures(both):
    both("build", FILTER, "--options", "seed=9223372036854775807", lines=numbered(0, 500))
    mine, theirs = (json.loads(one("info", FILTER)) for one in (both.npm, both.python))
    assert mine.keys() == theirs.keys()
    assert all(mine[name] == pytest.approx(value, rel=1e-5) if isinstance(value, float) else mine[name] == value
               for name, value in theirs.items())


def test_what_is_no_filter(both, db):
    both("build", FILTER, lines=b"ada\n")
    blob = both.npm.read()
    for bad in (newer(blob), flipped(blob), blob[:-1], b"", b"SQLite format 3\0" * 99):
        both.write(bad, "bad")
        for arguments in (("check", "bad"), ("merge", FILTER, "bad")):
            both.npm(*arguments, status=2, says=f"^sqlite-cuckoo {arguments[0]}: bad: (filter cannot be used: .*; |it is not a filter; )")
        assert both.npm.read("bad") == bad and both.npm.read() == blob
    damaged = support.new(db, 2000)
    damaged = damaged[:64] + b"\1" * (len(damaged) - 64)
    both.write(damaged)
    both.npm("info", FILTER, status=2, says="^sqlite-cuckoo info: k.cuckoo: filter is corrupt: .*; restore it from a backup")


def test_filters_of_other_kinds(both, db):
    kinds = {"value": support.new(db, 9, None, "value_bits=3"), "full": support.build(db, range(9), None, "growth=off"),
             "exact": support.ask(db, "SELECT cf_build_exact(value, value > 'b') FROM json_each('[\"a\", \"b\", \"c\"]')")}
    for name, blob in kinds.items():
        both.write(blob, name)
    for name, call, says in (("value", "add", "stores a value with each key"), ("value", "delete", "stores a value"),
                             ("exact", "add", "is exact"), ("full", "add", "is full: .*nothing has changed")):
        both.npm(call, name, lines=numbered(0, 99), status=2, says=f"^sqlite-cuckoo {call}: {name}: .*filter .*{says}")
        assert both.npm.read(name) == kinds[name]
    both.npm("merge", "sum", "full", "value", status=2, says="^sqlite-cuckoo merge: value: the filters differ in")
    assert both("check", "exact", lines=b"a\nc\n") == b"a\n"


def test_utf_16_is_refused(both):
    both("build", FILTER, lines=b"ada\n")
    before = both.npm.read()
    for text in ("utf-16", "utf-16-le", "utf-16-be", "utf-32"):
        for name in ("build", "add", "delete", "check"):
            both.npm(name, FILTER, lines="ada\r\nbob\r\n".encode(text), status=2,
                     says=f"^sqlite-cuckoo {name}: standard input: a text in UTF-16, .*; make it UTF-8, as by iconv -f UTF-16 -t UTF-8$")
        assert both.npm.read() == before


def test_names_and_files_that_were_left(both):
    for name in (247 * "k", 255 * "k", 127 * "é"):
        both("build", name, lines=b"ada\n")
        both("add", name, lines=b"bob\n")
    npm = both.npm
    npm("build", FILTER, lines=b"ada\n")
    for name, days in ((LEFT, 8), (LEFT.replace("0", "f"), 6), ("k.cuckoo.backup.new", 8)):
        npm.write(b"x", name)
        os.utime(npm.folder / name, (time.time() - days * 86400,) * 2)
    assert npm.start("add", "--allow-empty", FILTER, stdin=subprocess.DEVNULL).wait() == 0
    assert {path.name for path in npm.folder.glob("*.new")} == {LEFT.replace("0", "f"), "k.cuckoo.backup.new"}


@pytest.mark.parametrize("arguments, says", [
    *(((name, "-"), "- is no file; write ./- for one of this name, or /dev/stdout$") for name in ("build", "check", "info")),
    ((), "^usage: sqlite-cuckoo build.*\nsqlite-cuckoo: which command"), (("bild", FILTER), "there is no command bild$"),
    (("check",), "^usage: sqlite-cuckoo check .*\nsqlite-cuckoo check: .*FILE"), (("merge", FILTER), "FROM"), (("info", "a", "b"), "FILE"),
    (("build", FILTER, "--fpr", "2"), "^sqlite-cuckoo build: k.cuckoo: fpr must be.*above 0 and below 1.*got 2$"),
    (("build", FILTER, "--options", "x=1"), "build: k.cuckoo: unknown option x; valid options: "),
    (("build", FILTER, "--options", "fpr=0.1"), "fpr must be a number"), (("build", FILTER, "--options", "seed"), "seed must be"),
    (("build", FILTER, "--options", "seed=5=6"), "options must be a list of name=value, got seed=5=6$"),
    (("build", FILTER, "--options", "seed=5 Seed=6"), "option seed is given twice$"),
    (("build", FILTER, "--db", "x.db", "SELECT 1"), "'--db'"), (("check", "-0", "-1", FILTER), "-1 is not allowed with -0"),
    (("check", "-2", FILTER), "'-2'"), (("check", "missing"), "^sqlite-cuckoo check: missing: no such file or directory$"),
    (("check", "."), "^sqlite-cuckoo check: .: .*directory$"), (("build", "."), "^sqlite-cuckoo build: .: .*directory$"),
    (("build", "no/where"), "^sqlite-cuckoo build: no/where: no such file or directory$"),
    (("build", "/dev/full", "--allow-empty"), "^sqlite-cuckoo build: /dev/full: no space left on device$")], ids=str)
def test_errors(both, arguments, says):
    assert both.npm(*arguments, status=2, says=f"(?s){says}") == b""
    assert not os.listdir(both.npm.folder)


def test_files_and_streams(both):
    npm = both.npm
    npm("build", FILTER, lines=b"ada\n")
    os.chmod(npm.folder / FILTER, 0o640)
    os.symlink(FILTER, npm.folder / "link")
    npm("add", "link", lines=b"cyd\n")
    assert (npm.folder / FILTER).stat().st_mode & 0o777 == 0o640 and (npm.folder / "link").is_symlink()
    (npm.folder / "there").mkdir()
    for name, aim in (("dangling", "there/aim"), ("circle", "circle"), ("nowhere", "no/where")):
        os.symlink(aim, npm.folder / name)
    os.symlink(npm.folder / "dangling", npm.folder / "there/twice")
    npm("build", "there/twice", lines=b"ada\n")
    npm("build", "nowhere", status=2, says="^sqlite-cuckoo build: nowhere: no such file or directory$")
    npm("build", "circle", status=2, says="^sqlite-cuckoo build: circle: too many symbolic links encountered$")
    assert all((npm.folder / name).is_symlink() for name in ("dangling", "there/twice", "nowhere", "circle"))
    assert npm("check", "there/aim", lines=b"ada\ncyd\n") == b"cyd\n" and not (npm.folder / "there/aim").is_symlink()
    assert npm("check", FILTER, lines=b"ada\ncyd\ndan\n") == b"dan\n"
    assert npm("build", "/dev/stdout", lines=b"x\n").startswith(b"\xcfck")
    npm("merge", "/dev/full", FILTER, status=2, says="^sqlite-cuckoo merge: /dev/full: no space left on device$")
    before = npm.read()
    with open("/dev/zero", "rb") as zeros:
        npm("add", FILTER, stdin=zeros, status=2, says="^sqlite-cuckoo add: standard input: a line is longer than 64 MB$")
    program = shlex.join(npm.program)
    npm.program = ["sh", "-c", f"{program} check k.cuckoo > /dev/full"]
    npm(lines=b"cyd\neve\n", status=2, says="^sqlite-cuckoo check: standard output: no space left on device$")
    npm.program = ["sh", "-c", f"{program} check k.cuckoo < ."]
    npm(status=2, says="^sqlite-cuckoo check: standard input: .*directory$")
    npm.program = ["bash", "-c", f"yes | {program} check k.cuckoo | head -1; exit ${{PIPESTATUS[1]}}"]
    assert npm(status=141) == b"y\n" and npm.read() == before


def test_answers_come_as_soon_as_lines(both):
    both.npm("build", FILTER, lines=b"ada\n")
    process = both.npm.start("check", FILTER)
    for line, answer in ((b"cyd\n", b"cyd\n"), (b"ada\nda", b""), (b"n\n", b"dan\n")):
        process.stdin.write(line)
        process.stdin.flush()
        assert process.stdout.readline() == answer if answer else True
    assert process.communicate() == (b"", b"check: 2 of 3 unknown\n")


@pytest.mark.parametrize("name", ["build", "add", "check"])
def test_an_interrupt_leaves_the_file(both, name):
    """Also while nobody reads what it prints."""
    npm = both.npm
    npm("build", FILTER, lines=b"ada\n")
    before = npm.read()
    process = npm.start(name, FILTER)
    process.stdin.write(b"cyd\n" * 30_000)
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == -signal.SIGINT and process.stderr.read() == b""
    assert npm.read() == before and os.listdir(npm.folder) == [FILTER]


def test_help_and_version(both, package):
    said = both.npm("--help").decode()
    for name in ("build", "check", "info", "add", "delete", "merge"):
        assert f"sqlite-cuckoo {name} " in said
        assert both.npm(name, "--help").startswith(b"usage: sqlite-cuckoo " + name.encode())
    assert both.npm("--version") == b"sqlite-cuckoo 1.2.3\n"


def test_a_pipe_that_does_not_wait(both):
    """Where another program has set O_NONBLOCK, a read says that there is nothing yet."""
    both.npm("build", FILTER, lines=b"ada\n")
    ours, theirs = os.pipe()
    os.set_blocking(ours, False)
    process = both.npm.start("check", FILTER, stdin=ours)
    subprocess.run(["sleep", "0.3"], check=True)
    os.write(theirs, b"cyd\n")
    os.close(theirs)
    assert process.communicate() == (b"cyd\n", b"check: 1 of 1 unknown\n")
    os.close(ours)
