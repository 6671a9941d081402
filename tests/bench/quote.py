# SPDX-License-Identifier: MIT
"""One source of truth: the figures of RESULTS.md and README.md are those of the tables in tests/bench/results.

    python3 tests/bench/quote.py accept [FOLDER] [TABLE ...]   takes the joined tables of FOLDER (build/bench) into
                                                               tests/bench/results, then fills both pages
    python3 tests/bench/quote.py fill                          fills both pages from tests/bench/results
    python3 tests/bench/quote.py check                         are they filled? Prints what is not; a test calls it

A place is {table | condition; ... | column | format}: one figure of one table. A condition is column = value, or
column != value; several values a/b. Where places stand:
- quotes.tsv: passages of a page, with a place for each figure. The page has the passage with numbers in them.
- claims.tsv: what the articles say, and what was found here.
- RESULTS.md: <!-- table TABLE | condition; ... | column; ... | across --> is followed by the lines of that table. The
  values of the column `across` (or of several, a + b) stand side by side, medians only. Each part but TABLE may be left out.
  <!-- claims --> is followed by claims.tsv.
results/sources.tsv says of each table with what it was measured; tables in data/ were entered by hand.
"""
import functools
import os
import re
import shutil
import statistics
import sys

import pictures
import tables

RESULTS = os.path.join(tables.HERE, "results")
DATA = os.path.join(tables.HERE, "data")
SOURCES = os.path.join(RESULTS, "sources.tsv")
FACTS = ["commit", "date", "size", "processor", "compiler"]  # of about.tsv
SOURCE_COLUMNS = ["table", "runs", "load", *FACTS]
PAGES = {"RESULTS.md": os.path.join(tables.HERE, "RESULTS.md"),
         "README.md": os.path.join(tables.HERE, "..", "..", "README.md")}
PLACE = re.compile(r"{([^{}]*\|[^{}]*\|[^{}]*\|[^{}]*)}")


@functools.cache
def rows_of(path, _changed):
    columns, rows = tables.read(path)
    return [dict(zip(columns, row)) for row in rows]


def as_rows(path):
    """Rows of a table as dictionaries, which are read once."""
    return rows_of(path, os.stat(path).st_mtime_ns)


# ---- places ----

def place_of(name, folder=None):
    """The file of a table: measured, or entered as data."""
    folders = [*([folder] if folder else []), RESULTS, DATA]
    paths = [os.path.join(place, name + ".tsv") for place in folders]
    return next((path for path in paths if os.path.exists(path)), paths[-1])


def wanted(conditions, row):
    """Does the row meet all conditions?"""
    for condition in conditions:
        column, sign, values = re.match(r"(.*?) *(!?=) *(.*)", condition).groups()
        if (row[column] in values.split("/")) == (sign == "!="):
            return False
    return True


def chosen(name, conditions, folder=None):
    """The rows that meet the conditions."""
    rows = [row for row in as_rows(place_of(name, folder)) if wanted(tables.parts_of(conditions), row)]
    if not rows:
        raise ValueError(f"no rows: {name} | {conditions}")
    return rows


def figure(place, folder=None):
    """The text that stands for `table | conditions | column | format`."""
    name, conditions, column, form = (part.strip() for part in place.split("|"))
    rows = chosen(name, conditions, folder)
    if len(rows) != 1:
        raise ValueError(f"{place}: {len(rows)} rows")
    return format(float(rows[0][column]), form)


def with_figures(text, folder=None):
    return PLACE.sub(lambda place: figure(place.group(1), folder), text)


# ---- tables ----

def grouped(text):
    return f"{int(text):,}" if re.fullmatch(r"\d{5,}", text) else text


def shown(row, column):
    """The median, and the quartiles where they differ."""
    low, high = (row.get(f"{column} {end}", "-") for end in ("q1", "q3"))
    return grouped(row[column]) + ("" if low == high else f" ({grouped(low)}–{grouped(high)})")


def across(described, rows, columns, key):
    """Titles and cells with the values of `key` side by side ("a + b": of both); columns that are keys name the rows."""
    names, measured = [c for c in columns if c in described.keys], [c for c in columns if c not in described.keys]
    cells, values = {}, {}
    for row in rows:
        value = ", ".join(row[part] for part in key.split(" + "))
        values[value] = (f"{key} {value}" if " + " not in key else value)
        line = cells.setdefault(tuple(row[name] for name in names), {})
        for c in measured:
            line.setdefault((value, c), grouped(row[c]))  # the first of several
    several = len(measured) > 1
    titles = [*names, *(f"{c}, {title}" if several else title for title in values.values() for c in measured)]
    return titles, [[*map(grouped, name), *(of.get((v, c), "-") for v in values for c in measured)]
                    for name, of in cells.items()]


