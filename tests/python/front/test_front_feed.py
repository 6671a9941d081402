# SPDX-License-Identifier: MIT
"""rows=on: the statement that runs on from key to key in a join, and the filter that is asked only if that pays."""
import itertools
import random
import sqlite3

import pytest

import support

TABLES = {
    "unique": ("t(k TEXT UNIQUE, n INT)", "", "k"),
    "not unique": ("t(k TEXT, n INT)", "CREATE INDEX i ON t(k)", "k"),
    "no index": ("t(k TEXT, n INT)", "", "k"),
    "rowid": ("t(k INTEGER PRIMARY KEY, n INT)", "", "k"),
    "integers": ("t(k INT, n INT)", "CREATE INDEX i ON t(k)", "k"),
    "reals": ("t(k REAL UNIQUE, n INT)", "", "k"),
    "without rowid": ("t(k TEXT PRIMARY KEY, n INT) WITHOUT ROWID", "", "k"),
    "second of a key": ("t(k TEXT, n INT, PRIMARY KEY(n, k)) WITHOUT ROWID", "CREATE INDEX i ON t(k)", "k"),
    "nocase": ("t(k TEXT COLLATE NOCASE UNIQUE, n INT)", "", "k"),
    "unique by another collation": ("t(k TEXT COLLATE NOCASE, n INT, PRIMARY KEY(k COLLATE BINARY))",
                                    "CREATE INDEX i ON t(k)", "k"),
    "names to be quoted": ('t("k ?1"" FROM " TEXT UNIQUE, n INT)', "", '"k ?1"" FROM "'),
}
QUERIES = [
    "SELECT e.id, t.n FROM e JOIN {T} AS t ON t.{k} = e.x ORDER BY 1, 2",
    "SELECT e.id, t.* FROM e LEFT JOIN {T} AS t ON t.{k} = e.x ORDER BY 1, 2, 3",
    "SELECT e.id, t.n FROM e CROSS JOIN {T} AS t ON t.{k} = e.x AND t.n > e.y ORDER BY 1, 2",
    "SELECT e.id, t.n FROM e JOIN {T} AS t ON t.{k} = e.x AND t.n > e.y AND t.n < 90 AND t.n <> 7 ORDER BY 1, 2",
    "SELECT e.id, count(*), max(t.{k}), group_concat(t.n) FROM e JOIN {T} AS t ON t.{k} = e.x GROUP BY e.id",
    "SELECT e.id FROM e WHERE EXISTS(SELECT 1 FROM {T} AS t WHERE t.{k} = e.x AND t.n >= e.y) ORDER BY 1",
    "SELECT e.id, (SELECT t.n FROM {T} AS t WHERE t.{k} = e.x AND t.n > 1 ORDER BY t.n LIMIT 1) FROM e ORDER BY 1",
    "SELECT DISTINCT t.{k} FROM e JOIN {T} AS t ON t.{k} = e.x ORDER BY 1",
    "SELECT e.id, t.n, u.n FROM e JOIN {T} AS t ON t.{k} = e.x JOIN {T} AS u ON u.{k} = t.{k} ORDER BY 1, 2, 3",
    "SELECT e.id, t.n FROM e JOIN {T} AS t ON t.{k} = e.x OR t.{k} = e.y ORDER BY 1, 2",
    "SELECT e.id, t.n FROM e JOIN {T} AS t ON t.{k} IS e.x ORDER BY 1, 2",
    "SELECT e.id, t.n FROM e JOIN {T} AS t ON t.{k} IN (e.x, e.y) ORDER BY 1, 2",
]


def filled(db, kind, share, rows=200, options=""):
    """t has 100 keys, and e asks for keys of which this share is there; each fifth row of e has a key of another type."""
    create, index, k = TABLES[kind]
    rng = random.Random(share)
    text = "TEXT" in create
    key = (lambda i: f"{'kK'[i % 2]}{i // 2}") if "NOCASE" in create else (lambda i: f"k{i}") if text else (lambda i: i * 3)
    db.execute(f"CREATE TABLE {create}")
    db.execute(index)
    repeats = 1 if "UNIQUE" in create or "PRIMARY KEY" in create and "n, k" not in create else 3
    db.executemany("INSERT OR IGNORE INTO t VALUES (?, ?)", [(key(i), i + 100 * r) for i in range(100) for r in range(repeats)])
    db.execute("CREATE TABLE e(id INTEGER PRIMARY KEY, x, y)")
    for i in range(rows):
        x = key(rng.randrange(100) if rng.random() < share else 1000 + i)
        x = rng.choice([str(x), x, None, 3, 3.0, b"k"]) if i % 5 == 4 else x
        db.execute("INSERT INTO e(x, y) VALUES (?, ?)", (x, rng.randrange(100)))
    db.execute(f"CREATE VIRTUAL TABLE f USING cuckoo_filter(content='t({k})', rows=on{options})")
    return k


