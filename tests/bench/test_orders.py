# SPDX-License-Identifier: MIT
"""Tests of orders.py, which compares the published pictures with the tables that are committed: python3 -m pytest tests/bench."""
import pytest

import figures
import orders
import quote
import tables

LINE = [(0.1, 10.0), (0.2, 20.0), (0.4, 10.0)]


def test_a_published_curve_is_read_between_its_points():
    assert orders.published_at(LINE, 0.2) == 20
    assert orders.published_at(list(reversed(LINE)), 0.3) == pytest.approx(15)
    assert orders.published_at(LINE, 0.08) == orders.published_at(LINE, 0.42) == 10
    assert orders.published_at(LINE, 0.05) is None and orders.published_at(LINE, 0.45) is None


def curve(origin, series, *points):
    made = figures.Curve(origin, series)
    made.points = [(x, middle, low, high) for x, middle, low, high in points]
    return made


def of(monkeypatch, *curves, name="figure5"):
    monkeypatch.setattr(figures, "all_curves", lambda *_: list(curves))
    return list(orders.orders(figures.Figure(name, {"title": "t", "x": "x", "y": "y"}), "folder"))


def level(y):
    return [(0.0, y, y, y), (1.0, y, y, y)]


def test_an_order_is_the_same_changed_or_within_the_bars(monkeypatch):
    a, b = curve("published", "a", *level(20)), curve("published", "b", *level(10))
    here = [curve("here", "a", *((x, 5, 4, 6) for x in (0.0, 0.5, 1.0))),
            curve("here", "b", (0.0, 2, 1, 3), (0.5, 9, 8, 10), (1.0, 6, 5, 7))]
    found = of(monkeypatch, a, b, *here)
    assert found == [(0.0, "a", "b", True, True), (0.5, "a", "b", False, True), (1.0, "a", "b", False, False)]
    assert orders.summary("f", found) == ["f", "3", "1", "33", "2", "1", "50"]
    assert list(orders.changed_pairs("f", found)) == [["f", "a", "b", "2", "1", "0.5"]]


def test_published_curves_that_are_close_give_no_clear_order(monkeypatch):
    here = curve("here", "a", (0.5, 5, 5, 5)), curve("here", "b", (0.5, 9, 9, 9))
    found = of(monkeypatch, curve("published", "a", *level(10.5)), curve("published", "b", *level(10)), *here)
    assert found == [(0.5, "a", "b", False, False)]


def test_a_stretch_is_compared_with_the_middle_of_the_published_one(monkeypatch):
    published = curve("published", "a", (0.0, 0, 0, 0), (1.0, 100, 100, 100)), curve("published", "b", *level(49))
    here = curve("here", "a", (0.5, 1, 1, 1)), curve("here", "b", (0.5, 2, 2, 2))
    assert of(monkeypatch, *published, *here)[0][1:4] == ("a", "b", False)
    assert of(monkeypatch, *published, *here, name="figure7")[0][1:4] == ("b", "a", True)


def test_curves_that_were_not_published_are_left_out(monkeypatch):
    assert of(monkeypatch, curve("published", "a", *level(1)), curve("here", "a", (0.5, 1, 1, 1)), curve("here", "b", (0.5, 2, 2, 2))) == []


def test_what_is_committed_is_of_the_committed_tables(tmp_path):
    orders.main(quote.RESULTS, str(tmp_path))
    for name in ("orders", "order_pairs"):
        assert tables.read(str(tmp_path / f"{name}.tsv")) == tables.read(quote.place_of(name)), name


def test_the_published_curve_of_figure_7_adds_up_to_the_published_table_3():
    """What was read off the picture is right: the time of all stretches gives the speed of construction."""
    published = {curve.series: curve.points for curve in figures.curves_of_table(
        "published", *tables.read(quote.place_of("published")), "x", "y", "series", ["figure = figure7"])}
    columns, rows = tables.read(quote.place_of("published_table3"))
    speed = {row[0]: float(row[columns.index("million keys/s")]) for row in rows}
    full = {"cuckoo": 0.952, "semi-sorted cuckoo": 0.954, "quotient": 0.9, "d-left counting": 0.7735}  # table 3: keys / slots
    for name, load in full.items():
        steps = 1000
        seconds = sum(load / steps / orders.published_at(published[name], (i + 0.5) * load / steps) for i in range(steps))
        assert abs(load / seconds / speed[name] - 1) < 0.03, name
