# SPDX-License-Identifier: MIT
"""A plugin of pytest for matrix.py: collects all tests once, then runs those that are asked for, again and again.

An order is a line in JSON: {"files": {file: seconds of processor time}, "tests": {file: names}}; a file without names
is run whole. Each file is run in a process of its own, which begins as a copy of this one, and ends with the first
test that fails. The answer is a line for each file, then null: [file, {"failed": a test, or how it died, or null,
"took": seconds, "before": what is reached before a test begins, "tests": {test: what it reaches}}]. A file must not
load the extension while it is collected: it is another one with each order.
"""
import json
import os
import resource
import select
import signal
import time
from pathlib import Path

import pytest
from hypothesis import Phase, settings

import bench

reached = bench.Reached(os.environ["MATRIX_REACHED"])
SHARED = ("lru_cache", "functools.cache")  # what a test finds may have been computed by another one


def pytest_configure(config):
    # No shrinking, and no memory of what failed with another mutant.
    settings.register_profile("matrix", settings.get_profile("default"), database=None,
                              phases=[Phase.explicit, Phase.generate])
    settings.load_profile("matrix")


class Watch:
    """Of one file: the first failure, and what each test reaches. What is reached before a test counts for all."""

    def __init__(self):
        self.failed, self.before, self.tests = None, set(), {}

    def pytest_runtest_logreport(self, report):
        if report.failed and self.failed is None:
            self.failed = report.nodeid
        if report.when == "setup":
            self.before.update(reached.take())


def run_file(session, items, chosen):
    """In the child: what Watch has seen."""
    watch = Watch()
    session.config.pluginmanager.register(watch)
    if any(word in Path(items[0].path).read_text() for word in SHARED):
        chosen = None
    items = [item for item in items if chosen is None or item.nodeid in chosen]
    for item, following in zip(items, items[1:] + [None]):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        found = reached.take()
        if found:
            watch.tests[item.nodeid] = found
        if watch.failed:
            break
    return {"failed": watch.failed, "before": sorted(watch.before), "tests": watch.tests}


def child(session, items, chosen, seconds, out):
    os.setsid()
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        seen = run_file(session, items, chosen)
        os.write(out, json.dumps(seen).encode() + b"\n")
    finally:
        os._exit(0)


def parent(pid, come, seconds):
    """What the child has seen, or how it died; at most so long by the clock."""
    text, ends = b"", time.monotonic() + 20 * seconds + 60
    while not text.endswith(b"\n") and select.select([come], [], [], max(0, ends - time.monotonic()))[0]:
        part = os.read(come, 1 << 20)
        if not part:
            break
        text += part
    os.close(come)
    if not text.endswith(b"\n"):
        os.kill(pid, signal.SIGKILL)
    _, status, used = os.wait4(pid, 0)
    try:
        os.killpg(pid, signal.SIGKILL)  # what the tests have left
    except ProcessLookupError:
        pass
    died = {"failed": f"status {os.waitstatus_to_exitcode(status)}", "before": [], "tests": {}}
    return {**(json.loads(text) if text.endswith(b"\n") else died), "took": used.ru_utime + used.ru_stime}


def run_forked(session, items, chosen, seconds):
    come, out = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(come)
        child(session, items, chosen, seconds, out)
    os.close(out)
    return parent(pid, come, seconds)


def pytest_runtestloop(session):
    files = {}
    for item in session.items:
        files.setdefault(item.nodeid.split("::")[0], []).append(item)
    if "cuckoo.so" in Path("/proc/self/maps").read_text():
        pytest.exit("a file of tests loads the extension while it is collected")
    answers = os.fdopen(int(os.environ["MATRIX_ANSWERS"]), "w")
    for line in os.fdopen(int(os.environ["MATRIX_ORDERS"])):
        order = json.loads(line)
        for name, seconds in order["files"].items():
            chosen = order["tests"].get(name)
            seen = {"failed": None, "took": 0, "before": [], "tests": {}}  # make check runs none of it
            if name in files:
                seen = run_forked(session, files[name], set(chosen) if chosen else None, seconds)
            print(json.dumps([name, seen]), file=answers, flush=True)
        print(json.dumps(None), file=answers, flush=True)
    return True
