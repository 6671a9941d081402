# SPDX-License-Identifier: MIT
"""sqlite-cuckoo/filter, in Node, against the extension: the same bytes from the same calls, and the same answers."""
import gzip
import importlib
import json
import math
import random
import re
import shutil
import sqlite3
import subprocess
import sys

import pytest

import filter_process
import hostile
import support
from conftest import SEED
from filter_process import Failed
from support import ask

pytestmark = filter_process.needed


@pytest.fixture(scope="module")
def js(tmp_path_factory):
    filters = filter_process.Filters(tmp_path_factory.mktemp("filter"))
    yield filters
    filters.close()


@pytest.fixture(scope="module")
def db():
    return support.connect()


def words(options):
    """The options of JavaScript in the words of SQL."""
    return " ".join(f"{name}={value}" for name, value in options.items() if name != "fpr") or None


def build_sql(db, keys, options):
    db.execute("CREATE TEMP TABLE k(x)")
    db.executemany("INSERT INTO k VALUES (?)", [(None,), *((key,) for key in keys)])  # options come with a row
    blob = ask(db, "SELECT cf_build(x, ?, ?) FROM k", options.get("fpr"), words(options))
    db.execute("DROP TABLE k")
    return blob


KEYS = {
    "none": [], "null": [None, None], "one": ["ada"], "twice": ["a", "b", "a", None, 1, 1.0, 1],
    "texts": [f"user{i}@example.com" for i in range(1500)],
    "integers": list(range(-600, 600)) + [2**53, 2**53 + 1, -2**63, 2**63 - 1, 2**62 + 1],
    "reals": [i / 7 for i in range(-500, 500)]
    + [1e300, -1e-300, 5e-324, 2.0**63, -2.0**63, 2.0**64, math.inf, -math.inf],
    "blobs": [b"", b"\0", b"\0\0", bytes(range(256)), b"x" * 1022, b"x" * 1023, b"x" * 1024, b"y" * 100_000],
    "unicode": ["", "\0", "a\0b", "é", "日本語", "😀" * 10, "ÿ" * 63, "x" * 63 + "é", "x" * 64, "x" * 65, "x" * 21846,
                "é" * 21845,
                "é" * 21846, "x" * 65536, "x" * 65537, "é" * 40_000],
}
OPTIONS = [{}, {"fpr": 0.0001}, {"fpr": 0.3}, {"seed": 7}, {"seed": -2**63}, {"seed": 2**63 - 1, "hash": "xxh3"},
           {"hash": "keyed"},
           {"growth": "off"}, {"capacity": 20000}, {"capacity": 10}, {"counter_bits": 4},
           {"layout": "plain", "bucket_size": 4},
           {"layout": "semisort", "fingerprint_bits": 13}, {"bucket_size": 2}, {"bucket_size": 8, "fpr": 0.001},
           {"stash": "on", "growth": "off"}, {"stash": "on", "growth": "off", "max_kicks": 3, "stash_size": 100}]


def test_it_is_small():
    """Without wasm-opt, which takes a seventh away, too."""
    assert filter_process.WASM.stat().st_size <= 80_000


@pytest.mark.parametrize("kind", KEYS)
def test_build_gives_the_bytes_of_sql(db, js, kind):
    for options in OPTIONS if kind != "unicode" else OPTIONS[::4]:
        assert js.make("f", "build", KEYS[kind], options) == build_sql(db, KEYS[kind], options), options


@pytest.mark.parametrize("options", OPTIONS + [{"value_bits": 8}], ids=str)
def test_create_and_add_give_the_bytes_of_sql(db, js, options):
    options = {name: value for name, value in options.items() if name != "capacity"}
    value = (7,) if "value_bits" in options else ()
    for n in (0, 1, 400):
        blob = support.new(db, n, options.get("fpr"), words(options))
        assert js.make("f", "create", n, options) == blob
        keys = [i if i % 2 else f"key {i}" for i in range(n)]
        for key in keys:
            blob = ask(db, f"SELECT cf_add(?, ?{', ?' * len(value)})", blob, key, *value)
        js.steps([("f", "add", key, *value) for key in keys])
        assert js("f", "bytes") == blob, n


def test_answers_agree(db, js):
    for kind, keys in KEYS.items():
        blob = build_sql(db, keys[::2], {"fpr": 0.2})
        js("", "open", blob, "f")
        found = [ask(db, "SELECT cf_contains(?, ?)", blob, key) for key in keys]
        assert js.steps([("f", "contains", key) for key in keys]) == [one if one is None else bool(one)
                                                                      for one in found]
        assert js.steps([("f", "count", key) for key in keys]) == [support.count(db, blob, key) for key in keys]
        if len(keys) > 1:
            assert list(js("f", "containsMany", keys)) == [one or 0 for one in found]


