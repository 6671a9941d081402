# SPDX-License-Identifier: MIT
"""sqlite-cuckoo/filter, the C library alone, and SQL: equal bytes and answers for filters of all key rules, for exact filters
and for chains of deltas.

CUCKOO_RULE_KEYS=1000000 for so many random keys of each rule, and of the chain; 2,000 unless given."""
import math
import os
import random
import sqlite3
import re
import subprocess

import pytest

import filter_process
import support
import xxh3
from conftest import SEED
from filter_process import RULES, Failed, ask_all, of_sql
from support import ask
from test_key_rules import ALL

pytestmark = filter_process.needed
COUNT = int(os.environ.get("CUCKOO_RULE_KEYS", 2000))
EXTREMES = [*ALL, -0.0, math.inf, -math.inf, 2.0**53, 2**53 - 1, 2**53, 2**53 + 1, 2**63 - 1, -2**63, 2.0**63, -2.0**63, "1e3", " 12 ",
            "0x10", "1_000", "12  ", "Ä", "ä", "É ", "1\0", "A\0b", "9223372036854775808", "0.1", "1.2345", "1.23456", "a" * 70_000,
            "A" * 70_000, "123456789012345.5", "1e18", "1e22", "1e23", "-5.50", "99999999999999999999", None]


@pytest.fixture(scope="module")
def js(tmp_path_factory):
    filters = filter_process.Filters(tmp_path_factory.mktemp("filter"))
    yield filters
    filters.close()


@pytest.fixture(scope="module")
def db():
    return support.connect()


@pytest.fixture(scope="module")
def c(tmp_path_factory):
    return filter_process.answers_of_c(tmp_path_factory.mktemp("c"))


def random_keys(n):
    seed = random.Random(SEED).randrange(2**32)
    print(f"seed {seed}")
    return filter_process.random_keys(random.Random(seed), n)


def assert_alike(db, js, c, blob, keys):
    """All agree. Without SQLite a text over which its versions differ is probably there, or an exact filter cannot know it: returns
    the others."""
    js("", "open", blob, "f")
    expected, sure = ask_all(db, blob, keys), []
    for from_ in range(0, len(keys), 50_000):
        some = keys[from_:from_ + 50_000]
        given = [key for key in some if key is not None]
        mine, theirs = js("f", "each", some), iter(c(blob, given))
        for key, answer, right in zip(some, mine, expected[from_:]):
            assert answer == (0 if key is None else next(theirs)), (key, answer, right)
            assert answer == right or (answer != 0 and isinstance(key, str)), (key, answer, right)
            sure += [(key, right)] if answer == right else []
    assert list(js("f", "containsMany", [key for key, _ in sure])) == [right for _, right in sure]
    return [key for key, _ in sure]


