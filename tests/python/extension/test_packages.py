# SPDX-License-Identifier: MIT
"""The packages that make dist makes: what is in them, for which machines they are, and that the same files give the same
bytes. make test-packages installs them."""
import base64
import csv
import email
import hashlib
import importlib.util
import io
import json
import os
import re
import shutil
import sqlite3
import struct
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import functions
import support

ROOT = Path(support.ROOT).resolve()
PACKAGES = ROOT / "ext/packages"
VERSION = re.search(r'CUCKOO_VERSION "(.*)"', (ROOT / "src/include/version.h").read_text())[1]


SOURCES = ("cuckoo.c", "cuckoo_filter.h", "LICENSE")  # of the folder that dist.py reads


def module(name):
    spec = importlib.util.spec_from_file_location(name, PACKAGES / f"{name}.py")
    made = importlib.util.module_from_spec(spec)
    sys.modules[name] = made
    spec.loader.exec_module(made)
    return made


binaries, project = module("binaries"), module("project")
NOBODY = {**dict.fromkeys(project.KEYS, "<something>"), "pypi": "sqlite-cuckoo", "npm": "sqlite-cuckoo"}
SOMEBODY = {**NOBODY, "repository": "https://example.org/cuckoo", "homepage": "https://example.org", "owner": "someone",
            "author": "A. Maker", "email": "maker@example.org", "security": "https://example.org/security"}


def make_packages(out, *extensions, **more):
    said_by_dist(out, *extensions, **more)
    return out


def said_by_dist(out, *extensions, source="the source", words=NOBODY, **environment):
    """`words`: what project.json says."""
    amalgamation = out / "cuckoo.c"
    out.mkdir(exist_ok=True)
    amalgamation.write_text(source)
    (out / "cuckoo_filter.h").write_text("header")
    (out / "LICENSE").write_text("MIT License and that of xxHash\n")
    file = out.with_name(out.name + ".json")
    file.write_text(json.dumps(words))
    return subprocess.run([sys.executable, PACKAGES / "dist.py", "--version", VERSION, "--out", out, "--amalgamation",
                           amalgamation, "--project", file, "--extension", *extensions], check=True, text=True,
                          stdout=subprocess.PIPE, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **environment}).stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    return make_packages(tmp_path_factory.mktemp("dist"), support.extension_path())


