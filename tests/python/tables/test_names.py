# SPDX-License-Identifier: MIT
"""Names: of filter tables, in functions that take one; of the table and the column that a filter follows, quoted in every way;
other schemas; what stands in the place of a table; and blobs out of a table and into it.
"""
import itertools
import sqlite3

import pytest

import inside
import support
from seen import ERROR, check, command, create, has, info, insert, items, lost, refused
from support import ask

NAMES = ["plain", "(x", "x)", "(", ")", "()", "((", "a(b)c", ")(", "a.b", "main.t", "x y", " lead", "trail ", "a,b",
         "a=b", "a;b", "a--b", "a/*b",
         "new\nline", "tab\there", "it's", "'", "''", 'say "x"', '"', '""', "`tick`", "`", "[x", "x]", "[x]", "select",
         "table", "rowid_", "é", "Ж(",
         "\U0001F600", "100%", "%w", "%s", "a\\b", "?1", ":x", "$x", "a\u00a0b", "0", "007", "x'61'", "NULL",
         "k) WITH (x", '("', '")', "'(", "*"]


ODD = ["a b", 'a"b', "a'b", "a.b", "main.seen", "select", "ünï", "a_b", inside.taken_name(""), "a(b)", "%s%w", "seen_",
       " ", "SEEN"]


QUOTES = {'"': ('"', '"'), "'": ("'", "'"), "`": ("`", "`"), "[": ("[", "]")}


def quoted(name, quote='"'):
    begin, end = QUOTES[quote]
    return begin + (name if quote == "[" else name.replace(end, 2 * end)) + end


def contains(db, name, key):
    return ask(db, "SELECT cf_table_contains(?, ?)", name, key)


@pytest.fixture
def seen(db):
    create(db)
    insert(db, 1, 2, 3)
    return db


# ---- which table ----

@pytest.mark.parametrize("name", ["seen", "main.seen", "SEEN", "Main.Seen"])
def test_a_table_by_its_name(seen, name):
    assert [contains(seen, name, key) for key in (1, 2, 3, 4, "x", 1.0)] == [1, 1, 1, 0, 0, 1]
    assert contains(seen, name, None) is None
    assert info(seen, name)["items"] == 3


@pytest.mark.parametrize("name", ODD)
def test_odd_names(db, name):
    create(db, name=quoted(name))
    insert(db, 1, 2, table=quoted(name))
    for spelled in (name, "main." + name):
        assert contains(db, spelled, 1) and not contains(db, spelled, 3)
        assert info(db, spelled)["items"] == 2
        assert ask(db, "SELECT cf_contains(cf_export(?), 2)", spelled) == 1
        assert ask(db, "SELECT count(fingerprint) FROM cf_buckets(?)", spelled) == 2
    db.execute(f"INSERT INTO {quoted(name)}({quoted(name)}) VALUES ('check')")
    assert has(db, 1, quoted(name)) and items(db, quoted(name)) == 2


@pytest.mark.parametrize("schema", ["other", "a b", "x.y", "select", 'q"q', "it's"])
def test_attached_schemas(seen, schema):
    seen.execute(f"ATTACH ':memory:' AS {quoted(schema)}")
    create(seen, name=quoted(schema) + ".seen")
    create(seen, name=quoted(schema) + ".only")
    insert(seen, "there", table=quoted(schema) + ".seen")
    insert(seen, "only", table=quoted(schema) + ".only")
    assert contains(seen, schema + ".seen", "there") and not contains(seen, "seen", "there")
    assert contains(seen, "only", "only") and contains(seen, schema + ".only", "only")
    seen.execute(f"DETACH {quoted(schema)}")
    refused(seen, ERROR, "SELECT cf_table_contains('only', 1)", says="no such cuckoo_filter table")


def test_the_first_attached_schema_wins(db):
    for schema in ("b", "a"):
        db.execute(f"ATTACH ':memory:' AS {schema}")
        create(db, name=f"{schema}.seen")
        insert(db, schema, table=f"{schema}.seen")
    assert contains(db, "seen", "b") and has(db, "b")


