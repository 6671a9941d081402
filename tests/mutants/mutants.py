# SPDX-License-Identifier: MIT
"""Would a test notice if a rule were broken? Breaks each rule that is marked in src, one change at a time.

    mutants.py                all of them
    mutants.py PATTERN        those of the rules whose name matches
    mutants.py --slice N      about N of them, others in each run (CUCKOO_SLICE=n repeats one)
    mutants.py --list         what would be tried; nothing is built
    --jobs N                  how many at a time; by default as many as there are cores

How to mark a rule. Write a comment at the end of the statement that carries it, or in a line of its own before it:

    if (one->length >= here.extension) { /* RULE: a side that knows too little is no place */

    /* RULE: the longest match goes */
    while (at > 0 && match[at - 1].length < length)

What is broken is the statement: up to its semicolon, or the head of an if, while, for or switch. Give every place its own
name, and mark rules only: a statement that some answer depends on. Bit tricks and shortcuts have unit tests of their own.

Each mark gives several mutants. The operators:

    always, never     the condition of an if or ?:, or what a bool function returns; for loops only never
    without           an operand of && || & | ^, the right one of + - << >>, a ! or a part between commas
    < to <= ...       the limit moves by one; in a larger condition also the comparison turned round
    removed           the statement, unless it is a declaration or returns a value
    exchanged         true and false, 0 and 1 as arguments, min and max (also least, most) in names
    zero              the first value of a declaration, or the last argument of a call
    status            an error returned becomes CF_OK

A mutant that behaves like the original cannot be killed. Say so and why, by operator as --list names it; keep this rare:

    /* RULE: ties are broken by payloads; equivalent <= to <: equal slots may change places */
    /* RULE: the length is right; equivalent without 2, < to <=: the difference would be too large */

Each mutant is compiled (only what includes the changed file) and linked with the rest of build/plain. It must fail the
unit tests of its own file, the model in its short form, or one of the other unit tests. One that needs four times the
processor time of the original counts as killed, too. The last line is "N passed, N failed"; a survivor is a failure.
"""
import argparse
import collections
import concurrent.futures
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent.parent
PLAIN = ROOT / "build/plain"
CC = os.environ.get("CC", "cc").split()
FLAGS = ["-std=c11", "-O1", "-w", "-DSQLITE_CORE"]
MEMORY = 4 << 30  # bytes; a mutant may ask for memory without end

# ---- tokens ----


class Token(NamedTuple):
    kind: str  # comment, directive, text, number, name, sign
    text: str
    start: int
    end: int


TOKENS = re.compile(r"""
    (?P<comment>/\*.*?\*/|//[^\n]*)
  | (?P<directive>^[ \t]*\#(?:[^\n\\]|\\\n|\\.)*)
  | (?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
  | (?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<sign><<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[-+*/%&|^~!<>=?:;,.(){}\[\]])
""", re.X | re.S | re.M)


def tokens_of(text):
    return [Token(found.lastgroup, found[0], found.start(), found.end()) for found in TOKENS.finditer(text)]


# ---- statements ----

class Statement(NamedTuple):
    tokens: list
    returns_bool: bool  # the function it stands in


def closing(tokens, at):
    """Where the bracket that opens at `at` is closed."""
    depth = 0
    for i in range(at, len(tokens)):
        depth += (tokens[i].text in "([{") - (tokens[i].text in ")]}")
        if depth == 0:
            return i
    return len(tokens) - 1


def statements_of(code):
    """All statements of a file, those of functions and those outside. `code`: tokens without comments and directives."""
    begin, i, returns_bool = 0, 0, False
    while i < len(code):
        text, first = code[i].text, i == begin
        if first and text in ("if", "while", "for", "switch"):
            i = closing(code, i + 1)
            yield Statement(code[begin:i + 1], returns_bool)
            begin = i + 1
        elif text in ("(", "["):
            i = closing(code, i)
        elif text == "{" and not first and is_value(code[begin:i]):
            i = closing(code, i)
        elif text in ("{", "}"):
            if text == "{" and not first and code[i - 1].text == ")":  # a function begins
                returns_bool = any(token.text == "bool" for token in code[begin:begin + 3])
            begin = i + 1
        elif text == ";" or (text == ":" and code[begin].text in ("case", "default")) or text in ("else", "do"):
            yield Statement(code[begin:i + 1], returns_bool)
            begin = i + 1
        i += 1


def is_value(before):
    """Does a brace behind these tokens open a value, not a block?"""
    if before[-1].text in ("=", ",", "return", "?", ":"):
        return True
    return before[-1].text == ")" and any(token.text in ("=", "return") for token in before)


