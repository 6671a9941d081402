# SPDX-License-Identifier: MIT
"""One source of truth: the figures of RESULTS.md and README.md are those of the tables in tests/bench/results.

    python3 tests/bench/quote.py accept [FOLDER] [TABLE ...]   takes the joined tables of FOLDER (build/bench) into
                                                               tests/bench/results, then fills both pages
    python3 tests/bench/quote.py fill                          fills both pages from tests/bench/results
    python3 tests/bench/quote.py check                         are they filled? Prints what is not; a test calls it

In RESULTS.md a line <!-- table NAME | condition; ... | column; ... --> is followed by that table, up to <!-- end -->.
Both parts may be left out. NAME may have a folder, as quick/figure5 (results of the quick form) or authors/full/figure5 (data).
A line <!-- claims --> is followed by what claims.txt says. Figures in the text of a page are listed in quotes.txt.
results/sources.tsv says of each table with what it was measured.
"""
import os
import re
import shutil
import statistics
import sys

import figures
import orders
import tables

RESULTS = os.path.join(tables.HERE, "results")
SOURCES = os.path.join(RESULTS, "sources.tsv")
FACTS = ["commit", "date", "size", "processor", "compiler"]  # of about.tsv
SOURCE_COLUMNS = ["table", "runs", "load", *FACTS]
PAGES = {"RESULTS.md": os.path.join(tables.HERE, "RESULTS.md"),
         "README.md": os.path.join(tables.HERE, "..", "..", "README.md")}
PLACE = re.compile(r"{([^{}]*\|[^{}]*\|[^{}]*\|[^{}]*)}")


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def put(path, text):
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path + ".new", path)


# ---- tables ----

def place_of(name):
    """The file of a committed table: measured, or entered as data."""
    folders = (RESULTS, os.path.join(figures.DATA, "authors", "full"), os.path.join(figures.DATA, "authors"), figures.DATA)
    paths = [os.path.join(folder, name + ".tsv") for folder in folders]
    return next((path for path in paths if os.path.exists(path)), paths[0])


def chosen(name, conditions):
    """Columns, and rows as dictionaries, of a committed table."""
    columns, rows = tables.read(place_of(name))
    rows = [dict(zip(columns, row)) for row in rows]
    return columns, [row for row in rows if figures.wanted(conditions, row)]


def parts_of(text):
    return [part.strip() for part in text.split(";") if part.strip()]


def grouped(text):
    return f"{int(text):,}" if re.fullmatch(r"\d{5,}", text) else text


def shown(row, column):
    """The median, and the quartiles where they differ."""
    low, high = (row.get(f"{column} {end}", "-") for end in ("q1", "q3"))
    return grouped(row[column]) + ("" if low == high else f" ({grouped(low)}–{grouped(high)})")


def sources():
    columns, rows = tables.read(SOURCES)
    return {row[0]: dict(zip(columns, row)) for row in rows}


def source_line(name):
    of = sources().get(name)
    if not of:
        return ""
    form = "" if of["size"] == "full" else "quick form, "
    load = "" if of["load"] == tables.MISSING else f"load average {of['load']}, "
    return f"\n*{of['runs']}, {form}commit {of['commit']}, {of['date']}, {load}{of['processor']}, {of['compiler']}*\n"


def markdown_table(marker):
    """Of the text of a marker: NAME | conditions | columns."""
    name, conditions, columns = ([part.strip() for part in marker.split("|")] + ["", ""])[:3]
    all_columns, rows = chosen(name, parts_of(conditions))
    columns = parts_of(columns) or tables.plain_columns(all_columns)
    lines = [" | ".join(columns), "|".join("---" if c == columns[0] else "---:" for c in columns)]
    lines += [" | ".join(shown(row, column) for column in columns) for row in rows]
    if not rows:
        raise ValueError(f"no rows: {marker}")
    framed = ["|" + line + "|" if "---" in line else "| " + line + " |" for line in lines]
    return "\n".join(framed) + "\n" + source_line(name)


