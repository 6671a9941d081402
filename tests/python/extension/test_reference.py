# SPDX-License-Identifier: MIT
"""ext/REFERENCE.md names each function with its numbers of arguments, each option, field and column, and no other."""
import json
import re
import sqlite3
from pathlib import Path

import pytest

import functions
import inside
import support

ROOT = Path(__file__).resolve().parents[3]
REFERENCE = (ROOT / "ext/REFERENCE.md").read_text()


def chapter(title, depth=2):
    return re.search(rf"^{'#' * depth} {title}$(.*?)(?=^#{{1,{depth}}} |\Z)", REFERENCE, re.M | re.S)[1]


def cells(text, column=0):
    """What is in code in this column of the tables of a chapter."""
    rows = [line.strip("|").split("|") for line in re.sub(r"\\\|", "/", text).splitlines() if line.startswith("|")]
    return [code for row in rows for code in re.findall(r"`([^`]+)`", row[column])]


def arities(call):
    """cf_new(a [, b [, c]]) takes 1, 2 or 3 arguments; "..." any number, which SQLite calls -1."""
    inside = call[call.index("("):]
    if "..." in inside:
        return {-1}
    least = len(re.findall(r"\w+", inside.split("[")[0]))
    return set(range(least, least + inside.count("[") + 1))


def entries(title):
    """The entries of a chapter: name and text."""
    return re.findall(r"^### (cf_\w+)$(.*?)(?=^### |\Z)", chapter(title), re.M | re.S)


def named():
    """Each entry begins with its call."""
    found = {}
    for name, text in entries("Functions") + entries("Filter table functions"):
        call = re.match(r"\s*`(\w+)(\([^`]*\))`", text)
        assert call and call[1] == name, name
        found[name] = arities(call[2])
    found["cf_merge"].add(1)
    return found


def registered(db):
    found = {}
    for name, narg in db.execute("SELECT name, narg FROM pragma_function_list WHERE name LIKE 'cf\\_%' ESCAPE '\\'"):
        found.setdefault(name, set()).add(narg)
    return {name: found[name] for name in found if name not in functions.INTERNAL}


def test_functions(db):
    if not db.execute("SELECT 1 FROM pragma_function_list").fetchone():
        pytest.skip("this SQLite does not list its functions")
    assert named() == registered(db)


OPTIONS, OF_TABLES = chapter("Options").split("### Options of filter tables")
OF_TABLES = OF_TABLES.split("### ")[0]


def listed(db, sql):
    """The options that the message about an unknown one lists."""
    with pytest.raises(sqlite3.OperationalError) as error:
        db.execute(sql)
    return set(re.findall(r"(\w+)=", str(error.value)))


def test_options(db):
    options = set(cells(OPTIONS))
    assert options == listed(db, "SELECT cf_new(10, 0.01, 'no_such_option=1')")
    assert (options - {"value_bits"}) | set(cells(OF_TABLES)) == listed(db, "CREATE VIRTUAL TABLE f USING cuckoo_filter(no_such_option=1)")


@pytest.mark.parametrize("option", sorted(set(cells(OPTIONS)) - {"capacity"}))
def test_the_last_value_that_an_option_may_have(db, option):
    with_it = {"stash": "growth=off ", "max_kicks": "growth=off stash=on ", "stash_size": "growth=off stash=on "}.get(option, "")
    db.execute(f"SELECT cf_new(10, 0.01, '{with_it}{option}={value_of(option)}')")


def value_of(option):
    row = re.search(rf"^\| `{option}` \| ([^|]+) \|", chapter("Options"), re.M)[1]
    return 5 if row.strip() == "integer" else re.split(r",| \.\.|;", row)[-1].strip()


def test_fields(db):
    """Of cf_info, of cf_info for an exact filter, of cf_table_info."""
    text = chapter("Fields")
    plain, rest = text.split("For an exact filter")
    exact, table = rest.split("`cf_table_info` leaves out")
    slow, more = table.split("| field |")
    plain, exact, slow, more = set(cells(plain)), codes(exact), codes(slow), set(cells(more))
    db.execute("CREATE TABLE t(k)")
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(capacity=10, growth=off, stash=on, content='t(k)')")
    assert plain == fields(db, "SELECT cf_info(cf_new(10, 0.01, 'growth=off stash=on'))")
    assert exact - {"cf_info"} == fields(db, "SELECT cf_info(cf_build_exact(1, 1))")
    assert plain | more == fields(db, "SELECT cf_table_info('f', 'all')")
    assert (plain | more) - slow == fields(db, "SELECT cf_table_info('f')")


def codes(text):
    return set(re.findall(r"`([^`]+)`", text))


def fields(db, sql):
    return set(json.loads(support.ask(db, sql)))


def numbers(pattern, text=(ROOT / "README.md").read_text()):
    return [float(number) for number in re.search(pattern, " ".join(text.split())).groups()]


def times_the_bits(db, times, rate):
    """Of a filter that has grown to so many times 1,000 keys, beside one that is planned for them."""
    grown, planned = db.execute("""
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
        SELECT length(cf_add_keys(cf_new(1000, ?2), (SELECT cf_keys(i) FROM n))), length(cf_new(?1, ?2))""",
        (1000 * times, rate)).fetchone()
    return grown / planned


