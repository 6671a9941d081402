# SPDX-License-Identifier: MIT
"""Tests of the scripts that join and quote the figures: python3 -m pytest tests/bench."""
import os
import random
import re
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import bench_writes  # noqa: E402
import paths  # noqa: E402
import quote  # noqa: E402
import report  # noqa: E402
import run  # noqa: E402
import slower  # noqa: E402
import tables  # noqa: E402


def described(keys="filter", measured="load; speed"):
    return tables.Description("t", f"p | {keys} | {measured} | T")


# ---- programs ----

def test_programs_compile_without_a_warning():
    """make test builds none of them."""
    sources = sorted(name for name in os.listdir("tests/bench") if name.endswith(".c"))
    assert "exact.c" in sources
    done = subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", *(f"tests/bench/{name}" for name in sources)],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# ---- joining ----

def joined(*runs, measured="load; speed"):
    """Rows of the joined table, as dictionaries; a run is a list of rows."""
    columns, rows = tables.joined(described(measured=measured), [(["filter", "load", "speed"], rows) for rows in runs])
    return [dict(zip(columns, row)) for row in rows]


def spread(row, column):
    return [row[column + end] for end in ("", " q1", " q3", " least", " most")]


def test_median_quartiles_and_extremes():
    row, = joined(*([["cuckoo", "0.95", str(n)]] for n in range(1, 11)))
    assert (row["filter"], row["runs"]) == ("cuckoo", "10")
    assert spread(row, "speed") == ["5.5", "3.2", "7.8", "1", "10"] and spread(row, "load") == ["0.95"] * 5
    row, = joined(*([["a", "1", text]] for text in ("-", "5", "7")))
    assert spread(row, "speed") == ["6", "5.5", "6.5", "5", "7"]  # what was not measured is left out
    assert tables.summary(["-", "-"])[1:] == ["-"] * 4
    assert tables.summary(["5.5e-05", "6.5e-05"])[0] == "6e-05" and tables.summary(["1.25", "2.5"])[0] == "1.88"
    row, = joined(*([["a", "1", n]] for n in ("0", "1", "2")), measured="load; +speed")
    assert spread(row, "speed")[::3] == ["3", "0"]  # a sum


def test_points_are_told_apart_by_keys_and_then_by_order():
    rows = joined([["a", "0.5", "1"], ["a", "0.9", "2"], ["b", "1", "3"]], [["a", "0.5", "3"], ["a", "0.92", "4"]])
    assert [(r["filter"], r["load"], r["speed"], r["runs"]) for r in rows] == [
        ("a", "0.5", "2", "2"), ("a", "0.91", "3", "2"), ("b", "1", "3", "1")]


def test_tables_that_nobody_describes_or_that_are_not_finished_are_errors(tmp_path):
    with pytest.raises(ValueError, match="colour"):
        tables.joined(described(), [(["filter", "load", "speed", "colour"], [["a", "1", "2", "red"]])])
    with pytest.raises(ValueError, match="speed"):
        tables.joined(described(), [(["filter", "load"], [["a", "1"]])])
    (tmp_path / "t.tsv").write_text("")
    with pytest.raises(ValueError, match="not finished"):
        tables.read(str(tmp_path / "t.tsv"))


# ---- running ----

def test_a_share_of_all_takes_at_most_so_long():
    taken = random.Random(5).sample(range(1, 1001), 1000)
    assert bench_writes.quantiles(taken, 0.5, 0.99, 0.999, 1) == [501, 991, 1000, 1000]
    assert bench_writes.quantiles([7], 0.5, 1) == [7, 7]


def test_instructions_are_counted_for_each_operation_less_what_it_stands_on():
    part = "desc: Trigger: Client Request: {}\nevents: Ir\ntotals: {}\n"
    parts = [paths.counts(part.format("scan|10|", 100)), paths.counts(part.format("a, b|10|scan", 350))]
    assert paths.counts("desc: I1 cache: none\n") is None
    assert paths.rows(parts) == [("scan", 10.0), ("a, b", 25.0)]


# ---- one source of truth ----

