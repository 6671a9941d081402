# SPDX-License-Identifier: MIT
"""Makes the packages: a Python wheel for each platform, its sources, an npm package, a page, archives, a file for sqlpkg, checksums.

    dist.py --version V --extension FILE ... [--static FILE ...] [--wasm FILE] [--sqlite FILE ...] --out build/dist   (make dist)

Needs nothing but Python, and no network. The same files give the same packages, to the byte: names are sorted, and dates are
SOURCE_DATE_EPOCH, or the first of January 1980. Where the packages will be found is not known here; these variables say it:

    DIST_OWNER         the owner in sqlpkg.json, which must have one; "local" unless given
    DIST_REPOSITORY    the address of the project, without a slash at the end; unless given, no package names one. Issues are
                       taken to be in its folder issues
    DIST_URL           the folder that archives are fetched from; unless given, it is the one that sqlpkg.json lies in
"""
import argparse
import base64
import hashlib
import html
import json
import os
import re
import sys
from pathlib import Path

import binaries

sys.path.append(str(Path(__file__).resolve().parent / "python"))
from backend import write_sdist, write_tar, write_wheel  # noqa: E402

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SUMMARY = "Cuckoo filters for SQLite: a set of keys in about ten bits each, with deletes, growth and sync with a table"
LICENCE = "MIT AND BSD-2-Clause"  # its own, and that of xxHash, which is compiled in
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
                    LIBRARY=filled("archives/library.md", COMMANDS=COMMANDS.get(kind, "")).rstrip("\n"),
                    CLAIM=claim[claim.index("\n"):].strip(), EXAMPLE=loading(example))
    address = f"\nAll of it: {REPOSITORY}\n" if REPOSITORY else ""
    scripts = {f"sql/{path.name}": loading(path.read_text()) for path in (ROOT / "sql").glob("*.sql")}
    return {"README.md": readme + address, "LICENSE": licence, "REFERENCE.md": reference(),
            "CHANGES.md": (ROOT / "ext/CHANGES.md").read_text(), **scripts}


def reference():
    return (ROOT / "ext/REFERENCE.md").read_text()


def loading(text):
    """A script that loads the extension from where an archive has it."""
    return text.replace(".load build/cuckoo", ".load ./cuckoo")


# Of the programs in archives/library.md.
COMMANDS = {
    "amalgamation": """```sh
cc -O2 -DCUCKOO_LIBRARY_ONLY library.c cuckoo.c -o library -lm && ./library
cc -O2 -DCUCKOO_LIBRARY_ONLY many.c cuckoo.c -o many -lm && ./many
```
```text
1
1
```""",
    "static": """```sh
cc -I. extension.c libcuckoo_sqlite.a -lsqlite3 -lm -o extension && ./extension
cc -I. library.c libcuckoofilter.a -lm -o library && ./library
cc -I. many.c libcuckoofilter.a -lm -o many && ./many
```
```text
1
1
1
```"""}


def filled(path, **values):
    """A file of ext/packages with its @names@ replaced."""
    words = (HERE / path).read_text(encoding="utf-8")
    for name, value in values.items():
        words = words.replace(f"@{name}@", value)
    return words


# ---- the packages ----

def metadata(version):
    """Core metadata 2.4: METADATA of the wheels, PKG-INFO of the sources."""
    urls = f"Project-URL: Repository, {REPOSITORY}\nProject-URL: Issues, {REPOSITORY}/issues\n" if REPOSITORY else ""
    return filled("python/PKG-INFO", VERSION=version, SUMMARY=SUMMARY, LICENCE=LICENCE, URLS=urls, README=filled("python/README.md"))


def python_package(version):
    """The files that do not depend on the platform."""
    modules = {f"sqlite_cuckoo/{name}": filled(f"python/sqlite_cuckoo/{name}", VERSION=version)
               for name in ("__init__.py", "__main__.py")}
    return {**modules, "sqlite_cuckoo/py.typed": "", "sqlite_cuckoo/REFERENCE.md": reference()}


