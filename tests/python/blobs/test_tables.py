# SPDX-License-Identifier: MIT
"""cf_buckets and cf_explain: what they show is what is stored, however the query is written."""
import itertools
import json
import sqlite3

import pytest

import support
from support import BAD_PARAMETER, ask, fails

SLOTS = "SELECT bucket, slot, fingerprint, alternate, length, stashed, payload FROM cf_buckets(?1)"


@pytest.fixture
def f(db):
    """A filter of 60 keys in about 20 buckets of four slots."""
    return support.build(db, range(60), None, "bucket_size=4 fingerprint_bits=12")


def buckets_of(db, blob):
    return support.info(db, blob)["buckets"]


# ---- what the rows say ----

SHAPES = ["bucket_size=1 growth=off", "bucket_size=2", "bucket_size=4 layout=plain", "layout=semisort",
          "bucket_size=8", "fingerprint_bits=4 bucket_size=4 growth=off",
          "fingerprint_bits=5 growth=off layout=semisort", "fingerprint_bits=32", "counter_bits=3", "value_bits=5",
          "seed=9", "epochs=3", "layout=semisort stash=on max_kicks=0 growth=off fingerprint_bits=12"]


@pytest.mark.parametrize("options", SHAPES)
@pytest.mark.parametrize("n", [40, 300])
def test_the_rows_agree_with_each_other_and_with_the_answers(db, options, n):
    """Before growth and, where it may grow, after."""
    values = "value_bits" in options
    call = support.list_call("cf_add_keys", "cf_new(?1, NULL, ?2)", "value", "value % 32" if values else "NULL")
    blob = ask(db, f"SELECT {call} FROM json_each(?3)", n if "off" in options else 40, options,
               json.dumps(list(range(n)) + ([] if values else list(range(0, n, 7)))))
    info = support.info(db, blob)
    rows = db.execute("SELECT bucket, slot, fingerprint, alternate, length, stashed, payload, copies FROM cf_buckets(?)", (blob,)).fetchall()
    assert [row[:2] for row in rows] == [(i, j) for i in range(info["buckets"]) for j in range(info["bucket_size"])]
    taken = {row[:2]: row[2:] for row in rows if row[2] is not None}
    assert len(taken) == info["occupied"]
    for _, _, fingerprint, alternate, length, stashed, payload, copies in rows:
        assert stashed in (0, 1) and (stashed == 0 or info["stash"] == "on")
        if fingerprint is None:
            assert (alternate, length, payload, copies) == (None,) * 4
        else:
            assert fingerprint >> length == 0 < fingerprint and (alternate is None or alternate < info["buckets"])
            assert (payload is None) == (not (values or "counter" in options or "epochs" in options)) and copies >= 1
    grown = info["level"] + info["split"] > 0
    for key in range(n + 40):
        shown = db.execute("SELECT side, bucket, slot, fingerprint, wanted, match, source, length, payload, copies FROM cf_explain(?, ?)", (blob, key)).fetchall()
        sides = {row[0]: (row[1], row[4]) for row in shown}
        assert list(sides) in (["base", "alternate"], ["base"])
        in_buckets = [row for row in shown if row[6] == "bucket"]
        assert [row[:3] for row in in_buckets] == [(side, sides[side][0], slot) for side in sides
                                                   for slot in range(info["bucket_size"])]
        for side, bucket, slot, fingerprint, wanted, match, source, length, payload, copies in shown:
            assert wanted == sides[side][1]
            if source == "bucket":
                kept = taken.get((bucket, slot), (None,) * 6)
                assert (fingerprint, length, payload, copies) == (kept[0], kept[2], kept[4], kept[5])
            else:
                assert source == "stash" and slot is None
            assert match == (fingerprint is not None and fingerprint == wanted & (1 << length) - 1)
            if match and kept[1] is not None and source == "bucket":
                other = dict(sides).get("alternate" if side == "base" else "base", sides["base"])[0]
                assert kept[1] == other or grown
        found = sum(row[9] for row in shown if row[5])
        assert (found > 0) == support.contains(db, blob, key) and (key >= n or found > 0)
        assert "epochs" in options or found == support.count(db, blob, key) or info["saturated"]


