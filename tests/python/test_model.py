"""Random histories of two filters of one shape, against an exact model.

The model is DESIGN 4.3. Keys that share fingerprint and pair of buckets cannot be told apart: they are
one *class*. A class has 0 to cap copies; an add makes one more, but not above cap; a delete takes one
away, but none at cap: there the class is sticky and stays. With counters of c bits the limit is not cap but
cap * 2^c. This is exact, so the model foretells every answer, false positives included. Above it stands what users are
promised: the keys they added, less those they deleted, are found.

With 32-bit fingerprints every key is its own class, and the model takes nothing from the extension.
With fingerprints of 4 to 8 bits classes collide all the time; cf_explain says which keys share one.
"""
import json
import os
import sqlite3
import tempfile
from collections import Counter

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import support
from support import CAP, ask

NAMES = st.sampled_from(["a", "b"])
KEYS = st.integers(0, 40) | st.sampled_from(["", "x", "1", 2**62, -1])
MANY_KEYS = (st.builds(lambda start, n: list(range(start, start + n)),
                       st.integers(0, 200), st.integers(1, 150))
             | st.lists(KEYS, min_size=1, max_size=12))
SEEDS = st.sampled_from([0, 0, 1, -5, 2**63 - 1])
FULL = sqlite3.IntegrityError


class Model:
    def __init__(self, limit):
        self.limit = limit
        self.clear()

    def clear(self):
        self.copies = Counter()  # by class
        self.true = Counter()    # by key: adds minus deletes
        self.items = 0

    def add(self, key, class_):
        self.true[key] += 1
        self.items += 1
        self.copies[class_] = min(self.copies[class_] + 1, self.limit)

    def delete(self, key, class_):
        self.true[key] -= 1
        if self.copies[class_] < self.limit:
            self.copies[class_] -= 1
            self.items -= 1

    def merge(self, other):
        self.true.update(other.true)
        self.items += other.items
        for class_, n in other.copies.items():
            self.copies[class_] = min(self.copies[class_] + n, self.limit)


class Histories(RuleBasedStateMachine):
    """The steps; the subclasses choose shapes and know the class of a key."""

    # ---- set-up ----

    def start(self, empty_filter, capacity=0, options=None):
        self.directory = tempfile.TemporaryDirectory()
        self.capacity, self.options = capacity, options
        self.counter_bits = support.field(empty_filter, "payload_bits")
        self.limit = support.field(empty_filter, "cap") << self.counter_bits
        self.model = {"a": Model(self.limit), "b": Model(self.limit)}
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
        if all(model.copies[self.class_of(key)] == self.limit for key in keys):
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
            if self.classes_are_joined(model, info, blob):
                self.answers_suffice(model, blob)
                continue
            assert self.counter_bits or info["occupied"] + info["spilled"] == sum(model.copies.values())
            self.sticky_agrees(model, info["sticky"])
            self.answers_agree(model, blob)

    def classes_are_joined(self, model, info, blob):
        """Sticky keys of a filter that has grown share entries where there is no room otherwise (src/join.h). Entries
        that are shared know less than any key that was added. Their number is not foretold: sharing makes it
        smaller, and those that know nothing beyond their bucket double when it is split."""
        shortest = ask(self.db, "SELECT min(length) FROM cf_buckets(?)", blob)
        joined = shortest is not None and shortest < info["fingerprint_bits"]
        sticky = [n for n in model.copies.values() if n == self.limit]
        assert not joined or (len(sticky) > 1 and info["level"] + info["split"] > 0)
        return joined

    def sticky_agrees(self, model, sticky):
        """Not with counters: entries of different length may hold as many copies as make a key sticky and still
        know how many they are, or be sticky one as the other."""
        at_limit = sum(n == self.limit for n in model.copies.values())
        assert sticky == at_limit or self.counter_bits

    def answers(self, blob):
        """For every key ever used, and some that never were."""
        asked = list(self.class_cache) + ["never", -7]
        rows = self.db.execute(
            "SELECT cf_contains(?1, value), cf_count(?1, value) FROM json_each(?2)",
            (blob, json.dumps(asked)))
        return zip(asked, rows, strict=True)

    def answers_suffice(self, model, blob):
        for key, (contained, count) in self.answers(blob):
            assert contained >= (model.true[key] > 0), key
            assert count >= min(model.true[key], self.limit), key

    def answers_agree(self, model, blob):
        for key, (contained, count) in self.answers(blob):
            copies = model.copies[self.class_of(key)]
            assert contained == (copies > 0), key
            assert count == copies or (self.counter_bits and count > copies == self.limit), key
            assert count >= min(model.true[key], self.limit), key


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


class OddHistories(Histories):
    """Shapes that the planner never makes but the format allows: odd tables, where both buckets of a
    pair may be the same one, and any number of pair bits."""

    @initialize(buckets=st.integers(1, 9) | st.sampled_from([31, 33]), seed=SEEDS,
                bucket_size=st.sampled_from([1, 2, 4, 8]), bits=st.integers(4, 13), data=st.data())
    def begin(self, buckets, bucket_size, seed, bits, data):
        pair_bits = data.draw(st.integers(4, min(bits, 8)))
        cap = data.draw(st.integers(1, bucket_size))
        self.start(support.make_blob(buckets, bucket_size, bits, pair_bits, cap, seed))

    def find_class(self, key):
        return find_class(self.db, self.empty, key)


def find_class(db, blob, key):
    """The places where an entry of this key may lie, and what it looks like there."""
    return frozenset(db.execute("SELECT bucket, wanted FROM cf_explain(?, ?)", (blob, key)))


TestExactHistories = ExactHistories.TestCase
TestCollidingHistories = CollidingHistories.TestCase
TestOddHistories = OddHistories.TestCase


def test_every_bucket_size_has_its_cap(db):
    for bucket_size, cap in CAP.items():
        blob = support.new(db, 10, None, f"bucket_size={bucket_size} fingerprint_bits=32 growth=off")
        for copies in range(1, cap + 3):
            blob = support.add(db, blob, "k")
            assert support.count(db, blob, "k") == min(copies, cap)
        for _ in range(cap + 3):
            blob = ask(db, "SELECT cf_delete(?, 'k')", blob)
        assert support.count(db, blob, "k") == cap
