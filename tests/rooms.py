# SPDX-License-Identifier: MIT
"""Does data flow one way? Reads the order of the rooms (rooms.txt) and looks at who uses whom.

    rooms.py OBJECTS             fails for whatever is against the order; last line "N passed, N failed"
    rooms.py OBJECTS --report    the same, and the sizes and counts of src and ext

OBJECTS is a folder with an object file for each .c file: build/plain.

A room is a .c file, a .h file, or both under one name. rooms.txt lists them from bottom to top. A room may use those that
stand before it. It uses a room when it includes its header, or when its object needs what the other's object defines (nm
tells). A function is counted where it is defined, not where it is declared: so the public header may stand at the bottom
and declare what the upper rooms define. Inline functions of headers come with the include.

The folders of src and ext are in order, too: no two need one another. The public headers (src/include) and what lies in ext
itself, the entry point, count for none. Also checked: every file stands in rooms.txt and every name there has a file; src
never includes sqlite3.h; one room alone asks SQLite for columns; ext includes no header of src but the public ones and
base/bits.h; no variable is shared by all threads of a program but those that rooms.txt names; no file is longer than 400
lines, and no folder has more than 16 files; every source file, those of tests and sql included, names its licence.
ext/packages has a program of its own, on top of src: it is no room, and uses nothing else. Exceptions stand in rooms.txt.
One that is no longer needed is an error: the list gets shorter.
"""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HALVES = ("src", "ext")
PACKAGES = ROOT / "ext/packages"
LONGEST_FILE = 400
LARGEST_FOLDER = 16


class Order:
    """What rooms.txt says: `rank` of each room ("src/bits"), upward arrows allowed for now, files that may be long, and
    variables of the whole program. `objects` is the folder of the objects."""

    def __init__(self, text, objects):
        self.rank, self.upward, self.long, self.variables, self.objects = {}, set(), set(), set(), objects
        for line in text.splitlines():
            line = line.split("#")[0].strip()
            if line:
                self.read(*re.split(r":\s*", line, maxsplit=1))

    def read(self, word, rest):
        if word in HALVES:
            for name in rest.split():
                self.rank[f"{word}/{name}"] = len(self.rank)
        elif word == "upward":
            self.upward.add(tuple(re.split(r"\s*->\s*", rest)))
        elif word == "long":
            self.long.add(rest)
        elif word == "variable":
            self.variables.add(tuple(rest.split()))
        else:
            sys.exit(f"rooms.txt: '{word}' is none of src, ext, upward, long, variable")


def room_of(path):
    return str(path.relative_to(ROOT).with_suffix(""))


def sources():
    return [path for half in HALVES for path in sorted((ROOT / half).rglob("*.[ch]")) if PACKAGES not in path.parents]


def half_of(path):
    return path.relative_to(ROOT).parts[0]


def includes(path):
    """Rooms that a file includes, each with the line of text."""
    for found in re.finditer(r'^#include "([^"]+)"', path.read_text(), re.M):
        target = (path.parent / found[1]).resolve()
        if target.exists() and target.is_relative_to(ROOT) and half_of(target) in HALVES:
            yield room_of(target), f"{path.relative_to(ROOT)} includes {found[1]}"


def room_of_object(path, folder):
    return str(Path(path).relative_to(folder).with_suffix(""))


def symbols(folder, flags):
    """(room, symbol) for each line that nm prints of the objects with these flags."""
    lines = subprocess.run(["nm", "-A", "-P", *flags, *map(str, objects_in(folder))], check=True, text=True,
                           stdout=subprocess.PIPE).stdout.splitlines()
    for line in lines:
        path, symbol = line.split()[:2]
        yield room_of_object(path.rstrip(":"), folder), symbol


def objects_in(folder):
    objects = [folder / path.relative_to(ROOT).with_suffix(".o") for path in sources() if path.suffix == ".c"]
    missing = [str(path) for path in objects if not path.exists()]
    if missing:
        sys.exit(f"no {', '.join(missing)}: build the objects first (make rooms does)")
    return objects


def variables(folder):
    """(room, name) of what lies in a section that the program may write to, for as long as it runs."""
    lines = subprocess.run(["nm", "-A", "-f", "sysv", *map(str, objects_in(folder))], check=True, text=True,
                           stdout=subprocess.PIPE).stdout.splitlines()
    for line in lines:
        fields = [field.strip() for field in line.split("|")]
        if len(fields) == 7 and re.match(r"\.t?(bss|data)(?!\.rel\.ro)", fields[6]) and fields[3] != "SECTION":
            path, name = fields[0].rsplit(":", 1)
            yield room_of_object(path, folder), re.sub(r"\.\d+$", "", name)


