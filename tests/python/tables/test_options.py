# SPDX-License-Identifier: MIT
"""Options of filter tables: how they may be written, what is wrong with them, capacities that are too much."""
import os
import resource
import subprocess
import sys

import pytest

import support
from seen import ERROR, TOO_BIG, check, create, has, info, insert, items, refused, schema_of


@pytest.mark.parametrize("arguments", ["growth=maybe", "capacity=-5", "capacity=many", "capacity=1.5", "capacity=0x10"])
def test_a_bad_value_has_the_valid_ones_beside_it(db, arguments):
    valid = {"growth": "on|off", "capacity": "number of keys"}[arguments.partition("=")[0]]
    message = refused(db, ERROR, f"CREATE VIRTUAL TABLE seen USING cuckoo_filter({arguments})",
                      says=f"bad value in {arguments}; valid: ")
    assert message.endswith(f"={valid}") and schema_of(db) == []


@pytest.mark.parametrize("arguments", ["bogus=1", "hello", "=''", "capa=9", "rate=0.1"])
def test_an_option_error_names_the_valid_ones(db, arguments):
    message = refused(db, ERROR, f"CREATE VIRTUAL TABLE seen USING cuckoo_filter({arguments})")
    for name in ("capacity=", "fpr=", "content='table(column)'", "growth=on|off", "counter_bits="):
        assert name in message
    assert message.startswith("cuckoo_filter: ") and schema_of(db) == []


@pytest.mark.parametrize("fpr", ["0", "1", "-1", "2", "nan", "inf", "x", "", "NULL", "1e-30", "1e-400"])
def test_fpr_must_be_a_rate(db, fpr):
    refused(db, ERROR, f"CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=100, fpr={fpr})", says="fpr")


@pytest.mark.parametrize("name", ["capacity=10", "fpr=0.1", "content='t(x)'", "seed=1"])
def test_an_option_given_twice_is_an_error(db, name):
    db.execute("CREATE TABLE t(x)")
    refused(db, ERROR, f"CREATE VIRTUAL TABLE seen USING cuckoo_filter({name}, {name})", says="twice")


@pytest.mark.parametrize("arguments", [
    "capacity=1e3, fpr=1e-3", "capacity='1000', fpr='0.001'", 'Capacity="1000", FPR=0.001', "CAPACITY=1000.0, Fpr=.001",
    "capacity=+1000, fpr=0.1e-2", "capacity=[1e3], fpr=`1E-3`", "capacity = '1000' , fpr = '0.001' , Growth='ON'"])
def test_natural_spellings(db, arguments):
    create(db, arguments)
    create(db, "capacity=1000, fpr=0.001", "other")
    shape = [{name: info(db, table)[name] for name in ("capacity", "fpr_at_capacity", "bytes", "growth")}
             for table in ("seen", "other")]
    assert shape[0] == shape[1] and shape[0]["capacity"] == 1000


@pytest.mark.parametrize("arguments", ["", "fpr=0.01", "growth=off"])
def test_without_capacity_the_message_says_to_give_it(db, arguments):
    db.execute("CREATE TABLE t(x)")
    refused(db, ERROR, f"CREATE VIRTUAL TABLE seen USING cuckoo_filter({arguments})", says="such as capacity=1000000")


@pytest.mark.parametrize("arguments", ["", "capacity=0", "capacity=5, fpr=0.001", "capacity=7 seed=-3",
                                       "capacity=9, layout=semisort, bucket_size=4", "stash=on, growth=off",
                                       "growth=off, capacity=1", "bucket_size=8", "counter_bits=16"])
def test_shapes(db, arguments):
    create(db, arguments)
    insert(db, "x")
    assert has(db, "x") and items(db) == 1
    check(db)


