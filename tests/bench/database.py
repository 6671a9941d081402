# SPDX-License-Identifier: MIT
"""What the benchmarks of SQL share: a database with the extension build/cuckoo (or CUCKOO_SO), and how they are called.

    python3 tests/bench/bench_<name>.py full|quick FOLDER [SEED]      in the folder of the project
"""
import os
import sqlite3
import sys
import tempfile

import tables


def connect(path=":memory:", **pragmas):
    db = sqlite3.connect(path, isolation_level=None)
    if not hasattr(db, "enable_load_extension"):
        sys.exit(f"the sqlite3 of {sys.executable} loads no extensions: name another one, PYTHON=...")
    db.enable_load_extension(True)
    db.load_extension(os.path.abspath(os.environ.get("CUCKOO_SO", "build/cuckoo")).removesuffix(".so"))
    for name, value in pragmas.items():
        db.execute(f"PRAGMA {name} = {value}")
    return db


def call(measure):
    """Writes what measure(size, folder, seed) answers: names of tables, each with its columns and rows. The folder is for
    databases, and goes away."""
    if len(sys.argv) not in (3, 4) or sys.argv[1] not in ("full", "quick"):
        sys.exit(f"usage: {sys.argv[0]} full|quick FOLDER [SEED]")
    size, folder, seed = (*sys.argv[1:], "0")[:3]
    with tempfile.TemporaryDirectory(dir=folder) as place:
        for name, (columns, rows) in measure(size, place, int(seed)).items():
            tables.write(os.path.join(folder, name + ".tsv"), columns, rows)
