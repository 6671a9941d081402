# SPDX-License-Identifier: MIT
"""sqlite-cuckoo with the lists that people have. The key of each line is beside it, so that no line is another key in silence."""
import base64
import gzip
import hashlib
import importlib.util
import io
import json
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import types

import pytest

import filter_process
import support
from test_command import FILTER, PACKAGE, Command, site  # noqa: F401

spec = importlib.util.spec_from_file_location("lists_of_the_command", PACKAGE / "lists.py")
LISTS = importlib.util.module_from_spec(spec)
spec.loader.exec_module(LISTS)
NODE = filter_process.WASM.exists() and shutil.which(filter_process.NODE)


@pytest.fixture(scope="module")
def npm(tmp_path_factory):
    folder = tmp_path_factory.mktemp("package")
    if NODE:
        filter_process.write_package(folder)
    return folder


def some_of(all_, n):
    """Every n-th, another one in each slice: a case takes a second. CUCKOO_ALL_LISTS=1 for all."""
    return all_ if os.environ.get("CUCKOO_ALL_LISTS") else all_[int(os.environ.get("CUCKOO_SLICE", 0)) % n::n]


@pytest.fixture(params=some_of(["python", "npm"][:2 if NODE else 1], 2 if NODE else 1))
def command(request, site, npm, tmp_path):  # noqa: F811
    one = Command(site, tmp_path)
    one.kind = request.param
    if request.param == "npm":
        one.program = [filter_process.NODE, str(npm / "cli.mjs")]
    return one


def said(command, *arguments, lines, status=0):
    """What is printed, and what is reported."""
    process = command.start(*arguments)
    printed, reported = process.communicate(lines)
    assert process.returncode == status, reported
    return printed, reported.decode()


# ---- a table of formats: a list of files, and the digest of each line ----

def files_of(folder, rng, number=25):
    """Files whose names are hard to read: digests, parentheses, backslashes, spaces, equal signs."""
    names = [f"{rng.getrandbits(128):032x}", f"main.{rng.getrandbits(128):032x}.js", f"a (b) = {rng.getrandbits(160):040x}", "back\\slash",
             "  two  spaces ", f"x={rng.getrandbits(256):064x}", "quote\"d", "é", f"{rng.getrandbits(128):032x}-1", "#hash", "a,b;c|d"]
    names += [f"file {rng.getrandbits(40):x}" for _ in range(number)]
    files = {}
    folder.mkdir()
    for name in names:
        files[name] = (folder / name).read_bytes() if (folder / name).exists() else rng.randbytes(20)
        (folder / name).write_bytes(files[name])
    return files


def tool(*words, algorithm=hashlib.md5, end=b"\n"):
    """A program of this machine, with the names of the files behind its words."""
    def lines(folder, files):
        if not shutil.which(words[0]):
            pytest.skip(f"{words[0]} is not there")
        ran = subprocess.run([*words, *files], cwd=folder, stdout=subprocess.PIPE, check=True)
        return list(zip(ran.stdout.split(end), [algorithm(content).hexdigest() for content in files.values()]))
    return lines


def blob(content):
    return hashlib.sha1(b"blob %d\0" % len(content) + content)


def git(*words):
    def lines(folder, files):
        for start in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "x"]):
            subprocess.run(["git", *start], cwd=folder, check=True)
        printed = subprocess.run(["git", *words], cwd=folder, stdout=subprocess.PIPE, check=True).stdout
        shutil.rmtree(folder / ".git")
        known = {blob(content).hexdigest() for content in files.values()}
        found = [next(one for one in known if one.encode() in line.split(b"\t")[0]) for line in printed.splitlines()]
        assert len(found) == len(files)
        return list(zip(printed.splitlines(), found))
    return lines


def written(template, algorithm, upper=False, headers=()):
    """A format by its template: {d} the digest, {b} it in base64, {m} another digest, {n} the name, {s} the size."""
    def lines(folder, files):
        made = [(header.encode(), None) for header in headers]
        for name, content in files.items():
            digest = algorithm(content)
            text = digest.hexdigest().upper() if upper else digest.hexdigest()
            line = template.format(d=text, b=base64.b64encode(digest.digest()).decode(), n=name, s=len(content),
                                   m=hashlib.sha256(b"other" + content).hexdigest(), m32=base64.b64encode(hashlib.sha512(content).digest()).decode())
            made.append((line.encode(), digest.hexdigest()))
        return made
    return lines


md5, sha1, sha224, sha256, sha384, sha512 = (getattr(hashlib, name) for name in ("md5", "sha1", "sha224", "sha256", "sha384", "sha512"))

