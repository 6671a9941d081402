# SPDX-License-Identifier: MIT
"""Does the simulator find faults that are put in by hand? Each is one change of ext, or a fault that is known.

    holes.py [PATTERN]        those whose name matches
    holes.py --seconds N      processor time for each, 60 unless given
    holes.py --seed N         where it begins

What it does not find, tests/unit/ext/linked.c and the tests of the log, cascades, transactions, interrupts do.
Each is built in a folder of its own beside the objects of build/plain. The last line is "N passed, N failed".
"""
import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PLAIN = ROOT / "build/plain"
CC = os.environ.get("CC", "cc").split()
SEEDS = 3  # another one, where the unchanged program fails as well
ALSO = "; also without the hole"

# Name, file, what stands there, what is put in its place; or a name of known.c, asked for. Where the name speaks of errors,
# each call of some steps fails in turn.
HOLES = [
    ("a drain loses a row of the log", "ext/table/drain.c", "    drain *into = context;\n", "    drain *into = context;\n    if (n > 0 && hash % 13 == 5) return SQLITE_OK;\n"),
    ("a drain loses deletes", "ext/table/drain.c", "    drain *into = context;\n", "    drain *into = context;\n    if (n < 0 && hash % 7 == 5) return SQLITE_OK;\n"),
    ("a drain empties no log of triggers", "ext/table/drain.c", "        rc = cuckoo_shadow_run(&paged->shadow, CUCKOO_EMPTY_LOG);", "        ;"),
    ("a drain empties no log of hashed keys", "ext/table/drain.c", "own ? cuckoo_log_empty_own(&paged->shadow) : SQLITE_OK", "own ? SQLITE_OK : SQLITE_OK"),
    ("keys without a place are forgotten", "ext/table/drain.c", "    return cuckoo_counts_put(into->left, into->table->paged.filter.geometry.epochs != 0, hash, row, n);", "    return SQLITE_OK;"),
    ("keys without a place are not written", "ext/table/drain.c", "return rc ? rc : cuckoo_counts_walk(left, write_left, paged);", "return rc;"),
    ("ROLLBACK TO is not noticed", "ext/table/table.c", "    table->registry->events++;\n    table->follow.saved = false;", "    table->follow.saved = false;"),
    ("a commit of others is not noticed", "ext/table/table.c", "settled ? table->version == version", "settled ? table->version >= 0"),
    ("the log is not read by lookups", "ext/table/table.c", "more = rc == SQLITE_OK ? change_of(table, hash) : 0;", "more = 0;"),
    ("a deleted key stays until the drain", "ext/table/table.c", "        *has = copies_of(table, hash) + more > 0;", "        ;"),
    ("what was read of the log stays true", "ext/table/table.c", "    table->net.current = false;\n", ""),
    ("changes of rows in a transaction are not noticed", "ext/table/table.c", "pages_kept && changes == table->changes", "pages_kept"),
    ("a row of the log of triggers is not added", "ext/follow/log.c", ": cuckoo_counts_put(", ": hash % 13 == 5 && n > 0 ? SQLITE_OK : cuckoo_counts_put("),
    ("a row of the log of hashed keys is not added", "ext/follow/log.c", "    return cuckoo_changes_add(&net->changes, (uint64_t)sqlite3_column_int64(row, HASH), rowids ? n : 0,",
     "    return sqlite3_column_int64(row, HASH) % 7 == 5 ? SQLITE_OK : cuckoo_changes_add(&net->changes, (uint64_t)sqlite3_column_int64(row, HASH), rowids ? n : 0,"),
    ("an old key is not subtracted", "ext/follow/log.c", "    int rc = take_key(net, paged, row, OLD, -1);", "    int rc = SQLITE_OK;"),
    ("a clock that goes back is not noticed", "ext/pages/ageing.c", "paged->now = clock > last ? clock : last;", "paged->now = clock; (void)last;"),
    ("old keys die too early", "ext/pages/ageing.c", "+ allowed > paged->now", "+ allowed / 2 > paged->now"),
    ("old keys stay too long", "ext/pages/ageing.c", "+ allowed > paged->now", "+ allowed * 2 > paged->now"),
    ("a drain makes all keys young", "ext/pages/ageing.c", "    epoch = epoch > last ? last : epoch < first ? first : epoch;", "    epoch = last; (void)first;"),
    ("a drain goes by its own clock", "ext/table/drain.c", "cuckoo_ageing_begin_adds(paged, table->net.more, all);", "cuckoo_ageing_begin_adds(paged, table->net.more, true);"),
    ("the last page is not written", "ext/pages/pages.c",
     "            cuckoo_shadow_write(&paged->shadow, (int64_t)page,",
     "            page > 1 && page + 1 == pages ? SQLITE_OK : cuckoo_shadow_write(&paged->shadow, (int64_t)page,"),
    ("a newer trigger that skips ours is not seen", "ext/follow/rules.c", "    if (!first || all->newer || !(trigger->writes || trigger->breaks))", "    if (1)"),
    ("what a newer trigger writes is not seen (rule B)", "ext/follow/rules.c", "!(trigger->writes || trigger->breaks))", "!trigger->breaks)"),
    ("a TEMP trigger is not seen (rule B)", "ext/follow/rules.c", "trigger->after && (trigger->temporary || trigger->order > all->ours)",
     "trigger->after && !trigger->temporary && trigger->order > all->ours"),
    ("RAISE of a newer trigger is not seen (rule B)", "ext/follow/rules.c", "        trigger->breaks |= is_raise(&at, token);\n", ""),
    ("what a BEFORE trigger does is not seen (rule A)", "ext/follow/rules.c", "        return keep_name(&all->before, trigger);", "        return SQLITE_OK;"),
    ("what an UPDATE sets is not seen (rule A)", "ext/follow/rules.c", "        trigger->hits |= is_set(all, at, token);", "        ;"),
    ("a table asked in place of a filter says no", "ext/follow/content.c", "    rc = rc ? rc : ask(content->has, has);\n", ""),
    ("a missing trigger is not seen", "ext/follow/trigger_check.c", "    bool same = rc == SQLITE_OK && text && strcmp(text, want) == 0;\n",
     "    bool same = rc == SQLITE_OK && (!text || strcmp(text, want) == 0);\n"),
    ("the schema is looked at once", "ext/follow/trigger_check.c", "follow->trust == CUCKOO_UNKNOWN || prepared != follow->prepared", "follow->trust == CUCKOO_UNKNOWN"),
    ("an INSERT tells the log nothing", "ext/follow/follow.c", 'HEAD("INSERT") NEW " IS NOT NULL"', 'HEAD("INSERT") NEW " > 5"'),
    ("an UPDATE tells the old key only", "ext/follow/follow.c", 'BODY("\\"old\\", \\"new\\"", OLD ", " NEW)', 'BODY("\\"old\\"", OLD)'),
    ("an UPDATE tells the new key only", "ext/follow/follow.c", 'BODY("\\"old\\", \\"new\\"", OLD ", " NEW)', 'BODY("\\"new\\"", NEW)'),
    ("a DELETE tells the log nothing", "ext/follow/follow.c", 'HEAD("DELETE") OLD " IS NOT NULL"', 'HEAD("DELETE") OLD " IS 5"'),
    ("DROP ignores errors of the triggers", "ext/module/vtab.c",
     "    rc = cuckoo_sql_rolls_back(rc) ? rc : cuckoo_follow_drop(shadow);\n", "    (void)cuckoo_follow_drop(shadow);\n"),
    ("DROP ignores errors of the pages", "ext/module/vtab.c",
     "    rc = rc ? rc : cuckoo_shadow_drop(&table->paged.shadow);", "    if (rc == 0) (void)cuckoo_shadow_drop(&table->paged.shadow);"),
    ("DROP leaves the pages", "ext/module/vtab.c", "    rc = rc ? rc : cuckoo_shadow_drop(&table->paged.shadow);", ""),
    ("DROP leaves the triggers", "ext/module/vtab.c", "    rc = cuckoo_sql_rolls_back(rc) ? rc : cuckoo_follow_drop(shadow);\n", ""),
    ("RENAME ignores errors of the pages", "ext/module/vtab.c", "    rc = cuckoo_shadow_rename(&table->paged.shadow, name);",
     "    (void)cuckoo_shadow_rename(&table->paged.shadow, name);"),
    ("steps of SQL ignore errors", "ext/sqlite/sql.c", "sqlite3_exec(db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;",
     "((void)sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK) : SQLITE_NOMEM;"),
]