def test_numbers_are_the_keys_of_sql(db, js):
    """1 is 1n, 1.0 and true of SQL; 2^53 + 1 is not 2^53; '1' is neither."""
    js("", "create", 100, {"fingerprint_bits": 32, "affinity": "none"}, "f")
    js.steps([("f", "add", 1), ("f", "add", 2.0**53), ("f", "add", -0.0), ("f", "add", 0.5)])
    asked = [1, 1.0, "1", b"1", 2**53, 2**53 + 1, 0, "0", 0.5, "0.5"]
    assert js.steps([("f", "contains", key) for key in asked]) == [
        True, True, False, False, True, False, True, False, True, False]
    assert js.steps([["f", "contains", key] for key in asked]) == [
        bool(support.contains(db, js("f", "bytes"), key)) for key in asked]


def same_info(mine, theirs):
    assert mine.keys() == theirs.keys()
    for name, value in theirs.items():
        assert mine[name] == value or mine[name] == pytest.approx(value, rel=1e-5), name


@pytest.mark.parametrize("options", [{}, {"fpr": 0.2, "seed": 5}, {"bucket_size": 2}, {"counter_bits": 2},
                                     {"value_bits": 3},
                                     {"stash": "on", "growth": "off", "max_kicks": 0, "stash_size": 9},
                                     {"growth": "off", "fpr": 0.1},
                                     {"layout": "semisort", "fingerprint_bits": 9}], ids=str)
def test_random_histories(db, js, options):
    """Two filters of each side are changed in the same way; from time to time the bytes change sides."""
    rng = random.Random(f"{SEED} {options}")
    print(f"repeat with CUCKOO_TEST_SEED={SEED}")
    blobs = {name: support.new(db, 30, options.get("fpr"), words(options)) for name in "ab"}
    for name, blob in blobs.items():
        js("", "open", blob, name)
    for i in range(1500):
        name, key = rng.choice("ab"), rng.choice([rng.randrange(100), f"k{rng.randrange(200)}", rng.randrange(50) / 4,
                                                  b"%d" % rng.randrange(9)])
        value = (rng.randrange(8),) if "value_bits" in options else ()
        other, = set("ab") - {name}
        call = rng.choices(["add", "delete", "merge", "clear", "self"], [60, 36, 0.5, 0.3, 0.2])[0]
        sql = {"add": f"cf_add(?, ?{', ?' if value else ''})", "delete": f"cf_delete(?, ?{', ?' if value else ''})",
               "merge": "cf_merge(?, ?)", "clear": "cf_clear(?)", "self": "cf_merge(?1, ?1)"}[call]
        given = {"merge": (blobs[other],), "clear": (), "self": ()}.get(call, (key, *value))
        try:
            blobs[name], failed = ask(db, f"SELECT {sql}", blobs[name], *given), None
        except sqlite3.Error as error:
            failed = str(error)
        mine = {"merge": ("merge", {"filter": other}), "clear": ("clear",),
                "self": ("merge", {"filter": name})}.get(call, (call, key, *value))
        try:
            js(name, *mine)
            assert failed is None, (i, call, failed)
        except Failed as error:
            assert failed and re.search(r"full|would have more entries|never be found", str(error)), (i, call, failed, error)
            assert js(name, "check") == "ok"
            js("", "open", blobs[name], name)  # what is refused may have split buckets, here in place; SQL has a copy
        if i % 50 == 0:
            assert js(name, "bytes") == blobs[name], (i, call)
            assert js(name, "check") == "ok"
            if value and "never be found" not in (failed or ""):
                found = [number for number, in db.execute("SELECT value FROM cf_values(?, ?)", (blobs[name], key))]
                assert (js(name, "values", key), js(name, "get", key)) == (found, found[0] if found else None), i
        if i % 500 == 0:
            same_info(js(name, "info"), support.info(db, blobs[name]))
            js("", "open", blobs[name], name)
    assert [js(name, "bytes") for name in "ab"] == list(blobs.values())