def test_conditions_choose_rows():
    row = {"b": "4", "filter": "a/b, c"}
    assert quote.wanted(["b = 2/4", "filter != Bloom"], row) and not quote.wanted(["b != 4"], row)
    assert quote.wanted(["series = b = 4"], {"series": "b = 4"})


def test_tables_and_figures_are_filled_in(tmp_path, monkeypatch):
    (tmp_path / "sizes.tsv").write_text(
        "growth\tkeys\terror rate\tbits per key\tbits per key q1\tbits per key q3\truns\n"
        "off\t1000000\t0.01\t9.28\t9.2\t9.3\t10\non\t1000000\t0.01\t9.5\t9.5\t9.5\t10\n")
    monkeypatch.setattr(quote, "RESULTS", str(tmp_path))
    marker = "<!-- table sizes | growth = off | keys; bits per key -->\n"
    text = quote.fill_tables(f"a\n{marker}| old |\n\nb\n")
    rows = "| keys (`sizes.tsv`) | bits per key |\n| --- | ---: |\n| 1,000,000 | 9.28 (9.2–9.3) |\n"
    assert text == f"a\n{marker}{rows}\nb\n"
    assert quote.fill_tables(text) == text
    marker = "<!-- table sizes | | keys; bits per key | growth -->\n"
    text = quote.fill_tables(marker)
    assert "growth off | growth on |" in text and "| 1,000,000 | 9.28 | 9.5 |" in text
    passage = "- **{sizes | growth = off | bits per key | .1f} bits per key**, for a million"
    monkeypatch.setattr(quote, "quotes", lambda: [("README.md", passage)])
    text = "x\n- **{} bits\nper key**, for a million keys"
    assert quote.fill_quotes("README.md", text.format("7.7")) == text.format("9.3")
    with pytest.raises(ValueError, match="0 times"):
        quote.fill_quotes("README.md", "nothing of the kind")
    with pytest.raises(ValueError, match="no rows"):
        quote.fill_tables("<!-- table sizes | growth = of -->\n")


def test_accepted_tables_say_with_what_they_were_measured(tmp_path, monkeypatch):
    folder, results = tmp_path / "bench", tmp_path / "results"
    monkeypatch.setattr(quote, "RESULTS", str(results))
    monkeypatch.setattr(quote, "SOURCES", str(results / "sources.tsv"))
    monkeypatch.setattr(quote, "fill", lambda: None)
    monkeypatch.setattr(tables, "descriptions", lambda: {"t": described(measured="speed")})
    facts = {"commit": "abc", "date": "2026-11-22", "processor": "Xeon", "compiler": "cc 12", "SQLite": "3.40.1"}
    for n, load in enumerate(["1.00", "3.00"], 1):
        (folder / f"run-{n}").mkdir(parents=True)
        tables.write(str(folder / f"run-{n}" / "p.done"), ["load before", *facts], [[load, *facts.values()]])
    (folder / "t.tsv").write_text("filter\tspeed\truns\na\t1\t2\nb\t1\t1\n")
    quote.accept(str(folder))
    assert (results / "t.tsv").read_text() == (folder / "t.tsv").read_text()
    assert quote.as_rows(quote.SOURCES) == [{
        "table": "t", "runs": "medians (and quartiles) of 1 to 2 runs", "load": "2.0", **facts}]
    monkeypatch.setattr(tables, "descriptions", lambda: {"t": described(measured="speed"), "by_hand": None, "other": None})
    monkeypatch.setattr(quote, "DATA", str(tmp_path))
    (tmp_path / "about.tsv").write_text("table\tday\thow it was measured\nby_hand\t2026-11-01\tso\nother\t-\t-\n")
    page = quote.fill_tables("<!-- table t -->\n| old |\n`by_hand.tsv`\n<!-- sources -->\n| old |\n")
    assert "| t | 2026-11-22 | medians (and quartiles) of 1 to 2 runs | abc | Xeon | cc 12 | 3.40.1 | 2.0 |\n" in page
    assert "| by_hand | 2026-11-01 | so |" in page and "other" not in page and "old" not in page


