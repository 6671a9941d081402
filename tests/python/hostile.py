# SPDX-License-Identifier: MIT
"""Filters of every kind, and what is done with blobs that lie: the machinery of test_hostile.py."""
import json
import sqlite3

import functions
import support
from support import BAD_BLOB, BAD_PARAMETER, FULL, MISMATCH, TOO_BIG, add, ask

SOME, PAIRS = "json_each('[1, 2, 3, 4, 5, 6, 7, 8, 9]')", "json_each('[1, 2, 3, 1, 1, 1]')"
READERS = [call.replace("{f}", "?1") for call in functions.SCALARS + functions.AGGREGATES if "cf_open" not in call] + [
    "cf_merge(?1, ?2)", "cf_merge(?2, ?1)", "cf_contains(cf_open(?1), {k})",
    "(SELECT cf_merge(column1) FROM (VALUES (?1), (?2), (?1)))",
    *(f"(SELECT cf_{call}_all(?1, value{more}) FROM {rows})" for call in ("add", "delete") for more,
      rows in (("", SOME), (", value", PAIRS))),
    *(f"cf_{call}_keys(?1, (SELECT cf_keys(value{more}) FROM {rows}))" for call in ("add", "delete") for more,
      rows in (("", SOME), (", value", PAIRS))),
    "(SELECT total(fingerprint + alternate + length + stashed + payload) FROM cf_buckets(?1))",
    "(SELECT total(bucket) FROM cf_buckets(?1) WHERE bucket BETWEEN 1 AND 3)",
    "(SELECT group_concat(fingerprint || length || payload) FROM cf_explain(?1, {k}))"]
LONGEST = 500_000  # bytes that a filter of a few keys may grow to, however they were chosen
KNOWN_ERRORS = {name for _, name in (BAD_PARAMETER, BAD_BLOB, FULL, MISMATCH, TOO_BIG)}


def ordinary(db):
    """Small filters of several shapes with something in them."""
    return [support.build(db, range(n), None, options) for n, options in (
        (1, None), (3, "bucket_size=1 growth=off"), (20, "bucket_size=2 seed=5"),
        (20, "bucket_size=4 fingerprint_bits=12"), (20, "bucket_size=8 fingerprint_bits=32 growth=off"),
        (60, "bucket_size=4 fingerprint_bits=5 growth=off"), (30, "layout=semisort fingerprint_bits=16 growth=off"))]


def grown(db, n=60, options="bucket_size=4 fingerprint_bits=10"):
    """A small filter that has grown."""
    value = "value % 8" if "value_bits" in options else "NULL"
    blob = ask(db, f"SELECT {support.list_call('cf_add_keys', 'cf_new(8, NULL, ?1)', 'value', value)} FROM json_each(?2)", options,
               json.dumps(list(range(n))))
    assert support.info(db, blob)["buckets"] > support.info(db, blob)["base_buckets"]
    return blob


def with_payloads(db):
    """Filters with counters and with values, new and grown."""
    return [support.build(db, [1, 1, 1, 2, 3], None, "counter_bits=3"),
            ask(db, "SELECT cf_add(cf_new(10, 0.01, 'value_bits=5 growth=off'), 3, 31)"),
            grown(db, 60, "bucket_size=4 fingerprint_bits=10 counter_bits=2"),
            grown(db, 90, "bucket_size=8 fingerprint_bits=11 value_bits=3")]


def ageing(db):
    """Filters with keys of several epochs, new and grown."""
    blobs = [support.new(db, 8, None, f"epochs={epochs} {options}") for epochs, options in (
        (1, ""), (3, "layout=semisort fingerprint_bits=12"), (12, "growth=off"),
        (15, "bucket_size=8 fingerprint_bits=11"))]
    for i, blob in enumerate(blobs):
        for key in range(0, (8 if i == 2 else 60), 4):
            blob = ask(db, "SELECT cf_advance(?)", add(db, blob, *range(key, key + 4)))
        blobs[i] = add(db, blob, 1, 2, 3)
    return blobs


def stashing(db):
    """Filters with entries in their stashes, from adds one by one: of either layout, with counters, and with values."""
    crowd = "fingerprint_bits=12 growth=off stash=on max_kicks=0"
    blobs = [add(db, support.new(db, 28, None, f"bucket_size=4 layout=plain {crowd} stash_size=8"), *range(52)),
             add(db, support.new(db, 40, None, f"layout=semisort {crowd} stash_size=6 counter_bits=2"), *range(64),
                 *range(30), *range(9))]
    values = support.new(db, 9, None, f"layout=semisort {crowd} stash_size=6 value_bits=5")
    for value in range(22):
        values = ask(db, "SELECT cf_add(?, ?, ?)", values, value // 11, value % 11)
    blobs.append(values)
    blobs.append(add(db, support.new(db, 120, None, f"bucket_size=8 {crowd} stash_size=9"), *range(144)))
    assert all(support.info(db, blob)["stashed"] > 1 for blob in blobs)
    return blobs


def every_kind(db):
    more = [grown(db), grown(db, 90, "bucket_size=2 fingerprint_bits=12"),
            grown(db, 70, "layout=semisort fingerprint_bits=12"),
            grown(db, 70, "layout=plain bucket_size=4 fingerprint_bits=12")]
    return ordinary(db) + more + with_payloads(db) + ageing(db) + stashing(db)


def provoke(db, blob, companion, key="3"):
    """Gives the blob to every function. A result that is a filter must be a sound one when the blob was;
    returns whether the blob was taken for a filter."""
    sound = ask(db, "SELECT cf_check(?)", blob) == "ok"
    taken = False
    for call in READERS:
        sql = "SELECT " + call.replace("{k}", key)
        try:
            answer = db.execute(sql, (blob, companion)[:sql.count("?2") and 2 or 1]).fetchall()[0][0]
        except sqlite3.Error as error:
            assert error.sqlite_errorname in KNOWN_ERRORS, (sql, error)
            continue
        taken = taken or "cf_check" not in call
        if isinstance(answer, bytes):
            assert len(answer) <= LONGEST + 64 * (len(blob) + len(companion)), (sql, len(answer), blob.hex())
            verdict = ask(db, "SELECT cf_check(?)", answer)
            assert verdict == "ok" or not sound, (sql, verdict, blob.hex())
    return taken


def with_bit_flipped(blob, bit):
    flipped = bytearray(blob)
    flipped[bit // 8] ^= 1 << bit % 8
    return bytes(flipped)
