# SPDX-License-Identifier: MIT
"""Fixtures of the Python tests.

CUCKOO_SO                  the extension under test (default build/cuckoo.so of this repository)
CUCKOO_TEST_SEED           the seed of `rng`; without it each run takes a fresh one and prints it
CUCKOO_HYPOTHESIS_PROFILE  'default', or 'long' for a night of it
"""
import os
import random
import shutil
import sqlite3
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Before hypothesis is asked for anything: generated files belong under build/.
os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(HERE.parent.parent / "build/hypothesis"))
# Tests borrow from those of other folders, and start processes that need support.py. Ours come first in the path, here
# and wherever else: Debian's python3-tables, too, is a module `tables`.
sys.path[:0] = sorted(str(folder) for folder in HERE.iterdir() if folder.is_dir())
# Databases of tests in memory, where there is enough: thousands of COMMITs wait for a disk.
if os.path.isdir("/dev/shm") and shutil.disk_usage("/dev/shm").free > 4 << 30:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", "/dev/shm")
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")]))

import pytest
from hypothesis import HealthCheck, settings

import support

pytest_plugins = ["quick"]

# No deadline: a run under a sanitizer is several times slower. The `db` fixture lives as long as a
# test, all the examples included; the tests keep no state in it.
# Where the seed is given, no example of an earlier run is tried again: the same commit runs the same cases.
COMMON = dict(deadline=None, print_blob=True, derandomize=False,
              **({"database": None} if os.environ.get("CUCKOO_TEST_SEED") else {}),
              suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large,
                                     HealthCheck.function_scoped_fixture])
settings.register_profile("default", max_examples=60, stateful_step_count=30, **COMMON)
settings.register_profile("long", max_examples=3000, stateful_step_count=80, **COMMON)
settings.load_profile(os.environ.get("CUCKOO_HYPOTHESIS_PROFILE", "default"))

SEED = int(os.environ.get("CUCKOO_TEST_SEED") or random.SystemRandom().randrange(2**32))


def pytest_report_header(config):
    return [f"extension: {support.extension_path()}, SQLite {sqlite3.sqlite_version}",
            f"CUCKOO_TEST_SEED={SEED}"]


def pytest_runtest_setup(item):
    """Filter tables choose their seeds by SQLite's random numbers. Each test gets the same ones in each run: else a key
    that is not there would be found by chance, once in so many runs."""
    support.same_random_numbers(item.nodeid)


@pytest.fixture
def db():
    connection = support.connect()
    yield connection
    connection.close()


@pytest.fixture
def rng(request):
    """Random numbers of this test; pytest shows the printed line when the test fails."""
    print(f"repeat with CUCKOO_TEST_SEED={SEED}")
    return random.Random(f"{SEED} {request.node.name}")
