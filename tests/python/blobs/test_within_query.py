# SPDX-License-Identifier: MIT
"""A filter that lives only as long as its query: cf_contains((SELECT cf_open(cf_build(key)) FROM k), r.key).

The rows must be those of the query without the filter, and the filter must be built once. SQLite evaluates
a subquery without outer columns once; cf_open makes of its result a handle, which costs a row nothing.
"""
import pytest

import support

WITHIN = "cf_contains((SELECT cf_open(cf_build({options})) FROM k {where}), r.{key})"

# How keys are compared: declarations of r.key and k.key, and the options that make a filter compare alike.
KEYS = {
    "texts": ("TEXT", "TEXT", ""),
    "integers": ("INTEGER", "INTEGER", ""),
    "no type": ("", "", ""),
    "nocase": ("TEXT COLLATE NOCASE", "TEXT COLLATE NOCASE", "collation=nocase"),
    "rtrim": ("TEXT COLLATE RTRIM", "TEXT COLLATE RTRIM", "collation=rtrim"),
    "a number beside a text": ("INTEGER", "TEXT", "affinity=numeric"),
    "a text beside a number": ("TEXT", "INTEGER", "affinity=numeric"),
}

# Plain queries and the same behind a filter: {f} is the test of the filter.
QUERIES = {
    "join": ("SELECT r.id, k.id FROM r JOIN k ON k.key = r.key",
             "SELECT r.id, k.id FROM r JOIN k ON k.key = r.key WHERE {f}"),
    "cross join": ("SELECT r.id, k.id FROM r CROSS JOIN k ON k.key = r.key",
                   "SELECT r.id, k.id FROM r CROSS JOIN k ON k.key = r.key WHERE {f}"),
    "filter in ON": ("SELECT r.id, k.id FROM r JOIN k ON k.key = r.key",
                     "SELECT r.id, k.id FROM r JOIN k ON {f} AND k.key = r.key"),
    "left join": ("SELECT r.id, k.id FROM r LEFT JOIN k ON k.key = r.key",
                  "SELECT r.id, k.id FROM r LEFT JOIN k ON {f} AND k.key = r.key"),
    "exists": ("SELECT r.id FROM r WHERE EXISTS (SELECT 1 FROM k WHERE k.key = r.key)",
               "SELECT r.id FROM r WHERE {f} AND EXISTS (SELECT 1 FROM k WHERE k.key = r.key)"),
    "not exists": ("SELECT r.id FROM r WHERE NOT EXISTS (SELECT 1 FROM k WHERE k.key = r.key)",
                   "SELECT r.id FROM r WHERE NOT ({f} AND EXISTS (SELECT 1 FROM k WHERE k.key = r.key))"),
    "update": ("SELECT r.id FROM r WHERE EXISTS (SELECT 1 FROM k WHERE k.key = r.key)",
               "UPDATE r SET seen = 1 WHERE {f} AND EXISTS (SELECT 1 FROM k WHERE k.key = r.key)"),
    "delete": ("SELECT r.id FROM r WHERE EXISTS (SELECT 1 FROM k WHERE k.key = r.key)",
               "DELETE FROM r WHERE {f} AND EXISTS (SELECT 1 FROM k WHERE k.key = r.key)"),
}


def some_value(rng):
    number = rng.randrange(-5, 40)
    return rng.choice([number, str(number), f"{number}.0", float(number), number + 0.5, None, "", "a", "A", "a  ",
                       b"a", b"1", "ä", f" {number}"])


def tables(db, rng, kind, rows=60, keys=20):
    one, other, _ = KEYS[kind]
    db.execute(f"CREATE TABLE r(id INTEGER PRIMARY KEY, key {one}, seen INTEGER DEFAULT 0)")
    db.execute(f"CREATE TABLE k(id INTEGER PRIMARY KEY, key {other}, state INTEGER)")
    db.executemany("INSERT INTO r(key) VALUES (?)", [(some_value(rng),) for _ in range(rows)])
    db.executemany("INSERT INTO k(key, state) VALUES (?, ?)",
                   [(some_value(rng), rng.randrange(3)) for _ in range(keys)])


def answer(db, query):
    """The rows of a SELECT; of an UPDATE or DELETE, the rows that it meant."""
    if query.startswith("SELECT"):
        return sorted(db.execute(query).fetchall(), key=str)
    before = set(db.execute("SELECT id FROM r"))
    db.execute("SAVEPOINT s")
    db.execute(query)
    meant = set(db.execute("SELECT id FROM r WHERE seen = 1")) | (before - set(db.execute("SELECT id FROM r")))
    db.execute("ROLLBACK TO s")
    db.execute("RELEASE s")
    return sorted(meant, key=str)


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("query", QUERIES)
def test_the_rows_are_those_of_the_plain_query(db, rng, query, kind):
    plain, behind = QUERIES[query]
    for _ in range(20):
        tables(db, rng, kind)
        options = f"key, 0.01, '{KEYS[kind][2]}'"
        f = WITHIN.format(options=options, where="", key="key")
        assert answer(db, behind.format(f=f)) == answer(db, plain)
        db.execute("DROP TABLE r")
        db.execute("DROP TABLE k")


