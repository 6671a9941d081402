# SPDX-License-Identifier: MIT
"""The page to look at a filter (filter.html of the npm package), from file:// in headless Chromium, with filters of SQL.

    page.py [--pictures FOLDER] [--spoken]     (make test-browser)

It is opened on a desktop and on a phone of 390 px, light and dark, used by the keyboard alone, and given what is damaged and what
is large. --pictures keeps what it looked like; --spoken prints what a screen reader is given. Without Chromium and chromedriver
it says so and ends with 77. The last line is "N passed, N failed"."""
import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/python"))
import driver  # noqa: E402
import filter_process  # noqa: E402
import support  # noqa: E402
from driver import ENTER, SPACE, TAB  # noqa: E402

COUNTED = "document.getElementById('news').textContent.includes('was checked and is ok')"
ANSWERED = "document.querySelector('#answer .yes, #answer .no, #answer .alert') !== null"
ALERTED = "!document.getElementById('alert').hidden"

# The least contrast of all texts that are seen, with the background that each stands on.
CONTRAST = """
const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
const light = (colour) => numbers(colour).slice(0, 3).map((c) => (c /= 255, c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
  .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
const ground = (e) => { const c = getComputedStyle(e).backgroundColor; return numbers(c)[3] === 0 && e.parentElement ? ground(e.parentElement) : c; };
let least = [99];
for (const e of document.querySelectorAll('body *')) {
  if (!e.offsetParent || ![...e.childNodes].some((node) => node.nodeType === 3 && node.data.trim())) continue;
  const [a, b] = [light(getComputedStyle(e).color), light(ground(e))].sort((x, y) => y - x), ratio = (a + 0.05) / (b + 0.05);
  if (ratio < least[0]) least = [ratio, e.textContent.slice(0, 40)];
}
return least;"""

# The longest time in which the page did nothing that it was asked to.
TICKING = """window.longest = 0; let last = performance.now();
setInterval(() => { const now = performance.now(); window.longest = Math.max(window.longest, now - last); last = now; }, 10);"""

DROP = """const moved = new DataTransfer(); moved.items.add(new File([Uint8Array.from(arguments[1])], arguments[0]));
for (const kind of ['dragover', 'drop']) document.body.dispatchEvent(new DragEvent(kind, { bubbles: true, cancelable: true, dataTransfer: moved }));"""


class Visit:
    """A browser on the page, the folder with its files, and what was found."""

    def __init__(self, folder, pictures):
        self.folder, self.pictures, self.results = folder, pictures, []
        self.downloads = folder / "downloads"
        self.downloads.mkdir()
        self.browser = driver.Browser(self.downloads)

    def check(self, name, good, found=""):
        self.results.append(bool(good))
        print(f"{'ok   ' if good else 'FAIL '} {name}{'' if good else f': {found!r}'}", flush=True)

    def begin(self, width=1280, height=900, dark=False, phone=False):
        self.browser.screen(width, height, dark, phone)
        self.browser.visit(f"file://{self.folder}/filter.html")
        return self.browser

    def file(self, name, content):
        (self.folder / name).write_bytes(content)
        return self.folder / name

    def ask(self, key, kind="text"):
        self.browser.run("document.getElementById('answer').replaceChildren(); document.getElementById('key').value = arguments[0];"
                         "document.getElementById('key-kind').value = arguments[1];"
                         "document.querySelector('#ask button').click();", key, kind)
        self.browser.wait(ANSWERED)
        return self.browser.text("answer")

    def keep(self, name):
        if self.pictures:
            self.browser.picture(self.pictures / f"{name}.png")


