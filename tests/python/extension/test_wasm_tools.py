# SPDX-License-Identifier: MIT
"""build/filter.wasm is made anew when its tools come or go: a test of it, and a package, must not meet what others have made."""
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import support

ROOT = Path(support.ROOT).resolve()
FAKE = """#!/bin/sh
for word in "$@"; do
    [ "${before:-}" != -o ] || out=$word
    before=$word
done
"""
MAKES = {"clang": 'echo compiled > "$out"', "wasm-ld": 'echo linked > "$out"', "wasm-opt": 'echo optimized >> "$out"'}

pytestmark = pytest.mark.skipif(not shutil.which("make"), reason="make is not there")


def fake(bin_, tool):
    (bin_ / tool).unlink(missing_ok=True)
    (bin_ / tool).write_text(FAKE + MAKES[tool] + "\n")
    (bin_ / tool).chmod(0o755)


@pytest.fixture
def tree(tmp_path):
    """Makefile and sources, and a folder of all programs with those tools that a test puts there."""
    for name in ("src", "ext"):
        shutil.copytree(ROOT / name, tmp_path / "tree" / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in (ROOT / "Makefile", ROOT / "tests/deps.sh", ROOT / "tests/rooms.txt", *ROOT.glob("tests/**/*.mk")):
        there = tmp_path / "tree" / path.relative_to(ROOT)
        there.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, there)
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    for folder in os.environ["PATH"].split(os.pathsep):
        for name in os.listdir(folder) if os.path.isdir(folder) else []:
            if name not in MAKES and not os.path.lexists(bin_ / name):
                os.symlink(os.path.join(folder, name), bin_ / name)
    return tmp_path / "tree", bin_


def make(tree, bin_):
    done = subprocess.run(["make", "-s", "build/filter.wasm"], cwd=tree, capture_output=True, text=True,
                          env={**os.environ, "PATH": str(bin_), "MAKEFLAGS": "", "MAKELEVEL": ""})
    assert done.returncode == 0, done.stderr
    wasm = tree / "build/filter.wasm"
    return wasm.read_text().split(), wasm.stat().st_mtime_ns


def test_it_is_made_by_the_tools_that_there_are(tree):
    folder, bin_ = tree
    fake(bin_, "clang")
    fake(bin_, "wasm-ld")
    without, first = make(folder, bin_)
    assert without == ["linked"]
    assert make(folder, bin_) == (without, first), "nothing has changed"
    fake(bin_, "wasm-opt")
    with_it, second = make(folder, bin_)
    assert with_it == ["linked", "optimized"]
    assert make(folder, bin_) == (with_it, second), "nothing has changed"
    (bin_ / "wasm-opt").unlink()
    assert make(folder, bin_)[0] == without


def test_what_made_it_is_told(tree):
    folder, bin_ = tree
    for tool in MAKES:
        fake(bin_, tool)
        if tool != "clang":
            make(folder, bin_)
            told = [Path(line).name for line in (folder / "build/wasm_tools").read_text().split()]
            assert told == list(MAKES)[:list(MAKES).index(tool) + 1]