def wheel(out, version, binary, licence):
    return write_wheel(out, binary.wheel, metadata(version), licence, python_package(version), binary.path.read_bytes(),
                       binary.path.suffix)


def sdist(out, version, arguments, licence):
    """What a C compiler makes a wheel of, with the headers of SQLite, which are in the public domain."""
    files = {name: filled(f"python/{name}") for name in ("pyproject.toml", "backend.py", "README.md")}
    files.update({f"sqlite/{path.name}": path.read_bytes() for path in arguments.sqlite})
    return write_sdist(out, {
        **files, "PKG-INFO": metadata(version), "LICENSE": licence, "cuckoo.c": arguments.amalgamation.read_bytes(),
        **python_package(version)})


def page(version, code, licence):
    """The page to look at a filter: one file, which may run its own two scripts and nothing else (Content-Security-Policy)."""
    worker = filled("page/worker.js", FILTER=code)
    parts = {"STYLE": filled("page/page.css"), "WORKER": worker, "SCRIPT": filled("page/page.js", WORDS=filled("page/words.js"))}
    own = {name: f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for name, text in parts.items()}
    policy = (f"default-src 'none'; script-src {own['SCRIPT']} {own['WORKER']} 'wasm-unsafe-eval'; style-src {own['STYLE']}; "
              "worker-src blob:; base-uri 'none'; form-action 'none'")
    return filled("page/page.html", VERSION=version, POLICY=policy, LICENCE=html.escape(licence), **parts)


def filter_package(version, wasm, licence):
    """The filters without SQLite: one file with the compiled C library in it, and the same for require()."""
    module = filled("filter/filter.mjs", VERSION=version, WASM=base64.b64encode(wasm.read_bytes()).decode())
    code, names = module.rsplit("\nexport ", 1)
    return {"filter.mjs": module, "filter.js": f"{code}\nmodule.exports = {names}", "filter.html": page(version, code, licence),
            "cli.mjs": filled("npm/cli.mjs"),
            "filter.d.ts": filled("filter/filter.d.ts"), "filter.d.mts": filled("filter/filter.d.ts")}


def npm(out, version, compiled, licence, wasm):
    package = json.loads(filled("npm/package.json", VERSION=version))
    package.update({"description": SUMMARY, "license": f"({LICENCE})"})
    if REPOSITORY:
        package.update({"repository": {"type": "git", "url": f"git+{REPOSITORY}.git"}, "homepage": f"{REPOSITORY}#readme",
                        "bugs": {"url": f"{REPOSITORY}/issues"}})
    files = {name: filled(f"npm/{name}") for name in ("index.js", "index.mjs", "index.d.ts", "README.md")}
    files["REFERENCE.md"] = reference()
    if wasm:
        files.update(filter_package(version, wasm, licence))
    else:
        package["exports"] = {name: way for name, way in package["exports"].items() if not name.startswith("./filter")}
        package["files"] = [name for name in package["files"] if not name.startswith(("filter", "cli"))]
        del package["bin"]
    files.update({"package.json": json.dumps(package, indent=2) + "\n", "LICENSE": licence})
    files.update({f"compiled/{name}/cuckoo{one.path.suffix}": one.path.read_bytes() for one in compiled for name in one.node})
    return write_tar(out / f"sqlite-cuckoo-{version}.tgz", {f"package/{name}": files[name] for name in files})


def loadable(out, version, binary, licence):
    """Its files stand at the top, not in a folder as in the other archives: sqlpkg makes no folders when it unpacks, and looks
    for the extension at the top. Of the rest, its pattern takes what is no script: see sqlpkg()."""
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
        "assets": {"path": os.environ.get("DIST_URL", "."), "pattern": "*",  # no sql/...: a star matches no slash
                   "files": {platform: path.name for platform, path in sorted(archives.items())},
                   "checksums": {path.name: "sha256-" + hashlib.sha256(path.read_bytes()).hexdigest()
                                 for path in sorted(archives.values())}}})
    path = out / "sqlpkg.json"
    path.write_text(json.dumps(spec, indent=4) + "\n")
    return path


