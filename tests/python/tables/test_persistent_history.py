# SPDX-License-Identifier: MIT
"""Any history of a persistent table: two connections, savepoints, failures, direct writes, against an exact multiset."""
import os
import sqlite3
import tempfile
from collections import Counter

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import support
from support import ask
from test_persistent import check, create, has, insert, items
from test_persistent_transactions import by_name, pages, restore

KEYS = st.integers(0, 30)


class History(RuleBasedStateMachine):
    """Two connections to a file, against an exact multiset; one of them writes at a time."""

    @initialize(mode=st.sampled_from(["wal", "delete"]), capacity=st.sampled_from([0, 5, 100]),
                page_size=st.sampled_from([512, 4096]), shape=st.sampled_from(["", ", bucket_size=2", ", overflow=on"]))
    def start(self, mode, capacity, page_size, shape):
        self.directory = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.directory.name, "seen.db")
        first = support.connect(self.path)
        first.execute(f"PRAGMA page_size = {page_size}")
        first.execute(f"PRAGMA journal_mode = {mode}")
        create(first, f"capacity={capacity}, fingerprint_bits=32, counter_bits=8{shape}")
        first.close()
        self.connections = [self.connect(), self.connect()]
        self.committed, self.stack, self.writer = Counter(), [], None
        self.saved = []

    def connect(self):
        db = support.connect(self.path, timeout=0)
        db.execute("PRAGMA synchronous = OFF")
        return db

    def teardown(self):
        if hasattr(self, "connections"):
            for db in self.connections:
                db.close()
            self.directory.cleanup()

    def now(self, who):
        return self.stack[-1] if self.writer == who else self.committed

    def db(self, who):
        """The connection to write with: the one whose transaction is open."""
        return self.connections[who if self.writer is None else self.writer]

    def apply(self, change):
        if self.writer is None:
            change(self.committed)
        else:
            change(self.stack[-1])

    @rule(who=st.integers(0, 1), keys=st.lists(KEYS, max_size=40), step=st.integers(0, 300))
    def insert(self, who, keys, step):
        keys = [key + step for key in keys]
        marks = ", ".join("(?)" for _ in keys)
        if keys:
            self.db(who).execute(f"INSERT INTO seen(key) VALUES {marks}", keys)
            self.apply(lambda model: model.update(keys))

    def present(self):
        model = self.committed if self.writer is None else self.stack[-1]
        return sorted(+model)

    @rule(who=st.integers(0, 1), data=st.data())
    def delete(self, who, data):
        if self.present():
            keys = data.draw(st.sets(st.sampled_from(self.present()), min_size=1, max_size=20))
            marks = ", ".join("?" * len(keys))
            self.db(who).execute(f"DELETE FROM seen WHERE key IN ({marks})", list(keys))
            self.apply(lambda model: model.subtract(keys))

    @rule(who=st.integers(0, 1), data=st.data(), new=KEYS)
    def update(self, who, data, new):
        if self.present():
            old = data.draw(st.sampled_from(self.present()))
            self.db(who).execute("UPDATE seen SET key = ? WHERE key = ?", (new, old))
            self.apply(lambda model: (model.update([new]), model.subtract([old])))

    @rule(who=st.integers(0, 1), keys=st.lists(KEYS, min_size=1, max_size=5))
    def failing_insert(self, who, keys):
        with pytest.raises(sqlite3.OperationalError):
            self.db(who).execute("INSERT INTO seen(key) SELECT value FROM json_each(?) UNION ALL "
                                 "SELECT abs(-9223372036854775808)", (str(keys),))

    @rule(who=st.integers(0, 1), command=st.sampled_from(["clear", "optimize", "import"]))
    def command(self, who, command):
        db = self.db(who)
        if command == "clear":
            self.apply(lambda model: model.clear())
        blob = ask(db, "SELECT cf_export('seen')") if command == "import" else None
        db.execute("INSERT INTO seen(key, seen) VALUES (?, ?)", (blob, command))

    @precondition(lambda self: self.writer is None)  # changes of an open transaction may not be in the pages yet
    @rule(who=st.integers(0, 1))
    def save_pages(self, who):
        model = self.committed if self.writer is None else self.stack[-1]
        self.saved.append((pages(self.db(who)), Counter(model)))

    # Not within a transaction in which the filter was changed: state.h.
    @precondition(lambda self: self.saved and self.writer is None)
    @rule(who=st.integers(0, 1), data=st.data())
    def restore_pages(self, who, data):
        rows, model = data.draw(st.sampled_from(self.saved))
        db = self.db(who)
        db.execute("SAVEPOINT direct")
        restore(db, rows)
        db.execute("RELEASE direct")
        self.apply(lambda now: (now.clear(), now.update(model)))

    @precondition(lambda self: self.writer is None)
    @rule(who=st.integers(0, 1), how=st.sampled_from(["BEGIN", "BEGIN IMMEDIATE", "SAVEPOINT s0"]))
    def begin(self, who, how):
        self.connections[who].execute(how)
        insert(self.connections[who], None)  # takes the lock
        self.writer, self.stack = who, [Counter(self.committed)]

    @precondition(lambda self: self.writer is not None)
    @rule()
    def savepoint(self):
        self.db(0).execute(f"SAVEPOINT n{len(self.stack)}")
        self.stack.append(Counter(self.stack[-1]))

    @precondition(lambda self: len(self.stack) > 1)
    @rule(data=st.data(), release=st.booleans())
    def end_savepoint(self, data, release):
        level = data.draw(st.integers(1, len(self.stack) - 1))
        self.db(0).execute(f"{'RELEASE' if release else 'ROLLBACK TO'} n{level}")
        if release:
            self.stack = self.stack[:level - 1] + [self.stack[-1]]
        else:
            self.stack = self.stack[:level] + [Counter(self.stack[level - 1])]

    @precondition(lambda self: self.writer is not None)
    @rule(commit=st.booleans())
    def end(self, commit):
        db = self.db(0)
        db.execute("COMMIT" if commit else "ROLLBACK")
        if commit:
            self.committed = self.stack[-1]
        self.writer, self.stack = None, []
        for each in self.connections:
            check(each)

    @precondition(lambda self: self.writer is None)
    @rule(who=st.integers(0, 1))
    def vacuum(self, who):
        self.connections[who].execute("VACUUM")

    @rule(who=st.integers(0, 1))
    def reopen(self, who):
        self.connections[who].close()
        if self.writer == who:
            self.writer, self.stack = None, []
        self.connections[who] = self.connect()

    @invariant()
    def both_agree_with_the_model(self):
        for who, db in enumerate(getattr(self, "connections", [])):
            model = +self.now(who)
            asked = list(self.committed | model) + [-1]
            for key in asked:
                assert has(db, key) == by_name(db, key) == (key in model), (who, key)
            assert items(db) == model.total()


TestHistory = History.TestCase
