# SPDX-License-Identifier: MIT
"""What has become slower, or larger: figures of one folder beside those of another, as a text.

    python3 tests/bench/slower.py [NEW [OLD]]      build/bench beside tests/bench/results: before quote.py accept

Of each table how many figures are more than 10 % above the old ones, and the median of new / old; then these figures. The
columns that are compared stand in measured.txt. "perhaps": the quartiles overlap, or there was one run only.
"""
import os
import statistics
import sys

import quote
import tables

LIMIT = 1.1


def number(row, column):
    found = tables.numbers([row.get(column, tables.MISSING)])
    return found[0] if found else None


def compared(described, columns, new, old):
    """(new / old, certain, where, old, new) of each figure that both have."""
    of = {tuple(row[key] for key in described.keys): row for row in old}
    for row in new:
        keys = tuple(row[key] for key in described.keys)
        for column in columns:
            before, now = number(of.get(keys, {}), column), number(row, column)
            if before and now is not None:
                low, high = number(row, column + " q1"), number(of[keys], column + " q3")
                several = low and high and "1" not in (row["runs"], of[keys]["runs"])
                yield now / before, bool(several and low > high), f"{', '.join(keys)}: {column}", before, now


def report(name, new, old):
    """Lines about one table."""
    described = tables.descriptions()[name]
    columns = tables.parts_of(tables.sections()["costs"][name])
    if columns == ["*"]:
        columns = [column for column in tables.plain_columns(list(new[0])) if column not in described.keys]
    found = sorted(compared(described, columns, new, old), reverse=True)
    if not found:
        return [f"{name}: no figure is in both"]
    worse = [one for one in found if one[0] > LIMIT]
    lines = [f"{name}: {len(worse)} of {len(found)} figures are more than {100 * (LIMIT - 1):.0f} % above the old ones; "
             f"median {statistics.median(one[0] for one in found):.2f} times"]
    return lines + [f"    {ratio:.2f} times{'' if certain else ', perhaps'}: {where}: {before:g}, now {now:g}"
                    for ratio, certain, where, before, now in worse]


def source(folder, name):
    """Day, commit and machine of a table."""
    listed = os.path.join(folder, "sources.tsv")
    found = {row["table"]: row for row in quote.as_rows(listed)} if os.path.exists(listed) else quote.measured_with(folder)
    return ", ".join(found[name][fact] for fact in ("date", "commit", "processor")) if name in found else "unknown"


def main(new="build/bench", old=quote.RESULTS):
    for name in tables.sections()["costs"]:
        paths = [os.path.join(folder, name + ".tsv") for folder in (new, old)]
        if all(map(os.path.exists, paths)):
            print(*report(name, *map(quote.as_rows, paths)), sep="\n")
            print(f"    old: {source(old, name)}; now: {source(new, name)}")


if __name__ == "__main__":
    if len(sys.argv) > 3 or sys.argv[1:2] == ["--help"]:
        sys.exit("usage: slower.py [NEW [OLD]]")
    main(*sys.argv[1:])