def symbols():
    """The functions and modules that the reference names."""
    return set(re.findall(r"`(cf_[a-z_]+)[(`]", reference())) | {"cuckoo_filter"}


def sums(out):
    """Of all files that are there, the one file of C and its header, too, when they are."""
    paths = sorted(path for path in out.iterdir() if path.is_file() and path.name != "SHA256SUMS")
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in paths]
    (out / "SHA256SUMS").write_text("".join(lines))


def is_old(path, arguments):
    """The amalgamation is made anew when any source has changed. The first extension is made by make itself."""
    return path != arguments.extension[0] and path.stat().st_mtime < arguments.amalgamation.stat().st_mtime


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--version", required=True)
    parser.add_argument("--extension", type=Path, nargs="+", required=True, help="compiled files, one for each platform")
    parser.add_argument("--static", type=Path, nargs="*", default=[], help="libraries for the platform of the first")
    parser.add_argument("--sqlite", type=Path, nargs=2, help="sqlite3.h and sqlite3ext.h: for a source distribution")
    parser.add_argument("--wasm", type=Path, help="the C library as WebAssembly: sqlite-cuckoo/filter")
    parser.add_argument("--amalgamation", type=Path, default=ROOT / "build/dist/cuckoo.c")
    parser.add_argument("--out", type=Path, default=ROOT / "build/dist")
    arguments = parser.parse_args()
    if "=native" in os.environ.get("CFLAGS", ""):
        sys.exit("dist.py: CFLAGS with =native: what is compiled so runs on this machine only; give make other CFLAGS")
    out, version = arguments.out, arguments.version
    out.mkdir(parents=True, exist_ok=True)
    for old in (*out.glob("sqlite[_-]cuckoo-*"), *out.glob("cuckoo-*.tar.gz"), *out.glob("cuckoo-*.html")):
        old.unlink()  # of another version, perhaps
    licence = arguments.amalgamation.with_name("LICENSE").read_text(encoding="utf-8")
    compiled = {}
    for path in arguments.extension:
        if is_old(path, arguments):
            print(f"left out: {path} is older than {os.path.relpath(arguments.amalgamation, ROOT)}: make it anew")
        elif path.suffix in (".so", ".dylib", ".dll"):
            one = binaries.read(path)
            compiled.setdefault(one.name, one)
            if not one.hardened:
                print(f"not hardened: {path}: make it without CFLAGS of your own, or with -fstack-protector-strong")
    first = next(iter(compiled.values()))
    made, archives = [], {}
    for one in compiled.values():
        made += [wheel(out, version, one, licence), loadable(out, version, one, licence)]
        for name in one.sqlpkg:
            if one.libc != "musl" or name not in archives:
                archives[name] = made[-1]
    if arguments.wasm:
        made.append(out / f"cuckoo-{version}-filter.html")
        made[-1].write_text(filter_package(version, arguments.wasm, licence)["filter.html"], encoding="utf-8")
    else:
        print("left out: sqlite-cuckoo/filter of the npm package, which clang and wasm-ld make; on Debian: clang lld")
    if arguments.sqlite:
        made.append(sdist(out, version, arguments, licence))
    made += [npm(out, version, list(compiled.values()), licence, arguments.wasm),
             *others(out, version, arguments, first.name, licence)]
    made.append(sqlpkg(out, version, archives))
    sums(out)
    for path in sorted(made) + [out / "SHA256SUMS"]:
        print(f"{path.stat().st_size:10}  {os.path.relpath(path, ROOT)}")


if __name__ == "__main__":
    main()
