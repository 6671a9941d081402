# SPDX-License-Identifier: MIT
"""Compares two benchmark runs, of two days or of two machines: what stayed, and which orders changed.

    python3 tests/bench/twice.py FIRST SECOND OUT      joined tables (tables.py) in two folders; writes to the folder OUT

twice.tsv has a row for each unit: how many points both have, of how many the bars (first to third quartile) overlap, of how
many the ranges (least to most), and how far the medians are apart. An order is which of two systems has the larger figure at
one point. "clear then" are those whose bars are apart in the second run, which is all that a reader of one run can know.
twice_orders.tsv names the orders that changed although the bars are apart in both runs.
"""
import itertools
import os
import sys

import tables

# Columns that name what is compared. Rows that differ in nothing else are rivals.
SYSTEMS = ("filter", "system", "algorithm", "rule", "kind")
COLUMNS = ["unit", "points", "bars overlap %", "ranges overlap %", "second / first, median", "least", "most",
           "orders", "changed", "beyond bars", "clear then", "of them changed"]
ORDER_COLUMNS = ["table", "point", "column", "larger at first", "larger then", "first run", "second run"]


class Point:
    """One figure of one run: median, what lies around it, and the place in the row's first measured column."""

    def __init__(self, row, column, place):
        self.place = row.get(place, tables.MISSING)
        self.middle, self.low, self.high, self.least, self.most = (
            tables.numbers([row[name]])[0] for name in (column, *(f"{column} {end}" for end in tables.SPREAD)))

    def bars_meet(self, other):
        return tables.meet((self.low, self.high), (other.low, other.high))

    def ranges_meet(self, other):
        return tables.meet((self.least, self.most), (other.least, other.most))


def figures_of(described, path):
    """{(column, keys, number of the row with these keys): Point} of a joined table."""
    columns, rows = tables.read(path)
    seen, found = {}, {}
    for cells in rows:
        row = dict(zip(columns, cells))
        keys = tuple(row[key] for key in described.keys)
        seen[keys] = seen.get(keys, 0) + 1
        for column in tables.plain_columns(columns):
            if column not in described.keys and tables.numbers([row[column], row[f"{column} q1"]])[1:]:
                found[column, keys, seen[keys]] = Point(row, column, next(iter(described.measured)))
    return found


def both(described, first, second):
    """{(column, keys, number): (Point, Point)} of what both runs have."""
    paths = [os.path.join(folder, described.name + ".tsv") for folder in (first, second)]
    if not all(map(os.path.exists, paths)):
        return {}
    one, two = (figures_of(described, path) for path in paths)
    return {name: (one[name], two[name]) for name in one if name in two}


def rivals(described, points):
    """Pairs of points that differ in the system alone: (column, where, name, points, name, points). Where rows have equal keys,
    their first measured column tells them apart: the load. It has to be the same for both."""
    systems = [i for i, key in enumerate(described.keys) if key in SYSTEMS]
    several = any(number > 1 for *_, number in points)
    groups = {}
    for (column, keys, _), point in points.items():
        place = [key for i, key in enumerate(keys) if i not in systems] + ([point[0].place] if several else [])
        name = ", ".join(keys[i] for i in systems)
        if systems:
            groups.setdefault((column, " ".join(place)), []).append((name, point))
    for (column, place), members in groups.items():
        for (name, point), (other_name, other) in itertools.combinations(members, 2):
            if name != other_name:
                yield column, place, name, point, other_name, other


def orders(described, points):
    """(column, did it change, are the bars apart in each run, row for twice_orders) of each pair of rivals."""
    for column, place, name, point, other_name, other in rivals(described, points):
        first, second = (point[run].middle - other[run].middle for run in (0, 1))
        changed = first * second < 0
        apart = [not point[run].bars_meet(other[run]) for run in (0, 1)]
        larger, smaller = ((name, point), (other_name, other))[::1 if first > 0 else -1]
        shown = [f"{larger[1][run].middle:g} and {smaller[1][run].middle:g}" for run in (0, 1)]
        yield column, changed, apart, [described.name, place or tables.MISSING, column, larger[0], smaller[0], *shown]


def ratio(pair):
    first, second = pair[0].middle, pair[1].middle
    return second / first if first > 0 and second > 0 else None


def summary(unit, pairs, changes):
    """A row of twice.tsv."""
    ratios = sorted(filter(None, map(ratio, pairs)))
    share = [100 * sum(map(bool, meet)) / len(pairs) for meet in (
        [a.bars_meet(b) for a, b in pairs], [a.ranges_meet(b) for a, b in pairs])]
    around = [tables.quartiles(ratios)[1], ratios[0], ratios[-1]] if ratios else []
    changed = [apart for is_changed, apart in changes if is_changed]
    counts = [len(changes), len(changed), sum(map(all, changed)), sum(then for _, (_, then) in changes),
              sum(then for _, then in changed)]
    return [unit, str(len(pairs)), *(f"{s:.0f}" for s in share), *([f"{r:.3g}" for r in around] or [tables.MISSING] * 3),
            *map(str, counts)]


def compare(first, second):
    """The rows of twice.tsv and of twice_orders.tsv."""
    pairs, changes, named = {}, {}, []
    for described in filter(tables.Description.is_of_runs, tables.descriptions().values()):
        points = both(described, first, second)
        for (column, _, _), pair in points.items():
            pairs.setdefault(described.unit(column), []).append(pair)
        for column, changed, apart, row in orders(described, points):
            changes.setdefault(described.unit(column), []).append((changed, apart))
            if changed and all(apart):
                named.append(row)
    return [summary(unit, pairs[unit], changes.get(unit, [])) for unit in sorted(pairs)], named


def main(first, second, out):
    rows, named = compare(first, second)
    tables.write(os.path.join(out, "twice.tsv"), COLUMNS, rows)
    tables.write(os.path.join(out, "twice_orders.tsv"), ORDER_COLUMNS, named)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: twice.py FIRST SECOND OUT")
    main(*sys.argv[1:])
