# SPDX-License-Identifier: MIT
"""What the figures are measured with: run.py notes it with each run."""
import os
import platform
import re
import sqlite3
import subprocess
import time

FACTS = ["commit", "date", "processor", "compiler", "SQLite"]


def output(*command):
    """The first line that a command prints; empty when it cannot be run."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return (done.stdout.splitlines() or [""])[0] if done.returncode == 0 else ""


def text_of(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return ""


def commit():
    name = output("git", "rev-parse", "--short=10", "HEAD") or "unknown"
    changed = output("git", "status", "--porcelain", "--untracked-files=no", "--", ".",
                     ":!*.md", ":!*.svg", ":!tests/bench/results", ":!tests/bench/data")
    return name + (", with changes that are not committed" if changed else "")


def processor():
    found = re.search(r"^model name\s*:\s*(.*)$", text_of("/proc/cpuinfo"), re.M)
    name = found.group(1) if found else platform.processor() or platform.machine()
    virtual = " of a virtual machine" if "hypervisor" in text_of("/proc/cpuinfo") else ""
    cache = text_of("/sys/devices/system/cpu/cpu0/cache/index2/size")
    return f"{name}, {os.cpu_count()} cores{virtual}" + (f", L2 {cache}" if cache else "")


def about():
    """In the order in which they are shown."""
    compiler = os.environ.get("CC", "cc")
    return dict(zip(FACTS, (commit(), time.strftime("%Y-%m-%d"), processor(), output(compiler, "--version") or compiler,
                            sqlite3.sqlite_version)))