@pytest.fixture(scope="module")
def wheel(dist):
    made, = dist.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def cuckoo(wheel, tmp_path_factory):
    """The Python package, as the wheel has it."""
    folder = tmp_path_factory.mktemp("site")
    zipfile.ZipFile(wheel).extractall(folder)
    spec = importlib.util.spec_from_file_location("sqlite_cuckoo", folder / "sqlite_cuckoo/__init__.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


# ---- the wheel ----

def test_record_has_every_file_with_its_hash(wheel):
    archive = zipfile.ZipFile(wheel)
    record, = (name for name in archive.namelist() if name.endswith("/RECORD"))
    rows = list(csv.reader(io.StringIO(archive.read(record).decode())))
    assert sorted(row[0] for row in rows) == sorted(archive.namelist())
    for name, digest, length in rows:
        if name == record:
            assert (digest, length) == ("", "")
            continue
        content = archive.read(name)
        assert digest == "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
        assert int(length) == len(content)


def test_names_of_the_wheel_agree(wheel):
    name, version, python, abi, platform = wheel.stem.split("-")
    archive = zipfile.ZipFile(wheel)
    meta = archive.read(f"sqlite_cuckoo-{VERSION}.dist-info/METADATA").decode()
    tags = archive.read(f"sqlite_cuckoo-{VERSION}.dist-info/WHEEL").decode()
    assert (name, version, python, abi) == ("sqlite_cuckoo", VERSION, "py3", "none")
    assert f"\nVersion: {VERSION}\n" in meta and "\nName: sqlite-cuckoo\n" in meta
    assert f"\nTag: py3-none-{platform}\n" in tags and "Root-Is-Purelib: false" in tags


def core_metadata(text):
    """Its fields, {name: [value, ...]}, and the description."""
    message = email.message_from_string(text)
    return {name: message.get_all(name) for name in message}, message.get_payload()


def test_metadata_is_that_of_its_version(wheel):
    """Core metadata 2.4: the licence is an expression, whose texts lie in licenses/; the old fields are not there."""
    archive = zipfile.ZipFile(wheel)
    info = f"sqlite_cuckoo-{VERSION}.dist-info"
    fields, description = core_metadata(archive.read(f"{info}/METADATA").decode())
    assert (fields["Metadata-Version"], fields["License-Expression"]) == (["2.4"], ["MIT AND BSD-2-Clause"])
    assert "License" not in fields and not any("License" in one for one in fields["Classifier"])
    assert set(fields) <= {"Metadata-Version", "Name", "Version", "Summary", "Author", "License-Expression",
                           "License-File", "Keywords", "Classifier", "Requires-Python", "Description-Content-Type"}
    for name in fields["License-File"]:
        assert archive.read(f"{info}/licenses/{name}").decode().startswith("MIT License and that of xxHash")
    assert "\n" not in fields["Summary"][0] and len(fields["Summary"][0]) < 512
    assert description.strip() == (PACKAGES / "python/README.md").read_text().strip()


def test_the_package_loads(cuckoo):
    assert cuckoo.__version__ == VERSION
    assert os.path.exists(cuckoo.loadable_path())
    db = sqlite3.connect(":memory:")
    cuckoo.load(db)
    cuckoo.load(db)
    assert db.execute("SELECT cf_version()").fetchone() == (VERSION,)
    assert not db.in_transaction


def is_enabled(db):
    try:
        db.cursor().execute("SELECT load_extension(NULL)").fetchall()
        return True
    except Exception:
        return False


@pytest.mark.parametrize("before", [False, True])
def test_loading_leaves_as_it_was_what_it_enabled(cuckoo, monkeypatch, before):
    db = sqlite3.connect(":memory:")
    db.enable_load_extension(before)
    cuckoo.load(db)
    assert is_enabled(db) == before
    monkeypatch.setattr(cuckoo, "loadable_path", lambda: __file__)
    with pytest.raises(sqlite3.OperationalError):
        cuckoo.load(db)
    assert is_enabled(db) == before


@pytest.mark.parametrize("before", [False, True])
def test_apsw(cuckoo, before):
    apsw = pytest.importorskip("apsw")
    db = apsw.Connection(":memory:")
    getattr(db, "enable_load_extension", getattr(db, "enableloadextension", None))(before)
    cuckoo.load(db)
    assert db.cursor().execute("SELECT cf_version()").fetchall() == [(VERSION,)]
    assert is_enabled(db) == before


def test_what_cannot_be_loaded_is_told_the_remedy(cuckoo, monkeypatch):
    class Without:
        pass
    with pytest.raises(TypeError, match="the connection of the driver"):
        cuckoo.load("my.db")
    db = sqlite3.connect(":memory:")
    monkeypatch.setattr(cuckoo, "loadable_path", lambda: "/nowhere/cuckoo.so")
    with pytest.raises(FileNotFoundError, match="/nowhere/cuckoo.so.*install"):
        cuckoo.load(db)
    monkeypatch.setattr(cuckoo.sqlite3, "Connection", Without)
    with pytest.raises(sqlite3.NotSupportedError, match=r"without loadable extensions.*sqlite_cuckoo.enable\(\)"):
        cuckoo.load(Without())


# ---- for which machines ----

def elf(machine, wide=True, order="<", libraries=("libc.so.6",), versions=("GLIBC_2.14",)):
    """The few parts of a shared library that say what it needs."""
    strings = b"\0" + b"".join(name.encode() + b"\0" for name in (*libraries, *versions))

    def at(name):
        return strings.index(b"\0" + name.encode() + b"\0") + 1
    word = "Q" if wide else "I"
    dynamic = b"".join(struct.pack(order + 2 * word, 1, at(name)) for name in libraries) + struct.pack(order
            + 2 * word, 0, 0)
    needs = struct.pack(order + "HHIII", 1, len(versions), 0, 16, 0) if versions else b""
    for i, name in enumerate(versions):
        needs += struct.pack(order + "IHHII", 0, 0, 2, at(name), 16 if i + 1 < len(versions) else 0)
    start = 64
    parts = [(3, strings, 0), (6, dynamic, 0), (0x6FFFFFFE, needs, 0)]
    headers, body = b"", b""
    for kind, content, link in parts:
        headers += struct.pack(order + ("IIQQQQII" if wide else "IIIIIIII"), 0, kind, 0, 0, start + len(body),
                               len(content),
                               link, 0) + bytes(16 if wide else 8)
        body += content
    head = bytearray(64)
    head[:6] = b"\x7fELF" + bytes([2 if wide else 1, 1 if order == "<" else 2])
    struct.pack_into(order + "H", head, 0x12, machine)
    struct.pack_into(order + word, head, 0x28 if wide else 0x20, start + len(body))
    struct.pack_into(order + "HH", head, 0x3A if wide else 0x2E, 64 if wide else 40, len(parts))
    return bytes(head) + body + headers


def mach_o(machine, command, version):
    form = (command, 16, version, 0) if command == 0x24 else (command, 16, 1, version)
    return struct.pack("<IIIIIIII", 0xFEEDFACF, machine, 0, 6, 1, 16, 0, 0) + struct.pack("<IIII", *form)


def universal(*slices):
    at, table, body = 4096, b"", b""
    for one in slices:
        table += struct.pack(">IIIII", 0, 0, at + len(body), len(one), 0)
        body += one
    return (struct.pack(">II", 0xCAFEBABE, len(slices)) + table).ljust(at, b"\0") + body


def pe(machine):
    return b"MZ".ljust(0x3C, b"\0") + struct.pack("<I", 0x40) + b"PE\0\0" + struct.pack("<H", machine) + bytes(20)


@pytest.mark.parametrize("content, tag, name, node", [
    (elf(62), "manylinux_2_14_x86_64", "linux-x86_64", "linux-x64"),
    (elf(62, versions=("GLIBC_2.2.5",)), "manylinux_2_5_x86_64", "linux-x86_64", "linux-x64"),
    (elf(62, versions=("GLIBC_2.2.5", "GLIBC_2.9", "GLIBC_2.38", "GLIBC_2.4")), "manylinux_2_38_x86_64", "linux-x86_64",
     "linux-x64"),
    (elf(62, versions=("GLIBC_2.2.5", "GLIBC_ABI_DT_RELR")), "manylinux_2_36_x86_64", "linux-x86_64", "linux-x64"),
    (elf(62, versions=("GLIBC_PRIVATE",)), "linux_x86_64", "linux-x86_64", "linux-x64"),
    (elf(62, versions=()), "manylinux_2_5_x86_64", "linux-x86_64", "linux-x64"),
    (elf(62, libraries=("libm.so.6", "libc.so.6", "libgcc_s.so.1")), "manylinux_2_14_x86_64", "linux-x86_64",
     "linux-x64"),
    (elf(62, libraries=("libasan.so.8", "libc.so.6")), "linux_x86_64", "linux-x86_64", "linux-x64"),
    (elf(62, libraries=("libsqlite3.so.0", "libc.so.6")), "linux_x86_64", "linux-x86_64", "linux-x64"),
    (elf(62, libraries=("libc.musl-x86_64.so.1",), versions=()), "musllinux_1_2_x86_64", "linux-musl-x86_64",
     "linux-x64-musl"),
    (elf(183, libraries=("libc.so",), versions=()), "musllinux_1_2_aarch64", "linux-musl-aarch64", "linux-arm64-musl"),
    (elf(183, versions=("GLIBC_2.17", "GLIBC_2.29")), "manylinux_2_29_aarch64", "linux-aarch64", "linux-arm64"),
    (elf(3, wide=False, versions=("GLIBC_2.1.3",)), "manylinux_2_5_i686", "linux-i686", "linux-ia32"),
    (elf(40, wide=False, versions=("GLIBC_2.4",)), "manylinux_2_17_armv7l", "linux-armv7l", "linux-arm"),
    (elf(22, order=">", versions=("GLIBC_2.2",)), "manylinux_2_17_s390x", "linux-s390x", "linux-s390x"),
    (elf(21, order="<"), "manylinux_2_17_ppc64le", "linux-ppc64le", "linux-ppc64"),
    (mach_o(0x0100000C, 0x32, 0x000B0300), "macosx_11_0_arm64", "macos-arm64", "darwin-arm64"),
    (mach_o(0x01000007, 0x24, 0x000A0D00), "macosx_10_13_x86_64", "macos-x86_64", "darwin-x64"),
    (universal(mach_o(0x01000007, 0x32, 0x000A0E00), mach_o(0x0100000C, 0x32, 0x000B0000)), "macosx_10_14_universal2",
     "macos-universal2", "darwin-x64 darwin-arm64"),
    (pe(0x8664), "win_amd64", "windows-x86_64", "win32-x64"),
    (pe(0x14C), "win32", "windows-i686", "win32-ia32"),
    (pe(0xAA64), "win_arm64", "windows-aarch64", "win32-arm64"),
])
def test_platform_tags(tmp_path, content, tag, name, node):
    path = tmp_path / "cuckoo.so"
    path.write_bytes(content)
    one = binaries.read(path)
    assert (one.wheel, one.name, " ".join(one.node)) == (tag, name, node)
    path.write_text("#!/bin/sh\n")
    with pytest.raises(ValueError, match="no shared library"):
        binaries.read(path)


@pytest.mark.parametrize("versions, hardened", [(("GLIBC_2.4",), False), (("GLIBC_2.4", "__stack_chk_fail"), True)])
def test_an_extension_that_is_not_hardened_is_named(tmp_path, versions, hardened):
    path = tmp_path / "cuckoo.so"
    path.write_bytes(elf(62, versions=versions))
    assert binaries.read(path).hardened == hardened
    for name in SOURCES:
        (tmp_path / name).write_text("some text")
    said = subprocess.run([sys.executable, "-B", PACKAGES / "dist.py", "--version", "1", "--extension", path, "--out",
                           tmp_path,
                           "--amalgamation", tmp_path / "cuckoo.c"], check=True, text=True,
                           stdout=subprocess.PIPE).stdout
    assert (f"not hardened: {path}" in said) != hardened


@pytest.mark.skipif(not shutil.which("readelf"), reason="readelf is not there")
def test_versions_are_those_that_readelf_sees():
    path = Path(support.extension_path())
    said = subprocess.run(["readelf", "-V", "-W", path], stdout=subprocess.PIPE, text=True, check=True).stdout
    versions = [tuple(map(int, found.split("."))) for found in re.findall(r"Name: GLIBC_(\d+\.\d+)", said)]
    if versions and not binaries.read(path).foreign:
        assert binaries.read(path).needs == max(versions)


# ---- all of it ----

def test_a_package_for_each_platform(tmp_path):
    for folder, content in (("a", elf(183)), ("b", pe(0x8664)), ("c", elf(62, libraries=("libc.musl-x86_64.so.1",)))):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / ("cuckoo.dll" if folder == "b" else "cuckoo.so")).write_bytes(content)
    old = tmp_path / "d/cuckoo.so"
    old.parent.mkdir()
    old.write_bytes(elf(22, order=">"))
    os.utime(old, (1, 1))
    for path in tmp_path.glob("[abc]/cuckoo.*"):
        os.utime(path, (2e9, 2e9))
    (tmp_path / "c/cuckoo.o").write_text("something else")
    out = make_packages(tmp_path / "out", support.extension_path(), *sorted(tmp_path.glob("?/cuckoo.*")),
                        words=SOMEBODY)
    assert len(list(out.glob("*.whl"))) == 4
    for path in out.glob("*.whl"):
        fields, _ = core_metadata(zipfile.ZipFile(path).read(f"sqlite_cuckoo-{VERSION}.dist-info/METADATA").decode())
        assert fields["Project-URL"] == ["Homepage, https://example.org", "Repository, https://example.org/cuckoo",
                                         "Issues, https://example.org/cuckoo/issues"]
        assert fields["Author-email"] == ["A. Maker <maker@example.org>"] and "Author" not in fields
    package = json.loads(npm_members(out)["package/package.json"])
    assert package["repository"] == {"type": "git", "url": "git+https://example.org/cuckoo.git"}
    assert package["bugs"] == {"url": "https://example.org/cuckoo/issues"}
    assert (package["homepage"], package["author"]) == ("https://example.org", "A. Maker <maker@example.org>")
    names = tarfile.open(out / f"sqlite-cuckoo-{VERSION}.tgz").getnames()
    assert {"package/compiled/linux-arm64/cuckoo.so", "package/compiled/win32-x64/cuckoo.dll",
            "package/compiled/linux-x64-musl/cuckoo.so"} <= set(names)
    assert {name.split("/")[1] for name in names} - {"package.json", "README.md", "LICENSE"} <= set(package["files"])
    spec = json.loads((out / "sqlpkg.json").read_text())
    assert spec["owner"] == "someone" and spec["authors"] == ["A. Maker"]
    assert spec["assets"]["path"] == f"https://example.org/cuckoo/releases/download/v{VERSION}"
    assert (spec["homepage"], spec["repository"]) == ("https://example.org", "https://example.org/cuckoo")
    assert "musl" not in spec["assets"]["files"]["linux-amd64"]
    assert set(spec["assets"]["files"]) == {"linux-amd64", "linux-arm64", "windows-amd64"}