def test_the_two_sides_of_a_key_share_what_names_the_other_one(db):
    """The pair bits name the alternate and so are the same on both sides; the others differ by what follows from the pair alone."""
    blob = support.new(db, 3000, None, "bucket_size=4 fingerprint_bits=12 layout=plain")
    mask, differences = (1 << support.info(db, blob)["pair_bits"]) - 1, {}
    for key in range(500):
        base, other = (wanted for _, wanted in db.execute("SELECT DISTINCT side, wanted FROM cf_explain(?, ?)",
                                                          (blob, key)))
        assert (base ^ other) & mask == 0
        assert differences.setdefault(base & mask, base ^ other) == base ^ other
    assert any(differences.values())


# ---- constraints on the bucket ----

BOUNDS = ["3", "0", "-1", "16", "1000000", str(2**62), str(2**63 - 1), str(-2**63), "3.0", "3.5", "-0.5",
          "-1e300", "1e300", "9e999", "-9e999", "NULL", "'3'", "'3.0'", "'abc'", "''", "x'33'", "x''"]
LIKE_NUMBERS = ["'3'", "'3.0'"]
OPERATORS = ["=", "<", "<=", ">", ">=", "<>", "IS", "IS NOT"]


def test_constraints_give_the_same_rows_as_without_pushdown(db, f):
    for operator, bound in itertools.product(OPERATORS, BOUNDS):
        pushed = db.execute(f"{SLOTS} WHERE bucket {operator} {bound}", (f,)).fetchall()
        # A plus keeps the constraint away from the table, and takes away the affinity of the column, which makes numbers of
        # texts that look like one.
        plain = db.execute(f"{SLOTS} WHERE +bucket {operator} {bound.replace(chr(39), '') if bound in LIKE_NUMBERS else bound}", (f,)).fetchall()
        assert pushed == plain, (operator, bound)


@pytest.mark.parametrize("condition", [
    "bucket > 2 AND bucket < 9", "bucket >= 2 AND bucket <= 9", "bucket BETWEEN 2 AND 9",
    "bucket BETWEEN 9 AND 2", "bucket > 2 AND bucket > 5", "bucket < 9 AND bucket < 4",
    "bucket = 3 AND bucket = 4", "bucket = 3 AND bucket > 3", "bucket IN (1, 3, 99, NULL, -4)",
    "bucket = 3 AND slot = 1", "bucket = slot",
    "bucket > 2.5 AND bucket < 4.5", "bucket NOT IN (1, 2)", "bucket % 2 = 0 AND bucket < 6",
    "bucket IN (SELECT slot FROM cf_buckets(?1) WHERE bucket = 0)", "bucket IS NULL", "rowid < 20"])
def test_combined_constraints(db, f, condition):
    pushed = db.execute(f"{SLOTS} WHERE {condition} ORDER BY bucket, slot", (f,)).fetchall()
    plain = db.execute(f"{SLOTS} WHERE {condition.replace('bucket ', '+bucket ').replace('rowid', '+rowid')}"
                       " ORDER BY +bucket, +slot", (f,)).fetchall()
    assert pushed == plain


@pytest.mark.parametrize("condition", [
    "bucket = 1 OR bucket = 2", "bucket = 1 OR slot = 2", "bucket < 1 OR bucket > 3",
    "fingerprint IS NULL OR slot = 1", "bucket IN (7, 3) OR bucket = 1", "alternate = 1 OR bucket = 1",
    "(bucket = 1 AND slot = 1) OR (bucket = 2 AND slot = 0)", "bucket = 1 OR slot + 1 = 2"])
def test_or(db, f, condition):
    """SQLite plans each side of an OR by itself, without the arguments, before it plans the whole:
    that plan must be declined, not answered with an error."""
    pushed = db.execute(f"{SLOTS} WHERE {condition} ORDER BY bucket, slot", (f,)).fetchall()
    plain = db.execute(f"SELECT * FROM ({SLOTS} LIMIT -1) WHERE {condition} ORDER BY bucket, slot",
                       (f,)).fetchall()
    assert pushed == plain != []


def test_or_over_cf_explain(db, f):
    got = db.execute("SELECT slot FROM cf_explain(?, 3) WHERE match = 1 OR slot = 2", (f,)).fetchall()
    assert (2,) in got


def test_one_bucket_of_a_large_filter_is_found_at_once(db):
    """A walk over its 2.7 million slots for each of 2,000 questions would take minutes."""
    blob = support.new(db, 2_500_000)
    buckets = buckets_of(db, blob)
    count = ask(db, """WITH RECURSIVE q(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM q LIMIT 2000)
                       SELECT count(*) FROM q, cf_buckets((SELECT cf_open(?1))) b
                       WHERE b.bucket = i * (?2 / 2000)""", blob, buckets)
    assert count == 2000 * support.info(db, blob)["bucket_size"]


