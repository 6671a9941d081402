# SPDX-License-Identifier: MIT
"""Long work inside one function ends when the connection is interrupted, by sqlite3_interrupt or a progress handler.

Nothing here is timed. Each function is first run to its end, to count how often the progress handler is called; then the
handler says stop early, and is not called many times more.
"""
import sqlite3
import threading

import pytest

import support
from support import ask

EVERY = 100  # steps between two calls of the progress handler
KEYS = 200_000
RANGE = f"(WITH RECURSIVE k(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM k WHERE x < {KEYS}) SELECT x FROM k)"


class Handler:
    """Counts its calls; from number `last` on it does what `then` says."""

    def __init__(self, last=None, then=lambda: 1):
        self.calls, self.last, self.then = 0, last, then

    def __call__(self):
        self.calls += 1
        return self.then() if self.last is not None and self.calls >= self.last else 0


@pytest.fixture(scope="module")
def large():
    """A connection with plain keys, a filter f of them, one that has grown (h), and two that can be merged (g, g2)."""
    db = support.connect(check_same_thread=False)
    db.execute("CREATE TABLE keys(x)")
    db.execute(f"INSERT INTO keys SELECT x FROM {RANGE}")
    db.execute("CREATE TABLE filters(name PRIMARY KEY, f)")
    room = f"cf_new({2 * KEYS}, 0.01, 'growth=off')"
    for name, sql in {"f": "SELECT cf_build(x, 0.01, 'growth=off') FROM keys",
                      "e": "SELECT cf_build_exact(x, x % 2) FROM keys",
                      "h": "SELECT cf_add_keys(cf_new(10), (SELECT cf_keys(x) FROM keys))",
                      "g": f"SELECT cf_add_keys({room}, (SELECT cf_keys(x) FROM keys))",
                      "g2": f"SELECT cf_add_keys({room}, (SELECT cf_keys(-x) FROM keys))"}.items():
        db.execute(f"INSERT INTO filters VALUES (?, ({sql}))", (name,))
    yield db
    db.close()


def of(name):
    return f"(SELECT f FROM filters WHERE name = '{name}')"


WORK = {"cf_check": f"SELECT cf_check({of('f')})",
        "cf_check, grown": f"SELECT cf_check({of('h')})",
        "cf_check, exact": f"SELECT cf_check({of('e')})",
        "cf_info": f"SELECT cf_info({of('f')})",
        "cf_info, grown": f"SELECT cf_info({of('h')})",
        "cf_merge": f"SELECT length(cf_merge({of('g')}, {of('g2')}))",
        "cf_merge of two that grow": f"SELECT length(cf_merge({of('h')}, {of('h')}))",
        "cf_merge over rows": "SELECT length(cf_merge(f)) FROM filters WHERE name IN ('g', 'g2')"}


def run(db, sql, handler):
    db.set_progress_handler(handler, EVERY)
    try:
        return db.execute(sql).fetchall()
    finally:
        db.set_progress_handler(None, 0)


def interrupted(db, sql, handler):
    with pytest.raises(sqlite3.OperationalError) as caught:
        run(db, sql, handler)
    assert caught.value.sqlite_errorname == "SQLITE_INTERRUPT"
    assert str(caught.value) == "interrupted"


@pytest.mark.parametrize("name", WORK)
def test_a_progress_handler_ends_it(large, name):
    everything = Handler()
    answer = run(large, WORK[name], everything)
    assert everything.calls >= 10
    stops = Handler(last=3)
    interrupted(large, WORK[name], stops)
    assert stops.calls == 3
    assert large.execute(WORK[name]).fetchall() == answer  # the connection works as before


@pytest.mark.parametrize("name", WORK)
def test_an_interrupt_of_another_thread_ends_it(large, name):
    def interrupt():
        thread = threading.Thread(target=large.interrupt)
        thread.start()
        thread.join()
        return 0

    handler = Handler(last=3, then=interrupt)
    interrupted(large, WORK[name], handler)
    assert handler.calls <= 4
    assert ask(large, "SELECT 1") == 1


@pytest.mark.parametrize("call", ["cf_build(x, 0.01, '')", "cf_build(x, 0.01, 'counter_bits=2')", "cf_build(x, 0.01, 'growth=off')",
                                  "cf_build_exact(x, x % 2)", "cf_build_exact(x, x % 50 = 0)"])
def test_the_end_of_a_build_is_interrupted(large, call):
    """What comes after the last row: sorting, and adding."""
    sql = f"SELECT length({call}) FROM keys"
    rows, everything = Handler(), Handler()
    run(large, "SELECT max(x + 0.01) FROM keys", rows)
    answer = run(large, sql, everything)
    assert everything.calls > rows.calls + 15
    for last in range(everything.calls - 15, everything.calls, 3):
        stops = Handler(last=last)
        interrupted(large, sql, stops)
        assert stops.calls <= last + 1
    assert large.execute(sql).fetchall() == answer


