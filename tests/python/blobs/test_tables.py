# SPDX-License-Identifier: MIT
"""cf_buckets and cf_explain: what they show is what is stored, however the query is written."""
import sqlite3

import pytest

import support
from support import BAD_PARAMETER, ask, fails

SLOTS = "SELECT bucket, slot, fingerprint, alternate, length, overflow, payload FROM cf_buckets(?1)"


@pytest.fixture
def f(db):
    """A filter of 60 keys in about 20 buckets of four slots."""
    return support.build(db, range(60), None, "bucket_size=4 fingerprint_bits=12")


def buckets_of(blob):
    return support.field(blob, "buckets")


# ---- what the rows say ----

@pytest.mark.parametrize("bucket_size", [1, 2, 4, 8])
@pytest.mark.parametrize("buckets", [2, 4, 6, 14])
def test_one_row_per_slot_in_order(db, bucket_size, buckets):
    blob = support.make_blob(buckets, bucket_size, bits=12)
    rows = db.execute("SELECT bucket, slot FROM cf_buckets(?)", (blob,)).fetchall()
    assert rows == [(i, j) for i in range(buckets) for j in range(bucket_size)]
    assert ask(db, "SELECT count(DISTINCT rowid) FROM cf_buckets(?)", blob) == buckets * bucket_size


def test_an_empty_slot_is_null(db, f):
    rows = db.execute(SLOTS, (f,)).fetchall()
    empty = [row for row in rows if row[2] is None]
    taken = [row for row in rows if row[2] is not None]
    assert len(taken) == support.info(db, f)["occupied"] == 60
    assert {row[2:] for row in empty} == {(None, None, None, 0, None)}
    for bucket, slot, fingerprint, alternate, length, overflow, payload in taken:
        assert 0 < fingerprint < 2**12
        assert 0 <= alternate < buckets_of(f)
        assert (length, overflow, payload) == (12, 0, None)


@pytest.mark.parametrize("bits", [4, 7, 12, 17, 31, 32])
@pytest.mark.parametrize("bucket_size", [1, 2, 4, 8])
def test_the_rows_are_the_bits_of_the_blob(db, bits, bucket_size):
    """The table read by hand, as src/shape/format.h says: slot i is the bits from i * f on."""
    blob = ask(db, "SELECT cf_add_all(?, value) FROM json_each('[1,2,3,4,5,6,\"x\"]')",
               support.make_blob(62, bucket_size, bits))
    table = int.from_bytes(blob[support.HEADER:], "little")
    by_hand = [table >> (i * bits) & (2**bits - 1) for i in range(62 * bucket_size)]
    shown = [row[2] or 0 for row in db.execute(SLOTS, (blob,))]
    assert shown == by_hand
    assert sum(tag != 0 for tag in shown) == 7


@pytest.mark.parametrize("buckets", [2, 4, 6, 16, 30])
@pytest.mark.parametrize("bits, pair_bits", [(4, 4), (8, 8), (12, 6), (32, 8)])
def test_every_stored_key_is_explained(db, buckets, bits, pair_bits):
    blob = support.make_blob(buckets, 8, bits, pair_bits)
    keys = list(range(buckets * 3))
    for key in keys:
        blob = support.add(db, blob, key)
        rows = db.execute("SELECT bucket, fingerprint, wanted, match FROM cf_explain(?, ?)",
                          (blob, key)).fetchall()
        assert any(match for _, _, _, match in rows)
        assert all(match == (fingerprint == wanted) for _, fingerprint, wanted, match in rows)
    for key in keys:
        matches = ask(db, "SELECT sum(match) FROM cf_explain(?, ?)", blob, key)
        assert matches == support.count(db, blob, key) >= 1


@pytest.mark.parametrize("buckets", [2, 4, 6, 16, 30, 1000])
def test_cf_explain_shows_the_slots_of_the_pair(db, buckets):
    blob = support.make_blob(buckets, 4, 8)
    for key in range(min(2 * buckets, 50)):
        blob = support.add(db, blob, key)
    for key in range(100):
        rows = db.execute("SELECT side, bucket, slot, fingerprint, source FROM cf_explain(?, ?)",
                          (blob, key)).fetchall()
        sides = {side: bucket for side, bucket, _, _, _ in rows}
        assert list(sides) == ["base", "alternate"]
        assert len(set(sides.values())) == len(sides)
        assert [(side, slot) for side, _, slot, _, _ in rows] \
            == [(side, slot) for side in sides for slot in range(4)]
        for _, bucket, slot, fingerprint, source in rows:
            assert source == "bucket"
            assert fingerprint == ask(db, "SELECT fingerprint FROM cf_buckets(?) "
                                          "WHERE bucket = ? AND slot = ?", blob, bucket, slot)


