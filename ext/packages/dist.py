# SPDX-License-Identifier: MIT
"""Makes the packages: a Python wheel for each platform, an npm package, archives, a file for sqlpkg, checksums.

    dist.py --version V --extension FILE ... [--static FILE ...] [--wasm FILE] --out build/dist     (make dist)

Needs nothing but Python, and no network. The same files give the same packages, to the byte: names are sorted, and dates are
SOURCE_DATE_EPOCH, or the first of January 1980. Where the packages will be found is not known here; these variables say it:

    DIST_OWNER         the owner in sqlpkg.json, which must have one; "local" unless given
    DIST_REPOSITORY    the address of the project; unless given, no package names one
    DIST_URL           the folder that archives are fetched from; unless given, it is the one that sqlpkg.json lies in
"""
import argparse
import base64
import gzip
import hashlib
import io
import json
import os
import re
import sys
import tarfile
import time
import zipfile
from pathlib import Path

import binaries

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SUMMARY = "Cuckoo filters for SQLite: a set of keys in about ten bits each, with deletes, growth and sync with a table"
LICENCE = "MIT AND BSD-2-Clause"  # its own, and that of xxHash, which is compiled in
EPOCH = max(int(os.environ.get("SOURCE_DATE_EPOCH", 0)), 315532800)  # zip files know nothing earlier
REPOSITORY = os.environ.get("DIST_REPOSITORY", "")


# ---- what goes into all of them ----

def excerpt():
    """The beginning of the README, and its first example with the output."""
    readme = (ROOT / "README.md").read_text()
    claim = readme[:readme.index("\n## ")]
    example = re.search(r"^```sql\n(.*?)^```\n```text\n(.*?)^```", readme, re.M | re.S)
    return claim, example[1], example[2]


def archive_papers(kind, version, licence, platform="", extension=""):
    """What lies in an archive beside its files: a README that is true of it, the reference, the changes, the licences."""
    claim, example, output = excerpt()
    readme = filled(f"archives/{kind}.md", VERSION=version, PLATFORM=platform, EXTENSION=extension, OUTPUT=output,
                    CLAIM=claim[claim.index("\n"):].strip(), EXAMPLE=example.replace(".load build/cuckoo", ".load ./cuckoo"))
    address = f"\nAll of it: {REPOSITORY}\n" if REPOSITORY else ""
    return {"README.md": readme + address, "LICENSE": licence, "REFERENCE.md": (ROOT / "ext/REFERENCE.md").read_text(),
            "CHANGES.md": (ROOT / "ext/CHANGES.md").read_text()}


def filled(path, **values):
    """A file of ext/packages with its @names@ replaced."""
    words = (HERE / path).read_text()
    for name, value in values.items():
        words = words.replace(f"@{name}@", value)
    return words


# ---- archives: {name: bytes}; a name of a compiled file gets mode 755 ----

def mode_of(name):
    return 0o755 if name.endswith((".so", ".dylib", ".dll")) else 0o644


def encoded(files):
    return {name: content.encode() if isinstance(content, str) else content for name, content in files.items()}


def write_tar(path, files):
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, content in sorted(encoded(files).items()):
            info = tarfile.TarInfo(name)
            info.size, info.mode, info.mtime = len(content), mode_of(name), EPOCH
            tar.addfile(info, io.BytesIO(content))
    with open(path, "wb") as out, gzip.GzipFile(filename="", mode="wb", fileobj=out, mtime=0) as packed:
        packed.write(plain.getvalue())
    return path


