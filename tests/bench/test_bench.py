# SPDX-License-Identifier: MIT
"""Tests of the scripts that join, show and quote the figures: python3 -m pytest tests/bench."""
import os
import re
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import figures  # noqa: E402
import paths  # noqa: E402
import quote  # noqa: E402
import report  # noqa: E402
import run  # noqa: E402
import tables  # noqa: E402


def described(keys="filter", measured="load; speed"):
    return tables.Description("t", f"p | {keys} | {measured} | T")


def test_median_quartiles_and_extremes_of_ten_runs():
    runs = [(["filter", "load", "speed"], [["cuckoo", "0.95", str(n)]]) for n in range(1, 11)]
    columns, rows = tables.joined(described(), runs)
    row = dict(zip(columns, rows[0]))
    assert row["filter"] == "cuckoo" and row["runs"] == "10"
    assert [row["speed" + end] for end in ("", " q1", " q3", " least", " most")] == ["5.5", "3.2", "7.8", "1", "10"]
    assert [row["load" + end] for end in ("", " q1", " q3")] == ["0.95", "0.95", "0.95"]


def test_rows_with_equal_keys_are_told_apart_by_their_order():
    runs = [(["filter", "load", "speed"], [["a", "0.5", "1"], ["a", "0.9", "2"]]),
            (["filter", "load", "speed"], [["a", "0.5", "3"], ["a", "0.91", "4"]])]
    _, rows = tables.joined(described(), runs)
    assert [row[1] for row in rows] == ["0.5", "0.91"]
    assert [row[6] for row in rows] == ["2", "3"]


def test_what_was_not_measured_is_left_out_and_counted():
    runs = [(["filter", "load", "speed"], [["a", "1", text]]) for text in ("-", "5", "7")]
    _, rows = tables.joined(described(), runs)
    assert rows[0][6:11] == ["6", "5.5", "6.5", "5", "7"]
    assert tables.summary(["-", "-"])[1:] == ["-"] * 4


def test_a_run_without_a_point_does_not_drop_it():
    runs = [(["filter", "load", "speed"], [["a", "1", "2"], ["b", "1", "3"]]), (["filter", "load", "speed"], [["a", "1", "4"]])]
    _, rows = tables.joined(described(), runs)
    assert [(row[0], row[-1]) for row in rows] == [("a", "2"), ("b", "1")]


def test_sums_are_added_up():
    runs = [(["filter", "failed"], [["a", n]]) for n in ("0", "1", "2")]
    _, rows = tables.joined(described(measured="+failed"), runs)
    assert rows[0][1] == "3" and rows[0][4:6] == ["0", "2"]


def test_a_table_that_is_not_finished_is_an_error(tmp_path):
    (tmp_path / "t.tsv").write_text("")
    with pytest.raises(ValueError, match="not finished"):
        tables.read(str(tmp_path / "t.tsv"))


def test_columns_that_nobody_describes_are_an_error():
    with pytest.raises(ValueError, match="colour"):
        tables.joined(described(), [(["filter", "load", "speed", "colour"], [["a", "1", "2", "red"]])])
    with pytest.raises(ValueError, match="speed"):
        tables.joined(described(), [(["filter", "load"], [["a", "1"]])])


def test_small_numbers_keep_their_form():
    assert tables.summary(["5.5e-05", "6.5e-05"])[0] == "6e-05"
    assert tables.summary(["1.25", "2.5"])[0] == "1.88"


def test_all_tables_are_described_well():
    programs = {program.name for program in run.programs()}
    for name, one in tables.descriptions().items():
        assert one.program in {*programs, "data"} and one.keys and one.title, name


def test_committed_tables_have_the_columns_that_are_described():
    for name, one in tables.descriptions().items():
        columns, rows = tables.read(quote.place_of(name))
        one.check(tables.plain_columns(columns))
        assert rows, name


def test_every_committed_table_is_described_and_has_a_source():
    known = {row["table"] for row in quote.as_rows(quote.SOURCES)}
    names = [path[:-len(".tsv")] for path in os.listdir(quote.RESULTS) if path.endswith(".tsv") and path != "sources.tsv"]
    assert set(names) <= set(tables.descriptions()) and set(names) <= known


def listed(tmp_path, *lines):
    for line in lines:
        (tmp_path / line.split()[0]).write_text("#!/bin/sh\ncount=$(cat $0.count 2> /dev/null || echo 0)\n"
                                                "echo $((count + 1)) > $0.count\nprintf 'filter\\tspeed\\na\\t%s\\n' $3 > $2/t.tsv\n")
    return [run.Program(*line.format(tmp_path).split(None, 1)) for line in lines]