def framed(titles, cells):
    lines = [titles, ["---", *["---:"] * (len(titles) - 1)], *cells]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def markdown_table(marker, folder=None):
    """Of the text of a marker: NAME | conditions | columns | across."""
    name, conditions, columns, key = ([part.strip() for part in marker.split("|")] + ["", "", ""])[:4]
    rows = chosen(name, conditions, folder)
    columns = tables.parts_of(columns) or tables.plain_columns(list(rows[0]))
    titles, cells = columns, [[shown(row, column) for column in columns] for row in rows]
    if key:
        titles, cells = across(tables.descriptions()[name], rows, columns, key)
    return framed([f"{titles[0]} (`{name}.tsv`)", *titles[1:]], cells)


def claims(folder=None):
    """All claims, with their figures."""
    rows = as_rows(os.path.join(tables.HERE, "claims.tsv"))
    return framed(list(rows[0]), [[with_figures(cell, folder) for cell in row.values()] for row in rows])


def fill_tables(text, folder=None):
    """The page with its tables as they are in results, or in that folder."""
    def filled(found):
        marker = found.group(1)
        table = claims(folder) if marker == "claims" else markdown_table(marker.removeprefix("table "), folder)
        return f"<!-- {marker} -->\n{table}"
    return re.sub(r"<!-- (table .*?|claims) -->\n(?:\|.*\n)*", filled, text)


# ---- figures in the text ----

def quotes():
    """(page, passage) of each."""
    return [(row["page"], row["passage"]) for row in as_rows(os.path.join(tables.HERE, "quotes.tsv"))]


def pattern_of(passage):
    """A regular expression: the words of the passage, and a group for each figure."""
    words = PLACE.split(passage)
    parts = [r"\s+".join(re.escape(word) for word in re.split(r"\s+", part)) if i % 2 == 0 else r"([\d.,]*\d)"
             for i, part in enumerate(words)]
    return "".join(parts), words[1::2]


def fill_quotes(name, text, folder=None):
    """The page with the figures that quotes.tsv lists for it."""
    for _, passage in (quote for quote in quotes() if quote[0] == name):
        pattern, places = pattern_of(passage)
        found = list(re.finditer(pattern, text))
        if len(found) != 1:
            raise ValueError(f"{name} has {len(found)} times, and not once: {passage}")
        for group in range(len(places), 0, -1):
            start, end = found[0].span(group)
            text = text[:start] + figure(places[group - 1], folder) + text[end:]
    return text


# ---- the three commands ----

def filled(name, folder=None):
    text = tables.text_of(PAGES[name])
    return fill_quotes(name, fill_tables(text, folder) if name == "RESULTS.md" else text, folder)


def files(folder=None):
    """Of each page and picture its path and what it has to be: {name: (path, text)}."""
    found = {name: (path, filled(name, folder)) for name, path in PAGES.items()}
    for name, draw in (("asked", pictures.asked), ("joins", pictures.joins)):
        found[name + ".svg"] = os.path.join(tables.HERE, name + ".svg"), draw(as_rows(place_of(name, folder)))
    return found


def write_page(folder):
    """RESULTS.md in that folder: with its tables, and those that are committed where it has none."""
    for name, (_, text) in files(folder).items():
        if name != "README.md":
            tables.put(os.path.join(folder, name), text)


def fill():
    for path, text in files().values():
        tables.put(path, text)


def check():
    """Names of the pages and pictures whose figures are not those of the tables."""
    return [name for name, (path, text) in files().items() if not os.path.exists(path) or tables.text_of(path) != text]


def runs_of(described, rows):
    """What the rows of a joined table are, in words."""
    runs = tables.number_of_runs(rows)
    return "one run" if runs == "1" else f"medians (and quartiles){', sums' if described.sums else ''} of {runs} runs"


def load_of(folder, program):
    """The median of the load averages with which the runs of a program began."""
    marks = [os.path.join(run, program + ".done") for run in tables.run_folders(folder)]
    loads = [float(as_rows(mark)[0]["load before"]) for mark in marks if os.path.exists(mark)]
    return f"{statistics.median(loads):.1f}" if loads else tables.MISSING


def accept(folder="build/bench", *names):
    known = {row["table"]: row for row in as_rows(SOURCES)} if os.path.exists(SOURCES) else {}
    about = dict(tables.read(os.path.join(folder, "about.tsv"))[1])
    os.makedirs(RESULTS, exist_ok=True)
    for name, described in tables.descriptions().items():
        path = os.path.join(folder, name + ".tsv")
        if described.program != "data" and os.path.exists(path) and (not names or name in names):
            shutil.copy(path, RESULTS)
            known[name] = {"table": name, "runs": runs_of(described, tables.read(path)[1]),
                           "load": load_of(folder, described.program), **{fact: about[fact] for fact in FACTS}}
    tables.write(SOURCES, SOURCE_COLUMNS, [[known[n][c] for c in SOURCE_COLUMNS] for n in sorted(known)])
    fill()


if __name__ == "__main__":
    if sys.argv[1:2] == ["accept"]:
        accept(*sys.argv[2:])
    elif sys.argv[1:] == ["fill"]:
        fill()
    elif sys.argv[1:] == ["check"]:
        wrong = check()
        sys.exit("not the figures of tests/bench/results: " + ", ".join(wrong) if wrong else 0)
    else:
        sys.exit("usage: quote.py accept [FOLDER] [TABLE ...] | fill | check")