FORMATS = {
    "md5sum": (tool("md5sum"), ()),
    "md5sum -b": (tool("md5sum", "-b"), ()),
    "sha1sum": (tool("sha1sum", algorithm=sha1), ()),
    "sha256sum --tag": (tool("sha256sum", "--tag", algorithm=sha256), ()),
    "sha384sum": (tool("sha384sum", algorithm=sha384), ()),
    "sha512sum -z": (tool("sha512sum", "-z", algorithm=sha512, end=b"\0"), ("-z",)),
    "b2sum": (tool("b2sum", algorithm=hashlib.blake2b), ()),
    "b2sum --tag": (tool("b2sum", "-l", "256", "--tag", algorithm=lambda content: hashlib.blake2b(content, digest_size=32)), ()),
    "shasum": (tool("shasum", "-a", "224", algorithm=sha224), ()),
    "openssl dgst": (tool("openssl", "dgst", "-sha256", algorithm=sha256), ()),
    "openssl dgst -r": (tool("openssl", "dgst", "-r", "-sha1", algorithm=sha1), ()),
    "git ls-files -s": (git("ls-files", "-s"), ()),
    "git ls-tree": (git("ls-tree", "HEAD"), ()),
    "hashdeep": (written("{s},{d},{m},/x/{n}", md5, headers=("%%%% HASHDEEP-1.0", "%%%% size,md5,sha256,filename", "## $ hashdeep -r x", "##")), ()),
    "hashdeep, sha256": (written("{s},{m32},{d},/x/n", sha256, headers=("%%%% HASHDEEP-1.0",)), ("--field", "3", "-d", ",")),
    "md5deep -z": (written("{s:>10}  {d}  /x/{n}", md5), ()),
    "rhash --bsd": (written("SHA-256 ({n}) = {d}", sha256), ()),
    "rhash, capitals": (written("{d}  {n}", sha1, upper=True, headers=("; Generated by RHash v1.4.3 on 2026-11-29 at 10:00.03",)), ()),
    "rhash --magnet": (written("magnet:?xl={s}&dn=x&xt=urn:md5:{d}&xt=urn:sha256:{m}", md5), ()),
    "mtree": (written("    {n} mode=0644 size={s} time=1.0 sha256digest={d} \\", sha256, headers=("#mtree", "/set type=file uid=0", ". type=dir", "..")), ()),
    "NSRL RDS 2": (written('"{d}","00112233445566778899AABBCCDDEEFF","0A1B2C3D","x",{s},1,"358",""', sha1, upper=True,
                           headers=('"SHA-1","MD5","CRC32","FileName","FileSize","ProductCode","OpSystemCode","SpecialCode"',)), ()),
    "NSRL RDS 2, MD5": (written('"{m}","{d}","0A1B2C3D","a, ""b""\nc",{s},1,"358",""', md5, upper=True,
                                headers=('"SHA-1","MD5","CRC32","FileName","FileSize","ProductCode","OpSystemCode","SpecialCode"',)),
                        ("--csv", "md5", "--digests")),
    "HIBP": (written("{d}:{s}", sha1, upper=True), ()),
    "hfind": (written("{d}\t/x/y", md5, headers=("Hash Not Found",)), ()),
    "package-lock.json": (written('      "integrity": "sha512-{b}",', sha512, headers=('{{"lockfileVersion": 3,', '      "version": "1.0.0",')), ()),
    "npm, sha1 and sha384": (written('"integrity": "sha384-{b}"', sha384), ()),
    "yarn.lock": (written('  resolved "https://registry.yarnpkg.com/a/-/a-1.0.0.tgz#{d}"', sha1, headers=("# yarn lockfile v1", 'a@^1.0.0:')), ()),
    "pip": (written("    --hash=sha256:{d} \\", sha256, headers=("a==1.0 \\",)), ()),
    "Debian Packages": (written("SHA256: {d}", sha256, headers=("Package: a", "Version: 1.0")), ()),
    "Debian .dsc": (written(" {d} {s} {n}", md5, headers=("Files:",)), ()),
    "debsums": (written("{d}  usr/share/x/y", md5), ()),
    "Get-FileHash": (written('"SHA256","{d}","C:\\x\\y"', sha256, upper=True, headers=('"Algorithm","Hash","Path"',)), ()),
    "Get-FileHash, a table": (written("SHA256          {d}       C:\\x\\y", sha256, upper=True,
                                      headers=("Algorithm       Hash       Path", "---------       ----       ----")), ()),
    "docker": (written("registry/a@sha256:{d}", sha256), ()),
    "JSON": (written('{{"name": "x", "SHA-1": "{d}", "size": {s}}},', sha1, upper=True, headers=("[",)), ()),
    "0x": (written("x,0x{d};", sha256), ()),
    "AIDE": (written("/usr/share/zoneinfo/Asia/Kolkata 0 1073746341 9437184 33188 MTc2NDQwMTQwMg== {s} 0 {b} {m32} 0", sha256,
                     headers=("@@begin_db", "# This file was generated by Aide, version 0.18.3", "@@db_spec name lname attr size sha256 sha512")),
             ("--digests=base64",)),
    "cksum --base64": (written("SHA256 ({n}) = {b}", sha256), ("--digests=base64",)),
    "tabs": (written("x\t{n}\t{d}", sha256), ("--field", "3", "-d", "\\t")),
}


@pytest.mark.parametrize("name", some_of(list(FORMATS), 5))
def test_a_format(command, name, rng, tmp_path):
    """The filter is that of the bare digests; each known line is known, each other line is unknown and printed as it is."""
    lines_of, options = FORMATS[name]
    options = options if {"--digests=base64", "--field", "--digests"} & set(options) else ("--digests", *options)
    end = b"\0" if "-z" in options else b"\n"
    inside, outside = (lines_of(tmp_path / part, files_of(tmp_path / part, rng)) for part in ("inside", "outside"))
    assert len(inside) > 25
    lines, others = (b"".join(line + end for line, _ in some) for some in (inside, outside))
    keys = [key for _, key in inside if key]
    _, reported = said(command, "build", FILTER, "--fpr", "1e-8", *options, lines=lines)
    without = len(inside) - len(keys) - ("--csv" in options)
    assert f"{len(keys)} keys" in reported and (f"; {without} line" in reported) == bool(without), reported
    if "--digests" in options:
        assert f"digests of {len(keys[0])} digits" in reported
    said(command, "build", "bare", "--fpr", "1e-8", lines="\n".join(keys).encode())
    assert command.read() == command.read("bare")
    unknown = b"".join(line + end for line, key in outside if key)
    assert said(command, "check", FILTER, *options, lines=others)[0] == unknown
    windows = others.replace(b"\n", b"\r\n") if end == b"\n" else others
    printed, reported = said(command, "check", "-1", FILTER, *options, lines=lines + windows[windows.find(b"\n") + 1 if "--csv" in options else 0:])
    assert printed == b"".join(line + end for line, key in inside if key)
    said(command, "delete", FILTER, *options, lines=lines)
    assert json.loads(command("info", FILTER))["items"] == 0


