# SPDX-License-Identifier: MIT
"""Random queries on a table with rows=on and on its content (random_queries.py): CUCKOO_FRONT_QUERIES says how many."""
import os

import pytest
import random_queries
import support

QUERIES = int(os.environ.get("CUCKOO_FRONT_QUERIES", "6000"))


@pytest.mark.parametrize("numbers", [False, True], ids=["values", "numbers"])
@pytest.mark.parametrize("encoding", random_queries.ENCODINGS)
def test_rows_are_those_of_the_content(rng, encoding, numbers):
    wrong = random_queries.run(support.connect, QUERIES // 6, rng.randrange(10**9), encoding=encoding, numbers=numbers)
    assert not wrong, f"{len(wrong)} differ\n" + wrong[0]