# ---- marks ----

class Mark(NamedTuple):
    path: Path
    line: int
    rule: str
    equivalent: str  # the operators that change nothing, or ""
    statement: Statement


MARK = re.compile(r"/\*\s*RULE:\s*([^;]*?)\s*(?:;\s*equivalent\s+([^:]*):.*)?\*/\Z", re.S)


def marks_in(path):
    text = path.read_text()
    tokens = tokens_of(text)
    code = [token for token in tokens if token.kind not in ("comment", "directive")]
    statements = list(statements_of(code))
    for token in tokens:
        if token.kind != "comment" or "RULE:" not in token.text:
            continue
        found, line = MARK.match(token.text), text.count("\n", 0, token.start) + 1
        if not found or not found[1]:
            sys.exit(f"{path.relative_to(ROOT)}:{line}: a mark reads /* RULE: name */")
        alone = not text[text.rfind("\n", 0, token.start) + 1:token.start].strip()
        if alone:
            mine = [s for s in statements if s.tokens[0].start > token.end][:1]
        else:
            mine = [s for s in statements if s.tokens[0].start < token.start][-1:]
        if not mine:
            sys.exit(f"{path.relative_to(ROOT)}:{line}: no statement belongs to this mark")
        yield Mark(path, line, found[1], found[2] or "", mine[0])


# ---- operators: each yields (name, first token, last token, what stands there instead) ----

RANKS = [{","}, {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}, {"?", ":"}, {"||"}, {"&&"}, {"|"},
         {"^"}, {"&"}, {"==", "!="}, {"<", ">", "<=", ">="}, {"<<", ">>"}, {"+", "-"}, {"*", "/", "%"}]
RANK = {sign: rank for rank, signs in enumerate(RANKS) for sign in signs}
TYPE_WORDS = {"const", "unsigned", "signed", "int", "char", "long", "short", "void", "bool", "double", "float", "size_t",
              "struct", "enum", "static", "inline", "union"}
MOVED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
TURNED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
PAIRS = [("min", "max"), ("least", "most"), ("lesser", "greater"), ("shortest", "longest"), ("smallest", "largest")]
EXCHANGED = {"true": "false", "false": "true", "0": "1", "1": "0"}


def is_cast(tokens, close):
    """Does the bracket that closes here hold a type?"""
    depth, i = 1, close - 1
    while i >= 0 and depth:
        depth += (tokens[i].text == ")") - (tokens[i].text == "(")
        i -= 1
    inside = [token.text for token in tokens[i + 2:close]]
    before = tokens[i] if i >= 0 else None
    if before and (before.kind == "name" and before.text != "return" or before.text in (")", "]")):
        return False  # a call
    return bool(inside) and (inside[-1] == "*" or all(word in TYPE_WORDS or word.endswith("_t") for word in inside))


def is_binary(tokens, i):
    if tokens[i].text not in RANK or i == 0:
        return False
    before = tokens[i - 1]
    if before.text == ")":
        return not is_cast(tokens, i - 1)
    return before.text != "return" and before.kind != "sign" or before.text == "]"


def operand(tokens, i, step):
    """The last token of the operand on one side (step -1 or 1) of the operator at i."""
    rank, depth, at = RANK[tokens[i].text], 0, i + step
    opening, closing_ = ("([{", ")]}") if step > 0 else (")]}", "([{")
    while 0 <= at < len(tokens):
        text = tokens[at].text
        if depth == 0 and (text in closing_ or text in (";", "return")
                           or (RANK.get(text, 99) <= rank and is_binary(tokens, at))):
            break
        depth += (text in opening) - (text in closing_)
        at += step
    return at - step


def conditions(statement):
    """(first, last, is a loop) of all conditions in the statement, and the whole of what a bool function returns."""
    tokens = statement.tokens
    head = tokens[0].text
    if head in ("if", "while"):
        yield 2, len(tokens) - 2, head == "while"
    elif head == "for":
        ends = [i for i, token in enumerate(tokens) if token.text == ";"]
        if ends[1] > ends[0] + 1:
            yield ends[0] + 1, ends[1] - 1, True
    elif head == "return" and statement.returns_bool and len(tokens) > 3:
        yield 1, len(tokens) - 2, False
    for i, token in enumerate(tokens):
        if token.text == "?":
            yield operand(tokens, i, -1), i - 1, False


def constant_conditions(statement):
    for first, last, loops in conditions(statement):
        yield "never", first, last, "0"
        if not loops:
            yield "always", first, last, "1"


