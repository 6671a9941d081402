# SPDX-License-Identifier: MIT
"""Random histories of two filters of one shape in a table, by all calls that change a filter, against an exact model.

Keys that share fingerprint and pair of buckets cannot be told apart: they are one *class*, which cf_explain shows. A class has
as many copies as were added and not deleted. From cap copies on it is *sticky*: it stays, and deletes change nothing. With
counters of c bits that happens when one counter is full, at 2^c copies.

With fingerprints of 32 bits each key is its own class, and the model takes nothing from the extension. Two things are not
foretold, but held against what is allowed: once a filter has grown, keys of two or more copies may become sticky before cap,
and with counters several entries may count one key. Filters that grow with short fingerprints ("crowded") take keys for each
other: what was added and not deleted is found all the same, as often as it was added.
"""
import os
import sqlite3
import tempfile
import zlib
from collections import Counter

from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import support
from support import ask

NAMES = st.sampled_from("ab")
KEYS = st.integers(0, 40) | st.sampled_from(["", "x", "1", b"1", 2**62, -1, 0.5, 7.0])
MANY_KEYS = st.builds(lambda start, n: list(range(start, start + n)), st.integers(0, 300), st.integers(1, 400)) | \
    st.lists(KEYS, min_size=1, max_size=12)
MANY_WAYS = st.sampled_from(["(SELECT {0}_all(filters.f, k{1}) FROM keys)",
                             "{0}_keys(f, (SELECT cf_keys(k{1}) FROM keys))"])
KEYED = st.sampled_from(["", " seed=5", " seed=-9223372036854775808", " hash=keyed", " seed=1 hash=xxh3"])
LISTS = st.just("") | st.builds(" overflow=on overflow_budget={} spill_bound={}".format, st.sampled_from([0, 1, 10]),
                                st.sampled_from([1, 16, 200]))


class Model:
    def __init__(self):
        self.true = Counter()    # of (key, value): adds minus deletes
        self.copies = Counter()  # of classes; with values, of (class, value)
        self.sticky = set()
        self.epochs = {}         # of filters that age: when keys were added last
        self.items = self.epoch = 0


