# SPDX-License-Identifier: MIT
"""ext/COMPATIBILITY.md names what there is, and no other. What is in its tables happens. test_reference.py compares the functions,
options, fields and columns."""
import json
import re
import sqlite3
from pathlib import Path

import pytest

import functions
import support

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "ext/COMPATIBILITY.md").read_text()
PYTHON = ROOT / "ext/packages/python/sqlite_cuckoo"


def chapter(title):
    return re.search(rf"^## {title}$(.*?)(?=^## |\Z)", PAGE, re.M | re.S)[1]


def named(text):
    return re.findall(r"`([^`\n]+)`", text)


def point(title, words):
    """The names in a point of a list of this chapter, which begins with these words."""
    return named(re.search(rf"^- \*\*{re.escape(words)}\*\*[^:]*:(.*?)(?=^- |^$|\Z)", chapter(title), re.M | re.S)[1])


# ---- C ----

PUBLIC = [f"include/{path.name}" for path in (ROOT / "src/include").glob("*.h")]


def code(path):
    return re.sub(r"/\*.*?\*/|//[^\n]*", "", path.read_text(), flags=re.S)


def declared():
    """Functions, types and macros of the installed header."""
    text = "\n".join(code(ROOT / "src" / name) for name in PUBLIC)
    calls = set(re.findall(r"\b(cf_\w+)\(", text))
    types = set(re.findall(r"^(?:\}|typedef (?:struct|enum) .*) (cf_\w+); *$", text, re.M))
    macros = set(re.findall(r"^\s*#\s*define (C[A-Z_]+)\b", text, re.M))
    return calls | types | {macro for macro in macros if not macro.endswith("_H")}


def test_c():
    text = chapter("C")
    listed = [name for name in named(text) if re.match(r"(cf|CF|CUCKOO)_\w+$", name)]
    assert len(listed) == len(set(listed)), "named twice"
    set_by_users = {"CUCKOO_API", "CUCKOO_ENTRY", "CUCKOO_READ_ONLY", "CUCKOO_LIBRARY_ONLY", "CUCKOO_SMALL"}
    assert set(listed) - set_by_users == declared()
    everything = "".join(path.read_text() for folder in ("src", "ext") for path in (ROOT / folder).rglob("*")
                         if path.suffix in (".h", ".c", ".sh", ".awk"))
    assert [name for name in set_by_users if name not in everything] == []


# ---- JavaScript ----

def exported(file):
    return re.split(r",\s*", re.search(r"^export (?:const )?\{ (.*?) \}", file.read_text(), re.M)[1])


def methods(of):
    body = re.search(rf"^export declare class {of} \{{(.*?)^\}}", (ROOT / "ext/packages/filter/filter.d.ts").read_text(), re.M | re.S)[1]
    return set(re.findall(r"^  (\w+)\(", body, re.M))


def test_javascript():
    assert sorted(point("JavaScript", "`sqlite-cuckoo`")) == sorted(exported(ROOT / "ext/packages/npm/index.mjs"))
    assert sorted(point("JavaScript", "`sqlite-cuckoo/filter`")) == sorted(exported(ROOT / "ext/packages/filter/filter.mjs"))
    of_filter, of_exact = re.search(r"\*\*A filter\*\*:(.*?)an exact one:(.*?)^- ", chapter("JavaScript"), re.M | re.S).groups()
    assert (set(named(of_filter)), set(named(of_exact))) == (methods("CuckooFilter"), methods("ExactFilter"))
    ways = json.loads((ROOT / "ext/packages/npm/package.json").read_text())["exports"]
    assert [way for way in ways if way not in (".", "./package.json") and f"sqlite-cuckoo{way[1:]}`" not in PAGE] == []


# ---- Python and the command ----

def test_python():
    names = re.search(r"^__all__ = \[(.*?)\]", (PYTHON / "__init__.py").read_text(), re.M)[1]
    assert sorted(point("Python and the command", "`sqlite_cuckoo`")) == sorted(["Filter", *re.findall(r'"(\w+)"', names)])
    methods = re.findall(r"def (\w+)", (PYTHON / "_filter.pyi").read_text()) + re.findall(r"    def (\w+)", (PYTHON / "filter.py").read_text())
    methods = sorted(set(methods))
    words = {"__contains__": "in", "__len__": "len", "__bytes__": "bytes", "__init__": "Filter"}
    named = [words.get(name, name) for name in methods if name in words or not name.startswith("_")]
    assert sorted(point("Python and the command", "A filter")) == sorted(named)


