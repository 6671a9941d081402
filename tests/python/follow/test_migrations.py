# SPDX-License-Identifier: MIT
"""The content table is made anew, renamed, copied, moved: as SQLite's manual, Django, pandas and sqlite-utils do it.

After each step a stored row is found, or the use of the filter is an error that names rebuild; and after rebuild the filter follows again.
"""
import itertools
import sqlite3

import pytest

import inside
import support
from promises import EXACT, Follower, attempt, bare, create, exercise, people, settle
from support import ask

NEEDS_DROP_COLUMN = pytest.mark.skipif(sqlite3.sqlite_version_info < (3, 35), reason="no DROP COLUMN")
OLD_ROWS = "SELECT id, k, x FROM u"
LOWER = "SELECT id, lower(k), x FROM u"


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "users.db")


def open_people(path=":memory:"):
    db = support.connect(path, timeout=0)
    db.execute("PRAGMA recursive_triggers = on")
    return db, people(db)


def follows(follower, statements=True):
    """Whatever has happened: nothing is missed now or later, and rebuild brings the filter back to its content."""
    db = follower.db
    follower.answers()
    for sql in ("INSERT INTO {u}({k}) VALUES ('after'), ('After')",
                "UPDATE {u} SET {k} = {k} || '!' WHERE {k} = 'after'",
                "DELETE FROM {u} WHERE {k} = 'After'"):
        attempt(db, sql.format(u=follower.table, k=follower.column), follower)
    if db.in_transaction:
        db.execute("COMMIT")
    follower.answers()
    follower.rebuild()
    follower.exact()
    if statements and (follower.table, follower.column) == ("u", "k"):
        exercise(db, "OR IGNORE", follower)
        follower.exact()


# ---- SQLite's own recipe ----

def recipe(db, rows, verbatim, indexes="CREATE INDEX ux ON u(x)"):
    """The twelve steps without the pragmas: a new table, the rows, the old name, what hung on the old table."""
    kept = [sql for (sql,) in db.execute(
        "SELECT sql FROM sqlite_master WHERE tbl_name = 'u' AND type IN ('trigger', 'index') AND sql IS NOT NULL ORDER BY rowid")]
    steps = ["CREATE TABLE new_u(id INTEGER PRIMARY KEY, k UNIQUE, x DEFAULT 0, age)",
             f"INSERT INTO new_u(id, k, x) {rows}", "DROP TABLE u", "ALTER TABLE new_u RENAME TO u", indexes]
    return steps + (kept if verbatim else [])


@pytest.mark.parametrize("legacy", [0, 1])
@pytest.mark.parametrize("uses", [False, True])
@pytest.mark.parametrize("verbatim", [False, True])
@pytest.mark.parametrize("rows", [OLD_ROWS, LOWER, OLD_ROWS + " WHERE id > 2",
                                  OLD_ROWS + " UNION ALL VALUES (50, 'N', 1)"])
@pytest.mark.parametrize("transactions", ["one", "several", "savepoint"])
def test_the_recipe(transactions, rows, verbatim, uses, legacy):
    db, follower = open_people()
    db.execute(f"PRAGMA legacy_alter_table = {legacy}")
    follower.answers()
    steps = recipe(db, rows, verbatim)
    if transactions == "one":
        steps = ["PRAGMA foreign_keys = off", "BEGIN", *steps, "COMMIT", "PRAGMA foreign_keys = on"]
    elif transactions == "savepoint":
        steps = ["BEGIN", "SAVEPOINT m", *steps, "RELEASE m", "COMMIT"]
    for step in steps:
        db.execute(step)
        if uses and ask(db, "SELECT count(*) FROM sqlite_master WHERE name = 'u'"):
            follower.answers()
    follows(follower)


