# SPDX-License-Identifier: MIT
"""sqlite_cuckoo.Filter beside SQL: the same bytes from the same calls, and the same answers."""
import array
import copy
import importlib
import itertools
import json
import math
import os
import pickle
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import sysconfig
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

import filter_process
import hostile
import support
from conftest import SEED
from filter_process import ask_all, dist, random_keys
from support import ask
from test_filter_package import KEYS, OPTIONS, build_sql, words

MODULE = Path(support.extension_path()).with_name("_filter.abi3.so")
SOURCES = filter_process.ROOT / "ext/packages/python"
pytestmark = pytest.mark.skipif(not MODULE.exists(), reason=f"{MODULE} is not there: make {MODULE}")


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """The Python package as the wheel has it, in a folder."""
    folder = tmp_path_factory.mktemp("site")
    for name, text in dist().python_package("1.2.3").items():
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_text(text, encoding="utf-8")
    shutil.copy(MODULE, folder / "sqlite_cuckoo")
    return folder


@pytest.fixture(scope="module")
def Filter(package):  # noqa: N802 - the class
    sys.path.insert(0, str(package))
    try:
        yield importlib.import_module("sqlite_cuckoo").Filter
    finally:
        sys.path.remove(str(package))
        for name in [name for name in sys.modules if name.startswith("sqlite_cuckoo")]:
            del sys.modules[name]


@pytest.fixture(scope="module")
def db():
    return support.connect()


def fpr_and_words(options):
    return options.get("fpr"), words(options) or ""


# ---- the bytes and answers of SQL ----

@pytest.mark.parametrize("kind", KEYS)
def test_build_gives_the_bytes_of_sql(db, Filter, kind):
    for options in OPTIONS if kind != "unicode" else OPTIONS[::4]:
        blob = build_sql(db, KEYS[kind], options)
        mine = Filter.build(KEYS[kind], *fpr_and_words(options))
        assert bytes(mine) == blob and len(mine) == support.info(db, blob)["items"], options
        assert [key in mine for key in KEYS[kind]] == mine.contains_many(iter(KEYS[kind])) == [
            key is not None for key in KEYS[kind]]


@pytest.mark.parametrize("rule", filter_process.RULES, ids=" ".join)
def test_answers_of_every_key_rule(db, Filter, rule):
    """A text over which versions of SQLite differ is probably there; all other answers are those of SQL."""
    rng = random.Random(f"{SEED} {rule}")
    print(f"repeat with CUCKOO_TEST_SEED={SEED}")
    keys, options = random_keys(rng, 2000), f"fingerprint_bits=24 affinity={rule[0]} collation={rule[1]}"
    db.execute("CREATE TEMP TABLE k(x)")
    db.executemany("INSERT INTO k VALUES (?)", ((key,) for key in keys[::2]))
    blob, = db.execute("SELECT cf_build(x, NULL, ?) FROM k", (options,)).fetchone()
    expected = [row[0] for key in keys for row in db.execute("SELECT cf_contains(?, ?)", (blob, key))]
    db.execute("DROP TABLE k")
    mine = Filter.build(keys[::2], None, options)
    assert bytes(mine) == blob
    answers = mine.contains_many(keys)
    for key, answer, right in zip(keys, answers, expected):
        assert answer == (key in mine) and (answer == right or (answer and isinstance(key, str) and rule[0] != "none"))
    assert sum(map(int.__eq__, answers, expected)) > 0.9 * len(keys)


def test_an_exact_filter(db, Filter):
    db.execute("CREATE TEMP TABLE e(k, member)")
    db.executemany("INSERT INTO e VALUES (?, ?)", ((f"k{i}", i % 3 == 0) for i in range(3000)))
    blob = ask(db, "SELECT cf_build_exact(k, member) FROM e")
    mine = Filter(blob)
    assert mine.contains_many(f"k{i}" for i in range(3000)) == [i % 3 == 0 for i in range(3000)]
    assert [f"x{i}" in mine for i in range(500)] == [bool(one) for one in ask_all(db, blob, [f"x{i}" for i in range(500)])]
    assert (bytes(mine), len(mine), mine.check(), None in mine) == (blob, 1000, "ok", False)
    for call in (lambda: mine.add("a"), lambda: mine.delete("a"), lambda: mine.count("a"), lambda: mine.values("a"),
                 lambda: mine.merge(Filter(blob)), lambda: Filter.new(9).merge(mine)):
        with pytest.raises(TypeError, match="exact"):
            call()


