# SPDX-License-Identifier: MIT
"""Writes the page of a run: one file, with its figures, that needs nothing else.

    python3 tests/bench/report.py FOLDER full|quick [PAGE]

FOLDER holds the joined tables and about.tsv (run.py). Text comes from measured.txt and claims.tsv.
"""
import html
import os
import re
import sys

import figures
import quote
import tables

LONG = 12  # rows; longer tables are folded

STYLE = """
:root { color-scheme: light dark; --ink: #1d2126; --soft: #5d666f; --paper: #fff; --line: #d5dade;
  --bar: #3b7ddd2e; --card: #f5f7f9 }
@media (prefers-color-scheme: dark) {
  :root { --ink: #dfe3e7; --soft: #98a2ac; --paper: #14171b; --line: #363c43; --bar: #3b7ddd55; --card: #1c2026 }
}
body { margin: 0 auto; padding: 1.5rem; max-width: 76rem; font: 16px/1.5 system-ui, sans-serif;
  color: var(--ink); background: var(--paper) }
h1 { font-size: 1.7rem; margin: .2em 0 }
h2 { margin: 2.4rem 0 .4rem; font-size: 1.3rem; border-bottom: 1px solid var(--line) }
h3 { font-size: 1.05rem; margin: 1.5rem 0 .2rem }
p, ul { max-width: 52rem }
.soft, small, summary { color: var(--soft) }
nav ul { columns: 18rem; column-gap: 2.5rem; padding-left: 1.1rem; max-width: none }
a { color: inherit }
.wide { overflow-x: auto; margin: .5rem 0 1rem }
figure { margin: 1rem 0 }
figure svg { display: block; width: 100%; min-width: 44rem; height: auto; color: var(--ink) }
table { border-collapse: collapse; width: max-content; font-variant-numeric: tabular-nums; font-size: .86rem }
th, td { padding: .18rem .6rem; text-align: right; vertical-align: top; border-bottom: 1px solid var(--line) }
th { background: var(--card); vertical-align: bottom }
th small, td small { display: block; font-weight: normal; white-space: nowrap }
td.text, th.text { text-align: left }
td.text { max-width: 20rem }
td.ours { color: #d9483b; font-weight: bold }
tr.group > td { border-top: 2px solid var(--soft) }
td.bar { background: linear-gradient(to left, var(--bar) var(--part), transparent var(--part)) }
.prose table { font-size: .9rem }
.prose td, .prose th { text-align: left; max-width: 24rem }
summary { cursor: pointer }
code { font-size: .92em }
"""


def escape(text):
    return html.escape(text, quote=True)


def inline(text):
    """`code`, **bold** and *words*."""
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
    text = re.sub(r"\*\*([^*]+)\*\*", r"<b>\1</b>", text)
    return re.sub(r"(?<![\w*])\*([^*]+)\*(?![\w*])", r"<i>\1</i>", text)


# ---- tables ----

def cell(row, column, most):
    text, low, high = row[column], row.get(f"{column} q1", "-"), row.get(f"{column} q3", "-")
    spread = "" if low == high else f"<small>{quote.grouped(low)} – {quote.grouped(high)}</small>"
    value = figures.number(text)
    look = " class=text" if value is None and text != "-" else ""
    if most:
        look = f' class=bar style="--part:{100 * (value or 0) / most:.0f}%"'
    return f"<td{look}>{escape(quote.grouped(text))}{spread}</td>"


