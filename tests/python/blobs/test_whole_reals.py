# SPDX-License-Identifier: MIT
"""Some drivers bind each number as REAL (libsql, Deno; JavaScript has no other). A whole one is an integer for every
function; 5.5 is an error, where an integer is meant."""
import json
import re

import pytest

import functions
from seen import create
from support import BAD_PARAMETER, ask, fails

VALUED, PLAIN = "(SELECT f FROM valued)", "cf_new(50)"
OTHERS = ["cf_build_exact({k}, 0)", "cf_build({k}, 0.01, 'capacity=100')", "cf_plan(100, 0.01, 'bucket_size=8 epochs=3')",
          "cf_plan(100, 0.01, 'growth=off stash=on max_kicks=9 stash_size=50')",
          "cf_new(100, NULL, 'fingerprint_bits=12')", "cf_keys({k}, 4294967295)", "cf_new(0)"]
NUMBER = re.compile(r"(?<![\w.'])\d+(?![\w.'])|(?<==)\d+")
CALLS = [call for call in functions.SCALARS + functions.AGGREGATES + functions.MAKERS + functions.BUILDERS + OTHERS
         if NUMBER.search(call)]


@pytest.fixture
def valued(db):
    db.execute("CREATE TABLE valued AS SELECT cf_build(column1, 0.01, 'value_bits=4', column2) AS f "
               "FROM (VALUES ('a', 1), ('b', 2))")
    return db


def both(call, fraction):
    """The call, and the same with a fraction behind each whole number."""
    plain = call.format(f=PLAIN if "cf_merge" in call else VALUED, k="'a'").replace("cf_new(10)", "cf_new(50)")
    return plain, NUMBER.sub(lambda found: found.group() + fraction, plain)


@pytest.mark.parametrize("call", CALLS)
def test_a_whole_real_is_an_integer_for_every_function(valued, call):
    plain, real = both(call, ".0")
    assert real != plain and ask(valued, f"SELECT {real}") == ask(valued, f"SELECT {plain}")


@pytest.mark.parametrize("call", [call for call in CALLS if not re.search("exact|cf_new.*{f}|{f}.*cf_keys", call)])
def test_a_fraction_is_an_error(valued, call):
    fails(valued, BAD_PARAMETER, f"SELECT {both(call, '.5')[1]}", says=".5")


def test_a_column_of_type_real(db):
    db.execute("CREATE TABLE pair(k TEXT, v REAL, i INTEGER)")
    db.executemany("INSERT INTO pair VALUES (?, ?, ?)", [(f"k{n % 40}", n % 7, n % 7) for n in range(80)])
    blobs = [ask(db, f"SELECT cf_build(k, 0.001, 'value_bits=3', {v}) FROM pair") for v in "vi"]
    assert blobs[0] == blobs[1]
    assert [value for value, in db.execute("SELECT value FROM cf_values(?, 'k3') ORDER BY 1", (blobs[0],))] == \
        [value for value, in db.execute("SELECT DISTINCT i FROM pair WHERE k = 'k3' ORDER BY 1")]
    assert ask(db, "SELECT cf_get(cf_delete(cf_add(?1, 'new', 2.0), 'new', 2), 'new')", blobs[0]) is None


def test_filter_tables_and_buckets(db):
    create(db, "capacity=100.0, seed=5.0, fpr=0.01")
    db.execute("CREATE TABLE t(k UNIQUE)")
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(content='t(k)')")
    assert ask(db, "SELECT json_extract(cf_table_rebuild('f', 5000.0), '$.keys')") == 0
    assert ask(db, "SELECT json_extract(cf_table_info('f'), '$.capacity')") == 5000
    db.execute("INSERT INTO f(f, key) VALUES ('rebuild', 6000.0)")
    assert ask(db, "SELECT json_extract(cf_table_info('f'), '$.capacity')") == 6000
    fails(db, BAD_PARAMETER, "SELECT cf_table_rebuild('f', 5.5)", says="a whole number")
    for of in ("cf_new(1000)", "'seen'"):
        for bucket, rows in [(3, 4), (3.0, 4), (3.5, 0), (-1, 0), (-1.0, 0), (1e300, 0), (2**62, 0)]:
            assert ask(db, f"SELECT count(*) FROM cf_buckets({of}) WHERE bucket = ?", bucket) == rows


@pytest.mark.parametrize("seed", [0, -5, 2**53 - 1, 1 - 2**53, 2**53, -2**53, 2**53 + 1, 2**63 - 1, -2**63])
def test_seeds_in_json_survive_a_reader_that_has_doubles_only(db, seed):
    """JSON.parse reads numbers as doubles. A seed beyond them is a text, which an option takes as it is."""
    db.execute(f"CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=100, seed={seed})")
    for call in (f"cf_info(cf_new(9, 0.01, 'seed={seed}'))", f"cf_plan(9, 0.01, 'seed={seed}')", "cf_table_info('seen')",
                 f"cf_info(cf_build_exact(1, 1, NULL, 'seed={seed}'))", "cf_table_info('seen', 'all')"):
        said = json.loads(ask(db, f"SELECT {call}"), parse_int=float)["seed"]
        assert int(said) == seed and isinstance(said, str) == (abs(seed) >= 2**53)
    again = "SELECT cf_new(9, 0.01, 'seed=' || json_extract(cf_info(f), '$.seed')) = f FROM (SELECT cf_new(9, 0.01, ?) AS f)"
    assert ask(db, again, f"seed={seed}") == 1