def test_temp_shadows_main(seen):
    create(seen, name="temp.seen")
    insert(seen, "temp", table="temp.seen")
    assert contains(seen, "seen", "temp") and not contains(seen, "seen", "main")
    assert contains(seen, "main.seen", 1) and contains(seen, "temp.seen", "temp")
    seen.execute("DROP TABLE temp.seen")
    assert contains(seen, "seen", 1)


@pytest.mark.parametrize("what", ["TABLE seen(key)", "VIEW seen AS SELECT 1 AS key"])
def test_what_shadows_a_filter_is_not_passed_over(seen, what):
    """`seen` is that temporary table in every query: in a function as well."""
    seen.execute(f"CREATE TEMP {what}")
    refused(seen, ERROR, "SELECT cf_table_contains('seen', 1)", says="no such cuckoo_filter table")
    assert contains(seen, "main.seen", 1)


CALLS = ["cf_table_contains(?, 1)", "cf_table_info(?)", "cf_table_check(?)", "cf_export(?)", "cf_picture(?)"]


@pytest.mark.parametrize("name", ["none", "", "main.", ".seen", "none.seen", "main.none", "plain", "v", "broken",
                                  "sqlite_master", "json_each",
                                  "seen.", "main.main.seen", '"seen"', "seen\0x", inside.taken_name("seen")])
def test_a_wrong_name_is_a_clear_error(seen, name):
    seen.executescript("CREATE TABLE plain(key); CREATE VIEW v AS SELECT 1 AS key; CREATE VIEW broken AS SELECT * FROM nowhere")
    for call in CALLS:
        message = refused(seen, ERROR, f"SELECT {call}", name, says="no such cuckoo_filter table")
        assert message.startswith(call.split("(")[0] + ": ")
    message = refused(seen, ERROR, "SELECT * FROM cf_buckets(?)", name, says="no such cuckoo_filter table")
    assert message.startswith("cf_buckets: ")


@pytest.mark.parametrize("in_main", [True, False])
@pytest.mark.parametrize("name", ["knwon", "x.knwon", "main.known", "temp.known", "nowhere.known"])
def test_the_message_lists_the_filters_of_all_schemas(db, name, in_main):
    db.execute("ATTACH ':memory:' AS x")
    tables = ["other"] * in_main + ["temp.seen", "x.known"]
    for table in tables:
        create(db, name=table)
    for call in CALLS:
        refused(db, ERROR, f"SELECT {call}", name, says=f"table: {name}; the tables are {', '.join(tables)}")


def test_the_message_lists_twenty_filters(db):
    db.execute("ATTACH ':memory:' AS x")
    tables = [schema + str(i) for schema in ("f", "x.f") for i in range(12)]
    for table in tables:
        create(db, "capacity=1", name=table)
    message = refused(db, ERROR, "SELECT cf_picture('none')", says="no such cuckoo_filter table")
    assert message.endswith("; the tables are " + ", ".join(tables[:20]))


@pytest.mark.parametrize("name", [None, 1, 1.5, b"seen"])
def test_a_name_that_is_no_text_is_a_clear_error(seen, name):
    for call in CALLS[:-1]:
        refused(seen, ERROR, f"SELECT {call}", name, says="the first argument must be the name")


def test_a_table_of_a_module_that_is_not_there(tmp_path):
    db = support.connect(tmp_path / "foreign.db")
    create(db, "capacity=10")
    db.execute("PRAGMA writable_schema = ON")
    db.execute("UPDATE sqlite_master SET sql = 'CREATE VIRTUAL TABLE seen USING elsewhere(x)' WHERE name = 'seen'")
    db.close()
    db = support.connect(tmp_path / "foreign.db")
    for call in CALLS:
        support.fails(db, support.BAD_PARAMETER, f"SELECT {call}", "seen",
                      says="SQLite cannot read it: SELECT * FROM the table says why")
    db.close()


@pytest.mark.parametrize("call", ["cf_contains('seen', 1)", "cf_add('seen', 1)", "cf_info('seen')", "cf_check('seen')",
                                  "cf_merge('seen', 'seen')", "cf_count('seen', 1)", "cf_delete('seen', 1)"])