@pytest.mark.parametrize("affinity, collation", RULES)
def test_key_rules(js, c, affinity, collation):
    """Half of the keys are stored, in other words where there are some. Each answer is SQL's; so are the bytes."""
    db = support.connect()
    keys = EXTREMES + random_keys(COUNT)
    options = {"fingerprint_bits": 32, "affinity": affinity, "collation": collation, "seed": 5}
    stored = keys[::2]
    blob = support.new(db, len(stored), None, f"fingerprint_bits=32 affinity={affinity} collation={collation} seed=5")
    db.execute("CREATE TABLE k(x)")
    db.executemany("INSERT INTO k VALUES (?)", ((of_sql(key),) for key in stored))
    blob = ask(db, f"SELECT {support.list_call('cf_add_keys', '?1', 'x')} FROM k", blob)
    others = [key.swapcase() + " " if isinstance(key, str) else key for key in stored[:COUNT // 4]]
    known = assert_alike(db, js, c, blob, keys + others)
    unsure = len(keys + others) - len(known)
    print(f"{affinity} {collation}: {len(known)} answers alike, 0 different, {unsure} not sure")
    assert affinity != "none" or unsure == 0
    db.execute("DELETE FROM k")
    db.executemany("INSERT INTO k VALUES (?)", ((of_sql(key),) for key in keys))
    assert js.make("g", "build", keys, options) == ask(
        db, f"SELECT cf_build(x, NULL, 'fingerprint_bits=32 affinity={affinity} collation={collation} seed=5') FROM k")
    db.close()


def test_words_of_typical_keys(js):
    """What a page gives is the key of the column, however it is written."""
    js("", "create", 10, {"affinity": "integer", "fingerprint_bits": 32}, "f")
    js.steps([("f", "add", 42), ("f", "add", "1e3"), ("f", "add", "2.5")])
    asked = [42, "42", " 42 ", "42.0", "4.2e1", "+42", "1000", 1000, 2.5, "2.50", "0x2a", "4_2", "42x", "Ada"]
    assert js.steps([("f", "contains", key) for key in asked]) == [True] * 10 + [False] * 4
    for text in ("0.12345", "1e23", "9223372036854775808", "1234567890123456.5"):
        assert js("f", "contains", text) is True  # some version of SQLite may find it
        js("", "buildExact", [1], [2], {"affinity": "integer"}, "e")
        for call, ask_it in (("contains", lambda: js("e", "contains", text)), ("buildExact", lambda: js("", "buildExact", [text], [], {"affinity": "real"}, "g"))):
            with pytest.raises(Failed, match=rf"{call}\(.*\): key '{text}' is a number under.*versions of SQLite differ.*give it as a number"):
                ask_it()
    js("", "create", 10, {"affinity": "text", "collation": "nocase", "fingerprint_bits": 32}, "f")
    js.steps([("f", "add", "Ada"), ("f", "add", "12"), ("f", "add", b"x")])
    asked = ["ADA", "ada ", "12", 12, " 12", 1.5, 1e300, "É", b"ADA", b"x"]
    assert js.steps([("f", "contains", key) for key in asked]) == [True, False, True, True, True, True, True, False, False, True]
    assert js("f", "count", 1.5) == 1 and js("f", "delete", "aDa") is True and js("f", "contains", "ada") is False


def test_large_numbers_are_reals_as_well(db, js):
    """SQLite stores 15 digits of a REAL in a column of text: a row that SQL finds by the number, the page finds."""
    for number in (1e15, 1234567890123456.0, 8931062117298699264.0, -9007199254740993.0):
        db.execute("CREATE TABLE large(x TEXT)")
        db.execute("INSERT INTO large VALUES (?)", (number,))
        blob = ask(db, "SELECT cf_build(x, 0.000001, 'affinity=text') FROM large")
        js("", "open", blob, "f")
        assert ask(db, "SELECT count(*) FROM large WHERE x = ?", number) == 1 and js("f", "contains", number) is True
        assert js("f", "contains", int(number)) is bool(ask(db, "SELECT cf_contains(?, ?)", blob, int(number)))  # a bigint
        db.execute("DROP TABLE large")


def test_a_followed_table_is_sent(db, js):
    """cf_export of a table: the page asks it, and adds to its copy as SQL would. Values come along."""
    db.execute("CREATE TABLE users(email TEXT COLLATE NOCASE, id INTEGER PRIMARY KEY)")
    for column in ("email", "id"):
        db.execute(f"CREATE VIRTUAL TABLE known_{column} USING cuckoo_filter(content='users({column})')")
    db.executemany("INSERT INTO users VALUES (?, ?)", [(f"User{i}@example.com", 3 * i) for i in range(2000)])
    js("", "open", ask(db, "SELECT cf_export('known_email')"), "f")
    assert js("f", "containsMany", [f"uSER{i}@example.com" for i in range(2000)]) == b"\1" * 2000
    assert sum(js("f", "containsMany", [f"other{i}@example.com" for i in range(2000)])) < 60
    js("", "open", ask(db, "SELECT cf_export('known_id')"), "f")
    assert js("f", "containsMany", [kind(3 * i) for i in range(2000) for kind in (int, str, float)]) == b"\1" * 6000
    db.execute("CREATE TEMP TABLE v AS SELECT id AS x FROM users ORDER BY id LIMIT 200")
    blob = ask(db, "SELECT cf_add_keys(cf_new(200, NULL, 'fingerprint_bits=24 value_bits=8 affinity=integer'), cf_keys(x, x % 256, 'affinity=integer')) FROM v")
    js("", "create", 200, {"fingerprint_bits": 24, "value_bits": 8, "affinity": "integer"}, "f")
    js.steps([("f", "add", (str, float, int)[i % 3](3 * i), 3 * i % 256) for i in range(200)])
    assert js("f", "bytes") == blob
    assert [js("f", "get", str(3 * i)) for i in range(200)] == [3 * i % 256 for i in range(200)]
    db.execute("DROP TABLE known_email")
    db.execute("DROP TABLE known_id")
    db.execute("DROP TABLE users")


# ---- exact filters and deltas ----

def exact(db, members, others, fpr=None, options=None):
    db.execute("DROP TABLE IF EXISTS temp.e")
    db.execute("CREATE TEMP TABLE e(x, member)")
    for keys, member in ((members, 1), (others, 0)):
        db.executemany("INSERT INTO e VALUES (?, ?)", ((of_sql(key), member) for key in keys))
    return ask(db, "SELECT cf_build_exact(x, member, ?, ?) FROM e", fpr, options)


@pytest.mark.parametrize("members, others", [([2.5, "1.5"], ["3e2"]), (["1.5"], ["0.25", 1e300]), ([math.inf], []), ([], [1e15])])
def test_a_real_that_may_equal_several_texts_is_refused(db, js, members, others):
    with pytest.raises(sqlite3.OperationalError, match="which may equal other keys"):
        exact(db, members, others, None, "affinity=text")
    with pytest.raises(filter_process.Failed, match="it may equal several texts"):
        js.make("f", "buildExact", members, others, {"affinity": "text"})


@pytest.mark.parametrize("options", [{}, {"fpr": 0.001}, {"seed": 7}, {"hash": "keyed"}, {"affinity": "numeric", "seed": -3},
                                     {"affinity": "text", "collation": "nocase"}])
def test_exact_filters(db, js, c, options):
    """The same bytes, answers, numbers: of no keys, few, and many of all types."""
    ruled = "affinity" in options
    every = list(dict.fromkeys(key for key in random_keys(COUNT) if not ruled or isinstance(key, (int, bytes))))
    for universe in ([], every[:1], every[:20], every):
        members, others = universe[::3], [key for i, key in enumerate(universe) if i % 3]
        words = " ".join(f"{name}={value}" for name, value in options.items() if name != "fpr")
        blob = exact(db, [None, *members], others, options.get("fpr"), words)
        assert js.make("f", "buildExact", [None, *members], others, options) == blob
        odd = [key for key in ["other", 1.5, b""] if not universe or options.get("affinity") == "none" or type(key) in map(type, universe)]
        assert_alike(db, js, c, blob, members + others + [None, *odd])
        assert js("f", "containsMany", members) == b"\1" * len(members) and js("f", "containsMany", others) == b"\0" * len(others)
        mine, theirs = js("f", "info"), support.info(db, blob)
        assert mine.keys() == theirs.keys()
        assert all(mine[name] == pytest.approx(theirs[name], rel=1e-5) if isinstance(theirs[name], float) else mine[name] == theirs[name]
                   for name in mine), (mine, theirs)
        assert js("f", "check") == "ok" and js("f", "bytes") == blob and js("f", "contains", None) is None


def test_a_chain_of_ten_deltas(db, js):
    """No answer is wrong, on any day."""
    rng, sizes = random.Random(SEED), []
    for chain, keys, members in filter_process.days(db, rng, random_keys(COUNT)):
        js("", "open", chain, "f")
        answers = [js("f", "containsMany", keys[i:i + 50_000]) for i in range(0, len(keys), 50_000)]
        assert b"".join(answers) == bytes(members)
        sizes.append(len(chain[-1]))
    assert js("f", "each", keys[:300]) == members[:300]
    info = js("f", "info")
    assert info["deltas"] == 10 and info["bytes"] == sum(map(len, chain)) and js("f", "check") == "ok"
    print(f"{len(keys)} keys, {sum(members)} members: base {len(chain[0])} bytes, deltas {sizes}")
    assert COUNT < 10_000 or max(sizes) < len(chain[0]) / 2


@pytest.mark.parametrize("rows", ["", "1", "2", "3", "12", "13", "23", "123"])
def test_a_chain_of_which_links_have_no_rows(db, js, rows):
    """SQL does not see the options of cf_build_exact then: they have none, and change no answer, wherever in the chain."""
    links = {"1": (["ada", "bob"], ["cyd"]), "2": (["cyd"], ["ada", "bob"]), "3": (["BOB"], ["ada", "cyd"])}
    options = "affinity=text collation=nocase"
    chain = [exact(db, *(links[link] if link in rows else ([], [])), None, options) for link in "123"]
    js("", "open", chain, "f")
    for key in ("ada", "ADA", "bob", "Cyd"):
        answer = ask(db, "SELECT " + " <> ".join(f"cf_contains(?{i + 2}, ?1)" for i in range(3)), key, *chain)
        assert js("f", "contains", key) == bool(answer), key
    if len(rows) > 1:
        other = exact(db, ["ada"], ["bob"])
        with pytest.raises(Failed, match="build all with the same"):
            js("", "open", [*chain, other], "g")


def test_exact_blobs_that_lie(db, js):
    """What is refused, and why, is what SQL refuses; what is opened answers as SQL does."""
    rng, opened = random.Random(SEED), 0
    for n in (0, 3, 40, 3000):
        keys = list(range(n))
        blob = exact(db, keys[::3], [key for key in keys if key % 3])
        for i in range(60):
            lie = bytearray(blob)
            at = rng.randrange(rng.choice([64, len(lie)]))
            lie[at] = rng.choice([0, 1, 255, lie[at] ^ 1 << rng.randrange(8)])
            lie = bytes(lie)[:rng.choice([len(lie)] * 9 + [rng.randrange(len(lie))])]
            if 64 + 17 <= len(lie) <= 64 + 128:
                lie = lie[:48] + xxh3.of_medium(lie[64:]).to_bytes(8, "little") + lie[56:]
            lie = support.sealed(lie) if len(lie) >= 64 and i % 5 else lie
            theirs = ask(db, "SELECT cf_check(?)", lie)
            try:
                js("", "open", lie, "h")
            except Failed as error:
                assert f"filter cannot be used: {theirs};" in str(error), (error, theirs)
                continue
            opened += 1
            assert js("h", "check") == theirs
            try:
                answer = ask(db, "SELECT cf_contains(?, 0)", lie)
            except sqlite3.IntegrityError:  # its key types are corrupt
                with pytest.raises(Failed, match="never be found"):
                    js("h", "contains", 0)
                continue
            assert js("h", "contains", 0) == bool(answer)
            assert [int(js("h", "contains", key)) for key in range(5)] == ask_all(db, lie, range(5))
    assert opened > 20


def test_values_that_are_no_keys(tmp_path):
    """Each call names itself and a remedy, under every rule. A lone surrogate is U+FFFD; views are bytes; a function is nothing."""
    filter_process.write_package(tmp_path)
    (tmp_path / "try.mjs").write_text(r"""
        import assert from 'node:assert'; import { build, buildExact, open } from './filter.mjs';
        const bad = [undefined, true, false, new Date(0), NaN, {}, [1], Symbol('x'), () => 1, 2n ** 63n, -(2n ** 63n) - 1n];
        for (const affinity of ['none', 'blob', 'integer', 'real']) for (const collation of ['binary', 'nocase', 'rtrim']) {
          const rule = { affinity, collation }, one = build(['A\ud800', new Uint8Array([65]), '7'], { ...rule, fingerprint_bits: 32 });
          const exact = buildExact(['A\ud800', '7'], [new Uint8Array([65])], rule), chain = open([exact.bytes(), buildExact(['7'], [], rule).bytes()]);
          for (const filter of [one, exact, chain]) {
            for (const key of bad) {
              const names = /: sqlite-cuckoo\/filter: contains(Many)?\(keys?\): key (must be a string, a number.*, got |.*no integer of 64 bits; give it)/;
              assert.throws(() => filter.contains(key), names);
              assert.throws(() => filter.containsMany([key]), names);
            }
            assert.equal(filter.contains('A\ufffd'), true);
            assert.equal(filter.contains('a\ufffd'), collation === 'nocase');
            assert.equal(filter.contains('A\ufffd  '), collation === 'rtrim');
            assert.equal(filter.contains(7), affinity === 'none' ? false : filter !== chain);
            assert.equal(filter.contains(null), null);
            assert.equal(filter.contains(new DataView(new ArrayBuffer(1))), false);
          }
          assert.throws(() => exact.contains(new Date(0)), /got a Date; give what the column holds, such as key.toISOString/);
        }""")
    subprocess.run([filter_process.NODE, tmp_path / "try.mjs"], check=True)


def test_examples_of_the_readme(tmp_path):
    """What stands behind // true or // false is what they say."""
    readme = (filter_process.ROOT / "ext/packages/npm/README.md").read_text()
    examples = re.findall(r"```js\n(import [^\n]*'sqlite-cuckoo/filter'.*?)```", readme, re.S)
    assert len(examples) == 2
    filter_process.write_package(tmp_path)
    for i, example in enumerate(examples):
        script, n = re.subn(r"^([^/\n]*); // (true|false).*$", r"if ((\1) !== \2) throw new Error(`\1`);", example, flags=re.M)
        (tmp_path / f"{i}.mjs").write_text(script.replace("sqlite-cuckoo/filter", "./filter.mjs"))
        assert n >= 3
        subprocess.run([filter_process.NODE, tmp_path / f"{i}.mjs"], check=True)


ERRORS = [
    (("", "open", []), r"open\(\[filter, \.\.\.deltas\]\): the list is empty; give"),
    (("", "open", [b"x"]), r"filter 0: filter cannot be used"), (("", "open", ["x"]), "filter 0: bytes must be a Uint8Array"),
    (("f", "bytes"), "has no bytes of its own; keep"), (("f", "contains", True), "got true; give 1 or 0"),
    (("f", "containsMany", 5), "keys must be an iterable"), (("f", "contains", 2**63), "64 bits.*as a string"),
    (("f", "containsMany", [math.nan]), "got NaN"),
    (("", "buildExact", [1], [2], {"capacity": 5}), r"buildExact\(members, others\): capacity has no meaning here; leave it out"),
    (("", "buildExact", [1], [2], {"nonsense": 5}), "unknown option nonsense; valid options: fpr, seed, hash, affinity, collation$"),
    (("", "buildExact", [1], [1]), "a key is both member and not"), (("", "buildExact", [1], 5), "keys must be an iterable"),
    (("", "buildExact", [1], [1.5], {"affinity": "text"}), "fractional number.*leave the affinity out"),
    (("", "buildExact", ["0.12345"], [], {"affinity": "real"}), "give it as a number"),
]


def test_errors(db, js):
    plain, one, ruled = support.build(db, [1]), exact(db, [1], [2]), exact(db, [1], [2], None, "affinity=text")
    js("", "open", [one, one], "f")
    cases = [*ERRORS, (("", "open", [one, plain]), "filter 1: only exact filters have deltas; build it by cf_build_exact"),
             (("", "open", [plain]), "filter 0: only exact"), (("", "open", [one, ruled]), "filter 1: it has affinity=text.*build all with"),
             (("", "open", [one, one[:-1]]), "filter 1: filter cannot be used: .*; restore it")]
    for step, expected in cases:
        with pytest.raises(Failed, match=expected):
            js(*step, *(["g"] if step[0] == "" else []))
    js("f", "close")
    for method in (("contains", 1), ("containsMany", [1]), ("info",), ("check",), ("bytes",)):
        with pytest.raises(Failed, match="was closed; open it again"):
            js("f", *method)
