# SPDX-License-Identifier: MIT
"""The first example of a README, in Python, with the installed package: readme.py README.md. Prints "ok" or what differs."""
import re
import sqlite3
import sys

import sqlite_cuckoo

readme = open(sys.argv[1], encoding="utf-8").read()
example, output = re.search(r"^```sql\n(.*?)^```\n```text\n(.*?)^```", readme, re.M | re.S).groups()
statements = "".join(line for line in example.splitlines(True) if not line.startswith("."))
db = sqlite3.connect(":memory:")
sqlite_cuckoo.load(db)
rows = []
for statement in filter(str.strip, re.split(r"(?<=;)\n", statements)):
    rows += db.execute(statement).fetchall()
expected = [line.split() for line in output.splitlines()[2:]]
got = [[str(value) for value in row] for row in rows]
print("ok" if got == expected and expected else f"{got}, not {expected}")