def test_many_keys_and_growth(db, js):
    keys = [f"user{i}@example.com" for i in range(30_000)]
    assert js.make("f", "build", keys) == build_sql(db, keys, {})
    blob = support.new(db, 100)
    js("", "open", blob, "g")
    for start in range(0, len(keys), 10_000):
        js.steps([("g", "add", key) for key in keys[start:start + 10_000]])
    assert sum(js("g", "containsMany", keys)) == len(keys)
    blob = js("g", "bytes")
    assert ask(db, "SELECT cf_check(?)", blob) == "ok"
    assert ask(db, "SELECT count(*) FROM json_each(?2) WHERE cf_contains(?1, value)", blob,
               json.dumps(keys)) == len(keys)
    same_info(js("g", "info"), support.info(db, blob))


@pytest.mark.parametrize("options", [{}, {"counter_bits": 3}, {"capacity": 9000}, {"affinity": "numeric", "seed": 4},
                                     {"stash": "on", "growth": "off", "capacity": 2000, "stash_size": 99}], ids=str)
def test_many_at_once_are_the_lists_of_sql(db, js, options):
    """cf_add_keys and cf_delete_keys: keys that fit, keys for which it grows, keys that are not there, none."""
    blob = build_sql(db, ["ada"], options)
    js("", "open", blob, "f")
    sure = [key for key in KEYS["twice"] if key is not None]
    for call, keys in (("add", sure), ("add", list(range(1900))), ("delete", list(range(700, 1000)) + ["nobody"]), ("add", []),
                       ("delete", []), ("delete", [None]), ("add", [None, "x"]),
                       ("add", [f"key {i}" for i in range(60 if "stash" in options else 5000)])):
        db.execute("CREATE TEMP TABLE k(x)")
        db.executemany("INSERT INTO k VALUES (?)", ((key,) for key in keys))
        rule = "" if "affinity" not in options else ", NULL, 'affinity=numeric seed=4'"
        blob = ask(db, f"SELECT cf_{call}_keys(?, (SELECT cf_keys(x{rule}) FROM k))", blob)
        db.execute("DROP TABLE k")
        js("f", f"{call}Many", keys)
        assert js("f", "bytes") == blob, call


def test_many_at_once_all_or_none(js):
    js("", "build", list(range(4000)), {"growth": "off", "bucket_size": 4, "fingerprint_bits": 12}, "full")
    js("", "create", 10, {"value_bits": 3}, "v")
    before = js("full", "bytes")
    for call, says in ((("full", "addMany", [f"x{i}" for i in range(4000)]), r"addMany\(keys\): filter is full: .*nothing has changed"),
                       (("full", "addMany", ["x", True]), "got true"), (("full", "deleteMany", [1, math.nan]), "got NaN"),
                       (("full", "deleteMany", 5), "keys must be an iterable"),
                       (("v", "addMany", [1]), r"addMany\(keys\): the filter stores a value with each key; change them one by one"),
                       (("v", "deleteMany", [1]), "stores a value")):
        with pytest.raises(Failed, match=says):
            js(*call)
    assert js("full", "bytes") == before and js("full", "check") == "ok"


def test_texts_of_any_bytes(db, tmp_path):
    """A TEXT of SQL that is no UTF-8 has no string."""
    out = run(tmp_path, r"""import {build, open, TextBytes} from './filter.mjs';
        import assert from 'node:assert';
        const bytes = Uint8Array.of(255, 0, 65), text = new TextBytes(bytes), rule = {affinity: 'numeric', fingerprint_bits: 32};
        const f = build([text, new TextBytes(new Uint8Array(100000)), new TextBytes(new ArrayBuffer(0))], {fingerprint_bits: 32, affinity: 'none'});
        assert.deepEqual([text, bytes, new TextBytes(bytes.buffer), '', new Uint8Array()].map((key) => f.contains(key)), [true, false, true, true, false]);
        assert.equal(build(['12'], rule).contains(new TextBytes(Buffer.from(' 12.0'))), true);
        assert.equal(build(['é'], rule).contains(new TextBytes(Buffer.from('é'))), true);
        assert.equal(build([new TextBytes(Buffer.from('0.12345'))], rule).contains('12345e-5'), true);
        for (const wrong of [undefined, 'a', [1], Object.create(null)]) {
          assert.throws(() => new TextBytes(wrong), /new TextBytes\(bytes\): bytes must be a Uint8Array or an ArrayBuffer, got (undefined|a|1|an object)$/);
        }
        console.log(Buffer.from(f.bytes()).toString('hex'))""")
    blob, = db.execute("SELECT cf_build(CAST(value AS TEXT), NULL, 'fingerprint_bits=32 affinity=none') FROM (SELECT x'ff0041' AS value UNION ALL "
                       "SELECT zeroblob(100000) UNION ALL SELECT x'')").fetchone()
    assert out.strip() == blob.hex()


