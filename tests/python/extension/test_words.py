# SPDX-License-Identifier: MIT
"""The words of pages, scripts, messages, help and public headers: none of tests/words.txt, and each spelled as codespell knows it.

Comments of src and ext are not read, but for those of the public headers. codespell: tests/spelling.txt has words that it takes for
other ones.
"""
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
UNUSED = dict(line.split("\t") for line in (ROOT / "tests/words.txt").read_text().splitlines() if not line.startswith("#"))
COMMENT_OR_STRING = re.compile(r"""/\*.*?\*/|//[^\n]*|"((?:[^"\\\n]|\\.)*)"|'(?:[^'\\\n]|\\.)+'""", re.S)


def strings(text):
    """The literals of C. Those that only blanks are between are one."""
    found = [(one.span(), one[1]) for one in COMMENT_OR_STRING.finditer(text) if one[1] is not None]
    parts, end = [], 0
    for (first, last), one in found:
        parts.append(one if parts and not text[end:first].strip() else "\n" + one)
        end = last
    return "".join(parts)


def help_of(text):
    return "\n".join(line for line in text.splitlines() if line.startswith("##"))


def read():
    """What is read: name and text."""
    whole = [*ROOT.glob("*.md"), *ROOT.glob(".github/**/*.md"), *ROOT.glob("src/**/*.md"), *ROOT.glob("ext/**/*.md"),
             *ROOT.glob("tests/**/*.md"), *ROOT.glob("findings/*"), *ROOT.glob("sql/*.sql"), *ROOT.glob("ext/packages/man/*"),
             *ROOT.glob("ext/packages/page/*.html"), *ROOT.glob("src/include/*.h"), *ROOT.glob("ext/packages/*/*.d.ts"),
             *ROOT.glob("ext/packages/*/*.mjs"), *ROOT.glob("ext/packages/python/*/*.py"),
             ROOT / "ext/packages/debian/control"]
    c = [path for folder in ("src", "ext") for kind in ("c", "h") for path in ROOT.glob(f"{folder}/**/*.{kind}")]
    return {**{path: help_of(path.read_text()) for path in (ROOT / "Makefile", *ROOT.glob("*/**/*.mk"))},
            **{path: strings(path.read_text()) for path in c},
            ROOT / "wrong uses": "\n".join(re.findall(r" \| (.*)", (ROOT / "tests/python/extension/wrong_uses.txt").read_text())),
            **{path: path.read_text() for path in whole if path.is_file()}}


TEXTS = {str(path.relative_to(ROOT)): text for path, text in read().items() if not str(path.relative_to(ROOT)).startswith("build")}


def unused(text):
    """The words of words.txt in a text. Not in names of measured columns, nor in messages of the system."""
    text = re.sub(r"<!-- table .*?-->|\(`sizes\.tsv`\)[^\n]*|Permission denied", "", text)
    return [f"{word}: {better}" for word, better in UNUSED.items()
            if re.search(r"(?<!\w)" + word.replace(" ", r"[\s*-]+") + r"(?!\w)", text, re.I)]


def test_words_that_are_not_used_any_more():
    assert {name: found for name, text in TEXTS.items() if (found := unused(text))} == {}


def test_what_is_found():
    assert len(UNUSED) >= 20 and len(TEXTS) > 150 and "README.md" in TEXTS
    assert unused("Build it ANEW; an error\n** rate of 1") == [f"anew: {UNUSED['anew']}", f"error rate: {UNUSED['error rate']}"]
    assert unused("a renewed buffer, an untold error, errors") == []
    assert "four" not in strings('a("b"); // "four"') and strings('"a "\n  "b"') == "\na b"


@pytest.mark.skipif(not shutil.which("codespell"), reason="codespell is not installed")
def test_spelling(tmp_path):
    for name, text in TEXTS.items():
        (tmp_path / name.replace("/", "|")).write_text(text)
    ran = subprocess.run(["codespell", "--ignore-words", str(ROOT / "tests/spelling.txt"), str(tmp_path)], capture_output=True, text=True)
    assert ran.stdout.replace(str(tmp_path) + "/", "").replace("|", "/") == ""


def test_readme_is_short():
    assert len(TEXTS["README.md"].split()) <= 1150


# ---- links ----

def anchors(text):
    titles = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w -]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("name", sorted(name for name in TEXTS if name.endswith(".md") and not name.startswith("ext/packages/")))
def test_links_lead_to_a_file_and_a_heading(name):
    """READMEs in ext/packages are those of packages, where other files are beside them."""
    for place in re.findall(r"\]\(([^()\s]+)\)", TEXTS[name]):
        if not re.match(r"\w+:", place):
            path, _, anchor = place.partition("#")
            target = (ROOT / name).parent / path if path else ROOT / name
            assert target.exists(), place
            assert not anchor or anchor in anchors(target.read_text()), place