@pytest.mark.parametrize("words, named", [(NOBODY, True), ({**SOMEBODY, "security": "<something>"}, True), (SOMEBODY, False)])
def test_what_is_not_for_a_release_is_said(tmp_path, words, named):
    said = said_by_dist(tmp_path / "out", support.extension_path(), words=words)
    assert ("not for a release: ext/packages/project.py names what is to be filled in" in said) == named


def test_sqlpkg_names_what_is_there(dist):
    spec = json.loads((dist / "sqlpkg.json").read_text())
    assert (spec["owner"], spec["name"], spec["version"], spec["assets"]["path"]) == ("local", "cuckoo", VERSION, ".")
    package = json.loads(npm_members(dist)["package/package.json"])
    assert not {"repository", "bugs", "homepage"} & {*package, *spec}  # nobody has said where
    assert package["license"] == "(MIT AND BSD-2-Clause)" and package["engines"]["node"]
    assert spec["assets"]["files"]
    for name in spec["assets"]["files"].values():
        content = (dist / name).read_bytes()
        assert spec["assets"]["checksums"][name] == "sha256-" + hashlib.sha256(content).hexdigest()
        extension, *others = sorted(tarfile.open(dist / name).getnames(), reverse=True)  # sqlpkg makes no folders
        assert extension.startswith("cuckoo.") and "LICENSE" in others and not any("/" in other for other in others)
    db = support.connect()
    known = {row[0] for row in db.execute("SELECT name FROM pragma_function_list UNION SELECT name FROM pragma_module_list")}
    assert set(spec["symbols"]) <= known
    assert functions.names(functions.SCALARS, functions.AGGREGATES, functions.MAKERS, functions.BUILDERS,
                           functions.TABLES, functions.BY_NAME,
                           functions.TABLES_BY_NAME) <= set(spec["symbols"])


