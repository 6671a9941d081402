# SPDX-License-Identifier: MIT
"""What matrix.py builds: the sources as one library, programs that are linked with it once, and mutants of the library.

A mutant costs one compilation and one link. It takes the place of the library, below build/matrix/KIND/lib, so that
programs and Python find it where the original was. A traced build notes which statements are reached, in a file that
all processes share: also those that are killed.
"""
import mmap
import os
import re
import shutil
import subprocess
import threading
from pathlib import Path

import mutants
from mutants import CC, ROOT

FLAGS = ["-std=c11", "-w", "-O1", "-fPIC"]
CORE = ["-DSQLITE_CORE"]  # a program that is linked with SQLite; without it: the extension
EXTENSION = ["-DNDEBUG", "-fvisibility=hidden"]
WRAPS = {"shared_cache": ["-Wl,--wrap=sqlite3_bind_int64,--wrap=sqlite3_prepare_v2"],  # these are linked with each mutant
         "sim": ["-Wl,--wrap=realloc,--wrap=calloc"]}
MOST = 2000  # statements that can be traced

# In the first half what the library reaches; in the other one what inline functions in a program's own objects reach.
TRACE_H = f"""
extern unsigned char *matrix_reached;
#ifdef MATRIX_PROGRAM
#define HIT(i) ((void)(matrix_reached[{MOST} + (i)] = 1))
#else
#define HIT(i) ((void)(matrix_reached[i] = 1))
#endif
"""
TRACE_C = f"""
#define _DEFAULT_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
static unsigned char nowhere[{2 * MOST}];
unsigned char *matrix_reached = nowhere;
__attribute__((constructor)) static void begin(void)
{{
    int file = getenv("MATRIX_REACHED") ? open(getenv("MATRIX_REACHED"), O_RDWR) : -1;
    void *shared = file >= 0 ? mmap(NULL, sizeof nowhere, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
    if (shared != MAP_FAILED)
        matrix_reached = shared;
    if (file >= 0)
        close(file);
}}
"""


class Reached:
    """The file in which a traced build notes what it reaches."""

    def __init__(self, path):
        self.path = Path(path)
        if not self.path.exists():
            self.path.write_bytes(bytes(2 * MOST))
        with self.path.open("r+b") as file:
            self.bytes = mmap.mmap(file.fileno(), 2 * MOST)

    def take(self):
        """The numbers that were noted since the last time."""
        seen = self.bytes[:]
        if 1 in seen:
            self.bytes[:] = bytes(2 * MOST)
        return [found.start() for found in re.finditer(b"\1", seen)]


def insertions(statement, number):
    """What is inserted where, so that the statement notes that it is reached; None: it cannot."""
    tokens, hit = statement.tokens, f"HIT({number})"
    head = tokens[0].text
    if head in ("if", "while", "switch"):
        return [(tokens[1].end, f"{hit}, ")]
    if head == "for":
        first, second = [i for i, token in enumerate(tokens) if token.text == ";"][:2]
        return [(tokens[first].end, f" {hit}" + (", 1" if second == first + 1 else ","))]
    if head in ("case", "default", "else", "do", "typedef", ";") or tokens[-1].text != ";":
        return None
    if mutants.is_declaration(tokens):
        return [(tokens[-1].end, f" {hit};")]
    return [(tokens[0].start, "{ " + hit + "; "), (tokens[-1].end, " }")]


def traced(path, statements):
    """The text of a file whose statements, {number: statement}, note that they are reached."""
    text, places = path.read_text(), []
    for number, statement in statements.items():
        places += insertions(statement, number) or []
    for at, inserted in sorted(places, reverse=True):
        text = text[:at] + inserted + text[at:]
    return text


