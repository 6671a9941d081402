# SPDX-License-Identifier: MIT
"""The first example of a README with the installed package: readme.py README.md. Prints "ok" or what differs. An example in SQL
has its output below; one in Python has what a line gives behind it, in a comment."""
import re
import sqlite3
import sys

import sqlite_cuckoo


def values(output):
    """The rows of the tables that the shell draws: without the names of columns, and the line below these."""
    lines = output.splitlines()
    drawn = [set(line) <= {"-", " "} for line in [*lines, ""]]
    return [line.split() for i, line in enumerate(lines) if not drawn[i] and not (drawn[i + 1] and i + 1 < len(lines))]


def sql(readme):
    example, output = re.search(r"^```sql\n(.*?)^```\n```text\n(.*?)^```", readme, re.M | re.S).groups()
    statements = "".join(line for line in example.splitlines(True) if not line.startswith("."))
    db = sqlite3.connect(":memory:", isolation_level=None)  # as in the shell
    sqlite_cuckoo.load(db)
    rows = []
    for statement in filter(str.strip, re.split(r"(?<=;)\n", statements)):
        rows += db.execute(statement).fetchall()
    return [[str(value) for value in row] for row in rows], values(output)


def python(readme):
    got, expected, names = [], [], {}
    for line in re.search(r"^```python\n(.*?)^```", readme, re.M | re.S)[1].splitlines():
        code, _, answer = line.partition("    # ")
        if answer:
            expected.append(answer.split(":")[0])
            got.append(str(eval(code, names)))
        else:
            exec(code, names)
    return got, expected


text = open(sys.argv[1], encoding="utf-8").read()
got, expected = (python if "```python" in text else sql)(text)
if got != expected or not expected:
    sys.exit(f"{got}, not {expected}")
print("ok")
