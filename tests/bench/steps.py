# SPDX-License-Identifier: MIT
"""How much of src does one call run? Functions, their lines, and files, counted by gcov; a function that the compiler would
inline counts as one.

    python3 tests/bench/steps.py [--list] [FOLDER]    FOLDER: a tree with src; --list: which functions
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

DRIVER = """
#include "%s"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
void __gcov_reset(void);
void __gcov_dump(void);

int main(int argc, char **argv)
{
    cf_options options = {.growth = argc > 2 && !strcmp(argv[2], "growth")};
    if (!strcmp(argv[2], "plain")) {
        options.layout = CF_LAYOUT_PLAIN;
        options.fingerprint_bits = 12;
    }
    cf_geometry shape;
    cf_filter filter;
    const char *why;
    bool found = false;
    cf_plan(10000, 0.01, &options, &shape, &why);
    cf_create(&filter, &shape, malloc(cf_geometry_bytes(&shape)));
    filter.memory = (cf_memory){cf_realloc, 0, NULL};
    for (uint64_t i = 1; i <= (options.growth ? 30000 : 1000); i++)
        cf_add(&filter, cf_hash(&shape, &i, sizeof i));
    uint64_t key = 1, hash = cf_hash(&shape, &key, sizeof key), fresh = 0;
    for (key = 1000000; fresh == 0; key++) { /* a new key, of which no fingerprint is there */
        uint64_t its = cf_hash(&shape, &key, sizeof key);
        cf_pair pair = cf_candidates(&filter, its);
        cf_entry entry;
        bool free_slot = false;
        for (unsigned slot = 0; slot < shape.bucket_size; slot++)
            free_slot |= !cf_entry_at(&filter, pair.place[0].bucket, slot, &entry);
        if (free_slot && !cf_contains(&filter, its))
            fresh = its;
    }
    __gcov_reset();
    if (!strcmp(argv[1], "cf_add"))
        cf_add(&filter, fresh);
    else if (!strcmp(argv[1], "cf_contains"))
        found = cf_contains(&filter, hash);
    else
        cf_delete(&filter, hash);
    __gcov_dump();
    _exit(found && argc > 9);
}
"""
CALLS = ("cf_add", "cf_contains", "cf_delete")
SHAPES = ("default", "plain", "growth")


def build(root, place):
    header = next(path for path in (root / "src/include/cuckoo_inspect.h", root / "src/cuckoo_inspect.h") if path.exists())
    (place / "driver.c").write_text(DRIVER % header)
    flags = ["-O0", "-g", "--coverage", "-DNDEBUG", "-Dalways_inline=unused", "-w"]
    sources = [str(path) for path in sorted((root / "src").rglob("*.c"))]
    objects = []
    for number, source in enumerate([*sources, str(place / "driver.c")]):
        objects.append(str(place / f"{number}.o"))
        subprocess.run(["cc", *flags, "-c", source, "-o", objects[-1]], check=True)
    subprocess.run(["cc", *flags, "-o", str(place / "driver"), *objects, "-lm"], check=True)
    return place / "driver"


def steps(place, call, shape, root):
    """{(file, function): lines} that one call runs."""
    for data in place.glob("*.gcda"):
        data.unlink()
    subprocess.run([str(place / "driver"), call, shape], check=True, cwd=place)
    found = {}
    for data in sorted(place.glob("*.gcda")):
        said = subprocess.run(["gcov", "--json-format", "--stdout", data.name], cwd=place, check=True, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        for line in said.splitlines():
            for file in json.loads(line)["files"]:
                path = Path(file["file"])
                path = path if path.is_absolute() else Path.cwd() / path
                if not path.resolve().is_relative_to(root / "src"):
                    continue
                for function in file["functions"]:
                    if function["execution_count"]:
                        name = str(path.resolve().relative_to(root)), function["demangled_name"]
                        found[name] = function["end_line"] - function["start_line"] + 1
    return found


def main(arguments):
    roots = [argument for argument in arguments if argument != "--list"]
    root = Path(roots[0] if roots else ".").resolve()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        build(root, place)
        print(f"{'':<24}{'functions':>10}{'lines':>8}{'files':>8}")
        for call in CALLS:
            for shape in SHAPES:
                found = steps(place, call, shape, root)
                files = {file for file, _ in found}
                print(f"{call + ', ' + shape:<24}{len(found):>10}{sum(found.values()):>8}{len(files):>8}")
                if "--list" in arguments:
                    for (file, name), lines in sorted(found.items()):
                        print(f"    {file:<28} {name:<28} {lines}")


if __name__ == "__main__":
    main(sys.argv[1:])
