# SPDX-License-Identifier: MIT
"""sqlite-utils, the command: it loads the extension for one call."""
import json
import os
import subprocess
import tempfile

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "users.db")

    def utils(command, *words, given=None):
        call = ["sqlite-utils", command, path, *words, "--load-extension", "build/cuckoo.so"]
        return subprocess.run(call, input=given, check=True, text=True, stdout=subprocess.PIPE).stdout

    def values(sql, **parameters):
        words = [word for name, value in parameters.items() for word in ("-p", name, str(value))]
        return list(json.loads(utils("query", sql, *words))[0].values())

    rows = [{"id": 1, "email": "ada"}, {"id": 2, "email": "bob"}, {"id": 2**53 + 1, "email": "cyd"}]
    utils("insert", "users", "-", given=json.dumps(rows))
    ids = values("""WITH f(f) AS (SELECT cf_build(id, 0.000001) FROM users)
        SELECT cf_contains(f, 1), cf_contains(f, 3), cf_contains(f, :one), cf_contains(f, CAST(:big AS INTEGER)),
               cf_contains(f, 9007199254740992) FROM f""", one="one", big=2**53 + 1)
    texts = values("""WITH f(f) AS (SELECT cf_build(email, 0.000001) FROM users)
        SELECT cf_contains(f, :a), cf_contains(f, :b) FROM f""", a="bob", b="zoe")
    utils("query", "CREATE VIRTUAL TABLE known USING cuckoo_filter(capacity=100, content='users(email)')")
    # Without the extension: what only writes needs none.
    subprocess.run(["sqlite-utils", "insert", path, "users", "-"], input='{"id": 4, "email": "dan"}', check=True, text=True)
    known = values("SELECT cf_table_contains('known', :a), cf_table_contains('known', :b)", a="dan", b="eve")
print("ids", *ids, end=", ")
print("texts", *texts, end=", ")
print("table", *known)
