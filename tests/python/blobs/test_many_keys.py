# SPDX-License-Identifier: MIT
"""cf_build of more keys than are kept in memory: the same bytes with a temporary file and without, and clear errors."""
import os
import subprocess
import sys
import textwrap

import pytest

import support
from support import ask

RUN = 1 << 19  # keys that are kept in memory, and half as many pairs (collect.c)
KEYS = "WITH RECURSIVE k(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM k LIMIT {n}) "
CASES = [("x", "''", ""), ("x || '@example.org'", "'seed=7'", ""), ("x % 700001", "'counter_bits=4'", ""),
         ("x", "'value_bits=9'", ", x % 512"), ("x", "'capacity=900000'", ""), ("x % 3 * 1000000 + x", "'hash=keyed seed=3'", "")]


def built(store, key, options, value, n=RUN + 90_000):
    return measured(store, n, f"cf_build({key}, 0.01, {options}{value})")


def measured(store, n, call):
    """The filter, and the bytes of memory that it took."""
    with support.connect() as db:
        db.execute(f"PRAGMA temp_store = {store}")
        memory = support.Memory()
        memory.reset_peak()
        before = memory.used()
        blob = ask(db, KEYS.format(n=n) + f"SELECT {call} FROM k")
        return blob, memory.peak() - before


@pytest.mark.parametrize("key, options, value", CASES)
def test_a_temporary_file_changes_no_byte(key, options, value):
    assert built("file", key, options, value)[0] == built("memory", key, options, value)[0]


def test_memory():
    """Two runs of 4 MB, one to sort the other; then a part, and the filter, which SQLite copies."""
    assert built("file", "x", "''", "", 4 * RUN)[1] < 10_000_000
    assert built("memory", "x", "''", "", 4 * RUN)[1] > 24_000_000


def test_an_exact_filter_takes_as_little():
    call = "cf_build_exact(x, x % 2)"
    filed, memory = measured("file", 3 * RUN, call), measured("memory", 3 * RUN, call)
    assert filed[0] == memory[0]
    assert filed[1] < 12_000_000 + 1.3 * len(filed[0]) and memory[1] > 24_000_000


def test_groups_share_nothing(db):
    """Two long lists and a short one, in one statement."""
    n = 2 * RUN + 40_000
    rows = KEYS.format(n=n) + "SELECT cf_build(x) FROM k GROUP BY x % 2 UNION ALL SELECT cf_build(x) FROM k WHERE x < 5"
    blobs = [row[0] for row in db.execute(rows)]
    for blob, chosen in zip(blobs[1:], ("x % 2 = 1", "x < 5")):
        assert blob == ask(db, KEYS.format(n=n) + f"SELECT cf_build(x) FROM k WHERE {chosen}")


def test_an_interrupt_ends_it(db):
    db.set_progress_handler(lambda: 1, 20_000_000)
    with pytest.raises(Exception, match="interrupted"):
        db.execute(KEYS.format(n=3 * RUN) + "SELECT cf_build(x) FROM k").fetchall()
    db.set_progress_handler(None, 0)
    assert ask(db, "SELECT cf_contains(cf_build('ada'), 'ada')") == 1


@pytest.mark.parametrize("statement, what", [
    ("INSERT INTO t SELECT cf_build(x) FROM many", "cf_build"),
    ("INSERT INTO t SELECT cf_build_exact(x, x > 9) FROM many", "cf_build_exact"),
    ("CREATE VIRTUAL TABLE f USING cuckoo_filter(content='many(x)')", "cuckoo_filter")])
def test_a_full_directory_is_a_clear_error(statement, what):
    """A file that may not grow stands for a full directory. The transaction goes on."""
    program = textwrap.dedent(f"""
        import resource, signal, sqlite3, sys
        sys.path.insert(0, {os.path.dirname(support.__file__)!r})
        import support
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        db = support.connect()
        db.isolation_level = None
        db.execute("CREATE TABLE t(x)")
        db.execute("CREATE TABLE many AS {KEYS.format(n=2 * RUN)} SELECT x FROM k")
        db.execute("BEGIN")
        db.execute("INSERT INTO t VALUES (1)")
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
        try:
            db.execute({statement!r})
        except sqlite3.OperationalError as error:
            print(error)
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        print(db.in_transaction, db.execute("SELECT count(*) FROM t").fetchone()[0])
        db.execute("PRAGMA temp_store = memory")
        print(db.execute("{KEYS.format(n=RUN + 9)} SELECT cf_contains(cf_build(x), 5) FROM k").fetchone()[0])
    """)
    done = subprocess.run([sys.executable, "-B", "-c", program], capture_output=True, text=True, check=True)
    message, state, after = done.stdout.splitlines()
    assert message.startswith(f"{what}: the temporary file cannot be written or read")
    assert "PRAGMA temp_store = memory" in message
    assert (state, after) == ("True 1", "1")