# ---- order ----

@pytest.mark.parametrize("order", [
    "bucket", "bucket, slot", "bucket DESC", "bucket DESC, slot", "bucket, slot DESC", "slot", "slot, bucket",
    "bucket DESC, slot DESC", "fingerprint, bucket, slot", "rowid", "bucket, slot, fingerprint",
    "bucket COLLATE NOCASE, slot"])
def test_order_by(db, f, order):
    got = db.execute(f"{SLOTS} WHERE bucket > 1 ORDER BY {order}", (f,)).fetchall()
    rows = db.execute(f"{SLOTS} WHERE bucket > 1", (f,)).fetchall()
    columns = {"bucket": 0, "slot": 1, "fingerprint": 2, "rowid": 0}
    for term in reversed(order.split(", ")):
        name, _, direction = term.partition(" ")
        rows.sort(key=lambda row: (row[columns[name]] is not None, row[columns[name]] or 0),
                  reverse=direction == "DESC")
    keys = [columns[t.split()[0]] for t in order.split(", ")]
    assert [[row[k] for k in keys] for row in got] == [[row[k] for k in keys] for row in rows]
    assert sorted(map(str, got)) == sorted(map(str, rows))


def test_order_with_in_and_limits(db, f):
    rows = db.execute(f"{SLOTS} WHERE bucket IN (5, 1, 3) ORDER BY bucket DESC, slot LIMIT 5 OFFSET 2", (f,))
    assert [row[:2] for row in rows] == [(5, 2), (5, 3), (3, 0), (3, 1), (3, 2)]
    rows = db.execute(f"{SLOTS} WHERE bucket IN (5, 1, 3) ORDER BY bucket, slot LIMIT 5", (f,))
    assert [row[:2] for row in rows] == [(1, 0), (1, 1), (1, 2), (1, 3), (3, 0)]


def test_group_by_and_distinct(db, f):
    occupancy = db.execute("SELECT bucket, count(fingerprint), count(*) FROM cf_buckets(?) GROUP BY bucket",
                           (f,)).fetchall()
    assert [row[0] for row in occupancy] == list(range(buckets_of(db, f)))
    assert sum(row[1] for row in occupancy) == 60
    assert {row[2] for row in occupancy} == {4}
    assert ask(db, "SELECT count(DISTINCT bucket) FROM cf_buckets(?)", f) == buckets_of(db, f)


# ---- joins ----

@pytest.fixture
def filters(db):
    """Three filters of different sizes, and a table of keys."""
    db.execute("CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB)")
    for name, n in (("a", 5), ("b", 50), ("c", 500)):
        db.execute("INSERT INTO filters VALUES (?, ?)", (name, support.build(db, range(n))))
    db.execute("CREATE TABLE keys(k)")
    db.execute("INSERT INTO keys VALUES (0), (20), (300)")


TAKEN = [("a", 5), ("b", 50), ("c", 500)]


@pytest.mark.parametrize("source", [
    "filters, cf_buckets(filters.f) s", "cf_buckets(filters.f) s, filters",
    "filters CROSS JOIN cf_buckets(filters.f) s", "filters JOIN cf_buckets s ON s.cuckoo_filter = filters.f",
    "cf_buckets s JOIN filters ON s.cuckoo_filter = filters.f", "filters, cf_buckets s WHERE s.cuckoo_filter = f",
    "filters LEFT JOIN cf_buckets(filters.f) s",
    "filters LEFT JOIN cf_buckets s ON s.cuckoo_filter = filters.f",
    "filters, cf_buckets(cf_open(filters.f)) s"])
def test_joins_with_a_table_of_filters(db, filters, source):
    rows = db.execute(f"SELECT name, count(s.fingerprint) FROM {source} GROUP BY name ORDER BY name")
    assert rows.fetchall() == TAKEN


def test_a_join_order_that_cannot_work_is_an_error(db, filters):
    fails(db, BAD_PARAMETER, "SELECT count(*) FROM cf_buckets s CROSS JOIN filters "
                             "WHERE s.cuckoo_filter = filters.f", says="needs its arguments")


