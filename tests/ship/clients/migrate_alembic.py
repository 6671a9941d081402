# SPDX-License-Identifier: MIT
"""Alembic's batch mode makes a table anew, in a process without the extension. The triggers of the filter go with the old table."""
import os
import sqlite3
import subprocess
import sys
import tempfile


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


def follow(path):
    con = sqlite3.connect(path, isolation_level=None)
    con.enable_load_extension(True)
    con.load_extension("build/cuckoo")

    def value(sql):
        return con.execute(sql).fetchone()[0]

    con.execute("CREATE TABLE users(id INTEGER PRIMARY KEY, email TEXT)")
    con.execute("INSERT INTO users(email) VALUES ('ada'), ('dan')")
    con.execute("CREATE VIRTUAL TABLE known USING cuckoo_filter(capacity=100, content='users(email)')")
    subprocess.run([sys.executable, __file__, path], check=True)
    try:
        print("found", value("SELECT cf_table_contains('known', 'fay')"), end=", ")
    except sqlite3.OperationalError as error:
        print("refused" if "SELECT cf_table_rebuild('main.known')" in str(error) else error, end=", ")
    con.execute("SELECT cf_table_rebuild('known')")
    con.execute("INSERT INTO users(email) VALUES ('gus')")
    print("rebuilt", *(value(f"SELECT cf_table_contains('known', '{key}')") for key in ("dan", "fay", "gus", "eve")),
          value("SELECT cf_table_check('known')"))
    con.close()


if len(sys.argv) > 1:
    upgrade(sys.argv[1])
else:
    with tempfile.TemporaryDirectory() as folder:
        follow(os.path.join(folder, "users.db"))