def bench(tmp_path, programs, runs=3):
    class Unlinked(run.Program):
        files = lambda self: self.command[1:]  # noqa: E731
    for program in programs:
        program.__class__ = Unlinked
    return run.Bench("quick", runs, str(tmp_path / "out"), programs)


def test_runs_take_turns_and_what_is_complete_is_kept(tmp_path):
    programs = listed(tmp_path, "one every 9 1 sh {}/one", "two every 9 1 sh {}/two", "once once 9 1 sh {}/once", "long every 9 - sh {}/long")
    said = []
    first = bench(tmp_path, programs)
    assert [(n, p.name) for n, p in first.steps()] == [
        (1, "one"), (1, "two"), (1, "once"), (2, "one"), (2, "two"), (3, "one"), (3, "two")]
    first.go(said.append)
    assert "[7 of 7] two, run 3 of 3" in said[-1] and "left" in said[-1]
    second = bench(tmp_path, programs, runs=4)
    second.go(said.append)
    assert (tmp_path / "one.count").read_text().strip() == "4"
    (tmp_path / "two").write_text((tmp_path / "two").read_text() + "# built anew\n")
    bench(tmp_path, programs, runs=4).go(said.append)
    assert (tmp_path / "one.count").read_text().strip() == "4"
    assert (tmp_path / "two.count").read_text().strip() == "8"


def test_tables_of_programs_that_were_built_anew_are_not_joined_with_new_ones(tmp_path, monkeypatch):
    programs = listed(tmp_path, "one every 9 1 sh {}/one")
    described = tables.Description("t", "one | filter | speed | T")
    monkeypatch.setattr(tables, "descriptions", lambda: {"t": described})
    bench(tmp_path, programs, runs=4).go(lambda text: None)
    (tmp_path / "one").write_text((tmp_path / "one").read_text() + "# built anew\n")
    shorter = bench(tmp_path, programs, runs=2)
    shorter.go(lambda text: None)
    assert len(tables.runs_of(shorter.folder, "t")) == 2


def test_a_program_that_fails_stops_the_run_and_is_not_kept(tmp_path):
    programs = listed(tmp_path, "one every 9 1 sh {}/one")
    (tmp_path / "one").write_text("echo no >&2; exit 3\n")
    with pytest.raises(SystemExit, match="one failed in run 1"):
        bench(tmp_path, programs).go(lambda text: None)
    assert not list((tmp_path / "out").rglob("*.done"))


def test_what_is_left_is_estimated_from_what_was_measured(tmp_path):
    programs = listed(tmp_path, "one every 9 1 sh {}/one", "two every 9 3 sh {}/two")
    of = bench(tmp_path, programs, runs=2)
    assert of.left(of.steps()) == 8
    of.took["one"] = [2.0]
    assert 4 + 2 * 3 < of.left(of.steps()) < 16  # the machine seems to be slower than measured.txt says
    of.took["two"] = [3.0, 9.0, 3.5]
    assert of.left(of.steps()) == 2 * (2 + 3.5)


def test_spans():
    assert [run.span(s) for s in (5, 600, 7200)] == ["5 s", "10 min", "2.0 h"]


def test_a_path_is_counted_for_each_operation_and_less_what_it_stands_on():
    events = {"Ir": 1000, "D1mr": 10, "D1mw": 10, "DLmr": 1, "DLmw": 0}
    parts = [(["scan", "100", ""], events), (["lookup", "50", "scan"], events)]
    assert paths.rows(parts) == [["scan", "10.0", "0.200", "0.010"], ["lookup", "10.0", "0.200", "0.010"]]


def test_paths_are_read_from_what_callgrind_wrote_without_caches():
    part = "desc: Trigger: Client Request: {}\nevents: Ir\ntotals: {}\n"
    parts = [paths.counts(part.format("scan|10|", 100)), paths.counts(part.format("a, b|10|scan", 350))]
    assert paths.counts("desc: I1 cache: none\n") is None
    assert paths.rows(parts)[1][:2] == ["a, b", "25.0"]


@pytest.mark.skipif(not os.path.exists("build/cuckoo.so"), reason="build/cuckoo.so is not there: make")
def test_a_billion_keys_in_small(tmp_path):
    """And once more, when all steps are skipped."""
    command = [sys.executable, "tests/ship/billion.py", str(tmp_path), "3000", "3"]
    ran = [subprocess.run(command, capture_output=True, text=True) for _ in range(2)]
    assert [one.returncode for one in ran] == [0, 0], ran[0].stdout + ran[0].stderr
    rows = {row[0]: row for row in tables.read(str(tmp_path / "billion.tsv"))[1]}
    assert rows["check, 3 shards of 3000"][5:7] == ["9000", "0"] and rows["merge"][6] == "0"
    (tmp_path / "0.filter").unlink()
    (tmp_path / "check-0.json").unlink()
    assert subprocess.run(command, capture_output=True).returncode == 1