def operands_dropped(statement):
    tokens = statement.tokens
    for i, token in enumerate(tokens):
        if token.text == "!":
            yield "without", i, i, ""
        if not is_binary(tokens, i):
            continue
        if token.text in ("&&", "||", "&", "|", "^", "+", "-", "<<", ">>"):
            yield "without", i, operand(tokens, i, 1), ""
        if token.text in ("&&", "||", "&", "|", "^"):
            yield "without", operand(tokens, i, -1), i, ""


def parts_dropped(statement):
    """Of a statement that is several expressions with commas between them."""
    tokens, depth, begin = statement.tokens, 0, 0
    if is_declaration(tokens) or tokens[0].text in ("if", "while", "for", "switch", "return"):
        return
    for i, token in enumerate(tokens):
        depth += (token.text in "([{") - (token.text in ")]}")
        if token.text == "," and depth == 0:
            yield "without", begin, i, ""
            begin = i + 1
    if begin:
        yield "without", begin - 1, len(tokens) - 2, ""


def comparisons(statement):
    tokens = statement.tokens
    whole = [(first, last) for first, last, loops in conditions(statement) if not loops]
    for i, token in enumerate(tokens):
        if token.text not in TURNED:
            continue
        if token.text in MOVED:
            yield f"{token.text} to {MOVED[token.text]}", i, i, MOVED[token.text]
        if (operand(tokens, i, -1), operand(tokens, i, 1)) not in whole:
            yield f"{token.text} to {TURNED[token.text]}", i, i, TURNED[token.text]


def is_declaration(tokens):
    words = [token.text for token in tokens[:2]]
    return words[0] in TYPE_WORDS or (tokens[0].kind == "name" and words[0] not in ("return", "goto", "else") and (
        tokens[1].kind == "name" or words[1] == "*"))


def removal(statement):
    tokens = statement.tokens
    kept = ("if", "while", "for", "switch", "case", "default", "else", "do", "typedef")
    if tokens[0].text in kept or is_declaration(tokens) or (tokens[0].text == "return" and len(tokens) > 2):
        return
    yield "removed", 0, len(tokens) - 2, ""


def exchanges(statement):
    tokens = statement.tokens
    for i, token in enumerate(tokens[:-1]):
        alone = tokens[i - 1].text in ("(", ",", "{", "return") and tokens[i + 1].text in (",", ")", "}", ";")
        if i and alone and token.text in EXCHANGED:
            yield f"{token.text} to {EXCHANGED[token.text]}", i, i, EXCHANGED[token.text]
        for pair in PAIRS:
            for one, other in (pair, pair[::-1]):
                if token.kind == "name" and re.search(rf"(\b|_){one}(\b|_)", token.text):
                    yield "exchanged", i, i, re.sub(rf"(?<![a-z]){one}(?![a-z])", other, token.text)


IS_ZERO = {"0", "NULL", "false", "CF_OK", "SQLITE_OK", "SQLITE_STATIC"}


def zeros(statement):
    tokens = statement.tokens
    if is_declaration(tokens):
        equals = [i for i, token in enumerate(tokens) if token.text == "="][:1]
        for i in equals:
            end = operand(tokens, i, 1)
            if tokens[i + 1].text != "{" and not (end == i + 1 and tokens[end].text in IS_ZERO):
                yield "zero", i + 1, end, "0"
    elif tokens[0].kind == "name" and tokens[1].text == "(" and closing(tokens, 1) == len(tokens) - 2 and tokens[
            0].text not in ("if", "while", "for", "switch", "return"):
        commas = [i for i in range(2, len(tokens)) if tokens[i].text == "," and operand(tokens, i, 1) == len(tokens) - 3]
        if commas and tokens[commas[-1] + 1].text not in {*EXCHANGED, *IS_ZERO}:
            yield "zero", commas[-1] + 1, len(tokens) - 3, "0"


PLAN = (ROOT / "src/include/cuckoo_filter.h").read_text()
ERRORS = set(re.findall(r"CF_\w+", re.search(r"enum cf_status \{(.*?)\}", PLAN, re.S)[1])) - {"CF_OK"}


def statuses(statement):
    tokens = statement.tokens
    if tokens[0].text == "return":
        for i, token in enumerate(tokens):
            if token.text in ERRORS:
                yield "status", i, i, "CF_OK"


OPERATORS = [constant_conditions, operands_dropped, parts_dropped, comparisons, removal, exchanges, zeros, statuses]


