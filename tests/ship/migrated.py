# SPDX-License-Identifier: MIT
"""What the migrations of tests/ship/clients share: a table that a filter follows is made anew by a process without the extension."""
import os
import sqlite3
import subprocess
import sys
import tempfile


def follow(path):
    con = sqlite3.connect(path, isolation_level=None)
    con.enable_load_extension(True)
    con.load_extension("build/cuckoo")

    def value(sql):
        return con.execute(sql).fetchone()[0]

    con.execute("CREATE TABLE users(id INTEGER PRIMARY KEY, email TEXT)")
    con.execute("INSERT INTO users(email) VALUES ('ada'), ('dan')")
    con.execute("CREATE VIRTUAL TABLE known USING cuckoo_filter(capacity=100, content='users(email)')")
    subprocess.run([sys.executable, sys.argv[0], path], check=True)
    try:
        print("found", value("SELECT cf_table_contains('known', 'fay')"), end=", ")
    except sqlite3.OperationalError as error:
        print("refused" if "SELECT cf_table_rebuild('main.known')" in str(error) else error, end=", ")
    con.execute("SELECT cf_table_rebuild('known')")
    con.execute("INSERT INTO users(email) VALUES ('gus')")
    print("rebuilt", *(value(f"SELECT cf_table_contains('known', '{key}')") for key in ("dan", "fay", "gus", "eve")),
          value("SELECT cf_table_check('known')"))
    con.close()


def run(upgrade):
    """Without an argument the whole story; with a path, in a process of its own, upgrade(path)."""
    if len(sys.argv) > 1:
        return upgrade(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        follow(os.path.join(folder, "users.db"))
