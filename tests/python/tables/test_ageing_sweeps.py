# SPDX-License-Identifier: MIT
"""Filter tables that forget: exactly what is swept, when epochs begin, and what the header row says of it."""
import rows
import support
from clock import DAY, HOUR, MINUTE, START
from support import ask
from test_ageing_tables import EXACT, add, command, info, now, sound, table  # now: a fixture
from test_persistent import create, has


def header(db):
    return ask(db, "SELECT data FROM seen_page WHERE no = 0")


def said(db):
    return rows.ages(header(db))


def lie(db, **values):
    """Another writer has changed what the header row says of epochs."""
    db.execute("UPDATE seen_page SET data = ? WHERE no = 0", (rows.aged_header(header(db), **values),))


def most(db):
    """As many buckets as 32 pages have."""
    bucket_bits = 8 * 36
    assert info(db)["bucket_size"] == 8
    return 32 * 8 * rows.numbers(header(db))["page_bytes"] // bucket_bits + 1


# ---- how much is swept ----

def test_all_is_swept_twice_in_the_time_of_an_epoch(db, now):
    """And one bucket by each add, but not more than 32 pages have."""
    table(db, capacity=40000)
    buckets, swept = info(db)["buckets"], most(db)
    assert buckets > swept + 100
    add(db, 1), add(db, 1)
    assert said(db)["swept"] == swept + 1, "the number of the very first epoch"
    command(db, "optimize")
    now.now += 40 * HOUR
    add(db, 2)
    assert (said(db)["swept"], said(db)["dead"]) == (swept, 2)
    for passed in (0, 1, MINUTE, 2 * MINUTE, 0):
        now.now += passed
        add(db, 2)
        swept += 1 + buckets * 24 * passed // DAY
        assert said(db)["swept"] == swept
    now.now += 3 * HOUR
    add(db, 2)
    assert said(db)["dead"] == 0 and said(db)["clean"] & 2


def test_eight_buckets_go_with_each_add_where_epochs_begin_by_command(db):
    create(db, f"capacity=40000, epochs=1, {EXACT}")
    add(db, 1)
    assert (said(db)["swept"], said(db)["dead"]) == (0, 0), "nothing is dead"
    command(db, "advance")
    assert said(db)["swept"] == 0, "the next number was clean"
    for n in range(1, 4):
        add(db, 2)
        assert (said(db)["swept"], said(db)["dead"]) == (8 * n, 1)
    assert said(db)["last"] == [0] * 16, "such a table knows no times"


def test_a_sweep_that_lies_begins_anew(db, now):
    table(db)
    for n in range(300):
        add(db, n)
    now.now += 40 * HOUR
    lie(db, dead=2, swept=2**40)
    add(db, 1000)
    assert info(db)["occupied"] == 1 and said(db)["dead"] == 0
    sound(db)


def test_optimize_sweeps_all_that_is_dead(db, now):
    table(db, capacity=40000)
    for n in range(300):
        add(db, n)
    now.now += 26 * HOUR
    add(db, 1000)
    now.now += 2 * HOUR
    command(db, "optimize")
    assert info(db)["occupied"] == 1 and has(db, 1000)
    assert (said(db)["dead"], said(db)["clean"]) == (0, 0xffff & ~4)


# ---- when epochs begin ----

def test_an_epoch_is_stretched_until_the_next_number_is_clean(db, now):
    """Else keys that are long forgotten would be found anew."""
    table(db)
    add(db, 1)
    assert info(db)["epoch"] == 1
    now.now += 3 * HOUR
    lie(db, clean=said(db)["clean"] & ~4)
    add(db, 2)
    assert info(db)["epoch"] == 1 and said(db)["clean"] & 4, "this add has swept all"
    now.now += 1
    add(db, 3)
    assert info(db)["epoch"] == 2


def test_all_that_is_dead_goes_when_no_epoch_may_begin(db, now):
    table(db)
    for hour in range(9):
        add(db, hour)
        now.now += HOUR
    assert info(db)["epoch"] == 5
    now.now += 40 * HOUR
    lie(db, clean=said(db)["clean"] & ~(1 << 6))
    assert add(db, 3, "OR IGNORE") == 1
    assert (info(db)["occupied"], info(db)["epoch"]) == (1, 1)
    assert [key for key in range(9) if has(db, key)] == [3]
    sound(db)


# ---- the command clock ----

def test_the_command_clock_moves_all_times_by_as_much(db, now):
    """None to 0, which would say that nothing was ever added in that epoch."""
    table(db)
    add(db, 1)
    last = [START + DAY, START + 10 * DAY, 0, 7 * DAY, 10 * DAY, 10 * DAY + 1, START, 1] + [0] * 8
    moved = [START - 9 * DAY, START, 0, 1, 1, 1, START - 10 * DAY, 1] + [0] * 8
    for began, then in ((START + 9 * DAY, START - DAY), (3 * DAY, 0)):
        lie(db, began=began, last=last, swept=50, dead=8)
        command(db, "clock")
        assert (said(db)["began"], said(db)["last"], said(db)["swept"]) == (then, moved, 50)


def test_the_command_clock_writes_nothing_when_the_clock_is_right(db, now):
    table(db)
    add(db, 1)
    for _ in range(2):
        before = header(db)
        command(db, "clock")
        assert header(db) == before
        now.now += HOUR


# ---- import, export ----

def test_what_is_dead_by_the_clock_is_not_exported(db, now):
    """Its epoch alone would not say so."""
    table(db)
    for n in range(300):
        add(db, n)
    now.now += 40 * HOUR
    assert info(db)["occupied"] == 300
    assert support.info(db, ask(db, "SELECT cf_export('seen')"))["items"] == 0
    assert info(db)["occupied"] == 300


def test_nothing_is_known_of_the_next_number_of_an_imported_filter(db, now):
    blob = ask(db, "SELECT cf_new(500, 0.01, ?)", f"epochs=15, {EXACT}")
    for key in range(20):
        blob = ask(db, "SELECT cf_add(cf_advance(?), ?)", blob, key)
    table(db)
    now.now += HOUR
    db.execute("INSERT INTO seen(seen, key) VALUES ('import', ?)", (blob,))
    last = [now.now] * 16
    last[(info(db)["epoch"] + 1) % 16] = 0
    assert (info(db)["epoch"], said(db)) == (20, {"keep": DAY, "began": now.now, "last": last, "swept": 0, "clean": 0, "dead": 0})


# ---- room ----

def test_there_is_room_for_the_window_and_what_is_kept_beyond_it(db):
    """A table has the capacity that it was given, and the buckets of a filter for 14.7 epochs of 12."""
    for capacity in (0, 1, 1000, 100_000):
        create(db, f"capacity={capacity}, keep='1 day'")
        plan = support.plan(db, max(capacity + capacity * 19 // 128, 1), 0.001, "epochs=15")
        assert (info(db)["capacity"], info(db)["buckets"]) == (capacity, plan["buckets"])
        db.execute("DROP TABLE seen")
