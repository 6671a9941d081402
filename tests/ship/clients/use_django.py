# SPDX-License-Identifier: MIT
"""Django. The receiver stands in the ready() of an AppConfig, so that migrations have the extension too."""
from django.conf import settings
from django.db import connection
from django.db.backends.signals import connection_created
from django.dispatch import receiver

settings.configure(DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}})


@receiver(connection_created)
def load(connection, **kwargs):
    if connection.vendor == "sqlite":
        connection.connection.enable_load_extension(True)
        connection.connection.load_extension("build/cuckoo")


with connection.cursor() as cursor:
    def value(sql, parameters=()):
        cursor.execute(sql, parameters)
        return cursor.fetchone()[0]

    def contains(blob, key):
        cursor.execute("SELECT cf_contains(%s, %s)", [blob, key])
        return cursor.fetchone()[0]

    cursor.execute("CREATE TABLE users(id INTEGER, email TEXT)")
    cursor.executemany("INSERT INTO users VALUES (%s, %s)", [(1, "ada"), (2, "bob"), (2**53 + 1, "cyd")])
    blob = value("SELECT cf_build(id, 0.000001) FROM users")
    ids = [contains(blob, key) for key in (1, 3, "one", 2**53 + 1, 2**53)]
    blob = value("SELECT cf_build(email, 0.000001) FROM users")
    texts = [contains(blob, key) for key in ("bob", "zoe")]
    cursor.execute("CREATE VIRTUAL TABLE known USING cuckoo_filter(capacity=100, content='users(email)')")
    cursor.execute("INSERT INTO users VALUES (%s, %s)", [4, "dan"])
    known = [value("SELECT cf_table_contains('known', %s)", [key]) for key in ("dan", "eve")]
print("ids", *ids, end=", ")
print("texts", *texts, end=", ")
print("table", *known)
