# SPDX-License-Identifier: MIT
"""The npm package's filters without SQLite, in a Node of their own: javascript.mjs does what is sent to it."""
import base64
import importlib.util
import json
import math
import os
import shutil
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
    sys.path.insert(0, str(ROOT / "ext/packages"))
    try:
        spec = importlib.util.spec_from_file_location("dist", ROOT / "ext/packages/dist.py")
        made = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(made)
        return made
    finally:
        sys.path.pop(0)


def write_package(folder):
    """filter.mjs and the others, as dist.py makes them."""
    licence = (ROOT / "ext/LICENSE").read_text(encoding="utf-8")
    for name, text in dist().filter_package("1.2.3", WASM, licence).items():
        (folder / name).write_text(text, encoding="utf-8")


def wire(value, is_key=False):
    """A key, bytes, options or a list of keys. Integers go as BigInt where a number of JavaScript would not be exact, and keys
    also elsewhere: the hash is the same."""
    if isinstance(value, (bytes, bytearray)):
        return {"bytes": base64.b64encode(value).decode()}
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int):
        return {"big": str(value)} if abs(value) >= 2**53 or (is_key and value % 3 == 1) else value
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
