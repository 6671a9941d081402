# SPDX-License-Identifier: MIT
"""Random statements: no row is missed, nothing stays behind. The generator is statements.py, the questions are attack.py.

CUCKOO_ATTACK_ROWS  rows to change in all, as total_changes counts them; without it a slice
"""
import os

import pytest

from attack import CONFIGS, attack
from conftest import SEED

ROWS = int(os.environ.get("CUCKOO_ATTACK_ROWS") or 0)
SLICE = 1000


@pytest.mark.parametrize("name", CONFIGS)
def test_random_statements(name):
    seed = f"{SEED} {name}"
    print(f"repeat with CUCKOO_TEST_SEED={SEED}")
    report, failures = attack(CONFIGS[name], seed, ROWS // len(CONFIGS) or SLICE, rounds=200 if not ROWS else 1 << 60)
    print(f"{name}: " + ", ".join(f"{count} {what}" for what, count in sorted(report.items())))
    assert not failures, "\n\n".join(failures)
    assert report["statements"] > 100
    assert report["refusals"] < report["statements"] / 2, "a filter that refuses proves nothing"
