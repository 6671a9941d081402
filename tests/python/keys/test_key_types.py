# SPDX-License-Identifier: MIT
"""A key of a type that was never added, and that equals none of the keys, is an error: no function just says that it is absent.

All ways in note types; all functions that look for a key, or delete one, ask for them. The model is `fits`."""
import itertools
import re
import sqlite3

import pytest

import support
from support import ask

KEYS = {"integer": 5, "real": 2.5, "number in a text": " 7.0 ", "text": "abc", "blob": b"5"}
TYPES = {"integer": "number", "real": "number", "number in a text": "text", "text": "text", "blob": "blob"}
ORDER = ["number", "text", "blob"]
AFFINITIES = ["", "affinity=none", "affinity=text", "affinity=numeric", "affinity=real"]


def subsets():
    """The kinds of keys that a filter gets."""
    return [some for n in range(4) for some in itertools.combinations(KEYS, n)]


def noted(kinds, options):
    """What cf_info says."""
    types = {TYPES[kind] for kind in kinds}
    if options not in ("", "affinity=none") and types & {"number", "text"}:
        types |= {"number", "text"}
    return "any" if options == "affinity=none" or len(types) == 3 else ",".join(one for one in ORDER if one in types)


def fits(kinds, options, kind):
    types, asked = noted(kinds, options), TYPES[kind]
    if types in ("", "any") or asked in types.split(","):
        return True
    if asked == "blob" or types == "blob":
        return False
    return not (types == "text" and asked == "number") and not (types == "number" and kind == "number in a text")


# ---- ways in: each makes a filter of some keys ----

def by_add(db, keys, options):
    blob = support.new(db, 10, None, options)
    for key in keys:
        blob = ask(db, "SELECT cf_add(?, ?)", blob, key)
    return blob


def rows(keys):
    return f"(SELECT NULL AS x WHERE 0{' UNION ALL SELECT ?' * len(keys)})"


def by_build(db, keys, options):
    return ask(db, f"SELECT cf_build(x, NULL, '{options}') FROM (SELECT 1) LEFT JOIN {rows(keys)}", *keys)


def by_list(db, keys, options):
    """The options of the list add no type, as if affinity=none were written out for the filter."""
    return ask(db, f"SELECT cf_add_keys(cf_new(10, NULL, '{options}'), (SELECT cf_keys(x, NULL, '{options}') FROM {rows(keys)}))", *keys)


def by_merge(db, keys, options):
    return ask(db, "SELECT cf_merge(?, ?)", by_add(db, keys[::2], options), by_add(db, keys[1::2], options))


def by_table(db, keys, options):
    """Some keys are in the pages, some in the log."""
    db.execute(f"CREATE VIRTUAL TABLE made USING cuckoo_filter(capacity=10, seed=0{options and ', ' + options})")
    db.executemany("INSERT INTO made(key) VALUES (?)", [(key,) for key in keys[::2]])
    db.execute("INSERT INTO made(made) VALUES ('drain')")
    db.executemany("INSERT INTO made(key) VALUES (?)", [(key,) for key in keys[1::2]])
    blob = ask(db, "SELECT cf_export('made')")
    db.execute("DROP TABLE made")
    return blob


WAYS = [by_add, by_build, by_list, by_merge, by_table]

# ---- ways to ask ----

ASKS = {
    "cf_contains": "SELECT cf_contains(?1, ?2)", "cf_count": "SELECT cf_count(?1, ?2)", "cf_delete": "SELECT cf_delete(?1, ?2)",
    "cf_explain": "SELECT max(match) FROM cf_explain(?1, ?2)"}
VALUED = {"cf_get": "SELECT cf_get(?1, ?2)", "cf_values": "SELECT max(value) FROM cf_values(?1, ?2)",
          "cf_delete": "SELECT cf_delete(?1, ?2, 1)"}


def said(db, sql, *parameters):
    """The answer, or the message."""
    try:
        return ask(db, sql, *parameters)
    except sqlite3.IntegrityError as error:
        return str(error)


