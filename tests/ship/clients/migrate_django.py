# SPDX-License-Identifier: MIT
"""Django's migrations make a table anew, in a process without the extension. The triggers of the filter go with the old table."""
import os
import sqlite3
import subprocess
import sys
import tempfile


def upgrade(path):
    import django
    from django.conf import settings
    settings.configure(DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": path}})
    django.setup()
    from django.db import connection, models
    from django.db.migrations import AddField, AlterField, CreateModel, Migration
    from django.db.migrations.state import ProjectState

    columns = [("id", models.AutoField(primary_key=True)), ("email", models.TextField(null=True))]
    there, change = Migration("0001", "app"), Migration("0002", "app")
    there.operations = [CreateModel("User", columns, {"db_table": "users"})]
    change.operations = [AlterField("User", "email", models.CharField(max_length=200, unique=True)),
                         AddField("User", "city", models.TextField(null=True))]
    with connection.schema_editor() as editor:
        change.apply(there.mutate_state(ProjectState()), editor)
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO users(email) VALUES ('fay')")


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
