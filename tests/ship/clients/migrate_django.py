# SPDX-License-Identifier: MIT
"""Django's migrations make a table anew, in a process without the extension. The triggers of the filter go with the old table.
Migrations know the tables of the models only; inspectdb is told which tables to look at."""
import io
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from migrated import run


def upgrade(path):
    import django
    from django.conf import settings
    settings.configure(DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": path}})
    django.setup()
    from django.core.management import call_command
    from django.db import connection, models
    from django.db.migrations import AddField, AlterField, CreateModel, Migration
    from django.db.migrations.state import ProjectState

    found = io.StringIO()
    call_command("inspectdb", "users", stdout=found)  # without a name: "no such module", and models of the filter's tables
    assert found.getvalue().count("(models.Model)") == 1 and "no such module" not in found.getvalue()
    columns = [("id", models.AutoField(primary_key=True)), ("email", models.TextField(null=True))]
    there, change = Migration("0001", "app"), Migration("0002", "app")
    there.operations = [CreateModel("User", columns, {"db_table": "users"})]
    change.operations = [AlterField("User", "email", models.CharField(max_length=200, unique=True)),
                         AddField("User", "city", models.TextField(null=True))]
    with connection.schema_editor() as editor:
        change.apply(there.mutate_state(ProjectState()), editor)
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO users(email) VALUES ('fay')")


run(upgrade)
