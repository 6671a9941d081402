# SPDX-License-Identifier: MIT
"""What make check runs of the Python tests: pytest --quick leaves out the functions that slow.txt names, since a case
of theirs takes more than 0.1 s of processor time, and runs two cases of each other function. make test: pytest --slice
runs a quarter of the cases of those in slow.txt, and of those that have more than five, and all others. The commit
chooses which (CUCKOO_SLICE). With CUCKOO_TEST_LIMIT=n a test that takes more than n seconds ends the process, and all stacks are
printed. --times=FILE writes what each test takes; quick.py FILE writes slow.txt anew from that."""
import collections
import faulthandler
import os
import random
import sys
from pathlib import Path

LIST = Path(__file__).with_name("slow.txt")
CASES = 2
SLICE, MANY = 4, 5
LIMIT = int(os.environ.get("CUCKOO_TEST_LIMIT", 0))


def pytest_addoption(parser):
    parser.addoption("--quick", action="store_true", help="leave out the tests of slow.txt")
    parser.addoption("--slice", action="store_true", help="a quarter of the cases of the tests of slow.txt, and of those with many")
    parser.addoption("--times", metavar="FILE", help="write the processor time of each test")


def slow_functions():
    lines = [line.split() for line in LIST.read_text().splitlines()]
    return {f"{file}::{name}" for file, *names in lines for name in names}


def function_of(nodeid):
    """File and function, without parameters."""
    return nodeid.split("[")[0].removeprefix("tests/python/")


def pytest_collection_modifyitems(config, items):
    quick = config.getoption("--quick")
    if not quick and not config.getoption("--slice"):
        return
    slow, functions = slow_functions(), collections.defaultdict(list)
    for item in items:
        functions[function_of(item.nodeid)].append(item)
    chosen, slice_ = set(), int(os.environ.get("CUCKOO_SLICE", 0))
    for name, cases in functions.items():
        if not quick:
            chance = random.Random(f"{slice_} {name}")
            some = (len(cases) + chance.randrange(SLICE)) // SLICE if name in slow or len(cases) > MANY else len(cases)
            chosen.update(chance.sample(cases, some))
        elif name not in slow:
            chosen.update(cases[(slice_ + i * len(cases) // CASES) % len(cases)] for i in range(CASES))
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = [item for item in items if item in chosen]


def pytest_configure():
    """What a hung test must not capture."""
    global screen
    screen = os.dup(2)


def pytest_runtest_logstart(nodeid):
    global start
    if LIMIT:
        faulthandler.dump_traceback_later(LIMIT, exit=True, file=screen)
    start = sum(os.times()[:4])


def pytest_runtest_logfinish():
    faulthandler.cancel_dump_traceback_later()


def pytest_runtest_teardown(item, nextitem):
    if item.config.getoption("--times"):
        with open(item.config.getoption("--times"), "a") as out:
            print(f"{sum(os.times()[:4]) - start:.3f}\t{item.nodeid}", file=out)


def write(slow):
    """A line for each file: its name, and its functions."""
    lines = collections.defaultdict(list)
    for name in sorted(slow):
        file, function = name.split("::")
        lines[file].append(function)
    LIST.write_text("".join(" ".join([file, *names]) + "\n" for file, names in lines.items()))


def main(times):
    taken = collections.defaultdict(list)
    for line in Path(times).read_text().splitlines():
        seconds, nodeid = line.split("\t")
        taken[function_of(nodeid)].append(float(seconds))
    slow = sorted(name for name, seconds in taken.items() if max(seconds) > 0.1)
    write(slow)
    print(f"{len(slow)} of {len(taken)} functions, {sum(sum(taken[name]) for name in slow):.1f} of "
          f"{sum(map(sum, taken.values())):.1f} s")


if __name__ == "__main__":
    main(sys.argv[1])
