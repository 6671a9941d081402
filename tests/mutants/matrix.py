# SPDX-License-Identifier: MIT
"""Which test notices which mutant? The yardstick by which tests are deleted, and new ones are judged.

    matrix.py src           marked mutants of src (mutants.py), against each C test -> build/mutants/kills_src.tsv (hours)
    matrix.py judge         what each test kills, and what it alone kills
    matrix.py after KIND    what notices each mutant first, model and sim before others: of src, against each C test
                            -> build/mutants/after_src.tsv; of ext sampled statements, against each program, SQL and Python
                            file -> after_ext.tsv. First with --quick, of ext: what make check runs; a later call the others
    --sample N --seed N     of ext, so many mutants (100); another sample
    --only N                ends after so many mutants; another call goes on where it ended
    --quick                 without the tests that cost time; another call runs them

A line of kills_src.tsv is a mutant; the tests that notice it, or "-"; the tests that were not run, or "-": slow ones, if anything
notices it. A test that never reaches the statement is not run: it cannot notice. A line of after_KIND.tsv is a mutant; what
notices it first; and "check", if make check does not. Mutants that do not compile are left out.

A test may go when another one, which stays, kills all that it kills. A new test is judged by the same mutants.
"""
import argparse
import collections
import hashlib
import itertools
import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import bench
import mutants
from mutants import ROOT

HERE = Path(__file__).resolve().parent
PYTHON = os.environ.get("PYTHON", "/usr/bin/python3")
KILLS = ROOT / "build/mutants/kills_src.tsv"
NOTHING = "-"
STAGES = ("quick", "slow")
SLOW = 0.2  # seconds of processor time
SIM_RUNS = os.environ.get("MATRIX_SIM_RUNS", "30")


# ---- mutants ----

def marked():
    return [one for path in sorted((ROOT / "src").rglob("*.[ch]")) for mark in mutants.marks_in(path)
            for one in mutants.mutants_of(mark) if not one.is_equivalent]


def sampled(rng, n):
    made = [one for path in sorted((ROOT / "ext").rglob("*.c")) if "packages" not in path.parts
            for mark in statements_in(path) for one in mutants.mutants_of(mark)]
    return rng.sample(made, min(n, len(made)))


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
        if function and len(statement.tokens) > 1 and statement.tokens[0].text != "assert":
            yield mutants.Mark(path, text.count("\n", 0, statement.tokens[0].start) + 1, function, "", statement)


def named(made):
    """name -> mutant. A name is without the line, which moves: file, rule or function, operator and change."""
    found, times = {}, collections.Counter()
    for one in made:
        rule = " ".join(one.mark.rule.split())
        name = " | ".join([str(one.mark.path.relative_to(ROOT)), rule, one.operator, one.change])
        times[name] += 1
        found[name if times[name] == 1 else f"{name} #{times[name]}"] = one
    return found


# ---- tests: name -> what it is ----

def stem_of(path):
    return str(path.relative_to(ROOT).with_suffix(""))


def there(**patterns):
    """Those programs whose sources there are: name -> sources."""
    found = {name: sorted((ROOT / "tests").glob(pattern)) for name, pattern in patterns.items()}
    return {name: list(map(stem_of, sources)) for name, sources in found.items() if sources}