HISTORIES = ["", "fpr=0.2 seed=5", "bucket_size=2", "counter_bits=2", "value_bits=3", "stash=on growth=off max_kicks=0 stash_size=9",
             "layout=semisort fingerprint_bits=9", "affinity=numeric", "affinity=text collation=nocase", "epochs=4"]
KEY = st.one_of(st.integers(0, 60), st.integers(-2**63, 2**63 - 1), st.text(max_size=4), st.floats(), st.binary(max_size=3), st.booleans(), st.none())


@pytest.mark.parametrize("options", HISTORIES)
@settings(max_examples=20, deadline=None)
@given(steps=st.lists(st.tuples(st.sampled_from("aaadcm"), KEY, st.integers(0, 7)), max_size=80))
def test_random_histories(db, Filter, options, steps):
    """Each change gives the bytes of SQL, or fails on both sides."""
    fpr = 0.2 if "fpr" in options else None
    options = options.replace("fpr=0.2 ", "")
    blob = support.new(db, 30, fpr, options)
    mine = Filter(blob) if "epochs" in options else Filter.new(30, fpr, options)
    assert bytes(mine) == blob
    for step, key, number in steps:
        value = (number,) if "value_bits" in options else ()
        sql, call = {"a": (f"cf_add(?, ?{', ?' * len(value)})", lambda: mine.add(key, *value)),
                     "d": (f"cf_delete(?, ?{', ?' * len(value)})", lambda: mine.delete(key, *value)),
                     "c": ("cf_count(?, ?)", lambda: mine.count(key)), "m": ("cf_contains(?, ?)", lambda: key in mine)}[step]
        try:
            right, failed = ask(db, f"SELECT {sql}", blob, key, *(value if step in "ad" else ())), None
        except sqlite3.Error as error:
            right, failed = None, str(error)
        try:
            answer = call()
        except (TypeError, ValueError) as error:
            remedy = "would never be found|full|cannot delete a single key"
            assert failed and re.search(remedy, failed) and re.search(remedy, str(error)), (failed, error)
            mine = Filter(blob)
            continue
        assert failed is None, (failed, step, key)
        if step in "ad":
            assert bytes(mine) == right, (step, key)
            assert step == "a" or answer == (right != blob)
            blob = right
        else:
            assert answer == (right or 0) or (isinstance(key, str) and answer and options.startswith("affinity=num"))
    assert (bytes(mine), mine.check(), len(mine)) == (blob, "ok", support.info(db, blob)["items"])
    same_info(mine.info(), support.info(db, blob))


def same_info(mine, theirs):
    assert mine.keys() == theirs.keys()
    for name, value in theirs.items():
        value = int(value) if name == "seed" else value
        assert mine[name] == value or mine[name] == pytest.approx(value, rel=1e-5), name


def test_values_and_merges_are_those_of_sql(db, Filter):
    mine, blob = Filter.new(100, 0.001, "value_bits=10"), support.new(db, 100, 0.001, "value_bits=10")
    for i in range(100):
        mine.add(f"k{i % 50}", i)
        blob = ask(db, "SELECT cf_add(?, ?, ?)", blob, f"k{i % 50}", i)
    assert bytes(mine) == blob
    for i in range(60):
        assert mine.values(f"k{i}") == [row[0] for row in db.execute("SELECT value FROM cf_values(?, ?)", (blob, f"k{i}"))]
    one, two = (Filter.build(range(start, start + 1000), None, "capacity=2000") for start in (0, 1000))
    merged = ask(db, "SELECT cf_merge(?, ?)", bytes(one), bytes(two))
    one.merge(two)
    assert bytes(one) == merged and one.contains_many(range(2000)) == [True] * 2000 and bytes(two) != merged