def test_what_is_slower_is_named(monkeypatch):
    monkeypatch.setattr(tables, "descriptions", lambda: {"t": described(measured="load; speed")})
    monkeypatch.setattr(tables, "sections", lambda: {"costs": {"t": "speed"}})
    columns = ["filter", "speed", "speed q1", "speed q3", "load", "runs"]

    def rows(*lines):
        return [dict(zip(columns, line.split())) for line in lines]
    old = rows("a 10 9 11 1 3", "b 10 9 11 1 3", "c 10 9 11 1 3", "d 10 9 11 1 3", "gone 1 1 1 1 3")
    new = rows("a 12 11.5 13 9 3", "b 12 10.5 13 9 3", "c 11 11 11 9 3", "d - - - 9 3", "new 1 1 1 1 3")
    assert slower.report("t", new, old) == [
        "t: 2 of 3 figures are more than 10 % above the old ones; median 1.20 times",
        "    1.20 times: a: speed: 10, now 12", "    1.20 times, perhaps: b: speed: 10, now 12"]
    assert slower.report("t", new, rows("gone 1 1 1 1 3")) == ["t: no figure is in both"]


MEASURED = ("RESULTS.md", "ARTICLES.md")


def page_of(name):
    return tables.text_of(quote.PAGES[name])


def test_tables_are_described_quoted_and_have_a_source():
    shown = {table for name in MEASURED for table in quote.tables_of(page_of(name))}
    programs = {program.name for program in run.programs()}
    sources = {row["table"] for path in (quote.SOURCES, quote.place_of("about")) for row in quote.as_rows(path)}
    files = {name[:-len(".tsv")] for folder in (quote.RESULTS, quote.DATA) for name in os.listdir(folder)}
    assert files - {"sources", "about"} == set(tables.descriptions()) == shown
    for name, one in tables.descriptions().items():
        columns, rows = tables.read(quote.place_of(name))
        one.check(tables.plain_columns(columns))
        assert rows and one.keys and one.title and one.program in {*programs, "data"}, name
        assert name in sources, name
    for name, columns in tables.sections()["costs"].items():
        assert {*tables.parts_of(columns)} <= {"*", *tables.read(quote.place_of(name))[0]}, name


def test_pages_quote_the_tables_that_are_committed():
    assert quote.check() == []


@pytest.mark.parametrize("page, old, new", [
    ("RESULTS.md", "smaller, 7.30 bits", "smaller, 7.31 bits"), ("RESULTS.md", "| 1 | 6.64 |", "| 1 | 6.65 |"),
    ("ARTICLES.md", "12.32 bits at 0.193 %", "12.32 bits at 0.194 %"),
    ("joins.svg", "SQLite 3.54.1<", "SQLite 3.54.2<"), ("README.md", "9.4 bits per key", "9.2 bits per key")])
def test_a_figure_that_is_quoted_wrong_is_seen(monkeypatch, page, old, new):
    fresh = tables.text_of
    assert old in fresh(quote.files()[page][0])
    monkeypatch.setattr(tables, "text_of", lambda path: fresh(path).replace(old, new) if path.endswith(page) else fresh(path))
    assert quote.check() == [page]


def test_the_pages_are_short_and_no_sentence_has_a_figure_that_no_table_has():
    lines = {name: page_of(name).splitlines() for name in MEASURED}
    assert len(lines["RESULTS.md"]) <= 350 and sum(map(len, lines.values())) <= 470
    for name, text in lines.items():
        prose = "\n".join(line for line in text if not line.startswith(("|", "<!--")))
        for passage in (passage for page, passage in quote.quotes() if page == name):
            prose = re.sub(quote.pattern_of(passage)[0], "", prose)
        units = "ns|us|ms|nanoseconds|microseconds|milliseconds|seconds|times|bits|bytes"
        assert re.findall(rf"[\d.,]*\d (?:{units})\b", prose) == [], name


# ---- the report ----

def test_the_report_begins_with_joins_and_fits_a_phone(tmp_path):
    pytest.importorskip("markdown")
    report.write(tmp_path, {name: text for name, (_, text) in quote.files().items() if name != "README.md"})
    page = (tmp_path / "report.html").read_text()
    assert page.index("My join") < page.index("My build") < page.index("Compared with the articles")
    assert page.count("<svg") == 2 and "<img" not in page and "http-equiv" not in page
    assert "width=device-width" in page and "overflow-x: auto" in page