class Tests:
    """All tests of a kind: which statements each of them reaches, and whether it notices a mutant."""

    def __init__(self, kind, made, quick=False):
        self.kind, self.quick = kind, quick
        self.statements = {}  # (path, where it begins) -> number
        for one in made:
            self.statements.setdefault(self.place(one), len(self.statements))
        programs, self.commands = self.of_src() if kind == "src" else self.of_ext()
        self.bench = bench.Bench(kind, programs)
        self.python = None
        known = self.bench.folder / f"reached_{self.state()}{'_quick' * quick}.json"
        if not known.exists():
            self.look(made)
            known.write_text(json.dumps({"reached": self.reached, "took": self.took, "chosen": self.chosen}))
        found = json.loads(known.read_text())
        self.reached, self.took, self.chosen = ({**found[name]} for name in ("reached", "took", "chosen"))
        self.bench.build_original()

    @staticmethod
    def place(mutant):
        return str(mutant.mark.path), mutant.mark.statement.tokens[0].start

    def state(self):
        """Of all that what is reached depends on."""
        digest = hashlib.sha256(repr(sorted(self.statements)).encode())
        for part in ("src", "ext", "tests"):
            for path in sorted((ROOT / part).rglob("*.*")):
                if path.is_file() and HERE not in path.parents and "__pycache__" not in path.parts:
                    digest.update(path.read_bytes())
        return digest.hexdigest()[:16]

    def of_src(self):
        programs = {path.stem: [stem_of(path)] for path in sorted((ROOT / "tests/unit").rglob("test_*.c"))}
        programs.update(there(model="model/model.c"))
        return programs, {name: [] for name in programs}

    def of_ext(self):
        programs = there(sim="sim/*.c", fuzz="model/fuzz.c")
        if not self.quick:
            programs.update(there(linked="unit/ext/linked.c", shared_cache="unit/ext/shared_cache.c", oom="faults/oom.c"))
        arguments = {"sim": ["1", "--runs", SIM_RUNS, "--first"]}
        return programs, {name: arguments.get(name, []) for name in [*programs, "sql"]}

    def run(self, name, seconds):
        scratch = self.bench.folder / "scratch"
        command = ["sh", "tests/sql/run.sh"] + ["quick"] * self.quick if name == "sql" else [self.bench.program(name), *self.commands[name]]
        seed = {} if name == "model" else {"CUCKOO_TEST_SEED": "1"}
        return bench.run(command, seconds, CUCKOO_SO=str(self.bench.libraries["pic"]), SQL_TEST_FOLDER=str(scratch),
                         MATRIX_REACHED=str(self.bench.folder / "reached"), **seed)

    def look(self, made):
        """Runs all tests once, traced: which statements do they reach, and how long do they take?"""
        place = {self.place(one): (one.mark.path, one.mark.statement) for one in made}
        reached = self.bench.build_traced({number: place[where] for where, number in self.statements.items()})
        self.reached, self.took, self.chosen = {}, {}, {}
        for name in self.commands:
            reached.take()
            failed, took = self.run(name, 600)
            self.note(name, failed, took, reached.take())
        if self.kind == "ext":
            for file, seen in self.ask({file: 600 for file in self.files()}, {}):
                found = {*seen["before"], *itertools.chain(*seen["tests"].values())}
                self.note(file, seen["failed"], seen["took"], sorted(found))
                self.chosen[file] = {"before": seen["before"], "tests": seen["tests"]}

    def note(self, name, failed, took, reached):
        print(f"{took:7.2f} s {len(reached):4} reached  {name} {failed or ''}", flush=True)
        if failed:
            print(f"{name} fails without any mutant: it is left out", file=sys.stderr)
        else:
            self.took[name], self.reached[name] = took, reached

    # ---- Python: a process that has collected all files (served.py) ----

    def files(self):
        folder = ROOT / "tests/python"
        return sorted(str(path.relative_to(folder)) for path in folder.rglob("test_*.py"))

    def ask(self, files, tests):
        """Runs these files; yields (file, what was seen)."""
        if not self.python:
            orders, self.orders = os.pipe()
            self.answers, answers = os.pipe()
            clean = {**os.environ, "CUCKOO_SO": str(self.bench.libraries["pic"]), "CUCKOO_TEST_SEED": "1",
                     "PYTHONPATH": str(HERE), "MATRIX_REACHED": str(self.bench.folder / "reached"),
                     "MATRIX_ORDERS": str(orders), "MATRIX_ANSWERS": str(answers)}
            log = (self.bench.folder / "python.log").open("w")
            self.python = subprocess.Popen(
                [PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "served",
                 "--hypothesis-seed=1", "--capture=sys", *["--quick"] * self.quick, f"--basetemp={self.bench.folder}/tmp",
                 "--rootdir=tests/python", "tests/python"],
                cwd=ROOT, env=clean, stdout=log, stderr=log, stdin=subprocess.DEVNULL, pass_fds=(orders, answers))
            os.close(orders), os.close(answers)
            self.orders, self.answers = os.fdopen(self.orders, "w"), os.fdopen(self.answers)
        print(json.dumps({"files": files, "tests": tests}), file=self.orders, flush=True)
        for line in self.answers:
            answer = json.loads(line)
            if answer is None:
                return
            yield answer
        raise SystemExit(f"pytest has ended: {self.bench.folder}/python.log")

    # ---- one mutant ----

    def build(self, mutant):
        """False: it does not compile."""
        self.bench.put(mutant.mark.path, mutant.text)
        return self.bench.build({mutant.mark.path})

    def undo(self, mutant):
        self.bench.restore(mutant.mark.path)

    def own(self, mutant, name):
        """Does the program reach it in an inline function of its own? Then it has to be built anew."""
        return bench.MOST + self.statements[self.place(mutant)] in self.reached[name] and name in self.bench.programs

    def reaching(self, mutant):
        """The tests that reach it. What cannot be traced may be reached by all."""
        number = self.statements[self.place(mutant)]
        if bench.insertions(mutant.mark.statement, number) is None:
            return list(self.reached)
        return [name for name, seen in self.reached.items() if number in seen or bench.MOST + number in seen]

    def tests_of(self, file, mutant):
        """The tests of a Python file that reach it; None: all."""
        number = self.statements[self.place(mutant)]
        found = [test for test, seen in self.chosen[file]["tests"].items() if number in seen]
        return found if found and number not in self.chosen[file]["before"] else None

    def noticing(self, mutant, names, first=False):
        """Those of these tests that notice it, one after the other; `first`: only until one has noticed."""
        names, found = list(names), []
        for name in [name for name in names if not name.endswith(".py")]:
            own = self.own(mutant, name)
            if own and not self.bench.link_program(name, {mutant.mark.path}):
                continue
            failed, _ = self.run(name, 4 * self.took[name] + 2)
            if own:
                self.bench.restore(mutant.mark.path)
                self.bench.link_program(name)
                self.bench.put(mutant.mark.path, mutant.text)
            if failed:
                found.append(name)
                if first:
                    return found
        files = {name: 4 * self.took[name] + 5 for name in names if name.endswith(".py")}
        tests = {name: self.tests_of(name, mutant) for name in files}
        for batch in [{name: files[name]} for name in files] if first else [files] if files else []:
            found += [file for file, seen in self.ask(batch, {name: tests[name] for name in batch}) if seen["failed"]]
            if first and found:
                break
        return found

    def stage(self, name):
        """The model and what is quick; then what those may make needless."""
        return "slow" if name.startswith("test_") and self.took[name] > SLOW else "quick"

    def wanted(self, line, stage):
        """The tests of this stage that were not run yet and could tell anything new."""
        if stage == "slow" and line.killers:
            return []
        return [name for name in self.took if name in line.skipped and self.stage(name) == stage]