def test_what_cannot_be_made_a_text_is_refused_by_name(tmp_path):
    """Beside what is long: an error shows its beginning."""
    run(tmp_path, r"""import {build, create} from './filter.mjs';
        import assert from 'node:assert';
        const odd = [Object.create(null), { toString: null }, Symbol('s'), 'x'.repeat(5000)], f = create(9), v = create(9, { value_bits: 3 });
        for (const one of odd) {
          for (const [call, says] of [[() => create(one), /capacity must be a whole number/], [() => create(9, { fpr: one }), /fpr must be a number/],
            [() => create(9, { growth: one }), /growth must be off/], [() => create(9, { seed: one }), /seed must be an integer/],
            [() => f.regions(one), /count must be a whole number/], [() => v.add(1, one), /value must be an integer/]]) {
            assert.throws(call, (error) => says.test(error.message) && /got (an object|Symbol\(s\)|x{40})$/.test(error.message));
          }
        }
        for (const one of [...odd.slice(0, 3), Function('x'.repeat(5000))]) {
          assert.throws(() => f.contains(one), (error) => /got (an object|Symbol\(s\)|function.{0,32})$/s.test(error.message));
        }
        assert.throws(() => create(9, { ['x'.repeat(5000)]: 1 }), (error) => error.message.length < 500);""")


# ---- bytes that lie ----

def verdicts(js, db, blob):
    """What both sides say of a blob: that of opening, or of check."""
    theirs = ask(db, "SELECT cf_check(?)", blob)
    try:
        js("", "open", blob, "h")
        return js("h", "check"), theirs
    except Failed as error:
        if "the filter expires keys" in str(error):
            assert support.info(db, blob)["epochs"] > 0
            return theirs, theirs
        return re.search(r"filter cannot be used: (.*?)(; restore it|; install a later|$)", str(error))[1], theirs


def changed_alike(js, db, blob, other):
    """Each change of an opened blob that lies has the same result on both sides; none crashes."""
    for call, sql, given in [(("add", "x"), "cf_add(?1, 'x')", ()), (("delete", 3), "cf_delete(?1, 3)", ()),
                             (("clear",), "cf_clear(?1)", ()),
                             (("merge", {"filter": "other"}), "cf_merge(?1, ?2)", (other,))]:
        js("", "open", blob, "h")
        for method in ("contains", "count"):
            assert js("h", method, 3) == ask(db, f"SELECT cf_{method}(?, 3)", blob)
        try:
            theirs = ask(db, f"SELECT {sql}", blob, *given)
        except sqlite3.Error:
            theirs = None
        try:
            js("h", *call)
            assert js("h", "bytes") == theirs, call
        except Failed as error:
            assert theirs is None, (call, error)


def test_blobs_that_lie(db, js):
    rng = random.Random(SEED)
    print(f"repeat with CUCKOO_TEST_SEED={SEED}")
    opened = 0
    for blob in hostile.every_kind(db):
        assert verdicts(js, db, blob) == ("ok", "ok")
        if "epochs" in support.info(db, blob):
            continue
        js("", "open", blob, "other")
        for i in range(25):
            lie = bytearray(blob)
            for _ in range(rng.choice([1, 1, 2, 8])):
                at = rng.randrange(rng.choice([64, len(lie)]))
                lie[at] = rng.choice([0, 1, 255, lie[at] ^ 1 << rng.randrange(8), rng.randrange(256)])
            lie = bytes(lie)[:rng.choice([len(lie)] * 9 + [rng.randrange(len(lie))])]
            if i % 5:
                lie = support.sealed(lie) if len(lie) >= 64 else lie
            mine, theirs = verdicts(js, db, lie)
            assert mine == theirs, lie.hex()
            try:
                js("", "open", lie, "h")
            except Failed:
                continue
            if not support.info(db, lie)["value_bits"]:
                opened += 1
                changed_alike(js, db, lie, blob)
    assert opened > 40


# ---- errors name the function, the argument and the remedy ----

