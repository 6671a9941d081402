# SPDX-License-Identifier: MIT
"""Tools that compare a schema with models, and the lines of sql/operate.sql that keep them off what belongs to a filter."""
import os
import re

import pytest

import inside
import support


def include_name_of_the_script():
    """The function as sql/operate.sql shows it."""
    with open(os.path.join(support.ROOT, "sql", "operate.sql"), encoding="utf-8") as script:
        lines = [line[len("--      "):].rstrip("\n") for line in script if line.startswith("--      ")]
    at = next(i for i, line in enumerate(lines) if line.startswith("def include_name"))
    names = {"re": re}
    exec("\n".join(lines[at:at + 2]), names)  # pylint: disable=exec-used
    return names["include_name"]


@pytest.fixture
def path(tmp_path):
    path = str(tmp_path / "x.db")
    db = support.connect(path)
    db.execute("CREATE TABLE users(id INTEGER PRIMARY KEY, email TEXT)")
    db.execute("CREATE VIRTUAL TABLE known USING cuckoo_filter(content='users(email)')")
    db.execute("INSERT INTO users(email) VALUES ('ada')")
    db.close()
    return path


@pytest.mark.parametrize("ignores", [False, True])
def test_alembic_proposes_to_drop_nothing(path, ignores):
    pytest.importorskip("alembic")
    sqlalchemy = pytest.importorskip("sqlalchemy")
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext
    engine = sqlalchemy.create_engine(f"sqlite:///{path}")

    @sqlalchemy.event.listens_for(engine, "connect")
    def load(connection, _):
        connection.enable_load_extension(True)
        connection.load_extension(support.extension_path().removesuffix(".so"))
    models = sqlalchemy.MetaData()
    sqlalchemy.Table("users", models, sqlalchemy.Column("id", sqlalchemy.Integer, primary_key=True),
                     sqlalchemy.Column("email", sqlalchemy.Text))
    with engine.connect() as connection:
        options = {"include_name": include_name_of_the_script()} if ignores else {}
        proposed = compare_metadata(MigrationContext.configure(connection, opts=options), models)
    dropped = {change[1].name for change in proposed if change[0] == "remove_table"}
    if ignores:
        assert not dropped and {change[0] for change in proposed if isinstance(change, tuple)} == set()
    else:
        assert len(dropped) > 1, "why the lines are needed"


def test_names_that_are_the_users_own(path):
    include = include_name_of_the_script()
    db = support.connect(path)
    own = [inside.own_table(db, what, "known")[0] for what in inside.OWN_TABLES]
    assert all(include(name, "table", {})
               for name in ("users", "unknown", "knowns", own[1] + "s")) and include("known", "column", {})
    assert not any(include(name, "table", {}) for name in ["known", *own, own[2].replace("known", "visitors")])


def test_the_query_of_the_script_finds_them_all(path):
    with open(os.path.join(support.ROOT, "sql", "operate.sql"), encoding="utf-8") as script:
        query = re.search(r"SELECT type, CASE.*?;", script.read(), re.S).group()
    db = support.connect(path)
    before = {name for name, in db.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'trigger')")}
    db.execute(f"CREATE TABLE {inside.own_table(db, 'pages', 'known')[0]}s(x)")
    found = sorted(name for _, name in db.execute(query))
    assert found == sorted("cuckoo_.." if name.startswith("cuckoo_") else name for name in before - {"users"})
