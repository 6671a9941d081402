"""Tests of the scripts that join, show and quote the figures: python3 -m pytest tests/bench."""
import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import operations  # noqa: E402
import run  # noqa: E402
import tables  # noqa: E402


def described(keys="filter", measured="load: share\nspeed: per second"):
    return tables.Description("t", {"title": "T", "program": "p", "keys": keys, "measured": measured})


def test_median_quartiles_and_extremes_of_ten_runs():
    runs = [(["filter", "load", "speed"], [["cuckoo", "0.95", str(n)]]) for n in range(1, 11)]
    columns, rows = tables.joined(described(), runs)
    row = dict(zip(columns, rows[0]))
    assert row["filter"] == "cuckoo" and row["runs"] == "10"
    assert [row["speed" + end] for end in ("", " q1", " q3", " least", " most")] == ["6", "3", "8", "1", "10"]
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
    assert rows[0][6:11] == ["6", "6", "6", "5", "7"]
    assert tables.summary(["-", "-"])[1:] == ["-"] * 4


def test_a_run_without_a_point_does_not_drop_it():
    runs = [(["filter", "load", "speed"], [["a", "1", "2"], ["b", "1", "3"]]), (["filter", "load", "speed"], [["a", "1", "4"]])]
    _, rows = tables.joined(described(), runs)
    assert [(row[0], row[-1]) for row in rows] == [("a", "2"), ("b", "1")]


def test_sums_are_added_up():
    runs = [(["filter", "failed"], [["a", n]]) for n in ("0", "1", "2")]
    _, rows = tables.joined(described(measured="failed: sum, builds"), runs)
    assert rows[0][1] == "3" and rows[0][4:6] == ["0", "2"]


def test_columns_that_nobody_describes_are_an_error():
    with pytest.raises(ValueError, match="colour"):
        tables.joined(described(), [(["filter", "load", "speed", "colour"], [["a", "1", "2", "red"]])])
    with pytest.raises(ValueError, match="speed"):
        tables.joined(described(), [(["filter", "load"], [["a", "1"]])])


def test_outliers_are_far_from_the_quartiles():
    assert tables.outliers([10, 11, 10, 11, 10, 11, 3]) == [3]
    assert tables.outliers([1, 2, 3]) == []


def test_small_numbers_keep_their_form():
    assert tables.summary(["5.5e-05", "6.5e-05"])[0] == "6e-05"
    assert tables.summary(["1.25", "2.5"])[0] == "1.88"


def test_all_tables_are_described_well():
    programs = {program.name for program in run.programs()}
    for name, one in tables.descriptions().items():
        assert one.program in programs, name
        assert one.keys and one.measured and one.caption, name
        assert all(unit for unit, _ in one.measured.values()), name


def listed(tmp_path, *lines):
    for line in lines:
        (tmp_path / line.split()[0]).write_text("#!/bin/sh\ncount=$(cat $0.count 2> /dev/null || echo 0)\n"
                                                "echo $((count + 1)) > $0.count\nprintf 'filter\\tspeed\\na\\t%s\\n' $3 > $2/t.tsv\n")
    return [run.Program(line.format(tmp_path)) for line in lines]


def bench(tmp_path, programs, runs=3):
    class Unlinked(run.Program):
        files = lambda self: self.command[1:]  # noqa: E731
    for program in programs:
        program.__class__ = Unlinked
    return run.Bench("quick", runs, str(tmp_path / "out"), programs)


def test_runs_take_turns_and_what_is_complete_is_kept(tmp_path):
    programs = listed(tmp_path, "one all 9 1 sh {}/one", "two all 9 1 sh {}/two", "once one 9 1 sh {}/once", "long all 9 - sh {}/long")
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


def test_a_program_that_fails_stops_the_run_and_is_not_kept(tmp_path):
    programs = listed(tmp_path, "one all 9 1 sh {}/one")
    (tmp_path / "one").write_text("echo no >&2; exit 3\n")
    with pytest.raises(SystemExit, match="one failed in run 1"):
        bench(tmp_path, programs).go(lambda text: None)
    assert not list((tmp_path / "out").rglob("*.done"))


def test_what_is_left_is_estimated_from_what_was_measured(tmp_path):
    programs = listed(tmp_path, "one all 9 1 sh {}/one", "two all 9 3 sh {}/two")
    of = bench(tmp_path, programs, runs=2)
    assert of.left(of.steps()) == 8
    of.took["one"] = [2.0]
    assert of.left(of.steps()) == 16


def test_spans():
    assert [run.span(s) for s in (5, 600, 7200)] == ["5 s", "10 min", "2.0 h"]


def test_instructions_are_read_and_the_loop_is_taken_off():
    part = "desc: Trigger: Client Request: Bloom|{}|100\nevents: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw\ntotals: {} 1 1 0 {} 5 0 7 3\n"
    parts = [operations.counts(part.format("loop", 1000, 15)), operations.counts(part.format("hit", 5000, 215))]
    assert operations.rows(parts) == [["Bloom", "hit", "40.0", "2.000", "0.000"]]
    assert operations.counts("desc: I1 cache: none\n") is None