def try_screens(visit, db, blob):
    """A filter that SQL exported, on two screens, in the light and in the dark."""
    info = json.loads(support.ask(db, "SELECT cf_info(?)", blob))
    path = visit.file("known.filter", blob)
    for name, screen in {"desktop": {}, "desktop, dark": {"dark": True}, "phone": {"width": 390, "height": 844, "phone": True},
                         "phone, dark": {"width": 390, "height": 844, "phone": True, "dark": True}}.items():
        browser = visit.begin(**screen)
        browser.choose("blob", path)
        browser.wait(COUNTED)
        summary, figures = browser.text("summary"), browser.text("figures")
        visit.check(f"{name}: keys and bytes as cf_info says", f"{info['items']:,} keys in {info['bytes']:,} bytes" in summary, summary)
        rate = f"1 in {round(1 / info['fpr_now']):,}"
        visit.check(f"{name}: false-positive rate and check", rate in figures and "Check\nok" in figures, figures)
        visit.check(f"{name}: a key of SQL is probably in the set", visit.ask("user7").startswith("Probably in the set: the text “user7”."))
        visit.check(f"{name}: two buckets are shown, one slot matches, both are marked", browser.run(
            "return [document.querySelectorAll('#buckets section').length, document.querySelectorAll('#buckets .hit').length > 0,"
            "document.querySelectorAll('#picture .mark').length]") == [2, True, 2])
        browser.run("document.querySelector('details').open = true")
        visit.keep(name.replace(", ", "-"))
        width = browser.run("return [document.documentElement.scrollWidth, innerWidth]")
        visit.check(f"{name}: nothing is wider than the screen", width[0] <= width[1] == screen.get("width", 1280), width)
        contrast = browser.run(CONTRAST)
        visit.check(f"{name}: contrast of texts is at least 4.5", contrast[0] >= 4.5, contrast)
        small = browser.run("return [...document.querySelectorAll('input, select, button, summary, textarea')].filter((e) => e.offsetParent"
                            " && e.getBoundingClientRect().height < 44).map((e) => e.id)")
        visit.check(f"{name}: what is touched is at least 44 px high", small == [], small)


def try_keys(visit, db, blob):
    """Answers are those of SQL, for texts, numbers and blobs."""
    wrong, n = [], 0
    for kind, keys in {"text": [f"user{i}" for i in range(0, 6000, 400)] + ["", "42"], "number": [42, 43, -7, 2.5, 2**60],
                       "hex": [b"\0\xff", b"\1", b""]}.items():
        for key in keys:
            written = key.hex() if kind == "hex" else str(key)
            said = visit.ask(written, kind)
            found = support.ask(db, "SELECT cf_contains(?, ?)", blob, key)
            n += 1
            if said.startswith("Probably in the set:") != bool(found) or not (found or said.startswith("Definitely not in the set:")):
                wrong.append((key, found, said))
    visit.check(f"{n} keys of all types are answered as by SQL", not wrong, wrong)
    for written, kind in (("12x", "number"), ("0g", "hex"), ("abc", "hex"), ("", "number")):
        said = visit.ask(written, kind)
        visit.check(f"{written!r} as {kind} is refused, with what to write", "is not a" in said and "write" in said, said)
    visit.check("the text of a number is told from the number", "The number 41 is a different key" in visit.ask("41"))


def try_keyboard(visit, db):
    """A list is typed, built, asked and saved without a pointer."""
    browser = visit.begin()
    passed = browser.tab_to("build-it")
    visit.check("keyboard: Tab goes through all that can be filled in, in order",
                passed == ["blob", "lines", "list", "lines-kind", "fpr", "build-it"], passed)
    browser.tab_to("lines", back=True)
    browser.press(*"ada", ENTER, *"bob", ENTER, ENTER, *"ada", ENTER, *"42")
    browser.tab_to("build-it")
    outline = browser.run("const s = getComputedStyle(document.activeElement); return [s.outlineStyle, parseFloat(s.outlineWidth)]")
    visit.check("keyboard: the focus is seen", outline[0] == "solid" and outline[1] >= 2, outline)
    browser.press(ENTER)
    browser.wait(COUNTED)
    visit.check("keyboard: then the name of the filter has the focus", browser.focused() == "name", browser.focused())
    browser.tab_to("save")
    browser.press(ENTER)
    browser.wait("document.getElementById('news').textContent.startsWith('Saved')")
    saved = visit.downloads / "list.filter"
    until = time.monotonic() + 20
    while not saved.exists() and time.monotonic() < until:
        time.sleep(0.1)
    db.execute("CREATE TEMP TABLE typed AS SELECT value AS x FROM json_each('[\"ada\", \"bob\", \"42\"]')")
    visit.check("keyboard: the file that is saved has the bytes of cf_build",
                saved.exists() and saved.read_bytes() == support.ask(db, "SELECT cf_build(x) FROM typed"))
    browser.tab_to("key")
    browser.press(*"eve", ENTER)
    browser.wait(ANSWERED)
    said = browser.text("answer")
    visit.check("keyboard: a key is asked by Enter", said.startswith("Definitely not in the set: the text “eve”."), said)
    browser.tab_to("The picture as a table")
    browser.press(SPACE)
    rows = browser.text("rows")
    visit.check("keyboard: the table of the picture opens", "0 to 0" in rows and "%" in rows, rows)
    browser.run("document.getElementById('skip').focus()")
    browser.press(ENTER)
    visit.check("keyboard: the first stop skips to the filter", browser.focused() == "name", browser.focused())
    spoken = browser.spoken()
    wanted = [("heading", "Look at a cuckoo filter"), ("textbox", "Keys, one per line"), ("combobox", "False-positive rate"),
              ("button", "Save this filter"), ("textbox", "Key"), ("image", "Load factor of its regions"), ("heading", "your list")]
    visit.check("a screen reader is given names and roles", all(one in spoken for one in wanted),
                [one for one in wanted if one not in spoken])
    live = browser.run("return [...document.querySelectorAll('[role=status], [role=alert]')].map((e) => e.id)")
    visit.check("news, alerts and answers are read aloud", live == ["news", "alert", "answer"], live)
    return spoken