@pytest.mark.parametrize("order", ["bucket, slot", "name, bucket, slot"])
def test_order_over_several_filters(db, filters, order):
    """The rows of each filter come in order; those of all of them do not."""
    sql = f"SELECT {order} FROM filters, cf_buckets(filters.f) ORDER BY {order}"
    rows = db.execute(sql).fetchall()
    assert rows == sorted(rows)
    assert len(rows) == ask(db, "SELECT count(*) FROM filters, cf_buckets(filters.f)")


@pytest.mark.parametrize("source", [
    "filters, keys, cf_explain(f, k) e", "keys, cf_explain(f, k) e, filters",
    "cf_explain(f, k) e, keys, filters", "filters, keys, cf_explain e WHERE e.cuckoo_filter = f AND e.cuckoo_key = k",
    "filters, keys LEFT JOIN cf_explain(f, k) e", "keys, filters, cf_explain(cf_open(f), k) e"])
def test_cf_explain_in_joins(db, filters, source):
    rows = db.execute(f"SELECT name, k, sum(match) = cf_count(f, k) FROM {source} GROUP BY name, k").fetchall()
    assert rows == [(name, k, 1) for name in "abc" for k in (0, 20, 300)]


def test_left_joins_keep_their_rows(db, filters):
    """A condition in ON is about matching; the same one in WHERE throws rows away."""
    sql = "SELECT name, count(s.slot) FROM filters LEFT JOIN cf_buckets(filters.f) s ON s.bucket = ? GROUP BY name"
    rows = db.execute(sql, (10,)).fetchall()
    assert [name for name, _ in rows] == ["a", "b", "c"]
    assert rows[0] == ("a", 0) and rows[2][1] > 0


def test_bucket_joined_with_bucket(db, f):
    """Each slot beside the slots of its alternate bucket: the bucket comes from another row."""
    pairs = ask(db, "SELECT count(*) FROM cf_buckets(?1) one JOIN cf_buckets(?1) other "
                    "ON other.bucket = one.alternate", f)
    assert pairs == 60 * 4


def test_filters_given_by_in(db):
    """A list of filters is walked one by one, each once."""
    a, b = support.build(db, range(5)), support.build(db, range(50))
    assert ask(db, "SELECT count(fingerprint) FROM cf_buckets WHERE cuckoo_filter IN (?1, ?2, ?1)", a, b) == 55
    assert ask(db, "SELECT count(fingerprint) FROM cf_buckets WHERE cuckoo_filter = ?1 OR cuckoo_filter = ?2", a, b) == 55


def test_keys_given_by_in(db, f):
    assert ask(db, "SELECT sum(match) FROM cf_explain(?) WHERE cuckoo_key IN (1, 2, 3)", f) >= 3


def test_two_cursors_on_one_filter(db, f):
    one, two = db.execute(SLOTS, (f,)), db.execute(SLOTS, (f,))
    assert [(next(one), next(two)) for _ in range(9)] == [(r, r) for r in db.execute(SLOTS, (f,)).fetchmany(9)]


# ---- arguments ----

def test_hidden_columns_show_the_arguments(db, f):
    assert db.execute("SELECT DISTINCT cuckoo_filter FROM cf_buckets(?)", (f,)).fetchall() == [(f,)]
    assert db.execute("SELECT DISTINCT cuckoo_filter, cuckoo_key FROM cf_explain(?, 'k')", (f,)).fetchall() == [(f, "k")]
    assert db.execute("SELECT DISTINCT cuckoo_key, typeof(cuckoo_key) FROM cf_explain(?, 1.0)", (f,)).fetchall() == [(1.0, "real")]
    assert db.execute("SELECT * FROM cf_buckets WHERE cuckoo_filter = ? LIMIT 1", (f,)).description[0][0] == "bucket"
    assert "filter" not in [d[0] for d in db.execute("SELECT * FROM cf_buckets(?)", (f,)).description]


def test_missing_arguments_are_errors(db, f):
    for sql in ("cf_buckets WHERE bucket = 1", "cf_buckets WHERE cuckoo_filter > ?1", "cf_explain(?1)",
                "cf_explain WHERE cuckoo_key = 1"):
        fails(db, BAD_PARAMETER, f"SELECT * FROM {sql}", *([f] if "?1" in sql else []), says="needs its arguments: cf_")


def test_the_tables_are_read_only(db, f):
    for sql in ("DELETE FROM cf_buckets", "INSERT INTO cf_buckets(bucket) VALUES (1)",
                "UPDATE cf_explain SET slot = 1"):
        with pytest.raises(sqlite3.OperationalError, match="may not be modified"):
            db.execute(sql)