def test_pure_functions_never_take_a_name(seen, call):
    with pytest.raises(sqlite3.Error) as caught:
        seen.execute(f"SELECT {call}").fetchall()
    assert "blob" in str(caught.value) or "not a filter" in str(caught.value)


def test_a_table_is_not_called_as_one_of_its_columns(db):
    """INSERT INTO key(key) VALUES ('check') would be a key."""
    db.execute("CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=10)")
    before = db.execute("SELECT name FROM sqlite_master").fetchall()
    names = [row[1] for row in db.execute("PRAGMA table_xinfo(seen)") if row[1] != "seen"]
    assert names == ["key", "cuckoo_id"]
    for name in [*names, "KEY"]:
        for sql in (f"CREATE VIRTUAL TABLE {name} USING cuckoo_filter(capacity=10)",
                    f"ALTER TABLE seen RENAME TO {name}"):
            refused(db, ERROR, sql, says=f"{name} is a column of filter tables: choose another name")
    check(db)
    assert db.execute("SELECT name FROM sqlite_master").fetchall() == before
    db.execute("CREATE VIRTUAL TABLE value USING cuckoo_filter(capacity=10)")
    command(db, "check", "value")


# ---- from anywhere ----

def test_from_a_scan_of_another_table(seen):
    seen.execute("ATTACH ':memory:' AS other")
    seen.execute("CREATE TABLE other.t AS SELECT value AS x FROM json_each('[1, 3, 5, null]')")
    assert seen.execute("SELECT x, cf_table_contains('seen', x) FROM other.t").fetchall() == [
        (1, 1), (3, 1), (5, 0), (None, None)]


def test_the_name_may_differ_from_row_to_row(seen):
    create(seen, name="two")
    insert(seen, 9, table="two")
    rows = seen.execute("SELECT column1, cf_table_contains(column1, 9) FROM (VALUES ('seen'), ('two'), ('seen'))")
    assert rows.fetchall() == [("seen", 0), ("two", 1), ("seen", 0)]


def test_in_an_insert_into_the_same_table(seen):
    seen.execute("INSERT INTO seen(key) SELECT value FROM json_each('[1, 8, 2, 9]') "
                 "WHERE NOT cf_table_contains('seen', value)")
    assert items(seen) == 5 and lost(seen, [1, 2, 3, 8, 9]) == []


@pytest.mark.parametrize("sql", ["CREATE INDEX i ON p(cf_table_contains('seen', x))",
                                 "CREATE TABLE g(x, y AS (cf_table_contains('seen', x)))"])
def test_a_function_by_name_is_not_for_schemas(seen, sql):
    """It is not deterministic: what it reads is not in the row."""
    seen.execute("CREATE TABLE p(x)")
    refused(seen, ERROR, sql, says="non-deterministic")


@pytest.mark.parametrize("call", ["cf_table_contains('seen', 1)", "cf_table_check('seen')", "length(cf_export('seen')) > 64"])
def test_a_function_by_name_in_a_view(seen, call):
    """What gives the filter away needs a trusted schema."""
    seen.execute(f"CREATE VIEW w AS SELECT {call}")
    assert ask(seen, "SELECT * FROM w") in (1, "ok")
    seen.execute("PRAGMA trusted_schema = OFF")
    if "export" in call:
        refused(seen, ERROR, "SELECT * FROM w", says="unsafe use of cf_export")
    else:
        assert ask(seen, "SELECT * FROM w") in (1, "ok")


@pytest.mark.parametrize("hides", ["TABLE seen(x)", "VIEW seen AS SELECT 1 AS x", "TABLE SEEN(x)"])
def test_a_filter_that_a_temp_table_hides_is_named_by_its_schema(seen, hides):
    seen.execute(f"CREATE TEMP {hides}")
    for call in ("cf_table_contains('seen', 1)", "cf_table_info('Seen')", "cf_table_rebuild('seen')", "cf_picture('seen')"):
        refused(seen, ERROR, f"SELECT {call}", says="a TEMP table or view of this name hides it: write 'main.")
    refused(seen, ERROR, "SELECT * FROM cf_buckets('seen')", says="hides it: write 'main.seen'")
    assert ask(seen, "SELECT cf_table_contains('main.seen', 1)") == 1