def test_the_digest_of_a_line(command):
    """Runs of other lengths, and those within other words, are no digests."""
    a, b, c = "a" * 32, "b" * 40, "c" * 64
    for line, key in ((f"{a} {b}", a), (f"{'d' * 31} {b}", b), (f"{'d' * 33} {b}", b), (f"x{a} {b}", b), (f"{a}x {b}", b),
                      (f"/x/{a}/y {b}", b), (f"{a}.txt {b}", b), (f"({a}) {b}", a), (f"'{c.upper()}'", c), (f"0X{a}", a), (f"\\{a}  x\\\\y", a),
                      (f"MD5 ({b}) = {a}", a), (f"MD5({b})= {a}", a), (f"\\MD5 ({b}) = {a}", a), (f"{b}:1 (x) = {a}", b),
                      (f"{b} sha1digest={b} md5digest={a}", b), (f"x/{b} md5digest=0x{a}", a), (f"https://x/{a}?md5={b}", b)):
        said(command, "build", FILTER, "--digests", lines=line.encode())
        said(command, "build", "bare", lines=key.encode())
        assert command.read() == command.read("bare"), line
    for line in ("d" * 31, "d" * 33, "e" * 57, "f" * 129, f"{a}g", f"_{a}", f"{a}-1", "sha512-" + "A" * 40):
        command("build", FILTER, "--digests", lines=line.encode(), status=2, says="build: standard input: no key in 1 line; with --allow-empty")


def test_fields(command):
    lines = b"1  ada\tx\n2\tbob y\n3\n\n4 cyd\n"
    assert said(command, "build", FILTER, "--field", "2", lines=lines)[1].endswith("; 1 line without a field\n")
    assert said(command, "check", "-1", FILTER, lines=b"1\nada\nx\nbob\ncyd\n")[0] == b"ada\nbob\ncyd\n"
    assert said(command, "check", FILTER, lines=b"1 ada\n2 bob\n")[1].endswith("\nhint: the keys are fields: use --field, as when it was built\n")
    assert said(command, "check", FILTER, "--field", "1", "-d", "::", lines=b"ada::x\neve::ada\n")[0] == b"eve::ada\n"
    assert said(command, "check", FILTER, "--field", "2", "--separator", ",", lines=b"1,ada\n2, ada\n")[0] == b"2, ada\n"
    command("build", FILTER, "--field", "0", lines=lines, status=2, says="--field.* is a whole number, 1 or more, not 0")


def test_columns_of_csv(command, rng):
    """Records with quotes, separators and newlines, in pieces of any size."""
    names = [rng.choice(["a", "b\nc", 'q"q', "d,e", " f", ""]) + str(number) for number in range(30000)]
    quoted = ['"' + name.replace('"', '""') + '"' for name in names]
    lines = '"Id",Name ,x\n' + "".join(f'{number},{name},"y\n"\n' for number, name in enumerate(quoted))
    said(command, "build", FILTER, "--fpr", "1e-7", "--csv", "name", lines=lines.encode())
    said(command, "build", "bare", "--fpr", "1e-7", "-z", lines="\0".join(names).encode())
    assert command.read() == command.read("bare")
    some = 'name;y\n"b\nc2";1\nnone;"2\n"\n'
    printed, reported = said(command, "check", FILTER, "--csv", "name", "-d", ";", lines=some.encode())
    assert printed in (b'none;"2\n"\n', b'"b\nc2";1\nnone;"2\n"\n') and reported.startswith(f"check: {1 + ('b' + chr(10) + 'c2' not in names)} of 2 unknown")
    command("check", FILTER, "--csv", "sha1", lines=lines.encode(), status=2, says="check: standard input: there is no column sha1; the first line names: ")
    command("check", FILTER, "--csv", "name", "-d", ";;", lines=some.encode(), status=2, says="with --csv a separator has one character")
    for part in ('"', '"b\nc', '"b""', '"' + "x\n" * 200000):
        command("check", FILTER, "--csv", "name", lines=f"name,y\na,b\n{part}\nd,e\n".encode(), status=2, says="CSV: a quote of the last record is not closed")


HOSTS = b"""\
# a hosts file
127.0.0.1 localhost
::1 ip6-localhost
0.0.0.0 Ads.Example.com # tracks
0.0.0.0\ttwo.example.net three.example.net
[Adblock Plus 2.0]
! a comment
||tracker.org^
||cdn.tracker.net^$third-party
||pages.example.org/path
||some.example.org^$domain=x.org
@@||allowed.example.org^
example.org##.banner
*.wild.example
plain.example.
"""