def test_a_build_that_is_interrupted_among_its_rows_does_not_go_on(large):
    """SQLite ends the aggregate all the same; it need not sort and build for that."""
    sql = "SELECT length(cf_build(x)) FROM keys"
    everything = Handler()
    run(large, sql, everything)
    stops = Handler(last=20)
    interrupted(large, sql, stops)
    assert stops.calls <= 21


def test_nothing_is_changed(large):
    """A statement that writes is rolled back, as SQLite does when it is interrupted."""
    before = large.execute("SELECT name, f FROM filters ORDER BY name").fetchall()
    stops = Handler(last=3)
    interrupted(large, "UPDATE filters SET f = cf_merge(f, f) WHERE name = 'h'", stops)
    assert large.execute("SELECT name, f FROM filters ORDER BY name").fetchall() == before
    assert not large.in_transaction


def test_an_interrupt_from_before_the_first_question_is_heard(large):
    """SQLite does not look between two functions of one row."""
    def stop_now(value):
        large.interrupt()
        return value

    large.create_function("stop_now", 1, stop_now)
    for call in ("cf_check", "cf_info"):
        with pytest.raises(sqlite3.OperationalError, match="interrupted"):
            large.execute(f"SELECT {call}(stop_now({of('f')}))")  # steps to the first row, and no further
    assert ask(large, WORK["cf_check"]) == "ok"


def test_a_forbidden_question_leaves_the_work_alone(large):
    """An authorizer may refuse the statement that asks: then the function works to its end."""
    calls, most = 0, 1000

    def authorizer(*_):
        nonlocal calls
        calls += 1
        return sqlite3.SQLITE_OK if calls <= most else sqlite3.SQLITE_DENY

    large.set_authorizer(authorizer)
    try:
        large.execute("EXPLAIN " + WORK["cf_check"]).fetchall()
        most, calls = calls, 0
        assert ask(large, WORK["cf_check"]) == "ok"
        assert calls == most + 1
    finally:
        large.set_authorizer(None)


def test_short_work_asks_nothing(large):
    small = support.build(large, range(10))
    statements = []
    large.set_trace_callback(statements.append)
    try:
        ask(large, "SELECT cf_check(?)", small)
        ask(large, "SELECT cf_info(?)", small)
        ask(large, "SELECT cf_merge(?1, ?1)", small)
        support.build(large, range(100))
    finally:
        large.set_trace_callback(None)
    assert "SELECT 1" not in statements and len(statements) >= 4


# ---- one key for which a filter grows ----

GROWING = "bucket_size=4 fingerprint_bits=12 overflow=on spill_bound=64"


@pytest.fixture(scope="module")
def full(large):
    """A filter, and a key for which it takes its first step of growth. With a spill list that widens all its buckets."""
    def grown(blob):
        got = support.info(large, blob)
        return got["buckets"] > got["base_buckets"]

    def added(blob, first, last):
        return ask(large, "SELECT cf_add_keys(?1, (SELECT cf_keys(x) FROM keys WHERE x BETWEEN ?2 AND ?3))", blob, first, last)

    blob, n = ask(large, f"SELECT cf_new({KEYS // 2}, 0.01, '{GROWING}')"), 1
    for step in (20_000, 2_000, 200, 20, 1):
        while not grown(more := added(blob, n, n + step - 1)):
            blob, n = more, n + step
    return blob, n


def test_one_add_is_interrupted(large, full):
    blob, key = full
    large.execute("CREATE TEMP TABLE full AS SELECT ? AS f", (blob,))
    try:
        for call in (f"cf_add(f, {key})", f"cf_add_all(f, {key})"):
            everything, stops = Handler(), Handler(last=3)
            answer = run(large, f"SELECT {call} FROM full", everything)
            assert everything.calls > 3  # the other statements stop in the midst
            interrupted(large, f"SELECT {call} FROM full", stops)
            assert stops.calls == 3
            interrupted(large, f"UPDATE full SET f = (SELECT {call} FROM full)", Handler(last=3))
            assert ask(large, "SELECT f FROM full") == blob
            assert large.execute(f"SELECT {call} FROM full").fetchall() == answer
    finally:
        large.execute("DROP TABLE full")


def test_one_insertion_is_interrupted(full):
    blob, key = full
    db = support.connect()
    db.execute(f"CREATE VIRTUAL TABLE t USING cuckoo_filter(capacity={KEYS // 2}, {GROWING.replace(' ', ', ')})")
    db.execute("INSERT INTO t(t, key) VALUES ('import', ?)", (blob,))
    db.commit()
    insert, before = f"INSERT INTO t(key) VALUES ({key})", ask(db, "SELECT count(*) FROM t")
    stops = Handler(last=3)
    interrupted(db, insert, stops)
    assert stops.calls == 3
    db.rollback()
    assert ask(db, "SELECT cf_export('t')") == blob
    assert ask(db, "SELECT count(*) FROM t") == before
    db.execute(insert)
    assert ask(db, "SELECT count(*) FROM t") == before + 1
    assert ask(db, f"SELECT cf_table_contains('t', {key})") == 1
    db.execute("INSERT INTO t(t) VALUES ('check')")
    db.close()