def test_readme_says_what_growing_costs(db):
    for times, said in zip((2, 200), numbers(r"a filter that grew to 2 times that takes ([\d.]+) times the bits per key; to 200\s+times, (\d+\.\d)")):
        assert times_the_bits(db, times, 0.01) == pytest.approx(said, abs=0.15), times  # a blob has up to an eighth to spare


@pytest.mark.parametrize("times, words", [(2, "twice its capacity {} times the bits"), (200, "at 200 times {}")])
def test_reference_says_what_growing_costs(db, times, words):
    """The least and the most of all error rates, and what 1 % takes."""
    least, most, usual = numbers(words.format(r"([\d.]+) to ([\d.]+)") + r" \(1 %: ([\d.]+)\)", REFERENCE)
    taken = {rate: times_the_bits(db, times, rate) for rate in (0.3, 0.01, 1e-4, 1e-8)}
    assert least - 0.1 <= min(taken.values()) < max(taken.values()) <= most + 0.1
    assert taken[0.01] == pytest.approx(usual, abs=0.15)


@pytest.mark.parametrize("size, options", [(4, ""), (8, ""), (4, "growth=off")])
def test_bits_of_a_pair(db, size, options):
    """As the table of Values says; and what stands above it of growth=off."""
    row = re.search(rf"^\| `bucket_size={size}` \|(.*)\|$", chapter("Values"), re.M)[1].split("|")
    said = {3: re.search(r"With\s+`growth=off` 3 values take (\d+) bits", REFERENCE)[1]} if options else dict(enumerate(row, 1))
    for each, cell in said.items():
        sql = f"""WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99999)
            SELECT length(cf_build(i / {each}, 0.01, 'value_bits=11 bucket_size={size} {options}', i % 2003)) * 8e-5 FROM n"""
        try:
            bits = support.ask(db, sql)
        except sqlite3.IntegrityError:
            assert "none" in cell, each
        else:
            least, *_, most = [*map(int, re.findall(r"\d+", cell))] * 2
            assert least <= round(bits) <= most, each


@pytest.mark.parametrize("column, which", [("k UNIQUE", 0), ("k", 1)])
def test_readme_says_what_a_followed_column_takes(db, column, which):
    keys = 200_000
    db.execute(f"CREATE TABLE t({column})")
    db.execute("INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) SELECT i FROM n", (keys,))
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(content='t(k)')")
    said = numbers(r"plus 25 %, at least 10,000: at 1 %, ([\d.]+) bits, or ([\d.]+) if the column")[which]
    assert 8 * json.loads(support.ask(db, "SELECT cf_table_info('f')"))["bytes"] / keys == pytest.approx(said, abs=0.05)


def test_readme_says_how_to_leave_without_the_extension(tmp_path):
    path = tmp_path / "left.db"
    db = support.connect(str(path))
    db.executescript("CREATE TABLE t(k); CREATE VIRTUAL TABLE known USING cuckoo_filter(content='t(k)')")
    log = inside.log_of(db, "known")
    db.close()
    text = re.search(r"^## Leaving$(.*?)^## ", (ROOT / "README.md").read_text(), re.M | re.S)[1]
    plain = sqlite3.connect(path, isolation_level=None)
    triggers, tables = text.split("drop the three")[1].split(", then")
    prefix = re.search(r"`(\w+)`", triggers)[1]
    for name, in plain.execute("SELECT name FROM sqlite_master WHERE type = 'trigger' AND substr(name, 1, ?) = ?",
                               (len(prefix), prefix)).fetchall():
        plain.execute(f"DROP TRIGGER {name}")
    for name in re.findall(r"`(\w+?_[\w.]+)`", tables):
        plain.execute(f"DROP TABLE {log if name.endswith('..') else name}")
    plain.execute("INSERT INTO t VALUES (1)")
    assert [name for name, in plain.execute("SELECT name FROM sqlite_master")] == ["t", "known"]
    support.connect(str(path)).execute("DROP TABLE known")


@pytest.mark.parametrize("function", ["cf_buckets", "cf_explain", "cf_values", "cf_lines"])
def test_columns(db, function):
    text = chapter("Columns", 3)
    line, = (line for line in text.splitlines() if line.startswith(f"| `{function}` "))
    listed = cells(line, 1)
    columns = [row[1] for row in db.execute(f"PRAGMA table_info({function})")]
    assert listed == columns
    explained = set(cells(text.split("| column |")[1]))
    assert set(columns) <= explained


def anchors(text):
    """Of its headings, as hosting sites make them."""
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in re.findall(r"^#+ (.*)$", text, re.M)}


PAGES = [*ROOT.glob("*.md"), *ROOT.glob("ext/*.md"), *ROOT.glob("tests/bench/*.md"), *ROOT.glob("tests/ship/*/*.md"), *ROOT.glob(".github/*.md")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_anchors(page):
    """Each link within the project leads to a file, and to a heading of it."""
    text = page.read_text()
    for target in re.findall(r"\]\((?!https?:|mailto:)([^)\s]+)\)", text):
        path, _, anchor = target.partition("#")
        file = (page.parent / path) if path else page
        assert file.exists(), target
        assert not anchor or anchor in anchors(file.read_text()), target


def test_each_function_has_an_example():
    """The ones without are those whose result is the same words as another's, or is not to be pinned."""
    without = {"cf_clear", "cf_advance", "cf_picture", "cf_version", "cf_keys", "cf_table_check"}
    found = {name for title in ("Functions", "Filter table functions", "Table functions") for name, text in entries(title) if "```sql" not in text}
    assert found == without