def test_it_grows(db, Filter):
    mine, blob = Filter.new(100), support.new(db, 100)
    keys = [f"user{i}@example.com" for i in range(20_000)]
    for key in keys:
        mine.add(key)
    blob = ask(db, "SELECT cf_add_keys(?, (SELECT cf_keys(value) FROM json_each(?)))", blob, json.dumps(keys))
    assert all(mine.contains_many(keys)) and ask(db, "SELECT cf_check(?)", bytes(mine)) == "ok"
    same_info(mine.info(), support.info(db, bytes(mine)))
    assert len(mine) == support.info(db, blob)["items"] == len(keys)


# ---- keys ----

class Index:
    """As numpy.int64: an integer that is not an int, and has a buffer of its own."""
    def __index__(self):
        return 42


def test_types_are_those_of_sqlite3(db, Filter):
    mine = Filter.build([42, "42x", b"\0", 2.5, True], None, "affinity=none fingerprint_bits=32")
    assert [key in mine for key in (42, 42.0, Index(), "42", "42x", b"\0", bytearray(1), memoryview(b"\0x")[:1], 2.5, 1, True, None,
                                    math.nan, 0, False, "")] == [
        True, True, True, False, True, True, True, True, True, True, True, False, False, False, False, False]
    big = Filter.build([2**63 - 1, -2**63, 2.0**63, "é" * 40000, "a\0b"], None, "affinity=none")
    assert all(big.contains_many([2**63 - 1, -2**63, 2.0**63, "é" * 40000, "a\0b"]))


@pytest.mark.parametrize("key, kind, says", [
    (2**63, OverflowError, r"9223372036854775808 is no integer of 64 bits; give str\(key\)"), (-2**63 - 1, OverflowError, "64 bits"),
    ("\ud800", UnicodeEncodeError, "surrogates"), (object(), TypeError, "key must be a str, int, float, bytes or None.*give what"),
    ((1,), TypeError, "key must be"), (array.array("b", [1]), TypeError, "key must be"), (1j, TypeError, "key must be"),
    (5, TypeError, r"key is 5, and only texts were added.*give a text, such as str\(key\), or for joins make the filter with affinity=text"),
    (b"a", TypeError, "only texts were added")])
def test_keys_that_cannot_have_been_meant(Filter, key, kind, says):
    mine = Filter.build(["ada"])
    for call in (lambda: key in mine, lambda: mine.contains_many(["ada", key]), lambda: mine.count(key), lambda: mine.delete(key)):
        with pytest.raises(kind, match=says):
            call()
    if "only texts" not in says:
        for call in (lambda: mine.add(key), lambda: Filter.build(["a", key])):
            with pytest.raises(kind, match=says):
                call()
    assert (len(mine), "ada" in mine, mine.check()) == (1, True, "ok")


@pytest.mark.parametrize("keys", ["ada", b"ada", bytearray(b"ada"), memoryview(b"ada")])
def test_one_key_is_no_iterable_of_keys(Filter, keys):
    for call in (Filter.build, Filter.build(["ada"]).contains_many):
        with pytest.raises(TypeError, match="keys must be an iterable of keys, got .*ada|memory.*for one key give .key."):
            call(keys)


def test_filters_are_compared_and_given_to_statements(db, Filter):
    one, other = Filter.build(["ada", "bob"]), Filter.build(["ada"])
    other.add("bob")
    assert one == Filter(bytes(one)) and one != Filter.build(["ada"]) and one != bytes(one)
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)
    assert db.execute("SELECT cf_contains(?1, 'bob') + cf_contains(?1, 'eve'), ?1", (one,)).fetchone() == (1, bytes(one))


# ---- errors ----

class Big(int):
    """No exact int: `in range` would count up to it."""


