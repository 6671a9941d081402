# SPDX-License-Identifier: MIT
"""The two pictures of RESULTS.md and README.md, as texts of SVG that a phone can show; quote.py writes them. This library
is red, and nothing else is. Dashes tell the lines apart in print without colours. Both pictures have the same height."""
import math

WIDTH, HIGH, LEFT, RIGHT = 480, 600, 54, 30
SHOWN = 400  # pixels: two side by side on a page, one below the other on a phone
STYLE = ("<style>text { fill: #222 } line { stroke: #888; stroke-width: 0.5 } polyline { fill: none; stroke-width: 2.5 } "
         "@media (prefers-color-scheme: dark) { text { fill: #ddd } }</style>\n")


def text(x, y, words, anchor="middle"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{words}</text>\n'


def line(x1, y1, x2, y2):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>\n'


def panel(top, tall, title, lines, marks, most, step):
    """Lines, [((colour, dashes), [(x, y), ...]), ...], above a logarithmic axis with these marks, which may fall; heights up to the most."""
    bottom = top + 24 + tall
    width = (WIDTH - LEFT - RIGHT - 16) / math.log(marks[-1] / marks[0])

    def across(value):
        return LEFT + 8 + width * math.log(value / marks[0])

    def height(value):
        return bottom - value * tall / most
    drawn = text(LEFT, top + 12, title, "start")
    for value in range(0, most + 1, step):
        drawn += line(LEFT, height(value), WIDTH - RIGHT, height(value)) + text(LEFT - 6, height(value) + 5, f"{value:,}", "end")
    for value in marks:
        drawn += line(across(value), top + 24, across(value), bottom) + text(across(value), bottom + 18, f"{value:g} %")
    for (colour, dashes), points in lines:
        drawn += f'<polyline stroke="{colour}" stroke-dasharray="{dashes}" points="{" ".join(f"{across(x):.1f},{height(y):.1f}" for x, y in points)}"/>\n'
    return drawn, bottom + 18


def picture(panels, axis, names):
    """The names of the lines, two in a line; the panels one below the other; what the axis is."""
    drawn, bottom = "", 10 + 22 * ((len(names) + 1) // 2)
    for i, (style, words) in enumerate(names):
        x, y = (LEFT, 260)[i % 2], 16 + 22 * (i // 2)
        drawn += f'<polyline stroke="{style[0]}" stroke-dasharray="{style[1]}" points="{x},{y} {x + 34},{y}"/>\n'
        drawn += text(x + 40, y + 5, words, "start")
    tall = (HIGH - bottom - 30) / len(panels) - 52
    for title, lines, marks, most, step in panels:
        part, bottom = panel(bottom + 10, tall, title, lines, marks, most, step)
        drawn += part
    drawn += text((LEFT + WIDTH - RIGHT) / 2, bottom + 20, axis)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{SHOWN}" height="{HIGH * SHOWN // WIDTH}" '
            f'viewBox="0 0 {WIDTH} {HIGH}" font-family="sans-serif" font-size="15">\n{STYLE}{drawn}</svg>\n')


def asked(table):
    """Bits per key against the false-positive rate asked for: rows of asked.tsv."""
    forms = {"Bloom": (("#3b7ddd", "8 4"), "Bloom filter"), "default": (("#ee8f86", "none"), "this, by default"),
             "growth off": (("#a01f14", "none"), "this, growth=off"), "log2(1/e)": (("#808790", "2 3"), "theoretical minimum")}
    rows = [row for row in table if row["keys"] == "1000000"]
    lines = [(style, [(float(row["asked %"]), float(row[form])) for row in rows]) for form, (style, _) in forms.items()]
    panels = [("bits per key", lines, (5, 1, 0.1, 0.01, 0.001), 25, 5)]
    return picture(panels, "false-positive rate asked for, a million keys", forms.values())


def newest(rows):
    """The newest SQLite that was measured."""
    return max((row["SQLite"] for row in rows), key=lambda version: [int(part) for part in version.split(".")])


def joins(rows):
    """Nanoseconds of a row against the share that matches, with the newest SQLite, in the page cache: rows of joins.tsv."""
    forms = {"plain": (("#808790", "2 3"), "plain join"), "within": (("#a01f14", "none"), "a filter in the query"),
             "own": (("#3b7ddd", "8 4"), "SQLite's own filter"), "front": (("#ee8f86", "none"), "rows=on")}
    version, panels = newest(rows), []
    for keys in ("text", "integer"):
        chosen = [row for row in rows if (row["SQLite"], row["keys"]) == (version, keys)]
        lines = [(style, [(100 * float(row["share"]), float(row["ns per row"])) for row in chosen
                           if row["form"] == form and row["cache"] == "in cache" + (", analyzed" if form == "own" else "")])
                 for form, (style, _) in forms.items()]
        most = max(y for _, points in lines for _, y in points)
        panels.append((f"ns per row, {keys}s, SQLite {version}", lines, (0.1, 1, 10, 50), 200 * math.ceil(most / 200), 200))
    return picture(panels, "share of the rows that match", forms.values())
