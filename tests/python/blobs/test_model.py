# SPDX-License-Identifier: MIT
"""Random histories of two filters of one shape, against an exact model.

Keys that share fingerprint and pair of buckets cannot be told apart: they are one *class*. A class has as many copies as
were added and not deleted. From cap copies on it is *sticky*: it stays, and deletes change nothing. With counters of c bits
that happens when one counter is full, at 2^c copies. This is exact, so the model foretells every answer, false positives
included. Above it stands what users are promised: the keys they added, less those they deleted, are found.

Two things are not foretold, for they follow from where entries lie, but seen after each step and held against what is
allowed. In a filter that has grown, entries of a key that was added twice or more may become sticky before cap, where there
is no room otherwise. With counters, entries of different lengths may each count copies of one key (they come from merges):
then it may have 2^c copies and more before one of them is full.

With 32-bit fingerprints every key is its own class, and the model takes nothing from the extension.
With fingerprints of 4 to 8 bits classes collide all the time; cf_explain says which keys share one.
"""
import json
import os
import sqlite3
import tempfile
from collections import Counter

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import support
from support import ask

NAMES = st.sampled_from(["a", "b"])
KEYS = st.integers(0, 40) | st.sampled_from(["", "x", "1", 2**62, -1])
MANY_KEYS = (st.builds(lambda start, n: list(range(start, start + n)),
                       st.integers(0, 200), st.integers(1, 150))
             | st.lists(KEYS, min_size=1, max_size=12))
SEEDS = st.sampled_from([0, 0, 1, -5, 2**63 - 1])
FULL = sqlite3.IntegrityError


class Model:
    def __init__(self):
        self.clear()

    def clear(self):
        self.copies = Counter()  # by class
        self.sticky = set()      # classes
        self.true = Counter()    # by key: adds minus deletes
        self.items = 0

    def add(self, key, class_):
        self.true[key] += 1
        self.items += 1
        self.copies[class_] += 1

    def delete(self, key, class_):
        self.true[key] -= 1
        if class_ not in self.sticky:
            self.copies[class_] -= 1
            self.items -= 1

    def merge(self, other):
        self.true.update(other.true)
        self.items += other.items
        self.copies.update(other.copies)
        self.sticky |= other.sticky