@pytest.mark.parametrize("call, kind, says", [
    (lambda F: F(), TypeError, ""), (lambda F: F("text"), TypeError, "filter must be bytes"), (lambda F: F(None), TypeError, "filter must be bytes"),
    (lambda F: F(blob=b""), TypeError, "no keyword"), (lambda F: F(b""), ValueError, "cannot be used: .*; restore it"),
    (lambda F: F(b"x" * 80), ValueError, "not a cuckoo filter"), (lambda F: F.build(5), TypeError, "Filter.build: keys must be an iterable of keys, got 5"),
    (lambda F: F.build([], 0), ValueError, "fpr must be"), (lambda F: F.new(-1), ValueError, "capacity must"),
    *[(lambda F, given=given: F.new(given), ValueError, "capacity must") for given in (1.5, math.nan, math.inf, "5", b"5", 2**200, Big(2**60))],
    *[(lambda F, given=given: F.new(5, given), ValueError, "fpr must") for given in ("x", math.nan, 1, [])],
    *[(lambda F, given=given: F.new(5, None, given), ValueError, "bad value") for given in ("seed=1_0", "seed=\uff15", "seed= 5", "max_kicks=1_0")],
    (lambda F: F.new(2**41), ValueError, "capacity must"), (lambda F: F.new(2**39), ValueError, "Filter.new: .*2 GB"),
    (lambda F: F.new(10, 1e-30), ValueError, "Filter.new: fpr is too small"), (lambda F: F.build([1], 1e-30), ValueError, "Filter.build: fpr is too small"),
    (lambda F: F.new(5, None, "nonsense=1"), ValueError, "unknown option nonsense; valid options: bucket_size"),
    (lambda F: F.new(5, None, "seed"), ValueError, "list of name=value"), (lambda F: F.new(5, None, "seed=1 seed=1"), ValueError, "twice"),
    (lambda F: F.new(5, None, "bucket_size=3"), ValueError, "bad value in bucket_size=3; valid"),
    (lambda F: F.new(5, None, "growth=yes"), ValueError, "valid: off or on"), (lambda F: F.new(5, None, "max_kicks=3"), ValueError, "need stash=on"),
    (lambda F: F.new(5, None, "stash=on"), ValueError, "stash=on excludes growth"), (lambda F: F.new(5, None, "capacity=6"), ValueError, "given twice"),
    (lambda F: F.build([1], None, "value_bits=3"), ValueError, "without values"), (lambda F: F.new(5).values(1), ValueError, "stores no values"),
    (lambda F: F.new(5).add(1, 2), ValueError, "stores no values"), (lambda F: F.new(5, None, "value_bits=3").add(1), ValueError, "int of 3 bits"),
    (lambda F: F.new(5, None, "value_bits=3").add(1, 8), ValueError, "int of 3 bits"), (lambda F: F.new(5).merge(b""), TypeError, "both must be filters"),
    (lambda F: F.new(5).merge(F.new(50)), ValueError, "differ in .*same capacity"), (lambda F: F.new(5).contains_many(None), TypeError, "Filter.contains_many: keys must be an iterable"),
    (lambda F: F.new(5)._build("new", [], b""), ValueError, "options of 0 bytes")])
def test_errors(Filter, call, kind, says):
    with pytest.raises(kind, match=says):
        call(Filter)


@pytest.mark.parametrize("kind", [str, int])
def test_keys_that_use_another_filter_when_they_go(Filter, kind):
    other = Filter.build(["x"])

    class Leaving(kind):
        def __del__(self):
            assert "other" not in other

    keys = [kind(i) for i in range(1000)]
    assert all(Filter.build(map(Leaving, keys)).contains_many(keys))
    assert all(Filter.build(keys).contains_many(map(Leaving, keys)))


def test_whole_capacities(Filter):
    for capacity in (1000, 1000.0, Big(1000)):
        assert bytes(Filter.new(capacity, None, "seed=5")) == bytes(Filter.new(1000, None, "seed=+5"))


def test_a_full_filter_and_one_of_no_rows(db, Filter):
    mine = Filter.build(range(4000), None, "growth=off bucket_size=4 fingerprint_bits=12")
    with pytest.raises(ValueError, match="add: the filter is full; nothing has changed; make a larger one"):
        for i in range(1000):
            mine.add(-i - 1)
    assert all(mine.contains_many(range(4000))) and mine.check() == "ok"
    empty = Filter(ask(db, "SELECT cf_build(value) FROM json_each('[]')"))
    assert "a" not in empty and len(empty) == 0
    with pytest.raises(ValueError, match="built from zero rows"):
        empty.add("a")