# ---- the sources ----

@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """The unpacked source distribution. What stands for cuckoo.c is an extension without a function."""
    out = tmp_path_factory.mktemp("sources")
    headers = [out / "sqlite3.h", out / "sqlite3ext.h"]
    headers[0].write_text("#define HAS_SQLITE 1\n")
    headers[1].write_text('#include "sqlite3.h"\n')
    out = make_packages(out, support.extension_path(), "--sqlite", *headers,
                        source="#include <sqlite3ext.h>\n#if HAS_SQLITE\nint sqlite3_cuckoo_init(void) { return 0; }\n#endif\n")
    with tarfile.open(out / f"sqlite_cuckoo-{VERSION}.tar.gz") as archive:
        assert {name.split("/")[0] for name in archive.getnames()} == {f"sqlite_cuckoo-{VERSION}"}
        archive.extractall(out)
    return out / f"sqlite_cuckoo-{VERSION}"


def backend(sources, call, **environment):
    """What pip does: the hook in a process of its own, in the folder of the sources."""
    given = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **environment}
    return subprocess.run([sys.executable, "-c", f"import backend; print(backend.{call})"], cwd=sources, env=given,
                          text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_sources_become_a_wheel_by_the_compiler_alone(sources, tmp_path):
    said = backend(sources, f"build_wheel({str(tmp_path)!r})")
    assert said.returncode == 0, said.stderr
    name = said.stdout.strip()
    assert re.fullmatch(rf"sqlite_cuckoo-{VERSION}-py3-none-[a-z]+_\w+\.whl", name)
    archive = zipfile.ZipFile(tmp_path / name)
    test_record_has_every_file_with_its_hash(tmp_path / name)
    test_names_of_the_wheel_agree(tmp_path / name)
    test_metadata_is_that_of_its_version(tmp_path / name)
    compiled, = (one for one in archive.namelist() if one.endswith((".so", ".dylib", ".dll")))
    assert b"sqlite3_cuckoo_init" in archive.read(compiled)
    assert {one for one in archive.namelist() if one.startswith("sqlite_cuckoo/")} == {
        path.relative_to(sources).as_posix() for path in sources.glob("sqlite_cuckoo/**/*.*")} | {compiled}
    assert "sqlite_cuckoo/sql/tour.sql" in archive.namelist()
    assert archive.read("sqlite_cuckoo/__init__.py").decode() == (sources / "sqlite_cuckoo/__init__.py").read_text()


def test_sources_make_themselves(sources, tmp_path):
    said = backend(sources, f"build_sdist({str(tmp_path)!r})")
    assert said.stdout.strip() == f"{sources.name}.tar.gz", said.stderr
    assert (tmp_path / f"{sources.name}.tar.gz").read_bytes() == (sources.parent / f"{sources.name}.tar.gz").read_bytes()


@pytest.mark.parametrize("compiler, words", [("/nowhere/cc", "/nowhere/cc: No such file"), ("false", "false -O2")])
def test_sources_without_a_compiler_name_the_remedy(sources, tmp_path, compiler, words):
    said = backend(sources, f"build_wheel({str(tmp_path)!r})", CC=compiler)
    assert said.returncode != 0 and words in said.stderr and "gcc libc6-dev" in said.stderr
    assert not list(tmp_path.iterdir())


def test_the_version_is_the_same_everywhere(dist, wheel, sources):
    """It stands in src/include/version.h."""
    def field(text):
        return core_metadata(text)[0]["Version"][0]
    archive = zipfile.ZipFile(wheel)
    said = {
        "cf_version()": support.connect().execute("SELECT cf_version()").fetchone()[0],
        "wheel": field(archive.read(f"sqlite_cuckoo-{VERSION}.dist-info/METADATA").decode()),
        "wheel, __init__": re.search('__version__ = "(.*)"', archive.read("sqlite_cuckoo/__init__.py").decode())[1],
        "sources": field((sources / "PKG-INFO").read_text()),
        "npm": json.loads(npm_members(dist)["package/package.json"])["version"],
        "sqlpkg": json.loads((dist / "sqlpkg.json").read_text())["version"],
    }
    assert {name: one for name, one in said.items() if one != VERSION} == {}
    for path in with_papers(dist):
        with tarfile.open(path) as tar:
            name, = (one for one in tar.getnames() if one.endswith("README.md"))
            assert tar.extractfile(name).read().decode().startswith(f"# cuckoo {VERSION},")
    for path in ROOT.glob("ext/*.pc.in"):
        assert "\nVersion: @VERSION@\n" in path.read_text()


def with_papers(dist):
    """The archives for people; those for sqlpkg have no more than the extension and its licence."""
    return [path for path in dist.glob("cuckoo-*.tar.gz") if "-sqlpkg-" not in path.name]


def test_an_archive_has_one_folder_that_is_named_as_it_is(dist, sources):
    paths = [*with_papers(dist), *sources.parent.glob("sqlite_cuckoo-*.tar.gz")]
    assert len(paths) >= 3
    for path in paths:
        with tarfile.open(path) as tar:
            assert {name.split("/")[0] for name in tar.getnames()} == {path.name[:-len(".tar.gz")]}


def texts_of(path):
    """{name: bytes} of an archive, a wheel or an npm package, without the folder that it has."""
    if path.suffix == ".whl":
        archive = zipfile.ZipFile(path)
        return {name.split("/", 1)[1]: archive.read(name) for name in archive.namelist() if name.startswith("sqlite_cuckoo/")}
    with tarfile.open(path) as tar:
        return {one.name.split("/", 1)[1]: tar.extractfile(one).read() for one in tar.getmembers()}


def test_packages_have_what_their_papers_name(dist, wheel):
    for path in (*with_papers(dist), wheel, dist / f"sqlite-cuckoo-{VERSION}.tgz"):
        texts = texts_of(path)
        texts.setdefault("README.md", (PACKAGES / "python/README.md").read_bytes())  # of a wheel: in its metadata
        assert "CHANGES.md" in texts
        for paper in ("README.md", "REFERENCE.md"):
            named = set(re.findall(r"`((?:sql/)?\w+\.(?:sql|md))`", texts[paper].decode()))
            assert named and named <= set(texts), (path.name, paper, named - set(texts))
        linked = {link for name in texts if name.endswith(".md") for link in re.findall(r"\]\((?!https?:|#)(.*?)\)", texts[name].decode())}
        assert linked <= set(texts), (path.name, linked - set(texts))
        scripts = {name for name in texts if name.startswith("sql/")}
        assert scripts == {f"sql/{script.name}" for script in ROOT.glob("sql/*.sql")}, path.name
        assert all(b".load ./cuckoo\n" in texts[name] and b"build/" not in texts[name] for name in scripts)
        assert not re.search(rb"@[A-Z]+@", texts["README.md"])


def test_every_package_has_the_licences_and_the_papers(dist):
    papers = {name: (ROOT / "ext" / name).read_bytes() for name in ("REFERENCE.md", "COMPATIBILITY.md", "CHANGES.md")}
    wheel, = dist.glob("*.whl")
    for path in (*dist.glob("*.tar.gz"), *dist.glob("*.tgz")):
        with tarfile.open(path) as tar:
            files = {one.rsplit("/", 1)[-1]: tar.extractfile(one).read() for one in tar.getnames()
                     if one.rsplit("/", 1)[-1] in {"LICENSE", *papers}}
        assert files.pop("LICENSE").decode() == "MIT License and that of xxHash\n", path.name
        assert files == papers, path.name
    assert {name: zipfile.ZipFile(wheel).read(f"sqlite_cuckoo/{name}") for name in papers} == papers


@pytest.mark.skipif(shutil.which("mandoc") is None, reason="mandoc is missing: apt-get install mandoc")
@pytest.mark.parametrize("page", sorted((PACKAGES / "man").iterdir()), ids=lambda path: path.name)
def test_mandoc_warns_of_nothing(page):
    said = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", page], stdout=subprocess.PIPE, text=True)
    assert (said.returncode, said.stdout) == (0, "")


def test_the_wheel_has_the_manual_page(wheel):
    page = zipfile.ZipFile(wheel).read(f"sqlite_cuckoo-{VERSION}.data/data/share/man/man1/sqlite-cuckoo.1")
    assert page == (PACKAGES / "man/sqlite-cuckoo.1").read_bytes()


def test_what_runs_here_only_is_refused(tmp_path):
    said = subprocess.run([sys.executable, "-B", PACKAGES / "dist.py", "--version", "1", "--extension", "x"],
                          env={**os.environ, "CFLAGS": "-O2 -march=native"}, stderr=subprocess.PIPE, text=True)
    assert said.returncode == 1 and "this machine only" in said.stderr


def test_checksums_and_equal_bytes(dist, tmp_path):
    again = make_packages(tmp_path / "again", support.extension_path(), SOURCE_DATE_EPOCH="0")
    lines = (dist / "SHA256SUMS").read_text().splitlines()
    assert sorted(line.split("  ")[1] for line in lines) == sorted(
        path.name for path in dist.iterdir() if path.name != "SHA256SUMS")
    for line in lines:
        digest, name = line.split("  ")
        assert hashlib.sha256((dist / name).read_bytes()).hexdigest() == digest
        assert (again / name).read_bytes() == (dist / name).read_bytes(), name
    other = make_packages(tmp_path / "other", support.extension_path(), SOURCE_DATE_EPOCH="1700000000")
    assert tarfile.open(other / f"sqlite-cuckoo-{VERSION}.tgz").getmembers()[0].mtime == 1700000000


# ---- sqlite-cuckoo/filter; what it does, test_filter_package.py says ----

def npm_members(dist):
    with tarfile.open(dist / f"sqlite-cuckoo-{VERSION}.tgz") as archive:
        return {name: archive.extractfile(name).read().decode() for name in archive.getnames()
                if "/compiled/" not in name}


def test_filters_without_sqlite_are_left_out_without_their_compiler(dist):
    members = npm_members(dist)
    package = json.loads(members["package/package.json"])
    names = [name for name in (*members, *package["exports"], *package["files"]) if not name.startswith("package/sql/")]
    assert not any("filter" in name or "cli" in name for name in names) and "bin" not in package


def test_filters_without_sqlite_are_in_the_package(tmp_path):
    wasm = tmp_path / "filter.wasm"
    wasm.write_bytes(b"\0asm something")
    out = make_packages(tmp_path / "out", support.extension_path(), "--wasm", wasm)
    members = npm_members(out)
    package = json.loads(members["package/package.json"])
    for ways in (package["exports"]["."], package["exports"]["./filter"]):
        for way in ways.values():
            for file in way.values():
                assert f"package/{file[2:]}" in members and file[2:] in package["files"]
        # For TypeScript a module's types are a module: import has .mts, require has none.
        assert ways["import"]["types"].endswith(".d.mts") and ways["require"]["types"].endswith(".d.ts")
    assert package["exports"]["./filter.html"] == "./filter.html" and "filter.html" in package["files"]
    assert members["package/filter.html"] == (out / f"cuckoo-{VERSION}-filter.html").read_text(encoding="utf-8")
    assert package["bin"]["sqlite-cuckoo"] in package["files"] and members["package/cli.mjs"].startswith("#!/usr/bin/env node\n")
    content = base64.b64encode(wasm.read_bytes()).decode()
    assert members["package/filter.wasm"] == wasm.read_text() and package["exports"]["./filter.wasm"] == "./filter.wasm"
    assert list(package["exports"]["./filter"])[0] == "workerd" and "filter.wasm" in package["files"]
    for_workers = members["package/filter.workerd.mjs"]
    assert for_workers.startswith("import module from './filter.wasm';") and content not in for_workers
    for name, exports in (("filter.workerd.mjs", "\nexport { open"), ("filter.mjs", "\nexport { open"), ("filter.js", "\nmodule.exports = { open")):
        text = members[f"package/{name}"]
        assert (content in text or text is for_workers) and exports in text and f"'{VERSION}'" in text and "@" not in text.split("WASM")[0]


# ---- npm: without a binding of SQLite, a database that writes down what it is asked ----

NODE = os.environ.get("NODE", "node")


@pytest.mark.parametrize("call", ["load(sqlite3.connect(':memory:'))", "enable()"])
def test_python_in_a_zip(tmp_path, call):
    """A zipapp, say: SQLite can load no file inside it."""
    archive = tmp_path / "program.pyz"
    with zipfile.ZipFile(archive, "w") as made:
        for path in (Path(support.ROOT) / "ext/packages/python/sqlite_cuckoo").glob("*.py"):
            made.write(path, f"sqlite_cuckoo/{path.name}")
        made.write(support.extension_path(), "sqlite_cuckoo/cuckoo.so")
        made.writestr("__main__.py", f"import sqlite3, sqlite_cuckoo; sqlite_cuckoo.{call}")
    said = subprocess.run([sys.executable, archive], stderr=subprocess.PIPE, text=True).stderr
    assert f"there is no {archive}/sqlite_cuckoo/cuckoo.so. A compiled file cannot be loaded from a zip archive (zipapp, pex): unpack" in said
    assert "--collect-all sqlite_cuckoo" in said


needs_node = pytest.mark.skipif(not shutil.which(NODE), reason="node is not there")


def node(folder, script, kind="commonjs"):
    return subprocess.run([NODE, f"--input-type={kind}", "-e", script], cwd=folder, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)


@pytest.fixture(scope="module")
def installed(dist, tmp_path_factory):
    folder = tmp_path_factory.mktemp("npm")
    with tarfile.open(dist / f"sqlite-cuckoo-{VERSION}.tgz") as archive:
        archive.extractall(folder / "node_modules")
    os.rename(folder / "node_modules/package", folder / "node_modules/sqlite-cuckoo")
    return folder


FAKE = "const said = []; const db = {loadExtension: (...file) => said.push(file)};"


@needs_node
@pytest.mark.parametrize("kind, imports", [("commonjs", "const {load, getLoadablePath} = require('sqlite-cuckoo');"),
                                           ("module", "import {load, getLoadablePath} from 'sqlite-cuckoo';"),
                                           ("module", "import c from 'sqlite-cuckoo'; const {load, getLoadablePath} = c;")])
def test_npm_gives_its_file_to_the_database(installed, kind, imports):
    said = node(installed, imports + FAKE + "load(db); console.log(JSON.stringify([said, getLoadablePath()]))", kind)
    assert said.returncode == 0, said.stderr
    calls, path = json.loads(said.stdout)
    assert calls == [[path]] and os.path.samefile(os.path.dirname(os.path.dirname(path)),
                                                  installed / "node_modules/sqlite-cuckoo/compiled")
    assert Path(path).read_bytes() == Path(support.extension_path()).read_bytes()


REFUSING = "const refuse = () => { throw new Error('NotCapable: Requires access') }; "
IN_DENO = f"{REFUSING} globalThis.Deno = {{ build: {{ target: 'x86_64-unknown-linux-MUSL' }} }}; process.report.getReport = refuse; "


@needs_node
@pytest.mark.parametrize("kind, imports", [("commonjs", "const {load, getLoadablePath} = require('sqlite-cuckoo');"),
                                           ("module", "const {load, getLoadablePath} = await import('sqlite-cuckoo');")])
@pytest.mark.parametrize("machine, platform", [
    (IN_DENO.replace("MUSL", "gnu"), "linux-x64"), (IN_DENO.replace("MUSL", "musl"), "linux-x64-musl"),
    (IN_DENO.replace("MUSL", "gnu") + "require('fs').existsSync = refuse; ", "linux-x64"),
    (f"{REFUSING} process.report.getReport = refuse; ", "linux-x64"),
    ("Object.defineProperty(process, 'report', {value: undefined}); ", "linux-x64"),
    ("process.report.getReport = () => ({header: {}}); ", "linux-x64-musl")])
def test_npm_asks_for_no_permission(installed, tmp_path, kind, imports, machine, platform):
    """Deno would ask for sys access before it gives a report, and for read access before it looks for a file."""
    shutil.copytree(installed, tmp_path, dirs_exist_ok=True)
    compiled = tmp_path / "node_modules/sqlite-cuckoo/compiled"
    os.rename(next(compiled.iterdir()), compiled / "linux-x64")
    (compiled / "linux-x64-musl").mkdir()
    (compiled / "linux-x64-musl/cuckoo.so").write_text("musl")
    machine = "Object.defineProperty(process, 'arch', {value: 'x64'}); " + machine
    if kind == "module":
        machine = "const require = (await import('node:module')).createRequire(process.cwd() + '/x'); " + machine
    said = node(tmp_path, machine + imports + FAKE + "load(db); console.log(said[0][0])", kind)
    assert said.stdout.strip().endswith(f"/compiled/{platform}/cuckoo.so"), said.stderr


def bundle(installed, folder, name):
    """The module in a file of its own, as a bundler leaves it."""
    folder.mkdir(parents=True, exist_ok=True)
    return shutil.copy(installed / "node_modules/sqlite-cuckoo" / name, folder / name)


LOAD = {"index.js": "const {load} = require('./index.js'); ", "index.mjs": "const {load} = await import(process.cwd() + '/index.mjs'); "}


@needs_node
@pytest.mark.parametrize("name", ["index.js", "index.mjs"])
def test_npm_in_a_bundle(installed, tmp_path, name):
    kind, folder = "module" if name.endswith("mjs") else "commonjs", tmp_path / "dist"
    assert (kind == "commonjs") == ("require(" in Path(bundle(installed, folder, name)).read_text())
    said = node(folder, LOAD[name] + FAKE + "load(db)", kind)
    for words in (str(folder / "compiled"), "cannot be part of a bundle", "esbuild --external:sqlite-cuckoo", "webpack", "Vite",
                  f"copy its folder compiled/ to {folder}", "asarUnpack"):
        assert words in said.stderr, said.stderr
    shutil.copytree(installed / "node_modules/sqlite-cuckoo/compiled", folder / "compiled")
    said = node(folder, LOAD[name] + FAKE + "load(db); console.log(said[0][0])", kind)
    assert said.stdout.startswith(str(folder / "compiled")), said.stderr


@needs_node
@pytest.mark.parametrize("archive", ["app.asar", "My Program.asar"])
def test_npm_in_an_archive_of_electron(installed, tmp_path, archive):
    """The folder stands for the archive, which Electron shows as one. SQLite cannot read in it."""
    inside, beside = tmp_path / archive / "node_modules/x", tmp_path / f"{archive}.unpacked/node_modules/x"
    bundle(installed, inside, "index.js")
    shutil.copytree(installed / "node_modules/sqlite-cuckoo/compiled", inside / "compiled")
    said = node(inside, LOAD["index.js"] + FAKE + "load(db)")
    assert f"there is no {beside}" in said.stderr and "asarUnpack: ['**/sqlite-cuckoo/compiled/**']" in said.stderr
    shutil.copytree(inside / "compiled", beside / "compiled")
    said = node(inside, LOAD["index.js"] + FAKE + "load(db); console.log(said[0][0])")
    assert said.stdout.startswith(str(beside / "compiled")), said.stderr


@needs_node
@pytest.mark.parametrize("script, words", [
    ("load('my.db')", "needs an open Database of better-sqlite3 or bun:sqlite, or a DatabaseSync of node:sqlite"),
    ("load({loadExtension() { throw new Error('Cannot load SQLite extensions when allowExtension is not enabled') }})", "allowExtension: true"),
    ("load({loadExtension() { throw new Error('extension loading is not allowed') }})", "allowExtension: true"),
    ("load({loadExtension() { throw new Error('not authorized') }})", "enableLoadExtension"),
    ("load({loadExtension() { throw new Error('something else') }})", "Error: something else"),
    ("Object.defineProperty(process, 'arch', {value: 'pdp11'}); load({loadExtension() {}})", "pdp11.*only for linux"),
])
def test_npm_errors_name_the_remedy(installed, script, words):
    said = node(installed, "const {load} = require('sqlite-cuckoo'); " + script)
    assert said.returncode != 0 and re.search(words, said.stderr), said.stderr
