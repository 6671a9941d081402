# SPDX-License-Identifier: MIT
"""The steps for Linux of .github/workflows/release.yml, run here: release.py ROOT, in an empty folder. Prints "ok" at the end.
What stands for Docker runs the command of the container in this system. Needs build/dist and build/filter.wasm."""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

root, here = Path(sys.argv[1]), Path.cwd()
jobs = yaml.safe_load((root / ".github/workflows/release.yml").read_text())["jobs"]
given = {**os.environ, "DIST_OWNER": "someone", "DIST_REPOSITORY": "https://example.org/cuckoo",
         "DIST_URL": "https://example.org/cuckoo", "PATH": f"{here}/bin:{os.environ['PATH']}", "SKIP_DEPS": "1"}


def run(job, *names):
    steps = {step["name"]: step["run"] for step in jobs[job]["steps"] if "name" in step}
    for name in names:
        script = re.sub(r"\$\{\{ *matrix\.(\w+) *\}\}", r"\1", steps[name])
        subprocess.run(["bash", "-eo", "pipefail", "-c", script], cwd=here / "tree", env=given, check=True)


tree = here / "tree"
tree.mkdir()
for name in ("README.md", "Makefile", "ext", "sql", "src", "tests"):
    subprocess.run(["cp", "-R", root / name, tree], check=True)
(here / "bin").mkdir()
(here / "bin/docker").write_text('#!/bin/sh\nwhile [ "$1" != -w ]; do shift; done\nshift 3\nexec "$@"\n')
(here / "bin/docker").chmod(0o755)
(here / "bin/python3").symlink_to(sys.executable)  # it loads extensions
shutil.copytree(root / "build/dist", tree / "sources/dist")
shutil.copy(root / "build/filter.wasm", tree / "sources")
run("linux", "Compile", "Try it")
shutil.copytree(tree / "sources", tree / "made/sources")
shutil.copytree(tree / "compiled", tree / "made/compiled-one")
run("packages", "All packages")
print("ok")
