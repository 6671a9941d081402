# SPDX-License-Identifier: MIT
"""The histories of test_model and test_growth with every layout, with and without a spill list.

The model is the same: whether an entry has a slot or is spilled, and how the slots are written down, changes no answer.
Beside it stands what the bytes say by the second reading of them in layout.py: the spill list is sorted, no entry of it
has a free slot, and cf_buckets shows an overflow bit for exactly the buckets that its entries name.
"""
import json

from hypothesis import settings, strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

import support
import test_growth
import test_model
from layout import Table
from support import SEMISORTED
from test_model import NAMES, SEEDS

CAPACITIES = st.integers(1, 8) | st.integers(9, 200)
LAYOUTS = st.sampled_from(["plain", "semisort"])
BUDGETS, BOUNDS = st.sampled_from([0, 1, 10]), st.sampled_from([1, 16, 200])
OVERFLOWS = st.just("") | st.builds(" overflow=on overflow_budget={} spill_bound={}".format, BUDGETS, BOUNDS)


def bucket_sizes(layout):
    return st.sampled_from([4] if layout == "semisort" else [2, 4, 8])


def check_list(db, blob):
    """What the tables show of overflow bits, and what the list holds, against the bytes."""
    table = Table(blob)
    assert support.info(db, blob)["spilled"] == table.spilled == len(table.list) <= table.bound
    assert table.list == sorted(table.list)
    shown = {row[0] for row in db.execute("SELECT bucket FROM cf_buckets(?) WHERE overflow", (blob,))}
    assert shown == table.overflowing()
    for bucket, tag, sticky, _ in table.list:
        assert all(table.tags(bucket))
        assert table.grown or all(all(table.tags(there)) for there in table.looks(bucket, tag))
        assert table.sticky_bits or not sticky


class Spilling:
    """Steps that fill a filter to the last slot, and what must hold then."""

    known = True  # the model knows how many copies there are of everything

    @rule(name=NAMES, more=st.sampled_from([200, 60, 15]))
    def fill(self, name, more):
        """New keys, as many as there is room for; in one that grows, some. The last ones come one by one: many at once
        end with room for what was spilled, if there is any."""
        model = self.model[name]
        while more > 0 and model.items < 500:
            before = model.items
            self.add_all(name, list(range(self.fresh(), self.fresh() + more)))
            if model.items == before:
                more //= 3
        for _ in range(30):
            before = model.items
            self.add(name, self.fresh())
            if model.items == before:
                break

    def fresh(self):
        """A key that was never used, and all after it."""
        return 1000 + len(self.class_cache)

    @precondition(lambda self: self.model["a"].items + self.model["b"].items > 50)
    @rule(name=NAMES)
    def delete_everything(self, name):
        """Of each key every copy: what is left is sticky, and nothing of it is spilled unless its buckets are full."""
        model = self.model[name]
        keys = [key for key in self.present(name) for _ in range(model.true[key])]
        if keys:
            assert self.update(name, "(SELECT cf_delete_all(filters.f, value) FROM json_each(?))", json.dumps(keys))
        for key in keys:
            model.delete(key, self.class_of(key))
        if self.known and not any(model.copies.values()):
            info = support.info(self.db, self.stored(name))
            assert info["occupied"] == info["spilled"] == info["items"] == 0

    @invariant()
    def the_list_agrees_with_the_bytes(self):
        for name in getattr(self, "model", {}):
            check_list(self.db, self.stored(name))


class ExactLayouts(Spilling, test_model.ExactHistories):
    @initialize(capacity=CAPACITIES, layout=LAYOUTS, overflow=OVERFLOWS, growth=st.sampled_from(["on", "off"]),
                counters=st.sampled_from([0, 0, 1, 3]), seed=SEEDS, data=st.data())
    def begin(self, capacity, layout, overflow, growth, counters, seed, data):
        self.start_planned(capacity, f"layout={layout} bucket_size={data.draw(bucket_sizes(layout))} "
                                     f"fingerprint_bits=32 growth={growth} counter_bits={counters} seed={seed}{overflow}")


class CollidingLayouts(Spilling, test_model.CollidingHistories):
    @initialize(capacity=CAPACITIES, layout=LAYOUTS, overflow=OVERFLOWS, bits=st.integers(5, 8), seed=SEEDS,
                data=st.data())
    def begin(self, capacity, layout, overflow, bits, seed, data):
        self.start_planned(capacity, f"layout={layout} bucket_size={data.draw(bucket_sizes(layout))} "
                                     f"fingerprint_bits={bits} growth=off seed={seed}{overflow}")


class AnyLayouts(Spilling, test_model.AnyHistories):
    @initialize(buckets=st.sampled_from([2, 4, 6, 8, 10, 30, 34]), seed=SEEDS, semisorted=st.booleans(),
                bits=st.integers(5, 13), budget=BUDGETS, bound=BOUNDS, data=st.data())
    def begin(self, buckets, seed, semisorted, bits, budget, bound, data):
        bucket_size = 4 if semisorted else data.draw(st.sampled_from([1, 2, 4, 8]))
        self.start(support.make_blob(buckets, bucket_size, bits, data.draw(st.integers(4, min(bits, 8))),
                                     data.draw(st.integers(1, 2 * bucket_size)), seed,
                                     flags=SEMISORTED if semisorted else 0, budget=budget, spill_bound=bound))


class ExactGrowingLayouts(Spilling, test_growth.ExactGrowth):
    @initialize(capacity=st.integers(1, 20), layout=LAYOUTS, overflow=OVERFLOWS, counters=st.sampled_from([0, 0, 1, 3]),
                seed=SEEDS, data=st.data())
    def begin(self, capacity, layout, overflow, counters, seed, data):
        self.start_planned(capacity, f"layout={layout} bucket_size={data.draw(bucket_sizes(layout))} "
                                     f"fingerprint_bits=32 counter_bits={counters} seed={seed}{overflow}")


class CrowdedLayouts(Spilling, test_growth.CrowdedGrowth):
    known = False  # once entries run out of bits, some stay behind

    @initialize(capacity=st.integers(1, 20), layout=LAYOUTS, overflow=OVERFLOWS, counters=st.sampled_from([0, 0, 1, 3]),
                bits=st.integers(8, 13), seed=SEEDS, data=st.data())
    def begin(self, capacity, layout, overflow, counters, bits, seed, data):
        bucket_size = data.draw(bucket_sizes(layout))
        bits = max(bits, 12) if bucket_size == 2 else bits
        self.start_planned(capacity, f"layout={layout} bucket_size={bucket_size} fingerprint_bits={bits} "
                                     f"counter_bits={counters} seed={seed}{overflow}")


def fewer(machine):
    """Two filters of hundreds of keys, asked for each of them after every step: a third of the examples of others."""
    machine.TestCase.settings = settings(max_examples=settings.default.max_examples // 3)
    return machine.TestCase


TestExactLayouts = fewer(ExactLayouts)
TestCollidingLayouts = fewer(CollidingLayouts)
TestAnyLayouts = fewer(AnyLayouts)
TestExactGrowingLayouts = fewer(ExactGrowingLayouts)
TestCrowdedLayouts = fewer(CrowdedLayouts)