def both(db, sql, k):
    rows = [db.execute(sql.format(T=T, k=k)).fetchall() for T in "tf"]
    assert rows[0] == rows[1], sql
    return rows[1]


def statements_of(db, sql):
    """(starts of the fed statement, starts of others that read t)"""
    seen = []
    db.set_trace_callback(seen.append)
    db.execute(sql).fetchall()
    db.set_trace_callback(None)
    reads = [text for text in seen if '"main"."t" AS c WHERE' in text or "cuckoo_feed" in text]
    fed = sum("cuckoo_feed" in text for text in reads)
    return fed, len(reads) - fed


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16le"])
@pytest.mark.parametrize("kind", TABLES)
def test_rows_are_those_of_the_content(kind, encoding):
    for share in (0, 0.5, 1):
        db = support.connect(encoding=encoding)
        k = filled(db, kind, share)
        for sql, _ in itertools.product(QUERIES, range(2)):
            both(db, sql, k)
        db.close()


@pytest.mark.parametrize("share", [0.5, 1])
@pytest.mark.parametrize("kind", ["unique", "not unique", "rowid", "without rowid", "names to be quoted"])
def test_a_join_runs_one_statement(db, kind, share):
    """Two keys are looked up before it is prepared."""
    k = filled(db, kind, share)
    db.execute("DELETE FROM e WHERE id % 5 = 0 OR x IS NULL")
    fed, plain = statements_of(db, f"SELECT count(t.n) FROM e CROSS JOIN f AS t ON t.{k} = e.x")
    assert fed == 1 and plain <= 2


def test_while_a_filter_that_rejects_nothing_is_not_asked_the_table_answers(db):
    """After 64 keys that are there 1,000 are looked up in the table alone."""
    db.executescript("CREATE TABLE t(k INT UNIQUE, n INT); CREATE TABLE e(x INT); CREATE VIRTUAL TABLE f USING "
                     "cuckoo_filter(content='t(k)', rows=on)")
    db.executemany("INSERT INTO t VALUES (?, ?)", [(i, -i) for i in range(3000)])
    db.executemany("INSERT INTO e VALUES (?)", [(i,) for i in [*range(2500), *range(2900, 6000), *range(500)]])
    sql = "SELECT count(*), sum(t.n), min(t.n) FROM e CROSS JOIN {T} AS t ON t.k = e.x"
    assert both(db, sql, "k")[0][0] == 3100


BARS = {
    "denies the function": lambda action, one, two, *_: action == sqlite3.SQLITE_READ and one == "cuckoo_feed" and sqlite3.SQLITE_DENY,
    **{f"ignores {column}": lambda action, one, two, *_, column=column:
       action == sqlite3.SQLITE_READ and one == "cuckoo_feed" and two == column and sqlite3.SQLITE_IGNORE
       for column in ("k1", "feed")},
    "ignores the function": lambda action, one, *_: one == "cuckoo_feed" and sqlite3.SQLITE_IGNORE,
}


@pytest.mark.parametrize("bar", [*BARS, "a table of its name", "few columns"])
def test_where_the_statement_cannot_run_the_other_one_does(db, bar):
    k = filled(db, "unique", 0.7)
    expected = [db.execute(sql.format(T="t", k=k)).fetchall() for sql in QUERIES]
    if bar in BARS:
        db.set_authorizer(lambda *what: BARS[bar](*what) or sqlite3.SQLITE_OK)
    elif bar == "a table of its name":
        db.execute("CREATE TABLE cuckoo_feed(k1, k2)")
    elif hasattr(db, "setlimit"):
        db.setlimit(sqlite3.SQLITE_LIMIT_COLUMN, 6)
    for sql, rows in zip(QUERIES, expected):
        assert db.execute(sql.format(T="f", k=k)).fetchall() == rows, sql


@pytest.mark.skipif(not hasattr(sqlite3.Connection, "setlimit"), reason="needs Python 3.11")
@pytest.mark.parametrize("options", ["", ", rowids=on"])
@pytest.mark.parametrize("kind", ["unique", "not unique", "no index", "rowid", "integers", "names to be quoted"])
def test_ten_parameters_are_enough(db, kind, options):
    k = filled(db, kind, 0.5, options=options)
    db.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 10)
    alone = ["SELECT t.n FROM {T} AS t WHERE t.{k} = 'k3'", "SELECT t.n FROM {T} AS t WHERE t.{k} = 6",
             "SELECT t.n FROM {T} AS t WHERE t.{k} IN ('k3', 'k4', 6, 7.5)",
             "SELECT t.n FROM {T} AS t WHERE t.{k} IN ('k3', 'k4', 'no') AND t.n > 1",
             "SELECT t.n FROM {T} AS t WHERE t.{k} = 'k3'" + " AND t.n >= 0" * 8]
    for sql in QUERIES + [sql + " ORDER BY 1" for sql in alone]:
        both(db, sql, k)


