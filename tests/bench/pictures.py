# SPDX-License-Identifier: MIT
"""The two pictures of RESULTS.md, as texts of SVG; quote.py writes them. This library is red, and nothing else is."""
import math

WIDTH, HEIGHT, LEFT, TOP = 760, 330, 60, 20
HEAD = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="13">'
        "\n<style>text { fill: #222 } line { stroke: #888; stroke-width: 0.5 } polyline { fill: none; stroke-width: 2 } "
        "@media (prefers-color-scheme: dark) { text { fill: #ddd } }</style>\n")
COLOURS = {"growth off": "#d9483b", "default": "#ee8f86", "Bloom": "#3b7ddd", "log2(1/e)": "#808790",
           "stored": "#d9483b", "within": "#b3261a", "front": "#ee8f86", "own": "#3b7ddd"}


def text(x, y, words, anchor="middle"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{words}</text>\n'


def line(x1, y1, x2, y2):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>\n'


def legend(names):
    """On the right, one below the other: {key of COLOURS: words}."""
    drawn = ""
    for y, (key, words) in zip(range(TOP, HEIGHT, 24), names.items()):
        drawn += f'<rect x="{WIDTH - 175}" y="{y}" width="12" height="12" fill="{COLOURS[key]}"/>\n'
        drawn += text(WIDTH - 156, y + 11, words, "start")
    return drawn


def frame(most, step, title):
    """The height of a value, and horizontal lines from 0 to the most."""
    bottom = HEIGHT - 45

    def height(value):
        return bottom - value * (bottom - TOP) / most
    lines = "".join(line(LEFT, height(v), WIDTH - 200, height(v)) + text(LEFT - 8, height(v) + 4, v, "end")
                    for v in range(0, most + 1, step))
    middle = f"translate(18 {(TOP + bottom) / 2:.0f}) rotate(-90)"
    return height, lines + f'<text transform="{middle}" text-anchor="middle">{title}</text>\n'


def asked(table):
    """Bits per key against the error rate asked for: rows of asked.tsv."""
    rows = [row for row in table if row["keys"] == "1000000"]
    rates = [float(row["asked %"]) for row in rows]
    height, drawn = frame(25, 5, "bits per key")
    width = (WIDTH - 200 - LEFT) / math.log(max(rates) / min(rates))

    def across(rate):
        return LEFT + width * math.log(max(rates) / rate)
    for rate in (5, 1, 0.1, 0.01, 0.001):
        drawn += line(across(rate), TOP, across(rate), height(0)) + text(across(rate), height(0) + 18, f"{rate:g} %")
    for name in ("log2(1/e)", "Bloom", "default", "growth off"):
        points = " ".join(f"{across(rate):.1f},{height(float(row[name])):.1f}" for rate, row in zip(rates, rows))
        drawn += f'<polyline points="{points}" stroke="{COLOURS[name]}"/>\n'
    drawn += text((LEFT + WIDTH - 200) / 2, HEIGHT - 8, "error rate asked for, a million keys")
    return HEAD + drawn + legend({"Bloom": "Bloom filter", "growth off": "this, growth=off", "default": "this, by default",
                                  "log2(1/e)": "no filter can be below"}) + "</svg>\n"


def joins(rows):
    """Times as fast as the plain join, texts of which 1 % match: rows of joins.tsv."""
    forms = {"front": "rows=on", "within": "cf_build in the query", "stored": "a stored filter",
             "own": "SQLite's own filter"}
    height, drawn = frame(8, 2, "times as fast as the plain join")
    caches, versions = ("in cache", "10 times the cache"), ("3.34.0", "3.40.1", "3.54.1")
    groups = [(version, cache) for cache in caches for version in versions]
    step = (WIDTH - 200 - LEFT) / len(groups)
    for i, (version, cache) in enumerate(groups):
        for j, form in enumerate(forms):
            where = cache + (", analyzed" if form == "own" else "")
            found = [row for row in rows if (row["SQLite"], row["keys"], row["share"], row["cache"], row["form"])
                     == (version, "text", "0.01", where, form)]
            value = float(found[0]["times as fast"])
            drawn += (f'<rect x="{LEFT + step * i + 8 + 16 * j:.1f}" y="{height(value):.1f}" width="15" '
                      f'height="{height(0) - height(value):.1f}" fill="{COLOURS[form]}"/>\n')
        drawn += text(LEFT + step * (i + 0.5), height(0) + 18, version)
    for i, words in enumerate(("SQLite; tables in the page cache", "tables ten times as large as the cache")):
        drawn += text(LEFT + step * (1.5 + 3 * i), HEIGHT - 8, words)
    drawn += f'<g style="stroke-dasharray: 4">{line(LEFT, height(1), WIDTH - 200, height(1))}</g>\n'
    return HEAD + drawn + legend({form: forms[form] for form in ("stored", "within", "front", "own")}) + "</svg>\n"
