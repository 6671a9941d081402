# SPDX-License-Identifier: MIT
"""Random tables, triggers and statements (random_triggers.py): CUCKOO_TRIGGER_SCHEMAS says how many."""
import os

import pytest
import random_triggers

SCHEMAS = int(os.environ.get("CUCKOO_TRIGGER_SCHEMAS", "600"))


@pytest.mark.parametrize("part", range(3))
def test_no_key_is_denied(rng, part):
    counts, told = random_triggers.lives(SCHEMAS // 3, rng.randrange(10**9))
    assert not told, f"{counts}\n" + "\n".join(told)
    assert SCHEMAS < 30 or counts["trusted"] > SCHEMAS // 12, counts
