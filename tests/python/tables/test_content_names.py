# SPDX-License-Identifier: MIT
"""content='table(column)': names of every kind, quoted in every way; what stands in the place of the table; other schemas."""
import itertools
import sqlite3

import pytest

import support
from support import ask

NAMES = ["plain", "(x", "x)", "(", ")", "()", "((", "a(b)c", ")(", "a.b", "main.t", "x y", " lead", "trail ", "a,b", "a=b", "a;b", "a--b", "a/*b",
         "new\nline", "tab\there", "it's", "'", "''", 'say "x"', '"', '""', "`tick`", "`", "[x", "x]", "[x]", "select", "table", "rowid_", "é", "Ж(",
         "\U0001F600", "100%", "%w", "%s", "a\\b", "?1", ":x", "$x", "a\u00a0b", "0", "007", "x'61'", "NULL", "k) WITH (x", '("', '")', "'(", "*"]
QUOTES = {'"': ('"', '"'), "'": ("'", "'"), "`": ("`", "`"), "[": ("[", "]")}


def quoted(name, quote):
    begin, end = QUOTES[quote]
    return begin + (name if quote == "[" else name.replace(end, 2 * end)) + end


def follow(db, content, rows=False):
    text = content.replace("'", "''")
    db.execute(f"CREATE VIRTUAL TABLE f USING cuckoo_filter(content='{text}'{', rows=on' if rows else ''})")


def works(db, table, column):
    t, k = quoted(table, '"'), quoted(column, '"')
    assert ask(db, "SELECT cf_table_contains('f', 'a')") == 1 and ask(db, "SELECT cf_table_contains('f', 'b')") == 0
    db.execute(f"INSERT INTO {t}({k}) VALUES ('b')")
    db.execute(f"UPDATE {t} SET {k} = 'c' WHERE {k} = 'a'")
    assert [ask(db, "SELECT cf_table_contains('f', ?)", key) for key in "abc"] == [0, 1, 1]
    assert ask(db, "SELECT cf_table_check('f')") == "ok"
    db.execute("SELECT cf_table_rebuild('f')")
    assert ask(db, "SELECT cf_table_contains('f', 'c')") == 1
    db.execute("ALTER TABLE f RENAME TO g")
    assert ask(db, "SELECT cf_table_contains('g', 'c')") == 1
    db.execute("DROP TABLE g")
    assert ask(db, "SELECT count(*) FROM sqlite_master WHERE type = 'trigger' OR name LIKE 'cuckoo%'") == 0


@pytest.mark.parametrize("name", NAMES)
def test_quoted_names(name):
    n = 0
    for (table, column), q, p, blank in itertools.product([(name, "k"), ("t", name), (name, name)], QUOTES, QUOTES, ["", " "]):
        if (q == "[" and "]" in table) or (p == "[" and "]" in column):
            continue
        db = support.connect()
        db.execute(f"CREATE TABLE {quoted(table, chr(34))}({quoted(column, chr(34))} TEXT, other)")
        db.execute(f"INSERT INTO {quoted(table, chr(34))} VALUES ('a', 1)")
        follow(db, f"{quoted(table, q)}{blank}({blank}{quoted(column, p)}{blank})", rows=n % 2)
        works(db, table, column)
        db.close()
        n += 1
    assert n >= 2 * 3 * 9


@pytest.mark.parametrize("name", ["plain", "x y", "a,b", "a;b", "it's", "select", "é", "\U0001F600", "100%", "a\\b", "?1", "0", "a-b", "a`b", 'a"b', "a[b"])
def test_names_without_quotes(name):
    for table, column in [(name, "k"), ("t", name), (name, name)]:
        db = support.connect()
        db.execute(f"CREATE TABLE {quoted(table, chr(34))}({quoted(column, chr(34))} TEXT)")
        db.execute(f"INSERT INTO {quoted(table, chr(34))} VALUES ('a')")
        follow(db, f"{table}({column})")
        works(db, table, column)
        db.close()


@pytest.mark.parametrize("content", ['p', 'p(', 'p)', 'p()', '(k)', 'p(k', 'pk)', '"p', '"p"', '"p"(', '"p"k', '"p"("k"', '"p"("k")x', '', '()', '("k")',
                                     "p(k) x", '"p" x (k)y'])
