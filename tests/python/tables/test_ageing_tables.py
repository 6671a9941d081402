# SPDX-License-Identifier: MIT
"""Filter tables that forget: keep='24 hours' by the clock of the VFS, and epochs=n with the command advance."""
import json
import random
import sqlite3

import pytest

import clock
import conftest
import inside
import support
from address import AIMED
from clock import DAY, HOUR, MINUTE, SECOND
from seen import command, create, has, info
from support import ask

EXACT = "fingerprint_bits=32"
KEEPS = {"10 minutes": 10 * MINUTE, "24 hours": DAY, "1 week": 7 * DAY, "2 weeks": 14 * DAY}
WINDOWS = [SECOND, MINUTE, 20 * MINUTE, HOUR, 3 * HOUR, 20 * HOUR, DAY, 7 * DAY, 14 * DAY]


@pytest.fixture
def now():
    with clock.set_by_hand() as by_hand:
        yield by_hand


def table(db, options="", capacity=500, keep="24 hours", name="seen"):
    create(db, f"capacity={capacity}, keep='{keep}', {EXACT}{', ' if options else ''}{options}", name)


def add(db, key, mode="", name="seen"):
    return db.execute(f"INSERT {mode} INTO {name}(key) VALUES (?)", (key,)).rowcount


def within(db, key, window, name="seen"):
    return ask(db, "SELECT cf_table_contains(?, ?, ?)", name, key, f"{window / 1000:.3f} seconds")


def found_of(db, keys, name="seen"):
    """Those of the numbers below `keys` that are found."""
    marks = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?) SELECT i FROM n"
    return {key for key, in db.execute(f"{marks} WHERE cf_table_contains(?, i)", (keys, name))}


def connect(path):
    db = support.connect(path)
    db.execute("PRAGMA synchronous = OFF")
    return db


def sound(db):
    assert ask(db, "SELECT cf_table_check('seen')") == "ok"


# ---- clocks that differ: nothing that was added within the window is missing ----

CASES = [(keep, window) for keep in KEEPS for window in WINDOWS if window <= KEEPS[keep]]