ERRORS = [
    (("", "open", "text"), r"open\(bytes\): bytes must be a Uint8Array"), (("", "open", None), "bytes must be"),
    (("", "open", b""), "filter cannot be used: .*; restore it"), (("", "build", "abc"), "keys must be an iterable"),
    (("", "build", None), "keys must be an iterable"), (("", "build", 5), "keys must be an iterable"),
    (("", "build", [[1]]), "key must be a string.*got an array"), (("", "build", [True]), "got true"),
    (("", "build", [2**63]), "64 bits.*as a string"), (("", "build", [-2**63 - 1]), "64 bits"),
    (("", "build", [math.nan]), "got NaN"),
    (("", "build", [{"a": 1}]), "got an object"),
    (("", "build", [], {"fpr": 0}), "fpr must be a number above 0 and below 1"),
    (("", "build", [], {"fpr": "0.1"}), "fpr must be.*got 0.1"), (("", "build", [], {"fpr": 1}), "fpr must"),
    (("", "build", [], {"bucket_size": 3}), "bucket_size must be 1 or 2 or 4 or 8, got 3"),
    (("", "build", [], {"bucket_size": "4"}), "bucket_size must be 1 or"), (("", "build", [], {"bucket_size": True}), "got true"),
    (("", "build", [], {"growth": "yes"}), "growth must be off or false or on or true, got yes"),
    (("", "build", [], {"nonsense": 1}), "unknown option nonsense; valid"),
    (("", "build", [], {"toString": 1}), "unknown option toString"),
    (("", "build", [], {"capacity": 1.5}), "whole number"),
    (("", "build", [], {"capacity": -1}), "from 0 to"), (("", "build", [], {"seed": 2**63}), "seed must"),
    (("", "build", [], {"seed": 0.5}), "seed must"),
    (("", "build", [], {"affinity": "int"}), "affinity must be none or text or blob or numeric or integer or real, got int$"),
    (("", "build", [], {"collation": "NOCASE"}), "collation must be binary or nocase or rtrim, got NOCASE"),
    (("", "build", [], {"value_bits": 3}), r"create\(capacity"),
    (("", "build", [], {"stash_size": 3}), "need stash: 'on'"),
    (("", "build", [], {"stash": "on"}), "stash=on excludes growth: add growth=off"),
    (("", "build", [1], {"fingerprint_bits": 4, "growth": "on"}), "growth"),
    (("", "build", [], 5), "options must be an object"),
    (("", "create", "5"), "capacity must be a whole number"), (("", "create", 2**41), "capacity must"),
    (("", "create", 2**40), "2 GB|too|larger fpr"), (("", "create", 3 * 10**9), "2 GB.*smaller capacity"),
    (("", "create", 5, {"capacity": 6}), "given twice"),
    (("f", "add", {"a": 1}), r"add\(key\): key must be"), (("f", "add", 1, 2), "stores no values"),
    (("f", "get", 1), r"get\(key\).*stores no values"),
    (("f", "merge", b""), r"merge\(filter\): filter must be a CuckooFilter.*open"),
    (("f", "merge", {"filter": "g"}), "differ in .*same capacity"),
    (("v", "add", 1), "value must be an integer from 0 to 7"), (("v", "add", 1, 8), "from 0 to 7"),
    (("closed", "contains", 1), "was closed"),
    (("f", "merge", {"filter": "closed"}), "was closed"), (("closed", "bytes"), "was closed"),
    (("full", "merge", {"filter": "full"}), "full|entries"),
]


SAME = {"true": "on", "false": "off", "blob": "text", "integer": "numeric"}  # as info says it


def test_errors_name_all_words_that_are_accepted(db, js):
    """Those of SQL, too."""
    for name in ("bucket_size", "hash", "growth", "layout", "stash", "affinity", "collation"):
        with pytest.raises(Failed) as mine:
            js("", "build", [], {name: "x"}, "new")
        with pytest.raises(sqlite3.Error) as theirs:
            ask(db, "SELECT cf_new(5, NULL, ?)", f"{name}=x")
        named = re.search(f"{name} must be (.*), got x$", str(mine.value))[1].split(" or ")
        assert set(re.search(rf"valid: {name}=(.*)$", str(theirs.value))[1].split("|")) <= set(named)
        for word in named:
            value = {"true": True, "false": False}.get(word, int(word) if word.isdigit() else word)
            js("", "build", ["ada"], {"growth": "off", name: value}, "new")
            said = js("new", "info")[name]
            assert word == "auto" or str(said) == SAME.get(word, word)


def test_errors(js):
    js("", "create", 10, {}, "f")
    js("", "create", 10, {"seed": 3}, "g")
    js("", "create", 10, {"value_bits": 3}, "v")
    js("", "create", 10, {}, "closed")
    js("closed", "close")
    js("", "build", list(range(4000)), {"growth": "off", "bucket_size": 4, "fingerprint_bits": 12}, "full")
    steps = js.steps([("full", "add", f"x{i}") for i in range(300)])
    assert "filter is full: planned for 4000 keys" in steps[-1]["error"] and "nothing has changed" in steps[-1]["error"]
    before = js("full", "bytes")
    for call, says in ERRORS:
        with pytest.raises(Failed, match=f"^sqlite-cuckoo/filter: .*{says}") as failed:
            js(*call, *([] if call[0] else ["new"]))
        assert failed.value.kind in ("Error", "TypeError", "RangeError")
    assert js("full", "bytes") == before