# ---- figures ----

def test_conditions_choose_rows():
    row = {"b": "4", "filter": "cuckoo"}
    assert figures.wanted(["b = 2/4", "filter != Bloom"], row)
    assert not figures.wanted(["b != 4"], row) and not figures.wanted(["filter = Bloom"], row)


def test_curves_by_series_and_by_column():
    columns = ["filter", "load", "speed", "speed q1", "speed q3", "speed least", "speed most", "runs"]
    rows = [["a", "0.5", "2", "1", "3", "1", "4", "10"], ["a", "0.9", "-", "-", "-", "-", "-", "10"],
            ["b", "0.5", "5", "5", "5", "5", "5", "10"]]
    found = figures.curves_of_table("lines", "here", columns, rows, "load", "speed", "filter", [])
    assert [(c.series, c.points) for c in found] == [("a", [(0.5, 2.0, 1.0, 3.0)]), ("b", [(0.5, 5.0, 5.0, 5.0)])]
    wide = figures.curves_of_table("lines", "here", ["x", "a", "b", "runs"], [["0", "1", "1", "2"]], "x", "a;b", "-", [])
    assert [c.series for c in wide] == ["a", "b"]
    named = figures.curves_of_table("lines", "here", columns, rows[:1], "load", "speed", "load {load}", [])
    assert named[0].series == "load 0.5"


def test_pictures_take_the_colour_of_the_page_and_ids_of_their_own():
    svg = '<g id="gnuplot_canvas"><g color="black" stroke="black"><text fill="black">a</text><path stroke="rgb(  0,   0,   0)"/></g><g fill="none">\n</g></g><use href="#gpPt1"/>'
    themed = figures.themed(svg, "figure9")
    assert "black" not in themed and "rgb" not in themed and 'fill="currentColor"' in themed
    assert "figure9_canvas" in themed and "#figure9_Pt1" in themed and 'fill="none"' not in themed


def test_this_library_is_red_and_nothing_else_is():
    for figure in figures.figures():
        curves = figures.all_curves(figure, quote.RESULTS, "full")
        colours = figures.colours_of(curves)
        for curve in curves:
            assert (colours[curve.title()] in figures.OURS) == curve.is_ours(), (figure.name, curve.title())
    assert figures.Curve("here", "cuckoo").is_ours() and figures.Curve("here", "ours, planned").is_ours()
    for origin, series in (("authors", "cuckoo"), ("published", "cuckoo"), ("again", "cuckoo"), ("here", "Bloom"), ("data", "others")):
        assert not figures.Curve(origin, series).is_ours()


def test_what_ran_once_says_so():
    columns = ["filter", "load", "speed", "runs"]
    once, often = (figures.curves_of_table("lines", "here", columns, [["a", "0.5", "2", runs]], "load", "speed", "filter", [])[0]
                   for runs in ("1", "10"))
    assert once.title() == "a, this library, ran once" and often.title() == "a, this library"


def test_all_figures_name_tables_that_are_described():
    described = tables.descriptions()
    for figure in figures.figures():
        assert set(figure.tables) <= set(described), figure.name
        assert {line[1] for line in figure.curves if line[0] in ("here", "again")} <= set(described), figure.name
        assert figure.curves and figure.text and figure.x + figure.y, figure.name


# ---- the page ----

@pytest.mark.skipif(not shutil.which("gnuplot"), reason="gnuplot is missing: apt-get install gnuplot-nox")
def test_page_holds_figures_tables_and_text(tmp_path):
    for i in (1, 2):
        (tmp_path / f"run-{i}").mkdir()
        (tmp_path / f"run-{i}" / "figure7.tsv").write_text(
            f"filter\tload\tmillion insertions/s\ncuckoo\t0.5\t{4 + i}\ncuckoo\t0.9\t{i}\nBloom\t0.5\t{7 + i}\n")
    (tmp_path / "about.tsv").write_text("name\tvalue\ncommit\tabc\nruns\t2\nsize\tquick\n")
    tables.join_all(str(tmp_path))
    report.main(str(tmp_path), "quick", str(tmp_path / "report.html"))
    page = (tmp_path / "report.html").read_text()
    assert page.count("figure7_canvas") == 1 and "prefers-color-scheme: dark" in page and "quick form" in page
    assert "src=" not in page and "http-equiv" not in page
    assert ">5.5<small>5.2 – 5.8</small>" in page


