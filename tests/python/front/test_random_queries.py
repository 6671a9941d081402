# SPDX-License-Identifier: MIT
"""Random queries on a table with rows=on and on its content (random_queries.py): CUCKOO_FRONT_QUERIES says how many."""
import os

import random_queries
import support

QUERIES = int(os.environ.get("CUCKOO_FRONT_QUERIES", "6000"))


def test_rows_are_those_of_the_content(rng):
    wrong = random_queries.run(support.connect, QUERIES, rng.randrange(10**9))
    assert not wrong, f"{len(wrong)} differ\n" + wrong[0]
