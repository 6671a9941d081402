# SPDX-License-Identifier: MIT
"""The page to look at a filter, as text: it is one small file, reaches for nothing, and its parts fit. tests/ship/page.py uses it."""
import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest

import filter_process
import support

HTML, WASM = 200_000, 80_000  # bytes, at most
FIELDS = ("input", "select", "textarea")
ROOT = filter_process.ROOT


class Page(HTMLParser):
    """Elements with their attributes, and the text of scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.inside = [], {}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        tag, attributes = self.elements[-1] if self.elements else ("", {})
        if tag in ("script", "style") and self.cdata_elem == tag:
            name = attributes.get("id", tag)
            self.inside[name] = self.inside.get(name, "") + data

    def values(self, attribute):
        return [attributes[attribute] for _, attributes in self.elements if attribute in attributes]


@pytest.fixture(scope="module")
def text():
    wasm = filter_process.WASM.read_bytes() if filter_process.WASM.exists() else b"\0asm"
    licence = (ROOT / "LICENSE").read_text()
    path = ROOT / "build/page-test.wasm"
    path.write_bytes(wasm)
    try:
        return filter_process.dist().filter_package("1.2.3", path, licence)["filter.html"]
    finally:
        path.unlink()


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


def test_sizes(text):
    assert len(text.encode()) <= HTML
    assert not filter_process.WASM.exists() or filter_process.WASM.stat().st_size <= WASM


def test_all_its_parts_are_filled_in(text):
    assert not re.search(r"@[A-Z]+@", text) and "sqlite-cuckoo 1.2.3." in text and "Permission is hereby granted" in text


def test_it_reaches_for_nothing(text, page):
    assert not re.search(r"https?:|//[a-z]+\.[a-z]+/|@import|url\(", text)
    said = "fetch(url)).arrayBuffer()', TypeError"  # in the words of an error
    assert not re.search(r"\b(fetch|XMLHttpRequest|WebSocket|EventSource|sendBeacon|import|importScripts)\(", text.replace(said, "", 1))
    assert page.values("src") == [] and page.values("href") == ["#name"] and page.values("style") == []
    assert not [tag for tag, _ in page.elements if tag in ("link", "img", "iframe", "object", "base")]
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]


def test_policy_lets_run_what_is_there_and_nothing_else(page):
    policy, = (attributes["content"] for tag, attributes in page.elements
               if attributes.get("http-equiv") == "Content-Security-Policy")
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    hashes = {name: f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
              for name, text in page.inside.items()}
    assert rules == {"default-src": "'none'", "script-src": f"{hashes['script']} {hashes['worker']} 'wasm-unsafe-eval'",
                     "style-src": hashes["style"], "worker-src": "blob:", "base-uri": "'none'", "form-action": "'none'"}


def test_ids(page):
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    used = set(re.findall(r"\$\('([\w-]+)'\)", page.inside["script"])) | set(re.findall(r"#([a-z][a-z-]+)(?=[\s,.:{])", page.inside["style"]))
    for attribute in ("for", "aria-labelledby", "aria-describedby"):
        used |= {name for value in page.values(attribute) for name in value.split()}
    assert used <= set(ids), used - set(ids)


def test_every_field_has_a_label_and_every_region_a_heading(page):
    labels = page.values("for")
    assert [attributes["id"] for tag, attributes in page.elements if tag in FIELDS and attributes["id"] not in labels] == []
    assert all("aria-labelledby" in attributes for tag, attributes in page.elements if tag in ("section", "article", "svg", "progress"))
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1 and all(after <= before + 1 for before, after in zip(levels, levels[1:]))
    assert ("html", {"lang": "en"}) in page.elements
    assert [attributes["id"] for _, attributes in page.elements if attributes.get("role") in ("status", "alert")] == ["news", "alert", "answer"]


def test_style_has_the_dark_less_motion_and_the_focus(page):
    for words in ("prefers-color-scheme: dark", "prefers-reduced-motion", "forced-colors", ":focus-visible", "color-scheme: light dark"):
        assert words in page.inside["style"]


def test_what_it_says_of_sql_are_functions_of_sql(text):
    db = support.connect()
    functions = {name for name, in db.execute("SELECT name FROM pragma_function_list")}
    assert set(re.findall(r"\b(cf_[a-z_]+)\(", re.sub(r"const WASM = '.*", "", text))) <= functions
