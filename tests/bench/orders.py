# SPDX-License-Identifier: MIT
"""Which filter is faster, in the pictures of the paper and here: how many of these orders reproduced.

    python3 tests/bench/orders.py FOLDER OUT      joined tables of FOLDER; writes orders.tsv and order_pairs.tsv to the folder OUT

Machines differ, so speeds cannot be compared, but orders can. An order is which of two filters is the faster one, at one
point of figures 5 to 8. Published curves (data/published.tsv) are read between their points. An order is clear when the paper's
two curves are a tenth or more apart, and the bars of the two filters do not overlap here.
"""
import itertools
import os
import sys

import figures
import tables

FIGURES = ["figure5", "figure6_hits", "figure6_misses", "figure7", "figure8"]
COLUMNS = ["figure", "orders", "same", "same %", "clear", "clear and same", "clear and same %"]
PAIR_COLUMNS = ["figure", "faster in the paper", "faster here", "clear orders", "of them changed", "at"]
# In figures 6 and 7 the paper puts the point of a stretch in its middle, this bench at its end: there its loads are half a stretch
# less. (Its quotient filter at 0.875 in figure 6 has the speeds of figure 5, full at 0.90.) Figure 8 has the load that a stretch starts
# from in both.
HALF_STRETCH = {"figure6_hits": 0.025, "figure6_misses": 0.025, "figure7": 0.025}
CLEAR = 1.1


def published_at(points, x):
    """The published curve at x, between its points; None where it has none near."""
    points = sorted((at, value) for at, value, *_ in points)
    if not points[0][0] - 0.03 <= x <= points[-1][0] + 0.03:
        return None
    for (x0, y0), (x1, y1) in zip(points, points[1:]):
        if x0 <= x <= x1:
            return y0 + (y1 - y0) * (x - x0) / (x1 - x0)
    return points[0][1] if x < points[0][0] else points[-1][1]


def speeds(figure, folder):
    """{x: [(filter, published, Point of this library's bench)]} of one figure."""
    curves = figures.all_curves(figure, folder, "full")
    published = {curve.series: curve.points for curve in curves if curve.origin == "published"}
    back = HALF_STRETCH.get(figure.name, 0)
    found = {}
    for curve in curves:
        if curve.origin != "here" or curve.series not in published:
            continue
        for x, middle, low, high in curve.points:
            theirs = published_at(published[curve.series], x - back)
            if theirs is not None:
                found.setdefault(x, []).append((curve.series, theirs, (middle, low, high)))
    return found


def orders(figure, folder):
    """(x, faster in the paper, the other one, is it the same here, is it clear) of each pair at each point."""
    for x, rivals in sorted(speeds(figure, folder).items()):
        for one, other in itertools.combinations(rivals, 2):
            fast, slow = (one, other) if one[1] >= other[1] else (other, one)
            (middle, *bar), (slow_middle, *slow_bar) = fast[2], slow[2]
            yield x, fast[0], slow[0], middle > slow_middle, fast[1] >= CLEAR * slow[1] and not tables.meet(bar, slow_bar)


def share(part, whole):
    return f"{100 * part / whole:.0f}" if whole else tables.MISSING


def summary(name, found):
    clear = [same for _, _, _, same, is_clear in found if is_clear]
    same = [order[3] for order in found]
    counted = [figure for kind in (same, clear) for figure in (str(len(kind)), str(sum(kind)), share(sum(kind), len(kind)))]
    return [name, *counted]


def changed_pairs(name, found):
    """Of each pair of which a clear order changed: how many, and from which to which point."""
    pairs = {}
    for x, fast, slow, same, clear in found:
        if clear:
            pairs.setdefault((fast, slow), []).append((x, same))
    for (fast, slow), points in pairs.items():
        changed = [x for x, same in points if not same]
        if changed:
            at = f"{changed[0]:g}" if len(changed) == 1 else f"{changed[0]:g} to {changed[-1]:g}"
            yield [name, fast, slow, str(len(points)), str(len(changed)), at]


def compare(folder):
    """The rows of orders.tsv and of order_pairs.tsv."""
    of = {figure.name: figure for figure in figures.figures()}
    found = {name: list(orders(of[name], folder)) for name in FIGURES}
    rows = [summary(name, found[name]) for name in FIGURES]
    rows.append(summary("all", [order for name in FIGURES for order in found[name]]))
    return rows, [row for name in FIGURES for row in changed_pairs(name, found[name])]


def main(folder, out):
    rows, pairs = compare(folder)
    tables.write(os.path.join(out, "orders.tsv"), COLUMNS, rows)
    tables.write(os.path.join(out, "order_pairs.tsv"), PAIR_COLUMNS, pairs)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: orders.py FOLDER OUT")
    main(*sys.argv[1:])
