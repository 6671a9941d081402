# SPDX-License-Identifier: MIT
"""Alembic's batch mode makes a table anew, in a process without the extension. The triggers of the filter go with the old table.
Reflection loses COLLATE: a column with one is named in the batch. Autogenerate looks at the tables of the models only."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from migrated import run


def upgrade(path):
    from alembic.migration import MigrationContext
    from alembic.operations import Operations
    from alembic.autogenerate import compare_metadata
    from sqlalchemy import Column, Integer, MetaData, Table, Text, create_engine

    metadata = MetaData()
    Table("users", metadata, Column("id", Integer, primary_key=True, nullable=True), Column("email", Text))

    # In env.py: context.configure(..., include_name=include_name). Otherwise it drops the tables of the filter, or stops
    # with "no such module".
    def include_name(name, kind, parents):
        return kind != "table" or name in metadata.tables

    with create_engine(f"sqlite:///{path}").begin() as con:
        context = MigrationContext.configure(con, opts={"include_name": include_name})
        assert compare_metadata(context, metadata) == []
        op = Operations(MigrationContext.configure(con))
        with op.batch_alter_table("users", recreate="always") as batch:
            batch.add_column(Column("city", Text))
            batch.alter_column("email", existing_type=Text(), nullable=False)
        con.exec_driver_sql("INSERT INTO users(email) VALUES ('fay')")


run(upgrade)