def test_the_summary_has_what_the_run_has(tmp_path):
    (tmp_path / "figure5.tsv").write_text("filter\tshare of hits\tmillion lookups/s\ncuckoo\t1.00\t17.04\nBloom\t1.00\t9.3\n")
    shown = report.summary(str(tmp_path))
    assert "<td class=ours>17.0</td><td>9.3</td>" in shown and "deletes" not in shown


# ---- one source of truth ----

def test_tables_and_figures_are_filled_in(tmp_path, monkeypatch):
    (tmp_path / "sizes.tsv").write_text("growth\tkeys\terror rate\tbits per key\tbits per key q1\tbits per key q3\truns\n"
                                        "off\t1000000\t0.01\t9.28\t9.2\t9.3\t10\non\t1000000\t0.01\t9.5\t9.5\t9.5\t10\n")
    monkeypatch.setattr(quote, "RESULTS", str(tmp_path))
    marker = "<!-- table sizes | growth = off | keys; bits per key -->\n"
    text = quote.fill_tables(f"a\n{marker}| old |\n\nb\n")
    assert text == (f"a\n{marker}| keys (`sizes.tsv`) | bits per key |\n| --- | ---: |\n| 1,000,000 | 9.28 (9.2–9.3) |\n\nb\n")
    assert quote.fill_tables(text) == text
    marker = "<!-- table sizes | | keys; bits per key | growth -->\n"
    assert "growth off | growth on |" in quote.fill_tables(marker) and "| 1,000,000 | 9.28 | 9.5 |" in quote.fill_tables(marker)
    passage = "- **{sizes | growth = off | bits per key | .1f} bits per key**, for a million"
    monkeypatch.setattr(quote, "quotes", lambda: [("README.md", passage)])
    assert quote.fill_quotes("README.md", "x\n- **7.7 bits\nper key**, for a million keys") == "x\n- **9.3 bits\nper key**, for a million keys"
    with pytest.raises(ValueError, match="0 times"):
        quote.fill_quotes("README.md", "nothing of the kind")


def test_accepted_tables_say_with_what_they_were_measured(tmp_path, monkeypatch):
    folder, results = tmp_path / "bench", tmp_path / "results"
    monkeypatch.setattr(quote, "RESULTS", str(results))
    monkeypatch.setattr(quote, "SOURCES", str(results / "sources.tsv"))
    monkeypatch.setattr(quote, "fill", lambda: None)
    monkeypatch.setattr(tables, "descriptions", lambda: {"t": described(measured="speed")})
    for run, load in enumerate(["1.00", "3.00"], 1):
        (folder / f"run-{run}").mkdir(parents=True)
        (folder / f"run-{run}" / "p.done").write_text(f"size\tload before\nquick\t{load}\n")
    (folder / "t.tsv").write_text("filter\tspeed\truns\na\t1\t2\nb\t1\t1\n")
    (folder / "about.tsv").write_text("name\tvalue\ncommit\tabc\ndate\t2026-11-22\nsize\tquick\nprocessor\tXeon\ncompiler\tcc 12\n")
    quote.accept(str(folder))
    assert (results / "quick" / "t.tsv").read_text() == (folder / "t.tsv").read_text()
    assert quote.as_rows(quote.SOURCES) == [{
        "table": "quick/t", "runs": "medians (and quartiles) of 1 to 2 runs", "load": "2.0", "commit": "abc", "date": "2026-11-22",
        "size": "quick", "processor": "Xeon", "compiler": "cc 12"}]


def test_pages_quote_the_tables_that_are_committed():
    assert quote.check() == []


def test_the_page_names_the_commits_that_were_measured():
    page, sources = tables.text_of(quote.PAGES["RESULTS.md"]), quote.as_rows(quote.SOURCES)
    shown = set(re.findall(r"<!-- table ([\w/]+)", page))
    assert {row["commit"] for row in sources if row["table"] in shown} == set(re.findall(r"\b[0-9a-f]{10}\b", page))


def test_the_page_is_short():
    assert len(tables.text_of(quote.PAGES["RESULTS.md"]).splitlines()) <= 500


def test_a_changed_figure_is_seen(monkeypatch):
    fresh = tables.text_of
    for old, new in (("take 9.35 bits each", "take 9.36 bits each"), ("| 1 | 6.64 |", "| 1 | 6.65 |")):
        assert old in fresh(quote.PAGES["RESULTS.md"])
        monkeypatch.setattr(tables, "text_of", lambda path, a=old, b=new: fresh(path).replace(a, b))
        assert quote.check() == ["RESULTS.md"]
