# SPDX-License-Identifier: MIT
"""apsw."""
import apsw

con = apsw.Connection(":memory:")
con.enableloadextension(True)
con.loadextension("build/cuckoo")
con.enableloadextension(False)
cursor = con.cursor()


def value(sql, parameters=()):
    return cursor.execute(sql, parameters).fetchone()[0]


def contains(blob, key):
    return cursor.execute("SELECT cf_contains(?, ?)", (blob, key)).fetchone()[0]


cursor.execute("CREATE TABLE users(id INTEGER, email TEXT)")
cursor.executemany("INSERT INTO users VALUES (?, ?)", [(1, "ada"), (2, "bob"), (2**53 + 1, "cyd")])
blob = value("SELECT cf_build(id, 0.000001) FROM users")
ids = [contains(blob, key) for key in (1, 3, "one", 2**53 + 1, 2**53)]
blob = value("SELECT cf_build(email, 0.000001) FROM users")
texts = [contains(blob, key) for key in ("bob", "zoe")]
cursor.execute("CREATE VIRTUAL TABLE known USING cuckoo_filter(capacity=100, content='users(email)')")
cursor.execute("INSERT INTO users VALUES (?, ?)", (4, "dan"))
known = [value("SELECT cf_table_contains('known', ?)", (key,)) for key in ("dan", "eve")]
print("ids", *ids, end=", ")
print("texts", *texts, end=", ")
print("table", *known)