class Bench:
    """kind: src (a library without SQLite) or ext (also the extension). programs: name -> its sources, without .c"""

    def __init__(self, kind, programs):
        self.kind, self.programs = kind, programs
        self.folder = ROOT / f"build/matrix/{kind}"
        self.tree, self.made = self.folder / "tree", self.folder / "made"
        parts = ["src"] if kind == "src" else ["src", "ext"]
        sources = [path for part in parts for path in sorted((ROOT / part).rglob("*.c"))]
        self.units = [str(path.relative_to(ROOT).with_suffix("")) for path in sources if "packages" not in path.parts]
        self.builds = {"core": FLAGS + CORE} if kind == "src" else {"core": FLAGS + CORE, "pic": FLAGS + EXTENSION}
        self.libraries = {"core": self.folder / "lib/libcore.so", "pic": self.folder / "lib/cuckoo.so"}
        self.linked = ["-lcmocka", "-lm", "-lpthread"] + (["-lsqlite3"] if kind == "ext" else [])
        self.own = {source for sources in programs.values() for source in sources}
        self.needs = {unit: mutants.included(ROOT / f"{unit}.c") for unit in [*self.units, *self.own]}
        self.copy()
        (self.folder / "lib").mkdir(parents=True, exist_ok=True)

    def copy(self):
        shutil.rmtree(self.tree, ignore_errors=True)
        for part in ("src", "ext", "tests"):
            for path in (ROOT / part).rglob("*.[ch]"):
                copy = self.tree / path.relative_to(ROOT)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, copy)

    def restore(self, path):
        shutil.copy2(path, self.tree / path.relative_to(ROOT))

    def put(self, path, text):
        (self.tree / path.relative_to(ROOT)).write_text(text)

    def object(self, unit, build, changed, more=()):
        """The object of a unit; a fresh one when it includes what has changed. None: it does not compile."""
        fresh = any(path in self.needs[unit] for path in changed)
        made = self.folder / ("changed" if fresh else "made") / build / f"{unit}.o"
        if fresh or not made.exists() or made.stat().st_mtime < max(path.stat().st_mtime for path in self.needs[unit]):
            made.parent.mkdir(parents=True, exist_ok=True)
            command = [*CC, *self.builds[build], *more, "-c", "-o", made, self.tree / f"{unit}.c"]
            if subprocess.run(command, stderr=subprocess.DEVNULL).returncode:
                return None
        return made

    def build(self, changed, rebuilt=(), more=(), extra=()):
        """Builds the library with these changed files, and these programs anew; False: it does not compile."""
        for build in self.builds:
            objects = [self.object(unit, build, changed, more) for unit in self.units]
            if None in objects or not self.link(self.libraries[build], [*objects, *extra], ["-shared", "-lm"]):
                return False
            if build == "core":
                rebuilt = {*rebuilt, *(WRAPS.keys() & self.programs.keys())}
                self.whole = [*objects, *extra]
        return all(self.link_program(name, changed, more) for name in rebuilt)

    def link_program(self, name, changed=(), more=()):
        more = [*more, "-DMATRIX_PROGRAM"] if more else ()
        objects = [self.object(source, "core", changed, more) for source in self.programs[name]]
        library = [self.libraries["core"], f"-Wl,-rpath,{self.folder}/lib"]
        if name in WRAPS:
            library = [*self.whole, *WRAPS[name]]
        return None not in objects and self.link(self.program(name), objects, [*library, *self.linked])

    def program(self, name):
        return self.folder / "bin" / name

    def link(self, target, objects, last):
        target.parent.mkdir(parents=True, exist_ok=True)
        fresh = target.with_name(target.name + ".new")
        if subprocess.run([*CC, "-o", fresh, *objects, *last], stderr=subprocess.DEVNULL).returncode:
            return False
        os.replace(fresh, target)
        return True

    def build_traced(self, statements):
        """statements: {number: (path, statement)}. All programs, too. Returns the file of what is reached."""
        changed = {path for path, _ in statements.values()}
        for path in changed:
            self.put(path, traced(path, {number: one for number, (at, one) in statements.items() if at == path}))
        header, source, made = (self.folder / name for name in ("trace.h", "trace.c", "trace.o"))
        header.write_text(TRACE_H)
        source.write_text(TRACE_C)
        subprocess.run([*CC, *FLAGS, "-c", "-o", made, source], check=True)
        if not self.build(changed, self.programs, ["-include", str(header)], [made]):
            raise SystemExit("the traced build does not compile")
        for path in changed:
            self.restore(path)
        return Reached(self.folder / "reached")

    def build_original(self):
        if not self.build((), self.programs):
            raise SystemExit("the original does not compile")


def run(command, seconds, **environment):
    """How it failed, or None when it passes; and the processor time that it took. Ends with the first failure told."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                               env={**os.environ, "CMOCKA_MESSAGE_OUTPUT": "tap", **environment}, errors="replace",
                               cwd=ROOT, start_new_session=True, preexec_fn=lambda: mutants.limits(seconds))
    watch = threading.Timer(20 * seconds + 60, lambda: kill_all(process.pid))
    watch.start()
    told = None
    with process.stdout:
        for line in process.stdout:
            if line.startswith(("not ok", "failed", "FAIL")):
                told = line.strip()
                kill_all(process.pid)
                break
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    watch.cancel()
    return told or (f"status {process.returncode}" if process.returncode else None), used.ru_utime + used.ru_stime


def kill_all(pid):
    try:
        os.killpg(pid, 9)
    except ProcessLookupError:
        pass