@pytest.mark.parametrize("condition", ["state = 1", "state = r.id % 3"])  # the second one builds it for each row
def test_a_condition_on_the_keys_stands_in_the_subquery(db, rng, condition):
    tables(db, rng, "texts", rows=300, keys=100)
    f = WITHIN.format(options="key", where=f"WHERE {condition}", key="key")
    plain = f"SELECT r.id, k.id FROM r JOIN k ON k.key = r.key WHERE k.{condition}"
    assert answer(db, f"{plain} AND {f}") == answer(db, plain)


def test_no_key_at_all(db, rng):
    tables(db, rng, "texts", keys=0)
    f = WITHIN.format(options="key", where="", key="key")
    assert answer(db, QUERIES["join"][1].format(f=f)) == []
    assert answer(db, QUERIES["not exists"][1].format(f=f)) == answer(db, QUERIES["not exists"][0])
    assert len(answer(db, QUERIES["left join"][1].format(f=f))) == 60


@pytest.mark.parametrize("query", ["join", "left join", "exists", "not exists"])
def test_it_is_built_once(db, rng, query):
    tables(db, rng, "integers", rows=500, keys=37)
    calls = []
    db.create_function("noted", 1, lambda key: calls.append(key) or key)
    f = WITHIN.format(options="noted(key)", where="", key="key")
    answer(db, QUERIES[query][1].format(f=f))
    assert len(calls) == 37


def test_two_filters_in_one_query(db, rng):
    tables(db, rng, "texts", rows=200, keys=60)
    plain = "SELECT a.id FROM r AS a WHERE a.key IN (SELECT key FROM k) AND a.key NOT IN " \
            "(SELECT key FROM k WHERE state = 2 AND key IS NOT NULL)"
    all_keys = "(SELECT cf_open(cf_build(key)) FROM k)"
    some = "(SELECT cf_open(cf_build(key)) FROM k WHERE state = 2)"
    behind = f"SELECT a.id FROM r AS a WHERE cf_contains({all_keys}, a.key) AND a.key IN (SELECT key FROM k) " \
             f"AND NOT (cf_contains({some}, a.key) AND a.key IN " \
             "(SELECT key FROM k WHERE state = 2 AND key IS NOT NULL))"
    assert answer(db, behind) == answer(db, plain)


@pytest.mark.parametrize("around", [
    "CREATE VIEW v AS {q}; SELECT * FROM v", "WITH v AS ({q}) SELECT * FROM v",
    "SELECT * FROM ({q} ORDER BY 1)", "{q} UNION ALL SELECT 0, 0 WHERE 0"])
def test_the_query_within_others(db, rng, around):
    tables(db, rng, "texts", rows=200, keys=60)
    f = WITHIN.format(options="key", where="", key="key")
    plain, behind = (text.format(f=f) for text in QUERIES["join"])
    *before, select = around.format(q=behind).split("; ")
    for sql in before:
        db.execute(sql)
    assert sorted(db.execute(select).fetchall(), key=str) == answer(db, plain)


def test_the_next_run_of_a_statement_sees_new_keys(db):
    db.executescript("CREATE TABLE k(key); CREATE TABLE r(key); INSERT INTO r VALUES ('a'), ('b')")
    query = "SELECT group_concat(r.key) FROM r WHERE cf_contains((SELECT cf_open(cf_build(key)) FROM k), r.key)"
    seen = [support.ask(db, query)]
    for key in "ab":
        db.execute("INSERT INTO k VALUES (?)", (key,))
        seen.append(support.ask(db, query))
    assert seen == [None, "a", "a,b"]


@pytest.mark.parametrize("test", ["cf_contains((SELECT cf_open(cf_build(key)) FROM k), r.key)",
                                  "cf_table_contains('f', r.key)"])
def test_a_left_join_in_three_forms(db, test):
    """In WHERE the filter drops the rows that match nothing, as any condition does. In ON it is asked about the
    rows that the index has found, and so saves nothing. rows=on gives all rows."""
    asked = []
    db.create_function("asked", 1, lambda found: asked.append(found) or found)
    db.execute("CREATE TABLE r(key INTEGER)")
    db.execute("CREATE TABLE k(key INTEGER UNIQUE, state TEXT)")
    db.executemany("INSERT INTO r VALUES (?)", [(n,) for n in range(1000)])
    db.executemany("INSERT INTO k VALUES (?, 'x')", [(n * 100,) for n in range(10)])
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(content='k(key)', fpr=0.0001)")
    db.execute("CREATE VIRTUAL TABLE fast USING cuckoo_filter(content='k(key)', rows=on, fpr=0.0001)")
    left = "SELECT r.key, state FROM r LEFT JOIN {} AS k ON k.key = r.key {} ORDER BY 1"
    plain = db.execute(left.format("k", "")).fetchall()
    assert len(plain) == 1000
    dropped = db.execute(left.format("k", f"WHERE {test}")).fetchall()
    assert 10 <= len(dropped) < 20 and [row for row in dropped if row[1]] == [row for row in plain if row[1]]
    assert db.execute(left.format("k", f"AND asked({test})")).fetchall() == plain
    assert len(asked) == 10, "not for each of 1,000 rows: the index was searched before"
    assert db.execute(left.format("fast", "")).fetchall() == plain
    assert db.execute(left.replace("k.key = r.key", "r.key = k.key").format("fast", "")).fetchall() == plain
