# SPDX-License-Identifier: MIT
"""Draws the figures of measured.txt with gnuplot: SVG that can be read on a white and on a dark page.

A curve is drawn up to three times: as published (data/published.tsv), by the authors' program on the machine that
data/authors/about.tsv names, and by this library, measured in this run: red, and nothing else is red. Points are medians, bars go
from the first to the third quartile; the legend says "ran once" where there is but one run. Where a figure draws the least or
the most of all runs, bars go from there to the median.
"""
import os
import re
import subprocess

import tables

DATA = os.path.join(tables.HERE, "data")

# Of like brightness, so that they stand out from white and from black.
OURS = ["#d9483b", "#ee8f86", "#b3261a", "#f5b5ae", "#c2685f", "#8f3a32"]
YARDSTICKS = {"Bloom": "#3b7ddd", "Bloom filter": "#3b7ddd", "blocked Bloom": "#1c93ad", "counting Bloom": "#a05cc8",
              "quotient": "#2f9e4f", "d-left counting": "#b8860b", "scalable Bloom": "#3b7ddd"}
MORE_COLOURS = ["#3b7ddd", "#2f9e4f", "#a05cc8", "#1c93ad", "#b8860b", "#6b8e23", "#808790", "#5d6fb3"]
AUTHORS, PUBLISHED = ["black", "#808790", "#a9aeb4"], ["#6a7480", "#9aa3ad", "#b9c0c7", "#4c5560"]
SPEEDS = """set logscale y
set yrange [*:*] noextend
set offsets 0, 0, graph 0.04, graph 0.04
set ytics (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500)
"""
LOOK = {  # width, dashes, point type, and what the legend says, of each origin
    "here": (2, 1, 7, ", here"),
    "again": (1.5, 4, 6, ", the published algorithm"),
    "authors": (1.5, 2, 4, ", authors' program"),
    "published": (1.5, 3, 8, ", as published"),
    "data": (2, 1, 7, ""),
}


class Curve:
    """One line of a figure: points are (x, y, low, high). A level has no x."""

    def __init__(self, origin, series):
        self.origin, self.series, self.points = origin, series, []
        self.plain = False  # the legend need not say where it comes from
        self.once = False   # one run, so no bars

    def title(self):
        origin = ", this library" if self.is_ours() else LOOK[self.origin][3]
        return self.series + ("" if self.plain else origin) + (", ran once" if self.once else "")

    def is_level(self):
        return self.points and self.points[0][0] is None

    def is_ours(self):
        """Is it this library? Of what was measured here, all that is no yardstick."""
        return self.origin in ("here", "data") and (self.series in ("theirs, ns", "others", *YARDSTICKS)) is False


class Figure:
    """A section of measured.txt."""

    def __init__(self, name, section):
        self.name, self.title, self.text = name, section["title"].replace("\n", " "), section.get("text", "")
        self.x, self.y = (part.strip() for part in section["axes"].split("|"))
        self.kind = section.get("kind", "lines")
        self.curves = [[part.strip() for part in line.split("|")] for line in tables.lines_of(section.get("curves", ""))]
        self.formulas = [[part.strip() for part in line.split("|")] for line in tables.lines_of(section.get("formulas", ""))]
        self.setup = section.get("gnuplot", "").replace(";", "\n").strip()
        self.inset = section.get("inset", "")  # ranges of x and of y that are drawn larger
        self.tables = section.get("tables", "").split()


def figures():
    names = [name.split()[1] for name in tables.sections().sections() if name.startswith("figure ")]
    return [Figure(name, tables.sections()["figure " + name]) for name in names]


# ---- data ----

def condition_parts(condition):
    """Of "column = value", or "column != value": the column, "=" or "!=", and the values, which "/" separates."""
    column, sign, values = re.match(r"(.*?) *(!?=) *(.*)", condition).groups()
    return column, sign, values.split("/")


def wanted(conditions, row):
    """Does the row meet all conditions?"""
    for column, sign, values in map(condition_parts, conditions):
        if (row[column] in values) == (sign == "!="):
            return False
    return True


def number(text):
    values = tables.numbers([text])
    return values[0] if values else None


def spread_point(row, x, y):
    """A point of a joined table; None when it was not measured. y may be an end: "load least", with a bar to the median."""
    at, value = None if x == "-" else number(row[x]), number(row.get(y, "-"))
    if value is None or (at is None and x != "-"):
        return None
    bar = [number(row.get(f"{y} {end}", "-")) for end in ("q1", "q3")]
    if None in bar:
        bar = [value, number(row.get(re.sub(" (least|most)$", "", y), "-"))]
    bar = [end for end in bar if end is not None]
    return at, value, min(bar), max(bar)