def test_what_a_page_does(db, tmp_path):
    """The page that make test-browser opens in Chromium, in Node and with fewer keys."""
    sys.path.insert(0, str(filter_process.ROOT / "tests/ship"))
    keys = importlib.import_module("browser").domains(10_000)
    (tmp_path / "domains.txt").write_text("\n".join(keys))
    (tmp_path / "sql.filter").write_bytes(build_sql(db, keys, {"fpr": 0.001}))
    shutil.copy(filter_process.ROOT / "tests/ship/browser/page.mjs", tmp_path)
    out = run(tmp_path, """import fs from 'node:fs'; import {visit} from './page.mjs'; 
        const {checks} = await visit(fs.readFileSync('domains.txt', 'utf8').split('\\n'), fs.readFileSync('sql.filter'),
          (bytes) => { fs.writeFileSync('kept', bytes); return fs.readFileSync('kept'); });
        console.log(JSON.stringify(checks))""")
    checks = json.loads(out)
    assert len(checks) == 6 and all(checks.values()), checks


# ---- scripts of their own: what a wire cannot carry ----

def run(folder, script, name="try.mjs", *arguments):
    filter_process.write_package(folder)
    (folder / name).write_text(script)
    said = subprocess.run([filter_process.NODE, *arguments, folder / name], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=300,
                          cwd=folder)
    assert said.returncode == 0, said.stderr
    return said.stdout


def test_lone_surrogates_are_replaced_as_drivers_do(db, tmp_path):
    out = run(tmp_path, r"""import {build} from './filter.mjs';
        const f = build(['a\ud800', '\udc00b', 'x'.repeat(100) + '\ud800']);
        console.log(Buffer.from(f.bytes()).toString('hex'), f.contains('a\ufffd'))""").split()
    assert out[0] == build_sql(db, ["a\ufffd", "\ufffdb", "x" * 100 + "\ufffd"], {}).hex() and out[1] == "true"


def test_kinds_of_bytes_and_iterables(tmp_path):
    run(tmp_path, r"""import {build, open} from './filter.mjs';
        import assert from 'node:assert';
        const bytes = Uint8Array.of(9, 1, 2, 3, 9), part = bytes.subarray(1, 4), f = build(new Set([part, 'a']).values());
        for (const key of [Buffer.from([1, 2, 3]), part.slice().buffer, new DataView(bytes.buffer, 1, 3), Uint8ClampedArray.of(1, 2, 3)])
          assert.equal(f.contains(key), true);
        assert.deepEqual(open(f.bytes().buffer).bytes(), f.bytes());
        assert.deepEqual(build(function* () { yield 'a'; yield null; yield part; }()).bytes(), f.bytes());
        assert.deepEqual(build(Float64Array.of(1, 2.5)).bytes(), build([1, 2.5]).bytes());
        assert.deepEqual([...build([1]).containsMany([1, null, 1n])], [1, 0, 1]);
        assert.throws(() => f.contains(undefined), /got undefined/);
        assert.throws(() => f.contains(Symbol('x')), /key must be/);
        assert.throws(() => f.contains(new Date()), /key must be/);
        assert.throws(() => new f.constructor(), /no constructor/);
        // A buffer that was transferred to a worker is empty here.
        const gone = f.bytes(), keys = [gone, gone.buffer];
        structuredClone(gone, {transfer: [gone.buffer]});
        for (const key of keys)
          for (const call of [() => open(key), () => f.contains(key), () => f.add(key), () => build([key]), () => f.containsMany([key])])
            assert.throws(call, /^TypeError: sqlite-cuckoo.filter: .*transferred; give a copy/);
        // A generator that fails, and one that asks other filters meanwhile.
        assert.throws(() => build(function* () { yield 1; throw new Error('mine'); }()), /mine/);
        const nested = build(function* () { yield 'a'; build(['zzz'.repeat(50000)]); f.contains('b'); yield part; }());
        assert.deepEqual(nested.bytes(), f.bytes());
        const kept = f.bytes(); f.add('more'); assert.notDeepEqual(kept, f.bytes());""")