class Histories(RuleBasedStateMachine):
    """The steps; the subclasses choose shapes and know the class of a key."""

    # ---- set-up ----

    def start(self, empty_filter, capacity=0, options=None):
        self.directory = tempfile.TemporaryDirectory()
        self.capacity, self.options = capacity, options
        self.counter_bits = support.field(empty_filter, "payload_bits")
        self.limit = 1 << self.counter_bits if self.counter_bits else support.field(empty_filter, "cap")
        self.model = {"a": Model(), "b": Model()}
        self.class_cache = {}
        self.open()
        self.db.execute("CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB)")
        self.db.executemany("INSERT INTO filters VALUES (?, ?)",
                            [("a", empty_filter), ("b", empty_filter)])
        self.empty = empty_filter

    def start_planned(self, capacity, options):
        db = support.connect()
        self.start(support.new(db, capacity, None, options), capacity, options)
        db.close()

    def open(self):
        self.db = support.connect(os.path.join(self.directory.name, "filters.db"))
        self.db.execute("PRAGMA synchronous = OFF")

    def teardown(self):
        if hasattr(self, "db"):
            self.db.close()
            self.directory.cleanup()

    # ---- helpers ----

    def stored(self, name):
        return ask(self.db, "SELECT f FROM filters WHERE name = ?", name)

    def class_of(self, key):
        if key not in self.class_cache:
            self.class_cache[key] = self.find_class(key)
        return self.class_cache[key]

    def update(self, name, expression, *parameters):
        """Replaces a stored filter; false when it was full, and then nothing has changed."""
        before = self.stored(name)
        try:
            self.db.execute(f"UPDATE filters SET f = {expression} WHERE name = ?",
                            (*parameters, name))
            return True
        except FULL as error:
            assert error.sqlite_errorcode == sqlite3.SQLITE_CONSTRAINT
            assert self.stored(name) == before
            return False

    def may_be_full(self, model, keys):
        """A filter takes as many distinct keys as it was planned for, and every key that is sticky.
        Copies and filters not made by cf_new have no such promise."""
        if all(self.class_of(key) in model.sticky for key in keys):
            return False
        distinct = set(keys) | {key for key, n in model.true.items() if n > 0}
        copies = len(keys) + model.items
        return self.capacity == 0 or copies > len(distinct) or len(distinct) > self.capacity

    # ---- steps ----

    @rule(name=NAMES, key=KEYS)
    def add(self, name, key):
        model = self.model[name]
        if self.update(name, "cf_add(f, ?)", key):
            model.add(key, self.class_of(key))
        else:
            assert self.may_be_full(model, [key])

    @rule(name=NAMES, keys=MANY_KEYS)
    def add_all(self, name, keys):
        model = self.model[name]
        if self.update(name, "(SELECT cf_add_all(filters.f, value) FROM json_each(?))",
                       json.dumps(keys)):
            for key in keys:
                model.add(key, self.class_of(key))
        else:
            assert self.may_be_full(model, keys)

    def present(self, name):
        return sorted((k for k, n in self.model[name].true.items() if n > 0), key=repr)

    @rule(name=NAMES, data=st.data())
    def delete(self, name, data):
        present = self.present(name)
        if present:
            key = data.draw(st.sampled_from(present))
            assert self.update(name, "cf_delete(f, ?)", key)
            self.model[name].delete(key, self.class_of(key))

    @rule(name=NAMES, data=st.data(), all_copies=st.booleans())
    def delete_all(self, name, data, all_copies):
        model, present = self.model[name], self.present(name)
        if not present:
            return
        chosen = data.draw(st.sets(st.sampled_from(present), min_size=1))
        keys = [k for k in sorted(chosen, key=repr) for _ in range(model.true[k] if all_copies else 1)]
        assert self.update(name, "(SELECT cf_delete_all(filters.f, value) FROM json_each(?))",
                           json.dumps(keys))
        for key in keys:
            model.delete(key, self.class_of(key))

    @rule(name=NAMES)
    def clear(self, name):
        assert self.update(name, "cf_clear(f)")
        self.model[name].clear()
        assert self.stored(name) == self.empty

    @rule(name=NAMES, aggregate=st.booleans())
    def merge(self, name, aggregate):
        other = "b" if name == "a" else "a"
        if aggregate:
            merged = self.update(name, "(SELECT cf_merge(f) FROM filters)")
        else:
            merged = self.update(
                name, "cf_merge(f, (SELECT f FROM filters WHERE name = ?))", other)
        if merged:
            self.model[name].merge(self.model[other])

    @precondition(lambda self: self.options)
    @rule(name=NAMES, keys=MANY_KEYS)
    def build(self, name, keys):
        keys = keys[:self.capacity]
        options = f"{self.options} capacity={self.capacity}"
        assert self.update(name, "(SELECT cf_build(value, NULL, ?) FROM json_each(?))", options,
                           json.dumps(keys))
        self.model[name].clear()
        for key in keys if self.counter_bits else set(keys):
            self.model[name].add(key, self.class_of(key))
        assert len(self.stored(name)) == len(self.empty)  # of equal shape: merges go on working

    @rule()
    def reopen(self):
        self.db.close()
        self.open()

    # ---- what holds after every step ----

    @invariant()
    def agrees_with_the_model(self):
        for name, model in getattr(self, "model", {}).items():
            blob = self.stored(name)
            assert ask(self.db, "SELECT cf_check(?)", blob) == "ok"
            info = support.info(self.db, blob)
            assert info["items"] == model.items
            grown = info["level"] + info["split"] > 0
            self.answers_agree(model, blob, grown)
            self.sticky_agrees(model, info["sticky"], grown)
            self.slots_agree(model, info["occupied"] + info["spilled"], grown)

    def answers_agree(self, model, blob, grown):
        """For every key ever used, and some that never were."""
        asked = list(self.class_cache) + ["never", -7]
        rows = self.db.execute(
            "SELECT cf_contains(?1, value), cf_count(?1, value) FROM json_each(?2)",
            (blob, json.dumps(asked)))
        for key, (contained, count) in zip(asked, rows, strict=True):
            class_ = self.class_of(key)
            copies = model.copies[class_]
            self.see_sticky(model, blob, key, count, grown)
            assert contained == (copies > 0), key
            if class_ not in model.sticky:
                assert count == copies, key
            else:
                assert count == self.limit or (self.counter_bits and count > self.limit), key
            assert count >= min(model.true[key], self.limit), key

    def see_sticky(self, model, blob, key, count, grown):
        """Is a class sticky when it has to be, and only when it may be?"""
        class_, sticky = self.class_of(key), self.is_sticky(blob, key, count)
        copies = model.copies[class_]
        if class_ in model.sticky:
            assert sticky, key
        elif self.counter_bits:
            assert not sticky or copies >= self.limit, key
            assert sticky or copies < self.limit or grown, key
        else:
            assert sticky == (copies >= self.limit) or (sticky and grown and copies >= 2), key
        if sticky:
            model.sticky.add(class_)

    def sticky_agrees(self, model, sticky, grown):
        """A merge can leave longer entries of a sticky key beside the sticky one: fingerprints of their own."""
        assert sticky == len(model.sticky) or (grown and len(model.sticky) < sticky <= len(model.sticky) * self.limit)

    def is_sticky(self, blob, key, count):
        if not self.counter_bits or count < self.limit:
            return count >= self.limit
        return ask(self.db, "SELECT max(copies) FROM cf_explain(?, ?) WHERE match", blob, key) >= self.limit

    def slots_agree(self, model, entries, grown):
        """One for each copy, or one with a counter. Once grown, a sticky class needs one, and has no more than before."""
        classes = [class_ for class_, n in model.copies.items() if n > 0]
        counted = [class_ for class_ in classes if class_ not in model.sticky]
        if self.counter_bits:
            assert entries == len(classes) if not grown else entries >= len(classes)
            return
        known = sum(model.copies[class_] for class_ in counted)
        assert known + len(model.sticky) <= entries <= known + len(model.sticky) * self.limit
        assert grown or entries == known + len(model.sticky) * self.limit