def test_blobs_that_lie(db, Filter):
    """Either SQL and Python say the same, or neither opens it; and no change crashes."""
    rng = random.Random(SEED)
    print(f"repeat with CUCKOO_TEST_SEED={SEED}")
    opened = 0
    for blob in (*hostile.every_kind(db), ask(db, "SELECT cf_build_exact(value, value % 2) FROM json_each('[1,2,3,4,5,6,7,8]')")):
        assert (bytes(Filter(blob)), Filter(blob).check()) == (blob, "ok")
        for i in range(40):
            lie = bytearray(blob)
            for _ in range(rng.choice([1, 1, 2, 8])):
                at = rng.randrange(rng.choice([64, len(lie)]))
                lie[at] = rng.choice([0, 1, 255, lie[at] ^ 1 << rng.randrange(8), rng.randrange(256)])
            lie = bytes(lie)[:rng.choice([len(lie)] * 9 + [rng.randrange(len(lie))])]
            lie = support.sealed(lie) if i % 5 and len(lie) >= 64 else lie
            right = ask(db, "SELECT cf_check(?)", lie)
            try:
                mine = Filter(lie)
            except ValueError as error:
                assert right in str(error)
                continue
            opened += 1
            assert mine.check() == right
            for call in (lambda: 3 in mine, lambda: mine.contains_many(range(9)), lambda: mine.count(3), lambda: mine.info(),
                         lambda: mine.values(3), lambda: mine.add("x"), lambda: mine.delete(3), lambda: mine.add(3, 1),
                         lambda: mine.merge(Filter(blob)), lambda: Filter(blob).merge(mine), lambda: bytes(mine), lambda: len(mine)):
                try:
                    call()
                except (ValueError, TypeError, MemoryError):
                    pass
    assert opened > 40


# ---- an object of Python ----

def test_buffers_copies_and_pickles(Filter, tmp_path):
    mine = Filter.build(range(1000))
    blob = bytes(mine)
    (tmp_path / "f").write_bytes(b"--" + blob)
    for one in (bytearray(blob), memoryview(b"--" + blob)[2:], array.array("B", blob), memoryview(blob)):
        assert bytes(Filter(one)) == blob
    given_bytes = bytearray(blob)
    held = Filter(given_bytes)
    given_bytes[:] = bytes(len(blob))  # it has a copy
    assert 5 in held
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        twin = pickle.loads(pickle.dumps(mine, protocol))
        assert type(twin) is Filter and bytes(twin) == blob
    for twin in (copy.copy(mine), copy.deepcopy([mine])[0]):
        twin.add("new")
        assert bytes(mine) == blob and bytes(twin) != blob and "new" in twin
    assert repr(mine) == f"<sqlite_cuckoo.Filter: 1000 keys, {len(blob)} bytes>" and mine and not Filter.new(9)
    with pytest.raises(TypeError):
        iter(mine)


def test_subclasses_and_references(Filter):
    class Named(Filter):
        def __init__(self, blob):
            self.name = "n"
    named = Named(bytes(Filter.build([1, 2])))
    assert (1 in named, named.name, type(Named.build([1])) is Named) == (True, "n", True)
    key, before = "a key of its own", None
    for i in range(3):
        for _ in range(500):
            one = Filter.build([key, "b"])
            assert key in one and one.contains_many([key, None]) == [True, False] and one.delete(key) and one.count(key) == 0
            one.add(key)
            with pytest.raises(TypeError):
                one.contains_many([key, object()])
            with pytest.raises(ValueError):
                Filter(b"x")
        counts = [sys.getrefcount(one) for one in (key, Filter, Filter.__mro__[1])]
        assert before is None or all(abs(a - b) < 20 for a, b in zip(before, counts)), (before, counts)
        before = counts