class Mutant(NamedTuple):
    mark: Mark
    operator: str
    change: str  # for people
    text: str  # of the whole file

    @property
    def is_equivalent(self):
        return self.operator in re.split(r",\s*", " ".join(self.mark.equivalent.split()))


def mutants_of(mark):
    source, seen, times = mark.path.read_text(), set(), collections.Counter()
    for operator in OPERATORS:
        for name, first, last, instead in operator(mark.statement):
            start, end = mark.statement.tokens[first].start, mark.statement.tokens[last].end
            text = source[:start] + instead + source[end:]
            if "".join(text.split()) in seen:
                continue
            seen.add("".join(text.split()))
            times[name] += 1
            name += f" {times[name]}" if times[name] > 1 else ""
            change = " ".join(source[start:end].split())
            change = change if len(change) <= 40 else change[:37] + "..."
            yield Mutant(mark, name, f"{change} -> {instead}" if instead else change, text)


# ---- building and running ----

def included(path):
    """A file and all that it includes, directly or not."""
    found, waiting = set(), [path]
    while waiting:
        one = waiting.pop()
        if one not in found and one.exists():
            found.add(one)
            waiting += [(one.parent / name).resolve() for name in re.findall(r'^#include "([^"]+)"', one.read_text(), re.M)]
    return found


class Bench:
    """Sources and objects of the original, and how long its tests take."""

    def __init__(self, all_at_once):
        self.tests = ["model/model"] + sorted(f"unit/{path.relative_to(ROOT / 'tests/unit').with_suffix('')}"
                                                for path in (ROOT / "tests/unit").rglob("test_*.c"))
        if all_at_once:
            self.build(*self.tests)
        units = [str(path.relative_to(ROOT).with_suffix("")) for path in sorted((ROOT / "src").rglob("*.c"))]
        self.sources = units
        self.needs = {unit: included(ROOT / f"{unit}.c") for unit in units + [f"tests/{name}" for name in self.tests]}
        self.took, self.lock = {}, threading.Lock()

    @staticmethod
    def build(*tests):
        clean = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
        subprocess.run(["make", "-s", "SKIP_DEPS=1", f"-j{os.cpu_count()}", *(f"build/plain/{Path(test).name}" for test in tests)],
                       cwd=ROOT, check=True, env=clean)

    def limit(self, test):
        """Processor time for a mutant, from that of the original: built and measured when first asked for."""
        with self.lock:
            if test not in self.took:
                self.build(test)
                self.took[test] = processor_time(PLAIN / Path(test).name)
                if self.took[test] is None:
                    sys.exit(f"{test} fails without any mutant: what would follow means nothing")
            return 4 * self.took[test] + 2

    def killers(self, mark):
        """The tests of the file, then the model, then the others."""
        stem = mark.path.stem
        own = [test for test in self.tests if f"{Path(test).name}_".startswith(f"test_{stem}_")]
        return own + [test for test in self.tests if test not in own]


def limits(seconds):
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def processor_time(program):
    """Seconds that it takes when it passes, however busy the machine is; None when it fails."""
    process = subprocess.Popen([program], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                               preexec_fn=lambda: limits(600))
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return None if status else used.ru_utime + used.ru_stime