def arrows(folder):
    """{(from, to): why}: who uses whom."""
    found = {}
    for path in sources():
        for to, why in includes(path):
            found.setdefault((room_of(path), to), []).append(why)
    home = {symbol: room for room, symbol in symbols(folder, ["-g", "--defined-only"])}
    for room, symbol in symbols(folder, ["-u"]):
        if symbol in home:
            found.setdefault((room, home[symbol]), []).append(f"{room}.c uses {symbol}")
    return {arrow: why for arrow, why in found.items() if arrow[0] != arrow[1]}


def circles(found):
    """Sets of rooms that can all be reached from one another."""
    reach = {}
    for one, other in found:
        reach.setdefault(one, set()).add(other)

    def reached(start):
        seen, open_ = set(), [start]
        while open_:
            for room in reach.get(open_.pop(), ()):
                if room not in seen:
                    seen.add(room)
                    open_.append(room)
        return seen

    far = {room: reached(room) for room in reach}
    rings = {frozenset(other for other in far[room] if room in far.get(other, ())) for room in far}
    return sorted(sorted(ring) for ring in rings if ring)


# ---- the checks: each yields what is wrong ----

def places(order, found):
    rooms = {room_of(path) for path in sources()}
    for room in sorted(rooms - set(order.rank)):
        yield f"{room} stands in no line of tests/rooms.txt: add it where it belongs"
    for room in sorted(set(order.rank) - rooms):
        yield f"tests/rooms.txt names {room}, which has no file: take it out"


def upward(order, found):
    for one, other in sorted(found):
        if order.rank.get(one, -1) < order.rank.get(other, -1) and (one, other) not in order.upward:
            reasons = found[one, other]
            more = f" ({len(reasons) - 1} more)" if len(reasons) > 1 else ""
            yield f"{one} -> {other} runs upwards: {reasons[0]}{more}"


def exceptions(order, found):
    for one, other in sorted(order.upward):
        if (one, other) not in found or order.rank.get(one, 0) >= order.rank.get(other, 0):
            yield f"upward: {one} -> {other} is no longer so: take it out of tests/rooms.txt"
    for name in sorted(order.long):
        if not (ROOT / name).exists() or lines(ROOT / name) <= LONGEST_FILE:
            yield f"long: {name} is no longer so: take it out of tests/rooms.txt"


def round_about(order, found):
    """Circles made of arrows that are not excepted; one with an excepted arrow is on the list already."""
    for ring in circles({arrow: 0 for arrow in found if arrow not in order.upward}):
        yield f"circle: {', '.join(ring)} need one another"


def folders_round_about(order, found):
    pairs = {tuple(str(Path(room).parent) for room in arrow) for arrow in found}
    for ring in circles({pair: 0 for pair in pairs if pair[0] != pair[1] and not set(pair) & {*HALVES, "src/include"}}):
        yield f"circle: the folders {', '.join(ring)} need one another"


def large_folders(order, found):
    for folder in sorted({path.parent for path in sources()}):
        names = [path for path in folder.iterdir() if path.is_file()]
        if len(names) > LARGEST_FOLDER:
            yield f"{folder.relative_to(ROOT)} has {len(names)} files, more than {LARGEST_FOLDER}: divide it"


def sqlite_in_src(order, found):
    for path in sources():
        if half_of(path) == "src" and re.search(r"^#include.*\bsqlite3", path.read_text(), re.M):
            yield f"{path.relative_to(ROOT)} includes sqlite3.h: src must do without SQLite"


def columns_are_asked_for_in_one_place(order, found):
    for path in sources():
        if path.stem != "column_rule" and "sqlite3_table_column_metadata" in path.read_text():
            yield f"{path.relative_to(ROOT)}: SQLite may crash for a virtual table there; cuckoo_column_look asks for ordinary tables alone"


BOUNDARY = re.compile(r"src/(include/[a-z_]+|base/bits)$")


def public_headers(order, found):
    """Between ext and src stand the public headers; bits are no part of a filter."""
    for path in sources():
        if half_of(path) == "ext":
            for to, why in includes(path):
                if to.startswith("src/") and not BOUNDARY.match(to):
                    yield f"{why}: ext uses the public headers of src alone"