def write_zip(path, files):
    """The files in the order given: a wheel ends with its RECORD."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in encoded(files).items():
            info = zipfile.ZipInfo(name, time.gmtime(EPOCH)[:6])
            info.compress_type, info.create_system = zipfile.ZIP_DEFLATED, 3
            info.external_attr = (0o100000 | mode_of(name)) << 16
            archive.writestr(info, content)
    return path


# ---- the packages ----

def record(files, name):
    """RECORD: the hash and the length of each file, without its own."""
    lines = []
    for path, content in encoded(files).items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{path},sha256={digest},{len(content)}\n")
    return "".join(lines) + f"{name},,\n"


def wheel(out, version, binary, licence):
    tag = f"py3-none-{binary.wheel}"
    info = f"sqlite_cuckoo-{version}.dist-info"
    metadata = (f"Metadata-Version: 2.1\nName: sqlite-cuckoo\nVersion: {version}\nSummary: {SUMMARY}\nLicense: {LICENCE}\n"
                + (f"Project-URL: Repository, {REPOSITORY}\n" if REPOSITORY else "") +
                "License-File: LICENSE\nRequires-Python: >=3.8\nDescription-Content-Type: text/markdown\n\n")
    files = {
        "sqlite_cuckoo/__init__.py": filled("python/sqlite_cuckoo/__init__.py", VERSION=version),
        "sqlite_cuckoo/py.typed": "",
        "sqlite_cuckoo/cuckoo" + binary.path.suffix: binary.path.read_bytes(),
        f"{info}/LICENSE": licence,
        f"{info}/METADATA": metadata + filled("python/README.md"),
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: dist.py ({version})\nRoot-Is-Purelib: false\nTag: {tag}\n",
    }
    files[f"{info}/RECORD"] = record(files, f"{info}/RECORD")
    return write_zip(out / f"sqlite_cuckoo-{version}-{tag}.whl", files)


def filter_package(version, wasm):
    """The filters without SQLite: one file with the compiled C library in it, and the same for require()."""
    module = filled("filter/filter.mjs", VERSION=version, WASM=base64.b64encode(wasm.read_bytes()).decode())
    code, names = module.rsplit("\nexport ", 1)
    return {"filter.mjs": module, "filter.js": f"{code}\nmodule.exports = {names}",
            "filter.d.ts": filled("filter/filter.d.ts"), "filter.d.mts": filled("filter/filter.d.ts")}


def npm(out, version, compiled, licence, wasm):
    package = json.loads(filled("npm/package.json", VERSION=version))
    package.update({"description": SUMMARY, "license": f"({LICENCE})"})
    if REPOSITORY:
        package["repository"] = REPOSITORY
    files = {name: filled(f"npm/{name}") for name in ("index.js", "index.mjs", "index.d.ts", "README.md")}
    if wasm:
        files.update(filter_package(version, wasm))
    else:
        del package["exports"]["./filter"]
        package["files"] = [name for name in package["files"] if not name.startswith("filter")]
    files.update({"package.json": json.dumps(package, indent=2) + "\n", "LICENSE": licence})
    files.update({f"compiled/{name}/cuckoo{one.path.suffix}": one.path.read_bytes() for one in compiled for name in one.node})
    return write_tar(out / f"sqlite-cuckoo-{version}.tgz", {f"package/{name}": files[name] for name in files})


def loadable(out, version, binary, licence):
    """Without a folder inside: sqlpkg unpacks such archives only."""
    extension = "cuckoo" + binary.path.suffix
    return write_tar(out / f"cuckoo-{version}-loadable-{binary.name}.tar.gz", {
        extension: binary.path.read_bytes(), **archive_papers("loadable", version, licence, binary.name, extension)})


def others(out, version, arguments, name, licence):
    """The static libraries with their header, and the amalgamation."""
    folder = f"cuckoo-{version}"
    header = arguments.amalgamation.with_name("cuckoo_filter.h")

    def archive(end, kind, files):
        papers = archive_papers(kind, version, licence, name)
        files = {**{path.name: path.read_bytes() for path in files}, **papers}
        return write_tar(out / f"cuckoo-{version}-{end}.tar.gz", {f"{folder}/{one}": files[one] for one in files})

    if arguments.static:
        yield archive(f"static-{name}", "static", [header, *arguments.static])
    yield archive("amalgamation", "amalgamation", [header, arguments.amalgamation])


def sqlpkg(out, version, archives):
    """`archives`: {os-arch: path}."""
    spec = {"owner": os.environ.get("DIST_OWNER", "local"), "name": "cuckoo", "version": version}
    if REPOSITORY:
        spec.update({"homepage": REPOSITORY, "repository": REPOSITORY})
    spec.update({
        "authors": ["the maintainers of cuckoo"], "license": LICENCE, "description": SUMMARY,
        "keywords": ["cuckoo-filter", "bloom-filter", "probabilistic", "index"], "symbols": sorted(symbols()),
        "assets": {"path": os.environ.get("DIST_URL", "."),
                   "files": {platform: path.name for platform, path in sorted(archives.items())},
                   "checksums": {path.name: "sha256-" + hashlib.sha256(path.read_bytes()).hexdigest()
                                 for path in sorted(archives.values())}}})
    path = out / "sqlpkg.json"
    path.write_text(json.dumps(spec, indent=4) + "\n")
    return path


def symbols():
    """The functions and modules that the reference names."""
    words = (ROOT / "ext/REFERENCE.md").read_text()
    return set(re.findall(r"`(cf_[a-z_]+)[(`]", words)) | {"cuckoo_filter"}


def sums(out, paths):
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(paths)]
    (out / "SHA256SUMS").write_text("".join(lines))


def is_old(path, arguments):
    """The amalgamation is made anew when any source has changed. The first extension is made by make itself."""
    return path != arguments.extension[0] and path.stat().st_mtime < arguments.amalgamation.stat().st_mtime


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--version", required=True)
    parser.add_argument("--extension", type=Path, nargs="+", required=True, help="compiled files, one for each platform")
    parser.add_argument("--static", type=Path, nargs="*", default=[], help="libraries for the platform of the first")
    parser.add_argument("--wasm", type=Path, help="the C library as WebAssembly: sqlite-cuckoo/filter")
    parser.add_argument("--amalgamation", type=Path, default=ROOT / "build/dist/cuckoo.c")
    parser.add_argument("--out", type=Path, default=ROOT / "build/dist")
    arguments = parser.parse_args()
    if "=native" in os.environ.get("CFLAGS", ""):
        sys.exit("dist.py: CFLAGS with =native: what is compiled so runs on this machine only; give make other CFLAGS")
    out, version = arguments.out, arguments.version
    out.mkdir(parents=True, exist_ok=True)
    for old in (*out.glob("sqlite_cuckoo-*.whl"), *out.glob("sqlite-cuckoo-*.tgz"), *out.glob("cuckoo-*.tar.gz")):
        old.unlink()  # of another version, perhaps
    licence = arguments.amalgamation.with_name("LICENSE").read_text(encoding="utf-8")
    compiled = {}
    for path in arguments.extension:
        if is_old(path, arguments):
            print(f"left out: {path} is older than {os.path.relpath(arguments.amalgamation, ROOT)}: make it anew")
        elif path.suffix in (".so", ".dylib", ".dll"):
            one = binaries.read(path)
            compiled.setdefault(one.name, one)
    first = next(iter(compiled.values()))
    made, archives = [], {}
    for one in compiled.values():
        made += [wheel(out, version, one, licence), loadable(out, version, one, licence)]
        for name in one.sqlpkg:
            if one.libc != "musl" or name not in archives:
                archives[name] = made[-1]
    if not arguments.wasm:
        print("left out: sqlite-cuckoo/filter of the npm package, which clang and wasm-ld make; on Debian: clang lld")
    made += [npm(out, version, list(compiled.values()), licence, arguments.wasm),
             *others(out, version, arguments, first.name, licence)]
    made.append(sqlpkg(out, version, archives))
    sums(out, made)
    for path in sorted(made) + [out / "SHA256SUMS"]:
        print(f"{path.stat().st_size:10}  {os.path.relpath(path, ROOT)}")


if __name__ == "__main__":
    main()