@pytest.mark.parametrize("buckets", [2, 4, 6, 16, 30, 1000])
@pytest.mark.parametrize("bits, pair_bits", [(4, 4), (8, 8), (12, 6), (32, 8)])
def test_the_alternate_of_the_alternate_is_the_bucket(db, buckets, bits, pair_bits):
    """For one key alone in a filter: stored on either side, the other column names the other side."""
    empty = support.make_blob(buckets, 1, bits, pair_bits)
    for key in range(300):
        pair = db.execute("SELECT DISTINCT bucket, wanted FROM cf_explain(?, ?)", (empty, key)).fetchall()
        for here, there in zip(pair, reversed(pair)):
            stored = with_slot(empty, here[0], here[1])
            row = db.execute("SELECT bucket, fingerprint, alternate FROM cf_buckets(?) "
                             "WHERE fingerprint IS NOT NULL", (stored,)).fetchall()
            assert row == [(*here, there[0])]
            assert support.contains(db, stored, key) == 1
        assert len(pair) == 2


@pytest.mark.parametrize("bits, pair_bits", [(8, 4), (12, 6), (32, 8), (8, 8)])
def test_the_two_sides_share_their_pair_bits(db, bits, pair_bits):
    """The pair bits name the alternate and so are the same on both sides; the remainder bits differ by
    x(pair), and x(0) = 0 (src/table/address.h)."""
    blob = support.make_blob(1000, 4, bits, pair_bits)
    mask, differences = 2**pair_bits - 1, {}
    for key in range(500):
        base, other = db.execute("SELECT DISTINCT side, wanted FROM cf_explain(?, ?)", (blob, key)).fetchall()
        difference = base[1] ^ other[1]
        assert difference & mask == 0
        assert differences.setdefault(base[1] & mask, difference) == difference
    assert differences.get(0, 0) == 0
    assert any(differences.values()) == (bits > pair_bits)


def with_slot(empty, bucket, tag):
    """An empty filter of one slot per bucket, with this one tag put in by hand."""
    bits = support.field(empty, "fingerprint_bits")
    table = tag << (bucket * bits)
    body = table.to_bytes(len(empty) - support.HEADER, "little")
    return support.patched(empty[:support.HEADER] + body, items=1, occupied=1)


# ---- constraints on the bucket ----

BOUNDS = ["3", "0", "-1", "16", "1000000", str(2**62), str(2**63 - 1), str(-2**63), "3.0", "3.5", "-0.5",
          "-1e300", "1e300", "9e999", "-9e999", "NULL", "'3'", "'3.0'", "'abc'", "''", "x'33'", "x''"]
OPERATORS = ["=", "<", "<=", ">", ">=", "<>", "IS", "IS NOT"]


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("operator", OPERATORS)
def test_constraints_give_the_same_rows_as_without_pushdown(db, f, operator, bound):
    pushed = db.execute(f"{SLOTS} WHERE bucket {operator} {bound}", (f,)).fetchall()
    # A plus keeps the constraint away from the table, and takes away the affinity of the column, which
    # makes numbers of texts that look like one.
    bound = {"'3'": "3", "'3.0'": "3"}.get(bound, bound)
    plain = db.execute(f"{SLOTS} WHERE +bucket {operator} {bound}", (f,)).fetchall()
    assert pushed == plain


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


def test_constraints_are_pushed_down(db, f):
    """The plan says so: the bits of its number are those in ext/table/inspect.c."""
    def plan(condition):
        return db.execute(f"EXPLAIN QUERY PLAN {SLOTS} WHERE {condition}", (f,)).fetchall()[0][3]
    assert plan("1").endswith("INDEX 1:")
    assert plan("bucket = 3").endswith("INDEX 5:")
    assert plan("bucket > 3").endswith("INDEX 9:")
    assert plan("bucket <= 3").endswith("INDEX 17:")
    assert plan("bucket BETWEEN 3 AND 5").endswith("INDEX 25:")
    assert plan("+bucket = 3").endswith("INDEX 1:")


def test_one_bucket_of_a_large_filter_is_found_at_once(db):
    """A walk over its 2.7 million slots for each of 2,000 questions would take minutes."""
    blob = support.new(db, 2_500_000)
    buckets = buckets_of(blob)
    count = ask(db, """WITH RECURSIVE q(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM q LIMIT 2000)
                       SELECT count(*) FROM q, cf_buckets((SELECT cf_open(?1))) b
                       WHERE b.bucket = i * (?2 / 2000)""", blob, buckets)
    assert count == 2000 * support.field(blob, "bucket_size")


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
    assert [row[0] for row in occupancy] == list(range(buckets_of(f)))
    assert sum(row[1] for row in occupancy) == 60
    assert {row[2] for row in occupancy} == {4}
    assert ask(db, "SELECT count(DISTINCT bucket) FROM cf_buckets(?)", f) == buckets_of(f)


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
    "filters CROSS JOIN cf_buckets(filters.f) s", "filters JOIN cf_buckets s ON s.filter = filters.f",
    "cf_buckets s JOIN filters ON s.filter = filters.f", "filters, cf_buckets s WHERE s.filter = f",
    "filters LEFT JOIN cf_buckets(filters.f) s",
    "filters LEFT JOIN cf_buckets s ON s.filter = filters.f",
    "filters, cf_buckets(cf_open(filters.f)) s"])