def packages_use_src(order, found):
    for path in sorted(PACKAGES.rglob("*.[ch]")):
        for to, why in includes(path):
            if not to.startswith("src/") and Path(to).parent != path.relative_to(ROOT).parent:
                yield f"{why}: packages use src alone"
        if lines(path) > LONGEST_FILE:
            yield f"{path.relative_to(ROOT)} has {lines(path)} lines, more than {LONGEST_FILE}: divide it"


def shared_by_threads(order, found):
    there = set(variables(order.objects))
    for room, name in sorted(there - order.variables):
        yield f"{room} has a variable, {name}, for all threads: a call must not leave anything outside of its arguments"
    for room, name in sorted(order.variables - there):
        yield f"variable: {room} {name} is no longer there: take it out of tests/rooms.txt"


def long_files(order, found):
    for path in sources():
        name = str(path.relative_to(ROOT))
        if lines(path) > LONGEST_FILE and name not in order.long:
            yield f"{name} has {lines(path)} lines, more than {LONGEST_FILE}: divide it"


SOURCES = (".c", ".h", ".sh", ".py", ".awk", ".sql", ".go", ".java", ".js", ".mjs", ".php", ".pl", ".rb", ".R", ".tcl")
LICENCE = "SPDX-License-Identifier: MIT"


def without_licence(order, found):
    for half in (*HALVES, "tests", "sql"):
        for path in sorted((ROOT / half).rglob("*")):
            if path.suffix in SOURCES and path.is_file() and LICENCE not in path.read_text()[:200]:
                yield f"{path.relative_to(ROOT)}: its first line says '{LICENCE}', in a comment"


CHECKS = {"every file has its place": places, "no arrow runs upwards": upward, "no circle": round_about,
          "no circle of folders": folders_round_about, "no folder is too large": large_folders,
          "src does without SQLite": sqlite_in_src,
          "columns are asked for in one place": columns_are_asked_for_in_one_place, "ext uses public headers": public_headers,
          "packages use src alone": packages_use_src, "no file is too long": long_files,
          "no variable for all threads": shared_by_threads,
          "every exception is needed": exceptions, "every source names its licence": without_licence}


# ---- the report ----

def lines(path):
    return path.read_text().count("\n")


def function_lengths():
    """Lines from the opening brace to the closing one. Both stand in the first column."""
    for path in sources():
        start = None
        for number, line in enumerate(path.read_text().splitlines()):
            if line == "{":
                start = number
            elif line.startswith("}") and start is not None:
                yield number - start + 1, f"{path.relative_to(ROOT)}:{start + 1}"
                start = None


def count(pattern, half):
    return sum(len(re.findall(pattern, path.read_text(), re.M)) for path in sources() if half_of(path) == half)


def report(order, found):
    up = [arrow for arrow in found if order.rank.get(arrow[0], 0) < order.rank.get(arrow[1], 0)]
    rings = circles(found)
    print(f"{'circles':<40} {len(rings)}")
    for ring in rings:
        print(f"    {' '.join(ring)}")
    print(f"{'arrows':<40} {len(found)}")
    print(f"{'arrows upwards, exceptions included':<40} {len(up)}")
    for one, other in sorted(up):
        print(f"    {one} -> {other}: {found[one, other][0]}")
    for half in HALVES:
        of_half = [path for path in sources() if half_of(path) == half]
        print(f"{'lines of ' + half:<40} {sum(map(lines, of_half))} in {len(of_half)} files")
    lengths = sorted(function_lengths())
    middle, tenth = lengths[len(lengths) // 2][0], lengths[len(lengths) * 9 // 10][0]
    print(f"{'functions':<40} {len(lengths)}")
    print(f"{'    lines: median / p90 / longest':<40} {middle} / {tenth} / {lengths[-1][0]} ({lengths[-1][1]})")
    for half in HALVES:
        print(f"{'asserts in ' + half:<40} {count(r'(?<![_a-z])assert[(]', half)}")
    for half in HALVES:
        print(f"{'record types (typedef struct) in ' + half:<40} {count(r'^typedef struct', half)}")


def main(arguments):
    order = Order((ROOT / "tests/rooms.txt").read_text(), Path(arguments[0]))
    found = arrows(Path(arguments[0]))
    failed = 0
    for name, check in CHECKS.items():
        wrong = list(check(order, found))
        failed += bool(wrong)
        print(f"{'FAIL' if wrong else 'ok  '} {name}")
        for message in wrong:
            print(f"     {message}")
    if "--report" in arguments:
        report(order, found)
    print(f"{len(CHECKS) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
