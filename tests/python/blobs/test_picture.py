# SPDX-License-Identifier: MIT
"""cf_picture: 25 lines of at most 80 characters, from the buckets themselves."""
import re
import sqlite3

import pytest

import inside
import support
from support import ask

SHADES = " .:-=+*#%@"
TOP, ROWS, WIDE = 5, 16, 64


def picture(db, blob):
    text = ask(db, "SELECT cf_picture(?)", blob)
    lines = text.split("\n")
    assert len(lines) == 25 and max(map(len, lines)) <= 80 and text.isascii()
    return lines


def regions(lines):
    rows = [re.fullmatch(r" *(\d+) \|(.{64})\|", line) for line in lines[TOP:TOP + ROWS]]
    return [int(row[1]) for row in rows], "".join(row[2] for row in rows)


def model(db, blob):
    """What each region must show, by cf_buckets, while no region has more buckets than are counted."""
    used = [n for (n,) in db.execute("SELECT count(fingerprint) FROM cf_buckets(?) GROUP BY bucket ORDER BY bucket",
                                     (blob,))]
    size = support.info(db, blob)["bucket_size"]
    shades, loads = "", []
    for region in range(ROWS * WIDE):
        first, end = region * len(used) // (ROWS * WIDE), (region + 1) * len(used) // (ROWS * WIDE)
        some = used[first:max(end, first + 1)][:64]
        held, slots = sum(some), size * len(some)
        shades += " " if not held else "@" if held == slots else SHADES[1 + 8 * held // slots]
        loads.append(100 * held // slots)
    return [row * WIDE * len(used) // (ROWS * WIDE) for row in range(ROWS)], shades, sorted(loads)


@pytest.mark.parametrize("capacity, keys, options", [
    (1, 0, ""), (1, 1, ""), (3, 3, "bucket_size=8"), (20, 20, "growth=off"), (1000, 500, ""),
    (1000, 1000, "layout=plain bucket_size=2"),
    (5000, 4999, "fingerprint_bits=12"), (20000, 15000, "counter_bits=4"), (50, 9000, "fingerprint_bits=12"),
    (200, 190, "bucket_size=1 growth=off fingerprint_bits=8"),
    (40, 46, "growth=off bucket_size=4 fingerprint_bits=12 stash=on max_kicks=0 stash_size=30")])
def test_it_shows_the_buckets(db, capacity, keys, options):
    blob = support.new(db, capacity, None, options)
    blob = support.add_all(db, blob, range(keys)) if keys else blob
    lines, told = picture(db, blob), support.info(db, blob)
    *expected, loads = model(db, blob)
    assert list(regions(lines)) == expected
    assert lines[23] == f"load factor of the regions: least {loads[0]} %, median {loads[512]} %, most {loads[-1]} %"
    assert lines[0] == f"{told['items']:,} keys, planned for {told['capacity']:,}, in {told['bytes']:,} bytes"
    assert lines[1] == f"{told['buckets']:,} buckets of {told['bucket_size']} slots of {told['slot_bits']} bits, " \
        f"{int(1000 * told['occupied'] / told['buckets'] / told['bucket_size'] + 0.5) / 10:.1f} % in use"
    assert lines[2] == f"grown: level {told['level']}, {told['split']:,} buckets split; {told['stashed']} entries in the stash"
    assert picture(db, blob) == lines and "which" not in lines[22] and lines[24].startswith("slots in use:")


def test_of_a_large_filter_a_part_is_counted(db):
    blob = support.build(db, range(300000), None, "capacity=3000000 layout=plain")
    lines = picture(db, blob)
    assert lines[22].endswith(" buckets, of which the first 64 are counted")
    _, shades = regions(lines)
    assert set(shades) == {":", "."} or set(shades) == {"."}, "a tenth is in use everywhere"


def test_a_very_large_one(db):
    """A hundred megabytes of zeros: it must not take long."""
    blob = ask(db, "SELECT cf_new(100000000)")
    lines = picture(db, blob)
    assert set(regions(lines)[1]) == {" "} and len(blob) > 1e8


def test_handles_and_tables(db):
    blob = support.build(db, range(1000))
    expected = "\n".join(picture(db, blob))
    assert ask(db, "SELECT cf_picture((SELECT cf_open(?)))", blob) == expected
    db.execute("CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=10)")
    db.execute("INSERT INTO seen(seen, key) VALUES ('import', ?)", (blob,))
    assert ask(db, "SELECT cf_picture('seen')") == ask(db, "SELECT cf_picture('main.seen')") == expected
    db.execute("BEGIN")
    db.execute("INSERT INTO seen(key) SELECT value FROM json_each('[5001, 5002]')")
    assert ask(db, "SELECT cf_picture('seen')") != expected
    db.execute("ROLLBACK")
    assert ask(db, "SELECT cf_picture('seen')") == expected


def test_a_table_on_disk_large_attached(tmp_path):
    db = support.connect()
    db.execute("ATTACH ? AS other", (str(tmp_path / "x.db"),))
    db.execute("CREATE VIRTUAL TABLE other.seen USING cuckoo_filter(capacity=100000)")
    db.execute("INSERT INTO seen(key) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000) SELECT i FROM n")
    assert ask(db, "SELECT cf_picture('seen')") == ask(db, "SELECT cf_picture(cf_export('other.seen'))")
    again = support.connect(str(tmp_path / "x.db"))
    assert ask(again, "SELECT cf_picture('seen')") == ask(db, "SELECT cf_picture('seen')")
    pages, data = inside.own_table(again, "pages", "seen")
    again.execute(f"UPDATE {pages} SET {data} = x'00' WHERE rowid = (SELECT max(rowid) FROM {pages})")
    again = support.connect(str(tmp_path / "x.db"))
    with pytest.raises(sqlite3.DatabaseError, match="cf_picture: the filter cannot be used: row .* has been changed"):
        ask(again, "SELECT cf_picture('seen')")


def test_hostile_contents(db, rng):
    """Bytes that no filter has may show anything, but in its form."""
    blob = support.build(db, range(500), None, "fingerprint_bits=12")
    for _ in range(50):
        other = bytearray(blob)
        for _ in range(200):
            other[rng.randrange(64, len(blob))] = rng.randrange(256)
        regions(picture(db, bytes(other)))
