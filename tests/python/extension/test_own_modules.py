# SPDX-License-Identifier: MIT
"""An installed package may have the name of any module of ours (python3-tables has `tables`): ours is the one that is
imported."""
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
FILES = [path for folder in ("tests", "ext", ".github") for path in sorted((ROOT / folder).rglob("*.py"))]


def test_our_folders_come_first_in_the_path():
    """Also: no module of ours stands in front of one of Python's own."""
    behind = re.compile(r"sys\.path(\.append|\.extend| \+=|\.insert\((?!0,))")
    assert [str(path) for path in FILES if path.name != "test_own_modules.py" and behind.search(path.read_text())] == []
    assert {path.stem for path in FILES} & set(getattr(sys, "stdlib_module_names", ())) == set()


def test_installed_packages_of_the_same_names_change_nothing(tmp_path):
    for path in FILES:
        package = tmp_path / path.stem
        package.mkdir(exist_ok=True)
        (package / "__init__.py").write_text(f"raise ImportError('the installed {path.stem}')\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}

    def python(*words):
        said = subprocess.run([sys.executable, "-B", *words], cwd=ROOT, env=environment, capture_output=True, text=True)
        assert "the installed" not in said.stdout + said.stderr, said.stdout + said.stderr
        return said.returncode, said.stdout + said.stderr
    code, said = python("-m", "pytest", "-q", "-p", "no:cacheprovider", "--collect-only", "tests/python", "tests/bench")
    assert code == 0, said
    for path in FILES:
        if not path.name.startswith(("test_", "__")) and re.search(r"^if __name__ == ", path.read_text(), re.M):
            python("-c", "import runpy, sys; sys.path.insert(0, sys.argv[1]); runpy.run_path(sys.argv[2], run_name='imported')",
                   str(path.parent), str(path))
