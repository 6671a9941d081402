# SPDX-License-Identifier: MIT
"""Damaged rows of filter tables never crash, hang, or deny keys in silence. The machinery is damage.py.

CUCKOO_DAMAGE_SECONDS  how long to try random damage; without it a slice
CUCKOO_DAMAGE_TRIAL    the one trial to repeat, with CUCKOO_TEST_SEED
"""
import os
import sqlite3
import time

import pytest

import damage
import rows
import support
from conftest import SEED
from support import ask

SECONDS = float(os.environ.get("CUCKOO_DAMAGE_SECONDS") or 0)
TRIAL = os.environ.get("CUCKOO_DAMAGE_TRIAL")
SLICE = 300  # trials


def test_random_damage(tmp_path):
    print(f"repeat with CUCKOO_TEST_SEED={SEED}")
    report, templates, number, begin = damage.Report(), {}, 0, time.monotonic()
    while (time.monotonic() < begin + SECONDS if SECONDS else number < SLICE) and not report.quiet:
        trial = int(TRIAL) if TRIAL else number
        (tmp_path / "trial").write_text(str(trial))  # for one that crashes
        damage.play(str(tmp_path), templates, f"{SEED} {trial}", report)
        number += 1
    print(", ".join(f"{count} {what}" for what, count in sorted(report.counts.items())))
    print(f"longest statement: {report.longest:.2f} s, {report.slowest}")
    assert not report.quiet, "\n\n".join(report.quiet)
    assert TRIAL or report.counts["errors"] > report.counts["trials"], "damage that nobody notices proves nothing"