class Histories(RuleBasedStateMachine):
    @initialize(data=st.data(), capacity=st.integers(1, 8) | st.integers(9, 200), keyed=KEYED, list_=LISTS)
    def begin(self, data, capacity, keyed, list_):
        kind = data.draw(st.sampled_from(["copies", "copies", "counters", "values", "ages"]))
        how = data.draw(st.sampled_from({"copies": ["exact", "alike", "crowded"], "ages": ["exact"]}.get(kind,
                ["exact", "crowded"])))
        growth = data.draw(st.sampled_from({"exact": ["on", "off"], "alike": ["off"], "crowded": ["on"]}[how]
                                           if kind != "values" else ["on"]))
        layout = data.draw(st.sampled_from(["plain", "semisort"]))
        size = 4 if layout == "semisort" else data.draw(st.sampled_from([4, 8] if kind == "values" else [2, 4, 8]
                                                                        + [1] * (growth == "off" and kind == "copies")))
        bits = 32 if how == "exact" else data.draw(st.integers(5, 8) if how == "alike" else st.integers(12 if size == 2 else 9, 14))
        counters = data.draw(st.sampled_from([1, 3])) if kind == "counters" else 0
        self.epochs = data.draw(st.sampled_from([1, 4, 12])) if kind == "ages" else 0
        more = {"counters": f" counter_bits={counters}", "values": " value_bits=3",
                "ages": f" epochs={self.epochs}"}.get(kind, "")
        self.kind, self.how, self.growth, self.capacity, self.counter_bits = kind, how, growth, capacity, counters
        self.options = f"layout={layout} bucket_size={size} fingerprint_bits={bits} growth={growth}{keyed}{more}" + list_ * (kind != "ages")
        self.keyed = keyed.strip()
        self.directory = tempfile.TemporaryDirectory()
        self.classes, self.model = {}, {"a": Model(), "b": Model()}
        self.open()
        self.empty = support.new(self.db, capacity, None, self.options)
        self.limit = 1 << counters if counters else support.info(self.db, self.empty)["cap"]
        self.db.execute("CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB)")
        self.db.executemany("INSERT INTO filters VALUES (?, ?)", [(name, self.empty) for name in "ab"])

    @rule()
    def open(self):
        if hasattr(self, "db"):
            self.db.close()
        self.db = support.connect(os.path.join(self.directory.name, "filters.db"))
        self.db.execute("PRAGMA synchronous = OFF")
        self.db.execute("CREATE TEMP TABLE keys(k, v)")

    def teardown(self):
        if hasattr(self, "db"):
            self.db.close()
            self.directory.cleanup()

    # ---- helpers ----

    def stored(self, name):
        return ask(self.db, "SELECT f FROM filters WHERE name = ?", name)

    def entry(self, pair):
        """What the model counts: the class of a key, with its value if there is one."""
        key, value = pair
        if key not in self.classes:
            self.classes[key] = key if self.how != "alike" else frozenset(
                self.db.execute("SELECT bucket, wanted FROM cf_explain(?, ?)", (self.empty, key)))
        return self.classes[key] if value is None else (self.classes[key], value)

    def pairs(self, keys):
        return [(key, zlib.crc32(repr(key).encode()) % 2 if self.kind == "values" else None) for key in keys]

    def collect(self, pairs):
        self.db.execute("DELETE FROM keys")
        self.db.executemany("INSERT INTO keys VALUES (?, ?)", pairs)

    def change(self, name, expression, *parameters):
        """Replaces a stored filter; false when it was full, and then nothing has changed."""
        before = self.stored(name)
        try:
            self.db.execute(f"UPDATE filters SET f = {expression} WHERE name = ?", (*parameters, name))
            return True
        except sqlite3.IntegrityError as error:
            assert error.sqlite_errorcode == sqlite3.SQLITE_CONSTRAINT
            assert self.stored(name) == before
            return False

    def may_be_full(self, model, pairs):
        """Not where it may grow. Else it takes as many distinct keys as it was planned for, and every key that is sticky."""
        if self.growth == "on" or all(self.entry(pair) in model.sticky for pair in pairs):
            return False
        distinct = set(pairs) | {pair for pair, n in model.true.items() if n > 0}
        return len(pairs) + model.items > len(distinct) or len(distinct) > self.capacity

    def added(self, model, pairs):
        model.true.update(pairs)
        model.copies.update(self.entry(pair) for pair in pairs)
        model.items += len(pairs)
        model.epochs.update((key, model.epoch) for key, _ in pairs)

    def deleted(self, model, pairs):
        for pair in pairs:
            entry, is_sticky = self.entry(pair), model.copies[self.entry(pair)] >= self.limit and self.kind == "values"
            model.true[pair] -= 1
            if entry not in model.sticky and not is_sticky:
                model.copies[entry] -= 1
                model.items -= 1

    def present(self, name):
        return sorted((pair for pair, n in self.model[name].true.items() if n > 0), key=repr)

    @property
    def value(self):
        return ", v" if self.kind == "values" else ""

    # ---- steps ----

    @rule(name=NAMES, key=KEYS)
    def add(self, name, key):
        (pair,) = self.pairs([key])
        if self.change(name, "cf_add(f, ?, ?)" if self.value else "cf_add(f, ?)", *pair[:2 if self.value else 1]):
            self.added(self.model[name], [pair])
        else:
            assert self.may_be_full(self.model[name], [pair])

    @rule(name=NAMES, keys=MANY_KEYS, way=MANY_WAYS)
    def add_many(self, name, keys, way):
        pairs = self.pairs(keys)
        self.collect(pairs)
        if self.change(name, self.by(way, "cf_add")):
            self.added(self.model[name], pairs)
        else:
            assert self.may_be_full(self.model[name], pairs)

    def by(self, way, call):
        value = self.value
        if "cf_keys" in way:
            value = f"{value or ', NULL'}, '{self.keyed}'"
        return way.format(call, value)

    @precondition(lambda self: not self.epochs)
    @rule(name=NAMES, data=st.data())
    def delete(self, name, data):
        present = self.present(name)
        if present:
            pair = data.draw(st.sampled_from(present))
            assert self.change(name, "cf_delete(f, ?, ?)" if self.value else "cf_delete(f, ?)",
                               *pair[:2 if self.value else 1])
            self.deleted(self.model[name], [pair])

    @precondition(lambda self: not self.epochs)
    @rule(name=NAMES, step=st.integers(1, 4), all_copies=st.booleans(), way=MANY_WAYS)
    def delete_many(self, name, step, all_copies, way):
        """Every key, or every second one .., once or as often as it was added."""
        pairs = [pair for pair in self.present(name)[::step]
                 for _ in range(self.model[name].true[pair] if all_copies else 1)]
        if pairs:
            self.collect(pairs)
            assert self.change(name, self.by(way, "cf_delete"))
            self.deleted(self.model[name], pairs)

    @rule(name=NAMES)
    def clear(self, name):
        assert self.change(name, "cf_clear(f)")
        self.model[name] = Model()
        assert self.stored(name) == self.empty

    @rule(name=NAMES, aggregate=st.booleans())
    def merge(self, name, aggregate):
        """Where it is full, copies were too many for the room: of keys, of values of one key, or of entries that know nothing."""
        other = "b" if name == "a" else "a"
        rows = f"SELECT f FROM filters ORDER BY name = '{other}'"
        if self.change(name, f"(SELECT cf_merge(f) FROM ({rows}))"
                       if aggregate else f"cf_merge(f, (SELECT f FROM filters WHERE name = '{other}'))"):
            model, more = self.model[name], self.model[other]
            model.true.update(more.true)
            model.copies.update(more.copies)
            model.sticky |= more.sticky
            model.items += more.items
            model.epoch = max(model.epoch, more.epoch)
            for key, epoch in more.epochs.items():
                model.epochs[key] = max(epoch, model.epochs.get(key, 0))
        else:
            assert self.growth == "off" or self.how == "crowded" or self.kind == "values"

    @precondition(lambda self: self.kind in ("copies", "counters"))
    @rule(name=NAMES, keys=MANY_KEYS)
    def build(self, name, keys):
        keys = keys[:self.capacity]
        self.collect(self.pairs(keys))
        assert self.change(name, "(SELECT cf_build(k, NULL, ?) FROM keys)", f"{self.options} capacity={self.capacity}")
        self.model[name] = Model()
        self.added(self.model[name], self.pairs(keys if self.counter_bits else list(dict.fromkeys(keys))))
        assert len(self.stored(name)) == len(self.empty)  # of equal shape: merges go on working

    @precondition(lambda self: self.epochs)
    @rule(name=NAMES, times=st.sampled_from([1, 1, 2, 20]))
    def advance(self, name, times):
        for _ in range(times):
            assert self.change(name, "cf_advance(f)")
        self.model[name].epoch += times

    # ---- what holds after every step ----

    @invariant()
    def agrees_with_the_model(self):
        for name, model in getattr(self, "model", {}).items():
            blob = self.stored(name)
            assert ask(self.db, "SELECT cf_check(?)", blob) == "ok"
            info = support.info(self.db, blob)
            asked = list({key for key, _ in model.true} | set(list(self.classes)[-60:])) + ["never", -7]
            self.collect([(key, None) for key in asked])
            rows = self.db.execute("SELECT cf_contains(?1, k), cf_count(?1, k) FROM keys ORDER BY rowid",
                                   (blob,)).fetchall()
            answers = dict(zip(asked, rows, strict=True))
            if self.kind == "ages":
                self.ages_agree(model, info, answers)
            elif self.kind == "values":
                self.values_agree(model, blob, answers)
            elif self.how == "crowded":
                for (key, _), n in model.true.items():
                    assert n <= 0 or answers[key][0] == 1 and answers[key][1] >= min(n, self.limit), key
            else:
                assert info["items"] == model.items
                self.counts_agree(model, blob, answers, info)

    def ages_agree(self, model, info, answers):
        found = {key for key, (contained, count) in answers.items() if contained}
        assert found == {key for key, epoch in model.epochs.items() if model.epoch - epoch < self.epochs}
        assert info["epoch"] == model.epoch
        assert info["items"] == len(found) or info["level"] + info["split"] > 0 and info["items"] > len(found)

    def values_agree(self, model, blob, answers):
        for key in [key for key, (contained, _) in answers.items() if contained][:60]:
            rows = self.db.execute("SELECT payload, copies FROM cf_explain(?, ?) WHERE match", (blob, key))
            found = Counter(value for value, copies in rows for _ in range(copies))
            expected = +Counter({v: min(model.copies[self.entry((key, v))], self.limit) for v in (0, 1)})
            assert found >= expected and ask(self.db, "SELECT cf_get(?, ?)", blob, key) in found, key
            if self.how == "exact" and max(model.copies.values()) < self.limit:  # counts are exact below cap
                assert found == expected, key
        for (key, value), n in model.true.items():
            assert n <= 0 or answers[key][0], key

    def counts_agree(self, model, blob, answers, info):
        grown = info["level"] + info["split"] > 0
        for key, (contained, count) in answers.items():
            class_, copies = self.entry((key, None)), model.copies[self.entry((key, None))]
            assert contained == (copies > 0) and count >= min(model.true[key, None], self.limit), key
            sticky = count >= self.limit and (not self.counter_bits or self.limit <= ask(
                self.db, "SELECT max(copies) FROM cf_explain(?, ?) WHERE match", blob, key))
            if class_ in model.sticky:
                assert sticky, key
            elif self.counter_bits:
                assert copies >= self.limit if sticky else copies < self.limit or grown, key
            else:
                assert sticky == (copies >= self.limit) or sticky and grown and copies >= 2, key
            if sticky:
                model.sticky.add(class_)
                assert count == self.limit or self.counter_bits and count > self.limit, key
            else:
                assert count == copies, key
        # A merge can leave longer entries of a sticky key beside the sticky one: fingerprints of their own.
        sticky = len(model.sticky)
        assert info["sticky"] == sticky or grown and sticky < info["sticky"] <= sticky * self.limit
        # One slot for each copy, or one with a counter. Once grown, a sticky class needs one, and has no more than before.
        entries, classes = info["occupied"] + info["spilled"], [class_ for class_, n in model.copies.items() if n > 0]
        if self.counter_bits:
            assert entries == len(classes) or grown and entries >= len(classes)
        else:
            known = sum(model.copies[class_] for class_ in classes if class_ not in model.sticky)
            assert known + sticky * (1 if grown else self.limit) <= entries <= known + sticky * self.limit


TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=2 * settings.default.max_examples)
