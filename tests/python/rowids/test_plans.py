# SPDX-License-Identifier: MIT
"""rowids=on in joins: SQLite chooses the order by itself, and finds rows by their rowids; with rows=on as well."""
import pytest

JOIN = "FROM e JOIN i ON i.key = e.k JOIN u ON u.rowid = i.row AND u.k = i.key"
SAME = "FROM e JOIN i ON i.key = e.k JOIN u ON u.rowid = i.row AND u.k = e.k"
OTHER = "FROM u, i, e WHERE e.k = i.key AND i.row = u.id AND i.key = u.k"


def steps(db, sql, *parameters):
    return [row[3].replace("TABLE ", "") for row in db.execute("EXPLAIN QUERY PLAN " + sql, parameters)]


@pytest.fixture(params=["", "CREATE INDEX ek ON e(k)", "CREATE INDEX uo ON u(other)", "ANALYZE"])
def tables(db, request):
    db.execute("CREATE TABLE e(id INTEGER PRIMARY KEY, k TEXT, n)")
    db.execute("CREATE TABLE u(id INTEGER PRIMARY KEY, k TEXT, other)")
    db.execute("WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) INSERT INTO u SELECT 3 * i, 'k' || i, i FROM n")
    db.execute("INSERT INTO e SELECT NULL, 'k' || (id % 4000), id FROM u")
    db.execute("INSERT INTO u VALUES(2, 'k9', 0)")
    db.execute("CREATE VIRTUAL TABLE i USING cuckoo_filter(content='u(k)', rowids=on)")
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(content='u(k)', rows=on, rowids=on)")
    if request.param:
        db.execute(request.param)
    return db


@pytest.mark.parametrize("form", [JOIN, SAME, OTHER])
def test_the_order_of_a_join(tables, form):
    plan = steps(tables, f"SELECT count(*), sum(u.other) {form}")
    assert plan[0].startswith("SCAN e") and plan[1].startswith("SCAN i VIRTUAL") and \
        plan[2].startswith("SEARCH u USING INTEGER PRIMARY KEY (rowid=?)") and len(plan) == 3, plan
    assert tables.execute(f"SELECT count(*), sum(u.other) {form}").fetchall() == \
        tables.execute("SELECT count(*), sum(u.other) FROM e JOIN u ON u.k = e.k").fetchall()


@pytest.mark.parametrize("condition", ["i.key = ?1", "i.key IN (?1, 'k7')", "i.key = ?1 AND u.other > 3"])
def test_the_order_of_a_lookup(tables, condition):
    form = f"SELECT u.* FROM i JOIN u ON u.rowid = i.row AND u.k = i.key WHERE {condition}"
    plan = [step for step in steps(tables, form, "k9") if not step.startswith("USING INDEX")]
    assert plan[0].startswith("SCAN i VIRTUAL") and plan[1].startswith("SEARCH u USING INTEGER PRIMARY KEY (rowid=?)"), plan
    assert sorted(tables.execute(form, ("k9",))) == \
        sorted(tables.execute("SELECT u.* FROM u WHERE " + condition.replace("i.key", "u.k"), ("k9",)))


def test_with_rows(tables):
    for form in ("FROM e JOIN {} AS u ON u.k = e.k", "FROM e LEFT JOIN {} AS u ON u.k = e.k", "FROM {} AS u WHERE u.k = 'k9'",
                 "FROM {} AS u WHERE u.k IN ('k9', 'k8', 'none')", "FROM e WHERE EXISTS (SELECT 1 FROM {} AS u WHERE u.k = e.k)"):
        sums = "SELECT count(*), sum(e.id) " if "EXISTS" in form else "SELECT count(*), sum(u.other), sum(u.id) "
        assert tables.execute(sums + form.format("f")).fetchall() == tables.execute(sums + form.format("u")).fetchall()
    if ("ek",) not in tables.execute("SELECT name FROM sqlite_master").fetchall():
        assert steps(tables, "SELECT count(*) FROM e JOIN f ON f.k = e.k")[0].startswith("SCAN e")


def test_one_row_is_read_for_a_key(tables):
    """With rows=on the table is not read as a whole, though it has no index."""
    work = []
    tables.set_progress_handler(lambda: work.append(1), 100)
    tables.execute("SELECT * FROM f WHERE k = 'k9'").fetchall()
    tables.set_progress_handler(None, 0)
    assert len(work) < 10
