# SPDX-License-Identifier: MIT
"""tests/claims.tsv lists what the pages promise, and what shows it: a test (file::function, or file:name in C), a file, a command,
`quote` (each # is a figure of tests/bench), `sql:` statements of which the last one gives 1, or `figure:`, which was measured by
hand. A claim belongs to a place of a page, whatever words the page has for it; what shows it is there, and the statements are run."""
import re
import sqlite3
import sys
from pathlib import Path

import pytest

import support

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests/bench"), str(ROOT / "tests/sim")]
import holes  # noqa: E402
import quote  # noqa: E402

CLAIMS = [line.split("\t") for line in (ROOT / "tests/claims.tsv").read_text().splitlines()[1:]]
MAKE = "".join(path.read_text() for path in (ROOT / "Makefile", *ROOT.glob("*/*.mk"), *ROOT.glob("*/*/*.mk")))


def words(page):
    """Its text in one line; of SQL without the dashes of comments."""
    text = (ROOT / page).read_text()
    return " ".join((re.sub(r"^--", "", text, flags=re.M) if page.endswith(".sql") else text).split())


def quoted(page, claim):
    """Is a part of it in quotes.tsv?"""
    spans = [re.search(quote.pattern_of(passage)[0], words(page)).span() for name, passage in quote.quotes() if page.endswith(name)]
    return any(first < claim.end() and claim.start() < last for first, last in spans)


def is_there(shown):
    if shown.startswith("make "):
        return re.search(rf"^{shown[5:]}\b.*:", MAKE, re.M) or f" {shown[5:]} " in MAKE
    path, name = re.fullmatch(r"(?:sh |python3 |sqlite3 < )?([\w./-]+)(?: \w+)?(?:::?(\w+))?", shown).groups()
    return (ROOT / path).exists() and (not name or re.search(rf"\b{name}\b", (ROOT / path).read_text()))


def places(page):
    """What an id names: the headings of a page, the numbered sections of a script; 0 is what comes before them. The date of a
    version is not part of its id."""
    text = re.sub(r"^(## \d+\.\d+\.\d+), .*", r"\1", (ROOT / page).read_text(), flags=re.M)
    if page.endswith(".sql"):
        return {"0", *re.findall(r"^-- (\d+)\. ", text, re.M)}
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in re.findall(r"^#+ (.*)$", text, re.M)}


@pytest.mark.parametrize("page", sorted({place.split("#")[0] for place, _, _ in CLAIMS}))
def test_each_claim_has_its_place_and_what_shows_it_is_there(page):
    """A place is page#id. Figures, each # of a claim, stand there word for word: `quote`."""
    for place, claim, shown in (row for row in CLAIMS if row[0].split("#")[0] == page):
        assert place.split("#")[1] in places(page), place
        if shown == "quote":
            found, = re.finditer(r"[\d.,]*\d".join(map(re.escape, claim.split("#"))), words(page))
            assert quoted(page, found), claim
        elif not shown.startswith(("sql: ", "figure: ")):
            assert [one for one in shown.split("; ") if not is_there(one)] == [], claim


@pytest.mark.parametrize("heading", ["## 1.0.0", "## 1.0.0, 12 December 2026", "## Unreleased\n\n- Another.\n\n## 1.0.0, today"])
def test_a_dated_version_keeps_its_id(monkeypatch, tmp_path, heading):
    (tmp_path / "CHANGES.md").write_text(f"# Changes\n\n{heading}\n\nThe first.\n")
    monkeypatch.setattr("test_claims.ROOT", tmp_path)
    assert {"changes", "100"} <= places("CHANGES.md")


@pytest.mark.parametrize("sql", [shown[len("sql: "):] for _, _, shown in CLAIMS if shown.startswith("sql: ")])
def test_a_statement_shows_it(db, sql):
    if "RETURNING" in sql and sqlite3.sqlite_version_info < (3, 35):
        pytest.skip("no RETURNING")
    *before, last = sql.split("; ")
    for statement in before:
        db.execute(statement)
    assert support.ask(db, last) == 1


def test_each_hole_of_the_simulator_has_its_place():
    """What holes.py breaks is in the code, once (tests/sim/holes.py quotes it)."""
    assert [f"{file}: {name}" for name, file, old, *_ in holes.HOLES if file and (ROOT / file).read_text().count(old) != 1] == []