def test_domains(command):
    assert said(command, "build", FILTER, "--fpr", "1e-6", "--hosts", lines=HOSTS)[1].startswith("build: 15 lines, 7 keys")
    asked = b"""ads.example.com\nx.y.ADS.example.com.\nexample.com\nhttps://user@www.tracker.org:8080/x?y\ncdn.tracker.net:443\ntracker.net
two.example.net\nthree.example.net\nfour.example.net\nwild.example\na.wild.example\nplain.example\npages.example.org\nsome.example.org
allowed.example.org\nexample.org\ncom\n1.2.3.4\nlocalhost\nads.example.com.evil.test\nnotplain.example\n"""
    blocked = [b"ads.example.com", b"x.y.ADS.example.com.", b"https://user@www.tracker.org:8080/x?y", b"cdn.tracker.net:443", b"two.example.net",
               b"three.example.net", b"wild.example", b"a.wild.example", b"plain.example"]
    assert said(command, "check", "-1", "--domain", FILTER, lines=asked)[0].splitlines() == blocked
    assert said(command, "check", "--domain", FILTER, lines=asked)[0].splitlines() == [line for line in asked.splitlines() if line not in blocked]
    assert said(command, "check", "--hosts", FILTER, lines=HOSTS, status=1)[0] == b""
    for labels in (130, 20000):  # no domain has more than 253 bytes
        assert said(command, "check", "-1", "--domain", FILTER, lines=b"a." * labels + b"tracker.org\ntracker.org\n")[0] == b"tracker.org\n"
    both = b"0.0.0.0 two.example.net unknown.example\n"  # a line of two domains is known when both are
    assert said(command, "check", "--hosts", FILTER, lines=both)[0] == both
    printed, reported = said(command, "check", "-1", "--domain", FILTER, "--field", "2", lines=b"10:00 a.tracker.org A\n10:01 b.example AAAA\n")
    assert printed == b"10:00 a.tracker.org A\n" and reported == "check: 1 of 2 unknown\n"
    assert said(command, "check", "--domain", FILTER, lines=b"0.0.0.0 tracker.org\nx.org\n") == (b"x.org\n", "check: 1 of 1 unknown; 1 line without a domain\n")


# ---- several filters ----

def test_several_filters_in_one_question(command):
    for name in "abc":
        said(command, "build", name, "--fpr", "1e-6", lines=f"{name}1\n{name}2\n".encode())
    asked = b"c2\na1\nd1\nb1\n"
    assert said(command, "check", "a", "b", "c", lines=asked) == (b"d1\n", "check: 1 of 4 unknown\n")
    assert said(command, "check", "-1", "a", "c", lines=asked)[0] == b"c2\na1\n"
    assert said(command, "check", "-c", "b", "a", lines=asked)[0] == b"2\n"
    command("check", "a", "missing", lines=asked, status=2, says="^sqlite-cuckoo check: missing: (?i:no such file)")
    command.write(b"x", "bad")
    command("check", "a", "bad", lines=asked, status=2, says="^sqlite-cuckoo check: bad: it is not a filter; if it is a list, ")
    assert said(command, "check", "-1", "a", "-c", "b", lines=asked)[0] == b"2\n"


# ---- labels ----

def sums_of(algorithm, first, end):
    return b"".join(hashlib.new(algorithm, b"%d" % i).hexdigest().encode() + b"  ./path/%d\n" % i for i in range(first, end))


def test_a_file_says_what_its_keys_look_like(command, db):
    """The label stays behind the filter, and SQL reads the file as it is."""
    upper = sums_of("sha1", 0, 9).upper()
    for options, lines, label in (((), b"ada\n", "lines"), (("--field", "1"), b"ada x\n", "fields"), (("--csv", "a"), b"a\nb\n", "column a"), (("--csv", "a; b"), b"a; b\n1\n", "fields"),
                                  (("--hosts",), b"a.example\n", "domains"), (("--digests",), upper, "digests of 40 digits, lower case"),
                                  (("--field", "1", "--digests"), upper + sums_of("md5", 0, 9), "digests of 32 and 40 digits, lower case")):
        said(command, "build", FILTER, *options, lines=lines)
        assert command.label() == label + "; 1970-01-02"
        assert json.loads(command("info", FILTER))["label"] == command.label()
        whole = (command.folder / FILTER).read_bytes()
        for call in ("cf_contains(?1, 'ada')", "cf_contains((SELECT cf_open(?1)), 'ada')", "cf_check(?1)", "cf_info(?1)", "cf_add(?1, 'eve')",
                     "cf_merge(?1, ?1)", "cf_add_keys(?1, cf_keys('eve'))", "cf_delete_keys(?1, cf_keys('ada'))"):
            assert support.ask(db, f"SELECT {call}", whole) == support.ask(db, f"SELECT {call}", command.read()), call
    db.execute("CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=100)")
    db.execute("INSERT INTO seen(seen, key) VALUES ('import', ?)", (whole,))
    assert support.ask(db, "SELECT cf_export('seen') = ?", command.read()) == 1
    command("build", FILTER, "--allow-empty")
    assert command.label() == "lines; 1970-01-02"


