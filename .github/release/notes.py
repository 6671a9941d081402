# SPDX-License-Identifier: MIT
"""Prints what ext/CHANGES.md says of a version, for the page of its release: notes.py VERSION [FILE]. GitHub shows a new
line as a new line there, so a paragraph becomes one line."""
import re
import sys
from pathlib import Path

CHANGES = Path(__file__).resolve().parents[2] / "ext/CHANGES.md"


def section(text, version):
    """The lines below "## VERSION", up to the next heading of that size. What follows the version may be a date."""
    found = re.search(rf"^## {re.escape(version)}(?![\w.]).*\n((?:(?!## ).*\n?)*)", text, re.M)
    return found[1].strip("\n") if found else ""


def unwrapped(text):
    """Joins the lines of a paragraph and of an item of a list. Code, tables and headings stay."""
    lines, code = [], False
    for line in text.splitlines():
        fence = line.lstrip().startswith("```")
        goes_on = lines and lines[-1] and not (code or fence or re.match(r"\s*([-*] |[|#]|\d+\. |$)", line))
        if goes_on and not re.match(r"\s*(```|#|\|)", lines[-1]):
            lines[-1] += " " + line.strip()
        else:
            lines.append(line)
        code ^= fence
    return "\n".join(lines)


def main(version, path=CHANGES):
    text = section(Path(path).read_text(encoding="utf-8"), version)
    if not text:
        sys.exit(f"{path} says nothing of {version}: it needs a heading ## {version}, and text below it")
    print(unwrapped(text))


if __name__ == "__main__":
    main(*sys.argv[1:])