def test_memory_is_given_back(tmp_path):
    """Many filters at once, opened, grown, closed or forgotten: the memory of the process stays where it was."""
    out = run(tmp_path, r"""import {build, buildExact, open, create} from './filter.mjs';
        const blob = build(Array.from({length: 1000}, (_, i) => i)).bytes(), large = create(20000).bytes(), seen = [];
        const rest = () => { globalThis.gc(); return new Promise((done) => setTimeout(done, 5)); };
        const measured = () => { seen.push(process.memoryUsage().external); };
        for (let round = 0; round < 3; round++) {
          const all = [];
          for (let i = 0; i < 1000; i++) all.push(open(blob));
          for (let i = 0; i < 100; i++) { const f = all[(i * 7919) % all.length]; for (let k = 0; k < 300; k++) f.add('x' + k); }
          if (!all.every((f) => f.contains(5) && !f.contains('no such key at all'))) throw new Error('wrong answer');
          all.sort(() => Math.random() - 0.5);
          for (const f of all) f.close();
          measured();
        }
        const exact = buildExact(large, [...'abcdefgh']).bytes();
        for (let round = 0; round < 3; round++) {
          for (let i = 0; i < 500; i++) {
            const f = open([exact, exact, exact]);
            if (!f.contains(large[i]) || f.containsMany(['a', 'b']).some(Boolean)) throw new Error('wrong answer');
            try { open([exact, exact.slice(1)]); throw new Error('opened'); } catch (e) { if (!/cannot be used/.test(e.message)) throw e; }
            f.close();
          }
        }
        measured();
        // Forgotten ones are given back by the garbage collector: 6,000 of them would be 150 MB.
        for (let i = 0; i < 30; i++) { for (let j = 0; j < 200; j++) { open(large); open([exact]); } await rest(); }
        measured();
        console.log(JSON.stringify(seen))""", "try.mjs", "--expose-gc")
    seen = json.loads(out)
    assert seen[0] > 1000 * 1200 and seen[2] <= 1.2 * seen[1], seen
    assert seen[3] <= 1.2 * seen[1] and seen[4] <= seen[2] + 60_000_000, seen


def test_out_of_memory_is_an_error_and_nothing_is_lost(tmp_path):
    """Four GB are all there is."""
    run(tmp_path, r"""import {create, build} from './filter.mjs';
        import assert from 'node:assert';
        const first = build(['ada', 'bob']), kept = [];
        assert.throws(() => { for (;;) kept.push(create(900_000_000, {fpr: 0.01})); }, /out of memory.*close/);
        assert.ok(kept.length >= 2 && first.contains('ada') && !first.contains('x'));
        const grown = create(10);
        for (let i = 0; i < 1000; i++) grown.add(i);
        assert.equal(grown.check(), 'ok');
        for (const f of kept) f.close();
        create(900_000_000, {fpr: 0.01}).close();""")


@pytest.mark.parametrize("name, script", [
    ("try.cjs", "const c = require('./filter.js'); "), ("try.mjs", "import * as c from './filter.mjs'; "),
    ("ready.mjs", "import * as c from './filter.mjs'; await Promise.all([c.ready(), c.ready()]); await c.ready(); "),
    ("worker.mjs", """import {Worker, isMainThread, parentPort} from 'node:worker_threads'; import * as c from './filter.mjs';
        if (isMainThread) { const w = new Worker(new URL(import.meta.url)); w.on('message', (b) => { if (!c.open(b).contains('ada')) process.exit(1); });
          w.on('error', (e) => { throw e; }); } else parentPort.postMessage(c.build(['ada']).bytes()); """)])
def test_ways_to_load_it(tmp_path, name, script):
    run(tmp_path, script + "if (!c.build(['ada']).contains('ada') || c.version !== '1.2.3') throw new Error('wrong');",
        name)


REFUSING = """import assert from 'node:assert'; import fs from 'node:fs'; import * as c from './filter.mjs';
    const {Module, CompileError, instantiate} = WebAssembly, refuse = () => { throw new CompileError('disallowed by embedder'); };
    const module = new Module(fs.readFileSync(WASM));
    WebAssembly.Module = function () { refuse(); };
    Object.defineProperty(WebAssembly.Module, Symbol.hasInstance, {value: (one) => one instanceof Module});
    WebAssembly.instantiate = (given, imports) => (given instanceof Module ? instantiate(given, imports) : Promise.reject(new CompileError('disallowed')));
    """.replace("WASM", repr(str(filter_process.WASM)))