def test_labels_of_changed_and_merged_filters(command):
    for name, algorithm in (("a", "md5"), ("b", "sha256"), ("lines", None)):
        lines = sums_of(algorithm, 0, 20) if algorithm else b"ada\n"
        said(command, "build", name, "--options", "capacity=99", *(["--digests"] if algorithm else []), lines=lines)
    said(command, "merge", "sum", "a", "b", lines=b"")
    assert command.label("sum") == "digests of 32 and 64 digits, lower case; 1970-01-02"
    said(command, "merge", "other", "a", "lines", lines=b"")
    assert command.label("other") == ""
    said(command, "add", "a", "--digests", lines=sums_of("sha1", 0, 20))
    assert command.label("a").startswith("digests of 32 and 40 digits")
    said(command, "delete", "a", "--digests", lines=sums_of("sha1", 0, 20))
    assert command.label("a").startswith("digests of 32 and 40 digits")
    command.write(command.read("a"), "none")  # as SQL writes it
    said(command, "add", "none", "--digests", lines=sums_of("sha1", 0, 20))
    assert command.label("none") == "" and "label" not in json.loads(command("info", "none"))
    before = command.read("a")
    some = sums_of("md5", 30, 33)
    for lines in (b"ada\n", some, some[:32].upper() + b"\n", some[:33] + b"\n" + b"ada\n"):  # --digests forgotten
        for name in ("add", "delete"):
            printed, reported = said(command, name, "a", lines=lines, status=2)
            assert re.search("the keys are digests of 32 and 40 digits, and '.*' is none; use --digests\n$", reported)
            assert command.read("a") == before
    command(*"add a --hosts".split(), lines=b"0.0.0.0 ads.example\n", status=2, says="digests of 32 and 40 digits, and 'ads.example' is none$")
    said(command, "add", "a", lines=some[:32] + b"\n\n")
    assert command.label("a").startswith("digests of 32 and 40 digits")
    said(command, "build", "d", "--hosts", lines=b"0.0.0.0 ads.example\n")
    for name, *given in (("add", "d"), ("delete", "d"), ("add", "d", "--digests"), ("check", "d", "--digests")):
        command(name, *given, lines=b"0.0.0.0 " + some, status=2, says=f"^sqlite-cuckoo {name}: d: the keys are domains, and .* (none|one)(; use --hosts)?$")
    said(command, "add", "d", lines=b"new.example\n")
    assert command.label("d").startswith("domains; ")
    for given in ((), ("--domain",)):
        assert said(command, "check", "d", *given, lines=b"localhost\n192.0.2.1\n")[0] == b"localhost\n192.0.2.1\n"
    assert said(command, "check", "d", lines=b"www.new.example\n")[1].endswith(
        "\nhint: the keys are domains: with --domain a line is known if a domain above it is\n")
    said(command, "build", "l", lines=b"ada\n")
    assert said(command, "add", "l", "--digests", lines=some)[1].startswith(
        "sqlite-cuckoo add: l: the keys were lines, and these are digests of 32 digits, lower case: its label goes\nadd: 3 lines")
    assert command.label("l") == ""
    said(command, "build", "c", "--csv", "e mail", lines=b"name,e mail\nada,a@b\n")
    for given, lines in (((), b"a@b,ada\n"), (("--csv", "name"), b"name\nada\n"), (("--field", "2"), b"x y\n")):
        assert said(command, "check", "c", *given, lines=lines)[1].endswith("\nhint: the keys are of the column e mail: use --csv 'e mail'\n")
    assert said(command, "build", "one", "--capacity", "9", lines=b"ada\n")[1].startswith("build: 1 line, ")
    assert said(command, "build", "two", "--capacity", "9", "--digests", lines=some[:32] + b"\n")[1].startswith("build: 1 line, ")
    assert said(command, "build", "many", "--capacity", "9", lines=b"%d\n" * 10 % (*range(10),))[1].startswith("build: 10 lines (more keys than --capacity), 10 keys, ")
    assert said(command, "merge", "both", "one", "two", lines=b"")[1].startswith(
        "merge: 2 filters without a common label, 2 keys, ")
    assert command.label("both") == ""


def test_digests_of_another_length(command):
    """They are reported as soon as they come, and when there are no others, that is an error."""
    for name, algorithm in ((FILTER, "sha256"), ("md5", "md5")):
        said(command, "build", name, "--digests", "--fpr", "1e-6", lines=sums_of(algorithm, 0, 50))
    before, other, mixed = command.read(), sums_of("md5", 0, 9), sums_of("sha1", 0, 5) + sums_of("md5", 0, 9) + sums_of("sha256", 45, 51)
    none = f"sqlite-cuckoo check: {FILTER}: the keys are digests of 64 digits, and no line has one"
    tells = "sqlite-cuckoo check: standard input: digests of {} digits; " + FILTER + " has digests of 64 digits\n"
    assert said(command, "check", FILTER, "--digests", lines=other, status=2) == (b"", tells.format(32) + none + "\n")
    assert said(command, "check", FILTER, "--quiet", "--field", "1", lines=other, status=2) == (b"", none + "\n")
    assert said(command, "check", FILTER, lines=other, status=2) == (b"", none.replace("has one", "is one") + "; use --digests\n")
    assert said(command, "check", FILTER, "--digests", "--allow-empty", lines=b"\n", status=1) == (b"", "check: 0 of 0 unknown\n")
    assert said(command, "check", FILTER, lines=sums_of("md5", 0, 99) + b"x\n" * 10**6, status=2)[0] == b""
    assert said(command, "check", FILTER, lines=b"x\n" + sums_of("sha256", 9, 10)[:64] + b"\n")[0] == b"x\n"
    bare = b"".join(line[:64] + b"\n" for line in sums_of("sha256", 49, 51).splitlines())
    assert said(command, "check", FILTER, lines=bare)[0] == bare[65:]
    printed, reported = said(command, "check", FILTER, "--digests", lines=mixed)
    assert printed.splitlines() == mixed.splitlines()[:14] + mixed.splitlines()[-1:] and reported.startswith(tells.format("32 and 40") + "check: 15 of 20 unknown")
    assert said(command, "check", FILTER, "md5", "--digests", lines=other, status=1)[0] == b""
    command.write(command.read("md5"), "none")
    assert said(command, "check", FILTER, "none", "--digests", lines=sums_of("sha1", 0, 2))[0] == sums_of("sha1", 0, 2)
    command("delete", FILTER, "--digests", lines=mixed, status=2,
            says=f"^sqlite-cuckoo delete: standard input: digests of 32 and 40 digits; {FILTER} has digests of 64 digits$")
    assert command.read() == before
    stream = command.start("check", FILTER, "--digests")
    stream.stdin.write(other)
    stream.stdin.flush()
    assert stream.stderr.readline().decode() == tells.format(32)  # before the end
    stream.communicate()