# ---- files ----

Line = collections.namedtuple("Line", "killers skipped")


def read(path):
    """mutant -> its line, in the order of the file."""
    lines = path.read_text().splitlines() if path.exists() else []
    words = lambda text: set() if text == NOTHING else set(text.split())
    return {mutant: Line(words(killers), words(skipped))
            for mutant, killers, skipped in (line.split("\t") for line in lines if line and not line.startswith("#"))}


def short(name):
    return Path(name).stem


def write(path, first, lines):
    words = {name: "\t".join(" ".join(sorted(part)) or NOTHING for part in line) for name, line in lines.items()}
    fresh = path.with_suffix(".new")
    fresh.write_text(first + "\n" + "".join(f"{name}\t{words[name]}\n" for name in lines))
    fresh.replace(path)


def fill(stages, most):
    chosen = named(marked())
    lines, tests = read(KILLS), Tests("src", chosen.values())
    names = " ".join(f"{name}:{tests.took[name]:.1f}" for name in tests.took)
    first = f"# {len(chosen)} mutants; tests and their processor seconds: {names}"
    order = list(chosen)
    random.Random(1).shuffle(order)
    order.sort(key=lambda name: chosen[name].mark.path.suffix == ".h")  # a header costs most: last
    for name in order:
        line = lines.get(name) or Line(set(), set(tests.reaching(chosen[name])))
        if most == 0 or name in lines and not any(tests.wanted(line, stage) for stage in stages):
            continue
        if tests.build(chosen[name]):
            for stage in stages:
                run = tests.wanted(line, stage)
                line = Line(line.killers | set(tests.noticing(chosen[name], run)), line.skipped - set(run))
            lines[name] = line
            write(KILLS, first, lines)
        tests.undo(chosen[name])
        most = most and most - 1


