# SPDX-License-Identifier: MIT
"""What the figures were measured with: names and values, for the page and for the figures that are committed."""
import glob
import os
import platform
import re
import subprocess
import time


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
    changed = output("git", "status", "--porcelain", "--untracked-files=no")
    return name + (", with changes that are not committed" if changed else "")


def processor():
    found = re.search(r"^model name\s*:\s*(.*)$", text_of("/proc/cpuinfo"), re.M)
    name = found.group(1) if found else platform.processor() or platform.machine()
    virtual = ", virtual machine" if "hypervisor" in text_of("/proc/cpuinfo") else ""
    return f"{name}, {os.cpu_count()} cores{virtual}"


def caches():
    """Of the first core."""
    found = []
    for folder in sorted(glob.glob("/sys/devices/system/cpu/cpu0/cache/index*")):
        level, kind, size = (text_of(os.path.join(folder, name)) for name in ("level", "type", "size"))
        if kind != "Instruction":
            found.append(f"L{level} {size}")
    return ", ".join(found) or "unknown"


def memory():
    found = re.search(r"^MemTotal:\s*(\d+) kB", text_of("/proc/meminfo"), re.M)
    return f"{int(found.group(1)) / 2**20:.0f} GB" if found else "unknown"


def about(size, runs):
    """In the order in which they are shown."""
    compiler = os.environ.get("CC", "cc")
    return {
        "commit": commit(),
        "date": time.strftime("%Y-%m-%d"),
        "size": size,
        "runs": str(runs),
        "processor": processor(),
        "caches": caches(),
        "memory": memory(),
        "compiler": output(compiler, "--version") or compiler,
        "flags": os.environ.get("CFLAGS", ""),
        "kernel": f"{platform.system()} {platform.release()}",
        "SQLite": output(os.environ.get("SQLITE3", "sqlite3"), "--version").partition(" ")[0],
    }