@pytest.mark.parametrize("stop", range(1, 7))
@pytest.mark.parametrize("verbatim", [False, True])
def test_the_recipe_rolled_back_at_any_step(stop, verbatim):
    db, follower = open_people()
    db.execute("BEGIN")
    for step in recipe(db, LOWER, verbatim)[:stop]:
        db.execute(step)
        if ask(db, "SELECT count(*) FROM sqlite_master WHERE name = 'u'"):
            follower.answers()
    db.execute("ROLLBACK")
    assert follower.answers(), "refused though nothing has changed"
    follower.exact()
    exercise(db, "", follower)
    follower.exact()


# ---- tables that are dropped and made again ----

@pytest.mark.parametrize("begin", [False, True])
@pytest.mark.parametrize("uses", [False, True])
@pytest.mark.parametrize("how", ["create", "create as", "rename another", "other column order", "other affinity",
                                 "a view", "no such column"])
def test_dropped_and_made_again(how, uses, begin):
    """pandas to_sql(if_exists='replace'), R dbWriteTable(overwrite=TRUE), Django's remake."""
    db, follower = open_people()
    db.execute("CREATE TABLE spare(id INTEGER PRIMARY KEY, k UNIQUE, x)")
    db.execute("INSERT INTO spare(k) VALUES ('spare'), ('e5')")
    if begin:
        db.execute("BEGIN")
    follower.answers()
    db.execute("DROP TABLE u")
    if uses:
        attempt(db, "SELECT cf_table_contains('f', 'A1')")
        attempt(db, "SELECT count(*) FROM f")
    for sql in {"create": ["CREATE TABLE u(id INTEGER PRIMARY KEY, k UNIQUE, x)",
                           "INSERT INTO u(k) VALUES ('p'), ('q')"],
                "create as": ["CREATE TABLE u AS SELECT * FROM spare"],
                "rename another": ["ALTER TABLE spare RENAME TO u"],
                "other column order": ["CREATE TABLE u(x, k UNIQUE, id)", "INSERT INTO u(k) VALUES ('p'), ('q')"],
                "other affinity": ["CREATE TABLE u(id INTEGER PRIMARY KEY, k INTEGER UNIQUE, x)",
                                   "INSERT INTO u(k) VALUES ('5'), (6)"],
                "a view": ["CREATE VIEW u AS SELECT * FROM spare"],
                "no such column": ["CREATE TABLE u(id INTEGER PRIMARY KEY, x)"]}[how]:
        db.execute(sql)
    if how in ("a view", "no such column"):
        assert attempt(db, "SELECT cf_table_contains('f', 'spare')") is not None
        if begin:
            db.execute("COMMIT")
        assert attempt(db, "INSERT INTO f(f) VALUES ('rebuild')") is not None
        db.execute("DROP TABLE f")
        assert ask(db, "SELECT count(*) FROM sqlite_master WHERE name LIKE 'f%'") == 0
    else:
        follows(follower, statements=False)


# ---- renames just work ----

RENAMES = {"table": "ALTER TABLE {u} RENAME TO {u2}", "column": "ALTER TABLE {u} RENAME COLUMN {k} TO {k2}",
           "filter": "ALTER TABLE {f} RENAME TO {f2}"}


@pytest.mark.parametrize("order", [order for n in (1, 2, 3) for order in itertools.permutations(RENAMES, n)],
                         ids="-".join)
@pytest.mark.parametrize("names", [("u2", "k2", "f2"), ("my users", "the key", 'f "2"'), ("u3", "K", "f3")],
                         ids=["plain", "quoted", "case"])