# ---- judging ----

def share(title, found, tests):
    killed = [line.killers for line in found.values() if line.killers]
    print(f"{title}: {sum(bool(killers & tests) for killers in killed)} of the {len(killed)} that are killed at all")


def judge():
    kills = collections.defaultdict(set)
    found, head = read(KILLS), KILLS.read_text().splitlines()[0]
    for mutant, line in found.items():
        for test in line.killers:
            kills[test].add(mutant)
    print(f"{head.split(';')[0]}; {len(found)} done, {sum(bool(line.killers) for line in found.values())} killed")
    share("by model alone", found, {"model"})
    print("\nnot noticed by any test that was run")
    for mutant in [mutant for mutant, line in found.items() if not line.killers]:
        print(f"    {mutant}" + ("   (not all were run)" if found[mutant].skipped else ""))
    print("\nnot noticed by model, but by")
    for mutant in [mutant for mutant, line in found.items() if line.killers and "model" not in line.killers]:
        print(f"    {mutant}\n        {' '.join(sorted(found[mutant].killers))}")
    print(f"\n{'test':<32} seconds  kills  alone  what model does not  not run")
    for test, seconds in sorted(re.findall(r"(\w+):([0-9.]+)", head), key=lambda named: -len(kills[named[0]])):
        alone = sum(found[mutant].killers == {test} for mutant in kills[test])
        beyond = len(kills[test] - kills["model"])
        left = sum(test in line.skipped for line in found.values())
        over = sorted(other for other in kills if other != test and kills[test] and kills[test] <= kills[other])
        more = f"   all of it, too: {' '.join(over[:3])}" if over else ""
        print(f"{test:<32} {seconds:>7}  {len(kills[test]):5}  {alone:5}  {beyond:8}  {left:16}{more}")


def after(kind, sample, seed, most, quick):
    """The tests of today on the mutants of then, sim or model first. Third column: make check does not notice it."""
    before = read(KILLS) if kind == "src" else {}
    path = (KILLS.parent if kind == "src" else HERE) / f"after_{kind}.tsv"
    chosen = named(marked() if kind == "src" else sampled(random.Random(seed), sample))
    tests, now = Tests(kind, chosen.values(), quick), read(path)
    order = sorted(tests.took, key=lambda test: (test not in ("model", "sim"), tests.took[test]))
    waits = [name for name in chosen if (name not in now or not (quick or now[name].killers))]
    for name in waits[:most]:
        if tests.build(chosen[name]):
            reaching = set(tests.reaching(chosen[name]))
            found = tests.noticing(chosen[name], [test for test in order if test in reaching], first=True)
            now[name] = Line(set(map(short, found)), set() if quick and found else {"check"})
            write(path, f"# {len(chosen)} mutants, seed {seed}: what notices them first, and whether make check does not", now)
        tests.undo(chosen[name])
    for name in [name for name in now if not now[name].killers]:
        then = " ".join(sorted(before[name].killers)) if name in before else ""
        print(f"survives: {name}" + f"\n    was noticed by {then}" * bool(then))
    print(f"{len(now)} of {len(chosen)} mutants: {sum(not line.killers for line in now.values())} survive; "
          f"{sum(name not in chosen for name in now)} are of code that is gone")
    share("by model or sim alone", now, {"model", "sim"})
    if kind == "ext":
        print(f"by make check: {sum(bool(line.killers) and not line.skipped for line in now.values())}")


def main():
    parser = argparse.ArgumentParser(usage="\n" + __doc__)
    parser.add_argument("what", choices=["src", "judge", "after"])
    parser.add_argument("kind", nargs="?", choices=["src", "ext"])
    parser.add_argument("--sample", type=int, default=100)
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--only", type=int)
    parser.add_argument("--quick", action="store_true")
    asked = parser.parse_args()
    if asked.what == "src":
        fill(STAGES[:1] if asked.quick else STAGES, asked.only)
    elif asked.what == "judge":
        judge()
    elif asked.kind is None:
        parser.error("src or ext?")
    else:
        after(asked.kind, asked.sample, asked.seed, asked.only, asked.quick)


if __name__ == "__main__":
    main()