def test_a_runtime_that_compiles_no_bytes(tmp_path):
    """As workerd, whose module of WebAssembly is imported."""
    run(tmp_path, REFUSING + r"""
        const remedy = /^Error: sqlite-cuckoo.filter: ready\(module\): .*disallowed.*await ready\(module\) before, with the module of 'sqlite-cuckoo.filter.wasm'/;
        for (const call of [() => c.build(['ada']), () => c.create(5), () => c.open(new Uint8Array(9)), () => c.buildExact(['a'], ['b'])])
          assert.throws(call, remedy);
        await assert.rejects(c.ready(), remedy);
        for (const wrong of ['filter.wasm', null, new Uint8Array(9), {}])
          await assert.rejects(c.ready(wrong), /^TypeError: .*module must be a WebAssembly.Module, such as that of/);
        await Promise.all([c.ready(module), c.ready(module)]);
        assert.ok(c.build(['ada']).contains('ada'));
        await c.ready(), await c.ready(module);""")
    run(tmp_path, REFUSING + "await c.ready(module); assert.ok(c.open(c.build(['ada']).bytes()).contains('ada'));")


def test_filters_are_not_copied_in_silence(tmp_path):
    """Without a word they would be {}."""
    run(tmp_path, r"""import assert from 'node:assert'; import {build, buildExact, open} from './filter.mjs';
        const channel = new MessageChannel();
        for (const f of [build(['ada']), open(build([]).bytes()), buildExact(['a'], ['b']), open([buildExact(['a'], ['b']).bytes()])]) {
          assert.throws(() => JSON.stringify(f), /^TypeError: sqlite-cuckoo.filter: .*filter\.bytes\(\)/);
          assert.throws(() => JSON.stringify({deep: [f]}), /filter\.bytes\(\)/);
          for (const copy of [() => structuredClone(f), () => structuredClone([{f}]), () => channel.port1.postMessage(f)])
            assert.throws(copy, (error) => error.name === 'DataCloneError' && /filter\.bytes\(\)/.test(error.message));
          assert.deepEqual(open(structuredClone(f.bytes())).bytes(), f.bytes());
        }
        channel.port1.close();""")


def test_errors_tell_types_that_look_alike(tmp_path):
    run(tmp_path, r"""import assert from 'node:assert'; import {build, create} from './filter.mjs';
        const f = create(5, {value_bits: 3});
        for (const [call, got] of [
          [() => build([], {fpr: '0.01'}), 'got 0.01, which is a string'], [() => build([], {capacity: 1000n}), 'got 1000, which is a bigint'],
          [() => create('5'), 'got 5, which is a string'], [() => create(5n), 'got 5, which is a bigint'],
          [() => build([], {growth: 'true'}), 'got true, which is a string'], [() => build([], {bucket_size: '4'}), 'got 4, which is a string'],
          [() => build([], {seed: '7'}), 'got 7, which is a string'], [() => f.add(1, '2'), 'got 2, which is a string'],
          [() => f.add(1, 2n), 'got 2, which is a bigint'], [() => f.regions('9'), 'got 9, which is a string'],
          [() => build([], {growth: 'yes'}), 'got yes'], [() => build([], {fpr: 2}), 'got 2'], [() => build([], {fpr: NaN}), 'got NaN']])
          assert.throws(call, (error) => error.message.endsWith(got));""")


def test_the_compiled_library_is_small_and_needs_nothing(tmp_path):
    content = filter_process.WASM.read_bytes()
    assert len(content) <= 100_000 and len(gzip.compress(content)) <= 60_000
    imports = json.loads(run(tmp_path, f"""import fs from 'node:fs';
        const m = new WebAssembly.Module(fs.readFileSync({str(filter_process.WASM)!r}));
        console.log(JSON.stringify(WebAssembly.Module.imports(m).map((i) => i.module + '.' + i.name)))"""))
    assert sorted(imports) == ["js.expm1", "js.log1p", "js.number", "js.resize"]


def test_a_filter_that_sql_built_over_no_rows(js, db):
    """cf_build does not see its options then: keys would be missed. Its own build knows them."""
    db.execute("CREATE TEMP TABLE none(k)")
    for name, rows in (("of none", "none"), ("some", "(SELECT 'Ada' AS k)")):
        js("", "open", ask(db, f"SELECT cf_build(k, 0.01, 'collation=nocase') FROM {rows}"), name)
    for call, argument in (("add", "Ada"), ("addMany", ["Ada"])):
        with pytest.raises(Failed, match="built from zero rows"):
            js("of none", call, argument)
    assert js("of none", "info")["bits_per_key"] == 0
    assert not js("of none", "contains", "Ada") and not js("of none", "delete", "Ada")
    js("", "build", [], {"collation": "nocase"}, "own")
    js("own", "add", "Ada")
    assert js("own", "contains", "ADA") and js("some", "contains", "ADA")