# ---- what is reported ----

def numbered(first, end):
    return b"".join(b"%d x\n" % i for i in range(first, end))


def test_reports(command):
    reported = said(command, "build", FILTER, "--fpr", "1e-4", lines=numbered(0, 2000) + b"7 x\n")[1]
    assert re.fullmatch(rf"build: 2,001 lines, 2,000 keys, {len(command.read()) / 1000:.1f} kB, 1 in 1\d,000 false positives\n", reported)
    assert said(command, "check", FILTER, lines=numbered(1900, 2100))[1] == "check: 100 of 200 unknown\n"
    assert said(command, "add", FILTER, lines=numbered(2000, 2010))[1].startswith("add: 10 lines, 2,010 keys, ")
    assert said(command, "delete", FILTER, lines=numbered(2005, 2012))[1].startswith("delete: 7 lines, 2 not found; 2,005 keys, ")
    assert said(command, "merge", "sum", FILTER, FILTER, lines=b"")[1].startswith("merge: 2 filters, ")
    for name in ("build", "add", "delete", "check"):
        assert said(command, name, FILTER, "--quiet", lines=numbered(0, 20), status=int(name == "check"))[1] == ""


def test_reports_for_programs(command):
    one = json.loads(said(command, "build", FILTER, "--json", "--digests", lines=b"a" * 32 + b"\nx\n\n")[1])
    assert {name: one[name] for name in ("command", "lines", "without_key", "keys", "bytes")} == {
        "command": "build", "lines": 3, "without_key": 1, "keys": 1, "bytes": len(command.read())} and 0 < one["fpr"] < 0.01
    assert json.loads(said(command, "delete", FILTER, "--json", lines=b"b" * 32 + b"\n")[1])["not_found"] == 1
    said(command, "build", FILTER, lines=b"ada\n")
    one = json.loads(said(command, "check", FILTER, "--json", lines=numbered(0, 200))[1])
    assert (one["unknown"], one["known"], one["lines"]) == (200, 0, 200) and one["hint"].startswith("nearly all are unknown: ")


SUMS = b"".join(hashlib.sha1(b"%d" % i).hexdigest().encode() + b"  ./path/%d\n" % i for i in range(300))
BARE = b"".join(line[:40] + b"\n" for line in SUMS.splitlines())


@pytest.mark.parametrize("inside, asked, options, hint", [
    (BARE, SUMS, (), "the digests of these lines are known: use --digests"),
    (BARE, BARE.upper(), (), "the digests of these lines are known: use --digests"),
    (b"known line\n" * 1 + numbered(0, 200), numbered(0, 200).upper(), (), "they are known in lower case: convert them, as by tr A-Z a-z"),
    (BARE.upper(), BARE, (), "they are known in capitals: convert them, as by tr a-z A-Z, or rebuild the filter with --options collation=nocase"),
    (BARE.upper(), SUMS, ("--digests",), "their digests are known in capitals: convert them, as by tr a-f A-F, or rebuild the filter with --digests"),
    (SUMS, SUMS, ("--digests",), "whole lines are known: leave out --digests, --field or --csv"),
    (numbered(0, 300).replace(b" x", b""), numbered(0, 300), (), "their first fields are known: use --field 1"),
    (BARE, b"".join(b"%032x\n" % i for i in range(100)), ("--digests",), "nearly all are unknown: the lines of the filter may have "
     "other letter case, other columns or digests of another length (its label: lines; 1970-01-02)")], ids=range(8))