def check(db, name, sql, kinds, options, kind, *given):
    answer = said(db, sql, *given, KEYS[kind])
    if fits(kinds, options, kind):
        assert "never be found" not in str(answer), (name, kinds, options, kind)
        return
    assert str(answer).startswith(f"{name}: key is "), (answer, name, kinds, options, kind)
    types = noted(kinds, options).replace(",", "s and ") + "s"
    assert f"and only {types} were added, so it would never be found; " in answer and " give a " in answer, answer
    if TYPES[kind] == "text" and types == "numbers":
        assert re.search("affinity=numeric.*CAST.*int.x.*affinity=none", answer), answer
    if TYPES[kind] == "number" and types == "texts":
        assert re.search("affinity=text.*CAST.*affinity=none", answer), answer


@pytest.mark.parametrize("options", AFFINITIES)
@pytest.mark.parametrize("way", WAYS)
def test_every_way_in_notes_types(db, way, options):
    for kinds in subsets():
        blob = way(db, [KEYS[kind] for kind in kinds], options)
        assert support.info(db, blob)["key_types"] == noted(kinds, options), kinds
        for kind in KEYS:
            check(db, "cf_contains", ASKS["cf_contains"], kinds, options, kind, blob)
        assert said(db, ASKS["cf_contains"], blob, None) is None
        empty = ask(db, "SELECT cf_clear(?)", blob)
        assert support.info(db, empty)["key_types"] == ("any" if options and noted(kinds, options) == "any" else "")
        for kind in kinds:
            blob = ask(db, "SELECT cf_delete(?, ?)", blob, KEYS[kind])
        assert blob == ask(db, "SELECT cf_merge(?, ?)", empty, blob)  # nothing is left of keys that were deleted


@pytest.mark.parametrize("options", AFFINITIES)
def test_every_function_asks(db, options):
    for kinds in subsets():
        blob = by_add(db, [KEYS[kind] for kind in kinds], options)
        valued = support.new(db, 10, None, f"value_bits=3 {options}")
        for kind in kinds:
            valued = ask(db, "SELECT cf_add(?, ?, 1)", valued, KEYS[kind])
        for kind in KEYS:
            for name, sql in ASKS.items():
                check(db, name, sql, kinds, options, kind, blob)
                check(db, name, sql.replace("?1", "(SELECT cf_open(?1))"), kinds, options, kind, blob)
            for name, sql in VALUED.items():
                check(db, name, sql, kinds, options, kind, valued)


def test_lists_that_delete(db):
    for kinds, asked in itertools.product(subsets(), subsets()):
        blob = by_add(db, [KEYS[kind] for kind in kinds], "")
        values = [KEYS[kind] for kind in asked]
        answer = said(db, f"SELECT cf_delete_keys(?, (SELECT cf_keys(x) FROM {rows(values)}))", blob, *values)
        assert str(answer).startswith("cf_delete_keys: keys has ") != all(fits(kinds, "", kind) for kind in asked), (kinds, asked)


def test_exact_filters(db):
    for kinds in subsets():
        keys = [KEYS[kind] for kind in kinds]
        blob = ask(db, f"SELECT cf_build_exact(x, typeof(x) = 'text') FROM {rows(keys)}", *keys)
        if kinds:
            assert support.info(db, blob)["key_types"] == noted(kinds, "")
            for kind in KEYS:
                check(db, "cf_contains", ASKS["cf_contains"], kinds, "", kind, blob)
                check(db, "cf_explain", ASKS["cf_explain"], kinds, "", kind, blob)
    blob = ask(db, "SELECT cf_build_exact(1, 1, NULL, 'affinity=none')")
    assert [said(db, ASKS["cf_contains"], blob, key) for key in (1, "1", b"1")] == [1, 0, 0]


# ---- filter tables ----

def table_asks(name):
    return {"cf_table_contains": f"SELECT cf_table_contains('{name}', ?)", name: f"SELECT count(*) FROM {name} WHERE key = ?"}


