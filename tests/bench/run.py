# SPDX-License-Identifier: MIT
"""Runs the benchmarks: every program of measured.txt, ten times, each time with another seed; then the pages.

    python3 tests/bench/run.py full [RUNS [PROGRAM ...]]    build/bench/run-<i>/, an hour or two; then build/bench/RESULTS.md,
                                                            ARTICLES.md and report.html with the tables of this machine
    python3 tests/bench/run.py quick [RUNS [PROGRAM ...]]   build/bench/quick/run-<i>/, one run: fewer points; do the
                                                            programs work?

Programs are named as in measured.txt; all of them when none is. Runs of different programs take turns, so that a noisy
minute does not spoil one program. What is complete is kept: stop it when you like, and call it again to go on. A program
that was built anew is run anew. Then tables.py joins the runs.
"""
import glob
import hashlib
import os
import shlex
import subprocess
import sys
import time

import about
import quote
import report
import tables

OUT = "build/bench"
DONE_COLUMNS = ["size", "built as", "seconds", "load before", *about.FACTS]


class Program:
    """A line of [programs]: "once" or "every" run, and the command."""

    def __init__(self, name, line):
        self.name = name
        runs, command = line.split(None, 1)
        self.once = runs == "once"
        self.command = [sys.executable if word == "python3" else word for word in shlex.split(command)]

    def files(self):
        """What it is made of: when these change, old runs are of no use."""
        return [word for word in self.command if "/" in word and not word.startswith("/")] + glob.glob("build/cuckoo.*")

    def built_as(self):
        digest = hashlib.sha256()
        for path in self.files():
            with open(path, "rb") as file:
                digest.update(file.read())
        return digest.hexdigest()[:16]


def programs(*names):
    listed = tables.sections()["programs"]
    for name in names:
        if name not in listed:
            sys.exit(f"run.py: there is no program {name}; there are {', '.join(listed)}")
    return [Program(name, listed[name]) for name in names or listed]


class Bench:
    """All runs of one size."""

    def __init__(self, size, runs, out=OUT, listed=None):
        self.size, self.runs = size, runs
        self.folder = out if size == "full" else os.path.join(out, size)
        self.programs = programs() if listed is None else listed

    def steps(self):
        """(run, program), in the order in which they are done."""
        return [(run, program) for run in range(1, self.runs + 1) for program in self.programs
                if run == 1 or not program.once]

    def run_folder(self, run):
        return os.path.join(self.folder, f"run-{run}")

    def mark(self, run, program):
        return os.path.join(self.run_folder(run), program.name + ".done")

    def is_done(self, run, program):
        try:
            columns, rows = tables.read(self.mark(run, program))
            done = dict(zip(columns, rows[0]))
        except (OSError, IndexError):
            return False
        return done["size"] == self.size and done["built as"] == program.built_as()

    def forget_what_is_old(self):
        """Takes away the tables of runs that were made with other programs, or were not finished."""
        tables_of = {}
        for name, described in tables.descriptions().items():
            tables_of.setdefault(described.program, []).append(name + ".tsv")
        for folder in tables.run_folders(self.folder):
            run = int(folder.rpartition("-")[2])
            for program in self.programs:
                if not self.is_done(run, program):
                    for name in [*tables_of.get(program.name, []), program.name + ".done"]:
                        if os.path.exists(os.path.join(folder, name)):
                            os.remove(os.path.join(folder, name))

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
        tables.write(self.mark(run, program), DONE_COLUMNS, [[
            self.size, program.built_as(), f"{time.time() - start:.1f}", f"{before:.2f}", *about.about().values()]])

    def go(self, say):
        """Runs what is not done yet."""
        steps = self.steps()
        self.forget_what_is_old()
        waiting = [step for step in steps if not self.is_done(*step)]
        if len(waiting) < len(steps):
            say(f"{len(steps) - len(waiting)} of {len(steps)} runs are there already")
        for n, (run, program) in enumerate(waiting, len(steps) - len(waiting) + 1):
            say(f"[{n} of {len(steps)}] {program.name}, run {run} of {1 if program.once else self.runs}")
            self.do(run, program)

    def finish(self):
        """The joined tables; in full form the pages, too."""
        tables.join_all(self.folder)
        if self.size == "full":
            report.write(self.folder, quote.write_pages(self.folder))


def main(size="full", runs=None, *names):
    if size == "full":
        report.need()
    bench = Bench(size, int(runs or (10 if size == "full" else 1)), listed=programs(*names))
    try:
        bench.go(lambda text: print(text, file=sys.stderr, flush=True))
    except KeyboardInterrupt:
        raise SystemExit("\nStopped. What is complete is kept: the same command goes on from here.") from None
    bench.finish()
    print(f"Look at {bench.folder}" + ("/report.html" if size == "full" else ""))


if __name__ == "__main__":
    if sys.argv[1:2] not in ([], ["full"], ["quick"]) or not "".join(sys.argv[2:3] or ["1"]).isdigit():
        sys.exit("usage: run.py [full|quick [RUNS [PROGRAM ...]]]")
    main(*sys.argv[1:])
