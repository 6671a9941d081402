# SPDX-License-Identifier: MIT
"""Makes the packages: a Python wheel for each platform, its sources, an npm package, a page, archives, a file for sqlpkg, checksums.

    dist.py --version V --extension FILE ... [--static FILE ...] [--wasm FILE] [--sqlite FILE ...] --out build/dist   (make dist)

Needs nothing but Python, and no network. The same files give the same packages, to the byte: names are sorted, and dates are
SOURCE_DATE_EPOCH, or the first of January 1980. Who makes cuckoo and where it is stands in project.json, or the file of --project.
While it does not say where, no package names an address, and sqlpkg.json fetches archives from the folder that it lies in.
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
import project

sys.path.insert(0, str(Path(__file__).resolve().parent / "python"))
from backend import MODULE, write_sdist, write_tar, write_wheel  # noqa: E402

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SUMMARY = "Cuckoo filters for SQLite: a set of keys in about ten bits each, with deletes, growth and sync with a table"
LICENCE = "MIT AND BSD-2-Clause"  # its own, and that of xxHash, which is compiled in
PROJECT = {}  # what project.json says; main() reads it


# ---- what goes into all of them ----

def excerpt():
    """The beginning of the README, without the pictures and results that only the project has, and its first example with the output."""
    readme = (ROOT / "README.md").read_text()
    claim = re.sub(r"!\[.*?\]\(tests/.*?\)\n?| \(\[\w+\]\(tests/.*?\)\)", "", readme[:readme.index("\n## ")])
    example = re.search(r"^```sql\n(.*?)^```\n```text\n(.*?)^```", readme, re.M | re.S)
    return claim, example[1], example[2]


def archive_papers(kind, version, licence, platform="", extension=""):
    """What lies in an archive beside its files: a README that is true of it, the reference, the changes, the licences."""
    claim, example, output = excerpt()
    readme = filled(f"archives/{kind}.md", VERSION=version, PLATFORM=platform, EXTENSION=extension, OUTPUT=output,
                    LIBRARY=filled("archives/library.md", COMMANDS=COMMANDS.get(kind, "")).rstrip("\n"),
                    CLAIM=claim[claim.index("\n"):].strip(), EXAMPLE=loading(example))
    address = f"\nAll of it: {PROJECT['repository']}\n" if PROJECT["repository"] else ""
    return {"README.md": readme + address, "LICENSE": licence, **papers(), **recipes()}


def papers():
    """In every package: all that there is, what versions keep, what is new."""
    return {name: (ROOT / "ext" / name).read_text() for name in ("REFERENCE.md", "COMPATIBILITY.md", "CHANGES.md")}


def recipes():
    """In every package with folders: the scripts that REFERENCE.md names, to be run where the compiled file is."""
    return {f"sql/{path.name}": loading(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "sql").glob("*.sql"))}


def loading(text):
    """A script that loads the extension from the working folder."""
    return text.replace(".load build/cuckoo", ".load ./cuckoo")


# Of the programs in archives/library.md.
COMMANDS = {
    "amalgamation": """```sh
cc -O2 -DCUCKOO_LIBRARY_ONLY library.c cuckoo.c -o library -lm && ./library
cc -O2 -DCUCKOO_LIBRARY_ONLY many.c cuckoo.c -o many -lm && ./many
```
```text
1 1
1
```""",
    "static": """```sh
cc -I. extension.c libcuckoo_sqlite.a -lsqlite3 -lm -o extension && ./extension
cc -I. library.c libcuckoofilter.a -lm -o library && ./library
cc -I. many.c libcuckoofilter.a -lm -o many && ./many
```
```text
1
1 1
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
    pages = {"Homepage": PROJECT["homepage"], "Repository": PROJECT["repository"], "Issues": issues()}
    urls = "".join(f"Project-URL: {name}, {url}\n" for name, url in pages.items() if url)
    author = f"Author-email: {project.person(PROJECT)}" if PROJECT["email"] else f"Author: {project.person(PROJECT)}"
    return filled("python/PKG-INFO", NAME=PROJECT["pypi"], VERSION=version, SUMMARY=SUMMARY, AUTHOR=author, LICENCE=LICENCE,
                  URLS=urls, README=filled("python/README.md"))


def issues():
    return PROJECT["repository"] and f"{PROJECT['repository']}/issues"


def python_package(version):
    """The files that do not depend on the platform."""
    modules = {f"sqlite_cuckoo/{name}": filled(f"python/sqlite_cuckoo/{name}", VERSION=version)
               for name in ("__init__.py", "__main__.py", "_filter.pyi", "files.py", "filter.py", "lists.py")}
    texts = {**papers(), **recipes()}
    return {**modules, "sqlite_cuckoo/py.typed": "", **{f"sqlite_cuckoo/{name}": text for name, text in texts.items()}}


def wheel(out, version, binary, licence, arguments):
    """With the module of sqlite_cuckoo.Filter, if it is beside the extension and up to date."""
    module, package = binary.path.with_name(MODULE), python_package(version)
    if module.exists() and module.stat().st_mtime >= arguments.amalgamation.stat().st_mtime:
        binary = binary._replace(needs=max(binary.needs, binaries.read(module).needs))
        package[f"sqlite_cuckoo/{MODULE}"] = module.read_bytes()
    return write_wheel(out, binary.wheel, metadata(version), licence, package, filled("man/sqlite-cuckoo.1"),
                       binary.path.read_bytes(), binary.path.suffix)


def sdist(out, version, arguments, licence):
    """What a C compiler makes a wheel of, with the headers of SQLite, which are in the public domain."""
    files = {name: filled(f"python/{name}") for name in ("pyproject.toml", "backend.py", "README.md", "module.c", "abi.h", "keys.h", "making.h")}
    files.update({name: filled(f"filter/{name}") for name in ("exports.c", "exact.h")})
    files.update({f"sqlite/{path.name}": path.read_bytes() for path in arguments.sqlite})
    return write_sdist(out, {
        **files, "PKG-INFO": metadata(version), "LICENSE": licence, "sqlite-cuckoo.1": filled("man/sqlite-cuckoo.1"),
        "cuckoo.c": arguments.amalgamation.read_bytes(),
        **python_package(version)})


def page(version, code, licence):
    """The page to look at a filter: one file, which may run its own two scripts and nothing else (Content-Security-Policy)."""
    worker = filled("page/worker.js", FILTER=code)
    parts = {"STYLE": filled("page/page.css"), "WORKER": worker, "SCRIPT": filled("page/page.js", WORDS=filled("page/words.js"))}
    own = {name: f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for name, text in parts.items()}
    policy = (f"default-src 'none'; script-src {own['SCRIPT']} {own['WORKER']} 'wasm-unsafe-eval'; style-src {own['STYLE']}; "
              "worker-src blob:; base-uri 'none'; form-action 'none'")
    return filled("page/page.html", VERSION=version, POLICY=policy, LICENCE=html.escape(licence), **parts)


def for_workers(module):
    """The same for runtimes such as workerd, which compile no bytes but import a module of WebAssembly."""
    code, names = re.sub(r"const WASM = '.*'", "const WASM = ''", module).rsplit("\nexport ", 1)
    return f"import module from './filter.wasm';\n{code}\nstart(new WebAssembly.Instance(module, imports));\nexport {names}"


def filter_package(version, wasm, licence):
    """The filters without SQLite: one file with the compiled C library in it, and the same for require()."""
    module = filled("filter/filter.mjs", VERSION=version, WASM=base64.b64encode(wasm.read_bytes()).decode())
    code, names = module.rsplit("\nexport ", 1)
    return {"filter.mjs": module, "filter.js": f"{code}\nmodule.exports = {names}", "filter.html": page(version, code, licence),
            "filter.workerd.mjs": for_workers(module), "cli.mjs": filled("npm/cli.mjs"),
            "lists.mjs": filled("npm/lists.mjs"),
            "filter.d.ts": filled("filter/filter.d.ts"), "filter.d.mts": filled("filter/filter.d.ts")}


def common(module):
    """A module of JavaScript for require()."""
    code = re.sub(r"import (\w+) from '(\w+)';", r"const \1 = require('\2');", module.replace("import { fileURLToPath } from 'url';\n", ""))
    code = code.replace("MIT\n", "MIT\n'use strict';\n", 1)
    code = re.sub(r"// A bundle.*\nconst here = .*", "const here = __dirname;", code)
    return re.sub(r"export default .*;\nexport (.*)", r"module.exports = \1", code)


def npm(out, version, compiled, licence, wasm):
    package = json.loads(filled("npm/package.json", NAME=PROJECT["npm"], VERSION=version, AUTHOR=project.person(PROJECT)))
    package.update({"description": SUMMARY, "license": f"({LICENCE})"})
    if PROJECT["repository"]:  # npm wants its own form of the address, and compares it with that of a workflow
        package.update({"repository": {"type": "git", "url": f"git+{PROJECT['repository']}.git"}, "bugs": {"url": issues()}})
    if PROJECT["homepage"]:
        package["homepage"] = PROJECT["homepage"]
    files = {name: filled(f"npm/{name}") for name in ("index.mjs", "index.d.ts", "index.d.mts", "README.md")}
    files.update({"index.js": common(files["index.mjs"]), **papers(), **recipes()})
    if wasm:
        files.update(filter_package(version, wasm, licence))
        files["filter.wasm"] = wasm.read_bytes()
    else:
        package["exports"] = {name: way for name, way in package["exports"].items() if not name.startswith("./filter")}
        package["files"] = [name for name in package["files"] if not name.startswith(("filter", "cli"))]
        del package["bin"]
    files.update({"package.json": json.dumps(package, indent=2) + "\n", "LICENSE": licence})
    files.update({f"compiled/{name}/cuckoo{one.path.suffix}": one.path.read_bytes() for one in compiled for name in one.node})
    return write_tar(out / f"sqlite-cuckoo-{version}.tgz", {f"package/{name}": files[name] for name in files})


def folder(out, name, files):
    """An archive whose files lie in one folder, which is named as the archive is."""
    return write_tar(out / f"{name}.tar.gz", {f"{name}/{one}": files[one] for one in files})


def loadable(out, version, binary, licence):
    extension = "cuckoo" + binary.path.suffix
    return folder(out, f"cuckoo-{version}-loadable-{binary.name}", {
        extension: binary.path.read_bytes(), **archive_papers("loadable", version, licence, binary.name, extension)})


def others(out, version, arguments, platform, licence):
    """The static libraries with their header, and the amalgamation."""
    header = arguments.amalgamation.with_name("cuckoo_filter.h")

    def archive(name, kind, files):
        papers = archive_papers(kind, version, licence, platform)
        return folder(out, f"cuckoo-{version}-{name}", {**{path.name: path.read_bytes() for path in files}, **papers})

    if arguments.static:
        yield archive(f"static-{platform}", "static", [header, *arguments.static])
    yield archive("amalgamation", "amalgamation", [header, arguments.amalgamation])


def flat(out, version, binary, licence):
    """For the program sqlpkg, which makes no folders when it unpacks."""
    return write_tar(out / f"cuckoo-{version}-sqlpkg-{binary.name}.tar.gz", {
        "cuckoo" + binary.path.suffix: binary.path.read_bytes(), "LICENSE": licence, **papers()})


def sqlpkg(out, version, archives):
    """`archives`: {os-arch: path}."""
    spec = {"owner": PROJECT["owner"] or "local", "name": "cuckoo", "version": version}
    spec.update({key: PROJECT[key] for key in ("homepage", "repository") if PROJECT[key]})
    place = PROJECT["repository"] and f"{PROJECT['repository']}/releases/download/v{version}"
    spec.update({
        "authors": [PROJECT["author"] or project.MAKERS], "license": LICENCE, "description": SUMMARY,
        "keywords": ["cuckoo-filter", "bloom-filter", "probabilistic", "index"], "symbols": sorted(symbols()),
        "assets": {"path": place or ".", "files": {platform: path.name for platform, path in sorted(archives.items())},
                   "checksums": {path.name: "sha256-" + hashlib.sha256(path.read_bytes()).hexdigest()
                                 for path in sorted(archives.values())}}})
    path = out / "sqlpkg.json"
    path.write_text(json.dumps(spec, indent=4) + "\n")
    return path


def symbols():
    """The functions and modules that the reference names."""
    return set(re.findall(r"`(cf_[a-z_]+)[(`]", papers()["REFERENCE.md"])) | {"cuckoo_filter"}


def sums(out):
    """Of all files that are there, the one file of C and its header, too, when they are."""
    paths = sorted(path for path in out.iterdir() if path.is_file() and path.name != "SHA256SUMS")
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in paths]
    (out / "SHA256SUMS").write_text("".join(lines))


def is_old(path, arguments):
    """The amalgamation is rebuilt when any source has changed. The first extension is made by make itself."""
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
    parser.add_argument("--project", type=Path, default=project.FILE, help="addresses and names; see project.py")
    arguments = parser.parse_args()
    PROJECT.update(project.read(arguments.project))
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
            print(f"left out: {path} is older than {os.path.relpath(arguments.amalgamation, ROOT)}: rebuild it")
        elif path.suffix in (".so", ".dylib", ".dll"):
            one = binaries.read(path)
            compiled.setdefault(one.name, one)
            if not one.hardened:
                print(f"not hardened: {path}: make it without CFLAGS of your own, or with -fstack-protector-strong")
    first = next(iter(compiled.values()))
    made, archives = [], {}
    for one in compiled.values():
        made += [wheel(out, version, one, licence, arguments), loadable(out, version, one, licence), flat(out, version, one, licence)]
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
    if list(project.faults(arguments.project)):
        print(f"not for a release: {os.path.relpath(project.__file__, ROOT)} names what is to be filled in beside it")
    for path in sorted(made) + [out / "SHA256SUMS"]:
        print(f"{path.stat().st_size:10}  {os.path.relpath(path, ROOT)}")


if __name__ == "__main__":
    main()