@pytest.mark.parametrize("ending", ["autocommit", "commit", "rollback", "rollback to"])
def test_renames(order, names, ending):
    db, follower = open_people()
    old = {"table": "u", "column": "k", "filter": "f"}
    quoted = dict(zip(old, ('"' + name.replace('"', '""') + '"' for name in names)))
    now = dict(old)
    db.executescript({"autocommit": "", "commit": "BEGIN", "rollback": "BEGIN",
                      "rollback to": "BEGIN; SAVEPOINT s"}[ending])
    db.execute("INSERT INTO u(k) VALUES ('first')")

    def present(names_now):
        one = Follower(db, names_now["table"], names_now["column"], names_now["filter"])
        one.ask = lambda sql: db.execute(sql.replace("'{f}'", literal(names_now["filter"])).format(
            k=one.column, u=one.table, f=one.name)).fetchall()
        return one

    def literal(name):
        plain = name[1:-1].replace('""', '"') if name.startswith('"') else name
        return "'" + plain.replace("'", "''") + "'"

    for what in order:
        db.execute(RENAMES[what].format(u=now["table"], k=now["column"], f=now["filter"], u2=quoted["table"],
                                        k2=quoted["column"], f2=quoted["filter"]))
        now[what] = quoted[what]
        one = present(now)
        assert one.answers(), f"refused after renaming the {what}"
        db.execute(f"INSERT INTO {one.table}({one.column}) VALUES ('new {what}')")
        db.execute(f"DELETE FROM {one.table} WHERE {one.column} = 'b2'")
        db.execute(f"UPDATE {one.table} SET {one.column} = {one.column} || '.' WHERE {one.column} LIKE 'e%'")
        assert one.answers()
    if ending.startswith("rollback"):
        db.execute("ROLLBACK" if ending == "rollback" else "ROLLBACK TO s")
        now = old
    one = present(now)
    assert one.answers()
    db.execute(f"INSERT INTO {one.table}({one.column}) VALUES ('last')")
    if db.in_transaction:
        db.execute("COMMIT")
    one.exact()
    one.rebuild()
    one.exact()
    db.execute(f"UPDATE {one.table} SET {one.column} = {one.column} || '+'")
    one.exact()


@NEEDS_DROP_COLUMN
def test_a_column_is_dropped():
    db, follower = open_people()
    db.execute("ALTER TABLE u DROP COLUMN x")
    assert follower.answers()
    db.execute("INSERT INTO u(k) VALUES ('new')")
    follower.exact()
    db.execute("CREATE TABLE w(id INTEGER PRIMARY KEY, k, x)")
    db.execute("INSERT INTO w(k) VALUES ('A')")
    other = Follower(db, "w", "k", "g").create()
    if attempt(db, "ALTER TABLE w DROP COLUMN k") is None:  # the column itself: SQLite sees the triggers and refuses
        assert attempt(db, "SELECT cf_table_contains('g', 'A')") is not None
    else:
        other.exact()


# ---- the whole database is copied ----

def reopened(path):
    db = support.connect(path)
    db.execute("PRAGMA recursive_triggers = on")
    return Follower(db)


@pytest.mark.parametrize("renamed", [False, True])
def test_the_tables_are_copied_without_the_triggers(path, renamed):
    """A tool that copies tables only. Rebuild knows the names of the table and its column."""
    db, _ = open_people(path)
    if renamed:
        db.execute("ALTER TABLE u RENAME TO v")
        db.execute("DELETE FROM v WHERE id = 3")  # whose COMMIT saves the names
    inside.drop_own_triggers(db)
    db.close()
    one = reopened(path)
    one.table = "v" if renamed else "u"
    assert one.doubts()
    follows(one)


# ---- other schemas ----

def test_another_table_of_that_name_in_front(path):
    """A TEMP table hides the content from SQL that does not name the schema. The filter goes on with its own."""
    db, follower = open_people(path)
    db.execute("CREATE TEMP TABLE u(id INTEGER PRIMARY KEY, k, x)")
    db.execute("INSERT INTO temp.u(k) VALUES ('temporary')")
    one = Follower(db, "main.u")
    assert one.answers()
    db.execute("INSERT INTO main.u(k) VALUES ('new')")
    assert one.answers()
    one.rebuild()
    assert one.answers() and one.items() == one.rows()
    db.execute("DROP TABLE temp.u")
    follower.exact()