def test_the_command():
    text = (PYTHON / "__main__.py").read_text()
    assert sorted(point("Python and the command", "`sqlite-cuckoo COMMAND FILE`")) == sorted(re.findall(r'\bcommand\("(\w+)"', text))
    options = {"--help", *re.findall(r'"(--?[\w-]+)"', "".join(re.findall(r"add_argument\(([^)]*)", text)))}
    assert sorted(point("Python and the command", "Its options")) == sorted(options)


# ---- SQL ----

def test_table_functions_and_commands(db):
    modules = {name for name, in db.execute("SELECT name FROM pragma_module_list WHERE name LIKE 'cf\\_%' ESCAPE '\\'")}
    assert set(point("SQL", "Table functions")) == modules == functions.names(functions.TABLES, functions.TABLES_OF_TEXTS)
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(capacity=10)")
    with pytest.raises(sqlite3.OperationalError) as error:
        db.execute("INSERT INTO f(f) VALUES ('no such command')")
    commands = re.split(r", ", re.search(r"the commands are (.*)", str(error.value))[1])
    assert set(point("SQL", "Filter tables")) - {"key", "rows=on"} == set(commands)
    reference = (Path(support.ROOT) / "ext/REFERENCE.md").read_text().split("\n### Commands\n")[1].split("```")[0]
    assert sorted(re.findall(r"^\| `(\w+)` \|", reference, re.M)) == commands


INTERRUPTED = "SELECT cf_build(value) FROM json_each((SELECT json_group_array(value) FROM (WITH RECURSIVE n(value) AS " \
              "(SELECT 1 UNION ALL SELECT value + 1 FROM n LIMIT 20000) SELECT value FROM n)))"
CAUSES = {  # the first words of a cause: statements that have it
    "an argument": ["SELECT cf_new(10, 0.01, 'no_such_option=1')", "SELECT cf_contains(NULL, 1)", "SELECT cf_table_info('no_such_table')"],
    "not a filter": ["SELECT cf_contains(x'00', 1)", "SELECT cf_add_keys(cf_new(10), x'00')",
                     f"SELECT cf_contains(x'cf636b09{'00' * 60}', 1)"],  # of a later version
    "the filter is full": ["SELECT cf_add_keys(cf_new(5, 0.01, 'growth=off'), cf_keys(value)) FROM json_each('[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]')"],
    "a filter table": ["INSERT INTO f(key) SELECT value FROM json_each('[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]')",
                       "INSERT INTO f(f, key) VALUES ('import', x'00')"],
    "filters that": ["SELECT cf_merge(cf_new(10), cf_new(1000))"],
    "too big": ["SELECT cf_new(1000000000000)", "CREATE VIRTUAL TABLE g USING cuckoo_filter(capacity=1000000000000)"],
    "interrupted": [INTERRUPTED],
}


def test_error_codes(db):
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(capacity=5, growth=off)")
    rows = re.findall(r"^\| ([^|]+) \| `(SQLITE_\w+)` \|$", chapter("SQL"), re.M)
    left = dict(CAUSES)
    for cause, code_ in rows:
        if cause == "no memory":  # tests/faults has it
            continue
        found = [words for words in left if cause.startswith(words)]
        assert len(found) == 1, cause
        for sql in left.pop(found[0]):
            db.set_progress_handler((lambda: 1) if sql == INTERRUPTED else None, 1000)
            with pytest.raises(sqlite3.Error) as error:
                db.execute(sql).fetchall()
            assert error.value.sqlite_errorname == code_, sql
    assert left == {}


def test_what_data_is_called(db):
    """The first four bytes of each blob."""
    rows = re.findall(r"bytes `([0-9a-f ]+)`, then (?:the version of the format: )?(\d)", chapter("How long data is read"))
    made = ["cf_new(10)", "cf_build_exact(1, 1)", "cf_keys(1)"]
    assert [bytes.fromhex(magic) + bytes([int(version)]) for magic, version in rows] == [support.ask(db, f"SELECT {one}")[:4] for one in made]