def try_refusals(visit, db, blob):
    """What is no filter, or a damaged one, is refused in words that a phone shows; the filter that is shown stays."""
    browser = visit.begin(390, 844, phone=True)
    browser.choose("blob", visit.folder / "known.filter")
    browser.wait(COUNTED)
    keys = support.ask(db, "SELECT cf_keys(x) FROM typed")
    for name, content, words in (
            ("half", blob[:len(blob) // 2], "restore it from a backup, or rebuild it with cf_build"), ("header", blob[:20] + b"\7" + blob[21:], "does not match its checksum"),
            ("newer", blob[:3] + b"\3" + blob[4:], "made by a later version"),
            ("keys", keys, "list of keys, made by cf_keys"), ("empty", b"", "not a cuckoo filter"),
            ("photo", b"\xff\xd8\xff\xe0" + bytes(5000), "not a cuckoo filter")):
        browser.run("scrollTo(0, 0)")
        browser.choose("blob", visit.file(f"{name}.blob", content))
        browser.wait(ALERTED)
        said = browser.text("alert")
        seen = browser.run("const at = document.getElementById('alert').getBoundingClientRect();"
                           "return at.top >= 0 && at.bottom <= innerHeight")
        visit.check(f"refused: {name}: {said}", said.startswith(f"{name}.blob: ") and words in said and "still known.filter" in said and seen)
    visit.keep("refused")
    visit.check("after that the filter still answers", visit.ask("user7").startswith("Probably in the set"))
    inside = bytearray(blob)
    inside[200:260] = bytes(60)
    browser.choose("blob", visit.file("inside.filter", bytes(inside)))
    browser.wait(ALERTED)
    said = browser.text("alert")
    visit.check(f"corrupt: {said}", "is corrupt" in said and "Restore it from a backup" in said)
    visit.keep("damaged")


def try_drops(visit, blob):
    browser = visit.begin()
    browser.run(DROP, "known.filter", list(blob))
    browser.wait(COUNTED)
    visit.check("a filter is dropped", browser.text("name") == "known.filter")
    browser.run(DROP, "names.txt", list("ada\r\n7\r\nbob\n".encode()))
    browser.wait("document.activeElement.id === 'build-it'")
    said = browser.text("news")
    browser.press(ENTER)
    browser.wait(f"{COUNTED} && document.getElementById('name').textContent === 'names.txt'")
    visit.check(f"a list is dropped: {said}", "3 keys" in browser.text("summary") and visit.ask("bob").startswith("Probably"))
    for typed, keys in (("eve", 4), ("eve\n", 4), ("eve\n\n", 4)):
        browser.run("document.getElementById('name').textContent = ''; document.getElementById('lines').value = arguments[0]; "
                    "document.getElementById('build-it').click()", typed)
        browser.wait(f"{COUNTED} && document.getElementById('name').textContent === 'names.txt'")
        visit.check(f"{typed!r} is typed before it: {keys} keys", f"{keys} keys" in browser.text("summary"), browser.text("summary"))
    browser.run("document.getElementById('lines').value = 'eve'")
    browser.run(DROP, "marked.txt", list("\ufeffada\r\n".encode()))
    browser.wait("document.activeElement.id === 'build-it'")
    browser.press(ENTER)
    browser.wait(f"{COUNTED} && document.getElementById('name').textContent === 'marked.txt'")
    visit.check("typed lines and a file with a byte order mark", "2 keys" in browser.text("summary") and visit.ask("ada").startswith("Probably"))
    browser.run(DROP, "latin.txt", list(b"ada\n" * 20_000 + b"\xe9\n"))
    browser.wait("document.activeElement.id === 'build-it'")
    browser.press(ENTER)
    browser.wait(ALERTED)
    visit.check("a list in Latin-1 behind 64 kB is refused", "must be text in UTF-8" in browser.text("alert"), browser.text("alert"))
    browser.run(DROP, "names.txt", list("ada\r\n7\r\nbob\n".encode()))
    browser.wait("document.getElementById('list').files[0].name === 'names.txt' && document.activeElement.id === 'build-it'")
    browser.run("document.getElementById('lines').value = ''")
    browser.run("document.getElementById('lines-kind').value = 'number'; document.getElementById('build-it').click()")
    browser.wait(ALERTED)
    said = browser.text("alert")
    visit.check(f"a line that is no number is named: {said}", "Line 1: “ada” is not a number" in said)


def try_rules(visit, db):
    """An exact filter, and those of followed columns, which compare keys as these do."""
    browser = visit.begin()
    db.execute("CREATE TABLE people(name TEXT COLLATE NOCASE, size REAL)")
    db.execute("INSERT INTO people VALUES ('Ada', 1.5), ('Bob', 2)")
    for column, key, kind, rule in (("name", "ADA", "text", "affinity text, collation nocase"), ("size", "1.5", "text", "affinity real")):
        db.execute(f"CREATE VIRTUAL TABLE known_{column} USING cuckoo_filter(content='people({column})')")
        browser.choose("blob", visit.file(f"{column}.filter", support.ask(db, f"SELECT cf_export('known_{column}')")))
        browser.wait(f"{COUNTED} && document.getElementById('name').textContent === '{column}.filter'")
        visit.check(f"of a followed column: {rule}", rule in browser.text("figures") and visit.ask(key, kind).startswith("Probably in the set"),
                    browser.text("figures"))
    browser.choose("blob", visit.folder / "name.filter")
    browser.wait(f"{COUNTED} && document.getElementById('name').textContent === 'name.filter'")
    said = visit.ask("0.1", "number")
    visit.check("a number that JavaScript may write in another way is always probably in the set", "always “probably in the set”" in said, said)
    exact = support.ask(db, "SELECT cf_build_exact(value, value % 2) FROM json_each('[1, 2, 3, 4, 5]')")
    browser.choose("blob", visit.file("exact.filter", exact))
    browser.wait(f"{COUNTED} && document.getElementById('name').textContent === 'exact.filter'")
    visit.check("an exact filter: its figures, and no picture", "3 of 5 keys" in browser.text("figures") and browser.run(
        "return document.getElementById('picture-card').hidden"), browser.text("figures"))
    said = visit.ask("3", "number"), visit.ask("4", "number")
    visit.check("an exact filter: a member, and one that is none", said[0].startswith("A member:") and said[1].startswith("Not a member:"), said)
    visit.keep("exact")


def try_stop(visit):
    """A long list is built: how far it is can be seen, and it can be stopped."""
    browser = visit.begin()
    browser.run("const files = new DataTransfer(); files.items.add(new File([Array.from({ length: 5e6 }, (_, i) => `key${i}`).join('\\n')],"
                "'long.txt')); document.getElementById('list').files = files.files; document.getElementById('build-it').focus()")
    browser.press(ENTER)
    said = browser.wait("/Adding the keys of long.txt: .+%/.exec(document.getElementById('share').textContent)")[0]
    browser.press(TAB)
    visit.check(f"a long list says how far it is, and Stop is next: {said}", browser.focused() == "stop", browser.focused())
    browser.press(ENTER)
    browser.wait("document.getElementById('news').textContent === 'Stopped.' && document.getElementById('wait').hidden")
    visit.check("it stops, and the focus is back", browser.focused() == "build-it", browser.focused())


def try_policy(visit):
    """No network, no code but its own; and the page without workers."""
    browser = visit.begin()
    refused = browser.run("return Promise.all([fetch('data:,x').then(() => 'fetched', () => 'refused'), new Promise((done) => {"
                          "const s = document.createElement('script'); s.textContent = 'window.mine = 1'; document.head.append(s);"
                          "done(window.mine ? 'ran' : 'refused'); })])")
    visit.check("the page may fetch nothing, and run no other script", refused == ["refused", "refused"], refused)
    browser.log()
    made = browser.protocol("Page.addScriptToEvaluateOnNewDocument", source="delete window.Worker")
    browser = visit.begin()
    browser.choose("blob", visit.folder / "known.filter")
    browser.wait(COUNTED)
    visit.check("without workers it works, too", visit.ask("user7").startswith("Probably in the set"))
    browser.protocol("Page.removeScriptToEvaluateOnNewDocument", identifier=made["identifier"])
    log = browser.log()
    visit.check("the browser has nothing to complain of", log == [], log)


def try_large(visit, db, keys):
    """50 MB: the page goes on while the worker counts."""
    blob = support.ask(db, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)"
                           "SELECT cf_build(i, 2e-9) FROM n", keys)
    path = visit.file("large.filter", blob)
    browser = visit.begin()
    browser.run(TICKING)
    before = time.monotonic()
    browser.choose("blob", path)
    browser.wait("!document.getElementById('filter').hidden")
    shown = time.monotonic() - before
    before_ask = time.monotonic()
    said, asked = visit.ask("77", "number"), time.monotonic() - before_ask
    visit.check(f"large: a key is answered in {asked:.2f} s while all buckets are counted", said.startswith("Probably in the set") and
                "running" in browser.text("figures"), browser.text("figures"))
    visit.keep("large")
    browser.wait(COUNTED, 300)
    total, longest = time.monotonic() - before, browser.run("return window.longest")
    visit.check(f"large: {len(blob) / 1e6:.1f} MB, {keys:,} keys: shown after {shown:.2f} s, counted after {total:.2f} s, "
                f"and the page never stood still for more than {longest:.0f} ms", longest < 1000 and len(blob) > 50e6)
    visit.check("large: the picture says that it is a sample", "the first 64 of each are counted" in browser.text("picture-words"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("--spoken", action="store_true")
    parser.add_argument("--keys", type=int, default=12_500_000, help="in the large filter: 4 bytes each")
    arguments = parser.parse_args()
    if not (driver.chromium() and shutil.which("chromedriver") and filter_process.WASM.exists()):
        print("skipped: the page; on Debian: chromium chromium-driver clang lld")
        return 77
    with tempfile.TemporaryDirectory(prefix="cuckoo-page-", ignore_cleanup_errors=True) as made:
        folder = Path(made)
        filter_process.write_package(folder)
        db = support.connect()
        db.execute("CREATE VIRTUAL TABLE known USING cuckoo_filter(capacity=3000)")
        db.executemany("INSERT INTO known(key) VALUES (?)", [*((f"user{i}",) for i in range(3000)), (42,), (2.5,), (b"\0\xff",)])
        blob = support.ask(db, "SELECT cf_export('known')")
        visit = Visit(folder, arguments.pictures)
        try:
            try_screens(visit, db, blob)
            try_keys(visit, db, blob)
            spoken = try_keyboard(visit, db)
            try_refusals(visit, db, blob)
            try_drops(visit, blob)
            try_rules(visit, db)
            try_stop(visit)
            try_policy(visit)
            try_large(visit, db, arguments.keys)
        finally:
            visit.browser.close()
    if arguments.spoken:
        print("\n".join(f"{role}: {name}" for role, name in spoken if role not in ("InlineTextBox", "StaticText")))
    print(f"{sum(visit.results)} passed, {len(visit.results) - sum(visit.results)} failed")
    return not all(visit.results)


if __name__ == "__main__":
    os.environ.setdefault("CUCKOO_SO", "build/cuckoo.so")
    sys.exit(main())
