# SPDX-License-Identifier: MIT
"""Which test notices which mutant? The yardstick by which tests are deleted, and new ones are judged.

    matrix.py src [--sample N]     marked mutants of src (mutants.py), against each C test          -> kills_src.tsv
    matrix.py ext [--sample N]     sampled statements of ext, against each program, SQL and Python file -> kills_ext.tsv
    matrix.py judge FILE           what each test kills, what it alone kills, and a smallest set that kills all
    --jobs N, --seed N             how many at a time; another sample (the seed is in the first line of the file)

A line of a file is a mutant and, behind a tab, the names of all tests that notice it; "-" if none does. Mutants that are in the
file already are left out, so that a run can be stopped and called again. Those that do not compile are not listed.

A test may go when another one, which stays, kills all that it kills. A new test is judged by the same mutants. What judge prints
last is a set of tests found greedily by what they kill for the processor time that they take: a proposal, not a verdict.
"""
import argparse
import collections
import concurrent.futures
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
import mutants

HERE = Path(__file__).resolve().parent
PYTHON = os.environ.get("PYTHON", "/usr/bin/python3")
NOTHING = "-"


def name_of(mutant):
    """Without the line, which moves: the file, the rule or function, the operator and the change."""
    return " | ".join([str(mutant.mark.path.relative_to(ROOT)), mutant.mark.rule, mutant.operator, mutant.change])


# ---- src ----

class SourceMatrix:
    """Marked mutants against programs of C."""

    def __init__(self, folder):
        self.bench, self.folder, self.local = mutants.Bench(), folder, threading.local()
        self.tests = [(test, []) for test in self.bench.tests] + [("model/model", ["3000"])]

    def sample(self, rng, n):
        marks = [mark for path in sorted((ROOT / "src").rglob("*.[ch]")) for mark in mutants.marks_in(path)]
        made = [one for mark in marks for one in mutants.mutants_of(mark) if not one.is_equivalent]
        return made if n is None else rng.sample(made, min(n, len(made)))

    def killers(self, mutant):
        """The names of the tests that fail; None: it does not compile."""
        if not hasattr(self.local, "worker"):
            self.local.worker = mutants.Worker(self.bench, self.folder)
        worker, path, found = self.local.worker, mutant.mark.path, []
        copy = worker.folder / path.relative_to(ROOT)
        copy.write_text(mutant.text)
        try:
            for test, arguments in self.tests:
                program = worker.program(test, path)
                if program is None:
                    return None
                if self.fails(program, arguments, self.bench.limit(test)):
                    found.append(" ".join([Path(test).name, *arguments]).replace(" ", "_"))
        finally:
            shutil.copy(path, copy)
            for object_ in worker.folder.rglob("*.o"):
                object_.unlink()
        return found

    @staticmethod
    def fails(program, arguments, seconds):
        if not arguments:
            return mutants.run(program, seconds) is not None
        done = subprocess.run([program, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              env={**os.environ, "CUCKOO_TEST_SEED": "1"}, preexec_fn=lambda: mutants.limits(60))
        return done.returncode != 0


# ---- ext ----

class ExtensionMatrix:
    """Any statement of ext, against everything that loads the extension or links it."""

    PROGRAMS = ["linked", "shared_cache"]

    def __init__(self, folder):
        self.folder, self.local = folder, threading.local()
        clean = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
        subprocess.run(["make", "-s", "SKIP_DEPS=1", "build/cuckoo.so", *(f"build/plain/{one}" for one in self.PROGRAMS)], cwd=ROOT,
                       check=True, env=clean)
        self.python = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "tests/python").rglob("test_*.py"))
        self.took = {}
        for test in [*self.PROGRAMS, "sql", *self.python]:
            began = os.times()
            if self.fails(test, ROOT / "build/cuckoo.so", ROOT / f"build/plain/{test}", 600):
                print(f"{test} fails without any mutant: it is left out", file=sys.stderr)
                continue
            ended = os.times()
            self.took[test] = ended.children_user + ended.children_system - began.children_user - began.children_system

    def sample(self, rng, n):
        made = [one for path in sorted((ROOT / "ext").rglob("*.c")) if "packages" not in path.parts
                for mark in statements_in(path) for one in mutants.mutants_of(mark)]
        return rng.sample(made, min(n or len(made), len(made)))

    def killers(self, mutant):
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            library = self.build(mutant, Path(folder))
            if library is None:
                return None
            return [Path(test).stem for test, took in self.took.items()
                    if self.fails(test, library, Path(folder) / test, 4 * took + 5)]

    def build(self, mutant, folder):
        """The extension, and the programs, with this mutant; None: it does not compile."""
        path = mutant.mark.path
        shutil.copytree(ROOT / "src", folder / "src")
        shutil.copytree(ROOT / "ext", folder / "ext")
        (folder / path.relative_to(ROOT)).write_text(mutant.text)
        unit = path.relative_to(ROOT).with_suffix("")
        for kind, flags in (("pic", ["-O1", "-fPIC", "-DNDEBUG", "-fvisibility=hidden"]), ("plain", ["-O1", "-g", "-DSQLITE_CORE"])):
            made = folder / f"{kind}.o"
            if subprocess.run([*mutants.CC, "-std=c11", "-w", *flags, f"@{ROOT}/build/options", "-c", "-o", made,
                               folder / f"{unit}.c"], stderr=subprocess.DEVNULL, cwd=ROOT).returncode:
                return None
            objects = [made if other == unit else ROOT / f"build/{kind}/{other}.o" for other in units()]
            programs = [("cuckoo.so", ["-shared"], [])] if kind == "pic" else [
                (name, [], [ROOT / f"build/plain/{source.relative_to(ROOT).with_suffix('.o')}", "-lcmocka", "-lsqlite3"])
                for name in self.PROGRAMS for source in [next((ROOT / "tests").rglob(f"{name}.c"))]]
            wrap = "-Wl,--wrap=sqlite3_bind_int64,--wrap=sqlite3_prepare_v2"
            for name, first, last in programs:
                more = [wrap] if name == "shared_cache" else []
                if subprocess.run([*mutants.CC, *first, "-o", folder / name, *objects, *more, *last, "-lm"],
                                  stderr=subprocess.DEVNULL, cwd=ROOT).returncode:
                    return None
        return folder / "cuckoo.so"

    def fails(self, test, library, program, seconds):
        command = [program] if test in self.PROGRAMS else ["sh", "tests/sql/run.sh"] if test == "sql" else \
            [PYTHON, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", test]
        with tempfile.TemporaryDirectory() as scratch:
            clean = {**os.environ, "CUCKOO_SO": str(library), "SQL_TEST_FOLDER": scratch, "CUCKOO_TEST_SEED": "1"}
            process = subprocess.Popen(command, cwd=ROOT, env=clean, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                       stdin=subprocess.DEVNULL, preexec_fn=lambda: mutants.limits(seconds))
            try:
                return process.wait(timeout=10 * seconds + 60) != 0
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                return True


def units():
    for folder in ("src", "ext"):
        for path in sorted((ROOT / folder).rglob("*.c")):
            if "packages" not in path.parts:
                yield path.relative_to(ROOT).with_suffix("")


def statements_in(path):
    """Each statement within a function, as if it were marked with the name of the function."""
    text = path.read_text()
    code = [token for token in mutants.tokens_of(text) if token.kind not in ("comment", "directive")]
    depth, function, within = 0, None, {}
    for i, token in enumerate(code):
        if depth == 0 and token.text == "(" and code[i - 1].kind == "name":
            function = code[i - 1].text
        depth += (token.text == "{") - (token.text == "}")
        within[token.start] = function if depth else None
    for statement in mutants.statements_of(code):
        function = within[statement.tokens[0].start]
        if function and len(statement.tokens) > 1 and not any(token.text == "assert" for token in statement.tokens[:1]):
            yield mutants.Mark(path, text.count("\n", 0, statement.tokens[0].start) + 1, function, "", statement)


# ---- files ----

def read(path):
    """mutant -> names of its killers, in the order of the file."""
    lines = path.read_text().splitlines() if path.exists() else []
    return {mutant: set() if killers == NOTHING else set(killers.split())
            for mutant, killers in (line.split("\t") for line in lines if line and not line.startswith("#"))}


def fill(kind, sample, seed, jobs):
    path = HERE / f"kills_{kind}.tsv"
    known = read(path)
    if not known:
        path.write_text(f"# seed {seed}: mutant, and the tests that notice it (matrix.py)\n")
    (ROOT / "build/mutants").mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=ROOT / "build/mutants") as folder, path.open("a") as out:
        matrix = (SourceMatrix if kind == "src" else ExtensionMatrix)(folder)
        chosen = [one for one in matrix.sample(random.Random(seed), sample) if name_of(one) not in known]
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            for mutant, killers in zip(chosen, pool.map(matrix.killers, chosen)):
                if killers is not None:
                    out.write(f"{name_of(mutant)}\t{' '.join(killers) or NOTHING}\n")
                    out.flush()


