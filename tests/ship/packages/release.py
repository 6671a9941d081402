# SPDX-License-Identifier: MIT
"""Steps of .github/workflows/release.yml, run here: release.py ROOT, in an empty folder. Prints the steps that have run, and "ok"
at the end. What stands for Docker runs the command of a container in this system, by a compiler for the machine of its image,
where there is one. Needs build/dist and build/filter.wasm. What Node runs needs one that has node:sqlite."""
import os
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

root, here = Path(sys.argv[1]), Path.cwd()
jobs = yaml.safe_load((root / ".github/workflows/release.yml").read_text())["jobs"]
given = {**os.environ, "PATH": f"{here}/bin:{os.environ['PATH']}", "SKIP_DEPS": "1", "PYTHON_IMAGE": "python"}
COMPILERS = {"manylinux_2_28_x86_64": "cc", "manylinux_2_28_aarch64": "aarch64-linux-gnu-gcc", "musllinux_1_2_x86_64": "musl-gcc"}
DOCKER = """#!/bin/sh
while [ "$1" != -w ]; do shift; done
image=$3
shift 3
[ "$1" != cc ] || { shift; set -- "$image" "$@"; }
exec "$@"
"""


def program(name, text):
    (here / "bin" / name).write_text(text)
    (here / "bin" / name).chmod(0o755)


def run(job, *names, **more):
    steps = {step["name"]: step["run"] for step in jobs[job]["steps"] if "name" in step}
    for name in names:
        subprocess.run(["bash", "-eo", "pipefail", "-c", steps[name]], cwd=tree, env={**given, **more}, check=True)
        print(f"ran: {job}: {name}", *more.values())


tree = here / "tree"
tree.mkdir()
for name in ("README.md", "Makefile", "ext", "sql", "src", "tests"):
    subprocess.run(["cp", "-R", root / name, tree], check=True)
for words in ("init -q", "add .", "-c user.name=someone -c user.email=someone@example.org commit -q -m all"):
    subprocess.run(["git", *words.split()], cwd=tree, check=True)
(here / "bin").mkdir()
program("docker", DOCKER)
for name in ("python", "python3"):  # it loads extensions
    program(name, f'#!/bin/sh\nexec {sys.executable} "$@"\n')
shutil.copytree(root / "build/dist", tree / "sources/dist")
shutil.copy(root / "build/filter.wasm", tree / "sources")
for image, compiler in COMPILERS.items():
    if shutil.which(compiler):
        run("linux", "Compile", IMAGE=compiler)
        if compiler == "cc":
            run("linux", "Try it")
        shutil.move(tree / "compiled", tree / "made" / f"compiled-{image}")
shutil.copytree(tree / "sources", tree / "made/sources")
run("packages", "All packages", "The tree of the tag, and checksums of all files")
run("installed", "By pip", "By pip, in Alpine")
if subprocess.run(["node", "-e", "require('node:sqlite')"], stderr=subprocess.DEVNULL).returncode == 0:
    run("installed", "By npm")
print("ok")
