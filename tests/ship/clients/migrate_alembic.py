# SPDX-License-Identifier: MIT
"""Alembic's batch mode makes a table anew, in a process without the extension. The triggers of the filter go with the old table."""
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))
from migrated import run


def upgrade(path):
    from alembic.migration import MigrationContext
    from alembic.operations import Operations
    from sqlalchemy import Column, Text, create_engine

    with create_engine(f"sqlite:///{path}").begin() as con:
        op = Operations(MigrationContext.configure(con))
        with op.batch_alter_table("users", recreate="always") as batch:
            batch.add_column(Column("city", Text))
            batch.alter_column("email", existing_type=Text(), nullable=False)
        con.exec_driver_sql("INSERT INTO users(email) VALUES ('fay')")


run(upgrade)
