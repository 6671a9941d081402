# SPDX-License-Identifier: MIT
"""Joins the tables of several runs: medians, quartiles and extremes.

measured.txt says of each table which columns name a point (keys) and which are measured. Rows of different runs with the same
keys are one point; rows of one run with the same keys are told apart by their order. A joined table has the keys, then for
each measured column its median under its own name and four columns more, see SPREAD, then the number of runs.
"""
import configparser
import functools
import glob
import math
import os
import re
import statistics

HERE = os.path.dirname(os.path.abspath(__file__))
SPREAD = ("q1", "q3", "least", "most")
MISSING = "-"


class Description:
    """What measured.txt says of one table: program | keys | measured | title."""

    def __init__(self, name, line):
        self.name = name
        self.program, keys, measured, self.title = (part.strip() for part in line.replace("\n", " ").split(" | "))
        self.keys, measured = parts_of(keys), parts_of(measured)
        self.sums = [column[1:] for column in measured if column.startswith("+")]
        self.measured = [column.removeprefix("+") for column in measured]

    def check(self, columns):
        """Are all columns described, and all that are described there?"""
        unknown = [c for c in columns if c not in self.keys and c not in self.measured and "*" not in self.measured]
        gone = [c for c in [*self.keys, *self.measured] if c not in columns and c != "*"]
        if unknown or gone:
            raise ValueError(f"{self.name}: measured.txt does not describe {unknown}, and describes {gone}, which are not there")


def parts_of(text):
    """What semicolons separate."""
    return [part.strip() for part in text.split(";") if part.strip()]


@functools.cache
def sections():
    """All sections of measured.txt."""
    parser = configparser.ConfigParser(delimiters=("=",), interpolation=None, strict=True)
    parser.optionxform = str
    parser.read_string(text_of(os.path.join(HERE, "measured.txt")))
    return parser


def descriptions():
    return {name: Description(name, line) for name, line in sections()["tables"].items()}


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def put(path, text):
    """Writes a file, all of it or nothing."""
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path + ".new", path)


def read(path):
    """The columns and the rows of a table."""
    lines = [line.split("\t") for line in text_of(path).splitlines()]
    if not lines:
        raise ValueError(f"{path} is empty: what writes it has not finished")
    columns, rows = lines[0], lines[1:]
    for row in rows:
        if len(row) != len(columns):
            raise ValueError(f"{path}: a row of {len(row)} columns, not {len(columns)}: {row}")
    return columns, rows


def write(path, columns, rows):
    put(path, "".join("\t".join(row) + "\n" for row in [columns, *rows]))


def points(described, runs):
    """The columns, and of each point the values of all runs: {(keys, number): {column: [text, ...]}}."""
    found, columns = {}, None
    for names, rows in runs:
        columns = columns or names
        described.check(names)
        seen = {}
        for row in rows:
            cells = dict(zip(names, row))
            keys = tuple(cells[key] for key in described.keys)
            seen[keys] = seen.get(keys, 0) + 1
            point = found.setdefault((keys, seen[keys]), {})
            for name in names:
                if name not in described.keys:
                    point.setdefault(name, []).append(cells[name])
    return columns or [], found


def numbers(texts):
    """Those that are numbers; nan stands for nothing."""
    values = []
    for text in texts:
        try:
            values.append(float(text))
        except ValueError:
            continue
    return [value for value in values if not math.isnan(value)]


def like(value, texts):
    """A number as precise as the texts that it comes from."""
    if any("e" in text for text in texts):
        return f"{value:.3g}"
    decimals = max((len(text.partition(".")[2]) for text in texts), default=0)
    half = decimals == 0 and value != round(value)
    return f"{value:.{1 if half else decimals}f}"


def quartiles(values):
    if len(values) == 1:
        return values[0], values[0], values[0]
    return tuple(statistics.quantiles(values, n=4, method="inclusive"))


def summary(texts, is_sum=False):
    """Median, quartiles, least and most, as texts; words are left as they are."""
    values = numbers(texts)
    if not values:
        return [texts[0] if texts else MISSING] + [MISSING] * len(SPREAD)
    precise = [text for text in texts if numbers([text])]
    if is_sum:
        return [like(sum(values), precise)] * 3 + [like(min(values), precise), like(max(values), precise)]
    low, middle, high = quartiles(values)
    return [like(value, precise) for value in (middle, low, high, min(values), max(values))]


def joined(described, runs):
    """Columns and rows of the joined table."""
    columns, found = points(described, runs)
    measured = [column for column in columns if column not in described.keys]
    titles = [*described.keys, *(f"{m}{end}" for m in measured for end in ("", *(f" {s}" for s in SPREAD))), "runs"]
    rows = []
    for (keys, _), cells in found.items():
        figures = [text for m in measured for text in summary(cells.get(m, []), m in described.sums)]
        rows.append([*keys, *figures, str(max(len(texts) for texts in cells.values()) if cells else len(runs))])
    return titles, rows


def plain_columns(columns):
    """Of a joined table those with keys and medians, without their spread and the number of runs."""
    spread = {f"{column} {end}" for column in columns for end in SPREAD}
    return [column for column in columns if column not in spread and column != "runs"]


def run_folders(folder):
    return sorted(glob.glob(os.path.join(folder, "run-*")), key=lambda path: int(path.rpartition("-")[2]))


def number_of_runs(rows):
    """How many runs the rows of a joined table come from: "10", or "1 to 10" when not all rows come from as many."""
    runs = sorted({int(row[-1]) for row in rows})
    return " to ".join(dict.fromkeys((str(runs[0]), str(runs[-1]))))


def runs_of(folder, name):
    """The tables of that name, of all runs."""
    paths = [os.path.join(run, name + ".tsv") for run in run_folders(folder)]
    return [read(path) for path in paths if os.path.exists(path)]


def join_all(folder):
    """From FOLDER/run-*/<table>.tsv to FOLDER/<table>.tsv, of all tables that are there."""
    for name, described in descriptions().items():
        runs = runs_of(folder, name)
        if runs:
            write(os.path.join(folder, name + ".tsv"), *joined(described, runs))