@pytest.mark.parametrize("within", [False, True])
@pytest.mark.parametrize("capacity", ["1e30", "999999999999999999999", "1e12", "1" + "0" * 39, 10**15, 2**47, 10**18])
def test_an_absurd_capacity_is_too_big_and_costs_nothing(db, capacity, within):
    if within:
        db.execute("BEGIN")
    db.execute("CREATE TABLE mine(x)")
    message = refused(db, TOO_BIG, f"CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity={capacity})",
                      says="capacity")
    assert message.startswith("cuckoo_filter: ")
    assert db.in_transaction == within and [row[1] for row in schema_of(db)] == ["mine"]


@pytest.mark.parametrize("capacity", [10**12, 2**40])
def test_a_capacity_beyond_memory_leaves_nothing_behind(capacity):
    script = f"""
import sqlite3, support
db = support.connect()
db.execute("BEGIN")
db.execute("CREATE TABLE mine(x)")
try:
    db.execute("CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity={capacity})")
except (sqlite3.Error, MemoryError):
    print(db.in_transaction, [row[0] for row in db.execute("SELECT name FROM sqlite_master")])
"""
    options = os.environ.get("ASAN_OPTIONS", "") + ":allocator_may_return_null=1"
    limit = None if "asan" in support.extension_path() else lambda: resource.setrlimit(resource.RLIMIT_AS,
        (2**31, 2**31))
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, preexec_fn=limit,
                         env={**os.environ, "PYTHONPATH": os.path.dirname(support.__file__), "ASAN_OPTIONS": options})
    assert ran.stdout.strip() == "True ['mine']", ran.stdout + ran.stderr[:1000]


@pytest.mark.skipif("asan" in support.extension_path(), reason="its shadow memory is more than the limit")
@pytest.mark.parametrize("rows", [(1, 2, 3), range(0, 3_000_000, 30_000)])
def test_what_is_empty_takes_no_memory(tmp_path, rows):
    """A filter of 1.2 GB with few keys: the pages that are stored take memory, and no other ones."""
    script = f"""
import re, support
db = support.connect({str(tmp_path / "x.db")!r})
db.execute("CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=1000000000)")
db.executemany("INSERT INTO seen(key) VALUES (?)", [(n,) for n in {rows!r}])
for command in ("drain", "check", "optimize"):
    db.execute("INSERT INTO seen(seen) VALUES (?)", (command,))
db.close()
db = support.connect({str(tmp_path / "x.db")!r})
assert support.ask(db, "SELECT cf_table_check('seen')") == "ok"
assert support.ask(db, "SELECT sum(cf_table_contains('seen', value)) FROM json_each(?)", str(list({rows!r}))) == {len(rows)}
print(int(re.search(r"VmHWM:\\s*([0-9]+)", open("/proc/self/status").read())[1]) >> 10, "MB")
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                         env={**os.environ, "PYTHONPATH": os.path.dirname(support.__file__)})
    assert ran.stdout.endswith(" MB\n") and int(ran.stdout.split()[0]) < 100, ran.stdout + ran.stderr[:1000]


@pytest.mark.skipif("asan" in support.extension_path(), reason="its shadow memory is more than the limit")
def test_optimize_needs_no_second_filter_where_nothing_grew(db):
    db.execute("CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=300000000)")
    db.execute("INSERT INTO seen(key) VALUES (1)")
    db.execute("INSERT INTO seen(seen) VALUES ('drain')")
    before = resource.getrlimit(resource.RLIMIT_AS)
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (100 << 20), before[1]))
    try:
        db.execute("INSERT INTO seen(seen) VALUES ('optimize')")
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    check(db)


@pytest.mark.parametrize("capacity", [500_000_000, 20_000_000_000])
def test_a_filter_for_which_there_is_no_memory_is_refused(db, capacity):
    before = resource.getrlimit(resource.RLIMIT_AS)
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (200 << 20), before[1]))
    try:
        refused(db, TOO_BIG, f"CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity={capacity})",
                says="more than there is memory for; use a smaller capacity")
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    assert schema_of(db) == []
    create(db)
    check(db)