def largest(rows, column):
    """Of a column that bars make comparable; 0 when they would not: few values, or one that dwarfs the others."""
    values = sorted(tables.numbers([row[column] for row in rows]))
    if len(set(values)) < 3 or values[0] < 0 or len(rows) > 200:
        return 0
    return values[-1] if values[-1] <= 40 * values[len(values) // 2] else 0


def heading(described, column):
    return f"<th{' class=text' if column in described.keys else ''}>{escape(column)}</th>"


def html_table(described, columns, rows):
    rows = [dict(zip(columns, row)) for row in rows]
    measured = [c for c in tables.plain_columns(columns) if c not in described.keys]
    most = {column: largest(rows, column) for column in measured}
    lines, before = [], None
    are_groups = len({row[described.keys[0]] for row in rows}) < len(rows)
    for row in rows:
        mark = " class=group" if are_groups and before not in (None, row[described.keys[0]]) else ""
        before = row[described.keys[0]]
        keys = "".join(f"<td class=text>{escape(quote.grouped(row[key]))}</td>" for key in described.keys)
        lines.append(f"<tr{mark}>{keys}{''.join(cell(row, column, most[column]) for column in measured)}</tr>")
    head = "".join(heading(described, column) for column in [*described.keys, *measured])
    return f"<div class=wide><table><tr>{head}</tr>\n" + "\n".join(lines) + "</table></div>"


def table_part(folder, described):
    path = figures.path_of("data" if described.program == "data" else "here", described.name, folder, "")
    if not path:
        return ""
    columns, rows = tables.read(path)
    table = html_table(described, columns, rows)
    if len(rows) > LONG:
        table = f"<details><summary>{len(rows)} rows</summary>{table}</details>"
    return (f'<h3 id="{described.name}">{escape(described.title)}</h3><p class=soft>'
            f"{described.name}.tsv. {runs_of(columns, rows)}</p>{table}")


def runs_of(columns, rows):
    """How many runs the rows come from, in words."""
    if columns[-1] != "runs":
        return "Entered as data."
    runs = tables.number_of_runs(rows)
    return "Ran once: no bars." if runs == "1" else f"Medians of {runs} runs; small print: quartiles."


# ---- the page ----

def facts(folder):
    path = os.path.join(folder, "about.tsv")
    return dict(tables.read(path)[1]) if os.path.exists(path) else {}


def fact_table(known):
    rows = "".join(f"<tr><td class=text>{escape(name)}</td><td class=text>{escape(value)}</td></tr>"
                   for name, value in known.items())
    return f"<div class=wide><table>{rows}</table></div>"


def figure_part(folder, figure, described):
    path = os.path.join(folder, figure.name + ".svg")
    if not os.path.exists(path):
        return ""
    svg = re.sub(r"<\?xml.*?\?>|<style>.*?</style>", "", tables.text_of(path), flags=re.S)
    svg = re.sub(r"<title>.*?</title>", f"<title>{escape(figure.title)}</title>", svg, count=1)
    parts = "".join(table_part(folder, described[name]) for name in figure.tables if name in described)
    return (f'<h2 id="fig-{figure.name}">{escape(figure.title)}</h2><p>{inline(figure.text)}</p>'
            f"<figure class=wide>{svg.strip()}</figure>{parts}")


def contents(drawn):
    lines = [("fig-" + figure.name, figure.title) for figure in drawn]
    lines += [("tables", "More tables"), ("claims", "The claims of the articles"), ("about", "What was measured with what")]
    return f"<nav><ul>{''.join(f'<li><a href=#{name}>{escape(title)}</a></li>' for name, title in lines)}</ul></nav>"


def summary(folder):
    """What a reader wants to know first: of [summary], what this run has; ours, and what it is compared with."""
    lines = ""
    for what, line in tables.sections()["summary"].items():
        try:
            ours, other, name = (part.strip() for part in quote.with_figures(line.replace("\n", " "), folder).split(" | "))
        except (OSError, ValueError):
            continue  # not in this run
        lines += (f"<tr><td class=text>{escape(what)}</td><td class=ours>{ours}</td><td>{other}</td>"
                  f"<td class=text>{escape(name)}</td></tr>")
    head = "<tr><th class=text>what</th><th>this library</th><th>beside</th><th class=text></th></tr>"
    return f"<h2>Summary</h2><div class=wide><table>{head}{lines}</table></div>"


def claim_table():
    """The claims of the articles, with the figures that are committed."""
    lines = "".join("<tr>" + "".join(f"<td>{inline(cell)}</td>" for cell in row.values()) + "</tr>" for row in quote.claims())
    head = "<tr><th>article</th><th>where</th><th>says</th><th>here</th><th></th></tr>"
    return (f"<h2 id=claims>The claims of the articles</h2><p class=soft>With the figures of tests/bench/results.</p>"
            f"<div class='wide prose'><table>{head}{lines}</table></div>")


def introduction(known):
    quick = ("<p><b>This is the quick form:</b> small tables that lie in the cache, few points. The full form is "
             "<code>make bench</code>.</p>") if known.get("size") == "quick" else ""
    return f"""<h1>Cuckoo filters, measured</h1>{quick}
<p class=soft>Medians of {escape(known.get('runs', '?'))} runs, each with other keys; bars and small print: first and third
quartile; what ran once says so. Red is this library, and nothing else is red. Dashed: the program of the paper's authors, on one
machine. Dots and dashes: the published algorithms, written anew. Dotted: what was published. Speeds depend on the machine and on what else it does.</p>"""


def page(folder, size):
    described, known = tables.descriptions(), facts(folder)
    drawn = [f for f in figures.figures() if os.path.exists(os.path.join(folder, f.name + ".svg"))]
    shown = {name for figure in drawn for name in figure.tables}
    rest = [n for n in described if n not in shown and os.path.exists(os.path.join(folder, n + ".tsv"))]
    parts = [introduction(known), summary(folder), "<h2>Contents</h2>", contents(drawn),
             *(figure_part(folder, figure, described) for figure in drawn),
             "<h2 id=tables>More tables</h2>", *(table_part(folder, described[name]) for name in rest), claim_table(),
             "<h2 id=about>What was measured with what</h2>", fact_table(known)]
    return (f"<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
            f"<title>Cuckoo filters, measured ({size})</title><style>{STYLE}</style>\n" + "\n".join(parts) + "\n</html>\n")


def main(folder, size, path="build/bench/report.html"):
    for stale in [f.name for f in figures.figures() if os.path.exists(os.path.join(folder, f.name + ".svg"))]:
        os.remove(os.path.join(folder, stale + ".svg"))
    for figure in figures.figures():
        figures.draw(figure, folder, size)
    tables.put(path, page(folder, size))


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit("usage: report.py FOLDER full|quick [PAGE]")
    main(*sys.argv[1:])