def claims(path=os.path.join(tables.HERE, "claims.txt")):
    """claims.txt as text of the page: a table for each group. The first column may be missing."""
    lines = []
    for line in text_of(path).splitlines():
        if line.startswith("## "):
            lines += ["", f"### {line[3:]}", "", "| where | claimed | here | |", "|---|---|---|---|"]
        elif line and not line.startswith("#"):
            cells = [cell.strip() for cell in PLACE.sub(lambda place: figure(place.group(1)), line).split("|")]
            lines.append("| " + " | ".join([""] * (4 - len(cells)) + cells) + " |")
    return "\n".join(lines[1:]) + "\n"


def fill_tables(text):
    """The page with its tables as they are in results."""
    def filled(found):
        marker = found.group(1)
        content = claims() if marker == "claims" else markdown_table(marker[len("table "):])
        return f"<!-- {marker} -->\n{content}<!-- end -->"
    return re.sub(r"<!-- (table .*?|claims) -->\n.*?<!-- end -->", filled, text, flags=re.S)


# ---- figures in the text ----

def figure(place):
    """The text that stands for `table | conditions | column | format`."""
    name, conditions, column, form = (part.strip() for part in place.split("|"))
    _, rows = chosen(name, parts_of(conditions))
    if len(rows) != 1:
        raise ValueError(f"{place}: {len(rows)} rows")
    return format(float(rows[0][column]), form)


def quotes(path=os.path.join(tables.HERE, "quotes.txt")):
    """(page, passage): passages are separated by empty lines; a line "page NAME" names the page of those below it."""
    found, page = [], None
    lines = [line for line in text_of(path).splitlines() if not line.startswith("#")]
    for passage in re.split(r"\n\s*\n", "\n".join(lines).strip()):
        if passage.startswith("page "):
            page = passage.split()[1]
        else:
            found.append((page, passage))
    return found


def pattern_of(passage):
    """A regular expression: the words of the passage, and a group for each figure."""
    words = PLACE.split(passage)
    parts = [r"\s+".join(re.escape(word) for word in re.split(r"\s+", part)) if i % 2 == 0 else r"([\d.,]*\d)"
             for i, part in enumerate(words)]
    return "".join(parts), words[1::2]


def fill_quotes(name, text):
    """The page with the figures that quotes.txt lists for it."""
    for page, passage in quotes():
        if page != name:
            continue
        pattern, places = pattern_of(passage)
        found = list(re.finditer(pattern, text))
        if len(found) != 1:
            raise ValueError(f"{name} has {len(found)} times, and not once: {passage}")
        for group in range(len(places), 0, -1):
            start, end = found[0].span(group)
            text = text[:start] + figure(places[group - 1]) + text[end:]
    return text


# ---- the three commands ----

def filled(name):
    text = text_of(PAGES[name])
    return fill_quotes(name, fill_tables(text) if name == "RESULTS.md" else text)


def fill():
    for name, path in PAGES.items():
        put(path, filled(name))


def check():
    """Names of the pages whose figures are not those of the tables."""
    return [name for name, path in PAGES.items() if filled(name) != text_of(path)]


def runs_of(described, rows):
    """What the rows of a joined table are, in words."""
    runs = tables.number_of_runs(rows)
    sums = ", sums" if any(described.is_sum(column) for column in described.measured) else ""
    return "one run" if runs == "1" else f"medians (and quartiles){sums} of {runs} runs"


def load_of(folder, program):
    """The median of the load averages with which the runs of a program began."""
    loads = [float(done["load before"]) for _, name, done in tables.marks(folder) if name == program]
    return f"{statistics.median(loads):.1f}" if loads else tables.MISSING


def accept(folder="build/bench", *names):
    known = sources() if os.path.exists(SOURCES) else {}
    about = dict(tables.read(os.path.join(folder, "about.tsv"))[1])
    form = "" if about["size"] == "full" else about["size"]
    os.makedirs(os.path.join(RESULTS, form), exist_ok=True)
    for name, described in tables.descriptions().items():
        path = os.path.join(folder, name + ".tsv")
        if described.is_of_runs() and os.path.exists(path) and (not names or name in names):
            shutil.copy(path, os.path.join(RESULTS, form))
            key = os.path.join(form, name)
            known[key] = {"table": key, "runs": runs_of(described, tables.read(path)[1]),
                          "load": load_of(folder, described.program), **{fact: about[fact] for fact in FACTS}}
    tables.write(SOURCES, SOURCE_COLUMNS, [[known[n][c] for c in SOURCE_COLUMNS] for n in sorted(known)])
    orders.main(RESULTS, RESULTS)
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