def command(*words):
    return subprocess.run(words, cwd=ROOT, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def build(folder, file, old, new):
    """The simulator with this change, or None: the text is not there once."""
    objects = [path for path in PLAIN.rglob("*.o") if re.match("(src|ext|tests/sim)/", str(path.relative_to(PLAIN)))
               and (ROOT / path.relative_to(PLAIN)).with_suffix(".c").exists()]
    program = folder / "sim"
    if file:
        text = (ROOT / file).read_text()
        if text.count(old) != 1:
            return None
        for name in ("ext", "src"):
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("packages", "*.md"))
        (folder / file).write_text(text.replace(old, new))
        changed = folder / "changed.o"
        command(*CC, "-std=c11", "-O1", "-w", "-DSQLITE_CORE", f"@{ROOT}/build/options", "-c", "-o", str(changed), str(folder / file))
        objects = [changed, *(path for path in objects if path != PLAIN / Path(file).with_suffix(".o"))]
    command(*CC, "-o", str(program), *map(str, objects), "-Wl,--wrap=realloc,--wrap=calloc", "-lsqlite3",
            f"@{ROOT}/build/libraries")
    return program


def look(program, flags, seed, seconds):
    """Steps until it is found, what was said, and the processor time; or None for the steps."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    words = [program, str(seed), "--first", "--all", "100000000", *flags]
    try:
        done = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
                              timeout=4 * seconds,  # where each call fails, processes of their own take the time
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds)))
    except subprocess.TimeoutExpired:
        return None, "", 4 * seconds
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    steps = re.search(r"in step (\d+)", done.stdout)
    what = re.search(r"(?m)^SEED=.*\n  (.*)", done.stdout)
    if done.returncode in (-24, -9) and not steps:  # SIGXCPU, SIGKILL
        return None, "", after.ru_utime - before.ru_utime
    said = what[1] if what else f"ended with {done.returncode}: {done.stdout[-80:]}"
    steps = int(steps[1]) if steps else 0
    if (PLAIN / "sim").samefile(program):
        return steps, said, after.ru_utime - before.ru_utime
    # The unchanged program passes as many steps, or it is not the hole that was found.
    same = subprocess.run([PLAIN / "sim", str(seed), "--all", str(steps or 2000), *flags], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    return (None if same.returncode else steps, said + (ALSO if same.returncode else ""),
            after.ru_utime - before.ru_utime)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("pattern", nargs="?", default="")
    arguments.add_argument("--seconds", type=int, default=60)
    arguments.add_argument("--seed", type=int, default=1)
    given = arguments.parse_args()
    passed = failed = 0
    if command(str(PLAIN / "sim"), str(given.seed), "--runs", "3").returncode:
        sys.exit("the simulator finds faults where none was put in")
    for name, file, old, new in HOLES:
        if not re.search(given.pattern, name):
            continue
        folder = Path(tempfile.mkdtemp(prefix="cuckoo_holes_"))
        try:
            program = build(folder, file, old, new)
            flags = [] if file else ["--known", old]
            flags += ["--each", "23"] if re.search(r"error|failed|by half", name) else []
            steps, said, seconds = None, "its text is not there once", 0
            for seed in range(given.seed, given.seed + SEEDS) if program else []:
                steps, said, seconds = look(program, flags, seed, given.seconds)
                if not said.endswith(ALSO):
                    break
        except subprocess.CalledProcessError as error:
            steps, said, seconds = None, "does not compile: " + error.stdout.decode()[-200:], 0
        shutil.rmtree(folder)
        found = steps is not None
        passed, failed = passed + found, failed + (not found)
        print(f"{'found' if found else 'NOT FOUND':9} {steps if found else '-':>8} steps {seconds:5.1f} s  {name}: {said[:90]}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return failed > 0 or passed == 0


if __name__ == "__main__":
    sys.exit(main())
