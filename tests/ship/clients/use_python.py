# SPDX-License-Identifier: MIT
"""Python's own sqlite3. A Python that was built without extensions has no enable_load_extension."""
import sqlite3

con = sqlite3.connect(":memory:")
con.enable_load_extension(True)
con.load_extension("build/cuckoo")
con.enable_load_extension(False)


def value(sql, parameters=()):
    return con.execute(sql, parameters).fetchone()[0]


def contains(blob, key):
    return con.execute("SELECT cf_contains(?, ?)", (blob, key)).fetchone()[0]


con.execute("CREATE TABLE users(id INTEGER, email TEXT)")
con.executemany("INSERT INTO users VALUES (?, ?)", [(1, "ada"), (2, "bob"), (2**53 + 1, "cyd")])
blob = value("SELECT cf_build(id, 0.000001) FROM users")
ids = [contains(blob, key) for key in (1, 3, "one", 2**53 + 1, 2**53)]
blob = value("SELECT cf_build(email, 0.000001) FROM users")
texts = [contains(blob, key) for key in ("bob", "zoe")]
con.execute("CREATE VIRTUAL TABLE known USING cuckoo_filter(capacity=100, content='users(email)')")
con.execute("INSERT INTO users VALUES (?, ?)", (4, "dan"))
known = [value("SELECT cf_table_contains('known', ?)", (key,)) for key in ("dan", "eve")]
print("ids", *ids, end=", ")
print("texts", *texts, end=", ")
print("table", *known)