def test_an_attached_database(path, tmp_path):
    db, _ = open_people(path)
    db.execute("ATTACH ? AS other_one", (str(tmp_path / "other.db"),))
    db.execute("CREATE TABLE other_one.u(id INTEGER PRIMARY KEY, k UNIQUE, x)")
    db.execute("INSERT INTO other_one.u(k) VALUES ('there')")
    db.execute(f"CREATE VIRTUAL TABLE other_one.g USING cuckoo_filter({EXACT}, content='u(k)')")
    one = Follower(db, "other_one.u", "k", "other_one.g")
    one.rebuild = lambda: db.execute("INSERT INTO other_one.g(g) VALUES ('rebuild')")
    one.check = lambda: db.execute("INSERT INTO other_one.g(g) VALUES ('check')")
    one.exact()
    for rows in ("SELECT id, k, x FROM other_one.u", "SELECT id, upper(k), x FROM other_one.u"):
        for step in ("CREATE TABLE other_one.new_u(id INTEGER PRIMARY KEY, k UNIQUE, x)",
                     f"INSERT INTO other_one.new_u {rows}",
                     "DROP TABLE other_one.u", "ALTER TABLE other_one.new_u RENAME TO u"):
            db.execute(step)
        attempt(db, "INSERT INTO other_one.u(k) VALUES ('after')", one)
        one.answers()
        one.rebuild()
        one.exact()
        db.execute("DELETE FROM other_one.u WHERE k = 'after'")
        one.exact()
    db.execute("DETACH other_one")
    db.execute("ATTACH ? AS again", (str(tmp_path / "other.db"),))
    again = Follower(db, "again.u", "k", "again.g")
    assert again.answers()
    db.execute("INSERT INTO again.u(k) VALUES ('in another name')")
    assert again.answers()


# ---- another connection does it ----

@pytest.mark.parametrize("legacy", [0, 1])
@pytest.mark.parametrize("who", ["with the extension", "bare"])
@pytest.mark.parametrize("order", list(itertools.permutations(["f", "u", "k"])), ids="".join)
def test_legacy_alter_table(path, order, who, legacy):
    """SQLite does not rewrite the bodies of triggers then."""
    f = create(support.connect(path))
    db = f.db if who != "bare" else bare(path)
    db.execute(f"PRAGMA legacy_alter_table = {legacy}")
    now = {"f": "f", "u": "u", "k": "k"}
    for what in order:
        target = f.db if what == "f" else db  # only who has the module can rename its table
        target.execute(f"PRAGMA legacy_alter_table = {legacy}")
        target.execute({"f": "ALTER TABLE f RENAME TO g", "u": "ALTER TABLE u RENAME TO v",
                        "k": f"ALTER TABLE {now['u']} RENAME COLUMN k TO j"}[what])
        now[what] = {"f": "g", "u": "v", "k": "j"}[what]
        db.execute(f"INSERT INTO {now['u']}({now['k']}) VALUES ('after {what}')")
        assert Follower(f.db, now["u"], now["k"], now["f"]).answers() or legacy
    db.execute(f"DELETE FROM {now['u']} WHERE id = 1")
    f = Follower(f.db, now["u"], now["k"], now["f"])
    if not f.answers():
        f.rebuild()
    settle(f)


@pytest.mark.parametrize("change", ["REPLACE INTO w VALUES ('1', 'c')", "DELETE FROM w", "UPDATE w SET k = 'd'"])
@pytest.mark.parametrize("without", ["", "WITHOUT ROWID"])
def test_a_renamed_table_with_a_newer_trigger_is_named_rightly(change, without):
    """COMMIT looks at the triggers of a filter that SQLite connects anew meanwhile; freed names were printed (seen under ASan)."""
    db = support.connect()
    db.execute("PRAGMA recursive_triggers = on")
    db.execute(f"CREATE TABLE u(id TEXT PRIMARY KEY, k) {without}")
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(capacity=100, content='u(k)', rows=on)")
    db.execute("BEGIN")
    db.execute("INSERT INTO u VALUES ('1', 'a')")
    db.execute("CREATE TRIGGER later AFTER DELETE ON u BEGIN UPDATE OR REPLACE u SET k = 'b' WHERE id = old.id; END")
    db.execute("ALTER TABLE u RENAME TO w")
    db.execute(change)
    db.execute("COMMIT")
    assert "trigger later on w is newer" in ask(db, "SELECT cf_table_check('f')")