# ---- the table and the column that a filter follows ----

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
    """Of the table, of the column, and of both with any two ways of quoting."""
    n = 0
    for (table, column), q, p in [*itertools.product([(name, name)], QUOTES, QUOTES),
                                  *(((name, "k"), q, '"') for q in QUOTES),
                                  *((("t", name), "[", p) for p in QUOTES)]:
        if (q == "[" and "]" in table) or (p == "[" and "]" in column):
            continue
        blank = " " * (n % 3 == 0)
        db = support.connect()
        db.execute(f"CREATE TABLE {quoted(table)}({quoted(column)} TEXT, other)")
        db.execute(f"INSERT INTO {quoted(table)} VALUES ('a', 1)")
        follow(db, f"{quoted(table, q)}{blank}({blank}{quoted(column, p)}{blank})", rows=n % 2)
        works(db, table, column)
        db.close()
        n += 1
    assert n >= 9 + 3 + 3


@pytest.mark.parametrize("name", ["plain", "x y", "a,b", "a;b", "it's", "select", "é", "\U0001F600", "100%", "a\\b",
                                  "?1", "0", "a-b", "a`b", 'a"b', "a[b"])
def test_names_without_quotes(name):
    for table, column in [(name, "k"), ("t", name), (name, name)]:
        db = support.connect()
        db.execute(f"CREATE TABLE {quoted(table)}({quoted(column)} TEXT)")
        db.execute(f"INSERT INTO {quoted(table)} VALUES ('a')")
        follow(db, f"{table}({column})")
        works(db, table, column)
        db.close()


@pytest.mark.parametrize("content", ['p', 'p(', 'p)', 'p()', '(k)', 'p(k', 'pk)', '"p', '"p"', '"p"(', '"p"k',
                                     '"p"("k"', '"p"("k")x', '', '()', '("k")',
                                     "p(k) x", '"p" x (k)y'])
def test_what_is_no_table_and_column(db, content):
    db.execute("CREATE TABLE p(k)")
    with pytest.raises(sqlite3.OperationalError,
                       match="cuckoo_filter: content must be 'table.column.'|there is no table"):
        follow(db, content)


@pytest.mark.parametrize("sql, says", [
    ("INSERT INTO f(key) VALUES (1)", "it stays in sync with people(name): change that table"),
    ("INSERT INTO f(f) VALUES ('clear')", "it stays in sync with people(name), and clear would make it miss rows"),
    ("SELECT key FROM f", "people(name) cannot be read")])
