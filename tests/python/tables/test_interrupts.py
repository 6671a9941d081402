# SPDX-License-Identifier: MIT
"""Long work ends when the connection is interrupted, by sqlite3_interrupt or a progress handler, and changes nothing.

Nothing here is timed. Each function is first run to its end, to count how often the progress handler is called; then the
handler says stop early, and is not called many times more.
"""
import itertools
import sqlite3
import threading

import pytest

import support
from promises import attempt, script
from seen import create, lost
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


@pytest.mark.parametrize("call", ["cf_build(x, 0.01, '')", "cf_build(x, 0.01, 'counter_bits=2')",
                                  "cf_build(x, 0.01, 'growth=off')",
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


def test_an_authorizer_that_denies_everything_leaves_the_work_alone(large):
    """It cannot ask whether it is interrupted, then: it works to its end."""
    statement = large.cursor()
    large.execute(WORK["cf_check"])  # is kept
    large.create_function("deny", 1, lambda value: large.set_authorizer(lambda *_: sqlite3.SQLITE_DENY) or value)
    try:
        assert statement.execute(f"SELECT cf_check(deny({of('f')}))").fetchone() == ("ok",)
    finally:
        large.set_authorizer(None)


# ---- one key for which a filter grows ----

GROWING = "bucket_size=4 fingerprint_bits=12"


@pytest.fixture(scope="module")
def full(large):
    """A filter, and a key for which it takes its first step of growth, which widens all its buckets."""
    def grown(blob):
        got = support.info(large, blob)
        return got["buckets"] > got["base_buckets"]

    def added(blob, first, last):
        return ask(large, "SELECT cf_add_keys(?1, (SELECT cf_keys(x) FROM keys WHERE x BETWEEN ?2 AND ?3))", blob,
                   first, last)

    blob, n = ask(large, f"SELECT cf_new({KEYS // 2}, 0.01, '{GROWING}')"), 1
    for step in (20_000, 2_000, 200, 20, 1):
        while not grown(more := added(blob, n, n + step - 1)):
            blob, n = more, n + step
    return blob, n


def test_one_add_is_interrupted(large, full):
    blob, key = full
    large.execute("CREATE TEMP TABLE full AS SELECT ? AS f", (blob,))
    try:
        for call in (f"cf_add(f, {key})", f"cf_add_keys(f, cf_keys({key}))"):
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


# ---- commands ----

@pytest.fixture(scope="module")
def long():
    """A filter table of many keys that follows a table, with more room than it needs; another one of the same keys."""
    db = support.connect()
    db.execute("CREATE TABLE t(k)")
    db.execute("WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 60000) INSERT INTO t SELECT i FROM n")
    create(db, "content='t(k)'")
    db.execute("DELETE FROM t WHERE rowid % 3 = 0")
    create(db, name="free")
    blob = ask(db, "SELECT cf_export('seen')")
    db.execute("INSERT INTO free(free, key) VALUES ('import', ?)", (blob,))
    yield db, blob
    db.close()


@pytest.mark.parametrize("command", ["check", "optimize", "rebuild", "import"])
def test_commands_are_interrupted(long, command):
    """At any of its questions: the keys are there, and nothing is wrong inside."""
    db, blob = long
    table = "free" if command == "import" else "seen"
    values = (command, blob if command == "import" else None)
    last, stopped = 1, 0
    while True:
        handler = Handler(last)
        try:
            db.set_progress_handler(handler, 100)
            db.execute(f"INSERT INTO {table}({table}, key) VALUES (?, ?)", values)
            break
        except sqlite3.OperationalError as error:
            assert error.sqlite_errorname == "SQLITE_INTERRUPT" and "interrupted" in str(error)
            stopped += 1
        finally:
            db.set_progress_handler(None, 0)
        assert lost(db, [key for key in range(1, 60000, 997) if key % 3], table) == []
        last += last // 4 + 1
    assert stopped > 5
    db.execute(f"INSERT INTO {table}({table}) VALUES ('check')")


# ---- CREATE, the first use, DROP ----

CREATED = {
    "direct": "capacity=100", "ageing": "capacity=100, keep='1 hour'",
    "followed": "content='t(k)'",
    "followed, empty": "content='nobody(k)'", "followed rowid": "content='t(id)'", "unique": "content='u(k)'",
    "without rowid": "content='w(k)'",
    "rows": "content='t(k)', rows=on", "rows without rowid": "content='w(k)', rows=on",
}
POINTS = 25  # at most so many of each kind, other ones in each run
TABLES = """
    CREATE TABLE t(id INTEGER PRIMARY KEY, k TEXT); CREATE TABLE nobody(k); CREATE TABLE u(k UNIQUE);
    CREATE TABLE w(k TEXT PRIMARY KEY, x) WITHOUT ROWID; CREATE TRIGGER r AFTER INSERT ON nobody BEGIN SELECT 1; END;
    WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < 50) INSERT INTO t(k) SELECT 'k' || i FROM n;
    INSERT INTO u SELECT k FROM t; INSERT INTO w SELECT k, 1 FROM t"""


def content(path=":memory:"):
    db = support.connect(path)
    db.executescript(TABLES)
    return db


def schema(db):
    return db.execute("SELECT name FROM sqlite_master UNION ALL SELECT name FROM sqlite_temp_master ORDER BY 1").fetchall()


def run_until(db, sql, last=None, interrupt=False):
    """Runs a statement; from call `last` of the progress handler on it is to stop. How many calls there were, and the error."""
    calls = itertools.count(1)

    def handler():
        stops = next(calls) >= (last or 1 << 60)
        if stops and interrupt:
            db.interrupt()
        return stops and not interrupt
    db.set_progress_handler(handler, 1)
    error = attempt(db, sql)
    db.set_progress_handler(None, 0)
    assert error is None or "interrupted" in str(error) and error.sqlite_errorname == "SQLITE_INTERRUPT", error
    return next(calls) - 1, error


@pytest.mark.parametrize("begin", ["", "BEGIN", "SAVEPOINT s"])
@pytest.mark.parametrize("kind", CREATED)
def test_create_is_interrupted(rng, kind, begin):
    """It says so, leaves nothing, and can be said again. SQLite before 3.43, or since 3.46, may say so when it has been done."""
    create_it = f"CREATE VIRTUAL TABLE f USING cuckoo_filter({CREATED[kind]})"
    calls, _ = run_until(content(), create_it)
    points = range(1, calls + 1)
    for last in points if calls <= POINTS else sorted(rng.sample(points, POINTS)):
        db = content()
        before = schema(db)
        db.execute(begin)
        _, error = run_until(db, create_it, last, interrupt=last % 2)
        if error and schema(db) == before:
            db.execute(create_it)
        else:
            assert not error or not (3, 43) <= sqlite3.sqlite_version_info < (3, 46)
        script(db, "COMMIT")
        assert ask(db, "SELECT cf_table_check('f')") == "ok" and schema(db) != before
        db.execute("DROP TABLE f")
        assert schema(db) == before
        db.close()


DROPPED = {"direct": "capacity=100", "followed": "content='u(k)'", "fronted": "content='u(k)', rows=on"}
FRAMES = {"autocommit": [], "a transaction": ["BEGIN"], "a savepoint": ["BEGIN", "SAVEPOINT s"]}


def world(kind):
    db = support.connect()
    db.executescript(f"""
        CREATE TABLE u(id INTEGER PRIMARY KEY, k); INSERT INTO u(k) VALUES ('a'), ('b'); CREATE TABLE other(x);
        CREATE VIRTUAL TABLE f USING cuckoo_filter({DROPPED[kind]});""")
    if kind == "direct":
        db.execute("INSERT INTO f(key) VALUES ('a'), ('b')")
    return db


def objects(db):
    return db.execute("SELECT type, name, sql FROM sqlite_master ORDER BY 1, 2").fetchall()


def drop(db, interrupts):
    """The error, and whether the handler was asked that often."""
    calls = itertools.count(1)
    asked = []
    db.set_progress_handler(lambda: interrupts(next(calls)) and (asked.append(1) or 1), 5)
    error = attempt(db, "DROP TABLE f")
    db.set_progress_handler(None, 0)
    return error, bool(asked)


def gone_or_as_before(db, error, before, begun):
    """Is the table still there? SQLite asks the handler once more when a statement has been done."""
    there, rows = objects(db), ask(db, "SELECT count(*) FROM other")
    assert there in (before, [row for row in before if row[1] in ("u", "other")]), "a half of it is gone"
    assert error or there != before, "neither gone, nor an error"
    taken_back = error and there == before and not db.in_transaction
    assert (db.in_transaction, rows) == ((False, 0) if taken_back else (begun, int(begun))), "rolled back"
    if there == before:
        assert db.execute("SELECT cf_table_contains('f', k) FROM u WHERE id < 3").fetchall() == [(1,), (1,)]
    return there == before


@pytest.mark.parametrize("how", ["once", "from then on"])
@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("kind", DROPPED)
def test_drop_is_interrupted(kind, frame, how):
    db, asked = None, True
    for n in itertools.count(1):
        if db is None:
            db = world(kind)
            before = objects(db)
        for sql in FRAMES[frame]:
            db.execute(sql)
        if frame != "autocommit":
            db.execute("INSERT INTO other VALUES (7)")
            db.execute("INSERT INTO u(k) VALUES ('c')")
        error, asked = drop(db, lambda call: call == n if how == "once" else call >= n)
        if not gone_or_as_before(db, error, before, frame != "autocommit"):
            db.close()
            db = None
        elif db.in_transaction:
            db.execute("ROLLBACK")
        if not asked:
            break
    assert error is None and n > 3


@pytest.mark.parametrize("journal", ["wal", "delete"])
@pytest.mark.parametrize("keys", [1, 5])
def test_a_commit_of_two_tables_that_is_interrupted_loses_nothing_in_silence(tmp_path, journal, keys):
    """At each call of the progress handler: the transaction goes on as it was, or has been taken back."""
    db = support.connect(str(tmp_path / "two.db"))
    db.execute(f"PRAGMA journal_mode = {journal}")
    script(db, "CREATE TABLE tick(n); INSERT INTO tick VALUES (0)")
    create(db)
    create(db, name="other")
    for call in range(1, 60 * keys, keys):
        n = ask(db, "SELECT n FROM tick")
        script(db, "BEGIN; UPDATE tick SET n = n + 1")
        for name, sign in ("seen", 1), ("other", -1):
            db.executemany(f"INSERT INTO {name}(key) VALUES (?)", [(sign * (100 * call + i),) for i in range(keys)])
        handler = Handler(call, lambda: handler.calls == call)
        db.set_progress_handler(handler, 1)
        error = attempt(db, "COMMIT")
        db.set_progress_handler(None, 0)
        if db.in_transaction:
            db.execute("COMMIT")
            error = None
        done = ask(db, "SELECT n FROM tick") == n + 1  # SQLite may say interrupted of what is done
        assert done or error, call
        for name, sign in ("seen", 1), ("other", -1):
            for i in range(keys if done else 0):
                assert ask(db, "SELECT cf_table_contains(?, ?)", name, sign * (100 * call + i)), (call, name, i)
    assert handler.calls < call
    db.close()
