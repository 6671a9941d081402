# SPDX-License-Identifier: MIT
"""Adds up what gcov counted, and says what no test has reached.

    coverage.py GCOV FOLDER...    the folders of the objects; the first one gets missing.txt

A line counts as reached when one of the builds has reached it, and a branch likewise: gcov numbers the branches of a
line in the same way in each build. What tests reach in headers that they include counts, too. Tables (*_table.h) and
headers of others do not count.
"""
import collections
import json
import subprocess
import sys
from pathlib import Path


class File:
    """Counts of one file: of each line, and of the branches of each line."""

    def __init__(self):
        self.lines = collections.Counter()
        self.branches = {}

    def add(self, line):
        number = line["line_number"]
        self.lines[number] += line["count"]
        new = [branch["count"] for branch in line["branches"]]
        old = self.branches.get(number, [])
        longer, shorter = (new, old) if len(new) > len(old) else (old, new)
        self.branches[number] = [n + sum(shorter[i:i + 1]) for i, n in enumerate(longer)]

    def missed_lines(self):
        return sorted(number for number, count in self.lines.items() if count == 0)

    def missed_branches(self):
        """(line, branch, branches of that line)"""
        return [(number, i + 1, len(counts)) for number, counts in sorted(self.branches.items())
                for i, count in enumerate(counts) if count == 0]

    def figures(self):
        """Lines, those reached, branches, those reached."""
        branches = sum(len(counts) for counts in self.branches.values())
        return (len(self.lines), len(self.lines) - len(self.missed_lines()),
                branches, branches - len(self.missed_branches()))


def is_ours(name):
    return name.startswith(("src/", "ext/")) and not name.endswith("_table.h")


def measure(gcov, folders):
    files = collections.defaultdict(File)
    notes = [str(note) for folder in folders for part in ("src", "ext", "tests")
             for note in Path(folder, part).rglob("*.gcno")]
    said = subprocess.run([gcov, "--json-format", "--stdout", "--branch-probabilities", *notes],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
    for report in said.splitlines():
        for file in json.loads(report)["files"]:
            if is_ours(file["file"]):
                for line in file["lines"]:
                    files[file["file"]].add(line)
    return files


def share(part, whole):
    return 100 * part / whole if whole else 100


def row(name, figures):
    lines, reached, branches, taken = figures
    return (f"{name:<24} lines {share(reached, lines):6.2f} % of {lines:5}, {lines - reached:3} missed"
            f"   branches {share(taken, branches):6.2f} % of {branches:5}, {branches - taken:4} missed")


def write_missing(path, files):
    with open(path, "w") as out:
        for name in sorted(files):
            text = Path(name).read_text().splitlines()
            unreached = set(files[name].missed_lines())
            missed = [(number, "line") for number in unreached]
            missed += [(number, f"branch {branch} of {branches}")
                       for number, branch, branches in files[name].missed_branches() if number not in unreached]
            for number, what in sorted(missed):
                print(f"{name}:{number}: {what}: {text[number - 1].strip()}", file=out)


def total(files, folder):
    figures = [file.figures() for name, file in files.items() if name.startswith(folder + "/")]
    return [sum(column) for column in zip(*figures)]


def main(gcov, *folders):
    files = measure(gcov, folders)
    missing = Path(folders[0], "missing.txt")
    write_missing(missing, files)
    figures = {name: file.figures() for name, file in files.items()}
    for name in sorted(figures, key=lambda name: sum(figures[name][1::2]) - sum(figures[name][::2])):
        print(row(name, figures[name]))
    print(f"details: {missing}")
    totals = {folder: total(files, folder) for folder in ("src", "ext")}
    for folder, sums in totals.items():
        if not sums or not sums[1]:
            sys.exit(f"failed: nothing of {folder} was measured")
        print(row(folder, sums))


if __name__ == "__main__":
    main(*sys.argv[1:])
