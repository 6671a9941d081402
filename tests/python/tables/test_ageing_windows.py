# SPDX-License-Identifier: MIT
"""cf_table_contains(name, key, window): clocks may differ by keep / 8, as they may for keep= itself; and how long a key is found."""
import itertools
import random

import pytest

import clock
import conftest
import support
from clock import DAY, HOUR, MINUTE, SECOND
from support import ask

KEEPS = {"10 minutes": 10 * MINUTE, "24 hours": DAY, "1 week": 7 * DAY}
WINDOWS = [SECOND, MINUTE, 20 * MINUTE, HOUR, 3 * HOUR, 20 * HOUR, DAY, 7 * DAY]
EPOCHS, TOLERANCE = 12, 8  # as parts of keep=


@pytest.fixture
def now():
    with clock.set_by_hand() as by_hand:
        yield by_hand


def table(db, keep, name="seen"):
    db.execute(f"CREATE VIRTUAL TABLE {name} USING cuckoo_filter(capacity=500, keep='{keep}', fingerprint_bits=32, seed=0)")


def within(db, key, window, name="seen"):
    return ask(db, "SELECT cf_table_contains(?, ?, ?)", name, key, f"{window / 1000:.3f} seconds")


CASES = [(keep, window) for keep, window in itertools.product(KEEPS, WINDOWS) if window <= KEEPS[keep]]


@pytest.mark.parametrize("reader", ["the writer", "another connection", "query_only"])
@pytest.mark.parametrize("keep, window", CASES)
def test_a_key_of_the_window_is_found_by_any_clock(tmp_path, now, keep, window, reader):
    """The clock of the asker is ahead of that of the writer by `ahead`, or behind."""
    most, n = KEEPS[keep] // TOLERANCE, 0
    writer = support.connect(tmp_path / "w.db")
    table(writer, keep)
    asker = writer if reader == "the writer" else support.connect(tmp_path / "w.db")
    asker.execute(f"PRAGMA query_only = {int(reader == 'query_only')}")
    for ahead in [-most, -most // 3, -1, 0, 1, most // 100, most // 3, most - 1, most]:
        for age in [0, 1, window // 100, window // 2, window - 1, window]:
            now.now += 10 * KEEPS[keep]  # all that was before is gone
            asker.execute("PRAGMA query_only = 0")
            writer.execute("INSERT INTO seen(key) VALUES (?)", (n,))
            asker.execute(f"PRAGMA query_only = {int(reader == 'query_only')}")
            now.now += age + ahead
            assert within(asker, n, window), (ahead, age)
            assert ask(asker, "SELECT cf_table_contains('seen', ?)", n), (ahead, age)
            now.now -= ahead
            n += 1
    asker.close()
    writer.close()


@pytest.mark.parametrize("keep, window", CASES)
def test_a_busy_table_and_how_long_a_key_is_found_at_most(tmp_path, now, keep, window):
    """As REFERENCE.md says: the window, and 0.21 of keep. Writers and askers whose clocks differ find all keys of the window."""
    rng = random.Random(f"{conftest.SEED} {keep} {window}")
    print(f"repeat with CUCKOO_TEST_SEED={conftest.SEED}")
    db, span, added = support.connect(tmp_path / "b.db"), KEEPS[keep], []
    db.execute("PRAGMA synchronous = OFF")
    table(db, keep)
    table(db, keep, "skewed")
    true, step, oldest = clock.START, span // 150, 0
    for n in range(450):
        true += step
        now.now = true
        db.execute("INSERT INTO seen(key) VALUES (?)", (n,))
        now.now = true + rng.randrange(span // TOLERANCE)
        db.execute("INSERT INTO skewed(key) VALUES (?)", (n,))
        added.append(true)
        for key in rng.sample(range(n + 1), min(n, 6)) + [max(0, n - window // step)]:
            age = true - added[key]
            now.now = true
            found = within(db, key, window)
            assert found or age > window
            if found:
                oldest = max(oldest, age)
            now.now = true + rng.randrange(span // TOLERANCE)
            assert within(db, key, window, "skewed") or age > window
    assert oldest <= window + 0.21 * span
    db.close()


def test_the_window_and_an_eighth_of_keep_to_the_millisecond(db, now):
    table(db, "24 hours")
    db.execute("INSERT INTO seen(key) VALUES (1)")
    for window in (SECOND, HOUR, 8 * HOUR, DAY):
        now.now = clock.START + window + 3 * HOUR
        assert within(db, 1, window)
        now.now += 1
        assert not within(db, 1, window)
    assert ask(db, "SELECT cf_table_contains('seen', 1)") == 0