def curves_of_table(kind, origin, columns, rows, x, y, series, conditions):
    """Curves of one table by the values of its column `series`, or by its columns y; bars have a text as x."""
    found = {}
    for cells in rows:
        row = dict(zip(columns, cells))
        if not wanted(conditions, row):
            continue
        for column in tables.parts_of(y):
            name = column if series == "-" else row[series] if series in row else label(series, row)
            if kind == "bars":
                point = (label(x, row), *(spread_point(row, "-", column) or (None, 0, 0, 0))[1:])
            else:
                point = spread_point(row, x, column)
            if point:
                found.setdefault(name, Curve(origin, name)).points.append(point)
    once = "runs" in columns and all(row[-1] == "1" for row in rows)
    for curve in found.values():
        curve.once = once and origin in ("here", "again", "authors")
    return list(found.values())


def label(pattern, row):
    """"b = {b}" with the values of the row."""
    return re.sub(r"{(.*?)}", lambda match: row[match.group(1)], pattern)


def path_of(origin, table, folder, size):
    """Where the table of a curve is; None when it is not there."""
    places = {"authors": [os.path.join(DATA, "authors", size), os.path.join(DATA, "authors")], "published": [DATA],
              "data": [os.path.join(DATA, "authors"), DATA]}.get(origin, [folder])
    paths = [os.path.join(place, table + ".tsv") for place in places]
    return next((path for path in paths if os.path.exists(path)), None)


def curves_of(kind, line, folder, size):
    """From a line of measured.txt: origin | table | x | y | series | condition ..."""
    origin, table, x, y, series, *conditions = line
    path = path_of(origin, table, folder, size)
    return curves_of_table(kind, origin, *tables.read(path), x, y, series, conditions) if path else []


# ---- gnuplot ----

def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def block(name, rows):
    lines = "\n".join("\t".join("NaN" if cell is None else f"{cell:.9g}" for cell in row) for row in rows)
    return f"${name} << EOD\n{lines}\nEOD\n"


def colours_of(curves):
    """A colour for each curve: of yardsticks their own; shades of red for this library, and for nothing else."""
    given, more = {}, {"ours": OURS, "authors": AUTHORS, "published": PUBLISHED, "again": MORE_COLOURS, "here": MORE_COLOURS}
    for curve in curves:
        kind = "ours" if curve.is_ours() else "here" if curve.origin == "data" else curve.origin
        if curve.series in YARDSTICKS:
            given[curve.title()] = YARDSTICKS[curve.series]
        else:
            taken = sum(colour in more[kind] for colour in given.values())
            given[curve.title()] = more[kind][taken % len(more[kind])]
    return given


def plots_of(curve, n, colour):
    """The plot commands of one curve."""
    width, dashes, shape, _ = LOOK[curve.origin]
    style = f"lc rgb '{colour}' lw {width}"
    if curve.is_level():
        return [f"{curve.points[0][1]} with lines {style} dt 5 title {quoted(curve.title())}"]
    plots = []
    if len(curve.points) > 1:
        plots.append(f"$c{n} using 1:2 with linespoints {style} dt {dashes} pt {shape} ps 0.6 title {quoted(curve.title())}")
    else:
        plots.append(f"$c{n} using 1:2 with points {style} pt {shape} ps 0.9 title {quoted(curve.title())}")
    if any(low != high for _, _, low, high in curve.points):
        plots.append(f"$c{n} using 1:2:3:4 with yerrorbars {style} dt 1 pt 0 notitle")
    return plots


HEAD = """set terminal svg size 960,{height} dynamic noenhanced font 'sans-serif,15' name '{name}'
set output '{path}'
set grid lc rgb '#808080' lw 0.6 dt 3
set border 3
set tics nomirror
set key bmargin left Left reverse samplen 3 spacing 1.15 noenhanced maxrows {rows}
set bars 0.6
set samples 300
set xlabel {x} offset 0,0.5
set ylabel {y}
"""


BARS = """set style data histograms
set style histogram errorbars gap 2 lw 1
set xtics rotate by -28
set style fill solid 0.8
set boxwidth 0.9
set rmargin 16
"""


def height_of(rows):
    """Of a figure with so many rows of legend."""
    return 485 + 24 * rows


def script_of_lines(figure, curves):
    colours, blocks, plots = colours_of(curves), [], []
    for n, curve in enumerate(curves):
        if not curve.is_level():
            blocks.append(block(f"c{n}", sorted(curve.points)))
        plots += plots_of(curve, n, colours[curve.title()])
    for title, formula in figure.formulas:
        plots.append(f"{formula} with lines lc rgb 'black' lw 1.5 dt {2 + len(plots) % 3} title {quoted(title)}")
    plot = "plot " + ", \\\n    ".join(plots) + "\n"
    return "".join(blocks) + (with_inset(figure, plot, legend_rows(figure, curves)) if figure.inset else plot)