# ---- judging ----

def greedy(kills):
    """Tests, each the one that kills most of what is left."""
    left, chosen = set().union(*kills.values()), []
    while left:
        best = max(sorted(kills), key=lambda test: len(kills[test] & left))
        chosen.append((best, len(kills[best] & left)))
        left -= kills[best]
    return chosen


def judge(path):
    found, kills = read(Path(path)), collections.defaultdict(set)
    for mutant, killers in found.items():
        for test in killers:
            kills[test].add(mutant)
    print(f"{len(found)} mutants, {sum(map(bool, found.values()))} killed")
    for mutant in [mutant for mutant, killers in found.items() if not killers]:
        print(f"    survives: {mutant}")
    for test in sorted(kills, key=lambda test: -len(kills[test])):
        alone = sum(found[mutant] == {test} for mutant in kills[test])
        over = [other for other in kills if other != test and kills[test] <= kills[other]]
        print(f"{test:<32} kills {len(kills[test]):4}, alone {alone:3}" + (f"; all of it {over[0]} kills, too" if over else ""))
    print("together they kill all:")
    for test, more in greedy(kills):
        print(f"    {test} {more}")


def main():
    parser = argparse.ArgumentParser(usage="\n" + __doc__)
    parser.add_argument("what", choices=["src", "ext", "judge"])
    parser.add_argument("file", nargs="?")
    parser.add_argument("--sample", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    asked = parser.parse_args()
    judge(asked.file) if asked.what == "judge" else fill(asked.what, asked.sample, asked.seed, asked.jobs)


if __name__ == "__main__":
    main()
