# SPDX-License-Identifier: MIT
"""The two pictures of RESULTS.md and README.md, as texts of SVG that a phone can show; quote.py writes them. This library
is red, and nothing else is."""
import math

WIDTH, TALL, LEFT, RIGHT = 480, 210, 54, 30  # TALL: of the lines of a panel
SHOWN = 400  # pixels: two side by side on a page, one below the other on a phone
STYLE = ("<style>text { fill: #222 } line { stroke: #888; stroke-width: 0.5 } polyline { fill: none; stroke-width: 2.5 } "
         "@media (prefers-color-scheme: dark) { text { fill: #ddd } }</style>\n")


def text(x, y, words, anchor="middle"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{words}</text>\n'


def line(x1, y1, x2, y2):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>\n'


def panel(top, title, lines, marks, most, step):
    """Lines, [(colour, [(x, y), ...]), ...], above a logarithmic axis with these marks, which may fall; heights up to the most."""
    bottom = top + 24 + TALL
    width = (WIDTH - LEFT - RIGHT - 16) / math.log(marks[-1] / marks[0])

    def across(value):
        return LEFT + 8 + width * math.log(value / marks[0])

    def height(value):
        return bottom - value * TALL / most
    drawn = text(LEFT, top + 12, title, "start")
    for value in range(0, most + 1, step):
        drawn += line(LEFT, height(value), WIDTH - RIGHT, height(value)) + text(LEFT - 6, height(value) + 5, f"{value:,}", "end")
    for value in marks:
        drawn += line(across(value), top + 24, across(value), bottom) + text(across(value), bottom + 18, f"{value:g} %")
    for colour, points in lines:
        drawn += f'<polyline stroke="{colour}" points="{" ".join(f"{across(x):.1f},{height(y):.1f}" for x, y in points)}"/>\n'
    return drawn, bottom + 18


def picture(panels, axis, names):
    """The panels one below the other; what the axis is; the colours and their names, two in a line."""
    drawn, bottom = "", 0
    for title, lines, marks, most, step in panels:
        part, bottom = panel(bottom + 10, title, lines, marks, most, step)
        drawn += part
    drawn += text((LEFT + WIDTH - RIGHT) / 2, bottom + 20, axis)
    for i, (colour, words) in enumerate(names):
        x, y = (LEFT, 260)[i % 2], bottom + 34 + 22 * (i // 2)
        drawn += f'<rect x="{x}" y="{y}" width="12" height="12" fill="{colour}"/>\n'
        drawn += text(x + 18, y + 11, words, "start")
    high = bottom + 54 + 22 * ((len(names) - 1) // 2)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{SHOWN}" height="{high * SHOWN // WIDTH}" '
            f'viewBox="0 0 {WIDTH} {high}" font-family="sans-serif" font-size="15">\n{STYLE}{drawn}</svg>\n')


def asked(table):
    """Bits per key against the error rate asked for: rows of asked.tsv."""
    forms = {"Bloom": ("#3b7ddd", "Bloom filter"), "default": ("#ee8f86", "this, by default"),
             "growth off": ("#d9483b", "this, growth=off"), "log2(1/e)": ("#808790", "no filter is below")}
    rows = [row for row in table if row["keys"] == "1000000"]
    lines = [(colour, [(float(row["asked %"]), float(row[form])) for row in rows]) for form, (colour, _) in forms.items()]
    panels = [("bits per key", lines, (5, 1, 0.1, 0.01, 0.001), 25, 5)]
    return picture(panels, "error rate asked for, a million keys", forms.values())


def newest(rows):
    """The newest SQLite that was measured."""
    return max((row["SQLite"] for row in rows), key=lambda version: [int(part) for part in version.split(".")])


def joins(rows):
    """Nanoseconds of a row against the share that matches, with the newest SQLite, in the page cache: rows of joins.tsv."""
    forms = {"plain": ("#808790", "plain join"), "within": ("#d9483b", "a filter in the query"),
             "own": ("#3b7ddd", "SQLite's own filter"), "front": ("#ee8f86", "rows=on")}
    version, panels = newest(rows), []
    for keys in ("text", "integer"):
        chosen = [row for row in rows if (row["SQLite"], row["keys"]) == (version, keys)]
        lines = [(colour, [(100 * float(row["share"]), float(row["ns per row"])) for row in chosen
                           if row["form"] == form and row["cache"] == "in cache" + (", analyzed" if form == "own" else "")])
                 for form, (colour, _) in forms.items()]
        most = max(y for _, points in lines for _, y in points)
        panels.append((f"ns a row, {keys}s, SQLite {version}", lines, (0.1, 1, 10, 50), 200 * math.ceil(most / 200), 200))
    return picture(panels, "share of the rows that match", forms.values())
