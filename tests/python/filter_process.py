# SPDX-License-Identifier: MIT
"""The npm package's filters without SQLite, in a Node of their own: javascript.mjs does what is sent to it; and those of the C library."""
import base64
import ctypes
import importlib.util
import json
import math
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

import support

ROOT = Path(support.ROOT).resolve()
NODE = os.environ.get("NODE", "node")
WASM = ROOT / "build/filter.wasm"
HERE = Path(__file__).resolve().parent
needed = [pytest.mark.skipif(not shutil.which(NODE), reason="node is not there"),
          pytest.mark.skipif(not WASM.exists(), reason="build/filter.wasm is not there: clang and wasm-ld make it; on Debian: clang lld")]


def dist():
    before = sys.path[:]
    sys.path.insert(0, str(ROOT / "ext/packages"))
    try:
        spec = importlib.util.spec_from_file_location("dist", ROOT / "ext/packages/dist.py")
        made = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(made)
        return made
    finally:
        sys.path[:] = before


def write_package(folder):
    """filter.mjs and the others, as dist.py makes them."""
    licence = (ROOT / "LICENSE").read_text(encoding="utf-8")
    for name, text in dist().filter_package("1.2.3", WASM, licence).items():
        (folder / name).write_text(text, encoding="utf-8")


# ---- keys of all types, and what SQL says of them ----

RULES = [(affinity, collation) for affinity in ("none", "text", "blob", "integer", "numeric", "real")
         for collation in ("binary", "nocase", "rtrim")]


def random_text(rng):
    number = rng.choice([str(rng.randrange(-10**rng.randrange(1, 21), 10**rng.randrange(1, 21))),
                         f"{rng.uniform(-1e4, 1e4):.{rng.randrange(8)}f}",
                         f"{rng.randrange(10**rng.randrange(1, 18))}e{rng.randrange(-25, 25)}", repr(rng.uniform(-1e18, 1e18))])
    word = "".join(rng.choice("aAbBzZ9 éÉ\0\t") for _ in range(rng.randrange(8)))
    return rng.choice(["", "", " ", "+", "\t"]) + rng.choice([number, number, word]) + rng.choice(["", "", " ", "  ", "x", "\0", "\0A"])


def random_key(rng):
    kind = rng.randrange(8)
    if kind < 4:
        return random_text(rng)
    if kind == 4:
        return random_text(rng).encode()
    if kind == 5:
        return rng.choice([rng.uniform(-1e4, 1e4), float(rng.randrange(-50, 50)) / 4, rng.uniform(-1e19, 1e19)])
    return rng.randrange(-10**rng.randrange(1, 19), 10**rng.randrange(1, 19))


def random_keys(rng, n):
    """Of all types; many texts that look like numbers."""
    keys = [random_key(rng) for _ in range(n)]
    return [rng.choice([key, str(key), f" {key} "]) if isinstance(key, int) else key for key in keys]


def of_sql(key):
    """A number of JavaScript that equals an integer is that; from 10^15 on a driver may bind it as a REAL."""
    return int(key) if isinstance(key, float) and abs(key) < 1e15 and key.is_integer() else key


def ask_all(db, blob, keys):
    db.execute("CREATE TEMP TABLE asked(x)")
    db.executemany("INSERT INTO asked VALUES (?)", ((of_sql(key),) for key in keys))
    answers = [row[0] for row in db.execute("SELECT ifnull(cf_contains(?, x), 0) FROM asked ORDER BY rowid", (blob,))]
    db.execute("DROP TABLE asked")
    return answers


def cases(db, rng, n):
    """(name, blobs for open, keys, answers of SQL): a filter of each rule, and a chain of ten deltas; n keys in all."""
    n //= len(RULES) + 1
    for affinity, collation in RULES:
        keys, rule = random_keys(rng, n), f"affinity={affinity} collation={collation}"
        db.execute("CREATE TEMP TABLE k(x)")
        db.executemany("INSERT INTO k VALUES (?)", ((of_sql(key),) for key in keys[::2]))
        blob = support.ask(db, "SELECT cf_build(x, NULL, ?) FROM k", f"fingerprint_bits=24 {rule}")
        db.execute("DROP TABLE k")
        yield rule, [blob], keys, ask_all(db, blob, keys)
    for chain, keys, members in days(db, rng, random_keys(rng, n)):
        pass
    yield "an exact filter and ten deltas", chain, keys, members


