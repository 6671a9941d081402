# SPDX-License-Identifier: MIT
"""One source of truth: the figures of RESULTS.md and README.md are those of the tables in tests/bench/results.

    python3 tests/bench/quote.py accept [FOLDER] [TABLE ...]   takes the joined tables of FOLDER (build/bench) into
                                                               tests/bench/results, then fills both pages
    python3 tests/bench/quote.py fill                          fills both pages from tests/bench/results
    python3 tests/bench/quote.py check                         are they filled? Prints what is not; a test calls it

In RESULTS.md a line <!-- table NAME | condition; ... | column; ... --> is followed by that table, up to <!-- end -->.
Both parts may be left out. A line <!-- claims --> is followed by what claims.txt says. Figures in the text of a page are
listed in quotes.txt. results/sources.tsv says of each table which commit, day, machine and number of runs it comes from.
"""
import os
import re
import shutil
import sys

import figures
import tables

RESULTS = os.path.join(tables.HERE, "results")
SOURCES = os.path.join(RESULTS, "sources.tsv")
SOURCE_COLUMNS = ["table", "commit", "date", "size", "runs", "processor"]
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
    runs = "one run" if of["runs"] == "1" else f"medians (and quartiles) of {of['runs']} runs"
    form = "" if of["size"] == "full" else ", quick form"
    return f"\n*{runs}{form}, commit {of['commit']}, {of['date']}, {of['processor']}*\n"


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
        content = claims() if found.group(1) == "claims" else markdown_table(found.group(1)[len("table "):])
        return f"<!-- {found.group(1)} -->\n{content}<!-- end -->"
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


def accept(folder="build/bench", *names):
    known = sources() if os.path.exists(SOURCES) else {}
    about = dict(tables.read(os.path.join(folder, "about.tsv"))[1])
    os.makedirs(RESULTS, exist_ok=True)
    for name in names or tables.descriptions():
        path = os.path.join(folder, name + ".tsv")
        if os.path.exists(path):
            shutil.copy(path, RESULTS)
            runs = max((row[-1] for row in tables.read(path)[1]), key=int)
            known[name] = {"table": name, **{c: about[c] for c in ("commit", "date", "size", "processor")}, "runs": runs}
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