def with_inset(figure, plot, rows):
    """The same curves once more in the empty part of the figure, where they touch the ceiling, above a legend of so many rows."""
    x, y = figure.inset.split()
    return (f"set multiplot\n{plot}unset key\nunset xlabel\nunset ylabel\n"
            f"set size 0.45, {240 / height_of(rows):.3f}\nset origin 0.5, {(24 * rows + 95) / height_of(rows):.3f}\n"
            f"set xrange [{x}]\nset yrange [{y}]\nset border 15\nset tics font ',12'\n"
            f"set object 1 rectangle from graph 0, 0 to graph 1, 1 fs empty\n{plot}unset multiplot\n")


def script_of_bars(figure, curves):
    """Groups of bars: x is the label of the group."""
    groups = list(dict.fromkeys(x for curve in curves for x, *_ in curve.points))
    colours, blocks, plots = colours_of(curves), [], []
    for n, curve in enumerate(curves):
        values = {x: rest for x, *rest in curve.points}
        lines = (['"' + group + '"', *(f"{v:.9g}" for v in values.get(group, [0, 0, 0]))] for group in groups)
        blocks.append(f"$c{n} << EOD\n" + "\n".join(map("\t".join, lines)) + "\nEOD\n")
        colour = colours[curve.title()]
        plots.append(f"$c{n} using 2:3:4:xtic(1) lc rgb '{colour}' title {quoted(curve.title())}")
    return "".join(blocks) + BARS + "plot " + ", \\\n    ".join(plots) + "\n"


def together(curves):
    """Bars of one name from several lines are one series."""
    found = {}
    for curve in curves:
        found.setdefault(curve.series, Curve("data", curve.series)).points += curve.points
        found[curve.series].plain = True
    return list(found.values())


def themed(svg, name):
    """Black becomes the colour of the text around it, ids are the figure's own, and what is empty goes."""
    svg = re.sub(r"""(color|stroke|fill)=(["'])(black|rgb\( *0, *0, *0\))\2""", r"\1=\2currentColor\2", svg)
    svg = re.sub(r"<use [^>]*color='white'/>\n?", "", svg)
    svg = re.sub(r"<g [^>]*>\s*</g>\n?", "", svg)
    svg = re.sub(r"<(g|path|circle|rect|use)( [^>]*)?(id|href)=", r"<\1\2\3=", svg)
    svg = re.sub(r"\bgp(Pt|Dot)", rf"{name}_\1", svg)
    svg = svg.replace("gnuplot_canvas", name + "_canvas")
    svg = re.sub(r"<filter.*?</filter>\s*", "", svg, flags=re.S)
    return re.sub(r"<desc>.*?</desc>\s*", "", svg)


STANDALONE = "<style>svg { color: #222 } @media (prefers-color-scheme: dark) { svg { color: #ddd } }</style>\n"


def legend_rows(figure, curves):
    """The legend stands below the figure, in as many columns as its longest title allows."""
    titles = [curve.title() for curve in curves] + [title for title, _ in figure.formulas]
    columns = max(1, min(4, 100 // (max(map(len, titles)) + 8)))
    return -(-len(titles) // columns)


def all_curves(figure, folder, size):
    curves = [curve for line in figure.curves for curve in curves_of(figure.kind, line, folder, size)]
    if figure.kind == "bars":
        return together(curves)
    for curve in curves:
        curve.plain = len({other.origin for other in curves}) == 1
    return curves if any(curve.origin in ("here", "again", "data") for curve in curves) else []


def draw(figure, folder, size):
    """Writes the figure; False when there is nothing to draw."""
    curves = all_curves(figure, folder, size)
    if not curves:
        return False
    path = os.path.join(folder, figure.name + ".svg")
    rows = legend_rows(figure, curves)
    script = HEAD.format(name=figure.name, path=path, x=quoted(figure.x), y=quoted(figure.y), rows=rows,
                         height=height_of(rows) + (80 if figure.kind == "bars" else 0))
    script += (SPEEDS if figure.kind == "speeds" else "") + figure.setup + "\n"
    script += (script_of_bars if figure.kind == "bars" else script_of_lines)(figure, curves)
    subprocess.run(["gnuplot", "-"], input=script, text=True, check=True)
    svg = themed(tables.text_of(path), figure.name)
    tables.put(path, svg.replace("<title>", STANDALONE + "<title>", 1))
    return True