@pytest.mark.parametrize("keep, window", CASES)
def test_a_busy_table_and_how_long_a_key_is_found_at_most(db, now, keep, window):
    """As REFERENCE.md says: the window, and 0.21 of keep. Writers and askers whose clocks differ find all keys of the window."""
    rng = random.Random(f"{conftest.SEED} {keep} {window}")
    print(f"repeat with CUCKOO_TEST_SEED={conftest.SEED}")
    span, added = KEEPS[keep], []
    table(db, keep=keep)
    table(db, keep=keep, name="skewed")
    true, step, oldest = clock.START, span // 150, 0
    for n in range(450):
        true += step
        now.now = true
        add(db, n)
        now.now = true + rng.randrange(span // 8)
        add(db, n, name="skewed")
        added.append(true)
        for key in rng.sample(range(n + 1), min(n, 6)) + [max(0, n - window // step)]:
            age = true - added[key]
            now.now = true
            found = within(db, key, window)
            assert found or age > window
            oldest = max(oldest, age) if found else oldest
            now.now = true + rng.randrange(span // 8)
            assert within(db, key, window, "skewed") or age > window
    assert oldest <= window + 0.21 * span


def test_the_window_and_an_eighth_of_keep_to_the_millisecond(db, now):
    table(db)
    add(db, 1)
    for window in (SECOND, HOUR, 8 * HOUR, DAY):
        now.now = clock.START + window + 3 * HOUR
        assert within(db, 1, window)
        now.now += 1
        assert not within(db, 1, window)
    assert ask(db, "SELECT cf_table_contains('seen', 1)") == 0


# ---- and it forgets ----

@pytest.mark.parametrize("options", ["", "growth=off", "bucket_size=8", "layout=semisort, bucket_size=4"])
def test_a_key_is_gone_after_the_window(db, now, options):
    """In a stream without pauses: after the window, an eighth, and an epoch."""
    table(db, options)
    latest = 0
    for minute in range(5 * 24 * 6):
        now.now += 10 * MINUTE
        add(db, minute)
        if minute % 5 == 0:
            command(db, "drain")
        old = minute - int(24 * 6 * (1 + 1 / 8 + 1 / 12)) - 2
        assert old < 0 or not has(db, old)
        assert minute < 144 or has(db, minute - 143)
        latest = max(latest, info(db)["occupied"])
    assert latest <= 144 * (1 + 1 / 8 + 3 / 12) and info(db)["buckets"] == info(db)["base_buckets"]


def test_a_burst_grows_it_and_optimize_takes_that_back(db, now):
    table(db, capacity=300)
    before = info(db)["bytes"]
    for n in range(3000):
        add(db, n)
    command(db, "drain")
    grown = info(db)["bytes"]
    assert all(has(db, n) for n in range(3000)) and grown > 4 * before
    for hour in range(40):
        now.now += HOUR
        for n in range(5):
            add(db, hour * 5 + n)
    command(db, "optimize")
    assert info(db)["bytes"] < grown / 4 and info(db)["occupied"] < 300, "all that is dead has gone"
    assert all(has(db, hour * 5) for hour in range(17, 40)) and not has(db, 2000)
    sound(db)


def test_lookups_within_less(db, now):
    table(db)
    for hour in range(24):
        add(db, hour)
        now.now += HOUR
    for text, hours in (("1 hour", 1), ("90 minutes", 1), ("0.5 days", 12), ("12 HOURS", 12), ("1 day", 24),
                        ("24 hours", 24)):
        found = [ask(db, "SELECT cf_table_contains('seen', ?, ?)", 24 - ago, text) for ago in range(1, 25)]
        assert all(found[:hours]) and not any(found[hours + 3 + 3:]), (text, found)
    assert ask(db, "SELECT cf_table_contains('seen', NULL, '1 hour')") is None
    assert has(db, 3), "a narrow question does not stay"


def test_or_ignore_leaves_the_age_and_insert_makes_young(db, now):
    table(db)
    for key in (1, 2):
        add(db, key)
    now.now += 20 * HOUR
    assert add(db, 1, "OR IGNORE") == 0 and add(db, 2) == 1
    now.now += 12 * HOUR
    assert not has(db, 1) and has(db, 2)


@pytest.mark.parametrize("text, message", [
    ("2 days", r"must be at most 24 hours \(keep=\), got the text '2 days'"), ("soon", "must be a number and seconds"),
    ("", "must be a number and"), (None, "must be a number and"),
    (5, "must be a number and"), ("-1 hour", "must be a number and"), ("1 fortnight", "must be a number and"),
    ("1", "must be a number and"),
    ("1\0 hour", "must be a number and"), ("5000", "must be a number and")])
def test_bad_windows(db, text, message):
    table(db)
    with pytest.raises(sqlite3.OperationalError, match="cf_table_contains: the third argument " + message):
        ask(db, "SELECT cf_table_contains('seen', 1, ?)", text)


@pytest.mark.parametrize("keep, most", [("90 seconds", "90 seconds"), ("1 hour", "3600 seconds"),
                                        ("90 minutes", "1.5 hours"), ("1 week", "168 hours"), ("2 weeks", "336 hours")])
def test_the_longest_window_is_named(db, keep, most):
    create(db, f"capacity=5, keep='{keep}'")
    with pytest.raises(sqlite3.OperationalError, match=rf"must be at most {most} \(keep=\), got the text '15 days'"):
        ask(db, "SELECT cf_table_contains('seen', 1, '15 days')")
    create(db, "capacity=5, epochs=3", "other")
    with pytest.raises(sqlite3.OperationalError, match="without keep="):
        ask(db, "SELECT cf_table_contains('other', 1, '1 hour')")


# ---- the clock ----

def test_a_clock_of_the_far_future_is_shown_and_set_right(db, now):
    table(db)
    add(db, "before")
    now.now += 50 * DAY
    add(db, "wrong")
    now.now -= 50 * DAY
    assert add(db, "after") == 1 and info(db)["clock_ahead"] == 50 * 86400
    command(db, "clock")
    assert info(db)["clock_ahead"] == 0 and has(db, "wrong") and has(db, "after")
    for _ in range(30):
        now.now += HOUR
        add(db, "now")
    assert not has(db, "after") and not has(db, "wrong")
    command(db, "clock")
    sound(db)


def test_a_clock_that_goes_on_within_a_statement_is_not_ahead(db, now):
    table(db)
    add(db, 1)
    now.step = 1
    assert info(db)["clock_ahead"] == 0 and now.now > clock.START + 1, "it was asked more than once"


# ---- epochs by command, import, export ----

def test_an_imported_filter_is_as_young_as_can_be(db, now):
    table(db)
    for n in range(100):
        add(db, n)
        now.now += 10 * MINUTE
    blob = ask(db, "SELECT cf_export('seen')")
    db.execute("CREATE VIRTUAL TABLE other USING cuckoo_filter(capacity=500, keep='24 hours')")
    db.execute("INSERT INTO other(other, key) VALUES ('import', ?)", (blob,))
    now.now += 23 * HOUR
    assert all(has(db, n, "other") for n in range(100))
    for n in range(2000):
        now.now += 10 * MINUTE
        db.execute("INSERT INTO other(key) VALUES (?)", (f"x{n}",))
    command(db, "optimize", "other")
    assert not any(has(db, n, "other") for n in range(100)) and json.loads(ask(db,
        "SELECT cf_table_info('other')"))["occupied"] < 250
    for filter_, message in (("cf_new(10)", "epochs=0"), ("cf_new(10, 0.01, 'epochs=3')", "epochs=3")):
        with pytest.raises(sqlite3.OperationalError, match=f"a filter with {message} goes only into"):
            db.execute(f"INSERT INTO other(other, key) VALUES ('import', {filter_})")


@pytest.mark.parametrize("grown", [False, True])
def test_all_that_was_imported_stays_for_the_window(db, now, grown):
    """Also what is of the oldest epoch, which has the number that is needed after the next."""
    blob = ask(db, "SELECT cf_new(?, 0.01, ?)", 10 if grown else 500, f"epochs=15, {EXACT}")
    for key in range(15):
        blob = ask(db, "SELECT cf_add(cf_advance(?), ?)", blob, key)
    if grown:
        blob = support.add_all(db, blob, range(100, 1000))
    table(db)
    db.execute("INSERT INTO seen(seen, key) VALUES ('import', ?)", (blob,))
    for hour in range(24):
        now.now += HOUR
        add(db, "new")
        if grown:
            command(db, "optimize")
        exported = ask(db, "SELECT cf_export('seen')")
        assert found_of(db, 15) == {key for key in range(15) if ask(db, "SELECT cf_contains(?, ?)", exported,
            key)} == set(range(15)), hour
    for hour in range(40):
        now.now += HOUR
        add(db, hour + 100)
    assert found_of(db, 15) == set()


def test_what_is_dead_by_the_clock_is_not_exported(db, now):
    table(db)
    for n in range(300):
        add(db, n)
    now.now += 40 * HOUR
    assert support.info(db, ask(db, "SELECT cf_export('seen')"))["items"] == 0 and not has(db, 1)


# ---- errors ----

@pytest.mark.parametrize("arguments, message", [
    ("keep=''", "keep must be a number and seconds"), ("keep='24'", "keep must be"), ("keep=24", "keep must be"),
    ("keep='hours'", "keep must be"),
    ("keep='0 hours'", "keep must be"), ("keep='-3 days'", "keep must be"), ("keep='0.1 seconds'", "keep must be"),
    ("keep='1 month'", "keep must be"),
    ("keep='5000 weeks', keep='1 day'", "keep is given twice"), ("keep='6000 weeks'", "keep must be"),
    ("keep='1e99 days'", "keep must be"),
    ("keep='1 day', epochs=3", "keep= uses the clock"), ("keep='1 day', counter_bits=2", "keep= uses the clock"),
    ("keep='1 day', stash=on", "keep= uses the clock"), ("keep='1 day', value_bits=2", "a filter table stores no values"),
    ("epochs=4, content='t(k)'", "give one of them"), ("keep='1 day', content='t(k)'", "give one of them"),
    ("keep='1 dayx'", "keep must be"), ("keep='1 dayss'", "keep must be"), ("keep='1 weekly'", "keep must be"),
    ("keep='5000'", "keep must be"),
    ("keep='0.999 seconds'", "keep must be"), ("keep='36525.1 days'", "keep must be"),
    ("epochs=16", "bad value in epochs=16"), ("ttl='1 day'", "unknown option ttl; valid options: .*keep='24 hours'")])
def test_bad_arguments(db, arguments, message):
    db.execute("CREATE TABLE t(k)")
    with pytest.raises(sqlite3.OperationalError, match=message):
        db.execute(f"CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=10, {arguments})")


@pytest.mark.parametrize("text, seconds", [("24 hours", 86400), ("1 day", 86400), ("2 WEEKS", 1209600),
                                           (" 90  minutes ", 5400),
                                           ("1.5 hour", 5400), ("1seconds", 1), ("+7 Days", 604800),
                                           ("36525 days", 3155760000)])
def test_durations(db, text, seconds):
    table(db, keep=text)
    assert info(db)["keep"] == seconds


def test_commands_are_for_tables_of_their_kind(db):
    for options, wrong in (("keep='1 day'", "advance"), ("epochs=3", "clock"), ("adds=once", "advance"),
                           ("adds=once", "clock")):
        create(db, f"capacity=5, {options}")
        with pytest.raises(sqlite3.OperationalError, match=f"seen: {wrong} is for tables that were created with"):
            command(db, wrong)
        db.execute("DROP TABLE seen")


@pytest.mark.parametrize("options", ["keep='1 day'", "epochs=3"])
@pytest.mark.parametrize("change", ["DELETE FROM seen WHERE key = 1", "UPDATE seen SET key = 2 WHERE key = 1"])
def test_single_keys_stay(db, options, change):
    create(db, options)
    add(db, 1)
    with pytest.raises(sqlite3.OperationalError, match="DELETE and UPDATE are not possible"):
        db.execute(change)
    command(db, "clear")
    assert not has(db, 1) and add(db, 1, "OR IGNORE") == 1
    sound(db)


def test_hostile_times(tmp_path, now, rng):
    """Any bytes where the times stand: no crash, and the table goes on."""
    db = connect(tmp_path / "h.db")
    table(db, capacity=50)
    for n in range(60):
        add(db, n)
        now.now += HOUR
    before, used = inside.saved(db, "seen"), 0
    for _ in range(200):
        inside.hostile_ages(db, rng, "seen")
        try:
            for _ in range(3):
                add(db, rng.randrange(100), rng.choice(["", "OR IGNORE"]))
                has(db, rng.randrange(100))
                info(db)
                now.now += rng.choice([0, HOUR, DAY])
            for name in ("optimize", "clock", "clear"):
                command(db, name)
            assert add(db, 5) == 1 and has(db, 5)
            sound(db)
            used += 1
        except sqlite3.DatabaseError as error:
            assert any(words in str(error) for words in ("cannot be used", "later version",
                                                         "created with keep=")), error
        inside.put_back(db, before, "seen")
    assert used > 30
    db.close()


# ---- keys without a place ----

def crowded(db):
    """A table that grows for keys that are aimed at one pair of buckets: many find no place."""
    db.execute("CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=6, seed=0, fingerprint_bits=32, keep='24 hours')")
    return db


def waiting(db):
    command(db, "drain")
    return info(db)["unplaced"]


def test_keys_without_a_place_are_exported_while_they_are_young(db, now):
    """Once each, however often they were added."""
    crowded(db)
    for key in AIMED[:20] * 2:
        add(db, key)
    assert waiting(db) > 1
    now.now += 10 * HOUR
    for key in AIMED[20:24] * 3:
        add(db, key)
    for hours, young in ((29.1, AIMED[20:24]), (39.1, ())):
        now.now = clock.START + int(hours * HOUR)
        blob = ask(db, "SELECT cf_export('seen')")
        assert {key for key in AIMED if ask(db, "SELECT cf_contains(?, ?)", blob,
                                            key)} == set(young) == {key for key in AIMED if has(db, key)}
        assert support.info(db, blob)["items"] == len(young) and ask(db, "SELECT cf_check(?)", blob) == "ok"


def test_a_key_that_finds_a_place_waits_no_more(db, now):
    """However often it was added; and it is as old as before."""
    crowded(db)
    for key in AIMED[:20]:
        add(db, key)
    now.now += 10 * HOUR
    for key in AIMED[20:24] * 3:
        add(db, key)
    now.now += 10 * HOUR
    add(db, 1)
    now.now += 10 * HOUR
    command(db, "optimize")
    assert waiting(db) == 0 and info(db)["occupied"] == 5
    assert all(has(db, key) for key in AIMED[20:24])
    now.now += 7 * HOUR
    assert all(has(db, key) for key in AIMED[20:24])
    now.now += 2 * HOUR + 6 * MINUTE
    assert has(db, 1) and not any(has(db, key) for key in AIMED)