def test_a_hint_when_nearly_all_are_unknown(command, inside, asked, options, hint):
    said(command, "build", FILTER, lines=inside)
    assert said(command, "check", "-c", FILTER, *options, lines=asked)[1].endswith(f"\nhint: {hint}\n")
    few = b"\n".join(asked.splitlines()[:99])
    assert ("hint: " + hint in said(command, "check", FILTER, *options, lines=few)[1]) == (not hint.startswith("nearly"))
    mixed = (inside + asked)[:len(inside) + len(asked) // 2]
    assert "hint" not in said(command, "check", FILTER, lines=mixed)[1]
    assert said(command, "check", FILTER, "--quiet", *options, lines=asked)[1] == ""


# ---- lists that are none ----

def test_gzip_is_read(command):
    lines = numbered(0, 50_000)
    said(command, "build", "plain", lines=lines)
    half = len(lines) // 2
    for packed in (gzip.compress(lines), gzip.compress(lines[:half]) + gzip.compress(lines[half:])):
        said(command, "build", FILTER, lines=packed)
        assert command.read() == command.read("plain")
        assert said(command, "check", FILTER, lines=packed, status=1)[0] == b""
    for bad in (packed[:-9], gzip.compress(lines)[:1000], b"\x1f\x8b" + lines):
        command("build", FILTER, lines=bad, status=2, says="^sqlite-cuckoo build: standard input: gzip: ")
    assert command.read() == command.read("plain")


@pytest.mark.parametrize("name", some_of(["build", "add", "delete", "check"], 4))
def test_what_is_no_list_is_refused(command, name):
    said(command, "build", FILTER, lines=b"ada\n")
    before = command.read()
    sqlite3.connect(command.folder / "x.db").execute("CREATE TABLE t(x)").connection.commit()
    kinds = [(bytes.fromhex("28b52ffd0458"), "zstdcat"), (bytes.fromhex("fd377a585a000004"), "xzcat"), (b"BZh91AY&SY", "bzcat"),
             (b"PK\3\4\x14", "unzip -p"), ((command.folder / "x.db").read_bytes(), "--db"), (before, "sqlite-cuckoo merge"),
             (b"a\0b\0", "NUL byte.*use -z"), (b"ada\nb\0c\n", "NUL byte.*use -z"), (b"", "is empty; with --allow-empty that is no error")]
    for program in ("zstd", "xz", "bzip2"):
        if shutil.which(program):
            kinds.append((subprocess.run([program, "-c"], input=b"ada\n", stdout=subprocess.PIPE, check=True).stdout, "cat"))
    for content, says in kinds:
        for options in ((), ("--digests",)):
            command(name, FILTER, *options, lines=content, status=2, says=f"^sqlite-cuckoo {name}: standard input:? .*{says}")
    command(name, FILTER, "--digests", lines=b"ada\nbob\n", status=2, says="standard input: no key in 2 lines; with --allow-empty that is no error$")
    assert command.read() == before


def test_lines_that_end_with_nul(command):
    names = [b"a\nb", b"c\r\n", b" ", b"\"\\", b"\xff", b"d"]
    said(command, "build", FILTER, "--fpr", "1e-6", "-z", lines=b"\0".join(names) + b"\0\0")
    assert json.loads(command("info", FILTER))["items"] == len(names)
    assert said(command, "check", "--null", "-1", FILTER, lines=b"d\0a\nb\0e\0c\r\n")[0] == b"d\0a\nb\0c\r\n\0"
    assert said(command, "check", "-z", FILTER, lines=b"d\0a\0")[0] == b"a\0"


def test_a_query_needs_no_options_for_lines(command):
    if command.kind == "npm":
        pytest.skip("it has no --db")
    sqlite3.connect(command.folder / "x.db").execute("CREATE TABLE t(x)").connection.commit()
    command("build", FILTER, "--digests", "--db", "x.db", "SELECT x FROM t", status=2, says="--db takes no options for lines; write the key in the query")
    command("build", FILTER, "--db", "x.db", "SELECT x FROM t", status=2, says="build: the query gives no key; with --allow-empty that is no error$")
    command("build", FILTER, "--allow-empty", "--db", "x.db", "SELECT x FROM t")


# ---- published sets, as the manual says ----

@pytest.mark.skipif(not shutil.which("jq"), reason="jq is not there")
def test_recipes_of_the_manual(command):
    """The examples of the page with the formats of HIBP, CIRCL and MISP; NSRL is in the examples of --help."""
    page = (PACKAGE.parents[1] / "man/sqlite-cuckoo.1").read_text()
    recipes = [recipe.replace("\\e\n", "").replace("|\n", "| ") for recipe in re.findall(r"^\$ (.*(?:\n +.*)*)", page, re.M)]
    hashes = [hashlib.sha1(b"%d" % i).hexdigest() for i in range(6)]
    (command.folder / "lists/tranco").mkdir(parents=True)
    for name, text in {
            "pwnedpasswords.txt": "".join(f"{one.upper()}:{i + 3}\r\n" for i, one in enumerate(hashes[:3])),
            "range": "".join(f"{one[5:].upper()}:{i}\r\n" for i, one in enumerate(hashes[3:5])),
            "records.json": "".join(json.dumps({"FileName": "x", "MD5": "0" * 32, "SHA-1": one.upper(), "SHA-256": "1" * 64}) + "\n" for one in hashes[:4]),
            "hosts.txt": "0.0.0.0 ads.example.com\n", "domains.txt": "a.ads.example.com\nwww.example.org\nexample.net\n",
            "lists/tranco/list.json": json.dumps({"name": "Top 10K", "type": "hostname", "list": ["example.org", "example.com"][:1], "version": 1})}.items():
        (command.folder / name).write_text(text)
    program, printed = command.program, {}
    for recipe in recipes:
        if re.search("pwned|records|tranco|blocked", recipe):
            words = recipe.replace("https://api.pwnedpasswords.com/range/21BD1", "file://$PWD/range").replace("s/^/21BD1/", f"s/^/{hashes[3][:5].upper()}/")
            command.program = ["sh", "-ec", words.replace("sqlite-cuckoo", shlex.join(program)).replace("curl", "curl -s")]
            printed[recipe.split(" ")[1] if recipe.startswith("sqlite") else recipe.split(" ")[0]] = command()
    command.program = program
    assert printed["check"] == b"a.ads.example.com\nwww.example.org\n"
    asked = "\n".join(hashes).encode()
    assert said(command, "check", "-1", "circl.cuckoo", lines=asked)[0].split() == asked.split()[:4]
    assert said(command, "check", "-1", "pwned.cuckoo", lines=asked)[0].split() == asked.split()[:4]


# ---- both commands have one set of rules ----

KEYS_IN_NODE = """\
import fs from 'node:fs';
const { Lines } = await import(process.argv[1]);
const given = new Lines(process.argv[2], JSON.parse(process.argv[3]), (size) => { const b = Buffer.alloc(size); return b.subarray(0, fs.readSync(0, b)); });
const all = [];
for (const { keys } of given.pieces()) all.push(...keys.map((key) => Buffer.from(key.bytes ?? key).toString('latin1')));
process.stdout.write(JSON.stringify([all, given.lines, given.without]));
"""
PARTS = ["a" * 32, "B" * 40, "c" * 56, "D" * 64, "e" * 128, "f" * 33, "0x", "\\", " ", " ", "\t", ",", '"', "'", "=", ") = ", "(", "SHA256 (", "sha512-",
         base64.b64encode(b"x" * 64).decode(), base64.b64encode(b"y" * 32).decode(), base64.b64encode(b"z" * 16).decode(), "md5=", "sha256digest=", ":", ".",
         "-", "#", "/", "||", "^", "$important", "$3p,all", "$domain=x", "example.com", "A.B.", "*.", "127.0.0.1 ", "::1 ", "https://", "user@", "[::1]", "@@",
         "é", "\xa0", "x", "1", "\r", "\x1c", "\x85"]
DOMAINS = ["example.com", "example.com", "A.B.", "*.", "||", "^", "$important", "$3p,all", "/path", "127.0.0.1 ", "::1\t", " ", "#", " # x", "@@", "!", "-", "_", "é", "\xa0", "."]


def lines_in(kind, options):
    """Lines of the command, without the command."""
    names = {"digests": "hex", "digests=base64": "base64"}
    progress = types.SimpleNamespace(lines=0, bytes=0, size=0, show=lambda: None)
    separator = options.get("separator")
    arguments = types.SimpleNamespace(null=options.get("null"), keys=names.get(kind, kind), field=options.get("field"), csv=options.get("csv"),
                                      separator=separator and separator.encode())
    return LISTS.Lines(arguments, progress)


def keys_in(kind, options, content):
    given, keys = lines_in(kind, options), []
    given.stream = io.BufferedReader(io.BytesIO(content))
    while given.piece() is not None:
        keys += [key for key in given.keys_of_lines() if key]
    return given, keys


def test_digests_of_many_lines_at_once(rng):
    """The same as line by line, or left to that; and pieces whose lines have one form are not left."""
    given, at_once = lines_in("digests", {}), 0
    for _ in range(20000):
        form = [rng.choice(PARTS) for _ in range(rng.randrange(1, 5))]
        lines = []
        for _ in range(rng.randrange(1, 5)):
            parts = [rng.choice(PARTS) if rng.random() < 0.1 else part for part in form]
            lines.append("".join("".join(rng.sample(part, len(part))) if len(part) > 31 and rng.random() < 0.5 else part for part in parts).encode())
        given.joined, given.keys = b"\n".join(lines), None
        text, expected = given.at_once(), [LISTS.digest(line) for line in lines]
        assert text in (None, b"\n".join(expected) + b"\n") and (text is None or given.keys == expected), lines
        at_once += text is not None
    assert at_once > 400
    for form in ("{} *name", "\\{}  back\\\\slash", "SHA1 (a = (b) {}) = {}", "100644 {} 0\tname", '"{}","x"', "12345,{},/x", "{}:5", "0x{}"):
        given.joined = b"\n".join(form.format(*[f"{rng.getrandbits(160):040X}"] * 2).encode() for _ in range(9))
        assert given.at_once() == b"".join(LISTS.digest(line) + b"\n" for line in given.joined.split(b"\n")), form


@pytest.mark.skipif(not NODE, reason="node or build/filter.wasm is not there")
@pytest.mark.parametrize("kind, options", [("digests", {}), ("digests=base64", {}), ("hosts", {}), ("domain", {}), (None, {"field": 2}), ("digests", {"field": 1}),
                                           (None, {"field": 3, "separator": ","}), (None, {"csv": "b"}), (None, {"csv": "B", "separator": "\t"}), ("domain", {"csv": "a"}),
                                           ("digests", {"null": True})], ids=str)
def test_the_rules_are_those_of_the_other_command(npm, rng, kind, options):
    lines = ["".join(rng.choices(PARTS, k=rng.randrange(1, 8))) for _ in range(9000)]
    if kind == "hosts":
        lines = ["".join(rng.choices(DOMAINS, k=rng.randrange(1, 6))) for _ in range(9000)]
    if "csv" in options:
        lines = ["".join(rng.choices(["x", '""', ",", "\t", " ", "é", "y" * 9], k=rng.randrange(8))) for _ in range(4000)]
        lines = ["a,b,c\ta\tb"] + [f'1,"{line}\n{line}"\t"{line}"' if rng.random() < 0.3 else line.replace('"', "") for line in lines]
    content = ("\0" if "null" in options else "\n").join(lines).encode()
    try:
        given, keys = keys_in(kind, options, content)
    except LISTS.Failure as error:
        assert "csv" in options and "not closed" in str(error)
        content += b'\n"'
        given, keys = keys_in(kind, options, content)
    ran = subprocess.run([filter_process.NODE, "--input-type=module", "-e", KEYS_IN_NODE, str(npm / "lists.mjs"), *([kind] if kind else ["none"]), json.dumps(options)],
                         input=content, stdout=subprocess.PIPE, check=True)
    theirs, count, without = json.loads(ran.stdout)
    assert [key.encode("latin-1") for key in theirs] == keys
    assert (count, without) == (given.progress.lines, given.without) and len(keys) > 50