@pytest.mark.parametrize("options", AFFINITIES)
@pytest.mark.parametrize("more", ["", "adds=once", "epochs=3"])
def test_tables(db, options, more):
    """In the log, in the pages, in a transaction that is rolled back, and pending."""
    arguments = ", ".join(one for one in ("capacity=10", options, more) if one)
    for kinds in subsets():
        db.execute(f"CREATE VIRTUAL TABLE seen USING cuckoo_filter({arguments})")

        def check_all(kinds):
            for kind in KEYS:
                for name, sql in table_asks("seen").items():
                    check(db, name, sql, kinds, options, kind)
            assert support.ask(db, "SELECT json_extract(cf_table_info('seen'), '$.key_types')") == noted(kinds, options)
        for kind in kinds:
            db.execute("INSERT INTO seen(key) VALUES (?)", (KEYS[kind],))
        check_all(kinds)
        db.execute("INSERT INTO seen(seen) VALUES ('drain')")
        check_all(kinds)
        db.execute("BEGIN")
        db.execute("INSERT INTO seen(key) VALUES (x'00')")
        check_all((*kinds, "blob"))
        db.execute("SAVEPOINT s")
        db.execute("INSERT INTO seen(key) VALUES (1)")
        check_all((*kinds, "blob", "integer"))
        db.execute("ROLLBACK TO s")
        check_all((*kinds, "blob"))
        db.execute("INSERT INTO seen(seen) VALUES ('drain')")
        check_all((*kinds, "blob"))
        db.execute("ROLLBACK")
        check_all(kinds)
        db.execute("INSERT INTO seen(seen) VALUES ('clear')")
        check_all(("integer", "text", "blob") if options and noted(kinds, options) == "any" else ())
        db.execute("DROP TABLE seen")


def test_delete_asks(db):
    db.execute("CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=10)")
    db.execute("INSERT INTO seen(key) VALUES (5)")
    with pytest.raises(sqlite3.IntegrityError, match="^seen: key is the text '5', and only numbers were added"):
        db.execute("DELETE FROM seen WHERE key = '5'")
    db.execute("DELETE FROM seen WHERE key = 'five'")
    assert ask(db, "SELECT cf_table_contains('seen', 5)") == 1


def test_another_connection_sees_types(tmp_path):
    one, other = (support.connect(tmp_path / "a.db") for _ in range(2))
    one.execute("CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=10)")
    for key, kinds in ((5, ("integer",)), ("abc", ("integer", "text")), (b"5", tuple(KEYS))):
        one.execute("INSERT INTO seen(key) VALUES (?)", (key,))
        for kind in KEYS:
            for name, sql in table_asks("seen").items():
                check(other, name, sql, kinds, "", kind)


def test_a_synced_table_compares_as_its_column_does(db):
    """So it asks for nothing, and nor does its blob."""
    for declared in ("INTEGER", "TEXT", "BLOB", ""):
        db.execute(f"CREATE TABLE t(k {declared})")
        db.execute("INSERT INTO t VALUES (5)")
        for rows_on in ("", ", rows=on"):
            db.execute(f"CREATE VIRTUAL TABLE known USING cuckoo_filter(content='t(k)'{rows_on})")
            for key in KEYS.values():
                assert ask(db, "SELECT cf_table_contains('known', ?)", key) in (0, 1)
                assert ask(db, "SELECT cf_contains(cf_export('known'), ?)", key) in (0, 1)
            assert support.info(db, ask(db, "SELECT cf_export('known')"))["key_types"] == "any"
            db.execute("DROP TABLE known")
        db.execute("DROP TABLE t")


def test_a_filter_of_unknown_types_stays_so(db):
    """One that a program in C has made may say nothing: then it is asked for any key, whatever is added, or merged into it."""
    blob = bytearray(ask(db, "SELECT cf_add(cf_new(10), 5)"))
    blob[4] &= 15
    unknown = support.sealed(bytes(blob))
    assert support.info(db, unknown)["key_types"] == ""
    for made in (unknown, ask(db, "SELECT cf_add(?, 6)", unknown), ask(db, "SELECT cf_merge(cf_add(cf_new(10), 6), ?)", unknown),
                 ask(db, "SELECT cf_merge(?, cf_add(cf_new(10), 6))", unknown)):
        assert [ask(db, "SELECT cf_contains(?, ?)", made, key) for key in (5, "5", b"5")] == [1, 0, 0]