def test_what_is_no_table_and_column(db, content):
    db.execute("CREATE TABLE p(k)")
    with pytest.raises(sqlite3.OperationalError, match="cuckoo_filter: content must be 'table.column.'|there is no table"):
        follow(db, content)


# ---- what stands in the place of the table ----

INSTEAD = {
    "a view": "CREATE VIEW p AS SELECT 'a' AS k", "a view without the column": "CREATE VIEW p AS SELECT 1 AS z",
    "a view that cannot be read": "CREATE VIEW p AS SELECT * FROM gone", "a virtual table": "CREATE VIRTUAL TABLE p USING fts5(k)",
    "a filter": "CREATE VIRTUAL TABLE p USING cuckoo_filter(capacity=9)",
}
ASK = ["SELECT count(*) FROM f WHERE key = 'a'", "SELECT key FROM f", "SELECT count(*) FROM f", "SELECT cf_table_contains('f', 'a')",
       "SELECT cf_export('f')", "INSERT INTO f(f) VALUES ('check')", "INSERT INTO f(f) VALUES ('optimize')", "INSERT INTO f(f) VALUES ('rebuild')",
       "SELECT cf_table_rebuild('f')"]


@pytest.mark.parametrize("again", [False, True], ids=["", "reopened"])
@pytest.mark.parametrize("rows", [False, True], ids=["", "rows"])
@pytest.mark.parametrize("instead", INSTEAD)
def test_something_else_in_the_place_of_the_table(tmp_path, instead, rows, again):
    db = support.connect(tmp_path / "p.db")
    db.execute("CREATE TABLE p(k TEXT)")
    db.execute("INSERT INTO p VALUES ('a')")
    follow(db, "p(k)", rows)
    db.execute("DROP TABLE p")
    db.execute(INSTEAD[instead])
    if again:
        db.close()
        db = support.connect(tmp_path / "p.db")
    what = "a view" if "view" in instead else "a virtual table"
    for sql in ASK:
        if rows and "FROM f" in sql and what == "a virtual table":
            continue  # the front says which columns it misses
        with pytest.raises(sqlite3.Error) as caught:
            db.execute(sql.replace("key", "k") if rows else sql).fetchall()
        assert f"content: p is {what}" in str(caught.value) and ("DROP TABLE" in str(caught.value) or "drop the filter" in str(caught.value)), (sql, caught.value)
    for sql in ("SELECT cf_table_check('f')", "SELECT json_extract(cf_table_info('f'), '$.why')"):
        assert f"content: p is {what}" in ask(db, sql)
    db.execute("DROP VIEW p" if "view" in instead else "DROP TABLE p")
    db.execute("CREATE TABLE p(k TEXT)")
    db.execute("INSERT INTO p VALUES ('b')")
    db.execute("SELECT cf_table_rebuild('f')")
    assert ask(db, "SELECT cf_table_contains('f', 'b')") == 1
    db.execute("DROP TABLE f")
    db.close()


# ---- other schemas ----

@pytest.mark.parametrize("here, there", [("temp", "main"), ("main", "temp"), ("main", "other"), ("other", "main"), ("temp", "other")])
@pytest.mark.parametrize("content", ["{}.p(k)", '"{}"."p"("k")', '"{}.p"(k)'])
def test_a_table_of_another_schema_is_never_taken_for_one_of_this(db, here, there, content):
    db.execute("ATTACH ':memory:' AS other")
    for schema in ("main", "temp", "other"):
        db.execute(f"CREATE TABLE {schema}.p(k)")
    with pytest.raises(sqlite3.OperationalError, match="there is no table .* in .*follows tables of its own schema: create it in that schema"):
        db.execute(f"CREATE VIRTUAL TABLE {here}.f USING cuckoo_filter(content='{content.format(there)}')")
    with pytest.raises(sqlite3.OperationalError, match="there is no table .*give its name without a schema"):
        db.execute(f"CREATE VIRTUAL TABLE {here}.f USING cuckoo_filter(content='{content.format(here)}')")
    assert ask(db, "SELECT count(*) FROM (SELECT name FROM sqlite_master UNION SELECT name FROM sqlite_temp_master) WHERE name LIKE 'f%'") == 0