def test_joins_with_a_table_of_filters(db, filters, source):
    rows = db.execute(f"SELECT name, count(s.fingerprint) FROM {source} GROUP BY name ORDER BY name")
    assert rows.fetchall() == TAKEN


def test_a_join_order_that_cannot_work_is_an_error(db, filters):
    fails(db, BAD_PARAMETER, "SELECT count(*) FROM cf_buckets s CROSS JOIN filters "
                             "WHERE s.filter = filters.f", says="needs its arguments")


@pytest.mark.parametrize("order", ["bucket, slot", "name, bucket, slot"])
def test_order_over_several_filters(db, filters, order):
    """The rows of each filter come in order; those of all of them do not."""
    sql = f"SELECT {order} FROM filters, cf_buckets(filters.f) ORDER BY {order}"
    rows = db.execute(sql).fetchall()
    assert rows == sorted(rows)
    assert len(rows) == ask(db, "SELECT count(*) FROM filters, cf_buckets(filters.f)")


@pytest.mark.parametrize("source", [
    "filters, keys, cf_explain(f, k) e", "keys, cf_explain(f, k) e, filters",
    "cf_explain(f, k) e, keys, filters", "filters, keys, cf_explain e WHERE e.filter = f AND e.key = k",
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
    assert ask(db, "SELECT count(fingerprint) FROM cf_buckets WHERE filter IN (?1, ?2, ?1)", a, b) == 55
    assert ask(db, "SELECT count(fingerprint) FROM cf_buckets WHERE filter = ?1 OR filter = ?2", a, b) == 55


def test_keys_given_by_in(db, f):
    assert ask(db, "SELECT sum(match) FROM cf_explain(?) WHERE key IN (1, 2, 3)", f) >= 3


def test_two_cursors_on_one_filter(db, f):
    one, two = db.execute(SLOTS, (f,)), db.execute(SLOTS, (f,))
    assert [(next(one), next(two)) for _ in range(9)] == [(r, r) for r in db.execute(SLOTS, (f,)).fetchmany(9)]


# ---- arguments ----

def test_hidden_columns_show_the_arguments(db, f):
    assert db.execute("SELECT DISTINCT filter FROM cf_buckets(?)", (f,)).fetchall() == [(f,)]
    assert db.execute("SELECT DISTINCT filter, key FROM cf_explain(?, 'k')", (f,)).fetchall() == [(f, "k")]
    assert db.execute("SELECT DISTINCT key, typeof(key) FROM cf_explain(?, 1.0)", (f,)).fetchall() == [(1.0, "real")]
    assert db.execute("SELECT * FROM cf_buckets WHERE filter = ? LIMIT 1", (f,)).description[0][0] == "bucket"
    assert "filter" not in [d[0] for d in db.execute("SELECT * FROM cf_buckets(?)", (f,)).description]


def test_missing_arguments_are_errors(db, f):
    fails(db, BAD_PARAMETER, "SELECT * FROM cf_buckets", says="needs its arguments: cf_buckets(filter)")
    fails(db, BAD_PARAMETER, "SELECT * FROM cf_buckets WHERE bucket = 1", says="needs its arguments")
    fails(db, BAD_PARAMETER, "SELECT * FROM cf_buckets WHERE filter > ?", f, says="needs its arguments")
    fails(db, BAD_PARAMETER, "SELECT * FROM cf_explain(?)", f, says="needs its arguments: cf_explain(filter, key)")
    fails(db, BAD_PARAMETER, "SELECT * FROM cf_explain WHERE key = 1", says="needs its arguments")
    with pytest.raises(sqlite3.OperationalError, match="too many arguments"):
        db.execute("SELECT * FROM cf_buckets(?, 1)", (f,))


@pytest.mark.parametrize("table", ["cf_buckets(f)", "cf_explain(f, 1)", "cf_explain(f, NULL)"])
@pytest.mark.parametrize("join", ["filters, {}", "filters LEFT JOIN {}", "filters JOIN {}"])
def test_a_null_filter_in_a_join_is_an_error(db, table, join):
    db.execute("CREATE TABLE filters(f)")
    db.execute("INSERT INTO filters VALUES (cf_new(10)), (NULL)")
    fails(db, BAD_PARAMETER, f"SELECT * FROM {join.format(table)}", function=table.partition("(")[0],
          says="filter is NULL")


def test_the_tables_are_read_only(db, f):
    for sql in ("DELETE FROM cf_buckets", "INSERT INTO cf_buckets(bucket) VALUES (1)",
                "UPDATE cf_explain SET slot = 1"):
        with pytest.raises(sqlite3.OperationalError, match="may not be modified"):
            db.execute(sql)
