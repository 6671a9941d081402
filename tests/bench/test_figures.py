# SPDX-License-Identifier: MIT
"""Tests that no curve of a figure is left out silently: python3 -m pytest tests/bench.

A line of measured.txt that finds no row draws nothing, and a bar that was not measured has no height. So each line is tried
on the tables that are committed: results/ holds those of the full form, data/ what others measured or published. Each value
that a condition names has to be there, and each column of bars. The rules where not all forms are committed:

- The quick form is not. Values that only its tables have stand in ONLY_QUICK, and are not looked for.
- A table of the authors' program counts in each form that it is there for (data/authors/full, /quick, or both). One has to be.
"""
import os

import pytest

import figures
import tables

RESULTS = os.path.join(tables.HERE, "results")
ONLY_QUICK = {("figure2", "log2 buckets"): {"10"}, ("bloom_cuckoo", "burst"): {"32"}}  # (table, column): values


def forms_of(line):
    """The forms in which the table of a line is committed."""
    if line[0] in ("here", "again"):
        return ["full"]
    return [form for form in ("full", "quick") if figures.path_of(line[0], line[1], RESULTS, form)]


def wanted_lines(figure, line):
    """What has to find rows: the line, with each of its columns of bars alone, and with each value of a condition alone."""
    yield line
    if figure.kind == "bars":
        yield from ([*line[:3], column.strip(), *line[4:]] for column in line[3].split(";"))
    for i, condition in enumerate(line[5:], 5):
        column, _, values = figures.condition_parts(condition)
        for value in set(values) - ONLY_QUICK.get((line[1], column), set()):
            yield [*line[:i], f"{column} = {value}", *line[i + 1:]]


def finds_rows(figure, line, form):
    found = figures.curves_of(figure.kind, line, RESULTS, form)
    return any(value != 0 or figure.kind != "bars" for curve in found for _, value, *_ in curve.points)


def left_out(figure):
    """The lines, or parts of lines, that draw nothing."""
    found = []
    for line in figure.curves:
        forms = forms_of(line)
        found += [" | ".join(part) for form in forms for part in wanted_lines(figure, line) if not finds_rows(figure, part, form)]
        found += [] if forms else [f"no table: {' | '.join(line)}"]
    return found


@pytest.mark.parametrize("figure", figures.figures(), ids=lambda figure: figure.name)
def test_every_curve_finds_rows_in_the_committed_tables(figure):
    assert left_out(figure) == []


def figure_of(*lines, kind="lines"):
    return figures.Figure("f", {"title": "t", "axes": "x | y", "kind": kind, "curves": "\n".join(lines)})


CHAINS = "again | chains | times planned | bits per key | system"
SQL = "here | sql | {statement} | ns/row | - | statement != "


def test_a_curve_that_finds_nothing_is_named():
    assert left_out(figure_of(f"{CHAINS} | system = chain, tightened/lower bound, growing (formula)")) == [
        f"{CHAINS} | system = lower bound, growing (formula)"]
    assert left_out(figure_of("again | chains | times planned | bits | system"))
    assert left_out(figure_of("authors | chains | times planned | bits per key | system")) == [
        "no table: authors | chains | times planned | bits per key | system"]


def test_bars_without_height_and_bars_left_out_in_vain_are_named():
    assert left_out(figure_of(SQL + "scan", kind="bars")) == []
    assert left_out(figure_of(SQL + "scan/scam", kind="bars")) == [SQL.replace("!", "") + "scam"]
    assert left_out(figure_of("here | sql | {statement} | ns/row;ns | -", kind="bars")) == ["here | sql | {statement} | ns | -"]


def test_values_of_the_quick_form_are_named_by_a_figure_and_by_no_committed_table():
    conditions = [(line[1], *figures.condition_parts(text)) for f in figures.figures() for line in f.curves for text in line[5:]]
    for (table, column), values in ONLY_QUICK.items():
        columns, rows = tables.read(os.path.join(RESULTS, table + ".tsv"))
        assert not values & {row[columns.index(column)] for row in rows}, (table, column)
        assert values <= {v for t, c, _, named in conditions if (t, c) == (table, column) for v in named}, (table, column)


def test_what_is_published_is_drawn_by_a_figure():
    columns, rows = tables.read(os.path.join(figures.DATA, "published.tsv"))
    lines = [line for figure in figures.figures() for line in figure.curves if line[0] == "published"]
    for row in (dict(zip(columns, cells)) for cells in rows):
        assert any(figures.wanted(line[5:], row) for line in lines), row


def test_bars_of_the_least_and_the_most_go_to_the_median():
    row = {"x": "1", "load": "5", "load q1": "4", "load q3": "6", "load least": "2", "load most": "9", "rows": "3"}
    assert figures.spread_point(row, "x", "load") == (1, 5, 4, 6)
    assert figures.spread_point(row, "x", "load least") == (1, 2, 2, 5)
    assert figures.spread_point(row, "x", "load most") == (1, 9, 5, 9)
    assert figures.spread_point(row, "-", "rows") == (None, 3, 3, 3)
    assert figures.spread_point(row, "x", "speed") is None


def test_conditions_are_split_at_their_first_sign():
    assert figures.condition_parts("series = b = 4") == ("series", "=", ["b = 4"])
    assert figures.condition_parts("filter != a/b, c") == ("filter", "!=", ["a", "b, c"])
