# SPDX-License-Identifier: MIT
"""One source of truth: the figures of RESULTS.md, ARTICLES.md and README.md are those of the tables in tests/bench/results.

    python3 tests/bench/quote.py accept [FOLDER] [TABLE ...]   takes the joined tables of FOLDER (build/bench) into
                                                               tests/bench/results, then fills the pages
    python3 tests/bench/quote.py fill                          fills the pages from tests/bench/results
    python3 tests/bench/quote.py check                         are they filled? Prints what is not; a test calls it

A place is {table | condition; ... | column | format}: one figure of one table. A condition is column = value, or
column != value; several values a/b. "least of" or "most of" before the column: of several rows. Where places stand:
- quotes.tsv: passages of a page, with a place for each figure. The page has the passage with numbers in them.
- first.tsv and claims.tsv: the first table of RESULTS.md; what the articles say, and what was found here.
- <!-- table TABLE | condition; ... | column; ... | across --> is followed by the lines of that table. The values of the
  column `across` (or of several, a + b) stand side by side, medians only. Each part but TABLE may be left out.
  <!-- first --> and <!-- claims --> are followed by those files, <!-- sources --> by what the tables of the page were
  measured with: results/sources.tsv, and data/about.tsv for those that were entered by hand.
"""
import functools
import os
import re
import shutil
import statistics
import sys

import about
import pictures
import tables

RESULTS = os.path.join(tables.HERE, "results")
DATA = os.path.join(tables.HERE, "data")
SOURCES = os.path.join(RESULTS, "sources.tsv")
SOURCE_COLUMNS = ["table", "runs", "load", *about.FACTS]
SHOWN_FACTS = ["date", "runs", "commit", "processor", "compiler", "SQLite"]
PAGES = {"RESULTS.md": os.path.join(tables.HERE, "RESULTS.md"), "ARTICLES.md": os.path.join(tables.HERE, "ARTICLES.md"),
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
    which, several, of = column.partition(" of ")
    if several and which in ("least", "most"):
        return format((min if which == "least" else max)(float(row[of]) for row in rows), form)
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


def templated(name, folder=None):
    """first.tsv or claims.tsv, with its figures."""
    rows = as_rows(os.path.join(tables.HERE, name + ".tsv"))
    return framed(list(rows[0]), [[with_figures(cell, folder) for cell in row.values()] for row in rows])


def tables_of(text):
    """The tables that a page shows or names, in alphabetical order."""
    return sorted({*re.findall(r"<!-- table (\w+)", text), *re.findall(r"`(\w+)\.tsv`", text)} & set(tables.descriptions()))


def sources(text, folder=None):
    """What the tables of a page were measured with, those alike in one line; then how the others came to be."""
    known, by_hand = ({row["table"]: row for row in as_rows(path)} for path in (SOURCES, place_of("about")))
    known.update(measured_with(folder) if folder else {})
    alike = {}
    for name in filter(known.get, tables_of(text)):
        alike.setdefault(tuple(known[name][fact] for fact in SHOWN_FACTS), []).append(name)
    lines = [[", ".join(names), *facts, " to ".join(dict.fromkeys(f((known[name]["load"] for name in names), key=float) for f in (min, max)))]
             for facts, names in alike.items()]
    lines = framed(["tables", *SHOWN_FACTS, "load"], lines)
    return lines + "".join(f"| {name} | {by_hand[name]['day']} | {by_hand[name]['how it was measured']} | | | | | |\n"
                           for name in filter(by_hand.get, tables_of(text)))


def fill_tables(text, folder=None):
    """The page with its tables as they are in results, or in that folder."""
    def filled(found):
        marker = found.group(1)
        if marker == "sources":
            table = sources(text, folder)
        else:
            show = markdown_table if marker.startswith("table ") else templated
            table = show(marker.removeprefix("table "), folder)
        return f"<!-- {marker} -->\n{table}"
    return re.sub(r"<!-- (table .*?|first|claims|sources) -->\n(?:\|.*\n)*", filled, text)


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


# ---- the commands ----

def filled(name, folder=None):
    text = tables.text_of(PAGES[name])
    return fill_quotes(name, fill_tables(text, folder), folder)


def files(folder=None):
    """Of each page and picture its path and what it has to be: {name: (path, text)}."""
    found = {name: (path, filled(name, folder)) for name, path in PAGES.items()}
    for name, draw in (("asked", pictures.asked), ("joins", pictures.joins)):
        found[name + ".svg"] = os.path.join(tables.HERE, name + ".svg"), draw(as_rows(place_of(name, folder)))
    return found


def write_pages(folder):
    """RESULTS.md and ARTICLES.md in that folder: with its tables, and those that are committed where it has none. The texts."""
    texts = {name: text for name, (_, text) in files(folder).items() if name != "README.md"}
    for name, text in texts.items():
        tables.put(os.path.join(folder, name), text)
    return texts


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


def measured_with(folder):
    """Of each table in that folder its line of sources.tsv. The load is the median of those with which the runs began."""
    found = {}
    for name, described in tables.descriptions().items():
        path = os.path.join(folder, name + ".tsv")
        marks = [os.path.join(run, described.program + ".done") for run in tables.run_folders(folder)]
        marks = [as_rows(mark)[0] for mark in marks if os.path.exists(mark)]
        if marks and os.path.exists(path):
            load = statistics.median(float(mark["load before"]) for mark in marks)
            found[name] = {"table": name, "runs": runs_of(described, tables.read(path)[1]), "load": f"{load:.1f}",
                           **{fact: marks[-1][fact] for fact in about.FACTS}}
    return found


def accept(folder="build/bench", *names):
    known = {row["table"]: row for row in as_rows(SOURCES)} if os.path.exists(SOURCES) else {}
    os.makedirs(RESULTS, exist_ok=True)
    for name, source in measured_with(folder).items():
        if not names or name in names:
            shutil.copy(os.path.join(folder, name + ".tsv"), RESULTS)
            known[name] = source
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
