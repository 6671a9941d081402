# SPDX-License-Identifier: MIT
"""Who makes cuckoo, and where it is: project.json, which packages are made from. A value in <...> says what it lacks.

    project.py [FILE]        names what is still to be filled in; fails then
    project.py [FILE] KEY    prints a value; nothing while it is to be filled in
"""
import json
import re
import sys
from pathlib import Path

FILE = Path(__file__).resolve().with_name("project.json")
KEYS = ("repository", "homepage", "owner", "author", "email", "security", "pypi", "npm")
MAKERS = "the maintainers of cuckoo"  # as in LICENSE; unless there is a name
MAIL = r"[^\s<>@|&\"\\]+@[^\s<>@|&\"\\]+"
FORMS = {"repository": r"https://[^\s/]+/[\w./-]*\w", "homepage": r"https://[\w./#~-]+", "owner": r"[\w.-]+", "author": r"[^<>|&\"\\]+",
         "email": MAIL, "security": rf"https://[\w./#~-]+|{MAIL}", "pypi": r"[a-z0-9]+(-[a-z0-9]+)*", "npm": r"(@[a-z0-9-]+/)?[a-z0-9-]+"}


def is_placeholder(value):
    return value.startswith("<") and value.endswith(">")


def read(path=FILE):
    """{key: value}; a value that is still to be filled in is empty."""
    said = json.loads(path.read_text(encoding="utf-8"))
    if sorted(said) != sorted(KEYS):
        raise SystemExit(f"{path}: its keys are to be {', '.join(KEYS)}, not {', '.join(said)}")
    return {key: "" if is_placeholder(value) else value for key, value in said.items()}


def faults(path=FILE):
    """A line for each value that is no good for a release."""
    words = json.loads(path.read_text(encoding="utf-8"))
    for key, value in read(path).items():
        if not value:
            yield f"{key}: fill in {words[key] or 'it'}"
        elif not re.fullmatch(FORMS.get(key, ".+"), value):
            yield f"{key}: {value} is not of the form that it needs: {FORMS[key]}"


def person(of):
    """As in an e-mail: the name of the author, and the address, when there is one."""
    return (of["author"] or MAKERS) + (f" <{of['email']}>" if of["email"] else "")


def main(words):
    path = Path(words.pop(0)) if words and words[0] not in KEYS else FILE
    if words:
        return print(read(path)[words[0]])
    found = list(faults(path))
    if found:
        sys.exit(f"{path}: not ready for a release\n" + "\n".join(f"    {line}" for line in found))


if __name__ == "__main__":
    main(sys.argv[1:])
