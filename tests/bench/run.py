# SPDX-License-Identifier: MIT
"""Runs the benchmarks: every program of measured.txt, ten times, each time with another seed; then the page.

    python3 tests/bench/run.py full [RUNS]      build/bench/run-<i>/, hours; see measured.txt
    python3 tests/bench/run.py quick [RUNS]     build/bench/quick/run-<i>/, under two minutes: fewer points, not fewer runs

Runs of different programs take turns, so that a noisy minute does not spoil one program. What is complete is kept: stop it
when you like, and call it again to go on. A program that was built anew is run anew. Then tables.py joins the runs, and
report.py writes build/bench/report.html.
"""
import hashlib
import os
import shlex
import subprocess
import sys
import time

import about
import report
import tables

OUT = "build/bench"
DONE_COLUMNS = ["size", "built as", "seconds", "load before"]


class Program:
    """A line of [programs]: once or every run, seconds of a run (full and quick), command."""

    def __init__(self, name, line):
        self.name = name
        runs, full, quick, command = line.split(None, 3)
        self.once = runs == "once"
        self.typical = {size: float(text) for size, text in (("full", full), ("quick", quick)) if text != "-"}
        self.command = [sys.executable if word == "python3" else word for word in shlex.split(command)]

    def files(self):
        """What it is made of: when these change, old runs are of no use."""
        library = [f"build/cuckoo.{ending}" for ending in ("so", "dylib", "dll") if os.path.exists(f"build/cuckoo.{ending}")]
        return [word for word in self.command if "/" in word and not word.startswith("/")] + library

    def built_as(self):
        digest = hashlib.sha256()
        for path in self.files():
            with open(path, "rb") as file:
                digest.update(file.read())
        return digest.hexdigest()[:16]


def programs():
    return [Program(name, line) for name, line in tables.sections()["programs"].items()]


class Bench:
    """All runs of one size."""

    def __init__(self, size, runs, out=OUT, listed=None):
        self.size, self.runs = size, runs
        self.folder = out if size == "full" else os.path.join(out, size)
        self.programs = [p for p in (programs() if listed is None else listed) if size in p.typical]
        self.built_as = {}
        self.took = {}  # name: seconds of each run that is known

    def steps(self):
        """(run, program), in the order in which they are done."""
        return [(run, program) for run in range(1, self.runs + 1) for program in self.programs
                if run == 1 or not program.once]

    def run_folder(self, run):
        return os.path.join(self.folder, f"run-{run}")

    def mark(self, run, program):
        return os.path.join(self.run_folder(run), program.name + ".done")

    def is_done(self, run, program, note=True):
        try:
            columns, rows = tables.read(self.mark(run, program))
            done = dict(zip(columns, rows[0]))
        except (OSError, IndexError):
            return False
        if program.name not in self.built_as:
            self.built_as[program.name] = program.built_as()
        if done["size"] != self.size or done["built as"] != self.built_as[program.name]:
            return False
        if note:
            self.took.setdefault(program.name, []).append(float(done["seconds"]))
        return True

    def forget_what_is_old(self):
        """Takes away the tables of runs that were made with other programs, or were not finished."""
        tables_of = {}
        for name, described in tables.descriptions().items():
            tables_of.setdefault(described.program, []).append(name + ".tsv")
        for folder in tables.run_folders(self.folder):
            run = int(folder.rpartition("-")[2])
            for program in self.programs:
                if not self.is_done(run, program, note=False):
                    for name in [*tables_of.get(program.name, []), program.name + ".done"]:
                        if os.path.exists(os.path.join(folder, name)):
                            os.remove(os.path.join(folder, name))

    def seconds_of(self, program):
        """What one run is expected to take: as before, or as measured.txt says, on a machine as slow as it has been."""
        took = self.took.get(program.name)
        if took:
            return sorted(took)[len(took) // 2]
        known = [p for p in self.programs if self.took.get(p.name)]
        few = 0.1 * sum(p.typical[self.size] for p in self.programs)  # so that the first seconds do not decide alone
        typical = few + sum(p.typical[self.size] for p in known)
        return program.typical[self.size] * (few + sum(self.seconds_of(p) for p in known)) / typical

    def left(self, steps):
        return sum(self.seconds_of(program) for _, program in steps)

    def do(self, run, program):
        """One run of one program; its progress goes to a log."""
        folder = self.run_folder(run)
        os.makedirs(folder, exist_ok=True)
        log_path = os.path.join(folder, program.name + ".log")
        start, before = time.time(), os.getloadavg()[0]
        with open(log_path, "w", encoding="utf-8") as log:
            done = subprocess.run([*program.command, self.size, folder, str(run)], stdout=log, stderr=log, check=False)
        if done.returncode != 0:
            sys.stderr.write(tables.text_of(log_path))
            raise SystemExit(f"{program.name} failed in run {run}: {log_path}")
        seconds = time.time() - start
        self.took.setdefault(program.name, []).append(seconds)
        self.built_as[program.name] = program.built_as()
        tables.write(self.mark(run, program), DONE_COLUMNS, [[
            self.size, self.built_as[program.name], f"{seconds:.1f}", f"{before:.2f}"]])

    def go(self, say):
        """Runs what is not done yet."""
        steps = self.steps()
        self.forget_what_is_old()
        waiting = [step for step in steps if not self.is_done(*step)]
        if len(waiting) < len(steps):
            say(f"{len(steps) - len(waiting)} of {len(steps)} runs are there already")
        start = time.time()
        while waiting:
            run, program = waiting[0]
            say(f"[{len(steps) - len(waiting) + 1} of {len(steps)}] {program.name}, run {run} of "
                f"{1 if program.once else self.runs}; {span(time.time() - start)} gone, about {span(self.left(waiting))} left")
            self.do(run, program)
            waiting.pop(0)

    def finish(self):
        facts = about.about(self.size, self.runs)
        tables.write(os.path.join(self.folder, "about.tsv"), ["name", "value"], [list(fact) for fact in facts.items()])
        tables.join_all(self.folder)
        report.main(self.folder, self.size, os.path.join(OUT, "report.html"))


def span(seconds):
    """A time as people say it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def say(text):
    """A line of its own; on a terminal each line takes the place of the one before."""
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K" + text)
        sys.stderr.flush()
    else:
        print(text, file=sys.stderr, flush=True)


def main(size="full", runs="10"):
    bench = Bench(size, int(runs))
    try:
        bench.go(say)
    except KeyboardInterrupt:
        raise SystemExit("\nStopped. What is complete is kept: the same command goes on from here.") from None
    bench.finish()
    say(f"Look at {OUT}/report.html\n")


if __name__ == "__main__":
    if len(sys.argv) > 3 or (len(sys.argv) > 1 and sys.argv[1] not in ("full", "quick")):
        sys.exit("usage: run.py [full|quick [RUNS]]")
    main(*sys.argv[1:])
