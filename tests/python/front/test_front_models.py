# SPDX-License-Identifier: MIT
"""Models of Django and SQLAlchemy on a table with rows=on."""
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
SQLALCHEMY = """
    from sqlalchemy import Column, Integer, String, create_engine, event, exists, func, inspect, select
    from sqlalchemy.exc import OperationalError
    from sqlalchemy.orm import Session, declarative_base, foreign, relationship
    engine = create_engine("sqlite:///" + path)
    @event.listens_for(engine, "connect")
    def load(connection, _):
        connection.enable_load_extension(True)
        connection.load_extension(support.extension_path()[:-3])
    Base = declarative_base()
    class Blocked(Base):
        __tablename__ = "blocked_fast"
        id, email, reason = Column(Integer, primary_key=True), Column(String(254)), Column(String)
    class Visitor(Base):
        __tablename__ = "visitor"
        id, email = Column(Integer, primary_key=True), Column(String(254))
        blocked = relationship(Blocked, primaryjoin=foreign(email) == Blocked.email, viewonly=True, uselist=False)
    with Session(engine) as session:
        assert session.query(Blocked).count() == 300
        assert session.get(Blocked, 8).email == "u7@example.com"
        assert session.query(Visitor).join(Visitor.blocked).count() == 50
        assert session.query(Visitor).outerjoin(Visitor.blocked).filter(Blocked.id.is_(None)).count() == 100
        assert session.query(Visitor).filter(~exists().where(Blocked.email == Visitor.email)).count() == 100
        assert session.query(Blocked).filter(Blocked.email.in_(["u1@example.com", "u2@example.com", "no"])).count() == 2
        assert session.execute(select(func.max(Blocked.id)).where(Blocked.email.like("u29%"))).scalar() == 300
        assert session.query(Visitor).filter_by(email="u260@example.com").one().blocked.reason == "r2"
        session.add(Blocked(email="x"))
        try:
            session.commit()
        except OperationalError as error:
            assert "it follows blocked(email)" in str(error)
        else:
            raise SystemExit("it was written")
    assert [c["name"] for c in inspect(engine).get_columns("blocked_fast")] == ["id", "email", "reason"]
    print("ok")
"""


@pytest.mark.parametrize("module, program", [("django", DJANGO), ("sqlalchemy", SQLALCHEMY)],
                         ids=["django", "sqlalchemy"])
def test_models(module, program, tmp_path):
    pytest.importorskip(module)
    setup = textwrap.dedent(SETUP).format(tests=support.__file__.rsplit("/", 1)[0], path=str(tmp_path / "a.db"))
    done = subprocess.run([sys.executable, "-c", setup + textwrap.dedent(program)], capture_output=True, text=True)
    assert done.stdout.strip() == "ok", done.stderr