def days(db, rng, keys):
    """Ten times (chain, keys, members): each day some members come and go, and a delta is built of what the chain said the day
    before. Keys that are equal in SQL are one."""
    db.execute("CREATE TEMP TABLE day(x, member)")
    db.executemany("INSERT INTO day VALUES (?, ?)", ((key, rng.random() < 0.1) for key in dict.fromkeys(map(of_sql, keys))))
    chain = [support.ask(db, "SELECT cf_build_exact(x, member) FROM day")]
    for day in range(10):
        db.execute("UPDATE day SET member = NOT member WHERE rowid * 7919 % 101 = ?", (rng.randrange(101),))
        old = " <> ".join("cf_contains(?, x)" for _ in chain)
        chain.append(support.ask(db, f"SELECT cf_build_exact(x, ({old}) <> member, NULL, 'seed={day}') FROM day", *chain))
        rows = db.execute("SELECT x, member FROM day ORDER BY rowid").fetchall()
        yield chain, [key for key, _ in rows], [member for _, member in rows]
    db.execute("DROP TABLE day")


# ---- the C library ----

TYPES = {int: 1, float: 2, str: 3, bytes: 4}


def answers_of_c(folder):
    """answers(bytes, keys) of the C library alone: 1, 0, or 2 where versions of SQLite differ. It is compiled in the folder."""
    dist, made = ROOT / "build/dist", folder / "answers.so"
    subprocess.run([os.environ.get("CC", "cc"), "-O1", "-fPIC", "-shared", "-DCUCKOO_LIBRARY_ONLY", "-DCUCKOO_SMALL",
                    "-DCUCKOO_READ_ONLY", f"-I{dist}", "-o", made, HERE / "extension/answers.c", dist / "cuckoo.c", "-lm"], check=True)
    function = ctypes.CDLL(str(made)).answers
    function.restype = ctypes.c_char_p

    def answers(blob, keys):
        keys = [of_sql(key) for key in keys]
        contents = [struct.pack("<d", key) if isinstance(key, float) else struct.pack("<q", key) if isinstance(key, int)
                    else key.encode() if isinstance(key, str) else key for key in keys]
        held = [ctypes.c_char_p(content) for content in contents]
        packed = b"".join(struct.pack("=QQQ", ctypes.cast(one, ctypes.c_void_p).value, len(content), TYPES[type(key)])
                          for one, content, key in zip(held, contents, keys))
        into = ctypes.create_string_buffer(len(keys))
        assert function(blob, ctypes.c_uint64(len(blob)), packed, ctypes.c_uint64(len(keys)), into) is None
        return list(into.raw)

    return answers


# ---- the process ----

def wire(value, is_key=False):
    """A key, bytes, options or a list of keys. Integers go as BigInt where a number of JavaScript is a REAL or not exact, and keys
    also elsewhere: the hash is the same."""
    if isinstance(value, (bytes, bytearray)):
        return {"bytes": base64.b64encode(value).decode()}
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int):
        return {"big": str(value)} if abs(value) >= 10**15 or (is_key and value % 3 == 1) else value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"number": str(value).replace("inf", "Infinity").replace("nan", "NaN")}
    if isinstance(value, dict):
        return value if set(value) == {"filter"} else {"options": {name: wire(one) for name, one in value.items()}}
    return [wire(one, is_key) for one in value]


def unwire(answer):
    if isinstance(answer, dict) and set(answer) == {"bytes"}:
        return base64.b64decode(answer["bytes"])
    return answer


class Failed(Exception):
    def __init__(self, answer):
        super().__init__(answer["error"])
        self.kind = answer["kind"]


class Filters:
    def __init__(self, folder):
        write_package(folder)
        self.process = subprocess.Popen([NODE, HERE / "javascript.mjs", folder / "filter.mjs"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def steps(self, steps):
        self.process.stdin.write(json.dumps([[word if i < 2 else wire(word, i == 2 and one[1] != "create")
                                              for i, word in enumerate(one)] for one in steps]) + "\n")
        self.process.stdin.flush()
        return [unwire(answer) for answer in json.loads(self.process.stdout.readline())]

    def __call__(self, name, method, *words):
        answer, = self.steps([(name, method, *words)])
        if isinstance(answer, dict) and set(answer) == {"error", "kind"}:
            raise Failed(answer)
        return answer

    def make(self, name, function, *words):
        """The bytes of the filter that a function makes."""
        self("", function, *words, name)
        return self(name, "bytes")

    def close(self):
        self.process.stdin.close()
        assert self.process.wait(30) == 0