def test_messages_name_the_table_as_it_is_named_now(db, sql, says):
    failing = []
    db.create_function("half", 1, lambda x: 1 // (not failing), deterministic=True)
    db.execute("CREATE TABLE u(x, k AS (half(x)))")
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(capacity=100, content='u(k)')")
    db.execute("INSERT INTO u(x) VALUES (1)")
    db.execute("ALTER TABLE u RENAME TO people")
    db.execute("ALTER TABLE people RENAME COLUMN k TO name")
    assert ask(db, "SELECT cf_table_contains('f', 1)") == 1
    failing.append(1)
    refused(db, ERROR, sql, says=says)


@pytest.mark.parametrize("table_length, column_length", [(1500, 1500), (3, 2500), (2500, 3), (999, 999), (999, 1000)])
def test_names_may_be_longer_than_the_filter_keeps(db, table_length, column_length):
    table, column = "t" * table_length, "c" * column_length
    keys = []

    def add(key, into):
        db.execute(f"INSERT INTO {into} VALUES (?)", (key,))
        keys.append(key)
        assert lost(db, keys) == [] and items(db) == len(keys)
    db.execute(f"CREATE TABLE {table}({column})")
    create(db, f"content='{table}({column})'")
    add("a", table)
    db.execute(f"ALTER TABLE {table} RENAME TO u")
    add("b", "u")
    db.execute(f"ALTER TABLE u RENAME {column} TO k")
    add("c", "u")
    check(db)
    db.execute("INSERT INTO seen(seen) VALUES ('rebuild')")
    add("d", "u")
    check(db)


# ---- what stands in the place of the table ----

INSTEAD = {
    "a view": "CREATE VIEW p AS SELECT 'a' AS k", "a view without the column": "CREATE VIEW p AS SELECT 1 AS z",
    "a view that cannot be read": "CREATE VIEW p AS SELECT * FROM gone",
    "a virtual table": "CREATE VIRTUAL TABLE p USING fts5(k)",
    "a filter": "CREATE VIRTUAL TABLE p USING cuckoo_filter(capacity=9)",
}


ASK = ["SELECT count(*) FROM f WHERE key = 'a'", "SELECT key FROM f", "SELECT count(*) FROM f",
       "SELECT cf_table_contains('f', 'a')",
       "SELECT cf_export('f')", "INSERT INTO f(f) VALUES ('check')", "INSERT INTO f(f) VALUES ('rebuild')", "SELECT cf_table_rebuild('f')"]


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
    for sql in ("drain", "optimize"):  # which change no answer
        db.execute("INSERT INTO f(f) VALUES (?)", (sql,))
    db.execute("DROP VIEW p" if "view" in instead else "DROP TABLE p")
    db.execute("CREATE TABLE p(k TEXT)")
    db.execute("INSERT INTO p VALUES ('b')")
    db.execute("SELECT cf_table_rebuild('f')")
    assert ask(db, "SELECT cf_table_contains('f', 'b')") == 1
    db.execute("DROP TABLE f")
    db.close()


@pytest.mark.parametrize("here, there", [("temp", "main"), ("main", "temp"), ("main", "other"), ("other", "main"),
                                         ("temp", "other")])
@pytest.mark.parametrize("content", ["{}.p(k)", '"{}"."p"("k")', '"{}.p"(k)'])
def test_a_table_of_another_schema_is_never_taken_for_one_of_this(db, here, there, content):
    db.execute("ATTACH ':memory:' AS other")
    for schema in ("main", "temp", "other"):
        db.execute(f"CREATE TABLE {schema}.p(k)")
    for schema in (there, here):
        with pytest.raises(sqlite3.OperationalError, match=f"there is no table .* in {here}, .*; give the name alone, of a table there"):
            db.execute(f"CREATE VIRTUAL TABLE {here}.f USING cuckoo_filter(content='{content.format(schema)}')")
    assert ask(db,
               "SELECT count(*) FROM (SELECT name FROM sqlite_master UNION SELECT name FROM sqlite_temp_master) WHERE name LIKE 'f%'") == 0


# ---- blobs ----

@pytest.mark.parametrize("keys", [0, 3, 1200])
@pytest.mark.parametrize("arguments", ["capacity=100", "capacity=100, bucket_size=2",
                                       "capacity=1400, growth=off, stash=on, max_kicks=0",
                                       "capacity=100, counter_bits=4", "capacity=100, layout=semisort, bucket_size=4"])
def test_an_export_answers_as_the_table_does(db, arguments, keys):
    create(db, arguments)
    insert(db, *range(keys), *range(keys // 10))
    pending = ask(db, "SELECT cf_export('seen')")
    assert support.info(db, pending)["items"] == items(db) and (
        ask(db, "SELECT count(fingerprint) FROM cf_buckets('seen')") > 0) == (keys > 0)
    command(db, "drain")
    blob = ask(db, "SELECT cf_export('seen')")
    assert ask(db, "SELECT cf_check(?)", blob) == "ok"
    assert support.info(db, blob).items() <= info(db, "seen", "all").items()
    for key in range(keys + 500):
        assert support.contains(db, blob, key) == contains(db, "seen", key) == has(db, key) \
            == support.contains(db, pending, key)
    shown = db.execute("SELECT * FROM cf_buckets('seen')").fetchall()
    assert shown == db.execute("SELECT * FROM cf_buckets(?)", (blob,)).fetchall()


@pytest.mark.parametrize("options", ["bucket_size=2", "bucket_size=8 seed=-5", "counter_bits=3", "stash=on growth=off",
                                     "growth=off"])
def test_import_takes_any_sound_filter(seen, options):
    blob = support.build(seen, range(100, 700), 0.001, options)
    seen.execute("INSERT INTO seen(key, seen) VALUES (?, 'import')", (blob,))
    assert ask(seen, "SELECT cf_export('seen')") == blob
    assert lost(seen, range(100, 700)) == [] and items(seen) == 600
    check(seen)


@pytest.mark.parametrize("blob", [None, "x", 5, b"", b"x" * 100, bytes(2000)])
def test_import_of_anything_else_changes_nothing(seen, blob):
    refused(seen, ERROR, "INSERT INTO seen(key, seen) VALUES (?, 'import')", blob, says="not a valid filter")
    assert lost(seen, [1, 2, 3]) == [] and items(seen) == 3


def test_import_of_a_filter_with_values_is_refused(db):
    create(db, "capacity=100")
    refused(db, ERROR, "INSERT INTO seen(key, seen) SELECT cf_new(100, NULL, 'value_bits=8'), 'import'",
            says="value_bits")


def test_an_export_above_the_length_limit_is_too_big(db):
    create(db, "capacity=100000")
    insert(db, 1)
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 10000)
    with pytest.raises(sqlite3.DataError, match="SQLITE_LIMIT_LENGTH"):
        db.execute("SELECT cf_export('seen')").fetchall()
    assert contains(db, "seen", 1)


def test_another_filter_takes_the_name_between_two_rows(tmp_path):
    """A use that is kept knows its table by name no longer."""
    db = support.connect(str(tmp_path / "names.db"))
    db.executescript("CREATE TABLE t(k); INSERT INTO t VALUES ('a'), ('b'), ('c'); CREATE TABLE t2(k);"
                     "CREATE VIRTUAL TABLE g USING cuckoo_filter(capacity=100); INSERT INTO g VALUES ('a'), ('b');"
                     "CREATE VIRTUAL TABLE x USING cuckoo_filter(content='t2(k)'); INSERT INTO t2 SELECT k FROM t")
    db.close()
    db = support.connect(str(tmp_path / "names.db"))
    rows = db.execute("SELECT a.k, b.k, cf_table_contains('g', b.k) FROM t AS a, t AS b WHERE cf_table_contains('g', a.k)")
    assert rows.fetchone()[2] == 1
    for sql in ("ALTER TABLE g RENAME TO g9", "ALTER TABLE x RENAME TO g"):
        db.execute(sql)
    assert [row for row in rows if not row[2]] == []


@pytest.mark.parametrize("asks", ["length(cf_export('g'))", "cf_table_contains('x', 'a')", "length(cf_table_info('x'))",
                                  "cf_table_check('x')"])
def test_another_connection_changes_the_schema_while_a_name_is_looked_up(tmp_path, asks):
    """At each statement that the extension runs for it. Nothing is held afterwards."""
    path, at, reached = str(tmp_path / "names.db"), 0, True
    db = support.connect(path)
    db.executescript("PRAGMA journal_mode = wal; CREATE TABLE t(k UNIQUE); INSERT INTO t VALUES ('a');"
                     "CREATE VIRTUAL TABLE g USING cuckoo_filter(capacity=100);"
                     "CREATE VIRTUAL TABLE x USING cuckoo_filter(content='t(k)')")
    db.close()
    while reached:
        at, ran = at + 1, [0]
        db, other = support.connect(path, timeout=0), support.connect(path, timeout=0)

        def look(sql):
            ran[0] += 1
            if ran[0] == at:
                other.execute(f"CREATE TABLE z{at}(x)")

        db.set_trace_callback(look)
        db.execute(f"SELECT {asks}").fetchall()
        db.set_trace_callback(None)
        db.execute(f"SELECT {asks}").fetchall()
        reached = ran[0] >= at
        other.execute("UPDATE t SET k = k")
        assert other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0, f"something reads since statement {at}"
        db.execute("UPDATE t SET k = k")
        db.close(), other.close()
    assert at > 3
