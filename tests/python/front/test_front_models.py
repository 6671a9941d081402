# SPDX-License-Identifier: MIT
"""Models of Django on a table with rows=on. (A session of SQLAlchemy: tests/ship/clients.)"""
import subprocess
import sys
import textwrap

import pytest
import support

SETUP = """
    import sqlite3, sys
    sys.path.insert(0, {tests!r})
    import support
    def prepare(path):
        db = support.connect(path)
        db.execute("CREATE TABLE blocked(id INTEGER PRIMARY KEY, email VARCHAR(254) NOT NULL UNIQUE, reason TEXT)")
        db.executemany("INSERT INTO blocked(email, reason) VALUES (?, ?)", [(f"u{{i}}@example.com", f"r{{i % 3}}") for i in range(300)])
        db.execute("CREATE TABLE visitor(id INTEGER PRIMARY KEY, email VARCHAR(254) NOT NULL)")
        db.executemany("INSERT INTO visitor(email) VALUES (?)", [(f"u{{i}}@example.com",) for i in range(250, 400)])
        db.execute("CREATE VIRTUAL TABLE blocked_fast USING cuckoo_filter(content='blocked(email)', rows=on)")
        db.close()
    path = {path!r}
    prepare(path)
"""
DJANGO = """
    import django
    from django.conf import settings
    settings.configure(DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": path}}, DEFAULT_AUTO_FIELD="django.db.models.AutoField")
    django.setup()
    from django.db import connection, models
    from django.db.backends.signals import connection_created
    def load(connection, **_):
        connection.connection.enable_load_extension(True)
        connection.connection.load_extension(support.extension_path()[:-3])
    connection_created.connect(load)
    class Blocked(models.Model):
        email = models.CharField(max_length=254, unique=True)
        reason = models.TextField(null=True)
        class Meta:
            app_label, managed, db_table = "a", False, "blocked_fast"
    class Visitor(models.Model):
        email = models.CharField(max_length=254)
        blocked = models.ForeignObject(Blocked, models.DO_NOTHING, from_fields=["email"], to_fields=["email"], null=True)
        class Meta:
            app_label, managed, db_table = "a", False, "visitor"
    assert Blocked.objects.count() == 300
    assert Blocked.objects.get(email="u7@example.com").pk == 8
    assert not Blocked.objects.filter(email="no@example.com").exists()
    assert Blocked.objects.filter(email__in=["u1@example.com", "u2@example.com", "no"]).count() == 2
    assert [b.pk for b in Blocked.objects.filter(email__startswith="u29").order_by("-email")[:2]] == [30, 300]
    assert Visitor.objects.filter(models.Exists(Blocked.objects.filter(email=models.OuterRef("email")))).count() == 50
    assert Visitor.objects.exclude(models.Exists(Blocked.objects.filter(email=models.OuterRef("email")))).count() == 100
    assert Visitor.objects.filter(blocked__reason="r1").count() == 17
    assert Visitor.objects.filter(blocked__id__isnull=True).count() == 100
    assert Visitor.objects.select_related("blocked").get(email="u260@example.com").blocked.reason == "r2"
    assert list(Blocked.objects.values("reason").annotate(n=models.Count("id")).order_by("reason")) == [
        {"reason": f"r{i}", "n": 100} for i in range(3)]
    try:
        Blocked(email="x").save()
    except django.db.utils.OperationalError as error:
        assert "it follows blocked(email)" in str(error)
    else:
        raise SystemExit("it was written")
    with connection.cursor() as cursor:
        columns = [c.name for c in connection.introspection.get_table_description(cursor, "blocked_fast")]
    assert columns == ["id", "email", "reason"], columns
    print("ok")
"""

def test_models_of_django(tmp_path):
    pytest.importorskip("django")
    setup = textwrap.dedent(SETUP).format(tests=support.__file__.rsplit("/", 1)[0], path=str(tmp_path / "a.db"))
    done = subprocess.run([sys.executable, "-c", setup + textwrap.dedent(DJANGO)], capture_output=True, text=True)
    assert done.stdout.strip() == "ok", done.stderr