def run(program, seconds):
    """None when it passes; else how it failed. Ends with the first failure that it tells."""
    process = subprocess.Popen([program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                               env={**os.environ, "CMOCKA_MESSAGE_OUTPUT": "tap"}, errors="replace",
                               preexec_fn=lambda: limits(seconds))
    with process.stdout:
        for line in process.stdout:
            if line.startswith(("not ok", "failed after")):
                process.kill()
                process.wait()
                return line.strip()
    process.wait()
    if process.returncode in (-24, -9):  # SIGXCPU, SIGKILL
        return "too long"
    return None if process.returncode == 0 else f"status {process.returncode}"


class Worker:
    """A copy of the sources that mutants are made in, one after the other. The originals are never touched."""

    def __init__(self, bench, folder):
        self.bench, self.folder = bench, Path(tempfile.mkdtemp(dir=folder))
        for part in ("src", "tests/unit", "tests/model"):
            for path in [*(ROOT / part).rglob("*.[ch]"), *(ROOT / "tests").glob("*.h")]:
                copy = self.folder / path.relative_to(ROOT)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, copy)

    def compile(self, unit):
        done = subprocess.run([*CC, *FLAGS, "-c", "-o", self.folder / f"{unit}.o", self.folder / f"{unit}.c"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return done.returncode == 0

    def object(self, unit, path):
        """The object of a unit when `path` is changed; compiled if it needs it, None when it cannot be."""
        if path not in self.bench.needs[unit]:
            return PLAIN / f"{unit}.o"
        made = self.folder / f"{unit}.o"
        return made if made.exists() or self.compile(unit) else None

    def program(self, test, path):
        objects = [self.object(unit, path) for unit in [f"tests/{test}", *self.bench.sources]]
        if None in objects:
            return None
        made = self.folder / "program"
        done = subprocess.run([*CC, "-o", made, *objects, "-lcmocka", "-lm"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
        return made if done.returncode == 0 else None

    def verdict(self, mutant):
        """'killed by ...', 'SURVIVED', 'does not compile' or 'equivalent'."""
        if mutant.is_equivalent:
            return "equivalent"
        path = mutant.mark.path
        copy = self.folder / path.relative_to(ROOT)
        copy.write_text(mutant.text)
        try:
            return self.try_killers(mutant, path)
        finally:
            shutil.copy(path, copy)
            for made in self.folder.rglob("*.o"):
                made.unlink()

    def try_killers(self, mutant, path):
        for test in self.bench.killers(mutant.mark):
            limit = self.bench.limit(test)
            program = self.program(test, path)
            if program is None:
                return "does not compile"
            failure = run(program, limit)
            if failure:
                return f"killed by {Path(test).name}" + (" (too long)" if failure == "too long" else "")
        return "SURVIVED"


# ---- all of it ----

def report(mutants, verdicts):
    """One line for each mutant, below the name of its rule; yields the verdicts."""
    rule = None
    for mutant, verdict in zip(mutants, verdicts):
        if mutant.mark.rule != rule:
            rule = mutant.mark.rule
            print(rule)
        place = f"{mutant.mark.path.relative_to(ROOT)}:{mutant.mark.line}"
        print(f"    {place:<22} {mutant.operator:<10} {mutant.change:<48} {verdict}".rstrip(), flush=True)
        yield verdict


def slice_of(mutants, n):
    """About n of them, evenly spread."""
    seed = int(os.environ.get("CUCKOO_SLICE") or random.SystemRandom().randrange(2**16))
    step = max(1, len(mutants) // n)
    print(f"every {step}th mutant; repeat with CUCKOO_SLICE={seed}")
    return mutants[seed % step::step]


def try_all(mutants, jobs, all_at_once):
    bench, local = Bench(all_at_once), threading.local()
    (ROOT / "build/mutants").mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=ROOT / "build/mutants") as folder:
        def verdict(mutant):
            if not hasattr(local, "worker"):
                local.worker = Worker(bench, folder)
            return local.worker.verdict(mutant)

        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            yield from report(mutants, pool.map(verdict, mutants))


def arguments():
    parser = argparse.ArgumentParser(usage="\n" + __doc__)
    parser.add_argument("pattern", nargs="?", default="")
    parser.add_argument("--slice", type=int)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    return parser.parse_args()


def main():
    os.environ.pop("CUCKOO_TEST_SEED", None)  # tests have seeds of their own: with others a rare case may not come
    asked = arguments()
    marks = [mark for path in sorted((ROOT / "src").rglob("*.[ch]")) for mark in marks_in(path)]
    mutants, barren = [], []
    for mark in marks:
        made = list(mutants_of(mark))
        if re.search(asked.pattern, mark.rule):
            mutants += made
        if not made or mark.equivalent and not any(mutant.is_equivalent for mutant in made):
            barren.append(mark)
    for mark in barren:
        print(f"{mark.path.relative_to(ROOT)}:{mark.line}: no such mutant here: {mark.rule}")
    if asked.slice and mutants:
        mutants = slice_of(mutants, asked.slice)
    if not mutants:
        sys.exit(f"mutants.py: no rule has a name that matches {asked.pattern!r}: nothing was tested")
    if asked.list:
        list(report(mutants, ["equivalent" if mutant.is_equivalent else "" for mutant in mutants]))
        return 0
    verdicts = list(try_all(mutants, asked.jobs, not asked.slice))
    killed = sum(verdict.startswith("killed") for verdict in verdicts)
    failed = verdicts.count("SURVIVED") + len(barren)
    print(f"{len(marks)} rules, {len(mutants)} mutants: {killed} killed, {verdicts.count('SURVIVED')} survived, "
          f"{verdicts.count('does not compile')} do not compile, {verdicts.count('equivalent')} equivalent")
    print(f"{killed} passed, {failed} failed")
    return int(failed > 0 or killed == 0)


if __name__ == "__main__":
    sys.exit(main())