def test_an_iterator_that_changes_the_filter(Filter):
    mine = Filter.new(10)

    def keys():
        for i in range(2000):
            mine.add(i)
            yield i
    assert mine.contains_many(keys()) == [True] * 2000
    with pytest.raises(ZeroDivisionError):
        mine.contains_many(1 // (500 - i) for i in range(1000))


def test_threads(Filter):
    """The GIL makes each call one step."""
    mine, missing = Filter.new(100), []

    def work(start):
        for i in range(start, 20_000, 4):
            mine.add(i)
            if i not in mine:
                missing.append(i)
    threads = [threading.Thread(target=work, args=(start,)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not missing and len(mine) == 20_000 and all(mine.contains_many(range(20_000))) and mine.check() == "ok"


# ---- the package ----

def test_without_the_module_the_rest_works(package, tmp_path):
    shutil.copytree(package, tmp_path / "site")
    os.remove(tmp_path / "site/sqlite_cuckoo" / MODULE.name)
    code = ("import sqlite_cuckoo\ntry:\n    sqlite_cuckoo.Filter\nexcept ImportError as error:\n    print(error)\n"
            "from sqlite_cuckoo import *\nprint(load, hasattr(sqlite_cuckoo, 'nothing'))")
    said = subprocess.run([sys.executable, "-c", code], cwd=tmp_path / "site", stdout=subprocess.PIPE, text=True, check=True).stdout
    assert re.search(r"Filter: this Python cannot load .*pip install --no-binary.*cf_contains.*\n<function load.*False", said)


def test_the_stub_has_all_methods(Filter):
    named = set(re.findall(r"def (\w+)", (SOURCES / "sqlite_cuckoo/_filter.pyi").read_text()))
    has = {name for name, value in vars(Filter.__mro__[1]).items() if callable(value)} - {"__new__"}
    assert named - {"__init__"} == has


@pytest.mark.skipif(not Path(sysconfig.get_path("include"), "Python.h").exists(), reason="Python.h is not there")
def test_abi_is_that_of_python_h(tmp_path):
    """Another type for a function is an error of the compiler. What is a struct or a constant has the same numbers."""
    own = (SOURCES / "abi.h").read_text()
    structs, numbers = re.findall(r"^} (\w+);", own, re.M), re.findall(r"^\s+(Py_\w+|METH_\w+) = \d+|\b(METH_\w+) = \d+|^#define (Py_TP\w+|PYTHON_A\w+)", own, re.M)
    fields = [("PyMethodDef", "ml_doc"), ("PyModuleDef", "m_methods"), ("PyModuleDef", "m_free"), ("PyType_Spec", "slots"),
              ("PyType_Slot", "pfunc"), ("PyObject", "ob_type")]
    values = [*(f"sizeof({name})" for name in structs), *(f"offsetof({one}, {field})" for one, field in fields),
              *("".join(name) for name in numbers if "METH_VARARGS" not in name), "METH_VARARGS"]
    body = "#include <stdio.h>\nint main(void)\n{\n" + "".join(f'    printf("%ld\\n", (long)({value}));\n' for value in values) + "}\n"
    python = [f"-I{sysconfig.get_path('include')}", "-DPy_LIMITED_API=0x030a0000"]
    said = []
    for name, include, options in (("own", "", []), ("real", "#include <Python.h>\n", python)):
        (tmp_path / f"{name}.c").write_text(include + f'#include "{SOURCES}/abi.h"\n' + body)
        subprocess.run([os.environ.get("CC", "cc"), "-Werror", *options, "-o", tmp_path / name, tmp_path / f"{name}.c"], check=True)
        said.append(subprocess.run([tmp_path / name], stdout=subprocess.PIPE, check=True).stdout)
    assert len(values) > 20 and said[0] == said[1]


def test_examples_of_compress(Filter):
    """As the README of the package has it."""
    known = Filter.build(["ada", "bob"], 0.0001)
    keys = ["ada", "cyd", "bob"]
    assert list(itertools.compress(keys, known.contains_many(keys))) == ["ada", "bob"]