def test_another_one_may_call_the_function_but_it_has_no_rows(db):
    for call in ("cuckoo_feed", "cuckoo_feed(1)", "cuckoo_feed(NULL)", "cuckoo_feed(zeroblob(100))"):
        assert db.execute(f"SELECT * FROM {call}").fetchall() == []


def next_row(query):
    """None at the end; or the message."""
    try:
        return query.fetchone()
    except sqlite3.Error as error:
        return str(error)


@pytest.mark.parametrize("kind", ["unique", "not unique", "rowid", "without rowid"])
@pytest.mark.parametrize("within", [True, False])
def test_what_changes_between_two_rows_is_seen(kind, within, rng):
    """The same query on the table and on the front, a row at a time, while the connection writes, and rolls back. Rows of the
    key at which it is stay: of them each may see more or fewer."""
    for _ in range(6):
        db = support.connect()
        k = filled(db, kind, 0.8, rows=60)
        if within:
            db.execute("BEGIN")
        sql = "SELECT e.id, t.n FROM e CROSS JOIN {T} AS t ON t.{k} = e.x WHERE e.id % 5 <> 0"
        shown, change = [db.execute(sql.format(T=T, k=k)) for T in "tf"], ""
        while True:
            rows = [next_row(one) for one in shown]
            assert rows[0] == rows[1], change
            if not isinstance(rows[0], tuple):
                break
            here = support.ask(db, f"SELECT x FROM e WHERE id = {rows[0][0]}")
            key = support.ask(db, "SELECT coalesce((SELECT x FROM e WHERE id > ? AND id % 5 AND x IS NOT ? LIMIT 1), 5000)",
                              rows[0][0], here)
            change = rng.choice(["", "", f"DELETE FROM t WHERE {k} = ?1", f"INSERT OR IGNORE INTO t({k}, n) VALUES (?1, 77)",
                                 f"UPDATE t SET n = n + 1 WHERE {k} = ?1", "SAVEPOINT s", "ROLLBACK TO s", "CREATE TABLE more(x)",
                                 f"CREATE INDEX more_of_t ON t(n, {k})", "ALTER TABLE t ADD COLUMN m"])
            try:
                db.execute(change, (key,) if "?1" in change else ())
            except sqlite3.OperationalError:
                assert change[0] in "SRCA", change
        db.close()


@pytest.mark.skipif(sqlite3.sqlite_version_info < (3, 35), reason="DROP COLUMN")
@pytest.mark.parametrize("other", [True, False])
def test_columns_that_go_between_two_rows(db, other):
    """The statement is compiled again: its columns would be others. `other`: another query has noticed that before."""
    db.executescript("CREATE TABLE t(k INT UNIQUE, a, n INT); CREATE TABLE e(x INT); CREATE VIRTUAL TABLE f USING "
                     "cuckoo_filter(content='t(k)', rows=on)")
    db.executemany("INSERT INTO t VALUES (?1, 'a', ?1)", [(i,) for i in range(10)])
    db.execute("INSERT INTO e SELECT k FROM t")
    query = db.execute("SELECT e.x, f.n FROM e CROSS JOIN f ON f.k = e.x")
    assert [query.fetchone() for _ in range(5)] == [(i, i) for i in range(5)]
    db.execute("ALTER TABLE t DROP COLUMN a")
    if other:
        assert db.execute("SELECT n FROM f WHERE k IN (3, 4)").fetchall() == [(3,), (4,)]
    assert query.fetchall() == [(i, i) for i in range(5, 10)]


def test_no_lock_stays(tmp_path):
    """The statement ends with the query that needs it, whether that reads all its rows or not."""
    path = str(tmp_path / "feed.db")
    db, other = support.connect(path), sqlite3.connect(path, isolation_level=None, timeout=0)
    k = filled(db, "unique", 1)
    for one in (True, False):
        query = db.execute(f"SELECT e.id FROM e CROSS JOIN f AS t ON t.{k} = e.x")
        rows = [query.fetchone() for _ in range(10)] if one else query.fetchall()
        query.close()
        assert len(rows) >= 10
        other.execute("BEGIN EXCLUSIVE")
        other.execute("COMMIT")
    db.execute("DROP TABLE f")