class ExactHistories(Histories):
    @initialize(capacity=st.integers(1, 8) | st.integers(9, 200), seed=SEEDS,
                bucket_size=st.sampled_from([1, 2, 4, 8]), growth=st.sampled_from(["on", "off"]))
    def begin(self, capacity, bucket_size, seed, growth):
        growth = "off" if bucket_size == 1 else growth
        self.start_planned(capacity, f"bucket_size={bucket_size} fingerprint_bits=32 "
                                     f"seed={seed} growth={growth}")

    def find_class(self, key):
        return key


class CollidingHistories(Histories):
    @initialize(capacity=st.integers(1, 8) | st.integers(9, 200), seed=SEEDS,
                bucket_size=st.sampled_from([1, 2, 4, 8]), bits=st.integers(4, 8))
    def begin(self, capacity, bucket_size, seed, bits):
        self.start_planned(capacity, f"bucket_size={bucket_size} fingerprint_bits={bits} "
                                     f"seed={seed} growth=off")

    def find_class(self, key):
        return find_class(self.db, self.empty, key)


class AnyHistories(Histories):
    """Shapes that the planner never makes but the format allows: any number of pair bits, and any cap."""

    @initialize(buckets=st.sampled_from([2, 4, 6, 8, 10, 30, 34]), seed=SEEDS,
                bucket_size=st.sampled_from([1, 2, 4, 8]), bits=st.integers(4, 13), data=st.data())
    def begin(self, buckets, bucket_size, seed, bits, data):
        pair_bits = data.draw(st.integers(4, min(bits, 8)))
        cap = data.draw(st.integers(1, 2 * bucket_size))
        self.start(support.make_blob(buckets, bucket_size, bits, pair_bits, cap, seed))

    def find_class(self, key):
        return find_class(self.db, self.empty, key)


def find_class(db, blob, key):
    """The places where an entry of this key may lie, and what it looks like there."""
    return frozenset(db.execute("SELECT bucket, wanted FROM cf_explain(?, ?)", (blob, key)))


TestExactHistories = ExactHistories.TestCase
TestCollidingHistories = CollidingHistories.TestCase
TestAnyHistories = AnyHistories.TestCase


@pytest.mark.parametrize("bucket_size, bits, growth", [
    *((b, f, "off") for b in (1, 2, 4, 8) for f in (4, 8, 12, 32)), *((b, f, "on") for b in (4, 8) for f in (8, 12, 32)),
    (2, 12, "on"), (2, 32, "on")])
def test_a_key_is_sticky_at_cap(db, bucket_size, bits, growth):
    """cap may be more than the slots of a bucket."""
    blob = support.new(db, 10, None, f"bucket_size={bucket_size} fingerprint_bits={bits} growth={growth}")
    cap = support.info(db, blob)["cap"]
    assert cap == 1 if bucket_size == 1 else min(bucket_size, 3) <= cap <= 2 * bucket_size
    assert cap >= 3 or bucket_size == 1 or bits < 8
    for copies in range(1, cap + 3):
        blob = support.add(db, blob, "k")
        assert support.count(db, blob, "k") == min(copies, cap)
        assert support.info(db, blob)["sticky"] == (copies >= cap)
        if copies < cap:
            gone = blob
            for _ in range(copies):
                gone = ask(db, "SELECT cf_delete(?, 'k')", gone)
            assert support.contains(db, gone, "k") == 0
    for _ in range(cap + 3):
        blob = ask(db, "SELECT cf_delete(?, 'k')", blob)
    assert support.count(db, blob, "k") == cap
